#!/usr/bin/env python3
"""Runs tests that are built and prints as its last line: tests: N passed,
N failed, N skipped.

usage: run_tests.py [OPTION ...] BUILD_DIR ...   unit and system tests, corpora
       run_tests.py --e2e [NAME ...]             tests/e2e, on an API server
       run_tests.py --deploy [NAME ...]          tests/deploy
       run_tests.py --node [NAME ...]            tests/node, in QEMU
       run_tests.py --page [NAME ...]            tests/page, in Chromium
       run_tests.py --kubevirt [NAME ...]        tests/kubevirt
       run_tests.py --descheduler [NAME ...]     tests/descheduler
       run_tests.py --certmanager [NAME ...]     tests/certmanager

--quick      leaves out the system tests that are marked slow
--match=WORD runs the tests whose path or name contains WORD, and no others

A NAME selects a file: "--e2e placement" runs tests/e2e/placement_test.py. Tests
run side by side. A program that dies without a summary counts as one failed
test, and so does a program whose sanitizer reports something. A run without a
passed test fails. The output of a failed test is printed; --node prints all
output, because the output contains measurements.

A test that fails runs again, alone, when all others have ended, but for those
that second_chance.py names. If it passes then, it counts as passed, and a line
"unsteady: TEST ..." before the last one names it."""
import concurrent.futures
import contextlib
import json
import os
import pathlib
import queue
import re
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time

import second_chance
from case_server import CaseServer

CPUS = os.cpu_count() or 1
# Tests mostly wait, so more of them run than there are CPUs.
UNIT_WORKERS = 2 * CPUS
SYSTEM_WORKERS = 6 * CPUS
FOLDER_WORKERS = {"e2e": 2, "deploy": 2, "node": 1, "page": 2,
                  "kubevirt": 2, "descheduler": 1, "certmanager": 1}
TIMEOUT_S = 1800  # a test that hangs; the busiest machine ends all others
MEMORY_FREE = 2 << 30  # the temporary files of one run are smaller than this
SLOWEST = 10
ANSI = re.compile(r"\x1b\[[0-9;]*m")
SUPPORT = pathlib.Path(__file__).resolve().parent
RUN_CASE = SUPPORT / "run_case.py"


class Job:
    """A command that runs one or more tests, or a list of a Python file and a
    part of it. where: the build, for printing; source: its file, if that is C
    code."""

    def __init__(self, name, command, count, where="", env=None, marks=(),
                 source=None):
        self.name, self.command, self.count = name, command, count
        self.where, self.marks, self.source = where, marks, source
        self.env = os.environ | (env or {})

    def title(self, test=""):
        return " ".join(filter(None, (test or self.name, self.where)))


class Outcome:
    """What one run of a job came to."""

    def __init__(self, job, code, output, seconds):
        self.job, self.code, self.output = job, code, output
        self.seconds = seconds
        self.passed, self.failed, self.skipped = job.count(code, output)

    def line(self):
        mark = "FAIL" if self.failed else "ok"
        return (f"{mark:5}{self.job.title()}  ({self.passed} passed"
                + (f", {self.failed} failed" if self.failed else "")
                + (f", {self.skipped} skipped" if self.skipped else "")
                + f", {self.seconds:.1f} s)")


