/* A server from its options to its end: what is refused, how it starts and stops, whose loop it
 * uses, what it offers beyond the protocol, and that it is made or not made without memory. */
#include "base/alloc.h"
#include "library/fixture.h"

static atomic_int entered, freed;

static int hello(owl_call *c, void *data)
{
    (void)data;
    return owl_result_text(c, "hello");
}

static void count_freed(void *data)
{
    (void)data;
    atomic_fetch_add(&freed, 1);
}

/* ---- options ---- */

static void option_refused(owl_server_options o, const char *part)
{
    owl_server *s = NULL;
    owl_error e = {0};
    int rc = owl_server_new(&o, &s, &e);
    if (rc != -OWL_EINVAL)
        fail_msg("%d for a bad %s", rc, part);
    assert_null(s);
    assert_int_equal(e.code, OWL_EINVAL);
    if (!strstr(e.message, part))
        fail_msg("\"%s\" does not say %s", e.message, part);
}

TEST(an_option_that_makes_no_sense_is_named, "")
{
    owl_server *s = NULL;
    owl_error e = {0};
    assert_int_equal(owl_server_new(NULL, &s, &e), -OWL_EINVAL);
    assert_int_equal(owl_server_new(NULL, &s, NULL), -OWL_EINVAL);
    assert_null(s);
    const owl_server_options good = OWL_SERVER_OPTIONS("n", "1");
    owl_server_options o = good;
    o.size = 8;
    option_refused(o, "size");
    o = good, o.name = NULL;
    option_refused(o, "name");
    o = good, o.name = "";
    option_refused(o, "name");
    o = good, o.version = NULL;
    option_refused(o, "version");
    o = good, o.name = "\xff";
    option_refused(o, "name");
    o = good, o.version = "\xc0\x80";
    option_refused(o, "version");
    o = good, o.title = "\xff";
    option_refused(o, "title");
    o = good, o.instructions = "\xff";
    option_refused(o, "instructions");
    o = good, o.allow_hosts = "\xff";
    option_refused(o, "allow_hosts");
    static const char *const bad_hosts[] = {"https://mcp.example.com",
                                            "*.example.com",
                                            "a b",
                                            "a.example, ",
                                            "a.example,,b.example",
                                            ",",
                                            "::1",
                                            "a.example:",
                                            "a.example:http",
                                            "a.example.",
                                            "a.example/mcp"};
    for (size_t i = 0; i < OWL_COUNT(bad_hosts); i++) {
        o = good, o.allow_hosts = bad_hosts[i];
        option_refused(o, "options.allow_hosts: ");
        option_refused(o, "as in mcp.example.com");
    }
    o = good, o.trusted_proxies = "10.0.0.0/8, example.com";
    option_refused(o, "options.trusted_proxies: 'example.com'");
    o = good, o.revisions = "2025-11-25,1999-01-01";
    option_refused(o, "1999-01-01");
    o = good, o.reactors = 257;
    option_refused(o, "reactors");
    o = good, o.workers = 4097;
    option_refused(o, "workers");
    o = good, o.workers = 1025;
    option_refused(o, "workers");
    o = good, o.log_level = 9;
    option_refused(o, "log_level");
}

TEST(a_program_with_older_options_is_served, "")
{
    owl_server_options o = OWL_SERVER_OPTIONS("old", "1");
    o.size = offsetof(owl_server_options, title);
    o.title = "\xff"; /* not looked at */
    o.reactors = 9999;
    owl_server *s = NULL;
    assert_int_equal(owl_server_new(&o, &s, NULL), 0);
    owl_tool t = OWL_TOOL("t", NULL, NULL, hello);
    t.size = offsetof(owl_tool, title);
    t.title = (const char *)1;
    assert_int_equal(owl_server_add_tool(s, &t, NULL), 0);
    server_start(s);
    expect_str(call(s, "t"), "result/content/0/text", "hello");
    server_end(s);
    struct {
        owl_server_options o;
        char more[64];
    } newer = {.o = OWL_SERVER_OPTIONS("new", "1")};
    newer.o.size = sizeof newer;
    assert_int_equal(owl_server_new(&newer.o, &s, NULL), 0);
    owl_server_free(s);
    newer.more[63] = 1;
    assert_int_equal(owl_server_new(&newer.o, &s, NULL), -OWL_EINVAL);
}

