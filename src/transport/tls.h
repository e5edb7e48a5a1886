/* transport/tls.h - TLS between the network and a protocol: bytes in, bytes out, no socket.
 * Layer: transport. Threads: a context on any, a connection on one at a time.
 *
 * The server's side, TLS 1.2 and later, ALPN http/1.1, no renegotiation, no compression. */
#ifndef OWL_TRANSPORT_TLS_H
#define OWL_TRANSPORT_TLS_H

#include <sys/types.h>

#include "base/buf.h"

struct owl_tls;      /* certificate and key, as the files were when they were last read */
struct owl_tls_conn; /* keeps the certificate that it began with */

struct owl_tls_files {     /* all PEM */
    const char *cert;      /* the server's certificate, then those between it and its CA */
    const char *key;       /* its key, not encrypted */
    const char *client_ca; /* clients must show a certificate signed by one of these; or NULL */
};

/* Reads the files. @errors OWL_EINVAL, OWL_EIO (both name the file and what is wrong), OWL_ENOMEM. */
OWL_NODISCARD int owl_tls_new(const struct owl_tls_files *files, struct owl_tls **ret,
                              owl_error *reterr);
/* [any] Connections that were made of it live on. NULL is fine. */
void owl_tls_free(struct owl_tls *t);
/* [any] Reads the files again, for connections that begin from now on. After a failure (as above)
 * everything is as it was. */
OWL_NODISCARD int owl_tls_reload(struct owl_tls *t, owl_error *reterr);

/* What is to be sent to the peer is added to @p out, by each of the functions below; connections of
 * one thread may share it if it is emptied in between. NULL without memory. */
OWL_NODISCARD struct owl_tls_conn *owl_tls_conn_new(struct owl_tls *t, struct owl_buf *out);
void owl_tls_conn_free(struct owl_tls_conn *c);

/* Gives bytes of the peer to the connection; they are borrowed until the next call. Read until the
 * result is not positive, so that they are used up. */
void owl_tls_feed(struct owl_tls_conn *c, owl_str in);
/* Takes the handshake further, then deciphers. How many bytes of plain text were read, or 0: more
 * must be fed. @errors OWL_ECLOSED (the peer has said that this is the end), OWL_EIO (failed: an
 * alert may be in `out`, and nothing works any more). */
OWL_NODISCARD ssize_t owl_tls_read(struct owl_tls_conn *c, char *to, size_t size);
/* The handshake is over: the peer is who it says, and can be written to. */
bool owl_tls_established(const struct owl_tls_conn *c);
/* @errors OWL_EIO. */
OWL_NODISCARD int owl_tls_write(struct owl_tls_conn *c, owl_str bytes);
/* Tells the peer that nothing will follow. */
void owl_tls_end(struct owl_tls_conn *c);

/* Whom the certificate of the peer names: its common name if it has one that can be told from a
 * distinguished name, otherwise the subject in the form of RFC 2253. Empty without a certificate. */
owl_str owl_tls_peer(const struct owl_tls_conn *c);

#endif
