"""Values for keys of configurations, drawn from the published schema, and what they mean."""

import fractions
import json
import pathlib
import re

SCHEMA = json.loads((pathlib.Path(__file__).resolve().parent.parent.parent /
                     "src/config/schema.json").read_text())

# Texts that readers and writers may stumble over.
TEXTS = ["x", "no", "012", "1e3", "null", "~", "a b", " a ", "\n", "\t#", "'", '"', "\\", "-", "- a",
         "a: b", "#a", "ä\U0001f600\u2028", "[", "{a}", "%", "@", "|", ">", "a,b", "$", "$$", "}", "é",
         "2026-07-28", "0x1f", ".5", "=", "<<", "*a", "&a", "!a", "a\r\nb", "\x7f", "true", "."]


def element(*path):
    """The pattern of the elements of a list of `http`."""
    key = {"properties": SCHEMA["$defs"]["http"]["properties"]}
    for name in path:
        key = key["properties"][name]
    return key["items"]["else"]["pattern"]


# What fits the patterns of the schema: a pattern that is not here is one that nobody has tested.
FITTING = {
    SCHEMA["$defs"]["url"]["else"]["pattern"]: ["https://a.example/mcp", "http://127.0.0.1:1/x?y=z#f"],
    r"^postgres(ql)?://": ["postgresql://h/d", "postgres://u:p@h:1/d"],
    r"^[0-9A-Fa-f]{64}$": ["0123456789abcdef" * 4, "F" * 64, "0" * 64],
    r"^[A-Z]{3}$": ["USD", "CNY", "EUR"],
    r"^[A-Za-z0-9_-]{1,8}$": ["__", "-", "0", "abcdefgh"],
    r"^[A-Za-z0-9_-]{1,64}$": ["gh", "0", "a-b_c", "no"],
    r"^[A-Za-z0-9_.-]{1,128}$": ["t", "a.b", "0", "on", "x" * 128],
    r"^[^:\u0000-\u001f\u007f]{1,64}$": ["s", "a b", "ü", "1", "null", "a.b", "#", "x" * 64],
    r"^[^=\u0000]+$": ["A", "a.b", "1", "Ä", "A B"],
    r"^[!#$%&'*+.^_`|~0-9A-Za-z-]+$": ["X-A", "0", "null", "~"],
    r"^[^\r\n\u0000]*$": ["", "Bearer x", "ä", "a: b #c"],
    element("cors", "allowed_origins"): ["*", "https://a.example", "http://[::1]:3000"],
    element("allowed_hosts"): ["*", "a.example", "[::1]", "a:80", "no"],
    element("trusted_proxies"): ["unix", "10.0.0.1", "10.0.0.0/8", "::/0", "2001:db8::/32"],
}
TIMES = [("ms", 1), ("s", 1000), ("sec", 1000), ("m", 60_000), ("min", 60_000), ("h", 3_600_000)]
SIZES = [("", 1), ("B", 1), ("K", 1000), ("kB", 1000), (" KiB", 1024), ("MiB", 1 << 20), ("Mb", 10**6)]


def resolve(key):
    """A key with all that it refers to, as it must be in the end: no variable."""
    while True:
        if "$ref" in key:
            found = SCHEMA
            for step in key["$ref"].removeprefix("#/").split("/"):
                found = found[step]
            key = {**found, **{name: value for name, value in key.items() if name != "$ref"}}
        elif key.get("if") == {"$ref": "#/$defs/variable"}:
            strict = {name: value for name, value in key.items() if name not in ("if", "else")}
            key = {**key["else"], **strict, "strict": True}
        else:
            return key


def keys(key, path=()):
    """Every key beneath one with its path; "*" is an entry of a list or a map."""
    key = resolve(key)
    for name, member in key.get("properties", {}).items():
        yield (*path, name), resolve(member)
        yield from keys(member, (*path, name))
    for keyword in ("additionalProperties", "items"):
        if isinstance(key.get(keyword), dict):
            yield from keys(key[keyword], (*path, "*"))


def tidy(number):
    """A fraction as JSON has it."""
    return int(number) if number == int(number) else float(number)


