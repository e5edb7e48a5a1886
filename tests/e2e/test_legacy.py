#!/usr/bin/env python3
"""The lifecycle of legacy clients: initialize, sessions over HTTP, their streams and their end."""

from client import *


@test("OR-1.3 OR-3.3 OR-3.7 CO-3.2.1b")
def initialize_answers_with_what_the_server_is():
    s = session()
    equal(s.version, LEGACY)
    equal(s.info["serverInfo"]["name"], "everything-server")
    check(s.info["serverInfo"]["version"], "serverInfo has no version")
    equal(s.info["serverInfo"].get("title"), "Everything")
    contains(s.info["instructions"], "Every tool")
    check("resultType" not in s.info, "resultType is a member of modern results only")


@test("OD-3.2.2.4 OD-3.2.2.5 OD-3.2.2.6 mcp:L11")
def initialize_declares_capabilities():
    caps = session().info["capabilities"]
    equal(caps["tools"], {"listChanged": True})
    equal(caps["resources"], {"subscribe": True, "listChanged": True})
    equal(caps["prompts"], {"listChanged": True})
    equal(caps["completions"], {})
    equal(caps["logging"], {})


@test("mcp:L1")
def negotiation_never_fails_and_never_answers_a_modern_revision():
    equal(session(version=LEGACY).version, LEGACY)
    for asked in (MODERN, "2099-01-01", "nonsense", "", "1.0.0-\u00fc", "2025-11-25 "):
        equal(session(version=asked).version, LEGACY, f"asked for {asked!r}")


@test()
def initialize_without_its_parameters_is_refused():
    s = session()
    s.id = None
    for params in (None, {}, {"protocolVersion": 7, "capabilities": {}}):
        equal(s.request("initialize", params).error["code"], -32602, f"params {params}")
    check("mcp-session-id" not in s.request("initialize", {}).headers, "a refusal has a session")


@test("CO-3.2.2 CO-3.2.3 mcp:L2")
def business_methods_wait_for_initialized():
    s = session(ready=False)
    for method in ("tools/list", "resources/list", "prompts/list", "logging/setLevel"):
        equal(s.request(method, {"level": "info"}).error["code"], -32600, method)
    equal(s.call("test_simple_text").error["code"], -32600)
    equal(s.request("ping").result, {}, "ping before initialized")
    equal(s.notify("notifications/initialized").status, 202)
    contains(s.call("test_simple_text").text, "simple text")
    equal(s.request("ping").result, {}, "ping after initialized")


@test("CO-3.1.3a CO-3.1.3b CO-3.2.1a")
def a_request_without_session_id_is_refused():
    s = session()
    s.id = None
    for method in ("tools/list", "ping", "tools/call"):
        reply = s.request(method, {}, headers={"MCP-Protocol-Version": LEGACY})
        equal(reply.status, 400, method)
        check("mcp-session-id" not in reply.headers, "a session was opened unasked")
    equal(s.request("tools/list", {}).status, 400, "without any header")


@test("mcp:L4")
def an_unknown_session_id_is_not_found():
    s = session()
    for wrong in ("0-" + "0" * 32, s.id[:-1] + "~", "x", "9999-" + "a" * 32, s.id + "0", "a" * 5000,
                  "-", "-1-" + "0" * 32):
        reply = s.request("tools/list", headers={"Mcp-Session-Id": wrong})
        equal(reply.status, 404, f"session {wrong[:40]!r}")


@test("mcp:L4")
def session_ids_are_unguessable_and_different():
    ids = {session(ready=False).id for _ in range(20)}
    equal(len(ids), 20)
    check(all(len(i) >= 32 for i in ids), f"short ids: {ids}")


@test("CO-3.1.4 mcp:L4")
def a_deleted_session_is_gone():
    s = session()
    check(s.delete().status in (200, 202, 204), "DELETE is refused")
    equal(s.request("tools/list").status, 404)
    equal(s.notify("notifications/initialized").status, 404)
    equal(s.delete().status, 404, "the second DELETE")
    old = session(version="2025-03-26")
    old.delete()
    equal(old.post([old.message("ping")]).status, 404, "a batch")
    equal(old.post({"jsonrpc": "2.0", "id": "owl-0-1", "result": {}}).status, 404, "a response")


