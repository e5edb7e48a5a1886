/* base/arena.h - memory of one lifetime, freed at once.
 * Layer: base. Threads: an arena belongs to one thread at a time.
 *
 * With -Darena_debug=true every object is its own malloc, so that sanitizers see overruns and uses
 * after free inside an arena. */
#ifndef OWL_BASE_ARENA_H
#define OWL_BASE_ARENA_H

#include "base/base.h"

struct owl_arena;

/* A new arena that hands out at most @p cap bytes (0: no cap). NULL without memory. */
OWL_NODISCARD struct owl_arena *owl_arena_new(size_t cap);
void owl_arena_free(struct owl_arena *a);

/* 16-byte aligned, not zeroed. NULL when memory or the cap is exhausted; owl_arena_over() tells
 * which. */
OWL_NODISCARD void *owl_arena_alloc(struct owl_arena *a, size_t n);
OWL_NODISCARD void *owl_arena_zalloc(struct owl_arena *a, size_t n);
/* Grows the object in place when it is the newest one, otherwise moves it; it never moves to become
 * shorter. p NULL: a new object. */
OWL_NODISCARD void *owl_arena_realloc(struct owl_arena *a, void *p, size_t old_n, size_t new_n);
/* A NUL-terminated copy. */
OWL_NODISCARD char *owl_arena_dup(struct owl_arena *a, owl_str s);
/* Runs fn(data) when the arena is freed, newest first. Non-zero without memory (fn is not run). */
OWL_NODISCARD int owl_arena_cleanup(struct owl_arena *a, void (*fn)(void *), void *data);

/* Counts @p n bytes that live elsewhere, but as long as the arena, against the cap. False: they
 * do not fit, and are not counted. */
OWL_NODISCARD bool owl_arena_charge(struct owl_arena *a, size_t n);
bool owl_arena_over(const struct owl_arena *a);
size_t owl_arena_used(const struct owl_arena *a);

#endif