class Drawing:
    """Draws values; `seen` collects the paths of the keys that got one."""

    def __init__(self, rng, often=0.5):
        self.rng, self.often, self.seen = rng, often, set()

    def value(self, key, path=()):
        """A value for a key, and what it becomes: (written, meant)."""
        key = resolve(key)
        self.seen.add(path)
        if "enum" in key:
            return self.same(self.rng.choice(key["enum"]))
        if "x-unit" in key:
            return self.amount(key)
        kind = key.get("type", "string")
        if isinstance(kind, list):
            return self.same(self.rng.choice([False, "p", "q-1"] if kind == ["string", "boolean"]
                                             else ["t", 3, 0.5, True]))
        return getattr(self, kind)(key, path)

    @staticmethod
    def same(value):
        return value, value

    def boolean(self, key, path):
        return self.same(self.rng.random() < 0.5)

    def integer(self, key, path):
        low, high = key.get("minimum", 0), key.get("maximum", 10**12)
        return self.same(self.rng.choice([low, high, self.rng.randint(low, high),
                                          min(high, low + self.rng.randint(0, 100))]))

    def number(self, key, path):
        low, high = key.get("minimum", 0), key.get("maximum", 10**6)
        return self.same(self.rng.choice([low, high, low + (high - low) * self.rng.randint(1, 7) / 8]))

    def string(self, key, path):
        if "pattern" in key:
            texts = FITTING[key["pattern"]]
        else:
            least, most = key.get("minLength", 0), key.get("maxLength", 300)
            if "strict" not in key and self.rng.random() < 0.1:
                return self.same("a$${b}" + "c" * least)
            texts = [t + "x" * max(0, least - len(t)) for t in TEXTS] + ["x" * most]
            refused = [part["not"]["pattern"] for part in key.get("allOf", []) if "not" in part]
            texts = [t for t in texts if not any(re.search(p, t) for p in refused)]
        return self.same(self.rng.choice(texts))

    def amount(self, key):
        """A number, or a text with units."""
        unit = key["x-unit"]
        low, high = key.get("minimum", 0), key["maximum"]
        ends = fractions.Fraction(str(low)), fractions.Fraction(str(high))
        number = self.rng.choice([low, high])
        if self.rng.random() < 0.3:
            return self.same(number)
        units = SIZES[1:] if unit == "bytes" else TIMES
        for _ in range(40):
            name, size = self.rng.choice(units)
            count = fractions.Fraction(self.rng.choice(["1", "2", "7", "30", "100", "500", "1.5", "0.25"]))
            total = count * size / (1000 if unit == "seconds" else 1)
            text = f"{tidy(count)}{name}"
            fine = total * 1000 if unit == "seconds" else total
            if ends[0] <= total <= ends[1] and fine == int(fine):
                return text, tidy(total)
        return self.same(number)

    def array(self, key, path):
        item = key.get("items", {"type": "string"})
        n = self.rng.randint(key.get("minItems", 0), 3)
        pairs = [self.value(item, (*path, "*")) for _ in range(n)]
        return [w for w, _ in pairs], [m for _, m in pairs]

    def object(self, key, path):
        written, meant = {}, {}
        members = key.get("properties")
        if members is None and isinstance(key.get("additionalProperties"), dict):
            names = resolve(key.get("propertyNames", {})).get("pattern")
            names = FITTING[names] if names else TEXTS
            chosen = self.rng.sample(names, self.rng.randint(0, min(3, len(names))))
            members = {name: key["additionalProperties"] for name in chosen}
            for name, member in members.items():
                written[name], meant[name] = self.value(member, (*path, "*"))
            return written, meant
        if members is None:  # free: whatever JSON and TOML both have
            return self.same(self.rng.choice([{}, {"type": "object"}, {"a": [1, {"b": [True, "x"]}], "ü": 0.5}]))
        for name, member in members.items():
            wanted = name in key.get("required", ()) or self.rng.random() < self.often
            if wanted and self.allowed(path, name, written):
                written[name], meant[name] = self.value(member, (*path, name))
        for name, member in self.demanded(path, written):
            written[name], meant[name] = self.value(members[name], (*path, name)) if member is None else (member, member)
        return written, meant

    # What keys demand of one another. The schema says it with "allOf", which cannot be drawn from.

    def allowed(self, path, name, written):
        """Whether a member may stand beside those that are there."""
        if name == "url" and path == ("store",):
            return False  # refused, as long as there is no PostgreSQL
        if name in ("command", "url", "transport") and path[:1] == ("servers",):
            return False
        if name == "key_sha256" and "key" in written:
            return False
        return not (name in ("env", "args", "cwd", "env_file", "prefix") and path == ("servers", "*")
                    and self.rng.random() < 0.3)

    def demanded(self, path, written):
        """Members that are needed now: names and values, None for any."""
        def need(*names):
            return [(name, None) for name in names if name not in written]
        if path == ("http", "tls"):
            yield from need("cert_file", "key_file") if written.get("enabled") else ()
            yield from need("client_ca_file") if written.get("verify_client") else ()
        elif path == ("http", "auth", "jwt") and {"issuer", "audience", "jwks_url"} & set(written):
            yield from need("issuer", "audience")
        elif path == ("http", "auth", "api_keys", "*") and not {"key", "key_sha256"} & set(written):
            yield from need("key")
        elif path == ("governance", "rules", "*") and not {"tools", "resources"} & set(written):
            yield from need("tools")
        elif path == ("servers", "*"):
            yield self.rng.choice(["command", "url"]), None
            if "prefix" in written:
                yield "prefix", False  # so that no two servers have the same
        elif path == ("http",) and "host" in written:
            yield "host", self.rng.choice(["127.0.0.1", "::1", "localhost", "127.1.2.3"])
        elif path == ("logging",) and "output" in written:
            yield "output", self.rng.choice(["stderr", "/var/log/owlclaw", "a b.log"])

    def tree(self):
        """A whole mcp_server."""
        written, meant = self.value(SCHEMA["properties"]["mcp_server"])
        for name, server in written.get("servers", {}).items():
            fits = ["stdio"] if "command" in server else ["http", "sse"]
            if self.rng.random() < self.often:
                self.seen.add(("servers", "*", "transport"))
                server["transport"] = meant["servers"][name]["transport"] = self.rng.choice(fits)
        return written, meant


