/* reactor/nets.c - a set of peers by their addresses.
 *
 * Threads: pure. Invariants: every block is one of IPv6, IPv4 in its mapped form, so that there is
 * one comparison; the bits of a block beyond its length are 0. */
#include "reactor/nets.h"

#include "base/alloc.h"
#include "base/err.h"
#include "reactor/internal.h"

struct block {
    unsigned char bytes[16];
    unsigned bits; /* that count */
};

struct owl_nets {
    bool local; /* Unix sockets */
    unsigned n;
    struct block blocks[];
};

static bool block_has(const struct block *b, const unsigned char ip[16])
{
    unsigned whole = b->bits / 8, rest = b->bits % 8;
    if (memcmp(b->bytes, ip, whole) != 0)
        return false;
    return rest == 0 || (b->bytes[whole] ^ ip[whole]) >> (8 - rest) == 0;
}

/* Whether bits beyond the length are set: "10.1.2.3/8" may mean the one or the other. */
static bool block_is_skewed(const struct block *b)
{
    for (unsigned i = b->bits; i < 128; i++) {
        if (b->bytes[i / 8] & 0x80u >> i % 8)
            return true;
    }
    return false;
}

static int block_parse(owl_str text, struct block *ret, owl_error *reterr)
{
    owl_str rest = text, host = {0}, length = {0};
    struct sockaddr_storage a;
    OWL_IGNORE(owl_str_split(&rest, '/', &host)); /* even an empty text has one part */
    if (!owl_address__host(host, &a))
        return owl_fail(reterr, OWL_EINVAL,
                        "'%.*s' is neither an IP address nor a block such as 10.0.0.0/8",
                        OWL_ADDRESS__SHOWN(text));
    unsigned most = a.ss_family == AF_INET6 ? 128 : 32;
    uint64_t bits = most;
    if (owl_str_split(&rest, '/', &length) && (rest.p || !owl_str_u64(length, most, &bits)))
        return owl_fail(reterr, OWL_EINVAL, "'%.*s': expected a length of 0 to %u bits after '/'",
                        OWL_ADDRESS__SHOWN(text), most);
    struct block b = {.bits = (unsigned)bits + 128 - most};
    OWL_IGNORE(!owl_address__ip(&a, b.bytes)); /* it is one */
    if (block_is_skewed(&b))
        return owl_fail(reterr, OWL_EINVAL,
                        "'%.*s' has bits set beyond its length: clear them, or leave the length "
                        "out for one address",
                        OWL_ADDRESS__SHOWN(text));
    *ret = b;
    return 0;
}

static int nets_fill(struct owl_nets *nets, owl_str text, owl_error *reterr)
{
    owl_str part;
    while (owl_str_split(&text, ',', &part)) {
        part = owl_str_trim(part);
        if (owl_str_is(part, "unix")) {
            nets->local = true;
            continue;
        }
        int rc = block_parse(part, &nets->blocks[nets->n], reterr);
        if (rc != 0)
            return rc;
        nets->n++;
    }
    return 0;
}

int owl_nets_parse(owl_str text, struct owl_nets **ret, owl_error *reterr)
{
    size_t most = 1;
    text = owl_str_trim(text);
    if (text.n == 0)
        text = (owl_str){NULL, 0}; /* has no parts */
    for (size_t i = 0; i < text.n; i++)
        most += text.p[i] == ',';
    if (most > OWL_NETS_MAX)
        return owl_fail(reterr, OWL_EINVAL,
                        "%zu addresses: there may be %d, name blocks instead of addresses", most,
                        OWL_NETS_MAX);
    struct owl_nets *nets = owl_calloc(1, sizeof(*nets) + most * sizeof(nets->blocks[0]));
    if (!nets)
        return owl_fail(reterr, OWL_ENOMEM, NULL);
    int rc = nets_fill(nets, text, reterr);
    if (rc != 0) {
        owl_free(nets);
        return rc;
    }
    *ret = nets;
    return 0;
}

void owl_nets_free(struct owl_nets *n)
{
    owl_free(n);
}

bool owl_nets_have(const struct owl_nets *n, const struct sockaddr_storage *a)
{
    unsigned char ip[16];
    if (!n)
        return false;
    if (!owl_address__ip(a, ip))
        return n->local && a->ss_family == AF_UNIX;
    for (unsigned i = 0; i < n->n; i++) {
        if (block_has(&n->blocks[i], ip))
            return true;
    }
    return false;
}
