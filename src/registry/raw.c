/* registry/raw.c - from an entry of another server's list to an immutable item.
 * Threads: pure; see item.c for what is made.
 *
 * The entry is walked once. What we know is checked, for one malformed member would make clients
 * refuse the whole list; what we do not know is passed on as it is written. */
#include "codec/json.h"
#include "codec/scan.h"
#include "registry/draft.h"

enum type { TEXT, NUMBER, OBJECT, ARRAY };

#define IN(kind) (1u << OWL_KIND_##kind)
enum { IN_ALL = IN(TOOL) | IN(RESOURCE) | IN(TEMPLATE) | IN(PROMPT) };

/* A member that clients read. `put` writes one that needs more than a look at its type. */
struct known {
    const char *name;
    unsigned kinds;
    enum type type;
    void (*put)(struct owl_draft *d, const char *member, owl_str json);
};

static const struct {
    const char *key; /* the member by which an item is asked for */
    unsigned flags;  /* that may be set */
} kinds[OWL_KIND__MAX] = {
    [OWL_KIND_TOOL] = {"name", OWL_INLINE | OWL_PARKED | OWL_TASK | OWL_TASK_ONLY | OWL_TASK_LATER |
                                   OWL_FOREIGN},
    [OWL_KIND_RESOURCE] = {"uri", OWL_INLINE},
    [OWL_KIND_TEMPLATE] = {"uriTemplate", OWL_INLINE},
    [OWL_KIND_PROMPT] = {"name", OWL_INLINE},
};

/* ---- names ----------------------------------------------------------------------------------- */

/* The names of an item that are only looked up. */
static owl_str keep_name(struct owl_draft *d, const char *member, owl_str name)
{
    if (name.p && (name.n == 0 || name.n > OWL_ITEM_NAME_BYTES || !owl_utf8_valid(name)))
        owl_draft__reject(d, member, "must be 1 to %d bytes of UTF-8", OWL_ITEM_NAME_BYTES);
    return owl_draft__keep(d, name);
}

static void set_names(struct owl_draft *d, const struct owl_item_options *o)
{
    d->item.registry_name = keep_name(d, "registry name", o->registry_name);
    if (o->n_aliases > OWL_ITEM_ALIASES)
        owl_draft__reject(d, "aliases", "are more than %d", OWL_ITEM_ALIASES);
    if (d->rc || o->n_aliases == 0)
        return;
    owl_str *aliases = owl_arena_zalloc(d->item.arena, o->n_aliases * sizeof *aliases);
    if (!aliases) {
        owl_draft__no_memory(d);
        return;
    }
    for (size_t i = 0; i < o->n_aliases; i++)
        aliases[i] = keep_name(d, "alias", o->aliases[i]);
    d->item.aliases = aliases;
    d->item.n_aliases = o->n_aliases;
}

/* What is shown if the key belongs to another item. */
static void set_fallback(struct owl_draft *d, owl_str fallback)
{
    if (d->rc || !fallback.p)
        return;
    d->item.fallback = owl_draft__check_key(d, "fallback", fallback, &d->item.fallback_template);
    struct owl_buf b;
    owl_buf_init(&b, SIZE_MAX);
    owl_json_quote(&b, d->item.fallback);
    if (b.rc)
        owl_draft__no_memory(d);
    d->item.fallback_json = owl_draft__keep(d, owl_buf_str(&b));
    owl_buf_done(&b);
}

/* What the entry calls itself, and the key that we show in its place, as the first member. */
static void put_key(struct owl_draft *d, owl_str json, const struct owl_item_options *o)
{
    const char *member = kinds[d->item.kind].key;
    owl_str literal = d->rc ? (owl_str){0} : owl_span_get(json, member);
    if (!owl_span_is_string(literal)) {
        owl_draft__reject(d, member, literal.p ? "must be a string" : "is missing");
        return;
    }
    d->label = literal;
    if (owl_json_decode(d->item.arena, literal, &d->item.origin)) {
        owl_draft__no_memory(d);
        return;
    }
    if (d->item.origin.n == 0 || d->item.origin.n > OWL_ITEM_NAME_BYTES)
        owl_draft__reject(d, member, "must be 1 to %d bytes long", OWL_ITEM_NAME_BYTES);
    owl_str key = o->key.p ? o->key : d->item.origin;
    d->item.key = owl_draft__check_key(d, member, key, &d->item.uri_template);
    owl_draft__put_key(d, member);
    d->item.key_from = (uint32_t)d->entry.n; /* no longer than an entry may be */
    owl_json_quote(&d->entry, d->item.key);
    d->item.key_end = (uint32_t)d->entry.n;
}

/* ---- members --------------------------------------------------------------------------------- */

static void put_output(struct owl_draft *d, const char *member, owl_str json)
{
    owl_draft__put_output(d, member, json, false);
}

/* Our own flags say whether it may be a task: they are written at the end. */
static void put_nothing(struct owl_draft *d, const char *member, owl_str json)
{
    (void)d;
    (void)member;
    (void)json;
}

static void put_mime_type(struct owl_draft *d, const char *member, owl_str json)
{
    if (!d->rc && owl_json_decode(d->item.arena, json, &d->item.mime_type))
        owl_draft__no_memory(d);
    owl_draft__put_json(d, member, json);
}

