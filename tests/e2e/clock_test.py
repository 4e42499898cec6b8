"""Wall clocks that jump: those of schedulers by an hour to either side of the
API server's, then those of the nodes and of the aggregator. Leases, waits and
the age of load go by the monotonic clock, so a jump shows only in times that
people read."""
import datetime
import pathlib
import re
import sys
import time
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))

from cluster import ClusterCase  # noqa: E402
from harness import eventually, http_get, launcher  # noqa: E402
from kube_api import path_of  # noqa: E402
from wall_clock import HOUR_S, WallClock  # noqa: E402

NODES = ("node-a", "node-b")
# Certificates here are valid since an hour before they were made.
BACK_S = 3000
# A lease lasts 15 s and is renewed every 2 s.
RENEWALS = 9
RENEW_DEADLINE_S = 10  # of kube-scheduler and of us
LEADS = '"became leader"'
LOST = '"lost leader election"'


class Pair:
    """A leader and a standby with a Lease of their own, each with a clock."""

    def __init__(self, test, name, leader_s=0):
        """leader_s: how far ahead the leader's clock is."""
        self.test, self.name = test, name
        path = test.folder.path
        self.clocks = (WallClock(path / f"{name}-leads", leader_s),
                       WallClock(path / f"{name}-waits"))
        self.leader = self.start(self.clocks[0])
        self.leader.wait_log(LEADS)
        self.standby = self.start(self.clocks[1])
        self.standby.wait_log('"caches synced"')
        self.renewals = set()

    def start(self, clock):
        program = self.test.scheduler(
            "--aggregator", self.test.aggregator.url, name=self.name)
        self.test.addCleanup(program.kill)
        return clock.start(program)

    def lease(self):
        return self.test.kube.get(
            path_of("Lease", "default", self.name))["spec"]

    def renewed_ahead_s(self):
        """How far ahead of this clock the lease was renewed by its time."""
        renewed = datetime.datetime.fromisoformat(
            self.lease()["renewTime"].replace("Z", "+00:00"))
        return renewed.timestamp() - time.time()

    def await_lease_ahead(self, ahead_s):
        eventually("the lease shows the leader's clock", lambda: abs(
            self.renewed_ahead_s() - ahead_s) < HOUR_S / 10)

    def is_renewed_often(self):
        """Whether it was seen renewed for longer than it lasts."""
        self.renewals.add(self.lease()["renewTime"])
        return len(self.renewals) > RENEWALS

    def renewals_missed(self):
        """For each time that the leader lost its lease: the seconds since it
        was renewed, by the monotonic clock of the leader."""
        return [float(seconds) for seconds in re.findall(
            LOST + r".* renewed_s_ago=([0-9.e+]+)", self.leader.log())]

    def assert_led_by_one(self):
        """No jump ends the lease. A machine that is too busy to renew it in
        time does, and the leader then says for how long it was not renewed."""
        missed = self.renewals_missed()
        self.test.assertEqual(len(missed), self.leader.log().count(LOST))
        if missed:
            self.test.assertGreaterEqual(min(missed), RENEW_DEADLINE_S)
            return
        self.test.assertEqual(self.lease()["leaseTransitions"], 0)
        for program, times in ((self.leader, 1), (self.standby, 0)):
            self.test.assertEqual(program.log().count(LEADS), times)
            self.test.assert_no_complaint(program)


