/* Unit tests of config/shape.c, source.c and include.c: what is found in files of every shape. */
#include "unit/config/box.h"

/* ---- other programs' files --------------------------------------------------------------- */

TEST(otter_s_sample_loads_as_written, "OT-CFG.1 OT-CFG.2 OT-CFG.3 OT-CFG.4 OT-CFG.5 OT-CFG.7 "
                                      "OT-CFG.8 OT-CFG.9 OT-CFG.10 OT-CFG.11 OT-CFG.12 "
                                      "OT-CFG.13 OT-CFG.14 OT-CFG.15 OT-CFG.16 OT-CFG.17 OT-CFG.18")
{
    struct box b;
    box_open(&b);
    box_write(
        &b, "otter.toml",
        "[mcp]\n"
        "enabled = true                    # the switch\n"
        "auto_reload = true\n"
        "health_check_interval = \"30s\"\n"
        "\n"
        "[[mcp.servers]]\n"
        "name = \"filesystem\"\n"
        "transport = \"stdio\"\n"
        "command = \"npx\"\n"
        "args = [\"-y\", \"@modelcontextprotocol/server-filesystem\", \"/home/user/projects\"]\n"
        "env = { NODE_ENV = \"production\" }\n"
        "enabled = true\n"
        "\n"
        "[[mcp.servers]]\n"
        "name = \"browser\"\n"
        "transport = \"stdio\"\n"
        "command = \"npx\"\n"
        "args = [\"-y\", \"@anthropic-ai/mcp-server-browser\"]\n"
        "\n"
        "[[mcp.servers]]\n"
        "name = \"github\"\n"
        "transport = \"sse\"\n"
        "url = \"https://api.github.com/mcp/sse\"\n"
        "headers = { Authorization = \"Bearer ${GITHUB_TOKEN}\" }\n"
        "timeout = \"30s\"\n");
    LOAD(&b, FILES("otter.toml"), ENV("GITHUB_TOKEN=s3cret"));
    assert_errors(&b, 0);
    assert_value(&b, "enabled", "true");
    assert_value(&b, "auto_reload", "true");
    assert_value(&b, "health_check_interval", "30");
    assert_value(&b, "servers.filesystem.env", "{\"NODE_ENV\":\"production\"}");
    assert_value(&b, "servers.filesystem.args",
                 "[\"-y\",\"@modelcontextprotocol/server-filesystem\",\"/home/user/projects\"]");
    assert_value(&b, "servers.browser.enabled", "true");
    assert_value(&b, "servers.browser.timeout", "60");
    assert_value(&b, "servers.github.transport", "\"sse\"");
    assert_value(&b, "servers.github.headers.Authorization", "\"Bearer s3cret\"");
    assert_value(&b, "servers.github.timeout", "30");
    assert_value(&b, "servers.github.name", NULL);
    box_close(&b);
}

TEST(otter_s_other_spelling_of_the_list_is_read, "OT-CFG.6")
{
    struct box b;
    box_open(&b);
    box_try(&b, "otter.toml", "[[mcp_servers]]\nname = 'a'\ncommand = 'x'\n");
    assert_errors(&b, 0);
    assert_value(&b, "servers.a.command", "\"x\"");
    box_try(&b, "config.toml",
            "model = 'm'\n[mcp_servers.a]\ncommand = 'x'\nstartup_timeout_sec = 3\n");
    assert_errors(&b, 0);
    assert_value(&b, "servers.a.command", "\"x\"");
    assert_says(&b, "config.toml:4:1: warning: `startup_timeout_sec` is not understood");
    box_close(&b);
}

