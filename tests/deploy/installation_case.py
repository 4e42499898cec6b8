"""What all test classes do that install plimsoll and leave nothing behind."""
import json
import re
import ssl
import threading
import time
import unittest
import urllib.error
import urllib.request

from harness import PATIENCE_S, ROOT, eventually, launcher
from installation import (DISK, NAMESPACES, NODES, PART_OF, World,
                          vm_pod)
from kube_api import path_of

RUNNING = {"agent": 3, "aggregator": 1, "scheduler": 2}


def fenced(document, start):
    """The first block of a document that has this text, without its fence."""
    text = (ROOT / "docs" / document).read_text()
    return next(block for block in re.findall(r"^```\w*\n(.*?)^```", text,
                                              re.M | re.S) if start in block)


def second_apply_changes_nothing(shell, manifest):
    """Fails if `kubectl apply` of this -k FOLDER or -f FILE changes an object
    that is applied. kubectl sends the selector of a PodDisruptionBudget each
    time, because its patch strategy is "replace". Kubernetes 1.30 writes
    `creationTimestamp: null` into the claims of a StatefulSet, which 1.36 does
    not. In both cases the generation says that nothing has changed."""
    generations = ("kubectl get poddisruptionbudgets,statefulsets -A -o "
                   "jsonpath='{.items[*].metadata.generation}'")
    before = shell.run(generations)
    sent = ["poddisruptionbudget.policy/"]
    if '"creationTimestamp": null' in shell.run(
            "kubectl get statefulsets -A -o json"):
        sent.append("statefulset.apps/")
    said = shell.run(f"kubectl apply {manifest}").splitlines()
    changed = [line for line in said if not line.endswith(" unchanged")
               and not line.startswith(tuple(sent))]
    if changed or shell.run(generations) != before or len(said) < 30:
        raise AssertionError(f"{changed} of {len(said)}")


class Reader:
    """Reads again and again over HTTPS, until close(); keeps what went
    wrong: each answer but 200 is a failure."""

    def __init__(self, read):
        self.read, self.failures, self.answers = read, [], 0
        self.stopping = threading.Event()
        self.thread = threading.Thread(target=self.run, daemon=True)
        self.thread.start()

    def run(self):
        while not self.stopping.wait(0.05):
            try:
                status, text = self.read()
                if status == 200:
                    self.answers += 1
                else:
                    self.failures.append(f"{status}: {text}")
            except Exception as why:  # whatever it is, it is a failure
                self.failures.append(why)

    def close(self):
        self.stopping.set()
        self.thread.join()


