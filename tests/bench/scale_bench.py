#!/usr/bin/env python3
"""Runs 5,000 nodes with 30 VMs each, reports each 10 s, and 2,000 pods a minute
for an hour, and compares what plimsoll takes with its goals.

etcd and kube-apiserver are real. Their 150,000 running launcher pods hold what
plimsoll reads of a pod, and are written into etcd before kube-apiserver starts
(kubecluster fill). One program plays all agents (tests/bench/fleet_main.c);
another creates VM pods as virt-controller does, says as a kubelet that they
run, and deletes them after a minute (kubecluster churn). The agents do not
report these. No kubelet renews a Lease, and there is no KubeVirt. Two schedulers
elect a leader, and each watches all pods; each aggregator watches all launcher
pods.

All aggregators and schedulers start together before the full cluster, while
pods wait: that is the cold start. After the last minute the leader is killed,
and then the first aggregator is restarted. CPU is that of the whole process.
Decision times are those of the scheduler's own histograms: on the clock, with
the time in which other programs had the CPU, and of CPU. --results has a line of
JSON for each minute, so that a run which is cut off leaves its figures."""
import argparse
import pathlib
import signal
import sys
import time

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent / "support"), str(HERE)]

from agent_bench import verdict  # noqa: E402
from harness import Folder, eventually  # noqa: E402
from scale_world import (BoundAggregator, Churn, Fleet,  # noqa: E402
                         FullCluster, Scheduler, Usage, aggregator_series,
                         fresh_nodes, histogram, histogram_quantile,
                         load_average, machine_cpu_s, quantile,
                         snapshot_size, write_line)

# The goals.
AGGREGATOR_CORES, AGGREGATOR_MB, SCHEDULER_MB = 0.2, 400, 500
DECISION_MS, COLD_START_S = 5, 30
DECISION = "scheduler_scheduling_algorithm_duration_seconds"
DECISION_CPU = "plimsoll_scheduler_decision_cpu_seconds"
FIRST_PODS = 20     # that wait when the schedulers start
# The watch tells of the killed leader's bindings a moment later, while its Lease
# lasts.
LATE_EVENTS_S = 3
SPARE_MINUTES = 30  # of the time limits, beside the measured minutes


def say(text):
    print(time.strftime("%H:%M:%S"), text, flush=True)


