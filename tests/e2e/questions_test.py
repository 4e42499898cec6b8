"""Questions that an aggregator passes on: the scheduler that leads says where a
pod or VM would go, and then sends it there."""
import json
import pathlib
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))

from api_case import GROUP, ApiCase  # noqa: E402
from cluster import ClusterCase  # noqa: E402
from harness import Aggregator, eventually, launcher, worker  # noqa: E402
from kube_api import Refused, path_of_object  # noqa: E402
from kubevirt_objects import (create_running_vmi,  # noqa: E402
                              serve_kubevirt_objects)
from question_peer import Answer, QuestionPeer  # noqa: E402

RECORDED = (pathlib.Path(__file__).resolve().parents[1]
            / "fixtures/kubevirt/derived-pods.json")
NODES = ("node-a", "node-b", "node-c")
UNKNOWN = "is unknown to KubeVirt"
TOO_OLD = "the aggregator passes on no questions of users"


def run_vm(kube, name, namespace, node, why_not=None):
    """A VM that runs there, as KubeVirt tells of it."""
    vmi = create_running_vmi(kube, name, namespace, node, why_not)
    pod = launcher(name, namespace, nodeName=node, memory="4Gi")
    pod["metadata"]["labels"]["kubevirt.io/created-by"] = (
        vmi["metadata"]["uid"])
    made = kube.create(pod)
    kube.patch(path_of_object(made) + "/status",
               {"status": {"phase": "Running"}})


class QuestionCase(ClusterCase):
    def ready(self, name, *peers):
        """A scheduler of this name that leads, with these aggregators."""
        flags = [word for peer in peers for word in ("--aggregator", peer.url)]
        program = self.scheduler(*flags, name=name).start()
        self.addCleanup(program.kill)
        program.wait_log('"became leader"')
        return program

    def peer(self, **options):
        peer = QuestionPeer(**options)
        self.addCleanup(peer.close)
        return peer

    def refused(self, peer, kind, spec):
        with self.assertRaises(Answer) as raised:
            peer.ask(kind, spec)
        return raised.exception.status, raised.exception.sentence

    def placed(self, peer, spec):
        """Once the scheduler knows the whole cluster."""
        def probe():
            try:
                return peer.ask("placement", spec)
            except Answer as answer:
                if answer.status != 503:
                    raise
                return None
        return eventually("there is an answer", probe)


