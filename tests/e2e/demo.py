#!/usr/bin/env python3
"""The story of the end-to-end tests, live and at a person's pace: `make demo`.

A real API server with the stock scheduler, three nodes made of files, and VMs
that arrive one by one. For each, where the stock scheduler would have put it
and where plimsoll puts it, and why. DEMO_PACE=0 leaves out the pauses."""
import os
import pathlib
import signal
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))

from cluster import any_cluster  # noqa: E402
from harness import (BIN, Aggregator, Driver, Folder, Machine,  # noqa: E402
                     Program, agent, eventually, launcher, reserving,
                     worker)

PACE = float(os.environ.get("DEMO_PACE", "1"))
CORES = 6
# name, requested by pods that are there, share of the CPUs in use, waiting
NODES = (("node-reserved", 4, 0.55, 0.05), ("node-idle", 2, 0.05, 0.0),
         ("node-busy", 0, 0.97, 0.6))


def say(text=""):
    print(text, flush=True)


def pause(seconds):
    time.sleep(seconds * PACE)


def bar(share, width=20):
    filled = round(max(0.0, min(1.0, share)) * width)
    return "█" * filled + "·" * (width - filled)


class Demo:
    def __init__(self):
        self.folder = Folder()
        self.cluster = None
        self.driver = None
        self.machines = {}
        self.requested = {}
        self.pods = []

    def close(self):
        if self.driver:
            self.driver.stop()
        if self.cluster:
            kube = self.cluster.kube()
            for pod in self.pods:
                kube.delete_pod(pod)
            for name, *_ in NODES:
                kube.delete(f"/api/v1/nodes/{name}")
            self.cluster.close()
        self.folder.close()

    def start_cluster(self):
        say("Starting etcd, kube-apiserver, kube-controller-manager and "
            "kube-scheduler ...")
        start = time.monotonic()
        self.cluster = any_cluster()
        self.kube = self.cluster.kube()
        version = self.kube.get("/version")["gitVersion"]
        say(f"Kubernetes {version} is up after "
            f"{time.monotonic() - start:.1f} s.")
        for name, reserved, *_ in NODES:
            self.kube.create(worker(name, cores=CORES))
        self.kube.await_account("default")
        for name, reserved, *_ in NODES:
            self.kube.await_node(name)
            self.requested[name] = float(reserved)
            for i in range(reserved):
                self.pods.append(self.kube.create(
                    reserving(f"old-{name}-{i}", name)))

    def start_plimsoll(self):
        say("Starting plimsoll: an aggregator, an agent for each node, the "
            "scheduler ...")
        path = self.folder.path
        self.aggregator = self.folder.add(Aggregator(path)).start()
        for name, _, busy, waiting in NODES:
            machine = Machine(path / name, cores=CORES)
            machine.busy, machine.waiting = busy, waiting
            self.machines[name] = machine
            self.folder.add(agent(path, name, [self.aggregator.url],
                                  *machine.agent_flags())).start()
        self.driver = Driver(self.machines.values()).start()
        eventually("all nodes report", lambda: all(
            (self.aggregator.node(n[0]) or {}).get("cpu", {}).get(
                "used_cores_10s") is not None for n in NODES))
        self.folder.add(Program(path, "scheduler", [
            BIN / "plimsoll-scheduler", "--kubeconfig",
            self.cluster.kubeconfig(), "--aggregator", self.aggregator.url,
            "--http", "127.0.0.1:0"])).start().wait_log("load is coming in")

    def show_nodes(self):
        say()
        say(f"  {'':14} {'requested CPU':27} {'CPU really used':27} waiting")
        for name, *_ in NODES:
            node = self.aggregator.node(name)
            asked = self.requested[name] / CORES
            used = node["cpu"]["used_cores_10s"] / CORES
            wait = node["cpu"].get("pressure_some", 0)
            say(f"  {name:14} {bar(asked)} {asked:5.0%}  {bar(used)} "
                f"{used:5.0%}  {wait:5.0%}")
        say()

    def place(self, name, scheduler):
        pod = self.kube.create(launcher(name, scheduler=scheduler))
        self.pods.append(pod)
        node = eventually(f"{name} is bound", lambda: self.kube.node_of(pod))
        return pod, node

    def vm_arrives(self, name, cores):
        twin, stock = self.place(f"{name}-stock", "default-scheduler")
        self.kube.delete_pod(twin)
        self.pods.remove(twin)
        pod, node = self.place(name, "plimsoll-scheduler")
        event = eventually("its event", lambda: next(
            (e for e in self.kube.events(pod) if e["reason"] == "Scheduled"),
            None))
        why = event["note"].partition(f" to {node}: ")[2]
        say(f"  {name}: the stock scheduler says {stock}, plimsoll says "
            f"{node}")
        say(f"        because {why}")
        self.requested[node] += 0.205
        with self.driver.lock:
            self.machines[node].run_pod(pod["metadata"]["uid"], cores=cores)
            self.machines[node].busy += cores / CORES
        pause(4)

    def tell(self):
        self.start_cluster()
        self.start_plimsoll()
        say("\nThree nodes. By requests node-busy is empty; in truth all its "
            "CPUs are at work.")
        pause(3)
        self.show_nodes()
        for i in range(3):
            self.vm_arrives(f"vm-{i + 1}", cores=0.7)
        self.show_nodes()
        say("Now the load on node-busy ends.")
        with self.driver.lock:
            self.machines["node-busy"].busy = 0.02
            self.machines["node-busy"].waiting = 0.0
        for _ in range(3):
            pause(5)
            self.show_nodes()
        self.vm_arrives("vm-4", cores=0.7)
        self.vm_arrives("vm-5", cores=0.7)
        self.show_nodes()
        say("That is all of it. The same, as tests: make e2e")


def main():
    def end(_number, _frame):
        raise KeyboardInterrupt
    signal.signal(signal.SIGTERM, end)
    demo = Demo()
    try:
        demo.tell()
    except KeyboardInterrupt:
        say("\nStopping.")
        return 130
    finally:
        demo.close()
    return 0


if __name__ == "__main__":
    sys.exit(main())
