#!/usr/bin/env python3
"""Modern requests: self-describing, checked against their headers, without any session."""

from client import *


@test("mcp:S1")
def discover_says_what_the_server_can():
    reply = modern("server/discover")
    equal(reply.status, 200)
    r = reply.result
    equal(r["resultType"], "complete")
    contains(r["supportedVersions"], MODERN)
    equal(r["capabilities"]["tools"], {"listChanged": True})
    equal(r["capabilities"]["resources"], {"subscribe": True, "listChanged": True})
    equal(r["capabilities"]["prompts"], {"listChanged": True})
    equal(r["capabilities"]["completions"], {})
    contains(r["instructions"], "Every tool")
    check(type(r["ttlMs"]) is int and r["ttlMs"] >= 0, "ttlMs")
    contains(("public", "private"), r["cacheScope"])
    info = r["_meta"][META + "serverInfo"]
    equal(info["name"], "everything-server")
    check(info["version"], "serverInfo has no version")
    check("mcp-session-id" not in reply.headers, "modern requests have no session")


@test("mcp:S5")
def client_info_is_optional():
    equal(modern("server/discover", meta={META + "clientInfo": None}).status, 200)


@test("mcp:S2 mcp:S3")
def every_result_has_its_type_and_lists_their_cache_hints():
    cacheable = [("tools/list", {}), ("resources/list", {}), ("resources/templates/list", {}),
                 ("prompts/list", {}), ("resources/read", {"uri": "test://static-text"})]
    for method, params in cacheable:
        r = modern(method, params).result
        equal(r["resultType"], "complete", method)
        check(type(r["ttlMs"]) is int and r["ttlMs"] >= 0, f"ttlMs of {method}")
        contains(("public", "private"), r["cacheScope"], method)
    for reply in (call("test_simple_text"), call("test_error_handling"),
                  modern("prompts/get", {"name": "test_simple_prompt"})):
        equal(reply.result["resultType"], "complete")
        check("ttlMs" not in reply.result, "a call is not cacheable")


@test("mcp:S4")
def missing_meta_members_are_invalid_params():
    for meta in ({META + "protocolVersion": None}, {META + "clientCapabilities": None},
                 {META + "clientCapabilities": "all"}):
        reply = modern("server/discover", meta=meta)
        equal((reply.status, reply.error["code"]), (400, -32602), show(meta))
    headers, message = modern_request("server/discover")
    for params in (None, {}, {"_meta": {}}, {"_meta": None}):
        message["params"] = params
        if params is None:
            del message["params"]
        with Connection() as c:
            c.send(encode("POST", "/mcp", headers, message, c.port))
            reply = read_reply(c, message["id"])
            equal((reply.status, reply.error["code"]), (400, -32602), show(params))


@test("mcp:S6")
def an_unknown_version_is_refused_with_those_that_are_served():
    version = "v999.0.0"
    reply = modern("server/discover", meta={META + "protocolVersion": version},
                   headers={"MCP-Protocol-Version": version})
    equal((reply.status, reply.error["code"]), (400, -32022))
    equal(reply.error["data"]["requested"], version)
    for long in ("v" * 4000, "\u00fc" * 1999, "v" + "\U0001f989" * 999):
        reply = modern("server/discover", meta={META + "protocolVersion": long},
                       headers={"MCP-Protocol-Version": long})
        requested = reply.error["data"]["requested"]
        check(len(requested) > 50 and long.startswith(requested), f"requested {requested!r}")
    served = modern("server/discover").result["supportedVersions"]
    supported = reply.error["data"]["supported"]
    check(supported and set(supported) <= set(served), f"supported {supported}, served {served}")


@test()
def a_legacy_version_in_meta_is_refused():
    reply = modern("tools/list", meta={META + "protocolVersion": LEGACY},
                   headers={"MCP-Protocol-Version": LEGACY})
    equal((reply.status, reply.error["code"]), (400, -32022))


