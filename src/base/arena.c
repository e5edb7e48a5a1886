/* base/arena.c - memory of one lifetime.
 * Threads: an arena belongs to one thread at a time; the cache of chunks is the thread's own.
 *
 * Small objects are cut from 4 KiB chunks, of which the first also holds the arena itself, so
 * that an ordinary call costs no malloc at all. Objects over SMALL bytes live on the heap in a
 * list of their own, where they can be resized. Invariants: an object is small if and only if
 * its size is; `newest` is the last small object of the current chunk, and ends at `at`.
 *
 * With OWL_ARENA_DEBUG no object is small. */
#include "base/arena.h"

#include <pthread.h>

#include "base/alloc.h"
#include "base/list.h"

enum {
    ALIGN = 16,
    CHUNK = 4096,
    CACHE_MAX = 64, /* chunks that a thread keeps: 256 KiB */
#ifdef OWL_ARENA_DEBUG
    SMALL = 0
#else
    SMALL = 2048
#endif
};

struct chunk {
    struct chunk *next;
    _Alignas(ALIGN) char data[];
};

struct big {
    struct owl_list link;
    size_t n;
    _Alignas(ALIGN) char data[];
};

struct cleanup {
    struct cleanup *next;
    void (*fn)(void *);
    void *data;
};

struct owl_arena {
    char *at, *end;       /* the free part of the current chunk */
    char *newest;         /* or NULL */
    struct chunk *chunks; /* the current one first, that of the arena last */
    struct owl_list bigs;
    struct cleanup *cleanups;
    size_t used, cap;
    bool over;
};

static OWL_THREAD_LOCAL struct {
    struct chunk *first;
    unsigned n;
    bool watched; /* the end of this thread empties it */
} cache;

/* A thread of the program may free the last reference to a call: its chunks must not outlive it. */
static pthread_key_t at_exit;
static pthread_once_t once = PTHREAD_ONCE_INIT;
static bool have_key;

static void on_thread_exit(void *unused)
{
    (void)unused;
    owl_arena_thread_done();
}

static void make_key(void)
{
    have_key = pthread_key_create(&at_exit, on_thread_exit) == 0;
}

static bool watch_thread(void)
{
    pthread_once(&once, make_key);
    return have_key && pthread_setspecific(at_exit, &cache) == 0;
}

static struct chunk *chunk_take(void)
{
    struct chunk *c = cache.first;
    if (!c)
        return owl_malloc(CHUNK);
    if (owl_alloc_denied())
        return NULL;
    cache.first = c->next;
    cache.n--;
    return c;
}

static void chunk_give(struct chunk *c)
{
    cache.watched = cache.watched || watch_thread();
    if (cache.n == CACHE_MAX || !cache.watched) {
        owl_free(c);
        return;
    }
    c->next = cache.first;
    cache.first = c;
    cache.n++;
}

void owl_arena_thread_done(void)
{
    while (cache.first) {
        struct chunk *c = cache.first;
        cache.first = c->next;
        owl_free(c);
    }
    cache.n = 0;
    cache.watched = false;
}

static size_t round_up(size_t n)
{
    return (n + (ALIGN - 1)) & ~(size_t)(ALIGN - 1);
}

struct owl_arena *owl_arena_new(size_t cap)
{
    struct chunk *c = chunk_take();
    if (!c)
        return NULL;
    c->next = NULL;
    struct owl_arena *a = (struct owl_arena *)(void *)c->data;
    *a = (struct owl_arena){
        .at = c->data + round_up(sizeof *a),
        .end = (char *)c + CHUNK,
        .chunks = c,
        .cap = cap ? cap : SIZE_MAX,
    };
    owl_list_init(&a->bigs);
    return a;
}

void owl_arena_free(struct owl_arena *a)
{
    if (!a)
        return;
    while (a->cleanups) {
        struct cleanup *c = a->cleanups;
        a->cleanups = c->next;
        c->fn(c->data);
    }
    OWL_LIST_EACH (&a->bigs, it)
        owl_free(OWL_CONTAINER(it, struct big, link));
    for (struct chunk *c = a->chunks, *next; c; c = next) {
        next = c->next;
        chunk_give(c);
    }
}

