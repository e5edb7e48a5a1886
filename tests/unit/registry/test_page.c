/* Lists in pages: their bytes, cursors, the cache, and paging through a list that changes. */
#include "unit/registry/fixture.h"

#include "base/alloc.h"
#include "codec/base64.h"
#include "codec/scan.h"

#define SCHEMA ",\"inputSchema\":{\"type\":\"object\",\"additionalProperties\":false}}"

static struct owl_registry *registry_of(unsigned page_items, int n)
{
    struct owl_registry *r = owl_registry_new(page_items);
    assert_non_null(r);
    for (int i = 0; i < n; i++) {
        char name[16];
        sprintf(name, "t%d", i);
        put_tool(r, name, NULL);
    }
    return r;
}

static owl_str page(struct owl_snapshot *s, enum owl_kind kind, owl_str cursor,
                    struct owl_buf *scratch)
{
    owl_str members;
    assert_int_equal(owl_snapshot_page(s, &(struct owl_page){kind, OWL_REV_2026_07_28, cursor},
                                       scratch, &members, NULL),
                     0);
    return members;
}

static int try_cursor(struct owl_snapshot *s, enum owl_kind kind, owl_str cursor, owl_error *e)
{
    struct owl_buf scratch;
    owl_buf_init(&scratch, SIZE_MAX);
    owl_str members = {0};
    int rc = owl_snapshot_page(s, &(struct owl_page){kind, OWL_REV_2026_07_28, cursor}, &scratch,
                               &members, e);
    assert_true((rc == 0) == (members.p != NULL));
    owl_buf_done(&scratch);
    return rc;
}

static owl_str page_for(struct owl_snapshot *s, enum owl_rev rev, owl_str cursor)
{
    struct owl_buf none; /* kept pages need no room of ours */
    owl_str members;
    owl_buf_init(&none, 1);
    assert_int_equal(
        owl_snapshot_page(s, &(struct owl_page){OWL_KIND_TOOL, rev, cursor}, &none, &members, NULL),
        0);
    return members;
}

static bool has(owl_str page, const char *text)
{
    return memmem(page.p, page.n, text, strlen(text)) != NULL;
}

/* mcp-wire 3, 7.5: schemas of results since 2025-06-18, of any values since 2026-07-28; `execution`
 * in 2025-11-25. Revisions that get the same share their pages. */
TEST(clients_are_listed_what_their_revision_knows, "")
{
    static const struct {
        const char *output;
        unsigned flags;
        struct {
            bool schema, execution;
            int same; /* as in that revision */
        } want[OWL_REV__MAX];
    } rows[] = {
        {NULL, 0, {{0, 0, 0}, {0, 0, 0}, {0, 0, 0}, {0, 0, 0}, {0, 0, 0}}},
        {"{\"type\":\"object\"}", 0, {{0, 0, 0}, {0, 0, 0}, {1, 0, 2}, {1, 0, 2}, {1, 0, 2}}},
        {"{\"type\":\"array\"}", 0, {{0, 0, 0}, {0, 0, 0}, {0, 0, 0}, {0, 0, 0}, {1, 0, 4}}},
        {"{}", 0, {{0, 0, 0}, {0, 0, 0}, {0, 0, 0}, {0, 0, 0}, {1, 0, 4}}},
        {NULL, OWL_TASK, {{0, 0, 0}, {0, 0, 0}, {0, 0, 0}, {0, 1, 3}, {0, 0, 0}}},
        {"{\"type\":\"object\"}",
         OWL_TASK_ONLY,
         {{0, 0, 0}, {0, 0, 0}, {1, 0, 2}, {1, 1, 3}, {1, 0, 2}}},
        {"{\"anyOf\":[{\"type\":\"object\"}]}",
         OWL_TASK_LATER,
         {{0, 0, 0}, {0, 0, 0}, {0, 0, 0}, {0, 1, 3}, {1, 0, 4}}},
    };
    for (size_t i = 0; i < OWL_COUNT(rows); i++) {
        struct owl_registry *r = registry_of(2, 3);
        owl_tool def = {.size = sizeof def, .name = "differs", .handler = no_handler};
        def.output_schema = rows[i].output;
        def.flags = rows[i].flags;
        def.meta = "{\"k\":1}"; /* comes between them */
        struct owl_item *it = NULL;
        assert_int_equal(owl_item_tool(&def, &it, NULL), 0);
        assert_int_equal(owl_registry_put(r, it), 0);
        struct owl_snapshot *s = owl_registry_snapshot(r);
        owl_str pages[OWL_REV__MAX];
        for (int rev = 0; rev < OWL_REV__MAX; rev++) {
            owl_str first = page_for(s, (enum owl_rev)rev, (owl_str){0});
            owl_str last = page_for(s, (enum owl_rev)rev, page_cursor(first));
            struct owl_buf object;
            owl_buf_init(&object, SIZE_MAX);
            owl_buf_printf(&object, "{%.*s}", (int)last.n, last.p);
            assert_int_equal(owl_json_scan(owl_buf_str(&object), 64, NULL), 0);
            owl_buf_done(&object);
            assert_true(has(last, "\"_meta\":{\"k\":1}"));
            assert_int_equal(has(last, "outputSchema"), rows[i].want[rev].schema);
            assert_int_equal(has(last, "execution"), rows[i].want[rev].execution);
            pages[rev] = last;
            for (int other = 0; other < rev; other++)
                assert_int_equal(pages[other].p == last.p,
                                 rows[i].want[other].same == rows[i].want[rev].same);
        }
        owl_snapshot_aunref(s);
        owl_registry_free(r);
    }
}

