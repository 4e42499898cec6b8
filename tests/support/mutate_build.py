"""The copy of the checkout that `make mutate` works in: it is built once and stays
unbroken. A break is compiled and linked in a folder of its own."""
import collections
import contextlib
import filecmp
import json
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
import typing

TREE = pathlib.Path("build/mutate")
CPUS = os.cpu_count() or 1
MAKE = ["env", "-u", "MAKEFLAGS", "make", "BUILD=mutate"]
# A broken program may write without end.
FILE_BLOCKS = 1 << 20
HOUR_S = 3600
POLL_S = 0.02
OUTPUT_MAX = 1 << 26

Done = collections.namedtuple("Done", "code output cpu_s wall_s")


class Stopped(Exception):
    """The run ends early: a signal, or an error that was printed."""


class Programs:
    """Runs programs in build/mutate, each in a process group of its own."""

    def __init__(self):
        self.lock = threading.Lock()
        self.running = set()
        self.stopped = False

    def run(self, command, data="/dev/null", cpu_s=0, wall_s=HOUR_S, until=b""):
        """data: the folder of the files that gcov reads. The program is killed
        when it has printed until."""
        limits = (f"ulimit -c 0 -f {FILE_BLOCKS}; ulimit -t {cpu_s}; "
                  if cpu_s else "")
        start = time.monotonic()
        with tempfile.TemporaryFile() as output:
            with self.lock:
                if self.stopped:
                    raise Stopped
                process = subprocess.Popen(
                    ["sh", "-c", f'{limits}exec "$@"', "sh", *command],
                    cwd=TREE, env=os.environ | {"GCOV_PREFIX": data},
                    stdin=subprocess.DEVNULL, stdout=output,
                    stderr=subprocess.STDOUT, start_new_session=True)
                self.running.add(process.pid)
                if self.stopped:  # a signal came meanwhile
                    self.kill(process.pid)
            done, status, used = 0, 0, None
            while not done:
                if (time.monotonic() > start + wall_s or until and until in
                        os.pread(output.fileno(), OUTPUT_MAX, 0)):
                    self.kill(process.pid)
                done, status, used = os.wait4(process.pid, os.WNOHANG)
                time.sleep(0 if done else POLL_S)
            self.kill(process.pid)  # what it started
            with self.lock:
                self.running.discard(process.pid)
                process.returncode = os.waitstatus_to_exitcode(status)
                if self.stopped:
                    raise Stopped
            text = os.pread(output.fileno(), OUTPUT_MAX, 0)
        return Done(process.returncode, text.decode(errors="replace"),
                    used.ru_utime + used.ru_stime, time.monotonic() - start)

    @staticmethod
    def kill(group):
        with contextlib.suppress(ProcessLookupError):
            os.killpg(group, signal.SIGKILL)

    def end_on_signals(self):
        ends = (signal.SIGINT, signal.SIGTERM)

        def end(number, _frame):
            for other in ends:
                signal.signal(other, signal.SIG_IGN)
            self.end_all()
            sys.exit(128 + number)
        for number in ends:
            signal.signal(number, end)

    def end_all(self):
        self.stopped = True
        for group in list(self.running):
            self.kill(group)


def copy_checkout():
    """What git knows or would add. A file that is equal keeps its time, so that
    make compiles only what changed."""
    listed = subprocess.run(
        ["git", "ls-files", "-zco", "--exclude-standard"], check=True,
        stdout=subprocess.PIPE, text=True).stdout.split("\0")
    files = {name for name in listed if name and os.path.isfile(name)}
    TREE.mkdir(parents=True, exist_ok=True)
    for path in list(TREE.rglob("*")):
        name = str(path.relative_to(TREE))
        if (path.is_file() and name not in files
                and not name.startswith("build/")):
            path.unlink()
    for name in files:
        copy = TREE / name
        if not copy.exists() or not filecmp.cmp(name, copy, shallow=False):
            copy.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(name, copy)
            shutil.copymode(name, copy)


def room_of(test):
    """The room with all rooms inside it: "scheduler"."""
    return test.removeprefix("build/mutate/tests/unit/").partition("/")[0]


class Usual(typing.NamedTuple):
    """An unbroken test program: what it uses, and which code of its room it
    runs."""
    cpu_s: float
    wall_s: float
    functions: dict  # {path: those that it runs}
    idle: dict  # {path: lines that it does not run}

    def runs(self, change):
        """A line of which gcov knows nothing is as good as its function."""
        path = change.source.path
        return (change.function in self.functions.get(path, ())
                and change.line not in self.idle[path])


