#!/usr/bin/env python3
"""Runs a command beside busy loops and a disk writer, and ends with its exit
status. The tests must pass all the same; `make stress` shows it.

usage: busy.py LOOPS COMMAND [ARGUMENT ...]"""
import ctypes
import multiprocessing
import os
import signal
import subprocess
import sys
import tempfile
import threading

PERIOD_S = 60
PIECE = bytes(1 << 20)
PIECES = 256  # of one file, which is then written again
PR_SET_PDEATHSIG = 1  # linux/prctl.h


def end_with_parent():
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)


def loop():
    end_with_parent()
    while True:
        pass


def write(folder):
    """Writes a file in the folder again and again, and syncs each piece."""
    end_with_parent()
    with tempfile.TemporaryFile(dir=folder) as file:
        while True:
            file.seek(0)
            for _ in range(PIECES):
                file.write(PIECE)
                os.fsync(file.fileno())


def tell_load(ended):
    while not ended.wait(PERIOD_S):
        print("load averages: %.1f %.1f %.1f" % os.getloadavg(),
              file=sys.stderr, flush=True)


def main(loops, *command):
    os.makedirs("build", exist_ok=True)
    workers = [multiprocessing.Process(target=loop, daemon=True)
               for _ in range(int(loops))]
    workers.append(multiprocessing.Process(target=write, args=("build",),
                                           daemon=True))
    for worker in workers:
        worker.start()
    ended = threading.Event()
    threading.Thread(target=tell_load, args=(ended,), daemon=True).start()
    try:
        return subprocess.run(command, check=False).returncode
    except KeyboardInterrupt:
        return 130
    finally:
        ended.set()
        for worker in workers:
            worker.kill()


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
