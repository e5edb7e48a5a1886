/* formats/yaml_faults.c - what libyaml objects to, in words for those who have written it.
 * Threads: pure.
 *
 * libyaml names what it was looking for; a writer wants to know what they have done. Where the
 * same objection has several usual causes, the text around it tells them apart. */
#include "formats/yaml_parts.h"

struct trouble {
    const struct owl_reading *r;
    owl_str text;
    const char *problem; /* of libyaml, and where: */
    const char *at;
    struct owl_mark mark;
    const char *context; /* in which it has occurred, or NULL; where that began: */
    const char *from;
    struct owl_mark start;
};

static void say(const struct trouble *t, struct owl_mark at, const char *what, const char *how)
{
    struct owl_fault *f = owl_fault_add(t->r->faults, at, "%s", what);
    if (how)
        owl_fault_hint(t->r->faults, f, "%s", how);
}

static bool at_end(const struct trouble *t)
{
    const char *p = t->at;
    while (p < t->text.p + t->text.n && (unsigned char)*p <= ' ')
        p++;
    return p == t->text.p + t->text.n;
}

static char char_at(const struct trouble *t)
{
    return t->at < t->text.p + t->text.n ? *t->at : '\0';
}

static owl_str line_of(owl_str text, const char *at)
{
    const char *from = at, *to = at, *end = text.p + text.n;
    while (from > text.p && from[-1] != '\n')
        from--;
    while (to < end && *to != '\n')
        to++;
    return (owl_str){from, (size_t)(to - from)};
}

static bool is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\r' || c == '\n';
}

/* The colon of a `key:value` that lacks its blank, in a line; NULL if there is none. */
static const char *tight_colon(owl_str line)
{
    size_t i = 0;
    while (i + 1 < line.n && (is_blank(line.p[i]) || (line.p[i] == '-' && is_blank(line.p[i + 1]))))
        i++;
    for (; i + 1 < line.n && !is_blank(line.p[i]) && line.p[i] != '#'; i++) {
        if (line.p[i] == ':' && line.p[i + 1] != ':' && !is_blank(line.p[i + 1]))
            return line.p + i;
    }
    return NULL;
}

static bool explain_tight(const struct trouble *t, owl_str line)
{
    const char *colon = tight_colon(line);
    if (!colon)
        return false;
    say(t, owl_mark_of(t->r, t->text, colon), "a blank is missing behind this ':'",
        "write key: value, or put it in quotes if it is one string");
    return true;
}

/* ---- objections with several causes ----------------------------------------------------- */

static void explain_start(const struct trouble *t)
{
    char c = char_at(t);
    if (c == '\t') {
        say(t, t->mark, "a tab cannot indent", "use spaces");
        return;
    }
    bool block = c == '|' || c == '>';
    struct owl_fault *f = owl_fault_add(t->r->faults, t->mark,
                                        block
                                            ? "a block of text (%c) cannot stand within [ ] or { }"
                                            : "a value cannot begin with %c",
                                        c);
    owl_fault_hint(t->r->faults, f, "put it in quotes");
}

/* The line before @p line that holds something; empty if there is none. */
static owl_str line_before(owl_str text, owl_str line)
{
    while (line.p > text.p) {
        line = line_of(text, line.p - 1);
        owl_str trimmed = owl_str_trim(line);
        if (trimmed.n > 0 && trimmed.p[0] != '#' && trimmed.p[0] != '\r')
            return line;
    }
    return (owl_str){text.p, 0};
}

/* A colon where no key can be. */
static void explain_colon(const struct trouble *t)
{
    owl_str line = line_of(t->text, t->at);
    for (const char *p = line.p; p < t->at; p++) {
        if (*p == ':' && is_blank(p[1])) {
            say(t, t->mark, "a second ': ' in one value",
                "put the value in quotes, or the inner key on a line of its own");
            return;
        }
    }
    if (explain_tight(t, line_before(t->text, line)))
        return;
    say(t, t->mark, "this key is indented as if it went on with the value before it",
        "begin all keys of one map in the same column");
}

static void explain_no_colon(const struct trouble *t)
{
    owl_str line = line_of(t->text, t->from);
    owl_str rest = {t->from, (size_t)(line.p + line.n - t->from)};
    if (explain_tight(t, rest))
        return;
    if (t->mark.line == t->start.line) {
        say(t, t->start, "this key is longer than 1024 characters", NULL);
        return;
    }
    say(t, t->start, "expected a key and ':' here",
        "write key: value; if it goes on with the value before it, indent it deeper");
}

static void explain_no_key(const struct trouble *t)
{
    const char *p = t->at;
    while (p > t->text.p && (p[-1] == ' ' || p[-1] == '\t'))
        p--;
    char before = p > t->text.p ? p[-1] : '\0';
    if (before == '"' || before == '\'') {
        say(t, t->mark, "text behind the end of a quoted string",
            "see whether a quote is missing before; within '...' write '' for a quote, within "
            "\"...\" write \\\"");
        return;
    }
    if (char_at(t) == ':') {
        say(t, t->mark, "a key is missing before this ':'", "write key: value");
        return;
    }
    struct owl_fault *f = owl_fault_add(t->r->faults, t->mark,
                                        "expected a key of the map that began at line %u, "
                                        "column %u",
                                        t->start.line, t->start.column);
    owl_fault_hint(t->r->faults, f, "begin all keys of one map in the same column");
}

static void explain_no_dash(const struct trouble *t)
{
    struct owl_fault *f = owl_fault_add(t->r->faults, t->mark,
                                        "expected '- ' of the list that began at line %u, column "
                                        "%u",
                                        t->start.line, t->start.column);
    owl_fault_hint(t->r->faults, f, "begin all elements of one list in the same column");
}

