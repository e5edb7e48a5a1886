/* codec/json_read.c - JSON values in arenas.
 * Threads: pure; a document is immutable once parsed.
 *
 * The only file that knows yyjson: an owl_json is a yyjson_val behind a cast. Numbers that fit
 * neither 64 bits nor a double stay text (YYJSON_TYPE_RAW) and travel unchanged. Integers of 64 bits
 * are exact, however they are written. */
#include "codec/json.h"

#include "base/alloc.h"
#include "base/err.h"
#include "codec/decimal.h"
#include "codec/scan.h"
#include "codec/text.h"
#include "codec/tree.h"

#include <yyjson.h>

struct owl_json_doc {
    struct owl_arena *arena; /* holds the document and this */
    const owl_json *root;
};

/* yyjson's readers take values that are not const, and change none. */
static yyjson_val *val(const owl_json *v)
{
    return (yyjson_val *)(uintptr_t)v;
}

static const owl_json *wrap(const yyjson_val *v)
{
    return (const owl_json *)(const void *)v;
}

/* ---- documents ------------------------------------------------------------------------------ */

static void *in_arena(void *arena, size_t n)
{
    return owl_arena_alloc(arena, n);
}

static void *again_in_arena(void *arena, void *p, size_t old_n, size_t n)
{
    return owl_arena_realloc(arena, p, old_n, n);
}

static void with_arena(void *arena, void *p)
{
    (void)arena;
    (void)p; /* goes with the arena */
}

/* Below it a double that is an integer is exactly what was written, or nearer to it than to any
 * fraction. */
static const double EXACT = 9007199254740992.0; /* 2^53 */
static const double INT64_END = 9223372036854775808.0;

static bool may_be_rounded(yyjson_val *v)
{
    return yyjson_is_real(v) && (v->uni.f64 >= EXACT || v->uni.f64 <= -EXACT) &&
           v->uni.f64 >= -INT64_END && v->uni.f64 <= INT64_END;
}

/* The index of the text has a node for each value of the document, in the same order. */
static int restore_integers(owl_str proved, yyjson_val *values, size_t n, size_t first)
{
    struct owl_tree t;
    owl_tree_init(&t, NULL, 0);
    int rc = owl_tree_read(&t, proved);
    OWL_ASSERT(rc != 0 || t.n == n);
    for (size_t i = first; rc == 0 && i < n; i++) {
        if (!may_be_rounded(&values[i]))
            continue;
        int64_t v;
        struct owl_decimal d = owl_decimal_of(owl_tree_text(&t, (uint32_t)i));
        if (owl_decimal_i64(&d, &v))
            unsafe_yyjson_set_sint(&values[i], v);
    }
    owl_tree_done(&t);
    return rc;
}

/* Integers that are written with a fraction or an exponent, and that doubles do not tell apart. */
static int keep_integers(owl_str proved, yyjson_val *values, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (OWL_UNLIKELY(may_be_rounded(&values[i])))
            return restore_integers(proved, values, n, i);
    return 0;
}

/* Reads a copy of the text, which is in @p a, where strings stay. */
static int read_copy(struct owl_arena *a, char *copy, size_t n, struct owl_arena *values,
                     yyjson_doc **ret)
{
    const yyjson_alc alc = {in_arena, again_in_arena, with_arena, values};
    yyjson_read_err err;
    *ret = yyjson_read_opts(copy, n, YYJSON_READ_BIGNUM_AS_RAW | YYJSON_READ_INSITU, &alc, &err);
    if (*ret)
        return 0;
    if (err.code != YYJSON_READ_ERROR_MEMORY_ALLOCATION)
        return -OWL_EPARSE;
    return owl_arena_over(a) ? -OWL_ELIMIT : -OWL_ENOMEM;
}

/* yyjson reserves room for many more values than most texts have: of a long one the values are read
 * elsewhere, and those that there are copied. They know each other by distance. */
static int read_long(struct owl_arena *a, char *copy, size_t n, yyjson_val **ret, size_t *ret_n)
{
    yyjson_doc *doc;
    struct owl_arena *elsewhere = owl_arena_new(0);
    int rc = elsewhere ? read_copy(a, copy, n, elsewhere, &doc) : -OWL_ENOMEM;
    if (rc == 0) {
        *ret_n = doc->val_read;
        *ret = owl_arena_alloc(a, *ret_n * sizeof **ret);
        if (*ret)
            memcpy(*ret, doc->root, *ret_n * sizeof **ret);
        else
            rc = owl_arena_over(a) ? -OWL_ELIMIT : -OWL_ENOMEM;
    }
    owl_arena_free(elsewhere);
    return rc;
}

