/* formats/yaml_write.c - values as YAML for people.
 * Threads: one at a time.
 *
 * Block style, two blanks a level. A string is plain only if nobody could take it for something
 * else, a reader of YAML 1.1 included; otherwise it is quoted as JSON does, which is YAML too. */
#include "formats/value.h"

#include "base/visible.h"

enum { COMMENT_COLUMN = 40 };

/* What a plain scalar must not be: readers of one version or another have a meaning for it. */
static bool is_taken(owl_str s)
{
    static const char *const words[] = {"null", "true", "false", "yes", "no", "on",
                                        "off",  "y",    "n",     "inf", "nan"};
    for (size_t i = 0; i < OWL_COUNT(words); i++)
        if (owl_str_ieq(s, owl_str_of(words[i])))
            return true;
    return false;
}

static bool is_letter(char c)
{
    return ((c | 0x20) >= 'a' && (c | 0x20) <= 'z') || c == '_';
}

static bool is_plain(owl_str s)
{
    if (s.n == 0 || !(is_letter(s.p[0]) || s.p[0] == '/') || is_taken(s))
        return false;
    for (size_t i = 1; i < s.n; i++) {
        char c = s.p[i];
        if (!is_letter(c) && !(c >= '0' && c <= '9') && c != '/' && c != '.' && c != '-')
            return false;
    }
    return true;
}

/* What YAML does not let stand for itself between quotes or would take for the end of a line, and
 * what a terminal would. */
static bool is_odd(uint32_t c)
{
    return owl_text_unsafe(c) || (c & 0xfffe) == 0xfffe;
}

static void put_quoted(struct owl_buf *b, owl_str s)
{
    owl_buf_putc(b, '"');
    while (s.n > 0) {
        const char *from = s.p;
        uint32_t c = owl_text_next(&s);
        if (c == '"' || c == '\\')
            owl_buf_putc(b, '\\');
        if (c == '\n')
            owl_buf_putz(b, "\\n");
        else if (c == 0xfffd || is_odd(c))
            owl_buf_printf(b, c > 0xffff ? "\\U%08X" : "\\u%04X", c);
        else
            owl_buf_put(b, from, (size_t)(s.p - from));
    }
    owl_buf_putc(b, '"');
}

static void put_string(struct owl_buf *b, owl_str s)
{
    if (is_plain(s))
        owl_buf_puts(b, s);
    else
        put_quoted(b, s);
}

static void put_number(struct owl_buf *b, const struct owl_value *v)
{
    if (v->form != OWL_FORM_NOT_FINITE)
        owl_buf_puts(b, v->text);
    else if (v->text.p[0] == '-')
        owl_buf_putz(b, "-.inf");
    else
        owl_buf_putz(b, owl_str_is(v->text, "nan") ? ".nan" : ".inf");
}

static void put_leaf(struct owl_buf *b, const struct owl_value *v)
{
    switch ((enum owl_node_kind)v->kind) {
    case OWL_NODE_NULL: owl_buf_putz(b, "null"); break;
    case OWL_NODE_FALSE: owl_buf_putz(b, "false"); break;
    case OWL_NODE_TRUE: owl_buf_putz(b, "true"); break;
    case OWL_NODE_NUMBER: put_number(b, v); break;
    case OWL_NODE_STRING: put_string(b, v->text); break;
    case OWL_NODE_ARRAY: owl_buf_putz(b, "[]"); break;
    case OWL_NODE_OBJECT: owl_buf_putz(b, "{}"); break;
    }
}

static void put_comment(struct owl_buf *b, size_t line_at, owl_str comment)
{
    if (comment.n == 0)
        return;
    do
        owl_buf_putc(b, ' ');
    while (b->rc == 0 && b->n - line_at < COMMENT_COLUMN);
    owl_buf_putz(b, "# ");
    owl_buf_puts(b, comment);
}

void owl_value_yaml(struct owl_buf *b, const struct owl_value *root, owl_value_comment comment,
                    void *data)
{
    size_t depth = 0, line_at = b->n;
    bool begun = false; /* the line: behind the dash of a container */
    for (const struct owl_value *v = root; b->rc == 0;) {
        bool element = v != root && v->parent->kind == OWL_NODE_ARRAY;
        if (!begun) {
            line_at = b->n;
            for (size_t i = 1; i < depth; i++)
                owl_buf_putz(b, "  ");
        }
        if (v != root && !element)
            put_string(b, v->key);
        if (v != root)
            owl_buf_putz(b, element ? "-" : ":");
        begun = v->first && element;
        if (v->first) {
            if (v != root)
                owl_buf_putc(b, element ? ' ' : '\n');
            depth++;
            v = v->first;
            continue;
        }
        if (v != root)
            owl_buf_putc(b, ' ');
        put_leaf(b, v);
        put_comment(b, line_at, comment ? comment(data, v) : (owl_str){NULL, 0});
        owl_buf_putc(b, '\n');
        for (; v != root && !v->next; depth--)
            v = v->parent;
        if (v == root)
            return;
        v = v->next;
    }
}
