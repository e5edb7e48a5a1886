/* transport/tls.c - TLS by OpenSSL, over spans of memory instead of a socket.
 * Threads: the lock of a context guards only which SSL_CTX is the present one; each connection
 * holds a reference to its own.
 *
 * OpenSSL sees one BIO: it reads from the span that was fed and writes to the buffer that the owner
 * sends from, so that neither side copies more than OpenSSL itself does. Writing never blocks, hence
 * the only thing that OpenSSL ever waits for is input.
 * Invariant: the error queue of the thread is empty before each call that is followed by a look at
 * it. */
#include "transport/tls.h"

#include <errno.h>
#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>

#include "base/alloc.h"
#include "base/err.h"

enum {
    PEER_BYTES = 1024, /* the longest name of a client that is believed */
    KEY_UPDATES = 64   /* of a connection: each costs what thousands of bytes do */
};

struct owl_tls {
    atomic_uint refs; /* the owner's and one a connection */
    pthread_mutex_t lock;
    SSL_CTX *ctx; /* under lock */
    BIO_METHOD *spans;
    struct owl_tls_files files; /* own copies */
};

struct owl_tls_conn {
    struct owl_tls *of;
    SSL *ssl;
    struct owl_buf *out;
    owl_str in; /* fed and not used yet */
    char *peer; /* or NULL */
    bool established, failed;
    unsigned key_updates;
};

/* ---- loading --------------------------------------------------------------------------------- */

/* What OpenSSL says is wrong, without its file and function names; what came later only says which
 * part of it noticed. Empties the queue. */
static const char *reason(void)
{
    const char *text = ERR_reason_error_string(ERR_peek_error());
    ERR_clear_error();
    return text ? text : "no reason given";
}

static int unreadable(const char *what, const char *path, owl_error *reterr)
{
    FILE *f = fopen(path, "re");
    if (!f)
        return owl_fail(reterr, OWL_EIO, "%s %s: %s", what, path, strerror(errno));
    int c = getc(f); /* a folder opens, but cannot be read */
    int error = ferror(f) ? errno : 0;
    fclose(f);
    if (error)
        return owl_fail(reterr, OWL_EIO, "%s %s: %s", what, path, strerror(error));
    return c == EOF ? owl_fail(reterr, OWL_EINVAL, "%s %s is empty", what, path) : 0;
}

/* There is nobody to ask; that it was needed is all that matters. */
static int on_passphrase(char *buf, int size, int writing, void *asked)
{
    (void)buf;
    (void)size;
    (void)writing;
    *(bool *)asked = true;
    return -1;
}

static int load_key(SSL_CTX *ctx, const char *path, owl_error *reterr)
{
    bool encrypted = false;
    int rc = unreadable("key_file", path, reterr);
    if (rc != 0)
        return rc;
    SSL_CTX_set_default_passwd_cb(ctx, on_passphrase);
    SSL_CTX_set_default_passwd_cb_userdata(ctx, &encrypted);
    int ok = SSL_CTX_use_PrivateKey_file(ctx, path, SSL_FILETYPE_PEM);
    SSL_CTX_set_default_passwd_cb_userdata(ctx, NULL);
    SSL_CTX_set_default_passwd_cb(ctx, NULL);
    if (ok == 1)
        return 0;
    if (encrypted)
        return owl_fail(reterr, OWL_EINVAL,
                        "key_file %s is encrypted: write one without a passphrase, e.g. with "
                        "openssl pkey",
                        path);
    return owl_fail(reterr, OWL_EINVAL, "key_file %s holds no usable PEM key: %s", path, reason());
}

/* The certificate would be refused by every client: say so now and not to each of them. */
static int check_dates(const X509 *cert, const char *path, owl_error *reterr)
{
    const ASN1_TIME *from = X509_get0_notBefore(cert), *to = X509_get0_notAfter(cert);
    bool early = X509_cmp_current_time(from) > 0;
    if (!early && X509_cmp_current_time(to) > 0)
        return 0;
    char when[64] = "an unknown date";
    BIO *b = BIO_new(BIO_s_mem());
    int n = b && ASN1_TIME_print(b, early ? from : to) == 1 ? BIO_read(b, when, sizeof(when) - 1)
                                                            : 0;
    if (n > 0)
        when[n] = '\0';
    BIO_free(b);
    return owl_fail(reterr, OWL_EINVAL,
                    early ? "cert_file %s is not valid before %s" : "cert_file %s expired on %s",
                    path, when);
}

