/* config/shape.c - whatever shape a file has, it becomes part of one tree.
 * Threads: that of the loading.
 *
 *     mcp_server                the tree itself
 *     mcpServers, servers       entries of other programs' files, by name
 *     mcp, mcp_servers          otter's: servers are a list, each with its name
 *     inputs                    what ${input:id} stands for
 *     capabilities, skills      of owlclaw.yaml
 *
 * Values are moved, with their marks; how foreign entries spell our keys stands in the schema
 * (x-key, x-not, x-values). What a file has for others is ignored, and told so: also owlclaw.yaml
 * belongs to a platform that has keys of its own. */
#include "config/internal.h"

#include "base/nearest.h"

/* One file. */
struct shape {
    struct owl_load *l;
    struct owl_config *c;
    struct owl_value *root;
    struct owl_value *ours;    /* what goes into the tree */
    struct owl_value *servers; /* within it */
    struct owl_map names;      /* of those servers */
    uint32_t foreign;          /* the key of an entry of other programs */
    bool own;                  /* the file is ours, or of the platform that we belong to */
    bool strict;               /* it is for nobody but us */
    bool found;                /* it holds something for us */
};

static const char *kind_name(const struct owl_value *v)
{
    static const char *const names[] = {"empty",  "false",  "true", "a number",
                                        "a text", "a list", "a map"};
    return names[v->kind];
}

static struct owl_fault *must_be(struct shape *s, const struct owl_value *v, const char *what)
{
    struct owl_fault *f = owl_fault_add(&s->c->faults, v->at, "`%.*s` must be %s, but is %s",
                                        (int)v->key.n, v->key.p, what, kind_name(v));
    uint32_t key = owl_keys__top(&s->c->keys, v->key);
    f->width = owl_source__width(s->c, v);
    if (key)
        owl_advice__type(s->c, v, key, f);
    return f;
}

/* ---- servers ---------------------------------------------------------------------------- */

/* The map of our servers, with the names that it has already; it stands where theirs does. */
static int open_servers(struct shape *s, const struct owl_value *theirs)
{
    s->found = true;
    if (s->servers)
        return 0;
    s->servers = owl_merge__map(s->c, s->ours, OWL_STR("servers"), theirs->key_at);
    if (!s->servers)
        return -OWL_ENOMEM;
    for (struct owl_value *v = s->servers->first; v; v = v->next) {
        int rc = v->key.p ? owl_map_put(&s->names, v->key, v, NULL) : 0;
        if (rc)
            return rc;
    }
    return 0;
}

static int add_server(struct shape *s, struct owl_value *entry)
{
    if (s->servers->kind != OWL_NODE_OBJECT)
        return 0; /* which is told when it is judged */
    const struct owl_value *first = owl_map_get(&s->names, entry->key);
    if (first) {
        struct owl_fault *f = owl_fault_add(
            &s->c->faults, entry->key_at,
            "two servers of this file are named `%.*s`: the first is at line %u, column %u",
            (int)entry->key.n, entry->key.p, first->key_at.line, first->key_at.column);
        f->width = owl_source__key_width(s->c, entry);
        owl_fault_hint(&s->c->faults, f, "give one of them another name");
        return 0;
    }
    owl_value_add(s->servers, entry);
    return owl_map_put(&s->names, entry->key, entry, NULL);
}

/* A number without unit is of seconds, or of milliseconds if it would be a quarter of an hour. What a
 * variable stands for is looked at when it is known. */
static int foreign_timeout(struct shape *s, struct owl_value *v)
{
    bool variable = v->kind == OWL_NODE_STRING && memmem(v->text.p, v->text.n, "${", 2);
    v->note = OWL_NOTE__FOREIGN_TIME;
    if (variable && s->l->o->as_written) {
        struct owl_fault *f = owl_warning_add(&s->c->faults, v->at,
                                              "this `timeout` counts seconds from now on");
        f->width = owl_source__width(s->c, v);
        owl_fault_hint(&s->c->faults, f, "if it was of milliseconds, write `ms` behind it");
    }
    return owl_coerce__foreign_time(s->c, v);
}

