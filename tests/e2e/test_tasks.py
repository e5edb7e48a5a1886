#!/usr/bin/env python3
"""Tools that run as tasks, over HTTP and stdio, in both forms of the protocol."""

from client import *

EXTENSION = "io.modelcontextprotocol/tasks"
TASKS = {"elicitation": {}, "extensions": {EXTENSION: {}}}
RELATED = "io.modelcontextprotocol/related-task"
OVER = ("completed", "failed", "cancelled")
ACCEPT = {"action": "accept", "content": {"confirm": True}}


class Modern:
    """Asks about tasks as a modern client, over HTTP or on pipes."""

    def __init__(self, stdio=None):
        self.stdio = stdio

    def request(self, method, params, caps=TASKS):
        if self.stdio:
            return self.stdio.modern(method, params, caps=caps)
        name = {"Mcp-Name": params["taskId"]} if "taskId" in params else {}
        return modern(method, params, caps=caps, headers=name)

    def begin(self, tool, **arguments):
        result = self.request("tools/call", {"name": tool, "arguments": arguments}).result
        equal(result["resultType"], "task")
        equal(result["status"], "working")
        return result["taskId"]

    def get(self, task):
        return self.request("tasks/get", {"taskId": task}).result

    def wait(self, task, *statuses):
        found = {}

        def reached():
            found.update(task=self.get(task))
            return found["task"]["status"] in statuses

        eventually(reached, f"the task is {statuses}", timeout=10)
        return found["task"]


@contextlib.contextmanager
def both_transports():
    with Stdio() as peer:
        yield Modern(), Modern(peer)


@test("mcp:K1 mcp:K2 mcp:K4")
def a_tool_runs_as_a_task():
    with both_transports() as clients:
        for client in clients:
            task = client.begin("slow_compute", seconds=0.2, label="l")
            done = client.wait(task, *OVER)
            equal(done["status"], "completed")
            equal(done["resultType"], "complete")
            contains(done["result"]["content"][0]["text"], "l: done")
            check(RELATED not in done["result"].get("_meta", {}), "no related-task")
            failed = client.wait(client.begin("failing_job"), *OVER)
            equal((failed["status"], failed["result"]["isError"]), ("completed", True))
            error = client.wait(client.begin("protocol_error_job"), *OVER)
            equal((error["status"], error["error"]["code"]), ("failed", -32603))
            check("result" not in error, "a failed task has no result")


@test("mcp:K2 mcp:K3 mcp:K7 mcp:K10")
def those_who_take_no_tasks_are_told():
    with both_transports() as clients:
        for client in clients:
            task = client.begin("slow_compute", seconds=0)
            for method in ("tasks/get", "tasks/update", "tasks/cancel"):
                params = {"taskId": task, "inputResponses": {}}
                error = client.request(method, params, caps={}).error
                equal(error["code"], -32021)
                contains(error["data"]["requiredCapabilities"]["extensions"], EXTENSION)
            error = client.request("tools/call", {"name": "failing_job"}, caps={}).error
            equal(error["code"], -32021)
            equal(client.request("tasks/get", {"taskId": "0-x"}).error["code"], -32602)
            equal(client.request("tasks/result", {"taskId": task}).error["code"], -32601)
            plain = {"name": "greet", "arguments": {"name": "Owl"}, "task": {"ttl": 5}}
            equal(client.request("tools/call", plain).text, "Hello, Owl!")


@test("mcp:K4 mcp:K5")
def a_task_asks_and_is_answered_in_parts():
    with both_transports() as clients:
        for client in clients:
            task = client.begin("multi_input")
            asked = client.wait(task, "input_required")
            equal(set(asked["inputRequests"]), {"first", "second"})
            name = {"action": "accept", "content": {"name": "Ann"}}
            ack = client.request("tasks/update", {"taskId": task, "inputResponses": {
                "first": name, "nobody": name}}).result
            equal({k for k in ack if k != "_meta"}, {"resultType"})
            eventually(lambda: set(client.get(task).get("inputRequests", {})) == {"second"},
                       "one question is left")
            client.request("tasks/update", {"taskId": task, "inputResponses": {"second": name}})
            equal(client.wait(task, *OVER)["result"]["content"][0]["text"], "Ann and Ann")


