/* owlclaw/server.h - an MCP server in a C program.
 *
 *     owl_server_options options = OWL_SERVER_OPTIONS("hello", "1.0");
 *     owl_server *server = NULL;
 *     owl_error error;
 *     if (owl_server_new(&options, &server, &error) != 0) ...
 *     owl_server_add_tool(server, &tool, &error);
 *     owl_server_listen(server, "127.0.0.1:8080", &error);
 *     owl_server_run(server, &error);
 *     owl_server_free(server);
 *
 * Clients of every supported protocol revision are served at once, over HTTP (POST, GET and DELETE
 * on /mcp), the old HTTP+SSE (GET /mcp/sse and POST /mcp/messages) and stdio.
 *
 * Threads: every function here may be called from any thread unless it says otherwise. The server
 * copies what it is given. */
#ifndef OWLCLAW_SERVER_H
#define OWLCLAW_SERVER_H

#include <owlclaw/handler.h>
#include <owlclaw/limits.h>

OWL_BEGIN_DECLS

/** Options and definitions are begun with OWL_SERVER_OPTIONS(), OWL_TOOL(), OWL_RESOURCE() and
 *  OWL_PROMPT() (init.h), which fill in `size` and the members that nearly everybody gives. They
 *  grow at their end; `size` says which members the caller knows. Members that are 0 or NULL have
 *  the default. A library that is older than the program refuses what it does not know, unless it is
 *  0 (OWL_EINVAL). */
typedef struct owl_server_options {
    size_t size;              /* sizeof(owl_server_options) */
    const char *name;         /* required: how the server calls itself */
    const char *version;      /* required */
    const char *title;        /* for people */
    const char *instructions; /* for the model: how the server is meant to be used */
    const char *revisions;    /* protocol revisions to serve, separated by commas; default: all */
    unsigned reactors;        /* event loop threads; default: one a core */
    unsigned workers;         /* handler threads; default: 4 × cores, at least 8 */
    unsigned timeout_ms;      /* longest call; default 300000 */
    unsigned page_items;      /* items on one page of a list; default 100, resources 50 */
    unsigned list_ttl_ms;     /* how long modern clients may cache lists, and resources that have
                               * no handler; default 0 */
    const char *allow_hosts;  /* Host and Origin names to accept besides loopback, by commas:
                               * "mcp.example.com, 10.0.0.5:8080"; "*" for any */
    const void *state_key;    /* 32 secret bytes that seal what clients carry between two rounds of
                               * questions; default: random. Give replicas the same. */
    owl_log_fn log;           /* receives the library's log; default: none */
    void *log_data;
    unsigned log_level; /* least severe owl_level that reaches log; default: info */
    unsigned _reserved;
    const owl_limits *limits; /* limits.h; default: those of a server for a few thousand clients */
    const char *trusted_proxies; /* whose connections are not limited: addresses, CIDR blocks,
                                  * "unix", by commas */
    /* Origins whose pages may use the server and read its answers, by commas:
     * "https://app.example.com, http://localhost:3000". "*" lets every page that a user visits call
     * every tool; what stands against DNS rebinding is that only known Hosts are served, so never
     * combine it with allow_hosts "*". Default: none. */
    const char *cors_origins;
    unsigned error_style; /* an owl_error_style; default: by the revision of the client */
    /* OWL_OFFERS_…: capabilities to declare before the first tool, resource or prompt is added. A
     * legacy client is notified only of changes of capabilities that were declared when it
     * connected. Default: those of which an item is, or was, registered by then. */
    unsigned offers;
} owl_server_options;

enum { OWL_OFFERS_TOOLS = 1u << 0, OWL_OFFERS_RESOURCES = 1u << 1, OWL_OFFERS_PROMPTS = 1u << 2 };

/** @errors OWL_EINVAL (the message names the option), OWL_ENOMEM. */
OWL_API int owl_server_new(const owl_server_options *options, owl_server **ret_server,
                           owl_error *reterr);