/* The opposite of a yes or no. */
static int invert(struct shape *s, struct owl_value *v, bool *ret_keep)
{
    *ret_keep = v->kind == OWL_NODE_TRUE || v->kind == OWL_NODE_FALSE;
    if (!*ret_keep)
        return owl_config__break(s->c, v->parent->key, must_be(s, v, "true or false"));
    v->kind = v->kind == OWL_NODE_TRUE ? OWL_NODE_FALSE : OWL_NODE_TRUE;
    return 0;
}

/* The nearest member of @p key, for a name that is none of them. */
static void suggest(struct shape *s, uint32_t key, const struct owl_value *v, struct owl_fault *f)
{
    owl_str meant = owl_keys__nearest(&s->c->keys, key, v->key);
    f->width = owl_source__key_width(s->c, v);
    if (meant.p)
        owl_fault_hint(&s->c->faults, f, "did you mean `%.*s`?", (int)meant.n, meant.p);
}

/* A member that other programs may understand; or the one without which there is no server. */
static int unknown_member(struct shape *s, struct owl_value *v, bool *vital, bool *ret_keep)
{
    owl_str meant = owl_keys__nearest(&s->c->keys, s->foreign, v->key);
    bool needed = *vital && (owl_str_is(meant, "command") || owl_str_is(meant, "url"));
    struct owl_fault *f = needed
                              ? owl_fault_add(&s->c->faults, v->key_at,
                                              "`%.*s` is no key of `servers.%.*s`", (int)v->key.n,
                                              v->key.p, (int)v->parent->key.n, v->parent->key.p)
                              : owl_warning_add(&s->c->faults, v->key_at,
                                                "`%.*s` is not understood, and has no effect",
                                                (int)v->key.n, v->key.p);
    suggest(s, s->foreign, v, f);
    *ret_keep = needed;
    if (!needed)
        return 0;
    *vital = false;
    v->key = meant; /* so that nobody misses it */
    return owl_config__break(s->c, v->parent->key, f);
}

/* One member of a foreign entry in our words; false: it has no meaning here. */
static int translate(struct shape *s, uint32_t key, struct owl_value *v, bool *ret_keep)
{
    const struct owl_keys *k = &s->c->keys;
    *ret_keep = true;
    const struct owl_key *known = owl_keys__of(k, key);
    int rc = known->inverted ? invert(s, v, ret_keep) : 0;
    bool words = known->words && v->kind == OWL_NODE_STRING;
    uint32_t word = words ? owl_tree_get(&k->tree, known->words, v->text) : 0;
    if (word)
        v->text = owl_tree_text(&k->tree, word);
    if (rc == 0 && owl_str_is(v->key, "timeout"))
        rc = foreign_timeout(s, v);
    if (known->ours.p)
        v->key = known->ours;
    return rc;
}

/* Whether an entry says, by any of their names, what to start or where to connect. */
static bool is_reachable(const struct shape *s, const struct owl_value *entry)
{
    const struct owl_keys *k = &s->c->keys;
    for (const struct owl_value *v = entry->first; v; v = v->next) {
        owl_str ours = owl_keys__of(k, owl_keys__member(k, s->foreign, v->key))->ours;
        owl_str name = ours.p ? ours : v->key;
        if (owl_str_is(name, "command") || owl_str_is(name, "url"))
            return true;
    }
    return false;
}

/* Whether two members say the same: scalars, or lists of them. */
static bool same(const struct owl_value *a, const struct owl_value *b)
{
    const struct owl_value *x = a->first, *y = b->first;
    bool equal = a->kind == b->kind && owl_str_eq(a->text, b->text) && a->count == b->count;
    for (; equal && x && y; x = x->next, y = y->next)
        equal = x->kind == y->kind && x->kind < OWL_NODE_ARRAY && owl_str_eq(x->text, y->text);
    return equal;
}

