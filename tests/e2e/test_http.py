#!/usr/bin/env python3
"""HTTP itself: framing, limits, hosts and origins, methods, connections that last."""

from client import *


def discover():
    headers, message = modern_request("server/discover", request_id=1)
    return headers, message


def post(headers=None, body=None, port=None):
    """A discover request with other headers or another body; its status and its error code."""
    fields, message = discover()
    fields.update(headers or {})
    with Connection(port) as c:
        c.send(encode("POST", "/mcp", fields, message if body is None else body, c.port))
        return read_reply(c, None)


def raw(data):
    """The response to bytes that are no request of ours; None if the server just hangs up."""
    with Connection() as c:
        c.send(data)
        try:
            return c.response()
        except EOFError:
            return None


@test("mcp:T3")
def only_names_of_this_machine_are_answered():
    port = server().port
    for host in ("127.0.0.1", f"127.0.0.1:{port}", "localhost", f"localhost:{port}", "[::1]",
                 f"[::1]:{port}", "LOCALHOST:1"):
        equal(post({"Host": host}).status, 200, host)
    for host in ("evil.example.com", f"evil.example.com:{port}", "127.0.0.1.evil.example.com",
                 "localhost.evil.example.com", "localhost@evil.example.com", "127.0.0.2", "",
                 "[::2]", "evil.example.com:127.0.0.1"):
        status = post({"Host": host}).status
        check(400 <= status < 500, f"Host {host!r} is answered with {status}")


@test()
def every_line_of_accept_counts():
    params = {"name": "test_tool_with_progress", "arguments": {}}
    for accept in ({"Accept": "application/json", "accept": "text/event-stream"},
                   {"Accept": "text/event-stream", "accept": "application/json"},
                   {"Accept": "text/*;q=0.5, application/*"}, {"Accept": "*/*"},
                   {"Accept": "text/html, application/json;q=0.1,text/event-stream ;q=0.001"}):
        reply = modern("tools/call", params, meta={"progressToken": "p"}, headers=accept)
        equal(len(reply.notifications), 3, show(accept))
    for accept in ({"Accept": "application/json"},
                   {"Accept": "text/event-stream;q=0, application/json"},
                   {"Accept": "text/event-stream; Q=0.000, */*"},
                   {"Accept": "text/*;q=0., */*"}):
        reply = modern("tools/call", params, meta={"progressToken": "p"}, headers=accept)
        equal(reply.headers["content-type"], "application/json", show(accept))
    for accept in ("application/json;q=0, text/event-stream", "text/event-stream", "text/*"):
        reply = modern("tools/call", params, headers={"Accept": accept})
        equal(reply.headers["content-type"], "text/event-stream", accept)
    for accept in ("*/*;q=0", "text/html", "application/json;q=0"):
        equal(post({"Accept": accept}).status, 406, accept)


@test("mcp:T3")
def only_origins_of_this_machine_are_answered():
    for origin in ("http://localhost", "http://localhost:3000", "https://127.0.0.1:1",
                   "http://[::1]:8080"):
        equal(post({"Origin": origin}).status, 200, origin)
    for origin in ("http://evil.example.com", "http://localhost.evil.example.com", "null", "",
                   "http://evil.example.com#localhost", "http://evil.example.com/localhost",
                   "http://localhost@evil.example.com", "file://localhost", "localhost"):
        equal(post({"Origin": origin}).status, 403, origin)
    s = session()
    with Connection() as c:
        evil = {"Origin": "http://evil.example.com", "Mcp-Session-Id": s.id}
        equal(c.request("DELETE", headers=evil).status, 403, "DELETE")
    with Connection() as c:
        equal(c.request("GET", headers=dict(evil, Accept="text/event-stream")).status, 403, "GET")
    equal(s.request("ping").result, {}, "the session is still there")


@test("mcp:T3")
def an_origin_that_says_two_things_is_refused():
    ours, other = "http://localhost", "http://evil.example.com"
    with Sse() as s:
        for first, second in ((ours, other), (other, ours)):
            headers = {"Origin": first, "origin": second, "Content-Type": "application/json",
                       "Accept": "application/json, text/event-stream"}
            for method, path, body in (("GET", "/mcp/sse", None), ("GET", "/mcp", None),
                                       ("POST", s.endpoint, b"{}"), ("POST", "/mcp", b"{}"),
                                       ("DELETE", "/mcp", None), ("OPTIONS", "/mcp", None)):
                with Connection() as c:
                    reply = c.request(method, path, headers, body)
                equal(reply.status, 400, f"{method} {path}")
                contains(reply.json()["error"]["message"], "Origin")
        s.quiet()
    equal(post({"Origin": ours, "origin": ours}).status, 200, "the same twice")


