#!/usr/bin/env python3
"""The old HTTP+SSE transport: a stream of events down, a POST for each message up."""

import concurrent.futures

from client import *

EVERY = ("2024-11-05", "2025-03-26", "2025-06-18", LEGACY)


def ping(request_id):
    return {"jsonrpc": "2.0", "id": request_id, "method": "ping"}


# ---- the stream ----------------------------------------------------------------------------------


@test("OR-3.4 mcp:L9")
def the_first_event_says_where_to_post():
    with Sse() as s:
        equal(s.head.headers["content-type"], "text/event-stream")
        check(re.fullmatch(r"/mcp/messages\?session_id=\d+-[0-9a-f]{32}", s.endpoint), s.endpoint)
        s.quiet()


@test()
def ids_are_different():
    ids = set()
    for _ in range(20):
        with Sse() as s:
            ids.add(s.endpoint)
    equal(len(ids), 20)


@test()
def behind_a_proxy_with_a_prefix_the_endpoint_is_relative():
    with Sse(headers={"X-Forwarded-Prefix": "/team/owl"}) as s:
        check(re.fullmatch(r"messages\?session_id=\d+-[0-9a-f]{32}", s.endpoint), s.endpoint)
        s.endpoint = "/mcp/" + s.endpoint
        equal(s.initialize().result["protocolVersion"], LEGACY)


@test()
def accept_must_allow_a_stream():
    for accept, status in (("text/event-stream", 200), (None, 200), ("*/*", 200), ("text/*", 200),
                           ("application/json", 406), ("text/html, image/png", 406)):
        with Connection() as c:
            c.send(encode("GET", "/mcp/sse", {"Accept": accept}, port=c.port))
            equal(c.head().status, status, f"Accept {accept}")


@test()
def other_methods_are_not_allowed():
    for path, allowed, others in (("/mcp/sse", "GET, OPTIONS", ("POST", "DELETE", "HEAD", "PUT")),
                                  ("/mcp/messages", "POST, OPTIONS", ("GET", "DELETE", "HEAD"))):
        for method in others:
            with Connection() as c:
                reply = c.request(method, path, JSON_HEADERS, None if method != "POST" else {})
                equal((reply.status, reply.headers.get("allow")), (405, allowed), method)
        with Connection() as c:
            reply = c.request("OPTIONS", path)
            equal((reply.status, reply.headers.get("allow")), (204, allowed))
    for path in ("/sse", "/mcp/sse/", "/mcp/ss", "/mcp/message", "/mcp/messages/x"):
        with Connection() as c:
            equal(c.request("GET", path).status, 404, path)


@test("mcp:L9")
def foreign_hosts_and_origins_are_refused():
    with Sse() as s:
        for headers in ({"Host": "evil.example"}, {"Origin": "https://evil.example"},
                        {"Origin": "null"}):
            with Connection() as c:
                equal(c.request("GET", "/mcp/sse", headers).status, 403, show(headers))
            equal(s.post(ping(1), headers).status, 403, show(headers))
        equal(s.post(ping(1), {"Origin": "http://localhost:3000"}).status, 202)


# ---- messages ------------------------------------------------------------------------------------


@test("OR-1.3 OR-3.4 mcp:L9")
def every_legacy_revision_is_served():
    for version in (*EVERY, "1.0"):
        with Sse(version=version) as s:
            equal(s.version, version)
            contains([t["name"] for t in s.request("tools/list").result["tools"]], "echo")
            equal(s.call("echo", {"message": version}).text, version)
            equal(s.request("ping").result, {})


@test()
def a_modern_client_is_served_as_on_stdio():
    with Sse() as s:
        equal(s.modern("tools/call", {"name": "echo", "arguments": {"message": "new"}}).text, "new")
        contains(s.modern("server/discover").result["supportedVersions"], MODERN)


