#!/usr/bin/env python3
"""Every mistake of tests/config/broken is told with its place, what is wrong and what would be right.

The format of the expectations is told in tests/config/broken/README.md. With the number or name of
a folder as an argument only that one is looked at, and what the program says is shown."""

from config import *

FOLDER = ROOT / "tests/config/broken"
LINE = re.compile(r"(?P<file>[^:]+)(?::(?P<line>\d+):(?P<column>\d+|\*))?: "
                  r"(?P<severity>error|warning): (?P<patterns>.+)")
LATER = re.compile("this build")  # a warning about a feature that is still to come


class Case:
    def __init__(self, folder):
        self.folder = folder
        self.config, self.env, self.faults = None, {}, []
        for line in (folder / "expected.txt").read_text().splitlines():
            if line.startswith("# config: "):
                self.config = line.removeprefix("# config: ")
            elif line.startswith("# env: "):
                name, _, value = line.removeprefix("# env: ").partition("=")
                self.env[name] = value
            else:
                fault = LINE.fullmatch(line)
                check(fault, f"{folder.name}/expected.txt: what is {line!r}?")
                self.faults.append(fault)
        if self.config is None:
            files = sorted(p.name for p in folder.iterdir() if p.name != "expected.txt")
            equal(len(files), 1, f"files of {folder.name} without a line '# config:'")
            self.config = files[0]

    def run(self):
        """The faults that the program tells, and its exit status."""
        faults, status = validate(self.folder, self.config, self.env)
        return [f for f in faults if not LATER.search(f["message"])], status

    def complaints(self):
        """How the program falls short of the expectation."""
        found, status = self.run()
        for expected, got in zip(self.faults, found):
            yield from compare(expected, got)
        for expected in self.faults[len(found):]:
            yield f"not told: {expected[0]}"
        for got in found[len(self.faults):]:
            yield f"needlessly told: {sentence(got)}"
        wanted = 1 if any(f["severity"] == "error" for f in self.faults) else 0
        if status != wanted:
            yield f"the exit status is {status} instead of {wanted}"


def compare(expected, got):
    right = where(got) == expected["file"] and got["severity"] == expected["severity"]
    if expected["line"]:
        right = right and got.get("line") == int(expected["line"])
        right = right and expected["column"] in ("*", str(got.get("column")))
    words = f"{got['message']}\n{got.get('hint', '')}"
    missing = [p for p in expected["patterns"].split(" && ")
               if not re.search(p, words, re.IGNORECASE | re.DOTALL)]
    if not right or missing:
        yield f"expected {expected[0]}\n         got      {sentence(got)}"


def cases():
    return [Case(p) for p in sorted(FOLDER.iterdir()) if p.is_dir()]


@test()
def expectations_can_be_read():
    check(len(cases()) >= 60, "there are sixty of them")
    for case in cases():
        check(case.faults, f"{case.folder.name} expects something")
        for fault in case.faults:
            for pattern in fault["patterns"].split(" && "):
                re.compile(pattern)


@test("OR-10.4", timeout=120)
def every_mistake_is_told_where_it_is():
    need_program()
    complaints = []
    for case in cases():
        complaints += [f"{case.folder.name}: {c}" for c in case.complaints()]
    check(not complaints, f"{len(complaints)} of them:\n" + "\n".join(complaints))


if len(sys.argv) > 1:
    for case in cases():
        if any(word in case.folder.name for word in sys.argv[1:]):
            print(case.folder.name, *case.complaints(), *map(sentence, case.run()[0]), sep="\n  ")
else:
    main()
