#!/usr/bin/env python3
"""One client on a pair of pipes: lines, both eras, and an end that loses nothing."""

import random

from client import *

numbers = itertools.count()


def wait_for_sleeper(s):
    eventually(lambda: json.loads(s.call("test_counters").text)["sleeping"] == 1, "the call runs")


@test("OR-2.2 OR-2.3 CO-3.3.1 CO-3.3.2 OD-8.4.1 mcp:T1")
def messages_are_lines():
    with Stdio() as s:
        r = s.initialize().result
        equal(r["protocolVersion"], LEGACY)
        equal(r["serverInfo"]["name"], "everything-server")
        equal(s.request("tools/list").result["tools"][0]["name"], "test_simple_text")
        equal(s.request("tools/call", {"name": "echo", "arguments": {
            "message": "a\nb\r\u2028"}}).text, "a\nb\r\u2028")


@test()
def modern_requests_need_no_handshake():
    with Stdio() as s:
        r = s.modern("server/discover", request_id="server-discover-probe-1").result
        contains(r["supportedVersions"], MODERN)
        equal(s.call("echo", {"message": "x"}).text, "x")
        s.initialize()
        equal(json.loads(s.call("test_client_facts").text)["revision"], MODERN)
        reply = s.request("tools/call", {"name": "test_client_facts", "arguments": {}})
        equal(json.loads(reply.text)["revision"], LEGACY)


@test("mcp:S4 mcp:S6 mcp:S7 mcp:S8")
def modern_requests_are_checked():
    with Stdio() as s:
        for method, more, code in (
                ("tools/list", {"meta": {META + "clientCapabilities": None}}, -32602),
                ("tools/list", {"meta": {META + "protocolVersion": "v9"}}, -32022),
                ("initialize", {}, -32601), ("ping", {}, -32601), ("unknown", {}, -32601),
                ("resources/subscribe", {}, -32601)):
            equal(s.modern(method, {}, **more).error["code"], code, f"{method} {more}")
        error = s.modern("tools/call", {"name": "test_missing_capability"}).error
        equal((error["code"], error["data"]["requiredCapabilities"]), (-32021, {"sampling": {}}))


@test("mcp:L2")
def the_lifecycle_is_kept():
    with Stdio() as s:
        equal(s.request("ping").result, {}, "ping before initialize")
        check("error" in s.request("tools/list").response, "tools/list before initialize")
        equal(s.initialize(MODERN, ready=False).result["protocolVersion"], LEGACY)
        equal(s.request("tools/list").error["code"], -32600, "before initialized")
        equal(s.request("ping").result, {}, "ping before initialized")
        s.notify("notifications/initialized")
        check(s.request("tools/list").result["tools"], "no tools")


@test()
def nonsense_versions_are_negotiated():
    for asked in ("nonsense", "2099-01-01", ""):
        with Stdio() as s:
            equal(s.initialize(asked).result["protocolVersion"], LEGACY, asked)


@test("OR-2.8")
def a_partial_line_waits_for_its_end():
    with Stdio() as s:
        line = b'{"jsonrpc":"2.0","id":1,"method":"ping"}\n'
        s.write(line[:7])
        s.quiet(0.2)
        s.write(line[7:-1])
        s.quiet(0.2)
        s.write(line[-1:])
        s.answer(1)
        for byte in line:
            s.write(bytes([byte]))
        s.answer(1)
        s.write(line * 3 + line[:9])
        for _ in range(3):
            s.answer(1)
        s.write(line[9:])
        s.answer(1)


@test()
def blank_lines_and_crlf_are_fine():
    with Stdio() as s:
        s.write(b'\n\r\n{"jsonrpc":"2.0","id":1,"method":"ping"}\r\n\n')
        s.answer(1)
        s.quiet(0.1)


