/* A provider in a page: a mailbox whose tool gives back what it was sent, a moment later. */
#include "base/alloc.h"
#include "call/provider.h"
#include "library/fixture.h"
#include "server/server.h"

/* What is kept of a call until it is answered. */
struct letter {
    struct owl_timer timer;
    struct owl_call *call; /* counted */
    struct owl_buf result;
};

static void letter_free(void *owner)
{
    struct letter *l = owner;
    owl_buf_done(&l->result);
    owl_free(l);
}

/* On the call's reactor: give the result, and the memory that it is in until it was sent. */
static void deliver(struct owl_timer *t)
{
    struct letter *l = OWL_CONTAINER(t, struct letter, timer);
    struct owl_call *c = l->call;
    struct owl_given g = {.result = owl_buf_str(&l->result), .owner = l, .release = letter_free};
    OWL_IGNORE(owl_call_give(c, &g)); /* ended meanwhile: it was released */
    owl_call_unref(c);
}

/* The arguments are the bytes that the client sent; they fit the tool's schema. */
static enum owl_verdict invoke(struct owl_call *c)
{
    struct letter *l = owl_calloc(1, sizeof *l);
    if (!l)
        return owl_call_set_failure(c, OWL_ENOMEM, "out of memory; try again later");
    owl_buf_init(&l->result, c->env->limits->result_bytes);
    owl_buf_putz(&l->result, "{\"content\":[],\"structuredContent\":");
    owl_buf_puts(&l->result, c->req.arguments.p ? c->req.arguments : OWL_STR("{}"));
    owl_buf_putc(&l->result, '}');
    l->call = owl_call_ref(c);
    owl_timer_init(&l->timer, deliver);
    owl_timer_start(c->reactor, &l->timer, 5);
    owl_call_await(c); /* until it is given something, or its deadline */
    return OWL_NEXT;
}

static void provider_free(struct owl_provider *p)
{
    owl_free(p);
}

static const struct owl_provider_ops mailbox_ops = {.invoke = invoke};

/* What it offers is replaced as a whole; here it is one tool, as another server would list it. */
static int offer(struct owl_server *s, struct owl_provider *p, owl_error *reterr)
{
    static const char entry[] = "{\"name\":\"return\",\"description\":\"Returns to sender\","
                                "\"inputSchema\":{\"type\":\"object\"}}";
    struct owl_item_options o = {.provider = p, .registry_name = OWL_STR("mailbox:return")};
    struct owl_update *u = owl_update_new(s->registry, p);
    int rc = u ? owl_update_add_raw(u, OWL_KIND_TOOL, owl_str_of(entry), &o, reterr) : -OWL_ENOMEM;
    if (rc == 0)
        rc = owl_update_commit(u, 1, NULL); /* behind what the program itself offers */
    owl_update_free(u);
    return rc;
}

TEST(a_provider_in_a_page_answers_its_tool, "")
{
    owl_server *s = server_new(2);
    struct owl_provider *p = owl_calloc(1, sizeof *p);
    *p = (struct owl_provider){.name = "mailbox", .ops = &mailbox_ops, .free = provider_free};
    atomic_init(&p->_refs, 1);
    assert_int_equal(offer(s, p, NULL), 0);
    owl_provider_aunref(p); /* its items hold it */
    server_start(s);
    static const char params[] = "\"name\":\"mailbox:return\",\"arguments\":{\"to\":\"sender\"}";
    expect_str(modern(s, "tools/call", "mailbox:return", params), "result/structuredContent/to",
               "sender");
    server_end(s);
}