/* Of two spellings of one key the first one counts, unless it is empty. */
static void add_member(struct shape *s, struct owl_value *entry, struct owl_value *v,
                       owl_str theirs)
{
    struct owl_value *old = owl_value_get(entry, v->key);
    if (!old) {
        owl_value_add(entry, v);
    } else if (old->kind == OWL_NODE_NULL) {
        owl_merge__become(old, v);
    } else if (v->kind != OWL_NODE_NULL && !same(old, v)) {
        struct owl_fault *f = owl_warning_add(
            &s->c->faults, v->key_at, "`%.*s` has no effect: `%.*s` is told otherwise at %u:%u",
            (int)theirs.n, theirs.p, (int)v->key.n, v->key.p, old->key_at.line, old->key_at.column);
        f->width = owl_source__key_width(s->c, v);
        owl_fault_hint(&s->c->faults, f, "keep one of the two");
    }
}

static int foreign_server(struct shape *s, struct owl_value *entry)
{
    if (entry->kind == OWL_NODE_OBJECT) {
        bool vital = !is_reachable(s, entry);
        struct owl_value *next = owl_value_take(entry);
        for (struct owl_value *v; (v = next);) {
            next = v->next;
            uint32_t key = owl_keys__member(&s->c->keys, s->foreign, v->key);
            owl_str theirs = v->key;
            bool keep = false;
            int rc = key ? translate(s, key, v, &keep) : unknown_member(s, v, &vital, &keep);
            if (rc)
                return rc;
            if (keep)
                add_member(s, entry, v, theirs);
        }
    }
    return add_server(s, entry);
}

/* Entries by name. */
static int foreign_servers(struct shape *s, struct owl_value *map)
{
    int rc = open_servers(s, map);
    if (rc)
        return rc;
    if (map->kind != OWL_NODE_OBJECT) {
        struct owl_fault *f = must_be(s, map, "a map of servers by their names");
        owl_fault_hint(&s->c->faults, f, "put the name of each server before it, as a key");
        return 0;
    }
    for (struct owl_value *v = map->first, *next; v; v = next) {
        next = v->next;
        rc = foreign_server(s, v);
        if (rc)
            return rc;
    }
    return 0;
}

/* An entry of a list becomes one of the map; without a name it cannot. */
static int listed_server(struct shape *s, struct owl_value *entry)
{
    struct owl_value *name = owl_value_get(entry, OWL_STR("name"));
    if (!name && s->c->sources[entry->at.source].damaged)
        return 0; /* it may have one that could not be read */
    if (!name || name->kind != OWL_NODE_STRING) {
        struct owl_fault *f = owl_fault_add(&s->c->faults, name ? name->at : entry->at,
                                            name ? "the `name` of a server must be a text"
                                                 : "this server has no name");
        owl_fault_hint(&s->c->faults, f, name ? "write it within quotes" : "add `name = \"...\"`");
        return 0;
    }
    struct owl_value *next = owl_value_take(entry);
    for (struct owl_value *v; (v = next);) {
        next = v->next;
        if (v != name)
            owl_value_add(entry, v);
    }
    entry->key = name->text;
    entry->key_at = name->at;
    return foreign_server(s, entry);
}

/* A map of servers by name, or one server that should have been in a list. */
static bool is_one_server(const struct owl_value *map)
{
    static const char *const members[] = {"name", "command", "url"};
    for (size_t i = 0; i < OWL_COUNT(members); i++) {
        const struct owl_value *v = owl_value_get(map, owl_str_of(members[i]));
        if (v && v->kind == OWL_NODE_STRING)
            return true;
    }
    return false;
}

static int listed_servers(struct shape *s, struct owl_value *list)
{
    int rc = open_servers(s, list);
    if (rc)
        return rc;
    if (list->kind == OWL_NODE_OBJECT && !is_one_server(list))
        return foreign_servers(s, list);
    if (list->kind != OWL_NODE_ARRAY) {
        struct owl_fault *f = must_be(s, list, "a list of servers");
        owl_fault_hint(&s->c->faults, f, "a list begins with two brackets: `[[mcp.servers]]`");
        return 0;
    }
    for (struct owl_value *v = list->first, *next; v; v = next) {
        next = v->next;
        rc = listed_server(s, v);
        if (rc)
            return rc;
    }
    return 0;
}

