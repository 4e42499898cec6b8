#!/usr/bin/env python3
"""Breaks one line of the C code at a time and runs the unit tests that ought to
notice. Prints each break that no test notices, and at the end how many.

The seed chooses the lines, in all rooms or in FILE; tests/support/breaks.py says
what a break is. The unbroken tests are run once, and gcov says which program of
tests/unit/ROOM runs which lines of ROOM. A break is killed by the first of them
that fails, or that takes ten times the CPU it takes otherwise. Breaks that do
not compile, or compile to the same code, do not count. Files of which no unit
test of their room runs a function are left out: system tests run them.

tests/support/harmless.txt lists breaks that change nothing that anyone can see.
They do not count either, and a row that fits no break, or a killed one, fails.

Exit status: 0, 1 if fewer than 85 % of the breaks are killed, 2 if there is
nothing to break, a test does not pass unbroken, or an option is unknown."""
import argparse
import collections
import concurrent.futures
import itertools
import os
import pathlib
import random
import sys
import tempfile

from breaks import breaks_of, draw
from lint import TOP
from mutate_build import CPUS, Attempt, Build, Programs, Stopped
from run_tests import folder_in_memory, set_sanitizers

ENOUGH = 0.85
ROWS = pathlib.Path("tests/support/harmless.txt")
# A broken program may ask for memory without end.
SANITIZER = "abort_on_error=0:hard_rss_limit_mb=2048"
# On top of ten times the CPU seconds, and of twice the wall clock's, for tests
# that wait in vain.
CPU_MORE_S, WALL_MORE_S = 1, 60
# Many tests mostly wait.
WORKERS = 2 * CPUS

KILLED, LATE, SURVIVED = "killed", "killed by time", "survived"
REFUSED, SAME, HARMLESS = ("did not compile", "compiled to the same code",
                           "harmless")


def try_break(build, change):
    """(result, the test that killed it)"""
    with tempfile.TemporaryDirectory(prefix="plimsoll-") as folder:
        attempt = Attempt(build, change.source.path, folder)
        unbroken = attempt.compile(change.source.text)
        broken = attempt.compile(change.broken())
        if broken is None or broken == unbroken:
            return REFUSED if broken is None else SAME, ""
        for test in build.tests_of(change):
            usual = build.usual[test]
            cpu_s = CPU_MORE_S + round(10 * usual.cpu_s + 0.5)
            wall_s = WALL_MORE_S + 2 * usual.wall_s
            done = attempt.run(test, cpu_s, wall_s)
            if done.code != 0:
                late = done.cpu_s > cpu_s - 0.5 or done.wall_s >= wall_s
                return LATE if late else KILLED, test.rpartition("/")[2]
    return SURVIVED, ""


class Harmless:
    """The rows of tests/support/harmless.txt: `BREAK -> reason`."""

    def __init__(self, files):
        lines = ROWS.read_text().splitlines() if ROWS.exists() else []
        self.rows = {line.partition(" -> ")[0].rstrip() for line in lines
                     if line and not line.startswith("#")}
        names = {row.partition(":")[0] for row in self.rows}
        self.wrong = [f"{row} (no such break)" for row in sorted(
            self.rows - {str(change) for name in names & files.keys()
                         for changes in breaks_of(name, files[name]).values()
                         for change in changes})]


class Tally:
    """The results, and which of them count."""

    def __init__(self, harmless):
        self.harmless = harmless
        self.counts = collections.Counter()

    def counted(self):
        return sum(self.counts[r] for r in (KILLED, LATE, SURVIVED))

    def add(self, change, result, test):
        if str(change) in self.harmless.rows:
            if result == SURVIVED:
                result = HARMLESS
            elif result in (KILLED, LATE):
                self.harmless.wrong.append(f"{change} (a test notices it)")
        self.counts[result] += 1
        if result in (SURVIVED, LATE):
            print(f"{self.counted()}. {result}: line {change.line} of {change}"
                  + (f"  ({test})" if test else ""), flush=True)

    def report(self, seed):
        """Prints the counts. Returns the exit status."""
        counts, total = self.counts, self.counted()
        killed = total - counts[SURVIVED]
        for row in self.harmless.wrong:
            print(f"{ROWS}: {row}")
        print("not counted: " + ", ".join(
            f"{counts[r]} {r}" for r in (REFUSED, SAME, HARMLESS)))
        print(f"mutate: seed {seed}: {total} breaks, {killed} killed "
              f"({counts[LATE]} by time), {counts[SURVIVED]} survived: "
              f"{100 * killed / max(total, 1):.1f} %", flush=True)
        if total == 0:
            return 2
        return 1 if self.harmless.wrong or killed < ENOUGH * total else 0


def try_all(build, pool, changes, wanted, tally):
    """Several at a time, in order, until as many as wanted count."""
    running = collections.deque()
    while True:
        room = wanted - tally.counted() - len(running)
        for change in itertools.islice(changes, max(room, 0)):
            running.append((change, pool.submit(try_break, build, change)))
        if not running:
            return
        change, future = running.popleft()
        tally.add(change, *future.result())


def choose(build, files, seed):
    """The breaks of the files that unit tests run. The others do not change
    which ones the seed gives. Prints how much is left out."""
    left = files.keys() - build.run_files()
    lines = sum(len(breaks_of(path, files[path])) for path in left)
    print(f"left out: {lines} lines of {len(left)} files that no unit test of "
          "their room runs", flush=True)
    return (change for change in draw(files, random.Random(seed))
            if change.source.path not in left)


def read_files():
    """{path: text} of the programs' code."""
    return {str(path): path.read_text() for room in TOP
            for path in pathlib.Path(room).rglob("*.c")}


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--seed", default="1")
    parser.add_argument("--breaks", type=int, default=200)
    parser.add_argument("FILE", nargs="?", default="")
    options = parser.parse_args()
    os.environ["ASAN_OPTIONS"] = SANITIZER
    files = read_files()
    tally = Tally(Harmless(files))
    files = {path: text for path, text in files.items()
             if options.FILE in ("", path)}
    programs = Programs()
    programs.end_on_signals()
    with (folder_in_memory(),
          concurrent.futures.ThreadPoolExecutor(WORKERS) as pool):
        set_sanitizers()
        try:
            build = Build(programs)
            build.run_unbroken({path.partition("/")[0] for path in files},
                               pool)
            changes = choose(build, files, options.seed)
            try_all(build, pool, changes, options.breaks, tally)
        except Stopped:
            programs.end_all()
            return 2
    return tally.report(options.seed)


if __name__ == "__main__":
    sys.exit(main())
