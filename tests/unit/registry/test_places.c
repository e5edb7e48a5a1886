/* Places of items in parts that are replaced, and the cursors that name them. */
#include "unit/registry/parts.h"

#include "codec/base64.h"

TEST(new_items_get_places_between_others_until_there_is_no_room, "")
{
    enum { N = 40 };
    struct test_provider p;
    test_provider_init(&p, "p");
    struct owl_registry *r = owl_registry_new(0);
    char names[N + 3] = "az"; /* others come behind "a", each before those that came earlier */
    bool anew = false;
    uint64_t place = 0;
    for (int i = 0; i < N; i++) {
        offer(r, &p, 1, names);
        assert_list(r, names);
        struct owl_snapshot *s = owl_registry_snapshot(r);
        const struct owl_index *x = &s->kinds[OWL_KIND_TOOL];
        for (size_t k = 1; k < x->n; k++)
            assert_true(x->items[k - 1].seq < x->items[k].seq);
        anew |= i > 0 && x->items[x->n - 1].seq != place;
        if (i == 10)
            assert_false(anew);
        place = x->items[x->n - 1].seq;
        owl_snapshot_aunref(s);
        memmove(names + 2, names + 1, strlen(names + 1) + 1);
        names[1] = (char)(i < 24 ? 'b' + i : '0' + i - 24);
        if (names[1] > '9' && i >= 24)
            names[1] = (char)('A' + i - 34);
    }
    assert_true(anew); /* room for about twenty */
    owl_registry_free(r);
}

/* A page of tools; the cursor, if there is one, in @p cursor, which has room for it. */
static owl_str page_of(struct owl_registry *r, owl_str *cursor, struct owl_buf *scratch)
{
    static char copy[128];
    owl_str members;
    struct owl_snapshot *s = owl_registry_snapshot(r);
    owl_buf_reset(scratch);
    assert_int_equal(
        owl_snapshot_page(s, &(struct owl_page){OWL_KIND_TOOL, OWL_REV_2026_07_28, *cursor},
                          scratch, &members, NULL),
        0);
    if (members.p != scratch->p) { /* kept with the snapshot, which goes */
        owl_buf_reset(scratch);
        owl_buf_puts(scratch, members);
        members = owl_buf_str(scratch);
    }
    owl_snapshot_aunref(s);
    *cursor = page_cursor(members);
    if (cursor->p)
        cursor->p = memcpy(copy, cursor->p, cursor->n);
    return members;
}

static bool shows(owl_str page, const char *name)
{
    char text[32];
    sprintf(text, "{\"name\":\"%s\"", name);
    return memmem(page.p, page.n, text, strlen(text)) != NULL;
}

TEST(item_added_where_others_were_removed_comes_behind_their_cursor, "")
{
    struct test_provider p;
    test_provider_init(&p, "p");
    struct owl_registry *r = owl_registry_new(2);
    struct owl_buf scratch;
    owl_buf_init(&scratch, SIZE_MAX);
    owl_str cursor = {0};
    offer(r, &p, 1, "abc");
    assert_true(shows(page_of(r, &cursor, &scratch), "b"));
    offer(r, &p, 1, "a");
    offer(r, &p, 1, "ad");
    assert_true(shows(page_of(r, &cursor, &scratch), "d"));
    owl_buf_done(&scratch);
    owl_registry_free(r);
}

TEST(cursor_of_a_part_that_is_gone_leads_to_the_next_one, "")
{
    struct test_provider p, q;
    test_provider_init(&p, "p");
    test_provider_init(&q, "q");
    struct owl_registry *r = owl_registry_new(3);
    struct owl_buf scratch;
    owl_buf_init(&scratch, SIZE_MAX);
    owl_str cursor = {0};
    put_tool(r, "own", NULL);
    offer(r, &p, 1, "abc");
    offer(r, &q, 2, "xyz");
    assert_true(shows(page_of(r, &cursor, &scratch), "b"));
    assert_int_equal(owl_registry_remove_part(r, &p.provider, NULL), 0);
    owl_str page = page_of(r, &cursor, &scratch);
    assert_true(shows(page, "x") && shows(page, "z") && !shows(page, "own"));
    owl_buf_done(&scratch);
    owl_registry_free(r);
}

