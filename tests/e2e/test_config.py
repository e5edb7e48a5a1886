#!/usr/bin/env python3
"""owlclaw mcp-server config validate, show, schema and import, and owlclaw trust: what counts, what is
shown, what is refused. Mistakes in files are those of test_config_broken.py."""

import random
import stat
import tomllib

from config import *
from config_values import SCHEMA, Drawing, as_toml, keys

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
SECRET = "s3cr3t-0123456789"


def box_test(ids="", timeout=30):
    """A test that is given a box."""
    def register(function):
        def run():
            with Box() as box:
                function(box)
        run.__name__ = function.__name__
        test(ids, timeout)(run)
        return function
    return register


def own(**tree):
    return {"mcp_server": tree}


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
    bare = box.tree(cwd=box.home)
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
              f"owlclaw: --set {word}: expected KEY=VALUE, for example http.port=9000")
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


# ---- .kode.json and trust ------------------------------------------------------------------------


def kode(**servers):
    return {"theme": "dark", "mcpServers": servers}


@box_test("KO-6.1.a KO-6.1.b KO-6.2.a KO-6.2.b")
def a_project_stands_over_the_user_once_it_is_trusted(box):
    box.write("~/.kode.json", kode(a={"type": "stdio", "command": "one", "args": []},
                                   b={"type": "sse", "url": "https://b/sse"}))
    project = box.write(".kode.json", kode(a={"type": "stdio", "command": "two", "args": []},
                                           c={"command": "three"}))
    equal(at(box.tree(), "servers.a.command"), "one")
    faults = box.faults()
    equal([(f["file"], f["severity"]) for f in faults], [("./.kode.json", "warning")])
    contains(faults[0]["message"], "not trusted: it is not used")
    contains(faults[0]["hint"], "owlclaw trust")
    for options in ([], ["--trust-project"]):
        if not options:
            equal(box.run("trust").out, f"{project} is trusted until it changes\n")
        tree = box.tree(*options)
        equal(sorted(tree["servers"]), ["a", "b", "c"])
        equal(at(tree, "servers.a.command"), "two")
        equal(box.faults(*options), [])
    other = box.folder.parent / "other"
    other.mkdir()
    equal(sorted(box.tree(cwd=other)["servers"]), ["a", "b"], "of all projects, and of this one only")
    project.write_text(project.read_text().replace("two", "evil"))
    equal(at(box.tree(), "servers.a.command"), "one", "another content is another file")
    box.run("trust")
    equal(at(box.tree(), "servers.a.command"), "evil")
    equal(box.run("trust", "--remove").out, f"{project} is no longer trusted\n")
    equal(at(box.tree(), "servers.a.command"), "one")
    box.write("mcp-server.yaml", "mcp_server: {servers: {a: {command: mine}}}\n")
    equal(at(box.tree("--trust-project"), "servers.a.command"), "mine", "our own file stands over both")


@box_test()
def the_list_of_trusted_files_is_kept(box):
    equal(box.run("trust", "--list").out, "")
    first, second = box.write(".kode.json", kode()), box.write("sub/x.json", kode())
    box.run("trust")
    box.run("trust", "sub/x.json")
    box.run("trust", str(second))
    lines = box.run("trust", "--list").out.splitlines()
    equal([line.split("\t")[0] for line in lines], [str(first), str(second)])
    check(all(re.fullmatch("[0-9a-f]{64}", line.split("\t")[1]) for line in lines), "digests")
    kept = box.state / "owlclaw/trust"
    equal(stat.S_IMODE(kept.stat().st_mode), 0o600)
    equal(stat.S_IMODE(kept.parent.stat().st_mode), 0o700)
    first.unlink()
    box.run("trust", "--remove", str(first))  # though it is gone
    equal(len(box.run("trust", "--list").out.splitlines()), 1)
    box.run("trust", "sub/x.json", env={"XDG_STATE_HOME": None})
    check((box.home / ".local/state/owlclaw/trust").exists(), "below the home")


