#!/usr/bin/env python3
"""Every revision over HTTP, stdio and the old HTTP+SSE; what differs between them."""

from client import *

OLD = ("2024-11-05", "2025-03-26", "2025-06-18")


def sessions(version):
    """The same client over each transport."""
    yield Session(version=version)
    with Sse(version=version) as s:
        yield s
    with Stdio("--stdio") as s:
        s.initialize(version)
        yield s


def tool(s, name, **arguments):
    return s.request("tools/call", {"name": name, "arguments": arguments})


def post_batch(s, *messages):
    """The status, and the messages of the answer by their ids."""
    with Connection(s.port) as connection:
        connection.send(encode("POST", "/mcp", s.headers(), list(messages), s.port))
        reply = connection.response()
    body = json.loads(reply.body) if reply.body else []
    return reply.status, {m["id"]: m for m in body} if isinstance(body, list) else body


LISTEN = {"notifications": {"toolsListChanged": True, "resourceSubscriptions": [
    "test://watched-resource"]}}


def peers(version):
    """A client of each transport: how it sends a request, and how it hears of what it did not ask
    for."""
    if version == MODERN:
        with listen(LISTEN["notifications"]) as stream:
            stream.next()
            yield "HTTP", modern, stream.next
    else:
        s = Session(version=version)
        with get_stream(s) as stream:
            yield "HTTP", s.request, stream.next
    for name, client in ("old SSE", Sse()), ("stdio", Stdio()):
        with client as s:
            if version == MODERN:
                s.send(modern_request("subscriptions/listen", LISTEN)[1])
                equal(s.read()["method"], "notifications/subscriptions/acknowledged")
            else:
                s.initialize(version)
            yield name, s.modern if version == MODERN else s.request, s.read


def heard(reply, hear, method):
    """The notification, which may have come before the reply or comes after it."""
    for message in reply.notifications:
        if message["method"] == method:
            return message
    while (message := hear())["method"] != method:
        pass
    return message


def use_everything(version, request, hear):
    contains([t["name"] for t in request("tools/list").result["tools"]], "echo")
    arguments = {"name": "echo", "arguments": {"message": version}}
    equal(request("tools/call", arguments).text, version)
    meta = {"meta": {"progressToken": "p"}} if version == MODERN else {}
    params = {"name": "test_tool_with_progress"}
    reply = request("tools/call", params if meta else dict(params, _meta={"progressToken": "p"}),
                    **meta)
    told = [m for m in reply.notifications if m["method"] == "notifications/progress"]
    equal([m["params"]["progress"] for m in told], [0, 50, 100])
    contains([r["uri"] for r in request("resources/list").result["resources"]],
             "test://static-text")
    text = request("resources/read", {"uri": "test://static-text"}).result["contents"][0]["text"]
    contains(text, "static text")
    check(request("resources/templates/list").result["resourceTemplates"], "no templates")
    contains([p["name"] for p in request("prompts/list").result["prompts"]], "test_simple_prompt")
    check(request("prompts/get", {"name": "test_simple_prompt"}).result["messages"], "no prompt")
    ref = {"type": "ref/prompt", "name": "test_prompt_with_arguments"}
    argument = {"name": "arg1", "value": ""}
    contains(request("completion/complete", {"ref": ref, "argument": argument}).result,
             "completion")
    if version != MODERN:
        equal(request("ping").result, {})
        equal(request("logging/setLevel", {"level": "error"}).result, {})
        equal(request("resources/subscribe", {"uri": "test://watched-resource"}).result, {})
    reply = request("tools/call", {"name": "test_touch_resource"})
    equal(heard(reply, hear, "notifications/resources/updated")["params"]["uri"],
          "test://watched-resource")
    reply = request("tools/call", {"name": "test_trigger_tool_change"})
    heard(reply, hear, "notifications/tools/list_changed")


@test("OR-1.3 OR-3.5")
def every_revision_does_everything_over_every_transport():
    for version in (*OLD, LEGACY, MODERN):
        for transport, request, hear in peers(version):
            try:
                use_everything(version, request, hear)
            except Failure as error:
                raise Failure(f"{version}, {transport}: {error}") from None


@test("OR-1.3 mcp:L1")
def each_revision_is_negotiated_and_served():
    for version in (*OLD, LEGACY):
        for s in sessions(version):
            contains([t["name"] for t in s.request("tools/list").result["tools"]], "echo")
            equal(tool(s, "echo", message=version).text, version)
            equal(s.request("ping").result, {})
            text = s.request("resources/read", {"uri": "test://static-text"}).result["contents"]
            contains(text[0]["text"], "static text")


