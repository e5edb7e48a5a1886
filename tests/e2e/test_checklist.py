#!/usr/bin/env python3
"""Lines of the protocol's checklist that no other file shows: what must hold everywhere, always."""

import base64
import concurrent.futures

from client import *

EVERYTHING = {"elicitation": {"form": {}, "url": {}}, "sampling": {"tools": {}}, "roots": {}}
LISTS = {"tools/list": "tools", "resources/list": "resources", "prompts/list": "prompts",
         "resources/templates/list": "resourceTemplates"}
ARGUMENTS = {"test_sampling": {"prompt": "Hi"}, "test_elicitation": {"message": "Who?"}}
ANSWERS = {"elicitation/create": {"action": "accept", "content": {
               "name": "Owl", "username": "owl", "email": "owl@example.org"}},
           "sampling/createMessage": {"role": "assistant", "model": "m",
                                      "content": {"type": "text", "text": "hoo"}},
           "roots/list": {"roots": []}}

# One request of every method that a modern client may send and that ends by itself.
REQUESTS = [
    ("server/discover", {}), *((method, {}) for method in LISTS),
    ("resources/read", {"uri": "test://static-text"}),
    ("prompts/get", {"name": "test_simple_prompt"}),
    ("completion/complete", {"ref": {"type": "ref/prompt", "name": "test_prompt_with_arguments"},
                             "argument": {"name": "arg1", "value": ""}}),
    ("skills/list", {}), ("skills/get", {"uri": "skill://first-steps/SKILL.md"}),
    ("resources/directory/read", {"uri": "skill://first-steps"}),
    ("tools/call", {"name": "test_structured_content"}),
    ("tools/call", {"name": "test_error_handling"}),
]


def asking_tools():
    return [t["name"] for t in modern("tools/list").result["tools"]
            if t["name"].startswith(("test_input_required", "test_elicitation", "test_sampling"))]


def harmless_tools():
    """Tools whose calls are short and change nothing that another test looks at."""
    slow = ("test_sleep", "test_timeout", "test_reconnection")
    tools = modern("tools/list").result["tools"]
    return [t for t in tools
            if t["name"].startswith(("test_", "echo")) and t["name"] not in slow
            and "trigger" not in t["name"]]


# ---- base ---------------------------------------------------------------------------------------


@test("mcp:B2")
def notifications_have_no_id():
    chatty = {"progressToken": "t", META + "logLevel": "debug"}
    with Stdio() as s, listen({"toolsListChanged": True}) as stream:
        heard = [stream.next()]
        for client in (call, s.call):
            for tool in ("test_tool_with_progress", "test_logging_tool"):
                heard += client(tool, {}, meta=chatty).notifications
        call("test_trigger_tool_change")
        heard.append(stream.next())
        call("test_trigger_tool_change")
        equal({m["method"] for m in heard}, {
            "notifications/progress", "notifications/message", "notifications/tools/list_changed",
            "notifications/subscriptions/acknowledged"})
        equal([m for m in heard if "id" in m], [])


@test("mcp:B2 mcp:T1")
def notifications_get_no_answer_on_stdio():
    with Stdio() as s:
        s.initialize()
        for method in ("notifications/cancelled", "notifications/initialized", "no/such/method",
                       "tools/list", "ping", ""):
            s.notify(method, {"requestId": "x"})
            s.send({"jsonrpc": "2.0", "method": method})
        equal(s.request("ping").result, {}, "the first answer is to the first request")


def questions(client, tool, answer):
    """Calls an asking tool of a legacy client; the ids of all that it was asked."""
    ids = []
    client.send({"jsonrpc": "2.0", "id": f"call {tool}", "method": "tools/call",
                 "params": {"name": tool, "arguments": ARGUMENTS.get(tool, {})}})
    while True:
        message = client.read()
        if "method" not in message:
            equal(message["id"], f"call {tool}")
            return ids
        ids.append(message["id"])
        answer(message)


@test("mcp:B1 mcp:B4")
def no_question_has_the_id_of_another():
    with Stdio() as s:
        s.initialize(caps=EVERYTHING)
        ids = []
        for tool in asking_tools() * 2:
            ids += questions(s, tool, lambda q: s.send({
                "jsonrpc": "2.0", "id": q["id"], "result": ANSWERS[q["method"]]}))
    check(len(ids) > 20, f"only {len(ids)} questions")
    equal(len(set(ids)), len(ids), "an id was used twice")
    equal({type(i) for i in ids} - {str, int}, set(), "types of ids")


