"""A control plane for tests: one of our own by kubecluster, or with
E2E_KUBECONFIG whichever cluster that names."""
import collections
import json
import os
import pathlib
import signal
import subprocess
import tempfile
import unittest

from harness import Folder, eventually, worker
from kube_api import KUBECLUSTER, Kube

START_SECONDS = 120  # 6 on an idle machine


class Cluster:
    """A `kubecluster up` in a temporary folder, ended by close()."""

    def __init__(self, *arguments):
        if not os.access(KUBECLUSTER, os.X_OK):
            raise RuntimeError(
                f"{KUBECLUSTER} is missing: `make cluster` builds it, or set "
                "KUBECLUSTER")
        self.temporary = tempfile.TemporaryDirectory(prefix="kubecluster-")
        self.base = pathlib.Path(self.temporary.name)
        self.dir = self.base / "cluster"
        with open(self.base / "out", "wb") as out, \
                open(self.base / "err", "wb") as err:
            self.process = subprocess.Popen(
                [KUBECLUSTER, "up", "--dir", self.dir, *arguments],
                stdout=out, stderr=err)

    def out(self):
        return (self.base / "out").read_text()

    def err(self):
        return (self.base / "err").read_text()

    def await_ready(self):
        def ready_or_ended():
            return (self.out().endswith("\n")
                    or self.process.poll() is not None)

        eventually("the cluster is up", ready_or_ended, START_SECONDS)
        if self.process.poll() is not None:
            raise AssertionError(f"kubecluster up ended: {self.err()}")

    def kubeconfig(self):
        return self.dir / "admin.kubeconfig"

    def kube(self):
        return Kube(self.kubeconfig())

    def token_key(self):
        """The P-256 key that signs ServiceAccount tokens."""
        return next(self.dir.rglob("service-account.key"))

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
            text=True, timeout=90, check=False, **options)

    def kubectl(self, *arguments, **options):
        done = self.run("kubectl", *arguments, **options)
        if done.returncode != 0:
            raise AssertionError(
                f"kubectl {' '.join(arguments)}: {done.stderr}")
        return done.stdout

    def end(self, seconds=10):
        self.process.send_signal(signal.SIGTERM)
        return self.process.wait(seconds)

    def close(self):
        if self.process.poll() is None:
            self.end()
        self.temporary.cleanup()


class GivenCluster:
    """The cluster that E2E_KUBECONFIG names; it is not ours to end."""

    def kubeconfig(self):
        return os.environ["E2E_KUBECONFIG"]

    def kube(self):
        return Kube(self.kubeconfig())

    def token_key(self):
        """Another's signing key is not to be had."""

    def await_ready(self):
        self.kube().get("/readyz")

    def close(self):
        """Nothing of it was started here."""


def any_cluster():
    """With a controller-manager and the stock scheduler; ready."""
    if os.environ.get("E2E_KUBECONFIG"):
        return ready(GivenCluster())
    return ready(Cluster("--with", "controller-manager,scheduler"))


def ready(cluster):
    """The cluster once it answers; closed if it does not."""
    try:
        cluster.await_ready()
    except BaseException:
        cluster.close()
        raise
    return cluster


class ClusterCase(unittest.TestCase):
    """A folder and a cluster for all tests of a class."""

    @classmethod
    def begin(cls, make_cluster=any_cluster):
        cls.folder = Folder()
        cls.addClassCleanup(cls.folder.close)
        cls.cluster = make_cluster()
        cls.addClassCleanup(cls.cluster.close)
        cls.kube = cls.cluster.kube()

    @classmethod
    def begin_audited(cls, nodes):
        """A cluster of its own with these large nodes, whose audit log says
        who was bound how often."""
        def make_cluster():
            cls.audit = cls.folder.path / "audit.log"
            return ready(Cluster("--with", "controller-manager",
                                 "--audit-log", str(cls.audit)))
        cls.begin(make_cluster)
        cls.kube.await_account("default")
        for name in nodes:
            cls.kube.create(worker(name, cores=64, memory="256Gi"))
        for name in nodes:
            cls.kube.await_node(name)

    @classmethod
    def make_nodes(cls, names, *size):
        """Removed when the class is done."""
        for name in names:
            cls.kube.create(worker(name, *size))
            cls.addClassCleanup(cls.kube.delete, f"/api/v1/nodes/{name}")
        for name in names:
            cls.kube.await_node(name)


def accepted_bindings(audit_log):
    """How often a binding of each pod was accepted, by the audit log."""
    count = collections.Counter()
    for line in audit_log.read_text(errors="replace").splitlines():
        try:
            event = json.loads(line)
        except ValueError:
            continue  # the server was killed while it wrote this line
        thing = event.get("objectRef", {})
        if (event.get("stage") == "ResponseComplete"
                and event["verb"] == "create"
                and thing.get("subresource") == "binding"
                and event["responseStatus"]["code"] < 300):
            count[thing["name"]] += 1
    return count
