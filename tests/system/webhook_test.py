"""The webhook's listener without an API server: what it refuses, and clients
that harm only themselves. Loopback has many addresses, so one machine can be
several clients."""
import base64
import json
import os
import pathlib
import re
import socket
import ssl
import sys
import time
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))

from half_sent import Upload, push_all  # noqa: E402
from harness import (BIN, IS_SANITIZED, PATIENCE_S, Folder,  # noqa: E402
                     Program, eventually, http_get, kubeconfig, launcher)
from secure import certs, expiry_of  # noqa: E402

STRANGER, HONEST = "127.0.0.2", "127.0.0.3"
CONNECTIONS, UPLOADS = 1000, 40
BODY_MAX = 4 << 20
# Allowed: 16 MiB of bodies, as much of TLS records and of the parsed pod, and
# 64 KiB for each of 200 connections. The sanitizers need memory of their own.
GROWTH_KB = (400 if IS_SANITIZED else 60) << 10


def review(size=0):
    """The review of a VM's pod with this many bytes more."""
    pod = launcher("a", scheduler="default-scheduler")
    pod["metadata"]["annotations"]["more"] = "x" * size
    return json.dumps({
        "apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview",
        "request": {"uid": "u-1", "operation": "CREATE", "resource": {
            "group": "", "version": "v1", "resource": "pods"},
                    "object": pod}}).encode()


