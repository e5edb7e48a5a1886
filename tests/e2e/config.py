"""What the tests of configurations share: the program, and the faults that it tells."""

import json
import resource

from support import *

PROGRAM = BUILD.resolve() / "owlclaw"
VALIDATE = [PROGRAM, "mcp-server", "config", "validate"]
SECRET = "s3cr3t-0123456789"


def need_program():
    """Skips the test as long as the command is not there."""
    if not PROGRAM.exists() or subprocess.run([*VALIDATE, "--help"], capture_output=True).returncode:
        raise Skip("there is no owlclaw mcp-server config validate")


def run_in(folder, command, env):
    """Runs a command with that environment and an empty home."""
    with tempfile.TemporaryDirectory(prefix="owlclaw-home-") as home:
        done = subprocess.run(command, cwd=folder, capture_output=True, timeout=seconds(20),
                              text=True, errors="replace",
                              env={"PATH": f"{PROGRAM.parent}:{os.environ['PATH']}", "HOME": home,
                                   **env})
    check(not SANITIZER.search(done.stderr), f"a sanitizer complained: {done.stderr}")
    return done


def validate(folder, config, env):
    """The faults of a file, and the exit status. They are a list, alone or as `faults`."""
    done = run_in(folder, [*VALIDATE, "--json", "--config", config], env)
    try:
        faults = json.loads(done.stdout)
    except ValueError:
        raise Failure(f"{config}: no JSON: {done.stdout}{done.stderr}") from None
    return (faults["faults"] if isinstance(faults, dict) else faults), done.returncode


def where(fault):
    return os.path.normpath(fault.get("file") or fault.get("source") or "?")


def sentence(fault):
    place = f"{where(fault)}:{fault.get('line', '-')}:{fault.get('column', '-')}"
    return f"{place}: {fault['severity']}: {fault['message']} ({fault.get('hint', '')})"


class Box:
    """A folder with a home of its own, in which the program is run."""

    def __enter__(self):
        self.scratch = tempfile.TemporaryDirectory(prefix="owlclaw-box-")
        root = pathlib.Path(self.scratch.name).resolve()
        self.folder, self.home, self.state = root / "project", root / "home", root / "state"
        self.folder.mkdir()
        self.home.mkdir()
        return self

    def __exit__(self, *_):
        self.scratch.cleanup()

    def write(self, name, content):
        """A file, of JSON unless the content is text; a name with ~/ is in the home."""
        path = self.home / name[2:] if name.startswith("~/") else self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        content = content if isinstance(content, (str, bytes)) else json.dumps(content)
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        return path

    def run(self, *arguments, env=None, code=0, **options):
        """Runs the program, which must exit with that code."""
        options.setdefault("stdout", subprocess.PIPE)
        known = {"PATH": os.environ["PATH"], "HOME": str(self.home),
                 "XDG_STATE_HOME": str(self.state), **(env or {})}
        done = subprocess.run([PROGRAM, *arguments], cwd=options.pop("cwd", self.folder),
                              stderr=subprocess.PIPE, stdin=subprocess.DEVNULL, timeout=seconds(20),
                              env={k: v for k, v in known.items() if v is not None}, **options)
        done.out, done.err = (done.stdout or b"").decode(), done.stderr.decode()
        check(not SANITIZER.search(done.err), f"a sanitizer complained: {done.err}")
        equal(done.returncode, code, f"{' '.join(map(str, arguments))}:\n{done.out}{done.err}")
        return done

    def config(self, *arguments, **options):
        return self.run("mcp-server", "config", *arguments, **options)

    def show(self, *arguments, **options):
        """The effective tree, secrets and all."""
        return json.loads(self.config("show", "--json", "--secrets", *arguments, **options).out)

    def tree(self, *arguments, **options):
        return self.show(*arguments, **options)["mcp_server"]

    def faults(self, *arguments, **options):
        """What validate says, but for features that are still to come."""
        told = json.loads(self.config("validate", "--json", *arguments, **options).out)["faults"]
        return [f for f in told if "not in this build" not in f["message"]]


def box_test(ids="", timeout=30):
    """A test that is given a box."""
    def register(function):
        def run():
            with Box() as box:
                function(box)
        run.__name__ = function.__name__
        test(ids, timeout)(run)
        return function
    return register


def no_room():
    """To be run in a process before the program: files stay tiny."""
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (16, 16))


def own(**tree):
    return {"mcp_server": tree}


def at(tree, *steps):
    """What is at a path of a tree."""
    for step in ".".join(steps).split("."):
        tree = tree[step]
    return tree


def holds(tree, part):
    """Whether everything of a part is in the tree, which has defaults besides."""
    if isinstance(part, dict):
        return isinstance(tree, dict) and all(k in tree and holds(tree[k], v) for k, v in part.items())
    if isinstance(part, list):
        return isinstance(tree, list) and len(tree) == len(part) and all(map(holds, tree, part))
    return tree == part and isinstance(tree, bool) == isinstance(part, bool)
