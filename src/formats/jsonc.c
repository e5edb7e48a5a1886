/* formats/jsonc.c - JSON with comments and commas behind the last one, into values with marks.
 * Threads: pure.
 *
 * A copy of the text, with blanks in the place of what JSON has not, is proved and indexed as any
 * other JSON; every byte stays where it was, hence what is said of the copy holds for the text. */
#include "formats/reader.h"

#include <stdlib.h>

#include "base/alloc.h"
#include "codec/scan.h"

struct jsonc {
    const struct owl_reading *r;
    owl_str text;  /* as written, without its BOM */
    owl_str plain; /* the copy, equally long */
};

/* Behind a string that begins at @p p; one that is not closed ends with its line. */
static const char *string_end(const char *p, const char *end, bool *ret_closed)
{
    *ret_closed = false;
    for (p++; p < end && *p != '\n' && *p != '\r'; p++) {
        if (*p == '"') {
            *ret_closed = true;
            return p + 1;
        }
        if (*p == '\\' && end - p > 1 && p[1] != '\n' && p[1] != '\r')
            p++;
    }
    return p;
}

static struct owl_fault *fault(const struct jsonc *j, const char *at, const char *what)
{
    return owl_fault_add(j->r->faults, owl_mark_of(j->r, j->text, at), "%s", what);
}

static void hint(const struct jsonc *j, struct owl_fault *f, const char *how)
{
    owl_fault_hint(j->r->faults, f, "%s", how);
}

/* ---- why it is no JSON ------------------------------------------------------------------ */

/* Where a place of the copy is: in which string and in which container, or NULL. */
struct inside {
    const char *string, *container;
};

static struct inside inside_of(owl_str plain, const char *at)
{
    const char *open[OWL_JSON_DEPTH + 1] = {NULL};
    size_t depth = 0;
    for (const char *p = plain.p, *end = plain.p + plain.n; p < at;) {
        bool closed = true;
        const char *next = *p == '"' ? string_end(p, end, &closed) : p + 1;
        if (next > at || (next == at && !closed))
            return (struct inside){p, open[depth]};
        if ((*p == '{' || *p == '[') && depth < OWL_JSON_DEPTH)
            open[++depth] = p;
        else if ((*p == '}' || *p == ']') && depth > 0)
            depth--;
        p = next;
    }
    return (struct inside){NULL, open[depth]};
}

static bool is_word(char c)
{
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
           (c != '\0' && strchr("_.$+-", c)) || (unsigned char)c >= 0x80;
}

/* The word around a place; empty if there is none. */
static owl_str word_at(owl_str plain, const char *at)
{
    const char *from = at, *to = at;
    while (from > plain.p && is_word(from[-1]))
        from--;
    while (to < plain.p + plain.n && is_word(*to))
        to++;
    return (owl_str){from, (size_t)(to - from)};
}

/* What stands where a value should, but is none. */
static void explain_word(const struct jsonc *j, owl_str word)
{
    static const struct {
        const char *word, *instead;
    } known[] = {
        {"True", "true"},      {"TRUE", "true"}, {"False", "false"}, {"FALSE", "false"},
        {"None", "null"},      {"Null", "null"}, {"NULL", "null"},   {"nil", "null"},
        {"undefined", "null"}, {"yes", "true"},  {"no", "false"},    {"on", "true"},
        {"off", "false"},      {"Yes", "true"},  {"No", "false"},
    };
    const char *at = j->text.p + (word.p - j->plain.p);
    struct owl_faults *to = j->r->faults;
    bool number = (unsigned char)word.p[0] < 'A' && word.p[0] != '$';
    struct owl_fault *f = owl_fault_add(to, owl_mark_of(j->r, j->text, at), "%.*s is no %s of JSON",
                                        word.n < 80 ? (int)word.n : 80, word.p,
                                        number ? "number" : "value");
    f->width = owl_reader__width(word);
    for (size_t i = 0; i < OWL_COUNT(known); i++) {
        if (owl_str_is(word, known[i].word)) {
            owl_fault_hint(to, f, "write %s", known[i].instead);
            return;
        }
    }
    owl_str digits = {word.p + 1, word.n - 1};
    if (owl_str_is(word, "NaN") || owl_str_is(word, "Infinity") || owl_str_is(digits, "Infinity"))
        hint(j, f, "write a number that is finite, or null");
    else if (number && word.n > 1 && word.p[0] == '0' && (digits.p[0] | 0x20) == 'x')
        hint(j, f, "write it with decimal digits");
    else if (number && word.p[0] == '+')
        hint(j, f, "write it without the +");
    else if (number && word.n > 1 && word.p[0] == '0' && digits.p[0] >= '0' && digits.p[0] <= '9')
        hint(j, f, "write it without the leading 0, or in double quotes if it is a string");
    else
        hint(j, f, "put it in double quotes if it is a string");
}

