/* cli/help.h - descriptors, as people read them.
 * Layer: cli. Threads: the main one. */
#ifndef OWL_CLI_HELP_H
#define OWL_CLI_HELP_H

#include "base/buf.h"
#include "cli/command.h"

/* What `--help` prints. */
void owl_help(struct owl_print *p, const struct owl_command *c);
/* "usage: owlclaw schema validate [OPTION]... SCHEMA INSTANCE" */
void owl_help_usage(struct owl_print *p, const struct owl_command *c);

/* ---- pieces, for the other forms too ---------------------------------------------------- */

/* "owlclaw schema validate" */
void owl_help_put_name(struct owl_buf *b, const struct owl_command *c);
/* "owlclaw schema validate [OPTION]... SCHEMA INSTANCE" */
void owl_help_put_synopsis(struct owl_buf *b, const struct owl_command *c);
/* "-m, --map PREFIX=DIR"; @p pad: room for the letter where there is none. */
void owl_help_put_option(struct owl_buf *b, const struct owl_command_option *o, bool pad);
/* The help of an option, with its choices. */
void owl_help_put_option_help(struct owl_buf *b, const struct owl_command_option *o);

/* The i-th row of a command's table of exit codes: its own and then those of every command that it
 * does not tell itself; NULL behind the last. */
const struct owl_command_exit *owl_help_exit(const struct owl_command *c, size_t i);

#endif
