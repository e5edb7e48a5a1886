/* Unit tests of config/variables.c and config/secret.c. */
#include "support/test.h"

#include "base/alloc.h"
#include "config/variables.h"

static const char *const environment[] = {"HOST=example.com",
                                          "EMPTY=",
                                          "TOKEN=s3cret",
                                          "BRACES=${HOST}",
                                          "WITHOUT",
                                          "=odd",
                                          "OWLCLAW_INPUT_API_KEY=k",
                                          "DB_URL=postgres://u:p@h/d",
                                          "HOST=second",
                                          "_under1=u",
                                          NULL};

struct fixture {
    struct owl_arena *a;
    struct owl_variables v;
    struct owl_expansion x;
};

static void open_fixture(struct fixture *f)
{
    f->a = owl_arena_new(0);
    assert_non_null(f->a);
    assert_int_equal(owl_variables__init(&f->v, environment, OWL_STR("/home/me"), OWL_STR("/work")),
                     0);
}

static void close_fixture(struct fixture *f)
{
    owl_variables__done(&f->v);
    owl_arena_free(f->a);
}

static void expand(struct fixture *f, const char *text)
{
    assert_int_equal(owl_variables__expand(&f->v, f->a, owl_str_of(text), &f->x), 0);
}

static void becomes(struct fixture *f, const char *text, const char *expected)
{
    expand(f, text);
    if (f->x.fault.p)
        print_error("'%s': %s\n", text, f->x.fault.p);
    assert_null(f->x.fault.p);
    assert_int_equal(f->x.text.n, strlen(expected));
    assert_memory_equal(f->x.text.p, expected, f->x.text.n);
}

static void fails(struct fixture *f, const char *text, const char *fault, const char *hint)
{
    expand(f, text);
    assert_non_null(f->x.fault.p);
    assert_string_equal(f->x.fault.p, fault);
    if (hint)
        assert_string_equal(f->x.hint.p, hint);
    else
        assert_null(f->x.hint.p);
}

TEST(variables_are_replaced, "OT-CFG.15 OT-CFG.20")
{
    struct fixture f;
    open_fixture(&f);
    becomes(&f, "", "");
    becomes(&f, "plain", "plain");
    becomes(&f, "${HOST}", "example.com");
    becomes(&f, "https://${HOST}/${env:HOST}!", "https://example.com/example.com!");
    becomes(&f, "${_under1}", "u");
    becomes(&f, "${userHome}/x", "/home/me/x");
    becomes(&f, "${workspaceFolder}", "/work");
    becomes(&f, "${EMPTY}", "");
    becomes(&f, "${BRACES}", "${HOST}"); /* is not looked into again */
    close_fixture(&f);
}

TEST(a_default_stands_in_for_what_is_unset_or_empty, "OT-CFG.21")
{
    struct fixture f;
    open_fixture(&f);
    becomes(&f, "${NOPE:-8080}", "8080");
    becomes(&f, "${EMPTY:-x}", "x");
    becomes(&f, "${HOST:-x}", "example.com");
    becomes(&f, "${env:NOPE:-x}", "x");
    becomes(&f, "${NOPE:-}", "");
    becomes(&f, "${NOPE:-a:-b}", "a:-b");
    becomes(&f, "a${NOPE:-<${HOST}>}b", "a<example.com>b");
    becomes(&f, "${NOPE:-${NADA:-${NIL:-deep}}}", "deep");
    becomes(&f, "${HOST:-${NOPE}}", "example.com"); /* what is not used need not be set */
    close_fixture(&f);
}

TEST(other_dollars_stand_for_themselves, "")
{
    struct fixture f;
    open_fixture(&f);
    becomes(&f, "$HOST $$ $ $1 pa$$word", "$HOST $$ $ $1 pa$$word");
    becomes(&f, "$${HOST}", "${HOST}");
    becomes(&f, "a}b{$}", "a}b{$}");
    becomes(&f, "$", "$");
    becomes(&f, "${NOPE:-$${x}}", "${x}");
    close_fixture(&f);
}