@test("CO-3.2.2")
def the_handshake_comes_first():
    with Sse() as s:
        check(s.request("tools/list").error["message"], "before initialize")
        s.initialize(ready=False)
        equal(s.request("tools/list").error["code"], -32600, "before initialized")
        s.notify("notifications/initialized")
        check(s.request("tools/list").result["tools"], "afterwards")
        equal(s.request("initialize", initialize_params()).error["code"], -32600, "twice")


@test()
def what_cannot_be_read_is_refused_in_the_answer_to_the_post():
    with Sse(version=LEGACY) as s:
        for body, code in ((b"{bad", -32700), (b"", -32700), (b"[]x", -32700), (b"7", -32600),
                           (b'{"jsonrpc":"1.0","method":"x"}', -32600), (b'"x"', -32600)):
            reply = s.post(body)
            equal(reply.status, 400, show(body))
            equal(reply.headers["content-type"], "application/json")
            equal((reply.json()["id"], reply.json()["error"]["code"]), (None, code), show(body))
        for kind in (None, "text/plain", "application/jsonx", ""):
            equal(s.post(ping(1), {"Content-Type": kind}).status, 415, f"Content-Type {kind}")
        equal(s.post(ping("charset"), {"Content-Type": "application/json; charset=utf-8"}).status,
              202)
        equal(s.read()["id"], "charset")
        s.quiet()


@test()
def a_message_to_no_stream_is_refused():
    with Sse() as s:
        known = s.endpoint.partition("=")[2]
        for query, status in (("", 400), ("?", 400), ("?session_id=", 400), ("?sessionid=1", 400),
                              ("?session_id=0-" + "0" * 32, 404), ("?session_id=x", 404),
                              ("?session_id=" + known + "0", 404),
                              ("?session_id=" + known[:-1], 404),
                              ("?session_id=99-" + known.partition("-")[2], 404),
                              ("?session_id=-1", 404), ("?session_id=" + "a" * 5000, 404),
                              ("?x=1&session_id=" + known, 202),
                              ("?session_id=" + known + "&y", 202)):
            reply = s.post(ping(1), path="/mcp/messages" + query)
            equal(reply.status, status, query[:60])
            if status != 202:
                check(reply.json()["error"]["message"], query)
    eventually(lambda: s.post(ping(1)).status == 404, "the id has gone with its stream")


@test()
def requests_that_are_refused_are_told_on_the_stream():
    with Sse(version=LEGACY) as s:
        equal(s.request("no/method").error["code"], -32601)
        s.send({"jsonrpc": "2.0", "id": "x", "method": 7})
        equal(s.read()["error"]["code"], -32600)
        s.send({"jsonrpc": "2.0", "id": "nobody asked", "result": {}})
        s.notify("notifications/no/such")
        s.quiet()


@test("OR-13.4")
def batches_are_served_where_the_revision_has_them():
    for version in ("2024-11-05", "2025-03-26"):
        with Sse(version=version) as s:
            s.send([ping("a"), {"jsonrpc": "2.0", "method": "notifications/x"}, ping("b")])
            equal({m["id"] for m in s.read()}, {"a", "b"})
            s.send([{"jsonrpc": "2.0", "method": "notifications/x"}])
            s.quiet()
    for version in ("2025-06-18", LEGACY):
        with Sse(version=version) as s:
            reply = s.post([ping("a")])
            equal((reply.status, reply.json()["error"]["code"]), (400, -32600))
            s.quiet()


@test()
def messages_of_a_client_keep_their_order():
    with Sse(version=LEGACY) as s:
        for n in range(300):
            equal(s.post(ping(n)).status, 202)
        equal([s.read()["id"] for _ in range(300)], list(range(300)))


@test()
def many_clients_at_once_are_all_answered():
    def one(i):
        with Sse(version=EVERY[i % 4]) as s:
            for n in range(10):
                equal(s.call("echo", {"message": f"{i}-{n}"}).text, f"{i}-{n}")
    with concurrent.futures.ThreadPoolExecutor(16) as pool:
        list(pool.map(one, range(48)))


@test()
def results_of_several_megabytes_arrive_whole():
    with Sse(version=LEGACY) as s:
        text = "x" * 3_000_000
        for _ in range(3):
            equal(s.call("echo", {"message": text}).text, text)