class Run:
    """One run with one number of aggregators."""

    def __init__(self, options, aggregators):
        self.o = options
        self.folder = Folder()
        self.results = pathlib.Path(options.results)
        self.usage = Usage()
        self.minutes, self.facts = [], {"aggregators": aggregators}
        self.aggregators, self.schedulers, self.fleets = [], [], []
        self.cluster = self.churn = None
        self.began = None
        self.last_series, self.last_bound = {}, 0

    # ---- set-up ----

    def start(self):
        limit = self.o.minutes + SPARE_MINUTES
        say(f"filling etcd with {self.o.nodes} nodes and "
            f"{self.o.nodes * self.o.vms} pods")
        before = time.monotonic()
        self.cluster = FullCluster(self.folder, self.o.nodes, self.o.vms,
                                   limit)
        self.facts["control_plane_s"] = time.monotonic() - before
        say(f"kube-apiserver is ready, {self.facts['control_plane_s']:.0f} s")
        for i in range(self.facts["aggregators"]):
            self.start_fleet(i, limit)
        self.churn = Churn(self.folder, self.cluster,
                           self.o.pods_per_minute, self.o.stay)
        eventually("pods wait", lambda: self.churn.waiting() >= FIRST_PODS)
        self.schedulers = [
            Scheduler(self.folder, f"scheduler-{i + 1}", self.cluster,
                      self.aggregators) for i in range(2)]

    def start_fleet(self, i, minutes):
        """The agents run before their aggregator does."""
        aggregator = self.folder.add(BoundAggregator(
            self.folder.path, f"aggregator-{i + 1}", "--kubeconfig",
            self.cluster.kubeconfig(), "--compact-after",
            self.o.compact_after))
        self.aggregators.append(aggregator)
        self.fleets.append(Fleet(
            self.folder, f"agents-{i + 1}", aggregator, self.o.nodes,
            self.o.vms, self.o.interval, minutes * 60))

    def cold_start(self):
        self.began = time.time()
        for program in self.aggregators + self.schedulers:
            program.begin()
        self.look()
        first = eventually(
            "a pod is bound",
            lambda: self.churn.first_bound_after(self.began))
        self.note("first_decision_s", first - self.began)
        eventually("no pods wait", lambda: self.churn.waiting() < max(
            FIRST_PODS, self.o.pods_per_minute / 60), every=0.5)
        self.note("backlog_over_s", time.time() - self.began)
        eventually("the load of all nodes is known", self.all_fresh, every=0.5)
        self.note("all_fresh_s", time.time() - self.began)
        usage = self.look()
        self.facts["cold_start_usage"] = usage
        write_line(self.results, kind="cold start", **self.facts)

    def all_fresh(self):
        return all((s.series() or {}).get(
            'plimsoll_scheduler_nodes{load="fresh"}') == self.o.nodes
            for s in self.schedulers)

    def note(self, name, value):
        self.facts[name] = round(value, 2)
        say(f"{name} {value:.1f}")

    # ---- minutes ----

    def programs(self):
        found = self.cluster.programs()
        for program in (self.aggregators + self.schedulers + self.fleets):
            if program.running():
                found[program.name] = program.process.pid
        found["churn"] = self.churn.process.pid
        return found

    def look(self):
        return self.usage.look(self.programs())

    def leader(self):
        return next((s for s in self.schedulers if s.is_leader()), None)

    def decisions(self):
        """What the leader's series have gained since the last call."""
        leader = self.leader()
        series = leader.series() if leader else {}
        changed = {name: value - self.last_series.get(name, 0)
                   for name, value in series.items()}
        self.last_series = series
        return changed

    def measure(self):
        self.decisions()
        self.last_bound = self.churn.bound()
        self.look()
        cpu, at = machine_cpu_s(), time.monotonic()
        for minute in range(1, self.o.minutes + 1):
            time.sleep(max(0, at + 60 * minute - time.monotonic()))
            cpu = self.measure_minute(minute, cpu)
            if minute in (2, self.o.minutes):
                self.snapshots()

    def measure_minute(self, minute, cpu_before):
        usage = self.look()
        changed = self.decisions()
        waits = self.churn.waits(self.last_bound)
        bound = self.churn.bound()
        cpu = machine_cpu_s()
        found = {
            "minute": minute, "programs": usage,
            "decisions": present(histogram(changed, DECISION)),
            "decisions_cpu": present(histogram(changed, DECISION_CPU)),
            "decision_mean_ms": mean_ms(changed, DECISION),
            "decision_cpu_mean_ms": mean_ms(changed, DECISION_CPU),
            "without_load": changed.get(
                "plimsoll_scheduler_without_load_total"),
            "bound": bound - self.last_bound, "pods": dict(self.churn.counts),
            "wait_p50_ms": quantile(waits, 0.5),
            "wait_p99_ms": quantile(waits, 0.99),
            "database_mb": [a.disk_mb() for a in self.aggregators],
            "etcd_mb": self.cluster.etcd_mb(),
            "machine_cpu_s": cpu[0] - cpu_before[0],
            "stolen_s": cpu[1] - cpu_before[1], "load": load_average()}
        self.last_bound = bound
        self.minutes.append(found)
        write_line(self.results, kind="minute",
                   aggregators=self.facts["aggregators"], **found)
        say(f"minute {minute}: bound {found['bound']}, waited "
            f"{found['wait_p50_ms'] or 0:.0f}/"
            f"{found['wait_p99_ms'] or 0:.0f} ms, load "
            f"{found['load']:.1f}; CPU s and MB: " + ", ".join(
                f"{name} {u['cpu_s']:.1f} {u['rss_mb']:.0f}"
                for name, u in usage.items()))
        return cpu

    def check(self):
        """The pods that the agents report are those of the API server."""
        for aggregator in self.aggregators:
            found = aggregator_series(
                aggregator, "plimsoll_aggregator_wrong_pod_claims_total",
                "plimsoll_aggregator_vms", "plimsoll_aggregator_identities")
            wrong, vms, named = found.values()
            wanted = self.o.nodes * self.o.vms
            if wrong or vms != wanted or named < wanted:
                raise AssertionError(f"{aggregator.name}: {found}")

    def snapshots(self):
        sizes = snapshot_size(self.aggregators[0], self.o.nodes)
        self.facts["snapshot"] = sizes
        say(f"snapshot {sizes}")
        write_line(self.results, kind="snapshot", **sizes)

    # ---- the end ----

    def take_over(self):
        leader = self.leader()
        if leader is None:
            say("no scheduler leads")
            return
        at = time.time()
        leader.kill()
        first = eventually("the other scheduler binds a pod",
                           lambda: self.churn.first_bound_after(
                               at + LATE_EVENTS_S))
        self.note("take_over_s", first - at)

    def restart(self):
        aggregator = self.aggregators[0]
        at = time.time()
        aggregator.stop()
        self.note("aggregator_stop_s", time.time() - at)
        at = time.time()
        aggregator.start()
        self.note("aggregator_listens_s", time.time() - at)
        eventually("all nodes are fresh",
                   lambda: fresh_nodes(aggregator) == self.o.nodes, every=1)
        self.note("aggregator_fresh_s", time.time() - at)

    def close(self):
        if self.churn and self.churn.failures:
            say(f"churn: {len(self.churn.failures)} failures, the first: "
                f"{self.churn.failures[0]}")
        if self.o.keep_logs:
            pathlib.Path(self.o.keep_logs).mkdir(parents=True, exist_ok=True)
            for program in self.folder.programs:
                if hasattr(program, "log_path"):
                    target = pathlib.Path(self.o.keep_logs, f"{program.name}"
                                          f"-{self.facts['aggregators']}.log")
                    target.write_text(program.log())
        self.folder.close()

    def run(self):
        try:
            self.start()
            self.cold_start()
            self.measure()
            self.check()
            self.take_over()
            self.restart()
            write_line(self.results, kind="end", **self.facts)
        finally:
            self.close()
        return self


