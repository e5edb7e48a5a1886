/* formats/toml.c - reads TOML 1.0: lines, keys, headers, arrays, inline tables, and the way on after
 * a fault.
 * Threads: one at a time.
 *
 * A document is a sequence of statements. A fault ends its statement, and the next one is read as
 * if nothing had happened, so that one reading tells all faults; what cannot be told apart from the
 * consequence of a fault is not told. Invariants: the text is valid UTF-8 once statements are read.
 * t->p only moves forward, and what is looked at ahead of it is in the same line, or a string that
 * is read at once: time is linear. */
#include "formats/toml.h"

enum { DEPTH = 100, VALUES = 1000000 };

/* ---- keys ------------------------------------------------------------------------------- */

/* The list with room for one more, or NULL. */
static void *grown(struct owl_toml *t, void *list, uint32_t n, uint32_t *cap, size_t size)
{
    if (n < *cap)
        return list;
    uint32_t more = *cap ? *cap * 2 : 16;
    void *bigger = owl_arena_realloc(t->scratch, list, *cap * size, more * size);
    if (bigger)
        *cap = more;
    return bigger;
}

static int no_key(struct owl_toml *t, const char *what)
{
    struct owl_fault *f = owl_toml__expected(t, what);
    unsigned char c = t->p < t->end ? (unsigned char)*t->p : 0;
    if (c == '=')
        owl_fault_hint(t->in->faults, f, "name the key before the sign =");
    else if (c >= 0x80)
        owl_fault_hint(t->in->faults, f,
                       "a key of other characters than A-Z a-z 0-9 _ - needs quotes");
    return OWL_TOML_STOP;
}

static int read_part(struct owl_toml *t, struct owl_toml_part *part, const char *what)
{
    part->at = owl_toml__mark(t, t->p);
    const char *start = t->p;
    char c = owl_toml__peek(t, 0);
    if (c == '"' || c == '\'') {
        if (owl_toml__peek(t, 1) == c && owl_toml__peek(t, 2) == c) {
            struct owl_fault *f = owl_fault_add(
                t->in->faults, part->at, "found %c%c%c, expected a key in one pair of quotes", c, c,
                c);
            f->width = 3;
            return OWL_TOML_STOP;
        }
        int rc = owl_toml__string(t, t->scratch, &part->key);
        return rc ? rc : part->key.p ? 0 : OWL_TOML_STOP;
    }
    while (t->p < t->end && owl_toml__bare(*t->p))
        t->p++;
    part->key = (owl_str){start, (size_t)(t->p - start)};
    return part->key.n > 0 ? 0 : no_key(t, what);
}

/* Reads a dotted key into t->path. */
static int read_path(struct owl_toml *t, const char *what)
{
    t->n_path = 0;
    t->path_at = owl_toml__mark(t, t->p);
    const char *start = t->p;
    for (;;) {
        if (t->n_path >= t->max_depth) {
            owl_fault_add(t->in->faults, t->path_at,
                          "nested too deeply: found a key of more than %u parts", t->max_depth);
            return OWL_TOML_STOP;
        }
        t->path = grown(t, t->path, t->n_path, &t->cap_path, sizeof *t->path);
        if (!t->path)
            return -OWL_ENOMEM;
        int rc = read_part(t, &t->path[t->n_path], t->n_path ? "a key behind the dot" : what);
        if (rc)
            return rc;
        t->n_path++;
        t->path_text = (owl_str){start, (size_t)(t->p - start)};
        owl_toml__skip_blanks(t);
        if (owl_toml__peek(t, 0) != '.')
            return 0;
        t->p++;
        owl_toml__skip_blanks(t);
    }
}