@box_test()
def trust_says_what_is_wrong(box):
    def told(*arguments, code=2, **options):
        done = box.run("trust", *arguments, code=code, **options)
        equal(done.out, "")
        return done.err.removeprefix("owlclaw: ").removesuffix("\n")
    equal(told(), ".kode.json: No such file or directory")
    contains(told("."), ".: ")
    path = box.write(".kode.json", kode())
    equal(told("--remove", code=1), f"{path} was not trusted")
    equal(told(env={"HOME": None, "XDG_STATE_HOME": None}),
          "there is no place to remember it: set HOME or XDG_STATE_HOME")
    equal(told("--list", env={"HOME": "", "XDG_STATE_HOME": "relative"}),
          "there is no place to remember it: set HOME or XDG_STATE_HOME")
    odd = box.write("a\tb.json", kode())
    equal(told(odd.name), "a path with a tab or a newline cannot be trusted")
    file = box.write("file", "")
    for words in ([], ["--remove"]):
        contains(told(*words, env={"XDG_STATE_HOME": str(file)}), f"cannot make the folder {file}")
    contains(told("--list", env={"XDG_STATE_HOME": str(file)}), "cannot read")
    box.run("trust")
    kept = box.state / "owlclaw/trust"
    kept.chmod(0o622)
    for words in ([], ["--list"], ["--remove"]):
        contains(told(*words), "may be changed by others: it is not used")
    contains(box.faults()[0]["message"], "not trusted")
    kept.chmod(0o600)
    with open("/dev/full", "w") as full:
        box.run("trust", "--list", stdout=full, code=74)
    box.run("trust", "a", "b", code=2)


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


@box_test("OR-10.7")
def a_good_configuration_is_summed_up(box):
    def summary(**tree):
        box.write("mcp-server.json", own(**tree))
        text = box.config("validate").out
        return dict(re.findall(r"^  (\w+) +(.*)$", text[text.index(": valid"):], re.M))
    equal(summary(), {"transport": "stdio", "tools": "300 s for a call at most", "skills": "./capabilities",
                      "governance": "60 calls a minute, 1000 a day, 500 CNY a month for each client",
                      "logging": "INFO as json to stderr"})
    many = {f"s{i}": {"command": "c", "enabled": i > 1} for i in range(8)}
    told = summary(transport="http", http={"host": "::1", "port": 9, "cors": {"allowed_origins": ["*"]}},
                   servers=many, governance={"enabled": False}, logging={"level": "ERROR", "format": "text",
                                                                         "output": "x.log"})
    equal(told["http"], "[::1]:9, no TLS, CORS for 1 origin")
    equal(told["servers"], "8, 2 of them off: s0, s1, s2, s3, s4, s5, …")
    equal((told["governance"], told["logging"]), ("off", "ERROR as text to x.log"))
    tls = {"enabled": True, "cert_file": "c", "key_file": "k", "client_ca_file": "a", "verify_client": True}
    told = summary(transport="http", http={"host": "0.0.0.0", "tls": tls,
                                           "cors": {"enabled": False, "allowed_origins": ["*", "http://x"]}})
    equal(told["http"], "0.0.0.0:8080, TLS with client certificates")
    told = summary(transport="http", http={"tls": {**tls, "verify_client": False},
                                           "cors": {"allowed_origins": ["http://y", "http://x"]}},
                   servers={"s": {"command": "c"}})
    equal((told["http"], told["servers"]), ("127.0.0.1:8080, TLS, CORS for 2 origins", "1: s"))


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


# ---- show ----------------------------------------------------------------------------------------


@box_test()
def show_tells_where_each_value_comes_from(box):
    box.write("mcp-server.yaml", "mcp_server:\n  name: x\n  http: {port: 1}\n  title: é\n")
    done = box.config("show", "--transport", "http", env={"MCP_SERVER_HTTP_HOST": "::1"})
    for line in ["name: x                                 # mcp-server.yaml:2",
                 "transport: http                         # --transport",
                 '  host: "::1"                           # MCP_SERVER_HTTP_HOST',
                 "  port: 1                               # mcp-server.yaml:3",
                 "  allow_insecure: false                 # default"]:
        contains(done.out.splitlines(), line)
    equal(done.err, "")
    changed = box.config("show", "--changed", "--transport", "http").out
    equal(re.sub(" +# ", " # ", changed), 'name: x # mcp-server.yaml:2\nhttp:\n  port: 1 # mcp-server.yaml:3\n'
          'title: "é" # mcp-server.yaml:4\ntransport: http # --transport\n')
    sources = json.loads(box.config("show", "--changed", "--sources", "--port", "2",
                                    env={"MCP_SERVER_HTTP_HOST": "::1"}).out)
    equal(sources, {"/name": {"kind": "file", "name": "mcp-server.yaml", "line": 2, "column": 9},
                    "/title": {"kind": "file", "name": "mcp-server.yaml", "line": 4, "column": 10},
                    "/http/port": {"kind": "option", "name": "--port"},
                    "/http/host": {"kind": "environment", "name": "MCP_SERVER_HTTP_HOST"}})
    every = json.loads(box.config("show", "--sources").out)
    equal(every["/http/cors/allowed_methods/0"], {"kind": "default"})
    equal(every["/servers"], {"kind": "default"})


