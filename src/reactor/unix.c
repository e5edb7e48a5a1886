/* reactor/unix.c - the file of a Unix socket: made, and removed at the end.
 *
 * Threads: bind on the thread that opens the listener, remove on the one that closes it.
 * Invariants: a file is removed only if nobody listens on it, or if it is the very one that was
 * made here, whose inode number is nobody else's as long as the socket is open. */
#include <errno.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "reactor/internal.h"

enum { OWNER_ONLY = 0600 };

static const char *path_of(const struct sockaddr_storage *a)
{
    return ((const struct sockaddr_un *)a)->sun_path;
}

/* What keeps bind() from making the file, in words; NULL: only what a server left behind that ended
 * without removing it. */
static const char *obstacle(const struct sockaddr_storage *a)
{
    struct stat st;
    if (lstat(path_of(a), &st) != 0)
        return errno == ENOENT ? NULL : uv_strerror(uv_translate_sys_error(errno));
    if (!S_ISSOCK(st.st_mode))
        return "the file exists and is no socket: remove it or choose another path";
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (fd < 0)
        return uv_strerror(uv_translate_sys_error(errno));
    int error = connect(fd, (const struct sockaddr *)a, owl_address__size(a)) == 0 ? 0 : errno;
    close(fd);
    switch (error) {
    case ENOENT:
    case ECONNREFUSED: return NULL;
    case EAGAIN: /* its queue is full */
    case 0: return "a program listens there already";
    default: return uv_strerror(uv_translate_sys_error(error));
    }
}

/* Of two servers that find the same left-over at the same instant the later one wins. */
static int bind_anew(int fd, const struct sockaddr_storage *a, const char **ret_why)
{
    *ret_why = obstacle(a);
    if (*ret_why)
        return UV_EADDRINUSE;
    if (unlink(path_of(a)) != 0 && errno != ENOENT)
        return uv_translate_sys_error(errno);
    if (bind(fd, (const struct sockaddr *)a, owl_address__size(a)) != 0)
        return uv_translate_sys_error(errno);
    return 0;
}

int owl_unix__bind(int fd, const struct sockaddr_storage *a, struct owl_unix__file *file,
                   const char **ret_why)
{
    int rc = bind(fd, (const struct sockaddr *)a, owl_address__size(a)) == 0
                 ? 0
                 : uv_translate_sys_error(errno);
    if (!*path_of(a))
        return rc; /* abstract: no file, and nothing that is left behind */
    if (rc == UV_EADDRINUSE)
        rc = bind_anew(fd, a, ret_why);
    if (rc != 0)
        return rc;
    struct stat st;
    file->made = lstat(path_of(a), &st) == 0;
    if (!file->made)
        return uv_translate_sys_error(errno);
    file->dev = st.st_dev;
    file->ino = st.st_ino;
    /* Whatever the umask made of it: nobody can connect yet, before listen(). */
    return chmod(path_of(a), OWNER_ONLY) == 0 ? 0 : uv_translate_sys_error(errno);
}

void owl_unix__remove(struct owl_unix__file *file, const struct sockaddr_storage *a)
{
    struct stat st;
    if (file->made && lstat(path_of(a), &st) == 0 && st.st_dev == file->dev &&
        st.st_ino == file->ino)
        unlink(path_of(a));
    file->made = false;
}
