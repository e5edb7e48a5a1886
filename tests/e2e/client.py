"""Clients with full control over what they send: HTTP byte by byte, MCP over HTTP and over stdio.

Every message that a server sends through them is checked for what holds of all messages. Test files
import everything from here, which includes everything of support.py."""

import contextlib
import dataclasses
import itertools
import json
import os
import queue
import re
import signal
import socket
import subprocess
import threading
import time

from support import *

LEGACY = "2025-11-25"
MODERN = "2026-07-28"
META = "io.modelcontextprotocol/"


# ---- HTTP, byte by byte --------------------------------------------------------------------------


def encode(method, path="/mcp", headers=None, body=None, port=None):
    """The bytes of a request. Headers whose value is None are left out."""
    fields = {"Host": f"127.0.0.1:{port}" if port else "127.0.0.1"}
    if body is not None:
        body = body if isinstance(body, bytes) else json.dumps(body).encode()
        fields["Content-Length"] = str(len(body))
    fields.update(headers or {})
    lines = [f"{method} {path} HTTP/1.1"]
    lines += [f"{name}: {value}" for name, value in fields.items() if value is not None]
    return ("\r\n".join(lines) + "\r\n\r\n").encode("utf-8") + (body or b"")


@dataclasses.dataclass
class Response:
    status: int
    headers: dict  # names in lower case
    body: bytes = b""

    def json(self):
        return json.loads(self.body)


@dataclasses.dataclass
class Event:
    data: str
    id: str = None
    name: str = None
    retry: str = None

    def json(self):
        return json.loads(self.data)


class Connection:
    """One TCP connection to the server; nothing happens on it that a test did not ask for."""

    def __init__(self, port=None, timeout=10):
        self.port = port or server().port
        self.socket = socket.create_connection(("127.0.0.1", self.port), seconds(timeout))
        self.buffer = b""

    def send(self, data):
        self.socket.sendall(data)

    def request(self, method, path="/mcp", headers=None, body=None):
        self.send(encode(method, path, headers, body, self.port))
        return self.response(method)

    def _fill(self):
        try:
            data = self.socket.recv(65536)
        except (ConnectionResetError, BrokenPipeError):
            data = b""
        self.buffer += data
        return bool(data)

    def _until(self, mark):
        while mark not in self.buffer:
            if not self._fill():
                raise EOFError(f"closed after {show(self.buffer)}")
        data, self.buffer = self.buffer.split(mark, 1)
        return data

    def _exactly(self, n):
        while len(self.buffer) < n:
            if not self._fill():
                raise EOFError(f"closed {n - len(self.buffer)} bytes too early")
        data, self.buffer = self.buffer[:n], self.buffer[n:]
        return data

    def head(self):
        """The status line and the headers of a response; its body is still to be read."""
        lines = self._until(b"\r\n\r\n").decode("latin-1").split("\r\n")
        match = re.fullmatch(r"HTTP/1\.1 (\d{3}) [ -~]+", lines[0])
        check(match, f"bad status line {lines[0]!r}")
        headers = {}
        for line in lines[1:]:
            name, colon, value = line.partition(":")
            check(colon and name.strip() == name, f"bad header line {line!r}")
            check(name.lower() not in headers, f"header {name} is sent twice")
            headers[name.lower()] = value.strip()
        return Response(int(match.group(1)), headers)

    def pieces(self, head):
        """The body as it arrives."""
        if head.headers.get("transfer-encoding") == "chunked":
            while size := int(self._until(b"\r\n"), 16):
                yield self._exactly(size)
                equal(self._exactly(2), b"\r\n", "end of a chunk")
            equal(self._exactly(2), b"\r\n", "end of the last chunk")
        elif "content-length" in head.headers:
            yield self._exactly(int(head.headers["content-length"]))
        elif head.status >= 200 and head.status not in (204, 304):
            while self.buffer or self._fill():
                data, self.buffer = self.buffer, b""
                yield data

    def response(self, method="POST"):
        head = self.head()
        if method != "HEAD":
            head.body = b"".join(self.pieces(head))
        return head

    def events(self, head):
        """The events of a stream as they arrive, comments left out."""
        equal(head.headers.get("content-type"), "text/event-stream")
        text, event = b"", Event("")
        for piece in self.pieces(head):
            text += piece
            while b"\n" in text:
                line, text = text.split(b"\n", 1)
                line = line.rstrip(b"\r").decode()
                if line:
                    name, _, value = line.partition(":")
                    value = value.removeprefix(" ")
                    if name == "data":
                        event.data += ("\n" if event.data else "") + value
                    elif name in ("id", "event", "retry"):
                        setattr(event, "name" if name == "event" else name, value)
                    elif name:
                        raise Failure(f"bad line {line!r} in an event stream")
                elif event != Event(""):
                    yield event
                    event = Event("")

    def closed(self, timeout=5):
        """Whether the server closes the connection without another byte."""
        self.socket.settimeout(seconds(timeout))
        try:
            return not self.buffer and not self._fill()
        except TimeoutError:
            return False

    def close(self):
        self.socket.close()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()


