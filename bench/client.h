/* client.h - connections of an HTTP client that speaks MCP, as load.c and streams.c share them.
 *
 * Blocking sockets: a request fits the socket's buffer, and nothing is read before epoll says that
 * there is something. What goes wrong ends the program. One thread. */
#ifndef BENCH_CLIENT_H
#define BENCH_CLIENT_H

#include <llhttp.h>
#include <stdbool.h>
#include <stddef.h>

#define MODERN "2026-07-28"
#define LEGACY "2025-11-25"

#define MODERN_META \
    "\"_meta\":{\"io.modelcontextprotocol/protocolVersion\":\"" MODERN "\"," \
    "\"io.modelcontextprotocol/clientInfo\":{\"name\":\"bench\",\"version\":\"1\"}," \
    "\"io.modelcontextprotocol/clientCapabilities\":{}}"

#define INITIALIZE \
    "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"initialize\",\"params\":{" \
    "\"protocolVersion\":\"" LEGACY "\",\"capabilities\":{}," \
    "\"clientInfo\":{\"name\":\"bench\",\"version\":\"1\"}}}"
#define INITIALIZED "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/initialized\"}"

struct conn {
    int fd;
    unsigned step;   /* the caller's: where it is in its script */
    unsigned found;  /* the caller's: how much of a text it has seen */
    llhttp_t parser; /* of the answer that comes */
    enum { OTHER_HEADER, SESSION_HEADER } header;
    bool complete;
    size_t body_len;
    char session[64]; /* Mcp-Session-Id of the last answer that had one, or empty */
    char body[1024];  /* the beginning of the answer's body */
};

/* A request, made once and sent often. */
struct request {
    size_t len;
    char bytes[2048];
};

/* Prints what failed and ends the program. */
void fail(const char *what);
double now(void);
/* Lets the process have as many descriptors as it may. */
void raise_descriptors(void);

/* The @p index-th connection to the port, from an address of its own for every 20,000. */
void conn_open(struct conn *c, int port, size_t index);
/* @p lines are further header lines, each with CRLF; Host, Accept and what describes the body are
 * here. */
void request_make(struct request *r, const char *method, int port, const char *lines,
                  const char *body);
void conn_send(struct conn *c, const struct request *r);
/* A legacy request; of the session, if there is one. */
void conn_send_legacy(struct conn *c, int port, const char *method, const char *body);
/* Reads what is there; true once an answer is complete. */
bool conn_receive(struct conn *c);
/* Ends the program unless the answer that is complete has this status. */
void conn_expect(const struct conn *c, int status);

/* Called with the bytes of every body as they come, after they were counted. */
extern void (*on_body_bytes)(struct conn *c, const char *bytes, size_t n);

#endif
