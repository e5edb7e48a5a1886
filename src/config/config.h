/* config/config.h - what the operator has configured: one tree in which every value knows where it
 * came from.
 * Layer: config. Threads: loading is for one thread; a configuration is immutable afterwards.
 *
 * However it is written - mcp-server.yaml, otter's TOML, .kode.json, the mcpServers of desktop
 * clients, the servers of editors - it becomes one tree, that of key `mcp_server` in the published
 * schema (schema.json beside this file), which is the only list of keys: their types, defaults,
 * units, variables, secrets and words of help are there and nowhere else.
 *
 * Options stand over variables of the environment, those over files, those over defaults; later
 * files stand over earlier ones. Nothing is started, opened for writing or fetched. */
#ifndef OWL_CONFIG_CONFIG_H
#define OWL_CONFIG_CONFIG_H

#include "formats/value.h"

struct owl_config;

/* One setting from the command line: "--port", "http.port", "8080". */
struct owl_setting {
    const char *option; /* as the user wrote it, for messages */
    const char *key;
    const char *value;
};

/* What is not given (zero) is taken from the process. */
struct owl_config_options {
    const char *const *files; /* read in this order; none: those of the default places */
    size_t n_files;
    const struct owl_setting *settings;
    size_t n_settings;
    const char *const *env; /* like environ */
    const char *dir;        /* where relative names begin */
    const char *home;
    bool trust_project; /* use the project's files whether or not they are trusted */
    bool to_run;     /* for a start: a file that may run nothing yet is an error, not a warning */
    bool as_written; /* what the files say, in our shape: no variables, settings or defaults */
};

/* Trust. A file that was found in the working directory, and what it includes, may come from anybody.
 * If it would run something - a server's command, a handler, a plugin, with variables of an env file -
 * it needs `owlclaw trust` once for each content (config/trust.h), unless it is named in `files` or
 * trust_project is set. Otherwise there is a fault that says so; with to_run it is an error, so that
 * owl_config_usable() is false. ./.kode.json is left out instead, with a warning. */

/* Our own files in the default place, of which the first that is there is read; NULL behind. */
extern const char *const owl_config_names[];

/* Reads and judges everything. There is always a configuration, whatever is wrong with it: its
 * faults say so. @errors OWL_ENOMEM; OWL_ELIMIT: the files become far more than they are, by
 * variables or by being included again and again. */
OWL_NODISCARD int owl_config_load(const struct owl_config_options *o, struct owl_config **ret);
void owl_config_free(struct owl_config *c);

/* All that was found, by source and place. */
const struct owl_faults *owl_config_faults(const struct owl_config *c);
/* Whether it may be used all the same: every error lies within the entry of a server, which then
 * cannot be used. */
bool owl_config_usable(const struct owl_config *c);

/* The effective tree: defaults filled in, variables replaced, durations in seconds and sizes in
 * bytes. A mark's source is an index into the sources. */
const struct owl_value *owl_config_tree(const struct owl_config *c);
/* Takes the next name off a dotted key; one with dots in it stands within quotes:
 * servers."a.b".command. False: there is none left. */
bool owl_config_step(owl_str *rest, owl_str *ret);
/* The value of a dotted key ("http.port"), or NULL. */
const struct owl_value *owl_config_get(const struct owl_config *c, const char *key);
/* Whether the value is not to be shown: by its schema, by its name, or because it came out of a
 * variable that is. */
bool owl_config_secret(const struct owl_config *c, const struct owl_value *v);

enum owl_source_kind { OWL_SOURCE_DEFAULT, OWL_SOURCE_FILE, OWL_SOURCE_ENV, OWL_SOURCE_OPTION };
struct owl_source {
    enum owl_source_kind kind;
    owl_str name; /* path as it was given, MCP_SERVER_HTTP_PORT, --port */
    owl_str text; /* of a file; absent if it could not be read */
    bool damaged; /* parts of it could not be understood, and are missing in the tree */
    const struct owl_value *include; /* the files that it names, or NULL */
};
size_t owl_config_sources(const struct owl_config *c, const struct owl_source **ret);

/* A member of another program's file that is not for us: its source, and key. */
struct owl_ignored {
    struct owl_mark at;
    owl_str key;
};
size_t owl_config_ignored(const struct owl_config *c, const struct owl_ignored **ret);

/* What ${input:id} stands for in a configuration as it was written: a list, or NULL. */
const struct owl_value *owl_config_inputs(const struct owl_config *c);

/* Why the server of that name cannot be used, or absent: the first fault within its entry. */
owl_str owl_config_server_fault(const struct owl_config *c, owl_str name);

/* The published schema, as JSON text. */
owl_str owl_config_schema(void);

#endif
