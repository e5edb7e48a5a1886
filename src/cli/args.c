/* cli/args.c - the command line, understood.
 * Threads: the main one.
 *
 * One pass: a word leads into a group or is an operand, an option is looked up in the command that
 * was reached and in the program. What is missing is noticed at the end. */
#include "cli/args.h"

#include <stdarg.h>

#include "base/alloc.h"
#include "base/nearest.h"

struct reading {
    struct owl_args *args;
    char *const *argv;
    int argc, at; /* argv[at] is looked at */
    bool no_more_options;
};

OWL_PRINTF(2, 3)
static int problem(struct owl_args *a, const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    OWL_IGNORE(vsnprintf(a->problem, sizeof a->problem, fmt, args) < 0); /* what fits is told */
    va_end(args);
    return -OWL_EINVAL;
}

/* What a user typed, cut so that a sentence has room for it. */
#define TYPED(s) (int)((s).n < 80 ? (s).n : 80), (s).p

/* ---- options -------------------------------------------------------------------------------- */

/* Calls @p see for each option that can be given to the command, until it returns true. */
static const struct owl_command_option *
each_option(const struct owl_command *c,
            bool (*see)(void *data, const struct owl_command_option *o), void *data)
{
    const struct owl_command_option *lists[] = {c->options, owl_command_program.options};
    for (size_t i = c == &owl_command_program; i < OWL_COUNT(lists); i++) {
        for (const struct owl_command_option *o = lists[i]; o && o->name; o++) {
            if (see(data, o))
                return o;
        }
    }
    return NULL;
}

static bool has_name(void *data, const struct owl_command_option *o)
{
    return owl_str_is(*(const owl_str *)data, o->name);
}

static bool has_letter(void *data, const struct owl_command_option *o)
{
    return o->letter != '\0' && o->letter == *(const char *)data;
}

static bool suggest_option(void *nearest, const struct owl_command_option *o)
{
    owl_nearest_try(nearest, owl_str_of(o->name));
    return false;
}

static int unknown_option(struct owl_args *a, owl_str name)
{
    struct owl_nearest nearest = {.written = name};
    each_option(a->command, suggest_option, &nearest);
    if (nearest.best.p)
        return problem(a, "there is no option --%.*s; did you mean --%s?", TYPED(name),
                       nearest.best.p);
    return problem(a, "there is no option --%.*s", TYPED(name));
}

static bool is_choice(const struct owl_command_option *o, const char *value)
{
    const char *const *c = o->choices;
    while (c && *c && strcmp(*c, value) != 0)
        c++;
    return !c || *c;
}

static int bad_choice(struct owl_args *a, const struct owl_command_option *o, const char *value)
{
    char choices[200] = "";
    struct owl_nearest nearest = {.written = owl_str_of(value)};
    size_t n = 0;
    for (const char *const *c = o->choices; *c; c++) {
        const char *join = c == o->choices ? "" : c[1] ? ", " : " or ";
        int more = snprintf(choices + n, sizeof choices - n, "%s%s", join, *c);
        n += more > 0 && (size_t)more < sizeof choices - n ? (size_t)more : 0;
        owl_nearest_try(&nearest, owl_str_of(*c));
    }
    owl_str typed = owl_str_of(value);
    if (nearest.best.p)
        return problem(a, "--%s takes %s, not \"%.*s\"; did you mean %s?", o->name, choices,
                       TYPED(typed), nearest.best.p);
    return problem(a, "--%s takes %s, not \"%.*s\"", o->name, choices, TYPED(typed));
}

/* What the options of the program say about this run. */
static void take_common(struct owl_args *a, const struct owl_command_option *o, const char *value)
{
    if (strcmp(o->name, "help") == 0)
        a->help = true;
    else if (strcmp(o->name, "version") == 0)
        a->version = true;
    else if (strcmp(o->name, "json") == 0)
        a->json = true;
    else if (strcmp(o->name, "color") == 0 && value)
        a->colour = strcmp(value, "always") == 0  ? OWL_COLOUR_ALWAYS
                    : strcmp(value, "never") == 0 ? OWL_COLOUR_NEVER
                                                  : OWL_COLOUR_AUTO;
}

static bool is_common(const struct owl_command_option *option)
{
    for (const struct owl_command_option *o = owl_command_program.options; o->name; o++) {
        if (o == option)
            return true;
    }
    return false;
}

static int take_option(struct owl_args *a, const struct owl_command_option *o, const char *value)
{
    if (value && !is_choice(o, value))
        return bad_choice(a, o, value);
    bool again = false;
    for (size_t i = 0; i < a->n_given; i++)
        again = again || a->given[i].option == o;
    if (again && value && !o->repeated)
        return problem(a, "--%s can be given once only", o->name);
    if (!again || value)
        a->given[a->n_given++] = (struct owl_given){o, value};
    if (is_common(o))
        take_common(a, o, value);
    return 0;
}

/* The value of an option: @p attached, or else the next argument. */
static int take_valued(struct reading *r, const struct owl_command_option *o, const char *attached)
{
    const char *value = attached;
    if (!value && r->at + 1 < r->argc)
        value = r->argv[++r->at];
    if (!value || (o->file && !*value))
        return problem(r->args, "--%s needs a value: --%s %s", o->name, o->name, o->value);
    return take_option(r->args, o, value);
}

