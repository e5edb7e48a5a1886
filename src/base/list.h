/* base/list.h - an intrusive doubly linked list.
 * Layer: base. Threads: one at a time. */
#ifndef OWL_BASE_LIST_H
#define OWL_BASE_LIST_H

#include "base/base.h"

struct owl_list {
    struct owl_list *prev, *next; /* a list head, or a node; a node in no list points to itself */
};

static inline void owl_list_init(struct owl_list *l)
{
    l->prev = l->next = l;
}

static inline bool owl_list_empty(const struct owl_list *l)
{
    return l->next == l;
}

/* Adds @p node at the end of @p head. */
static inline void owl_list_add(struct owl_list *head, struct owl_list *node)
{
    node->prev = head->prev;
    node->next = head;
    head->prev->next = node;
    head->prev = node;
}

/* Takes a node out; harmless if it is in no list. */
static inline void owl_list_del(struct owl_list *node)
{
    node->prev->next = node->next;
    node->next->prev = node->prev;
    owl_list_init(node);
}

/* Walks the list; the current node may be removed. */
#define OWL_LIST_EACH(head, it) \
    for (struct owl_list *it = (head)->next, *it##_next = it->next; it != (head); \
         it = it##_next, it##_next = it->next)

#endif
