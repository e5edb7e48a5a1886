#!/usr/bin/env python3
"""owlclaw mcp-server config: which of the sources counts, and what validate and schema say of them.
Mistakes in files are those of test_config_broken.py."""

import random
import tomllib

from config import *
from config_values import SCHEMA, Drawing, keys

OTTER = """
[mcp]
enabled = true
auto_reload = true
health_check_interval = "30s"

[[mcp.servers]]
name = "filesystem"
transport = "stdio"
command = "npx"
args = ["-y", "@modelcontextprotocol/server-filesystem", "/home/user/projects"]
env = { NODE_ENV = "production" }
enabled = true
timeout = "30s"

[[mcp.servers]]
name = "browser"
transport = "stdio"
command = "npx"
args = ["-y", "@anthropic-ai/mcp-server-browser"]

[[mcp.servers]]
name = "github"
transport = "sse"
url = "https://api.github.com/mcp/sse"
headers = { Authorization = "Bearer ${GITHUB_TOKEN}" }
enabled = true
timeout = "30s"
"""


def nested(path, value):
    for step in reversed(path):
        value = {step: value}
    return value


def merge(into, tree):
    for name, value in tree.items():
        if isinstance(value, dict) and isinstance(into.get(name), dict):
            merge(into[name], value)
        else:
            into[name] = json.loads(json.dumps(value))


# ---- precedence ----------------------------------------------------------------------------------


def variable(path):
    return "MCP_SERVER_" + "_".join(path).upper()


def as_text(value):
    return value if isinstance(value, str) else json.dumps(value)


def settable():
    """Every key that has a variable of its own and no keys beneath it; of two that exclude one
    another, one."""
    for path, key in keys(SCHEMA["properties"]["mcp_server"]):
        if "*" not in path and "properties" not in key and path != ("store", "url"):
            yield path, key


def three_values(path, key):
    """Different values of a key, as they are written and as they are meant."""
    if path == ("http", "host"):
        return [(v, v) for v in ("127.0.0.1", "::1", "localhost")]
    if path == ("logging", "output"):
        return [(v, v) for v in ("stderr", "a.log", "b.log")]
    found = []
    for seed in range(2000):
        written, meant = Drawing(random.Random(seed), 1).value(key, path)
        plain = "$" not in as_text(written) and as_text(written).strip() == as_text(written) != ""
        fresh = all(meant != m for _, m in found)
        if plain and fresh and not (isinstance(written, dict) and len(written) != 1):
            found.append((written, meant))
        if len(found) == 3:
            break
    return found


@box_test("OR-10.2 OR-10.3 OR-10.6 OR-10.7 OR-10.8 OR-10.9 OR-10.10", timeout=60)
def options_stand_over_variables_over_files_over_defaults_for_every_key(box):
    every = {}
    for path, key in settable():
        values = three_values(path, key)
        check(len(values) >= 2, f"{path} has no values: {values}")
        every[path] = key, [*values, values[0]][:3]  # true, false, true again
    check(len(every) > 100, f"{len(every)} keys are not all")
    every.pop(("servers",))  # whose entries are told as a whole
    tree = {}
    for path, (_, values) in every.items():
        merge(tree, nested(path, values[0][0]))
    box.write("mcp-server.json", own(**tree))
    env = {variable(path): as_text(values[1][0]) for path, (_, values) in every.items()}
    options = [word for path, (_, values) in every.items()
               for word in ("--set", f"{'.'.join(path)}={as_text(values[2][0])}")]
    bare = box.tree("--set", "governance={}", cwd=box.home)
    for path, (key, _) in every.items():
        if "default" in key:
            equal(at(bare, *path), key["default"], f"default of {path}")
    expected = {path: {} for path in every}  # maps are merged
    for level, shown in enumerate([box.tree(), box.tree(env=env), box.tree(*options, env=env)]):
        for path, (key, values) in every.items():
            merge(expected[path], {"value": values[level][1]})
            got, meant = at(shown, *path), expected[path]["value"]
            check(holds(got, meant), f"{path} at level {level}: got {show(got)}, expected {show(meant)}")


