"""`make demo`, as a new user sees it."""
import os
import pathlib
import re
import signal
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))

from harness import PATIENCE_S, ROOT, eventually  # noqa: E402


def accept_ctrl_c():
    """A shell without job control lets its background jobs ignore SIGINT."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


class Demo(unittest.TestCase):
    def setUp(self):
        temporary = tempfile.TemporaryDirectory(prefix="plimsoll-demo-")
        self.addCleanup(temporary.cleanup)
        self.folder = pathlib.Path(temporary.name)

    def start(self, pace):
        """The demo in a process group of its own, as a terminal starts it,
        with a control plane of its own. Its temporary files are in the folder
        of the test."""
        with open(self.folder / "out", "wb") as out:
            process = subprocess.Popen(
                [sys.executable, ROOT / "tests/e2e/demo.py"], stdout=out,
                stderr=out, preexec_fn=accept_ctrl_c, start_new_session=True,
                env=dict(os.environ, DEMO_PACE=pace, TMPDIR=self.folder,
                         E2E_CLUSTERS="", E2E_KUBECONFIG=""))
        self.addCleanup(
            lambda: process.poll() is None and process.kill())
        return process

    def out(self):
        return (self.folder / "out").read_text()

    def left_running(self):
        """Programs that were started with a file in the folder of the test."""
        found = []
        for path in pathlib.Path("/proc").glob("[0-9]*/cmdline"):
            try:
                words = path.read_bytes()
            except (FileNotFoundError, ProcessLookupError):
                continue
            if os.fsencode(self.folder) in words:
                found.append(words.replace(b"\0", b" ").decode())
        return found

    def test_it_shows_that_plimsoll_avoids_the_busy_node(self):
        process = self.start("0")
        self.assertEqual(process.wait(PATIENCE_S), 0, self.out())
        self.assertIn("the stock scheduler chooses node-busy", self.out())
        page = re.search(r"^The page: (http://127\.0\.0\.1:\d+/)$", self.out(),
                         re.M).group(1)
        for link in ("nodes", "vms/default/vm-1", "decisions",
                     "nodes/node-busy", "room"):
            self.assertIn(f"{page}#/{link}\n", self.out())
        self.assertNotIn("plimsoll node-busy", self.out().partition(
            "the load on node-busy ends")[0])

    def test_ctrl_c_leaves_neither_programs_nor_files(self):
        for moment in ("Starting etcd", "  vm-1: "):
            with self.subTest(moment):
                process = self.start("1")
                eventually(moment, lambda: moment in self.out())
                # A terminal interrupts all programs of the group.
                os.killpg(process.pid, signal.SIGINT)
                self.assertEqual(process.wait(PATIENCE_S), 130, self.out())
                self.assertTrue(self.out().endswith("\nStopping.\n"))
                self.assertEqual(self.left_running(), [])
                self.assertEqual(os.listdir(self.folder), ["out"])


if __name__ == "__main__":
    unittest.main()
