/* formats/yaml.c - YAML 1.2 into values with marks.
 * Threads: pure.
 *
 * libyaml finds the structure and the core schema the values (yaml_scalar.c); what libyaml objects
 * to is put into words by yaml_faults.c. libyaml is never fed what it would take quadratic time
 * for: see survey(). It reads on only while the depth is within bounds, which bounds its stacks.
 *
 * Whatever is at fault is read all the same, so that anchors within it are known, but it stays out
 * of the tree. What an alias repeats has the mark of the alias; what is within it keeps the marks
 * of where it was written. Invariant: frames[0 .. depth) are the containers that are open. */
#include "formats/yaml_parts.h"

#include "base/alloc.h"
#include "codec/scan.h"

enum {
    TAG_DIRECTIVES = 100,
    LONG_BLANK = 1024, /* libyaml clears as much for every word that follows within a scalar */
};
#define BLANK_WORK (UINT64_C(1) << 32)

struct anchor {
    const struct owl_value *v; /* NULL: at fault */
    uint32_t values, height;
    bool open; /* what it names is still being read */
};

struct frame {
    struct owl_value *v;
    struct owl_members members;
    struct anchor *anchor; /* or NULL */
    uint32_t before;       /* values that were read before it */
    uint32_t height;       /* levels in it, itself included */
    bool keyed;            /* an object: the key has been read, the value has not */
    bool drop;             /* the key is at fault, and its value goes nowhere */
    owl_str key;
    struct owl_mark key_at;
};

struct yaml {
    const struct owl_reading *r;
    owl_str text;
    yaml_parser_t parser;
    struct owl_marker marker;
    struct owl_map anchors; /* name: struct anchor */
    struct owl_value *root;
    uint32_t values, max_values;
    uint32_t depth, max_depth;
    bool ended; /* by a second document */
    struct frame frames[OWL_JSON_DEPTH];
};

static struct owl_mark mark_of(struct yaml *y, const yaml_event_t *e)
{
    return owl_marker_index(&y->marker, e->start_mark.index);
}

static struct owl_fault *fault(struct yaml *y, struct owl_mark at, const char *what,
                               const char *how)
{
    struct owl_fault *f = owl_fault_add(y->r->faults, at, "%s", what);
    if (how)
        owl_fault_hint(y->r->faults, f, "%s", how);
    return f;
}

/* ---- where values go -------------------------------------------------------------------- */

static struct frame *top(struct yaml *y)
{
    return y->depth > 0 ? &y->frames[y->depth - 1] : NULL;
}

static bool wants_key(struct yaml *y)
{
    const struct frame *f = top(y);
    return f && f->v->kind == OWL_NODE_OBJECT && !f->keyed;
}

/* What is at fault stands here: a value, or a key, whose value goes nowhere then. */
static void leave_out(struct yaml *y)
{
    struct frame *f = top(y);
    if (!f)
        return;
    f->drop = wants_key(y);
    f->keyed = f->drop;
}

static int put_value(struct yaml *y, struct owl_value *v)
{
    struct frame *f = top(y);
    if (!f) {
        y->root = v;
        return 0;
    }
    if (f->v->kind == OWL_NODE_ARRAY) {
        owl_value_add(f->v, v);
        return 0;
    }
    f->keyed = false;
    if (f->drop)
        return 0;
    v->key = f->key;
    v->key_at = f->key_at;
    return owl_members_add(&f->members, f->v, v);
}

static void grow_height(struct yaml *y, uint32_t height)
{
    struct frame *f = top(y);
    if (f && f->height <= height)
        f->height = height + 1;
}

/* One more value begins, at fault or not. */
static int count_value(struct yaml *y, struct owl_mark at)
{
    if (y->values++ < y->max_values)
        return 0;
    owl_reader__too_many(y->r, at);
    return -OWL_EPARSE;
}

/* ---- anchors ---------------------------------------------------------------------------- */

static owl_str name_of(const yaml_char_t *name)
{
    return owl_str_of((const char *)name);
}

/* @p v may be NULL. The last anchor of a name counts. */
static int add_anchor(struct yaml *y, const yaml_char_t *name, const struct owl_value *v,
                      struct anchor **ret)
{
    *ret = NULL;
    if (!name)
        return 0;
    owl_str key = name_of(name);
    key.p = owl_arena_dup(y->r->arena, key);
    struct anchor *a = owl_arena_zalloc(y->r->arena, sizeof *a);
    if (!key.p || !a)
        return -OWL_ENOMEM;
    a->v = v;
    a->values = 1;
    *ret = a;
    return owl_map_put(&y->anchors, key, a, NULL);
}

