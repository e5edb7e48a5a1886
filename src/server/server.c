/* server/server.c - an owl_server before it runs: options, and what it serves.
 *
 * Threads: any; the lock orders registration against the start. */
#include "server/server.h"

#include <dlfcn.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/sized.h"
#include "codec/json.h"
#include "codec/scan.h"
#include "mcp/headers.h"

const struct owl_method *const owl_methods[] = {
#define OWL_METHOD_ROW(sym) &owl_method_##sym,
#include "tbl/methods.h"
};
const size_t owl_methods_count = OWL_COUNT(owl_methods);

enum {
    TASK_POLL_MS = 500,
    SHOWN_BYTES = 60 /* of a host that is none, in a message */
};

/* ---- options ---- */

static unsigned or_default(unsigned v, unsigned d)
{
    return v ? v : d;
}

static int read_options(const owl_server_options *in, owl_server_options *ret, owl_error *reterr)
{
    int rc = OWL_SIZED_READ(ret, owl_server_options, version, in, reterr);
    if (rc != 0)
        return rc;
    if (!ret->name || !*ret->name)
        return owl_fail(reterr, OWL_EINVAL, "options.name is missing");
    if (!ret->version || !*ret->version)
        return owl_fail(reterr, OWL_EINVAL, "options.version is missing");
    if (ret->reactors > 256 || ret->workers > 1024)
        return owl_fail(reterr, OWL_EINVAL, "options: at most 256 reactors and 1024 workers");
    if (ret->log_level > OWL_LEVEL_EMERGENCY)
        return owl_fail(reterr, OWL_EINVAL, "options.log_level is no owl_level");
    if (ret->error_style > OWL_ERRORS_LAYERED)
        return owl_fail(reterr, OWL_EINVAL, "options.error_style is no owl_error_style");
    if (ret->offers & ~(unsigned)(OWL_OFFERS_TOOLS | OWL_OFFERS_RESOURCES | OWL_OFFERS_PROMPTS))
        return owl_fail(reterr, OWL_EINVAL, "options.offers has other bits than OWL_OFFERS_…");
    return 0;
}

static int copy_text(char **ret, const char *z, const char *what, owl_error *reterr)
{
    if (z && !owl_utf8_valid(owl_str_of(z)))
        return owl_fail(reterr, OWL_EINVAL, "options.%s is not valid UTF-8", what);
    *ret = owl_strdup(z);
    return z && !*ret ? owl_fail(reterr, OWL_ENOMEM, NULL) : 0;
}

/* An entry that no Host can ever be like is a mistake. A list without any is none. */
static int copy_hosts(struct owl_server *s, const char *hosts, owl_error *reterr)
{
    owl_str list = owl_str_trim(owl_str_of(hosts));
    int rc = list.n ? copy_text(&s->allow_hosts, hosts, "allow_hosts", reterr) : 0;
    if (rc != 0 || list.n == 0)
        return rc;
    for (owl_str entry; owl_str_split(&list, ',', &entry);) {
        entry = owl_str_trim(entry);
        if (!owl_mcp_host_valid(entry))
            return owl_fail(reterr, OWL_EINVAL,
                            "options.allow_hosts: \"%.*s\" is no host: write a name, without a "
                            "scheme, as in mcp.example.com, mcp.example.com:8080 or [::1], or * "
                            "for every host",
                            entry.n > SHOWN_BYTES ? SHOWN_BYTES : (int)entry.n, entry.p);
    }
    return 0;
}

static int write_info(struct owl_server *s, const owl_server_options *o)
{
    owl_buf_init(&s->info, 64 * 1024);
    owl_buf_putz(&s->info, "{\"name\":");
    owl_json_quote(&s->info, owl_str_of(o->name));
    owl_buf_putz(&s->info, ",\"version\":");
    owl_json_quote(&s->info, owl_str_of(o->version));
    if (o->title) {
        owl_buf_putz(&s->info, ",\"title\":");
        owl_json_quote(&s->info, owl_str_of(o->title));
    }
    owl_buf_putc(&s->info, '}');
    s->env.server_info = owl_buf_str(&s->info);
    return s->info.rc;
}

/* Whoever sets a limit means everybody: only the default spares the machine itself. */
static int limit_peers(struct owl_server *s, const owl_server_options *o, owl_error *reterr)
{
    owl_error why;
    bool given = o->limits && o->limits->size >= offsetof(owl_limits, queue_bytes) &&
                 o->limits->connections_per_peer;
    int rc = owl_nets_parse(owl_str_of(o->trusted_proxies), &s->trusted_proxies, &why);
    if (rc != 0)
        return owl_fail(reterr, -rc, "options.trusted_proxies: %s", why.message);
    s->peers = owl_peers_new(
        &(struct owl_peers_options){.max = (unsigned)s->limits.connections_per_peer,
                                    .count_local = given,
                                    .exempt = s->trusted_proxies});
    return s->peers ? 0 : owl_fail(reterr, OWL_ENOMEM, NULL);
}

