/* cli/trust.c - owlclaw trust: let a project's file run something.
 * Threads: the main one. */
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/err.h"
#include "cli/command.h"
#include "cli/file.h"
#include "codec/json.h"
#include "config/config.h"
#include "config/trust.h"

/* The file that is meant where none is named: the project's, or else the one of ours that is read. */
static const char *project_file(void)
{
    if (access(".kode.json", F_OK) == 0)
        return ".kode.json";
    for (size_t i = 0; owl_config_names[i]; i++)
        if (access(owl_config_names[i], F_OK) == 0)
            return owl_config_names[i];
    return ".kode.json";
}

static int fail(struct owl_run *r, int rc, const owl_error *e)
{
    if (rc == -OWL_ENOMEM)
        return owl_run_fail(r, OWL_EXIT_INNER, "out of memory");
    return owl_run_fail(r, OWL_EXIT_USAGE, "%s", e->message);
}

static void put_json(struct owl_run *r, struct owl_buf *b)
{
    if (b->rc == 0)
        OWL_IGNORE(fwrite(b->p, 1, b->n, r->out->file)); /* the program looks at its end */
    owl_buf_done(b);
}

/* [{"file":…,"digest":…},…] */
static void list_json(struct owl_run *r, owl_str lines)
{
    struct owl_buf b;
    const char *comma = "";
    owl_buf_init(&b, 64 * 1024 * 1024);
    owl_buf_putc(&b, '[');
    for (owl_str line, path; lines.n > 0 && owl_str_split(&lines, '\n', &line);) {
        OWL_IGNORE(owl_str_split(&line, '\t', &path)); /* each has one */
        owl_buf_printf(&b, "%s{\"file\":", comma);
        owl_json_quote(&b, path);
        owl_buf_putz(&b, ",\"digest\":");
        owl_json_quote(&b, line);
        owl_buf_putc(&b, '}');
        comma = ",";
    }
    owl_buf_putz(&b, "]\n");
    put_json(r, &b);
}

/* What has become of a file. */
static void tell(struct owl_run *r, const char *path, bool trusted)
{
    struct owl_buf b;
    if (!r->json) {
        owl_print_foreign(r->out, OWL_BOLD, owl_str_of(path));
        owl_print(r->out, OWL_PLAIN,
                  trusted ? " is trusted until it changes\n" : " is no longer trusted\n");
        return;
    }
    owl_buf_init(&b, 64 * 1024);
    owl_buf_putz(&b, "{\"file\":");
    owl_json_quote(&b, owl_str_of(path));
    owl_buf_printf(&b, ",\"trusted\":%s}\n", trusted ? "true" : "false");
    put_json(r, &b);
}

static int list(struct owl_run *r, const struct owl_trust *t)
{
    struct owl_buf b;
    owl_error e = {0};
    owl_buf_init(&b, 16 * 1024 * 1024);
    int rc = owl_trust_list(t, &b, &e);
    rc = rc ? rc : b.rc;
    int code = rc ? fail(r, rc, &e) : OWL_EXIT_OK;
    if (rc == 0 && r->json)
        list_json(r, owl_buf_str(&b));
    owl_str rest = r->json ? OWL_STR("") : owl_buf_str(&b);
    for (owl_str line, path; rc == 0 && rest.n > 0 && owl_str_split(&rest, '\n', &line);) {
        OWL_IGNORE(owl_str_split(&line, '\t', &path)); /* each has one */
        owl_print_foreign(r->out, OWL_PLAIN, path);
        owl_print(r->out, OWL_PLAIN, "\t%.*s\n", (int)line.n, line.p);
    }
    owl_buf_done(&b);
    return code;
}

