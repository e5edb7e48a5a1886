/* config/summary.c - a configuration in a few lines.
 * Threads: pure.
 *
 * Nothing is promised of a section whose feature is not in this build. */
#include "config/summary.h"

#include "base/visible.h"
#include "config/internal.h"

static void line(struct owl_buf *b, const char *name)
{
    owl_buf_printf(b, "  %-12s", name);
}

static bool is_on(const struct owl_config *c, const char *key)
{
    const struct owl_value *v = owl_config_get(c, key);
    return v && v->kind == OWL_NODE_TRUE;
}

/* The text of a string or a number; "?" where a broken configuration has none. */
static owl_str text(const struct owl_config *c, const char *key)
{
    const struct owl_value *v = owl_config_get(c, key);
    if (v && owl_config_secret(c, v))
        return OWL_STR("********");
    return v && v->text.p ? v->text : OWL_STR("?");
}

static uint32_t count(const struct owl_config *c, const char *key)
{
    const struct owl_value *v = owl_config_get(c, key);
    return v ? v->count : 0;
}

/* Whether this build does what a key says. */
static bool is_built(const struct owl_config *c, const char *key)
{
    owl_str rest = owl_str_of(key), name;
    uint32_t at = c->root;
    while (owl_config_step(&rest, &name)) {
        at = owl_keys__member(&c->keys, at, name);
        if (owl_keys__of(&c->keys, at)->to_come)
            return false;
    }
    return true;
}

/* A Unix socket, or a host and a port, which do not count then. */
static void put_address(struct owl_buf *b, const struct owl_config *c)
{
    const struct owl_value *socket = owl_config_get(c, "http.socket");
    owl_str host = text(c, "http.host");
    bool v6 = host.n > 0 && memchr(host.p, ':', host.n) != NULL;
    if (socket && socket->kind == OWL_NODE_STRING) {
        owl_buf_putz(b, "Unix socket ");
        owl_put_visible(b, text(c, "http.socket"));
        return;
    }
    owl_buf_putz(b, v6 ? "[" : "");
    owl_put_visible(b, host);
    owl_buf_putz(b, v6 ? "]:" : ":");
    owl_put_visible(b, text(c, "http.port"));
}

static void put_http(struct owl_buf *b, const struct owl_config *c)
{
    line(b, "http");
    put_address(b, c);
    owl_buf_putz(b, is_on(c, "http.tls.enabled") ? ", TLS" : ", no TLS");
    if (is_on(c, "http.tls.enabled") && is_on(c, "http.tls.verify_client"))
        owl_buf_putz(b, " with client certificates");
    uint32_t origins = is_on(c, "http.cors.enabled") ? count(c, "http.cors.allowed_origins") : 0;
    if (origins > 0)
        owl_buf_printf(b, ", CORS for %u origin%s", origins, origins == 1 ? "" : "s");
    owl_buf_putc(b, '\n');
}

enum { NAMES = 6 }; /* of servers, before it is "…" */

static void put_servers(struct owl_buf *b, const struct owl_config *c)
{
    const struct owl_value *servers = owl_config_get(c, "servers");
    uint32_t off = 0, shown = 0;
    if (!servers || servers->count == 0)
        return;
    for (const struct owl_value *s = servers->first; s; s = s->next) {
        const struct owl_value *enabled = owl_value_get(s, OWL_STR("enabled"));
        off += enabled && enabled->kind == OWL_NODE_FALSE;
    }
    line(b, "servers");
    owl_buf_printf(b, "%u", servers->count);
    if (off > 0)
        owl_buf_printf(b, ", %u of them off", off);
    for (const struct owl_value *s = servers->first; s && shown <= NAMES; s = s->next, shown++) {
        owl_buf_putz(b, shown == 0 ? ": " : ", ");
        owl_put_visible(b, shown < NAMES ? s->key : OWL_STR("…"));
    }
    owl_buf_putc(b, '\n');
}

static void put_governance(struct owl_buf *b, const struct owl_config *c)
{
    bool there = owl_config_get(c, "governance") != NULL;
    if (there && !is_built(c, "governance"))
        return;
    line(b, "governance");
    if (!there || !is_on(c, "governance.enabled")) {
        owl_buf_putz(b,
                     there ? "off: nothing is limited\n" : "not configured: nothing is limited\n");
        return;
    }
    owl_put_visible(b, text(c, "governance.default_quota.max_calls_per_minute"));
    owl_buf_putz(b, " calls a minute, ");
    owl_put_visible(b, text(c, "governance.default_quota.max_calls_per_day"));
    owl_buf_putz(b, " a day, ");
    owl_put_visible(b, text(c, "governance.default_quota.monthly_budget"));
    owl_buf_putc(b, ' ');
    owl_put_visible(b, text(c, "governance.currency"));
    owl_buf_putz(b, " a month for each client\n");
}

static void put_logging(struct owl_buf *b, const struct owl_config *c)
{
    line(b, "logging");
    owl_put_visible(b, text(c, "logging.level"));
    owl_buf_putz(b, " as ");
    owl_put_visible(b, text(c, "logging.format"));
    owl_buf_putz(b, " to ");
    owl_put_visible(b, text(c, "logging.output"));
    owl_buf_putc(b, '\n');
}

static void put_checked(struct owl_buf *b, const struct owl_config *c)
{
    for (size_t i = 0; i < c->n_checked; i++) {
        owl_buf_putz(b, i ? ", " : "  checked only: ");
        owl_put_visible(b, c->checked[i]);
    }
    if (c->n_checked > 0)
        owl_buf_putz(b, " (not in this build yet, without effect)\n");
}

void owl_config_summary(struct owl_buf *b, const struct owl_config *c)
{
    owl_str transport = text(c, "transport");
    line(b, "transport");
    owl_put_visible(b, transport);
    owl_buf_putc(b, '\n');
    if (owl_str_is(transport, "http"))
        put_http(b, c);
    if (is_built(c, "servers"))
        put_servers(b, c);
    line(b, "tools");
    owl_put_visible(b, text(c, "tools.default_timeout_seconds"));
    owl_buf_putz(b, " s for a call at most\n");
    if (is_built(c, "resources.skills_dir")) {
        line(b, "skills");
        owl_put_visible(b, text(c, "resources.skills_dir"));
        owl_buf_putc(b, '\n');
    }
    put_governance(b, c);
    if (is_built(c, "logging"))
        put_logging(b, c);
    put_checked(b, c);
}