static const struct known *known_member(enum owl_kind kind, const struct owl_span *s)
{
    static const struct known members[] = {
        {"name", IN(RESOURCE) | IN(TEMPLATE), TEXT, NULL},
        {"title", IN_ALL, TEXT, NULL},
        {"description", IN_ALL, TEXT, NULL},
        {"inputSchema", IN(TOOL), OBJECT, owl_draft__put_input},
        {"outputSchema", IN(TOOL), OBJECT, put_output},
        {"execution", IN(TOOL), OBJECT, put_nothing},
        {"arguments", IN(PROMPT), ARRAY, owl_draft__put_arguments},
        {"mimeType", IN(RESOURCE) | IN(TEMPLATE), TEXT, put_mime_type},
        {"size", IN(RESOURCE), NUMBER, NULL},
        {"annotations", IN(TOOL) | IN(RESOURCE) | IN(TEMPLATE), OBJECT, NULL},
        {"icons", IN_ALL, ARRAY, owl_draft__put_icons},
        {"_meta", IN_ALL, OBJECT, NULL},
    };
    for (size_t i = 0; i < OWL_COUNT(members); i++) {
        if ((members[i].kinds & 1u << kind) && owl_span_key_is(s, owl_str_of(members[i].name)))
            return &members[i];
    }
    return NULL;
}

static bool has_type(owl_str json, enum type type)
{
    switch (type) {
    case TEXT: return owl_span_is_string(json);
    case OBJECT: return owl_span_is_object(json);
    case ARRAY: return owl_span_is_array(json);
    case NUMBER: return json.p[0] == '-' || (json.p[0] >= '0' && json.p[0] <= '9');
    }
    return false;
}

/* Some servers write null where they mean that a member is absent. */
static void put_member(struct owl_draft *d, const struct owl_span *s)
{
    static const char *const types[] = {
        [TEXT] = "a string", [NUMBER] = "a number", [OBJECT] = "an object", [ARRAY] = "an array"};
    const struct known *k = known_member(d->item.kind, s);
    if (k && owl_str_is(s->value, "null"))
        return;
    if (k && !has_type(s->value, k->type)) {
        owl_draft__reject(d, k->name, "must be %s", types[k->type]);
    } else if (k && k->put) {
        k->put(d, k->name, s->value);
    } else {
        owl_buf_putz(&d->entry, ",\""); /* the key came first */
        owl_buf_puts(&d->entry, s->key);
        owl_buf_putz(&d->entry, "\":");
        owl_json_compact(&d->entry, s->value);
    }
}

static void put_members(struct owl_draft *d, owl_str json)
{
    owl_str key = owl_str_of(kinds[d->item.kind].key);
    struct owl_span_iter it = owl_span_iter(json);
    for (struct owl_span s; !d->rc && owl_span_next(&it, &s);) {
        if (!owl_span_key_is(&s, key))
            put_member(d, &s);
    }
    if (d->item.kind == OWL_KIND_TOOL && !d->item.input)
        owl_draft__reject(d, "inputSchema", "is missing");
    bool named = d->item.kind == OWL_KIND_RESOURCE || d->item.kind == OWL_KIND_TEMPLATE;
    if (!d->rc && named && !owl_span_is_string(owl_span_get(json, "name")))
        owl_draft__reject(d, "name", "is missing");
}

/* ---- items ----------------------------------------------------------------------------------- */

static unsigned flags_of(enum owl_kind kind, unsigned flags)
{
    return kind == OWL_KIND_TOOL ? flags | OWL_FOREIGN : flags;
}

int owl_item_raw(enum owl_kind kind, owl_str entry, const struct owl_item_options *o,
                 struct owl_item **ret, owl_error *reterr)
{
    struct owl_draft d;
    owl_draft__begin(&d, kind, reterr);
    if (entry.n > OWL_DRAFT__ENTRY_BYTES)
        owl_draft__reject(&d, "entry", "is longer than %d bytes", OWL_DRAFT__ENTRY_BYTES);
    owl_str json = owl_draft__prove(&d, "entry", entry, '{');
    put_key(&d, json, o);
    set_fallback(&d, o->fallback);
    set_names(&d, o);
    if (!d.rc)
        put_members(&d, json);
    d.item.flags = flags_of(kind, o->flags);
    owl_draft__put_flags(&d, kinds[kind].flags);
    d.item.raw = owl_draft__keep(&d, entry);
    d.item.provider = o->provider;
    d.item.data = o->data;
    d.item.timeout_ms = o->timeout_ms;
    return owl_draft__end(&d, ret);
}

static bool same_aliases(const struct owl_item *it, const struct owl_item_options *o)
{
    if (it->n_aliases != o->n_aliases)
        return false;
    for (size_t i = 0; i < it->n_aliases; i++) {
        if (!owl_str_eq(it->aliases[i], o->aliases[i]))
            return false;
    }
    return true;
}

/* As the flags of an item stand: see owl_draft__put_flags(). */
static unsigned settled_flags(enum owl_kind kind, unsigned flags)
{
    return flags_of(kind, flags) | (flags & (OWL_TASK_ONLY | OWL_TASK_LATER) ? OWL_TASK : 0);
}

bool owl_item_same(const struct owl_item *it, owl_str entry, const struct owl_item_options *o)
{
    return it->raw.p && owl_str_eq(it->raw, entry) &&
           owl_str_eq(it->key, o->key.p ? o->key : it->origin) &&
           owl_str_eq(it->fallback, o->fallback) &&
           owl_str_eq(it->registry_name, o->registry_name) && same_aliases(it, o) &&
           it->provider == o->provider && it->data == o->data && it->timeout_ms == o->timeout_ms &&
           it->flags == settled_flags(it->kind, o->flags);
}
