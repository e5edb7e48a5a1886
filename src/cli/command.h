/* cli/command.h - a command of the program, as one const descriptor.
 * Layer: cli. Threads: the main one.
 *
 * A command is a file of its own that ends in its descriptor, a row of tbl/commands.h and a name in
 * meson.build. Its parsing, help, man page, completions and part of docs/cli.md (written by
 * `owlclaw docs markdown docs`) all come from the descriptor. Lists end in an entry that is zero.
 * Text is plain: an empty line separates paragraphs, which are wrapped where they are shown. */
#ifndef OWL_CLI_COMMAND_H
#define OWL_CLI_COMMAND_H

#include <owlclaw/json.h>

#include "cli/print.h"

/* Beyond these a command may have codes of its own, which its table tells. */
enum owl_exit {
    OWL_EXIT_OK = 0,
    OWL_EXIT_BAD = 1,    /* the thing that was looked at is not good */
    OWL_EXIT_USAGE = 2,  /* the command was not understood, or its input cannot be used */
    OWL_EXIT_INNER = 70, /* no memory, or another fault that is not the user's */
    OWL_EXIT_OUTPUT = 74 /* what was printed did not arrive */
};

struct owl_command_argument {
    const char *name; /* in capitals: "SCHEMA" */
    const char *help; /* a short phrase, which needs no line of its own */
    bool optional;    /* those behind it are too */
    bool repeated;    /* the last one only: it takes all that are left */
    bool file;        /* completed as the name of a file */
};

struct owl_command_option {
    const char *name;           /* "map" for --map */
    const char *value;          /* what its value is, in capitals; NULL: it has none */
    const char *const *choices; /* the only values that do, with NULL at the end; NULL: any */
    const char *help;           /* a short phrase; the description may say more */
    char letter;                /* 'm' for -m, or 0 */
    bool repeated;              /* may be given more than once */
    bool file;                  /* its value is completed as the name of a file */
};

struct owl_command_exit {
    int code;
    const char *meaning;
};

struct owl_command_example {
    const char *line; /* for a shell */
    const char *text; /* what it does */
};

struct owl_run;

struct owl_command {
    const char *words;   /* "mcp-server config validate"; "" is the program itself */
    const char *summary; /* a line, no full stop */
    const char *description;
    const struct owl_command_argument *arguments;
    const struct owl_command_option *options;
    const struct owl_command_exit *exits; /* that mean more here than for everybody */
    const struct owl_command_example *examples;
    int (*run)(struct owl_run *run); /* returns the exit code; NULL: a group of commands */
    bool hidden;                     /* for the build: in no help, no list, no completion */
};

/* All commands and groups, in the order of help, with NULL at the end. */
extern const struct owl_command *const owl_commands[];
/* The first of them, whose options and exit codes are everybody's. */
extern const struct owl_command owl_command_program;

/* The short form of a command: its words without "mcp-server"; NULL: it has none. */
const char *owl_command_short(const struct owl_command *c);
/* Whether @p child is in the group @p parent, directly. What is in "mcp-server" is in the program as well,
 * by its short form. */
bool owl_command_in(const struct owl_command *child, const struct owl_command *parent);
/* The last of its words: "validate". */
const char *owl_command_name(const struct owl_command *c);

/* ---- running -------------------------------------------------------------------------------- */

struct owl_given {
    const struct owl_command_option *option;
    const char *value; /* NULL if it has none */
};

/* What a command was given, and where it prints: answers to `out`, troubles to `err`. */
struct owl_run {
    const struct owl_command *command;
    struct owl_print *out, *err;
    bool json; /* print JSON, one value */
    const char *const *operands;
    size_t n_operands; /* as many as the descriptor asks for and allows */
    const struct owl_given *given;
    size_t n_given;
};

/* Whether an option of the descriptor was given. */
bool owl_run_has(const struct owl_run *r, const char *option);
/* The value of the i-th time that an option was given, or NULL. */
const char *owl_run_value(const struct owl_run *r, const char *option, size_t i);
/* Prints "owlclaw: …" on `err` and returns @p code. */
int owl_run_fail(struct owl_run *r, int code, const char *fmt, ...) OWL_PRINTF(3, 4);
/* Prints the JSON value that was written, and a newline, on `out`. Frees the writer; NULL is no
 * memory. Returns @p code, or OWL_EXIT_INNER after saying why. */
int owl_run_json(struct owl_run *r, owl_json_writer *w, int code);

#endif
