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

/* Puts all nodes of @p from into @p to, which is initialized. */
static inline void owl_list_move(struct owl_list *to, struct owl_list *from)
{
    owl_list_init(to);
    if (owl_list_empty(from))
        return;
    *to = *from;
    to->next->prev = to->prev->next = to;
    owl_list_init(from);
}

/* Puts the first node of @p todo back to the end of @p home and returns it, NULL if there is none: for
 * a walk in which any node may be removed. */
static inline struct owl_list *owl_list_turn(struct owl_list *todo, struct owl_list *home)
{
    struct owl_list *node = todo->next;
    if (node == todo)
        return NULL;
    owl_list_del(node);
    owl_list_add(home, node);
    return node;
}

/* Walks the list; the current node may be removed. */
#define OWL_LIST_EACH(head, it) \
    for (struct owl_list *it = (head)->next, *it##_next = it->next; it != (head); \
         it = it##_next, it##_next = it->next)

#endif