class Questions(QuestionCase):
    @classmethod
    def setUpClass(cls):
        cls.begin()
        cls.make_nodes(("node-a",), 8, "32Gi")
        cls.make_nodes(("node-b",), 8, "16Gi")

    def test_a_manifest_goes_where_the_answer_says(self):
        peer = self.peer()
        self.ready("asked", peer)
        pod = launcher("first", scheduler="asked", memory="20Gi")
        answer = self.placed(peer, {"object": {"kind": "Pod", **pod}})
        self.assertEqual(answer["chosen"], "node-a")
        self.assertEqual([n["name"] for n in answer["nodes"]],
                         ["node-a", "node-b"])
        self.assertTrue(answer["nodes"][0]["feasible"])
        self.assertEqual(answer["nodes"][1]["reasons"],
                         ["Insufficient memory"])
        self.assertEqual(self.bound(self.make(pod)), answer["chosen"])
        # 12 GiB are left there, and 16 on the other node.
        answer = self.placed(peer, {"object": {
            "kind": "Pod", **launcher("second", memory="14Gi")}})
        self.assertEqual(answer["chosen"], "node-b")
        # The first is judged as if it were placed again.
        answer = self.placed(peer, {"vmName": "first"})
        self.assertEqual((answer["chosen"], answer["currentNode"]),
                         ("node-a", "node-a"))
        self.assertEqual(
            self.refused(peer, "placement", {"vmName": "other"}),
            (404, "the VM default/other does not run; ask with its manifest"))

    def test_a_vm_manifest_goes_where_its_launcher_pod_would(self):
        peer = self.peer()
        self.ready("derived", peer)
        recorded = next(one for one in json.loads(RECORDED.read_text())
                        if one["what"] == "8 vCPUs")
        vmi = recorded["vmi"]
        vmi["metadata"].pop("namespace", None)
        answer = self.placed(peer, {"object": vmi})
        self.assertEqual(answer["chosen"], "node-a")
        self.assertEqual(answer["derived"]["rules"],
                         "virt-controller of KubeVirt 1.9")
        self.assertEqual(answer["derived"]["vcpus"], 8)
        self.assertEqual(answer["nodes"][1]["reasons"],
                         ["Insufficient memory"])

    def test_a_pod_that_waits_has_its_reasons(self):
        peer = self.peer()
        self.ready("waits", peer)
        pod = self.make(launcher("large", scheduler="waits", memory="64Gi"))
        self.assert_unschedulable(pod, "Insufficient memory")
        answer = self.placed(
            peer, {"podName": pod["metadata"]["name"]})
        self.assertIsNone(answer["chosen"])
        self.assertIn("0/2 nodes are available: 2 Insufficient memory",
                      answer["sentence"])

    def test_a_question_without_an_answer_is_refused_in_words(self):
        peer = self.peer()
        self.ready("refuses", peer)
        self.placed(peer, {"object": {"kind": "Pod", "spec": {}}})
        self.assertEqual(self.refused(peer, "placement", {}), (
            422, "spec has exactly one of vmName, podName and object"))
        status, why = self.refused(
            peer, "plan", {"goal": "Evacuate", "nodeNames": ["node-a"]})
        self.assertEqual(status, 503)
        self.assertIn("virtualmachineinstances", why)

    def test_a_manifest_that_the_api_server_would_refuse_is_refused(self):
        peer = self.peer()
        self.ready("admits", peer)
        self.placed(peer, {"object": {"kind": "Pod", "spec": {}}})
        pod = launcher("repeats", scheduler="admits")
        pod["spec"]["topologySpreadConstraints"] = [
            {"topologyKey": "zone", "maxSkew": 1,
             "whenUnsatisfiable": "DoNotSchedule"}] * 2
        with self.assertRaisesRegex(Refused, "Duplicate value"):
            self.make(pod)
        self.assertEqual(
            self.refused(peer, "placement",
                         {"object": {"kind": "Pod", **pod}}),
            (422, "spec.object.spec.topologySpreadConstraints[1] repeats "
                  "topologyKey and whenUnsatisfiable of another constraint"))

    def test_the_next_leader_answers_with_a_term_of_its_own(self):
        peer = self.peer()
        first = self.ready("turns", peer)
        spec = {"object": {"kind": "Pod", "spec": {}}}
        self.placed(peer, spec)
        second = self.scheduler("--aggregator", peer.url, name="turns").start()
        self.addCleanup(second.kill)
        second.wait_log('"caches synced"')
        before = set(peer.terms)
        self.assertEqual(first.stop(), 0)
        second.wait_log('"became leader"')
        self.placed(peer, spec)
        self.assertNotIn(peer.terms[-1], before)

    def test_the_leader_tells_its_mode_and_why_nothing_moves(self):
        peer, other = self.peer(), self.peer()
        self.ready("tells", peer)
        eventually("it waits for KubeVirt", lambda: (
            peer.rebalance[0] == "Recommend" and peer.rebalance[1].startswith(
                "virtualmachineinstances are not watched")))
        off = self.scheduler("--aggregator", other.url, "--rebalance", "off",
                             name="tells-off").start()
        self.addCleanup(off.kill)
        eventually("it tells that moves are off", lambda: other.rebalance == (
            "Off", "--rebalance is off"))

    def test_an_older_aggregator_is_asked_once(self):
        old, new = self.peer(is_old=True), self.peer()
        program = self.ready("mixed", old, new)
        eventually("the older one refuses", lambda: old.refused)
        self.placed(new, {"object": {"kind": "Pod", "spec": {}}})
        pod = self.make(launcher("mixed", scheduler="mixed"))
        self.bound(pod)
        self.assertEqual(old.refused, 1)
        self.assertEqual(program.log().count(TOO_OLD), 1)

    def test_the_aggregator_lets_the_leader_park(self):
        aggregator = self.folder.add(Aggregator(
            self.folder.path, "parks")).start()
        program = self.ready("parks", aggregator)
        self.bound(self.make(launcher("parks", scheduler="parks")))
        self.assertNotIn(TOO_OLD, program.log())
        self.assertNotIn("refused a message of a peer", aggregator.log())


