#!/usr/bin/env python3
"""Pages of other origins: what a browser would let them do, by the rules of the Fetch standard and,
where there is a Chromium, in a real one."""

import http.server
import shutil

from client import *

APP = "https://app.example.com"
DEV = "http://localhost:3000"
SAFE_HEADERS = {"accept", "accept-language", "content-language"}
SAFE_TYPES = {"text/plain", "multipart/form-data", "application/x-www-form-urlencoded"}
READABLE = {"cache-control", "content-language", "content-length", "content-type", "expires",
            "last-modified", "pragma"}


class Blocked(Exception):
    """What a page sees as "TypeError: Failed to fetch"."""


def words(response, name):
    value = response.headers.get(name, "")
    return {word.strip().lower() for word in value.split(",")} if value else set()


class Page:
    """A page of that origin in a browser without memory: it asks before each request."""

    def __init__(self, origin, port):
        self.origin = origin
        self.port = port
        self.preflights = 0

    def _checked(self, response):
        """The CORS check of the Fetch standard, for requests without credentials."""
        if response.headers.get("access-control-allow-origin") not in (self.origin, "*"):
            raise Blocked(f"{response.status}, {response.headers}")
        contains(words(response, "vary"), "origin", "Vary")
        return response

    def _ask(self, method, path, unsafe):
        self.preflights += 1
        fields = {"Origin": self.origin, "Access-Control-Request-Method": method}
        if unsafe:
            fields["Access-Control-Request-Headers"] = ",".join(sorted(unsafe))
        with Connection(self.port) as connection:
            answer = self._checked(connection.request("OPTIONS", path, fields))
        if not 200 <= answer.status <= 299:
            raise Blocked(f"the preflight got {answer.status}")
        if method not in ("GET", "HEAD", "POST"):
            if method.lower() not in words(answer, "access-control-allow-methods"):
                raise Blocked(method)
        for name in unsafe - words(answer, "access-control-allow-headers"):
            raise Blocked(name)
        return answer

    def fetch(self, method, path="/mcp", headers=None, body=None, stream=False):
        fields = {name: value for name, value in (headers or {}).items() if value is not None}
        unsafe = {name.lower() for name in fields} - SAFE_HEADERS
        if fields.get("Content-Type") in SAFE_TYPES:
            unsafe.discard("content-type")
        if unsafe or method not in ("GET", "HEAD", "POST"):
            self._ask(method, path, unsafe)
        with Connection(self.port) as connection:
            connection.send(encode(method, path, dict(fields, Origin=self.origin), body, self.port))
            response = self._checked(connection.head())
            if not stream:
                response.body = b"".join(connection.pieces(response))
        exposed = READABLE | words(response, "access-control-expose-headers")
        response.headers = {k: v for k, v in response.headers.items() if k in exposed}
        return response

    def rpc(self, message, **headers):
        fields = dict(JSON_HEADERS, **{k.replace("_", "-"): v for k, v in headers.items()})
        return self.fetch("POST", "/mcp", fields, message)


def blocked(function, *args, **more):
    try:
        function(*args, **more)
    except Blocked:
        return
    raise Failure("the browser lets it through")


_servers = {}


def cors_server(origins=f"{APP}, {DEV}"):
    if origins not in _servers:
        _servers[origins] = Server("--cors", origins)
    return _servers[origins]


