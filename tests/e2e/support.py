"""What the end-to-end tests share: assertions, the server under test, the runner.

A test file is a program:

    from client import *

    @test("OR-1.4")
    def lists_tools():
        equal(session().request("tools/list").result["tools"][0]["name"], "test_simple_text")

    main()

Environment: OWLCLAW_BUILD is the build directory (default build/), OWLCLAW_REACTORS the number of
reactors, OWLCLAW_VARIANT the kind of build, OWLCLAW_RESULTS a file to which one line a test is
appended: "pass|fail|skip<TAB>e2e/<file> r<reactors>:<test><TAB>requirement ids"."""

import os
import pathlib
import re
import signal
import subprocess
import sys
import tempfile
import time
import traceback

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
BUILD = pathlib.Path(os.environ.get("OWLCLAW_BUILD") or ROOT / "build")
REACTORS = os.environ.get("OWLCLAW_REACTORS", "2")
VARIANT = os.environ.get("OWLCLAW_VARIANT", "normal")
SLOWNESS = {"asan": 3, "tsan": 5}.get(VARIANT, 1)

SANITIZER = re.compile(r"ERROR: \w+Sanitizer|WARNING: \w+Sanitizer|runtime error:|SUMMARY: \w+San")


def seconds(n):
    """A waiting time, longer where the build is slow."""
    return n * SLOWNESS


# ---- assertions ---------------------------------------------------------------------------------


class Failure(AssertionError):
    pass


class Skip(Exception):
    pass


def show(value):
    text = repr(value)
    return text if len(text) < 1500 else text[:1500] + "…"


def equal(got, expected, what=""):
    if got != expected:
        raise Failure(f"{what + ': ' if what else ''}got {show(got)}, expected {show(expected)}")


def check(condition, what):
    if not condition:
        raise Failure(what)


def contains(container, member, what=""):
    if container is None or member not in container:
        raise Failure(f"{what + ': ' if what else ''}{show(member)} is not in {show(container)}")


def eventually(condition, what, timeout=5):
    """Waits until a condition holds."""
    deadline = time.monotonic() + seconds(timeout)
    while not condition():
        if time.monotonic() > deadline:
            raise Failure(f"not within {seconds(timeout)} s: {what}")
        time.sleep(0.01)


# ---- the server under test -----------------------------------------------------------------------


class Server:
    """A process of everything-server, over HTTP on a free port unless stdio is asked for."""

    def __init__(self, *options, stdio=False, program="everything-server", reactors=REACTORS):
        self.stderr_file = tempfile.TemporaryFile()
        command = [BUILD / "examples" / program, *options]
        if program == "everything-server":
            command += ["--reactors", str(reactors)]
            command += ["--stdio"] if stdio else ["--port", "0"]
        pipe = subprocess.PIPE if stdio else subprocess.DEVNULL
        self.process = subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=self.stderr_file,
                                        bufsize=0)
        self.port = None if stdio else self._wait_for_port()

    def _wait_for_port(self):
        found = []

        def listening():
            match = re.search(r"listening on http://127\.0\.0\.1:(\d+)/mcp\n", self.stderr())
            found.extend(match.groups() if match else [])
            return match or self.process.poll() is not None

        eventually(listening, "the server listens", timeout=10)
        check(found, f"the server ended with {self.process.returncode} instead of listening")
        return int(found[0])

    def stderr(self):
        size = self.stderr_file.seek(0, os.SEEK_END)
        return os.pread(self.stderr_file.fileno(), size, 0).decode(errors="replace")

    def alive(self):
        return self.process.poll() is None

    def stop(self, signo=signal.SIGTERM):
        """Stops it gracefully and checks that nothing went wrong on the way."""
        if self.alive():
            self.process.send_signal(signo)
        try:
            self.process.wait(seconds(8))
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
            raise Failure("the server does not stop") from None
        self.verify()

    def verify(self):
        """Of a server that has ended: it exited with 0 and no sanitizer complained."""
        check(not SANITIZER.search(self.stderr()), "a sanitizer complained")
        equal(self.process.returncode, 0, "exit status of the server")

    def __enter__(self):
        return self

    def __exit__(self, kind, error, trace):
        if error is None:
            try:
                self.stop()
                return
            except Failure:
                print(indent(self.stderr(), "server"))
                raise
        print(indent(self.stderr(), "server"))
        if self.alive():
            self.process.kill()
            self.process.wait()


_shared = []


def server():
    """The server that the tests of a file share."""
    if not _shared:
        _shared.append(Server())
    return _shared[0]


# ---- the runner ----------------------------------------------------------------------------------

_tests = []


def test(ids="", timeout=30):
    """Registers a test, with the requirements that it proves."""
    def register(function):
        _tests.append((function, ids, timeout))
        return function
    return register


def indent(text, label):
    lines = text.splitlines()[-60:]
    return "\n".join(f"    {label} | {line}" for line in lines) if lines else ""


def _alarm(signo, frame):
    raise Failure("the test takes too long")


def run_one(function, timeout):
    """Runs a test; returns its status after saying what went wrong."""
    signal.setitimer(signal.ITIMER_REAL, seconds(timeout))
    try:
        function()
        if _shared:
            check(_shared[0].alive(), "the server died")
        return "pass"
    except Skip as reason:
        print(f"    skipped: {reason}")
        return "skip"
    except Exception as error:  # whatever it is, it fails this test and not the others
        signal.setitimer(signal.ITIMER_REAL, 0)
        frames = [f for f in traceback.extract_tb(error.__traceback__)
                  if not f.filename.endswith(("support.py", "client.py"))]
        where = f"line {frames[-1].lineno}: {frames[-1].line}" if frames else ""
        print(f"    {type(error).__name__}: {error}\n    {where}")
        if _shared:
            print(indent(_shared[0].stderr(), "server"))
            if not _shared[0].alive():
                print(f"    the server died with {_shared[0].process.returncode}")
                _shared.clear()
        return "fail"
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)


def stops_cleanly():
    if _shared:
        _shared.pop().stop()


def main():
    """Runs the tests of this file, or those whose names contain an argument."""
    suite = pathlib.Path(sys.argv[0]).stem.removeprefix("test_")
    signal.signal(signal.SIGALRM, _alarm)
    chosen = [t for t in _tests
              if len(sys.argv) < 2 or any(p in t[0].__name__ for p in sys.argv[1:])]
    counts = dict.fromkeys(("pass", "fail", "skip"), 0)
    results = os.environ.get("OWLCLAW_RESULTS")
    for function, ids, timeout in [*chosen, (stops_cleanly, "", 15)]:
        started = time.monotonic()
        status = run_one(function, timeout)
        counts[status] += 1
        print(f"{status}  {function.__name__}  {time.monotonic() - started:.2f} s", flush=True)
        if results:
            with open(results, "a", encoding="utf-8") as file:
                file.write(f"{status}\te2e/{suite} r{REACTORS}:{function.__name__}\t{ids}\n")
    print(f"{suite}: {counts['pass']} passed, {counts['fail']} failed, {counts['skip']} skipped")
    sys.exit(1 if counts["fail"] else 0)