# ---- what the server says first -------------------------------------------------------------------


@test("OR-3.5 OD-2.3.7")
def progress_and_logs_are_pushed():
    with Sse(version="2024-11-05") as s:
        reply = s.request("tools/call", {"name": "test_tool_with_progress",
                                         "_meta": {"progressToken": "p"}})
        equal([m["params"]["progress"] for m in reply.notifications], [0, 50, 100])
        s.request("logging/setLevel", {"level": "error"})
        levels = [m["params"]["level"] for m in s.call("test_logging_tool").notifications]
        check(levels and set(levels) <= {"error", "critical", "alert", "emergency"}, show(levels))


@test("OR-3.5 OR-6.10")
def changes_are_pushed():
    for version in EVERY:
        with Sse(version=version) as s, Sse(version=version, ready=False) as early:
            s.request("resources/subscribe", {"uri": "test://watched-resource"})
            call("test_touch_resource")
            equal(s.read(), {"jsonrpc": "2.0", "method": "notifications/resources/updated",
                             "params": {"uri": "test://watched-resource"}})
            call("test_trigger_resource_change")
            equal(s.read()["method"], "notifications/resources/list_changed")
            call("test_trigger_tool_change")
            equal(s.read()["method"], "notifications/tools/list_changed")
            s.request("resources/unsubscribe", {"uri": "test://watched-resource"})
            call("test_touch_resource")
            s.quiet()
            early.quiet(0)


@test()
def a_modern_subscription_is_told_on_the_stream():
    with Sse() as s:
        _, message = modern_request("subscriptions/listen",
                                    {"notifications": {"toolsListChanged": True}}, request_id="l")
        s.send(message)
        equal(s.read()["method"], "notifications/subscriptions/acknowledged")
        call("test_trigger_tool_change")
        equal(s.read()["method"], "notifications/tools/list_changed")
        s.notify("notifications/cancelled", {"requestId": "l"})
        call("test_trigger_tool_change")
        s.quiet()


@test()
def questions_are_asked_and_answered():
    for version in (*EVERY[2:],):
        with Sse(version=version, caps={"elicitation": {}}) as s:
            s.send({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params":
                    {"name": "test_elicitation", "arguments": {"message": "Who?"}}})
            question = s.read()
            equal(question["method"], "elicitation/create")
            equal(question["params"]["message"], "Who?")
            s.send({"jsonrpc": "2.0", "id": question["id"], "result":
                    {"action": "accept", "content": {"username": "u", "email": "e"}}})
            contains(s.answer(1).text, '"username":"u"')


@test()
def a_modern_client_comes_back_with_its_answers():
    with Sse() as s:
        caps = {"caps": {"elicitation": {"form": {}}}}
        params = {"name": "test_elicitation", "arguments": {"message": "Who?"}}
        first = s.modern("tools/call", params, **caps).result
        equal(first["resultType"], "input_required")
        key, question = first["inputRequests"].popitem()
        equal(question["method"], "elicitation/create")
        answers = {key: {"action": "accept", "content": {"username": "u", "email": "e"}}}
        reply = s.modern("tools/call", dict(params, inputResponses=answers,
                                            requestState=first["requestState"]), **caps)
        contains(reply.text, '"username":"u"')


@test()
def nobody_answers_for_another():
    with Sse(version=LEGACY, caps={"elicitation": {}}) as s, Sse(version=LEGACY) as other:
        s.send({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params":
                {"name": "test_elicitation", "arguments": {"message": "Who?"}}})
        question = s.read()
        other.send({"jsonrpc": "2.0", "id": question["id"], "result": {"action": "decline"}})
        other.notify("notifications/cancelled", {"requestId": 1})
        s.quiet()
        s.send({"jsonrpc": "2.0", "id": question["id"], "result": {"action": "decline"}})
        check("result" in s.answer(1).response, "no result")


# ---- the end -------------------------------------------------------------------------------------


def sleeping():
    return counters()["sleeping"]


