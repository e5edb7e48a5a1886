/* Unit tests of config/judge.c, checks.c and report.c: what is said about mistakes. The folder
 * tests/config/broken has many more. */
#include "unit/config/box.h"

#include "config/internal.h"

TEST(every_fault_has_its_place_words_and_caret, "OR-10.4")
{
    struct box b;
    struct owl_buf all;
    box_open(&b);
    box_try(&b, "a.yaml",
            "mcp_server:\n  transport: htpp\n  http:\n    prot: 8080\n    port: \"81\"\n"
            "    cors: {allowed_origins: 'http://a'}\n  limits: {body_bytes: 3}\n");
    box_report(&b, &all);
    assert_string_equal(
        all.p, "a.yaml:2:14: error: `transport` must be one of stdio, http, but is \"htpp\"\n"
               "      transport: htpp\n"
               "                 ^~~~\n"
               "  hint: did you mean `http`?\n"
               "a.yaml:4:5: error: `prot` is no key of `http`\n"
               "        prot: 8080\n"
               "        ^~~~\n"
               "  hint: did you mean `port`?\n"
               "a.yaml:5:11: error: `http.port` must be a whole number, but is \"81\"\n"
               "        port: \"81\"\n"
               "              ^~~~\n"
               "  hint: write it without quotes\n"
               "a.yaml:6:29: error: `http.cors.allowed_origins` must be a list of texts, but is "
               "\"http://a\"\n"
               "        cors: {allowed_origins: 'http://a'}\n"
               "                                ^~~~~~~~~~\n"
               "  hint: write a list: [\"http://a\"]\n"
               "a.yaml:7:24: error: `limits.body_bytes` must be at least 1024 bytes, but is 3\n"
               "      limits: {body_bytes: 3}\n"
               "                           ^\n");
    owl_buf_done(&all);
    box_close(&b);
}

TEST(faults_are_written_for_programs_and_with_colours_too, "")
{
    struct box b;
    struct owl_buf out;
    box_open(&b);
    box_try(&b, "a.yaml", "mcp_server: {transport: htpp}\n");
    const struct owl_faults *f = owl_config_faults(b.c);
    owl_buf_init(&out, 4096);
    owl_report_fault_json(&out, b.c, &f->list[0]);
    owl_buf_putc(&out, '\0');
    assert_string_equal(
        out.p, "{\"file\":\"a.yaml\",\"line\":1,\"column\":25,\"severity\":\"error\",\"message\":"
               "\"`transport` must be one of stdio, http, but is \\\"htpp\\\"\","
               "\"hint\":\"did you mean `http`?\"}");
    owl_buf_reset(&out);
    owl_report_fault(&out, b.c, &f->list[0], true);
    owl_buf_putc(&out, '\0');
    assert_non_null(strstr(out.p, "\033[1ma.yaml:1:25:\033[0m \033[1m\033[31merror:\033[0m "));
    owl_buf_reset(&out);
    LOAD(&b, ENV("MCP_SERVER_HTTP_PROT=1"));
    owl_report_fault_json(&out, b.c, &owl_config_faults(b.c)->list[0]);
    owl_buf_putc(&out, '\0');
    assert_memory_equal(out.p, "{\"source\":\"MCP_SERVER_HTTP_PROT\",\"severity\":\"warning\"", 53);
    owl_buf_done(&out);
    box_close(&b);
}