@box_test()
def show_one_part(box):
    box.write("mcp-server.yaml", "mcp_server: {http: {port: 1}}\n")
    equal(re.sub(" +# ", " # ", box.config("show", "http.port").out), "1 # mcp-server.yaml:1\n")
    equal(box.config("show", "http.port", "--json").out, "1\n")
    equal(json.loads(box.config("show", "http.cors", "--json").out), at(box.tree(), "http.cors"))
    equal(json.loads(box.config("show", "http", "--json", "--changed").out), {"port": 1})
    equal(json.loads(box.config("show", "tools", "--json", "--changed").out), {})
    equal(json.loads(box.config("show", "http", "--sources", "--changed").out),
          {"/port": {"kind": "file", "name": "mcp-server.yaml", "line": 1, "column": 27}})
    for key, more in (("http.prot", "did you mean http.port?"),
                      ("nothing", "without KEY everything is shown"),
                      ("http.port.x", "without KEY everything is shown")):
        done = box.config("show", key, code=1)
        equal((done.out, done.err), ("", f"owlclaw: nothing is set at {key}; {more}\n"))
    box.config("show", "a", "b", code=2)


@box_test()
def names_with_dots_stand_within_quotes(box):
    box.write("mcp-server.json", own(servers={"a.b": {"command": "x"}, "c=d": {"command": "y"}, "it's": {"command": "z"}},
                                     governance={"tools": {"s:*.x": {"idempotent": True}}}))
    equal(json.loads(box.config("show", 'servers."a.b".command', "--json").out), "x")
    equal(json.loads(box.config("show", "servers.'a.b'.command", "--json").out), "x")
    equal(json.loads(box.config("show", "servers.it's.command", "--json").out), "z")
    equal(json.loads(box.config("show", 'governance.tools."s:*.x"', "--json").out)["idempotent"], True)
    for name in ("a.b", "c=d"):
        tree = box.tree("--set", f'servers."{name}".command=k.l=m"n"')
        equal(tree["servers"][name]["command"], 'k.l=m"n"')
    contains(box.config("show", "servers.a.b", code=1).err, 'did you mean servers."a.b"?')
    contains(box.config("show", 'servers."a.b".comand', code=1).err, 'did you mean servers."a.b".command?')
    contains(box.config("show", 'servers."a.c".command', code=1).err, "nothing is set")
    contains(box.config("validate", "--set", 'servers."a.b".comand=1', code=1).out, 'did you mean `servers."a.b".command`?')
    contains(box.config("validate", "--set", 'servers."a.b".transport=x', code=1).out, '`servers."a.b".transport` must be')


@box_test()
def show_lists_what_is_not_for_us(box):
    box.write("a.json", {"theme": 1, "mcpServers": {}, "x y": 2})
    box.write("b.json", {"mcpServers": {}, "z": 2})
    out = box.config("show", "--config", "a.json", "--config", "b.json").out
    contains(out, '\n# ignored in a.json: "theme", "x y"\n# ignored in b.json: "z"\n')
    check("ignored" not in box.config("show", "http", "--config", "a.json").out, "only of all")


@box_test()
def show_tells_faults_and_shows_the_rest(box):
    box.write("mcp-server.yaml", "mcp_server:\n  nmae: x\n  title: t\n")
    for options in ([], ["--json"], ["--sources"], ["title"]):
        done = box.config("show", *options, code=1)
        contains(done.err, "mcp-server.yaml:2:3: error: `nmae`")
        check(done.out, "there is something to see")
    equal(box.tree(code=1)["title"], "t")


SECRETS = """
mcp_server:
  title: %(s)s-not
  state_key: "%(hex)s"
  store: {url: "postgresql://u:%(s)s@h/d"}
  http:
    auth:
      api_keys: [{name: a, key: %(s)s}]
  tracing: {headers: {X-Any: %(s)s}}
  servers:
    a:
      command: x
      args: [--token, %(s)s, --api-key=%(s)s, "https://u:%(s)s@h/", "${MY_TOKEN}"]
      env: {ANY: %(s)s}
    b:
      url: https://x/?api_key=%(s)s
      headers: {Authorization: "Bearer ${MY_TOKEN}"}
  handlers:
    commands:
      c: {description: d, command: c, env: {A: %(s)s}}
"""