@test("mcp:B7")
def a_code_of_the_client_means_nothing_but_a_refusal():
    """The codes from -32000 to -32019 were everybody's; -32002 is no missing resource here."""
    with Stdio() as s:
        s.initialize(caps=EVERYTHING)
        texts = set()
        for code in (-1, -32000, -32001, -32002, -32004, -32019, -32042, -32601, 7):
            s.send({"jsonrpc": "2.0", "id": code, "method": "tools/call",
                    "params": {"name": "test_sampling", "arguments": {"prompt": "x"}}})
            question = s.read()
            s.send({"jsonrpc": "2.0", "id": question["id"],
                    "error": {"code": code, "message": "no"}})
            result = s.answer(code).result
            equal(result["isError"], True)
            texts.add(result["content"][0]["text"])
        equal(len(texts), 1, "every refusal is told alike")


META_KEY = re.compile(r"([A-Za-z]([A-Za-z0-9-]*[A-Za-z0-9])?(\.[A-Za-z]([A-Za-z0-9-]*"
                      r"[A-Za-z0-9])?)*/)?([A-Za-z0-9]([A-Za-z0-9._-]*[A-Za-z0-9])?)?")


def meta_keys(value):
    """Of every _meta in a message, however deep."""
    if isinstance(value, list):
        for item in value:
            yield from meta_keys(item)
    elif isinstance(value, dict):
        yield from value.get("_meta", {})
        for item in value.values():
            yield from meta_keys(item)


@test("mcp:B8")
def keys_of_meta_obey_their_grammar():
    keys = set()
    for method, params in REQUESTS:
        keys |= set(meta_keys(modern(method, params, meta={"progressToken": 1}).messages))
    for tool in harmless_tools():
        keys |= set(meta_keys(call(tool["name"], {}, caps=EVERYTHING).messages))
    check({META + "serverInfo", "owlclaw/error", "com.example/colour"} <= keys, f"only {keys}")
    equal([key for key in keys if not META_KEY.fullmatch(key)], [])


@test("mcp:B8")
def a_trace_is_taken_only_in_the_form_of_the_standard():
    trace = "4bf92f3577b34da6a3ce929d0e0e4736"

    def told(traceparent):
        result = call("test_error_handling", {}, meta={"traceparent": traceparent}).result
        return result["_meta"]["owlclaw/error"]["trace_id"]

    equal(told(f"00-{trace}-00f067aa0ba902b7-01"), trace)
    for bad in (f"00-{trace}-0000000000000000-01", f"ff-{trace}-00f067aa0ba902b7-01",
                f"00-{trace.upper()}-00f067aa0ba902b7-01", trace, "", f"00-{'0' * 32}-1-01"):
        check(told(bad) not in ("", trace, trace.upper(), "0" * 32), f"{bad!r} was taken")


@test("mcp:B9")
def a_cancellation_that_races_with_the_answer_is_silent():
    with Stdio() as s:
        s.initialize()
        for i in range(200):
            s.send({"jsonrpc": "2.0", "id": i, "method": "tools/call",
                    "params": {"name": "test_sleep", "arguments": {"ms": i % 12}}})
            s.notify("notifications/cancelled", {"requestId": i - i % 3})
        s.send({"jsonrpc": "2.0", "id": "end", "method": "tools/call",
                "params": {"name": "test_sleep", "arguments": {"ms": 400}}})
        answered = []
        while (message := s.read())["id"] != "end":
            check("result" in message, f"not a result: {show(message)}")
            answered.append(message["id"])
        equal(len(set(answered)), len(answered), "a call was answered twice")
        for i in range(200):
            check(i % 3 == 0 or i in answered, f"call {i} was not cancelled and has no answer")


@test("mcp:B11")
def extensions_are_optional_for_both_sides():
    for caps in (modern("server/discover").result["capabilities"], session().info["capabilities"]):
        for extension in caps["extensions"]:
            check(META_KEY.fullmatch(extension) and "/" in extension, f"the id {extension!r}")
    unknown = {"extensions": {"com.example/unknown": {"a": 1}}}
    for caps in ({}, unknown):
        equal(call("echo", {"message": "x"}, caps=caps).text, "x")
        equal(session(caps=caps).call("echo", {"message": "x"}).text, "x")