@test()
def malformed_lines_are_answered_and_the_next_is_served():
    with Stdio() as s:
        for line, code in ((b"nonsense", -32700), (b"{", -32700), (b"\xff\xfe", -32700),
                           (b'{"jsonrpc":"2.0","id":1,"method":"\xc0\x80"}', -32700),
                           (b"7", -32600), (b"{}", -32600), (b'"x"', -32600), (b"null", -32600),
                           (b"\x00", -32700)):
            s.write(line + b"\n")
            message = s.read()
            equal((message["error"]["code"], message["id"]), (code, None), show(line))
        s.write(b"[" * 5000 + b"\n")
        contains((-32700, -32600), s.read()["error"]["code"], "deep nesting")
        equal(s.request("ping").result, {})


@test()
def an_overlong_line_is_refused_and_the_next_is_served():
    with Stdio() as s:
        s.write(b'{"jsonrpc":"2.0","id":1,"method":"ping","params":{"x":"' + b"x" * (5 << 20))
        s.write(b'"}}\n')
        message = s.read()
        equal((message["error"]["code"], message["id"]), (-32600, 1))
        equal(s.request("ping").result, {})
        text = "y" * (3 << 20)
        equal(s.call("echo", {"message": text}).text, text, "a long line within the limit")


@test()
def batches_are_accepted_before_a_newer_version_is_agreed():
    with Stdio() as s:
        ping = {"jsonrpc": "2.0", "method": "ping"}
        s.send([dict(ping, id=1), dict(ping, id="two"), {"jsonrpc": "2.0", "method": "x/y"}])
        answers = s.read()
        if isinstance(answers, dict):
            answers = [answers, s.read()]
        equal({(a["id"], json.dumps(a["result"])) for a in answers}, {(1, "{}"), ("two", "{}")})
        s.send([{"jsonrpc": "2.0", "method": "notifications/x"}])
        s.quiet(0.1)
        s.send([])
        equal(s.read()["error"]["code"], -32600, "an empty batch")
        s.send([dict(ping, id=3, method="initialize", params=initialize_params())])
        answer = s.read()
        answer = answer[0] if isinstance(answer, list) else answer
        equal((answer["error"]["code"], answer["id"]), (-32600, 3), "initialize in a batch")
        s.send([dict(ping, id={"no": "id"}, method="initialize")])
        answer = s.read()
        answer = answer[0] if isinstance(answer, list) else answer
        equal((answer["error"]["code"], answer["id"]), (-32600, None), "an id that is none")
        s.send([{"jsonrpc": "2.0", "method": "initialize"}])
        s.quiet(0.1)
        s.initialize()
        s.send([dict(ping, id=1)])
        message = s.read()
        equal((message["error"]["code"], message["id"]), (-32600, None), "after the negotiation")
    for revisions in ("2025-06-18,2025-11-25", MODERN):
        with Stdio("--stdio", "--revisions", revisions) as s:
            s.send([dict(ping, id=1)])
            message = s.read()
            equal((message["error"]["code"], message["id"]), (-32600, None), revisions)


@test("mcp:B3")
def a_malformed_response_is_no_answer_to_a_request_of_that_id():
    with Stdio() as s:
        _, sleep = modern_request("tools/call", {"name": "test_sleep", "arguments": {"ms": 300}},
                                  request_id=2)
        s.send(sleep)
        for wrong in ({"error": "x"}, {"result": {}, "error": {"code": 1, "message": "x"}}):
            s.send(dict(wrong, jsonrpc="2.0", id=2))
            message = s.read()
            equal((message["error"]["code"], message["id"]), (-32600, None), show(wrong))
        message = s.read()
        check(message["id"] == 2 and "result" in message, f"the answer: {show(message)}")


@test("mcp:B1")
def params_are_an_object():
    with Stdio() as s:
        s.initialize()
        for params, code in ((["x"], -32602), ([], -32602), (5, -32600), (None, -32600)):
            s.send({"jsonrpc": "2.0", "id": 1, "method": "ping", "params": params})
            message = s.read()
            equal((message["error"]["code"], message["id"]), (code, 1), show(params))