/* ---- members of a file ------------------------------------------------------------------ */

/* Variables that stay as they are need what they stand for. */
static int keep_inputs(struct owl_config *c, struct owl_value *v)
{
    if (!c->inputs)
        c->inputs = owl_value_new(c->arena, OWL_NODE_ARRAY, v->at);
    if (!c->inputs)
        return -OWL_ENOMEM;
    c->inputs->key = OWL_STR("inputs");
    for (struct owl_value *e = v->kind == OWL_NODE_ARRAY ? v->first : NULL, *next; e; e = next) {
        next = e->next;
        owl_value_add(c->inputs, e);
    }
    return 0;
}

static int take_inputs(struct shape *s, struct owl_value *v)
{
    if (s->l->o->as_written)
        return keep_inputs(s->c, v);
    return owl_variables__inputs(&s->l->variables, v);
}

/* [mcp]: our own keys, and servers as a list or as a map. */
static int take_mcp(struct shape *s, struct owl_value *v)
{
    s->found = true;
    if (v->kind != OWL_NODE_OBJECT) {
        must_be(s, v, "a map");
        return 0;
    }
    uint32_t otter = owl_keys__top(&s->c->keys, OWL_STR("mcp"));
    struct owl_value *over = owl_value_new(s->c->arena, OWL_NODE_OBJECT, v->at);
    if (!over)
        return -OWL_ENOMEM;
    for (struct owl_value *m = v->first, *next; m; m = next) {
        next = m->next;
        int rc = 0;
        if (owl_str_is(m->key, "servers")) {
            rc = listed_servers(s, m);
        } else if (owl_str_is(m->key, "inputs")) {
            rc = take_inputs(s, m);
        } else if (owl_keys__member(&s->c->keys, otter, m->key)) {
            owl_value_add(over, m);
        } else {
            struct owl_fault *f = owl_fault_add(
                &s->c->faults, m->key_at, "`%.*s` is no key of `mcp`", (int)m->key.n, m->key.p);
            suggest(s, otter, m, f);
        }
        if (rc)
            return rc;
    }
    return owl_merge__over(s->c, s->ours, over);
}

/* A text or a list of texts is one key of the map that is meant; a map is that map. */
static int take_folders(struct shape *s, struct owl_value *v, const char *const path[3])
{
    struct owl_value *into = s->ours;
    s->found = true;
    bool map = v->kind == OWL_NODE_OBJECT;
    for (unsigned i = 0; path[i] && !(map && i == 1); i++) {
        bool last = map || !path[i + 1];
        if (last)
            v->key = owl_str_of(path[i]);
        else if (!(into = owl_merge__map(s->c, into, owl_str_of(path[i]), v->key_at)))
            return -OWL_ENOMEM;
        if (into->kind != OWL_NODE_OBJECT)
            return 0; /* which is told when it is judged */
    }
    if (v->kind == OWL_NODE_STRING) {
        struct owl_value *list = owl_value_new(s->c->arena, OWL_NODE_ARRAY, v->at);
        if (!list)
            return -OWL_ENOMEM;
        list->key = v->key;
        list->key_at = v->key_at;
        owl_value_add(list, v);
        v = list;
    }
    struct owl_value *over = owl_value_new(s->c->arena, OWL_NODE_OBJECT, v->at);
    if (!over)
        return -OWL_ENOMEM;
    owl_value_add(over, v);
    return owl_merge__over(s->c, into, over);
}

static int take_capabilities(struct shape *s, struct owl_value *v)
{
    static const char *const path[] = {"handlers", "python", "modules", NULL};
    return take_folders(s, v, path);
}

static int take_skills(struct shape *s, struct owl_value *v)
{
    static const char *const path[] = {"skills", "dirs", NULL};
    return take_folders(s, v, path);
}