TEST(otter_s_table_is_strict, "")
{
    struct box b;
    box_open(&b);
    box_try(&b, "otter.toml", "[mcp]\nenabld = true\nservers = 3\n[other]\nx = 1\n");
    assert_says(&b, "otter.toml:2:1: error: `enabld` is no key of `mcp`\n");
    assert_says(&b, "hint: did you mean `enabled`?");
    assert_says(&b, "error: `servers` must be a list of servers, but is a number");
    box_try(&b, "otter.toml",
            "[[mcp.servers]]\ncommand = 'x'\n[[mcp.servers]]\nname = 3\n"
            "[[mcp.servers]]\nname = 'n'\ncommand = 'x'\ncomand = 'y'\n");
    assert_says(&b, "otter.toml:1:1: error: this server has no name\n");
    assert_says(&b, "otter.toml:4:8: error: the `name` of a server must be a text\n");
    assert_says(&b, "otter.toml:8:1: warning: `comand` is not understood, and has no effect\n");
    assert_errors(&b, 2);
    box_try(&b, "otter.toml", "[[mcp_servers]]\nname = 'n'\ncomand = 'y'\n");
    assert_says(&b, "otter.toml:3:1: error: `comand` is no key of `servers.n`\n");
    assert_errors(&b, 1);
    box_try(&b, "otter.toml", "mcp = 3\nmcp_servers = 3\n");
    assert_says(&b, "error: `mcp_servers` must be a list of servers, but is a number");
    box_close(&b);
}

/* However it is written, and in whichever file: programs differ, and otter has texts such as "30s". */
TEST(a_foreign_timeout_counts_milliseconds_from_1000_on, "OT-CFG.16")
{
    static const char *const rows[][2] = {
        {"1000", "1"},           {"999", "999"},           {"1e3", "1"},
        {"1000.5", "1.0005"},    {"3.0e4", "30"},          {"9e1", "9e1"},
        {"\"${T:-5000}\"", "5"}, {"\"${T:-50}0\"", "500"}, {"\"${T:-2000}s\"", "2000"},
        {"\"2000s\"", "2000"},
    };
    static const char *const forms[][2] = {
        {"{\"mcpServers\": {\"a\": {", "}}}"},
        {"{\"mcp\": {\"servers\": [{\"name\": \"a\", ", "}]}}"},
        {"{\"mcp_servers\": {\"a\": {", "}}}"},
    };
    struct box b;
    box_open(&b);
    for (size_t i = 0; i < OWL_COUNT(rows) * OWL_COUNT(forms); i++) {
        char text[256];
        const char *const *form = forms[i % OWL_COUNT(forms)];
        snprintf(text, sizeof text, "%s\"command\": \"x\", \"timeout\": %s%s", form[0],
                 rows[i / OWL_COUNT(forms)][0], form[1]);
        box_try(&b, "x.json", text);
        assert_errors(&b, 0);
        assert_value(&b, "servers.a.timeout", rows[i / OWL_COUNT(forms)][1]);
    }
    box_try(&b, "x.json", "{\"mcpServers\": {\"a\": {\"command\": \"x\", \"timeout\": 1e30}}}");
    assert_says(&b, "`servers.a.timeout` must be at most 86400 seconds");
    box_try(&b, "x.yaml", "mcp_server: {servers: {a: {command: x, timeout: 5000}}}\n"); /* ours */
    assert_value(&b, "servers.a.timeout", "5000");
    box_write(&b, "x.json",
              "{\"mcpServers\": {\"a\": {\"command\": \"x\", \"timeout\": \"${T}\"}}}");
    LOAD(&b, FILES("x.json"), .as_written = true);
    assert_says(&b, "x.json:1:50: warning: this `timeout` counts seconds from now on");
    box_close(&b);
}

TEST(of_two_spellings_it_is_told_which_one_counts, "")
{
    struct box b;
    box_open(&b);
    box_try(&b, "x.json",
            "{\"mcpServers\": {\"a\": {\n\"disabled\": true, \"enabled\": true,\n"
            "\"autoApprove\": [\"a\"], \"alwaysAllow\": [\"b\"],\n"
            "\"type\": \"http\", \"transport\": \"sse\",\n"
            "\"url\": \"https://a/\", \"serverUrl\": \"https://b/\"}}}");
    assert_errors(&b, 0);
    assert_says(
        &b, "x.json:2:19: warning: `enabled` has no effect: `enabled` is told otherwise at 2:1");
    assert_says(&b, "x.json:3:23: warning: `alwaysAllow` has no effect: `auto_approve` is told");
    assert_says(&b, "x.json:4:17: warning: `transport` has no effect: `transport` is told");
    assert_says(&b,
                "x.json:5:22: warning: `serverUrl` has no effect: `url` is told otherwise at 5:1");
    assert_value(&b, "servers.a.enabled", "false");
    assert_value(&b, "servers.a.url", "\"https://a/\"");
    box_try(&b, "x.json",
            "{\"mcpServers\": {\"a\": {\"url\": null, \"serverUrl\": \"https://b/\","
            "\"disabled\": false, \"enabled\": true, \"type\": \"remote\", \"transport\": \"http\","
            "\"autoApprove\": [\"a\"], \"alwaysAllow\": [\"a\"]}}}");
    assert_errors(&b, 0);
    assert_says_not(&b, "has no effect: ");
    assert_value(&b, "servers.a.url", "\"https://b/\"");
    box_close(&b);
}

