"""Constraints between pods on a real API server: anti-affinity in both
directions, KubeVirt's migration target, spread, host ports, namespaces."""
import json
import pathlib
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))

from cluster import NodesPerTestCase  # noqa: E402
from harness import FIXTURES  # noqa: E402

HOST = "kubernetes.io/hostname"
ZONE = "topology.kubernetes.io/zone"
REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"
ANTI_AFFINITY = "node(s) didn't match pod anti-affinity rules"
OF_EXISTING_PODS = "node(s) didn't satisfy existing pods anti-affinity rules"


def apart(key, value, topology=HOST, **more):
    return {"podAntiAffinity": {REQUIRED: [{
        "labelSelector": {"matchLabels": {key: value}},
        "topologyKey": topology, **more}]}}


class Affinity(NodesPerTestCase):
    @classmethod
    def setUpClass(cls):
        cls.begin()
        cls.scheduler().start()

    def test_vms_that_must_be_apart_are_and_a_third_waits_for_room(self):
        self.nodes("apart-1", "apart-2")
        made = [self.pod(f"apart-{i}", labels={"app": "db"},
                         affinity=apart("app", "db")) for i in range(2)]
        self.assertEqual({self.bound(p) for p in made},
                         {"apart-1", "apart-2"})
        third = self.pod("apart-third", labels={"app": "db"},
                         affinity=apart("app", "db"))
        self.assert_unschedulable(third, ANTI_AFFINITY)
        self.kube.remove(made[0])
        self.bound(third)

    def test_a_running_pods_anti_affinity_keeps_others_away(self):
        self.nodes("alone-1")
        self.bound(self.pod("alone", affinity=apart("app", "web")))
        other = self.pod("alone-other", labels={"app": "web"})
        self.assert_unschedulable(other, OF_EXISTING_PODS)
        self.nodes("alone-2")
        self.assertEqual(self.bound(other), "alone-2")

    def test_a_migration_target_goes_to_another_node_and_may_return(self):
        recorded = json.loads(
            (FIXTURES / "pod-migration-target.json").read_text())
        self.nodes("source", "target")
        vm = self.pod("migrating")
        source = self.bound(vm)
        created_by = vm["metadata"]["labels"]["kubevirt.io/created-by"]
        text = json.dumps(recorded["spec"]["affinity"]).replace(
            recorded["metadata"]["labels"]["kubevirt.io/created-by"],
            created_by)
        same = {"kubevirt.io/created-by": created_by}
        moved = self.pod("migrating-target", labels=same,
                         affinity=json.loads(text))
        first = self.bound(moved)
        self.assertEqual({source, first}, {"source", "target"})
        # The source pod stays, terminated, until the VM ends.
        self.kube.patch_status(vm, {"phase": "Succeeded"})
        back = self.pod("migrating-back", labels=same,
                        affinity=json.loads(text))
        self.assertEqual(self.bound(back), source)

    def test_a_preferred_anti_affinity_outweighs_the_load(self):
        self.nodes("busy", "idle")
        selector = {"nodeSelector": {HOST: "idle"}}
        self.bound(self.pod("first", labels={"app": "pair"}, **selector))
        heavy = self.pod("heavy", cpu="3", memory="4Gi",
                         nodeSelector={HOST: "busy"})
        self.assertEqual(self.bound(heavy), "busy")
        preference = {"podAntiAffinity": {PREFERRED: [{
            "weight": 1, "podAffinityTerm": {
                "labelSelector": {"matchLabels": {"app": "pair"}},
                "topologyKey": HOST}}]}}
        self.assertEqual(self.bound(self.pod("free")), "idle")
        second = self.pod("second", labels={"app": "pair"}, affinity=preference)
        self.assertEqual(self.bound(second), "busy")

    def test_vms_are_spread_over_zones(self):
        zones = {"z-1": "a", "z-2": "a", "z-3": "b"}
        for name, zone in zones.items():
            self.node(name, labels={ZONE: zone})
        self.await_nodes(*zones)
        spread = [{"maxSkew": 1, "topologyKey": ZONE,
                   "whenUnsatisfiable": "DoNotSchedule",
                   "labelSelector": {"matchLabels": {"app": "even"}}}]
        made = [self.bound(self.pod(
            f"even-{i}", labels={"app": "even"},
            topologySpreadConstraints=spread)) for i in range(4)]
        self.assertEqual(made.count("z-3"), 2)

    def test_a_host_port_is_used_once(self):
        self.nodes("ported")
        sidecar = [{"name": "proxy", "image": "registry.example/proxy:1",
                    "restartPolicy": "Always", "ports": [
                        {"containerPort": 80, "hostPort": 8080}]}]
        self.bound(self.pod("port-1", initContainers=sidecar))
        self.assert_unschedulable(
            self.pod("port-2", initContainers=sidecar),
            "node(s) didn't have free ports for the requested pod ports")

    def test_namespaces_are_selected_by_their_labels(self):
        for name, labels in (("team-a", {"team": "a"}), ("team-b", {})):
            self.make({"apiVersion": "v1", "kind": "Namespace",
                       "metadata": {"name": name, "labels": labels}})
            self.kube.await_account(name)
        self.nodes("shared-1")
        self.bound(self.pod("tenant", namespace="team-b",
                            labels={"app": "db"}))
        term = apart("app", "db", namespaceSelector={
            "matchLabels": {"team": "a"}})
        self.assertEqual(self.bound(self.pod("of-b", affinity=term)),
                         "shared-1")
        self.kube.patch("/api/v1/namespaces/team-b",
                        {"metadata": {"labels": {"team": "a"}}})
        later = self.pod("of-a", affinity=term)
        self.assert_unschedulable(later, ANTI_AFFINITY)


if __name__ == "__main__":
    unittest.main()
