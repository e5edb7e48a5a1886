/* Tests of mcp/state.h: what is sealed comes back, and nothing else does. */
#include "support/test.h"

#include "base/alloc.h"
#include "codec/base64.h"
#include "mcp/state.h"

#include <time.h>

static const struct owl_state_bind bind = {.principal = {"alice", 5},
                                           .method = {"tools/call", 10},
                                           .name = {"deploy", 6},
                                           .args = {"{}", 2}};
static struct owl_state_key key;

static void seal(struct owl_buf *b, owl_str payload, uint64_t ttl_ms)
{
    owl_buf_reset(b);
    assert_int_equal(owl_state_seal(&key, &bind, payload, ttl_ms, b), 0);
}

static int open_with(const struct owl_state_key *k, const struct owl_state_bind *to, owl_str text,
                     owl_error *err)
{
    struct owl_arena *a = owl_arena_new(0);
    owl_str got = OWL_STR("kept");
    int rc = owl_state_open(k, to, text, a, &got, err);
    if (rc != 0)
        assert_true(owl_str_is(got, "kept"));
    owl_arena_free(a);
    return rc;
}

static void assert_refused(const struct owl_state_key *k, const struct owl_state_bind *to,
                           owl_str text)
{
    owl_error err = {0};
    assert_int_equal(open_with(k, to, text, &err), -OWL_EPARAMS);
    assert_non_null(strstr(err.message, "does not belong to this request"));
}

TEST(a_note_comes_back, "")
{
    struct owl_buf b;
    struct owl_arena *a = owl_arena_new(0);
    owl_buf_init(&b, SIZE_MAX);
    assert_int_equal(owl_state_key_init(&key, NULL), 0);
    owl_str payloads[] = {OWL_STR("{\"step\":1}"), OWL_STR(""), OWL_STR("a\0b"), {NULL, 0}};
    for (size_t i = 0; i < OWL_COUNT(payloads); i++) {
        owl_str got = {NULL, 0};
        seal(&b, payloads[i], 60000);
        assert_null(memchr(b.p, '=', b.n));
        assert_int_equal(owl_state_open(&key, &bind, owl_buf_str(&b), a, &got, NULL), 0);
        assert_non_null(got.p);
        assert_true(owl_str_eq(got, payloads[i]));
    }
    owl_buf_done(&b);
    owl_arena_free(a);
}

TEST(a_note_is_appended_and_never_the_same_twice, "")
{
    struct owl_buf b, c;
    owl_buf_init(&b, SIZE_MAX);
    owl_buf_init(&c, SIZE_MAX);
    assert_int_equal(owl_state_key_init(&key, NULL), 0);
    owl_buf_putz(&b, "before:");
    assert_int_equal(owl_state_seal(&key, &bind, OWL_STR("x"), 60000, &b), 0);
    seal(&c, OWL_STR("x"), 60000);
    assert_memory_equal(b.p, "before:", 7);
    owl_str text = {b.p + 7, b.n - 7};
    assert_int_equal(open_with(&key, &bind, text, NULL), 0);
    assert_false(owl_str_eq(text, owl_buf_str(&c)));
    owl_buf_done(&b);
    owl_buf_done(&c);
}

TEST(the_payload_is_not_readable, "")
{
    struct owl_buf b, raw;
    owl_buf_init(&b, SIZE_MAX);
    owl_buf_init(&raw, SIZE_MAX);
    assert_int_equal(owl_state_key_init(&key, NULL), 0);
    seal(&b, OWL_STR("a rather secret payload"), 60000);
    assert_int_equal(owl_base64url_decode(&raw, owl_buf_str(&b)), 0);
    assert_null(memmem(raw.p, raw.n, "secret", 6));
    owl_buf_done(&b);
    owl_buf_done(&raw);
}

TEST(every_changed_character_is_noticed, "")
{
    struct owl_buf b;
    owl_buf_init(&b, SIZE_MAX);
    assert_int_equal(owl_state_key_init(&key, NULL), 0);
    for (size_t extra = 0; extra < 3; extra++) { /* the three lengths of a last group */
        seal(&b, (owl_str){"xyz", extra}, 60000);
        for (size_t i = 0; i < b.n; i++) {
            char was = b.p[i];
            const char others[] = {was == 'A' ? 'B' : 'A', was == '_' ? '-' : '_', '=', '!', '\0'};
            for (size_t j = 0; j < sizeof(others); j++) {
                b.p[i] = others[j];
                assert_refused(&key, &bind, owl_buf_str(&b));
            }
            b.p[i] = was;
        }
        assert_int_equal(open_with(&key, &bind, owl_buf_str(&b), NULL), 0);
    }
    owl_buf_done(&b);
}

