"""A control plane for tests and what test classes do with it: the control
plane of the stage (shared_cluster.py), the one that E2E_KUBECONFIG names, or
a new one by kubecluster."""
import collections
import concurrent.futures
import fcntl
import json
import os
import pathlib
import signal
import subprocess
import tempfile
import unittest

from harness import (BIN, PATIENCE_S, Aggregator, Driver, Folder, Machine,
                     Program, agent, eventually, launcher, worker)
from kube_api import KUBECLUSTER, Kube, path_of

# The folders of the control planes that shared_cluster.py started.
SHARED = "E2E_CLUSTERS"


class LocalCluster:
    """The folder of a `kubecluster up` on this machine."""

    def __init__(self, base):
        self.base = pathlib.Path(base)
        self.dir = self.base / "cluster"
        self.audit = self.base / "audit.log"

    def kubeconfig(self):
        return self.dir / "admin.kubeconfig"

    def kube(self):
        return Kube(self.kubeconfig())

    def token_key(self):
        """The P-256 key that signs ServiceAccount tokens."""
        return self.dir / "pki/service-account.key"

    def state(self):
        return json.loads((self.dir / "state.json").read_text())

    def pids(self):
        return [child["pid"] for child in self.state()["children"].values()]

    def run(self, *arguments, **options):
        # kubectl keeps a cache in the home folder; not in the caller's.
        environment = os.environ | {
            "HOME": str(self.base), "KUBECONFIG": str(self.kubeconfig())}
        return subprocess.run(
            [KUBECLUSTER, *arguments], env=environment, capture_output=True,
            text=True, timeout=PATIENCE_S, check=False, **options)

    def kubectl(self, *arguments, **options):
        done = self.run("kubectl", *arguments, **options)
        if done.returncode != 0:
            raise AssertionError(
                f"kubectl {' '.join(arguments)}: {done.stderr}")
        return done.stdout


class SharedCluster(LocalCluster):
    """A cluster of the stage, from now until close() for this process
    alone."""

    def __init__(self):
        folders = os.environ[SHARED].split(os.pathsep)
        base, self.lock = eventually("a shared cluster is free", lambda: next(
            filter(None, map(self.take, folders)), None))
        super().__init__(base)

    @staticmethod
    def take(folder):
        """The folder and its lock, or None while another process has it."""
        lock = open(pathlib.Path(folder, "lock"), "wb")
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            lock.close()
            return None
        return folder, lock

    def await_ready(self):
        self.kube().get("/readyz")

    def close(self):
        self.lock.close()


class Cluster(LocalCluster):
    """A `kubecluster up` in a temporary folder, ended by close()."""

    def __init__(self, *arguments):
        if not os.access(KUBECLUSTER, os.X_OK):
            raise RuntimeError(
                f"{KUBECLUSTER} is missing: `make cluster` builds it, or set "
                "KUBECLUSTER")
        self.temporary = tempfile.TemporaryDirectory(prefix="kubecluster-")
        super().__init__(self.temporary.name)
        with open(self.base / "out", "wb") as out, \
                open(self.base / "err", "wb") as err:
            self.process = subprocess.Popen(
                [KUBECLUSTER, "up", "--dir", self.dir, "--audit-log",
                 self.audit, *arguments], stdout=out, stderr=err)

    def out(self):
        return (self.base / "out").read_text()

    def err(self):
        return (self.base / "err").read_text()

    def await_ready(self):
        def ready_or_ended():
            return (self.out().endswith("\n")
                    or self.process.poll() is not None)

        eventually("the cluster is up", ready_or_ended)
        if self.process.poll() is not None:
            raise AssertionError(f"kubecluster up ended: {self.err()}")

    def end(self):
        self.process.send_signal(signal.SIGTERM)
        return self.process.wait(PATIENCE_S)

    def close(self):
        if self.process.poll() is None:
            self.end()
        self.temporary.cleanup()


class GivenCluster:
    """The cluster that E2E_KUBECONFIG names, on any machine."""

    audit = None

    def kubeconfig(self):
        return os.environ["E2E_KUBECONFIG"]

    def kube(self):
        return Kube(self.kubeconfig())

    def token_key(self):
        """None: the key that signs the tokens is not known."""

    def await_ready(self):
        self.kube().get("/readyz")

    def close(self):
        """The cluster was not started here."""


