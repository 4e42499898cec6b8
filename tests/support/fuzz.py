#!/usr/bin/env python3
"""Runs fuzz targets side by side, one on each CPU. Prints for each how many
inputs it tried and how many of them reached new code.

usage: fuzz.py SECONDS TARGET ...

New inputs are kept in build/fuzz/corpus/TARGET, and an input that fails in
build/fuzz/TARGET-*. The last line is: tests: N passed, N failed, N skipped."""
import concurrent.futures
import os
import pathlib
import re
import subprocess
import sys
import time

MAX_INPUT_BYTES = 65536
INPUT_TIMEOUT_S = 60
MEMORY_MB = 2048
# On top of SECONDS: for loading the corpus and for the last input.
GRACE_S = 300


def fuzz(name, seconds):
    """Exit code, output and seconds of one target."""
    start = time.monotonic()
    found = pathlib.Path("build/fuzz/corpus", name)
    found.mkdir(parents=True, exist_ok=True)
    command = [f"build/fuzz/tests/fuzz/fuzz_{name}",
               f"-max_total_time={seconds}", f"-max_len={MAX_INPUT_BYTES}",
               f"-timeout={INPUT_TIMEOUT_S}", f"-rss_limit_mb={MEMORY_MB}",
               "-print_final_stats=1", "-verbosity=0",
               f"-artifact_prefix=build/fuzz/{name}-",
               str(found), f"tests/fuzz/corpus/{name}"]
    try:
        done = subprocess.run(
            command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT, timeout=seconds + GRACE_S, check=False)
    except subprocess.TimeoutExpired as late:
        code, output = -1, late.stdout or b""
    else:
        code, output = done.returncode, done.stdout
    return code, output.decode(errors="replace"), time.monotonic() - start


def statistic(name, text):
    match = re.search(rf"stat::{name}:\s+(\d+)", text)
    return int(match.group(1)) if match else 0


def main(arguments):
    seconds, names = int(arguments[0]), arguments[1:]
    total = failed = 0
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count() or 1) as pool:
        running = [(name, pool.submit(fuzz, name, seconds)) for name in names]
        for name, future in running:
            code, text, took = future.result()
            tried = statistic("number_of_executed_units", text)
            new = statistic("new_units_added", text)
            total += tried
            good = code == 0 and tried > 0
            failed += not good
            print(f"{'ok' if good else 'FAIL':5}{name}  ({tried} inputs, "
                  f"{new} new, {took:.1f} s)", flush=True)
            if not good:
                print(text, flush=True)
    print(f"{total} inputs")
    print(f"tests: {len(names) - failed} passed, {failed} failed, 0 skipped",
          flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
