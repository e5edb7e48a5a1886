"""Programs that other people wrote, and what is checked of all of them.

They are installed from npm into the user's cache once; without node, npm or the runner of the
conformance suite the tests that need them are skipped."""

import fcntl
import shutil

from client import *

sys.path.insert(0, str(ROOT / "tests/conformance"))
import suite
from suite import CACHE, NODE, RUNNER, SUITE

CLIENTS = CACHE / "owlclaw-clients"
PACKAGES = {"@modelcontextprotocol/inspector": "2.12.0", "@modelcontextprotocol/sdk": "1.32.2",
            "@modelcontextprotocol/client": "2.4.0"}


@contextlib.contextmanager
def locked():
    """Several test programs may want to install at once."""
    CACHE.mkdir(parents=True, exist_ok=True)
    with open(CACHE / "owlclaw-npm.lock", "w", encoding="utf-8") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def run(command, timeout=60, **env):
    return suite.foreign(command, seconds(timeout), **env)


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


def sdk_works(version, era, what, *target, **env):
    """A client that is built on an official SDK, against a URL, a Unix socket or a command."""
    need_clients()
    what = f"SDK {version}, {era}, {what}"
    done = run([NODE, ROOT / "tests/conformance/client.cjs", version, era, *target],
               OWLCLAW_CLIENTS=str(CLIENTS), **env)
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
    # What an SDK reads in one piece with the result comes too late for its handler of progress; our
    # own clients see all of it.
    contains([[0, 50, 100], [0, 50]], seen["progress"], what)
    contains(seen["reconnected"], "stream may have been closed", what)
    equal(seen["unknown"], -32602, what)
    return seen