@test()
def an_unknown_version_header_without_meta_is_refused():
    with Connection() as c:
        headers = dict(JSON_HEADERS, **{"MCP-Protocol-Version": "2031-01-01"})
        c.send(encode("POST", "/mcp", headers, {"jsonrpc": "2.0", "id": 3, "method": "tools/list"}))
        reply = read_reply(c, 3)
        equal((reply.status, reply.error["code"]), (400, -32022))


@test("mcp:T5")
def headers_must_say_what_the_body_says():
    name = {"name": "test_simple_text"}
    for what, method, params, headers in (
            ("another version", "server/discover", {}, {"MCP-Protocol-Version": "v999"}),
            ("a legacy version", "server/discover", {}, {"MCP-Protocol-Version": LEGACY}),
            ("no version", "server/discover", {}, {"MCP-Protocol-Version": None}),
            ("another method", "tools/list", {}, {"Mcp-Method": "prompts/list"}),
            ("no method", "tools/list", {}, {"Mcp-Method": None}),
            ("an empty method", "tools/list", {}, {"Mcp-Method": ""}),
            ("another case", "tools/list", {}, {"Mcp-Method": "TOOLS/LIST"}),
            ("another name", "tools/call", name, {"Mcp-Name": "echo"}),
            ("another case of the name", "tools/call", name, {"Mcp-Name": "Test_Simple_Text"}),
            ("no name", "tools/call", name, {"Mcp-Name": None}),
            ("no prompt name", "prompts/get", {"name": "test_simple_prompt"}, {"Mcp-Name": None}),
            ("another uri", "resources/read", {"uri": "test://static-text"},
             {"Mcp-Name": "test://static-binary"}),
            ("no uri", "resources/read", {"uri": "test://static-text"}, {"Mcp-Name": None}),
            ("bad base64", "tools/call", name, {"Mcp-Name": "=?base64?dGVzdA?="}),
            ("two versions", "server/discover", {}, {"mcp-protocol-version": LEGACY}),
            ("two methods", "tools/list", {}, {"mcp-method": "prompts/list"}),
            ("two names", "tools/call", name, {"mcp-name": "echo"}),
            ("a name that the body lacks", "tools/call", {}, {"Mcp-Name": "echo"}),
            ("a name that is none", "tools/call", {"name": 5}, {"Mcp-Name": "6"})):
        reply = modern(method, params, headers=headers)
        equal((reply.status, reply.error["code"]), (400, -32020), what)
    reply = modern("server/discover", meta={META + "protocolVersion": "v999.0.0"})
    equal((reply.status, reply.error["code"]), (400, -32020), "mismatch outranks unsupported")


@test("mcp:T5 mcp:T9")
def headers_are_read_as_http_reads_them():
    name = {"name": "test_simple_text"}
    for what, headers in (
            ("padded", {"Mcp-Name": "  test_simple_text \t "}),
            ("lower case", {"Mcp-Method": None, "mcp-method": "tools/call"}),
            ("upper case", {"Mcp-Method": None, "MCP-METHOD": "tools/call"}),
            ("base64", {"Mcp-Name": "=?base64?dGVzdF9zaW1wbGVfdGV4dA==?="}),
            ("the same twice", {"mcp-name": "test_simple_text"}),
            ("stray session", {"Mcp-Session-Id": "0-1", "Last-Event-ID": "7"}),
            ("two of them", {"Mcp-Session-Id": "0-1", "mcp-session-id": session().id}),
            ("two events", {"Last-Event-ID": "1-1", "last-event-id": "1-2"})):
        reply = modern("tools/call", name, headers=headers)
        equal(reply.status, 200, what)
        contains(reply.text, "simple text", what)
        check("mcp-session-id" not in reply.headers, "the session id is echoed")


@test("mcp:T5")
def names_that_no_header_can_hold_travel_in_base64():
    uri = "test://template/\u4e16 \u754c/data"
    reply = modern("resources/read", {"uri": uri}, headers={
        "Mcp-Name": "=?base64?dGVzdDovL3RlbXBsYXRlL+S4liDnlYwvZGF0YQ==?="})
    check(reply.status == 200 or reply.error["code"] != -32020, "the header was not understood")


