"""An error is one sentence in the log and does not fill the log. Other files
test wrong flags (docs_test.py), aggregators that do not run and TLS
(tls_test.py), tokens (tests/e2e/identity_test.py), a second aggregator on one
database (restart_test.py) and a missing API server (scheduler_test.py)."""
import contextlib
import os
import pathlib
import socket
import sqlite3
import struct
import subprocess
import sys
import threading
import time
import unittest

TESTS = pathlib.Path(__file__).resolve().parents[1]
for folder in ("support", "chaos"):
    sys.path.insert(0, str(TESTS / folder))

from harness import (BIN, PATIENCE_S, Aggregator, Driver, Folder,  # noqa: E402
                     Machine, Program, agent, eventually, http_get, kubeconfig,
                     mark, reports_made)
from link import Links  # noqa: E402
from secure import SecureAggregator, certs, client_flags  # noqa: E402

NOBODY_ID = 65534  # of the user and the group "nobody"
GARBAGE = b"\x00\xff garbage\r\n\r\n" * 20
# The header that nng sends first on a REQ socket.
NNG_HEADER = b"\x00SP\x00\x00\x30\x00\x00"


def request(size):
    """A message of nng's REQ protocol over TCP: length, request id, body."""
    return struct.pack(">QI", size + 4, 0x80000001) + bytes(size)


