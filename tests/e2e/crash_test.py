"""The scheduler while the API server or etcd is killed, or is killed itself:
every pod is bound exactly once, and none is left behind."""
import os
import pathlib
import signal
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))

from cluster import ClusterCase  # noqa: E402
from harness import eventually, mark  # noqa: E402
from kube_api import path_of  # noqa: E402

PODS = 60
BOUND = '"pod bound"'


class Crash(ClusterCase):
    """Each test has a scheduler of its own, with its own Lease."""

    @classmethod
    def setUpClass(cls):
        cls.begin_alone("--with", "controller-manager")
        cls.make_nodes(("node-a", "node-b", "node-c"), 64, "256Gi")

    def setUp(self):
        self.name = self.own_name()
        self.program = self.scheduler(name=self.name)
        self.addCleanup(self.program.kill)

    def start(self):
        self.program.start().wait_log('"became leader"')

    def burst(self, prefix):
        return self.make_burst(prefix, PODS, self.name)

    def assert_all_bound_once(self, pods):
        """The audit log may lack a binding: the API server was killed."""
        self.assert_bound_once(pods, at_least=0)

    def kill(self, child):
        done = self.cluster.run("kill", child, "--dir", self.cluster.dir)
        self.assertEqual(done.returncode, 0, done.stderr)

    @mark(steady="a pod is bound once")
    def test_an_api_server_that_is_killed_costs_no_pod_its_node(self):
        pods = self.burst("api")
        self.program.start().wait_log(BOUND)
        self.kill("kube-apiserver")
        self.assert_all_bound_once(pods)

    def test_an_etcd_that_is_killed_costs_no_pod_its_node(self):
        self.start()
        pods = self.burst("etcd")
        self.kill("etcd")
        self.assert_all_bound_once(pods)

    @mark(steady="a pod is bound once")
    def test_a_scheduler_that_is_killed_continues_where_it_was(self):
        self.start()
        pods = self.burst("scheduler")
        self.program.kill()
        self.program.start()
        self.assert_all_bound_once(pods)

    def test_it_stops_while_the_api_server_hangs_and_binds_nothing_twice(self):
        self.start()
        self.program.process.send_signal(signal.SIGSTOP)
        pods = self.burst("hung")
        self.program.process.send_signal(signal.SIGCONT)
        eventually("it binds", lambda: BOUND in self.program.log(),
                   every=0.001)
        server = self.cluster.state()["children"]["kube-apiserver"]["pid"]
        os.kill(server, signal.SIGSTOP)
        try:
            self.assertEqual(self.program.stop(), 0)
        finally:
            os.kill(server, signal.SIGCONT)
        # It could not give its Lease back.
        self.kube.delete(path_of("Lease", "default", self.name))
        self.program.start()
        self.assert_all_bound_once(pods)

    def test_it_stops_when_asked(self):
        self.start()
        self.assertEqual(self.program.stop(), 0)


if __name__ == "__main__":
    unittest.main()
