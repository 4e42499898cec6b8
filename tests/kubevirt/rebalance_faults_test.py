"""Moves of running VMs when somebody gets in the way: programs are killed,
other movers and drains are at work, rights or data are missing."""
import pathlib
import re
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))

import yaml  # noqa: E402
from harness import ROOT, mark  # noqa: E402
from kube_api import kubectl, token_kubeconfig  # noqa: E402
from mover_case import MoverCase, NODES  # noqa: E402
from virt_handler import state_of  # noqa: E402

ENDED = ("succeeded", "failed")
LEFT_ALONE = re.compile(
    r"^node-. is short of CPU time, but it (is cordoned|has a VM that is being "
    r"evicted: the (migration default/\S+ of the VM|VM) \S+|has a migration that "
    r"somebody else ordered: the migration default/\S+ of the VM \S+)$")


class Interrupted(MoverCase):
    big = ("killed", "moved", "cordoned", "entered", "evicted")
    small = ("guest", "leaving")

    @classmethod
    def setUpClass(cls):
        cls.begin_mover()
        # Two replicas.
        cls.mover().start()
        cls.mover().start()

    def leader(self):
        return self.wait("a replica leads", lambda: next(
            filter(self.leads, self.programs), None))

    # ---- killed in the midst; the duel ----

    @mark(steady="a move is ordered once")
    def test_a_move_survives_kills_and_another_mover_ends_the_duel(self):
        vm = "killed"
        source = self.vm_node(vm)
        self.set_copy(vm, 30)
        self.make_short(vm)
        record = self.await_record(vm, "running")
        self.kill_all()
        record = self.await_record(vm, *ENDED)
        self.assertEqual((record["state"], record["failure"]),
                         ("succeeded", None))
        self.assert_moved_once(vm, source, record)
        self.duel(vm, source)

    def kill_all(self):
        leader = self.leader()
        killed = (leader, self.kubevirt.virt_controller, self.aggregator)
        for program in killed:
            program.kill()
        self.aggregator.start()
        self.kubevirt.virt_controller.start()
        self.assertIsNot(self.leader(), leader)
        leader.start()

    def assert_moved_once(self, vm, source, record):
        self.assert_each_runs_once([vm])
        self.assertEqual(self.vm_node(vm), record["target"])
        self.assertNotEqual(record["target"], source)
        self.assertEqual(len(self.migrations(vm)), 1)
        self.assertEqual([r["id"] for r in self.records(vm)],
                         [record["id"]])
        self.wait("the new leader knows that nothing is in flight",
                  lambda: not self.rebalance(self.leader())["in_flight"])
        self.assert_room(source)

    def duel(self, vm, source):
        """A mover that wants the VM where it was."""
        self.set_copy(vm, 1)
        self.assertEqual(self.outcome(self.migrate(vm, to=source)),
                         "Succeeded")
        note = self.event_of(vm, "MoveStandsAside")
        self.assertIn("left alone for 6 hours", note)
        leader = self.leader()
        self.assertEqual(self.rebalance(leader)["vms_left_to_others"], 1)
        leader.stop()
        self.wait("the next leader leaves the VM alone, too", lambda: (
            self.rebalance(self.leader())["vms_left_to_others"] == 1))
        leader.start()
        self.assertEqual(len(self.ours(vm)), 1)

    # ---- others go first ----

    def test_moves_stand_aside_for_everybody_else(self):
        _, moved, cordoned, entered, evicted = self.big
        guest, leaving = self.small
        self.outcome(self.migrate(leaving, to=self.vm_node(evicted)))
        self.set_fault(moved, "migration-deaf")
        self.set_fault(guest, "migration-hangs")
        self.set_fault(leaving, "migration-hangs")
        self.make_short(moved, cordoned, entered, evicted)
        self.cordon(self.vm_node(cordoned))
        self.migrate(guest, to=self.vm_node(entered))
        self.assertEqual(self.evict(self.vm_pod(leaving)), 429)
        record = self.await_record(moved, "running")
        for vm in (cordoned, entered, evicted):
            self.assertEqual(self.records(vm), [], vm)
        self.assertNotEqual(record["target"], self.vm_node(cordoned))
        # The round that orders a move says nothing, and the next one does.
        self.wait("the mover names a node that it leaves alone", lambda:
                  LEFT_ALONE.search(self.rebalance(self.leader())["why"]))
        self.abort(record)

    def cordon(self, node):
        self.cluster.kubectl("cordon", node)
        self.addCleanup(self.cluster.kubectl, "uncordon", node)

    def abort(self, record):
        """The user deletes the migration. The move ends when virt-handler
        answers, and not before."""
        vm = record["vm"]
        self.remove_migration(self.job_of(record))
        self.wait("the abort has begun", lambda: state_of(
            self.vmi(vm)).get("abortRequested"))
        self.assertEqual(self.records(vm)[0]["state"], "running")
        self.set_fault(vm, "migration-hangs")
        ended = self.await_record(vm, "withdrawn")
        self.assertIn("aborted", ended["failure"])
        self.assert_room(record["target"])

    # ---- migrations without a target ----

    def test_a_migration_avoids_the_node_where_the_last_one_failed(self):
        vm, = self.run_vms("avoids", 1)
        taken = {self.vm_node(name) for name in (vm, *self.big)}
        best, *others = sorted(set(NODES) - taken)
        for node in others:
            self.make_hot(node, 2.5)
        self.set_fault(vm, f"migration-fails@{best}")
        self.assertEqual(self.outcome(self.migrate(vm)), "Failed")
        self.assertEqual(state_of(self.vmi(vm))["targetNode"], best)
        self.assertEqual(self.outcome(self.migrate(vm)), "Succeeded")
        self.assertNotEqual(self.vm_node(vm), best)

    # ---- what is missing ----

    def test_moves_are_not_ordered_while_something_is_missing(self):
        leader = self.leader()
        self.await_why("", leader, "automatic")
        self.old_version(leader)
        self.upgrade(leader)
        self.rights()
        self.aggregator.kill()
        self.await_why("no connected aggregator", leader)
        self.aggregator.start()
        self.await_why("", leader, "automatic")

    def set_status(self, **status):
        self.kubevirt.patch_cr({"status": status}, "/status")

    def old_version(self, leader):
        version = self.kubevirt.version()
        both = "observedKubeVirtVersion", "targetKubeVirtVersion"
        self.set_status(**dict.fromkeys(both, "v1.5.2"))
        self.await_why("KubeVirt v1.5.2 is older than 1.6", leader)
        self.set_status(**dict.fromkeys(both, version))
        self.await_why("", leader, "automatic")

    def upgrade(self, leader):
        self.set_status(targetKubeVirtVersion="v1.99.0")
        self.await_why("KubeVirt is being upgraded", leader)
        self.set_status(targetKubeVirtVersion=self.kubevirt.version())
        self.await_why("", leader, "automatic")

    def rights(self):
        """Schedulers of the ServiceAccount that deploy/base has."""
        self.kube.create({"apiVersion": "v1", "kind": "Namespace",
                          "metadata": {"name": "plimsoll"}})
        self.make_account(reads_kubevirt=False)
        blind = self.start_as_account("blind")
        self.await_why("forbidden", blind)
        self.assertIn("virtualmachineinstances are not watched: ",
                      self.rebalance(blind)["why"])
        blind.stop()
        self.make_account(reads_kubevirt=True)
        base = self.start_as_account("base")
        self.await_why("may not create virtualmachineinstancemigrations",
                       base)
        base.stop()

    def make_account(self, reads_kubevirt):
        text = (ROOT / "deploy/base/scheduler/account.yaml").read_text()
        kept = [thing for thing in yaml.safe_load_all(text)
                if thing["metadata"]["name"] == "plimsoll-scheduler"]
        for thing in kept:
            for rule in thing.get("rules", []):
                rule.pop("resourceNames", None)
                if not reads_kubevirt and any(
                        group.endswith("kubevirt.io")
                        for group in rule.get("apiGroups", [])):
                    rule["resources"] = ["nothing"]
        kubectl(self.cluster.kubeconfig(), "apply", "-f", "-",
                text=yaml.safe_dump_all(kept))

    def start_as_account(self, name):
        path = self.folder.path / f"{name}.kubeconfig"
        path.write_text(token_kubeconfig(
            self.cluster.kubeconfig(),
            self.kube.token("plimsoll", "plimsoll-scheduler")))
        return self.mover(
            "--leader-elect-resource-namespace", "plimsoll", name=name,
            kubeconfig=path).start()


if __name__ == "__main__":
    unittest.main()
