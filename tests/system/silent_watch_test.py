"""A load balancer that drops the server's side of connections and keeps the
clients' open: every watch of every program goes on elsewhere."""
import pathlib
import re
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))

from harness import (BIN, Aggregator, Folder, Program, eventually,  # noqa: E402
                     http_get, launcher, mark, worker)
from secure import certs  # noqa: E402
from watch_stand_in import FIRST_VERSION, WatchStandIn  # noqa: E402

PODS = "/api/v1/pods"
STORAGE = "/apis/storage.k8s.io/v1"
KUBEVIRT = "/apis/kubevirt.io/v1"
NOT_ENDED = "status.phase!=Succeeded,status.phase!=Failed"
FRONT_PROXY = "metadata.name=extension-apiserver-authentication"
# Path and selectors of each informer. The aggregator's and the scheduler's
# watches of all nodes look alike.
SCHEDULER = [
    ("/api/v1/nodes", "", ""), (PODS, NOT_ENDED, ""),
    (PODS, "status.phase=Failed,spec.schedulerName=plimsoll-scheduler", ""),
    ("/api/v1/namespaces", "", ""), ("/api/v1/persistentvolumeclaims", "", ""),
    ("/api/v1/persistentvolumes", "", ""),
    *((f"{STORAGE}/{kind}", "", "") for kind in (
        "storageclasses", "csinodes", "csidrivers", "csistoragecapacities",
        "volumeattachments")),
    *((f"{KUBEVIRT}/{kind}", "", "") for kind in (
        "virtualmachineinstances", "virtualmachineinstancemigrations",
        "kubevirts")),
    ("/apis/migrations.kubevirt.io/v1alpha1/migrationpolicies", "", "")]
AGGREGATOR = [
    ("/api/v1/nodes", "", ""), (PODS, "", "kubevirt.io=virt-launcher"),
    ("/api/v1/namespaces/kube-system/configmaps", FRONT_PROXY, "")]
INFORMERS = sorted(SCHEDULER + AGGREGATOR)


@mark(slow="a watch is silent for 90 s before it is replaced")
class SilentWatch(unittest.TestCase):
    def setUp(self):
        self.folder = Folder()
        self.addCleanup(self.folder.close)
        node = worker("n1")
        node["metadata"].update(uid="n1", resourceVersion="7")
        self.api = WatchStandIn(self.folder.path, {"/api/v1/nodes": [node]})
        self.addCleanup(self.api.close)
        self.start_programs()

    def start_programs(self):
        keys = self.folder.path / "keys"
        certs("new", keys)
        self.aggregator = self.folder.add(Aggregator(
            self.folder.path, "aggregator",
            "--kubeconfig", self.api.kubeconfig, "--api", "127.0.0.1:0",
            "--api-tls-cert", keys / "aggregator.crt",
            "--api-tls-key", keys / "aggregator.key")).start()
        self.scheduler = self.folder.add(Program(
            self.folder.path, "scheduler", [
                BIN / "plimsoll-scheduler", "--kubeconfig",
                self.api.kubeconfig, "--http", "127.0.0.1:0",
                "--leader-elect=false", "--rebalance", "recommend",
                "--aggregator", self.aggregator.url])).start()
        self.scheduler.wait_log("caches synced")
        eventually("every informer watches",
                   lambda: self.asked(0, "watch") == INFORMERS)

    def asked(self, since, what):
        """Path and selectors of the watches, or lists, since this one."""
        return sorted(a[:3] for a in self.api.asked[since:]
                      if (a.version != "") == (what == "watch"))

    def test_every_informer_of_every_program_goes_on(self):
        before = len(self.api.asked)
        self.api.relay.drop()
        pod = launcher("new")
        pod["metadata"].update(uid="new", resourceVersion="8")
        pod["status"] = {"phase": "Pending"}
        self.api.add(PODS, "phase!=", pod)
        eventually("every informer watches again",
                   lambda: self.asked(before, "watch") == INFORMERS)
        self.assertEqual(
            {a.version for a in self.api.asked[before:]},
            {str(FIRST_VERSION)}, "watches go on, and nothing is listed")
        eventually("the pod is bound", lambda: any(
            path.endswith(f"/{pod['metadata']['name']}/binding")
            for path, _ in self.api.posted))
        self.assert_age_is_told(pod)

    def assert_age_is_told(self, pod):
        port = self.scheduler.wait_log(r" http=(\d+)")[1]
        origin = f"http://127.0.0.1:{port}"
        self.assertRegex(http_get(f"{origin}/readyz")[2],
                         r"(?m)^the cache is \d+ s old$")
        self.assertTrue(re.search(
            r"(?m)^plimsoll_scheduler_cache_age_seconds \d",
            http_get(f"{origin}/metrics")[2]))
        name = pod["metadata"]["name"]

        def decisions():
            return self.aggregator.json(
                f"/v1/decisions?pod=default/{name}")["decisions"]
        record = eventually("the decision is stored", decisions)[0]
        self.assertGreaterEqual(record["cache_age_s"], 0)


if __name__ == "__main__":
    unittest.main()