TEST(a_public_address_needs_somebody_who_authenticates, "OD-9.1.5 OR-10.7")
{
    static const struct {
        const char *http;
        size_t errors;
    } rows[] = {
        {"{host: 0.0.0.0}", 1},
        {"{host: '::'}", 1},
        {"{host: mcp.example.com}", 1},
        {"{host: 127.0.0.1}", 0},
        {"{host: '::1'}", 0},
        {"{host: localhost}", 0},
        {"{host: 0.0.0.0, allow_insecure: true}", 0},
        {"{host: 0.0.0.0, tls: {enabled: true, cert_file: c, key_file: k}}", 1},
        {"{host: 0.0.0.0, tls: {enabled: true, cert_file: c, key_file: k, verify_client: true, "
         "client_ca_file: a}}",
         0},
        /* It has no effect in this build: whoever came would be served. */
        {"{host: 0.0.0.0, auth: {api_keys: [{name: n, key: 0123456789abcdef}]}}", 1},
        {"{host: 0.0.0.0, auth: {jwt: {issuer: 'https://i', audience: a}}}", 1},
        {"{host: 0.0.0.0, socket: /run/x}", 0},
    };
    struct box b;
    box_open(&b);
    for (size_t i = 0; i < OWL_COUNT(rows); i++) {
        char text[256];
        snprintf(text, sizeof text, "mcp_server:\n  transport: http\n  http: %s\n", rows[i].http);
        box_try(&b, "a.yaml", text);
        assert_errors(&b, rows[i].errors);
    }
    box_try(&b, "a.yaml", "mcp_server: {transport: http, http: {host: 0.0.0.0}}\n");
    assert_says(&b, "`http.auth` does not count yet");
    box_try(&b, "a.yaml", "mcp_server: {http: {host: 0.0.0.0}}\n"); /* not listened on */
    assert_errors(&b, 0);
    LOAD(&b, FILES("a.yaml"), ENV("MCP_SERVER_TRANSPORT=http"));
    assert_errors(&b, 1);
    box_close(&b);
}

TEST(keys_that_need_one_another_are_told,
     "OD-9.1.4 OD-9.1.25 OD-9.4.1 OD-9.4.2 OD-9.4.3 OD-9.4.4 OD-9.4.5 OD-9.4.6")
{
    struct box b;
    box_open(&b);
    box_try(&b, "a.yaml", "mcp_server:\n  transport: http\n  http:\n    tls: {enabled: true}\n");
    assert_says(&b, "a.yaml:4:5: error: `http.tls`");
    assert_says(&b, "`cert_file`");
    box_try(&b, "a.yaml", "mcp_server: {transport: http, http: {tls: {verify_client: true}}}\n");
    assert_says(&b, "client_ca_file");
    box_try(&b, "a.yaml", "mcp_server: {logging: {output: stdout}}\n");
    assert_says(&b, "with transport stdio standard output belongs to the client");
    assert_errors(&b, 1);
    box_try(&b, "a.yaml", "mcp_server: {transport: http, logging: {output: stdout}}\n");
    assert_errors(&b, 0);
    box_try(&b, "a.yaml", "mcp_server: {logging: {output: /var/log/owlclaw.log}}\n");
    assert_errors(&b, 0);
    box_close(&b);
}

TEST(a_server_needs_a_command_or_an_address, "KO-6.3.a KO-6.4.a OT-CFG.8")
{
    static const struct {
        const char *entry, *says;
    } rows[] = {
        {"{}", "`servers.s`: a server needs `command`"},
        {"{args: [x]}", "`servers.s`: a server needs `command`"},
        {"{command: x, url: 'https://h/'}", "either `command` or `url`"},
        {"{transport: sse, command: x}", "need `url`, not `command`"},
        {"{transport: stdio, url: 'https://h/'}", "needs `command`, not `url`"},
        {"{transport: ftp, command: x}", "must be one of stdio, http, sse"},
        {"{command: ''}", "`servers.s.command` must not be empty"},
        {"{comand: x}", "`comand` is no key of `servers.s`"},
        {"{type: stdio, command: x}", "did you mean `transport`?"},
        {"{command: x, timeout: 0}",
         "`servers.s.timeout` must be at least 0.001 seconds, but is 0"},
        {"{command: x, timeout: soon}", "a time is a number"},
        {"[]", "`servers.s` must be a map, but is a list"},
    };
    struct box b;
    box_open(&b);
    for (size_t i = 0; i < OWL_COUNT(rows); i++) {
        char text[256];
        snprintf(text, sizeof text, "mcp_server:\n  servers:\n    s: %s\n", rows[i].entry);
        box_try(&b, "a.yaml", text);
        assert_says(&b, rows[i].says);
        assert_errors(&b, 1);
        assert_true(owl_config_usable(b.c));
        assert_non_null(owl_config_server_fault(b.c, OWL_STR("s")).p);
    }
    box_close(&b);
}

TEST(a_key_in_the_wrong_place_is_led_to_the_right_one, "")
{
    struct box b;
    box_open(&b);
    box_try(&b, "a.yaml", "mcp_server:\n  port: 1\n  http: {transport: http, banana: 1}\n");
    assert_says(&b, "hint: `port` is a key of `http`");
    assert_says(&b, "hint: `transport` is a key of `mcp_server` itself");
    assert_says(&b, "hint: known are host, port, socket");
    box_close(&b);
}