@box_test("OD-9.2.1 OD-9.2.2 OD-9.2.3 OD-9.2.4 OD-9.2.5")
def the_five_variables_of_the_design_override_the_file(box):
    rows = [("MCP_SERVER_TRANSPORT", "transport", "stdio", "http", "http"),
            ("MCP_SERVER_HTTP_PORT", "http.port", 8080, "9000", 9000),
            ("MCP_SERVER_TOOLS_TIMEOUT", "tools.default_timeout_seconds", 300, "2m", 120),
            ("MCP_SERVER_SKILLS_DIR", "resources.skills_dir", "./capabilities", "/s", "/s"),
            ("MCP_SERVER_GOVERNANCE_ENABLED", "governance.enabled", True, "off", False)]
    box.write("mcp-server.yaml", "mcp_server: {governance: {}}\n")
    for name, key, default, text, value in rows:
        equal(at(box.tree(), key), default, f"default of {key}")
        equal(at(box.tree(env={name: text}), key), value, name)
        equal(at(box.tree(env={name: ""}), key), default, f"{name} is empty")
    box.write("mcp-server.yaml", "mcp_server:\n  transport: stdio\n  http: {port: 1}\n"
              "  tools: {default_timeout_seconds: 1}\n  resources: {skills_dir: f}\n"
              "  governance: {enabled: true}\n")
    tree = box.tree(env={name: text for name, _, _, text, _ in rows})
    equal([at(tree, key) for _, key, _, _, _ in rows], [value for *_, value in rows])
    both = {"MCP_SERVER_TOOLS_TIMEOUT": "1", "MCP_SERVER_TOOLS_DEFAULT_TIMEOUT_SECONDS": "2"}
    equal(at(box.tree(env=both), "tools.default_timeout_seconds"), 2, "the full name counts")


@box_test("OR-10.2")
def variables_take_lists_and_maps(box):
    equal(at(box.tree(env={"MCP_SERVER_HTTP_ALLOWED_HOSTS": "a, b,c"}), "http.allowed_hosts"), ["a", "b", "c"])
    equal(box.tree(env={"MCP_SERVER_REDACT": '["a,b"]'})["redact"], ["a,b"])
    env = {"MCP_SERVER_HTTP": '{"port": 1, "host": "::1"}', "MCP_SERVER_HTTP_PORT": "2",
           "MCP_SERVER_SERVERS": '{"s": {"command": "c", "prefix": false}}'}
    tree = box.tree(env=env)
    equal((at(tree, "http.port"), at(tree, "http.host")), (2, "::1"), "a member stands over its map")
    equal((at(tree, "servers.s.command"), at(tree, "servers.s.prefix")), ("c", False))
    faults = box.faults(env={"MCP_SERVER_SERVERS": '{"s": {"env": {"A_TOKEN": "' + SECRET}, code=1)
    contains(faults[0]["message"], "this is no JSON")
    check(SECRET not in str(faults), "what is no JSON may be secret")
    faults = box.faults(env={"MCP_SERVER_HTPP_PORT": "1"})
    equal([(f["source"], f["severity"], f["hint"]) for f in faults],
          [("MCP_SERVER_HTPP_PORT", "warning", "did you mean MCP_SERVER_HTTP_PORT?")])


@box_test("OR-10.3 OR-12.4")
def every_option_sets_its_key(box):
    for option, text, key, value in [("--transport", "http", "transport", "http"),
                                     ("--host", "::1", "http.host", "::1"),
                                     ("--port", "0", "http.port", 0),
                                     ("--skills-dir", "a b", "resources.skills_dir", "a b"),
                                     ("--set", "http.port=3", "http.port", 3),
                                     ("--set", "name=a=b", "name", "a=b"),
                                     ("--set", "servers.x.command=c", "servers.x.command", "c"),
                                     ("--set", "governance.quotas.a.max_calls_per_day=7",
                                      "governance.quotas.a.max_calls_per_day", 7)]:
        equal(at(box.tree(option, text), key), value, option)
    equal(at(box.tree("--set", "http.port=3", "--set", "http.port=4"), "http.port"), 4, "the last one")
    equal(at(box.tree("--port", "3", "--set", "http.port=4"), "http.port"), 3, "an option of its own")
    box.write("a.yaml", "mcp_server: {name: a, title: t}\n")
    box.write("b.toml", "[mcp_server]\nname = 'b'\n")
    box.write("mcp-server.yaml", "mcp_server: {name: default}\n")
    equal(box.tree("-c", "a.yaml")["name"], "a")
    tree = box.tree("--config", "a.yaml", "--config=b.toml")
    equal((tree["name"], tree["title"]), ("b", "t"), "the later one counts")


