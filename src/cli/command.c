/* cli/command.c - how commands belong together, and what a command asks of its run.
 * Threads: the main one. */
#include "cli/command.h"

#include <stdarg.h>

#include "base/err.h"

const char *owl_command_name(const struct owl_command *c)
{
    const char *blank = strrchr(c->words, ' ');
    return blank ? blank + 1 : c->words;
}

const char *owl_command_short(const struct owl_command *c)
{
    static const char server[] = "mcp-server ";
    size_t n = sizeof server - 1;
    return strncmp(c->words, server, n) == 0 ? c->words + n : NULL;
}

bool owl_command_in(const struct owl_command *child, const struct owl_command *parent)
{
    const char *name = owl_command_name(child);
    size_t n = strlen(parent->words);
    if (child == parent)
        return false;
    if (n == 0)
        return name == child->words || name == owl_command_short(child);
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
