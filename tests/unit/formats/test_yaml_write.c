/* Unit tests of formats/yaml_write.c: what is written is read back. */
#include "support/test.h"

#include <stdio.h>

#include "base/alloc.h"
#include "formats/value.h"

static struct owl_value *read_with(int (*read)(const struct owl_reading *, struct owl_value **),
                                   struct owl_arena *a, owl_str text)
{
    struct owl_faults faults = {.arena = a};
    struct owl_value *v = NULL;
    int rc = read(&(struct owl_reading){.text = text, .arena = a, .faults = &faults}, &v);
    if (rc || faults.n)
        fail_msg("%.*s: %s", (int)text.n, text.p, faults.n ? faults.list[0].what.p : "no memory");
    return v;
}

static owl_str source_of(void *data, const struct owl_value *v)
{
    (void)data;
    return v->kind == OWL_NODE_NUMBER ? OWL_STR("a number") : OWL_STR("");
}

/* JSON becomes YAML (as @p expected, unless that is NULL), which is read back as the same JSON. */
static void check(const char *json, const char *expected, owl_value_comment comment)
{
    struct owl_arena *a = owl_arena_new(0);
    struct owl_buf yaml, before, after;
    owl_buf_init(&yaml, 1 << 20);
    owl_buf_init(&before, 1 << 20);
    owl_buf_init(&after, 1 << 20);
    struct owl_value *v = read_with(owl_jsonc_read, a, owl_str_of(json));
    owl_value_yaml(&yaml, v, comment, NULL);
    owl_buf_putc(&yaml, '\0');
    if (expected)
        assert_string_equal(yaml.p, expected);
    owl_value_json(&before, v, NULL);
    owl_value_json(&after, read_with(owl_yaml_read, a, (owl_str){yaml.p, yaml.n - 1}), NULL);
    assert_int_equal(before.n, after.n);
    assert_memory_equal(before.p, after.p, before.n);
    owl_buf_done(&after);
    owl_buf_done(&before);
    owl_buf_done(&yaml);
    owl_arena_free(a);
}

TEST(a_tree_is_laid_out_for_people, "")
{
    check("{\"a\":{\"b\":[1,\"two\",{\"c\":true,\"d\":null},[],[[2],[]]],\"e\":{}},\"f\":\"/x/y\"}",
          "a:\n"
          "  b:\n"
          "    - 1\n"
          "    - two\n"
          "    - c: true\n"
          "      d: null\n"
          "    - []\n"
          "    - - - 2\n"
          "      - []\n"
          "  e: {}\n"
          "f: /x/y\n",
          NULL);
    check("{\"port\":8080,\"deep\":{\"list\":[1]},\"host\":\"x\"}",
          "port: 8080                              # a number\n"
          "deep:\n"
          "  list:\n"
          "    - 1                                 # a number\n"
          "host: x\n",
          source_of);
    check("[]", "[]\n", NULL);
    check("\"\"", "\"\"\n", NULL);
    check("-1.5e3", "-1.5e3\n", NULL);
}

TEST(what_could_be_taken_for_something_else_is_quoted, "")
{
    static const char *const strings[] = {
        "\"no\"",         "\"True\"",
        "\"null\"",       "\"12\"",
        "\"1e3\"",        "\"0x1f\"",
        "\"~\"",          "\"\"",
        "\" x\"",         "\"x \"",
        "\"a: b\"",       "\"a #b\"",
        "\"- a\"",        "\"*a\"",
        "\"&a\"",         "\"!a\"",
        "\"<<\"",         "\"{\"",
        "\"@a\"",         "\"`a\"",
        "\"%a\"",         "\"---\"",
        "\"...\"",        "\"a\\nb\\n\"",
        "\"\\t\"",        "\"\\u0000\"",
        "\"\\u007f\"",    "\"\\u0085\"",
        "\"\\u2028\"",    "\"\\ufeff\"",
        "\"\\\\\"",       "\"\\\"\"",
        "\"ü\"",          "\"\\ud83d\\ude00\"",
        "\"\\uffff\"",    "\"'\"",
        "\".inf\"",       "\"=\"",
        "\"2024-01-01\"", "\"12:30\"",
        "\"\\r\\n\"",     "\"日本\"",
    };
    for (size_t i = 0; i < OWL_COUNT(strings); i++) {
        char text[128];
        check(strings[i], NULL, NULL);
        snprintf(text, sizeof text, "{%s:[%s,{\"k\":%s}]}", strings[i], strings[i], strings[i]);
        check(text, NULL, source_of);
    }
}

TEST(numbers_that_json_has_not_are_those_of_yaml, "")
{
    struct owl_arena *a = owl_arena_new(0);
    struct owl_buf b;
    owl_buf_init(&b, 4096);
    owl_value_yaml(&b, read_with(owl_toml_read, a, OWL_STR("a = [inf, -inf, nan, +inf]")), NULL,
                   NULL);
    owl_buf_putc(&b, '\0');
    assert_string_equal(b.p, "a:\n  - .inf\n  - -.inf\n  - .nan\n  - .inf\n");
    owl_buf_done(&b);
    owl_arena_free(a);
}
