"""Without an API server the first node that reports a pod holds it: another
node's claim is shown nowhere, stored nowhere, counted and logged."""
import json
import pathlib
import re
import subprocess
import sys
import time
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))

from harness import (BIN, PATIENCE_S, Aggregator, Driver, Folder,  # noqa: E402
                     Machine, agent, eventually, kubeconfig)

POD = "11111111-2222-3333-4444-555555555555"
OTHER = "22222222-2222-3333-4444-555555555555"
CORES = 6  # of node-a
WRONG = re.compile(r"^plimsoll_aggregator_wrong_pod_claims_total (\S+)$", re.M)


class PodClaims(unittest.TestCase):
    """node-a runs POD with 1 core; node-b runs OTHER and claims that POD uses
    400 cores."""

    @classmethod
    def setUpClass(cls):
        cls.folder = Folder()
        cls.addClassCleanup(cls.folder.close)
        path = cls.folder.path
        cls.aggregator = cls.folder.add(Aggregator(path)).start()
        cls.machines = {name: Machine(path / name, cores) for name, cores in (
            ("node-a", CORES), ("node-b", 512))}
        cls.machines["node-a"].run_pod(POD, cores=1.0)
        cls.machines["node-b"].run_pod(POD, cores=400.0)
        cls.machines["node-b"].run_pod(OTHER, cores=0.5)
        driver = Driver(cls.machines.values()).start()
        cls.addClassCleanup(driver.stop)
        cls.began = int(time.time())
        for name in cls.machines:
            cls.start_agent(name)
            eventually(f"{name} has reported",
                       lambda name=name: cls.aggregator.node(name))

    @classmethod
    def start_agent(cls, name):
        return cls.folder.add(agent(
            cls.folder.path, name, [cls.aggregator.url],
            *cls.machines[name].agent_flags(), interval="200ms")).start()

    def wrong_claims(self):
        return float(WRONG.search(self.aggregator.get("/metrics")[2])[1])

    def pods(self):
        """{(node, pod uid)} that are shown."""
        return {(vm["node"], vm["pod_uid"])
                for vm in self.aggregator.json("/v1/vms")["vms"]}

    def export(self):
        """{pod uids: the cores of each step}."""
        done = subprocess.run(
            [BIN / "plimsoll-aggregator", "export", "--db", self.aggregator.db,
             "--from", str(self.began - 60), "--to", str(self.began + 600)],
            capture_output=True, text=True, timeout=PATIENCE_S, check=True)
        return {tuple(vm["pod_uids"]): [c for c in vm["used_cores"] if c]
                for vm in json.loads(done.stdout)["vms"]}

    def assert_the_first_node_holds_the_pod(self):
        before = self.wrong_claims()
        eventually("both nodes have reported again", lambda: (
            self.wrong_claims() > before + 2))
        self.assertEqual(self.pods(), {("node-a", POD), ("node-b", OTHER)})
        self.assertEqual([vm["pod_uid"] for vm in
                          self.aggregator.node("node-b")["vms"]], [OTHER])
        text = self.aggregator.get("/metrics")[2]
        self.assertIn(f'node="node-a",pod_uid="{POD}"', text)
        self.assertNotIn(f'node="node-b",pod_uid="{POD}"', text)
        record = eventually("the use of both pods is recorded", lambda: (
            r := self.export()) and all(r.values()) and r)
        self.assertEqual(set(record), {(POD,), (OTHER,)})
        # A busy machine plays one core unevenly, and never more than node-a
        # has.
        for cores in record[POD,]:
            self.assertLessEqual(cores, CORES)

    def test_another_nodes_claim_to_a_pod_counts_nowhere(self):
        self.assert_the_first_node_holds_the_pod()
        self.aggregator.wait_log(
            '"a node reports a pod of another node" node="node-b" '
            f'pod_uid="{POD}" pod_node="node-a"')

    def test_the_pod_is_still_held_after_a_restart(self):
        # node-b alone reports to the new process.
        agents = {p.name: p for p in self.folder.programs}
        agents["agent-node-a"].stop()
        self.aggregator.kill()
        self.aggregator.start()
        eventually("node-b reports", lambda: self.wrong_claims() > 2)
        self.assertEqual(self.pods(), {("node-a", POD), ("node-b", OTHER)})
        agents["agent-node-a"].start()
        self.assert_the_first_node_holds_the_pod()


class NoStatement(unittest.TestCase):
    def test_without_an_answer_of_the_api_server_no_node_holds_a_pod(self):
        """Both nodes' figures wait for the statement of the pod's node."""
        folder = Folder()
        self.addCleanup(folder.close)
        aggregator = folder.add(Aggregator(
            folder.path, "aggregator", "--kubeconfig",
            kubeconfig(folder.path))).start()
        for name in ("node-a", "node-b"):
            machine = Machine(folder.path / name)
            self.addCleanup(machine.close)
            machine.run_pod(POD)
            folder.add(agent(folder.path, name, [aggregator.url],
                             *machine.agent_flags())).start()
        eventually("both nodes are shown", lambda: (
            {(vm["node"], vm["pod_uid"], vm.get("name"))
             for vm in aggregator.json("/v1/vms")["vms"]}
            == {("node-a", POD, None), ("node-b", POD, None)}))
        self.assertEqual(WRONG.search(aggregator.get("/metrics")[2])[1], "0")


if __name__ == "__main__":
    unittest.main()
