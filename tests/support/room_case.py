"""A test case in which room is made for an urgent VM. Each scene has nodes of
its own with VMs of a lower priority, and 16 GB are free on each node. An urgent
VM of 24 GB fits once two of the VMs of one node have left it.

    class Room(RoomCase):
        @classmethod
        def setUpClass(cls):
            cls.begin_room(scene=3)             # nodes of the scene
            cls.start_vm_load()
            cls.clock = WallClock(cls.folder.path / "clock", AHEAD_S)
            cls.maker = cls.room_maker("--make-room", "automatic")

        def test_...(self):
            self.work_alone(self.maker)
            self.make_urgent("scene")           # the VM urgent-scene
            self.assert_nobody_was_hurt("scene")

The VMs start with the first test, and serve all tests of the class. A VM moves
when its first minute is over, and the clock of room makers is ahead by more, so
that no test has to wait for it. What has become of the VMs is asked of a
history: of all versions of all VMIs and pods since they ran."""
import contextlib
import json

import kubevirt
from kubevirt import path_of
from mover_case import MoverCase, OURS, WIDE
from ports import free_port
from virt_handler import FAULT, Watch, name_of, phase_of, state_of

CORES, MEMORY, MEMORY_KIB = 6, "32Gi", 32 << 20
ORDINARY, URGENT = "ordinary", "urgent"
PRIORITIES = {ORDINARY: 1000, URGENT: 1000000}
CLASSES = "/apis/scheduling.k8s.io/v1/priorityclasses"
PODS = "/api/v1/namespaces/default/pods"
# KubeVirt adds some 0.3 GB to the memory of a guest.
A_NODE, VM, URGENT_VM = 3, "5000Mi", "24Gi"
# Copies have no end until end_copies().
HANGS = {FAULT: "migration-hangs"}
# The first minute of a VM, the 10 s after it, and some more.
AHEAD_S = 90


class History(Watch):
    """All versions of the objects of a list as (type of the event, object),
    in their order."""

    def __init__(self, kube, path):
        self.versions = []
        super().__init__(kube, path, lambda: None)

    def list(self):
        before = self.things
        version = super().list()
        self.versions += [("LISTED", thing) for thing in self.values()]
        self.versions += [("DELETED", thing) for uid, thing in before.items()
                          if uid not in self.things]
        return version

    def take(self, event):
        if event["type"] != "ERROR":
            self.versions.append((event["type"], event["object"]))
        return super().take(event)

    def of(self, belongs):
        """The versions of the objects of which belongs(object) is true."""
        return [(kind, thing) for kind, thing in list(self.versions)
                if belongs(thing)]


def vm_of(pod):
    """The VM of a launcher pod, or None."""
    return pod["metadata"].get("labels", {}).get("vm.kubevirt.io/name")


def is_leaving(kind, thing):
    return kind == "DELETED" or "deletionTimestamp" in thing["metadata"]


def ends_a_pod(event):
    """An accepted request of the audit log."""
    thing = event.get("objectRef", {})
    return (thing.get("resource") == "pods"
            and event["stage"] == "ResponseComplete"
            and event["responseStatus"]["code"] < 300
            and (event["verb"] == "delete"
                 or thing.get("subresource") == "eviction"))


def filling(node):
    """The label of the nodes to which the VMs of this node may go."""
    return f"vms-of-{node}"


