/* Unit tests of config/config.c, settings.c, environment.c, settle.c, merge.c and defaults.c: what a
 * configuration becomes. */
#include "unit/config/box.h"

#include "base/block.h"

#include "config/trust.h"

static const char design[] = "mcp_server:\n"
                             "  transport: stdio\n"
                             "  http:\n"
                             "    host: \"127.0.0.1\"\n"
                             "    port: 8080\n"
                             "    cors:\n"
                             "      enabled: true\n"
                             "      allowed_origins:\n"
                             "        - \"http://localhost:3000\"\n"
                             "        - \"https://app.example.com\"\n"
                             "    tls:\n"
                             "      enabled: false\n"
                             "      cert_file: \"/path/to/cert.pem\"\n"
                             "      key_file: \"/path/to/key.pem\"\n"
                             "  tools:\n"
                             "    default_timeout_seconds: 300\n"
                             "    async_threshold_seconds: 30  # longer ones run asynchronously\n"
                             "    cache_ttl_seconds: 300\n"
                             "  resources:\n"
                             "    skills_dir: \"./capabilities\"\n"
                             "    cache_ttl_seconds: 600\n"
                             "  governance:\n"
                             "    enabled: true\n"
                             "    default_quota:\n"
                             "      monthly_budget: 500.0\n"
                             "      max_calls_per_minute: 60\n"
                             "      max_calls_per_day: 1000\n"
                             "      max_cost_per_call: 10.0\n"
                             "  logging:\n"
                             "    level: INFO\n"
                             "    format: json\n"
                             "    output: stderr\n";

TEST(the_design_s_file_loads_as_written, "OR-10.1 OR-10.6 OR-10.7 OR-10.8 OR-10.9 OR-10.10 "
                                         "OD-9.1.1 OD-9.1.2 OD-9.1.8 OD-9.1.10 OD-9.1.11")
{
    struct box b;
    box_open(&b);
    box_write(&b, "mcp-server.yaml", design);
    LOAD(&b, .files = NULL);
    assert_errors(&b, 0);
    assert_true(owl_config_usable(b.c));
    assert_value(&b, "http.cors.allowed_origins",
                 "[\"http://localhost:3000\",\"https://app.example.com\"]");
    assert_value(&b, "http.tls.cert_file", "\"/path/to/cert.pem\"");
    assert_value(&b, "http.tls.key_file", "\"/path/to/key.pem\"");
    assert_value(&b, "governance.default_quota.monthly_budget", "500.0");
    assert_value(&b, "logging.level", "\"INFO\"");
    assert_string_equal(box_source(&b, "http.port"), "mcp-server.yaml");
    assert_int_equal(owl_config_get(b.c, "http.port")->at.line, 5);
    box_close(&b);
}

TEST(without_any_file_there_are_the_defaults,
     "OD-9.1.3 OD-9.1.6 OD-9.1.7 OD-9.1.9 OD-9.1.12 OD-9.1.13 OD-9.1.14 OD-9.1.15 OD-9.1.16 "
     "OD-9.1.17 "
     "OD-9.1.18 OD-9.1.19 OD-9.1.20 OD-9.1.21 OD-9.1.22 OD-9.1.23 OD-9.1.24 OD-9.4.6 OD-9.4.11")
{
    static const struct {
        const char *key, *json;
    } rows[] = {
        {"transport", "\"stdio\""},
        {"http.host", "\"127.0.0.1\""},
        {"http.port", "8080"},
        {"http.cors.enabled", "true"},
        {"http.cors.max_age", "3600"},
        {"http.tls.enabled", "false"},
        {"http.tls.verify_client", "false"},
        {"http.tls.cert_file", NULL},
        {"tools.default_timeout_seconds", "300"},
        {"tools.async_threshold_seconds", "30"},
        {"tools.cache_ttl_seconds", "300"},
        {"resources.skills_dir", "\"./capabilities\""},
        {"resources.cache_ttl_seconds", "600"},
        {"logging.level", "\"INFO\""},
        {"logging.format", "\"json\""},
        {"logging.output", "\"stderr\""},
        {"servers", "{}"},
        {"enabled", "true"},
    };
    struct box b;
    box_open(&b);
    LOAD(&b, .files = NULL);
    assert_int_equal(owl_config_faults(b.c)->n, 0);
    for (size_t i = 0; i < OWL_COUNT(rows); i++)
        assert_value(&b, rows[i].key, rows[i].json);
    assert_string_equal(box_source(&b, "http.port"), "default");
    const struct owl_ignored *ignored;
    assert_int_equal(owl_config_ignored(b.c, &ignored), 0);
    assert_null(owl_config_get(b.c, "http.nothing.there"));
    assert_value(&b, "governance", NULL); /* without a section nothing is limited */
    box_try(&b, "a.yaml", "mcp_server: {governance: {}}\n");
    assert_value(&b, "governance.enabled", "true");
    assert_value(&b, "governance.default_quota",
                 "{\"monthly_budget\":500,\"max_calls_per_minute\":60,\"max_calls_per_day\":1000,"
                 "\"max_cost_per_call\":10}");
    box_close(&b);
}

