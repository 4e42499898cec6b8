"""The scheduler follows the version of the API server where versions of
kube-scheduler differ: the rows of docs/parity.md. `make e2e-1.36` and `make
e2e-1.30` run this on these versions."""
import pathlib
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))

from cluster import NodesPerTestCase  # noqa: E402
from harness import eventually  # noqa: E402
from kube_api import path_of  # noqa: E402

DRIVER = "missing.example.com"
SELECTED = "volume.kubernetes.io/selected-node"
RESTARTS = "RestartAllContainersOnContainerExits"


class Versions(NodesPerTestCase):
    @classmethod
    def setUpClass(cls):
        cls.begin()
        cls.version = cls.kube.get("/version")["gitVersion"]
        cls.minor = int(cls.version.split(".")[1])
        cls.program = cls.scheduler().start()
        cls.make_for_class({
            "apiVersion": "storage.k8s.io/v1", "kind": "StorageClass",
            "metadata": {"name": "missing"}, "provisioner": DRIVER,
            "volumeBindingMode": "WaitForFirstConsumer"})
        cls.make_for_class({
            "apiVersion": "storage.k8s.io/v1", "kind": "CSIDriver",
            "metadata": {"name": DRIVER},
            "spec": {"preventPodSchedulingIfMissing": True}})

    def test_the_log_names_the_version_and_its_behaviours(self):
        line = eventually("the version is known", lambda: next(
            (text for text in self.program.log().splitlines()
             if "deciding as kube-scheduler of this version" in text), None))
        self.assertIn(self.version, line)
        for row, since in (("declared-features", 36), ("resize-by-sums", 37)):
            self.assertEqual(row in line, self.minor >= since, line)

    def test_a_restart_rule_needs_a_kubelet_that_declares_it(self):
        if self.minor < 36:
            self.skipTest("the API server drops the rule")
        self.nodes("old-kubelet")
        pod = self.pod("restarts", containers=[{
            "name": "compute", "image": "registry.example/app:1",
            "restartPolicy": "Never", "restartPolicyRules": [{
                "action": "RestartAllContainers",
                "exitCodes": {"operator": "In", "values": [42]}}]}])
        self.assert_unschedulable(
            pod, "node(s) didn't match Pod's required features")
        self.kube.patch(path_of("Node", name="old-kubelet") + "/status", {
            "status": {"declaredFeatures": [RESTARTS]}})
        self.assertEqual(self.bound(pod), "old-kubelet")

    def test_a_driver_that_must_be_there_excludes_nodes_without_it(self):
        self.nodes("no-driver")
        self.make({
            "apiVersion": "v1", "kind": "PersistentVolumeClaim",
            "metadata": {"namespace": "default", "name": "disk"},
            "spec": {"storageClassName": "missing",
                     "accessModes": ["ReadWriteOnce"],
                     "resources": {"requests": {"storage": "1Gi"}}}})
        pod = self.pod("stored", volumes=[{
            "name": "disk", "persistentVolumeClaim": {"claimName": "disk"}}])
        if self.minor >= 37:
            self.assert_unschedulable(
                pod, f"{DRIVER} CSI driver is not installed on the node")
            return
        claim = path_of("PersistentVolumeClaim", "default", "disk")
        eventually("the node is chosen", lambda: self.kube.get(claim)[
            "metadata"].get("annotations", {}).get(SELECTED) == "no-driver")


if __name__ == "__main__":
    unittest.main()
