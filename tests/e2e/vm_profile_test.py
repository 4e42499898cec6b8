"""The history and the profile of a VM are kept by its name: they outlive its
pod, and the scheduler uses them when it places the VM again."""
import json
import pathlib
import subprocess
import sys
import time
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))

from cluster import ClusterCase  # noqa: E402
from harness import BIN, eventually, launcher, worker  # noqa: E402

NODES = ("profile-a", "profile-b")
VM = "/v1/vms/default/night-job"
CORES = 3.0


class VmProfile(ClusterCase):
    @classmethod
    def setUpClass(cls):
        cls.begin()
        cls.make_nodes(NODES)
        cls.start_load(dict.fromkeys(NODES, (0.0, 0.0)), "--kubeconfig",
                       cls.cluster.kubeconfig())
        cls.scheduler("--aggregator", cls.aggregator.url).start().wait_log(
            "receiving load")

    def vm(self):
        """The VM as the aggregator has it; empty if it does not know it."""
        status, _, text = self.aggregator.get(VM)
        return json.loads(text) if status == 200 else {}

    def place(self):
        pod = self.make(launcher("night-job", cpu="400m"))
        return pod, self.bound(pod)

    def record(self, pod):
        """The decision that bound the pod."""
        meta = pod["metadata"]
        route = f"/v1/decisions?pod=default/{meta['name']}"
        record, = eventually("the decision is recorded", lambda: [
            r for r in self.aggregator.json(route)["decisions"]
            if r["uid"] == meta["uid"]])
        return record

    def run_vm(self, pod, node):
        """Runs the VM until its load is in its profile."""
        uid = pod["metadata"]["uid"]
        with self.driver.lock:
            self.machines[node].run_pod(uid, cores=CORES)
            self.machines[node].busy = CORES / 6

        def is_known():
            profile = self.vm().get("profile", {})
            return profile.get("covered_s", 0) > 5 and abs(
                profile["mean_cores"] - CORES) < 0.5
        eventually("the VM has a profile with its load", is_known)

    def end_vm(self, pod, node):
        uid = pod["metadata"]["uid"]
        self.kube.remove(pod)
        with self.driver.lock:
            self.machines[node].end_pod(uid)
            self.machines[node].busy = 0.0
        eventually("the VM has ended", lambda: not self.vm()["pods"])

    def test_a_vm_is_placed_by_its_profile(self):
        self.assertEqual(self.aggregator.get(VM)[0], 404)
        pod, node = self.place()
        self.assertNotIn("past_s", self.record(pod))
        self.run_vm(pod, node)
        self.end_vm(pod, node)
        vm = self.vm()
        self.assertEqual(vm["pods"], [])
        self.assertAlmostEqual(vm["profile"]["mean_cores"], CORES, delta=0.5)
        self.assertEqual(len(vm["profile"]["mean_cores_by_hour"]), 24)
        self.assert_history()
        self.assert_scored(pod, vm["profile"])
        record = eventually("the VM is placed by its profile",
                            self.placed_by_profile)
        self.assertAlmostEqual(record["past_cores"], CORES, delta=0.5)
        # The seconds are weighed by their age: a little less than covered.
        self.assertGreater(record["past_s"], vm["profile"]["covered_s"] / 2)

    def placed_by_profile(self):
        """The decision, if the profile came in time: a scheduler waits for
        0.3 s, and on a busy machine that may be too short."""
        pod, _ = self.place()
        record = self.record(pod)
        if "past_s" in record:
            return record
        self.kube.remove(pod)
        return None

    def assert_history(self):
        rows = self.aggregator.json(f"{VM}/history?fields=used_cores")["rows"]
        known = [value for _, value in rows if value is not None]
        self.assertTrue(any(abs(value - CORES) < 0.5 for value in known),
                        known)
        self.assertLess(len(known), len(rows))
        status, headers, text = self.aggregator.get(
            f"{VM}/history?step=1h", "text/csv")
        self.assertEqual(status, 200)
        self.assertEqual(headers["Content-Type"], "text/csv")
        self.assertTrue(text.startswith("time,used_cores,contention,"))

    def assert_scored(self, pod, profile):
        """`score` takes the profile just as the aggregator serves it."""
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
