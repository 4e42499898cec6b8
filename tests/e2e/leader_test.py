"""Two replicas of the scheduler: one leads, and when the leader ends, however
it does, the other takes over; no pod is bound twice, none is left behind."""
import pathlib
import signal
import sys
import threading
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))

from cluster import ClusterCase  # noqa: E402
from fault_proxy import (FaultProxy, answer, begin, chunk,  # noqa: E402
                         is_binding)
from harness import PATIENCE_S, eventually, launcher  # noqa: E402
from kube_api import path_of  # noqa: E402
from secure import certs  # noqa: E402

PODS = 40
LEASES = path_of("Lease", "default")
VOLUMES = path_of("PersistentVolume")
LEADS = '"became leader"'
LOST = '"lost leader election"'
KEPT = '"cannot give the lease back, it expires"'


class Leader(ClusterCase):
    """Each scenario has two replicas with a name and a Lease of their own."""

    @classmethod
    def setUpClass(cls):
        cls.begin(is_local=True)
        cls.make_nodes(("node-a", "node-b"), 64, "256Gi")

    def start_replicas(self, name, kubeconfig=None):
        """Starts two replicas of a scheduler; the first one leads.
        kubeconfig: of the first one."""
        first = self.scheduler(name=name, kubeconfig=kubeconfig).start()
        self.addCleanup(first.kill)
        first.wait_log(LEADS)
        second = self.scheduler(name=name).start()
        self.addCleanup(second.kill)
        second.wait_log('"caches synced"')
        return first, second

    def lease(self, name):
        return self.kube.get(f"{LEASES}/{name}")["spec"]

    def leads(self, name, replica):
        holder = self.lease(name)["holderIdentity"]
        return holder != "" and f'identity="{holder}"' in replica.log()

    def test_one_leads_and_the_other_binds_nothing(self):
        first, second = self.start_replicas("both")
        self.assert_bound_once(self.make_burst("both", PODS, "both"))

        def binds(replica):
            return replica.log().count('"pod bound"')
        # A binding is logged when the API server's answer has come.
        eventually("the replicas have bound all",
                   lambda: binds(first) + binds(second) == PODS)
        # A leader that a busy machine holds up for too long leads no longer.
        if self.lease("both")["leaseTransitions"] == 0:
            self.assertEqual(binds(second), 0)
        self.assertEqual(self.lease("both")["leaseDurationSeconds"], 15)

    def test_the_other_takes_over_however_a_leader_ends(self):
        self.side_by_side({
            "a leader that stops gives the lease back": self.stop,
            "the other takes over from a leader that is killed": self.kill,
            "a leader that was suspended binds nothing afterwards":
                self.suspend,
            "a lease lost between volume and binding stops the binding":
                self.lose_the_lease})

    def stop(self):
        first, second = self.start_replicas("stops")
        pods = self.make_burst("stops", PODS, "stops")
        self.assertEqual(first.stop(), 0)
        # A busy machine may not answer in the time that a stop has.
        if KEPT not in first.log():
            self.assertFalse(self.leads("stops", first))
        eventually("the other leads", lambda: self.leads("stops", second))
        self.assert_bound_once(pods)

    def kill(self):
        first, _ = self.start_replicas("killed")
        pods = self.make_burst("killed", PODS // 2, "killed")
        first.kill()
        pods += self.make_burst("killed-late", PODS // 2, "killed")
        # The audit log may lack a binding whose sender was killed.
        self.assert_bound_once(pods, at_least=0)
        self.assertEqual(self.lease("killed")["leaseTransitions"], 1)

    def suspend(self):
        first, second = self.start_replicas("suspended")
        self.assertTrue(self.leads("suspended", first))
        first.process.send_signal(signal.SIGSTOP)
        pods = self.make_burst("suspended", PODS, "suspended")
        self.assert_bound_once(pods)
        self.assertTrue(self.leads("suspended", second))
        first.process.send_signal(signal.SIGCONT)
        first.wait_log(LOST)
        pods += self.make_burst("resumed", PODS, "suspended")
        self.assert_bound_once(pods)

    def begin_proxy(self):
        keys = self.folder.path / "keys"
        certs("new", keys)
        proxy = FaultProxy(self.kube, keys, self.folder.path)
        self.addCleanup(proxy.close)
        return proxy

    def make_disk(self):
        """A volume on node-a, and a claim that waits for its consumer."""
        self.make({
            "apiVersion": "storage.k8s.io/v1", "kind": "StorageClass",
            "metadata": {"name": "local"},
            "provisioner": "kubernetes.io/no-provisioner",
            "volumeBindingMode": "WaitForFirstConsumer"})
        common = {"accessModes": ["ReadWriteOnce"],
                  "storageClassName": "local"}
        self.make({
            "apiVersion": "v1", "kind": "PersistentVolume",
            "metadata": {"name": "disk"}, "spec": {
                **common, "capacity": {"storage": "1Gi"},
                "local": {"path": "/disks/1"},
                "nodeAffinity": {"required": {"nodeSelectorTerms": [{
                    "matchExpressions": [{
                        "key": "kubernetes.io/hostname", "operator": "In",
                        "values": ["node-a"]}]}]}}}})
        self.make({
            "apiVersion": "v1", "kind": "PersistentVolumeClaim",
            "metadata": {"name": "disk", "namespace": "default"}, "spec": {
                **common, "resources": {"requests": {"storage": "1Gi"}}}})

    def lose_the_lease(self):
        """The leader cannot renew its Lease while it waits for the answer
        that the volume has its claim."""
        proxy = self.begin_proxy()
        first, second = self.start_replicas("midway", proxy.kubeconfig)
        held, released = threading.Event(), threading.Event()

        def hold(handler, _forward):
            done = proxy.upstream(handler)
            text = done.read()
            held.set()
            released.wait(PATIENCE_S)
            begin(handler, done.status)
            chunk(handler, text)
            handler.wfile.write(b"0\r\n\r\n")
        self.addCleanup(released.set)
        proxy.add(lambda handler: handler.command == "PATCH"
                  and handler.path.startswith(VOLUMES), hold)
        sent = proxy.add(is_binding, lambda _handler, forward: forward(),
                         10 ** 6)
        self.make_disk()
        pod = launcher("midway", memory="1Gi", scheduler="midway")
        pod["spec"]["volumes"].append(
            {"name": "disk", "persistentVolumeClaim": {"claimName": "disk"}})
        pod = self.make(pod)
        self.assertTrue(held.wait(PATIENCE_S), "the volume gets its claim")
        proxy.add(lambda handler: LEASES in handler.path, answer(503),
                  10 ** 6)
        first.wait_log(LOST)
        self.assertIsNone(self.kube.node_of(pod))
        released.set()
        self.assert_bound_once([pod])
        self.assertEqual(self.kube.node_of(pod), "node-a")
        self.assertEqual(sent.met, 0, "the old leader binds nothing")
        self.assertTrue(self.leads("midway", second))


if __name__ == "__main__":
    unittest.main()
