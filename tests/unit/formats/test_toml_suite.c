/* The official test suite of TOML against formats/toml.c: the cases of version 1.0. */
#include "support/test.h"

#include "codec/decimal.h"
#include "codec/scan.h"
#include "codec/tree.h"
#include "formats/value.h"

#include <stdio.h>

static owl_str slurp(const char *relative_path)
{
    const char *path = owl_test_data(relative_path);
    assert_non_null(path);
    FILE *f = fopen(path, "rb");
    assert_non_null(f);
    fseek(f, 0, SEEK_END);
    long n = ftell(f);
    rewind(f);
    char *p = malloc((size_t)n + 1);
    assert_non_null(p);
    assert_int_equal(fread(p, 1, (size_t)n, f), n);
    fclose(f);
    return (owl_str){p, (size_t)n};
}

static void drop(owl_str s)
{
    free((void *)(uintptr_t)s.p);
}

/* The type of a value as the suite names it. */
static const char *type_of(const struct owl_value *v)
{
    static const char *const forms[] = {"string", "datetime", "datetime-local", "date-local",
                                        "time-local"};
    switch ((enum owl_node_kind)v->kind) {
    case OWL_NODE_TRUE:
    case OWL_NODE_FALSE: return "bool";
    case OWL_NODE_STRING: return forms[v->form];
    case OWL_NODE_NUMBER:
        return v->form == OWL_FORM_NOT_FINITE || strpbrk(v->text.p, ".eE") ? "float" : "integer";
    default: return "no scalar";
    }
}

/* Without the zeros at the end of a fraction of a second. */
static owl_str moment(owl_str s, char out[64])
{
    assert_true(s.n < 64);
    size_t n = 0;
    const char *point = memchr(s.p, '.', s.n);
    size_t i = 0;
    for (; i < s.n && (!point || s.p + i < point); i++)
        out[n++] = s.p[i];
    if (point) {
        size_t end = i + 1;
        while (end < s.n && s.p[end] >= '0' && s.p[end] <= '9')
            end++;
        size_t kept = end;
        while (s.p[kept - 1] == '0')
            kept--;
        for (; i < kept; i++)
            out[n++] = s.p[i];
        for (i = end; i < s.n; i++)
            out[n++] = s.p[i];
    }
    return (owl_str){out, n};
}

static bool same_scalar(const struct owl_value *v, owl_str type, owl_str value)
{
    char a[64], b[64];
    if (!owl_str_is(type, type_of(v)))
        return false;
    if (v->text.p && v->text.p[v->text.n] != '\0')
        return false;
    if (owl_str_is(type, "bool"))
        return owl_str_is(value, v->kind == OWL_NODE_TRUE ? "true" : "false");
    if (owl_str_is(type, "float") && v->form != OWL_FORM_NOT_FINITE) {
        struct owl_decimal x = owl_decimal_of(v->text), y = owl_decimal_of(value);
        return strtod(v->text.p, NULL) == strtod(value.p, NULL) || owl_decimal_cmp(&x, &y) == 0;
    }
    if (v->form != OWL_FORM_PLAIN && v->form != OWL_FORM_NOT_FINITE)
        return owl_str_eq(moment(v->text, a), moment(value, b));
    return owl_str_eq(v->text, value);
}

struct pair {
    const struct owl_value *value;
    uint32_t node;
};

/* Puts the members of both on the stack; false if they differ at once. */
static bool same_here(struct pair at, const struct owl_tree *t, struct owl_arena *a,
                      struct pair *stack, size_t *n)
{
    const struct owl_node *node = &t->nodes[at.node];
    uint32_t type = node->kind == OWL_NODE_OBJECT ? owl_tree_get(t, at.node, OWL_STR("type")) : 0;
    if (type && node->count == 2 && t->nodes[type].kind == OWL_NODE_STRING) {
        uint32_t value = owl_tree_get(t, at.node, OWL_STR("value"));
        return same_scalar(at.value, owl_tree_decode(t, type, a), owl_tree_decode(t, value, a));
    }
    if (at.value->kind != node->kind || at.value->count != node->count)
        return false;
    const struct owl_value *element = at.value->first;
    for (uint32_t c = at.node + 1; c < node->next; c = t->nodes[c].next) {
        if (node->kind == OWL_NODE_OBJECT) {
            element = owl_value_get(at.value, owl_tree_decode(t, c, a));
            c = t->nodes[c].next;
        }
        if (!element)
            return false;
        assert_true(*n < 10000);
        stack[(*n)++] = (struct pair){element, c};
        element = element->next;
    }
    return true;
}

static bool same(const struct owl_value *v, owl_str json)
{
    static struct pair stack[10000];
    struct owl_arena *a = owl_arena_new(0);
    struct owl_tree t;
    assert_int_equal(owl_json_scan(json, OWL_JSON_DEPTH, NULL), 0);
    owl_tree_init(&t, NULL, 0);
    assert_int_equal(owl_tree_read(&t, json), 0);
    size_t n = 1;
    stack[0] = (struct pair){v, 0};
    bool equal = true;
    while (equal && n > 0) {
        struct pair at = stack[--n];
        equal = same_here(at, &t, a, stack, &n);
    }
    owl_tree_done(&t);
    owl_arena_free(a);
    return equal;
}

static bool passes(const char *name)
{
    char path[512];
    snprintf(path, sizeof path, "toml/tests/%s", name);
    owl_str text = slurp(path);
    struct owl_arena *a = owl_arena_new(0);
    struct owl_faults faults = {.arena = a};
    struct owl_reading r = {.text = text, .arena = a, .faults = &faults};
    struct owl_value *v = NULL;
    int rc = owl_toml_read(&r, &v);
    bool valid = strncmp(name, "valid/", 6) == 0, good = (faults.errors == 0) == valid;
    if (valid && faults.n > 0)
        print_message("%u:%u: %s\n", faults.list[0].at.line, faults.list[0].at.column,
                      faults.list[0].what.p);
    if (rc == 0 && valid && good) {
        strcpy(path + strlen(path) - 4, "json");
        owl_str json = slurp(path);
        good = same(v, json);
        drop(json);
    }
    owl_arena_free(a);
    drop(text);
    return good && (rc == 0 || (!valid && rc == -OWL_EPARSE));
}

TEST(the_suite_of_toml_1_0_passes, "")
{
    if (!owl_test_data("toml/tests/files-toml-1.0.0")) {
        print_message("no toml/tests in the test data\n");
        skip();
    }
    owl_str list = slurp("toml/tests/files-toml-1.0.0"), line;
    unsigned run[2] = {0}, failed[2] = {0};
    for (owl_str rest = list; owl_str_split(&rest, '\n', &line);) {
        char name[256];
        if (line.n < 5 || memcmp(line.p + line.n - 5, ".toml", 5) != 0)
            continue;
        snprintf(name, sizeof name, "%.*s", (int)line.n, line.p);
        bool valid = name[0] == 'v';
        run[valid]++;
        if (passes(name))
            continue;
        failed[valid]++;
        print_message("%s\n", name);
    }
    drop(list);
    print_message("valid: %u of %u, invalid: %u of %u\n", run[1] - failed[1], run[1],
                  run[0] - failed[0], run[0]);
    assert_int_equal(failed[0] + failed[1], 0);
    assert_true(run[1] > 200 && run[0] > 450);
}
