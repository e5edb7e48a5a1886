/* The commands about the configuration, and trust, without memory; what they print is tested by
 * tests/e2e/test_config.py. */
#include <ftw.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/block.h"
#include "cli/args.h"
#include "support/test.h"

struct outcome {
    int code;
    char *out, *err;
};

static void write_text(const char *name, const char *text)
{
    FILE *f = fopen(name, "w");
    assert_non_null(f);
    assert_true(fputs(text, f) >= 0);
    fclose(f);
}

/* Runs the command with the n-th allocation failing, and all after it; 0: none. */
static struct outcome run_failing(const struct owl_args *args, unsigned long n)
{
    struct outcome o = {0};
    size_t size[2];
    struct owl_print out, err;
    owl_print_init(&out, open_memstream(&o.out, &size[0]), OWL_COLOUR_NEVER);
    owl_print_init(&err, open_memstream(&o.err, &size[1]), OWL_COLOUR_NEVER);
    struct owl_run r = {.command = args->command,
                        .out = &out,
                        .err = &err,
                        .json = args->json,
                        .operands = args->operands,
                        .n_operands = args->n_operands,
                        .given = args->given,
                        .n_given = args->n_given};
    owl_thread_keep_nothing();
    owl_alloc_fail_at(n);
    o.code = args->command->run(&r);
    owl_alloc_fail_at(0);
    fclose(out.file);
    fclose(err.file);
    return o;
}

static void forget(struct outcome *o)
{
    free(o->out);
    free(o->err);
}

/* However little memory there is: what comes out is what comes out otherwise, or the command says
 * why not. @p undo makes the next run like the first, or is NULL. */
static void fails_cleanly(const char *line, int code, void (*undo)(void))
{
    char copy[256], *argv[16] = {(char[]){"owlclaw"}};
    int argc = 1;
    snprintf(copy, sizeof copy, "%s", line);
    for (char *rest, *word = strtok_r(copy, " ", &rest); word; word = strtok_r(NULL, " ", &rest))
        argv[argc++] = word;
    struct owl_args args;
    assert_int_equal(owl_args_read(&args, argc, argv), 0);
    struct outcome whole = run_failing(&args, 0);
    assert_int_equal(whole.code, code);
    unsigned long failures = 0;
    bool done = false;
    for (unsigned long n = 1; !done; n += 1 + n / 50) {
        assert_true(n < 1000000);
        if (undo)
            undo();
        struct outcome o = run_failing(&args, n);
        done = o.code == code && strcmp(o.out, whole.out) == 0 && strcmp(o.err, whole.err) == 0;
        bool told = (o.code == OWL_EXIT_INNER && strstr(o.err, "owlclaw: out of memory")) ||
                    (o.code == code && (strstr(o.out, "told: out of memory") ||
                                        strstr(o.err, "told: out of memory")));
        failures += told;
        if (!done && !told)
            print_error("%s, %lu: %d\n%s%s", line, n, o.code, o.out, o.err);
        assert_true(done || told);
        forget(&o);
    }
    assert_true(failures > 3);
    forget(&whole);
    owl_args_done(&args);
    owl_thread_keep_nothing();
}

static char folder[] = "/tmp/owlclaw-test-XXXXXX";

static void enter(void)
{
    assert_non_null(mkdtemp(folder));
    assert_int_equal(chdir(folder), 0);
    assert_int_equal(setenv("HOME", folder, 1), 0);
    assert_int_equal(unsetenv("XDG_STATE_HOME"), 0);
    write_text("a.yaml",
               "mcp_server:\n  transport: http\n  name: $${x}\n  http: {port: '${PORT:-1}'}\n"
               "  servers:\n    a: {command: x, env: {A_TOKEN: y}}\n    b: {url: 'https://h'}\n");
    write_text("b.json",
               "{\"x\": 1, \"inputs\": [{\"id\": \"i\"}], \"mcpServers\": {\"c\": {\"command\": "
               "\"${input:i}\", \"timeout\": 2000, \"odd\": 1}}}");
    write_text("bad.yaml", "mcp_server:\n  nmae: x\n  http: {port: x}\n  state_key: no\n");
}

static int drop(const char *path, const struct stat *s, int flag, struct FTW *f)
{
    (void)s;
    (void)flag;
    (void)f;
    return remove(path);
}

static void leave(void)
{
    assert_int_equal(chdir("/"), 0);
    nftw(folder, drop, 8, FTW_DEPTH | FTW_PHYS);
}

TEST(show_without_memory_says_so, "")
{
    enter();
    fails_cleanly("mcp-server config show -c a.yaml", OWL_EXIT_OK, NULL);
    fails_cleanly("mcp-server config show -c a.yaml --json --set http.port=2", OWL_EXIT_OK, NULL);
    fails_cleanly("mcp-server config show -c b.json -c a.yaml --sources --changed", OWL_EXIT_BAD,
                  NULL);
    leave();
}

TEST(validate_without_memory_says_so, "")
{
    enter();
    fails_cleanly("mcp-server config validate -c a.yaml --port 3", OWL_EXIT_OK, NULL);
    fails_cleanly("mcp-server config validate -c bad.yaml", OWL_EXIT_BAD, NULL);
    fails_cleanly("mcp-server config validate -c bad.yaml --json", OWL_EXIT_BAD, NULL);
    leave();
}

static void remove_imported(void)
{
    unlink("i.yaml");
}

TEST(import_without_memory_says_so_and_writes_nothing, "")
{
    enter();
    fails_cleanly("mcp-server config import b.json a.yaml", OWL_EXIT_OK, NULL);
    fails_cleanly("mcp-server config import b.json -o i.yaml", OWL_EXIT_OK, remove_imported);
    leave();
}

TEST(trust_without_memory_says_so, "")
{
    enter();
    fails_cleanly("trust b.json", OWL_EXIT_OK, NULL);
    fails_cleanly("trust --list", OWL_EXIT_OK, NULL);
    fails_cleanly("trust --remove a.yaml", OWL_EXIT_BAD, NULL);
    leave();
}
