#!/usr/bin/env python3
"""Handlers that ask the client: one way to write them, a different way to travel in each era."""

from client import *

FORM = {"elicitation": {}}
EVERYTHING = {"elicitation": {}, "sampling": {}, "roots": {}}
ACCEPT = {"action": "accept", "content": {"name": "Alice"}}


class Asked:
    """A legacy call on a session over HTTP that is asked something on its stream."""

    def __init__(self, client, tool, arguments=None):
        self.client = client
        connection = Connection(client.port)
        message = client.message("tools/call", {"name": tool, "arguments": arguments or {}})
        self.id = message["id"]
        self.stream = Stream(connection, encode("POST", "/mcp", client.headers(), message,
                                                connection.port))

    def question(self, method):
        message = self.stream.next()
        equal(message["method"], method)
        check("id" in message, "a question without id")
        return message

    def answer(self, question, result):
        equal(self.client.post({"jsonrpc": "2.0", "id": question["id"], "result": result}).status,
              202)

    def result(self):
        message = self.stream.next()
        check("result" in message, f"no result: {show(message)}")
        return message["result"]

    def __enter__(self):
        self.stream.__enter__()
        return self

    def __exit__(self, *error):
        self.stream.__exit__(*error)


@test()
def a_session_is_asked_on_the_stream_of_the_call():
    s = session(caps=EVERYTHING)
    with Asked(s, "test_elicitation", {"message": "Who?"}) as a:
        q = a.question("elicitation/create")
        equal(q["params"]["message"], "Who?")
        equal(q["params"]["requestedSchema"]["required"], ["username", "email"])
        a.answer(q, {"action": "accept", "content": {"username": "u", "email": "e"}})
        contains(a.result()["content"][0]["text"], '"username":"u"')
    with Asked(s, "test_sampling", {"prompt": "Say it"}) as a:
        q = a.question("sampling/createMessage")
        equal(q["params"]["maxTokens"], 100)
        equal(q["params"]["messages"][0]["content"]["text"], "Say it")
        a.answer(q, {"role": "assistant", "model": "m", "content": {"type": "text", "text": "it"}})
        equal(a.result()["content"][0]["text"], "LLM response: it")


@test()
def a_2025_06_18_client_chooses_from_enums():
    """Titled choices and lists of them came later: they are one enum each, with enumNames."""
    values, titles = ["value1", "value2"], ["First Option", "Second Option"]
    plain = {"type": "string", "enum": ["option1", "option2", "option3"]}
    old = session(version="2025-06-18", caps=FORM)
    with Asked(old, "test_elicitation_sep1330_enums") as a:
        q = a.question("elicitation/create")
        equal(q["params"], {"message": "Please choose.", "requestedSchema": {
            "type": "object", "required": [], "properties": {
                "untitledSingle": plain,
                "titledSingle": {"type": "string", "enum": values, "enumNames": titles},
                "legacyEnum": {"type": "string", "enum": ["opt1", "opt2"],
                               "enumNames": ["Option One", "Option Two"]},
                "untitledMulti": plain,
                "titledMulti": {"type": "string", "enum": values,
                                "enumNames": ["First Choice", "Second Choice"]}}}})
        a.answer(q, {"action": "accept", "content": {
            "untitledSingle": "option1", "titledSingle": "value2", "untitledMulti": "option3",
            "titledMulti": "value1"}})
        text = a.result()["content"][0]["text"]
        contains(text, '"titledSingle":"value2"')
        contains(text, '"untitledMulti":["option3"]')
        contains(text, '"titledMulti":["value1"]')
    with Asked(session(version=LEGACY, caps=FORM), "test_elicitation_sep1330_enums") as a:
        properties = a.question("elicitation/create")["params"]["requestedSchema"]["properties"]
        check("oneOf" in properties["titledSingle"], "a newer client gets what was asked")
        equal(properties["titledMulti"]["type"], "array")


@test()
def a_session_is_asked_several_things():
    s = session(caps=EVERYTHING)
    answers = {"elicitation/create": ACCEPT, "roots/list": {"roots": []},
               "sampling/createMessage": {"role": "assistant", "model": "m",
                                          "content": {"type": "text", "text": "hi"}}}
    with Asked(s, "test_input_required_result_multiple_inputs") as a:
        questions = [a.stream.next() for _ in range(3)]
        equal({q["method"] for q in questions}, set(answers))
        equal(len({q["id"] for q in questions}), 3, "ids are unique")
        for q in reversed(questions):
            a.answer(q, answers[q["method"]])
        equal(len(a.result()["content"]), 3)
    with Asked(s, "test_input_required_result_multi_round") as a:
        for content in ({"name": "Alice"}, {"color": "blue"}):
            q = a.question("elicitation/create")
            a.answer(q, {"action": "accept", "content": content})
        equal(a.result()["content"][0]["text"], "Alice likes blue")


