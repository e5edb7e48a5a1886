#!/usr/bin/env python3
"""The program `owlclaw`: help, errors, exit codes, `schema validate`, and what its descriptors yield.

What help and errors look like is kept in tests/e2e/cli/; OWLCLAW_WRITE_GOLDEN=1 writes it anew."""

import contextlib
import fcntl
import json
import pty
import shutil
import statistics
import struct
import termios

from support import *

PROGRAM = BUILD.resolve() / "owlclaw"
GOLDEN = ROOT / "tests/e2e/cli"
NORMAL = VARIANT == "normal"
PLAIN = {k: v for k, v in os.environ.items() if k not in ("NO_COLOR", "TERM", "COLUMNS")}


class Done:
    def __init__(self, code, out, err):
        self.code, self.out, self.err = code, out, err


def owlclaw(*arguments, stdin="", cwd=None, env=None, **options):
    """Runs the program, not on a terminal."""
    options.setdefault("stdout", subprocess.PIPE)
    data = stdin.encode() if isinstance(stdin, str) else stdin
    done = subprocess.run([PROGRAM, *arguments], input=data, cwd=cwd, env=dict(PLAIN, **(env or {})),
                          stderr=subprocess.PIPE, timeout=seconds(20), **options)
    return Done(done.returncode, (done.stdout or b"").decode(), done.stderr.decode())


def on_terminal(*arguments, columns=80, env=None, cwd=None):
    """What the program prints on a terminal of that width, as lines end in files."""
    master, slave = pty.openpty()
    fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
    process = subprocess.Popen([PROGRAM, *arguments], stdin=slave, stdout=slave, stderr=slave,
                               cwd=cwd, env={**PLAIN, "TERM": "xterm", **(env or {})})
    os.close(slave)
    text = b""
    with contextlib.suppress(OSError):  # EIO: the other side is closed
        while piece := os.read(master, 65536):
            text += piece
    os.close(master)
    process.wait(seconds(10))
    return text.decode().replace("\r\n", "\n")


def golden(name, text):
    path = GOLDEN / f"{name}.txt"
    if os.environ.get("OWLCLAW_WRITE_GOLDEN"):
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)
    equal(text, path.read_text(), f"{path.relative_to(ROOT)} (OWLCLAW_WRITE_GOLDEN=1 writes it)")


@contextlib.contextmanager
def folder(**files):
    """A folder with these files; a name's __ is a dot."""
    with tempfile.TemporaryDirectory(prefix="owlclaw-cli-") as path:
        path = pathlib.Path(path)
        for name, content in files.items():
            content = content if isinstance(content, (str, bytes)) else json.dumps(content)
            content = content if isinstance(content, bytes) else content.encode()
            (path / name.replace("__", ".")).write_bytes(content)
        yield path


def refuses(done, sentence):
    """Exit code 2, nothing on standard output, the sentence first on standard error."""
    equal(done.err.split("\n")[0], f"owlclaw: {sentence}")
    equal((done.code, done.out), (2, ""))


# ---- help and version ----------------------------------------------------------------------------

LEVELS = {"program": [], "schema": ["schema"], "schema-validate": ["schema", "validate"],
          "trust": ["trust"], "mcp-server": ["mcp-server"], "config": ["mcp-server", "config"],
          **{f"config-{name}": ["mcp-server", "config", name]
             for name in ("validate", "show", "schema", "import")}}


@test("OR-12.8")
def help_of_every_level():
    for name, words in LEVELS.items():
        for option in ("--help", "-h"):
            done = owlclaw(*words, option)
            equal((done.code, done.err), (0, ""))
            golden(f"help-{name}", done.out)
        equal(owlclaw("--help", *words).out, done.out, "help asked for in front")