TEST(lists_are_named_after_their_kind, "")
{
    struct owl_registry *r = owl_registry_new(0);
    struct owl_buf scratch;
    owl_buf_init(&scratch, SIZE_MAX);
    const owl_str first = {0};
    struct owl_snapshot *s = owl_registry_snapshot(r);
    assert_str(page(s, OWL_KIND_TOOL, first, &scratch), "\"tools\":[]");
    assert_str(page(s, OWL_KIND_RESOURCE, first, &scratch), "\"resources\":[]");
    assert_str(page(s, OWL_KIND_TEMPLATE, first, &scratch), "\"resourceTemplates\":[]");
    assert_str(page(s, OWL_KIND_PROMPT, first, &scratch), "\"prompts\":[]");
    owl_snapshot_aunref(s);

    assert_int_equal(owl_registry_put(r, make_prompt("p")), 0);
    assert_int_equal(owl_registry_put(r, make_resource("db://{x}")), 0);
    s = owl_registry_snapshot(r);
    assert_str(page(s, OWL_KIND_RESOURCE, first, &scratch), "\"resources\":[]");
    assert_str(page(s, OWL_KIND_TEMPLATE, first, &scratch),
               "\"resourceTemplates\":[{\"uriTemplate\":\"db://{x}\",\"name\":\"name\"}]");
    assert_str(page(s, OWL_KIND_PROMPT, first, &scratch), "\"prompts\":[{\"name\":\"p\"}]");
    assert_int_equal(scratch.n, 0);
    owl_snapshot_aunref(s);
    owl_registry_free(r);
}

TEST(pages_follow_each_other_to_the_end, "")
{
    struct owl_registry *r = registry_of(2, 4);
    struct owl_snapshot *s = owl_registry_snapshot(r);
    struct owl_buf scratch;
    owl_buf_init(&scratch, SIZE_MAX);
    owl_str first = page(s, OWL_KIND_TOOL, (owl_str){0}, &scratch);
    /* "dDAuMC4y" is base64url of "t0.0.2". */
    assert_str(first, "\"tools\":[{\"name\":\"t0\"" SCHEMA ",{\"name\":\"t1\"" SCHEMA
                      "],\"nextCursor\":\"dDAuMC4y\"");
    assert_str(page(s, OWL_KIND_TOOL, page_cursor(first), &scratch),
               "\"tools\":[{\"name\":\"t2\"" SCHEMA ",{\"name\":\"t3\"" SCHEMA "]");
    assert_str(page(s, OWL_KIND_TOOL, OWL_STR("dDAuMC40"), &scratch), "\"tools\":[]");
    assert_str(page(s, OWL_KIND_TOOL, OWL_STR("dDAuMC4z"), &scratch),
               "\"tools\":[{\"name\":\"t3\"" SCHEMA "]");
    owl_buf_done(&scratch);
    owl_snapshot_aunref(s);
    owl_registry_free(r);
}

