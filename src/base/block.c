/* base/block.c - memory that a thread keeps.
 * Threads: what is kept is the thread's own.
 *
 * Long blocks are kept in a list, those that were freed last in front: one that fits is found there
 * soon, and what nobody has needed for longest goes first. Blocks between a chunk and LONG bytes are
 * the heap's, which is good at them.
 *
 * With OWL_ARENA_DEBUG nothing long is kept, so that sanitizers see its end. */
#include "base/block.h"

#include <pthread.h>

#include "base/alloc.h"
#include "base/list.h"

enum {
    LONG = 32 * 1024,
    CHUNKS_MAX = 64, /* 256 KiB */
#ifdef OWL_ARENA_DEBUG
    LONGS_MAX = 0,
    SPARE_PARTS = 1 << 30, /* exact sizes */
#else
    LONGS_MAX = 64,
    SPARE_PARTS = 8, /* sizes are rounded by an eighth at most: then the next one fits as well */
#endif
    BYTES_MAX = 32 * 1024 * 1024 /* of long blocks */
};

struct chunk {
    struct chunk *next;
};

struct kept {
    struct owl_list link;
    size_t size;
    unsigned round;
};

static OWL_THREAD_LOCAL struct {
    struct chunk *chunks;
    unsigned n_chunks, n_longs;
    struct owl_list longs; /* once it is watched */
    size_t bytes;          /* of longs */
    unsigned round;        /* of owl_thread_keep_less() */
    bool watched;          /* the end of this thread empties it */
    bool keeps_long;
} mine;

/* ---- the end of a thread ---- */

/* A thread of the program may free the last reference to a call: what it keeps must not outlive
 * it. */
static pthread_key_t at_exit;
static pthread_once_t once = PTHREAD_ONCE_INIT;
static bool have_key;

static void on_thread_exit(void *unused)
{
    (void)unused;
    owl_thread_keep_nothing();
}

static void make_key(void)
{
    have_key = pthread_key_create(&at_exit, on_thread_exit) == 0;
}

static bool watch(void)
{
    if (OWL_LIKELY(mine.watched))
        return true;
    pthread_once(&once, make_key);
    mine.watched = have_key && pthread_setspecific(at_exit, &mine) == 0;
    owl_list_init(&mine.longs);
    return mine.watched;
}

/* ---- chunks ---- */

void *owl_chunk_new(void)
{
    struct chunk *c = mine.chunks;
    if (!c)
        return owl_malloc(OWL_CHUNK_BYTES);
    if (owl_alloc_denied())
        return NULL;
    mine.chunks = c->next;
    mine.n_chunks--;
    return c;
}

void owl_chunk_free(void *p)
{
    if (mine.n_chunks == CHUNKS_MAX || !watch()) {
        owl_free(p);
        return;
    }
    struct chunk *c = p;
    c->next = mine.chunks;
    mine.chunks = c;
    mine.n_chunks++;
}

/* ---- blocks ---- */

static struct kept *oldest(void)
{
    return OWL_CONTAINER(mine.longs.prev, struct kept, link);
}

static void unlink_kept(struct kept *k)
{
    owl_list_del(&k->link);
    mine.n_longs--;
    mine.bytes -= k->size;
}

static void give_back(struct kept *k)
{
    unlink_kept(k);
    owl_free(k);
}

/* One that is kept and not twice as long as needed, or NULL. */
static struct kept *find(size_t n)
{
    if (mine.n_longs == 0)
        return NULL;
    OWL_LIST_EACH (&mine.longs, it) {
        struct kept *k = OWL_CONTAINER(it, struct kept, link);
        if (k->size >= n && k->size / 2 <= n)
            return k;
    }
    return NULL;
}

static void *take(size_t n, size_t *ret_size)
{
    struct kept *k = n >= LONG ? find(n) : NULL;
    if (!k || owl_alloc_denied())
        return NULL;
    unlink_kept(k);
    *ret_size = k->size;
    return k;
}

static size_t rounded(size_t n)
{
    if (n < LONG || n > SIZE_MAX / 2)
        return n;
    size_t step = ((size_t)1 << (63 - __builtin_clzll(n))) / SPARE_PARTS;
    return step ? (n + step - 1) / step * step : n;
}

void *owl_block_new(size_t n, size_t *ret_size)
{
    void *p = take(n, ret_size);
    if (p)
        return p;
    *ret_size = rounded(n);
    return owl_malloc(*ret_size);
}

void *owl_block_grow(void *p, size_t *size, size_t n)
{
    size_t old_size = *size;
    OWL_ASSERT(n > old_size);
    void *moved = take(n, size);
    if (moved) {
        memcpy(moved, p, old_size);
        owl_block_free(p, old_size);
        return moved;
    }
    moved = owl_realloc(p, rounded(n));
    if (moved)
        *size = rounded(n);
    return moved;
}

void owl_block_free(void *p, size_t size)
{
    if (size < LONG || size > BYTES_MAX / 2 || !mine.keeps_long || !watch()) {
        owl_free(p);
        return;
    }
    struct kept *k = p;
    k->size = size;
    k->round = mine.round;
    mine.n_longs++;
    mine.bytes += size;
    owl_list_add(mine.longs.next, &k->link); /* in front */
    while (mine.n_longs > LONGS_MAX || mine.bytes > BYTES_MAX)
        give_back(oldest());
}

void owl_thread_keep_long(void)
{
    mine.keeps_long = LONGS_MAX > 0;
}

size_t owl_thread_kept(void)
{
    return mine.bytes;
}

void owl_thread_keep_less(void)
{
    while (mine.n_longs > 0 && oldest()->round != mine.round)
        give_back(oldest());
    mine.round++;
}

void owl_thread_keep_nothing(void)
{
    for (struct chunk *c; (c = mine.chunks);) {
        mine.chunks = c->next;
        owl_free(c);
    }
    mine.n_chunks = 0;
    while (mine.n_longs > 0)
        give_back(oldest());
    mine.watched = mine.keeps_long = false;
}