TEST(foreign_entries_are_understood, "KO-6.3.a KO-6.3.b KO-6.4.a KO-6.4.b")
{
    struct box b;
    box_open(&b);
    box_write(&b, "mcp.json",
              "{\"globalShortcut\": \"Ctrl\", // of the desktop\n"
              " \"mcpServers\": {\n"
              "  \"a\": {\"command\": \"npx\", \"args\": [\"-y\"], \"env\": {\"A\": \"b\", \"N\": "
              "1, \"Z\": null}, \"cwd\": \"/w\",\n"
              "         \"envFile\": \".env\", \"disabled\": true, \"autoApprove\": [\"x\"], "
              "\"alwaysAllow\": [\"y\"]},\n"
              "  \"b\": {\"type\": \"streamable-http\", \"url\": \"https://b/\", \"headers\": "
              "{\"X\": \"y\"}, \"timeout\": 30000},\n"
              "  \"c\": {\"type\": \"streamableHttp\", \"url\": \"https://c/\", \"timeout\": 45, "
              "\"icon\": \"c.png\"},\n"
              "  \"d\": {\"serverUrl\": \"https://d/\", \"includeTools\": [\"t\"], "
              "\"excludeTools\": [\"u\"], \"timeout\": 1500},\n"
              "  \"e\": {\"type\": \"sse\", \"url\": \"https://e/\", \"enabled\": false, "
              "\"timeout\": \"5m\"},\n"
              " }}");
    LOAD(&b, FILES("mcp.json"));
    assert_errors(&b, 0);
    assert_value(&b, "servers.a.enabled", "false");
    assert_value(&b, "servers.a.env", "{\"A\":\"b\",\"N\":1}");
    assert_value(&b, "servers.a.env_file", "\".env\"");
    assert_value(&b, "servers.a.cwd", "\"/w\"");
    assert_value(&b, "servers.a.auto_approve", "[\"x\"]");
    assert_value(&b, "servers.b.transport", "\"http\"");
    assert_value(&b, "servers.b.timeout", "30");
    assert_value(&b, "servers.c.transport", "\"http\"");
    assert_value(&b, "servers.c.timeout", "45");
    assert_value(&b, "servers.d.url", "\"https://d/\"");
    assert_value(&b, "servers.d.allow_tools", "[\"t\"]");
    assert_value(&b, "servers.d.deny_tools", "[\"u\"]");
    assert_value(&b, "servers.d.timeout", "1.5");
    assert_value(&b, "servers.e.transport", "\"sse\"");
    assert_value(&b, "servers.e.enabled", "false");
    assert_value(&b, "servers.e.timeout", "300");
    assert_says(&b, "mcp.json:6:71: warning: `icon` is not understood, and has no effect");
    const struct owl_ignored *ignored;
    assert_int_equal(owl_config_ignored(b.c, &ignored), 1);
    assert_string_equal(ignored[0].key.p, "globalShortcut");
    assert_int_equal(ignored[0].at.column, 2);
    box_close(&b);
}

