/* config/redact_words.c - messages and hints do not repeat what their lines hide.
 * Threads: that of the loading.
 *
 * Whoever finds a fault does not quote what owl_config_secret() calls secret. Readers cannot ask: they
 * quote what stands at the mark, as it is. So all words are looked at once more, when everything is
 * known, and what the line of the fault would not show is taken out. */
#include "base/visible.h"
#include "config/internal.h"
#include "config/redact.h"

enum { QUOTED = 512 /* bytes; no reader quotes so many */ };

/* ---- what stands at the mark ------------------------------------------------------------ */

/* How many bytes two texts have in common from their first on. */
static size_t alike(owl_str a, owl_str b)
{
    size_t n = 0;
    while (n < a.n && n < b.n && a.p[n] == b.p[n])
        n++;
    return n;
}

/* What stands at the mark, as faults repeat it. */
struct quotable {
    char p[QUOTED + 4]; /* the last character may be a long one */
    size_t n;
    size_t clear; /* bytes that may be seen */
    size_t told;  /* bytes that were hidden already: less than that is a word of ours */
};

/* How many bytes of @p words are what stands at the mark, with or without the sign before it (*, &,
 * a quote): a few letters, or a whole word of fewer. Readers quote what they could not read. */
static size_t repeated(owl_str words, const struct quotable *q)
{
    enum { FEW = 4 }; /* so many in common are no accident */
    size_t least = q->told > FEW ? q->told : FEW;
    for (size_t skip = 0; skip < 2 && skip < q->n; skip++) {
        owl_str rest = {q->p + skip, q->n - skip};
        size_t n = alike(words, rest);
        bool ends = n > 0 && q->told == 0 && (n == rest.n || strchr(" ,]}\"'", rest.p[n])) &&
                    (n == words.n || strchr(" ,\"'`", words.p[n]));
        if ((n >= least || ends) && skip + n > q->clear)
            return n;
    }
    return 0;
}

/* The bytes, up to its end, of a "${" that names no variable: a secret may hold such a thing. */
static size_t odd_variable(owl_str words)
{
    size_t n = 0;
    if (words.n < 2 || memcmp(words.p, "${", 2) != 0 || owl_redact__variable(words) > 0)
        return 0;
    while (n < words.n && words.p[n] != '`')
        n++;
    return n;
}

/* From the mark on, as owl_fault_add() makes it visible. */
static void find_quotable(struct quotable *q, const struct owl_redaction *h)
{
    owl_str rest = {h->line.p + h->at, h->at < h->line.n ? h->line.n - h->at : 0};
    bool seen = true;
    while (rest.n > 0 && q->n < QUOTED) {
        const char *from = rest.p;
        OWL_IGNORE(owl_text_next(&rest)); /* its bytes are what counts */
        size_t bytes = (size_t)(rest.p - from);
        memcpy(q->p + q->n, from, bytes);
        q->n += owl_text_tame(q->p + q->n, bytes, false);
        seen = seen && !h->byte[from - h->line.p];
        q->clear = seen ? q->n : q->clear;
    }
}

/* ---- what the line hides ---------------------------------------------------------------- */

/* All that is hidden but for names of variables, as owl_fault_add() makes it visible; a NUL between
 * two pieces. */
struct hidden {
    char p[OWL_REDACT__LINE + 4];
    size_t n;
};

static void find_hidden(struct hidden *d, const struct owl_redaction *h)
{
    owl_str rest = h->line;
    const char *open = rest.p;
    while (rest.n > 0) {
        size_t at = (size_t)(rest.p - h->line.p), variable = owl_redact__variable(rest);
        const char *from = rest.p;
        open = variable > 0 ? from + variable : open;
        OWL_IGNORE(owl_text_next(&rest)); /* its bytes are what counts */
        size_t bytes = (size_t)(rest.p - from);
        bool apart = !h->byte[at] || from < open || strchr(OWL_REDACT__SIGNS, *from);
        memcpy(d->p + d->n, apart ? "" : from, apart ? 1 : bytes);
        d->n += apart ? 1 : owl_text_tame(d->p + d->n, bytes, false);
    }
}

/* The bytes of the word that @p words begins with. */
static size_t word_of(owl_str words)
{
    size_t n = 0;
    while (n < words.n && words.p[n] && !strchr(OWL_REDACT__SIGNS, words.p[n]))
        n++;
    return n;
}

/* Whether a word of a message is one that the line hides, or a part of it. Short words of small
 * letters are words of ours. */
static bool is_hidden(const struct hidden *d, owl_str word)
{
    enum { FEW = 5, LONG = 8 };
    size_t small = 0;
    while (small < word.n && word.p[small] >= 'a' && word.p[small] <= 'z')
        small++;
    if (word.n < FEW || (small == word.n && word.n < LONG))
        return false;
    return memmem(d->p, d->n, word.p, word.n) != NULL;
}

/* ---- words ------------------------------------------------------------------------------ */

static void put_words(struct owl_buf *b, owl_str words, const struct owl_redaction *h)
{
    struct quotable q = {.n = 0};
    struct hidden d = {.n = 0};
    bool secret = h->at < h->line.n && h->byte[h->at], begins = true;
    find_hidden(&d, h);
    if (h->raw)
        find_quotable(&q, h);
    while (words.n > 0) {
        size_t word = begins ? word_of(words) : 0;
        size_t n = secret ? odd_variable(words) : 0;
        if (n == 0)
            n = repeated(words, &q);
        if (n == 0 && word > 0 && is_hidden(&d, (owl_str){words.p, word}))
            n = word;
        if (n == 0)
            owl_buf_putc(b, words.p[0]);
        else
            owl_buf_putz(b, "***");
        begins = n > 0 || (words.p[0] && strchr(OWL_REDACT__SIGNS, words.p[0]));
        q.told = n > q.told ? n : q.told;
        n = n > 0 ? n : 1;
        words = (owl_str){words.p + n, words.n - n};
    }
}

/* The words as they may be seen, in the arena if they differ. */
static int redact(struct owl_config *c, const struct owl_redaction *h, owl_str *words)
{
    struct owl_buf b;
    if (!words->p || words->n == 0)
        return 0;
    owl_buf_init(&b, 8 * 1024);
    put_words(&b, *words, h);
    int rc = b.rc;
    if (rc == 0 && !owl_str_eq(owl_buf_str(&b), *words)) {
        char *copy = owl_arena_dup(c->arena, owl_buf_str(&b));
        *words = copy ? (owl_str){copy, b.n} : OWL_STR("");
        rc = copy ? 0 : -OWL_ENOMEM;
    }
    owl_buf_done(&b);
    return rc;
}

/* A server that failed has the words of its first fault. */
static void redact_reasons(struct owl_config *c, owl_str old, owl_str new)
{
    void *why;
    owl_str server;
    for (size_t i = 0; old.p != new.p &&owl_map_next(&c->broken, &i, &server, &why);)
        if (((owl_str *)why)->p == old.p)
            *(owl_str *)why = new;
}

int owl_redact__faults(struct owl_config *c)
{
    int rc = 0;
    for (size_t i = 0; i < c->faults.n && rc == 0; i++) {
        struct owl_fault *f = &c->faults.list[i];
        struct owl_redaction h;
        owl_str what = f->what;
        owl_redact__of(&h, c, f->at);
        if (!h.line.p || (!h.raw && !h.whole))
            continue;
        rc = redact(c, &h, &f->what);
        redact_reasons(c, what, f->what);
        if (rc == 0)
            rc = redact(c, &h, &f->hint);
    }
    return rc;
}
