/* base/nearest.c - which of many words was meant.
 * Threads: pure. */
#include "base/nearest.h"

static char folded(char c)
{
    if (c >= 'A' && c <= 'Z')
        return (char)(c - 'A' + 'a');
    return c == '-' ? '_' : c;
}

static size_t least(size_t a, size_t b)
{
    return a < b ? a : b;
}

/* Steps from one word to the other, each letter moved once at most; both fit the table. */
static size_t distance(owl_str a, owl_str b)
{
    size_t rows[3][OWL_NEAREST_LENGTH + 1] = {{0}}; /* the present row and the two above it */
    for (size_t j = 0; j <= b.n; j++)
        rows[0][j] = j;
    for (size_t i = 1; i <= a.n; i++) {
        size_t *row = rows[i % 3], *above = rows[(i + 2) % 3], *beyond = rows[(i + 1) % 3];
        char c = folded(a.p[i - 1]);
        row[0] = i;
        for (size_t j = 1; j <= b.n; j++) {
            bool same = c == folded(b.p[j - 1]);
            row[j] = least(least(above[j], row[j - 1]) + 1, above[j - 1] + !same);
            if (i > 1 && j > 1 && c == folded(b.p[j - 2]) &&
                folded(a.p[i - 2]) == folded(b.p[j - 1]))
                row[j] = least(row[j], beyond[j - 2] + 1);
        }
    }
    return rows[a.n % 3][b.n];
}

void owl_nearest_try(struct owl_nearest *n, owl_str word)
{
    owl_str w = n->written;
    if (w.n == 0 || w.n > OWL_NEAREST_LENGTH || word.n == 0 || word.n > OWL_NEAREST_LENGTH)
        return;
    size_t longer = w.n > word.n ? w.n : word.n;
    bool begun = w.n >= 3 && w.n < word.n && distance(w, (owl_str){word.p, w.n}) == 0;
    size_t d = begun ? 1 : distance(w, word);
    if (d * 3 <= longer && (!n->best.p || d < n->distance)) {
        n->best = word;
        n->distance = d;
    }
}