class Clock(ClusterCase):
    @classmethod
    def setUpClass(cls):
        cls.begin(is_local=True)
        cls.make_nodes(NODES, 64, "256Gi")
        cls.nodes_clock = WallClock(cls.folder.path / "nodes")
        cls.start_load(dict.fromkeys(NODES, (0.0, 0.0)),
                       env=cls.nodes_clock.env)

    def setUp(self):
        self.make_busy("node-a")

    def make_busy(self, busy):
        """This node's machine has no idle CPU from now on, the other's has."""
        with self.driver.lock:
            for name, machine in self.machines.items():
                machine.busy = 0.9 if name == busy else 0.0

    def assert_no_complaint(self, program):
        self.assertTrue(program.running(), program.name)
        self.assertEqual(re.findall(r"(?m)^[WEF]\d{4} .*", program.log()), [],
                         program.name)

    def place(self, scheduler):
        """Creates a VM's pod, which is bound; its node."""
        pod = self.make(launcher(f"by-load-{time.monotonic_ns()}",
                                 memory="1Gi", scheduler=scheduler))
        self.assert_bound_once([pod])
        return pod, self.kube.node_of(pod)

    def assert_goes_by_load(self, scheduler, node):
        """VMs go to the node whose machine is idle now."""
        def goes_by_load():
            pod, placed = self.place(scheduler)
            return placed == node and "% CPU used" in self.event(pod)["note"]
        eventually(f"VMs go to {node}", goes_by_load, every=0.5)

    # ---- the schedulers' clocks ----

    def make_waiting_pod(self, pair):
        """A pod that waits for a node with a label."""
        pod = self.make(launcher(
            f"waits-{pair.name}", memory="1Gi", scheduler=pair.name,
            nodeSelector={"plimsoll.io/fits": "yes"}))
        self.assert_unschedulable(pod, "node affinity")
        return pod

    def jump(self, leaders, standbys):
        """The clocks jump while a pod of each leader waits for a node.
        leaders, standbys: pair -> how far ahead the clock is afterwards."""
        waiting = [self.make_waiting_pod(pair) for pair in leaders]
        for pair, ahead_s in leaders.items():
            pair.clocks[0].set(ahead_s)
        for pair, ahead_s in standbys.items():
            pair.clocks[1].set(ahead_s)
        for pair, ahead_s in leaders.items():
            pair.await_lease_ahead(ahead_s)
        self.label_node("yes")
        self.addCleanup(self.label_node, None)
        for pod in waiting:
            self.assertEqual(self.bound(pod), "node-b")

    def label_node(self, value):
        self.kube.patch("/api/v1/nodes/node-b", {
            "metadata": {"labels": {"plimsoll.io/fits": value}}})

    def test_schedulers_do_their_work_while_their_clocks_jump(self):
        back = Pair(self, "leader-back", HOUR_S)
        forward = Pair(self, "leader-forward", -BACK_S)
        standby_back = Pair(self, "standby-back")
        standby_forward = Pair(self, "standby-forward")
        pairs = (back, forward, standby_back, standby_forward)
        back.await_lease_ahead(HOUR_S)
        for pair in pairs:
            self.assert_goes_by_load(pair.name, "node-b")
        self.jump({back: -BACK_S, forward: HOUR_S},
                  {standby_back: -BACK_S, standby_forward: HOUR_S})
        self.make_busy("node-b")
        for pair in pairs:
            with self.subTest(f"{pair.name}: VMs go by the load of now"):
                self.assert_goes_by_load(pair.name, "node-a")
        eventually("all leases are renewed for longer than they last", lambda:
                   all([pair.is_renewed_often() for pair in pairs]))
        for pair in pairs:
            with self.subTest(f"{pair.name}: the leader stays the leader"):
                pair.assert_led_by_one()

    # ---- the nodes' clocks ----

    def states(self):
        return {n["name"]: n["state"]
                for n in self.aggregator.json("/v1/nodes")["nodes"]}

    @staticmethod
    def nodes_fresh_in(scheduler):
        port = re.search(r"http=(\d+)", scheduler.log()).group(1)
        text = http_get(f"http://127.0.0.1:{port}/metrics")[2]
        return int(re.search(
            r'(?m)^plimsoll_scheduler_nodes\{load="fresh"\} (\d+)$',
            text).group(1))

    def test_load_keeps_its_age_while_the_nodes_clocks_jump(self):
        name = self.own_name()
        scheduler = self.scheduler("--aggregator", self.aggregator.url,
                                   name=name).start()
        self.addCleanup(scheduler.kill)
        self.addCleanup(self.nodes_clock.set, 0)
        for ahead_s, busy in ((HOUR_S, 1), (-BACK_S, 0)):
            with self.subTest(f"{ahead_s} s ahead"):
                self.nodes_clock.set(ahead_s)
                self.make_busy(NODES[busy])
                self.assert_goes_by_load(name, NODES[1 - busy])
                self.await_fresh()
                eventually("they are fresh in the scheduler too", lambda: (
                    self.nodes_fresh_in(scheduler) == len(NODES)))
        with self.subTest("a node that is silent after the jumps gets stale"):
            self.assert_gets_stale("node-a", scheduler)
        self.assert_no_complaint(scheduler)

    def assert_gets_stale(self, name, scheduler):
        self.addCleanup(self.await_fresh)
        self.addCleanup(self.agents[name].start)
        self.agents[name].kill()
        expected = {n: "stale" if n == name else "fresh" for n in NODES}
        eventually(f"{name} is stale", lambda: self.states() == expected)
        eventually("it is stale in the scheduler too",
                   lambda: self.nodes_fresh_in(scheduler) == len(NODES) - 1)

    def await_fresh(self):
        eventually("all nodes are fresh", lambda:
                   self.states() == dict.fromkeys(NODES, "fresh"))


if __name__ == "__main__":
    unittest.main()