static int repeat(struct yaml *y, const struct anchor *a, struct owl_mark at)
{
    if (a->values > y->max_values - y->values + 1) {
        fault(y, at, "with what this alias repeats there are too many values",
              "write less of it; aliases of aliases multiply");
        return -OWL_EPARSE;
    }
    if (y->depth + a->height > y->max_depth) {
        owl_reader__too_deep(y->r, at);
        return -OWL_EPARSE;
    }
    y->values += a->values - 1; /* one has been counted */
    grow_height(y, a->height);
    struct owl_value *copy;
    int rc = owl_value_copy(y->r->arena, a->v, &copy);
    if (rc)
        return rc;
    copy->key = (owl_str){NULL, 0};
    copy->at = copy->key_at = at;
    return put_value(y, copy);
}

static int on_alias(struct yaml *y, const yaml_event_t *e)
{
    struct owl_mark at = mark_of(y, e);
    owl_str name = name_of(e->data.alias.anchor);
    const struct anchor *a = owl_map_get(&y->anchors, name);
    int rc = count_value(y, at);
    if (rc)
        return rc;
    if (a && a->v && !a->open && !wants_key(y))
        return repeat(y, a, at);
    struct owl_fault *f = NULL;
    if (wants_key(y)) {
        f = fault(y, at, "an alias cannot be a key", "write the key out");
    } else if (!a) {
        f = owl_fault_add(y->r->faults, at, "no anchor &%.*s comes before this alias",
                          name.n < 80 ? (int)name.n : 80, name.p);
        owl_fault_hint(y->r->faults, f, "put the value in quotes if it is a string");
    } else if (a->open) {
        f = fault(y, at, "this alias stands within what it repeats", "write the value out");
    }
    if (f)
        f->width = owl_reader__width(name) + 1;
    leave_out(y);
    return 0;
}

/* ---- nodes ------------------------------------------------------------------------------ */

static enum owl_yaml__tag tag_of(const yaml_char_t *tag)
{
    static const char *const names[] = {
        [OWL_TAG_STR] = "str",   [OWL_TAG_INT] = "int",   [OWL_TAG_FLOAT] = "float",
        [OWL_TAG_BOOL] = "bool", [OWL_TAG_NULL] = "null", [OWL_TAG_MAP] = "map",
        [OWL_TAG_SEQ] = "seq",
    };
    static const char prefix[] = "tag:yaml.org,2002:";
    const char *name = (const char *)tag;
    if (!name || strcmp(name, "!") == 0) /* a lone ! says: not by the schema */
        return OWL_TAG_NONE;
    if (strncmp(name, prefix, sizeof prefix - 1) == 0) {
        for (size_t i = OWL_TAG_STR; i < OWL_COUNT(names); i++) {
            if (strcmp(name + sizeof prefix - 1, names[i]) == 0)
                return (enum owl_yaml__tag)i;
        }
    }
    return OWL_TAG_UNKNOWN;
}

static void wrong_tag(struct yaml *y, struct owl_mark at, const yaml_char_t *tag)
{
    const char *name = (const char *)tag;
    if (tag_of(tag) == OWL_TAG_UNKNOWN) {
        struct owl_fault *f = owl_fault_add(y->r->faults, at, "the tag %.80s is not known", name);
        f->width = name[0] == '!' ? owl_reader__width(owl_str_of(name)) : 1;
        owl_fault_hint(y->r->faults, f,
                       "take it out, or put the value in quotes if the ! is part of it; known are "
                       "!!str !!int !!float !!bool !!null !!map !!seq");
        return;
    }
    name = strrchr(name, ':') + 1;
    struct owl_fault *f = owl_fault_add(y->r->faults, at, "this is no value for the tag !!%s",
                                        name);
    owl_fault_hint(y->r->faults, f, "take the tag out, or write a value of that kind");
}

static enum owl_yaml__tag scalar_tag(const yaml_event_t *e)
{
    bool plain = e->data.scalar.style == YAML_PLAIN_SCALAR_STYLE && e->data.scalar.plain_implicit;
    enum owl_yaml__tag tag = tag_of(e->data.scalar.tag);
    return tag == OWL_TAG_NONE && (e->data.scalar.tag || !plain) ? OWL_TAG_STR : tag;
}

/* Makes the value of a scalar. *@p ret is NULL if it is at fault. */
static int make_scalar(struct yaml *y, const yaml_event_t *e, struct owl_value **ret)
{
    struct owl_mark at = mark_of(y, e);
    owl_str text = {(const char *)e->data.scalar.value, e->data.scalar.length};
    struct owl_value *v = owl_value_new(y->r->arena, OWL_NODE_STRING, at);
    if (!v)
        return -OWL_ENOMEM;
    struct anchor *unused;
    int rc = owl_yaml__scalar(y->r->arena, text, scalar_tag(e), v);
    if (rc == -OWL_ENOMEM)
        return rc;
    if (rc == -OWL_ELIMIT)
        fault(y, at, "the number has more than 64 bits", "write it in decimal");
    else if (rc)
        wrong_tag(y, at, e->data.scalar.tag);
    *ret = rc ? NULL : v;
    return add_anchor(y, e->data.scalar.anchor, *ret, &unused);
}

