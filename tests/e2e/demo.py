#!/usr/bin/env python3
"""placement_test.py as a demonstration, at a person's pace: `make demo`.

There are a real API server with the stock scheduler, three synthetic nodes, and
VMs that arrive one by one. For each VM the demo prints the node that the stock
scheduler would choose, the node that plimsoll chooses, and why, with links to
the aggregator's page. DEMO_PACE=0 leaves out the pauses. On a terminal the page
stays until Enter is pressed. Ctrl-C ends all programs."""
import os
import pathlib
import signal
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))

from cluster import ClusterCase  # noqa: E402
from harness import launcher, reserving  # noqa: E402

PACE = float(os.environ.get("DEMO_PACE", "1"))
CORES = 6
# name, CPUs that running pods request, share of the CPUs in use, waiting
NODES = (("node-reserved", 4, 0.55, 0.05), ("node-idle", 2, 0.05, 0.0),
         ("node-busy", 0, 0.97, 0.6))


def say(text=""):
    print(text, flush=True)


def pause(seconds):
    time.sleep(seconds * PACE)


def bar(share, width=20):
    filled = round(max(0.0, min(1.0, share)) * width)
    return "█" * filled + "·" * (width - filled)


class Demo(ClusterCase):
    def start_cluster(self):
        say("Starting etcd, kube-apiserver, kube-controller-manager and "
            "kube-scheduler ...")
        start = time.monotonic()
        self.begin()
        version = self.kube.get("/version")["gitVersion"]
        say(f"Kubernetes {version} is up after "
            f"{time.monotonic() - start:.1f} s.")
        self.make_nodes([name for name, *_ in NODES], CORES)
        self.requested = {name: float(cores) for name, cores, *_ in NODES}
        for name, cores, *_ in NODES:
            for i in range(cores):
                self.make_for_class(reserving(f"old-{name}-{i}", name))

    def start_plimsoll(self):
        say("Starting plimsoll: an aggregator, an agent for each node, the "
            "scheduler ...")
        self.start_load({name: load for name, _, *load in NODES},
                        "--kubeconfig", self.cluster.kubeconfig())
        self.page = f"http://127.0.0.1:{self.aggregator.ports[1]}/"
        self.scheduler("--aggregator", self.aggregator.url).start().wait_log(
            "receiving load")

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
        pod = self.make_for_class(launcher(name, scheduler=scheduler))
        return pod, self.bound(pod)

    def vm_arrives(self, name, cores):
        other, stock = self.place(f"{name}-stock", "default-scheduler")
        self.kube.remove(other)
        pod, node = self.place(name, "plimsoll-scheduler")
        why = self.event(pod)["note"].partition(f" to {node}: ")[2]
        say(f"  {name}: the stock scheduler chooses {stock}, plimsoll "
            f"{node}")
        say(f"        because {why}")
        say(f"        {self.page}#/vms/default/{name}")
        self.requested[node] += 0.205
        with self.driver.lock:
            self.machines[node].run_pod(pod["metadata"]["uid"], cores=cores)
            self.machines[node].busy += cores / CORES
        pause(4)

    def play(self):
        self.start_cluster()
        self.start_plimsoll()
        say(f"The page: {self.page}")
        say("It shows live what follows, and needs no more than a browser.")
        say("\nThree nodes. By requests node-busy is empty; in truth all its "
            "CPUs are busy.")
        pause(3)
        self.show_nodes()
        say(f"The same, live: {self.page}#/nodes")
        for i in range(3):
            self.vm_arrives(f"vm-{i + 1}", cores=0.7)
        self.show_nodes()
        say(f"Why each VM is where it is: {self.page}#/decisions")
        say("Now the load on node-busy ends.")
        say(f"Its last minutes: {self.page}#/nodes/node-busy")
        with self.driver.lock:
            self.machines["node-busy"].busy = 0.02
            self.machines["node-busy"].waiting = 0.0
        for _ in range(3):
            pause(5)
            self.show_nodes()
        self.vm_arrives("vm-4", cores=0.7)
        self.vm_arrives("vm-5", cores=0.7)
        self.show_nodes()
        say(f"Which VMs would still fit: {self.page}#/room")
        self.keep_the_page()
        say("This was the demo. The same as tests: make e2e")

    def keep_the_page(self):
        """Until a person has seen enough of it."""
        if PACE and sys.stdin.isatty() and sys.stdout.isatty():
            say("The page stays until you press Enter.")
            sys.stdin.readline()


def main():
    def end(_number, _frame):
        raise KeyboardInterrupt
    signal.signal(signal.SIGTERM, end)
    demo = Demo()
    try:
        demo.play()
    except KeyboardInterrupt:
        say("\nStopping.")
        return 130
    finally:
        # A second Ctrl-C must not leave programs behind.
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        demo.doClassCleanups()
    return 0


if __name__ == "__main__":
    sys.exit(main())
