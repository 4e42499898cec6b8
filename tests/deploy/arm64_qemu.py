#!/usr/bin/env python3
"""Runs the arm64 programs of a release on this machine, in QEMU's user mode,
with the files of their images. Prints as its last line: tests: N passed, N
failed, N skipped.

usage: arm64_qemu.py RELEASE

KVM is not emulated: the agent finds this machine's /dev/kvm, or none."""
import json
import pathlib
import subprocess
import sys
import tarfile
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))

from harness import PATIENCE_S, ROOT  # noqa: E402
from kubelet import Image  # noqa: E402

QEMU = (ROOT / "build/ci/debian/qemu-user-static/usr/bin/qemu-aarch64-static")
PROGRAMS = ("agent", "aggregator", "scheduler")
release = None  # the folder of the release


class Arm64(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        cls.bin = pathlib.Path(folder.name, "bin")
        cls.bin.mkdir()
        cls.images = {}
        for name in PROGRAMS:
            root = pathlib.Path(folder.name, name)
            cls.images[name] = Image(release / f"plimsoll-{name}.tar",
                                     "arm64")
            cls.images[name].unpack(root)
            # QEMU looks for each file in the root first.
            start = cls.bin / f"plimsoll-{name}"
            start.write_text(f"#!/bin/sh\nexec {QEMU} -L {root} "
                             f'{root}/plimsoll-{name} "$@"\n')
            start.chmod(0o755)

    def run_program(self, name, *arguments):
        done = subprocess.run(
            [self.bin / f"plimsoll-{name}", *arguments], check=False,
            capture_output=True, text=True, timeout=PATIENCE_S)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout

    def test_the_programs_are_of_arm64_and_know_their_version(self):
        for name, image in self.images.items():
            self.assertEqual(image.config["architecture"], "arm64")
            first, commit, *libraries = self.run_program(
                name, "--version").splitlines()
            self.assertEqual(first, f"plimsoll-{name} " + image.labels[
                "org.opencontainers.image.version"])
            self.assertEqual(commit, "commit " + image.labels[
                "org.opencontainers.image.revision"])
            self.assertGreater(len(libraries), 2)
            self.assertIn(f"usage: plimsoll-{name} ",
                          self.run_program(name, "--help"))

    def test_the_plugin_runs_with_its_own_libraries(self):
        [path] = release.glob("kubectl-plimsoll-*-arm64.tar.gz")
        with tempfile.TemporaryDirectory() as store:
            with tarfile.open(path) as tar:
                tar.extractall(store, filter="fully_trusted")
            [loader] = pathlib.Path(store, "lib").glob("ld-linux-*")
            done = subprocess.run(
                [QEMU, loader, "--library-path", f"{store}/lib",
                 f"{store}/lib/kubectl-plimsoll", "version"], check=False,
                capture_output=True, text=True, timeout=PATIENCE_S)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn(f"kubectl-plimsoll {release.name}\n", done.stdout)

    def test_the_agent_reports_this_machine_once(self):
        report = json.loads(self.run_program("agent", "--once"))
        self.assertGreater(report["cpu"]["user_us"], 0)
        self.assertGreater(report["memory"]["total_bytes"], 1 << 26)

    def test_the_scheduler_scores_the_example(self):
        verdict = json.loads(self.run_program(
            "scheduler", "score", "--in",
            ROOT / "deploy/examples/question.json"))
        native = json.loads(subprocess.run(
            [ROOT / "bin/plimsoll-scheduler", "score", "--in",
             ROOT / "deploy/examples/question.json"], check=True,
            capture_output=True).stdout)
        self.assertEqual(verdict, native)

    def test_agent_and_aggregator_pass_the_smoke_test(self):
        """tests/system/smoke_test.py: reports of an agent, stored and
        served."""
        done = subprocess.run(
            [sys.executable, ROOT / "tests/support/run_case.py",
             ROOT / "tests/system/smoke_test.py", "Smoke"],
            env={"PATH": "/usr/bin:/bin", "PLIMSOLL_BIN": str(self.bin)},
            check=False, capture_output=True, text=True, timeout=PATIENCE_S)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)


def main(arguments):
    global release
    release = pathlib.Path(arguments[0]).resolve()
    result = unittest.TextTestRunner(verbosity=2).run(
        unittest.defaultTestLoader.loadTestsFromTestCase(Arm64))
    failed = len(result.failures) + len(result.errors)
    # A class that cannot be set up is an error without a test.
    print(f"tests: {max(0, result.testsRun - failed)} passed, "
          f"{failed} failed, 0 skipped")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