@box_test(timeout=60)
def secrets_are_never_shown(box):
    good = (SECRETS % {"s": SECRET, "hex": "5" * 64}).replace(f"  title: {SECRET}-not\n", "")
    env = {"MY_TOKEN": SECRET}
    hidden = re.compile(f"{SECRET}|{'5' * 64}")
    box.write("mcp-server.yaml", good)
    for words in (["show"], ["show", "--json"], ["show", "--sources"], ["show", "servers"], ["validate"],
                  ["validate", "--json"], ["show", "--changed"], ["show", "servers.a.env.ANY"],
                  ["show", "servers.a.args", "--json"]):
        done = box.config(*words, env=env)
        check(not hidden.search(done.out + done.err), f"{words}: {done.out}{done.err}")
    equal(len(hidden.findall(box.config("show", "--secrets", env=env).out)), 12)
    equal(json.loads(box.config("show", "state_key", "--json", env=env).out), "********")


@box_test()
def secrets_by_any_other_name_are_never_shown(box):
    names = ["DB_PASS", "PASS", "MYSQL_PWD", "JWT", "BEARER", "SENTRY_DSN", "CREDS", "OTP"]
    args = [*("${%s}" % name for name in names), f"--key={SECRET}", "--auth-key", SECRET, "--bearer", SECRET,
            "--pat", SECRET, f"--jwt={SECRET}", "-u", f"user:{SECRET}", f"https://h/?key={SECRET}&x=1",
            f"https://h/?x=1&sig={SECRET}"]
    box.write("mcp-server.json", own(servers={"a": {"command": f"npx mcp-remote --token {SECRET}", "args": args}}))
    for words in (["show"], ["show", "--json"], ["show", "servers.a"], ["validate"], ["validate", "--json"]):
        done = box.config(*words, env={name: SECRET for name in names})
        check(SECRET not in done.out + done.err, f"{words}: {done.out}{done.err}")
    box.write("mcp-server.yaml", "mcp_server:\n  servers:\n    a:\n      command: x\n      args:\n"
              "        - --password\n        - 90210777\n")
    for words in (["show"], ["validate"], ["validate", "--json"]):
        done = box.config(*words, code=1)
        check("90210777" not in done.out + done.err, f"{words}: {done.out}{done.err}")


def mutations(line):
    """A line with a slip of the finger."""
    yield from (line.replace(": ", ":: ", 1), line.replace(" = ", " == ", 1), line + " ]", line + ' "',
                "\t" + line, re.sub(r"^([ \"]*)(\w+)", r"\1\2x", line), line.replace("{", "{{", 1),
                line.replace('"', "'", 1), line.replace('"', "", 1), line.removesuffix(","))


@box_test(timeout=100)
def lines_with_faults_show_no_secrets(box):
    text = SECRETS % {"s": SECRET, "hex": "5" * 64}
    tree = box.write("a.yaml", text) and box.tree("--config", "a.yaml", "--changed", env={"MY_TOKEN": "${MY_TOKEN}"})
    forms = {"a.yaml": text, "a.json": json.dumps(own(**tree), indent=2), "a.toml": as_toml(own(**tree)),
             "b.toml": as_toml({"mcp": {"servers": [{"name": n, **v} for n, v in tree["servers"].items()]}}),
             "b.yaml": "mcp_server:\n" + "".join(f"  {k}: {json.dumps(v)}\n" for k, v in tree.items()),
             "b.json": '{"mcp_server":{\n' + ",\n".join(json.dumps({k: v}, separators=(",", ":"))[1:-1]
                                                      for k, v in tree.items()) + "}}"}
    hidden = re.compile(f"{SECRET}(?!-not)|{'5' * 64}")
    for name, form in forms.items():
        lines = form.splitlines()
        wrongs = [(i, wrong) for i, line in enumerate(lines) if hidden.search(line)
                  for wrong in mutations(line) if wrong != line]
        check(len(wrongs) > 20, f"{name}: {len(wrongs)}")
        for i, wrong in wrongs[::1 if VARIANT == "normal" and REACTORS == "2" else 7]:
            box.write(name, "\n".join([*lines[:i], wrong, *lines[i + 1:]]) + "\n")
            for words in (["validate"], ["validate", "--json"], ["show"]):
                told = run_in(box.folder, [PROGRAM, "mcp-server", "config", *words, "--config", name],
                              {"MY_TOKEN": SECRET})
                told = told.stdout + told.stderr
                check(not hidden.search(told), f"{name}: {words}: {wrong}:\n{told}")


