/* owlclaw/handler.h - what a handler sees of a call. C programs and plugins use the same interface.
 *
 * A handler serves one call: it reads the arguments, adds to the result, and returns.
 *
 *     static int add(owl_call *call, void *data)
 *     {
 *         const owl_json *args = owl_call_args(call);
 *         return owl_result_textf(call, "%g", owl_json_get_num(args, "a", 0) +
 *                                             owl_json_get_num(args, "b", 0));
 *     }
 *
 * Its return value says what happens next:
 *     0             the call is finished with the result built so far
 *     OWL_LATER     the handler kept the call with owl_call_ref(); owl_call_finish() will end it
 *     OWL_PENDING   a question of owl_ask() waits for the client: the handler is run again from its
 *                   start, with an empty result, when the answers are there
 *     -OWL_E*       the call failed; owl_call_fail() has said why, otherwise a plain text is sent
 * A failure of a tool reaches the model as a result that is marked as an error; a failure of
 * anything else is a JSON-RPC error.
 *
 * Threads: a handler runs on a worker thread, or on a reactor thread if it was registered with
 * OWL_INLINE (then it must not block). Functions marked [any] may be called from any thread that
 * holds the call, at any time; the others by the handler, or by one thread at a time after it has
 * returned OWL_LATER and before the call is finished.
 *
 * Lifetimes: a call lives until its handler has returned and each owl_call_ref() has been undone.
 * All pointers obtained from it live as long. What is given to it is copied. */
#ifndef OWLCLAW_HANDLER_H
#define OWLCLAW_HANDLER_H

#include <owlclaw/json.h>

OWL_BEGIN_DECLS

typedef struct owl_server owl_server;
typedef struct owl_call owl_call;

enum { OWL_PENDING = 1, OWL_LATER = 2 };

typedef int (*owl_handler_fn)(owl_call *call, void *data);

/* ---- what is asked ------------------------------------------------------------------------ */

/** [any] The arguments of a tool or prompt; an empty object if none were given. Never NULL. Those
 *  of a tool fit its input schema. */
OWL_API const owl_json *owl_call_args(owl_call *call);
/** [any] All of `params`, for methods of one's own; NULL elsewhere. */
OWL_API const owl_json *owl_call_params(owl_call *call);
/** The name of the tool or prompt, the URI of the resource, or the method. */
OWL_API const char *owl_call_name(const owl_call *call);
/** A variable of the URI template that matched ("id" of "db://{id}/row"), decoded to UTF-8; NULL if
 *  there is no such variable, or no memory. In a completion handler: another argument that the
 *  client has filled in already. */
OWL_API const char *owl_call_var(owl_call *call, const char *name);
/** In a completion handler: the argument to complete and what was typed so far. */
OWL_API const char *owl_call_complete_name(const owl_call *call);
OWL_API const char *owl_call_complete_value(const owl_call *call);

/** The protocol revision that the client speaks, e.g. "2025-11-25". Static. */
OWL_API const char *owl_call_revision(const owl_call *call);
/** Who calls: the name in the client's certificate (its common name if that is plain, otherwise its
 *  subject), if certificates are asked for; otherwise "". Never NULL. */
OWL_API const char *owl_call_principal(const owl_call *call);
/** The server that runs the call. Not after the server was freed. */
OWL_API owl_server *owl_call_server(owl_call *call);
/** [any] Whether the client declared a capability: "sampling", "sampling.tools", "elicitation"
 *  (either mode), "elicitation.form", "elicitation.url", "roots", "extensions.<id>" and
 *  "experimental.<key>" (all that follows is the id or key). What the client's revision does not
 *  have does not count. */
OWL_API bool owl_call_client_can(owl_call *call, const char *capability);
/** Fails the call unless the client declared @p capability. @return 0 or -OWL_ECAPABILITY, to be
 *  returned by the handler. */
OWL_API int owl_call_require(owl_call *call, const char *capability);

/** [any] Whether the call was ended from outside: the client cancelled, the deadline passed, or the
 *  server has stopped waiting for it. What the handler still does is wasted. */
