"""The aggregator's HTTP interface, as its clients use it."""
import json
import pathlib
import re
import socket
import subprocess
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))

from harness import (PATIENCE_S, ROOT, Aggregator, Driver,  # noqa: E402
                     Folder, Machine, agent, eventually, mark)

PROMTOOL = ROOT / "build/ci/debian/prometheus/usr/bin/promtool"
POD = "11111111-2222-3333-4444-555555555555"
OTHER = "22222222-2222-3333-4444-555555555555"

# node_exporter's own names break promtool's rule for case.
CAMEL_CASE = "metric names should be written in 'snake_case' not 'camelCase'"


def samples(text):
    """{(name, 'label="value",...'): value} of an exposition. A series must not
    occur twice, and a metric must not have two blocks."""
    found, finished, block = {}, set(), None
    for line in text.splitlines():
        if line.startswith("# HELP"):
            finished.add(block)
            block = line.split()[2]
            assert block not in finished, f"{block} has two blocks"
        if line.startswith("#"):
            continue
        series, value = line.rsplit(" ", 1)
        name, _, labels = series.partition("{")
        # A histogram's series have the name of its block and these endings.
        assert name in (block, f"{block}_bucket", f"{block}_sum",
                        f"{block}_count"), line
        assert series not in found, f"{series} occurs twice"
        found[name, labels.rstrip("}")] = float(value)
    return found