/* Nobody takes the results of its calls any more, nor answers their requests. */
static void on_session_end(void *user, struct owl_session *session)
{
    struct owl_server *s = user;
    owl_replay_table_forget(s->replays, owl_session_serial(session));
    owl_peer_session_ended(s, session);
    owl_dispatch_cancel_all(s, owl_session_serial(session));
}

static unsigned declared(unsigned offers)
{
    return (offers & OWL_OFFERS_TOOLS ? OWL_CAP_TOOLS : 0u) |
           (offers & OWL_OFFERS_RESOURCES ? OWL_CAP_RESOURCES : 0u) |
           (offers & OWL_OFFERS_PROMPTS ? OWL_CAP_PROMPTS : 0u);
}

static int apply_options(struct owl_server *s, const owl_server_options *o, owl_error *reterr)
{
    long cores = sysconf(_SC_NPROCESSORS_ONLN);
    unsigned n = cores > 0 ? (unsigned)cores : 1;
    s->log = (struct owl_log){o->log, o->log_data, or_default(o->log_level, OWL_LEVEL_INFO)};
    s->reactors = or_default(o->reactors, n);
    s->workers = or_default(o->workers, n * 4 < 8 ? 8 : n * 4);
    int rc = owl_limits_read(o->limits, &s->limits, reterr);
    if (rc != 0)
        return rc;
    struct owl_replay_limits replay = {
        .replay_bytes = s->limits.replay_bytes,
        .replay_events = (unsigned)s->limits.replay_events,
        .replay_streams = (unsigned)s->limits.replay_streams,
        .replay_total_bytes = s->limits.replay_total_bytes,
        .replay_ms = (unsigned)s->limits.replay_ms,
    };
    s->revs = OWL_REV_ALL;
    s->env.log = &s->log;
    s->env.policy = &owl_policy_none;
    s->env.timeout_ms = or_default(o->timeout_ms, 300000);
    s->env.list_ttl_ms = o->list_ttl_ms;
    s->env.error_style = (enum owl_error_style)o->error_style;
    s->env.limits = &s->limits;
    s->streams.max = s->limits.streams;
    s->registry = owl_registry_new(o->page_items);
    s->sessions = owl_sessions_new(s->limits.sessions, s->limits.session_idle_ms,
                                   s->limits.subscription_bytes);
    s->replays = owl_replay_table_new(&replay);
    s->env.tasks = owl_task_store_memory_new(s->limits.tasks, s->limits.task_bytes);
    s->env.task_changed = owl_subs_task;
    s->env.task_poll_ms = TASK_POLL_MS;
    if (!s->registry || !s->sessions || !s->replays || !s->env.tasks)
        return owl_fail(reterr, OWL_ENOMEM, NULL);
    owl_registry_declare(s->registry, declared(o->offers));
    OWL_IGNORE(owl_sessions_observe(/* the first of them */
                                    s->sessions, &(struct owl_session_observer){
                                                     .ended = on_session_end, .user = s}));
    if (owl_state_key_init(&s->env.state_key, o->state_key) != 0)
        return owl_fail(reterr, OWL_EIO, "no random numbers from the system");
    rc = o->revisions ? owl_revs_parse(owl_str_of(o->revisions), &s->revs, reterr) : 0;
    s->legacy = owl_revs_newest(s->revs, OWL_ERA_LEGACY) >= 0;
    if (rc == 0)
        rc = copy_text(&s->name, o->name, "name", reterr);
    if (rc == 0)
        rc = copy_text(&s->version, o->version, "version", reterr);
    if (rc == 0)
        rc = copy_text(&s->title, o->title, "title", reterr);
    if (rc == 0)
        rc = copy_text(&s->instructions, o->instructions, "instructions", reterr);
    if (rc == 0)
        rc = copy_hosts(s, o->allow_hosts, reterr);
    if (rc == 0)
        rc = limit_peers(s, o, reterr);
    if (rc == 0)
        rc = owl_cors_new(owl_str_of(o->cors_origins), &s->cors, reterr);
    if (rc == 0 && write_info(s, o) != 0)
        rc = owl_fail(reterr, OWL_ENOMEM, NULL);
    return rc;
}