static int read_short(struct owl_arena *a, char *copy, size_t n, yyjson_val **ret, size_t *ret_n)
{
    yyjson_doc *doc;
    int rc = read_copy(a, copy, n, a, &doc);
    if (rc != 0)
        return rc;
    *ret = doc->root;
    *ret_n = doc->val_read;
    return 0;
}

int owl_json_parse_arena(struct owl_arena *a, owl_str proved, const owl_json **ret,
                         size_t *ret_bytes)
{
    enum { LONG = 4096 };
    yyjson_val *values = NULL;
    size_t n = 0;
    char *copy = owl_arena_alloc(a, proved.n + YYJSON_PADDING_SIZE);
    if (!copy)
        return owl_arena_over(a) ? -OWL_ELIMIT : -OWL_ENOMEM;
    memcpy(copy, proved.p, proved.n);
    memset(copy + proved.n, 0, YYJSON_PADDING_SIZE);
    int rc = proved.n < LONG ? read_short(a, copy, proved.n, &values, &n)
                             : read_long(a, copy, proved.n, &values, &n);
    if (rc == 0)
        rc = keep_integers(proved, values, n);
    if (rc != 0)
        return rc;
    *ret = wrap(values);
    if (ret_bytes)
        *ret_bytes = proved.n + n * sizeof(yyjson_val);
    return 0;
}

int owl_json_parse(const char *text, size_t len, owl_json_doc **ret_doc, owl_error *reterr)
{
    const owl_str source = owl_str_nts(text, len);
    int rc = owl_json_scan(source, OWL_JSON_DEPTH, reterr);
    if (rc)
        return rc;
    struct owl_arena *a = owl_arena_new(0);
    owl_json_doc *doc = a ? owl_arena_alloc(a, sizeof *doc) : NULL;
    rc = doc ? owl_json_parse_arena(a, source, &doc->root, NULL) : -OWL_ENOMEM;
    if (rc) {
        owl_arena_free(a);
        return owl_fail(reterr, rc, NULL);
    }
    doc->arena = a;
    *ret_doc = doc;
    return 0;
}

void owl_json_doc_free(owl_json_doc *doc)
{
    if (doc)
        owl_arena_free(doc->arena);
}

const owl_json *owl_json_doc_root(const owl_json_doc *doc)
{
    return doc ? doc->root : NULL;
}

int owl_json_decode(struct owl_arena *a, owl_str literal, owl_str *ret)
{
    if (!owl_span_is_string(literal)) {
        *ret = (owl_str){NULL, 0};
        return 0;
    }
    owl_str raw = {literal.p + 1, literal.n - 2};
    char *out = owl_arena_alloc(a, raw.n + 1);
    if (!out)
        return owl_arena_over(a) ? -OWL_ELIMIT : -OWL_ENOMEM;
    size_t n = owl_text__decode(raw, out);
    out[n] = '\0';
    *ret = (owl_str){out, n};
    return 0;
}

/* ---- values --------------------------------------------------------------------------------- */

owl_json_kind owl_json_kind_of(const owl_json *v)
{
    switch (yyjson_get_type(val(v))) {
    case YYJSON_TYPE_NULL: return OWL_JSON_NULL;
    case YYJSON_TYPE_BOOL: return OWL_JSON_BOOL;
    case YYJSON_TYPE_RAW:
    case YYJSON_TYPE_NUM: return OWL_JSON_NUMBER;
    case YYJSON_TYPE_STR: return OWL_JSON_STRING;
    case YYJSON_TYPE_ARR: return OWL_JSON_ARRAY;
    case YYJSON_TYPE_OBJ: return OWL_JSON_OBJECT;
    default: return OWL_JSON_NONE;
    }
}

const owl_json *owl_json_get(const owl_json *object, const char *key)
{
    return wrap(yyjson_obj_get(val(object), key));
}

const owl_json *owl_json_at(const owl_json *array, size_t index)
{
    return wrap(yyjson_arr_get(val(array), index));
}

size_t owl_json_len(const owl_json *v)
{
    return yyjson_is_str(val(v)) || yyjson_is_ctn(val(v)) ? unsafe_yyjson_get_len(val(v)) : 0;
}

const char *owl_json_str(const owl_json *v, const char *fallback)
{
    const char *s = yyjson_get_str(val(v));
    return s ? s : fallback;
}

owl_str owl_json_string(const owl_json *v)
{
    const char *s = yyjson_get_str(val(v));
    return (owl_str){s, s ? yyjson_get_len(val(v)) : 0};
}

