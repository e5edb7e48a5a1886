/* TLS without a socket: files, handshakes in memory, names of peers. */
#include "support/test.h"

#include "base/alloc.h"
#include "unit/transport/tls_fixture.h"

static struct tls_world world;

/* ---- files ---- */

static void refused(const char *cert, const char *key, const char *client_ca, const char *why)
{
    struct owl_tls_files files = {.cert = cert ? tls_path(cert) : NULL,
                                  .key = key ? tls_path(key) : NULL,
                                  .client_ca = client_ca ? tls_path(client_ca) : NULL};
    struct owl_tls *t = NULL;
    owl_error e = {0};
    assert_int_not_equal(owl_tls_new(&files, &t, &e), 0);
    assert_null(t);
    if (!strstr(e.message, why))
        print_error("\"%s\" does not say \"%s\"\n", e.message, why);
    assert_non_null(strstr(e.message, why));
}

TEST(bad_files_are_refused_with_the_file_and_the_reason, "OR-3.10")
{
    world_make(&world);
    struct cert old = cert_make(&(struct cert_plan){.from_days = -9, .to_days = -2});
    struct cert young = cert_make(&(struct cert_plan){.from_days = 2, .to_days = 9});
    write_cert("old.pem", &old);
    write_key("old-key.pem", &old, NULL);
    write_cert("young.pem", &young);
    write_key("young-key.pem", &young, NULL);
    write_key("secret.pem", &world.server, "owl");
    write_text("empty.pem", "");
    write_text("text.pem", "no PEM at all\n");
    refused(NULL, "key.pem", NULL, "cert_file");
    refused("cert.pem", NULL, NULL, "key_file");
    refused("no.pem", "key.pem", NULL, "/no.pem: No such file");
    refused("cert.pem", "no.pem", NULL, "/no.pem: No such file");
    refused("cert.pem", "key.pem", "no.pem", "/no.pem: No such file");
    refused(".", "key.pem", NULL, "/.: Is a directory");
    refused("empty.pem", "key.pem", NULL, "empty.pem is empty");
    refused("text.pem", "key.pem", NULL, "text.pem holds no usable PEM certificate: no start line");
    refused("key.pem", "key.pem", NULL, "key.pem holds no usable PEM certificate");
    refused("cert.pem", "text.pem", NULL, "text.pem holds no usable PEM key");
    refused("cert.pem", "cert.pem", NULL, "cert.pem holds no usable PEM key");
    refused("cert.pem", "key.pem", "text.pem", "text.pem holds no usable PEM certificate");
    refused("cert.pem", "secret.pem", NULL, "secret.pem is encrypted");
    refused("cert.pem", "old-key.pem", NULL, "old-key.pem is not the key of cert_file");
    refused("old.pem", "old-key.pem", NULL, "old.pem expired on ");
    refused("young.pem", "young-key.pem", NULL, "young.pem is not valid before ");
    cert_done(&old);
    cert_done(&young);
    world_done(&world);
}

TEST(a_key_of_another_kind_is_a_mismatch_too, "")
{
    world_make(&world);
    struct cert rsa = {.key = EVP_RSA_gen(2048)};
    write_key("rsa.pem", &rsa, NULL);
    refused("cert.pem", "rsa.pem", NULL, "rsa.pem is not the key of cert_file");
    cert_done(&rsa);
    world_done(&world);
}

TEST(without_memory_there_is_no_context_and_no_connection, "")
{
    world_make(&world);
    struct owl_tls_files files = world_files(true);
    struct owl_tls *t = NULL;
    struct owl_buf out;
    owl_buf_init(&out, SIZE_MAX);
    for (unsigned long n = 1; n <= 4; n++) {
        owl_alloc_fail_at(n);
        assert_int_equal(owl_tls_new(&files, &t, NULL), -OWL_ENOMEM);
        owl_alloc_fail_at(0);
        assert_null(t);
    }
    assert_int_equal(owl_tls_new(&files, &t, NULL), 0);
    owl_alloc_fail_at(1);
    assert_null(owl_tls_conn_new(t, &out));
    owl_alloc_fail_at(0);
    owl_tls_free(t);
    owl_tls_free(NULL);
    owl_tls_conn_free(NULL);
    world_done(&world);
}