@test("OR-1.9 OD-3.2.1.1 mcp:B1")
def malformed_json_is_a_parse_error():
    for body in (b"", b"{", b"nonsense", b'{"jsonrpc":"2.0","id":1,"method":"ping"', b"\x00",
                 b'{"jsonrpc":"2.0","id":1,"method":"\xff"}', b'{"a":1}}', b"[1,]", b"{'a':1}",
                 b'{"jsonrpc":"2.0","id":1,"id":2,"method":"ping"}',
                 b'{"jsonrpc":"2.0","id":1,"method":"x","params":' + b"[" * 100000,
                 b"\xef\xbb\xbf{}", b'{"jsonrpc":"2.0","id":01,"method":"ping"}'):
        reply = post(body=body)
        equal(reply.status, 400, show(body))
        check(reply.error["code"] in (-32700, -32600), f"{show(body)}: {reply.error}")
        if b'"id":2' not in body and b"[[" not in body:
            equal(reply.error["code"], -32700, show(body))
        check("id" not in reply.response, show(body))  # its revision does not know null


@test("OR-13.2")
def a_parse_error_says_where():
    message = post(body=b'{"jsonrpc":"2.0", nonsense}').error["message"]
    check(re.search(r"\b1[6-9]\b", message), f"no position in {message!r}")


@test("OR-13.3 OD-3.2.1.2 mcp:B1")
def what_is_no_request_is_invalid():
    for message in ({}, {"jsonrpc": "2.0"}, {"jsonrpc": "1.0", "id": 1, "method": "ping"},
                    {"id": 1, "method": "ping"}, {"jsonrpc": "2.0", "id": 1, "method": 5},
                    {"jsonrpc": "2.0", "id": {}, "method": "ping"},
                    {"jsonrpc": "2.0", "id": None, "method": "ping"},
                    {"jsonrpc": "2.0", "id": 1.5, "method": "ping"},
                    {"jsonrpc": "2.0", "id": True, "method": "ping"},
                    {"jsonrpc": "2.0", "id": 1},
                    {"jsonrpc": "2.0", "id": 1, "method": "ping", "params": 5},
                    7, "text", None, True):
        reply = post(body=json.dumps(message).encode())
        equal(reply.status, 400, show(message))
        equal(reply.error["code"], -32600, show(message))


@test()
def connections_are_kept():
    with Connection() as c:
        for i in range(50):
            equal(call("echo", {"message": str(i)}, connection=c).text, str(i))


@test()
def connections_are_closed_when_asked():
    headers, message = discover()
    with Connection() as c:
        c.send(encode("POST", "/mcp", dict(headers, Connection="close"), message, c.port))
        reply = read_reply(c, 1)
        equal(reply.headers.get("connection", "").lower(), "close")
        check(c.closed(), "the connection stays open")
    with Connection() as c:
        c.send(encode("POST", "/mcp", headers, message).replace(b"HTTP/1.1", b"HTTP/1.0", 1))
        equal(read_reply(c, 1).status, 200)
        check(c.closed(), "the HTTP/1.0 connection stays open")


@test()
def pipelined_requests_are_answered_in_order():
    requests, ids = b"", []
    for i in range(40):
        tool = {"name": "test_sleep", "arguments": {"ms": 30}} if i % 10 == 0 else {
            "name": "echo", "arguments": {"message": f"n{i}"}}
        headers, message = modern_request("tools/call", tool)
        requests += encode("POST", "/mcp", headers, message)
        ids.append(message["id"])
    with Connection() as c:
        c.send(requests)
        for i, request_id in enumerate(ids):
            text = read_reply(c, request_id).text
            equal(text, "slept 30 ms" if i % 10 == 0 else f"n{i}")


