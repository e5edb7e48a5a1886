#!/usr/bin/env python3
"""Properties of configurations, for trees drawn over all keys of the schema.

OWLCLAW_SEED is the first seed, OWLCLAW_CASES the number of trees."""

import random

from config import *
from config_values import *

SEED = int(os.environ.get("OWLCLAW_SEED", "20260728"))
CASES = int(os.environ.get("OWLCLAW_CASES", "300" if VARIANT == "normal" and REACTORS == "2"
                           else "40"))


def drawings(often):
    for i in range(CASES):
        yield SEED + i, Drawing(random.Random(SEED + i), often[i % len(often)])


@test("OR-10.1 OD-9.1.2", timeout=110)
def any_tree_means_the_same_in_every_form_and_when_loaded_back():
    seen = set()
    with Box() as box:
        for seed, drawing in drawings((0.1, 0.5, 0.9, 1)):
            written, meant = drawing.tree()
            files = {"a.json": as_json, "a.yaml": as_yaml, "a.toml": as_toml}
            shown = {}
            for name, form in files.items():
                box.write(name, form({"mcp_server": written}))
                shown[name] = box.config("show", "--json", "--secrets", "--config", name).out
                equal(json.loads(shown[name]), json.loads(shown["a.json"]), f"seed {seed}: {name}")
            check(holds(json.loads(shown["a.json"])["mcp_server"], meant),
                  f"seed {seed}: {show(meant)} became {show(shown['a.json'])}")
            box.write("b.json", shown["a.json"])
            again = box.config("show", "--json", "--secrets", "--config", "b.json").out
            equal(again, shown["a.json"], f"seed {seed}: loaded back")
            seen |= drawing.seen
    known = {path for path, _ in keys(SCHEMA["properties"]["mcp_server"])}
    if CASES >= 300:
        equal(sorted(known - seen), [("store", "url")], "keys that got no value")


# ---- import -------------------------------------------------------------------------------------


def foreign_server(drawing):
    """An entry as another program has it."""
    theirs = resolve(SCHEMA["properties"]["mcpServers"]["additionalProperties"])["properties"]
    rng, entry, taken = drawing.rng, {}, set()
    remote = rng.random() < 0.5
    names = [n for n in theirs if n not in ("command", "url", "serverUrl", "httpUrl", "prefix",
                                            "type", "transport", "timeout", "env")]
    for name in rng.sample(names, rng.randint(0, 8)):
        meaning = resolve(theirs[name]).get("x-key", name)
        if meaning not in taken:
            taken.add(meaning)
            entry[name] = drawing.value(theirs[name], ("mcpServers", name))[0]
    entry[rng.choice(["url", "serverUrl", "httpUrl"]) if remote else "command"] = (
        rng.choice(["https://h/mcp", "http://h:1/sse?x=${X:-1}"]) if remote
        else rng.choice(["npx", "${workspaceFolder}/x", "${env:X}", "$${a}", "a b"]))
    if rng.random() < 0.5:
        entry[rng.choice(["type", "transport"])] = rng.choice(
            ["http", "sse", "streamable-http", "streamableHttp", "remote"] if remote
            else ["stdio", "local"])
    if rng.random() < 0.5:
        entry["timeout"] = rng.choice([1, 60, 999, 1000, 30000, "90s", 2.5])
    if rng.random() < 0.5:
        entry["env"] = {"A": rng.choice([None, 1, True, 0.5, "${X}", "${input:a}", "${input:b}"])}
    if rng.random() < 0.2:
        entry["metadata"] = {"x": 1}  # theirs alone
    return entry


def listed_server(drawing, name):
    """An entry of otter's list."""
    written, _ = drawing.value({"$ref": "#/$defs/server"}, ("servers", "*"))
    return {"name": name, **written}


def foreign_file(drawing):
    """The name and the content of a file of another program."""
    rng = drawing.rng
    names = rng.sample(FITTING[r"^[^:\u0000-\u001f\u007f]{1,64}$"], rng.randint(0, 4))
    inputs = [{"id": "a", "type": "promptString", "password": True},
              {"id": "b", "type": "pickString", "default": "no", "options": ["no"]}]
    shape = rng.choice(["mcpServers", "servers", "mcp", "mcp_servers"])
    if shape in ("mcpServers", "servers"):
        servers = {name: foreign_server(drawing) for name in names}
        return "f.json", "// theirs\n" + as_json(
            {"theme": "dark", shape: servers, "inputs": inputs})
    servers = [listed_server(drawing, name) for name in names]
    if shape == "mcp_servers":
        return "f.toml", as_toml({"mcp_servers": servers, "mcp": {"enabled": False}})
    return "f.toml", as_toml({"mcp": {"auto_reload": rng.random() < 0.5, "servers": servers,
                                      "health_check_interval": "1m"}})


@test("OT-CFG.4 OT-CFG.6", timeout=110)
def any_import_is_valid_and_means_the_same():
    env = {"X": "x", "OWLCLAW_INPUT_A": "s3cret"}
    with Box() as box:
        for seed, drawing in drawings((0.3, 0.7)):
            name, text = foreign_file(drawing)
            box.write(name, text)
            box.write("own.yaml", box.config("import", name).out)
            faults = box.faults("--config", "own.yaml", env=env)
            equal(faults, [], f"seed {seed}: {text}\n{(box.folder / 'own.yaml').read_text()}")
            for option in ("--secrets", "--json"):  # and what is secret stays so
                shown = [box.config("show", "--json", option, "--config", f, env=env).out
                         for f in (name, "own.yaml")]
                equal(json.loads(shown[1]), json.loads(shown[0]), f"seed {seed}: {text}")


main()
