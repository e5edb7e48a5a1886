/* What the server says of itself. */
#include "base/alloc.h"
#include "call/task.h"
#include "server/server.h"
#include "support/test.h"

static void keep(struct owl_provider *p)
{
    (void)p;
}

static struct owl_snapshot *declaring(unsigned caps, const char *const *ids, size_t n)
{
    static struct owl_provider p = {.name = "p", .free = keep}; /* outlives the snapshot */
    atomic_init(&p._refs, 1);
    struct owl_registry *r = owl_registry_new(0);
    struct owl_update *u = owl_update_new(r, &p);
    assert_non_null(u);
    for (size_t i = 0; i < n; i++)
        assert_int_equal(
            owl_update_add_extension(u, owl_str_of(ids[i]), OWL_STR("{\"of\":\"provider\"}"), NULL),
            0);
    assert_int_equal(owl_update_commit(u, 1, NULL), 0);
    owl_update_free(u);
    owl_registry_declare(r, caps);
    struct owl_snapshot *s = owl_registry_snapshot(r);
    owl_registry_free(r);
    return s;
}

static void assert_caps(struct owl_server *server, struct owl_snapshot *s, enum owl_rev rev,
                        const char *expected)
{
    struct owl_buf b;
    owl_buf_init(&b, SIZE_MAX);
    owl_server_caps(server, s, rev, &b);
    owl_buf_putc(&b, '\0');
    assert_int_equal(b.rc, 0);
    assert_string_equal(b.p, expected);
    owl_buf_done(&b);
}

TEST(extensions_of_providers_stand_behind_those_of_the_server, "")
{
    static const char *const ids[] = {"a.b/own", "a.b/theirs", OWL_TASKS_EXTENSION};
    char id[] = "a.b/own", settings[] = "{}";
    struct owl_extension own = {.id = id, .settings = settings};
    struct owl_server *server = owl_calloc(1, sizeof *server);
    assert_non_null(server);
    server->extensions = &own;
    struct owl_snapshot *s = declaring(OWL_CAP_RESOURCES | OWL_CAP_TASKS, ids, 3);
    assert_caps(server, s, OWL_REV_2026_07_28,
                "{\"logging\":{},\"resources\":{\"subscribe\":true,\"listChanged\":true},"
                "\"extensions\":{\"io.modelcontextprotocol/tasks\":{},\"a.b/own\":{},"
                "\"a.b/theirs\":{\"of\":\"provider\"}}}");
    owl_snapshot_aunref(s);

    server->extensions = NULL;
    s = declaring(OWL_CAP_NONE, ids + 1, 1);
    assert_caps(server, s, OWL_REV_2025_06_18,
                "{\"logging\":{},\"extensions\":{\"a.b/theirs\":{\"of\":\"provider\"}}}");
    owl_snapshot_aunref(s);
    s = declaring(OWL_CAP_NONE, NULL, 0);
    assert_caps(server, s, OWL_REV_2025_06_18, "{\"logging\":{}}");
    owl_snapshot_aunref(s);
    owl_free(server);
}
