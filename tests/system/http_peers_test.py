"""One HTTP client harms only itself: half-sent bodies, answers that nobody
reads, idle connections. Loopback has many addresses, so one machine can be
several clients."""
import contextlib
import json
import pathlib
import select
import socket
import sys
import time
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))

from half_sent import Upload, push_all  # noqa: E402
from harness import (BIN, IS_SANITIZED, PATIENCE_S, Aggregator,  # noqa: E402
                     Driver, Folder, Machine, Program, agent, eventually,
                     kubeconfig, launcher)
from page_fleet import SilentScheduler  # noqa: E402

UPLOADS = 144
# Allowed: 16 MiB of bodies (HTTPD_BODIES_MAX) and 32 KiB for each connection.
# The sanitizers need memory of their own.
GROWTH_KB = (300 if IS_SANITIZED else 30) << 10
STRANGER, HONEST = "127.0.0.2", "127.0.0.3"


def memory_kb(program):
    text = pathlib.Path("/proc", str(program.process.pid),
                        "status").read_text()
    return int(text.partition("VmHWM:")[2].split()[0])


def connect(port, source, small=False):
    """small: the server's end of the connection can hold little."""
    plug = socket.socket()
    plug.settimeout(PATIENCE_S)
    if small:
        plug.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        plug.setsockopt(socket.IPPROTO_TCP, socket.TCP_MAXSEG, 536)
    plug.bind((source, 0))
    plug.connect(("127.0.0.1", port))
    return plug


def request(method, path, *headers):
    return "\r\n".join([f"{method} {path} HTTP/1.1", "Host: x", *headers,
                        "", ""]).encode()


def answer(plug):
    """(status, text) of an answer after which the server closes."""
    got = b""
    while part := plug.recv(65536):
        got += part
    head, _, body = got.partition(b"\r\n\r\n")
    return int(head.split()[1]), body.decode()


def finishes(plug):
    """Ends a request; whether it is answered."""
    with contextlib.suppress(ConnectionError):
        plug.sendall(b"Host: x\r\nConnection: close\r\n\r\n")
        return plug.recv(12) == b"HTTP/1.1 200"
    return False


def ask(port, source, *words):
    with connect(port, source) as plug:
        plug.sendall(request(*words, "Connection: close"))
        return answer(plug)


class PeersCase(unittest.TestCase):
    def setUp(self):
        self.folder = Folder()
        self.addCleanup(self.folder.close)

    def start_aggregator(self):
        program = self.folder.add(Aggregator(self.folder.path)).start()
        self.port, self.health = program.ports[1:3]
        return program

    def start_scheduler(self):
        program = self.folder.add(Program(self.folder.path, "scheduler", [
            BIN / "plimsoll-scheduler", "--kubeconfig",
            kubeconfig(self.folder.path), "--http", "127.0.0.1:0"])).start()
        self.extender = int(program.wait_log(r"http=(\d+)").group(1))
        return program


class HalfSentUploads(PeersCase):
    def assert_bounded(self, program, port, path, length, honest):
        before = memory_kb(program)
        head = request("POST", path, f"Content-Length: {length}")
        uploads = []
        self.addCleanup(lambda: [one.plug.close() for one in uploads])
        for _ in range(0, UPLOADS, 16):
            uploads += [Upload(connect(port, STRANGER), head, length)
                        for _ in range(16)]
            push_all(uploads, honest)
            honest()
        self.assertLess(memory_kb(program) - before, GROWTH_KB)

    def test_the_aggregator_reads_no_body(self):
        program = self.start_aggregator()

        def honest():
            self.assertEqual(ask(self.port, HONEST, "GET", "/v1/nodes")[0],
                             200)
        self.assert_bounded(program, self.port, "/v1/nodes", 4 << 20,
                            honest)

    def test_the_listener_for_probes_reads_no_body(self):
        program = self.start_aggregator()

        def honest():
            self.assertEqual(ask(self.health, HONEST, "GET", "/readyz")[0],
                             200)
        self.assert_bounded(program, self.health, "/readyz", 4 << 20,
                            honest)

    def test_the_scheduler_reads_no_body_but_for_the_extender(self):
        program = self.start_scheduler()

        def honest():
            self.assertEqual(
                ask(self.extender, HONEST, "GET", "/healthz")[0], 200)
        self.assert_bounded(program, self.extender, "/healthz",
                            4 << 20, honest)

    def test_the_sum_of_the_extenders_bodies_is_bounded(self):
        program = self.start_scheduler()
        pod = launcher("a")
        pod["metadata"]["uid"] = "u"
        body = json.dumps({"Pod": pod, "NodeNames": ["x"]}).encode()

        def honest():
            with connect(self.extender, HONEST) as plug:
                plug.sendall(request("POST", "/extender/prioritize",
                                     f"Content-Length: {len(body)}",
                                     "Connection: close") + body)
                self.assertEqual(answer(plug)[0], 200)
        self.assert_bounded(program, self.extender, "/extender/filter",
                            2 << 20, honest)


# (program's port, method, path, headers, status): the body is never sent.
ON_HEADERS = (
    ("port", "POST", "/v1/nodes", ["Content-Length: 1000000"], 405),
    ("port", "PUT", "/v1/nodes", ["Transfer-Encoding: chunked"], 405),
    ("port", "POST", "/nothing", ["Content-Length: 99999999999"], 404),
    ("port", "GET", "/v1/nodes", ["Content-Length: 1000000"], 200),
    ("port", "POST", "/v1/nodes",
     ["Content-Length: 1000000", "Expect: 100-continue"], 405),
    ("health", "GET", "/readyz", ["Content-Length: 1000000"], 200),
    ("health", "POST", "/nothing", ["Content-Length: 1000000"], 404),
    ("extender", "POST", "/nothing", ["Content-Length: 1000000"], 404),
    ("extender", "PUT", "/extender/filter", ["Content-Length: 1000"], 405),
    ("extender", "POST", "/extender/filter", ["Content-Length: 2097153"],
     413),
    ("extender", "POST", "/extender/filter", ["Transfer-Encoding: chunked"],
     411),
)


