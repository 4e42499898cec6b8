"""The recorded load of a cluster under other policies: nodes report, the
aggregator exports what it recorded, and simulate replays the export."""
import json
import pathlib
import subprocess
import sys
import time
import unittest
import uuid

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))

from harness import (BIN, PATIENCE_S, Aggregator, Folder,  # noqa: E402
                     eventually, launcher, worker)
from page_fleet import CORES, GIB, MEMORY, FleetNode, FleetVm  # noqa: E402

# {node: {VM: cores that it uses}}
USED = {"node-a": {"web": 1.0, "db": 0.5}, "node-b": {"batch": 2.0}}
UIDS = {name: str(uuid.uuid4()) for vms in USED.values() for name in vms}


def objects(*names):
    """The nodes and these VMs' pods, as `kubectl get nodes,pods -A -o json`
    prints them."""
    pods = []
    for name in names:
        pod = launcher(name, cpu="200m", memory="1Gi")
        pod["metadata"]["uid"] = UIDS[name]
        pods.append({"apiVersion": "v1", "kind": "Pod", **pod})
    return {"kind": "List", "items": [
        *(worker(name, CORES, f"{MEMORY >> 30}Gi") for name in USED), *pods]}


class Export(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = Folder()
        cls.addClassCleanup(cls.folder.close)
        path = cls.folder.path
        cls.aggregator = cls.folder.add(Aggregator(path)).start()
        cls.began = int(time.time())
        for name, vms in USED.items():
            node = FleetNode(name, [
                FleetVm(UIDS[vm], "", vm, cores, GIB)
                for vm, cores in vms.items()], sum(vms.values()) / CORES)
            cls.addClassCleanup(node.close)
            node.send(cls.aggregator.url, 10)  # of the last 20 s
        cls.record = eventually("the use of each VM is recorded",
                                cls.complete_record)

    @classmethod
    def export(cls, *arguments):
        return subprocess.run(
            [BIN / "plimsoll-aggregator", "export", *arguments],
            capture_output=True, text=True, timeout=PATIENCE_S, check=False)

    @classmethod
    def complete_record(cls):
        """The export, once it has each VM's use to a tenth. The aggregator
        keeps running."""
        done = cls.export("--db", cls.aggregator.db, "--from",
                          str(cls.began - 90), "--to", str(cls.began + 570))
        if done.returncode != 0:
            raise AssertionError(done.stderr)
        record = json.loads(done.stdout)
        wanted = {UIDS[n]: cores for vms in USED.values()
                  for n, cores in vms.items()}
        got = {vm["pod_uids"][0]: vm["used_cores"][0]
               for vm in record["vms"]}
        if got.keys() == wanted.keys() and all(
                got[uid] is not None and abs(got[uid] - cores) < 0.1 * cores
                for uid, cores in wanted.items()):
            return record
        return None

    def simulate(self, given, *arguments):
        path = self.folder.path / "objects.json"
        path.write_text(json.dumps(given))
        return subprocess.run(
            [BIN / "plimsoll-simulate", "--recorded", "-",
             "--objects", path, *arguments], input=json.dumps(self.record),
            capture_output=True, text=True, timeout=PATIENCE_S, check=False)

    def test_the_record_contains_what_was_measured_and_nothing_else(self):
        record = self.record
        self.assertEqual(record["step_s"], 60)
        self.assertEqual(record["steps"], 11)
        self.assertEqual([n["name"] for n in record["nodes"]], sorted(USED))
        for node in record["nodes"]:
            self.assertEqual(node["cpu_cores"], CORES)
            self.assertEqual(node["memory_bytes"], MEMORY)
        for vm in record["vms"]:
            # Without an API server the pods have no names.
            self.assertEqual(set(vm), {"pod_uids", "arrive_step",
                                       "leave_step", "used_cores"})
            self.assertIn(vm["arrive_step"], (1, 2))
            self.assertEqual(len(vm["used_cores"]),
                             vm["leave_step"] - vm["arrive_step"])

    def test_simulate_replays_the_record_with_two_policies(self):
        done = self.simulate(objects(*UIDS), "--json")
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        results = json.loads(done.stdout)["policies"]
        self.assertEqual([p["policy"] for p in results],
                         ["real-load", "kube-scheduler"])
        used = sum(u for vm in self.record["vms"] for u in vm["used_cores"])
        for result in results:
            self.assertEqual(result["placed"], len(UIDS))
            self.assertAlmostEqual(result["demand_core_steps"], used,
                                   places=4)

    def test_vms_without_a_pod_object_are_left_out_with_a_warning(self):
        done = self.simulate(objects("web", "db"), "--json", "--policy",
                             "real-load")
        self.assertEqual(done.returncode, 0)
        self.assertEqual(json.loads(done.stdout)["placed"], 2)
        self.assertRegex(done.stderr, r"^1 of 3 VMs, with [4-6]\d\.\d % of "
                         r"the CPU that was used, are left out: .*\n$")
        done = self.simulate({"kind": "List", "items": []})
        self.assertEqual((done.returncode, done.stdout), (1, ""))
        self.assertIn("no node is in both", done.stderr)

    def test_a_wrong_argument_prints_one_sentence(self):
        other = self.folder.path / "other.db"
        other.write_text("no database")
        for arguments, status, sentence in (
                (["--db", "/no/such"], 1, "cannot read '/no/such'"),
                (["--db", other], 1, "other.db'"),
                (["--step", "90s"], 2, "whole number of minutes"),
                (["--from", "yesterday"], 2, "--from: 'yesterday' is neither"),
                (["--from", "2000", "--to", "1000"], 2,
                 "less than a minute")):
            with self.subTest(sentence):
                done = self.export(*arguments)
                self.assertEqual((done.returncode, done.stdout), (status, ""))
                self.assertIn(sentence, done.stderr)
                self.assertEqual(done.stderr.count("\n"), 1)
        for arguments, sentence in (
                (["--recorded", "x"], "--objects require each other"),
                (["--recorded", "x", "--scenario", "y"], "exclude each other"),
                (["--recorded", "-", "--objects", "-"], "standard input")):
            with self.subTest(sentence):
                done = subprocess.run(
                    [BIN / "plimsoll-simulate", *arguments],
                    capture_output=True, text=True, timeout=PATIENCE_S,
                    check=False)
                self.assertEqual(done.returncode, 2)
                self.assertIn(sentence, done.stderr)


if __name__ == "__main__":
    unittest.main()