TEST(page_of_tools_has_100_items_unless_told, "OR-4.9")
{
    struct owl_registry *r = registry_of(0, 101);
    struct owl_snapshot *s = owl_registry_snapshot(r);
    struct owl_buf scratch;
    owl_buf_init(&scratch, SIZE_MAX);
    owl_str first = page(s, OWL_KIND_TOOL, (owl_str){0}, &scratch);
    assert_non_null(memmem(first.p, first.n, "\"t99\"", 5));
    assert_null(memmem(first.p, first.n, "\"t100\"", 6));
    owl_str last = page(s, OWL_KIND_TOOL, page_cursor(first), &scratch);
    assert_str(last, "\"tools\":[{\"name\":\"t100\"" SCHEMA "]");
    owl_snapshot_aunref(s);
    owl_registry_free(r);
}

TEST(page_of_resources_has_50_items_unless_told, "OR-6.8")
{
    struct owl_registry *r = owl_registry_new(0);
    for (int i = 0; i < 51; i++) {
        char uri[32];
        snprintf(uri, sizeof uri, "x://%d", i);
        owl_resource def = {.size = sizeof def, .uri = uri, .name = "n", .text = "t"};
        struct owl_item *item = NULL;
        assert_int_equal(owl_item_resource(&def, &item, NULL), 0);
        assert_int_equal(owl_registry_put(r, item), 0);
    }
    struct owl_snapshot *s = owl_registry_snapshot(r);
    struct owl_buf scratch;
    owl_buf_init(&scratch, SIZE_MAX);
    owl_str first = page(s, OWL_KIND_RESOURCE, (owl_str){0}, &scratch);
    assert_non_null(memmem(first.p, first.n, "x://49", 6));
    assert_null(memmem(first.p, first.n, "x://50", 6));
    assert_non_null(memmem(first.p, first.n, "nextCursor", 10));
    owl_buf_done(&scratch);
    owl_snapshot_aunref(s);
    owl_registry_free(r);
}

TEST(cursors_that_were_not_given_out_are_refused, "")
{
    struct owl_registry *r = registry_of(2, 5);
    struct owl_snapshot *s = owl_registry_snapshot(r);
    static const char *const plain[] = {"",
                                        "t",
                                        "t0.0.0",
                                        "t0.0.02",
                                        "t00.0.2",
                                        "t0.00.2",
                                        "t0.0.-1",
                                        "t0.0.+1",
                                        "t0.0. 1",
                                        "t0.0.1 ",
                                        "r0.0.1",
                                        "p0.0.1",
                                        "m0.0.1",
                                        "x0.0.1",
                                        "0.0.1",
                                        "tt0.0.1",
                                        "t0.0.1x",
                                        "T0.0.1",
                                        "t0.0.1.",
                                        "t0.0.1.1",
                                        "t0.1",
                                        "t1",
                                        "t0..1",
                                        "t.0.1",
                                        "t0.0.",
                                        "t4294967296.0.1",
                                        "t0.18446744073709551616.1",
                                        "t0.0.18446744073709551616",
                                        "t0.0.99999999999999999999"};
    for (size_t i = 0; i < OWL_COUNT(plain); i++) {
        struct owl_buf b;
        owl_buf_init(&b, 100);
        owl_base64url_encode(&b, plain[i], strlen(plain[i]));
        owl_error e = {0};
        if (try_cursor(s, OWL_KIND_TOOL, owl_buf_str(&b), &e) != -OWL_EPARAMS)
            fail_msg("\"%s\" was taken", plain[i]);
        assert_non_null(strstr(e.message, "cursor"));
        owl_buf_done(&b);
    }
    static const char *const raw[] = {"",        "dDAuMC4y=", "dDAuMC4",
                                      "dDAuMC5", "d DAuMC4y", "dDAuMC4y\n",
                                      "!!!!",    "\xff\xfe",  "dDAuMC4yA"};
    for (size_t i = 0; i < OWL_COUNT(raw); i++) {
        if (try_cursor(s, OWL_KIND_TOOL, owl_str_of(raw[i]), NULL) != -OWL_EPARAMS)
            fail_msg("raw \"%s\" was taken", raw[i]);
    }
    char endless[5000];
    memset(endless, 'A', sizeof endless);
    for (size_t n = 1; n < sizeof endless; n += n < 100 ? 1 : 700)
        assert_int_equal(try_cursor(s, OWL_KIND_TOOL, (owl_str){endless, n}, NULL), -OWL_EPARAMS);
    assert_int_equal(try_cursor(s, OWL_KIND_TOOL, OWL_STR("dDAuMC4y"), NULL), 0);
    assert_int_equal(try_cursor(s, OWL_KIND_PROMPT, OWL_STR("dDAuMC4y"), NULL), -OWL_EPARAMS);
    /* "t0.0.18446744073709551615", the greatest there can be: behind all items. */
    assert_int_equal(
        try_cursor(s, OWL_KIND_TOOL, OWL_STR("dDAuMC4xODQ0Njc0NDA3MzcwOTU1MTYxNQ"), NULL), 0);
    owl_snapshot_aunref(s);
    owl_registry_free(r);
}

