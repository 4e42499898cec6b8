"""One agent and one aggregator: a load that the agent measures is served over
HTTP."""
import json
import pathlib
import subprocess
import sys
import time
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))

from harness import (BIN, PATIENCE_S, Aggregator, Driver, Folder,  # noqa: E402
                     Machine, agent, eventually)


class Once(unittest.TestCase):
    def test_one_report_of_this_machine_is_json(self):
        done = subprocess.run([BIN / "plimsoll-agent", "--once"], check=True,
                              capture_output=True, text=True,
                              timeout=PATIENCE_S)
        report = json.loads(done.stdout)
        self.assertEqual(report["cpu"]["state"], "present")
        self.assertGreater(report["cpu"]["user_us"], 0)
        self.assertGreater(report["memory"]["total_bytes"], 1 << 26)
        self.assertIn(report["kvm"]["state"], (
            "ok", "missing", "unverified", "create_failed", "run_failed"))

    def test_a_missing_file_is_not_reported_as_zero(self):
        folder = Folder()
        self.addCleanup(folder.close)
        machine = Machine(folder.path / "m")
        self.addCleanup(machine.close)
        (machine.root / "proc/pressure/io").unlink()
        done = subprocess.run(
            [BIN / "plimsoll-agent", "--once", *machine.agent_flags()],
            check=True, capture_output=True, text=True, timeout=PATIENCE_S)
        report = json.loads(done.stdout)
        self.assertEqual(report["pressure"]["io"], {"state": "absent"})
        self.assertEqual(report["kvm"]["state"], "unverified")


class Smoke(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = Folder()
        cls.addClassCleanup(cls.folder.close)
        cls.aggregator = cls.folder.add(Aggregator(cls.folder.path)).start()
        cls.machine = Machine(cls.folder.path / "m", cores=4)
        cls.machine.busy = 0.5
        cls.machine.run_pod("11111111-2222-3333-4444-555555555555", cores=1.0,
                            waiting=0.25)
        driver = Driver([cls.machine]).start()
        cls.addClassCleanup(driver.stop)
        cls.began = time.time()
        cls.agent = cls.folder.add(agent(
            cls.folder.path, "node-a", [cls.aggregator.url],
            *cls.machine.agent_flags())).start()
        eventually("the node has reported",
                   lambda: cls.aggregator.node("node-a"))

    def node(self):
        return self.aggregator.node("node-a")

    def test_a_measured_load_is_served_live(self):
        since = time.monotonic()
        node = eventually("half of 4 cores are in use", lambda: (
            (n := self.node()) and n["state"] == "fresh"
            and abs(n["cpu"].get("used_cores_10s", 0) - 2) < 0.3
            and abs(n["cpu"]["p95_cores_1d"] - 2) < 0.5 and n))
        self.assertEqual(node["cpu"]["cores"], 4)
        eventually("a new report is shown",
                   lambda: self.aggregator.shows("node-a", since))
        self.assertEqual(node["kvm"]["state"], "unverified")

    def test_the_log_names_the_database_and_each_new_node(self):
        self.aggregator.wait_log(
            f'"database opened" database="{self.aggregator.db}"')
        self.aggregator.wait_log('"first report of a node" node="node-a"')

    def test_a_pod_is_measured_by_its_own_cgroup(self):
        pod = eventually(
            "the pod uses a core, and waits a quarter of the time", lambda: (
                (n := self.node()) and n["vms"] and abs(
                    n["vms"][0].get("used_cores_5m", 0) - 1) < 0.2
                and abs(n["vms"][0].get("contention", 0) - 0.25) < 0.1
                and n["vms"][0]))
        self.assertEqual(pod["pod_uid"],
                         "11111111-2222-3333-4444-555555555555")

    def test_the_history_has_rows_and_gaps(self):
        eventually("the history has three rows", lambda: len([
            r for r in self.history()["rows"] if r[1] is not None]) >= 3)
        answer = self.history()
        self.assertEqual(answer["fields"], ["cpu.used_cores"])
        self.assertEqual(answer["step_s"], 1)
        self.assertIsNone(answer["rows"][0][1])
        eventually("the history shows two cores", lambda: any(
            abs(r[1] - 2) < 0.5 for r in self.history()["rows"]
            if r[1] is not None))

    def history(self):
        return self.aggregator.json(
            f"/v1/nodes/node-a/history?from={self.began - 60}&step=1"
            "&fields=cpu.used_cores")

    def test_the_history_is_served_as_csv(self):
        status, headers, text = self.aggregator.get(
            "/v1/nodes/node-a/history?step=10", "text/csv")
        self.assertEqual(status, 200)
        self.assertTrue(headers["Content-Type"].startswith("text/csv"))
        self.assertTrue(text.startswith("time,"))

    def test_one_node_is_served_by_its_name(self):
        self.assertEqual(self.aggregator.json("/v1/nodes/node-a")["name"],
                         "node-a")

    def test_a_bad_request_gets_its_status_and_a_sentence(self):
        for path, expected in (
                ("/v1/nodes/nobody", 404), ("/v1/nowhere", 404),
                ("/v1/nodes/nobody/history", 404),
                ("/v1/nodes/node-a/history?from=yesterday", 400),
                ("/v1/nodes/node-a/history?fields=cpu.colour", 400),
                ("/v1/nodes/node-a/history?from=9&to=8", 400)):
            with self.subTest(path):
                status, _, text = self.aggregator.get(path)
                self.assertEqual(status, expected)
                self.assertTrue(json.loads(text)["error"])

    def test_the_health_listener_answers(self):
        self.assertEqual(self.aggregator.health("/healthz")[0], 200)
        self.assertEqual(self.aggregator.health("/readyz")[0], 200)


if __name__ == "__main__":
    unittest.main()
