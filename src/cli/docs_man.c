/* cli/docs_man.c - man pages.
 * Threads: pure. */
#include <owlclaw/version.h>

#include "cli/docs.h"
#include "cli/help.h"

/* The day of the text; it changes with the version. */
#define DAY "2026-11-16"

enum { LINE = 72 }; /* of the source, where text is broken */

/* How roff writes a character that it would take for its own, or show as another; or NULL. */
static const char *escaped(char c)
{
    switch (c) {
    case '\\': return "\\e";
    case '"': return "\\(dq";
    case '\'': return "\\(aq";
    case '~': return "\\(ti";
    case '^': return "\\(ha";
    default: return NULL;
    }
}

/* Paragraphs, broken into lines. Dashes of options and of @p code stay dashes; others are hyphens. */
static void put(struct owl_buf *b, const char *text, bool code)
{
    bool begins = true, option = false; /* a word begins; it is an option so far */
    size_t column = 0;
    for (; *text; text++) {
        bool paragraph = strncmp(text, "\n\n", 2) == 0;
        bool full = *text == ' ' && !code && column + strcspn(text + 1, " ") >= LINE;
        option = *text == '-' && (option || begins);
        begins = paragraph || *text == ' ';
        if (paragraph || full) {
            owl_buf_putz(b, paragraph ? "\n.PP\n" : "\n");
            text += paragraph;
            column = 0;
            continue;
        }
        if (column++ == 0 && *text == '.')
            owl_buf_putz(b, "\\&"); /* no request */
        const char *other = *text == '-' && (code || option) ? "\\-" : escaped(*text);
        if (other)
            owl_buf_putz(b, other);
        else
            owl_buf_putc(b, *text);
    }
}

void owl_docs_put_page(struct owl_buf *b, const struct owl_command *c)
{
    owl_buf_printf(b, "owlclaw%s", *c->words ? "-" : "");
    for (const char *p = c->words; *p; p++)
        owl_buf_putc(b, *p == ' ' ? '-' : *p);
}

static void put_title(struct owl_buf *b, const struct owl_command *c)
{
    size_t from = b->n;
    owl_docs_put_page(b, c);
    for (; from < b->n; from++) {
        if (b->p[from] >= 'a' && b->p[from] <= 'z')
            b->p[from] = (char)(b->p[from] - 'a' + 'A');
    }
}

static void put_options(struct owl_buf *b, const struct owl_command_option *o)
{
    for (; o && o->name; o++) {
        owl_buf_putz(b, ".TP\n");
        if (o->letter)
            owl_buf_printf(b, "\\fB\\-%c\\fR, ", o->letter);
        owl_buf_putz(b, "\\fB\\-\\-");
        put(b, o->name, true);
        owl_buf_putz(b, o->value ? "\\fR \\fI" : "");
        put(b, o->value ? o->value : "", true);
        owl_buf_putz(b, "\\fR\n");
        struct owl_buf help;
        owl_buf_init(&help, 4096);
        owl_help_put_option_help(&help, o);
        owl_buf_putc(&help, '\0');
        if (help.rc == 0)
            put(b, help.p, false);
        owl_buf_done(&help);
        owl_buf_putc(b, '\n');
    }
}

static void put_commands(struct owl_buf *b)
{
    owl_buf_putz(b, ".SH COMMANDS\n");
    for (size_t i = 0; owl_commands[i]; i++) {
        const struct owl_command *c = owl_commands[i];
        if (c->hidden || !c->run)
            continue;
        owl_buf_putz(b, ".TP\n\\fB");
        put(b, c->words, true);
        owl_buf_putz(b, "\\fR\n");
        put(b, c->summary, false);
        owl_buf_putz(b, "; see\n.BR ");
        struct owl_buf page;
        owl_buf_init(&page, 256);
        owl_docs_put_page(&page, c);
        owl_buf_putc(&page, '\0');
        put(b, page.rc == 0 ? page.p : "", true);
        owl_buf_done(&page);
        owl_buf_putz(b, " (1).\n");
    }
}

static void put_synopsis(struct owl_buf *b, const struct owl_command *c)
{
    owl_buf_putz(b, ".SH SYNOPSIS\n\\fBowlclaw");
    owl_buf_putz(b, *c->words ? " " : "");
    put(b, c->words, true);
    owl_buf_putz(b, c->run ? "\\fR [\\fIOPTION\\fR]...\n"
                           : "\\fR \\fICOMMAND\\fR [\\fIOPTION\\fR]... [\\fIARGUMENT\\fR]...\n");
    for (const struct owl_command_argument *a = c->arguments; a && a->name; a++)
        owl_buf_printf(b, a->optional ? "[\\fI%s\\fR]%s\n" : "\\fI%s\\fR%s\n", a->name,
                       a->repeated ? "..." : "");
    if (owl_command_short(c)) {
        owl_buf_putz(b, ".PP\nShort form: \\fBowlclaw ");
        put(b, owl_command_short(c), true);
        owl_buf_putz(b, "\\fR\n");
    }
}

static void put_arguments(struct owl_buf *b, const struct owl_command *c)
{
    if (c->arguments)
        owl_buf_putz(b, ".SH ARGUMENTS\n");
    for (const struct owl_command_argument *a = c->arguments; a && a->name; a++) {
        owl_buf_printf(b, ".TP\n\\fI%s\\fR\n", a->name);
        put(b, a->help, false);
        owl_buf_putc(b, '\n');
    }
}

static void put_examples(struct owl_buf *b, const struct owl_command *c)
{
    const struct owl_command_example *e = c->examples;
    if (e)
        owl_buf_putz(b, ".SH EXAMPLES\n");
    for (; e && e->line; e++) {
        put(b, e->text, false);
        owl_buf_putz(b, "\n.PP\n.nf\n.RS 4\n");
        put(b, e->line, true);
        owl_buf_printf(b, "\n.RE\n.fi\n%s", e[1].line ? ".PP\n" : "");
    }
}

void owl_docs_man(struct owl_buf *b, const struct owl_command *c)
{
    bool program = c == &owl_command_program;
    owl_buf_putz(b, ".\\\" Written by \"owlclaw docs man\" from the descriptors in src/cli.\n.TH ");
    put_title(b, c);
    owl_buf_putz(b, " 1 " DAY " \"OwlClaw " OWL_VERSION_STRING "\" \"OwlClaw manual\"\n.SH NAME\n");
    owl_docs_put_page(b, c);
    owl_buf_putz(b, " \\- ");
    put(b, c->summary, false);
    owl_buf_putc(b, '\n');
    put_synopsis(b, c);
    if (c->description) {
        owl_buf_putz(b, ".SH DESCRIPTION\n");
        put(b, c->description, false);
        owl_buf_putc(b, '\n');
    }
    if (program)
        put_commands(b);
    put_arguments(b, c);
    owl_buf_putz(b, ".SH OPTIONS\n");
    if (!program)
        put_options(b, c->options);
    put_options(b, owl_command_program.options);
    owl_buf_putz(b, ".SH EXIT STATUS\n");
    const struct owl_command_exit *e;
    for (size_t i = 0; (e = owl_help_exit(c, i)) != NULL; i++) {
        owl_buf_printf(b, ".TP\n%d\n", e->code);
        put(b, e->meaning, false);
        owl_buf_putc(b, '\n');
    }
    put_examples(b, c);
    if (!program)
        owl_buf_putz(b, ".SH SEE ALSO\n.BR owlclaw (1)\n");
}
