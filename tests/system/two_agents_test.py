"""Two agents under one node name: the one that reports continues, the other
waits and loses nothing."""
import contextlib
import pathlib
import re
import sqlite3
import sys
import time
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))

from harness import (Aggregator, Driver, Folder, Machine,  # noqa: E402
                     agent, eventually, mark)
from stored import stored_seqs  # noqa: E402

WAITS = "waiting, and keeping reports"
# Another agent may take over after two seconds without a report. The database
# has the time when a report was stored, a little after it came.
SILENT_MS = 1000
GAP_S = 15  # between reports; the history knows nothing of a longer time


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
        return stored_seqs(self.aggregator.db).get(
            ("node-a", self.run_of(program)), [])

    @staticmethod
    def run_of(program):
        return re.findall(r'"started".* run="(\w+)"', program.log())[-1]

    def await_stored(self, program):
        program.wait_log('"started"')
        before = len(self.stored(program))
        eventually(f"reports of {program.name} are stored",
                   lambda: len(self.stored(program)) >= before + 3)

    def samples(self):
        """(ms when it was taken, ms when it was stored, run) of each stored
        report, as they were taken."""
        with contextlib.closing(sqlite3.connect(
                f"file:{self.aggregator.db}?mode=ro", uri=True)) as db:
            return db.execute(
                "SELECT sample_ms, stored_ms, hex(run_id) FROM head"
                " JOIN run ON run.id = head.run ORDER BY sample_ms").fetchall()

    def assert_takes_turns(self, since_ms=0):
        """An agent takes over from one that was silent, and from no other."""
        stored = sorted((at, run) for _, at, run in self.samples()
                        if at > since_ms)
        for (was, one), (at, other) in zip(stored, stored[1:]):
            if one != other and at > was:  # not in one commit
                self.assertGreaterEqual(at - was, SILENT_MS)

    def waits_for(self, first, second):
        """Waits until the second one says that it waits, and the first one
        goes on. False: the first one was silent on a busy machine, and the
        second one took over."""
        second.wait_log('"started"')
        eventually(f"{second.name} waits",
                   lambda: WAITS in second.log() or self.stored(second))
        before = len(self.stored(first))
        eventually(f"{first.name} goes on", lambda: len(
            self.stored(first)) >= before + 3 or self.stored(second))
        return not self.stored(second)

    def waiting(self):
        return re.findall(
            r'^plimsoll_aggregator_waiting_agents{node="([^"]*)"} 1$',
            self.aggregator.get("/metrics")[2], re.M)

    def assert_no_gap(self, since):
        """In the history from then on, a row without a value lies between two
        reports that are too far apart."""
        times = [at / 1000 for at, _, _ in self.samples()]
        rows = self.aggregator.json(
            f"/v1/nodes/node-a/history?fields=used_cores&step=2&from={since}"
        )["rows"]
        known = {at for at, value in rows if value is not None}
        self.assertGreater(len(known), 3)
        near = [(a, b) for a, b in zip(times, times[1:]) if b - a <= GAP_S]
        for at, _ in rows:
            # The database rounds to milliseconds.
            if any(a < at + 1.99 and at + 0.01 < b for a, b in near):
                self.assertIn(at, known)

    @mark(slow="the first reports for seconds")
    def test_the_younger_one_waits_and_takes_over_without_a_gap(self):
        begins = int(time.time())
        first = self.start_agent("first")
        self.await_stored(first)
        second = self.start_agent("second")
        if self.waits_for(first, second):
            self.assertRegex(second.log(), f"{WAITS}.*another agent reports "
                                           "for node 'node-a'")
            self.aggregator.wait_log("two agents for one node.*node-a")
            self.assertEqual(self.waiting(), ["node-a"])
            self.assertEqual(second.most_a_minute(WAITS), 1)
        self.assertEqual(first.stop(), 0)  # the end of a rolling update
        self.await_stored(second)
        eventually("all that it measured meanwhile is stored", lambda: (
            seqs := self.stored(second)) == list(range(1, len(seqs) + 1)))
        eventually("three cores are in use", lambda: abs(
            self.aggregator.node("node-a")["cpu"].get("used_cores_10s", 0)
            - 3) < 0.5)
        self.assertNotIn("dropped", second.log())
        self.assert_no_gap(begins)
        self.assert_takes_turns()

    @mark(slow="connections end late after a kill")
    def test_a_killed_first_one_waits_for_the_second_when_it_returns(self):
        first = self.start_agent("first")
        self.await_stored(first)
        second = self.start_agent("second")
        self.waits_for(first, second)
        first.kill()
        self.await_stored(second)
        # Only what it says from now on counts.
        first.log_path = first.log_path.with_name("returned.log")
        first.start()
        self.waits_for(second, first)
        second.kill()
        self.await_stored(first)
        self.assert_takes_turns()

    @mark(slow="the aggregator restarts, and so do the connections")
    def test_after_a_restart_of_the_aggregator_one_of_them_reports(self):
        agents = [self.start_agent("first"), self.start_agent("second")]
        eventually("one of them waits", lambda: any(
            WAITS in a.log() for a in agents))
        self.aggregator.kill()
        self.aggregator.start()
        eventually("one of them waits again", lambda: self.waiting())
        since_ms, before = time.time() * 1000, list(map(self.stored, agents))
        eventually("one of them reports", lambda: max(
            len(self.stored(a)) - len(b) for a, b in zip(agents, before)) >= 4)
        self.assert_takes_turns(since_ms)


if __name__ == "__main__":
    unittest.main()