/* ---- what stands over what --------------------------------------------------------------- */

TEST(options_stand_over_variables_over_files_over_defaults, "OR-10.2 OR-10.3 OD-9.2.1 OD-9.2.2")
{
    struct box b;
    const struct owl_setting port = {"--port", "http.port", "3"};
    const struct owl_setting both[] = {port, {"--transport", "transport", "http"}};
    box_open(&b);
    box_write(&b, "a.yaml", "mcp_server: {transport: stdio, http: {port: 1}}\n");
    LOAD(&b, FILES("a.yaml"));
    assert_value(&b, "http.port", "1");
    LOAD(&b, FILES("a.yaml"), ENV("MCP_SERVER_HTTP_PORT=2", "MCP_SERVER_TRANSPORT=http"));
    assert_value(&b, "http.port", "2");
    assert_value(&b, "transport", "\"http\"");
    assert_string_equal(box_source(&b, "http.port"), "MCP_SERVER_HTTP_PORT");
    LOAD(&b, FILES("a.yaml"), ENV("MCP_SERVER_HTTP_PORT=2", "MCP_SERVER_TRANSPORT=stdio"),
         .settings = both, .n_settings = 2);
    assert_value(&b, "http.port", "3");
    assert_value(&b, "transport", "\"http\"");
    assert_string_equal(box_source(&b, "http.port"), "--port");
    LOAD(&b, .files = NULL, .settings = &port, .n_settings = 1);
    assert_value(&b, "http.port", "3");
    assert_errors(&b, 0);
    box_close(&b);
}

TEST(the_design_s_short_variables_are_known, "OD-9.2.3 OD-9.2.4 OD-9.2.5")
{
    struct box b;
    box_open(&b);
    LOAD(&b, ENV("MCP_SERVER_TOOLS_TIMEOUT=120", "MCP_SERVER_SKILLS_DIR=/srv/skills",
                 "MCP_SERVER_GOVERNANCE_ENABLED=false"));
    assert_errors(&b, 0);
    assert_value(&b, "tools.default_timeout_seconds", "120");
    assert_value(&b, "resources.skills_dir", "\"/srv/skills\"");
    assert_value(&b, "governance.enabled", "false");
    LOAD(&b, ENV("MCP_SERVER_TOOLS_TIMEOUT=1", "MCP_SERVER_TOOLS_DEFAULT_TIMEOUT_SECONDS=2m"));
    assert_value(&b, "tools.default_timeout_seconds", "120");
    box_close(&b);
}

TEST(variables_become_what_their_keys_want, "OR-10.2")
{
    struct box b;
    box_open(&b);
    LOAD(&b, ENV("MCP_SERVER_HTTP_CORS_ALLOWED_ORIGINS=https://a.example, https://b.example",
                 "MCP_SERVER_REDACT=[\"x\",\"y,z\"]", "MCP_SERVER_LIMITS_BODY_BYTES=1MiB",
                 "MCP_SERVER_LIMITS_IDLE_MS=5s", "MCP_SERVER_HTTP_TLS_ENABLED=off",
                 "MCP_SERVER_SERVERS={\"a\":{\"command\":\"x\",\"timeout\":\"1m\"}}",
                 "MCP_SERVER_TRACING_SAMPLE_RATIO=0.5", "MCP_SERVER_TITLE=true",
                 "MCP_SERVER_NAME=", "MCP_SERVERLESS=1", "OTHER=1"));
    assert_errors(&b, 0);
    assert_value(&b, "http.cors.allowed_origins", "[\"https://a.example\",\"https://b.example\"]");
    assert_value(&b, "redact", "[\"x\",\"y,z\"]");
    assert_value(&b, "limits.body_bytes", "1048576");
    assert_value(&b, "limits.idle_ms", "5000");
    assert_value(&b, "http.tls.enabled", "false");
    assert_value(&b, "servers.a.timeout", "60");
    assert_value(&b, "tracing.sample_ratio", "0.5");
    assert_value(&b, "title", "\"true\"");
    assert_value(&b, "name", "\"owlclaw-mcp-server\"");
    box_close(&b);
}

