/* config/variables.c - ${VARIABLES} in the strings of configuration files.
 * Threads: one at a time.
 *
 * One pass over the string with a small stack: each level is a default that is being read, which
 * counts or is passed over. */
#include "config/variables.h"

#include <stdarg.h>
#include <stdio.h>

#include "base/alloc.h"

int owl_variables__init(struct owl_variables *v, const char *const *env, owl_str home,
                        owl_str folder)
{
    *v = (struct owl_variables){
        .list = env, .home = home, .folder = folder, .left = OWL_VARIABLES__TOTAL};
    owl_map_init(&v->env);
    owl_map_init(&v->inputs);
    for (; env && *env; env++) {
        const char *sign = strchr(*env, '=');
        if (!sign || sign == *env)
            continue;
        owl_str name = {*env, (size_t)(sign - *env)};
        union {
            const char *in;
            void *out;
        } value = {.in = sign + 1};
        /* Of two equal names the first one is what getenv() finds. */
        if (!owl_map_get(&v->env, name) && owl_map_put(&v->env, name, value.out, NULL))
            return -OWL_ENOMEM;
    }
    return 0;
}

void owl_variables__done(struct owl_variables *v)
{
    owl_map_done(&v->env);
    owl_map_done(&v->inputs);
}

const char *owl_variables__get(const struct owl_variables *v, owl_str name)
{
    return owl_map_get(&v->env, name);
}

int owl_variables__inputs(struct owl_variables *v, const struct owl_value *list)
{
    for (struct owl_value *e = list ? list->first : NULL; e; e = e->next) {
        const struct owl_value *id = owl_value_get(e, OWL_STR("id"));
        if (id && id->kind == OWL_NODE_STRING && owl_map_put(&v->inputs, id->text, e, NULL))
            return -OWL_ENOMEM;
    }
    return 0;
}

/* ---- one variable ----------------------------------------------------------------------- */

struct reading {
    struct owl_variables *v;
    struct owl_arena *a;
    struct owl_buf b;
    owl_str rest;
    struct owl_expansion *x;
    bool counts[OWL_VARIABLES__DEPTH + 1]; /* whether the text of a level is used */
    unsigned depth;
    bool seen; /* there was a variable */
};

static owl_str printed(struct owl_arena *a, const char *fmt, va_list args) OWL_PRINTF(2, 0);
static owl_str printed(struct owl_arena *a, const char *fmt, va_list args)
{
    char line[256];
    int n = vsnprintf(line, sizeof line, fmt, args);
    size_t length = n < 0 ? 0 : (size_t)n < sizeof line ? (size_t)n : sizeof line - 1;
    char *copy = owl_arena_dup(a, (owl_str){line, length});
    return copy ? (owl_str){copy, length} : OWL_STR("out of memory");
}

/* The first fault is told; whether this is it. */
static bool refuse(struct reading *r, const char *fmt, ...) OWL_PRINTF(2, 3);
static bool refuse(struct reading *r, const char *fmt, ...)
{
    if (r->x->fault.p)
        return false;
    va_list args;
    va_start(args, fmt);
    r->x->fault = printed(r->a, fmt, args);
    va_end(args);
    return true;
}

static void advise(struct reading *r, const char *fmt, ...) OWL_PRINTF(2, 3);
static void advise(struct reading *r, const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    r->x->hint = printed(r->a, fmt, args);
    va_end(args);
}

/* As much of a name as is shown. */
static int shown(owl_str name)
{
    return name.n > 80 ? 80 : (int)name.n;
}

/* OWLCLAW_INPUT_ID */
static owl_str input_variable(owl_str id, char *out, size_t size)
{
    int n = snprintf(out, size, "OWLCLAW_INPUT_%.*s", shown(id), id.p);
    size_t length = n < 0 ? 0 : (size_t)n < size ? (size_t)n : size - 1;
    for (size_t i = 0; i < length; i++) {
        bool small = out[i] >= 'a' && out[i] <= 'z';
        bool fine = (out[i] >= 'A' && out[i] <= 'Z') || (out[i] >= '0' && out[i] <= '9');
        out[i] = small ? (char)(out[i] - 'a' + 'A') : fine ? out[i] : '_';
    }
    return (owl_str){out, length};
}

