#!/usr/bin/env python3
"""What is sent while a call runs, what ends a call early, and what subscribers are told."""

from client import *

LEVELS = ["debug", "info", "notice", "warning", "error", "critical", "alert", "emergency"]


def verify_progress(notifications, token):
    equal([n["method"] for n in notifications], ["notifications/progress"] * 3)
    params = [n["params"] for n in notifications]
    equal([p["progressToken"] for p in params], [token] * 3)
    equal([p["progress"] for p in params], [0, 50, 100])
    equal([p["total"] for p in params], [100, 100, 100])
    equal([p["message"] for p in params], ["working", "working", "done"])


@test("mcp:B10")
def progress_comes_on_the_stream_of_its_call_before_the_result():
    s = session()
    for token in ("progress-1", 7, "", 0):
        meta = {"progressToken": token}
        reply = s.request("tools/call", {"name": "test_tool_with_progress", "_meta": meta})
        verify_progress(reply.messages[:-1], token)
        equal(reply.text, "Progress was reported.")
        reply = call("test_tool_with_progress", {}, meta=meta)
        verify_progress(reply.messages[:-1], token)
        equal(reply.result["resultType"], "complete")


@test("mcp:B10")
def progress_is_not_sent_unasked():
    s = session()
    for reply in (s.call("test_tool_with_progress"), call("test_tool_with_progress", {})):
        equal(reply.notifications, [])
        equal(reply.text, "Progress was reported.")


@test("mcp:T8")
def progress_arrives_while_the_call_runs():
    headers, message = modern_request("tools/call", {"name": "test_tool_with_progress"},
                                      meta={"progressToken": "p"})
    connection = Connection()
    with Stream(connection, encode("POST", "/mcp", headers, message, connection.port)) as stream:
        arrivals = []
        for _ in range(4):
            stream.next()
            arrivals.append(time.monotonic())
        check(arrivals[3] - arrivals[0] > 0.08, "everything came at once, at the end")
        equal(stream.next(), None, "the stream ends with the response")
        equal(stream.head.headers.get("x-accel-buffering"), "no")


@test()
def a_connection_is_kept_after_a_stream():
    with Connection() as c:
        for _ in range(3):
            reply = call("test_tool_with_progress", {}, meta={"progressToken": 1}, connection=c)
            equal(len(reply.messages), 4)
            equal(call("echo", {"message": "next"}, connection=c).text, "next")


def logged(reply):
    equal({n["method"] for n in reply.notifications} - {"notifications/message"}, set())
    return [n["params"] for n in reply.notifications]


@test()
def a_session_gets_what_it_wants_to_be_logged():
    s = session()
    messages = logged(s.call("test_tool_with_logging"))
    equal([m["data"] for m in messages],
          ["Tool execution started", "Tool processing data", "Tool execution completed"])
    equal({m["level"] for m in messages}, {"info"})
    for i, level in enumerate(LEVELS):
        equal(s.request("logging/setLevel", {"level": level}).result, {})
        seen = [m for m in logged(s.call("test_logging_tool")) if "logger" in m]
        equal([m["level"] for m in seen], LEVELS[i:], f"from {level}")
        equal({m["logger"] for m in seen}, {"test_logging_tool"})


@test()
def a_bad_level_is_invalid():
    s = session()
    for params in ({"level": "loud"}, {"level": 3}, {}, {"level": "INFO"}):
        equal(s.request("logging/setLevel", params).error["code"], -32602, show(params))
    reply = call("test_logging_tool", {}, meta={META + "logLevel": "loud"})
    equal(reply.error["code"], -32602)


@test("mcp:S14")
def a_modern_request_says_for_itself_what_it_wants_to_be_logged():
    equal(logged(call("test_logging_tool", {})), [])
    for i, level in enumerate(LEVELS):
        messages = logged(call("test_logging_tool", {}, meta={META + "logLevel": level}))
        equal([m["level"] for m in messages if "logger" in m], LEVELS[i:], f"from {level}")
    data = [m["data"] for m in logged(call("test_logging_tool", {},
                                           meta={META + "logLevel": "error"}))]
    contains(data, {"disk": "full", "percent": 99})


