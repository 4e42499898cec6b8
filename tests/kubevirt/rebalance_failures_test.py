"""Moves of running VMs that fail, and a drain meanwhile."""
import pathlib
import sys
import threading
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))

from harness import PATIENCE_S  # noqa: E402
from kubevirt import path_of  # noqa: E402
from mover_case import MoverCase  # noqa: E402

# A target pod that does not start gives its place back after 120 s. The tests
# shorten that once it is ordered.
PENDING = "kubevirt.io/migrationPendingPodTimeoutSeconds"
PENDING_S, SHORT_S = 120, 20
OPEN = ("ordered", "running")


class Failing(MoverCase):
    big = ("copying", "refused", "crashing", "pending")

    @classmethod
    def setUpClass(cls):
        cls.begin_mover()
        cls.mover().start()

    def test_failures_leave_no_trace_but_their_records_and_pause_moves(self):
        copying, refused, crashing, pending = self.big
        for vm, fault in zip(self.big, (
                "migration-fails", "target-start-fails", "target-crashes",
                "target-never-starts")):
            self.set_fault(vm, fault)
        self.make_short(*self.big)
        waiting = self.await_record(pending, *OPEN)
        draining = self.begin_drain(waiting)
        failed = {vm: self.await_record(vm, "failed")
                  for vm in (copying, refused, crashing)}
        self.assertIn("the copy broke off", failed[copying]["failure"])
        self.assertIn("Target pod is down", failed[crashing]["failure"])
        self.assertNotEqual(failed[refused]["failure"], "")
        # The drained VM may come to one of these nodes.
        for record in failed.values():
            self.assert_room(record["target"])
        self.assert_paused()
        for record in failed.values():
            self.assertIn(record["failure"],
                          self.event_of(record["vm"], "MoveFailed"))
            self.assert_each_runs_once([record["vm"]])
        self.assert_other_target(failed)
        self.assert_successor_is_paused()
        self.assert_drained(waiting, draining)

    def assert_paused(self):
        self.wait("the namespace is paused", lambda: [
            paused["namespace"] for paused in
            self.rebalance()["paused_namespaces"]] == ["default"])
        self.await_why("are paused", mode="automatic")
        self.assertEqual(self.metric("plimsoll_scheduler_moves_paused"), 0)
        self.assertEqual(self.metric(
            "plimsoll_scheduler_moves_paused_namespaces"), 1)
        path = "/apis/events.k8s.io/v1/namespaces/default/events"
        self.wait("an event tells of the pause", lambda: any(
            e["reason"] == "MovesPaused"
            for e in self.kube.get(path)["items"]))

    def assert_other_target(self, failed):
        """The next move of such a VM goes elsewhere."""
        def recommended():
            return [move for move in self.rebalance()["recommendations"]
                    if move["vm"] in failed]
        moves = self.wait("a failed VM is to move again", recommended)
        for move in moves:
            self.assertNotEqual(move["target"],
                                failed[move["vm"]]["target"])

    def assert_successor_is_paused(self):
        """A leader that has only the records goes on with the pause."""
        self.programs[0].stop()
        self.programs[0].start()
        self.wait("it leads", lambda: self.leads(self.programs[0]))
        self.assert_paused()
        paused, = self.rebalance()["paused_namespaces"]
        self.assertEqual(paused["namespace"], "default")
        self.assertGreaterEqual(paused["failures_in_a_row"], 3)

    # ---- a drain while a target pod does not start ----

    def begin_drain(self, record):
        """A thread that drains the source, and its list of what kubectl
        said."""
        said = []

        def drain():
            said.append(self.drain(record["source"]))
        # The next target of the VM works.
        self.set_fault(record["vm"],
                       f"target-never-starts@{record['target']}")
        self.shorten(self.job_of(record))
        thread = threading.Thread(target=drain, daemon=True)
        thread.start()
        return thread, said

    def shorten(self, job):
        meta = job["metadata"]
        self.assertEqual(meta["annotations"][PENDING], str(PENDING_S))
        self.kube.patch(
            path_of("VirtualMachineInstanceMigration", "default",
                    meta["name"]),
            {"metadata": {"annotations": {PENDING: str(SHORT_S)}}})

    def assert_drained(self, record, draining):
        thread, said = draining
        thread.join(PATIENCE_S)
        self.assertEqual(len(said), 1, "the drain has ended")
        ended = self.await_record(record["vm"], "failed")
        self.assertEqual(ended["id"], record["id"])
        self.assertNotEqual(ended["failure"], "")
        self.assert_each_runs_once([record["vm"]])
        self.assertNotIn(self.vm_node(record["vm"]),
                         (record["source"], record["target"]))
        self.assert_room(record["target"])


if __name__ == "__main__":
    unittest.main()