static owl_str input(struct reading *r, owl_str id)
{
    char text[100];
    owl_str name = input_variable(id, text, sizeof text);
    const struct owl_value *entry = owl_map_get(&r->v->inputs, id);
    const struct owl_value *hidden = owl_value_get(entry, OWL_STR("password"));
    const struct owl_value *given = owl_value_get(entry, OWL_STR("default"));
    const char *value = owl_variables__get(r->v, name);
    r->x->secret = r->x->secret || owl_secret__name(id) ||
                   (hidden && hidden->kind == OWL_NODE_TRUE);
    if (value)
        return owl_str_of(value);
    if (given && given->kind == OWL_NODE_STRING)
        return given->text;
    return (owl_str){NULL, 0};
}

static bool is_name(owl_str s)
{
    for (size_t i = 0; i < s.n; i++) {
        bool letter = (s.p[i] >= 'a' && s.p[i] <= 'z') || (s.p[i] >= 'A' && s.p[i] <= 'Z');
        if (!letter && s.p[i] != '_' && (i == 0 || s.p[i] < '0' || s.p[i] > '9'))
            return false;
    }
    return s.n > 0;
}

static bool begins(owl_str *s, const char *prefix)
{
    size_t n = strlen(prefix);
    if (s->n < n || memcmp(s->p, prefix, n) != 0)
        return false;
    *s = (owl_str){s->p + n, s->n - n};
    return true;
}

/* How ${NAME-default}, ${env.NAME} and ${ NAME } of others are written here. */
static void advise_name(struct reading *r, owl_str name, owl_str id)
{
    owl_str trimmed = owl_str_trim(id), dotted = id;
    size_t n = 0;
    while (n < id.n && !strchr("-=?+", id.p[n]))
        n++;
    if (is_name(trimmed))
        advise(r, "write `${%.*s}`", shown(trimmed), trimmed.p);
    else if ((begins(&dotted, "env.") || begins(&dotted, "ENV.")) && is_name(dotted))
        advise(r, "write `${%.*s}`", shown(dotted), dotted.p);
    else if (n < id.n && id.p[n] == '-' && is_name((owl_str){id.p, n}))
        advise(r, "a default stands behind `:-`, as in `${%.*s:-...}`", (int)n, id.p);
    else
        advise(r, "to mean the text itself, write `$${%.*s}`", shown(name), name.p);
}

/* The value, or absent: it has none. What is no name at all is refused. */
static owl_str value_of(struct reading *r, owl_str name)
{
    owl_str id = name;
    if (owl_str_is(name, "userHome"))
        return r->v->home;
    if (owl_str_is(name, "workspaceFolder"))
        return r->v->folder;
    if (begins(&id, "input:"))
        return input(r, id);
    begins(&id, "env:");
    if (!is_name(id)) {
        if (refuse(r, "`${%.*s}` names no variable", shown(name), name.p))
            advise_name(r, name, id);
        return OWL_STR("");
    }
    const char *value = owl_variables__get(r->v, id);
    if (value && (owl_secret__name(id) || owl_secret__text(owl_str_of(value))))
        r->x->secret = true;
    return owl_str_of(value);
}

static void missing(struct reading *r, owl_str name)
{
    owl_str id = name;
    if (begins(&id, "input:")) {
        char text[100];
        owl_str variable = input_variable(id, text, sizeof text);
        if (refuse(r, "the input `%.*s` has no value", shown(id), id.p))
            advise(r, "set the variable %.*s", shown(variable), variable.p);
    } else if (owl_str_is(name, "userHome") || owl_str_is(name, "workspaceFolder")) {
        refuse(r, "`${%.*s}` is not known here", shown(name), name.p);
    } else {
        begins(&id, "env:");
        if (refuse(r, "the variable `%.*s` is not set", shown(id), id.p))
            advise(r, "set it, or give a default: `${%.*s:-...}`", shown(name), name.p);
    }
}