@test("mcp:K2 mcp:K9")
def a_task_is_cancelled_by_its_own_method_only():
    with Stdio() as peer:
        client = Modern(peer)
        _, message = modern_request("tools/call", {"name": "slow_compute",
                                                   "arguments": {"seconds": 60}}, caps=TASKS)
        peer.send(message)
        task = peer.answer(message["id"]).result["taskId"]
        peer.notify("notifications/cancelled", {"requestId": message["id"],
                                                "_meta": modern_meta(TASKS)})
        time.sleep(0.1)
        equal(client.get(task)["status"], "working")
        client.request("tasks/cancel", {"taskId": task})
        client.wait(task, "cancelled")


@test("mcp:K2 OD-2.3.7")
def a_listener_hears_how_a_task_goes():
    client = Modern()
    task = client.begin("confirm_delete", filename="f")
    client.wait(task, "input_required")
    headers, message = modern_request("subscriptions/listen",
                                      {"notifications": {"taskIds": [task]}}, caps=TASKS,
                                      request_id="l")
    connection = Connection()
    with Stream(connection, encode("POST", "/mcp", headers, message, connection.port)) as stream:
        equal(stream.next()["params"]["notifications"], {"taskIds": [task]})
        client.request("tasks/update", {"taskId": task, "inputResponses": {"confirm": ACCEPT}})
        status = None
        while status != "completed":
            note = stream.next()
            equal(note["method"], "notifications/tasks")
            equal(note["params"]["_meta"][META + "subscriptionId"], "l")
            status = note["params"]["status"]
        equal(note["params"]["result"]["content"][0]["text"], "f is deleted.")


@test("mcp:L13")
def a_session_asks_for_tasks():
    s = session(caps={"elicitation": {}})
    equal(s.info["capabilities"]["tasks"],
          {"list": {}, "cancel": {}, "requests": {"tools": {"call": {}}}})
    params = {"name": "confirm_delete", "arguments": {"filename": "f"}, "task": {"ttl": 60000}}
    task = s.request("tools/call", params).result["task"]
    equal((task["status"], task["ttl"]), ("working", 60000))
    connection = Connection(s.port)
    message = s.message("tasks/result", {"taskId": task["taskId"]})
    data = encode("POST", "/mcp", s.headers(), message, s.port)
    with Stream(connection, data) as stream:
        question = stream.next()
        equal(question["params"]["_meta"][RELATED], {"taskId": task["taskId"]})
        s.post({"jsonrpc": "2.0", "id": question["id"], "result": ACCEPT})
        result = stream.next()["result"]
    equal(result["content"][0]["text"], "f is deleted.")
    equal(result["_meta"][RELATED], {"taskId": task["taskId"]})
    equal(s.request("tasks/cancel", {"taskId": task["taskId"]}).error["code"], -32602)
    equal([t["taskId"] for t in s.request("tasks/list").result["tasks"]], [task["taskId"]])
    equal(s.request("tools/call", {"name": "failing_job"}).error["code"], -32601)


@test("mcp:L13")
def a_time_to_live_is_a_number():
    s = session(caps={"elicitation": {}})
    params = {"name": "confirm_delete", "arguments": {"filename": "f"}}
    for ttl, kept in ((60000.5, 60000), (6e4, 60000), (1, 1000)):
        other = s.request("tools/call", dict(params, task={"ttl": ttl})).result["task"]
        equal(other["ttl"], kept, f"a ttl of {ttl}")
    longest = s.request("tools/call", dict(params, task={"ttl": 10**30})).result["task"]
    check(longest["ttl"] > 60000, "a ttl that is too long")
    for ttl in (-1, "60000", True, [], {}):
        equal(s.request("tools/call", dict(params, task={"ttl": ttl})).error["code"], -32602, ttl)


@test("OR-5.7", timeout=60)
def long_tools_block_nobody():
    client = Modern()
    tasks = [client.begin("slow_compute", seconds=1) for _ in range(20)]
    start = time.monotonic()
    for _ in range(20):
        equal(call("greet", {"name": "Owl"}).text, "Hello, Owl!")
    check(time.monotonic() - start < seconds(5), "quick calls wait for long ones")
    for task in tasks:
        equal(client.wait(task, *OVER)["status"], "completed")


@test()
def a_server_with_tasks_stops():
    with Server() as own:
        for tool, arguments in (("slow_compute", {"seconds": 60}), ("multi_input", {})):
            modern("tools/call", {"name": tool, "arguments": arguments}, caps=TASKS,
                   port=own.port)


main()
