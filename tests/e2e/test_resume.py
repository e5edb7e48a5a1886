#!/usr/bin/env python3
"""Clients that lose an event stream and come back to it: event ids, replay, streams closed early."""

from client import *

PROGRESS = {"name": "test_tool_with_progress", "_meta": {"progressToken": "p"}}
FORM = {"elicitation": {}}
ANSWER = {"action": "accept", "content": {"name": "Alice"}}


class Events(Stream):
    """A stream of which all events are collected, those without a message too."""

    def arrivals(self, events):
        return events

    def next(self, timeout=5):
        """The next event; None at the end of the stream."""
        event = self.take(timeout)
        self.seen.append(event)
        return event

    def rest(self):
        """All events up to the end of the stream."""
        return list(iter(self.next, None))


def post(s, params, request_id=None, method="tools/call"):
    """Begins a call whose answer is a stream."""
    connection = Connection(s.port)
    message = s.message(method, params, request_id)
    return Events(connection, encode("POST", "/mcp", s.headers(), message, s.port))


def get_headers(s, last=None):
    headers = {"Accept": "text/event-stream", "Mcp-Session-Id": s.id,
               "MCP-Protocol-Version": s.version}
    return headers if last is None else dict(headers, **{"Last-Event-ID": last})


def get(s, last=None):
    return Events(Connection(s.port), encode("GET", "/mcp", get_headers(s, last), port=s.port))


def get_refused(s, last):
    with Connection(s.port) as connection:
        return connection.request("GET", "/mcp", get_headers(s, last))


def messages(events):
    return [e.json() for e in events if e.data]


def ids(events):
    return [e.id for e in events]


@test("mcp:T12 mcp:L7")
def a_stream_begins_with_an_id_and_how_long_to_wait():
    s = session()
    with post(s, PROGRESS) as stream:
        events = stream.rest()
    equal((events[0].data, events[0].retry.isdigit()), ("", True))
    equal(len(events), 5, "priming, progress three times, result")
    check(all(ids(events)), "an event without id")
    equal(len(set(ids(events))), 5, "ids are unique")
    equal([e.retry for e in events[1:]], [None] * 4)
    with get(s) as stream:
        first = stream.next()
        check(first.id and first.data == "" and first.retry, "the GET stream is primed, too")
        check(first.id not in ids(events), "ids of another stream are used again")


@test()
def older_sessions_get_ids_but_no_priming():
    for version in ("2025-03-26", "2025-06-18"):
        s = session(version=version)
        with post(s, PROGRESS) as stream:
            events = stream.rest()
        equal(len(messages(events)), 4)
        equal(len(events), 4, "nothing but messages")
        equal(len(set(ids(events)) - {None}), 4)
        with get(s, events[1].id) as stream:
            equal(ids(stream.rest()), ids(events[2:]))


@test("mcp:T8")
def the_oldest_and_the_newest_clients_get_no_ids():
    s = session(version="2024-11-05")
    with post(s, PROGRESS) as stream:
        equal(ids(stream.rest()), [None] * 4)
    with get(s, "1-1") as stream:
        call("test_trigger_tool_change")
        event = stream.next()
        equal((event.id, event.retry), (None, None))
        equal(event.json()["method"], "notifications/tools/list_changed")
    headers, message = modern_request("tools/call", {"name": "test_tool_with_progress"},
                                      meta={"progressToken": 1},
                                      headers={"Last-Event-ID": "1-1"})
    connection = Connection()
    with Events(connection, encode("POST", "/mcp", headers, message, connection.port)) as stream:
        events = stream.rest()
    equal(ids(events), [None] * 4)


@test("mcp:L7 mcp:L8 mcp:L6")
def a_broken_call_is_taken_up_again():
    """On every connection, hence with several reactors also on others than the call's."""
    for _ in range(6):
        s = session()
        with post(s, PROGRESS, "broken") as stream:
            seen = [stream.next(), stream.next()]
        with get(s, seen[-1].id) as stream:
            rest = stream.rest()
        equal([m.get("params", {}).get("progress") for m in messages(seen + rest)],
              [0, 50, 100, None], "each message once, in order")
        equal(rest[-1].json()["id"], "broken")
        equal(rest[-1].json()["result"]["content"][0]["text"], "Progress was reported.")
        equal(len(set(ids(seen + rest))), 5)


