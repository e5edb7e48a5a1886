/* cli/schema_validate.c - owlclaw schema validate: a JSON document against a JSON Schema.
 * Threads: the main one. */
#include <limits.h>
#include <stdlib.h>

#include "base/buf.h"
#include "cli/command.h"
#include "cli/file.h"
#include "cli/schema_map.h"

struct job {
    struct owl_run *run;
    struct owl_file schema, instance;
    struct owl_schema_maps maps;
    struct owl_buf base; /* the file: URI of the schema, NUL-terminated, if it has a name */
    struct owl_schema *compiled;
    struct owl_arena *arena;
    struct owl_explanation explanation;
};

/* ---- input ---------------------------------------------------------------------------------- */

static int no_memory(struct job *j)
{
    return owl_run_fail(j->run, OWL_EXIT_INNER, "out of memory");
}

static int read_json(struct job *j, struct owl_file *f, const char *path)
{
    owl_error error = {0};
    int rc = owl_file_read(f, path, OWL_FILE_MAX, &error);
    if (rc == -OWL_ENOMEM)
        return no_memory(j);
    if (rc)
        return owl_run_fail(j->run, OWL_EXIT_USAGE, "%s: %s", f->name, error.message);
    size_t at;
    rc = owl_file_prove_json(f, &at, &error);
    if (rc == -OWL_ENOMEM)
        return no_memory(j);
    if (rc == 0)
        return 0;
    struct owl_place place = owl_place_of(owl_file_text(f), at);
    owl_run_fail(j->run, OWL_EXIT_USAGE, "%s:%zu:%zu: %s", f->name, place.line, place.column,
                 error.message);
    if (f->n > 0)
        owl_print_place(j->run->err, owl_file_text(f), at);
    return OWL_EXIT_USAGE;
}

static int read_maps(struct job *j)
{
    int rc = owl_schema_maps_init(&j->maps);
    const char *map;
    for (size_t i = 0; rc == 0 && (map = owl_run_value(j->run, "map", i)) != NULL; i++)
        rc = owl_schema_maps_add(&j->maps, map);
    if (rc == -OWL_ENOMEM)
        return no_memory(j);
    return rc ? owl_run_fail(j->run, OWL_EXIT_USAGE, "%s", j->maps.problem) : 0;
}

/* A schema without "$id" is where its file is: relative references have something to begin with. */
static void find_base(struct job *j, const char *path)
{
    char real[PATH_MAX];
    owl_buf_init(&j->base, 3 * (size_t)PATH_MAX + 16);
    if (strcmp(path, "-") == 0 || !realpath(path, real))
        return;
    owl_buf_putz(&j->base, "file://");
    for (const char *p = real; *p; p++) {
        bool plain = (*p >= 'a' && *p <= 'z') || (*p >= 'A' && *p <= 'Z') ||
                     (*p >= '0' && *p <= '9') || strchr("/-._~", *p);
        owl_buf_printf(&j->base, plain ? "%c" : "%%%02X", (unsigned char)*p);
    }
}

/* ---- compiling ------------------------------------------------------------------------------ */

static int compile(struct job *j)
{
    struct owl_schema_options options = {
        .registry = j->maps.registry,
        .uri = owl_buf_str(&j->base),
        .assert_format = owl_run_has(j->run, "assert-format"),
    };
    owl_error error = {0};
    int rc = owl_schema_compile(owl_file_text(&j->schema), &options, &j->compiled, &error);
    if (rc == -OWL_ENOMEM || j->maps.no_memory)
        return no_memory(j);
    if (rc == -OWL_ENOTFOUND && *j->maps.problem)
        return owl_run_fail(j->run, OWL_EXIT_USAGE, "%s: a reference cannot be followed: %s",
                            j->schema.name, j->maps.problem);
    if (rc)
        return owl_run_fail(j->run, OWL_EXIT_USAGE, "%s: %s%s", j->schema.name, error.message,
                            rc == -OWL_ENOTFOUND ? "; --map takes documents from folders" : "");
    return 0;
}

