/* reactor/mailbox.c - messages to a reactor.
 *
 * Threads: post and shut from any; the rest on the reactor's own.
 * Invariants: other threads send on the wake handle only under the lock and never once `closed` is
 * set, so a sender cannot meet a closed handle. They send only when the inbox turns non-empty; for
 * what was taken out but not yet run the reactor wakes itself. */
#include "reactor/internal.h"

/* Beyond this the loop polls first, so that a flood of messages does not starve its connections. */
enum { MESSAGES_PER_TURN = 256 };

/* Appends the whole of @p from, which is empty afterwards. */
static void queue_move(struct owl_msg_queue *to, struct owl_msg_queue *from)
{
    if (!from->head)
        return;
    if (to->head)
        to->tail->next = from->head;
    else
        to->head = from->head;
    to->tail = from->tail;
    from->head = NULL;
}

static struct owl_msg *queue_pop(struct owl_msg_queue *q)
{
    struct owl_msg *m = q->head;
    q->head = m->next;
    return m;
}

static void mailbox_run(uv_async_t *wake)
{
    struct owl_reactor *r = wake->data;
    const char *before = owl_reactor_mark(r, "mailbox");

    pthread_mutex_lock(&r->mu);
    queue_move(&r->taken, &r->inbox);
    bool closed = r->closed;
    pthread_mutex_unlock(&r->mu);

    for (unsigned n = 0; n < MESSAGES_PER_TURN && r->taken.head; n++) {
        struct owl_msg *m = queue_pop(&r->taken);
        m->run(r, m);
    }
    if (r->taken.head)
        uv_async_send(&r->wake);
    else if (closed)
        owl_reactor__close_handles(r);
    owl_reactor_mark(r, before);
}

int owl_mailbox__init(struct owl_reactor *r)
{
    r->wake.data = r;
    int rc = uv_async_init(&r->loop, &r->wake, mailbox_run);
    if (rc == 0)
        pthread_mutex_init(&r->mu, NULL);
    return rc;
}

bool owl_post(struct owl_reactor *r, struct owl_msg *m)
{
    struct owl_msg_queue one = {m, m};
    m->next = NULL;

    pthread_mutex_lock(&r->mu);
    bool open = !r->closed;
    if (open) {
        bool was_empty = !r->inbox.head;
        queue_move(&r->inbox, &one);
        if (was_empty)
            uv_async_send(&r->wake);
    }
    pthread_mutex_unlock(&r->mu);
    return open;
}

void owl_mailbox__shut(struct owl_reactor *r)
{
    pthread_mutex_lock(&r->mu);
    if (!r->closed) {
        r->closed = true;
        uv_async_send(&r->wake);
    }
    pthread_mutex_unlock(&r->mu);
}