TEST(editors_files_and_their_inputs_are_understood, "")
{
    struct box b;
    static const char text[] =
        "{\"inputs\": [{\"id\": \"key\", \"type\": \"promptString\", \"password\": true}],\n"
        " \"servers\": {\"a\": {\"type\": \"http\", \"url\": \"https://a/\", \"headers\": {\"K\": "
        "\"${input:key}\"}},\n"
        "  \"b\": {\"command\": \"${workspaceFolder}/run\", \"args\": [\"${userHome}\", "
        "\"${env:X}\"]}}}";
    box_open(&b);
    box_write(&b, "mcp.json", text);
    LOAD(&b, FILES("mcp.json"), ENV("OWLCLAW_INPUT_KEY=k", "X=y"));
    assert_errors(&b, 0);
    assert_value(&b, "servers.a.headers.K", "\"k\"");
    const struct owl_value *v = owl_config_get(b.c, "servers.b.command");
    assert_memory_equal(v->text.p, b.dir, strlen(b.dir));
    assert_memory_equal(owl_config_get(b.c, "servers.b.args")->first->text.p, b.home,
                        strlen(b.home));
    LOAD(&b, FILES("mcp.json"), ENV("X=y"));
    assert_says(&b, "error: in `servers.a.headers.K` the input `key` has no value\n");
    assert_true(owl_config_usable(b.c)); /* only that server is broken */
    assert_non_null(owl_config_server_fault(b.c, OWL_STR("a")).p);
    assert_null(owl_config_server_fault(b.c, OWL_STR("b")).p);
    box_try(&b, "settings.json",
            "{\"editor.tabSize\": 4, \"mcp\": {\"inputs\": [], \"servers\": {\"a\": {\"command\": "
            "\"x\"}}}}");
    assert_errors(&b, 0);
    assert_value(&b, "servers.a.command", "\"x\"");
    box_close(&b);
}

TEST(what_is_as_it_was_written_keeps_variables_and_what_they_stand_for, "")
{
    struct box b;
    struct owl_buf text;
    box_open(&b);
    box_write(
        &b, "a.json",
        "{\"inputs\": [{\"id\": \"t\", \"default\": \"d\"}], \"servers\": {\"a\": {\"command\": "
        "\"x\", \"timeout\": 2000, \"env\": {\"A\": \"${input:t}\", \"B\": null}}}}");
    box_write(&b, "b.json", "{\"inputs\": [{\"id\": \"u\"}], \"servers\": {}}");
    box_write(&b, "c.json", "{\"inputs\": {\"id\": \"v\"}, \"servers\": {}}");
    LOAD(&b, FILES("a.json", "b.json", "c.json"), .as_written = true);
    assert_errors(&b, 0);
    assert_value(&b, "servers.a",
                 "{\"command\":\"x\",\"timeout\":2,\"env\":{\"A\":\"${input:t}\"}}");
    owl_buf_init(&text, 1 << 16);
    owl_value_json(&text, owl_config_inputs(b.c), NULL);
    owl_buf_putc(&text, '\0');
    assert_string_equal(text.p, "[{\"id\":\"t\",\"default\":\"d\"},{\"id\":\"u\"}]");
    owl_buf_done(&text);
    LOAD(&b, FILES("a.json"));
    assert_null(owl_config_inputs(b.c));
    assert_value(&b, "servers.a.env", "{\"A\":\"d\"}");
    box_close(&b);
}

TEST(what_is_wrong_with_foreign_servers_breaks_only_them, "")
{
    struct box b;
    box_open(&b);
    box_try(&b, "mcp.json",
            "{\"mcpServers\": {\"a\": {\"command\": 3}, \"b\": {\"command\": \"x\", \"disabled\": "
            "\"yes\"},\n"
            "\"c\": \"npx\", \"d\": {\"command\": \"x\"}, \"e\": {}}}");
    assert_errors(&b, 4);
    assert_true(owl_config_usable(b.c));
    assert_string_equal(owl_config_server_fault(b.c, OWL_STR("a")).p,
                        "`servers.a.command` must be a text, but is 3");
    assert_string_equal(owl_config_server_fault(b.c, OWL_STR("b")).p,
                        "`disabled` must be true or false, but is a text");
    assert_string_equal(owl_config_server_fault(b.c, OWL_STR("c")).p,
                        "`servers.c` must be a map, but is a text");
    assert_null(owl_config_server_fault(b.c, OWL_STR("d")).p);
    assert_non_null(owl_config_server_fault(b.c, OWL_STR("e")).p);
    assert_null(owl_config_server_fault(b.c, OWL_STR("nobody")).p);
    box_try(&b, "mcp.json", "{\"mcpServers\": 3}");
    assert_says(&b, "error: `mcpServers` must be a map of servers by their names, but is a number");
    box_close(&b);
}

