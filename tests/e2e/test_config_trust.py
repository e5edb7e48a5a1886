#!/usr/bin/env python3
"""owlclaw trust: a project's .kode.json counts once its user has said so."""

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


main()