# ---- the forms of a file ------------------------------------------------------------------------


def quoted(text):
    """A text as JSON, YAML and TOML all have it."""
    signs = {'"': '\\"', "\\": "\\\\", "\n": "\\n", "\r": "\\r", "\t": "\\t"}
    return '"' + re.sub(r'["\\\x00-\x1f\x7f\u2028]',
                        lambda m: signs.get(m[0], f"\\u{ord(m[0]):04x}"), text) + '"'


def inline(value, sign):
    """A value in one line."""
    if isinstance(value, dict):
        return "{" + ", ".join(f"{quoted(k)}{sign}{inline(v, sign)}" for k, v in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(inline(v, sign) for v in value) + "]"
    return quoted(value) if isinstance(value, str) else json.dumps(value)


def as_json(tree):
    return inline(tree, ": ")


def as_yaml(tree, indent=""):
    """Blocks, with lists of maps as people write them."""
    lines = []
    for name, value in tree.items():
        if isinstance(value, dict) and value:
            lines += [f"{indent}{quoted(name)}:", as_yaml(value, indent + "  ")]
        elif isinstance(value, list) and value and all(isinstance(e, dict) and e for e in value):
            lines.append(f"{indent}{quoted(name)}:")
            for element in value:
                text = as_yaml(element, indent + "  ")
                lines.append(f"{indent}- {text.removeprefix(indent + '  ')}")
        else:
            lines.append(f"{indent}{quoted(name)}: {inline(value, ': ')}")
    return "\n".join(lines)


def as_toml(tree, path=()):
    """Tables and tables of lists; what is deeper is inline."""
    lines, later = [], []
    for name, value in tree.items():
        here = (*path, name)
        head = ".".join(quoted(step) for step in here)
        if isinstance(value, dict) and len(here) < 4:
            later += [f"[{head}]", as_toml(value, here)]
        elif isinstance(value, list) and value and all(isinstance(e, dict) for e in value) and len(here) < 4:
            for element in value:
                later += [f"[[{head}]]", as_toml(element, here)]
        else:
            lines.append(f"{quoted(name)} = {inline(value, ' = ')}")
    return "\n".join(lines + later)
