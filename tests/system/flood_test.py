"""Many connections to every port at once: the aggregator stores reports and
answers its probe meanwhile, and afterwards it is as it was."""
import contextlib
import pathlib
import sqlite3
import sys
import time
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))

from flood import NODES, Flood, FloodCase, Watch, connect  # noqa: E402
from harness import PATIENCE_S, Aggregator, Folder, eventually  # noqa: E402

SLOW, SHORT, IDLE, BARE, HALF = 500, 10000, 1000, 1000, 400


class PlainCase(FloodCase):
    @classmethod
    def setUpClass(cls):
        folder = Folder()
        cls.addClassCleanup(folder.close)
        aggregator = folder.add(Aggregator(folder.path)).start()
        cls.begin(folder, aggregator, aggregator.url)


class Floods(PlainCase):
    def test_500_clients_that_drip_a_byte_a_second(self):
        def pour(flood):
            flood.open(self.aggregator.ports[1], SLOW,
                       b"GET /v1/nodes HTTP/1.1\r\nX: ")
            flood.drip()
        self.flood(pour)

    def test_10000_short_requests(self):
        port = self.aggregator.ports[1]
        request = (b"GET /v1/nodes HTTP/1.1\r\nHost: x\r\n"
                   b"Connection: close\r\n\r\n")
        answered = []

        def pour(flood):
            for _ in range(SHORT):
                plug = connect(port)
                if plug is None:
                    continue
                with plug:
                    Flood.say(plug, request)
                    try:
                        answered.append(plug.recv(15)[9:12])
                    except OSError:
                        pass
            flood.await_watch()
        self.flood(pour)
        self.assertGreater(answered.count(b"200"), SHORT // 10)

    def test_1000_bare_connects_to_the_message_port(self):
        self.flood(lambda flood: flood.hold(self.aggregator.ports[0], BARE))

    def test_1000_half_requests_to_the_probes(self):
        self.flood(lambda flood: flood.hold(
            self.aggregator.ports[2], IDLE, b"GET /readyz HT"))

    def test_1000_connections_that_send_garbage_to_the_message_port(self):
        self.flood(lambda flood: flood.hold(
            self.aggregator.ports[0], IDLE, b"\x16\x03\x01" + b"\xff" * 97))


    def test_400_peers_that_stop_in_the_middle_of_a_message(self):
        self.flood(lambda flood: flood.hold_half_messages(
            HALF, lambda: connect(self.aggregator.ports[0])))


class StalledStore(PlainCase):
    def received(self):
        """Batches that were acknowledged before they were stored."""
        return self.aggregator.metric(
            'plimsoll_aggregator_acks_total{state="received"}')

    def test_the_watch_of_the_floods_sees_a_store_that_stalls(self):
        with Watch(self.aggregator) as watch, contextlib.closing(
                sqlite3.connect(self.aggregator.db,
                                isolation_level=None)) as database:
            flood = Flood(watch)
            flood.await_watch()
            database.execute(f"PRAGMA busy_timeout = {PATIENCE_S * 1000}")
            database.execute("BEGIN IMMEDIATE")
            flood.await_rounds(NODES)  # which see what was stored before
            mark, before = watch.mark(), self.received()
            since = time.monotonic()
            eventually("batches come and are not stored",
                       lambda: self.received() > before + NODES)
            # The live view does not show that nothing is stored.
            eventually("a new report is shown",
                       lambda: self.aggregator.shows("node-0", since))
            flood.await_rounds(NODES)
            complaints = watch.complaints(mark)
            database.execute("ROLLBACK")
        # Reports that were stored before are acknowledged, if they come again.
        for node in range(NODES):
            self.assertIn(f"the history of node-{node} has no new report",
                          complaints)


if __name__ == "__main__":
    unittest.main()
