/* owlclaw schema validate, without memory; what it prints is tested by tests/e2e/test_cli.py. */
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/block.h"
#include "cli/args.h"
#include "support/test.h"

static void write_text(const char *name, const char *text)
{
    FILE *f = fopen(name, "w");
    assert_non_null(f);
    assert_int_equal(fputs(text, f) >= 0, 1);
    fclose(f);
}

/* Runs the command with the n-th allocation failing, and all after it; 0: none. */
static int run_failing(struct owl_args *args, unsigned long n)
{
    char *text[2] = {NULL};
    size_t size[2];
    struct owl_print out, err;
    owl_print_init(&out, open_memstream(&text[0], &size[0]), OWL_COLOUR_NEVER);
    owl_print_init(&err, open_memstream(&text[1], &size[1]), OWL_COLOUR_NEVER);
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
    int code = args->command->run(&r);
    owl_alloc_fail_at(0);
    fclose(out.file);
    fclose(err.file);
    if (code == OWL_EXIT_INNER)
        assert_string_equal(text[1], "owlclaw: out of memory\n");
    free(text[0]);
    free(text[1]);
    return code;
}

static void fails_cleanly(char **argv, int argc)
{
    struct owl_args args;
    assert_int_equal(owl_args_read(&args, argc, argv), 0);
    assert_int_equal(run_failing(&args, 0), OWL_EXIT_BAD);
    unsigned long n = 1;
    while (run_failing(&args, n) != OWL_EXIT_BAD) {
        int code = run_failing(&args, n++);
        assert_true(code == OWL_EXIT_INNER || code == OWL_EXIT_USAGE);
    }
    assert_true(n > 5);
    owl_args_done(&args);
    owl_thread_keep_nothing();
}

TEST(memory_that_runs_out_anywhere_is_told, "")
{
    char dir[] = "/tmp/owlclaw-test-XXXXXX";
    assert_non_null(mkdtemp(dir));
    assert_int_equal(chdir(dir), 0);
    write_text("s.json", "{\"$ref\":\"https://x.y/a\",\"type\":\"string\"}");
    write_text("i.json", "{\"a\":1}");
    write_text("a", "{\"properties\":{\"a\":{\"pattern\":\"x+\",\"type\":\"null\"}}}");
    char *text[] = {(char[]){"owlclaw"},        (char[]){"schema"}, (char[]){"validate"},
                    (char[]){"s.json"},         (char[]){"i.json"}, (char[]){"--map"},
                    (char[]){"https://x.y/=."}, (char[]){"--json"}};
    fails_cleanly(text, 7);
    fails_cleanly(text, 8);
    unlink("s.json");
    unlink("i.json");
    unlink("a");
    rmdir(dir);
}
