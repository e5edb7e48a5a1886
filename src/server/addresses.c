/* server/addresses.c - where a server listens: before its start, and while it runs.
 *
 * Threads: any; the list is under the server's lock. A listener that has closed is freed by the next
 * one that changes the list. */
#include "base/alloc.h"
#include "base/err.h"
#include "base/sized.h"
#include "server/server.h"

/* ---- one of them ---- */

/* Takes @p tls (or NULL). NULL without memory. */
static struct owl_address *address_new(struct owl_server *s, const char *text, struct owl_tls *tls)
{
    size_t n = strlen(text) + 1;
    struct owl_address *a = owl_calloc(1, sizeof *a + n);
    if (!a)
        return NULL;
    memcpy(a->text, text, n);
    a->server = s;
    a->port.tls = tls;
    return a;
}

static void address_free(struct owl_address *a)
{
    owl_listener_free(a->listener);
    owl_tls_free(a->port.tls);
    owl_free(a);
}

static void on_closed(void *port)
{
    struct owl_address *a = OWL_CONTAINER(port, struct owl_address, port);
    struct owl_server *s = a->server;
    atomic_store(&a->closed, true);
    owl_server__ended_one(s);
}

static int address_bind(struct owl_address *a, owl_error *reterr)
{
    struct owl_server *s = a->server;
    a->port.http = s->http;
    struct owl_listen_options o = {.address = owl_str_of(a->text),
                                   .max = (unsigned)s->limits.connections,
                                   .peers = s->peers,
                                   .accept = owl_http_accept,
                                   .user = &a->port,
                                   .closed = on_closed};
    int rc = owl_listener_bind(s->env.runtime, &o, &a->listener, reterr);
    if (rc != 0)
        return rc;
    if (!owl_listener_loopback(a->listener) && !s->allow_hosts)
        return owl_fail(reterr, OWL_EINVAL,
                        "%s is not a loopback address: if others are meant to reach it, name the "
                        "hosts to serve in allow_hosts",
                        a->text);
    return 0;
}

/* ---- all of them ---- */

static void append(struct owl_server *s, struct owl_address *a)
{
    struct owl_address **end = &s->addresses;
    while (*end)
        end = &(*end)->next;
    *end = a;
}

int owl_addresses__bind(struct owl_server *s, owl_error *reterr)
{
    int rc = 0;
    for (struct owl_address *a = s->addresses; a && rc == 0; a = a->next)
        rc = address_bind(a, reterr);
    return rc;
}

void owl_addresses__start(struct owl_server *s)
{
    for (struct owl_address *a = s->addresses; a; a = a->next) {
        atomic_fetch_add(&s->pending, 1u);
        owl_listener_start(a->listener);
    }
}

void owl_addresses__stop(struct owl_server *s, struct owl_reactor *r)
{
    for (struct owl_address *a = s->addresses; a; a = a->next)
        owl_listener_stop(a->listener, r);
}

void owl_addresses__reap(struct owl_server *s, bool all)
{
    for (struct owl_address **at = &s->addresses; *at;) {
        struct owl_address *a = *at;
        if (!all && !atomic_load(&a->closed)) {
            at = &a->next;
            continue;
        }
        *at = a->next;
        address_free(a);
    }
}

/* ---- listening ---- */

/* It joins the list, if the server is still in the same phase. */
static bool enter(struct owl_server *s, struct owl_address *a, int phase)
{
    pthread_mutex_lock(&s->lock);
    bool good = atomic_load(&s->phase) == phase;
    if (good) {
        owl_addresses__reap(s, false);
        append(s, a);
    }
    if (good && phase == OWL_PHASE_RUNNING) {
        atomic_fetch_add(&s->pending, 1u);
        owl_listener_start(a->listener);
    }
    pthread_mutex_unlock(&s->lock);
    return good;
}

/* Takes @p tls (or NULL) on success only. */
static int add(struct owl_server *s, const char *text, struct owl_tls *tls, owl_error *reterr)
{
    if (!text || !*text)
        return owl_fail(reterr, OWL_EINVAL, "listen: an address such as 127.0.0.1:8080 is needed");
    struct owl_address *a = address_new(s, text, tls);
    if (!a)
        return owl_fail(reterr, OWL_ENOMEM, NULL);
    int phase = atomic_load(&s->phase);
    int rc = phase == OWL_PHASE_RUNNING ? address_bind(a, reterr) : 0;
    if (rc == 0 && ((phase != OWL_PHASE_NEW && phase != OWL_PHASE_RUNNING) || !enter(s, a, phase)))
        rc = owl_server__too_late(s, "listen", reterr);
    if (rc != 0) {
        a->port.tls = NULL;
        address_free(a);
    }
    return rc;
}

int owl_server_listen(owl_server *s, const char *address, owl_error *reterr)
{
    return add(s, address, NULL, reterr);
}

int owl_server_listen_tls(owl_server *s, const char *address, const owl_tls_options *in,
                          owl_error *reterr)
{
    owl_tls_options o;
    struct owl_tls *tls = NULL;
    int rc = OWL_SIZED_READ(&o, owl_tls_options, key_file, in, reterr);
    if (rc != 0)
        return rc;
    struct owl_tls_files files = {o.cert_file, o.key_file, o.client_ca_file};
    rc = owl_tls_new(&files, &tls, reterr);
    if (rc == 0)
        rc = add(s, address, tls, reterr);
    if (rc != 0)
        owl_tls_free(tls);
    return rc;
}

static struct owl_address *find(struct owl_server *s, const char *text)
{
    struct owl_address *a = s->addresses;
    while (a && (a->closing || strcmp(a->text, text) != 0))
        a = a->next;
    return a;
}

int owl_server_unlisten(owl_server *s, const char *address, owl_error *reterr)
{
    int rc = 0;
    pthread_mutex_lock(&s->lock);
    int phase = atomic_load(&s->phase);
    struct owl_address *a = address ? find(s, address) : NULL;
    if (phase != OWL_PHASE_NEW && phase != OWL_PHASE_RUNNING) {
        rc = owl_server__too_late(s, "unlisten", reterr);
    } else if (!a) {
        rc = owl_fail(reterr, OWL_ENOTFOUND, "unlisten: the server does not listen on %s",
                      address ? address : "no address");
    } else if (phase == OWL_PHASE_RUNNING) {
        a->closing = true;
        owl_listener_close(a->listener);
    } else {
        atomic_store(&a->closed, true);
    }
    owl_addresses__reap(s, false);
    pthread_mutex_unlock(&s->lock);
    return rc;
}

int owl_server_reload_tls(owl_server *s, owl_error *reterr)
{
    int rc = 0;
    pthread_mutex_lock(&s->lock);
    for (struct owl_address *a = s->addresses; a; a = a->next) {
        bool https = a->port.tls && !a->closing;
        int one = https ? owl_tls_reload(a->port.tls, rc == 0 ? reterr : NULL) : 0;
        rc = rc == 0 ? one : rc;
    }
    pthread_mutex_unlock(&s->lock);
    return rc;
}

int owl_server_port(const owl_server *s)
{
    int port = 0;
    union { /* the list is locked, which changes nothing that the caller sees */
        const owl_server *c;
        owl_server *p;
    } u = {s};
    pthread_mutex_lock(&u.p->lock);
    for (const struct owl_address *a = s->addresses; a && a->listener && port == 0; a = a->next)
        port = a->closing ? 0 : owl_listener_port(a->listener);
    pthread_mutex_unlock(&u.p->lock);
    return port;
}
