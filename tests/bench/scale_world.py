"""The programs that scale_bench.py measures: a control plane over an etcd that
is full from the start, players of agents, VM pods that come and go, aggregators
and schedulers. Everything ends with this process."""
import bisect
import collections
import json
import pathlib
import re
import subprocess
import sys
import threading
import time

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent / "support"), str(HERE)]

from agent_bench import cpu_us, peak_rss_mb  # noqa: E402
from cluster import LocalCluster  # noqa: E402
from harness import (BIN, FIXTURES, ROOT, Aggregator, Program,  # noqa: E402
                     http_get)
from kube_api import KUBECLUSTER  # noqa: E402
from ports import free_port  # noqa: E402
from protobuf import fields  # noqa: E402
from wire_peer import WirePeer, pack  # noqa: E402

FLEET = ROOT / "build/release/tests/bench/fleet"
LAUNCHER = FIXTURES / "pod-plain.json"
# Ends a child with this process, even by kill -9.
BOUND_TO_PARENT = ["setpriv", "--pdeathsig", "KILL"]


class BoundProgram(Program):
    """A program that ends with this process."""

    def __init__(self, folder, name, arguments):
        super().__init__(folder, name, [*BOUND_TO_PARENT, *arguments])


class BoundAggregator(Aggregator):
    """An aggregator that ends with this process."""

    wrapper = BOUND_TO_PARENT

    def disk_mb(self):
        return size_mb(self.db.parent.glob(self.db.name + "*"))


def size_mb(paths):
    return sum(p.stat().st_size for p in paths if p.is_file()) / 1e6


class FullCluster(LocalCluster):
    """etcd and kube-apiserver with nodes and running VM pods."""

    def __init__(self, folder, nodes, vms, minutes):
        super().__init__(folder.path / "control-plane")
        self.base.mkdir()
        self.etcd = self.base / "etcd"
        subprocess.run(
            [KUBECLUSTER, "fill", "--etcd-data", self.etcd, "--pod", LAUNCHER,
             "--nodes", str(nodes), "--vms", str(vms)], check=True,
            stderr=subprocess.DEVNULL)
        self.program = folder.add(BoundProgram(folder.path, "kubecluster", [
            KUBECLUSTER, "up", "--dir", self.dir, "--etcd-data", self.etcd,
            "--node-authorizer=false", "--time-limit", f"{minutes}m"])).start()
        self.program.wait_log("kubeconfig: ")

    def etcd_mb(self):
        return size_mb(self.etcd.rglob("*"))

    def programs(self):
        return {name: child["pid"]
                for name, child in self.state()["children"].items()}


class Fleet(BoundProgram):
    """The agents of all nodes, before one aggregator."""

    def __init__(self, folder, name, aggregator, nodes, vms, interval_s,
                 seconds):
        super().__init__(folder.path, name, [
            FLEET, "send", aggregator.url, nodes, vms,
            int(interval_s * 1000), int(seconds), "steady"])
        folder.add(self).start()


class ChurnLog:
    """When VM pods were created, bound and deleted, by the lines of
    `kubecluster churn`. Times are those of time.time()."""

    def __init__(self):
        self.lock = threading.Lock()
        self.counts = collections.Counter()
        self.created = {}     # uid -> time
        self.bound_at = []    # rising
        self.bound_uids = []  # in the same order
        self.failures = []

    def take(self, line):
        what, ms, rest = line.rstrip("\n").split(" ", 2)
        at, uid = int(ms) / 1000, rest.split(" ")[0]
        with self.lock:
            self.counts[what] += 1
            if what == "created":
                self.created[uid] = at
            elif what == "bound":
                self.bound_at.append(max([at, *self.bound_at[-1:]]))
                self.bound_uids.append(uid)
            elif what == "failed":
                self.failures.append(rest)

    def waits(self, since):
        """Milliseconds from each request to create a pod to its binding, of
        pods from number `since` on in the order of bindings. The watch may
        tell of a binding before the creation is answered; such a pod is left
        out if it is the last."""
        with self.lock:
            return [(at - self.created[uid]) * 1e3
                    for uid, at in zip(self.bound_uids[since:],
                                       self.bound_at[since:])
                    if uid in self.created]

    def bound(self):
        with self.lock:
            return len(self.bound_at)

    def first_bound_after(self, at):
        """The time of the first binding after this time, or None."""
        with self.lock:
            i = bisect.bisect_right(self.bound_at, at)
            return self.bound_at[i] if i < len(self.bound_at) else None

    def waiting(self):
        with self.lock:
            return self.counts["created"] - self.counts["bound"]


