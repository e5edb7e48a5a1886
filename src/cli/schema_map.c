/* cli/schema_map.c - documents that a schema refers to, from folders instead of the network.
 * Threads: the main one.
 *
 * A path is walked one segment at a time from the folder's descriptor, so that a link or a renamed
 * folder cannot lead out of it, whatever happens meanwhile. */
#include "cli/schema_map.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/file.h"
#include "codec/uri.h"

struct owl_schema_map {
    struct owl_schema_map *next;
    owl_str prefix;
    const char *dir;
    int fd; /* the folder */
};

OWL_PRINTF(2, 3)
static int problem(struct owl_schema_maps *m, const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    OWL_IGNORE(vsnprintf(m->problem, sizeof m->problem, fmt, args) < 0); /* what fits is told */
    va_end(args);
    return -OWL_EINVAL;
}

/* ---- finding a file ------------------------------------------------------------------------- */

/* The longest prefix of the URI. */
static const struct owl_schema_map *find(const struct owl_schema_maps *m, owl_str uri)
{
    const struct owl_schema_map *best = NULL;
    for (const struct owl_schema_map *map = m->first; map; map = map->next) {
        if (uri.n >= map->prefix.n && memcmp(uri.p, map->prefix.p, map->prefix.n) == 0 &&
            (!best || map->prefix.n > best->prefix.n))
            best = map;
    }
    return best;
}

/* Whether a decoded segment names an entry of the folder that it is looked up in. */
static bool is_name(owl_str s)
{
    return s.n > 0 && !memchr(s.p, '/', s.n) && !owl_str_is(s, ".") && !owl_str_is(s, "..");
}

/* Opens what @p rest names beneath the folder: -1 with a problem, or a descriptor. */
static int open_beneath(struct owl_schema_maps *m, const struct owl_schema_map *map, owl_str rest)
{
    int fd = -1, folder = map->fd;
    owl_str left = rest, segment;
    while (owl_str_split(&left, '/', &segment)) {
        owl_str name = owl_uri_decode(m->arena, segment);
        int flags = O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | (left.p ? O_DIRECTORY : 0);
        bool good = name.p && is_name(name);
        fd = good ? openat(folder, name.p, flags) : -1;
        int error = errno;
        if (folder != map->fd)
            close(folder);
        folder = fd;
        if (!good) {
            problem(m, "the reference %.*s%.*s names nothing within the folder %s",
                    (int)map->prefix.n, map->prefix.p, (int)rest.n, rest.p, map->dir);
            return -1;
        }
        if (fd < 0) {
            bool link = error == ELOOP || error == EMLINK;
            problem(m, "%s/%.*s: %s", map->dir, (int)rest.n, rest.p,
                    link ? "symbolic links are not followed here" : strerror(error));
            return -1;
        }
    }
    struct stat st;
    if (fd >= 0 && (fstat(fd, &st) != 0 || !S_ISREG(st.st_mode))) {
        problem(m, "%s/%.*s: is no regular file", map->dir, (int)rest.n, rest.p);
        close(fd);
        return -1;
    }
    return fd;
}

/* ---- loading -------------------------------------------------------------------------------- */

static int add(struct owl_schema_maps *m, owl_str uri, const struct owl_file *f)
{
    owl_error error = {0};
    size_t at;
    int rc = owl_file_prove_json(f, &at, &error);
    struct owl_place place = owl_place_of(owl_file_text(f), at);
    if (rc == -OWL_ENOMEM)
        return rc;
    if (rc)
        return problem(m, "%s:%zu:%zu: %s", f->name, place.line, place.column, error.message);
    rc = owl_schema_registry_add(m->registry, uri, owl_file_text(f), &error);
    if (rc && rc != -OWL_ENOMEM)
        return problem(m, "%s: %s", f->name, error.message);
    return rc;
}

static void load_file(struct owl_schema_maps *m, const struct owl_schema_map *map, owl_str uri)
{
    owl_str rest = {uri.p + map->prefix.n, uri.n - map->prefix.n};
    int fd = open_beneath(m, map, rest);
    if (fd < 0)
        return;
    char name[OWL_SCHEMA_MAP_PROBLEM / 2];
    OWL_IGNORE(snprintf(name, sizeof name, "%s/%.*s", map->dir, (int)rest.n, rest.p) < 0);
    struct owl_file f = {.name = name};
    owl_error error = {0};
    int rc = owl_file_read_fd(&f, fd, OWL_FILE_MAX - m->bytes, &error);
    m->bytes += rc == 0 ? f.n : 0;
    if (rc == 0)
        rc = add(m, uri, &f);
    else if (rc != -OWL_ENOMEM)
        problem(m, "%s: %s", name, error.message);
    m->no_memory = rc == -OWL_ENOMEM;
    close(fd);
    owl_file_done(&f);
}

/* A schema refers to a document that is not registered. Why it is not found is kept: the compiler
 * can only say that the reference leads nowhere. */
static void load(void *data, owl_str uri)
{
    struct owl_schema_maps *m = data;
    const struct owl_schema_map *map = find(m, uri);
    if (!map)
        return;
    if (m->files++ < OWL_SCHEMA_MAP_FILES)
        load_file(m, map, uri);
    else
        problem(m, "the schema refers to more than %d files", OWL_SCHEMA_MAP_FILES);
}

/* ---- maps ----------------------------------------------------------------------------------- */

int owl_schema_maps_init(struct owl_schema_maps *m)
{
    *m = (struct owl_schema_maps){.arena = owl_arena_new(0), .registry = owl_schema_registry_new()};
    if (!m->arena || !m->registry) {
        owl_schema_maps_done(m);
        return -OWL_ENOMEM;
    }
    owl_schema_registry_on_missing(m->registry, load, m);
    return 0;
}

void owl_schema_maps_done(struct owl_schema_maps *m)
{
    for (struct owl_schema_map *map = m->first; map; map = map->next)
        close(map->fd);
    owl_schema_registry_free(m->registry);
    owl_arena_free(m->arena);
    *m = (struct owl_schema_maps){0};
}

int owl_schema_maps_add(struct owl_schema_maps *m, const char *text)
{
    const char *equals = strchr(text, '=');
    if (!equals || equals[1] == '\0')
        return problem(m, "--map takes PREFIX=DIR, not \"%s\"", text);
    owl_str prefix = {text, (size_t)(equals - text)};
    char last = prefix.n > 0 ? prefix.p[prefix.n - 1] : '\0';
    if (!owl_uri_valid(prefix) || (last != '/' && last != ':'))
        return problem(m,
                       "the prefix of --map must be an absolute URI that ends in / or :, not "
                       "\"%.*s\"",
                       (int)prefix.n, prefix.p);
    struct owl_schema_map *map = owl_arena_alloc(m->arena, sizeof *map);
    if (!map)
        return -OWL_ENOMEM;
    int fd = open(equals + 1, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0)
        return problem(m, "the folder of --map, %s: %s", equals + 1, strerror(errno));
    *map = (struct owl_schema_map){m->first, prefix, equals + 1, fd};
    m->first = map;
    return 0;
}
