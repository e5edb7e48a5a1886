#!/usr/bin/env python3
"""Properties that hold of every input, tried on a thousand random ones through a real server.

Case n is made from the seed $OWLCLAW_SEED + n (default 1). A failure names its seed: set it to see
that case first. $OWLCLAW_CASES says how many are tried."""

import collections
import random

from client import *

FIRST = int(os.environ.get("OWLCLAW_SEED", "1"))
CASES = int(os.environ.get("OWLCLAW_CASES", "1200"))
REVISIONS = ("2024-11-05", "2025-03-26", "2025-06-18", LEGACY, MODERN)
CODES = {"parse": -32700, "request": -32600, "method": -32601, "params": -32602}


def every_case(function):
    """Runs a case with each of the seeds."""
    for seed in range(FIRST, FIRST + CASES):
        try:
            function(random.Random(seed))
        except (Failure, OSError, EOFError) as error:
            raise Failure(f"OWLCLAW_SEED={seed}: {error}") from None


# ---- what a client may get wrong ----------------------------------------------------------------


def random_text(dice, longest=12):
    letters = "aZ09 /\"\\\n\t\x00\x7f\u00e9\u4e16\u2028\U0001f989{}[]:,"
    return "".join(dice.choice(letters) for _ in range(dice.randint(0, longest)))


def random_id(dice):
    return dice.choice([dice.randint(-2**40, 2**40), dice.choice([0, -1, 2**53 + 1, 2**63, -2**70]),
                        random_text(dice), f"id-{dice.random()}"])


def random_value(dice, depth=3):
    kind = dice.randrange(7 if depth else 5)
    if kind == 5:
        return [random_value(dice, depth - 1) for _ in range(dice.randint(0, 3))]
    if kind == 6:
        return {random_text(dice, 5) + str(i): random_value(dice, depth - 1)
                for i in range(dice.randint(0, 3))}
    return dice.choice([None, True, dice.randint(-9, 9), dice.random(), random_text(dice)])


def broken_json(dice, message):
    """Text that no parser can take for JSON: cut short, or with something wrong in it."""
    text = json.dumps(message, ensure_ascii=dice.random() < 0.5).encode()
    at = dice.randint(1, len(text) - 1)
    return dice.choice([text[:at], text + b"}", text[:-1] + b",}", b"\xff" + text,
                        text[:-1] + b"\xc0\x80}", text.replace(b":", b"=", 1), b"'" + text,
                        text[:1] + b"\x01" + text[1:], b"nonsense", b"{]", b"[1 2]", b"tru",
                        b"\xef\xbb\xbf{}", b'{"a":1,"a":2}'])


def invalid_request(dice, message):
    """A message that is JSON and no request, with the id that it can be answered with."""
    kind = dice.randrange(7)
    if kind == 0:
        return random_scalar(dice), None
    if kind == 1:
        message["jsonrpc"] = dice.choice(["1.0", "2", 2, 2.0, None, "", "2.0 ", []])
    elif kind == 2:
        del message["jsonrpc"]
    elif kind == 3:
        message["method"] = dice.choice([None, 5, True, [], {}, ["tools/list"]])
    elif kind == 4:
        message["id"] = dice.choice([None, True, 1.5, [], {}, ["x"], "x" * 300])
    elif kind == 5:
        message["params"] = dice.choice([None, 7, "x", True])
    else:
        del message["method"]
        message.pop("params", None)
    readable = type(message.get("id")) in (int, str) and len(str(message["id"])) < 250
    return message, message["id"] if readable else None


def random_scalar(dice):
    return dice.choice([None, True, 7, -0.5, "text", ""])