/* ---- where to serve ---- */

static void start_refused(const char *address, const char *hosts, int rc, const char *part)
{
    owl_server *s = server_with((owl_server_options){.reactors = 2, .allow_hosts = hosts});
    owl_error e = {0};
    int got = owl_server_listen(s, address, &e);
    if (got == 0)
        got = owl_server_start(s, &e);
    if (got != rc || e.code != -rc || !strstr(e.message, part))
        fail_msg("%s: %d %s", address ? address : "NULL", got, e.message);
    assert_int_equal(owl_server_port(s), 0);
    owl_server_free(s);
}

TEST(an_address_that_cannot_be_served_is_refused, "")
{
    start_refused(NULL, NULL, -OWL_EINVAL, "address");
    start_refused("", NULL, -OWL_EINVAL, "address");
    start_refused("127.0.0.1:99999", NULL, -OWL_EINVAL, "99999");
    start_refused("127.0.0.1:http", NULL, -OWL_EINVAL, "http");
    start_refused("0.0.0.0:0", NULL, -OWL_EINVAL, "allow_hosts");
    start_refused("0.0.0.0:0", "", -OWL_EINVAL, "allow_hosts");
    start_refused("0.0.0.0:0", " ", -OWL_EINVAL, "allow_hosts");
    start_refused("unix:", NULL, -OWL_EINVAL, "path");
    start_refused("unix:/nowhere/at/all", NULL, -OWL_EIO, "unix:/nowhere/at/all");
    owl_server *s = server_new(1);
    server_start(s);
    assert_true(owl_server_port(s) > 0);
    char *taken = text_of("127.0.0.1:%d", owl_server_port(s));
    start_refused(taken, NULL, -OWL_EIO, taken);
    free(taken);
    owl_error e = {0};
    assert_int_equal(owl_server_serve_fds(s, 0, 1, &e), -OWL_ESTATE);
    server_end(s);

    s = server_new(1);
    assert_int_equal(owl_server_serve_fds(s, -1, 1, &e), -OWL_EINVAL);
    assert_int_equal(owl_server_start(s, &e), -OWL_ESTATE); /* nowhere */
    assert_non_null(strstr(e.message, "owl_server_listen"));
    assert_int_equal(owl_server_listen(s, "127.0.0.1:0", &e), 0); /* it can still be told */
    assert_int_equal(owl_server_listen(s, "[::1]:0", &e), 0);
    assert_int_equal(owl_server_start(s, &e), 0);
    server_end(s);

    static const char *const hosts[] = {"example.com", " a-b.example:80 , [fe80::1]:8080", "*"};
    for (size_t i = 0; i < OWL_COUNT(hosts); i++) {
        s = server_with((owl_server_options){.reactors = 1, .allow_hosts = hosts[i]});
        assert_int_equal(owl_server_listen(s, "0.0.0.0:0", &e), 0);
        assert_int_equal(owl_server_start(s, &e), 0);
        server_end(s);
    }
}

TEST(a_start_that_failed_leaves_a_server_that_can_be_freed, "")
{
    owl_server *s = server_new(2);
    owl_error e = {0};
    add_tool(s,
             (owl_tool){.name = "t", .handler = hello, .data = &freed, .free_data = count_freed});
    struct pipes p = pipes_open(s);
    assert_int_equal(owl_server_listen(s, "127.0.0.1:0", &e), 0);
    assert_int_equal(owl_server_listen(s, "0.0.0.0:0", &e), 0);
    assert_int_equal(owl_server_start(s, &e), -OWL_EINVAL);
    assert_int_equal(owl_server_run(s, &e), -OWL_ESTATE);
    assert_string_equal(e.message, "start: the start of this server failed: make a new one");
    assert_int_equal(owl_server_fd(s, &e), -OWL_ESTATE);
    assert_string_equal(e.message, "fd: the start of this server failed: make a new one");
    assert_int_equal(owl_server_listen(s, "127.0.0.1:0", &e), -OWL_ESTATE);
    assert_string_equal(e.message, "listen: the start of this server failed: make a new one");
    assert_int_equal(owl_server_serve_fds(s, 0, 1, &e), -OWL_ESTATE);
    assert_string_equal(e.message, "serve_fds: the start of this server failed: make a new one");
    assert_int_equal(owl_server_join(s), 0);
    owl_server_stop(s);
    add_tool(s, (owl_tool){.name = "u", .handler = hello});
    owl_server_free(s);
    assert_int_equal(atomic_load(&freed), 1);
    pipes_close(&p);
}

