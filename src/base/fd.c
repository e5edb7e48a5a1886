/* base/fd.c - descriptors of files.
 * Threads: pure. */
#include "base/fd.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

void owl_fd_close(int *fd)
{
    if (*fd >= 0)
        close(*fd);
}

bool owl_fd_write(int fd, owl_str s)
{
    while (s.n > 0) {
        ssize_t n = write(fd, s.p, s.n);
        if (n < 0 && errno != EINTR)
            return false;
        if (n > 0)
            s = (owl_str){s.p + n, s.n - (size_t)n};
    }
    return fsync(fd) == 0;
}

bool owl_fd_hold_standard(void)
{
    for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++) {
        if (fcntl(fd, F_GETFD) < 0 &&
            open("/dev/null", fd == STDIN_FILENO ? O_WRONLY : O_RDONLY) < 0)
            return false;
    }
    return true;
}