/* ---- handshakes in memory ---- */

struct pair {
    struct owl_tls *tls;
    struct owl_buf out; /* to the client */
    struct owl_tls_conn *server;
    SSL *client;
    char got[256]; /* what the server has read */
    size_t got_n;
    ssize_t rc; /* of its last read */
};

static void pair_open(struct pair *p, struct owl_tls *tls, SSL_CTX *ctx)
{
    *p = (struct pair){.tls = tls};
    owl_buf_init(&p->out, SIZE_MAX);
    p->server = owl_tls_conn_new(tls, &p->out);
    assert_non_null(p->server);
    p->client = SSL_new(ctx);
    assert_non_null(p->client);
    SSL_set_bio(p->client, BIO_new(BIO_s_mem()), BIO_new(BIO_s_mem()));
    SSL_set_connect_state(p->client);
}

/* Carries bytes to and fro, from the client in pieces of @p piece, until nobody has any. */
static void pair_pump(struct pair *p, size_t piece)
{
    char bytes[4096];
    bool moved = true;
    assert_true(piece <= sizeof(bytes));
    while (moved) {
        (void)SSL_do_handshake(p->client);
        int n = BIO_read(SSL_get_wbio(p->client), bytes, (int)piece);
        moved = n > 0;
        if (n > 0)
            owl_tls_feed(p->server, (owl_str){bytes, (size_t)n});
        while (n > 0 &&
               (p->rc = owl_tls_read(p->server, p->got + p->got_n, sizeof(p->got) - p->got_n)) > 0)
            p->got_n += (size_t)p->rc;
        if (p->out.n > 0) {
            moved = true;
            assert_int_equal(BIO_write(SSL_get_rbio(p->client), p->out.p, (int)p->out.n), p->out.n);
            owl_buf_reset(&p->out);
        }
    }
}

static void pair_close(struct pair *p)
{
    owl_tls_conn_free(p->server);
    owl_buf_done(&p->out);
    SSL_free(p->client);
}

static struct owl_tls *tls_of_world(bool client_ca)
{
    struct owl_tls *t = NULL;
    struct owl_tls_files files = world_files(client_ca);
    owl_error e = {0};
    int rc = owl_tls_new(&files, &t, &e);
    if (rc != 0)
        print_error("%s\n", e.message);
    assert_int_equal(rc, 0);
    return t;
}

static void converse(int version, size_t piece)
{
    SSL_CTX *ctx = client_ctx(&world.ca, NULL);
    struct owl_tls *tls = tls_of_world(false);
    struct pair p;
    char got[16];
    SSL_CTX_set_min_proto_version(ctx, version);
    SSL_CTX_set_max_proto_version(ctx, version);
    pair_open(&p, tls, ctx);
    assert_false(owl_tls_established(p.server));
    pair_pump(&p, piece);
    assert_true(owl_tls_established(p.server));
    assert_int_equal(SSL_version(p.client), version);
    assert_int_equal(owl_tls_peer(p.server).n, 0);
    assert_int_equal(SSL_write(p.client, "hello", 5), 5);
    pair_pump(&p, piece);
    assert_string_equal(p.got, "hello");
    assert_int_equal(p.rc, 0);
    assert_int_equal(owl_tls_write(p.server, OWL_STR("")), 0);
    assert_int_equal(owl_tls_write(p.server, OWL_STR("world")), 0);
    pair_pump(&p, piece);
    assert_int_equal(SSL_read(p.client, got, sizeof(got)), 5);
    assert_memory_equal(got, "world", 5);
    owl_tls_end(p.server);
    pair_pump(&p, piece);
    assert_int_equal(SSL_read(p.client, got, sizeof(got)), 0);
    assert_int_equal(SSL_get_shutdown(p.client) & SSL_RECEIVED_SHUTDOWN, SSL_RECEIVED_SHUTDOWN);
    SSL_shutdown(p.client);
    pair_pump(&p, piece);
    assert_int_equal(p.rc, -OWL_ECLOSED);
    pair_close(&p);
    owl_tls_free(tls);
    SSL_CTX_free(ctx);
}

