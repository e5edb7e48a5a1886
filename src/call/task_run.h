/* call/task_run.h - the part of a call that runs as a task, as its files see it.
 * Layer: call (private to task.c, task_birth.c). Threads: the call's reactor. */
#ifndef OWL_CALL_TASK_RUN_H
#define OWL_CALL_TASK_RUN_H

#include "call/task.h"

struct owl_task_run {
    struct owl_call *call;  /* NULL: it is over, and this waits for the store's last answer */
    struct owl_task now;    /* the next version */
    struct owl_buf payload; /* of it, unless that is constant */
    char message[OWL_TASK_MESSAGE];
    struct owl_buf birth; /* what the client is told first: a message, or a result's members */
    struct owl_task_op op;
    struct owl_timer retry;  /* to save it */
    struct owl_timer again;  /* to ask */
    struct owl_list asking;  /* in host_local.asking since it asked last */
    unsigned failures;       /* saves that failed in a row */
    int rc;                  /* of the last one */
    bool out;                /* op is with the store */
    bool saving;             /* … or is tried again soon */
    bool dirty;              /* … and there is a newer version */
    bool inside;             /* op is on the stack */
    bool announced;          /* the client knows the task */
    struct owl_list waiters; /* those of its own client behind, the last one last; the others in
                              * front, the last one first */
};

/* Empty, of @p c; then `now` and `birth` are to be written. */
void owl_task__init(struct owl_task_run *t, struct owl_call *c);
/* Keep the version that is `now`: it is being saved if `saving`, otherwise `rc` says what came of
 * it. */
void owl_task__save(struct owl_task_run *t);
/* The call is no task, or not any more. */
void owl_task__free(struct owl_task_run *t);

#endif
