#!/usr/bin/env python3
"""owlclaw mcp-server config show: what counts, where it comes from, and never a secret."""

from config import *
from config_values import as_toml


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
    equal(len(hidden.findall(box.config("show", "--secrets", env=env).out)), 11)
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


main()
