#!/usr/bin/env python3
"""No secret of a configuration is ever shown, however broken the file is.

Secrets are planted wherever files have them; then the file is damaged, in its tree or in its text,
and everything that the program prints of it is searched for pieces of the secrets. OWLCLAW_SEED is
the first seed, OWLCLAW_CASES the number of files."""

import random
import string

from config import *
from config_values import as_toml, as_yaml

SEED = int(os.environ.get("OWLCLAW_SEED", "20261118"))
CASES = int(os.environ.get("OWLCLAW_CASES", "500" if VARIANT == "normal" and REACTORS == "2"
                           else "60"))
PIECE = 8  # so many characters of a secret in a row are no accident
ALNUM = string.ascii_letters + string.digits


class Planting:
    """A tree with secrets, and the secrets."""

    def __init__(self, rng):
        self.rng, self.secrets = rng, []

    def secret(self):
        rng = self.rng
        word = lambda n, of=ALNUM: "".join(rng.choice(of) for _ in range(n))
        text = rng.choice([
            lambda: word(32, "0123456789abcdef"),
            lambda: "sk-" + word(24),
            lambda: word(22, ALNUM + "+/") + "==",
            lambda: f"{word(12)}.{word(20)}.{word(12)}",
            lambda: word(20, string.digits),
            lambda: word(24, string.ascii_lowercase),
            lambda: word(10) + " " + word(12),
        ])()
        self.secrets.append(text)
        return text

    def token(self):
        """One that looks like none but itself, so that no name need speak of it."""
        digits, letters = (self.rng.choices(of, k=n) for of, n in
                           ((string.digits, 8), (string.ascii_letters, 16)))
        word = digits + letters
        self.rng.shuffle(word)
        text = self.rng.choice(["", "", "sk-", "ghp_"]) + "".join(word)
        self.secrets.append(text)
        return text

    def env(self):
        rng = self.rng
        names = rng.sample(["A", "LEVEL", "API_TOKEN", "DB_PASS", "x.y", "REGION"], rng.randint(1, 3))
        entries = {name: self.secret() for name in names}
        return rng.choice([entries, entries, entries, self.secret(), f"A={self.secret()}",
                           [f"A={self.secret()}", self.secret()],
                           [{"name": "A", "value": self.secret()}],
                           {"A": {"value": self.secret()}}, {"A": [self.secret()]}])

    def headers(self):
        entries = {"Authorization": f"Bearer {self.secret()}", "X-Custom": self.secret()}
        return self.rng.choice([entries, entries, entries, f"Authorization: Bearer {self.secret()}",
                                [f"X-Custom: {self.secret()}"], {"X-Custom": [self.secret()]},
                                [{"X-Custom": self.secret()}], self.secret()])

    def url(self):
        return self.rng.choice([f"https://{self.token()}@h.example/mcp",
                                f"https://me:{self.token()}@h.example/mcp",
                                f"https://h.example/mcp?token={self.token()}&x=1",
                                f"htps://{self.token()}@h.example/", f"https://{self.token()}@/ x"])

    def arguments(self):
        return self.rng.choice([["--token", self.token()], [f"--api-key={self.token()}", "-v"],
                                f"--token {self.token()}", ["-H", f"Authorization: Bearer {self.token()}"],
                                {"a": "--password", "b": {"token": self.token()}}])

    def entry(self):
        rng = self.rng
        if rng.random() < 0.5:
            entry = {"url": self.url(), rng.choice(["headers"] * 4 + ["header", "Headers"]): self.headers()}
        else:
            entry = {"command": "npx", "args": self.arguments(),
                     rng.choice(["env"] * 4 + ["envs", "environment", "evn"]): self.env()}
        if rng.random() < 0.3:
            entry[rng.choice(["timeout", "enabled", "prefix", "cwd", "transport"])] = rng.choice(
                ["x y", 7, [1], {"a": "b"}, None])
        items = list(entry.items())
        rng.shuffle(items)
        return dict(items)

    def tree(self):
        rng = self.rng
        servers = {name: self.entry() for name in rng.sample(["a", "b", "c d", "e.f"], rng.randint(1, 3))}
        if rng.random() < 0.4:
            return {"theme": "dark", rng.choice(["mcpServers", "mcpServers", "servers", "mcpServer"]): servers}
        ours = {"servers": servers, "transport": rng.choice(["http", "stdio", "htpp"])}
        if rng.random() < 0.4:
            ours["state_key"] = self.secret()
        if rng.random() < 0.4:
            ours["http"] = {"port": rng.choice([1, "x", 99999]), "auth": rng.choice([
                {"api_keys": [{"name": "n", "key": self.secret()}]}, {"api_keys": [self.secret()]},
                {"api_keys": self.secret()}, self.secret(), {"api_keys": [{"keys": self.secret()}]}])}
        if rng.random() < 0.3:
            ours["store"] = {"url": f"postgresql://u:{self.token()}@h/d"}
        if rng.random() < 0.3:
            ours["tracing"] = {"headers": self.headers(), "enabled": "maybe"}
        return {"mcp_server": ours}