def any_cluster(is_local=False):
    """A cluster with a controller-manager and the stock scheduler, ready for
    use. is_local: its audit log and its keys can be read."""
    if os.environ.get(SHARED):
        return ready(SharedCluster())
    if os.environ.get("E2E_KUBECONFIG") and not is_local:
        return ready(GivenCluster())
    return ready(Cluster("--with", "controller-manager,scheduler"))


def ready(cluster):
    """Waits until the cluster answers; closes it if that takes too long."""
    try:
        cluster.await_ready()
    except BaseException:
        cluster.close()
        raise
    return cluster


class ClusterCase(unittest.TestCase):
    """A folder and a cluster for all tests of a class."""

    @classmethod
    def begin(cls, is_local=False):
        """Takes a cluster that other classes use before and after this one;
        the class fails if it leaves an object behind."""
        cls.use(any_cluster(is_local))
        cls.addClassCleanup(cls.assert_nothing_left, cls.kube.objects())
        cls.begin_folder()

    @classmethod
    def begin_alone(cls, *arguments):
        """Starts a cluster for this class, which may break it."""
        cls.use(ready(Cluster(*arguments)))
        cls.begin_folder()

    @classmethod
    def use(cls, cluster):
        cls.addClassCleanup(cluster.close)
        cls.cluster, cls.kube = cluster, cluster.kube()
        cls.kube.await_account("default")
        if cluster.audit:
            cls.audit_begins = cluster.audit.stat().st_size

    @classmethod
    def begin_folder(cls):
        cls.leases = set()
        cls.addClassCleanup(cls.remove_leases)
        cls.folder = Folder()
        cls.addClassCleanup(cls.folder.close)

    @classmethod
    def remove_leases(cls):
        """Removes the Leases of the schedulers, which have ended."""
        for name in cls.leases:
            cls.kube.delete(path_of("Lease", "default", name))

    @classmethod
    def assert_nothing_left(cls, before):
        try:
            eventually("the cluster is as the class found it",
                       lambda: cls.kube.objects() == before)
        except AssertionError:
            after = cls.kube.objects()
            raise AssertionError(
                f"{cls.__name__} left {after - before} behind and removed "
                f"{before - after}") from None

    def own_name(self):
        """A name for objects of this test, after the test."""
        name = self.id().rsplit(".", 1)[1].replace("_", "-")
        return name[:60].rstrip("-")

    def side_by_side(self, scenarios):
        """Runs functions that mostly wait, each in a thread of its own and as
        a subTest. scenarios: sentence -> function."""
        with concurrent.futures.ThreadPoolExecutor(len(scenarios)) as pool:
            running = {sentence: pool.submit(scenario)
                       for sentence, scenario in scenarios.items()}
        for sentence, one in running.items():
            with self.subTest(sentence):
                one.result()

    # ---- programs ----

    @classmethod
    def scheduler(cls, *flags, name="plimsoll-scheduler", kubeconfig=None):
        """A scheduler of this name, not started."""
        cls.leases.add(name)
        count = sum(p.name.startswith(name) for p in cls.folder.programs)
        return cls.folder.add(Program(
            cls.folder.path, f"{name}-{count + 1}" if count else name,
            [BIN / "plimsoll-scheduler", "--scheduler-name", name,
             "--kubeconfig", kubeconfig or cls.cluster.kubeconfig(),
             "--http", "127.0.0.1:0", *flags]))

    @classmethod
    def start_load(cls, loads, *flags, env=None, agent_flags=None, cores=6):
        """Starts an aggregator with these flags and, for each name of loads,
        an agent on a machine of its own, and waits for their reports. loads:
        name -> the busy share of its CPUs and of the time in which a task
        waits; agent_flags: name -> more flags; cores: of each machine."""
        path, env = cls.folder.path, env or {}
        cls.aggregator = cls.folder.add(
            Aggregator(path, "aggregator", *flags))
        cls.aggregator.env.update(env)
        cls.aggregator.start()
        cls.machines, cls.agents = {}, {}
        for name, (busy, waiting) in loads.items():
            cls.machines[name] = machine = Machine(path / name, cores)
            machine.busy, machine.waiting = busy, waiting
            cls.addClassCleanup(machine.close)
        cls.driver = Driver(cls.machines.values()).start()
        cls.addClassCleanup(cls.driver.stop)
        for name, machine in cls.machines.items():
            cls.agents[name] = program = cls.folder.add(agent(
                path, name, [cls.aggregator.url], *machine.agent_flags(),
                *(agent_flags or {}).get(name, ())))
            program.env.update(env)
            program.start()
        cls.await_load()

    @classmethod
    def await_load(cls):
        eventually("all nodes report their load", lambda: all(
            (cls.aggregator.node(n) or {}).get("cpu", {}).get(
                "used_cores_10s") is not None for n in cls.machines))

    # ---- objects ----

    @classmethod
    def make_for_class(cls, thing):
        """Creates an object that is removed when the class is done."""
        made = cls.kube.create(thing)
        cls.addClassCleanup(cls.kube.remove, made)
        return made

    @classmethod
    def make_nodes(cls, names, *size):
        """Creates Nodes that are removed when the class is done."""
        for name in names:
            cls.make_for_class(worker(name, *size))
        for name in names:
            cls.kube.await_node(name)

    def make(self, thing):
        """Creates an object that is removed when the test is done."""
        made = self.kube.create(thing)
        self.addCleanup(self.kube.remove, made)
        return made

    def make_burst(self, prefix, count, scheduler="plimsoll-scheduler"):
        """Creates small VM pods, one right after the other."""
        return [self.make(launcher(f"{prefix}-{i}", memory="1Gi",
                                   scheduler=scheduler))
                for i in range(count)]

    # ---- what has become of a pod ----

    def bound(self, pod):
        """The node of the pod, once it is bound."""
        return eventually(f"{pod['metadata']['name']} is bound",
                          lambda: self.kube.node_of(pod))

    def event(self, pod, reason="Scheduled"):
        """The first event of the pod with this reason."""
        return eventually(f"an event has the reason {reason}", lambda: next(
            (e for e in self.kube.events(pod) if e["reason"] == reason),
            None))

    def assert_unschedulable(self, pod, reason):
        """Returns the event that gives the reason."""
        event = eventually(f"an event says: {reason}", lambda: next(
            (e for e in self.kube.events(pod)
             if e["reason"] == "FailedScheduling" and reason in e["note"]),
            None))
        self.assertIsNone(self.kube.node_of(pod))
        return event

    @classmethod
    def accepted_bindings(cls):
        """How often the API server accepted a binding of each pod since the
        class began, by its audit log."""
        count = collections.Counter()
        with open(cls.cluster.audit, "rb") as log:
            log.seek(cls.audit_begins)
            for line in log:
                count[bound_pod(line)] += 1
        return count

    def assert_bound_once(self, pods, at_least=1):
        """All pods are bound, and none of them twice. at_least=0: an API
        server that was killed may have lost the audit line of a binding."""
        for pod in pods:
            self.bound(pod)
        names = [pod["metadata"]["name"] for pod in pods]

        def counts():
            count = self.accepted_bindings()
            return {name: count[name] for name in names}
        # The API server writes the line after it has answered.
        eventually("the audit log has the bindings", lambda: all(
            n >= at_least for n in counts().values()))
        self.assertEqual({name: n for name, n in counts().items() if n > 1},
                         {})


class NodesPerTestCase(ClusterCase):
    """Each test has nodes of its own, told apart by a label, so that the
    cluster's other nodes do not matter."""

    def label(self):
        return {"plimsoll.io/test": self.own_name()}

    def node(self, name, labels=None, **options):
        self.make(worker(name, labels={**self.label(), **(labels or {})},
                         **options))

    def nodes(self, *names):
        for name in names:
            self.node(name)
        self.await_nodes(*names)

    def await_nodes(self, *names):
        for name in names:
            self.kube.await_node(name)

    def pod(self, name, labels=None, **options):
        selector = {**self.label(), **options.pop("nodeSelector", {})}
        pod = launcher(name, nodeSelector=selector, **options)
        pod["metadata"]["labels"].update(labels or {})
        return self.make(pod)


def bound_pod(line):
    """The pod whose binding this line of an audit log accepts, or None."""
    try:
        event = json.loads(line)
    except ValueError:
        return None  # the server was killed while it wrote this line
    thing = event.get("objectRef", {})
    accepts = (event.get("stage") == "ResponseComplete"
               and event["verb"] == "create"
               and thing.get("subresource") == "binding"
               and event["responseStatus"]["code"] < 300)
    return thing["name"] if accepts else None
