/* Property: the same tree, written as YAML, TOML and JSON, loads equal. Each test draws its own
 * trees, so that none takes long. */
#include "unit/config/box.h"

enum { CASES = 256, SERVERS = 4 };

static uint64_t state;

static uint32_t draw(uint32_t below)
{
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return (uint32_t)(state >> 32) % below;
}

/* One generated tree: a value for some keys, and servers with all that they can have. */
static const struct {
    const char *section, *key;
    const char *values[5]; /* as JSON, which is YAML and, but for null, TOML as well */
} keys[] = {
    {"http", "port", {"1", "8080", "65535", "\"${PORT}\""}},
    {"http", "host", {"\"127.0.0.1\"", "\"::1\"", "\"localhost\""}},
    {"skills", "dirs", {"[]", "[\"a\"]", "[\"a\", \"b,c\", \"\"]"}},
    {"tools", "default_timeout_seconds", {"3", "0.5", "\"1h30m\"", "\"${LONG}\"", "1e2"}},
    {"limits", "body_bytes", {"1024", "\"64KiB\"", "\"1.5MB\""}},
    {"limits", "idle_ms", {"100", "\"5s\""}},
    {"governance", "enabled", {"true", "false", "\"${YES}\""}},
    {"governance", "currency", {"\"USD\"", "\"CNY\""}},
    {"logging", "level", {"\"DEBUG\"", "\"ERROR\""}},
    {"resources",
     "skills_dir",
     {"\"./x y\"", "\"/\\u00fc/\\\"q\\\"\"", "\"$${no}\"", "\"#: - [\""}},
    {"tracing", "sample_ratio", {"0", "0.25", "1"}},
};

static const char *const texts[] = {"\"x\"",    "\"no\"",   "\"012\"",
                                    "\"a b\"",  "\"\\n\"",  "\"\\t#\"",
                                    "\"null\"", "\"1.0\"",  "\"\\u00e4\\ud83d\\ude00\"",
                                    "\"'\"",    "\"\\\\\"", "\"-\""};

struct tree {
    uint8_t chosen[OWL_COUNT(keys)]; /* 0: left out, otherwise a value */
    unsigned servers;
    struct {
        bool remote;
        unsigned args[3], n_args, env, enabled;
    } server[SERVERS];
};

static void generate(struct tree *t)
{
    memset(t, 0, sizeof *t);
    for (size_t i = 0; i < OWL_COUNT(keys); i++) {
        uint32_t n = 0;
        while (n < 5 && keys[i].values[n])
            n++;
        t->chosen[i] = (uint8_t)draw(n + 1);
    }
    t->servers = draw(SERVERS + 1);
    for (unsigned i = 0; i < t->servers; i++) {
        t->server[i].remote = draw(2);
        t->server[i].n_args = draw(4);
        for (unsigned a = 0; a < t->server[i].n_args; a++)
            t->server[i].args[a] = draw(OWL_COUNT(texts));
        t->server[i].env = draw(OWL_COUNT(texts) + 1);
        t->server[i].enabled = draw(3);
    }
}

enum form { YAML, TOML, JSON };

/* The members of one server, each with its own sign and end. */
static void put_server(struct owl_buf *b, const struct tree *t, unsigned i, const char *sign,
                       const char *quote, const char *end)
{
    owl_buf_printf(b, "%s%s%s%s%s", quote, t->server[i].remote ? "url" : "command", quote, sign,
                   t->server[i].remote ? "\"https://h/mcp\"" : "\"npx\"");
    owl_buf_printf(b, "%s%sargs%s%s[", end, quote, quote, sign);
    for (unsigned a = 0; a < t->server[i].n_args; a++)
        owl_buf_printf(b, "%s%s", a ? ", " : "", texts[t->server[i].args[a]]);
    owl_buf_putc(b, ']');
    if (t->server[i].env < OWL_COUNT(texts))
        owl_buf_printf(b, "%s%senv%s%s{ %sA%s%s%s }", end, quote, quote, sign, quote, quote, sign,
                       texts[t->server[i].env]);
    if (t->server[i].enabled)
        owl_buf_printf(b, "%s%senabled%s%s%s", end, quote, quote, sign,
                       t->server[i].enabled == 1 ? "true" : "false");
}

static bool opens(const struct tree *t, size_t i)
{
    for (size_t up = i; up-- > 0 && strcmp(keys[up].section, keys[i].section) == 0;)
        if (t->chosen[up])
            return false;
    return true;
}

static void put_yaml(struct owl_buf *b, const struct tree *t)
{
    owl_buf_putz(b, "mcp_server:\n  name: \"n\"\n");
    for (size_t i = 0; i < OWL_COUNT(keys); i++) {
        if (!t->chosen[i])
            continue;
        if (opens(t, i))
            owl_buf_printf(b, "  %s: # section\n", keys[i].section);
        owl_buf_printf(b, "    %s: %s\n", keys[i].key, keys[i].values[t->chosen[i] - 1]);
    }
    if (t->servers)
        owl_buf_putz(b, "  servers:\n");
    for (unsigned i = 0; i < t->servers; i++) {
        owl_buf_printf(b, "    s%u:\n      ", i);
        put_server(b, t, i, ": ", "", "\n      ");
        owl_buf_putc(b, '\n');
    }
}