class RoomCase(MoverCase):
    # The scheduler that places the pods, and the annotations of a scene's
    # VMIs.
    placer = "plimsoll-scheduler"
    annotations = {}

    # ---- for setUpClass ----

    @classmethod
    def begin_room(cls, components="controller-manager", **scenes):
        """scenes: name -> the number of nodes."""
        cls.scenes = {name: [f"{name}-{i}" for i in range(count)]
                      for name, count in scenes.items()}
        cls.begin_kubevirt(sum(cls.scenes.values(), []), CORES, MEMORY,
                           WIDE, components)
        for name, value in PRIORITIES.items():
            cls.kube.request("POST", CLASSES, {
                "apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass",
                "metadata": {"name": name}, "value": value})

    @classmethod
    def start_vm_load(cls, *flags, **options):
        super().start_vm_load(*flags, **options)
        for machine in cls.machines.values():
            machine.memory = MEMORY_KIB

    @classmethod
    def room_maker(cls, *flags, clock=None):
        """A scheduler that moves VMs for room alone, not started. clock: a
        WallClock; default: cls.clock."""
        program = cls.scheduler(
            "--aggregator", cls.aggregator.url, "--rebalance", "off",
            "--http", f"127.0.0.1:{free_port()}", *flags)
        program.env.update((clock or cls.clock).env)
        cls.programs.append(program)
        return program

    def work_alone(self, program):
        """This scheduler works during the test, and no other one."""
        program.start()
        self.addCleanup(program.stop)
        self.wait("it leads", lambda: self.leads(program))

    # ---- the VMs ----

    def setUp(self):
        if self.running:
            return
        with contextlib.ExitStack() as stack:
            if hasattr(self, "clock"):
                filler = self.scheduler("--rebalance", "off").start()
                stack.callback(filler.stop)
            for scene in self.scenes:
                self.fill(scene)
            self.open_scenes()
        type(self).running = True

    def fill(self, scene):
        """Starts the VMs of each node there."""
        for node in self.scenes[scene]:
            self.label(node, scene=scene, **{filling(node): "true"})
            for vm in self.vms_on(node):
                kubevirt.create(self.kube, kubevirt.virtual_machine(
                    vm, cores=1, memory=VM, scheduler=self.placer,
                    annotations=self.annotations.get(scene),
                    priorityClassName=ORDINARY,
                    nodeSelector={filling(node): "true"}))

    def open_scenes(self):
        """Once the VMs run they may go to all nodes of their scene, and the
        history begins."""
        cls = type(self)
        cls.uids = {}
        for scene, nodes in self.scenes.items():
            names = self.vms_of(scene)
            self.await_running(*names)
            cls.uids[scene] = {vm: self.vmi(vm)["metadata"]["uid"]
                               for vm in names}
            for node in nodes:
                self.label(node, **dict.fromkeys(map(filling, nodes), "true"))
        cls.vmi_history, cls.pod_history = map(self.remember, (
            path_of("VirtualMachineInstance", "default"), PODS))

    def remember(self, path):
        history = History(self.kube, path)
        self.addClassCleanup(history.stopping.set)
        return history

    def label(self, node, **labels):
        self.kube.patch(f"/api/v1/nodes/{node}",
                        {"metadata": {"labels": labels}})

    @staticmethod
    def vms_on(node):
        """The VMs that started on the node."""
        return [f"vm-{node}-{i}" for i in range(A_NODE)]

    def vms_of(self, scene):
        return sum(map(self.vms_on, self.scenes[scene]), [])

    def make_urgent(self, scene, **options):
        """The name of an urgent VM that may go to the nodes of the scene."""
        name = f"urgent-{scene}"
        self.make_vm(name, **{
            "cores": 2, "memory": URGENT_VM, "scheduler": self.placer,
            "priorityClassName": URGENT, "nodeSelector": {"scene": scene},
            **options})
        return name

    def launcher_of(self, name):
        """The launcher pod of a VM that starts."""
        return self.wait(f"{name} has a launcher", lambda: next(iter(
            self.launchers(name)), None))

    def jobs(self, scene):
        """The migrations of the scene's VMs that a scheduler ordered."""
        names = self.vms_of(scene)
        return [job for job in self.migrations()
                if OURS in job["metadata"].get("labels", {})
                and job["spec"]["vmiName"] in names]

    def place_by_hand(self, pod, node):
        """Binds a pod as another scheduler does."""
        self.kube.request("POST", f"{PODS}/{name_of(pod)}/binding", {
            "apiVersion": "v1", "kind": "Binding",
            "metadata": {"name": name_of(pod)},
            "target": {"apiVersion": "v1", "kind": "Node", "name": node}})

    def end_copies(self, *vms):
        """Those that hang end, and later ones are quick."""
        for vm in vms:
            self.set_fault(vm, None)

    # ---- what became of everybody ----

    def moved(self, scene):
        """The VMs of the scene that are not where they started, and their
        nodes."""
        return {vm: now for node in self.scenes[scene]
                for vm in self.vms_on(node)
                if (now := self.vm_node(vm)) != node}

    def deleted_pods(self):
        """(user, pod) of each deletion and eviction that the API server
        accepted since the class began, by its audit log."""
        with open(self.cluster.audit, "rb") as log:
            log.seek(self.audit_begins)
            return [(event["user"]["username"], event["objectRef"]["name"])
                    for event in map(json.loads, log)
                    if ends_a_pod(event)]

    def assert_nobody_was_hurt(self, scene):
        """Each VMI of the scene was Running all the time, and only the sources
        of completed migrations ended."""
        uids = self.uids[scene]
        versions = self.vmi_history.of(lambda vmi: name_of(vmi) in uids)
        self.assertEqual({name_of(vmi) for _, vmi in versions}, set(uids))
        for kind, vmi in versions:
            self.assertEqual(
                (phase_of(vmi), vmi["metadata"]["uid"], is_leaving(kind, vmi)),
                ("Running", uids[name_of(vmi)], False), name_of(vmi))
        for vm in uids:
            state = state_of(self.vmi(vm))
            self.assertEqual((state.get("completed"), state.get("failed")),
                             (True, None) if state else (None, None), vm)
        sources = {state_of(vmi).get("sourcePod") for _, vmi in versions
                   if state_of(vmi).get("completed")
                   and not state_of(vmi).get("failed")}
        pods = self.pod_history.of(lambda pod: vm_of(pod) in uids)
        for kind, pod in pods:
            self.assertFalse(is_leaving(kind, pod), name_of(pod))
            allowed = ("Pending", "Running", *(
                ["Succeeded"] if name_of(pod) in sources else []))
            self.assertIn(phase_of(pod), allowed, name_of(pod))
        names = {name_of(pod) for _, pod in pods}
        self.assertEqual([(user, pod) for user, pod in self.deleted_pods()
                          if pod in names], [])

    def nominations(self, pod):
        """The nodes that status.nominatedNodeName of a pod has named."""
        return {version["status"]["nominatedNodeName"]
                for _, version in self.pod_history.of(
                    lambda one: name_of(one) == name_of(pod))
                if "nominatedNodeName" in version["status"]}

    # ---- what the scheduler says ----

    def attempt(self, program, pod):
        """What GET /v1/room says of this pod, or None."""
        making = json.loads(self.ask(program, "/v1/room"))["making"]
        return next((attempt for attempt in making
                     if attempt["pod"] == name_of(pod)), None)

    def room_moves(self, pod, *states):
        """The records of the moves that make room for this pod, newest first;
        of all states or of these."""
        return [move for move in self.aggregator.json("/v1/moves")["moves"]
                if move["reason"] == "room"
                and move["room_for"] == f"default/{name_of(pod)}"
                and (not states or move["state"] in states)]
