/* config/advice.c - how what is wrong can be mended.
 * Threads: that of the loading.
 *
 * Advice is given where it surely helps: whoever follows it does not see the fault again. Secrets
 * are never repeated. */
#include "config/internal.h"

#include <ctype.h>
#include <stdio.h>
#include <strings.h>

#include "config/units.h"

enum { WORDS = 12, LIST = 160, TEXT = 60 };

/* ---- keys ------------------------------------------------------------------------------- */

/* A key of that name one level further in: `port` or `http_port`, where `http.port` is meant. */
static bool is_within(struct owl_config *c, uint32_t parent, owl_str name, struct owl_fault *f)
{
    const struct owl_keys *k = &c->keys;
    const struct owl_key *known = owl_keys__of(k, parent);
    size_t n = 0;
    while (n < name.n && !strchr("_-.", name.p[n]))
        n++;
    owl_str first = {name.p, n}, rest = {name.p + n + 1, n < name.n ? name.n - n - 1 : 0};
    for (uint32_t i = 0; i < known->n_members; i++) {
        uint32_t member = known->members[i].key;
        owl_str word = known->members[i].name, meant = name;
        if (owl_keys__of(k, member)->entry)
            continue;
        bool begun = rest.n > 0 && first.n > 2 && word.n >= first.n &&
                     memcmp(word.p, first.p, first.n) == 0;
        if (begun && !owl_keys__member(k, member, name))
            meant = rest;
        if (!owl_keys__member(k, member, meant))
            continue;
        owl_fault_hint(&c->faults, f, "`%.*s` is a key of `%.*s`", (int)meant.n, meant.p,
                       (int)word.n, word.p);
        return true;
    }
    return false;
}

static void list_keys(struct owl_config *c, uint32_t parent, struct owl_fault *f)
{
    const struct owl_key *known = owl_keys__of(&c->keys, parent);
    char line[400];
    size_t n = 0;
    for (uint32_t i = 0; i < known->n_members && i <= WORDS && n < sizeof line; i++) {
        owl_str word = i == WORDS ? OWL_STR("...") : known->members[i].name;
        n += (size_t)snprintf(line + n, sizeof line - n, "%s%.*s", i ? ", " : "", (int)word.n,
                              word.p);
    }
    if (known->n_members > 0)
        owl_fault_hint(&c->faults, f, "known are %s", line);
}

void owl_advice__key(struct owl_config *c, uint32_t parent, owl_str name, struct owl_fault *f)
{
    if (owl_str_is(name, "include"))
        owl_fault_hint(&c->faults, f, "`include` stands beside `mcp_server`, not in it");
    else if (is_within(c, parent, name, f))
        return;
    else if (parent != c->root && owl_keys__member(&c->keys, c->root, name))
        owl_fault_hint(&c->faults, f, "`%.*s` is a key of `mcp_server` itself", (int)name.n,
                       name.p);
    else
        list_keys(c, parent, f);
}

/* ---- characters ------------------------------------------------------------------------- */

void owl_advice__invisible(struct owl_config *c, owl_str text, struct owl_fault *f)
{
    static const struct {
        const char *bytes, *hint;
    } known[] = {
        {"\xc2\xa0", "it holds a no-break space (U+00A0): write a plain one"},
        {"\xe2\x80\xaf", "it holds a no-break space (U+202F): write a plain one"},
        {"\xe2\x80\x8b", "it holds an invisible character (U+200B): write it anew"},
        {"\xe2\x80\x8d", "it holds an invisible character (U+200D): write it anew"},
        {"\xef\xbb\xbf", "it holds an invisible character (U+FEFF): write it anew"},
        {"\xe2\x80\x9c", "it has curly quotes: write straight ones (\") or none"},
        {"\xe2\x80\x9d", "it has curly quotes: write straight ones (\") or none"},
        {"\xe2\x80\x98", "it has curly quotes: write straight ones (') or none"},
        {"\xe2\x80\x99", "it has curly quotes: write straight ones (') or none"},
    };
    for (size_t i = 0; i < OWL_COUNT(known); i++) {
        if (text.p && memmem(text.p, text.n, known[i].bytes, strlen(known[i].bytes))) {
            owl_fault_hint(&c->faults, f, "%s", known[i].hint);
            return;
        }
    }
}

/* ---- lists and maps --------------------------------------------------------------------- */

struct list {
    char text[LIST];
    size_t n;
};

static void put_element(struct list *l, owl_str text)
{
    if (l->n < sizeof l->text)
        l->n += (size_t)snprintf(l->text + l->n, sizeof l->text - l->n, "%s\"%.*s\"",
                                 l->n > 0 ? ", " : "", (int)text.n, text.p);
}

