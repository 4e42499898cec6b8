"""What an agent keeps on disk while nobody takes its reports, over kills, stops
and restarts; and what it says of itself to a probe."""
import pathlib
import random
import re
import subprocess
import sys
import time
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))

from harness import (BIN, Aggregator, Driver, Folder, Machine,  # noqa: E402
                     agent, eventually)
from stored import stored_seqs  # noqa: E402

KILLS = 50
AT_A_TIME = 5
NOBODY = "tcp://127.0.0.1:1"


def check(node):
    """Exit status and sentence of `plimsoll-agent --check`."""
    done = subprocess.run(
        [BIN / "plimsoll-agent", "--check", "--node-name", node], timeout=20,
        capture_output=True, text=True, check=False)
    return done.returncode, done.stdout + done.stderr


class WithSpool(unittest.TestCase):
    def setUp(self):
        self.folder = Folder()
        self.addCleanup(self.folder.close)
        self.machine = Machine(self.folder.path / "m")
        self.addCleanup(self.machine.close)
        driver = Driver([self.machine]).start()
        self.addCleanup(driver.stop)
        # Unlike those of other tests on this machine.
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

    def reports(self, node=None):
        """How many the running agent says it made; 0: it does not say."""
        found = re.match(r"(\d+) reports", check(node or self.node)[1])
        return int(found.group(1)) if found else 0

    def assert_stored(self, aggregator, run, seqs):
        def probe():
            stored = {key[1]: got for key, got in stored_seqs(
                aggregator.db).items()}
            return set(range(1, seqs + 1)) <= set(stored.get(run, ()))
        eventually(f"all {seqs} reports of {run} are stored", probe, 60)


class Spool(WithSpool):
    def test_more_reports_than_the_ring_holds_arrive_all(self):
        aggregator = Aggregator(self.folder.path)
        self.folder.add(aggregator).start()
        # While a disk takes two intervals to store one there is always a file.
        sender = self.start_agent(aggregator.url, "--ring-reports", "5",
                                  interval="1s")
        run = sender.wait_log(r'run="?([0-9a-f]{32})').group(1)
        sender.wait_log('"connected"')
        aggregator.stop()
        before = self.reports()
        eventually("twelve more are made",
                   lambda: self.reports() > before + 12, 60)
        self.assertTrue(self.files())
        aggregator.start()
        made = self.reports()
        self.assert_stored(aggregator, run, made)
        eventually("no file is left", lambda: not self.files(), 60)
        self.assertEqual(sender.stop(5), 0)
        self.assertIn("dropped=0", sender.log())

    def test_a_stop_without_an_aggregator_leaves_all_to_the_next_run(self):
        sender = self.start_agent(NOBODY)
        run = sender.wait_log(r'run="?([0-9a-f]{32})').group(1)
        eventually("some are made", lambda: self.reports() >= 5)
        self.assertEqual(sender.stop(5), 0)
        made = int(re.search(r"reports=(\d+)", sender.log()).group(1))
        aggregator = self.folder.add(Aggregator(self.folder.path)).start()
        after = self.start_agent(aggregator.url)
        after.wait_log("reports of earlier runs are in the spool")
        self.assert_stored(aggregator, run, made)
        # They are of the past, and none of them passes for live.
        self.assertLess(aggregator.node(self.node)["age_s"], 2)

    def kill_some(self, numbers):
        """One agent each, killed at some instant: (run, reports made)."""
        senders = []
        for number in numbers:
            node = f"{self.node}-{number}"
            senders.append((node, self.start_agent(
                NOBODY, node=node, name=f"kill-{number}")))
        told = []
        for node, sender in senders:
            run = sender.wait_log(r'run="?([0-9a-f]{32})').group(1)
            least = random.randint(3, 7)
            eventually("it made some",
                       lambda node=node, least=least:
                       self.reports(node) >= least, every=0.001)
            time.sleep(random.random() / 5)
            made = self.reports(node)
            sender.kill()
            told.append((node, run, made))
        return told

    def test_a_kill_at_any_instant_costs_no_report_that_was_made(self):
        random.seed(5)
        told = []
        for first in range(0, KILLS, AT_A_TIME):
            told += self.kill_some(range(first, first + AT_A_TIME))
        aggregator = self.folder.add(Aggregator(self.folder.path)).start()
        for number, (node, run, made) in enumerate(told):
            self.assertGreaterEqual(made, 3)
            self.start_agent(aggregator.url, node=node,
                             name=f"kill-{number}")
        for node, run, made in told:
            self.assert_stored(aggregator, run, made)

    def test_two_agents_do_not_share_a_spool(self):
        self.start_agent(NOBODY).wait_log('"started"')
        second = agent(self.folder.path, "other", [NOBODY],
                       *self.machine.agent_flags(), "--spool",
                       self.folder.path / "spool-agent")
        self.folder.add(second).start()
        self.assertEqual(second.process.wait(10), 1)
        self.assertIn("another agent spools into", second.log())

    def test_a_spool_that_cannot_be_made_is_a_sentence(self):
        sender = agent(self.folder.path, self.node, [NOBODY],
                       *self.machine.agent_flags(), "--spool",
                       "/proc/spool")
        self.folder.add(sender).start()
        self.assertEqual(sender.process.wait(10), 1)
        self.assertIn("cannot make '/proc/spool'", sender.log())


class Check(WithSpool):
    def test_no_agent_is_status_1(self):
        status, text = check(self.node)
        self.assertEqual(status, 1)
        self.assertIn(f"no agent runs here for node '{self.node}'", text)

    def test_an_agent_that_samples_is_status_0_though_nobody_takes_it(self):
        self.start_agent(NOBODY)
        status, text = eventually("it samples", lambda: (
            (got := check(self.node))[0] == 0 and got))
        self.assertEqual(status, 0)
        self.assertIn("0 of 1 aggregators take them", text)

    def test_an_agent_that_hangs_is_status_1(self):
        sender = self.start_agent(NOBODY)
        eventually("it samples", lambda: check(self.node)[0] == 0)
        sender.process.send_signal(19)  # SIGSTOP
        try:
            status, text = check(self.node)
        finally:
            sender.process.send_signal(18)  # SIGCONT
        self.assertEqual(status, 1)
        self.assertIn("does not answer", text)


if __name__ == "__main__":
    unittest.main()