def present(counts):
    return {str(bound): count for bound, count in counts.items() if count}


def mean_ms(changed, name):
    count = changed.get(f"{name}_count")
    return changed[f"{name}_sum"] / count * 1e3 if count else None


# ---- the table ----

def total(minutes, member):
    found = {}
    for minute in minutes:
        for key, value in minute[member].items():
            found[float(key)] = found.get(float(key), 0) + value
    return found


def tell_programs(minutes):
    names = list(dict.fromkeys(
        name for m in minutes for name in m["programs"]))
    print(f"{'program':18}{'CPU s a minute':>16}{'cores':>8}{'last RSS':>12}"
          f"{'peak RSS':>12}")
    for name in names:
        seen = [m["programs"][name] for m in minutes if name in m["programs"]]
        cpu = sum(s["cpu_s"] for s in seen) / len(seen)
        print(f"{name:18}{cpu:16.2f}{cpu / 60:8.3f}{seen[-1]['rss_mb']:9.0f} "
              f"MB{max(s['peak_mb'] for s in seen):9.0f} MB")


def worst(minutes, kind, member):
    """Of the mean CPU, in cores, or of the peaks of the programs of a kind."""
    by_name = {}
    for minute in minutes:
        for name, usage in minute["programs"].items():
            if name.startswith(kind):
                by_name.setdefault(name, []).append(usage[member])
    if member == "cpu_s":
        return max(sum(v) / len(v) / 60 for v in by_name.values())
    return max(max(v) for v in by_name.values())


def tell(options, run):
    minutes, facts = run.minutes, run.facts
    print(f"\n{options.nodes} nodes with {options.vms} VMs, reports each "
          f"{options.interval} s, {options.pods_per_minute} pods a minute, "
          f"{facts['aggregators']} aggregators, {len(minutes)} minutes")
    tell_programs(minutes)
    clock = decision_times(minutes, "decisions", "on the clock")
    p99 = decision_times(minutes, "decisions_cpu", "of CPU")
    print(f"databases {[round(x) for x in minutes[-1]['database_mb']]} MB, "
          f"etcd {minutes[-1]['etcd_mb']:.0f} MB")
    for name, value in facts.items():
        if name != "cold_start_usage":
            print(f"{name}: {value}")
    cores = worst(minutes, "aggregator", "cpu_s")
    for holds, text in (
            (cores <= AGGREGATOR_CORES, f"an aggregator takes {cores:.3f} "
             f"cores (goal {AGGREGATOR_CORES})"),
            *memory(minutes, "aggregator", AGGREGATOR_MB),
            *memory(minutes, "scheduler", SCHEDULER_MB),
            (p99 <= DECISION_MS,
             f"decision p99 {p99:.2f} ms of CPU, {clock:.2f} ms on the clock "
             f"(goal {DECISION_MS} ms)"),
            (facts["first_decision_s"] <= COLD_START_S,
             f"first decision {facts['first_decision_s']:.1f} s after a cold "
             f"start (goal {COLD_START_S} s)")):
        print(f"{verdict(holds)}: {text}")


def decision_times(minutes, member, what):
    """Prints them; the p99 in ms."""
    counts = total(minutes, member)
    p50, p99 = (histogram_quantile(counts, q) * 1e3 for q in (0.5, 0.99))
    print(f"decisions: {sum(counts.values()):.0f}, p50 {p50:.2f} ms, p99 "
          f"{p99:.2f} ms {what}")
    return p99


def memory(minutes, kind, goal):
    peak = worst(minutes, kind, "peak_mb")
    yield peak <= goal, f"peak RSS of a {kind} {peak:.0f} MB (goal {goal} MB)"


def arguments():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--nodes", type=int, default=5000)
    parser.add_argument("--vms", type=int, default=30, help="on each node")
    parser.add_argument("--interval", type=float, default=10,
                        help="seconds between reports")
    parser.add_argument("--pods-per-minute", type=float, default=2000)
    parser.add_argument("--stay", type=int, default=60,
                        help="seconds for which such a pod runs")
    parser.add_argument("--minutes", type=int, default=60)
    parser.add_argument("--aggregators", type=int, nargs="+",
                        default=[1, 2], help="a run for each number")
    parser.add_argument("--compact-after", default="15m",
                        help="as the aggregator's flag")
    parser.add_argument("--results", default="build/scale.jsonl",
                        help="file to which figures are appended")
    parser.add_argument("--keep-logs", help="folder for the programs' logs")
    return parser.parse_args()


def main():
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    options = arguments()
    for aggregators in options.aggregators:
        tell(options, Run(options, aggregators).run())


if __name__ == "__main__":
    main()