/* Whether a scalar can be a key; says why not. Its value is made only if an anchor or a tag wants
 * it. */
static int judge_key(struct yaml *y, const yaml_event_t *e, owl_str text, bool *ret)
{
    bool plain = scalar_tag(e) == OWL_TAG_NONE;
    bool null = plain && owl_yaml__is_null(text);
    *ret = false;
    if (e->data.scalar.anchor || e->data.scalar.tag) {
        struct owl_value *v;
        int rc = make_scalar(y, e, &v);
        if (rc || !v)
            return rc;
        null = v->kind == OWL_NODE_NULL;
    }
    if (null)
        fault(y, mark_of(y, e), "a key must not be null",
              "write a key, in quotes if it is meant so");
    else if (plain && owl_str_is(text, "<<"))
        fault(y, mark_of(y, e), "the merge key << is not of YAML 1.2",
              "write the keys out, or use an include")
            ->width = 2;
    else
        *ret = true;
    return 0;
}

static int on_key(struct yaml *y, const yaml_event_t *e)
{
    struct frame *f = &y->frames[y->depth - 1];
    owl_str text = {(const char *)e->data.scalar.value, e->data.scalar.length};
    bool good;
    int rc = judge_key(y, e, text, &good);
    if (rc)
        return rc;
    f->keyed = true;
    f->drop = !good;
    if (!good)
        return 0;
    f->key = (owl_str){owl_arena_dup(y->r->arena, text), text.n};
    f->key_at = mark_of(y, e);
    if (!f->key.p)
        return -OWL_ENOMEM;
    const struct owl_value *first = owl_members_get(&f->members, f->v, f->key);
    if (first)
        owl_reader__twice(y->r, f->key, f->key_at, first->key_at);
    f->drop = first != NULL;
    return 0;
}

static int on_scalar(struct yaml *y, const yaml_event_t *e)
{
    if (wants_key(y))
        return on_key(y, e);
    int rc = count_value(y, mark_of(y, e));
    struct owl_value *v;
    if (rc == 0)
        rc = make_scalar(y, e, &v);
    if (rc)
        return rc;
    if (v)
        return put_value(y, v);
    leave_out(y);
    return 0;
}

static int on_begin(struct yaml *y, const yaml_event_t *e)
{
    struct owl_mark at = mark_of(y, e);
    bool object = e->type == YAML_MAPPING_START_EVENT;
    const yaml_char_t *tag = object ? e->data.mapping_start.tag : e->data.sequence_start.tag;
    const yaml_char_t *name = object ? e->data.mapping_start.anchor : e->data.sequence_start.anchor;
    uint32_t before = y->values;
    int rc = count_value(y, at);
    if (rc)
        return rc;
    if (y->depth == y->max_depth) {
        owl_reader__too_deep(y->r, at);
        return -OWL_EPARSE;
    }
    struct owl_value *v = owl_value_new(y->r->arena, object ? OWL_NODE_OBJECT : OWL_NODE_ARRAY, at);
    if (!v)
        return -OWL_ENOMEM;
    enum owl_yaml__tag kind = tag_of(tag);
    bool tagged = kind != OWL_TAG_NONE && kind != (object ? OWL_TAG_MAP : OWL_TAG_SEQ);
    bool key = wants_key(y);
    if (tagged)
        wrong_tag(y, at, tag);
    if (key)
        fault(y, at, object ? "a map cannot be a key" : "a list cannot be a key",
              object ? "put it in quotes if it is a string; a template ({{ }}) must be filled in "
                       "before"
                     : "put it in quotes if it is a string");
    if (tagged || key)
        leave_out(y);
    else
        rc = put_value(y, v);
    struct anchor *anchor = NULL;
    if (rc == 0)
        rc = add_anchor(y, name, tagged ? NULL : v, &anchor);
    if (anchor)
        anchor->open = true;
    y->frames[y->depth++] = (struct frame){.v = v, .anchor = anchor, .before = before, .height = 1};
    return rc;
}

static void on_end(struct yaml *y)
{
    struct frame *f = &y->frames[--y->depth];
    if (f->anchor) {
        f->anchor->open = false;
        f->anchor->values = y->values - f->before;
        f->anchor->height = f->height;
    }
    owl_members_done(&f->members);
    grow_height(y, f->height);
}

/* ---- the text --------------------------------------------------------------------------- */