@test("mcp:L7")
def a_stream_can_be_resumed_again_and_after_its_end():
    s = session()
    with post(s, PROGRESS) as stream:
        events = stream.rest()
    for i in list(range(4)) * 2:
        with get(s, events[i].id) as stream:
            equal(stream.rest(), events[i + 1:], f"after {events[i].id}")


@test()
def who_has_everything_is_told_not_to_come_back():
    s = session()
    with post(s, PROGRESS) as stream:
        last = stream.rest()[-1].id
    reply = get_refused(s, last)
    equal((reply.status, reply.body), (204, b""))


@test("mcp:L7")
def a_second_resume_takes_the_stream_over():
    for _ in range(4):
        s = session()
        with post(s, PROGRESS) as stream:
            first = stream.next()
            with get(s, first.id) as second, get(s, first.id) as third:
                taken = messages(third.rest())
                equal([m.get("params", {}).get("progress") for m in taken], [0, 50, 100, None])
                for other in (stream, second):
                    lost = messages(other.rest())
                    check(not any("result" in m for m in lost), "two readers were answered")


@test("mcp:L7")
def only_the_stream_that_the_id_names_is_replayed():
    s = session()
    with contextlib.ExitStack() as stack:
        streams = [stack.enter_context(post(s, PROGRESS, f"call-{i}")) for i in range(4)]
        seen = [stream.rest() for stream in streams]
    everything = [event.id for events in seen for event in events]
    equal(len(set(everything)), len(everything), "ids are unique in the session")
    for i, events in enumerate(seen):
        with get(s, events[0].id) as stream:
            replayed = stream.rest()
        equal(replayed, events[1:])
        equal(replayed[-1].json()["id"], f"call-{i}")


@test("mcp:L7")
def ids_that_name_nothing_are_refused():
    s, other = session(), session()
    with post(s, PROGRESS) as stream:
        known = stream.rest()[0].id
    with post(other, PROGRESS) as stream:
        for _ in range(2):
            with post(other, PROGRESS) as more:
                foreign = more.rest()[-1].id
    stream_number = known.split("-")[0]
    for last in (foreign, f"{stream_number}-99", "77-0", "x", "1", "-", "1-", "-1", "1-x", "1-1-1",
                 "99999999999999999999-1", f"{stream_number}-18446744073709551615", "a" * 5000):
        reply = get_refused(s, last)
        equal(reply.status, 400, f"Last-Event-ID {last[:40]}")
        error = reply.json()
        check(error.get("id") is None, "the error has an id")
        contains(error["error"]["message"], "Last-Event-ID")
    equal(s.request("ping").result, {}, "the session lives on")
    with get(s, "") as stream:
        check(stream.next().retry, "an empty id is none: a new stream")


@test("mcp:L6 mcp:L7")
def what_was_missed_on_the_stream_of_a_session_is_told_later():
    s = session()
    time.sleep(seconds(0.1))
    with get(s) as stream:
        seen = [stream.next()]
        call("test_trigger_tool_change")
        seen.append(stream.next())
    for trigger in ("prompt", "resource"):
        call(f"test_trigger_{trigger}_change")
        time.sleep(seconds(0.1))
    for last, missed in ((seen[1], ["prompts", "resources"]),
                         (seen[0], ["tools", "prompts", "resources", "tools"])):
        with get(s, last.id) as stream:
            told = [stream.next().json()["method"] for _ in missed]
            equal(told, [f"notifications/{kind}/list_changed" for kind in missed])
            call("test_trigger_tool_change")
            equal(stream.next().json()["method"], "notifications/tools/list_changed", "live")
            stream.quiet(0.1)


@test("mcp:L7")
def a_new_stream_of_a_session_drops_the_old_one():
    s = session()
    with get(s) as old:
        first = old.next()
        with get(s) as new:
            new.next()
            equal(old.rest(), [], "the old one ends")
            eventually(lambda: get_refused(s, first.id).status == 400, "it is forgotten")
            time.sleep(seconds(0.1))
            call("test_trigger_tool_change")
            equal(new.next().json()["method"], "notifications/tools/list_changed")
            new.quiet(0.2)


@test("mcp:L6 mcp:L7")
def a_stream_of_a_session_carries_no_answers():
    s = session()
    with get(s) as stream:
        stream.next()
        with post(s, PROGRESS) as running:
            equal(len(messages(running.rest())), 4)
        stream.quiet(0.2)