static int load_cert(SSL_CTX *ctx, const struct owl_tls_files *files, owl_error *reterr)
{
    int rc = unreadable("cert_file", files->cert, reterr);
    if (rc != 0)
        return rc;
    if (SSL_CTX_use_certificate_chain_file(ctx, files->cert) != 1)
        return owl_fail(reterr, OWL_EINVAL, "cert_file %s holds no usable PEM certificate: %s",
                        files->cert, reason());
    rc = check_dates(SSL_CTX_get0_certificate(ctx), files->cert, reterr);
    if (rc == 0 && SSL_CTX_check_private_key(ctx) != 1)
        rc = owl_fail(reterr, OWL_EINVAL, "key_file %s is not the key of cert_file %s", files->key,
                      files->cert);
    ERR_clear_error();
    return rc;
}

/* Each connection is verified anew: a session that is resumed is not, and could be for ever, long
 * after the certificate has expired. */
static int load_client_ca(SSL_CTX *ctx, const char *path, owl_error *reterr)
{
    int rc = unreadable("client_ca_file", path, reterr);
    if (rc != 0)
        return rc;
    STACK_OF(X509_NAME) *names = SSL_load_client_CA_file(path);
    if (!names || SSL_CTX_load_verify_file(ctx, path) != 1 ||
        SSL_CTX_set_num_tickets(ctx, 0) != 1) {
        sk_X509_NAME_pop_free(names, X509_NAME_free);
        return owl_fail(reterr, OWL_EINVAL, "client_ca_file %s holds no usable PEM certificate: %s",
                        path, reason());
    }
    SSL_CTX_set_client_CA_list(ctx, names);     /* takes them */
    SSL_CTX_set_options(ctx, SSL_OP_NO_TICKET); /* of TLS 1.2 */
    SSL_CTX_set_verify(ctx, SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT, NULL);
    return 0;
}

static int on_alpn(SSL *ssl, const unsigned char **ret, unsigned char *ret_n,
                   const unsigned char *offered, unsigned n, void *unused)
{
    (void)ssl;
    (void)unused;
    for (unsigned at = 0; at < n; at += 1u + offered[at]) {
        if (!owl_str_is((owl_str){(const char *)offered + at + 1, offered[at]}, "http/1.1"))
            continue;
        *ret = offered + at + 1;
        *ret_n = offered[at];
        return SSL_TLSEXT_ERR_OK;
    }
    return SSL_TLSEXT_ERR_ALERT_FATAL;
}

/* A peer may ask for new keys with 27 bytes, as often as it likes; records hold one such message
 * each. What it is told is OpenSSL's to say.
 * NOLINTNEXTLINE(readability-function-size) */
static void on_message(int sent, int version, int type, const void *message, size_t n, SSL *ssl,
                       void *conn)
{
    struct owl_tls_conn *c = conn;
    (void)version;
    (void)ssl;
    if (!sent && type == SSL3_RT_HANDSHAKE && n > 0 &&
        *(const unsigned char *)message == SSL3_MT_KEY_UPDATE && ++c->key_updates > KEY_UPDATES)
        c->failed = true; /* nothing more is read */
}

/* Forward secrecy and authenticated encryption only; all of TLS 1.3 is of that kind. */
static bool configure(SSL_CTX *ctx)
{
    SSL_CTX_set_options(ctx, SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_COMPRESSION |
                                 SSL_OP_CIPHER_SERVER_PREFERENCE | SSL_OP_PRIORITIZE_CHACHA);
    /* Idle connections keep no record buffers: there may be thousands. */
    SSL_CTX_set_mode(ctx, SSL_MODE_RELEASE_BUFFERS);
    SSL_CTX_set_session_cache_mode(ctx, SSL_SESS_CACHE_OFF); /* tickets need none */
    SSL_CTX_set_alpn_select_cb(ctx, on_alpn, NULL);
    SSL_CTX_set_msg_callback(ctx, on_message);
    return SSL_CTX_set_min_proto_version(ctx, TLS1_2_VERSION) == 1 &&
           SSL_CTX_set_cipher_list(ctx, "ECDHE+AESGCM:ECDHE+CHACHA20") == 1;
}

static int load(const struct owl_tls_files *files, SSL_CTX **ret, owl_error *reterr)
{
    ERR_clear_error();
    SSL_CTX *ctx = SSL_CTX_new(TLS_server_method());
    if (!ctx || !configure(ctx)) {
        SSL_CTX_free(ctx);
        return owl_fail(reterr, OWL_ENOMEM, "OpenSSL: %s", reason());
    }
    /* The key first: a certificate that does not fit it is then told apart from one that is bad. */
    int rc = load_key(ctx, files->key, reterr);
    if (rc == 0)
        rc = load_cert(ctx, files, reterr);
    if (rc == 0 && files->client_ca)
        rc = load_client_ca(ctx, files->client_ca, reterr);
    if (rc != 0) {
        SSL_CTX_free(ctx);
        return rc;
    }
    *ret = ctx;
    return 0;
}

