/* jsonrpc/member.c - several members of an object at once. Pure, any thread. */
#include "jsonrpc/member.h"

#include "codec/json.h"

/* Walks the members of one object on a tape. */
struct reel {
    const struct owl_tape *tape;
    size_t at;
    unsigned level;
};

/* False if the tape does not know the object. */
static bool reel_init(struct reel *r, const struct owl_tape *tape, owl_str object)
{
    *r = (struct reel){tape, 0, 1};
    if (!tape || tape->partial || tape->n == 0)
        return false;
    if (object.p == tape->text)
        return true;
    while (r->at < tape->n && tape->entries[r->at].span.value.p != object.p)
        r->at++;
    if (r->at == tape->n || !owl_span_is_object(object))
        return false;
    r->level = tape->entries[r->at++].level + 1;
    return r->level <= OWL_TAPE_LEVELS;
}

static const struct owl_span *reel_next(struct reel *r)
{
    const struct owl_tape_entry *entries = r->tape->entries;
    while (r->at < r->tape->n && entries[r->at].level >= r->level) {
        const struct owl_tape_entry *e = &entries[r->at++];
        if (e->level == r->level)
            return &e->span;
    }
    return NULL;
}

/* Whether the key was one of the names. */
static bool take(const struct owl_span *s, const owl_str *names, size_t n, owl_str *ret)
{
    for (size_t i = 0; i < n; i++) {
        if (owl_span_key_is(s, names[i])) {
            ret[i] = s->value;
            return true;
        }
    }
    return false;
}

bool owl_members(owl_str proved, const struct owl_tape *tape, const owl_str *names, size_t n,
                 owl_str *ret)
{
    for (size_t i = 0; i < n; i++)
        ret[i] = (owl_str){NULL, 0};
    struct reel r;
    if (reel_init(&r, tape, proved)) {
        for (const struct owl_span *s; (s = reel_next(&r));)
            take(s, names, n, ret);
        return true;
    }
    struct owl_span_iter it = owl_span_iter(proved);
    if (!it.object)
        return false;
    size_t found = 0;
    for (struct owl_span s; found < n && owl_span_next(&it, &s);)
        found += take(&s, names, n, ret);
    return true;
}

int owl_member_text(struct owl_arena *a, owl_str literal, owl_str *ret)
{
    if (!owl_span_is_string(literal)) {
        *ret = (owl_str){NULL, 0};
        return 0;
    }
    if (memchr(literal.p, '\\', literal.n))
        return owl_json_decode(a, literal, ret);
    *ret = (owl_str){literal.p + 1, literal.n - 2};
    return 0;
}