@box_test()
def options_that_cannot_be_meant_are_refused(box):
    for word in ("http.port", "=3", "="):
        done = box.config("validate", "--set", word, code=2)
        equal(done.err.splitlines()[0],
              "owlclaw: --set needs KEY=VALUE, for example --set http.port=9000")
        equal(done.out, "")
    for option, words in [("http.prot=3", ["--set", "no key `http.prot`", "`http.port`"]),
                          ("http.port=x", ["--set", "whole number"]),
                          ("name.x=3", ["--set", "no key `name.x`"]),
                          ("limits.body_bytes=0.5B", ["--set", "too large or too fine"]),
                          ("servers.x.url=ftp://x", ["--set", "http://"])]:
        done = box.config("validate", "--set", option, code=1)
        for word in words:
            contains(done.out, word, option)
    box.config("validate", "--transport", "htpp", code=2)
    contains(box.config("validate", "--port", "70000", code=1).out, "--port: error")


# ---- files ---------------------------------------------------------------------------------------


@box_test("OR-10.1 OD-9.1.1 OD-9.1.2 OR-12.4 OD-9.3.7")
def the_first_of_the_default_files_is_read(box):
    names = ["mcp-server.yaml", "mcp-server.yml", "mcp-server.toml", "mcp-server.json", "owlclaw.yaml"]
    for name in reversed(names):
        text = f'[mcp_server]\nname = "{name}"\n' if name.endswith("toml") else own(name=name)
        box.write(name, text)
        equal(box.tree()["name"], name)
        contains(box.config("validate").out, f"{name}: valid")
    box.write("other", own(name="other"))
    equal(box.tree("--config", "other")["name"], "other")
    faults = box.faults("--config", "missing.yaml", code=1)
    equal((faults[0]["file"], faults[0]["message"]), ("missing.yaml", "there is no such file"))


@box_test()
def a_file_stands_over_what_it_includes(box):
    box.write("mcp-server.yaml", "include: [base.toml, 'teams/*.yaml']\nmcp_server: {title: top}\n")
    box.write("base.toml", "[mcp_server]\nname = 'base'\ntitle = 'base'\n")
    box.write("teams/b.yaml", "mcp_server: {name: b, servers: {b: {command: b}}}\n")
    box.write("teams/a.yaml", "include: ${SUB}.json\nmcp_server: {name: a, servers: {a: {command: a}}}\n")
    box.write("teams/sub.json", own(instructions="deep"))
    tree = box.tree(env={"SUB": "sub"})
    equal((tree["name"], tree["title"], tree["instructions"]), ("b", "top", "deep"))
    equal(sorted(tree["servers"]), ["a", "b"])
    sources = json.loads(box.config("show", "--sources", env={"SUB": "sub"}).out)
    equal(sources["/instructions"], {"kind": "file", "name": "teams/sub.json", "line": 1, "column": 33})
    contains(box.config("validate", code=1).out, "teams/a.yaml:1:10: error: in `include`")


@box_test("OT-CFG.15 OT-CFG.20 OT-CFG.21")
def variables_in_files_are_replaced(box):
    box.write("mcp-server.yaml", "mcp_server:\n  name: a-${N}-${N:-x}\n  title: ${T:-t ${N}}\n"
              "  instructions: $${N} $N\n  http: {port: '${P:-81}', allowed_hosts: '${H:-a,b}'}\n"
              "  governance: {enabled: '${G}'}\n  tools: {default_timeout_seconds: '${S:-2m}'}\n")
    tree = box.tree(env={"N": "n", "G": "no"})
    equal([at(tree, key) for key in ("name", "title", "instructions", "http.port", "http.allowed_hosts",
                                     "governance.enabled", "tools.default_timeout_seconds")],
          ["a-n-n", "t n", "$${N} $N", 81, ["a", "b"], False, 120])
    tree = box.tree(env={"N": "n", "G": "1", "P": "82", "T": "", "S": "500ms"})
    equal([at(tree, key) for key in ("title", "http.port", "governance.enabled",
                                     "tools.default_timeout_seconds")], ["t n", 82, True, 0.5])
    done = box.config("validate", env={"N": "n"}, code=1)
    contains(done.out, "mcp-server.yaml:6:25: error: in `governance.enabled` the variable `G` is not set")
    contains(done.out, "hint: set it, or give a default: `${G:-...}`")


@box_test("OT-CFG.1 OT-CFG.3 OT-CFG.4 OT-CFG.5 OT-CFG.7 OT-CFG.8 OT-CFG.9 OT-CFG.10 OT-CFG.11 "
          "OT-CFG.12 OT-CFG.13 OT-CFG.14 OT-CFG.15 OT-CFG.16 OT-CFG.17 OT-CFG.18")