# ---- modern --------------------------------------------------------------------------------------


@test("mcp:S2")
def every_result_has_its_type():
    with Stdio() as s:
        for request in (modern, s.modern):
            for method, params in REQUESTS:
                equal(request(method, params).result["resultType"], "complete", method)
            for tool in asking_tools():
                params = {"name": tool, "arguments": ARGUMENTS.get(tool, {})}
                reply = request("tools/call", params, caps=EVERYTHING)
                equal(reply.result["resultType"], "input_required", tool)
        _, message = modern_request("subscriptions/listen", {"notifications": {}}, request_id="l")
        s.send(message)
        s.read()
        s.end_input()
        equal(s.answer("l").result["resultType"], "complete", "the end of a subscription")


@test("mcp:S3")
def all_pages_of_a_list_may_be_cached_alike():
    with Server("--page-items", "2") as s:
        for method in LISTS:
            hints, params = [], {}
            while params is not None:
                result = modern(method, params, port=s.port).result
                hints.append((result["ttlMs"], result["cacheScope"]))
                params = {"cursor": result["nextCursor"]} if "nextCursor" in result else None
            equal(len(set(hints)), 1, f"hints of {method}")
    for tool in asking_tools():
        result = call(tool, ARGUMENTS.get(tool), caps=EVERYTHING).result
        equal([k for k in ("ttlMs", "cacheScope") if k in result], [], tool)


def verify_stream(messages, token):
    """Of one modern call: notifications of its own, then the response, and nothing else."""
    for message in messages[:-1]:
        contains(("notifications/progress", "notifications/message"), message.get("method"))
        check("id" not in message, f"a request: {show(message)}")
        equal(message["params"].get("progressToken", token), token)
    check("id" in messages[-1] and "method" not in messages[-1], f"last: {show(messages[-1])}")


@test("mcp:S9 mcp:T8 mcp:S17", timeout=60)
def a_modern_client_hears_of_its_request_and_nothing_else():
    """Many calls at once, all of them as talkative as they can be, and lists that change."""
    tools = [t["name"] for t in harmless_tools()] * 2

    def one(i):
        meta = {"progressToken": f"token-{i}", META + "logLevel": "debug"}
        verify_stream(call(tools[i], {}, caps=EVERYTHING, meta=meta).messages, f"token-{i}")

    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        running = [pool.submit(one, i) for i in range(len(tools))]
        for _ in range(10):
            call("test_trigger_tool_change")
            call("test_touch_resource", {})
        for future in running:
            future.result()


@test("mcp:S9 mcp:S17")
def nothing_is_asked_or_cancelled_on_a_modern_pipe():
    with Stdio() as s:
        _, message = modern_request("subscriptions/listen", {"notifications": {}}, request_id="l")
        s.send(message)
        equal(s.read()["method"], "notifications/subscriptions/acknowledged")
        for tool in (*asking_tools(), "test_timeout", "test_streaming_elicitation"):
            meta = {"progressToken": tool, META + "logLevel": "debug"}
            reply = s.call(tool, ARGUMENTS.get(tool), caps=EVERYTHING, meta=meta)
            verify_stream(reply.messages, tool)
        _, message = modern_request("tools/call", {"name": "test_sleep",
                                                   "arguments": {"ms": 60000}}, request_id="s")
        s.send(message)
        s.notify("notifications/cancelled", {"requestId": "s"})
        s.end_input()
        while (last := s.read()) is not None:
            check(last.get("id") == "l" or last.get("params", {}).get("requestId") == "l",
                  f"not about the subscription: {show(last)}")


@test("mcp:S10")
def only_three_methods_ask():
    for method, params in REQUESTS:
        if method not in ("tools/call", "prompts/get", "resources/read"):
            params = dict(params, inputResponses={"user_name": ANSWERS["elicitation/create"]})
            equal(modern(method, params, caps=EVERYTHING).result["resultType"], "complete", method)
    for tool in asking_tools():
        result = call(tool, ARGUMENTS.get(tool), caps=EVERYTHING).result
        check(result.get("inputRequests") or result.get("requestState"), f"{tool} asks nothing")
        for question in result["inputRequests"].values():
            equal(set(question), {"method", "params"}, tool)
            contains(ANSWERS, question["method"])


