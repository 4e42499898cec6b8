"""Remote write: a time series engine gets exactly what is stored, whichever
side is killed meanwhile and whatever the engine answers."""
import collections
import contextlib
import pathlib
import re
import sqlite3
import ssl
import sys
import threading
import time
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))

from engines import Fake, Prometheus, Victoria  # noqa: E402
from harness import (PATIENCE_S, Aggregator, Driver, Folder,  # noqa: E402
                     Machine, agent, eventually, mark)
from protobuf import write_request  # noqa: E402
from secure import certs  # noqa: E402
from stored import stored_samples, waiting  # noqa: E402

POD = "11111111-2222-3333-4444-555555555555"
# Series of /metrics that are made from more than one report.
DERIVED = re.compile(
    r"plimsoll_node_(age|(cpu|memory|io)_(used|stdev|p95|pressure|contention))"
    r"|plimsoll_vm_(used_cores|contention|memory_bytes)")
LAG_S = 60  # above it, /readyz is degraded
CLOSE = 1e-9  # relative: values become decimal fractions on the way


class Base(unittest.TestCase):
    maxDiff = None

    def setUp(self):
        self.folder = Folder()
        self.addCleanup(self.folder.close)
        self.agents = []

    def start(self, url, *more, **options):
        self.aggregator = self.folder.add(Aggregator(
            self.folder.path, "aggregator", "--remote-write", url, *more,
            **options)).start()
        return self.aggregator

    def start_agents(self, *names, interval="100ms"):
        machines = []
        for name in names:
            machine = Machine(self.folder.path / f"m-{name}")
            self.addCleanup(machine.close)
            machine.busy = 0.5
            machine.run_pod(POD.replace("1", name[-1]), cores=1.0)
            machines.append(machine)
            self.agents.append(self.folder.add(agent(
                self.folder.path, name, [self.aggregator.url],
                *machine.agent_flags(), "--ring-reports", "20000",
                interval=interval)).start())
        driver = Driver(machines).start()
        self.addCleanup(driver.stop)

    def await_stored(self, reports):
        """Waits until this many reports of each node are stored, then stops the
        agents."""
        def enough():
            found = stored_samples(self.aggregator.db)
            return found and all(len(s) >= reports for s in found.values())
        eventually(f"{reports} reports are stored", enough)
        for program in self.agents:
            self.assertEqual(program.stop(), 0)

    def await_sent(self):
        eventually("all reports are sent",
                   lambda: waiting(self.aggregator.db) == 0)

    def metric(self, name):
        return self.aggregator.metric(f"plimsoll_remote_write_{name}")

    def assert_arrived(self, engine):
        """The engine has all that is stored and nothing else."""
        expected = stored_samples(self.aggregator.db)
        self.assertGreater(len(expected), 0)

        def is_shown():  # engines show new samples a little later
            found = engine.series()
            return all(samples.keys() <= found.get(labels, {}).keys()
                       for labels, samples in expected.items())
        with contextlib.suppress(AssertionError):
            eventually("the engine shows all", is_shown, every=0.5)
        found = engine.series()
        for labels, samples in expected.items():
            self.assertEqual((set(samples) - set(found[labels]),
                              set(found[labels]) - set(samples)),
                             (set(), set()), labels)
            for at, value in samples.items():
                self.assertAlmostEqual(found[labels][at] / max(value, 1),
                                       value / max(value, 1), delta=CLOSE)
        times = collections.defaultdict(set)
        for labels, samples in expected.items():
            times[dict(labels)["node"]] |= samples.keys()
        for labels, samples in found.items():
            self.assertLessEqual(set(samples), times[dict(labels)["node"]])

    def served(self):
        """The labels of each series of /metrics that has a node."""
        found = set()
        for line in self.aggregator.get("/metrics")[2].splitlines():
            if line.startswith("#") or "node=" not in line:
                continue
            name, _, labels = line.rsplit(" ", 1)[0].partition("{")
            pairs = [pair.split("=", 1) for pair in
                     labels.rstrip("}").split(",")]
            found.add(tuple(sorted(
                [("__name__", name)]
                + [(k, v.strip('"')) for k, v in pairs])))
        return found


