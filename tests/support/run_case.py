#!/usr/bin/env python3
"""Runs a part of one Python test file for run_tests.py.

usage: run_case.py --list FILE ...   one line of JSON for each part
       run_case.py FILE PART         the tests of one part, or with "" all

A part is a test class, or one method of a class that has no setUpClass. The
tests of a file with USES_PROGRAMS = False are about scripts and documents, and
are marked tools. After
the report of unittest comes a line "seconds: TEST SECONDS" for each test, and
"steady: TEST" for each that failed and is marked steady."""
import importlib.util
import json
import pathlib
import sys
import time
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))

import harness  # noqa: E402


def load(path):
    """The module in a file, named as the file without its suffix."""
    name = pathlib.Path(path).stem
    spec = importlib.util.spec_from_file_location(name, path)
    module = sys.modules[name] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def has_class_fixture(case):
    return (case.setUpClass.__func__
            is not unittest.TestCase.setUpClass.__func__)


def parts(path):
    """The parts of a file as (name, class, methods)."""
    module = load(path)
    for case in vars(module).values():
        if (not isinstance(case, type) or case.__module__ != module.__name__
                or not issubclass(case, unittest.TestCase)):
            continue
        methods = unittest.defaultTestLoader.getTestCaseNames(case)
        if has_class_fixture(case):
            if methods:
                yield case.__name__, case, methods
        else:
            for method in methods:
                yield f"{case.__name__}.{method}", case, [method]


def describe(path):
    """The parts of a file as dicts. A file that cannot be loaded is one part:
    it fails when it runs."""
    try:
        found = list(parts(path))
    except Exception:  # whatever the file does
        yield {"file": path, "part": "", "marks": {}}
        return
    for name, case, methods in found:
        marks = {}
        for method in methods:
            marks |= harness.marks_of(case, method)
        if not getattr(sys.modules[case.__module__], "USES_PROGRAMS", True):
            marks["tools"] = "the file says so"
        yield {"file": path, "part": name, "marks": marks}


class Result(unittest.TextTestResult):
    """Adds how long each test took, and each class's setUpClass."""

    def __init__(self, *arguments, **options):
        super().__init__(*arguments, **options)
        self.seconds = []
        self.since = time.monotonic()

    def lap(self, name):
        now = time.monotonic()
        self.seconds.append((name, now - self.since))
        self.since = now

    def startTest(self, test):
        self.lap(f"{type(test).__name__}.setUpClass")
        super().startTest(test)

    def stopTest(self, test):
        super().stopTest(test)
        self.lap(f"{type(test).__name__}.{test._testMethodName}")


def steady_failures(result):
    """The names of the tests that failed and are marked steady."""
    for test, _ in result.failures + result.errors:
        test = getattr(test, "test_case", test)  # a subtest's test
        name = getattr(test, "_testMethodName", None)  # none: a fixture
        if name and "steady" in harness.marks_of(type(test), name):
            yield f"{type(test).__name__}.{name}"


def run(path, part):
    module = load(path)
    loader = unittest.defaultTestLoader
    suite = (loader.loadTestsFromName(part, module) if part
             else loader.loadTestsFromModule(module))
    runner = unittest.TextTestRunner(stream=sys.stdout, verbosity=2,
                                     resultclass=Result)
    result = runner.run(suite)
    for name, seconds in result.seconds:
        if seconds >= 0.01:
            print(f"seconds: {name} {seconds:.2f}")
    for name in sorted(set(steady_failures(result))):
        print(f"steady: {name}")
    return 0 if result.wasSuccessful() else 1


def main(arguments):
    if arguments[0] == "--list":
        for path in arguments[1:]:
            for part in describe(path):
                print(json.dumps(part))
        return 0
    return run(*arguments)


if __name__ == "__main__":
    code = main(sys.argv[1:])
    # A thread that hangs must not keep the process.
    sys.stdout.flush()
    sys.exit(code)
