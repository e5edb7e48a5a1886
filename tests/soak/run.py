#!/usr/bin/env python3
"""Tries the newest clients of another language on everything-server, over HTTP and stdio.

usage: run.py LANGUAGE      (a folder of tests/soak)

The packages are installed below build/soak/ with the language's own package manager; without it the
language is skipped. Then the driver, tests/soak/<language>/driver.*, is started with the URL of a
server and the command of another. It prints a line for each client, transport and check:

    ok mcp-go http call
    FAIL mcp-go stdio elicit: timed out

Checks that must have been made and are not in its output are failures.

Environment: OWLCLAW_BUILD, OWLCLAW_RESULTS as everywhere in tests/."""

import dataclasses
import os
import pathlib
import re
import shutil
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent
BUILD = pathlib.Path(os.environ.get("OWLCLAW_BUILD") or ROOT / "build").resolve()
SERVER = BUILD / "examples/everything-server"
TRANSPORTS = ("http", "stdio")
CHECKS = ("list", "call", "elicit")
INSTALL_SECONDS, RUN_SECONDS = 1500, 240


@dataclasses.dataclass(frozen=True)
class Language:
    needs: tuple     # programs
    clients: tuple   # as the driver names them
    install: tuple   # commands, run in the scratch directory
    driver: tuple    # command; URL and command of the servers follow


LANGUAGES = {
    "python": Language(
        ("python3",), ("mcp auto", "mcp legacy", "fastmcp"),
        (("python3", "-m", "venv", "venv"),
         ("venv/bin/pip", "install", "--quiet", "--upgrade", "mcp", "fastmcp")),
        ("venv/bin/python", "driver.py")),
    "typescript": Language(
        ("node", "npm"), ("sdk", "client legacy", "client auto"),
        (("npm", "install", "--prefix", ".", "--no-save", "--no-package-lock", "--ignore-scripts",
          "--no-audit", "--no-fund", "@modelcontextprotocol/sdk@latest",
          "@modelcontextprotocol/client@latest"),),
        ("node", "driver.cjs")),
    "go": Language(
        ("go",), ("go-sdk", "mcp-go"),
        (("go", "get", "github.com/modelcontextprotocol/go-sdk@latest",
          "github.com/mark3labs/mcp-go@latest"), ("go", "mod", "tidy"),
         ("go", "build", "-o", "driver", ".")),
        ("./driver",)),
    "rust": Language(
        ("cargo",), ("rmcp legacy", "rmcp auto"),
        (("cargo", "update"), ("cargo", "build")),
        ("target/debug/driver",)),
    "java": Language(
        ("java", "mvn"), ("java-sdk",),
        (("mvn", "-q", "-B", "-U", "compile", "dependency:build-classpath",
          "-Dmdep.outputFile=classpath"),),
        ("sh", "-c", 'exec java -cp "target/classes:$(cat classpath)" driver "$@"', "driver")),
}


def run(command, scratch, seconds):
    """Output and exit status (None: it took too long) of a command, which reads nothing."""
    try:
        done = subprocess.run(command, cwd=scratch, stdin=subprocess.DEVNULL, timeout=seconds,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                              errors="replace")
        return done.stdout, done.returncode
    except subprocess.TimeoutExpired as late:
        return (late.stdout or b"").decode(errors="replace"), None


def install(name, language):
    """The scratch directory with the driver and its packages."""
    scratch = ROOT / "build/soak" / name
    shutil.copytree(HERE / name, scratch, dirs_exist_ok=True)
    for command in language.install:
        output, status = run(command, scratch, INSTALL_SECONDS)
        if status != 0:
            sys.exit(f"{' '.join(command)}: status {status}\n{output}")
    return scratch


def expected(language):
    return [f"{client} {transport} {check}" for client in language.clients
            for transport in TRANSPORTS for check in CHECKS]


def judge(language, output):
    """(status, check) of every check that must be made, and of what else failed."""
    passed = set(re.findall(r"^ok (.*)$", output, re.M))
    failed = set(re.findall(r"^FAIL ([^:\n]*)", output, re.M))
    for check in expected(language):
        yield "pass" if check in passed and check not in failed else "fail", check
    for check in sorted(failed - set(expected(language))):
        yield "fail", check


def drive(language, scratch):
    server = subprocess.Popen([SERVER, "--port", "0"], stdin=subprocess.DEVNULL,
                              stderr=subprocess.PIPE, text=True)
    try:
        url = re.search(r"http://\S+", server.stderr.readline())[0]
        return run([*language.driver, url, str(SERVER), "--stdio"], scratch, RUN_SECONDS)
    finally:
        server.terminate()
        server.wait()
        server.stderr.close()


def record(rows):
    path = os.environ.get("OWLCLAW_RESULTS")
    if path:
        with open(path, "a", encoding="utf-8") as file:
            file.writelines(f"{status}\t{test}\t\n" for status, test in rows)


def main():
    if len(sys.argv) != 2 or sys.argv[1] not in LANGUAGES:
        sys.exit(f"usage: run.py {'|'.join(LANGUAGES)}")
    name = sys.argv[1]
    language = LANGUAGES[name]
    missing = [program for program in language.needs if not shutil.which(program)]
    if missing:
        print(f"skipped: there is no {', '.join(missing)}")
        record([("skip", f"soak/{name}:clients")])
        return 0
    output, status = drive(language, install(name, language))
    print(output)
    rows = [(status, f"soak/{name}:{check}") for status, check in judge(language, output)]
    if status != 0:
        print(f"the driver ended with status {status}")
        rows.append(("fail", f"soak/{name}:exits cleanly"))
    record(rows)
    failed = [check for status, check in rows if status == "fail"]
    print(f"{len(rows) - len(failed)} passed, {len(failed)} failed", *failed, sep="\n    ")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