@test("OR-2.4 OD-3.1.1.1 mcp:T1")
def standard_output_is_for_messages_only():
    with Stdio() as s:
        for _ in range(3):
            equal(s.call("test_stray_output").text, "Something was printed.")
            equal(s.call("echo", {"message": "clean"}).text, "clean")
        contains(s.stderr(), "without a newline")


@test("OD-P8")
def any_sequence_of_messages_is_answered_one_by_one():
    dice = random.Random(20261)
    with Stdio() as s:
        for _ in range(20):
            expected, refused = {}, 0
            for _ in range(dice.randint(1, 40)):
                kind = dice.randrange(5)
                request_id = f"r{next(numbers)}"
                if kind == 0:
                    s.write(dice.choice([b"nonsense\n", b"{\n", b"[1,\n", b"\xff\n"]))
                    refused += 1
                elif kind == 1:
                    s.write(dice.choice([b"\n", b"\r\n"]))
                elif kind == 2:
                    s.notify("notifications/of/ones/own")
                else:
                    tool, arguments, text = dice.choice([
                        ("echo", {"message": request_id}, request_id),
                        ("test_stray_output", {}, "Something was printed."),
                        ("test_sleep", {"ms": 3}, "slept 3 ms")])
                    _, message = modern_request("tools/call", {
                        "name": tool, "arguments": arguments}, request_id=request_id)
                    s.send(message)
                    expected[request_id] = text
            for _ in range(len(expected) + refused):
                message = s.read()
                if message["id"] is None:
                    refused -= 1
                    equal(message["error"]["code"], -32700)
                else:
                    equal(message["result"]["content"][0]["text"], expected.pop(message["id"]))
            equal((expected, refused), ({}, 0))
        s.quiet(0.1)


@test("OR-2.7 OD-3.1.1.2")
def the_end_of_input_ends_the_server():
    for prepare in (lambda s: None, lambda s: s.initialize(), lambda s: s.call("test_simple_text")):
        with Stdio() as s:
            prepare(s)
            s.end_input()
            s.finish(5)
            equal(s.read(), None, "nothing more is printed")
    with Stdio() as s:
        s.write(b'{"jsonrpc":"2.0","id":1,')
        s.end_input()
        s.finish(5)


@test("OR-2.5 OD-3.1.1.3")
def what_runs_is_finished_before_the_end():
    for end in (lambda s: s.end_input(), lambda s: s.process.send_signal(signal.SIGTERM),
                lambda s: s.process.send_signal(signal.SIGINT)):
        with Stdio() as s:
            _, message = modern_request("tools/call", {"name": "test_sleep",
                                                       "arguments": {"ms": 800}})
            s.send(message)
            wait_for_sleeper(s)
            end(s)
            equal(s.answer(message["id"]).text, "slept 800 ms")
            s.finish(5)


@test()
def a_request_that_came_with_the_end_of_input_is_answered():
    with Stdio() as s:
        s.write(b"".join(b'{"jsonrpc":"2.0","id":%d,"method":"ping"}\n' % i for i in range(100)))
        s.end_input()
        for i in range(100):
            s.answer(i)
        s.finish(5)


@test()
def a_call_that_does_not_end_is_cancelled_at_the_end():
    with Stdio() as s:
        _, message = modern_request("tools/call", {"name": "test_sleep",
                                                   "arguments": {"ms": 60000}})
        s.send(message)
        wait_for_sleeper(s)
        started = time.monotonic()
        s.end_input()
        reply = s.answer(message["id"])
        equal(reply.error["data"]["retryable"], True)
        s.finish(5)
        check(time.monotonic() - started < seconds(5), "it took more than 5 s")


@test()
def a_client_that_stops_reading_ends_the_server():
    with Stdio() as s:
        s.initialize()
        s.process.stdout.close()
        s.end_input()
        s.finish(5)