/* The sign between a key and its value. */
static int read_equals(struct owl_toml *t)
{
    if (owl_toml__peek(t, 0) == '=') {
        t->p++;
        owl_toml__skip_blanks(t);
        return 0;
    }
    struct owl_toml_found f = owl_toml__found(t);
    owl_str key = t->path_text;
    struct owl_fault *fault = owl_fault_add(t->in->faults, owl_toml__mark(t, t->p),
                                            "found %s behind the key %.*s, expected '='", f.words,
                                            owl_toml__clip(key), key.p);
    fault->width = f.width;
    if (owl_toml__peek(t, 0) == ':')
        owl_fault_hint(t->in->faults, fault,
                       "TOML has = where YAML and JSON have a colon: %.*s = …", owl_toml__clip(key),
                       key.p);
    else
        owl_fault_hint(t->in->faults, fault, "write %.*s = value", owl_toml__clip(key), key.p);
    return OWL_TOML_STOP;
}

/* ---- values ----------------------------------------------------------------------------- */

static int open_table(struct owl_toml *t, const struct owl_toml_slot *slot, struct owl_value **ret)
{
    enum owl_node_kind kind = *t->p == '[' ? OWL_NODE_ARRAY : OWL_NODE_OBJECT;
    struct owl_toml_table *table = NULL;
    int rc = owl_toml__table(t, kind, OWL_TOML_CLOSED, slot->into, owl_toml__mark(t, t->p), &table);
    if (rc)
        return rc;
    t->frames = grown(t, t->frames, t->n_frames, &t->cap_frames, sizeof *t->frames);
    if (!t->frames)
        return -OWL_ENOMEM;
    t->p++;
    t->frames[t->n_frames++] = (struct owl_toml_frame){.table = table};
    *ret = &table->value;
    return 0;
}

/* Reads a scalar, or opens an array or inline table. *ret is NULL if a fault was told. */
static int begin_value(struct owl_toml *t, const struct owl_toml_slot *slot, struct owl_value **ret)
{
    char c = owl_toml__peek(t, 0);
    *ret = NULL;
    if (c == '[' || c == '{')
        return open_table(t, slot, ret);
    if (c != '"' && c != '\'')
        return owl_toml__scalar(t, ret);
    struct owl_mark at = owl_toml__mark(t, t->p);
    owl_str text = {NULL, 0};
    int rc = owl_toml__string(t, t->in->arena, &text);
    if (rc || !text.p)
        return rc;
    rc = owl_toml__value(t, OWL_NODE_STRING, at, ret);
    if (rc == 0)
        (*ret)->text = text;
    return rc;
}

static int read_into(struct owl_toml *t, const struct owl_toml_slot *slot)
{
    struct owl_value *v;
    int rc = begin_value(t, slot, &v);
    return rc == 0 && v ? owl_toml__put(t, slot, v) : rc;
}

/* Tells that neither a comma nor the end was found. */
static int no_comma(struct owl_toml *t, const struct owl_toml_frame *f)
{
    bool array = f->table->value.kind == OWL_NODE_ARRAY;
    struct owl_toml_found here = owl_toml__found(t);
    struct owl_fault *fault = owl_fault_add(
        t->in->faults, owl_toml__mark(t, t->p),
        "found %s, expected ',' or '%c': the %s of line %u, column %u is open", here.words,
        array ? ']' : '}', array ? "array" : "inline table", f->table->value.at.line,
        f->table->value.at.column);
    fault->width = here.width;
    return OWL_TOML_STOP;
}

/* The next comma, element or end of an array. */
static int array_step(struct owl_toml *t, struct owl_toml_frame *f)
{
    uint32_t line = t->line;
    owl_toml__skip_space(t);
    char c = owl_toml__peek(t, 0);
    if (c == ']') {
        t->p++;
        t->n_frames--;
        return 0;
    }
    bool statement = t->line != line && owl_toml__at_statement(t);
    if (f->comma || statement || t->p == t->end) {
        if (c != ',' || statement)
            return no_comma(t, f);
        t->p++;
        f->comma = false;
        return 0;
    }
    if (c == ',' || c == '}') {
        owl_toml__expected(t, "a value or ']'");
        return OWL_TOML_STOP;
    }
    f->comma = true;
    return read_into(t, &(struct owl_toml_slot){.into = f->table});
}