class Tally:
    """The results of the jobs, printed as the jobs end."""

    def __init__(self, shows_all=False):
        self.passed = self.failed = self.skipped = 0
        self.shows_all = shows_all
        self.failures = []  # the first outcome of each job that failed
        self.unsteady = []  # lines
        self.seconds = []   # (seconds, test)
        self.lock = threading.Lock()

    def count(self, outcome, sign=1):
        self.passed += sign * outcome.passed
        self.failed += sign * outcome.failed
        self.skipped += sign * outcome.skipped

    def add(self, outcome):
        job = outcome.job
        with self.lock:
            self.count(outcome)
            self.seconds += (self.times(job, outcome.output)
                             or [(outcome.seconds, job.title())])
            print(outcome.line(), flush=True)
            if outcome.failed:
                self.failures.append(outcome)
            if outcome.failed or self.shows_all:
                print(outcome.output, flush=True)

    def second_chances(self):
        """The failures that may run again; says why others may not."""
        if self.failed > second_chance.MOST:
            print(f"{self.failed} tests failed: none gets a second chance")
            return
        for first in self.failures:
            reason = second_chance.final_reason(
                first.code, first.output, first.job.source)
            if reason:
                print(f"{first.job.title()} gets no second chance: {reason}")
            else:
                yield first

    def add_second(self, first, second):
        """The job of `first`, which failed, ran again."""
        print("again, alone:", second.line(), flush=True)
        if second.failed:
            print(second.output, flush=True)
            return
        self.count(first, -1)
        self.count(second)
        kept = second_chance.keep_output(first.job.title(), first.output)
        self.unsteady.append(f"unsteady: {first.job.title()} failed and passed"
                             f" when it ran again alone; see {kept}")

    @staticmethod
    def times(job, output):
        """The seconds of each test, as run_case.py prints them."""
        file = job.name.split()[0]
        return [(float(seconds), job.title(f"{file} {test}")) for test, seconds
                in re.findall(r"^seconds: (\S+) (\S+)$", output, re.M)]

    def print_slowest(self):
        if self.seconds:
            print("the slowest tests:")
        for seconds, test in sorted(self.seconds, reverse=True)[:SLOWEST]:
            print(f"{seconds:7.1f} s  {test}")


# ---- how many tests a job ran ----

def number(pattern, text):
    match = re.search(pattern, text)
    return int(match.group(1)) if match else 0


def cmocka_counts(code, text):
    passed = number(r"\[  PASSED  \] (\d+) test", text)
    failed = number(r"\[  FAILED  \] (\d+) test", text)
    skipped = number(r"\[  SKIPPED \] (\d+) test", text)
    if code != 0 and failed == 0:
        failed = 1
    if passed + failed + skipped == 0:
        failed = 1
    return passed, failed, skipped


def unittest_counts(code, text):
    ran = number(r"Ran (\d+) tests?", text)
    failed = number(r"failures=(\d+)", text) + number(r"errors=(\d+)", text)
    skipped = number(r"skipped=(\d+)", text)
    if code != 0 and failed == 0:
        failed = 1
    return max(0, ran - failed - skipped), failed, skipped


def replay_counts(code, _text):
    return (1, 0, 0) if code == 0 else (0, 1, 0)


# ---- the jobs ----

def marks_in_c(source):
    """The marks of tests/support/cm.h that concern the order."""
    return {"slow"} if re.search(r'^SLOW\("', source.read_text(), re.M) else ()


def unit_jobs(build):
    """Programs whose source is gone are left over from an earlier build."""
    for source in sorted(pathlib.Path("tests/unit").rglob("test_*.c")):
        path = str(source.with_suffix(""))
        if os.access(f"{build}/{path}", os.X_OK):
            yield Job(path, [f"{build}/{path}"], cmocka_counts, build,
                      marks=marks_in_c(source), source=source)
    for corpus in sorted(pathlib.Path("tests/fuzz/corpus").iterdir()):
        path = f"tests/fuzz/replay_{corpus.name}"
        if os.access(f"{build}/{path}", os.X_OK):
            files = [str(f) for f in sorted(corpus.iterdir()) if f.is_file()]
            yield Job(path, [f"{build}/{path}", *files], replay_counts, build)


def parts_of(paths):
    """The parts of Python test files, as run_case.py lists them."""
    done = subprocess.run([sys.executable, RUN_CASE, "--list", *paths],
                          check=True, stdout=subprocess.PIPE, text=True)
    return [json.loads(line) for line in done.stdout.splitlines()]


