/* The names under which another server's items are shown. */
#include "unit/registry/fixture.h"

#include "base/alloc.h"
#include "registry/names.h"

static struct owl_wire_name wire(const char *server, const char *separator, const char *tool)
{
    struct owl_wire_name name;
    struct owl_name_parts p = {owl_str_of(server), owl_str_of(server), owl_str_of(separator),
                               owl_str_of(tool)};
    assert_int_equal(owl_name_wire(&p, &name, NULL), 0);
    return name;
}

static bool is_wire_name(const char *z)
{
    size_t n = strlen(z);
    return n >= 1 && n <= 64 &&
           strspn(z, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-") == n;
}

TEST(name_is_server_separator_and_tool, "")
{
    assert_string_equal(wire("github", "__", "search").z, "github__search");
    assert_string_equal(wire("a-b", "-", "C_9").z, "a-b-C_9");
    struct owl_name_parts p = {OWL_STR("github"), {0}, OWL_STR("__"), OWL_STR("search")};
    struct owl_wire_name name;
    assert_int_equal(owl_name_wire(&p, &name, NULL), 0);
    assert_string_equal(name.z, "search");
    p.prefix = OWL_STR("gh");
    assert_int_equal(owl_name_wire(&p, &name, NULL), 0);
    assert_string_equal(name.z, "gh__search");
}

TEST(characters_that_a_name_cannot_have_become_underscores, "")
{
    assert_string_equal(wire("a.b", "__", "files/read all").z, "a_b__files_read_all");
    assert_string_equal(wire("s", ":", "caf\xc3\xa9").z, "s_caf_"); /* one a character */
}

TEST(long_names_end_in_a_hash_that_never_changes, "")
{
    char tool[200];
    memset(tool, 'x', sizeof tool);
    tool[62] = '\0';
    assert_int_equal(strlen(wire("s", "_", tool).z), 64); /* just fits */
    assert_int_equal(wire("s", "_", tool).z[63], 'x');
    tool[62] = 'y';
    tool[63] = '\0';
    struct owl_wire_name a = wire("s", "_", tool);
    /* Of SHA-256: the same on every machine, for clients remember names. */
    assert_string_equal(a.z, "s_xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx_31995f48");
    tool[62] = 'z';
    assert_string_not_equal(wire("s", "_", tool).z, a.z);
    tool[62] = 'y';
    assert_string_not_equal(wire("t", "_", tool).z, a.z);
}

TEST(name_without_letters_is_its_hash, "")
{
    struct owl_wire_name a = wire("s", "__", "\xe6\x97\xa5\xe6\x9c\xac"), b = wire("s", "__", "++");
    assert_true(is_wire_name(a.z));
    assert_string_not_equal(a.z, b.z);
    assert_memory_equal(a.z, "s______", 6);
}

TEST(empty_name_is_refused, "")
{
    struct owl_name_parts p = {OWL_STR("s"), OWL_STR("s"), OWL_STR("__"), OWL_STR("")};
    struct owl_wire_name name;
    owl_error e = {0};
    assert_int_equal(owl_name_wire(&p, &name, &e), -OWL_EINVAL);
    assert_non_null(strstr(e.message, "empty"));
    assert_int_equal(owl_name_distinct(&p, &name, NULL), -OWL_EINVAL);
}

TEST(distinct_names_differ_for_different_servers_and_tools, "")
{
    /* All of these are "a__b__c" without a hash. */
    static const char *const rows[][2] = {
        {"a", "b__c"}, {"a__b", "c"}, {"a", "b_.c"}, {"a.", "_b__c"}};
    struct owl_wire_name names[OWL_COUNT(rows)];
    for (size_t i = 0; i < OWL_COUNT(rows); i++) {
        struct owl_name_parts p = {owl_str_of(rows[i][0]), owl_str_of(rows[i][0]),
                                   i == 3 ? OWL_STR("") : OWL_STR("__"), owl_str_of(rows[i][1])};
        assert_int_equal(owl_name_wire(&p, &names[i], NULL), 0);
        assert_string_equal(names[i].z, "a__b__c");
        assert_int_equal(owl_name_distinct(&p, &names[i], NULL), 0);
        assert_true(is_wire_name(names[i].z));
        assert_memory_equal(names[i].z, "a__b__c_", 8);
        for (size_t k = 0; k < i; k++)
            assert_string_not_equal(names[i].z, names[k].z);
    }
}

TEST(any_name_gives_a_wire_name, "")
{
    uint64_t state = 7;
    for (int round = 0; round < 5000; round++) {
        char server[100], tool[300];
        size_t n_server = draw(&state, sizeof server), n_tool = 1 + draw(&state, sizeof tool - 1);
        for (size_t i = 0; i < n_server; i++)
            server[i] = (char)draw(&state, 256);
        for (size_t i = 0; i < n_tool; i++)
            tool[i] = (char)draw(&state, 256);
        struct owl_name_parts p = {
            {server, n_server}, {server, n_server}, OWL_STR("__"), {tool, n_tool}};
        struct owl_wire_name one, two, distinct;
        assert_int_equal(owl_name_wire(&p, &one, NULL), 0);
        assert_int_equal(owl_name_wire(&p, &two, NULL), 0);
        assert_int_equal(owl_name_distinct(&p, &distinct, NULL), 0);
        assert_string_equal(one.z, two.z);
        assert_true(is_wire_name(one.z));
        assert_true(is_wire_name(distinct.z));
    }
}

TEST(registry_names_and_uris_begin_with_the_server, "")
{
    struct owl_arena *a = owl_arena_new(0);
    assert_str(owl_name_registry(a, OWL_STR("gh"), OWL_STR("a:b")), "gh:a:b");
    assert_str(owl_name_uri(a, OWL_STR("gh"), OWL_STR("file:///x")), "gh+file:///x");
    assert_str(owl_name_uri(a, OWL_STR("my_s.v"), OWL_STR("db://{x}")), "my-s.v+db://{x}");
    assert_str(owl_name_uri(a, OWL_STR("1p"), OWL_STR("x:y")), "s1p+x:y");
    assert_true(owl_uri_valid(owl_name_uri(a, OWL_STR("_"), OWL_STR("x:y"))));
    owl_arena_free(a);
    a = owl_arena_new(8); /* too small */
    assert_null(owl_name_registry(a, OWL_STR("server"), OWL_STR("tool")).p);
    assert_null(owl_name_uri(a, OWL_STR("server"), OWL_STR("tool:x")).p);
    owl_arena_free(a);
}