@test("mcp:L10")
def a_session_that_cannot_be_asked_is_told_so():
    for tool, arguments in (("test_elicitation", {"message": "x"}),
                            ("test_sampling", {"prompt": "x"})):
        reply = session().call(tool, arguments)
        check(reply.response.get("error") or reply.result.get("isError"), "it was asked anyway")
        check(not any("id" in m for m in reply.messages[:-1]), "it was asked anyway")


@test("mcp:L10")
def nobody_is_asked_what_its_revision_does_not_know():
    """A client may declare what it knows of newer revisions and be negotiated down."""
    newest = {"elicitation": {"form": {}, "url": {}}, "sampling": {"tools": {}}}
    for version in ("1.0", "2024-11-05", "2025-03-26"):
        reply = session(version=version, caps=newest).call("test_elicitation", {"message": "x"})
        check(not any("id" in m for m in reply.messages[:-1]), f"{version} was asked")
        contains(json.dumps(reply.response), "elicitation")
    for version, caps in (("2025-06-18", newest), ("2025-06-18", {"elicitation": {"x": {}}}),
                          ("2025-06-18", {"elicitation": {"url": {}}}),
                          (LEGACY, {"elicitation": {"x": {}}})):
        with Asked(session(version=version, caps=caps), "test_elicitation", {"message": "?"}) as a:
            a.question("elicitation/create")
    reply = session(caps={"elicitation": {"url": {}}}).call("test_elicitation", {"message": "x"})
    check(not any("id" in m for m in reply.messages[:-1]), "a client of URLs got a form")


@test()
def only_the_session_that_was_asked_can_answer():
    s, other = session(caps=FORM), session(caps=FORM)
    with Asked(s, "test_input_required_result_elicitation") as a:
        q = a.question("elicitation/create")
        wrong = {"action": "accept", "content": {"name": "Mallory"}}
        other.post({"jsonrpc": "2.0", "id": q["id"], "result": wrong})
        s.post({"jsonrpc": "2.0", "id": f"{q['id']}x", "result": wrong})
        a.stream.quiet(0.2)
        a.answer(q, ACCEPT)
        equal(a.result()["content"][0]["text"], "Hello, Alice!")
        a.answer(q, wrong)


@test()
def a_client_that_refuses_fails_the_call():
    s = session(caps=EVERYTHING)
    with Asked(s, "test_sampling", {"prompt": "x"}) as a:
        q = a.question("sampling/createMessage")
        equal(s.post({"jsonrpc": "2.0", "id": q["id"], "error": {
            "code": -1, "message": "User rejected sampling request"}}).status, 202)
        last = a.stream.next()
        check("error" in last or last["result"]["isError"], f"no failure: {show(last)}")
    with Asked(s, "test_input_required_result_elicitation") as a:
        a.answer(a.question("elicitation/create"), {"action": "decline"})
        equal(a.result()["content"][0]["text"], "Hello, whoever you are!")


@test()
def a_client_on_stdio_is_asked_on_the_pipe():
    with Stdio() as s:
        s.initialize(caps=FORM)
        s.send({"jsonrpc": "2.0", "id": 7, "method": "tools/call", "params": {
            "name": "test_input_required_result_elicitation"}})
        q = s.read()
        equal(q["method"], "elicitation/create")
        s.send({"jsonrpc": "2.0", "id": q["id"], "result": ACCEPT})
        equal(s.answer(7).text, "Hello, Alice!")


@test()
def a_call_that_waits_for_an_answer_can_be_cancelled():
    s = session(caps=FORM)
    with Asked(s, "test_input_required_result_elicitation") as a:
        q = a.question("elicitation/create")
        equal(s.notify("notifications/cancelled", {"requestId": a.id}).status, 202)
        last = a.stream.next()
        check(last is None or "result" not in last, f"a result came anyway: {show(last)}")
        a.answer(q, ACCEPT)
    equal(s.request("ping").result, {}, "the session lives on")


