"""What happens to the database happens here: kill -9, a torn log, a full or
read-only disk, damage, newer and foreign files, a file that is taken away."""
import os
import pathlib
import random
import shutil
import sqlite3
import subprocess
import sys
import time
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))

from harness import (BIN, Aggregator, Folder, Machine, agent,  # noqa: E402
                     eventually)
from stored import assert_complete, chunks, stored_seqs  # noqa: E402

KILLS = 100


def count(db):
    return sum(len(seqs) for seqs in stored_seqs(db).values())


class Base(unittest.TestCase):
    maxDiff = None

    def setUp(self):
        self.folder = Folder()
        self.addCleanup(self.folder.close)

    def start_agent(self, name, aggregator, interval="100ms", *more):
        machine = Machine(self.folder.path / f"machine-{name}")
        self.addCleanup(machine.close)
        return self.folder.add(agent(
            self.folder.path, name, [aggregator.url], *machine.agent_flags(),
            "--ring-reports", "20000", *more, interval=interval)).start()

    def start(self, *more, **options):
        return self.folder.add(
            Aggregator(self.folder.path, "aggregator", *more,
                       **options)).start()

    def filled(self, reports=20):
        """A database that was closed well and holds this many or more."""
        aggregator = self.start()
        program = self.start_agent("node-a", aggregator)
        eventually("reports are stored",
                   lambda: count(aggregator.db) >= reports)
        program.kill()
        self.assertEqual(aggregator.stop(), 0)
        return aggregator

    def refusal(self, aggregator):
        """It ends by itself, status 1, with one sentence in the log."""
        seen = len(aggregator.log())
        with self.assertRaises(AssertionError):
            aggregator.start()
        self.assertEqual(aggregator.process.returncode, 1)
        text = aggregator.log()[seen:]
        self.assertIn("cannot start", text)
        self.assertIn(str(aggregator.db), text)
        return text


class Store(Base):
    def test_killed_a_hundred_times_under_load_it_loses_nothing(self):
        rng = random.Random(7)
        aggregator = self.start("--compact-after", "1s")
        agents = [self.start_agent(f"node-{i}", aggregator)
                  for i in range(5)]
        eventually("all five are stored",
                   lambda: len(stored_seqs(aggregator.db)) == 5)
        for _ in range(KILLS):
            time.sleep(rng.uniform(0, 0.15))  # the instant is the test
            aggregator.kill()
            aggregator.start()
        before = {key: seqs[-1] for key, seqs in
                  stored_seqs(aggregator.db).items()}

        def all_went_on():
            now = stored_seqs(aggregator.db)
            return all(now[key][-1] > last + 5
                       for key, last in before.items())
        eventually("all are stored again", all_went_on, 60)
        for program in agents:
            self.assertEqual(program.stop(), 0)
        self.assertEqual(aggregator.stop(), 0)
        assert_complete(self, aggregator, agents)
        self.assertGreater(chunks(aggregator.db), 0)
        self.assertNotIn("damage in", aggregator.log())
        self.assertIn("the check found the database whole", aggregator.log())

    def test_a_torn_log_costs_what_was_not_committed_and_no_more(self):
        aggregator = self.start()
        program = self.start_agent("node-a", aggregator)
        eventually("reports are stored", lambda: count(aggregator.db) >= 20)
        program.kill()
        aggregator.kill()
        log = pathlib.Path(f"{aggregator.db}-wal")
        whole = log.stat().st_size
        with open(log, "ab") as torn:
            torn.write(os.urandom(3000))  # a frame cut by a power failure
        before = stored_seqs(aggregator.db)
        self.assertGreater(whole, 0)
        aggregator.start()
        aggregator.wait_log("the check found the database whole")
        self.assertEqual(aggregator.stop(), 0)
        self.assertEqual(stored_seqs(aggregator.db), before)

    def test_a_damaged_file_is_set_aside_by_name_and_a_new_one_started(self):
        aggregator = self.filled()
        damaged = aggregator.db.read_bytes()
        damaged = b"\0" * 512 + damaged[512:]
        aggregator.db.write_bytes(damaged)
        aggregator.start()
        aside = pathlib.Path(f"{aggregator.db}.damaged-1")
        self.assertEqual(aside.read_bytes(), damaged)
        self.assertIn(f'set_aside="{aside}"', aggregator.log())
        self.start_agent("node-b", aggregator)
        eventually("the new one takes reports",
                   lambda: count(aggregator.db) > 0)

    def test_damage_that_the_check_finds_is_set_aside_at_the_next_start(self):
        aggregator = self.start()
        program = self.start_agent("node-a", aggregator)
        eventually("reports are stored", lambda: count(aggregator.db) >= 60)
        program.kill()
        aggregator.stop()
        aggregator.start()
        aggregator.kill()
        size = aggregator.db.stat().st_size
        with open(aggregator.db, "r+b") as file:
            for page in range(2 * 4096, size, 4096):
                file.seek(page)
                file.write(os.urandom(64))
        aggregator.start()
        aggregator.wait_log("the check found damage in the database|"
                            "the database is damaged")
        aggregator.stop()
        aggregator.start()
        aside = pathlib.Path(f"{aggregator.db}.damaged-1")
        self.assertEqual(aside.stat().st_size, size)

    def test_a_newer_file_is_refused_and_left_as_it_is(self):
        aggregator = self.filled()
        with sqlite3.connect(aggregator.db) as connection:
            connection.execute("PRAGMA user_version = 99")
        connection.close()
        before = aggregator.db.read_bytes()
        self.assertIn("newer plimsoll", self.refusal(aggregator))
        self.assertEqual(aggregator.db.read_bytes(), before)

    def test_another_programs_database_is_refused_before_any_write(self):
        for name, setting in (("by-id", "PRAGMA application_id = 252006674"),
                              ("by-tables", "CREATE TABLE node(a)")):
            with self.subTest(name):
                db = self.folder.path / f"{name}.db"
                with sqlite3.connect(db) as connection:
                    connection.execute("CREATE TABLE theirs(a)")
                    connection.execute(setting)
                connection.close()
                before = db.read_bytes()
                aggregator = self.folder.add(
                    Aggregator(self.folder.path, name, db=db))
                aggregator.log_path.touch()
                self.assertIn("another program's", self.refusal(aggregator))
                self.assertEqual(db.read_bytes(), before)
                self.assertFalse(pathlib.Path(f"{db}-wal").exists())

    def test_a_file_taken_away_is_noticed_and_nothing_is_called_stored(self):
        aggregator = self.start()
        program = self.start_agent("node-a", aggregator)
        eventually("reports are stored", lambda: count(aggregator.db) >= 5)
        away = self.folder.path / "away.db"
        os.rename(aggregator.db, away)
        aggregator.wait_log("was removed while in use")
        status, _, text = aggregator.health("/readyz")
        self.assertEqual((status, text.split(":")[0]), (200, "degraded"))
        self.assertEqual(aggregator.node("node-a")["state"], "fresh")
        os.rename(away, aggregator.db)
        aggregator.wait_log("the database takes writes again")
        eventually("reports are stored again", lambda: aggregator.health(
            "/readyz")[2] == "ok\n")
        self.assertEqual(program.stop(), 0)
        self.assertEqual(aggregator.stop(), 0)
        assert_complete(self, aggregator, [program])

    def test_a_backup_beside_the_work_is_whole_and_overwrites_nothing(self):
        aggregator = self.start()
        self.start_agent("node-a", aggregator)
        eventually("reports are stored", lambda: count(aggregator.db) >= 30)
        copy = self.folder.path / "copy.db"
        command = [BIN / "plimsoll-aggregator", "backup", "--db",
                   aggregator.db, "--to", copy]
        subprocess.run(command, check=True, timeout=60)
        (seqs,) = stored_seqs(copy).values()
        self.assertEqual(seqs, list(range(1, len(seqs) + 1)))
        self.assertGreaterEqual(len(seqs), 30)
        before = copy.read_bytes()
        again = subprocess.run(command, capture_output=True, text=True,
                               timeout=60, check=False)
        self.assertEqual(again.returncode, 1)
        self.assertIn("is not overwritten", again.stderr)
        self.assertEqual(copy.read_bytes(), before)
        self.assertEqual([p.name for p in self.folder.path.glob("*.part")], [])
        restored = self.folder.add(
            Aggregator(self.folder.path, "restored", db=copy)).start()
        self.assertIsNotNone(restored.node("node-a"))