TEST(variables_that_are_wrong_are_told, "")
{
    struct box b;
    box_open(&b);
    LOAD(&b, ENV("MCP_SERVER_HTTP_PORT=80a", "MCP_SERVER_HTTP_PROT=1", "MCP_SERVER_XYZZY=1",
                 "MCP_SERVER_SERVERS={\"a\":", "MCP_SERVER_HTTP_TLS_ENABLED=maybe"));
    assert_says(&b, "MCP_SERVER_HTTP_PORT: error: `http.port` must be a whole number, but is "
                    "\"80a\"\n");
    assert_says(&b, "MCP_SERVER_HTTP_PROT: warning: this variable names no key, and has no effect\n"
                    "  hint: did you mean MCP_SERVER_HTTP_PORT?\n");
    assert_says(&b, "MCP_SERVER_XYZZY: warning: this variable names no key, and has no effect\n");
    assert_says_not(&b, "MCP_SERVER_NAME");
    assert_says(&b, "MCP_SERVER_SERVERS: error: this is no JSON, from line 1, column 1 on");
    assert_says(&b, "MCP_SERVER_HTTP_TLS_ENABLED: error: `http.tls.enabled` must be true or false");
    assert_false(owl_config_usable(b.c));
    LOAD(&b, ENV("MCP_SERVER_PORT=80", "MCP_SERVER_ENABLED_=1"));
    assert_says(&b, "  hint: did you mean MCP_SERVER_HTTP_PORT?\n");
    LOAD(&b, ENV("MCP_SERVER_TLS_ENABLED=1"));
    assert_says(&b, "  hint: did you mean MCP_SERVER_HTTP_TLS_ENABLED?\n");
    box_close(&b);
}

TEST(an_option_reaches_into_maps_and_is_checked, "")
{
    struct box b;
    const struct owl_setting on[] = {{"--set", "servers.a.enabled", "false"},
                                     {"--set", "servers.b.url", "https://b.example/mcp"}};
    const struct owl_setting off[] = {
        {"--set", "http.prot", "1"}, {"--set", "nothing", "1"}, {"--set", "http.port.deep", "1"}};
    box_open(&b);
    box_write(&b, "a.yaml", "mcp_server: {servers: {a: {command: x}}, http: }\n");
    LOAD(&b, FILES("a.yaml"), .settings = on, .n_settings = 2);
    assert_errors(&b, 0);
    assert_value(&b, "servers.a.enabled", "false");
    assert_value(&b, "servers.a.command", "\"x\"");
    assert_value(&b, "servers.b.url", "\"https://b.example/mcp\"");
    LOAD(&b, FILES("a.yaml"), .settings = off, .n_settings = 3);
    assert_says(&b,
                "--set: error: there is no key `http.prot`\n  hint: did you mean `http.port`?\n");
    assert_says(&b, "--set: error: there is no key `nothing`\n");
    assert_says(&b, "--set: error: there is no key `http.port.deep`\n");
    assert_errors(&b, 3);
    box_write(&b, "b.yaml", "mcp_server: {http: 3}\n");
    LOAD(&b, FILES("b.yaml"), .settings = &(struct owl_setting){"--port", "http.port", "1"},
         .n_settings = 1);
    assert_says(&b, "b.yaml:1:20: error: `http` must be a map, but is 3");
    box_close(&b);
}

TEST(later_files_stand_over_earlier_ones, "")
{
    struct box b;
    box_open(&b);
    box_write(&b, "a.yaml",
              "mcp_server:\n  http: {port: 1, host: '::1', allowed_hosts: [a, b]}\n  servers:\n"
              "    x: {command: one, args: [1.0]}\n    y: {command: two}\n  logging:\n"
              "    level: ERROR\n");
    box_write(&b, "b.toml",
              "[mcp_server.http]\nport = 2\nallowed_hosts = ['c']\n[mcp_server.servers.x]\nargs = "
              "['z']\n");
    box_write(&b, "c.json",
              "{\"mcp_server\": {\"logging\": null, \"servers\": {\"z\": {\"command\": \"q\"}}}}");
    LOAD(&b, FILES("a.yaml", "b.toml", "c.json"));
    assert_errors(&b, 0);
    assert_value(&b, "http.port", "2");
    assert_value(&b, "http.host", "\"::1\"");
    assert_value(&b, "http.allowed_hosts", "[\"c\"]");
    assert_value(&b, "servers.x.command", "\"one\"");
    assert_value(&b, "servers.x.args", "[\"z\"]");
    assert_value(&b, "servers.z.command", "\"q\"");
    assert_value(&b, "logging.level", "\"ERROR\""); /* null says nothing */
    assert_says(&b, "c.json:1:17: warning: `logging` is empty, as if it were not there");
    assert_string_equal(box_source(&b, "servers.x.args"), "b.toml");
    assert_string_equal(box_source(&b, "servers.x.command"), "a.yaml");
    box_close(&b);
}