def begin(s, request_id, tool="test_sleep", **arguments):
    s.send({"jsonrpc": "2.0", "id": request_id, "method": "tools/call",
            "params": {"name": tool, "arguments": arguments}})


@test()
def a_call_is_cancelled_by_a_notification():
    before = counters()["cancelled"]
    with Sse(version=LEGACY) as s:
        begin(s, "zzz", ms=20000)
        eventually(lambda: sleeping() == 1, "it sleeps")
        s.notify("notifications/cancelled", {"requestId": "zzz"})
        eventually(lambda: counters() == {"sleeping": 0, "cancelled": before + 1}, "it is cut short")
        s.quiet()


@test("OR-3.8 OD-3.1.2.3 OD-P9")
def a_client_that_hangs_up_leaves_nothing_behind():
    for version in EVERY:
        before = counters()["cancelled"]
        s = Sse(version=version, caps={"elicitation": {}})
        s.request("resources/subscribe", {"uri": "test://watched-resource"})
        begin(s, 1, ms=20000)
        begin(s, 2, ms=20000)
        if version <= "2025-03-26":
            s.send([{"jsonrpc": "2.0", "id": 3, "method": "tools/call",
                     "params": {"name": "test_sleep", "arguments": {"ms": 20000}}}, ping(4)])
        running = 3 if version <= "2025-03-26" else 2
        begin(s, 5, "test_elicitation", message="Who?")
        eventually(lambda: sleeping() == running, "they sleep")
        s.close()
        eventually(lambda: counters() == {"sleeping": 0, "cancelled": before + running},
                   "they are cut short", timeout=1)
        equal(s.post(ping(1)).status, 404)
        call("test_touch_resource")


@test()
def a_reader_that_stops_is_dropped():
    with Connection() as c:
        c.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        c.send(encode("GET", "/mcp/sse", port=c.port))
        endpoint = next(c.events(c.head())).data
        headers, message = modern_request("tools/call", {"name": "echo", "arguments":
                                                         {"message": "x" * 1_000_000}})

        def dropped():
            with Connection() as other:
                return other.request("POST", endpoint, JSON_HEADERS, message).status == 404
        eventually(dropped, "the stream is closed")


@test()
def too_many_streams_are_refused():
    with Server("--limit", "streams=20") as other, contextlib.ExitStack() as stack:
        streams = [stack.enter_context(Sse(other.port)) for _ in range(20)]
        with Connection(other.port) as c:
            reply = c.request("GET", "/mcp/sse")
            equal(reply.status, 503)
            contains(reply.json()["error"]["message"], "later")
        streams[10].close()

        def opens():
            with Connection(other.port) as c:
                c.send(encode("GET", "/mcp/sse", port=c.port))
                return c.head().status == 200
        eventually(opens, "there is room again")


@test()
def a_server_that_stops_answers_what_runs_and_closes_the_streams():
    other = Server()
    idle, fresh, busy = (Sse(other.port, version=LEGACY), Sse(other.port),
                         Sse(other.port, version=LEGACY))
    begin(busy, 1, ms=500)
    eventually(lambda: counters(other.port)["sleeping"] == 1, "it sleeps")
    started = time.monotonic()
    other.process.send_signal(signal.SIGTERM)
    equal(idle.read(), None, "the idle one ends")
    equal(fresh.read(), None, "the one without a session ends")
    equal(busy.answer(1).text, "slept 500 ms")
    equal(busy.read(), None, "the busy one ends after its answer")
    other.stop()
    check(time.monotonic() - started < seconds(3), "the stop took too long")


@test()
def an_endless_call_is_ended_when_the_server_stops():
    other = Server()
    s = Sse(other.port, version=LEGACY)
    begin(s, 1, ms=60000)
    eventually(lambda: counters(other.port)["sleeping"] == 1, "it sleeps")
    other.process.send_signal(signal.SIGTERM)
    equal(s.answer(1, timeout=8).error["data"]["retryable"], True)
    equal(s.read(), None)
    other.stop()


main()