static int add_methods(struct owl_server *s)
{
    int rc = 0;
    for (size_t i = 0; i < owl_methods_count && rc == 0; i++) {
        /* The map keeps pointers to mutable things elsewhere; descriptors are only read. */
        union {
            const struct owl_method *c;
            void *p;
        } m = {owl_methods[i]};
        rc = owl_map_put(&s->methods, owl_str_of(m.c->name), m.p, NULL);
    }
    return rc;
}

owl_server *owl_call_server(owl_call *c)
{
    return owl_server_of(c);
}

int owl_server_new(const owl_server_options *options, owl_server **ret_server, owl_error *reterr)
{
    owl_server_options o = {0};
    int rc = read_options(options, &o, reterr);
    if (rc != 0)
        return rc;
    struct owl_server *s = owl_calloc(1, sizeof *s);
    if (!s)
        return owl_fail(reterr, OWL_ENOMEM, NULL);
    pthread_mutex_init(&s->lock, NULL);
    pthread_cond_init(&s->going, NULL);
    owl_map_init(&s->methods);
    owl_subs_init(s);
    s->stdio_in = s->stdio_out = -1;
    rc = apply_options(s, &o, reterr);
    if (rc == 0 && (rc = add_methods(s)) != 0)
        owl_fail(reterr, OWL_ENOMEM, NULL);
    if (rc == 0)
        rc = owl_routes_add(s, reterr);
    if (rc != 0) {
        owl_server_free(s);
        return rc;
    }
    *ret_server = s;
    return 0;
}

static void free_lists(struct owl_server *s)
{
    for (struct owl_custom *c; (c = s->customs);) {
        s->customs = c->next;
        if (c->free_data)
            c->free_data(c->data);
        owl_free(c->name);
        owl_free(c);
    }
    for (struct owl_extension *e; (e = s->extensions);) {
        s->extensions = e->next;
        owl_free(e->id);
        owl_free(e->settings);
        owl_free(e);
    }
    owl_addresses__reap(s, true);
    for (struct owl_plugin_handle *p; (p = s->plugins);) {
        s->plugins = p->next;
        if (p->def->done)
            p->def->done(s, p->data);
        owl_free(p);
    }
}

void owl_server_free(owl_server *s)
{
    if (!s)
        return;
    if (atomic_load(&s->phase) != OWL_PHASE_NEW && atomic_load(&s->phase) != OWL_PHASE_STOPPED) {
        owl_server__drain(s);
        OWL_IGNORE(owl_server_join(s)); /* it has been started: this cannot fail */
    }
    owl_call_env_done(&s->env);
    owl_http_free(s->http);
    owl_cell_free(s->env.registry);
    owl_routes_done(s);
    owl_peer_done(s);
    owl_subs_done(s);
    for (unsigned i = 0; s->local && i < owl_runtime_count(s->env.runtime); i++)
        owl_map_done(&s->local[i].sse_ids);
    owl_free(s->local);
    owl_registry_free(s->registry);
    free_lists(s);
    owl_cors_free(s->cors);
    owl_sessions_free(s->sessions);
    owl_replay_table_free(s->replays);
    if (s->env.tasks)
        s->env.tasks->ops->free(s->env.tasks);
    owl_runtime_aunref(s->env.runtime);
    owl_peers_free(s->peers);
    owl_nets_free(s->trusted_proxies);
    owl_map_done(&s->methods);
    owl_buf_done(&s->info);
    owl_free(s->name);
    owl_free(s->version);
    owl_free(s->title);
    owl_free(s->instructions);
    owl_free(s->allow_hosts);
    pthread_cond_destroy(&s->going);
    pthread_mutex_destroy(&s->lock);
    owl_free(s);
}

/* ---- what to serve ---- */

int owl_server_publish(struct owl_server *s, unsigned changes)
{
    pthread_mutex_lock(
        &s->lock); /* snapshots are published in the order in which they were taken */
    struct owl_snapshot *snap = NULL;
    bool running = s->env.registry != NULL;
    if (running && (snap = owl_registry_snapshot(s->registry)))
        owl_cell_publish(s->env.registry, snap);
    pthread_mutex_unlock(&s->lock);
    if (running && snap)
        owl_subs_changed(s, changes);
    return running && !snap ? -OWL_ENOMEM : 0;
}

/* The registry has changed, whatever happens now: without memory clients see it a little later. */
static void publish_or_later(struct owl_server *s, unsigned changes)
{
    if (owl_server_publish(s, changes) == 0)
        return;
    atomic_fetch_or(&s->unpublished, changes);
    OWL_LOG(&s->log, OWL_LEVEL_ERROR, "registry", "out of memory: a change is not visible yet");
}

