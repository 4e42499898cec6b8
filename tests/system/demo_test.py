"""What `make demo` says before and during its first build. tests/e2e/demo_test.py
runs the demo."""
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest
import unittest.mock

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))

from harness import ROOT  # noqa: E402

sys.path.insert(0, str(ROOT / "tests/e2e"))
import announce_demo  # noqa: E402

USES_PROGRAMS = False
PROGRESS = ROOT / "deploy/tools/progress.py"


class Announcement(unittest.TestCase):
    def said(self, *arguments, **options):
        return "\n".join(announce_demo.announcement(*arguments, **options))

    def test_a_fresh_checkout_hears_how_long_both_builds_take(self):
        text = self.said(555, 2700, 2, 0.0, is_fetched=False)
        self.assertIn("555 C files are compiled: about 1 minute on 2 CPUs.",
                      text)
        self.assertIn("2,700 Go packages of Kubernetes are compiled: about 5"
                      " minutes on 2 CPUs, and the time to fetch", text)

    def test_the_time_follows_the_packages_that_are_left_and_the_cpus(self):
        for packages, cpus, minutes in ((2700, 1, "9 minutes on 1 CPU."),
                                        (1350, 2, "3 minutes on 2 CPUs."),
                                        (2700, 16, "1 minute on 16 CPUs.")):
            self.assertIn(f"about {minutes}", self.said(0, packages, cpus, 0))

    def test_other_work_is_part_of_the_time(self):
        self.assertIn("about 50 minutes on 2 CPUs that have other work (load"
                      " 20).", self.said(0, 2700, 2, 20.0))

    def test_nothing_is_announced_that_is_built_already(self):
        self.assertEqual(self.said(0, 0, 2, 0.0),
                         "The demo itself takes 2 minutes.")

    def test_with_kubecluster_nothing_is_built_with_go(self):
        text = self.said(0, None, 2, 0.0)
        self.assertIn("Nothing is built with Go", text)
        self.assertNotIn("packages", text)

    def test_without_go_all_packages_count_as_left(self):
        with unittest.mock.patch.object(announce_demo, "run",
                                        return_value=None):
            self.assertEqual(announce_demo.packages_left(), (2700, False))

    def test_a_kubecluster_that_is_no_program_is_refused_at_once(self):
        for wrong in ("/nowhere/kubecluster", str(ROOT)):
            done = subprocess.run(
                [ROOT / "tests/e2e/announce_demo.py"], capture_output=True,
                env=dict(os.environ, KUBECLUSTER=wrong), text=True,
                check=False)
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
        self.assertIn("announce_demo.py", lines[0])
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
    def command(self, script, *options):
        """Runs it in PROGRESS.parent and lets it print often."""
        often = "import progress, sys; progress.PERIOD_S = 0.01; " \
            "sys.exit(progress.main(*sys.argv[1:]))"
        return [sys.executable, "-c", often, *options, "kubecluster", "sh",
                "-c", script]

    def run_it(self, script, *options):
        return subprocess.run(self.command(script, *options),
                              cwd=PROGRESS.parent, capture_output=True,
                              text=True, check=False)

    def run_until(self, said, script, *options):
        """The build ends when `said` was printed."""
        with tempfile.TemporaryDirectory() as folder:
            # The build waits for a pipe, which this thread closes.
            os.mkfifo(f"{folder}/end")
            process = subprocess.Popen(
                self.command(f"{script}; read _ <{folder}/end", *options),
                cwd=PROGRESS.parent, stdout=subprocess.PIPE, text=True)
            lines = []
            for line in process.stdout:
                lines.append(line)
                if re.search(said, line):
                    with open(f"{folder}/end", "w") as end:
                        end.write("\n")
                    break
            process.stdout.read()
            process.stdout.close()
            self.assertEqual(process.wait(), 0)
            self.assertRegex(lines[-1], said)
            return lines

    def test_it_counts_packages_while_the_build_runs(self):
        self.run_until(
            r"kubecluster: 2 packages compiled after \d+ s\n",
            "echo k8s.io/api/core/v1 >&2; echo internal/abi >&2")

    def test_it_counts_files_beside_their_total(self):
        lines = self.run_until(
            r"kubecluster: compiling 1 of 312 files, on \d+ CPUs?\n",
            "echo build/release/lib/map.o >&2", "--of=312")
        self.assertIn("compiling 0 of 312 files", lines[0])

    def test_a_build_with_nothing_to_compile_is_silent(self):
        self.assertEqual(self.run_it("true", "--of=0").stdout, "")

    def test_errors_of_the_build_are_passed_on_with_its_status(self):
        done = self.run_it("echo '# k8s.io/api' >&2;"
                           "echo './a.go:1:1: undefined: x' >&2; exit 3")
        self.assertEqual(done.returncode, 3)
        self.assertEqual(done.stderr,
                         "# k8s.io/api\n./a.go:1:1: undefined: x\n")


if __name__ == "__main__":
    unittest.main()