TEST(any_place_is_continued_behind_it_whatever_was_removed, "")
{
    enum { N = 16 };
    for (uint64_t state = 1, round = 0; round < 200; round++) {
        struct owl_registry *r = registry_of(1, N); /* t0 has place 1 */
        bool gone[N] = {false};
        for (unsigned left = draw(&state, N + 1); left > 0; left--) {
            char name[16];
            unsigned key = draw(&state, N);
            sprintf(name, "t%u", key);
            gone[key] |= owl_registry_remove(r, OWL_KIND_TOOL, owl_str_of(name)) == 0;
        }
        struct owl_snapshot *s = owl_registry_snapshot(r);
        for (unsigned place = 1; place <= N + 2; place++) {
            unsigned next = place; /* the key behind it */
            while (next < N && gone[next])
                next++;
            char text[32];
            struct owl_buf cursor, scratch;
            owl_buf_init(&cursor, 100);
            owl_buf_init(&scratch, SIZE_MAX);
            sprintf(text, "t0.0.%u", place);
            owl_base64url_encode(&cursor, text, strlen(text));
            owl_str members = page(s, OWL_KIND_TOOL, owl_buf_str(&cursor), &scratch);
            sprintf(text, "\"tools\":[{\"name\":\"t%u\"", next);
            const char *expected = next < N ? text : "\"tools\":[]";
            assert_true(members.n >= strlen(expected));
            assert_memory_equal(members.p, expected, strlen(expected));
            owl_buf_done(&cursor);
            owl_buf_done(&scratch);
        }
        owl_snapshot_aunref(s);
        owl_registry_free(r);
    }
}

TEST(page_is_built_once_and_kept, "OR-4.10")
{
    struct owl_registry *r = registry_of(2, 5);
    struct owl_snapshot *s = owl_registry_snapshot(r);
    struct owl_buf scratch;
    owl_buf_init(&scratch, SIZE_MAX);
    owl_str cursor = {0};
    for (int i = 0; i < 3; i++) {
        owl_str one = page(s, OWL_KIND_TOOL, cursor, &scratch);
        owl_str two = page(s, OWL_KIND_TOOL, cursor, &scratch);
        assert_ptr_equal(one.p, two.p);
        cursor = page_cursor(one);
    }
    assert_null(cursor.p);
    assert_int_equal(scratch.n, 0);
    owl_snapshot_aunref(s);
    owl_registry_free(r);
}

