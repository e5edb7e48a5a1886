#!/usr/bin/env python3
"""Where a server listens: Unix sockets, IPv6, and how many connections a peer may have."""

import shutil
import stat

from others import *

FOLDER = tempfile.TemporaryDirectory(prefix="owlclaw-listen-")
SOCKET = os.path.join(FOLDER.name, "mcp.sock")


class Through(Connection):
    """A connection through a socket that is connected already."""

    def __init__(self, connected, port=None):
        connected.settimeout(seconds(10))
        self.socket, self.port, self.buffer = connected, port, b""


def through_unix(path=SOCKET):
    connected = socket.socket(socket.AF_UNIX)
    connected.connect(path)
    return Through(connected)


def through_tcp(port, source="127.0.0.1"):
    return Through(socket.create_connection(("127.0.0.1", port), source_address=(source, 0)), port)


def on_unix(*options):
    return Server("--listen", f"unix:{SOCKET}", *options)


def fails_to_start(address):
    """What a server says that cannot listen there."""
    done = subprocess.run([BUILD / "examples/everything-server", "--listen", address],
                          capture_output=True, text=True, timeout=seconds(10))
    equal(done.returncode, 1, "exit status")
    return done.stderr


def echoes(connection):
    equal(call("echo", {"message": "owl"}, connection=connection).text, "owl")


# ---- Unix sockets --------------------------------------------------------------------------------


@test()
def a_unix_socket_is_served_beside_a_port():
    with on_unix() as s, through_unix() as near, through_tcp(s.port) as far:
        contains(s.stderr(), f"listening on unix:{SOCKET}\n")
        for _ in range(3):
            echoes(near)
            echoes(far)
        equal(len(call("test_tool_with_progress", {}, meta={"progressToken": 1},
                       connection=near).messages), 4)
    check(not os.path.exists(SOCKET), "the socket was left behind")


@test()
def connections_of_a_unix_socket_are_spread():
    with on_unix(), contextlib.ExitStack() as stack:
        connections = [stack.enter_context(through_unix()) for _ in range(40)]
        for connection in connections * 2:
            echoes(connection)


@test()
def curl_speaks_through_it():
    if not shutil.which("curl"):
        raise Skip("there is no curl")

    def curl(*options):
        done = subprocess.run(["curl", "-sS", "--max-time", "10", "--unix-socket", SOCKET, *options,
                               "http://localhost/mcp"], capture_output=True, text=True)
        equal(done.returncode, 0, done.stderr)
        return done.stdout

    with on_unix():
        headers, message = modern_request("tools/call", {
            "name": "test_tool_with_progress", "arguments": {}}, meta={"progressToken": 1})
        fields = [f"-H{name}: {value}" for name, value in headers.items()]
        got = curl("-N", *fields, "-d", json.dumps(message))
        events = [json.loads(line[6:]) for line in got.splitlines() if line.startswith("data: {")]
        equal([e["params"]["progress"] for e in events[:-1]], [0, 50, 100])
        equal(events[-1]["result"]["content"][0]["text"], "Progress was reported.")

        message = {"jsonrpc": "2.0", "id": 1, "method": "initialize",
                   "params": initialize_params()}
        got = curl("-i", "-HContent-Type: application/json", "-d", json.dumps(message))
        session_id = re.search(r"(?i)mcp-session-id: (\S+)", got).group(1)
        for message in ({"jsonrpc": "2.0", "method": "notifications/initialized"},
                        {"jsonrpc": "2.0", "id": 2, "method": "tools/list"}):
            got = curl("-HContent-Type: application/json", f"-HMcp-Session-Id: {session_id}",
                       f"-HMCP-Protocol-Version: {LEGACY}", "-d", json.dumps(message))
        equal(json.loads(got)["result"]["tools"][1]["name"], "echo")


@test()
def streams_go_through_it():
    with on_unix():
        headers, message = modern_request("subscriptions/listen", {
            "notifications": {"resourceSubscriptions": ["test://watched-resource"]}})
        with Stream(through_unix(), encode("POST", "/mcp", headers, message)) as stream, \
                through_unix() as other:
            equal(stream.next()["method"], "notifications/subscriptions/acknowledged")
            call("test_touch_resource", {}, connection=other)
            equal(stream.next()["method"], "notifications/resources/updated")


@test("mcp:T3")
def a_foreign_host_is_refused_there_too():
    with on_unix(), through_unix() as c:
        headers, message = modern_request("ping")
        for host, status in (("localhost", 404), ("evil.example", 403)):  # modern has no ping
            c.send(encode("POST", "/mcp", dict(headers, Host=host), message))
            equal(read_reply(c, None).status, status, host)


@test()
def only_the_owner_may_open_it():
    with on_unix():
        mode = os.lstat(SOCKET).st_mode
        check(stat.S_ISSOCK(mode), "no socket")
        equal(oct(stat.S_IMODE(mode)), oct(0o600))