TEST(two_servers_of_one_name_are_refused, "")
{
    struct box b;
    box_open(&b);
    box_try(&b, "x.json",
            "{\"mcpServers\": {\"a\": {\"command\": \"x\"}},\n \"servers\": {\"a\": {\"command\": "
            "\"y\"}}}");
    assert_says(&b, "x.json:2:14: error: two servers of this file are named `a`");
    box_try(&b, "x.yaml",
            "mcpServers: {a: {command: x}}\nmcp_server: {servers: {a: {command: y}}}\n");
    assert_says(&b, "x.yaml:1:14: error: two servers of this file are named `a`");
    box_try(
        &b, "x.yaml",
        "mcp_server:\n  servers:\n    a: {command: x, prefix: p}\n    b: {command: y, prefix: p}\n"
        "    q: {command: z}\n    c: {command: z, prefix: q}\n    d: {command: z, prefix: false}\n"
        "    e: {command: z, prefix: false}\n");
    assert_says(&b, "x.yaml:4:29: error: the tools of `a` and `b` would both be named `p__...`");
    assert_says(&b, "x.yaml:6:29: error: the tools of `q` and `c` would both be named `q__...`");
    assert_errors(&b, 2);
    box_close(&b);
}

/* ---- our own files ----------------------------------------------------------------------- */

TEST(our_own_files_are_strict, "")
{
    struct box b;
    box_open(&b);
    box_try(&b, "mcp-server.yaml", "mcp_sever: {}\nhttp: {port: 1}\nxyzzy: 1\n");
    assert_says(&b, "mcp-server.yaml:1:1: error: `mcp_sever` is no key of a configuration file\n");
    assert_says(&b, "hint: did you mean `mcp_server`?");
    assert_says(&b, "mcp-server.yaml:2:1: error: `http` is no key of a configuration file\n");
    assert_says(&b, "hint: `http` belongs into `mcp_server`");
    assert_says(&b, "mcp-server.yaml:3:1: error: `xyzzy` is no key of a configuration file\n");
    assert_errors(&b, 3);
    box_try(&b, "other.yaml", "mcp_server: {}\nxyzzy: 1\n");
    assert_errors(&b, 1);
    box_try(&b, "other.yaml", "mcp_server: 3\n");
    assert_says(&b, "other.yaml:1:13: error: `mcp_server` must be a map, but is a number");
    box_try(&b, "other.yaml", "mcp_server:\n$schema: x\n");
    assert_errors(&b, 0);
    assert_says(&b, "other.yaml:1:1: warning: `mcp_server` is empty, as if it were not there");
    box_try(&b, "other.yaml", "mcp_server: {servers: 3}\nmcpServers: {a: {command: x}}\n");
    assert_says(&b, "error: `servers` must be a map, but is 3");
    box_close(&b);
}

TEST(files_without_anything_for_us_are_told, "")
{
    struct box b;
    box_open(&b);
    box_try(&b, "package.json", "{\"name\": \"x\", \"servers\": [1], \"skills\": 1}");
    assert_says(&b,
                "package.json: error: the file holds nothing for OwlClaw\n  hint: expected is "
                "`mcp_server`, or `mcpServers`, `servers` or `mcp` as other programs have them\n");
    box_try(&b, "x.yaml", "transport: http\nhttp:\n  port: 8080\nmore: 1\n");
    assert_says(&b, "x.yaml:1:1: error: `transport` is no key of a configuration file\n");
    assert_says(&b, "hint: `transport` belongs into `mcp_server`\n");
    assert_says(&b, "x.yaml:2:1: error: `http` is no key of a configuration file\n");
    assert_errors(&b, 2);
    box_try(&b, "x.toml", "[mcp\nenabled = true\n"); /* what there is could not be read */
    assert_says(&b, "x.toml:1:5: error: found the end of the line");
    assert_errors(&b, 1);
    box_try(&b, "x.json", "{\"mcpServer\": {}}");
    assert_says(&b, "x.json:1:2: error: `mcpServer` is no key of a configuration file\n");
    box_try(&b, "x.yaml", "# nothing\n");
    assert_says(&b, "x.yaml: warning: the file is empty");
    assert_errors(&b, 0);
    box_try(&b, "x.yaml", "- a\n");
    assert_says(&b, "x.yaml:1:1: error: the file must be a map of keys, but is a list");
    box_close(&b);
}

