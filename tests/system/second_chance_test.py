"""The second chance of tests that fail: run_tests.py and stages.sh in a small
checkout with tests that are made for it."""
import os
import pathlib
import subprocess
import sys
import tempfile
import textwrap
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))

from harness import ROOT  # noqa: E402

USES_PROGRAMS = False
SUPPORT = ROOT / "tests/support"
HEAD = """\
import atexit, os, pathlib, threading, unittest
from harness import mark
def die():
    raise ValueError("the thread died")
class Case(unittest.TestCase):
    def fail_once(self, text="once"):
        first = pathlib.Path(f"ran-{self.id()}")
        if not first.exists():
            first.touch()
            self.fail(text)
"""


class SecondChance(unittest.TestCase):
    def setUp(self):
        root = tempfile.TemporaryDirectory()
        self.addCleanup(root.cleanup)
        self.root = pathlib.Path(root.name)
        for folder in ("tests/system", "tests/unit/lib", "tests/fuzz/corpus",
                       "build/b/tests/unit/lib"):
            (self.root / folder).mkdir(parents=True)

    def system_tests(self, body):
        (self.root / "tests/system/a_test.py").write_text(
            HEAD + textwrap.indent(textwrap.dedent(body), "    "))

    def unit_test(self, name, script, source=""):
        """A test program that is a script of the shell."""
        (self.root / f"tests/unit/lib/{name}.c").write_text(source)
        program = self.root / f"build/b/tests/unit/lib/{name}"
        program.write_text("#!/bin/sh\n" + script)
        program.chmod(0o755)

    def run_tests(self):
        """The exit status and the lines that the runner prints."""
        environment = {k: v for k, v in os.environ.items()
                       if not k.endswith("SAN_OPTIONS")}
        done = subprocess.run(
            [sys.executable, SUPPORT / "run_tests.py", "build/b"],
            cwd=self.root, env=environment, capture_output=True, text=True,
            check=False)
        return done.returncode, done.stdout.splitlines() + [done.stderr]

    def assert_failed(self, why=None, failed=1):
        status, lines = self.run_tests()
        self.assertEqual(status, 1)
        self.assertRegex(lines[-2], f"^tests: \\d+ passed, {failed} failed,")
        self.assertFalse([line for line in lines
                          if line.startswith(("unsteady:", "again, alone:"))])
        if why:
            [said] = [line for line in lines if "no second chance" in line]
            self.assertTrue(said.endswith(f"no second chance: {why}"), said)
        return lines

    def test_a_test_that_passes_alone_counts_as_passed_and_is_named(self):
        self.system_tests("""
            def test_a(self):
                self.fail_once("the first time")
            def test_b(self):
                pass
            """)
        self.unit_test("test_c", 'if mkdir ran; then exit 1; fi\n'
                       'echo "[  PASSED  ] 7 test(s)."')
        status, lines = self.run_tests()
        self.assertEqual(status, 0, lines)
        self.assertEqual(lines[-2], "tests: 9 passed, 0 failed, 0 skipped")
        named = [line for line in lines if line.startswith("unsteady: ")]
        self.assertEqual(lines[-4:-2], named)
        self.assertTrue(any("tests/system/a_test.py Case.test_a" in line
                            for line in named))
        self.assertTrue(any("tests/unit/lib/test_c" in line
                            for line in named))
        kept = [path.read_text() for path
                in (self.root / "build/ci/unsteady").iterdir()]
        self.assertEqual(len(kept), 2)
        self.assertTrue(any("the first time" in text for text in kept))

    def test_a_test_runs_again_when_all_others_have_ended(self):
        self.unit_test("test_a", 'mkdir ran-a || exec echo '
                       '"[  PASSED  ] 1 test(s)."; exit 1')
        self.unit_test("test_b", 'echo "[  PASSED  ] 1 test(s)."')
        _, lines = self.run_tests()
        [again] = [at for at, line in enumerate(lines)
                   if line.startswith("again, alone: ok")]
        self.assertFalse([line for line in lines[again + 1:]
                          if line.startswith(("ok", "FAIL"))])

    def test_a_test_that_fails_twice_has_failed(self):
        self.system_tests("""
            def test_a(self):
                self.fail()
            """)
        status, lines = self.run_tests()
        self.assertEqual(status, 1)
        self.assertEqual(lines[-2], "tests: 0 passed, 1 failed, 0 skipped")
        self.assertIn("again, alone: FAIL tests/system/a_test.py Case.test_a",
                      "\n".join(lines))
        self.assertFalse((self.root / "build/ci/unsteady").exists())

    def test_more_than_two_failures_get_no_second_chance(self):
        self.system_tests("""
            def test_a(self):
                self.fail_once()
            def test_b(self):
                self.fail_once()
            def test_c(self):
                self.fail_once()
            """)
        lines = self.assert_failed(failed=3)
        self.assertIn("3 tests failed: none gets a second chance", lines)

    def test_a_test_that_is_marked_steady_has_one_chance(self):
        self.system_tests("""
            @mark(steady="it guards data")
            def test_a(self):
                with self.subTest("a part"):
                    self.fail_once()
            """)
        self.assert_failed("the test is marked steady")

    def test_a_unit_test_that_is_marked_steady_has_one_chance(self):
        self.unit_test("test_a", "exit 1", 'STEADY("it guards data");\n')
        self.assert_failed("the test is marked steady")

    def test_an_exception_in_a_thread_has_one_chance(self):
        self.system_tests("""
            def test_a(self):
                thread = threading.Thread(target=die)
                thread.start()
                thread.join()
            """)
        self.assert_failed("an exception in a thread")

    def test_the_files_of_a_test_are_its_own_until_it_ends(self):
        self.system_tests("""
            def test_a(self):
                for _ in range(20):
                    atexit.register(open(os.devnull).close)
                self.fail("the runner shows its output")
            """)
        status, lines = self.run_tests()
        self.assertEqual(status, 1)
        self.assertFalse([line for line in lines if "descriptor" in line])

    def test_a_crash_has_one_chance(self):
        for script in ("kill -SEGV $$",
                       "echo 'aggregator ended with -6: '; exit 1",
                       "echo 'Test failed with exception: Segmentation fault'"
                       "; exit 1",
                       "echo 'a.c:1: f: Assertion `a == b'\"'\"' failed.'"
                       "; exit 1"):
            with self.subTest(script):
                self.unit_test("test_a", script)
                self.assert_failed("a crash")

    def test_a_program_that_a_test_kills_is_no_crash(self):
        self.unit_test("test_a", 'mkdir ran || exec echo '
                       '"[  PASSED  ] 1 test(s)."\n'
                       'echo "agent ended with -9: "; exit 1')
        self.assertEqual(self.run_tests()[0], 0)

    def test_a_sanitizer_report_and_a_leak_have_one_chance(self):
        for said, reason in (
                ("ERROR: AddressSanitizer: heap-use-after-free",
                 "a sanitizer report"),
                ("WARNING: ThreadSanitizer: data race", "a sanitizer report"),
                ("a.c:1:2: runtime error: shift exponent 64 is too large",
                 "a sanitizer report"),
                ("ERROR: LeakSanitizer: detected memory leaks", "a leak")):
            with self.subTest(said):
                self.unit_test("test_a", f"echo '{said}'; exit 1")
                self.assert_failed(reason)

    def test_a_report_that_no_test_saw_is_a_failure(self):
        # A sanitizer that is told log_path does the same.
        self.unit_test("test_a", """
            path=${ASAN_OPTIONS##*log_path=}
            echo 'ERROR: LeakSanitizer: detected memory leaks' >$path.1
            echo "[  PASSED  ] 1 test(s)."
            """)
        lines = self.assert_failed("a leak")
        self.assertIn("ERROR: LeakSanitizer: detected memory leaks", lines)


