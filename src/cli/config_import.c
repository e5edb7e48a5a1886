/* cli/config_import.c - owlclaw mcp-server config import: other programs' files in our own shape.
 * Threads: the main one. */
#include <errno.h>
#include <fcntl.h>
#include <strings.h>
#include <unistd.h>

#include "base/fd.h"
#include "cli/config_load.h"
#include "codec/json.h"

static const char default_output[] = "mcp-server.yaml";

static bool ends(const char *name, const char *suffix)
{
    size_t n = strlen(name), m = strlen(suffix);
    return n > m && strcasecmp(name + n - m, suffix) == 0;
}

static void put_yaml(struct owl_buf *b, const struct owl_run *r, const struct owl_value *root)
{
    owl_buf_putz(b, "# Imported from ");
    for (size_t i = 0; i < r->n_operands; i++) {
        owl_buf_putz(b, i ? ", " : "");
        owl_put_visible(b, owl_str_of(r->operands[i]));
    }
    owl_buf_putc(b, '\n');
    owl_value_yaml(b, root, NULL, NULL);
}

/* The whole text of the new file. */
static void put_file(struct owl_buf *b, const struct owl_run *r, const struct owl_config *c,
                     bool json)
{
    struct owl_arena *a = owl_arena_new(0);
    struct owl_value *root = a ? owl_value_new(a, OWL_NODE_OBJECT, (struct owl_mark){0}) : NULL;
    struct owl_value *tree = NULL, *inputs = NULL;
    const struct owl_value *asked = owl_config_inputs(c);
    if (!root || owl_value_copy(a, owl_config_tree(c), &tree) ||
        (asked && owl_value_copy(a, asked, &inputs))) {
        b->rc = -OWL_ENOMEM;
    } else {
        tree->key = OWL_STR("mcp_server");
        owl_value_add(root, tree);
        if (inputs)
            owl_value_add(root, inputs);
        if (json) {
            owl_value_json(b, root, NULL);
            owl_buf_putc(b, '\n');
        } else {
            put_yaml(b, r, root);
        }
    }
    owl_arena_free(a);
}

/* 0, or the exit code after saying why a file of that name is not to be. */
static int check_output(struct owl_run *r, const char *output)
{
    bool read = false;
    if (ends(output, ".toml"))
        return owl_run_fail(r, OWL_EXIT_USAGE,
                            "%s: TOML is read, but not written; name a .yaml or .json file",
                            output);
    for (size_t i = 0; owl_config_names[i]; i++)
        read = read || strcmp(output, owl_config_names[i]) == 0;
    for (size_t i = 0; read && owl_config_names[i]; i++) {
        const char *other = owl_config_names[i];
        if (strcmp(output, other) != 0 && access(other, F_OK) == 0)
            return owl_run_fail(r, OWL_EXIT_BAD,
                                "%s is there already, and of it and %s only one would be read; "
                                "write to another file with --output, and name that one in its "
                                "\"include\"",
                                other, output);
    }
    return 0;
}

/* A new file, for the user alone: it may hold secrets. */
static int write_file(struct owl_run *r, const char *path, const struct owl_buf *b)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (fd < 0 && errno == EEXIST)
        return owl_run_fail(r, OWL_EXIT_BAD,
                            "%s is there already and is left as it is; write to another file with "
                            "--output, and name that one in its \"include\"",
                            path);
    if (fd < 0)
        return owl_run_fail(r, OWL_EXIT_OUTPUT, "cannot create %s: %s", path, strerror(errno));
    bool written = owl_fd_write(fd, owl_buf_str(b));
    int why = errno;
    if (close(fd) != 0 && written) {
        written = false;
        why = errno;
    }
    if (written)
        return OWL_EXIT_OK;
    unlink(path);
    return owl_run_fail(r, OWL_EXIT_OUTPUT, "cannot write %s: %s", path, strerror(why));
}

static int tell(struct owl_run *r, const char *output, uint32_t servers)
{
    struct owl_buf b;
    owl_buf_init(&b, 1024 * 1024);
    if (r->json) {
        owl_buf_putz(&b, "{\"file\":");
        owl_json_quote(&b, owl_str_of(output));
        owl_buf_printf(&b, ",\"servers\":%u}\n", servers);
        return owl_run_text(r, &b, OWL_EXIT_OK);
    }
    owl_print_foreign(r->out, OWL_BOLD, owl_str_of(output));
    owl_print(r->out, OWL_PLAIN, ": written, %u server%s\n", servers, servers == 1 ? "" : "s");
    return OWL_EXIT_OK;
}

static int import(struct owl_run *r, const struct owl_config *c, const char *output)
{
    struct owl_buf b;
    owl_buf_init(&b, 256 * 1024 * 1024);
    put_file(&b, r, c, output ? ends(output, ".json") || ends(output, ".jsonc") : r->json);
    if (b.rc || !output)
        return owl_run_text(r, &b, OWL_EXIT_OK);
    int code = write_file(r, output, &b);
    owl_buf_done(&b);
    const struct owl_value *servers = owl_config_get(c, "servers");
    return code == OWL_EXIT_OK ? tell(r, output, servers ? servers->count : 0) : code;
}

static int run(struct owl_run *r)
{
    const struct owl_config_options options = {
        .files = r->operands, .n_files = r->n_operands, .as_written = true};
    const char *output = owl_run_value(r, "output", 0);
    if (!output && owl_run_has(r, "write"))
        output = default_output;
    struct owl_config *c;
    int code = output ? check_output(r, output) : 0;
    if (code == 0)
        code = owl_run_load(r, &options, &c);
    if (code)
        return code;
    owl_print_faults(r->err, c);
    code = owl_config_faults(c)->errors
               ? owl_run_fail(r, OWL_EXIT_BAD, "nothing is imported: mend the faults first")
               : import(r, c, output);
    owl_config_free(c);
    return code;
}

const struct owl_command owl_command_config_import = {
    .words = "mcp-server config import",
    .summary = "Import servers of other programs",
    .description =
        "Reads the servers of Claude Desktop, Cursor, VS Code, .kode.json, otter and others, and "
        "prints them as the YAML of mcp-server.yaml; with --json, or into a file whose name ends "
        "with .json, as JSON. ${VARIABLES} stay as they are written. Of two "
        "servers with one name, that of the later file counts. The files themselves are never "
        "changed, nor is a file that is there overwritten, nor one written that would be read "
        "instead of it.",
    .arguments =
        (const struct owl_command_argument[]){
            {.name = "FILE", .repeated = true, .file = true, .help = "file of another program"},
            {0},
        },
    .options =
        (const struct owl_command_option[]){
            {.name = "write", .help = "write mcp-server.yaml instead of printing"},
            {.name = "output",
             .letter = 'o',
             .value = "FILE",
             .file = true,
             .help = "write this file instead of printing"},
            {0},
        },
    .exits =
        (const struct owl_command_exit[]){
            {OWL_EXIT_BAD,
             "a file has faults, or the file to write, or one like it, is there already"},
            {0, NULL},
        },
    .examples =
        (const struct owl_command_example[]){
            {"owlclaw mcp-server config import ~/.cursor/mcp.json --write",
             "Begin with the servers that an editor uses:"},
            {NULL, NULL},
        },
    .run = run,
};