@box_test()
def secrets_of_variables_and_options_are_never_shown(box):
    env = {"MCP_SERVER_STATE_KEY": SECRET, "MCP_SERVER_STORE_URL": f"mysql://{SECRET}",
           "MCP_SERVER_TRACING_HEADERS": f'{{"a b": "{SECRET}"}}'}
    for words in (["validate"], ["validate", "--json"], ["show"]):
        done = box.config(*words, env=env, code=1)
        check(SECRET not in done.out + done.err, done.out + done.err)
        done = box.config(*words, "--set", f"state_key={SECRET}", code=1)
        check(SECRET not in done.out + done.err, done.out + done.err)


@box_test()
def what_is_shown_as_json_loads_back_equal(box):
    box.write("mcp-server.json", own(title="$${x} $x $", servers={"s": {
        "command": "$$${y}", "args": ["$", "${MY_TOKEN}", "{}", "$${"], "env": {"A": SECRET}}}))
    env = {"MY_TOKEN": "${literal}", "MCP_SERVER_NAME": "${N} $${M}"}
    first = box.config("show", "--json", "--secrets", env=env).out
    box.write("b.json", first)
    equal(box.config("show", "--json", "--secrets", "--config", "b.json").out, first)
    equal(json.loads(first)["mcp_server"]["name"], "$${N} $$${M}")
    contains(box.config("show", env=env).out, 'name: "${N} $${M}"')


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


# ---- import --------------------------------------------------------------------------------------

CURSOR = {"mcpServers": {"a": {"command": "npx", "args": ["-y", "x"], "env": {"K": "${K_TOKEN}"},
                               "disabled": True, "autoApprove": ["t"]},
                         "b": {"type": "streamable-http", "url": "https://b/mcp", "timeout": 30000}}}


@box_test()
def import_prints_our_own_file(box):
    path = box.write("mcp.json", CURSOR)
    before = path.read_bytes()
    equal(box.config("import", "mcp.json").out, """# Imported from mcp.json
mcp_server:
  servers:
    a:
      command: npx
      args:
        - "-y"
        - x
      env:
        K: "${K_TOKEN}"
      enabled: false
      auto_approve:
        - t
    b:
      transport: http
      url: "https://b/mcp"
      timeout: 30
""")
    equal(path.read_bytes(), before)
    box.write("two.json", {"mcpServers": {"b": {"command": "later"}, "c": {"command": "c"}}})
    box.write("own.yaml", box.config("import", "mcp.json", "two.json").out)
    tree = box.tree("--config", "own.yaml", env={"K_TOKEN": "k"})
    equal(sorted(tree["servers"]), ["a", "b", "c"])
    equal((at(tree, "servers.b.command"), "url" in at(tree, "servers.b")), ("later", False))
    box.config("import", code=2)


@box_test()
def import_writes_a_new_file_only(box):
    box.write("mcp.json", CURSOR)
    text = box.config("import", "mcp.json").out
    equal(box.config("import", "mcp.json", "--write").out, "mcp-server.yaml: written, 2 servers\n")
    written = box.folder / "mcp-server.yaml"
    equal((written.read_text(), stat.S_IMODE(written.stat().st_mode)), (text, 0o600))
    box.config("validate", env={"K_TOKEN": "k"})
    written.write_text("mine")
    for options, name in ((["--write"], "mcp-server.yaml"), (["-o", "mcp.json"], "mcp.json")):
        done = box.config("import", "mcp.json", *options, code=1)
        equal((done.out, done.err), ("", f"owlclaw: {name} is there already and is left as it is; write to "
                                     'another file with --output, and name that one in its "include"\n'))
    equal(written.read_text(), "mine")
    box.write("one.json", {"mcpServers": {"x": {"command": "x"}}})
    equal(box.config("import", "one.json", "--output", "sub.yaml").out, "sub.yaml: written, 1 server\n")
    done = box.config("import", "one.json", "--output", "no/such/folder.yaml", code=74)
    equal(done.err, "owlclaw: cannot create no/such/folder.yaml: No such file or directory\n")
    (box.folder / "link.yaml").symlink_to("/dev/full")
    box.config("import", "one.json", "--output", "link.yaml", code=1)
    if os.geteuid() != 0:
        box.folder.chmod(0o500)
        contains(box.config("import", "one.json", "-o", "x.yaml", code=74).err, "cannot create x.yaml: Permission")
        box.folder.chmod(0o700)


