"""A test case for kubectl-plimsoll with a stand-in for kubectl."""
import json
import os
import pathlib
import shutil
import subprocess
import tempfile
import unittest

from harness import BIN, PATIENCE_S

PLUGIN = BIN / "kubectl-plimsoll"
STAND_IN = pathlib.Path(__file__).resolve().with_name("fake_kubectl.py")
API = "/apis/load.plimsoll.io/v1alpha1"
KUBEVIRT = "/apis/kubevirt.io/v1"
NOT_SERVED = ("Error from server (NotFound): the server could not find the "
              "requested resource\n")


def node_load(name, heat=0.5, hottest="cpu", **cpu):
    return {"kind": "NodeLoad", "apiVersion": "load.plimsoll.io/v1alpha1",
            "metadata": {"name": name},
            "status": {"state": "Fresh", "ageSeconds": 1.2,
                       "hottest": hottest, "heat": heat, "vmCount": 12,
                       "cpu": {"cores": 16, "usedCores": 4,
                               "usedCores5m": 4, "contention": 0.02} | cpu,
                       "memory": {"totalBytes": 64 << 30,
                                  "availableBytes": 16 << 30},
                       "io": {"pressureSome": 0.03},
                       "kvm": {"state": "ready"}}}


def vm_load(name, namespace="default", node="node1", **status):
    return {"kind": "VmLoad", "apiVersion": "load.plimsoll.io/v1alpha1",
            "metadata": {"name": name, "namespace": namespace},
            "spec": {"nodeName": node},
            "status": {"state": "Fresh", "ageSeconds": 2, "usedCores": 1.5,
                       "usedCores5m": 1.25, "memoryBytes": 2 << 30,
                       "contention": 0.0, "memoryPressure": 0.0,
                       "ioPressure": 0.0, "pods": []} | status}


def listed(*items, go_on=""):
    return {"kind": "List", "apiVersion": "load.plimsoll.io/v1alpha1",
            "metadata": {"continue": go_on}, "items": list(items)}


class PluginCase(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="plimsoll-")
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.rules = []
        self.answer("config view", "")

    def answer(self, match, out="", **rule):
        """kubectl answers a call that matches. Later answers count before
        earlier ones."""
        text = out if isinstance(out, str) else json.dumps(out)
        self.rules.insert(0, {"match": match, "out": text} | rule)

    def environment(self):
        (self.folder / "rules.json").write_text(json.dumps(self.rules))
        return os.environ | {"KUBECTL": str(STAND_IN),
                             "FAKE_KUBECTL": str(self.folder)}

    def plugin(self, *arguments, stdin=""):
        for used in self.folder.glob("used-*"):
            used.unlink()
        return subprocess.run(
            [PLUGIN, *arguments], input=stdin, text=True, check=False,
            capture_output=True, timeout=PATIENCE_S,
            env=self.environment())

    def says(self, *arguments, **options):
        """Standard output of a call that succeeds."""
        done = self.plugin(*arguments, **options)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout

    def fails(self, *arguments, status=1, **options):
        """Standard error of a call that fails."""
        done = self.plugin(*arguments, **options)
        self.assertEqual(done.returncode, status, done.stdout + done.stderr)
        return done.stderr

    def calls(self):
        """[arguments, input] of each kubectl so far."""
        path = self.folder / "calls"
        if not path.exists():
            return []
        return [json.loads(line) for line in path.read_text().splitlines()]

    def lines_of_calls(self, match=""):
        return [" ".join(arguments) for arguments, _ in self.calls()
                if match in " ".join(arguments)]

    def table(self, text):
        """{first cell: {header: cell}} of a table."""
        head, *rows = [[cell for cell in line.split("   ") if cell]
                       for line in text.splitlines()]
        head = [cell.strip() for cell in head]
        return {row[0].strip(): dict(zip(head, [c.strip() for c in row]))
                for row in rows}

    def on_path(self):
        """A folder for PATH with the stand-in as kubectl."""
        folder = self.folder / "path"
        folder.mkdir(exist_ok=True)
        shutil.copy(STAND_IN, folder / "kubectl")
        return folder
