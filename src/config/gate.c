/* config/gate.c - files that a folder brings along run nothing before they are trusted.
 * Threads: that of the loading.
 *
 * It is the effective tree that is asked, not the file: what counts is where the values come from that
 * end up in something that runs. So a file that only adds a variable to the command of another one is
 * found too, and one whose command was replaced is not. */
#include "config/internal.h"

#include <ctype.h>
#include <limits.h>
#include <stdlib.h>

#include "config/trust.h"

bool owl_gate__trusted(struct owl_load *l, const char *path, owl_str text, bool *ret_changed)
{
    char real[PATH_MAX];
    *ret_changed = false;
    if (l->o->trust_project)
        return true;
    const char *xdg = owl_variables__get(&l->variables, OWL_STR("XDG_STATE_HOME"));
    struct owl_trust t = {.state_dir = owl_trust_state_dir(l->c->arena, xdg, l->home)};
    if (!t.state_dir || !realpath(path, real))
        return false;
    *ret_changed = owl_trust_knows(&t, real);
    return owl_trust_holds(&t, real, text);
}

/* ---- what runs -------------------------------------------------------------------------- */

/* The first scalar within @p v that comes from a source; with @p empty also a list or map in which
 * the source has left nothing; or NULL. */
static const struct owl_value *from_source(const struct owl_value *v, uint32_t source, bool empty)
{
    for (const struct owl_value *at = v; at; at = owl_value_next(v, at))
        if ((at->kind < OWL_NODE_ARRAY || (empty && !at->first)) && at->at.source == source)
            return at;
    return NULL;
}

/* What a source says of a server that is a program, or which file of variables to read for one. */
static const struct owl_value *in_server(const struct owl_value *server, uint32_t source)
{
    const struct owl_value *command = owl_value_get(server, OWL_STR("command"));
    const struct owl_value *file = owl_value_get(server, OWL_STR("env_file"));
    const struct owl_value *v = NULL;
    if (command && command->kind != OWL_NODE_NULL)
        v = command->at.source == source ? command : from_source(server, source, true);
    return v || !file ? v : from_source(file, source, false);
}

/* The first value of a source that would run something, or NULL. */
static const struct owl_value *what_runs(const struct owl_config *c, uint32_t source)
{
    const struct owl_value *servers = owl_value_get(c->tree, OWL_STR("servers"));
    const struct owl_value *handlers = owl_value_get(c->tree, OWL_STR("handlers"));
    const struct owl_value *v = handlers ? from_source(handlers, source, false) : NULL;
    for (const struct owl_value *s = servers ? servers->first : NULL; s && !v; s = s->next)
        v = in_server(s, source);
    return v;
}

/* ---- words ------------------------------------------------------------------------------ */

/* The name of a file as a shell takes it. */
static void put_argument(struct owl_buf *b, owl_str name)
{
    bool bare = name.n > 0 && name.p[0] != '-';
    for (size_t i = 0; i < name.n && bare; i++)
        bare = isalnum((unsigned char)name.p[i]) || strchr("_./-", name.p[i]);
    if (!bare)
        owl_buf_putc(b, '\'');
    for (size_t i = 0; i < name.n; i++) {
        if (name.p[i] == '\'')
            owl_buf_putz(b, "'\\'");
        owl_buf_putc(b, name.p[i]);
    }
    if (!bare)
        owl_buf_putc(b, '\'');
}

static int refuse(struct owl_load *l, uint32_t source, const struct owl_value *v, bool changed)
{
    struct owl_config *c = l->c;
    struct owl_mark at = owl_config__no_place(source);
    struct owl_buf path, name;
    owl_buf_init(&path, 400); /* what is longer is cut */
    owl_buf_init(&name, 400);
    owl_config__path(&path, c, v);
    put_argument(&name, c->sources[source].name);
    const char *dry = l->o->to_run ? "this file" : "a start would refuse this file: it";
    const char *why = changed ? "has changed since it was trusted" : "is not trusted";
    struct owl_fault *f = l->o->to_run
                              ? owl_fault_add(&c->faults, at,
                                              "%s names something to run (`%.*s`) and %s", dry,
                                              (int)path.n, owl_buf_str(&path).p, why)
                              : owl_warning_add(&c->faults, at,
                                                "%s names something to run (`%.*s`) and %s", dry,
                                                (int)path.n, owl_buf_str(&path).p, why);
    if (name.rc == 0)
        owl_fault_hint(&c->faults, f,
                       "read it; then run `owlclaw trust %.*s`, or name it with `--config %.*s`",
                       (int)name.n, name.p, (int)name.n, name.p);
    int rc = path.rc == -OWL_ENOMEM || name.rc == -OWL_ENOMEM ? -OWL_ENOMEM : 0;
    owl_buf_done(&path);
    owl_buf_done(&name);
    return rc;
}

int owl_gate__tree(struct owl_load *l)
{
    struct owl_config *c = l->c;
    int rc = 0;
    for (uint32_t i = l->found; i < l->found_end && rc == 0; i++) {
        const struct owl_value *v = what_runs(c, i);
        bool changed = false;
        if (!v)
            continue;
        char *path = owl_source__join(c->arena, owl_str_of(l->dir), c->sources[i].name);
        if (!path)
            return -OWL_ENOMEM;
        if (!owl_gate__trusted(l, path, c->sources[i].text, &changed))
            rc = refuse(l, i, v, changed);
    }
    return rc;
}
