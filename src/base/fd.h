/* base/fd.h - descriptors of files.
 * Layer: base. Threads: pure. */
#ifndef OWL_BASE_FD_H
#define OWL_BASE_FD_H

#include "base/base.h"

/* For OWL_AUTO(owl_fd_close) int fd = …; one below 0 is none. */
void owl_fd_close(int *fd);
/* Writes all of it, and to the disk. False: errno says why not. */
OWL_NODISCARD bool owl_fd_write(int fd, owl_str s);
/* Takes those of the descriptors 0 to 2 that are closed. Otherwise what is opened next would get
 * them: what is printed would end there, and libuv aborts when it closes one. They are led to
 * something that cannot be used in their direction, so that using them is the error that it should
 * be. False: errno says why not. */
OWL_NODISCARD bool owl_fd_hold_standard(void);

#endif
