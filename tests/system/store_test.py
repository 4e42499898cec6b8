"""Faults of the database: kill -9, a torn WAL, a full or read-only disk,
damage, files of a newer version or another program, a file that is moved
away."""
import contextlib
import os
import pathlib
import random
import re
import shutil
import sqlite3
import subprocess
import sys
import time
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))

from harness import (BIN, IS_SANITIZED, PATIENCE_S, Aggregator,  # noqa: E402
                     Folder, Machine, agent, eventually, mark)
from stored import assert_complete, chunks, stored_seqs  # noqa: E402

# A sanitizer finds nothing more in what is lost.
KILLS = 30 if IS_SANITIZED else 100
WRITES = 5  # at most, between a start and a kill
# The tables without a row have 100 KB.
LIMIT = 160 << 10


def count(db):
    return sum(len(seqs) for seqs in stored_seqs(db).values())


def used_bytes(db):
    connection = sqlite3.connect(f"file:{db}?mode=ro", uri=True)
    pages, free, size = (connection.execute(f"PRAGMA {name}").fetchone()[0]
                         for name in ("page_count", "freelist_count",
                                      "page_size"))
    connection.close()
    return (pages - free) * size


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
        """A database of a stopped aggregator, with at least this many
        reports."""
        aggregator = self.start()
        program = self.start_agent("node-a", aggregator)
        eventually("reports are stored",
                   lambda: count(aggregator.db) >= reports)
        program.kill()
        self.assertEqual(aggregator.stop(), 0)
        return aggregator

    def refusal(self, aggregator):
        """The sentence with which the aggregator refuses to start."""
        seen = len(aggregator.log())
        with self.assertRaises(AssertionError):
            aggregator.start()
        self.assertEqual(aggregator.process.returncode, 1)
        text = aggregator.log()[seen:]
        self.assertIn("cannot start", text)
        self.assertIn(str(aggregator.db), text)
        return text


