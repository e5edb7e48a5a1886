/* config/config.c - a configuration is loaded, step by step.
 * Threads: loading is for one thread; a configuration is immutable afterwards. */
#include "config/internal.h"

#include <limits.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/alloc.h"
#include "config/redact.h"

/* ---- what a configuration holds --------------------------------------------------------- */

/* Room for one more element of a list in the arena. */
static void *grown(struct owl_arena *a, void *list, size_t n, size_t *cap, size_t size)
{
    if (n < *cap)
        return list;
    size_t more = *cap ? *cap * 2 : 16;
    void *p = owl_arena_realloc(a, list, *cap * size, more * size);
    if (p)
        *cap = more;
    return p;
}

int owl_config__source(struct owl_config *c, enum owl_source_kind kind, owl_str name, uint32_t *ret)
{
    struct owl_source *list = grown(c->arena, c->sources, c->n_sources, &c->cap_sources,
                                    sizeof *list);
    char *copy = list ? owl_arena_dup(c->arena, name) : NULL;
    if (list)
        c->sources = list;
    if (!copy)
        return -OWL_ENOMEM;
    *ret = (uint32_t)c->n_sources;
    list[c->n_sources++] = (struct owl_source){.kind = kind, .name = {copy, name.n}};
    return 0;
}

int owl_config__ignore(struct owl_config *c, const struct owl_value *member)
{
    struct owl_ignored *list = grown(c->arena, c->ignored, c->n_ignored, &c->cap_ignored,
                                     sizeof *list);
    if (!list)
        return -OWL_ENOMEM;
    c->ignored = list;
    list[c->n_ignored++] = (struct owl_ignored){member->key_at, member->key};
    return 0;
}

int owl_config__hide(struct owl_config *c, const struct owl_value *v)
{
    const struct owl_value **list = grown(c->arena, c->hidden, c->n_hidden, &c->cap_hidden,
                                          sizeof *list);
    if (!list)
        return -OWL_ENOMEM;
    c->hidden = list;
    list[c->n_hidden++] = v;
    return 0;
}

int owl_config__checked(struct owl_config *c, owl_str path)
{
    owl_str *list = grown(c->arena, c->checked, c->n_checked, &c->cap_checked, sizeof *list);
    char *copy = list ? owl_arena_dup(c->arena, path) : NULL;
    if (list)
        c->checked = list;
    if (!copy)
        return -OWL_ENOMEM;
    list[c->n_checked++] = (owl_str){copy, path.n};
    return 0;
}

bool owl_config__is_servers(const struct owl_config *c, const struct owl_value *v)
{
    return v && v->parent == c->tree && v->kind == OWL_NODE_OBJECT && owl_str_is(v->key, "servers");
}

const struct owl_value *owl_config__server(const struct owl_config *c, const struct owl_value *v)
{
    while (v && !owl_config__is_servers(c, v->parent))
        v = v->parent;
    return v;
}

int owl_config__blame(struct owl_config *c, const struct owl_value *v, const struct owl_fault *f)
{
    const struct owl_value *server = owl_config__server(c, v);
    return server ? owl_config__break(c, server->key, f) : 0;
}

int owl_config__break(struct owl_config *c, owl_str server, const struct owl_fault *f)
{
    c->inside += f != NULL;
    if (owl_map_get(&c->broken, server))
        return 0;
    owl_str *why = owl_arena_alloc(c->arena, sizeof *why);
    if (!why)
        return -OWL_ENOMEM;
    *why = f && f->what.p ? f->what : OWL_STR("its entry is wrong");
    return owl_map_put(&c->broken, server, why, NULL);
}

/* ---- default places --------------------------------------------------------------------- */

const char *const owl_config_names[] = {"mcp-server.yaml", "mcp-server.yml", "mcp-server.toml",
                                        "mcp-server.json", "owlclaw.yaml",   NULL};