@test()
def every_command_of_the_server_has_a_short_form():
    contains(owlclaw("--help").out, "\n  config ")
    for words in (["config"], ["config", "validate"], ["config", "show"], ["config", "import"]):
        full = owlclaw("mcp-server", *words, "--help")
        equal(owlclaw(*words, "--help").out, full.out)
        contains(full.out, f"Short form: owlclaw {' '.join(words)}\n")
    check("Short form" not in owlclaw("schema", "validate", "--help").out, "it has none")
    refuses(owlclaw("confg"), 'there is no command "confg"; did you mean "config"?')
    refuses(owlclaw("config", "valdate"), 'there is no command "mcp-server config valdate"; '
            'did you mean "mcp-server config validate"?')


@test("OR-12.8")
def help_fits_the_terminal():
    for name, words in LEVELS.items():
        text = on_terminal(*words, "--help", columns=40, env={"NO_COLOR": "1"})
        golden(f"help-{name}-40", text)
        body = text.split("\nExamples\n")[0]
        equal([line for line in body.splitlines() if len(line) > 40], [])
    wide = on_terminal("--help", columns=300, env={"NO_COLOR": "1"})
    check(max(map(len, wide.splitlines())) <= 100, "lines that nobody likes to read")


@test("OR-12.9")
def version_of_every_level():
    version = re.search(r'OWL_VERSION_STRING "(.*)"',
                        (ROOT / "include/owlclaw/version.h").read_text())[1]
    for words in LEVELS.values():
        done = owlclaw(*words, "--version")
        equal((done.code, done.out, done.err), (0, f"owlclaw {version}\n", ""))
    told = json.loads(owlclaw("--version", "--json").out)
    equal(told["version"], version)
    equal(told["protocolRevisions"], re.findall(r'ROW\(\w+, "([\d-]+)"',
                                                (ROOT / "src/tbl/revisions.h").read_text()))
    equal(sorted(told["libraries"]), ["pcre2", "yyjson"])


def cost_ms(*command):
    """Processor time of a run, in milliseconds: what else the machine does counts little."""
    pid = os.posix_spawn(command[0], command, os.environ,
                         file_actions=[(os.POSIX_SPAWN_OPEN, 1, "/dev/null", os.O_WRONLY, 0)])
    _, status, usage = os.wait4(pid, 0)
    equal(status, 0)
    return (usage.ru_utime + usage.ru_stime) * 1000


@test()
def it_starts_as_fast_as_a_bare_process():
    if not NORMAL:
        return  # a sanitizer takes its time
    runs = [(cost_ms(str(PROGRAM), "--version"), cost_ms("/bin/true")) for _ in range(60)]
    mine, bare = (statistics.median(column) for column in zip(*runs))
    check(mine - bare < 3, f"--version takes {mine:.2f} ms, /bin/true {bare:.2f} ms")
    needed = set(re.findall(r"NEEDED.*\[(.*?)\.so", run("readelf", "-d", PROGRAM)))
    check(needed <= {"libyyjson", "libpcre2-8", "libyaml-0", "libcrypto", "libc"}, f"needs {needed}")


# ---- mistakes ------------------------------------------------------------------------------------


@test()
def mistakes_are_told_in_a_sentence_with_the_usage():
    lines = [[], ["schema"], ["shcema"], ["schema", "valdate"], ["schema", "x"], ["--jsno"],
             ["--json=1"], ["--color"], ["--color", "blue"], ["-x"], ["schema", "validate"],
             ["schema", "validate", "a"], ["schema", "validate", "a", "b", "c"],
             ["schema", "validate", "--map"], ["schema", "validate", "--mpa=x", "a", "b"],
             ["schema", "validate", "-", "-"], ["mcp-server", "config", "import"],
             ["mcp-server", "config", "validate", "--config="]]
    text = ""
    for words in lines:
        done = owlclaw(*words)
        equal((done.code, done.out), (2, ""))
        text += f"$ owlclaw {' '.join(words)}\n{done.err}\n"
    golden("mistakes", text)


@test()
def what_was_typed_cannot_drive_the_terminal():
    done = owlclaw("\x1b[2J\x1b]0;x\x07", "--help")
    refuses(done, 'there is no command "�[2J�]0;x�"')


