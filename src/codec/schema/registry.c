/* codec/schema/registry.c - documents that schemas may refer to.
 * Threads: one fills it; any number may read it afterwards. */
#include "codec/schema/program.h"

#include "base/alloc.h"
#include "base/err.h"
#include "base/map.h"
#include "codec/scan.h"

struct owl_schema_registry {
    struct owl_arena *arena;
    struct owl_map documents; /* URI without fragment: struct document */
    void (*load)(void *data, owl_str uri);
    void *load_data;
};

struct document {
    owl_str text;
};

struct owl_schema_registry *owl_schema_registry_new(void)
{
    struct owl_arena *a = owl_arena_new(0);
    struct owl_schema_registry *r = a ? owl_arena_alloc(a, sizeof *r) : NULL;
    if (!r) {
        owl_arena_free(a);
        return NULL;
    }
    *r = (struct owl_schema_registry){.arena = a};
    owl_map_init(&r->documents);
    return r;
}

void owl_schema_registry_free(struct owl_schema_registry *r)
{
    if (!r)
        return;
    owl_map_done(&r->documents);
    owl_arena_free(r->arena);
}

static int put(struct owl_schema_registry *r, owl_str uri, struct document *d, owl_error *reterr)
{
    char *key = owl_arena_dup(r->arena, uri);
    if (!key)
        return owl_fail(reterr, OWL_ENOMEM, NULL);
    struct document *old = owl_map_get(&r->documents, uri);
    if (old == d)
        return 0;
    if (old)
        return owl_fail(reterr, OWL_EEXISTS, "a schema document \"%s\" is there already", key);
    if (owl_map_put(&r->documents, (owl_str){key, uri.n}, d, NULL))
        return owl_fail(reterr, OWL_ENOMEM, NULL);
    return 0;
}

/* The "$id" of the outermost schema, if it is absolute. */
static int id_of(struct owl_arena *a, owl_str text, owl_str *ret)
{
    *ret = (owl_str){NULL, 0};
    struct owl_tree t;
    owl_tree_init(&t, NULL, 0);
    int rc = owl_tree_read(&t, text);
    uint32_t id = rc == 0 ? owl_tree_get(&t, 0, OWL_STR("$id")) : 0;
    if (id && t.nodes[id].kind == OWL_NODE_STRING) {
        *ret = owl_tree_decode(&t, id, a);
        rc = ret->p ? 0 : -OWL_ENOMEM;
        *ret = owl_uri__without_fragment(*ret);
        if (!owl_uri__absolute(*ret))
            *ret = (owl_str){NULL, 0};
    }
    owl_tree_done(&t);
    return rc;
}

int owl_schema_registry_add(struct owl_schema_registry *r, owl_str uri, owl_str text,
                            owl_error *reterr)
{
    int rc = owl_json_scan(text, OWL_JSON_DEPTH, reterr);
    if (rc)
        return rc;
    owl_str id = {NULL, 0};
    struct document *d = owl_arena_alloc(r->arena, sizeof *d);
    char *copy = d ? owl_arena_dup(r->arena, text) : NULL;
    rc = copy ? id_of(r->arena, text, &id) : -OWL_ENOMEM;
    if (rc)
        return owl_fail(reterr, -rc, NULL);
    d->text = (owl_str){copy, text.n};
    uri = owl_uri__without_fragment(uri);
    if (uri.n > 0 && !owl_uri__absolute(uri))
        return owl_fail(reterr, OWL_EINVAL, "the URI of a schema document must be absolute");
    if (uri.n == 0 && id.n == 0)
        return owl_fail(reterr, OWL_EINVAL,
                        "a schema document needs a URI: give one, or an absolute \"$id\"");
    if (uri.n > 0)
        rc = put(r, uri, d, reterr);
    /* Somebody else may have that $id: then it is known by its URI only. */
    if (rc == 0 && id.n > 0 && (uri.n == 0 || !owl_map_get(&r->documents, id)))
        rc = put(r, id, d, reterr);
    return rc;
}

void owl_schema_registry_on_missing(struct owl_schema_registry *r,
                                    void (*load)(void *data, owl_str uri), void *data)
{
    r->load = load;
    r->load_data = data;
}

owl_str owl_schema__document(const struct owl_schema_registry *r, owl_str uri)
{
    const struct document *d = r ? owl_map_get(&r->documents, uri) : NULL;
    if (d)
        return d->text;
    owl_str builtin = owl_schema__builtin(uri);
    if (builtin.p || !r || !r->load)
        return builtin;
    r->load(r->load_data, uri);
    d = owl_map_get(&r->documents, uri);
    return d ? d->text : (owl_str){NULL, 0};
}