TEST(a_file_may_do_nothing_but_include, "")
{
    struct box b;
    box_open(&b);
    box_write(&b, "a.yaml", "mcp_server: {http: {port: 9}}\n");
    box_try(&b, "all.yaml", "$schema: x\ninclude: a.yaml\n");
    assert_errors(&b, 0);
    assert_value(&b, "http.port", "9");
    box_try(&b, "all.yaml", "include: [nope.yaml, all.yaml]\n");
    assert_says(&b, "all.yaml:1:11: error: there is no file `nope.yaml` to include");
    assert_says(&b, "all.yaml:1:22: error: the file `all.yaml` includes itself");
    assert_says_not(&b, "holds nothing");
    box_try(&b, "tsconfig.json", "{\"include\": [\"src\"], \"files\": []}");
    assert_says(&b, "tsconfig.json: error: the file holds nothing for OwlClaw");
    box_close(&b);
}

TEST(what_is_partly_a_variable_is_read_as_what_is_wanted, "")
{
    struct box b;
    box_open(&b);
    box_try(
        &b, "a.yaml",
        "mcp_server:\n  name: '${N:-80}80'\n  http:\n    port: '${PORT:-80}80'\n"
        "    allowed_hosts: 'a.${D:-example}, b'\n  tools: {default_timeout_seconds: '${S:-2}m'}\n"
        "  logging: {requests: 'fal${E:-se}'}\n");
    assert_errors(&b, 0);
    assert_value(&b, "name", "\"8080\"");
    assert_value(&b, "http.port", "8080");
    assert_value(&b, "http.allowed_hosts", "[\"a.example\",\"b\"]");
    assert_value(&b, "tools.default_timeout_seconds", "120");
    assert_value(&b, "logging.requests", "false");
    box_try(&b, "a.yaml", "mcp_server: {http: {port: '8080'}}\n"); /* nothing was replaced */
    assert_errors(&b, 1);
    box_close(&b);
}

TEST(a_limit_that_nobody_has_set_is_not_there, "")
{
    struct box b;
    box_open(&b);
    box_try(&b, "a.yaml", "mcp_server: {}\n");
    assert_value(&b, "limits.connections", "10000");
    assert_value(&b, "limits.connections_per_peer", NULL); /* 256, but not for this machine */
    box_try(&b, "a.yaml", "mcp_server: {limits: {connections_per_peer: 256}}\n");
    assert_value(&b, "limits.connections_per_peer", "256");
    box_close(&b);
}

TEST(an_option_takes_no_secret_to_another_server, "")
{
    const struct owl_setting other[] = {{"--set", "servers.y.headers.B", "c"},
                                        {"--set", "servers.y.url", "https://evil"},
                                        {"--set", "servers.x.command", "other"},
                                        {"--set", "servers.x.args", "z"}};
    const struct owl_setting same[] = {{"--set", "servers.y.url", "https://y"},
                                       {"--set", "servers.x.timeout", "3"}};
    struct box b;
    box_open(&b);
    box_write(&b, "a.yaml",
              "mcp_server:\n  servers:\n"
              "    x: {command: one, args: [a, b], env: {K: v}, env_file: f, deny_tools: [d]}\n"
              "    y: {url: 'https://y', headers: {A: b}, timeout: 9}\n");
    LOAD(&b, FILES("a.yaml"), .settings = other, .n_settings = 4);
    assert_errors(&b, 0);
    assert_value(&b, "servers.y.url", "\"https://evil\"");
    assert_value(&b, "servers.y.headers", "{\"B\":\"c\"}");
    assert_value(&b, "servers.y.timeout", "9");
    assert_value(&b, "servers.x.args", "[\"z\"]");
    assert_value(&b, "servers.x.env", "{}");
    assert_value(&b, "servers.x.env_file", NULL);
    assert_value(&b, "servers.x.deny_tools", "[\"d\"]");
    assert_says(&b, "--set: warning: `servers.y.headers` of a.yaml is forgotten");
    assert_says(&b, "--set: warning: `servers.x.env` of a.yaml is forgotten");
    LOAD(&b, FILES("a.yaml"), .settings = same, .n_settings = 2);
    assert_value(&b, "servers.y.headers", "{\"A\":\"b\"}");
    assert_value(&b, "servers.x.args", "[\"a\",\"b\"]");
    assert_says_not(&b, "is forgotten");
    box_close(&b);
}

