/* cli/docs.c - owlclaw docs: man pages, completions and docs/cli.md, for the build.
 * Threads: the main one. */
#include "cli/docs.h"

#include <errno.h>
#include <sys/stat.h>
#include <unistd.h>

enum { MOST = 4 * 1024 * 1024, PATH = 4096 };

static const struct form {
    const char *name;
    const char *file; /* its name in a folder */
    void (*put)(struct owl_buf *b);
} forms[] = {
    {"man", NULL, NULL}, /* one a command */
    {"bash", "owlclaw", owl_docs_bash},
    {"zsh", "_owlclaw", owl_docs_zsh},
    {"fish", "owlclaw.fish", owl_docs_fish},
    {"markdown", "cli.md", owl_docs_markdown},
};

/* Writes through another name: the folder is newer afterwards, as builds want it, and nobody sees
 * half a file. */
static bool write_file(const char *dir, const char *name, owl_str text)
{
    char path[PATH], fresh[PATH];
    int n = snprintf(path, sizeof path, "%s/%s", dir, name);
    int m = snprintf(fresh, sizeof fresh, "%s/.%s.new", dir, name);
    if (n < 0 || m < 0 || (size_t)n >= sizeof path || (size_t)m >= sizeof fresh)
        return false;
    FILE *f = fopen(fresh, "we");
    if (!f)
        return false;
    bool good = fwrite(text.p, 1, text.n, f) == text.n;
    good = fclose(f) == 0 && good;
    return good && rename(fresh, path) == 0;
}

static int deliver(struct owl_run *r, struct owl_buf *b, const char *name)
{
    const char *dir = r->n_operands > 1 ? r->operands[1] : NULL;
    int code = OWL_EXIT_OK;
    if (b->rc)
        code = owl_run_fail(r, OWL_EXIT_INNER, "out of memory");
    else if (!dir)
        OWL_IGNORE(fwrite(b->p, 1, b->n, r->out->file)); /* the stream remembers */
    else if ((mkdir(dir, 0777) != 0 && errno != EEXIST) || !write_file(dir, name, owl_buf_str(b)))
        code = owl_run_fail(r, OWL_EXIT_OUTPUT, "%s/%s: %s", dir, name, strerror(errno));
    owl_buf_done(b);
    return code;
}

static int write_pages(struct owl_run *r)
{
    int code = OWL_EXIT_OK;
    for (size_t i = 0; owl_commands[i] && code == OWL_EXIT_OK; i++) {
        const struct owl_command *c = owl_commands[i];
        if (c->hidden || (!c->run && c != &owl_command_program))
            continue;
        struct owl_buf page, name;
        owl_buf_init(&page, MOST);
        owl_buf_init(&name, PATH);
        owl_docs_man(&page, c);
        owl_docs_put_page(&name, c);
        owl_buf_put(&name, ".1", 3);
        page.rc = page.rc ? page.rc : name.rc;
        code = deliver(r, &page, name.p);
        owl_buf_done(&name);
    }
    return code;
}

static int run(struct owl_run *r)
{
    const struct form *f = forms;
    while (f < forms + OWL_COUNT(forms) && strcmp(f->name, r->operands[0]) != 0)
        f++;
    if (f == forms + OWL_COUNT(forms))
        return owl_run_fail(r, OWL_EXIT_USAGE, "FORM is man, bash, zsh, fish or markdown, not %s",
                            r->operands[0]);
    if (!f->put)
        return write_pages(r);
    struct owl_buf b;
    owl_buf_init(&b, MOST);
    f->put(&b);
    return deliver(r, &b, f->file);
}

const struct owl_command owl_command_docs = {
    .words = "docs",
    .summary = "Print the documents that come from the descriptors of commands",
    .arguments =
        (const struct owl_command_argument[]){
            {.name = "FORM", .help = "form: man, bash, zsh, fish or markdown"},
            {.name = "DIR", .optional = true, .help = "folder for the files"},
            {0},
        },
    .hidden = true,
    .run = run,
};
