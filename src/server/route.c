/* server/route.c - the table of routes: who is to answer a request.
 *
 * Threads: any. A table is immutable and counted; a change makes a new one under the server's lock
 * and publishes it. Reactors see it by a pin, and those without requests are told, so that what was
 * removed is freed.
 * Invariant: routes are freed under no lock. */
#include "server/route.h"

#include <stdlib.h>

#include "base/alloc.h"
#include "base/err.h"
#include "server/front.h"

enum { METHODS = OWL_HTTP_OTHER, ALLOW_BYTES = 80 };

static const owl_str method_names[METHODS] = {
    [OWL_HTTP_GET] = {"GET, ", 5},           [OWL_HTTP_HEAD] = {"HEAD, ", 6},
    [OWL_HTTP_POST] = {"POST, ", 6},         [OWL_HTTP_PUT] = {"PUT, ", 5},
    [OWL_HTTP_PATCH] = {"PATCH, ", 7},       [OWL_HTTP_DELETE] = {"DELETE, ", 8},
    [OWL_HTTP_OPTIONS] = {"OPTIONS\r\n", 9}, /* every path has it, as the last */
};

/* A route and its path; counted, each table holds it once. */
struct row {
    struct owl_route route;
    atomic_uint refs;
    size_t n;
    char path[];
};

/* All routes of a path. */
struct site {
    owl_str path;
    bool prefix;
    const struct row *rows[METHODS]; /* by method */
    size_t allow_n;
    char allow[ALLOW_BYTES]; /* the header line */
};

struct owl_route_table {
    atomic_uint refs;
    struct owl_map exact; /* path → site */
    size_t n_rows, n_sites, n_prefixes;
    struct row **rows;
    struct site **prefixes; /* the longest first */
    struct site sites[];
};

/* ---- one route ---- */

static void row_unref(struct row *row)
{
    if (!row || atomic_fetch_sub(&row->refs, 1u) > 1)
        return;
    if (row->route.free_data)
        row->route.free_data(row->route.data);
    owl_free(row);
}

static struct row *row_new(const struct owl_route *route)
{
    size_t n = strlen(route->path);
    struct row *row = owl_malloc(sizeof *row + n + 1);
    if (!row)
        return NULL;
    row->route = *route;
    atomic_init(&row->refs, 1u);
    row->n = n;
    memcpy(row->path, route->path, n + 1);
    row->route.path = row->path;
    return row;
}

static bool same_path(const struct row *row, owl_str path, unsigned flags)
{
    return ((row->route.flags ^ flags) & OWL_ROUTE_PREFIX) == 0 &&
           owl_str_eq((owl_str){row->path, row->n}, path);
}

static int check_route(const struct owl_route *r, owl_error *reterr)
{
    const unsigned known = (1u << METHODS) - 1 - (1u << OWL_HTTP_OPTIONS);
    size_t n = r->path ? strnlen(r->path, OWL_ROUTE_PATH_BYTES + 1) : 0;
    if (n == 0 || n > OWL_ROUTE_PATH_BYTES || r->path[0] != '/' || strpbrk(r->path, "?# "))
        return owl_fail(reterr, OWL_EINVAL,
                        "a route needs a path such as /health, of %d bytes at most",
                        (int)OWL_ROUTE_PATH_BYTES);
    if ((r->flags & OWL_ROUTE_PREFIX) && r->path[n - 1] != '/')
        return owl_fail(reterr, OWL_EINVAL, "the route %s: a prefix ends in /", r->path);
    if (!r->methods || (r->methods & ~known))
        return owl_fail(reterr, OWL_EINVAL,
                        "the route %s: its methods are some of GET, HEAD, POST, PUT, PATCH, DELETE",
                        r->path);
    if (!r->handler)
        return owl_fail(reterr, OWL_EINVAL, "the route %s has no handler", r->path);
    return 0;
}

/* ---- a table ---- */

static void table_unref(void *table)
{
    struct owl_route_table *t = table;
    if (!t || atomic_fetch_sub(&t->refs, 1u) > 1)
        return;
    for (size_t i = 0; i < t->n_rows; i++)
        row_unref(t->rows[i]);
    owl_map_done(&t->exact);
    owl_free(t->rows);
    owl_free(t->prefixes);
    owl_free(t);
}

