/* mcp/model.c - revisions, what a request carries in `_meta`, client capabilities.
 *
 * Pure, any thread. `_meta` is read for every request: one walk over params that ends at
 * `_meta`, one over its members, no heap unless a string has escapes. */
#include "mcp/model.h"

#include "base/err.h"
#include "codec/json.h"
#include "codec/scan.h"
#include "jsonrpc/member.h"
#include "mcp/internal.h"

#include <stdio.h>

/* ---- revisions ------------------------------------------------------------------------------- */

static const struct {
    const char *name;
    enum owl_era era;
} revisions[OWL_REV__MAX] = {
#define OWL_REVISION_ROW(sym, name, era) [OWL_REV_##sym] = {name, OWL_ERA_##era},
#include "tbl/revisions.h"
};

const char *owl_rev_name(enum owl_rev rev)
{
    return revisions[rev].name;
}

enum owl_era owl_rev_era(enum owl_rev rev)
{
    return revisions[rev].era;
}

int owl_rev_parse(owl_str name)
{
    int i = OWL_REV__MAX - 1; /* the newest is asked for most */
    while (i >= 0 && !owl_str_is(name, revisions[i].name))
        i--;
    return i;
}

int owl_rev_asked(owl_str name)
{
    return owl_str_is(name, OWL_REV_ALIAS) ? OWL_REV_2024_11_05 : owl_rev_parse(name);
}

int owl_revs_parse(owl_str list, unsigned *ret_set, owl_error *reterr)
{
    unsigned set = 0;
    for (owl_str part; owl_str_split(&list, ',', &part);) {
        part = owl_str_trim(part);
        int rev = owl_rev_parse(part);
        if (rev < 0)
            return owl_fail(reterr, OWL_EINVAL, "unknown protocol revision '%s'; known are %s",
                            owl_mcp__show(part).z, owl_mcp__revs_text(OWL_REV_ALL).z);
        set |= OWL_REV_BIT(rev);
    }
    if (set == 0)
        return owl_fail(reterr, OWL_EINVAL, "no protocol revision is named; known are %s",
                        owl_mcp__revs_text(OWL_REV_ALL).z);
    *ret_set = set;
    return 0;
}

void owl_revs_write(struct owl_buf *b, unsigned set)
{
    char before = '[';
    for (int i = 0; i < OWL_REV__MAX; i++) {
        if (!(set & OWL_REV_BIT(i)))
            continue;
        owl_buf_putc(b, before);
        owl_json_quote(b, owl_str_of(revisions[i].name));
        before = ',';
    }
    if (before == '[')
        owl_buf_putc(b, '[');
    owl_buf_putc(b, ']');
}

struct owl_mcp__revs owl_mcp__revs_text(unsigned set)
{
    struct owl_mcp__revs text = {""};
    size_t n = 0;
    for (int i = 0; i < OWL_REV__MAX; i++) {
        if (set & OWL_REV_BIT(i))
            n += (size_t)snprintf(text.z + n, sizeof(text.z) - n, "%s%s", n > 0 ? ", " : "",
                                  revisions[i].name);
    }
    return text;
}

int owl_revs_newest(unsigned revs, enum owl_era era)
{
    for (int i = OWL_REV__MAX - 1; i >= 0; i--) {
        if ((revs & OWL_REV_BIT(i)) && revisions[i].era == era)
            return i;
    }
    return -1;
}

struct owl_mcp__shown owl_mcp__show(owl_str s)
{
    enum { SHOWN = 40 };
    struct owl_mcp__shown shown = {""};
    size_t n = s.n < SHOWN ? s.n : SHOWN;
    for (size_t i = 0; i < n; i++)
        shown.z[i] = s.p[i] >= ' ' && s.p[i] <= '~' ? s.p[i] : '?';
    if (s.n > SHOWN)
        memcpy(shown.z + n, "...", sizeof("..."));
    return shown;
}

/* ---- _meta ----------------------------------------------------------------------------------- */

int owl_mcp_meta_read(struct owl_arena *a, owl_str raw, const struct owl_tape *tape,
                      struct owl_mcp_meta *ret, owl_error *reterr)
{
    enum { VERSION, CAPS, INFO, LEVEL, PROGRESS, TRACE, MEMBERS };
    static const owl_str names[MEMBERS] = {
        [VERSION] = {"io.modelcontextprotocol/protocolVersion", 39},
        [CAPS] = {"io.modelcontextprotocol/clientCapabilities", 42},
        [INFO] = {"io.modelcontextprotocol/clientInfo", 34},
        [LEVEL] = {"io.modelcontextprotocol/logLevel", 32},
        [PROGRESS] = {"progressToken", 13},
        [TRACE] = {"traceparent", 11},
    };
    static const owl_str absent = {NULL, 0};

