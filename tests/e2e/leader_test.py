"""Two replicas of the scheduler: one leads, and whatever ends it, the other
goes on; no pod is bound twice, none is left behind."""
import pathlib
import signal
import sys
import threading
import time
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))

from cluster import ClusterCase, accepted_bindings  # noqa: E402
from fault_proxy import (FaultProxy, answer, begin, chunk,  # noqa: E402
                         is_binding)
from harness import BIN, Program, eventually, launcher  # noqa: E402
from secure import certs  # noqa: E402

PODS = 40
LEASES = "/apis/coordination.k8s.io/v1/namespaces/default/leases"
LEASE = f"{LEASES}/plimsoll-scheduler"
# A lease lasts 15 s after its holder was heard last, and is asked for every 2.
TAKEN_OVER_S = 15 + 2 + 3
GIVEN_BACK_S = 2 + 3
GIVEN_UP_S = 10 + 2
LIMIT_S = 20
CLASSES = "/apis/storage.k8s.io/v1/storageclasses"
VOLUMES = "/api/v1/persistentvolumes"
CLAIMS = "/api/v1/namespaces/default/persistentvolumeclaims"


class Leader(ClusterCase):
    @classmethod
    def setUpClass(cls):
        cls.begin_audited(("node-a", "node-b"))
        cls.replicas = [cls.folder.add(Program(cls.folder.path, name, [
            BIN / "plimsoll-scheduler", "--kubeconfig",
            cls.cluster.kubeconfig(), "--http", "127.0.0.1:0"]))
            for name in ("one", "two")]
        cls.replicas[0].start()
        cls.replicas[0].wait_log('"this scheduler leads"')
        cls.replicas[1].start()
        cls.replicas[1].wait_log('"the cluster is known"')

    def create_burst(self, prefix, pods=PODS):
        return [self.kube.create(launcher(f"{prefix}-{i}", memory="1Gi"))
                for i in range(pods)]

    def restart(self, replica):
        known = '"the cluster is known"'
        before = replica.log().count(known)
        replica.start()
        eventually("the cluster is known again",
                   lambda: replica.log().count(known) > before)

    def lease(self):
        return self.kube.get(LEASE)["spec"]

    def leads(self, replica):
        holder = self.lease()["holderIdentity"]
        return holder != "" and f'identity="{holder}"' in replica.log()

    def assert_all_bound_once(self, pods, limit_s):
        until = time.monotonic() + limit_s
        for pod in pods:
            eventually(f"{pod['metadata']['name']} is bound",
                       lambda pod=pod: self.kube.node_of(pod),
                       max(1.0, until - time.monotonic()))
        # Of a binding whose sender was killed the log may say nothing.
        count = accepted_bindings(self.audit)
        self.assertEqual(
            {p["metadata"]["name"]: count[p["metadata"]["name"]]
             for p in pods if count[p["metadata"]["name"]] > 1}, {})

    def test_1_one_leads_and_the_other_binds_nothing(self):
        self.assert_all_bound_once(self.create_burst("both"), 30)
        self.assertEqual(self.replicas[0].log().count('"pod bound"'), PODS)
        self.assertEqual(self.replicas[1].log().count('"pod bound"'), 0)
        self.assertEqual(self.lease()["leaseDurationSeconds"], 15)

    def test_2_a_leader_killed_in_a_burst_is_followed_by_the_other(self):
        pods = self.create_burst("killed", PODS // 2)
        self.replicas[0].kill()
        pods += self.create_burst("late", PODS // 2)
        self.assert_all_bound_once(pods, TAKEN_OVER_S)
        self.assertEqual(self.lease()["leaseTransitions"], 1)

    def test_3_a_leader_that_is_stopped_gives_the_lease_back(self):
        self.restart(self.replicas[0])
        pods = self.create_burst("stopped")
        self.assertEqual(self.replicas[1].stop(5), 0)
        eventually("the other leads", lambda: self.leads(self.replicas[0]),
                   GIVEN_BACK_S)
        self.assert_all_bound_once(pods, 5)

    def test_4_a_leader_that_slept_binds_nothing_when_it_wakes(self):
        self.restart(self.replicas[1])
        self.assertTrue(self.leads(self.replicas[0]))
        self.replicas[0].process.send_signal(signal.SIGSTOP)
        self.addCleanup(self.replicas[0].process.send_signal,
                        signal.SIGCONT)
        pods = self.create_burst("slept")
        self.assert_all_bound_once(pods, TAKEN_OVER_S)
        self.assertTrue(self.leads(self.replicas[1]))
        self.replicas[0].process.send_signal(signal.SIGCONT)
        self.replicas[0].wait_log('"this scheduler leads no longer"')
        self.assert_all_bound_once(pods + self.create_burst("awake"), 30)

    def lead_through_a_proxy(self):
        """The first replica leads and has a proxy before the API server."""
        keys = self.folder.path / "keys"
        certs("new", keys)
        proxy = FaultProxy(self.kube, keys, self.folder.path)
        self.addCleanup(proxy.close)
        first, second = self.replicas
        first.stop()
        at = first.arguments.index("--kubeconfig")
        first.arguments[at + 1] = str(proxy.kubeconfig)
        self.restart(first)
        second.stop()
        eventually("the first one leads", lambda: self.leads(first),
                   TAKEN_OVER_S)
        self.restart(second)
        return proxy

    def create_disk(self):
        """A volume on node-a, and a claim that waits for its consumer."""
        self.kube.request("POST", CLASSES, {
            "apiVersion": "storage.k8s.io/v1", "kind": "StorageClass",
            "metadata": {"name": "local"},
            "provisioner": "kubernetes.io/no-provisioner",
            "volumeBindingMode": "WaitForFirstConsumer"})
        common = {"accessModes": ["ReadWriteOnce"],
                  "storageClassName": "local"}
        self.kube.request("POST", VOLUMES, {
            "apiVersion": "v1", "kind": "PersistentVolume",
            "metadata": {"name": "disk"}, "spec": {
                **common, "capacity": {"storage": "1Gi"},
                "local": {"path": "/disks/1"},
                "nodeAffinity": {"required": {"nodeSelectorTerms": [{
                    "matchExpressions": [{
                        "key": "kubernetes.io/hostname", "operator": "In",
                        "values": ["node-a"]}]}]}}}})
        self.kube.request("POST", CLAIMS, {
            "apiVersion": "v1", "kind": "PersistentVolumeClaim",
            "metadata": {"name": "disk"}, "spec": {
                **common, "resources": {"requests": {"storage": "1Gi"}}}})

    def test_5_the_lease_is_lost_between_the_volume_and_the_binding(self):
        proxy = self.lead_through_a_proxy()
        first, second = self.replicas
        held, released = threading.Event(), threading.Event()

        def hold(handler, _forward):
            done = proxy.upstream(handler)
            text = done.read()
            held.set()
            released.wait(2 * GIVEN_UP_S)
            begin(handler, done.status)
            chunk(handler, text)
            handler.wfile.write(b"0\r\n\r\n")
        self.addCleanup(released.set)
        proxy.add(lambda handler: handler.command == "PATCH"
                  and handler.path.startswith(VOLUMES), hold)
        sent = proxy.add(is_binding, lambda _handler, forward: forward(),
                         10 ** 6)
        self.create_disk()
        pod = launcher("midway", memory="1Gi")
        pod["spec"].setdefault("volumes", []).append(
            {"name": "disk", "persistentVolumeClaim": {"claimName": "disk"}})
        pod = self.kube.create(pod)
        self.assertTrue(held.wait(LIMIT_S), "the volume gets its claim")
        lost = first.log().count('"this scheduler leads no longer"')
        proxy.add(lambda handler: LEASES in handler.path, answer(503),
                  10 ** 6)
        eventually("the first one has given up", lambda: first.log().count(
            '"this scheduler leads no longer"') > lost, GIVEN_UP_S + 3)
        self.assertIsNone(self.kube.node_of(pod))
        released.set()
        self.assert_all_bound_once([pod], TAKEN_OVER_S)
        self.assertEqual(self.kube.node_of(pod), "node-a")
        self.assertEqual(sent.met, 0, "the old leader binds nothing")
        self.assertTrue(self.leads(second))
        self.assertEqual(accepted_bindings(self.audit)[
            pod["metadata"]["name"]], 1)


if __name__ == "__main__":
    unittest.main()