# ---- MCP over HTTP -------------------------------------------------------------------------------


@dataclasses.dataclass
class Reply:
    """What a POST led to: the messages in their order, of which the last is the response."""
    status: int
    headers: dict
    messages: list

    @property
    def response(self):
        check(self.messages, f"status {self.status} came without a message")
        return self.messages[-1]

    @property
    def result(self):
        check("result" in self.response, f"no result in {show(self.response)}")
        return self.response["result"]

    @property
    def error(self):
        check("error" in self.response, f"no error in {show(self.response)}")
        return self.response["error"]

    @property
    def notifications(self):
        return [m for m in self.messages if "method" in m]

    @property
    def text(self):
        check(not self.result.get("isError"), f"the tool failed: {show(self.result)}")
        return self.result["content"][0]["text"]


def verify_message(message):
    """What holds for every message of a server, whatever it is about."""
    equal(message.get("jsonrpc"), "2.0", "jsonrpc")
    if "method" in message:
        check("result" not in message and "error" not in message, f"mixed: {show(message)}")
    else:
        check(("result" in message) != ("error" in message), f"mixed: {show(message)}")
        check("id" in message or "error" in message, f"a response without id: {show(message)}")
    if "error" in message:
        check(type(message["error"]["code"]) is int, "the code is not an integer")
        check(message["error"]["message"], "the error has no message")


def verify_response(message, request_id):
    verify_message(message)
    if request_id is not None:
        equal(message.get("id"), request_id, "id of the response")
        equal(type(message.get("id")), type(request_id), "type of the id of the response")


def read_reply(connection, request_id):
    head = connection.head()
    if head.headers.get("content-type") == "text/event-stream":
        messages = [e.json() for e in connection.events(head) if e.data]
    else:
        head.body = b"".join(connection.pieces(head))
        if head.body:
            equal(head.headers.get("content-type"), "application/json", "Content-Type")
        messages = [json.loads(head.body)] if head.body else []
    for message in messages:
        verify_message(message)
    if messages:
        verify_response(messages[-1], request_id)
    return Reply(head.status, head.headers, messages)


_ids = itertools.count(1)

JSON_HEADERS = {"Content-Type": "application/json",
                "Accept": "application/json, text/event-stream"}
NAME_KEYS = {"tools/call": "name", "prompts/get": "name", "resources/read": "uri",
             "tasks/get": "taskId", "tasks/update": "taskId", "tasks/cancel": "taskId"}


def modern_meta(caps=None, version=MODERN, **more):
    meta = {META + "protocolVersion": version, META + "clientCapabilities": caps or {},
            META + "clientInfo": {"name": "e2e", "version": "1"}}
    meta.update(more)
    return meta


def modern_request(method, params=None, caps=None, meta=None, headers=None, request_id=None):
    """Headers and message of a modern request. A header that is None is left out, and so is a
    member of _meta."""
    request_id = next(_ids) if request_id is None else request_id
    whole = modern_meta(caps)
    whole.update(meta or {})
    whole = {key: value for key, value in whole.items() if value is not None}
    params = dict(params or {}, _meta=whole)
    fields = dict(JSON_HEADERS, **{"MCP-Protocol-Version": MODERN, "Mcp-Method": method})
    if method in NAME_KEYS:
        fields["Mcp-Name"] = params.get(NAME_KEYS[method])
    fields.update(headers or {})
    message = {"jsonrpc": "2.0", "id": request_id, "method": method, "params": params}
    return fields, message


def modern(method, params=None, port=None, connection=None, **more):
    """One modern request on a connection of its own, or on the one that is given."""
    headers, message = modern_request(method, params, **more)
    with contextlib.ExitStack() as stack:
        connection = connection or stack.enter_context(Connection(port))
        connection.send(encode("POST", "/mcp", headers, message, connection.port))
        return read_reply(connection, message["id"])


def call(tool, arguments=None, **more):
    """A modern tools/call."""
    params = {"name": tool} if arguments is None else {"name": tool, "arguments": arguments}
    return modern("tools/call", params, **more)


def counters(port=None):
    """How many calls of test_sleep sleep, and how many were cancelled so far."""
    return json.loads(call("test_counters", port=port).text)


def initialize_params(version=LEGACY, caps=None):
    return {"protocolVersion": version, "capabilities": caps or {},
            "clientInfo": {"name": "e2e", "version": "1"}}