@test()
def names_of_files_drive_neither_terminal_nor_yaml():
    with folder() as there:
        name = "a\x1b[2J\nmcp_server: {transport: http}\n#.json"
        (there / name).write_text('{"mcpServers": {"a": {"command": "x"}}}')
        done = owlclaw("mcp-server", "config", "import", name, cwd=there)
        equal((done.code, done.err.count("\x1b")), (0, 0))
        equal(done.out.split("\n")[:2],
              ["# Imported from a�[2J mcp_server: {transport: http} #.json", "mcp_server:"])
        done = owlclaw("mcp-server", "config", "show", "--changed", "-c", name, cwd=there)
        check("\x1b" not in done.out + done.err, "an escape is shown")
        check(not re.search("^mcp_server: ", done.out, re.M), "a name is taken for YAML")
        done = owlclaw("trust", name, cwd=there, env={"XDG_STATE_HOME": str(there)})
        equal(done.code, 2, "a path with a newline")
        os.rename(there / name, there / "b\x1b[2J")
        equal(owlclaw("trust", "b\x1b[2J", cwd=there, env={"XDG_STATE_HOME": str(there)}).code, 0)
        done = owlclaw("trust", "--list", cwd=there, env={"XDG_STATE_HOME": str(there)})
        check(re.fullmatch(".*/b�\\[2J\t[0-9a-z:]+\n", done.out), f"the list is {done.out!r}")


@test()
def only_files_are_trusted():
    with folder() as there:
        os.mkfifo(there / ".kode.json")
        done = owlclaw("trust", cwd=there, env={"XDG_STATE_HOME": str(there)})
        refuses(done, ".kode.json: this is no regular file")


# ---- output --------------------------------------------------------------------------------------


@test()
def output_that_does_not_arrive_is_noticed():
    with open("/dev/full", "w") as full:
        done = owlclaw("--help", stdout=full)
    equal((done.code, done.err),
          (74, "owlclaw: standard output cannot be written: No space left on device\n"))
    with open("/dev/full", "w") as full:
        equal(owlclaw("--version", stdout=full).code, 74)


@test()
def closed_descriptors_are_no_files():
    with folder(s={"type": "string"}, i="1") as there:
        close = lambda *fds: lambda: [os.close(fd) for fd in fds]
        done = owlclaw("schema", "validate", "s", "i", cwd=there, preexec_fn=close(1))
        equal((done.code, done.err),
              (74, "owlclaw: standard output cannot be written: Bad file descriptor\n"))
        done = owlclaw("schema", "validate", "s", "i", cwd=there, preexec_fn=close(0, 2))
        equal((done.code, done.err), (1, ""))
        done = owlclaw("schema", "validate", "s", "-", cwd=there, preexec_fn=close(0))
        equal((done.code, done.err), (2, "owlclaw: standard input: Bad file descriptor\n"))
        equal((there / "s").read_text(), '{"type": "string"}')


@test()
def a_reader_that_goes_away_is_not_told():
    for ignored in (signal.SIG_IGN, signal.SIG_DFL):
        reader, writer = os.pipe()
        os.close(reader)
        done = owlclaw("--help", stdout=writer, restore_signals=False,
                       preexec_fn=lambda: signal.signal(signal.SIGPIPE, ignored))
        os.close(writer)
        equal((done.code, done.err), (74 if ignored == signal.SIG_IGN else -signal.SIGPIPE, ""))


@test()
def colour_is_for_terminals():
    with folder(s={"type": "string"}, i="1") as there:
        words = ["schema", "validate", "s", "i"]
        esc = "\x1b["

        def coloured(*more, **env):
            return esc in on_terminal(*words, *more, cwd=there, env=env)

        equal(coloured(), True)
        equal(coloured(NO_COLOR="1"), False)
        equal(coloured(NO_COLOR=""), True)
        equal(coloured(TERM="dumb"), False)
        equal(coloured("--color=never"), False)
        equal(coloured("--color", "always", NO_COLOR="1"), True)
        equal(esc in owlclaw(*words, cwd=there).out, False, "not a terminal")
        equal(esc in owlclaw(*words, "--color=always", cwd=there).out, True)
        equal(esc in owlclaw("--color=always", "x").err, True)


