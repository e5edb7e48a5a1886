/* cli/main.c - the program: one command, then its exit code.
 * Threads: the main one. */
#include <errno.h>
#include <poll.h>
#include <unistd.h>

#include "base/block.h"
#include "base/fd.h"
#include "cli/args.h"
#include "cli/help.h"
#include "cli/version.h"

static bool reader_is_gone(void)
{
    struct pollfd p = {.fd = STDOUT_FILENO, .events = POLLOUT};
    return poll(&p, 1, 0) == 1 && (p.revents & POLLERR);
}

/* Whatever a command says: an answer that did not arrive is no success. A reader that has gone away
 * knows why, and is not told. */
static int deliver(struct owl_run *r, int code)
{
    bool before = ferror(stdout); /* whose reason is forgotten */
    bool quiet = reader_is_gone();
    errno = 0;
    if (fclose(stdout) == 0 && !before) /* a network file system may tell only now */
        return code;
    if (quiet)
        return OWL_EXIT_OUTPUT;
    return owl_run_fail(r, OWL_EXIT_OUTPUT, "standard output cannot be written%s%s",
                        errno ? ": " : "", errno ? strerror(errno) : "");
}

static int refuse(struct owl_run *r, const struct owl_args *args)
{
    owl_run_fail(r, OWL_EXIT_USAGE, "%s", args->problem);
    owl_help_usage(r->err, args->command);
    owl_print(r->err, OWL_PLAIN, "Try: owlclaw%s%s --help\n", *args->command->words ? " " : "",
              args->command->words);
    return OWL_EXIT_USAGE;
}

static int run(struct owl_run *r, const struct owl_args *args)
{
    if (args->help) {
        owl_help(r->out, args->command);
        return OWL_EXIT_OK;
    }
    return args->version ? owl_print_version(r) : args->command->run(r);
}

int main(int argc, char **argv)
{
    if (!owl_fd_hold_standard())
        return OWL_EXIT_INNER;
    struct owl_args args;
    int rc = owl_args_read(&args, argc, argv);
    struct owl_print out, err;
    owl_print_init(&out, stdout, args.colour);
    owl_print_init(&err, stderr, args.colour);
    struct owl_run r = {.command = args.command,
                        .out = &out,
                        .err = &err,
                        .json = args.json,
                        .operands = args.operands,
                        .n_operands = args.n_operands,
                        .given = args.given,
                        .n_given = args.n_given};
    int code = rc == -OWL_ENOMEM ? owl_run_fail(&r, OWL_EXIT_INNER, "out of memory")
               : rc              ? refuse(&r, &args)
                                 : run(&r, &args);
    code = deliver(&r, code);
    owl_args_done(&args);
    owl_thread_keep_nothing();
    return code;
}
