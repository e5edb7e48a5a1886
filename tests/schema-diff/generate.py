"""Makes schemas of 2020-12, and instances that are often valid, from a seed.

Numbers are exact in a double. Nothing loops: where a subschema sees the same value as its parent,
references lead forward only; where it sees a part of it, they lead anywhere.

Left out is what another judge takes wrongly and no case of the official suite decides: the dot and
the line feed before "$" in patterns, the empty name in "required" (ajv), and "$dynamicRef" where
the root has no "$id" (python-jsonschema)."""

import json
import random


class Spelled(float):
    """A number that is written like this."""

    def __new__(cls, text):
        self = super().__new__(cls, text)
        self.text = text
        return self


def write(v, ascii_only):
    """JSON text."""
    if isinstance(v, dict):
        return "{" + ",".join(f"{write(k, ascii_only)}:{write(e, ascii_only)}"
                              for k, e in v.items()) + "}"
    if isinstance(v, list):
        return "[" + ",".join(write(e, ascii_only) for e in v) + "]"
    return v.text if isinstance(v, Spelled) else json.dumps(v, ensure_ascii=ascii_only)


NAMES = ["a", "b", "c", "ab", "foo", "", "é", "🦉", "a/b", "m~n", "1"]
ODD_NAMES = ["__proto__", "toString", "constructor", "a%b", "\"q\"", "$ref", "const"]
CHARACTERS = ["a", "b", "A", "Z", "0", "7", "_", "-", " ", "é", "世", "🦉", "e\u0301", "\u07c0"]
NUMBERS = [0, 1, 2, 3, 5, 10, -1, -3, 0.5, 1.5, -0.25, 2.75, 1.0, 3.0, 100, 2**40, -0.0,
           *(Spelled(text) for text in ("1e0", "30e-1", "5E-1", "1E+2", "-0", "100e-2", "0.50"))]
DIVISORS = [1, 2, 3, 5, 0.5, 0.25, 1.5, 10, 2.0]
TYPES = ["null", "boolean", "integer", "number", "string", "array", "object"]
BASE = "https://example.com/schemas/"

# A pattern, and strings that it finds.
PATTERNS = {"^a": ["a", "ab", "a/b"], "b$": ["b", "ab"], "^[a-c]+$": ["a", "abc", "cab"],
            "o{2}": ["foo", "oo"], "^(?:foo|ab)$": ["foo", "ab"], "[^a-z]": ["é", "A", "7"],
            "^$": [""], "^[^a]{1,2}$": ["🦉", "🦉b", "b"], "🦉+": ["🦉", "a🦉🦉"],
            "^(?!a)[\\s\\S]*$": ["b", "", "foo"], "\\bfoo\\b": ["foo", "- foo"],
            "(a)\\1": ["aa", "baa"], "^\\u00e9|🦉$": ["é", "🦉"], "\\/": ["a/b"]}
ODD_PATTERNS = {"^\\d+$": ["0", "7\u07c0"], "\\D": ["a", "\u07c0"], "\\w": ["a", "é"],
                "^\\W$": ["-", "é"], "\\s": [" ", "\ufeff"], "^\\S$": ["\ufeff", "a"],
                "^\\p{L}+$": ["a", "éZ", "世"]}


