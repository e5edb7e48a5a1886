/* jsonrpc/member.c - several members of an object at once. Pure, any thread. */
#include "jsonrpc/member.h"

#include "codec/json.h"

/* Whether the tape knows the object: where its members begin. */
static bool find_object(struct owl_member_walk *w, const struct owl_tape *tape, owl_str object)
{
    if (!tape || tape->partial || tape->n == 0)
        return false;
    w->level = 1;
    if (object.p == tape->text)
        return true;
    while (w->at < tape->n && tape->entries[w->at].span.value.p != object.p)
        w->at++;
    if (w->at == tape->n || !owl_span_is_object(object))
        return false;
    w->level = tape->entries[w->at++].level + 1;
    return w->level <= OWL_TAPE_LEVELS;
}

struct owl_member_walk owl_member_walk(owl_str proved, const struct owl_tape *tape)
{
    struct owl_member_walk w = {.tape = NULL, .at = 0};
    if (find_object(&w, tape, proved))
        w.tape = tape;
    else
        w.it = owl_span_iter(proved);
    return w;
}

bool owl_member_next(struct owl_member_walk *w, struct owl_span *ret)
{
    if (!w->tape)
        return w->it.object && owl_span_next(&w->it, ret);
    const struct owl_tape_entry *entries = w->tape->entries;
    while (w->at < w->tape->n && entries[w->at].level >= w->level) {
        const struct owl_tape_entry *e = &entries[w->at++];
        if (e->level == w->level) {
            *ret = e->span;
            return true;
        }
    }
    return false;
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
    struct owl_member_walk w = owl_member_walk(proved, tape);
    if (!w.tape && !w.it.object)
        return false;
    size_t found = 0;
    for (struct owl_span s; found < n && owl_member_next(&w, &s);)
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
