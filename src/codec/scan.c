/* codec/scan.c - the proof that bytes are one strict JSON value.
 * Threads: pure.
 *
 * One pass without recursion. Every step takes the place where it begins and returns the place
 * behind what it has proved, or NULL after it has recorded why not. Keys of the open objects
 * form one stack; an object that closes takes its keys off. Of small objects each new key is
 * compared with its siblings at once (a filter of 64 bits spares nearly all comparisons);
 * objects that are large or have keys with escapes are examined as a whole when they close, in
 * O(members).
 *
 * Invariants: a place never passes `end`; levels[0] is the outside, levels[depth] the innermost
 * value that is open; its keys are keys[level->base .. nkeys). */
#include "codec/scan.h"

#include "base/alloc.h"
#include "base/err.h"
#include "base/map.h"
#include "codec/json.h"
#include "codec/text.h"

#include <stdio.h>

enum {
    SMALL_OBJECT = 32,
    MAX_MEMBERS = 100000,
    KEYS_INLINE = 160,
};

struct key {
    uint32_t at; /* offset of its first byte, behind the quote */
    uint32_t n;
    uint32_t tag; /* equal for equal bytes */
    bool escaped;
};

struct level {
    uint64_t filter; /* bit i: a key with tag >> 26 == i exists */
    uint32_t base;
    bool object;
    bool escaped; /* some key is */
};

struct scan {
    const char *start, *end;
    owl_error *err;
    int rc;
    unsigned depth, max_depth;
    bool repeats;     /* equal keys are none of its business */
    bool halves;      /* nor are halves of surrogate pairs */
    struct key *keys; /* inline_keys, or on the heap */
    size_t nkeys, cap;
    struct owl_tape *tape; /* NULL: nothing is recorded */
    /* Of each level that is recorded: the entry whose value is being scanned, or NULL. */
    struct owl_tape_entry *open[OWL_TAPE_LEVELS + 1];
    struct level levels[OWL_JSON_DEPTH + 1];
    struct key inline_keys[KEYS_INLINE];
};

/* ---- failure: all return NULL, which is also false ------------------------------------------ */

__attribute__((cold, noinline)) static const char *fail(struct scan *s, int code, const char *at,
                                                        const char *what)
{
    s->rc = owl_fail(s->err, code, "byte %zu: %s", (size_t)(at - s->start), what);
    return NULL;
}

__attribute__((cold, noinline)) static const char *unexpected(struct scan *s, const char *at,
                                                              const char *wanted)
{
    char what[120];
    unsigned char c = at < s->end ? (unsigned char)*at : 0;
    if (at >= s->end)
        snprintf(what, sizeof what, "expected %s, found the end of the text", wanted);
    else if (c > 0x20 && c < 0x7f)
        snprintf(what, sizeof what, "expected %s, found '%c'", wanted, c);
    else
        snprintf(what, sizeof what, "expected %s, found byte 0x%02x", wanted, c);
    return fail(s, OWL_EPARSE, at, what);
}

static const char *no_memory(struct scan *s)
{
    s->rc = owl_fail(s->err, OWL_ENOMEM, NULL);
    return NULL;
}

/* ---- scalars ------------------------------------------------------------------------------- */

static inline const char *skip_space(const struct scan *s, const char *p)
{
    while (p < s->end && (unsigned char)*p <= ' ' && owl_text__space(*p))
        p++;
    return p;
}

/* The four digits behind "\u", or -1. */
static int hex4(const struct scan *s, const char *p)
{
    int v = 0;
    if (s->end - p < 4)
        return -1;
    for (int i = 0; i < 4; i++) {
        int digit = owl_hex_digit(p[i]);
        if (digit < 0)
            return -1;
        v = v << 4 | digit;
    }
    return v;
}

