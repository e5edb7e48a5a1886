/* Answers that the client of support/http.h has read, kept to be compared. */
#ifndef OWL_TEST_HTTP_ANSWER_H
#define OWL_TEST_HTTP_ANSWER_H

#include "support/http.h"

struct answer {
    int status;
    char head[4096]; /* "\nName: value\n" */
    char *body;
    size_t n;
};

static inline void client_send(struct http *c, const char *text)
{
    assert_true(http_put(c, text, strlen(text)));
}

static inline bool head_has(const struct answer *a, const char *line)
{
    char wanted[256];
    snprintf(wanted, sizeof(wanted), "\n%s\n", line);
    return strstr(a->head, wanted) != NULL;
}

static inline void client_head(struct http *c, struct answer *a)
{
    *a = (struct answer){.status = http_head(c)};
    assert_int_not_equal(a->status, 0);
    assert_true(c->head.n < sizeof(a->head));
    memcpy(a->head, c->head.p, c->head.n + 1);
}

/* After the head. Free with answer_free(). */
static inline void client_body(struct http *c, struct answer *a)
{
    while (http_piece(c))
        ;
    bytes_add(&c->body, "", 0);
    a->body = c->body.p;
    a->n = c->body.n;
    c->body = (struct bytes){0};
}

/* One whole answer (not to HEAD); free with answer_free(). */
static inline void client_answer(struct http *c, struct answer *a)
{
    client_head(c, a);
    client_body(c, a);
}

static inline void answer_free(struct answer *a)
{
    free(a->body);
    a->body = NULL;
}

/* Reads one answer and compares. @p body NULL: any. */
static inline void client_expect(struct http *c, int status, const char *body)
{
    struct answer a;
    client_answer(c, &a);
    assert_int_equal(a.status, status);
    if (body)
        assert_string_equal(a.body, body);
    answer_free(&a);
}

#endif
