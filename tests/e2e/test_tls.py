#!/usr/bin/env python3
"""HTTPS: Python's own TLS and the clients of others against a CA that the test makes."""

import atexit
import ssl
import warnings

from others import *

FOLDER = pathlib.Path(tempfile.mkdtemp(prefix="owlclaw-tls-"))
atexit.register(shutil.rmtree, FOLDER)


# ---- certificates --------------------------------------------------------------------------------


def openssl(*args):
    if not shutil.which("openssl"):
        raise Skip("there is no openssl")
    done = subprocess.run(["openssl", *map(str, args)], cwd=FOLDER, capture_output=True, text=True)
    equal(done.returncode, 0, f"openssl {args[0]}: {done.stderr}")


def request(name, *options):
    openssl("req", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes",
            "-subj", f"/O=owls/CN={name}", "-keyout", f"{name}.key", *options)


def make_ca(name):
    request(name, "-x509", "-days", "2", "-addext", "keyUsage = critical, keyCertSign, cRLSign",
            "-out", f"{name}.pem")


def make_cert(name, ca="ca", days=2):
    """NAME.pem and NAME.key, for this machine."""
    (FOLDER / "ext").write_text("subjectAltName = DNS:localhost, IP:127.0.0.1\n"
                                "authorityKeyIdentifier = keyid\n")
    request(name, "-out", f"{name}.csr")
    openssl("x509", "-req", "-in", f"{name}.csr", "-CA", f"{ca}.pem", "-CAkey", f"{ca}.key",
            "-CAcreateserial", "-days", days, "-extfile", "ext", "-out", f"{name}.pem")


def need_certs():
    if not (FOLDER / "server.pem").exists():
        make_ca("ca")
        make_ca("other-ca")
        make_cert("server")
        make_cert("athene")
        make_cert("minerva")
        make_cert("forged", ca="other-ca")


# ---- server and client ---------------------------------------------------------------------------


class TlsServer(Server):
    """With cert.pem and key.pem, which a test may exchange; at first those of "server"."""

    def __init__(self, *options):
        need_certs()
        install("server")
        super().__init__("--tls-cert", FOLDER / "cert.pem", "--tls-key", FOLDER / "key.pem",
                         *options)

    def _wait_for_port(self):
        pattern = r"listening on https://127\.0\.0\.1:(\d+)/mcp\n"
        eventually(lambda: re.search(pattern, self.stderr()) or not self.alive(),
                   "the server listens", timeout=10)
        found = re.search(pattern, self.stderr())
        check(found, f"the server ended instead of listening: {self.stderr()}")
        return int(found.group(1))

    def reload(self, expected):
        """Has the files read again; what it says of that."""
        before = len(self.stderr())
        self.process.send_signal(signal.SIGHUP)
        eventually(lambda: "\n" in self.stderr()[before:], "the server says something")
        contains(self.stderr()[before:], expected)


def install(name):
    shutil.copy(FOLDER / f"{name}.pem", FOLDER / "cert.pem")
    shutil.copy(FOLDER / f"{name}.key", FOLDER / "key.pem")


def context(own=None, version=None):
    c = ssl.create_default_context(cafile=FOLDER / "ca.pem")
    c.set_alpn_protocols(["h2", "http/1.1"])
    if own:
        c.load_cert_chain(FOLDER / f"{own}.pem", FOLDER / f"{own}.key")
    if version:
        c.minimum_version = c.maximum_version = version
    return c


class TlsConnection(Connection):
    def __init__(self, port, **options):
        super().__init__(port)
        self.socket = context(**options).wrap_socket(self.socket, server_hostname="localhost")


def echo(connection, message="h\u00e9llo"):
    equal(call("echo", {"message": message}, connection=connection).text, message)


def subject_serial(connection):
    return connection.socket.getpeercert()["serialNumber"]


# ---- tests ---------------------------------------------------------------------------------------


