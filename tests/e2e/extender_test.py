"""A stock kube-scheduler with plimsoll as its extender, over TLS: VMs go by
real load, and are still placed when plimsoll has no load data or is gone."""
import json
import pathlib
import ssl
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))

from cluster import ClusterCase  # noqa: E402
from harness import (Program, eventually, http_get,  # noqa: E402
                     launcher, reserving)
from kube_api import KUBECLUSTER  # noqa: E402
from ports import free_port  # noqa: E402
from secure import certs  # noqa: E402

LOADS = {"node-idle": (0.05, 0.0), "node-busy": (0.97, 0.6),
         "node-broken": (0.01, 0.0)}
EXTENDED = "extended-scheduler"


def scheduler_config(kubeconfig, url, authority):
    """The extender is configured as in docs/extender.md, but for the time:
    kube-scheduler does without an answer that takes longer."""
    return {
        "apiVersion": "kubescheduler.config.k8s.io/v1",
        "kind": "KubeSchedulerConfiguration",
        "clientConnection": {"kubeconfig": str(kubeconfig)},
        "leaderElection": {"leaderElect": False},
        "profiles": [{"schedulerName": EXTENDED}],
        "extenders": [{
            "urlPrefix": f"{url}/extender", "filterVerb": "filter",
            "prioritizeVerb": "prioritize", "weight": 6,
            "nodeCacheCapable": True, "enableHTTPS": True,
            "tlsConfig": {"caFile": str(authority)}, "httpTimeout": "60s",
            "ignorable": True, "managedResources": [{
                "name": "devices.kubevirt.io/kvm",
                "ignoredByScheduler": False}]}]}


class Extender(ClusterCase):
    @classmethod
    def setUpClass(cls):
        cls.begin(is_local=True)
        cls.keys = cls.folder.path / "keys"
        certs("new", cls.keys)
        port = free_port()
        cls.url = f"https://localhost:{port}"
        cls.start_kube_scheduler()
        cls.make_nodes(LOADS)
        # By requests the busy node looks best.
        for i in range(2):
            cls.make_for_class(reserving(f"old-{i}", "node-idle"))
        cls.hold_lease()
        cls.start_load(LOADS, agent_flags={
            "node-broken": ["--kvm-probe", "stat"]})  # there is no /dev/kvm
        cls.program = cls.scheduler(
            "--aggregator", cls.aggregator.url,
            "--http", f"127.0.0.1:{port}",
            "--http-tls-cert", cls.keys / "aggregator.crt",
            "--http-tls-key", cls.keys / "aggregator.key")

    @classmethod
    def start_kube_scheduler(cls):
        config = cls.folder.path / "config.yaml"
        config.write_text(json.dumps(scheduler_config(
            cls.cluster.dir / "kube-scheduler.kubeconfig", cls.url,
            cls.keys / "servers-ca.crt")))
        cls.folder.add(Program(cls.folder.path, "kube-scheduler", [
            KUBECLUSTER, "kube-scheduler", "--config", config,
            "--secure-port", "0"])).start()

    @classmethod
    def hold_lease(cls):
        """Another process leads: the extender works without the Lease."""
        cls.make_for_class({
            "apiVersion": "coordination.k8s.io/v1", "kind": "Lease",
            "metadata": {"name": "plimsoll-scheduler",
                         "namespace": "default"},
            "spec": {"holderIdentity": "another",
                     "leaseDurationSeconds": 3600}})

    def setUp(self):
        """Starts what another test has stopped."""
        if not self.aggregator.running():
            self.aggregator.start()
            self.await_load()
            self.program.stop()
        if not self.program.running():
            self.program.log_path.unlink(missing_ok=True)
            self.program.start()
        self.program.wait_log("receiving load")
        self.program.wait_log("caches synced")

    def place(self, name):
        pod = self.make(launcher(name, scheduler=EXTENDED))
        return self.bound(pod)

    def count(self, verb, outcome):
        trust = ssl.create_default_context(
            cafile=self.keys / "servers-ca.crt")
        _, _, text = http_get(f"{self.url}/metrics", trust=trust)
        name = "plimsoll_scheduler_extender_requests_total"
        series = f'{name}{{verb="{verb}",outcome="{outcome}"}} '
        return int(next(line for line in text.splitlines()
                        if line.startswith(series)).rpartition(" ")[2])

    def test_vms_go_to_the_idle_node(self):
        before = {verb: self.count(verb, "judged")
                  for verb in ("filter", "prioritize")}
        for i in range(3):
            self.assertEqual(self.place(f"real-{i}"), "node-idle")
        for verb, count in before.items():
            self.assertGreaterEqual(self.count(verb, "judged"), count + 3)
        self.assertNotIn('"pod bound"', self.program.log())
        self.assertNotIn('"became leader"', self.program.log())

    def test_a_node_without_kvm_is_left_out_and_the_pod_says_so(self):
        pod = self.make(launcher("pinned", scheduler=EXTENDED, nodeSelector={
            "kubernetes.io/hostname": "node-broken"}))
        eventually("the condition says so", lambda: (
            "1 node(s) cannot start VMs: KVM missing"
            in (self.kube.condition(pod) or {}).get("message", "")))
        self.assertIsNone(self.kube.node_of(pod))

    def test_vms_are_placed_without_the_aggregator(self):
        self.assertEqual(self.aggregator.stop(), 0)
        self.assertIn(self.place("blind"), LOADS)

    def test_vms_are_placed_by_requests_without_plimsoll(self):
        self.assertEqual(self.program.stop(), 0)
        self.assertIn(self.place("alone"), ("node-busy", "node-broken"))


if __name__ == "__main__":
    unittest.main()
