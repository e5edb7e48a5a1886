/* cli/config_load.h - what the commands about the configuration share.
 * Layer: cli. Threads: the main one. */
#ifndef OWL_CLI_CONFIG_LOAD_H
#define OWL_CLI_CONFIG_LOAD_H

#include "cli/command.h"
#include "config/config.h"

/* Options that say what to load: rows of a descriptor. Those that name a key stand over everything
 * else that says something of it. */
#define OWL_CONFIG_OPTIONS \
    {.name = "config", \
     .letter = 'c', \
     .value = "FILE", \
     .file = true, \
     .repeated = true, \
     .help = "read this file, not those of the default places"}, \
        {.name = "set", \
         .value = "KEY=VALUE", \
         .repeated = true, \
         .help = "set any key, e.g. http.port=9000"}, \
        {.name = "transport", \
         .value = "KIND", \
         .choices = owl_transports, \
         .help = "how clients reach the server"}, \
        {.name = "host", .value = "ADDRESS", .help = "where to listen over HTTP"}, \
        {.name = "port", .value = "NUMBER", .help = "the port for HTTP"}, \
        {.name = "skills-dir", .value = "DIR", .file = true, .help = "the folder of skills"}, \
    { \
        .name = "trust-project", .help = "use files of this folder though they are not trusted" \
    }

extern const char *const owl_transports[];

/* Loads a configuration. 0, or the exit code after saying why not. */
OWL_NODISCARD int owl_run_load(struct owl_run *r, const struct owl_config_options *o,
                               struct owl_config **ret);
/* Whether an argument names a file rather than a key: it has a slash, or the ending of a format. */
bool owl_names_file(const char *argument);
/* Loads what the options of @p r say, and the arguments that name files, as if --config were before each
 * of them. 0, or the exit code after saying why not. */
OWL_NODISCARD int owl_run_config(struct owl_run *r, struct owl_config **ret);

/* Prints all faults for people on @p p. */
void owl_print_faults(struct owl_print *p, const struct owl_config *c);
/* "2 errors and 1 warning", "no faults". */
void owl_put_fault_count(struct owl_buf *b, const struct owl_config *c);
/* Prints what was written, unless memory was lacking. Frees @p b. Returns @p code, or
 * OWL_EXIT_INNER after saying why. */
int owl_run_text(struct owl_run *r, struct owl_buf *b, int code);

#endif