@test("OR-3.10 OD-1.3.5")
def mcp_is_served_over_https():
    with TlsServer() as s:
        for version in (ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3):
            with TlsConnection(s.port, version=version) as c:
                equal(c.socket.selected_alpn_protocol(), "http/1.1")
                echo(c)
                echo(c, "x" * 1_000_000)
                headers, message = modern_request(
                    "tools/call", {"name": "test_tool_with_progress", "arguments": {}},
                    meta={"progressToken": 1})
                c.send(encode("POST", "/mcp", headers, message, s.port))
                reply = read_reply(c, message["id"])
                equal([m["params"]["progress"] for m in reply.notifications], [0, 50, 100])


@test("OR-3.10")
def a_legacy_session_has_its_stream_over_https():
    with TlsServer() as s, TlsConnection(s.port) as c:
        message = {"jsonrpc": "2.0", "id": 1, "method": "initialize",
                   "params": initialize_params()}
        c.send(encode("POST", "/mcp", JSON_HEADERS, message, s.port))
        reply = read_reply(c, 1)
        headers = {"Accept": "text/event-stream", "MCP-Protocol-Version": LEGACY,
                   "Mcp-Session-Id": reply.headers["mcp-session-id"]}
        with TlsConnection(s.port) as stream:
            stream.send(encode("GET", "/mcp", headers, port=s.port))
            equal(stream.head().headers["content-type"], "text/event-stream")
            equal(c.request("DELETE", headers=headers).status, 200)
            equal(stream._until(b"0\r\n\r\n") is not None, True, "the stream ends")


@test("OR-3.10")
def old_versions_and_plain_http_are_turned_away():
    with TlsServer() as s:
        with Connection(s.port) as c:
            response = c.request("GET")
            equal(response.status, 400)
            contains(response.body.decode(), "HTTPS")
            check(c.closed(), "the connection is closed")
        old = context()
        old.set_ciphers("ALL:@SECLEVEL=0")
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            old.minimum_version = ssl.TLSVersion.TLSv1
            old.maximum_version = ssl.TLSVersion.TLSv1_1
        with Connection(s.port) as c:
            try:
                old.wrap_socket(c.socket, server_hostname="localhost")
                raise Failure("TLS 1.1 is spoken")
            except ssl.SSLError:
                pass
        with TlsConnection(s.port) as c:
            echo(c)


@test("OR-3.10")
def a_certificate_is_exchanged_without_a_restart():
    with TlsServer() as s, TlsConnection(s.port) as before:
        make_cert("renewed")
        install("renewed")
        s.reload("reloaded")
        with TlsConnection(s.port) as c:
            echo(c)
            check(subject_serial(c) != subject_serial(before), "the new certificate is shown")
            serial = subject_serial(c)
        echo(before)
        shutil.copy(FOLDER / "server.key", FOLDER / "key.pem")
        s.reload(f"key_file {FOLDER}/key.pem is not the key of cert_file {FOLDER}/cert.pem")
        (FOLDER / "cert.pem").unlink()
        s.reload(f"cert_file {FOLDER}/cert.pem: No such file or directory")
        with TlsConnection(s.port) as c:
            equal(subject_serial(c), serial, "the last good certificate stays")


