"""Volumes on a real API server with its own volume controller: local volumes
that wait for their first consumer, provisioning for the chosen node, claims
that are missing or in use.

The provisioner of a CSI driver is played by the test: it makes the volume once
the claim names a node. The scheduler has the rights that docs/security.md names
and no others."""
import json
import os
import pathlib
import re
import subprocess
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))

from cluster import ClusterCase  # noqa: E402
from harness import (BIN, ROOT, Program, eventually, launcher,  # noqa: E402
                     worker)
from kube_api import KUBECLUSTER  # noqa: E402

HOST = "kubernetes.io/hostname"
SELECTED = "volume.kubernetes.io/selected-node"
CLASSES = "/apis/storage.k8s.io/v1/storageclasses"
VOLUMES = "/api/v1/persistentvolumes"
CLAIMS = "/api/v1/namespaces/default/persistentvolumeclaims"
MERGE = "application/merge-patch+json"
ACCOUNT = "plimsoll-scheduler"


def kubectl(kubeconfig, *arguments, text=None):
    return subprocess.run(
        [KUBECLUSTER, "kubectl", *arguments], input=text, text=True,
        check=True, capture_output=True,
        env=dict(os.environ, KUBECONFIG=str(kubeconfig))).stdout


def scheduler_kubeconfig(admin, folder):
    """Of an account with the documented rights alone."""
    doc = (ROOT / "docs/security.md").read_text()
    role = next(block for block in re.findall(r"```\n(.*?)```", doc, re.S)
                if f"metadata: {{name: {ACCOUNT}}}" in block)
    kubectl(admin, "apply", "-f", "-", text=role)
    kubectl(admin, "create", "serviceaccount", ACCOUNT)
    kubectl(admin, "create", "clusterrolebinding", ACCOUNT,
            f"--clusterrole={ACCOUNT}", f"--serviceaccount=default:{ACCOUNT}")
    token = kubectl(admin, "create", "token", ACCOUNT).strip()
    config = json.loads(kubectl(admin, "config", "view", "--raw", "--minify",
                                "--flatten", "-o", "json"))
    config["users"][0]["user"] = {"token": token}
    path = folder / "scheduler.kubeconfig"
    path.write_text(json.dumps(config))
    return path


def remove_account(admin):
    for kind in ("clusterrolebinding", "clusterrole", "serviceaccount"):
        kubectl(admin, "delete", kind, ACCOUNT, "--ignore-not-found")


