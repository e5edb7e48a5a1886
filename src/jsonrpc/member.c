/* jsonrpc/member.c - several members of an object in one walk.
 *
 * Pure, any thread. */
#include "jsonrpc/member.h"

#include "codec/json.h"
#include "codec/scan.h"

bool owl_members(owl_str proved, const owl_str *names, size_t n, owl_str *ret)
{
    for (size_t i = 0; i < n; i++)
        ret[i] = (owl_str){NULL, 0};
    struct owl_span_iter it = owl_span_iter(proved);
    if (!it.object)
        return false;

    size_t found = 0;
    for (struct owl_span s; found < n && owl_span_next(&it, &s);) {
        for (size_t i = 0; i < n; i++) {
            if (!owl_span_key_is(s.key, names[i]))
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
