/* config/source.c - files are read and parsed.
 * Threads: that of the loading.
 *
 * A file is looked at by the bytes that it had when it was opened; devices and pipes are none. */
#include "config/internal.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"

char *owl_source__join(struct owl_arena *a, owl_str dir, owl_str name)
{
    bool bare = dir.n == 0 || (name.n > 0 && name.p[0] == '/');
    bool slash = !bare && dir.p[dir.n - 1] != '/';
    char *path = owl_arena_alloc(a, dir.n + name.n + 2), *p = path;
    if (!path)
        return NULL;
    if (!bare)
        p = (char *)memcpy(p, dir.p, dir.n) + dir.n;
    if (slash)
        *p++ = '/';
    if (name.n > 0)
        memcpy(p, name.p, name.n);
    p[name.n] = '\0';
    return path;
}

/* ---- reading ---------------------------------------------------------------------------- */

static void cannot_read(struct owl_config *c, uint32_t source, int error)
{
    struct owl_mark at = owl_config__no_place(source);
    if (error == ENOENT || error == ENOTDIR) {
        owl_fault_add(&c->faults, at, "there is no such file");
        return;
    }
    struct owl_fault *f = owl_fault_add(&c->faults, at, "the file cannot be read: %s",
                                        strerror(error));
    if (error == EACCES)
        owl_fault_hint(&c->faults, f, "give the user that runs owlclaw the right to read it");
}

/* Whether it is a file of a size that can be meant. */
static bool fitting(struct owl_config *c, uint32_t source, const struct stat *s)
{
    struct owl_mark at = owl_config__no_place(source);
    if (S_ISDIR(s->st_mode)) {
        struct owl_fault *f = owl_fault_add(&c->faults, at, "this is a folder, not a file");
        owl_fault_hint(&c->faults, f, "name the file; a file can `include` all of a folder");
    } else if (!S_ISREG(s->st_mode)) {
        owl_fault_add(&c->faults, at, "this is no regular file");
    } else if (s->st_size > OWL_CONFIG__FILE) {
        owl_fault_add(&c->faults, at,
                      "the file has %lld bytes; a configuration file has at most %d",
                      (long long)s->st_size, OWL_CONFIG__FILE);
    } else {
        return true;
    }
    return false;
}

static int read_text(struct owl_config *c, int fd, size_t size, uint32_t source, owl_str *ret)
{
    char *text = owl_arena_alloc(c->arena, size + 1);
    size_t n = 0;
    if (!text)
        return -OWL_ENOMEM;
    while (n < size) {
        ssize_t got = read(fd, text + n, size - n);
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0) {
            cannot_read(c, source, errno);
            return 0;
        }
        if (got == 0)
            break;
        n += (size_t)got;
    }
    text[n] = '\0';
    *ret = (owl_str){text, n};
    return 0;
}

int owl_source__text(struct owl_config *c, const char *path, uint32_t source, owl_str *ret)
{
    struct stat s;
    OWL_AUTO(owl_fd_close) int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (fd < 0 || fstat(fd, &s)) {
        cannot_read(c, source, errno);
        return 0;
    }
    if (!fitting(c, source, &s))
        return 0;
    int rc = read_text(c, fd, (size_t)s.st_size, source, ret);
    c->sources[source].text = *ret;
    return rc;
}

/* ---- parsing ---------------------------------------------------------------------------- */

static bool ends(owl_str s, const char *suffix)
{
    size_t n = strlen(suffix);
    return s.n > n && owl_str_ieq((owl_str){s.p + s.n - n, n}, owl_str_of(suffix));
}

static owl_str without_bom(owl_str text)
{
    bool bom = owl_str_begins(text, "\xef\xbb\xbf");
    return bom ? (owl_str){text.p + 3, text.n - 3} : text;
}

/* The first line that is neither empty nor a comment. */
static owl_str first_line(owl_str text)
{
    owl_str line = {"", 0};
    text = without_bom(text);
    while (text.n > 0 && owl_str_split(&text, '\n', &line)) {
        line = owl_str_trim(line);
        if (line.n > 0 && line.p[0] != '#' && line.p[0] != '\r')
            return line;
    }
    return (owl_str){"", 0};
}

/* [table], or name = value before any colon. */
static bool looks_like_toml(owl_str line)
{
    const char *equals = memchr(line.p, '=', line.n), *colon = memchr(line.p, ':', line.n);
    if (line.p[0] == '[')
        return true;
    return equals && (!colon || equals < colon);
}

enum owl_format owl_source__format(const struct owl_source *s)
{
    owl_str name = s->name, text = s->text;
    if (ends(name, ".yaml") || ends(name, ".yml"))
        return OWL_FORMAT__YAML;
    if (ends(name, ".toml"))
        return OWL_FORMAT__TOML;
    if (ends(name, ".json") || ends(name, ".jsonc"))
        return OWL_FORMAT__JSON;
    owl_str line = first_line(text);
    if (line.n > 0 && (line.p[0] == '{' || line.p[0] == '/'))
        return OWL_FORMAT__JSON;
    return line.n > 0 && looks_like_toml(line) ? OWL_FORMAT__TOML : OWL_FORMAT__YAML;
}

/* The first line that begins with a marker, or 0. */
static uint32_t line_of(owl_str text, const char *marker)
{
    uint32_t line = 1;
    size_t n = strlen(marker);
    for (owl_str rest = text, part; rest.n > 0 && owl_str_split(&rest, '\n', &part); line++)
        if (part.n >= n && memcmp(part.p, marker, n) == 0)
            return line;
    return 0;
}

