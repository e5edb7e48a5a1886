/* config/internal.h - the steps that make a configuration; each is a file of its name.
 * Layer: config, private. Threads: that of the loading.
 *
 *     source, include   files are read, what they include before them
 *     shape             whatever their shape, they become one tree
 *     merge             later files over earlier ones
 *     environment       variables and options over files
 *     settle            ${VARIABLES} replaced, texts made what their keys want
 *     gate              files that were found run nothing before they are trusted
 *     judge             by the published schema, in plain sentences
 *     features, checks  what a schema cannot tell
 *     defaults          filled in
 *
 * Every step returns 0 or -OWL_ENOMEM; what is wrong with the input is a fault. */
#ifndef OWL_CONFIG_INTERNAL_H
#define OWL_CONFIG_INTERNAL_H

#include "base/map.h"
#include "config/config.h"
#include "config/keys.h"
#include "config/variables.h"

enum {
    OWL_CONFIG__FILE = 10 << 20,    /* bytes of one file */
    OWL_CONFIG__FILES = 256,        /* files of one configuration */
    OWL_CONFIG__INCLUDES = 16,      /* files that include one another */
    OWL_CONFIG__ENTRIES = 50000,    /* of folders that patterns look at, in all */
    OWL_CONFIG__MEMORY = 512 << 20, /* bytes of what is made of them */
    OWL_CONFIG__DEPTH = 128         /* levels of the tree that have keys */
};

struct owl_config {
    struct owl_arena *arena;
    struct owl_faults faults;
    struct owl_keys keys;
    uint32_t root; /* the key of mcp_server */
    struct owl_value *tree;
    struct owl_value *inputs;   /* a list, or NULL; only of what is as it was written */
    struct owl_source *sources; /* the first one stands for defaults */
    size_t n_sources, cap_sources;
    struct owl_ignored *ignored;
    size_t n_ignored, cap_ignored;
    const struct owl_value **hidden; /* values that came out of secret variables, by address */
    size_t n_hidden, cap_hidden;
    owl_str *checked; /* keys whose feature is to come, and that somebody has set: told once each */
    size_t n_checked, cap_checked;
    struct owl_map broken; /* name of a server: owl_str, the first fault within its entry */
    size_t inside;         /* errors within entries of servers */
};

/* What is needed while it is loaded. */
struct owl_load {
    struct owl_config *c;
    const struct owl_config_options *o;
    struct owl_variables variables;
    const char *dir, *home;
    size_t entries;            /* of folders that patterns have looked at */
    bool too_many;             /* files; told once */
    uint32_t found, found_end; /* sources of our own file that was found, and what it includes */
    bool in_passing; /* the file at hand is a .kode.json in its place: it may have nothing for us */
};

/* The note of a value: a timeout of another program, which counts milliseconds from 1000 on. */
enum { OWL_NOTE__FOREIGN_TIME = 1 };

extern const unsigned char owl_config__schema_text[];
extern const size_t owl_config__schema_size;

/* ---- config ----------------------------------------------------------------------------- */

/* A new source; its name is copied. */
OWL_NODISCARD int owl_config__source(struct owl_config *c, enum owl_source_kind kind, owl_str name,
                                     uint32_t *ret);
OWL_NODISCARD int owl_config__ignore(struct owl_config *c, const struct owl_value *member);
/* Remembers a path that is checked only. */
OWL_NODISCARD int owl_config__checked(struct owl_config *c, owl_str path);
/* Whether @p v, which may be NULL, is the map of servers. */
bool owl_config__is_servers(const struct owl_config *c, const struct owl_value *v);
/* The entry of a server that @p v is at or within, or NULL. */
const struct owl_value *owl_config__server(const struct owl_config *c, const struct owl_value *v);
/* An error of what is at or within @p v: if that is the entry of a server, the server is broken.
 * Give the fault its words first; NULL: it has been told in other words. */
OWL_NODISCARD int owl_config__blame(struct owl_config *c, const struct owl_value *v,
                                    const struct owl_fault *f);
/* The same for the server of that name, which is borrowed. */
OWL_NODISCARD int owl_config__break(struct owl_config *c, owl_str server,
                                    const struct owl_fault *f);
/* Appends the dotted path of @p v, "mcp_server" for the tree itself. */
void owl_config__path(struct owl_buf *b, const struct owl_config *c, const struct owl_value *v);
/* The key of a value of the tree; 0: there is none. */
uint32_t owl_config__key(const struct owl_config *c, const struct owl_value *v);
/* The value came out of a secret variable. */
OWL_NODISCARD int owl_config__hide(struct owl_config *c, const struct owl_value *v);
static inline struct owl_mark owl_config__no_place(uint32_t source)
{
    return (struct owl_mark){source, 0, 0};
}

/* ---- walk ------------------------------------------------------------------------------- */

/* Values with their keys, each before what is in it:
 *     struct owl_walk w = owl_walk__of(c, c->tree);
 *     for (struct owl_value *v; (v = owl_walk__next(&w));) ... w.key ... */
struct owl_walk {
    const struct owl_keys *keys;
    struct owl_value *root, *v;
    uint32_t key; /* of v; 0: it has none */
    bool pass_by; /* set it: what is in v is left out */
    unsigned depth;
    uint32_t stack[OWL_CONFIG__DEPTH]; /* the keys of v's parents, outermost first */
};
struct owl_walk owl_walk__of(const struct owl_config *c, struct owl_value *root);
struct owl_value *owl_walk__next(struct owl_walk *w);

/* ---- steps ------------------------------------------------------------------------------ */

