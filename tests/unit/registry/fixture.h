/* unit/registry/fixture.h - items and pages for the tests of this layer. */
#ifndef OWL_TEST_REGISTRY_FIXTURE_H
#define OWL_TEST_REGISTRY_FIXTURE_H

#include <stdio.h>

#include "registry/registry.h"
#include "support/test.h"

static inline int no_handler(owl_call *call, void *data)
{
    (void)call;
    (void)data;
    return 0;
}

/* Definitions with nothing but what is required. */
/* clang-format off */
#define TOOL(n) \
    { .size = sizeof(owl_tool), .name = (n), .handler = no_handler }
#define RESOURCE(u, n) \
    { .size = sizeof(owl_resource), .uri = (u), .name = (n), .handler = no_handler }
#define PROMPT(n) \
    { .size = sizeof(owl_prompt), .name = (n), .handler = no_handler }
/* clang-format on */

/* free_data that counts how often it was called for this data. */
static inline void count_free(void *data)
{
    ++*(unsigned *)data;
}

static inline struct owl_item *make_tool(const char *name, const char *description)
{
    owl_tool def = TOOL(name);
    def.description = description;
    struct owl_item *it = NULL;
    assert_int_equal(owl_item_tool(&def, &it, NULL), 0);
    return it;
}

static inline struct owl_item *make_resource(const char *uri)
{
    owl_resource def = RESOURCE(uri, "name");
    struct owl_item *it = NULL;
    assert_int_equal(owl_item_resource(&def, &it, NULL), 0);
    return it;
}

static inline struct owl_item *make_prompt(const char *name)
{
    owl_prompt def = PROMPT(name);
    struct owl_item *it = NULL;
    assert_int_equal(owl_item_prompt(&def, &it, NULL), 0);
    return it;
}

static inline void put_tool(struct owl_registry *r, const char *name, const char *description)
{
    assert_int_equal(owl_registry_put(r, make_tool(name, description)), 0);
}

/* A provider that counts how often it was freed. */
struct test_provider {
    struct owl_provider provider;
    unsigned freed;
};

static inline void test_provider_free(struct owl_provider *p)
{
    OWL_CONTAINER(p, struct test_provider, provider)->freed++;
}

static inline void test_provider_init(struct test_provider *t, const char *name)
{
    *t = (struct test_provider){.provider = {.name = name, .free = test_provider_free}};
    atomic_init(&t->provider._refs, 1);
}

/* The entry of a tool of another server. */
struct raw_text {
    char z[256];
};
static inline struct raw_text raw_tool(const char *name, const char *description)
{
    struct raw_text t;
    snprintf(t.z, sizeof t.z,
             "{\"name\":\"%s\",\"description\":\"%s\",\"inputSchema\":{\"type\":\"object\"}}", name,
             description);
    return t;
}

static inline void assert_str(owl_str s, const char *expected)
{
    if (!s.p || !owl_str_is(s, expected))
        fail_msg("\"%.*s\" is not \"%s\"", (int)s.n, s.p ? s.p : "", expected);
}

/* The cursor at the end of a page, or absent. */
static inline owl_str page_cursor(owl_str members)
{
    static const char label[] = "\"nextCursor\":\"";
    const char *at = memmem(members.p, members.n, label, sizeof label - 1);
    if (!at)
        return (owl_str){0};
    at += sizeof label - 1;
    assert_int_equal(members.p[members.n - 1], '"');
    return (owl_str){at, (size_t)(members.p + members.n - 1 - at)};
}

/* A small generator of numbers for property tests; the same sequence for the same seed. */
static inline unsigned draw(uint64_t *state, unsigned below)
{
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return (unsigned)(*state >> 33) % below;
}

#endif