static bool is_quote(owl_str rest)
{
    return (rest.n > 0 && (rest.p[0] == '\'' || rest.p[0] == '`')) ||
           (rest.n > 2 && memcmp(rest.p, "\xe2\x80", 2) == 0 && (unsigned char)rest.p[2] >= 0x98 &&
            (unsigned char)rest.p[2] <= 0x9f);
}

static void explain_string(const struct jsonc *j, const char *string)
{
    hint(j, fault(j, j->text.p + (string - j->plain.p), "this string is not closed on its line"),
         "close it with \"; write \\n for a new line within it");
}

/* The text ends within a container. */
static void explain_end(const struct jsonc *j, const char *container)
{
    bool object = *container == '{';
    hint(j,
         fault(j, j->text.p + (container - j->plain.p),
               object ? "this { is never closed" : "this [ is never closed"),
         object ? "add the } that is missing" : "add the ] that is missing");
}

/* A key was expected. */
static void explain_key(const struct jsonc *j, const char *at, owl_str word)
{
    if (word.n == 0 || word.p != at) {
        struct owl_fault *f = fault(j, j->text.p + (at - j->plain.p),
                                    "expected a key in double quotes");
        if (at < j->plain.p + j->plain.n && *at == '#')
            hint(j, f, "comments begin with //");
        return;
    }
    struct owl_fault *f = owl_fault_add(
        j->r->faults, owl_mark_of(j->r, j->text, j->text.p + (at - j->plain.p)),
        "the key %.*s is not in double quotes", word.n < 80 ? (int)word.n : 80, word.p);
    f->width = owl_reader__width(word);
    owl_fault_hint(j->r->faults, f, "write \"%.*s\"", word.n < 80 ? (int)word.n : 80, word.p);
}

/* A comma is missing, behind what comes before @p at. */
static void explain_comma(const struct jsonc *j, const char *at)
{
    bool quote = at > j->plain.p && at[-1] == '"'; /* of "say "hi"" the second one */
    while (at > j->plain.p && (unsigned char)at[-1] <= ' ')
        at--;
    hint(j, fault(j, j->text.p + (at - j->plain.p), "expected ',' before what comes next"),
         quote ? "add a ',' here, or write \\\" for a quote within a string" : "add a ',' here");
}

static bool begins(const char *s, const char *with)
{
    return strncmp(s, with, strlen(with)) == 0;
}

/* What cannot stand in a string as it is. */
static void explain_character(const struct jsonc *j, const char *at, const char *message)
{
    const char *end = j->plain.p + j->plain.n;
    struct owl_fault *f = fault(j, j->text.p + (at - j->plain.p), message);
    f->width = begins(message, "unknown escape") && end - at > 1 ? 2 : 1;
    hint(j, f,
         *at == '\\' ? "write \\\\ for each backslash"
                     : "write \\t for a tab, \\u001b for an escape");
}

