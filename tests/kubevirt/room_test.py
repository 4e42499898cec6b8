"""The scheduler and KubeVirt's own controllers make room for an urgent VM by
moving others out of its way; nobody is killed."""
import pathlib
import sys
import unittest

TESTS = pathlib.Path(__file__).resolve().parents[1]
sys.path += [str(TESTS / "support"), str(TESTS / "e2e")]

from harness import launcher  # noqa: E402
from room_case import AHEAD_S, HANGS, RoomCase  # noqa: E402
from virt_handler import name_of, phase_of  # noqa: E402
from wall_clock import WallClock  # noqa: E402

# Fits on the node that one VM has left, beside the two others.
TAKER_MEMORY = "17Gi"


class Room(RoomCase):
    # The test ends the copies.
    annotations = {"made": HANGS}

    @classmethod
    def setUpClass(cls):
        cls.begin_room(made=3, kept=2)
        cls.start_vm_load()
        cls.clock = WallClock(cls.folder.path / "clock", AHEAD_S)
        cls.maker = cls.room_maker("--make-room", "automatic")
        cls.recommender = cls.room_maker()

    # ---- automatic ----

    def test_an_urgent_vm_starts_after_two_moves_and_nobody_is_hurt(self):
        self.work_alone(self.maker)
        urgent = self.make_urgent("made")
        pod = self.launcher_of(urgent)
        self.assert_told(pod)
        first = self.end_first(pod)
        taker = self.make(launcher(
            "taker", memory=TAKER_MEMORY, nodeSelector={"scene": "made"}))
        self.assert_unschedulable(taker, "Insufficient memory")
        self.assertEqual(self.phase(urgent), "Scheduling")
        self.end_copies(*self.vms_of("made"))
        self.await_running(urgent)
        node = self.vm_node(urgent)
        self.assertEqual(first["source"], node)
        self.assert_two_moves(pod, node)
        self.assertEqual(self.nominations(pod), {node})
        self.assert_never_bound(taker)
        self.assert_nobody_was_hurt("made")
        self.wait("no more room is made for it", lambda: (
            self.attempt(self.maker, pod) is None))

    def assert_told(self, pod):
        """The scheduler says for which pod it makes room."""
        attempt = self.wait("room is being made", lambda: (
            (now := self.attempt(self.maker, pod))
            and now["state"] == "moving" and now))
        self.assertEqual(len(attempt["moves"]), 2)
        self.assertIn(f"fits on {attempt['node']} after 2 moves",
                      attempt["plan"])
        self.assertEqual(self.event(pod, "MakingRoom")["note"],
                         attempt["plan"])

    def end_first(self, pod):
        """The record of a move, when it is done."""
        running = self.wait("a copy runs", lambda: self.room_moves(
            pod, "running"))
        self.end_copies(running[-1]["vm"])
        return self.wait("the first move is done", lambda: next(iter(
            self.room_moves(pod, "succeeded")), None))

    def assert_two_moves(self, pod, node):
        moves = self.wait("both moves are recorded", lambda: (
            len(done := self.room_moves(pod, "succeeded")) == 2 and done))
        self.assertEqual(len(self.room_moves(pod)), 2)
        self.assertEqual({move["source"] for move in moves}, {node})
        self.assertEqual({move["vm"]: move["target"] for move in moves},
                         self.moved("made"))
        for move in moves:
            self.assertTrue(move["is_automatic"])
            job, = self.migrations(move["vm"])
            self.assertEqual((name_of(job), phase_of(job)),
                             (move["migration"], "Succeeded"))

    def assert_never_bound(self, pod):
        versions = self.pod_history.of(lambda one: name_of(one)
                                       == name_of(pod))
        self.assertGreater(len(versions), 1)
        self.assertEqual([version for _, version in versions
                          if "nodeName" in version["spec"]], [])

    # ---- recommended ----

    def test_moves_for_room_are_recommended_until_the_pod_fits(self):
        self.work_alone(self.recommender)
        urgent = self.make_urgent("kept")
        pod = self.launcher_of(urgent)
        moves = self.wait("two moves are recommended", lambda: (
            len(now := self.room_moves(pod, "recommended")) == 2 and now))
        node, = {move["source"] for move in moves}
        self.assert_said(pod, urgent, moves)
        self.assertEqual(self.jobs("kept"), [])
        self.assertEqual(self.moved("kept"), {})
        self.assertEqual(self.nominations(pod), set())
        for vm in self.vms_on(node)[:2]:
            self.remove_vm(vm)
        self.await_running(urgent)
        self.wait("nothing is recommended any more", lambda: len(
            self.room_moves(pod, "withdrawn")) == len(self.room_moves(pod)))
        self.assertEqual(self.jobs("kept"), [])

    def assert_said(self, pod, urgent, moves):
        """In the condition of the pod that does not fit, and in an event."""
        plan = self.event(pod, "RoomRecommended")["note"]
        self.assertIn(f"default/{urgent} fits on {moves[0]['source']} after "
                      "2 moves: ", plan)
        for move in moves:
            self.assertIn(f"default/{move['vm']} to {move['target']}", plan)
        self.wait("the condition says so", lambda: (
            self.kube.condition(pod)["message"].endswith(
                f" plimsoll can make room: {plan}")))


if __name__ == "__main__":
    unittest.main()
