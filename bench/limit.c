/* limit.c - the yardstick: an echo over HTTP with libuv, llhttp and yyjson and nothing else.
 *
 * usage: limit [FILE]
 *
 * It reads a JSON-RPC tools/call, takes params.arguments.message and answers with it as text; with
 * a file, it answers whatever it is asked with the bytes of that. There is no protocol, no check,
 * no limit and no second thread here: a server that does its duty cannot be faster than this, and
 * bench/run says how much slower it is. One loop, one thread.
 *
 * The common case costs no allocation: reads go to one buffer of the loop, JSON is parsed and
 * written in fixed pools, and an answer that fits the socket is written at once. */
#include <llhttp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <uv.h>
#include <yyjson.h>

enum { READ_BYTES = 256 * 1024, POOL_BYTES = 1024 * 1024 };

struct conn {
    uv_tcp_t tcp;
    llhttp_t parser;
    const char *body; /* within the read buffer, or within kept */
    size_t body_len;
    char *kept; /* a body that came in several pieces */
    size_t kept_size;
};

struct write {
    uv_write_t req;
    char bytes[];
};

static char read_buffer[READ_BYTES];
static char read_pool[POOL_BYTES], write_pool[POOL_BYTES];
static llhttp_settings_t settings;
static uv_buf_t fixed; /* the answer to everything, if there is one */

static void on_closed(uv_handle_t *handle)
{
    struct conn *c = handle->data;
    free(c->kept);
    free(c);
}

static void drop(struct conn *c)
{
    if (!uv_is_closing((uv_handle_t *)&c->tcp))
        uv_close((uv_handle_t *)&c->tcp, on_closed);
}

static void on_written(uv_write_t *req, int status)
{
    (void)status;
    free(req->data);
}

/* Sends what the socket takes and queues a copy of the rest. */
static void send_all(struct conn *c, uv_buf_t *bufs, unsigned n)
{
    size_t total = 0;
    for (unsigned i = 0; i < n; i++)
        total += bufs[i].len;
    int sent = uv_try_write((uv_stream_t *)&c->tcp, bufs, n);
    size_t skip = sent > 0 ? (size_t)sent : 0;
    if (skip == total)
        return;
    struct write *w = malloc(sizeof(*w) + total - skip);
    if (w == NULL) {
        drop(c);
        return;
    }
    size_t len = 0;
    for (unsigned i = 0; i < n; i++) {
        size_t head = skip < bufs[i].len ? skip : bufs[i].len;
        memcpy(w->bytes + len, bufs[i].base + head, bufs[i].len - head);
        len += bufs[i].len - head;
        skip -= head;
    }
    w->req.data = w;
    uv_buf_t rest = uv_buf_init(w->bytes, (unsigned)len);
    uv_write(&w->req, (uv_stream_t *)&c->tcp, &rest, 1, on_written);
}

/* The fixed answer: nothing of it is ever copied. */
static void send_fixed(struct conn *c)
{
    int sent = uv_try_write((uv_stream_t *)&c->tcp, &fixed, 1);
    size_t skip = sent > 0 ? (size_t)sent : 0;
    if (skip == fixed.len)
        return;
    struct write *w = malloc(sizeof(*w));
    if (w == NULL) {
        drop(c);
        return;
    }
    w->req.data = w;
    uv_buf_t rest = uv_buf_init(fixed.base + skip, (unsigned)(fixed.len - skip));
    uv_write(&w->req, (uv_stream_t *)&c->tcp, &rest, 1, on_written);
}

/* {"jsonrpc":"2.0","id":ID,"result":{"content":[{"type":"text","text":MESSAGE}]}} */
static char *write_result(const yyjson_alc *alc, yyjson_val *id, yyjson_val *message, size_t *len)
{
    yyjson_mut_doc *doc = yyjson_mut_doc_new(alc);
    yyjson_mut_val *root = yyjson_mut_obj(doc);
    yyjson_mut_doc_set_root(doc, root);
    yyjson_mut_obj_add_str(doc, root, "jsonrpc", "2.0");
    yyjson_mut_obj_add_val(doc, root, "id", yyjson_val_mut_copy(doc, id));
    yyjson_mut_val *result = yyjson_mut_obj_add_obj(doc, root, "result");
    yyjson_mut_val *content = yyjson_mut_obj_add_arr(doc, result, "content");
    yyjson_mut_val *block = yyjson_mut_arr_add_obj(doc, content);
    yyjson_mut_obj_add_str(doc, block, "type", "text");
    yyjson_mut_obj_add_strn(doc, block, "text", yyjson_get_str(message), yyjson_get_len(message));
    return yyjson_mut_write_opts(doc, 0, alc, len, NULL);
}

