/* library/servers.h - servers on loopback, and the messages that their clients read; part of fixture.h.
 *
 * Every message that arrives is parsed strictly (no duplicate keys) and checked to be JSON-RPC. A
 * client belongs to one thread; whatever takes longer than WAIT_MS fails the test. */
#ifndef OWL_TEST_SERVER_SERVERS_H
#define OWL_TEST_SERVER_SERVERS_H

#include <arpa/inet.h>
#include <errno.h>
#include <owlclaw/owlclaw.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "support/test.h"

enum { WAIT_MS = 20000 };

#define MODERN "2026-07-28"
#define LEGACY "2025-11-25"
#define ANY_ARGUMENTS "{\"type\":\"object\"}"
#define SCHEMA "{\"type\":\"object\",\"properties\":{\"name\":{\"type\":\"string\"}}}"

/* ---- time and flags ---- */

static inline int64_t now_ms(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

static inline void pause_ms(unsigned ms)
{
    usleep(ms * 1000);
}

/* Whether the counter reaches @p n in time. */
static inline bool reaches(atomic_int *counter, int n)
{
    for (int64_t end = now_ms() + WAIT_MS; now_ms() < end; usleep(200))
        if (atomic_load(counter) >= n)
            return true;
    return false;
}

/* ---- servers ---- */

static inline owl_server *server_with(owl_server_options o)
{
    owl_server *s = NULL;
    owl_error e = {0};
    o.size = sizeof o;
    o.name = o.name ? o.name : "test";
    o.version = o.version ? o.version : "1";
    o.workers = o.workers ? o.workers : 4;
    if (owl_server_new(&o, &s, &e) != 0)
        fail_msg("owl_server_new: %s", e.message);
    return s;
}

static inline owl_server *server_new(unsigned reactors)
{
    return server_with((owl_server_options){.reactors = reactors});
}

static inline void server_start(owl_server *s)
{
    owl_error e = {0};
    if (owl_server_listen(s, "127.0.0.1:0", &e) != 0 || owl_server_start(s, &e) != 0)
        fail_msg("start: %s", e.message);
}

static inline void server_end(owl_server *s)
{
    owl_server_stop(s);
    assert_int_equal(owl_server_join(s), 0);
    owl_server_free(s);
}

static inline void add_tool(owl_server *s, owl_tool t)
{
    owl_error e = {0};
    t.size = sizeof t;
    if (owl_server_add_tool(s, &t, &e) != 0)
        fail_msg("owl_server_add_tool: %s", e.message);
}

static inline void add_prompt(owl_server *s, owl_prompt p)
{
    owl_error e = {0};
    p.size = sizeof p;
    if (owl_server_add_prompt(s, &p, &e) != 0)
        fail_msg("owl_server_add_prompt: %s", e.message);
}

static inline void add_resource(owl_server *s, owl_resource r)
{
    owl_error e = {0};
    r.size = sizeof r;
    if (owl_server_add_resource(s, &r, &e) != 0)
        fail_msg("owl_server_add_resource: %s", e.message);
}

/* ---- text ---- */

/* printf into memory of its own, freed by the caller. */
static inline char *text_of(const char *fmt, ...) OWL_PRINTF(1, 2);
static inline char *text_of(const char *fmt, ...)
{
    char *text = NULL;
    va_list ap;
    va_start(ap, fmt);
    int n = vasprintf(&text, fmt, ap);
    va_end(ap);
    assert_true(n >= 0);
    return text;
}

/* ---- messages ---- */

typedef owl_json_doc msg; /* one message; NULL: the stream has ended */

static inline msg *msg_parse(const char *text, size_t n)
{
    msg *m = NULL;
    owl_error e = {0};
    if (owl_json_parse(text, n, &m, &e) != 0)
        fail_msg("%s in %.*s", e.message, (int)n, text);
    const owl_json *root = owl_json_doc_root(m);
    if (owl_json_kind_of(root) == OWL_JSON_OBJECT)
        assert_string_equal(owl_json_get_str(root, "jsonrpc", ""), "2.0");
    return m;
}

/* The value at a path such as "result/content/0/text"; "~" stands for a slash in a key. */
static inline const owl_json *at(const msg *m, const char *path)
{
    const owl_json *v = m ? owl_json_doc_root(m) : NULL;
    while (*path) {
        char key[200];
        size_t n = strcspn(path, "/");
        assert_true(n < sizeof key);
        for (size_t i = 0; i < n; i++)
            key[i] = path[i] == '~' ? '/' : path[i];
        key[n] = '\0';
        path += n + (path[n] == '/');
        v = owl_json_kind_of(v) == OWL_JSON_ARRAY ? owl_json_at(v, strtoul(key, NULL, 10))
                                                  : owl_json_get(v, key);
    }
    return v;
}

static inline const char *str_at(const msg *m, const char *path)
{
    return owl_json_str(at(m, path), "(none)");
}

static inline int64_t int_at(const msg *m, const char *path)
{
    return owl_json_int(at(m, path), -999999);
}

/* The value at a path as compact JSON. Static memory. */
static inline const char *json_at(const msg *m, const char *path)
{
    static _Thread_local char text[65536];
    const char *p;
    size_t n;
    owl_json_writer *w = owl_json_writer_new();
    owl_json_put_value(w, at(m, path));
    assert_int_equal(owl_json_writer_text(w, &p, &n), 0);
    assert_true(n < sizeof text);
    memcpy(text, p, n + 1);
    owl_json_writer_free(w);
    return text;
}

/* Frees the message after comparing what is at the path. */
static inline void expect_str(msg *m, const char *path, const char *want)
{
    if (strcmp(str_at(m, path), want) != 0)
        fail_msg("%s is \"%s\", not \"%s\", in %s", path, str_at(m, path), want, json_at(m, ""));
    owl_json_doc_free(m);
}

static inline void expect_int(msg *m, const char *path, int64_t want)
{
    if (int_at(m, path) != want)
        fail_msg("%s is not %lld in %s", path, (long long)want, json_at(m, ""));
    owl_json_doc_free(m);
}

/* A failed tool: a result that says so, with @p part in its text. */
static inline void expect_failed(msg *m, const char *part)
{
    if (!owl_json_bool(at(m, "result/isError"), false) ||
        !strstr(str_at(m, "result/content/0/text"), part))
        fail_msg("no failure with \"%s\": %s", part, json_at(m, ""));
    owl_json_doc_free(m);
}

/* What a client brings back with its answers; frees the message. */
static inline char *state_of(msg *m)
{
    if (strcmp(str_at(m, "result/resultType"), "input_required") != 0)
        fail_msg("no question: %s", json_at(m, ""));
    char *state = strdup(str_at(m, "result/requestState"));
    owl_json_doc_free(m);
    return state;
}

#endif