/* ---- output --------------------------------------------------------------------------------- */

/* Where a keyword is: the URI of the schema's own file is left out. */
static owl_str keyword_place(const struct job *j, owl_str place)
{
    size_t n = j->base.n;
    bool own = n > 0 && place.n > n && memcmp(place.p, j->base.p, n) == 0 && place.p[n] == '#';
    return own ? (owl_str){place.p + n, place.n - n} : place;
}

static void put(owl_json_writer *w, const char *key, owl_str value)
{
    owl_json_key(w, key);
    owl_json_put_strn(w, value.p, value.n);
}

static void put_violation(const struct job *j, owl_json_writer *w, const struct owl_violation *v)
{
    struct owl_place place = owl_place_of(owl_file_text(&j->instance), v->at);
    owl_json_begin_object(w);
    put(w, "instance", v->instance);
    put(w, "schema", keyword_place(j, v->schema));
    put(w, "keyword", v->keyword);
    put(w, "expected", v->expected);
    put(w, "found", v->found);
    put(w, "message", v->sentence);
    owl_json_key(w, "line");
    owl_json_put_int(w, (int64_t)place.line);
    owl_json_key(w, "column");
    owl_json_put_int(w, (int64_t)place.column);
    owl_json_end(w);
}

static int tell_json(struct job *j)
{
    const struct owl_explanation *e = &j->explanation;
    int code = e->n > 0 ? OWL_EXIT_BAD : OWL_EXIT_OK;
    owl_json_writer *w = owl_json_writer_new();
    if (!w)
        return owl_run_json(j->run, w, code);
    owl_json_begin_object(w);
    owl_json_key(w, "valid");
    owl_json_put_bool(w, e->n == 0);
    owl_json_key(w, "violations");
    owl_json_begin_array(w);
    for (size_t i = 0; i < e->n; i++)
        put_violation(j, w, &e->violations[i]);
    owl_json_end(w);
    owl_json_key(w, "leftOut");
    owl_json_put_int(w, (int64_t)e->left_out);
    owl_json_end(w);
    return owl_run_json(j->run, w, code);
}

static void tell_violation(struct job *j, const struct owl_violation *v)
{
    struct owl_print *out = j->run->out;
    owl_str text = owl_file_text(&j->instance);
    struct owl_place place = owl_place_of(text, v->at);
    owl_str where = keyword_place(j, v->schema);
    owl_print_foreign(out, OWL_BOLD, owl_str_of(j->instance.name));
    owl_print(out, OWL_BOLD, ":%zu:%zu:", place.line, place.column);
    owl_print(out, OWL_PLAIN, " ");
    owl_print_foreign(out, OWL_PLAIN, v->sentence);
    owl_print(out, OWL_PLAIN, "\n");
    owl_print_place(out, text, v->at);
    owl_print(out, OWL_DIM, "      = ");
    if (where.n > 0 && where.p[0] == '#')
        owl_print_foreign(out, OWL_PLAIN, owl_str_of(j->schema.name));
    owl_print_foreign(out, OWL_PLAIN, where);
    owl_print(out, OWL_PLAIN, "\n\n");
}

static int tell(struct job *j)
{
    const struct owl_explanation *e = &j->explanation;
    struct owl_print *out = j->run->out;
    for (size_t i = 0; i < e->n; i++)
        tell_violation(j, &e->violations[i]);
    owl_print_foreign(out, OWL_BOLD, owl_str_of(j->instance.name));
    owl_print(out, OWL_PLAIN, ": ");
    if (e->n == 0) {
        owl_print(out, OWL_GOOD, "valid");
        owl_print(out, OWL_PLAIN, "\n");
        return OWL_EXIT_OK;
    }
    size_t all = e->n + e->left_out;
    owl_print(out, OWL_BAD, "not valid");
    owl_print(out, OWL_PLAIN, ", %zu %s", all, all == 1 ? "fault" : "faults");
    if (e->left_out > 0)
        owl_print(out, OWL_PLAIN, ", of which the first %zu are told", e->n);
    owl_print(out, OWL_PLAIN, "\n");
    return OWL_EXIT_BAD;
}

