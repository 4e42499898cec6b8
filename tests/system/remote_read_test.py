"""Remote read: what the database does not have, a time series engine answers,
after the volume was lost and for the time before. An engine that hangs, refuses
or lies costs an answer its remote part and nothing else."""
import contextlib
import http.server
import json
import pathlib
import socket
import sqlite3
import sys
import threading
import time
import unittest
import urllib.parse

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))

from api_stand_in import ApiStandIn, pod_of_vm  # noqa: E402
from engines import Prometheus, Victoria  # noqa: E402
from harness import PATIENCE_S, Aggregator, Folder, eventually, mark  # noqa: E402
from past_fleet import PastNode  # noqa: E402
from protobuf import fields  # noqa: E402
from wire_peer import WirePeer, pack  # noqa: E402

UID = "11111111-2222-3333-4444-555555555555"
VM = "/v1/vms/shop/web"
MINUTE, HOUR = 60, 3600
NODE_FIELDS = ("cpu.cores,cpu.used_cores,cpu.pressure_some,cpu.contention,"
               "memory.total_bytes,memory.available_bytes,"
               "memory.working_set_bytes,memory.pressure_full,"
               "io.pressure_full,cpu.used_cores_max")
VM_FIELDS = ("used_cores,contention,memory_bytes,working_set_bytes,"
             "used_cores_max,used_cores_p95")
# docs/http.md: of means; of the largest interval.
MEAN_CLOSE, MAX_CLOSE = 0.05, 0.15
ROLE_SCHEDULER, PROFILE_REQUEST = 1, 5


class Base(unittest.TestCase):
    maxDiff = None

    def setUp(self):
        self.folder = Folder()
        self.addCleanup(self.folder.close)

    @staticmethod
    def await_name(aggregator):
        def is_stored():
            with contextlib.closing(sqlite3.connect(aggregator.db)) as db:
                return db.execute("SELECT count(*) FROM identity").fetchone()[0]
        eventually("the VM's name is stored", is_stored)

    @staticmethod
    def lose_volume(aggregator):
        """As if the volume was lost while the aggregator did not run."""
        assert aggregator.stop() == 0
        for file in aggregator.db.parent.glob(aggregator.db.name + "*"):
            file.unlink()

    @staticmethod
    def answered(aggregator, path):
        """The answer of an engine that may be slow at first."""
        def ask():
            status, _, text = aggregator.get(path)
            answer = json.loads(text)
            return answer if status == 200 and not any(
                "error" in source for source in answer["sources"]) else None
        return eventually(f"the engine answers {path}", ask)

    def history(self, aggregator, path, begin, end, step, names):
        return self.answered(aggregator, f"{path}/history?from={begin}&to={end}"
                                         f"&step={step}&fields={names}")

    def await_sent(self, aggregator):
        eventually("all reports are sent", lambda: aggregator.metric(
            "plimsoll_remote_write_sent_reports_total") > 0
            and aggregator.metric(
                "plimsoll_remote_write_pending_reports") == 0)

    def differences(self, before, after):
        """The figures that are not close to what the store said: field, time,
        before, after."""
        step = before["rows"][1][0] - before["rows"][0][0]
        found = []
        for column, name in enumerate(before["fields"], 1):
            close = MAX_CLOSE if name[-4:] in ("_max", "_p95") else MEAN_CLOSE
            for row, other in zip(before["rows"], after["rows"]):
                was, now = row[column], other[column]
                is_far = was != now and (None in (was, now) or abs(
                    now - was) > close * max(abs(was), 1e-3))
                # Two reports that seem closer together make a maximum.
                if is_far and not (name.endswith("_max") and now is not None
                                   and self.node.may_be_shifted(
                                       row[0], row[0] + step)):
                    found.append((name, row[0], was, now))
        return found

    def assert_alike(self, before, after):
        self.assertEqual(after["fields"], before["fields"])
        self.assertEqual([row[0] for row in after["rows"]],
                         [row[0] for row in before["rows"]])
        self.assertEqual(self.differences(before, after), [])


def parts(answer):
    return [(part["source"], part["from"], part["to"])
            for part in answer["sources"]]


