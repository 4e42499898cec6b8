"""The stock kube-scheduler with plimsoll as its extender, over TLS: VMs go by
real load, and still go somewhere when plimsoll knows nothing or is gone."""
import json
import pathlib
import socket
import ssl
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))

from cluster import Cluster  # noqa: E402
from harness import (BIN, Aggregator, Driver, Folder, Machine,  # noqa: E402
                     Program, agent, eventually, http_get, launcher,
                     reserving, worker)
from secure import certs  # noqa: E402

NODES = ("node-idle", "node-busy", "node-broken")
LEASES = "/apis/coordination.k8s.io/v1/namespaces/default/leases"


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def scheduler_config(url, authority):
    """As docs/extender.md has it."""
    return {
        "apiVersion": "kubescheduler.config.k8s.io/v1",
        "kind": "KubeSchedulerConfiguration",
        "extenders": [{
            "urlPrefix": f"{url}/extender", "filterVerb": "filter",
            "prioritizeVerb": "prioritize", "weight": 6,
            "nodeCacheCapable": True, "enableHTTPS": True,
            "tlsConfig": {"caFile": str(authority)}, "httpTimeout": "1s",
            "ignorable": True, "managedResources": [{
                "name": "devices.kubevirt.io/kvm",
                "ignoredByScheduler": False}]}]}


class Extender(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = Folder()
        cls.addClassCleanup(cls.folder.close)
        cls.keys = cls.folder.path / "keys"
        certs("new", cls.keys)
        cls.port = free_port()
        cls.url = f"https://localhost:{cls.port}"
        config = cls.folder.path / "config.yaml"
        config.write_text(json.dumps(scheduler_config(
            cls.url, cls.keys / "servers-ca.crt")))
        cls.cluster = Cluster("--with", "controller-manager,scheduler",
                              "--scheduler-config", str(config))
        cls.addClassCleanup(cls.cluster.close)
        cls.cluster.await_ready()
        cls.kube = cls.cluster.kube()
        for name in NODES:
            cls.kube.create(worker(name))
        for name in NODES:
            cls.kube.await_node(name)
        cls.kube.await_account("default")
        # By requests the busy node looks best.
        for i in range(2):
            cls.kube.create(reserving(f"old-{i}", "node-idle"))
        cls.hold_lease()
        cls.start_plimsoll()

    @classmethod
    def hold_lease(cls):
        """Somebody else leads: the extender has no need to."""
        cls.kube.request("POST", LEASES, {
            "apiVersion": "coordination.k8s.io/v1", "kind": "Lease",
            "metadata": {"name": "plimsoll-scheduler",
                         "namespace": "default"},
            "spec": {"holderIdentity": "somebody",
                     "leaseDurationSeconds": 3600}})

    @classmethod
    def start_plimsoll(cls):
        path = cls.folder.path
        cls.aggregator = cls.folder.add(Aggregator(path)).start()
        machines = {}
        for name, busy, waiting in zip(NODES, (0.05, 0.97, 0.01),
                                       (0.0, 0.6, 0.0)):
            machines[name] = Machine(path / name)
            machines[name].busy, machines[name].waiting = busy, waiting
        driver = Driver(machines.values()).start()
        cls.addClassCleanup(driver.stop)
        for name, machine in machines.items():
            flags = machine.agent_flags()
            if name == "node-broken":  # there is no /dev/kvm
                flags[flags.index("--kvm-probe") + 1] = "stat"
            cls.folder.add(agent(path, name, [cls.aggregator.url],
                                 *flags)).start()
        eventually("all nodes report their load", lambda: all(
            (cls.aggregator.node(n) or {}).get("cpu", {}).get(
                "used_cores_10s") is not None for n in NODES))
        cls.scheduler = cls.folder.add(Program(path, "scheduler", [
            BIN / "plimsoll-scheduler", "--kubeconfig",
            cls.cluster.kubeconfig(), "--aggregator", cls.aggregator.url,
            "--http", f"127.0.0.1:{cls.port}",
            "--http-tls-cert", cls.keys / "aggregator.crt",
            "--http-tls-key", cls.keys / "aggregator.key"])).start()
        cls.scheduler.wait_log("load is coming in")
        cls.scheduler.wait_log("the cluster is known")

    def place(self, name, **spec):
        pod = self.kube.create(launcher(name, scheduler="default-scheduler",
                                        **spec))
        self.addCleanup(self.kube.delete_pod, pod)
        return pod, eventually(f"{name} is bound",
                               lambda: self.kube.node_of(pod))

    def count(self, verb, outcome):
        trust = ssl.create_default_context(
            cafile=self.keys / "servers-ca.crt")
        _, _, text = http_get(f"{self.url}/metrics", trust=trust)
        name = "plimsoll_scheduler_extender_requests_total"
        series = f'{name}{{verb="{verb}",outcome="{outcome}"}} '
        return int(next(line for line in text.splitlines()
                        if line.startswith(series)).rpartition(" ")[2])

    def test_1_vms_go_to_the_idle_node(self):
        for i in range(3):
            self.assertEqual(self.place(f"real-{i}")[1], "node-idle")
        self.assertGreaterEqual(self.count("prioritize", "judged"), 3)
        self.assertGreaterEqual(self.count("filter", "judged"), 3)
        self.assertNotIn('"pod bound"', self.scheduler.log())
        self.assertNotIn('"this scheduler leads"', self.scheduler.log())

    def test_2_a_node_without_kvm_is_left_out_and_the_pod_says_so(self):
        pod = self.kube.create(launcher(
            "pinned", scheduler="default-scheduler", nodeSelector={
                "kubernetes.io/hostname": "node-broken"}))
        self.addCleanup(self.kube.delete_pod, pod)
        eventually("it is told", lambda: (
            "1 node(s) cannot start VMs: KVM missing"
            in (self.kube.condition(pod) or {}).get("message", "")))
        self.assertIsNone(self.kube.node_of(pod))

    def test_3_without_the_aggregator_vms_are_placed(self):
        self.assertEqual(self.aggregator.stop(), 0)
        self.assertIn(self.place("blind")[1], NODES)

    def test_4_without_plimsoll_vms_are_placed_by_requests(self):
        self.assertEqual(self.scheduler.stop(), 0)
        self.assertIn(self.place("alone")[1], ("node-busy", "node-broken"))


if __name__ == "__main__":
    unittest.main()
