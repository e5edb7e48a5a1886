/* Unit tests of codec/uri.c. */
#include "support/test.h"

#include "base/alloc.h"
#include "base/buf.h"
#include "codec/uri.h"

TEST(uris_have_a_scheme_and_clean_bytes, "")
{
    static const char *const good[] = {"a:",         "skill://a/b", "file:///tmp/x%20y",
                                       "urn:isbn:1", "h2+x-y.z:q",  "x:\xc3\xa9",
                                       "data:,#?"};
    static const char *const bad[] = {"",       "a",    ":a",    "1a:b",   "/a:b",   "a b:c",
                                      "a:b c",  "a:\n", "a:%",   "a:%2",   "a:%2g",  "a:%g2",
                                      "a:\x7f", "-a:b", "a_b:c", "a:\x01", "a:b%20%"};
    for (size_t i = 0; i < OWL_COUNT(good); i++)
        assert_true(owl_uri_valid(owl_str_of(good[i])));
    for (size_t i = 0; i < OWL_COUNT(bad); i++)
        assert_false(owl_uri_valid(owl_str_of(bad[i])));
    assert_false(owl_uri_valid((owl_str){NULL, 0}));
}

TEST(decoding_is_strict, "")
{
    struct owl_arena *a = owl_arena_new(0);
    assert_true(owl_str_is(owl_uri_decode(a, OWL_STR("a%2Fb%c3%A9+")), "a/b\xc3\xa9+"));
    assert_true(owl_str_is(owl_uri_decode(a, OWL_STR("")), ""));
    assert_non_null(owl_uri_decode(a, OWL_STR("")).p);
    static const char *const bad[] = {"%", "%1", "a%", "%zz", "%00", "a%00b"};
    for (size_t i = 0; i < OWL_COUNT(bad); i++)
        assert_null(owl_uri_decode(a, owl_str_of(bad[i])).p);
    assert_null(owl_uri_decode(a, (owl_str){"a\0b", 3}).p);
    owl_alloc_fail_at(1);
    char *big = calloc(1, 5000);
    assert_non_null(big);
    assert_null(owl_uri_decode(a, (owl_str){big, 5000}).p);
    owl_alloc_fail_at(0);
    free(big);
    owl_arena_free(a);
}

struct match_case {
    const char *template, *uri;
    const char *want; /* "name=value;" for each variable, or NULL: no match */
};

TEST(templates_match_greedily_within_their_limits, "")
{
    static const struct match_case cases[] = {
        {"a:b", "a:b", ""},
        {"a:b", "a:bc", NULL},
        {"a:b", "a:", NULL},
        {"", "", ""},
        {"a:{x}", "a:1", "x=1;"},
        {"a:{x}", "a:", NULL},
        {"a:{x}", "b:1", NULL},
        {"a:{x}", "a:1/2", NULL},
        {"a:{+x}", "a:1/2", "x=1/2;"},
        {"a:{+x}", "a:", NULL},
        {"a:{x}/z", "a:1/z", "x=1;"},
        {"a:{x}/z", "a:1/zz", NULL},
        {"a:{x}/z", "a:/z", NULL},
        {"a:{x}z", "a:zzz", "x=zz;"},
        {"a:{x}z", "a:z", NULL},
        {"a:{x}/{y}", "a:1/2", "x=1;y=2;"},
        {"a:{x}/{y}", "a:1/2/3", NULL},
        {"a:{x}-{y}", "a:1-2-3", "x=1-2;y=3;"},
        {"a:{x}{y}", "a:123", "x=12;y=3;"},
        {"a:{x}{y}", "a:1", NULL},
        {"file:///{+dir}/{name}", "file:///a/b/c", "dir=a/b;name=c;"},
        {"file:///{+dir}/{name}", "file:///a", NULL},
        {"{+a}/x{b}", "1/xa/2/xb", "a=1/xa/2;b=b;"},
        {"{+a}/x{b}", "1/xa/2/b", NULL},
        {"{+a}q{b}/r{c}", "qq1/q2/r3", "a=qq1/;b=2;c=3;"},
        {"{+a}{b}", "x/y", "a=x/;b=y;"},
        {"{a.b}:{c_1}", "x:y", "a.b=x;c_1=y;"},
        {"a:{x}", "a:%2F", "x=%2F;"},
        {"a:{x}", "a:%c3%A9", "x=%c3%A9;"},
        {"a:{x}", "a:%zz", NULL},
        {"a:{x}", "a:1%", NULL},
        {"a:{x}", "a:%00", NULL},
        {"a:{x}", "a:%ff", NULL},
        {"a:{x}", "a:%c3", NULL},
        {"a:{+x}", "a:1/%ff/2", NULL},
        {"a:{x}/{y}", "a:1/%zz", NULL},
        {"a:{x}/{y}", "a:%zz/1", NULL},
        /* nothing is cut within an escape or a character */
        {"a:{x}{y}", "a:b%41", "x=b;y=%41;"},
        {"a:{x}{y}", "a:b%41c", "x=b%41;y=c;"},
        {"a:{x}{y}", "a:b%C3%A9", "x=b;y=%C3%A9;"},
        {"a:{x}{y}", "a:b\xc3\xa9", "x=b;y=\xc3\xa9;"},
        {"a:{x}{y}", "a:%C3\xa9", NULL},
        {"a:{x}{y}", "a:%C3%A9", NULL},
        {"a:{+x}{y}", "a:b/\xc3\xa9", "x=b/;y=\xc3\xa9;"},
        {"a:{x}2{y}", "a:12%20q", "x=1;y=%20q;"},
    };
    for (size_t i = 0; i < OWL_COUNT(cases); i++) {
        const struct match_case *c = &cases[i];
        struct owl_arena *a = owl_arena_new(0);
        struct owl_uri_template *t = NULL;
        assert_int_equal(owl_uri_template_new(a, owl_str_of(c->template), &t, NULL), 0);
        owl_str values[OWL_URI_VARS];
        bool matched = owl_uri_template_match(t, owl_str_of(c->uri), values);
        if (matched != (c->want != NULL))
            fail_msg("%s on %s", c->template, c->uri);
        struct owl_buf b;
        owl_buf_init_arena(&b, a, SIZE_MAX);
        for (size_t k = 0; matched && owl_uri_template_var(t, k).p; k++) {
            owl_str name = owl_uri_template_var(t, k);
            owl_buf_printf(&b, "%.*s=%.*s;", (int)name.n, name.p, (int)values[k].n, values[k].p);
        }
        if (matched && !owl_str_is(owl_buf_str(&b), c->want))
            fail_msg("%s on %s: %.*s", c->template, c->uri, (int)b.n, b.p);
        owl_arena_free(a);
    }
}