class Engines:
    """Tests that run with each engine."""

    def setUp(self):
        super().setUp()
        self.engine = self.folder.add(self.make(self.folder.path)).start()
        api = ApiStandIn(self.folder.path,
                         [pod_of_vm(UID, "shop", "web", "node-1")])
        self.addCleanup(api.close)
        self.aggregator = self.folder.add(Aggregator(
            self.folder.path, "aggregator", "--kubeconfig", api.kubeconfig,
            "--remote-write", self.engine.write_url, "--remote-write-label",
            "cluster=a", "--remote-read", self.engine.url)).start()
        self.await_name(self.aggregator)
        # Three hours, of which 10 min are a gap, some time ago.
        self.end = (int(time.time()) - 30 * MINUTE) // HOUR * HOUR
        self.begin = self.end - 3 * HOUR
        self.node = PastNode("node-1", UID)
        self.gap = self.end - 83 * MINUTE, self.end - 67 * MINUTE
        self.node.send(self.aggregator.url, self.begin, self.end, self.gap)
        self.await_sent(self.aggregator)

    def ask_all(self):
        return [self.history(self.aggregator, path, self.begin, self.end, step,
                             names)
                for path, names in (("/v1/nodes/node-1", NODE_FIELDS),
                                    (VM, VM_FIELDS))
                for step in (10 * MINUTE, HOUR)]

    @mark(slow="the engine shows hours")
    def test_a_lost_volume_loses_no_history_and_no_profile(self):
        before = self.ask_all()
        profile = self.answered(self.aggregator, VM)["profile"]
        for answer in before:
            self.assertEqual(parts(answer), [("local", self.begin, self.end)])
        self.lose_volume(self.aggregator)
        self.aggregator.start()
        with contextlib.suppress(AssertionError):  # engines show it later
            eventually("the engine shows all", lambda: not any(
                map(self.differences, before, self.ask_all())))
        for was, now in zip(before, self.ask_all()):
            self.assertEqual(now["sources"], [
                {"source": "remote", "from": self.begin, "to": self.end}])
            self.assert_alike(was, now)
        self.check_csv()
        self.check_minutes()
        answer = self.answered(self.aggregator, VM)
        self.assertEqual(answer["sources"][0]["source"], "remote")
        self.check_profile(answer["profile"], profile)
        self.check_scheduler(answer["profile"])
        self.check_other_names()
        self.check_labels()
        self.check_border()

    def check_csv(self):
        source = f"remote;from={self.begin};to={self.end}"

        def ask():
            status, headers, text = self.aggregator.get(
                f"{VM}/history?from={self.begin}&to={self.end}&step=1h",
                "text/csv")
            return text if (status, headers["Plimsoll-Sources"]) == (
                200, source) else None
        text = eventually("the engine answers", ask)
        self.assertEqual(len(text.splitlines()), 4)

    def check_minutes(self):
        """The time without reports is a gap, and so is the time before."""
        rows = self.history(self.aggregator, VM, self.begin - 10 * MINUTE,
                            self.end, MINUTE, "used_cores,memory_bytes")["rows"]
        unknown = [row[0] for row in rows if row[1] is None]
        self.assertEqual(
            [at for at in unknown if at < self.begin],
            [self.begin - i * MINUTE for i in range(10, 0, -1)])
        gap = [at for at in unknown if at >= self.begin]
        self.assertIn(len(gap), (15, 16))
        self.assertTrue(all(self.gap[0] <= at < self.gap[1] for at in gap),
                        gap)

    def check_profile(self, now, before):
        for name, close in (("covered_s", 0.02), ("seconds", 0.02),
                            ("mean_cores", 0.02), ("stdev_cores", 0.05),
                            ("p95_cores", 0.02), ("max_cores", 0.15),
                            ("mean_memory_bytes", 0.02),
                            ("p95_memory_bytes", 0.02),
                            ("max_memory_bytes", 0.02)):
            with self.subTest(name):
                self.assertLess(abs(now[name] / before[name] - 1), close)
        for was, is_now in zip(before["mean_cores_by_hour"],
                               now["mean_cores_by_hour"]):
            self.assertEqual(was is None, is_now is None)
            self.assertTrue(was is None or abs(is_now / was - 1) < 0.02)

    def check_scheduler(self, profile):
        """A scheduler gets the same profile over the wire."""
        peer = WirePeer(self.aggregator.url, "scheduler", ROLE_SCHEDULER)
        self.addCleanup(peer.close)
        eventually("the scheduler gets it", lambda: profile["mean_cores"] in [
            float(f"{value:.9g}") for value in doubles(peer.request(
                (PROFILE_REQUEST, pack((1, "shop"), (2, "web")))))])

    def check_other_names(self):
        """A name cannot become a part of the question."""
        name = urllib.parse.quote('x"} or vector(1) or y{a="')
        for path in f"nodes/{name}", f"vms/shop/{name}", "nodes/%FF":
            eventually(f"{path} is not found", lambda path=path: (
                self.aggregator.get(f"/v1/{path}/history?step=1h")[0] == 404))

    def check_labels(self):
        """Two clusters in one engine do not mix."""
        path = f"{VM}/history?from={self.begin}&to={self.end}&step=1h"
        for cluster, status in (("a", 200), ("b", 404)):
            other = self.folder.add(Aggregator(
                self.folder.path, cluster, "--remote-read", self.engine.url,
                "--remote-read-label", f"cluster={cluster}")).start()
            eventually("the engine answers",
                       lambda: other.get(path)[0] == status)

    def check_border(self):
        """Rows of both sources meet at one border, and none is there twice."""
        last = self.end + 20 * MINUTE
        self.node.send(self.aggregator.url, self.end, last)
        answer = eventually("the store has the VM", lambda: self.meets(last))
        self.assertEqual(parts(answer), [("remote", self.end - HOUR, self.end),
                                         ("local", self.end, last)])
        self.assertEqual([row[0] for row in answer["rows"]],
                         list(range(self.end - HOUR, last, MINUTE)))
        steady = [(at, cores) for at, cores in answer["rows"]
                  if self.node.cores(at - 10) == self.node.cores(at + MINUTE)
                  and not self.node.may_be_shifted(at, at + MINUTE)]
        self.assertGreater(len(steady), len(answer["rows"]) / 2)
        for at, cores in steady:
            self.assertAlmostEqual(cores / self.node.cores(at), 1, delta=0.01)

    def meets(self, last):
        answer = self.history(self.aggregator, VM, self.end - HOUR, last,
                              MINUTE, "used_cores")
        return answer if len(answer["sources"]) > 1 and all(
            row[1] is not None for row in answer["rows"]) else None