TEST(the_value_of_a_variable_is_named_with_it, "")
{
    struct box b;
    box_open(&b);
    box_write(&b, "a.yaml", "mcp_server: {http: {port: '${P}'}}\n");
    LOAD(&b, FILES("a.yaml"), ENV("P=x"));
    assert_says(&b, "but is \"x\"");
    assert_says(&b, "hint: that is what '${P}' stands for");
    box_close(&b);
}

TEST(a_name_that_is_wrong_is_told_beside_its_value, "")
{
    struct box b;
    box_open(&b);
    box_try(&b, "a.yaml", "mcp_server:\n  servers:\n    'a:b': 3\n");
    assert_errors(&b, 2);
    assert_says(&b, "a.yaml:3:5: error: `servers.a:b`: a server's name has 1 to 64 characters");
    assert_says(&b, "a.yaml:3:12: error: `servers.a:b` must be a map, but is 3");
    box_close(&b);
}

TEST(faults_beyond_those_told_are_counted, "")
{
    struct box b;
    static char text[40000];
    box_open(&b);
    size_t n = (size_t)snprintf(text, sizeof text, "mcp_server:\n  servers:\n");
    for (int i = 0; i < 400; i++)
        n += (size_t)snprintf(text + n, sizeof text - n, "    s%d: {command: %s}\n", i,
                              i % 2 ? "x" : "3");
    box_try(&b, "a.yaml", text);
    assert_errors(&b, 200);
    assert_true(owl_config_faults(b.c)->left_out > 0);
    assert_true(owl_config_usable(b.c));
    for (int i = 0; i < 400; i++) {
        char name[16];
        snprintf(name, sizeof name, "s%d", i);
        assert_int_equal(owl_config_server_fault(b.c, owl_str_of(name)).p != NULL, i % 2 == 0);
    }
    box_close(&b);
}

TEST(unknown_keys_beyond_those_told_are_counted, "")
{
    struct box b;
    static char text[4000];
    box_open(&b);
    size_t n = (size_t)snprintf(text, sizeof text, "mcp_server:\n  servers: {s: {command: x}}\n");
    for (int i = 0; i < 73; i++)
        n += (size_t)snprintf(text + n, sizeof text - n, "  zz%d: 1\n", i);
    box_try(&b, "a.yaml", text);
    assert_errors(&b, 73);
    assert_int_equal(owl_config_faults(b.c)->left_out, 73 - 64);
    assert_false(owl_config_usable(b.c));
    /* The same in a server, beside others; that those need a command is told in two ways. */
    n = (size_t)snprintf(text, sizeof text, "mcp_server:\n  servers:\n    s: {command: x");
    for (int i = 0; i < 73; i++)
        n += (size_t)snprintf(text + n, sizeof text - n, ", zz%d: 1", i);
    n += (size_t)snprintf(text + n, sizeof text - n, "}\n");
    for (int i = 0; i < 50; i++)
        n += (size_t)snprintf(text + n, sizeof text - n, "    t%d: {}\n", i);
    box_try(&b, "a.yaml", text);
    assert_errors(&b, 73 + 50);
    assert_int_equal(owl_config_faults(b.c)->left_out, 73 + 50 - 64);
    assert_true(owl_config_usable(b.c));
    assert_non_null(owl_config_server_fault(b.c, OWL_STR("t49")).p);
    box_close(&b);
}

/* ---- secrets ----------------------------------------------------------------------------- */

/* The same file with the ends of lines that Windows has. */
static void write_crlf(const struct box *b, const char *name, const char *text)
{
    struct owl_buf crlf;
    owl_buf_init(&crlf, 4096);
    for (; *text; text++) {
        owl_buf_putz(&crlf, *text == '\n' ? "\r" : "");
        owl_buf_putc(&crlf, *text);
    }
    assert_int_equal(crlf.rc, 0);
    box_bytes(b, name, owl_buf_str(&crlf));
    owl_buf_done(&crlf);
}