TEST(bad_templates_say_why, "")
{
    static const char *const bad[] = {
        "a:{",    "a:{x",
        "a:}",    "a:{x}}",
        "{}",     "{+}",
        "{x",     "{#x}",
        "{?x}",   "{/x}",
        "{.x}",   "{;x}",
        "{&x}",   "{x,y}",
        "{x*}",   "{x:3}",
        "{x y}",  "a b",
        "a:%zz",  "a:\n{x}",
        "{x}{x}", "{x.}",
        "{.}",    "{x..y}",
        "{{x}}",  "{a}{b}{c}{d}{e}{f}{g}{h}{i}{j}{k}{l}{m}{n}{o}{p}{q}",
    };
    struct owl_arena *a = owl_arena_new(0);
    for (size_t i = 0; i < OWL_COUNT(bad); i++) {
        struct owl_uri_template *t = NULL;
        owl_error e = {0};
        if (owl_uri_template_new(a, owl_str_of(bad[i]), &t, &e) != -OWL_EINVAL)
            fail_msg("accepted: %s", bad[i]);
        assert_null(t);
        assert_int_equal(strncmp(e.message, "URI template: ", 14), 0);
    }
    struct owl_uri_template *t = NULL;
    assert_int_equal(owl_uri_template_new(
                         a, OWL_STR("{a}{b}{c}{d}{e}{f}{g}{h}{i}{j}{k}{l}{m}{n}{o}{p}"), &t, NULL),
                     0);
    owl_str values[OWL_URI_VARS];
    assert_true(owl_uri_template_match(t, OWL_STR("0123456789abcdefg"), values));
    assert_true(owl_str_is(values[0], "01"));
    assert_true(owl_str_is(values[15], "g"));
    assert_null(owl_uri_template_var(t, 16).p);
    owl_arena_free(a);
}

TEST(hostile_uris_cost_no_more_than_their_length, "")
{
    struct owl_arena *a = owl_arena_new(0);
    struct owl_uri_template *t = NULL;
    assert_int_equal(owl_uri_template_new(a, OWL_STR("{+a}x{+b}x{+c}x{+d}x{+e}xy"), &t, NULL), 0);
    static char uri[8193];
    memset(uri, 'x', sizeof uri);
    owl_str values[OWL_URI_VARS];
    /* With backtracking this would take longer than anybody waits. */
    for (int i = 0; i < 20; i++)
        assert_false(owl_uri_template_match(t, (owl_str){uri, 8192}, values));
    uri[8191] = 'y';
    assert_true(owl_uri_template_match(t, (owl_str){uri, 8192}, values));
    uri[8191] = 'x';
    uri[8192] = 'y';
    assert_false(owl_uri_template_match(t, (owl_str){uri, 8193}, values));
    owl_arena_free(a);
}

TEST(templates_need_memory, "")
{
    struct owl_uri_template *t = NULL;
    owl_error e;
    struct owl_arena *a = owl_arena_new(16);
    assert_int_equal(owl_uri_template_new(a, OWL_STR("{x}"), &t, &e), -OWL_ELIMIT);
    owl_arena_free(a);
    a = owl_arena_new(0);
    while (owl_arena_used(a) < 3500)
        assert_non_null(owl_arena_alloc(a, 100));
    owl_alloc_fail_at(1);
    assert_int_equal(owl_uri_template_new(a, OWL_STR("{x}"), &t, &e), -OWL_ENOMEM);
    owl_alloc_fail_at(0);
    assert_int_equal(e.code, OWL_ENOMEM);
    assert_null(t);
    owl_arena_free(a);
}