static void put_toml(struct owl_buf *b, const struct tree *t)
{
    owl_buf_putz(b, "[mcp_server]\nname = \"n\"\n");
    for (size_t i = 0; i < OWL_COUNT(keys); i++) {
        if (!t->chosen[i])
            continue;
        if (opens(t, i))
            owl_buf_printf(b, "[mcp_server.%s]\n", keys[i].section);
        const char *value = keys[i].values[t->chosen[i] - 1];
        owl_buf_printf(b, "%s = %s\n", keys[i].key, value);
    }
    for (unsigned i = 0; i < t->servers; i++) {
        owl_buf_printf(b, "[mcp_server.servers.s%u]\n", i);
        put_server(b, t, i, " = ", "", "\n");
        owl_buf_putc(b, '\n');
    }
}

static void put_json(struct owl_buf *b, const struct tree *t)
{
    bool open = false;
    owl_buf_putz(b, "{\"mcp_server\": {\"name\": \"n\"");
    for (size_t i = 0; i < OWL_COUNT(keys); i++) {
        if (!t->chosen[i])
            continue;
        if (opens(t, i)) {
            owl_buf_printf(b, "%s, \"%s\": {", open ? "}" : "", keys[i].section);
            open = true;
        } else {
            owl_buf_putz(b, ", ");
        }
        owl_buf_printf(b, "\"%s\": %s", keys[i].key, keys[i].values[t->chosen[i] - 1]);
    }
    owl_buf_putz(b, open ? "}" : "");
    for (unsigned i = 0; i < t->servers; i++) {
        owl_buf_printf(b, "%s\"s%u\": {", i ? ", " : ", \"servers\": {", i);
        put_server(b, t, i, ": ", "\"", ", ");
        owl_buf_putc(b, '}');
    }
    owl_buf_putz(b, t->servers ? "}}}" : "}}");
}

/* Appends the whole effective tree. JSON's escapes of surrogates are TOML's only in another form. */
static void load(struct box *b, const struct tree *t, enum form form, struct owl_buf *ret)
{
    static const char *const names[] = {"a.yaml", "a.toml", "a.json"};
    struct owl_buf text;
    owl_buf_init(&text, 1 << 16);
    if (form == YAML)
        put_yaml(&text, t);
    else if (form == TOML)
        put_toml(&text, t);
    else
        put_json(&text, t);
    if (form != JSON) {
        owl_buf_putc(&text, '\0');
        for (char *p = text.p; (p = strstr(p, "\\ud83d\\ude00"));)
            memcpy(p, "\\U0001f600  ", 12), memmove(p + 10, p + 12, strlen(p + 12) + 1);
        text.n = strlen(text.p);
    }
    box_bytes(b, names[form], owl_buf_str(&text));
    LOAD(b, FILES(names[form]), ENV("PORT=77", "LONG=90s", "YES=yes"));
    if (owl_config_faults(b->c)->errors)
        print_error("%.*s\n", (int)text.n, text.p);
    assert_errors(b, 0);
    owl_value_json(ret, owl_config_tree(b->c), NULL);
    assert_int_equal(ret->rc, 0);
    owl_buf_done(&text);
}

/* Decoding and writing again makes numbers and texts alike; 1e2 and 100.0 stay as they are written
 * in all three. */
static void check(uint64_t seed)
{
    struct box b;
    struct tree t;
    struct owl_buf forms[3];
    state = seed;
    box_open(&b);
    for (int i = 0; i < 3; i++)
        owl_buf_init(&forms[i], 1 << 18);
    for (unsigned i = 0; i < CASES; i++) {
        generate(&t);
        for (int form = YAML; form <= JSON; form++) {
            owl_buf_reset(&forms[form]);
            load(&b, &t, (enum form)form, &forms[form]);
        }
        for (int form = TOML; form <= JSON; form++) {
            if (forms[form].n != forms[YAML].n ||
                memcmp(forms[form].p, forms[YAML].p, forms[form].n) != 0) {
                print_error("case %u:\n%.*s\n%.*s\n", i, (int)forms[YAML].n, forms[YAML].p,
                            (int)forms[form].n, forms[form].p);
                fail();
            }
        }
    }
    for (int i = 0; i < 3; i++)
        owl_buf_done(&forms[i]);
    box_close(&b);
}

TEST(the_three_forms_of_a_tree_load_equal, "OR-10.1 OT-CFG.4")
{
    check(20260728);
}

TEST(the_three_forms_load_equal_from_another_seed, "OR-10.1 OT-CFG.4")
{
    check(20251125);
}

TEST(the_three_forms_load_equal_from_a_third_seed, "OR-10.1 OT-CFG.4")
{
    check(20250618);
}

TEST(the_three_forms_load_equal_from_a_fourth_seed, "OR-10.1 OT-CFG.4")
{
    check(20241105);
}