# A method, params that do not fit it, a word of the answer, and the era if it has but one.
BAD_PARAMS = [
    ("tools/call", {}, "name", None), ("tools/call", {"name": 7}, "name", None),
    ("tools/call", {"name": "echo", "arguments": []}, "arguments", None),
    ("tools/call", {"name": "echo", "arguments": "x"}, "arguments", None),
    ("tools/list", {"cursor": "nonsense"}, "cursor", None),
    ("prompts/list", {"cursor": 5}, "cursor", None),
    ("resources/list", {"cursor": {}}, "cursor", None),
    ("resources/read", {}, "uri", None), ("resources/read", {"uri": 5}, "uri", None),
    ("prompts/get", {}, "name", None), ("prompts/get", {"name": None}, "name", None),
    ("prompts/get", {"name": "test_prompt_with_arguments"}, "arg1", None),
    ("prompts/get", {"name": "test_simple_prompt", "arguments": "x"}, "arguments", None),
    ("completion/complete", {}, "ref", None),
    ("completion/complete", {"ref": {"type": "ref/else"}, "argument": {}}, "ref", None),
    ("completion/complete", {"ref": {"type": "ref/prompt", "name": "test_simple_prompt"}},
     "argument", None),
    ("skills/get", {"uri": "skill://none/SKILL.md"}, "skill", None),
    ("logging/setLevel", {"level": "loud"}, "level", "legacy"),
    ("logging/setLevel", {}, "level", "legacy"),
    ("resources/subscribe", {}, "uri", "legacy"),
    ("subscriptions/listen", {}, "notifications", "modern"),
    ("subscriptions/listen", {"notifications": {"resourceSubscriptions": 3}},
     "resourceSubscriptions", "modern"),
    ("tools/list", {"_meta": 7}, "_meta", "legacy"),
]


@dataclasses.dataclass
class Wrong:
    """Bytes that a client sends, and what must come back."""
    body: bytes
    headers: dict
    code: int
    id: object
    word: str


def finished(message, modern_era, method=None, params=None):
    """The message as a client of that era sends it, and its headers."""
    if not modern_era:
        return message, {}
    headers, whole = modern_request(method or message["method"],
                                    params if params is not None else {}, request_id=message["id"])
    headers = {key: value for key, value in headers.items() if isinstance(value, str)}
    return whole, headers


def something_wrong(dice, revision):
    modern_era = revision == MODERN
    message = {"jsonrpc": "2.0", "id": random_id(dice), "method": "tools/list", "params": {}}
    kind = dice.choice(list(CODES))
    if kind == "method":
        message["method"] = dice.choice(["no/such", "tools", "Tools/List", "tools /list", "rpc.x",
                                         "initialize" if modern_era else "server/discover",
                                         "n" * dice.randint(1, 200)])
        message, headers = finished(message, modern_era)
        return Wrong(json.dumps(message).encode(), headers, CODES[kind], message["id"], "method")
    if kind == "params":
        rows = [r for r in BAD_PARAMS if r[3] in (None, "modern" if modern_era else "legacy")]
        method, params, word, _ = dice.choice(rows)
        message.update(method=method, params=params)
        message, headers = finished(message, modern_era, method, params)
        return Wrong(json.dumps(message).encode(), headers, CODES[kind], message["id"], word)
    message["params"] = random_value(dice) if dice.random() < 0.3 else {}
    if not isinstance(message["params"], (dict, list)):
        message["params"] = {}
    _, headers = finished(message, modern_era)
    if kind == "parse":
        return Wrong(broken_json(dice, message), headers, CODES[kind], None, "byte")
    message, request_id = invalid_request(dice, message)
    return Wrong(json.dumps(message).encode(), headers, CODES[kind], request_id, "")


def verify_error(answer, wrong):
    check(isinstance(answer, dict), f"{wrong}: {show(answer)}")
    verify_message(answer)
    check("error" in answer, f"{wrong}: {show(answer)}")
    equal(answer["error"]["code"], wrong.code, show(wrong))
    equal((answer.get("id"), type(answer.get("id"))), (wrong.id, type(wrong.id)), show(wrong))
    message = answer["error"]["message"]
    check(len(message) > 10 and wrong.word in message, f"{wrong}: not descriptive: {message!r}")


@test("OD-P5 mcp:B3 mcp:B7", timeout=100)
def any_error_is_told_with_its_code_and_id_over_http():
    sessions = {revision: Session(version=revision) for revision in REVISIONS[:-1]}
    with Connection() as connection:
        def case(dice):
            revision = dice.choice(REVISIONS)
            wrong = something_wrong(dice, revision)
            headers = wrong.headers or sessions[revision].headers()
            connection.send(encode("POST", "/mcp", headers, wrong.body, connection.port))
            reply = connection.response()
            verify_error(reply.json(), wrong)
            status = 400 if wrong.code in (-32700, -32600) or wrong.word == "_meta" else 200
            if revision == MODERN and wrong.code == -32601:
                status = 404
            equal(reply.status, status, show(wrong))

        every_case(case)
        equal(call("echo", {"message": "alive"}, connection=connection).text, "alive")