static int take_nothing(struct shape *s, struct owl_value *v)
{
    (void)s;
    (void)v;
    return 0;
}

static const struct {
    const char *name;
    int (*take)(struct shape *s, struct owl_value *v);
    bool map; /* another thing is not for us, in other programs' files */
    bool own; /* in our own files only */
} members[] = {
    {"$schema", take_nothing, false, false},
    {"include", take_nothing, false, true},
    {"mcp_server", take_nothing, false, false},
    {"mcpServers", foreign_servers, false, false},
    {"servers", foreign_servers, true, false},
    {"inputs", take_inputs, false, false},
    {"mcp", take_mcp, true, false},
    {"mcp_servers", listed_servers, false, false},
    {"capabilities", take_capabilities, false, true},
    {"skills", take_skills, false, true},
};

static struct owl_nearest nearest(owl_str key)
{
    struct owl_nearest near = {.written = key};
    bool snake = key.p && memchr(key.p, '_', key.n);
    /* Of two that are as near, the one that is spelled alike: mcpServer is nearer to mcpServers. */
    for (int other = 0; other < 2; other++)
        for (size_t i = 0; i < OWL_COUNT(members); i++)
            if ((strchr(members[i].name, '_') != NULL) == (snake != (other == 1)))
                owl_nearest_try(&near, owl_str_of(members[i].name));
    return near;
}

static bool is_member(owl_str key)
{
    for (size_t i = 0; i < OWL_COUNT(members); i++)
        if (owl_str_is(key, members[i].name))
            return true;
    return false;
}

/* A slip of the finger or two. */
static bool is_typo(owl_str key)
{
    struct owl_nearest near = nearest(key);
    return near.best.p && near.distance < 3 && !owl_str_eq(near.best, key);
}

static void unknown_key(struct shape *s, const struct owl_value *v)
{
    struct owl_nearest near = nearest(v->key);
    bool ours = owl_keys__member(&s->c->keys, s->c->root, v->key) != 0;
    struct owl_fault *f = owl_fault_add(&s->c->faults, v->key_at,
                                        "`%.*s` is no key of a configuration file", (int)v->key.n,
                                        v->key.p);
    f->width = owl_source__key_width(s->c, v);
    if (ours)
        owl_fault_hint(&s->c->faults, f, "`%.*s` belongs into `mcp_server`", (int)v->key.n,
                       v->key.p);
    else if (near.best.p)
        owl_fault_hint(&s->c->faults, f, "did you mean `%.*s`?", (int)near.best.n, near.best.p);
    else
        owl_fault_hint(&s->c->faults, f, "expected is `mcp_server`, and all else within it");
    owl_advice__invisible(s->c, v->key, f);
}

static int take_member(struct shape *s, struct owl_value *v)
{
    for (size_t i = 0; i < OWL_COUNT(members); i++) {
        if (!owl_str_is(v->key, members[i].name))
            continue;
        bool foreign = !s->own &&
                       (members[i].own || (members[i].map && v->kind != OWL_NODE_OBJECT));
        if (foreign)
            return owl_config__ignore(s->c, v);
        if (v->kind == OWL_NODE_NULL && members[i].take != take_nothing) {
            s->found = true;
            owl_merge__tell_empty(s->c, v);
            return 0;
        }
        return members[i].take(s, v);
    }
    if (!s->strict && !(s->own && is_typo(v->key)))
        return owl_config__ignore(s->c, v);
    unknown_key(s, v);
    return 0;
}

/* ---- the file --------------------------------------------------------------------------- */

/* Whether the last part of a path begins so. */
static bool is_named(owl_str path, const char *beginning)
{
    const char *slash = memrchr(path.p, '/', path.n);
    size_t skip = slash ? (size_t)(slash - path.p) + 1 : 0, n = strlen(beginning);
    return path.n - skip > n && memcmp(path.p + skip, beginning, n) == 0;
}

