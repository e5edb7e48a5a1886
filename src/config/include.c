/* config/include.c - files that name other files.
 * Threads: that of the loading.
 *
 *     include: team-*.yaml           or     include: [base.yaml, "team-*.yaml"]
 *
 * Names are relative to the file that includes; what a pattern matches comes in the order of its
 * bytes. What is included is read first, so that the file itself stands over it. */
#include "config/internal.h"

#include <dirent.h>
#include <glob.h>
#include <stdlib.h>
#include <sys/stat.h>

/* A file whose includes are being read. */
struct file {
    const char *path;
    owl_str name;
    uint32_t source;
    struct owl_value *root;
    struct owl_value *include; /* the pattern at hand */
    char **matches;            /* of that pattern, in the arena */
    size_t n, next;
};

struct stack {
    struct file files[OWL_CONFIG__INCLUDES];
    size_t n;
};

static owl_str folder_of(owl_str path)
{
    while (path.n > 0 && path.p[path.n - 1] != '/')
        path.n--;
    return path;
}

/* ---- patterns --------------------------------------------------------------------------- */

/* A folder as a pattern that matches itself. */
static void put_literally(struct owl_buf *b, owl_str s)
{
    for (size_t i = 0; i < s.n; i++) {
        if (strchr("*?[\\", s.p[i]))
            owl_buf_putc(b, '\\');
        owl_buf_putc(b, s.p[i]);
    }
}

