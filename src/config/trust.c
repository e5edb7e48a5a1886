/* config/trust.c - which project files may run commands.
 * Threads: one at a time; several processes.
 *
 * Whoever changes the list holds a lock beside it and replaces it as a whole, so that a reader sees
 * the old list or the new one. A list that others could have written is none. */
#include "config/trust.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/err.h"
#include "base/fd.h"
#include "codec/digest.h"

enum { LIST_MAX = 4 * 1024 * 1024, PATH_SIZE = 4096 };

static int io_fault(owl_error *reterr, const char *what, const char *path)
{
    return owl_fail(reterr, OWL_EIO, "cannot %s %s: %s", what, path, strerror(errno));
}

/* state_dir/owlclaw/name; false: too long. */
static bool place(const struct owl_trust *t, const char *name, char out[PATH_SIZE])
{
    int n = snprintf(out, PATH_SIZE, "%s/owlclaw%s%s", t->state_dir, *name ? "/" : "", name);
    return n > 0 && n < PATH_SIZE;
}

const char *owl_trust_state_dir(struct owl_arena *a, const char *xdg_state_home, const char *home)
{
    static const char below[] = "/.local/state";
    if (xdg_state_home && xdg_state_home[0] == '/')
        return owl_arena_dup(a, owl_str_of(xdg_state_home));
    size_t n = home ? strlen(home) : 0;
    char *path = n > 0 ? owl_arena_alloc(a, n + sizeof below) : NULL;
    if (!path)
        return NULL;
    memcpy(path, home, n);
    memcpy(path + n, below, sizeof below);
    return path;
}

/* ---- reading ---------------------------------------------------------------------------- */

static int read_all(int fd, struct owl_buf *b)
{
    while (b->rc == 0) {
        if (owl_buf_reserve(b, 4096))
            break;
        ssize_t n = read(fd, b->p + b->n, 4096);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return -OWL_EIO;
        if (n == 0)
            return 0;
        b->n += (size_t)n;
    }
    return b->rc;
}

/* The list, empty if there is none yet. */
static int read_list(const struct owl_trust *t, struct owl_buf *b, owl_error *reterr)
{
    char path[PATH_SIZE];
    if (!place(t, "trust", path))
        return owl_fail(reterr, OWL_EIO, "the path of the state directory is too long");
    OWL_AUTO(owl_fd_close) int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    if (fd < 0 && errno == ENOENT)
        return 0;
    struct stat s;
    if (fd < 0 || fstat(fd, &s))
        return io_fault(reterr, "read", path);
    if (!S_ISREG(s.st_mode) || s.st_uid != geteuid() || (s.st_mode & 022))
        return owl_fail(reterr, OWL_EIO, "%s may be changed by others: it is not used", path);
    int rc = read_all(fd, b);
    if (rc == -OWL_EIO)
        return io_fault(reterr, "read", path);
    return rc ? owl_fail(reterr, -rc, "cannot read %s: it is too large", path) : 0;
}

/* Takes the next entry off the list; what is none is passed over. */
static bool next_entry(owl_str *list, owl_str *ret_path, owl_str *ret_digest)
{
    for (owl_str line; list->n > 0 && owl_str_split(list, '\n', &line);) {
        owl_str digest = line;
        if (owl_str_split(&digest, '\t', ret_path) && digest.n == OWL_DIGEST_TEXT - 1) {
            *ret_digest = digest;
            return true;
        }
    }
    return false;
}

bool owl_trust_holds(const struct owl_trust *t, const char *path, owl_str content)
{
    char digest[OWL_DIGEST_TEXT];
    bool holds = false;
    struct owl_buf b;
    owl_buf_init(&b, LIST_MAX);
    if (owl_digest(content, digest) == 0 && read_list(t, &b, NULL) == 0) {
        owl_str list = owl_buf_str(&b);
        for (owl_str p, d; !holds && next_entry(&list, &p, &d);)
            holds = owl_str_is(p, path) && owl_str_is(d, digest);
    }
    owl_buf_done(&b);
    return holds;
}

bool owl_trust_knows(const struct owl_trust *t, const char *path)
{
    bool known = false;
    struct owl_buf b;
    owl_buf_init(&b, LIST_MAX);
    if (read_list(t, &b, NULL) == 0) {
        owl_str list = owl_buf_str(&b);
        for (owl_str p, d; !known && next_entry(&list, &p, &d);)
            known = owl_str_is(p, path);
    }
    owl_buf_done(&b);
    return known;
}