TEST(both_versions_converse_in_pieces_of_any_length, "OR-3.10")
{
    world_make(&world);
    converse(TLS1_2_VERSION, 4096);
    converse(TLS1_3_VERSION, 4096);
    converse(TLS1_2_VERSION, 1);
    converse(TLS1_3_VERSION, 7);
    world_done(&world);
}

/* A client with @p ctx does not get through: the server's read fails, and an alert was sent. */
static void fails(struct owl_tls *tls, SSL_CTX *ctx)
{
    struct pair p;
    pair_open(&p, tls, ctx);
    pair_pump(&p, 4096);
    assert_int_equal(p.rc, -OWL_EIO);
    assert_false(owl_tls_established(p.server));
    assert_int_equal(owl_tls_read(p.server, p.got, sizeof(p.got)), -OWL_EIO);
    owl_tls_end(p.server);
    assert_int_equal(p.out.n, 0);
    pair_close(&p);
}

TEST(old_versions_weak_ciphers_and_other_protocols_are_refused, "")
{
    world_make(&world);
    struct owl_tls *tls = tls_of_world(false);
    SSL_CTX *ctx = client_ctx(&world.ca, NULL);
    SSL_CTX_set_security_level(ctx, 0);
    SSL_CTX_set_min_proto_version(ctx, TLS1_VERSION);
    SSL_CTX_set_max_proto_version(ctx, TLS1_1_VERSION);
    fails(tls, ctx);
    SSL_CTX_set_max_proto_version(ctx, TLS1_2_VERSION);
    assert_int_equal(SSL_CTX_set_cipher_list(ctx, "ECDHE-ECDSA-AES128-SHA256"), 1);
    fails(tls, ctx);
    SSL_CTX_free(ctx);
    ctx = client_ctx(&world.ca, NULL);
    SSL_CTX_set_alpn_protos(ctx, (const unsigned char *)"\x02h2", 3);
    fails(tls, ctx);
    SSL_CTX_free(ctx);
    owl_tls_free(tls);
    world_done(&world);
}

TEST(http_1_1_is_chosen_from_what_is_offered, "")
{
    world_make(&world);
    struct owl_tls *tls = tls_of_world(false);
    SSL_CTX *ctx = client_ctx(&world.ca, NULL);
    struct pair p;
    const unsigned char *chosen;
    unsigned n;
    SSL_CTX_set_alpn_protos(ctx, (const unsigned char *)"\x02h2\x08http/1.1", 12);
    pair_open(&p, tls, ctx);
    pair_pump(&p, 4096);
    SSL_get0_alpn_selected(p.client, &chosen, &n);
    assert_int_equal(n, 8);
    assert_memory_equal(chosen, "http/1.1", 8);
    pair_close(&p);
    SSL_CTX_free(ctx);
    owl_tls_free(tls);
    world_done(&world);
}

TEST(a_client_cannot_renegotiate, "")
{
    world_make(&world);
    struct owl_tls *tls = tls_of_world(false);
    SSL_CTX *ctx = client_ctx(&world.ca, NULL);
    struct pair p;
    SSL_CTX_set_max_proto_version(ctx, TLS1_2_VERSION);
    pair_open(&p, tls, ctx);
    pair_pump(&p, 4096);
    assert_int_equal(SSL_renegotiate(p.client), 1);
    pair_pump(&p, 4096);
    assert_true(SSL_do_handshake(p.client) <= 0);
    pair_close(&p);
    SSL_CTX_free(ctx);
    owl_tls_free(tls);
    world_done(&world);
}

TEST(a_client_that_keeps_asking_for_new_keys_is_dropped, "")
{
    world_make(&world);
    struct owl_tls *tls = tls_of_world(false);
    SSL_CTX *ctx = client_ctx(&world.ca, NULL);
    struct pair p;
    pair_open(&p, tls, ctx);
    pair_pump(&p, 4096);
    for (int i = 0; i < 200; i++) {
        assert_int_equal(SSL_key_update(p.client, SSL_KEY_UPDATE_NOT_REQUESTED), 1);
        pair_pump(&p, 4096);
        assert_int_equal(p.rc, i < 64 ? 0 : -OWL_EIO);
    }
    pair_close(&p);
    SSL_CTX_free(ctx);
    owl_tls_free(tls);
    world_done(&world);
}