class Store(Base):
    @staticmethod
    def await_writes(aggregator, count):
        """Waits until the log of the database has changed so many times."""
        log = pathlib.Path(f"{aggregator.db}-wal")
        seen = set()

        def enough():
            with contextlib.suppress(FileNotFoundError):
                now = log.stat()
                seen.add((now.st_size, now.st_mtime_ns))
            return len(seen) > count
        eventually(f"{count} writes", enough, every=0.001)

    @mark(slow="many kills",
          steady="an acknowledged report is stored")
    def test_kills_under_load_lose_nothing(self):
        rng = random.Random(7)
        aggregator = self.start("--compact-after", "1s")
        agents = [self.start_agent(f"node-{i}", aggregator)
                  for i in range(5)]
        eventually("all five nodes are stored",
                   lambda: len(stored_seqs(aggregator.db)) == 5)
        for kill in range(KILLS):
            # Agents connect again after a second, so most kills hit a start.
            if kill % 8 == 0:
                self.await_writes(aggregator, rng.randint(1, WRITES))
            aggregator.kill()
            aggregator.start()
        before = {key: seqs[-1] for key, seqs in
                  stored_seqs(aggregator.db).items()}

        def all_grew():
            now = stored_seqs(aggregator.db)
            return all(now[key][-1] > last + 5
                       for key, last in before.items())
        eventually("six more reports of each are stored", all_grew)
        for program in agents:
            self.assertEqual(program.stop(), 0)
        self.assertEqual(aggregator.stop(), 0)
        assert_complete(self, aggregator, agents)
        self.assertGreater(chunks(aggregator.db), 0)
        self.assertNotIn("found damage", aggregator.log())
        self.assertIn("database check passed", aggregator.log())

    @mark(slow="the limit is checked each 5 s")
    def test_the_size_limit_holds_with_reports_that_are_not_packed(self):
        aggregator = self.start("--max-db-size", f"{LIMIT}")
        for i in range(5):
            self.start_agent(f"node-{i}", aggregator)
        aggregator.wait_log('"database exceeds its size limit, deleted')
        before = stored_seqs(aggregator.db)

        def all_go_on():
            now = stored_seqs(aggregator.db)
            return len(now) == 5 and all(
                seqs[0] > 1 and seqs[-1] > before.get(key, [0])[-1] + 5
                for key, seqs in now.items())
        eventually("newer reports of each node are stored, its oldest are "
                   "gone", all_go_on)
        eventually("the limit is held",
                   lambda: used_bytes(aggregator.db) <= LIMIT)

    def test_a_torn_wal_loses_only_what_was_not_committed(self):
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
        aggregator.wait_log("database check passed")
        self.assertEqual(aggregator.stop(), 0)
        self.assertEqual(stored_seqs(aggregator.db), before)

    def test_a_damaged_file_is_set_aside_and_a_new_one_is_started(self):
        aggregator = self.filled()
        damaged = aggregator.db.read_bytes()
        damaged = b"\0" * 512 + damaged[512:]
        aggregator.db.write_bytes(damaged)
        aggregator.start()
        aside = pathlib.Path(f"{aggregator.db}.damaged-1")
        self.assertEqual(aside.read_bytes(), damaged)
        self.assertIn(f'set_aside="{aside}"', aggregator.log())
        self.start_agent("node-b", aggregator)
        eventually("the new file has reports",
                   lambda: count(aggregator.db) > 0)

    def test_damage_found_by_the_check_is_set_aside_at_the_next_start(self):
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
        aggregator.wait_log("database check found damage|"
                            "database is damaged|damaged database set aside")
        if "damaged database set aside" not in aggregator.log():
            eventually("damage is told", lambda: aggregator.health(
                "/readyz")[2].startswith("degraded: the database is damaged"))
            self.assertEqual(aggregator.metric(
                "plimsoll_aggregator_database_damaged "), 1)
        aggregator.stop()
        aggregator.start()
        aside = pathlib.Path(f"{aggregator.db}.damaged-1")
        self.assertEqual(aside.stat().st_size, size)

    def test_a_file_of_a_newer_version_is_refused_and_unchanged(self):
        aggregator = self.filled()
        with sqlite3.connect(aggregator.db) as connection:
            connection.execute("PRAGMA user_version = 99")
        connection.close()
        before = aggregator.db.read_bytes()
        self.assertIn("newer plimsoll", self.refusal(aggregator))
        self.assertEqual(aggregator.db.read_bytes(), before)

    def test_a_database_of_another_program_is_refused_and_unchanged(self):
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

    def test_a_file_that_is_moved_away_is_noticed_and_loses_nothing(self):
        aggregator = self.start()
        program = self.start_agent("node-a", aggregator)
        eventually("reports are stored", lambda: count(aggregator.db) >= 5)
        away = self.folder.path / "away.db"
        os.rename(aggregator.db, away)
        aggregator.wait_log("was removed while in use")
        since = time.monotonic()
        status, _, text = aggregator.health("/readyz")
        self.assertEqual((status, text.split(":")[0]), (200, "degraded"))
        eventually("a new report is shown all the same", lambda:
                   aggregator.shows("node-a", since))
        os.rename(away, aggregator.db)
        aggregator.wait_log("database accepts writes again")
        eventually("reports are stored again", lambda: aggregator.health(
            "/readyz")[2] == "ok\n")
        self.assertEqual(program.stop(), 0)
        self.assertEqual(aggregator.stop(), 0)
        assert_complete(self, aggregator, [program])

    def test_a_log_that_is_deleted_is_noticed_and_loses_nothing(self):
        aggregator = self.start()
        program = self.start_agent("node-a", aggregator)
        eventually("reports are stored", lambda: count(aggregator.db) >= 5)
        pathlib.Path(f"{aggregator.db}-wal").unlink()
        aggregator.wait_log("-wal' was removed while in use")
        self.assertIn("removed", aggregator.health("/readyz")[2])
        aggregator.kill()
        aggregator.start()
        eventually("reports are stored again",
                   lambda: count(aggregator.db) >= 50)
        self.assertEqual(program.stop(), 0)
        self.assertEqual(aggregator.stop(), 0)
        assert_complete(self, aggregator, [program])

    @mark(steady="a restored backup is the state of the backup")
    def test_a_backup_beside_an_old_log_is_restored_without_it(self):
        aggregator = self.start()
        program = self.start_agent("node-a", aggregator)
        eventually("reports are stored", lambda: count(aggregator.db) >= 10)
        copy = self.folder.path / "copy.db"
        subprocess.run([BIN / "plimsoll-aggregator", "backup", "--db",
                        aggregator.db, "--to", copy], check=True,
                       timeout=PATIENCE_S)
        (saved,) = stored_seqs(copy).values()
        eventually("more reports are stored",
                   lambda: count(aggregator.db) >= len(saved) + 10)
        program.kill()
        aggregator.kill()
        log = pathlib.Path(f"{aggregator.db}-wal")
        old = log.read_bytes()
        self.assertTrue(old)
        shutil.copyfile(copy, aggregator.db)
        aggregator.start()
        aggregator.wait_log("backup restored beside a log of another database")
        self.assertEqual(
            pathlib.Path(f"{log}.before-restore-1").read_bytes(), old)
        self.assertEqual(list(stored_seqs(aggregator.db).values()), [saved])
        aggregator.kill()
        aggregator.start()  # the log is its own now, and stays
        self.assertFalse(
            pathlib.Path(f"{log}.before-restore-2").exists())
        self.assertEqual(aggregator.health("/readyz")[2], "ok\n")
        self.assertEqual(aggregator.stop(), 0)
        self.assertEqual(list(stored_seqs(aggregator.db).values()), [saved])

    def test_a_backup_of_a_running_aggregator_is_complete(self):
        aggregator = self.start()
        self.start_agent("node-a", aggregator)
        eventually("reports are stored", lambda: count(aggregator.db) >= 30)
        copy = self.folder.path / "copy.db"
        command = [BIN / "plimsoll-aggregator", "backup", "--db",
                   aggregator.db, "--to", copy]
        subprocess.run(command, check=True, timeout=PATIENCE_S)
        (seqs,) = stored_seqs(copy).values()
        self.assertEqual(seqs, list(range(1, len(seqs) + 1)))
        self.assertGreaterEqual(len(seqs), 30)
        before = copy.read_bytes()
        again = subprocess.run(command, capture_output=True, text=True,
                               timeout=PATIENCE_S, check=False)
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
    """The database is on a tmpfs of 4 MiB."""

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

    @staticmethod
    def received(aggregator):
        """How many batches were acknowledged before they were stored."""
        return float(re.search(
            r'^plimsoll_aggregator_acks_total\{state="received"\} (\S+)$',
            aggregator.get("/metrics")[2], re.M).group(1))

    def fill(self):
        """Fills the disk, without a buffer, which close() would write."""
        with open(self.disk / "filler", "wb", buffering=0) as filler:
            with self.assertRaises(OSError):
                while True:
                    filler.write(b"x" * 65536)
            with contextlib.suppress(OSError):
                while True:
                    filler.write(b"x")

    def test_a_disk_that_is_full_at_the_start_delays_no_live_data(self):
        aggregator = self.start(db=self.disk / "t.db")
        program = self.start_agent("node-a", aggregator)
        eventually("reports are stored", lambda: count(aggregator.db) >= 5)
        self.assertEqual(aggregator.stop(), 0)
        self.fill()
        since = time.monotonic()
        aggregator.start()
        eventually("a new report is shown", lambda:
                   aggregator.shows("node-a", since))
        eventually("batches are acknowledged as received",
                   lambda: self.received(aggregator) >= 5)
        self.assertRegex(aggregator.health("/readyz")[2],
                         "^degraded: the disk of the database is full: .*t.db")
        self.assertEqual(aggregator.get("/v1/nodes/node-a/history")[0], 503)
        (self.disk / "filler").unlink()
        full = count(aggregator.db)
        eventually("reports are stored again",
                   lambda: count(aggregator.db) > full + 20)
        self.assertEqual(aggregator.health("/readyz")[2], "ok\n")
        self.assertEqual(program.stop(), 0)
        self.assertEqual(aggregator.stop(), 0)
        assert_complete(self, aggregator, [program])

    def test_a_full_disk_delays_no_live_data_and_loses_nothing(self):
        aggregator = self.start(db=self.disk / "t.db")
        program = self.start_agent("node-a", aggregator)
        eventually("reports are stored", lambda: count(aggregator.db) >= 5)
        self.fill()
        aggregator.wait_log("cannot write to the database")
        full = count(aggregator.db)
        first, since = self.received(aggregator), time.monotonic()
        eventually("ten more batches are acknowledged as received",
                   lambda: self.received(aggregator) >= first + 10)
        eventually("a new report is shown all the same", lambda:
                   aggregator.shows("node-a", since))
        self.assertTrue(aggregator.health("/readyz")[2].startswith("degraded"))
        (self.disk / "filler").unlink()
        aggregator.wait_log("database accepts writes again")
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
