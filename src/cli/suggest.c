/* cli/suggest.c - what somebody meant to type.
 * Threads: pure. */
#include "cli/suggest.h"

enum { LONGEST = 32 };

static size_t least(size_t a, size_t b)
{
    return a < b ? a : b;
}

size_t owl_suggest_distance(owl_str a, owl_str b)
{
    if (a.n > LONGEST || b.n > LONGEST)
        return LONGEST + 1;
    /* Three rows of the table: the present one and the two above it. */
    size_t rows[3][LONGEST + 1];
    for (size_t j = 0; j <= b.n; j++)
        rows[0][j] = j;
    for (size_t i = 1; i <= a.n; i++) {
        size_t *row = rows[i % 3], *above = rows[(i + 2) % 3], *beyond = rows[(i + 1) % 3];
        row[0] = i;
        for (size_t j = 1; j <= b.n; j++) {
            bool same = a.p[i - 1] == b.p[j - 1];
            row[j] = least(least(above[j], row[j - 1]) + 1, above[j - 1] + !same);
            if (i > 1 && j > 1 && a.p[i - 1] == b.p[j - 2] && a.p[i - 2] == b.p[j - 1])
                row[j] = least(row[j], beyond[j - 2] + 1);
        }
    }
    return rows[a.n % 3][b.n];
}

void owl_suggest(struct owl_suggestion *s, owl_str typed, const char *word)
{
    owl_str w = owl_str_of(word);
    size_t distance = owl_suggest_distance(typed, w);
    bool begins = typed.n >= 2 && typed.n < w.n && memcmp(typed.p, w.p, typed.n) == 0;
    if (begins)
        distance = 1;
    else if (typed.n < 2 || distance > LONGEST ||
             distance * 3 > (typed.n > w.n ? typed.n : w.n) + 1)
        return;
    if (!s->best || distance < s->distance)
        *s = (struct owl_suggestion){word, distance};
}