TEST(what_is_empty_takes_nothing_back, "")
{
    struct box b;
    box_open(&b);
    box_write(&b, "a.yaml",
              "mcp_server:\n  transport: http\n  http:\n    port: 8443\n"
              "    tls: {enabled: true, cert_file: a.pem, key_file: b.pem}\n"
              "  servers: {x: {url: 'https://x', headers: {A: b}}}\n"
              "  handlers: {commands: {t: {description: d, command: c, input_schema: {a: 1}}}}\n");
    box_write(&b, "b.yaml", "mcp_server:\n  http:\n#   port: 9000\n");
    LOAD(&b, FILES("a.yaml", "b.yaml"));
    assert_errors(&b, 0);
    assert_says(&b, "b.yaml:2:3: warning: `http` is empty, as if it were not there");
    assert_value(&b, "http.port", "8443");
    assert_value(&b, "http.tls.enabled", "true");
    box_write(&b, "c.yaml", "include: a.yaml\nmcp_server:\n  http:\n    tls:\n");
    LOAD(&b, FILES("c.yaml"));
    assert_value(&b, "http.tls.cert_file", "\"a.pem\"");
    box_write(&b, "d.yaml", "mcp_server:\n  servers: {x: {url: ~, timeout: 3}}\n");
    box_write(
        &b, "e.yaml",
        "mcp_server:\n  servers: {x: ~}\n  handlers: {commands: {t: {input_schema: {a: ~}}}}\n");
    LOAD(&b, FILES("a.yaml", "d.yaml", "e.yaml"), ENV("MCP_SERVER_HTTP={\"tls\":null}"));
    assert_errors(&b, 0);
    assert_value(&b, "http.tls.enabled", "true");
    assert_value(&b, "servers.x.url", "\"https://x\"");
    assert_value(&b, "servers.x.headers", "{\"A\":\"b\"}");
    assert_value(&b, "servers.x.timeout", "3");
    /* A null of somebody else's means what it says. */
    assert_value(&b, "handlers.commands.t.input_schema", "{\"a\":null}");
    box_close(&b);
}

TEST(a_server_that_is_told_anew_is_told_as_a_whole, "KO-6.2.b")
{
    struct box b;
    box_open(&b);
    box_write(&b, "a.json",
              "{\"mcpServers\": {\"x\": {\"command\": \"one\", \"args\": [\"a\"]},"
              "\"y\": {\"url\": \"https://y\", \"headers\": {\"Authorization\": \"k\"}},"
              "\"z\": {\"command\": \"three\", \"env\": {\"A\": \"1\"}}}}");
    box_write(&b, "b.json",
              "{\"mcpServers\": {\"x\": {\"url\": \"https://x\"},"
              "\"y\": {\"url\": \"https://elsewhere\"}, \"z\": {\"disabled\": true}}}");
    LOAD(&b, FILES("a.json", "b.json"));
    assert_value(&b, "servers.x.command", NULL);
    assert_value(&b, "servers.x.args", "[]");
    assert_value(&b, "servers.x.url", "\"https://x\"");
    assert_value(&b, "servers.y.headers", "{}"); /* another host learns no secret */
    assert_value(&b, "servers.z.env", "{\"A\":\"1\"}");
    assert_value(&b, "servers.z.enabled", "false");
    box_close(&b);
}

TEST(a_map_that_meets_another_thing_is_told, "")
{
    struct box b;
    box_open(&b);
    box_write(&b, "a.yaml", "mcp_server: {http: {port: 1}, tools: 3}\n");
    box_write(&b, "b.yaml", "mcp_server: {http: 5, tools: {}}\n");
    LOAD(&b, FILES("a.yaml", "b.yaml"));
    assert_says(&b, "b.yaml:1:14: warning: `http` replaces what a.yaml:1:14 says, which is a map");
    assert_says(&b,
                "b.yaml:1:23: warning: `tools` replaces what a.yaml:1:31 says, which is no map");
    assert_errors(&b, 1);
    box_close(&b);
}

TEST(many_members_are_merged, "")
{
    struct box b;
    char text[20000];
    box_open(&b);
    for (int file = 0; file < 2; file++) {
        size_t n = (size_t)snprintf(text, sizeof text, "mcp_server:\n  servers:\n");
        for (int i = file * 50; i < file * 50 + 100; i++)
            n += (size_t)snprintf(text + n, sizeof text - n, "    s%d: {command: c%d}\n", i, file);
        box_write(&b, file ? "b.yaml" : "a.yaml", text);
    }
    LOAD(&b, FILES("a.yaml", "b.yaml"));
    assert_errors(&b, 0);
    assert_int_equal(owl_config_get(b.c, "servers")->count, 150);
    assert_value(&b, "servers.s49.command", "\"c0\"");
    assert_value(&b, "servers.s50.command", "\"c1\"");
    assert_value(&b, "servers.s149.command", "\"c1\"");
    box_close(&b);
}

/* ---- variables in files ------------------------------------------------------------------ */