def otter_s_sample_loads_as_written(box):
    sample = tomllib.loads(OTTER)["mcp"]
    for text in (OTTER, OTTER.replace("mcp.servers", "mcp_servers")):
        box.write("otter.toml", text)
        tree = box.tree("--config", "otter.toml", env={"GITHUB_TOKEN": "gh"})
        equal([tree[key] for key in ("enabled", "auto_reload", "health_check_interval")], [True, True, 30])
        equal(list(tree["servers"]), ["filesystem", "browser", "github"])
        for server in sample["servers"]:
            meant = {**server, "timeout": 30 if "timeout" in server else 60}
            if "headers" in server:
                meant["headers"] = {"Authorization": "Bearer gh"}
            name = meant.pop("name")
            equal({key: tree["servers"][name][key] for key in meant}, meant, name)
        browser = tree["servers"]["browser"]
        equal((browser["enabled"], browser["env"], browser["timeout"]), (True, {}, 60))
    box.write("off.toml", OTTER.replace("enabled = true\nauto_reload = true", "enabled = false\nauto_reload = false"))
    tree = box.tree("--config", "off.toml", env={"GITHUB_TOKEN": "gh"})
    equal((tree["enabled"], tree["auto_reload"]), (False, False))
    contains(box.config("validate", "--config", "otter.toml", code=1).out, "`GITHUB_TOKEN` is not set")


@box_test("OT-CFG.19")
def no_option_manages_servers(box):
    for words in (["--help"], ["mcp-server", "--help"], ["mcp-server", "config", "show", "--help"]):
        options = re.findall(r"^ +(?:-\w, )?--([\w-]+)", box.run(*words).out, re.M)
        check(options, f"{words} has options")
        equal([o for o in options if "server" in o or "mcp" in o], [])


@box_test("KO-6.3.a KO-6.3.b KO-6.4.a KO-6.4.b KO-6.1.b")
def an_editor_s_inputs_are_variables(box):
    box.write("mcp.json", """{
      // as VS Code has it
      "inputs": [{"type": "promptString", "id": "gh-token", "password": true},
                 {"type": "promptString", "id": "level", "default": "info"}],
      "servers": {
        "local": {"type": "stdio", "command": "npx", "args": ["--level", "${input:level}"],
                  "env": {"HERE": "${workspaceFolder}", "HOME": "${userHome}", "X": "${env:X}"}},
        "remote": {"type": "sse", "url": "https://x/sse", "headers": {"Authorization": "Bearer ${input:gh-token}"}},
      }
    }""")
    env = {"OWLCLAW_INPUT_GH_TOKEN": SECRET, "X": "x"}
    tree = box.tree("--config", "mcp.json", env=env)
    local, remote = tree["servers"]["local"], tree["servers"]["remote"]
    equal((local["transport"], local["command"], local["args"]), ("stdio", "npx", ["--level", "info"]))
    equal(local["env"], {"HERE": str(box.folder), "HOME": str(box.home), "X": "x"})
    equal((remote["transport"], remote["url"], remote["headers"]),
          ("sse", "https://x/sse", {"Authorization": f"Bearer {SECRET}"}))
    done = box.config("validate", "--config", "mcp.json", env={"X": "x"}, code=1)
    contains(done.out, "the input `gh-token` has no value")
    contains(done.out, "hint: set the variable OWLCLAW_INPUT_GH_TOKEN")
    for entry, words in [({"type": "stdio"}, "needs `command`"), ({"type": "sse"}, "needs `command`"),
                         ({"type": "sse", "command": "x"}, "need `url`"),
                         ({"type": "stdio", "url": "http://x"}, "needs `command`, not `url`")]:
        box.write("bad.json", {"mcpServers": {"s": entry}})
        contains(box.faults("--config", "bad.json", code=1)[0]["message"], words)


# ---- validate ------------------------------------------------------------------------------------