@test("mcp:S14")
def log_messages_belong_to_the_request_that_wants_them():
    every = {"toolsListChanged": True, "promptsListChanged": True, "resourcesListChanged": True,
             "resourceSubscriptions": ["test://watched-resource"]}
    s = session()
    with listen(every) as stream, get_stream(s) as get:
        stream.next()
        wanted = call("test_logging_tool", {}, meta={META + "logLevel": "debug"})
        equal([m for m in wanted.notifications if m["method"] != "notifications/message"], [])
        check(len(wanted.notifications) >= 8, "not every level was logged")
        equal(call("test_logging_tool", {}).notifications, [])
        stream.quiet(0.2)
        get.quiet(0.1)


@test("mcp:S15")
def an_acknowledgement_lists_only_what_the_server_can_tell():
    with Stdio("--stdio", program="hello-server") as s:
        _, message = modern_request("subscriptions/listen", {"notifications": {
            "toolsListChanged": True, "promptsListChanged": True, "resourcesListChanged": True,
            "resourceSubscriptions": ["x:y"], "unheardOf": True}}, request_id=9)
        s.send(message)
        ack = s.read()
        equal(ack["params"], {"_meta": {META + "subscriptionId": 9},
                              "notifications": {"toolsListChanged": True}})
        s.notify("notifications/cancelled", {"requestId": 9})


@test("mcp:S19 mcp:S27")
def lists_are_the_same_for_everybody():
    def lists(**more):
        return {m: modern(m, **more).result for m in LISTS}

    first = lists()
    s = session(caps=EVERYTHING)
    s.request("resources/subscribe", {"uri": "test://watched-resource"})
    s.request("logging/setLevel", {"level": "debug"})
    for tool in asking_tools():
        call(tool, ARGUMENTS.get(tool), caps=EVERYTHING)
    with Connection() as kept, listen({"toolsListChanged": True}):
        for i in range(10):
            other = {META + "clientInfo": {"name": f"client {i}", "version": str(i)}}
            equal(lists(meta=other, caps=EVERYTHING if i % 2 else {}), first)
            equal(lists(connection=kept, headers={"X-MCP-Client-ID": f"c{i}"}), first)
    for method, key in LISTS.items():
        names = [[item["name"] for item in result[key]]
                 for result in (s.request(method).result, first[method])]
        equal(names[0], names[1], "a session sees the same")
        equal(first[method]["cacheScope"], "public", "nobody's own data are in it")


@test("mcp:S20 mcp:S8 mcp:L11")
def what_is_declared_is_served_and_nothing_else():
    needs = {"tools": ["tools/list", "tools/call"], "prompts": ["prompts/list", "prompts/get"],
             "resources": ["resources/list", "resources/templates/list", "resources/read"],
             "completions": ["completion/complete"]}
    params = {"name": "x", "uri": "x:y"}
    with Server("--port", "0", program="embed") as few:
        for port, expected in ((few.port, {"tools"}), (server().port, set(needs))):
            s = Session(port=port)
            caps = modern("server/discover", port=port).result["capabilities"]
            equal(set(caps) & set(needs), expected)
            equal(set(s.info["capabilities"]) & set(needs), expected)
            for capability, methods in needs.items():
                for method in methods:
                    reply = modern(method, params, port=port)
                    code = reply.response.get("error", {}).get("code")
                    equal((reply.status == 404, code == -32601), (capability not in caps,) * 2,
                          f"modern {method}")
                    code = s.request(method, params).response.get("error", {}).get("code")
                    equal(code == -32601, capability not in caps, f"legacy {method}")


def fits(value, schema):
    """As much of JSON Schema as the tools here use to describe their results."""
    kinds = {"object": dict, "string": str, "number": (int, float), "integer": int,
             "boolean": bool, "array": list}
    if "type" in schema and not isinstance(value, kinds[schema["type"]]):
        return False
    if set(schema.get("required", [])) - set(value if isinstance(value, dict) else ()):
        return False
    return all(fits(value[key], inner) for key, inner in schema.get("properties", {}).items()
               if key in value)


@test("mcp:S22")
def structured_content_fits_its_schema():
    tools = [t for t in modern("tools/list").result["tools"] if "outputSchema" in t]
    check(tools, "no tool has an output schema")
    for tool in tools:
        for reply in (call(tool["name"], {}), session().call(tool["name"])):
            contains(reply.result, "structuredContent", tool["name"])
            check(fits(reply.result["structuredContent"], tool["outputSchema"]), tool["name"])
            check(reply.result["content"], "content is always there")


