/* cli/config_show.c - owlclaw mcp-server config show: what is in effect, and why.
 * Threads: the main one. */
#include "base/nearest.h"
#include "cli/config_load.h"
#include "codec/json.h"

struct showing {
    const struct owl_config *config;
    struct owl_arena *arena;
    bool secrets; /* show them */
    bool changed; /* leave out what is only a default */
    bool as_file; /* what is printed can be loaded again */
};

static const struct owl_source *source_of(const struct owl_config *c, const struct owl_value *v)
{
    const struct owl_source *sources;
    size_t n = owl_config_sources(c, &sources);
    OWL_ASSERT(v->at.source < n);
    return &sources[v->at.source];
}

/* Whether there is anything in @p v that somebody has written. */
static bool is_shown(const struct showing *s, const struct owl_value *v)
{
    const struct owl_value *at = v;
    while (s->changed && at && (at->first || source_of(s->config, at)->kind == OWL_SOURCE_DEFAULT))
        at = owl_value_next(v, at);
    return at != NULL;
}

/* A "${" that stands for itself, as files have it; absent without memory. */
static owl_str escaped(struct owl_arena *a, owl_str text)
{
    struct owl_buf b;
    owl_buf_init_arena(&b, a, 3 * text.n + 1);
    for (size_t i = 0; i < text.n; i++) {
        if (text.p[i] == '$' && i + 1 < text.n && text.p[i + 1] == '{')
            owl_buf_putc(&b, '$');
        owl_buf_putc(&b, text.p[i]);
    }
    return b.rc ? (owl_str){NULL, 0} : owl_buf_str(&b);
}

/* A copy of one value, without its members or elements. */
static struct owl_value *copy_one(const struct showing *s, const struct owl_value *v)
{
    struct owl_value *copy = owl_value_new(s->arena, v->kind, v->at);
    if (!copy)
        return NULL;
    copy->key = v->key;
    copy->text = v->text;
    copy->form = v->form;
    bool container = v->kind == OWL_NODE_ARRAY || v->kind == OWL_NODE_OBJECT;
    if (!container && !s->secrets && owl_config_secret(s->config, v)) {
        copy->kind = OWL_NODE_STRING;
        copy->text = OWL_STR("********");
    }
    bool variable = s->as_file && copy->kind == OWL_NODE_STRING &&
                    memmem(copy->text.p, copy->text.n, "${", 2);
    if (variable)
        copy->text = escaped(s->arena, copy->text);
    return variable && !copy->text.p ? NULL : copy;
}

/* What is to be shown of @p from; NULL without memory. */
static struct owl_value *copy_shown(const struct showing *s, const struct owl_value *from)
{
    struct owl_value *top = NULL, *into = NULL;
    for (const struct owl_value *v = from; v;) {
        struct owl_value *copy = NULL;
        if (v == from || is_shown(s, v)) {
            copy = copy_one(s, v);
            if (!copy)
                return NULL;
            if (into)
                owl_value_add(into, copy);
            else
                top = copy;
        }
        if (copy && v->first) {
            into = copy;
            v = v->first;
            continue;
        }
        for (; v != from && !v->next; v = v->parent)
            into = into->parent;
        v = v == from ? NULL : v->next;
    }
    return top;
}

/* ---- for people ----------------------------------------------------------------------------- */

static owl_str comment(void *data, const struct owl_value *v)
{
    const struct showing *s = data;
    const struct owl_source *source = source_of(s->config, v);
    struct owl_buf b;
    owl_buf_init_arena(&b, s->arena, 8192);
    owl_put_visible(&b, source->kind == OWL_SOURCE_DEFAULT ? OWL_STR("default") : source->name);
    if (v->at.line > 0)
        owl_buf_printf(&b, ":%u", v->at.line);
    return b.rc ? OWL_STR("") : owl_buf_str(&b);
}

