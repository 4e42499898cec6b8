"""The test harness itself: a test fails when one of its threads dies, and the
runner says what it ran."""
import http.server
import io
import pathlib
import random
import subprocess
import sys
import tempfile
import threading
import unittest
import unittest.mock

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))

from harness import PATIENCE_S, ROOT, http_get, mark, marks_of  # noqa: E402
from ports import free_port  # noqa: E402
from run_tests import Job, marks_in_c, python_job, slow_first  # noqa: E402

USES_PROGRAMS = False
RUN_TESTS = ROOT / "tests/support/run_tests.py"


def die():
    raise ValueError("the thread died")


def in_thread(function):
    thread = threading.Thread(target=function)
    thread.start()
    thread.join()


def outcome(case):
    """The result of a test class that is defined inside a test."""
    # The hook of threading still prints the exception.
    with unittest.mock.patch("sys.stderr", io.StringIO()):
        return unittest.TextTestRunner(stream=io.StringIO()).run(
            unittest.defaultTestLoader.loadTestsFromTestCase(case))


class Ports(unittest.TestCase):
    def test_no_port_is_given_twice_before_its_program_starts(self):
        self.addCleanup(random.seed)
        ports = set()
        for _ in range(3):
            random.seed(7)
            ports.add(free_port())
        self.assertEqual(len(ports), 3)


class Threads(unittest.TestCase):
    def assert_blamed(self, result, name):
        [(test, text)] = result.failures + result.errors
        self.assertIn(name, str(test))
        self.assertIn("ValueError: the thread died", text)

    def test_an_exception_in_a_thread_fails_the_test_that_runs(self):
        class Case(unittest.TestCase):
            def test_a(self):
                in_thread(die)

            def test_b(self):
                pass
        result = outcome(Case)
        self.assertEqual(result.testsRun, 2)
        self.assert_blamed(result, "test_a")

    def test_an_exception_in_a_thread_that_ends_in_a_cleanup_counts(self):
        class Case(unittest.TestCase):
            def test_a(self):
                self.addCleanup(in_thread, die)
        self.assert_blamed(outcome(Case), "test_a")

    def test_an_exception_after_the_last_test_fails_the_class(self):
        class Case(unittest.TestCase):
            @classmethod
            def setUpClass(cls):
                cls.addClassCleanup(in_thread, die)

            def test_a(self):
                pass
        self.assert_blamed(outcome(Case), "tearDownClass")

    def test_an_exception_of_a_request_handler_fails_the_test(self):
        class Handler(http.server.BaseHTTPRequestHandler):
            def do_GET(self):
                die()

        class Case(unittest.TestCase):
            def test_a(self):
                server = http.server.ThreadingHTTPServer(("127.0.0.1", 0),
                                                         Handler)
                server.daemon_threads = False  # closing waits for them
                thread = threading.Thread(target=server.serve_forever)
                thread.start()
                with self.assertRaises(OSError):
                    http_get(f"http://127.0.0.1:{server.server_port}/")
                server.shutdown()
                server.server_close()
                thread.join()
        self.assert_blamed(outcome(Case), "test_a")

    def test_threads_that_end_well_fail_nothing(self):
        class Case(unittest.TestCase):
            def test_a(self):
                in_thread(lambda: None)
                in_thread(sys.exit)
        self.assertTrue(outcome(Case).wasSuccessful())


class Marks(unittest.TestCase):
    def test_a_test_has_the_marks_of_its_class_and_its_own(self):
        @mark(steady="a")
        class Case:
            @mark(slow="b")
            def test_a(self):
                """Has both marks."""

            def test_b(self):
                """Has the mark of the class."""
        self.assertEqual(marks_of(Case, "test_a"), {"steady": "a", "slow": "b"})
        self.assertEqual(marks_of(Case, "test_b"), {"steady": "a"})

    def test_a_mark_that_does_not_exist_is_refused(self):
        with self.assertRaises(ValueError):
            mark(sometimes="x")


class Order(unittest.TestCase):
    def test_slow_tests_begin_first_whatever_their_language(self):
        sources = {"quick": "int main(void)\n", "slow":
                   '#include "x.h"\n\nSLOW("it waits");\n',
                   "said": '/* SLOW("x") */\n'}
        with tempfile.TemporaryDirectory() as folder:
            paths = [pathlib.Path(folder, name) for name in sources]
            for path in paths:
                path.write_text(sources[path.name])
            jobs = [Job(path.name, [], None, marks=marks_in_c(path))
                    for path in paths]
        jobs.append(python_job("a_test.py", "Part", marks={"slow": "x"}))
        self.assertEqual([job.name for job in slow_first(jobs)],
                         ["slow", "a_test.py Part", "quick", "said"])


class Runner(unittest.TestCase):
    def run_tests(self, *arguments):
        done = subprocess.run(
            [sys.executable, RUN_TESTS, *arguments], cwd=ROOT,
            timeout=PATIENCE_S,
            capture_output=True, text=True, check=False)
        return done.returncode, done.stdout.splitlines()

    def test_a_word_that_matches_no_test_is_an_error(self):
        status, lines = self.run_tests("--match=no-such-test", "build/release")
        self.assertEqual(status, 1)
        self.assertEqual(lines[0], "no test matches 'no-such-test'")
        self.assertEqual(lines[-1], "tests: 0 passed, 0 failed, 0 skipped")

    def test_tests_that_use_no_program_run_with_the_release_build_alone(self):
        _, lines = self.run_tests("--match=Marks.test_a_test", "none/asan")
        self.assertEqual(lines[-1], "tests: 0 passed, 0 failed, 0 skipped")

    def test_a_word_selects_tests_and_the_slowest_are_listed(self):
        status, lines = self.run_tests("--match=Marks.test_a_test",
                                       "none/release")
        self.assertEqual(status, 0, lines)
        self.assertEqual(lines[-1], "tests: 1 passed, 0 failed, 0 skipped")
        self.assertIn("the slowest tests:", lines)


if __name__ == "__main__":
    unittest.main()
