"""`plimsoll-scheduler plan` over the recorded state of a live cluster names the
moves that the live scheduler recommends."""
import json
import pathlib
import subprocess
import sys
import unittest

TESTS = pathlib.Path(__file__).resolve().parents[1]
sys.path += [str(TESTS / "support"), str(TESTS / "e2e")]

from harness import BIN, PATIENCE_S  # noqa: E402
from kubevirt import path_of  # noqa: E402
from room_case import AHEAD_S, RoomCase  # noqa: E402
from wall_clock import WallClock  # noqa: E402


def step_of(thing):
    """Of a move, and of a step of a plan."""
    return thing["vm"], thing["source"], thing["target"]


class PlanOfRecordedState(RoomCase):
    @classmethod
    def setUpClass(cls):
        cls.begin_room(scene=3)
        cls.start_vm_load()
        cls.clock = WallClock(cls.folder.path / "clock", AHEAD_S)
        cls.maker = cls.room_maker()
        cls.maker.start()

    def test_it_names_the_moves_that_the_live_scheduler_recommends(self):
        self.wait("the VMs were watched for long enough",
                  self.all_were_watched)
        # One node alone: which of several equal ones is best may change from
        # second to second with what was measured.
        node = self.scenes["scene"][0]
        urgent = self.make_urgent(
            "scene", nodeSelector={"kubernetes.io/hostname": node})
        pod = self.launcher_of(urgent)
        attempt = self.wait("two moves are recommended", lambda: (
            (now := self.attempt(self.maker, pod))
            and now["state"] == "recommended" and len(now["moves"]) == 2
            and now))
        answer = self.plan(self.state(pod))
        self.assertTrue(answer["found"], answer["message"])
        self.assertEqual((answer["node"], answer["moves"]), (node, 2))
        self.assertEqual(list(map(step_of, attempt["moves"])),
                         list(map(step_of, answer["steps"])))

    def all_were_watched(self):
        fits = json.loads(self.ask(self.maker, "/v1/room")).get("fits")
        return fits and "has run here for less" not in str(fits)

    def state(self, pod):
        """What docs/plan.md records."""
        return {
            "pod": pod,
            "nodes": self.kube.get("/api/v1/nodes"),
            "pods": self.kube.get("/api/v1/pods"),
            "vmis": self.kube.get(path_of("VirtualMachineInstance",
                                          "default")),
            "migrations": self.kube.get(path_of(
                "VirtualMachineInstanceMigration", "default")),
            "objects": [{**one, "kind": "Namespace"} for one in self.kube.get(
                "/api/v1/namespaces")["items"]],
            "load": self.aggregator.json("/v1/nodes")}

    def plan(self, state):
        done = subprocess.run(
            [BIN / "plimsoll-scheduler", "plan", "--goal", "pod", "--in", "-"],
            input=json.dumps(state), capture_output=True, text=True,
            timeout=PATIENCE_S, check=False)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        return json.loads(done.stdout)


if __name__ == "__main__":
    unittest.main()