TEST(every_changed_bit_is_noticed, "mcp:S12")
{
    struct owl_buf b, raw, text;
    owl_buf_init(&b, SIZE_MAX);
    owl_buf_init(&raw, SIZE_MAX);
    owl_buf_init(&text, SIZE_MAX);
    assert_int_equal(owl_state_key_init(&key, NULL), 0);
    seal(&b, OWL_STR("{\"n\":1}"), 60000);
    assert_int_equal(owl_base64url_decode(&raw, owl_buf_str(&b)), 0);
    for (size_t i = 0; i < raw.n * 8; i++) {
        raw.p[i / 8] = (char)(raw.p[i / 8] ^ (1 << (i % 8)));
        owl_buf_reset(&text);
        owl_base64url_encode(&text, raw.p, raw.n);
        assert_refused(&key, &bind, owl_buf_str(&text));
        raw.p[i / 8] = (char)(raw.p[i / 8] ^ (1 << (i % 8)));
    }
    owl_buf_done(&b);
    owl_buf_done(&raw);
    owl_buf_done(&text);
}

TEST(cut_or_lengthened_notes_are_refused, "")
{
    struct owl_buf b;
    owl_buf_init(&b, SIZE_MAX);
    assert_int_equal(owl_state_key_init(&key, NULL), 0);
    seal(&b, OWL_STR("payload"), 60000);
    for (size_t n = 0; n < b.n; n++) {
        assert_refused(&key, &bind, (owl_str){b.p, n});
        if (n > 0)
            assert_refused(&key, &bind, (owl_str){b.p + n, b.n - n});
    }
    owl_buf_putc(&b, 'A');
    assert_refused(&key, &bind, owl_buf_str(&b));
    assert_refused(&key, &bind, (owl_str){NULL, 0});
    assert_refused(&key, &bind, OWL_STR("not base64 at all"));
    assert_refused(&key, &bind, OWL_STR("AAAA"));
    owl_buf_done(&b);
}

TEST(a_note_is_bound_to_its_request, "mcp:S12")
{
    struct owl_buf b;
    owl_buf_init(&b, SIZE_MAX);
    assert_int_equal(owl_state_key_init(&key, NULL), 0);
    seal(&b, OWL_STR("payload"), 60000);
    struct owl_state_bind others[] = {bind, bind, bind, bind, bind, bind};
    others[0].principal = OWL_STR("mallory");
    others[1].method = OWL_STR("prompts/get");
    others[2].name = OWL_STR("destroy");
    others[3].args = OWL_STR("{ }");
    others[4].principal = (owl_str){NULL, 0};
    /* The same bytes in other places. */
    others[5].principal = OWL_STR("alicetools");
    others[5].method = OWL_STR("/call");
    for (size_t i = 0; i < OWL_COUNT(others); i++)
        assert_refused(&key, &others[i], owl_buf_str(&b));
    assert_int_equal(open_with(&key, &bind, owl_buf_str(&b), NULL), 0);
    owl_buf_done(&b);
}

TEST(absent_and_empty_bindings_are_equal, "")
{
    struct owl_buf b;
    struct owl_state_bind none = {0}, empty = {OWL_STR(""), OWL_STR(""), OWL_STR(""), OWL_STR("")};
    owl_buf_init(&b, SIZE_MAX);
    assert_int_equal(owl_state_key_init(&key, NULL), 0);
    assert_int_equal(owl_state_seal(&key, &none, OWL_STR("p"), 60000, &b), 0);
    assert_int_equal(open_with(&key, &empty, owl_buf_str(&b), NULL), 0);
    owl_buf_done(&b);
}

