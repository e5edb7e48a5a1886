/* config/walk.c - a tree beside its keys.
 * Threads: pure. */
#include "config/internal.h"

struct owl_walk owl_walk__of(const struct owl_config *c, struct owl_value *root)
{
    return (struct owl_walk){.keys = &c->keys, .root = root, .key = owl_config__key(c, root)};
}

/* The key of a child of what has @p key. */
static uint32_t child_key(const struct owl_keys *k, uint32_t key, const struct owl_value *child)
{
    if (!key)
        return 0;
    return child->parent->kind == OWL_NODE_ARRAY ? owl_keys__of(k, key)->element
                                                 : owl_keys__member(k, key, child->key);
}

struct owl_value *owl_walk__next(struct owl_walk *w)
{
    struct owl_value *v = w->v;
    if (!v)
        return w->v = w->root;
    if (v->first && !w->pass_by) {
        if (w->depth < OWL_CONFIG__DEPTH)
            w->stack[w->depth] = w->key;
        w->depth++;
        v = v->first;
    } else {
        while (v != w->root && !v->next) {
            v = v->parent;
            w->depth--;
        }
        if (v == w->root)
            return NULL;
        v = v->next;
    }
    uint32_t up = w->depth <= OWL_CONFIG__DEPTH ? w->stack[w->depth - 1] : 0;
    w->key = child_key(w->keys, up, v);
    w->pass_by = false;
    return w->v = v;
}

uint32_t owl_config__key(const struct owl_config *c, const struct owl_value *v)
{
    const struct owl_value *up[OWL_CONFIG__DEPTH];
    size_t n = 0;
    for (; v != c->tree && v->parent; v = v->parent) {
        if (n == OWL_COUNT(up))
            return 0;
        up[n++] = v;
    }
    uint32_t key = c->root;
    while (key && n > 0)
        key = child_key(&c->keys, key, up[--n]);
    return key;
}

void owl_config__path(struct owl_buf *b, const struct owl_config *c, const struct owl_value *v)
{
    const struct owl_value *up[OWL_CONFIG__DEPTH];
    size_t n = 0;
    for (; v != c->tree && v->parent && n < OWL_COUNT(up); v = v->parent)
        up[n++] = v;
    if (n == 0)
        owl_buf_putz(b, "mcp_server");
    for (size_t i = n; i-- > 0;) {
        if (up[i]->parent->kind == OWL_NODE_ARRAY) {
            owl_buf_putc(b, '[');
            owl_buf_putu(b, up[i]->index);
            owl_buf_putc(b, ']');
            continue;
        }
        if (i + 1 < n)
            owl_buf_putc(b, '.');
        bool dots = up[i]->key.n > 0 && memchr(up[i]->key.p, '.', up[i]->key.n);
        owl_buf_putz(b, dots ? "\"" : ""); /* as owl_config_step() takes it */
        owl_buf_puts(b, up[i]->key);
        owl_buf_putz(b, dots ? "\"" : "");
    }
}
