#!/usr/bin/env python3
"""A server behind nginx as people set it up: buffering is on, and upstream connections are kept.

Streams must arrive at once all the same, because the server asks for it (X-Accel-Buffering). That
counts where nginx speaks HTTP/1.0 to the server, as it does unless it is told otherwise; as a
control, one location of the proxy ignores the wish."""

import atexit
import shutil
import urllib.parse

from others import *

NGINX = shutil.which("nginx") or shutil.which("nginx", path="/usr/sbin:/usr/local/sbin")

CONFIGURATION = """
daemon off;
pid {folder}/pid;
error_log {folder}/errors warn;
worker_processes 1;
{user}
events {{ worker_connections 512; }}
http {{
    access_log off;
    client_max_body_size 8m;
    client_body_temp_path {folder}/body;
    proxy_temp_path {folder}/proxy;
    fastcgi_temp_path {folder}/fastcgi;
    uwsgi_temp_path {folder}/uwsgi;
    scgi_temp_path {folder}/scgi;
    upstream tcp {{ server 127.0.0.1:{server}; keepalive 8; }}
    upstream local {{ server unix:{folder}/mcp.sock; keepalive 8; }}
    server {{
        listen 127.0.0.1:{tcp};
        proxy_http_version 1.1;
        proxy_set_header Connection "";
        proxy_set_header Host $host;
        proxy_buffering on;
        location /mcp {{ proxy_pass http://tcp; }}
        location /old {{
            proxy_http_version 1.0;
            proxy_pass http://tcp/mcp;
        }}
        location /held-back {{
            proxy_http_version 1.0;
            proxy_ignore_headers X-Accel-Buffering;
            proxy_pass http://tcp/mcp;
        }}
    }}
    server {{
        listen 127.0.0.1:{local};
        proxy_http_version 1.1;
        proxy_set_header Connection "";
        proxy_set_header Host $host;
        location /mcp {{ proxy_pass http://local; }}
    }}
    include {folder}/shown.conf;
}}
"""

SHOWN = ROOT / "examples/nginx.conf"  # what people are told to write


def free_ports(n):
    with contextlib.ExitStack() as stack:
        sockets = [stack.enter_context(socket.create_server(("127.0.0.1", 0))) for _ in range(n)]
        return [s.getsockname()[1] for s in sockets]