/* ---- starting and stopping ---- */

TEST(a_server_may_be_freed_in_every_state, "")
{
    owl_server_free(NULL);
    owl_server_stop(NULL); /* by a signal that comes early */
    owl_server *s = server_new(2);
    owl_server_free(s); /* never told where */
    s = server_new(2);
    assert_int_equal(owl_server_join(s), -OWL_ESTATE);
    assert_int_equal(owl_server_listen(s, "127.0.0.1:0", NULL), 0);
    owl_server_free(s); /* never started */
    s = server_new(2);
    server_start(s);
    owl_server_free(s); /* running */
    s = server_new(2);
    server_start(s);
    owl_server_stop(s);
    owl_server_free(s); /* stopping */
}

TEST(a_server_runs_once, "")
{
    owl_server *s = server_new(2);
    owl_error e = {0};
    server_start(s);
    assert_int_equal(owl_server_start(s, &e), -OWL_ESTATE);
    assert_non_null(strstr(e.message, "once"));
    assert_int_equal(owl_server_fd(s, &e), -OWL_ESTATE);
    assert_int_equal(owl_server_step(s), -OWL_ESTATE);
    assert_int_equal(owl_server_poll_ms(s), -1);
    owl_server_stop(s);
    owl_server_stop(s);
    assert_int_equal(owl_server_join(s), 0);
    assert_int_equal(owl_server_join(s), 0);
    owl_server_stop(s);
    assert_int_equal(owl_server_start(s, &e), -OWL_ESTATE);
    assert_int_equal(owl_server_add_tool(s, &(owl_tool)OWL_TOOL("t", NULL, NULL, hello), &e), 0);
    assert_int_equal(owl_server_remove_tool(s, "t"), 0);
    assert_int_equal(owl_server_resource_updated(s, "x:y"), 0);
    owl_server_free(s);
}

TEST(a_stop_before_the_start_counts, "")
{
    owl_server *s = server_new(2);
    assert_int_equal(owl_server_listen(s, "127.0.0.1:0", NULL), 0);
    owl_server_stop(s);
    int64_t start = now_ms();
    assert_int_equal(owl_server_run(s, NULL), 0);
    assert_true(now_ms() - start < 3000);
    owl_server_free(s);
}

/* Does with its server what only others may do, and stops it. */
static int meddle(owl_call *c, void *data)
{
    (void)data;
    owl_server *s = owl_call_server(c);
    if (owl_server_run(s, NULL) != -OWL_ESTATE || owl_server_start(s, NULL) != -OWL_ESTATE)
        abort();
    owl_server_stop(s);
    return owl_result_text(c, "stopping");
}

TEST(a_handler_may_stop_its_server, "")
{
    for (unsigned flags = 0; flags <= OWL_INLINE; flags++) {
        owl_server *s = server_new(2);
        add_tool(s, (owl_tool){.name = "t", .handler = meddle, .flags = flags});
        server_start(s);
        expect_str(call(s, "t"), "result/content/0/text", "stopping");
        assert_int_equal(owl_server_join(s), 0);
        owl_server_free(s);
    }
}

TEST(several_servers_live_in_one_program, "")
{
    enum { SERVERS = 5 };
    owl_server *s[SERVERS];
    for (int i = 0; i < SERVERS; i++) {
        s[i] = server_new(1 + (unsigned)i % 2);
        char name[8];
        snprintf(name, sizeof name, "t%d", i);
        add_tool(s[i], (owl_tool){.name = name, .handler = hello});
        server_start(s[i]);
    }
    for (int i = 0; i < SERVERS; i++) {
        expect_str(call(s[i], i == 3 ? "t3" : "t0"),
                   i == 0 || i == 3 ? "result/content/0/text" : "jsonrpc",
                   i == 0 || i == 3 ? "hello" : "2.0");
        expect_int(call(s[i], "other"), "error/code", -32602);
    }
    for (int i = 0; i < SERVERS; i++)
        server_end(s[i]);
}