def doubles(members):
    """All 64 bit numbers of a reply, at any depth."""
    found = []
    for values in members.values():
        for value in values:
            if isinstance(value, float):
                found.append(value)
            elif isinstance(value, bytes):
                with contextlib.suppress(Exception):
                    found += doubles(fields(value))
    return found


class WithPrometheus(Engines, Base):
    make = Prometheus


class WithVictoria(Engines, Base):
    make = Victoria


class Broken:
    """An engine that does what `answer` does with the handler of a request."""

    def __init__(self, answer):
        self.answer, self.requests = answer, []
        self.is_closed = threading.Event()
        broken = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self):
                body = self.rfile.read(int(self.headers["Content-Length"]))
                broken.requests.append((self.path, self.headers, dict(
                    urllib.parse.parse_qsl(body.decode()))))
                with contextlib.suppress(OSError):
                    broken.answer(self)

            def log_message(self, *_):
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self.server.server_address[1]}"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def hang(self, handler):
        self.is_closed.wait(PATIENCE_S)
        handler.close_connection = True

    def close(self):
        self.is_closed.set()
        self.server.shutdown()
        self.server.server_close()


def says(status, text):
    def answer(handler):
        handler.send_response(status)
        handler.send_header("Content-Length", str(len(text)))
        handler.end_headers()
        handler.wfile.write(text)
    return answer


def endless(handler):
    handler.send_response(200)
    handler.end_headers()
    handler.close_connection = True
    while True:
        handler.wfile.write(b'{"status":"success","data":{"x":"' + b"x" * 65536)


EMPTY = says(200, b'{"status":"success","data":{"resultType":"matrix",'
                  b'"result":[]}}')
TOKEN = "a-secret-that-nobody-logs"