class Engines:
    """Tests that run with each engine."""

    @mark(slow="thirty reports of each node are stored")
    def test_the_engine_gets_what_is_stored(self):
        engine = self.folder.add(self.engine(self.folder.path)).start()
        self.start(engine.write_url)
        self.aggregator.wait_log('"remote write is on" url="http://127')
        self.start_agents("node-1", "node-2")
        eventually("both nodes are stored", lambda: len(
            stored_samples(self.aggregator.db)) == 12)
        served = self.served()
        self.await_stored(30)
        self.await_sent()
        self.assert_arrived(engine)
        sent = set(engine.series())
        self.assertEqual(sent - served, set())
        self.assertEqual({dict(labels)["__name__"] for labels in served - sent
                          if not DERIVED.match(dict(labels)["__name__"])},
                         set())
        self.assertEqual(self.aggregator.stop(), 0)
        self.assertNotIn("refused", self.aggregator.log())

    @mark(slow="the aggregator waits longer after each failed request")
    def test_kills_of_engine_and_aggregator_lose_nothing(self):
        engine = self.folder.add(self.engine(self.folder.path)).start()
        self.start(engine.write_url)
        self.start_agents("node-1", "node-2", interval="200ms")
        eventually("the engine has reports",
                   lambda: self.metric("sent_requests_total") > 1)
        engine.end()
        self.aggregator.wait_log("remote write is failing")
        eventually("reports wait to be sent",
                   lambda: waiting(self.aggregator.db) > 20)
        self.aggregator.kill()
        self.aggregator.start()
        engine.start()
        for _ in range(6):
            eventually("the engine gets reports again",
                       lambda: self.metric("sent_requests_total") > 1,
                       every=0.01)
            self.aggregator.kill()
            self.aggregator.start()
        self.await_stored(40)
        self.await_sent()
        self.assert_arrived(engine)


class WithPrometheus(Engines, Base):
    engine = Prometheus


class WithVictoria(Engines, Base):
    engine = Victoria


class WithFaults(Base):
    def setUp(self):
        super().setUp()
        self.engine = Fake()
        self.addCleanup(self.engine.close)

    def refuse_all(self):
        """From now on reports wait, until judge is replaced."""
        self.engine.judge = lambda body: (503, {}, b"")

    def logged(self, text):
        return self.aggregator.log().count(text)

    @mark(slow="the aggregator waits 4 s, 2 s, 4 s and 8 s")
    def test_requests_are_repeated_after_errors_that_are_logged_once(self):
        asked_s = 4
        self.engine.answers = [(429, {"Retry-After": str(asked_s)}, b""),
                               (500, {}, b"broken"), (500, {}, b"broken"),
                               (404, {}, b"")]
        self.start(self.engine.url)
        self.start_agents("node-1")
        eventually("a request was accepted", lambda: any(
            r.status == 204 for r in self.engine.requests))
        self.await_stored(10)
        self.await_sent()
        self.assert_arrived(self.engine)
        requests = self.engine.requests
        self.assertEqual(len({r.body for r in requests[:5]}), 1)
        self.assertEqual([r.status for r in requests[:5]],
                         [429, 500, 500, 404, 204])
        # From before an answer to after the next request: no machine is so
        # slow that this becomes less.
        self.assertGreaterEqual(requests[1].at - requests[0].at, asked_s)
        self.assertEqual(self.metric("retries_total"), 4)
        self.assertEqual(self.logged("remote write is failing"), 3)
        self.assertEqual(self.logged("remote write recovered"), 1)

    @mark(slow="all that is stored is sent twice")
    def test_only_the_report_that_is_refused_is_dropped(self):
        self.refuse_all()
        self.start(self.engine.url)
        self.start_agents("node-1", "node-2", interval="400ms")
        self.await_stored(12)
        poison = sorted(
            at for labels, samples in stored_samples(self.aggregator.db).items()
            if ("node", "node-1") in labels for at in samples)[-1]

        def judge(body):
            is_poisoned = any(
                ("node", "node-1") in labels and at == poison
                for labels, samples in write_request(body)
                for at, _ in samples)
            return (400, {}, b"out of order sample\n") if is_poisoned else None
        self.engine.judge = judge
        self.await_sent()
        expected = stored_samples(self.aggregator.db)
        found = self.engine.series()
        for labels, samples in expected.items():
            if ("node", "node-1") in labels:
                # Not there if the agent read the file while it was written.
                samples.pop(poison, None)
            self.assertEqual(sorted(found[labels]), sorted(samples))
        self.assertEqual(self.metric('dropped_reports_total{reason="refused"'),
                         1)
        self.assertEqual(self.logged("out of order sample"), 1)
        self.assertGreaterEqual(self.metric("sent_reports_total"),
                                       sum(len(samples) for labels, samples in
                                    expected.items()
                                    if ("mode", "user") in labels))

    @mark(slow="twenty reports are stored")
    def test_an_engine_that_hangs_delays_no_report(self):
        released = threading.Event()
        self.addCleanup(released.set)

        def hang(handler):
            released.wait(PATIENCE_S)
            handler.close_connection = True

        self.engine.answers = [(200, {}, hang)]
        self.start(self.engine.url)
        self.start_agents("node-1")
        eventually("the engine has a request", lambda: self.engine.requests)
        before = len(next(iter(stored_samples(self.aggregator.db).values())))
        eventually("reports are stored all the same", lambda: len(next(iter(
            stored_samples(self.aggregator.db).values()))) > before + 20)
        since = time.monotonic()
        eventually("a new report is shown all the same",
                   lambda: self.aggregator.shows("node-1", since))
        self.assertEqual(self.aggregator.health("/readyz")[0], 200)
        self.assertEqual(self.aggregator.stop(), 0)
        self.aggregator.start()
        self.await_stored(before + 20)
        self.await_sent()
        self.assert_arrived(self.engine)

    def test_an_endless_answer_is_cut_off(self):
        def endless(handler):
            handler.send_response(200)
            handler.end_headers()
            handler.close_connection = True
            try:
                while True:
                    handler.wfile.write(b"x" * 65536)
            except OSError:
                pass

        self.engine.answers = [(200, {}, endless)]
        self.start(self.engine.url)
        self.start_agents("node-1")
        self.await_stored(10)
        self.await_sent()
        self.assert_arrived(self.engine)
        self.assertEqual(self.logged("is larger than"), 1)

    def test_a_lag_of_minutes_is_in_readyz_and_metrics(self):
        self.refuse_all()
        self.start(self.engine.url)
        self.start_agents("node-1")
        self.await_stored(10)
        self.aggregator.wait_log("remote write is failing")
        lag_s = self.metric("lag_seconds")
        status = self.aggregator.health("/readyz")[2]
        self.assertTrue(status == "ok\n" or lag_s > LAG_S, status)
        self.assertEqual(self.aggregator.stop(), 0)
        connection = sqlite3.connect(self.aggregator.db)
        with connection:  # as if two minutes had passed
            connection.execute("UPDATE outbox_shard SET stored_ms"
                               " = stored_ms - 120000")
        connection.close()
        self.aggregator.start()
        text = eventually("/readyz says it", lambda: re.match(
            r"degraded: remote write is (\d+) s behind: .* returned status 503",
            self.aggregator.health("/readyz")[2]))
        self.assertGreaterEqual(int(text.group(1)), 120)
        self.assertEqual(self.aggregator.health("/readyz")[0], 200)
        self.assertGreaterEqual(self.metric("lag_seconds"), 120)
        self.assertGreaterEqual(self.metric("pending_reports"), 10)
        self.engine.judge = lambda body: None
        self.await_sent()
        eventually("/readyz is ok again", lambda: self.aggregator.health(
            "/readyz")[2] == "ok\n")
        self.assert_arrived(self.engine)