class Churn(ChurnLog):
    """VM pods that are created, bound, and deleted again."""

    def __init__(self, folder, cluster, per_minute, stay_s):
        super().__init__()
        folder.programs.append(self)
        self.process = subprocess.Popen(
            [*BOUND_TO_PARENT, KUBECLUSTER, "churn", "--kubeconfig",
             cluster.kubeconfig(), "--pod", LAUNCHER, "--per-minute",
             str(per_minute), "--stay", f"{stay_s}s"],
            stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        threading.Thread(target=self.read, daemon=True).start()

    def read(self):
        for line in self.process.stdout:
            self.take(line)

    def kill(self):
        self.process.kill()
        self.process.wait()


class Scheduler(BoundProgram):
    def __init__(self, folder, name, cluster, aggregators):
        self.port = free_port()
        super().__init__(folder.path, name, [
            BIN / "plimsoll-scheduler", "--kubeconfig", cluster.kubeconfig(),
            "--http", f"127.0.0.1:{self.port}", *(
                word for a in aggregators for word in ("--aggregator", a.url))])
        folder.add(self)

    def series(self):
        """Series with labels -> value; None while it does not answer."""
        try:
            text = http_get(f"http://127.0.0.1:{self.port}/metrics")[2]
        except OSError:
            return None
        return {name: float(value) for name, value in re.findall(
            r"^([^#\s][^ ]*) (\S+)$", text, re.M)}

    def is_leader(self):
        series = self.series() or {}
        return any(value == 1 for name, value in series.items()
                   if name.startswith("leader_election_master_status"))


class Usage:
    """CPU time and memory of programs, since the last look at each."""

    def __init__(self):
        self.last = {}

    def look(self, programs):
        """programs: name -> pid. Programs that ended are left out."""
        found = {}
        for name, pid in programs.items():
            try:
                now, peak = cpu_us(pid) / 1e6, peak_rss_mb(pid)
                status = pathlib.Path(f"/proc/{pid}/status").read_text()
            except (OSError, AttributeError):
                continue
            known, before = self.last.get(name, (pid, 0))
            self.last[name] = pid, now
            found[name] = {
                "cpu_s": round(now - (before if known == pid else 0), 3),
                "rss_mb": int(re.search(r"VmRSS:\s*(\d+)", status)[1]) / 1024,
                "peak_mb": round(peak, 1)}
        return found


def quantile(values, share):
    values = sorted(values)
    return values[int((len(values) - 1) * share)] if values else None


def histogram(series, name):
    """Upper bound -> number of values up to it and above the one before."""
    below = {}
    for key, value in series.items():
        found = re.fullmatch(rf'{name}_bucket{{le="(.*)"}}', key)
        if found:
            below[float(found[1].replace("+Inf", "inf"))] = value
    counts, last = {}, 0
    for bound, value in sorted(below.items()):
        counts[bound], last = value - last, value
    return counts


def histogram_quantile(counts, share):
    """As Prometheus reads it: values are spread evenly in a bucket."""
    total, low = sum(counts.values()), 0
    rest = total * share
    for bound, count in sorted(counts.items()):
        if count and rest <= count:
            return low + (bound - low) * rest / count
        rest, low = rest - count, bound
    return None


def snapshot_size(aggregator, nodes):
    """Bytes of everything that a scheduler gets first, and of what has
    changed a second later."""
    peer = WirePeer(aggregator.url, "bench", 1)
    try:
        full = parts = seen = 0
        at = 0, 0
        while seen < nodes:
            size, count, at = snapshot(peer, at)
            full, parts, seen = full + size, parts + 1, seen + count
        time.sleep(1)
        size, count, _ = snapshot(peer, at)
        return {"full_bytes": full, "full_parts": parts,
                "changed_bytes": size, "changed_nodes": count}
    finally:
        peer.close()


def snapshot(peer, at):
    """Its bytes, number of nodes, and where the next one begins."""
    reply = peer.request((3, pack((1, at[0]), (2, at[1]))))
    found = fields(reply[3][0])
    return (len(reply[3][0]), len(found.get(3, [])),
            (found[1][0], found[2][0]))


def aggregator_series(aggregator, *names):
    """Series without labels -> value."""
    text = aggregator.get("/metrics")[2]
    return {name: float(re.search(rf"^{name} (\S+)$", text, re.M)[1])
            for name in names}


def fresh_nodes(aggregator):
    try:
        return aggregator.get("/v1/nodes")[2].count('"state":"fresh"')
    except OSError:
        return 0


def load_average():
    return float(pathlib.Path("/proc/loadavg").read_text().split()[0])


def machine_cpu_s():
    """CPU seconds of all programs of this machine, and the stolen ones."""
    words = pathlib.Path("/proc/stat").read_text().split("\n")[0].split()[1:]
    user, nice, system, _, _, irq, softirq, steal = map(int, words[:8])
    return (user + nice + system + irq + softirq) / 100, steal / 100


def write_line(path, **members):
    with open(path, "a") as out:
        out.write(json.dumps(members) + "\n")