TEST(variables_in_files_take_the_type_of_their_key, "OT-CFG.20 OT-CFG.21")
{
    struct box b;
    box_open(&b);
    box_write(&b, "a.yaml",
              "mcp_server:\n"
              "  transport: ${T:-http}\n"
              "  http: {port: '${PORT}', allowed_hosts: '${HOSTS}', tls: {enabled: '${OFF}'}}\n"
              "  tools: {default_timeout_seconds: '${LONG}'}\n"
              "  limits: {body_bytes: '${SIZE:-64KiB}'}\n"
              "  name: v${PORT}\n"
              "  servers: {a: {command: '${CMD}', args: ['${X}', '$${Y}'], env: {A: '${N}'}}}\n");
    LOAD(&b, FILES("a.yaml"),
         ENV("PORT=81", "HOSTS=a,b", "OFF=false", "LONG=2m", "CMD=npx", "X=${PORT}", "N=5"));
    assert_errors(&b, 0);
    assert_value(&b, "transport", "\"http\"");
    assert_value(&b, "http.port", "81");
    assert_value(&b, "http.allowed_hosts", "[\"a\",\"b\"]");
    assert_value(&b, "http.tls.enabled", "false");
    assert_value(&b, "tools.default_timeout_seconds", "120");
    assert_value(&b, "limits.body_bytes", "65536");
    assert_value(&b, "name", "\"v81\"");
    assert_value(&b, "servers.a.args", "[\"${PORT}\",\"${Y}\"]");
    box_close(&b);
}

TEST(a_variable_that_is_missing_names_its_key, "OT-CFG.20")
{
    struct box b;
    box_open(&b);
    box_write(&b, "a.yaml",
              "mcp_server:\n  http:\n    port: ${NOPE}\n    host: $${x}\n"
              "  servers: {s: {url: 'https://h/', headers: {A: '${GONE}'}}}\n");
    LOAD(&b, FILES("a.yaml"));
    assert_says(&b, "a.yaml:3:11: error: in `http.port` the variable `NOPE` is not set\n");
    assert_says(&b, "^~~~~~~\n  hint: set it, or give a default: `${NOPE:-...}`\n");
    assert_says(&b,
                "a.yaml:5:49: error: in `servers.s.headers.A` the variable `GONE` is not set\n");
    assert_non_null(owl_config_server_fault(b.c, OWL_STR("s")).p);
    LOAD(&b, FILES("a.yaml"), ENV("NOPE=1", "GONE=1"));
    assert_errors(&b, 0);
    box_write(&b, "a.yaml", "mcp_server: {http: {port: '$${X}'}, transport: '$${Y}'}\n");
    LOAD(&b, FILES("a.yaml"));
    assert_says(&b, "error: in `http.port` a `${` that is no variable cannot be meant");
    assert_says(&b, "error: in `transport` a `${` that is no variable cannot be meant");
    assert_errors(&b, 2);
    box_close(&b);
}

TEST(what_is_overridden_needs_no_variable, "")
{
    struct box b;
    box_open(&b);
    box_write(&b, "a.yaml", "mcp_server: {http: {port: '${NOPE}'}}\n");
    LOAD(&b, FILES("a.yaml"), ENV("MCP_SERVER_HTTP_PORT=1"));
    assert_errors(&b, 0);
    box_close(&b);
}

/* ---- secrets ----------------------------------------------------------------------------- */

TEST(secrets_are_known_by_schema_name_and_origin, "")
{
    struct box b;
    static const char *const hidden[] = {"servers.a.headers.Authorization", "servers.a.headers.X",
                                         "servers.a.env.PLAIN", "state_key", "instructions"};
    static const char *const shown[] = {"http.port", "title", "http", "servers.a.url", "name"};
    box_open(&b);
    box_write(
        &b, "a.yaml",
        "mcp_server:\n  state_key: "
        "'0000000000000000000000000000000000000000000000000000000000000000'\n"
        "  title: t\n  instructions: use ${API_TOKEN}\n  name: ${HOST}\n"
        "  servers: {a: {url: 'https://h/', headers: {Authorization: x, X: y}, env: {PLAIN: 1}},\n"
        "    b: {command: c, args: [--token, abc, --port=1, '--password=x', plain]},\n"
        "    c: {url: 'https://u:p@h/'}}\n");
    LOAD(&b, FILES("a.yaml"), ENV("API_TOKEN=s3cret", "HOST=h"));
    assert_errors(&b, 0);
    for (size_t i = 0; i < OWL_COUNT(hidden); i++)
        assert_true(owl_config_secret(b.c, owl_config_get(b.c, hidden[i])));
    for (size_t i = 0; i < OWL_COUNT(shown); i++)
        assert_false(owl_config_secret(b.c, owl_config_get(b.c, shown[i])));
    const struct owl_value *arg = owl_config_get(b.c, "servers.b.args")->first;
    static const bool secret[] = {false, true, false, true, false};
    for (size_t i = 0; i < OWL_COUNT(secret); i++, arg = arg->next)
        assert_int_equal(owl_config_secret(b.c, arg), secret[i]);
    assert_true(owl_config_secret(b.c, owl_config_get(b.c, "servers.c.url")));
    assert_false(owl_config_secret(b.c, owl_config_tree(b.c)));
    box_close(&b);
}