TEST(the_platform_s_file_names_handlers_and_skills, "")
{
    struct box b;
    box_open(&b);
    box_try(&b, "owlclaw.yaml", "app: {name: x}\ncapabilities: ./handlers\nskills: [a, b]\n");
    assert_errors(&b, 0);
    assert_value(&b, "handlers.python.modules", "[\"./handlers\"]");
    assert_value(&b, "skills.dirs", "[\"a\",\"b\"]");
    box_try(&b, "owlclaw.yaml",
            "capabilities: {python: {processes: 2}}\nskills: {watch: false}\nskils: 1\n");
    assert_says(&b, "owlclaw.yaml:3:1: error: `skils` is no key of a configuration file");
    assert_errors(&b, 1);
    assert_value(&b, "handlers.python.processes", "2");
    assert_value(&b, "skills.watch", "false");
    box_try(&b, "owlclaw.yaml", "mcp_server: {handlers: 3}\ncapabilities: x\n");
    assert_errors(&b, 1);
    box_try(&b, "owlclaw.yaml", "mcp_server: {skills: {dirs: [a]}}\nskills:\n# - b\nmcp:\n");
    assert_errors(&b, 0);
    assert_value(&b, "skills.dirs", "[\"a\"]");
    assert_says(&b, "owlclaw.yaml:2:1: warning: `skills` is empty, as if it were not there");
    box_close(&b);
}

/* ---- reading ----------------------------------------------------------------------------- */

TEST(the_format_is_known_by_name_or_by_looks, "")
{
    static const struct {
        const char *name, *text;
    } rows[] = {
        {"a.yaml", "mcp_server: {name: ok}\n"},
        {"a.YML", "mcp_server: {name: ok}\n"},
        {"a.toml", "[mcp_server]\nname = 'ok'\n"},
        {"a.json", "{\"mcp_server\": {\"name\": \"ok\"}}"},
        {"a.jsonc", "{\"mcp_server\": {\"name\": \"ok\"}} // yes"},
        {"json", "\xef\xbb\xbf\n {\"mcp_server\": {\"name\": \"ok\"}}"},
        {"json2", "// c\n{\"mcp_server\": {\"name\": \"ok\"}}"},
        {"toml", "# c\n\n[mcp_server]\nname = 'ok'\n"},
        {"toml2", "mcp_server.name = 'o:k'\n"},
        {"yaml", "# c\r\nmcp_server:\r\n  name: ok=k\r\n"},
        {"bom.yaml", "\xef\xbb\xbfmcp_server: {name: ok}\n"},
    };
    struct box b;
    box_open(&b);
    for (size_t i = 0; i < OWL_COUNT(rows); i++) {
        box_try(&b, rows[i].name, rows[i].text);
        assert_errors(&b, 0);
        assert_string_equal(box_source(&b, "name"), rows[i].name);
    }
    box_close(&b);
}

TEST(files_that_cannot_be_read_are_told, "")
{
    struct box b;
    char path[128];
    box_open(&b);
    LOAD(&b, FILES("nothing.yaml"));
    assert_says(&b, "nothing.yaml: error: there is no such file\n");
    LOAD(&b, FILES("home"));
    assert_says(&b, "home: error: this is a folder, not a file\n");
    LOAD(&b, FILES("/dev/null"));
    assert_says(&b, "/dev/null: error: this is no regular file\n");
    snprintf(path, sizeof path, "%s/loop", b.dir);
    assert_int_equal(symlink("loop", path), 0);
    LOAD(&b, FILES("loop"));
    assert_says(&b, "loop: error: the file cannot be read: ");
    box_write(&b, "big.yaml", "x");
    snprintf(path, sizeof path, "%s/big.yaml", b.dir);
    assert_int_equal(truncate(path, 100 << 20), 0);
    LOAD(&b, FILES("big.yaml"));
    assert_says(&b,
                "big.yaml: error: the file has 104857600 bytes; a configuration file has at most "
                "10485760\n");
    if (geteuid() != 0) {
        box_write(&b, "x.yaml", "x");
        snprintf(path, sizeof path, "%s/x.yaml", b.dir);
        assert_int_equal(chmod(path, 0), 0);
        LOAD(&b, FILES("x.yaml"));
        assert_says(&b, "hint: give the user that runs owlclaw the right to read it");
    }
    box_bytes(&b, "wide.yaml", (owl_str){"\xff\xfem\0c\0", 6});
    LOAD(&b, FILES("wide.yaml"));
    assert_says(&b, "wide.yaml:1:1: error: the file is UTF-16 text\n");
    box_try(&b, "m.yaml", "mcp_server:\n<<<<<<< HEAD\n  name: a\n=======\n  name: b\n>>>>>>> x\n");
    assert_says(&b, "m.yaml:2:1: error: two versions of the file were not merged here\n    <<<<<<< "
                    "****\n    ^~~~~~~\n");
    assert_errors(&b, 1);
    box_close(&b);
}

