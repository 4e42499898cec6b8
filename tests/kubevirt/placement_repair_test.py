"""People change a VM that runs, and KubeVirt copies the change to its VMI: the
scheduler moves the VM to where it may stand now, and knows which nodes each VM
can reach."""
import pathlib
import sys
import unittest

TESTS = pathlib.Path(__file__).resolve().parents[1]
sys.path += [str(TESTS / "support"), str(TESTS / "e2e")]

from kubevirt import path_of  # noqa: E402
from scene_case import SceneCase, path_of_node  # noqa: E402
from virt_handler import name_of  # noqa: E402

LOADS = "/apis/load.plimsoll.io/v1alpha1/namespaces/default/vmloads"
DISKS = {"node-0": "tape", "node-1": "ssd", "node-2": "ssd"}


class PlacementRepair(SceneCase):
    @classmethod
    def setUpClass(cls):
        cls.begin_kubevirt(tuple(DISKS), configuration={
            "vmRolloutStrategy": "LiveUpdate"})
        cls.start_vm_load()
        for node, disk in DISKS.items():
            cls.kube.patch(path_of_node(node), {"metadata": {
                "labels": {"disk": disk}}})
        cls.start_scheduler("--rebalance", "automatic")

    def test_a_vm_whose_selector_changes_is_moved(self):
        for name in ("changes", "stays"):
            self.make_vm(name, nodeSelector={"disk": "tape"})
        self.await_running("changes", "stays")
        for name in ("changes", "stays"):
            self.assertEqual(self.vm_node(name), "node-0")
            self.await_reach(name, 0)
        self.select("changes", "ssd")
        self.await_reach("changes", 2)
        move = self.await_move("changes", "succeeded")
        self.assertEqual((move["reason"], move["source"]),
                         ("placement", "node-0"))
        self.assertIn("its node selector or node affinity does not admit the "
                      "node", move["sentence"])
        self.assertEqual(DISKS[self.vm_node("changes")], "ssd")
        job, = self.migrations("changes")
        self.assertEqual(name_of(job), move["migration"])
        self.await_reach("changes", 1)
        self.assertEqual(self.vm_node("stays"), "node-0")
        self.assertEqual(self.moves("stays"), [])
        self.assert_each_runs_once(["changes", "stays"])

    def select(self, name, disk):
        """A new node selector of the VM; returns when its VMI has it."""
        self.kube.patch(path_of("VirtualMachine", "default", name), {
            "spec": {"template": {"spec": {"nodeSelector": {"disk": disk}}}}})
        self.wait("the VMI has the selector", lambda: self.vmi(name)["spec"][
            "nodeSelector"] == {"disk": disk})

    def await_reach(self, name, nodes):
        self.wait(f"{name} can reach {nodes} nodes", lambda: [
            load["status"].get("reachableNodes")
            for load in self.aggregator.json(LOADS)["items"]
            if name_of(load) == name] == [nodes])


if __name__ == "__main__":
    unittest.main()