@test("mcp:B9")
def a_legacy_client_cancels_with_a_notification():
    s = session()
    before = counters()["cancelled"]
    for request_id in (4711, "a-string"):
        with s.begin("tools/call", {"name": "test_sleep", "arguments": {"ms": 20000}},
                     request_id) as running:
            eventually(lambda: counters()["sleeping"] == 1, "the call runs")
            wrong = "4711" if request_id == 4711 else 4711
            equal(s.notify("notifications/cancelled", {"requestId": wrong}).status, 202)
            time.sleep(0.1)
            equal(counters()["sleeping"], 1, "an id of another type cancels nothing")
            equal(session().notify("notifications/cancelled",
                                   {"requestId": request_id}).status, 202)
            time.sleep(0.1)
            equal(counters()["sleeping"], 1, "another session cancels nothing")
            equal(s.notify("notifications/cancelled",
                           {"requestId": request_id, "reason": "enough"}).status, 202)
            eventually(lambda: counters()["sleeping"] == 0, "the call ends")
            try:
                reply = read_reply(running, None)
                check(not any("result" in m for m in reply.messages), "a result came anyway")
            except EOFError:
                pass
    equal(counters()["cancelled"], before + 2)
    equal(s.request("ping").result, {}, "the session lives on")


@test("mcp:L8")
def a_legacy_client_that_goes_away_cancels_nothing():
    s = session()
    before = counters()["cancelled"]
    with s.begin("tools/call", {"name": "test_sleep", "arguments": {"ms": 600}}):
        eventually(lambda: counters()["sleeping"] == 1, "the call runs")
    time.sleep(0.2)
    equal(counters()["sleeping"], 1, "the call runs on")
    eventually(lambda: counters()["sleeping"] == 0, "the call ends by itself")
    equal(counters()["cancelled"], before)


@test("mcp:S18")
def a_modern_client_cancels_by_going_away():
    before = counters()["cancelled"]
    for meta in ({}, {"progressToken": 1}):
        headers, message = modern_request("tools/call", {
            "name": "test_sleep", "arguments": {"ms": 20000}}, meta=meta)
        with Connection() as c:
            c.send(encode("POST", "/mcp", headers, message, c.port))
            eventually(lambda: counters()["sleeping"] == 1, "the call runs")
        eventually(lambda: counters()["sleeping"] == 0, "the call is cancelled", 2)
    equal(counters()["cancelled"], before + 2)


CHANGES = [("toolsListChanged", "notifications/tools/list_changed", "test_trigger_tool_change"),
           ("promptsListChanged", "notifications/prompts/list_changed",
            "test_trigger_prompt_change"),
           ("resourcesListChanged", "notifications/resources/list_changed",
            "test_trigger_resource_change")]


def settle():
    """Changes in quick succession may be told as one; what came before is told now."""
    time.sleep(seconds(0.1))


@test()
def a_session_is_told_of_changed_lists():
    s, other = session(), session()
    settle()
    with get_stream(s) as stream:
        for _, method, trigger in CHANGES * 2:
            other.call(trigger)
            told = stream.next()
            equal((told["method"], told.get("params", {})), (method, {}))
        stream.quiet(0.2)


@test()
def a_session_without_a_stream_is_told_nothing_on_its_calls():
    s = session()
    for _, _, trigger in CHANGES * 2:
        equal(s.call(trigger).notifications, [])
    settle()


