/* base/block.h - runs of memory that a thread keeps for the next ones that it needs.
 * Layer: base. Threads: any; what is freed stays with the thread that frees it.
 *
 * A chunk costs no call of the heap, and a long block no pages: to get those from the system and give
 * them back costs several times what filling them does, and everybody else on a reactor waits. Long
 * ones are kept only by threads that want to, which give them back now and then. */
#ifndef OWL_BASE_BLOCK_H
#define OWL_BASE_BLOCK_H

#include "base/base.h"

enum { OWL_CHUNK_BYTES = 4096 };

/* NULL without memory. */
OWL_NODISCARD void *owl_chunk_new(void);
void owl_chunk_free(void *p);

/* At least @p n bytes, *ret_size in fact. NULL without memory. */
OWL_NODISCARD void *owl_block_new(size_t n, size_t *ret_size);
/* One of @p n bytes, more than *size, with the same first *size; NULL: it stays as it is. */
OWL_NODISCARD void *owl_block_grow(void *p, size_t *size, size_t n);
void owl_block_free(void *p, size_t size);

/* From now on this thread keeps long blocks, too. */
void owl_thread_keep_long(void);
/* Bytes of long blocks that this thread keeps. */
size_t owl_thread_kept(void);
/* Gives those back that have been kept since before the last call of this, and that nobody needed. */
void owl_thread_keep_less(void);
/* Gives what this thread keeps back to the heap, and keeps no more long blocks. The end of a thread
 * does so too. */
void owl_thread_keep_nothing(void);

#endif
