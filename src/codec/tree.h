/* codec/tree.h - an index of proved JSON text: one small node a value, in the order of the text.
 * Layer: codec. Threads: pure; a tree that was read is immutable.
 *
 * Nothing is decoded or converted: strings and numbers stay source bytes, so that numbers are exact
 * and every value knows where it stands. The nodes of an array are its elements; those of an object
 * are key, value, key, value …; the children of node i begin at i + 1, and the node behind node i
 * and all that is in it is nodes[i].next:
 *     for (uint32_t c = i + 1; c < t->nodes[i].next; c = t->nodes[c].next) ... */
#ifndef OWL_CODEC_TREE_H
#define OWL_CODEC_TREE_H

#include "base/arena.h"

enum owl_node_kind {
    OWL_NODE_NULL,
    OWL_NODE_FALSE,
    OWL_NODE_TRUE,
    OWL_NODE_NUMBER,
    OWL_NODE_STRING,
    OWL_NODE_ARRAY,
    OWL_NODE_OBJECT
};

struct owl_node {
    uint32_t at;    /* where it begins in the text; a string: behind its quote */
    uint32_t n;     /* its bytes; a string: without its quotes */
    uint32_t next;  /* the node behind it and all that is in it */
    uint32_t count; /* elements of an array, members of an object */
    uint8_t kind;
    bool escaped; /* a string that holds escapes */
    bool whole;   /* a number that is written without fraction and exponent */
};

struct owl_tree {
    const char *text; /* borrowed */
    struct owl_node *nodes;
    uint32_t n, cap;
    bool heap; /* the nodes have outgrown what the caller gave */
};

/* A tree whose first @p cap nodes are kept in @p nodes (may be NULL, 0). */
void owl_tree_init(struct owl_tree *t, struct owl_node *nodes, uint32_t cap);
void owl_tree_done(struct owl_tree *t);

/* Reads text that owl_json_scan() has proved; the text must outlive the tree. No heap as long as
 * the nodes fit. O(n). @errors OWL_ENOMEM, OWL_ELIMIT (2 GiB of text or more). */
OWL_NODISCARD int owl_tree_read(struct owl_tree *t, owl_str proved);

/* The source bytes of a value; of a string what is between its quotes. */
static inline owl_str owl_tree_text(const struct owl_tree *t, uint32_t node)
{
    return (owl_str){t->text + t->nodes[node].at, t->nodes[node].n};
}

/* The value of member @p key of an object, or 0: no value is at 0, where the root is. */
uint32_t owl_tree_get(const struct owl_tree *t, uint32_t object, owl_str key);
/* Whether a string node decodes to @p s. */
bool owl_tree_is(const struct owl_tree *t, uint32_t string, owl_str s);
/* The decoded string, NUL-terminated, in @p a; {NULL,0} without memory. */
owl_str owl_tree_decode(const struct owl_tree *t, uint32_t string, struct owl_arena *a);

/* Whether two values are equal as JSON Schema has it: numbers by value, objects whatever the order
 * of their members. *@p work falls by what is done; when it reaches 0 the answer means nothing.
 * @errors OWL_ENOMEM (below 64 levels no heap is needed). */
OWL_NODISCARD int owl_tree_equal(const struct owl_tree *a, uint32_t node_a,
                                 const struct owl_tree *b, uint32_t node_b, uint64_t *work,
                                 bool *ret);
/* Equal values have equal hashes. */
uint64_t owl_tree_hash(const struct owl_tree *t, uint32_t node);

#endif