class Build:
    """The unbroken build, and the commands that made it."""

    def __init__(self, programs):
        copy_checkout()
        self.programs = programs
        self.tests = [f"build/mutate/{path.with_suffix('')}" for path in
                      sorted(pathlib.Path("tests/unit").rglob("test_*.c"))]
        self.make(f"-sj{CPUS}", *self.tests)
        self.commands = {}  # {what it makes: the command}
        self.objects = {}  # {source: object}
        self.usual = {}  # {test: Usual}
        text = self.make("-nB", *self.tests).replace("\\\n", " ")
        for words in (line.split() for line in text.splitlines()):
            if words[:1] == ["gcc"]:
                made = words[words.index("-o") + 1]
                self.commands[made] = words
                if "-c" in words:
                    self.objects[words[-1]] = made
            elif words[:1] == ["ar"]:
                self.commands[words[2]] = words

    def make(self, *arguments):
        done = self.programs.run([*MAKE, *arguments])
        if done.code != 0:
            print(done.output)
            raise Stopped
        return done.output

    def run_unbroken(self, rooms, pool):
        """Runs the tests of the rooms. What an earlier run found out about the
        same program is kept in a file."""
        known = TREE / "build/mutate/usual.json"
        kept = json.loads(known.read_text()) if known.exists() else {}
        tests = {test: str((TREE / test).stat().st_mtime_ns)
                 for test in self.tests if room_of(test) in rooms}
        fresh = [test for test, time_ns in tests.items()
                 if kept.get(test, [""])[0] != time_ns]
        for test, usual in zip(fresh, pool.map(self.measure, fresh)):
            kept[test] = [tests[test], *usual]
        known.write_text(json.dumps(kept))
        self.usual = {test: Usual(*kept[test][1:]) for test in tests}

    def measure(self, test):
        """Usual. The test may fail once: other programs may need the CPUs."""
        with tempfile.TemporaryDirectory(prefix="plimsoll-") as folder:
            done = self.programs.run([test], folder)
            if done.code != 0:
                print(f"{test} fails unbroken:\n{done.output}", flush=True)
                done = self.programs.run([test], folder)
            if done.code != 0:
                raise Stopped
            return Usual(done.cpu_s, done.wall_s,
                         *self.coverage(folder, room_of(test)))

    def coverage(self, folder, room):
        """What gcov says of the room's files, whose data lie in the folder."""
        root = TREE.resolve() / "build/mutate"
        functions, idle = {}, {}
        data = sorted(pathlib.Path(f"{folder}{root}", room).rglob("*.gcda"))
        for file in data:
            notes = file.relative_to(f"{folder}{root}").with_suffix(".gcno")
            os.symlink(root / notes, file.with_suffix(".gcno"))
        done = self.programs.run(["gcov", "--json-format", "--stdout",
                                  *map(str, data)])
        for line in done.output.splitlines() if data else ():
            for file in json.loads(line)["files"]:
                names = [f["name"] for f in file["functions"]
                         if f["execution_count"] > 0]
                if names:
                    functions[file["file"]] = names
                    idle[file["file"]] = [found["line_number"] for found
                                          in file["lines"]
                                          if found["count"] == 0]
        return functions, idle

    def run_files(self):
        """The files of which a unit test of their room runs a function."""
        return {path for usual in self.usual.values()
                for path in usual.functions}

    def tests_of(self, change):
        """The test programs that run the line: its module's, those beside it,
        then the quickest."""
        room, _, name = change.source.path.removesuffix(".c").rpartition("/")
        beside = f"build/mutate/tests/unit/{room}/test_"
        return sorted(
            (test for test, usual in self.usual.items() if usual.runs(change)),
            key=lambda test: (test != beside + name,
                              not test.startswith(f"{beside}{name}_"),
                              not test.startswith(beside),
                              self.usual[test].cpu_s))


class Attempt:
    """One file, broken, in a folder of its own. Everything else is the build's:
    the commands are the same but for what is made in the folder."""

    def __init__(self, build, path, folder):
        self.build, self.path = build, path
        self.object = build.objects[path]
        self.folder = folder
        self.made = {}  # {what the build made: what stands for it here}

    def make(self, target, made, source=None):
        """Runs the command that made the target, to make this one instead."""
        words = [made if word == target else self.made.get(word, word)
                 for word in self.build.commands[target]
                 if word != "--coverage" or not source]
        if source:
            words[-1] = source
        return self.build.programs.run(words)

    def compile(self, text):
        """The bytes of the object, or None if the text does not compile."""
        source = pathlib.Path(self.folder, pathlib.Path(self.path).name)
        made = str(source.with_suffix(".o"))
        self.made = {self.object: made}
        source.write_text(text)
        done = self.make(self.object, made, str(source))
        return pathlib.Path(made).read_bytes() if done.code == 0 else None

    def run(self, test, cpu_s, wall_s):
        """Links the test with the broken object, and runs it."""
        for word in self.build.commands[test]:
            if (word.endswith(".a") and word not in self.made
                    and self.object in self.build.commands[word]):
                archive = f"{self.folder}/{len(self.made)}.a"
                self.make(word, archive)
                self.made[word] = archive
        program = f"{self.folder}/{test.rpartition('/')[2]}"
        done = self.make(test, program)
        if done.code != 0:
            print(done.output)
            raise Stopped
        done = self.build.programs.run(
            [program], self.folder, cpu_s, wall_s, b"[  FAILED  ]")
        os.unlink(program)
        return done
