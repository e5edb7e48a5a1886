/* support/test.h - what a unit test includes.
 *
 *     TEST(rejects_duplicate_keys, "OR-13.2")
 *     {
 *         assert_int_equal(owl_json_scan(...), -OWL_EPARSE);
 *     }
 *
 * A test registers itself; main.c runs each in a process of its own, so that no test depends on
 * another. The second argument names the requirements that the test proves, separated by blanks. */
#ifndef OWL_SUPPORT_TEST_H
#define OWL_SUPPORT_TEST_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

struct owl_test {
    const char *name;
    const char *ids;
    void (*run)(void);
    int line;
};

/* The section holds pointers to the tests of the program; the linker names its ends. */
#define OWL_TEST_REF __attribute__((used, section("owl_tests")))
#define TEST(name, ids) \
    static void test_##name(void); \
    static const struct owl_test test_def_##name = {#name, ids, test_##name, __LINE__}; \
    OWL_TEST_REF static const struct owl_test *const test_ref_##name = &test_def_##name; \
    static void test_##name(void)

/* Ends the test as skipped; say why, e.g. which data is not there. */
#undef skip
#define skip() owl_test_skip(__FILE__, __LINE__)
void owl_test_skip(const char *file, int line);

/* The path of a file of the test data ($OWLCLAW_TESTDATA, else ../shared/testdata), or NULL if it
 * is not there. Static memory, overwritten by the next call. */
const char *owl_test_data(const char *relative_path);

#endif
