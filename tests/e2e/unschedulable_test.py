"""VMs of well-known guides, each with one node that must be rejected: an event
gives the reason, then a node that fits appears and the VM goes there. The pods
are as virt-controller renders them."""
import pathlib
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))

from cluster import NodesPerTestCase  # noqa: E402
from harness import (Aggregator, Machine, agent, eventually,  # noqa: E402
                     reserving)
from kube_api import path_of, path_of_object  # noqa: E402

AFFINITY = "node(s) didn't match Pod's node affinity/selector"
TAINT = "node(s) had untolerated taint(s)"


class Unschedulable(NodesPerTestCase):
    @classmethod
    def setUpClass(cls):
        cls.begin()
        cls.aggregator = cls.folder.add(Aggregator(cls.folder.path)).start()
        for name in ("plimsoll-scheduler", "my-scheduler"):
            cls.scheduler("--aggregator", cls.aggregator.url,
                          name=name).start()

    def node(self, name, labels=None, **options):
        super().node(name, labels, **options)
        self.kube.await_node(name)

    def assert_refused(self, pod, reason, scheduler="plimsoll-scheduler"):
        event = self.assert_unschedulable(pod, reason)
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
        self.assertEqual(self.bound(pod), node)
        event = self.event(pod)
        self.assertEqual(event["reportingController"], scheduler)
        self.assertIn(f"to {node}", event["note"])

    def test_vm_fedora_is_placed_by_a_scheduler_of_another_name(self):
        self.node("small", memory="1Gi")
        pod = self.pod("vm-fedora", scheduler="my-scheduler", cpu="100m",
                       memory="1314Mi")
        self.assert_refused(pod, "Insufficient memory", "my-scheduler")
        self.node("large")
        self.assert_bound(pod, "large", "my-scheduler")

    def test_testvmi_goes_where_its_node_selector_matches(self):
        self.node("slow-only", labels={"cpu": "slow", "storage": "slow"})
        pod = self.pod("testvmi",
                       nodeSelector={"cpu": "slow", "storage": "fast"})
        self.assert_refused(pod, AFFINITY)
        self.node("slow-and-fast", labels={"cpu": "slow", "storage": "fast"})
        self.assert_bound(pod, "slow-and-fast")

    def test_a_vm_goes_where_it_tolerates_the_taint(self):
        self.node("tainted-otherwise", taints=[
            {"key": "key", "value": "other", "effect": "NoSchedule"}])
        pod = self.pod("tolerant", tolerations=[
            {"key": "key", "operator": "Equal", "value": "value",
             "effect": "NoSchedule"}])
        self.assert_refused(pod, TAINT)
        self.node("tainted", taints=[
            {"key": "key", "value": "value", "effect": "NoSchedule"}])
        self.assert_bound(pod, "tainted")

    def test_a_cordoned_node_takes_vms_once_it_is_uncordoned(self):
        self.node("cordoned")
        path = path_of("Node", name="cordoned")
        self.kube.patch(path, {"spec": {"unschedulable": True}})
        eventually("it is tainted", lambda: self.kube.get(path)[
            "spec"].get("taints"))
        pod = self.pod("patient")
        self.assert_refused(pod, "node(s) were unschedulable")
        self.kube.patch(path, {"spec": {"unschedulable": None}})
        self.assert_bound(pod, "cordoned")

    def test_a_node_without_kvm_gets_no_vm(self):
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

    def test_a_pod_with_an_unsupported_field_is_rejected(self):
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
        self.kube.patch(path_of_object(pod), {"spec": {"schedulingGates": []}})
        self.assert_bound(pod, "gated-target")

    def test_a_placed_pod_with_257_preferred_terms_takes_its_cpus(self):
        self.node("crowded")  # 6 CPUs
        taken = reserving("long", "crowded", cpu="5")
        taken["spec"]["affinity"] = {"podAntiAffinity": {
            "preferredDuringSchedulingIgnoredDuringExecution": [
                {"weight": 1, "podAffinityTerm": {
                    "topologyKey": "kubernetes.io/hostname", "labelSelector": {
                        "matchLabels": {"none": str(i)}}}}
                for i in range(257)]}}
        self.make(taken)
        pod = self.pod("needs-2", cpu="2")
        self.assert_refused(pod, "Insufficient cpu")
        self.node("empty")
        self.assert_bound(pod, "empty")

    def test_a_vm_with_300_spread_constraints_is_placed(self):
        self.node("anywhere")
        pod = self.pod("spread", topologySpreadConstraints=[
            {"topologyKey": f"example.com/k{i}", "maxSkew": 1,
             "whenUnsatisfiable": "ScheduleAnyway",
             "labelSelector": {"matchLabels": {"a": "b"}}}
            for i in range(300)])
        self.assert_bound(pod, "anywhere")

    def test_a_pod_with_too_many_constraints_gets_the_reason(self):
        self.node("unasked")
        pod = self.pod("long", tolerations=[
            {"key": f"k{i}", "operator": "Exists"} for i in range(6000)])
        self.assert_refused(pod, "more than 16384 values in affinity, "
                            "tolerations and topology spread constraints")

    def test_a_pod_with_41_kinds_of_devices_gets_the_reason(self):
        self.node("without-devices")
        kinds = {f"example.com/d{i}": "1" for i in range(41)}
        pod = self.pod("devices", containers=[{
            "name": "compute", "image": "registry.example/app:1",
            "resources": {"requests": kinds, "limits": kinds}}])
        self.assert_refused(pod, "more than 28 kinds of extended resources")


if __name__ == "__main__":
    unittest.main()
