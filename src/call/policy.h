/* call/policy.h - where governance plugs in.
 * Layer: call. Threads: the call's reactor.
 *
 * Every call of a known tool, resource or prompt passes admit() before its handler runs and
 * settle() when it has ended, however it ended: perhaps before admit() has decided. Whoever returns
 * OWL_SUSPEND holds the call and resumes it once, even then. Methods know nothing of it. */
#ifndef OWL_CALL_POLICY_H
#define OWL_CALL_POLICY_H

struct owl_call;

enum owl_verdict {
    OWL_NEXT,    /* go on with the next step */
    OWL_SUSPEND, /* wait: owl_call_resume() goes on */
    OWL_FINISH   /* the call has its result or failure: settle and reply */
};

struct owl_policy_ops {
    /* OWL_NEXT admits. OWL_FINISH refuses, after owl_call_set_failure(). OWL_SUSPEND decides later,
     * then resumes. */
    enum owl_verdict (*admit)(void *self, struct owl_call *c);
    /* OWL_NEXT, or OWL_SUSPEND until the outcome is durable. */
    enum owl_verdict (*settle)(void *self, struct owl_call *c);
};

/* Admits everything; the default. */
extern const struct owl_policy_ops owl_policy_none;

#endif
