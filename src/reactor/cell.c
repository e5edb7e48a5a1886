/* reactor/cell.c - snapshot cells.
 *
 * Threads: publish and get from any, under the lock; pin and release on the reactor's own, without
 * it as long as nothing new was published.
 * Invariants: the current pin of a reactor holds one reference to its object, whether calls use it
 * or not; a retired one holds it until its last use ends. The reference is taken under the lock
 * that a publisher needs to drop the cell's own, so an object cannot vanish between reading and
 * counting. */
#include "reactor/cell.h"

#include "base/alloc.h"
#include "reactor/internal.h"

struct owl_cell {
    pthread_mutex_t mu;
    void *object;         /* under mu */
    _Atomic uint64_t gen; /* written under mu */
    void (*aref)(void *);
    void (*aunref)(void *);
    unsigned n;
    struct slot {
        struct owl_pin *pin; /* NULL: never pinned here */
        uint64_t gen;
    } slots[]; /* one a reactor, touched by it alone */
};

struct owl_cell *owl_cell_new(struct owl_runtime *rt, void *object, void (*aref)(void *),
                              void (*aunref)(void *))
{
    unsigned n = owl_runtime_count(rt);
    struct owl_cell *c = owl_calloc(1, sizeof(*c) + n * sizeof(c->slots[0]));
    if (!c)
        return NULL;
    pthread_mutex_init(&c->mu, NULL);
    c->object = object;
    c->aref = aref;
    c->aunref = aunref;
    c->n = n;
    return c;
}

static void pin_drop(struct owl_pin *pin)
{
    pin->_aunref(pin->object);
    owl_free(pin);
}

static void pin_retire(struct owl_pin *pin)
{
    pin->_retired = true;
    if (pin->_uses == 0)
        pin_drop(pin);
}

void owl_cell_free(struct owl_cell *c)
{
    if (!c)
        return;
    for (unsigned i = 0; i < c->n; i++) {
        if (c->slots[i].pin)
            pin_retire(c->slots[i].pin);
    }
    c->aunref(c->object);
    pthread_mutex_destroy(&c->mu);
    owl_free(c);
}

void owl_cell_publish(struct owl_cell *c, void *object)
{
    pthread_mutex_lock(&c->mu);
    void *old = c->object;
    c->object = object;
    /* Release: a reactor that sees the generation has seen all that the publisher did before. */
    atomic_fetch_add_explicit(&c->gen, 1, memory_order_release);
    pthread_mutex_unlock(&c->mu);
    c->aunref(old);
}

/* A reference to the object, and its generation. */
static void *cell_take(struct owl_cell *c, uint64_t *ret_gen)
{
    pthread_mutex_lock(&c->mu);
    void *object = c->object;
    c->aref(object);
    *ret_gen = atomic_load_explicit(&c->gen, memory_order_relaxed);
    pthread_mutex_unlock(&c->mu);
    return object;
}

void *owl_cell_get(struct owl_cell *c)
{
    uint64_t gen;
    return cell_take(c, &gen);
}

struct owl_pin *owl_cell_pin(struct owl_cell *c, struct owl_reactor *r)
{
    owl_reactor_assert(r);
    struct slot *s = &c->slots[owl_reactor_index(r)];
    if (OWL_LIKELY(s->pin && s->gen == atomic_load_explicit(&c->gen, memory_order_acquire))) {
        s->pin->_uses++;
        return s->pin;
    }
    struct owl_pin *pin = owl_malloc(sizeof(*pin));
    if (!pin)
        return NULL;
    *pin = (struct owl_pin){
        .object = cell_take(c, &s->gen), ._uses = 1, ._reactor = r, ._aunref = c->aunref};
    if (s->pin)
        pin_retire(s->pin);
    s->pin = pin;
    return pin;
}

void owl_pin_release(struct owl_pin *pin)
{
    owl_reactor_assert(pin->_reactor);
    OWL_ASSERT(pin->_uses > 0);
    if (--pin->_uses == 0 && pin->_retired)
        pin_drop(pin);
}