TEST(all_files_are_looked_at_before_anything_is_told, "")
{
    struct box b;
    box_open(&b);
    box_write(&b, "a.yaml", "mcp_server: {prt: 1}\n");
    box_write(&b, "b.json", "{\"mcp_server\": {\"nam\": 1}");
    LOAD(&b, FILES("a.yaml", "gone.yaml", "b.json"));
    assert_says(&b, "a.yaml:1:14: error: `prt`");
    assert_says(&b, "gone.yaml: error: there is no such file");
    assert_says(&b, "b.json:");
    const struct owl_source *list;
    assert_int_equal(owl_config_sources(b.c, &list), 4);
    assert_true(list[3].damaged && !list[1].damaged);
    assert_null(list[2].text.p);
    assert_int_equal(list[1].kind, OWL_SOURCE_FILE);
    assert_int_equal(list[0].kind, OWL_SOURCE_DEFAULT);
    box_close(&b);
}

/* ---- including --------------------------------------------------------------------------- */

TEST(a_file_stands_over_what_it_includes, "")
{
    struct box b;
    box_open(&b);
    box_write(&b, "conf/mcp-server.yaml",
              "include: [base.toml, 'teams/*.yaml', '${MORE:-last.json}']\n"
              "mcp_server: {http: {port: 9}}\n");
    box_write(&b, "conf/base.toml", "[mcp_server]\nname = 'base'\n[mcp_server.http]\nport = 1\n");
    box_write(&b, "conf/teams/a.yaml", "mcp_server: {title: a, servers: {x: {command: a}}}\n");
    box_write(&b, "conf/teams/b.yaml", "mcp_server: {title: b, servers: {y: {command: b}}}\n");
    box_write(&b, "conf/last.json", "{\"mcpServers\": {\"z\": {\"command\": \"z\"}}}");
    LOAD(&b, FILES("conf/mcp-server.yaml"));
    assert_errors(&b, 0);
    assert_value(&b, "http.port", "9");
    assert_value(&b, "name", "\"base\"");
    assert_value(&b, "title", "\"b\"");
    assert_value(&b, "servers.z.command", "\"z\"");
    assert_string_equal(box_source(&b, "title"), "conf/teams/b.yaml");
    box_close(&b);
}

