/* base/arena.c - memory of one lifetime.
 * Threads: an arena belongs to one thread at a time.
 *
 * Small objects are cut from chunks, of which the first also holds the arena itself, so that an
 * ordinary call costs no malloc at all. Objects over SMALL bytes are blocks in a list of their own,
 * where they can be resized. Invariants: an object is small if and only if its size is; `newest` is
 * the last small object of the current chunk, and ends at `at`.
 *
 * With OWL_ARENA_DEBUG no object is small. */
#include "base/arena.h"

#include "base/block.h"
#include "base/list.h"

enum {
    ALIGN = 16,
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
    size_t n, size; /* of the object, of the block */
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

static size_t round_up(size_t n)
{
    return (n + (ALIGN - 1)) & ~(size_t)(ALIGN - 1);
}

struct owl_arena *owl_arena_new(size_t cap)
{
    struct chunk *c = owl_chunk_new();
    if (!c)
        return NULL;
    c->next = NULL;
    struct owl_arena *a = (struct owl_arena *)(void *)c->data;
    *a = (struct owl_arena){
        .at = c->data + round_up(sizeof *a),
        .end = (char *)c + OWL_CHUNK_BYTES,
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
    OWL_LIST_EACH (&a->bigs, it) {
        struct big *b = OWL_CONTAINER(it, struct big, link);
        owl_block_free(b, b->size);
    }
    for (struct chunk *c = a->chunks, *next; c; c = next) {
        next = c->next;
        owl_chunk_free(c);
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
    size_t size = 0;
    struct big *b = n < SIZE_MAX - sizeof *b ? owl_block_new(sizeof *b + n, &size) : NULL;
    if (!b) {
        a->used -= n;
        return NULL;
    }
    b->n = n;
    b->size = size;
    owl_list_add(&a->bigs, &b->link);
    return b->data;
}

static void *realloc_big(struct owl_arena *a, void *p, size_t n)
{
    struct big *b = OWL_CONTAINER(p, struct big, data);
    if (n <= b->n) {
        a->used -= b->n - n;
        b->n = n;
        return p;
    }
    size_t more = n - b->n;
    if (!owl_arena_charge(a, more))
        return NULL;
    if (n <= b->size - sizeof *b) {
        b->n = n;
        return p;
    }
    size_t size = b->size;
    struct big *moved = n < SIZE_MAX - sizeof *b ? owl_block_grow(b, &size, sizeof *b + n) : NULL;
    if (!moved) {
        a->used -= more;
        return NULL;
    }
    moved->n = n;
    moved->size = size;
    moved->link.prev->next = &moved->link;
    moved->link.next->prev = &moved->link;
    return moved->data;
}

static bool next_chunk(struct owl_arena *a)
{
    struct chunk *c = owl_chunk_new();
    if (!c)
        return false;
    c->next = a->chunks;
    a->chunks = c;
    a->at = c->data;
    a->end = (char *)c + OWL_CHUNK_BYTES;
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
