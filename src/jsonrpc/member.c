/* jsonrpc/member.c - several members of an object in one walk.
 *
 * Pure, any thread. Runs several times for each message: keys are compared by length first, and
 * only a key that holds a backslash is compared decoded. */
#include "jsonrpc/member.h"

#include "codec/json.h"
#include "codec/scan.h"

static bool key_is(owl_str key, bool escaped, owl_str name)
{
    if (!escaped)
        return owl_str_eq(key, name);
    /* The key is borrowed from text in which quotes surround it. */
    return owl_span_str_eq((owl_str){key.p - 1, key.n + 2}, name);
}

bool owl_members(owl_str proved, const owl_str *names, size_t n, owl_str *ret)
{
    for (size_t i = 0; i < n; i++)
        ret[i] = (owl_str){NULL, 0};
    struct owl_span_iter it = owl_span_iter(proved);
    if (!it.object)
        return false;

    size_t found = 0;
    for (struct owl_span s; found < n && owl_span_next(&it, &s);) {
        bool escaped = memchr(s.key.p, '\\', s.key.n) != NULL;
        for (size_t i = 0; i < n; i++) {
            if (!key_is(s.key, escaped, names[i]))
                continue;
            ret[i] = s.value;
            found++;
            break;
        }
    }
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
