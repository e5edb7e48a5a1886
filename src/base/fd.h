/* base/fd.h - descriptors of files.
 * Layer: base (of the program, not of the library). Threads: pure. */
#ifndef OWL_BASE_FD_H
#define OWL_BASE_FD_H

#include "base/base.h"

/* For OWL_AUTO(owl_fd_close) int fd = …; one below 0 is none. */
void owl_fd_close(int *fd);
/* Writes all of it, and to the disk. False: errno says why not. */
OWL_NODISCARD bool owl_fd_write(int fd, owl_str s);

#endif
