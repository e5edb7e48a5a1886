#!/usr/bin/env python3
"""How failures are told: the style of a revision, the ids of what is refused, what is cancelled."""

from client import *

MCP = ("2025-03-26", "2025-06-18", LEGACY)  # sessions in the style `mcp`


def peers(version):
    """The same client over each transport."""
    yield Session(version=version)
    with Sse(version=version) as s:
        yield s
    with Stdio() as s:
        s.initialize(version)
        yield s


def tool(s, name, **arguments):
    return s.request("tools/call", {"name": name, "arguments": arguments})


def failure_text(reply):
    if "error" in reply.response:
        return reply.error["message"]
    equal(reply.result["isError"], True)
    return reply.result["content"][0]["text"]


# ---- styles --------------------------------------------------------------------------------------

@test("OR-9.4 OR-9.6 OR-9.7 OR-9.9 OD-3.2.1.5 OD-3.2.1.6 OD-3.2.1.8 OD-3.2.1.9 OD-7.1.6 OD-7.1.7 "
      "OD-7.2.5 OD-7.2.6 OD-7.2.8 OD-7.2.9")
def the_oldest_revision_tells_failures_of_tools_by_codes():
    for version in ("1.0", "2024-11-05"):
        for s in peers(version):
            for name, code, retryable in (("test_error_handling", -32005, False),
                                          ("test_timeout", -32004, True)):
                error = tool(s, name).error
                equal((error["code"], error["data"]["retryable"]), (code, retryable), version)
                check(error["data"]["details"] and error["data"]["trace_id"], show(error))
            for reply, code in ((tool(s, "no_such_tool"), -32001),
                                (s.request("resources/read", {"uri": "test://none"}), -32002)):
                equal((reply.error["code"], reply.error["data"]["retryable"]), (code, False))


@test()
def newer_revisions_show_failures_of_tools_to_the_model():
    for version in MCP:
        for s in peers(version):
            for name, code, retryable in (("test_error_handling", -32005, False),
                                          ("test_timeout", -32004, True)):
                result = tool(s, name).result
                equal((result["isError"], len(result["content"])), (True, 1), version)
                error = result["_meta"]["owlclaw/error"]
                equal((error["code"], error["retryable"]), (code, retryable), version)
                check(error["details"] and error["trace_id"], show(error))
            equal(tool(s, "no_such_tool").error["code"], -32602, version)
            equal(s.request("resources/read", {"uri": "test://none"}).error["code"], -32002)


# ---- ids -----------------------------------------------------------------------------------------

REFUSED = (  # JSON that others take: the code, what comes before the id
    (-32700, b'{"jsonrpc":"2.0","method":"ping","params":{"a":1,"a":2},'),
    (-32700, b'{"jsonrpc":"2.0","method":"ping","params":{"a":"\\ud800"},'),
    (-32600, b'{"jsonrpc":"2.0","method":"ping","params":' + b"[" * 500 + b"]" * 500 + b","),
)


@test()
def json_that_is_refused_is_answered_with_its_id():
    for s in peers(LEGACY):
        for code, begin in REFUSED:
            for i, request_id in enumerate((b"77", b'"a\\"b"')):
                text = begin + b'"id":' + request_id + b"}"
                want = json.loads(request_id)
                if isinstance(s, Session):
                    with Connection() as c:
                        c.send(encode("POST", "/mcp", s.headers(), text, s.port))
                        reply = c.response()
                    equal(reply.status, 400)
                    message = json.loads(reply.body)
                elif isinstance(s, Stdio):
                    s.write(text + b"\n")
                    message = s.read()
                else:
                    equal(s.post(text).status, 202)
                    message = s.read()
                equal((message["id"], message["error"]["code"]), (want, code), show(text[:80]))


