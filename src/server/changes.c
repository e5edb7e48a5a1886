/* server/changes.c - what has changed, gathered until clients are told of it.
 *
 * Threads: changes come from any thread and are posted to reactor 0, which gathers them for a few
 * milliseconds, and for as long as a reactor still tells of earlier ones: a hundred new tools are one
 * notification, and a resource that changes all the time is told of a hundred times a second, or as
 * often as all of its subscribers can be told. */
#include "base/alloc.h"
#include "server/subs.h"

enum {
    DEBOUNCE_MS = 10,
    MAX_TOLD = 250,       /* resources, at a time: changes of lists wait for them */
    MAX_TOUCHED = 100000, /* resources that wait to be told of */
};

/* A resource that has changed, on its way to reactor 0 and until it is told there. */
struct touch {
    struct owl_msg msg;
    struct owl_server *server;
    struct owl_list node;
    size_t n;
    char uri[];
};

static void forget_touched(struct owl_server *s, struct touch *t)
{
    owl_map_del(&s->touched, (owl_str){t->uri, t->n});
    owl_list_del(&t->node);
    owl_free(t);
}

static void arm(struct owl_server *s)
{
    if (!s->local[0].ended && !owl_timer_active(&s->gather))
        owl_timer_start(s->local[0].reactor, &s->gather, DEBOUNCE_MS);
}

static void on_gathered(struct owl_timer *timer)
{
    struct owl_server *s = OWL_CONTAINER(timer, struct owl_server, gather);
    if (atomic_load(&s->telling) > 0) {
        arm(s);
        return;
    }
    unsigned changes = atomic_exchange(&s->changed, 0);
    int rc = changes ? owl_notify__changes(s, changes) : 0;
    for (unsigned i = 0; i < MAX_TOLD && !owl_list_empty(&s->touched_order); i++) {
        struct touch *t = OWL_CONTAINER(s->touched_order.next, struct touch, node);
        rc = owl_notify__updated(s, (owl_str){t->uri, t->n}) ? -OWL_ENOMEM : rc;
        forget_touched(s, t);
    }
    if (!owl_list_empty(&s->touched_order))
        arm(s);
    else
        s->touched_lost = false;
    if (rc != 0)
        OWL_LOG(&s->log, OWL_LEVEL_ERROR, "subs",
                "out of memory: clients were not told of a change");
}

struct change {
    struct owl_msg msg;
    struct owl_server *server;
};

static void on_change(struct owl_reactor *r, struct owl_msg *m)
{
    (void)r;
    struct change *c = OWL_CONTAINER(m, struct change, msg);
    arm(c->server);
    owl_free(c);
}

void owl_subs_changed(struct owl_server *s, unsigned changes)
{
    if (!changes || atomic_fetch_or(&s->changed, changes))
        return; /* the timer runs, or is about to */
    struct change *c = owl_malloc(sizeof *c);
    if (c) {
        *c = (struct change){.msg.run = on_change, .server = s};
        if (owl_server__post(s, &c->msg))
            return;
    }
    owl_free(c);
    /* Others may have left theirs to us: the next sweep tells of all. */
    atomic_fetch_or(&s->unpublished, atomic_exchange(&s->changed, 0));
}

static void lose(struct owl_server *s, int why)
{
    if (!s->touched_lost)
        OWL_LOG(&s->log, OWL_LEVEL_ERROR, "subs", "clients are not told of some resources: %s",
                why == -OWL_ELIMIT ? "they change faster than clients can be told"
                                   : "out of memory");
    s->touched_lost = true;
}

static void on_touch(struct owl_reactor *r, struct owl_msg *m)
{
    (void)r;
    struct touch *t = OWL_CONTAINER(m, struct touch, msg);
    struct owl_server *s = t->server;
    owl_str uri = {t->uri, t->n};
    if (owl_map_get(&s->touched, uri)) {
        owl_free(t); /* it is about to be told */
        return;
    }
    int rc = s->touched.n < MAX_TOUCHED ? owl_map_put(&s->touched, uri, t, NULL) : -OWL_ELIMIT;
    if (rc != 0) {
        lose(s, rc);
        owl_free(t);
        return;
    }
    owl_list_add(&s->touched_order, &t->node);
    arm(s);
}

int owl_subs_updated(struct owl_server *s, owl_str uri)
{
    struct touch *t = owl_malloc(sizeof *t + uri.n);
    if (!t)
        return -OWL_ENOMEM;
    *t = (struct touch){.msg.run = on_touch, .server = s, .n = uri.n};
    memcpy(t->uri, uri.p, uri.n);
    if (!owl_server__post(s, &t->msg))
        owl_free(t); /* the server has stopped: nobody listens */
    return 0;
}

void owl_subs_init(struct owl_server *s)
{
    owl_map_init(&s->touched);
    owl_list_init(&s->touched_order);
    owl_timer_init(&s->gather, on_gathered);
}

void owl_subs_stop(struct owl_server_local *l)
{
    owl_timer_stop(&l->changes.timer);
    owl_timer_stop(&l->tasks.timer);
    if (owl_reactor_index(l->reactor) == 0)
        owl_timer_stop(&l->server->gather);
}

void owl_subs_done(struct owl_server *s)
{
    for (unsigned i = 0; s->local && i < owl_runtime_count(s->env.runtime); i++)
        owl_notify__done(&s->local[i]);
    OWL_LIST_EACH (&s->touched_order, it)
        forget_touched(s, OWL_CONTAINER(it, struct touch, node));
    owl_map_done(&s->touched);
}