@box_test("OR-10.4 OR-12.5 OD-9.3.7")
def validate_tells_good_from_bad(box):
    box.write("good.yaml", "mcp_server: {name: x}\n")
    box.write("warns.yaml", "mcp_server: {logging: {level: DEBUG}}\n")
    box.write("bad.yaml", "mcp_server:\n  transport: htpp\n  logging: {levle: DEBUG}\n")
    rows = [("good.yaml", "valid", "no faults", 0, 0), ("warns.yaml", "valid", "1 warning", 0, 1),
            ("bad.yaml", "not valid", "2 errors and 1 warning", 1, 1)]
    for name, word, count, code, strict in rows:
        done = box.config("validate", "--config", name, code=code)
        contains(done.out.splitlines(), f"{name}: {word}, {count}")
        equal(done.err, "")
        equal("\n  transport   stdio\n" in done.out, code == 0, "only a good one is summed up")
        done = box.config("validate", "--config", name, "--strict", code=strict)
        contains(done.out, f"{name}: {'valid' if not strict else 'not valid'}, {count}")
        told = json.loads(box.config("validate", "--json", "--strict", "--config", name, code=strict).out)
        equal((told["valid"], told["leftOut"]), (not strict, 0))
    equal(sorted(told), ["faults", "leftOut", "valid"])
    equal([(f["file"], f["line"], f["column"], f["severity"]) for f in told["faults"]],
          [("bad.yaml", 2, 14, "error"), ("bad.yaml", 3, 3, "warning"), ("bad.yaml", 3, 13, "error")])
    for fault in told["faults"]:
        check(set(fault) <= {"file", "line", "column", "severity", "message", "hint"}, fault)
    contains(told["faults"][2]["message"] + told["faults"][2].get("hint", ""), "`level`")
    contains(box.config("validate", "--config", "good.yaml", "--config", "warns.yaml").out,
             "good.yaml, warns.yaml: valid, 1 warning")
    contains(box.config("validate").out, "no file: valid, no faults")


@box_test()
def faults_beyond_those_told_are_counted(box):
    box.write("mcp-server.json", own(servers={f"s{i}": {} for i in range(300)}))
    done = box.config("validate", code=1)
    contains(done.out, "mcp-server.json: not valid, 300 errors and 1 warning")
    told = json.loads(box.config("validate", "--json", code=1).out)
    equal(len(told["faults"]) + told["leftOut"], 301)
    check(told["leftOut"] > 0, "not all of them are told")
    contains(done.out, f"({told['leftOut']} more are not shown)")


@box_test()
def without_a_section_governance_limits_nothing(box):
    check("governance" not in box.tree(), "no defaults of what is not there")
    contains(box.config("show").out, "# governance is not configured: nothing is limited\n")
    box.write("mcp-server.yaml", "mcp_server: {governance: {currency: USD}}\n")
    equal(at(box.tree(), "governance.default_quota.max_calls_per_minute"), 60)
    check("nothing is limited" not in box.config("show").out, "there is a section")
    faults = json.loads(box.config("validate", "--json").out)["faults"]
    equal([f["message"] for f in faults],
          ["`governance` is checked only: it is not in this build yet, and has no effect"])


@box_test()
def a_store_on_another_machine_is_refused(box):
    box.write("mcp-server.yaml", "mcp_server: {store: {url: 'postgresql://u:hunter2@h/d'}}\n")
    told = json.loads(box.config("validate", "--json", code=1).out)["faults"]
    error = [f for f in told if f["severity"] == "error"]
    equal([(f["line"], f["message"]) for f in error],
          [(1, "`store.url`: PostgreSQL is not in this build yet")])
    contains(error[0]["hint"], "`store.path`")
    check("hunter2" not in box.config("validate", code=1).out, "the password")


@box_test()
def a_file_may_be_named_without_an_option(box):
    box.write("a.json", {"mcpServers": {"x": {"url": "https://h/"}}})
    box.write("b.yaml", "mcp_server: {http: {port: 7}}\n")
    contains(box.config("validate", "a.json", "b.yaml").out, "a.json, b.yaml: valid")
    contains(box.run("config", "validate", "b.yaml", "--config", "a.json").out, "a.json, b.yaml: valid")
    equal(json.loads(box.run("config", "show", "--json", "b.yaml").out)["mcp_server"]["http"]["port"], 7)
    for words in (["http.port", "b.yaml"], ["./b.yaml", "http.port"]):
        contains(box.config("show", *words).out, "7")
    contains(box.config("show", "http.port", "http.host", code=2).err, "one KEY")
    contains(box.config("validate", "nope.yaml", code=1).out, "nope.yaml: error: there is no such file")