class WithFaults(Base):
    """The store has the last hour, and the question is about two."""

    def setUp(self):
        super().setUp()
        self.engine = Broken(EMPTY)
        self.addCleanup(self.engine.close)
        token = self.folder.path / "token"
        token.write_text(TOKEN)
        self.aggregator = self.folder.add(Aggregator(
            self.folder.path, "aggregator", "--remote-read", self.engine.url + "/select/0/prometheus/",
            "--remote-read-token-file", token, "--remote-read-header",
            "X-Scope-OrgID: fleet", "--remote-read-label", "cluster=a",
            "--log-level", "debug")).start()
        self.end = int(time.time()) // MINUTE * MINUTE
        self.begin = self.end - 2 * HOUR
        PastNode("node-1", UID).send(self.aggregator.url, self.end - HOUR,
                                     self.end)
        self.path = (f"/v1/nodes/node-1/history?from={self.begin}"
                     f"&to={self.end}&step=1m&fields=cpu.used_cores")

    def ended(self):
        return self.aggregator.metric(
            "plimsoll_remote_read_questions_total")

    def timeouts(self):
        return self.aggregator.metric(
            "plimsoll_remote_read_unanswered_questions_total"
            '{reason="timeout"}')

    def ask(self):
        """The remote source of an answer whose local rows are there."""
        answer = self.aggregator.json(self.path)
        self.assertEqual([source["source"] for source in answer["sources"]],
                         ["remote", "local"])
        known = [row[0] for row in answer["rows"] if row[1] is not None]
        self.assertEqual(known[-1], self.end - MINUTE)
        self.assertEqual(len(known), 60)
        return answer["sources"][0]

    def asked_until(self, is_it):
        """The remote source that is_it(). An engine that is slow on a busy
        machine is asked again."""
        return eventually("the engine's answer has come", lambda: (
            source := self.ask()) and is_it(source) and source)

    def test_an_engine_that_never_answers_costs_two_seconds(self):
        self.engine.answer = self.engine.hang
        source = self.ask()
        self.assertEqual(source["error"], f"'{self.engine.url}' did not answer "
                                          "within 2 s")
        self.assertEqual(self.aggregator.health("/readyz")[2], "ok\n")
        self.assertEqual(self.timeouts(), 1)
        headers = self.aggregator.get(self.path)[1]
        self.assertIn("did not answer within 2 s", headers["Plimsoll-Sources"])
        self.assertEqual(self.aggregator.log().count("remote read is failing"),
                         1)
        self.assertEqual(len(self.engine.requests), 2)

        def is_remembered():
            """False if this test was too slow to ask again soon."""
            asked = len(self.engine.requests)
            for _ in range(2):
                status, _, text = self.aggregator.get(VM)
                self.assertEqual(status, 503)
                self.assertIn("did not answer", json.loads(text)["error"])
            return len(self.engine.requests) <= asked + 1
        eventually("the profile's question is not asked again for a while",
                   is_remembered)

    def test_many_questions_to_a_slow_engine_delay_nothing_else(self):
        self.engine.answer = self.engine.hang

        def delays_nothing():
            """False if all had ended before this test asked anything else."""
            asked, errors = len(self.engine.requests), []

            def ask():
                errors.append(self.aggregator.json(self.path)["sources"][0])

            threads = [threading.Thread(target=ask) for _ in range(12)]
            for thread in threads:
                thread.start()
            eventually("the engine has what may run",
                       lambda: len(self.engine.requests) >= asked + 4)
            self.assertEqual(self.aggregator.get("/v1/nodes")[0], 200)
            waited = len(errors) < 12
            for thread in threads:
                thread.join()
            self.assertEqual(len(errors), 12)
            self.assertTrue(all("2 s" in source["error"] for source in errors))
            return waited
        eventually("another answer comes first", delays_nothing)

    def test_what_the_engine_answers_wrongly_is_said_in_a_sentence(self):
        cases = [
            (says(401, b"who are you"), "returned status 401"),
            (says(422, b'{"status":"error","error":"too many\\npoints"}'),
             "returned status 422: too many points"),
            (says(200, b"<html>"), "not an answer to a range query"),
            (says(200, b'{"status":"success","data":{"result":[{"metric":{'
                       b'"plimsoll_field":"0"},"values":[[1,"x"]]}]}}'),
             "not an answer to a range query"),
            (endless, "is larger than"),
        ]
        for answer, words in cases:
            with self.subTest(words):
                self.engine.answer = answer
                source = self.asked_until(
                    lambda source, words=words: words in source["error"])
                self.assertNotIn(TOKEN, source["error"])
        self.engine.answer = EMPTY
        self.asked_until(lambda source: "error" not in source)
        path, headers, form = self.engine.requests[-1]
        self.assertEqual(path, "/select/0/prometheus/api/v1/query_range")
        self.assertEqual(headers["Authorization"], f"Bearer {TOKEN}")
        self.assertEqual(headers["X-Scope-OrgID"], "fleet")
        self.assertIn('{node="node-1",cluster="a"', form["query"])
        self.assertEqual(float(form["start"]), self.begin + MINUTE)
        self.assertEqual(self.aggregator.stop(), 0)
        self.assertNotIn(TOKEN, self.aggregator.log())

    def test_a_node_that_nobody_knows_is_not_found(self):
        eventually("the node is not found", lambda: self.aggregator.get(
            "/v1/nodes/no/history")[0] == 404)
        self.engine.answer = says(500, b"")
        status, _, text = self.aggregator.get("/v1/nodes/no/history")
        self.assertEqual(status, 503)
        self.assertIn("remote read failed", json.loads(text)["error"])

    def test_a_client_that_hangs_up_ends_its_question(self):
        self.engine.answer = self.engine.hang

        def ends_early():
            """False if the test itself was too slow to hang up in time."""
            asked, ended, late = (len(self.engine.requests), self.ended(),
                                  self.timeouts())
            with socket.create_connection(
                    ("127.0.0.1", self.aggregator.ports[1])) as plug:
                plug.sendall(f"GET {self.path} HTTP/1.1\r\nHost: x\r\n\r\n"
                             .encode())
                eventually("the engine is asked", lambda: len(
                    self.engine.requests) > asked)
            eventually("the question has ended",
                       lambda: self.ended() > ended)
            return self.timeouts() == late
        eventually("a question ends with its client", ends_early)


if __name__ == "__main__":
    unittest.main()