class InstallationCase(unittest.TestCase):
    """A class that installs, and must leave nothing behind. world: the
    cluster of all classes of a file."""

    maxDiff = None
    world = None

    @classmethod
    def begin(cls, world):
        cls.world = world
        cls.kube, cls.shell, cls.kubelet = (world.kube, world.shell,
                                            world.kubelet)
        cls.addClassCleanup(cls.assert_nothing_left, world.objects())
        cls.addClassCleanup(cls.shell.run, "kubectl label namespace vms "
                            "plimsoll.io/schedule-")

    @classmethod
    def assert_nothing_left(cls, before):
        try:
            eventually("the cluster is as the class found it",
                       lambda: cls.world.objects() == before, every=1)
        except AssertionError:
            after = cls.world.objects()
            raise AssertionError(f"{cls.__name__} left {after - before} behind"
                                 f" and removed {before - after}") from None

    # ---- installing and removing ----

    @classmethod
    def install(cls, command, **others):
        """Installs with this command until remove(), at the latest at the end
        of the class; what it prints."""
        cls.addClassCleanup(cls.remove)
        said = cls.shell.run(command + " 2>&1")
        if re.search("(?i)warn|error|violat", said):
            raise AssertionError(said)
        cls.await_installation(**others)
        return said

    @classmethod
    def install_as_documented(cls):
        """Follows the document; what it prints."""
        cls.addClassCleanup(cls.remove)
        said = cls.shell.follow("install.md", heading="The certificates, then the rest")
        cls.await_installation()
        return said

    @classmethod
    def await_installation(cls, **others):
        """Waits for so many containers of each name, and for the Job if there
        is one."""
        for name, count in {**RUNNING, **others}.items():
            cls.kubelet.await_ready(name.replace("_", "-"), count)
        eventually("the Job is complete", lambda: all(
            cls.is_complete(job) for job in cls.kube.get(
                path_of("Job", "plimsoll"))["items"]))

    @staticmethod
    def is_complete(job):
        return any(c["type"] == "Complete" and c["status"] == "True"
                   for c in job["status"].get("conditions", []))

    @classmethod
    def remove(cls):
        """Removes all as the document says, its pods first: a namespace that
        is deleted with pods is not looked at again for half their grace
        period."""
        cls.delete_pods()
        cls.shell.run(fenced("uninstall.md", "kubectl delete -l"))
        cls.free_the_disk()

    @classmethod
    def delete_pods(cls):
        cls.shell.run("kubectl delete -A job,daemonset,deployment,statefulset "
                      f"-l {PART_OF}")
        eventually("all pods have ended", lambda: not any(
            cls.kube.get(path_of("Pod", name))["items"]
            for name in NAMESPACES))

    @classmethod
    def free_the_disk(cls):
        cls.kube.patch(DISK, {"spec": {"claimRef": None}})

    # ---- waiting ----

    @classmethod
    def await_loads(cls):
        for scheduler in cls.kubelet.of("scheduler"):
            scheduler.program.wait_log("receiving load")

    @classmethod
    def name_given(cls, namespace="vms"):
        """The schedulerName that a new VM in the namespace would get."""
        return cls.kube.request(
            "POST", f"/api/v1/namespaces/{namespace}/pods?dryRun=All",
            launcher("try", namespace, "default-scheduler"))["spec"][
                "schedulerName"]

    @classmethod
    def await_name(cls, scheduler="plimsoll-scheduler"):
        eventually("new VMs name the scheduler",
                   lambda: cls.name_given() == scheduler)

    @classmethod
    def await_idlest(cls, scheduler="plimsoll-scheduler"):
        """Waits until VMs are given to this scheduler, and until the
        scheduler, which then knows the load, places them on the node that
        kube-scheduler finds fullest."""
        cls.await_name(scheduler)
        names = iter(range(1000))

        def placed():
            pod = cls.kube.create(vm_pod(
                f"{scheduler}-{next(names)}", "vms", "default-scheduler"))
            try:
                return eventually("the VM is bound", lambda: cls.kube.node_of(
                    pod)) == "node-c"
            finally:
                cls.kube.remove(pod)
        eventually("a VM goes to the idlest node", placed, every=0.3)

    # ---- VMs ----

    def make(self, thing):
        """Creates an object that is removed when the test is done."""
        made = self.kube.create(thing)
        self.addCleanup(self.kube.remove, made)
        return made

    def make_vm(self, name, namespace="vms", scheduler="default-scheduler",
                **spec):
        return self.make(vm_pod(name, namespace, scheduler, **spec))

    def run_vm(self, pod):
        """Plays the kubelet of a VM's pod once it is bound; its node."""
        node = self.world.run_vm(pod)
        self.addCleanup(self.world.end_vm, pod, node)
        return node

    def make_unschedulable_vm(self):
        pod = self.make_vm("huge", cpu="100")
        eventually("its condition says why", lambda: (
            self.kube.condition(pod) or {}).get("reason") == "Unschedulable")
        return pod

    # ---- reading ----

    @classmethod
    def ready_answer(cls, scheduler):
        """What the scheduler's /readyz says."""
        with cls.kubelet.opener.open(
                f"https://{scheduler.address}:7475/readyz") as answer:
            return answer.read().decode()

    @classmethod
    def secret(cls, name, key, namespace="plimsoll"):
        return cls.shell.run(
            f"kubectl -n {namespace} get secret {name} -o "
            f"jsonpath='{{.data.{key}}}' | base64 -d")

    @classmethod
    def authority(cls):
        """The servers' authority, as clients have it."""
        return cls.secret("plimsoll-scheduler-tls", r"ca\.crt")

    @classmethod
    def trust(cls):
        context = ssl.create_default_context(cadata=cls.authority())
        context.check_hostname = False  # by its address, here
        return context

    @classmethod
    def served(cls):
        """The certificates that the servers present. openssl prints them even
        to a client that the server refuses."""
        aggregator, = cls.kubelet.of("aggregator")
        ports = [(aggregator, 7473), (aggregator, 7474)] + [
            (scheduler, 7477) for scheduler in cls.kubelet.of("scheduler")]
        return [re.search("(?s)-----BEGIN CERT.*?-----END", cls.shell.try_(
            f"openssl s_client -connect {c.address}:{port} </dev/null"
            ).stdout).group(0) for c, port in ports]

    @classmethod
    def pids(cls):
        """Pod -> process."""
        return {c.uid: c.program.process.pid for name in RUNNING
                for c in cls.kubelet.of(name)}

    @classmethod
    def get(cls, path, token, trust=None, at=None):
        """Status and text of the aggregator's HTTPS, or of that `at` another
        address and port; token: None for none."""
        at = at or f"{cls.kubelet.of('aggregator')[0].address}:7474"
        request = urllib.request.Request(f"https://{at}{path}")
        if token:
            request.add_header("Authorization", f"Bearer {token}")
        opener = urllib.request.build_opener(
            urllib.request.ProxyHandler({}),
            urllib.request.HTTPSHandler(context=trust or cls.trust()))
        try:
            with opener.open(request, timeout=PATIENCE_S) as answer:
                return answer.status, answer.read().decode()
        except urllib.error.HTTPError as no:
            return no.code, no.read().decode()

    @classmethod
    def let_read(cls, name="prometheus"):
        """A token of an account in `monitoring` that may read."""
        cls.shell.run(f"kubectl -n monitoring create serviceaccount {name}")
        cls.addClassCleanup(cls.shell.run,
                            f"kubectl -n monitoring delete sa/{name}")
        cls.addClassCleanup(cls.stop_reading)
        cls.shell.follow("install.md", heading="Granting read access")
        return cls.world.token("monitoring", name)

    @classmethod
    def stop_reading(cls):
        cls.shell.run("kubectl delete clusterrolebinding "
                      "monitoring-reads-plimsoll")
        cls.shell.run("kubectl label namespace monitoring "
                      "plimsoll.io/reader-")

    def ask_schedulers(self, path, token):
        """The texts of all replicas' answers to an account that may read."""
        texts = []
        for scheduler in self.kubelet.of("scheduler"):
            status, text = self.get(path, token,
                                    at=f"{scheduler.address}:7475")
            self.assertEqual(status, 200, text)
            texts.append(text)
        return texts

    def fresh_nodes(self, token):
        status, text = self.get("/v1/nodes", token)
        self.assertEqual(status, 200, text)
        return {n["name"] for n in json.loads(text)["nodes"]
                if n["state"] == "fresh"}

    @classmethod
    def history(cls, begin, end, token):
        """Time -> cores in use of node-a, by its reports."""
        status, text = cls.get(
            f"/v1/nodes/node-a/history?from={begin}&to={end}&step=2s"
            "&fields=cpu.used_cores", token)
        return {row[0]: row[1] for row in json.loads(text)["rows"]
                if row[1] is not None} if status == 200 else {}

    def assert_no_report_lost(self, begin, token):
        """A report came every 2 s, and no agent dropped one."""
        _, text = self.get("/metrics", token)
        self.assertEqual(sorted(re.findall(
            r'^plimsoll_node_reports_dropped_total\{node="(.*)"\} 0$', text,
            re.M)), sorted(NODES))
        end = int(time.time()) - 4

        def gaps():
            rows = self.history(begin, end, token)
            return [t for t in range(begin + 2, end - 2, 2)
                    if not any(t <= row < t + 2 for row in rows)]
        eventually("each interval has its report", lambda: not gaps())


def new_world(*images):
    """The cluster of a file's classes, in a network of its own: for
    setUpModule()."""
    world = World(unittest.addModuleCleanup, *images)
    world.make_namespaces("vms", "others", "monitoring")
    world.apply_crds("kubevirt.yaml", "vm")
    return world