@test()
def a_subscribed_session_is_told_of_updates():
    s, other = session(), session()
    uri = "test://watched-resource"
    equal(s.request("resources/subscribe", {"uri": uri}).result, {})
    with get_stream(s) as stream, get_stream(other) as quiet:
        call("test_touch_resource", {})
        equal(stream.next(), {"jsonrpc": "2.0", "method": "notifications/resources/updated",
                              "params": {"uri": uri}})
        call("test_touch_resource", {"uri": "test://static-text"})
        stream.quiet(0.2)
        quiet.quiet(0.1)
        equal(s.request("resources/unsubscribe", {"uri": uri}).result, {})
        call("test_touch_resource", {})
        stream.quiet(0.3)
    equal(s.request("resources/subscribe", {}).error["code"], -32602)


def acknowledged(stream, request_id, honoured):
    equal(stream.next(), {"jsonrpc": "2.0", "method": "notifications/subscriptions/acknowledged",
                          "params": {"_meta": {META + "subscriptionId": request_id},
                                     "notifications": honoured}})


@test("mcp:S15 mcp:S16")
def a_listener_is_told_of_changed_lists():
    for request_id in ("listen-a", 4242):
        for wish, method, trigger in CHANGES:
            settle()
            with listen({wish: True}, request_id) as stream:
                acknowledged(stream, request_id, {wish: True})
                for _, _, other in CHANGES:
                    if other != trigger:
                        call(other)
                        call(other)
                for _ in range(2):
                    call(trigger)
                    equal(stream.next(), {"jsonrpc": "2.0", "method": method, "params": {
                        "_meta": {META + "subscriptionId": request_id}}})
                stream.quiet(0.1)


@test("mcp:S15 mcp:S16")
def a_listener_is_told_of_updates():
    uris = ["test://watched-resource", "test://static-text"]
    with listen({"resourceSubscriptions": uris}) as stream, listen({}, "nothing") as quiet:
        acknowledged(stream, "listen-1", {"resourceSubscriptions": uris})
        acknowledged(quiet, "nothing", {})
        for uri in uris:
            call("test_touch_resource", {"uri": uri})
            equal(stream.next(), {"jsonrpc": "2.0", "method": "notifications/resources/updated",
                                  "params": {"_meta": {META + "subscriptionId": "listen-1"},
                                             "uri": uri}})
        call("test_touch_resource", {"uri": "test://example-resource"})
        stream.quiet(0.2)
        quiet.quiet(0.1)


@test()
def however_many_listen_all_are_told():
    """More than a reactor tells in one turn, on each of four."""
    uris = ["test://watched-resource"]
    with contextlib.ExitStack() as stack:
        streams = [stack.enter_context(listen({"resourceSubscriptions": uris}, i + 1))
                   for i in range(150)]
        for stream in streams:
            stream.next()
        for _ in range(3):
            call("test_touch_resource", {"uri": uris[0]})
            for stream in streams:
                equal(stream.next()["method"], "notifications/resources/updated")


@test()
def listening_needs_its_filter():
    for params in ({}, {"notifications": None}, {"notifications": []},
                   {"notifications": {"resourceSubscriptions": "x"}},
                   {"notifications": {"resourceSubscriptions": [7]}},
                   {"notifications": {"toolsListChanged": "yes"}},
                   {"notifications": {"promptsListChanged": 1}},
                   {"notifications": {"resourcesListChanged": None}}):
        equal(modern("subscriptions/listen", params).error["code"], -32602, show(params))


@test()
def a_filter_may_be_long_however_it_is_sent():
    """Its own length counts, not what its chunks made the server reserve."""
    headers, message = modern_request("subscriptions/listen", request_id=1)
    for n, kind in ((70, "text/event-stream"), (140, "text/event-stream"),
                    (240, "text/event-stream"), (300, "application/json")):
        message["params"]["notifications"] = {
            "resourceSubscriptions": [f"test://{i}/{'x' * 990}" for i in range(n)]}
        body = json.dumps(message).encode()
        chunks = b"".join(b"%x\r\n%b\r\n" % (len(c), c) for c in
                          (body[at:at + 4096] for at in range(0, len(body), 4096)))
        chunked = dict(headers, **{"Content-Length": None, "Transfer-Encoding": "chunked"})
        for fields, sent in ((headers, body), (chunked, chunks + b"0\r\n\r\n")):
            with Connection() as c:
                c.send(encode("POST", "/mcp", fields, sent, c.port))
                equal(c.head().headers["content-type"], kind,
                      f"{len(body)} bytes, {'chunked' if fields is chunked else 'whole'}")