@test("mcp:T12 mcp:L8")
def a_call_may_send_its_client_away():
    for _ in range(4):
        s = session()
        with post(s, {"name": "test_reconnection"}, 1) as stream:
            events = stream.rest()
        equal(len(events), 1, "only the priming event")
        check(events[0].id and events[0].retry and not events[0].data, show(events))
        with get(s, events[0].id) as stream:
            answers = messages(stream.rest())
        equal([m["id"] for m in answers], [1])
        contains(answers[0]["result"]["content"][0]["text"], "stream may have been closed")


@test()
def a_client_that_cannot_come_back_is_not_sent_away():
    contains(call("test_reconnection").text, "stream may have been closed")
    for version in ("2024-11-05", "2025-03-26", "2025-06-18"):
        reply = session(version=version).call("test_reconnection")
        equal(reply.headers["content-type"], "application/json")
        contains(reply.text, "stream may have been closed")
    s = session()
    reply = s.call("test_reconnection", headers={"Accept": "application/json"})
    contains(reply.text, "stream may have been closed")


@test("mcp:L7 mcp:L8")
def a_question_waits_for_the_client_to_come_back():
    for _ in range(4):
        s = session(caps=FORM)
        with post(s, {"name": "test_input_required_result_elicitation"}, 7) as stream:
            first = stream.next()
            question = stream.next().json()
            equal(question["method"], "elicitation/create")
        time.sleep(seconds(0.1))
        with get(s, first.id) as stream:
            again = stream.next().json()
            equal(again, question, "the question is asked again with its id")
            equal(s.post({"jsonrpc": "2.0", "id": again["id"], "result": ANSWER}).status, 202)
            answers = messages(stream.rest())
        equal([m["id"] for m in answers], [7])
        equal(answers[0]["result"]["content"][0]["text"], "Hello, Alice!")


@test()
def a_question_may_be_answered_while_the_client_is_away():
    s = session(caps=FORM)
    with post(s, {"name": "test_input_required_result_elicitation"}, 7) as stream:
        stream.next()
        question = stream.next()
    equal(s.post({"jsonrpc": "2.0", "id": question.json()["id"], "result": ANSWER}).status, 202)
    with get(s, question.id) as stream:
        answers = messages(stream.rest())
    equal(answers[0]["result"]["content"][0]["text"], "Hello, Alice!")


@test()
def nothing_of_an_ended_session_comes_back():
    s = session()
    with post(s, PROGRESS) as stream:
        first = stream.next()
        with get(s) as feed:
            feed.next()
            equal(s.delete().status, 200)
            equal(feed.rest(), [], "the stream of the session ends")
        last = messages(stream.rest())[-1]
        equal(last["error"]["message"], "cancelled", "a call that runs")
    equal(get_refused(s, first.id).status, 404)


@test("mcp:L7")
def who_would_miss_something_is_refused():
    with Server("--limit", "replay_events=2") as process:
        s = Session(port=process.port)
        with post(s, PROGRESS) as stream:
            events = stream.rest()
        for i, event in enumerate(events[:-1]):
            if i < len(events) - 3:
                reply = get_refused(s, event.id)
                equal(reply.status, 400, f"after {event.id}")
                contains(reply.json()["error"]["message"], "what followed it was forgotten")
                continue
            with get(s, event.id) as stream:
                equal(stream.rest(), events[i + 1:])


@test(timeout=60)
def many_clients_come_back_again_and_again():
    def one(failures):
        try:
            s = Session(port=port)
            with post(s, PROGRESS) as stream:
                seen = [stream.next()]
            while not (seen[-1] and seen[-1].data and "result" in seen[-1].json()):
                with get(s, seen[-1].id) as stream:
                    seen.append(stream.next())
            equal([m.get("params", {}).get("progress") for m in messages(seen)],
                  [0, 50, 100, None])
        except Exception as error:  # told by the test
            failures.append(error)

    port = server().port
    failures = []
    threads = [threading.Thread(target=one, args=(failures,)) for _ in range(24)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    equal(failures, [])


@test()
def a_stopping_server_ends_streams_that_were_resumed():
    with Server() as process:
        s = Session(port=process.port)
        with get(s) as stream:
            first = stream.next()
        with get(s, first.id) as stream, post(s, PROGRESS) as running:
            running.next()
            process.process.send_signal(signal.SIGTERM)
            equal(stream.rest(), [])
            equal(len(messages(running.rest())), 4)
        process.process.wait(seconds(5))


main()