/* @p p is at the backslash. */
static const char *scan_escape(struct scan *s, const char *p)
{
    if (s->end - p < 2)
        return unexpected(s, p + 1, "an escape");
    static const char letters[] = "\"\\/bfnrt";
    if (memchr(letters, p[1], sizeof letters - 1))
        return p + 2;
    if (p[1] != 'u')
        return fail(s, OWL_EPARSE, p, "unknown escape in a string");
    int c = hex4(s, p + 2);
    if (c < 0)
        return fail(s, OWL_EPARSE, p, "\\u needs four hexadecimal digits");
    if (c < 0xd800 || c > 0xdfff)
        return p + 6;
    if (c < 0xdc00 && s->end - p >= 12 && p[6] == '\\' && p[7] == 'u') {
        int low = hex4(s, p + 8);
        if (low >= 0xdc00 && low <= 0xdfff)
            return p + 12;
    }
    return s->halves ? p + 6 : fail(s, OWL_EPARSE, p, "half of a surrogate pair in a string");
}

/* What is not plain within a string; @p p is before the end. */
static const char *scan_odd(struct scan *s, const char *p)
{
    unsigned char c = (unsigned char)*p;
    if (c == '\\')
        return scan_escape(s, p);
    if (c < 0x20)
        return fail(s, OWL_EPARSE, p, "a control character in a string must be escaped");
    do {
        size_t n = owl_text__utf8(p, s->end);
        if (n == 0)
            return fail(s, OWL_EPARSE, p, "invalid UTF-8 in a string");
        p += n;
    } while (p < s->end && (unsigned char)*p >= 0x80);
    return p;
}

/* @p p is behind the opening quote; the result behind the closing one. */
static inline __attribute__((always_inline)) const char *
scan_string(struct scan *s, struct owl_text__window *w, const char *p, bool *ret_escaped)
{
    bool escaped = false;
    for (;;) {
        p = owl_text__run(w, p, s->end, false);
        if (OWL_UNLIKELY(p == s->end))
            return unexpected(s, p, "'\"' at the end of a string");
        if (OWL_LIKELY(*p == '"')) {
            *ret_escaped = escaped;
            return p + 1;
        }
        escaped |= *p == '\\';
        p = scan_odd(s, p);
        if (!p)
            return NULL;
    }
}

static inline bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static inline const char *skip_digits(const struct scan *s, const char *p)
{
    while (p < s->end && is_digit(*p))
        p++;
    return p;
}

static const char *scan_number(struct scan *s, const char *p)
{
    const char *from = p += *p == '-';
    p = skip_digits(s, p);
    if (p == from)
        return unexpected(s, p, "a digit");
    if (*from == '0' && p - from > 1)
        return fail(s, OWL_EPARSE, from, "a number must not begin with 0");
    if (p < s->end && *p == '.') {
        from = ++p;
        p = skip_digits(s, p);
        if (p == from)
            return unexpected(s, p, "a digit after the decimal point");
    }
    if (p < s->end && (*p == 'e' || *p == 'E')) {
        p++;
        p += p < s->end && (*p == '+' || *p == '-');
        from = p;
        p = skip_digits(s, p);
        if (p == from)
            return unexpected(s, p, "a digit in the exponent");
    }
    return p;
}

static const char *scan_word(struct scan *s, const char *p, owl_str word)
{
    if ((size_t)(s->end - p) < word.n || memcmp(p, word.p, word.n) != 0)
        return unexpected(s, p, "a value");
    return p + word.n;
}

/* ---- keys ---------------------------------------------------------------------------------- */

static bool grow_keys(struct scan *s)
{
    size_t cap = s->cap * 2;
    bool moved = s->keys != s->inline_keys;
    struct key *keys = owl_realloc(moved ? s->keys : NULL, cap * sizeof *keys);
    if (!keys)
        return no_memory(s);
    if (!moved)
        memcpy(keys, s->inline_keys, sizeof s->inline_keys);
    s->keys = keys;
    s->cap = cap;
    return true;
}

