#!/usr/bin/env python3
"""Breaks one line of the C code at a time and runs the unit tests that ought to
notice. Prints each break that no test notices, and at the end how many.

usage: mutate.py [--seed=N] [--breaks=N] [FILE]

The seed chooses the lines, in all rooms or in FILE; tests/support/breaks.py says
what a break is. The tests of a file are the programs tests/unit/ROOM/test_*.c
that link it, those named after it first. A break is killed by the first test
that fails, or that takes ten times the CPU it takes otherwise. Breaks that do
not compile, or compile to the same code, do not count. Files that no unit test
of their room links, or of which it runs no function, are left out: system tests
run them.

tests/support/harmless.txt lists breaks that change nothing that anyone can see.
They do not count either, and a row that fits no break, or a killed one, fails.

Exit status: 0, 1 if fewer than 85 % of the breaks are killed, 2 if the tests do
not pass unbroken or an argument is wrong."""
import collections
import concurrent.futures
import itertools
import os
import pathlib
import random
import sys
import tempfile

from breaks import breaks_of, draw, with_traps
from mutate_build import CPUS, Attempt, Build, Programs, Stopped
from run_tests import folder_in_memory, set_sanitizers

ENOUGH = 0.85
ROOMS = ("lib", "proto", "kube", "auth", "kubectl", "agent", "aggregator",
         "scheduler")
ROWS = pathlib.Path("tests/support/harmless.txt")
# A broken program may ask for memory without end.
SANITIZER = "abort_on_error=0:hard_rss_limit_mb=2048"
# On top of ten times the CPU seconds, and of ten times the wall clock's.
CPU_MORE_S, WALL_MORE_S = 1, 60
# Many tests mostly wait.
WORKERS = 2 * CPUS

KILLED, LATE, SURVIVED = "killed", "killed by time", "survived"
REFUSED, SAME, HARMLESS, UNRUN = (
    "did not compile", "compiled to the same code", "harmless",
    "in files that no unit test runs")


class Trials:
    """Tries breaks. run_files: those that a unit test of their room runs."""

    def __init__(self, build):
        self.build = build
        self.run_files = set()
        self.other_files = set()

    def killer(self, attempt):
        """(KILLED or LATE, the test) of the first test that fails."""
        for test in self.build.tests_of(attempt.path):
            usual = self.build.unbroken(test)
            cpu_s = CPU_MORE_S + round(10 * usual.cpu_s + 0.5)
            wall_s = WALL_MORE_S + 10 * usual.wall_s
            done = attempt.run(test, cpu_s, wall_s)
            if done.code != 0:
                late = done.cpu_s > cpu_s - 0.5 or done.wall_s >= wall_s
                return LATE if late else KILLED, test.rpartition("/")[2]
        return None

    def is_run(self, attempt, text):
        """Whether a test notices that no function of the file works."""
        path = attempt.path
        if path not in self.run_files | self.other_files:
            attempt.compile(with_traps(text))
            (self.run_files if self.killer(attempt)
             else self.other_files).add(path)
        return path in self.run_files

    def result(self, change):
        """(result, the test that killed it)"""
        path, text, _ = change.source
        if path in self.other_files:
            return UNRUN, ""
        with tempfile.TemporaryDirectory(prefix="plimsoll-") as folder:
            attempt = Attempt(self.build, path, folder)
            unbroken = attempt.compile(text)
            broken = attempt.compile(change.broken())
            if broken is None or broken == unbroken:
                return REFUSED if broken is None else SAME, ""
            killer = self.killer(attempt)
            if killer:
                self.run_files.add(path)
                return killer
            return SURVIVED if self.is_run(attempt, text) else UNRUN, ""


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
            f"{counts[r]} {r}" for r in (REFUSED, SAME, HARMLESS, UNRUN)))
        print(f"mutate: seed {seed}: {total} breaks, {killed} killed "
              f"({counts[LATE]} by time), {counts[SURVIVED]} survived: "
              f"{100 * killed / max(total, 1):.1f} %", flush=True)
        return 1 if self.harmless.wrong or killed < ENOUGH * total else 0


def try_all(trials, changes, wanted, tally):
    """Several at a time, in order, until as many as wanted count."""
    running = collections.deque()
    with concurrent.futures.ThreadPoolExecutor(WORKERS) as pool:
        while True:
            room = min(4 * WORKERS, wanted - tally.counted()) - len(running)
            for change in itertools.islice(changes, max(room, 0)):
                running.append((change, pool.submit(trials.result, change)))
            if not running:
                return
            change, future = running.popleft()
            tally.add(change, *future.result())


def choose_files(build, files, only):
    """Those that may be broken. Prints how much is left out."""
    asked = {path: text for path, text in files.items() if only in ("", path)}
    chosen = {path: text for path, text in asked.items()
              if build.tests_of(path)}
    left = asked.keys() - chosen.keys()
    lines = sum(len(breaks_of(path, files[path])) for path in left)
    print(f"left out: {lines} lines of {len(left)} files that no unit test of "
          "their room links", flush=True)
    if not chosen:
        print(f"no unit test links {only or 'a file'}")
        raise Stopped
    return chosen


def main(arguments):
    options = {"seed": "1", "breaks": "200"}
    options |= dict(a.removeprefix("--").partition("=")[::2]
                    for a in arguments if a.startswith("--"))
    only = "".join(a for a in arguments if not a.startswith("--"))
    os.environ["ASAN_OPTIONS"] = SANITIZER
    programs = Programs()
    programs.end_on_signals()
    files = {str(path): path.read_text() for room in ROOMS
             for path in pathlib.Path(room).rglob("*.c")}
    tally = Tally(Harmless(files))
    with folder_in_memory():
        set_sanitizers()
        try:
            build = Build(programs)
            chosen = choose_files(build, files, only)
            changes = draw(chosen, random.Random(options["seed"]))
            try_all(Trials(build), changes, int(options["breaks"]), tally)
        except Stopped:
            programs.end_all()
            return 2
    return tally.report(options["seed"])


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
