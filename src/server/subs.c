/* server/subs.c - who hears of changes: legacy streams and modern listens.
 *
 * Threads: a subscriber lives on one reactor; a session that ended is posted to every reactor. */
#include "server/subs.h"
#include "base/alloc.h"

struct owl_list *owl_subs__ears(struct owl_server_local *l, uint64_t key)
{
    return &l->ears[key % OWL_EAR_BUCKETS];
}

static void listen_for(struct owl_server_local *l, struct owl_sub *sub, struct owl_ear *ear,
                       uint64_t key)
{
    *ear = (struct owl_ear){.sub = sub, .key = key, .heard = l->tasks.told};
    owl_list_add(owl_subs__ears(l, key), &ear->node);
}

void owl_subs_add(struct owl_server *s, struct owl_reactor *r, struct owl_sub *sub)
{
    struct owl_server_local *l = owl_server_local(s, r);
    sub->server = s;
    sub->heard = l->changes.told; /* what is being told is older than it */
    sub->heard_task = l->tasks.told;
    atomic_fetch_add(&s->n_subs, 1);
    owl_list_add(&l->subs, &sub->node);
    if (sub->session)
        listen_for(l, sub, &sub->ear, owl_session_serial(sub->session));
    for (size_t i = 0; i < sub->n_tasks; i++)
        listen_for(l, sub, &sub->ears[i], owl_hash(sub->tasks[i]));
}

void owl_subs_remove(struct owl_sub *sub)
{
    if (owl_list_empty(&sub->node))
        return; /* it was removed, or never added */
    atomic_fetch_sub(&sub->server->n_subs, 1);
    owl_list_del(&sub->node);
    if (sub->ear.sub)
        owl_list_del(&sub->ear.node);
    for (size_t i = 0; i < sub->n_tasks; i++)
        owl_list_del(&sub->ears[i].node);
}

bool owl_streams_take(struct owl_server *s)
{
    if (atomic_fetch_add(&s->n_streams, 1u) < s->limits.streams)
        return true;
    atomic_fetch_sub(&s->n_streams, 1u);
    return false;
}

void owl_streams_give(struct owl_server *s)
{
    atomic_fetch_sub(&s->n_streams, 1u);
}

void owl_subs_end(struct owl_server *s, struct owl_reactor *r)
{
    struct owl_list *subs = &owl_server_local(s, r)->subs;
    while (!owl_list_empty(subs)) { /* one may take others with it */
        struct owl_sub *sub = OWL_CONTAINER(subs->next, struct owl_sub, node);
        sub->end(sub);
    }
}

/* ---- sessions that end ---- */

struct ended {
    struct owl_msg msg;
    struct owl_server *server;
    uint64_t serial;
};

static void on_ended(struct owl_reactor *r, struct owl_msg *m)
{
    struct ended *e = OWL_CONTAINER(m, struct ended, msg);
    OWL_LIST_EACH (owl_subs__ears(owl_server_local(e->server, r), e->serial), it) {
        struct owl_sub *sub = OWL_CONTAINER(it, struct owl_ear, node)->sub;
        if (sub->session && owl_session_serial(sub->session) == e->serial)
            sub->end(sub);
    }
    owl_free(e);
}

void owl_subs_prune(struct owl_server *s, const struct owl_session *session)
{
    for (unsigned i = 0; i < owl_runtime_count(s->host.runtime); i++) {
        struct ended *e = owl_malloc(sizeof *e);
        if (!e) {
            OWL_LOG(&s->log, OWL_LEVEL_ERROR, "subs",
                    "out of memory: a stream stays open too long");
            return;
        }
        *e = (struct ended){
            .msg.run = on_ended, .server = s, .serial = owl_session_serial(session)};
        if (!owl_post(owl_runtime_at(s->host.runtime, i), &e->msg))
            owl_free(e); /* that reactor has stopped: nobody listens there */
    }
}
