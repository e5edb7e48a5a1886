/* config/judge.c - the tree is judged by the published schema.
 * Threads: that of the loading.
 *
 * The verdict is that of codec/schema.h; here it is put into the words of somebody who wrote a file
 * and not a schema: keys with dots, the file's own place, the spelling that was meant. The faults
 * are asked for only if there are any. */
#include "config/internal.h"

#include "base/alloc.h"
#include "base/nearest.h"
#include "codec/scan.h"
#include "codec/schema.h"

enum { JSON_MAX = 1 << 30, SENTENCE = 1024, WORDS = 12 };

struct judging {
    struct owl_config *c;
    const struct owl_schema *schema;
    struct owl_value_places places;
    struct owl_buf json;
    const struct owl_violation *v; /* the one at hand, and its value */
    const struct owl_value *value;
    struct owl_buf b; /* a sentence */
    const struct owl_violation *told[OWL_SCHEMA_VIOLATIONS];
    const struct owl_value *doubtful[OWL_SCHEMA_VIOLATIONS]; /* maps with keys that are none */
    size_t n_told, n_doubtful;
    const struct owl_value *servers[OWL_SCHEMA_VIOLATIONS]; /* of each fault, or NULL */
    size_t n_servers;
    bool counting; /* nothing is told */
};

/* ---- words ------------------------------------------------------------------------------ */

/* A text may hold a NUL. */
static void put_quoted(struct judging *j, char quote, owl_str text)
{
    owl_buf_putc(&j->b, quote);
    owl_buf_puts(&j->b, text);
    owl_buf_putc(&j->b, quote);
}

/* A fault of the sentence that was written, which a NUL must not cut short. */
static struct owl_fault *add_fault(struct judging *j, struct owl_mark at)
{
    for (char *nul = j->b.p;
         j->b.n > 0 && (nul = memchr(nul, '\0', j->b.n - (size_t)(nul - j->b.p)));)
        *nul = '?';
    return owl_fault_add(&j->c->faults, at, "%.*s", (int)j->b.n, j->b.p);
}

static void put_path(struct judging *j, const struct owl_value *v)
{
    owl_buf_putc(&j->b, '`');
    owl_config__path(&j->b, j->c, v);
    owl_buf_putc(&j->b, '`');
}

/* What is there; secrets are not shown, nor what is no scalar. */
static void put_found(struct judging *j)
{
    static const char *const kinds[] = {"empty",  "`false`", "`true`", "a number",
                                        "a text", "a list",  "a map"};
    const struct owl_value *v = j->value;
    bool hidden = owl_config_secret(j->c, v);
    if (v->kind == OWL_NODE_STRING && !hidden && v->text.n <= 60)
        put_quoted(j, '"', v->text);
    else if (v->kind == OWL_NODE_NUMBER && !hidden)
        owl_buf_printf(&j->b, "%.*s", (int)v->text.n, v->text.p);
    else
        owl_buf_putz(&j->b, kinds[v->kind]);
}

static bool keyword_is(const struct judging *j, const char *name)
{
    return owl_str_is(j->v->keyword, name);
}

/* What the schema itself has to say. */
struct words {
    owl_str message, hint; /* absent: nothing */
};

/* The nearest "x-message" around the keyword that failed, and the "x-hint" beside it. Pointers of
 * our schema have no escapes that matter. */
static struct words own_words(const struct judging *j, const struct owl_violation *v)
{
    const struct owl_tree *t = &j->c->keys.tree;
    owl_str rest = v->schema, step;
    struct words words = {{NULL, 0}, {NULL, 0}};
    uint32_t node = 0;
    owl_str_split(&rest, '/', &step);
    while (rest.p && owl_str_split(&rest, '/', &step)) {
        const struct owl_node *at = &t->nodes[node];
        uint64_t index = 0;
        uint32_t next = 0;
        if (at->kind == OWL_NODE_OBJECT) {
            next = owl_tree_get(t, node, step);
        } else if (at->kind == OWL_NODE_ARRAY && owl_str_u64(step, at->count, &index)) {
            for (next = node + 1; index > 0 && next < at->next; index--)
                next = t->nodes[next].next;
        }
        if (!next)
            return words;
        node = next;
        bool object = t->nodes[node].kind == OWL_NODE_OBJECT;
        uint32_t said = object ? owl_tree_get(t, node, OWL_STR("x-message")) : 0;
        uint32_t hint = said ? owl_tree_get(t, node, OWL_STR("x-hint")) : 0;
        if (said)
            words = (struct words){owl_tree_text(t, said),
                                   hint ? owl_tree_text(t, hint) : (owl_str){NULL, 0}};
    }
    return words;
}

