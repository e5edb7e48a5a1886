/* config/diff.c - what has changed between two configurations.
 * Threads: pure.
 *
 * Maps are compared member by member, all else as a whole: a list of which one element has changed
 * has changed. */
#include "config/diff.h"

#include "base/alloc.h"
#include "base/map.h"
#include "codec/decimal.h"

enum { FEW = 16, DEPTH = 128 };

struct changes {
    struct owl_change *list;
    size_t n, cap;
};

struct diffing {
    struct owl_arena *a;
    const struct owl_value *old_root, *new_root;
    struct changes found, removed;
};

/* ---- one change ------------------------------------------------------------------------- */

/* The value of the first, second … step from the root to @p v. */
static const struct owl_value *step(const struct owl_value *root, const struct owl_value *v,
                                    unsigned n)
{
    unsigned depth = 0;
    for (const struct owl_value *up = v; up != root; up = up->parent)
        depth++;
    for (; depth > n; depth--)
        v = v->parent;
    return depth == n ? v : NULL;
}

static bool any(owl_str s, const char *const *words, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (owl_str_is(s, words[i]))
            return true;
    return false;
}

static void name_change(struct owl_change *x, const struct owl_value *root,
                        const struct owl_value *v)
{
    static const char *const listener[] = {"transport", "http", "tls"};
    static const char *const tool[] = {"tools", "handlers", "skills"};
    const struct owl_value *first = step(root, v, 1), *thing = step(root, v, 2);
    owl_str key = first->key;
    if (any(key, listener, OWL_COUNT(listener))) {
        x->area = OWL_CHANGE_LISTENER;
        thing = NULL;
    } else if (owl_str_is(key, "servers")) {
        x->area = OWL_CHANGE_SERVER;
    } else if (any(key, tool, OWL_COUNT(tool))) {
        x->area = OWL_CHANGE_TOOL;
        if (step(root, v, 3))
            thing = step(root, v, 3);
    } else if (owl_str_is(key, "governance")) {
        x->area = OWL_CHANGE_POLICY;
        if (step(root, v, 3))
            thing = step(root, v, 3);
    } else {
        x->area = OWL_CHANGE_OTHER;
        thing = first;
    }
    x->name = thing ? thing->key : (owl_str){NULL, 0};
}

static int add(struct diffing *d, struct changes *c, const struct owl_value *before,
               const struct owl_value *after)
{
    if (c->n == c->cap) {
        size_t cap = c->cap ? c->cap * 2 : 16;
        struct owl_change *list = owl_arena_realloc(d->a, c->list, c->cap * sizeof *list,
                                                    cap * sizeof *list);
        if (!list)
            return -OWL_ENOMEM;
        c->list = list;
        c->cap = cap;
    }
    const struct owl_value *root = after ? d->new_root : d->old_root;
    const struct owl_value *v = after ? after : before;
    struct owl_buf b;
    owl_buf_init(&b, 64 * 1024);
    owl_value_pointer(&b, root, v);
    char *pointer = b.rc ? NULL : owl_arena_dup(d->a, owl_buf_str(&b));
    struct owl_change *x = &c->list[c->n];
    *x = (struct owl_change){.pointer = {pointer, b.n}, .before = before, .after = after};
    owl_buf_done(&b);
    if (!pointer)
        return -OWL_ENOMEM;
    name_change(x, root, v);
    c->n++;
    return 0;
}

/* ---- equality --------------------------------------------------------------------------- */

static bool same_scalar(const struct owl_value *a, const struct owl_value *b)
{
    if (a->kind != b->kind || a->form != b->form)
        return false;
    if (a->kind != OWL_NODE_NUMBER || a->form == OWL_FORM_NOT_FINITE)
        return owl_str_eq(a->text, b->text);
    struct owl_decimal x = owl_decimal_of(a->text), y = owl_decimal_of(b->text);
    return owl_decimal_cmp(&x, &y) == 0;
}

/* Lists are written as JSON and compared as such. */
static int same_list(const struct owl_value *a, const struct owl_value *b, bool *ret)
{
    struct owl_buf x, y;
    struct owl_tree s, t;
    uint64_t work = UINT64_MAX;
    owl_buf_init(&x, SIZE_MAX / 2);
    owl_buf_init(&y, SIZE_MAX / 2);
    owl_tree_init(&s, NULL, 0);
    owl_tree_init(&t, NULL, 0);
    owl_value_json(&x, a, NULL);
    owl_value_json(&y, b, NULL);
    int rc = x.rc ? x.rc : y.rc;
    if (rc == 0)
        rc = owl_tree_read(&s, owl_buf_str(&x));
    if (rc == 0)
        rc = owl_tree_read(&t, owl_buf_str(&y));
    if (rc == 0)
        rc = owl_tree_equal(&s, 0, &t, 0, &work, ret);
    owl_tree_done(&s);
    owl_tree_done(&t);
    owl_buf_done(&x);
    owl_buf_done(&y);
    return rc;
}

