/* call/parts.h - the parts of a call that exist on demand.
 * Layer: call, private. Threads: as marked in call.h. */
#ifndef OWL_CALL_PARTS_H
#define OWL_CALL_PARTS_H

#include "call/call.h"

/* A handler of the program that answers the call: native.c. Made when it is found. */
struct owl_run {
    struct owl_call *call;
    owl_handler_fn fn;
    void *data;
    unsigned flags;                /* OWL_INLINE, OWL_PARKED, OWL_TASK…, OWL_FOREIGN */
    bool going_on;                 /* parked: the functions of the questions run, not the handler */
    unsigned rounds;               /* of questions, so far */
    int status;                    /* [handler] what it returned */
    const owl_json *args, *params; /* parsed before it runs, as far as it needs them */
    const char *missing_capability; /* [handler] that owl_ask() would have needed */
    const char *bad_question;       /* [handler] why owl_ask() refused one, or NULL */
    struct owl_msg done;            /* posted by the finisher */
    size_t posted;                  /* … with so much of owl_call_local.finished */
};

/* A call that speaks with its client beyond one request and its answer: relay.c, park.c, and tasks.
 * Made by the reactor when it begins to; `front` is under the call's lock. */
struct owl_talk {
    unsigned n_requests; /* of a relay, so far */
    uint64_t left_ms;    /* until the deadline when the first request was put */
    owl_str park_id;     /* in owl_call_local.parked; of a front: of the call it speaks for */
    bool parked;         /* its client is away: a retry may become its front */
    bool holding;        /* … and the answer waits for one */
    bool fronting;       /* this call is the front of a parked one */
    struct owl_list park_node;
    struct owl_timer timer; /* a relay has asked a modern client: others may follow */
    struct owl_call *call;
    struct owl_call *front;     /* parked, or a task: the call through which it speaks; counted */
    struct owl_park_word *word; /* front: the texts of its failure */
};

/* The call through which it speaks, or NULL; on the reactor, or under the lock. */
static inline struct owl_call *owl_call_front(const struct owl_call *c)
{
    return c->talk ? c->talk->front : NULL;
}
/* Flags of its handler. */
static inline unsigned owl_call_flags(const struct owl_call *c)
{
    return c->run ? c->run->flags : 0;
}

#endif
