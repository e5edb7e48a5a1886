/* Unit tests of config/summary.c; what a good configuration looks like is tested end to end. */
#include "unit/config/box.h"

#include "config/summary.h"

TEST(a_broken_configuration_is_summed_up_as_far_as_it_goes, "")
{
    struct box b;
    struct owl_buf text;
    box_open(&b);
    box_try(&b, "a.yaml",
            "mcp_server:\n  transport: http\n  http: 3\n  servers: {}\n  governance: "
            "{default_quota: []}\n"
            "  tools: x\n");
    owl_buf_init(&text, 4096);
    owl_config_summary(&text, b.c);
    owl_buf_putc(&text, '\0');
    assert_string_equal(text.p,
                        "  transport   http\n"
                        "  http        ?:?, no TLS\n"
                        "  tools       ? s for a call at most\n"
                        "  checked only: servers, governance (not in this build yet, without "
                        "effect)\n");
    owl_buf_done(&text);
    box_close(&b);
}

TEST(the_socket_is_named_that_is_listened_on, "")
{
    struct box b;
    struct owl_buf text;
    box_open(&b);
    box_try(&b, "a.yaml",
            "mcp_server: {transport: http, http: {socket: /run/owl.sock, port: 99}}\n");
    owl_buf_init(&text, 4096);
    owl_config_summary(&text, b.c);
    owl_buf_putc(&text, '\0');
    assert_non_null(strstr(text.p, "\n  http        Unix socket /run/owl.sock, no TLS\n"));
    assert_null(strstr(text.p, "99"));
    owl_buf_done(&text);
    box_close(&b);
}

TEST(a_summary_without_room_or_memory_fails, "")
{
    struct box b;
    struct owl_buf text;
    box_open(&b);
    box_try(&b, "a.yaml", "mcp_server: {transport: http, servers: {a: {command: c}}}\n");
    owl_buf_init(&text, 4096);
    owl_config_summary(&text, b.c);
    size_t n = text.n;
    assert_int_equal(text.rc, 0);
    owl_buf_done(&text);
    for (size_t room = 0; room < n; room++) {
        owl_buf_init(&text, room);
        owl_config_summary(&text, b.c);
        assert_int_equal(text.rc, -OWL_ELIMIT);
        owl_buf_done(&text);
    }
    for (unsigned long at = 1;; at++) {
        owl_buf_init(&text, 4096);
        owl_alloc_fail_at(at);
        owl_config_summary(&text, b.c);
        owl_alloc_fail_at(0);
        int rc = text.rc;
        owl_buf_done(&text);
        assert_true(rc == 0 || rc == -OWL_ENOMEM);
        assert_true(rc != 0 || at > 1);
        if (rc == 0)
            break;
    }
    box_close(&b);
}