TEST(secrets_are_never_shown, "")
{
    static const char *const files[] = {
        "mcp_server:\n  state_key: hunter2\n",
        "mcp_server:\n  state_key: [hunter2]\n",
        "mcp_server:\n  store: {url: 'mysql://u:hunter2@h/', ur: 1}\n",
        "mcp_server:\n  servers: {a: {command: x, env: {T: [hunter2]}, comand: 1}}\n",
        "mcp_server:\n  servers:\n    a:\n      headers: {Authorization: hunter2, 'a b': hunter2}",
        "mcp_server:\n  servers: {a: {args: [--token, hunter2], comand: x}}\n",
        "mcp_server:\n  servers: {a: {arg: [--token, hunter2]}}\n",
        "mcp_server:\n  apiToken: hunter2\n",
        "mcp_server:\n  password: |\n    hunter2\n\ttab\n",
        "mcp_server:\n  password: \"hunter2\n",
        "mcp_server:\n  name: ${TOKEN}\n  title: [\"${TOKEN}\"]\n  http: {port: '${TOKEN}'}\n",
        "[mcp_server]\npassword = hunter2\n",
        "{\"mcp_server\": {\"password\": hunter2}}",
        /* What cannot be read has no tree that would tell what is secret. */
        "[mcp_server]\npassword = \"\"\"\nhunter2\\q\n\"\"\"\n",
        "[mcp_server]\npassword = '''\nhunter2\001\n'''\n",
        "[mcp_server.servers.a.env]\nA = 1\nB = hunter2\n",
        "[mcp_server]\nservers.a.env.B = hunter2\n",
        "{\"mcp_server\": {\"password\":\n\"hunter2\\q\"}}",
        "{\"mcp_server\": {\"servers\": {\"a\":{\"args\":[\"--token\",\n\"hunter2\", tru]}}}}",
        "{\"mcp_server\": {\"servers\": {\"a\":{\"env\":{\"A\":\"hunter2\", \"B\": tru}}}}}",
        "{\"mcp_server\": {\"servers\": {\"a\":{\"url\":\"https://u:hunter2@h/\" \"B\": 1}}}}",
        "{\"mcp_server\": {\"x\": \"Bearer hunter2\" \"B\": 1}}",
        "mcp_server:\n  servers:\n    a:\n      env:\n        A: b\n        FOO: hunter2: x\n",
        "mcp_server:\n  servers:\n    a:\n      headers:\n        FOO: \"hunter2\n",
        "mcp_server:\n  state_key: hunter2\n  state_key: hunter2\n",
        "mcp_server:\n  state_key: *hunter2\n",
        "mcp_server:\n  state_key: !hunter2 x\n",
        "mcp_server:\n  servers: {a: {command: x, args: [\"X-Api-Key: hunter2\"], comand: y}}\n",
        "include: x-${TOKEN}.yaml\nmcp_server: {}\n",
        "mcp_server: {servers: {a: {url: x, prefix: '${TOKEN}'}, b: {url: x, prefix: '${TOKEN}'}}}",
        "[mcp_server]\npassword hunter2\n",
        "mcp_server:\n  servers: {a: {command: npx x --token hunter2, comand: x}}\n",
        "mcp_server:\n  servers:\n    a:\n      args:\n      - --password\n      - hunter2: x: y\n",
        "[mcp_server]\npassword = a\033hunter2\n",
        "[mcp_server]\nx = 1\npassword = \"\"\"a\"b, hunter2\"\"\"\n",
        /* Only the value is hidden, but all of it. */
        "mcp_server:\n  servers: {a: {command: x, env: {A: 'it''s, hunter2'}, comand: 1}}\n",
        "mcp_server:\n  servers: {a: {command: x, env: {A: a=b: hunter2}, comand: 1}}\n",
        "mcp_server:\n  servers: {a: {command: x, env: {A: \"a\\\", hunter2\"}, comand: 1}}\n",
        "mcp_server:\n  servers: {a: {command: x, args: [--token, 'a, hunter2'], comand: 1}}\n",
        "mcp_server:\n  password: a, hunter2, x # b: c\n",
        "mcp_server:\n  x: 1 # password: hunter2\n",
        "mcp_server:\n  servers: {a: {command: x, env: {\n  A: b, B: hunter2}, comand: 1}}\n",
        "{\"mcp_server\": {\n\"port\": 5, \"password\": \"a\\\", hunter2\", \"x\": 1}}",
        "mcp_server: {state_key: 'a${b hunter2!}', x: 1}\n",
        "mcp_server: {servers: {a: {env: {\n A: \"b\n  hunter2\", D: e}, x: 1}}}\n",
        "mcp_server: {limits: {header_ms: '${TOKEN:-hunter2}'}}\n",
    };
    struct box b;
    box_open(&b);
    for (size_t i = 0; i < OWL_COUNT(files); i++) {
        const char *name = files[i][0] == '[' ? "a.toml" : files[i][0] == '{' ? "a.json" : "a.yaml";
        for (int crlf = 0; crlf < 2; crlf++) {
            (crlf ? write_crlf : box_write)(&b, name, files[i]);
            LOAD(&b, FILES(name), ENV("TOKEN=hunter2"));
            assert_true(owl_config_faults(b.c)->errors > 0);
            assert_says_not(&b, "hunter2");
        }
    }
    box_write(&b, "a.yaml",
              "mcp_server:\n  servers:\n    a:\n      command: x\n      args:\n"
              "        - --password\n        - 90210777\n");
    LOAD(&b, FILES("a.yaml"));
    assert_says(&b, "must be a text, but is a number\n");
    assert_says_not(&b, "90210777");
    LOAD(&b, ENV("MCP_SERVER_STATE_KEY=hunter2", "MCP_SERVER_SERVERS={hunter2"));
    assert_true(owl_config_faults(b.c)->errors > 0);
    assert_says_not(&b, "hunter2");
    box_close(&b);
}

