"""The scheduler behind an API server in all kinds of trouble, and when what it
was told of is no longer so: every pod is bound exactly once, none is left
behind."""
import os
import pathlib
import shutil
import signal
import sys
import time
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))

from cluster import ClusterCase, accepted_bindings  # noqa: E402
from fault_proxy import (FaultProxy, answer, begin, chunk,  # noqa: E402
                         is_anything, is_binding, is_list, is_watch)
from harness import (BIN, Aggregator, Driver, Machine, Program,  # noqa: E402
                     agent, eventually, launcher)
from secure import certs  # noqa: E402

PODS = 6
LIMIT_S = 20
NODES = ("node-a", "node-b")
UNSERVED = "/apis/storage.k8s.io/v1/csistoragecapacities"


class Faulty(ClusterCase):
    @classmethod
    def setUpClass(cls):
        cls.begin_audited(NODES)

    @classmethod
    def start_scheduler(cls, kubeconfig, *flags):
        cls.scheduler = cls.folder.add(Program(cls.folder.path, "scheduler", [
            BIN / "plimsoll-scheduler", "--kubeconfig", kubeconfig,
            "--http", "127.0.0.1:0", *flags])).start()
        cls.scheduler.wait_log('"this scheduler leads"')
        cls.scheduler.wait_log('"the cluster is known"')

    def create_burst(self, prefix, pods=PODS):
        return [self.kube.create(launcher(f"{prefix}-{i}", memory="1Gi"))
                for i in range(pods)]

    def assert_all_bound_once(self, pods):
        until = time.monotonic() + LIMIT_S
        for pod in pods:
            eventually(f"{pod['metadata']['name']} is bound",
                       lambda pod=pod: self.kube.node_of(pod),
                       max(1.0, until - time.monotonic()))
        count = accepted_bindings(self.audit)
        self.assertEqual(
            {p["metadata"]["name"]: count[p["metadata"]["name"]]
             for p in pods if count[p["metadata"]["name"]] != 1}, {})


