/* cli/commands.c - the list of commands, its groups, and what a command asks of its run.
 * Threads: the main one. */
#include "cli/command.h"

#include <stdarg.h>

#include "base/err.h"

/* ---- the program and its groups ------------------------------------------------------------- */

static const char *const colours[] = {"auto", "always", "never", NULL};

const struct owl_command owl_command_program = {
    .words = "",
    .summary = "Governed gateway and toolkit for the Model Context Protocol",
    .description =
        "Answers go to standard output; with --json an answer is one JSON value. Errors go to "
        "standard error, each as one sentence after \"owlclaw: \".\n\n"
        "Options may stand anywhere among the arguments; -- ends them. Of the environment only "
        "NO_COLOR and TERM are looked at: they can switch colours off.",
    .options =
        (const struct owl_command_option[]){
            {.name = "color",
             .value = "WHEN",
             .choices = colours,
             .help = "when to colour the output"},
            {.name = "json", .help = "print JSON instead of text for people"},
            {.name = "help", .letter = 'h', .help = "show this help"},
            {.name = "version", .help = "show the version"},
            {0},
        },
    .exits =
        (const struct owl_command_exit[]){
            {OWL_EXIT_OK, "success"},
            {OWL_EXIT_BAD, "the thing that was checked is not good"},
            {OWL_EXIT_USAGE, "the command was not understood, or its input cannot be used"},
            {OWL_EXIT_INNER, "out of memory, or another fault inside the program"},
            {OWL_EXIT_OUTPUT, "the output could not be written"},
            {0, NULL},
        },
};

const struct owl_command owl_command_schema = {
    .words = "schema",
    .summary = "Work with JSON Schema",
};

/* ---- the list ------------------------------------------------------------------------------- */

#define OWL_COMMAND_ROW(symbol) extern const struct owl_command owl_command_##symbol;
#include "tbl/commands.h"

const struct owl_command *const owl_commands[] = {
#define OWL_COMMAND_ROW(symbol) &owl_command_##symbol,
#include "tbl/commands.h"
    NULL,
};

const char *owl_command_name(const struct owl_command *c)
{
    const char *blank = strrchr(c->words, ' ');
    return blank ? blank + 1 : c->words;
}

bool owl_command_in(const struct owl_command *child, const struct owl_command *parent)
{
    const char *name = owl_command_name(child);
    size_t n = strlen(parent->words);
    if (child == parent)
        return false;
    if (n == 0)
        return name == child->words;
    return strncmp(child->words, parent->words, n) == 0 && name == child->words + n + 1;
}

/* ---- runs ----------------------------------------------------------------------------------- */

/* The descriptor's own option: a name that it does not have is a fault of the command. */
static const struct owl_command_option *option_of(const struct owl_run *r, const char *name)
{
    const struct owl_command_option *o = r->command->options;
    while (o && o->name && strcmp(o->name, name) != 0)
        o++;
    OWL_ASSERT(o && o->name);
    return o;
}

const char *owl_run_value(const struct owl_run *r, const char *option, size_t i)
{
    const struct owl_command_option *o = option_of(r, option);
    for (size_t k = 0; k < r->n_given; k++) {
        if (r->given[k].option == o && i-- == 0)
            return r->given[k].value;
    }
    return NULL;
}

bool owl_run_has(const struct owl_run *r, const char *option)
{
    const struct owl_command_option *o = option_of(r, option);
    for (size_t k = 0; k < r->n_given; k++) {
        if (r->given[k].option == o)
            return true;
    }
    return false;
}

int owl_run_fail(struct owl_run *r, int code, const char *fmt, ...)
{
    char text[1024];
    va_list args;
    va_start(args, fmt);
    int n = vsnprintf(text, sizeof text, fmt, args);
    va_end(args);
    size_t shown = n < 0 ? 0 : (size_t)n < sizeof text ? (size_t)n : sizeof text - 1;
    owl_print(r->err, OWL_BAD, "owlclaw:");
    owl_print(r->err, OWL_PLAIN, " ");
    owl_print_foreign(r->err, OWL_PLAIN, (owl_str){text, shown});
    owl_print(r->err, OWL_PLAIN, "\n");
    return code;
}

int owl_run_json(struct owl_run *r, owl_json_writer *w, int code)
{
    const char *text = NULL;
    size_t n = 0;
    int rc = w ? owl_json_writer_text(w, &text, &n) : -OWL_ENOMEM;
    if (rc)
        code = owl_run_fail(r, OWL_EXIT_INNER, "%s",
                            rc == -OWL_ENOMEM ? "out of memory" : owl_err_info(rc)->text);
    else
        owl_print(r->out, OWL_PLAIN, "%s\n", text);
    owl_json_writer_free(w);
    return code;
}