class Plans(QuestionCase):
    """A cluster that serves KubeVirt's objects, without KubeVirt."""

    @classmethod
    def setUpClass(cls):
        cls.begin_alone("--with", "controller-manager")
        serve_kubevirt_objects(cls.kube)
        for name in ("default", "bank"):
            if name != "default":
                cls.kube.create({"apiVersion": "v1", "kind": "Namespace",
                                 "metadata": {"name": name}})
            cls.kube.await_account(name)
        for name in NODES:
            cls.kube.create(worker(name, 16, "32Gi"))
            cls.kube.await_node(name)
        run_vm(cls.kube, "web", "default", "node-a")
        run_vm(cls.kube, "vault", "bank", "node-a")
        run_vm(cls.kube, "pet", "default", "node-a", "its disk is local")

    def planned(self, peer, spec, **options):
        def probe():
            try:
                answer = peer.ask("plan", spec, **options)
            except Answer as refused:
                if refused.status != 503:
                    raise
                return None
            stuck = [one["reason"] for one in answer["stuck"]]
            # Not before the VMs and the loads of all nodes are known.
            return None if {UNKNOWN, "finds no node: 2 node(s) that take no VM "
                            "now"} & set(stuck) else answer
        return eventually("there is a plan", probe)

    def test_an_evacuation_names_moves_and_vms_that_are_stuck(self):
        peer = self.peer(nodes=NODES)
        self.ready("plans", peer)
        spec = {"goal": "Evacuate", "nodeNames": ["node-a"]}
        answer = self.planned(peer, spec)
        self.assertFalse(answer["found"])
        self.assertEqual({(one["namespace"], one["vmName"], one["wave"])
                          for one in answer["steps"]},
                         {("default", "web", 1), ("bank", "vault", 1)})
        self.assertEqual(answer["stuck"], [{
            "namespace": "default", "vmName": "pet", "nodeName": "node-a",
            "reason": "cannot be migrated: its disk is local"}])
        self.assertEqual(answer["hidden"]["vms"], 0)
        for node in answer["nodes"]:
            self.assertGreaterEqual(node["memoryAfter"], 0)
        # Those of another namespace are counted for others.
        hidden = peer.ask("plan", spec, is_visible=False)
        self.assertEqual([one["vmName"] for one in hidden["steps"]], ["web"])
        self.assertEqual(hidden["hidden"],
                         {"vms": 1, "steps": 1, "stuck": 0, "lost": 0})
        self.assertNotIn("vault", json.dumps(hidden))
        moved = peer.ask("plan", {"goal": "Move", "vmName": "web"})
        self.assertTrue(moved["found"])
        self.assertEqual(len(moved["steps"]), 1)
        self.assertEqual(
            self.refused(peer, "plan", {"goal": "Move", "vmName": "vault"}),
            (404, "the VM default/vault does not run"))