OWL_API bool owl_call_cancelled(const owl_call *call);
/** [any] Milliseconds until the deadline; 0 when it has passed. */
OWL_API int64_t owl_call_remaining_ms(const owl_call *call);
/** Have @p fn called when the call is ended from outside (as owl_call_cancelled() says): once, on a
 *  reactor thread, or at once by the caller if that has happened already. It must not block. One
 *  function per run of the handler (OWL_EEXISTS); NULL takes it back: once that has returned, it
 *  does not run any more and @p data may go. */
OWL_API int owl_call_on_cancel(owl_call *call, void (*fn)(owl_call *call, void *data), void *data);

/* ---- while it runs --------------------------------------------------------------------------- */

/** [any] Tell the client how far the call is, if it asked to know. @p total is 0 if unknown,
 *  @p message may be NULL. Values that do not increase are dropped. If the call is a task, the last
 *  message is its `statusMessage` as well, whether the client asked or not and however the value
 *  goes: its first 512 bytes, in whole characters; NULL leaves it as it is. Never blocks. @return 0
 *  also if nobody wants to know. @errors OWL_EDONE, OWL_ECLOSED, OWL_EINVAL, OWL_ENOMEM, OWL_ELIMIT
 *  (too many are on their way: dropped). */
OWL_API int owl_call_progress(owl_call *call, double progress, double total, const char *message);
/** [any] Send a log message to the client, if it wants this level; likewise. @p logger may be
 *  NULL. */
OWL_API int owl_call_logf(owl_call *call, owl_level level, const char *logger, const char *fmt, ...)
    OWL_PRINTF(4, 5);
/** [any] The same with any JSON value as its data. */
OWL_API int owl_call_log_json(owl_call *call, owl_level level, const char *logger, const char *json,
                              size_t len);

/** [any] In a tool registered with OWL_TASK_LATER: the client is answered with a task now, and comes
 *  back for the result; the call goes on, for as long as tasks are kept. Questions asked before
 *  travel with the call, later ones with the task. @return 0, also if it is a task already, or if no
 *  more tasks can be kept: then the client waits as before.
 *  @errors OWL_ECAPABILITY: this client takes no task, the call goes on as it was; OWL_ESTATE: the
 *  tool was registered without OWL_TASK_LATER; OWL_ECLOSED, OWL_ENOMEM. */
OWL_API int owl_call_become_task(owl_call *call);

/** [any] Let the client go while a long call runs: its connection is answered now, the call goes on,
 *  and the client comes back for the rest, the result too. That needs a client of revision
 *  2025-11-25 over HTTP which accepts an event stream; for every other nothing happens, and it waits
 *  as before. One that does not come back within a minute does not get the result, and a question
 *  that it was asked then cancels the call. @return 0 also if nothing happens. @errors OWL_EDONE,
 *  OWL_ECLOSED, OWL_ENOMEM. */
OWL_API int owl_call_close_stream(owl_call *call);

/* ---- the result ------------------------------------------------------------------------------
 * The same builders serve every kind of handler. In a tool each adds a content block; in a prompt a
 * message with the current role; in a resource, text and bytes become contents of the URI that was
 * asked for. They return 0 or the first error, which also fails the call: OWL_ESTATE (this kind of
 * handler has no such result), OWL_EINVAL (a required argument is NULL), OWL_EPARSE (JSON text),
 * OWL_ELIMIT, OWL_ENOMEM. The log says what was wrong. Once the call is finished or ended they do
 * nothing: OWL_EDONE. Text must be UTF-8; what is not is replaced by U+FFFD. The @p len of text and
 * of JSON may be OWL_NTS. */

