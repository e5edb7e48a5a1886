#!/usr/bin/env python3
"""What hostile clients cost the honest ones: attacks a server and prints a table.

usage: bench/hostile.py [--quick] [--seconds N] [--only NAME,...] [--same-priority] [URL]

URL is that of an everything-server on this machine, e.g. http://127.0.0.1:8080/mcp; without it a new
one is started for every attack, from OWLCLAW_BUILD (default build/). While an attack lasts, an
honest client in a process of its own calls `echo`, by turns on a connection that it keeps and on a
new one. The table has the median and the 99th percentile of both beside those of a quiet server, and
the resident memory of the server before, at most during, and 2 s after the attack; under it stands
each 99th percentile as a multiple of the quiet one (of the lower, of the first and the last row).

Attackers, honest client and server share the cores of the machine. Attackers get what the others
leave (SCHED_IDLE), as if they came from elsewhere: the server still does all that they ask for, and
the notes say how much that was. `--same-priority` lets them compete for the cores as well. Calls of
seconds in which a hypervisor took more than 2 % of the processors away do not count: `calm` is how
many seconds are left. A measurement, no test."""

import argparse
import contextlib
import json
import multiprocessing
import os
import pathlib
import re
import resource
import select
import socket
import statistics
import struct
import subprocess
import sys
import tempfile
import time
import urllib.parse

ROOT = pathlib.Path(__file__).resolve().parent.parent
BUILD = pathlib.Path(os.environ.get("OWLCLAW_BUILD") or ROOT / "build")
META = {"io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {}}
RESET = struct.pack("ii", 1, 0)  # SO_LINGER: leave no TIME_WAIT behind


# ---- requests ------------------------------------------------------------------------------------


def post(message, **headers):
    body = json.dumps(message).encode()
    lines = ["POST /mcp HTTP/1.1", "Host: 127.0.0.1", "Content-Type: application/json",
             "Accept: application/json, text/event-stream", f"Content-Length: {len(body)}",
             *(f"{name.replace('_', '-')}: {value}" for name, value in headers.items())]
    return ("\r\n".join(lines) + "\r\n\r\n").encode() + body


def modern(method, params, request_id=1):
    name = {"Mcp_Name": params["name"]} if "name" in params else {}
    message = {"jsonrpc": "2.0", "id": request_id, "method": method,
               "params": dict(params, _meta=META)}
    return post(message, MCP_Protocol_Version="2026-07-28", Mcp_Method=method, **name)


def tool(name, **arguments):
    return modern("tools/call", {"name": name, "arguments": arguments})


def initialize(padding=""):
    return post({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {
        "protocolVersion": "2025-11-25", "capabilities": {"experimental": {"x": {"y": padding}}},
        "clientInfo": {"name": "hostile", "version": "1"}}})


def connect(address, **options):
    s = socket.socket()
    s.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, RESET)
    for name, value in options.items():
        s.setsockopt(socket.SOL_SOCKET, getattr(socket, name), value)
    s.settimeout(10)
    s.connect(address)
    return s


def read_answer(s):
    """The status of the next answer, its headers and body read; 0 at the end."""
    data = b""
    while b"\r\n\r\n" not in data:
        more = s.recv(65536)
        if not more:
            return 0
        data += more
    head, body = data.split(b"\r\n\r\n", 1)
    length = int(re.search(rb"(?i)content-length: (\d+)", head).group(1))
    while len(body) < length:
        more = s.recv(65536)
        if not more:
            return 0
        body += more
    return int(head[9:12])


# ---- the honest client ---------------------------------------------------------------------------


def stolen_ticks():
    """What a hypervisor has taken from this machine so far."""
    with open("/proc/stat", encoding="ascii") as stat:
        return int(stat.readline().split()[8])


def honest(address, stop, results):
    """Calls `echo` until it is told to stop; sends what calls of calm seconds took in ms, how many
    such seconds there were, and how many calls failed."""
    request = tool("echo", message="an honest call")
    kept, failed, calm, all_kept, all_new = None, 0, 0, [], []
    kept_ms, new_ms, second, stolen = [], [], time.monotonic(), stolen_ticks()
    while not stop.is_set():
        if time.monotonic() >= second + 1:
            if stolen_ticks() - stolen <= 2 * os.cpu_count():  # a hundred ticks a second
                calm, all_kept, all_new = calm + 1, all_kept + kept_ms, all_new + new_ms
            kept_ms, new_ms, second, stolen = [], [], time.monotonic(), stolen_ticks()
        for fresh in (False, True):
            started = time.perf_counter()
            try:
                s = connect(address) if fresh or kept is None else kept
                s.sendall(request)
                ok = read_answer(s) == 200
            except OSError:
                ok, s = False, None
            took = (time.perf_counter() - started) * 1000
            failed += not ok
            (new_ms if fresh or kept is None else kept_ms).append(took)
            if fresh and s is not None:
                s.close()
            elif not fresh:
                kept = s if ok else None
        time.sleep(0.002)
    results.put((all_kept, all_new, failed, calm))


