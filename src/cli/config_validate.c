/* cli/config_validate.c - owlclaw mcp-server config validate: is the configuration good?
 * Threads: the main one. */
#include "cli/config_load.h"
#include "config/report.h"
#include "config/summary.h"

static void put_sources(struct owl_buf *b, const struct owl_config *c)
{
    const struct owl_source *sources;
    size_t n = owl_config_sources(c, &sources), files = 0;
    for (size_t i = 0; i < n; i++) {
        if (sources[i].kind != OWL_SOURCE_FILE)
            continue;
        owl_buf_putz(b, files++ ? ", " : "");
        owl_buf_puts(b, sources[i].name);
    }
    if (files == 0)
        owl_buf_putz(b, "no file");
}

static int tell(struct owl_run *r, const struct owl_config *c, bool good)
{
    owl_print_faults(r->out, c);
    struct owl_buf b;
    owl_buf_init(&b, 1024 * 1024);
    put_sources(&b, c);
    if (b.rc)
        return owl_run_text(r, &b, OWL_EXIT_INNER);
    owl_print_foreign(r->out, OWL_BOLD, owl_buf_str(&b));
    owl_print(r->out, OWL_PLAIN, ": ");
    owl_print(r->out, good ? OWL_GOOD : OWL_BAD, good ? "valid" : "not valid");
    owl_buf_reset(&b);
    owl_put_fault_count(&b, c);
    owl_print(r->out, OWL_PLAIN, ", %.*s\n", (int)b.n, owl_buf_str(&b).p);
    owl_buf_done(&b);
    if (!good)
        return OWL_EXIT_BAD;
    owl_buf_init(&b, 1024 * 1024);
    owl_config_summary(&b, c);
    return owl_run_text(r, &b, OWL_EXIT_OK);
}

static int tell_json(struct owl_run *r, const struct owl_config *c, bool good)
{
    const struct owl_faults *f = owl_config_faults(c);
    struct owl_buf b;
    owl_buf_init(&b, 16 * 1024 * 1024);
    owl_buf_printf(&b, "{\"valid\":%s,\"faults\":[", good ? "true" : "false");
    for (size_t i = 0; i < f->n; i++) {
        owl_buf_putz(&b, i ? "," : "");
        owl_report_fault_json(&b, c, &f->list[i]);
    }
    owl_buf_printf(&b, "],\"leftOut\":%zu}\n", f->left_out);
    return owl_run_text(r, &b, good ? OWL_EXIT_OK : OWL_EXIT_BAD);
}

static int run(struct owl_run *r)
{
    struct owl_config *c;
    for (size_t i = 0; i < r->n_operands; i++)
        if (!owl_names_file(r->operands[i]))
            return owl_run_fail(r, OWL_EXIT_USAGE,
                                "%s is not taken for a file without an ending such as .yaml; write "
                                "--config %s or ./%s",
                                r->operands[i], r->operands[i], r->operands[i]);
    int code = owl_run_config(r, &c);
    if (code)
        return code;
    const struct owl_faults *f = owl_config_faults(c);
    size_t warnings = f->n + f->left_out - f->errors;
    bool good = f->errors == 0 && !(owl_run_has(r, "strict") && warnings > 0);
    code = r->json ? tell_json(r, c, good) : tell(r, c, good);
    owl_config_free(c);
    return code;
}

const struct owl_command owl_command_config_validate = {
    .words = "mcp-server config validate",
    .summary = "Check the configuration",
    .description =
        "Reports every error at once, each with its file, line and column, what was found, what "
        "was "
        "expected and how to fix it, then summarizes a valid configuration. A section whose "
        "feature "
        "is not in this build is reported as checked only.\n\n"
        "Without a file the first of mcp-server.yaml, mcp-server.yml, mcp-server.toml, "
        "mcp-server.json and owlclaw.yaml in the current folder is read, over ~/.kode.json and "
        "./.kode.json. Options override environment variables (MCP_SERVER_HTTP_PORT for "
        "http.port), "
        "which override files, which override defaults.",
    .arguments =
        (const struct owl_command_argument[]){
            {.name = "FILE",
             .optional = true,
             .repeated = true,
             .file = true,
             .help = "file to check, as with --config"},
            {0},
        },
    .options =
        (const struct owl_command_option[]){
            OWL_CONFIG_OPTIONS,
            {.name = "strict", .help = "warnings are faults too"},
            {0},
        },
    .exits =
        (const struct owl_command_exit[]){
            {OWL_EXIT_OK, "the configuration is good; there may be warnings"},
            {OWL_EXIT_BAD, "it is not; its faults are printed"},
            {0, NULL},
        },
    .examples =
        (const struct owl_command_example[]){
            {"owlclaw config validate", "Check what would be used in this folder:"},
            {"owlclaw config validate claude_desktop_config.json",
             "Check the file of another program:"},
            {NULL, NULL},
        },
    .run = run,
};