/* ---- the context ----------------------------------------------------------------------------- */

static int span_read(BIO *b, char *to, int size)
{
    struct owl_tls_conn *c = BIO_get_data(b);
    BIO_clear_retry_flags(b);
    if (c->failed)
        return -1;
    if (c->in.n == 0) {
        BIO_set_retry_read(b);
        return -1;
    }
    size_t n = c->in.n < (size_t)size ? c->in.n : (size_t)size;
    memcpy(to, c->in.p, n);
    c->in = (owl_str){c->in.p + n, c->in.n - n};
    return (int)n;
}

static int span_write(BIO *b, const char *p, int n)
{
    struct owl_tls_conn *c = BIO_get_data(b);
    BIO_clear_retry_flags(b);
    owl_buf_put(c->out, p, (size_t)n);
    return c->out->rc == 0 ? n : -1;
}

static long span_ctrl(BIO *b, int command, long number, void *p)
{
    (void)b;
    (void)number;
    (void)p;
    return command == BIO_CTRL_FLUSH;
}

static BIO_METHOD *span_method(void)
{
    BIO_METHOD *m = BIO_meth_new(BIO_TYPE_SOURCE_SINK, "owl");
    if (m && BIO_meth_set_read(m, span_read) && BIO_meth_set_write(m, span_write) &&
        BIO_meth_set_ctrl(m, span_ctrl))
        return m;
    BIO_meth_free(m);
    return NULL;
}

static void files_done(struct owl_tls *t)
{
    union {
        const char *ours;
        void *p;
    } texts[] = {{t->files.cert}, {t->files.key}, {t->files.client_ca}};
    for (size_t i = 0; i < OWL_COUNT(texts); i++)
        owl_free(texts[i].p);
}

static bool files_init(struct owl_tls *t, const struct owl_tls_files *files)
{
    t->files = (struct owl_tls_files){.cert = owl_strdup(files->cert),
                                      .key = owl_strdup(files->key),
                                      .client_ca = owl_strdup(files->client_ca)};
    return t->files.cert && t->files.key && (t->files.client_ca || !files->client_ca);
}

int owl_tls_new(const struct owl_tls_files *files, struct owl_tls **ret, owl_error *reterr)
{
    if (!files->cert || !files->key)
        return owl_fail(reterr, OWL_EINVAL, "TLS needs a cert_file and a key_file");
    struct owl_tls *t = owl_calloc(1, sizeof(*t));
    if (!t)
        return owl_fail(reterr, OWL_ENOMEM, NULL);
    atomic_init(&t->refs, 1);
    pthread_mutex_init(&t->lock, NULL);
    t->spans = span_method();
    bool ready = files_init(t, files) && t->spans;
    int rc = ready ? load(files, &t->ctx, reterr) : owl_fail(reterr, OWL_ENOMEM, NULL);
    if (rc != 0) {
        owl_tls_free(t);
        return rc;
    }
    *ret = t;
    return 0;
}

void owl_tls_free(struct owl_tls *t)
{
    if (!t || atomic_fetch_sub_explicit(&t->refs, 1u, memory_order_acq_rel) != 1)
        return;
    SSL_CTX_free(t->ctx);
    BIO_meth_free(t->spans);
    files_done(t);
    pthread_mutex_destroy(&t->lock);
    owl_free(t);
}

int owl_tls_reload(struct owl_tls *t, owl_error *reterr)
{
    SSL_CTX *fresh = NULL;
    int rc = load(&t->files, &fresh, reterr);
    if (rc != 0)
        return rc;
    pthread_mutex_lock(&t->lock);
    SSL_CTX *old = t->ctx;
    t->ctx = fresh;
    pthread_mutex_unlock(&t->lock);
    SSL_CTX_free(old);
    return 0;
}

/* ---- connections ----------------------------------------------------------------------------- */

static SSL *ssl_new(struct owl_tls *t)
{
    pthread_mutex_lock(&t->lock);
    SSL *ssl = SSL_new(t->ctx);
    pthread_mutex_unlock(&t->lock);
    return ssl;
}

struct owl_tls_conn *owl_tls_conn_new(struct owl_tls *t, struct owl_buf *out)
{
    struct owl_tls_conn *c = owl_calloc(1, sizeof(*c));
    if (!c)
        return NULL;
    BIO *b = BIO_new(t->spans);
    c->ssl = b ? ssl_new(t) : NULL;
    if (!c->ssl) {
        BIO_free(b);
        owl_free(c);
        ERR_clear_error();
        return NULL;
    }
    atomic_fetch_add_explicit(&t->refs, 1u, memory_order_relaxed);
    c->of = t;
    c->out = out;
    BIO_set_data(b, c);
    BIO_set_init(b, 1);
    SSL_set_bio(c->ssl, b, b); /* takes it */
    SSL_set_accept_state(c->ssl);
    SSL_set_msg_callback_arg(c->ssl, c);
    return c;
}

