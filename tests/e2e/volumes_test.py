"""Volumes on a real API server with its own volume controller: local volumes
that wait for their first consumer, provisioning for the chosen node, claims
that are missing or in use.

The test plays the provisioner of a CSI driver: it makes the volume once the
claim names a node. The scheduler has the rights that docs/security.md lists
and no others."""
import pathlib
import re
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))

from cluster import NodesPerTestCase  # noqa: E402
from harness import ROOT, eventually, launcher  # noqa: E402
from kube_api import kubectl, path_of, token_kubeconfig  # noqa: E402

HOST = "kubernetes.io/hostname"
SELECTED = "volume.kubernetes.io/selected-node"
VOLUMES = path_of("PersistentVolume")
CLAIMS = path_of("PersistentVolumeClaim", "default")
ACCOUNT = "plimsoll-scheduler"


class Volumes(NodesPerTestCase):
    @classmethod
    def setUpClass(cls):
        cls.begin()
        for name, provisioner in (
                ("local", "kubernetes.io/no-provisioner"),
                ("made", "csi.example.com")):
            cls.make_for_class({
                "apiVersion": "storage.k8s.io/v1", "kind": "StorageClass",
                "metadata": {"name": name}, "provisioner": provisioner,
                "volumeBindingMode": "WaitForFirstConsumer"})
        # Moves need rights that the base does not give.
        cls.program = cls.scheduler(
            "--rebalance", "off", "--make-room", "off",
            kubeconfig=cls.make_account()).start()

    @classmethod
    def make_account(cls):
        """The kubeconfig of an account with the documented rights alone."""
        doc = (ROOT / "docs/security.md").read_text()
        role = next(block for block in re.findall(r"```\n(.*?)```", doc, re.S)
                    if f"metadata: {{name: {ACCOUNT}}}" in block)
        admin = cls.cluster.kubeconfig()
        cls.addClassCleanup(cls.kube.delete,
                            path_of("ClusterRole", name=ACCOUNT))
        kubectl(admin, "apply", "-f", "-", text=role)
        cls.make_for_class({"apiVersion": "v1", "kind": "ServiceAccount",
                            "metadata": {"name": ACCOUNT,
                                         "namespace": "default"}})
        cls.make_for_class({
            "apiVersion": "rbac.authorization.k8s.io/v1",
            "kind": "ClusterRoleBinding", "metadata": {"name": ACCOUNT},
            "roleRef": {"apiGroup": "rbac.authorization.k8s.io",
                        "kind": "ClusterRole", "name": ACCOUNT},
            "subjects": [{"kind": "ServiceAccount", "name": ACCOUNT,
                          "namespace": "default"}]})
        path = cls.folder.path / "scheduler.kubeconfig"
        path.write_text(token_kubeconfig(
            admin, cls.kube.token("default", ACCOUNT)))
        return path

    def claim(self, name, storage_class, mode="ReadWriteOnce"):
        return self.make({
            "apiVersion": "v1", "kind": "PersistentVolumeClaim",
            "metadata": {"name": name, "namespace": "default"}, "spec": {
                "accessModes": [mode], "storageClassName": storage_class,
                "resources": {"requests": {"storage": "1Gi"}}}})

    def volume(self, name, storage_class, node, mode="ReadWriteOnce",
               claim=None):
        spec = {
            "capacity": {"storage": "2Gi"}, "accessModes": [mode],
            "storageClassName": storage_class,
            "persistentVolumeReclaimPolicy": "Retain",
            "local": {"path": "/disks/1"},
            "nodeAffinity": {"required": {"nodeSelectorTerms": [{
                "matchExpressions": [{"key": HOST, "operator": "In",
                                      "values": [node]}]}]}}}
        if claim:
            spec["claimRef"] = {"namespace": "default", "kind":
                                "PersistentVolumeClaim", "apiVersion": "v1",
                                "name": claim["metadata"]["name"],
                                "uid": claim["metadata"]["uid"]}
        self.make({"apiVersion": "v1", "kind": "PersistentVolume",
                   "metadata": {"name": name}, "spec": spec})

    def setUp(self):
        self.addCleanup(self.assert_the_rights_suffice)

    def assert_the_rights_suffice(self):
        self.program.wait_log("caches synced")
        for complaint in ("forbidden", "without these objects", "cannot"):
            self.assertNotIn(complaint, self.program.log())

    def pod(self, name, *claims):
        pod = launcher(name, nodeSelector=self.label())
        pod["spec"]["volumes"] += [
            {"name": f"disk-{i}", "persistentVolumeClaim": {"claimName": c}}
            for i, c in enumerate(claims)]
        return self.make(pod)

    def selected(self, name):
        """The node that the claim names for its provisioner."""
        notes = self.kube.get(f"{CLAIMS}/{name}")["metadata"].get(
            "annotations", {})
        return notes.get(SELECTED)

    def phase(self, name):
        return self.kube.get(f"{CLAIMS}/{name}")["status"]["phase"]

    def test_a_local_volume_decides_the_node_and_is_bound_before_the_pod(self):
        self.nodes("local-1", "local-2")
        self.volume("disk-of-2", "local", "local-2")
        self.claim("first", "local")
        pod = self.pod("with-disk", "first")
        self.assertEqual(self.bound(pod), "local-2")
        self.assertEqual(self.phase("first"), "Bound")
        volume = self.kube.get(f"{VOLUMES}/disk-of-2")
        self.assertEqual(volume["spec"]["claimRef"]["name"], "first")
        self.assertEqual(volume["metadata"]["annotations"][
            "pv.kubernetes.io/bound-by-controller"], "yes")

    def test_two_vms_never_get_the_same_volume(self):
        self.nodes("pair-1", "pair-2")
        names = ("left", "right")
        for name in names:
            self.claim(name, "local")
        pods = [self.pod(f"vm-{name}", name) for name in names]
        for pod in pods:
            self.assert_unschedulable(pod, "node(s) didn't find available "
                                "persistent volumes to bind")
        for i, name in enumerate(("pair-1", "pair-2")):
            self.volume(f"pair-disk-{i}", "local", name)
        self.assertEqual({self.bound(pod) for pod in pods},
                         {"pair-1", "pair-2"})

    def test_a_pod_is_bound_once_its_volume_is_provisioned_for_its_node(self):
        self.nodes("made-1")
        claim = self.claim("fresh", "made")
        pod = self.pod("provisioned", "fresh")
        eventually("the claim names the node",
                   lambda: self.selected("fresh") == "made-1")
        self.assertIsNone(self.kube.node_of(pod))
        self.volume("made-disk", "made", "made-1", claim=claim)
        self.assertEqual(self.bound(pod), "made-1")
        self.assertEqual(self.phase("fresh"), "Bound")

    def test_a_pod_whose_provisioner_fails_is_scheduled_again(self):
        self.nodes("again-1")
        claim = self.claim("stubborn", "made")
        pod = self.pod("stubborn", "stubborn")
        eventually("the claim names the node",
                   lambda: self.selected("stubborn"))
        self.kube.patch(f"{CLAIMS}/stubborn", {
            "metadata": {"annotations": {SELECTED: None}}})
        self.assert_unschedulable(pod, "the provisioner reset the selected node")
        eventually("the claim names a node again",
                   lambda: self.selected("stubborn"))
        self.volume("stubborn-disk", "made", "again-1", claim=claim)
        self.assertEqual(self.bound(pod), "again-1")

    def test_a_pod_that_is_deleted_frees_what_was_reserved_for_it(self):
        self.nodes("freed-1")
        self.claim("unlucky", "made")
        gone = self.pod("unlucky", "unlucky")
        eventually("the claim names the node",
                   lambda: self.selected("unlucky"))
        self.kube.remove(gone)
        other = self.pod("plain")
        self.assertEqual(self.bound(other), "freed-1")

    def test_a_pod_waits_for_a_missing_claim_and_says_which(self):
        self.nodes("late-1")
        pod = self.pod("late", "late")
        self.assert_unschedulable(
            pod, 'nodes are available: persistentvolumeclaim "late" not found')
        self.volume("late-disk", "local", "late-1")
        self.claim("late", "local")
        self.assertEqual(self.bound(pod), "late-1")

    def test_a_claim_for_one_pod_is_not_used_by_a_second(self):
        self.nodes("once-1")
        self.volume("once-disk", "local", "once-1", mode="ReadWriteOncePod")
        self.claim("once", "local", mode="ReadWriteOncePod")
        self.bound(self.pod("once-first", "once"))
        second = self.pod("once-second", "once")
        self.assert_unschedulable(
            second, "ReadWriteOncePod access mode already in-use by another "
            "pod")


if __name__ == "__main__":
    unittest.main()