@test("OD-P5 mcp:B3", timeout=100)
def any_error_is_told_with_its_code_and_id_over_stdio():
    with contextlib.ExitStack() as stack:
        pipes = {revision: stack.enter_context(Stdio()) for revision in REVISIONS}
        for revision in REVISIONS[:-1]:
            pipes[revision].initialize(revision)

        def case(dice):
            revision = dice.choice(REVISIONS)
            wrong = something_wrong(dice, revision)
            pipes[revision].write(wrong.body + b"\n")
            verify_error(pipes[revision].read(), wrong)

        every_case(case)
        for pipe in pipes.values():
            equal(pipe.call("echo", {"message": "alive"}).text, "alive")


# ---- sequences -----------------------------------------------------------------------------------


class Sequence:
    """Lines to be sent, and the answers that they must have: exactly one for each request."""

    def __init__(self, dice):
        self.dice = dice
        self.lines = []
        self.answers = {}                    # by id: the result's text, or the error code
        self.refusals = collections.Counter()  # error codes of answers without an id

    def add_request(self):
        request_id = f"{len(self.answers)} {self.dice.random()}"
        name, arguments, expected = self.dice.choice([
            ("echo", {"message": request_id}, request_id),
            ("test_stray_output", {}, "Something was printed."),
            ("test_sleep", {"ms": 2}, "slept 2 ms"), ("no_such_tool", {}, -32602)])
        params = {"name": name, "arguments": arguments}
        if self.dice.random() < 0.5:
            _, message = modern_request("tools/call", params, request_id=request_id)
        else:
            message = {"jsonrpc": "2.0", "id": request_id, "method": "tools/call", "params": params}
        self.lines.append(json.dumps(message).encode())
        self.answers[request_id] = expected

    def add_wrong(self):
        wrong = something_wrong(self.dice, self.dice.choice([LEGACY, MODERN]))
        if isinstance(wrong.id, (str, int)) and wrong.id not in self.answers:
            self.answers[wrong.id] = wrong.code
        elif wrong.id is None:
            self.refusals[wrong.code] += 1
        else:
            return
        self.lines.append(wrong.body)

    def add_unanswered(self):
        """What gets no answer, whatever it is."""
        self.lines.append(self.dice.choice([
            b"", b"\r", b"   \r", b'{"jsonrpc":"2.0","method":"notifications/of/ones/own"}',
            b'{"jsonrpc":"2.0","method":"tools/list"}',
            b'{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"none"}}',
            b'{"jsonrpc":"2.0","id":"never asked","result":{}}',
            b'{"jsonrpc":"2.0","id":4,"error":{"code":-1,"message":"no"}}']))

    def add_batch(self):
        self.lines.append(b'[{"jsonrpc":"2.0","id":"batch","method":"ping"}]')
        self.refusals[-32600] += 1

    def take(self, message):
        """An answer, which must be one that is still due."""
        if message["id"] is None:
            code = message["error"]["code"]
            check(self.refusals[code] > 0, f"nobody asked for {show(message)}")
            self.refusals[code] -= 1
            return
        contains(self.answers, message["id"], "an answer that is not due")
        expected = self.answers.pop(message["id"])
        got = message["error"]["code"] if "error" in message else \
            message["result"]["content"][0]["text"]
        equal(got, expected, show(message["id"]))

    def due(self):
        return len(self.answers) + sum(self.refusals.values())


def write_in_pieces(pipe, data, dice):
    while data:
        n = dice.choice([1, 7, 100, len(data)])
        pipe.write(data[:n])
        data = data[n:]


@test("OD-P8 OR-2.4 mcp:T1 mcp:B3", timeout=100)
def any_sequence_of_lines_is_answered_line_by_line():
    with Stdio() as pipe:
        pipe.initialize()

        def case(dice):
            sequence = Sequence(dice)
            adders = [sequence.add_request, sequence.add_wrong, sequence.add_unanswered,
                      sequence.add_batch]
            for _ in range(dice.randint(1, 8)):
                dice.choices(adders, [4, 3, 2, 0.5])[0]()
            write_in_pieces(pipe, b"".join(line + b"\n" for line in sequence.lines), dice)
            while sequence.due():
                sequence.take(pipe.read())

        every_case(case)
        equal(pipe.request("ping").result, {}, "nothing is left over")
        pipe.quiet(0.1)
        contains(pipe.stderr(), "stray", "what a tool prints goes to standard error")


main()