/* ---- default places ---------------------------------------------------------------------- */

TEST(the_first_of_our_own_files_is_read, "OD-9.3.4")
{
    static const char *const names[] = {"owlclaw.yaml", "mcp-server.json", "mcp-server.toml",
                                        "mcp-server.yml", "mcp-server.yaml"};
    struct box b;
    box_open(&b);
    for (size_t i = 0; i < OWL_COUNT(names); i++) {
        char text[64];
        const char *form = strstr(names[i], "toml")
                               ? "[mcp_server.http]\nport = %zu\n"
                               : "{\"mcp_server\": {\"http\": {\"port\": %zu}}}\n";
        if (form[0] == '[')
            snprintf(text, sizeof text, "[mcp_server.http]\nport = %zu\n", i + 1);
        else
            snprintf(text, sizeof text, "{\"mcp_server\": {\"http\": {\"port\": %zu}}}\n", i + 1);
        box_write(&b, names[i], text);
        LOAD(&b, .files = NULL);
        assert_errors(&b, 0);
        assert_string_equal(box_source(&b, "http.port"), names[i]);
    }
    box_close(&b);
}

static const char kode_home[] = "{\"theme\": \"dark\", \"mcpServers\": {"
                                "\"a\": {\"type\": \"stdio\", \"command\": \"one\", \"args\": []},"
                                "\"b\": {\"type\": \"sse\", \"url\": \"https://b.example/sse\"}}}";
static const char kode_project[] =
    "{\"mcpServers\": {\"a\": {\"command\": \"two\", \"args\": [\"x\"]},"
    "\"c\": {\"command\": \"three\", \"args\": []}}}";

TEST(kode_files_are_read_project_over_global, "KO-6.1.a KO-6.1.b KO-6.2.a KO-6.2.b")
{
    struct box b;
    box_open(&b);
    box_write(&b, "home/.kode.json", kode_home);
    LOAD(&b, .files = NULL);
    assert_errors(&b, 0);
    assert_value(&b, "servers.a.command", "\"one\"");
    assert_value(&b, "servers.a.transport", "\"stdio\"");
    assert_value(&b, "servers.b.url", "\"https://b.example/sse\"");
    const struct owl_ignored *ignored;
    assert_int_equal(owl_config_ignored(b.c, &ignored), 1);
    assert_string_equal(ignored[0].key.p, "theme");
    box_write(&b, ".kode.json", kode_project);
    LOAD(&b, .files = NULL, .trust_project = true);
    assert_errors(&b, 0);
    assert_value(&b, "servers.a.command", "\"two\"");
    assert_value(&b, "servers.b.transport", "\"sse\"");
    assert_value(&b, "servers.c.command", "\"three\"");
    assert_string_equal(box_source(&b, "servers.a.command"), "./.kode.json");
    box_write(&b, ".kode.json", "{\"theme\": \"light\"}");
    LOAD(&b, .files = NULL, .trust_project = true);
    assert_errors(&b, 0);
    LOAD(&b, .files = NULL, .home = b.dir); /* the home is no project */
    assert_int_equal(owl_config_faults(b.c)->n, 0);
    box_close(&b);
}

TEST(a_project_s_file_is_used_once_it_is_trusted, "KO-6.2.a")
{
    struct box b;
    char path[128], state[128];
    box_open(&b);
    box_write(&b, ".kode.json", kode_project);
    LOAD(&b, .files = NULL);
    assert_errors(&b, 0);
    assert_value(&b, "servers", "{}");
    assert_says(&b,
                "./.kode.json: warning: the project's file names commands and is not trusted: it "
                "is not used\n  hint: look at it, then run `owlclaw trust`, or pass "
                "--trust-project\n");
    snprintf(path, sizeof path, "%s/.kode.json", b.dir);
    snprintf(state, sizeof state, "%s/.local/state", b.home);
    struct owl_trust t = {.state_dir = state};
    assert_int_equal(owl_trust_add(&t, path, owl_str_of(kode_project), NULL), 0);
    LOAD(&b, .files = NULL);
    assert_value(&b, "servers.c.command", "\"three\"");
    box_write(&b, ".kode.json", "{\"mcpServers\": {\"evil\": {\"command\": \"rm\"}}}");
    LOAD(&b, .files = NULL);
    assert_value(&b, "servers", "{}");
    assert_says(&b, "the project's file has changed since it was trusted: it is not used\n");
    snprintf(state, sizeof state, "XDG_STATE_HOME=%s/state", b.dir);
    t.state_dir = strchr(state, '=') + 1;
    assert_int_equal(owl_trust_add(&t, path,
                                   OWL_STR("{\"mcpServers\": {\"evil\": {\"command\": \"rm\"}}}"),
                                   NULL),
                     0);
    LOAD(&b, ENV(state));
    assert_value(&b, "servers.evil.command", "\"rm\"");
    LOAD(&b, FILES(".kode.json")); /* named by the user */
    assert_value(&b, "servers.evil.command", "\"rm\"");
    box_close(&b);
}