class Volumes(ClusterCase):
    @classmethod
    def setUpClass(cls):
        cls.begin()
        cls.kube.await_account("default")
        for name, provisioner in (
                ("local", "kubernetes.io/no-provisioner"),
                ("made", "csi.example.com")):
            cls.kube.request("POST", CLASSES, {
                "apiVersion": "storage.k8s.io/v1", "kind": "StorageClass",
                "metadata": {"name": name}, "provisioner": provisioner,
                "volumeBindingMode": "WaitForFirstConsumer"})
            cls.addClassCleanup(cls.kube.delete, f"{CLASSES}/{name}")
        admin = cls.cluster.kubeconfig()
        cls.addClassCleanup(remove_account, admin)
        cls.scheduler = cls.folder.add(Program(cls.folder.path, "scheduler", [
            BIN / "plimsoll-scheduler", "--kubeconfig",
            scheduler_kubeconfig(admin, cls.folder.path),
            "--http", "127.0.0.1:0"])).start()

    def label(self):
        return {"plimsoll.io/test": self.id().rsplit(".", 1)[1][:60]}

    def nodes(self, *names):
        for name in names:
            self.kube.create(worker(name, labels=self.label()))
            self.addCleanup(self.kube.delete, f"/api/v1/nodes/{name}")
        for name in names:
            self.kube.await_node(name)

    def claim(self, name, storage_class, mode="ReadWriteOnce", **spec):
        made = self.kube.request("POST", CLAIMS, {
            "apiVersion": "v1", "kind": "PersistentVolumeClaim",
            "metadata": {"name": name}, "spec": {
                "accessModes": [mode], "storageClassName": storage_class,
                "resources": {"requests": {"storage": "1Gi"}}, **spec}})
        self.addCleanup(self.kube.delete, f"{CLAIMS}/{name}")
        return made

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
        self.kube.request("POST", VOLUMES, {
            "apiVersion": "v1", "kind": "PersistentVolume",
            "metadata": {"name": name}, "spec": spec})
        self.addCleanup(self.kube.delete, f"{VOLUMES}/{name}")

    def pod(self, name, *claims):
        pod = launcher(name, nodeSelector=self.label())
        pod["spec"]["volumes"] = pod["spec"].get("volumes", []) + [
            {"name": f"disk-{i}", "persistentVolumeClaim": {"claimName": c}}
            for i, c in enumerate(claims)]
        made = self.kube.create(pod)
        self.addCleanup(self.kube.delete_pod, made)
        return made

    def bound(self, pod):
        return eventually("it is bound", lambda: self.kube.node_of(pod))

    def assert_refused(self, pod, reason):
        eventually(f"an event says: {reason}", lambda: any(
            e["reason"] == "FailedScheduling" and reason in e["note"]
            for e in self.kube.events(pod)))
        self.assertIsNone(self.kube.node_of(pod))

    def selected(self, name):
        notes = self.kube.get(f"{CLAIMS}/{name}")["metadata"].get(
            "annotations", {})
        return notes.get(SELECTED)

    def phase(self, name):
        return self.kube.get(f"{CLAIMS}/{name}")["status"]["phase"]

    def test_a_local_volume_decides_the_node_and_is_bound_first(self):
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

    def test_two_vms_never_get_one_volume(self):
        self.nodes("pair-1", "pair-2")
        names = ("left", "right")
        for name in names:
            self.claim(name, "local")
        pods = [self.pod(f"vm-{name}", name) for name in names]
        for pod in pods:
            self.assert_refused(pod, "node(s) didn't find available "
                                "persistent volumes to bind")
        for i, name in enumerate(("pair-1", "pair-2")):
            self.volume(f"pair-disk-{i}", "local", name)
        self.assertEqual({self.bound(pod) for pod in pods},
                         {"pair-1", "pair-2"})

    def test_provisioning_waits_for_the_node_and_the_pod_for_the_volume(self):
        self.nodes("made-1")
        claim = self.claim("fresh", "made")
        pod = self.pod("provisioned", "fresh")
        eventually("the claim names the node",
                   lambda: self.selected("fresh") == "made-1")
        self.assertIsNone(self.kube.node_of(pod))
        self.volume("made-disk", "made", "made-1", claim=claim)
        self.assertEqual(self.bound(pod), "made-1")
        self.assertEqual(self.phase("fresh"), "Bound")

    def test_a_provisioner_that_cannot_gets_the_pod_placed_anew(self):
        self.nodes("again-1")
        claim = self.claim("stubborn", "made")
        pod = self.pod("stubborn", "stubborn")
        eventually("the claim names the node",
                   lambda: self.selected("stubborn"))
        self.kube.request("PATCH", f"{CLAIMS}/stubborn", {
            "metadata": {"annotations": {SELECTED: None}}}, MERGE)
        self.assert_refused(pod, "the provisioner wants another node")
        eventually("it is asked again", lambda: self.selected("stubborn"))
        self.volume("stubborn-disk", "made", "again-1", claim=claim)
        self.assertEqual(self.bound(pod), "again-1")

    def test_a_vm_whose_pod_goes_frees_what_was_chosen_for_it(self):
        self.nodes("freed-1")
        self.claim("unlucky", "made")
        gone = self.pod("unlucky", "unlucky")
        eventually("the claim names the node",
                   lambda: self.selected("unlucky"))
        self.kube.delete_pod(gone)
        other = self.pod("plain")
        self.assertEqual(self.bound(other), "freed-1")

    def test_a_missing_claim_is_named_and_waited_for(self):
        self.nodes("late-1")
        pod = self.pod("late", "late")
        self.assert_refused(
            pod, 'nodes are available: persistentvolumeclaim "late" not found')
        self.volume("late-disk", "local", "late-1")
        self.claim("late", "local")
        self.assertEqual(self.bound(pod), "late-1")

    def test_a_claim_for_one_pod_is_not_given_to_a_second(self):
        self.nodes("once-1")
        self.volume("once-disk", "local", "once-1", mode="ReadWriteOncePod")
        self.claim("once", "local", mode="ReadWriteOncePod")
        self.bound(self.pod("once-first", "once"))
        second = self.pod("once-second", "once")
        self.assert_refused(second, "ReadWriteOncePod access mode already "
                            "in-use by another pod")


    def test_z_it_had_all_the_rights_it_needs(self):
        self.scheduler.wait_log("the cluster is known")
        for complaint in ("forbidden", "without knowing", "cannot"):
            self.assertNotIn(complaint, self.scheduler.log())


if __name__ == "__main__":
    unittest.main()