TEST(names_and_our_own_words_beside_secrets_stay, "OR-10.4")
{
    static const struct {
        const char *name, *text, *says;
    } cases[] = {
        {"a.json",
         "{\"mcpServers\":{\"g\":{\"command\":\"x\",\"env\":{\"T_TOKEN\":\"comm timeout\"},"
         "\"commnad\":\"x\",\"timeout\":\"abc\"}}}",
         "error: `servers.g.timeout` is \"abc\": a time is a number"},
        {"a.json", NULL, "warning: `commnad` is not understood, and has no effect\n"},
        {"a.json", NULL, "hint: did you mean `command`?\n"},
        {"a.json", NULL, "\"T_TOKEN\":***** ********},\"commnad\":***,\"timeout\":\"abc\"}}}\n"},
        {"mcp.json",
         "{\"servers\":{\"p\":{\"command\":\"x\",\"env\":{\"A_KEY\":\"${input:a-key}\","
         "\"R\":\"${input:region}\"}}}}",
         "hint: set the variable OWLCLAW_INPUT_A_KEY\n"},
        {"mcp.json", NULL, "the input `region` has no value\n"},
        {"a.yaml",
         "mcp_server:\n  servers:\n    g: {command: x, env: {A_TOKEN: http}, transport: https}\n",
         "must be one of stdio, http, sse, but is \"https\"\n"},
        {"a.yaml", NULL, "    g: {command: x, env: {A_TOKEN: ****}, transport: https}\n"},
        {"a.yaml", NULL, "hint: did you mean `http`?\n"},
        {"a.toml", "[mcp_server]\npassword = value-333\n", "error: found ***, expected a value\n"},
        {"a.toml", NULL, "hint: text needs quotes: \"***\"\n"},
    };
    struct box b;
    box_open(&b);
    for (size_t i = 0; i < OWL_COUNT(cases); i++) {
        if (cases[i].text)
            box_try(&b, cases[i].name, cases[i].text);
        assert_says(&b, cases[i].says);
    }
    box_close(&b);
}

