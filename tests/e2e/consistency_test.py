"""The same input gives the same decision: simulate, score, the extender and
the live scheduler decide about the same VM, nodes and load.

simulate goes first: it places some VMs, lets them work for a step and places
one more. The cluster as simulate left it is then built on a real API server,
with reports of its nodes, and the others decide about that last VM. The
comparison has three limits:

- simulate returns only the node, never the scores.
- The extender answers in steps of 5 points, with 10 for the best node.
- score gets the time of the live decision and must return its exact scores.
"""
import collections
import contextlib
import datetime
import json
import pathlib
import subprocess
import sys
import unittest
import urllib.request

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))

from cluster import ClusterCase  # noqa: E402
from harness import (BIN, PATIENCE_S, Aggregator, Folder,  # noqa: E402
                     Program, eventually, launcher)
from kubevirt_objects import (create_running_vmi, delete_vmi,  # noqa: E402
                              serve_kubevirt_objects)
from page_fleet import FleetNode, FleetVm  # noqa: E402

PROGRAM = BIN / "plimsoll-scheduler"
NODES = ("node-0", "node-1", "node-2")
CORES, GIB, VCPUS, STEP_S = 6, 1 << 30, 4, 300

# The difference in scores that one point of an extender's answer stands for
# (docs/extender.md).
EXTENDER_STEP = 5

# The CPU that each VM uses, in percent of its vCPUs, in order of arrival.
ONE_IS_BUSY = (5, 5, 95, 5, 35)
ONE_IS_OVERLOADED = (90, 20, 10, 90, 20)


def scenario(percents):
    """VMs that work in the first step, and one that arrives in the second."""
    vms = [{"name": f"vm-{i}", "namespace": "default", "vcpus": VCPUS,
            "memory_bytes": GIB, "cpu_request_millicores": VCPUS * 100,
            "arrive_step": int(i == len(percents)), "leave_step": 2,
            "cpu_percent": [p, p]}
           for i, p in enumerate((*percents, 0))]
    return {"step_s": STEP_S, "steps": 2, "vms": vms,
            "nodes": [{"name": n, "cpu_cores": CORES, "pods": 110,
                       "memory_bytes": 16 * GIB} for n in NODES]}


def run(*arguments, given):
    done = subprocess.run(arguments, input=json.dumps(given),
                          capture_output=True, text=True, timeout=PATIENCE_S,
                          check=False)
    if done.returncode != 0:
        raise AssertionError(done.stderr)
    return done.stdout


def simulate(folder, policy, given):
    """VM -> the node where simulate places it."""
    path = folder / "placements"
    run(BIN / "plimsoll-simulate", "--scenario", "-", "--policy", policy,
        "--placements", path, given=given)
    return {p["vm"]: p["node"]
            for p in map(json.loads, path.read_text().splitlines())}


def pod_of(vm, **spec):
    """A launcher pod with the requests of a scenario's VM."""
    pod = launcher(vm["name"], cpu=f"{vm['cpu_request_millicores']}m",
                   memory=str(vm["memory_bytes"]), **spec)
    # The scenario's nodes have no labels.
    pod["spec"]["nodeSelector"] = {}
    return pod


def post(url, body):
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    with opener.open(urllib.request.Request(
            url, data=json.dumps(body).encode()),
            timeout=PATIENCE_S) as answer:
        return json.load(answer)


