"""VMs have names: the aggregator watches the launcher pods of a real API
server, and works without names if it may not. A VM is what the node of its pod
reports, whatever other nodes report about the pod."""
import contextlib
import json
import pathlib
import sqlite3
import sys
import time
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))

from cluster import ClusterCase  # noqa: E402
from harness import (Aggregator, Driver, Machine, agent,  # noqa: E402
                     eventually, launcher)
from identity_test import Relay, World  # noqa: E402
from kube_api import path_of, token_kubeconfig  # noqa: E402
from wire_peer import WirePeer, report  # noqa: E402

# As in docs/security.md.
WATCHES_PODS = [{"apiGroups": [""], "resources": ["pods"],
                 "verbs": ["list", "watch"]}]

# So many more than one that no uneven second of a busy machine looks like it:
# a pod never uses more cores than its node has.
LIAR_CORES, LIARS_NODE = 400.0, 512


class VmNames(ClusterCase):
    @classmethod
    def setUpClass(cls):
        cls.begin()
        cls.world = World(cls)
        cls.world.make_account("watcher", WATCHES_PODS)
        cls.node, _ = cls.world.make_node()
        cls.other, _ = cls.world.make_node()
        # The second one is the machine of a node that claims others' pods.
        cls.machine = Machine(cls.folder.path / "m")
        cls.liar = Machine(cls.folder.path / "liar", LIARS_NODE)
        cls.driver = Driver([cls.machine, cls.liar]).start()
        cls.addClassCleanup(cls.machine.close)
        cls.addClassCleanup(cls.liar.close)
        cls.addClassCleanup(cls.driver.stop)

    def start(self, name, account, *flags, server=None):
        """An aggregator that watches pods as this account, and the node's
        agent. server: another URL of the API server."""
        kubeconfig = self.folder.path / f"{name}.kubeconfig"
        kubeconfig.write_text(token_kubeconfig(
            self.cluster.kubeconfig(), self.world.api_token(account), server))
        aggregator = self.folder.add(Aggregator(
            self.folder.path, name, "--kubeconfig", kubeconfig,
            *flags)).start()
        self.addCleanup(aggregator.kill)
        self.start_agent(aggregator, self.node, self.machine)
        return aggregator

    def start_agent(self, aggregator, node, machine):
        sender = self.folder.add(agent(
            self.folder.path, node, [aggregator.url],
            *machine.agent_flags()))
        sender.log_path = self.folder.path / f"{aggregator.name}-{node}.log"
        sender.start()
        self.addCleanup(sender.kill)

    def make_vm(self, name, **spec):
        pod = self.make(launcher(name, self.world.namespace,
                                 **(spec or {"nodeName": self.node})))
        self.run_pod(self.machine, pod, 1.0)
        return pod

    def run_pod(self, machine, pod, cores):
        uid = pod["metadata"]["uid"]
        with self.driver.lock:
            machine.run_pod(uid, cores=cores)
        self.addCleanup(self.end_pod, machine, uid)

    def end_pod(self, machine, uid):
        with self.driver.lock:
            machine.end_pod(uid)

    def test_vms_that_run_and_vms_that_start_have_names(self):
        before = self.make_vm("before")
        aggregator = self.start("names", "watcher")
        aggregator.wait_log("VM pod cache synced")
        after = self.make_vm("after")
        for name, pod in (("before", before), ("after", after)):
            path = f"/v1/vms/{self.world.namespace}/{name}"
            eventually(f"{name} is known",
                       lambda path=path: aggregator.get(path)[0] == 200)
            vm = aggregator.json(path)
            self.assertEqual(
                vm["pods"][0]["vmi_uid"],
                pod["metadata"]["labels"]["kubevirt.io/created-by"])
            self.assertEqual(vm["pods"][0]["pod_uid"], pod["metadata"]["uid"])
            self.assertEqual(vm["pods"][0]["node"], self.node)
        self.assertEqual({"before", "after"}, {
            vm["name"] for vm in aggregator.json("/v1/vms")["vms"]})

        def named():
            return {(vm.get("namespace"), vm.get("name"))
                    for vm in aggregator.node(self.node)["vms"]} == {
                        (self.world.namespace, "before"),
                        (self.world.namespace, "after")}
        eventually("/v1/nodes has the names", named)
        self.assertIn(f'namespace="{self.world.namespace}",name="after"',
                      aggregator.get("/metrics")[2])

    def test_without_the_right_vms_have_uids_and_the_log_says_why(self):
        pod = self.make_vm("unseen")
        aggregator = self.start("blind", "stranger")
        aggregator.wait_log(
            'cannot watch VM pods: new VMs have no names.*why="[^"]*forbidden')
        uid = pod["metadata"]["uid"]
        eventually("the VM is there by its uid", lambda: [
            vm for vm in aggregator.json("/v1/vms")["vms"]
            if vm["pod_uid"] == uid and "name" not in vm])
        status, _, text = aggregator.get(
            f"/v1/vms/{self.world.namespace}/unseen")
        self.assertEqual(status, 404)
        self.assertIn("no VM", json.loads(text)["error"])

    def shown(self, aggregator, pod):
        """{node: (name or None, used cores)} of the pod in /v1/vms."""
        return {vm["node"]: (vm.get("name"), vm.get("used_cores"))
                for vm in aggregator.json("/v1/vms")["vms"]
                if vm["pod_uid"] == pod["metadata"]["uid"]}

    def recorded(self, aggregator, path):
        """The largest figures of the VM's profile and history; None while the
        VM has none."""
        status, _, text = aggregator.get(path)
        profile = json.loads(text).get("profile") if status == 200 else None
        status, _, text = aggregator.get(
            f"{path}/history?step=1s&fields=used_cores_max")
        rows = json.loads(text)["rows"] if status == 200 else []
        known = [cores for _, cores in rows if cores is not None]
        if profile is None or profile["covered_s"] < 3 or len(known) < 3:
            return None
        return profile["max_cores"], max(known)

    def assert_no_figures_of_the_liar(self, aggregator, path):
        profiled, recorded = eventually(
            "the VM has a profile and a history",
            lambda: self.recorded(aggregator, path))
        self.assertLess(profiled, LIAR_CORES / 4)
        self.assertLess(recorded, LIAR_CORES / 4)

    def test_another_nodes_claim_to_a_pod_adds_nothing_to_the_vm(self):
        """The other node reports the pod first, with many cores, and goes on
        after the pod and the first process of the aggregator have ended."""
        pod = self.make(launcher("claimed", self.world.namespace,
                                 nodeName=self.node))
        path = f"/v1/vms/{self.world.namespace}/claimed"
        self.run_pod(self.liar, pod, LIAR_CORES)
        aggregator = self.start("claims", "watcher")
        aggregator.wait_log("VM pod cache synced")
        self.start_agent(aggregator, self.other, self.liar)
        eventually("the claim is shown", lambda: self.shown(
            aggregator, pod).get(self.other, (None, None))[1])
        self.run_pod(self.machine, pod, 1.0)
        shown = eventually("both nodes are shown", lambda: (
            both := self.shown(aggregator, pod)) and len(both) == 2 and
            (both[self.other][1] or 0) > LIAR_CORES / 2 and both)
        self.assertEqual({node: name for node, (name, _) in shown.items()},
                         {self.node: "claimed", self.other: None})
        self.assertEqual([vm["node"] for vm in
                          aggregator.json(path)["pods"]], [self.node])
        text = aggregator.get("/metrics")[2]
        self.assertNotRegex(text, f'node="{self.other}"[^}}]*name="claimed"')
        self.assertRegex(text, f'node="{self.node}"[^}}]*name="claimed"')
        aggregator.wait_log(
            '"a node reports a pod of another node" '
            f'node="{self.other}" pod_uid="{pod["metadata"]["uid"]}" '
            f'pod_node="{self.node}"')
        self.assert_no_figures_of_the_liar(aggregator, path)
        self.kube.remove(pod)
        eventually("the VM has ended", lambda: not aggregator.json(
            path)["pods"])
        self.assertEqual(aggregator.stop(), 0)
        aggregator.start()
        eventually("the claim is shown again", lambda: self.shown(
            aggregator, pod).get(self.other, (None, None))[1])
        self.assert_no_figures_of_the_liar(aggregator, path)

    def test_a_history_waits_for_the_statement_of_the_pods_node(self):
        """The launcher pod is bound after both nodes have reported it."""
        pod = self.make_vm("waiting", scheduler="nobody")
        path = f"/v1/vms/{self.world.namespace}/waiting"
        self.run_pod(self.liar, pod, LIAR_CORES)
        aggregator = self.start("waits", "watcher")
        self.start_agent(aggregator, self.other, self.liar)
        for node in (self.node, self.other):
            eventually(f"{node} reports the pod", lambda node=node: (
                self.shown(aggregator, pod).get(node, (0, None))[1]))
        seen, seen_at = aggregator.json("/v1/vms")["rev"], time.time()
        eventually("both nodes report on", lambda: (
            aggregator.json("/v1/vms")["rev"] > seen + 8))
        self.assertEqual({name for name, _ in self.shown(
            aggregator, pod).values()}, {None})
        for route in (path, f"{path}/history"):
            self.assertEqual(aggregator.get(route)[0], 404)
        meta = pod["metadata"]
        self.kube.request("POST", path_of("Pod", meta["namespace"],
                                          meta["name"]) + "/binding", {
            "apiVersion": "v1", "kind": "Binding",
            "metadata": {"name": meta["name"]},
            "target": {"apiVersion": "v1", "kind": "Node",
                       "name": self.node}})
        self.assert_no_figures_of_the_liar(aggregator, path)
        rows = aggregator.json(f"{path}/history?step=1s&fields=used_cores"
                               )["rows"]
        first = min(start for start, cores in rows if cores is not None)
        self.assertLess(first, seen_at)

    def test_reports_of_the_past_do_not_rewrite_a_vms_past(self):
        """An agent dates reports about another node's pod three hours back,
        where they are rolled up at once."""
        pod = self.make_vm("past")
        uid = pod["metadata"]["uid"]
        aggregator = self.start("past", "watcher", "--compact-after", "1s")
        path = f"/v1/vms/{self.world.namespace}/past"
        eventually("the VM has a name",
                   lambda: aggregator.get(path)[0] == 200)
        peer = WirePeer(aggregator.url, self.other)
        self.addCleanup(peer.close)
        now_s, ago_s = 100000, 3 * 3600
        self.assertTrue(peer.send(now_s * 1000000, [
            report(i + 1, (now_s - ago_s + 2 * i) * 1000000,
                   {uid: int(2e6 * LIAR_CORES) * i}) for i in range(60)]))

        def rolled_up():
            with contextlib.closing(sqlite3.connect(aggregator.db)) as db:
                return db.execute(
                    "SELECT 1 FROM place JOIN node ON node.id = place.node"
                    " WHERE pod_uid = ? AND node.name = ?",
                    (uid, self.other)).fetchone()
        eventually("the reports are rolled up", rolled_up)
        self.assert_no_figures_of_the_liar(aggregator, path)
        rows = aggregator.json(
            f"{path}/history?step=1m&fields=used_cores_max"
            f"&from={time.time() - ago_s - 600:.0f}")["rows"]
        self.assertEqual([], [row for row in rows if row[1] is not None
                              and row[0] < time.time() - 3600])

    def test_names_stay_and_new_pods_wait_without_the_api_server(self):
        server = self.kube.server
        if server.hostname not in ("127.0.0.1", "localhost"):
            self.skipTest("the API server's certificate is not for us")
        relay = Relay((server.hostname, server.port))
        self.addCleanup(relay.cut)
        relay.mend()
        known = self.make_vm("known")
        aggregator = self.start(
            "cut", "watcher",
            server=f"https://{server.hostname}:{relay.port}")
        path = f"/v1/vms/{self.world.namespace}"
        eventually("the VM has a name",
                   lambda: aggregator.get(f"{path}/known")[0] == 200)
        relay.cut()
        unknown = self.make_vm("unknown")
        aggregator.wait_log("cannot watch VM pods: new VMs have no names")
        self.assertEqual(self.shown(aggregator, known)[self.node][0], "known")
        self.assertIsNone(self.shown(aggregator, unknown)[self.node][0])
        self.assertEqual(aggregator.get(f"{path}/unknown/history")[0], 404)
        relay.mend()
        eventually("the other VM has a name", lambda: (
            self.recorded(aggregator, f"{path}/unknown")))


if __name__ == "__main__":
    unittest.main()
