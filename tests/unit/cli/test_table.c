/* Another program's table, with everything that a descriptor can say: the list is linked from here
 * instead of cli/commands.c. */
#include "cli/args.h"
#include "cli/docs.h"
#include "cli/help.h"
#include "support/test.h"

static int run(struct owl_run *r)
{
    return (int)r->n_operands;
}

static const char *const sizes[] = {"small", "large", NULL};

const struct owl_command owl_command_program = {
    .words = "",
    .summary = "Test",
    .options =
        (const struct owl_command_option[]){
            {.name = "help", .letter = 'h', .help = "show help"},
            {.name = "version", .help = "show the version"},
            {.name = "json", .letter = 'j', .help = "print JSON"},
            {0},
        },
    .exits = (const struct owl_command_exit[]){{0, "success"}, {9, "it's bad: very"}, {0, NULL}},
};
static const struct owl_command server = {.words = "mcp-server", .summary = "Servers"};
static const struct owl_command config = {.words = "mcp-server config", .summary = "Files"};
static const struct owl_command show = {
    .words = "mcp-server config show",
    .summary = "Show a file",
    .description = "One.\n\n.dots and 'quotes' \\ and -- dashes.",
    .arguments =
        (const struct owl_command_argument[]){
            {.name = "FILE", .help = "file", .file = true, .optional = true, .repeated = true},
            {0},
        },
    .options =
        (const struct owl_command_option[]){
            {.name = "size", .letter = 's', .value = "SIZE", .choices = sizes, .help = "how: big"},
            {.name = "key", .letter = 'k', .value = "KEY", .repeated = true, .help = "it's a key"},
            {.name = "from", .value = "FILE", .file = true, .help = "a file"},
            {.name = "all", .letter = 'a', .help = "all"},
            {0},
        },
    .exits = (const struct owl_command_exit[]){{9, "nine"}, {0, NULL}},
    .run = run,
};
static const struct owl_command trust = {.words = "trust", .summary = "Trust", .run = run};

const struct owl_command *const owl_commands[] = {
    &owl_command_program, &server, &config, &show, &trust, NULL};

/* Reads up to six words behind "mcp-server config show". */
static int read_show(struct owl_args *args, const char *const words[6])
{
    static char text[9][32];
    char *argv[10] = {text[0]};
    int argc = 1;
    const char *const path[] = {"mcp-server", "config", "show"};
    for (size_t i = 0; i < 9; i++) {
        const char *word = i < 3 ? path[i] : words[i - 3];
        if (!word)
            break;
        strcpy(text[i], word);
        argv[argc++] = text[i];
    }
    return owl_args_read(args, argc, argv);
}

static void understood(const char *const words[6], const char *size, const char *key, size_t files)
{
    struct owl_args args;
    int rc = read_show(&args, words);
    if (rc)
        fail_msg("%s: %s", words[0], args.problem);
    struct owl_run r = {.command = args.command,
                        .given = args.given,
                        .n_given = args.n_given,
                        .n_operands = args.n_operands};
    assert_ptr_equal(args.command, &show);
    assert_int_equal(args.command->run(&r), files);
    assert_int_equal(owl_run_has(&r, "size"), size != NULL);
    if (size)
        assert_string_equal(owl_run_value(&r, "size", 0), size);
    if (key)
        assert_string_equal(owl_run_value(&r, "key", 0), key);
    owl_args_done(&args);
}

TEST(letters_take_values_in_every_spelling, "")
{
    understood((const char *[6]){"-s", "small"}, "small", NULL, 0);
    understood((const char *[6]){"-ssmall", "x"}, "small", NULL, 1);
    understood((const char *[6]){"-jas", "large", "-"}, "large", NULL, 1);
    understood((const char *[6]){"-ajk=1", "x", "y", "z"}, NULL, "=1", 3);
    understood((const char *[6]){"-k", "", "-k-k", "--", "-k"}, NULL, "", 1);
    understood((const char *[6]){"--key=", "--key", "--"}, NULL, "", 0);
}

