/* config/keys.h - the published schema as a map of keys: what may stand where, and what is said
 * about it.
 * Layer: config, private. Threads: pure; the map is immutable once read.
 *
 * A key is a schema within the schema: its node in the tree, 0 for none. References lead into
 * "$defs" of the same document; what stands beside a reference comes first. */
#ifndef OWL_CONFIG_KEYS_H
#define OWL_CONFIG_KEYS_H

#include "codec/tree.h"

enum owl_key_type {
    OWL_KEY__NULL = 1,
    OWL_KEY__BOOLEAN = 2,
    OWL_KEY__INTEGER = 4,
    OWL_KEY__NUMBER = 8,
    OWL_KEY__STRING = 16,
    OWL_KEY__ARRAY = 32,
    OWL_KEY__OBJECT = 64
};

enum owl_key_unit { OWL_UNIT__NONE, OWL_UNIT__SECONDS, OWL_UNIT__MILLISECONDS, OWL_UNIT__BYTES };

/* All that is known of one key. */
struct owl_key {
    const struct owl_key_member {
        owl_str name;
        uint32_t key;
    } * members; /* those with names of their own, no name twice */
    uint32_t n_members;
    uint32_t element;  /* the key of a list's elements; 0: anything goes */
    uint32_t entry;    /* the key of members whose names are free; 0: they are not */
    uint32_t fallback; /* the node of "default"; 0: there is none */
    uint8_t types;     /* bits of enum owl_key_type; 0: any */
    uint8_t unit;      /* enum owl_key_unit */
    bool secret;
    bool to_come;   /* x-feature */
    bool required;  /* some of its members are */
    bool optional;  /* x-optional: where it is not there, its defaults do not apply */
    bool variable;  /* a text with a variable passes for any value (it has an "if") */
    bool inverted;  /* x-not */
    uint32_t words; /* the node of x-values: other words for a value; 0: there are none */
    owl_str ours;   /* x-key: the key of ours that is meant; absent: the name itself */
};

struct owl_keys {
    struct owl_tree tree;
    struct owl_arena *arena;
    const struct owl_key **known; /* by node; those that a configuration can reach */
};

/* Reads a schema, which is borrowed. @errors OWL_EPARSE, OWL_ENOMEM. */
OWL_NODISCARD int owl_keys__init(struct owl_keys *k, owl_str schema);
void owl_keys__done(struct owl_keys *k);

/* What is known of a key; of 0, nothing. */
const struct owl_key *owl_keys__of(const struct owl_keys *k, uint32_t key);
/* The key of a member of the whole file, e.g. "mcp_server". */
uint32_t owl_keys__top(const struct owl_keys *k, owl_str name);
/* The key of member @p name of what is at @p key; 0: there is no such key. */
uint32_t owl_keys__member(const struct owl_keys *k, uint32_t key, owl_str name);
/* A dotted path from @p key on; 0: there is no such key. */
uint32_t owl_keys__path(const struct owl_keys *k, uint32_t key, owl_str path);

/* The member of @p key whose name is nearest to what was written, or absent. */
owl_str owl_keys__nearest(const struct owl_keys *k, uint32_t key, owl_str written);

/* Whether the schema has that very word, as a key or a value. */
bool owl_keys__word(const struct owl_keys *k, owl_str word);

/* What a keyword says about a key: its node, or 0. */
uint32_t owl_keys__find(const struct owl_keys *k, uint32_t key, owl_str keyword);
/* The same as text, absent if it is no string; no schema of ours has escapes there. */
owl_str owl_keys__text(const struct owl_keys *k, uint32_t key, owl_str keyword);

#endif
