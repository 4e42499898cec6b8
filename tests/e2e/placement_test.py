"""The Harvester story on a real API server: requests say one node is nearly
empty, but it is the busy one.

node-reserved: most is requested, middling load
node-idle:     a good part is requested, next to no load
node-busy:     next to nothing is requested, all of its CPUs are at work
"""
import pathlib
import sys
import time
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))

from cluster import ClusterCase  # noqa: E402
from harness import (BIN, Aggregator, Driver, Machine, Program,  # noqa: E402
                     agent, eventually, launcher, reserving)

NODES = ("node-reserved", "node-idle", "node-busy")

# How soon after a load is gone the next VM goes there. The score looks back 5
# minutes, so that depends on how long the load was there: here some seconds.
QUIET_S = 60


class Story(ClusterCase):
    @classmethod
    def setUpClass(cls):
        cls.begin()
        cls.make_nodes(NODES)
        cls.kube.await_account("default")
        for node, count in (("node-reserved", 4), ("node-idle", 2)):
            for i in range(count):
                pod = cls.kube.create(reserving(f"old-{node}-{i}", node))
                cls.addClassCleanup(cls.kube.delete_pod, pod)
        cls.start_plimsoll()

    @classmethod
    def start_plimsoll(cls):
        path = cls.folder.path
        cls.aggregator = cls.folder.add(Aggregator(path)).start()
        cls.machines = {}
        for name, busy, waiting in zip(NODES, (0.55, 0.05, 0.97),
                                       (0.05, 0.0, 0.6)):
            machine = Machine(path / name)
            machine.busy, machine.waiting = busy, waiting
            cls.machines[name] = machine
        cls.driver = Driver(cls.machines.values()).start()
        cls.addClassCleanup(cls.driver.stop)
        for name, machine in cls.machines.items():
            cls.folder.add(agent(path, name, [cls.aggregator.url],
                                 *machine.agent_flags())).start()
        eventually("all nodes report their load", lambda: all(
            (cls.aggregator.node(n) or {}).get("cpu", {}).get(
                "used_cores_10s") is not None for n in NODES))
        cls.scheduler = cls.folder.add(Program(path, "scheduler", [
            BIN / "plimsoll-scheduler", "--kubeconfig",
            cls.cluster.kubeconfig(), "--aggregator", cls.aggregator.url,
            "--http", "127.0.0.1:0"])).start()
        cls.scheduler.wait_log("load is coming in")

    def place(self, name, **options):
        """Creates a VM's pod and waits for its node."""
        pod = self.kube.create(launcher(name, **options))
        self.addClassCleanup(self.kube.delete_pod, pod)
        node = eventually(f"{name} is bound", lambda: self.kube.node_of(pod))
        return pod, node

    def test_1_the_stock_scheduler_picks_the_busy_node(self):
        for i in range(3):
            pod, node = self.place(f"stock-{i}", scheduler="default-scheduler")
            self.assertEqual(node, "node-busy")
            self.addCleanup(self.kube.delete_pod, pod)

    def test_2_the_same_vms_go_to_the_idle_node_by_real_load(self):
        for i in range(3):
            pod, node = self.place(f"real-{i}")
            self.assertEqual(node, "node-idle")
            # The VM starts, and works.
            self.machines[node].run_pod(pod["metadata"]["uid"], cores=0.6)
            self.machines[node].busy += 0.6 / 6
        events = eventually("an event says so", lambda: [
            e for e in self.kube.events(pod) if e["reason"] == "Scheduled"])
        self.assertEqual(events[0]["reportingController"],
                         "plimsoll-scheduler")
        self.assertIn("Successfully assigned default/virt-launcher-real-2 to "
                      "node-idle", events[0]["note"])
        self.assertIn("% CPU used", events[0]["note"])
        now = self.kube.pod("default", pod["metadata"]["name"])
        self.assertIn("plimsoll.io/decision", now["metadata"]["annotations"])
        self.assertEqual(self.kube.condition(pod)["status"], "True")
        self.assert_recorded(pod["metadata"], events[0]["note"])

    def assert_recorded(self, meta, note):
        """The aggregator can say why, too."""
        route = f"/v1/decisions?pod=default/{meta['name']}"
        record, = eventually("the decision is recorded", lambda: (
            self.aggregator.json(route)["decisions"]))
        self.assertEqual(record["uid"], meta["uid"])
        self.assertEqual(record["chosen"], "node-idle")
        self.assertEqual(record["nodes"], len(NODES))
        self.assertIn(record["sentence"], note)
        best, other = record["best"][:2]
        self.assertEqual(best["node"], "node-idle")
        self.assertAlmostEqual(record["margin"],
                               best["score"] - other["score"], 5)
        self.assertAlmostEqual(sum(best["terms"].values()), best["score"], 5)
        self.assertLess(best["cpu_used"], other["cpu_used"])
        self.assertLess(best["load_age_s"], 15)
        self.assertGreater(time.time(), record["time"])

    def test_3_when_the_busy_node_goes_quiet_the_next_vm_goes_there(self):
        self.machines["node-busy"].busy = 0.02
        self.machines["node-busy"].waiting = 0.0

        def next_vm_goes_there():
            pod = self.kube.create(launcher("probe"))
            node = eventually("the probe is bound",
                              lambda: self.kube.node_of(pod))
            self.kube.delete_pod(pod)
            return node == "node-busy"
        eventually("the quiet node is chosen", next_vm_goes_there, QUIET_S, 2)


if __name__ == "__main__":
    unittest.main()