TEST(what_is_no_tls_fails, "")
{
    world_make(&world);
    struct owl_tls *tls = tls_of_world(false);
    struct owl_buf out;
    char plain[64];
    owl_buf_init(&out, SIZE_MAX);
    static const owl_str bad[] = {
        {"\x16\x03\x01\xff\xff\x01", 6},
        {"\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00", 11},
        {"\x17\x03\x03\x00\x05hello", 10},
        {"\x16\x03\x01\x00\x04\x02\x00\x00\x00", 9},
    };
    for (size_t i = 0; i < OWL_COUNT(bad); i++) {
        struct owl_tls_conn *c = owl_tls_conn_new(tls, &out);
        assert_non_null(c);
        owl_tls_feed(c, bad[i]);
        assert_int_equal(owl_tls_read(c, plain, sizeof(plain)), -OWL_EIO);
        assert_false(owl_tls_established(c));
        owl_tls_conn_free(c);
    }
    owl_buf_done(&out);
    owl_tls_free(tls);
    world_done(&world);
}

TEST(output_without_memory_is_a_failure, "")
{
    world_make(&world);
    struct owl_tls *tls = tls_of_world(false);
    SSL_CTX *ctx = client_ctx(&world.ca, NULL);
    struct pair p;
    pair_open(&p, tls, ctx);
    owl_alloc_fail_at(1);
    pair_pump(&p, 4096);
    owl_alloc_fail_at(0);
    assert_int_equal(p.rc, -OWL_EIO);
    pair_close(&p);
    pair_open(&p, tls, ctx);
    pair_pump(&p, 4096);
    owl_buf_done(&p.out);
    owl_alloc_fail_at(1);
    assert_int_equal(owl_tls_write(p.server, OWL_STR("x")), -OWL_EIO);
    owl_alloc_fail_at(0);
    assert_int_equal(owl_tls_write(p.server, OWL_STR("x")), -OWL_EIO);
    pair_close(&p);
    SSL_CTX_free(ctx);
    owl_tls_free(tls);
    world_done(&world);
}

/* ---- client certificates ---- */

/* The name of a client whose certificate has the common name @p common; freed by the caller. */
static char *peer_of(struct owl_tls *tls, const char *common, size_t n)
{
    struct cert own = cert_make(
        &(struct cert_plan){.common = common, .common_n = n, .issuer = &world.ca});
    SSL_CTX *ctx = client_ctx(&world.ca, &own);
    struct pair p;
    pair_open(&p, tls, ctx);
    pair_pump(&p, 4096);
    assert_int_equal(p.rc, 0);
    assert_true(owl_tls_established(p.server));
    owl_str peer = owl_tls_peer(p.server);
    char *copy = strndup(peer.p, peer.n);
    pair_close(&p);
    SSL_CTX_free(ctx);
    cert_done(&own);
    return copy;
}

TEST(the_name_of_a_client_is_its_common_name_or_its_subject, "OR-3.10")
{
    static const struct {
        const char *common;
        size_t n;
        const char *peer;
    } cases[] = {
        {"athene", 0, "athene"},
        {"Minerva \xc3\x86gis", 0, "Minerva \xc3\x86gis"},
        {NULL, 0, "O=owls"},
        {"a\0b", 3, "CN=a\\00b,O=owls"},
        {"a\nb", 0, "CN=a\\0Ab,O=owls"},
        {"CN=root", 0, "CN=CN=root,O=owls"},
        {"a,O=b", 0, "CN=a\\,O=b,O=owls"},
    };
    world_make(&world);
    struct owl_tls *tls = tls_of_world(true);
    for (size_t i = 0; i < OWL_COUNT(cases); i++) {
        char *peer = peer_of(tls, cases[i].common, cases[i].n);
        assert_string_equal(peer, cases[i].peer);
        free(peer);
    }
    owl_tls_free(tls);
    world_done(&world);
}

