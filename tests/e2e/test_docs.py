#!/usr/bin/env python3
"""The shell commands of the documents work.

A block after <!-- run --> is run by sh in an empty folder, in which build/ is the build directory;
what it leaves running is ended. After <!-- run: hello-server … --> that example runs meanwhile.
Ports that begin with 80 or 84 are replaced by free ones. If a block after <!-- prints --> follows,
its lines are what the commands print; * stands for anything."""

import fnmatch
import shutil

from client import *

PORT = re.compile(r"\b8[04]\d\d\b")
BLOCK = re.compile(r"^<!-- run(?:: (?P<program>.+?))? -->\n+```sh\n(?P<commands>.*?)^```\n"
                   r"(?:\n*<!-- prints -->\n+```\w*\n(?P<prints>.*?)^```\n)?", re.M | re.S)


def with_free_ports(*texts):
    ports = {}
    with contextlib.ExitStack() as stack:
        def free(match):
            if match[0] not in ports:
                taken = stack.enter_context(socket.create_server(("127.0.0.1", 0)))
                ports[match[0]] = str(taken.getsockname()[1])
            return ports[match[0]]
        return [PORT.sub(free, text) for text in texts], list(ports.values())


def accepts(port):
    with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", int(port))):
        return True
    return False


def run(program, commands, prints):
    (program, commands, prints), ports = with_free_ports(program, commands, prints)
    with tempfile.TemporaryDirectory(prefix="owlclaw-docs-") as folder, \
            tempfile.TemporaryFile() as output, tempfile.TemporaryFile() as errors:
        pathlib.Path(folder, "build").symlink_to(BUILD.resolve())
        processes = []

        def start(command, stdout):
            processes.append(subprocess.Popen(command, cwd=folder, stdin=subprocess.DEVNULL,
                                              stdout=stdout, stderr=errors,
                                              start_new_session=True))
            return processes[-1]

        try:
            if program:
                name, *options = program.split()
                start([BUILD.resolve() / "examples" / name, *options], subprocess.DEVNULL)
                eventually(lambda: accepts(ports[0]), f"{name} listens")
            shell = start(["sh", "-ec", commands], output)
            if shell.wait(seconds(20)) != 0:
                errors.seek(0)
                raise Failure(f"{commands}\nfails: {errors.read().decode()}")
        finally:
            for process in processes:  # the group: a block may leave servers running
                with contextlib.suppress(ProcessLookupError):
                    os.killpg(process.pid, signal.SIGTERM)
                process.wait(seconds(10))
        output.seek(0)
        printed = output.read().decode().strip()
        pattern = prints.strip().replace("[", "[[]")
        check(not prints or fnmatch.fnmatchcase(printed, pattern),
              f"{commands}\nprints {printed}\ninstead of {prints}")


def commands_work(document):
    text = document.read_text()
    blocks = list(BLOCK.finditer(text))
    equal(len(blocks), len(re.findall("^<!-- run", text, re.M)), f"blocks of {document.name}")
    for block in blocks:
        run(block["program"] or "", block["commands"], block["prints"] or "")


@test(timeout=120)
def every_command_that_is_shown_works():
    for program in ("curl", "openssl"):
        if not shutil.which(program):
            raise Skip(f"there is no {program}")
    for document in (ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))):
        commands_work(document)


main()