@test()
def listeners_and_sessions_are_told_on_every_reactor():
    """With several reactors the streams are spread over them."""
    sessions = [session() for _ in range(6)]
    settle()
    with contextlib.ExitStack() as stack:
        streams = [stack.enter_context(get_stream(s)) for s in sessions]
        listeners = [stack.enter_context(listen({"toolsListChanged": True}, i + 1))
                     for i in range(6)]
        for stream in listeners:
            stream.next()
        for _ in range(2):
            call("test_trigger_tool_change")
            for stream in streams + listeners:
                equal(stream.next()["method"], "notifications/tools/list_changed")


@test()
def a_stopping_server_ends_its_streams_and_finishes_its_calls():
    with Server() as s:
        legacy = Session(port=s.port)
        with get_stream(legacy) as get, listen({"toolsListChanged": True}, 31, s.port) as stream, \
                legacy.begin("tools/call", {"name": "test_sleep",
                                            "arguments": {"ms": 700}}) as running:
            acknowledged(stream, 31, {"toolsListChanged": True})
            eventually(lambda: counters(s.port)["sleeping"] == 1, "the call runs")
            started = time.monotonic()
            s.process.send_signal(signal.SIGTERM)
            equal(read_reply(running, None).text, "slept 700 ms")
            last = stream.next()
            equal(last["id"], 31)
            equal(last["result"]["resultType"], "complete")
            equal(last["result"]["_meta"][META + "subscriptionId"], 31)
            equal(stream.next(), None)
            equal(get.next(), None)
            s.process.wait(seconds(5))
            check(time.monotonic() - started < seconds(4), "the server took its time")


@test()
def a_stopping_server_tells_new_requests_to_come_again():
    ms = int(seconds(0.7) * 1000)
    with Server() as s, contextlib.ExitStack() as stack:
        old = Session(port=s.port, version="2025-03-26")
        late = [modern_request("ping"), (old.headers(), old.message("ping"))]
        running = stack.enter_context(old.begin("tools/call", {"name": "test_sleep",
                                                               "arguments": {"ms": ms}}))
        eventually(lambda: counters(s.port)["sleeping"] == 1, "the call runs")
        half = []
        for headers, message in late:
            c = stack.enter_context(Connection(s.port))
            text = encode("POST", "/mcp", headers, message, s.port)
            c.send(text[:-5])
            half.append((c, text[-5:]))
        time.sleep(seconds(0.1))
        s.process.send_signal(signal.SIGTERM)
        time.sleep(0.1)  # they have 400 ms
        for c, rest in half:
            c.send(rest)
            reply = c.response()
            equal(reply.status, 503)
            equal(reply.json()["error"]["data"]["retryable"], True)
        equal(read_reply(running, None).text, f"slept {ms} ms")
        s.process.wait(seconds(5))


@test(timeout=40)
def a_stopping_server_cancels_what_does_not_end():
    with Server() as s:
        headers, message = modern_request("tools/call", {"name": "test_sleep",
                                                         "arguments": {"ms": 60000}})
        with Connection(s.port) as c:
            c.send(encode("POST", "/mcp", headers, message, c.port))
            eventually(lambda: counters(s.port)["sleeping"] == 1, "the call runs")
            started = time.monotonic()
            s.process.send_signal(signal.SIGTERM)
            reply = read_reply(c, message["id"])
            took = time.monotonic() - started
            check(3 < took < seconds(5), f"answered after {took:.1f} s")
            equal(reply.error["data"]["retryable"], True)
        s.process.wait(seconds(5))


main()