/* ---- somebody else's loop ---- */

static void *call_main(void *arg)
{
    msg *m = call(arg, "t");
    bool good = strcmp(str_at(m, "result/content/0/text"), "hello") == 0;
    owl_json_doc_free(m);
    if (!good)
        abort();
    atomic_fetch_add(&entered, 1);
    return NULL;
}

static int poll_once(owl_server *s, int fd)
{
    struct pollfd p = {.fd = fd, .events = POLLIN};
    int ms = owl_server_poll_ms(s);
    poll(&p, 1, ms < 0 || ms > 50 ? 50 : ms);
    return owl_server_step(s);
}

TEST(a_server_lives_in_the_loop_of_the_program, "")
{
    for (unsigned flags = 0; flags <= OWL_INLINE; flags++) {
        atomic_store(&entered, 0);
        owl_server *s = server_new(4);
        owl_error e = {0};
        pthread_t t[3];
        add_tool(s, (owl_tool){.name = "t", .handler = hello, .flags = flags});
        assert_int_equal(owl_server_step(s), -OWL_ESTATE);
        assert_int_equal(owl_server_poll_ms(s), -1);
        assert_int_equal(owl_server_fd(s, &e), -OWL_ESTATE); /* nowhere to serve */
        assert_int_equal(owl_server_listen(s, "127.0.0.1:0", &e), 0);
        int fd = owl_server_fd(s, &e);
        if (fd < 0)
            fail_msg("owl_server_fd: %s", e.message);
        assert_int_equal(owl_server_fd(s, &e), fd);
        for (int i = 0; i < 3; i++)
            assert_int_equal(pthread_create(&t[i], NULL, call_main, s), 0);
        while (atomic_load(&entered) < 3)
            assert_int_equal(poll_once(s, fd), 1);
        for (int i = 0; i < 3; i++)
            pthread_join(t[i], NULL);
        owl_server_stop(s);
        int64_t start = now_ms();
        while (poll_once(s, fd) == 1)
            assert_true(now_ms() - start < 3000);
        assert_int_equal(owl_server_step(s), 0);
        assert_int_equal(owl_server_step(s), 0);
        assert_int_equal(owl_server_join(s), 0);
        owl_server_free(s);
    }
}

TEST(an_embedded_server_may_be_freed_without_a_stop, "")
{
    owl_server *s = server_new(1);
    assert_int_equal(owl_server_listen(s, "127.0.0.1:0", NULL), 0);
    assert_true(owl_server_fd(s, NULL) >= 0);
    owl_server_free(s);
    s = server_new(1);
    assert_int_equal(owl_server_listen(s, "127.0.0.1:0", NULL), 0);
    int fd = owl_server_fd(s, NULL);
    for (int i = 0; i < 3; i++)
        poll_once(s, fd);
    owl_server_free(s);
}

/* ---- beyond the protocol ---- */

static int own(owl_call *c, void *data)
{
    (void)data;
    const owl_json *params = owl_call_params(c);
    char text[100];
    if (owl_json_len(owl_call_args(c)) != 0 || strcmp(owl_call_name(c), "skills/list") != 0)
        return -OWL_ETOOL;
    if (owl_json_get_bool(params, "fail", false))
        return owl_call_fail(c, "as asked");
    snprintf(text, sizeof text, "{\"n\":%d,\"_meta\":{\"k\":1}}",
             (int)owl_json_get_int(params, "n", 0));
    return owl_result_raw(c, text, OWL_NTS);
}