@test()
def a_request_may_arrive_byte_by_byte():
    headers, message = discover()
    with Connection() as c:
        c.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        for byte in encode("POST", "/mcp", headers, message, c.port):
            c.send(bytes([byte]))
        equal(read_reply(c, 1).status, 200)


@test()
def a_body_may_come_in_chunks():
    headers, message = discover()
    body = json.dumps(message).encode()
    with Connection() as c:
        for size in (1, 7, len(body)):
            fields = dict(headers, **{"Transfer-Encoding": "chunked"})
            c.send(encode("POST", "/mcp", fields, port=c.port))
            for at in range(0, len(body), size):
                piece = body[at:at + size]
                c.send(b"%x;ext=1\r\n%s\r\n" % (len(piece), piece))
            c.send(b"0\r\nTrailer-Field: x\r\n\r\n")
            equal(read_reply(c, 1).status, 200, f"chunks of {size}")


@test()
def a_client_may_ask_before_it_sends_its_body():
    headers, message = discover()
    body = json.dumps(message).encode()
    with Connection() as c:
        head = encode("POST", "/mcp", dict(headers, Expect="100-continue",
                                           **{"Content-Length": len(body)}), port=c.port)
        c.send(head)
        equal(c.head().status, 100)
        c.send(body)
        equal(read_reply(c, 1).status, 200)


@test()
def other_methods_are_told_what_is_allowed():
    for method in ("PUT", "PATCH", "HEAD", "TRACE", "PROPFIND"):
        with Connection() as c:
            response = c.request(method)
            equal(response.status, 405, method)
            allowed = {m.strip() for m in response.headers["allow"].split(",")}
            check({"POST", "GET", "DELETE"} <= allowed, f"Allow of {method}: {allowed}")
            equal(response.body, b"" if method == "HEAD" else response.body)
    with Connection() as c:
        response = c.request("OPTIONS")
        check(response.status in (200, 204), f"OPTIONS: {response.status}")
        contains(response.headers["allow"], "POST")
        equal(call("echo", {"message": "after"}, connection=c).text, "after")


@test()
def a_head_request_has_no_body():
    with Connection() as c:
        c.request("HEAD")
        equal(call("echo", {"message": "after"}, connection=c).text, "after")


@test()
def other_paths_are_not_found():
    for path in ("/", "/mcp/", "/mcp/x", "/MCP", "/../mcp", "//mcp", "/mc", "/mcp%00"):
        with Connection() as c:
            equal(c.request("POST", path, JSON_HEADERS, {}).status, 404, path)
    with Connection() as c:
        headers, message = discover()
        c.send(encode("POST", "/mcp?x=1", headers, message))
        equal(read_reply(c, 1).status, 200, "a query is ignored")


