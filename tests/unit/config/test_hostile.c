/* unit/config/test_hostile.c - files that somebody wrote to do harm: too much work, and worse. */
#include "box.h"

#include <time.h>

#include "config/summary.h"

/* ---- work --------------------------------------------------------------------------------- */

/* What grows with the square takes minutes; sanitizers take ten times as long as other builds. */
enum { MANY = 60000, SECONDS = 60 };

/* head, then a text for each of many numbers, then tail. */
static void write_many(struct box *b, const char *name, const char *head, const char *each,
                       const char *tail)
{
    struct owl_buf text;
    owl_buf_init(&text, 64 << 20);
    owl_buf_putz(&text, head);
    for (unsigned i = 0; i < MANY; i++) {
        const char *sign = strchr(each, '#');
        owl_buf_put(&text, each, sign ? (size_t)(sign - each) : strlen(each));
        if (sign) {
            owl_buf_putu(&text, i);
            owl_buf_putz(&text, sign + 1);
        }
    }
    owl_buf_putz(&text, tail);
    assert_int_equal(text.rc, 0);
    box_bytes(b, name, owl_buf_str(&text));
    owl_buf_done(&text);
}

/* Loads a file, asks for all that is ever asked, and fails if that took long. */
static void assert_quick(struct box *b, const char *name)
{
    clock_t begin = clock();
    struct owl_buf text;
    LOAD(b, FILES(name));
    box_report(b, &text);
    const struct owl_value *root = owl_config_tree(b->c);
    size_t secrets = 0;
    for (const struct owl_value *v = root; v; v = owl_value_next(root, v)) {
        owl_buf_reset(&text);
        owl_value_pointer(&text, root, v);
        secrets += owl_config_secret(b->c, v);
    }
    assert_int_equal(secrets, 0);
    owl_buf_done(&text);
    double seconds = (double)(clock() - begin) / CLOCKS_PER_SEC;
    if (seconds > SECONDS) {
        print_error("%s took %.1f s\n", name, seconds);
        fail();
    }
}

TEST(the_work_grows_with_the_file_and_no_faster, "")
{
    struct box b;
    box_open(&b);
    write_many(&b, "list.json", "{\"mcp_server\":{\"skills\":{\"dirs\":[\"x\"", ",\"a\"", "]}}}");
    assert_quick(&b, "list.json");
    assert_errors(&b, 0);
    write_many(&b, "keys.yaml", "mcp_server:\n", "  k#: 1\n", "");
    assert_quick(&b, "keys.yaml");
    write_many(&b, "unset.yaml", "mcp_server:\n  skills:\n    dirs:\n", "      - ${UNSET}\n", "");
    assert_quick(&b, "unset.yaml");
    assert_errors(&b, MANY);
    write_many(&b, "one-line.json", "{\"mcpServers\":{\"s\":{\"command\":\"x\"}",
               ",\"s#\":{\"command\":\"x\",\"cmd#\":1}", "}}");
    assert_quick(&b, "one-line.json");
    box_close(&b);
}

TEST(what_variables_become_is_limited_also_where_it_is_refused, "")
{
    struct box b;
    struct owl_buf head;
    box_open(&b);
    owl_buf_init(&head, 2 << 20);
    owl_buf_putz(&head, "{\"inputs\":[{\"id\":\"a\",\"default\":\"");
    for (unsigned i = 0; i < 1000000; i++)
        owl_buf_putc(&head, 'x');
    owl_buf_putz(&head, "\"}],\n\"mcp_server\":{\"skills\":{\"dirs\":[\"\"");
    owl_buf_putc(&head, '\0');
    assert_int_equal(head.rc, 0);
    write_many(&b, "inputs.json", head.p, ",\n\"${input:a}${input:a}\"", "]}}}");
    assert_quick(&b, "inputs.json");
    assert_says(&b, "the text is too long when its variables are replaced");
    owl_buf_done(&head);
    box_close(&b);
}

TEST(what_repeats_itself_is_limited, "")
{
    struct box b;
    struct owl_config *c = NULL;
    box_open(&b);
    struct owl_config_options o = {.dir = b.dir, .home = b.home, FILES("many.json")};
    const char *const nothing[] = {NULL};
    o.env = nothing;
    /* A file that includes another again and again, and that other one. */
    write_many(&b, "big.yaml", "mcp_server: {skills: {dirs: [x", ",a,a,a,a,a,a,a,a,a,a", "]}}");
    struct owl_buf list;
    owl_buf_init(&list, 1 << 20);
    owl_buf_putz(&list, "{\"mcp_server\": {}, \"include\": [\"big.yaml\"");
    for (unsigned i = 0; i < 100; i++)
        owl_buf_putz(&list, ", \"big.yaml\"");
    owl_buf_putz(&list, "]}");
    box_bytes(&b, "many.json", owl_buf_str(&list));
    owl_buf_done(&list);
    assert_int_equal(owl_config_load(&o, &c), -OWL_ELIMIT);
    assert_null(c);
    box_close(&b);
}