bool owl_arena_charge(struct owl_arena *a, size_t n)
{
    if (OWL_UNLIKELY(n > a->cap - a->used)) {
        a->over = true;
        return false;
    }
    a->used += n;
    return true;
}

static void *alloc_big(struct owl_arena *a, size_t n)
{
    if (!owl_arena_charge(a, n))
        return NULL;
    struct big *b = n < SIZE_MAX - sizeof *b ? owl_malloc(sizeof *b + n) : NULL;
    if (!b) {
        a->used -= n;
        return NULL;
    }
    b->n = n;
    owl_list_add(&a->bigs, &b->link);
    return b->data;
}

static void *realloc_big(struct owl_arena *a, void *p, size_t n)
{
    struct big *b = OWL_CONTAINER(p, struct big, data);
    if (n <= b->n)
        return p;
    size_t more = n - b->n;
    if (!owl_arena_charge(a, more))
        return NULL;
    struct big *moved = n < SIZE_MAX - sizeof *b ? owl_realloc(b, sizeof *b + n) : NULL;
    if (!moved) {
        a->used -= more;
        return NULL;
    }
    moved->n = n;
    moved->link.prev->next = &moved->link;
    moved->link.next->prev = &moved->link;
    return moved->data;
}

static bool next_chunk(struct owl_arena *a)
{
    struct chunk *c = chunk_take();
    if (!c)
        return false;
    c->next = a->chunks;
    a->chunks = c;
    a->at = c->data;
    a->end = (char *)c + CHUNK;
    return true;
}

void *owl_arena_alloc(struct owl_arena *a, size_t n)
{
    if (n == 0)
        n = 1;
    if (OWL_UNLIKELY(n > SMALL))
        return alloc_big(a, n);
    n = round_up(n);
    if (!owl_arena_charge(a, n))
        return NULL;
    if ((size_t)(a->end - a->at) < n && !next_chunk(a)) {
        a->used -= n;
        return NULL;
    }
    a->newest = a->at;
    a->at += n;
    return a->newest;
}

void *owl_arena_zalloc(struct owl_arena *a, size_t n)
{
    void *p = owl_arena_alloc(a, n);
    return p ? memset(p, 0, n) : NULL;
}

/* Resizes the newest small object where it is; NULL if it does not fit there. */
static void *resize_newest(struct owl_arena *a, size_t n)
{
    n = round_up(n ? n : 1);
    size_t old_n = (size_t)(a->at - a->newest);
    if (n > (size_t)(a->end - a->newest) || (n > old_n && n - old_n > a->cap - a->used))
        return NULL;
    a->used = a->used - old_n + n;
    a->at = a->newest + n;
    return a->newest;
}

void *owl_arena_realloc(struct owl_arena *a, void *p, size_t old_n, size_t new_n)
{
    if (p && old_n > SMALL && new_n > SMALL)
        return realloc_big(a, p, new_n);
    if (p && p == a->newest && new_n <= SMALL) {
        void *same = resize_newest(a, new_n);
        if (same)
            return same;
    }
    if (p && new_n <= old_n)
        return p;
    void *moved = owl_arena_alloc(a, new_n);
    if (moved && p)
        memcpy(moved, p, old_n);
    return moved;
}

char *owl_arena_dup(struct owl_arena *a, owl_str s)
{
    char *copy = s.n < SIZE_MAX ? owl_arena_alloc(a, s.n + 1) : NULL;
    if (!copy)
        return NULL;
    if (s.n)
        memcpy(copy, s.p, s.n);
    copy[s.n] = '\0';
    return copy;
}

int owl_arena_cleanup(struct owl_arena *a, void (*fn)(void *), void *data)
{
    struct cleanup *c = owl_arena_alloc(a, sizeof *c);
    if (!c)
        return a->over ? -OWL_ELIMIT : -OWL_ENOMEM;
    *c = (struct cleanup){a->cleanups, fn, data};
    a->cleanups = c;
    return 0;
}

bool owl_arena_over(const struct owl_arena *a)
{
    return a->over;
}

size_t owl_arena_used(const struct owl_arena *a)
{
    return a->used;
}