# ---- schema validate -----------------------------------------------------------------------------

SCHEMA = """{
  "type": "object",
  "required": ["user"],
  "properties": {
    "user": {
      "type": "object",
      "required": ["name"],
      "additionalProperties": false,
      "properties": {
        "name": {"type": "string"},
        "age": {"type": "integer", "minimum": 18},
        "mail": {"format": "email"}
      }
    }
  }
}
"""
INSTANCE = '{\n  "user": {\n    "naïf": "名前", "age": 17,\n    "mail": "nobody"\n  }\n}\n'


@test()
def trust_speaks_json_too():
    with folder(__kode__json='{"mcpServers": {}}') as there:
        home = {"HOME": str(there), "XDG_STATE_HOME": str(there / "state")}
        (there / "state").mkdir()

        def trust(*options):
            return json.loads(owlclaw("trust", *options, "--json", cwd=there, env=home).out)

        file = str((there / ".kode.json").resolve())
        equal(trust("--list"), [])
        equal(trust(), {"file": file, "trusted": True})
        equal([entry["file"] for entry in trust("--list")], [file])
        equal(trust("--remove"), {"file": file, "trusted": False})


@test()
def a_key_that_is_none_is_told_what_was_meant():
    with folder() as there:
        done = owlclaw("mcp-server", "config", "show", "http.prot", cwd=there,
                       env={"HOME": str(there)})
        equal((done.code, done.out), (1, ""))
        equal(done.err, "owlclaw: nothing is set at http.prot; did you mean http.port?\n")


@test()
def a_valid_document_is_0():
    with folder(s__json=SCHEMA, i__json={"user": {"name": "Ann", "mail": "nobody"}}) as there:
        done = owlclaw("schema", "validate", "s.json", "i.json", cwd=there)
        equal((done.code, done.out, done.err), (0, "i.json: valid\n", ""))
        done = owlclaw("schema", "validate", "s.json", "i.json", "--json", cwd=there)
        equal((done.code, done.out, done.err),
              (0, '{"valid":true,"violations":[],"leftOut":0}\n', ""))
        equal(owlclaw("schema", "validate", "s.json", "i.json", "--assert-format", cwd=there).code,
              1)


@test()
def faults_are_1_and_explained():
    with folder(s__json=SCHEMA, i__json=INSTANCE) as there:
        done = owlclaw("schema", "validate", "s.json", "i.json", "--assert-format", cwd=there)
        equal((done.code, done.err), (1, ""))
        golden("schema-validate-faults", done.out)
        golden("schema-validate-faults-40",
               on_terminal("schema", "validate", "s.json", "i.json", "--color=never", cwd=there,
                           columns=40))
        done = owlclaw("--json", "schema", "validate", "s.json", "i.json", cwd=there)
        told = json.loads(done.out)
        equal((done.code, done.err, told["valid"], told["leftOut"]), (1, "", False, 0))
        age = [v for v in told["violations"] if v["instance"] == "/user/age"]
        equal(age, [{"instance": "/user/age", "schema": "#/properties/user/properties/age/minimum",
                     "keyword": "minimum", "expected": "18", "found": "17",
                     "message": "/user/age must be at least 18, but is 17",
                     "line": 3, "column": 26}])


@test()
def either_file_can_be_standard_input():
    with folder(s={"type": "string"}, i="1") as there:
        done = owlclaw("schema", "validate", "s", "-", stdin='"x"', cwd=there)
        equal((done.code, done.out), (0, "standard input: valid\n"))
        done = owlclaw("schema", "validate", "-", "i", stdin='{"type":"null"}', cwd=there)
        equal(done.code, 1)
        contains(done.out, "= standard input#/type")


