#!/usr/bin/env python3
"""What `make install` installs is enough to build and run a server elsewhere."""

import tempfile

from client import *

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
LIBRARIES = {"libuv", "libllhttp", "libyyjson", "libpcre2-8", "libcrypto", "libssl"}
SYSTEM = {"libc", "libm", "libdl", "libpthread", "linux-vdso"}
COMPILERS = [["gcc", "-std=c11"], ["clang", "-std=c11"], ["g++", "-std=c++11", "-x", "c++"]]
SANITIZED = os.environ.get("OWLCLAW_VARIANT", "normal") != "normal"


def normal_test(function):
    """For what a sanitized library cannot show: it brings libraries of its own."""
    return function if SANITIZED else test()(function)


def run(*command, **options):
    done = subprocess.run(command, capture_output=True, text=True, timeout=seconds(60), **options)
    equal(done.returncode, 0, f"{' '.join(map(str, command))}\n{done.stdout}{done.stderr}")
    return done.stdout


class Installation:
    """The library and its headers below a folder that does not last."""

    def __enter__(self):
        self.scratch = tempfile.TemporaryDirectory(prefix="owlclaw-install-")
        self.root = pathlib.Path(self.scratch.name)
        run("meson", "install", "-C", BUILD, "--no-rebuild", "--quiet",
            env=dict(os.environ, DESTDIR=str(self.root)))
        self.pc = next(self.root.rglob("owlclaw.pc"))
        self.library = next(self.root.rglob("libowlclaw.so"))
        return self

    def __exit__(self, *_):
        self.scratch.cleanup()

    def compile(self, compiler, name):
        """Builds an example as its user would; the path of the program."""
        env = dict(os.environ, PKG_CONFIG_SYSROOT_DIR=str(self.root),
                   PKG_CONFIG_PATH=str(self.pc.parent))
        flags = run("pkg-config", "--cflags", "--libs", "owlclaw", env=env).split()
        program = self.root / f"{name}-{compiler[0]}"
        run(*compiler, ROOT / f"examples/{name}.c", "-x", "none", *flags,
            f"-Wl,-rpath,{self.library.parent}", "-o", program)
        return program


@normal_test
def examples_build_from_the_installation_with_every_compiler():
    with Installation() as there:
        for compiler in COMPILERS:
            hello = there.compile(compiler, "hello-server")
            there.compile(compiler, "embed")
            request = {"jsonrpc": "2.0", "id": 1, "method": "ping"}
            answer = run(hello, "--stdio", input=json.dumps(request) + "\n")
            equal(json.loads(answer), {"jsonrpc": "2.0", "id": 1, "result": {}})


@test()
def the_library_exports_only_its_own_names():
    with Installation() as there:
        names = [line.split()[-1] for line in
                 run("nm", "-D", "--defined-only", there.library).splitlines()]
        check(len(names) > 50, f"only {len(names)} names")
        equal([n for n in names if not n.startswith("owl_")], [])


@normal_test
def the_library_needs_only_what_it_says():
    with Installation() as there:
        needed = re.findall(r"NEEDED.*\[(.*?)\.so", run("readelf", "-d", there.library))
        equal(sorted(set(needed) - LIBRARIES - SYSTEM), [])


@test()
def the_schema_of_configurations_is_installed():
    with Installation() as there:
        schema = next(there.root.rglob("share/owlclaw/config.schema.json")).read_text()
        equal(schema, (ROOT / "src/config/schema.json").read_text())
        equal(schema, run(next(there.root.rglob("bin/owlclaw")), "mcp-server", "config", "schema"))


main()
