/* cli/version.h - what this program is.
 * Layer: cli. Threads: the main one. */
#ifndef OWL_CLI_VERSION_H
#define OWL_CLI_VERSION_H

#include "cli/command.h"

/* "owlclaw 0.1.0"; as JSON also the protocol revisions and the libraries it was built with. */
int owl_print_version(struct owl_run *r);

#endif
