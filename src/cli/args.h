/* cli/args.h - the command line, understood.
 * Layer: cli. Threads: the main one.
 *
 * As GNU has it: options stand anywhere, `--name value`, `--name=value`, `-nvalue`, `-n value`,
 * letters without values in a row, `--` ends the options. Nothing is abbreviated. */
#ifndef OWL_CLI_ARGS_H
#define OWL_CLI_ARGS_H

#include "cli/command.h"

enum { OWL_ARGS_PROBLEM = 400 };

struct owl_args {
    const struct owl_command *command; /* as far as it was understood */
    const char **operands;
    struct owl_given *given; /* also options of the program */
    size_t n_operands, n_given;
    bool help, version, json;
    enum owl_colour colour;
    char problem[OWL_ARGS_PROBLEM]; /* a sentence: what is wrong, and what would do */
};

/* Reads argv[1] to argv[argc - 1], which must outlive @p args. 0, -OWL_EINVAL (@p args has the
 * problem, and what was understood before it) or -OWL_ENOMEM. */
OWL_NODISCARD int owl_args_read(struct owl_args *args, int argc, char *const *argv);
void owl_args_done(struct owl_args *args);

#endif