@test()
def many_faults_are_counted():
    with folder(s={"items": {"type": "string"}}, i=list(range(100))) as there:
        done = owlclaw("schema", "validate", "s", "i", cwd=there)
        equal(done.out.splitlines()[-1],
              "i: not valid, 100 faults, of which the first 64 are told")
        equal(json.loads(owlclaw("schema", "validate", "s", "i", "--json", cwd=there).out)["leftOut"],
              36)


@test()
def unusable_files_are_2():
    with folder(s="{}", empty="", bom=b"\xef\xbb\xbf{}", utf16='{"a":1}'.encode("utf-16"),
                nul=b'{"a":\n "x\0"}', cut='{"a":', word="{\n\t\"é\": tru}", twice='{"a":1,"a":2}',
                latin=b'"\xe9"', deep="[" * 200 + "]" * 200) as there:
        def refused(name, sentence):
            refuses(owlclaw("schema", "validate", "s", name, cwd=there), sentence)
            refuses(owlclaw("schema", "validate", name, "s", cwd=there), sentence)

        refused("missing", "missing: No such file or directory")
        refused(".", ".: Is a directory")
        refused("empty", "empty:1:1: the file is empty; JSON has at least one value")
        refused("bom", "bom:1:1: a byte order mark is not allowed; send UTF-8 without one")
        refused("utf16", "utf16:1:1: this is UTF-16; JSON files are UTF-8")
        refused("nul", "nul:2:4: a NUL byte, which JSON cannot hold")
        refused("word", "word:2:7: expected a value, found 't'")
        refused("latin", "latin:1:2: invalid UTF-8 in a string")
        for name in ("cut", "twice", "deep"):
            done = owlclaw("schema", "validate", "s", name, cwd=there)
            equal((done.code, done.out), (2, ""))
            check(re.match(rf"owlclaw: {name}:1:\d+: ", done.err), done.err)
        with open(there / "big", "wb") as file:
            file.truncate(64 * 1024 * 1024 + 1)
        refused("big", "big: larger than 67108864 bytes, the most that is read")
        golden("bad-json", owlclaw("schema", "validate", "s", "word", cwd=there).err)


@test()
def unusable_schemas_are_2():
    with folder(i="1", type={"type": "strin"}, array="[]", dialect={"$schema": "urn:x:y"},
                ref={"$id": "https://x.y/s", "$ref": "other"},
                slow={"pattern": "^(a+)+\\1$"}, a=json.dumps("a" * 5000 + "b")) as there:
        def refused(name, part, instance="i"):
            done = owlclaw("schema", "validate", name, instance, cwd=there)
            equal((done.code, done.out), (2, ""))
            contains(done.err, part)

        refused("type", "owlclaw: type: schema #/type: ")
        refused("array", "owlclaw: array: ")
        refused("dialect", 'unknown dialect "urn:x:y"')
        refused("ref", 'owlclaw: ref: the reference "https://x.y/other" leads nowhere')
        refused("ref", "--map takes documents from folders")
        refused("slow", "owlclaw: a: there is no verdict: ", "a")


# ---- schema validate --map -----------------------------------------------------------------------

MAP = ["--map", "https://x.y/=docs"]


@contextlib.contextmanager
def mapped(main_schema, **files):
    """A schema s.json, the instance i.json (1), and a folder docs."""
    with folder(s__json=main_schema, i__json="1") as there:
        (there / "docs").mkdir()
        for name, content in files.items():
            (there / "docs" / name).write_text(json.dumps(content))
        yield there


def validate(there, *options):
    return owlclaw("schema", "validate", *options, "s.json", "i.json", cwd=there)


@test()
def references_lead_into_mapped_folders():
    with mapped({"$ref": "https://x.y/a"}, a={"$ref": "sub/b%20c#/$defs/n"}) as there:
        (there / "docs/sub").mkdir()
        (there / "docs/sub/b c").write_text('{"$defs":{"n":{"type":"null"}}}')
        done = validate(there, *MAP)
        equal((done.code, done.err), (1, ""))
        contains(done.out, "= https://x.y/sub/b%20c#/$defs/n/type")
        equal(validate(there).code, 2)