def flat_json(tree):
    """A member a line, without indentation."""
    return re.sub("(?m)^ +", "", json.dumps(tree, indent=2))


FORMS = {"a.json": lambda t: json.dumps(t, indent=2), "b.json": flat_json, "c.json": json.dumps,
         "d.json": lambda t: json.dumps(t, separators=(",", ":")), "a.yaml": as_yaml,
         "b.yaml": lambda t: json.dumps(t, indent=1), "a.toml": as_toml}


def damaged(rng, text):
    """The text with a slip of the hand or two, or as it was."""
    for _ in range(rng.choice([0, 1, 1, 1, 2, 3])):
        at = rng.randrange(len(text))
        marks = [i for i, c in enumerate(text) if c in "{}[]\",:=\n'"]
        lines = text.split("\n")
        row = rng.randrange(len(lines))
        at = rng.choice(marks) if marks and rng.random() < 0.7 else at
        kind = rng.randrange(8)
        if kind < 2:
            text = text[:at] + text[at + 1:]
        elif kind == 2:
            text = text[:at] + rng.choice("{}[]\",:=#'\n\t-&*!|") + text[at:]
        elif kind == 3:
            text = text[:at] + rng.choice("{}[]\",:=;\n \\") + text[at + 1:]
        elif kind == 4:
            text = text[:at] or "{"
        elif kind == 5:
            text = "\n".join(lines[:row] + [lines[row]] + lines[row:])
        elif kind == 6:
            text = "\n".join(lines[:row] + [" " * rng.randint(0, 9) + lines[row].lstrip()] + lines[row + 1:])
        else:
            text = "\n".join(lines[:row] + lines[row + 1:])
        text = text or "{"
    return text


def pieces(secret):
    return {secret[i:i + PIECE] for i in range(len(secret) - PIECE + 1)}


@test("", timeout=110)
def planted_secrets_are_never_shown():
    faults, leaks = 0, []
    with Box() as box:
        defaults = box.config("show").out  # have numbers that a secret may hold by chance
        for seed in range(SEED, SEED + CASES):
            rng = random.Random(seed)
            planting = Planting(rng)
            tree = planting.tree()
            name = rng.choice(list(FORMS))
            text = damaged(rng, FORMS[name](tree))
            box.write(name, text)
            told = ""
            for words in (["validate", "--config", name], ["validate", "--json", "--config", name],
                          ["show", "--config", name]):
                done = subprocess.run([PROGRAM, "mcp-server", "config", *words], cwd=box.folder,
                                      capture_output=True, timeout=seconds(20),
                                      env={"HOME": str(box.home), "PATH": os.environ["PATH"]})
                check(done.returncode in (0, 1), f"seed {seed}: {done.returncode} {done.stderr}")
                told += (done.stdout + done.stderr).decode(errors="replace")
            faults += told.count('"severity":')
            seen = sorted(p for s in planting.secrets for p in pieces(s) if p in told
                          and p not in defaults)
            if seen:
                leaks.append(f"seed {seed}: {seen[0]!r} of {name}\n{text}\nis in\n{told}")
    check(not leaks, f"{len(leaks)} of {CASES} files leak:\n" + "\n".join(leaks[:3]))
    check(faults >= CASES, f"{faults} faults in {CASES} files")


main()