/* What no reader could say as well. */
static bool readable(struct owl_config *c, uint32_t source, owl_str text)
{
    struct owl_mark at = {source, 1, 1};
    bool wide = text.n >= 2 &&
                (memcmp(text.p, "\xff\xfe", 2) == 0 || memcmp(text.p, "\xfe\xff", 2) == 0);
    if (wide) {
        struct owl_fault *f = owl_fault_add(&c->faults, at, "the file is UTF-16 text");
        owl_fault_hint(&c->faults, f, "save it as UTF-8");
        return false;
    }
    uint32_t line = line_of(text, "<<<<<<< ");
    if (line > 0 && line_of(text, ">>>>>>> ") > line) {
        at.line = line;
        struct owl_fault *f = owl_fault_add(&c->faults, at,
                                            "two versions of the file were not merged here");
        f->width = 7;
        owl_fault_hint(&c->faults, f,
                       "keep one of the two, and take the lines that begin with <<<<<<<, ======= "
                       "and >>>>>>> out");
        return false;
    }
    return true;
}

int owl_source__parse(struct owl_config *c, uint32_t source, struct owl_value **ret_tree)
{
    const struct owl_source *s = &c->sources[source];
    *ret_tree = NULL;
    struct owl_reading r = {
        .text = s->text, .source = source, .arena = c->arena, .faults = &c->faults};
    c->sources[source].damaged = !readable(c, source, s->text);
    if (s->damaged)
        return 0;
    struct owl_value *tree = NULL;
    size_t errors = c->faults.errors;
    int rc;
    switch (owl_source__format(s)) {
    case OWL_FORMAT__JSON: rc = owl_jsonc_read(&r, &tree); break;
    case OWL_FORMAT__TOML: rc = owl_toml_read(&r, &tree); break;
    default: rc = owl_yaml_read(&r, &tree); break;
    }
    *ret_tree = rc == 0 ? tree : NULL;
    c->sources[source].damaged = c->faults.errors > errors;
    return rc == -OWL_ENOMEM ? rc : 0;
}

/* ---- places ----------------------------------------------------------------------------- */

owl_str owl_source__line(const struct owl_source *s, uint32_t n)
{
    owl_str rest = without_bom(s->text), line = {NULL, 0};
    for (uint32_t i = 0; i < n; i++)
        if (!owl_str_split(&rest, '\n', &line))
            return (owl_str){NULL, 0};
    line.n -= line.n > 0 && line.p[line.n - 1] == '\r';
    return line;
}

size_t owl_source__byte(owl_str line, uint32_t column)
{
    size_t at = 0;
    for (uint32_t i = 1; at < line.n && i < column; i++)
        for (at++; at < line.n && (line.p[at] & 0xc0) == 0x80;)
            at++;
    return at;
}

/* The rest of a line from a mark on. */
static owl_str rest_of_line(const struct owl_config *c, struct owl_mark at)
{
    enum { FAR = 4096 }; /* nobody looks so far along a line */
    bool kept = c->faults.n < OWL_FAULTS;
    if (!kept || at.column > FAR)
        return (owl_str){NULL, 0};
    owl_str line = owl_source__line(&c->sources[at.source], at.line);
    size_t skip = owl_source__byte(line, at.column);
    return line.p ? (owl_str){line.p + skip, line.n - skip} : line;
}

/* From a quote to the next one of its kind, or up to one of @p stops. */
static owl_str cut_token(owl_str line, const char *stops)
{
    bool quoted = line.n > 0 && (line.p[0] == '"' || line.p[0] == '\'');
    size_t n = line.n > 0;
    while (n < line.n && (quoted ? line.p[n] != line.p[0] : !strchr(stops, line.p[n])))
        n++;
    return (owl_str){line.p, n + (quoted && n < line.n)};
}

static bool begins(owl_str s, owl_str with)
{
    return with.n > 0 && s.n >= with.n && memcmp(s.p, with.p, with.n) == 0;
}

owl_str owl_source__token(const struct owl_config *c, const struct owl_value *v)
{
    owl_str line = rest_of_line(c, v->at);
    if (line.n == 0 || v->kind >= OWL_NODE_ARRAY)
        return (owl_str){NULL, 0};
    if (v->kind == OWL_NODE_STRING && begins(line, v->text)) /* words without quotes */
        return (owl_str){line.p, v->text.n};
    return cut_token(line, line.p[0] == '$' ? ",]# \t\r" : ",]}# \t\r");
}

static uint32_t width_of(owl_str token)
{
    uint32_t width = 0;
    for (size_t i = 0; i < token.n; i++)
        width += (token.p[i] & 0xc0) != 0x80;
    return width > 0 ? width : 1;
}

uint32_t owl_source__width(const struct owl_config *c, const struct owl_value *v)
{
    return width_of(owl_source__token(c, v));
}

uint32_t owl_source__key_width(const struct owl_config *c, const struct owl_value *v)
{
    owl_str line = rest_of_line(c, v->key_at);
    if (begins(line, v->key)) /* it may have dots or blanks */
        return width_of(v->key);
    return width_of(cut_token(line, ".:=]} \t\r"));
}

int owl_source__read(struct owl_config *c, const char *path, owl_str name, uint32_t *ret_source,
                     struct owl_value **ret_tree)
{
    uint32_t source;
    owl_str text = {NULL, 0};
    *ret_tree = NULL;
    int rc = owl_config__source(c, OWL_SOURCE_FILE, name, &source);
    if (rc == 0)
        rc = owl_source__text(c, path, source, &text);
    if (rc == 0 && text.p)
        rc = owl_source__parse(c, source, ret_tree);
    if (rc == 0)
        *ret_source = source;
    return rc;
}