class Stages(unittest.TestCase):
    def setUp(self):
        root = tempfile.TemporaryDirectory()
        self.addCleanup(root.cleanup)
        self.root = pathlib.Path(root.name)
        (self.root / "tests/support").mkdir(parents=True)
        self.script = self.root / "tests/support/stages.sh"
        self.script.write_bytes((SUPPORT / "stages.sh").read_bytes())
        self.script.chmod(0o755)

    def stages(self, *unsteady):
        """The exit status and the last lines of a run with a stage for each
        of these numbers of unsteady tests."""
        for at, number in enumerate(unsteady):
            lines = [f"unsteady: stage{at} test{i}" for i in range(number)]
            (self.root / f"stage{at}").write_text(
                "\n".join([*lines, "tests: 5 passed, 0 failed, 1 skipped"]))
        done = subprocess.run(
            [self.script, *(f"name{at}: cat stage{at}"
                            for at in range(len(unsteady)))],
            capture_output=True, text=True, check=False)
        _, end = done.stdout.split(" all stages\n")
        return done.returncode, end.splitlines()

    def test_the_last_lines_name_the_unsteady_tests_of_all_stages(self):
        self.assertEqual(self.stages(1, 0, 1), (0, [
            "unsteady: stage0 test0", "unsteady: stage2 test0",
            "tests: 15 passed, 0 failed, 3 skipped"]))

    def test_more_than_two_unsteady_tests_fail_the_run(self):
        status, lines = self.stages(2, 1)
        self.assertEqual(status, 1)
        self.assertEqual(lines[-2:], [
            "more than 2 tests are unsteady",
            "tests: 10 passed, 0 failed, 2 skipped"])

    def test_stages_of_two_rows_run_side_by_side_and_are_added_up(self):
        """Each waits for the other."""
        for own, other in ("ab", "ba"):
            (self.root / own).write_text(
                f"#!/bin/sh\ntouch {own}.runs\n"
                f"until [ -e {other}.runs ]; do sleep 0.01; done\n"
                "echo unsteady: $0\n"
                "echo tests: 2 passed, 0 failed, 0 skipped\n")
            (self.root / own).chmod(0o755)
        done = subprocess.run(
            [self.script, "begin: echo tests: 1 passed, 0 failed, 0 skipped",
             "--first", "a: ./a", "c: false", "--beside", "b: ./b", "d: true"],
            capture_output=True, text=True, check=False)
        self.assertEqual(done.returncode, 1, done.stderr)
        end = done.stdout.splitlines()
        self.assertEqual(end[-3:], [
            "unsteady: ./a", "unsteady: ./b",
            "tests: 6 passed, 1 failed, 0 skipped"])
        self.assertEqual([line.split()[-1] for line in end[-9:-4]],
                         ["begin", "a", "c", "b", "d"])

    def test_a_run_without_unsteady_tests_names_none(self):
        self.assertEqual(self.stages(0), (0, [
            "tests: 5 passed, 0 failed, 1 skipped"]))


if __name__ == "__main__":
    unittest.main()