@test()
def the_longest_prefix_counts():
    with mapped({"$ref": "https://x.y/v2/a"}) as there:
        for name, kind in (("one", "string"), ("two", "integer")):
            (there / name / "v2").mkdir(parents=True)
            (there / name / "v2/a").write_text(json.dumps({"type": kind}))
            (there / name / "a").write_text(json.dumps({"type": kind}))
        maps = ["--map=https://x.y/v2/=two", "--map=https://x.y/=one"]
        equal(validate(there, *maps).code, 0)
        equal(validate(there, *reversed(maps)).code, 0)
        equal(validate(there, maps[1]).code, 1)


@test()
def a_schema_without_id_is_where_its_file_is():
    with mapped({"$ref": "docs/a"}, a={"type": "null"}) as there:
        done = validate(there)
        equal(done.code, 2)
        contains(done.err, there.resolve().as_uri() + "/docs/a")
        equal(validate(there, "--map", f"{there.resolve().as_uri()}/=.").code, 1)
    with mapped({"$ref": "urn:example:a"}, a={"type": "integer"}) as there:
        equal(validate(there, "--map", "urn:example:=docs").code, 0)


@test()
def metaschemas_cannot_be_replaced():
    with mapped({"$schema": "https://json-schema.org/draft/2020-12/schema", "type": "integer"},
                schema=False) as there:
        equal(validate(there, "--map", "https://json-schema.org/draft/2020-12/=docs").code, 0)


@test()
def nothing_outside_the_folder_is_read():
    with mapped({}) as there:
        (there / "secret").write_text('{"type":"null"}')
        (there / "docs/link").symlink_to("../secret")
        (there / "docs/inner").symlink_to("plain")
        (there / "docs/plain").write_text('{"type":"null"}')
        (there / "docs/up").symlink_to("..")
        os.mkfifo(there / "docs/fifo")
        (there / "docs/folder").mkdir()

        def lost(rest, reason):
            (there / "s.json").write_text(json.dumps({"$ref": f"https://x.y/{rest}"}))
            refuses(validate(there, *MAP), f"s.json: a reference cannot be followed: {reason}")

        lost("link", "docs/link: symbolic links are not followed here")
        lost("inner", "docs/inner: symbolic links are not followed here")
        lost("up/secret", "docs/up/secret: Not a directory")
        lost("fifo", "docs/fifo: is no regular file")
        lost("folder", "docs/folder: is no regular file")
        lost("missing", "docs/missing: No such file or directory")
        lost("plain/x", "docs/plain/x: Not a directory")
        for rest in ("%2e%2e/secret", "..%2fsecret", "%2E%2E%2Fsecret", "folder/%2e%2e/%2e%2e/secret",
                     "%2e/plain", "/plain", "folder//x", "a%00b", "folder/"):
            lost(rest, f"the reference https://x.y/{rest} names nothing within the folder docs")
        # ".." is resolved before it is looked up: that leads out of the prefix
        (there / "s.json").write_text(json.dumps({"$ref": "https://x.y/v/../../secret"}))
        refuses(validate(there, "--map", "https://x.y/v/=docs"),
                's.json: the reference "https://x.y/secret" leads nowhere: it is not in the '
                "document, not registered, and nothing is fetched; --map takes documents from "
                "folders")


@test()
def mapped_documents_are_checked():
    with mapped({"$ref": "https://x.y/a"}) as there:
        (there / "docs/a").write_text('{\n"type": }')
        refuses(validate(there, *MAP), "s.json: a reference cannot be followed: "
                                       "docs/a:2:9: expected a value, found '}'")
    with mapped({"$ref": "https://x.y/a"}, a={"type": "foo"}) as there:
        refuses(validate(there, *MAP), "s.json: schema https://x.y/a#/type: type must be null, "
                                       "boolean, integer, number, string, array or object, or an "
                                       "array of these")


