/* server/caps.c - what the server says of itself in `initialize` and `server/discover`. */
#include "codec/json.h"
#include "server/server.h"

/* Whether the server itself has declared it; what a provider says of it then does not count. */
static bool is_own(const struct owl_server *s, unsigned caps, owl_str id)
{
    if ((caps & OWL_CAP_TASKS) && owl_str_is(id, OWL_TASKS_EXTENSION))
        return true;
    for (const struct owl_extension *e = s->extensions; e; e = e->next) {
        if (owl_str_is(id, e->id))
            return true;
    }
    return false;
}

void owl_server_caps(struct owl_server *s, struct owl_snapshot *snap, enum owl_rev rev,
                     struct owl_buf *b)
{
    unsigned caps = owl_snapshot_caps(snap);
    owl_buf_putz(b, "{\"logging\":{}");
    if (caps & OWL_CAP_TOOLS)
        owl_buf_putz(b, ",\"tools\":{\"listChanged\":true}");
    if (caps & OWL_CAP_RESOURCES)
        owl_buf_putz(b, ",\"resources\":{\"subscribe\":true,\"listChanged\":true}");
    if (caps & OWL_CAP_PROMPTS)
        owl_buf_putz(b, ",\"prompts\":{\"listChanged\":true}");
    if (caps & OWL_CAP_COMPLETIONS)
        owl_buf_putz(b, ",\"completions\":{}");
    if ((caps & OWL_CAP_TASKS) && rev == OWL_REV_2025_11_25)
        owl_buf_putz(b, ",\"tasks\":{\"list\":{},\"cancel\":{},"
                        "\"requests\":{\"tools\":{\"call\":{}}}}");
    const char *before = ",\"extensions\":{", *after = "}";
    if ((caps & OWL_CAP_TASKS) && owl_rev_era(rev) == OWL_ERA_MODERN) {
        owl_buf_printf(b, "%s\"" OWL_TASKS_EXTENSION "\":{}", before);
        before = ",", after = "}}";
    }
    for (const struct owl_extension *e = s->extensions; e; e = e->next) {
        owl_buf_putz(b, before);
        owl_json_quote(b, owl_str_of(e->id));
        owl_buf_putc(b, ':');
        owl_buf_putz(b, e->settings);
        before = ",", after = "}}";
    }
    const struct owl_declared *d;
    for (size_t i = 0; (d = owl_snapshot_extension(snap, i)); i++) {
        if (is_own(s, caps, d->id))
            continue;
        owl_buf_putz(b, before);
        owl_json_quote(b, d->id);
        owl_buf_putc(b, ':');
        owl_buf_puts(b, d->settings);
        before = ",", after = "}}";
    }
    owl_buf_putz(b, after);
}