def ask_without_reading(s, n):
    """Lists tools as often as that: more than fits into the pipe that nobody reads."""
    _, message = modern_request("tools/list")
    for _ in range(n):
        s.process.stdin.write(json.dumps(message).encode() + b"\n")
    time.sleep(seconds(0.3))


@test("OR-2.7")
def a_client_that_does_not_read_is_not_waited_for():
    for n in (50, 400):  # 400 answers are more than it queues
        for end in (lambda s: s.process.stdin.close(), lambda s: s.process.terminate()):
            with Server(stdio=True) as s:
                ask_without_reading(s, n)
                end(s)
                s.process.wait(seconds(5))


@test()
def a_client_that_reads_late_gets_every_answer():
    with Server(stdio=True) as s:
        ask_without_reading(s, 400)
        s.process.stdin.close()
        equal(s.process.stdout.readall().count(b"\n"), 400)


@test()
def calls_run_side_by_side_and_ids_tell_them_apart():
    with Stdio() as s:
        ids = []
        for i in range(60):
            _, message = modern_request("tools/call", {"name": "test_sleep", "arguments": {
                "ms": 120 if i == 0 else i % 20}}, request_id=f"call-{i}")
            s.send(message)
            ids.append(message["id"])
        seen = [s.read(10) for _ in ids]
        equal({m["id"] for m in seen}, set(ids))
        check(seen[0]["id"] != "call-0", "the slow call held up the others")
        for m in seen:
            i = int(m["id"].split("-")[1])
            equal(m["result"]["content"][0]["text"], f"slept {120 if i == 0 else i % 20} ms")


@test()
def progress_and_log_come_before_the_result():
    with Stdio() as s:
        s.initialize()
        s.request("logging/setLevel", {"level": "debug"})
        reply = s.request("tools/call", {"name": "test_tool_with_progress",
                                         "_meta": {"progressToken": "t"}})
        equal([m["params"]["progress"] for m in reply.notifications], [0, 50, 100])
        reply = s.request("tools/call", {"name": "test_tool_with_logging"})
        equal([m["method"] for m in reply.notifications], ["notifications/message"] * 3)
        equal(s.call("test_tool_with_logging").notifications, [], "modern did not ask")
        reply = s.call("test_tool_with_logging", meta={META + "logLevel": "info"})
        equal(len(reply.notifications), 3)


@test("mcp:B9 mcp:S18")
def calls_are_cancelled_by_notification():
    with Stdio() as s:
        s.initialize()
        sleep = {"name": "test_sleep", "arguments": {"ms": 20000}}
        _, modern_call = modern_request("tools/call", sleep, request_id="m")
        legacy_call = {"jsonrpc": "2.0", "id": "l", "method": "tools/call", "params": sleep}
        for message in (modern_call, legacy_call):
            before = json.loads(s.call("test_counters").text)["cancelled"]
            s.send(message)
            wait_for_sleeper(s)
            s.notify("notifications/cancelled", {"requestId": "nobody"})
            s.notify("notifications/cancelled", {"requestId": message["id"]})
            eventually(lambda: json.loads(s.call("test_counters").text) == {
                "sleeping": 0, "cancelled": before + 1}, "the call is cancelled")
            s.quiet(0.1)


@test("mcp:B9")
def an_id_may_be_written_in_several_ways():
    with Stdio() as s:
        s.initialize()
        for written, again in ((b'"a/b"', b'"a\\/b"'), (b'"\\u0061"', b'"a"'),
                               ('"\u00fc"'.encode(), b'"\\u00fc"')):
            before = json.loads(s.call("test_counters").text)["cancelled"]
            s.write(b'{"jsonrpc":"2.0","id":' + written + b',"method":"tools/call","params":'
                    b'{"name":"test_sleep","arguments":{"ms":20000}}}\n')
            wait_for_sleeper(s)
            s.write(b'{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":' +
                    again + b'}}\n')
            eventually(lambda: json.loads(s.call("test_counters").text) == {
                "sleeping": 0, "cancelled": before + 1}, f"{written} is cancelled as {again}")