/* Says of @p message, of the scan, and of its place in the copy what a writer can do about it. */
static void explain(const struct jsonc *j, const char *at, const char *message)
{
    const char *end = j->plain.p + j->plain.n;
    struct inside in = inside_of(j->plain, at);
    owl_str word = word_at(j->plain, at);
    bool follow = begins(message, "expected ',' or");
    bool end_of_text = begins(message, "expected the end");
    char c = at < end ? *at : '\0';
    if (owl_reader__conflict(j->r, j->text))
        return;
    if (in.string && (at == end || c == '\n' || c == '\r'))
        explain_string(j, in.string);
    else if (in.string)
        explain_character(j, at, message);
    else if (at == end && in.container)
        explain_end(j, in.container);
    else if (begins(message, "expected") && is_quote((owl_str){at, (size_t)(end - at)}))
        hint(j,
             fault(j, j->text.p + (at - j->plain.p),
                   *at == '\'' || *at == '`' ? "JSON has no such quotes"
                                             : "this is a curly quote, which JSON does not have"),
             "write keys and strings in straight double quotes: \"");
    else if (begins(message, "expected a key"))
        explain_key(j, at, word);
    else if (follow && (c == '"' || c == '{' || c == '[' || (word.n > 0 && word.p == at)))
        explain_comma(j, at);
    else if (word.n > 0 && (begins(message, "expected a ") || begins(message, "a number") ||
                            ((follow || end_of_text) && is_word(c) && word.p < at)))
        explain_word(j, word);
    else if (c == '#')
        hint(j, fault(j, j->text.p + (at - j->plain.p), message), "comments begin with //");
    else if (end_of_text && (c == '}' || c == ']'))
        hint(j,
             fault(j, j->text.p + (at - j->plain.p),
                   c == '}' ? "this } closes nothing" : "this ] closes nothing"),
             "take it out, or see whether one before it is too much");
    else if (end_of_text)
        hint(j, fault(j, j->text.p + (at - j->plain.p), "the value is complete before this"),
             "a file holds one value");
    else
        fault(j, j->text.p + (at - j->plain.p), message);
}

static int prove(const struct jsonc *j)
{
    owl_error err = {0};
    int rc = owl_json_scan_repeats(j->plain, owl_reader__depth(j->r), &err);
    if (rc == 0 || rc == -OWL_ENOMEM)
        return rc;
    char *message = err.message; /* "byte 17: ..." */
    size_t at = begins(message, "byte ") ? strtoul(message + 5, &message, 10) : 0;
    explain(j, j->plain.p + at, begins(message, ": ") ? message + 2 : message);
    return -OWL_EPARSE;
}

/* ---- the copy --------------------------------------------------------------------------- */

/* Behind a comment; NULL if it is not closed. */
static char *comment_end(char *p, char *end)
{
    if (p[1] == '/') {
        while (p < end && *p != '\n' && *p != '\r')
            p++;
        return p;
    }
    for (p += 2; end - p > 1; p++) {
        if (p[0] == '*' && p[1] == '/')
            return p + 2;
    }
    return NULL;
}

static void blank(char *p, const char *to)
{
    for (; p < to; p++)
        *p = *p == '\n' || *p == '\r' ? *p : ' ';
}

/* Blanks comments, and commas that follow a value and close a container; counts the values. */
static int make_plain(const struct jsonc *j, char *plain)
{
    char *p = plain, *end = plain + j->text.n;
    char *comma = NULL; /* the last significant byte, if it is a comma that may go */
    char last = '[';    /* the last significant byte; a value begins the text */
    uint32_t values = 0;
    while (p < end) {
        char c = *p;
        if (c == '/' && end - p > 1 && (p[1] == '/' || p[1] == '*')) {
            char *to = comment_end(p, end);
            if (!to) {
                hint(j, fault(j, j->text.p + (p - plain), "this comment is never closed"),
                     "close it with */");
                return -OWL_EPARSE;
            }
            blank(p, to);
            p = to;
            continue;
        }
        if ((unsigned char)c <= ' ') {
            p++;
            continue;
        }
        bool closes = c == ']' || c == '}';
        bool opened = last == '[' || last == '{' || last == ',';
        if (closes && comma)
            *comma = ' ';
        if (opened && !closes && c != ',' && values++ == owl_reader__values(j->r)) {
            owl_reader__too_many(j->r, owl_mark_of(j->r, j->text, j->text.p + (p - plain)));
            return -OWL_EPARSE;
        }
        comma = c == ',' && !opened && last != ':' ? p : NULL;
        last = c;
        bool closed;
        p = c == '"' ? plain + (string_end(p, end, &closed) - plain) : p + 1;
    }
    return 0;
}

/* ---- values ----------------------------------------------------------------------------- */

struct frame {
    struct owl_value *v;
    uint32_t end; /* the first node behind it */
    struct owl_members members;
};

struct build {
    const struct jsonc *j;
    struct owl_tree tree;
    struct owl_marker marker;
    struct owl_value *root;
    size_t depth;
    struct frame frames[OWL_JSON_DEPTH];
};

