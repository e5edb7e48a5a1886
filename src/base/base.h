/* base/base.h - what every file needs: byte spans, attributes, checks.
 * Layer: base. Threads: pure. */
#ifndef OWL_BASE_BASE_H
#define OWL_BASE_BASE_H

#include <owlclaw/types.h>
#include <string.h>

#define OWL_NODISCARD __attribute__((warn_unused_result))
#define OWL_COUNT(array) (sizeof(array) / sizeof((array)[0]))
#define OWL_CONTAINER(ptr, type, member) \
    ((type *)(void *)(((char *)(ptr)) - offsetof(type, member)))
#define OWL_LIKELY(x) __builtin_expect(!!(x), 1)
#define OWL_UNLIKELY(x) __builtin_expect(!!(x), 0)
/* A few words a thread: small enough for the space that the loader keeps for late libraries, and
 * reached without a call. */
#define OWL_THREAD_LOCAL __attribute__((tls_model("initial-exec"))) _Thread_local
#define OWL_AUTO(fn) __attribute__((cleanup(fn)))
/* A result that is deliberately not used; say why beside it. */
#define OWL_IGNORE(expr) \
    do { \
        if (expr) { \
        } \
    } while (0)

/* A broken invariant: prints and aborts, in every build. Never for input. */
#define OWL_ASSERT(cond) \
    do { \
        if (OWL_UNLIKELY(!(cond))) \
            owl_assert_failed(#cond, __FILE__, __LINE__); \
    } while (0)
_Noreturn void owl_assert_failed(const char *cond, const char *file, int line);

/* A borrowed run of bytes. Not NUL-terminated. {NULL, 0} means "absent"; {"", 0} is empty. */
typedef struct owl_str {
    const char *p;
    size_t n;
} owl_str;

#define OWL_STR(literal) ((owl_str){(literal), sizeof(literal) - 1})

static inline owl_str owl_str_of(const char *z)
{
    return (owl_str){z, z ? strlen(z) : 0};
}

/* Text of the public interface, whose length may be OWL_NTS. */
static inline owl_str owl_str_nts(const char *p, size_t n)
{
    return n == OWL_NTS ? owl_str_of(p) : (owl_str){p, n};
}

static inline bool owl_str_eq(owl_str a, owl_str b)
{
    /* The first byte tells most names apart, without a call. */
    return a.n == b.n && (a.n == 0 || (a.p[0] == b.p[0] && memcmp(a.p, b.p, a.n) == 0));
}

static inline bool owl_str_is(owl_str a, const char *z)
{
    return owl_str_eq(a, owl_str_of(z));
}

/* ASCII letters compare equal whatever their case. */
bool owl_str_ieq(owl_str a, owl_str b);
/* Without spaces and tabs at both ends. */
owl_str owl_str__trim(owl_str s);
static inline owl_str owl_str_trim(owl_str s)
{
    return s.n == 0 || (s.p[0] > ' ' && s.p[s.n - 1] > ' ') ? s : owl_str__trim(s);
}
/* Takes the part before the next @p sep off *rest; false when nothing is left. "a,,b" has three
 * parts, "a," has two, "" has one (empty), an absent string none. */
bool owl_str_split(owl_str *rest, char sep, owl_str *ret_part);
static inline bool owl_str_begins(owl_str s, const char *with)
{
    size_t n = strlen(with);
    return s.n >= n && memcmp(s.p, with, n) == 0;
}

/* The value of a hexadecimal digit of either case, or -1. */
static inline int owl_hex_digit(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    char l = (char)(c | 0x20);
    return l >= 'a' && l <= 'f' ? l - 'a' + 10 : -1;
}

/* A decimal number without sign or leading blanks, at most @p max. */
OWL_NODISCARD bool owl_str_u64(owl_str s, uint64_t max, uint64_t *ret);

#endif
