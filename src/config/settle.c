/* config/settle.c - ${VARIABLES} are replaced, and texts become what their keys want.
 * Threads: that of the loading.
 *
 * After all sources are merged: what was overridden need not be right. A null where the schema has
 * none, as an empty YAML map is one, is as if it were not there; the default applies. */
#include "config/internal.h"

#include "config/units.h"

/* Takes nulls out of an object, where they mean nothing. */
static void drop_nulls(struct owl_config *c, struct owl_value *object, uint32_t key)
{
    struct owl_value *next = owl_value_take(object);
    for (struct owl_value *m; (m = next);) {
        next = m->next;
        if (!owl_merge__is_empty(c, key, m))
            owl_value_add(object, m);
    }
}

static int refuse(struct owl_config *c, const struct owl_value *v, const struct owl_expansion *x)
{
    struct owl_buf b;
    if (c->faults.n == OWL_FAULTS) /* it is only counted: no words, and no look at the file */
        return owl_config__blame(c, v, owl_fault_add(&c->faults, v->at, "%s", ""));
    owl_buf_init(&b, 1024);
    owl_config__path(&b, c, v);
    owl_str path = owl_buf_str(&b);
    struct owl_fault *f = owl_fault_add(&c->faults, v->at, "in `%.*s` %.*s", (int)path.n, path.p,
                                        (int)x->fault.n, x->fault.p);
    f->hint = x->hint;
    f->width = owl_source__width(c, v);
    owl_buf_done(&b);
    return owl_config__blame(c, v, f);
}

/* A "${" that stood for itself must not pass for a variable in the judgement. */
static int look_again(struct owl_config *c, struct owl_value *v, uint32_t key)
{
    bool other = owl_keys__of(&c->keys, key)->variable;
    if (!other || v->kind != OWL_NODE_STRING || !memmem(v->text.p, v->text.n, "${", 2))
        return 0;
    struct owl_expansion x = {.fault = OWL_STR("a `${` that is no variable cannot be meant")};
    return refuse(c, v, &x);
}

/* An amount that could not become a number: its pattern alone would let it pass. */
static int look_at_amount(struct owl_config *c, struct owl_value *v, uint32_t key)
{
    struct owl_expansion x = {.fault = OWL_STR("the amount is too large or too fine"),
                              .hint = OWL_STR("bytes are whole; times go down to thousandths")};
    bool left = v->kind == OWL_NODE_STRING &&
                owl_units__spelt(v->text, owl_keys__of(&c->keys, key)->unit);
    return left ? refuse(c, v, &x) : 0;
}

static int settle(struct owl_load *l, struct owl_value *v, uint32_t key)
{
    struct owl_config *c = l->c;
    if (c->sources[v->at.source].kind == OWL_SOURCE_FILE) {
        struct owl_expansion x;
        int rc = owl_variables__expand(&l->variables, c->arena, v->text, &x);
        if (rc)
            return rc;
        if (x.fault.p) {
            /* The text stays, which the judgement takes for a variable. */
            return refuse(c, v, &x);
        }
        v->text = x.text;
        rc = x.secret ? owl_config__hide(c, v) : 0;
        if (rc == 0 && x.replaced)
            rc = owl_coerce__text(c, v, key);
        bool bare = v->text.p == x.text.p; /* it has no unit */
        if (rc == 0 && bare && v->note == OWL_NOTE__FOREIGN_TIME)
            rc = owl_coerce__foreign_time(c, v);
        if (rc)
            return rc;
    }
    int rc = owl_coerce__unit(c, v, key);
    if (rc == 0)
        rc = look_at_amount(c, v, key);
    return rc ? rc : look_again(c, v, key);
}

int owl_settle__tree(struct owl_load *l)
{
    struct owl_walk w = owl_walk__of(l->c, l->c->tree);
    for (struct owl_value *v; (v = owl_walk__next(&w));) {
        if (v->kind == OWL_NODE_OBJECT && w.key)
            drop_nulls(l->c, v, w.key);
        if (v->kind != OWL_NODE_STRING || l->o->as_written)
            continue;
        int rc = settle(l, v, w.key);
        if (rc)
            return rc;
        w.pass_by = true; /* what came out of a variable is not looked into again */
    }
    return 0;
}
