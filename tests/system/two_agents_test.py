"""Two agents under one node name: the one that reports continues, the other
waits and loses nothing."""
import pathlib
import re
import sys
import time
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))

from harness import (Aggregator, Driver, Folder, Machine,  # noqa: E402
                     agent, eventually, mark)
from stored import stored_seqs  # noqa: E402

WAITS = "waiting, and keeping reports"


class TwoAgents(unittest.TestCase):
    def setUp(self):
        self.folder = Folder()
        self.addCleanup(self.folder.close)
        self.machine = Machine(self.folder.path / "m")
        self.addCleanup(self.machine.close)
        self.machine.busy = 0.5  # of six cores
        driver = Driver([self.machine]).start()
        self.addCleanup(driver.stop)
        self.aggregator = self.folder.add(Aggregator(self.folder.path)).start()

    def start_agent(self, name):
        """An agent of node-a with a log of its own."""
        program = agent(self.folder.path, "node-a", [self.aggregator.url],
                        *self.machine.agent_flags())
        program.name = name
        program.log_path = self.folder.path / f"{name}.log"
        return self.folder.add(program).start()

    def stored(self, program):
        """The stored seqs of the agent's last run."""
        run = re.findall(r'"started".* run="(\w+)"', program.log())[-1]
        return stored_seqs(self.aggregator.db).get(("node-a", run), [])

    def await_stored(self, program):
        program.wait_log('"started"')
        before = len(self.stored(program))
        eventually(f"reports of {program.name} are stored",
                   lambda: len(self.stored(program)) >= before + 3)

    def waiting(self):
        return re.findall(
            r'^plimsoll_aggregator_waiting_agents{node="([^"]*)"} 1$',
            self.aggregator.get("/metrics")[2], re.M)

    def assert_no_gap(self, since):
        """The history from then to the newest report: no row is missing."""
        rows = self.aggregator.json(
            f"/v1/nodes/node-a/history?fields=used_cores&step=2&from={since}"
        )["rows"]
        known = [row[1] is not None for row in rows]
        known = known[known.index(True):len(known) - known[::-1].index(True)]
        self.assertGreater(len(known), 3)
        self.assertNotIn(False, known)

    def test_the_younger_one_waits_and_takes_over_without_a_gap(self):
        begins = int(time.time())
        first = self.start_agent("first")
        self.await_stored(first)
        second = self.start_agent("second")
        second.wait_log(f"{WAITS}.*another agent reports for node 'node-a'")
        self.aggregator.wait_log("two agents for one node.*node-a")
        self.await_stored(first)
        self.assertEqual(self.stored(second), [])
        self.assertEqual(self.waiting(), ["node-a"])
        self.assertEqual(self.aggregator.node("node-a")["state"], "fresh")
        self.assertEqual(first.stop(), 0)  # the end of a rolling update
        self.await_stored(second)
        eventually("all that it measured meanwhile is stored", lambda: (
            seqs := self.stored(second)) == list(range(1, len(seqs) + 1)))
        eventually("three cores are in use", lambda: abs(
            self.aggregator.node("node-a")["cpu"]["used_cores_10s"] - 3) < 0.5)
        self.assertEqual(second.log().count(WAITS), 1)
        self.assertNotIn("dropped", second.log())
        self.assert_no_gap(begins)

    def test_a_killed_first_one_waits_for_the_second_when_it_returns(self):
        first = self.start_agent("first")
        self.await_stored(first)
        second = self.start_agent("second")
        second.wait_log(WAITS)
        first.kill()
        self.await_stored(second)
        first.start()
        eventually("it waits", lambda: WAITS in first.log())
        self.await_stored(second)
        self.assertEqual(self.stored(first), [])
        second.kill()
        self.await_stored(first)

    @mark(slow="the aggregator restarts, and so do the connections")
    def test_after_a_restart_of_the_aggregator_one_of_them_reports(self):
        agents = [self.start_agent("first"), self.start_agent("second")]
        eventually("one of them waits", lambda: any(
            WAITS in a.log() for a in agents))
        self.aggregator.kill()
        self.aggregator.start()
        eventually("one of them waits again", lambda: self.waiting(), 30)
        before = [len(self.stored(a)) for a in agents]
        eventually("one of them reports", lambda: max(
            len(self.stored(a)) - b for a, b in zip(agents, before)) >= 4)
        grew = [len(self.stored(a)) > b for a, b in zip(agents, before)]
        self.assertEqual(sorted(grew), [False, True])


if __name__ == "__main__":
    unittest.main()
