#!/usr/bin/env python3
"""Judges generated pairs of schema and instance by codec/schema, ajv and python-jsonschema.

usage: run.py [--seed N] [--pairs N]

A pair on which the three differ is made as small as it can be with the same verdicts. It is
explained if a row of known.json fits it, for each judge that contradicts us: a row names a case of
the official suite, and counts only if on that case, too, the judge is wrong and we are right. Any
other difference is printed and is a failure.

A pair of which another judge says nothing (it throws, or refuses the schema) while the third agrees
with us is told apart and replaced by a further one. A pair of which we say nothing is a failure.

ajv and python-jsonschema are installed into build/schema-diff/ once. Without node, npm or pip, or
without the network, or without the official suite, the run is skipped.

Environment: OWLCLAW_BUILD, OWLCLAW_TESTDATA, OWLCLAW_RESULTS as everywhere in tests/."""

import argparse
import collections
import concurrent.futures
import fcntl
import itertools
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import threading
import time

import generate
from generate import LISTS, MAPS, SINGLES, write

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent
BUILD = pathlib.Path(os.environ.get("OWLCLAW_BUILD") or ROOT / "build")
DATA = pathlib.Path(os.environ.get("OWLCLAW_TESTDATA") or ROOT.parent / "shared/testdata")
SUITE = DATA / "json-schema/tests/draft2020-12"
OTHERS = ROOT / "build/schema-diff"
AJV, JSONSCHEMA = "8.20.0", "4.26.0"
INSTANCES = 4         # of a schema
CHUNK = 500           # schemas that are judged at a time
UNEXPLAINED = 10      # so many are enough to look at
VERDICTS = ("valid", "invalid")
UNJUDGED = 0.02       # of all pairs: more, and it is a judge that is broken


class Skip(Exception):
    pass


# ---- the judges ---------------------------------------------------------------------------------


def install():
    """The judges of others, once; several runs may want to at the same time."""
    for program in ("node", "npm"):
        if not shutil.which(program):
            raise Skip(f"there is no {program}")
    OTHERS.mkdir(parents=True, exist_ok=True)
    with open(OTHERS / "lock", "w", encoding="utf-8") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        mark = OTHERS / f"ajv-{AJV}-jsonschema-{JSONSCHEMA}"
        if mark.exists():
            return
        (OTHERS / "package.json").write_text('{"private": true}\n')
        for command in (["npm", "install", "--ignore-scripts", "--no-audit", "--no-fund",
                         f"ajv@{AJV}"],
                        [sys.executable, "-m", "pip", "install", "--quiet", "--upgrade",
                         "--target", "python", f"jsonschema=={JSONSCHEMA}"]):
            done = subprocess.run(command, cwd=OTHERS, capture_output=True, text=True)
            if done.returncode != 0:
                raise Skip(f"cannot be installed: {' '.join(command)}: {done.stderr.strip()}")
        mark.touch()


class Judge:
    """A process that answers a line with a line of verdicts."""

    def __init__(self, name, *command):
        self.name = name
        self.process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, encoding="utf-8",
            env=dict(os.environ, OWLCLAW_AJV=str(OTHERS), PYTHONPATH=str(OTHERS / "python"),
                     PYTHONDONTWRITEBYTECODE="1"))

    def verdicts(self, lines):
        """What it says of each line, in order."""
        def tell():
            try:
                self.process.stdin.writelines(line + "\n" for line in lines)
                self.process.stdin.flush()
            except BrokenPipeError:
                pass  # it is told below
        teller = threading.Thread(target=tell)
        teller.start()
        answers = []
        for line in lines:
            answer = self.process.stdout.readline()
            if not answer:
                raise RuntimeError(f"{self.name} died of {line}")
            answers.append(json.loads(answer))
        teller.join()
        return answers


