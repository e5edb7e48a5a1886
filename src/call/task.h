/* call/task.h - calls that run as tasks, and the visits that other calls pay to them.
 * Layer: call. Threads: as marked in call.h; a task is run on the reactor that its id names. */
#ifndef OWL_CALL_TASK_H
#define OWL_CALL_TASK_H

#include "call/call.h"
#include "call/task_store.h"

#define OWL_TASKS_EXTENSION "io.modelcontextprotocol/tasks"

/* ---- the call that runs as a task (task.c, task_birth.c) ---- */

/* A legacy client has asked for a task, which tools of this server may become. */
bool owl_task_wanted(struct owl_call *c);
/* The step `task`: a call that is to be a task becomes one, and its client is told. */
enum owl_verdict owl_task_step(struct owl_call *c);
/* Its questions are shown in the task, and wait for answers. */
enum owl_verdict owl_task_ask(struct owl_call *c);
/* It goes on with the answers. */
void owl_task_go_on(struct owl_call *c);
/* [any] How it is getting on, if it is a task or will be one. 0 or -OWL_ENOMEM. */
OWL_NODISCARD int owl_task_say(struct owl_call *c, const char *message);
/* Whether its response is wanted: owl_task_reply() takes none otherwise. */
bool owl_task_due(const struct owl_call *c);
/* Its response, a whole message, becomes the outcome of the task. OWL_SUSPEND until that is kept,
 * then the step runs again. */
enum owl_verdict owl_task_reply(struct owl_call *c, owl_str response);
/* Forget it; when the call ends. */
void owl_task_drop(struct owl_call *c);
/* Milliseconds that it may go on: until the task is forgotten. */
uint64_t owl_task_allowed(const struct owl_call *c);
/* The server stops: end the tasks that wait for answers. */
void owl_tasks_end_waiting(struct owl_call_local *l);

/* ---- calls about tasks (task_query.c) ---- */

enum owl_task_wish {
    OWL_TASK_LOOK,   /* see it as it is */
    OWL_TASK_AWAIT,  /* when it is over; meanwhile it speaks through this call */
    OWL_TASK_CANCEL, /* end it, then see it */
    OWL_TASK_UPDATE  /* bring it params.inputResponses */
};
/* For methods: find the task that params.taskId names, do what is wished, answer with the task as
 * it is then. The failure of a task that is unknown (or another's) is OWL_EPARAMS. */
enum owl_verdict owl_task_query(struct owl_call *c, enum owl_task_wish wish,
                                enum owl_verdict (*answer)(struct owl_call *c,
                                                           const struct owl_task *t));

/* Whether the wish was carried to the task: it was not over when this call came. */
bool owl_task_query_carried(const struct owl_call *c);

/* "taskId":…,"status":… in the words of an era; with @p detailed also what its status has to show.
 * Members without braces. */
void owl_task_write(struct owl_buf *b, const struct owl_task *t, enum owl_era era, bool detailed);

/* "io.modelcontextprotocol/related-task":{…}: a member of _meta; nothing if @p id is absent. Any
 * thread. */
void owl_task_write_related(struct owl_buf *b, owl_str id);
/* The same as the last member of params: ,"_meta":{…} */
void owl_task_write_meta(struct owl_buf *b, owl_str id);

/* ---- between the two ---- */

/* [reactor of c] A call that waits for the task of @p c to be over; with @p speak the task speaks
 * through it from now on. */
struct owl_task_waiter {
    struct owl_list node;
    struct owl_call *visitor; /* counted; NULL: it does not wait */
    bool speak;               /* the task may speak through it, or ask there */
};
void owl_task__attach(struct owl_call *c, struct owl_call *visitor, struct owl_task_waiter *w,
                      bool speak);
void owl_task__detach(struct owl_call *c, struct owl_task_waiter *w);
/* Its id; absent if the call is no task. On its reactor. */
owl_str owl_task_id(const struct owl_call *c);
/* A question that was asked in the older form has its answer. */
void owl_task__answered(struct owl_call *c);
/* It could not be kept: the question is put again, later. */
void owl_task__ask_later(struct owl_call *c);
/* The answers of a modern client: JSON object. 0 or -OWL_EBUSY: one could not be kept. */
OWL_NODISCARD int owl_task__answer(struct owl_call *c, owl_str responses);
/* The task has changed or is over, and the visitor looks again; or, with an error, it fails. */
void owl_task__wake(struct owl_call *visitor, int rc);

#endif