@test()
def delete_needs_a_session():
    with Connection() as c:
        equal(c.request("DELETE").status, 400)
        equal(c.request("DELETE", headers={"Mcp-Session-Id": "0-" + "f" * 32}).status, 404)


@test()
def delete_ends_the_stream_and_nothing_else():
    s, other = session(), session()
    with get_stream(s) as stream, get_stream(other) as quiet:
        s.delete()
        equal(stream.next(), None, "the GET stream")
        quiet.quiet(0.2)


@test("mcp:L5")
def a_wrong_version_header_is_refused():
    s = session()
    reply = s.request("tools/list", headers={"MCP-Protocol-Version": "2099-12-31"})
    equal(reply.status, 400)
    equal(reply.error["code"], -32022)
    equal(s.request("tools/list", headers={"MCP-Protocol-Version": None}).status, 200,
          "without the header the session says the version")


@test("mcp:L5 mcp:T7")
def a_wrong_version_header_is_refused_whatever_is_sent():
    s = session(version="2025-03-26")
    ping, done = s.message("ping"), {"jsonrpc": "2.0", "method": "notifications/x"}
    for version, code in (("1999-01-01", -32022), (MODERN, -32600)):
        headers = {"MCP-Protocol-Version": version}
        for message in ([ping], [done], {"jsonrpc": "2.0", "id": "owl-0-1", "result": {}}):
            reply = s.post(message, headers)
            equal((reply.status, reply.error["code"], reply.response.get("id")), (400, code, None),
                  f"{version}: {show(message)}")
        for method in ("GET", "DELETE"):
            with Connection() as c:
                reply = c.request(method, headers=dict(
                    headers, **{"Mcp-Session-Id": s.id, "Accept": "text/event-stream"}))
                equal(reply.status, 400, f"{method} with {version}")
    equal(s.request("ping").result, {}, "the session is still there")


@test("mcp:L5")
def a_header_that_says_two_things_is_refused():
    s = session()
    for headers in ({"mcp-session-id": "other"}, {"mcp-protocol-version": "2025-06-18"}):
        reply = s.request("ping", headers=headers)
        equal((reply.status, reply.error["code"]), (400, -32600), show(headers))
        contains(reply.error["message"], next(iter(headers)))
    equal(s.request("ping", headers={"mcp-session-id": s.id}).result, {}, "the same twice")
    with Connection() as c:
        reply = c.request("DELETE", headers={"Mcp-Session-Id": s.id, "mcp-session-id": "other"})
        equal(reply.status, 400, "DELETE")
    equal(s.request("ping").result, {}, "the session is still there")


@test("mcp:B2 mcp:B9 mcp:T4")
def notifications_and_responses_get_202_without_a_body():
    s = session()
    for message in ({"method": "notifications/initialized"},
                    {"method": "notifications/roots/list_changed"},
                    {"method": "notifications/of/ones/own", "params": {}},
                    {"method": "notifications/cancelled", "params": {"requestId": 999}},
                    {"method": "notifications/cancelled"},
                    {"id": "never-asked", "result": {}},
                    {"id": 77, "error": {"code": -1, "message": "no"}}):
        reply = s.post(dict(message, jsonrpc="2.0"))
        equal((reply.status, reply.messages), (202, []), show(message))


@test("CO-3.1.1a CO-3.1.1b mcp:T11")
def a_batch_is_refused():
    s = session()
    for batch in ([s.message("ping")], [s.message("ping"), s.message("tools/list")], []):
        reply = s.post(batch)
        equal(reply.status, 400, show(batch))
        equal(reply.error["code"], -32600)
        check("id" not in reply.response, show(reply.response))


@test("OR-1.8")
def unknown_methods_are_told_apart():
    s = session()
    for method in ("unknown/method", "tools", "tools/list/", "server/discover", "TOOLS/LIST",
                   "subscriptions/listen", ""):
        reply = s.request(method, {})
        equal(reply.error["code"], -32601, method)
        equal(reply.status, 200, f"status of {method!r}")


@test("OR-1.10 mcp:B1 mcp:B3")
def ids_come_back_as_they_were_sent():
    s = session()
    for request_id in (0, -5, 2**53, 2**62, "", "1", "a\"b\\c\n\u00fc\U0001f989", "x" * 250):
        s.request("ping", request_id=request_id)


