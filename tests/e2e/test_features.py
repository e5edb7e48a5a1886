#!/usr/bin/env python3
"""Tools, resources, prompts and completion: what both eras share, and where they differ."""

import base64

from client import *


class Client:
    """The same face for both eras and every transport."""

    def __init__(self, send, with_headers=False):
        self.send = send
        self.with_headers = with_headers

    def request(self, method, params=None, headers=None):
        more = {"headers": headers} if headers and self.with_headers else {}
        return self.send(method, params, **more)

    def call(self, tool, arguments=None):
        return self.request("tools/call", {"name": tool, "arguments": arguments or {}})


def clients():
    yield "legacy, HTTP", Client(session().request, with_headers=True)
    yield "modern, HTTP", Client(modern, with_headers=True)
    with Sse(version=LEGACY) as s:
        yield "legacy, old SSE", Client(s.request)
    with Sse() as s:
        yield "modern, old SSE", Client(s.modern)
    with Stdio() as s:
        s.initialize()
        yield "legacy, stdio", Client(s.request)
    with Stdio() as s:
        yield "modern, stdio", Client(s.modern)


def both(function):
    """Runs a test in both eras, over every transport."""
    def run():
        for what, client in clients():
            try:
                function(client)
            except Failure as error:
                raise Failure(f"{what}: {error}") from None
    run.__name__ = function.__name__
    return run


def content(reply):
    return reply.result["content"]


@test("OR-1.4 OD-8.4.3 mcp:S19")
@both
def tools_are_listed_in_the_order_of_their_registration(client):
    tools = client.request("tools/list").result["tools"]
    names = [t["name"] for t in tools]
    equal(names[:3], ["test_simple_text", "echo", "test_image_content"])
    equal(len(set(names)), len(names), "a name is listed twice")
    check(len(names) > 35, f"only {len(names)} tools")
    for tool in tools:
        check(tool["description"], f"{tool['name']} has no description")
        equal(tool["inputSchema"]["type"], "object", tool["name"])
    echo = tools[1]
    equal(echo["annotations"], {"readOnlyHint": True})
    equal(echo["inputSchema"]["required"], ["message"])
    structured = next(t for t in tools if t["name"] == "test_structured_content")
    equal(structured["title"], "Structured content")
    equal(structured["outputSchema"]["required"], ["temperature", "conditions"])
    equal(client.request("tools/list").result["tools"], tools, "a second time")


@test()
@both
def schemas_are_listed_with_every_keyword(client):
    tools = client.request("tools/list").result["tools"]
    schema = next(t for t in tools if t["name"] == "json_schema_2020_12_tool")["inputSchema"]
    equal(schema["$schema"], "https://json-schema.org/draft/2020-12/schema")
    equal(schema["$defs"]["address"]["$anchor"], "addressDef")
    equal(schema["properties"]["address"], {"$ref": "#/$defs/address"})
    for key in ("allOf", "if", "then", "else"):
        contains(schema, key)
    equal(schema["additionalProperties"], False)


@test("OR-1.5 OR-5.1")
@both
def a_tool_is_called(client):
    for message in ("hello", "", "\u00fc\u4e16\U0001f989", "\"\\/\b\f\n\r\t\u0001\u0000x",
                    "x" * 100000):
        reply = client.call("echo", {"message": message})
        equal(content(reply), [{"type": "text", "text": message}])
        check(not reply.result.get("isError"), "isError")


@test("OD-5.4.2")
def arguments_may_be_left_out():
    s = session()
    contains(s.request("tools/call", {"name": "test_simple_text"}).text, "simple text")
    contains(call("test_simple_text").text, "simple text")


@test()
@both
def every_kind_of_content_arrives(client):
    png = {"type": "image", "mimeType": "image/png"}
    image = content(client.call("test_image_content"))[0]
    check(base64.b64decode(image["data"], validate=True).startswith(b"\x89PNG"), "not a picture")
    equal({k: image[k] for k in png}, png)
    audio = content(client.call("test_audio_content"))[0]
    equal((audio["type"], audio["mimeType"]), ("audio", "audio/wav"))
    check(base64.b64decode(audio["data"], validate=True).startswith(b"RIFF"), "not a sound")
    equal(content(client.call("test_embedded_resource")), [{"type": "resource", "resource": {
        "uri": "test://embedded-resource", "mimeType": "text/plain",
        "text": "This is an embedded resource content."}}])
    link = content(client.call("test_resource_link"))[0]
    equal((link["type"], link["uri"], link["name"]),
          ("resource_link", "test://static-text", "static-text"))
    equal([c["type"] for c in content(client.call("test_multiple_content_types"))],
          ["text", "image", "resource"])
    reply = client.call("test_structured_content")
    equal(reply.result["structuredContent"],
          {"temperature": 22.5, "conditions": "partly cloudy"})
    equal(json.loads(content(reply)[0]["text"]), reply.result["structuredContent"])
    equal(client.call("test_result_meta").result["_meta"]["com.example/colour"], "blue")


