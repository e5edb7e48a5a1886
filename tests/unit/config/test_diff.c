/* Unit tests of config/diff.c. */
#include "unit/config/box.h"

#include "config/diff.h"

struct pair {
    struct box b;
    struct owl_config *before, *after;
    struct owl_arena *a;
    const struct owl_change *list;
    size_t n;
};

static void compare(struct pair *p, const char *before, const char *after)
{
    box_open(&p->b);
    box_try(&p->b, "a.yaml", before);
    p->before = p->b.c;
    p->b.c = NULL;
    box_try(&p->b, "b.yaml", after);
    p->after = p->b.c;
    p->b.c = NULL;
    p->a = owl_arena_new(0);
    assert_int_equal(owl_config_diff(p->before, p->after, p->a, &p->list, &p->n), 0);
}

static void done(struct pair *p)
{
    owl_arena_free(p->a);
    owl_config_free(p->before);
    owl_config_free(p->after);
    box_close(&p->b);
}

static void is(const struct pair *p, size_t i, enum owl_change_area area, const char *name,
               const char *pointer)
{
    assert_true(i < p->n);
    const struct owl_change *c = &p->list[i];
    assert_string_equal(c->pointer.p, pointer);
    assert_int_equal(c->area, area);
    if (name)
        assert_memory_equal(c->name.p, name, strlen(name));
    assert_int_equal(c->name.n, name ? strlen(name) : 0);
}

TEST(where_a_value_stands_is_no_difference, "")
{
    struct pair p;
    compare(&p, "mcp_server: {http: {port: 8080, host: '::1'}, tools: {cache_ttl_seconds: 5m}}\n",
            "mcp_server:\n  tools:\n    cache_ttl_seconds: 3e2\n  http:\n    host: ::1\n");
    assert_int_equal(p.n, 0);
    done(&p);
}

TEST(each_change_is_told_in_its_area, "")
{
    struct pair p;
    compare(
        &p,
        "mcp_server:\n  servers: {a: {command: x}, gone: {command: y}}\n  logging: {level: INFO}\n"
        "  governance: {quotas: {bob: {max_calls_per_day: 1}}}\n  title: t\n"
        "  handlers: {commands: {now: {description: d, command: date}}}\n",
        "mcp_server:\n  transport: http\n  http: {port: 1, allowed_hosts: [a]}\n"
        "  servers: {a: {command: z}, new/er: {command: n}}\n  logging: {level: ERROR}\n"
        "  governance: {enabled: false, quotas: {bob: {max_calls_per_day: 2}}}\n"
        "  handlers: {commands: {now: {description: d, command: uptime}}}\n");
    assert_int_equal(p.n, 11);
    is(&p, 0, OWL_CHANGE_LISTENER, NULL, "/transport");
    is(&p, 1, OWL_CHANGE_LISTENER, NULL, "/http/port");
    is(&p, 2, OWL_CHANGE_LISTENER, NULL, "/http/allowed_hosts");
    is(&p, 3, OWL_CHANGE_SERVER, "a", "/servers/a/command");
    is(&p, 4, OWL_CHANGE_SERVER, "new/er", "/servers/new~1er");
    assert_null(p.list[4].before);
    is(&p, 5, OWL_CHANGE_OTHER, "logging", "/logging/level");
    is(&p, 6, OWL_CHANGE_POLICY, "enabled", "/governance/enabled");
    is(&p, 7, OWL_CHANGE_POLICY, "bob", "/governance/quotas/bob/max_calls_per_day");
    is(&p, 8, OWL_CHANGE_TOOL, "now", "/handlers/commands/now/command");
    is(&p, 9, OWL_CHANGE_SERVER, "gone", "/servers/gone");
    assert_null(p.list[9].after);
    is(&p, 10, OWL_CHANGE_OTHER, "title", "/title");
    done(&p);
}

TEST(many_servers_are_compared, "")
{
    struct pair p;
    char before[4000], after[4000];
    size_t n = (size_t)sprintf(before, "mcp_server:\n  servers:\n"), m = n;
    memcpy(after, before, n + 1);
    for (int i = 0; i < 60; i++) {
        n += (size_t)sprintf(before + n, "    s%d: {command: x}\n", i);
        if (i != 7)
            m += (size_t)sprintf(after + m, "    s%d: {command: %s}\n", 59 - i == 7 ? 99 : 59 - i,
                                 i == 9 ? "y" : "x");
    }
    compare(&p, before, after);
    assert_int_equal(p.n, 4);
    is(&p, 0, OWL_CHANGE_SERVER, "s50", "/servers/s50/command");
    is(&p, 1, OWL_CHANGE_SERVER, "s99", "/servers/s99");
    is(&p, 2, OWL_CHANGE_SERVER, "s7", "/servers/s7");
    is(&p, 3, OWL_CHANGE_SERVER, "s52", "/servers/s52");
    done(&p);
}

TEST(without_memory_there_is_no_difference, "")
{
    struct pair p;
    compare(&p, "mcp_server: {http: {port: 1, allowed_hosts: [a]}, title: x}\n",
            "mcp_server: {http: {port: 2, allowed_hosts: [b]}}\n");
    assert_int_equal(p.n, 3);
    int rc = -OWL_ENOMEM;
    for (unsigned long n = 1; rc && n < 1000; n++) {
        struct owl_arena *a = owl_arena_new(0);
        owl_alloc_fail_at(n);
        rc = owl_config_diff(p.before, p.after, a, &p.list, &p.n);
        owl_alloc_fail_at(0);
        assert_true(rc == 0 || rc == -OWL_ENOMEM);
        owl_arena_free(a);
    }
    assert_int_equal(rc, 0);
    done(&p);
}