class Outlooks(ApiCase):
    """Users of the API, and a scheduler that leads."""

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        serve_kubevirt_objects(cls.kube)
        run_vm(cls.kube, "free", "shop", "cold")
        run_vm(cls.kube, "pet", "shop", "cold", "its disk is local")
        run_vm(cls.kube, "safe", "bank", "hot")
        cls.lead()

    @classmethod
    def lead(cls):
        cls.program = cls.scheduler(
            "--aggregator", cls.aggregator.url).start()
        cls.program.wait_log('"became leader"')

    def look(self, user, path):
        """The status of an outlook; None: it is refused for now."""
        done = self.run_kubectl(user, "get", "--raw",
                                f"{GROUP}/{path}/outlook")
        return json.loads(done.stdout)["status"] if not (
            done.returncode) else None

    def assert_forbidden(self, user, path, resource):
        self.assertIn(f'cannot get resource "{resource}/outlook"',
                      self.refused(user, "get", "--raw",
                                   f"{GROUP}/{path}/outlook"))

    def test_an_operator_sees_what_the_scheduler_expects(self):
        def complete():
            one = self.look("admin", "status/plimsoll")
            return one if one and "fits" in one["room"] and all(
                "usedCores" in node["cpu"] for node in one["nodes"]) else None
        one = eventually("the outlook is complete", complete)
        nodes = {node["name"]: node for node in one["nodes"]}
        self.assertEqual(sorted(nodes), ["cold", "hot"])
        self.assertEqual(one["nodesLeftOut"], 0)
        self.assertEqual(nodes["hot"]["cpu"]["cores"], 6)
        self.assertGreater(nodes["hot"]["cpu"]["expectedCores"],
                           nodes["cold"]["cpu"]["expectedCores"])
        self.assertGreaterEqual(nodes["cold"]["memory"]["requestedBytes"],
                                8 << 30)
        self.assertEqual(one["rebalance"]["mode"], "Recommend")
        self.assertEqual(one["room"]["mode"], "recommend")
        self.assertEqual(one["room"]["fits"]["nodes"], 2)
        for name in ("web", "vault", "free", "pet", "safe"):
            self.assertNotIn(f'"{name}', json.dumps(one))
        eventually("those who ask soon after share the answer", lambda: (
            (first := complete()) and (second := complete())
            and first["time"] == second["time"]))
        for user in ("viewer", "editor", "nobody"):
            self.assert_forbidden(user, "status/plimsoll", "status")

    def test_a_viewer_sees_whether_a_vm_may_be_moved(self):
        pet, free = ("namespaces/shop/vmloads/" + name
                     for name in ("pet", "free"))

        def known(user, path):
            one = self.look(user, path)
            return one if one and "isMovable" in one else None
        one = eventually("it is known", lambda: known("viewer", pet))
        self.assertEqual(
            (one["nodeName"], one["isMovable"], one["reason"]),
            ("cold", False, "cannot be migrated: its disk is local"))
        # No agent reports this VM.
        one = eventually("it is known", lambda: known("viewer", free))
        self.assertEqual((one["nodeName"], one["isMovable"]),
                         ("cold", False))
        self.assertIn("its use is not known yet", one["reason"])
        none = "namespaces/shop/vmloads/none"
        self.assertIn('vmloads.load.plimsoll.io "none" not found', self.refused(
            "viewer", "get", "--raw", f"{GROUP}/{none}/outlook"))
        eventually("an admin sees another", lambda: known(
            "admin", "namespaces/bank/vmloads/safe"))
        self.assert_forbidden("viewer", "namespaces/bank/vmloads/safe",
                              "vmloads")
        self.assert_forbidden("nobody", pet, "vmloads")

    def test_without_a_leader_nobody_gets_an_outlook(self):
        self.assertEqual(self.program.stop(), 0)
        self.addCleanup(self.lead)

        def why():
            done = self.run_kubectl("admin", "get", "--raw",
                                    f"{GROUP}/status/plimsoll/outlook")
            return done.stderr if done.returncode else None
        self.assertIn("no scheduler leads now",
                      eventually("it is refused", why))


if __name__ == "__main__":
    unittest.main()