@box_test("OR-10.7")
def a_good_configuration_is_summed_up(box):
    def summary(**tree):
        box.write("mcp-server.json", own(**tree))
        text = box.config("validate").out
        return dict(re.findall(r"^  (\w+) +(.*)$", text[text.index(": valid"):], re.M))
    nothing = "not configured: nothing is limited"
    equal(summary(), {"transport": "stdio", "tools": "300 s for a call at most", "governance": nothing})
    told = summary(transport="http", http={"host": "::1", "port": 9, "cors": {"allowed_origins": ["*"]}},
                   servers={"s": {"command": "c"}}, governance={"enabled": True}, logging={"level": "ERROR"})
    equal(told["http"], "[::1]:9, no TLS, CORS for 1 origin")
    equal(sorted(told), ["checked", "http", "tools", "transport"], "nothing is promised that is not built")
    equal(told["checked"], "only: servers, governance, logging (not in this build yet, without effect)")
    tls = {"enabled": True, "cert_file": "c", "key_file": "k", "client_ca_file": "a", "verify_client": True}
    told = summary(transport="http", http={"host": "0.0.0.0", "tls": tls,
                                           "cors": {"enabled": False, "allowed_origins": ["*", "http://x"]}})
    equal(told["http"], "0.0.0.0:8080, TLS with client certificates")
    told = summary(transport="http", http={"tls": {**tls, "verify_client": False},
                                           "cors": {"allowed_origins": ["http://y", "http://x"]}},
                   resources={"skills_dir": "x"})
    equal((told["http"], told["governance"]), ("127.0.0.1:8080, TLS, CORS for 2 origins", nothing))
    equal(told["checked"], "only: resources.skills_dir (not in this build yet, without effect)")


@box_test("OD-9.1.4 OD-9.4.1 OD-9.1.25 OD-9.1.5")
def http_counts_only_with_transport_http(box):
    public = {"host": "0.0.0.0"}
    box.write("mcp-server.json", own(http=public))
    check("  http " not in box.config("validate").out, "stdio: nobody listens")
    done = box.config("validate", "--transport", "http", code=1)
    contains(done.out, "others can reach this address, and nobody is authenticated")
    box.config("validate", "--transport", "http", "--set", "http.allow_insecure=true")
    box.config("validate", "--transport", "http", "--host", "127.0.0.1")
    contains(box.config("validate", "--set", "logging.output=stdout", code=1).out, "standard output belongs")
    box.config("validate", "--set", "logging.output=stdout", "--transport", "http", "--host", "::1")


# ---- schema --------------------------------------------------------------------------------------


@box_test()
def the_schema_is_printed_as_it_is_published(box):
    out = box.config("schema").out
    equal(out, (ROOT / "src/config/schema.json").read_text())
    box.write("schema.json", out)
    box.write("meta.json", {"$ref": "https://json-schema.org/draft/2020-12/schema"})
    box.run("schema", "validate", "meta.json", "schema.json")
    box.write("good.json", own(http={"port": 1}))
    box.write("bad.json", own(http={"prot": 1}))
    box.run("schema", "validate", "schema.json", "good.json")
    box.run("schema", "validate", "schema.json", "bad.json", code=1)
    box.config("schema", "x", code=2)


# ---- output --------------------------------------------------------------------------------------

@box_test()
def a_full_disk_is_told(box):
    box.write("mcp.json", {"mcpServers": {"a": {"command": "x"}}})
    for words in (["show"], ["show", "--json"], ["show", "--sources"], ["schema"], ["import", "mcp.json"],
                  ["validate"], ["validate", "--json"]):
        with open("/dev/full", "w") as full:
            done = box.config(*words, *([] if words[0] in ("schema", "import") else ["-c", "mcp.json"]),
                              stdout=full, code=74)
        contains(done.err, "owlclaw: ", str(words))


@box_test()
def names_of_files_cannot_drive_a_terminal(box):
    name = "a\n\x1b[31mmcp_server: 3.json"
    box.write(name, {"mcpServers": {"x": {"command": "c"}, "y": {"comand": "c"}}})
    for words in (["validate", "--config"], ["show", "--config"], ["show", "--changed", "--config"],
                  ["import"]):
        done = box.config(*words, name, code=1)
        check("\x1b" not in done.out + done.err, f"{words}: {done.out}{done.err}")
        check("\nmcp_server: 3" not in done.out, f"{words}: {done.out}")
    equal(box.faults("--config", name, code=1)[-1]["file"], name)
    box.write(name, {"mcpServers": {"x": {"command": "c"}}})
    box.write("own.yaml", box.config("import", name).out)
    equal(list(box.tree("--config", "own.yaml")["servers"]), ["x"])


main()