@test("mcp:B12")
def a_client_that_does_not_answer_is_not_waited_for_for_ever():
    with Server("--limit", "question_ms=200") as other:
        s = Session(other.port, caps=FORM)
        with Asked(s, "test_elicitation", {"message": "Anybody?"}) as a:
            q = a.question("elicitation/create")
            cancelled = a.stream.next()
            equal((cancelled["method"], cancelled["params"]["requestId"]),
                  ("notifications/cancelled", q["id"]))
            result = a.result()
            equal(result["isError"], True)
            equal(result["_meta"]["owlclaw/error"]["code"], -32004)
            a.answer(q, {"action": "cancel"})  # too late, and harmless
        tool = {"name": "test_input_required_result_elicitation"}
        asked = modern("tools/call", tool, port=other.port, caps=FORM).result
        time.sleep(0.3)
        late = dict(tool, requestState=asked["requestState"], inputResponses={"user_name": ACCEPT})
        contains(modern("tools/call", late, port=other.port, caps=FORM).error["message"], "expired")


def required(reply, *keys):
    equal(reply.result["resultType"], "input_required")
    equal(set(reply.result["inputRequests"]), set(keys))
    return reply.result


def again(tool, state, responses, caps=FORM, **params):
    return modern("tools/call", dict(params, name=tool, arguments={}, inputResponses=responses,
                                     requestState=state), caps=caps)


@test("mcp:S3 mcp:S10 mcp:S13")
def a_modern_client_asks_again_with_the_answers():
    tool = "test_input_required_result_elicitation"
    r = required(call(tool, {}, caps=FORM), "user_name")
    equal(r["inputRequests"]["user_name"], {"method": "elicitation/create", "params": {
        "message": "What is your name?", "requestedSchema": {
            "type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]},
        **({"mode": "form"} if "mode" in r["inputRequests"]["user_name"]["params"] else {})}})
    check("ttlMs" not in r, "a question is not cacheable")
    reply = again(tool, r.get("requestState"), {"user_name": ACCEPT, "unknown": {}})
    equal((reply.result["resultType"], reply.text), ("complete", "Hello, Alice!"))
    required(again(tool, r.get("requestState"), {"wrong": ACCEPT}), "user_name")


@test()
def rounds_remember_what_was_answered():
    tool = "test_input_required_result_multi_round"
    first = required(call(tool, {}, caps=FORM), "step1")
    second = required(again(tool, first["requestState"], {"step1": ACCEPT}), "step2")
    check(first["requestState"] != second["requestState"], "the state did not change")
    reply = again(tool, second["requestState"],
                  {"step2": {"action": "accept", "content": {"color": "blue"}}})
    equal(reply.text, "Alice likes blue")


@test("mcp:S12")
def a_state_that_is_not_ours_is_refused():
    tool = "test_input_required_result_request_state"
    state = required(call(tool, {}, caps=FORM), "confirm")["requestState"]
    other = required(call("test_input_required_result_tampered_state", {}, caps=FORM),
                     "confirm")["requestState"]
    flipped = state[:-5] + ("A" if state[-5] != "A" else "B") + state[-4:]
    yes = {"confirm": {"action": "accept", "content": {"ok": True}}}
    for wrong in (state + "-TAMPERED", state[:-1], flipped, other, "", "x", "A" * 200000):
        reply = again(tool, wrong, yes)
        equal(reply.error["code"], -32602, f"{wrong[:60]!r}")
    equal(again(tool, state, yes).text, "state-ok")


@test("mcp:S11")
def only_what_was_declared_is_asked():
    tool = "test_input_required_result_capabilities"
    required(call(tool, {}, caps={"sampling": {}}), "greeting")
    required(call(tool, {}, caps=FORM), "user_name")
    required(call(tool, {}, caps=EVERYTHING), "user_name", "greeting")
    reply = call("test_input_required_result_elicitation", {})
    equal((reply.status, reply.error["code"]), (400, -32021))
    contains(reply.error["data"]["requiredCapabilities"], "elicitation")


@test()
def malformed_answers_are_not_taken():
    tool = "test_input_required_result_elicitation"
    state = required(call(tool, {}, caps=FORM), "user_name").get("requestState")
    for responses in ({"user_name": 12345}, None, [], "x", {"user_name": None}):
        reply = again(tool, state, responses)
        check("error" in reply.response or reply.result["resultType"] == "input_required",
              f"{show(responses)} was taken")


@test("mcp:S10")
def prompts_ask_too():
    name = "test_input_required_result_prompt"
    r = required(modern("prompts/get", {"name": name}, caps=FORM), "user_context")
    reply = modern("prompts/get", {
        "name": name, "requestState": r.get("requestState"), "inputResponses": {
            "user_context": {"action": "accept", "content": {"context": "night"}}}}, caps=FORM)
    equal(reply.result["messages"][0]["content"]["text"], "Context: night")


main()
