/* base/clock.c - time and randomness from the kernel.
 * Threads: any. */
#include "base/clock.h"

#include <errno.h>
#include <sys/random.h>
#include <time.h>

uint64_t owl_now_ns(void)
{
    struct timespec t;
    /* Cannot fail: the clock exists on every system that this builds for. */
    OWL_IGNORE(clock_gettime(CLOCK_MONOTONIC, &t));
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

uint64_t owl_now_ms(void)
{
    return owl_now_ns() / 1000000u;
}

int64_t owl_wall_ms(void)
{
    struct timespec t;
    OWL_IGNORE(clock_gettime(CLOCK_REALTIME, &t)); /* as above */
    return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

int owl_random(void *p, size_t n)
{
    char *at = p;
    while (n > 0) {
        ssize_t got = getrandom(at, n, 0);
        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            return -OWL_EIO;
        at += got;
        n -= (size_t)got;
    }
    return 0;
}

int owl_random_hex(char *out, size_t n)
{
    static const char digits[] = "0123456789abcdef";
    /* The bytes wait in the second half; each is read before its place is written to. */
    char *bytes = out + n;
    int rc = owl_random(bytes, n);
    if (rc)
        return rc;
    for (size_t i = 0; i < n; i++) {
        unsigned byte = (unsigned char)bytes[i];
        out[2 * i] = digits[byte >> 4];
        out[2 * i + 1] = digits[byte & 15];
    }
    out[2 * n] = '\0';
    return 0;
}