class Court:
    """Ours first, then the others."""

    def __init__(self):
        install()
        self.judges = [Judge("owlclaw", BUILD / "tests/schema-judge"),
                       Judge("python-jsonschema", sys.executable, HERE / "judge.py"),
                       Judge("ajv", "node", HERE / "judge.cjs")]
        self.names = [judge.name for judge in self.judges]

    def all_verdicts(self, lines):
        """For each line: for each of its instances: what each judge says."""
        with concurrent.futures.ThreadPoolExecutor(len(self.judges)) as pool:
            said = list(pool.map(lambda judge: judge.verdicts(lines), self.judges))
        return [list(zip(*of_line)) for of_line in zip(*said)]

    def first_alike(self, pairs, wanted):
        """The first pair of which the judges say what is wanted. The slow ones see only what the
        quick ones have let pass."""
        for judge, verdict in zip(self.judges[:-1], wanted):
            said = judge.verdicts([line_of(*pair) for pair in pairs])
            pairs = [pair for pair, (v,) in zip(pairs, said) if v == verdict]
        return next((pair for pair in pairs
                     if self.judges[-1].verdicts([line_of(*pair)]) == [[wanted[-1]]]), None)

    def close(self):
        for judge in self.judges:
            judge.process.stdin.close()
            judge.process.wait(10)
            if judge.process.returncode != 0:
                raise RuntimeError(f"{judge.name} ended with {judge.process.returncode}")


def line_of(schema, instance, spelling):
    """Schema and instance may differ in how they write what is not ASCII."""
    return (f'{{"schema":{write(schema, spelling & 1)},'
            f'"instances":[{write(instance, spelling & 2)}]}}')


# ---- small pairs --------------------------------------------------------------------------------


def smaller(v):
    """Values that are a little less than this one, the boldest first."""
    if isinstance(v, (dict, list)):
        keys = list(v) if isinstance(v, dict) else range(len(v))
        yield from (v[key] for key in keys if isinstance(v[key], (dict, list)))
        for key in keys:
            rest = v.copy()
            del rest[key]
            yield rest
        for key in keys:
            for less in smaller(v[key]):
                rest = v.copy()
                rest[key] = less
                yield rest
    elif not isinstance(v, bool) and v not in (None, 0, 1):
        yield from (0, 1)


def shrunk(court, pair, wanted):
    """The pair made as small as it can be while the judges say what they said."""
    while True:
        schema, instance, spelling = pair
        tries = itertools.chain(((s, instance, spelling) for s in smaller(schema)),
                                ((schema, i, spelling) for i in smaller(instance)))
        while chunk := list(itertools.islice(tries, 24)):
            found = court.first_alike(chunk, wanted)
            if found:
                pair = found
                break
        else:
            return pair


# ---- explanations -------------------------------------------------------------------------------


def keywords(schema):
    """Every keyword of the schema and its subschemas."""
    if not isinstance(schema, dict):
        return set()
    found = set(schema)
    for key, part in schema.items():
        below = (part.values() if key in MAPS else part if key in LISTS
                 else [part] if key in SINGLES else [])
        for child in below:
            found |= keywords(child)
    return found


class Known:
    """A row of known.json: a fault of another judge, and the case of the suite that proves it.

    It fits a pair whose schema has one keyword at least of each of "needs", and whose text has
    "text" somewhere. As the pair is small, it has no keyword without which the judges would agree.
    """

    def __init__(self, row):
        self.judge, self.why = row["judge"], row["why"]
        self.needs = [set(one.split("|")) for one in row["needs"]]
        self.text = re.compile(row.get("text", ""))
        self.file, self.group, self.test = row["case"]
        self.after = row.get("after")
        self.used = 0

    def fits(self, judge, pair):
        found = keywords(pair[0])
        return (judge == self.judge and all(found & one for one in self.needs)
                and self.text.search(line_of(pair[0], pair[1], 0)))

    def case(self):
        """The case that is cited, as schema, instance and verdict. With "after" it is that of an
        array of two: one that is valid, and the one of the case."""
        groups = json.loads((SUITE / self.file).read_text())
        group, = (g for g in groups if g["description"] == self.group)
        tests = {t["description"]: t for t in group["tests"]}
        schema, test = group["schema"], tests[self.test]
        if self.after is None:
            return schema, test["data"], test["valid"]
        before = tests[self.after]
        return {"items": schema}, [before["data"], test["data"]], before["valid"] and test["valid"]

    def prove(self, court):
        """On the case that is cited, too, the judge is wrong and we are right."""
        schema, instance, valid = self.case()
        said, = court.all_verdicts([line_of(schema, instance, 0)])[0]
        said = dict(zip(court.names, said))
        wanted, wrong = ("valid", "invalid") if valid else ("invalid", "valid")
        if said["owlclaw"] != wanted or said[self.judge] != wrong:
            raise RuntimeError(f"{self.file}: {self.group}: {self.test}: proves nothing: {said}")


