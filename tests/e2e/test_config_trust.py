#!/usr/bin/env python3
"""owlclaw trust: what a folder brings along runs nothing before its user has said so."""

import stat

from config import *


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


@box_test()
def a_list_that_cannot_be_written_is_left_alone(box):
    box.write(".kode.json", kode())
    done = box.run("trust", code=2, preexec_fn=no_room)
    contains(done.err, "cannot write")
    equal(sorted(p.name for p in (box.state / "owlclaw").iterdir()), ["trust.lock"])


# ---- files of our own ----------------------------------------------------------------------------

RUNS = {
    "mcp-server.yaml": "mcp_server: {servers: {a: {command: evil}}}\n",
    "mcp-server.yml": "mcp_server: {handlers: {python: {modules: [evil]}}}\n",
    "mcp-server.toml": '[[mcp.servers]]\nname = "a"\ncommand = "evil"\n',
    "mcp-server.json": own(handlers={"plugins": [{"path": "./evil.so"}]}),
    "owlclaw.yaml": "capabilities: ./evil\n",
}


def refusals(box, *options, **more):
    return [f for f in box.faults(*options, **more) if "trust" in f["message"]]


@box_test("KO-6.1.b")
def a_file_that_is_found_and_runs_something_is_trusted_first(box):
    for name, content in RUNS.items():
        path = box.write(name, content)
        faults = refusals(box)
        equal([(f["file"], f["severity"]) for f in faults], [(name, "warning")])
        contains(faults[0]["message"], "a start would refuse this file")
        contains(faults[0]["hint"], f"`owlclaw trust {name}`")
        contains(faults[0]["hint"], f"`--config {name}`")
        contains(box.config("show").err, "a start would refuse this file")
        equal(refusals(box, "--config", name), [], "a file that is named is meant")
        equal(refusals(box, "--trust-project"), [])
        equal(box.run("trust", name).out, f"{path} is trusted until it changes\n")
        equal(refusals(box), [])
        path.write_text(path.read_text() + "\n")
        contains(refusals(box)[0]["message"], "has changed since it was trusted")
        box.run("trust")  # the file that would be read
        equal(refusals(box), [])
        path.unlink()


@box_test()
def a_file_that_runs_nothing_need_not_be_trusted(box):
    for tree in ({"http": {"port": 1}}, {"servers": {"a": {"url": "https://h/mcp"}}},
                 {"handlers": {"python": {"modules": []}}}, {"resources": {"skills_dir": "x"}}):
        box.write("mcp-server.json", own(**tree))
        equal(refusals(box), [], f"{tree}")
    for tree in ({"servers": {"a": {"url": "https://h/mcp", "env_file": ".env"}}},
                 {"handlers": {"python": {"interpreter": "./evil"}}},
                 {"handlers": {"commands": {"t": {"command": "evil", "description": "d"}}}}):
        box.write("mcp-server.json", own(**tree))
        equal(len(refusals(box)), 1, f"{tree}")


@box_test()
def a_file_that_takes_arguments_from_a_program_is_trusted_first(box):
    box.write("~/.kode.json", kode(mine={"command": "mine", "args": ["--read-only"]}))
    box.write("mcp-server.yaml", "mcp_server: {servers: {mine: {args: []}}}\n")
    contains(refusals(box)[0]["message"], "`servers.mine.args`")


@box_test()
def what_a_found_file_includes_is_trusted_by_itself(box):
    box.write("~/.kode.json", kode(mine={"command": "mine"}))
    box.write("mcp-server.yaml", "include: teams/*.yaml\nmcp_server: {http: {port: 1}}\n")
    box.write("teams/a b.yaml", "mcp_server: {servers: {a: {command: evil}}}\n")
    box.write("teams/c.yaml", "mcp_server: {servers: {mine: {env: {LD_PRELOAD: ./evil.so}}}}\n")
    faults = refusals(box)
    equal([f["file"] for f in faults], ["teams/a b.yaml", "teams/c.yaml"])
    contains(faults[0]["message"], "`servers.a.command`")
    contains(faults[0]["hint"], "`owlclaw trust 'teams/a b.yaml'`", "for a shell")
    contains(faults[1]["message"], "`servers.mine.env.LD_PRELOAD`")
    box.run("trust", "teams/c.yaml")
    equal([f["file"] for f in refusals(box)], ["teams/a b.yaml"])
    box.run("trust", "teams/a b.yaml")
    equal(refusals(box), [])


@box_test()
def trust_without_a_file_takes_the_project_s(box):
    own_file = box.write("mcp-server.toml", RUNS["mcp-server.toml"])
    equal(box.run("trust").out, f"{own_file} is trusted until it changes\n")
    project = box.write(".kode.json", kode())
    equal(box.run("trust").out, f"{project} is trusted until it changes\n")
    equal(box.run("trust", "--remove").out, f"{project} is no longer trusted\n")
    project.unlink()
    equal(box.run("trust", "--remove").out, f"{own_file} is no longer trusted\n")
    equal(box.run("trust", "--list").out, "")


main()
