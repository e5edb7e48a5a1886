/* config/checks.c - what a schema cannot tell: values that do not go together.
 * Threads: that of the loading.
 *
 * What one schema can tell stands in the published one, where editors see it too. */
#include "config/internal.h"

/* What the names of a server's tools begin with; absent: nothing. */
static owl_str prefix_of(const struct owl_value *server)
{
    const struct owl_value *prefix = owl_value_get(server, OWL_STR("prefix"));
    if (!prefix)
        return server->key;
    return prefix->kind == OWL_NODE_STRING ? prefix->text : (owl_str){NULL, 0};
}

/* Two servers whose tools begin alike could not be told apart. */
static int check_prefixes(struct owl_config *c, struct owl_value *servers)
{
    struct owl_map map;
    owl_map_init(&map);
    int rc = 0;
    for (struct owl_value *v = servers->first; v && rc == 0; v = v->next) {
        owl_str prefix = prefix_of(v);
        if (v->kind != OWL_NODE_OBJECT || !prefix.p)
            continue;
        struct owl_value *other = owl_map_get(&map, prefix);
        if (!other) {
            rc = owl_map_put(&map, prefix, v, NULL);
            continue;
        }
        struct owl_value *own = owl_value_get(v, OWL_STR("prefix"));
        struct owl_value *at = own ? own : owl_value_get(other, OWL_STR("prefix"));
        if (!at)
            continue;
        prefix = owl_config_secret(c, at) ? OWL_STR("***") : prefix;
        struct owl_fault *f = owl_fault_add(
            &c->faults, at->at, "the tools of `%.*s` and `%.*s` would both be named `%.*s__...`",
            (int)other->key.n, other->key.p, (int)v->key.n, v->key.p, (int)prefix.n, prefix.p);
        owl_fault_hint(&c->faults, f, "give one of them another `prefix`");
        rc = owl_config__blame(c, at, f);
    }
    owl_map_done(&map);
    return rc;
}

/* Texts of ours end up as arguments, paths and addresses, which a NUL would cut short: what is used
 * would not be what was judged. */
static int check_texts(struct owl_config *c)
{
    int rc = 0;
    struct owl_walk w = owl_walk__of(c, c->tree);
    for (struct owl_value *v; rc == 0 && (v = owl_walk__next(&w));) {
        if (!w.key || v->kind != OWL_NODE_STRING || !memchr(v->text.p, '\0', v->text.n))
            continue;
        struct owl_fault *f = owl_fault_add(&c->faults, v->at,
                                            "this text has a NUL in it, which nothing can use");
        rc = owl_config__blame(c, v, f);
    }
    return rc;
}

/* No shell takes `npx -y server` apart. */
static void check_command(struct owl_config *c, const struct owl_value *server)
{
    const struct owl_value *v = owl_value_get(server, OWL_STR("command"));
    owl_str s = v && v->kind == OWL_NODE_STRING ? v->text : (owl_str){NULL, 0};
    const char *option = s.n > 0 ? memmem(s.p, s.n, " -", 2) : NULL;
    if (!option || owl_config_secret(c, v))
        return;
    struct owl_fault *f = owl_warning_add(
        &c->faults, v->at, "`servers.%.*s.command` seems to have arguments, but is one name",
        (int)server->key.n, server->key.p);
    f->width = owl_source__width(c, v);
    owl_fault_hint(&c->faults, f, "put what follows the program into `args`");
}

/* A store that others share is counted on: to use another one silently would be wrong. */
static void check_store(struct owl_config *c)
{
    const struct owl_value *store = owl_value_get(c->tree, OWL_STR("store"));
    const struct owl_value *v = owl_value_get(store, OWL_STR("url"));
    if (!v)
        return;
    struct owl_fault *f = owl_fault_add(&c->faults, v->at,
                                        "`store.url`: PostgreSQL is not in this build yet");
    f->width = owl_source__width(c, v);
    owl_fault_hint(&c->faults, f,
                   "name a file by `store.path`, or leave `store` out to use the one of the "
                   "default place");
}

int owl_checks__tree(struct owl_config *c)
{
    struct owl_value *servers = owl_value_get(c->tree, OWL_STR("servers"));
    int rc = check_texts(c);
    check_store(c);
    if (rc || !servers || servers->kind != OWL_NODE_OBJECT)
        return rc;
    for (const struct owl_value *v = servers->first; v; v = v->next)
        check_command(c, v);
    return check_prefixes(c, servers);
}
