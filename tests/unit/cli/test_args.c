/* The command line, understood. */
#include "base/alloc.h"
#include "cli/args.h"
#include "support/test.h"

enum { MOST = 16 };

/* Reads words that are separated by "|"; the line must outlive the result. */
static int read_line(struct owl_args *args, char *line)
{
    static char *argv[MOST + 1];
    int argc = 0;
    argv[argc++] = line; /* whatever the program is called */
    for (char *save = NULL, *word = strtok_r(line, "|", &save); word && argc < MOST;
         word = strtok_r(NULL, "|", &save))
        argv[argc++] = word;
    return owl_args_read(args, argc, argv);
}

static void refused(const char *line, const char *problem)
{
    char copy[512];
    struct owl_args args;
    assert_true(strlen(line) < sizeof copy);
    strcpy(copy, line);
    int rc = read_line(&args, copy);
    if (rc != -OWL_EINVAL || strcmp(args.problem, problem) != 0)
        fail_msg("%s: %d \"%s\", not \"%s\"", line, rc, args.problem, problem);
    owl_args_done(&args);
}

/* The value that --map got first. */
static void maps_to(const char *line, const char *value)
{
    char copy[512];
    struct owl_args args;
    strcpy(copy, line);
    int rc = read_line(&args, copy);
    if (rc)
        fail_msg("%s: %s", line, args.problem);
    struct owl_run r = {.command = args.command, .given = args.given, .n_given = args.n_given};
    assert_string_equal(args.command->words, "schema validate");
    assert_int_equal(args.n_operands, 2);
    assert_string_equal(args.operands[0], "s");
    assert_string_equal(args.operands[1], "-");
    assert_string_equal(owl_run_value(&r, "map", 0), value);
    assert_null(owl_run_value(&r, "map", 1));
    assert_false(owl_run_has(&r, "assert-format"));
    owl_args_done(&args);
}

TEST(options_stand_anywhere_in_every_spelling, "")
{
    maps_to("schema|validate|--map|a=b|s|-", "a=b");
    maps_to("schema|validate|s|--map=a=b|-", "a=b");
    maps_to("schema|validate|s|-|--map|--json", "--json");
    maps_to("--json|schema|--color=never|validate|--map|x|--|s|-", "x");
}

TEST(everything_behind_two_dashes_is_an_operand, "")
{
    char line[] = "schema|validate|--|--map|-x";
    struct owl_args args;
    assert_int_equal(read_line(&args, line), 0);
    assert_int_equal(args.n_operands, 2);
    assert_string_equal(args.operands[0], "--map");
    assert_string_equal(args.operands[1], "-x");
    assert_int_equal(args.n_given, 0);
    owl_args_done(&args);
}

TEST(repeated_options_keep_their_order, "")
{
    char line[] = "schema|validate|--map|1|s|--map=2|i|--assert-format|--assert-format|--map|3";
    struct owl_args args;
    assert_int_equal(read_line(&args, line), 0);
    struct owl_run r = {.command = args.command, .given = args.given, .n_given = args.n_given};
    assert_string_equal(owl_run_value(&r, "map", 0), "1");
    assert_string_equal(owl_run_value(&r, "map", 1), "2");
    assert_string_equal(owl_run_value(&r, "map", 2), "3");
    assert_null(owl_run_value(&r, "map", 3));
    assert_true(owl_run_has(&r, "assert-format"));
    assert_int_equal(args.n_given, 4);
    owl_args_done(&args);
}

TEST(common_options_are_known_everywhere, "")
{
    char line[] = "-hhhhhhhhhhhhhhhhhhhh|--version|schema|--color|always|--json";
    struct owl_args args;
    assert_int_equal(read_line(&args, line), 0);
    assert_string_equal(args.command->words, "schema");
    assert_true(args.help && args.version && args.json);
    assert_int_equal(args.colour, OWL_COLOUR_ALWAYS);
    owl_args_done(&args);
}

TEST(help_and_version_need_nothing_else, "OR-12.8 OR-12.9")
{
    static const char *const lines[] = {"--help", "schema|-h", "schema|validate|--help",
                                        "--version", "schema|validate|--version"};
    for (size_t i = 0; i < OWL_COUNT(lines); i++) {
        char copy[64];
        struct owl_args args;
        strcpy(copy, lines[i]);
        assert_int_equal(read_line(&args, copy), 0);
        assert_true(args.help || args.version);
        owl_args_done(&args);
    }
}

TEST(every_mistake_has_its_sentence, "")
{
    refused("", "a command is missing: mcp-server, config, trust, schema");
    refused("schema", "\"schema\" needs one of its commands: validate");
    refused("shcema", "there is no command \"shcema\"; did you mean \"schema\"?");
    refused("schema|valid",
            "there is no command \"schema valid\"; did you mean \"schema validate\"?");
    refused("schema|x", "there is no command \"schema x\"");
    refused("doc", "there is no command \"doc\"");
    refused("schema|validate|--jsn", "there is no option --jsn; did you mean --json?");
    refused("schema|validate|--amp=x", "there is no option --amp; did you mean --map?");
    refused("--map|x|schema|validate", "there is no option --map");
    refused("--qqqqqq", "there is no option --qqqqqq");
    refused("schema|validate|-q", "there is no option -q");
    refused("schema|validate|-map", "there is no option -m; did you mean --map?");
    refused("--json=1", "--json takes no value");
    refused("--color", "--color needs a value: --color WHEN");
    refused("schema|validate|a|--map", "--map needs a value: --map PREFIX=DIR");
    refused("--color|blue", "--color takes auto, always or never, not \"blue\"");
    refused("--color=alwys",
            "--color takes auto, always or never, not \"alwys\"; did you mean always?");
    refused("--color=auto|--color=never", "--color can be given once only");
    refused("schema|validate|a",
            "the argument INSTANCE is missing: the file of the document to check; - is standard "
            "input");
    refused("schema|validate|a|b|c", "\"c\" is one argument too many");
}

TEST(an_endless_word_is_cut_in_the_sentence, "")
{
    char line[400] = "--";
    memset(line + 2, 'x', 390);
    struct owl_args args;
    assert_int_equal(read_line(&args, line), -OWL_EINVAL);
    assert_true(strlen(args.problem) < 120);
    owl_args_done(&args);
}

TEST(memory_that_runs_out_is_an_error, "")
{
    char *argv[] = {(char[]){"owlclaw"}, (char[]){"--help"}};
    for (unsigned long n = 1; n <= 2; n++) {
        struct owl_args args;
        owl_alloc_fail_at(n);
        assert_int_equal(owl_args_read(&args, 2, argv), -OWL_ENOMEM);
        owl_alloc_fail_at(0);
    }
    struct owl_args args;
    assert_int_equal(owl_args_read(&args, 0, argv), -OWL_EINVAL);
    owl_args_done(&args);
}
