"""The agent on a real arm64 kernel: the tests of node_test.py, and KVM's probe.

QEMU emulates a CPU with the virtualization extension, so the guest's kernel
offers KVM, and the probe runs a guest inside the guest. This shows that the
kernel executes the probe's guest as it should. It shows nothing of real CPUs."""
import json
import pathlib
import subprocess
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))

import node_test  # noqa: E402
from guest import ARM64, ARM64_KVM, Guest  # noqa: E402
from harness import PATIENCE_S  # noqa: E402


def probe(guest, level):
    """What the agent says of KVM if it tests up to the level."""
    report = json.loads(guest.run("plimsoll-agent --once --node-name guest"
                                  f" --kvm-probe {level}"))
    print(f"\n--kvm-probe {level}: {report['kvm']}")
    return report["kvm"]


class OnARealArm64Kernel(node_test.OnARealKernel):
    machine = ARM64_KVM
    # The emulation is slower, so the agent and the test use more of the CPUs.
    idle = 0.5
    # Takes minutes here, and the agent reads the same files everywhere.
    test_memory_that_runs_out_shows_on_the_node_and_in_the_vm = None

    def test_the_probe_runs_a_guest(self):
        print("\n" + self.guest.run("uname -srm; dmesg | grep kvm").strip())
        kvm = probe(self.guest, "run")
        self.assertEqual((kvm["state"], kvm["level"]), ("ok", "run"))
        self.assertNotIn("detail", kvm)
        kvm = probe(self.guest, "vm")
        self.assertEqual((kvm["state"], kvm["level"]), ("ok", "vm"))

    def test_the_probe_leaves_no_machine_behind(self):
        # A machine that is left has a folder there.
        self.guest.run("mount -t debugfs debug /sys/kernel/debug")
        self.addCleanup(self.guest.run, "umount /sys/kernel/debug")
        machines = "find /sys/kernel/debug/kvm -mindepth 1 -type d"
        for _ in range(3):
            self.assertEqual(probe(self.guest, "run")["state"], "ok")
        self.assertEqual(self.guest.run(machines).strip(), "")


class WithoutVirtualization(unittest.TestCase):
    def test_a_cpu_without_the_extension_has_no_kvm(self):
        guest = Guest(1, machine=ARM64)
        self.addCleanup(guest.close)
        kvm = probe(guest, "run")
        self.assertEqual((kvm["state"], kvm["level"]), ("missing", "off"))


class UnderQemuUser(unittest.TestCase):
    """The programs' own instructions are emulated; this kernel answers."""

    @staticmethod
    def run_program(name, *arguments):
        return subprocess.run(
            ["qemu-aarch64", "-L", ARM64.root,
             ARM64.programs / f"plimsoll-{name}", *arguments], check=True,
            text=True, capture_output=True, timeout=PATIENCE_S).stdout

    def test_every_program_tells_its_version_and_its_flags(self):
        for name in ("agent", "aggregator", "scheduler"):
            with self.subTest(program=name):
                said = self.run_program(name, "--version")
                self.assertRegex(said, rf"\Aplimsoll-{name} \S+")
                self.assertIn("--log-level", self.run_program(name, "--help"))

    def test_the_agent_reports_once(self):
        report = json.loads(self.run_program(
            "agent", "--once", "--node-name", "here", "--kvm-probe", "off"))
        memory = pathlib.Path("/proc/meminfo").read_text().split()
        self.assertEqual(report["memory"]["total_bytes"],
                         int(memory[1]) << 10)


if __name__ == "__main__":
    unittest.main()
