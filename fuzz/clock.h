/* fuzz/clock.h - clock and chance in the hands of a fuzz target: these take the place of libc's.
 *
 * The monotonic clock stands still until clock_wait() moves it; random bytes are a sequence that
 * begins with clock_seed. */
#ifndef OWL_FUZZ_CLOCK_H
#define OWL_FUZZ_CLOCK_H

#include <stdatomic.h>
#include <sys/random.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static _Atomic uint64_t clock_ms = 1000000;
static uint64_t clock_seed;

int clock_gettime(clockid_t id, struct timespec *t)
{
    if (id != CLOCK_MONOTONIC && id != CLOCK_MONOTONIC_COARSE)
        return (int)syscall(SYS_clock_gettime, id, t);
    uint64_t ms = atomic_load(&clock_ms);
    *t = (struct timespec){.tv_sec = (time_t)(ms / 1000), .tv_nsec = (long)(ms % 1000) * 1000000};
    return 0;
}

ssize_t getrandom(void *out, size_t n, unsigned flags)
{
    (void)flags;
    for (size_t i = 0; i < n; i++) {
        clock_seed = clock_seed * 6364136223846793005u + 1442695040888963407u;
        ((unsigned char *)out)[i] = (unsigned char)(clock_seed >> 33);
    }
    return (ssize_t)n;
}

static inline void clock_wait(uint64_t ms)
{
    atomic_fetch_add(&clock_ms, ms);
}

#endif
