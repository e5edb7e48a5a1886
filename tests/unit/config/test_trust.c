/* Unit tests of config/trust.c. */
#include "unit/config/box.h"

#include "config/trust.h"

static const char abc[] = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";

static void list(const struct owl_trust *t, struct owl_buf *b)
{
    owl_buf_init(b, 1 << 20);
    assert_int_equal(owl_trust_list(t, b, NULL), 0);
    owl_buf_putc(b, '\0');
}

TEST(a_file_is_trusted_by_its_content, "")
{
    struct box b;
    struct owl_buf text;
    owl_error e;
    char expected[256];
    box_open(&b);
    struct owl_trust t = {.state_dir = b.home};
    assert_false(owl_trust_holds(&t, "/p/.kode.json", OWL_STR("abc")));
    assert_int_equal(owl_trust_remove(&t, "/p/.kode.json", &e), -OWL_ENOTFOUND);
    assert_string_equal(e.message, "/p/.kode.json is not trusted");
    assert_int_equal(owl_trust_add(&t, "/p/.kode.json", OWL_STR("abc"), &e), 0);
    assert_true(owl_trust_holds(&t, "/p/.kode.json", OWL_STR("abc")));
    assert_false(owl_trust_holds(&t, "/p/.kode.json", OWL_STR("abcd")));
    assert_false(owl_trust_holds(&t, "/q/.kode.json", OWL_STR("abc")));
    assert_int_equal(owl_trust_add(&t, "/q/.kode.json", OWL_STR("x"), &e), 0);
    assert_int_equal(owl_trust_add(&t, "/q/.kode.json", OWL_STR("abc"), &e), 0);
    list(&t, &text);
    snprintf(expected, sizeof expected, "/p/.kode.json\t%s\n/q/.kode.json\t%s\n", abc, abc);
    assert_string_equal(text.p, expected);
    owl_buf_done(&text);
    assert_int_equal(owl_trust_remove(&t, "/p/.kode.json", &e), 0);
    assert_false(owl_trust_holds(&t, "/p/.kode.json", OWL_STR("abc")));
    assert_true(owl_trust_holds(&t, "/q/.kode.json", OWL_STR("abc")));
    box_close(&b);
}

TEST(the_list_has_its_place, "")
{
    struct owl_arena *a = owl_arena_new(0);
    assert_string_equal(owl_trust_state_dir(a, "/state", "/home/me"), "/state");
    assert_string_equal(owl_trust_state_dir(a, NULL, "/home/me"), "/home/me/.local/state");
    assert_string_equal(owl_trust_state_dir(a, "relative", "/home/me"), "/home/me/.local/state");
    assert_null(owl_trust_state_dir(a, NULL, NULL));
    assert_null(owl_trust_state_dir(a, "", ""));
    owl_arena_free(a);
}

TEST(the_list_is_ours_alone, "")
{
    struct box b;
    owl_error e;
    char path[128];
    struct stat s;
    box_open(&b);
    struct owl_trust t = {.state_dir = b.home};
    assert_int_equal(owl_trust_add(&t, "/p", OWL_STR("abc"), &e), 0);
    snprintf(path, sizeof path, "%s/owlclaw/trust", b.home);
    assert_int_equal(stat(path, &s), 0);
    assert_int_equal(s.st_mode & 0777, 0600);
    assert_int_equal(chmod(path, 0666), 0);
    assert_false(owl_trust_holds(&t, "/p", OWL_STR("abc")));
    assert_int_equal(owl_trust_add(&t, "/q", OWL_STR("abc"), &e), -OWL_EIO);
    assert_non_null(strstr(e.message, "may be changed by others"));
    assert_int_equal(unlink(path), 0);
    assert_int_equal(mkdir(path, 0700), 0);
    struct owl_buf text;
    owl_buf_init(&text, 100);
    assert_int_equal(owl_trust_list(&t, &text, &e), -OWL_EIO);
    owl_buf_done(&text);
    box_close(&b);
}

TEST(lines_that_are_no_entries_are_passed_over, "")
{
    struct box b;
    char line[256];
    box_open(&b);
    struct owl_trust t = {.state_dir = b.home};
    snprintf(line, sizeof line, "\nnonsense\n/p\tshort\n\t\n/p\t%s\n/half\t%.20s", abc, abc);
    box_write(&b, "home/owlclaw/trust", line);
    snprintf(line, sizeof line, "%s/owlclaw/trust", b.home);
    assert_int_equal(chmod(line, 0600), 0);
    assert_true(owl_trust_holds(&t, "/p", OWL_STR("abc")));
    assert_false(owl_trust_holds(&t, "/half", OWL_STR("abc")));
    box_close(&b);
}

TEST(what_cannot_be_kept_is_refused, "")
{
    struct box b;
    owl_error e;
    char path[128];
    static char deep[5000];
    box_open(&b);
    struct owl_trust t = {.state_dir = b.home};
    assert_int_equal(owl_trust_add(&t, "/a\tb", OWL_STR("x"), &e), -OWL_EINVAL);
    assert_int_equal(owl_trust_add(&t, "/a\nb", OWL_STR("x"), &e), -OWL_EINVAL);
    box_write(&b, "file", "x");
    snprintf(path, sizeof path, "%s/file", b.dir);
    struct owl_trust blocked = {.state_dir = path};
    assert_int_equal(owl_trust_add(&blocked, "/p", OWL_STR("x"), &e), -OWL_EIO);
    assert_non_null(strstr(e.message, "make the folder"));
    assert_false(owl_trust_holds(&blocked, "/p", OWL_STR("x")));
    memset(deep, 'd', sizeof deep - 1);
    struct owl_trust far = {.state_dir = deep};
    assert_int_equal(owl_trust_add(&far, "/p", OWL_STR("x"), &e), -OWL_EIO);
    assert_int_equal(owl_trust_remove(&far, "/p", &e), -OWL_EIO);
    assert_false(owl_trust_holds(&far, "/p", OWL_STR("x")));
    box_close(&b);
}

TEST(without_memory_nothing_is_trusted_or_lost, "")
{
    struct box b;
    box_open(&b);
    struct owl_trust t = {.state_dir = b.home};
    assert_int_equal(owl_trust_add(&t, "/p", OWL_STR("abc"), NULL), 0);
    for (unsigned long n = 1; n < 6; n++) {
        owl_error e;
        owl_alloc_fail_at(n);
        int rc = owl_trust_add(&t, "/q", OWL_STR("abc"), &e);
        owl_alloc_fail_at(0);
        assert_true(rc == 0 || rc == -OWL_ENOMEM);
        assert_true(owl_trust_holds(&t, "/p", OWL_STR("abc")));
        assert_int_equal(owl_trust_holds(&t, "/q", OWL_STR("abc")), rc == 0);
    }
    owl_alloc_fail_at(1);
    bool holds = owl_trust_holds(&t, "/p", OWL_STR("abc"));
    owl_alloc_fail_at(0);
    assert_false(holds);
    box_close(&b);
}
