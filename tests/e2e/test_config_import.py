#!/usr/bin/env python3
"""owlclaw mcp-server config import: our own file from that of another host."""

import stat

from config import *

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
    box.write("mcp.json", CURSOR)
    done = box.config("import", "mcp.json", "--write", code=74, preexec_fn=no_room)
    equal(done.err, "owlclaw: cannot write mcp-server.yaml: File too large\n")
    check(not (box.folder / "mcp-server.yaml").exists(), "half a file is worse than none")


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


main()
