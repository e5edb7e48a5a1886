/* jsonrpc/find_id.c - the id of a message that is not read.
 *
 * Pure, any thread. A machine that takes a byte at a time; what it needs to know of the past is in
 * struct owl_id_finder. */
#include "jsonrpc/find_id.h"

void owl_id_finder_init(struct owl_id_finder *f)
{
    *f = (struct owl_id_finder){.depth = 0};
}

static void take(struct owl_id_finder *f, char c)
{
    if (f->id_n < sizeof f->id)
        f->id[f->id_n] = c;
    if (f->id_n <= sizeof f->id)
        f->id_n++;
}

static bool key_is(const struct owl_id_finder *f, const char *name)
{
    return owl_str_is((owl_str){f->key, f->key_n}, name);
}

/* A colon between the key and the value of a member of the message. */
static void begin_value(struct owl_id_finder *f)
{
    f->value = true;
    f->taking = key_is(f, "id");
    f->ids += f->taking;
    if (f->ids > 1 || key_is(f, "result") || key_is(f, "error"))
        f->hopeless = true;
}

static void in_string(struct owl_id_finder *f, char c)
{
    bool key = f->depth == 1 && !f->value;
    bool end = c == '"' && !f->escape;
    f->escape = c == '\\' && !f->escape;
    if (end)
        f->string = false;
    else if (key && f->escape)
        f->hopeless = true;
    else if (key && f->key_n < sizeof f->key)
        f->key[f->key_n++] = c;
}

static void open_one(struct owl_id_finder *f, char c)
{
    if (f->depth++ == 0 && c != '{')
        f->hopeless = true;
}

static void close_one(struct owl_id_finder *f)
{
    if (f->depth == 0 || --f->depth > 0)
        return;
    f->closed = true;
    f->taking = false;
}

static void feed_one(struct owl_id_finder *f, char c)
{
    if (f->string) {
        in_string(f, c);
    } else if (c == '"') {
        f->string = true;
        if (f->depth == 1 && !f->value)
            f->key_n = 0;
    } else if (c == '{' || c == '[') {
        open_one(f, c);
    } else if (c == '}' || c == ']') {
        close_one(f);
    } else if (f->depth == 1 && c == ':' && !f->value) {
        begin_value(f);
        return;
    } else if (f->depth == 1 && c == ',') {
        f->value = f->taking = false;
    }
    if (f->taking)
        take(f, c);
}

void owl_id_finder_feed(struct owl_id_finder *f, owl_str piece)
{
    for (size_t i = 0; i < piece.n && !f->hopeless && !f->closed; i++)
        feed_one(f, piece.p[i]);
}

owl_str owl_id_finder_end(struct owl_id_finder *f)
{
    static const owl_str none = {NULL, 0};
    if (f->hopeless || !f->closed || f->id_n > sizeof f->id)
        return none;
    owl_str id = owl_str_trim((owl_str){f->id, f->id_n});
    if (owl_json_scan(id, 1, NULL) != 0)
        return none;
    return owl_span_is_string(id) || owl_span_is_integer(id) ? id : none;
}
