/* formats/value.c - values that know where they were written, and the faults found in them.
 * Threads: one at a time. */
#include "formats/value.h"

#include <stdarg.h>
#include <stdio.h>

#include "base/alloc.h"
#include "base/visible.h"
#include "codec/json.h"

struct owl_value *owl_value_new(struct owl_arena *a, enum owl_node_kind kind, struct owl_mark at)
{
    struct owl_value *v = owl_arena_zalloc(a, sizeof *v);
    if (!v)
        return NULL;
    v->kind = (uint8_t)kind;
    v->at = v->key_at = at;
    return v;
}

void owl_value_add(struct owl_value *parent, struct owl_value *child)
{
    child->parent = parent;
    child->next = NULL;
    child->prev = parent->last;
    child->index = parent->count;
    if (parent->last)
        parent->last->next = child;
    else
        parent->first = child;
    parent->last = child;
    parent->count++;
}

struct owl_value *owl_value_take(struct owl_value *parent)
{
    struct owl_value *first = parent->first;
    parent->first = parent->last = NULL;
    parent->count = 0;
    return first;
}

struct owl_value *owl_value_get(const struct owl_value *object, owl_str key)
{
    if (!object || object->kind != OWL_NODE_OBJECT)
        return NULL;
    struct owl_value *v = object->first;
    while (v && !owl_str_eq(v->key, key))
        v = v->next;
    return v;
}

struct owl_value *owl_value_next(const struct owl_value *root, const struct owl_value *v)
{
    if (v->first)
        return v->first;
    while (v != root && !v->next)
        v = v->parent;
    return v == root ? NULL : v->next;
}

int owl_value_copy(struct owl_arena *a, const struct owl_value *v, struct owl_value **ret)
{
    struct owl_value *root = NULL, *into = NULL; /* into: the copy of the parent of `from` */
    const struct owl_value *from = v;
    for (;;) {
        struct owl_value *copy = owl_arena_alloc(a, sizeof *copy);
        if (!copy)
            return -OWL_ENOMEM;
        *copy = *from;
        copy->parent = copy->first = copy->last = copy->next = NULL;
        copy->count = 0;
        if (into)
            owl_value_add(into, copy);
        else
            root = copy;
        if (from->first) {
            from = from->first;
            into = copy;
            continue;
        }
        while (from != v && !from->next) {
            from = from->parent;
            if (into)
                into = into->parent;
        }
        if (from == v)
            break;
        from = from->next;
    }
    *ret = root;
    return 0;
}

/* ---- as JSON ---------------------------------------------------------------------------- */

static void place(struct owl_buf *b, struct owl_value_places *places, const struct owl_value *v)
{
    if (!places || b->rc)
        return;
    if (places->n == places->cap) {
        size_t cap = places->cap ? places->cap * 2 : 256;
        struct owl_value_place *list = owl_realloc(places->list, cap * sizeof *list);
        if (!list) {
            b->rc = -OWL_ENOMEM;
            return;
        }
        places->list = list;
        places->cap = cap;
    }
    places->list[places->n++] = (struct owl_value_place){b->n, v};
}

/* All of a scalar; the opening of a container. */
static void open_value(struct owl_buf *b, const struct owl_value *v)
{
    switch ((enum owl_node_kind)v->kind) {
    case OWL_NODE_NULL: owl_buf_putz(b, "null"); break;
    case OWL_NODE_FALSE: owl_buf_putz(b, "false"); break;
    case OWL_NODE_TRUE: owl_buf_putz(b, "true"); break;
    case OWL_NODE_NUMBER:
        if (v->form == OWL_FORM_NOT_FINITE)
            owl_json_quote(b, v->text);
        else
            owl_buf_puts(b, v->text);
        break;
    case OWL_NODE_STRING: owl_json_quote(b, v->text); break;
    case OWL_NODE_ARRAY: owl_buf_putc(b, '['); break;
    case OWL_NODE_OBJECT: owl_buf_putc(b, '{'); break;
    }
}

static void close_value(struct owl_buf *b, const struct owl_value *v)
{
    if (v->kind == OWL_NODE_ARRAY)
        owl_buf_putc(b, ']');
    else if (v->kind == OWL_NODE_OBJECT)
        owl_buf_putc(b, '}');
}

void owl_value_json(struct owl_buf *b, const struct owl_value *root,
                    struct owl_value_places *places)
{
    for (const struct owl_value *v = root; b->rc == 0;) {
        place(b, places, v);
        if (v != root && v->parent->kind == OWL_NODE_OBJECT) {
            owl_json_quote(b, v->key);
            owl_buf_putc(b, ':');
            place(b, places, v);
        }
        open_value(b, v);
        if (v->first) {
            v = v->first;
            continue;
        }
        close_value(b, v);
        while (v != root && !v->next) {
            v = v->parent;
            close_value(b, v);
        }
        if (v == root)
            return;
        owl_buf_putc(b, ',');
        v = v->next;
    }
}

