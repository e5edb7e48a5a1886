/* Unit tests of codec/base64.c. */
#include "support/test.h"

#include "base/alloc.h"
#include "codec/base64.h"

struct vector {
    owl_str bytes;
    const char *standard, *url;
};

static const struct vector vectors[] = {
    {{"", 0}, "", ""},
    {{"f", 1}, "Zg==", "Zg"},
    {{"fo", 2}, "Zm8=", "Zm8"},
    {{"foo", 3}, "Zm9v", "Zm9v"},
    {{"foob", 4}, "Zm9vYg==", "Zm9vYg"},
    {{"fooba", 5}, "Zm9vYmE=", "Zm9vYmE"},
    {{"foobar", 6}, "Zm9vYmFy", "Zm9vYmFy"},
    {{"\xfb\xff\xfe", 3}, "+//+", "-__-"},
    {{"\0\0", 2}, "AAA=", "AAA"},
};

TEST(vectors_both_ways, "")
{
    for (size_t i = 0; i < OWL_COUNT(vectors); i++) {
        const struct vector *v = &vectors[i];
        struct owl_buf b;
        owl_buf_init(&b, 1000);
        owl_base64_encode(&b, v->bytes.p, v->bytes.n);
        assert_true(owl_str_is(owl_buf_str(&b), v->standard));
        owl_buf_reset(&b);
        owl_base64url_encode(&b, v->bytes.p, v->bytes.n);
        assert_true(owl_str_is(owl_buf_str(&b), v->url));
        owl_buf_reset(&b);
        assert_int_equal(owl_base64_decode(&b, owl_str_of(v->standard)), 0);
        assert_int_equal(owl_base64url_decode(&b, owl_str_of(v->url)), 0);
        assert_int_equal(b.n, v->bytes.n * 2);
        assert_memory_equal(owl_buf_str(&b).p, v->bytes.p, v->bytes.n);
        assert_memory_equal(owl_buf_str(&b).p + v->bytes.n, v->bytes.p, v->bytes.n);
        owl_buf_done(&b);
    }
}

TEST(every_byte_survives, "")
{
    unsigned char all[256];
    for (size_t i = 0; i < sizeof all; i++)
        all[i] = (unsigned char)i;
    for (size_t n = 0; n <= sizeof all; n++) {
        struct owl_buf text, bytes;
        owl_buf_init(&text, 1000);
        owl_buf_init(&bytes, 1000);
        owl_base64_encode(&text, all, n);
        assert_int_equal(owl_base64_decode(&bytes, owl_buf_str(&text)), 0);
        assert_int_equal(bytes.n, n);
        assert_memory_equal(owl_buf_str(&bytes).p, all, n);
        owl_buf_done(&text);
        owl_buf_done(&bytes);
    }
}

TEST(other_spellings_are_refused_and_taken_back, "")
{
    static const char *const standard[] = {"Z",
                                           "Zg",
                                           "Zg=",
                                           "Zg===",
                                           "Zh==",
                                           "Zm9=",
                                           "Zm9v=",
                                           "====",
                                           "=Zg=",
                                           "Zg==Zg==",
                                           "Z g=",
                                           "Zm9\n",
                                           "-__-",
                                           "Zm9vZ",
                                           "Zg=a",
                                           "Z===",
                                           "\xff\xff\xff\xff"};
    static const char *const url[] = {"Z", "Zg==", "Zh", "Zm9", "+//+", "Zm9vY", "Zg=", "Z.", " "};
    struct owl_buf b;
    owl_buf_init(&b, 1000);
    owl_buf_putz(&b, "kept");
    for (size_t i = 0; i < OWL_COUNT(standard); i++)
        assert_int_equal(owl_base64_decode(&b, owl_str_of(standard[i])), -OWL_EPARSE);
    for (size_t i = 0; i < OWL_COUNT(url); i++)
        assert_int_equal(owl_base64url_decode(&b, owl_str_of(url[i])), -OWL_EPARSE);
    assert_true(owl_str_is(owl_buf_str(&b), "kept"));
    assert_int_equal(b.rc, 0);
    owl_buf_done(&b);
}

TEST(limits_and_memory, "")
{
    struct owl_buf b;
    owl_buf_init(&b, 4);
    assert_int_equal(owl_base64_decode(&b, OWL_STR("Zm9vYmFy")), -OWL_ELIMIT);
    owl_buf_reset(&b);
    owl_base64_encode(&b, "abc", 3);
    assert_int_equal(b.rc, 0);
    owl_buf_reset(&b);
    owl_base64_encode(&b, "abcdef", 6);
    assert_int_equal(b.rc, -OWL_ELIMIT);
    owl_buf_done(&b);
    owl_alloc_fail_at(1);
    assert_int_equal(owl_base64_decode(&b, OWL_STR("Zm9v")), -OWL_ENOMEM);
    owl_alloc_fail_at(0);
    owl_buf_done(&b);
}
