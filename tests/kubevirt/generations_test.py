"""Nodes of two generations of CPUs and of two vendors: everything that moves a
VM asks where the pod may run that KubeVirt creates next. After each move the
test compares what plimsoll said before with the selector of the real pod, and
with the node to which it was bound."""
import json
import pathlib
import sys
import unittest

TESTS = pathlib.Path(__file__).resolve().parents[1]
sys.path += [str(TESTS / "support"), str(TESTS / "e2e")]

from kubevirt import create, path_of, virtual_machine  # noqa: E402
from mover_case import WIDE  # noqa: E402
from operator_case import OperatorCase  # noqa: E402
from room_case import AHEAD_S, CLASSES  # noqa: E402
from scene_case import SceneCase  # noqa: E402
from wall_clock import WallClock  # noqa: E402

CORES = 6
NEW, OLD, COMMON = "Icelake-Server", "Skylake-Server", "kvm64"
HOSTS = {
    "new": {"model": NEW, "older": (OLD, COMMON), "features": ("gfni",)},
    # Its virt-handler has not found a feature, such as with an old microcode.
    "bare": {"model": NEW, "older": (OLD, COMMON)},
    "old": {"model": OLD, "older": (COMMON,)},
    "amd": {"model": "EPYC-Rome", "older": (COMMON,), "vendor": "AMD"},
}
# VMs start on the first node of their group, and may go to all of them later.
GROUPS = {
    "hot": ("new-0", "new-1", "old-0", "amd-0"),
    "named": ("new-2", "new-1", "old-0", "amd-0"),
    "alone": ("new-2", "old-0", "amd-0"),
    "room": ("new-3", "new-4", "old-1"),
    "full": ("new-4", "new-3", "old-1"),
    "asked": ("new-5", "new-6", "bare-0", "old-2", "amd-1"),
    "kept": ("old-2", "new-5", "new-6", "bare-0", "amd-1"),
}
NODES = tuple(sorted({node for nodes in GROUPS.values() for node in nodes}))
# With the announcement, a minute of watching is enough for a forecast.
WANTED, REST, QUITE_BUSY = 3.5, 5.0, 0.5
BUSY = {"cores": 4, "annotations": {"plimsoll.io/expected-cores": f"{WANTED}"}}
# VM -> its group, and what differs from virtual_machine().
VMS = {
    "hot": ("hot", BUSY),
    "named": ("named", {**BUSY, "model": OLD}),
    "alone": ("alone", BUSY),
    "guest-0": ("room", {"memory": "6Gi"}),
    "guest-1": ("full", {"memory": "6Gi"}),
    "first": ("asked", {}),
    "older": ("asked", {"model": OLD}),
    "newer": ("asked", {"model": NEW}),
    "common": ("asked", {"model": COMMON}),
    "kept": ("kept", {}),
}
KINDS = {"cpu-model-migration.node.kubevirt.io/": "CPU model",
         "cpu-model.node.kubevirt.io/": "CPU model",
         "cpu-vendor.node.kubevirt.io/": "CPU vendor",
         "cpu-feature.node.kubevirt.io/": "CPU feature",
         "machine-type.node.kubevirt.io/": "machine type"}
NOWHERE = f"its CPU model {NEW} is on no other node with room"
CORDONED = "node(s) were unschedulable"
SELECTOR = "node(s) didn't match Pod's node affinity/selector"


def group_label(group):
    return f"group-{group}"


def words_of(key, node):
    """What plimsoll says of a key of a selector that the node does not
    have."""
    for prefix, kind in KINDS.items():
        if key.startswith(prefix):
            return f"its {kind} {key.removeprefix(prefix)} is not on {node}"
    return None


