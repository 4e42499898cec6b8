"""Wall clocks that jump: the scheduler's by an hour to either side of the API
server's, then those of the nodes and of the aggregator. Leases, waits and the
age of load go by the monotonic clock, so nobody but people who read times
should see anything of it."""
import datetime
import pathlib
import re
import socket
import struct
import sys
import time
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))

from cluster import ClusterCase, accepted_bindings  # noqa: E402
from harness import (BIN, ROOT, Aggregator, Driver, Folder,  # noqa: E402
                     Machine, Program, agent, eventually, http_get, launcher)
from secure import SecureAggregator, certs, client_flags  # noqa: E402

SHIFTS = ROOT / "build/release/tests/e2e/clock_shift.so"
LEASE = ("/apis/coordination.k8s.io/v1/namespaces/default/leases/"
         "plimsoll-scheduler")
NODES = ("node-a", "node-b")
HOUR_S = 3600
# Certificates here are valid since an hour before they were made.
BACK_S = 3000
# A lease lasts 15 s and is renewed every 2.
RENEWALS = 9
LIMIT_S = 20
STALE_S = 15
# The clock is looked at every 15 s, and a new dialer begins with waits of 1 s.
WAITS_S = 60
# How one who answers greets in nng's protocol.
REPLIER = b"\x00SP\x00\x00\x31\x00\x00"


class WallClock:
    """Of one machine: that of the programs that have its environment."""

    def __init__(self, path):
        if not SHIFTS.exists():
            raise RuntimeError(f"{SHIFTS} is missing: `make e2e` builds it")
        self.path = path
        self.set(0)
        self.env = {"LD_PRELOAD": str(SHIFTS), "CLOCK_SHIFT": str(path)}

    def set(self, ahead_s):
        """So many seconds ahead of everybody else's, from now on."""
        now = struct.pack("=q", int(ahead_s * 1e6))
        if self.path.exists():
            with open(self.path, "r+b") as file:
                file.write(now)
        else:
            self.path.write_bytes(now)

    def start(self, program):
        program.env.update(self.env)
        return program.start()