OWL_API int owl_result_text(owl_call *call, const char *text);
OWL_API int owl_result_textf(owl_call *call, const char *fmt, ...) OWL_PRINTF(2, 3);
OWL_API int owl_result_textn(owl_call *call, const char *text, size_t len);
/** Bytes are sent as base64. */
OWL_API int owl_result_image(owl_call *call, const void *bytes, size_t len, const char *mime_type);
OWL_API int owl_result_audio(owl_call *call, const void *bytes, size_t len, const char *mime_type);
/** In a resource: its content as bytes. */
OWL_API int owl_result_bytes(owl_call *call, const void *bytes, size_t len, const char *mime_type);
/** A resource embedded whole. @p mime_type may be NULL. */
OWL_API int owl_result_resource(owl_call *call, const char *uri, const char *mime_type,
                                const char *text);
OWL_API int owl_result_blob(owl_call *call, const char *uri, const char *mime_type,
                            const void *bytes, size_t len);
/** A link to a resource that the client may read. @p mime_type and @p description may be NULL. */
OWL_API int owl_result_link(owl_call *call, const char *uri, const char *name,
                            const char *mime_type, const char *description);
/** A content block as JSON text, with its "type", for kinds that have no function here. */
OWL_API int owl_result_block(owl_call *call, const char *json, size_t len);
/** `structuredContent` of a tool. If no content was added, the same JSON is also sent as text. */
OWL_API int owl_result_structured(owl_call *call, const char *json, size_t len);
/** A member of the result's `_meta`, e.g. "com.example/colour"; each key once (OWL_EEXISTS). */
OWL_API int owl_result_meta(owl_call *call, const char *key, const char *json, size_t len);
/** Replaces all that was built by this JSON object, which is the whole result. */
OWL_API int owl_result_raw(owl_call *call, const char *json, size_t len);
/** One value of a completion; at most 100 are sent, the rest is counted. */
OWL_API int owl_result_completion(owl_call *call, const char *value);
/** The role of the prompt messages that follow: "user" (the default) or "assistant". */
OWL_API int owl_result_role(owl_call *call, const char *role);

/* ---- the end ------------------------------------------------------------------------------- */

/** The tool failed; the model is told @p fmt, so say what to do about it. How it travels depends on
 *  the client's revision. @return -OWL_ETOOL, to be returned by the handler. */
OWL_API int owl_call_fail(owl_call *call, const char *fmt, ...) OWL_PRINTF(2, 3);
/** A JSON-RPC error instead of a result. @p data_json may be NULL. Of the codes -32768 to -32000,
 *  which the protocol keeps for itself, those that have a meaning for the client (such as -32602)
 *  are sent as they are; of the others that of a missing resource becomes -32602, the rest -32603.
 *  @return -OWL_ETOOL. */
OWL_API int owl_call_error(owl_call *call, int rpc_code, const char *data_json, const char *fmt,
                           ...) OWL_PRINTF(4, 5);

/** [any] Keep the call beyond the handler's return; each ref needs one owl_call_unref(). A kept
 *  call stays valid after it was finished or cancelled and after the server was stopped or
 *  freed. */
OWL_API owl_call *owl_call_ref(owl_call *call);
OWL_API void owl_call_unref(owl_call *call);
/** [any] Finish a call, once its handler has begun: with the result built so far if @p status is 0,
 *  otherwise as a handler that returned @p status (OWL_PENDING too). What the handler itself
 *  returns is ignored then. Takes no reference. A call that nobody finishes ends at its deadline.
 *  @errors OWL_EDONE: it was finished, cancelled or timed out before; OWL_EINVAL: OWL_LATER. */
OWL_API int owl_call_finish(owl_call *call, int status);

/* ---- asking the client -----------------------------------------------------------------------
 * One way for every revision. A handler asks and, when it gets OWL_PENDING, returns it; it is run
 * again from its start when the answers are there, and then finds them under the same keys.
 *
 *     const owl_json *answer;
 *     int rc = owl_ask(call, "confirm", &question, &answer);
 *     if (rc != 0)
 *         return rc;                        // OWL_PENDING, or an error
 *
 * Questions asked before returning travel together. Do nothing that must not happen twice before
 * the last question is answered. */