static void explain_flow(const struct trouble *t)
{
    bool object = strstr(t->problem, "}") != NULL;
    if (at_end(t)) {
        say(t, t->start, object ? "this { is never closed" : "this [ is never closed",
            object ? "add the } that is missing" : "add the ] that is missing");
        return;
    }
    struct owl_fault *f = owl_fault_add(
        t->r->faults, t->mark, "expected ',' or '%c'; the '%c' is at line %u, column %u",
        object ? '}' : ']', object ? '{' : '[', t->start.line, t->start.column);
    owl_fault_hint(t->r->faults, f, "add what is missing, or put the value in quotes");
}

static void explain_name(const struct trouble *t)
{
    bool alias = strstr(t->context, "alias") != NULL;
    say(t, t->start,
        alias ? "a value that begins with * is an alias, and this is no name of one"
              : "a value that begins with & is an anchor, and this is no name of one",
        "put the value in quotes");
}

static void explain_tab(const struct trouble *t)
{
    say(t, t->mark, "a tab cannot indent", "use spaces");
}

/* ---- all objections --------------------------------------------------------------------- */

/* What libyaml says, what is said instead and how to mend it, and whether of the place where the
 * context began; or who finds the words. The first match counts. */
static const struct objection {
    const char *problem;
    void (*explain)(const struct trouble *t);
    bool at_start;
    const char *what, *how;
} objections[] = {
    {"found character that cannot start any token", explain_start, false, NULL, NULL},
    {"found a tab character", explain_tab, false, NULL, NULL},
    {"mapping values are not allowed", explain_colon, false, NULL, NULL},
    {"could not find expected ':'", explain_no_colon, false, NULL, NULL},
    {"did not find expected key", explain_no_key, false, NULL, NULL},
    {"did not find expected '-'", explain_no_dash, false, NULL, NULL},
    {"did not find expected ','", explain_flow, false, NULL, NULL},
    {"did not find expected alphabetic or numeric", explain_name, false, NULL, NULL},
    {"block sequence entries are not allowed", NULL, false,
     "a list cannot begin on the line of its key", "begin it on the next line, indented"},
    {"mapping keys are not allowed", NULL, false, "a key cannot begin here",
     "begin it on a line of its own"},
    {"did not find expected node content", NULL, false, "expected a value here",
     "write null or \"\" if it is meant to be empty, or put it in quotes"},
    {"found unexpected end of stream", NULL, true, "this quote is never closed",
     "add the quote at its end"},
    {"found unexpected document indicator", NULL, true,
     "this quote is not closed before the document ends", "add the quote at its end"},
    {"found unknown escape character", NULL, false, "this escape is not known",
     "write \\\\ for a backslash, or put the string in single quotes"},
    {"did not find expected hexdecimal", NULL, false, "expected a hexadecimal digit", NULL},
    {"found invalid Unicode character escape", NULL, false,
     "this escape is half of a surrogate pair, or no character", "write the character itself"},
    {"found unexpected ':'", NULL, false, "a blank is missing behind this ':'",
     "write key: value, or put it in quotes if it is one string"},
    {"did not find expected comment or line break", NULL, false, "nothing can follow on this line",
     "begin the text on the next line"},
    {"found an indentation indicator equal to 0", NULL, false,
     "the indentation of a block of text cannot be 0", "leave the number out"},
    {"did not find expected <document start>", NULL, false, "the document is complete before this",
     "begin all keys of one map in the same column; a file holds one value"},
    {"found undefined tag handle", NULL, false, "this tag is not known",
     "take it out, or put the value in quotes if the ! is part of it"},
    {"found incompatible YAML document", NULL, false, "only YAML 1.2 is read",
     "take the %YAML line out"},
    {"found unknown directive name", NULL, true,
     "a line that begins with % is a directive, and this one is not known",
     "take it out, or indent it if it is text"},
};

/* What can stand in no YAML at all. */
static void explain_character(const struct owl_reading *r, owl_str text, const yaml_parser_t *p)
{
    size_t at = p->problem_offset < text.n ? p->problem_offset : text.n;
    struct owl_fault *f = owl_fault_add(r->faults, owl_mark_of(r, text, text.p + at),
                                        "the character U+%04X is not allowed",
                                        (unsigned)p->problem_value);
    owl_fault_hint(r->faults, f, "write it as an escape within double quotes");
}

void owl_yaml__explain(const struct owl_reading *r, owl_str text, const yaml_parser_t *parser)
{
    if (owl_reader__conflict(r, text))
        return;
    if (parser->error == YAML_READER_ERROR) {
        explain_character(r, text, parser);
        return;
    }
    struct owl_marker m = owl_marker(text, r->source), c = m;
    struct trouble t = {
        .r = r, .text = text, .problem = parser->problem, .context = parser->context};
    t.mark = owl_marker_index(&m, parser->problem_mark.index);
    t.at = m.p;
    t.start = owl_marker_index(&c, t.context ? parser->context_mark.index : m.index);
    t.from = c.p;
    for (size_t i = 0; i < OWL_COUNT(objections); i++) {
        const struct objection *o = &objections[i];
        if (strncmp(t.problem, o->problem, strlen(o->problem)) != 0)
            continue;
        if (o->explain)
            o->explain(&t);
        else
            say(&t, o->at_start ? t.start : t.mark, o->what, o->how);
        return;
    }
    struct owl_fault *f = owl_fault_add(r->faults, t.mark, "%s", t.problem);
    if (t.context)
        owl_fault_hint(r->faults, f, "%s that began at line %u, column %u", t.context, t.start.line,
                       t.start.column);
}