class WithTls(Base):
    TOKEN = "a-secret-that-nobody-logs"

    def setUp(self):
        super().setUp()
        self.keys = self.folder.path / "keys"
        certs("new", self.keys)
        trust = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        trust.load_cert_chain(self.keys / "aggregator.crt",
                              self.keys / "aggregator.key")
        self.engine = Fake(trust)
        self.addCleanup(self.engine.close)
        self.token = self.folder.path / "token"
        self.token.write_text(self.TOKEN + "\n")

    def test_token_header_and_label_reach_the_engine_and_no_log(self):
        self.start(self.engine.url,
                   "--remote-write-ca", self.keys / "servers-ca.crt",
                   "--remote-write-token-file", self.token,
                   "--remote-write-header", "X-Scope-OrgID: fleet",
                   "--remote-write-label", "cluster=berlin",
                   "--log-level", "debug")
        self.start_agents("node-1")
        self.await_stored(5)
        self.await_sent()
        headers = self.engine.requests[0].headers
        self.assertEqual(headers["Authorization"], f"Bearer {self.TOKEN}")
        self.assertEqual(headers["X-Scope-OrgID"], "fleet")
        self.assertEqual(headers["Content-Encoding"], "snappy")
        self.assertEqual(headers["X-Prometheus-Remote-Write-Version"], "0.1.0")
        for labels in self.engine.series():
            self.assertIn(("cluster", "berlin"), labels)
        self.assertEqual(self.aggregator.stop(), 0)
        self.assertNotIn(self.TOKEN, self.aggregator.log())

    def test_another_authority_is_used_without_a_restart(self):
        authority = self.keys / "engine-ca.crt"
        authority.write_text((self.keys / "clients-ca.crt").read_text())
        self.start(self.engine.url, "--remote-write-ca", authority)
        self.start_agents("node-1")
        self.aggregator.wait_log("is not trusted")
        self.assertEqual(self.engine.requests, [])
        authority.write_text((self.keys / "servers-ca.crt").read_text())
        eventually("the engine gets reports",
                   lambda: self.engine.requests)
        self.await_stored(5)
        self.await_sent()
        self.assert_arrived(self.engine)

    def test_an_engine_with_an_untrusted_certificate_gets_nothing(self):
        self.start(self.engine.url, "--remote-write-token-file", self.token)
        self.start_agents("node-1")
        self.aggregator.wait_log("is not trusted")
        self.assertEqual(self.engine.requests, [])


if __name__ == "__main__":
    unittest.main()