class Clock(ClusterCase):
    @classmethod
    def setUpClass(cls):
        cls.begin_audited(NODES)
        cls.start_nodes()
        cls.first, cls.second = (WallClock(cls.folder.path / name)
                                 for name in ("first", "second"))
        cls.first.set(HOUR_S)
        cls.leader = cls.start_scheduler("leader", cls.first)
        cls.leader.wait_log('"this scheduler leads"')
        cls.standby = cls.start_scheduler("standby", cls.second)
        cls.standby.wait_log('"the cluster is known"')

    @classmethod
    def start_nodes(cls):
        cls.nodes = WallClock(cls.folder.path / "nodes")
        cls.machines = [Machine(cls.folder.path / name) for name in NODES]
        cls.machines[0].busy = 0.9
        driver = Driver(cls.machines).start()
        cls.addClassCleanup(driver.stop)
        cls.aggregator = cls.nodes.start(
            cls.folder.add(Aggregator(cls.folder.path)))
        cls.agents = [cls.nodes.start(cls.folder.add(agent(
            cls.folder.path, name, [cls.aggregator.url],
            *machine.agent_flags())))
            for name, machine in zip(NODES, cls.machines)]
        eventually("both report", lambda: all(
            (cls.aggregator.node(n) or {"cpu": {}})["cpu"].get(
                "used_cores_10s") is not None for n in NODES))

    @classmethod
    def start_scheduler(cls, name, clock):
        return clock.start(cls.folder.add(Program(cls.folder.path, name, [
            BIN / "plimsoll-scheduler", "--kubeconfig",
            cls.cluster.kubeconfig(), "--http", "127.0.0.1:0",
            "--aggregator", cls.aggregator.url])))

    def lease(self):
        return self.kube.get(LEASE)["spec"]

    def renewed_ahead_s(self):
        """How far ahead of this clock the lease says it was renewed."""
        renewed = datetime.datetime.fromisoformat(
            self.lease()["renewTime"].replace("Z", "+00:00"))
        return renewed.timestamp() - time.time()

    def assert_leads_on(self):
        """The lease is renewed for longer than it lasts, by the same one."""
        seen = set()

        def renewed_often():
            seen.add(self.lease()["renewTime"])
            return len(seen) > RENEWALS
        eventually("the lease is renewed", renewed_often, 4 * RENEWALS)
        self.assertEqual(self.lease()["leaseTransitions"], 0)
        for program, times in ((self.leader, 1), (self.standby, 0)):
            self.assertEqual(
                program.log().count('"this scheduler leads"'), times)

    def why(self, pod):
        return eventually("an event says why", lambda: next(
            (e["note"] for e in self.kube.events(pod)
             if e["reason"] == "Scheduled"), None))

    def place(self, name, **options):
        """A VM's pod, bound within seconds; its node."""
        pod = self.kube.create(launcher(
            f"{name}-{time.monotonic_ns()}", memory="1Gi", **options))
        node = eventually("it is bound", lambda: self.kube.node_of(pod),
                          LIMIT_S)
        self.assertEqual(
            accepted_bindings(self.audit)[pod["metadata"]["name"]], 1)
        return pod, node

    def assert_goes_by_load(self, node):
        """By measured load, that of now: the other node is the busy one."""
        def goes_by_load():
            pod, placed = self.place("by-load")
            return placed == node and "% CPU used" in self.why(pod)
        eventually(f"VMs go to {node}", goes_by_load, 2 * LIMIT_S, 1)

    def make_busy(self, busy):
        """This machine has no room from now on, the other has."""
        for i, machine in enumerate(self.machines):
            machine.busy = 0.9 if i == busy else 0.0

    def jump(self, ahead_s, name, busy):
        """The leader's clock jumps while a pod waits for a node to fit; and
        what is busy changes after it."""
        label = {f"plimsoll.io/{name}": "yes"}
        waiting = self.kube.create(launcher(
            f"waits-{name}", memory="1Gi", nodeSelector=label))
        eventually("no node fits", lambda: any(
            e["reason"] == "FailedScheduling"
            for e in self.kube.events(waiting)))
        self.first.set(ahead_s)
        eventually("the lease tells of the jump", lambda: abs(
            self.renewed_ahead_s() - ahead_s) < HOUR_S / 10)
        self.kube.request("PATCH", "/api/v1/nodes/node-b",
                          {"metadata": {"labels": label}},
                          "application/merge-patch+json")
        eventually("it is bound", lambda: self.kube.node_of(waiting),
                   LIMIT_S)
        self.make_busy(busy)
        self.assert_goes_by_load(NODES[1 - busy])
        self.assert_leads_on()

    def test_1_started_an_hour_ahead(self):
        eventually("the lease tells so", lambda: abs(
            self.renewed_ahead_s() - HOUR_S) < HOUR_S / 10)
        self.assert_goes_by_load("node-b")

    def test_2_back_by_hours(self):
        self.jump(-BACK_S, "back", 1)

    def test_3_forward_by_hours(self):
        self.jump(HOUR_S, "forward", 0)

    def test_4_the_standby_s_clock_takes_nothing_over(self):
        for ahead_s in (HOUR_S, -BACK_S):
            self.second.set(ahead_s)
            self.assert_leads_on()
        self.assert_goes_by_load("node-b")

    def states(self):
        return {n["name"]: n["state"]
                for n in self.aggregator.json("/v1/nodes")["nodes"]}

    def fresh_in_the_scheduler(self):
        port = re.search(r"http=(\d+)", self.leader.log()).group(1)
        text = http_get(f"http://127.0.0.1:{port}/metrics")[2]
        return int(re.search(
            r'(?m)^plimsoll_scheduler_nodes\{load="fresh"\} (\d+)$',
            text).group(1))

    def test_5_the_nodes_clocks_jump_and_load_stays_what_it_is(self):
        for ahead_s, busy in ((HOUR_S, 1), (-BACK_S, 0)):
            self.nodes.set(ahead_s)
            self.make_busy(busy)
            self.assert_goes_by_load(NODES[1 - busy])
            self.assertEqual(self.states(), dict.fromkeys(NODES, "fresh"))
            self.assertEqual(self.fresh_in_the_scheduler(), len(NODES))

    def test_6_a_node_that_is_silent_after_the_jumps_gets_stale(self):
        self.agents[0].kill()
        eventually("it is stale", lambda: self.states() == {
            NODES[0]: "stale", NODES[1]: "fresh"}, STALE_S + LIMIT_S)
        eventually("the scheduler takes it for stale",
                   lambda: self.fresh_in_the_scheduler() == 1, LIMIT_S)

    def test_7_the_schedulers_have_nothing_to_complain_of(self):
        for program in (self.leader, self.standby):
            self.assertTrue(program.running(), program.name)
            self.assertEqual(re.findall(r"(?m)^[WEF]\d{4} .*",
                                        program.log()), [], program.name)


class Agents(unittest.TestCase):
    """Without a cluster: nng waits by the wall clock, and would wait until it
    is again what it was. The kernel knows of no jump: the clock is ahead at
    first, so what it has been told to wait for is an hour away, as it is where
    a clock is really set back."""

    def setUp(self):
        self.folder = Folder()
        self.addCleanup(self.folder.close)
        self.machine = Machine(self.folder.path / "machine")
        self.addCleanup(self.machine.close)
        self.clock = WallClock(self.folder.path / "clock")
        self.clock.set(HOUR_S)

    def start_agent(self, url, *flags):
        return self.clock.start(self.folder.add(agent(
            self.folder.path, "node-a", [url], *self.machine.agent_flags(),
            *flags)))

    def test_set_back_while_an_agent_waits_for_its_next_dial(self):
        keys = self.folder.path / "keys"
        certs("new", keys)
        aggregator = self.folder.add(
            SecureAggregator(self.folder.path, keys)).start()
        program = self.start_agent(aggregator.url, *client_flags(keys))
        eventually("it reports", lambda: aggregator.node("node-a"))
        aggregator.stop()
        program.wait_log("no connection to the aggregator")
        self.clock.set(0)
        aggregator.start()
        eventually("it is connected again", lambda: program.log().count(
            '"connected"') == 2, WAITS_S)

    def test_set_back_while_an_agent_waits_for_an_answer(self):
        with socket.create_server(("127.0.0.1", 0)) as server:
            server.settimeout(LIMIT_S)
            program = self.start_agent(
                f"tcp://127.0.0.1:{server.getsockname()[1]}")
            peer = server.accept()[0]
            self.addCleanup(peer.close)
            peer.settimeout(LIMIT_S)
            peer.sendall(REPLIER)
            while len(peer.recv(1 << 16)) <= len(REPLIER):
                pass  # its own greeting; then a request, never answered
            self.clock.set(0)
            program.wait_log("a request failed and will be repeated", WAITS_S)


if __name__ == "__main__":
    unittest.main()