TEST(invented_cursors_cannot_fill_the_cache, "")
{
    struct owl_registry *r = registry_of(10, 1000);
    struct owl_snapshot *s = owl_registry_snapshot(r);
    struct owl_buf scratch;
    owl_buf_init(&scratch, SIZE_MAX);
    for (unsigned seq = 1; seq < 1000; seq++) {
        char text[16];
        sprintf(text, "t0.0.%u", seq);
        struct owl_buf b;
        owl_buf_init(&b, 100);
        owl_base64url_encode(&b, text, strlen(text));
        if (seq % 10 != 0) { /* not where a page begins: built for this caller alone */
            size_t before = scratch.n;
            owl_str members = page(s, OWL_KIND_TOOL, owl_buf_str(&b), &scratch);
            assert_ptr_equal(members.p, scratch.p + before);
            assert_int_equal(members.n, scratch.n - before);
        }
        owl_buf_done(&b);
        owl_buf_reset(&scratch);
    }
    owl_str kept = page(s, OWL_KIND_TOOL, (owl_str){0}, &scratch);
    assert_ptr_equal(kept.p, page(s, OWL_KIND_TOOL, (owl_str){0}, &scratch).p);
    assert_int_equal(scratch.n, 0);
    owl_buf_done(&scratch);
    owl_snapshot_aunref(s);
    owl_registry_free(r);
}

TEST(cache_is_bounded, "")
{
    enum { TOOLS = 100 };
    struct owl_registry *r = registry_of(1, TOOLS);
    assert_int_equal(owl_registry_put(r, make_prompt("p")), 0);
    struct owl_snapshot *s = owl_registry_snapshot(r);
    struct owl_buf scratch;
    owl_buf_init(&scratch, SIZE_MAX);
    unsigned kept = 0, pages = 0;
    owl_str cursor = {0};
    char copy[64];
    do {
        owl_buf_reset(&scratch);
        owl_str members = page(s, OWL_KIND_TOOL, cursor, &scratch);
        kept += scratch.n == 0;
        pages++;
        cursor = page_cursor(members);
        if (cursor.p)
            cursor.p = memcpy(copy, cursor.p, cursor.n);
    } while (cursor.p);
    assert_int_equal(pages, TOOLS);
    assert_int_equal(kept, 64);
    /* The other lists are still served, only not kept. */
    owl_buf_reset(&scratch);
    owl_str prompts = page(s, OWL_KIND_PROMPT, (owl_str){0}, &scratch);
    assert_str(prompts, "\"prompts\":[{\"name\":\"p\"}]");
    assert_ptr_equal(prompts.p, scratch.p);
    owl_buf_done(&scratch);
    owl_snapshot_aunref(s);
    owl_registry_free(r);
}

TEST(scratch_that_is_too_small_is_an_error_and_left_as_it_was, "")
{
    struct owl_registry *r = registry_of(3, 5);
    struct owl_snapshot *s = owl_registry_snapshot(r);
    struct owl_buf scratch;
    owl_buf_init(&scratch, 20);
    owl_buf_putz(&scratch, "kept");
    owl_str members = {0};
    owl_error e;
    assert_int_equal(owl_snapshot_page(
                         s,
                         &(struct owl_page){OWL_KIND_TOOL, OWL_REV_2026_07_28, OWL_STR("dDAuMC4y")},
                         &scratch, &members, &e),
                     -OWL_ELIMIT);
    assert_null(members.p);
    assert_str(owl_buf_str(&scratch), "kept");
    owl_buf_done(&scratch);
    owl_snapshot_aunref(s);
    owl_registry_free(r);
}

TEST(without_memory_a_page_is_an_error_and_comes_later, "")
{
    struct owl_registry *r = registry_of(3, 5);
    const owl_str cursors[] = {{NULL, 0}, OWL_STR("dDAuMC4y")}; /* kept, and not kept */
    for (size_t i = 0; i < OWL_COUNT(cursors); i++) {
        struct owl_snapshot *s = owl_registry_snapshot(r);
        unsigned long n = 0;
        int rc;
        do {
            struct owl_buf scratch;
            owl_buf_init(&scratch, SIZE_MAX);
            owl_str members = {0};
            owl_error e = {0};
            owl_alloc_fail_at(++n);
            rc = owl_snapshot_page(
                s, &(struct owl_page){OWL_KIND_TOOL, OWL_REV_2026_07_28, cursors[i]}, &scratch,
                &members, &e);
            owl_alloc_fail_at(0);
            if (rc) {
                assert_int_equal(rc, -OWL_ENOMEM);
                assert_int_equal(e.code, OWL_ENOMEM);
                assert_null(members.p);
            }
            owl_buf_done(&scratch);
        } while (rc);
        assert_true(n > 1);
        owl_snapshot_aunref(s);
    }
    owl_registry_free(r);
}

