/* Files that a folder brings along: a start refuses what they would run before they are trusted. */
#include "box.h"

#include "config/trust.h"

static void trust(const struct box *b, const char *name)
{
    char state[160], path[160];
    struct owl_buf text;
    snprintf(state, sizeof state, "%s/.local/state", b->home);
    snprintf(path, sizeof path, "%s/%s", b->dir, name);
    FILE *f = fopen(path, "rb");
    assert_non_null(f);
    owl_buf_init(&text, 1 << 20);
    for (int c; (c = fgetc(f)) != EOF;)
        owl_buf_putc(&text, (char)c);
    fclose(f);
    const struct owl_trust t = {.state_dir = state};
    assert_int_equal(owl_trust_add(&t, path, owl_buf_str(&text), NULL), 0);
    owl_buf_done(&text);
}

TEST(a_start_refuses_a_found_file_that_is_not_trusted, "")
{
    struct box b;
    box_open(&b);
    box_write(&b, "mcp-server.yaml", "mcp_server: {servers: {a: {command: x}}}\n");
    LOAD(&b, .to_run = true);
    assert_errors(&b, 1);
    assert_false(owl_config_usable(b.c));
    assert_says(&b,
                "mcp-server.yaml: error: this file names something to run (`servers.a.command`) "
                "and is not trusted\n"
                "  hint: read it; then run `owlclaw trust mcp-server.yaml`, or name it with "
                "`--config mcp-server.yaml`\n");
    LOAD(&b, .dir = NULL); /* without a start it is said, and nothing more */
    assert_errors(&b, 0);
    assert_says(
        &b, "mcp-server.yaml: warning: a start would refuse this file: it names something to run "
            "(`servers.a.command`) and is not trusted\n");
    LOAD(&b, .to_run = true, .trust_project = true);
    assert_true(owl_config_usable(b.c));
    LOAD(&b, .to_run = true, FILES("mcp-server.yaml"));
    assert_true(owl_config_usable(b.c));
    trust(&b, "mcp-server.yaml");
    LOAD(&b, .to_run = true);
    assert_true(owl_config_usable(b.c));
    box_write(&b, "mcp-server.yaml", "mcp_server: {servers: {a: {command: y}}}\n");
    LOAD(&b, .to_run = true);
    assert_false(owl_config_usable(b.c));
    assert_says(&b, "has changed since it was trusted\n");
    box_close(&b);
}

TEST(what_counts_is_where_the_value_that_runs_comes_from, "")
{
    struct box b;
    box_open(&b);
    box_write(&b, "home/.kode.json", "{\"mcpServers\":{\"a\":{\"command\":\"mine\"}}}");
    box_write(&b, "mcp-server.toml", "[mcp_server.servers.a.env]\nLD_PRELOAD = \"./x.so\"\n");
    LOAD(&b, .to_run = true);
    assert_false(owl_config_usable(b.c));
    assert_says(&b, "`servers.a.env.LD_PRELOAD`");
    box_write(&b, "mcp-server.toml", "[mcp_server.http]\nport = 1\n");
    LOAD(&b, .to_run = true);
    assert_true(owl_config_usable(b.c));
    box_write(&b, "mcp-server.toml",
              "include = \"it's; x.yaml\"\n[mcp_server.servers.b]\nurl = \"https://h/\"\n");
    box_write(&b, "it's; x.yaml", "mcp_server: {handlers: {plugins: [{path: x.so}]}}\n");
    LOAD(&b, .to_run = true);
    assert_errors(&b, 1);
    assert_says(&b, "`owlclaw trust 'it'\\''s; x.yaml'`"); /* as a shell takes it */
    trust(&b, "it's; x.yaml");
    LOAD(&b, .to_run = true);
    assert_true(owl_config_usable(b.c));
    box_close(&b);
}

TEST(a_file_is_not_taken_for_trusted_without_memory, "")
{
    static const char *const nothing[] = {NULL};
    struct box b;
    box_open(&b);
    box_write(&b, "mcp-server.json", "{\"mcpServers\":{\"a\":{\"command\":\"x\"}}}");
    const struct owl_config_options o = {
        .env = nothing, .dir = b.dir, .home = b.home, .to_run = true};
    int rc = -OWL_ENOMEM;
    for (unsigned long n = 1; rc; n++) {
        owl_alloc_fail_at(n);
        rc = owl_config_load(&o, &b.c);
        owl_alloc_fail_at(0);
        assert_true(rc == 0 || rc == -OWL_ENOMEM);
    }
    assert_false(owl_config_usable(b.c));
    box_close(&b);
}