static int add(struct owl_run *r, const struct owl_trust *t, const char *path)
{
    struct owl_file f = {0};
    owl_error e = {0};
    char real[PATH_MAX];
    struct stat s;
    /* A pipe would be waited for. What becomes one after this look is the user's own doing. */
    if (stat(path, &s) == 0 && !S_ISREG(s.st_mode))
        return owl_run_fail(r, OWL_EXIT_USAGE, "%s: this is no regular file", path);
    int rc = owl_file_read(&f, path, OWL_FILE_MAX, &e);
    if (rc == 0 && !realpath(path, real))
        rc = owl_fail(&e, OWL_EIO, "%s", strerror(errno));
    bool unread = rc != 0 && rc != -OWL_ENOMEM;
    if (rc == 0)
        rc = owl_trust_add(t, real, owl_file_text(&f), &e);
    owl_file_done(&f);
    if (unread)
        return owl_run_fail(r, OWL_EXIT_USAGE, "%s: %s", path, e.message);
    if (rc)
        return fail(r, rc, &e);
    tell(r, real, true);
    return OWL_EXIT_OK;
}

static int take_back(struct owl_run *r, const struct owl_trust *t, const char *path)
{
    owl_error e = {0};
    char real[PATH_MAX];
    if (!realpath(path, real)) /* it may be gone: then it is named as it was */
        snprintf(real, sizeof real, "%s", path);
    int rc = owl_trust_remove(t, real, &e);
    if (rc == -OWL_ENOTFOUND)
        return owl_run_fail(r, OWL_EXIT_BAD, "%s was not trusted", real);
    if (rc)
        return fail(r, rc, &e);
    tell(r, real, false);
    return OWL_EXIT_OK;
}

static int run(struct owl_run *r)
{
    struct owl_arena *a = owl_arena_new(0);
    const char *state = getenv("XDG_STATE_HOME"), *home = getenv("HOME");
    bool nowhere = (!state || state[0] != '/') && (!home || !*home);
    const struct owl_trust t = {.state_dir = a ? owl_trust_state_dir(a, state, home) : NULL};
    const char *path = r->n_operands ? r->operands[0] : project_file();
    int code;
    if (nowhere)
        code = owl_run_fail(r, OWL_EXIT_USAGE,
                            "there is no place to remember it: set HOME or XDG_STATE_HOME");
    else if (!t.state_dir)
        code = owl_run_fail(r, OWL_EXIT_INNER, "out of memory");
    else if (owl_run_has(r, "list"))
        code = list(r, &t);
    else
        code = owl_run_has(r, "remove") ? take_back(r, &t, path) : add(r, &t, path);
    owl_arena_free(a);
    return code;
}

const struct owl_command owl_command_trust = {
    .words = "trust",
    .summary = "Let the configuration file of a project run something",
    .description =
        "A project's .kode.json, mcp-server.yaml (.yml, .toml, .json) or owlclaw.yaml says which "
        "programs are started. What a repository brings along must not run before somebody has "
        "read it, so a file that is found in the folder and would run something is used only once "
        "it is trusted, in exactly the form that was read: when it changes, it must be trusted "
        "again. So must files that it includes. A file that is named by --config needs no trust. "
        "The list is kept in $XDG_STATE_HOME/owlclaw/trust (~/.local/state/owlclaw/trust).",
    .arguments =
        (const struct owl_command_argument[]){
            {.name = "FILE",
             .optional = true,
             .file = true,
             .help =
                 "default: ./.kode.json, or else the mcp-server.* or owlclaw.yaml of this folder"},
            {0},
        },
    .options =
        (const struct owl_command_option[]){
            {.name = "list", .help = "print the files that are trusted, and their digests"},
            {.name = "remove", .help = "no longer trust the file"},
            {0},
        },
    .exits =
        (const struct owl_command_exit[]){
            {OWL_EXIT_BAD, "the file to be removed was not trusted"},
            {0, NULL},
        },
    .examples =
        (const struct owl_command_example[]){
            {"owlclaw trust", "Trust the project in this folder, having read its file:"},
            {NULL, NULL},
        },
    .run = run,
};
