"""An installation of deploy/ on a real API server: the cluster around it, a
shell for commands, and pods that run (kubelet.py)."""
import os
import pathlib
import re
import shutil
import subprocess

from cluster import Cluster
from harness import (PATIENCE_S, ROOT, Driver, Folder, Machine, eventually,
                     launcher, reserving, worker)
from kube_api import KUBECLUSTER, path_of
from kubelet import Image, Kubelet, StandIn

IMAGES = ROOT / "build/images"
NODES = ("node-a", "node-b", "node-c")
NAMESPACES = ("plimsoll", "plimsoll-agents")
PROGRAMS = ("agent", "aggregator", "scheduler")
PART_OF = "app.kubernetes.io/part-of=plimsoll"
FOREIGN = ROOT / "tests/deploy/foreign"
DISK = path_of("PersistentVolume", name="disk")
# The cluster makes and removes these at any time.
PASSING = {"events", "events.events.k8s.io", "leases.coordination.k8s.io",
           "endpointslices.discovery.k8s.io"}


def account(program):
    return NAMESPACES[program == "agent"], f"plimsoll-{program}"


def vm_pod(name, namespace="vms", scheduler="plimsoll-scheduler", **spec):
    """A launcher pod. It requests KVM only if this machine has KVM: no node
    would take it otherwise."""
    pod = launcher(name, namespace, scheduler, **spec)
    if not os.path.exists("/dev/kvm"):
        for container in pod["spec"]["containers"]:
            for amounts in container.get("resources", {}).values():
                amounts.pop("devices.kubevirt.io/kvm", None)
    return pod


class Shell:
    """Runs commands as a person types them, in a copy of deploy/ so that
    nothing is written into the checkout; kubectl is the cluster's."""

    def __init__(self, folder, kubeconfig):
        self.folder = folder
        shutil.copytree(ROOT / "deploy", folder / "deploy")
        (folder / "bin").mkdir()
        kubectl = folder / "bin/kubectl"
        kubectl.write_text(f"#!/bin/sh\nexec '{KUBECLUSTER}' kubectl \"$@\"\n")
        kubectl.chmod(0o755)
        self.env = dict(os.environ, KUBECONFIG=str(kubeconfig),
                        HOME=str(folder),
                        PATH=f"{folder / 'bin'}:{os.environ['PATH']}")

    def try_(self, line):
        return subprocess.run(
            ["bash", "-eu", "-c", line], cwd=self.folder, env=self.env,
            check=False, text=True, capture_output=True, timeout=PATIENCE_S)

    def follow(self, document, kind="sh", heading="", overlay="deploy/"):
        """Runs the blocks of this kind of a document: those below a heading or
        all. They are unchanged, but name the overlay that the reader has.
        Returns their output."""
        text = (ROOT / "docs" / document).read_text()
        if heading:
            text = re.search(rf"^## {heading}\n(.*?)(?=^## |\Z)", text,
                             re.M | re.S).group(1)
        blocks = re.findall(rf"^```{kind}\n(.*?)^```", text, re.M | re.S)
        if not blocks:
            raise AssertionError(f"{document} has no such block: {heading}")
        return "".join(self.run(block.replace(
            "-k deploy/", f"-k {overlay}") + "\n") for block in blocks)

    def run(self, line):
        done = self.try_(line)
        if done.returncode != 0:
            raise AssertionError(f"{line}: {done.stdout}{done.stderr}")
        return done.stdout