@test("mcp:T6")
def argument_headers_mirror_their_arguments():
    def region(value, header):
        headers = {} if header is None else {"Mcp-Param-Region": header}
        arguments = {} if value is None else {"region": value}
        return call("test_header_region", arguments, headers=headers)

    for value, header in (("us-west1", "us-west1"), ("us west 1", "us west 1"), ("", ""),
                          ("Hello", "=?base64?SGVsbG8=?="), ("SGVsbG8=", "SGVsbG8="),
                          ("=?base64?SGVsbG8=", "=?base64?SGVsbG8="),
                          (" padded ", "=?base64?IHBhZGRlZCA=?="),
                          ("line1\nline2", "=?base64?bGluZTEKbGluZTI=?="),
                          ("\u65e5\u672c\u8a9e", "=?base64?5pel5pys6Kqe?="),
                          ("=?base64?literal?=", "=?base64?PT9iYXNlNjQ/bGl0ZXJhbD89?="),
                          (None, None)):
        reply = region(value, header)
        equal((reply.status, reply.text), (200, f"region={'none' if value is None else value}"),
              f"{value!r} as {header!r}")
    for value, header in (("Hello", "=?base64?SGVsbG8?="), ("Hello", "=?base64?SGVs!!!bG8=?="),
                          ("Hello", "World"), ("Hello", None), ("Hello", "hello"),
                          ("Hello", "=?BASE64?SGVsbG8=?=")):
        reply = region(value, header)
        equal((reply.status, reply.error["code"]), (400, -32020), f"{value!r} as {header!r}")
    contains(region("Hello", None).error["message"], "Mcp-Param-Region")
    equal(region(None, "Hello").status, 400, "a header without its argument")
    for value, header in ((7, "Hello"), (7, None), (True, "yes")):
        equal(region(value, header).error["code"], -32020, f"{value!r} as {header!r}")
    for value, header in ((7, "7"), ([], None), ({"a": 1}, None)):
        check(region(value, header).result["isError"], f"{value!r} is for the tool to refuse")
    for argument in ("a", "b", "a, b"):
        reply = call("test_header_region", {"region": argument},
                     headers={"Mcp-Param-Region": "a", "mcp-param-region": "b"})
        equal((reply.status, reply.error["code"]), (400, -32020), f"two values for {argument}")


@test("mcp:T6")
def headers_mirror_arguments_within_arguments():
    def zone(arguments, headers):
        return call("test_header_region", arguments, headers=headers)

    for arguments, headers in (
            ({"in": {"zone": 42}}, {"Mcp-Param-Zone": "42"}),
            ({"in": {"zone": 42}}, {"MCP-PARAM-ZONE": "042"}),
            ({"in": {"a": {"zone": 1}, "zone": -7}, "zone": 2}, {"mcp-param-zone": "-7"}),
            ({"in": {"zone": 42}, "region": "eu"},
             {"Mcp-Param-Zone": "42", "Mcp-Param-Region": "eu", "Mcp-Param-Other": "x"}),
            ({"in": {"zone": None}}, {}), ({"in": {}}, {}), ({"in": None}, {}), ({"in": [42]}, {}),
            ({}, {"Mcp-Param-Zon": "1", "Mcp-Param-Zones": "1", "Mcp-Param-": "1"})):
        equal(zone(arguments, headers).status, 200, f"{arguments} with {headers}")
    for arguments, headers in (
            ({"in": {"zone": 42}}, {}), ({"in": {"zone": 42}}, {"Mcp-Param-Zone": "43"}),
            ({"in": {"zone": 42}, "region": "eu"}, {"Mcp-Param-Zone": "42"}),
            ({"in": {}}, {"Mcp-Param-Zone": "42"}), ({"zone": 42}, {"Mcp-Param-Zone": "42"}),
            (None, {"Mcp-Param-Zone": "42"})):
        reply = zone(arguments, headers)
        equal((reply.status, reply.error["code"]), (400, -32020), f"{arguments} with {headers}")