@test("mcp:S23")
def bad_arguments_are_told_to_the_model():
    for arguments in ({}, {"message": 7}, {"message": None}, {"message": ["x"]}):
        for reply in (call("echo", arguments), session().call("echo", arguments)):
            equal((reply.status, reply.result["isError"]), (200, True), show(arguments))
            contains(reply.result["content"][0]["text"], "message")


@test("mcp:S24")
def what_names_no_resource_is_refused_and_bytes_travel_in_base64():
    for uri in ("file:///etc/passwd", "file:///../../etc/passwd", "../etc/passwd", "/etc/passwd",
                "skill://first-steps/../../../etc/passwd", "skill://first-steps/%2e%2e/SKILL.md",
                "test://template/../static-text/data", "test://static-text\0", "test://\u00fc",
                "test://template/a/../../b/data", "test://template/\0/data"):
        name = "=?base64?" + base64.b64encode(uri.encode()).decode() + "?="
        reply = modern("resources/read", {"uri": uri}, headers={"Mcp-Name": name})
        equal(reply.error["code"], -32602, show(uri))
    blob = modern("resources/read", {"uri": "test://static-binary"}).result["contents"][0]["blob"]
    check(base64.b64decode(blob, validate=True).startswith(b"\x89PNG"), "not a picture")


# ---- legacy --------------------------------------------------------------------------------------


@test("mcp:L6")
def responses_do_not_come_on_the_stream_of_a_session():
    s = session(caps={"elicitation": {}})
    with get_stream(s) as stream:
        equal(stream.head.headers["content-type"], "text/event-stream")
        for tool in ("echo", "test_tool_with_logging", "test_later", "test_error_handling"):
            check("result" in s.call(tool, {"message": "x"}).response, tool)
        check("error" in s.request("no/such/method").response, "an unknown method")
        equal(s.post({"jsonrpc": "2.0", "id": "nobody's", "result": {}}).status, 202)
        stream.quiet(0.3)


@test("mcp:L10")
def a_session_is_asked_only_what_it_declared():
    for caps, allowed in (({}, set()), ({"roots": {}}, {"roots/list"}),
                          ({"sampling": {}}, {"sampling/createMessage"}),
                          ({"elicitation": {}}, {"elicitation/create"})):
        with Stdio() as s:
            s.initialize(caps=caps)
            asked = set()

            def answer(question):
                asked.add(question["method"])
                s.send({"jsonrpc": "2.0", "id": question["id"],
                        "result": ANSWERS[question["method"]]})

            for tool in asking_tools():
                questions(s, tool, answer)
            equal(asked, allowed, show(caps))


# ---- transports ----------------------------------------------------------------------------------


@test("mcp:T9 mcp:L6")
def a_modern_endpoint_has_nothing_but_post():
    with Server("--revisions", MODERN) as s:
        for method in ("GET", "DELETE", "PUT"):
            for headers in ({"Accept": "text/event-stream"}, {"Mcp-Session-Id": "0-" + "0" * 32}):
                with Connection(s.port) as c:
                    response = c.request(method, headers=headers)
                    equal((response.status, response.headers["allow"]), (405, "POST, OPTIONS"),
                          method)
        stray = {"Mcp-Session-Id": "x", "Last-Event-ID": "3"}
        reply = modern("tools/list", port=s.port, headers=stray)
        equal(reply.status, 200)
        check("mcp-session-id" not in reply.headers, "the session id is echoed")
        with Connection(s.port) as c:
            equal(c.request("OPTIONS").headers["allow"], "POST, OPTIONS")


@test("mcp:T6")
def argument_headers_with_bad_characters_are_refused():
    for value in ("\x01", "\x7f", "a\x00b"):
        headers, message = modern_request(
            "tools/call", {"name": "test_header_region", "arguments": {"region": value}},
            headers={"Mcp-Param-Region": value})
        with Connection() as c:
            c.send(encode("POST", "/mcp", headers, message, c.port))
            equal(c.response().status, 400, show(value))
    reply = call("test_header_region", {"region": "\u00fc"},
                 headers={"Mcp-Param-Region": "\u00fc"})
    equal((reply.status, reply.error["code"]), (400, -32020), "not ASCII")


main()