class World:
    """A cluster of three nodes with the machines and the kubelet of each. The
    node that kube-scheduler finds fullest is the idlest. images: the folder of
    the archives that the nodes can run."""

    def __init__(self, cleanup, images=IMAGES):
        self.folder = Folder()
        cleanup(self.folder.close)
        self.path = self.folder.path
        self.path.chmod(0o755)  # other users read it
        self.cluster = Cluster("--with", "controller-manager,scheduler")
        cleanup(self.cluster.close)
        self.cluster.await_ready()
        self.audit = self.cluster.audit
        self.kube = self.cluster.kube()
        self.shell = Shell(self.path, self.cluster.kubeconfig())
        self.machines = {}
        for name, busy in zip(NODES, (0.8, 0.5, 0.0)):
            machine = self.machines[name] = Machine(self.path / name)
            cleanup(machine.close)
            machine.busy, machine.used_memory = busy, 0.1 + busy / 2
            self.kube.create(worker(name))
        for name in NODES:
            self.kube.await_node(name)
        self.kube.await_account("default")
        self.kube.create(reserving("asks-for-much", "node-c", cpu="4"))
        self.make_volume()
        self.driver = Driver(self.machines.values()).start()
        cleanup(self.driver.stop)
        self.kubelet = Kubelet(
            self.kube, self.path,
            [Image(images / f"plimsoll-{name}.tar") for name in PROGRAMS]
            + [StandIn("registry.k8s.io/kube-scheduler:v1.36.3",
                       ["/cluster/kubecluster", "kube-scheduler"])],
            NAMESPACES, self.hosts, self.has).start()
        cleanup(self.kubelet.close)

    def make_namespaces(self, *names):
        for name in names:
            self.shell.run(f"kubectl create namespace {name}")
            self.kube.await_account(name)

    def apply_crds(self, name, kind):
        """Applies another project's CRDs and waits until the kind is
        served."""
        self.shell.run(f"kubectl apply -f {FOREIGN}/{name}")
        self.shell.run("kubectl wait --for=condition=Established crd "
                       "-l plimsoll.io/foreign --timeout=30s")
        eventually(f"{kind} is served", lambda: self.shell.try_(
            f"kubectl get {kind} -A").returncode == 0)

    def make_volume(self):
        """A volume for the aggregator's claim: there is no provisioner."""
        self.kube.create({
            "apiVersion": "v1", "kind": "PersistentVolume",
            "metadata": {"name": "disk"}, "spec": {
                "capacity": {"storage": "50Gi"},
                "accessModes": ["ReadWriteOnce"],
                "persistentVolumeReclaimPolicy": "Retain",
                "hostPath": {"path": "/disk"}}})

    def hosts(self, node):
        root = self.machines[node].root
        return {"/proc": root / "proc", "/sys/fs/cgroup": root / "cgroup",
                "/dev": "/dev"}

    def has(self, node, container):
        """The machine's own /sys, which a runtime mounts into every
        container; for the stand-in the folder of its program."""
        if container == "kube-scheduler":
            return {"/cluster": pathlib.Path(KUBECLUSTER).resolve().parent}
        if container != "agent":
            return {}
        return {"/sys": self.machines[node].root / "sys"}

    def token(self, namespace, name, *more):
        return self.shell.run(f"kubectl -n {namespace} create token {name} "
                              + " ".join(more)).strip()

    def kinds(self, verb, *without):
        kinds = self.shell.run(
            f"kubectl api-resources --verbs={verb} -o name").split()
        return ",".join(sorted(set(kinds) - PASSING - set(without)))

    def serves(self, kind):
        return bool(re.search(rf"^{kind}\b", self.shell.run(
            "kubectl api-resources -o name"), re.M))

    def objects(self):
        """The names of all objects, without those of PASSING."""
        listed = self.shell.run(
            f"kubectl get -A {self.kinds('list')} --ignore-not-found -o "
            "jsonpath='{range .items[*]}{.apiVersion} {.kind} "
            "{.metadata.namespace} {.metadata.name}{\"\\n\"}{end}'")
        return set(listed.splitlines())

    def run_vm(self, pod):
        """Plays the kubelet of a VM's pod once it is bound; its node."""
        node = eventually(f"{pod['metadata']['name']} is bound",
                          lambda: self.kube.node_of(pod))
        meta = pod["metadata"]
        with self.driver.lock:
            self.machines[node].run_pod(meta["uid"], cores=0.5)
        self.kube.patch_status(pod, {"phase": "Running"})
        return node

    def end_vm(self, pod, node):
        with self.driver.lock:
            self.machines[node].end_pod(pod["metadata"]["uid"])
