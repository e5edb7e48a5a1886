/* formats/toml_table.c - TOML's tables: who may define them, and who may add to them.
 * Threads: one at a time.
 *
 * Invariants: a table that is CLOSED gets members from its own braces only. A table with more than
 * INDEX_FROM members has all of them in its index; keys are found in constant time then. */
#include "formats/toml.h"

enum { INDEX_FROM = 16 };

/* Takes the place of one value. -OWL_EPARSE: there are too many. */
static int count(struct owl_toml *t, struct owl_mark at)
{
    if (t->values < t->max_values) {
        t->values++;
        return 0;
    }
    struct owl_fault *f = owl_fault_add(t->in->faults, at,
                                        "found more than %u values, expected no more in one file",
                                        t->max_values);
    owl_fault_hint(t->in->faults, f, "divide the file");
    return -OWL_EPARSE;
}

int owl_toml__value(struct owl_toml *t, enum owl_node_kind kind, struct owl_mark at,
                    struct owl_value **ret)
{
    int rc = count(t, at);
    if (rc)
        return rc;
    struct owl_value *v = owl_value_new(t->in->arena, kind, at);
    if (!v)
        return -OWL_ENOMEM;
    *ret = v;
    return 0;
}

int owl_toml__table(struct owl_toml *t, enum owl_node_kind kind, enum owl_toml_how how,
                    const struct owl_toml_table *parent, struct owl_mark at,
                    struct owl_toml_table **ret)
{
    uint32_t depth = parent ? parent->depth + 1 : 1;
    /* An array by [[x]] is never empty: there must be room for its entries, too. */
    if (depth + (how == OWL_TOML_ENTRIES) > t->max_depth) {
        owl_fault_add(t->in->faults, at, "nested too deeply: expected at most %u levels",
                      t->max_depth);
        return OWL_TOML_STOP;
    }
    int rc = count(t, at);
    if (rc)
        return rc;
    struct owl_toml_table *table = owl_arena_zalloc(t->in->arena, sizeof *table);
    if (!table)
        return -OWL_ENOMEM;
    table->value.kind = (uint8_t)kind;
    table->value.at = table->value.key_at = at;
    table->how = how;
    table->depth = depth;
    *ret = table;
    return 0;
}

void owl_toml__tables_done(struct owl_toml *t)
{
    for (struct owl_toml_table *table = t->indexed; table; table = table->indexed)
        owl_map_done(&table->index);
}

static struct owl_value *find(const struct owl_toml_table *table, owl_str key)
{
    return table->index.n ? owl_map_get(&table->index, key) : owl_value_get(&table->value, key);
}

/* Brings the index up to date with the newest member. */
static int index_member(struct owl_toml *t, struct owl_toml_table *table, struct owl_value *v)
{
    if (table->value.count <= INDEX_FROM)
        return 0;
    if (table->index.n)
        return owl_map_put(&table->index, v->key, v, NULL);
    table->indexed = t->indexed;
    t->indexed = table;
    for (v = table->value.first; v; v = v->next)
        if (owl_map_put(&table->index, v->key, v, NULL))
            return -OWL_ENOMEM;
    return 0;
}

int owl_toml__put(struct owl_toml *t, const struct owl_toml_slot *slot, struct owl_value *v)
{
    struct owl_toml_table *into = slot->into;
    if (into == &t->dropped)
        return 0;
    owl_value_add(&into->value, v);
    if (into->value.kind == OWL_NODE_ARRAY)
        return 0;
    char *key = owl_arena_dup(t->in->arena, slot->key);
    if (!key)
        return -OWL_ENOMEM;
    v->key = (owl_str){key, slot->key.n};
    v->key_at = slot->at;
    return index_member(t, into, v);
}

/* Tables and arrays are read as such, so what is either is one of ours. */
static struct owl_toml_table *table_of(struct owl_value *v)
{
    bool is = v->kind == OWL_NODE_OBJECT || v->kind == OWL_NODE_ARRAY;
    return is ? OWL_CONTAINER(v, struct owl_toml_table, value) : NULL;
}

/* ---- faults ----------------------------------------------------------------------------- */