@test("CO-3.1.2 mcp:L6")
def get_opens_one_stream_a_session():
    s = session()
    with get_stream(s) as stream:
        equal(stream.head.headers["content-type"], "text/event-stream")
        contains(stream.head.headers.get("cache-control", ""), "no-")
        stream.quiet(0.2)


@test("mcp:L6")
def who_comes_back_finds_its_place():
    """A client whose connection broke is let in before the server knows that it broke."""
    with Server("--limit", "streams=2") as server:
        first, second, third = (session(port=server.port) for _ in range(3))

        def status(s):
            headers = {"Accept": "text/event-stream", "Mcp-Session-Id": s.id}
            with Connection(s.port) as c:
                c.send(encode("GET", "/mcp", headers, port=s.port))
                return c.head().status

        with get_stream(first), get_stream(second):
            for _ in range(5):
                with get_stream(first) as again:
                    equal(status(third), 503, "all places are taken")
                    again.quiet(0.05)
            eventually(lambda: status(third) == 200, "the place of the first is free")
            with get_stream(third):
                equal(status(first), 503, "and has been taken")
        for s in (first, second, third):
            eventually(lambda: status(s) == 200, "everybody has gone")


@test()
def get_is_checked_like_any_request():
    s = session()
    accept = {"Accept": "text/event-stream"}
    with Connection() as c:
        equal(c.request("GET", headers=accept).status, 400, "no session")
        equal(c.request("GET", headers=dict(accept, **{"Mcp-Session-Id": "no"})).status, 404)
        status = c.request("GET", headers={"Accept": "application/json",
                                           "Mcp-Session-Id": s.id}).status
        check(status in (400, 405, 406), f"no event stream accepted: {status}")
        status = c.request("GET", headers={"Accept": "*/*, text/event-stream;q=0",
                                           "Mcp-Session-Id": s.id}).status
        equal(status, 406, "the event stream is the one type that is not accepted")


@test("mcp:T10")
def modern_requests_and_two_sessions_share_a_port_without_cross_talk():
    a, b = session(caps={"sampling": {}}), session()
    b.request("logging/setLevel", {"level": "emergency"})
    with get_stream(a) as stream_a, get_stream(b) as stream_b:
        for _ in range(5):
            facts = [json.loads(reply.text) for reply in (
                a.call("test_client_facts"), b.call("test_client_facts"),
                call("test_client_facts", {}), call("test_client_facts", {},
                                                    caps={"sampling": {}}))]
            equal([f["sampling"] for f in facts], [True, False, False, True])
            equal([f["revision"] for f in facts], [LEGACY, LEGACY, MODERN, MODERN])
        equal(len(a.call("test_tool_with_logging").notifications), 3, "a has its own level")
        equal(len(b.call("test_tool_with_logging").notifications), 0, "b has its own level")
        equal(len(call("test_tool_with_logging", {}).notifications), 0, "modern did not ask")
        a.delete()
        equal(b.request("ping").result, {}, "b outlives a")
        stream_a.next()
        stream_b.quiet(0.1)


@test("mcp:T12")
def a_session_that_names_the_stream_first_gets_what_it_can_resume():
    s = session()
    for accept, kind in (("application/json, text/event-stream", "application/json"),
                         ("text/event-stream, application/json", "text/event-stream"),
                         ("text/html, application/json, text/event-stream", "application/json"),
                         ("*/*, text/event-stream", "application/json")):
        with Connection() as c:
            message = s.message("tools/list")
            c.send(encode("POST", "/mcp", s.headers(Accept=accept), message, c.port))
            head = c.head()
            equal(head.headers["content-type"], kind, accept)
            if kind == "text/event-stream":
                first, answer = itertools.islice(c.events(head), 2)
                equal(first.data, "", "the priming event")
                equal(json.loads(answer.data)["id"], message["id"])
    with Connection() as c:  # nobody has a session yet, or it is a modern client: nothing to resume
        headers, message = modern_request("tools/list",
                                          headers={"Accept": "text/event-stream, application/json"})
        equal(c.request("POST", headers=headers, body=message).headers["content-type"],
              "application/json")


main()