/* Takes the item, which keeps its kind although it may be gone afterwards. */
static int put_item(struct owl_server *s, struct owl_item *item, owl_error *reterr)
{
    enum owl_kind kind = item->kind;
    int rc = owl_registry_put(s->registry, item);
    if (rc != 0) {
        item->free_data = NULL; /* a failed registration leaves the data with the caller */
        owl_item_aunref(item);
        return owl_fail(reterr, -rc, NULL);
    }
    publish_or_later(s, owl_kind_change(kind));
    return 0;
}

int owl_server_add_tool(owl_server *s, const owl_tool *tool, owl_error *reterr)
{
    struct owl_item *item;
    int rc = owl_item_tool(tool, &item, reterr);
    return rc == 0 ? put_item(s, item, reterr) : rc;
}

int owl_server_add_resource(owl_server *s, const owl_resource *resource, owl_error *reterr)
{
    struct owl_item *item;
    int rc = owl_item_resource(resource, &item, reterr);
    return rc == 0 ? put_item(s, item, reterr) : rc;
}

int owl_server_add_prompt(owl_server *s, const owl_prompt *prompt, owl_error *reterr)
{
    struct owl_item *item;
    int rc = owl_item_prompt(prompt, &item, reterr);
    return rc == 0 ? put_item(s, item, reterr) : rc;
}

static int remove_item(struct owl_server *s, enum owl_kind kind, const char *key)
{
    int rc = owl_registry_remove(s->registry, kind, owl_str_of(key));
    if (rc == 0)
        publish_or_later(s, owl_kind_change(kind));
    return rc;
}

int owl_server_remove_tool(owl_server *s, const char *name)
{
    return remove_item(s, OWL_KIND_TOOL, name);
}

int owl_server_remove_resource(owl_server *s, const char *uri)
{
    return remove_item(s, uri && strchr(uri, '{') ? OWL_KIND_TEMPLATE : OWL_KIND_RESOURCE, uri);
}

int owl_server_remove_prompt(owl_server *s, const char *name)
{
    return remove_item(s, OWL_KIND_PROMPT, name);
}

int owl_server_resource_updated(owl_server *s, const char *uri)
{
    pthread_mutex_lock(&s->lock);
    bool running = s->env.runtime != NULL;
    pthread_mutex_unlock(&s->lock);
    if (!uri)
        return -OWL_EINVAL;
    return running ? owl_subs_updated(s, owl_str_of(uri)) : 0;
}

/* ---- beyond the core protocol ---- */

static enum owl_verdict resolve_custom(struct owl_call *c)
{
    /* Every custom method is embedded in its struct owl_custom. */
    const struct owl_custom *m = (const void *)((const char *)c->method -
                                                offsetof(struct owl_custom, method));
    char *name = owl_arena_dup(c->arena, owl_str_of(m->name)); /* ends in NUL, unlike the message */
    if (!name)
        return owl_call_set_failure(c, OWL_ENOMEM, "%s", owl_err_info(OWL_ENOMEM)->text);
    c->req.name.p = name;
    if (m->timeout_ms && m->timeout_ms < c->env->timeout_ms)
        atomic_store(&c->deadline_ms, owl_now_ms() + m->timeout_ms);
    return owl_call_set_handler(c, m->handler, m->data, m->flags);
}

int owl_server_add_method(owl_server *s, const owl_method_def *in, owl_error *reterr)
{
    owl_method_def def;
    int rc = OWL_SIZED_READ(&def, owl_method_def, handler, in, reterr);
    if (rc != 0)
        return rc;
    if (!def.name || !*def.name || strlen(def.name) > OWL_RPC_METHOD_BYTES || !def.handler)
        return owl_fail(reterr, OWL_EINVAL, "a method needs a name and a handler");
    if (def.flags & ~(unsigned)(OWL_INLINE | OWL_CACHEABLE))
        return owl_fail(reterr, OWL_EINVAL,
                        "the method %s: flags other than OWL_INLINE and OWL_CACHEABLE", def.name);
    if (atomic_load(&s->phase) != OWL_PHASE_NEW)
        return owl_fail(reterr, OWL_ESTATE, "methods are added before the start");
    if (owl_map_get(&s->methods, owl_str_of(def.name)))
        return owl_fail(reterr, OWL_EEXISTS, "the method %s exists", def.name);
    struct owl_custom *m = owl_calloc(1, sizeof *m);
    char *name = owl_strdup(def.name);
    if (!m || !name || owl_map_put(&s->methods, owl_str_of(name), m, NULL) != 0) {
        owl_free(m);
        owl_free(name);
        return owl_fail(reterr, OWL_ENOMEM, NULL);
    }
    m->name = name;
    m->method = (struct owl_method){.name = name,
                                    .eras = OWL_IN_BOTH,
                                    .flags = def.flags & OWL_CACHEABLE ? OWL_M_CACHEABLE : 0,
                                    .resolve = resolve_custom};
    m->handler = def.handler;
    m->data = def.data;
    m->free_data = def.free_data;
    m->flags = def.flags;
    m->timeout_ms = def.timeout_ms;
    m->next = s->customs;
    s->customs = m;
    return 0;
}