/** Stops and joins if need be, then frees. NULL is fine. Not from a handler. */
OWL_API void owl_server_free(owl_server *server);

/* ---- where to serve: before the start, or while running where it says so --------------------- */

/** Listen for HTTP on "host:port", "[::1]:port" or "port" (loopback); port 0 picks a free one. An
 *  address that is not loopback is refused unless allow_hosts is set: the library authenticates
 *  nobody. "unix:/path" is a Unix socket that only this user may open (mode 0600); it replaces one
 *  that nobody listens on and is removed at the end. "unix:@name" is one of Linux's abstract
 *  namespace, which every user of the machine may open, as with loopback. May be called several
 *  times, before the start or while running. While running it binds at once, otherwise the start does:
 *  there an address that cannot be used is OWL_EINVAL or OWL_EIO, and the message says why.
 *  @errors OWL_EINVAL (no address), OWL_ESTATE (stopping or stopped), OWL_ENOMEM. */
OWL_API int owl_server_listen(owl_server *server, const char *address, owl_error *reterr);

/** Begun with OWL_TLS_OPTIONS() (init.h). All files are PEM. */
typedef struct owl_tls_options {
    size_t size;                /* sizeof(owl_tls_options) */
    const char *cert_file;      /* required: the certificate, then those between it and its CA */
    const char *key_file;       /* required: its key, not encrypted */
    const char *client_ca_file; /* if set, clients need a certificate that one of these signed */
} owl_tls_options;

/** The same as owl_server_listen() for HTTPS, TLS 1.2 and later. Reads the files now. What a client
 *  with a certificate makes (sessions, tasks, states of questions) belongs to the name in it and is
 *  unknown to others. @errors as there; OWL_EINVAL, OWL_EIO (the message names the file and what is
 *  wrong with it). */
OWL_API int owl_server_listen_tls(owl_server *server, const char *address,
                                  const owl_tls_options *tls, owl_error *reterr);
/** Listen no more on @p address, which is written as it was given to owl_server_listen() or
 *  owl_server_listen_tls(); of several equal ones on the first. Returns at once, and the address is free
 *  soon. Connections that are open live on, and so does the server, even if nothing else is left to
 *  listen on. @errors OWL_ENOTFOUND, OWL_ESTATE (stopping or stopped). */
OWL_API int owl_server_unlisten(owl_server *server, const char *address, owl_error *reterr);
/** Read the files of all HTTPS listeners again, before the start or while running; connections
 *  that are open keep what they began with. A listener whose new files are bad keeps the old ones,
 *  and the first such failure is returned. @errors OWL_EINVAL, OWL_EIO, as above. */
OWL_API int owl_server_reload_tls(owl_server *server, owl_error *reterr);

/** Serve one client on a pair of descriptors, one message a line; end of input stops the server.
 *  They stay the caller's, with the flags that they had. If @p out_fd is 1, standard output is the
 *  server's own until it stops: what the program prints meanwhile goes to standard error. One pair a
 *  server. @errors OWL_EINVAL (one is negative), OWL_ESTATE (started, or there is a pair). */
OWL_API int owl_server_serve_fds(owl_server *server, int in_fd, int out_fd, owl_error *reterr);
/** The port of the first listener that has one, once started; otherwise 0. */
OWL_API int owl_server_port(const owl_server *server);

/* ---- running --------------------------------------------------------------------------------- */

/** Start, serve until owl_server_stop() or end of input, finish what runs, and return.
 *  @errors as owl_server_start(). */
OWL_API int owl_server_run(owl_server *server, owl_error *reterr);

/** The same in three parts. A server runs once. A start that failed spends it, too: it can only be
 *  freed then, unless the start found nowhere to serve. @errors OWL_EINVAL, OWL_EIO (an address or a
 *  descriptor that cannot be used, or the system gives no more of something), OWL_ESTATE (nowhere to
 *  serve; started before), OWL_ENOMEM. */