/* Whether that is allowed. */
static bool duplicate(struct scan *s, const struct key *k)
{
    if (s->repeats)
        return true;
    char what[120];
    const char *p = s->start + k->at;
    owl_str name = owl_utf8_cut((owl_str){p, k->n}, 64);
    snprintf(what, sizeof what, "the key \"%.*s\" occurs twice in one object", (int)name.n, p);
    return fail(s, OWL_EPARSE, p, what);
}

/* Whether no earlier key of the object equals @p k, which is not counted yet. */
static bool is_new(const struct scan *s, const struct level *l, const struct key *k)
{
    for (size_t i = l->base; i < s->nkeys; i++) {
        const struct key *other = &s->keys[i];
        if (other->tag == k->tag && other->n == k->n &&
            memcmp(s->start + other->at, s->start + k->at, k->n) == 0)
            return false;
    }
    return true;
}

/* The key between @p from and @p to joins the innermost object. */
static inline bool add_key(struct scan *s, const char *from, const char *to, bool escaped)
{
    if (OWL_UNLIKELY(s->nkeys == s->cap) && !grow_keys(s))
        return false;
    owl_str name = {from, (size_t)(to - from)};
    uint64_t hash = owl_text__hash(owl_text__ends_of(name, s->end), name.n, OWL_TEXT__SEED);
    struct key *k = &s->keys[s->nkeys];
    k->at = (uint32_t)(from - s->start);
    k->n = (uint32_t)name.n;
    k->tag = (uint32_t)(hash >> 32);
    k->escaped = escaped;
    struct level *l = &s->levels[s->depth];
    uint64_t bit = UINT64_C(1) << (hash >> 58);
    size_t members = s->nkeys - l->base;
    if (OWL_UNLIKELY(l->filter & bit) && members < SMALL_OBJECT && !is_new(s, l, k) &&
        !duplicate(s, k))
        return false;
    if (OWL_UNLIKELY(members >= MAX_MEMBERS))
        return fail(s, OWL_ELIMIT, from, "an object has more than 100000 members");
    l->escaped |= escaped;
    l->filter |= bit;
    s->nkeys++;
    return true;
}

/* A temporary table over the decoded keys of one object. */
struct table {
    owl_str *names;
    uint32_t *slots; /* index of a key + 1, or 0 */
    char *text;      /* room for the keys with escapes */
    size_t mask;
};

static bool table_add(struct scan *s, struct table *t, const struct key *keys, uint32_t i)
{
    const struct key *k = &keys[i];
    owl_str name = {s->start + k->at, k->n};
    if (k->escaped) {
        size_t n = owl_text__decode(name, t->text);
        name = (owl_str){t->text, n};
        t->text += n;
    }
    t->names[i] = name;
    size_t at = owl_hash(name) & t->mask;
    for (; t->slots[at]; at = (at + 1) & t->mask) {
        if (owl_str_eq(t->names[t->slots[at] - 1], name))
            return duplicate(s, k);
    }
    t->slots[at] = i + 1;
    return true;
}

/* Proves the keys of a closing object that is large or has escaped keys. */
static bool examine_keys(struct scan *s, const struct level *l)
{
    const struct key *keys = s->keys + l->base;
    uint32_t n = (uint32_t)(s->nkeys - l->base);
    size_t nslots = 64, text = 0;
    while (nslots < (size_t)n * 2)
        nslots *= 2;
    for (uint32_t i = 0; i < n; i++)
        text += keys[i].escaped ? keys[i].n : 0;
    size_t slots_at = n * sizeof(owl_str);
    size_t text_at = slots_at + nslots * sizeof(uint32_t);
    char *block = owl_malloc(text_at + text);
    if (!block)
        return no_memory(s);
    struct table t = {(owl_str *)(void *)block, (uint32_t *)(void *)(block + slots_at),
                      block + text_at, nslots - 1};
    memset(t.slots, 0, nslots * sizeof(uint32_t));
    bool ok = true;
    for (uint32_t i = 0; ok && i < n; i++)
        ok = table_add(s, &t, keys, i);
    owl_free(block);
    return ok;
}