TEST(a_line_is_shown_as_a_terminal_can_bear_it, "")
{
    struct box b;
    static char text[600];
    box_open(&b);
    box_try(&b, "a.yaml", "mcp_server:\n  naïve\xc3\xa9: 1\n  ünïcode: 2\n");
    assert_says(&b, "      naïve\xc3\xa9: 1\n      ^");
    box_try(&b, "a.json", "{\"mcp_server\":\n\t{\"x\\u001b[31m\": 1}}");
    assert_says_not(&b, "\033");
    memset(text, ' ', sizeof text - 1);
    memcpy(text, "{\"mcp_server\": {", 16);
    memcpy(text + 400, "\"x\": 1}}", 8);
    box_try(&b, "a.json", text);
    assert_says(&b, "a.json:1:401: error: `x` is no key of `mcp_server`\n  hint:");
    memcpy(text + 100, "\"state_key\": \"${X:-hunter2}\",", 29);
    box_try(&b, "a.json", text);
    assert_says(&b, "a.json:1:401: error: `x` is no key of `mcp_server`\n  hint:");
    box_try(&b, "a.yaml",
            "mcp_server: {title: 日本, 日本e\u0301: 1, x: 1}\n"); /* of two columns each */
    assert_says(&b, "\n                              ^~~~~\n");
    assert_says(&b, "\n                                        ^\n");
    box_try(&b, "a.json",
            "{\"mcp_server\":{\"servers\":{\"a\\u0000b\":{\"command\":1,\"c\\u0000d\":1}}}}");
    assert_says(&b, "error: `servers.a?b.command` must be a text, but is 1\n");
    assert_says(&b, "error: `c?d` is no key of `servers.a?b`\n");
    box_try(&b, "a.yaml", "mcp_server:\n  title: caf\xe9\n");
    assert_says(&b, "      title: ****\n                ^\n");
    box_close(&b);
}

TEST(carets_mark_all_of_a_word, "OR-10.4")
{
    struct box b;
    box_open(&b);
    box_try(&b, "mcp.json", "{\"mcpServers\": {\"a\": {\"comand\": \"npx\"}}}");
    assert_says(&b, "mcp.json:1:23: error: `comand` is no key of `servers.a`\n"
                    "    {\"mcpServers\": {\"a\": {\"comand\": \"npx\"}}}\n"
                    "                          ^~~~~~~~\n"
                    "  hint: did you mean `command`?\n");
    assert_says(&b, "     ^~~~~~~~~~~~\n"); /* "mcpServers", though it is `servers` of ours */
    assert_says_not(&b, "needs `command`");
    box_try(&b, "a.yaml", "mcp_server:\n  tools: {default_timeout_seconds: 5 minutes}\n");
    assert_says(&b, "5 minutes}\n                                       ^~~~~~~~~\n");
    box_try(&b, "a.yaml", "include: nowhere.yaml\nmcp_server: {}\n");
    assert_says(&b, "             ^~~~~~~~~~~~\n");
    box_close(&b);
}

TEST(advice_mends_what_it_is_given_for, "OR-10.4")
{
    static const struct {
        const char *tree, *hint;
    } cases[] = {
        {"{http: {tls: {enabled: off}}}", "write `false`\n"},
        {"{http: {tls: {enabled: \"true\"}}}", "write it without quotes\n"},
        {"{servers: {a: {command: x, args: -y b}}}", "write a list: [\"-y\", \"b\"]\n"},
        {"{servers: {a: {command: x, args: \"-c 'a b'\"}}}", "write a list, such as"},
        {"{servers: {a: {command: x, env: [A=b]}}}", "write `NAME: value` for each"},
        {"{http: {allowed_hosts: \"a.b, c.d\"}}", "write a list: [\"a.b\", \"c.d\"]\n"},
        {"{http: {allowed_hosts: {a: a.b}}}", "write a list: [\"a.b\"]\n"},
        {"{http: [{port: 1}]}", "write its keys without `- ` before them\n"},
        {"{servers: [{name: a}]}", "put the name of each before it, as a key\n"},
        {"{http: 80}", "known are host, port"},
        {"{http: {tls: {enabled: true, key_file: k}}}", "add `cert_file`\n"},
        {"{http: {host: 'localhost:80'}}", "the port has a key of its own"},
        {"{http: {port: $PORT}}", "variables are written `${PORT}`\n"},
        {"{http: {port: “80”}}", "it has curly quotes"},
        {"{http: {tls: true}}", "known are enabled, cert_file"},
        {"{http: {allow_insecure: 1}}", "write `true`\n"},
        {"{http: {port: 1_000}}", "write digits only"},
        {"{http_port: 80}", "`port` is a key of `http`\n"},
        {"{include: a.yaml}", "`include` stands beside `mcp_server`, not in it\n"},
        {"{transport: streamable-http}", "did you mean `http`?\n"},
        {"{tools: {default_timeout_seconds: 5 minutes}}", "write `5m`\n"},
        {"{limits: {body_bytes: 4_096}}", "write `4096`\n"},
        {"{limits: {body_bytes: 10 megabytes}}", "write `10MB`\n"},
        {"{http: {port: '${A-1}'}}", "a default stands behind `:-`, as in `${A:-...}`\n"},
        {"{http: {port: '${env.A}'}}", "write `${A}`\n"},
        {"{servers: {a: {command: [x, y]}}}", "the rest into `args`\n"},
        {"{servers: {a: {command: x -y z}}}", "put what follows the program into `args`\n"},
        {"{servers: {a: {command: \"C:\\next\"}}}", "write each backslash twice\n"},
        {"{limits: {header_ms: 2h}}", "but is 2h, which is 7200000\n"},
    };
    struct box b;
    char text[200];
    box_open(&b);
    for (size_t i = 0; i < OWL_COUNT(cases); i++) {
        snprintf(text, sizeof text, "mcp_server: %s\n", cases[i].tree);
        box_try(&b, "a.yaml", text);
        assert_says(&b, cases[i].hint);
    }
    box_close(&b);
}

