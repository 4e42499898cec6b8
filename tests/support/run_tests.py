#!/usr/bin/env python3
"""Runs what was built and closes with one line: tests: N passed, N failed,
N skipped.

usage: run_tests.py BUILD_DIR ...   unit tests, corpora, system
       run_tests.py --e2e           the tests on a real API server
       run_tests.py --deploy        what deploy/ makes of that server
       run_tests.py --node          the agent on a kernel of its own

Names after one of these three leave out all but those: --e2e story volumes.
A test program that dies without a summary counts as one failure; nothing
passed at all is a failure too. Output of what fails is shown, the rest is not,
but for --node: it holds what was measured."""
import concurrent.futures
import contextlib
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import time

TIMEOUT_S = 600
MEMORY_FREE = 2 << 30  # what the tests of one run may fill, generously
ANSI = re.compile(r"\x1b\[[0-9;]*m")


class Tally:
    def __init__(self, shows_all=False):
        self.passed = self.failed = self.skipped = 0
        self.shows_all = shows_all

    def add(self, name, counts, output, seconds):
        passed, failed, skipped = counts
        self.passed += passed
        self.failed += failed
        self.skipped += skipped
        mark = "FAIL" if failed else "ok"
        print(f"{mark:5}{name}  ({passed} passed"
              + (f", {failed} failed" if failed else "")
              + (f", {skipped} skipped" if skipped else "")
              + f", {seconds:.1f} s)", flush=True)
        if failed or self.shows_all:
            print(output, flush=True)


def run(command, env=None):
    """Exit code, output and seconds of a command, bounded in time."""
    start = time.monotonic()
    try:
        done = subprocess.run(
            command, env=env, stdin=subprocess.DEVNULL, timeout=TIMEOUT_S,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)
        code, output = done.returncode, done.stdout
    except subprocess.TimeoutExpired as late:
        code = -1
        output = (late.stdout or b"") + b"\nstopped: it took too long\n"
    text = ANSI.sub("", output.decode(errors="replace"))
    return code, text, time.monotonic() - start


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


def unit_jobs(build):
    for path in sorted(pathlib.Path(build, "tests/unit").rglob("test_*")):
        if os.access(path, os.X_OK) and path.suffix == "":
            yield str(path), [str(path)], None, cmocka_counts
    for path in sorted(pathlib.Path(build, "tests/fuzz").glob("replay_*")):
        if path.suffix == "":
            corpus = pathlib.Path("tests/fuzz/corpus", path.name[7:])
            files = [str(f) for f in sorted(corpus.iterdir()) if f.is_file()]
            yield str(path), [str(path)] + files, None, replay_counts


def python_jobs(folder, env, label, names=()):
    # What was named and is not there fails as a test that cannot be loaded.
    paths = ([pathlib.Path(folder, f"{name}_test.py") for name in names]
             or sorted(pathlib.Path(folder).glob("*_test.py")))
    for path in paths:
        yield (f"{path} {label}".strip(),
               [sys.executable, "-m", "unittest", "-v", str(path)], env,
               unittest_counts)


def run_jobs(tally, jobs, workers):
    with concurrent.futures.ThreadPoolExecutor(workers) as pool:
        waiting = [(name, counts, pool.submit(run, command, env))
                   for name, command, env, counts in jobs]
        for name, counts, future in waiting:
            code, text, seconds = future.result()
            tally.add(name, counts(code, text), text, seconds)


@contextlib.contextmanager
def folder_in_memory():
    """TMPDIR for the tests. The databases in it are synced many times a
    second, which a slow disk draws out beyond any test's patience; what is
    tested is what survives a process, and that a memory file system shows."""
    memory = pathlib.Path("/dev/shm")
    if (not memory.is_dir() or not os.access(memory, os.W_OK)
            or shutil.disk_usage(memory).free < MEMORY_FREE):
        yield
        return
    with tempfile.TemporaryDirectory(prefix="plimsoll-", dir=memory) as folder:
        os.chmod(folder, 0o1777)  # some tests are another user for a while
        os.environ["TMPDIR"] = folder
        yield


def main(arguments):
    with folder_in_memory():
        return run_all(arguments)


def run_all(arguments):
    what = arguments[0] if arguments else ""
    tally = Tally(shows_all=what == "--node")
    start = time.monotonic()
    os.environ.setdefault("ASAN_OPTIONS", "abort_on_error=0")
    os.environ.setdefault("LSAN_OPTIONS", "print_suppressions=0:suppressions="
                          + str(pathlib.Path(__file__).resolve().parent
                                / "lsan.supp"))
    os.environ.setdefault("TSAN_OPTIONS", "halt_on_error=1:atexit_sleep_ms=0")
    if what in ("--e2e", "--deploy", "--node"):
        folder = f"tests/{what.lstrip('-')}"
        # An image is compiled again while an installation mostly waits.
        workers = 2 if what == "--deploy" else 1
        run_jobs(tally, python_jobs(folder, os.environ.copy(), "",
                                    arguments[1:]), workers)
    else:
        for build in arguments:
            bins = "bin" if build.endswith("release") else f"{build}/bin"
            env = dict(os.environ, PLIMSOLL_BIN=bins)
            run_jobs(tally, unit_jobs(build), os.cpu_count() or 1)
            run_jobs(tally, python_jobs("tests/system", env, bins), 1)
    minutes = (time.monotonic() - start) / 60
    print(f"took {minutes:.1f} minutes")
    print(f"tests: {tally.passed} passed, {tally.failed} failed, "
          f"{tally.skipped} skipped", flush=True)
    return 1 if tally.failed or not tally.passed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
