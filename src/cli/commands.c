/* cli/commands.c - the list of commands, the program and its groups.
 * Threads: all of it is constant. */
#include "cli/command.h"

/* ---- the program and its groups ------------------------------------------------------------- */

static const char *const colours[] = {"auto", "always", "never", NULL};

const struct owl_command owl_command_program = {
    .words = "",
    .summary = "Governed gateway and toolkit for the Model Context Protocol",
    .description =
        "Answers go to standard output; with --json an answer is one JSON value. Errors go to "
        "standard error, each as one sentence after \"owlclaw: \".\n\n"
        "Options may stand anywhere among the arguments; -- ends them. NO_COLOR and TERM "
        "of the environment can switch colours off. What is about the configuration also looks at "
        "MCP_SERVER_* and OWLCLAW_INPUT_*, at the ${VARIABLES} that files name, and at HOME and "
        "XDG_STATE_HOME.",
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

const struct owl_command owl_command_mcp_server = {
    .words = "mcp-server",
    .summary = "Serve capabilities to MCP clients",
};

const struct owl_command owl_command_config = {
    .words = "mcp-server config",
    .summary = "Check, show and import configurations",
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