class Proxied:
    """A server and nginx before it: `port` leads to it through TCP, `local` by its Unix socket,
    `shown` as the documents say."""

    def __init__(self):
        if not NGINX:
            raise Skip("there is no nginx: tools/bootstrap installs it")
        self.folder = tempfile.TemporaryDirectory(prefix="owlclaw-nginx-")
        self.server = Server("--listen", f"unix:{self.folder.name}/mcp.sock")
        self.port, self.local, self.shown = free_ports(3)
        shown = SHOWN.read_text().replace("127.0.0.1:8080", f"127.0.0.1:{self.server.port}")
        shown = shown.replace("listen 80;", f"listen 127.0.0.1:{self.shown};")
        pathlib.Path(self.folder.name, "shown.conf").write_text(shown)
        path = pathlib.Path(self.folder.name, "nginx.conf")
        path.write_text(CONFIGURATION.format(
            folder=self.folder.name, server=self.server.port, tcp=self.port, local=self.local,
            user="user root;" if os.geteuid() == 0 else ""))  # the socket is its owner's
        self.nginx = subprocess.Popen([NGINX, "-p", self.folder.name, "-c", path],
                                      stdin=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        eventually(self._accepts, "nginx listens")

    def _accepts(self):
        check(self.nginx.poll() is None, f"nginx ended: {self.errors()}")
        with contextlib.suppress(OSError), contextlib.closing(
                socket.create_connection(("127.0.0.1", self.local))):
            return True
        return False

    def errors(self):
        path = pathlib.Path(self.folder.name, "errors")
        return path.read_text() if path.exists() else ""

    def stop(self):
        """Both end well, and nginx had no complaint about what the server sent."""
        self.nginx.terminate()
        self.nginx.wait(seconds(5))
        self.server.stop()
        complaints = [line for line in self.errors().splitlines() if "upstream" in line]
        self.folder.cleanup()
        equal(complaints, [])

    def __enter__(self):
        return self

    def __exit__(self, kind, error, trace):
        if error is None:
            self.stop()
            return
        print(indent(self.errors(), "nginx"))
        self.kill()

    def kill(self):
        self.nginx.terminate()  # a master that is killed leaves its worker behind
        self.server.process.kill()
        self.nginx.wait()
        self.server.process.wait()


_proxied = []
atexit.register(lambda: [pair.kill() for pair in _proxied])


def proxied():
    """The pair that the tests share."""
    if not _proxied:
        _proxied.append(Proxied())
    return _proxied[0]


def kept_connections(port):
    """The ports from which this machine is connected to @p port."""
    rows = [line.split() for line in open("/proc/net/tcp", encoding="ascii").readlines()[1:]]
    return {int(local.split(":")[1], 16) for _, local, remote, state, *_ in rows
            if state == "01" and int(remote.split(":")[1], 16) == port}


def arrivals(path, port):
    """When the messages of a call with progress arrive."""
    headers, message = modern_request("tools/call", {"name": "test_tool_with_progress"},
                                      meta={"progressToken": "p"})
    with Stream(Connection(port), encode("POST", path, headers, message, port)) as stream:
        times = []
        while stream.next() is not None:
            times.append(time.monotonic())
        equal(len(times), 4, "messages")
        return times


@test()
def calls_pass_the_proxy():
    for port in (proxied().port, proxied().local, proxied().shown):
        equal(call("echo", {"message": "owl"}, port=port).text, "owl")
        s = Session(port)
        equal(s.call("echo", {"message": "h\u00e9llo"}).text, "h\u00e9llo")
        equal(s.delete().status, 200)
        equal(s.request("tools/list").status, 404)
        large = "x" * 1_000_000
        equal(call("echo", {"message": large}, port=port).text, large)


@test()
def refusals_pass_the_proxy():
    port = proxied().port
    equal(call("no_such_tool", {}, port=port).error["code"], -32602)
    with Connection(port) as c:
        equal(c.request("PUT").status, 405)
        equal(c.request("POST", headers={"Content-Type": "text/plain"}, body=b"{}").status, 415)
    with Connection(port) as c:
        body = b"[" + b" " * (5 << 20) + b"]"
        equal(c.request("POST", headers=JSON_HEADERS, body=body).status, 413)
    equal(call("echo", {"message": "owl"}, port=port).text, "owl")


@test()
def progress_arrives_while_the_call_runs():
    for path, port in (("/mcp", proxied().port), ("/old", proxied().port),
                       ("/mcp", proxied().local), ("/mcp", proxied().shown),
                       ("/owl/mcp", proxied().shown)):
        times = arrivals(path, port)
        check(times[3] - times[0] > 0.08, "everything came at once, at the end")


@test()
def without_the_server_s_wish_nginx_would_hold_streams_back():
    times = arrivals("/held-back", proxied().port)
    check(times[3] - times[0] < 0.08, "this proxy does not buffer: the other test proves nothing")


@test()
def the_stream_of_a_session_passes_at_once():
    for port in (proxied().port, proxied().local):
        s = Session(port)
        equal(s.request("resources/subscribe", {"uri": "test://watched-resource"}).result, {})
        with get_stream(s) as stream:
            for _ in range(3):
                stream.quiet(0.1)
                started = time.monotonic()
                s.call("test_touch_resource")
                equal(stream.next()["method"], "notifications/resources/updated")
                check(time.monotonic() - started < seconds(1), "it was held back")


@test()
def the_old_transport_passes_also_below_a_path_of_its_own():
    port = proxied().shown
    for path in ("/mcp", "/owl/mcp"):
        stream = Connection(port)
        with stream:
            stream.send(encode("GET", path + "/sse", {"Accept": "text/event-stream"}, port=port))
            events = stream.events(stream.head())
            endpoint = urllib.parse.urljoin(path + "/sse", next(events).data)
            message = {"jsonrpc": "2.0", "id": 1, "method": "ping"}
            with Connection(port) as c:
                equal(c.request("POST", endpoint, JSON_HEADERS, message).status, 202)
            equal(next(events).json(), {"jsonrpc": "2.0", "id": 1, "result": {}})


@test()
def a_subscription_passes_at_once():
    for port in (proxied().port, proxied().local):
        with listen({"resourceSubscriptions": ["test://watched-resource"]}, port=port) as stream:
            equal(stream.next()["method"], "notifications/subscriptions/acknowledged")
            for _ in range(3):
                stream.quiet(0.1)
                call("test_touch_resource", {}, port=port)
                equal(stream.next()["method"], "notifications/resources/updated")


@test()
def a_client_that_goes_away_has_cancelled():
    port, direct = proxied().port, proxied().server.port
    before = counters(direct)["cancelled"]
    headers, message = modern_request("tools/call", {
        "name": "test_sleep", "arguments": {"ms": 20000}})
    with Connection(port) as c:
        c.send(encode("POST", "/mcp", headers, message, port))
        eventually(lambda: counters(direct)["sleeping"] == 1, "the call runs")
    eventually(lambda: counters(direct)["sleeping"] == 0, "the call is cancelled", 2)
    equal(counters(direct)["cancelled"], before + 1)


@test()
def upstream_connections_are_kept():
    p = proxied()
    for tool, meta in (("echo", {}), ("test_tool_with_progress", {"progressToken": 1})):
        arguments = {"message": "owl"} if tool == "echo" else {}
        call(tool, arguments, port=p.port, meta=meta)
        kept = kept_connections(p.server.port)
        check(kept, "nginx has not kept its connection")
        for _ in range(10):
            call(tool, arguments, port=p.port, meta=meta)
        equal(kept_connections(p.server.port), kept, f"connections to the server after {tool}")


@test()
def many_streams_and_calls_pass_side_by_side():
    port = proxied().port
    with contextlib.ExitStack() as stack:
        streams = [stack.enter_context(
            listen({"resourceSubscriptions": ["test://watched-resource"]}, f"s{n}", port))
            for n in range(30)]
        for stream in streams:
            equal(stream.next()["method"], "notifications/subscriptions/acknowledged")
        for n in range(20):
            equal(call("echo", {"message": str(n)}, port=port).text, str(n))
        call("test_touch_resource", {}, port=port)
        for stream in streams:
            equal(stream.next()["method"], "notifications/resources/updated")


@test()
def streams_end_well_when_the_server_stops():
    with Proxied() as p:
        with listen({"toolsListChanged": True}, port=p.port) as modern_stream, \
                get_stream(Session(p.port)) as legacy_stream:
            equal(modern_stream.next()["method"], "notifications/subscriptions/acknowledged")
            p.server.stop()
            while modern_stream.next() is not None:
                pass
            equal(legacy_stream.next(), None)
        complaints = [line for line in p.errors().splitlines() if "prematurely" in line]
        equal(complaints, [])


if VARIANT == "normal":
    @test(timeout=90)
    def official_clients_pass_the_proxy():
        url = f"http://127.0.0.1:{proxied().port}/mcp"
        for version, era in (("v1", "legacy"), ("v2", "legacy"), ("v2", "auto"), ("v2", "modern")):
            sdk_works(version, era, "nginx", url)


@test()
def nginx_had_nothing_to_complain_about():
    proxied()
    _proxied.pop().stop()


main()