@test()
@both
def a_result_of_several_megabytes_arrives_whole(client):
    for size in (70_000, 1_000_000, 5_000_000):
        equal(len(client.call("test_large_content", {"bytes": size}).text), size)


@test()
@both
def a_handler_may_finish_from_another_thread(client):
    equal(client.call("test_later").text, "Finished by another thread.")


@test("OR-5.9")
@both
def a_failing_tool_is_told_to_the_model(client):
    reply = client.call("test_error_handling")
    equal(reply.status, 200)
    equal(reply.result["isError"], True)
    equal(content(reply), [{"type": "text",
                            "text": "This tool intentionally returns an error for testing"}])
    error = reply.result["_meta"]["owlclaw/error"]
    equal(error["code"], -32005)
    equal(type(error["retryable"]), bool)


@test()
@both
def a_bare_error_is_told_without_internals(client):
    reply = client.call("test_bare_error")
    equal(reply.result["isError"], True)
    equal(len(content(reply)), 1, "what was built before the failure is dropped")
    check("half of a result" not in content(reply)[0]["text"], "half of a result is sent")


@test()
@both
def a_tool_may_answer_with_an_error_of_its_own(client):
    error = client.call("test_protocol_error").error
    equal(error["code"], 1234)
    equal(error["message"], "an error of the application's own")
    equal(error["data"]["colour"], "red")


@test("mcp:S23 mcp:S24")
@both
def unknown_tools_and_malformed_calls_are_invalid_params(client):
    for params in ({"name": "no_such_tool"}, {"name": ""}, {}, {"name": 7}, {"name": None},
                   {"name": "echo", "arguments": []}, {"name": "echo", "arguments": "x"}):
        headers = {"Mcp-Name": params["name"]} if params.get("name") else None
        reply = client.request("tools/call", params, headers)
        equal(reply.error["code"], -32602, show(params))


@test("OD-7.3.6 OD-7.2.8")
@both
def a_tool_that_takes_too_long_is_stopped(client):
    def cancelled():
        return json.loads(client.call("test_counters").text)["cancelled"]

    before, started = cancelled(), time.monotonic()
    reply = client.call("test_timeout")
    check(time.monotonic() - started < seconds(3), "the answer took too long")
    equal(reply.result["isError"], True)
    error = reply.result["_meta"]["owlclaw/error"]
    equal((error["code"], error["retryable"]), (-32004, True))
    eventually(lambda: cancelled() == before + 1, "the handler is told")


@test("OR-5.7")
def a_slow_tool_does_not_hold_up_another():
    s = session()
    with s.begin("tools/call", {"name": "test_sleep", "arguments": {"ms": 1500}}) as slow:
        eventually(lambda: counters()["sleeping"] == 1, "the slow call runs")
        started = time.monotonic()
        for _ in range(10):
            s.call("echo", {"message": "x"})
            call("test_simple_text")
        check(time.monotonic() - started < seconds(1), "the others waited")
        equal(read_reply(slow, None).text, "slept 1500 ms")


@test("OR-1.6")
@both
def resources_are_listed(client):
    resources = client.request("resources/list").result["resources"]
    equal([r["uri"] for r in resources][:3],
          ["test://static-text", "test://static-binary", "test://watched-resource"])
    first = resources[0]
    equal(first["name"], "static-text")
    equal(first["title"], "Static text")
    equal(first["mimeType"], "text/plain")
    equal(first["size"], 48)
    check(first["description"], "no description")
    check(all("{" not in r["uri"] for r in resources), "a template is among the resources")


@test()
@both
def templates_are_listed(client):
    templates = client.request("resources/templates/list").result["resourceTemplates"]
    equal(len(templates), 1)
    equal(templates[0]["uriTemplate"], "test://template/{id}/data")
    equal(templates[0]["name"], "template-data")
    equal(templates[0]["mimeType"], "application/json")


