/* registry/page.c - lists in pages, as bytes that are ready to be sent.
 * Threads: any; a page that is there is found without a lock.
 *
 * A cursor is the base64url of a letter for the kind and the place of the last item sent: rank and
 * number of its part, and its `seq` there. The next page begins behind that place, whatever has
 * become of the item, so that paging through a list that changes repeats nothing and skips nothing
 * that stayed where it was.
 *
 * Only pages that begin where a client that pages through this snapshot alone would ask are kept:
 * cursors of a peer's invention cost their own time but cannot fill the cache. Invariant: a page
 * is written once, then published by a store-release of its pointer, and lives as long as the
 * snapshot. */
#include <limits.h>

#include "base/alloc.h"
#include "base/err.h"
#include "codec/base64.h"
#include "registry/snapshot.h"

enum { CURSOR_BYTES = 64 }; /* longer than any that is given out, encoded or not */

static const struct {
    char letter;
    const char *member;
} lists[OWL_KIND__MAX] = {
    [OWL_KIND_TOOL] = {'t', "tools"},
    [OWL_KIND_RESOURCE] = {'r', "resources"},
    [OWL_KIND_TEMPLATE] = {'m', "resourceTemplates"},
    [OWL_KIND_PROMPT] = {'p', "prompts"},
};

/* ---- cursors --------------------------------------------------------------------------------- */

struct place {
    uint64_t rank, number, seq;
};

static void cursor_write(struct owl_buf *b, enum owl_kind kind, const struct place *at)
{
    char text[CURSOR_BYTES];
    struct owl_buf plain = {.p = text, .cap = sizeof text - 1, .max = sizeof text - 1};
    owl_buf_putc(&plain, lists[kind].letter);
    owl_buf_putu(&plain, at->rank);
    owl_buf_putc(&plain, '.');
    owl_buf_putu(&plain, at->number);
    owl_buf_putc(&plain, '.');
    owl_buf_putu(&plain, at->seq);
    owl_base64url_encode(b, plain.p, plain.n);
}

/* The next number of a cursor, as owl_buf_putu() writes it. */
static bool read_number(owl_str *rest, uint64_t max, uint64_t *ret)
{
    owl_str s;
    return owl_str_split(rest, '.', &s) && (s.n == 1 || (s.n > 1 && s.p[0] != '0')) &&
           owl_str_u64(s, max, ret);
}

/* Takes exactly what cursor_write() wrote for this kind. */
static bool cursor_read(owl_str cursor, enum owl_kind kind, struct place *ret)
{
    char text[CURSOR_BYTES];
    struct owl_buf plain = {.p = text, .cap = sizeof text - 1, .max = sizeof text - 1};
    if (owl_base64url_decode(&plain, cursor)) /* what is longer than `text` fails, too */
        return false;
    if (plain.n < 2 || text[0] != lists[kind].letter)
        return false;
    owl_str rest = {text + 1, plain.n - 1};
    return read_number(&rest, UINT_MAX, &ret->rank) &&
           read_number(&rest, UINT64_MAX, &ret->number) &&
           read_number(&rest, UINT64_MAX, &ret->seq) && !rest.p && ret->seq > 0;
}

/* The place of the first of @p n items behind @p seq. No two items have one `seq`, which bounds the
 * search from both sides; where nothing was removed from a list that was filled one by one the
 * bounds meet. */
static size_t behind_seq(const struct owl_entry *items, size_t n, uint64_t seq)
{
    if (n == 0 || seq < items[0].seq)
        return 0;
    uint64_t last = items[n - 1].seq;
    if (seq >= last)
        return n;
    uint64_t most_before = seq - items[0].seq + 1, most_behind = last - seq;
    size_t low = most_behind < n ? n - (size_t)most_behind : 0;
    size_t high = most_before < n ? (size_t)most_before : n;
    while (low < high) {
        size_t mid = low + (high - low) / 2;
        if (items[mid].seq > seq)
            high = mid;
        else
            low = mid + 1;
    }
    return low;
}

/* The first run of an index that does not stand before that part. */
static size_t run_from(const struct owl_index *x, uint64_t rank, uint64_t number)
{
    size_t low = 0, high = x->n_runs;
    while (low < high) {
        size_t mid = low + (high - low) / 2;
        if (owl_rank_less(x->runs[mid].rank, x->runs[mid].number, (unsigned)rank, number))
            low = mid + 1;
        else
            high = mid;
    }
    return low;
}

static size_t run_end(const struct owl_index *x, size_t run)
{
    return run + 1 < x->n_runs ? x->runs[run + 1].from : x->n;
}

/* The index of the first item behind @p at. */
static size_t behind(const struct owl_index *x, const struct place *at)
{
    size_t r = run_from(x, at->rank, at->number);
    if (r == x->n_runs)
        return x->n;
    const struct owl_run *run = &x->runs[r];
    if (run->rank != at->rank || run->number != at->number)
        return run->from;
    return run->from + behind_seq(x->items + run->from, run_end(x, r) - run->from, at->seq);
}

/* The place of item @p i: in the last run that does not begin behind it, for runs may be empty. */
static struct place place_of(const struct owl_index *x, size_t i)
{
    size_t low = 0, high = x->n_runs;
    while (high - low > 1) {
        size_t mid = low + (high - low) / 2;
        if (x->runs[mid].from <= i)
            low = mid;
        else
            high = mid;
    }
    return (struct place){x->runs[low].rank, x->runs[low].number, x->items[i].seq};
}

/* ---- pages ----------------------------------------------------------------------------------- */

