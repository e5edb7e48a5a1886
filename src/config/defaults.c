/* config/defaults.c - what nobody has set gets the default of the schema.
 * Threads: that of the loading.
 *
 * A map that is not there is made if something within it has a default and nothing within it is
 * required, unless its absence has a meaning (x-optional). */
#include "config/internal.h"

#include "base/alloc.h"

enum { DEEP = 16 };

/* A map whose members are still to be filled in. */
struct work {
    struct work *next;
    struct owl_value *v;
    uint32_t key;
};

struct filling {
    struct owl_config *c;
    struct work *todo, *spare;
    uint8_t *known; /* by schema: 1 nothing within has a default, 2 something has */
};

static int push(struct filling *f, struct owl_value *v, uint32_t key)
{
    struct work *w = f->spare ? f->spare : owl_arena_alloc(f->c->arena, sizeof *w);
    if (!w)
        return -OWL_ENOMEM;
    if (w == f->spare)
        f->spare = w->next;
    *w = (struct work){f->todo, v, key};
    f->todo = w;
    return 0;
}

/* ---- whether a map has defaults --------------------------------------------------------- */

/* Looks through the schemas of the members of @p key, and theirs. */
static bool has_defaults(struct filling *f, uint32_t key)
{
    const struct owl_keys *k = &f->c->keys;
    if (f->known[key])
        return f->known[key] == 2;
    struct {
        const struct owl_key *key;
        uint32_t next;
    } stack[DEEP] = {{owl_keys__of(k, key), 0}};
    bool found = false;
    for (unsigned n = 1; n > 0 && !found;) {
        const struct owl_key *at = stack[n - 1].key;
        if (stack[n - 1].next == at->n_members) {
            n--;
            continue;
        }
        const struct owl_key *member = owl_keys__of(k, at->members[stack[n - 1].next++].key);
        found = member->fallback != 0;
        if (!found && !member->required && !member->optional && n < DEEP) {
            stack[n].key = member;
            stack[n++].next = 0;
        }
    }
    f->known[key] = found ? 2 : 1;
    return found;
}

/* ---- values of the schema --------------------------------------------------------------- */

static struct owl_value *value_of(struct owl_config *c, uint32_t node, owl_str key)
{
    const struct owl_tree *t = &c->keys.tree;
    struct owl_value *v = owl_value_new(c->arena, (enum owl_node_kind)t->nodes[node].kind,
                                        owl_config__no_place(0));
    if (!v)
        return NULL;
    v->key = key;
    if (v->kind == OWL_NODE_STRING || v->kind == OWL_NODE_NUMBER) {
        owl_str text = owl_tree_text(t, node);
        char *copy = v->kind == OWL_NODE_STRING ? NULL : owl_arena_dup(c->arena, text);
        v->text = copy ? (owl_str){copy, text.n} : owl_tree_decode(t, node, c->arena);
        if (!v->text.p)
            return NULL;
    }
    return v;
}

/* A default: a scalar, a list of scalars, or an empty map. */
static int add_default(struct filling *f, struct owl_value *map, uint32_t node, owl_str name)
{
    const struct owl_tree *t = &f->c->keys.tree;
    struct owl_value *v = value_of(f->c, node, name);
    if (!v)
        return -OWL_ENOMEM;
    owl_value_add(map, v);
    if (v->kind != OWL_NODE_ARRAY)
        return 0;
    for (uint32_t e = node + 1; e < t->nodes[node].next; e = t->nodes[e].next) {
        struct owl_value *element = value_of(f->c, e, (owl_str){NULL, 0});
        if (!element)
            return -OWL_ENOMEM;
        owl_value_add(v, element);
    }
    return 0;
}

/* ---- filling in ------------------------------------------------------------------------- */

static int fill_member(struct filling *f, struct owl_value *map, uint32_t key, owl_str name)
{
    const struct owl_key *known = owl_keys__of(&f->c->keys, key);
    if (known->fallback)
        return add_default(f, map, known->fallback, name);
    if (known->required || known->optional || !has_defaults(f, key))
        return 0;
    struct owl_value *fresh = owl_value_new(f->c->arena, OWL_NODE_OBJECT, owl_config__no_place(0));
    if (!fresh)
        return -OWL_ENOMEM;
    fresh->key = name;
    owl_value_add(map, fresh);
    return push(f, fresh, key);
}

static int fill(struct filling *f, struct owl_value *v, uint32_t key)
{
    const struct owl_keys *k = &f->c->keys;
    int rc = 0;
    for (struct owl_value *m = v->first; m && rc == 0; m = m->next) {
        bool list = v->kind == OWL_NODE_ARRAY;
        if (m->kind < OWL_NODE_ARRAY)
            continue;
        uint32_t own = list ? owl_keys__of(k, key)->element : owl_keys__member(k, key, m->key);
        if (own)
            rc = push(f, m, own);
    }
    if (v->kind != OWL_NODE_OBJECT)
        return rc;
    const struct owl_key *known = owl_keys__of(k, key);
    for (uint32_t i = 0; rc == 0 && i < known->n_members; i++)
        if (!owl_value_get(v, known->members[i].name))
            rc = fill_member(f, v, known->members[i].key, known->members[i].name);
    return rc;
}

int owl_defaults__fill(struct owl_config *c)
{
    struct filling f = {.c = c, .known = owl_calloc(c->keys.tree.n, 1)};
    int rc = f.known ? push(&f, c->tree, c->root) : -OWL_ENOMEM;
    while (f.todo && rc == 0) {
        struct work *w = f.todo;
        f.todo = w->next;
        struct owl_value *v = w->v;
        uint32_t key = w->key;
        w->next = f.spare;
        f.spare = w;
        rc = fill(&f, v, key);
    }
    owl_free(f.known);
    return rc;
}
