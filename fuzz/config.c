/* A whole configuration from one file, and all that is said about it: nothing may crash, and no
 * fault may be told that cannot be printed. */
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "config/config.h"
#include "config/diff.h"
#include "config/report.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Whatever comes of it is written out. */
static void look_at(const struct owl_config *c)
{
    struct owl_buf b;
    owl_buf_init(&b, (size_t)1 << 26);
    const struct owl_faults *f = owl_config_faults(c);
    for (size_t i = 0; i < f->n; i++) {
        owl_report_fault(&b, c, &f->list[i], i % 2);
        owl_report_fault_json(&b, c, &f->list[i]);
    }
    const struct owl_value *root = owl_config_tree(c);
    for (const struct owl_value *v = root; v; v = owl_value_next(root, v))
        if (owl_config_secret(c, v))
            owl_buf_putc(&b, '*');
    owl_value_json(&b, root, NULL);
    owl_buf_done(&b);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char *const env[] = {"A=1", "TOKEN=t", "MCP_SERVER_HTTP_PORT=1", NULL};
    int fd = memfd_create("config", MFD_CLOEXEC);
    char path[64];
    if (fd < 0 || write(fd, data, size) != (ssize_t)size)
        abort();
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    const char *const files[] = {path};
    struct owl_config_options o = {
        .files = files, .n_files = 1, .env = env, .dir = "/nonexistent", .home = "/nonexistent"};
    struct owl_config *c = NULL;
    if (owl_config_load(&o, &c) == 0) {
        struct owl_arena *a = owl_arena_new(0);
        const struct owl_change *list;
        size_t n = 0;
        look_at(c);
        if (!a || owl_config_diff(c, c, a, &list, &n) || n > 0)
            abort(); /* nothing has changed */
        owl_arena_free(a);
        owl_config_free(c);
    }
    close(fd);
    return 0;
}
