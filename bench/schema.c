/* schema.c - how long JSON Schema takes: one measurement a run.
 *
 * usage: schema bytes|verdict|compile SCHEMA INSTANCE valid|invalid
 *
 * bytes: from the bytes of the arguments to the verdict; verdict: of arguments that are proved;
 * compile: the schema. Prints nanoseconds of CPU, those of the quickest of many short spells: what else
 * the machine does only ever adds. */
#include "codec/schema.h"
#include "base/err.h"
#include "codec/scan.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { SLICES = 25 };
static const double SLICE_NS = 50e6;

struct job {
    owl_str schema, instance;
    struct owl_schema *compiled;
    bool expected;
};

static void die(const char *what)
{
    fprintf(stderr, "schema: %s\n", what);
    exit(1);
}

static owl_str read_file(const char *path)
{
    FILE *file = fopen(path, "rb");
    char *text = malloc(1 << 20);
    if (!file || !text)
        die(path);
    size_t n = fread(text, 1, 1 << 20, file);
    fclose(file);
    return (owl_str){text, n};
}

static void do_verdict(const struct job *j)
{
    bool valid;
    if (owl_schema_validate(j->compiled, j->instance, &valid, NULL) || valid != j->expected)
        die("the wrong verdict");
}

static void do_bytes(const struct job *j)
{
    if (owl_json_scan(j->instance, OWL_JSON_DEPTH, NULL))
        die("the arguments are not JSON");
    do_verdict(j);
}

static void do_compile(const struct job *j)
{
    struct owl_schema *s;
    if (owl_schema_compile(j->schema, NULL, &s, NULL))
        die("the schema does not compile");
    owl_schema_free(s);
}

static double now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static double took_ns(void (*work)(const struct job *), const struct job *j, unsigned long n)
{
    double from = now_ns();
    for (unsigned long i = 0; i < n; i++)
        work(j);
    return now_ns() - from;
}

int main(int argc, char **argv)
{
    if (argc != 5)
        die("usage: schema bytes|verdict|compile SCHEMA INSTANCE valid|invalid");
    void (*work)(const struct job *) = argv[1][0] == 'b'   ? do_bytes
                                       : argv[1][0] == 'v' ? do_verdict
                                                           : do_compile;
    struct job j = {.schema = read_file(argv[2]),
                    .instance = read_file(argv[3]),
                    .expected = argv[4][0] == 'v'};
    if (owl_schema_compile(j.schema, NULL, &j.compiled, NULL))
        die("the schema does not compile");
    do_bytes(&j);
    unsigned long n = 1;
    while (took_ns(work, &j, n) < SLICE_NS)
        n *= 2;
    double best = 0;
    for (int i = 0; i < SLICES; i++) {
        double ns = took_ns(work, &j, n) / (double)n;
        best = i == 0 || ns < best ? ns : best;
    }
    printf("%.1f\n", best);
    return 0;
}
