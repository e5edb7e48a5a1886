/* registry/names.c - the names under which another server's items are shown.
 * Threads: pure. */
#include "registry/names.h"

#include "base/buf.h"
#include "base/err.h"
#include "codec/digest.h"

enum { HASH = 8 }; /* hex digits of the hash at the end of a name, behind "_" */

static bool is_alnum(char c)
{
    return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9');
}

/* A name that is being written: what does not fit is counted only. */
struct writer {
    char *z;
    size_t n;      /* written */
    size_t wanted; /* what there would be with room */
    size_t alnums; /* letters and digits among them */
};

static void put(struct writer *w, char c)
{
    w->wanted++;
    if (w->n < OWL_WIRE_NAME)
        w->z[w->n++] = c;
}

/* One "_" for each character that a name cannot have. */
static void put_repaired(struct writer *w, owl_str s)
{
    for (size_t i = 0; i < s.n; i++) {
        char c = s.p[i];
        if ((c & 0xC0) == 0x80)
            continue; /* within a character of UTF-8 */
        put(w, is_alnum(c) || c == '_' || c == '-' ? c : '_');
        w->alnums += is_alnum(c);
    }
}

/* A hash of both names, neither of which can reach into the other. */
static int hash(const struct owl_name_parts *p, char ret[OWL_DIGEST_TEXT])
{
    char both[2 * OWL_DIGEST_TEXT];
    int rc = owl_digest(p->server, both);
    if (rc == 0)
        rc = owl_digest(p->tool, both + OWL_DIGEST_TEXT - 1);
    return rc ? rc : owl_digest((owl_str){both, 2 * (OWL_DIGEST_TEXT - 1)}, ret);
}

static int build(const struct owl_name_parts *p, bool distinct, struct owl_wire_name *ret,
                 owl_error *reterr)
{
    if (p->tool.n == 0)
        return owl_fail(reterr, OWL_EINVAL, "the name is empty");
    struct writer w = {.z = ret->z};
    if (p->prefix.p) {
        put_repaired(&w, p->prefix);
        put_repaired(&w, p->separator);
    }
    w.alnums = 0;
    put_repaired(&w, p->tool);
    if (distinct || w.wanted > OWL_WIRE_NAME || w.alnums == 0) {
        char sum[OWL_DIGEST_TEXT];
        int rc = hash(p, sum);
        if (rc)
            return owl_fail(reterr, -rc, NULL);
        size_t most = OWL_WIRE_NAME - HASH - 1;
        w.n = w.n < most ? w.n : most;
        put(&w, '_');
        for (size_t i = 0; i < HASH; i++)
            put(&w, sum[i]);
    }
    ret->z[w.n] = '\0';
    return 0;
}

int owl_name_wire(const struct owl_name_parts *p, struct owl_wire_name *ret, owl_error *reterr)
{
    return build(p, false, ret, reterr);
}

int owl_name_distinct(const struct owl_name_parts *p, struct owl_wire_name *ret, owl_error *reterr)
{
    return build(p, true, ret, reterr);
}

static owl_str written(const struct owl_buf *b)
{
    return b->rc ? (owl_str){0} : owl_buf_str(b);
}

owl_str owl_name_registry(struct owl_arena *a, owl_str server, owl_str tool)
{
    struct owl_buf b;
    owl_buf_init_arena(&b, a, SIZE_MAX);
    owl_buf_puts(&b, server);
    owl_buf_putc(&b, ':');
    owl_buf_puts(&b, tool);
    return written(&b);
}

owl_str owl_name_uri(struct owl_arena *a, owl_str server, owl_str uri)
{
    struct owl_buf b;
    owl_buf_init_arena(&b, a, SIZE_MAX);
    if (server.n == 0 || !is_alnum(server.p[0]) || (server.p[0] >= '0' && server.p[0] <= '9'))
        owl_buf_putc(&b, 's');
    for (size_t i = 0; i < server.n; i++)
        owl_buf_putc(&b, is_alnum(server.p[i]) || server.p[i] == '.' ? server.p[i] : '-');
    owl_buf_putc(&b, '+');
    owl_buf_puts(&b, uri);
    return written(&b);
}