static void answer(struct conn *c)
{
    yyjson_alc read_alc, write_alc;
    yyjson_alc_pool_init(&read_alc, read_pool, sizeof(read_pool));
    yyjson_alc_pool_init(&write_alc, write_pool, sizeof(write_pool));

    yyjson_read_err error;
    yyjson_doc *doc = NULL;
    if (c->body_len > 0) /* yyjson does not write to its input unless it is told that it may */
        doc = yyjson_read_opts((char *)(uintptr_t)c->body, c->body_len, 0, &read_alc, &error);
    yyjson_val *root = yyjson_doc_get_root(doc);
    yyjson_val *params = yyjson_obj_get(root, "params");
    yyjson_val *message = yyjson_obj_get(yyjson_obj_get(params, "arguments"), "message");
    size_t len = 0;
    char *json = NULL;
    if (yyjson_is_str(message))
        json = write_result(&write_alc, yyjson_obj_get(root, "id"), message, &len);
    if (json == NULL) {
        drop(c);
        return;
    }
    char head[128];
    int head_len = snprintf(head, sizeof(head),
                            "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"
                            "Content-Length: %zu\r\n\r\n",
                            len);
    uv_buf_t bufs[] = {uv_buf_init(head, (unsigned)head_len), uv_buf_init(json, (unsigned)len)};
    send_all(c, bufs, 2);
}

static int on_body(llhttp_t *parser, const char *at, size_t len)
{
    struct conn *c = parser->data;
    if (c->body_len == 0) {
        c->body = at;
        c->body_len = len;
        return 0;
    }
    if (c->body_len + len > c->kept_size) {
        size_t size = 2 * (c->body_len + len);
        char *kept = realloc(c->kept, size);
        if (kept == NULL)
            return -1;
        if (c->body == c->kept)
            c->body = kept;
        c->kept = kept;
        c->kept_size = size;
    }
    if (c->body != c->kept)
        memcpy(c->kept, c->body, c->body_len);
    memcpy(c->kept + c->body_len, at, len);
    c->body = c->kept;
    c->body_len += len;
    return 0;
}

static int on_message_complete(llhttp_t *parser)
{
    struct conn *c = parser->data;
    if (fixed.len > 0)
        send_fixed(c);
    else
        answer(c);
    c->body_len = 0;
    return 0;
}

/* The read buffer is about to be used again: a body that is not complete must leave it. */
static bool keep_body(struct conn *c)
{
    if (c->body_len == 0 || c->body == c->kept)
        return true;
    if (c->body_len > c->kept_size) {
        char *kept = realloc(c->kept, 2 * c->body_len);
        if (kept == NULL)
            return false;
        c->kept = kept;
        c->kept_size = 2 * c->body_len;
    }
    memcpy(c->kept, c->body, c->body_len);
    c->body = c->kept;
    return true;
}

static void on_alloc(uv_handle_t *handle, size_t suggested, uv_buf_t *ret)
{
    (void)handle;
    (void)suggested;
    *ret = uv_buf_init(read_buffer, sizeof(read_buffer));
}

static void on_read(uv_stream_t *stream, ssize_t n, const uv_buf_t *buf)
{
    struct conn *c = stream->data;
    if (n < 0 || llhttp_execute(&c->parser, buf->base, (size_t)n) != HPE_OK || !keep_body(c))
        drop(c);
}

static void on_connection(uv_stream_t *listener, int status)
{
    struct conn *c = status == 0 ? calloc(1, sizeof(*c)) : NULL;
    if (c == NULL)
        return;
    c->tcp.data = c;
    uv_tcp_init(listener->loop, &c->tcp);
    llhttp_init(&c->parser, HTTP_REQUEST, &settings);
    c->parser.data = c;
    if (uv_accept(listener, (uv_stream_t *)&c->tcp) != 0 || uv_tcp_nodelay(&c->tcp, 1) != 0 ||
        uv_read_start((uv_stream_t *)&c->tcp, on_alloc, on_read) != 0)
        drop(c);
}

/* A whole answer, head and all, from a file of at most a gigabyte. */
static bool read_fixed(const char *path)
{
    FILE *file = fopen(path, "rb");
    if (file == NULL || fseek(file, 0, SEEK_END) != 0)
        return false;
    size_t len = (size_t)ftell(file);
    char *bytes = malloc(len + 128);
    if (bytes == NULL)
        return false;
    int head = snprintf(bytes, 128,
                        "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"
                        "Content-Length: %zu\r\n\r\n",
                        len);
    rewind(file);
    bool complete = fread(bytes + head, 1, len, file) == len;
    fclose(file);
    fixed = uv_buf_init(bytes, (unsigned)head + (unsigned)len);
    return complete;
}

int main(int argc, char **argv)
{
    uv_loop_t *loop = uv_default_loop();
    uv_tcp_t listener;
    struct sockaddr_in address;
    int len = sizeof(address);

    if (argc > 1 && !read_fixed(argv[1])) {
        fprintf(stderr, "limit: cannot read %s\n", argv[1]);
        return 1;
    }
    llhttp_settings_init(&settings);
    settings.on_body = on_body;
    settings.on_message_complete = on_message_complete;
    uv_ip4_addr("127.0.0.1", 0, &address);
    if (uv_tcp_init(loop, &listener) != 0 ||
        uv_tcp_bind(&listener, (struct sockaddr *)&address, 0) != 0 ||
        uv_listen((uv_stream_t *)&listener, 1024, on_connection) != 0 ||
        uv_tcp_getsockname(&listener, (struct sockaddr *)&address, &len) != 0) {
        fprintf(stderr, "limit: cannot listen\n");
        return 1;
    }
    fprintf(stderr, "listening on http://127.0.0.1:%d/mcp\n", ntohs(address.sin_port));
    return uv_run(loop, UV_RUN_DEFAULT);
}
