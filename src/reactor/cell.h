/* reactor/cell.h - an immutable object that is replaced as a whole: snapshot cells and pins.
 * Layer: reactor. Threads: publish from any, pin on a reactor's own thread.
 *
 * Each reactor holds one counted reference to the object that it last saw and hands it to its calls
 * by a plain count, so that reading costs one load of a generation and no shared write. */
#ifndef OWL_REACTOR_CELL_H
#define OWL_REACTOR_CELL_H

#include "reactor/reactor.h"

struct owl_cell;

/* What a call holds; `object` is valid until owl_pin_release(). */
struct owl_pin {
    void *object;
    unsigned _uses; /* plain: only the reactor's thread counts */
    bool _retired;  /* a newer object has taken its place */
    struct owl_reactor *_reactor;
    void (*_aunref)(void *);
};

/* @p aref and @p aunref count references to an object atomically. Takes one reference to @p
 * object. */
OWL_NODISCARD struct owl_cell *owl_cell_new(struct owl_runtime *rt, void *object,
                                            void (*aref)(void *), void (*aunref)(void *));
/* After all reactors have ended. Pins that are still held then live until they are released. */
void owl_cell_free(struct owl_cell *c);

/* [any] Replace the object; takes the caller's reference. */
void owl_cell_publish(struct owl_cell *c, void *object);
/* [any] The current object with a reference of the caller's own. */
void *owl_cell_get(struct owl_cell *c);

/* On @p r: the current object, by a plain count. NULL without memory. */
OWL_NODISCARD struct owl_pin *owl_cell_pin(struct owl_cell *c, struct owl_reactor *r);
/* On the same reactor, or anywhere after it has ended but before the runtime is freed. */
void owl_pin_release(struct owl_pin *pin);

#endif