/* ---- structure ----------------------------------------------------------------------------- */

static inline bool push(struct scan *s, const char *p, bool object)
{
    if (OWL_UNLIKELY(s->depth == s->max_depth)) {
        char what[64];
        snprintf(what, sizeof what, "nested deeper than %u levels", s->max_depth);
        return fail(s, OWL_ELIMIT, p, what);
    }
    s->levels[++s->depth] = (struct level){.base = (uint32_t)s->nkeys, .object = object};
    return true;
}

static inline bool pop(struct scan *s)
{
    const struct level *l = &s->levels[s->depth];
    bool ordinary = s->nkeys - l->base <= SMALL_OBJECT && !l->escaped;
    if (OWL_UNLIKELY(!ordinary) && !examine_keys(s, l))
        return false;
    s->nkeys = l->base;
    s->depth--;
    return true;
}

/* ---- the tape ------------------------------------------------------------------------------ */

/* A key at this level is recorded if every level around it is a recorded object too. */
static inline void record_key(struct scan *s, owl_str key, bool escaped, const char *value)
{
    if (!s->tape || s->depth > OWL_TAPE_LEVELS || (s->depth > 1 && !s->open[s->depth - 1]))
        return;
    if (OWL_UNLIKELY(s->tape->n == OWL_TAPE_ENTRIES)) {
        s->tape->partial = true;
        s->open[s->depth] = NULL;
        return;
    }
    struct owl_tape_entry *e = &s->tape->entries[s->tape->n++];
    *e = (struct owl_tape_entry){{key, {value, 0}, escaped}, s->depth};
    s->open[s->depth] = e;
}

/* A value has ended before @p p. */
static inline void record_end(struct scan *s, const char *p)
{
    if (!s->tape || s->depth > OWL_TAPE_LEVELS || !s->open[s->depth])
        return;
    owl_str *value = &s->open[s->depth]->span.value;
    value->n = (size_t)(p - value->p);
    s->open[s->depth] = NULL;
}

/* A key and its colon; the result is where its value is expected. */
static inline __attribute__((always_inline)) const char *
scan_key(struct scan *s, struct owl_text__window *w, const char *p)
{
    p = skip_space(s, p);
    if (OWL_UNLIKELY(p == s->end || *p != '"'))
        return unexpected(s, p, "a key in double quotes");
    bool escaped = false;
    const char *from = p + 1;
    p = scan_string(s, w, from, &escaped);
    if (OWL_UNLIKELY(!p) || !add_key(s, from, p - 1, escaped))
        return NULL;
    size_t n = (size_t)(p - 1 - from);
    p = skip_space(s, p);
    if (OWL_UNLIKELY(p == s->end || *p != ':'))
        return unexpected(s, p, "':' after a key");
    const char *value = skip_space(s, p + 1);
    record_key(s, (owl_str){from, n}, escaped, value);
    return value;
}

/* A number or a word. */
static const char *scan_plain(struct scan *s, const char *p)
{
    switch (*p) {
    case 't': return scan_word(s, p, OWL_STR("true"));
    case 'f': return scan_word(s, p, OWL_STR("false"));
    case 'n': return scan_word(s, p, OWL_STR("null"));
    default: return *p == '-' || is_digit(*p) ? scan_number(s, p) : unexpected(s, p, "a value");
    }
}

/* The beginning of an object or array. *@p ret_open: it is not empty, and its first key or value is
 * expected at the result. */
static const char *scan_open(struct scan *s, const char *p, bool *ret_open)
{
    bool object = *p == '{';
    if (!push(s, p, object))
        return NULL;
    p = skip_space(s, p + 1);
    *ret_open = p == s->end || *p != (object ? '}' : ']');
    if (*ret_open)
        return p;
    s->depth--;
    return p + 1;
}