OWL_API int owl_server_start(owl_server *server, owl_error *reterr);
/** Begin to stop: no new work, running calls get 4 s, are then cancelled and answered with a
 *  retryable error. Called again, or after the end of input has begun the stop, it does not wait any
 *  longer: calls are cancelled now. Returns at once; may be called before the start, from a handler and
 *  from a signal handler. NULL is fine. */
OWL_API void owl_server_stop(owl_server *server);
/** Wait until the server has stopped and every handler has returned. Not from a handler.
 *  @errors OWL_ESTATE (not started). */
OWL_API int owl_server_join(owl_server *server);

/** For a program with its own event loop, instead of start and join. owl_server_fd() starts the
 *  server with the calling thread as its only reactor (handlers run on workers all the same): poll
 *  that descriptor for reading, for at most owl_server_poll_ms() (-1: for ever), then call
 *  owl_server_step(), which never blocks. All three from one thread. @return of fd: the descriptor,
 *  the same one each time, or a negative error; of step: 1 while serving, 0 when stopped, or a
 *  negative error. @errors of fd: as owl_server_start(); OWL_ESTATE also if it was started by that;
 *  of step: OWL_ESTATE (not started by fd). */
OWL_API int owl_server_fd(owl_server *server, owl_error *reterr);
OWL_API int owl_server_poll_ms(owl_server *server);
OWL_API int owl_server_step(owl_server *server);

/* ---- what to serve: before the start or while running; clients are told ---------------------- */

enum {
    OWL_INLINE = 1u << 0,     /* run on the reactor thread; the handler must not block */
    OWL_PARKED = 1u << 1,     /* tools only: asks with owl_ask_async(), is never run again */
    OWL_TASK = 1u << 2,       /* tools only: runs as a task for clients that take tasks */
    OWL_TASK_ONLY = 1u << 3,  /* … and not for others */
    OWL_TASK_LATER = 1u << 4, /* tools only: runs as a task from when the handler says
                               * owl_call_become_task(), unless the client decides that itself
                               * (2025-11-25). Not with OWL_TASK or OWL_TASK_ONLY. */
    OWL_FOREIGN = 1u << 5,    /* tools only: another server's, whose results are passed on. One that
                               * does not fit output_schema is a warning in the log, no failure */
    OWL_CACHEABLE = 1u << 8   /* own methods only: modern results carry ttlMs and cacheScope */
};

typedef struct owl_tool {
    size_t size;      /* sizeof(owl_tool) */
    const char *name; /* required: 1 to 128 of A-Z a-z 0-9 _ . - */
    const char *description;
    const char *input_schema; /* JSON Schema of an object, as text; default: no arguments. What a
                               * handler reads fits it */
    owl_handler_fn handler;   /* required */
    void *data;               /* for the handler */
    unsigned flags;           /* OWL_INLINE, OWL_PARKED, OWL_TASK…, OWL_FOREIGN */
    unsigned timeout_ms;      /* longest call of this tool; default: the server's */
    /* Called when the tool and its last call are gone, on any thread; not if adding it failed. */
    void (*free_data)(void *);
    const char *title;
    const char *output_schema; /* JSON Schema: structuredContent, which every success must then
                                * have, fits it, or the call fails. Clients before 2025-06-18 do not
                                * see it, those before 2026-07-28 if its "type" is "object"; these
                                * get such content only. */
    const char *annotations;   /* JSON object: readOnlyHint, destructiveHint … */
    const char *icons;         /* JSON array */
    const char *meta;          /* JSON object: `_meta` */
} owl_tool;

/** Add a tool, or replace the one of the same name; calls that run keep the old one.
 *  @errors OWL_EINVAL (the message names the member), OWL_ELIMIT (100,000 tools, resources and
 *  prompts are there), OWL_ENOMEM. */
OWL_API int owl_server_add_tool(owl_server *server, const owl_tool *tool, owl_error *reterr);