static void table_ref(void *table)
{
    atomic_fetch_add(&((struct owl_route_table *)table)->refs, 1u);
}

/* Room for @p n routes. */
static struct owl_route_table *table_new(size_t n)
{
    struct owl_route_table *t = owl_calloc(1, sizeof *t + n * sizeof t->sites[0]);
    if (!t)
        return NULL;
    atomic_init(&t->refs, 1u);
    owl_map_init(&t->exact);
    t->rows = owl_calloc(n + 1, sizeof(struct row *));
    t->prefixes = owl_calloc(n + 1, sizeof(struct site *));
    if (t->rows && t->prefixes)
        return t;
    table_unref(t);
    return NULL;
}

/* The site of the row's path; a new one without memory for it is NULL. */
static struct site *site_of(struct owl_route_table *t, const struct row *row)
{
    owl_str path = {row->path, row->n};
    bool prefix = row->route.flags & OWL_ROUTE_PREFIX;
    for (size_t i = 0; i < t->n_sites; i++)
        if (t->sites[i].prefix == prefix && owl_str_eq(t->sites[i].path, path))
            return &t->sites[i];
    struct site *site = &t->sites[t->n_sites];
    *site = (struct site){.path = path, .prefix = prefix};
    if (prefix)
        t->prefixes[t->n_prefixes++] = site;
    else if (owl_map_put(&t->exact, path, site, NULL) != 0)
        return NULL;
    t->n_sites++;
    return site;
}

/* Counts the row. 0 or -OWL_ENOMEM. */
static int table_add(struct owl_route_table *t, struct row *row)
{
    struct site *site = site_of(t, row);
    if (!site)
        return -OWL_ENOMEM;
    atomic_fetch_add(&row->refs, 1u);
    t->rows[t->n_rows++] = row;
    for (unsigned m = 0; m < METHODS; m++)
        if (row->route.methods & 1u << m)
            site->rows[m] = row;
    return 0;
}

static void put_allow(struct site *site, owl_str s)
{
    OWL_ASSERT(site->allow_n + s.n <= sizeof site->allow);
    memcpy(site->allow + site->allow_n, s.p, s.n);
    site->allow_n += s.n;
}

static int by_length(const void *a, const void *b)
{
    size_t n = (*(struct site *const *)a)->path.n, k = (*(struct site *const *)b)->path.n;
    return n < k ? 1 : n > k ? -1 : 0;
}

static void table_finish(struct owl_route_table *t)
{
    qsort(t->prefixes, t->n_prefixes, sizeof(struct site *), by_length);
    for (size_t i = 0; i < t->n_sites; i++) {
        struct site *site = &t->sites[i];
        put_allow(site, OWL_STR("Allow: "));
        for (unsigned m = 0; m < METHODS; m++)
            if (site->rows[m] || m == OWL_HTTP_OPTIONS)
                put_allow(site, method_names[m]);
    }
}

/* The table @p old (or none) with one row more or less (or neither); NULL without memory. */
static struct owl_route_table *table_with(const struct owl_route_table *old, struct row *more,
                                          const struct row *less)
{
    size_t n = old ? old->n_rows : 0;
    struct owl_route_table *t = table_new(n + 1);
    int rc = t ? 0 : -OWL_ENOMEM;
    for (size_t i = 0; i < n && rc == 0; i++)
        if (old->rows[i] != less)
            rc = table_add(t, old->rows[i]);
    if (rc == 0 && more)
        rc = table_add(t, more);
    if (rc == 0) {
        table_finish(t);
        return t;
    }
    table_unref(t);
    return NULL;
}

static const struct row *find_row(const struct owl_route_table *t, unsigned methods, owl_str path,
                                  unsigned flags)
{
    for (size_t i = 0; t && i < t->n_rows; i++)
        if ((t->rows[i]->route.methods & methods) && same_path(t->rows[i], path, flags))
            return t->rows[i];
    return NULL;
}

static const struct site *find_site(const struct owl_route_table *t, owl_str path)
{
    const struct site *site = owl_map_get(&t->exact, path);
    for (size_t i = 0; i < t->n_prefixes && !site; i++) {
        owl_str prefix = t->prefixes[i]->path;
        if (path.n >= prefix.n && memcmp(path.p, prefix.p, prefix.n) == 0)
            site = t->prefixes[i];
    }
    return site;
}