/* What was in files of other programs and is not for us. */
static void put_ignored(struct owl_buf *b, const struct owl_config *c)
{
    const struct owl_ignored *list;
    const struct owl_source *sources;
    size_t n = owl_config_ignored(c, &list);
    OWL_IGNORE(owl_config_sources(c, &sources));
    for (size_t i = 0; i < n; i++) {
        bool another = i == 0 || list[i].at.source != list[i - 1].at.source;
        if (another) {
            owl_buf_putz(b, i ? "\n# ignored in " : "# ignored in ");
            owl_put_visible(b, sources[list[i].at.source].name);
        }
        owl_buf_putz(b, another ? ": \"" : ", \"");
        owl_put_visible(b, list[i].key);
        owl_buf_putc(b, '"');
    }
    if (n > 0)
        owl_buf_putc(b, '\n');
}

/* ---- for programs --------------------------------------------------------------------------- */

static void put_source(struct owl_buf *b, const struct owl_config *c, const struct owl_value *v)
{
    static const char *const kinds[] = {"default", "file", "environment", "option"};
    const struct owl_source *source = source_of(c, v);
    owl_buf_printf(b, "{\"kind\":\"%s\"", kinds[source->kind]);
    if (source->kind != OWL_SOURCE_DEFAULT) {
        owl_buf_putz(b, ",\"name\":");
        owl_json_quote(b, source->name);
    }
    if (v->at.line > 0)
        owl_buf_printf(b, ",\"line\":%u,\"column\":%u", v->at.line, v->at.column);
    owl_buf_putc(b, '}');
}

/* {"/http/port":{"kind":"file","name":…,"line":…,"column":…},…} */
static void put_sources(struct owl_buf *b, const struct showing *s, const struct owl_value *tree)
{
    struct owl_buf pointer;
    const char *comma = "";
    owl_buf_init(&pointer, 64 * 1024);
    owl_buf_putc(b, '{');
    for (const struct owl_value *v = tree; v; v = owl_value_next(tree, v)) {
        if (v->first)
            continue;
        owl_buf_reset(&pointer);
        owl_value_pointer(&pointer, tree, v);
        if (pointer.rc)
            b->rc = pointer.rc;
        owl_buf_putz(b, comma);
        owl_json_quote(b, owl_buf_str(&pointer));
        owl_buf_putc(b, ':');
        put_source(b, s->config, v);
        comma = ",";
    }
    owl_buf_putz(b, "}\n");
    owl_buf_done(&pointer);
}

static void put_json(struct owl_buf *b, const struct owl_value *v, bool whole)
{
    owl_buf_putz(b, whole ? "{\"mcp_server\":" : "");
    owl_value_json(b, v, NULL);
    owl_buf_putz(b, whole ? "}\n" : "\n");
}

/* ---- the command ---------------------------------------------------------------------------- */

/* What is not there, although somebody may count on it. */
static void put_missing(struct owl_buf *b, const struct owl_config *c)
{
    if (!owl_config_get(c, "governance"))
        owl_buf_putz(b, "# governance is not configured: nothing is limited\n");
}

static int show(struct owl_run *r, struct showing *s, const struct owl_value *from)
{
    struct owl_buf b;
    bool whole = from == owl_config_tree(s->config);
    const struct owl_value *v = copy_shown(s, from);
    if (!v)
        return owl_run_fail(r, OWL_EXIT_INNER, "out of memory");
    owl_buf_init(&b, 256 * 1024 * 1024);
    if (owl_run_has(r, "sources"))
        put_sources(&b, s, v);
    else if (r->json)
        put_json(&b, v, whole);
    else
        owl_value_yaml(&b, v, comment, s);
    if (whole && !r->json && !owl_run_has(r, "sources")) {
        if (!s->changed)
            put_missing(&b, s->config);
        put_ignored(&b, s->config);
    }
    return owl_run_text(r, &b, owl_config_faults(s->config)->errors ? OWL_EXIT_BAD : OWL_EXIT_OK);
}