/* Which page: of which list, for whom, from which place on. */
struct page {
    enum owl_kind kind;
    enum owl_rev rev; /* the oldest one that gets it */
    size_t from;
};

static bool knows(enum owl_rev rev, const struct owl_item_part *part)
{
    return part->revs & OWL_REV_BIT(rev);
}

static size_t entry_bytes(const struct owl_entry *e, enum owl_rev rev)
{
    const struct owl_item *it = e->item;
    size_t n = it->json.n;
    if (e->shown == OWL_RENAMED)
        n += it->fallback_json.n; /* instead of the key, which is counted too */
    for (int k = 0; k < OWL_ITEM_PARTS; k++)
        n -= knows(rev, &it->parts[k]) ? 0 : it->parts[k].end - it->parts[k].from;
    return n;
}

/* The entry under its name in this list, without what the revision does not know. */
static void entry_write(struct owl_buf *b, const struct owl_entry *e, enum owl_rev rev)
{
    const struct owl_item *it = e->item;
    size_t at = 0;
    if (e->shown == OWL_RENAMED) {
        owl_buf_put(b, it->json.p, it->key_from);
        owl_buf_puts(b, it->fallback_json);
        at = it->key_end;
    }
    for (int k = 0; k < OWL_ITEM_PARTS; k++) {
        const struct owl_item_part *part = &it->parts[k];
        if (part->end == part->from || knows(rev, part))
            continue;
        owl_buf_put(b, it->json.p + at, part->from - at);
        at = part->end;
    }
    owl_buf_put(b, it->json.p + at, it->json.n - at);
}

/* Reserves all the room that it needs first, hence fails before it has written anything. */
static int page_write(struct owl_buf *b, const struct owl_snapshot *s, const struct page *p)
{
    const struct owl_index *x = &s->kinds[p->kind];
    size_t from = p->from, left = x->n - from;
    size_t end = from + (left < x->page_items ? left : x->page_items);

    size_t bytes = 160; /* names, brackets and the cursor */
    for (size_t i = from; i < end; i++)
        bytes += entry_bytes(&x->items[i], p->rev) + 1;
    if (owl_buf_reserve(b, bytes))
        return b->rc;

    owl_buf_putc(b, '"');
    owl_buf_putz(b, lists[p->kind].member);
    owl_buf_putz(b, "\":[");
    for (size_t i = from; i < end; i++) {
        if (i > from)
            owl_buf_putc(b, ',');
        entry_write(b, &x->items[i], p->rev);
    }
    owl_buf_putc(b, ']');
    if (end < x->n) {
        owl_buf_putz(b, ",\"nextCursor\":\"");
        struct place last = place_of(x, end - 1);
        cursor_write(b, p->kind, &last);
        owl_buf_putc(b, '"');
    }
    return b->rc;
}

static int page_new(const struct owl_snapshot *s, const struct page *p, struct owl_buf **ret)
{
    struct owl_buf *page = owl_malloc(sizeof *page);
    if (!page)
        return -OWL_ENOMEM;
    owl_buf_init(page, SIZE_MAX);
    int rc = page_write(page, s, p);
    if (rc) {
        owl_buf_done(page);
        owl_free(page);
        return rc;
    }
    *ret = page;
    return 0;
}

/* Builds and publishes a page, unless another thread was faster. *ret_page is NULL if the snapshot
 * keeps enough pages already. */
static int page_keep(struct owl_snapshot *s, const struct page *p, _Atomic(struct owl_buf *) *slot,
                     struct owl_buf **ret_page)
{
    int rc = 0;
    pthread_mutex_lock(&s->building);
    struct owl_buf *page = atomic_load_explicit(slot, memory_order_relaxed);
    if (!page && s->kept < OWL__PAGES_KEPT) {
        rc = page_new(s, p, &page);
        if (rc == 0) {
            s->kept++;
            atomic_store_explicit(slot, page, memory_order_release);
        }
    }
    pthread_mutex_unlock(&s->building);
    if (rc == 0)
        *ret_page = page;
    return rc;
}

/* Where a page is kept, or NULL: only where one begins. */
static _Atomic(struct owl_buf *) *slot_of(const struct owl_index *x, const struct page *p)
{
    size_t at = p->from / x->page_items;
    if (p->from % x->page_items != 0 || at >= x->n_pages)
        return NULL;
    return &x->pages[p->rev * x->n_pages + at];
}

int owl_snapshot_page(struct owl_snapshot *s, const struct owl_page *which, struct owl_buf *scratch,
                      owl_str *ret_members, owl_error *reterr)
{
    const struct owl_index *x = &s->kinds[which->kind];
    struct page p = {.kind = which->kind, .rev = x->same[which->rev]};
    if (which->cursor.p) {
        struct place last;
        if (!cursor_read(which->cursor, which->kind, &last))
            return owl_fail(reterr, OWL_EPARAMS, "cursor: not one that this list gave out");
        p.from = behind(x, &last);
    }

    _Atomic(struct owl_buf *) *slot = slot_of(x, &p);
    if (slot) {
        struct owl_buf *page = atomic_load_explicit(slot, memory_order_acquire);
        int rc = page ? 0 : page_keep(s, &p, slot, &page);
        if (rc)
            return owl_fail(reterr, rc, NULL);
        if (page) {
            *ret_members = owl_buf_str(page);
            return 0;
        }
    }

    size_t start = scratch->n;
    int rc = page_write(scratch, s, &p);
    if (rc)
        return owl_fail(reterr, rc, NULL);
    *ret_members = (owl_str){scratch->p + start, scratch->n - start};
    return 0;
}