@contextlib.contextmanager
def listening(answer=None):
    """A port that accepts connections, sends `answer` on each, and never reads.
    Without an answer the port stays silent."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        kept = []

        def serve():
            while True:
                try:
                    kept.append(server.accept()[0])
                except OSError:
                    return
                if answer:
                    kept[-1].sendall(answer)
        threading.Thread(target=serve, daemon=True).start()
        yield server.getsockname()[1]
        server.shutdown(socket.SHUT_RDWR)
        for plug in kept:
            plug.close()


class Errors(unittest.TestCase):
    def setUp(self):
        self.folder = Folder()
        self.addCleanup(self.folder.close)

    def machine(self):
        machine = Machine(self.folder.path / "m")
        self.addCleanup(machine.close)
        return machine

    def start_agent(self, url, interval="100ms"):
        return self.folder.add(agent(
            self.folder.path, "node-a", [url],
            *self.machine().agent_flags(), interval=interval)).start()

    def start_aggregator(self, **options):
        return self.folder.add(
            Aggregator(self.folder.path, **options)).start()

    def start_scheduler(self, *flags):
        return self.folder.add(Program(self.folder.path, "scheduler", [
            BIN / "plimsoll-scheduler", "--kubeconfig",
            kubeconfig(self.folder.path), "--http", "127.0.0.1:0",
            *flags])).start()

    def send(self, port, *texts):
        """Sends each text on a connection of its own. The connections stay open
        until the test ends."""
        for text in texts:
            plug = socket.create_connection(("127.0.0.1", port), PATIENCE_S)
            self.addCleanup(plug.close)
            plug.sendall(text)
        return plug

    def assert_logged(self, program, sentence, at_most=1):
        """at_most: a minute."""
        program.wait_log(sentence)
        self.assertLessEqual(program.most_a_minute(sentence), at_most,
                             program.log())


class AgentErrors(Errors):
    def test_a_silent_aggregator(self):
        with listening() as port:
            self.assert_logged(self.start_agent(f"tcp://127.0.0.1:{port}"),
                             "no connection to the aggregator")

    @mark(slow="two requests have to time out first")
    def test_a_connection_that_goes_silent_is_replaced(self):
        aggregator = self.start_aggregator()
        links = Links()
        self.addCleanup(links.close)
        link = links.add(aggregator.ports[0])
        program = self.start_agent(f"tcp://127.0.0.1:{link.port}")
        eventually("it reports", lambda: aggregator.node("node-a"))
        links.call(link.stall)
        program.wait_log("no reply in time")
        since = time.monotonic()
        eventually("it reports again on a new connection",
                   lambda: aggregator.shows("node-a", since))

    def test_an_aggregator_that_speaks_another_protocol(self):
        with listening(b"HTTP/1.1 400 Bad Request\r\n\r\n") as port:
            self.assert_logged(self.start_agent(f"tcp://127.0.0.1:{port}"),
                             "does not speak plimsoll's protocol")

    @unittest.skipIf(os.geteuid() != 0, "only root can run as nobody")
    def test_a_kernel_file_without_permission(self):
        machine = self.machine()
        flags = [str(f) for f in machine.agent_flags()]
        # No other test on this machine uses this name.
        node = self.folder.path.name.lower().replace("_", "-")
        for folder in [self.folder.path, machine.root]:
            folder.chmod(0o755)
        (machine.root / "proc/pressure/cpu").chmod(0)
        with open(self.folder.path / "log", "wb") as log:
            process = subprocess.Popen(
                [BIN / "plimsoll-agent", "--node-name", node, "--aggregator",
                 "tcp://127.0.0.1:1", "--interval", "100ms", *flags],
                stderr=log, user=NOBODY_ID, group=NOBODY_ID, extra_groups=[])
        self.addCleanup(process.wait, 10)
        self.addCleanup(process.terminate)
        text = self.folder.path / "log"
        eventually("the agent logs which file it cannot read", lambda: (
            "cannot open 'pressure/cpu': Permission denied"
            in text.read_text()))
        # Twenty samples later the log still has the sentence once.
        before = reports_made(node)
        eventually("the agent keeps sampling",
                   lambda: reports_made(node) >= before + 20)
        self.assertEqual(text.read_text().count("Permission denied"), 1)


class AggregatorErrors(Errors):
    def assert_serves(self, aggregator):
        self.assertEqual(aggregator.get("/v1/nodes")[0], 200)
        self.assertEqual(aggregator.health("/readyz")[0], 200)

    def test_garbage_on_the_message_port(self):
        aggregator = self.start_aggregator()
        self.send(aggregator.ports[0], *[GARBAGE] * 50)
        self.assert_logged(aggregator, "does not speak plimsoll's protocol")
        self.assert_serves(aggregator)

    @mark(slow="the aggregator waits ten seconds for the rest")
    def test_an_incomplete_nng_header_on_the_message_port(self):
        aggregator = self.start_aggregator()
        self.send(aggregator.ports[0], NNG_HEADER[:3])
        aggregator.wait_log("a peer connected and sent nothing")
        self.assert_serves(aggregator)

    def test_a_message_of_another_program(self):
        aggregator = self.start_aggregator()
        for _ in range(50):
            self.send(aggregator.ports[0], NNG_HEADER + request(100))
        self.assert_logged(aggregator, '"refused a message of a peer"')
        self.assert_serves(aggregator)

    def test_a_message_that_is_too_large_ends_the_connection(self):
        aggregator = self.start_aggregator()
        # The length alone ends the connection, maybe while the rest is sent.
        with contextlib.suppress(ConnectionResetError, BrokenPipeError):
            plug = self.send(aggregator.ports[0],
                             NNG_HEADER + request(2 << 20))
            plug.recv(len(NNG_HEADER))
            self.assertEqual(plug.recv(1), b"")
        self.assert_serves(aggregator)

    def test_a_message_of_2_to_the_60_bytes_ends_the_connection(self):
        aggregator = self.start_aggregator()
        plug = self.send(aggregator.ports[0],
                         NNG_HEADER + struct.pack(">Q", 1 << 60))
        plug.recv(len(NNG_HEADER))
        self.assertEqual(plug.recv(1), b"")
        self.assert_serves(aggregator)

    @mark(slow="the log tells of connections each 5 s")
    def test_garbage_and_incomplete_http_requests(self):
        aggregator = self.start_aggregator()
        for port in aggregator.ports[1:]:
            self.send(port, *[GARBAGE] * 20, b"GET / HT")
        for listener in ("--http", "--health"):
            port = aggregator.ports[1 if listener == "--http" else 2]
            with self.subTest(listener):
                self.assert_logged(
                    aggregator, "HTTP connections ended without a request: "
                    "their clients are too slow or speak something else", 2)
                self.assertEqual(http_get(
                    f"http://127.0.0.1:{port}/nothing")[0], 404)
        self.assert_serves(aggregator)

    @mark(slow="the log tells of connections each 5 s")
    def test_garbage_on_ports_with_tls(self):
        keys = self.folder.path / "keys"
        certs("new", keys)
        aggregator = self.folder.add(SecureAggregator(
            self.folder.path, keys, "aggregator", "--http-tls-cert",
            keys / "aggregator.crt", "--http-tls-key",
            keys / "aggregator.key")).start()
        self.send(aggregator.ports[0], *[GARBAGE] * 20)
        self.assert_logged(aggregator, "a TLS handshake failed")
        self.send(aggregator.ports[1], *[GARBAGE] * 20,
                  b"GET /v1/nodes HTTP/1.1\r\n\r\n")
        self.assert_logged(aggregator,
                         "HTTP connections ended without a request")
        self.assertEqual(aggregator.health("/readyz")[0], 200)

    def start_error(self, db):
        done = subprocess.run(
            [BIN / "plimsoll-aggregator", "--listen", "tcp://127.0.0.1:0",
             "--http", "127.0.0.1:0", "--health", "127.0.0.1:0", "--db", db],
            capture_output=True, text=True, timeout=PATIENCE_S,
            check=False)
        self.assertEqual(done.returncode, 1)
        self.assertEqual(done.stderr.count("\n"), 1, done.stderr)
        return done.stderr

    def test_a_database_of_a_newer_plimsoll(self):
        aggregator = self.start_aggregator()
        self.assertEqual(aggregator.stop(), 0)
        with contextlib.closing(sqlite3.connect(aggregator.db)) as database:
            database.execute("PRAGMA user_version = 99")
        self.assertIn("it was written by a newer plimsoll",
                      self.start_error(aggregator.db))

    def test_a_folder_that_does_not_exist(self):
        self.assertIn("No such file or directory",
                      self.start_error(self.folder.path / "no/p.db"))


@unittest.skipIf(os.geteuid() != 0, "only root can mount a small disk")
class DiskErrors(Errors):
    def setUp(self):
        super().setUp()
        self.disk = self.folder.path / "disk"
        self.disk.mkdir()
        self.mount("-t", "tmpfs", "-o", "size=400k", "tmpfs")
        # Only after the programs on it have ended.
        self.folder.temporary.cleanup = self.unmount_and(
            self.folder.temporary.cleanup)

    def mount(self, *arguments):
        subprocess.run(["mount", *arguments, self.disk], check=True,
                       timeout=PATIENCE_S)

    def unmount_and(self, cleanup):
        def end():
            subprocess.run(["umount", self.disk], check=True,
                           timeout=PATIENCE_S)
            cleanup()
        return end

    def test_a_full_disk_does_not_delay_live_data_until_there_is_space(self):
        machine = self.machine()
        driver = Driver([machine]).start()
        self.addCleanup(driver.stop)
        aggregator = self.start_aggregator(db=self.disk / "p.db")
        sender = self.folder.add(agent(
            self.folder.path, "node-a", [aggregator.url],
            *machine.agent_flags(), interval="100ms")).start()
        aggregator.wait_log("cannot write to the database.*full")
        self.assert_logged(sender,
                           "aggregator cannot store reports, keeping them")
        status, _, text = aggregator.health("/readyz")
        self.assertEqual((status, text[:9]), (200, "degraded:"))
        since = time.monotonic()
        eventually("a new report is shown all the same",
                   lambda: aggregator.shows("node-a", since))
        self.assertEqual(
            aggregator.most_a_minute("cannot write to the database"), 1)
        self.mount("-o", "remount,size=64m")
        self.assert_logged(aggregator, "database accepts writes again")
        eventually("it is ready", lambda: aggregator.health(
            "/readyz")[2] == "ok\n")

    def test_a_read_only_disk(self):
        self.mount("-o", "remount,ro")
        done = subprocess.run(
            [BIN / "plimsoll-aggregator", "--listen", "tcp://127.0.0.1:0",
             "--http", "127.0.0.1:0", "--health", "127.0.0.1:0", "--db",
             self.disk / "p.db"], capture_output=True, text=True,
            timeout=PATIENCE_S, check=False)
        self.assertEqual(done.returncode, 1)
        self.assertEqual(done.stderr.count("Read-only file system"), 1)


class UsageErrors(unittest.TestCase):
    """A wrong command line: one sentence, and status 2."""

    def check(self, command, sentence):
        program, *arguments = command.split()
        done = subprocess.run(
            [BIN / f"plimsoll-{program}", *arguments], capture_output=True,
            text=True, timeout=PATIENCE_S, check=False)
        self.assertEqual((done.returncode, done.stdout), (2, ""), command)
        self.assertEqual(len(done.stderr.splitlines()), 1, done.stderr)
        self.assertIn(sentence, done.stderr)

    def test_a_wrong_value_or_flag_ends_with_2_and_one_sentence(self):
        for command, sentence in (
                ("scheduler --policy foo", "unknown policy 'foo'"),
                ("simulate --scenario x --policy foo", "unknown policy 'foo'"),
                ("scheduler simulate --scenario x", "run plimsoll-simulate"),
                ("scheduler --http 17475", "'17475' is not an IP address"),
                ("scheduler --aggregator foo", "'foo' is not of the form"),
                ("aggregator export --from yesterday",
                 "'yesterday' is neither unix seconds nor"),
                ("aggregator --listen foo", "'foo' is not of the form"),
                ("aggregator --health localhost:1", "not an IP address"),
                ("aggregator --retention-raw 9999d",
                 "'9999d' is not between 1m and 3650d"),
                ("agent --agregator tcp://a:1", "did you mean --aggregator?"),
                ("agent --interval 1ms", "not between 100ms and 1m")):
            with self.subTest(command):
                self.check(command, sentence)


class SchedulerErrors(Errors):
    def test_an_aggregator_that_does_not_run(self):
        self.assert_logged(
            self.start_scheduler("--aggregator", "tcp://127.0.0.1:1"),
            "no load from the aggregator")

    def test_an_aggregator_of_another_authority(self):
        keys, other = self.folder.path / "keys", self.folder.path / "other"
        certs("new", keys)
        certs("new", other)
        aggregator = self.folder.add(
            SecureAggregator(self.folder.path, keys)).start()
        self.assert_logged(
            self.start_scheduler(
                "--aggregator", aggregator.url,
                *client_flags(keys, "scheduler", other)),
            "certificate is not trusted")

    @mark(slow="the log tells of connections each 5 s")
    def test_garbage_over_http(self):
        scheduler = self.start_scheduler()
        port = int(scheduler.wait_log(r"http=(\d+)").group(1))
        self.send(port, *[GARBAGE] * 20)
        self.assert_logged(scheduler,
                         "HTTP connections ended without a request")
        self.assertEqual(
            http_get(f"http://127.0.0.1:{port}/healthz")[0], 200)


if __name__ == "__main__":
    unittest.main()
