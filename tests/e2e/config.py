"""What the tests of configurations share: the program, and the faults that it tells."""

import json

from support import *

PROGRAM = BUILD.resolve() / "owlclaw"
VALIDATE = [PROGRAM, "mcp-server", "config", "validate"]


def need_program():
    """Skips the test as long as the command is not there."""
    if not PROGRAM.exists() or subprocess.run([*VALIDATE, "--help"], capture_output=True).returncode:
        raise Skip("there is no owlclaw mcp-server config validate")


def run_in(folder, command, env):
    """Runs a command with that environment and an empty home."""
    with tempfile.TemporaryDirectory(prefix="owlclaw-home-") as home:
        done = subprocess.run(command, cwd=folder, capture_output=True, timeout=seconds(20),
                              text=True, errors="replace",
                              env={"PATH": f"{PROGRAM.parent}:{os.environ['PATH']}", "HOME": home,
                                   **env})
    check(not SANITIZER.search(done.stderr), f"a sanitizer complained: {done.stderr}")
    return done


def validate(folder, config, env):
    """The faults of a file, and the exit status. They are a list, alone or as `faults`."""
    done = run_in(folder, [*VALIDATE, "--json", "--config", config], env)
    try:
        faults = json.loads(done.stdout)
    except ValueError:
        raise Failure(f"{config}: no JSON: {done.stdout}{done.stderr}") from None
    return (faults["faults"] if isinstance(faults, dict) else faults), done.returncode


def where(fault):
    return os.path.normpath(fault.get("file") or fault.get("source") or "?")


def sentence(fault):
    place = f"{where(fault)}:{fault.get('line', '-')}:{fault.get('column', '-')}"
    return f"{place}: {fault['severity']}: {fault['message']} ({fault.get('hint', '')})"
