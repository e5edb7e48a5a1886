/* call/api.c - what a handler asks of its call (owlclaw/handler.h), apart from results and
 * questions.
 *
 * Threads: as handler.h says. What the client asked is immutable; progress and cancellation are
 * under the call's lock. */
#include <math.h>
#include <stdarg.h>
#include <stdio.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/err.h"
#include "call/parts.h"
#include "call/task.h"
#include "codec/json.h"
#include "codec/scan.h"

const owl_json *owl_call_args(owl_call *c)
{
    return c->run->args;
}

const owl_json *owl_call_params(owl_call *c)
{
    return c->run->params;
}

const char *owl_call_name(const owl_call *c)
{
    return c->req.name.p;
}

const char *owl_call_revision(const owl_call *c)
{
    return owl_rev_name(c->req.rev);
}

const char *owl_call_principal(const owl_call *c)
{
    return c->req.principal.n ? c->req.principal.p : "";
}

const char *owl_call_complete_name(const owl_call *c)
{
    return c->req.complete_name.p;
}

const char *owl_call_complete_value(const owl_call *c)
{
    return c->req.complete_value.p;
}

static const char *context_var(owl_call *c, const char *name)
{
    owl_str literal = owl_span_get(c->req.complete_context, name), value;
    if (!owl_span_is_string(literal) || owl_json_decode(c->arena, literal, &value) != 0)
        return NULL;
    return value.p;
}

const char *owl_call_var(owl_call *c, const char *name)
{
    if (c->req.complete_name.p)
        return c->req.complete_context.p ? context_var(c, name) : NULL;
    if (!c->req.item || !c->req.item->uri_template)
        return NULL;
    owl_str var;
    for (size_t i = 0; (var = owl_uri_template_var(c->req.item->uri_template, i)).p; i++)
        if (owl_str_is(var, name))
            return owl_uri_decode(c->arena, c->req.vars[i]).p;
    return NULL;
}

bool owl_call_client_can(owl_call *c, const char *capability)
{
    return owl_mcp_caps_have(c->req.client_caps, c->req.rev, capability);
}

int owl_call_require(owl_call *c, const char *capability)
{
    if (owl_call_client_can(c, capability))
        return 0;
    if (!owl_call__over(c) && !c->failure.error) /* the first failure counts */
        owl_call__lacks(c, capability);
    return -OWL_ECAPABILITY;
}

void owl_call__lacks(struct owl_call *c, const char *capability)
{
    struct owl_buf data;
    owl_buf_init_arena(&data, c->arena, 4096);
    owl_buf_putz(&data, "{\"requiredCapabilities\":");
    owl_mcp_caps_required(&data, capability);
    owl_buf_putc(&data, '}');
    if (owl_mcp_caps_known(c->req.rev, capability))
        owl_call_set_failure(c, OWL_ECAPABILITY,
                             "%.*s needs a client that declares the capability \"%s\"",
                             (int)c->req.name.n, c->req.name.p, capability);
    else
        owl_call_set_failure(c, OWL_ECAPABILITY,
                             "%.*s needs the capability \"%s\", which the revision %s of this "
                             "session does not have; connect with a newer one",
                             (int)c->req.name.n, c->req.name.p, capability,
                             owl_rev_name(c->req.rev));
    if (data.rc == 0)
        owl_call_set_failure_data(c, owl_buf_str(&data));
}

/* ---- cancellation and time ---- */

bool owl_call_cancelled(const owl_call *c)
{
    return owl_call__state(c) == OWL_CALL_ENDED;
}

int64_t owl_call_remaining_ms(const owl_call *c)
{
    uint64_t now = owl_now_ms(), at = atomic_load(&c->deadline_ms);
    return at > now ? (int64_t)(at - now) : 0;
}