class Generations(OperatorCase, SceneCase):
    @classmethod
    def setUpClass(cls):
        cls.begin_kubevirt(NODES, CORES, configuration=WIDE, hosts={
            node: HOSTS[node.split("-")[0]] for node in NODES})
        cls.kube.request("POST", CLASSES, {
            "apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass",
            "metadata": {"name": "urgent"}, "value": 1000})
        cls.begin_api()
        cls.make_operator()
        cls.start_vm_load(*cls.api_flags())
        # Ahead of the VMs, which move when their first minute is over.
        cls.clock = WallClock(cls.folder.path / "clock", AHEAD_S)
        cls.start_scheduler("--rebalance", "automatic", "--make-room",
                            "automatic", clock=cls.clock)
        cls.await_available()
        for group, nodes in GROUPS.items():
            cls.open_group(group, nodes[0])

    # ---- VMs and nodes ----

    @classmethod
    def open_group(cls, group, *nodes):
        for node in nodes:
            cls.kube.patch(f"/api/v1/nodes/{node}", {"metadata": {"labels": {
                group_label(group): "true"}}})

    @staticmethod
    def vm_object(name, group, model=None, **options):
        vm = virtual_machine(name, nodeSelector={group_label(group): "true"},
                             **options)
        if model:
            vm["spec"]["template"]["spec"]["domain"]["cpu"]["model"] = model
        return vm

    def begin_vms(self):
        for name, (group, options) in VMS.items():
            create(self.kube, self.vm_object(name, group, **options))
        self.await_running(*VMS)
        for name, (group, _) in VMS.items():
            self.assertEqual(self.vm_node(name), GROUPS[group][0], name)
        for group, nodes in GROUPS.items():
            self.open_group(group, *nodes)

    def labels(self, node):
        return self.kube.get(f"/api/v1/nodes/{node}")["metadata"]["labels"]

    # ---- what plimsoll says, and what KubeVirt creates ----

    def status_of(self, *question):
        return json.loads(self.says(*question, "-o", "json"))["status"]

    def foretell(self, name, cordoned=()):
        """Node -> reasons against it, by a placement of the VM, once the
        scheduler knows where the VM is, and the labels of its group."""
        def judged():
            status = self.status_of("where", name)
            reasons = {node["name"]: node["reasons"]
                       for node in status["nodes"]}
            return (status.get("currentNode") == self.vm_node(name)
                    and all(SELECTOR not in reasons[node]
                            for node in GROUPS[VMS[name][0]])
                    and all(reasons[node] == [CORDONED] for node in cordoned)
                    and reasons)
        return self.wait(f"{name} is judged", judged)

    def plan(self, *question, until):
        """The first plan of which until(plan) is true: the scheduler sees a
        node's change a little later."""
        return self.wait(f"{' '.join(question)} has an answer", lambda: (
            until(status := self.status_of(*question)) and status))

    def assert_as_foretold(self, name, reasons, node):
        """The real pod runs on this node, as was said, and its selector is
        the one by which plimsoll judged the nodes before."""
        pod = self.vm_pod(name)
        self.assertEqual(pod["spec"]["nodeName"], node, name)
        self.assertEqual(reasons[node], [], name)
        selector = {key: value
                    for key, value in pod["spec"]["nodeSelector"].items()
                    if key != "kubernetes.io/hostname"}
        for other in GROUPS[VMS[name][0]]:
            self.assert_judged(name, other, reasons[other], selector)

    def assert_judged(self, name, node, reasons, selector):
        labels = self.labels(node)
        unmet = {words_of(key, node) for key, value in selector.items()
                 if labels.get(key) != value}
        told = {reason for reason in reasons if reason.startswith("its ")}
        if told:
            self.assertLessEqual(told, unmet, f"{name} on {node}")
        elif not reasons:
            self.assertEqual(unmet, set(), f"{name} on {node}")

    def requires(self, name, key):
        return key in self.vm_pod(name)["spec"]["nodeSelector"]

    @staticmethod
    def reason_of(name, vms):
        """Of a VM in a list of those that find no node; None: another one."""
        return next((vm["reason"] for vm in vms if vm["vmName"] == name), None)

    # ---- the tests ----

    def test_what_moves_goes_where_kubevirts_next_pod_may_run(self):
        self.begin_vms()
        self.side_by_side({
            "hot nodes": self.rebalanced,
            "an urgent VM": self.makes_room,
            "questions": self.answered})

    def rebalanced(self):
        """A VM of the new generation has one node of two that are not hot, the
        busier one. A VM that names the old model goes to the quiet one, and
        the last one has no node."""
        said = {name: self.foretell(name) for name in ("hot", "named")}
        for name in ("hot", "named", "alone"):
            self.loads.set_vm(name, WANTED)
        for node, cores in (("new-0", REST), ("new-1", QUITE_BUSY),
                            ("new-2", REST)):
            self.loads.set_node(node, cores)
        for name, target in (("hot", "new-1"), ("named", "old-0")):
            move = self.await_move(name, "succeeded")
            self.assertEqual(move["target"], target)
            self.assert_as_foretold(name, said[name], target)
        self.wait("the last one is held back", lambda: (
            {"namespace": "default", "vm": "alone", "node": "new-2",
             "why": NOWHERE} in self.rebalance()["held_back"]))
        self.await_why(f"default/alone stays on new-2: {NOWHERE}")
        self.assertEqual(self.moves("alone"), [])

    def makes_room(self):
        """The quiet old node takes neither the urgent VM nor its guests."""
        said = {name: self.foretell(name) for name in ("guest-0", "guest-1")}
        create(self.kube, self.vm_object(
            "urgent", "room", NEW, memory="10Gi", priorityClassName="urgent"))
        self.await_running("urgent")
        node = self.vm_node("urgent")
        move = self.wait("a guest has moved", lambda: next(
            (move for move in self.aggregator.json("/v1/moves")["moves"]
             if (move["reason"], move["state"]) == ("room", "succeeded")),
            None))
        self.assertEqual((move["source"], {node, move["target"]}),
                         (node, {"new-3", "new-4"}))
        self.assert_as_foretold(move["vm"], said[move["vm"]], move["target"])
        self.assertTrue(self.requires(
            "urgent", f"cpu-model.node.kubevirt.io/{NEW}"))

    def answered(self):
        self.migrates()
        self.keeps_its_first_model()
        self.evacuates()
        self.starts_without_a_node()

    def migrates(self):
        """migrate --to."""
        said = self.foretell("first")
        self.assertEqual(said["bare-0"],
                         ["its CPU feature gfni is not on bare-0"])
        for node in ("old-2", "amd-1"):
            text = self.ended(self.plugin(
                "migrate", "first", "--to", node, "--yes"), 1)
            self.assertIn(f"{node} is not feasible: its CPU model {NEW} is "
                          f"not on {node}", text)
        self.assertEqual(self.migrations("first"), [])
        self.says("migrate", "first", "--to", "new-6", "--yes")
        self.assert_as_foretold("first", said, "new-6")
        said = self.foretell("common")
        self.says("migrate", "common", "--to", "old-2", "--yes")
        self.assert_as_foretold("common", said, "old-2")
        vendor = "its CPU vendor Intel is not on amd-1"
        self.assertEqual(said["amd-1"] == [vendor], self.requires(
            "common", "cpu-vendor.node.kubevirt.io/Intel"))

    def keeps_its_first_model(self):
        """On the new node a VM keeps the model of its first host, so it can
        go back."""
        self.says("migrate", "kept", "--to", "new-5", "--yes")
        said = self.foretell("kept")
        self.assertEqual((said["old-2"], said["amd-1"]), (
            [], [f"its CPU model {OLD} is not on amd-1"]))
        self.cordon("new-6", "bare-0")
        self.foretell("kept", cordoned=("new-6", "bare-0"))
        self.assertIn("default/kept to old-2",
                      self.says("migrate", "kept"))
        self.says("migrate", "kept", "--yes")
        self.cordon("new-6", "bare-0", ends=True)
        self.assert_as_foretold("kept", said, "old-2")
        self.assertTrue(self.requires(
            "kept", f"cpu-model-migration.node.kubevirt.io/{OLD}"))

    def evacuates(self):
        self.cordon("new-5")
        plan = self.plan("evacuate", "new-6", until=lambda plan: (
            plan["stuck"]))
        self.assertIn(NOWHERE, self.reason_of("first", plan["stuck"]))
        self.cordon("new-5", ends=True)
        step, = self.plan("evacuate", "new-6", until=lambda plan: (
            plan["steps"]))["steps"]
        said = self.foretell("first")
        self.says("evacuate", "new-6", "--yes")
        self.assertEqual((step["vmName"], step["targetNode"]),
                         ("first", "new-5"))
        self.assert_as_foretold("first", said, "new-5")

    def starts_without_a_node(self):
        """whatif, and then the VMs start again: new-5 is cordoned like new-6,
        which was evacuated."""
        self.cordon("new-5", "bare-0")
        self.foretell("older", cordoned=("new-5", "new-6", "bare-0"))
        plan = self.status_of("whatif", "--without", "new-5")
        self.assertIn(NOWHERE, self.reason_of("newer", plan["lost"]))
        target, = [step["targetNode"] for step in plan["steps"]
                   if step["vmName"] == "older"]
        for name in ("older", "newer"):
            self.start_again(name)
        self.await_running("older")
        self.assertEqual((target, self.vm_node("older")), ("old-2", "old-2"))
        self.assertTrue(self.requires(
            "older", f"cpu-model.node.kubevirt.io/{OLD}"))
        pod = self.wait("the other VM has a pod", lambda: next(
            (pod for pod in self.launchers("newer")
             if pod["status"]["phase"] == "Pending"), None))
        self.assert_unschedulable(pod, SELECTOR)

    def start_again(self, name):
        uid = self.vmi(name)["metadata"]["uid"]
        self.kube.delete(path_of("VirtualMachineInstance", "default", name))
        self.wait(f"{name} starts again", lambda: (
            (vmi := self.vmi(name)) and vmi["metadata"]["uid"] != uid))


if __name__ == "__main__":
    unittest.main()
