#!/usr/bin/env python3
"""Runs `go build -v ...` and prints every few seconds how many packages it has
compiled. go names each package on a line of its own; any other line, such as an
error, is passed on.

usage: tests/cluster/progress.py NAME COMMAND [ARGUMENT ...]"""
import re
import subprocess
import sys
import threading
import time

PERIOD_S = 5
# A package's path: "k8s.io/api/core/v1". Errors begin with "# PACKAGE".
PACKAGE = re.compile(r"[\w.~/-]+\n")


class Build:
    """One `go build -v`. Its packages are counted by the thread that reads
    its output."""

    def __init__(self, name, command):
        self.name = name
        self.begins = time.monotonic()
        self.compiled = 0
        self.process = subprocess.Popen(command, stderr=subprocess.PIPE,
                                        text=True)
        self.reader = threading.Thread(target=self.read, daemon=True)
        self.reader.start()

    def read(self):
        for line in self.process.stderr:
            if PACKAGE.fullmatch(line):
                self.compiled += 1
            else:
                print(line, end="", file=sys.stderr, flush=True)

    def tell(self):
        print(f"{self.name}: {self.compiled:,} packages compiled after "
              f"{time.monotonic() - self.begins:.0f} s", flush=True)

    def wait(self):
        """The exit status."""
        while self.reader.is_alive():
            self.reader.join(PERIOD_S)
            if self.reader.is_alive():
                self.tell()
        return self.process.wait()


def main(name, *command):
    build = Build(name, command)
    try:
        return build.wait()
    except KeyboardInterrupt:
        # The terminal has interrupted go as well, which removes its files.
        build.process.wait()
        return 130


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
