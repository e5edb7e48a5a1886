/* Fuzz regular expressions: the first line is a pattern, the rest a text. No search does more steps
 * than its budget has, a budget that was enough is enough again, and the machine finds what PCRE2
 * finds. */
#include "base/alloc.h"
#include "base/buf.h"
#include "codec/regex.h"
#include "codec/text.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { BUDGET = 20000, PLACES = 2000 };

static bool is_utf8(owl_str s)
{
    for (size_t i = 0, n; i < s.n; i += n) {
        n = owl_text__utf8(s.p + i, s.p + s.n);
        if (n == 0)
            return false;
    }
    return true;
}

/* Compiles; NULL if it is no pattern. */
static const struct owl_regex *compiled(struct owl_arena *a, owl_str pattern)
{
    const struct owl_regex *re = NULL;
    owl_error err = {0};
    int rc = owl_regex_new(a, pattern, &re, &err);
    OWL_ASSERT(rc == 0 || (err.code == -rc && err.message[0]));
    OWL_ASSERT(owl_regex_valid(pattern, NULL) || rc);
    return rc ? NULL : re;
}

static int search(const struct owl_regex *re, struct owl_matcher *m, owl_str text, uint64_t budget,
                  bool *ret_found)
{
    m->budget = budget;
    int rc = owl_regex_search(re, m, text, ret_found);
    OWL_ASSERT(m->cost <= budget);
    OWL_ASSERT(rc == 0 || rc == -OWL_EBUSY || (rc == -OWL_ELIMIT && m->why[0]));
    return rc;
}

static void run(struct owl_arena *a, owl_str pattern, owl_str text)
{
    const struct owl_regex *ours = compiled(a, pattern), *theirs = NULL;
    struct owl_matcher m;
    bool found = false, again = false;
    if (!ours)
        return;
    owl_matcher_init(&m, PLACES);
    int rc = search(ours, &m, text, BUDGET, &found);
    uint64_t cost = m.cost;
    if (rc == 0)
        OWL_ASSERT(search(ours, &m, text, cost, &again) == 0 && again == found);
    struct owl_buf b; /* the same, but PCRE2 has to search for it */
    owl_buf_init(&b, SIZE_MAX / 2);
    owl_buf_putz(&b, "(?:");
    owl_buf_puts(&b, pattern);
    owl_buf_putz(&b, ")(?<owl>)\\k<owl>");
    bool nothing = memmem(pattern.p, pattern.n, "{0", 2); /* PCRE2 counts on what is not there */
    if (rc == 0 && !nothing)
        theirs = compiled(a, owl_buf_str(&b));
    if (theirs && search(theirs, &m, text, 4 * BUDGET, &again) == 0)
        OWL_ASSERT(again == found);
    owl_buf_done(&b);
    owl_matcher_done(&m);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const uint8_t *line = size ? memchr(data, '\n', size) : NULL;
    if (!line)
        return 0;
    size_t n = (size_t)(line - data);
    char *pattern = owl_malloc(n + 1), *text = owl_malloc(size - n); /* exactly as long */
    struct owl_arena *a = owl_arena_new(0);
    OWL_ASSERT(pattern && text && a);
    memcpy(pattern, data, n);
    memcpy(text, line + 1, size - n - 1);
    owl_str p = {pattern, n}, t = {text, size - n - 1};
    if (is_utf8(p) && is_utf8(t))
        run(a, p, t);
    owl_arena_free(a);
    owl_free(pattern);
    owl_free(text);
    return 0;
}
