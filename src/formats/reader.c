/* formats/reader.c - what the readers of files that people write have in common.
 * Threads: pure. */
#include "formats/reader.h"

#include "codec/scan.h"
#include "codec/text.h"

enum {
    DEPTH = 100,
    VALUES = 1000000,
    SMALL_OBJECT = 16, /* below, a walk over the members is quicker than a table */
};

uint32_t owl_reader__depth(const struct owl_reading *r)
{
    uint32_t depth = r->max_depth ? r->max_depth : DEPTH;
    return depth < OWL_JSON_DEPTH ? depth : OWL_JSON_DEPTH;
}

uint32_t owl_reader__values(const struct owl_reading *r)
{
    return r->max_values ? r->max_values : VALUES;
}

int owl_reader__text(const struct owl_reading *r, owl_str *ret)
{
    struct owl_mark start = {r->source, 1, 1};
    owl_str text = r->text.p ? r->text : OWL_STR("");
    if (text.n >= (size_t)INT32_MAX) {
        owl_fault_add(r->faults, start, "the text is larger than 2 GiB");
        return -OWL_EPARSE;
    }
    if (owl_str_begins(text, "\xff\xfe") || owl_str_begins(text, "\xfe\xff")) {
        struct owl_fault *f = owl_fault_add(r->faults, start, "the text is UTF-16, not UTF-8");
        owl_fault_hint(r->faults, f, "save the file as UTF-8");
        return -OWL_EPARSE;
    }
    if (owl_str_begins(text, "\xef\xbb\xbf"))
        text = (owl_str){text.p + 3, text.n - 3};
    const char *p = text.p, *end = text.p + text.n;
    for (size_t n; p < end; p += n) {
        p = owl_text__plain_run(p, end);
        n = p < end ? owl_text__utf8(p, end) : 1;
        if (p == end)
            break;
        if (n == 0) {
            struct owl_fault *f = owl_fault_add(r->faults, owl_mark_of(r, text, p),
                                                "the byte 0x%02x is not UTF-8", (unsigned char)*p);
            owl_fault_hint(r->faults, f, "save the file as UTF-8");
            return -OWL_EPARSE;
        }
    }
    *ret = text;
    return 0;
}

/* ---- marks ------------------------------------------------------------------------------ */

struct owl_marker owl_marker(owl_str text, uint32_t source)
{
    return (struct owl_marker){text.p, text.p + text.n, 0, {source, 1, 1}};
}

static inline void step(struct owl_marker *m)
{
    if (*m->p++ == '\n') {
        m->mark.line++;
        m->mark.column = 1;
    } else {
        m->mark.column++;
    }
    m->index++;
    while (m->p < m->end && ((unsigned char)*m->p & 0xc0) == 0x80)
        m->p++;
}

struct owl_mark owl_marker_byte(struct owl_marker *m, const char *at)
{
    while (m->p < at && m->p < m->end)
        step(m);
    return m->mark;
}

struct owl_mark owl_marker_index(struct owl_marker *m, size_t index)
{
    while (m->index < index && m->p < m->end)
        step(m);
    return m->mark;
}

struct owl_mark owl_mark_of(const struct owl_reading *r, owl_str text, const char *at)
{
    struct owl_marker m = owl_marker(text, r->source);
    return owl_marker_byte(&m, at);
}

/* ---- members ---------------------------------------------------------------------------- */

void owl_members_done(struct owl_members *m)
{
    owl_map_done(&m->map);
}

struct owl_value *owl_members_get(const struct owl_members *m, const struct owl_value *object,
                                  owl_str key)
{
    return object->count < SMALL_OBJECT ? owl_value_get(object, key) : owl_map_get(&m->map, key);
}

int owl_members_add(struct owl_members *m, struct owl_value *object, struct owl_value *child)
{
    owl_value_add(object, child);
    if (object->count < SMALL_OBJECT)
        return 0;
    int rc = 0;
    struct owl_value *v = object->count == SMALL_OBJECT ? object->first : child;
    for (; v && rc == 0; v = v->next)
        rc = owl_map_put(&m->map, v->key, v, NULL);
    return rc;
}

/* ---- faults ----------------------------------------------------------------------------- */

uint32_t owl_reader__width(owl_str s)
{
    uint32_t n = 0;
    for (size_t i = 0; i < s.n; i++)
        n += ((unsigned char)s.p[i] & 0xc0) != 0x80;
    return n ? n : 1;
}

void owl_reader__twice(const struct owl_reading *r, owl_str key, struct owl_mark at,
                       struct owl_mark first)
{
    struct owl_fault *f = owl_fault_add(
        r->faults, at, "the key \"%.*s\" is there already, at line %u, column %u",
        key.n < 80 ? (int)key.n : 80, key.p, first.line, first.column);
    f->width = owl_reader__width(key);
    owl_fault_hint(r->faults, f, "keep one of the two");
}

void owl_reader__too_deep(const struct owl_reading *r, struct owl_mark at)
{
    owl_fault_add(r->faults, at, "nested deeper than %u levels", owl_reader__depth(r));
}

void owl_reader__too_many(const struct owl_reading *r, struct owl_mark at)
{
    owl_fault_add(r->faults, at, "more than %u values", owl_reader__values(r));
}

/* What git and its kin write into a file that two have changed. */
static bool is_conflict(owl_str line)
{
    if (line.n > 0 && line.p[line.n - 1] == '\r')
        line.n--;
    if (line.n == 7)
        return owl_str_begins(line, "<<<<<<<") || owl_str_begins(line, "=======") ||
               owl_str_begins(line, ">>>>>>>");
    return owl_str_begins(line, "<<<<<<< ") || owl_str_begins(line, ">>>>>>> ") ||
           owl_str_begins(line, "||||||| ");
}

bool owl_reader__conflict(const struct owl_reading *r, owl_str text)
{
    for (owl_str rest = text, line; owl_str_split(&rest, '\n', &line);) {
        if (!is_conflict(line))
            continue;
        struct owl_fault *f = owl_fault_add(r->faults, owl_mark_of(r, text, line.p),
                                            "this line is left of a merge conflict");
        f->width = owl_reader__width(owl_str_trim(line));
        owl_fault_hint(r->faults, f,
                       "decide for one side, and take the lines that begin with "
                       "<<<<<<<, ======= and >>>>>>> out");
        return true;
    }
    return false;
}
