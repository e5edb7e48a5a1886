#!/usr/bin/env python3
"""What `make install` installs is enough to build and run a server elsewhere."""

import shutil
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


# ---- make install ------------------------------------------------------------------------------

NOBODY = 65534
TREE = """project('owlet', 'c')
configure_file(output: 'made.h', configuration: {'MADE': 1})
install_data('owlet.txt', install_dir: get_option('datadir') / 'owlet')
import('pkgconfig').generate(name: 'owlet', description: 'small', version: '1')
"""


@contextlib.contextmanager
def small_tree():
    """A project that is built and installed as this one is, in less than a second. If root runs the
    test, the tree belongs to another user."""
    with tempfile.TemporaryDirectory(prefix="owlclaw-install-") as name:
        scratch = pathlib.Path(name)
        scratch.chmod(0o755)
        tree = scratch / "tree"
        (tree / "tools").mkdir(parents=True)
        (tree / "meson.build").write_text(TREE)
        (tree / "owlet.txt").write_text("hoo\n")
        for file in ("Makefile", "tools/install", "tools/configure", "tools/bootstrap"):
            shutil.copy(ROOT / file, tree / file)
        if os.getuid() == 0:
            for path in (tree, *tree.rglob("*")):
                os.chown(path, NOBODY, NOBODY)
        yield tree


def make_install(tree, *variables, user=None):
    return subprocess.run(["make", "--no-print-directory", "install", *variables], cwd=tree,
                          user=user, capture_output=True, text=True, timeout=seconds(60))


def installed(tree, *variables):
    """What the command prints; it must succeed and leave nothing that the owner cannot change."""
    done = make_install(tree, *variables)
    equal(done.returncode, 0, done.stdout + done.stderr)
    owner = tree.stat().st_uid
    equal([str(p) for p in tree.rglob("*") if p.lstat().st_uid != owner], [], "files of root")
    return done.stdout


@normal_test
def root_leaves_nothing_of_its_own_in_the_tree():
    with small_tree() as tree:
        there = tree.parent / "there"
        for prefix in ("/usr", "/opt/owl"):
            installed(tree, f"DESTDIR={there}", f"PREFIX={prefix}")
            equal((there / prefix[1:] / "share/owlet/owlet.txt").read_text(), "hoo\n")
        again = subprocess.run(["ninja", "-C", "build"], cwd=tree, capture_output=True, text=True,
                               user=tree.stat().st_uid if os.getuid() == 0 else None)
        equal(again.returncode, 0, again.stdout)


@normal_test
def an_installation_says_where_it_is_and_how_to_use_it():
    with small_tree() as tree:
        prefix = tree.parent / "owl"
        said = installed(tree, f"PREFIX={prefix}")
        for part in (f"below {prefix}:", "    share/owlet/owlet.txt\n", f"export PATH={prefix}/bin",
                     "export PKG_CONFIG_PATH=", "export LD_LIBRARY_PATH="):
            contains(said, part)


@normal_test
def what_a_packager_is_told_makes_the_staged_library_usable():
    with small_tree() as tree:
        said = installed(tree, "DESTDIR=../stage", "PREFIX=/usr")
        exports = next(line for line in said.splitlines() if "export" in line)
        shown = run("sh", "-c", f"{exports}; pkg-config --modversion owlet")
        equal(shown, "1\n")
        contains(exports, f"PKG_CONFIG_SYSROOT_DIR={tree.parent}/stage ")


@normal_test
def a_prefix_that_cannot_be_written_to_is_refused_before_the_build():
    with small_tree() as tree:
        user = NOBODY if os.getuid() == 0 else None
        done = make_install(tree, "PREFIX=/usr", user=user)
        check(done.returncode != 0, done.stdout)
        contains(done.stderr, "/usr cannot be written to: sudo make install, or PREFIX=")
        check(not (tree / "build").exists(), "it was built all the same")


main()
