"""A test case with KubeVirt: a control plane of its own with virt-controller
and virt-api (kubevirt.py), nodes whose kubelet and virt-handler are played
(virt_handler.py), and machines with real agents whose load follows the VMs.

    class Moves(KubeVirtCase):
        @classmethod
        def setUpClass(cls):
            cls.begin_kubevirt(("node-a", "node-b"))
            cls.start_vm_load()          # an aggregator and an agent a node
            cls.start_scheduler("--rebalance", "automatic")

        def test_...(self):
            self.make_vm("one", cores=4)
            self.await_running("one")
            self.loads.set_vm("one", 3.5)         # cores that the VM wants
            self.loads.set_node("node-a", 1.0)    # cores of the rest of a node
            self.machines["node-a"].used_memory = 0.9
            job = self.migrate("one", to="node-b")
            self.assertEqual(self.outcome(job), "Succeeded")
            self.vm_node("one"), self.vm_pod("one"), self.vmi("one")
            self.set_fault("one", "migration-fails@node-b")
            self.drain("node-a")                  # kubectl drain
            self.kubevirt.virt_controller.kill()  # and start()

cls.kubevirt is a KubeVirt, cls.handlers VirtHandlers (its caches pods, vmis and
migrations are watches), cls.loads VmLoads, cls.aggregator an Aggregator, and
cls.programs has the schedulers. VMs are in the namespace default and leave with
their test. Load that is set stays until it is set again; a VM's is forgotten with
the VM."""
import collections
import copy
import threading

import kubevirt
from cluster import ClusterCase
from harness import PATIENCE_S, eventually
from kube_api import Refused
from kubevirt import KubeVirt, path_of, virt_node
from virt_handler import (COPY, FAULT, FINAL, VirtHandlers, name_of, phase_of,
                          state_of)

# A launcher and qemu that wait for a guest use some CPU.
IDLE_CORES = 0.02


class VmLoads:
    """The load of machines (node -> Machine), which VMs and the rest of each
    node want. A VM wants its cores where it runs. A node gives each what it
    wants, or if that is more than there is the same share to all."""

    def __init__(self, handlers, machines, driver):
        self.handlers, self.machines = handlers, machines
        self.driver = driver
        self.vms = collections.defaultdict(float)    # name -> cores
        self.nodes = collections.defaultdict(float)  # name -> cores
        self.stopping = threading.Event()
        self.thread = threading.Thread(target=self.run, daemon=True)

    def start(self):
        self.thread.start()
        return self

    def stop(self):
        self.stopping.set()
        self.thread.join()

    def set_vm(self, name, cores):
        self.vms[name] = cores

    def set_node(self, name, cores):
        self.nodes[name] = cores

    def run(self):
        while not self.stopping.wait(0.2):
            with self.driver.lock:
                self.settle()

    def settle(self):
        """Gives each machine the pods and the load of now."""
        wanted = {node: {} for node in self.machines}
        active = {(vmi["metadata"]["uid"], vmi["status"].get("nodeName")):
                  name_of(vmi) for vmi in self.handlers.vmis.values()
                  if phase_of(vmi) == "Running"}
        for pod in self.handlers.pods.values():
            node = pod["spec"].get("nodeName")
            if node not in wanted or phase_of(pod) != "Running":
                continue
            vmi = pod["metadata"]["labels"].get("kubevirt.io/created-by")
            cores = self.vms.get(active.get((vmi, node)), 0)
            wanted[node][pod["metadata"]["uid"]] = max(cores, IDLE_CORES)
        for node, pods in wanted.items():
            self.work(self.machines[node], self.nodes[node], pods)

    @staticmethod
    def work(machine, others, pods):
        demand = others + sum(pods.values())
        share = min(1.0, machine.cores / demand) if demand else 1.0
        waiting = 1 - share
        for uid, cores in pods.items():
            machine.run_pod(uid, cores * share, waiting)
        for uid in machine.pods.keys() - pods.keys():
            machine.end_pod(uid)
        machine.busy = demand * share / machine.cores
        machine.waiting = waiting