@test()
def mapped_documents_may_be_referred_to_in_any_order():
    refs = [{"$ref": "https://x.y/a"}, {"$ref": "https://x.y/other"}]
    for branches in (refs, refs[::-1]):
        with mapped({"allOf": branches}, a={"$id": "https://x.y/other", "type": "integer"}) as there:
            equal(validate(there, *MAP).code, 0)


@test(timeout=60)
def mapped_files_are_counted():
    chain = {f"f{i}": {"$ref": f"f{i + 1}"} for i in range(1001)}
    with mapped({"$ref": "https://x.y/f2"}, **chain, f1001={"type": "integer"}) as there:
        equal(validate(there, *MAP).code, 0)
        (there / "s.json").write_text(json.dumps({"$ref": "https://x.y/f1"}))
        refuses(validate(there, *MAP), "s.json: a reference cannot be followed: the schema refers "
                                       "to more than 1000 files")
    with mapped({"$ref": "https://x.y/big"}) as there:
        with open(there / "docs/big", "wb") as file:
            file.truncate(64 * 1024 * 1024 + 1)
        refuses(validate(there, *MAP), "s.json: a reference cannot be followed: docs/big: larger "
                                       "than 67108864 bytes, the most that is read")


@test()
def maps_are_checked():
    with mapped({}) as there:
        def refused(value, sentence):
            refuses(validate(there, "--map", value), sentence)

        refused("docs", '--map takes PREFIX=DIR, not "docs"')
        refused("https://x.y/=", '--map takes PREFIX=DIR, not "https://x.y/="')
        refused("https://x.y=docs", "the prefix of --map must be an absolute URI that ends in / or "
                                    ':, not "https://x.y"')
        refused("x/=docs", "the prefix of --map must be an absolute URI that ends in / or :, not "
                           '"x/"')
        refused("https://x.y/=none", "the folder of --map, none: No such file or directory")
        refused("https://x.y/=s.json", "the folder of --map, s.json: Not a directory")


# ---- what the descriptors yield ------------------------------------------------------------------


def need(program):
    path = shutil.which(program)
    if not path:
        raise Skip(f"{program} is not installed")
    return path


def run(*command, **options):
    done = subprocess.run(command, capture_output=True, text=True, timeout=seconds(30), **options)
    equal((done.returncode, done.stderr), (0, ""), " ".join(map(str, command)))
    return done.stdout


@contextlib.contextmanager
def documents(form):
    with tempfile.TemporaryDirectory(prefix="owlclaw-cli-") as path:
        equal(owlclaw("docs", form, path).code, 0)
        yield pathlib.Path(path)


@test()
def man_pages_are_clean():
    with documents("man") as there:
        pages = {f"owlclaw-{name}.1" for name in ("schema-validate", "trust")}
        pages |= {f"owlclaw-mcp-server-config-{name}.1"
                  for name in ("validate", "show", "schema", "import")}
        equal({p.name for p in there.iterdir()}, {"owlclaw.1"} | pages)
        for page in there.iterdir():
            equal(run(need("mandoc"), "-T", "lint", page), "")
            equal(run(need("groff"), "-man", "-ww", "-z", page), "")
            text = run("mandoc", "-T", "ascii", page)
            contains(text, "E\bEX\bXI\bIT\bT")
            for code in ("0", "1", "2", "70", "74"):
                check(re.search(rf"^ +{code} +\S", text, re.M), f"{page.name} lacks {code}")


@test()
def bash_completes():
    with documents("bash") as there, folder(one__json="{}") as files:
        def complete(*words):
            script = (f'source {there}/owlclaw; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _owlclaw; '
                      'printf "%s\\n" "${COMPREPLY[@]}"')
            out = run(need("bash"), "--norc", "-uc", script, "-", "owlclaw", *words, cwd=files)
            return out.split()

        equal(complete("s"), ["schema"])
        equal(complete("schema", ""), ["validate"])
        equal(complete("schema", "validate", "--a"), ["--assert-format"])
        equal(complete("--color", "a"), ["auto", "always"])
        equal(complete("schema", "--color", "=", "n"), ["never"])
        equal(complete("schema", "--color", "="), ["auto", "always", "never"])
        equal(complete("schema", "validate", "--json", "o"), ["one.json"])
        equal(complete("docs", ""), ["mcp-server", "config", "trust", "schema"])
        for words in (["mcp-server", "config"], ["config"]):
            equal(complete(*words, "s"), ["show", "schema"])
            equal(complete(*words, "validate", "--st"), ["--strict"])
        equal(complete("--j"), ["--json"])


