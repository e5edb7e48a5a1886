/* fuzz/events.h - a reader of event streams as the HTML standard has it, for what servers write.
 *
 * Lines end in CR, LF or CRLF; a line without a colon is a field without a value; one blank after
 * the colon is not part of the value; comments and unknown fields are skipped; the lines of one
 * event's data are joined by LF; an event without data is none. Bytes may come in any pieces. */
#ifndef OWL_FUZZ_EVENTS_H
#define OWL_FUZZ_EVENTS_H

#include "base/buf.h"

struct event {
    owl_str type, data, id; /* id: the last one that the stream has given, maybe by this event */
    bool has_id;            /* this event gave it */
    uint64_t retry;         /* the last one given; UINT64_MAX: none */
};

struct events {
    struct owl_buf line, type, data, id;
    bool after_cr, begun, has_data, has_id;
    uint64_t retry;
    void (*event)(void *user, const struct event *e);
    void *user;
};

static inline void events_init(struct events *s, void (*event)(void *, const struct event *),
                               void *user)
{
    *s = (struct events){.retry = UINT64_MAX, .event = event, .user = user};
    owl_buf_init(&s->line, SIZE_MAX);
    owl_buf_init(&s->type, SIZE_MAX);
    owl_buf_init(&s->data, SIZE_MAX);
    owl_buf_init(&s->id, SIZE_MAX);
}

static inline void events_done(struct events *s)
{
    owl_buf_done(&s->line);
    owl_buf_done(&s->type);
    owl_buf_done(&s->data);
    owl_buf_done(&s->id);
}

static inline void events__dispatch(struct events *s)
{
    if (s->has_data) {
        s->data.n--; /* the LF of its last line */
        struct event e = {.type = owl_buf_str(&s->type),
                          .data = owl_buf_str(&s->data),
                          .id = owl_buf_str(&s->id),
                          .has_id = s->has_id,
                          .retry = s->retry};
        s->event(s->user, &e);
    }
    owl_buf_reset(&s->type);
    owl_buf_reset(&s->data);
    s->has_data = s->has_id = false;
}

static inline void events__field(struct events *s, owl_str name, owl_str value)
{
    if (owl_str_is(name, "data")) {
        owl_buf_puts(&s->data, value);
        owl_buf_putc(&s->data, '\n');
        s->has_data = true;
    } else if (owl_str_is(name, "event")) {
        owl_buf_reset(&s->type);
        owl_buf_puts(&s->type, value);
    } else if (owl_str_is(name, "id") && !memchr(value.p, '\0', value.n)) {
        owl_buf_reset(&s->id);
        owl_buf_puts(&s->id, value);
        s->has_id = true;
    } else if (owl_str_is(name, "retry")) {
        uint64_t ms;
        if (owl_str_u64(value, UINT64_MAX - 1, &ms))
            s->retry = ms;
    }
}

static inline void events__line(struct events *s)
{
    owl_str line = owl_buf_str(&s->line);
    const char *colon = memchr(line.p, ':', line.n);
    owl_str name = {line.p, colon ? (size_t)(colon - line.p) : line.n};
    owl_str value = {line.p + line.n, 0};
    if (colon) {
        value = (owl_str){colon + 1, line.n - name.n - 1};
        if (value.n > 0 && value.p[0] == ' ')
            value = (owl_str){value.p + 1, value.n - 1};
    }
    if (line.n == 0)
        events__dispatch(s);
    else if (name.n > 0)
        events__field(s, name, value);
    owl_buf_reset(&s->line);
}

static inline void events_feed(struct events *s, owl_str in)
{
    for (size_t i = 0; i < in.n; i++) {
        char c = in.p[i];
        bool second = s->after_cr && c == '\n';
        s->after_cr = c == '\r';
        if (second)
            continue;
        if (c == '\r' || c == '\n')
            events__line(s);
        else
            owl_buf_putc(&s->line, c);
        if (!s->begun && s->line.n == 3 && memcmp(s->line.p, "\xef\xbb\xbf", 3) == 0)
            owl_buf_reset(&s->line); /* a byte order mark at the very beginning */
        s->begun = s->begun || s->line.n >= 3 || c == '\r' || c == '\n';
    }
}

#endif