int64_t owl_json_int(const owl_json *v, int64_t fallback)
{
    if (yyjson_is_sint(val(v)))
        return yyjson_get_sint(val(v));
    if (yyjson_is_uint(val(v)) && yyjson_get_uint(val(v)) <= INT64_MAX)
        return (int64_t)yyjson_get_uint(val(v));
    /* Beyond that keep_integers() has left no integer that fits. */
    double real = yyjson_is_real(val(v)) ? yyjson_get_real(val(v)) : EXACT;
    if (real > -EXACT && real < EXACT && real == (double)(int64_t)real)
        return (int64_t)real;
    return fallback;
}

double owl_json_num(const owl_json *v, double fallback)
{
    if (yyjson_is_num(val(v)))
        return yyjson_get_num(val(v));
    /* Too big for a double: an infinity, as every other reader has it. */
    yyjson_val number;
    const char *raw = yyjson_get_raw(val(v));
    if (raw && yyjson_read_number(raw, &number, YYJSON_READ_ALLOW_INF_AND_NAN, NULL, NULL))
        return yyjson_get_num(&number);
    return fallback;
}

bool owl_json_bool(const owl_json *v, bool fallback)
{
    return yyjson_is_bool(val(v)) ? yyjson_get_bool(val(v)) : fallback;
}

const char *owl_json_get_str(const owl_json *object, const char *key, const char *fallback)
{
    return owl_json_str(owl_json_get(object, key), fallback);
}

int64_t owl_json_get_int(const owl_json *object, const char *key, int64_t fallback)
{
    return owl_json_int(owl_json_get(object, key), fallback);
}

double owl_json_get_num(const owl_json *object, const char *key, double fallback)
{
    return owl_json_num(owl_json_get(object, key), fallback);
}

bool owl_json_get_bool(const owl_json *object, const char *key, bool fallback)
{
    return owl_json_bool(owl_json_get(object, key), fallback);
}

owl_json_iter owl_json_iter_of(const owl_json *v)
{
    if (!yyjson_is_ctn(val(v)))
        return (owl_json_iter){NULL, 0, false};
    return (owl_json_iter){
        ._at = unsafe_yyjson_get_first(val(v)),
        ._left = unsafe_yyjson_get_len(val(v)),
        ._object = yyjson_is_obj(val(v)),
    };
}

const owl_json *owl_json_next(owl_json_iter *it, const char **ret_key)
{
    if (it->_left == 0)
        return NULL;
    yyjson_val *v = val(it->_at);
    if (ret_key)
        *ret_key = it->_object ? unsafe_yyjson_get_str(v) : NULL;
    v += it->_object;
    it->_at = unsafe_yyjson_get_next(v);
    it->_left--;
    return wrap(v);
}

/* ---- text of values ------------------------------------------------------------------------- */

void owl_json_number(struct owl_buf *b, double v)
{
    yyjson_val number = {0};
    unsafe_yyjson_set_real(&number, v);
    char memory[512];
    yyjson_alc pool;
    size_t n = 0;
    bool ok = yyjson_alc_pool_init(&pool, memory, sizeof memory);
    const char *text = ok ? yyjson_val_write_opts(&number, 0, &pool, &n, NULL) : NULL;
    OWL_ASSERT(text); /* v is finite, and one number always fits */
    /* "1.0" reads back equal as "1"; "-0.0" would not. */
    if (v != 0 && n > 2 && memcmp(text + n - 2, ".0", 2) == 0)
        n -= 2;
    else if (n == 3 && memcmp(text, "0.0", 3) == 0)
        n = 1;
    owl_buf_put(b, text, n);
}

static void *on_heap(void *ctx, size_t n)
{
    (void)ctx;
    return owl_malloc(n);
}

static void *again_on_heap(void *ctx, void *p, size_t old_n, size_t n)
{
    (void)ctx;
    (void)old_n;
    return owl_realloc(p, n);
}

static void off_heap(void *ctx, void *p)
{
    (void)ctx;
    owl_free(p);
}

void owl_json_put(struct owl_buf *b, const owl_json *v)
{
    const yyjson_alc heap = {on_heap, again_on_heap, off_heap, NULL};
    if (!v) {
        owl_buf_puts(b, OWL_STR("null"));
        return;
    }
    if (b->rc)
        return;
    size_t n;
    char *text = yyjson_val_write_opts(val(v), 0, &heap, &n, NULL);
    if (text)
        owl_buf_put(b, text, n);
    else
        b->rc = -OWL_ENOMEM;
    owl_free(text);
}