class Hostile(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = Folder()
        cls.addClassCleanup(cls.folder.close)
        cls.keys = keys = cls.folder.path / "keys"
        certs("new", keys)
        cls.trust = ssl.create_default_context(cafile=keys / "servers-ca.crt")
        cls.program = cls.folder.add(Program(cls.folder.path, "scheduler", [
            BIN / "plimsoll-scheduler", "--kubeconfig",
            kubeconfig(cls.folder.path), "--http", "127.0.0.1:0",
            "--webhook", "127.0.0.1:0",
            "--webhook-tls-cert", keys / "scheduler-server.crt",
            "--webhook-tls-key", keys / "scheduler-server.key"])).start()
        cls.port = int(cls.program.wait_log(r"webhook=(\d+)")[1])

    def cpu_of(self, ask):
        """The nanoseconds of CPU that the scheduler uses for ask()."""
        clock = ~self.program.process.pid << 3 | 2  # clock_getcpuclockid(3)
        began = time.clock_gettime_ns(clock)
        ask()
        return time.clock_gettime_ns(clock) - began

    def memory_kb(self):
        text = pathlib.Path("/proc", str(self.program.process.pid),
                            "status").read_text()
        return int(re.search(r"VmHWM:\s*(\d+)", text)[1])

    def connect(self, source, tls=True):
        plug = socket.socket()
        self.addCleanup(plug.close)
        plug.settimeout(PATIENCE_S)
        plug.bind((source, 0))
        plug.connect(("127.0.0.1", self.port))
        if not tls:
            return plug
        wrapped = self.trust.wrap_socket(plug, server_hostname="localhost")
        self.addCleanup(wrapped.close)
        return wrapped

    def ask(self, body, method="POST", path="/mutate-pods", length=None):
        """(status, the answer's JSON) for an honest client."""
        with self.connect(HONEST) as plug:
            plug.sendall(
                f"{method} {path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n"
                f"Content-Length: {length or len(body)}\r\n\r\n".encode()
                + body)
            got = b""
            while part := plug.recv(65536):
                got += part
        head, _, text = got.partition(b"\r\n\r\n")
        return int(head.split()[1]), json.loads(text)

    def assert_answers(self, size=0):
        status, answer = self.ask(review(size))
        self.assertEqual(status, 200)
        self.assertEqual(answer["response"]["uid"], "u-1")
        self.assertIs(answer["response"]["allowed"], True)
        self.assertEqual(
            json.loads(base64.b64decode(answer["response"]["patch"])),
            [{"op": "add", "path": "/spec/schedulerName",
              "value": "plimsoll-scheduler"}])

    def test_what_is_no_review_gets_one_sentence(self):
        for words, status, sentence in (
                ({"body": b"{"}, 400, "invalid JSON at byte 0"),
                ({"body": b""}, 400, "invalid JSON at byte 0"),
                ({"body": b"[]"}, 400, "the body is not an AdmissionReview of "
                                       "admission.k8s.io/v1"),
                ({"body": b"", "method": "GET"}, 405,
                 "method not allowed, use POST"),
                ({"body": b"", "path": "/x"}, 404,
                 "no such path: /x; known paths: /mutate-pods")):
            with self.subTest(sentence=sentence):
                got, answer = self.ask(**words)
                self.assertEqual((got, answer["error"]), (status, sentence))

    def test_the_largest_pod_is_answered_and_a_larger_body_refused(self):
        self.assert_answers(3 << 20)
        status, _ = self.ask(b"", length=BODY_MAX + 1)
        self.assertEqual(status, 413)

    def test_a_thousand_connections_keep_no_review_out(self):
        before, plugs = self.memory_kb(), []
        for i in range(CONNECTIONS):
            try:
                # Every tenth ends its handshake and then says nothing.
                plugs.append(self.connect(STRANGER, tls=i % 10 == 0))
            except OSError:
                pass  # the server closed it
            if i % 100 == 99:
                self.assert_answers()
        self.assertGreater(len(plugs), CONNECTIONS / 2)
        self.assertLess(self.memory_kb() - before, GROWTH_KB)

    def test_half_sent_pods_are_bounded_and_keep_no_review_out(self):
        before, uploads = self.memory_kb(), []
        head = ("POST /mutate-pods HTTP/1.1\r\nHost: x\r\n"
                f"Content-Length: {BODY_MAX}\r\n\r\n").encode()
        for _ in range(0, UPLOADS, 8):
            uploads += [Upload(self.connect(STRANGER), head, BODY_MAX)
                        for _ in range(8)]
            push_all(uploads, self.assert_answers)
            self.assert_answers()
        self.assertLess(self.memory_kb() - before, GROWTH_KB)

    def test_large_pods_of_many_addresses_keep_no_small_review_out(self):
        head = ("POST /mutate-pods HTTP/1.1\r\nHost: x\r\n"
                f"Content-Length: {BODY_MAX}\r\n\r\n").encode()
        for n in range(60):
            upload = Upload(self.connect(f"127.0.1.{n % 50 + 1}"), head,
                            BODY_MAX)
            upload.push()
            if n % 6 > 1:
                self.assert_answers()

    def test_a_body_of_many_small_values_costs_little(self):
        before = self.memory_kb()
        honest = self.cpu_of(lambda: self.assert_answers(3 << 20))
        for body in (b"[" + b"0," * (BODY_MAX // 2 - 2) + b"0]",
                     b"[[" + b"[]," * (BODY_MAX // 3 - 2) + b"0]]",
                     b'{"request":{"object":{'
                     + b'"":0,' * (BODY_MAX // 5 - 9) + b'"":0}}}'):

            def refuse(body=body):
                status, answer = self.ask(body)
                self.assertEqual((status, answer["error"]),
                                 (400, "more than 100000 JSON values"))
            self.assertLess(self.cpu_of(refuse), 10 * honest)
        self.assert_answers()
        self.assertLess(self.memory_kb() - before, GROWTH_KB)

    def test_a_new_certificate_is_used_without_a_restart(self):
        def served():
            with self.connect(HONEST) as plug:
                return plug.getpeercert(True)

        def expiry():
            port = self.program.wait_log(r" http=(\d+)")[1]
            _, _, text = http_get(f"http://127.0.0.1:{port}/metrics")
            return float(re.search(
                r'^plimsoll_scheduler_certificate_expiry_timestamp_seconds'
                r'\{use="webhook"\} (.*)$', text, re.M)[1])
        old, old_expiry = served(), expiry()
        os.environ["DAYS"] = "100"
        self.addCleanup(os.environ.pop, "DAYS")
        certs("renew", self.keys)
        eventually("the new certificate is served", lambda: served() != old)
        self.assert_answers()
        self.assertEqual(expiry(), expiry_of(
            self.keys / "scheduler-server.crt"))
        self.assertNotEqual(expiry(), old_expiry)

    def test_plain_http_is_not_served(self):
        plug = self.connect(HONEST, tls=False)
        plug.sendall(b"GET /mutate-pods HTTP/1.1\r\nHost: x\r\n\r\n")
        try:
            self.assertNotIn(b"HTTP/1.1", plug.recv(4096))
        except ConnectionResetError:
            pass


class Flags(unittest.TestCase):
    def test_a_webhook_without_a_certificate_is_refused(self):
        folder = Folder()
        self.addCleanup(folder.close)
        for flags, sentence in (
                (["--webhook", "127.0.0.1:0"],
                 "--webhook requires --webhook-tls-cert and "
                 "--webhook-tls-key"),
                (["--webhook-tls-cert", "x"],
                 "--webhook-tls-cert and --webhook-tls-key require --webhook"),
                (["--webhook-scheduler-name", "x" * 254],
                 "the name that the webhook sets has more than 253")):
            with self.subTest(flags=flags):
                program = folder.add(Program(
                    folder.path, "scheduler",
                    [BIN / "plimsoll-scheduler", *flags])).start()
                self.assertEqual(program.process.wait(PATIENCE_S), 2)
                self.assertIn(sentence, program.log())


if __name__ == "__main__":
    unittest.main()
