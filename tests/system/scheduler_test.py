"""The scheduler without an API server."""
import json
import os
import pathlib
import re
import signal
import socket
import ssl
import subprocess
import sys
import unittest
import urllib.error
import urllib.request

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))

from harness import (BIN, NOBODY, PATIENCE_S, ROOT, Folder,  # noqa: E402
                     Program, eventually, http_get, kubeconfig, launcher)
from secure import certs, client_flags, expiry_of  # noqa: E402

PROMTOOL = ROOT / "build/ci/debian/prometheus/usr/bin/promtool"


class NoApiServer(unittest.TestCase):
    def setUp(self):
        self.folder = Folder()
        self.addCleanup(self.folder.close)

    def test_the_log_says_why_the_cluster_cannot_be_watched(self):
        scheduler = self.folder.add(Program(self.folder.path, "scheduler", [
            BIN / "plimsoll-scheduler", "--kubeconfig",
            kubeconfig(self.folder.path), "--http", "127.0.0.1:0"])).start()
        scheduler.wait_log(r'cannot watch the cluster.*127\.0\.0\.1:1')
        port = scheduler.wait_log(r"http=(\d+)").group(1)
        status, _, text = http_get(f"http://127.0.0.1:{port}/readyz")
        self.assertEqual(status, 503)
        self.assertIn(NOBODY, text)
        self.assertEqual(http_get(f"http://127.0.0.1:{port}/healthz")[0], 200)
        self.assert_metrics(f"http://127.0.0.1:{port}")
        self.assertEqual(scheduler.stop(), 0)
        self.assertEqual(scheduler.most_a_minute("cannot watch the cluster"),
                         1)

    def post(self, url, body):
        request = urllib.request.Request(url, data=body)
        opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
        try:
            with opener.open(request, timeout=PATIENCE_S) as answer:
                return answer.status, json.load(answer)
        except urllib.error.HTTPError as no:
            return no.code, json.load(no)

    def test_the_extender_has_no_opinion_and_explains_bad_requests(self):
        scheduler = self.folder.add(Program(self.folder.path, "scheduler", [
            BIN / "plimsoll-scheduler", "--kubeconfig",
            kubeconfig(self.folder.path), "--http", "127.0.0.1:0"])).start()
        port = scheduler.wait_log(r"http=(\d+)").group(1)
        url = f"http://127.0.0.1:{port}/extender"
        pod = launcher("a")
        pod["metadata"]["uid"] = "u"
        ask = json.dumps({"Pod": pod, "Nodes": None,
                          "NodeNames": ["x", "y"]}).encode()
        self.assertEqual(self.post(f"{url}/prioritize", ask), (200, [
            {"Host": "x", "Score": 0}, {"Host": "y", "Score": 0}]))
        self.assertEqual(self.post(f"{url}/filter", ask), (200, {
            "NodeNames": ["x", "y"], "FailedNodes": {},
            "FailedAndUnresolvableNodes": {}, "Error": ""}))
        for body, status, why in (
                (b"{", 400, "JSON"), (b"{}", 400, "nodeCacheCapable"),
                (b" " * (3 << 20), 413, "2 MiB"),
                (b" " * (5 << 20), 413, "2 MiB")):
            got, answer = self.post(f"{url}/filter", body)
            self.assertEqual(got, status)
            self.assertIn(why, answer["error"])
        self.assertEqual(http_get(f"{url}/filter")[0], 405)
        self.assertEqual(scheduler.stop(), 0)

    def start(self, *flags):
        """A scheduler and the port of its HTTP listener."""
        scheduler = self.folder.add(Program(self.folder.path, "scheduler", [
            BIN / "plimsoll-scheduler", "--kubeconfig",
            kubeconfig(self.folder.path), "--http", "127.0.0.1:0",
            *flags])).start()
        return scheduler, int(scheduler.wait_log(r"http=(\d+)").group(1))

    def test_room_is_answered_with_the_reason_why_nothing_is_known(self):
        scheduler, port = self.start("--make-room-timeout", "3m")
        url = f"http://127.0.0.1:{port}/v1/room"
        status, headers, text = http_get(url)
        self.assertEqual((status, headers["Content-Type"]),
                         (200, "application/json"))
        answer = json.loads(text)
        self.assertEqual(set(answer), {
            "now", "timeout_s", "mode", "effective_mode", "why", "making",
            "fits_error"})
        self.assertEqual((answer["timeout_s"], answer["mode"],
                          answer["making"]), (180, "recommend", []))
        self.assertIn("not", answer["fits_error"])
        status, answer = self.post(url, b"")
        self.assertEqual((status, answer["error"]),
                         (405, "method not allowed, use GET"))
        self.assertEqual(scheduler.stop(), 0)

    def test_without_moves_room_is_not_made_and_the_answer_says_so(self):
        scheduler, port = self.start("--rebalance", "off", "--make-room",
                                     "off")
        status, _, text = http_get(f"http://127.0.0.1:{port}/v1/room")
        self.assertEqual(status, 200)
        answer = json.loads(text)
        self.assertEqual((answer["mode"], answer["effective_mode"]),
                         ("off", "off"))
        self.assertIn("--make-room off", answer["fits_error"])
        self.assertEqual(scheduler.stop(), 0)

    def test_it_ends_cleanly_while_clients_wait_for_room(self):
        scheduler, port = self.start()
        scheduler.process.send_signal(signal.SIGSTOP)  # all come at once
        clients = [socket.create_connection(("127.0.0.1", port),
                                            timeout=PATIENCE_S)
                   for _ in range(48)]
        for client in clients:
            self.addCleanup(client.close)
            client.sendall(b"GET /v1/room HTTP/1.1\r\nHost: x\r\n\r\n")
        scheduler.process.send_signal(signal.SIGTERM)
        scheduler.process.send_signal(signal.SIGCONT)
        self.assertEqual(scheduler.process.wait(PATIENCE_S), 0)
        for client in clients:
            self.assertIn(self.status_of(client), (None, "200", "503"))

    def test_the_expiry_of_each_certificate_is_a_metric_and_in_the_log(self):
        keys = self.folder.path / "keys"
        os.environ["DAYS"] = "20"
        self.addCleanup(os.environ.pop, "DAYS", None)
        certs("new", keys)
        scheduler = self.folder.add(Program(self.folder.path, "scheduler", [
            BIN / "plimsoll-scheduler", "--kubeconfig",
            kubeconfig(self.folder.path), "--http", "127.0.0.1:0",
            "--http-tls-cert", keys / "scheduler-server.crt",
            "--http-tls-key", keys / "scheduler-server.key",
            "--aggregator", "tls+tcp://localhost:1",
            *client_flags(keys, "scheduler")])).start()
        port = scheduler.wait_log(r" http=(\d+)")[1]
        trust = ssl.create_default_context(cafile=keys / "servers-ca.crt")

        def expiries():
            text = http_get(f"https://localhost:{port}/metrics",
                            trust=trust)[2]
            return {use: int(at) for use, at in re.findall(
                r"^plimsoll_scheduler_certificate_expiry_timestamp_seconds"
                r'\{use="(\w+)"\} (\d+)$', text, re.M)}
        found = expiries()
        used = {"aggregator": keys / "scheduler.crt",
                "http": keys / "scheduler-server.crt"}
        self.assertEqual(found, {use: expiry_of(file)
                                 for use, file in used.items()})
        for file in ("scheduler", "scheduler-server"):
            scheduler.wait_log('"the certificate expires soon".*'
                               f'file="[^"]*/{file}.crt".*days=(19|20)')
        os.environ["DAYS"] = "100"
        certs("renew", keys)
        eventually("the new certificates are in use", lambda: expiries() == {
            use: expiry_of(file) for use, file in used.items()})
        self.assertNotEqual(expiries(), found)

    @staticmethod
    def status_of(client):
        """None: the connection ended without an answer."""
        try:
            words = client.recv(64).decode().split()
        except ConnectionError:
            return None
        return words[1] if words else None

    def assert_metrics(self, url):
        status, headers, text = http_get(f"{url}/metrics")
        self.assertEqual(status, 200)
        self.assertEqual(headers["Content-Type"],
                         "text/plain; version=0.0.4; charset=utf-8")
        done = subprocess.run([PROMTOOL, "check", "metrics"], input=text,
                              text=True, capture_output=True,
                              timeout=PATIENCE_S,
                              check=False)
        self.assertEqual(done.stdout + done.stderr, "")
        self.assertIn('scheduler_pending_pods{queue="active"} 0\n', text)


if __name__ == "__main__":
    unittest.main()