/* What there is already, e.g. "a table". */
static const char *described(struct owl_value *v)
{
    const struct owl_toml_table *table = table_of(v);
    if (!table) {
        static const char *const names[] = {"null", "a boolean", "a boolean", "a number",
                                            "a string"};
        return names[v->kind];
    }
    if (v->kind == OWL_NODE_OBJECT)
        return table->how == OWL_TOML_CLOSED ? "an inline table" : "a table";
    return table->how == OWL_TOML_CLOSED ? "an array" : "an array of tables";
}

static struct owl_fault *refuse_key(struct owl_toml *t, struct owl_value *v, uint32_t i)
{
    owl_str key = t->path[i].key;
    bool last = i + 1 == t->n_path;
    struct owl_fault *f = owl_fault_add(
        t->in->faults, t->path[i].at,
        last ? "the key \"%.*s\" is there already: line %u, column %u makes it %s"
             : "the key \"%.*s\" cannot have keys of its own here: line %u, column %u makes it %s",
        owl_toml__clip(key), key.p, v->key_at.line, v->key_at.column, described(v));
    f->width = owl_toml__width(key);
    return f;
}

static void hint_key(struct owl_toml *t, struct owl_value *v, uint32_t i, struct owl_fault *f)
{
    const struct owl_toml_table *table = table_of(v);
    bool last = i + 1 == t->n_path;
    if (last)
        owl_fault_hint(t->in->faults, f, "keep one of the two, or rename one");
    else if (table && v->kind == OWL_NODE_OBJECT && table->how == OWL_TOML_CLOSED)
        owl_fault_hint(t->in->faults, f, "put the key between the braces of line %u", v->at.line);
    else if (table && v->kind == OWL_NODE_OBJECT)
        owl_fault_hint(t->in->faults, f, "put the key below the header of line %u", v->at.line);
}

/* Says why the header in t->path cannot be; @p v is what part @p i names already. */
static struct owl_fault *refuse_header(struct owl_toml *t, struct owl_value *v, uint32_t i,
                                       bool entry)
{
    owl_str all = t->path_text, key = t->path[i].key;
    bool last = i + 1 == t->n_path;
    struct owl_fault *f;
    if (last && !entry && v->kind == OWL_NODE_OBJECT)
        f = owl_fault_add(t->in->faults, t->path_at,
                          "the table [%.*s] is there already: line %u, column %u defines it",
                          owl_toml__clip(all), all.p, v->at.line, v->at.column);
    else
        f = owl_fault_add(t->in->faults, t->path_at,
                          "found the header %s%.*s%s, but line %u, column %u makes \"%.*s\" %s",
                          entry ? "[[" : "[", owl_toml__clip(all), all.p, entry ? "]]" : "]",
                          v->at.line, v->at.column, owl_toml__clip(key), key.p, described(v));
    f->width = owl_toml__width(all);
    return f;
}

static void hint_header(struct owl_toml *t, struct owl_value *v, uint32_t i, bool entry,
                        struct owl_fault *f)
{
    const struct owl_toml_table *table = table_of(v);
    owl_str all = t->path_text;
    bool last = i + 1 == t->n_path;
    if (!table || !last)
        return;
    if (!entry && table->how == OWL_TOML_ENTRIES)
        owl_fault_hint(t->in->faults, f, "write [[%.*s]] to add an entry", owl_toml__clip(all),
                       all.p);
    else if (entry && table->how == OWL_TOML_HEADER)
        owl_fault_hint(t->in->faults, f,
                       "write [[%.*s]] in line %u too, if there are to be several",
                       owl_toml__clip(all), all.p, v->at.line);
    else if (!entry && table->how != OWL_TOML_CLOSED)
        owl_fault_hint(t->in->faults, f, "put all its keys in one place");
}

/* ---- keys ------------------------------------------------------------------------------- */

/* Makes a table of part @p i of the path. */
static int make(struct owl_toml *t, struct owl_toml_table *parent, uint32_t i,
                enum owl_toml_how how, struct owl_toml_table **ret)
{
    const struct owl_toml_part *part = &t->path[i];
    struct owl_toml_table *table;
    enum owl_node_kind kind = how == OWL_TOML_ENTRIES ? OWL_NODE_ARRAY : OWL_NODE_OBJECT;
    int rc = owl_toml__table(t, kind, how, parent, part->at, &table);
    if (rc)
        return rc;
    *ret = table;
    return owl_toml__put(t, &(struct owl_toml_slot){parent, part->key, part->at}, &table->value);
}