static int by_bytes(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

static int keep_matches(struct owl_config *c, struct file *f, const glob_t *g)
{
    f->matches = owl_arena_alloc(c->arena, (g->gl_pathc + 1) * sizeof *f->matches);
    if (!f->matches)
        return -OWL_ENOMEM;
    for (size_t i = 0; i < g->gl_pathc; i++) {
        f->matches[i] = owl_arena_dup(c->arena, owl_str_of(g->gl_pathv[i]));
        if (!f->matches[i])
            return -OWL_ENOMEM;
    }
    qsort(f->matches, g->gl_pathc, sizeof *f->matches, by_bytes);
    f->n = g->gl_pathc;
    return 0;
}

static void no_match(struct owl_config *c, const struct owl_value *v, owl_str pattern)
{
    bool wild = false;
    struct owl_fault *f;
    for (size_t i = 0; i < pattern.n; i++)
        wild = wild || strchr("*?[", pattern.p[i]);
    if (wild)
        f = owl_warning_add(&c->faults, v->at, "`%.*s` matches no file", (int)pattern.n, pattern.p);
    else
        f = owl_fault_add(&c->faults, v->at, "there is no file `%.*s` to include", (int)pattern.n,
                          pattern.p);
    f->width = owl_source__width(c, v);
    if (memmem(pattern.p, pattern.n, "**", 2))
        owl_fault_hint(&c->faults, f, "`**` is as `*`: name each level, such as `teams/*/*.yaml`");
}

/* What patterns may still look at; glob() has no data for its callbacks. */
static OWL_THREAD_LOCAL size_t entries_left;

static void *open_folder(const char *path)
{
    return entries_left > 0 ? opendir(path) : NULL;
}

static struct dirent *next_entry(void *folder)
{
    if (entries_left == 0)
        return NULL;
    entries_left--;
    return readdir(folder);
}

static void close_folder(void *folder)
{
    closedir(folder);
}

static int find(struct owl_load *l, const char *pattern, glob_t *g)
{
    *g = (glob_t){.gl_opendir = open_folder,
                  .gl_readdir = next_entry,
                  .gl_closedir = close_folder,
                  .gl_stat = stat,
                  .gl_lstat = lstat};
    entries_left = OWL_CONFIG__ENTRIES - l->entries;
    int found = glob(pattern, GLOB_NOSORT | GLOB_ALTDIRFUNC, NULL, g);
    l->entries = OWL_CONFIG__ENTRIES - entries_left;
    return found;
}

/* Finds the files of one pattern. */
static int match(struct owl_load *l, struct file *f, const struct owl_value *v)
{
    struct owl_config *c = l->c;
    struct owl_expansion x;
    f->n = f->next = 0;
    if (v->kind != OWL_NODE_STRING || v->text.n == 0) {
        struct owl_fault *wrong = owl_fault_add(
            &c->faults, v->at, "`include` must be the name of a file, or a list of them");
        wrong->width = owl_source__width(c, v);
        return 0;
    }
    int rc = owl_variables__expand(&l->variables, c->arena, v->text, &x);
    if (rc)
        return rc;
    if (x.fault.p) {
        struct owl_fault *fault = owl_fault_add(&c->faults, v->at, "in `include` %.*s",
                                                (int)x.fault.n, x.fault.p);
        fault->hint = x.hint;
        return 0;
    }
    struct owl_buf pattern;
    owl_buf_init(&pattern, 64 * 1024);
    if (x.text.p[0] != '/')
        put_literally(&pattern, folder_of(owl_str_of(f->path)));
    owl_buf_puts(&pattern, x.text);
    owl_buf_putc(&pattern, '\0');
    glob_t g = {0};
    rc = pattern.rc;
    int found = rc ? GLOB_NOMATCH : find(l, pattern.p, &g);
    if (l->entries == OWL_CONFIG__ENTRIES && rc == 0)
        owl_fault_add(&c->faults, v->at,
                      "`include` would look through more than %d files to find these",
                      OWL_CONFIG__ENTRIES);
    else if (found == 0)
        rc = keep_matches(c, f, &g);
    else if (found == GLOB_NOSPACE)
        rc = -OWL_ENOMEM;
    else if (rc != -OWL_ENOMEM) {
        no_match(c, v, x.secret ? v->text : x.text);
        rc = 0;
    }
    globfree(&g);
    owl_buf_done(&pattern);
    return rc;
}

/* ---- files ------------------------------------------------------------------------------ */

/* The first pattern of a root, or the one behind @p v. */
static struct owl_value *next_include(const struct owl_load *l, const struct file *f,
                                      const struct owl_value *v)
{
    struct owl_value *list = owl_value_get(f->root, OWL_STR("include"));
    if (!list || !owl_shape__ours(l->c, f->source, f->root))
        return NULL;
    if (list->kind != OWL_NODE_ARRAY)
        return v ? NULL : list;
    return v ? v->next : list->first;
}

/* Without the slashes at its end. */
static owl_str folder_of_pattern(owl_str s)
{
    while (s.n > 1 && s.p[s.n - 1] == '/')
        s.n--;
    return s;
}

static bool same_file(const char *a, const char *b)
{
    struct stat x, y;
    return stat(a, &x) == 0 && stat(b, &y) == 0 && x.st_dev == y.st_dev && x.st_ino == y.st_ino;
}

static bool is_folder(const char *path)
{
    struct stat st;
    return stat(path, &st) == 0 && S_ISDIR(st.st_mode);
}

/* Whether the file may be included where it is named. */
static bool allowed(struct owl_load *l, const struct stack *s, const char *path)
{
    struct owl_config *c = l->c;
    const struct file *from = &s->files[s->n - 1];
    struct owl_mark at = from->include->at;
    if (is_folder(path)) {
        struct owl_fault *f = owl_fault_add(&c->faults, at, "`%.*s` is a folder",
                                            (int)from->include->text.n, from->include->text.p);
        f->width = owl_source__width(c, from->include);
        owl_fault_hint(&c->faults, f, "to include the files in it, write `%.*s/*.yaml`",
                       (int)folder_of_pattern(from->include->text).n, from->include->text.p);
        return false;
    }
    for (size_t i = 0; i < s->n; i++) {
        if (!same_file(s->files[i].path, path))
            continue;
        struct owl_fault *f = owl_fault_add(&c->faults, at,
                                            i + 1 == s->n ? "the file `%.*s` includes itself"
                                                          : "`%.*s` includes this file already",
                                            (int)s->files[i].name.n, s->files[i].name.p);
        f->width = owl_source__width(c, from->include);
        owl_fault_hint(&c->faults, f, "take this include out");
        return false;
    }
    if (s->n == OWL_CONFIG__INCLUDES) {
        owl_fault_add(&c->faults, at, "more than %d files include one another",
                      OWL_CONFIG__INCLUDES);
        return false;
    }
    size_t files = 0;
    for (size_t i = 0; i < c->n_sources; i++)
        files += c->sources[i].kind == OWL_SOURCE_FILE;
    if (files < OWL_CONFIG__FILES)
        return true;
    if (!l->too_many)
        owl_fault_add(&c->faults, at, "more than %d files are included", OWL_CONFIG__FILES);
    l->too_many = true;
    return false;
}

static int open_file(struct owl_load *l, struct stack *s, const char *path, owl_str name)
{
    struct file f = {.path = path};
    int rc = owl_source__read(l->c, path, name, &f.source, &f.root);
    if (rc || !f.root)
        return rc;
    struct owl_source *source = &l->c->sources[f.source];
    f.name = source->name;
    source->include = owl_value_get(f.root, OWL_STR("include"));
    s->files[s->n++] = f;
    return 0;
}

/* The next file that the innermost one includes; without one it is done itself. */
static int go_on(struct owl_load *l, struct stack *s)
{
    struct file *f = &s->files[s->n - 1];
    if (f->next < f->n) {
        const char *path = f->matches[f->next++];
        if (!allowed(l, s, path))
            return 0;
        size_t dir = strlen(l->dir);
        bool below = f->name.n > 0 && f->name.p[0] != '/' && strncmp(path, l->dir, dir) == 0 &&
                     path[dir] == '/';
        return open_file(l, s, path, owl_str_of(below ? path + dir + 1 : path));
    }
    f->include = next_include(l, f, f->include);
    if (f->include)
        return match(l, f, f->include);
    s->n--;
    return owl_shape__take(l, f->source, f->root);
}

int owl_include__file(struct owl_load *l, const char *name)
{
    struct stack s = {.n = 0};
    char *path = owl_source__join(l->c->arena, owl_str_of(l->dir), owl_str_of(name));
    if (!path)
        return -OWL_ENOMEM;
    int rc = open_file(l, &s, path, owl_str_of(name));
    while (rc == 0 && s.n > 0)
        rc = go_on(l, &s);
    return rc;
}