/* Says what was meant by a KEY that leads nowhere. */
static int nothing_at(struct owl_run *r, const struct owl_config *c, const char *key)
{
    const struct owl_value *v = owl_config_tree(c), *next;
    owl_str rest = owl_str_of(key), name;
    const char *from = key;
    while (owl_config_step(&rest, &name) && (next = owl_value_get(v, name)) != NULL) {
        from = rest.p ? rest.p : from;
        v = next;
    }
    struct owl_nearest near = {.written = name};
    for (const struct owl_value *m = v->kind == OWL_NODE_OBJECT ? v->first : NULL; m; m = m->next) {
        bool begun = owl_str_eq(m->key, owl_str_of(from));
        if (begun && memchr(m->key.p, '.', m->key.n))
            return owl_run_fail(r, OWL_EXIT_BAD, "nothing is set at %s; did you mean %.*s\"%s\"?",
                                key, (int)(from - key), key, from);
        owl_nearest_try(&near, m->key);
    }
    bool dots = near.best.p && memchr(near.best.p, '.', near.best.n);
    if (near.best.p && !rest.p)
        return owl_run_fail(r, OWL_EXIT_BAD, "nothing is set at %s; did you mean %.*s%s%.*s%s?",
                            key, (int)(from - key), key, dots ? "\"" : "", (int)near.best.n,
                            near.best.p, dots ? "\"" : "");
    return owl_run_fail(r, OWL_EXIT_BAD, "nothing is set at %s; without KEY everything is shown",
                        key);
}

/* The argument that is a key, or NULL. 0, or the exit code after saying that there are two. */
static int find_key(struct owl_run *r, const char **ret)
{
    *ret = NULL;
    for (size_t i = 0; i < r->n_operands; i++) {
        if (owl_names_file(r->operands[i]))
            continue;
        if (*ret)
            return owl_run_fail(r, OWL_EXIT_USAGE,
                                "one KEY is shown at a time, not %s and %s; a file is named with a "
                                "slash or its ending, or by --config",
                                *ret, r->operands[i]);
        *ret = r->operands[i];
    }
    return 0;
}

static int run(struct owl_run *r)
{
    struct owl_config *c;
    const char *key;
    int code = find_key(r, &key);
    if (code == 0)
        code = owl_run_config(r, &c);
    if (code)
        return code;
    struct showing s = {
        .config = c,
        .arena = owl_arena_new(0),
        .secrets = owl_run_has(r, "secrets"),
        .changed = owl_run_has(r, "changed"),
        .as_file = r->json,
    };
    const struct owl_value *from = key ? owl_config_get(c, key) : owl_config_tree(c);
    if (!s.arena)
        code = owl_run_fail(r, OWL_EXIT_INNER, "out of memory");
    else if (!from)
        code = nothing_at(r, c, key);
    else
        code = show(r, &s, from);
    owl_print_faults(r->err, c);
    owl_arena_free(s.arena);
    owl_config_free(c);
    return code;
}

const struct owl_command owl_command_config_show = {
    .words = "mcp-server config show",
    .summary = "Print the configuration in effect",
    .description =
        "The tree is complete: defaults are filled in, variables replaced, durations in seconds "
        "and sizes in bytes. Behind each value stands its source: a file and its line, a variable "
        "of the environment, an option, or \"default\". Secrets are shown as ********.\n\n"
        "With --json the tree alone is printed, as a file that can be loaded again; one that has "
        "secrets needs --secrets, too. What is wrong with the configuration is told on standard "
        "error.",
    .arguments =
        (const struct owl_command_argument[]){
            {.name = "KEY|FILE",
             .optional = true,
             .repeated = true,
             .file = true,
             .help =
                 "show only this part, e.g. http.tls or servers.\"a.b\"; an argument with a slash "
                 "or the ending of a format is a file, as with --config"},
            {0},
        },
    .options =
        (const struct owl_command_option[]){
            OWL_CONFIG_OPTIONS,
            {.name = "changed", .help = "leave out what is only a default"},
            {.name = "sources", .help = "print JSON: the source of each value by its pointer"},
            {.name = "secrets", .help = "show secrets as they are"},
            {0},
        },
    .exits =
        (const struct owl_command_exit[]){
            {OWL_EXIT_OK, "the configuration is good"},
            {OWL_EXIT_BAD, "it has faults, or nothing is at KEY"},
            {0, NULL},
        },
    .examples =
        (const struct owl_command_example[]){
            {"owlclaw config show --changed", "See what differs from the defaults:"},
            {"owlclaw config show http", "See one part:"},
            {NULL, NULL},
        },
    .run = run,
};
