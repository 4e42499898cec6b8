"""VMs go by the real load, on a real API server: by requests one node is
nearly empty, but its CPUs are all in use.

node-reserved: most CPUs are requested, the load is middling
node-idle:     a good part is requested, there is next to no load
node-busy:     next to nothing is requested, all CPUs are in use
"""
import datetime
import pathlib
import sys
import time
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))

from cluster import ClusterCase  # noqa: E402
from harness import eventually, launcher, reserving  # noqa: E402

LOADS = {"node-reserved": (0.55, 0.05), "node-idle": (0.05, 0.0),
         "node-busy": (0.97, 0.6)}


class Placement(ClusterCase):
    @classmethod
    def setUpClass(cls):
        cls.begin()
        cls.make_nodes(LOADS)
        for node, count in (("node-reserved", 4), ("node-idle", 2)):
            for i in range(count):
                cls.make_for_class(reserving(f"old-{node}-{i}", node))
        cls.began = time.time()
        cls.start_load(LOADS)
        cls.scheduler("--aggregator", cls.aggregator.url).start().wait_log(
            "receiving load")

    def place(self, name, **options):
        """Creates the pod of a VM and waits for its node."""
        pod = self.make(launcher(name, **options))
        return pod, self.bound(pod)

    def place_by_load(self, name):
        """The same, again if the load of the nodes was too old on a busy
        machine."""
        def placed():
            pod, node = self.place(name)
            if "% CPU used" in self.event(pod)["note"]:
                return pod, node
            return self.kube.remove(pod)
        return eventually("the VM goes by load", placed)

    def test_the_stock_scheduler_picks_the_busy_node(self):
        for i in range(3):
            _, node = self.place(f"stock-{i}", scheduler="default-scheduler")
            self.assertEqual(node, "node-busy")

    def test_vms_follow_the_real_load(self):
        with self.subTest("VMs go to the idle node, and an event says why"):
            self.place_on_the_idle_node()
        with self.subTest("once the busy node is quiet a VM goes there"):
            with self.driver.lock:
                self.machines["node-busy"].busy = 0.02
                self.machines["node-busy"].waiting = 0.0
            eventually("the quiet node is chosen",
                       self.next_vm_goes_to_the_quiet_node)

    def place_on_the_idle_node(self):
        for i in range(3):
            pod, node = self.place_by_load(f"real-{i}")
            self.assertEqual(node, "node-idle")
            # The VM starts and uses its CPU.
            with self.driver.lock:
                self.machines[node].run_pod(pod["metadata"]["uid"], cores=0.6)
                self.machines[node].busy += 0.6 / 6
        event = self.event(pod)
        self.assertEqual(event["reportingController"], "plimsoll-scheduler")
        self.assertIn("Successfully assigned default/virt-launcher-real-2 to "
                      "node-idle", event["note"])
        self.assertIn("% CPU used", event["note"])
        now = self.kube.pod("default", pod["metadata"]["name"])
        self.assertIn("plimsoll.io/decision", now["metadata"]["annotations"])
        self.assertEqual(self.kube.condition(pod)["status"], "True")
        self.assert_recorded(pod["metadata"], event["note"])
        self.assert_vmi_has_the_event(pod["metadata"], event["note"])

    def assert_vmi_has_the_event(self, meta, note):
        vmi = {"metadata": {"namespace": meta["namespace"],
                            "uid": meta["labels"]["kubevirt.io/created-by"]}}
        event = self.event(vmi)
        self.assertEqual(event["regarding"]["kind"], "VirtualMachineInstance")
        self.assertEqual(event["regarding"]["apiVersion"], "kubevirt.io/v1")
        self.assertEqual(event["regarding"]["name"],
                         meta["annotations"]["kubevirt.io/domain"])
        self.assertEqual(event["note"], note)

    def assert_recorded(self, meta, note):
        """The aggregator serves the decision and its reasons too."""
        route = f"/v1/decisions?pod=default/{meta['name']}"
        record, = eventually("the decision is recorded", lambda: (
            self.aggregator.json(route)["decisions"]))
        self.assertEqual(record["uid"], meta["uid"])
        self.assertEqual(record["chosen"], "node-idle")
        self.assertEqual(record["nodes"], len(LOADS))
        self.assertIn(record["sentence"], note)
        best, other = record["best"][:2]
        self.assertEqual(best["node"], "node-idle")
        self.assertAlmostEqual(record["margin"],
                               best["score"] - other["score"], 5)
        self.assertEqual(record["decided_by"], "cpu")
        self.assertAlmostEqual(record["decided_points"],
                               best["terms"]["cpu"] - other["terms"]["cpu"], 5)
        self.assertAlmostEqual(sum(best["terms"].values()), best["score"], 5)
        self.assertLess(best["cpu_used"], other["cpu_used"])
        self.assertGreater(record["time"] - best["load_age_s"], self.began)
        self.assertGreater(time.time(), record["time"])
        self.assertEqual(record["time"], datetime.datetime.fromisoformat(
            record["time_rfc3339"].replace("Z", "+00:00")).timestamp())
        vm = meta["annotations"]["kubevirt.io/domain"]
        self.assertEqual(record["vm"], vm)
        self.assertEqual([record], self.aggregator.json(
            f"/v1/decisions?vm=default/{vm}")["decisions"])

    def next_vm_goes_to_the_quiet_node(self):
        pod = self.kube.create(launcher("probe"))
        try:
            return self.bound(pod) == "node-busy"
        finally:
            self.kube.remove(pod)


if __name__ == "__main__":
    unittest.main()