class Honest:
    def __init__(self, address):
        self.stop, self.results = multiprocessing.Event(), multiprocessing.Queue()
        self.process = multiprocessing.Process(target=honest,
                                               args=(address, self.stop, self.results))
        self.process.start()

    def end(self):
        self.stop.set()
        figures = self.results.get()
        self.process.join()
        return figures


# ---- attacks: each runs for so many seconds and says what it did ---------------------------------


def slow_headers(address, seconds, quick):
    """Headers that come byte by byte, for ever."""
    n, sent, closed = 100 if quick else 1000, 0, 0
    clients = [None] * n
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        for i, s in enumerate(clients):
            try:
                if s is None:
                    clients[i] = s = connect(address)
                    s.send(b"POST /mcp HTTP/1.1\r\nHost: 127.0.0.1\r\nX-Slow: ")
                    s.setblocking(False)
                if select.select([s], [], [], 0)[0]:
                    raise ConnectionError
                sent += s.send(b"x")
            except OSError:
                closed += 1
                if clients[i]:
                    clients[i].close()
                clients[i] = None
        time.sleep(0.2)
    return f"{n} clients, {closed} dropped by the server"


def never_read(address, seconds, quick):
    """Subscriptions that nobody reads, while their resource changes as often as it can."""
    n, told = 100 if quick else 1000, 0
    request = modern("subscriptions/listen",
                     {"notifications": {"resourceSubscriptions": ["test://watched-resource"]}})
    clients = []
    for _ in range(n):
        clients.append(connect(address, SO_RCVBUF=2048))
        clients[-1].sendall(request)
    touch, end = connect(address), time.monotonic() + seconds
    while time.monotonic() < end:
        touch.sendall(tool("test_touch_resource"))
        read_answer(touch)
        told += 1
    alive = still_open(address, clients)
    for s in clients:
        s.close()
    return f"{n} streams, {told} updates, {alive} streams still open"


def still_open(address, clients):
    """How many of the connections the server has not closed. Their clients cannot tell: the end
    waits behind what they do not read."""
    mine = {s.getsockname()[1] for s in clients}
    rows = [line.split() for line in open("/proc/net/tcp", encoding="ascii").readlines()[1:]]
    return sum(1 for _, local, remote, state, *_ in rows
               if state == "01" and int(local.split(":")[1], 16) == address[1] and
               int(remote.split(":")[1], 16) in mine)


def answers_unread(address, seconds, quick):
    """Large answers that nobody fetches: the server has to keep them."""
    n = 20 if quick else 200
    request = tool("echo", message="x" * 3_000_000)
    clients, lost = [], 0
    end = time.monotonic() + seconds
    for _ in range(n):
        s = connect(address, SO_RCVBUF=2048)
        try:
            s.sendall(request)
            clients.append(s)
        except OSError:
            lost += 1
    time.sleep(max(0, end - time.monotonic()))
    alive = still_open(address, clients)
    for s in clients:
        s.close()
    return f"{n} answers of 3 MB, {alive} still waiting after {seconds:g} s, {lost} refused"


def flood(address, end, rate, made):
    """Connects and resets, at most so often a second."""
    n, started = 0, time.monotonic()
    while (now := time.monotonic()) < end:
        while n < (now - started) * rate:
            s = socket.socket()
            s.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, RESET)
            s.setblocking(False)
            with contextlib.suppress(BlockingIOError, OSError):
                s.connect(address)
            s.close()
            n += 1
            if n % 100 == 0 and time.monotonic() > end:
                break
        time.sleep(0.001)
    made.value = n


def connects(address, seconds, quick):
    """10,000 connects a second, each reset at once."""
    rate = 10_000
    made, end = [multiprocessing.Value("L", 0) for _ in range(2)], time.monotonic() + seconds
    workers = [multiprocessing.Process(target=flood, args=(address, end, rate / len(made), m))
               for m in made]
    for w in workers:
        w.start()
    for w in workers:
        w.join()
    return f"{sum(m.value for m in made) / seconds:,.0f} connects/s (of {rate:,})"


