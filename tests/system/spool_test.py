"""The reports that an agent keeps on disk without an aggregator survive kills,
stops and restarts; and what `plimsoll-agent --check` prints."""
import contextlib
import pathlib
import random
import re
import sys
import time
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))

from harness import (PATIENCE_S, Aggregator, Driver, Folder,  # noqa: E402
                     Machine, agent, check_agent, eventually, mark,
                     reports_made)
from stored import stored_seqs  # noqa: E402

KILLS = 50
AT_A_TIME = 5
NOBODY = "tcp://127.0.0.1:1"


class WithSpool(unittest.TestCase):
    def setUp(self):
        self.folder = Folder()
        self.addCleanup(self.folder.close)
        self.machine = Machine(self.folder.path / "m")
        self.addCleanup(self.machine.close)
        driver = Driver([self.machine]).start()
        self.addCleanup(driver.stop)
        # No other test on this machine uses this name.
        self.node = self.folder.path.name.lower().replace("_", "-")

    def start_agent(self, url, *flags, node=None, name="agent",
                    interval="100ms"):
        node = node or self.node
        program = agent(
            self.folder.path, node, [url], *self.machine.agent_flags(),
            "--spool", self.folder.path / f"spool-{name}", *flags,
            interval=interval)
        program.log_path = self.folder.path / f"{name}.log"
        return self.folder.add(program).start()

    def files(self, name="agent"):
        return list((self.folder.path / f"spool-{name}").glob("*.spool"))

    def assert_stored(self, aggregator, run, seqs):
        def probe():
            stored = {key[1]: got for key, got in stored_seqs(
                aggregator.db).items()}
            return set(range(1, seqs + 1)) <= set(stored.get(run, ()))
        eventually(f"all {seqs} reports of {run} are stored", probe)


class Spool(WithSpool):
    @mark(slow="the agent makes a report a second")
    def test_reports_above_the_size_of_the_ring_all_arrive(self):
        aggregator = Aggregator(self.folder.path)
        self.folder.add(aggregator).start()
        # An interval longer than a slow disk takes to store a report: otherwise
        # some report is always in a file.
        sender = self.start_agent(aggregator.url, "--ring-reports", "5",
                                  interval="1s")
        run = sender.wait_log(r'run="?([0-9a-f]{32})').group(1)
        sender.wait_log('"connected"')
        aggregator.stop()
        before = reports_made(self.node)
        eventually("twelve more reports are made",
                   lambda: reports_made(self.node) > before + 12)
        self.assertTrue(self.files())
        aggregator.start()
        made = reports_made(self.node)
        self.assert_stored(aggregator, run, made)
        eventually("no file is left", lambda: not self.files())
        self.assertEqual(sender.stop(), 0)
        self.assertIn("dropped=0", sender.log())

    def test_reports_left_by_a_stop_are_sent_by_the_next_run(self):
        sender = self.start_agent(NOBODY)
        run = sender.wait_log(r'run="?([0-9a-f]{32})').group(1)
        eventually("reports are made", lambda: reports_made(self.node) >= 5)
        self.assertEqual(sender.stop(), 0)
        made = int(re.search(r"reports=(\d+)", sender.log()).group(1))
        aggregator = self.folder.add(Aggregator(self.folder.path)).start()
        since = time.monotonic()
        after = self.start_agent(aggregator.url)
        after.wait_log("found reports of earlier runs in the spool")
        self.assert_stored(aggregator, run, made)
        eventually("a new report is shown as live",
                   lambda: aggregator.shows(self.node, since))

    def await_changes(self, name, count):
        """Waits until the files have changed so many times."""
        seen = set()

        def enough():
            with contextlib.suppress(FileNotFoundError):
                seen.add(tuple(sorted((file.name, file.stat().st_size)
                                      for file in self.files(name))))
            return len(seen) > count
        eventually(f"{count} changes of the files", enough, every=0.001)

    def kill_some(self, numbers):
        """Starts an agent for each number and kills it after a random number
        of its reports: [(node, run, reports made)]."""
        senders = []
        for number in numbers:
            node = f"{self.node}-{number}"
            senders.append((node, f"kill-{number}", self.start_agent(
                NOBODY, node=node, name=f"kill-{number}")))
        killed = []
        for node, name, sender in senders:
            run = sender.wait_log(r'run="?([0-9a-f]{32})').group(1)
            least = random.randint(3, 7)
            eventually("the agent made some reports",
                       lambda node=node, least=least:
                       reports_made(node) >= least, every=0.001)
            made = reports_made(node)
            # Files that it makes meanwhile may be there as well.
            self.await_changes(name, random.randint(0, 2))
            sender.kill()
            killed.append((node, run, made))
        return killed

    @mark(slow="fifty kills", steady="a report is kept until it is stored")
    def test_a_kill_at_any_instant_loses_no_report(self):
        random.seed(5)
        killed = []
        for first in range(0, KILLS, AT_A_TIME):
            killed += self.kill_some(range(first, first + AT_A_TIME))
        aggregator = self.folder.add(Aggregator(self.folder.path)).start()
        for number, (node, run, made) in enumerate(killed):
            self.assertGreaterEqual(made, 3)
            self.start_agent(aggregator.url, node=node,
                             name=f"kill-{number}")
        for node, run, made in killed:
            self.assert_stored(aggregator, run, made)

    def test_two_agents_do_not_share_a_spool(self):
        self.start_agent(NOBODY).wait_log('"started"')
        second = agent(self.folder.path, "other", [NOBODY],
                       *self.machine.agent_flags(), "--spool",
                       self.folder.path / "spool-agent")
        self.folder.add(second).start()
        self.assertEqual(second.process.wait(PATIENCE_S), 1)
        self.assertIn("another agent spools into", second.log())

    def test_a_spool_that_cannot_be_created_is_one_sentence(self):
        sender = agent(self.folder.path, self.node, [NOBODY],
                       *self.machine.agent_flags(), "--spool",
                       "/proc/spool")
        self.folder.add(sender).start()
        self.assertEqual(sender.process.wait(PATIENCE_S), 1)
        self.assertIn("cannot create '/proc/spool'", sender.log())


class Check(WithSpool):
    def test_without_an_agent_the_status_is_1(self):
        status, text = check_agent(self.node)
        self.assertEqual(status, 1)
        self.assertIn(f"no agent runs here for node '{self.node}'", text)

    def test_an_agent_that_samples_is_status_0_without_an_aggregator(self):
        self.start_agent(NOBODY)
        status, text = eventually("the agent samples", lambda: (
            (got := check_agent(self.node))[0] == 0 and got))
        self.assertEqual(status, 0)
        self.assertIn("0 of 1 aggregators accept them", text)

    def test_an_agent_that_hangs_is_status_1(self):
        sender = self.start_agent(NOBODY)
        eventually("the agent samples", lambda: check_agent(self.node)[0] == 0)
        sender.process.send_signal(19)  # SIGSTOP
        try:
            status, text = check_agent(self.node)
        finally:
            sender.process.send_signal(18)  # SIGCONT
        self.assertEqual(status, 1)
        self.assertIn("does not answer", text)


if __name__ == "__main__":
    unittest.main()
