/* Unit tests of codec/digest.c. */
#include "support/test.h"

#include "codec/digest.h"

TEST(a_digest_is_sha_256_in_hexadecimal, "")
{
    char text[OWL_DIGEST_TEXT];
    assert_int_equal(owl_digest(OWL_STR("abc"), text), 0);
    assert_string_equal(text, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
    assert_int_equal(owl_digest((owl_str){NULL, 0}, text), 0);
    assert_string_equal(text, "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
}