static struct owl_mark mark_of(struct build *b, uint32_t node)
{
    const struct owl_node *n = &b->tree.nodes[node];
    size_t at = n->at - (n->kind == OWL_NODE_STRING); /* at its quote */
    return owl_marker_byte(&b->marker, b->j->text.p + at);
}

static struct owl_value *make_value(struct build *b, uint32_t node)
{
    struct owl_arena *a = b->j->r->arena;
    enum owl_node_kind kind = (enum owl_node_kind)b->tree.nodes[node].kind;
    struct owl_value *v = owl_value_new(a, kind, mark_of(b, node));
    if (!v)
        return NULL;
    if (kind == OWL_NODE_STRING) {
        v->text = owl_tree_decode(&b->tree, node, a);
    } else if (kind == OWL_NODE_NUMBER) {
        owl_str number = owl_tree_text(&b->tree, node);
        v->text = (owl_str){owl_arena_dup(a, number), number.n};
    }
    bool text = kind == OWL_NODE_STRING || kind == OWL_NODE_NUMBER;
    return text && !v->text.p ? NULL : v;
}

/* Adds the member whose key is @p node to the innermost object. *@p ret is NULL if there is one of
 * that name. */
static int add_member(struct build *b, uint32_t node, struct owl_value **ret)
{
    struct frame *f = &b->frames[b->depth - 1];
    struct owl_mark key_at = mark_of(b, node);
    owl_str key = owl_tree_decode(&b->tree, node, b->j->r->arena);
    if (!key.p)
        return -OWL_ENOMEM;
    *ret = NULL;
    const struct owl_value *first = owl_members_get(&f->members, f->v, key);
    if (first) {
        owl_reader__twice(b->j->r, key, key_at, first->key_at);
        return 0;
    }
    struct owl_value *v = make_value(b, node + 1);
    if (!v)
        return -OWL_ENOMEM;
    v->key = key;
    v->key_at = key_at;
    *ret = v;
    return owl_members_add(&f->members, f->v, v);
}

static int build_values(struct build *b)
{
    for (uint32_t i = 0; i < b->tree.n;) {
        while (b->depth > 0 && i >= b->frames[b->depth - 1].end)
            owl_members_done(&b->frames[--b->depth].members);
        struct owl_value *outer = b->depth > 0 ? b->frames[b->depth - 1].v : NULL, *v = NULL;
        if (outer && outer->kind == OWL_NODE_OBJECT) {
            int rc = add_member(b, i++, &v);
            if (rc)
                return rc;
        } else {
            v = make_value(b, i);
            if (!v)
                return -OWL_ENOMEM;
            if (outer)
                owl_value_add(outer, v);
            else
                b->root = v;
        }
        uint32_t next = b->tree.nodes[i].next;
        bool enter = v && v->kind >= OWL_NODE_ARRAY;
        if (enter)
            b->frames[b->depth++] = (struct frame){.v = v, .end = next};
        i = enter ? i + 1 : next;
    }
    return 0;
}

static int read_plain(const struct jsonc *j, struct owl_value **ret)
{
    struct build b = {.j = j, .marker = owl_marker(j->text, j->r->source)};
    owl_tree_init(&b.tree, NULL, 0);
    int rc = owl_tree_read(&b.tree, j->plain);
    if (rc == 0)
        rc = build_values(&b);
    while (b.depth > 0)
        owl_members_done(&b.frames[--b.depth].members);
    owl_tree_done(&b.tree);
    if (rc == 0)
        *ret = b.root;
    return rc;
}

int owl_jsonc_read(const struct owl_reading *r, struct owl_value **ret)
{
    struct jsonc j = {.r = r};
    int rc = owl_reader__text(r, &j.text);
    if (rc)
        return rc;
    char *plain = owl_malloc(j.text.n + 1);
    if (!plain)
        return -OWL_ENOMEM;
    memcpy(plain, j.text.p, j.text.n);
    plain[j.text.n] = '\0';
    j.plain = (owl_str){plain, j.text.n};
    rc = make_plain(&j, plain);
    if (rc == 0)
        rc = prove(&j);
    if (rc == 0)
        rc = read_plain(&j, ret);
    owl_free(plain);
    return rc;
}