def test_files(folder, names=()):
    """Paths of test files. A name that is given need not exist: its job fails
    then."""
    return ([f"{folder}/{name}_test.py" for name in names]
            or sorted(map(str, pathlib.Path(folder).glob("*_test.py"))))


def python_job(path, part, where="", env=None, marks=()):
    return Job(f"{path} {part}".strip(), [path, part], unittest_counts,
               where, env, marks)


def system_jobs(build, parts):
    """Tests of tools need no program, so the release build has them alone."""
    if not build.endswith("release"):
        parts = [part for part in parts if "tools" not in part["marks"]]
    bins = "bin" if build.endswith("release") else f"{build}/bin"
    for part in parts:
        yield python_job(part["file"], part["part"], build,
                         {"PLIMSOLL_BIN": bins}, part["marks"])


def slow_first(jobs):
    """A slow test that begins last would run alone at the end."""
    return sorted(jobs, key=lambda job: "slow" not in job.marks)


# ---- running them ----

class Runner:
    """Runs jobs and ends what is left of them."""

    def __init__(self, tally, cases):
        self.tally, self.cases = tally, cases
        self.running = set()
        self.stopped = threading.Event()

    def run(self, job, env=None):
        """Runs one job; adds what came of it."""
        outcome = self.outcome(job, env)
        if outcome:
            self.tally.add(outcome)

    def run_again(self, env=None):
        """Gives the jobs that failed a second chance, one after the other."""
        for first in self.tally.second_chances():
            second = self.outcome(first.job, env)
            if second:
                self.tally.add_second(first, second)

    def outcome(self, job, env=None):
        """Runs one job in a process group of its own, bounded in time. None
        if the runner was stopped."""
        if self.stopped.is_set():
            return None
        start = time.monotonic()
        with (tempfile.TemporaryFile() as output,
              sanitizer_reports() as reports):
            process = self.start(job, job.env | reports.env | (env or {}),
                                 output)
            self.running.add(process)
            try:
                code, note = process.wait(TIMEOUT_S), ""
            except subprocess.TimeoutExpired:
                code, note = 1, f"\nstopped after {TIMEOUT_S} s\n"
            self.end(process)
            output.seek(0)
            text = output.read().decode(errors="replace")
            note += reports.text()
        if self.stopped.is_set():
            return None
        return Outcome(job, code or (1 if note else 0), ANSI.sub("", text)
                       + note, time.monotonic() - start)

    def start(self, job, env, output):
        if job.count is unittest_counts:
            return self.cases.start(job.command, env, output)
        return subprocess.Popen(
            job.command, env=env, stdout=output, stdin=subprocess.DEVNULL,
            stderr=subprocess.STDOUT, start_new_session=True)

    def end(self, process):
        """Kills the process group: a test that died leaves its programs."""
        self.running.discard(process)
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()

    def end_all(self):
        """Kills all jobs that run and starts no more."""
        self.stopped.set()
        for process in list(self.running):
            self.end(process)

    def end_on_signals(self):
        def end(number, _frame):
            self.end_all()
            sys.exit(128 + number)
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, end)

    def run_all(self, jobs, workers):
        with concurrent.futures.ThreadPoolExecutor(workers) as pool:
            list(pool.map(self.run, jobs))

    def run_in(self, jobs, environments):
        """One worker for each environment."""
        free = queue.Queue()
        for env in environments:
            free.put(env)

        def run(job):
            env = free.get()
            try:
                self.run(job, env)
            finally:
                free.put(env)
        with concurrent.futures.ThreadPoolExecutor(len(environments)) as pool:
            list(pool.map(run, jobs))


@contextlib.contextmanager
def folder_in_memory():
    """Sets TMPDIR to a folder in memory. The tests sync their databases many
    times a second, and a slow disk would make them wait. The tests check what
    survives the end of a process; a memory file system is enough for that."""
    memory = pathlib.Path("/dev/shm")
    if (not memory.is_dir() or not os.access(memory, os.W_OK)
            or shutil.disk_usage(memory).free < MEMORY_FREE):
        yield
        return
    with tempfile.TemporaryDirectory(prefix="plimsoll-", dir=memory) as folder:
        os.chmod(folder, 0o1777)  # some tests run as another user
        os.environ["TMPDIR"] = folder
        yield