int owl_toml__place(struct owl_toml *t, struct owl_toml_table *table, struct owl_toml_slot *ret)
{
    uint32_t last = t->n_path - 1;
    *ret = (struct owl_toml_slot){&t->dropped, t->path[last].key, t->path[last].at};
    for (uint32_t i = 0; i <= last; i++) {
        struct owl_value *v = find(table, t->path[i].key);
        if (!v && i == last)
            break;
        if (!v) {
            int rc = make(t, table, i, OWL_TOML_DOTTED, &table);
            if (rc)
                return rc;
            continue;
        }
        struct owl_toml_table *next = table_of(v);
        if (i == last || !next || (next->how != OWL_TOML_DOTTED && next->how != OWL_TOML_IMPLIED)) {
            hint_key(t, v, i, refuse_key(t, v, i));
            return 0;
        }
        next->how = OWL_TOML_DOTTED;
        table = next;
    }
    ret->into = table;
    return 0;
}

/* ---- headers ---------------------------------------------------------------------------- */

int owl_toml__section_dropped(struct owl_toml *t)
{
    if (!t->lost || t->lost->value.first) { /* an empty one serves again: headers are not counted */
        t->lost = owl_arena_zalloc(t->scratch, sizeof *t->lost);
        if (!t->lost)
            return -OWL_ENOMEM;
        t->lost->value.kind = OWL_NODE_OBJECT;
        t->lost->how = OWL_TOML_HEADER;
        t->lost->depth = 1;
    }
    t->current = t->lost;
    return 0;
}

static int refuse(struct owl_toml *t, struct owl_value *v, uint32_t i, bool entry)
{
    hint_header(t, v, i, entry, refuse_header(t, v, i, entry));
    return owl_toml__section_dropped(t);
}

static int add_entry(struct owl_toml *t, struct owl_toml_table *list, struct owl_mark at)
{
    int rc = owl_toml__table(t, OWL_NODE_OBJECT, OWL_TOML_HEADER, list, at, &t->current);
    if (rc == 0)
        owl_value_add(&list->value, &t->current->value);
    return rc;
}

/* The last part of a header names @p v, which is NULL if it is new. */
static int define(struct owl_toml *t, struct owl_toml_table *parent, struct owl_value *v,
                  bool entry, struct owl_mark at)
{
    uint32_t last = t->n_path - 1;
    struct owl_toml_table *table = v ? table_of(v) : NULL;
    if (v && table && table->how == OWL_TOML_ENTRIES) {
        if (!entry) /* it is read as the entry that was surely meant */
            hint_header(t, v, last, entry, refuse_header(t, v, last, entry));
        return add_entry(t, table, at);
    }
    if (v && (entry || !table || table->how != OWL_TOML_IMPLIED))
        return refuse(t, v, last, entry);
    if (!table) {
        int rc = make(t, parent, last, entry ? OWL_TOML_ENTRIES : OWL_TOML_HEADER, &table);
        if (rc)
            return rc;
    }
    table->value.at = at;
    table->value.key_at = t->path[last].at;
    if (entry)
        return add_entry(t, table, at);
    table->how = OWL_TOML_HEADER;
    t->current = table;
    return 0;
}

int owl_toml__section(struct owl_toml *t, bool entry, struct owl_mark at)
{
    struct owl_toml_table *table = t->root;
    for (uint32_t i = 0; i + 1 < t->n_path; i++) {
        struct owl_value *v = find(table, t->path[i].key);
        if (!v) {
            int rc = make(t, table, i, OWL_TOML_IMPLIED, &table);
            if (rc)
                return rc;
            continue;
        }
        struct owl_toml_table *next = table_of(v);
        if (!next || next->how == OWL_TOML_CLOSED)
            return refuse(t, v, i, entry);
        table = next->how == OWL_TOML_ENTRIES ? table_of(v->last) : next;
    }
    return define(t, table, find(table, t->path[t->n_path - 1].key), entry, at);
}