/* Each element of the first list is refused with its words, none of the second. */
TEST(addresses_that_nobody_can_have_are_refused, "OR-10.4")
{
    static const struct {
        const char *bad, *good;
        size_t errors;
        const char *says;
    } cases[] = {
        {"{http: {trusted_proxies: [10.0.0.0/33, unx, 10.0.0, '::/200', '', 256.1.1.1, "
         "'1::2::3/x']}}",
         "{http: {trusted_proxies: [10.0.0.1, 10.0.0.0/8, '::1', '2001:db8::/32', unix, "
         "'::ffff:1.2.3.4', '1:2:3:4:5:6:7:8/128', '${P}']}}",
         7, "a proxy is an address, a CIDR block or `unix`\n"},
        {"{http: {allowed_hosts: [a b, 'https://x.com', '', x/y, 'a:99999', '::1', '*.x.com']}}",
         "{http: {allowed_hosts: [a.b, '*', '[::1]', 'a:80', my_host, '[::1]:8080']}}", 7,
         "a host is a name or an address, perhaps with a port"},
        {"{http: {cors: {allowed_origins: ['http://a:99999', 'http://a:', 'http://*.x.com', '', "
         "'http://u@a', 'http://a/']}}}",
         "{http: {cors: {allowed_origins: ['*', 'http://a', 'https://a.b:65535', "
         "'http://[::1]:80', "
         "'vscode-webview://ab']}}}",
         6, "an origin is a scheme, a host and perhaps a port up to 65535"},
        {"{servers: {a: {url: 'http://h:99999/'}, b: {url: 'https://[::1'}, c: {url: 'http://'}, "
         "d: {url: 'https://exa mple.com/'}, e: {url: 'http://h:/'}}}",
         "{servers: {a: {url: 'HTTPS://x'}, b: {url: 'https://[::1]:80/x?y#z'}, "
         "c: {url: 'https://x?y'}, d: {url: 'http://me@h'}, e: {url: 'https://${P}/'}}}",
         5, "a URL has a host, perhaps a port up to 65535, and no blanks\n"},
        {"{servers: {a: {url: 'example.com/x'}}}", "{}", 1, "write it with its scheme"},
    };
    struct box b;
    char text[400];
    box_open(&b);
    for (size_t i = 0; i < OWL_COUNT(cases); i++) {
        snprintf(text, sizeof text, "mcp_server: %s\n", cases[i].bad);
        box_write(&b, "a.yaml", text);
        LOAD(&b, FILES("a.yaml"));
        assert_says(&b, cases[i].says);
        assert_errors(&b, cases[i].errors);
        snprintf(text, sizeof text, "mcp_server: %s\n", cases[i].good);
        box_write(&b, "a.yaml", text);
        LOAD(&b, FILES("a.yaml"), ENV("P=10.1.1.1"));
        assert_errors(&b, 0);
    }
    box_close(&b);
}

