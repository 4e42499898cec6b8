"""VMs have names: the aggregator watches the launcher pods of a real API
server, and works without names if it may not."""
import json
import pathlib
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))

from cluster import ClusterCase  # noqa: E402
from harness import (Aggregator, Driver, Machine, agent,  # noqa: E402
                     eventually, launcher)
from identity_test import World  # noqa: E402
from kube_api import token_kubeconfig  # noqa: E402

# As in docs/security.md.
WATCHES_PODS = [{"apiGroups": [""], "resources": ["pods"],
                 "verbs": ["list", "watch"]}]


class VmNames(ClusterCase):
    @classmethod
    def setUpClass(cls):
        cls.begin()
        cls.world = World(cls)
        cls.world.make_account("watcher", WATCHES_PODS)
        cls.node, _ = cls.world.make_node()
        cls.machine = Machine(cls.folder.path / "m")
        cls.addClassCleanup(cls.machine.close)
        cls.driver = Driver([cls.machine]).start()
        cls.addClassCleanup(cls.driver.stop)

    def start(self, name, account):
        """An aggregator that watches pods as this account, and an agent."""
        kubeconfig = self.folder.path / f"{name}.kubeconfig"
        kubeconfig.write_text(token_kubeconfig(
            self.cluster.kubeconfig(), self.world.api_token(account)))
        aggregator = self.folder.add(Aggregator(
            self.folder.path, name, "--kubeconfig", kubeconfig)).start()
        self.addCleanup(aggregator.kill)
        sender = self.folder.add(agent(
            self.folder.path, f"{name}-node", [aggregator.url],
            *self.machine.agent_flags())).start()
        self.addCleanup(sender.kill)
        return aggregator

    def make_vm(self, name):
        pod = self.make(launcher(name, self.world.namespace,
                                 nodeName=self.node))
        uid = pod["metadata"]["uid"]
        with self.driver.lock:
            self.machine.run_pod(uid, cores=1.0)
        self.addCleanup(self.end_pod, uid)
        return pod

    def end_pod(self, uid):
        with self.driver.lock:
            self.machine.end_pod(uid)

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
            self.assertEqual(vm["pods"][0]["node"], "names-node")
        self.assertEqual({"before", "after"}, {
            vm["name"] for vm in aggregator.json("/v1/vms")["vms"]})

        def named():
            return {(vm.get("namespace"), vm.get("name"))
                    for vm in aggregator.node("names-node")["vms"]} == {
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


if __name__ == "__main__":
    unittest.main()
