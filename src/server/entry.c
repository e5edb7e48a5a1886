/* server/entry.c - the way of every HTTP request to its route: Host, Origin, path, method,
 * authentication.
 *
 * Threads: the reactor of the connection. Most requests come in one piece, need no authentication
 * that takes time, and go through enter() once, without memory of their own. A request goes through
 * it again when its body has come, or when its client is known: nothing but who that is is kept, and
 * what has changed meanwhile (a route, the end of the server) counts.
 * Invariant: an entry hangs on its request from the beginning of authentication until its handler
 * is called, or until it is answered or gone. */
#include "base/alloc.h"
#include "base/err.h"
#include "mcp/headers.h"
#include "server/front.h"

enum { AUTH_MS = 10000, PRINCIPAL_BYTES = 1024 };

#define NO_MEMORY "out of memory; try again later"
#define STOPPING "the server is stopping; try again"

enum state {
    BEGINNING, /* within owl_auth_ops.begin */
    WAITING,
    KNOWN,
    REFUSED /* within owl_auth_ops.begin: answered */
};

/* A request whose client is being authenticated, or has been. */
struct entry {
    struct owl_hook hook;
    struct owl_auth_req auth;
    struct owl_list node;   /* WAITING: among those of the reactor */
    struct owl_timer timer; /* WAITING: the deadline */
    enum state state;
    bool complete; /* the body has come */
    owl_str principal;
    char *text; /* of principal */
};

/* A request on its way. */
struct visit {
    struct owl_route_req r;
    struct owl_heads heads;
    const struct owl_route *route;
    struct entry *entry; /* KNOWN, or NULL */
    bool complete;       /* the body has come */
};

static bool enter(struct owl_server *s, struct owl_http_req *req, bool complete);

/* ---- authentication ---- */

static void entry_free(struct entry *e)
{
    owl_free(e->text);
    owl_free(e);
}

/* It waits no more. */
static void stop_waiting(struct entry *e)
{
    owl_timer_stop(&e->timer);
    owl_list_del(&e->node);
}

static void cancel(struct entry *e)
{
    struct owl_server *s = e->auth.server;
    stop_waiting(e);
    s->auth->cancel(s->auth_self, &e->auth);
}

static void entry_gone(struct owl_hook *h)
{
    struct entry *e = OWL_CONTAINER(h, struct entry, hook);
    if (e->state == WAITING)
        cancel(e);
    entry_free(e);
}

static void give_up(struct entry *e, int error, const char *why)
{
    struct owl_server *s = e->auth.server;
    struct owl_http_req *req = e->auth.http;
    cancel(e);
    entry_free(e);
    owl_front__refuse(s, req, error, why);
}

static void on_deadline(struct owl_timer *t)
{
    give_up(OWL_CONTAINER(t, struct entry, timer), OWL_EBUSY,
            "it took too long to find out who you are; try again");
}

void owl_entries_end(struct owl_server *s, struct owl_reactor *r)
{
    struct owl_list *entries = &owl_server_local(s, r)->entries;
    while (!owl_list_empty(entries)) /* the end of one may be the end of others */
        give_up(OWL_CONTAINER(entries->next, struct entry, node), OWL_ECLOSED, STOPPING);
}

void owl_server_set_auth(struct owl_server *s, const struct owl_auth_ops *ops, void *self)
{
    OWL_ASSERT(atomic_load(&s->phase) == OWL_PHASE_NEW);
    s->auth = ops;
    s->auth_self = self;
}

static void refuse(struct entry *e, const struct owl_auth_answer *a)
{
    OWL_ASSERT(a->status >= 400 && a->status <= 599);
    owl_front__reply_error(e->auth.server, e->auth.http, a->status, a->headers,
                           a->why ? a->why : "you may not use this server");
}