def large_bodies(address, seconds, quick):
    """Bodies of 100 MB, announced and in chunks; how much the server lets in."""
    begin = b"POST /mcp HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n"
    size, piece = 100_000_000, b" " * 65536
    plain = begin + b"Content-Length: %d\r\n\r\n" % size
    chunked = begin + b"Transfer-Encoding: chunked\r\n\r\n"
    chunk = b"%x\r\n" % len(piece) + piece + b"\r\n"
    tries, most, statuses = 0, 0, set()
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        head, part = (plain, piece) if tries % 2 == 0 else (chunked, chunk)
        s, sent = connect(address), 0
        try:
            s.sendall(head)
            while sent < size and not select.select([s], [], [], 0)[0]:
                sent += s.send(part)
            statuses.add(read_answer(s))
        except (OSError, AttributeError):
            statuses.add("reset")
        s.close()
        tries, most = tries + 1, max(most, sent)
    shown = ", ".join(map(str, sorted(statuses, key=str)))
    return f"{tries} bodies, at most {most / 1e6:.1f} MB let in, answers: {shown}"


def session_of(s):
    """A new session: its id, or None."""
    s.sendall(initialize())
    match = re.search(rb"(?i)mcp-session-id: (\S+)", s.recv(65536))
    return match and match.group(1).decode()


class Victim:
    """A session that was there before the attack; a call a second."""

    def __init__(self, address):
        self.socket = connect(address)
        headers = {"Mcp_Session_Id": session_of(self.socket), "MCP_Protocol_Version": "2025-11-25"}
        self.socket.sendall(post({"jsonrpc": "2.0", "method": "notifications/initialized"}, **headers))
        read_answer(self.socket)
        self.request = post({"jsonrpc": "2.0", "id": 2, "method": "ping"}, **headers)
        self.calls, self.lost, self.last = 0, 0, 0

    def use(self):
        if time.monotonic() - self.last < 1:
            return
        self.last = time.monotonic()
        self.socket.sendall(self.request)
        self.lost += read_answer(self.socket) != 200
        self.calls += 1

    def fate(self):
        self.last = 0
        self.use()
        return f"lost {self.lost} of {self.calls} calls"


def open_sessions(address, seconds, total, padding):
    """Initializes, many requests at a time, until @p total or a bound of time. Somebody else has a
    session meanwhile and uses it now and then."""
    victim = Victim(address)
    burst = 1 if padding else 20
    request, done, opened = initialize(padding) * burst, 0, 0
    s, end = connect(address), time.monotonic() + max(seconds, 600 if total >= 1_000_000 else 0)
    while done < total and time.monotonic() < end:
        s.sendall(request)
        data = b""
        while (n := data.count(b"HTTP/1.1 ")) < burst or not data.endswith(b"}"):
            more = s.recv(1 << 20)
            if not more:
                break
            data += more
        opened += len(re.findall(rb"(?i)mcp-session-id", data))
        done += n
        victim.use()
        if not data:
            s = connect(address)
    later = "may" if session_of(connect(address)) else "may not"
    return (f"{done:,} asked for, {opened:,} opened; an honest session {victim.fate()}; "
            f"a new client {later} open one")


def sessions(address, seconds, quick):
    """A million sessions; the table of the server holds 10,000."""
    return open_sessions(address, seconds, 50_000 if quick else 1_000_000, "")


def fat_sessions(address, seconds, quick):
    """Sessions whose client describes itself at length: as much as is kept of it."""
    return open_sessions(address, seconds, 2_000 if quick else 20_000, "x" * 15_000)


ATTACKS = [slow_headers, never_read, answers_unread, connects, large_bodies, sessions, fat_sessions]


# ---- the server ----------------------------------------------------------------------------------


def pid_of(port):
    """The process that listens on @p port of the loopback."""
    inodes = set()
    for line in open("/proc/net/tcp", encoding="ascii").readlines()[1:]:
        fields = line.split()
        if fields[3] == "0A" and int(fields[1].split(":")[1], 16) == port:
            inodes.add(f"socket:[{fields[9]}]")
    for path in pathlib.Path("/proc").glob("[0-9]*/fd/*"):
        with contextlib.suppress(OSError):
            if os.readlink(path) in inodes:
                return int(path.parts[2])
    sys.exit(f"hostile: nobody on this machine listens on port {port}")


def resident_mb(pid):
    status = pathlib.Path(f"/proc/{pid}/status").read_text(encoding="ascii")
    return int(re.search(r"VmRSS:\s+(\d+) kB", status).group(1)) / 1024


def sample_memory(pid, stop, most):
    while not stop.is_set():
        most.value = max(most.value, resident_mb(pid))
        time.sleep(0.05)


