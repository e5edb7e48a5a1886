/* cli/file.h - text from files, and places in it.
 * Layer: cli. Threads: the main one. */
#ifndef OWL_CLI_FILE_H
#define OWL_CLI_FILE_H

#include "cli/print.h"

enum { OWL_FILE_MAX = 64 * 1024 * 1024 };

struct owl_file {
    const char *name; /* for messages; borrowed */
    char *p;          /* NUL-terminated */
    size_t n;
};

/* Reads all of @p path, "-" being standard input, if it has at most @p max bytes. The error says
 * why not, without the name. Free it with owl_file_done(), also after a failure. @errors OWL_EIO,
 * OWL_ELIMIT, OWL_ENOMEM. */
OWL_NODISCARD int owl_file_read(struct owl_file *f, const char *path, size_t max,
                                owl_error *reterr);
/* The same of a descriptor, which stays open. */
OWL_NODISCARD int owl_file_read_fd(struct owl_file *f, int fd, size_t max, owl_error *reterr);
void owl_file_done(struct owl_file *f);

static inline owl_str owl_file_text(const struct owl_file *f)
{
    return (owl_str){f->p, f->n};
}

/* Proves that a file is one JSON value; the error says why not, and *@p ret_at where (in bytes).
 * @errors as owl_json_scan(). */
OWL_NODISCARD int owl_file_prove_json(const struct owl_file *f, size_t *ret_at, owl_error *reterr);

/* Line and column of a byte, counted from 1; columns are characters. */
struct owl_place {
    size_t line, column;
    size_t begin, end; /* of the line, in bytes */
};
struct owl_place owl_place_of(owl_str text, size_t at);
/* The line of a byte with a caret beneath it, cut to the width of the terminal. */
void owl_print_place(struct owl_print *p, owl_str text, size_t at);

#endif