class Reports:
    """Files into which the sanitizers of a job's programs write. A report is
    seen also if the test does not look at the program."""

    OPTIONS = ("ASAN_OPTIONS", "UBSAN_OPTIONS", "TSAN_OPTIONS")

    def __init__(self, folder):
        self.folder = pathlib.Path(folder)
        self.folder.chmod(0o1777)  # some tests run as another user
        path = f"log_path={folder}/report"
        self.env = {name: ":".join(filter(None, (os.environ.get(name), path)))
                    for name in self.OPTIONS}

    def text(self):
        return "".join(f"\n--- {file.name}\n"
                       + file.read_text(errors="replace")
                       for file in sorted(self.folder.iterdir()))


@contextlib.contextmanager
def sanitizer_reports():
    with tempfile.TemporaryDirectory(prefix="plimsoll-reports-") as folder:
        yield Reports(folder)


def set_sanitizers():
    os.environ.setdefault("ASAN_OPTIONS", "abort_on_error=0")
    os.environ.setdefault("LSAN_OPTIONS", "print_suppressions=0:suppressions="
                          + str(SUPPORT / "lsan.supp"))
    os.environ.setdefault("TSAN_OPTIONS", "halt_on_error=1:atexit_sleep_ms=0")


def run_folder(runner, name, names):
    """The stages of tests on a cluster and in QEMU. A file is one job: its
    classes may share a cluster."""
    jobs = [python_job(path, "") for path in test_files(f"tests/{name}", names)]
    with contextlib.ExitStack() as stack:
        environments = [{}] * min(FOLDER_WORKERS[name], len(jobs))
        if name == "e2e":
            sys.path.insert(0, str(SUPPORT))
            from shared_cluster import shared_cluster
            environments = stack.enter_context(
                shared_cluster(len(environments)))
        runner.run_in(jobs, environments)
        runner.run_again(environments[0])


def run_builds(runner, builds, options):
    """Unit tests, corpora and system tests of each build."""
    parts = parts_of(test_files("tests/system"))
    if "quick" in options:
        parts = [part for part in parts if "slow" not in part["marks"]]
    word = options.get("match", "")
    unit, system = ([job for build in builds for job in jobs(build)
                     if word in job.name]
                    for jobs in (unit_jobs,
                                 lambda build: system_jobs(build, parts)))
    if not unit and not system:
        print(f"no test matches '{word}'")
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        for done in (
                pool.submit(runner.run_all, slow_first(unit), UNIT_WORKERS),
                pool.submit(runner.run_all, slow_first(system),
                            SYSTEM_WORKERS)):
            done.result()
    runner.run_again()


def cpu_minutes():
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return (used.ru_utime + used.ru_stime) / 60


def main(arguments):
    options = dict(a.removeprefix("--").partition("=")[::2]
                   for a in arguments if a.startswith("--"))
    names = [a for a in arguments if not a.startswith("--")]
    folder = next((f for f in FOLDER_WORKERS if f in options), None)
    tally = Tally(shows_all=folder == "node")
    cases = CaseServer()
    runner = Runner(tally, cases)
    runner.end_on_signals()
    start = time.monotonic()
    with folder_in_memory():
        set_sanitizers()
        if folder:
            run_folder(runner, folder, names)
        else:
            run_builds(runner, names, options)
    cases.close()
    tally.print_slowest()
    print(f"took {(time.monotonic() - start) / 60:.1f} minutes, "
          f"{cpu_minutes():.1f} of CPU")
    for line in tally.unsteady:
        print(line)
    print(f"tests: {tally.passed} passed, {tally.failed} failed, "
          f"{tally.skipped} skipped", flush=True)
    return 1 if tally.failed or not tally.passed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