/* TOML 1.0 wants an inline table in one line. If it seems to go on, so does the reading. */
static int inline_line_end(struct owl_toml *t, struct owl_toml_frame *f)
{
    struct owl_mark at = owl_toml__mark(t, t->p);
    const char *end = t->p;
    bool last = t->p == t->end;
    owl_toml__skip_space(t);
    char c = owl_toml__peek(t, 0);
    bool goes_on = t->p < t->end && (!f->comma || c == ',' || c == '}');
    if (f->several_lines && (goes_on || t->p == t->end))
        return goes_on ? 0 : OWL_TOML_STOP;
    struct owl_fault *fault = owl_fault_add(
        t->in->faults, at, "found %s, expected '}': the inline table of line %u, column %u is open",
        last          ? "the end of the file"
        : *end == '#' ? "a comment"
                      : "the end of the line",
        f->table->value.at.line, f->table->value.at.column);
    owl_fault_hint(t->in->faults, fault,
                   "an inline table stands in one line; for more, write a [table]");
    f->several_lines = true;
    return goes_on ? 0 : OWL_TOML_STOP;
}

/* The next comma, member or end of an inline table. */
static int inline_step(struct owl_toml *t, struct owl_toml_frame *f)
{
    owl_toml__skip_blanks(t);
    if (owl_toml__at_line_end(t) || *t->p == '#')
        return inline_line_end(t, f);
    char c = *t->p;
    if (c == '}') {
        if (!f->comma && f->table->value.first && !f->several_lines)
            owl_fault_hint(t->in->faults, owl_toml__expected(t, "a key behind the comma"),
                           "an inline table has no comma behind its last key");
        t->p++;
        t->n_frames--;
        return 0;
    }
    if (f->comma) {
        if (c != ',')
            return no_comma(t, f);
        t->p++;
        f->comma = false;
        return 0;
    }
    f->comma = true;
    struct owl_toml_slot slot;
    int rc = read_path(t, "a key or '}'");
    if (rc == 0)
        rc = read_equals(t);
    if (rc == 0)
        rc = owl_toml__place(t, f->table, &slot);
    return rc ? rc : read_into(t, &slot);
}

/* ---- statements -------------------------------------------------------------------------- */

static int read_pair(struct owl_toml *t)
{
    struct owl_toml_slot slot;
    struct owl_value *v = NULL;
    int rc = read_path(t, "a key, a [table] or a comment");
    if (rc == 0)
        rc = read_equals(t);
    if (rc == 0)
        rc = owl_toml__place(t, t->current, &slot);
    if (rc == 0)
        rc = begin_value(t, &slot, &v);
    if (rc)
        return rc;
    if (!v)
        return OWL_TOML_STOP;
    while (rc == 0 && t->n_frames > 0) {
        struct owl_toml_frame *f = &t->frames[t->n_frames - 1];
        rc = f->table->value.kind == OWL_NODE_ARRAY ? array_step(t, f) : inline_step(t, f);
    }
    return rc ? rc : owl_toml__put(t, &slot, v);
}

static int read_header(struct owl_toml *t)
{
    struct owl_mark at = owl_toml__mark(t, t->p);
    bool entry = owl_toml__peek(t, 1) == '[';
    t->p += entry ? 2 : 1;
    owl_toml__skip_blanks(t);
    int rc = read_path(t, "the name of a table");
    if (rc == 0 && owl_toml__peek(t, 0) != ']') {
        owl_toml__expected(t, entry ? "']]'" : "']'");
        rc = OWL_TOML_STOP;
    }
    if (rc == 0 && entry && owl_toml__peek(t, 1) != ']') {
        t->p++;
        struct owl_fault *f = owl_toml__expected(t, "a second ']'");
        owl_fault_hint(t->in->faults, f, "an entry is [[%.*s]], a table [%.*s]",
                       owl_toml__clip(t->path_text), t->path_text.p, owl_toml__clip(t->path_text),
                       t->path_text.p);
        rc = OWL_TOML_STOP;
    }
    if (rc == 0) {
        t->p += entry ? 2 : 1;
        rc = owl_toml__section(t, entry, at);
    }
    if (rc == OWL_TOML_STOP && owl_toml__section_dropped(t))
        return -OWL_ENOMEM;
    return rc;
}

