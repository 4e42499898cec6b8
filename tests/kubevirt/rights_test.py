"""The mover's rights, by the audit log: the scheduler runs with the rights of
deploy/base and deploy/components/rebalance alone. It moves a VM, and ends a
move that hangs."""
import collections
import json
import pathlib
import shutil
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "e2e"))

from harness import ROOT  # noqa: E402
from kube_api import Kube, Refused, token_kubeconfig  # noqa: E402
from kubevirt import create  # noqa: E402
from kubevirt_case import KubeVirtCase  # noqa: E402
from shared_number import SharedNumber  # noqa: E402
from wall_clock import WallClock  # noqa: E402

CORES = 16
HOT_CORES, VM_CORES = 12.0, 8
# A copy of 1 GiB may take 150 s, and another 10 minutes pass before the
# scheduler gives the move up.
HANGS_S = 900
ACCOUNT = "system:serviceaccount:plimsoll:plimsoll-scheduler"
MOVER = "plimsoll-mover"
IMAGE = "kubevirt.io/func-test-migration-target-image-override"
KUSTOMIZATION = """
resources: [base/common, base/scheduler/account.yaml]
components: [components/rebalance]
"""


class Rights(KubeVirtCase):
    @classmethod
    def setUpClass(cls):
        cls.begin_kubevirt(("node-a", "node-b", "node-c", "node-d"), CORES,
                           "64Gi")
        cls.apply_rights()
        cls.start_vm_load()
        cls.start_mover()

    @classmethod
    def apply_rights(cls):
        manifests = cls.folder.path / "deploy"
        shutil.copytree(ROOT / "deploy", manifests)
        (manifests / "kustomization.yaml").write_text(KUSTOMIZATION)
        cls.cluster.kubectl("apply", "-k", str(manifests))

    @classmethod
    def start_mover(cls):
        """A scheduler with the account's token and a clock that can jump. It
        takes no Lease: a jump would end that."""
        path = cls.folder.path / "scheduler.kubeconfig"
        path.write_text(token_kubeconfig(
            cls.cluster.kubeconfig(),
            cls.kube.token("plimsoll", "plimsoll-scheduler")))
        cls.mover = cls.scheduler(
            "--aggregator", cls.aggregator.url, "--rebalance", "automatic",
            "--leader-elect=false", kubeconfig=path)
        cls.clock = SharedNumber(cls.folder.path / "monotonic")
        cls.mover.env["MONOTONIC_SHIFT"] = str(cls.clock.path)
        WallClock(cls.folder.path / "wall").start(cls.mover)
        cls.mover.wait_log("records of moves read")

    # ---- the two roles, and what the audit log says ----

    def granted(self, role):
        rules = self.kube.get("/apis/rbac.authorization.k8s.io/v1/"
                              f"clusterroles/{role}")["rules"]
        return {(verb, group, resource) for rule in rules
                for verb in rule["verbs"]
                for group in rule.get("apiGroups", [])
                for resource in rule.get("resources", [])}

    def used(self):
        """(verb, group, resource) of each request of the account -> the
        status codes of the answers."""
        found = collections.defaultdict(set)
        for line in self.cluster.audit.read_text().splitlines():
            event = json.loads(line)
            if event["user"].get("username") == ACCOUNT:
                found[self.request_of(event)].add(
                    event.get("responseStatus", {}).get("code"))
        return found

    @staticmethod
    def request_of(event):
        thing = event.get("objectRef")
        if thing is None:
            return event["verb"], "", event["requestURI"]
        resource = "/".join(filter(None, (
            thing["resource"], thing.get("subresource"))))
        return event["verb"], thing.get("apiGroup", ""), resource

    # ---- the moves ----

    def move_of(self, vm):
        """Our migration of the VM."""
        return next((job for job in self.migrations(vm) if "plimsoll.io/move-id"
                     in job["metadata"].get("labels", {})), None)

    def test_the_mover_uses_each_right_of_its_role_and_no_other(self):
        moved, stuck = self.run_vms("vm", 2, cores=VM_CORES)
        sources = {vm: self.vm_node(vm) for vm in (moved, stuck)}
        self.assertEqual(len(set(sources.values())), 2)
        self.set_fault(stuck, "migration-hangs")
        for vm, node in sources.items():
            self.loads.set_vm(vm, float(VM_CORES))
            self.make_hot(node, HOT_CORES)
        for vm in sources:
            self.wait(f"{vm} is moved", lambda vm=vm: self.move_of(vm))
        self.assertEqual(self.outcome(self.move_of(moved)), "Succeeded")
        self.assertNotIn(self.vm_node(moved), sources.values())
        job = self.move_of(stuck)
        self.wait("the copy hangs", lambda: self.move_of(stuck)["status"][
            "phase"] == "Running")
        self.clock.set(HANGS_S)
        self.assertIn(self.outcome(job), ("Failed", "gone"))
        self.assertEqual(self.vm_node(stuck), sources[stuck])

        mover = self.granted(MOVER)
        self.wait("each right of the mover was used with success", lambda: all(
            self.used()[right] & {200, 201} for right in mover))
        used = self.used()
        self.assertEqual(
            used.keys() - mover - self.granted("plimsoll-scheduler"),
            {("create", "authorization.k8s.io", "selfsubjectaccessreviews"),
             ("get", "", "/version")})  # which everybody may read
        self.assertEqual([u for u, codes in used.items() if 403 in codes], [])
        self.assert_policy_reads(job)

    def assert_policy_reads(self, job):
        """The policy finds the members of KubeVirt's own kind."""
        account = Kube(self.folder.path / "scheduler.kubeconfig")
        # virt-controller adds others.
        timeouts = {k: v for k, v in job["metadata"]["annotations"].items()
                    if k.endswith("PodTimeoutSeconds")}
        for change, why in (
                ({"annotations": {**timeouts, IMAGE: "x"}},
                 "only annotations of KubeVirt"),
                ({"annotations": {}}, "must be 1 to 300 seconds"),
                ({"finalizers": ["example.com/stay"]},
                 "no finalizer but KubeVirt's")):
            meta = {"name": "thief", "namespace": job["metadata"]["namespace"],
                    "labels": job["metadata"]["labels"],
                    "annotations": timeouts, **change}
            order = {"apiVersion": job["apiVersion"], "kind": job["kind"],
                     "metadata": meta, "spec": job["spec"]}
            with self.subTest(why), self.assertRaisesRegex(Refused, why):
                create(account, order)


if __name__ == "__main__":
    unittest.main()
