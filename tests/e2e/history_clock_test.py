"""The aggregator's wall clock jumps 800 days ahead, for seconds and over a
restart. No history that was acknowledged is deleted."""
import pathlib
import sqlite3
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))

from harness import Aggregator, Folder, Machine, agent, eventually  # noqa: E402
from stored import assert_complete, chunks  # noqa: E402
from wall_clock import WallClock  # noqa: E402

AHEAD_DAYS = 800


def newest_day(db):
    """The unix day of the newest table of chunks."""
    connection = sqlite3.connect(f"file:{db}?mode=ro", uri=True)
    days = connection.execute(
        "SELECT max(CAST(substr(name, 5) AS INTEGER)) FROM sqlite_schema"
        " WHERE type = 'table' AND name GLOB 'raw_[0-9]*'").fetchone()
    connection.close()
    return days[0] or 0


class HistoryClock(unittest.TestCase):
    maxDiff = None

    def setUp(self):
        self.folder = Folder()
        self.addCleanup(self.folder.close)
        self.clock = WallClock(self.folder.path / "clock")
        self.aggregator = self.folder.add(Aggregator(
            self.folder.path, "aggregator", "--compact-after", "1s"))
        self.clock.start(self.aggregator)
        machine = Machine(self.folder.path / "machine")
        self.addCleanup(machine.close)
        self.agent = self.folder.add(agent(
            self.folder.path, "node-a", [self.aggregator.url],
            *machine.agent_flags(), interval="100ms")).start()
        eventually("reports are packed",
                   lambda: chunks(self.aggregator.db) > 0)
        self.today = newest_day(self.aggregator.db)

    def await_step(self):
        """A step that packs reports of then has deleted what is too old."""
        eventually("reports with the wrong time are packed", lambda:
                   newest_day(self.aggregator.db) > self.today + 700)

    def assert_nothing_is_lost(self):
        self.assertEqual(self.agent.stop(), 0)
        self.assertEqual(self.aggregator.stop(), 0)
        assert_complete(self, self.aggregator, [self.agent])

    def test_a_jump_for_seconds_deletes_nothing_and_is_logged(self):
        self.clock.set(AHEAD_DAYS * 86400)
        self.await_step()
        self.aggregator.wait_log('"the wall clock jumped ahead')
        self.clock.set(0)
        self.aggregator.wait_log('"the wall clock was set back')
        self.assertEqual(self.aggregator.log().count("wall clock jumped"), 1)
        self.assert_nothing_is_lost()

    def test_a_restart_with_the_clock_ahead_deletes_nothing(self):
        self.assertEqual(self.aggregator.stop(), 0)
        self.clock.set(AHEAD_DAYS * 86400)
        self.aggregator.start()
        self.await_step()
        self.assert_nothing_is_lost()


if __name__ == "__main__":
    unittest.main()
