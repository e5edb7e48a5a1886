/* cli/version.c - what this program is.
 * Threads: the main one. */
#include "cli/version.h"

#include <owlclaw/version.h>

static int print_json(struct owl_run *r)
{
    owl_json_writer *w = owl_json_writer_new();
    if (!w)
        return owl_run_json(r, w, OWL_EXIT_OK);
    owl_json_begin_object(w);
    owl_json_key(w, "version");
    owl_json_put_str(w, OWL_VERSION_STRING);
    owl_json_key(w, "protocolRevisions");
    owl_json_begin_array(w);
#define OWL_REVISION_ROW(symbol, name, era) owl_json_put_str(w, name);
#include "tbl/revisions.h"
    owl_json_end(w);
    owl_json_key(w, "libraries");
    owl_json_begin_object(w);
    /* OWL_CLI_LIBRARIES is the build's: OWL_LIBRARY("pcre2", "10.42") … */
#define OWL_LIBRARY(name, version) owl_json_key(w, name), owl_json_put_str(w, version);
    OWL_CLI_LIBRARIES
    owl_json_end(w);
    owl_json_end(w);
    return owl_run_json(r, w, OWL_EXIT_OK);
}

int owl_print_version(struct owl_run *r)
{
    if (r->json)
        return print_json(r);
    owl_print(r->out, OWL_PLAIN, "owlclaw %s\n", OWL_VERSION_STRING);
    return OWL_EXIT_OK;
}
