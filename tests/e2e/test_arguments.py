#!/usr/bin/env python3
"""Arguments, results and answers against their schemas, in every revision over every transport."""

from client import *

OLD = ("2024-11-05", "2025-03-26", "2025-06-18")
PERSON = {"username": "ann", "email": "ann@example.org"}

# tool, arguments, where the fault is, the keyword, a part of the sentence
MISFITS = (
    ("echo", {}, "", "required", 'lacks the required property "message"'),
    ("echo", None, "", "required", 'lacks the required property "message"'),
    ("echo", {"message": 7}, "/message", "type", "/message must be of type string, but is a number: 7"),
    ("echo", {"message": ["x"]}, "/message", "type", "/message must be of type string"),
    ("test_simple_text", {"x": 1}, "/x", "additionalProperties", "/x is not allowed"),
    ("test_large_content", {"bytes": -1}, "/bytes", "minimum", "/bytes must be at least 0"),
    ("test_large_content", {"bytes": 1.5}, "/bytes", "type", "/bytes must be of type integer"),
    ("json_schema_2020_12_tool", {"contactMethod": "phone", "email": "e"}, "", "required",
     'lacks the required property "phone"'),
    ("json_schema_2020_12_tool", {"email": "e", "address": {"city": 1}}, "/address/city", "type",
     "/address/city must be of type string"),
)
FITS = (
    ("echo", {"message": "", "more": 1}),
    ("test_simple_text", None),
    ("test_large_content", {"bytes": 1.0}),
    ("json_schema_2020_12_tool", {"contactMethod": "email", "email": "e"}),
)


def requesters(version):
    """How a client of that revision sends a request, over each transport."""
    if version == MODERN:
        yield "HTTP", modern
    else:
        yield "HTTP", Session(version=version).request
    for name, client in ("old SSE", Sse()), ("stdio", Stdio()):
        with client as c:
            if version != MODERN:
                c.initialize(version)
            yield name, c.modern if version == MODERN else c.request


def send(request, tool, arguments):
    params = {"name": tool} if arguments is None else {"name": tool, "arguments": arguments}
    return request("tools/call", params)


def expect_violation(data, where, keyword, sentence):
    first = data["violations"][0]
    equal((first["instance"], first["keyword"]), (where, keyword))
    contains(first["message"], sentence)
    check(first["schema"].startswith("#"), show(first))
    equal((data["retryable"], len(data["trace_id"])), (False, 32))


@test("OR-5.2 OR-5.3 OD-P12 OD-5.1.6 OD-5.4.2 OD-5.4.7 OD-7.2.4 OD-7.3.1", timeout=60)
def old_clients_get_an_error_with_a_code():
    for version in OLD:
        for transport, request in requesters(version):
            for tool, arguments, where, keyword, sentence in MISFITS:
                error = send(request, tool, arguments).error
                equal(error["code"], -32602, f"{transport}, {version}, {show(arguments)}")
                check(error["message"].startswith("Invalid params: "), error["message"])
                contains(error["message"], sentence)
                expect_violation(error["data"], where, keyword, sentence)
            for tool, arguments in FITS:
                check(not send(request, tool, arguments).result.get("isError"), tool)


@test("OR-5.2 mcp:S23", timeout=60)
def newer_revisions_tell_the_model():
    for version in (LEGACY, MODERN):
        for transport, request in requesters(version):
            for tool, arguments, where, keyword, sentence in MISFITS:
                result = send(request, tool, arguments).result
                equal(result["isError"], True, f"{transport}, {version}, {show(arguments)}")
                contains(result["content"][0]["text"], sentence)
                data = result["_meta"]["owlclaw/error"]
                equal(data["code"], -32602)
                expect_violation(data, where, keyword, sentence)
            for tool, arguments in FITS:
                check(not send(request, tool, arguments).result.get("isError"), tool)


@test()
def many_faults_are_told_within_bounds():
    arguments = {f"unknown-{i}": {"secret": "x" * 1000} for i in range(2000)}
    result = send(modern, "test_simple_text", arguments).result
    data = result["_meta"]["owlclaw/error"]
    check(len(result["content"][0]["text"]) < 5000, "the text is too long")
    check(len(json.dumps(data)) < 40000, "the data is too long")
    equal(len(data["violations"]) + data["left_out"], 2000)


@test("mcp:S13")
def a_form_is_asked_again_until_it_is_filled_in():
    caps = {"elicitation": {}}
    reply = call("test_elicitation", {"message": "Who?"}, caps=caps)
    for content in ({}, {"username": "ann"}, {"username": "ann", "email": 7}, PERSON):
        equal(reply.result["resultType"], "input_required", show(content))
        answers = {key: {"action": "accept", "content": content}
                   for key in reply.result["inputRequests"]}
        reply = modern("tools/call", {
            "name": "test_elicitation", "arguments": {"message": "Who?"},
            "inputResponses": answers, "requestState": reply.result["requestState"]}, caps=caps)
    contains(reply.text, "ann@example.org")


@test()
def a_form_that_a_legacy_client_fills_in_wrongly_fails_the_call():
    def answer_with(content):
        with Stdio() as s:
            s.initialize(LEGACY, caps={"elicitation": {}})
            s.send({"jsonrpc": "2.0", "id": 1, "method": "tools/call",
                    "params": {"name": "test_elicitation", "arguments": {"message": "Who?"}}})
            question = s.read()
            equal(question["method"], "elicitation/create")
            s.send({"jsonrpc": "2.0", "id": question["id"],
                    "result": {"action": "accept", "content": content}})
            return s.answer(1).result

    result = answer_with({"username": "ann"})
    equal(result["isError"], True)
    contains(result["content"][0]["text"], 'lacks the required property "email"')
    contains(answer_with(PERSON)["content"][0]["text"], "ann@example.org")


main()