/* Once this returns, the function that was set does not run and will not. */
static void unset_on_cancel(owl_call *c)
{
    bool wait = owl_reactor_self() != c->reactor; /* where it runs; there it is over, or calls us */
    if (wait)
        pthread_mutex_lock(&c->cancelling);
    pthread_mutex_lock(&c->lock);
    c->on_cancel = NULL;
    pthread_mutex_unlock(&c->lock);
    if (wait)
        pthread_mutex_unlock(&c->cancelling);
}

int owl_call_on_cancel(owl_call *c, void (*fn)(owl_call *call, void *data), void *data)
{
    int rc = 0;
    if (!fn) {
        unset_on_cancel(c);
        return 0;
    }
    pthread_mutex_lock(&c->lock);
    bool now = c->cancelled;
    if (c->on_cancel) {
        rc = -OWL_EEXISTS;
    } else {
        c->on_cancel_data = data;
        c->on_cancel = fn;
    }
    pthread_mutex_unlock(&c->lock);
    if (now && rc == 0)
        fn(c, data);
    return rc;
}

/* ---- telling the client ---- */

static int tell(owl_call *c, owl_str message, double progress)
{
    int rc = owl_call_tell(c, message, progress);
    return rc == -OWL_ESTATE ? 0 : rc; /* a client that takes no messages does not want to know */
}

int owl_call_progress(owl_call *c, double progress, double total, const char *message)
{
    if (!isfinite(progress) || !isfinite(total))
        return -OWL_EINVAL;
    if (owl_call__over(c))
        return -OWL_EDONE;
    int rc = message ? owl_task_say(c, message) : 0;
    if (rc != 0)
        return rc;
    struct owl_buf b;
    owl_buf_init(&b, 64 * 1024);
    pthread_mutex_lock(&c->lock);
    bool wanted = c->req.meta.progress_token.p && progress > c->last_progress;
    if (wanted) {
        c->last_progress = progress;
        owl_rpc_begin_notification(&b, OWL_STR("notifications/progress"));
        owl_buf_putz(&b, "{\"progressToken\":");
        owl_buf_puts(&b, c->req.meta.progress_token);
    }
    pthread_mutex_unlock(&c->lock);
    if (!wanted)
        return 0;
    owl_buf_putz(&b, ",\"progress\":");
    owl_json_number(&b, progress);
    if (total > 0) {
        owl_buf_putz(&b, ",\"total\":");
        owl_json_number(&b, total);
    }
    if (message) {
        owl_buf_putz(&b, ",\"message\":");
        owl_json_quote(&b, owl_str_of(message));
    }
    owl_task_write_meta(&b, c->related);
    owl_buf_putc(&b, '}');
    owl_rpc_end(&b);
    rc = b.rc ? b.rc : tell(c, owl_buf_str(&b), progress);
    owl_buf_done(&b);
    return rc;
}

/* Whether a message of this level is to be sent: 1, 0 (nobody wants it) or an error. */
static int wants_log(owl_call *c, owl_level level)
{
    if ((int)level < OWL_LEVEL_DEBUG || (int)level > OWL_LEVEL_EMERGENCY)
        return -OWL_EINVAL;
    if ((int)level < atomic_load(&c->log_level))
        return 0;
    return owl_call__over(c) ? -OWL_EDONE : 1;
}

static int send_log(owl_call *c, owl_level level, const char *logger, owl_str data)
{
    struct owl_buf b;
    owl_buf_init(&b, 1024 * 1024);
    owl_rpc_begin_notification(&b, OWL_STR("notifications/message"));
    owl_buf_printf(&b, "{\"level\":\"%s\"", owl_level_name(level));
    if (logger) {
        owl_buf_putz(&b, ",\"logger\":");
        owl_json_quote(&b, owl_str_of(logger));
    }
    owl_buf_putz(&b, ",\"data\":");
    owl_buf_puts(&b, data);
    owl_task_write_meta(&b, c->related);
    owl_buf_putc(&b, '}');
    owl_rpc_end(&b);
    int rc = b.rc ? b.rc : tell(c, owl_buf_str(&b), (double)NAN);
    owl_buf_done(&b);
    return rc;
}