@box_test()
def import_writes_what_its_name_says(box):
    box.write("mcp.json", CURSOR)
    tree = json.loads(box.config("import", "mcp.json", "--json").out)
    equal(sorted(tree["mcp_server"]["servers"]), ["a", "b"])
    equal(box.config("import", "mcp.json", "-o", "out.json").out, "out.json: written, 2 servers\n")
    equal(json.loads((box.folder / "out.json").read_text()), tree)
    box.config("validate", "--config", "out.json", env={"K_TOKEN": "k"})
    equal(json.loads(box.config("import", "mcp.json", "-o", "b.yaml", "--json").out), {"file": "b.yaml", "servers": 2})
    box.config("validate", "--config", "b.yaml", env={"K_TOKEN": "k"})
    done = box.config("import", "mcp.json", "-o", "out.toml", code=2)
    equal(done.err, "owlclaw: out.toml: TOML is read, but not written; name a .yaml or .json file\n")
    check(not (box.folder / "out.toml").exists(), "nothing is written")


@box_test()
def of_two_files_in_the_default_place_one_is_read(box):
    box.write("mcp.json", CURSOR)
    for name in ("mcp-server.toml", "mcp-server.yml", "mcp-server.json", "owlclaw.yaml"):
        path = box.write(name, "")
        for options in (["--write"], ["-o", "mcp-server.yaml"]):
            done = box.config("import", "mcp.json", *options, code=1)
            contains(done.err, f"{name} is there already, and of it and mcp-server.yaml only one would be read; write")
        check(not (box.folder / "mcp-server.yaml").exists(), "nothing is written")
        path.unlink()
    box.write("mcp-server.json", own(title="json"))
    box.write("mcp-server.toml", '[mcp_server]\ntitle = "toml"\n')
    for command in ("validate", "show"):
        done = box.config(command)
        contains(done.out + done.err, "mcp-server.toml: warning: this file is read, `mcp-server.json` beside it is not")
    contains(box.config("show", "title").out, "toml")
    check("is not" not in box.config("validate", "--config", "mcp-server.toml").out, "it was named")


@box_test()
def a_file_that_cannot_be_written_whole_is_removed(box):
    def little():
        import resource
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (16, 16))
    box.write("mcp.json", CURSOR)
    done = box.config("import", "mcp.json", "--write", code=74, preexec_fn=little)
    equal(done.err, "owlclaw: cannot write mcp-server.yaml: File too large\n")
    check(not (box.folder / "mcp-server.yaml").exists(), "half a file is worse than none")
    box.write(".kode.json", kode())
    done = box.run("trust", code=2, preexec_fn=little)
    contains(done.err, "cannot write")
    equal(sorted(p.name for p in (box.state / "owlclaw").iterdir()), ["trust.lock"])


@box_test()
def nothing_faulty_is_imported(box):
    box.write("bad.json", {"mcpServers": {"a": {"type": "stdio"}, "b": {"comand": "x"}}})
    done = box.config("import", "bad.json", "--write", code=1)
    equal(done.out, "")
    contains(done.err, "owlclaw: nothing is imported: mend the faults first")
    contains(done.err, "did you mean `command`?")
    check(not (box.folder / "mcp-server.yaml").exists(), "nothing is written")
    done = box.config("import", "missing.json", code=1)
    contains(done.err, "missing.json: error: there is no such file")
    box.write("none.json", {"theme": "dark"})
    contains(box.config("import", "none.json", code=1).err, "holds nothing for OwlClaw")


@box_test()
def a_full_disk_is_told(box):
    box.write("mcp.json", CURSOR)
    env = {"K_TOKEN": "k"}
    for words in (["show"], ["show", "--json"], ["show", "--sources"], ["schema"], ["import", "mcp.json"],
                  ["validate"], ["validate", "--json"]):
        with open("/dev/full", "w") as full:
            done = box.config(*words, *([] if words[0] in ("schema", "import") else ["-c", "mcp.json"]),
                              stdout=full, code=74, env=env)
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
