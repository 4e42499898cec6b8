"""A test case in which the mover orders moves: nodes on which one big VM fits,
and the sentences and records of the mover."""
import json
import re

from harness import http_get
from kubevirt import create, virtual_machine
from kubevirt_case import KubeVirtCase
from ports import free_port

NODES = tuple(f"node-{letter}" for letter in "abcdefghi")
CORES = 6
# One such VM fits on a node, so that each test begins with one VM a node.
# With the announcement, a minute of watching is enough for a forecast.
WANTED, REST = 5.0, 5.0
BIG = {"cores": 5, "memory": "9Gi", "annotations": {
    "plimsoll.io/expected-cores": f"{WANTED}"}}
OURS = "plimsoll.io/move-id"
# KubeVirt's limits, which must not decide what happens here.
WIDE = {"migrations": {"parallelMigrationsPerCluster": 20,
                       "parallelOutboundMigrationsPerNode": 5}}
AUTOMATIC = ("--rebalance", "automatic", "--rebalance-max-per-hour", "60")


class MoverCase(KubeVirtCase):
    @classmethod
    def begin_mover(cls):
        cls.begin_kubevirt(NODES, CORES, configuration=WIDE)
        cls.start_vm_load()

    @classmethod
    def mover(cls, *flags, **options):
        """A scheduler with a port that stays the same, not started."""
        program = cls.scheduler(
            "--aggregator", cls.aggregator.url, *AUTOMATIC, "--http",
            f"127.0.0.1:{free_port()}", *flags, **options)
        cls.programs.append(program)
        return program

    # ---- what the mover says ----

    def ask(self, program, path):
        address = program.arguments[
            -program.arguments[::-1].index("--http")]
        status, _, text = http_get(f"http://{address}{path}")
        self.assertEqual(status, 200, text)
        return text

    def rebalance(self, program=None):
        return json.loads(self.ask(program or self.programs[0],
                                   "/v1/rebalance"))

    def leads(self, program):
        try:
            return program.running() and self.rebalance(program)["leads"]
        except OSError:
            return False  # it starts

    def metric(self, name, program=None):
        text = self.ask(program or self.programs[0], "/metrics")
        return float(re.search(rf"^{name} (\S+)$", text, re.M).group(1))

    def await_why(self, sentence, program=None, mode="recommend"):
        """Waits until /v1/rebalance gives this reason, in this mode."""
        def said():
            try:
                answer = self.rebalance(program)
            except OSError:
                return False  # it starts
            return (sentence in answer["why"]
                    and answer["effective_mode"] == mode)
        try:
            self.wait(f"the mover says: {sentence}", said)
        except AssertionError as late:
            raise AssertionError(
                f"{late}; it says {self.rebalance(program)}") from None

    def records(self, vm):
        return self.aggregator.json(f"/v1/moves?vm=default/{vm}")["moves"]

    def await_record(self, vm, *states):
        """The VM's newest record, once it is in one of these states."""
        def newest():
            found = self.records(vm)
            return found and found[0]["state"] in states and found[0]
        return self.wait(f"the move of {vm} is {states}", newest)

    def event_of(self, vm, reason):
        """The note of an event about the VMI."""
        path = "/apis/events.k8s.io/v1/namespaces/default/events"
        return self.wait(f"{vm} has the event {reason}", lambda: next(
            (e["note"] for e in self.kube.get(path)["items"]
             if e["reason"] == reason and e["regarding"]["name"] == vm),
            None))

    # ---- VMs on nodes that are short ----

    big, small = (), ()  # VMs of the class
    running = False

    def setUp(self):
        """A VM moves when its first minute is over. The tests of a class
        share that minute, and no VM."""
        if not self.running:
            for name in self.big:
                self.loads.set_vm(name, WANTED)
                create(self.kube, virtual_machine(name, **BIG))
            for name in self.small:
                create(self.kube, virtual_machine(name))
            type(self).running = True
        self.await_running(*self.big, *self.small)

    def make_short(self, *vms):
        """The VM's nodes have less CPU time than is wanted there."""
        for vm in vms:
            node = self.vm_node(vm)
            self.loads.set_node(node, REST)
            self.addCleanup(self.loads.set_node, node, 0)
        for vm in vms:
            self.wait(f"{vm} lacks CPU time", lambda vm=vm: self.used_cores(
                self.vm_node(vm)) > 0.9 * CORES)

    def job_of(self, record):
        """The migration of a move, which has its record first."""
        vm = record["vm"]
        return self.wait(f"the move of {vm} has its migration", lambda: next(
            (job for job in self.ours(vm)
             if job["metadata"]["labels"][OURS] == record["id"]), None))

    def ours(self, vm):
        return [job for job in self.migrations(vm)
                if OURS in job["metadata"].get("labels", {})]

    def assert_room(self, node):
        """A pod that does not fit beside a reservation of a big VM is
        bound."""
        name = f"room-on-{node}"
        pod = self.make({
            "apiVersion": "v1", "kind": "Pod",
            "metadata": {"name": name, "namespace": "default"},
            "spec": {"schedulerName": "plimsoll-scheduler",
                     "nodeSelector": {"kubernetes.io/hostname": node},
                     "containers": [{
                         "name": "main", "image": "registry.example/app:1",
                         "resources": {"requests": {"memory": "10Gi"}}}]}})
        self.bound(pod)
        self.kube.remove(pod)
