"""The objects of the guides that plimsoll grew from, each with one node that
must be refused: the reason is read back from the event, then a fitting node
appears and the VM goes there.

Pods are what virt-controller renders of those VMs. Each test has nodes of its
own, told apart by a label, so that other nodes of the cluster do not matter."""
import pathlib
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))

from cluster import ClusterCase  # noqa: E402
from harness import (BIN, Aggregator, Machine, Program, agent,  # noqa: E402
                     eventually, launcher, worker)

AFFINITY = "node(s) didn't match Pod's node affinity/selector"
TAINT = "node(s) had untolerated taint(s)"


class Seeds(ClusterCase):
    @classmethod
    def setUpClass(cls):
        cls.begin()
        cls.kube.await_account("default")
        cls.aggregator = cls.folder.add(Aggregator(cls.folder.path)).start()
        for name in ("plimsoll-scheduler", "my-scheduler"):
            cls.folder.add(Program(cls.folder.path, name, [
                BIN / "plimsoll-scheduler", "--scheduler-name", name,
                "--kubeconfig", cls.cluster.kubeconfig(), "--aggregator",
                cls.aggregator.url, "--http", "127.0.0.1:0"])).start()

    def node(self, name, labels=None, **options):
        """A node of this test alone."""
        labels = {"plimsoll.io/test": self.id().rsplit(".", 1)[1][:60],
                  **(labels or {})}
        made = self.kube.create(worker(name, labels=labels, **options))
        self.addCleanup(self.kube.delete, f"/api/v1/nodes/{name}")
        self.kube.await_node(name)
        return made

    def pod(self, name, **options):
        selector = {"plimsoll.io/test": self.id().rsplit(".", 1)[1][:60],
                    **options.pop("nodeSelector", {})}
        made = self.kube.create(
            launcher(name, nodeSelector=selector, **options))
        self.addCleanup(self.kube.delete_pod, made)
        return made

    def assert_refused(self, pod, reason, scheduler="plimsoll-scheduler"):
        event = eventually(f"an event says: {reason}", lambda: next(
            (e for e in self.kube.events(pod)
             if e["reason"] == "FailedScheduling" and reason in e["note"]),
            None))
        self.assertEqual(event["reportingController"], scheduler)
        self.assertEqual(event["type"], "Warning")
        self.assertRegex(event["note"], r"^0/\d+ nodes are available: ")
        condition = eventually("the condition says so", lambda: (
            (c := self.kube.condition(pod)) and reason in c.get("message", "")
            and c))
        self.assertEqual((condition["status"], condition["reason"]),
                         ("False", "Unschedulable"))
        self.assertIsNone(self.kube.node_of(pod))

    def assert_bound(self, pod, node, scheduler="plimsoll-scheduler"):
        eventually(f"it is bound to {node}",
                   lambda: self.kube.node_of(pod) == node)
        event = eventually("an event says so", lambda: next(
            (e for e in self.kube.events(pod) if e["reason"] == "Scheduled"),
            None))
        self.assertEqual(event["reportingController"], scheduler)
        self.assertIn(f"to {node}", event["note"])

    def test_vm_fedora_by_a_scheduler_of_another_name(self):
        self.node("small", memory="1Gi")
        pod = self.pod("vm-fedora", scheduler="my-scheduler", cpu="100m",
                       memory="1314Mi")
        self.assert_refused(pod, "Insufficient memory", "my-scheduler")
        self.node("large")
        self.assert_bound(pod, "large", "my-scheduler")

    def test_testvmi_with_a_node_selector(self):
        self.node("slow-only", labels={"cpu": "slow", "storage": "slow"})
        pod = self.pod("testvmi",
                       nodeSelector={"cpu": "slow", "storage": "fast"})
        self.assert_refused(pod, AFFINITY)
        self.node("slow-and-fast", labels={"cpu": "slow", "storage": "fast"})
        self.assert_bound(pod, "slow-and-fast")

    def test_a_vm_that_tolerates_one_taint(self):
        self.node("tainted-otherwise", taints=[
            {"key": "key", "value": "other", "effect": "NoSchedule"}])
        pod = self.pod("tolerant", tolerations=[
            {"key": "key", "operator": "Equal", "value": "value",
             "effect": "NoSchedule"}])
        self.assert_refused(pod, TAINT)
        self.node("tainted", taints=[
            {"key": "key", "value": "value", "effect": "NoSchedule"}])
        self.assert_bound(pod, "tainted")

    def test_a_cordoned_node_takes_vms_again_when_it_is_uncordoned(self):
        self.node("cordoned")
        cordon = {"spec": {"unschedulable": True}}
        kind = "application/strategic-merge-patch+json"
        self.kube.request("PATCH", "/api/v1/nodes/cordoned", cordon, kind)
        eventually("it is tainted", lambda: self.kube.get(
            "/api/v1/nodes/cordoned")["spec"].get("taints"))
        pod = self.pod("patient")
        self.assert_refused(pod, "node(s) were unschedulable")
        cordon["spec"]["unschedulable"] = None
        self.kube.request("PATCH", "/api/v1/nodes/cordoned", cordon, kind)
        self.assert_bound(pod, "cordoned")

    def test_a_node_whose_kvm_is_broken_is_left_out(self):
        self.node("no-kvm")
        machine = Machine(self.folder.path / "no-kvm")
        self.addCleanup(machine.close)
        flags = machine.agent_flags()
        flags[flags.index("off")] = "run"  # and there is no dev/kvm
        self.folder.add(agent(self.folder.path, "no-kvm",
                              [self.aggregator.url], *flags)).start()
        eventually("it is reported", lambda: (
            self.aggregator.node("no-kvm") or {"kvm": {}}
        )["kvm"].get("state") == "missing")
        pod = self.pod("needs-kvm")
        self.assert_refused(pod, "KVM")
        self.node("with-kvm")
        self.assert_bound(pod, "with-kvm")

    def test_what_is_not_supported_is_refused_and_never_guessed(self):
        self.node("willing")
        pod = self.pod("gpu", resourceClaims=[
            {"name": "gpu", "resourceClaimName": "missing"}])
        self.assert_refused(pod, "resource claims")

    def test_a_gated_pod_waits_for_its_gate(self):
        self.node("gated-target")
        pod = self.pod("gated", schedulingGates=[{"name": "example.com/wait"}])
        other = self.pod("ungated")
        self.assert_bound(other, "gated-target")
        self.assertIsNone(self.kube.node_of(pod))
        self.kube.request(
            "PATCH", "/api/v1/namespaces/default/pods/"
            + pod["metadata"]["name"],
            {"spec": {"schedulingGates": []}},
            "application/merge-patch+json")
        self.assert_bound(pod, "gated-target")


if __name__ == "__main__":
    unittest.main()