TEST(a_client_needs_a_certificate_of_the_right_ca, "OR-3.10")
{
    world_make(&world);
    struct owl_tls *tls = tls_of_world(true);
    struct cert other_ca = cert_make(&(struct cert_plan){.common = "Test CA", .ca = true});
    struct cert forged = cert_make(&(struct cert_plan){.common = "athene", .issuer = &other_ca});
    struct cert old = cert_make(&(struct cert_plan){
        .common = "athene", .issuer = &world.ca, .from_days = -9, .to_days = -2});
    const struct cert *bad[] = {NULL, &forged, &old, &other_ca};
    for (size_t i = 0; i < OWL_COUNT(bad); i++) {
        SSL_CTX *ctx = client_ctx(&world.ca, bad[i]);
        fails(tls, ctx);
        SSL_CTX_set_max_proto_version(ctx, TLS1_2_VERSION);
        fails(tls, ctx);
        SSL_CTX_free(ctx);
    }
    cert_done(&other_ca);
    cert_done(&forged);
    cert_done(&old);
    owl_tls_free(tls);
    world_done(&world);
}

/* Whether a client that comes back is taken on trust. */
static bool resumes(bool client_ca, int version)
{
    struct owl_tls *tls = tls_of_world(client_ca);
    SSL_CTX *ctx = client_ctx(&world.ca, &world.client);
    struct pair p;
    char byte;
    SSL_CTX_set_max_proto_version(ctx, version);
    pair_open(&p, tls, ctx);
    pair_pump(&p, 4096);
    assert_int_equal(SSL_read(p.client, &byte, 1), -1); /* takes the tickets */
    SSL_SESSION *session = SSL_get1_session(p.client);
    SSL_shutdown(p.client);
    pair_close(&p);
    pair_open(&p, tls, ctx);
    SSL_set_session(p.client, session);
    pair_pump(&p, 4096);
    assert_true(owl_tls_established(p.server));
    assert_true(owl_str_is(owl_tls_peer(p.server), client_ca ? "athene" : ""));
    bool reused = SSL_session_reused(p.client);
    pair_close(&p);
    SSL_SESSION_free(session);
    SSL_CTX_free(ctx);
    owl_tls_free(tls);
    return reused;
}

TEST(a_client_that_needs_a_certificate_shows_it_each_time, "OR-3.10")
{
    world_make(&world);
    assert_true(resumes(false, TLS1_2_VERSION));
    assert_true(resumes(false, TLS1_3_VERSION));
    assert_false(resumes(true, TLS1_2_VERSION));
    assert_false(resumes(true, TLS1_3_VERSION));
    world_done(&world);
}

/* ---- reload ---- */

/* Whether a new client sees @p cert. */
static bool serves(struct owl_tls *tls, SSL_CTX *ctx, const struct cert *cert)
{
    struct pair p;
    pair_open(&p, tls, ctx);
    pair_pump(&p, 4096);
    assert_true(owl_tls_established(p.server));
    bool same = X509_cmp(SSL_get0_peer_certificate(p.client), cert->x509) == 0;
    pair_close(&p);
    return same;
}

TEST(a_reload_is_for_new_connections_and_only_if_the_files_are_good, "OR-3.10")
{
    world_make(&world);
    struct owl_tls *tls = tls_of_world(false);
    SSL_CTX *ctx = client_ctx(&world.ca, NULL);
    struct cert fresh = cert_make(&(struct cert_plan){.common = "localhost", .issuer = &world.ca});
    struct pair before;
    owl_error e = {0};
    pair_open(&before, tls, ctx);
    assert_true(serves(tls, ctx, &world.server));
    write_cert("cert.pem", &fresh); /* its key is not there yet */
    assert_int_equal(owl_tls_reload(tls, &e), -OWL_EINVAL);
    assert_non_null(strstr(e.message, "is not the key of"));
    assert_true(serves(tls, ctx, &world.server));
    unlink(tls_path("key.pem"));
    assert_int_equal(owl_tls_reload(tls, &e), -OWL_EIO);
    assert_true(serves(tls, ctx, &world.server));
    write_key("key.pem", &fresh, NULL);
    assert_int_equal(owl_tls_reload(tls, &e), 0);
    assert_true(serves(tls, ctx, &fresh));
    pair_pump(&before, 4096);
    assert_true(owl_tls_established(before.server));
    assert_int_equal(X509_cmp(SSL_get0_peer_certificate(before.client), world.server.x509), 0);
    pair_close(&before);
    cert_done(&fresh);
    SSL_CTX_free(ctx);
    owl_tls_free(tls);
    world_done(&world);
}
