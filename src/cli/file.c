/* cli/file.c - text from files, and places in it.
 * Threads: the main one. */
#include "cli/file.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/err.h"
#include "codec/scan.h"

/* ---- reading -------------------------------------------------------------------------------- */

static int grow(struct owl_file *f, size_t *cap, size_t max)
{
    size_t want = *cap ? *cap * 2 : 64 * 1024;
    want = want > max + 1 ? max + 1 : want;
    char *p = owl_realloc(f->p, want + 1);
    if (!p)
        return -OWL_ENOMEM;
    f->p = p;
    *cap = want;
    return 0;
}

int owl_file_read_fd(struct owl_file *f, int fd, size_t max, owl_error *reterr)
{
    struct stat st;
    if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && (uintmax_t)st.st_size > max)
        return owl_fail(reterr, OWL_ELIMIT, "larger than %zu bytes, the most that is read", max);
    size_t cap = 0;
    for (;;) {
        if (f->n == cap && grow(f, &cap, max))
            return owl_fail(reterr, OWL_ENOMEM, "out of memory");
        ssize_t n = read(fd, f->p + f->n, cap - f->n);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return owl_fail(reterr, OWL_EIO, "%s", strerror(errno));
        f->n += (size_t)n;
        if (n == 0)
            break;
        if (f->n > max)
            return owl_fail(reterr, OWL_ELIMIT, "larger than %zu bytes, the most that is read",
                            max);
    }
    f->p[f->n] = '\0';
    return 0;
}

int owl_file_read(struct owl_file *f, const char *path, size_t max, owl_error *reterr)
{
    bool standard = strcmp(path, "-") == 0;
    *f = (struct owl_file){.name = standard ? "standard input" : path};
    int fd = standard ? STDIN_FILENO : open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return owl_fail(reterr, OWL_EIO, "%s", strerror(errno));
    int rc = owl_file_read_fd(f, fd, max, reterr);
    if (!standard)
        close(fd);
    return rc;
}

void owl_file_done(struct owl_file *f)
{
    OWL_FREE(&f->p);
    f->n = 0;
}

/* ---- JSON ----------------------------------------------------------------------------------- */

int owl_file_prove_json(const struct owl_file *f, size_t *ret_at, owl_error *reterr)
{
    owl_str text = owl_file_text(f);
    *ret_at = 0;
    if (text.n == 0)
        return owl_fail(reterr, OWL_EPARSE, "the file is empty; JSON has at least one value");
    if (text.n >= 2 && (memcmp(text.p, "\xff\xfe", 2) == 0 || memcmp(text.p, "\xfe\xff", 2) == 0))
        return owl_fail(reterr, OWL_EPARSE, "this is UTF-16; JSON files are UTF-8");
    owl_error error = {0};
    int rc = owl_json_scan(text, OWL_JSON_DEPTH, &error);
    if (rc == 0)
        return 0;
    /* "byte 17: …" is for machines; the place becomes line and column. */
    const char *colon = strchr(error.message, ':');
    owl_str number = {error.message + 5, colon ? (size_t)(colon - error.message) - 5 : 0};
    uint64_t at = 0;
    if (strncmp(error.message, "byte ", 5) != 0 || !colon || !owl_str_u64(number, text.n, &at))
        return owl_fail(reterr, -rc, "%s", error.message);
    *ret_at = (size_t)at;
    if (at < text.n && text.p[at] == '\0')
        return owl_fail(reterr, -rc, "a NUL byte, which JSON cannot hold");
    return owl_fail(reterr, -rc, "%s", colon + 2);
}

/* ---- places --------------------------------------------------------------------------------- */

struct owl_place owl_place_of(owl_str text, size_t at)
{
    struct owl_place place = {.line = 1, .column = 1, .end = text.n};
    at = at < text.n ? at : text.n;
    const char *newline;
    while ((newline = memchr(text.p + place.begin, '\n', at - place.begin)) != NULL) {
        place.begin = (size_t)(newline - text.p) + 1;
        place.line++;
    }
    newline = memchr(text.p + at, '\n', text.n - at);
    if (newline)
        place.end = (size_t)(newline - text.p);
    if (place.end > place.begin && text.p[place.end - 1] == '\r' && place.end - 1 >= at)
        place.end--;
    owl_str before = {text.p + place.begin, at - place.begin};
    for (; before.n > 0; place.column++)
        owl_text_next(&before);
    return place;
}

/* Where to begin so that at most @p room columns are shown before @p at. */
static size_t window(owl_str text, size_t begin, size_t at, size_t room)
{
    size_t from = at, columns = 0;
    while (from > begin) {
        size_t previous = from - 1;
        while (previous > begin && from - previous < 4 && (text.p[previous] & 0xc0) == 0x80)
            previous--;
        owl_str one = {text.p + previous, from - previous};
        columns += owl_text_columns(owl_text_next(&one));
        if (columns > room)
            break;
        from = previous;
    }
    return from;
}

void owl_print_place(struct owl_print *p, owl_str text, size_t at)
{
    at = at < text.n ? at : text.n;
    struct owl_place place = owl_place_of(text, at);
    char number[24];
    int margin = snprintf(number, sizeof number, "%5zu", place.line);
    size_t room = p->width - (size_t)margin - 5; /* " | " and an ellipsis at each end */
    size_t from = window(text, place.begin, place.end, room);
    if (from > place.begin) /* it does not fit */
        from = window(text, place.begin, at, room * 2 / 3);
    owl_str rest = {text.p + from, place.end > from ? place.end - from : 0};
    size_t caret = 0, columns = 0;
    while (rest.n > 0) {
        size_t here = (size_t)(rest.p - text.p);
        owl_str next = rest;
        size_t more = owl_text_columns(owl_text_next(&next));
        if (columns + more > room)
            break;
        caret += here < at ? more : 0;
        columns += more;
        rest = next;
    }
    const char *before = from > place.begin ? "…" : "", *after = rest.n > 0 ? "…" : "";
    owl_print(p, OWL_DIM, "%s | %s", number, before);
    owl_print_foreign(p, OWL_PLAIN, (owl_str){text.p + from, (size_t)(rest.p - text.p) - from});
    owl_print(p, OWL_DIM, "%s\n%*s | ", after, margin, "");
    owl_print(p, OWL_BAD, "%*s^\n", (int)(caret + (*before != '\0')), "");
}