/* Whether it is known who it is; otherwise that was answered. */
static bool learn(struct entry *e, const struct owl_auth_answer *a)
{
    static const struct owl_auth_answer too_long = {.status = 403, .why = "your name is too long"},
                                        no_memory = {.status = 503, .why = NO_MEMORY};
    owl_str who = a->principal;
    if (a->status == 0 && who.n > PRINCIPAL_BYTES)
        a = &too_long;
    else if (a->status == 0 && who.n && !(e->text = owl_strndup(who.p, who.n)))
        a = &no_memory;
    e->principal = (owl_str){e->text ? e->text : "", e->text ? who.n : 0};
    e->state = a->status ? REFUSED : KNOWN;
    if (a->status)
        refuse(e, a);
    return a->status == 0;
}

void owl_auth_done(struct owl_auth_req *auth, const struct owl_auth_answer *answer)
{
    struct entry *e = OWL_CONTAINER(auth, struct entry, auth);
    struct owl_http_req *req = e->auth.http;
    bool waited = e->state == WAITING, complete = e->complete;
    OWL_ASSERT(e->state <= WAITING);
    owl_reactor_assert(owl_http_reactor(req));
    if (waited)
        stop_waiting(e);
    bool known = learn(e, answer);
    if (!waited)
        return; /* authenticate() goes on */
    if (!known)
        entry_free(e);
    else if (enter(auth->server, req, complete) && !complete)
        owl_http_read_body(req);
}

static struct entry *entry_new(struct owl_server *s, struct owl_http_req *req, bool complete)
{
    struct entry *e = owl_calloc(1, sizeof *e);
    if (!e)
        return NULL;
    e->hook.gone = entry_gone;
    e->auth = (struct owl_auth_req){.server = s, .http = req};
    e->complete = complete;
    owl_timer_init(&e->timer, on_deadline);
    owl_http_set_user(req, &e->hook);
    return e;
}

/* Authentication takes its time: the request waits. */
static void suspend(struct entry *e)
{
    struct owl_server *s = e->auth.server;
    struct owl_reactor *r = owl_http_reactor(e->auth.http);
    e->state = WAITING;
    owl_list_add(&owl_server_local(s, r)->entries, &e->node);
    owl_timer_start(r, &e->timer, s->auth->timeout_ms ? s->auth->timeout_ms : AUTH_MS);
    if (e->complete && owl_http_keep(e->auth.http) != 0)
        give_up(e, OWL_ENOMEM, NO_MEMORY);
}

/* Whether it is known by now who the client is; otherwise the request was answered, or waits. */
static bool authenticate(struct visit *v)
{
    struct owl_server *s = v->r.server;
    if (!s->auth || !(v->route->flags & OWL_ROUTE_AUTH)) {
        v->r.principal = owl_http_peer(v->r.http);
        return true;
    }
    struct entry *e = v->entry;
    if (!e) {
        e = entry_new(s, v->r.http, v->complete);
        if (!e) {
            owl_front__refuse(s, v->r.http, OWL_ENOMEM, NO_MEMORY);
            return false;
        }
        s->auth->begin(s->auth_self, &e->auth);
    }
    if (e->state == KNOWN) {
        v->entry = e;
        v->r.principal = e->principal;
        return true;
    }
    if (e->state == REFUSED)
        entry_free(e);
    else
        suspend(e);
    return false;
}

/* ---- the other checks: each false if it has answered the request ---- */

static bool host_allowed(struct owl_server *s, struct owl_server_local *l, owl_str host)
{
    if (host.p && host.n > 0 && owl_str_eq(host, (owl_str){l->host, l->host_n}))
        return true;
    if (!host.p || !owl_mcp_host_allowed(host, owl_str_of(s->allow_hosts)))
        return false;
    l->host_n = host.n <= sizeof l->host ? host.n : 0;
    memcpy(l->host, host.p, l->host_n);
    return true;
}

/* What is wrong with the place that the request is for, or comes from; NULL: nothing. */
static const char *misplaced(const struct visit *v, struct owl_server_local *l, bool listed,
                             int *ret_error)
{
    struct owl_server *s = v->r.server;
    *ret_error = OWL_EDENIED;
    if (v->heads.place_twice.p) {
        *ret_error = OWL_EREQUEST;
        return "Host or Origin is there more than once, with different values";
    }
    if (v->route && (v->route->flags & OWL_ROUTE_ANY_HOST))
        return NULL;
    if (!host_allowed(s, l, v->heads.host))
        return "this Host is not served here (DNS rebinding protection)";
    if (!listed && !owl_mcp_origin_allowed(v->heads.origin, owl_str_of(s->allow_hosts)))
        return "requests from this Origin are not allowed";
    return NULL;
}

