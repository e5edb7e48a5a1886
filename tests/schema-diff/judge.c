/* schema-diff/judge.c - codec/schema as a judge: a line {"schema": …, "instances": […]} is answered
 * by a line with a verdict for each instance: "valid", "invalid", or "none: " and why.
 *
 * The verdict of an explanation must be the same; where it is not, that is no verdict. */
#include "base/buf.h"
#include "codec/json.h"
#include "codec/scan.h"
#include "codec/schema.h"

#include <stdio.h>
#include <stdlib.h>

static void put_none(struct owl_buf *out, const char *why)
{
    char text[sizeof(owl_error) + 8];
    snprintf(text, sizeof text, "none: %s", why);
    owl_json_quote(out, owl_str_of(text));
}

static void put_verdict(struct owl_buf *out, const struct owl_schema *s, owl_str instance)
{
    bool valid = false;
    struct owl_explanation e = {0};
    owl_error err = {0};
    struct owl_arena *a = owl_arena_new(0);
    if (owl_schema_validate(s, instance, &valid, &err) ||
        owl_schema_explain(s, instance, a, &e, &err))
        put_none(out, err.message);
    else if (valid != (e.n == 0))
        put_none(out, "verdict and explanation differ");
    else
        owl_json_quote(out, owl_str_of(valid ? "valid" : "invalid"));
    owl_arena_free(a);
}

static void answer(struct owl_buf *out, owl_str line)
{
    struct owl_schema *s = NULL;
    owl_error err = {0};
    int rc = owl_json_scan(line, OWL_JSON_DEPTH, &err);
    if (rc) {
        fprintf(stderr, "%s\n", err.message);
        exit(2);
    }
    rc = owl_schema_compile(owl_span_get(line, "schema"), NULL, &s, &err);
    struct owl_span_iter it = owl_span_iter(owl_span_get(line, "instances"));
    for (struct owl_span i; owl_span_next(&it, &i);) {
        owl_buf_putz(out, out->n ? "," : "[");
        if (rc)
            put_none(out, err.message);
        else
            put_verdict(out, s, i.value);
    }
    owl_schema_free(s);
}

int main(void)
{
    char *line = NULL;
    size_t room = 0;
    struct owl_buf out;
    owl_buf_init(&out, SIZE_MAX);
    for (ssize_t n; (n = getline(&line, &room, stdin)) > 0;) {
        owl_buf_reset(&out);
        answer(&out, (owl_str){line, (size_t)n});
        printf("%.*s]\n", (int)out.n, out.p);
        fflush(stdout);
    }
    owl_buf_done(&out);
    free(line);
    return 0;
}
