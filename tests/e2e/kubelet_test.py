"""Kubelets and KubeVirt act on pods that are bound: rejections, and temporary
pods whose only purpose is to choose a volume's node."""
import pathlib
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))

from cluster import ClusterCase  # noqa: E402
from harness import eventually, http_get, launcher  # noqa: E402

NODES = ("node-a", "node-b")


class Kubelet(ClusterCase):
    """Each test has a scheduler of its own, which knows of no rejection."""

    @classmethod
    def setUpClass(cls):
        cls.begin()
        cls.make_nodes(NODES, 6, "4Gi")  # room for one VM of 3 GiB each

    def setUp(self):
        self.name = self.own_name()
        self.program = self.scheduler(name=self.name).start()
        self.addCleanup(self.program.kill)
        self.port = self.program.wait_log(r"http=(\d+)").group(1)

    def create(self, name, of=None, provisional=False):
        pod = launcher(name, memory="3Gi", scheduler=self.name)
        if of is not None:
            pod["metadata"]["labels"]["kubevirt.io/created-by"] = of
        if provisional:
            pod["metadata"]["annotations"][
                "kubevirt.io/ephemeral-provisioning"] = "true"
        return self.make(pod)

    def rejected(self, reason):
        text = http_get(f"http://127.0.0.1:{self.port}/metrics")[2]
        name = "plimsoll_scheduler_rejected_by_kubelet_total"
        return f'{name}{{reason="{reason}"}} 1\n' in text

    def test_the_node_of_a_temporary_pod_is_reserved_for_its_vm(self):
        vm = "5d3f1a52-0000-4000-8000-000000000001"
        temporary = self.create("temporary", vm, provisional=True)
        node = self.bound(temporary)
        self.kube.remove(temporary)
        other = self.create("other")
        self.assertNotEqual(self.bound(other), node)
        late = self.create("late")
        eventually("there is no room", lambda: "2 Insufficient memory" in (
            self.kube.condition(late) or {}).get("message", ""))
        self.assertEqual(self.bound(self.create("real", vm)), node)

    def test_a_rejection_is_counted_and_its_node_avoided_for_a_while(self):
        first = self.create("first")
        self.assertEqual(self.bound(first), "node-a")
        name = first["metadata"]["name"]
        self.kube.patch_status(first, {
            "phase": "Failed", "reason": "OutOfmemory",
            "message": "Pod was rejected: no memory"})
        eventually("the rejection is counted",
                   lambda: self.rejected("OutOfmemory"))
        self.program.wait_log(f'"kubelet rejected pod".* pod="{name}" '
                              'node="node-a" reason="OutOfmemory"')
        self.assertEqual(self.bound(self.create("second")), "node-b")
        # The node is avoided, not excluded.
        self.assertEqual(self.bound(self.create("third")), "node-a")


if __name__ == "__main__":
    unittest.main()
