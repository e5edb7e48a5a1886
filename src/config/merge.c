/* config/merge.c - one tree over another.
 * Threads: that of the loading.
 *
 * Members are found by a map where there are many, so that the work is that of reading both. What is
 * empty says nothing: a section whose lines are all commented out takes nothing back. */
#include "config/internal.h"

enum { FEW = 16 }; /* members that are looked at one after the other */

void owl_merge__become(struct owl_value *into, struct owl_value *from)
{
    into->first = from->first;
    into->last = from->last;
    into->count = from->count;
    into->text = from->text;
    into->kind = from->kind;
    into->form = from->form;
    into->note = from->note;
    into->at = from->at;
    into->key_at = from->key_at;
    for (struct owl_value *v = into->first; v; v = v->next)
        v->parent = into;
}

struct owl_value *owl_merge__map(struct owl_config *c, struct owl_value *map, owl_str name,
                                 struct owl_mark at)
{
    struct owl_value *v = owl_value_get(map, name);
    if (v && v->kind != OWL_NODE_NULL)
        return v;
    struct owl_value *fresh = owl_value_new(c->arena, OWL_NODE_OBJECT, at);
    char *key = fresh ? owl_arena_dup(c->arena, name) : NULL;
    if (!key)
        return NULL;
    fresh->key = (owl_str){key, name.n};
    if (v)
        owl_merge__become(v, fresh);
    else
        owl_value_add(map, v = fresh);
    return v;
}

void owl_merge__tell_empty(struct owl_config *c, const struct owl_value *m)
{
    struct owl_fault *f = owl_warning_add(
        &c->faults, m->key_at, "`%.*s` is empty, as if it were not there", (int)m->key.n, m->key.p);
    f->width = owl_source__key_width(c, m);
}

bool owl_merge__is_empty(struct owl_config *c, uint32_t key, const struct owl_value *m)
{
    if (m->kind != OWL_NODE_NULL)
        return false;
    unsigned types = owl_keys__of(&c->keys, owl_keys__member(&c->keys, key, m->key))->types;
    if (!types || (types & OWL_KEY__NULL))
        return false;
    owl_merge__tell_empty(c, m);
    return true;
}

/* Two objects that are still to be merged. */
struct pair {
    struct pair *next;
    struct owl_value *into, *from;
    uint32_t key; /* of both; 0: there is none */
};

static bool is_map(const struct owl_value *v)
{
    return v->kind == OWL_NODE_OBJECT;
}

/* What is there is of another kind: it is replaced, which is rarely meant. */
static void replaced(struct owl_config *c, const struct owl_value *old, const struct owl_value *new)
{
    if (is_map(old) == is_map(new) || old->kind == OWL_NODE_NULL || new->kind == OWL_NODE_NULL)
        return;
    owl_str name = c->sources[old->at.source].name;
    owl_warning_add(&c->faults, new->key_at, "`%.*s` replaces what %.*s:%u:%u says, %s",
                    (int)new->key.n, new->key.p, (int)name.n, name.p, old->key_at.line,
                    old->key_at.column, is_map(old) ? "which is a map" : "which is no map");
}

static bool is_there(const struct owl_value *map, const char *name)
{
    const struct owl_value *v = owl_value_get(map, owl_str_of(name));
    return v && v->kind != OWL_NODE_NULL;
}

/* Whether a later file tells all of a server anew. What an earlier one said of another program or
 * address must not be mixed in: its arguments, its variables, its headers with their secrets. */
static bool is_whole(const struct owl_config *c, const struct owl_value *servers,
                     const struct owl_value *entry)
{
    return owl_config__is_servers(c, servers) &&
           (is_there(entry, "command") || is_there(entry, "url"));
}

static int merge_members(struct owl_config *c, struct pair *p, struct pair **queue)
{
    struct owl_map map;
    owl_map_init(&map);
    int rc = 0;
    bool mapped = p->into->count > FEW || p->from->count > FEW;
    for (struct owl_value *m = mapped ? p->into->first : NULL; m && rc == 0; m = m->next)
        rc = owl_map_put(&map, m->key, m, NULL);
    for (struct owl_value *m = p->from->first, *next; m && rc == 0; m = next) {
        next = m->next;
        struct owl_value *old = mapped ? owl_map_get(&map, m->key) : owl_value_get(p->into, m->key);
        if (!old) {
            owl_value_add(p->into, m);
            if (mapped)
                rc = owl_map_put(&map, m->key, m, NULL);
        } else if (is_map(old) && is_map(m) && !is_whole(c, p->into, m)) {
            struct pair *later = owl_arena_alloc(c->arena, sizeof *later);
            if (later)
                *later = (struct pair){*queue, old, m, owl_keys__member(&c->keys, p->key, m->key)};
            *queue = later ? later : *queue;
            rc = later ? 0 : -OWL_ENOMEM;
        } else if (!owl_merge__is_empty(c, p->key, m)) {
            replaced(c, old, m);
            owl_merge__become(old, m);
        }
    }
    owl_map_done(&map);
    return rc;
}

int owl_merge__over(struct owl_config *c, struct owl_value *into, struct owl_value *from)
{
    struct pair first = {NULL, into, from, owl_config__key(c, into)}, *queue = &first;
    int rc = 0;
    while (queue && rc == 0) {
        struct pair *p = queue;
        queue = p->next;
        rc = merge_members(c, p, &queue);
    }
    return rc;
}
