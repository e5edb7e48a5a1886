/* config/settings.c - options of the command line over everything else.
 * Threads: that of the loading. */
#include "config/internal.h"

/* ---- servers that become others --------------------------------------------------------- */

static bool is_option(const struct owl_config *c, const struct owl_value *v)
{
    return c->sources[v->at.source].kind == OWL_SOURCE_OPTION;
}

/* Takes out of a map what no option has said. */
static void keep_options(struct owl_config *c, struct owl_value *map)
{
    struct owl_value *next = owl_value_take(map);
    for (struct owl_value *v; (v = next);) {
        next = v->next;
        if (is_option(c, v))
            owl_value_add(map, v);
    }
}

/* Whether a member was meant for the program or address that was there before, and is told so. */
static bool is_of_other(struct owl_config *c, struct owl_value *m, struct owl_mark at)
{
    static const char *const names[] = {"args", "env", "env_file", "headers"};
    bool bound = false;
    for (size_t i = 0; i < OWL_COUNT(names); i++)
        bound = bound || owl_str_is(m->key, names[i]);
    if (!bound || (is_option(c, m) && m->kind != OWL_NODE_OBJECT))
        return false;
    uint32_t n = m->count;
    bool map = m->kind == OWL_NODE_OBJECT;
    if (map)
        keep_options(c, m);
    if (map && n == m->count)
        return false;
    owl_str from = c->sources[m->at.source].name, server = m->parent->key;
    struct owl_fault *f = owl_warning_add(
        &c->faults, at, "`servers.%.*s.%.*s` of %.*s is forgotten: it was meant for another server",
        (int)server.n, server.p, (int)m->key.n, m->key.p, (int)from.n, from.p);
    owl_fault_hint(&c->faults, f, "if it is meant for this one too, set it as well");
    return !map || m->count == 0;
}

/* Another program or address gets neither the arguments nor the secrets of the former one. */
static void forget_other(struct owl_config *c, struct owl_value *server, const struct owl_value *v)
{
    bool whole = owl_config__is_servers(c, server->parent) &&
                 (owl_str_is(v->key, "command") || owl_str_is(v->key, "url"));
    const struct owl_value *old = whole ? owl_value_get(server, v->key) : NULL;
    if (!old || old->kind == OWL_NODE_NULL || owl_str_eq(old->text, v->text))
        return;
    struct owl_value *next = owl_value_take(server);
    for (struct owl_value *m; (m = next);) {
        next = m->next;
        if (!is_of_other(c, m, v->at))
            owl_value_add(server, m);
    }
}

/* ---- settings --------------------------------------------------------------------------- */

int owl_settings__put(struct owl_load *l, owl_str key, owl_str text, uint32_t source)
{
    struct owl_config *c = l->c;
    struct owl_mark at = owl_config__no_place(source);
    struct owl_value *map = c->tree, *v = owl_value_new(c->arena, OWL_NODE_STRING, at);
    owl_str rest = key, name = {NULL, 0};
    while (owl_config_step(&rest, &name) && rest.p) {
        map = owl_merge__map(c, map, name, at);
        if (!map)
            return -OWL_ENOMEM;
        if (map->kind != OWL_NODE_OBJECT)
            return 0; /* which is told when it is judged */
    }
    char *copy = v ? owl_arena_dup(c->arena, text) : NULL;
    char *named = copy ? owl_arena_dup(c->arena, name) : NULL;
    if (!named)
        return -OWL_ENOMEM;
    v->text = (owl_str){copy, text.n};
    v->key = (owl_str){named, name.n};
    v->parent = map; /* so that a fault knows where it is */
    int rc = owl_coerce__text(c, v, owl_keys__path(&c->keys, c->root, key));
    if (rc)
        return rc;
    struct owl_value *over = owl_value_new(c->arena, OWL_NODE_OBJECT, at);
    if (!over)
        return -OWL_ENOMEM;
    forget_other(c, map, v);
    owl_value_add(over, v);
    return owl_merge__over(c, map, over);
}

/* The nearest key of the place where the path leads nowhere. */
static void unknown(struct owl_config *c, const struct owl_setting *s, uint32_t source)
{
    owl_str rest = owl_str_of(s->key), name;
    const char *from = s->key;
    uint32_t key = c->root;
    while (owl_config_step(&rest, &name)) {
        uint32_t next = owl_keys__member(&c->keys, key, name);
        if (!next)
            break;
        key = next;
        from = rest.p ? rest.p : from;
    }
    owl_str meant = owl_keys__nearest(&c->keys, key, name);
    struct owl_fault *f = owl_fault_add(&c->faults, owl_config__no_place(source),
                                        "there is no key `%s`", s->key);
    if (meant.p)
        owl_fault_hint(&c->faults, f, "did you mean `%.*s%.*s`?", (int)(from - s->key), s->key,
                       (int)meant.n, meant.p);
}

int owl_settings__apply(struct owl_load *l)
{
    struct owl_config *c = l->c;
    for (size_t i = 0; i < l->o->n_settings; i++) {
        const struct owl_setting *s = &l->o->settings[i];
        uint32_t source;
        int rc = owl_config__source(c, OWL_SOURCE_OPTION, owl_str_of(s->option), &source);
        if (rc)
            return rc;
        if (owl_keys__path(&c->keys, c->root, owl_str_of(s->key)))
            rc = owl_settings__put(l, owl_str_of(s->key), owl_str_of(s->value), source);
        else
            unknown(c, s, source);
        if (rc)
            return rc;
    }
    return 0;
}
