"""The manifests on a real API server with its own controllers and scheduler:
what `kubectl apply -k deploy/` makes is run, from the images, with the
accounts, tokens, certificates, users and mounts that the manifests say; then it
is used, tried at what is forbidden, and removed.

Tests run in the order of their names: it is one installation's life."""
import collections
import json
import os
import pathlib
import re
import shutil
import ssl
import subprocess
import sys
import unittest
import urllib.error
import urllib.request

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))

from cluster import Cluster  # noqa: E402
from harness import (ROOT, Driver, Folder, Machine,  # noqa: E402
                     eventually, launcher, reserving, worker)
from kube_api import KUBECLUSTER, Refused  # noqa: E402
from kubelet import Image, Kubelet, own_network  # noqa: E402

IMAGES = ROOT / "build/images"
NODES = ("node-a", "node-b", "node-c")
OURS = ("plimsoll", "plimsoll-agents")
PROGRAMS = ("agent", "aggregator", "scheduler")
MERGE = "application/merge-patch+json"
# Made and removed by the cluster itself, all the time.
PASSING = {"events", "events.events.k8s.io", "leases.coordination.k8s.io",
           "endpointslices.discovery.k8s.io"}


def setUpModule():
    own_network()


def account(program):
    return OURS[program == "agent"], f"plimsoll-{program}"


class Shell:
    """Commands as a person types them, in a copy of deploy/ so that nothing is
    written into the checkout; kubectl is the cluster's."""

    def __init__(self, folder, kubeconfig):
        self.folder = folder
        shutil.copytree(ROOT / "deploy", folder / "deploy",
                        ignore=shutil.ignore_patterns("*.crt", "*.key"))
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
            check=False, text=True, capture_output=True, timeout=120)

    def run(self, line):
        done = self.try_(line)
        if done.returncode != 0:
            raise AssertionError(f"{line}: {done.stdout}{done.stderr}")
        return done.stdout


class World:
    """A cluster of three nodes, of which the one that kube-scheduler takes for
    the fullest is the idlest, and all that plays a part around ours."""

    def __init__(self, cleanup):
        self.folder = Folder()
        cleanup(self.folder.close)
        self.path = self.folder.path
        self.path.chmod(0o755)  # other users look into it
        self.audit = self.path / "audit.log"
        self.cluster = Cluster("--with", "controller-manager,scheduler",
                               "--audit-log", str(self.audit))
        cleanup(self.cluster.close)
        self.cluster.await_ready()
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
            [Image(IMAGES / f"plimsoll-{name}.tar") for name in PROGRAMS],
            OURS, self.hosts, self.has).start()
        cleanup(self.kubelet.close)

    def make_volume(self):
        """For the aggregator's claim: no provisioner is here."""
        self.kube.request("POST", "/api/v1/persistentvolumes", {
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
        """The machine's own /sys, which a runtime mounts for everyone."""
        if container != "agent":
            return {}
        return {"/sys": self.machines[node].root / "sys"}

    def token(self, namespace, name, *more):
        return self.shell.run(f"kubectl -n {namespace} create token {name} "
                              + " ".join(more)).strip()

    def as_account(self, program):
        """kubectl's flags for the account of this program and no other."""
        return f"--token={self.token(*account(program))} --kubeconfig=none.yaml"

    def objects(self):
        """The names of all that there is, but for what passes."""
        kinds = self.shell.run(
            "kubectl api-resources --verbs=list -o name").split()
        kinds = sorted(set(kinds) - PASSING)
        listed = self.shell.run(
            f"kubectl get -A {','.join(kinds)} --ignore-not-found -o "
            "jsonpath='{range .items[*]}{.apiVersion} {.kind} "
            "{.metadata.namespace} {.metadata.name}{\"\\n\"}{end}'")
        return set(listed.splitlines())

    def make_vm(self, name, namespace="vms", scheduler="default-scheduler",
                **spec):
        return self.kube.create(launcher(name, namespace, scheduler, **spec))

    def run_vm(self, pod):
        """As kubelet does once a pod is bound; its node."""
        node = eventually(f"{pod['metadata']['name']} is bound",
                          lambda: self.kube.node_of(pod))
        meta = pod["metadata"]
        with self.driver.lock:
            self.machines[node].run_pod(meta["uid"], cores=0.5)
        self.kube.request(
            "PATCH", f"/api/v1/namespaces/{meta['namespace']}/pods/"
            f"{meta['name']}/status", {"status": {"phase": "Running"}}, MERGE)
        return node


class Deploy(unittest.TestCase):
    maxDiff = None

    @classmethod
    def setUpClass(cls):
        cls.world = World(cls.addClassCleanup)
        cls.kube, cls.shell = cls.world.kube, cls.world.shell
        cls.kubelet = cls.world.kubelet
        cls.shell.run("kubectl create namespace vms")
        cls.kube.await_account("vms")
        cls.before = cls.world.objects()

    def get(self, path, token):
        """Status and JSON of the aggregator's HTTPS."""
        trust = ssl.create_default_context(
            cafile=self.world.path / "deploy/certs/servers-ca.crt")
        trust.check_hostname = False  # by its address, here
        address = self.kubelet.of("aggregator")[0].address
        request = urllib.request.Request(
            f"https://{address}:7474{path}",
            headers={"Authorization": f"Bearer {token}"})
        opener = urllib.request.build_opener(
            urllib.request.ProxyHandler({}),
            urllib.request.HTTPSHandler(context=trust))
        try:
            with opener.open(request, timeout=10) as answer:
                return answer.status, json.load(answer)
        except urllib.error.HTTPError as no:
            return no.code, json.load(no)

    # ---- installing ----

    def test_10_two_commands_install_it(self):
        self.shell.run("deploy/certs.sh new deploy/certs")
        said = self.shell.run(
            "kubectl apply -k deploy/ --validate=strict 2>&1")
        self.assertNotRegex(said, "(?i)warn|error|violat")
        self.kubelet.await_ready("agent", 3)
        self.kubelet.await_ready("aggregator", 1)
        self.kubelet.await_ready("scheduler", 2)
        for thing in ("-n plimsoll-agents ds/plimsoll-agent",
                      "-n plimsoll sts/plimsoll-aggregator",
                      "-n plimsoll deploy/plimsoll-scheduler"):
            self.shell.run(f"kubectl rollout status {thing} --timeout=60s")

    def test_11_every_node_is_measured(self):
        self.shell.run("kubectl create serviceaccount reader -n default")
        self.addCleanup(self.shell.run, "kubectl delete -n default "
                        "serviceaccount/reader clusterrolebinding/reader")
        self.shell.run("kubectl create clusterrolebinding reader "
                       "--clusterrole=plimsoll-reader "
                       "--serviceaccount=default:reader")
        token = self.world.token("default", "reader")

        def fresh():
            status, body = self.get("/v1/nodes", token)
            return status == 200 and {
                n["name"] for n in body["nodes"]
                if n["state"] == "fresh"} == set(NODES)
        eventually("all nodes are fresh", fresh)
        self.assertEqual(self.get(
            "/v1/nodes", self.world.token("default", "default"))[0], 403)
        for scheduler in self.kubelet.of("scheduler"):
            scheduler.program.wait_log("load is coming in")


if __name__ == "__main__":
    unittest.main()