class Document:
    """A schema in the making: its definitions, and the references between them."""

    def __init__(self, dice):
        self.dice = dice
        self.targets = {}  # id of an object: itself, and the schema that its reference leads to
        self.later = []    # objects whose "$ref" may lead to any place of the root resource
        self.dynamic = dice.random() < 0.1
        self.identified = self.dynamic or dice.random() < 0.3
        self.links = []    # per definition: the ways to write a reference to it, and the schema
        self.inner = None  # within an embedded resource: its links
        self.node = True   # what "#node" is in the root resource
        self.root = self.make()

    def target(self, schema):
        """What the reference of a schema leads to, or None."""
        return self.targets.get(id(schema), (None, None))[1]

    def chance(self, p):
        return self.dice.random() < p

    def make(self):
        names = self.dice.sample(["d", "e/f", "g~h", "i%j", "é", "const"], self.dice.randint(0, 3))
        definitions = {name: {} for name in names}
        for i, name in enumerate(names):
            self.links.append(self.link(i, name, definitions))
        for i, name in reversed(list(enumerate(names))):
            self.adopt(definitions[name], self.embedded(i) if self.links[i][2] else
                       self.object_schema(2, i + 1))
        root = self.schema(3, 0)
        if isinstance(root, bool):
            return root
        if self.identified:
            root["$id"] = BASE + "root.json"
        if self.dynamic:
            own = [head for _, head, uri in self.links if not uri and "$anchor" not in head]
            self.node = self.dice.choice([root, root, *own])
            self.node["$anchor" if self.chance(0.15) else "$dynamicAnchor"] = "node"
        if definitions:
            root["$defs"] = definitions
        for place in self.later:
            pointer, target = self.dice.choice(list(places(root)))
            if self.reaches(target, place):
                pointer, target = "", root
            place["$ref"] = "#" + pointer
            self.targets[id(place)] = (place, target)
        return root

    def reaches(self, schema, place):
        """Whether a value that obeys the schema is judged by the other one too."""
        if schema is place or not isinstance(schema, dict):
            return schema is place
        beneath = [*schema.get("allOf", []), *schema.get("anyOf", []), *schema.get("oneOf", []),
                   *schema.get("dependentSchemas", {}).values(), self.target(schema),
                   *(schema.get(key) for key in ("not", "if", "then", "else"))]
        return any(self.reaches(part, place) for part in beneath)

    def adopt(self, head, body):
        """Moves a schema into an object that is referred to already."""
        if id(body) in self.targets:
            self.targets[id(head)] = (head, self.target(body))
        self.later = [head if place is body else place for place in self.later]
        head.update(body)

    def link(self, i, name, definitions):
        """How a definition is referred to: texts, schema, and the $id of an embedded resource."""
        head = definitions[name]
        escaped = name.replace("~", "~0").replace("/", "~1").replace("%", "%25")
        if self.chance(0.5 if self.dynamic else 0.2):
            uri = f"{BASE}{i}/item.json"
            head["$id"] = f"{i}/item.json" if self.identified else uri
            return ([head["$id"], uri] if self.identified else [uri], head, uri)
        texts = ["#/$defs/" + escaped]
        if self.chance(0.3):
            head["$anchor"] = f"A{i}"
            texts.append(f"#A{i}")
        if self.identified:
            texts += ["root.json" + texts[0], BASE + "root.json" + texts[-1]]
        return (texts, head, None)

    def embedded(self, i):
        """The body of a definition that is a resource of its own."""
        uri, part = self.links[i][2], {}
        texts = ["#/$defs/p", uri + "#/$defs/p", "item.json#P"]
        self.inner = [(texts, part, None), ([uri, "#", "item.json"], self.links[i][1], None)]
        self.adopt(part, self.object_schema(1, 2))
        part["$anchor"] = "P"
        body = self.object_schema(2, 2)
        if self.dynamic and self.chance(0.7):
            (part if self.chance(0.3) else body)["$dynamicAnchor"] = "node"
            self.add_dynamic_reference(body, uri)
        body["$defs"] = {"p": part}
        self.inner = None
        return body

    def add_dynamic_reference(self, body, uri):
        text = "#node" if self.chance(0.95) else uri + "#node"
        body[self.dice.choice(["items", "additionalProperties", "unevaluatedProperties"])] = {
            "$dynamicRef": text}

    # ---- schemas --------------------------------------------------------------------------------

    def schema(self, depth, first, apart=False):
        """A schema whose references lead to definitions from @first on, or to any of them if it is
        for a part of the value."""
        if self.chance(0.08):
            return self.chance(0.7)
        s = {}
        kind = self.dice.choice(["number", "string", "array", "object", "array", "object", "any"])
        if depth == 0:
            kind = self.dice.choice(["number", "string", "any"])
        if self.chance(0.35):
            s.update(self.types(kind))
        for _ in range(self.dice.choice([1, 1, 2, 3])):
            getattr(self, "add_" + kind)(s, depth)
        if depth > 0 and self.chance(0.4):
            self.add_combination(s, lambda: self.schema(depth - 1, first))
        if self.chance(0.35 if self.dynamic else 0.2):
            self.add_reference(s, first, apart)
        if depth > 1 and self.chance(0.25):
            self.add_unevaluated(s, depth)
        return s

    def object_schema(self, depth, first):
        schema = self.schema(depth, first)
        return {"not": {}} if schema is False else {} if schema is True else schema

    def part(self, depth):
        return self.schema(max(depth, 0), 0, apart=True)

    def types(self, kind):
        own = {"number": ["number", "integer"], "string": ["string"], "array": ["array"],
               "object": ["object"], "any": TYPES}[kind]
        if self.chance(0.3):
            return {"type": list(dict.fromkeys([self.dice.choice(own), self.dice.choice(TYPES)]))}
        return {"type": self.dice.choice(own)}

    def add_reference(self, s, first, apart):
        links = self.inner if self.inner is not None else self.links
        links = links if apart else links[first:]
        if apart and self.inner is None and self.chance(0.2):
            s["$ref"] = ""
            self.later.append(s)
        elif apart and self.dynamic and self.inner is None and self.chance(0.5):
            s["$dynamicRef"] = "#node"
        elif links:
            texts, target, _ = self.dice.choice(links)
            s["$ref"] = self.dice.choice(texts)
            self.targets[id(s)] = (s, target)

    def add_any(self, s, depth):
        values = [value(self.dice, 1) for _ in range(self.dice.randint(1, 4))]
        if self.chance(0.6):
            s["enum"] = list({json.dumps(v): v for v in values}.values())
        else:
            s["const"] = values[0]

    def add_number(self, s, depth):
        key = self.dice.choice(["minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum",
                                "multipleOf"])
        s[key] = self.dice.choice(DIVISORS if key == "multipleOf" else NUMBERS)

    def add_string(self, s, depth):
        key = self.dice.choice(["minLength", "maxLength", "pattern", "pattern"])
        s[key] = self.pattern() if key == "pattern" else self.size(key, 3)

    def pattern(self):
        return self.dice.choice(list(ODD_PATTERNS if self.chance(0.04) else PATTERNS))

    def size(self, key, most):
        n = self.dice.randint(0, most) + (1 if key.startswith("max") else 0)
        return float(n) if self.chance(0.1) else n

    def name(self):
        return self.dice.choice(ODD_NAMES if self.chance(0.02) else NAMES)

    def names(self, most):
        return list(dict.fromkeys(self.name() for _ in range(self.dice.randint(1, most))))

    def demanded(self):
        """Names of properties, but for the empty one."""
        return [name for name in self.names(2) if name] or ["foo"]

    def add_array(self, s, depth):
        key = self.dice.choice(["items", "prefixItems", "contains", "minItems", "maxItems",
                                "uniqueItems"])
        if key == "uniqueItems":
            s[key] = self.chance(0.8)
        elif key in ("minItems", "maxItems"):
            s[key] = self.size(key, 2)
        elif key == "prefixItems":
            s[key] = [self.part(depth - 1) for _ in range(self.dice.randint(1, 3))]
        else:
            s[key] = self.part(depth - 1)
        for bound in ("minContains", "maxContains"):
            if key == "contains" and self.chance(0.3):
                s[bound] = self.size(bound, 2)

    def add_object(self, s, depth):
        key = self.dice.choice([
            "properties", "properties", "patternProperties", "additionalProperties",
            "propertyNames", "required", "dependentRequired", "dependentSchemas", "minProperties",
            "maxProperties"])
        if key == "properties":
            s[key] = {name: self.part(depth - 1) for name in self.names(3)}
        elif key == "patternProperties":
            s[key] = {self.pattern(): self.part(depth - 1) for _ in range(self.dice.choice([1, 2]))}
        elif key == "dependentSchemas":
            s[key] = {name: self.schema(depth - 1, 99) for name in self.names(2)}
        elif key == "dependentRequired":
            s[key] = {name: self.demanded() for name in self.names(2)}
        elif key == "required":
            s[key] = self.demanded()
        elif key in ("minProperties", "maxProperties"):
            s[key] = self.size(key, 2)
        elif key == "propertyNames":
            s[key] = {"pattern": self.pattern()} if self.chance(0.5) else {"maxLength": 2}
        else:
            s[key] = False if self.chance(0.3) else self.part(depth - 1)

    def add_unevaluated(self, s, depth):
        """Often next to branches that do little but evaluate."""
        key = self.dice.choice(["unevaluatedItems", "unevaluatedProperties"])
        s[key] = False if self.chance(0.6) else self.part(depth - 1)
        if self.chance(0.5):
            self.add_combination(s, lambda: self.evaluating(key))

    def evaluating(self, key):
        part = True if self.chance(0.6) else self.part(0)
        if key == "unevaluatedItems":
            return self.dice.choice([{"prefixItems": [part]}, {"prefixItems": [True, part]},
                                     {"contains": part}, {"items": part}])
        return self.dice.choice([{"properties": {name: part for name in self.names(2)}},
                                 {"patternProperties": {self.pattern(): part}},
                                 {"properties": {self.name(): part}, "required": ["a"]}])

    def add_combination(self, s, branch):
        key = self.dice.choice(["allOf", "anyOf", "oneOf", "not", "if", "if"])
        if key in ("allOf", "anyOf", "oneOf"):
            s[key] = [branch() for _ in range(self.dice.randint(1, 3))]
        elif key == "not":
            s[key] = branch()
        for part in ("if", "then", "else"):
            if key == "if" and self.chance(0.75):
                s[part] = branch()