@test("OR-1.7 OR-7.1 mcp:S24")
@both
def resources_are_read(client):
    def read(uri):
        return client.request("resources/read", {"uri": uri}).result["contents"]

    equal(read("test://static-text"), [{
        "uri": "test://static-text", "mimeType": "text/plain",
        "text": "This is the content of the static text resource."}])
    binary = read("test://static-binary")[0]
    equal((binary["uri"], binary["mimeType"]), ("test://static-binary", "image/png"))
    check(base64.b64decode(binary["blob"], validate=True).startswith(b"\x89PNG"), "not a picture")
    filled = read("test://template/123/data")[0]
    equal((filled["uri"], filled["mimeType"]), ("test://template/123/data", "application/json"))
    equal(json.loads(filled["text"]),
          {"id": "123", "templateTest": True, "data": "Data for ID: 123"})
    equal(json.loads(read("test://template/a%20b%2Fc/data")[0]["text"])["id"], "a b/c")


MISSING = ("test://nothing", "test://template//data", "test://template/1/2/data", "nonsense", "",
           "file:///etc/passwd", "test://static-text/", "TEST://static-text",
           "test://template/%zz/data", "test://template/%/data", "test://template/%00/data",
           "test://template/%ff/data")


@test("OR-7.2 OR-7.3 mcp:S21 mcp:S24")
def a_missing_resource_is_told_with_its_uri():
    s = session()
    for uri in MISSING:
        error = s.request("resources/read", {"uri": uri}).error
        equal(error["code"], -32002, f"legacy {uri!r}")
        equal(error["data"]["uri"], uri)
        reply = modern("resources/read", {"uri": uri})
        equal((reply.status, reply.error["code"]), (200, -32602), f"modern {uri!r}")
        equal(reply.error["data"]["uri"], uri)


@test()
@both
def a_read_without_uri_is_invalid(client):
    for params in ({}, {"uri": 5}, {"uri": None}):
        equal(client.request("resources/read", params).error["code"], -32602, show(params))


@test()
@both
def a_resource_that_cannot_be_read_is_an_error(client):
    error = client.request("resources/read", {"uri": "test://failing-resource"}).error
    contains(error["message"], "cannot be read today")


@test()
@both
def prompts_are_listed(client):
    prompts = client.request("prompts/list").result["prompts"]
    check(all(p["name"] and p["description"] for p in prompts), "a prompt is not described")
    by_name = {p["name"]: p for p in prompts}
    equal([a["name"] for a in by_name["test_prompt_with_arguments"]["arguments"]],
          ["arg1", "arg2"])
    equal(by_name["test_prompt_with_arguments"]["arguments"][0]["required"], True)
    equal(by_name["test_simple_prompt"]["title"], "Simple prompt")


@test()
@both
def prompts_are_filled_in(client):
    def get(name, **arguments):
        params = {"name": name, "arguments": arguments} if arguments else {"name": name}
        return client.request("prompts/get", params).result

    r = get("test_simple_prompt")
    equal(r["messages"], [{"role": "user", "content": {
        "type": "text", "text": "This is a simple prompt for testing."}}])
    r = get("test_prompt_with_arguments", arg1="one", arg2="t\"wo")
    equal(r["messages"][0]["content"]["text"],
          "Prompt with arguments: arg1='one', arg2='t\"wo'")
    r = get("test_prompt_with_embedded_resource", resourceUri="test://x")
    equal([m["content"]["type"] for m in r["messages"]], ["resource", "text"])
    equal(r["messages"][0]["content"]["resource"]["uri"], "test://x")
    equal([m["content"]["type"] for m in get("test_prompt_with_image")["messages"]],
          ["image", "text"])
    equal([m["role"] for m in get("test_prompt_dialogue")["messages"]], ["user", "assistant"])


@test("mcp:S23")
@both
def a_prompt_without_what_it_needs_is_invalid(client):
    for params in ({"name": "no_such_prompt"}, {}, {"name": 1},
                   {"name": "test_prompt_with_arguments"},
                   {"name": "test_prompt_with_arguments", "arguments": {"arg1": "one"}},
                   {"name": "test_prompt_with_arguments", "arguments": {"arg1": 1, "arg2": "x"}},
                   {"name": "test_simple_prompt", "arguments": "x"}):
        equal(client.request("prompts/get", params).error["code"], -32602, show(params))