typedef struct owl_resource {
    size_t size;      /* sizeof(owl_resource) */
    const char *uri;  /* a URI, or a template such as "db://{table}/{id}" */
    const char *name; /* required */
    const char *description;
    const char *mime_type;
    owl_handler_fn handler; /* reads it; or NULL and text */
    void *data;
    unsigned flags; /* OWL_INLINE */
    unsigned timeout_ms;
    void (*free_data)(void *);
    const char *text;        /* content that never changes, instead of a handler */
    owl_handler_fn complete; /* templates: completes variables; or NULL */
    const char *title;
    int64_t bytes;           /* size of the content if known, otherwise 0 */
    const char *annotations; /* JSON object */
    const char *icons;       /* JSON array */
    const char *meta;        /* JSON object */
} owl_resource;
/** The same for a resource or template, by its URI. @errors as owl_server_add_tool(). */
OWL_API int owl_server_add_resource(owl_server *server, const owl_resource *resource,
                                    owl_error *reterr);

typedef struct owl_prompt {
    size_t size;      /* sizeof(owl_prompt) */
    const char *name; /* required */
    const char *description;
    const char *arguments;  /* JSON array of {name, description?, required?}; default: none */
    owl_handler_fn handler; /* required */
    void *data;
    unsigned flags; /* OWL_INLINE */
    unsigned timeout_ms;
    void (*free_data)(void *);
    owl_handler_fn complete; /* completes arguments; or NULL */
    const char *title;
    const char *icons; /* JSON array */
    const char *meta;  /* JSON object */
} owl_prompt;
/** The same for a prompt. @errors as owl_server_add_tool(). */
OWL_API int owl_server_add_prompt(owl_server *server, const owl_prompt *prompt, owl_error *reterr);

/** @errors OWL_ENOTFOUND. */
OWL_API int owl_server_remove_tool(owl_server *server, const char *name);
OWL_API int owl_server_remove_resource(owl_server *server, const char *uri);
OWL_API int owl_server_remove_prompt(owl_server *server, const char *name);

/** Tell the clients that subscribed to @p uri that it has changed. @return 0 also if nobody has, or
 *  the server does not run. @errors OWL_EINVAL (NULL), OWL_ENOMEM. */
OWL_API int owl_server_resource_updated(owl_server *server, const char *uri);

/* ---- beyond the core protocol: before the start ---------------------------------------------- */

/** Serve a method of one's own, e.g. "skills/list": the handler reads owl_call_params() and answers
 *  with owl_result_raw(). @errors OWL_EINVAL, OWL_EEXISTS (added before, or a method of the protocol
 *  itself), OWL_ESTATE (started), OWL_ENOMEM. */
typedef struct owl_method_def {
    size_t size;            /* sizeof(owl_method_def) */
    const char *name;       /* required */
    owl_handler_fn handler; /* required */
    void *data;
    unsigned flags; /* OWL_INLINE, OWL_CACHEABLE */
    unsigned timeout_ms;
    void (*free_data)(void *);
} owl_method_def;
OWL_API int owl_server_add_method(owl_server *server, const owl_method_def *method,
                                  owl_error *reterr);
/** Declare an extension capability, e.g. "com.example/search" with the settings "{}" (the same as
 *  NULL). @errors OWL_EINVAL (no such id, or the settings are no JSON object), OWL_EEXISTS (declared
 *  already; that of tasks is the server's), OWL_ESTATE (started), OWL_ENOMEM. */
OWL_API int owl_server_add_extension(owl_server *server, const char *id, const char *settings_json,
                                     owl_error *reterr);
/** Load a plugin (handler.h) from a shared object, before the start or while running. @p config may
 *  be NULL. @errors OWL_EIO (it cannot be loaded), OWL_EINVAL (it is no plugin), OWL_EVERSION (its
 *  ABI is another), OWL_ENOMEM; its own, or OWL_ETOOL if it did not say why it failed. */
OWL_API int owl_server_load_plugin(owl_server *server, const char *path, const char *config,
                                   owl_error *reterr);

OWL_END_DECLS

#include <owlclaw/init.h>

#endif
