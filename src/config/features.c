/* config/features.c - keys whose feature is still to come are named, never silently ignored.
 * Threads: that of the loading.
 *
 * One warning a key, the outermost one; a key that many entries have is told once. */
#include "config/internal.h"

enum { TOLD = 128 };

static bool told(uint32_t *list, size_t *n, uint32_t key)
{
    for (size_t i = 0; i < *n; i++)
        if (list[i] == key)
            return true;
    if (*n < TOLD)
        list[(*n)++] = key;
    return false;
}

int owl_features__tree(struct owl_config *c)
{
    uint32_t list[TOLD];
    size_t n = 0;
    struct owl_walk w = owl_walk__of(c, c->tree);
    for (struct owl_value *v; (v = owl_walk__next(&w));) {
        bool to_come = owl_keys__of(&c->keys, w.key)->to_come;
        if (!to_come || v == c->tree)
            continue;
        w.pass_by = true;
        if (told(list, &n, w.key))
            continue;
        struct owl_buf b;
        owl_buf_init(&b, 1024);
        owl_config__path(&b, c, v);
        owl_str path = owl_buf_str(&b);
        struct owl_fault *f = owl_warning_add(
            &c->faults, v->key_at,
            "`%.*s` is checked only: it is not in this build yet, and has no effect", (int)path.n,
            path.p);
        f->width = owl_source__key_width(c, v);
        int rc = b.rc == -OWL_ENOMEM ? b.rc : owl_config__checked(c, path);
        owl_buf_done(&b);
        if (rc)
            return rc;
    }
    return 0;
}