@test("mcp:S28")
@both
def arguments_are_completed(client):
    def complete(ref, name, value, **context):
        params = {"ref": ref, "argument": {"name": name, "value": value}}
        if context:
            params["context"] = {"arguments": context}
        return client.request("completion/complete", params)

    prompt = {"type": "ref/prompt", "name": "test_prompt_with_arguments"}
    template = {"type": "ref/resource", "uri": "test://template/{id}/data"}
    equal(complete(prompt, "arg1", "test").result["completion"]["values"], ["test1", "test2"])
    equal(complete(prompt, "arg1", "zzz").result["completion"]["values"], [])
    equal(complete(prompt, "arg2", "").result["completion"]["values"], ["testA", "testB"])
    equal(complete(prompt, "arg2", "", arg1="other").result["completion"]["values"], [])
    equal(complete(template, "id", "12").result["completion"]["values"], ["12", "123"])
    many = complete({"type": "ref/prompt", "name": "test_prompt_with_embedded_resource"},
                    "resourceUri", "v").result["completion"]
    equal((len(many["values"]), many["total"], many["hasMore"]), (100, 150, True))
    equal(complete({"type": "ref/prompt", "name": "test_simple_prompt"}, "x", "")
          .result["completion"]["values"], [], "a prompt that completes nothing")
    for ref in ({"type": "ref/prompt", "name": "nothing"}, {"type": "ref/else", "name": "x"}, {},
                {"type": "ref/resource", "uri": "test://no/{x}"}, "x"):
        equal(complete(ref, "arg1", "").error["code"], -32602, show(ref))
    equal(client.request("completion/complete", {"ref": prompt}).error["code"], -32602)


@test()
def lists_are_cut_into_pages():
    with Server("--page-items", "2") as s:
        legacy = Session(port=s.port)
        for method, key in (("tools/list", "tools"), ("resources/list", "resources"),
                            ("prompts/list", "prompts"),
                            ("resources/templates/list", "resourceTemplates")):
            for ask, request in ((session().request, legacy.request),
                                 (modern, lambda m, p=None: modern(m, p, port=s.port))):
                whole = ask(method).result[key]
                items, cursor, pages = [], None, 0
                while pages == 0 or cursor is not None:
                    r = request(method, {} if cursor is None else {"cursor": cursor}).result
                    check(0 < len(r[key]) <= 2, f"{len(r[key])} items on a page of {method}")
                    items += r[key]
                    cursor, pages = r.get("nextCursor"), pages + 1
                    check(cursor is None or isinstance(cursor, str), "nextCursor")
                equal(items, whole, method)
                equal(pages, (len(whole) + 1) // 2, f"pages of {method}")


@test()
@both
def a_bad_cursor_is_invalid(client):
    for cursor in ("nonsense", "\u00fc", "AAAA", 5, None, {}, "x" * 10000):
        equal(client.request("tools/list", {"cursor": cursor}).error["code"], -32602, show(cursor))


@test()
def a_cursor_survives_a_change_of_the_list():
    with Server("--page-items", "3") as s:
        first = modern("tools/list", port=s.port).result
        call("test_trigger_tool_change", port=s.port)
        second = modern("tools/list", {"cursor": first["nextCursor"]}, port=s.port).result
        names = [t["name"] for t in modern("tools/list", port=server().port).result["tools"]]
        equal([t["name"] for t in second["tools"]], names[3:6])


@test("OD-P11")
@both
def a_change_shows_in_the_next_list(client):
    def names():
        return {t["name"] for t in client.request("tools/list").result["tools"]}

    before = names()
    client.call("test_trigger_tool_change")
    during = names()
    equal(before ^ during, {"test_dynamic_tool"})
    client.call("test_trigger_tool_change")
    equal(names(), before)


@test()
def many_calls_at_once_are_all_answered():
    import concurrent.futures
    sessions = [session() for _ in range(4)]

    def one(i):
        tool = ("echo", "test_sleep", "test_later", "test_simple_text")[i % 4]
        arguments = {"echo": {"message": f"m{i}"}, "test_sleep": {"ms": i % 40}}.get(tool, {})
        expected = {"echo": f"m{i}", "test_sleep": f"slept {i % 40} ms"}.get(tool)
        client = sessions[i % len(sessions)] if i % 3 else Client(modern)
        text = client.call(tool, arguments).text
        check(expected is None or text == expected, f"call {i} got {text!r}")

    with concurrent.futures.ThreadPoolExecutor(32) as pool:
        list(pool.map(one, range(400)))


main()