int owl_trust_list(const struct owl_trust *t, struct owl_buf *b, owl_error *reterr)
{
    struct owl_buf list;
    owl_buf_init(&list, LIST_MAX);
    int rc = read_list(t, &list, reterr);
    owl_str rest = owl_buf_str(&list);
    for (owl_str path, digest; rc == 0 && next_entry(&rest, &path, &digest);) {
        owl_buf_puts(b, path);
        owl_buf_putc(b, '\t');
        owl_buf_puts(b, digest);
        owl_buf_putc(b, '\n');
    }
    owl_buf_done(&list);
    return rc;
}

/* ---- changing --------------------------------------------------------------------------- */

/* Makes the folders that are missing, ours for nobody else. */
static int make_folders(const struct owl_trust *t, owl_error *reterr)
{
    char path[PATH_SIZE];
    if (!place(t, "", path))
        return owl_fail(reterr, OWL_EIO, "the path of the state directory is too long");
    for (char *p = path + 1;; p++) {
        if (*p != '/' && *p != '\0')
            continue;
        char c = *p;
        *p = '\0';
        if (mkdir(path, 0700) && errno != EEXIST)
            return io_fault(reterr, "make the folder", path);
        *p = c;
        if (c == '\0')
            return 0;
    }
}

/* A lock that is held until it is closed. */
static int lock(const struct owl_trust *t, int *ret_fd, owl_error *reterr)
{
    char path[PATH_SIZE];
    int rc = make_folders(t, reterr);
    if (rc)
        return rc;
    if (!place(t, "trust.lock", path))
        return owl_fail(reterr, OWL_EIO, "the path of the state directory is too long");
    int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (fd < 0)
        return io_fault(reterr, "open", path);
    while (flock(fd, LOCK_EX)) {
        if (errno != EINTR) {
            rc = io_fault(reterr, "lock", path);
            close(fd);
            return rc;
        }
    }
    *ret_fd = fd;
    return 0;
}

static int replace_list(const struct owl_trust *t, owl_str list, owl_error *reterr)
{
    char path[PATH_SIZE], fresh[PATH_SIZE];
    if (!place(t, "trust", path) || !place(t, "trust.XXXXXX", fresh))
        return owl_fail(reterr, OWL_EIO, "the path of the state directory is too long");
    OWL_AUTO(owl_fd_close) int fd = mkostemp(fresh, O_CLOEXEC);
    if (fd < 0)
        return io_fault(reterr, "write", fresh);
    if (!owl_fd_write(fd, list) || rename(fresh, path)) {
        int rc = io_fault(reterr, "write", path);
        OWL_IGNORE(unlink(fresh)); /* the fault that matters has been told */
        return rc;
    }
    return 0;
}

/* Replaces the entry of @p path by @p digest, or by nothing. */
static int change(const struct owl_trust *t, const char *path, const char *digest,
                  owl_error *reterr)
{
    OWL_AUTO(owl_fd_close) int held = -1;
    struct owl_buf old, new;
    owl_buf_init(&old, LIST_MAX);
    owl_buf_init(&new, LIST_MAX);
    bool found = false;
    int rc = lock(t, &held, reterr);
    if (rc == 0)
        rc = read_list(t, &old, reterr);
    owl_str list = owl_buf_str(&old);
    for (owl_str p, d; rc == 0 && next_entry(&list, &p, &d);) {
        bool same = owl_str_is(p, path);
        found = found || same;
        if (!same)
            owl_buf_printf(&new, "%.*s\t%.*s\n", (int)p.n, p.p, (int)d.n, d.p);
    }
    if (digest)
        owl_buf_printf(&new, "%s\t%s\n", path, digest);
    if (rc == 0 && new.rc)
        rc = owl_fail(reterr, -new.rc, NULL);
    if (rc == 0 && !digest && !found)
        rc = owl_fail(reterr, OWL_ENOTFOUND, "%s is not trusted", path);
    if (rc == 0)
        rc = replace_list(t, owl_buf_str(&new), reterr);
    owl_buf_done(&old);
    owl_buf_done(&new);
    return rc;
}

int owl_trust_add(const struct owl_trust *t, const char *path, owl_str content, owl_error *reterr)
{
    char digest[OWL_DIGEST_TEXT];
    if (strpbrk(path, "\t\n"))
        return owl_fail(reterr, OWL_EINVAL, "a path with a tab or a newline cannot be trusted");
    if (owl_digest(content, digest))
        return owl_fail(reterr, OWL_EIO, "the digest of %s cannot be computed", path);
    return change(t, path, digest, reterr);
}

int owl_trust_remove(const struct owl_trust *t, const char *path, owl_error *reterr)
{
    return change(t, path, NULL, reterr);
}