# ---- values -------------------------------------------------------------------------------------


def text(dice):
    return "".join(dice.choice(CHARACTERS) for _ in range(dice.choice([0, 1, 1, 2, 3, 5])))


def value(dice, depth):
    """Any value, of little depth."""
    kind = dice.choice(["null", "boolean", "number", "number", "string", "string"]
                       + ["array", "object"] * (2 if depth > 0 else 0))
    if kind == "null":
        return None
    if kind == "boolean":
        return dice.random() < 0.5
    if kind == "number":
        return dice.choice(NUMBERS)
    if kind == "string":
        return dice.choice(NAMES) if dice.random() < 0.5 else text(dice)
    items = [value(dice, depth - 1) for _ in range(dice.randint(0, 3))]
    return items if kind == "array" else {dice.choice(NAMES): item for item in items}


class Sampler:
    """Tries to make a valid instance: it goes along with the keywords that it understands."""

    def __init__(self, document):
        self.document = document
        self.dice = document.dice

    def gather(self, schema, found, depth=0):
        """The schemas that the same value shall obey."""
        if not isinstance(schema, dict) or depth > 6:
            return found
        found.append(schema)
        for part in schema.get("allOf", []):
            self.gather(part, found, depth + 1)
        for key in ("anyOf", "oneOf"):
            if key in schema:
                n = self.dice.randint(1, len(schema[key])) if key == "anyOf" else 1
                for part in self.dice.sample(schema[key], n):
                    self.gather(part, found, depth + 1)
        if "if" in schema:
            branch = ("if", "then") if self.dice.random() < 0.5 else ("else",)
            for key in branch:
                self.gather(schema.get(key, True), found, depth + 1)
        if "$dynamicRef" in schema:
            self.gather(self.document.node, found, depth + 1)
        return self.gather(self.document.target(schema), found, depth + 1)

    def sample(self, schema, depth=4):
        obeyed = self.gather(schema, [])
        for s in obeyed:
            if "const" in s:
                return s["const"]
            if "enum" in s:
                return self.dice.choice(s["enum"])
        kinds = set(TYPES)
        for s in obeyed:
            if "type" in s:
                asked = s["type"] if isinstance(s["type"], list) else [s["type"]]
                kinds &= set(asked) | ({"integer"} if "number" in asked else set())
        kind = self.dice.choice(sorted(kinds or TYPES))
        if len(kinds) > 2 and self.dice.random() < 0.8:
            kind = self.kind_of(obeyed) or kind
        if depth == 0 or kind in ("null", "boolean"):
            return {"null": None, "boolean": self.dice.random() < 0.5, "array": [],
                    "object": {}}.get(kind, 0)
        return getattr(self, kind)(obeyed, depth - 1)

    def kind_of(self, obeyed):
        """The type that the keywords are about."""
        signs = {"properties": "object", "required": "object", "additionalProperties": "object",
                 "patternProperties": "object", "items": "array", "prefixItems": "array",
                 "contains": "array", "minItems": "array", "pattern": "string",
                 "minLength": "string", "minimum": "number", "multipleOf": "number",
                 "unevaluatedProperties": "object", "unevaluatedItems": "array",
                 "minProperties": "object", "propertyNames": "object"}
        kinds = sorted({signs[key] for s in obeyed for key in s if key in signs})
        return self.dice.choice(kinds) if kinds else None

    def least(self, obeyed, keyword, otherwise):
        return int(max([s[keyword] for s in obeyed if keyword in s], default=otherwise))

    def most(self, obeyed, keyword, otherwise):
        return int(min([s[keyword] for s in obeyed if keyword in s], default=otherwise))

    def number(self, obeyed, depth):
        pool = list(NUMBERS)
        for s in obeyed:
            for key in ("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"):
                if key in s:
                    pool += [s[key], s[key] + 1, s[key] - 1] * 3
            if "multipleOf" in s:
                pool = [x for x in pool if x % s["multipleOf"] == 0] or pool
        return self.dice.choice(pool)

    def integer(self, obeyed, depth):
        found = self.number(obeyed, depth)
        return found if found == int(found) else int(found)

    def string(self, obeyed, depth):
        found = [s["pattern"] for s in obeyed if "pattern" in s]
        result = self.dice.choice(example(found[0])) if found else text(self.dice)
        while len(result) < self.least(obeyed, "minLength", 0):
            result += self.dice.choice(CHARACTERS)
        return result[:max(self.most(obeyed, "maxLength", 99), 0)]

    def array(self, obeyed, depth):
        if self.dice.random() < 0.03:  # longer than what is ordinary
            return self.dice.sample([n / 4 for n in range(100)], self.dice.choice([9, 10, 65, 70]))
        n = max(self.least(obeyed, "minItems", 0), self.dice.randint(0, 3))
        n = min(n, self.most(obeyed, "maxItems", 99))
        items = []
        for i in range(n):
            choices = [s["prefixItems"][i] if i < len(s.get("prefixItems", [])) else s["items"]
                       for s in obeyed
                       if "items" in s or i < len(s.get("prefixItems", []))]
            choices = choices or [s[key] for s in obeyed for key in ("contains", "unevaluatedItems")
                                  if key in s]
            items.append(self.sample(self.dice.choice(choices), depth) if choices
                         else value(self.dice, 1))
        return items

    def object(self, obeyed, depth):
        schemas = {name: part for s in obeyed for name, part in s.get("properties", {}).items()}
        names = [name for s in obeyed for name in s.get("required", [])]
        names += [name for name in schemas if self.dice.random() < 0.6]
        for s in obeyed:
            for pattern, part in s.get("patternProperties", {}).items():
                name = self.dice.choice(example(pattern))
                schemas.setdefault(name, part)
                names += [name] * (self.dice.random() < 0.5)
        rest = [s[key] for s in obeyed for key in ("additionalProperties", "unevaluatedProperties")
                if key in s]
        while (len(set(names)) < self.least(obeyed, "minProperties", 0)
               or (rest != [False] and self.dice.random() < 0.2)):
            names.append(self.dice.choice(NAMES))
        if self.dice.random() < 0.01:
            names += [f"a{n}" for n in range(self.dice.choice([35, 65]))]
        names = list(dict.fromkeys(names))[:self.most(obeyed, "maxProperties", 99)]
        return {name: self.sample(schemas.get(name, rest[0] if rest else True), depth)
                for name in names}


