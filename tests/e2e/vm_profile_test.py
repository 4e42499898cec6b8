"""What a VM did is known by its name: after its pod is gone, in its history
and profile, and when the scheduler places it again."""
import json
import pathlib
import subprocess
import sys
import time
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))

from cluster import ClusterCase  # noqa: E402
from harness import (BIN, Aggregator, Driver, Machine, Program,  # noqa: E402
                     agent, eventually, launcher, worker)

NODES = ("past-a", "past-b")
VM = "/v1/vms/default/night-job"
CORES = 3.0


class Past(ClusterCase):
    @classmethod
    def setUpClass(cls):
        cls.begin()
        cls.make_nodes(NODES)
        cls.kube.await_account("default")
        path = cls.folder.path
        cls.aggregator = cls.folder.add(Aggregator(
            path, "aggregator", "--kubeconfig",
            cls.cluster.kubeconfig())).start()
        cls.machines = {name: Machine(path / name) for name in NODES}
        cls.driver = Driver(cls.machines.values()).start()
        cls.addClassCleanup(cls.driver.stop)
        for name, machine in cls.machines.items():
            cls.folder.add(agent(path, name, [cls.aggregator.url],
                                 *machine.agent_flags())).start()
        eventually("all nodes report", lambda: all(
            cls.aggregator.node(n) for n in NODES))
        cls.scheduler = cls.folder.add(Program(path, "scheduler", [
            BIN / "plimsoll-scheduler", "--kubeconfig",
            cls.cluster.kubeconfig(), "--aggregator", cls.aggregator.url,
            "--http", "127.0.0.1:0"])).start()
        cls.scheduler.wait_log("load is coming in")

    def vm(self):
        """Nothing where it is not known."""
        status, _, text = self.aggregator.get(VM)
        return json.loads(text) if status == 200 else {}

    def place(self):
        pod = self.kube.create(launcher("night-job", cpu="400m"))
        self.addCleanup(self.kube.delete_pod, pod)
        node = eventually("it is bound", lambda: self.kube.node_of(pod))
        return pod, node

    def record(self, pod):
        """The decision that bound the pod."""
        meta = pod["metadata"]
        route = f"/v1/decisions?pod=default/{meta['name']}"
        record, = eventually("the decision is recorded", lambda: [
            r for r in self.aggregator.json(route)["decisions"]
            if r["uid"] == meta["uid"]])
        return record

    def works(self, pod, node):
        """The VM runs; waits until that is in its profile."""
        uid = pod["metadata"]["uid"]
        with self.driver.lock:
            self.machines[node].run_pod(uid, cores=CORES)
            self.machines[node].busy = CORES / 6
        eventually("it has a past", lambda: self.vm().get(
            "profile", {}).get("covered_s", 0) > 5, 60)

    def ends(self, pod, node):
        uid = pod["metadata"]["uid"]
        self.kube.delete_pod(pod)
        with self.driver.lock:
            self.machines[node].end_pod(uid)
            self.machines[node].busy = 0.0
        eventually("it is gone", lambda: not self.vm()["pods"])

    def test_a_vm_is_placed_by_what_it_did_before(self):
        self.assertEqual(self.aggregator.get(VM)[0], 404)
        pod, node = self.place()
        self.assertNotIn("past_s", self.record(pod))
        self.works(pod, node)
        self.ends(pod, node)
        vm = self.vm()
        self.assertEqual(vm["pods"], [])
        self.assertAlmostEqual(vm["profile"]["mean_cores"], CORES, delta=0.5)
        self.assertEqual(len(vm["profile"]["mean_cores_by_hour"]), 24)
        self.assert_history()
        self.assert_scored(pod, vm["profile"])
        again, _ = self.place()
        record = self.record(again)
        self.assertAlmostEqual(record["past_cores"], CORES, delta=0.5)
        # Weighed by age: a little less than what is covered.
        self.assertGreater(record["past_s"], 4)

    def assert_history(self):
        rows = self.aggregator.json(f"{VM}/history?fields=used_cores")["rows"]
        known = [value for _, value in rows if value is not None]
        self.assertGreater(len(known), 0)
        self.assertAlmostEqual(max(known), CORES, delta=0.5)
        self.assertLess(len(known), len(rows))
        status, headers, text = self.aggregator.get(
            f"{VM}/history?step=1h", "text/csv")
        self.assertEqual(status, 200)
        self.assertEqual(headers["Content-Type"], "text/csv")
        self.assertTrue(text.startswith("time,used_cores,contention,"))

    def assert_scored(self, pod, profile):
        """`score` takes the profile as it is given."""
        question = {"pod": pod, "nodes": [worker(n) for n in NODES],
                    "pods": [], "load": self.aggregator.json("/v1/nodes"),
                    "now": time.time()}
        expected = []
        for vms in ([], [profile, dict(profile, name="other")]):
            done = subprocess.run(
                [BIN / "plimsoll-scheduler", "score", "--in", "-"],
                input=json.dumps(dict(question, vms=vms)), text=True,
                capture_output=True, check=True)
            expected.append(json.loads(done.stdout))
        self.assertNotEqual(expected[0]["nodes"], expected[1]["nodes"])


if __name__ == "__main__":
    unittest.main()