TEST(what_is_wrong_with_a_variable_is_told, "")
{
    struct fixture f;
    open_fixture(&f);
    fails(&f, "a ${NOPE} b", "the variable `NOPE` is not set",
          "set it, or give a default: `${NOPE:-...}`");
    fails(&f, "${env:NOPE}", "the variable `NOPE` is not set",
          "set it, or give a default: `${env:NOPE:-...}`");
    fails(&f, "${A ${B}", "`${A ${B}` names no variable",
          "to mean the text itself, write `$${A ${B}`");
    fails(&f, "${HOST", "`${` is not closed",
          "end the variable with `}`, or write `$${` to mean the text itself");
    fails(&f, "${NOPE:-x", "`${` is not closed", "end the default with `}`");
    fails(&f, "${}", "`${}` names no variable", "to mean the text itself, write `$${}`");
    fails(&f, "${1A}", "`${1A}` names no variable", "to mean the text itself, write `$${1A}`");
    fails(&f, "${config:x}", "`${config:x}` names no variable",
          "to mean the text itself, write `$${config:x}`");
    fails(&f, "${a:-${b:-${c:-${d:-${e:-${f:-${g:-${h:-${i:-x}}}}}}}}}",
          "more than 8 defaults stand within one another", NULL);
    f.v.home = (owl_str){NULL, 0};
    fails(&f, "${userHome}", "`${userHome}` is not known here", NULL);
    close_fixture(&f);
}

TEST(replaced_and_secret_variables_are_known_as_such, "")
{
    struct fixture f;
    open_fixture(&f);
    expand(&f, "${HOST}");
    assert_true(f.x.replaced && !f.x.secret);
    expand(&f, "${NOPE:-a${HOST}b}");
    assert_true(f.x.replaced);
    expand(&f, "${NOPE:-80}80");
    assert_true(f.x.replaced);
    expand(&f, "$${HOST}");
    assert_false(f.x.replaced);
    expand(&f, "HOST");
    assert_false(f.x.replaced);
    expand(&f, "Bearer ${TOKEN}");
    assert_true(f.x.secret && f.x.replaced);
    expand(&f, "${DB_URL}");
    assert_true(f.x.secret);
    close_fixture(&f);
}

TEST(inputs_come_from_the_environment_or_their_default, "")
{
    struct fixture f;
    open_fixture(&f);
    struct owl_reading r = {
        .text = OWL_STR(
            "[{\"id\":\"api-key\",\"password\":true},{\"id\":\"who\",\"default\":\"me\"},"
            "{\"id\":7},3,{\"id\":\"none\"}]"),
        .arena = f.a,
        .faults = &(struct owl_faults){.arena = f.a}};
    struct owl_value *list;
    assert_int_equal(owl_jsonc_read(&r, &list), 0);
    assert_int_equal(owl_variables__inputs(&f.v, list), 0);
    assert_int_equal(owl_variables__inputs(&f.v, NULL), 0);
    becomes(&f, "${input:api-key}", "k");
    assert_true(f.x.secret);
    becomes(&f, "${input:who}", "me");
    assert_false(f.x.secret);
    fails(&f, "${input:none}", "the input `none` has no value",
          "set the variable OWLCLAW_INPUT_NONE");
    fails(&f, "${input:un.known}", "the input `un.known` has no value",
          "set the variable OWLCLAW_INPUT_UN_KNOWN");
    close_fixture(&f);
}

TEST(what_variables_become_has_limits, "")
{
    static char wide[300 * 1024];
    memcpy(wide, "WIDE=", 5);
    memset(wide + 5, 'x', sizeof wide - 6);
    const char *const env[] = {wide, NULL};
    struct owl_arena *a = owl_arena_new(0);
    struct owl_variables v;
    struct owl_expansion x;
    assert_int_equal(owl_variables__init(&v, env, (owl_str){NULL, 0}, (owl_str){NULL, 0}), 0);
    owl_str four = OWL_STR("${WIDE}${WIDE}${WIDE}${WIDE}");
    assert_int_equal(owl_variables__expand(&v, a, four, &x), 0);
    assert_string_equal(x.fault.p, "the text is too long when its variables are replaced");
    unsigned fitting = 0;
    for (x.fault.p = NULL; !x.fault.p && fitting < 1000; fitting++)
        assert_int_equal(owl_variables__expand(&v, a, OWL_STR("${WIDE}"), &x), 0);
    assert_in_range(fitting, 200, 300);
    owl_variables__done(&v);
    owl_arena_free(a);
}

