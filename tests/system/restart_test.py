"""Restarts and kills of agents and aggregators lose no report and store none
twice."""
import pathlib
import sys
import time
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))

from harness import (Aggregator, Driver, Folder, Machine,  # noqa: E402
                     agent, eventually, mark)
from past_fleet import PastNode  # noqa: E402
from stored import assert_complete, runs_of, stored_seqs  # noqa: E402

STALE_S = 15  # of docs/http.md


class Restarts(unittest.TestCase):
    def setUp(self):
        self.folder = Folder()
        self.addCleanup(self.folder.close)
        self.machine = Machine(self.folder.path / "m")
        self.addCleanup(self.machine.close)

    def start_agent(self, name, aggregator, interval="100ms"):
        return self.folder.add(agent(
            self.folder.path, name, [aggregator.url],
            *self.machine.agent_flags(), interval=interval)).start()

    def test_an_agent_restarted_within_one_boot_loses_nothing(self):
        aggregator = self.folder.add(Aggregator(self.folder.path)).start()
        program = self.start_agent("node-a", aggregator)
        for life in range(3):
            eventually("some reports of each run are stored",
                       lambda runs=life + 1: sum(
                           len(seqs) >= 10 for seqs in
                           stored_seqs(aggregator.db).values()) == runs)
            self.assertEqual(program.stop(), 0)
            if life < 2:
                program.start()
        self.assertEqual(len(runs_of(program)), 3)
        aggregator.stop()
        assert_complete(self, aggregator, [program])

    @mark(slow="three kills, and five reports of 20 agents after each")
    def test_killing_the_aggregator_of_20_agents_loses_nothing(self):
        driver = Driver([self.machine]).start()
        self.addCleanup(driver.stop)
        aggregator = self.folder.add(Aggregator(self.folder.path)).start()
        agents = [self.start_agent(f"node-{i:02d}", aggregator, "200ms")
                  for i in range(20)]

        def await_five_more_of_each():
            before = {key: len(seqs) for key, seqs
                      in stored_seqs(aggregator.db).items()}

            def all_grew():
                now = stored_seqs(aggregator.db)
                return len(now) == 20 and all(
                    len(seqs) >= before.get(key, 0) + 5
                    for key, seqs in now.items())
            eventually("five more reports of all 20 are stored", all_grew)
        for _ in range(3):
            await_five_more_of_each()
            aggregator.kill()
            aggregator.start()
        # After this every ring has been sent, and no report is on its way.
        await_five_more_of_each()
        await_five_more_of_each()
        for program in agents:
            self.assertEqual(program.stop(), 0)
            # Four connections, but a line a minute.
            self.assertEqual(program.most_a_minute('"connected"'), 1)
        self.assertEqual(aggregator.stop(), 0)
        assert_complete(self, aggregator, agents)

    @mark(slow="the agent waits before it connects again")
    def test_an_aggregator_that_starts_late_gets_the_reports_of_the_ring(self):
        aggregator = self.folder.add(Aggregator(self.folder.path)).start()
        aggregator.stop()  # now its port is known and free
        program = self.start_agent("node-a", aggregator)
        program.wait_log("no connection to the aggregator")
        aggregator.start()
        eventually("the first report is stored", lambda: 1 in next(
            iter(stored_seqs(aggregator.db).values()), []))
        self.assertEqual(program.stop(), 0)
        aggregator.stop()
        assert_complete(self, aggregator, [program])

    def test_after_a_restart_the_last_load_is_served_with_its_age(self):
        aggregator = self.folder.add(Aggregator(self.folder.path)).start()
        program = self.start_agent("node-a", aggregator)
        eventually("a report is stored", lambda: stored_seqs(aggregator.db))
        program.kill()
        aggregator.kill()
        aggregator.start()
        node = eventually("the node is known",
                          lambda: aggregator.node("node-a"))
        self.assertEqual(node["state"], "fresh" if node["age_s"] <= STALE_S
                         else "stale")
        eventually("the sample gets older", lambda: (
            aggregator.node("node-a")["age_s"] > node["age_s"]))

    def test_after_a_kill_the_windows_have_the_same_values(self):
        aggregator = self.folder.add(Aggregator(self.folder.path)).start()
        # Ten minutes. A node with this interval is fresh for three minutes.
        node = PastNode("node-a", "0d3c0fd9-3b5c-4a6f-8a53-1e6f3a0f6a11",
                        interval_s=60, turn_s=5)
        now_s = int(time.time())
        node.send(aggregator.url, now_s - 600, now_s)
        before = aggregator.node("node-a")
        aggregator.kill()
        aggregator.start()
        names = [f"{kind}_cores_{span}" for kind in ("used", "stdev")
                 for span in ("5m", "15m", "1h")]

        def filled():
            node = aggregator.node("node-a")
            return node if "used_cores_15m" in node["cpu"] else None
        after = eventually("the windows are filled", filled)
        # A report that is missing makes 1e-3.
        for name in names:
            self.assertAlmostEqual(before["cpu"][name], after["cpu"][name],
                                   delta=1e-4)
        for name in ("p95_cores_1h", "p95_cores_1d"):
            self.assertAlmostEqual(before["cpu"][name], after["cpu"][name],
                                   delta=before["cpu"]["cores"] / 64)
        self.assertNotEqual(before["cpu"]["used_cores_5m"],
                            before["cpu"]["used_cores_15m"])
        self.assertAlmostEqual(before["vms"][0]["used_cores_5m"],
                               after["vms"][0]["used_cores_5m"], delta=1e-4)
        self.assertAlmostEqual(before["memory"]["used_bytes_15m"],
                               after["memory"]["used_bytes_15m"], delta=4096)

    def test_a_second_aggregator_on_one_database_exits_with_a_sentence(self):
        first = self.folder.add(Aggregator(self.folder.path)).start()
        second = self.folder.add(
            Aggregator(self.folder.path, "second", db=first.db))
        with self.assertRaises(AssertionError):
            second.start()
        self.assertEqual(second.process.returncode, 1)
        self.assertIn("cannot start", second.log())
        self.assertIn(str(first.db), second.log())
        self.assertTrue(first.running())


if __name__ == "__main__":
    unittest.main()