const struct owl_value *owl_value_at(const struct owl_value_places *places, size_t at)
{
    size_t low = 0, high = places->n;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (places->list[middle].at <= at)
            low = middle + 1;
        else
            high = middle;
    }
    return low > 0 ? places->list[low - 1].value : NULL;
}

static void pointer_step(struct owl_buf *b, const struct owl_value *v)
{
    owl_buf_putc(b, '/');
    if (v->parent->kind == OWL_NODE_ARRAY) {
        owl_buf_putu(b, v->index);
        return;
    }
    for (size_t i = 0; i < v->key.n; i++) {
        if (v->key.p[i] == '~')
            owl_buf_putz(b, "~0");
        else if (v->key.p[i] == '/')
            owl_buf_putz(b, "~1");
        else
            owl_buf_putc(b, v->key.p[i]);
    }
}

void owl_value_pointer(struct owl_buf *b, const struct owl_value *root, const struct owl_value *v)
{
    /* From the root down: at each step the child that @p v is in. Depth is bounded by readers. */
    size_t depth = 0;
    for (const struct owl_value *up = v; up != root; up = up->parent)
        depth++;
    for (; depth > 0; depth--) {
        const struct owl_value *step = v;
        for (size_t i = 1; i < depth; i++)
            step = step->parent;
        pointer_step(b, step);
    }
}

/* ---- faults ----------------------------------------------------------------------------- */

/* Faults that cannot be kept; so that a file of nothing else takes no memory, they have no words. */
static OWL_THREAD_LOCAL struct owl_fault nowhere; /* of those that are not kept */

/* The text is ours but for what it quotes. */
OWL_PRINTF(3, 0)
static owl_str shown(struct owl_arena *a, const struct owl_fault *fault, const char *fmt,
                     va_list args)
{
    char line[512];
    if (fault == &nowhere)
        return (owl_str){NULL, 0};
    int n = vsnprintf(line, sizeof line, fmt, args);
    if (n < 0)
        return (owl_str){NULL, 0};
    bool cut = (size_t)n >= sizeof line;
    size_t length = owl_text_tame(line, cut ? sizeof line - 1 : (size_t)n, cut);
    char *copy = owl_arena_dup(a, (owl_str){line, length});
    return copy ? (owl_str){copy, length} : (owl_str){NULL, 0};
}

static struct owl_fault *add(struct owl_faults *f, struct owl_mark at)
{
    if (f->n < OWL_FAULTS && f->n == f->cap) {
        size_t cap = f->cap ? f->cap * 2 : 8;
        struct owl_fault *list = owl_arena_realloc(f->arena, f->list, f->cap * sizeof *list,
                                                   cap * sizeof *list);
        if (list) {
            f->list = list;
            f->cap = cap;
        }
    }
    bool kept = f->n < OWL_FAULTS && f->n < f->cap;
    struct owl_fault *fault = kept ? &f->list[f->n++] : &nowhere;
    f->left_out += !kept;
    *fault = (struct owl_fault){.at = at, .width = 1};
    return fault;
}

struct owl_fault *owl_fault_add(struct owl_faults *f, struct owl_mark at, const char *fmt, ...)
{
    struct owl_fault *fault = add(f, at);
    f->errors++;
    va_list args;
    va_start(args, fmt);
    fault->what = shown(f->arena, fault, fmt, args);
    va_end(args);
    return fault;
}

struct owl_fault *owl_warning_add(struct owl_faults *f, struct owl_mark at, const char *fmt, ...)
{
    struct owl_fault *fault = add(f, at);
    fault->warning = true;
    va_list args;
    va_start(args, fmt);
    fault->what = shown(f->arena, fault, fmt, args);
    va_end(args);
    return fault;
}

void owl_fault_hint(struct owl_faults *f, struct owl_fault *fault, const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    fault->hint = shown(f->arena, fault, fmt, args);
    va_end(args);
}

static int by_mark(const struct owl_fault *a, const struct owl_fault *b)
{
    if (a->at.source != b->at.source)
        return a->at.source < b->at.source ? -1 : 1;
    if (a->at.line != b->at.line)
        return a->at.line < b->at.line ? -1 : 1;
    return a->at.column < b->at.column ? -1 : a->at.column > b->at.column;
}

void owl_faults_sort(struct owl_faults *f)
{
    /* Few and nearly in order: an insertion sort keeps those of one place as they came. */
    for (size_t i = 1; i < f->n; i++) {
        struct owl_fault fault = f->list[i];
        size_t to = i;
        for (; to > 0 && by_mark(&f->list[to - 1], &fault) > 0; to--)
            f->list[to] = f->list[to - 1];
        f->list[to] = fault;
    }
}