TEST(keys_are_made_from_secrets, "")
{
    struct owl_state_key same, other, random[2];
    unsigned char secret[OWL_STATE_KEY_BYTES] = {1, 2, 3};
    struct owl_buf b;
    owl_buf_init(&b, SIZE_MAX);
    assert_int_equal(owl_state_key_init(&key, secret), 0);
    assert_int_equal(owl_state_key_init(&same, secret), 0);
    secret[31] = 1;
    assert_int_equal(owl_state_key_init(&other, secret), 0);
    assert_memory_equal(key.id, same.id, sizeof(key.id));
    assert_memory_not_equal(key.id, other.id, sizeof(key.id));
    assert_memory_not_equal(key.id, key.secret, sizeof(key.id));

    seal(&b, OWL_STR("p"), 60000);
    assert_int_equal(open_with(&same, &bind, owl_buf_str(&b), NULL), 0);
    assert_refused(&other, &bind, owl_buf_str(&b));
    memcpy(other.id, key.id, sizeof(key.id)); /* as if ids collided */
    assert_refused(&other, &bind, owl_buf_str(&b));

    assert_int_equal(owl_state_key_init(&random[0], NULL), 0);
    assert_int_equal(owl_state_key_init(&random[1], NULL), 0);
    assert_memory_not_equal(random[0].secret, random[1].secret, sizeof(random[0].secret));
    owl_buf_done(&b);
}

TEST(notes_expire_and_say_so, "mcp:S12")
{
    struct owl_buf b;
    owl_error err = {0};
    owl_buf_init(&b, SIZE_MAX);
    assert_int_equal(owl_state_key_init(&key, NULL), 0);
    seal(&b, OWL_STR("p"), 0);
    assert_int_equal(open_with(&key, &bind, owl_buf_str(&b), &err), -OWL_EPARAMS);
    assert_non_null(strstr(err.message, "expired"));
    seal(&b, OWL_STR("p"), 20);
    nanosleep(&(struct timespec){.tv_nsec = 25000000}, NULL);
    assert_int_equal(open_with(&key, &bind, owl_buf_str(&b), &err), -OWL_EPARAMS);
    assert_non_null(strstr(err.message, "expired"));
    seal(&b, OWL_STR("p"), UINT64_MAX);
    assert_int_equal(open_with(&key, &bind, owl_buf_str(&b), &err), 0);
    owl_buf_done(&b);
}

TEST(an_expired_note_of_another_does_not_say_so, "")
{
    struct owl_buf b;
    struct owl_state_bind other = bind;
    other.principal = OWL_STR("mallory");
    owl_buf_init(&b, SIZE_MAX);
    assert_int_equal(owl_state_key_init(&key, NULL), 0);
    seal(&b, OWL_STR("p"), 0);
    assert_refused(&key, &other, owl_buf_str(&b));
    owl_buf_done(&b);
}

TEST(size_is_capped_on_both_ways, "")
{
    enum { MOST = OWL_STATE_MAX_BYTES / 4 * 3 - 40 };
    static char text[OWL_STATE_MAX_BYTES + 4];
    struct owl_buf b;
    owl_buf_init(&b, SIZE_MAX);
    assert_int_equal(owl_state_key_init(&key, NULL), 0);
    memset(text, 'A', sizeof(text));
    seal(&b, (owl_str){text, MOST}, 60000);
    assert_int_equal(b.n, OWL_STATE_MAX_BYTES);
    assert_int_equal(open_with(&key, &bind, owl_buf_str(&b), NULL), 0);
    owl_buf_reset(&b);
    assert_int_equal(owl_state_seal(&key, &bind, (owl_str){text, MOST + 1}, 60000, &b),
                     -OWL_ELIMIT);
    assert_int_equal(b.n, 0);
    assert_refused(&key, &bind, (owl_str){text, sizeof(text)});
    owl_buf_done(&b);

    owl_buf_init(&b, 16);
    assert_int_equal(owl_state_seal(&key, &bind, OWL_STR("p"), 60000, &b), -OWL_ELIMIT);
    owl_buf_done(&b);
}

TEST(no_memory_is_an_error, "")
{
    struct owl_buf b;
    owl_error err = {0};
    owl_str got;
    owl_buf_init(&b, SIZE_MAX);
    assert_int_equal(owl_state_key_init(&key, NULL), 0);
    for (unsigned long n = 1; n <= 2; n++) {
        owl_alloc_fail_at(n);
        int rc = owl_state_seal(&key, &bind, OWL_STR("p"), 60000, &b);
        owl_alloc_fail_at(0);
        assert_int_equal(rc, -OWL_ENOMEM);
        owl_buf_done(&b);
    }
    seal(&b, OWL_STR("p"), 60000);
    struct owl_arena *tiny = owl_arena_new(1);
    int rc = owl_state_open(&key, &bind, owl_buf_str(&b), tiny, &got, &err);
    assert_true(rc == -OWL_ENOMEM || rc == -OWL_ELIMIT);
    assert_int_equal(err.code, -rc);
    owl_arena_free(tiny);
    owl_buf_done(&b);
}
