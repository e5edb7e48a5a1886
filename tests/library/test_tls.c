/* HTTPS through the public API: what is refused, and reloading several listeners. */
#include "support/test.h"

#include <owlclaw/server.h>

#include "base/alloc.h"
#include "support/http.h"
#include "unit/transport/tls_fixture.h"

static struct tls_world world;

static owl_server *make_server(void)
{
    owl_server_options o = OWL_SERVER_OPTIONS("tls", "1");
    owl_server *s = NULL;
    o.reactors = 1;
    assert_int_equal(owl_server_new(&o, &s, NULL), 0);
    return s;
}

static owl_tls_options options_of_world(void)
{
    owl_tls_options o = OWL_TLS_OPTIONS(tls_path("cert.pem"), tls_path("key.pem"));
    return o;
}

TEST(what_cannot_be_listened_on_is_refused_with_the_reason, "OR-3.10")
{
    world_make(&world);
    owl_server *s = make_server();
    owl_tls_options o = options_of_world();
    owl_error e = {0};
    assert_int_equal(owl_server_listen_tls(s, "127.0.0.1:0", NULL, &e), -OWL_EINVAL);
    o.size = sizeof(size_t);
    assert_int_equal(owl_server_listen_tls(s, "127.0.0.1:0", &o, &e), -OWL_EINVAL);
    assert_non_null(strstr(e.message, "sizeof(owl_tls_options)"));
    o = options_of_world();
    o.key_file = NULL;
    assert_int_equal(owl_server_listen_tls(s, "127.0.0.1:0", &o, &e), -OWL_EINVAL);
    assert_non_null(strstr(e.message, "key_file"));
    o.key_file = tls_path("none.pem");
    assert_int_equal(owl_server_listen_tls(s, "127.0.0.1:0", &o, &e), -OWL_EIO);
    assert_non_null(strstr(e.message, "none.pem"));
    o = options_of_world();
    assert_int_equal(owl_server_listen_tls(s, "", &o, &e), -OWL_EINVAL);
    for (unsigned long n = 1; n <= 5; n++) { /* of the context and of the address */
        owl_alloc_fail_at(n);
        int rc = owl_server_listen_tls(s, "127.0.0.1:0", &o, &e);
        owl_alloc_fail_at(0);
        if (rc == 0)
            break;
        assert_int_equal(rc, -OWL_ENOMEM);
    }
    owl_server_free(s);
    world_done(&world);
}

TEST(without_tls_there_is_nothing_to_reload, "")
{
    owl_server *s = make_server();
    assert_int_equal(owl_server_listen(s, "127.0.0.1:0", NULL), 0);
    assert_int_equal(owl_server_reload_tls(s, NULL), 0);
    owl_server_free(s);
}

/* The serial number of the certificate that is shown at @p port. */
static long serial_at(int port)
{
    static struct http c;
    SSL_CTX *ctx = client_ctx(&world.ca, NULL);
    http_open_port(&c, port);
    assert_true(http_secure(&c, ctx));
    long serial = ASN1_INTEGER_get(X509_get0_serialNumber(SSL_get0_peer_certificate(c.ssl)));
    static const char get[] = "GET /none HTTP/1.1\r\nHost: localhost\r\n\r\n";
    assert_true(http_put(&c, get, sizeof get - 1));
    assert_int_equal(http_head(&c), 404);
    http_close(&c);
    SSL_CTX_free(ctx);
    return serial;
}

TEST(a_listener_with_bad_files_does_not_keep_others_from_reloading, "OR-3.10")
{
    world_make(&world);
    write_cert("cert2.pem", &world.server);
    write_key("key2.pem", &world.server, NULL);
    owl_server *s = make_server();
    owl_tls_options good = options_of_world(),
                    bad = OWL_TLS_OPTIONS(tls_path("cert2.pem"), tls_path("key2.pem"));
    owl_error e = {0};
    assert_int_equal(owl_server_listen_tls(s, "127.0.0.1:0", &good, &e), 0);
    assert_int_equal(owl_server_listen_tls(s, "127.0.0.1:0", &bad, &e), 0);
    assert_int_equal(owl_server_reload_tls(s, &e), 0);
    assert_int_equal(owl_server_start(s, &e), 0);
    assert_int_equal(owl_server_listen_tls(s, "127.0.0.1:0", &good, &e), 0); /* one more */
    int port = owl_server_port(s);
    long before = serial_at(port);

    struct cert fresh = cert_make(&(struct cert_plan){.common = "localhost", .issuer = &world.ca});
    write_cert("cert.pem", &fresh);
    write_key("key.pem", &fresh, NULL);
    write_text("key2.pem", "spoilt");
    assert_int_equal(owl_server_reload_tls(s, &e), -OWL_EINVAL);
    assert_non_null(strstr(e.message, "key2.pem"));
    assert_int_not_equal(serial_at(port), before);
    cert_done(&fresh);
    owl_server_free(s);
    world_done(&world);
}