/* ---- keys that are none ----------------------------------------------------------------- */

/* What other programs call a key of ours. */
static owl_str our_name(const struct judging *j, uint32_t parent, owl_str name)
{
    const struct owl_keys *k = &j->c->keys;
    uint32_t foreign = owl_keys__of(k, owl_keys__top(k, OWL_STR("mcpServers")))->entry;
    owl_str ours = owl_keys__of(k, owl_keys__member(k, foreign, name))->ours;
    return ours.p && owl_keys__member(k, parent, ours) ? ours : (owl_str){NULL, 0};
}

static struct owl_fault *unknown_key(struct judging *j)
{
    struct owl_config *c = j->c;
    owl_str name = j->value->key;
    uint32_t parent = owl_config__key(c, j->value->parent);
    owl_str meant = our_name(j, parent, name);
    if (!meant.p)
        meant = owl_keys__nearest(&c->keys, parent, name);
    put_quoted(j, '`', name);
    owl_buf_putz(&j->b, " is no key of ");
    put_path(j, j->value->parent);
    struct owl_fault *f = add_fault(j, j->value->key_at);
    f->width = owl_source__key_width(c, j->value);
    if (meant.p)
        owl_fault_hint(&c->faults, f, "did you mean `%.*s`?", (int)meant.n, meant.p);
    else
        owl_advice__key(c, parent, name, f);
    owl_advice__invisible(c, name, f);
    return f;
}

/* ---- values that are not right ---------------------------------------------------------- */

static void put_types(struct judging *j, unsigned types)
{
    static const char *const names[] = {"empty",  "true or false", "a whole number", "a number",
                                        "a text", "a list",        "a map"};
    bool first = true;
    for (unsigned i = 0; i < OWL_COUNT(names); i++) {
        if (!(types & (1u << i)))
            continue;
        owl_buf_printf(&j->b, "%s%s", first ? "" : " or ", names[i]);
        first = false;
    }
}

static void wrong_type(struct judging *j, uint32_t key)
{
    owl_str title = owl_keys__text(&j->c->keys, key, OWL_STR("title"));
    unsigned types = owl_keys__of(&j->c->keys, key)->types;
    owl_buf_putz(&j->b, " must be ");
    if (title.p)
        owl_buf_puts(&j->b, title);
    else
        put_types(j, types);
    owl_buf_putz(&j->b, ", but is ");
    put_found(j);
}

/* A text that stands nowhere in the file came out of a variable. */
static void tell_variable(struct judging *j, struct owl_fault *f)
{
    owl_str token = owl_source__token(j->c, j->value);
    if (token.n > 0 && token.n < 100 && !owl_config_secret(j->c, j->value) &&
        memmem(token.p, token.n, "${", 2))
        owl_fault_hint(&j->c->faults, f, "that is what %.*s stands for", (int)token.n, token.p);
}

/* "one of a, b, c", and which of them was meant. */
static void wrong_choice(struct judging *j, owl_str *ret_meant)
{
    struct owl_nearest near = {.written = j->value->text};
    owl_str rest = j->v->expected, within = {NULL, 0};
    owl_buf_putz(&j->b, " must be ");
    if (rest.n < 2 || rest.p[0] != '[') {
        owl_buf_puts(&j->b, rest);
    } else {
        struct owl_span_iter it = owl_span_iter(rest);
        const char *comma = "one of ";
        for (struct owl_span s; owl_json_scan(rest, 8, NULL) == 0 && owl_span_next(&it, &s);) {
            bool text = owl_span_is_string(s.value);
            owl_str word = {s.value.p + text, s.value.n - 2 * (size_t)text};
            owl_buf_printf(&j->b, "%s%.*s", comma, (int)word.n, word.p);
            comma = ", ";
            if (j->value->kind == OWL_NODE_STRING)
                owl_nearest_try(&near, word);
            if (j->value->kind == OWL_NODE_STRING && word.n > 3 && !within.p &&
                memmem(j->value->text.p, j->value->text.n, word.p, word.n))
                within = word;
        }
    }
    owl_buf_putz(&j->b, ", but is ");
    put_found(j);
    *ret_meant = near.best.p ? near.best : within;
}