/* The first of our own files that is there. Whoever changes another one would wait in vain. */
static int own_file(struct owl_load *l)
{
    struct owl_config *c = l->c;
    uint32_t source = 0;
    for (size_t i = 0; owl_config_names[i]; i++) {
        char *path = owl_source__join(c->arena, owl_str_of(l->dir),
                                      owl_str_of(owl_config_names[i]));
        if (!path)
            return -OWL_ENOMEM;
        if (access(path, F_OK))
            continue;
        if (source > 0) {
            struct owl_fault *f = owl_warning_add(&c->faults, owl_config__no_place(source),
                                                  "this file is read, `%s` beside it is not",
                                                  owl_config_names[i]);
            owl_fault_hint(&c->faults, f, "keep one of them, or `include` the other in this one");
            continue;
        }
        source = (uint32_t)c->n_sources;
        int rc = owl_include__file(l, owl_config_names[i]);
        if (rc)
            return rc;
        l->found = source;
        l->found_end = (uint32_t)c->n_sources;
    }
    return 0;
}

/* A .kode.json, if it is there: the user's own, or the project's. */
static int kode_file(struct owl_load *l, const char *dir, bool project)
{
    struct owl_config *c = l->c;
    char *path = owl_source__join(c->arena, owl_str_of(dir), OWL_STR(".kode.json"));
    if (!path)
        return -OWL_ENOMEM;
    if (access(path, F_OK))
        return 0;
    uint32_t source;
    owl_str text = {NULL, 0}, name = project ? OWL_STR("./.kode.json") : owl_str_of(path);
    bool use = !project, changed = false;
    struct owl_value *root = NULL;
    int rc = owl_config__source(c, OWL_SOURCE_FILE, name, &source);
    if (rc == 0)
        rc = owl_source__text(c, path, source, &text);
    if (rc == 0 && text.p && project)
        use = owl_gate__trusted(l, path, text, &changed);
    if (rc == 0 && text.p && !use) {
        struct owl_fault *f = owl_warning_add(&c->faults, owl_config__no_place(source),
                                              changed ? "the project's file has changed since it "
                                                        "was trusted: it is not used"
                                                      : "the project's file names commands and is "
                                                        "not trusted: it is not used");
        owl_fault_hint(&c->faults, f,
                       "look at it, then run `owlclaw trust`, or pass --trust-project");
    }
    if (rc == 0 && text.p && use)
        rc = owl_source__parse(c, source, &root);
    l->in_passing = true;
    if (rc == 0 && root)
        rc = owl_shape__take(l, source, root);
    l->in_passing = false;
    return rc;
}

/* Our own file stands over those of another program. The home of the user is also a project's
 * folder when one works there. */
static int default_files(struct owl_load *l)
{
    bool same = l->home && strcmp(l->home, l->dir) == 0;
    int rc = l->home ? kode_file(l, l->home, false) : 0;
    if (rc == 0 && !same)
        rc = kode_file(l, l->dir, true);
    return rc ? rc : own_file(l);
}

/* ---- loading ---------------------------------------------------------------------------- */

static int read_files(struct owl_load *l)
{
    int rc = 0;
    if (l->o->n_files == 0)
        return default_files(l);
    for (size_t i = 0; i < l->o->n_files && rc == 0; i++)
        rc = owl_include__file(l, l->o->files[i]);
    return rc;
}

static int by_address(const void *a, const void *b)
{
    const struct owl_value *x = *(const struct owl_value *const *)a;
    const struct owl_value *y = *(const struct owl_value *const *)b;
    return x < y ? -1 : x > y;
}

static int run(struct owl_load *l)
{
    struct owl_config *c = l->c;
    bool effective = !l->o->as_written;
    int rc = read_files(l);
    if (rc == 0 && effective)
        rc = owl_environment__apply(l);
    if (rc == 0 && effective)
        rc = owl_settings__apply(l);
    if (rc == 0)
        rc = owl_settle__tree(l);
    if (rc == 0 && effective)
        rc = owl_gate__tree(l);
    if (c->n_hidden > 0)
        qsort(c->hidden, c->n_hidden, sizeof *c->hidden, by_address);
    if (rc == 0)
        rc = owl_judge__tree(c);
    if (rc == 0)
        rc = owl_checks__tree(c);
    if (rc == 0 && effective)
        rc = owl_features__tree(c);
    return rc || !effective ? rc : owl_defaults__fill(c);
}