int owl_call_log_json(owl_call *c, owl_level level, const char *logger, const char *json,
                      size_t len)
{
    int rc = wants_log(c, level);
    if (rc != 1)
        return rc;
    owl_str text = owl_str_nts(json, len);
    rc = owl_json_scan(text, 64, NULL);
    if (rc != 0)
        return rc;
    struct owl_buf data;
    owl_buf_init(&data, 1024 * 1024);
    owl_json_compact(&data, text);
    rc = data.rc ? data.rc : send_log(c, level, logger, owl_buf_str(&data));
    owl_buf_done(&data);
    return rc;
}

int owl_call_logf(owl_call *c, owl_level level, const char *logger, const char *fmt, ...)
{
    int rc = wants_log(c, level);
    if (rc != 1)
        return rc;
    char text[2048];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    struct owl_buf data;
    owl_buf_init(&data, 16 * 1024);
    owl_json_quote(&data, owl_str_of(text));
    rc = data.rc ? data.rc : send_log(c, level, logger, owl_buf_str(&data));
    owl_buf_done(&data);
    return rc;
}

/* ---- letting the client go ---- */

struct release {
    struct owl_msg msg;
    struct owl_call *call;
};

static void release(struct owl_call *c)
{
    if (c->sink && c->sink->ops->release)
        c->sink->ops->release(c->sink, c);
}

static void on_release(struct owl_reactor *r, struct owl_msg *m)
{
    (void)r;
    struct release *rel = OWL_CONTAINER(m, struct release, msg);
    release(rel->call);
    owl_call_unref(rel->call);
    owl_free(rel);
}

int owl_call_close_stream(owl_call *c)
{
    if (owl_call_cancelled(c))
        return -OWL_EDONE;
    if (owl_reactor_self() == c->reactor) {
        release(c);
        return 0;
    }
    struct release *rel = owl_malloc(sizeof *rel);
    if (!rel)
        return -OWL_ENOMEM;
    *rel = (struct release){.msg.run = on_release, .call = owl_call_ref(c)};
    if (owl_post(c->reactor, &rel->msg))
        return 0;
    owl_call_unref(c);
    owl_free(rel);
    return -OWL_ECLOSED;
}

/* ---- failing ---- */

static int fail(owl_call *c, int rpc_code, const char *fmt, va_list ap) OWL_PRINTF(3, 0);
static int fail(owl_call *c, int rpc_code, const char *fmt, va_list ap)
{
    size_t n = 0;
    if (owl_call__over(c) || c->failure.error)
        return -OWL_ETOOL;
    char *text = owl_call_vprintf(c, fmt, ap, &n);
    owl_call_set_failure(c, OWL_ETOOL, "%s", owl_err_info(OWL_ETOOL)->text);
    if (text)
        c->failure.message = (owl_str){text, n};
    c->failure.rpc_code = rpc_code;
    return -OWL_ETOOL;
}

int owl_call_fail(owl_call *c, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    int rc = fail(c, 0, fmt, ap);
    va_end(ap);
    return rc;
}

int owl_call_error(owl_call *c, int rpc_code, const char *data_json, const char *fmt, ...)
{
    struct owl_buf data;
    bool first = !owl_call__over(c) && !c->failure.error;
    va_list ap;
    va_start(ap, fmt);
    int rc = fail(c, rpc_code, fmt, ap);
    va_end(ap);
    if (!first || !data_json || owl_json_scan(owl_str_of(data_json), 64, NULL) != 0)
        return rc;
    owl_buf_init_arena(&data, c->arena, 1024 * 1024);
    owl_json_compact(&data, owl_str_of(data_json));
    if (data.rc == 0)
        owl_call_set_failure_data(c, owl_buf_str(&data));
    return rc;
}
