"""Nodes that left the cluster leave the live table too: the aggregator watches
the Nodes of a real API server, and forgets by age alone if it may not."""
import pathlib
import sys
import time
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))

from cluster import ClusterCase  # noqa: E402
from harness import (Aggregator, Machine, agent,  # noqa: E402
                     eventually, mark)
from identity_test import World  # noqa: E402
from kube_api import path_of, token_kubeconfig  # noqa: E402
from stored import stored_seqs  # noqa: E402
from wall_clock import HOUR_S, WallClock  # noqa: E402

# As in docs/security.md.
WATCHES_NODES = [{"apiGroups": [""], "resources": ["pods", "nodes"],
                  "verbs": ["list", "watch"]}]


class NodeRemoval(ClusterCase):
    @classmethod
    def setUpClass(cls):
        cls.begin()
        cls.world = World(cls)
        cls.world.make_account("watcher", WATCHES_NODES)
        cls.machine = Machine(cls.folder.path / "m")
        cls.addClassCleanup(cls.machine.close)

    def start(self, name, account):
        """An aggregator that watches as this account."""
        kubeconfig = self.folder.path / f"{name}.kubeconfig"
        kubeconfig.write_text(token_kubeconfig(
            self.cluster.kubeconfig(), self.world.api_token(account)))
        aggregator = self.folder.add(Aggregator(
            self.folder.path, name, "--kubeconfig", kubeconfig)).start()
        self.addCleanup(aggregator.kill)
        return aggregator

    def start_agent(self, node, aggregator):
        program = self.folder.add(agent(
            self.folder.path, node, [aggregator.url],
            *self.machine.agent_flags())).start()
        self.addCleanup(program.kill)
        eventually(f"{node} has rates", lambda: "used_cores" in (
            aggregator.node(node) or {"cpu": ()})["cpu"])
        return program

    @mark(slow="a node is fresh for 15 s after its last report")
    def test_a_node_goes_when_its_object_is_deleted_and_one_without_stays(self):
        gone, _ = self.world.make_node()
        stays, _ = self.world.make_node()
        aggregator = self.start("removal", "watcher")
        aggregator.wait_log("Node cache synced")
        beside = f"{gone}-beside"  # has no Node object
        for node in (gone, stays, beside):
            self.start_agent(node, aggregator).kill()
        self.kube.delete(path_of("Node", None, gone))
        eventually("the node is removed",
                   lambda: aggregator.node(gone) is None)
        aggregator.wait_log(f'nodes forgotten.*first="{gone}"')
        self.assertIsNotNone(aggregator.node(stays))
        self.assertIsNotNone(aggregator.node(beside))
        self.assertNotIn(f'node="{gone}"', aggregator.get("/metrics")[2])
        self.assertEqual(aggregator.get(f"/v1/nodes/{gone}")[0], 404)
        history = aggregator.json(
            f"/v1/nodes/{gone}/history?fields=memory.total_bytes")
        self.assertTrue(any(row[1] for row in history["rows"]))
        # It reports again: then it is live.
        self.start_agent(gone, aggregator)

    def test_without_the_right_the_log_says_what_is_missing(self):
        aggregator = self.start("blind-removal", "stranger")
        aggregator.wait_log(
            'cannot watch Nodes: those that leave the cluster are lost until '
            '--forget-lost-after.*why="[^"]*forbidden')
        self.assertEqual(aggregator.most_a_minute("cannot watch Nodes"), 1)

    def test_a_restart_brings_no_forgotten_node_back(self):
        clock = WallClock(self.folder.path / "clock", -2 * HOUR_S)
        aggregator = self.folder.add(
            Aggregator(self.folder.path, "restarted"))
        clock.start(aggregator)
        old = self.start_agent("old-node", aggregator)
        eventually("its reports are stored", lambda: sum(map(
            len, stored_seqs(aggregator.db).values())) >= 3)
        old.kill()
        aggregator.kill()
        clock.set(0)
        aggregator.start()
        aggregator.wait_log("skipped stored nodes: no recent report.*nodes=1")
        self.assertIsNone(aggregator.node("old-node"))
        eventually("its history is there", lambda: any(
            row[1] for row in aggregator.json(
                "/v1/nodes/old-node/history?fields=memory.total_bytes&"
                f"from={int(time.time()) - 3 * HOUR_S}&step=5m")["rows"]))


if __name__ == "__main__":
    unittest.main()