/* Words without quotes, which have a meaning that only their writer knows. */
static void put_words(struct list *l, owl_str rest)
{
    owl_str part;
    if (memchr(rest.p, '"', rest.n) || memchr(rest.p, '\'', rest.n))
        return;
    char by = memchr(rest.p, ',', rest.n) ? ',' : ' ';
    while (rest.p && owl_str_split(&rest, by, &part)) {
        part = owl_str_trim(part);
        if (part.n > 0)
            put_element(l, part);
    }
}

/* Several lines of "-element": the blank is missing. */
static bool is_tight_list(const struct owl_value *v)
{
    return v->kind == OWL_NODE_STRING && v->text.n > 1 && v->text.p[0] == '-' &&
           v->text.p[1] != '-' && v->at.line > v->key_at.line && v->key_at.line > 0;
}

/* A text, or a map, where a list is wanted. */
static void advise_list(struct owl_config *c, const struct owl_value *v, struct owl_fault *f)
{
    struct list list = {.n = 0};
    if (is_tight_list(v)) {
        owl_fault_hint(&c->faults, f, "put a space behind each `-`");
        return;
    }
    bool secret = owl_config_secret(c, v);
    if (v->kind == OWL_NODE_STRING && !secret)
        put_words(&list, v->text);
    const struct owl_value *m = v->kind == OWL_NODE_OBJECT ? v->first : NULL;
    for (; m && m->kind == OWL_NODE_STRING && !owl_config_secret(c, m); m = m->next)
        put_element(&list, m->text);
    if (list.n > 0 && list.n < sizeof list.text && !m)
        owl_fault_hint(&c->faults, f, "write a list: [%s]", list.text);
    else
        owl_fault_hint(&c->faults, f, "write a list, such as [\"one\", \"two\"]");
}

/* A list where names are wanted: of NAME=value, of maps with one name each, or of servers. */
static void advise_map(struct owl_config *c, const struct owl_value *v, uint32_t key,
                       struct owl_fault *f)
{
    static const char *const entries[] = {
        [OWL_FORMAT__YAML] = "write `NAME: value` for each, without `- ` before it",
        [OWL_FORMAT__TOML] = "write { NAME = \"value\" } instead of the list",
        [OWL_FORMAT__JSON] = "write {\"NAME\": \"value\"} instead of the list"};
    static const char *const members[] = {
        [OWL_FORMAT__YAML] = "write its keys without `- ` before them",
        [OWL_FORMAT__TOML] = "a table has one bracket, `[http]`; two, `[[http]]`, begin a list",
        [OWL_FORMAT__JSON] = "write its keys in braces, without the brackets around them"};
    const struct owl_source *s = &c->sources[v->at.source];
    enum owl_format format = s->kind == OWL_SOURCE_FILE ? owl_source__format(s) : OWL_FORMAT__JSON;
    const struct owl_value *first = v->first;
    bool map = first && first->kind == OWL_NODE_OBJECT;
    if (first && first->kind == OWL_NODE_STRING)
        owl_fault_hint(&c->faults, f, "%s", entries[format]);
    else if (map && owl_keys__of(&c->keys, key)->entry)
        owl_fault_hint(&c->faults, f, "put the name of each before it, as a key");
    else if (map)
        owl_fault_hint(&c->faults, f, "%s", members[format]);
}

void owl_advice__files(struct owl_config *c, const struct owl_value *map, struct owl_fault *f)
{
    const struct owl_value *a = map->first, *b = a ? a->next : NULL;
    while (b && b->key_at.source == a->key_at.source)
        b = b->next;
    if (!b)
        return;
    owl_str one = c->sources[a->key_at.source].name, two = c->sources[b->key_at.source].name;
    owl_fault_hint(
        &c->faults, f, "what two files say of it is merged: `%.*s` is of %.*s, `%.*s` of %.*s",
        (int)a->key.n, a->key.p, (int)one.n, one.p, (int)b->key.n, b->key.p, (int)two.n, two.p);
}

/* ---- scalars ---------------------------------------------------------------------------- */

/* What is no text needs no quotes; `no` and `off` are texts without any. */
static void advise_bare(struct owl_config *c, const struct owl_value *v,
                        const struct owl_value *meant, struct owl_fault *f)
{
    bool truth = meant->kind == OWL_NODE_TRUE || meant->kind == OWL_NODE_FALSE;
    const char *word = meant->kind == OWL_NODE_TRUE ? "true" : "false";
    if (truth && !owl_str_is(v->text, word))
        owl_fault_hint(&c->faults, f, "write `%s`", word);
    else
        owl_fault_hint(&c->faults, f, "write it without quotes");
}

static bool is_variable(owl_str s)
{
    bool name = s.n > 1 && s.p[0] == '$';
    for (size_t i = 1; i < s.n && name; i++)
        name = isalnum((unsigned char)s.p[i]) || s.p[i] == '_';
    return name;
}