void owl_tls_conn_free(struct owl_tls_conn *c)
{
    if (!c)
        return;
    SSL_free(c->ssl);
    owl_tls_free(c->of);
    owl_free(c->peer);
    owl_free(c);
}

/* ---- who the peer is ---- */

static bool is_plain_name(owl_str s)
{
    for (size_t i = 0; i < s.n; i++) {
        unsigned char ch = (unsigned char)s.p[i];
        if (ch < ' ' || ch == 0x7f || ch == '=' || ch == ',')
            return false;
    }
    return s.n > 0;
}

/* The only common name of a subject as UTF-8, if it is plain; NULL otherwise. Freed by the caller
 * with OPENSSL_free(). */
static unsigned char *common_name(const X509_NAME *subject, int *ret_n)
{
    unsigned char *text = NULL;
    int at = X509_NAME_get_index_by_NID(subject, NID_commonName, -1);
    if (at < 0 || X509_NAME_get_index_by_NID(subject, NID_commonName, at) >= 0)
        return NULL;
    int n = ASN1_STRING_to_UTF8(&text, X509_NAME_ENTRY_get_data(X509_NAME_get_entry(subject, at)));
    if (n >= 0 && is_plain_name((owl_str){(const char *)text, (size_t)n})) {
        *ret_n = n;
        return text;
    }
    OPENSSL_free(text);
    return NULL;
}

/* Escaped, but readable beyond ASCII. */
static char *full_name(const X509_NAME *subject)
{
    char *name = NULL, *text = NULL;
    BIO *b = BIO_new(BIO_s_mem());
    if (b && X509_NAME_print_ex(b, subject, 0, XN_FLAG_RFC2253 & ~ASN1_STRFLGS_ESC_MSB) >= 0) {
        long n = BIO_get_mem_data(b, &text);
        name = n > 0 && n <= PEER_BYTES ? owl_strndup(text, (size_t)n) : NULL;
    }
    BIO_free(b);
    return name;
}

/* Whoever has a certificate has a name, or is not let in. */
static bool note_peer(struct owl_tls_conn *c)
{
    const X509 *cert = SSL_get0_peer_certificate(c->ssl);
    if (!cert)
        return true;
    const X509_NAME *subject = X509_get_subject_name(cert);
    int n = 0;
    unsigned char *common = common_name(subject, &n);
    if (!common)
        c->peer = full_name(subject);
    else if (n <= PEER_BYTES)
        c->peer = owl_strndup((const char *)common, (size_t)n);
    OPENSSL_free(common);
    return c->peer != NULL;
}

owl_str owl_tls_peer(const struct owl_tls_conn *c)
{
    return c->peer ? owl_str_of(c->peer) : OWL_STR("");
}

/* ---- bytes ---- */

static int fail(struct owl_tls_conn *c)
{
    c->failed = true;
    ERR_clear_error();
    return -OWL_EIO;
}

void owl_tls_feed(struct owl_tls_conn *c, owl_str in)
{
    c->in = in;
}

ssize_t owl_tls_read(struct owl_tls_conn *c, char *to, size_t size)
{
    size_t n = 0;
    if (c->failed)
        return -OWL_EIO;
    ERR_clear_error();
    int ok = SSL_read_ex(c->ssl, to, size, &n);
    int error = SSL_get_error(c->ssl, ok);
    if (!c->established && SSL_is_init_finished(c->ssl)) {
        if (!note_peer(c))
            return fail(c);
        c->established = true;
    }
    switch (error) {
    case SSL_ERROR_NONE: return (ssize_t)n;
    case SSL_ERROR_WANT_READ: return 0;
    case SSL_ERROR_ZERO_RETURN: return -OWL_ECLOSED;
    default: return fail(c);
    }
}

bool owl_tls_established(const struct owl_tls_conn *c)
{
    return c->established;
}

int owl_tls_write(struct owl_tls_conn *c, owl_str bytes)
{
    size_t n;
    OWL_ASSERT(c->established);
    if (bytes.n == 0)
        return 0;
    ERR_clear_error();
    if (c->failed || SSL_write_ex(c->ssl, bytes.p, bytes.n, &n) != 1)
        return fail(c);
    return 0;
}

void owl_tls_end(struct owl_tls_conn *c)
{
    if (!c->established || c->failed)
        return;
    ERR_clear_error();
    if (SSL_shutdown(c->ssl) < 0)
        OWL_IGNORE(fail(c)); /* the connection ends in any case */
}