TEST(names_of_variables_are_no_secrets, "")
{
    struct box b;
    box_open(&b);
    box_try(&b, "a.yaml",
            "mcp_server:\n  servers:\n    a:\n      url: http://a\n      headers:\n"
            "        Authorization: Bearer ${NO_TOKEN}\n"
            "        X-Token: abc${NO_TOKEN}${NO_OTHER:-hunter2}\n"
            "  http:\n    auth:\n      api_keys:\n        - name: me\n");
    assert_says(&b, "        Authorization: ****** ${NO_TOKEN}\n");
    assert_says(&b, "        X-Token: ***${NO_TOKEN}*");
    assert_says(&b, "        - name: me\n");
    assert_says_not(&b, "hunter2");
    box_try(&b, "a.yaml", "mcp_server: {state_key: \"${NO_KEY:-hunter2}\"}\n");
    assert_says(&b, "64 hexadecimal digits");
    assert_says_not(&b, "hunter2");
    box_try(&b, "a.yaml",
            "mcp_server:\n  servers:\n    a:\n      url: http://a\n"
            "      headers:\n        Authorization: Bearer a: b\n");
    assert_says(&b, "a second ': ' in one value");
    box_close(&b);
}

/* ---- the schema as a map of keys ---------------------------------------------------------- */

TEST(keys_are_found_in_the_schema, "")
{
    struct owl_keys k;
    assert_int_equal(owl_keys__init(&k, owl_config_schema()), 0);
    uint32_t root = owl_keys__top(&k, OWL_STR("mcp_server"));
    assert_true(root > 0);
    assert_int_equal(owl_keys__top(&k, OWL_STR("nothing")), 0);
    uint32_t port = owl_keys__path(&k, root, OWL_STR("http.port"));
    assert_int_equal(owl_keys__of(&k, port)->types, OWL_KEY__INTEGER);
    assert_true(owl_keys__of(&k, port)->fallback > 0);
    assert_int_equal(owl_keys__path(&k, root, OWL_STR("http.prot")), 0);
    assert_int_equal(owl_keys__path(&k, root, OWL_STR("http.port.x")), 0);
    uint32_t timeout = owl_keys__path(&k, root, OWL_STR("servers.any name.timeout"));
    assert_int_equal(owl_keys__of(&k, timeout)->unit, OWL_UNIT__SECONDS);
    uint32_t header = owl_keys__path(&k, root, OWL_STR("servers.a.headers.X"));
    assert_true(owl_keys__of(&k, header)->secret);
    assert_false(owl_keys__of(&k, port)->secret);
    assert_true(owl_keys__of(&k, owl_keys__path(&k, root, OWL_STR("governance")))->to_come);
    uint32_t origins = owl_keys__path(&k, root, OWL_STR("http.cors.allowed_origins"));
    assert_int_equal(owl_keys__of(&k, origins)->types, OWL_KEY__ARRAY);
    assert_true(owl_keys__of(&k, origins)->element > 0);
    assert_int_equal(owl_keys__of(&k, 0)->n_members, 0);
    owl_keys__done(&k);
}

TEST(schemas_that_lead_nowhere_do_no_harm, "")
{
    static const char *const schemas[] = {
        "{}",
        "[]",
        "true",
        "{\"properties\":3}",
        "{\"properties\":{\"a\":true}}",
        "{\"properties\":{\"a\":{\"$ref\":\"#/properties/a\"}}}",
        "{\"properties\":{\"a\":{\"$ref\":\"#/nowhere\"}}}",
        "{\"properties\":{\"a\":{\"$ref\":\"other\"}}}",
        "{\"properties\":{\"a\":{\"anyOf\":[{\"$ref\":\"#/properties/a\"},{\"$ref\":\"#/properties/"
        "a\"}]}}}",
        "{\"properties\":{\"a\":{\"type\":[3,\"string\"],\"additionalProperties\":{\"$ref\":\"#/"
        "properties/a\"}}}}"};
    for (size_t i = 0; i < OWL_COUNT(schemas); i++) {
        struct owl_keys k;
        assert_int_equal(owl_keys__init(&k, owl_str_of(schemas[i])), 0);
        uint32_t a = owl_keys__top(&k, OWL_STR("a"));
        assert_int_equal(owl_keys__path(&k, a, OWL_STR("x.y.z")) != 0, i == 9);
        owl_keys__done(&k);
    }
    struct owl_keys k;
    assert_int_equal(owl_keys__init(&k, OWL_STR("{")), -OWL_EPARSE);
    owl_keys__done(&k);
}