class Network(Faulty):
    """Answers that are not what they should be, and one kind of objects that
    is not served at all."""

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        keys = cls.folder.path / "keys"
        certs("new", keys)
        cls.proxy = FaultProxy(cls.kube, keys, cls.folder.path)
        cls.addClassCleanup(cls.proxy.close)
        cls.proxy.add(lambda handler: handler.path.startswith(UNSERVED),
                      answer(404, reason="NotFound"), 10 ** 6)
        cls.start_scheduler(cls.proxy.kubeconfig)

    def meet(self, is_met, act, times=1):
        fault = self.proxy.add(is_met, act, times)
        self.addCleanup(setattr, fault, "times", 0)
        return fault

    def assert_met(self, fault, times=1):
        eventually("the fault was met", lambda: fault.met >= times, LIMIT_S)

    def test_a_kind_that_is_not_served(self):
        self.scheduler.wait_log(
            f'"placing pods without knowing these objects" path="{UNSERVED}"')
        self.assert_all_bound_once(self.create_burst("unserved", 3))

    def test_a_watch_that_breaks_off_within_an_object(self):
        def half(piece):
            if b'"ADDED"' in piece:
                return piece[:len(piece) // 2], False
            return piece, True
        fault = self.meet(is_watch("pods"), lambda handler, _: (
            self.proxy.forward(handler, half)), 2)
        self.proxy.cut_streams()
        self.assert_met(fault)
        self.assert_all_bound_once(self.create_burst("cut"))

    def test_a_watch_of_something_else_than_json(self):
        def garbled(piece):
            return piece.replace(b'"ADDED"', b'"ADDED'), True
        fault = self.meet(is_watch("pods"), lambda handler, _: (
            self.proxy.forward(handler, garbled)), 2)
        self.proxy.cut_streams()
        self.assert_met(fault)
        self.assert_all_bound_once(self.create_burst("garbled"))

    def test_410_for_a_watch_and_for_the_list_after_it(self):
        watch = self.meet(is_watch("pods"), answer(410, reason="Expired"))
        listed = self.meet(is_list("pods"), answer(410, reason="Expired"))
        self.proxy.cut_streams()
        self.assert_all_bound_once(self.create_burst("gone"))
        self.assert_met(watch)
        self.assert_met(listed)

    def test_429_is_waited_for_as_long_as_it_says(self):
        fault = self.meet(is_binding, answer(429, retry_after="1"), 3)
        listed = self.meet(is_list("pods"), answer(429, retry_after="1"))
        again = self.meet(is_watch("pods"), answer(410, reason="Expired"))
        self.proxy.cut_streams()
        self.assert_all_bound_once(self.create_burst("throttled"))
        for met in (fault, listed, again):
            self.assert_met(met)

    def test_a_conflict_that_is_none(self):
        fault = self.meet(is_binding, answer(409, reason="Conflict"), 3)
        self.assert_all_bound_once(self.create_burst("conflict"))
        self.assert_met(fault, 3)

    def test_a_conflict_after_it_was_done(self):
        def act(handler, _forward):
            self.proxy.upstream(handler).read()
            answer(409, reason="Conflict")(handler, None)
        fault = self.meet(is_binding, act, 3)
        self.assert_all_bound_once(self.create_burst("done"))
        self.assert_met(fault, 3)

    def test_500_for_everything_for_a_while(self):
        fault = self.meet(is_anything, answer(500), 10 ** 6)
        pods = self.create_burst("trouble")
        self.proxy.cut_streams()
        self.assert_met(fault, 10)
        fault.times = 0
        self.assert_all_bound_once(pods)

    def test_a_list_that_never_ends(self):
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
        listed = self.meet(is_list("pods"), act)
        again = self.meet(is_watch("pods"), answer(410, reason="Expired"))
        self.proxy.cut_streams()
        self.assert_met(again)
        self.assert_met(listed)
        eventually("it hangs up", lambda: hung_up, LIMIT_S)
        self.assert_all_bound_once(self.create_burst("endless"))

    def test_a_list_of_broken_json(self):
        def act(handler, _forward):
            begin(handler, 200)
            chunk(handler, b'{"metadata":{"resourceVersion":"1"},"items":[{]}')
            handler.wfile.write(b"0\r\n\r\n")
        listed = self.meet(is_list("pods"), act)
        self.meet(is_watch("pods"), answer(410, reason="Expired"))
        self.proxy.cut_streams()
        self.assert_met(listed)
        self.assert_all_bound_once(self.create_burst("broken"))


class Load(Faulty):
    def test_vms_are_placed_while_the_aggregator_is_gone_and_say_so(self):
        aggregator = self.folder.add(Aggregator(self.folder.path)).start()
        machines = [Machine(self.folder.path / name) for name in NODES]
        machines[0].busy = 0.9
        driver = Driver(machines).start()
        self.addCleanup(driver.stop)
        for name, machine in zip(NODES, machines):
            self.folder.add(agent(self.folder.path, name, [aggregator.url],
                                  *machine.agent_flags())).start()
        eventually("both report", lambda: all(
            (aggregator.node(n) or {"cpu": {}})["cpu"].get("used_cores_10s")
            is not None for n in NODES))
        aggregator.kill()
        self.start_scheduler(self.cluster.kubeconfig(), "--aggregator",
                             aggregator.url)
        blind = self.create_burst("blind", 2)
        self.assert_all_bound_once(blind)
        self.assertIn("no load data, by requests", self.why(blind[0]))
        self.scheduler.wait_log("no load from the aggregator")
        aggregator.start()
        self.scheduler.wait_log('"load is coming in"')

        def by_load():
            pod = self.create_burst(f"seeing-{time.monotonic_ns()}", 1)[0]
            eventually("it is bound", lambda: self.kube.node_of(pod))
            return (self.kube.node_of(pod) == "node-b"
                    and "% CPU used" in self.why(pod))
        eventually("VMs go by load again", by_load, LIMIT_S, 1)

    def why(self, pod):
        return eventually("an event says why", lambda: next(
            (e["note"] for e in self.kube.events(pod)
             if e["reason"] == "Scheduled"), None))


class Restored(Faulty):
    def write_much(self):
        """So that the restored server's revisions stay below those that were
        seen."""
        for i in range(400):
            self.kube.request(
                "PATCH", "/api/v1/nodes/node-a",
                {"metadata": {"annotations": {"n": str(i)}}},
                "application/merge-patch+json")

    def test_etcd_that_was_restored_to_an_earlier_revision(self):
        self.start_scheduler(self.cluster.kubeconfig())
        self.assert_all_bound_once(self.create_burst("before"))
        data, old = self.cluster.dir / "etcd", self.cluster.dir / "old"
        etcd = self.cluster.state()["children"]["etcd"]["pid"]
        os.kill(etcd, signal.SIGSTOP)
        shutil.copytree(data, old)
        os.kill(etcd, signal.SIGCONT)
        self.write_much()
        lost = self.create_burst("lost")
        self.assert_all_bound_once(lost)
        data.rename(self.cluster.dir / "lost")
        old.rename(data)
        for child in ("etcd", "kube-apiserver"):
            done = self.cluster.run("kill", child, "--dir", self.cluster.dir)
            self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIsNone(self.kube.pod("default",
                                        lost[0]["metadata"]["name"]))
        self.assert_all_bound_once(self.create_burst("after"))


if __name__ == "__main__":
    unittest.main()
