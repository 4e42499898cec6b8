"""With KubeVirt's own controllers: moves are recommended, and VMs that may not
move are held back."""
import pathlib
import sys
import time
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))

from kube_api import Refused  # noqa: E402
from kubevirt import path_of  # noqa: E402
from scene_case import (  # noqa: E402
    HOT_CORES, SceneCase, VM_CORES, path_of_node)
from virt_handler import as_handler  # noqa: E402

CONSENT = "plimsoll.io/move"
NO_EVICTION = "descheduler.alpha.kubernetes.io/prefer-no-eviction"


class Recommending(SceneCase):
    @classmethod
    def setUpClass(cls):
        cls.begin_scenes(hot=3, kept=2, own=2)
        cls.kube.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {
            "name": "kept", "annotations": {CONSENT: "never"}}})
        cls.kube.patch(path_of_node("own-0"), {
            "metadata": {"annotations": {CONSENT: "never"}}})
        cls.start_scheduler()

    def test_what_pays_is_recommended_and_what_may_not_move_is_not(self):
        self.make_scene_vm("hot", "big", 8, 0.05)
        self.make_scene_vm("hot", "small", 1, 0.05)
        self.make_scene_vm("kept", "in-template", 8, 0.05,
                           annotations={CONSENT: "never"})
        self.make_scene_vm("kept", "no-eviction", 8, 0.05,
                           annotations={NO_EVICTION: "true"})
        self.make_scene_vm("kept", "in-namespace", 8, 0.05, "kept")
        self.make_scene_vm("own", "on-node", 8, 0.05)
        self.make_scene_vm("own", "fixed", 8, 0.05)
        self.await_running("big", "small", "in-template", "no-eviction",
                           "on-node", "fixed")
        self.forbid_migration("fixed")
        self.loads.set_node("hot-1", 3.0)
        for scene in self.scenes:
            self.open_scene(scene)
        first = self.last_round()
        self.wait("the mover looks at the VMs", lambda: (
            self.last_round() != first))
        self.assertEqual(self.aggregator.json("/v1/moves")["moves"], [])
        for scene in self.scenes:
            self.loads.set_node(f"{scene}-0", HOT_CORES)
        for name in ("big", "in-template", "on-node"):
            self.loads.set_vm(name, VM_CORES)
        self.heated = time.monotonic()
        self.side_by_side({
            "the big VM should go to the quietest node": self.recommended,
            "nothing is recommended without consent": self.consent})

    def last_round(self):
        """When the mover has looked last."""
        return self.rebalance()["last_round"]["time"]

    def forbid_migration(self, name):
        """As virt-handler finds for a VM with a device of the host."""
        writer = as_handler(self.kube, self.vm_node(name))

        def forbid():
            vmi = self.vmi(name)
            for condition in vmi["status"]["conditions"]:
                if condition["type"] == "LiveMigratable":
                    condition.update(
                        status="False", reason="HostDeviceNotLiveMigratable",
                        message="VMI uses a PCI host device")
            try:
                return writer.request("PUT", path_of(
                    "VirtualMachineInstance", "default", name), vmi)
            except Refused as no:
                self.assertEqual(no.status, 409)
                return None
        self.wait(f"{name} cannot migrate", forbid)

    def recommended(self):
        move = self.await_move("big", "recommended")
        print(f"recommended {time.monotonic() - self.heated:.0f} s after the "
              "node became hot", file=sys.stderr)
        self.assertEqual((move["source"], move["target"]), ("hot-0", "hot-2"))
        self.assertEqual((move["reason"], move["is_automatic"],
                          move["is_other_scheduler"], move["ordered"]),
                         ("cpu", False, False, None))
        self.assertGreater(move["source_load_before"], 0.5)
        self.assertLess(move["source_load_after"], move["source_load_before"])
        self.assertGreater(move["gain"], move["price"])
        event = self.await_event("big", "MoveRecommended")
        self.assertIn("from hot-0 to hot-2", event["note"])
        self.assertEqual(self.moves("small"), [])
        self.assertIn("big", self.recommended_now())
        self.assertEqual(self.rebalance()["why"], "--rebalance is recommend")
        self.annotate("big", **{CONSENT: "never"})
        over = self.await_move("big", "withdrawn")
        self.assertEqual(over["id"], move["id"])
        self.assertNotIn("big", self.recommended_now())
        self.assertEqual(self.vm_node("big"), "hot-0")
        self.assertEqual(self.migrations(), [])

    def consent(self):
        self.await_move("big", "recommended")
        for name in ("in-template", "no-eviction", "on-node", "fixed"):
            self.assertEqual(self.moves(name), [], name)
        self.assertEqual(self.moves("in-namespace", "kept"), [])
        held = {vm["vm"]: vm["why"] for vm in self.rebalance()["held_back"]}
        self.assertEqual(held, {
            "in-template": "an annotation of the VMI forbids it",
            "no-eviction": "an annotation of the VMI forbids it",
            "in-namespace": "an annotation of the namespace forbids it",
            "on-node": "an annotation of the node forbids it",
            "fixed": "an annotation of the node forbids it"})
        self.kube.patch("/api/v1/namespaces/kept", {
            "metadata": {"annotations": {CONSENT: "allowed"}}})
        self.kube.patch(path_of_node("own-0"), {
            "metadata": {"annotations": {CONSENT: None}}})
        self.await_move("in-namespace", "recommended", "kept")
        self.await_move("on-node", "recommended")
        for name in ("in-template", "no-eviction", "fixed"):
            self.assertEqual(self.moves(name), [], name)
        self.assertIn(
            {"namespace": "default", "vm": "fixed", "node": "own-0",
             "why": "KubeVirt cannot migrate it: VMI uses a PCI host device"},
            self.rebalance()["held_back"])


if __name__ == "__main__":
    unittest.main()