/* ---- paging through a list that changes ------------------------------------------------------ */

enum { KEYS = 40 };

struct walk {
    bool stayed[KEYS]; /* there from the first page to the last */
    unsigned seen[KEYS];
    uint64_t seq_seen[KEYS];
};

/* Counts the items of a page. */
static void see(struct walk *w, struct owl_snapshot *s, owl_str members)
{
    static const char label[] = "{\"name\":\"t";
    const char *end = members.p + members.n;
    for (const char *at = members.p;
         (at = memmem(at, (size_t)(end - at), label, sizeof label - 1)) != NULL;) {
        at += sizeof label - 1;
        char name[16] = "t"; /* the text ends in no NUL */
        size_t n = 1;
        while (at + n - 1 < end && at[n - 1] != '"' && n < sizeof name - 1) {
            name[n] = at[n - 1];
            n++;
        }
        int key = atoi(name + 1);
        const struct owl_item *it = owl_snapshot_find(s, OWL_KIND_TOOL, owl_str_of(name));
        assert_non_null(it);
        /* One that was removed and added again is another one. */
        assert_true(w->seen[key] == 0 || w->seq_seen[key] != it->seq);
        w->seen[key]++;
        w->seq_seen[key] = it->seq;
    }
}

/* Adds, replaces or removes a few. */
static void disturb(struct owl_registry *r, struct walk *w, uint64_t *state)
{
    for (unsigned left = draw(state, 6); left > 0; left--) {
        unsigned key = draw(state, KEYS);
        char name[16];
        sprintf(name, "t%u", key);
        if (draw(state, 2)) {
            put_tool(r, name, "changed");
        } else if (owl_registry_remove(r, OWL_KIND_TOOL, owl_str_of(name)) == 0) {
            w->stayed[key] = false;
        }
    }
}

static void walk_once(uint64_t seed)
{
    uint64_t state = seed;
    struct owl_registry *r = owl_registry_new(1 + draw(&state, 9));
    struct walk w = {0};
    for (unsigned i = 0; i < KEYS; i++) {
        if (draw(&state, 3) == 0)
            continue;
        char name[16];
        sprintf(name, "t%u", i);
        put_tool(r, name, NULL);
        w.stayed[i] = true;
    }
    struct owl_buf scratch;
    owl_buf_init(&scratch, SIZE_MAX);
    owl_str cursor = {0};
    char copy[64];
    do {
        struct owl_snapshot *s = owl_registry_snapshot(r);
        owl_buf_reset(&scratch);
        owl_str members = page(s, OWL_KIND_TOOL, cursor, &scratch);
        see(&w, s, members);
        cursor = page_cursor(members);
        if (cursor.p)
            cursor.p = memcpy(copy, cursor.p, cursor.n);
        owl_snapshot_aunref(s);
        if (cursor.p)
            disturb(r, &w, &state);
    } while (cursor.p && scratch.n < 1000000);
    for (unsigned i = 0; i < KEYS; i++) {
        if (w.stayed[i] && w.seen[i] != 1)
            fail_msg("seed %u: t%u stayed and was seen %u times", (unsigned)seed, i, w.seen[i]);
    }
    owl_buf_done(&scratch);
    owl_registry_free(r);
}

TEST(paging_while_items_change_repeats_and_misses_none_that_stayed, "")
{
    for (uint64_t seed = 1; seed <= 400; seed++)
        walk_once(seed);
}

/* ---- many pages ------------------------------------------------------------------------------ */

TEST(later_page_of_a_long_list_is_kept_too, "")
{
    struct owl_registry *r = registry_of(100, 5000);
    struct owl_snapshot *s = owl_registry_snapshot(r);
    owl_str behind = OWL_STR("dDAuMC4zMDAw"); /* "t0.0.3000" */
    owl_str one = page_for(s, OWL_REV_2026_07_28, behind);
    assert_true(has(one, "{\"name\":\"t3000\""));
    assert_ptr_equal(page_for(s, OWL_REV_2026_07_28, behind).p, one.p);
    owl_snapshot_aunref(s);
    owl_registry_free(r);
}