class OneNode(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = Folder()
        cls.addClassCleanup(cls.folder.close)
        cls.aggregator = cls.folder.add(
            Aggregator(cls.folder.path, "aggregator", "--metrics-vms",
                       "1")).start()
        cls.machine = Machine(cls.folder.path / "m", cores=4)
        cls.machine.busy = 0.5
        cls.machine.run_pod(POD, cores=1.0, waiting=0.25)
        cls.machine.run_pod(OTHER, cores=0.5)
        driver = Driver([cls.machine]).start()
        cls.addClassCleanup(driver.stop)
        cls.agent = cls.folder.add(agent(
            cls.folder.path, "node-a", [cls.aggregator.url],
            *cls.machine.agent_flags())).start()
        eventually("the node has rates", lambda: (
            cls.aggregator.node("node-a") or {"cpu": {}})["cpu"].get(
                "used_cores_10s"))

    def setUp(self):
        eventually("the node is fresh", lambda: self.aggregator.node(
            "node-a")["state"] == "fresh")


class Metrics(OneNode):
    def scrape(self):
        status, headers, text = self.aggregator.get("/metrics")
        self.assertEqual(status, 200)
        self.assertEqual(headers["Content-Type"],
                         "text/plain; version=0.0.4; charset=utf-8")
        return text

    def start_time(self):
        """When the aggregator started, as the kernel says it."""
        boot = int(re.search(r"^btime (\d+)$", pathlib.Path(
            "/proc/stat").read_text(), re.M)[1])
        stat = pathlib.Path("/proc", str(self.aggregator.process.pid),
                            "stat").read_text().rpartition(")")[2].split()
        return boot + int(stat[19]) / Machine.HZ

    def test_promtool_accepts_the_exposition(self):
        done = subprocess.run([PROMTOOL, "check", "metrics"],
                              input=self.scrape(), text=True,
                              capture_output=True, timeout=PATIENCE_S)
        output = [line for line in (done.stdout + done.stderr).splitlines()
                if CAMEL_CASE not in line]
        self.assertEqual(output, [])

    def test_its_own_process_requests_commits_and_agents_are_in_it(self):
        eventually("a commit is counted", lambda: samples(self.scrape())[
            "plimsoll_aggregator_commit_duration_seconds_count", ""] > 0)
        eventually("the agent is connected", lambda: samples(self.scrape())[
            "plimsoll_aggregator_agents_connected", ""] == 1)
        got = samples(self.scrape())
        self.assertGreater(
            got["plimsoll_aggregator_commit_duration_seconds_sum", ""], 0)
        ok = ("plimsoll_aggregator_http_requests_total",
              'listener="http",code="2xx"')
        self.assertGreater(samples(self.scrape())[ok], got[ok])
        self.assertEqual(got[ok[0], 'listener="health",code="5xx"'], 0)
        self.assertAlmostEqual(got["process_start_time_seconds", ""],
                               self.start_time(), delta=2)
        self.assertGreater(got["process_open_fds", ""], 5)
        self.assertGreaterEqual(got["process_max_fds", ""],
                                got["process_open_fds", ""])

    def test_totals_have_the_names_that_node_exporter_and_cadvisor_use(self):
        first = samples(self.scrape())
        waiting = ("node_pressure_cpu_waiting_seconds_total", 'node="node-a"')
        self.assertIn(waiting, first)
        self.assertEqual(first["node_memory_MemTotal_bytes",
                               'node="node-a"'], 16 << 30)
        used = ("plimsoll_node_cpu_seconds_total", 'node="node-a",mode="user"')
        eventually("CPU time grows", lambda: (
            samples(self.scrape())[used] > first[used]))
        pod = [labels for name, labels in first
               if name == "container_pressure_cpu_waiting_seconds_total"]
        self.assertEqual(len(pod), 1)
        self.assertIn('pod_uid="', pod[0])

    def test_derived_figures_equal_those_of_v1_nodes(self):
        def near():
            node = self.aggregator.node("node-a")
            got = samples(self.scrape())
            mean = got["plimsoll_node_cpu_used_cores_10s", 'node="node-a"']
            return abs(mean - node["cpu"]["used_cores_10s"]) < 0.2
        eventually("both show the same mean", near)

    def test_vms_above_the_limit_are_counted_and_have_no_series(self):
        got = samples(self.scrape())
        self.assertEqual(got["plimsoll_aggregator_vms", ""], 2)
        self.assertEqual(got["plimsoll_aggregator_vms_left_out", ""], 1)
        self.assertEqual(len({labels for name, labels in got
                              if name == "plimsoll_vm_used_cores"}), 1)

    def test_the_aggregator_exports_its_own_health(self):
        got = samples(self.scrape())
        self.assertEqual(got["plimsoll_aggregator_nodes", 'state="fresh"'], 1)
        self.assertEqual(got["plimsoll_aggregator_storing", ""], 1)
        self.assertEqual(got["plimsoll_aggregator_database_damaged", ""], 0)
        self.assertEqual(got["plimsoll_aggregator_rollups_left_out_total", ""], 0)
        self.assertEqual(
            got["plimsoll_aggregator_rollup_samples_left_out_total", ""], 0)
        self.assertEqual(
            got["plimsoll_aggregator_database_limit_bytes", ""], 40 << 30)
        eventually("the size of the database is known", lambda: samples(
            self.scrape()).get(
                ("plimsoll_aggregator_database_bytes", ""), 0) > 4096)
        self.assertGreater(got["plimsoll_aggregator_reports_total", ""], 0)
        self.assertGreater(got["process_resident_memory_bytes", ""], 1 << 20)
        self.assertGreater(got["process_cpu_seconds_total", ""], 0)
        self.assertTrue(any(name == "plimsoll_build_info" for name, _ in got))
        eventually("a batch is stored", lambda: samples(self.scrape())[
            "plimsoll_aggregator_acks_total", 'state="stored"'] > 0)


class Watcher(OneNode):
    """The interface of load-watcher."""

    @staticmethod
    def metrics(answer):
        return answer["data"]["NodeMetricsMap"]["node-a"]["metrics"]

    def test_both_spellings_of_the_path_work(self):
        for path in ("/watcher", "//watcher", "/watcher?host=node-a"):
            status, headers, text = self.aggregator.get(path)
            self.assertEqual(status, 200, path)
            self.assertEqual(headers["Content-Type"], "application/json")
            answer = json.loads(text)
            self.assertEqual([(m["type"], m["operator"])
                              for m in self.metrics(answer)], [
                ("CPU", "STD"), ("CPU", "AVG"),
                ("Memory", "STD"), ("Memory", "AVG")])
            eventually("half of the CPUs are in use", lambda path=path: abs(
                self.metrics(self.aggregator.json(path))[1]["value"] - 50)
                < 10)
            self.assertAlmostEqual(answer["window"]["end"],
                                   answer["timestamp"], delta=30)
            self.assertNotIn("null", text)

    def test_an_unknown_host_is_404_and_health_is_200(self):
        status, _, text = self.aggregator.get("/watcher?host=nobody")
        self.assertEqual(status, 404)
        self.assertIn("nobody", json.loads(text)["error"])
        self.assertEqual(self.aggregator.get("/watcher/health")[0], 200)


HISTORY = "/v1/nodes/node-a/history"
FIELDS = ",".join(["cpu.used_cores"] * 33)

# (path, status, part of the sentence)
REFUSED = (
    ("/v1", 404, "no such path: /v1; known paths: /apis/"),
    ("/v1/nodes/", 404, "no node ''"),
    ("/v1/nodes/nobody", 404, "no node 'nobody'"),
    ("/v1/nodes/nobody/history", 404, "no node 'nobody'"),
    ("/v1/nodes/node-a/past", 404, "no such path"),
    ("/v1/nodes/node-a/history/", 404, "no such path"),
    ("/v1/nodes/" + "x" * 20000, 404, "no node"),
    ("/v1/nodes/%22%5c%ff", 404, "no node"),
    ("/v1/nodes/%00node-a", 404, "no"),
    ("/v1/nodes/..%2f..%2fetc%2fpasswd", 404, "no"),
    ("/v1/vms/default", 404, "/v1/vms/NAMESPACE/NAME"),
    ("/v1/vms/a/b/c", 404, "/v1/vms/NAMESPACE/NAME"),
    ("/v1/vms/default/nobody", 404, "no API server"),
    ("/watcher?host=", 404, "host ''"),
    ("/watcher?host=" + "x" * 20000, 404, "no metrics"),
    ("/watcher/", 404, "no such path"),
    ("/metrics/x", 404, "no such path"),
    ("/v1/decisions?pod=nobody", 400, "pod"),
    ("/v1/decisions?pod=a/b&limit=0", 400, "limit"),
    ("/v1/decisions?pod=a/b&limit=many", 400, "limit"),
    ("/v1/decisions?pod=a/b&limit=99999999999999999999", 400, "limit"),
    ("/v1/decisions?pod=a/b&from=yesterday", 400, "from"),
    ("/v1/decisions?pod=a/b&from=200&to=100", 400, "from"),
    ("/v1/decisions?vm=nobody", 400, "vm"),
    ("/v1/decisions?pod=a/b&vm=c/d", 400, "different namespaces"),
    ("/v1/moves?vm=nobody", 400, "vm"),
    ("/v1/moves?state=lost", 400, "state"),
    ("/v1/moves?before=1", 400, "before"),
    (HISTORY + "?from=yesterday", 400, "from"),
    (HISTORY + "?from=", 400, "from"),
    (HISTORY + "?from=-1", 400, "from"),
    (HISTORY + "?from=1e9", 400, "from"),
    (HISTORY + "?from=2026-02-30T00:00:00Z", 400, "from"),
    (HISTORY + "?to=99999999999999999999", 400, "to"),
    (HISTORY + "?to=2026-01-01", 400, "to"),
    (HISTORY + "?from=200&to=100", 400, "from"),
    (HISTORY + "?from=100&to=100", 400, "from"),
    (HISTORY + "?from=0&step=1s", 400, "at most 11000"),
    (HISTORY + "?from=0&to=253402300799&step=1s", 400, "at most 11000"),
    (HISTORY + "?step=1ms", 400, "step"),
    (HISTORY + "?step=0", 400, "step"),
    (HISTORY + "?step=-5s", 400, "step"),
    (HISTORY + "?step=soon", 400, "step"),
    (HISTORY + "?fields=", 400, "field"),
    (HISTORY + "?fields=cpu.nothing", 400, "cpu.nothing"),
    (HISTORY + "?fields=" + "x" * 20000, 400, "field"),
    (HISTORY + "?fields=" + FIELDS, 400, "32"),
)


class Refusals(OneNode):
    """A bad request gets the right status and one sentence."""

    def ask(self, request):
        """The whole answer to these bytes."""
        with socket.create_connection(
                ("127.0.0.1", self.aggregator.ports[1]),
                timeout=PATIENCE_S) as s:
            s.sendall(request)
            got = b""
            while part := s.recv(65536):
                got += part
        return got.decode("latin-1")

    def test_a_bad_request_gets_one_sentence(self):
        for path, status, part in REFUSED:
            with self.subTest(path=path[:60]):
                got, headers, text = self.aggregator.get(path)
                self.assertEqual((got, headers["Content-Type"]),
                                 (status, "application/json"), text[:200])
                answer = json.loads(text)
                self.assertEqual(list(answer), ["error"])
                self.assertIn(part, answer["error"])
                self.assertNotIn("\n", answer["error"])
                self.assertLess(len(text), 1500)

    def test_only_get_and_head_are_allowed(self):
        for path in ("/v1/nodes", "/v1/nodes/node-a", "/v1/vms", HISTORY,
                     "/v1/decisions?pod=a/b", "/v1/moves", "/metrics",
                     "/watcher"):
            for method in ("POST", "PUT", "DELETE", "PATCH"):
                got = self.ask(f"{method} {path} HTTP/1.1\r\nHost: x\r\n"
                               "Content-Length: 2\r\nConnection: close\r\n"
                               "\r\n{}".encode())
                # Nodes are removed with a right only, and here nobody has one.
                status = 403 if (method, path) == (
                    "DELETE", "/v1/nodes/node-a") else 405
                self.assertIn(f" {status} ", got.split("\r\n")[0],
                              (method, path))
            got = self.ask(f"HEAD {path} HTTP/1.1\r\nHost: x\r\n"
                           "Connection: close\r\n\r\n".encode())
            self.assertIn(" 200 ", got.split("\r\n")[0], path)
            self.assertTrue(got.endswith("\r\n\r\n"), path)

    def test_a_range_of_thousands_of_years_is_answered_with_gaps(self):
        path = HISTORY + "?from=0&to=253402300799&step=8760h&fields=used_cores"
        rows = self.aggregator.json(path)["rows"]
        self.assertGreater(len(rows), 8000)
        self.assertIn(None, [value for _, value in rows])

    def test_unix_seconds_and_rfc_3339_select_the_same_rows(self):
        def rows(start, end):
            return self.aggregator.json(
                f"{HISTORY}?from={start}&to={end}&step=60s")["rows"]
        self.assertEqual(rows("1700000000", "1700000600"),
                         rows("2023-11-14T22:13:20Z",
                              "2023-11-14T23:23:20%2B01:00"))

    def test_bad_requests_leak_no_memory(self):
        def resident():
            return samples(self.aggregator.get("/metrics")[2])[
                "process_resident_memory_bytes", ""]

        def send_all():
            for path, _, _ in REFUSED:
                self.aggregator.get(path)
        send_all()
        before = resident()
        for _ in range(10):
            send_all()
        self.assertLess(resident() - before, 32 << 20)
        self.assertEqual(self.aggregator.get("/v1/nodes")[0], 200)


class SilentNode(unittest.TestCase):
    @mark(slow="a node is stale after 15 s")
    def test_a_node_that_stopped_reporting_has_only_its_age(self):
        folder = Folder()
        self.addCleanup(folder.close)
        aggregator = folder.add(Aggregator(folder.path)).start()
        machine = Machine(folder.path / "m", cores=4)
        program = folder.add(agent(folder.path, "node-a", [aggregator.url],
                                 *machine.agent_flags())).start()
        eventually("the node has reported", lambda: aggregator.node("node-a"))
        program.stop()

        def names():
            got = samples(aggregator.get("/metrics")[2])
            return {name for name, labels in got if "node-a" in labels}
        eventually("only the age remains",
                   lambda: names() == {"plimsoll_node_age_seconds"})


if __name__ == "__main__":
    unittest.main()