static int on_event(struct yaml *y, const yaml_event_t *e)
{
    switch (e->type) {
    case YAML_ALIAS_EVENT: return on_alias(y, e);
    case YAML_SCALAR_EVENT: return on_scalar(y, e);
    case YAML_SEQUENCE_START_EVENT:
    case YAML_MAPPING_START_EVENT: return on_begin(y, e);
    case YAML_SEQUENCE_END_EVENT:
    case YAML_MAPPING_END_EVENT: on_end(y); return 0;
    case YAML_DOCUMENT_START_EVENT:
        if (y->values == 0)
            return 0;
        y->ended = true;
        fault(y, mark_of(y, e), "a second document begins here",
              "a file holds one document: take the --- out, or make it two files");
        return 0;
    case YAML_STREAM_END_EVENT: y->ended = true; return 0;
    case YAML_NO_EVENT:
    case YAML_STREAM_START_EVENT:
    case YAML_DOCUMENT_END_EVENT: break;
    }
    return 0;
}

static int read_events(struct yaml *y)
{
    int rc = 0;
    while (rc == 0 && !y->ended) {
        yaml_event_t event;
        if (!yaml_parser_parse(&y->parser, &event)) {
            if (y->parser.error == YAML_MEMORY_ERROR)
                return -OWL_ENOMEM;
            owl_yaml__explain(y->r, y->text, &y->parser);
            return -OWL_EPARSE;
        }
        rc = on_event(y, &event);
        yaml_event_delete(&event);
    }
    return rc;
}

/* Whether a line ends here by YAML 1.1, which libyaml reads, but not by 1.2: U+0085, U+2028,
 * U+2029. */
static bool is_old_break(const char *p, const char *end)
{
    return (end - p > 1 && memcmp(p, "\xc2\x85", 2) == 0) ||
           (end - p > 2 && memcmp(p, "\xe2\x80", 2) == 0 && ((unsigned char)p[2] | 1) == 0xa9);
}

static int refuse(const struct yaml *y, const char *at, const char *what, const char *how)
{
    struct owl_fault *f = owl_fault_add(y->r->faults, owl_mark_of(y->r, y->text, at), "%s", what);
    owl_fault_hint(y->r->faults, f, "%s", how);
    return -OWL_EPARSE;
}

/* Looks for what libyaml would misread, or take quadratic time for: many words behind a long run
 * of blanks, many directives. */
static int survey(const struct yaml *y)
{
    const char *p = y->text.p, *end = p + y->text.n, *longest = p;
    size_t run = 0, most = 0, tags = 0;
    uint64_t runs = 0;
    for (; p < end; p++) {
        bool is_blank = *p == ' ' || *p == '\n' || *p == '\t' || *p == '\r';
        runs += is_blank && run == 0;
        run = is_blank ? run + 1 : 0;
        if (run > most) {
            most = run;
            longest = p;
        }
        if ((unsigned char)*p >= 0x80 && is_old_break(p, end))
            return refuse(y, p, "a line separator of Unicode cannot stand here",
                          "write it as \\N, \\L or \\P within double quotes");
        if (*p == '%' && end - p > 4 && memcmp(p, "%TAG", 4) == 0 && ++tags > TAG_DIRECTIVES)
            return refuse(y, p, "too many directives", "take them out");
    }
    if (most > LONG_BLANK && runs * most >= BLANK_WORK)
        return refuse(y, longest, "too many blanks or empty lines in a row", "take them out");
    return 0;
}

static int read_text(struct yaml *y)
{
    int rc = survey(y);
    if (rc)
        return rc;
    if (!yaml_parser_initialize(&y->parser))
        return -OWL_ENOMEM;
    yaml_parser_set_encoding(&y->parser, YAML_UTF8_ENCODING);
    yaml_parser_set_input_string(&y->parser, (const unsigned char *)y->text.p, y->text.n);
    rc = read_events(y);
    while (y->depth > 0)
        owl_members_done(&y->frames[--y->depth].members);
    owl_map_done(&y->anchors);
    yaml_parser_delete(&y->parser);
    if (rc || y->root)
        return rc;
    if (y->values > 0)
        return -OWL_EPARSE; /* the only value is at fault */
    y->root = owl_value_new(y->r->arena, OWL_NODE_NULL, (struct owl_mark){y->r->source, 1, 1});
    return y->root ? 0 : -OWL_ENOMEM;
}

int owl_yaml_read(const struct owl_reading *r, struct owl_value **ret)
{
    struct yaml *y = owl_calloc(1, sizeof *y); /* its frames are large */
    if (!y)
        return -OWL_ENOMEM;
    y->r = r;
    y->max_depth = owl_reader__depth(r);
    y->max_values = owl_reader__values(r);
    int rc = owl_reader__text(r, &y->text);
    if (rc == 0) {
        y->marker = owl_marker(y->text, r->source);
        rc = read_text(y);
    }
    if (rc == 0)
        *ret = y->root;
    owl_free(y);
    return rc;
}
