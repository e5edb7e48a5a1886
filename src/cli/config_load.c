/* cli/config_load.c - what the commands about the configuration share.
 * Threads: the main one. */
#include "cli/config_load.h"

#include <strings.h>

#include "base/alloc.h"
#include "base/err.h"
#include "config/report.h"

const char *const owl_transports[] = {"stdio", "http", NULL};

/* Options that stand for a key of the configuration. */
static const struct {
    const char *option, *key;
} named[] = {
    {"transport", "transport"},
    {"host", "http.host"},
    {"port", "http.port"},
    {"skills-dir", "resources.skills_dir"},
};

/* The "=" behind the key, whose quoted names may have one too. */
static char *find_equals(char *text)
{
    owl_str rest = owl_str_of(text), name;
    char *from = text;
    while (owl_config_step(&rest, &name) && rest.p && !memchr(name.p, '=', name.n))
        from = text + (rest.p - text);
    bool quoted = *from == '"' || *from == '\'';
    char *end = quoted ? strchr(from + 1, *from) : NULL;
    return strchr(end ? end : from, '=');
}

/* One --set. The text is cut at its "=", in a copy. */
static int read_set(struct owl_run *r, struct owl_arena *a, const char *text,
                    struct owl_setting *ret)
{
    char *copy = owl_arena_dup(a, owl_str_of(text));
    if (!copy)
        return owl_run_fail(r, OWL_EXIT_INNER, "out of memory");
    char *equals = find_equals(copy);
    if (!equals || equals == copy)
        return owl_run_fail(r, OWL_EXIT_USAGE,
                            "--set needs KEY=VALUE, for example --set http.port=9000");
    *equals = '\0';
    *ret = (struct owl_setting){.option = "--set", .key = copy, .value = equals + 1};
    return 0;
}

bool owl_names_file(const char *argument)
{
    static const char *const endings[] = {".yaml", ".yml", ".toml", ".json", ".jsonc"};
    size_t n = strlen(argument);
    bool file = strchr(argument, '/') != NULL;
    for (size_t i = 0; i < OWL_COUNT(endings) && !file; i++) {
        size_t m = strlen(endings[i]);
        file = n > m && strcasecmp(argument + n - m, endings[i]) == 0;
    }
    return file;
}

/* What the options say, into arrays of the arena that have room for all of them. */
static int read_options(struct owl_run *r, struct owl_arena *a, struct owl_config_options *ret)
{
    const char **files = owl_arena_alloc(a, (r->n_given + r->n_operands + 1) * sizeof *files);
    struct owl_setting *settings = owl_arena_alloc(a, (r->n_given + OWL_COUNT(named)) *
                                                          sizeof *settings);
    if (!files || !settings)
        return owl_run_fail(r, OWL_EXIT_INNER, "out of memory");
    size_t n_files = 0, n_settings = 0;
    const char *value;
    while ((value = owl_run_value(r, "config", n_files)) != NULL)
        files[n_files++] = value;
    for (size_t i = 0; i < r->n_operands; i++)
        if (owl_names_file(r->operands[i]))
            files[n_files++] = r->operands[i];
    for (; (value = owl_run_value(r, "set", n_settings)) != NULL; n_settings++) {
        int code = read_set(r, a, value, &settings[n_settings]);
        if (code)
            return code;
    }
    for (size_t i = 0; i < OWL_COUNT(named); i++) {
        value = owl_run_value(r, named[i].option, 0);
        if (!value)
            continue;
        char option[32];
        snprintf(option, sizeof option, "--%s", named[i].option);
        const char *shown = owl_arena_dup(a, owl_str_of(option));
        if (!shown)
            return owl_run_fail(r, OWL_EXIT_INNER, "out of memory");
        settings[n_settings++] = (struct owl_setting){shown, named[i].key, value};
    }
    *ret = (struct owl_config_options){
        .files = files,
        .n_files = n_files,
        .settings = settings,
        .n_settings = n_settings,
        .trust_project = owl_run_has(r, "trust-project"),
    };
    return 0;
}

int owl_run_load(struct owl_run *r, const struct owl_config_options *o, struct owl_config **ret)
{
    int rc = owl_config_load(o, ret);
    if (rc == -OWL_ELIMIT)
        return owl_run_fail(r, OWL_EXIT_BAD,
                            "the configuration is too large: its variables or includes repeat too "
                            "much");
    return rc ? owl_run_fail(r, OWL_EXIT_INNER, "out of memory") : 0;
}

int owl_run_config(struct owl_run *r, struct owl_config **ret)
{
    struct owl_arena *a = owl_arena_new(0);
    struct owl_config_options options;
    int code = a ? read_options(r, a, &options) : owl_run_fail(r, OWL_EXIT_INNER, "out of memory");
    if (code == 0)
        code = owl_run_load(r, &options, ret);
    owl_arena_free(a);
    return code;
}

/* ---- faults --------------------------------------------------------------------------------- */

void owl_print_faults(struct owl_print *p, const struct owl_config *c)
{
    const struct owl_faults *f = owl_config_faults(c);
    struct owl_buf b;
    owl_buf_init(&b, 1024 * 1024);
    for (size_t i = 0; i < f->n; i++) {
        owl_report_fault(&b, c, &f->list[i], p->colour);
        if (b.rc)
            owl_print(p, OWL_PLAIN, "a fault cannot be told: %s\n", owl_err_info(b.rc)->text);
        else
            owl_print(p, OWL_PLAIN, "%.*s", (int)b.n, owl_buf_str(&b).p);
        owl_buf_reset(&b);
    }
    if (f->left_out > 0)
        owl_print(p, OWL_DIM, "(%zu more are not shown)\n", f->left_out);
    owl_buf_done(&b);
}

void owl_put_fault_count(struct owl_buf *b, const struct owl_config *c)
{
    const struct owl_faults *f = owl_config_faults(c);
    size_t warnings = f->n + f->left_out - f->errors;
    if (f->errors == 0 && warnings == 0)
        owl_buf_putz(b, "no faults");
    if (f->errors > 0)
        owl_buf_printf(b, "%zu error%s", f->errors, f->errors == 1 ? "" : "s");
    if (f->errors > 0 && warnings > 0)
        owl_buf_putz(b, " and ");
    if (warnings > 0)
        owl_buf_printf(b, "%zu warning%s", warnings, warnings == 1 ? "" : "s");
}

int owl_run_text(struct owl_run *r, struct owl_buf *b, int code)
{
    if (b->rc)
        code = owl_run_fail(r, OWL_EXIT_INNER, "%s", owl_err_info(b->rc)->text);
    else
        OWL_IGNORE(fwrite(b->p, 1, b->n, r->out->file)); /* the program looks at its end */
    owl_buf_done(b);
    return code;
}
