"""Remote write in shards: a backlog of many nodes drains side by side, each
series in order, and a request that fails or hangs holds up its shard alone."""
import collections
import contextlib
import pathlib
import sqlite3
import sys
import threading
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))

from engines import ACCEPTED, Fake, Prometheus, Victoria  # noqa: E402
from harness import PATIENCE_S, Aggregator, Folder, eventually  # noqa: E402
from ports import free_port  # noqa: E402
from protobuf import write_request  # noqa: E402
from stored import waiting  # noqa: E402
from wire_peer import WirePeer, report  # noqa: E402

SHARDS = 8  # of aggregator/store/outbox.h
NODES, REPORTS, PODS = 2 * SHARDS, 60, 10
METRIC = "container_cpu_usage_seconds_total"


def name(node):
    return f"node-{node:02}"


def uid(node, pod):
    return f"{node:08}-0000-0000-0000-{pod:012}"


def used_us(node, seq, pod):
    return (seq * 1000 + node) * 1000 + pod


class Base(unittest.TestCase):
    maxDiff = None

    def setUp(self):
        self.folder = Folder()
        self.addCleanup(self.folder.close)
        self.fill()

    def start(self, url):
        self.aggregator = self.folder.add(Aggregator(
            self.folder.path, "aggregator", "--remote-write", url)).start()

    def fill(self):
        """Stores reports of all nodes while there is no engine. Their order
        gives each shard two nodes."""
        self.start(f"http://127.0.0.1:{free_port()}/")
        for node in range(NODES):
            peer = WirePeer(self.aggregator.url, name(node))
            now_us = (REPORTS + 1) * 1000000
            reports = [report(seq, seq * 1000000, {
                uid(node, pod): used_us(node, seq, pod)
                for pod in range(PODS)}) for seq in range(1, REPORTS + 1)]
            self.assertTrue(peer.send(now_us, reports))
            peer.close()
        eventually("the backlog is stored", lambda: waiting(
            self.aggregator.db) == NODES * REPORTS)
        self.assertEqual(self.aggregator.stop(), 0)

    def metric(self, text):
        return self.aggregator.metric(f"plimsoll_remote_write_{text}")

    def await_sent(self):
        eventually("all reports are sent",
                   lambda: waiting(self.aggregator.db) == 0)

    def expected(self):
        """{labels: {ms: value}} of what is stored."""
        found = collections.defaultdict(dict)
        connection = sqlite3.connect(f"file:{self.aggregator.db}?mode=ro",
                                     uri=True)
        for node, at, seq in connection.execute(
                "SELECT name, sample_ms, seq FROM head JOIN run"
                " ON run.id = head.run JOIN node ON node.id = run.node"):
            number = int(node.removeprefix("node-"))
            for pod in range(PODS):
                key = (("__name__", METRIC), ("node", node),
                       ("pod_uid", uid(number, pod)))
                found[key][at] = used_us(number, seq, pod) / 1e6
        connection.close()
        return dict(found)

    def assert_arrived(self, series):
        """series() has all that is stored, and no other value or time."""
        expected = self.expected()
        self.assertEqual(sum(map(len, expected.values())),
                         NODES * REPORTS * PODS)

        def found():
            return {labels: samples for labels, samples in series().items()
                    if dict(labels)["__name__"] == METRIC}
        with contextlib.suppress(AssertionError):  # engines show it later
            eventually("the engine shows all", lambda: found() == expected)
        self.assertEqual(found(), expected)


class Engines:
    """Tests that run with each engine."""

    def test_a_backlog_drains_in_order_with_all_values(self):
        engine = self.folder.add(self.engine()).start()
        self.start(engine.write_url)
        self.await_sent()
        self.assert_arrived(engine.series)
        self.assertEqual(self.metric("sent_reports_total"), NODES * REPORTS)
        self.assertGreater(self.metric("sent_requests_total"), SHARDS)
        for reason in "queue_full", "refused", "unreadable", "same_time":
            self.assertEqual(self.metric(
                f'dropped_reports_total{{reason="{reason}"'), 0)


class WithPrometheus(Engines, Base):
    def engine(self):
        return Prometheus(self.folder.path, is_strict=True)


class WithVictoria(Engines, Base):
    def engine(self):
        return Victoria(self.folder.path)


class WithFaults(Base):
    """One node is in trouble; its shard has another node, too."""
    NODE = 3
    HELD = 2 * REPORTS

    def setUp(self):
        super().setUp()
        self.engine = Fake()
        self.addCleanup(self.engine.close)

    def answer(self, faulty):
        """The answer to requests with the node's reports."""
        self.engine.judge = lambda body: faulty if any(
            ("node", name(self.NODE)) in labels
            for labels, _ in write_request(body)) else None

    def await_others(self):
        eventually("all other shards are sent", lambda: waiting(
            self.aggregator.db) == self.HELD)

    def test_a_request_that_hangs_holds_up_its_shard_alone(self):
        released = threading.Event()
        self.addCleanup(released.set)

        def hang(handler):
            released.wait(PATIENCE_S)
            handler.send_response(204)
            handler.end_headers()

        self.answer((204, {}, hang))
        self.start(self.engine.url)
        self.await_others()
        eventually("the metric says so", lambda: self.metric(
            "pending_reports") == self.HELD)
        self.engine.judge = lambda body: None
        released.set()
        self.await_sent()
        self.assert_arrived(self.engine.series)

    def test_a_request_that_fails_holds_up_its_shard_alone(self):
        self.answer((503, {}, b""))
        self.start(self.engine.url)
        self.await_others()
        eventually("one shard fails",
                   lambda: self.metric("failing_shards") == 1)
        self.assertEqual(self.aggregator.log().count(
            "returned status 503"), 1)
        self.engine.judge = lambda body: None
        self.await_sent()
        self.assertEqual(self.metric("failing_shards"), 0)
        self.assertEqual(self.aggregator.log().count(
            "remote write recovered"), 1)
        self.assert_arrived(self.engine.series)

    def test_a_kill_in_the_middle_loses_nothing(self):
        killed = threading.Event()
        self.addCleanup(killed.set)
        accepted, hanging = set(), set()

        def judge(body):
            """Accepts the first request of each shard; the next one hangs."""
            shard, = {int(value.removeprefix("node-")) % SHARDS
                      for labels, _ in write_request(body)
                      for key, value in labels if key == "node"}
            if shard not in accepted:
                accepted.add(shard)
                return None
            hanging.add(shard)
            return 503, {}, lambda handler: killed.wait(PATIENCE_S)

        self.engine.judge = judge
        self.start(self.engine.url)
        eventually("requests of all shards are under way",
                   lambda: len(hanging) == SHARDS)
        self.aggregator.kill()
        killed.set()
        self.assertGreater(waiting(self.aggregator.db), 0)
        self.engine.judge = lambda body: None
        self.aggregator.start()
        self.await_sent()
        self.assert_arrived(self.all_series)

    def all_series(self):
        """As Fake.series(), but samples may have been sent twice. The order of
        each series goes back at most once, where the kill was."""
        found = collections.defaultdict(list)
        for request in self.engine.requests:
            if request.status == ACCEPTED[0]:
                for labels, samples in write_request(request.body):
                    found[labels] += samples
        for samples in found.values():
            times = [at for at, _ in samples]
            backwards = sum(a >= b for a, b in zip(times, times[1:]))
            self.assertLessEqual(backwards, 1)
        return {labels: dict(samples) for labels, samples in found.items()}


if __name__ == "__main__":
    unittest.main()
