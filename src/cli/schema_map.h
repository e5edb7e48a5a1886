/* cli/schema_map.h - documents that a schema refers to, from folders instead of the network.
 * Layer: cli. Threads: the main one.
 *
 * A map PREFIX=DIR answers a reference to PREFIX + rest with the file DIR/rest, read when the schema
 * refers to it. What is read stays in DIR: the segments of rest are decoded, none may be empty, "."
 * or "..", or hold a slash, and no symbolic link beneath DIR is followed. All maps together yield at
 * most OWL_SCHEMA_MAP_FILES regular files and OWL_FILE_MAX bytes. */
#ifndef OWL_CLI_SCHEMA_MAP_H
#define OWL_CLI_SCHEMA_MAP_H

#include "base/arena.h"
#include "codec/schema.h"

enum { OWL_SCHEMA_MAP_FILES = 1000, OWL_SCHEMA_MAP_PROBLEM = 1024 };

struct owl_schema_maps {
    struct owl_arena *arena;
    struct owl_schema_registry *registry; /* to compile with */
    struct owl_schema_map *first;
    size_t files, bytes;                  /* read so far */
    bool no_memory;                       /* ran out while a document was loaded */
    char problem[OWL_SCHEMA_MAP_PROBLEM]; /* why a document was not found; "" if none was mapped */
};

OWL_NODISCARD int owl_schema_maps_init(struct owl_schema_maps *m); /* 0 or -OWL_ENOMEM */
void owl_schema_maps_done(struct owl_schema_maps *m);
/* Adds "PREFIX=DIR". 0, -OWL_EINVAL (@p m has the problem) or -OWL_ENOMEM. */
OWL_NODISCARD int owl_schema_maps_add(struct owl_schema_maps *m, const char *map);

#endif
