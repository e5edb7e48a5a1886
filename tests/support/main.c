/* support/main.c - runs the tests of one program.
 *
 * Every test runs in a child process, as a cmocka group of its own: a crash, a leak or a hang is
 * the failure of that test and of no other. The child tells by its exit status what became of it.
 *
 * usage: unit-<layer>-<module> [-n] [part of a name]     (-n: no children, for a debugger)
 * environment: OWLCLAW_RESULTS         file to append "pass|fail|skip<TAB>suite:test<TAB>ids" to
 *              OWLCLAW_TEST_TIMEOUT    seconds a test may take (default 120) */
#include "support/test.h"

#include <limits.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

/* Exit statuses of a child. A test that passed has one of its own, so that a test which calls
 * exit() does not count as passed. */
enum { STATUS_FAIL = 1, STATUS_SKIP = 77, STATUS_PASS = 78, TIMEOUT_S = 120 };

extern const struct owl_test *const __start_owl_tests[] __attribute__((weak));
extern const struct owl_test *const __stop_owl_tests[] __attribute__((weak));

static const struct owl_test *current;
static bool reached_end;
static bool skipped;

void owl_test_skip(const char *file, int line)
{
    skipped = true;
    _skip(file, line);
}

const char *owl_test_data(const char *relative_path)
{
    static char path[PATH_MAX];
    const char *root = getenv("OWLCLAW_TESTDATA");
    int n = snprintf(path, sizeof(path), "%s/%s", root ? root : "../shared/testdata",
                     relative_path);
    if (n < 0 || (size_t)n >= sizeof(path) || access(path, R_OK) != 0)
        return NULL;
    return path;
}

/* cmocka catches the signals of a crash, which hides where it happened. The handlers that were
 * there before it (the sanitizers' or none) are put back while a test runs; the parent sees the
 * death. */
static const int crash_signals[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGSYS};
enum { CRASH_SIGNALS = sizeof(crash_signals) / sizeof(crash_signals[0]) };
static struct sigaction crash_handlers[CRASH_SIGNALS];

static void run_current(void **state)
{
    (void)state;
    for (size_t i = 0; i < CRASH_SIGNALS; i++)
        sigaction(crash_signals[i], &crash_handlers[i], NULL);
    current->run();
    reached_end = true;
}

static int run_here(const struct owl_test *test)
{
    const struct CMUnitTest one = {.name = test->name, .test_func = run_current};
    current = test;
    reached_end = skipped = false;
    for (size_t i = 0; i < CRASH_SIGNALS; i++)
        sigaction(crash_signals[i], NULL, &crash_handlers[i]);
    if (_cmocka_run_group_tests(OWL_SUITE, &one, 1, NULL, NULL) != 0)
        return STATUS_FAIL;
    if (skipped)
        return STATUS_SKIP;
    return reached_end ? STATUS_PASS : STATUS_FAIL;
}

static int run_in_child(const struct owl_test *test)
{
    const char *timeout = getenv("OWLCLAW_TEST_TIMEOUT");
    fflush(NULL);
    pid_t pid = fork();
    if (pid < 0) {
        perror("fork");
        return STATUS_FAIL;
    }
    if (pid == 0) {
        alarm(timeout ? (unsigned)strtoul(timeout, NULL, 10) : TIMEOUT_S);
        exit(run_here(test));
    }
    int status;
    if (waitpid(pid, &status, 0) != pid) {
        perror("waitpid");
        return STATUS_FAIL;
    }
    if (WIFSIGNALED(status)) {
        printf("[  FAILED  ] %s: killed by signal %d (%s)\n", test->name, WTERMSIG(status),
               WTERMSIG(status) == SIGALRM ? "timeout" : strsignal(WTERMSIG(status)));
        return STATUS_FAIL;
    }
    int code = WEXITSTATUS(status);
    if (code == STATUS_PASS || code == STATUS_FAIL || code == STATUS_SKIP)
        return code;
    printf("[  FAILED  ] %s: exit status %d\n", test->name, code);
    return STATUS_FAIL;
}

static void record(FILE *results, const struct owl_test *test, int status)
{
    if (!results)
        return;
    const char *word = status == STATUS_PASS ? "pass" : status == STATUS_SKIP ? "skip" : "fail";
    fprintf(results, "%s\t%s:%s\t%s\n", word, OWL_SUITE, test->name, test->ids);
    fflush(results);
}

static int by_line(const void *a, const void *b)
{
    const struct owl_test *const *x = a, *const *y = b;
    return ((*x)->line > (*y)->line) - ((*x)->line < (*y)->line);
}

int main(int argc, char **argv)
{
    bool here = argc > 1 && strcmp(argv[1], "-n") == 0;
    const char *filter = argc > 1 + here ? argv[1 + here] : "";
    const char *path = getenv("OWLCLAW_RESULTS");
    FILE *results = path ? fopen(path, "ae") : NULL;
    if (path && !results) {
        perror(path);
        return EXIT_FAILURE;
    }

    size_t n = (size_t)(__stop_owl_tests - __start_owl_tests);
    const struct owl_test **tests = calloc(n + 1, sizeof(*tests));
    if (!tests)
        return EXIT_FAILURE;
    if (n > 0)
        memcpy(tests, __start_owl_tests, n * sizeof(*tests));
    qsort(tests, n, sizeof(*tests), by_line);

    unsigned failed = 0;
    for (size_t i = 0; i < n; i++) {
        if (!strstr(tests[i]->name, filter))
            continue;
        int status = here ? run_here(tests[i]) : run_in_child(tests[i]);
        record(results, tests[i], status);
        failed += status == STATUS_FAIL;
    }
    free(tests);
    if (results)
        fclose(results);
    return failed > 0 ? EXIT_FAILURE : EXIT_SUCCESS;
}