class Case:
    """A moment of a scenario on a real API server, and the programs that
    decide."""

    def __init__(self, test, policy, percents):
        self.kube, self.policy = test.kube, policy
        self.kubeconfig = test.cluster.kubeconfig()
        self.undo = contextlib.ExitStack()
        self.folder = Folder()
        self.undo.callback(self.folder.close)
        self.scenario = scenario(percents)
        self.simulated = simulate(self.folder.path, policy, self.scenario)

    def make(self):
        """Builds the cluster as the scenario's first step left it."""
        # A node that promises a report a minute is fresh for three.
        self.nodes = {n: FleetNode(n, [], 0.0, 0.0, CORES, 16 * GIB, 60)
                      for n in NODES}
        *vms, self.next = self.scenario["vms"]
        wanted = collections.Counter()
        for vm in vms:
            wanted[self.simulated[vm["name"]]] += self.cores(vm)
        for vm in vms:
            self.run_vm(vm, wanted[self.simulated[vm["name"]]])
        self.aggregator = self.folder.add(
            Aggregator(self.folder.path)).start()
        for node in self.nodes.values():
            self.undo.callback(node.close)
            node.send(self.aggregator.url, 10, 1)

    @staticmethod
    def cores(vm):
        return vm["vcpus"] * vm["cpu_percent"][0] / 100

    def run_vm(self, vm, wanted):
        """Runs a VM that began a step ago on a node whose VMs together want
        so many cores."""
        node = self.simulated[vm["name"]]
        vmi = create_running_vmi(self.kube, vm["name"], "default", node,
                                 cores=vm["vcpus"])
        self.undo.callback(delete_vmi, self.kube, vmi)
        pod = pod_of(vm, nodeName=node)
        pod["metadata"]["labels"]["kubevirt.io/created-by"] = (
            vmi["metadata"]["uid"])
        pod = self.kube.create(pod)
        self.undo.callback(self.kube.remove, pod)
        began = (datetime.datetime.now(datetime.timezone.utc)
                 - datetime.timedelta(seconds=STEP_S))
        self.kube.patch_status(
            pod, {"startTime": f"{began:%Y-%m-%dT%H:%M:%SZ}"})
        served = min(1, CORES / wanted)
        self.nodes[node].vms.append(FleetVm(
            pod["metadata"]["uid"], "", "", self.cores(vm) * served,
            vm["memory_bytes"], 1 - served))
        self.nodes[node].busy += self.cores(vm) * served / CORES
        self.nodes[node].waits = 1 - served

    def start_scheduler(self):
        program = self.folder.add(Program(self.folder.path, "scheduler", [
            PROGRAM, "--kubeconfig", self.kubeconfig, "--aggregator",
            self.aggregator.url, "--http", "127.0.0.1:0", "--policy",
            self.policy, "--leader-elect=false"])).start()
        program.wait_log("receiving load")
        program.wait_log("caches synced")
        program.wait_log("pods are VMs if KubeVirt has a VMI of them")
        self.url = ("http://127.0.0.1:"
                    f"{program.wait_log(r'http=([0-9]+)').group(1)}")

    def take_state(self):
        """Keeps what the API server and the aggregator answer before the
        decision."""
        self.pod = pod_of(self.next)
        asked = self.kube.request(
            "POST", "/api/v1/namespaces/default/pods?dryRun=All", self.pod)
        self.state = {
            "policy": self.policy, "pod": asked,
            "nodes": self.kube.get("/api/v1/nodes")["items"],
            "pods": self.kube.get("/api/v1/pods")["items"],
            "load": self.aggregator.json("/v1/nodes")}

    def by_extender(self):
        """Node -> points from 0 to 10."""
        answer = post(f"{self.url}/extender/prioritize", {
            "Pod": self.state["pod"], "Nodes": None, "NodeNames": NODES})
        return {one["Host"]: one["Score"] for one in answer}

    def by_scheduler(self):
        """The node that the pod is bound to, and the decision record."""
        pod = self.kube.create(self.pod)
        self.undo.callback(self.kube.remove, pod)
        node = eventually("the VM is placed", lambda: self.kube.node_of(pod))
        route = f"/v1/decisions?pod=default/{pod['metadata']['name']}"
        record, = eventually("the decision is recorded", lambda: (
            self.aggregator.json(route)["decisions"]))
        return node, record

    def by_score(self, now):
        return json.loads(run(PROGRAM, "score", "--in", "-",
                              given={**self.state, "now": now}))


class Consistency(ClusterCase):
    @classmethod
    def setUpClass(cls):
        cls.begin_alone("--with", "controller-manager")
        serve_kubevirt_objects(cls.kube)
        cls.kube.await_account("default")
        cls.make_nodes(NODES, CORES)

    def assert_all_agree(self, policy, percents):
        """The node that all of them choose."""
        case = Case(self, policy, percents)
        with case.undo:
            case.make()
            case.start_scheduler()
            case.take_state()
            points = case.by_extender()
            node, record = case.by_scheduler()
            said = case.by_score(record["time"])
        scores = {n["name"]: n["score"] for n in said["nodes"]}
        self.assertEqual(sorted(scores), sorted(NODES))
        self.assertEqual(node, case.simulated[case.next["name"]])
        self.assertEqual(record["chosen"], node)
        self.assertEqual(said["chosen"], node)
        self.assertEqual(points[node], 10)
        self.assert_recorded(record, said)
        best = max(scores.values())
        for name, score in scores.items():
            exact = max(0, 10 - (best - score) / EXTENDER_STEP)
            self.assertAlmostEqual(points[name], exact, delta=0.51)
        return node

    def assert_recorded(self, record, said):
        """The record has each node's score and terms."""
        self.assertEqual(len(record["best"]), len(NODES))
        for one in record["best"]:
            other = next(n for n in said["nodes"] if n["name"] == one["node"])
            self.assertAlmostEqual(one["score"], other["score"], places=2)
            self.assertEqual(list(one["terms"]), list(other["terms"]))
            for name, points in one["terms"].items():
                self.assertAlmostEqual(points, other["terms"][name],
                                       places=2, msg=name)

    def test_all_agree_where_one_vm_keeps_a_node_busy(self):
        real = self.assert_all_agree("real-load", ONE_IS_BUSY)
        by_requests = self.assert_all_agree("kube-scheduler", ONE_IS_BUSY)
        self.assertNotEqual(real, by_requests)

    def test_all_agree_where_a_node_is_overloaded(self):
        self.assert_all_agree("real-load", ONE_IS_OVERLOADED)

    def test_all_agree_by_the_policy_target_load_packing(self):
        self.assert_all_agree("target-load-packing", ONE_IS_BUSY)


if __name__ == "__main__":
    unittest.main()