class Session:
    """A legacy session over HTTP; every request has a connection of its own."""

    def __init__(self, port=None, version=LEGACY, caps=None, ready=True):
        self.port = port or server().port
        self.id = None
        reply = self.request("initialize", initialize_params(version, caps))
        equal(reply.status, 200, "status of initialize")
        self.info = reply.result
        self.id = reply.headers.get("mcp-session-id")
        check(self.id and re.fullmatch(r"[!-~]+", self.id), f"session id {self.id!r}")
        self.version = self.info["protocolVersion"]
        if ready:
            equal(self.notify("notifications/initialized").status, 202, "status of initialized")

    def headers(self, **more):
        fields = dict(JSON_HEADERS)
        if self.id:
            fields.update({"Mcp-Session-Id": self.id, "MCP-Protocol-Version": self.version})
        fields.update(more)
        return fields

    def post(self, message, headers=None):
        with Connection(self.port) as connection:
            fields = dict(self.headers(), **(headers or {}))
            connection.send(encode("POST", "/mcp", fields, message, self.port))
            # the id of a response is one of the server's: a refusal does not name it
            asked = isinstance(message, dict) and "method" in message
            request_id = message.get("id") if asked else None
            return read_reply(connection, request_id)

    def message(self, method, params=None, request_id=None):
        message = {"jsonrpc": "2.0", "id": next(_ids) if request_id is None else request_id,
                   "method": method}
        return message if params is None else dict(message, params=params)

    def request(self, method, params=None, request_id=None, headers=None):
        return self.post(self.message(method, params, request_id), headers)

    def call(self, tool, arguments=None, **more):
        return self.request("tools/call", {"name": tool, "arguments": arguments or {}}, **more)

    def notify(self, method, params=None):
        message = {"jsonrpc": "2.0", "method": method}
        return self.post(message if params is None else dict(message, params=params))

    def begin(self, method, params=None, request_id=None):
        """Sends a request and leaves its answer on the connection that is returned."""
        connection = Connection(self.port)
        message = self.message(method, params, request_id)
        connection.send(encode("POST", "/mcp", self.headers(), message, self.port))
        return connection

    def delete(self):
        with Connection(self.port) as connection:
            return connection.request("DELETE", "/mcp", {"Mcp-Session-Id": self.id})


def session(**options):
    return Session(**options)


class Inbox:
    """What arrives, collected in the background; None at its end."""

    def collect(self, items):
        self.arrived = queue.Queue()
        self.seen = []
        threading.Thread(target=self._fill, args=[items], daemon=True).start()

    def _fill(self, items):
        with contextlib.suppress(OSError, EOFError, ValueError):
            for item in items:
                self.arrived.put(item)
        self.arrived.put(None)

    def take(self, timeout):
        try:
            return self.arrived.get(timeout=seconds(timeout))
        except queue.Empty:
            raise Failure(f"nothing came for {seconds(timeout)} s; "
                          f"before: {show(self.seen)}") from None

    def quiet(self, timeout=0.3):
        """Nothing arrives."""
        with contextlib.suppress(queue.Empty):
            item = self.arrived.get(timeout=seconds(timeout))
            raise Failure(f"unexpected: {show(item)}")


class Stream(Inbox):
    """An open event stream."""

    def __init__(self, connection, data):
        self.connection = connection
        connection.socket.settimeout(None)
        connection.send(data)
        self.head = connection.head()
        equal(self.head.status, 200, "status of the stream")
        self.collect(self.arrivals(connection.events(self.head)))

    def arrivals(self, events):
        return (event.json() for event in events if event.data)

    def next(self, timeout=5):
        """The next message; None at the end of the stream."""
        message = self.take(timeout)
        if message is not None:
            verify_message(message)
            self.seen.append(message)
        return message

    def __enter__(self):
        return self

    def __exit__(self, *_):
        with contextlib.suppress(OSError):
            self.connection.socket.shutdown(socket.SHUT_RDWR)
        self.connection.close()


def get_stream(legacy_session):
    headers = {"Accept": "text/event-stream", "Mcp-Session-Id": legacy_session.id,
               "MCP-Protocol-Version": legacy_session.version}
    return Stream(Connection(legacy_session.port),
                  encode("GET", "/mcp", headers, port=legacy_session.port))


def listen(notifications, request_id="listen-1", port=None):
    """A modern subscription; its acknowledgement is still to be read."""
    headers, message = modern_request("subscriptions/listen", {"notifications": notifications},
                                      request_id=request_id)
    connection = Connection(port)
    return Stream(connection, encode("POST", "/mcp", headers, message, connection.port))