@test("OD-5.1.5")
def a_parse_error_has_the_id_null_where_the_revision_knows_it():
    broken = b'{"jsonrpc":"2.0","id":7,"method":'
    for version, has_id in ((None, True), ("2024-11-05", True), ("2025-06-18", True),
                            (LEGACY, False), (MODERN, False)):
        headers = dict(JSON_HEADERS)
        if version:
            headers["MCP-Protocol-Version"] = version
        with Connection() as c:
            c.send(encode("POST", "/mcp", headers, broken, c.port))
            reply = c.response()
        message = json.loads(reply.body)
        equal((reply.status, message["error"]["code"]), (400, -32700), version)
        equal("id" in message, has_id, version)
        equal(message.get("id"), None, version)
    with Stdio() as s:
        s.initialize(LEGACY)
        s.write(broken + b"\n")
        message = s.read()
        equal((message["id"], message["error"]["code"]), (None, -32700))


@test()
def an_overlong_line_is_answered_with_its_id_wherever_it_stands():
    with Stdio("--limit", "line_bytes=100000") as s:
        s.initialize(LEGACY)
        text = '"{[\\"id\\":9,' + "x" * 300000 + '"'
        for line in ('{"jsonrpc":"2.0","id":5,"method":"ping","params":{"id":1,"x":%s}}',
                     '{"method":"ping","params":{"id":1,"x":%s},"jsonrpc":"2.0","id":5}'):
            s.write((line % text).encode() + b"\n")
            message = s.read()
            equal((message["id"], message["error"]["code"]), (5, -32600))
        s.write(('{"id":5,"result":{"x":%s}}' % text).encode() + b"\n")
        equal(s.read()["id"], None, "the id of a response is one of the server's")
        equal(s.request("ping").result, {})


# ---- cancelled -----------------------------------------------------------------------------------

SLEEP = {"name": "test_sleep", "arguments": {"ms": 30000}}


def sleeping(n):
    eventually(lambda: counters()["sleeping"] == n, f"{n} calls sleep")


def begin(s, message, n, accept=None):
    """Calls of test_sleep, after which n sleep, on the connection that is returned."""
    c = Connection(s.port)
    headers = s.headers(Accept=accept) if accept else s.headers()
    c.send(encode("POST", "/mcp", headers, message, s.port))
    sleeping(n)
    return c


def expect_empty_stream(c):
    head = c.head()
    equal((head.status, head.headers.get("content-type")), (200, "text/event-stream"))
    equal([e for e in c.events(head) if e.data], [], "events")


@test()
def a_cancelled_request_over_http_ends_as_an_empty_stream():
    for version in ("2024-11-05", *MCP):
        for accept in (None, "application/json"):
            s = session(version=version)
            with begin(s, s.message("tools/call", SLEEP, 31), 1, accept) as c:
                equal(s.notify("notifications/cancelled", {"requestId": 31}).status, 202)
                expect_empty_stream(c)
            sleeping(0)
    s = session(version="2025-03-26")
    with begin(s, [s.message("tools/call", SLEEP, 32)], 1) as c:
        s.notify("notifications/cancelled", {"requestId": 32})
        expect_empty_stream(c)
    sleeping(0)
    equal(s.post([{"jsonrpc": "2.0", "method": "notifications/x"}]).status, 202, "none was asked")


@test("mcp:L4")
def the_end_of_a_session_cancels_its_calls_and_no_others():
    s, other = session(), session()
    first, second = (s.message("tools/call", SLEEP, i) for i in (1, 2))
    with begin(s, first, 1) as a, begin(s, second, 2) as b, begin(other, first, 3) as c:
        before = counters()["cancelled"]
        equal(s.delete().status, 200)
        sleeping(1)
        equal(counters()["cancelled"], before + 2)
        for connection, request_id in ((a, 1), (b, 2)):
            reply = read_reply(connection, request_id)
            equal((reply.status, reply.error["message"]), (200, "cancelled"))
        other.notify("notifications/cancelled", {"requestId": 1})
        expect_empty_stream(c)
    sleeping(0)


# ---- what a revision does not have ---------------------------------------------------------------

@test()
def a_client_is_not_told_to_declare_what_its_revision_does_not_have():
    caps = {"elicitation": {"form": {}}}
    for version in ("2024-11-05", "2025-03-26"):
        reply = session(version=version, caps=caps).call("test_elicitation", {"message": "x"})
        text = failure_text(reply)
        contains(text, f"the revision {version}")
        check("declares" not in text, text)
    reply = session(version="2025-06-18").call("test_elicitation", {"message": "x"})
    contains(failure_text(reply), "declares")


main()