def contradicting(names, said):
    return [name for name, v in zip(names, said) if v in VERDICTS and v != said[0]]


def explained(known, court, pair, said):
    """The rows that explain all who contradict us, or nothing if one remains."""
    if said[0] not in VERDICTS:
        return []
    rows = [next((k for k in known if k.fits(name, pair)), None)
            for name in contradicting(court.names, said)]
    return rows if None not in rows else []


# ---- the run ------------------------------------------------------------------------------------


class Run:
    def __init__(self, seed, pairs):
        self.seed, self.wanted = seed, pairs
        self.judged = self.valid = self.differences = self.unexplained = 0
        self.contradictions = collections.Counter()  # by judge
        self.silent = collections.Counter()          # by judge and beginning of the reason
        self.court = Court()
        self.known = [Known(row) for row in json.loads((HERE / "known.json").read_text())]

    def judge_all(self):
        for row in self.known:
            row.prove(self.court)
        for first in itertools.count(0, CHUNK):
            for pair, said in self.judged_pairs(first):
                if self.judged == self.wanted or self.unexplained == UNEXPLAINED:
                    return
                self.count(pair, said)

    def judged_pairs(self, first):
        """Pairs of a number of schemas, with what the judges say of each."""
        cases = [generate.case(self.seed, n, INSTANCES) for n in range(first, first + CHUNK)]
        lines = [f'{{"schema":{write(schema, n & 1)},"instances":['
                 + ",".join(write(i, n & 2) for i in instances) + "]}"
                 for n, (schema, instances) in enumerate(cases)]
        for n, verdicts in enumerate(self.court.all_verdicts(lines)):
            schema, instances = cases[n]
            for instance, said in zip(instances, verdicts):
                yield (schema, instance, n & 3), said

    def count(self, pair, said):
        silent = [(name, " ".join(v.split()[1:5])) for name, v in zip(self.court.names, said)
                  if v not in VERDICTS]
        against = contradicting(self.court.names, said)
        if silent and not against and said[0] in VERDICTS:
            self.silent.update(silent)
            return
        self.judged += 1
        self.valid += said[0] == "valid"
        if not silent and not against:
            return
        self.differences += 1
        self.contradictions.update(against)
        pair = shrunk(self.court, pair, said)
        rows = explained(self.known, self.court, pair, said)
        for row in rows:
            row.used += 1
        if not rows:
            self.unexplained += 1
            schema, instance, spelling = pair
            print(f"\nschema    {write(schema, spelling & 1)}")
            print(f"instance  {write(instance, spelling & 2)}")
            for name, verdict in zip(self.court.names, said):
                print(f"  {name:18} {verdict}", flush=True)

    def good(self):
        return (self.judged == self.wanted and self.unexplained == 0
                and self.silent.total() <= UNJUDGED * self.judged)

    def report(self, seconds):
        print(f"seed {self.seed}: {self.judged} pairs in {seconds:.0f} s, "
              f"{100 * self.valid / max(self.judged, 1):.1f} % valid, "
              f"{self.differences} differences, {self.unexplained} unexplained")
        for name, n in sorted(self.contradictions.items()):
            print(f"{n:6}  contradictions of {name}")
        for row in self.known:
            if row.used:
                print(f"{row.used:6}  {row.judge}: {row.why} ({row.file}: {row.group}: {row.test})")
        print(f"{self.silent.total():6}  further pairs without a verdict of another judge")
        for (name, reason), n in self.silent.most_common():
            print(f"{n:6}  {name}: {reason} …")


def judge(args):
    """Whether every difference is explained."""
    if not SUITE.is_dir():
        raise Skip(f"there is no {SUITE}")
    started = time.monotonic()
    run = Run(args.seed, args.pairs)
    run.judge_all()
    run.court.close()
    run.report(time.monotonic() - started)
    return run.good()


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--pairs", type=int, default=2000)
    args = parser.parse_args()
    try:
        status = "pass" if judge(args) else "fail"
    except Skip as reason:
        print(f"skipped: {reason}")
        status = "skip"
    if os.environ.get("OWLCLAW_RESULTS"):
        with open(os.environ["OWLCLAW_RESULTS"], "a", encoding="utf-8") as file:
            file.write(f"{status}\tschema/diff:three_validators_agree_on_generated_pairs\t\n")
    return 1 if status == "fail" else 0


if __name__ == "__main__":
    sys.exit(main())
