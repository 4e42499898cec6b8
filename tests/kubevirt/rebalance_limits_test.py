"""Moves beside migrations that never start, and behind an evacuation."""
import pathlib
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))

from kubevirt import KubeVirt, create, migration, path_of  # noqa: E402
from kubevirt import virtual_machine  # noqa: E402
from mover_case import MoverCase, NODES, CORES  # noqa: E402
from virt_handler import name_of, phase_of  # noqa: E402

TENANT = "tenant"
# As many as KubeVirt migrates at once.
PARALLEL = 5
OUTBOUND = 2
REJECTED = "migrationRejectedByResourceQuota"
OUT_OF_NODE = "parallelOutboundMigrationsPerNode"


def in_tenant(thing):
    thing["metadata"]["namespace"] = TENANT
    return thing


class Limits(MoverCase):
    big = ("moving", "waiting")
    small = ("leaving",)

    @classmethod
    def setUpClass(cls):
        cls.begin_kubevirt(NODES, CORES, configuration={"migrations": {
            "parallelMigrationsPerCluster": PARALLEL, OUT_OF_NODE: OUTBOUND}})
        cls.start_vm_load()
        cls.mover().start()

    # ---- a tenant with a quota ----

    def test_migrations_that_never_start_stop_nobody_elses_moves(self):
        vm = "moving"
        self.begin_tenant(self.vm_node(vm))
        jobs = [create(self.kube, in_tenant(migration(f"tenant-{i}")))
                for i in range(PARALLEL)]
        for job in jobs:
            self.wait(f"the quota refuses {name_of(job)}",
                      lambda job=job: self.is_rejected(job))
        self.wait("the mover knows them", lambda: [
            other["ignored_because"] for other in
            self.rebalance()["migrations_of_others"]] == [
                "a ResourceQuota of its namespace admits no second launcher "
                "pod"] * PARALLEL)
        self.make_short(vm)
        self.await_record(vm, "succeeded")
        for job in jobs:
            self.assertTrue(self.is_rejected(job), name_of(job))

    def begin_tenant(self, node):
        """Five VMs, one of them on this node, in a namespace that admits no
        further pod."""
        self.kube.create({"apiVersion": "v1", "kind": "Namespace",
                          "metadata": {"name": TENANT}})
        for i in range(PARALLEL):
            where = {"kubernetes.io/hostname": node} if i == 0 else {}
            create(self.kube, in_tenant(virtual_machine(
                f"tenant-{i}", nodeSelector=where)))
        for i in range(PARALLEL):
            path = path_of("VirtualMachineInstance", TENANT, f"tenant-{i}")
            self.wait(f"tenant-{i} runs", lambda path=path: phase_of(
                self.kube.find(path) or {}) == "Running")
        path = f"/api/v1/namespaces/{TENANT}/resourcequotas"
        self.kube.request("POST", path, {
            "apiVersion": "v1", "kind": "ResourceQuota",
            "metadata": {"name": "pods", "namespace": TENANT},
            "spec": {"hard": {"pods": str(PARALLEL)}}})
        self.wait("the quota is used up", lambda: self.kube.get(
            f"{path}/pods").get("status", {}).get("used") == {
                "pods": str(PARALLEL)})

    def is_rejected(self, job):
        found = self.kube.get(path_of("VirtualMachineInstanceMigration",
                                      TENANT, name_of(job)))
        return phase_of(found) == "Pending" and any(
            c["type"] == REJECTED and c["status"] == "True"
            for c in found["status"].get("conditions", []))

    # ---- the order in which KubeVirt starts migrations ----

    @unittest.skipIf(KubeVirt.version().startswith("v1.7."),
                     "migrations have no priority")
    def test_an_evacuation_overtakes_a_move_that_waits(self):
        vm, leaving = "waiting", "leaving"
        self.outcome(self.migrate(leaving, to=self.vm_node(vm)))
        # Our move comes second by a whole copy, and not by a few ms.
        self.set_copy(leaving, 5)
        self.addCleanup(self.set_limit, OUTBOUND)
        self.limit_out_of_node(0)
        self.make_short(vm)
        ours = self.job_of(self.await_record(vm, "ordered"))
        self.assertNotIn("priority", ours["spec"])
        self.await_attempt(vm)
        self.assertEqual(self.evict(self.vm_pod(leaving)), 429)
        drain = self.wait("KubeVirt is to evacuate the other VM", lambda: next(
            (job for job in self.migrations(leaving)
             if name_of(job).startswith("kubevirt-evacuation-")), None))
        self.assertEqual(drain["spec"]["priority"], "system-critical")
        self.await_attempt(leaving)
        # KubeVirt tries ours every 5 s, and the evacuation every second.
        self.await_attempt(vm)
        self.limit_out_of_node(1)
        self.assertEqual(self.outcome(drain), "Succeeded")
        self.await_record(vm, "succeeded")
        self.assertLess(self.scheduled(drain), self.scheduled(ours))

    def limit_out_of_node(self, limit):
        self.set_limit(limit)
        self.wait("the mover knows the limit", lambda: self.rebalance()[
            "kubevirt"]["parallel_outbound_migrations_per_node"] == limit)

    def set_limit(self, limit):
        self.kubevirt.patch_cr({"spec": {"configuration": {"migrations": {
            OUT_OF_NODE: limit}}}})

    def await_attempt(self, vm):
        """Returns when virt-controller has just tried to start the VM's
        migration, and found no slot."""
        log = self.kubevirt.virt_controller.log
        line = f"Waiting to schedule target pod for vmi [default/{vm}]"
        before = log().count(line)
        self.wait(f"KubeVirt tries {vm}", lambda: log().count(line) > before)

    def scheduled(self, job):
        """When the migration got its target pod."""
        found = self.kube.get(path_of("VirtualMachineInstanceMigration",
                                      "default", name_of(job)))
        return next(at["phaseTransitionTimestamp"] for at in
                    found["status"]["phaseTransitionTimestamps"]
                    if at["phase"] == "Scheduling")


if __name__ == "__main__":
    unittest.main()