static void wrong_amount(struct judging *j, uint32_t key, const char *how)
{
    static const char *const units[] = {"", " seconds", " milliseconds", " bytes"};
    owl_buf_printf(&j->b, " must be %s %.*s%s, but is ", how, (int)j->v->expected.n,
                   j->v->expected.p, units[owl_keys__of(&j->c->keys, key)->unit]);
    owl_str token = owl_source__token(j->c, j->value);
    if (token.n > 0 && token.n < 20 && token.p[0] != '$' && !owl_str_eq(token, j->value->text) &&
        !owl_config_secret(j->c, j->value))
        owl_buf_printf(&j->b, "%.*s, which is ", (int)token.n, token.p); /* it has a unit */
    put_found(j);
}

/* The name of the member that is missing, out of the schema's own words. */
static owl_str missing_name(const struct judging *j)
{
    owl_str s = j->v->sentence;
    const char *quote = memchr(s.p + j->v->subject, '"', s.n - j->v->subject);
    if (!quote || s.p[s.n - 1] != '"')
        return OWL_STR("a member");
    return (owl_str){quote + 1, (size_t)(s.p + s.n - 1 - (quote + 1))};
}

/* What the schema's own words are left to say. */
static void put_sentence(struct judging *j)
{
    owl_str s = j->v->sentence;
    owl_buf_put(&j->b, s.p + j->v->subject, s.n - j->v->subject);
}

/* What the schema advises, or the one member that is missing. */
static void advise(struct judging *j, struct words own, struct owl_fault *f)
{
    owl_str at = j->v->schema, name = {NULL, 0};
    bool only = !memmem(at.p, at.n, "/anyOf/", 7) && !memmem(at.p, at.n, "/oneOf/", 7);
    if (own.message.p && only && keyword_is(j, "required"))
        name = missing_name(j);
    if (own.hint.p)
        owl_fault_hint(&j->c->faults, f, "%.*s", (int)own.hint.n, own.hint.p);
    else if (name.p)
        owl_fault_hint(&j->c->faults, f, "add `%.*s`", (int)name.n, name.p);
    else if (own.message.p && j->value->kind == OWL_NODE_OBJECT)
        owl_advice__files(j->c, j->value, f);
}

static struct owl_fault *wrong_value(struct judging *j)
{
    uint32_t key = owl_config__key(j->c, j->value);
    struct words own = own_words(j, j->v);
    owl_str meant = {NULL, 0};
    bool type = false;
    put_path(j, j->value);
    if (own.message.p) {
        bool shown = j->value->kind < OWL_NODE_ARRAY && !owl_config_secret(j->c, j->value);
        if (shown && !j->v->of_name) {
            owl_buf_putz(&j->b, " is ");
            put_found(j);
        }
        owl_buf_printf(&j->b, ": %.*s", (int)own.message.n, own.message.p);
    } else if (keyword_is(j, "type") && key) {
        wrong_type(j, key);
        type = true;
    } else if (keyword_is(j, "enum") || keyword_is(j, "const")) {
        wrong_choice(j, &meant);
    } else if (keyword_is(j, "minimum")) {
        wrong_amount(j, key, "at least");
    } else if (keyword_is(j, "maximum")) {
        wrong_amount(j, key, "at most");
    } else if (keyword_is(j, "minLength") && j->value->text.n == 0) {
        owl_buf_putz(&j->b, " must not be empty");
    } else if (keyword_is(j, "required")) {
        owl_str name = missing_name(j);
        owl_buf_printf(&j->b, " needs `%.*s`", (int)name.n, name.p);
    } else {
        put_sentence(j);
    }
    /* What is wrong with a map is shown at its name, and what is wrong with a name. */
    bool name = j->v->of_name || j->value->kind == OWL_NODE_OBJECT;
    bool named = name && j->value->key.p;
    struct owl_fault *f = add_fault(j, named ? j->value->key_at : j->value->at);
    f->width = named ? owl_source__key_width(j->c, j->value) : owl_source__width(j->c, j->value);
    advise(j, own, f);
    if (type)
        owl_advice__type(j->c, j->value, key, f);
    else if (own.message.p)
        owl_advice__unit(j->c, j->value, key, f);
    tell_variable(j, f);
    if (meant.p)
        owl_fault_hint(&j->c->faults, f, "did you mean `%.*s`?", (int)meant.n, meant.p);
    return f;
}

