"""VMs of the real virt-controller and virt-api go where the load is low: their
launchers, the targets of their migrations, and the VMs of a node that is
drained. Programs that are killed meanwhile leave nothing stuck and nothing
twice."""
import http.client
import pathlib
import ssl
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))

from harness import PATIENCE_S  # noqa: E402
from kube_api import Refused  # noqa: E402
from kubevirt import SUBRESOURCES, KubeVirt  # noqa: E402
from kubevirt_case import KubeVirtCase  # noqa: E402
from virt_handler import name_of, phase_of  # noqa: E402

NODES = ("node-a", "node-b", "node-c", "node-d")
VMS, MIGRATIONS = 20, 8
CORES, HOT_CORES = 16, 14.0
# KubeVirt 1.7 gives this reason in an event alone.
CRASHED = (None if KubeVirt.version().startswith("v1.7.")
           else "Target pod is down")
PENDING = "kubevirt.io/migrationPendingPodTimeoutSeconds"


class Placement(KubeVirtCase):
    @classmethod
    def setUpClass(cls):
        cls.begin_kubevirt(NODES, CORES, "64Gi")
        cls.start_vm_load()
        cls.start_scheduler()

    # ---- what the tests do ----

    def make_vms(self, prefix, count, **options):
        names = [f"{prefix}-{i}" for i in range(count)]
        for name in names:
            self.make_vm(name, **options)
        return names

    def nodes_of(self, names):
        return {name: self.vm_node(name) for name in names}

    def assert_no_pod_is_bound_twice(self):
        twice = {pod: n for pod, n in self.accepted_bindings().items()
                 if pod and n > 1}
        self.assertEqual(twice, {})

    # ---- the tests ----

    def test_virt_api_works_through_its_service_and_knows_the_user(self):
        vm, = self.run_vms("served", 1)
        self.assertEqual(self.vmi(vm)["spec"]["domain"]["machine"]["type"],
                         "q35", "a default of virt-api's webhook")
        before = self.vm_node(vm)
        path = f"{SUBRESOURCES}/namespaces/default/virtualmachines/{vm}/"
        with self.assertRaises(Refused) as no:
            self.as_user("nobody").request("PUT", path + "migrate", {})
        self.assertEqual(no.exception.status, 403)
        self.as_user(None).request("PUT", path + "migrate", {})
        self.wait("the VM is on another node",
                  lambda: self.vm_node(vm) != before)

    def test_virt_api_believes_no_client_but_the_front_proxy(self):
        """A certificate of the cluster's authority, even the
        administrator's, is not one of the front proxy's authority."""
        trusting = ssl.create_default_context(cadata=self.kubevirt.ca)
        self.assertIn(self.status_of_virt_api(trusting), (401, 403))
        with self.assertRaisesRegex(OSError, "unknown ca|bad certificate"):
            self.status_of_virt_api(self.kube.tls)

    def status_of_virt_api(self, tls):
        """Asked past kube-apiserver, in the name of the administrator."""
        link = http.client.HTTPSConnection(
            "localhost", self.kubevirt.ports["virt-api"], timeout=PATIENCE_S,
            context=tls)
        self.addCleanup(link.close)
        link.request(
            "GET", f"{SUBRESOURCES}/namespaces/default/"
            "virtualmachineinstances/any/guestosinfo", headers={
                "X-Remote-User": "kubernetes-admin",
                "X-Remote-Group": "system:masters"})
        return link.getresponse().status

    def test_20_vms_at_once_run_on_the_quiet_nodes(self):
        self.make_hot("node-a", HOT_CORES)
        names = self.run_vms("burst", VMS)
        self.assert_each_runs_once(names)
        nodes = self.nodes_of(names)
        self.assertEqual(set(nodes.values()), set(NODES[1:]))
        self.assert_no_pod_is_bound_twice()

    def test_migrations_go_to_quiet_nodes_and_to_the_node_that_is_named(self):
        names = self.run_vms("moved", MIGRATIONS)
        self.make_hot("node-b", HOT_CORES)
        before = self.nodes_of(names)
        jobs = [self.migrate(name) for name in names]
        self.assertEqual({self.outcome(job) for job in jobs}, {"Succeeded"})
        self.assert_each_runs_once(names)
        after = self.nodes_of(names)
        self.assertNotIn("node-b", after.values())
        self.assertEqual([n for n in names if before[n] == after[n]], [])
        named = self.migrate(names[0], to="node-b")
        self.assertEqual(self.outcome(named), "Succeeded")
        self.assertEqual(self.vm_node(names[0]), "node-b")

    def test_the_vms_of_a_drained_node_are_migrated_to_quiet_nodes(self):
        names = self.run_vms("drained", MIGRATIONS)
        nodes = list(self.nodes_of(names).values())
        node = max(NODES, key=nodes.count)
        hot = next(n for n in NODES if n != node)
        self.make_hot(hot, HOT_CORES)
        leaving = [n for n in names if self.vm_node(n) == node]
        self.drain(node)
        self.assert_each_runs_once(names)
        self.assertNotIn(node, self.nodes_of(names).values())
        self.assertNotIn(hot, self.nodes_of(leaving).values())
        for name in leaving:
            job, = self.migrations(name)
            self.assertTrue(name_of(job).startswith("kubevirt-evacuation-"))

    def test_the_load_of_a_vm_goes_with_it_to_another_node(self):
        vm, = self.run_vms("busy", 1, cores=8)
        source = self.vm_node(vm)
        self.loads.set_vm(vm, 7)
        self.wait("the source is busy", lambda: self.used_cores(source) > 6)
        self.assertEqual(self.outcome(self.migrate(vm)), "Succeeded")
        target = self.vm_node(vm)
        self.wait("the target is busy", lambda: self.used_cores(target) > 6)
        self.wait("the source is idle", lambda: self.used_cores(source) < 1)

    def test_programs_that_are_killed_leave_nothing_stuck_or_twice(self):
        names = self.run_vms("before", MIGRATIONS)
        for name in names:
            self.set_copy(name, 3)
        jobs = [self.migrate(name) for name in names]
        self.wait("a copy has begun", lambda: any(
            phase_of(job) == "Running" for job in self.migrations()))
        killed = (self.programs[0], self.kubevirt.virt_controller,
                  self.aggregator)
        for program in killed:
            program.kill()
        names += self.make_vms("meanwhile", 4)
        for program in killed:
            program.start()
        self.await_running(*names)
        self.assertEqual({self.outcome(job) for job in jobs}, {"Succeeded"})
        self.assert_each_runs_once(names)
        self.assert_no_pod_is_bound_twice()

    # ---- faults of the stand-in, which other tests use ----

    def test_each_fault_ends_as_with_a_real_virt_handler(self):
        self.side_by_side({
            "a launcher that fails at its start ends the VM's start":
                self.fail_at_start,
            "a source that fails says why": lambda: self.migration_fails(
                "fails", "migration-fails", "the copy broke off"),
            "a target that crashes during the copy": lambda: self.migration_fails(
                "crashes", "target-crashes", CRASHED),
            "a target that fails at its start": lambda: self.migration_fails(
                "refused", "target-start-fails", None),
            "a target that never starts times out": lambda: self.migration_fails(
                "pending", "target-never-starts", None),
            "a migration that hangs ends when it is deleted": self.abort,
            "a launcher that is deleted is followed by another one":
                self.delete_launcher})

    def fail_at_start(self):
        vm = self.make_vm("ill", annotations={
            "test.plimsoll.io/fault": "start-fails"})
        path = ("/apis/kubevirt.io/v1/namespaces/default/virtualmachines/"
                + name_of(vm))
        self.wait("the VM has a start failure", lambda: self.kube.get(
            path).get("status", {}).get("startFailure"))

    def migration_fails(self, name, fault, why):
        self.run_vms(name, 1)
        vm = f"{name}-0"
        before = self.vm_node(vm)
        self.set_fault(vm, fault)
        job = self.migrate(vm, annotations={PENDING: "5"})
        self.assertEqual(self.outcome(job), "Failed")
        if why:
            self.assertIn(why, self.failure(vm))
        self.assert_each_runs_once([vm])
        self.assertEqual(self.vm_node(vm), before)
        self.set_fault(vm, None)
        again = self.migrate(vm)
        self.assertEqual(self.outcome(again), "Succeeded")

    def delete_launcher(self):
        vm, = self.run_vms("deleted", 1)
        pod = self.vm_pod(vm)["metadata"]["name"]
        self.cluster.kubectl("delete", "pod", "--wait=false", pod)
        self.wait("the VM runs in another pod", lambda: (
            self.phase(vm) == "Running" and (now := self.vm_pod(vm))
            and name_of(now) != pod))

    def abort(self):
        vm, = self.run_vms("hangs", 1)
        self.set_fault(vm, "migration-hangs")
        job = self.migrate(vm)
        self.wait("the copy has begun", lambda: any(
            phase_of(one) == "Running" for one in self.migrations(vm)))
        self.remove_migration(job)
        self.wait("the migration is gone",
                  lambda: not self.migrations(vm))
        self.assert_each_runs_once([vm])


if __name__ == "__main__":
    unittest.main()