def initialize():
    return {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": initialize_params()}


@test("OR-3.6 OD-9.4.9 OD-9.4.10 OD-9.4.11")
def a_preflight_is_answered():
    with Connection(cors_server().port) as c:
        for path in ("/mcp", "/mcp/sse", "/mcp/messages"):
            reply = c.request("OPTIONS", path, {
                "Origin": APP, "Access-Control-Request-Method": "POST",
                "Access-Control-Request-Headers": "content-type,authorization,x-mcp-client-id"})
            equal((reply.status, reply.body), (204, b""), path)
            equal(reply.headers["access-control-allow-origin"], APP)
            equal(words(reply, "vary"), {"origin"})
            equal(words(reply, "access-control-allow-methods"),
                  {"get", "post", "delete", "options"})
            headers = words(reply, "access-control-allow-headers")
            for name in ("content-type", "authorization", "accept", "x-mcp-client-id",
                         "mcp-session-id", "mcp-protocol-version", "last-event-id", "mcp-method",
                         "mcp-name"):
                contains(headers, name)
            equal(reply.headers["access-control-max-age"], "3600")


@test("OR-3.6 OD-9.1.8 OD-9.4.8")
def a_listed_origin_uses_a_session():
    for origin in (APP, DEV):
        page = Page(origin, cors_server().port)
        reply = page.rpc(initialize())
        equal(reply.status, 200)
        session_id = reply.headers["mcp-session-id"]  # a page can read it
        fields = {"Mcp_Session_Id": session_id, "MCP_Protocol_Version": LEGACY}
        reply = page.rpc({"jsonrpc": "2.0", "method": "notifications/initialized"}, **fields)
        equal(reply.status, 202)
        reply = page.rpc({"jsonrpc": "2.0", "id": 2, "method": "tools/list"}, **fields)
        check(reply.json()["result"]["tools"], "no tools")
        reply = page.rpc({"jsonrpc": "2.0", "id": 3, "method": "tools/call", "params": {
            "name": "test_tool_with_progress", "_meta": {"progressToken": 1}}}, **fields)
        equal(reply.headers["content-type"], "text/event-stream")
        reply = page.fetch("GET", "/mcp", {"Accept": "text/event-stream", "Last-Event-ID": "",
                                           "Mcp-Session-Id": session_id}, stream=True)
        equal(reply.status, 200)
        equal(page.fetch("DELETE", "/mcp", {"Mcp-Session-Id": session_id}).status, 200)
        equal(page.rpc({"jsonrpc": "2.0", "id": 4, "method": "ping"}, **fields).status, 404)
        equal(page.preflights, 7)


@test("OR-3.6")
def a_listed_origin_sends_modern_requests():
    page = Page(APP, cors_server().port)
    headers, message = modern_request("tools/call", {"name": "echo", "arguments": {"message": "x"}},
                                      headers={"Mcp-Param-Region": "eu", "mcp-param-x.y_z": "1"})
    reply = page.fetch("POST", "/mcp", headers, message)
    equal(reply.json()["result"]["content"][0]["text"], "x")


@test("OR-3.6")
def a_listed_origin_uses_the_old_transport():
    page = Page(APP, cors_server().port)
    with Connection(page.port) as c:
        c.send(encode("GET", "/mcp/sse", {"Origin": APP}, port=page.port))
        head = page._checked(c.head())
        equal(head.status, 200)
        endpoint = next(c.events(head)).data
        equal(page.fetch("POST", endpoint, {"Content-Type": "application/json"}, initialize()).status,
              202)
        equal(page.fetch("POST", endpoint, {"Content-Type": "application/json"}, b"{").status, 400)
        equal(page.fetch("POST", "/mcp/messages?session_id=0-0", {"Content-Type":
              "application/json"}, {}).status, 404)


@test("OR-3.6")
def errors_can_be_read_too():
    page = Page(APP, cors_server().port)
    equal(page.fetch("GET", "/nowhere").status, 404)
    equal(page.fetch("GET", "/mcp").status, 406)
    equal(page.fetch("POST", "/mcp", {"Content-Type": "text/plain"}, b"{}").status, 415)
    equal(page.fetch("POST", "/mcp", {"Content-Type": "application/json", "Accept": "text/html"},
                     {}).status, 406)
    equal(page.fetch("HEAD", "/mcp", stream=True).status, 405)
    equal(page.rpc(b"{bad").status, 400)


@test("OR-3.6")
def other_origins_are_refused():
    for origin in ("https://evil.example", "http://app.example.com", APP + ":8443",
                   "https://app.example.com.evil.example", "null"):
        page = Page(origin, cors_server().port)
        blocked(page.rpc, initialize())
        blocked(page.fetch, "GET", "/mcp/sse", stream=True)
        with Connection(page.port) as c:
            reply = c.request("POST", "/mcp", dict(JSON_HEADERS, Origin=origin), initialize())
            equal(reply.status, 403, origin)
            check("access-control-allow-origin" not in reply.headers, show(reply.headers))
            reply = c.request("OPTIONS", "/mcp", {"Origin": origin,
                                                  "Access-Control-Request-Method": "POST"})
            equal(reply.status, 403, origin)
    # a page of this machine is let in as before, but nothing says that it may read the answers
    page = Page("http://localhost:4000", cors_server().port)
    blocked(page.rpc, initialize())


@test("OR-3.6")
def headers_that_no_client_sends_are_not_allowed():
    page = Page(APP, cors_server().port)
    blocked(page.fetch, "GET", "/mcp", {"X-Other": "1"})
    blocked(page.fetch, "GET", "/mcp", {"Mcp-Param-": "1"})
    blocked(page.fetch, "PUT", "/mcp")
    with Connection(page.port) as c:
        asked = ["mcp-param-ok", "mcp-param-b\u00e4d", "mcp-param-(x)", "evil"]
        asked += [f"mcp-param-{'n' * 200}-{i}" for i in range(100)]
        reply = c.request("OPTIONS", "/mcp", {"Origin": APP, "Access-Control-Request-Method": "POST",
                                              "Access-Control-Request-Headers": ", ".join(asked)})
        equal(reply.status, 204)
        value = reply.headers["access-control-allow-headers"]
        contains(value, ", mcp-param-ok, ")
        for bad in ("b\u00e4d", "(x)", "evil"):
            check(bad not in value, show(value))
        check(len(value) < 4096, f"{len(value)} bytes are echoed")


@test()
def what_asks_nothing_gets_the_methods():
    with Connection(cors_server().port) as c:
        for headers in ({}, {"Origin": APP}, {"Access-Control-Request-Method": "POST"}):
            reply = c.request("OPTIONS", "/mcp", headers)
            equal((reply.status, reply.headers["allow"]), (204, "GET, POST, DELETE, OPTIONS"))
            check("access-control-allow-methods" not in reply.headers, show(reply.headers))


@test()
def an_answer_without_origin_varies_and_one_connection_serves_all_origins():
    with Connection(cors_server().port) as c:
        for origin in (APP, None, DEV, "https://evil.example", None, APP):
            reply = c.request("POST", "/mcp", dict(JSON_HEADERS, Origin=origin), initialize())
            listed = origin in (APP, DEV)
            equal(reply.headers.get("access-control-allow-origin"), origin if listed else None)
            equal(words(reply, "vary"), {"origin"})
        reply = c.request("POST", "/mcp", dict(JSON_HEADERS, Host=None), b"{}")
        check("access-control-allow-origin" not in reply.headers, "a header of another request")


@test("OD-9.1.7")
def without_origins_nothing_is_said():
    with Connection() as c:
        for origin in (None, "http://localhost:3000", APP):
            reply = c.request("OPTIONS", "/mcp", {"Origin": origin,
                                                  "Access-Control-Request-Method": "POST"})
            equal(reply.status, 403 if origin == APP else 204)
            check(not [h for h in reply.headers if h.startswith("access-") or h == "vary"],
                  show(reply.headers))


@test("OR-3.6")
def a_star_lets_every_page_in_but_serves_no_other_host():
    port = cors_server("*").port
    page = Page("https://anywhere.example", port)
    reply = page.rpc(initialize())
    check(reply.headers["mcp-session-id"], "no session")
    # A name of an attacker that was made to lead here: its Origin is fine, its Host is not.
    for host in ("rebound.example", f"rebound.example:{port}"):
        with Connection(port) as c:
            reply = c.request("POST", "/mcp", dict(JSON_HEADERS, Host=host, Origin="http://" + host),
                              initialize())
            equal(reply.status, 403)
        with Connection(port) as c:  # a page of the same origin sends none with GET
            equal(c.request("GET", "/mcp/sse", {"Host": host}).status, 403)
    blocked(Page("null", port).rpc, initialize())


@test()
def what_is_no_origin_is_told_at_the_start():
    for origins in ("app.example.com", "https://app.example.com/", "https://*.example.com"):
        done = subprocess.run([BUILD / "examples/everything-server", "--port", "0", "--cors",
                               origins], capture_output=True, text=True, timeout=seconds(10))
        equal(done.returncode, 1, origins)
        contains(done.stderr, "scheme://host")


# ---- a real browser ------------------------------------------------------------------------------

BROWSERS = ("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome")

PAGE = """<!doctype html><script>
const server = 'http://127.0.0.1:%(port)d', json = {'Content-Type': 'application/json',
    'Accept': 'application/json, text/event-stream'};
const post = (path, body, more) => fetch(server + path,
    {method: 'POST', headers: {...json, ...more}, body: JSON.stringify(body)});
async function use() {
    const seen = {};
    const opened = await post('/mcp', %(initialize)s);
    seen.session = opened.headers.get('Mcp-Session-Id');
    seen.server = (await opened.json()).result.serverInfo.name;
    const session = {'Mcp-Session-Id': seen.session, 'MCP-Protocol-Version': '2025-11-25'};
    seen.initialized = (await post('/mcp', {jsonrpc: '2.0', method: 'notifications/initialized'},
        session)).status;
    const modern = await post('/mcp', %(modern)s, {...%(headers)s, 'Mcp-Param-Region': 'eu'});
    seen.echo = (await modern.json()).result.content[0].text;
    seen.error = (await fetch(server + '/nowhere')).status;
    const stream = new EventSource(server + '/mcp/sse');
    const endpoint = await new Promise((done, failed) => {
        stream.addEventListener('endpoint', (event) => done(event.data));
        stream.onerror = failed;
    });
    const answer = new Promise((done) => { stream.onmessage = (event) => done(event.data); });
    seen.posted = (await post(endpoint, %(initialize)s)).status;
    seen.answer = JSON.parse(await answer).result.protocolVersion;
    stream.close();
    seen.ended = (await fetch(server + '/mcp', {method: 'DELETE', headers: session})).status;
    return seen;
}
use().catch((error) => ({error: String(error)})).then((seen) =>
    fetch('/seen', {method: 'POST', body: JSON.stringify(seen)}));
</script>"""


class Site:
    """A web site that serves one page and takes what the page has seen."""

    def __init__(self):
        self.page = ""
        self.seen = queue.Queue()
        site = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_GET(self):
                self.send_response(200)
                self.send_header("Content-Type", "text/html")
                self.end_headers()
                self.wfile.write(site.page.encode())

            def do_POST(self):
                site.seen.put(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
                self.send_response(204)
                self.end_headers()

            def log_message(self, *_):
                pass

        self.http = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.port = self.http.server_address[1]
        threading.Thread(target=self.http.serve_forever, daemon=True).start()


def browse(site, url):
    """What the page at that URL has seen."""
    program = next(filter(None, map(shutil.which, BROWSERS)), None)
    if not program:
        raise Skip("there is no Chromium")
    with tempfile.TemporaryDirectory(prefix="owlclaw-browser-", ignore_cleanup_errors=True) as home:
        browser = subprocess.Popen(
            [program, "--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage",
             f"--user-data-dir={home}", "--remote-debugging-port=0", url],
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            return site.seen.get(timeout=seconds(30))
        except queue.Empty:
            raise Failure("the browser did not run the page") from None
        finally:
            browser.kill()
            browser.wait()


@test("OR-3.6", timeout=90)
def a_real_browser_agrees():
    headers, message = modern_request("tools/call", {"name": "echo", "arguments": {"message": "é"}})
    site = Site()
    with Server("--cors", f"http://localhost:{site.port}") as other:
        site.page = PAGE % {"port": other.port, "initialize": json.dumps(initialize()),
                            "modern": json.dumps(message), "headers": json.dumps(headers)}
        seen = browse(site, f"http://localhost:{site.port}/")
        session_id = seen.pop("session", None)
        check(session_id and re.fullmatch(r"\d+-[0-9a-f]{32}", session_id), show(seen))
        equal(seen, {"server": "everything-server", "initialized": 202, "echo": "é", "error": 404,
                     "posted": 202, "answer": LEGACY, "ended": 200})
        seen = browse(site, f"http://127.0.0.1:{site.port}/")  # the same page of another origin
        contains(seen.get("error"), "Failed to fetch")


@test()
def all_servers_stop_cleanly():
    while _servers:
        _servers.popitem()[1].stop()


main()
