/* codec/schema/pointer.c - JSON Pointers (RFC 6901) and nodes.
 * Threads: pure. */
#include "base/buf.h"
#include "codec/schema/program.h"
#include "codec/text.h"

static void put_token(const struct owl_tree *t, uint32_t key, struct owl_buf *b)
{
    owl_str raw = owl_tree_text(t, key);
    const char *p = raw.p, *end = raw.p + raw.n;
    while (p < end) {
        char c[4] = {*p};
        size_t n = 1;
        if (*p == '\\')
            n = owl_text__escape(&p, c);
        else
            p++;
        if (n == 1 && (c[0] == '~' || c[0] == '/'))
            owl_buf_putz(b, c[0] == '~' ? "~0" : "~1");
        else
            owl_buf_put(b, c, n);
    }
}

void owl_tree__pointer(const struct owl_tree *t, uint32_t node, struct owl_buf *b)
{
    uint32_t at = 0;
    while (at != node) {
        bool object = t->nodes[at].kind == OWL_NODE_OBJECT;
        uint32_t c = at + 1, index = 0;
        while (node >= (object ? t->nodes[c + 1].next : t->nodes[c].next)) {
            c = object ? t->nodes[c + 1].next : t->nodes[c].next;
            index++;
        }
        owl_buf_putc(b, '/');
        if (object)
            put_token(t, c, b);
        else
            owl_buf_putu(b, index);
        if (object && node == c) /* the key itself: as far as a pointer can tell */
            return;
        at = object ? c + 1 : c;
    }
}

/* Undoes "~0" and "~1" within the room that the token has. */
static bool unescape(char *token, size_t *n)
{
    size_t out = 0;
    for (size_t i = 0; i < *n; i++) {
        char c = token[i];
        if (c == '~') {
            if (++i == *n || (token[i] != '0' && token[i] != '1'))
                return false;
            c = token[i] == '0' ? '~' : '/';
        }
        token[out++] = c;
    }
    *n = out;
    return true;
}

static uint32_t element(const struct owl_tree *t, uint32_t array, owl_str token)
{
    uint64_t index;
    if (!owl_str_u64(token, UINT32_MAX, &index) || (token.n > 1 && token.p[0] == '0') ||
        index >= t->nodes[array].count)
        return 0;
    uint32_t c = array + 1;
    while (index-- > 0)
        c = t->nodes[c].next;
    return c;
}

uint32_t owl_tree__find(const struct owl_tree *t, uint32_t at, owl_str pointer, uint64_t *steps)
{
    owl_str token;
    if (pointer.n == 0)
        return at;
    if (pointer.p[0] != '/')
        return UINT32_MAX;
    pointer = (owl_str){pointer.p + 1, pointer.n - 1};
    while (owl_str_split(&pointer, '/', &token)) {
        char name[1024];
        size_t n = token.n;
        if (n > sizeof name)
            return UINT32_MAX;
        memcpy(name, token.p, n);
        if (!unescape(name, &n))
            return UINT32_MAX;
        token = (owl_str){name, n};
        *steps += t->nodes[at].count;
        at = t->nodes[at].kind == OWL_NODE_ARRAY ? element(t, at, token)
                                                 : owl_tree_get(t, at, token);
        if (at == 0)
            return UINT32_MAX;
    }
    return at;
}
