#!/usr/bin/env python3
"""Measures the scheduler and kube-scheduler 1.36 in turn, on one real API server.

The cluster has 1,000 nodes and 2,000 VM pods, and 3,000 more pods wait. One
scheduler starts and binds them; then they are deleted for the other's turn.
Neither scheduler throttles itself (kube-scheduler: qps 5000) or elects a
leader, and no other client loads the API server. Ours has an aggregator that
gets each node's load every 10 s. CPU time is that of the whole process, all
threads; the start alone (lists, caches) is measured too and subtracted. Memory
is VmHWM at the end."""
import argparse
import concurrent.futures
import http.client
import json
import pathlib
import re
import subprocess
import sys
import threading
import time

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent / "support"), str(HERE)]

from agent_bench import cpu_us, peak_rss_mb, verdict  # noqa: E402
from cluster import Cluster  # noqa: E402
from harness import (BIN, ROOT, Aggregator, Folder, Program,  # noqa: E402
                     eventually, http_get, launcher, worker)
from kube_api import KUBECLUSTER  # noqa: E402

FLEET = ROOT / "build/release/tests/bench/fleet"
PODS = "/api/v1/namespaces/default/pods"
THREADS = 4
SETTLED_S = 3     # with less than SETTLED_US of CPU in each of them
SETTLED_US = 50_000
LIMIT_S = 600


class Wire:
    """Persistent connections, one per thread."""

    def __init__(self, kube):
        self.kube = kube
        self.local = threading.local()
        self.pool = concurrent.futures.ThreadPoolExecutor(THREADS)

    def request(self, method, path, body=None, kind="application/json"):
        link = getattr(self.local, "link", None)
        if link is None:
            link = self.local.link = http.client.HTTPSConnection(
                self.kube.server.hostname, self.kube.server.port,
                context=self.kube.tls, timeout=120)
        link.request(method, path,
                     None if body is None else json.dumps(body),
                     dict(self.kube.headers, **{"Content-Type": kind}))
        answer = link.getresponse()
        text = answer.read().decode()
        if answer.status >= 300:
            raise RuntimeError(f"{method} {path}: {answer.status} {text}")
        return text

    def text(self, path):
        return self.request("GET", path)

    def all(self, function, things):
        list(self.pool.map(function, things))


def create_nodes(wire, count):
    """Without a kubelet or a controller-manager: no heartbeats, so that the
    API server is quiet, and the taint of new nodes taken off by hand."""
    def create(i):
        node = worker(f"node-{i:04}", cores=16, memory="64Gi")
        node["metadata"]["annotations"] = {"plimsoll.io/test-silent": "true"}
        wire.request("POST", "/api/v1/nodes", node)
        wire.request("PATCH", f"/api/v1/nodes/node-{i:04}",
                     {"spec": {"taints": None}},
                     "application/merge-patch+json")
    wire.all(create, range(count))


def create_pods(wire, prefix, count, **options):
    def create(i):
        pod = launcher(f"{prefix}-{i}", memory="1Gi", **options)
        pod["metadata"]["labels"]["turn"] = prefix
        wire.request("POST", PODS, pod)
    wire.all(create, range(count))


def bindings(wire):
    """The number that the API server has accepted, by its own metric."""
    text = wire.text("/metrics")
    return sum(int(v) for v in re.findall(
        r'^apiserver_request_total\{code="201",[^}]*'
        r'subresource="binding"[^}]*\} (\d+)$', text, re.M))


def settle(pid):
    """Waits until the process is idle."""
    quiet, last = 0, cpu_us(pid)
    while quiet < SETTLED_S:
        time.sleep(1)
        now = cpu_us(pid)
        quiet = quiet + 1 if now - last < SETTLED_US else 0
        last = now


class Fleet:
    """An aggregator with the load of every node."""

    def __init__(self, folder, nodes):
        self.aggregator = folder.add(Aggregator(folder.path)).start()
        self.sender = subprocess.Popen(
            [FLEET, "send", self.aggregator.url, str(nodes), "0", "10000",
             str(LIMIT_S)], stdout=subprocess.DEVNULL)
        eventually("all nodes report", lambda: len(self.aggregator.json(
            "/v1/nodes")["nodes"]) == nodes, every=1)

    def close(self):
        self.sender.kill()
        self.sender.wait()


class Ours:
    profile = "plimsoll-scheduler"

    def __init__(self, folder, cluster, fleet, binaries=None):
        self.name = "plimsoll-scheduler" + (" (beside)" if binaries else "")
        self.program = (binaries or BIN) / "plimsoll-scheduler"
        self.folder, self.cluster = folder, cluster
        self.aggregator = fleet.aggregator

    def start(self):
        return self.folder.add(Program(self.folder.path, "ours", [
            self.program, "--kubeconfig",
            self.cluster.kubeconfig(), "--leader-elect=false", "--http",
            "127.0.0.1:0", "--aggregator", self.aggregator.url])).start()

    def tell(self, program):
        port = program.wait_log(r"http=(\d+)").group(1)
        text = http_get(f"http://127.0.0.1:{port}/metrics")[2]
        def of(series):
            return float(next(line for line in text.splitlines()
                              if line.startswith(series + " ")).split()[-1])
        mean = (of("scheduler_scheduling_algorithm_duration_seconds_sum")
                / of("scheduler_scheduling_algorithm_duration_seconds_count"))
        print(f"  ours: a decision took {mean * 1e3:.2f} ms in the mean; "
              f"{of('plimsoll_scheduler_without_load_total'):.0f} decisions "
              "without load data")