@unittest.skipUnless(os.geteuid() == 0 and shutil.which("mount"),
                     "mounting needs root")
class SmallDisk(Base):
    """On a tmpfs of its own."""

    def setUp(self):
        super().setUp()
        self.disk = self.folder.path / "disk"
        self.disk.mkdir()
        done = subprocess.run(
            ["mount", "-t", "tmpfs", "-o", "size=4m", "none", self.disk],
            capture_output=True, text=True, check=False)
        if done.returncode != 0:
            self.skipTest(f"cannot mount: {done.stderr}")
        self.addCleanup(subprocess.run, ["umount", "-l", self.disk],
                        check=False)

    def test_a_full_disk_ages_no_live_data_and_loses_nothing(self):
        aggregator = self.start(db=self.disk / "t.db")
        program = self.start_agent("node-a", aggregator)
        eventually("reports are stored", lambda: count(aggregator.db) >= 5)
        with open(self.disk / "filler", "wb") as filler:
            with self.assertRaises(OSError):
                while True:
                    filler.write(b"x" * 65536)
                    filler.flush()
        aggregator.wait_log("the database does not take writes")
        full = count(aggregator.db)
        for _ in range(20):
            self.assertLess(aggregator.node("node-a")["age_s"], 5)
            time.sleep(0.1)  # throughout, not once
        self.assertTrue(aggregator.health("/readyz")[2].startswith("degraded"))
        (self.disk / "filler").unlink()
        aggregator.wait_log("the database takes writes again")
        eventually("reports are stored again",
                   lambda: count(aggregator.db) > full + 20)
        self.assertEqual(program.stop(), 0)
        self.assertEqual(aggregator.stop(), 0)
        assert_complete(self, aggregator, [program])

    def test_a_read_only_volume_is_one_sentence(self):
        aggregator = self.start(db=self.disk / "t.db")
        self.assertEqual(aggregator.stop(), 0)
        subprocess.run(["mount", "-o", "remount,ro", self.disk], check=True)
        self.assertIn("Read-only file system", self.refusal(aggregator))


if __name__ == "__main__":
    unittest.main()