@test()
def tools_are_listed_as_each_revision_knows_them():
    # (revision, has outputSchema, has execution)
    for version, schema, execution in (("1.0", False, False), ("2024-11-05", False, False),
                                       ("2025-03-26", False, False), ("2025-06-18", True, False),
                                       (LEGACY, True, True), (MODERN, True, False)):
        request = modern if version == MODERN else Session(version=version).request
        tools = {t["name"]: t for t in request("tools/list").result["tools"]}
        structured = tools["test_structured_content"].get("outputSchema", {})
        equal(structured.get("required"), ["temperature", "conditions"] if schema else None, version)
        equal([t for t in tools.values() if "outputSchema" in t and not schema], [], version)
        equal(any("execution" in t for t in tools.values()), execution, version)


@test("OR-1.1")
def version_1_0_is_answered_1_0():
    s = Session(version="1.0")
    equal(s.version, "1.0")
    equal(tool(s, "echo", message="x").text, "x")  # with its header
    with Stdio("--stdio") as p:
        equal(p.initialize("1.0").result["protocolVersion"], "1.0")
        equal(tool(p, "nope").error["code"], -32001)


@test()
def unknown_methods_have_the_same_code_on_every_revision():
    for version in (*OLD, LEGACY):
        for s in sessions(version):
            equal(s.request("no/method").error["code"], -32601)


def refusals(s):
    """The errors of messages that never become calls."""
    for message in ({"id": 1, "method": "tools/list", "params": []},
                    {"id": 1, "method": "tools/list", "params": {"_meta": 5}},
                    {"id": 1, "method": "tools/list", "params": None},
                    {"id": 1.5, "method": "tools/list"}):
        with Connection(s.port) as c:
            c.send(encode("POST", "/mcp", s.headers(), dict(message, jsonrpc="2.0"), s.port))
            yield json.loads(c.response().body)["error"]


@test("OR-9.4 OR-9.7")
def what_is_refused_before_it_is_a_call_has_the_same_data():
    for version in ("1.0", "2024-11-05"):
        for error in refusals(Session(version=version)):
            data = error["data"]
            equal(sorted(data), ["details", "retryable", "trace_id"])
            equal((data["details"], data["retryable"]), (error["message"], False))
            check(re.fullmatch("[0-9a-f]{32}", data["trace_id"]), show(error))
    for version in (*OLD[1:], LEGACY):
        for error in refusals(Session(version=version)):
            equal(list(error["data"]), ["trace_id"])
    trace = "0af7651916cd43dd8448eb211c80319c"
    error = modern("tools/list", {"cursor": 1}, headers={"Mcp-Method": "other"},
                   meta={"traceparent": f"00-{trace}-b7ad6b7169203331-01"}).error
    equal((error["code"], error["data"]), (-32020, {"trace_id": trace}))


@test()
def blocks_that_a_revision_lacks_become_text():
    for version, kind in ("2024-11-05", "text"), ("2025-03-26", "audio"):
        for s in sessions(version):
            equal(tool(s, "test_audio_content").result["content"][0]["type"], kind)


@test("OR-13.4 mcp:L3 mcp:T11")
def batches_are_answered_where_the_revision_has_them():
    for version in ("2024-11-05", "2025-03-26", "1.0"):
        s = Session(version=version)
        status, answers = post_batch(
            s, s.message("ping", request_id="a"),
            {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 9}},
            s.message("tools/call", {"name": "echo", "arguments": {"message": "b"}}, "b"),
            s.message("no/method", {}, "c"), {"jsonrpc": "2.0", "id": "d"})
        equal((status, sorted(answers)), (200, ["a", "b", "c", "d"]))
        equal(answers["a"]["result"], {})
        equal(answers["b"]["result"]["content"][0]["text"], "b")
        equal(answers["c"]["error"]["code"], -32601)
        equal(answers["d"]["error"]["code"], -32600)
        with Stdio("--stdio") as p:
            p.initialize(version)
            p.send([{"jsonrpc": "2.0", "id": 8, "method": "ping"}])
            equal(p.read(), [{"jsonrpc": "2.0", "id": 8, "result": {}}])