int owl_server_add_extension(owl_server *s, const char *id, const char *settings, owl_error *reterr)
{
    owl_str text = owl_str_trim(owl_str_of(settings ? settings : "{}"));
    if (!id || !strchr(id, '/') || !owl_mcp_key_valid(owl_str_of(id)))
        return owl_fail(reterr, OWL_EINVAL, "an extension id has the form vendor.prefix/name");
    if (owl_json_scan(text, 64, reterr) != 0 || text.p[0] != '{')
        return owl_fail(reterr, OWL_EINVAL, "the settings of %s are no JSON object", id);
    if (atomic_load(&s->phase) != OWL_PHASE_NEW)
        return owl_fail(reterr, OWL_ESTATE, "extensions are declared before the start");
    if (strcmp(id, OWL_TASKS_EXTENSION) == 0)
        return owl_fail(reterr, OWL_EEXISTS,
                        "%s is declared by the server itself, once a tool has the flag OWL_TASK",
                        id);
    for (const struct owl_extension *other = s->extensions; other; other = other->next)
        if (strcmp(other->id, id) == 0)
            return owl_fail(reterr, OWL_EEXISTS, "the extension %s is declared already", id);
    struct owl_extension *e = owl_calloc(1, sizeof *e);
    struct owl_buf b;
    owl_buf_init(&b, 1 << 20);
    owl_json_compact(&b, text);
    if (!e || b.rc != 0 || !(e->id = owl_strdup(id)) || !(e->settings = owl_strndup(b.p, b.n))) {
        owl_free(e ? e->id : NULL);
        owl_free(e);
        owl_buf_done(&b);
        return owl_fail(reterr, OWL_ENOMEM, NULL);
    }
    owl_buf_done(&b);
    e->next = s->extensions;
    s->extensions = e;
    return 0;
}

static int check_plugin(const owl_plugin_def *def, const char *path, owl_error *reterr)
{
    if (!def)
        return owl_fail(reterr, OWL_EINVAL, "%s exports no owl_plugin", path);
    if (def->abi != OWL_PLUGIN_ABI)
        return owl_fail(reterr, OWL_EVERSION, "%s has plugin ABI %u, this library has %u", path,
                        def->abi, OWL_PLUGIN_ABI);
    if (def->size < sizeof *def || !def->init)
        return owl_fail(reterr, OWL_EINVAL, "%s: its owl_plugin is incomplete", path);
    return 0;
}

static int start_plugin(struct owl_server *s, const owl_plugin_def *def, const char *config,
                        owl_error *reterr)
{
    struct owl_plugin_handle *p = owl_calloc(1, sizeof *p);
    if (!p)
        return owl_fail(reterr, OWL_ENOMEM, NULL);
    if (reterr)
        *reterr = (owl_error){0};
    int rc = def->init(s, config, &p->data, reterr);
    if (rc != 0) {
        owl_free(p);
        /* One that does not say why has failed all the same. */
        return reterr && reterr->code ? rc : owl_fail(reterr, OWL_ETOOL, "%s failed", def->name);
    }
    p->def = def;
    pthread_mutex_lock(&s->lock);
    p->next = s->plugins;
    s->plugins = p;
    pthread_mutex_unlock(&s->lock);
    return 0;
}

int owl_server_load_plugin(owl_server *s, const char *path, const char *config, owl_error *reterr)
{
    void *handle = path ? dlopen(path, RTLD_NOW | RTLD_LOCAL) : NULL;
    if (!handle)
        return owl_fail(reterr, OWL_EIO, "%s", path ? dlerror() : "a plugin needs a path");
    const owl_plugin_def *def = dlsym(handle, "owl_plugin");
    int rc = check_plugin(def, path, reterr);
    if (rc != 0)
        dlclose(handle);
    /* From here on the object stays mapped, even if it fails: what it has registered points into
     * it. */
    return rc == 0 ? start_plugin(s, def, config, reterr) : rc;
}
