#!/usr/bin/env python3
"""The official conformance suite, and clients that other people wrote.

The suite must pass but for the scenarios of tests/conformance/expected.txt."""

from others import *

import suite

SERVER = BUILD / "examples/everything-server"


def conformance(what):
    need_suite()
    url = f"http://127.0.0.1:{server().port}/mcp"
    _, found = suite.measure(what, url, seconds(100))
    expected = suite.expected(what)
    for scenario in sorted(found.keys() - expected):
        print("    " + "\n    ".join(found[scenario]))
    equal(sorted(found.keys() - expected), [], "unexpected failures")
    equal(sorted(expected - found.keys()), [], "in expected.txt although they pass")


@test(timeout=110)
def the_suite_passes_at_2025_11_25():
    conformance(LEGACY)


@test(timeout=110)
def the_suite_passes_at_2026_07_28():
    conformance(MODERN)


@test(timeout=110)
def the_suite_passes_with_its_extensions():
    conformance("all")


def targets():
    """How a client reaches a server: a URL, or a command."""
    yield "http", [f"http://127.0.0.1:{server().port}/mcp"]
    yield "stdio", [SERVER, "--stdio"]


def old_target():
    yield "sse", [f"http://127.0.0.1:{server().port}/mcp/sse"]


def sdk(version, era, reached=targets):
    for transport, target in reached():
        seen = sdk_works(version, era, transport, *target)
        if transport == "sse":
            contains(seen["elicited"], '"username":"Who?"', transport)
            equal(seen["changed"], True, transport)


def tasks(*arguments):
    need_clients()
    done = run([NODE, ROOT / "tests/conformance/tasks.cjs", *arguments],
               OWLCLAW_CLIENTS=str(CLIENTS))
    equal(done.returncode, 0, f"{arguments}: {done.stderr}")
    return json.loads(done.stdout)


def inspector(era, reached=targets):
    need_clients()
    package = CLIENTS / "node_modules/@modelcontextprotocol/inspector"
    program = package / "clients/launcher/build/index.js"
    for transport, target in reached():
        def ask(*options):
            done = run([NODE, program, "--cli", "--protocol-era", era, "--format", "json", "-q",
                        *options, "--", *target] if transport == "stdio" else
                       [NODE, program, "--cli", *target, "--transport", transport,
                        "--protocol-era", era, "--format", "json", "-q", *options])
            equal(done.returncode, 0, f"{era}, {transport}: {done.stdout}{done.stderr}")
            answer = json.loads(done.stdout)
            return answer.get("result", answer)

        tools = [t["name"] for t in ask("--method", "tools/list")["tools"]]
        equal(tools[:2], ["test_simple_text", "echo"], f"{era}, {transport}")
        answer = ask("--method", "tools/call", "--tool-name", "echo", "--tool-args-json",
                     '{"message":"h\u00e9llo owl"}')
        equal(answer["content"], [{"type": "text", "text": "h\u00e9llo owl"}],
              f"{era}, {transport}")


if VARIANT == "normal":
    @test(timeout=60)
    def sdk_v1_works():
        sdk("v1", "legacy")

    @test("OR-3.4 OR-3.5 mcp:L9", timeout=60)
    def sdk_v1_works_over_the_old_transport():
        sdk("v1", "legacy", old_target)

    @test("OR-3.4", timeout=60)
    def inspector_works_over_the_old_transport():
        inspector("legacy", old_target)

    @test(timeout=60)
    def sdk_v2_works_legacy():
        sdk("v2", "legacy")

    @test(timeout=60)
    def sdk_v2_works_auto():
        sdk("v2", "auto")

    @test(timeout=60)
    def sdk_v2_works_modern():
        sdk("v2", "modern")

    @test("mcp:L13", timeout=60)
    def sdk_v1_runs_tasks():
        for transport, target in targets():
            equal(tasks("v1", *target), {
                "capability": {"list": {}, "cancel": {}, "requests": {"tools": {"call": {}}}},
                "slow": ["taskCreated", "result"], "text": "l: done after 0.7 seconds.",
                "ttl": 60000, "asked": "f is deleted.", "failed": "error", "isError": True,
                "cancelled": "cancelled", "again": -32602, "status": "cancelled", "listed": 4,
                "pushed": True}, transport)

    @test("mcp:K1 mcp:K2 mcp:K4", timeout=60)
    def ext_tasks_on_sdk_v2_runs_tasks():
        seen = tasks("ext", f"http://127.0.0.1:{server().port}/mcp")
        equal((seen["slow"], seen["text"]), ("task", "l: done after 0.3 seconds."))
        equal((seen["failed"], seen["isError"]), ("task", True))
        check(seen["quick"] != "task", f"greet is no task: {seen['quick']}")
        contains(seen["error"], "ends in an error")

    @test(timeout=60)
    def inspector_works_legacy():
        inspector("legacy")

    @test(timeout=60)
    def inspector_works_auto():
        inspector("auto")

    @test(timeout=60)
    def inspector_works_modern():
        inspector("modern")


main()
