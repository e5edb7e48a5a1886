#!/usr/bin/env python3
"""The examples of configurations, the snippets of docs/configuration.md and the schema are in order.

A block of the document after <!-- config: name --> is a file of that name; all of them are in one
folder, and each must be valid unless ", broken" is behind the name. A block after
<!-- config: run --> is run there by sh, with owlclaw in its PATH; the lines of a block after
<!-- prints --> are among what it prints."""

from config import *

EXAMPLES = ROOT / "examples/config"
SCHEMA = json.loads((ROOT / "src/config/schema.json").read_text())
ENV = {"GITHUB_TOKEN": "x", "ISSUES_TOKEN": "x", "DATABASE_URL": "x", "LINEAR_TOKEN": "x",
       "OWLCLAW_INPUT_GITHUB_TOKEN": "x"}
HEAD = re.compile(r'^(?:# yaml-language-server: \$schema=|#:schema |\{\s+"\$schema": ")([^\s"]+)')
BLOCK = re.compile(r"^<!-- config: (?P<name>[^ ,]+)(?P<broken>, broken)? -->\n+```\w+\n"
                   r"(?P<text>.*?)^```\n(?:\n*<!-- prints -->\n+```\w*\n(?P<prints>.*?)^```\n)?",
                   re.M | re.S)


def examples():
    return [p for p in sorted(EXAMPLES.rglob("*")) if p.is_file()]


def must_be_valid(folder, name):
    faults, status = validate(folder, name, ENV)
    errors = [sentence(f) for f in faults if f["severity"] == "error"]
    check(not errors and status == 0, f"{name} exits with {status}: {errors}")


@test("OR-10.1 OD-9.1.1 OT-CFG.17")
def every_example_is_valid():
    need_program()
    for path in examples():
        must_be_valid(path.parent, path.name)


@test()
def every_example_of_our_own_names_the_schema():
    others = {"claude_desktop_config.json", "cursor/mcp.json", "vscode/mcp.json"}
    for path in examples():
        name = str(path.relative_to(EXAMPLES))
        head = HEAD.match(path.read_text())
        equal(head is None, name in others, f"{name} names no schema")
        if head:
            equal((path.parent / head[1]).resolve(), ROOT / "src/config/schema.json", name)


@test()
def snippets_of_the_document_are_valid():
    need_program()
    text = (ROOT / "docs/configuration.md").read_text()
    blocks = list(BLOCK.finditer(text))
    equal(len(blocks), len(re.findall("^<!-- config: ", text, re.M)), "blocks")
    with tempfile.TemporaryDirectory(prefix="owlclaw-docs-") as folder:
        for block in (b for b in blocks if b["name"] != "run"):
            path = pathlib.Path(folder, block["name"])
            path.parent.mkdir(exist_ok=True)
            path.write_text(block["text"])
        for block in blocks:
            if block["name"] == "run":
                done = run_in(folder, ["sh", "-ec", block["text"]], ENV)
                equal(done.returncode, 0, f"{block['text']}{done.stdout}{done.stderr}")
                for line in (block["prints"] or "").splitlines():
                    contains((done.stdout + done.stderr).splitlines(), line, block["text"])
            elif block["broken"]:
                equal(validate(folder, block["name"], ENV)[1], 1, block["name"])
            else:
                must_be_valid(folder, block["name"])


# ---- the schema ---------------------------------------------------------------------------------


def resolve(key):
    """A key with all that it refers to."""
    while "$ref" in key:
        found = SCHEMA
        for step in key["$ref"].removeprefix("#/").split("/"):
            found = found[step]
        key = {**found, **{name: value for name, value in key.items() if name != "$ref"}}
    return key


def keys(key, path=()):
    """Every key beneath one, also those of the entries of lists and maps, with its path."""
    key = resolve(key)
    for name, member in key.get("properties", {}).items():
        yield (*path, name), member
        yield from keys(member, (*path, name))
    for keyword in ("additionalProperties", "items"):
        if isinstance(key.get(keyword), dict):
            yield from keys(key[keyword], (*path, "*"))


@test()
def every_key_says_what_it_is_for():
    found = list(keys(SCHEMA))
    check(len(found) > 200, f"{len(found)} keys are not all")
    for path, key in found:
        words = resolve(key).get("description", "")
        check(re.fullmatch(r"[A-Z`].*\.|otter's .*\.", words, re.S), f"{'.'.join(path)}: {words!r}")


@test()
def our_own_trees_are_strict():
    for root in ("mcp_server", "mcp"):
        for path, key in [((root,), SCHEMA["properties"][root]),
                          *keys(SCHEMA["properties"][root], (root,))]:
            key = resolve(key)
            if "properties" in key and path != ("mcp", "servers", "*"):  # which is an entry of others
                equal(key.get("additionalProperties"), False, ".".join(path))


@test("OR-10.2")
def every_key_has_a_variable_of_its_own():
    variables = {}
    for path, key in keys(SCHEMA["properties"]["mcp_server"]):
        if "*" in path:
            continue
        for name in ["MCP_SERVER_" + "_".join(path).upper(), *key.get("x-env", [])]:
            check(name not in variables, f"{name} is {variables.get(name)} and {path}")
            variables[name] = path
    equal(variables["MCP_SERVER_TOOLS_TIMEOUT"], ("tools", "default_timeout_seconds"))
    equal(variables["MCP_SERVER_SKILLS_DIR"], ("resources", "skills_dir"))


@test("OD-9.1.3 OD-9.1.6 OD-9.1.7 OD-9.1.9 OD-9.1.12 OD-9.1.13 OD-9.1.14 OD-9.1.15 OD-9.1.16 "
      "OD-9.1.17 OD-9.1.18 OD-9.1.19 OD-9.1.20 OD-9.1.21 OD-9.1.22 OD-9.1.23 OD-9.1.24 OD-9.4.6 "
      "OD-9.4.11")
def defaults_are_those_of_the_design():
    design = {
        "transport": "stdio", "http.host": "127.0.0.1", "http.port": 8080, "http.cors.enabled": True,
        "http.cors.allowed_origins": [], "http.cors.max_age": 3600, "http.tls.enabled": False,
        "http.tls.verify_client": False, "tools.default_timeout_seconds": 300,
        "tools.async_threshold_seconds": 30, "tools.cache_ttl_seconds": 300,
        "resources.skills_dir": "./capabilities", "resources.cache_ttl_seconds": 600,
        "governance.enabled": True, "governance.default_quota.monthly_budget": 500,
        "governance.default_quota.max_calls_per_minute": 60,
        "governance.default_quota.max_calls_per_day": 1000,
        "governance.default_quota.max_cost_per_call": 10, "logging.level": "INFO",
        "logging.format": "json", "logging.output": "stderr", "enabled": True,
        "auto_reload": True, "health_check_interval": 30,
    }
    found = {".".join(path): resolve(key).get("default")
             for path, key in keys(SCHEMA["properties"]["mcp_server"])}
    equal({name: found[name] for name in design}, design)


main()
