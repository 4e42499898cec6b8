#!/usr/bin/env python3
"""Measures how long the webhook takes for the review of a VM's pod, and the
scheduler's CPU time for it. Prints a table.

The API server keeps its connection, so most reviews come over one; a new
connection costs a TLS handshake. CPU time is that of the whole process, as the
kernel's scheduler counts it. The figures do not include the client's."""
import http.client
import json
import pathlib
import ssl
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))

from harness import (BIN, Folder, Program, kubeconfig,  # noqa: E402
                     launcher)
from secure import certs  # noqa: E402

BODY_MAX = 4 << 20


def cpu_us(pid):
    """Microseconds of CPU a process has used, ended threads included."""
    return time.clock_gettime(~pid << 3 | 2) * 1e6


def review(size):
    pod = launcher("a", scheduler="default-scheduler")
    pod["metadata"]["annotations"]["more"] = "x" * size
    return json.dumps({
        "apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview",
        "request": {"uid": "u-1", "operation": "CREATE", "resource": {
            "group": "", "version": "v1", "resource": "pods"},
                    "object": pod}}).encode()


def cases():
    """Name, body, reviews, a connection for each, the status of the answer."""
    yield "a VM's pod", review(0), 5000, False, 200
    yield "the same, each over a new connection", review(0), 500, True, 200
    yield "a pod of 3 MiB", review(3 << 20), 50, False, 200
    for name, begin, value, end in (
            ("4 MiB of numbers", "[", "0,", "0]"),
            ("4 MiB of lists", "[[", "[],", "0]]"),
            ("4 MiB of members", '{"request":{"object":{', '"":0,',
             '"":0}}}')):
        count = (BODY_MAX - len(begin + end)) // len(value)
        yield (name, (begin + value * count + end).encode(), 20, True, 400)


def measure(connect, body, count, anew, status):
    """The seconds of each review."""
    link, seconds = connect(), []
    for _ in range(count):
        began = time.perf_counter()
        if anew:
            link.close()
            link = connect()
        link.request("POST", "/mutate-pods", body)
        answer = link.getresponse()
        words = b'"patch"' if status == 200 else b"more than 100000 JSON"
        if answer.status != status or words not in answer.read():
            raise SystemExit(f"the webhook answered {answer.status}")
        seconds.append(time.perf_counter() - began)
    link.close()
    return sorted(seconds)


def run(folder):
    keys = folder.path / "keys"
    certs("new", keys)
    program = folder.add(Program(folder.path, "scheduler", [
        BIN / "plimsoll-scheduler", "--kubeconfig", kubeconfig(folder.path),
        "--http", "127.0.0.1:0", "--webhook", "127.0.0.1:0",
        "--webhook-tls-cert", keys / "scheduler-server.crt",
        "--webhook-tls-key", keys / "scheduler-server.key"])).start()
    port = int(program.wait_log(r"webhook=(\d+)")[1])
    trust = ssl.create_default_context(cafile=keys / "servers-ca.crt")

    def connect():
        return http.client.HTTPSConnection("localhost", port, context=trust)

    print(f"{'review of':38} {'p50 ms':>8} {'p99 ms':>8} {'CPU us':>8}")
    for name, body, count, anew, status in cases():
        measure(connect, body, 10, anew, status)
        before = cpu_us(program.process.pid)
        seconds = measure(connect, body, count, anew, status)
        used = (cpu_us(program.process.pid) - before) / count
        print(f"{name:38} {seconds[count // 2] * 1e3:8.2f}"
              f" {seconds[count * 99 // 100] * 1e3:8.2f} {used:8.0f}")


if __name__ == "__main__":
    parts = Folder()
    try:
        run(parts)
    finally:
        parts.close()
