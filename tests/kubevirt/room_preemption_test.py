"""The scene of room_test.py with the stock kube-scheduler and its preemption,
for comparison: the urgent VM starts, and other VMs are killed for it."""
import pathlib
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))

from room_case import RoomCase, vm_of  # noqa: E402
from virt_handler import FINAL, name_of, phase_of  # noqa: E402

KUBE_SCHEDULER = "system:kube-scheduler"


class Preemption(RoomCase):
    placer = "default-scheduler"

    @classmethod
    def setUpClass(cls):
        cls.begin_room("controller-manager,scheduler", killed=2)

    def test_kube_scheduler_kills_running_vms_for_an_urgent_one(self):
        urgent = self.make_urgent("killed")
        self.await_running(urgent)
        node = self.vm_node(urgent)
        killed = self.killed_vms()
        self.assertGreaterEqual(len(killed), 1)
        self.assertLessEqual(killed, set(self.vms_on(node)))
        self.assertEqual(self.migrations(), [])
        by_scheduler = {pod for user, pod in self.deleted_pods()
                        if user == KUBE_SCHEDULER}
        launchers = {name_of(pod): vm_of(pod)
                     for _, pod in self.pod_history.versions}
        self.assertEqual({launchers[pod] for pod in by_scheduler}, killed)
        with self.assertRaises(AssertionError):
            self.assert_nobody_was_hurt("killed")

    def killed_vms(self):
        """The VMs whose VMI has left the phase Running."""
        uids = self.uids["killed"]
        return {name_of(vmi) for _, vmi in self.vmi_history.versions
                if phase_of(vmi) in FINAL
                and vmi["metadata"]["uid"] == uids.get(name_of(vmi))}


if __name__ == "__main__":
    unittest.main()