@test()
def malformed_http_is_refused():
    _, message = discover()
    body = json.dumps(message).encode()
    length = b"Content-Length: %d\r\n" % len(body)
    host = b"Host: localhost\r\n"
    for what, data in (
            ("nonsense", b"nonsense\r\n\r\n"),
            ("no version", b"POST /mcp\r\n" + host + b"\r\n"),
            ("a strange version", b"POST /mcp HTTP/9.9\r\n" + host + b"\r\n"),
            ("HTTP/2", b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"),
            ("TLS", b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + b"\x00" * 64),
            ("a bad length", b"POST /mcp HTTP/1.1\r\n" + host + b"Content-Length: x\r\n\r\n"),
            ("a negative length", b"POST /mcp HTTP/1.1\r\n" + host + b"Content-Length: -1\r\n\r\n"),
            ("a huge length", b"POST /mcp HTTP/1.1\r\n" + host +
             b"Content-Length: 99999999999999999999999\r\n\r\n"),
            ("two lengths", b"POST /mcp HTTP/1.1\r\n" + host + length +
             b"Content-Length: 1\r\n\r\n"),
            ("length and chunks", b"POST /mcp HTTP/1.1\r\n" + host + length +
             b"Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n"),
            ("unknown coding", b"POST /mcp HTTP/1.1\r\n" + host +
             b"Transfer-Encoding: gzip\r\n\r\n" + body),
            ("a bad chunk", b"POST /mcp HTTP/1.1\r\n" + host +
             b"Transfer-Encoding: chunked\r\n\r\nzz\r\n"),
            ("a folded header", b"POST /mcp HTTP/1.1\r\n" + host + b"X: a\r\n b\r\n\r\n"),
            ("a space before the colon", b"POST /mcp HTTP/1.1\r\nHost : localhost\r\n\r\n"),
            ("a NUL", b"POST /mcp HTTP/1.1\r\n" + host + b"X: a\x00b\r\n\r\n"),
            ("no host", b"POST /mcp HTTP/1.1\r\n" + length + b"\r\n" + body),
            ("two hosts", b"POST /mcp HTTP/1.1\r\n" + host + b"Host: evil.example.com\r\n" +
             length + b"\r\n" + body)):
        response = raw(data)
        check(response is None or 400 <= response.status < 600, f"{what}: {response}")
        check(what in ("HTTP/2", "TLS") or response is not None, f"{what}: no answer")
    equal(post().status, 200, "the server goes on")


@test()
def limits_have_statuses_of_their_own():
    with Connection() as c:
        equal(c.request("POST", "/" + "x" * 9000).status, 414, "a long URL")
    with Connection() as c:
        equal(c.request("POST", headers={"X-Long": "x" * 40000}).status, 431, "a long header")
    with Connection() as c:
        many = {f"X-{i}": "1" for i in range(150)}
        equal(c.request("POST", headers=many).status, 431, "many headers")
    with Connection() as c:
        c.send(encode("POST", headers={"Content-Length": str(5 << 20)}))
        equal(c.response().status, 413, "a long body is refused before it is sent")
        check(c.closed(), "the connection stays open")
    with Connection() as c:
        c.send(encode("POST", headers={"Transfer-Encoding": "chunked",
                                       "Content-Type": "application/json"}))
        with contextlib.suppress(OSError):
            for _ in range(80):
                c.send(b"10000\r\n" + b" " * 65536 + b"\r\n")
        equal(c.response().status, 413, "a long body in chunks")
    equal(post().status, 200, "the server goes on")


@test()
def a_large_body_within_the_limit_is_served():
    text = "y" * (3 << 20)
    equal(call("echo", {"message": text}).text, text)


@test()
def a_client_that_hangs_up_in_the_middle_harms_nobody():
    headers, message = discover()
    data = encode("POST", "/mcp", headers, message)
    for at in range(0, len(data), 37):
        with Connection() as c:
            c.send(data[:at])
    for _ in range(20):
        with Connection() as c:
            c.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
            c.send(data)
    equal(post().status, 200)


@test()
def a_client_that_dawdles_is_told_so():
    headers, message = discover()
    data = encode("POST", "/mcp", headers, message)
    with Connection(timeout=20) as c:
        c.send(data[:40])
        started = time.monotonic()
        equal(c.response().status, 408)
        check(5 < time.monotonic() - started < seconds(15), "not after about 10 s")
        check(c.closed(), "the connection stays open")


@test()
def a_client_that_does_not_read_is_not_buffered_without_end():
    headers, message = modern_request("tools/call", {"name": "test_large_content",
                                                     "arguments": {"bytes": 2_000_000}})
    data = encode("POST", "/mcp", headers, message)
    connections = [Connection() for _ in range(8)]
    for c in connections:
        with contextlib.suppress(OSError):
            c.send(data * 8)
    equal(post().status, 200, "others are served meanwhile")
    for c in connections:
        c.close()
    equal(post().status, 200)


@test()
def many_connections_at_once_are_served():
    connections = [Connection() for _ in range(200)]
    for i, c in enumerate(connections):
        headers, message = modern_request("tools/call", {"name": "echo", "arguments": {
            "message": str(i)}}, request_id=i)
        c.send(encode("POST", "/mcp", headers, message))
    for i, c in enumerate(connections):
        equal(read_reply(c, i).text, str(i))
        c.close()


@test()
def json_answers_are_one_line_and_not_sniffed():
    headers, message = discover()
    with Connection() as c:
        c.send(encode("POST", "/mcp", headers, message))
        response = c.response()
        check(b"\n" not in response.body.rstrip(b"\n"), "the body has several lines")
        equal(response.headers["content-type"], "application/json")


@test()
def a_client_that_accepts_no_stream_gets_json():
    for accept in ("application/json", "*/*", None):
        reply = call("test_simple_text", headers={"Accept": accept})
        equal(reply.status, 200, f"Accept: {accept}")
        contains(reply.text, "simple text")


main()