TEST(a_server_has_methods_and_extensions_of_its_own, "mcp:B11")
{
    owl_server *s = server_with((owl_server_options){.reactors = 1, .list_ttl_ms = 77});
    owl_error e = {0};
    owl_method_def m = {.size = sizeof m,
                        .name = "skills/list",
                        .handler = own,
                        .flags = OWL_CACHEABLE,
                        .data = &freed,
                        .free_data = count_freed},
                   bad = m;
    assert_int_equal(owl_server_add_method(s, &m, &e), 0);
    assert_int_equal(owl_server_add_method(s, &m, &e), -OWL_EEXISTS);
    bad.name = "tools/list";
    assert_int_equal(owl_server_add_method(s, &bad, &e), -OWL_EEXISTS);
    bad.name = "";
    assert_int_equal(owl_server_add_method(s, &bad, &e), -OWL_EINVAL);
    bad.name = "x", bad.handler = NULL;
    assert_int_equal(owl_server_add_method(s, &bad, &e), -OWL_EINVAL);
    assert_int_equal(owl_server_add_method(s, NULL, &e), -OWL_EINVAL);
    bad = m, bad.flags = OWL_PARKED;
    assert_int_equal(owl_server_add_method(s, &bad, &e), -OWL_EINVAL);
    assert_non_null(strstr(e.message, "flags"));
    bad = m, bad.size = 8;
    assert_int_equal(owl_server_add_method(s, &bad, &e), -OWL_EINVAL);

    assert_int_equal(owl_server_add_extension(s, "com.example/x", " { \"a\" : 1 } ", &e), 0);
    assert_int_equal(owl_server_add_extension(s, "com.example/y", NULL, &e), 0);
    assert_int_equal(owl_server_add_extension(s, "com.example/x", "{}", &e), -OWL_EEXISTS);
    assert_int_equal(owl_server_add_extension(s, "io.modelcontextprotocol/tasks", "{}", &e),
                     -OWL_EEXISTS); /* the server's own */
    assert_int_equal(owl_server_add_extension(s, "noslash", "{}", &e), -OWL_EINVAL);
    assert_int_equal(owl_server_add_extension(s, "no prefix/x", "{}", &e), -OWL_EINVAL);
    assert_int_equal(owl_server_add_extension(s, NULL, "{}", &e), -OWL_EINVAL);
    assert_int_equal(owl_server_add_extension(s, "a/b", "[]", &e), -OWL_EINVAL);
    assert_int_equal(owl_server_add_extension(s, "a/b", "", &e), -OWL_EINVAL);
    assert_int_equal(owl_server_add_extension(s, "a/b", "{", &e), -OWL_EINVAL);
    assert_non_null(strstr(e.message, "a/b"));
    server_start(s);
    m.name = "late";
    assert_int_equal(owl_server_add_method(s, &m, &e), -OWL_ESTATE);
    assert_int_equal(owl_server_add_extension(s, "late/x", "{}", &e), -OWL_ESTATE);

    msg *r = modern(s, "skills/list", "", "\"n\":5");
    if (int_at(r, "result/ttlMs") != 77)
        fail_msg("%s", json_at(r, ""));
    assert_int_equal(int_at(r, "result/_meta/k"), 1);
    expect_int(r, "result/n", 5);
    expect_str(modern(s, "skills/list", "", "\"fail\":true"), "error/message", "as asked");
    r = modern(s, "server/discover", "", "");
    assert_int_equal(owl_json_len(at(r, "result/capabilities/extensions")), 2);
    expect_int(r, "result/capabilities/extensions/com.example~x/a", 1);

    struct http h = http_open(s);
    char *text = initialize_text("{}");
    legacy_send(&h, text);
    free(text);
    http_head(&h);
    r = http_next(&h);
    expect_int(r, "result/capabilities/extensions/com.example~x/a", 1);
    legacy_tell(&h, INITIALIZED);
    text = legacy_text("2", "skills/list", "\"n\":6");
    legacy_send(&h, text);
    free(text);
    http_head(&h);
    r = http_next(&h);
    assert_null(at(r, "result/ttlMs"));
    expect_int(r, "result/n", 6);
    http_close(&h);
    server_end(s);
    assert_int_equal(atomic_load(&freed), 1);
}

/* ---- memory ---- */

