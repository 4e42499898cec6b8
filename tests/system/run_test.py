"""`make run`, as a new user sees it."""
import os
import pathlib
import re
import signal
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))

from harness import PATIENCE_S, ROOT, eventually, mark  # noqa: E402


def accept_ctrl_c():
    """A shell without job control lets its background jobs ignore SIGINT."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


class Run(unittest.TestCase):
    def setUp(self):
        temporary = tempfile.TemporaryDirectory(prefix="plimsoll-run-")
        self.addCleanup(temporary.cleanup)
        self.folder = pathlib.Path(temporary.name)

    def start(self, **env):
        out = open(self.folder / "out", "wb")
        self.addCleanup(out.close)
        environment = {k: v for k, v in os.environ.items()
                       if k != "KUBECONFIG"}
        process = subprocess.Popen(
            [sys.executable, ROOT / "deploy/run_here.py", self.folder / "run"],
            stdin=subprocess.DEVNULL, stdout=out, stderr=out,
            env=dict(environment, **env), preexec_fn=accept_ctrl_c)
        self.addCleanup(lambda: process.poll() is None and process.kill())
        return process

    def await_table(self):
        eventually("the table is shown",
                   lambda: "CPU, last minute" in self.out())

    def out(self):
        return (self.folder / "out").read_text()

    def test_make_run_shows_this_machine_and_ends_after_run_seconds(self):
        # Less than any start takes: the table is shown all the same.
        process = self.start(RUN_SECONDS="0.1")
        self.assertEqual(process.wait(PATIENCE_S), 0, self.out())
        text = self.out()
        self.assertRegex(text, r"\AThe page: http://127\.0\.0\.1:\d+/\n")
        self.assertRegex(text, r"A VM with 2 vCPUs and 1 GiB would go to: \S")
        self.assertRegex(text, r"score \d")
        self.assertRegex(text, r"http://127\.0\.0\.1:\d+/v1/nodes\n")
        self.assertRegex(text, r"NODE +STATE")
        self.assertRegex(text, r"fresh")
        # The table waits for figures of this machine.
        self.assertRegex(text, r"(?m)^\S+ +fresh +[\d.]+s +\d+%")
        self.assertRegex(text, r"CPU, last minute  \|.*\|  maximum \d")
        self.assertTrue((self.folder / "run/plimsoll.db").exists())

    def test_ctrl_c_leaves_nothing_running(self):
        process = self.start()
        self.await_table()
        children = subprocess.run(
            ["pgrep", "-P", str(process.pid)], capture_output=True, text=True,
            check=True).stdout.split()
        self.assertEqual(len(children), 2)
        process.send_signal(signal.SIGINT)
        self.assertEqual(process.wait(PATIENCE_S), 0)
        for child in children:
            self.assertFalse(pathlib.Path("/proc", child).exists())
        self.assertTrue(re.search(r"Stopping\.", self.out()))

    def children(self, process):
        return subprocess.run(
            ["pgrep", "-P", str(process.pid)], capture_output=True, text=True,
            check=False).stdout.split()

    def test_a_kill_or_sigterm_leaves_nothing_running(self):
        for number in (signal.SIGKILL, signal.SIGTERM):
            with self.subTest(number):
                process = self.start()
                # Before the script itself knows of its child.
                [child] = eventually("the first child runs",
                                     lambda p=process: self.children(p)[:1],
                                     every=0.001)
                process.send_signal(number)
                process.wait(PATIENCE_S)
                eventually("the child has ended", lambda c=child: not
                           pathlib.Path("/proc", c).exists())

    @mark(slow="the script checks its programs every few seconds")
    def test_an_error_is_one_sentence(self):
        process = self.start(RUN_SECONDS="soon")
        self.assertEqual(process.wait(PATIENCE_S), 1)
        self.assertEqual(self.out(), "RUN_SECONDS is 'soon', not a number\n")
        process = self.start()
        self.await_table()
        aggregator = self.children(process)[0]
        os.kill(int(aggregator), signal.SIGKILL)
        self.assertEqual(process.wait(PATIENCE_S), 1)
        self.assertIn("plimsoll-aggregator ended with -9", self.out())
        self.assertNotIn("Traceback", self.out())


if __name__ == "__main__":
    unittest.main()