static int same(const struct owl_value *a, const struct owl_value *b, bool *ret)
{
    if (a->kind == OWL_NODE_ARRAY && b->kind == OWL_NODE_ARRAY)
        return same_list(a, b, ret);
    *ret = a->kind < OWL_NODE_ARRAY && same_scalar(a, b);
    return 0;
}

/* ---- maps ------------------------------------------------------------------------------- */

/* Two maps that are being compared. */
struct level {
    const struct owl_value *before, *after, *at; /* at: the next member of the new one */
    struct owl_map map;                          /* members of the old one, if they are many */
};

static int open_level(struct level *l, const struct owl_value *before,
                      const struct owl_value *after)
{
    *l = (struct level){.before = before, .after = after, .at = after->first};
    owl_map_init(&l->map);
    int rc = 0;
    for (struct owl_value *m = before->count > FEW ? before->first : NULL; m && !rc; m = m->next)
        rc = owl_map_put(&l->map, m->key, m, NULL);
    return rc;
}

static const struct owl_value *counterpart(const struct level *l, owl_str key)
{
    return l->map.n > 0 ? owl_map_get(&l->map, key) : owl_value_get(l->before, key);
}

/* Members of the old map that the new one has not. */
static int close_level(struct diffing *d, struct level *l)
{
    struct owl_map map;
    owl_map_init(&map);
    int rc = 0;
    for (struct owl_value *m = l->after->count > FEW ? l->after->first : NULL; m && !rc;
         m = m->next)
        rc = owl_map_put(&map, m->key, m, NULL);
    for (const struct owl_value *m = l->before->first; m && rc == 0; m = m->next) {
        bool there = map.n > 0 ? owl_map_get(&map, m->key) != NULL
                               : owl_value_get(l->after, m->key) != NULL;
        if (!there)
            rc = add(d, &d->removed, m, NULL);
    }
    owl_map_done(&map);
    owl_map_done(&l->map);
    return rc;
}

/* Looks at the next member; *ret_before is set if both are maps, to be compared in turn. */
static int compare(struct diffing *d, struct level *l, const struct owl_value **ret_before,
                   const struct owl_value **ret_after)
{
    const struct owl_value *after = l->at, *before = counterpart(l, after->key);
    bool equal = false;
    *ret_before = NULL;
    l->at = after->next;
    if (before && before->kind == OWL_NODE_OBJECT && after->kind == OWL_NODE_OBJECT) {
        *ret_before = before;
        *ret_after = after;
        return 0;
    }
    int rc = before ? same(before, after, &equal) : 0;
    return rc || equal ? rc : add(d, &d->found, before, after);
}

static int walk(struct diffing *d, struct level *levels)
{
    unsigned n = 1;
    int rc = open_level(&levels[0], d->old_root, d->new_root);
    while (n > 0 && rc == 0) {
        struct level *l = &levels[n - 1];
        if (!l->at) {
            rc = close_level(d, l);
            n--;
            continue;
        }
        const struct owl_value *before, *after = NULL;
        rc = compare(d, l, &before, &after);
        if (rc == 0 && before && n < DEPTH)
            rc = open_level(&levels[n++], before, after);
    }
    while (n > 0)
        owl_map_done(&levels[--n].map);
    return rc;
}

int owl_config_diff(const struct owl_config *before, const struct owl_config *after,
                    struct owl_arena *a, const struct owl_change **ret, size_t *ret_n)
{
    struct diffing d = {
        .a = a, .old_root = owl_config_tree(before), .new_root = owl_config_tree(after)};
    struct level *levels = owl_malloc(DEPTH * sizeof *levels);
    int rc = levels ? walk(&d, levels) : -OWL_ENOMEM;
    owl_free(levels);
    size_t n = d.found.n + d.removed.n;
    struct owl_change *list = rc ? NULL : owl_arena_alloc(a, (n + 1) * sizeof *list);
    if (!list)
        return rc ? rc : -OWL_ENOMEM;
    if (d.found.n > 0)
        memcpy(list, d.found.list, d.found.n * sizeof *list);
    if (d.removed.n > 0)
        memcpy(list + d.found.n, d.removed.list, d.removed.n * sizeof *list);
    *ret = list;
    *ret_n = n;
    return 0;
}