/* ---- violations ------------------------------------------------------------------------- */

/* Of alternatives the nearest was told before; of one message around several, the first. */
static bool said_before(const struct judging *j)
{
    bool summary = keyword_is(j, "anyOf") || keyword_is(j, "oneOf");
    bool scalar = j->value->kind < OWL_NODE_ARRAY && !j->v->of_name; /* one fault is enough */
    owl_str message = own_words(j, j->v).message;
    for (size_t i = 0; i < j->n_told; i++) {
        owl_str other = j->told[i]->instance, own = j->v->instance;
        if (scalar && owl_str_eq(other, own) && !j->told[i]->of_name)
            return true;
        bool within = other.n >= own.n && memcmp(other.p, own.p, own.n) == 0;
        if (!within)
            continue;
        if (message.p ? own_words(j, j->told[i]).message.p == message.p : summary)
            return true;
    }
    return false;
}

/* Whether what is missing may be there under a wrong name, or in what could not be read. */
static bool is_doubtful(const struct judging *j)
{
    for (size_t i = 0; i < j->n_doubtful; i++)
        if (j->doubtful[i] == j->value)
            return true;
    for (size_t i = 0; i < j->c->n_sources; i++)
        if (j->c->sources[i].damaged)
            return true;
    return false;
}

/* Whether a list or map is all that is left of what could not be read. */
static bool is_remnant(const struct judging *j)
{
    const struct owl_value *v = j->value;
    return keyword_is(j, "type") && v->kind >= OWL_NODE_ARRAY && v->count == 0 &&
           j->c->sources[v->at.source].damaged;
}

/* The map of servers, or NULL. */
static struct owl_value *servers_of(const struct judging *j)
{
    struct owl_value *v = owl_value_get(j->c->tree, OWL_STR("servers"));
    return v && v->kind == OWL_NODE_OBJECT ? v : NULL;
}

/* Tells one violation, of what is missing or of what is there. */
static int tell(struct judging *j, const struct owl_violation *v, bool missing)
{
    j->v = v;
    j->value = owl_value_at(&j->places, v->at);
    bool lacks = keyword_is(j, "required") || keyword_is(j, "anyOf") || keyword_is(j, "oneOf");
    if (!j->value || lacks != missing || said_before(j))
        return 0;
    if ((lacks && is_doubtful(j)) || is_remnant(j))
        return owl_config__blame(j->c, j->value, NULL);
    j->told[j->n_told++] = v;
    bool extra = keyword_is(j, "additionalProperties") || keyword_is(j, "unevaluatedProperties");
    extra = extra && j->value->key.p;
    if (extra)
        j->doubtful[j->n_doubtful++] = j->value->parent;
    if (j->counting)
        return 0;
    j->servers[j->n_servers++] = owl_config__server(j->c, j->value);
    owl_buf_reset(&j->b);
    struct owl_fault *f = extra ? unknown_key(j) : wrong_value(j);
    return owl_config__blame(j->c, j->value, f);
}

/* How many faults were left out. */
static int explain(struct judging *j, size_t *ret_left_out)
{
    struct owl_explanation e = {0};
    struct owl_arena *a = owl_arena_new(0);
    int rc = a ? owl_schema_explain(j->schema, owl_buf_str(&j->json), a, &e, NULL) : -OWL_ENOMEM;
    j->n_told = j->n_doubtful = 0;
    for (size_t i = 0; rc == 0 && i < e.n; i++)
        rc = tell(j, &e.violations[i], false);
    for (size_t i = 0; rc == 0 && i < e.n; i++)
        rc = tell(j, &e.violations[i], true);
    *ret_left_out = e.left_out;
    owl_arena_free(a);
    return rc;
}

