#!/usr/bin/env python3
"""The examples that people read first do what they say."""

import concurrent.futures
import shlex
import shutil

from client import *


@test()
def hello_greets_on_stdio():
    with Stdio("--stdio", program="hello-server") as s:
        s.initialize()
        equal(s.request("tools/call", {"name": "hello", "arguments": {"name": "owl"}}).text,
              "Hello, owl!")
        equal(s.call("hello").text, "Hello, world!")


@test()
def the_command_that_hello_prints_works():
    if not shutil.which("curl"):
        raise Skip("there is no curl")
    process = subprocess.Popen([BUILD / "examples/hello-server", "--port", "0"],
                               stdout=subprocess.PIPE, text=True)
    try:
        printed = process.stdout.readline()
        check(re.match(r"http://127\.0\.0\.1:\d+/mcp is ready", printed), f"printed {printed!r}")
        command = ""
        while not command.rstrip().endswith("}}}}'"):
            line = process.stdout.readline()
            check(line, f"incomplete: {command!r}")
            command += line
        done = subprocess.run(["sh", "-c", command.strip() + " -sS"], capture_output=True,
                              text=True, timeout=seconds(10))
        equal(done.returncode, 0, done.stderr)
        equal(json.loads(done.stdout)["result"]["content"][0]["text"], "Hello, owl!")
        check(len(shlex.split(command)) > 10, "the command cannot be pasted")
    finally:
        process.kill()
        process.wait()
        process.stdout.close()


@test()
def embed_serves_from_a_loop_of_its_own():
    with Server("--port", "0", program="embed") as s:
        first = int(call("ticks", port=s.port).text)
        equal(int(Session(port=s.port).call("ticks").text) >= first, True)
        eventually(lambda: int(call("ticks", port=s.port).text) > first, "the program ticks too")


@test()
def embed_stops_on_a_signal():
    with Server("--port", "0", program="embed") as s:
        with Connection(s.port) as idle:
            equal(call("ticks", port=s.port).status, 200)
            s.process.send_signal(signal.SIGINT)
            s.process.wait(seconds(5))
            check(idle.closed(), "the connection stays open")


def stopped_at_once(program):
    """Sends SIGTERM as soon as the program says that it listens; True if it ends well."""
    with subprocess.Popen([BUILD / "examples" / program, "--port", "0"], stderr=subprocess.PIPE,
                          text=True) as process:
        try:
            contains(process.stderr.readline(), "listening", program)
            process.terminate()
            return process.wait(seconds(10)) == 0
        except subprocess.TimeoutExpired:
            return False
        finally:
            process.kill()


@test(timeout=120)
def a_signal_is_not_lost_at_the_start():
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        for program in ("everything-server", "embed"):
            ended = list(pool.map(stopped_at_once, [program] * 100))
            equal(ended.count(False), 0, f"{program} goes on after SIGTERM")


def usage_of(program, *options):
    done = subprocess.run([BUILD / "examples" / program, *options], capture_output=True, text=True,
                          stdin=subprocess.DEVNULL, timeout=seconds(10))
    return done.returncode, done.stdout.partition(" ")[0], "usage: " in done.stderr


@test()
def options_are_checked_and_help_is_printed():
    for program in ("hello-server", "embed", "everything-server"):
        equal(usage_of(program, "--help"), (0, "usage:", False), program)
        for wrong in (["--nonsense"], ["extra"], ["--port"], ["--port", "0", "extra"]):
            equal(usage_of(program, *wrong), (2, "", True), f"{program} {wrong}")


main()
