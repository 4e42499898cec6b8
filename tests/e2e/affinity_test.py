"""Constraints between pods on a real API server: anti-affinity in both
directions, KubeVirt's migration target, spread, host ports, namespaces.

Each test has nodes of its own, told apart by a label."""
import json
import pathlib
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))

from cluster import ClusterCase  # noqa: E402
from harness import (BIN, FIXTURES, Program, eventually,  # noqa: E402
                     launcher, worker)

HOST = "kubernetes.io/hostname"
ZONE = "topology.kubernetes.io/zone"
REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"
UNWANTED = "node(s) didn't match pod anti-affinity rules"
EXISTING = "node(s) didn't satisfy existing pods anti-affinity rules"


def apart(key, value, topology=HOST, **more):
    return {"podAntiAffinity": {REQUIRED: [{
        "labelSelector": {"matchLabels": {key: value}},
        "topologyKey": topology, **more}]}}


class Affinity(ClusterCase):
    @classmethod
    def setUpClass(cls):
        cls.begin()
        cls.kube.await_account("default")
        cls.scheduler = cls.folder.add(Program(cls.folder.path, "scheduler", [
            BIN / "plimsoll-scheduler", "--kubeconfig",
            cls.cluster.kubeconfig(), "--http", "127.0.0.1:0"])).start()

    def label(self):
        return {"plimsoll.io/test": self.id().rsplit(".", 1)[1][:60]}

    def nodes(self, *names, zones=()):
        for i, name in enumerate(names):
            labels = dict(self.label())
            if zones:
                labels[ZONE] = zones[i]
            self.kube.create(worker(name, labels=labels))
            self.addCleanup(self.kube.delete, f"/api/v1/nodes/{name}")
        for name in names:
            self.kube.await_node(name)

    def pod(self, name, namespace="default", labels=None, **options):
        pod = launcher(name, namespace=namespace, nodeSelector={
            **self.label(), **options.pop("nodeSelector", {})}, **options)
        pod["metadata"]["labels"].update(labels or {})
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

    def test_vms_that_must_be_apart_are_and_the_third_waits_for_room(self):
        self.nodes("apart-1", "apart-2")
        made = [self.pod(f"apart-{i}", labels={"app": "db"},
                         affinity=apart("app", "db")) for i in range(2)]
        self.assertEqual({self.bound(p) for p in made},
                         {"apart-1", "apart-2"})
        third = self.pod("apart-third", labels={"app": "db"},
                         affinity=apart("app", "db"))
        self.assert_refused(third, UNWANTED)
        self.kube.delete_pod(made[0])
        self.bound(third)

    def test_a_pod_that_wants_to_be_alone_keeps_others_away(self):
        self.nodes("alone-1")
        self.bound(self.pod("alone", affinity=apart("app", "web")))
        other = self.pod("alone-other", labels={"app": "web"})
        self.assert_refused(other, EXISTING)
        self.nodes("alone-2")
        self.assertEqual(self.bound(other), "alone-2")

    def test_a_migration_target_goes_to_another_node_and_may_come_back(self):
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
        # The old source pod stays, ended, until the VM ends.
        self.kube.request(
            "PATCH", "/api/v1/namespaces/default/pods/"
            f"{vm['metadata']['name']}/status",
            {"status": {"phase": "Succeeded"}},
            "application/merge-patch+json")
        back = self.pod("migrating-back", labels=same,
                        affinity=json.loads(text))
        self.assertEqual(self.bound(back), source)

    def test_a_preferred_anti_affinity_is_worth_more_than_the_load(self):
        self.nodes("busy", "idle")
        selector = {"nodeSelector": {HOST: "idle"}}
        self.bound(self.pod("first", labels={"app": "pair"}, **selector))
        heavy = self.pod("heavy", cpu="3", memory="4Gi",
                         nodeSelector={HOST: "busy"})
        self.assertEqual(self.bound(heavy), "busy")
        wish = {"podAntiAffinity": {PREFERRED: [{
            "weight": 1, "podAffinityTerm": {
                "labelSelector": {"matchLabels": {"app": "pair"}},
                "topologyKey": HOST}}]}}
        self.assertEqual(self.bound(self.pod("free")), "idle")
        second = self.pod("second", labels={"app": "pair"}, affinity=wish)
        self.assertEqual(self.bound(second), "busy")

    def test_spread_over_zones_is_kept(self):
        self.nodes("z-1", "z-2", "z-3", zones=("a", "a", "b"))
        spread = [{"maxSkew": 1, "topologyKey": ZONE,
                   "whenUnsatisfiable": "DoNotSchedule",
                   "labelSelector": {"matchLabels": {"app": "even"}}}]
        made = [self.bound(self.pod(
            f"even-{i}", labels={"app": "even"},
            topologySpreadConstraints=spread)) for i in range(4)]
        self.assertEqual(made.count("z-3"), 2)

    def test_a_host_port_is_taken_once(self):
        self.nodes("ported")
        sidecar = [{"name": "proxy", "image": "registry.example/proxy:1",
                    "restartPolicy": "Always", "ports": [
                        {"containerPort": 80, "hostPort": 8080}]}]
        self.bound(self.pod("port-1", initContainers=sidecar))
        self.assert_refused(
            self.pod("port-2", initContainers=sidecar),
            "node(s) didn't have free ports for the requested pod ports")

    def test_namespaces_are_selected_by_their_labels(self):
        for name, labels in (("team-a", {"team": "a"}), ("team-b", {})):
            self.kube.create({"apiVersion": "v1", "kind": "Namespace",
                              "metadata": {"name": name, "labels": labels}})
            self.kube.await_account(name)
        self.nodes("shared-1")
        self.bound(self.pod("tenant", namespace="team-b",
                            labels={"app": "db"}))
        term = apart("app", "db", namespaceSelector={
            "matchLabels": {"team": "a"}})
        self.assertEqual(self.bound(self.pod("of-b", affinity=term)),
                         "shared-1")
        self.kube.request("PATCH", "/api/v1/namespaces/team-b",
                          {"metadata": {"labels": {"team": "a"}}},
                          "application/merge-patch+json")
        later = self.pod("of-a", affinity=term)
        self.assert_refused(later, UNWANTED)


if __name__ == "__main__":
    unittest.main()
