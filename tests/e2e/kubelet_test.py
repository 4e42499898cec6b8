"""Kubelets and KubeVirt act on pods that are bound: rejections, failed starts
and migrations, and temporary pods whose only purpose is to choose a volume's
node."""
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

    def create_again(self, name, vm):
        """Another pod of the VM."""
        pod = launcher(name, memory="1Gi", scheduler=self.name)
        pod["metadata"]["annotations"]["kubevirt.io/domain"] = vm
        pod["metadata"]["labels"].update({"kubevirt.io/created-by": vm})
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

    def test_a_vm_that_failed_at_its_start_starts_elsewhere(self):
        first = self.create_again("first", "vm")
        self.assertEqual(self.bound(first), "node-a")
        self.kube.patch_status(first, {"phase": "Failed"})
        self.kube.remove(first)
        # Another VM still goes to the first of equal nodes.
        other = self.create("other")
        self.assertEqual(self.bound(other), "node-a")
        self.kube.remove(other)
        second = self.create_again("second", "vm")
        self.assertEqual(self.bound(second), "node-b")
        self.kube.patch_status(second, {"phase": "Failed"})
        self.kube.remove(second)
        # Both nodes wait: the VM still gets one.
        self.bound(self.create_again("third", "vm"))


class Migrations(ClusterCase):
    @classmethod
    def setUpClass(cls):
        cls.begin()
        cls.make_nodes((*NODES, "node-c"), 6, "4Gi")

    def setUp(self):
        self.name = self.own_name()
        self.addCleanup(self.scheduler(name=self.name).start().kill)

    def create(self, name, migration=None):
        """A pod of the VM, the target of this migration if there is one.
        KubeVirt keeps a target off the node of the VM."""
        mine = {"kubevirt.io/created-by": "vm"}
        pod = launcher(name, memory="1Gi", scheduler=self.name)
        pod["metadata"]["annotations"]["kubevirt.io/domain"] = "vm"
        pod["metadata"]["labels"].update(mine)
        if migration is not None:
            pod["metadata"]["labels"]["kubevirt.io/migrationJobUID"] = migration
            pod["spec"]["affinity"] = {"podAntiAffinity": {
                "requiredDuringSchedulingIgnoredDuringExecution": [{
                    "topologyKey": "kubernetes.io/hostname",
                    "labelSelector": {"matchLabels": mine}}]}}
        return self.make(pod)

    def test_a_migration_that_failed_chooses_another_node_next(self):
        source = self.create("source")
        self.assertEqual(self.bound(source), "node-a")
        self.kube.patch_status(source, {"phase": "Running"})
        nodes = []
        for number in range(3):
            target = self.create(f"target-{number}", f"u{number}")
            nodes.append(self.bound(target))
            self.kube.patch_status(target, {"phase": "Running"})
            self.kube.patch_status(target, {"phase": "Failed"})
        self.assertEqual(nodes[:2], ["node-b", "node-c"])
        # Both nodes wait: the VM still gets one.
        self.assertIn(nodes[2], nodes[:2])


class Loaded(ClusterCase):
    """Two nodes with agents: one idle, one at 88 %."""

    @classmethod
    def setUpClass(cls):
        cls.begin()
        cls.make_nodes(NODES)
        cls.start_load({"node-a": (0.02, 0), "node-b": (0.88, 0)})

    def place(self, name):
        pod = self.make(launcher(f"{self.name}-{name}", scheduler=self.name))
        return pod, self.bound(pod)

    def reject(self, pod):
        self.kube.patch_status(pod, {
            "phase": "Failed", "reason": "UnexpectedAdmissionError",
            "message": "Pod was rejected: no device"})
        self.program.wait_log(
            f'"kubelet rejected pod".* pod="{pod["metadata"]["name"]}"')

    def start(self, name):
        self.name = name
        self.program = self.scheduler(
            "--aggregator", self.aggregator.url, name=name).start()
        self.addCleanup(self.program.kill)
        self.program.wait_log("receiving load")

    def test_one_rejection_does_not_outweigh_any_load(self):
        self.start("once")
        pod, node = self.place("first")
        self.assertEqual(node, "node-a")
        self.reject(pod)
        for number in range(3):
            self.assertEqual(self.place(f"next-{number}")[1], "node-a")

    def test_a_node_that_rejects_one_vm_after_another_is_avoided(self):
        self.start("again")
        nodes = []
        while nodes.count("node-a") < 5 and len(nodes) < 12:
            pod, node = self.place(f"vm-{len(nodes)}")
            nodes.append(node)
            if node == "node-a":
                self.reject(pod)
        self.assertEqual(nodes[:2], ["node-a", "node-a"])
        self.assertEqual(nodes.count("node-a"), 5)
        for number in range(3):
            self.assertEqual(self.place(f"late-{number}")[1], "node-b")


if __name__ == "__main__":
    unittest.main()