    struct owl_mcp_meta meta = {.raw = raw};
    owl_str m[MEMBERS];
    if (!owl_members(meta.raw, tape, names, MEMBERS, m) && meta.raw.p)
        return owl_fail(reterr, OWL_EPARAMS, "params._meta must be an object, not %s",
                        owl_mcp__show(meta.raw).z);

    int rc = owl_member_text(a, m[VERSION], &meta.protocol_version);
    if (rc == 0)
        rc = owl_member_text(a, m[TRACE], &meta.traceparent);
    if (rc == 0)
        rc = owl_member_text(a, m[LEVEL], &meta.log_level);
    if (rc != 0)
        return owl_fail(reterr, -rc, NULL);
    meta.client_caps = owl_span_is_object(m[CAPS]) ? m[CAPS] : absent;
    meta.client_info = owl_span_is_object(m[INFO]) ? m[INFO] : absent;
    if (m[LEVEL].p && !meta.log_level.p)
        meta.log_level = OWL_STR("");
    if (owl_span_is_string(m[PROGRESS]) || owl_span_is_integer(m[PROGRESS]))
        meta.progress_token = m[PROGRESS];
    *ret = meta;
    return 0;
}

static bool is_alnum(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
}

/* Letters and digits, and between them also @p inner. */
static bool is_word(owl_str s, const char *inner)
{
    if (s.n == 0 || !is_alnum(s.p[0]) || !is_alnum(s.p[s.n - 1]))
        return false;
    for (size_t i = 0; i < s.n; i++)
        if (!is_alnum(s.p[i]) && (s.p[i] == '\0' || !strchr(inner, s.p[i])))
            return false;
    return true;
}

bool owl_mcp_key_valid(owl_str key)
{
    owl_str name = key, prefix, label;
    if (key.n > 0 && memchr(key.p, '/', key.n)) {
        OWL_IGNORE(owl_str_split(&name, '/', &prefix)); /* it is there */
        while (owl_str_split(&prefix, '.', &label))
            if (!is_word(label, "-") || (label.p[0] >= '0' && label.p[0] <= '9'))
                return false;
    }
    return name.n == 0 || is_word(name, "-_.");
}

/* ---- client capabilities --------------------------------------------------------------------- */

/* The value of the member @p key if it is an object, as every declared capability is. */
static owl_str declared(owl_str object, owl_str key)
{
    owl_str v;
    owl_members(object, NULL, &key, 1, &v);
    return owl_span_is_object(v) ? v : (owl_str){NULL, 0};
}

/* "a.b.c" is "b.c" within "a": ids of extensions hold dots, and nothing nests deeper. */
static owl_str split_name(const char *name, owl_str *ret_within)
{
    const char *dot = strchr(name, '.');
    *ret_within = owl_str_of(dot ? dot + 1 : NULL);
    return dot ? (owl_str){name, (size_t)(dot - name)} : owl_str_of(name);
}

/* Since when there is such a capability: a client that was negotiated down declares newer ones. */
static enum owl_rev since(const char *name)
{
    static const struct {
        const char *name;
        enum owl_rev rev;
    } news[] = {{"elicitation", OWL_REV_2025_06_18},
                {"elicitation.form", OWL_REV_2025_06_18},
                {"elicitation.url", OWL_REV_2025_11_25},
                {"sampling.context", OWL_REV_2025_11_25},
                {"sampling.tools", OWL_REV_2025_11_25}};
    for (size_t i = 0; i < OWL_COUNT(news); i++)
        if (strcmp(name, news[i].name) == 0)
            return news[i].rev;
    return 0;
}

bool owl_mcp_caps_known(enum owl_rev rev, const char *name)
{
    return rev >= since(name);
}

bool owl_mcp_caps_have(owl_str caps, enum owl_rev rev, const char *name)
{
    owl_str within, group = split_name(name, &within);
    owl_str object = declared(caps, group);
    if (!object.p || rev < since(name))
        return false;
    if (!within.p || declared(object, within).p)
        return true;
    /* Who names no mode knows forms, and so did everybody before there were modes. */
    return strcmp(name, "elicitation.form") == 0 &&
           (rev < OWL_REV_2025_11_25 || !declared(object, OWL_STR("url")).p);
}

void owl_mcp_caps_required(struct owl_buf *b, const char *name)
{
    owl_str within, group = split_name(name, &within);
    owl_buf_putc(b, '{');
    owl_json_quote(b, group);
    owl_buf_puts(b, OWL_STR(":{"));
    if (within.p) {
        owl_json_quote(b, within);
        owl_buf_puts(b, OWL_STR(":{}"));
    }
    owl_buf_puts(b, OWL_STR("}}"));
}