TEST(names_and_texts_that_speak_of_secrets, "")
{
    static const char *const secret[] = {"GITHUB_TOKEN",
                                         "api-key",
                                         "apiKey",
                                         "Authorization",
                                         "dbPassword",
                                         "PASSWD",
                                         "Cookie",
                                         "x-api-key",
                                         "client_secret",
                                         "GH_PAT",
                                         "AWS_SECRET_ACCESS_KEY",
                                         "PRIVATE_KEY",
                                         "auth",
                                         "DB_PASS",
                                         "PASS",
                                         "MYSQL_PWD",
                                         "JWT",
                                         "BEARER",
                                         "SENTRY_DSN",
                                         "CREDS",
                                         "OTP",
                                         "--auth-key",
                                         "--pat",
                                         "authKey",
                                         "key",
                                         "sig"};
    static const char *const open[] = {"HOST",      "token_file",  "max_tokens", "key_file",
                                       "path",      "secret_path", "author",     "",
                                       "token_url", "PWD",         "monkey",     "bypass",
                                       "keyboard",  "COMPASS",     "sigma"};
    for (size_t i = 0; i < OWL_COUNT(secret); i++)
        assert_true(owl_secret__name(owl_str_of(secret[i])));
    for (size_t i = 0; i < OWL_COUNT(open); i++)
        assert_false(owl_secret__name(owl_str_of(open[i])));
    assert_true(owl_secret__text(OWL_STR("https://me:pw@host/x")));
    assert_true(owl_secret__text(OWL_STR("--api-key=abc")));
    assert_true(owl_secret__text(OWL_STR("https://h/?token=abc")));
    assert_true(owl_secret__text(OWL_STR("bearer abc")));
    assert_true(owl_secret__text(OWL_STR("https://token@host/a:b")));
    assert_true(owl_secret__text(OWL_STR("https:/token@host/")));
    assert_true(owl_secret__text(OWL_STR("https//token@host/")));
    assert_true(owl_secret__text(OWL_STR("x https://h/ postgres://u:p@h")));
    assert_false(owl_secret__text(OWL_STR("https://host/@scope/a:b")));
    assert_false(owl_secret__text(OWL_STR("npx -y @scope/server@1.2.3")));
    assert_true(owl_secret__text(OWL_STR("https://h/mcp/k3Jd82hsA01mZq9x/sse")));
    assert_true(owl_secret__text(OWL_STR("--tken sk-abcdefghijklmnop")));
    assert_false(owl_secret__text(OWL_STR("gpt-4o-mini-2024-07-18")));
    assert_false(owl_secret__text(OWL_STR("/usr/lib/x86_64-linux-gnu/getElementById2")));
    assert_false(owl_secret__text(OWL_STR("--port=3")));
    assert_true(owl_secret__text(OWL_STR("--key=abc")));
    assert_true(owl_secret__text(OWL_STR("--jwt=abc")));
    assert_true(owl_secret__text(OWL_STR("https://h/?a=b&key=abc")));
    assert_true(owl_secret__text(OWL_STR("https://h/?sig=abc")));
    assert_true(owl_secret__text(OWL_STR("npx mcp-remote --token abc")));
    assert_true(owl_secret__text(OWL_STR("curl -u me:pw http://h")));
    assert_false(owl_secret__text(OWL_STR("docker run -u 1000:1000 x")));
    assert_false(owl_secret__text(OWL_STR("the key: a word; one pass: more")));
    assert_false(owl_secret__text(OWL_STR("npx mcp-remote --token")));
    assert_true(owl_secret__option(OWL_STR("--bearer"), OWL_STR("x")));
    assert_true(owl_secret__option(OWL_STR("-u"), OWL_STR("me:x")));
    assert_false(owl_secret__option(OWL_STR("-u"), OWL_STR("me")));
    assert_false(owl_secret__option(OWL_STR("--port"), OWL_STR("80")));
    assert_false(owl_secret__text(OWL_STR("=")));
    assert_false(owl_secret__text(OWL_STR("Bearer ")));
}

TEST(without_memory_nothing_is_expanded, "")
{
    for (unsigned long n = 1; n < 40; n++) {
        owl_alloc_fail_at(0);
        struct owl_arena *a = owl_arena_new(0);
        struct owl_variables v;
        struct owl_expansion x = {0};
        owl_alloc_fail_at(n);
        int rc = owl_variables__init(&v, environment, OWL_STR("/"), OWL_STR("/"));
        if (rc == 0)
            rc = owl_variables__expand(&v, a, OWL_STR("${HOST} and ${BRACES}"), &x);
        owl_alloc_fail_at(0);
        assert_true(rc == -OWL_ENOMEM || (rc == 0 && x.text.n == 23));
        owl_variables__done(&v);
        owl_arena_free(a);
    }
}
