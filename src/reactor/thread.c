/* reactor/thread.c - how every thread of the runtime starts and ends.
 *
 * Threads: start from any. Signals are blocked before the thread exists, so that not even its first
 * instruction can take one that is meant for the program. Faults stay deliverable: blocked, they
 * would kill the process past the program's own crash handler. */
#include <signal.h>
#include <stdio.h>

#include "base/alloc.h"
#include "base/block.h"
#include "reactor/internal.h"

struct start {
    char name[16]; /* what the kernel takes, with its NUL */
    void (*run)(void *);
    void *arg;
};

static void *thread_main(void *data)
{
    struct start s = *(struct start *)data;
    owl_free(data);
    pthread_setname_np(pthread_self(), s.name);
    s.run(s.arg);
    owl_thread_keep_nothing();
    return NULL;
}

static void all_but_faults(sigset_t *set)
{
    static const int faults[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT, SIGTRAP, SIGSYS};
    sigfillset(set);
    for (size_t i = 0; i < OWL_COUNT(faults); i++)
        sigdelset(set, faults[i]);
}

int owl_thread__start(pthread_t *ret, const char *name, void (*run)(void *), void *arg)
{
    struct start *s = owl_malloc(sizeof(*s));
    if (!s)
        return -OWL_ENOMEM;
    snprintf(s->name, sizeof(s->name), "%s", name);
    s->run = run;
    s->arg = arg;

    sigset_t blocked, before;
    all_but_faults(&blocked);
    pthread_sigmask(SIG_SETMASK, &blocked, &before);
    int rc = pthread_create(ret, NULL, thread_main, s);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (rc == 0)
        return 0;
    owl_free(s);
    return -OWL_ENOMEM;
}
