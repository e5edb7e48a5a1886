/* cli/docs_markdown.c - docs/cli.md.
 * Threads: pure. */
#include "cli/docs.h"
#include "cli/help.h"

/* Text in a cell of a table. */
static void put_cell(struct owl_buf *b, const char *text)
{
    for (; *text; text++) {
        if (*text == '|')
            owl_buf_putc(b, '\\');
        owl_buf_putc(b, *text);
    }
}

static void put_options(struct owl_buf *b, const struct owl_command_option *o)
{
    if (o && o->name)
        owl_buf_putz(b, "\n| Option | |\n|---|---|\n");
    for (; o && o->name; o++) {
        owl_buf_putz(b, "| `");
        owl_help_put_option(b, o, false);
        owl_buf_putz(b, "` | ");
        struct owl_buf help;
        owl_buf_init(&help, 4096);
        owl_help_put_option_help(&help, o);
        owl_buf_putc(&help, '\0');
        if (help.rc == 0)
            put_cell(b, help.p);
        owl_buf_done(&help);
        owl_buf_putz(b, " |\n");
    }
}

static void put_arguments(struct owl_buf *b, const struct owl_command *c)
{
    if (c->arguments)
        owl_buf_putz(b, "\n| Argument | |\n|---|---|\n");
    for (const struct owl_command_argument *a = c->arguments; a && a->name; a++) {
        owl_buf_printf(b, "| `%s` | ", a->name);
        put_cell(b, a->help);
        owl_buf_putz(b, " |\n");
    }
}

static void put_exits(struct owl_buf *b, const struct owl_command_exit *e)
{
    if (e && e->meaning)
        owl_buf_putz(b, "\n| Exit code | |\n|---|---|\n");
    for (; e && e->meaning; e++) {
        owl_buf_printf(b, "| %d | ", e->code);
        put_cell(b, e->meaning);
        owl_buf_putz(b, " |\n");
    }
}

static void put_command(struct owl_buf *b, const struct owl_command *c)
{
    bool program = c == &owl_command_program;
    owl_buf_putz(b, program ? "\n" : "\n## ");
    if (!program)
        owl_help_put_name(b, c);
    owl_buf_printf(b, "%s%s.\n\n```\n", program ? "" : "\n\n", c->summary);
    owl_help_put_synopsis(b, c);
    owl_buf_putz(b, "\n```\n");
    if (owl_command_short(c))
        owl_buf_printf(b, "\nShort form: `owlclaw %s`.\n", owl_command_short(c));
    if (c->description)
        owl_buf_printf(b, "\n%s\n", c->description);
    put_arguments(b, c);
    put_options(b, c->options);
    put_exits(b, c->exits);
    for (const struct owl_command_example *e = c->examples; e && e->line; e++)
        owl_buf_printf(b, "\n%s\n\n```sh\n%s\n```\n", e->text, e->line);
}

void owl_docs_markdown(struct owl_buf *b)
{
    owl_buf_putz(
        b, "<!-- Written by `owlclaw docs markdown` from the descriptors in `src/cli/`: change "
           "those. -->\n\n# The command line\n");
    for (size_t i = 0; owl_commands[i]; i++) {
        if (!owl_commands[i]->hidden && (owl_commands[i]->run || i == 0))
            put_command(b, owl_commands[i]);
        if (i == 0)
            owl_buf_putz(b, "\nThese options and exit codes are those of every command. Each has a "
                            "man page, and "
                            "`make install` installs completions for bash, zsh and fish.\n");
    }
}