@test("mcp:S8")
def removed_and_unknown_methods_are_not_found():
    for method in ("initialize", "ping", "logging/setLevel", "resources/subscribe",
                   "resources/unsubscribe", "unknown/method", "tools/list/", "tasks/list",
                   "sampling/createMessage"):
        reply = modern(method, {"level": "info", "uri": "test://static-text"})
        equal((reply.status, reply.error["code"]), (404, -32601), method)


@test("mcp:S7")
def an_undeclared_capability_is_named():
    reply = call("test_missing_capability", {})
    equal((reply.status, reply.error["code"]), (400, -32021))
    equal(reply.error["data"]["requiredCapabilities"], {"sampling": {}})
    equal(call("test_missing_capability", {}, caps={"sampling": {}}).text,
          "The client can sample.")


@test("mcp:S7")
def nothing_is_remembered_between_requests_of_a_connection():
    with Connection() as c:
        call("test_missing_capability", {}, caps={"sampling": {}}, connection=c)
        equal(call("test_missing_capability", {}, connection=c).error["code"], -32021)


@test("mcp:T7")
def a_body_is_one_request_or_notification():
    headers, message = modern_request("server/discover")
    for body in ([message], [], {"jsonrpc": "2.0", "id": 5, "result": {}}):
        with Connection() as c:
            c.send(encode("POST", "/mcp", headers, body, c.port))
            reply = read_reply(c, None)
            equal(reply.status, 400, show(body))
            equal(reply.error["code"], -32600, show(body))


@test("mcp:B2 mcp:T4")
def a_notification_gets_202_and_cancels_nothing():
    before = counters()["cancelled"]
    headers, message = modern_request("tools/call", {"name": "test_sleep",
                                                     "arguments": {"ms": 400}})
    with Connection() as running, Connection() as other:
        running.send(encode("POST", "/mcp", headers, message, running.port))
        eventually(lambda: counters()["sleeping"] >= 1, "the call runs")
        fields, cancel = modern_request("notifications/cancelled", {"requestId": message["id"]})
        del cancel["id"]
        other.send(encode("POST", "/mcp", fields, cancel, other.port))
        reply = read_reply(other, None)
        equal((reply.status, reply.messages), (202, []))
        equal(read_reply(running, message["id"]).text, "slept 400 ms")
    equal(counters()["cancelled"], before)


@test()
def the_order_of_checks_is_fixed():
    """Each request is wrong in two ways; the earlier check answers."""
    equal(modern("unknown/method", headers={"Mcp-Method": "other"}).error["code"], -32020)
    equal(modern("unknown/method", meta={META + "clientCapabilities": None}).error["code"], -32602)
    equal(modern("unknown/method", meta={META + "protocolVersion": "v9"},
                 headers={"MCP-Protocol-Version": "v9"}).error["code"], -32022)
    for method in ("unknown/method", "ping"):
        equal(modern(method, meta={META + "logLevel": "loud"}).error["code"], -32601)
    with Connection() as c:
        headers, message = modern_request("unknown/method")
        c.send(encode("POST", "/mcp", dict(headers, Origin="http://evil.example.com"), message))
        equal(read_reply(c, None).status, 403)


@test()
def only_the_revisions_that_were_chosen_are_served():
    with Server("--revisions", MODERN) as s:
        equal(modern("server/discover", port=s.port).result["supportedVersions"], [MODERN])
        with Connection(s.port) as c:
            c.send(encode("POST", "/mcp", JSON_HEADERS, {
                "jsonrpc": "2.0", "id": 1, "method": "initialize", "params": initialize_params()}))
            reply = read_reply(c, 1)
            equal((reply.status, reply.error["code"]), (400, -32022), "initialize was served")
            data = reply.error["data"]
            equal((data["supported"], data["requested"]), ([MODERN], LEGACY))
    with Server("--revisions", LEGACY) as s:
        equal(Session(port=s.port).version, LEGACY)
        reply = modern("server/discover", port=s.port)
        equal((reply.status, reply.error["code"]), (400, -32600),
              "an error that is not one of the modern ones makes the client initialize")
        contains(reply.error["message"], LEGACY)


main()
