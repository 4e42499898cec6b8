"""kubectl plimsoll evacuates a node and moves a VM, with KubeVirt's own
controllers, through plimsoll's API, and with the rights that docs/kubectl.md
names. The plugin is killed in the midst, and goes on when it runs again."""
import pathlib
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))

from kubevirt import path_of  # noqa: E402
from operator_case import OperatorCase  # noqa: E402
from room_case import History  # noqa: E402
from virt_handler import FINAL, name_of, phase_of  # noqa: E402

LEFT, OTHERS = "node-a", ("node-b", "node-c", "node-d")
CORES, MEMORY_GIB = 16, 64
VMS, PARALLEL = 20, 2  # the default, and KubeVirt's limit of one node
KILLED_AFTER = 10  # VMs that have moved
HANGS = "migration-hangs"


class Evacuation(OperatorCase):
    @classmethod
    def setUpClass(cls):
        cls.begin_kubevirt((LEFT, *OTHERS), CORES, f"{MEMORY_GIB}Gi")
        cls.begin_api()
        cls.make_operator()
        cls.start_vm_load(*cls.api_flags())
        for machine in cls.machines.values():
            machine.memory = MEMORY_GIB << 20
        cls.start_scheduler()
        cls.await_available()

    # ---- the cluster ----

    def is_cordoned(self, node):
        return self.kube.get(f"/api/v1/nodes/{node}")["spec"].get(
            "unschedulable", False)

    def vms_on(self, node):
        return {name_of(vmi) for vmi in self.handlers.vmis.values()
                if vmi["status"].get("nodeName") == node}

    def fill(self, node):
        """VMs that all run on this node; name -> UID of the VMI."""
        self.cordon(*OTHERS)
        names = self.run_vms("vm", VMS, cores=1, memory="256Mi")
        self.cordon(*OTHERS, ends=True)
        for number, name in enumerate(names):
            self.loads.set_vm(name, 0.1 + 0.02 * number)
        self.wait("all are there", lambda: self.vms_on(node) == set(names))
        return self.uids(names)

    def uids(self, names):
        return {name: self.vmi(name)["metadata"]["uid"] for name in names}

    def in_flight(self):
        return {name_of(job): job for job in self.handlers.migrations.values()
                if phase_of(job) not in FINAL}

    def most_in_flight(self, without=()):
        """At one time, by the history; without migrations of these names."""
        now, most = set(), 0
        for kind, job in list(self.history.versions):
            if kind == "DELETED" or phase_of(job) in FINAL:
                now.discard(name_of(job))
            else:
                now.add(name_of(job))
            most = max(most, len(now.difference(without)))
        return most

    # ---- the tests ----

    def test_a_node_is_emptied_by_a_plugin_that_was_killed(self):
        self.history = History(self.kube, path_of(
            "VirtualMachineInstanceMigration", "default"))
        self.addCleanup(self.history.stopping.set)
        uids = self.fill(LEFT)
        self.plan_changes_nothing(uids)
        first = self.plugin("evacuate", LEFT, "--yes")
        under_way = self.kill_in_the_midst(first, uids)
        earlier = {name_of(job) for job in self.migrations()}
        self.goes_on(under_way, uids)
        self.assert_moved_once(uids)
        self.assertEqual(self.most_in_flight(), PARALLEL)
        # The second run had --parallel 1.
        self.assertEqual(self.most_in_flight(without=earlier), 1)
        self.migrate_one("vm-0")

    def plan_changes_nothing(self, uids):
        def plan():
            program = self.plugin("evacuate", LEFT)
            self.wait("it ends", lambda: not program.running())
            return "These VMs would move" in program.log() and program.log()
        text = self.wait("there is a plan", plan)
        for name in uids:
            self.assertIn(name, text)
        for node in OTHERS:
            self.assertIn(node, text)
        self.assertIn("Nothing was changed", text)
        self.assertFalse(self.is_cordoned(LEFT))
        self.assertEqual((self.migrations(), self.vms_on(LEFT)),
                         ([], set(uids)))

    def kill_in_the_midst(self, first, uids):
        """From some moment on no copy ends, and when as many migrations copy
        as may be under way, the plugin is killed. These migrations."""
        def moved():
            if not first.running():
                raise AssertionError(f"it ended: {first.log()}")
            # A whole wave is under way, and another whole one will follow.
            return (len(uids) - len(self.vms_on(LEFT)) >= KILLED_AFTER
                    and len(self.in_flight()) == PARALLEL)
        self.wait("some have moved", moved)
        moving = {job["spec"]["vmiName"] for job in self.in_flight().values()}
        for name in self.vms_on(LEFT) - moving:
            self.set_fault(name, HANGS)
        jobs = self.wait("copies hang", lambda: (
            len(now := self.in_flight()) == PARALLEL and all(
                phase_of(job) == "Running"
                and job["spec"]["vmiName"] not in moving
                for job in now.values()) and now))
        first.kill()
        return jobs

    def goes_on(self, under_way, uids):
        second = self.plugin("evacuate", LEFT, "--yes", "--parallel", "1")
        self.wait("it follows what moves", lambda: (
            f"{PARALLEL} VMs of {LEFT} move already." in second.log()))
        self.assertEqual(self.in_flight().keys(), under_way.keys())
        for name in self.vms_on(LEFT):
            self.set_fault(name, None)
        text = self.ended(second)
        self.assertIn(f"No VM is on {LEFT} any more", text)
        for job in under_way.values():
            self.assertIn(f"default/{job['spec']['vmiName']}: moved to", text)
        self.assertEqual(self.vms_on(LEFT), set())
        self.assertTrue(self.is_cordoned(LEFT))
        self.assert_each_runs_once(uids)

    def assert_moved_once(self, uids):
        self.assertEqual(self.uids(uids), uids)
        jobs = self.migrations()
        self.assertEqual(sorted(job["spec"]["vmiName"] for job in jobs),
                         sorted(uids))
        self.assertEqual({phase_of(job) for job in jobs}, {"Succeeded"})

    def migrate_one(self, name):
        """To a node that the user names, which is not the cordoned one."""
        program = self.plugin("migrate", name, "--to", LEFT, "--yes")
        self.assertIn("unschedulable", self.ended(program, 1))
        source = self.vm_node(name)
        target = next(node for node in OTHERS if node != source)
        text = self.says("migrate", name, "--to", target, "--yes")
        self.assertIn(f"default/{name}: moved to {target}", text)
        self.assertEqual(self.vm_node(name), target)
        self.assertEqual(len(self.migrations(name)), 2)
        self.assert_each_runs_once([name])


if __name__ == "__main__":
    unittest.main()