/* A text where none is wanted. */
static void advise_text(struct owl_config *c, const struct owl_value *v, uint32_t key,
                        struct owl_fault *f)
{
    unsigned types = owl_keys__of(&c->keys, key)->types;
    struct owl_value copy = *v;
    const char *colon = memchr(v->text.p, ':', v->text.n);
    bool map = types == OWL_KEY__OBJECT;
    bool number = (types & (OWL_KEY__INTEGER | OWL_KEY__NUMBER)) != 0;
    if (map && colon && colon > v->text.p && colon[1])
        owl_fault_hint(&c->faults, f, "put a space behind the colon: `%.*s: %s`",
                       (int)(colon - v->text.p), v->text.p, colon + 1);
    else if (map)
        list_keys(c, key, f);
    else if (is_variable(v->text))
        owl_fault_hint(&c->faults, f, "variables are written `${%s}`", v->text.p + 1);
    else if (!(types & OWL_KEY__STRING) && owl_coerce__text(c, &copy, key) == 0 &&
             copy.kind != OWL_NODE_STRING)
        advise_bare(c, v, &copy, f);
    else if (number && v->text.n > 1 && isdigit((unsigned char)v->text.p[0]))
        owl_fault_hint(&c->faults, f, "write digits only, without a unit or separators");
    owl_advice__invisible(c, v->text, f);
}

void owl_advice__type(struct owl_config *c, const struct owl_value *v, uint32_t key,
                      struct owl_fault *f)
{
    unsigned types = owl_keys__of(&c->keys, key)->types;
    bool truth = v->kind == OWL_NODE_TRUE || v->kind == OWL_NODE_FALSE;
    bool number = v->kind == OWL_NODE_NUMBER;
    if ((v->kind == OWL_NODE_STRING || v->kind == OWL_NODE_OBJECT) && (types & OWL_KEY__ARRAY))
        advise_list(c, v, f);
    else if (types == OWL_KEY__OBJECT && v->kind == OWL_NODE_ARRAY)
        advise_map(c, v, key, f);
    else if (types == OWL_KEY__OBJECT && (number || truth))
        list_keys(c, key, f);
    else if (v->kind == OWL_NODE_ARRAY && owl_str_is(v->key, "command"))
        owl_fault_hint(&c->faults, f, "put the program into `command`, the rest into `args`");
    else if (v->kind == OWL_NODE_STRING && v->text.n <= TEXT && !owl_config_secret(c, v))
        advise_text(c, v, key, f);
    else if ((number || truth) && (types & OWL_KEY__STRING))
        owl_fault_hint(&c->faults, f, "write it within quotes");
    else if (number && (types & OWL_KEY__BOOLEAN) && v->text.n == 1 && v->text.p[0] <= '1')
        owl_fault_hint(&c->faults, f, "write `%s`", v->text.p[0] == '1' ? "true" : "false");
}

/* ---- units ------------------------------------------------------------------------------ */

/* "5 minutes" as "5m", "10 s" as "10s". */
static size_t shorten(owl_str text, char *out, size_t max)
{
    static const char *const words[][2] = {
        {"milliseconds", "ms"}, {"millisecond", "ms"}, {"seconds", "s"},   {"second", "s"},
        {"secs", "s"},          {"minutes", "m"},      {"minute", "m"},    {"mins", "m"},
        {"hours", "h"},         {"hour", "h"},         {"hrs", "h"},       {"hr", "h"},
        {"days", "d"},          {"day", "d"},          {"weeks", "w"},     {"week", "w"},
        {"kilobytes", "KB"},    {"megabytes", "MB"},   {"gigabytes", "GB"}};
    size_t n = 0;
    while (text.n > 0 && n + 3 < max) {
        size_t i = 0;
        while (i < OWL_COUNT(words) && (text.n < strlen(words[i][0]) ||
                                        strncasecmp(text.p, words[i][0], strlen(words[i][0])) != 0))
            i++;
        size_t used = i < OWL_COUNT(words) ? strlen(words[i][0]) : 1;
        if (i < OWL_COUNT(words))
            n += (size_t)snprintf(out + n, max - n, "%s", words[i][1]);
        else if (!strchr(" \t_", text.p[0]))
            out[n++] = text.p[0];
        text = (owl_str){text.p + used, text.n - used};
    }
    out[n] = '\0';
    return n;
}

void owl_advice__unit(struct owl_config *c, const struct owl_value *v, uint32_t key,
                      struct owl_fault *f)
{
    enum owl_key_unit unit = key ? owl_keys__of(&c->keys, key)->unit : OWL_UNIT__NONE;
    char text[40];
    struct owl_buf b;
    if (unit == OWL_UNIT__NONE || v->kind != OWL_NODE_STRING || v->text.n >= sizeof text ||
        owl_config_secret(c, v))
        return;
    size_t n = shorten(v->text, text, sizeof text);
    bool digits = n > 0 && strspn(text, "0123456789") == n;
    owl_buf_init(&b, 64);
    if (digits || owl_units__read((owl_str){text, n}, unit, &b))
        owl_fault_hint(&c->faults, f, "write `%s`", text);
    owl_buf_done(&b);
}