/* ---- the tree --------------------------------------------------------------------------- */

/* {"mcp_server": tree} */
static int write_json(struct judging *j, const struct owl_value *tree)
{
    owl_buf_reset(&j->json);
    j->places.n = 0;
    owl_buf_putz(&j->json, "{\"mcp_server\":");
    owl_value_json(&j->json, tree, &j->places);
    owl_buf_putc(&j->json, '}');
    return j->json.rc ? j->json.rc : owl_json_scan(owl_buf_str(&j->json), OWL_JSON_DEPTH, NULL);
}

static int judge(struct judging *j, const struct owl_value *tree, bool *ret_valid)
{
    int rc = write_json(j, tree);
    return rc ? rc : owl_schema_validate(j->schema, owl_buf_str(&j->json), ret_valid, NULL);
}

/* Counts the faults of a part that are not told: a server, or with NULL all but the servers. */
static int judge_part(struct judging *j, const struct owl_value *tree,
                      const struct owl_value *server, bool *ret_valid)
{
    struct owl_config *c = j->c;
    size_t left_out = 0, told = 0;
    int rc = judge(j, tree, ret_valid);
    if (rc || *ret_valid)
        return rc;
    rc = explain(j, &left_out);
    for (size_t i = 0; i < j->n_servers; i++)
        told += j->servers[i] == server;
    size_t all = j->n_told + left_out, n = all > told ? all - told : 0;
    c->faults.errors += n;
    c->faults.left_out += n;
    c->inside += server ? n : 0;
    return rc;
}

/* There were more faults than are told: each server is judged alone, so that none passes for right
 * that is not. */
static int judge_servers(struct judging *j)
{
    struct owl_value *servers = servers_of(j);
    int rc = 0;
    for (struct owl_value *v = servers ? servers->first : NULL; v && rc == 0; v = v->next) {
        bool valid = true;
        struct owl_value tree = {.kind = OWL_NODE_OBJECT}, map = {.kind = OWL_NODE_OBJECT};
        struct owl_value in_place = *v;
        map.key = OWL_STR("servers");
        owl_value_add(&tree, &map);
        owl_value_add(&map, v);
        rc = judge_part(j, &tree, v, &valid);
        *v = in_place;
        if (rc == 0 && !valid)
            rc = owl_config__blame(j->c, v, NULL);
    }
    return rc;
}

/* Likewise, the rest without any server. */
static int judge_rest(struct judging *j)
{
    struct owl_config *c = j->c;
    struct owl_value *servers = servers_of(j);
    bool valid = true;
    if (!servers)
        return judge_part(j, c->tree, NULL, &valid);
    struct owl_value whole = *servers;
    servers->first = servers->last = NULL;
    int rc = judge_part(j, c->tree, NULL, &valid);
    *servers = whole;
    return rc;
}

static int judge_all(struct judging *j)
{
    struct owl_config *c = j->c;
    bool valid = false;
    int rc = judge(j, c->tree, &valid);
    if (rc == 0 && !valid) {
        size_t left_out = 0;
        rc = explain(j, &left_out);
        j->counting = true;
        if (rc == 0 && left_out > 0)
            rc = judge_servers(j);
        if (rc == 0 && left_out > 0)
            rc = judge_rest(j);
    }
    if (rc && rc != -OWL_ENOMEM) {
        owl_fault_add(&c->faults, c->tree->at,
                      "the configuration is too large or too deep to be judged");
        rc = 0;
    }
    return rc;
}

int owl_judge__tree(struct owl_config *c)
{
    struct owl_schema_options o = {.max_work = UINT64_C(1000000000)};
    struct owl_schema *schema = NULL;
    int rc = owl_schema_compile(owl_config_schema(), &o, &schema, NULL);
    if (rc)
        return -OWL_ENOMEM; /* the schema is right: tests prove it */
    struct judging j = {.c = c, .schema = schema};
    owl_buf_init(&j.json, JSON_MAX);
    owl_buf_init(&j.b, SENTENCE);
    rc = judge_all(&j);
    owl_buf_done(&j.json);
    owl_buf_done(&j.b);
    owl_free(j.places.list);
    owl_schema_free(schema);
    return rc;
}
