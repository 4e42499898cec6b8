"""What `make demo` says before and during its first build. tests/e2e/demo_test.py
runs the demo."""
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))

from harness import ROOT  # noqa: E402

PROGRESS = ROOT / "tests/cluster/progress.py"


class Announcement(unittest.TestCase):
    """tests/e2e/announce_demo.sh in a tree of its own."""

    def setUp(self):
        temporary = tempfile.TemporaryDirectory(prefix="plimsoll-demo-")
        self.addCleanup(temporary.cleanup)
        self.root = pathlib.Path(temporary.name)
        (self.root / "tests/e2e").mkdir(parents=True)
        self.script = shutil.copy(ROOT / "tests/e2e/announce_demo.sh",
                                  self.root / "tests/e2e")

    def program(self, name):
        path = self.root / name
        path.parent.mkdir(exist_ok=True)
        path.write_text("#!/bin/sh\n")
        path.chmod(0o755)
        return str(path)

    def run_script(self, kubecluster=None):
        env = {k: v for k, v in os.environ.items() if k != "KUBECLUSTER"}
        if kubecluster:
            env["KUBECLUSTER"] = kubecluster
        return subprocess.run([self.script], env=env, capture_output=True,
                              text=True, timeout=20, check=False)

    def test_a_fresh_checkout_hears_how_long_both_builds_take(self):
        text = self.run_script().stdout
        self.assertRegex(text, r"C programs are built: about \d+ minute")
        self.assertRegex(text, r"2,700 Go packages: [\d to]+ minutes")

    def test_nothing_is_announced_that_is_built_already(self):
        self.program("bin/plimsoll-scheduler")
        self.program("build/kubecluster")
        self.assertEqual(self.run_script().stdout,
                         "The demo itself takes 2 minutes.\n")

    def test_with_kubecluster_nothing_is_built_with_go(self):
        self.program("bin/plimsoll-scheduler")
        text = self.run_script(self.program("elsewhere")).stdout
        self.assertIn("Nothing is built with Go", text)
        self.assertNotIn("packages", text)

    def test_a_kubecluster_that_is_no_program_is_refused_at_once(self):
        for wrong in ("/nowhere/kubecluster", str(self.root)):
            done = self.run_script(wrong)
            self.assertEqual(done.returncode, 2)
            self.assertEqual(
                done.stderr, f"make demo: KUBECLUSTER is '{wrong}', which is"
                " no program\n")


class Recipe(unittest.TestCase):
    """The commands of `make demo`."""

    def recipe(self):
        text = (ROOT / "Makefile").read_text()
        [found] = re.findall(r"^demo:.*\n((?:\t.*\n)+)", text, re.M)
        return found

    def test_it_announces_first_and_fetches_no_test_tools(self):
        lines = self.recipe().splitlines()
        self.assertIn("announce_demo.sh", lines[0])
        self.assertIn("packages-run", lines[1])
        self.assertNotIn("packages-test", self.recipe())

    def test_go_builds_only_without_kubecluster(self):
        [line] = [n for n in self.recipe().splitlines() if "cluster" in n]
        [_, guard, build] = re.split(r"@|\|\|", line)
        for value, runs in (("", "built"), ("/any/program", "")):
            shell = guard.replace("$$", "$") + "|| echo built"
            done = subprocess.run(["sh", "-c", shell], text=True, check=True,
                                  capture_output=True,
                                  env=dict(os.environ, KUBECLUSTER=value))
            self.assertEqual(done.stdout.strip(), runs)
        self.assertIn("cluster", build)


class Progress(unittest.TestCase):
    def run_it(self, script):
        short = "import progress, sys; progress.PERIOD_S = 0.05; " \
            "sys.exit(progress.main('kubecluster', *sys.argv[1:]))"
        return subprocess.run(
            [sys.executable, "-c", short, "sh", "-c", script],
            cwd=PROGRESS.parent, capture_output=True, text=True, timeout=20,
            check=False)

    def test_it_counts_packages_while_the_build_runs(self):
        done = self.run_it(
            "echo k8s.io/api/core/v1 >&2; echo internal/abi >&2; sleep 0.5")
        self.assertEqual(done.returncode, 0)
        self.assertEqual(done.stderr, "")
        self.assertRegex(
            done.stdout, r"kubecluster: 2 packages compiled after \d+ s\n")

    def test_errors_of_the_build_are_passed_on_with_its_status(self):
        done = self.run_it("echo '# k8s.io/api' >&2;"
                           "echo './a.go:1:1: undefined: x' >&2; exit 3")
        self.assertEqual(done.returncode, 3)
        self.assertEqual(done.stderr,
                         "# k8s.io/api\n./a.go:1:1: undefined: x\n")


if __name__ == "__main__":
    unittest.main()