/* ---- the string ------------------------------------------------------------------------- */

static void put(struct reading *r, owl_str s)
{
    if (s.p && r->counts[r->depth])
        owl_buf_puts(&r->b, s);
}

/* Behind "${": a variable, or the beginning of one with a default. */
static void open_variable(struct reading *r)
{
    size_t n = 0;
    owl_str s = r->rest;
    while (n < s.n && s.p[n] != '}' && !(s.p[n] == ':' && n + 1 < s.n && s.p[n + 1] == '-'))
        n++;
    owl_str name = {s.p, n};
    if (n == s.n) {
        if (refuse(r, "`${` is not closed"))
            advise(r, "end the variable with `}`, or write `$${` to mean the text itself");
        r->rest.n = 0;
        return;
    }
    bool counts = r->counts[r->depth], closed = s.p[n] == '}';
    r->seen = true;
    r->rest = closed ? (owl_str){s.p + n + 1, s.n - n - 1} : (owl_str){s.p + n + 2, s.n - n - 2};
    owl_str value = counts ? value_of(r, name) : OWL_STR("");
    if (closed) {
        if (counts && !value.p)
            missing(r, name);
        put(r, value);
        return;
    }
    if (r->depth == OWL_VARIABLES__DEPTH) {
        refuse(r, "more than %d defaults stand within one another", OWL_VARIABLES__DEPTH);
        r->rest.n = 0;
        return;
    }
    if (value.n > 0)
        put(r, value);
    r->depth++;
    r->counts[r->depth] = counts && value.n == 0;
}

static void step(struct reading *r)
{
    owl_str s = r->rest;
    if (begins(&r->rest, "$${")) {
        put(r, OWL_STR("${"));
    } else if (begins(&r->rest, "${")) {
        open_variable(r);
    } else if (s.p[0] == '}' && r->depth > 0) {
        r->depth--;
        r->rest = (owl_str){s.p + 1, s.n - 1};
    } else {
        size_t n = 1;
        while (n < s.n && s.p[n] != '$' && s.p[n] != '}')
            n++;
        put(r, (owl_str){s.p, n});
        r->rest = (owl_str){s.p + n, s.n - n};
    }
}

int owl_variables__expand(struct owl_variables *v, struct owl_arena *a, owl_str text,
                          struct owl_expansion *ret)
{
    *ret = (struct owl_expansion){.text = text};
    if (text.n < 3 || !memmem(text.p, text.n, "${", 2))
        return 0;
    struct reading r = {.v = v, .a = a, .rest = text, .x = ret, .counts = {true}};
    size_t most = v->left < OWL_VARIABLES__STRING ? v->left : OWL_VARIABLES__STRING;
    owl_buf_init(&r.b, most);
    while (r.rest.n > 0 && r.b.rc == 0)
        step(&r);
    if (r.b.rc == -OWL_ELIMIT)
        refuse(&r, "the text is too long when its variables are replaced");
    else if (r.depth > 0 && refuse(&r, "`${` is not closed"))
        advise(&r, "end the default with `}`");
    int rc = r.b.rc == -OWL_ENOMEM ? -OWL_ENOMEM : 0;
    v->left -= r.b.n; /* also of what is refused: the work was done */
    char *copy = rc || ret->fault.p ? NULL : owl_arena_dup(a, owl_buf_str(&r.b));
    if (copy) {
        ret->text = (owl_str){copy, r.b.n};
        ret->replaced = r.seen;
    } else if (!ret->fault.p) {
        rc = -OWL_ENOMEM;
    }
    owl_buf_done(&r.b);
    return rc;
}