/* What stands behind a value: closes what ends here, and takes a comma. The result is where the
 * next key or value is expected, or, at depth 0, the end. */
static inline __attribute__((always_inline)) const char *scan_follow(struct scan *s, const char *p)
{
    while (s->depth > 0) {
        bool object = s->levels[s->depth].object;
        p = skip_space(s, p);
        if (OWL_UNLIKELY(p == s->end))
            return unexpected(s, p, object ? "',' or '}'" : "',' or ']'");
        if (*p == ',')
            return p + 1;
        if (OWL_UNLIKELY(*p != (object ? '}' : ']')))
            return unexpected(s, p, object ? "',' or '}'" : "',' or ']'");
        if (!pop(s))
            return NULL;
        record_end(s, ++p);
    }
    return p;
}

static const char *scan_text(struct scan *s, const char *p)
{
    struct owl_text__window w = {p, 0};
    do {
        p = s->levels[s->depth].object ? scan_key(s, &w, p) : skip_space(s, p);
        if (OWL_UNLIKELY(!p))
            return NULL;
        if (OWL_UNLIKELY(p == s->end))
            return unexpected(s, p, "a value");
        bool open = false, escaped;
        if (*p == '"')
            p = scan_string(s, &w, p + 1, &escaped);
        else if (*p == '{' || *p == '[')
            p = scan_open(s, p, &open);
        else
            p = scan_plain(s, p);
        if (OWL_UNLIKELY(!p))
            return NULL;
        if (open)
            continue;
        record_end(s, p);
        p = scan_follow(s, p);
    } while (p && s->depth > 0);
    if (!p)
        return NULL;
    p = skip_space(s, p);
    return p == s->end ? p : unexpected(s, p, "the end of the text");
}

enum rigour { STRICT, REPEATS, LENIENT };

static int prove(owl_str text, unsigned max_depth, enum rigour rigour, struct owl_tape *tape,
                 owl_error *reterr)
{
    if (text.n > UINT32_MAX)
        return owl_fail(reterr, OWL_ELIMIT, "the text is larger than 4 GiB");
    if (!text.p)
        text = OWL_STR("");
    struct scan s;
    s.start = text.p;
    s.end = text.p + text.n;
    s.err = reterr;
    s.rc = 0;
    s.depth = 0;
    s.levels[0] = (struct level){0};
    s.max_depth = max_depth < OWL_JSON_DEPTH ? max_depth : OWL_JSON_DEPTH;
    s.repeats = rigour != STRICT;
    s.halves = rigour == LENIENT;
    s.keys = s.inline_keys;
    s.nkeys = 0;
    s.cap = KEYS_INLINE;
    s.tape = tape;
    memset(s.open, 0, sizeof s.open);
    if (tape) {
        tape->text = text.p;
        tape->n = 0;
        tape->partial = false;
    }
    if (owl_str_begins(text, "\xef\xbb\xbf"))
        fail(&s, OWL_EPARSE, text.p, "a byte order mark is not allowed; send UTF-8 without one");
    else
        scan_text(&s, text.p);
    if (s.keys != s.inline_keys)
        owl_free(s.keys);
    return s.rc;
}

int owl_json_scan(owl_str text, unsigned max_depth, owl_error *reterr)
{
    return prove(text, max_depth, STRICT, NULL, reterr);
}

int owl_json_scan_tape(owl_str text, unsigned max_depth, struct owl_tape *tape, owl_error *reterr)
{
    return prove(text, max_depth, STRICT, tape, reterr);
}

int owl_json_scan_repeats(owl_str text, unsigned max_depth, owl_error *reterr)
{
    return prove(text, max_depth, REPEATS, NULL, reterr);
}

int owl_json_scan_lenient(owl_str text, unsigned max_depth, owl_error *reterr)
{
    return prove(text, max_depth, LENIENT, NULL, reterr);
}
