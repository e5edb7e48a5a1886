/* reactor/peers.c - how many connections each peer has.
 *
 * Threads: any, under the table's lock, which is held for a lookup: next to the system calls that
 * open and close a connection that is nothing.
 * Invariants: a peer is in the table exactly as long as n > 0. */
#include "reactor/peers.h"

#include "base/alloc.h"
#include "base/map.h"
#include "reactor/internal.h"

/* 4 bytes of IPv4, the 8 of an IPv6 network, or 1 for Unix sockets: no two look the same. */
struct key {
    unsigned char bytes[8];
    unsigned char n;
};

struct owl_peer {
    struct owl_peers *table;
    unsigned n; /* connections; under the lock */
    struct key key;
};

struct owl_peers {
    struct owl_peers_options opt;
    pthread_mutex_t mu;
    struct owl_map map; /* key → struct owl_peer; under mu */
};

static owl_str key_str(const struct key *k)
{
    return (owl_str){(const char *)k->bytes, k->n};
}

static struct key key_of(const struct sockaddr_storage *address)
{
    struct key k = {.n = 1};
    unsigned char ip[16];
    if (!owl_address__ip(address, ip))
        return k;
    bool v4 = owl_address__mapped(ip);
    k.n = v4 ? 4 : 8;
    memcpy(k.bytes, v4 ? ip + 12 : ip, k.n);
    return k;
}

struct owl_peers *owl_peers_new(const struct owl_peers_options *o)
{
    OWL_ASSERT(o->max > 0);
    struct owl_peers *p = owl_calloc(1, sizeof(*p));
    if (!p)
        return NULL;
    p->opt = *o;
    pthread_mutex_init(&p->mu, NULL);
    owl_map_init(&p->map);
    return p;
}

void owl_peers_free(struct owl_peers *p)
{
    if (!p)
        return;
    OWL_ASSERT(p->map.n == 0);
    owl_map_done(&p->map);
    pthread_mutex_destroy(&p->mu);
    owl_free(p);
}

unsigned owl_peers_max(const struct owl_peers *p)
{
    return p->opt.max;
}

/* Under the lock: a peer that was not there. */
static struct owl_peer *peer_add(struct owl_peers *p, struct key key)
{
    struct owl_peer *peer = owl_malloc(sizeof(*peer));
    if (!peer)
        return NULL;
    *peer = (struct owl_peer){.table = p, .key = key};
    if (owl_map_put(&p->map, key_str(&peer->key), peer, NULL) == 0)
        return peer;
    owl_free(peer);
    return NULL;
}

int owl_peers_take(struct owl_peers *p, const struct sockaddr_storage *address,
                   struct owl_peer **ret)
{
    if ((!p->opt.count_local && owl_address__loopback(address)) ||
        owl_nets_have(p->opt.exempt, address)) {
        *ret = NULL;
        return 0;
    }
    struct key key = key_of(address);
    int rc = 0;
    pthread_mutex_lock(&p->mu);
    struct owl_peer *peer = owl_map_get(&p->map, key_str(&key));
    if (!peer)
        peer = peer_add(p, key);
    if (!peer)
        rc = -OWL_ENOMEM;
    else if (peer->n == p->opt.max)
        rc = -OWL_ELIMIT;
    else
        peer->n++;
    pthread_mutex_unlock(&p->mu);
    if (rc == 0)
        *ret = peer;
    return rc;
}

uint64_t owl_peer_number(const struct owl_peer *peer)
{
    return peer ? owl_hash(key_str(&peer->key)) | UINT64_C(1) << 63 : 0;
}

void owl_peer_release(struct owl_peer *peer)
{
    if (!peer)
        return;
    struct owl_peers *p = peer->table;
    pthread_mutex_lock(&p->mu);
    bool last = --peer->n == 0;
    if (last)
        owl_map_del(&p->map, key_str(&peer->key));
    pthread_mutex_unlock(&p->mu);
    if (last)
        owl_free(peer);
}