/* A file that does nothing but include others; the word alone is in files of other programs too. */
static bool only_includes(const struct owl_value *root)
{
    size_t others = 0;
    for (const struct owl_value *v = root->first; v; v = v->next)
        others += !owl_str_is(v->key, "include") && !owl_str_is(v->key, "$schema");
    return others == 0 && owl_value_get(root, OWL_STR("include"));
}

bool owl_shape__ours(const struct owl_config *c, uint32_t source, const struct owl_value *root)
{
    owl_str name = c->sources[source].name;
    return is_named(name, "mcp-server.") || is_named(name, "owlclaw.") ||
           owl_value_get(root, OWL_STR("mcp_server")) || only_includes(root);
}

/* The tree of the file, if it has one, otherwise an empty one. */
static int find_ours(struct shape *s)
{
    struct owl_value *v = owl_value_get(s->root, OWL_STR("mcp_server"));
    s->found = v || (s->own && owl_value_get(s->root, OWL_STR("include")));
    if (v && v->kind == OWL_NODE_OBJECT) {
        s->ours = v;
        return 0;
    }
    if (v && v->kind == OWL_NODE_NULL)
        owl_merge__tell_empty(s->c, v);
    else if (v)
        must_be(s, v, "a map");
    s->ours = owl_value_new(s->c->arena, OWL_NODE_OBJECT, s->root->at);
    return s->ours ? 0 : -OWL_ENOMEM;
}

/* A file that is `mcp_server` itself: most of its keys are keys of that one, which is told of each. */
static bool is_the_tree(struct shape *s)
{
    uint32_t n = 0;
    for (int telling = 0; telling < 2; telling++) {
        for (const struct owl_value *v = s->root->first; v; v = v->next) {
            bool ours = owl_keys__member(&s->c->keys, s->c->root, v->key) && !is_member(v->key);
            n += ours && !telling;
            if (ours && telling)
                unknown_key(s, v);
        }
        if (2 * n <= s->root->count)
            return false;
    }
    return true;
}

static void nothing_for_us(struct shape *s, uint32_t source)
{
    if (s->root->kind == OWL_NODE_NULL) {
        owl_warning_add(&s->c->faults, owl_config__no_place(source), "the file is empty");
        return;
    }
    for (const struct owl_value *v = s->root->first; v; v = v->next) {
        if (is_typo(v->key)) {
            unknown_key(s, v);
            return;
        }
    }
    if (is_the_tree(s))
        return;
    struct owl_fault *f = owl_fault_add(&s->c->faults, owl_config__no_place(source),
                                        "the file holds nothing for OwlClaw");
    owl_fault_hint(&s->c->faults, f,
                   "expected is `mcp_server`, or `mcpServers`, `servers` or `mcp` as other "
                   "programs have them");
}

int owl_shape__take(struct owl_load *l, uint32_t source, struct owl_value *root)
{
    struct owl_config *c = l->c;
    struct shape s = {.l = l, .c = c, .root = root, .own = owl_shape__ours(c, source, root)};
    s.foreign = owl_keys__of(&c->keys, owl_keys__top(&c->keys, OWL_STR("mcpServers")))->entry;
    s.strict = s.own && !is_named(c->sources[source].name, "owlclaw.");
    size_t errors = c->faults.errors;
    if (root->kind != OWL_NODE_OBJECT && root->kind != OWL_NODE_NULL) {
        owl_fault_add(&c->faults, root->at, "the file must be a map of keys, but is %s",
                      kind_name(root));
        return 0;
    }
    owl_map_init(&s.names);
    int rc = find_ours(&s);
    for (struct owl_value *v = root->first, *next; v && rc == 0; v = next) {
        next = v->next;
        rc = take_member(&s, v);
    }
    owl_map_done(&s.names);
    bool unknown = c->sources[source].damaged; /* what else there may be in it */
    if (rc == 0 && !s.found && !l->in_passing && !unknown && c->faults.errors == errors)
        nothing_for_us(&s, source);
    return rc ? rc : owl_merge__over(c, c->tree, s.ours);
}