/* Nothing but a comment may stand behind a statement. */
static int read_line_end(struct owl_toml *t, bool header)
{
    owl_toml__skip_blanks(t);
    if (owl_toml__at_line_end(t) || *t->p == '#')
        return 0;
    struct owl_fault *f = owl_toml__expected(t, header ? "the end of the line behind the header"
                                                       : "the end of the line behind the value");
    if (*t->p == ',' || *t->p == ';')
        owl_fault_hint(t->in->faults, f, "remove it: the end of the line ends the value");
    else if (!header && (owl_toml__bare(*t->p) || *t->p == '"' || *t->p == '\''))
        owl_fault_hint(t->in->faults, f, "one key a line; quotes enclose all of a text");
    else if (header && *t->p == ']')
        owl_fault_hint(t->in->faults, f, "an entry is [[%.*s]], a table [%.*s]",
                       owl_toml__clip(t->path_text), t->path_text.p, owl_toml__clip(t->path_text),
                       t->path_text.p);
    return OWL_TOML_STOP;
}

/* Whole files of another notation get one fault, not one a line. */
static bool other_notation(struct owl_toml *t)
{
    const char *name = NULL;
    owl_str line = {t->p, (size_t)(owl_toml__line_end(t, t->p) - t->p)};
    line = owl_str_trim(line);
    if (line.n > 0 && line.p[line.n - 1] == '\r')
        line.n--;
    if (owl_str_is(line, "---"))
        name = "YAML";
    else if (line.n > 0 && line.p[0] == '{')
        name = "JSON";
    if (!name)
        return false;
    struct owl_fault *f = owl_fault_add(
        t->in->faults, owl_toml__mark(t, t->p),
        "found '%.*s', expected a key, a [table] or a comment: is this %s?", name[0] == 'Y' ? 3 : 1,
        line.p, name);
    owl_fault_hint(t->in->faults, f, "%s",
                   name[0] == 'Y' ? "name the file .yaml" : "name the file .json");
    return true;
}

static int read_document(struct owl_toml *t)
{
    owl_toml__skip_space(t);
    if (other_notation(t))
        return -OWL_EPARSE;
    for (; t->p < t->end; owl_toml__skip_space(t)) {
        bool header = *t->p == '[';
        t->n_frames = 0;
        int rc = header ? read_header(t) : read_pair(t);
        if (rc == 0)
            rc = read_line_end(t, header);
        if (rc < 0)
            return rc;
        if (rc == OWL_TOML_STOP)
            owl_toml__skip_statement(t);
    }
    return 0;
}

static int read_text(struct owl_toml *t)
{
    owl_toml__rewind(t);
    if (t->end - t->p > INT32_MAX) {
        owl_fault_add(t->in->faults, owl_toml__mark(t, t->p),
                      "found a file of more than 2 GiB, expected less");
        return -OWL_EPARSE;
    }
    if (!owl_toml__encoding_fits(t))
        return -OWL_EPARSE;
    owl_toml__rewind(t);
    int rc = owl_toml__table(t, OWL_NODE_OBJECT, OWL_TOML_HEADER, NULL, owl_toml__mark(t, t->p),
                             &t->root);
    if (rc)
        return rc == OWL_TOML_STOP ? -OWL_EPARSE : rc;
    t->current = t->root;
    t->dropped.depth = 1;
    return read_document(t);
}

int owl_toml_read(const struct owl_reading *r, struct owl_value **ret)
{
    struct owl_toml t = {.in = r,
                         .max_depth = r->max_depth ? r->max_depth : DEPTH,
                         .max_values = r->max_values ? r->max_values : VALUES,
                         .scratch = owl_arena_new(0)};
    if (!t.scratch)
        return -OWL_ENOMEM;
    int rc = read_text(&t);
    owl_toml__tables_done(&t);
    owl_arena_free(t.scratch);
    if (rc == 0)
        *ret = &t.root->value;
    return rc;
}
