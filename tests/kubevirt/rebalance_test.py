"""The scheduler and KubeVirt's own controllers move running VMs: the VM that
relieves a hot node goes to the quietest one."""
import datetime
import pathlib
import sys
import unittest

TESTS = pathlib.Path(__file__).resolve().parents[1]
sys.path += [str(TESTS / "support"), str(TESTS / "e2e")]

from scene_case import (  # noqa: E402
    CORES, HOT_CORES, SceneCase, VM_CORES)
from virt_handler import name_of  # noqa: E402
from wall_clock import HOUR_S, WallClock  # noqa: E402

MEASURED_S = 180  # after the end of a move


class Automatic(SceneCase):
    @classmethod
    def setUpClass(cls):
        cls.begin_scenes(hot=3, alien=2, quiet=1)
        cls.clock = WallClock(cls.folder.path / "clock")
        for node, cores in {"hot-0": HOT_CORES, "hot-1": 3.0,
                            "alien-0": HOT_CORES}.items():
            cls.loads.set_node(node, cores)
        cls.start_scheduler("--rebalance", "automatic", clock=cls.clock)

    def test_a_hot_node_is_cooled_and_others_vms_stay(self):
        self.make_scene_vm("hot", "big", 8, VM_CORES)
        self.make_scene_vm("hot", "small", 1, 0.05)
        self.make_scene_vm("alien", "alien", 8, VM_CORES, scheduler="other")
        self.place_as_other("alien", "alien-0")
        self.await_running("big", "small", "alien")
        for scene in ("hot", "alien"):
            self.open_scene(scene)
        self.side_by_side({
            "the big VM goes to the quietest node": self.moved,
            "another scheduler's VM is recommended alone": self.alien_stays,
            "an announcement reaches the decision": self.announced,
            "limits are those of the KubeVirt CR": self.limits})

    def place_as_other(self, name, node):
        pod = self.wait("there is a launcher", lambda: next(iter(
            self.launchers(name)), None))
        self.kube.request(
            "POST", "/api/v1/namespaces/default/pods/"
            f"{name_of(pod)}/binding", {
                "apiVersion": "v1", "kind": "Binding",
                "metadata": {"name": name_of(pod)},
                "target": {"apiVersion": "v1", "kind": "Node", "name": node}})

    def moved(self):
        move = self.await_move("big", "succeeded")
        self.assertEqual((move["source"], move["target"]), ("hot-0", "hot-2"))
        self.assertTrue(move["is_automatic"])
        self.assertEqual(self.vm_node("big"), "hot-2")
        self.assertEqual(self.vm_node("small"), "hot-0")
        self.wait("the node cools", lambda: self.used_cores("hot-0")
                  < HOT_CORES + 0.3)
        job, = self.migrations("big")
        self.assertEqual((name_of(job), job["spec"]["addedNodeSelector"]), (
            move["migration"], {"kubernetes.io/hostname": "hot-2"}))
        for reason in ("MoveOrdered", "MoveSucceeded"):
            self.await_event("big", reason)
        self.placement_is_explained("hot-2")
        self.assertEqual(
            self.rebalance()["budgets"]["ordered_last_hour"], 1)
        self.figures_are_right(move)
        self.measured_later(move)

    def placement_is_explained(self, node):
        """The decision about the target pod is found by the VM."""
        target, _ = self.wait("both decisions are known", lambda: (
            len(found := self.decisions("big")) == 2 and found))
        self.assertEqual((target["pod"], target["chosen"]),
                         (name_of(self.vm_pod("big")), node))
        self.assertIn(node, target["sentence"])

    def figures_are_right(self, move):
        self.assertGreater(move["source_load_before"], 0.5)
        self.assertLess(move["source_load_after"],
                        move["source_load_before"] - 0.2)
        self.assertGreater(move["target_load_after"],
                           move["target_load_before"] + 0.2)
        self.assertLess(move["source_shortage_after"],
                        move["source_shortage_before"] / 2)
        self.assertGreater(move["measured_source_before"], 0.5)
        self.assertLess(move["measured_target_before"], 0.1)
        self.assertIsNone(move["measured_source_3m"])

    def measured_later(self, move):
        """The scheduler's clock goes on as soon as the means of 5 minutes
        show that the VM is gone."""
        before = move["measured_source_before"]
        # The scheduler has a snapshot that is a little older.
        self.wait("the mean falls", lambda: self.aggregator.node("hot-0")[
            "cpu"]["used_cores_5m"] / CORES < before - 0.15)
        for ahead_s, later in ((MEASURED_S, "3m"), (HOUR_S, "60m")):
            self.clock.set(ahead_s)
            source, target = self.wait(f"{later} later it is measured",
                                       lambda later=later: self.measured(
                                           move, later))
            self.assertLess(source, before - 0.1)
            self.assertGreater(target, move["measured_target_before"] + 0.1)

    def measured(self, move, later):
        now = next(m for m in self.moves("big") if m["id"] == move["id"])
        figures = [now[f"measured_{end}_{later}"]
                   for end in ("source", "target")]
        return None if None in figures else figures

    def alien_stays(self):
        move = self.await_move("alien", "recommended")
        self.assertEqual((move["target"], move["is_other_scheduler"]),
                         ("alien-1", True))
        self.await_move("big", "succeeded")
        self.await_why("another scheduler places the VM's pods")
        self.assertEqual(self.vm_node("alien"), "alien-0")
        self.assertEqual(self.migrations("alien"), [])

    def announced(self):
        now = datetime.datetime.now(datetime.timezone.utc)
        begin, end = (f"{now + datetime.timedelta(hours=h):%H:%M}"
                      for h in (-1, 2))
        self.make_scene_vm("quiet", "tells", 4, 0.1, annotations={
            "plimsoll.io/expected-cores": f"3.6 from {begin} to {end}"})
        self.make_scene_vm("quiet", "silent", 4, 0.1)
        self.await_running("tells", "silent")
        told, = self.decisions("tells")
        silent, = self.decisions("silent")
        self.assertIn("announced", told["sentence"])
        self.assertAlmostEqual(told["best"][0]["cpu_by_pod"], 3.6 / CORES,
                               places=2)
        self.assertLess(silent["best"][0]["cpu_by_pod"], 0.3)

    def decisions(self, name):
        return self.wait(f"{name} has a decision", lambda: self.aggregator.json(
            f"/v1/decisions?vm=default/{name}")["decisions"])

    def limits(self):
        status = self.wait("moves may be ordered", lambda: (
            (now := self.rebalance())["effective_mode"] == "automatic"
            and now))
        self.assertEqual((status["mode"], status["price"]), ("automatic", 0.15))
        limits = status["kubevirt"]
        self.assertEqual(limits["parallel_migrations_per_cluster"], 5)
        self.assertEqual(limits["parallel_outbound_migrations_per_node"], 2)
        self.assertEqual(status["budgets"]["max_unfinished"], 4)
        self.kubevirt.patch_cr({"spec": {"configuration": {"migrations": {
            "parallelMigrationsPerCluster": 4,
            "parallelOutboundMigrationsPerNode": 3}}}})
        self.wait("the limits are the new ones", lambda: (
            3, 2) == (
                (b := self.rebalance()["budgets"])["max_unfinished"],
                b["max_out_of_node"]))


if __name__ == "__main__":
    unittest.main()
