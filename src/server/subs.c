/* server/subs.c - who hears of changes: legacy streams and modern listens.
 *
 * Threads: a subscriber lives on one reactor. */
#include "server/subs.h"
#include "base/alloc.h"

enum { MOST_BUCKETS = 1 << 18 }; /* to fill more of them would hold up the reactor too long */

struct owl_list *owl_subs__watches(struct owl_server_local *l, uint64_t key)
{
    return &l->watches[key & (l->n_buckets - 1)];
}

/* Twice as many buckets. Ears stay in their order: those that have heard are behind. Without memory
 * they are just more in each. */
static void spread(struct owl_server_local *l)
{
    size_t n = l->n_buckets * 2;
    struct owl_list *old = l->watches, *watches = owl_malloc(n * sizeof *watches);
    if (!watches)
        return;
    for (size_t i = 0; i < n; i++)
        owl_list_init(&watches[i]);
    l->watches = watches;
    l->n_buckets = n;
    for (size_t i = 0; i < n / 2; i++)
        OWL_LIST_EACH (&old[i], it) {
            owl_list_del(it);
            owl_list_add(owl_subs__watches(l, OWL_CONTAINER(it, struct owl_task_watch, node)->key),
                         it);
        }
    if (old != l->first_watches)
        owl_free(old);
}

static void listen_for(struct owl_server_local *l, struct owl_sub *sub,
                       struct owl_task_watch *watch, uint64_t key)
{
    *watch = (struct owl_task_watch){.sub = sub, .key = key, .heard = l->tasks.told};
    if (++l->n_watches > l->n_buckets && l->n_buckets < MOST_BUCKETS)
        spread(l);
    owl_list_add(owl_subs__watches(l, key), &watch->node);
}

static void listen_no_more(struct owl_server_local *l, struct owl_task_watch *watch)
{
    l->n_watches--;
    owl_list_del(&watch->node);
}

void owl_subs_add(struct owl_server *s, struct owl_reactor *r, struct owl_sub *sub)
{
    struct owl_server_local *l = owl_server_local(s, r);
    sub->server = s;
    sub->local = l;
    sub->heard = l->changes.told; /* what is being told is older than it */
    sub->heard_task = l->tasks.told;
    sub->born = ++l->subs_born;
    atomic_fetch_add(&s->n_subs, 1);
    owl_list_add(&l->subs, &sub->node);
    if (sub->session) {
        listen_for(l, sub, &sub->watch, owl_session_serial(sub->session));
        owl_session_set_stream(sub->session, owl_reactor_index(r));
    }
    for (size_t i = 0; i < sub->n_tasks; i++)
        listen_for(l, sub, &sub->watches[i], owl_hash(sub->tasks[i]));
}

/* Another of the session may be left here. */
static void leave_session(struct owl_server_local *l, struct owl_session *session)
{
    OWL_LIST_EACH (owl_subs__watches(l, owl_session_serial(session)), it)
        if (OWL_CONTAINER(it, struct owl_task_watch, node)->sub->session == session)
            return;
    owl_session_clear_stream(session, owl_reactor_index(l->reactor));
}

void owl_subs_remove(struct owl_sub *sub)
{
    if (owl_list_empty(&sub->node))
        return; /* it was removed, or never added */
    atomic_fetch_sub(&sub->server->n_subs, 1);
    owl_list_del(&sub->node);
    if (sub->watch.sub) {
        listen_no_more(sub->local, &sub->watch);
        leave_session(sub->local, sub->session);
    }
    for (size_t i = 0; i < sub->n_tasks; i++)
        listen_no_more(sub->local, &sub->watches[i]);
}

void owl_subs_end(struct owl_server *s, struct owl_reactor *r)
{
    struct owl_list *subs = &owl_server_local(s, r)->subs;
    owl_peer_close(owl_server_local(s, r));
    while (!owl_list_empty(subs)) { /* one may take others with it */
        struct owl_sub *sub = OWL_CONTAINER(subs->next, struct owl_sub, node);
        sub->end(sub);
    }
}