ZSH = """
compdef() { print compdef $*; }
compadd() { print compadd $*; }
_files() { print files; }
_describe() { print -l describe ${(P)argv[-1]}; }
compset() { PREFIX=${PREFIX#*=}; }
source $1/_owlclaw
shift
words=("$@") CURRENT=$# PREFIX=$argv[-1]
_owlclaw
"""


@test()
def zsh_completes():
    with documents("zsh") as there:
        def complete(*words):
            out = run(need("zsh"), "-fc", ZSH, "-", there, "owlclaw", *words)
            equal(out.split("\n")[0], "compdef _owlclaw owlclaw")
            return out.split("\n")[1:-1]

        contains(complete("s"), "schema:Work with JSON Schema")
        contains(complete("schema", "validate", "--"), "--json:print JSON instead of text for people")
        equal(complete("schema", "validate", ""), ["files"])
        equal(complete("--color", "a"), ["compadd -- auto always never"])
        equal(complete("--color=a"), ["compadd -- auto always never"])
        out = run("zsh", "-fc", 'fpath=($1 $fpath); autoload -Uz compinit; compinit -u -D; '
                  "print $_comps[owlclaw]", "-", there)
        equal(out, "_owlclaw\n")


@test()
def fish_completes():
    with documents("fish") as there, folder(one__json="{}") as files:
        def complete(line):
            out = run(need("fish"), "--no-config", "-c",
                      f"source {there}/owlclaw.fish; complete -C '{line}'", cwd=files)
            names = [row.split("\t")[0] for row in out.splitlines()]
            typed = line.split(" ")[-1]  # fish 4 also offers what only contains it
            return [name for name in names if name.startswith(typed)]

        equal(complete("owlclaw s"), ["schema"])
        equal(complete("owlclaw schema "), ["validate"])
        equal(complete("owlclaw schema validate --a"), ["--assert-format"])
        equal(sorted(complete("owlclaw --color ")), ["always", "auto", "never"])
        equal(complete("owlclaw schema validate o"), ["one.json"])
        check("--map" not in complete("owlclaw --"), "an option of another command")


@test()
def the_documents_are_of_today():
    equal(owlclaw("docs", "markdown").out, (ROOT / "docs/cli.md").read_text(),
          "docs/cli.md (build/owlclaw docs markdown docs writes it)")


@test()
def everything_is_installed():
    if not NORMAL:
        return  # sanitized programs are not run while building
    with tempfile.TemporaryDirectory(prefix="owlclaw-cli-") as root:
        run("meson", "install", "-C", BUILD, "--no-rebuild", "--quiet",
            env=dict(os.environ, DESTDIR=root))
        names = {str(p).split("/usr/local/")[-1] for p in pathlib.Path(root).rglob("*")
                 if p.is_file()}
        for name in ("bin/owlclaw", "share/man/man1/owlclaw.1",
                     "share/man/man1/owlclaw-schema-validate.1",
                     "share/bash-completion/completions/owlclaw",
                     "share/zsh/site-functions/_owlclaw",
                     "share/fish/vendor_completions.d/owlclaw.fish"):
            check(any(n.endswith(name) for n in names), f"{name} is not installed")


@test()
def a_document_that_cannot_be_written_is_noticed():
    equal(owlclaw("docs", "bash", "/dev/null/x").code, 74)
    refuses(owlclaw("docs", "pdf"), "FORM is man, bash, zsh, fish or markdown, not pdf")


main()