static int read_long(struct reading *r, const char *text)
{
    const char *equals = strchr(text, '=');
    owl_str name = {text, equals ? (size_t)(equals - text) : strlen(text)};
    const struct owl_command_option *o = each_option(r->args->command, has_name, &name);
    if (!o)
        return unknown_option(r->args, name);
    if (o->value)
        return take_valued(r, o, equals ? equals + 1 : NULL);
    if (equals)
        return problem(r->args, "--%s takes no value", o->name);
    return take_option(r->args, o, NULL);
}

static int read_letters(struct reading *r, const char *letters)
{
    for (; *letters; letters++) {
        char letter = *letters;
        const struct owl_command_option *o = each_option(r->args->command, has_letter, &letter);
        if (!o) {
            owl_str typed = owl_str_of(letters);
            /* Somebody may have forgotten the second dash. */
            const struct owl_command_option *same = each_option(r->args->command, has_name, &typed);
            if (same)
                return problem(r->args, "there is no option -%c; did you mean --%s?", letter,
                               same->name);
            return problem(r->args, "there is no option -%.*s", (letter & 0x80) ? 80 : 1, letters);
        }
        if (o->value)
            return take_valued(r, o, letters[1] ? letters + 1 : NULL);
        int rc = take_option(r->args, o, NULL);
        if (rc)
            return rc;
    }
    return 0;
}

/* ---- words ---------------------------------------------------------------------------------- */

static int enter(struct owl_args *a, const char *word)
{
    owl_str typed = owl_str_of(word);
    struct owl_nearest nearest = {.written = typed};
    for (size_t i = 0; owl_commands[i]; i++) {
        const struct owl_command *c = owl_commands[i];
        if (!owl_command_in(c, a->command))
            continue;
        const char *name = owl_command_name(c);
        if (strcmp(name, word) == 0) {
            a->command = c;
            return 0;
        }
        if (!c->hidden)
            owl_nearest_try(&nearest, owl_str_of(name));
    }
    const char *group = a->command->words, *blank = *group ? " " : "";
    if (nearest.best.p)
        return problem(a, "there is no command \"%s%s%.*s\"; did you mean \"%s%s%s\"?", group,
                       blank, TYPED(typed), group, blank, nearest.best.p);
    return problem(a, "there is no command \"%s%s%.*s\"", group, blank, TYPED(typed));
}

static int read_word(struct owl_args *a, const char *word)
{
    if (!a->command->run)
        return enter(a, word);
    const struct owl_command_argument *last = a->command->arguments;
    size_t most = 0;
    for (; last && last->name; last++) {
        most++;
        if (last->repeated)
            most = SIZE_MAX;
    }
    owl_str typed = owl_str_of(word);
    if (a->n_operands >= most)
        return problem(a, "\"%.*s\" is one argument too many", TYPED(typed));
    a->operands[a->n_operands++] = word;
    return 0;
}

/* A group was named, or nothing at all. */
static int no_command(struct owl_args *a)
{
    char names[200] = "";
    size_t n = 0;
    for (size_t i = 0; owl_commands[i]; i++) {
        if (owl_commands[i]->hidden || !owl_command_in(owl_commands[i], a->command))
            continue;
        const char *name = owl_command_name(owl_commands[i]);
        int more = snprintf(names + n, sizeof names - n, "%s%s", n ? ", " : "", name);
        n += more > 0 && (size_t)more < sizeof names - n ? (size_t)more : 0;
    }
    if (a->command == &owl_command_program)
        return problem(a, "a command is missing: %s", names);
    return problem(a, "\"%s\" needs one of its commands: %s", a->command->words, names);
}

static int check_complete(struct owl_args *a)
{
    if (a->help || a->version)
        return 0;
    if (!a->command->run)
        return no_command(a);
    const struct owl_command_argument *g = a->command->arguments;
    for (size_t i = 0; g && g[i].name && !g[i].optional; i++) {
        if (i >= a->n_operands)
            return problem(a, "the argument %s is missing: the %s", g[i].name, g[i].help);
    }
    return 0;
}

/* Options without a value are kept once: one argument may give many of them, "-hhh". */
static size_t all_options(void)
{
    size_t n = 0;
    for (size_t i = 0; owl_commands[i]; i++) {
        for (const struct owl_command_option *o = owl_commands[i]->options; o && o->name; o++)
            n++;
    }
    return n;
}

int owl_args_read(struct owl_args *args, int argc, char *const *argv)
{
    size_t most = argc > 0 ? (size_t)argc : 1;
    *args = (struct owl_args){.command = &owl_command_program};
    args->operands = owl_calloc(most, sizeof *args->operands);
    args->given = owl_calloc(most + all_options(), sizeof *args->given);
    if (!args->operands || !args->given) {
        owl_args_done(args);
        return -OWL_ENOMEM;
    }
    struct reading r = {.args = args, .argv = argv, .argc = argc};
    for (r.at = 1; r.at < argc; r.at++) {
        const char *word = argv[r.at];
        bool option = !r.no_more_options && word[0] == '-' && word[1] != '\0';
        int rc = 0;
        if (option && strcmp(word, "--") == 0)
            r.no_more_options = true;
        else if (option && word[1] == '-')
            rc = read_long(&r, word + 2);
        else if (option)
            rc = read_letters(&r, word + 1);
        else
            rc = read_word(args, word);
        if (rc)
            return rc;
    }
    return check_complete(args);
}

void owl_args_done(struct owl_args *args)
{
    OWL_FREE(&args->operands);
    OWL_FREE(&args->given);
}