typedef enum owl_ask_kind {
    OWL_ASK_FORM = 1, /* elicitation/create, form mode */
    OWL_ASK_URL,      /* elicitation/create, url mode */
    OWL_ASK_SAMPLING, /* sampling/createMessage */
    OWL_ASK_ROOTS     /* roots/list */
} owl_ask_kind;

typedef struct owl_question {
    size_t size; /* sizeof(owl_question) */
    owl_ask_kind kind;
    const char *message;     /* FORM, URL: what to show; SAMPLING: the user's text */
    const char *schema;      /* FORM: requestedSchema as JSON text, a flat object of primitives */
    const char *url;         /* URL: where to send the user */
    unsigned max_tokens;     /* SAMPLING: default 1000 */
    const char *system;      /* SAMPLING: systemPrompt, or NULL */
    const char *params_json; /* instead of all but kind: `params` as JSON text */
} owl_question;

/** Ask under @p key (unique within the call). Only in tools, prompts and resources. The time that
 *  the client takes does not count against the deadline. @return 0 and the answer (the client's
 *  result object: `action`/`content`, `role`/`content`/`model`, `roots`); OWL_PENDING;
 *  -OWL_ECAPABILITY if the client cannot be asked this; -OWL_ESTATE in other kinds of handlers;
 *  -OWL_EINVAL, -OWL_EPARSE (the question). A client that refuses to sample or to name its roots
 *  fails the call; a form that is declined or closed is an answer. What is accepted fits the
 *  schema; anything else is asked again, or fails the call of a legacy client. */
OWL_API int owl_ask(owl_call *call, const char *key, const owl_question *question,
                    const owl_json **ret_answer);

/** For tools registered with OWL_PARKED, which must not be run twice: the call waits where it is.
 *  The handler asks, returns OWL_PENDING, and @p fn is called on a worker thread with the answer;
 *  it may go on building the result, and returns like a handler (OWL_PENDING after it has asked
 *  again). Of several questions asked together each fn is called, one after the other, when all are
 *  answered; what the last one returns counts, or the first failure. @p answer is NULL if the
 *  client refused to answer. If the client does not come back the call is cancelled: see
 *  owl_call_on_cancel(). @errors as owl_ask(); OWL_ESTATE also if the tool is not parked,
 *  OWL_EEXISTS if the key was used before. */
OWL_API int owl_ask_async(owl_call *call, const char *key, const owl_question *question,
                          int (*fn)(owl_call *call, const owl_json *answer, void *data),
                          void *data);

/* ---- plugins --------------------------------------------------------------------------------- */

/** A shared object that adds tools to a server exports one symbol:
 *      OWL_PLUGIN("name", "1.0", init, done)
 *  It is refused if its ABI is not the library's. @p init registers with the functions of server.h;
 *  @p config is what the server was told for it (JSON text, or NULL); what it stores in *ret_data
 *  is given to @p done (which may be NULL) when the server is freed. If it fails, what it has
 *  registered stays until the server is freed. The object is never unloaded while the process
 *  lives. It uses the program's libowlclaw.so. */
#define OWL_PLUGIN_ABI 1u
typedef struct owl_plugin_def {
    unsigned abi;
    unsigned size; /* sizeof(owl_plugin_def) */
    const char *name;
    const char *version;
    int (*init)(owl_server *server, const char *config, void **ret_data, owl_error *reterr);
    void (*done)(owl_server *server, void *data);
} owl_plugin_def;

OWL_END_DECLS

/* clang-format off */
#ifdef __cplusplus
#define OWL_PLUGIN(name, version, init, done) \
    extern "C" { extern OWL_API const owl_plugin_def owl_plugin; \
    const owl_plugin_def owl_plugin = {OWL_PLUGIN_ABI, sizeof(owl_plugin_def), name, version, init, done}; }
#else
#define OWL_PLUGIN(name, version, init, done) \
    extern OWL_API const owl_plugin_def owl_plugin; \
    const owl_plugin_def owl_plugin = {OWL_PLUGIN_ABI, sizeof(owl_plugin_def), name, version, init, done};
#endif
/* clang-format on */

#endif
