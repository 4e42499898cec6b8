"""The scheduler when the API server dies under it: every pod is bound exactly
once, and none is left behind."""
import os
import pathlib
import signal
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))

from cluster import ClusterCase, accepted_bindings  # noqa: E402
from harness import BIN, Program, eventually, launcher  # noqa: E402

PODS = 60


class Faults(ClusterCase):
    @classmethod
    def setUpClass(cls):
        cls.begin_audited(("node-a", "node-b", "node-c"))
        cls.scheduler = cls.folder.add(Program(cls.folder.path, "scheduler", [
            BIN / "plimsoll-scheduler", "--kubeconfig",
            cls.cluster.kubeconfig(), "--http", "127.0.0.1:0"]))

    def create_burst(self, prefix):
        return [self.kube.create(launcher(f"{prefix}-{i}", memory="1Gi"))
                for i in range(PODS)]

    def assert_all_bound_once(self, pods):
        for pod in pods:
            eventually(f"{pod['metadata']['name']} is bound",
                       lambda pod=pod: self.kube.node_of(pod), 60)
        count = accepted_bindings(self.audit)
        self.assertEqual(
            {p["metadata"]["name"]: count[p["metadata"]["name"]]
             for p in pods if count[p["metadata"]["name"]] > 1}, {})

    def kill(self, child):
        done = self.cluster.run("kill", child, "--dir", self.cluster.dir)
        self.assertEqual(done.returncode, 0, done.stderr)

    def test_1_a_killed_api_server_costs_no_pod_its_node(self):
        pods = self.create_burst("api")
        self.scheduler.start()
        self.scheduler.wait_log('"pod bound"')
        self.kill("kube-apiserver")
        self.assert_all_bound_once(pods)

    def test_2_a_killed_etcd_costs_no_pod_its_node(self):
        pods = self.create_burst("etcd")
        self.kill("etcd")
        self.assert_all_bound_once(pods)

    def test_3_a_killed_scheduler_goes_on_where_it_was(self):
        pods = self.create_burst("scheduler")
        self.scheduler.kill()
        self.scheduler.start()
        self.assert_all_bound_once(pods)

    def test_4_it_stops_though_the_api_server_hangs_and_binds_nothing_twice(
            self):
        before = self.scheduler.log().count('"pod bound"')
        self.scheduler.process.send_signal(signal.SIGSTOP)
        pods = self.create_burst("hung")
        self.scheduler.process.send_signal(signal.SIGCONT)
        eventually("it binds", lambda: self.scheduler.log().count(
            '"pod bound"') > before, every=0.001)
        server = self.cluster.state()["children"]["kube-apiserver"]["pid"]
        os.kill(server, signal.SIGSTOP)
        try:
            self.assertEqual(self.scheduler.stop(5), 0)
        finally:
            os.kill(server, signal.SIGCONT)
        self.scheduler.start()
        self.assert_all_bound_once(pods)

    def test_5_it_stops_at_once_when_asked(self):
        self.assertEqual(self.scheduler.stop(5), 0)


if __name__ == "__main__":
    unittest.main()