class OnHeaders(PeersCase):
    def setUp(self):
        super().setUp()
        self.start_aggregator()
        self.start_scheduler()

    def test_a_request_is_refused_before_its_body_is_sent(self):
        for port, method, path, headers, status in ON_HEADERS:
            with self.subTest(port=port, path=path, status=status), \
                    connect(getattr(self, port), STRANGER) as plug:
                plug.sendall(request(method, path, *headers))
                got, text = answer(plug)
                self.assertEqual(got, status, text)

    def test_a_body_that_is_not_read_is_no_request(self):
        inner = request("GET", "/v1/vms")
        for method in ("GET", "POST", "DELETE"):
            with connect(self.port, STRANGER) as plug:
                plug.sendall(request(method, "/v1/nodes",
                                     f"Content-Length: {len(inner)}") + inner)
                self.assertNotIn('"vms"', answer(plug)[1], method)

    def test_a_client_may_wait_for_100_continue(self):
        with connect(self.extender, STRANGER) as plug:
            plug.sendall(request("POST", "/extender/filter",
                                 "Content-Length: 2",
                                 "Expect: 100-continue", "Connection: close"))
            self.assertIn(b" 100 ", plug.recv(100))
            plug.sendall(b"{}")
            status, text = answer(plug)
        self.assertEqual(status, 400)
        self.assertIn("nodeCacheCapable", text)


class SlowReaders(PeersCase):
    """A history of 11,000 rows is more than the sockets hold."""

    STREAMS = 16

    @staticmethod
    def long_path():
        return (f"/v1/nodes/node-a/history?from={time.time() - 10000:.0f}"
                "&step=1s&fields=" + ",".join(["cpu.pressure_some"] * 32))

    def test_one_address_does_not_take_all_long_answers(self):
        aggregator = self.start_aggregator()
        machine = Machine(self.folder.path / "m")
        driver = Driver([machine]).start()
        self.addCleanup(driver.stop)
        self.folder.add(agent(self.folder.path, "node-a", [aggregator.url],
                              *machine.agent_flags())).start()
        eventually("the node has reported", lambda: aggregator.node("node-a"))
        plugs = []
        self.addCleanup(lambda: [plug.close() for plug in plugs])
        for _ in range(2 * self.STREAMS):
            plugs.append(connect(self.port, STRANGER, small=True))
            plugs[-1].sendall(request("GET", self.long_path()))
            self.assertIn(b"HTTP/1.1 ", plugs[-1].recv(9))
        for path in ("/v1/nodes", "/metrics", "/v1/vms"):
            self.assertEqual(ask(self.port, HONEST, "GET", path)[0], 200)


class Waits(PeersCase):
    API = "/apis/load.plimsoll.io/v1alpha1"
    REQUESTS = 40
    OF_PEER = 16  # HTTPD_PLACES_OF_PEER / HTTPD_PLACES_OF_WAIT

    def test_requests_that_wait_are_counted_for_each_client(self):
        aggregator = self.start_aggregator()
        scheduler = SilentScheduler(aggregator.url)
        self.addCleanup(scheduler.close)
        eventually("a scheduler leads", lambda: json.loads(ask(
            self.port, HONEST, "GET", f"{self.API}/status/plimsoll")[1])[
                "status"]["scheduler"]["isConnected"])
        plugs = []
        self.addCleanup(lambda: [plug.close() for plug in plugs])
        for n in range(self.REQUESTS):
            plugs.append(connect(self.port, STRANGER))
            plugs[-1].sendall(request(
                "GET", f"{self.API}/namespaces/shop/vmloads/vm-{n}/outlook",
                "Connection: close"))
        eventually("all but a few are answered", lambda: len(
            select.select(plugs, [], [], 0)[0]) >= (
                self.REQUESTS - self.OF_PEER))
        refused = []
        for plug in select.select(plugs, [], [], 0)[0]:
            head = plug.recv(65536)
            if b" 429 " in head:
                refused.append(head)
        self.assertGreater(len(refused), 0)
        for head in refused:
            self.assertIn(b"\r\nRetry-After: 1\r\n", head)
            self.assertIn(b"TooManyRequests", head)
        # Others have places, also for requests that wait.
        for path in ("/nodeloads", "/vmloads", "/status/plimsoll"):
            self.assertEqual(
                ask(self.port, HONEST, "GET", self.API + path)[0], 200)
        self.assertEqual(ask(
            self.port, HONEST, "GET",
            f"{self.API}/nodeloads?after=7&timeoutSeconds=1")[0], 200)


class IdleConnections(PeersCase):
    def test_one_address_does_not_displace_the_connections_of_others(self):
        program = self.start_aggregator()

        def is_kept():
            """False if this test was too slow to end a request in time."""
            with contextlib.ExitStack() as stack:
                early, other = (stack.enter_context(connect(port, HONEST))
                                for port in (self.port, self.health))
                for plug in (early, other):
                    plug.sendall(b"GET / HTTP/1.1\r\n")
                for _ in range(400):
                    stack.enter_context(connect(self.port, STRANGER))
                program.wait_log(
                    "HTTP connections were closed in favour of others: ")
                # Nobody displaces the other one, on another listener.
                if not finishes(other):
                    return False
                self.assertTrue(finishes(early))
                return True
        eventually("the early connection is kept", is_kept)


if __name__ == "__main__":
    unittest.main()