class Theirs:
    name = "kube-scheduler 1.36"
    profile = "default-scheduler"

    def __init__(self, folder, cluster):
        self.folder = folder
        self.config = folder.path / "scheduler.yaml"
        self.config.write_text(json.dumps({
            "apiVersion": "kubescheduler.config.k8s.io/v1",
            "kind": "KubeSchedulerConfiguration",
            "leaderElection": {"leaderElect": False},
            "clientConnection": {"kubeconfig": str(cluster.kubeconfig()),
                                 "qps": 5000, "burst": 5000}}))

    def start(self):
        return self.folder.add(Program(self.folder.path, "theirs", [
            KUBECLUSTER, "kube-scheduler", "--config", self.config,
            "--secure-port=0"])).start()

    def tell(self, program):
        """Its listener is off."""


def turn(wire, scheduler, prefix, pods):
    """One scheduler: the start alone, then the start with pending pods."""
    program = scheduler.start()
    settle(program.process.pid)
    idle_us = cpu_us(program.process.pid)
    program.stop()
    create_pods(wire, prefix, pods, scheduler=scheduler.profile)
    before = bindings(wire)
    program = scheduler.start()
    first, deadline = None, time.monotonic() + LIMIT_S
    while True:
        now, count = time.monotonic(), bindings(wire) - before
        if count and first is None:
            first = now, count
        if count == pods:
            break
        if now > deadline or not program.running():
            raise RuntimeError(f"{scheduler.name}: {count} of {pods} bound: "
                               f"{program.log()[-2000:]}")
        time.sleep(0.25)
    settle(program.process.pid)
    used = cpu_us(program.process.pid)
    rss = peak_rss_mb(program.process.pid)
    scheduler.tell(program)
    program.stop()
    wire.request("DELETE", f"{PODS}?labelSelector=turn%3D{prefix}",
                 {"kind": "DeleteOptions", "apiVersion": "v1",
                  "gracePeriodSeconds": 0})
    return {"per_s": (pods - first[1]) / (now - first[0]),
            "start_ms": idle_us / 1e3,
            "pod_us": (used - idle_us) / pods, "whole_us": used / pods,
            "rss": rss}


def measure(options):
    nodes = options.nodes
    folder = Folder()
    cluster = Cluster("--time-limit", "0")
    found = {}
    schedulers = []
    fleet = None
    try:
        cluster.await_ready()
        kube = cluster.kube()
        wire = Wire(kube)
        kube.request("POST", "/api/v1/namespaces/default/serviceaccounts", {
            "apiVersion": "v1", "kind": "ServiceAccount",
            "metadata": {"name": "default"}})
        create_nodes(wire, nodes)
        wire.all(lambda i: create_running(wire, i, nodes),
                 range(options.running))
        if options.only != "theirs":
            fleet = Fleet(folder, nodes)
            schedulers.append(Ours(folder, cluster, fleet))
        if options.beside:
            schedulers.append(Ours(folder, cluster, fleet, options.beside))
        if options.only != "ours":
            schedulers.append(Theirs(folder, cluster))
        for i in range(options.rounds):
            for at, scheduler in enumerate(schedulers):
                found.setdefault(scheduler.name, []).append(
                    turn(wire, scheduler, f"turn-{i}-{at}", options.pods))
    finally:
        if fleet:
            fleet.close()
        folder.close()
        cluster.close()
    return found


def create_running(wire, i, nodes):
    """A VM that has run for a day."""
    pod = launcher(f"old-{i}", memory="1Gi", nodeName=f"node-{i % nodes:04}")
    wire.request("POST", PODS, pod)
    since = time.strftime("%Y-%m-%dT%H:%M:%SZ",
                          time.gmtime(time.time() - 86400))
    wire.request("PATCH", f"{PODS}/{pod['metadata']['name']}/status",
                 {"status": {"phase": "Running", "startTime": since}},
                 "application/merge-patch+json")


def median(turns, key):
    values = sorted(t[key] for t in turns)
    return values[len(values) // 2]


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--nodes", type=int, default=1000)
    parser.add_argument("--running", type=int, default=2000,
                        help="pods that are there")
    parser.add_argument("--pods", type=int, default=3000, help="that wait")
    parser.add_argument("--rounds", type=int, default=1)
    parser.add_argument("--only", choices=("ours", "theirs"),
                        help="to look at one with a profiler")
    parser.add_argument("--beside", type=pathlib.Path, metavar="DIR",
                        help="with the plimsoll-scheduler of another build")
    options = parser.parse_args()
    found = measure(options)
    print(f"{options.nodes} nodes, {options.running} pods there, "
          f"{options.pods} wait; medians of {options.rounds}")
    print(f"{'':22}{'pods/s':>8}{'CPU a pod':>12}{'with start':>12}"
          f"{'start':>10}{'peak RSS':>11}")
    for name, turns in found.items():
        print(f"{name:22}{median(turns, 'per_s'):8.0f}"
              f"{median(turns, 'pod_us'):9.0f} us"
              f"{median(turns, 'whole_us'):9.0f} us"
              f"{median(turns, 'start_ms'):7.0f} ms"
              f"{median(turns, 'rss'):8.1f} MB")
    if options.only:
        return
    ours, theirs = found["plimsoll-scheduler"], found[Theirs.name]
    cpu = median(ours, "pod_us") / median(theirs, "pod_us")
    rss = median(ours, "rss") / median(theirs, "rss")
    rate = median(ours, "per_s") / median(theirs, "per_s")
    print(f"{verdict(cpu <= 1 / 6)}: CPU a bound pod {cpu:.3f} of theirs "
          "(budget 0.167)")
    print(f"{verdict(rate >= 1.5)}: pods a second {rate:.2f} of theirs "
          "(budget 1.5)")
    print(f"{verdict(rss <= 1 / 4)}: peak RSS {rss:.3f} of theirs "
          "(budget 0.25)")


if __name__ == "__main__":
    main()
