/* cli/config_schema.c - owlclaw mcp-server config schema: the published schema.
 * Threads: the main one. */
#include "cli/command.h"
#include "config/config.h"

static int run(struct owl_run *r)
{
    owl_str text = owl_config_schema();
    OWL_IGNORE(fwrite(text.p, 1, text.n, r->out->file)); /* the program looks at its end */
    return OWL_EXIT_OK;
}

const struct owl_command owl_command_config_schema = {
    .words = "mcp-server config schema",
    .summary = "Print the schema of configurations",
    .description =
        "The schema lists every key with its type, default and meaning. Editors that are told of "
        "it complete and check what is typed: the examples name it in their first line. It is "
        "installed as share/owlclaw/config.schema.json.",
    .examples =
        (const struct owl_command_example[]){
            {"owlclaw mcp-server config schema > owlclaw.schema.json",
             "Keep a copy for an editor:"},
            {NULL, NULL},
        },
    .run = run,
};
