"""The scheduler behind an API server in all kinds of trouble, and when objects
that it knew are gone: every pod is bound exactly once, none is left behind."""
import os
import pathlib
import shutil
import signal
import sys
import time
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))

from cluster import ClusterCase  # noqa: E402
from fault_proxy import (FaultProxy, answer, begin, chunk,  # noqa: E402
                         is_anything, is_binding, is_list, is_read_of,
                         is_watch)
from harness import eventually  # noqa: E402
from kube_api import path_of  # noqa: E402
from secure import certs  # noqa: E402

PODS = 6
PLACES = 64  # bindings in flight
NODES = ("node-a", "node-b")
SIZE = (64, "256Gi")
UNSERVED = path_of("CSIStorageCapacity")
KNOWN = '"caches synced"'
# The scheduler also watches pods that have failed. That watch has no events
# here, so its backoff may be long; faults are not for it.
NOT_ENDED = "status.phase!=Succeeded,status.phase!=Failed"
WATCH, LIST = is_watch("pods", NOT_ENDED), is_list("pods", NOT_ENDED)


class Network(ClusterCase):
    """A proxy answers what the API server would not; by another proxy one
    resource is not served at all."""

    @classmethod
    def setUpClass(cls):
        cls.begin(is_local=True)
        cls.make_nodes(NODES, *SIZE)
        keys = cls.folder.path / "keys"
        certs("new", keys)
        cls.proxy, partial = cls.start_proxy(keys), cls.start_proxy(keys)
        partial.add(lambda handler: handler.path.startswith(UNSERVED),
                    answer(404, reason="NotFound"), 10 ** 6)
        cls.partial = cls.scheduler(
            name="partial", kubeconfig=partial.kubeconfig).start()
        cls.scheduler(kubeconfig=cls.proxy.kubeconfig).start().wait_log(KNOWN)

    @classmethod
    def start_proxy(cls, keys):
        proxy = FaultProxy(cls.kube, keys, cls.folder.path)
        cls.addClassCleanup(proxy.close)
        return proxy

    def burst(self, prefix, count=PODS):
        return self.make_burst(prefix, count)

    def assert_all_bound_once(self, pods):
        self.assert_bound_once(pods)

    def meet(self, is_met, act, times=1):
        fault = self.proxy.add(is_met, act, times)
        self.addCleanup(setattr, fault, "times", 0)
        return fault

    def assert_met(self, fault, times=1):
        eventually("the fault was met", lambda: fault.met >= times)

    def test_pods_are_bound_though_a_resource_is_not_served(self):
        self.partial.wait_log(
            f'"continuing without these objects" path="{UNSERVED}"')
        self.assert_all_bound_once(self.make_burst("unserved", 3, "partial"))

    def test_a_watch_that_ends_within_an_object_is_begun_again(self):
        def half(piece):
            if b'"ADDED"' in piece:
                return piece[:len(piece) // 2], False
            return piece, True
        fault = self.meet(WATCH, lambda handler, _: (
            self.proxy.forward(handler, half)), 2)
        self.proxy.cut_streams()
        self.assert_met(fault)
        self.assert_all_bound_once(self.burst("cut"))

    def test_a_watch_that_is_not_json_is_begun_again(self):
        def garbled(piece):
            return piece.replace(b'"ADDED"', b'"ADDED'), True
        fault = self.meet(WATCH, lambda handler, _: (
            self.proxy.forward(handler, garbled)), 2)
        self.proxy.cut_streams()
        self.assert_met(fault)
        self.assert_all_bound_once(self.burst("garbled"))

    def test_410_for_a_watch_and_for_its_list_is_followed_by_a_list(self):
        watch = self.meet(WATCH, answer(410, reason="Expired"))
        listed = self.meet(LIST, answer(410, reason="Expired"))
        self.proxy.cut_streams()
        self.assert_all_bound_once(self.burst("gone"))
        self.assert_met(watch)
        self.assert_met(listed)

    def test_429_is_repeated_after_the_wait_it_names(self):
        fault = self.meet(is_binding, answer(429, retry_after="1"), 3)
        listed = self.meet(LIST, answer(429, retry_after="1"))
        again = self.meet(WATCH, answer(410, reason="Expired"))
        self.proxy.cut_streams()
        self.assert_all_bound_once(self.burst("throttled"))
        for met in (fault, listed, again):
            self.assert_met(met)

    def test_a_conflict_for_a_pod_that_is_not_bound_is_repeated(self):
        fault = self.meet(is_binding, answer(409, reason="Conflict"), 3)
        self.assert_all_bound_once(self.burst("conflict"))
        self.assert_met(fault, 3)

    def test_a_conflict_for_a_pod_that_was_bound_is_no_error(self):
        def act(handler, _forward):
            self.proxy.upstream(handler).read()
            answer(409, reason="Conflict")(handler, None)
        fault = self.meet(is_binding, act, 3)
        self.assert_all_bound_once(self.burst("done"))
        self.assert_met(fault, 3)

    def test_pods_that_nobody_may_read_do_not_stop_placement(self):
        def bind_and_fail(handler, _forward):
            self.proxy.upstream(handler).read()
            answer(500)(handler, None)
        reads = self.meet(is_read_of("virt-launcher-unread"),
                          answer(403, reason="Forbidden"), 10 ** 6)
        lost = self.meet(is_binding, bind_and_fail, PLACES)
        pods = self.burst("unread", PLACES)
        self.assert_met(lost, PLACES)
        self.assert_all_bound_once(self.burst("readable"))
        self.assert_all_bound_once(pods)
        self.assert_met(reads, 3 * PLACES)
        # The watch showed them bound, and so the events say.
        self.event(pods[-1])

    def test_500_for_every_request_is_repeated(self):
        fault = self.meet(is_anything, answer(500), 10 ** 6)
        pods = self.burst("trouble")
        self.proxy.cut_streams()
        self.assert_met(fault, 10)
        fault.times = 0
        self.assert_all_bound_once(pods)

    def test_a_list_that_never_ends_is_given_up(self):
        hung_up = []

        def act(handler, _forward):
            begin(handler, 200)
            try:
                chunk(handler, b'{"items":[')
                while True:
                    chunk(handler, b" " * (1 << 20))
            except OSError:
                hung_up.append(True)
                raise
        listed = self.meet(LIST, act)
        again = self.meet(WATCH, answer(410, reason="Expired"))
        self.proxy.cut_streams()
        self.assert_met(again)
        self.assert_met(listed)
        eventually("the scheduler hangs up", lambda: hung_up)
        self.assert_all_bound_once(self.burst("endless"))

    def test_a_list_of_broken_json_is_repeated(self):
        def act(handler, _forward):
            begin(handler, 200)
            chunk(handler, b'{"metadata":{"resourceVersion":"1"},"items":[{]}')
            handler.wfile.write(b"0\r\n\r\n")
        listed = self.meet(LIST, act)
        self.meet(WATCH, answer(410, reason="Expired"))
        self.proxy.cut_streams()
        self.assert_met(listed)
        self.assert_all_bound_once(self.burst("broken"))


class Load(ClusterCase):
    @classmethod
    def setUpClass(cls):
        cls.begin(is_local=True)
        cls.make_nodes(NODES, *SIZE)
        cls.start_load({"node-a": (0.9, 0.0), "node-b": (0.0, 0.0)})

    def why(self, pod):
        return self.event(pod)["note"]

    def test_vms_are_placed_while_the_aggregator_is_gone_and_events_say_so(
            self):
        self.aggregator.kill()
        program = self.scheduler("--aggregator", self.aggregator.url).start()
        blind = self.make_burst("blind", 2)
        self.assert_bound_once(blind)
        self.assertIn("no load data, by requests", self.why(blind[0]))
        program.wait_log("no load from the aggregator")
        self.aggregator.start()
        program.wait_log('"receiving load"')

        def by_load():
            pod, = self.make_burst(f"seeing-{time.monotonic_ns()}", 1)
            return self.bound(pod) == "node-b" and (
                "% CPU used" in self.why(pod))
        eventually("VMs go by load again", by_load)


class Restored(ClusterCase):
    @classmethod
    def setUpClass(cls):
        cls.begin_alone("--with", "controller-manager")
        cls.make_nodes(NODES, *SIZE)

    def write_much(self):
        """So many writes that the revisions of the restored server stay below
        those that the scheduler has seen."""
        for i in range(400):
            self.kube.patch("/api/v1/nodes/node-a",
                            {"metadata": {"annotations": {"n": str(i)}}})

    def test_pods_are_bound_after_etcd_is_restored_to_an_earlier_revision(
            self):
        self.scheduler().start().wait_log(KNOWN)
        self.assert_bound_once(self.make_burst("before", PODS))
        data, old = self.cluster.dir / "etcd", self.cluster.dir / "old"
        etcd = self.cluster.state()["children"]["etcd"]["pid"]
        os.kill(etcd, signal.SIGSTOP)
        shutil.copytree(data, old)
        os.kill(etcd, signal.SIGCONT)
        self.write_much()
        lost = self.make_burst("lost", PODS)
        self.assert_bound_once(lost)
        data.rename(self.cluster.dir / "lost")
        old.rename(data)
        for child in ("etcd", "kube-apiserver"):
            done = self.cluster.run("kill", child, "--dir", self.cluster.dir)
            self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIsNone(self.kube.pod("default",
                                        lost[0]["metadata"]["name"]))
        self.assert_bound_once(self.make_burst("after", PODS))


if __name__ == "__main__":
    unittest.main()