TEST(a_trusted_file_brings_in_no_other, "")
{
    struct box b;
    box_open(&b);
    box_write(&b, ".kode.json", "{\"include\": \"x.json\", \"mcpServers\": {}}");
    box_write(&b, "x.json", "{\"mcpServers\": {\"evil\": {\"command\": \"rm\"}}}");
    LOAD(&b, .files = NULL, .trust_project = true);
    assert_errors(&b, 0);
    assert_value(&b, "servers", "{}");
    const struct owl_ignored *ignored;
    assert_int_equal(owl_config_ignored(b.c, &ignored), 1);
    box_close(&b);
}

/* ---- the rest ---------------------------------------------------------------------------- */

TEST(features_to_come_are_told_once_a_key, "")
{
    struct box b;
    box_open(&b);
    box_try(&b, "a.yaml",
            "mcp_server:\n  governance: {enabled: true}\n  tools: {async_threshold_seconds: 3}\n"
            "  servers: {a: {command: x}, b: {command: y}}\n");
    assert_errors(&b, 0);
    assert_says(&b, "a.yaml:2:3: warning: `governance` is checked only: it is not in this build "
                    "yet, and has no effect");
    assert_says(&b, "a.yaml:3:11: warning: `tools.async_threshold_seconds` is checked only");
    assert_says_not(&b, "governance.enabled");
    assert_says_not(&b, "resources");
    assert_int_equal(owl_config_faults(b.c)->n, 3);
    box_close(&b);
}

TEST(the_effective_tree_loads_back_equal, "")
{
    struct box b;
    struct owl_buf first, again;
    box_open(&b);
    box_write(&b, "mcp-server.yaml", design);
    LOAD(&b, .files = NULL);
    owl_buf_init(&first, 1 << 20);
    owl_buf_init(&again, 1 << 20);
    owl_buf_putz(&first, "{\"mcp_server\":");
    owl_value_json(&first, owl_config_tree(b.c), NULL);
    owl_buf_putc(&first, '}');
    box_bytes(&b, "shown.json", owl_buf_str(&first));
    LOAD(&b, FILES("shown.json"));
    assert_errors(&b, 0);
    owl_buf_putz(&again, "{\"mcp_server\":");
    owl_value_json(&again, owl_config_tree(b.c), NULL);
    owl_buf_putc(&again, '}');
    assert_int_equal(first.n, again.n);
    assert_memory_equal(first.p, again.p, first.n);
    owl_buf_done(&first);
    owl_buf_done(&again);
    box_close(&b);
}

TEST(without_memory_there_is_no_configuration, "")
{
    struct box b;
    const struct owl_setting s = {"--port", "http.port", "7"};
    static const char *const files[] = {"a.yaml", "b.toml", "c.json"};
    static const char *const env[] = {"MCP_SERVER_NAME=n", "MCP_SERVER_NANE=n", "X_TOKEN=t", NULL};
    box_open(&b);
    box_write(&b, "a.yaml",
              "include: 'd*.yaml'\nmcp_server:\n  http: {port: 1, prot: 2, allowed_hosts: "
              "'${X_TOKEN}'}\n");
    box_write(
        &b, "b.toml",
        "[mcp]\nenabled = true\n[[mcp.servers]]\nname = 'a'\ncommand = 'x'\ntimeout = '3s'\n");
    box_write(
        &b, "c.json",
        "{\"mcpServers\": {\"z\": {\"type\": \"http\", \"url\": 3, \"timeout\": 5000}}, \"x\": 1}");
    box_write(&b, "d1.yaml", "mcp_server: {servers: {a: {env: {A: '${X_TOKEN} ${NOPE:-}'}}}}\n");
    struct owl_config_options o = {.files = files,
                                   .n_files = 3,
                                   .settings = &s,
                                   .n_settings = 1,
                                   .env = env,
                                   .dir = b.dir,
                                   .home = b.home};
    bool passed = false;
    unsigned long failures = 0;
    for (unsigned long n = 1; n < 100000 && !passed; n += 1 + n / 40) {
        struct owl_config *c = NULL;
        owl_alloc_fail_at(n);
        int rc = owl_config_load(&o, &c);
        owl_alloc_fail_at(0);
        assert_true(rc == 0 || rc == -OWL_ENOMEM);
        failures += rc != 0;
        passed = rc == 0 && owl_config_faults(c)->errors == 2 && owl_config_faults(c)->n >= 5;
        owl_config_free(c);
    }
    assert_true(passed && failures > 50);
    owl_thread_keep_nothing();
    box_close(&b);
}
