"""What kubelets and KubeVirt do to our pods after they were bound: rejections,
and temporary pods that only make a volume get its node."""
import pathlib
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))

from cluster import Cluster  # noqa: E402
from harness import (BIN, Folder, Program, eventually,  # noqa: E402
                     http_get, launcher, worker)

NODES = ("node-a", "node-b")


class Kubelet(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = Folder()
        cls.addClassCleanup(cls.folder.close)
        cls.cluster = Cluster("--with", "controller-manager")
        cls.addClassCleanup(cls.cluster.close)
        cls.cluster.await_ready()
        cls.kube = cls.cluster.kube()
        cls.kube.await_account("default")
        for name in NODES:  # one VM of 3 GiB each
            cls.kube.create(worker(name, memory="4Gi"))
        for name in NODES:
            cls.kube.await_node(name)
        cls.scheduler = cls.folder.add(Program(cls.folder.path, "scheduler", [
            BIN / "plimsoll-scheduler", "--kubeconfig",
            cls.cluster.kubeconfig(), "--http", "127.0.0.1:0"])).start()
        cls.port = cls.scheduler.wait_log(r"http=(\d+)").group(1)
        cls.scheduler.wait_log("this scheduler leads")

    def create(self, name, of=None, provisional=False):
        pod = launcher(name, memory="3Gi")
        if of is not None:
            pod["metadata"]["labels"]["kubevirt.io/created-by"] = of
        if provisional:
            pod["metadata"]["annotations"][
                "kubevirt.io/ephemeral-provisioning"] = "true"
        made = self.kube.create(pod)
        self.addCleanup(self.kube.delete_pod, made)
        return made

    def node_of(self, pod):
        return eventually(f"{pod['metadata']['name']} is bound",
                          lambda: self.kube.node_of(pod))

    def rejected(self, reason):
        text = http_get(f"http://127.0.0.1:{self.port}/metrics")[2]
        name = "plimsoll_scheduler_rejected_by_kubelet_total"
        return f'{name}{{reason="{reason}"}} 1\n' in text

    def test_1_a_temporary_pods_place_is_kept_for_its_vm(self):
        vm = "5d3f1a52-0000-4000-8000-000000000001"
        temporary = self.create("temporary", vm, provisional=True)
        place = self.node_of(temporary)
        self.kube.delete_pod(temporary)
        other = self.create("other")
        self.assertNotEqual(self.node_of(other), place)
        late = self.create("late")
        eventually("there is no room", lambda: "2 Insufficient memory" in (
            self.kube.condition(late) or {}).get("message", ""))
        self.assertEqual(self.node_of(self.create("real", vm)), place)

    def test_2_a_rejection_is_counted_and_the_node_eased_off(self):
        first = self.create("first")
        self.assertEqual(self.node_of(first), "node-a")
        name = first["metadata"]["name"]
        self.kube.request(
            "PATCH", f"/api/v1/namespaces/default/pods/{name}/status",
            {"status": {"phase": "Failed", "reason": "OutOfmemory",
                        "message": "Pod was rejected: no memory"}},
            "application/merge-patch+json")
        eventually("it is counted", lambda: self.rejected("OutOfmemory"))
        self.scheduler.wait_log(f'"kubelet rejected a pod".* pod="{name}" '
                                'node="node-a" reason="OutOfmemory"')
        self.assertEqual(self.node_of(self.create("second")), "node-b")
        # It is eased off, not excluded.
        self.assertEqual(self.node_of(self.create("third")), "node-a")


if __name__ == "__main__":
    unittest.main()