/* Everything that can be registered; the first error. */
static int furnish(owl_server *s, int *added, owl_error *e)
{
    owl_tool t = {.size = sizeof t,
                  .name = "t",
                  .handler = hello,
                  .data = &freed,
                  .free_data = count_freed,
                  .description = "d",
                  .input_schema = SCHEMA};
    owl_prompt p = {.size = sizeof p,
                    .name = "p",
                    .handler = hello,
                    .data = &freed,
                    .free_data = count_freed,
                    .arguments = "[{\"name\":\"a\"}]"};
    owl_resource r = {.size = sizeof r,
                      .uri = "x:{id}",
                      .name = "r",
                      .handler = hello,
                      .data = &freed,
                      .free_data = count_freed};
    int rc = owl_server_add_tool(s, &t, e);
    *added += rc == 0;
    if (rc == 0 && (rc = owl_server_add_prompt(s, &p, e)) == 0)
        ++*added;
    if (rc == 0 && (rc = owl_server_add_resource(s, &r, e)) == 0)
        ++*added;
    return rc;
}

static int furnish_new(owl_server *s, int *added, owl_error *e)
{
    owl_method_def m = {.size = sizeof m,
                        .name = "own/m",
                        .handler = hello,
                        .data = &freed,
                        .free_data = count_freed};
    int rc = furnish(s, added, e);
    if (rc == 0 && (rc = owl_server_add_method(s, &m, e)) == 0)
        ++*added;
    if (rc == 0)
        rc = owl_server_add_extension(s, "a/b", "{\"k\":[1,2,3]}", e);
    if (rc == 0)
        rc = owl_server_listen(s, "127.0.0.1:0", e);
    return rc;
}

TEST(a_server_that_is_made_without_memory_fails_cleanly, "")
{
    owl_server_options o = OWL_SERVER_OPTIONS("oom", "1");
    o.title = "t";
    o.instructions = "i";
    o.allow_hosts = "example.com";
    bool done = false;
    for (unsigned long n = 1; !done; n++) {
        owl_server *s = NULL;
        owl_error e = {0};
        int added = 0;
        atomic_store(&freed, 0);
        owl_alloc_fail_at(n);
        int rc = owl_server_new(&o, &s, &e);
        if (rc == 0)
            rc = furnish_new(s, &added, &e);
        owl_alloc_fail_at(0);
        if (rc != 0 && (rc != -OWL_ENOMEM || e.code != OWL_ENOMEM || !e.message[0]))
            fail_msg("allocation %lu: %d %s", n, rc, e.message);
        owl_server_free(s);
        if (atomic_load(&freed) != added)
            fail_msg("allocation %lu: %d of %d freed", n, atomic_load(&freed), added);
        done = rc == 0;
        assert_true(n < 2000);
    }
}

TEST(a_start_without_memory_fails_cleanly, "")
{
    bool done = false;
    for (unsigned long n = 1; !done; n++) {
        owl_server *s = server_with((owl_server_options){.reactors = 2, .workers = 1});
        owl_error e = {0};
        int added = 0;
        atomic_store(&freed, 0);
        assert_int_equal(furnish_new(s, &added, &e), 0);
        struct pipes p = pipes_open(s);
        owl_alloc_fail_at(n);
        int rc = owl_server_start(s, &e);
        owl_alloc_fail_at(0);
        if (rc != 0 && (e.code != -rc || !e.message[0]))
            fail_msg("allocation %lu: %d %s", n, rc, e.message);
        owl_server_free(s);
        assert_int_equal(atomic_load(&freed), added);
        pipes_close(&p);
        done = rc == 0;
        assert_true(n < 500);
    }
}

TEST(a_registration_without_memory_leaves_the_data_with_the_caller, "")
{
    bool done = false;
    for (unsigned long n = 1; !done; n++) {
        owl_server *s = server_with((owl_server_options){.reactors = 1, .workers = 1});
        owl_error e = {0};
        int added = 0;
        atomic_store(&freed, 0);
        server_start(s);
        owl_alloc_fail_at(n);
        int rc = furnish(s, &added, &e);
        owl_alloc_fail_at(0);
        if (rc != 0 && rc != -OWL_ENOMEM)
            fail_msg("allocation %lu: %d %s", n, rc, e.message);
        server_end(s);
        if (atomic_load(&freed) != added)
            fail_msg("allocation %lu: %d freed of %d that were added", n, atomic_load(&freed),
                     added);
        done = rc == 0;
        assert_true(n < 500);
    }
}
