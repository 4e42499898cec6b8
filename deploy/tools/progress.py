#!/usr/bin/env python3
"""Runs a build and prints every few seconds how far it is. The build names each
thing that it has compiled on a line of its own of standard error: `go build -v`
does so with packages, and our Makefile with files if it gets PROGRESS=1. Any
other line, such as an error, is passed on.

usage: progress.py [--of=TOTAL] NAME COMMAND [ARGUMENT ...]

TOTAL is the number of things to compile; with 0 the command only runs."""
import os
import re
import subprocess
import sys
import threading
import time

PERIOD_S = 5
# A package ("k8s.io/api/core/v1") or a file. Errors begin with "# PACKAGE", and
# gcc's "FILE:".
COMPILED = re.compile(r"[\w.~/-]+\n")


class Build:
    """One build. What it compiled is counted by the thread that reads its
    standard error."""

    def __init__(self, name, total, command):
        self.name, self.total = name, total
        self.begins = time.monotonic()
        self.compiled = 0
        if total:
            self.tell()
        self.process = subprocess.Popen(command, stderr=subprocess.PIPE,
                                        text=True)
        self.reader = threading.Thread(target=self.read, daemon=True)
        self.reader.start()

    def read(self):
        for line in self.process.stderr:
            if COMPILED.fullmatch(line):
                self.compiled += 1
            else:
                print(line, end="", file=sys.stderr, flush=True)

    def tell(self):
        if self.total is None:
            print(f"{self.name}: {self.compiled:,} packages compiled after "
                  f"{time.monotonic() - self.begins:.0f} s", flush=True)
        elif self.total > 0:
            print(f"{self.name}: compiling {self.compiled:,} of "
                  f"{self.total:,} files, on {os.cpu_count()} "
                  f"CPU{'s' * (os.cpu_count() != 1)}", flush=True)

    def wait(self):
        """The exit status."""
        while self.reader.is_alive():
            self.reader.join(PERIOD_S)
            if self.reader.is_alive():
                self.tell()
        return self.process.wait()


def main(*arguments):
    total = None
    if arguments[0].startswith("--of="):
        total = int(arguments[0].removeprefix("--of="))
        arguments = arguments[1:]
    name, *command = arguments
    build = Build(name, total, command)
    try:
        return build.wait()
    except KeyboardInterrupt:
        # The terminal has interrupted the build as well, which removes its
        # files.
        build.process.wait()
        return 130


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