static bool check(struct visit *v, const struct owl_route_table *t)
{
    struct owl_server *s = v->r.server;
    struct owl_http_req *req = v->r.http;
    const struct owl_http_view *view = owl_http_view(req);
    struct owl_server_local *l = owl_server_local(s, owl_http_reactor(req));
    owl_str lines, allow;
    int error;
    v->route = owl_route__find(t, view->method, view->path, &allow);
    bool listed = owl_cors_lines(s->cors, v->heads.origin, &lines);
    owl_http_add_headers(req, lines);
    const char *why = misplaced(v, l, listed, &error);
    bool exempt = v->route && (v->route->flags & OWL_ROUTE_DRAIN);
    if (why)
        owl_front__refuse(s, req, error, why);
    else if (!allow.p)
        owl_front__refuse(s, req, OWL_ENOTFOUND, "not found: the MCP endpoint is /mcp");
    else if (l->draining && !exempt)
        owl_front__refuse(s, req, OWL_ECLOSED, STOPPING);
    else if (v->route)
        return true;
    else if (view->method != OWL_HTTP_OPTIONS)
        owl_front__reply_status(req, 405, allow);
    else if (!listed || !owl_cors_preflight(req))
        owl_front__reply_status(req, 204, allow);
    return false;
}

/* ---- the way ---- */

static bool pass(struct visit *v, const struct owl_route_table *t)
{
    if (!check(v, t) || !authenticate(v))
        return false;
    const struct owl_route *route = v->route;
    if (route->flags & OWL_ROUTE_PREFIX) {
        size_t n = strlen(route->path);
        owl_str path = owl_http_view(v->r.http)->path;
        v->r.rest = (owl_str){path.p + n, path.n - n};
    }
    return !route->head || route->head(route->data, &v->r);
}

/* Whether the request has passed all: a complete one has been handled then. */
static bool enter(struct owl_server *s, struct owl_http_req *req, bool complete)
{
    struct visit v = {.r = {.server = s, .http = req}, .complete = complete};
    struct owl_pin *pin = owl_cell_pin(s->route_cell, owl_http_reactor(req));
    struct owl_hook *hook = owl_http_user(req);
    bool passed = false;
    v.entry = hook ? OWL_CONTAINER(hook, struct entry, hook) : NULL;
    v.r.heads = &v.heads;
    if (pin) {
        owl_front__read_heads(owl_http_view(req), &v.heads);
        passed = pass(&v, pin->object);
    } else {
        owl_front__refuse(s, req, OWL_ENOMEM, NO_MEMORY);
    }
    if (passed && complete) {
        owl_http_set_user(req, NULL);
        v.route->handler(v.route->data, &v.r);
    }
    if (v.entry && (complete || !passed))
        entry_free(v.entry);
    if (pin)
        owl_pin_release(pin);
    return passed;
}

/* ---- as an HTTP server's ops ---- */

static bool on_headers(void *user, struct owl_http_req *req)
{
    return enter(user, req, false);
}

static void on_request(void *user, struct owl_http_req *req)
{
    OWL_IGNORE(enter(user, req, true)); /* it was answered, or will be */
}

static void on_gone(void *user, struct owl_http_req *req)
{
    (void)user;
    struct owl_hook *h = owl_http_user(req);
    if (h)
        h->gone(h);
}

static void on_waiting(void *user, struct owl_http_req *req)
{
    (void)user;
    struct owl_hook *h = owl_http_user(req);
    if (h && h->waiting)
        h->waiting(h);
}

const struct owl_http_ops owl_http_front_ops = {
    .headers = on_headers, .request = on_request, .gone = on_gone, .waiting = on_waiting};
