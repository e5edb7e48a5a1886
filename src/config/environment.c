/* config/environment.c - MCP_SERVER_* over files.
 * Threads: that of the loading.
 *
 * Every key of the schema has a variable: MCP_SERVER_ and its path in upper case with "_". What is
 * within maps whose names are free has none; the map itself has, and takes JSON. An empty variable
 * is one that is not set. */
#include "config/internal.h"

#include "base/nearest.h"

static const char prefix[] = "MCP_SERVER_";

/* One key: those of a map follow it in the list. */
struct name {
    struct name *next;
    owl_str variable, path;
    uint32_t key;
    unsigned depth;
};

/* All names, parents before children. */
struct names {
    struct name *first, **end;
    struct owl_map by_variable;
};

enum { DEPTH = 8 };

/* PARENT_NAME and parent.name. */
static int add_name(struct owl_config *c, struct names *n, const struct name *up,
                    const struct owl_key_member *member)
{
    owl_str word = member->name;
    bool top = up->path.n == 0;
    struct name *x = owl_arena_zalloc(c->arena, sizeof *x);
    char *path = owl_arena_alloc(c->arena, up->path.n + word.n + 2);
    char *variable = owl_arena_alloc(c->arena, up->variable.n + word.n + 2);
    if (!x || !path || !variable)
        return -OWL_ENOMEM;
    size_t at = up->path.n, to = up->variable.n;
    if (at > 0)
        memcpy(path, up->path.p, at);
    memcpy(variable, up->variable.p, to);
    if (!top) {
        path[at++] = '.';
        variable[to++] = '_';
    }
    memcpy(path + at, word.p, word.n);
    for (size_t i = 0; i < word.n; i++) {
        bool small = word.p[i] >= 'a' && word.p[i] <= 'z';
        variable[to + i] = small ? (char)(word.p[i] - 'a' + 'A') : word.p[i];
    }
    x->path = (owl_str){path, at + word.n};
    x->variable = (owl_str){variable, to + word.n};
    x->key = member->key;
    x->depth = up->depth + 1;
    OWL_ASSERT(!owl_map_get(&n->by_variable, x->variable)); /* no schema of ours has that */
    *n->end = x;
    n->end = &x->next;
    return owl_map_put(&n->by_variable, x->variable, x, NULL);
}

static int list_names(struct owl_config *c, struct names *n)
{
    struct name top = {.variable = {prefix, sizeof prefix - 1}, .key = c->root};
    n->end = &n->first;
    for (struct name *up = &top; up; up = up == &top ? n->first : up->next) {
        const struct owl_key *known = owl_keys__of(&c->keys, up->key);
        for (uint32_t i = 0; up->depth < DEPTH && i < known->n_members; i++) {
            int rc = add_name(c, n, up, &known->members[i]);
            if (rc)
                return rc;
        }
    }
    return 0;
}

static int apply(struct owl_load *l, const struct name *x, owl_str variable)
{
    const char *value = owl_variables__get(&l->variables, variable);
    uint32_t source;
    if (!value || !*value)
        return 0;
    int rc = owl_config__source(l->c, OWL_SOURCE_ENV, variable, &source);
    return rc ? rc : owl_settings__put(l, x->path, owl_str_of(value), source);
}

/* The variable of a key; its other names stand beneath it. */
static int apply_all(struct owl_load *l, struct names *n, struct name *x)
{
    const struct owl_tree *t = &l->c->keys.tree;
    uint32_t list = owl_keys__find(&l->c->keys, x->key, OWL_STR("x-env"));
    uint32_t end = list && t->nodes[list].kind == OWL_NODE_ARRAY ? t->nodes[list].next : 0;
    for (uint32_t e = list + 1; e < end; e = t->nodes[e].next) {
        owl_str other = owl_tree_text(t, e);
        int rc = apply(l, x, other);
        if (rc == 0 && !owl_map_get(&n->by_variable, other))
            rc = owl_map_put(&n->by_variable, other, x, NULL);
        if (rc)
            return rc;
    }
    return apply(l, x, x->variable);
}

static owl_str behind_prefix(owl_str variable)
{
    return (owl_str){variable.p + sizeof prefix - 1, variable.n - (sizeof prefix - 1)};
}

/* The one variable that ends in _NAME, such as HTTP_PORT for PORT; absent of none or several. */
static owl_str only_end(const struct names *n, owl_str name)
{
    owl_str found = {NULL, 0};
    for (const struct name *x = n->first; x; x = x->next) {
        owl_str own = behind_prefix(x->variable);
        size_t skip = own.n > name.n ? own.n - name.n : 0;
        if (skip == 0 || own.p[skip - 1] != '_' || memcmp(own.p + skip, name.p, name.n) != 0)
            continue;
        if (found.p)
            return (owl_str){NULL, 0};
        found = own;
    }
    return found;
}

/* A variable that looks like ours and is none. */
static int unknown(struct owl_load *l, const struct names *n, owl_str variable)
{
    struct owl_nearest near = {.written = behind_prefix(variable)};
    owl_str end = only_end(n, near.written);
    for (const struct name *x = n->first; x && !end.p; x = x->next)
        owl_nearest_try(&near, behind_prefix(x->variable));
    if (end.p)
        near.best = end;
    uint32_t source;
    int rc = owl_config__source(l->c, OWL_SOURCE_ENV, variable, &source);
    if (rc)
        return rc;
    struct owl_fault *f = owl_warning_add(&l->c->faults, owl_config__no_place(source),
                                          "this variable names no key, and has no effect");
    if (near.best.p)
        owl_fault_hint(&l->c->faults, f, "did you mean %s%.*s?", prefix, (int)near.best.n,
                       near.best.p);
    return 0;
}

static bool ours(owl_str variable)
{
    size_t n = sizeof prefix - 1;
    return variable.n > n && memcmp(variable.p, prefix, n) == 0;
}

/* The name of an entry of the environment. */
static owl_str name_of(const char *entry)
{
    return (owl_str){entry, strcspn(entry, "=")};
}

static bool any_of_ours(const struct owl_load *l)
{
    for (const char *const *e = l->variables.list; *e; e++)
        if (ours(name_of(*e)))
            return true;
    return false;
}

int owl_environment__apply(struct owl_load *l)
{
    if (!any_of_ours(l))
        return 0;
    struct names n = {0};
    owl_map_init(&n.by_variable);
    int rc = list_names(l->c, &n);
    for (struct name *x = n.first; x && rc == 0; x = x->next)
        rc = apply_all(l, &n, x);
    for (const char *const *e = l->variables.list; *e && rc == 0; e++)
        if (ours(name_of(*e)) && !owl_map_get(&n.by_variable, name_of(*e)))
            rc = unknown(l, &n, name_of(*e));
    owl_map_done(&n.by_variable);
    return rc;
}