def example(pattern):
    return PATTERNS.get(pattern) or ODD_PATTERNS[pattern]


def mutated(dice, v):
    """The value with one place changed."""
    if isinstance(v, (dict, list)) and v and dice.random() < 0.8:
        copy = v.copy()
        key = dice.choice(sorted(v) if isinstance(v, dict) else range(len(v)))
        change = dice.choice(["inside", "inside", "remove", "twin"])
        if change == "inside":
            copy[key] = mutated(dice, v[key])
        elif change == "remove":
            del copy[key]
        elif isinstance(v, list):
            copy.append(v[key])
        else:
            copy[dice.choice(NAMES)] = v[key]
        return copy
    return value(dice, 1)


# ---- documents ----------------------------------------------------------------------------------

MAPS = ("properties", "patternProperties", "dependentSchemas", "$defs")
LISTS = ("allOf", "anyOf", "oneOf", "prefixItems")
SINGLES = ("items", "contains", "additionalProperties", "propertyNames", "not", "if", "then",
           "else", "unevaluatedItems", "unevaluatedProperties")


def places(schema, pointer=""):
    """Every subschema of the same resource, with the JSON Pointer to it, fit for a URI."""
    yield pointer, schema
    if not isinstance(schema, dict):
        return
    for key, part in schema.items():
        below = (part.items() if key in MAPS else enumerate(part) if key in LISTS
                 else [(None, part)] if key in SINGLES else [])
        for step, child in below:
            if isinstance(child, dict) and "$id" in child:
                continue
            where = f"{pointer}/{key}" + ("" if step is None else "/" + escape(str(step)))
            yield from places(child, where)


def escape(step):
    step = step.replace("~", "~0").replace("/", "~1")
    return "".join(c if c.isascii() and (c.isalnum() or c in "~-_$") else
                   "".join(f"%{b:02X}" for b in c.encode()) for c in step)


def case(seed, number, instances):
    """The schema of that number, and so many instances."""
    dice = random.Random(f"{seed}/{number}")
    document = Document(dice)
    sampler = Sampler(document)
    made = []
    for _ in range(instances):
        way = dice.random()
        sample = sampler.sample(document.root) if way < 0.8 else value(dice, 2)
        made.append(mutated(dice, sample) if way < 0.3 else sample)
    return document.root, made