class KubeVirtCase(ClusterCase):
    # ---- for setUpClass ----

    @classmethod
    def begin_kubevirt(cls, nodes, cores=6, memory="16Gi",
                       configuration=None, components="controller-manager",
                       hosts=None):
        """A cluster with KubeVirt and these nodes, for this class alone.
        configuration: that of the KubeVirt CR. components: what kubecluster
        starts beside the API server. hosts: node -> what its host is, as
        virt_node() takes it."""
        cls.begin_alone("--with", components, "--local-services")
        cls.kubevirt = KubeVirt(cls.cluster, cls.folder, configuration)
        try:
            cls.kubevirt.start()
        except BaseException:
            print(cls.folder.logs())
            raise
        cls.cores, cls.names = cores, tuple(nodes)
        for name in nodes:
            cls.kube.create(virt_node(name, cores, memory,
                                      **(hosts or {}).get(name, {})))
        for name in nodes:
            cls.kube.await_node(name)
        cls.handlers = VirtHandlers(cls.kube).start()
        cls.addClassCleanup(cls.handlers.stop)
        cls.programs = []

    @classmethod
    def start_vm_load(cls, *flags, agent_flags=None):
        """An aggregator with these flags, an agent on each node, and
        cls.loads."""
        cls.start_load(dict.fromkeys(cls.names, (0.0, 0.0)), "--kubeconfig",
                       cls.cluster.kubeconfig(), *flags, cores=cls.cores,
                       agent_flags=agent_flags)
        cls.loads = VmLoads(cls.handlers, cls.machines, cls.driver).start()
        cls.addClassCleanup(cls.loads.stop)

    @classmethod
    def start_scheduler(cls, *flags, clock=None):
        """A scheduler with these flags that knows the load if there is any.
        clock: its WallClock, if the test sets one."""
        if hasattr(cls, "aggregator"):
            flags = ("--aggregator", cls.aggregator.url, *flags)
        program = cls.scheduler(*flags)
        program.env.update(clock.env if clock else {})
        program.start()
        program.wait_log('"became leader"')
        if hasattr(cls, "aggregator"):
            program.wait_log("receiving load")
        cls.programs.append(program)
        return program

    def as_user(self, name):
        """The API as this user, who has no rights but everybody's; None: as
        the administrator. It takes any type of answer, as virt-api wants."""
        user = copy.copy(self.kube)
        user.headers = {**self.kube.headers, "Accept": "*/*"}
        if name:
            user.headers["Impersonate-User"] = name
        return user

    def wait(self, claim, probe):
        """As eventually(), but fails at once if the stand-in has failed."""
        def checked():
            self.handlers.check()
            return probe()
        return eventually(claim, checked)

    # ---- VMs ----

    def make_vm(self, name, **options):
        """Creates a VirtualMachine; options as for virtual_machine()."""
        made = kubevirt.create(self.kube,
                               kubevirt.virtual_machine(name, **options))
        self.addCleanup(self.remove_vm, name)
        return made

    def run_vms(self, prefix, count, **options):
        """Creates VMs at once and waits until they run; their names."""
        names = [f"{prefix}-{i}" for i in range(count)]
        for name in names:
            self.make_vm(name, **options)
        self.await_running(*names)
        return names

    def remove_vm(self, name):
        path = path_of("VirtualMachine", "default", name)
        self.kube.delete(path)
        if hasattr(self, "loads"):
            self.loads.vms.pop(name, None)
        self.wait(f"{name} is gone", lambda: not (
            self.kube.find(path) or self.vmi(name)))

    def vmi(self, name):
        """The VMI of now, or None."""
        return self.kube.find(path_of(
            "VirtualMachineInstance", "default", name))

    def phase(self, name):
        return phase_of(self.vmi(name) or {})

    def vm_node(self, name):
        """The node on which the VM runs."""
        return self.vmi(name)["status"].get("nodeName")

    def launchers(self, name):
        """All launcher pods of the VM, also those that have ended."""
        return self.kube.get(
            "/api/v1/namespaces/default/pods?labelSelector="
            f"vm.kubevirt.io%2Fname%3D{name}")["items"]

    def vm_pod(self, name):
        """The launcher pod that runs on the VM's node."""
        node = self.vm_node(name)
        return next((p for p in self.launchers(name) if p["spec"].get(
            "nodeName") == node and phase_of(p) == "Running"), None)

    def await_running(self, *names):
        for name in names:
            self.wait(f"{name} runs", lambda name=name: (
                self.phase(name) == "Running"))

    def make_hot(self, node, cores):
        """So many cores of the node are busy with other things, for this test;
        returns when the aggregator knows."""
        self.loads.set_node(node, cores)
        self.addCleanup(self.loads.set_node, node, 0)
        self.wait(f"{node} is hot",
                  lambda: self.used_cores(node) > 0.85 * cores)

    def used_cores(self, node):
        """As the aggregator knows it, over 10 s."""
        return self.aggregator.node(node)["cpu"]["used_cores_10s"]

    def annotate(self, name, **annotations):
        """Changes annotations of a VMI; None removes one."""
        self.kube.patch(path_of("VirtualMachineInstance", "default", name),
                        {"metadata": {"annotations": annotations}})

    def set_fault(self, name, fault):
        """A fault of virt_handler.py, or None."""
        self.annotate(name, **{FAULT: fault})

    def set_copy(self, name, seconds):
        """How long a copy of this VM takes."""
        self.annotate(name, **{COPY: str(seconds)})

    # ---- migrations ----

    def migrate(self, name, to=None, annotations=None):
        """Creates a VMIM of the VM; to: its only target."""
        return kubevirt.create(self.kube, kubevirt.migration(
            name, to, annotations))

    def remove_migration(self, job):
        """Aborts it if it runs."""
        self.kube.delete(path_of("VirtualMachineInstanceMigration", "default",
                                 name_of(job)))

    def migrations(self, name=None):
        """All VMIMs, or those of this VM."""
        return [job for job in self.kube.get(path_of(
            "VirtualMachineInstanceMigration", "default"))["items"]
                if name in (None, job["spec"]["vmiName"])]

    def outcome(self, job):
        """The phase with which a VMIM ends: Succeeded, Failed, or "gone"."""
        path = path_of("VirtualMachineInstanceMigration", "default",
                       name_of(job))

        def over():
            found = self.kube.find(path)
            phase = phase_of(found) if found else "gone"
            return phase if phase in (*FINAL, "gone") else None
        return self.wait(f"{name_of(job)} is over", over)

    def failure(self, name):
        """Why the last migration of the VM failed; it comes after the phase
        of the VMIM."""
        return self.wait("the VMI says why", lambda: state_of(
            self.vmi(name)).get("failureReason"))

    def evict(self, pod):
        """The status with which the API server answers an eviction: 429 if
        KubeVirt migrates the VM instead."""
        meta = pod["metadata"]
        try:
            self.kube.request(
                "POST", f"/api/v1/namespaces/{meta['namespace']}/pods/"
                f"{meta['name']}/eviction", {
                    "apiVersion": "policy/v1", "kind": "Eviction",
                    "metadata": {"name": meta["name"],
                                 "namespace": meta["namespace"]}})
        except Refused as no:
            return no.status
        return 201

    def drain(self, node):
        """kubectl drain of the VMs on the node; returns when it is done. The
        node can be used again after the test."""
        self.addCleanup(self.cluster.kubectl, "uncordon", node)
        return self.cluster.kubectl(
            "drain", node, "--pod-selector=kubevirt.io=virt-launcher",
            "--delete-emptydir-data", "--force", f"--timeout={PATIENCE_S}s")

    # ---- what must hold ----

    def assert_each_runs_once(self, names):
        """Each VM runs, with one launcher pod that runs, on its node."""
        for name in names:
            def settled(name=name):
                vmi, running = self.vmi(name), [
                    p["spec"]["nodeName"] for p in self.launchers(name)
                    if phase_of(p) == "Running"]
                return (phase_of(vmi or {}) == "Running"
                        and running == [vmi["status"]["nodeName"]])
            self.wait(f"{name} runs once", settled)
