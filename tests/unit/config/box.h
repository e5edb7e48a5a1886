/* unit/config/box.h - a folder of its own for each test, and configurations loaded from it. */
#ifndef OWL_UNIT_CONFIG_BOX_H
#define OWL_UNIT_CONFIG_BOX_H

#include "support/test.h"

#include <ftw.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "config/config.h"
#include "config/report.h"

struct box {
    char dir[64], home[80];
    struct owl_config *c;
};

__attribute__((unused)) static void box_open(struct box *b)
{
    memset(b, 0, sizeof *b);
    strcpy(b->dir, "/tmp/owlclaw-config-XXXXXX");
    assert_non_null(mkdtemp(b->dir));
    snprintf(b->home, sizeof b->home, "%s/home", b->dir);
    assert_int_equal(mkdir(b->home, 0700), 0);
}

__attribute__((unused)) static int box_remove(const char *path, const struct stat *s, int flag,
                                              struct FTW *f)
{
    (void)s;
    (void)flag;
    (void)f;
    return remove(path);
}

__attribute__((unused)) static void box_close(struct box *b)
{
    owl_config_free(b->c);
    nftw(b->dir, box_remove, 8, FTW_DEPTH | FTW_PHYS);
}

__attribute__((unused)) static void box_bytes(const struct box *b, const char *name, owl_str text)
{
    char path[256];
    snprintf(path, sizeof path, "%s/%s", b->dir, name);
    for (char *slash = path + strlen(b->dir) + 1; (slash = strchr(slash, '/')); slash++) {
        *slash = '\0';
        OWL_IGNORE(mkdir(path, 0700)); /* it may be there */
        *slash = '/';
    }
    FILE *f = fopen(path, "wb");
    assert_non_null(f);
    assert_int_equal(fwrite(text.p, 1, text.n, f), text.n);
    assert_int_equal(fclose(f), 0);
}

__attribute__((unused)) static void box_write(const struct box *b, const char *name,
                                              const char *text)
{
    box_bytes(b, name, owl_str_of(text));
}

/* Loads anew; what is not given is empty. */
__attribute__((unused)) static void box_load(struct box *b, struct owl_config_options o)
{
    static const char *const nothing[] = {NULL};
    owl_config_free(b->c);
    b->c = NULL;
    o.dir = o.dir ? o.dir : b->dir;
    o.home = o.home ? o.home : b->home;
    o.env = o.env ? o.env : nothing;
    assert_int_equal(owl_config_load(&o, &b->c), 0);
}

#define FILES(...) \
    .files = (const char *const[]){__VA_ARGS__}, \
    .n_files = sizeof((const char *const[]){__VA_ARGS__}) / sizeof(char *)
#define ENV(...) \
    .env = (const char *const[]) \
    { \
        __VA_ARGS__, NULL \
    }
#define LOAD(b, ...) box_load((b), (struct owl_config_options){__VA_ARGS__})

/* Writes one file and loads it. */
__attribute__((unused)) static void box_try(struct box *b, const char *name, const char *text)
{
    box_write(b, name, text);
    LOAD(b, FILES(name));
}

/* Every fault as it is told. */
__attribute__((unused)) static void box_report(const struct box *b, struct owl_buf *ret)
{
    const struct owl_faults *f = owl_config_faults(b->c);
    owl_buf_init(ret, 1 << 20);
    for (size_t i = 0; i < f->n; i++)
        owl_report_fault(ret, b->c, &f->list[i], false);
    owl_buf_putc(ret, '\0');
    assert_int_equal(ret->rc, 0);
}

__attribute__((unused)) static void box_says(const struct box *b, const char *text, int line,
                                             bool there)
{
    struct owl_buf all;
    box_report(b, &all);
    bool found = strstr(all.p, text) != NULL;
    if (found != there) {
        print_error("line %d: %s '%s' in:\n%s", line, there ? "expected" : "unwanted", text, all.p);
        fail();
    }
    owl_buf_done(&all);
}
#define assert_says(b, text) box_says((b), (text), __LINE__, true)
#define assert_says_not(b, text) box_says((b), (text), __LINE__, false)

__attribute__((unused)) static void box_errors(const struct box *b, size_t n, int line)
{
    if (owl_config_faults(b->c)->errors != n) {
        struct owl_buf all;
        box_report(b, &all);
        print_error("line %d: %zu errors, not %zu:\n%s", line, owl_config_faults(b->c)->errors, n,
                    all.p);
        fail();
    }
}
#define assert_errors(b, n) box_errors((b), (n), __LINE__)

/* The value of a key as JSON; NULL: there is none. */
__attribute__((unused)) static void box_value(const struct box *b, const char *key,
                                              const char *json, int line)
{
    const struct owl_value *v = owl_config_get(b->c, key);
    struct owl_buf text;
    owl_buf_init(&text, 1 << 20);
    if (v)
        owl_value_json(&text, v, NULL);
    owl_buf_putc(&text, '\0');
    if (v ? !json || strcmp(text.p, json) != 0 : json != NULL) {
        print_error("line %d: %s is %s, not %s\n", line, key, v ? text.p : "absent",
                    json ? json : "absent");
        fail();
    }
    owl_buf_done(&text);
}
#define assert_value(b, key, json) box_value((b), (key), (json), __LINE__)

/* The source of a value, by its name. */
__attribute__((unused)) static const char *box_source(const struct box *b, const char *key)
{
    const struct owl_source *list;
    size_t n = owl_config_sources(b->c, &list);
    const struct owl_value *v = owl_config_get(b->c, key);
    assert_non_null(v);
    assert_true(v->at.source < n);
    return list[v->at.source].name.p;
}

#endif