@test()
def a_legacy_client_is_told_of_changes_and_updates():
    with Stdio() as s:
        s.initialize()
        equal(s.request("resources/subscribe", {"uri": "test://watched-resource"}).result, {})
        for tool, method, params in (
                ("test_trigger_tool_change", "notifications/tools/list_changed", None),
                ("test_trigger_prompt_change", "notifications/prompts/list_changed", None),
                ("test_touch_resource", "notifications/resources/updated",
                 {"uri": "test://watched-resource"})):
            s.send({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": tool}})
            pair = [s.read(), s.read()]
            told = next((m for m in pair if m.get("method") == method), None)
            check(told is not None, f"no {method} in {pair}")
            equal(told.get("params") or None, params)


@test("mcp:S15 mcp:S16")
def a_modern_client_listens():
    with Stdio() as s:
        _, message = modern_request("subscriptions/listen", {"notifications": {
            "toolsListChanged": True, "resourceSubscriptions": ["test://watched-resource"]}},
            request_id=55)
        s.send(message)
        ack = s.read()
        equal(ack["method"], "notifications/subscriptions/acknowledged")
        equal(ack["params"]["_meta"][META + "subscriptionId"], 55)

        def told_after(tool):
            _, trigger = modern_request("tools/call", {"name": tool}, request_id="t")
            s.send(trigger)
            pair = [s.read(), s.read()]
            return next(m for m in pair if "method" in m)

        told = told_after("test_trigger_tool_change")
        equal(told, {"jsonrpc": "2.0", "method": "notifications/tools/list_changed",
                     "params": {"_meta": {META + "subscriptionId": 55}}})
        told = told_after("test_touch_resource")
        equal(told["params"]["uri"], "test://watched-resource")
        equal(told["params"]["_meta"][META + "subscriptionId"], 55)
        s.notify("notifications/cancelled", {"requestId": 55})
        s.call("test_trigger_tool_change")
        s.quiet(0.2)


@test()
def a_listener_is_told_the_end():
    with Stdio() as s:
        _, message = modern_request("subscriptions/listen", {"notifications": {
            "toolsListChanged": True}}, request_id="bye")
        s.send(message)
        s.read()
        s.end_input()
        last = s.read()
        equal((last["id"], last["result"]["resultType"]), ("bye", "complete"))
        after = s.read()
        equal((after["method"], after["params"]["requestId"]), ("notifications/cancelled", "bye"))
        s.finish(5)


@test()
def closed_descriptors_are_not_taken():
    program = BUILD / "examples/everything-server"
    for closed in ((0,), (1,), (0, 1)):
        def close():
            for fd in closed:
                os.close(fd)
        with subprocess.Popen([program, "--port", "0"], preexec_fn=close,
                              stderr=subprocess.PIPE) as process:
            contains(process.stderr.readline(), b"listening")
            process.terminate()
            equal((process.stderr.read(), process.wait(seconds(5))), (b"", 0), show(closed))
        done = subprocess.run([program, "--stdio"], preexec_fn=close, capture_output=True,
                              text=True, timeout=seconds(10))
        equal(done.returncode, 1, show(closed))
        contains(done.stderr, f"descriptor {closed[0]} is not open for")


@test()
def the_programs_options_are_checked():
    for options in (["--nonsense"], ["--port"], ["--port", "x"], ["--port", "70000"],
                    ["--reactors", "-1"], ["extra"]):
        done = subprocess.run([BUILD / "examples/everything-server", *options],
                              capture_output=True, text=True, timeout=seconds(10),
                              stdin=subprocess.DEVNULL)
        equal(done.returncode, 2, show(options))
        contains(done.stderr, "usage:")
        equal(done.stdout, "")
    done = subprocess.run([BUILD / "examples/everything-server", "--revisions", "1999-01-01"],
                          capture_output=True, text=True, timeout=seconds(10))
    equal(done.returncode, 1)
    contains(done.stderr, "1999-01-01")


main()