/* What the caller leaves out comes from the process. */
static int prepare(struct owl_load *l)
{
    const char *const *env = l->o->env ? l->o->env : (const char *const *)environ;
    int rc = owl_variables__init(&l->variables, env, (owl_str){NULL, 0}, (owl_str){NULL, 0});
    if (rc)
        return rc;
    l->home = l->o->home ? l->o->home : owl_variables__get(&l->variables, OWL_STR("HOME"));
    if (l->home && l->home[0] != '/')
        l->home = NULL;
    char real[PATH_MAX];
    const char *dir = l->o->dir ? l->o->dir : ".";
    l->dir = owl_arena_dup(l->c->arena, owl_str_of(realpath(dir, real) ? real : dir));
    if (!l->dir)
        return -OWL_ENOMEM;
    l->variables.home = owl_str_of(l->home);
    l->variables.folder = owl_str_of(l->dir);
    return 0;
}

static struct owl_config *new_config(void)
{
    struct owl_config *c = owl_calloc(1, sizeof *c);
    uint32_t defaults;
    if (!c)
        return NULL;
    c->arena = owl_arena_new(OWL_CONFIG__MEMORY);
    owl_map_init(&c->broken);
    c->faults.arena = c->arena;
    if (!c->arena || owl_keys__init(&c->keys, owl_config_schema()) ||
        owl_config__source(c, OWL_SOURCE_DEFAULT, OWL_STR("default"), &defaults) ||
        !(c->tree = owl_value_new(c->arena, OWL_NODE_OBJECT, owl_config__no_place(defaults)))) {
        owl_config_free(c);
        return NULL;
    }
    c->root = owl_keys__top(&c->keys, OWL_STR("mcp_server"));
    return c;
}

int owl_config_load(const struct owl_config_options *o, struct owl_config **ret)
{
    struct owl_load l = {.c = new_config(), .o = o};
    if (!l.c)
        return -OWL_ENOMEM;
    int rc = prepare(&l);
    if (rc == 0)
        rc = run(&l);
    owl_faults_sort(&l.c->faults);
    if (rc == 0)
        rc = owl_redact__faults(l.c);
    owl_variables__done(&l.variables);
    if (rc) {
        rc = owl_arena_over(l.c->arena) ? -OWL_ELIMIT : rc;
        owl_config_free(l.c);
        return rc;
    }
    *ret = l.c;
    return 0;
}

void owl_config_free(struct owl_config *c)
{
    if (!c)
        return;
    owl_map_done(&c->broken);
    owl_keys__done(&c->keys);
    owl_arena_free(c->arena);
    owl_free(c);
}

/* ---- asking ----------------------------------------------------------------------------- */

const struct owl_faults *owl_config_faults(const struct owl_config *c)
{
    return &c->faults;
}

bool owl_config_usable(const struct owl_config *c)
{
    return c->faults.errors <= c->inside;
}

const struct owl_value *owl_config_tree(const struct owl_config *c)
{
    return c->tree;
}

bool owl_config_step(owl_str *rest, owl_str *ret)
{
    bool quoted = rest->n > 1 && (rest->p[0] == '"' || rest->p[0] == '\'');
    const char *end = quoted ? memchr(rest->p + 1, rest->p[0], rest->n - 1) : NULL;
    size_t behind = end ? (size_t)(end - rest->p) + 1 : 0;
    if (!end || (behind < rest->n && rest->p[behind] != '.'))
        return owl_str_split(rest, '.', ret);
    *ret = (owl_str){rest->p + 1, behind - 2};
    *rest = behind < rest->n ? (owl_str){end + 2, rest->n - behind - 1} : (owl_str){NULL, 0};
    return true;
}

const struct owl_value *owl_config_get(const struct owl_config *c, const char *key)
{
    const struct owl_value *v = c->tree;
    owl_str rest = owl_str_of(key);
    for (owl_str name; v && owl_config_step(&rest, &name);)
        v = owl_value_get(v, name);
    return v;
}

/* "--token" before it, in a list of arguments. */
static bool follows_name(const struct owl_value *v)
{
    const struct owl_value *before = v->prev;
    if (!v->parent || v->parent->kind != OWL_NODE_ARRAY)
        return false;
    return before && before->kind == OWL_NODE_STRING && owl_secret__option(before->text, v->text);
}