TEST(includes_that_cannot_be_are_told, "")
{
    struct box b;
    char text[64], name[32];
    box_open(&b);
    box_try(&b, "mcp-server.yaml", "include: [gone.yaml, 'x/*.yaml', 3, '', '${NOPE}']\n");
    assert_says(&b, "mcp-server.yaml:1:11: error: there is no file `gone.yaml` to include");
    assert_says(&b, "mcp-server.yaml:1:22: warning: `x/*.yaml` matches no file");
    assert_says(
        &b, "mcp-server.yaml:1:34: error: `include` must be the name of a file, or a list of them");
    assert_says(&b, "error: in `include` the variable `NOPE` is not set");
    box_try(&b, "mcp-server.yaml", "include: mcp-server.yaml\n");
    assert_says(&b, "mcp-server.yaml:1:10: error: the file `mcp-server.yaml` includes itself");
    box_write(&b, "a.yaml", "include: ./b.yaml\nmcp_server: {}\n");
    box_write(&b, "b.yaml", "include: ../%s/a.yaml\nmcp_server: {}\n");
    snprintf(text, sizeof text, "include: ../%s/a.yaml\nmcp_server: {}\n", strrchr(b.dir, '/') + 1);
    box_write(&b, "b.yaml", text);
    LOAD(&b, FILES("a.yaml"));
    assert_says(&b, "b.yaml:1:10: error: `a.yaml` includes this file already");
    assert_errors(&b, 1);
    for (int i = 0; i < 20; i++) {
        snprintf(name, sizeof name, "c%d.yaml", i);
        snprintf(text, sizeof text, "include: c%d.yaml\nmcp_server: {}\n", i + 1);
        box_write(&b, name, text);
    }
    LOAD(&b, FILES("c0.yaml"));
    assert_says(&b, "c15.yaml:1:10: error: more than 16 files include one another");
    assert_errors(&b, 1);
    for (int i = 0; i < 300; i++) {
        snprintf(name, sizeof name, "many/d%03d.yaml", i);
        box_write(&b, name, "mcp_server: {}\n");
    }
    box_try(&b, "mcp-server.yaml", "include: many/*\n");
    assert_says(&b, "error: more than 256 files are included");
    assert_errors(&b, 1);
    box_try(&b, "other.json", "{\"include\": \"gone\", \"mcpServers\": {}}"); /* not ours to read */
    assert_errors(&b, 0);
    box_close(&b);
}

TEST(names_with_signs_of_patterns_mean_themselves, "")
{
    struct box b;
    box_open(&b);
    box_write(&b, "a[1]*/mcp-server.yaml", "include: '[x].yaml'\nmcp_server: {}\n");
    box_write(&b, "a[1]*/x.yaml", "mcp_server: {name: n}\n");
    LOAD(&b, FILES("a[1]*/mcp-server.yaml"));
    assert_errors(&b, 0);
    assert_value(&b, "name", "\"n\"");
    box_close(&b);
}

TEST(a_slip_is_taken_for_the_key_that_is_spelled_alike, "")
{
    struct box b;
    box_open(&b);
    box_try(&b, "a.json", "{\"mcpServer\":{\"a\":{\"command\":\"x\"}}}");
    assert_says(&b, "hint: did you mean `mcpServers`?\n");
    box_try(&b, "a.yaml", "mcp_serve: {}\n");
    assert_says(&b, "hint: did you mean `mcp_server`?\n");
    box_close(&b);
}

TEST(a_hint_is_in_the_language_of_its_file, "")
{
    struct box b;
    box_open(&b);
    box_try(&b, "a.json", "{\"mcpServers\":{\"a\":{\"command\":\"x\",\"env\":[\"A=b\"]}}}");
    assert_says(&b, "hint: write {\"NAME\": \"value\"} instead of the list\n");
    box_try(&b, "a.toml", "[mcp_server.servers.a]\ncommand = 'x'\nenv = ['A=b']\n");
    assert_says(&b, "hint: write { NAME = \"value\" } instead of the list\n");
    box_try(&b, "a.yaml", "mcp_server: {servers: {a: {command: x, env: [A=b]}}}\n");
    assert_says(&b, "hint: write `NAME: value` for each, without `- ` before it\n");
    box_try(&b, "a.json", "{\"mcp_server\":{\"http\":[{\"port\":1}]}}");
    assert_says(&b, "hint: write its keys in braces, without the brackets around them\n");
    box_close(&b);
}

TEST(a_name_that_is_there_twice_is_told_with_its_first_place, "")
{
    struct box b;
    box_open(&b);
    box_try(&b, "a.toml",
            "[[mcp.servers]]\nname = 'a'\ncommand = 'x'\n\n[[mcp.servers]]\n"
            "name = 'a'\ncommand = 'y'\n");
    assert_says(&b,
                "a.toml:6:8: error: two servers of this file are named `a`: the first is at line "
                "2, column 8\n");
    box_try(&b, "a.toml", "[tool]\n[tool]\n");
    assert_says(&b, "the table [tool] is there already: line 1, column 1 defines it\n");
    box_close(&b);
}