TEST(a_pattern_does_not_look_through_the_whole_machine, "")
{
    struct box b;
    box_open(&b);
    clock_t begin = clock();
    box_try(&b, "mcp-server.yaml",
            "include: [/*/*/*/*/*/*/*, /proc/*/task/*/fd/*]\nmcp_server: {}\n");
    assert_true((double)(clock() - begin) / CLOCKS_PER_SEC < SECONDS);
    assert_says(&b, "`include` would look through more than 50000 files");
    assert_int_equal(owl_config_faults(b.c)->errors, 2);
    box_close(&b);
}

/* ---- what must not pass -------------------------------------------------------------------- */

TEST(a_nul_within_a_text_is_refused, "")
{
    static const char *const files[] = {
        "mcp_server: {servers: {a: {command: x, cwd: \"x\\0y\"}}}",
        "mcp_server: {servers: {a: {command: x, args: [\"--safe\\0y\"]}}}",
        "mcp_server: {servers: {a: {command: x, env: {A: \"b\\0c\"}}}}",
        "mcp_server: {http: {socket: \"\\0abstract\"}}",
    };
    struct box b;
    box_open(&b);
    for (size_t i = 0; i < OWL_COUNT(files); i++) {
        box_try(&b, "a.yaml", files[i]);
        assert_errors(&b, 1);
        assert_says(&b, "has a NUL in it");
        assert_int_equal(owl_config_usable(b.c), i < 3);
    }
    assert_null(owl_config_server_fault(b.c, OWL_STR("a")).p);
    box_try(&b, "a.yaml", files[0]);
    assert_non_null(owl_config_server_fault(b.c, OWL_STR("a")).p);
    /* The schema of a command is of others: it may speak of anything. */
    box_try(&b, "a.yaml",
            "mcp_server: {handlers: {commands: {x: {description: d, command: c, "
            "input_schema: {const: \"\\0\"}}}}}");
    assert_errors(&b, 0);
    box_close(&b);
}

TEST(folders_beside_what_is_no_map_leave_it_to_the_judge, "")
{
    struct box b;
    box_open(&b);
    box_try(&b, "owlclaw.yaml", "mcp_server: {handlers: text}\ncapabilities: [a]\n");
    assert_errors(&b, 1);
    assert_says(&b, "`handlers` must be a map, but is \"text\"");
    box_try(&b, "owlclaw.yaml", "mcp_server: {handlers: [1]}\ncapabilities: [a]\n");
    assert_errors(&b, 1);
    assert_value(&b, "handlers", "[1]");
    box_close(&b);
}

/* ---- terminals ----------------------------------------------------------------------------- */

static void assert_harmless(owl_str text)
{
    for (size_t i = 0; i < text.n; i++) {
        bool c1 = text.p[i] == '\xc2' && (unsigned char)text.p[i + 1] < 0xa0;
        bool bidi = text.n - i >= 3 && memcmp(text.p + i, "\xe2\x80\xae", 3) == 0;
        if (text.p[i] == '\033' || c1 || bidi) {
            print_error("byte %zu of %.*s\n", i, (int)text.n, text.p);
            fail();
        }
    }
}

TEST(nothing_of_a_file_drives_the_terminal, "")
{
    struct box b;
    struct owl_buf text;
    box_open(&b);
    /* The names of files, keys decoded and as they stand, and values. */
    box_write(&b, "in/a\033[31m\nb.yaml", "mcp_server: {a: 1}\n");
    box_write(&b,
              "in/b\xc2\x9b"
              "31m.yaml",
              "mcp_server: {\"\xc2\x9b\xe2\x80\xae\": 1}\n");
    box_write(&b, "in/c\xff.json",
              "{\"mcpServers\":{\"a\":{\"command\":\"x\",\"\\u009b\\u202e\":1}}}");
    box_try(&b, "a.yaml", "include: in/*\nmcp_server: {http: {port: \"\\u009b1\\e[m\"}}\n");
    assert_errors(&b, 3);
    assert_says(&b, "in/a\xef\xbf\xbd[31m b.yaml:1:14: error: `a` is no key");
    assert_says(&b, "`??` is not understood");
    assert_says(&b, "but is \"?1?[m\"");
    box_report(&b, &text);
    assert_harmless(owl_buf_str(&text));
    owl_buf_reset(&text);
    box_try(&b, "a.yaml",
            "mcp_server: {resources: {skills_dir: \"\\u009b\\e[2J\"}, "
            "servers: {\"\\u009b\\u202e\": {command: x}}}\n");
    assert_errors(&b, 0);
    owl_config_summary(&text, b.c);
    assert_harmless(owl_buf_str(&text));
    owl_buf_reset(&text);
    owl_value_yaml(&text, owl_config_tree(b.c), NULL, NULL);
    assert_harmless(owl_buf_str(&text));
    owl_buf_done(&text);
    box_close(&b);
}
