/* base/map.c - a hash map from byte strings to pointers.
 * Threads: one writer, or any number of readers.
 *
 * Open addressing with linear probing; a removal shifts the entries behind it back, so there are no
 * tombstones. Invariants: at least a quarter of the slots is free; between the home of an entry and
 * its slot no slot is free. */
#include "base/map.h"

#include "base/alloc.h"
#include "base/clock.h"

#include <pthread.h>
#include <stdatomic.h>

enum { FIRST = 8 };

struct owl_map_slot {
    uint64_t hash;
    owl_str key;
    void *v; /* NULL: free */
};

/* Secrets of this process. All multipliers are secret: with a known one a peer could choose a block
 * that makes a product zero, and so collide whatever the seed is. */
static uint64_t secret[4];
static pthread_once_t secret_once = PTHREAD_ONCE_INIT;
static atomic_bool secret_drawn; /* spares the call of pthread_once() */

static void draw_secret(void)
{
    if (owl_random(secret, sizeof secret) != 0) {
        /* No randomness in this system: what an outsider cannot see is the best that is left. */
        secret[0] = owl_now_ns();
        secret[1] = (uint64_t)(uintptr_t)&secret * 0x9e3779b97f4a7c15u;
        secret[2] = secret[0] * 0xd1342543de82ef95u;
        secret[3] = secret[1] ^ (secret[2] << 7) ^ 0x2545f4914f6cdd1du;
    }
    atomic_store_explicit(&secret_drawn, true, memory_order_release);
}

__extension__ typedef unsigned __int128 wide;

static inline uint64_t mix(uint64_t a, uint64_t b)
{
    wide product = (wide)a * b;
    return (uint64_t)product ^ (uint64_t)(product >> 64);
}

static inline uint64_t load8(const char *p)
{
    uint64_t v;
    memcpy(&v, p, sizeof v);
    return v;
}

static inline uint64_t load4(const char *p)
{
    uint32_t v;
    memcpy(&v, p, sizeof v);
    return v;
}

uint64_t owl_hash(owl_str key)
{
    if (OWL_UNLIKELY(!atomic_load_explicit(&secret_drawn, memory_order_acquire)))
        pthread_once(&secret_once, draw_secret);
    const char *p = key.p;
    size_t n = key.n;
    uint64_t h = secret[0] ^ n;
    for (; n > 16; p += 16, n -= 16)
        h = mix(load8(p) ^ secret[1], load8(p + 8) ^ h);
    uint64_t a = 0, b = 0;
    if (n >= 8) {
        a = load8(p);
        b = load8(p + n - 8);
    } else if (n >= 4) {
        a = load4(p);
        b = load4(p + n - 4);
    } else if (n > 0) {
        a = (uint64_t)(unsigned char)p[0] << 16 | (uint64_t)(unsigned char)p[n / 2] << 8 |
            (unsigned char)p[n - 1];
    }
    return mix(mix(a ^ secret[2], b ^ h), secret[3]);
}

void owl_map_init(struct owl_map *m)
{
    *m = (struct owl_map){0};
}

void owl_map_done(struct owl_map *m)
{
    owl_free(m->slots);
    owl_map_init(m);
}

/* The slot of @p key, or the free one where it belongs. The map has slots. */
static struct owl_map_slot *find(const struct owl_map *m, uint64_t hash, owl_str key)
{
    size_t mask = m->cap - 1;
    for (size_t i = hash & mask;; i = (i + 1) & mask) {
        struct owl_map_slot *s = &m->slots[i];
        if (!s->v || (s->hash == hash && owl_str_eq(s->key, key)))
            return s;
    }
}

void *owl_map_get(const struct owl_map *m, owl_str key)
{
    return m->n ? find(m, owl_hash(key), key)->v : NULL;
}

static int grow(struct owl_map *m)
{
    struct owl_map bigger = {.n = m->n, .cap = m->cap ? m->cap * 2 : FIRST};
    bigger.slots = owl_calloc(bigger.cap, sizeof *bigger.slots);
    if (!bigger.slots)
        return -OWL_ENOMEM;
    for (size_t i = 0; i < m->cap; i++) {
        const struct owl_map_slot *s = &m->slots[i];
        if (s->v)
            *find(&bigger, s->hash, s->key) = *s;
    }
    owl_free(m->slots);
    *m = bigger;
    return 0;
}

int owl_map_put(struct owl_map *m, owl_str key, void *v, void **ret_old)
{
    OWL_ASSERT(v);
    uint64_t hash = owl_hash(key);
    struct owl_map_slot *s = m->cap ? find(m, hash, key) : NULL;
    if (!s || (!s->v && m->n + 1 > m->cap / 4 * 3)) {
        if (grow(m))
            return -OWL_ENOMEM;
        s = find(m, hash, key);
    }
    if (ret_old)
        *ret_old = s->v;
    m->n += !s->v;
    *s = (struct owl_map_slot){hash, key, v};
    return 0;
}

void *owl_map_del(struct owl_map *m, owl_str key)
{
    struct owl_map_slot *hole = m->n ? find(m, owl_hash(key), key) : NULL;
    if (!hole || !hole->v)
        return NULL;
    void *v = hole->v;
    size_t mask = m->cap - 1;
    size_t at = (size_t)(hole - m->slots);
    for (size_t i = (at + 1) & mask; m->slots[i].v; i = (i + 1) & mask) {
        /* An entry may move back to the hole unless its home lies behind it. */
        size_t home = m->slots[i].hash & mask;
        if (((i - home) & mask) >= ((i - at) & mask)) {
            m->slots[at] = m->slots[i];
            at = i;
        }
    }
    m->slots[at] = (struct owl_map_slot){0};
    m->n--;
    return v;
}

bool owl_map_next(const struct owl_map *m, size_t *i, owl_str *ret_key, void **ret_v)
{
    while (*i < m->cap) {
        const struct owl_map_slot *s = &m->slots[(*i)++];
        if (!s->v)
            continue;
        if (ret_key)
            *ret_key = s->key;
        if (ret_v)
            *ret_v = s->v;
        return true;
    }
    return false;
}