/* Whether it, or what it is in, came out of a secret variable. */
static bool is_hidden(const struct owl_config *c, const struct owl_value *v)
{
    for (const struct owl_value *up = v; up; up = up->parent)
        if (bsearch(&up, c->hidden, c->n_hidden, sizeof *c->hidden, by_address))
            return true;
    return false;
}

/* Whether a value says too little to be a secret. */
static bool is_plain(const struct owl_value *v)
{
    return v->text.n > 0 ? owl_redact__plain(v->text) : v->kind < OWL_NODE_ARRAY;
}

/* Whether @p up, in which @p v is, has a name that is no key where keys are known: nobody can say what
 * it is, and the name may be a secret key's with a slip in it. */
static bool is_unknown_secret(const struct owl_config *c, const struct owl_value *v,
                              const struct owl_value *up)
{
    uint32_t parent = owl_config__key(c, up->parent);
    if (!up->key.p || owl_keys__of(&c->keys, parent)->n_members == 0 || owl_config__key(c, up))
        return false;
    return v != up || !is_plain(v) || c->sources[v->at.source].damaged || owl_secret__name(up->key);
}

/* Whether a key is secret, or the entries of its map, or members of its list's elements. */
static bool holds_secrets(const struct owl_config *c, const struct owl_key *key)
{
    const struct owl_key *element = owl_keys__of(&c->keys, key->element);
    bool secret = key->secret || owl_keys__of(&c->keys, key->entry)->secret;
    for (uint32_t i = 0; i < element->n_members && !secret; i++)
        secret = owl_keys__of(&c->keys, element->members[i].key)->secret;
    return secret;
}

/* Of `env` and `headers` the values are secret, and so is what somebody writes there instead of a map,
 * or where a map is wanted that has such keys. */
static bool is_secret_key(const struct owl_config *c, const struct owl_value *v,
                          const struct owl_value *up)
{
    const struct owl_key *key = owl_keys__of(&c->keys, owl_config__key(c, up));
    if (key->secret || owl_keys__of(&c->keys, key->entry)->secret)
        return true;
    bool other = up->kind != OWL_NODE_OBJECT && key->types == OWL_KEY__OBJECT && !is_plain(v);
    for (uint32_t i = 0; other && i < key->n_members; i++)
        if (holds_secrets(c, owl_keys__of(&c->keys, key->members[i].key)))
            return true;
    return false;
}

bool owl_config_secret(const struct owl_config *c, const struct owl_value *v)
{
    if (c->n_hidden > 0 && is_hidden(c, v))
        return true;
    if (v->kind >= OWL_NODE_ARRAY || v == c->tree)
        return false;
    for (const struct owl_value *up = v; up != c->tree && up->parent; up = up->parent)
        if (is_secret_key(c, v, up) || is_unknown_secret(c, v, up))
            return true;
    if (v->kind != OWL_NODE_STRING && v->kind != OWL_NODE_NUMBER)
        return false;
    owl_str name = v->key.p ? v->key : v->parent ? v->parent->key : (owl_str){NULL, 0};
    unsigned numbers = OWL_KEY__INTEGER | OWL_KEY__NUMBER;
    if (owl_keys__of(&c->keys, owl_config__key(c, v))->types & numbers) /* an amount is none */
        return v->kind == OWL_NODE_STRING && owl_secret__text(v->text);
    return owl_secret__name(name) || owl_secret__text(v->text) || follows_name(v);
}

size_t owl_config_sources(const struct owl_config *c, const struct owl_source **ret)
{
    *ret = c->sources;
    return c->n_sources;
}

size_t owl_config_ignored(const struct owl_config *c, const struct owl_ignored **ret)
{
    *ret = c->ignored;
    return c->n_ignored;
}

const struct owl_value *owl_config_inputs(const struct owl_config *c)
{
    return c->inputs;
}

owl_str owl_config_server_fault(const struct owl_config *c, owl_str name)
{
    const owl_str *why = owl_map_get(&c->broken, name);
    return why ? *why : (owl_str){NULL, 0};
}

owl_str owl_config_schema(void)
{
    return (owl_str){(const char *)owl_config__schema_text, owl_config__schema_size};
}