const struct owl_route *owl_route__find(const struct owl_route_table *t,
                                        enum owl_http_method method, owl_str path,
                                        owl_str *ret_allow)
{
    const struct site *site = find_site(t, path);
    *ret_allow = site ? (owl_str){site->allow, site->allow_n} : (owl_str){NULL, 0};
    const struct row *row = site && (unsigned)method < METHODS ? site->rows[method] : NULL;
    return row ? &row->route : NULL;
}

/* ---- changes ---- */

struct change {
    struct owl_msg msg;
    struct owl_server *server;
};

static void on_change(struct owl_reactor *r, struct owl_msg *m)
{
    struct change *c = OWL_CONTAINER(m, struct change, msg);
    struct owl_pin *pin = owl_cell_pin(c->server->route_cell, r);
    if (pin)
        owl_pin_release(pin);
    owl_free(c);
}

/* A reactor without requests lets go of the old table, too; without memory when its next request
 * comes. */
static void tell_reactors(struct owl_server *s)
{
    for (unsigned i = 0; i < owl_runtime_count(s->env.runtime); i++) {
        struct change *c = owl_malloc(sizeof *c);
        if (!c)
            return;
        *c = (struct change){.msg.run = on_change, .server = s};
        if (!owl_post(owl_runtime_at(s->env.runtime, i), &c->msg))
            owl_free(c); /* it has ended */
    }
}

/* Under the lock: @p t takes the place of the server's table, which is returned. */
static struct owl_route_table *swap(struct owl_server *s, struct owl_route_table *t)
{
    struct owl_route_table *old = s->routes;
    s->routes = t;
    if (s->route_cell) {
        table_ref(t);
        owl_cell_publish(s->route_cell, t);
    }
    return old;
}

/* Gives back the lock. */
static void unlock(struct owl_server *s, struct owl_route_table *old)
{
    bool running = s->route_cell;
    pthread_mutex_unlock(&s->lock);
    table_unref(old);
    if (old && running)
        tell_reactors(s);
}

int owl_server_add_route(struct owl_server *s, const struct owl_route *route, owl_error *reterr)
{
    struct owl_route_table *t = NULL, *old = NULL;
    int rc = check_route(route, reterr);
    if (rc != 0)
        return rc;
    struct row *row = row_new(route);
    pthread_mutex_lock(&s->lock);
    if (find_row(s->routes, route->methods, owl_str_of(route->path), route->flags))
        rc = owl_fail(reterr, OWL_EEXISTS, "a method of %s has a route already", route->path);
    else if (s->routes && s->routes->n_rows >= OWL_ROUTES)
        rc = owl_fail(reterr, OWL_ELIMIT, "%d routes are the most there may be", (int)OWL_ROUTES);
    else if (!row || !(t = table_with(s->routes, row, NULL)))
        rc = owl_fail(reterr, OWL_ENOMEM, NULL);
    else
        old = swap(s, t);
    unlock(s, old);
    if (rc != 0 && row)
        row->route.free_data = NULL;
    row_unref(row);
    return rc;
}

int owl_server_remove_route(struct owl_server *s, unsigned methods, const char *path,
                            unsigned flags)
{
    struct owl_route_table *t = NULL, *old = NULL;
    int rc = 0;
    pthread_mutex_lock(&s->lock);
    const struct row *row = find_row(s->routes, methods, owl_str_of(path), flags);
    if (!row)
        rc = -OWL_ENOTFOUND;
    else if (!(t = table_with(s->routes, NULL, row)))
        rc = -OWL_ENOMEM;
    else
        old = swap(s, t);
    unlock(s, old);
    return rc;
}

/* ---- life ---- */

int owl_routes_start(struct owl_server *s)
{
    for (unsigned i = 0; i < owl_runtime_count(s->env.runtime); i++)
        owl_list_init(&s->local[i].entries);
    table_ref(s->routes);
    s->route_cell = owl_cell_new(s->env.runtime, s->routes, table_ref, table_unref);
    if (s->route_cell)
        return 0;
    table_unref(s->routes);
    return -OWL_ENOMEM;
}

void owl_routes_done(struct owl_server *s)
{
    owl_cell_free(s->route_cell);
    table_unref(s->routes);
}