def check_large_batch(answers):
    """Of three answers two fit, whichever come first; the third is an error of its own."""
    equal(sorted(answers), ["p", "x", "y", "z"])
    equal(answers["p"]["result"], {})
    failed = [m["error"] for m in answers.values() if "error" in m]
    equal([e["code"] for e in failed], [-32603])
    contains(failed[0]["message"], "too large together")
    data = failed[0]["data"]
    equal((data.get("retryable", False), len(data["trace_id"])), (False, 32))


@test("OR-13.4 mcp:L3")
def every_request_of_a_batch_is_answered_even_if_the_answers_are_too_large_together():
    limit = ("--limit", "result_bytes=200000")
    large = {"name": "test_large_content", "arguments": {"bytes": 80000}}
    batch = [{"jsonrpc": "2.0", "id": n, "method": "tools/call", "params": large} for n in "xyz"]
    batch.insert(1, {"jsonrpc": "2.0", "id": "p", "method": "ping"})
    with Server(*limit) as process:
        status, answers = post_batch(Session(port=process.port, version="2025-03-26"), *batch)
        equal(status, 200)
        check_large_batch(answers)
        with Sse(port=process.port, version="2024-11-05") as s:
            s.send(batch)
            check_large_batch({m["id"]: m for m in s.read()})
    with Stdio(*limit) as s:
        s.initialize("2025-03-26")
        s.send(batch)
        check_large_batch({m["id"]: m for m in s.read()})


@test()
def white_space_before_a_message_does_not_matter():
    s = Session(version="2025-03-26")
    for body, answers in (b'\r\n\t [{"jsonrpc":"2.0","id":1,"method":"ping"}]\n', [1]), \
                         (b'\n{"jsonrpc":"2.0","id":2,"method":"ping"}', 2):
        with Connection(s.port) as connection:
            connection.send(encode("POST", "/mcp", s.headers(), body, s.port))
            got = json.loads(connection.response().body)
        equal([m["id"] for m in got] if isinstance(got, list) else got["id"], answers)


@test("mcp:L3")
def a_batch_of_notifications_is_only_accepted():
    s = Session(version="2025-03-26")
    note = {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 9}}
    equal(post_batch(s, note, note), (202, {}))


SLOW = {"name": "test_tool_with_progress", "arguments": {}}


@test()
def a_batch_with_a_slow_call_is_answered_as_a_whole():
    s = Session(version="2025-03-26")
    status, answers = post_batch(s, s.message("tools/call", SLOW, "slow"),
                                 s.message("ping", None, "p"))
    equal((status, sorted(answers)), (200, ["p", "slow"]))


@test()
def a_client_that_hangs_up_during_a_batch_harms_nobody():
    s = Session(version="2025-03-26")
    batch = [s.message("tools/call", SLOW, n) for n in ("1", "2")]
    with Connection(s.port) as connection:
        connection.send(encode("POST", "/mcp", s.headers(), batch, s.port))
    time.sleep(0.4)
    equal(tool(s, "echo", message="still here").text, "still here")


@test()
def a_client_that_is_asked_in_a_batch_and_leaves_is_not_waited_for():
    with Server("--limit", "questions=1", "--limit", "replay_ms=100", reactors=1) as server:
        for version in ("2024-11-05", "2025-03-26"):
            for batch in (False, True):
                s = Session(server.port, version, {"sampling": {}})
                message = s.message("tools/call", {"name": "test_sampling",
                                                   "arguments": {"prompt": "?"}})
                body = [message, s.message("ping")] if batch else message

                def is_asked():
                    with Connection(s.port) as c:
                        c.send(encode("POST", "/mcp", s.headers(), body, s.port))
                        head = c.head()
                        if head.headers["content-type"] != "text/event-stream":
                            return False
                        return "sampling/createMessage" in next(c.events(head)).data

                for _ in range(3):
                    eventually(is_asked, f"{version} is asked, batch: {batch}")


@test("mcp:T11")
def batches_are_refused_by_later_revisions():
    for version in ("2025-06-18", LEGACY):
        s = Session(version=version)
        status, answer = post_batch(s, s.message("ping"))
        equal((status, answer["error"]["code"]), (400, -32600))
        with Stdio("--stdio") as p:
            p.initialize(version)
            p.send([{"jsonrpc": "2.0", "id": 8, "method": "ping"}])
            equal(p.read()["error"]["code"], -32600)


@test("mcp:L3")
def initialize_is_refused_within_a_batch():
    s = Session(version="2025-03-26")
    inner = s.message("initialize", initialize_params("2025-03-26", None), "i")
    status, answers = post_batch(s, inner)
    equal((status, answers["i"]["error"]["code"]), (200, -32600))


main()