@test()
def what_a_killed_server_left_is_replaced():
    killed = on_unix()
    killed.process.kill()
    killed.process.wait()
    check(os.path.exists(SOCKET), "nothing was left behind")
    with on_unix(), through_unix() as c:
        echoes(c)
    check(not os.path.exists(SOCKET), "the socket was left behind")


@test()
def what_is_in_use_or_no_socket_is_left_alone():
    with on_unix(), through_unix() as c:
        contains(fails_to_start(f"unix:{SOCKET}"), f"unix:{SOCKET}: a program listens there")
        echoes(c)
        with through_unix() as another:
            echoes(another)
    path = os.path.join(FOLDER.name, "notes.txt")
    pathlib.Path(path).write_text("kept")
    contains(fails_to_start(f"unix:{path}"), "no socket")
    equal(pathlib.Path(path).read_text(), "kept")
    contains(fails_to_start("unix:/tmp/" + "x" * 103), "a Unix socket may have 107")
    contains(fails_to_start(f"unix:{FOLDER.name}/no/such/folder"), "no such file or directory")


@test()
def an_abstract_name_needs_no_file():
    name = f"owlclaw-test-{os.getpid()}"
    with Server("--listen", f"unix:@{name}"), through_unix("\0" + name) as c:
        echoes(c)


if VARIANT == "normal":
    @test(timeout=60)
    def official_clients_speak_through_it():
        with on_unix():
            for version, era in (("v1", "legacy"), ("v2", "legacy"), ("v2", "auto"),
                                 ("v2", "modern")):
                sdk_works(version, era, "Unix socket", f"unix:{SOCKET}")


# ---- IPv6 ----------------------------------------------------------------------------------------


@test()
def ipv6_is_served():
    try:
        socket.create_server(("::1", 0), family=socket.AF_INET6).close()
    except OSError as error:
        raise Skip(f"there is no IPv6: {error}") from None
    with Server("--listen", "[::1]:0") as s:
        port = int(re.search(r"listening on http://\[::1\]:(\d+)/mcp\n", s.stderr()).group(1))
        with Through(socket.create_connection(("::1", port)), port) as c:
            echoes(c)
            headers, message = modern_request("tools/list", headers={"Host": f"[::1]:{port}"})
            c.send(encode("POST", "/mcp", headers, message))
            equal(read_reply(c, message["id"]).status, 200)


# ---- the connections of a peer -------------------------------------------------------------------


def refused(connect):
    """Whether a new connection is closed at once."""
    with connect() as c:
        return c.closed()


@test()
def a_peer_may_have_so_many_connections():
    with on_unix("--limit", "connections_per_peer=3") as s, contextlib.ExitStack() as stack:
        mine = [stack.enter_context(through_tcp(s.port)) for _ in range(3)]
        for c in mine * 2:
            echoes(c)
        for _ in range(10):
            check(refused(lambda: through_tcp(s.port)), "a fourth connection is served")
        contains(s.stderr(), "127.0.0.1: it has the limit of 3")
        check(s.stderr().count("it has the limit") <= int(REACTORS), "a line for every connection")

        near = [stack.enter_context(through_unix()) for _ in range(3)]  # a peer of its own
        other = stack.enter_context(through_tcp(s.port, "127.0.0.2"))
        for c in (*mine, *near, other):
            echoes(c)
        check(refused(through_unix), "Unix sockets are not counted")

        mine[1].close()

        def there_is_room():
            with contextlib.suppress(EOFError, OSError), through_tcp(s.port) as c:
                echoes(c)
                return True
            return False
        eventually(there_is_room, "the place of a closed connection is free")
        for c in (mine[0], mine[2]):
            echoes(c)


@test()
def places_come_back_however_connections_end():
    """By their client, by an error, by a reset, in the middle of an answer."""
    slow = modern_request("tools/call", {"name": "test_sleep", "arguments": {"ms": 20000}})
    endings = [b"", b"GET / HTTP/1.1\r\n", b"nonsense\r\n\r\n",
               encode("POST", "/mcp", slow[0], slow[1])]
    with Server("--limit", "connections_per_peer=2") as s:
        for round_number in range(40):
            with through_tcp(s.port) as c:
                c.send(endings[round_number % len(endings)])
                if round_number % 3 == 0:
                    c.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER,
                                        b"\1\0\0\0\0\0\0\0")

            def served():
                with contextlib.suppress(EOFError, OSError), through_tcp(s.port) as c:
                    echoes(c)
                    return True
                return False
            eventually(served, f"a place is free after ending {round_number % len(endings)}")


@test()
def trusted_proxies_and_by_default_this_machine_are_not_limited():
    for options, n in ((("--limit", "connections_per_peer=2", "--trusted-proxies", "127.0.0.0/8"), 20),
                       ((), 300)):
        with Server(*options) as s, contextlib.ExitStack() as stack:
            for c in [stack.enter_context(through_tcp(s.port)) for _ in range(n)]:
                echoes(c)
            equal(s.stderr().count("limit"), 0)


main()