TEST(letters_that_are_wrong_are_named, "")
{
    struct owl_args args;
    assert_int_equal(read_show(&args, (const char *[6]){"-jxs"}), -OWL_EINVAL);
    assert_string_equal(args.problem, "there is no option -x");
    owl_args_done(&args);
    assert_int_equal(read_show(&args, (const char *[6]){"-as"}), -OWL_EINVAL);
    assert_string_equal(args.problem, "--size needs a value: --size SIZE");
    owl_args_done(&args);
    assert_int_equal(read_show(&args, (const char *[6]){"-ssmal"}), -OWL_EINVAL);
    assert_string_equal(args.problem,
                        "--size takes small or large, not \"smal\"; did you mean small?");
    owl_args_done(&args);
    assert_int_equal(read_show(&args, (const char *[6]){"-ssmall", "-slarge"}), -OWL_EINVAL);
    assert_string_equal(args.problem, "--size can be given once only");
    owl_args_done(&args);
}

TEST(a_command_belongs_to_one_group, "")
{
    assert_true(owl_command_in(&server, &owl_command_program));
    assert_true(owl_command_in(&trust, &owl_command_program));
    assert_true(owl_command_in(&config, &server));
    assert_true(owl_command_in(&show, &config));
    assert_false(owl_command_in(&show, &server));
    assert_false(owl_command_in(&show, &owl_command_program));
    assert_false(owl_command_in(&trust, &server));
    assert_false(owl_command_in(&owl_command_program, &owl_command_program));
    assert_string_equal(owl_command_name(&show), "show");
    assert_string_equal(owl_command_name(&trust), "trust");
}

/* What @p put writes, as a string that lasts until the next. */
static const char *text_of(void (*put)(struct owl_buf *b))
{
    static struct owl_buf b;
    owl_buf_done(&b);
    owl_buf_init(&b, 1 << 20);
    put(&b);
    owl_buf_putc(&b, '\0');
    assert_int_equal(b.rc, 0);
    return b.p;
}

static void put_page(struct owl_buf *b)
{
    owl_docs_man(b, &show);
}

static void holds(const char *text, const char *part)
{
    if (!strstr(text, part))
        fail_msg("\"%s\" is not in:\n%s", part, text);
}

TEST(roff_shows_text_as_it_is, "")
{
    const char *page = text_of(put_page);
    holds(page, ".TH OWLCLAW-MCP-SERVER-CONFIG-SHOW 1 ");
    holds(page, "One.\n.PP\n\\&.dots and \\(aqquotes\\(aq \\e and \\-\\- dashes.\n");
    holds(page, "\\fB\\-k\\fR, \\fB\\-\\-key\\fR \\fIKEY\\fR\n");
    holds(page, "[\\fIFILE\\fR]...\n");
    holds(page, ".TP\n0\nsuccess\n.TP\n9\nnine\n");
}

TEST(completions_quote_and_know_their_place, "")
{
    const char *bash = text_of(owl_docs_bash);
    holds(bash, "/mcp-server|/mcp-server/config|/mcp-server/config/show|/trust) path+=");
    holds(bash, "\"/mcp-server/config/show --size\"|\"/mcp-server/config/show -s\") "
                "_owlclaw_words small large; return");
    holds(bash, "\"/mcp-server/config/show --from\") _owlclaw_files; return");
    holds(text_of(owl_docs_zsh), "'--key:it'\\''s a key' '--from:a file'");
    holds(text_of(owl_docs_zsh), "'--size:how\\: big'");
    holds(text_of(owl_docs_fish), "-l key -s k -x -d 'it\\'s a key'");
    holds(text_of(owl_docs_fish), "-l from -r -F -d 'a file'");
    holds(text_of(owl_docs_markdown), "| `-s, --size SIZE` | how: big (small\\|large) |");
    assert_null(strstr(text_of(owl_docs_markdown), "## owlclaw mcp-server config\n"));
}
