"""Room is made although programs are killed at every step, and the end of it is
told when somebody takes the place or when it takes too long."""
import contextlib
import pathlib
import signal
import sys
import unittest

TESTS = pathlib.Path(__file__).resolve().parents[1]
sys.path += [str(TESTS / "support"), str(TESTS / "e2e")]

from harness import launcher, mark  # noqa: E402
from kube_api import path_of  # noqa: E402
from room_case import AHEAD_S, HANGS, RoomCase  # noqa: E402
from virt_handler import FINAL, name_of, phase_of  # noqa: E402
from wall_clock import WallClock  # noqa: E402

# The tests of the class share the moves of an hour.
AUTOMATIC = ("--make-room", "automatic", "--rebalance-max-per-hour", "60")
# Beside it the urgent VM does not fit, also after two moves.
TAKER_MEMORY = "17Gi"
TIMEOUT_S = 600  # no test waits so long: the clock jumps
TIMEOUT = ("--make-room-timeout", f"{TIMEOUT_S}s")


@contextlib.contextmanager
def suspended(program):
    program.process.send_signal(signal.SIGSTOP)
    try:
        yield
    finally:
        program.process.send_signal(signal.SIGCONT)


class RoomFaults(RoomCase):
    # The tests end the copies.
    annotations = {"killed": HANGS, "taken": HANGS, "late": HANGS}

    @classmethod
    def setUpClass(cls):
        cls.begin_room(killed=2, taken=4, late=2)
        cls.start_vm_load()
        cls.clock = WallClock(cls.folder.path / "clock", AHEAD_S)
        for _ in range(2):
            cls.room_maker(*AUTOMATIC)

    def setUp(self):
        super().setUp()
        for program in self.programs:
            program.start()
            self.addCleanup(program.stop)

    # ---- killed ----

    @mark(steady="a move is ordered once")
    def test_room_is_made_although_the_scheduler_is_killed_at_every_step(self):
        with self.upgrading():  # nothing is ordered meanwhile
            urgent = self.make_urgent("killed")
            pod = self.launcher_of(urgent)
            self.wait("there is a plan", lambda: len(
                self.room_moves(pod, "recommended")) == 2)
            self.assertEqual(self.jobs("killed"), [])
            killed = self.kill_leader()
        self.follow(killed)
        first = self.await_job()
        self.follow(self.kill_leader())
        self.await_phase(first, "Running")
        self.follow(self.kill_leader())
        self.assertEqual([name_of(job) for job in self.jobs("killed")],
                         [name_of(first)])
        self.follow(self.kill_at_end_of(first))
        second = self.await_job(first)
        self.await_phase(second, "Running")
        self.follow(self.kill_at_end_of(second))
        self.await_running(urgent)
        self.assert_made(urgent, pod, (first, second))

    @contextlib.contextmanager
    def upgrading(self):
        """KubeVirt says that it is being upgraded."""
        self.set_target("v1.99.0")
        yield
        self.set_target(self.kubevirt.version())

    def set_target(self, version):
        self.kubevirt.patch_cr(
            {"status": {"targetKubeVirtVersion": version}}, "/status")

    def leader(self):
        return self.wait("a replica leads", lambda: next(
            filter(self.leads, self.programs), None))

    def kill_leader(self):
        leader = self.leader()
        leader.kill()
        return leader

    def follow(self, killed):
        """The other replica leads. The Lease of the one that was killed would
        end after 15 s."""
        self.kube.delete(path_of("Lease", "default", "plimsoll-scheduler"))
        self.assertIsNot(self.leader(), killed)
        killed.start()

    def kill_at_end_of(self, job):
        """The leader is killed and does not know that the move is over."""
        leader = self.leader()
        with suspended(leader):
            self.end_copies(job["spec"]["vmiName"])
            self.assertEqual(self.outcome(job), "Succeeded")
            self.assertEqual(len(self.unfinished()), 0)
            leader.kill()
        return leader

    def unfinished(self, scene="killed"):
        return [job for job in self.jobs(scene)
                if phase_of(job) not in FINAL]

    def await_job(self, *known, scene="killed"):
        """A migration that is not among these."""
        names = [name_of(job) for job in known]
        return self.wait("a move is ordered", lambda: next(
            (job for job in self.jobs(scene) if name_of(job) not in names),
            None))

    def await_phase(self, job, phase):
        self.wait(f"{name_of(job)} is {phase}", lambda: any(
            phase_of(now) == phase for now in self.jobs("killed")
            if name_of(now) == name_of(job)))

    def assert_made(self, urgent, pod, jobs):
        node = self.vm_node(urgent)
        self.assertEqual({name_of(job) for job in self.jobs("killed")},
                         set(map(name_of, jobs)))
        moves = self.wait("the records are complete", lambda: (
            len(done := self.room_moves(pod, "succeeded")) == 2 and done))
        self.assertEqual({(m["vm"], m["source"], m["migration"])
                          for m in moves},
                         {(job["spec"]["vmiName"], node, name_of(job))
                          for job in jobs})
        self.assertEqual(self.moved("killed"),
                         {m["vm"]: m["target"] for m in moves})
        self.assert_nobody_was_hurt("killed")

    # ---- the place is taken ----

    def test_a_place_that_is_taken_is_reported_and_made_anew_only_once(self):
        urgent = self.make_urgent("taken")
        pod = self.launcher_of(urgent)
        first = self.take_place(pod)
        second = self.take_place(pod, first)
        self.await_given_up(pod, "took the place")
        self.assertEqual(self.phase(urgent), "Scheduling")
        self.assertEqual(self.nominations(pod), {first, second})
        self.await_rest("taken", pod)
        self.assert_nobody_was_hurt("taken")

    def take_place(self, pod, *lost):
        """Another scheduler binds a pod on the node as soon as a move from
        there is done; the node."""
        move = self.wait("a copy runs", lambda: next(
            (move for move in self.room_moves(pod, "running")
             if move["source"] not in lost), None))
        node = move["source"]
        self.end_copies(move["vm"])
        self.wait("the move is done", lambda: any(
            done["id"] == move["id"] for done in self.room_moves(
                pod, "succeeded")))
        taker = self.make(launcher(f"taker-of-{node}", scheduler="other",
                                   memory=TAKER_MEMORY))
        self.place_by_hand(taker, node)
        self.end_copies(*self.vms_on(node))
        self.assert_event(pod, f"{name_of(taker)} of scheduler other took "
                          "the place")
        return node

    def assert_event(self, pod, words):
        self.wait(f"an event says: {words}", lambda: any(
            words in event["note"] for event in self.kube.events(pod)))

    def await_given_up(self, pod, why, leader=None):
        """Events, the pod's condition and /v1/room say so."""
        leader = leader or self.leader()
        self.wait("it leads", lambda: self.leads(leader))

        def said():
            attempt = self.attempt(leader, pod)
            return (attempt and attempt["state"] == "given_up"
                    and why in attempt["why"])
        self.wait("the scheduler gives up", said)
        self.wait("the condition says so", lambda: (
            "gave up making room" in (self.kube.condition(pod) or {}).get(
                "message", "")))
        self.assert_event(pod, why)

    def await_rest(self, scene, pod):
        """Nothing is under way for the pod any more."""
        self.end_copies(*self.vms_of(scene))
        self.wait("all moves have ended", lambda: not (
            self.unfinished(scene)
            or self.room_moves(pod, "ordered", "running", "recommended")))

    # ---- it takes too long ----

    def test_making_room_ends_with_its_time_also_after_a_restart(self):
        for program in self.programs:
            program.stop()
        clock = WallClock(self.folder.path / "later", AHEAD_S)
        hasty = self.room_maker(*AUTOMATIC, *TIMEOUT, clock=clock)
        self.addCleanup(self.programs.remove, hasty)
        self.work_alone(hasty)
        urgent = self.make_urgent("late")
        pod = self.launcher_of(urgent)
        self.await_job(scene="late")
        hasty.stop()
        clock.set(AHEAD_S + TIMEOUT_S)
        hasty.start()
        self.await_given_up(
            pod, f"the pod did not start within {TIMEOUT_S} s", hasty)
        self.await_rest("late", pod)
        self.assertEqual(self.phase(urgent), "Scheduling")
        self.assertEqual(len(self.jobs("late")), 1)
        self.assert_nobody_was_hurt("late")


if __name__ == "__main__":
    unittest.main()