@test("OR-3.10 mcp:S12 mcp:S27 mcp:K8 mcp:L4")
def what_belongs_to_one_client_is_unknown_to_another():
    """Sessions, streams, tasks and states of questions are those of the certificate."""
    caps = {"elicitation": {}, "extensions": {"io.modelcontextprotocol/tasks": {}}}
    with TlsServer("--tls-client-ca", FOLDER / "ca.pem") as s, \
            TlsConnection(s.port, own="athene") as mine, \
            TlsConnection(s.port, own="minerva") as other, \
            TlsConnection(s.port, own="athene") as stream:
        def on(connection, method, params, **more):
            return modern(method, params, connection=connection, caps=caps, **more)

        task = on(mine, "tools/call", {"name": "slow_compute", "arguments": {"seconds": 60}}).result
        about = {"taskId": task["taskId"]}
        facts = on(other, "tools/call", {"name": "test_client_facts"}).text
        equal(json.loads(facts)["principal"], "minerva")
        for method, more in ("tasks/get", {}), ("tasks/cancel", {}), ("tasks/update",
                                                                     {"inputResponses": {}}):
            equal(on(other, method, dict(about, **more)).error["code"], -32602, method)
        equal(on(mine, "tasks/get", about).result["status"], "working")

        tool = {"name": "test_input_required_result_elicitation"}
        asked = on(mine, "tools/call", tool).result
        retry = dict(tool, requestState=asked["requestState"], inputResponses={
            "user_name": {"action": "accept", "content": {"name": "Ann"}}})
        equal(on(other, "tools/call", retry).error["code"], -32602)
        contains(on(mine, "tools/call", retry).text, "Ann")

        for uri, scope in ("test://template/1/data", "private"), ("test://static-text", "public"):
            equal(on(mine, "resources/read", {"uri": uri}).result["cacheScope"], scope, uri)

        def post(connection, path, message, **headers):
            connection.send(encode("POST", path, dict(JSON_HEADERS, **headers), message, s.port))
            return connection.response()

        first = {"jsonrpc": "2.0", "id": 1, "method": "initialize",
                 "params": initialize_params(LEGACY, {})}
        session = {"Mcp-Session-Id": post(mine, "/mcp", first).headers["mcp-session-id"]}
        ping = {"jsonrpc": "2.0", "id": 2, "method": "ping"}
        equal(post(other, "/mcp", ping, **session).status, 404)
        equal(post(mine, "/mcp", ping, **session).status, 200)

        stream.send(encode("GET", "/mcp/sse", {"Accept": "text/event-stream"}, port=s.port))
        endpoint = next(stream.events(stream.head())).data
        equal(post(other, endpoint, ping).status, 404)
        equal(post(mine, endpoint, first).status, 202)


@test("OR-3.10")
def clients_can_be_asked_for_certificates():
    with TlsServer("--tls-client-ca", FOLDER / "ca.pem") as s:
        with TlsConnection(s.port, own="athene") as c:
            echo(c)
        for own in (None, "forged"):
            for version in (ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3):
                try:
                    with TlsConnection(s.port, own=own, version=version) as c:
                        echo(c)
                    raise Failure(f"a client with the certificate {own} is served")
                except (ssl.SSLError, EOFError, ConnectionError):
                    pass


@test("OR-3.10")
def bad_files_are_named_at_the_start():
    need_certs()
    good = ["--tls-cert", FOLDER / "server.pem", "--tls-key", FOLDER / "server.key"]
    openssl("pkey", "-in", "server.key", "-aes128", "-passout", "pass:owl", "-out", "secret.key")
    for options, why in ((good[:2], "key_file"), (good[2:], "cert_file"),
                         ([*good[:3], FOLDER / "athene.key"], "is not the key of"),
                         ([*good[:3], FOLDER / "secret.key"], "is encrypted"),
                         ([*good, "--tls-client-ca", "/no/such"], "/no/such: No such file")):
        done = subprocess.run([BUILD / "examples/everything-server", "--port", "0", *options],
                              capture_output=True, text=True, timeout=seconds(10))
        equal(done.returncode, 1, why)
        contains(done.stderr, why)


if VARIANT == "normal":
    @test("OR-3.10", timeout=90)
    def clients_of_others_work_over_https():
        with TlsServer() as s:
            for version, era in (("v1", "legacy"), ("v2", "legacy"), ("v2", "auto"),
                                 ("v2", "modern")):
                sdk_works(version, era, "https", f"https://127.0.0.1:{s.port}/mcp",
                          NODE_EXTRA_CA_CERTS=str(FOLDER / "ca.pem"))


main()