@contextlib.contextmanager
def server_at(url):
    """The port and the process of the server that is to be attacked."""
    if url:
        port = urllib.parse.urlsplit(url).port
        yield port, pid_of(port)
        return
    with tempfile.NamedTemporaryFile("r", encoding="utf-8", prefix="owlclaw-hostile-") as log, \
            subprocess.Popen([BUILD / "examples/everything-server", "--port", "0"],
                             stderr=os.open(log.name, os.O_WRONLY)) as process:
        try:
            for _ in range(500):
                match = re.search(r"http://127\.0\.0\.1:(\d+)/", log.read())
                log.seek(0)
                if match:
                    break
                time.sleep(0.01)
            yield int(match.group(1)), process.pid
            if process.poll() is not None:
                sys.exit(f"hostile: the server has ended with {process.returncode}")
        finally:
            process.terminate()
        process.wait()
        for line in log.read().splitlines()[1:][-5:]:
            print(f"{'':15}  log: {line}")


# ---- the table -----------------------------------------------------------------------------------


def percentiles(values):
    if len(values) < 2:
        return None
    cuts = statistics.quantiles(values, n=100)
    return cuts[49], cuts[98]


def row(name, columns, failed, calm, memory, note):
    times = [f"{ms:.2f}" if ms else "-" for column in columns for ms in column or (0, 0)]
    cells = [*times, str(failed), str(calm), *(f"{m:.0f}" for m in memory)]
    print(f"{name:15}" + "".join(f"{cell:>8}" for cell in cells) + f"  {note}", flush=True)


@contextlib.contextmanager
def at_idle_priority(wanted):
    if wanted:
        os.sched_setscheduler(0, os.SCHED_IDLE, os.sched_param(0))
    try:
        yield
    finally:
        os.sched_setscheduler(0, os.SCHED_OTHER, os.sched_param(0))


def measured(address, pid, attack, seconds, args):
    """Prints a row; the percentiles of both kinds of connection."""
    before = resident_mb(pid)
    stop, most = multiprocessing.Event(), multiprocessing.Value("d", before)
    sampler = multiprocessing.Process(target=sample_memory, args=(pid, stop, most))
    sampler.start()
    client = Honest(address)
    try:
        with at_idle_priority(not args.same_priority):
            note = attack(address, seconds, args.quick) if attack else time.sleep(seconds) or ""
    except OSError as error:
        note = f"the attack failed: {error}"
    finally:
        kept, new, failed, calm = client.end()
        stop.set()
        sampler.join()
    time.sleep(2)
    columns = percentiles(kept), percentiles(new)
    row(attack.__name__ if attack else "quiet", columns, failed, calm,
        (before, most.value, resident_mb(pid)), note)
    return columns


def print_multiples(rows):
    """@p rows are (name, columns); those of a quiet server have no name."""
    quiet = [columns for name, columns in rows if not name and None not in columns]
    if not quiet:
        print("no calm second of a quiet server to compare with")
        return
    lowest = [min(columns[i][1] for columns in quiet) for i in range(2)]
    print(f"\n99th percentile, kept / new connection; quiet: {lowest[0]:.2f} / {lowest[1]:.2f} ms")
    for name, columns in rows:
        if name and None not in columns:
            multiples = [f"{column[1] / low:.1f} ×" for column, low in zip(columns, lowest)]
            print(f"{name:15}" + "".join(f"{m:>8}" for m in multiples))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("url", nargs="?")
    parser.add_argument("--quick", action="store_true", help="a few seconds and clients each")
    parser.add_argument("--seconds", type=float, help="of each attack (default 60, quick: 5)")
    parser.add_argument("--only", default="", metavar="LIST")
    parser.add_argument("--same-priority", action="store_true",
                        help="attackers compete with the others for the cores")
    args = parser.parse_args()
    seconds = args.seconds or (5 if args.quick else 60)
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))

    wanted = [a for a in ATTACKS if not args.only or a.__name__ in args.only.split(",")]
    print(f"{'':15}{'kept ms':>16}{'new ms':>16}{'':16}{'resident MB':>24}")
    print(f"{'attack':15}" + "".join(f"{c:>8}" for c in (
        "p50", "p99", "p50", "p99", "failed", "calm", "before", "most", "after")))
    rows = []
    for attack in (None, *wanted, None):
        with server_at(args.url) as (port, pid):
            columns = measured(("127.0.0.1", port), pid, attack, seconds, args)
            rows.append((attack and attack.__name__, columns))
    print_multiples(rows)


if __name__ == "__main__":
    main()