# ---- a client that reads what comes --------------------------------------------------------------


class Dialogue(Inbox):
    """Requests and answers in turn. Of the transport: send(message), and message_of(item)."""

    def read(self, timeout=5):
        """The next message (a list for a batch); None at the end."""
        item = self.take(timeout)
        if item is None:
            return None
        message = self.message_of(item)
        for one in message if isinstance(message, list) else [message]:
            verify_message(one)
        self.seen.append(message)
        return message

    def answer(self, request_id, timeout=10):
        """Reads up to the response with that id; the notifications before it come along."""
        messages = []
        while True:
            message = self.read(timeout)
            check(message is not None, f"end of output before the answer to {request_id!r}")
            messages.append(message)
            if isinstance(message, dict) and "method" not in message:
                verify_response(message, request_id)
                return Reply(200, {}, messages)

    def request(self, method, params=None, request_id=None):
        request_id = next(_ids) if request_id is None else request_id
        message = {"jsonrpc": "2.0", "id": request_id, "method": method}
        self.send(message if params is None else dict(message, params=params))
        return self.answer(request_id)

    def notify(self, method, params=None):
        message = {"jsonrpc": "2.0", "method": method}
        self.send(message if params is None else dict(message, params=params))

    def modern(self, method, params=None, request_id=None, **more):
        _, message = modern_request(method, params, request_id=request_id, **more)
        self.send(message)
        return self.answer(message["id"])

    def initialize(self, version=LEGACY, ready=True, caps=None):
        reply = self.request("initialize", initialize_params(version, caps))
        if ready:
            self.notify("notifications/initialized")
        return reply


# ---- MCP over stdio ------------------------------------------------------------------------------


class Stdio(Server, Dialogue):
    """A server on a pair of pipes. Every line that it prints must be a message."""

    def __init__(self, *options, program="everything-server"):
        super().__init__(*options, stdio=True, program=program)
        self.collect(os.fdopen(os.dup(self.process.stdout.fileno()), "rb"))

    def message_of(self, line):
        check(line.endswith(b"\n"), f"an incomplete line: {show(line)}")
        try:
            return json.loads(line)
        except ValueError:
            raise Failure(f"not JSON on standard output: {show(line)}") from None

    def write(self, data):
        view = memoryview(data)
        while view:
            view = view[self.process.stdin.write(view):]

    def send(self, message):
        self.write(json.dumps(message).encode() + b"\n")

    def call(self, tool, arguments=None, **more):
        return self.modern("tools/call", {"name": tool, "arguments": arguments or {}}, **more)

    def end_input(self):
        self.process.stdin.close()

    def finish(self, timeout=5):
        """After the end of input or a signal: waits for the exit, which must be clean."""
        try:
            self.process.wait(seconds(timeout))
        except subprocess.TimeoutExpired:
            raise Failure(f"still running after {seconds(timeout)} s") from None
        self.verify()

    def stop(self, signo=signal.SIGTERM):
        if self.alive():
            self.end_input()
            self.finish(8)
        else:
            self.verify()


# ---- MCP over the old HTTP+SSE -------------------------------------------------------------------


class Sse(Dialogue):
    """A client of the old transport: a stream of events, and a POST of its own for each message.
    With a version it is initialized."""

    def __init__(self, port=None, version=None, caps=None, ready=True, headers=None):
        self.connection = Connection(port)
        self.port = self.connection.port
        fields = {"Accept": "text/event-stream", **(headers or {})}
        self.connection.send(encode("GET", "/mcp/sse", fields, port=self.port))
        self.head = self.connection.head()
        equal(self.head.status, 200, "status of the stream")
        events = self.connection.events(self.head)
        first = next(events)
        equal(first.name, "endpoint", "the first event")
        self.endpoint = first.data
        self.connection.socket.settimeout(None)
        self.collect(events)
        if version:
            self.info = self.initialize(version, ready, caps).result
            self.version = self.info["protocolVersion"]

    def message_of(self, event):
        equal((event.name, event.id), ("message", None), "name and id of an event")
        return event.json()

    def post(self, message, headers=None, path=None):
        with Connection(self.port) as connection:
            fields = {"Content-Type": "application/json", **(headers or {})}
            return connection.request("POST", path or self.endpoint, fields, message)

    def send(self, message):
        reply = self.post(message)
        equal((reply.status, reply.body), (202, b""), "answer to the POST")

    def call(self, tool, arguments=None, **more):
        return self.request("tools/call", {"name": tool, "arguments": arguments or {}}, **more)

    def close(self):
        """Hangs up, whatever is under way."""
        with contextlib.suppress(OSError):
            self.connection.socket.shutdown(socket.SHUT_RDWR)
        self.connection.close()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()
