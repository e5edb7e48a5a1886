/* What messages, hints, lines and reasons show of a file: never a secret. */
#include "box.h"

static const char hidden[] = "Xk29fjQm7Lw0";

/* A file of which nothing may show the secret, in text or in JSON, nor the reason of a server. */
static void shows_no_secret(struct box *b, const char *name, const char *text)
{
    box_try(b, name, text);
    const struct owl_faults *f = owl_config_faults(b->c);
    struct owl_buf out;
    owl_buf_init(&out, 1 << 20);
    for (size_t i = 0; i < f->n; i++) {
        owl_report_fault(&out, b->c, &f->list[i], false);
        owl_report_fault_json(&out, b->c, &f->list[i]);
    }
    owl_buf_puts(&out, owl_config_server_fault(b->c, OWL_STR("a")));
    owl_buf_putc(&out, '\0');
    assert_int_equal(out.rc, 0);
    if (f->n == 0 || strstr(out.p, hidden)) {
        print_error("of %s:\n%s\n%s", name, text, out.p);
        fail();
    }
    owl_buf_done(&out);
}

TEST(a_secret_in_the_place_of_a_map_is_not_quoted, "")
{
    struct box b;
    box_open(&b);
    shows_no_secret(&b, "a.yaml", "mcp_server: {servers: {a: {command: x, env: Xk29fjQm7Lw0}}}\n");
    shows_no_secret(&b, "a.yaml",
                    "mcp_server: {servers: {a: {url: http://h/, headers: Xk29fjQm7Lw0}}}\n");
    shows_no_secret(&b, "a.yaml",
                    "mcp_server:\n  servers:\n    a:\n      command: x\n      env:\n"
                    "        - Xk29fjQm7Lw0\n        - A=Xk29fjQm7Lw0\n");
    shows_no_secret(&b, "a.yaml",
                    "mcp_server:\n  servers:\n    a:\n      command: x\n      env:\n"
                    "        - name: A\n          value: Xk29fjQm7Lw0\n");
    shows_no_secret(&b, "a.json", "{\"mcpServers\":{\"a\":\"Xk29fjQm7Lw0\"}}");
    shows_no_secret(&b, "a.yaml", "mcp_server: {tracing: {headers: [Xk29fjQm7Lw0]}}\n");
    shows_no_secret(&b, "a.yaml", "mcp_server: {http: {auth: {api_keys: [Xk29fjQm7Lw0]}}}\n");
    box_close(&b);
}

TEST(damaged_json_without_indentation_shows_no_values, "")
{
    struct box b;
    box_open(&b);
    shows_no_secret(&b, "a.json",
                    "{\"mcpServers\":{\n\"a\":{\n\"command\":\"x\",\n\"env\":{\n"
                    "\"LEVEL\":\"1\",\n\"REGION\":\"Xk29fjQm7Lw0\"\n\"B\":\"y\"\n}}}}\n");
    assert_says(&b, "\n    \"REGION\":\"************\"\n");
    shows_no_secret(&b, "a.json",
                    "{\"mcpServers\":{\n\"a\":{\n\"env\":\n{\n\"REGION\":\"Xk29fjQm7Lw0\n}}}\n");
    shows_no_secret(&b, "a.json",
                    "{\"mcpServers\":{\"a\":{\"env\":{\"REGION\" \"Xk29fjQm7Lw0\"}}}}\n");
    shows_no_secret(&b, "a.json",
                    "{\"mcpServers\":{\"a\":{\"envs\":{\"REGION\":'Xk29fjQm7Lw0'}}}}\n");
    shows_no_secret(&b, "a.toml", "[mcp.servers.a]\nenv = [\"A=Xk29fjQm7Lw0\"\nurl = 1\n");
    shows_no_secret(&b, "a.toml", "[mcp.servers.a.env]\nA = Xk29fjQm7Lw0\n");
    box_close(&b);
}

TEST(what_helps_is_still_seen_of_a_damaged_line, "OR-10.4")
{
    struct box b;
    box_open(&b);
    box_try(&b, "a.json",
            "{\"mcp_server\": {\n\"http\": {\"port\": 8080 \"host\": \"10.0.0.1\"}\n}}\n");
    assert_says(&b, "\n    \"http\": {\"port\": 8080 \"host\": \"10.0.0.1\"}\n");
    box_try(&b, "a.yaml", "mcp_server:\n  transport: http\n   http:\n     port: 80\n");
    assert_says(&b, "\n       http:\n");
    box_close(&b);
}

TEST(a_url_with_a_token_is_not_shown, "")
{
    struct box b;
    box_open(&b);
    shows_no_secret(&b, "a.yaml",
                    "mcp_server: {servers: {a: {url: 'https://Xk29fjQm7Lw0@h h/'}}}\n");
    shows_no_secret(&b, "a.yaml", "mcp_server: {servers: {a: {url: 'htps://Xk29fjQm7Lw0@h/'}}}\n");
    shows_no_secret(&b, "a.yaml", "mcp_server: {tracing: {endpoint: 'https:/Xk29fjQm7Lw0@h/'}}\n");
    box_close(&b);
}

TEST(what_nobody_knows_is_not_shown, "")
{
    struct box b;
    box_open(&b);
    shows_no_secret(&b, "a.yaml",
                    "mcp_server: {servers: {a: {command: x, environment: Xk29fjQm7Lw0}}}\n");
    shows_no_secret(
        &b, "a.json",
        "{\"mcpServers\":{\"a\":{\"command\":\"x\",\"environ\":{\"A\":\"Xk29fjQm7Lw0\"}}}}");
    shows_no_secret(&b, "a.yaml", "mcp_server: {prot: 1} # Xk29fjQm7Lw0\n");
    box_try(&b, "a.yaml", "mcp_server: {http: {prot: 8080, host: localhost}}\n");
    assert_says(&b, "    mcp_server: {http: {prot: 8080, host: localhost}}\n");
    box_close(&b);
}

TEST(without_memory_no_words_are_shown_as_they_were, "")
{
    struct box b;
    box_open(&b);
    box_write(&b, "a.toml", "[mcp.servers.a.env]\nA = Xk29fjQm7Lw0\n");
    int rc = -OWL_ENOMEM;
    for (unsigned long n = 1; rc; n++) {
        static const char *const nothing[] = {NULL};
        static const char *const files[] = {"a.toml"};
        const struct owl_config_options o = {
            .files = files, .n_files = 1, .env = nothing, .dir = b.dir, .home = b.home};
        owl_alloc_fail_at(n);
        rc = owl_config_load(&o, &b.c);
        owl_alloc_fail_at(0);
        assert_true(rc == 0 || rc == -OWL_ENOMEM);
    }
    assert_says_not(&b, hidden);
    box_close(&b);
}
