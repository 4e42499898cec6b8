"""Runs parts of Python test files for run_tests.py, each in a process of its own.

The processes are forked from one that has loaded modules of Python, because
loading them takes longer than many a test runs. That process has no threads. It
loads no module of the tests: some of them read the environment as they are
loaded, and each part has its own."""
import contextlib
import importlib
import json
import os
import select
import signal
import socket
import subprocess
import sys
import threading

LOADED = ("argparse base64 concurrent.futures contextlib ctypes datetime gzip "
          "http.client http.server random shlex shutil sqlite3 ssl struct "
          "tempfile unittest urllib.error urllib.parse urllib.request "
          "uuid").split()
MESSAGE_MAX = 1 << 17
FIRST_FD = 3  # after those of input, output and errors


class Case:
    """A part that runs, with the part of Popen that run_tests.py uses."""

    def __init__(self, status):
        self.status = status  # a pipe: the process, then how it ended
        self.pid = int(self.status.readline())
        self.code = None
        self.lock = threading.RLock()  # a signal ends a wait with another one

    def wait(self, timeout=None):
        with self.lock:
            if self.code is None:
                if not select.select([self.status], [], [], timeout)[0]:
                    raise subprocess.TimeoutExpired(self.pid, timeout)
                self.code = int(self.status.readline())
                self.status.close()
            return self.code


class CaseServer:
    """Begins before the caller has threads and opens files. The processes of the
    parts leave its constructor with SystemExit."""

    def __init__(self):
        self.socket, requests = socket.socketpair(socket.AF_UNIX,
                                                  socket.SOCK_SEQPACKET)
        self.pid = os.fork()
        if self.pid == 0:
            self.socket.close()
            serve(requests)
            os._exit(0)
        requests.close()

    def start(self, arguments, env, output):
        """Runs run_case.py with the arguments, in a process group of its own.
        output: a file."""
        status, end = os.pipe()
        text = json.dumps({"arguments": arguments, "env": env}).encode()
        socket.send_fds(self.socket, [text], [output.fileno(), end])
        os.close(end)
        return Case(os.fdopen(status, "r"))

    def close(self):
        """Ends the server. What its processes used counts as the caller's."""
        self.socket.close()
        os.waitpid(self.pid, 0)


def serve(requests):
    """Starts a process for each request, until the caller has ended."""
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.SIG_IGN)
    for name in LOADED:
        importlib.import_module(name)
    running = {}  # {pidfd: (process, the pipe for its status)}
    while True:
        for fd in select.select([requests, *running], [], [])[0]:
            if fd is not requests:
                os.close(fd)
                reap(*running.pop(fd))
                continue
            text, fds, _, _ = socket.recv_fds(requests, MESSAGE_MAX, 2)
            if not text:
                end(running)
                return
            pid = begin(requests, json.loads(text), fds[0])
            os.write(fds[1], f"{pid}\n".encode())
            running[os.pidfd_open(pid)] = pid, fds[1]


def begin(requests, request, output):
    """The process of a part, which leads a process group when this returns."""
    grouped, end_of_it = os.pipe()
    pid = os.fork()
    if pid == 0:
        os.setsid()
        requests.detach()  # its end would close the file that has its number
        os.close(end_of_it)
        run(request, output)
    os.close(end_of_it)
    os.read(grouped, 1)
    os.close(grouped)
    os.close(output)
    return pid


def run(request, output):
    null = os.open(os.devnull, os.O_RDONLY)
    for fd, source in enumerate((null, output, output)):
        os.dup2(source, fd)
    os.closerange(FIRST_FD, max(map(int, os.listdir("/proc/self/fd"))) + 1)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    os.environ.clear()
    os.environ.update(request["env"])
    code = importlib.import_module("run_case").main(request["arguments"])
    # A thread that hangs must not keep the process.
    sys.stdout.flush()
    sys.exit(code)


def reap(pid, status):
    _, how = os.waitpid(pid, 0)
    with contextlib.suppress(BrokenPipeError):  # the caller has ended
        os.write(status, f"{os.waitstatus_to_exitcode(how)}\n".encode())
    os.close(status)


def end(running):
    for pid, status in running.values():
        os.killpg(pid, signal.SIGKILL)
        reap(pid, status)
