"""The agent reads some files of a pod in turn with those of other pods. Reports
say how old such a value can be, and what the aggregator makes of them is
right."""
import contextlib
import pathlib
import sqlite3
import sys
import time
import unittest
import uuid

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))

from harness import (Aggregator, Driver, Folder, Machine,  # noqa: E402
                     agent, eventually)
from stored import fields  # noqa: E402

PODS = 12


def pressure_of(pod, number):
    """The total of a pressure, full, in a pod of a stored report: 1 is cpu, 2
    memory, 3 io. None: it is not in the report."""
    pressure = fields(pod[6][0])
    return fields(pressure[number][0])[3][0] if number in pressure else None


class SlowValues(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = Folder()
        cls.addClassCleanup(cls.folder.close)
        cls.aggregator = cls.folder.add(Aggregator(cls.folder.path)).start()
        cls.machine = Machine(cls.folder.path / "m", cores=16)
        cls.addClassCleanup(cls.machine.close)
        cls.uids = [str(uuid.uuid4()) for _ in range(PODS)]
        for uid in cls.uids:
            cls.machine.run_pod(uid, cores=1.0, waiting=0.25)
        cls.driver = Driver([cls.machine]).start()
        cls.addClassCleanup(cls.driver.stop)
        cls.folder.add(agent(
            cls.folder.path, "node-a", [cls.aggregator.url],
            *cls.machine.agent_flags(), interval="200ms")).start()

    def reports(self):
        """The stored reports from the first one to the last before which none
        is missing: the newest is stored first after a delay."""
        with contextlib.closing(sqlite3.connect(
                f"file:{self.aggregator.db}?mode=ro", uri=True)) as db:
            found = sorted(
                (fields(body) for body, in db.execute(
                    "SELECT body FROM head")), key=lambda r: r[1][0])
        return [r for i, r in enumerate(found, 1) if r[1][0] == i]

    def pods(self, report):
        found = {pod[1][0].decode(): pod for pod in map(fields, report[16])}
        self.assertEqual(found.keys(), set(self.uids))
        return found

    def vms(self):
        node = self.aggregator.node("node-a")
        return {vm["pod_uid"]: vm for vm in node["vms"]} if node else {}

    def test_no_value_is_older_than_the_report_says(self):
        reports = eventually("some reports are stored", lambda: (
            (r := self.reports()) and len(r) > 16 and r))
        every = reports[0][22][0]
        self.assertEqual(every, 5)
        slow = [{uid for uid, pod in self.pods(r).items()
                 if pressure_of(pod, 2) is not None and 7 in pod}
                for r in reports]
        self.assertEqual(slow[0], set(self.uids))
        for first in range(1, len(slow) - every + 1):
            turns = slow[first:first + every]
            self.assertEqual(set().union(*turns), set(self.uids))
            # Each report costs about the same.
            self.assertEqual({len(turn) for turn in turns}, {2, 3})
        for report in reports:
            for pod in self.pods(report).values():
                self.assertIsNotNone(pressure_of(pod, 1))
                self.assertIn(3, pod)  # CPU time

    def test_sudden_pressure_of_one_pod_shows_within_five_reports(self):
        eventually("the pods have rates", lambda: self.vms() and all(
            "contention" in vm for vm in self.vms().values()))
        uid = self.uids[7]
        with self.driver.lock:
            self.machine.run_pod(uid, cores=1.0, waiting=0.25,
                                 memory_waiting=0.5)
            self.machine.tick(0.1)
            total = int(self.machine.pods[uid]["memory_full"])
            now_us = time.monotonic_ns() // 1000
        after = eventually("five more reports are stored", lambda: (
            (r := [r for r in self.reports() if r[3][0] > now_us])
            and len(r) >= 5 and r))
        totals = [pressure_of(self.pods(r)[uid], 2) for r in after[:5]]
        self.assertEqual(sum(t is not None for t in totals), 1)
        self.assertGreaterEqual(max(t or 0 for t in totals), total)
        # Contention is in every report, and so it is shown with every one.
        vms = eventually("the VM has memory pressure", lambda: (
            (v := self.vms()) and "memory_pressure" in v[uid]
            and all("contention" in one for one in v.values()) and v))
        self.assertLessEqual(vms[uid]["memory_pressure"], 1)
        for other in self.uids:
            self.assertEqual("memory_pressure" in vms[other], other == uid)
            self.assertEqual(vms[other]["memory_bytes"], 1 << 30)


if __name__ == "__main__":
    unittest.main()