TEST(page_with_fallbacks_that_does_not_fit_leaves_nothing_behind, "")
{
    struct test_provider p, q;
    test_provider_init(&p, "p");
    test_provider_init(&q, "q");
    struct owl_registry *r = owl_registry_new(4);
    offer(r, &p, 1, "abc");
    struct owl_update *u = begin(r, &q);
    for (const char *name = "abc"; *name; name++) {
        const char key[] = {*name, '\0'};
        char fallback[121];
        memset(fallback, *name, 120);
        fallback[120] = '\0';
        add_tool(
            u, key, "d",
            &(struct owl_item_options){.fallback = owl_str_of(fallback), .provider = &q.provider});
    }
    commit(u, 2);
    struct owl_snapshot *s = owl_registry_snapshot(r);
    /* Behind "a" of the first part, which begins no page that is kept. */
    struct owl_buf cursor, scratch, small;
    owl_buf_init(&cursor, 100);
    owl_buf_init(&scratch, SIZE_MAX);
    owl_base64url_encode(&cursor, "t1.1.1048576", 12);
    struct owl_page which = {OWL_KIND_TOOL, OWL_REV_2026_07_28, owl_buf_str(&cursor)};
    owl_str members;
    assert_int_equal(owl_snapshot_page(s, &which, &scratch, &members, NULL), 0);
    assert_ptr_equal(members.p, scratch.p);
    owl_buf_init(&small, members.n - 1);
    assert_int_equal(owl_snapshot_page(s, &which, &small, &members, NULL), -OWL_ELIMIT);
    assert_int_equal(small.n, 0);
    owl_buf_done(&cursor);
    owl_buf_done(&scratch);
    owl_buf_done(&small);
    owl_snapshot_aunref(s);
    owl_registry_free(r);
}

enum { KEYS = 30, PROVIDERS = 3 };

struct walk {
    struct owl_registry *r;
    struct test_provider p[PROVIDERS];
    bool there[PROVIDERS][KEYS], stayed[PROVIDERS][KEYS];
    unsigned seen[PROVIDERS][KEYS];
};

/* Offers what is there, always in one order. */
static void offer_there(struct walk *w, int i, const char *description)
{
    struct owl_update *u = begin(w->r, &w->p[i]);
    for (int k = 0; k < KEYS; k++) {
        char name[16];
        sprintf(name, "t%d-%d", i, k);
        if (w->there[i][k])
            add_tool(u, name, description,
                     &(struct owl_item_options){.provider = &w->p[i].provider});
    }
    commit(u, (unsigned)i / 2); /* two of them have one rank */
}

static void disturb(struct walk *w, uint64_t *state)
{
    for (unsigned left = draw(state, 3); left > 0; left--) {
        int i = (int)draw(state, PROVIDERS);
        for (unsigned changes = draw(state, 5); changes > 0; changes--) {
            unsigned k = draw(state, KEYS);
            w->there[i][k] = !w->there[i][k];
            w->stayed[i][k] = false;
        }
        offer_there(w, i, draw(state, 2) ? "d" : "e");
    }
}

static void see(struct walk *w, owl_str members)
{
    static const char label[] = "{\"name\":\"t";
    const char *end = members.p + members.n;
    for (const char *at = members.p;
         (at = memmem(at, (size_t)(end - at), label, sizeof label - 1)) != NULL;) {
        at += sizeof label - 1;
        int i = at[0] - '0', k = 0;
        for (at += 2; *at != '"'; at++)
            k = k * 10 + (*at - '0');
        w->seen[i][k]++;
    }
}

static void walk_once(uint64_t seed)
{
    uint64_t state = seed;
    struct walk w = {.r = owl_registry_new(1 + draw(&state, 9))};
    for (int i = 0; i < PROVIDERS; i++) {
        test_provider_init(&w.p[i], "p");
        for (int k = 0; k < KEYS; k++)
            w.there[i][k] = w.stayed[i][k] = draw(&state, 2);
        offer_there(&w, i, "d");
    }
    struct owl_buf scratch;
    owl_buf_init(&scratch, SIZE_MAX);
    owl_str cursor = {0}, members;
    char copy[128];
    do {
        struct owl_snapshot *s = owl_registry_snapshot(w.r);
        owl_buf_reset(&scratch);
        assert_int_equal(
            owl_snapshot_page(s, &(struct owl_page){OWL_KIND_TOOL, OWL_REV_2026_07_28, cursor},
                              &scratch, &members, NULL),
            0);
        see(&w, members);
        cursor = page_cursor(members);
        if (cursor.p)
            cursor.p = memcpy(copy, cursor.p, cursor.n);
        owl_snapshot_aunref(s);
        disturb(&w, &state);
    } while (cursor.p);
    for (int i = 0; i < PROVIDERS; i++) {
        for (int k = 0; k < KEYS; k++) {
            if (w.stayed[i][k] && w.seen[i][k] != 1)
                fail_msg("seed %u: t%d-%d stayed and was seen %u times", (unsigned)seed, i, k,
                         w.seen[i][k]);
        }
    }
    owl_buf_done(&scratch);
    owl_registry_free(w.r);
}

TEST(cursors_survive_new_parts, "")
{
    for (uint64_t seed = 1; seed <= 150; seed++)
        walk_once(seed);
}
