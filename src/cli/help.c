/* cli/help.c - descriptors, as people read them.
 * Threads: the main one. */
#include "cli/help.h"

enum { ROWS = 64, TEXT = 4096 };

/* ---- pieces --------------------------------------------------------------------------------- */

void owl_help_put_name(struct owl_buf *b, const struct owl_command *c)
{
    owl_buf_printf(b, "owlclaw%s%s", *c->words ? " " : "", c->words);
}

void owl_help_put_synopsis(struct owl_buf *b, const struct owl_command *c)
{
    owl_help_put_name(b, c);
    owl_buf_putz(b, c->run ? " [OPTION]..." : " COMMAND [OPTION]... [ARGUMENT]...");
    for (const struct owl_command_argument *a = c->arguments; a && a->name; a++)
        owl_buf_printf(b, a->optional ? " [%s]%s" : " %s%s", a->name, a->repeated ? "..." : "");
}

void owl_help_put_option(struct owl_buf *b, const struct owl_command_option *o, bool pad)
{
    if (o->letter)
        owl_buf_printf(b, "-%c, ", o->letter);
    else if (pad)
        owl_buf_putz(b, "    ");
    owl_buf_printf(b, "--%s%s%s", o->name, o->value ? " " : "", o->value ? o->value : "");
}

void owl_help_put_option_help(struct owl_buf *b, const struct owl_command_option *o)
{
    owl_buf_putz(b, o->help);
    for (const char *const *c = o->choices; c && *c; c++)
        owl_buf_printf(b, "%s%s%s", c == o->choices ? " (" : "|", *c, c[1] ? "" : ")");
    if (o->repeated)
        owl_buf_putz(b, " (can be repeated)");
}

/* The lowest code above another; of two meanings the command's own. */
static const struct owl_command_exit *next_exit(const struct owl_command *c, int above)
{
    const struct owl_command_exit *lowest = NULL;
    const struct owl_command_exit *lists[] = {c->exits, owl_command_program.exits};
    for (size_t i = 0; i < OWL_COUNT(lists); i++)
        for (const struct owl_command_exit *e = lists[i]; e && e->meaning; e++)
            if (e->code > above && (!lowest || e->code < lowest->code))
                lowest = e;
    return lowest;
}

const struct owl_command_exit *owl_help_exit(const struct owl_command *c, size_t i)
{
    const struct owl_command_exit *e = next_exit(c, -1);
    for (; e && i > 0; i--)
        e = next_exit(c, e->code);
    return e;
}

/* ---- sections ------------------------------------------------------------------------------- */

/* Rows of two cells for a table, as strings in one buffer. */
struct rows {
    struct owl_buf text;
    size_t at[ROWS][2];
    size_t n;
};

static void rows_init(struct rows *r)
{
    r->n = 0;
    owl_buf_init(&r->text, (size_t)1 << 20);
}

/* The cell that was written last begins at @p from. */
static void cell(struct rows *r, size_t column, size_t from)
{
    OWL_ASSERT(r->n < ROWS);
    owl_buf_putc(&r->text, '\0');
    r->at[r->n][column] = from;
    r->n += column;
}

static void rows_print(struct owl_print *p, struct rows *r, const char *title)
{
    const char *cells[ROWS][2];
    size_t n = r->text.rc == 0 ? r->n : 0;
    for (size_t i = 0; i < n; i++) {
        cells[i][0] = r->text.p + r->at[i][0];
        cells[i][1] = r->text.p + r->at[i][1];
    }
    if (n > 0) {
        owl_print(p, OWL_ACCENT, "\n%s\n", title);
        owl_print_table(p, &cells[0][0], 2, n);
    }
    owl_buf_done(&r->text);
}

static void print_commands(struct owl_print *p, const struct owl_command *group)
{
    struct rows r;
    rows_init(&r);
    for (size_t i = 0; owl_commands[i]; i++) {
        const struct owl_command *c = owl_commands[i];
        if (c->hidden || !owl_command_in(c, group))
            continue;
        size_t from = r.text.n;
        owl_buf_putz(&r.text, owl_command_name(c));
        cell(&r, 0, from);
        from = r.text.n;
        owl_buf_putz(&r.text, c->summary);
        cell(&r, 1, from);
    }
    rows_print(p, &r, "Commands");
}

static void print_arguments(struct owl_print *p, const struct owl_command *c)
{
    struct rows r;
    rows_init(&r);
    for (const struct owl_command_argument *a = c->arguments; a && a->name; a++) {
        size_t from = r.text.n;
        owl_buf_putz(&r.text, a->name);
        cell(&r, 0, from);
        from = r.text.n;
        owl_buf_putz(&r.text, a->help);
        cell(&r, 1, from);
    }
    rows_print(p, &r, "Arguments");
}

static void print_options(struct owl_print *p, const struct owl_command_option *o,
                          const char *title)
{
    struct rows r;
    rows_init(&r);
    for (; o && o->name; o++) {
        size_t from = r.text.n;
        owl_help_put_option(&r.text, o, true);
        cell(&r, 0, from);
        from = r.text.n;
        owl_help_put_option_help(&r.text, o);
        cell(&r, 1, from);
    }
    rows_print(p, &r, title);
}

static void print_exits(struct owl_print *p, const struct owl_command *c)
{
    struct rows r;
    rows_init(&r);
    const struct owl_command_exit *e;
    for (size_t i = 0; (e = owl_help_exit(c, i)) != NULL; i++) {
        size_t from = r.text.n;
        owl_buf_printf(&r.text, "%d", e->code);
        cell(&r, 0, from);
        from = r.text.n;
        owl_buf_putz(&r.text, e->meaning);
        cell(&r, 1, from);
    }
    rows_print(p, &r, "Exit codes");
}

static void print_examples(struct owl_print *p, const struct owl_command *c)
{
    if (!c->examples)
        return;
    owl_print(p, OWL_ACCENT, "\nExamples\n");
    for (const struct owl_command_example *e = c->examples; e->line; e++) {
        owl_print_wrapped(p, 2, 0, e->text);
        owl_print(p, OWL_BOLD, "      %s\n", e->line);
    }
}

/* ---- the whole ------------------------------------------------------------------------------ */

void owl_help_usage(struct owl_print *p, const struct owl_command *c)
{
    struct owl_buf b;
    owl_buf_init(&b, TEXT);
    owl_help_put_synopsis(&b, c);
    owl_buf_putc(&b, '\0');
    owl_print(p, OWL_ACCENT, "usage:");
    owl_print(p, OWL_PLAIN, " ");
    if (b.rc == 0)
        owl_print_wrapped(p, 7, 7, b.p);
    owl_buf_done(&b);
}

void owl_help(struct owl_print *p, const struct owl_command *c)
{
    owl_help_usage(p, c);
    owl_print(p, OWL_PLAIN, "\n");
    owl_print_wrapped(p, 0, 0, c->summary);
    if (owl_command_short(c))
        owl_print(p, OWL_PLAIN, "\nShort form: owlclaw %s\n", owl_command_short(c));
    if (c->description) {
        owl_print(p, OWL_PLAIN, "\n");
        owl_print_wrapped(p, 0, 0, c->description);
    }
    if (!c->run)
        print_commands(p, c);
    print_arguments(p, c);
    bool program = c == &owl_command_program;
    if (!program)
        print_options(p, c->options, "Options");
    print_options(p, owl_command_program.options, program ? "Options" : "Common options");
    if (c->run || program)
        print_exits(p, c);
    print_examples(p, c);
}