/* Reads one file; @p path is where, @p name what it is called. *ret_tree NULL: faults say why. */
OWL_NODISCARD int owl_source__read(struct owl_config *c, const char *path, owl_str name,
                                   uint32_t *ret_source, struct owl_value **ret_tree);
/* The text of a file, kept with its source; a fault says why *ret stays as it is. */
OWL_NODISCARD int owl_source__text(struct owl_config *c, const char *path, uint32_t source,
                                   owl_str *ret);
/* Parses the text of a source by the name of its file or, failing that, by its looks. */
OWL_NODISCARD int owl_source__parse(struct owl_config *c, uint32_t source,
                                    struct owl_value **ret_tree);
/* The language of a file, by its name or, failing that, by its looks. */
enum owl_format { OWL_FORMAT__YAML, OWL_FORMAT__TOML, OWL_FORMAT__JSON };
enum owl_format owl_source__format(const struct owl_source *s);
/* Line @p n of a source, without its end; absent: there is none. */
owl_str owl_source__line(const struct owl_source *s, uint32_t n);
/* The byte of a line at which a column begins. */
size_t owl_source__byte(owl_str line, uint32_t column);
/* A scalar as its file has it, as far as a glance can tell; absent: it is in none. */
owl_str owl_source__token(const struct owl_config *c, const struct owl_value *v);
/* How many characters that is; or its key, as the file spells it, quotes and all. */
uint32_t owl_source__width(const struct owl_config *c, const struct owl_value *v);
uint32_t owl_source__key_width(const struct owl_config *c, const struct owl_value *v);
/* @p name within @p dir, in the arena; an absolute one as it is. NULL without memory. */
char *owl_source__join(struct owl_arena *a, owl_str dir, owl_str name);
/* A file and all that it includes, which comes first. */
OWL_NODISCARD int owl_include__file(struct owl_load *l, const char *name);
/* Whether a file is one of ours, by its name, by having our key, or by nothing but includes. */
bool owl_shape__ours(const struct owl_config *c, uint32_t source, const struct owl_value *root);
/* Takes what is for us out of the root of a file, and merges it over what there is. */
OWL_NODISCARD int owl_shape__take(struct owl_load *l, uint32_t source, struct owl_value *root);

/* Puts @p from over @p into, both objects: maps are merged by key, all else is replaced but by what
 * is empty. @p from is used up. */
OWL_NODISCARD int owl_merge__over(struct owl_config *c, struct owl_value *into,
                                  struct owl_value *from);
/* Whether member @p m of what is at @p key is a null that stands for nothing there, which is told. */
bool owl_merge__is_empty(struct owl_config *c, uint32_t key, const struct owl_value *m);
/* Tells that @p m is a null which stands for nothing: a section whose lines are all commented out,
 * perhaps. */
void owl_merge__tell_empty(struct owl_config *c, const struct owl_value *m);
/* The member of that name: what is there, of whatever kind, or a new map. NULL without memory. */
struct owl_value *owl_merge__map(struct owl_config *c, struct owl_value *map, owl_str name,
                                 struct owl_mark at);
/* Makes @p into what @p from is, but for its name and place in the tree. */
void owl_merge__become(struct owl_value *into, struct owl_value *from);

OWL_NODISCARD int owl_environment__apply(struct owl_load *l);
OWL_NODISCARD int owl_settings__apply(struct owl_load *l);
/* Puts a text over the value of a dotted key, which exists in the schema. */
OWL_NODISCARD int owl_settings__put(struct owl_load *l, owl_str key, owl_str text, uint32_t source);

OWL_NODISCARD int owl_settle__tree(struct owl_load *l);
/* Whether the user has looked at this content of the file of that path, or has said that it need not be;
 * *ret_changed: at another content. */
bool owl_gate__trusted(struct owl_load *l, const char *path, owl_str text, bool *ret_changed);
/* Tells which files that were found would run something and are not trusted. */
OWL_NODISCARD int owl_gate__tree(struct owl_load *l);
/* Makes a string what its key wants, if it can be read as such; otherwise leaves it. */
OWL_NODISCARD int owl_coerce__text(struct owl_config *c, struct owl_value *v, uint32_t key);
/* Makes a string with a unit a number of the key's unit; leaves everything else. */
OWL_NODISCARD int owl_coerce__unit(struct owl_config *c, struct owl_value *v, uint32_t key);

/* Makes a number with that note a number of seconds. */
OWL_NODISCARD int owl_coerce__foreign_time(struct owl_config *c, struct owl_value *v);

OWL_NODISCARD int owl_judge__tree(struct owl_config *c);

/* ---- advice ----------------------------------------------------------------------------- */

/* A hint for a key that is none of @p parent: where it belongs, or what there is instead. */
void owl_advice__key(struct owl_config *c, uint32_t parent, owl_str name, struct owl_fault *f);
/* For a value of another type than its key wants. */
void owl_advice__type(struct owl_config *c, const struct owl_value *v, uint32_t key,
                      struct owl_fault *f);
/* For a time or a size that cannot be read, if it is clear what was meant. */
void owl_advice__unit(struct owl_config *c, const struct owl_value *v, uint32_t key,
                      struct owl_fault *f);
/* For a text that holds a character which nobody sees, or a quote that is none. */
void owl_advice__invisible(struct owl_config *c, owl_str text, struct owl_fault *f);
/* For a map whose members came from two files. */
void owl_advice__files(struct owl_config *c, const struct owl_value *map, struct owl_fault *f);

OWL_NODISCARD int owl_checks__tree(struct owl_config *c);
OWL_NODISCARD int owl_features__tree(struct owl_config *c);
OWL_NODISCARD int owl_defaults__fill(struct owl_config *c);

#endif
