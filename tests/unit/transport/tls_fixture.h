/* Certificates in a folder of their own, made as the tests need them. */
#ifndef OWL_TEST_TLS_FIXTURE_H
#define OWL_TEST_TLS_FIXTURE_H

#include <dirent.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>
#include <stdio.h>
#include <unistd.h>

#include "base/base.h"
#include "transport/tls.h"

struct cert {
    EVP_PKEY *key;
    X509 *x509;
};

/* What to make; zeros are sensible. */
struct cert_plan {
    const struct cert *issuer; /* NULL: itself */
    const char *common;        /* NULL: the subject is only O=owls */
    size_t common_n;           /* 0: that of the string */
    int from_days, to_days;    /* 0, 0: from yesterday until tomorrow */
    bool ca;
};

static char tls_folder[] = "/tmp/owlclaw-tls-XXXXXX";

static inline void tls_add_extension(X509 *x, int nid, const char *value)
{
    X509_EXTENSION *e = X509V3_EXT_conf_nid(NULL, NULL, nid, value);
    assert_non_null(e);
    assert_int_equal(X509_add_ext(x, e, -1), 1);
    X509_EXTENSION_free(e);
}

static inline struct cert cert_make(const struct cert_plan *p)
{
    static long serial = 1;
    struct cert c = {.key = EVP_EC_gen("P-256"), .x509 = X509_new()};
    assert_non_null(c.key);
    assert_non_null(c.x509);
    X509_set_version(c.x509, 2);
    ASN1_INTEGER_set(X509_get_serialNumber(c.x509), serial++);
    X509_NAME *name = X509_get_subject_name(c.x509);
    X509_NAME_add_entry_by_txt(name, "O", MBSTRING_UTF8, (const unsigned char *)"owls", -1, -1, 0);
    if (p->common)
        X509_NAME_add_entry_by_txt(name, "CN", MBSTRING_UTF8, (const unsigned char *)p->common,
                                   p->common_n ? (int)p->common_n : -1, -1, 0);
    X509_set_issuer_name(c.x509, p->issuer ? X509_get_subject_name(p->issuer->x509) : name);
    bool dated = p->from_days || p->to_days;
    X509_gmtime_adj(X509_getm_notBefore(c.x509), 86400L * (dated ? p->from_days : -1));
    X509_gmtime_adj(X509_getm_notAfter(c.x509), 86400L * (dated ? p->to_days : 1));
    X509_set_pubkey(c.x509, c.key);
    if (p->ca)
        tls_add_extension(c.x509, NID_basic_constraints, "critical,CA:TRUE");
    else
        tls_add_extension(c.x509, NID_subject_alt_name, "DNS:localhost,IP:127.0.0.1");
    assert_true(X509_sign(c.x509, p->issuer ? p->issuer->key : c.key, EVP_sha256()) > 0);
    return c;
}

static inline void cert_done(struct cert *c)
{
    EVP_PKEY_free(c->key);
    X509_free(c->x509);
}

/* "FOLDER/name", in one of a few static buffers. */
static inline const char *tls_path(const char *name)
{
    static char paths[8][512];
    static unsigned next;
    if (strstr(tls_folder, "XXXXXX"))
        assert_non_null(mkdtemp(tls_folder));
    char *path = paths[next++ % 8];
    snprintf(path, sizeof(paths[0]), "%s/%s", tls_folder, name);
    return path;
}

static inline void tls_folder_done(void)
{
    DIR *d = opendir(tls_folder);
    assert_non_null(d);
    for (const struct dirent *e; (e = readdir(d));)
        unlink(tls_path(e->d_name)); /* not "." and "..": those are folders */
    closedir(d);
    rmdir(tls_folder);
}

static inline void write_text(const char *name, const char *text)
{
    FILE *f = fopen(tls_path(name), "we");
    assert_non_null(f);
    fputs(text, f);
    fclose(f);
}

static inline void write_cert(const char *name, const struct cert *c)
{
    FILE *f = fopen(tls_path(name), "we");
    assert_non_null(f);
    assert_int_equal(PEM_write_X509(f, c->x509), 1);
    fclose(f);
}

static inline void write_key(const char *name, const struct cert *c, const char *passphrase)
{
    FILE *f = fopen(tls_path(name), "we");
    assert_non_null(f);
    assert_int_equal(PEM_write_PKCS8PrivateKey(f, c->key, passphrase ? EVP_aes_128_cbc() : NULL,
                                               passphrase, passphrase ? (int)strlen(passphrase) : 0,
                                               NULL, NULL),
                     1);
    fclose(f);
}

/* A CA (ca.pem), a server (cert.pem, key.pem) and a client that it has signed for. */
struct tls_world {
    struct cert ca, server, client;
};

static inline void world_make(struct tls_world *w)
{
    w->ca = cert_make(&(struct cert_plan){.common = "Test CA", .ca = true});
    w->server = cert_make(&(struct cert_plan){.common = "localhost", .issuer = &w->ca});
    w->client = cert_make(&(struct cert_plan){.common = "athene", .issuer = &w->ca});
    write_cert("ca.pem", &w->ca);
    write_cert("cert.pem", &w->server);
    write_key("key.pem", &w->server, NULL);
}

static inline void world_done(struct tls_world *w)
{
    cert_done(&w->ca);
    cert_done(&w->server);
    cert_done(&w->client);
    tls_folder_done();
}

static inline struct owl_tls_files world_files(bool client_ca)
{
    return (struct owl_tls_files){.cert = tls_path("cert.pem"),
                                  .key = tls_path("key.pem"),
                                  .client_ca = client_ca ? tls_path("ca.pem") : NULL};
}

/* For clients that trust @p ca and show @p own (or NULL). */
static inline SSL_CTX *client_ctx(const struct cert *ca, const struct cert *own)
{
    SSL_CTX *ctx = SSL_CTX_new(TLS_client_method());
    assert_non_null(ctx);
    SSL_CTX_set_verify(ctx, SSL_VERIFY_PEER, NULL);
    assert_int_equal(X509_STORE_add_cert(SSL_CTX_get_cert_store(ctx), ca->x509), 1);
    if (own) {
        assert_int_equal(SSL_CTX_use_certificate(ctx, own->x509), 1);
        assert_int_equal(SSL_CTX_use_PrivateKey(ctx, own->key), 1);
    }
    return ctx;
}

#endif