static int judge(struct job *j)
{
    owl_error error = {0};
    j->arena = owl_arena_new(0);
    int rc = j->arena ? owl_schema_explain(j->compiled, owl_file_text(&j->instance), j->arena,
                                           &j->explanation, &error)
                      : -OWL_ENOMEM;
    if (rc == -OWL_ENOMEM)
        return no_memory(j);
    if (rc)
        return owl_run_fail(j->run, OWL_EXIT_USAGE, "%s: there is no verdict: %s", j->instance.name,
                            error.message);
    return j->run->json ? tell_json(j) : tell(j);
}

static int run(struct owl_run *r)
{
    struct job j = {.run = r};
    const char *schema = r->operands[0], *instance = r->operands[1];
    if (strcmp(schema, "-") == 0 && strcmp(instance, "-") == 0)
        return owl_run_fail(r, OWL_EXIT_USAGE, "only one of SCHEMA and INSTANCE can be -");
    find_base(&j, schema);
    int code = read_maps(&j);
    if (code == 0)
        code = read_json(&j, &j.schema, schema);
    if (code == 0)
        code = read_json(&j, &j.instance, instance);
    if (code == 0)
        code = compile(&j);
    if (code == 0)
        code = judge(&j);
    owl_arena_free(j.arena);
    owl_schema_free(j.compiled);
    owl_schema_maps_done(&j.maps);
    owl_buf_done(&j.base);
    owl_file_done(&j.instance);
    owl_file_done(&j.schema);
    return code;
}

const struct owl_command owl_command_schema_validate = {
    .words = "schema validate",
    .summary = "Check a JSON document against a JSON Schema",
    .description =
        "Each fault is told with its line and column, what would be valid there, and the keyword "
        "of the schema that asks for it. The schema is read as its \"$schema\" says: 2020-12 (also "
        "without it), 2019-09 or draft-07. Both files are JSON in UTF-8, of at most 64 MiB.\n\n"
        "Nothing is ever fetched. A reference leads into the schema, to a metaschema, or into a "
        "folder: with --map PREFIX=DIR, the document of a URI that begins with PREFIX is the file "
        "of DIR that the rest of the URI names. PREFIX is an absolute URI that ends in / or :, and "
        "the longest that fits counts. Nothing outside DIR is read, and symbolic links in it are "
        "not followed; 1000 files and 64 MiB are the most that is read. A schema without \"$id\" "
        "has the file: URI of its own file.",
    .arguments =
        (const struct owl_command_argument[]){
            {.name = "SCHEMA", .file = true, .help = "file of the schema; - is standard input"},
            {.name = "INSTANCE",
             .file = true,
             .help = "file of the document to check; - is standard input"},
            {0},
        },
    .options =
        (const struct owl_command_option[]){
            {.name = "assert-format",
             .help = "a value without the \"format\" that the schema names is not valid"},
            {.name = "map",
             .value = "PREFIX=DIR",
             .repeated = true,
             .help = "take documents whose URI begins with PREFIX from the folder DIR"},
            {0},
        },
    .exits =
        (const struct owl_command_exit[]){
            {OWL_EXIT_OK, "the document is valid"},
            {OWL_EXIT_BAD, "the document is not valid; its faults are printed"},
            {OWL_EXIT_USAGE,
             "there is no verdict: the command line, a file or the schema cannot be "
             "used"},
            {0, NULL},
        },
    .examples =
        (const struct owl_command_example[]){
            {"owlclaw schema validate user.schema.json user.json", "Check a file:"},
            {"curl -s https://example.com/7 | owlclaw schema validate --json s.json -",
             "Check what another program prints:"},
            {"owlclaw schema validate --map https://example.com/=schemas s.json u.json",
             "Take the documents that the schema refers to from the folder schemas:"},
            {NULL, NULL},
        },
    .run = run,
};
