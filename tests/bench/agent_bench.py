#!/usr/bin/env python3
"""Measures the agent's CPU time on this machine, in turn with Debian's
prometheus-node-exporter, and how it grows with the number of possible CPUs (in
QEMU). Prints a table and compares it with the budgets.

CPU time is that of the whole process, all threads, user and system, as the
kernel's scheduler counts it (CLOCK_PROCESS_CPUTIME_ID of another process). The
agent sends each report over plain tcp to a real aggregator. The exporter is
scraped once a second over a persistent connection. The figures do not include
the clients."""
import argparse
import contextlib
import http.client
import json
import pathlib
import re
import statistics
import signal
import sys
import time
import uuid

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent / "support"), str(HERE.parent / "node")]

from guest import FETCHED, Guest  # noqa: E402
from harness import (Aggregator, Folder, Program, agent,  # noqa: E402
                     eventually)

EXPORTER = FETCHED / "prometheus-node-exporter/usr/bin"
EXPORTER_FLAGS = ["--collector.disable-defaults", "--collector.pressure",
                  "--collector.cpu", "--collector.meminfo",
                  "--collector.loadavg"]
POSSIBLE_CPUS = (1, 32, 128)
GUEST_PODS = 30
GUEST_INTERVAL_MS = 500
# After a pause, one timer is late and connections need maintenance.
SETTLE_S = 3
# Files of a pod's cgroup that this machine may lack.
MISSING = {
    "memory.current": "1073741824\n", "memory.swap.current": "0\n",
    "hugetlb.2MB.current": "0\n", "hugetlb.1GB.current": "0\n",
    "memory.events": "low 0\nhigh 0\nmax 0\noom 0\noom_kill 0\n"
                     "oom_group_kill 0\n",
}
POD_FILES = ("cpu.stat", "cpu.pressure", "memory.pressure", "io.pressure",
             "memory.stat", *MISSING)


def cpu_us(pid):
    """Microseconds of CPU a process has used, ended threads included."""
    return time.clock_gettime(~pid << 3 | 2) * 1e6


def peak_rss_mb(pid):
    status = pathlib.Path(f"/proc/{pid}/status").read_text()
    return int(re.search(r"VmHWM:\s*(\d+)", status).group(1)) / 1024


def wait_until(deadline):
    time.sleep(max(0, deadline - time.monotonic()))


class Pods:
    """A cgroup tree with cgroups of pods: links to files of real cgroups of this
    machine if it has them, else plain files."""

    def __init__(self, folder, count, memory_stat):
        self.root = pathlib.Path(folder)
        self.real, self.groups = set(), []
        mount = pathlib.Path("/sys/fs/cgroup/unified")
        self.mount = mount if mount.is_dir() else mount.parent
        fixture = {**MISSING, "memory.stat": memory_stat,
                   "cpu.stat": "usage_usec 0\nuser_usec 0\nsystem_usec 0\n",
                   **{f"{name}.pressure":
                      "some avg10=0.00 avg60=0.00 avg300=0.00 total=0\n"
                      "full avg10=0.00 avg60=0.00 avg300=0.00 total=0\n"
                      for name in ("cpu", "memory", "io")}}
        slices = self.root / "kubepods.slice/kubepods-burstable.slice"
        slices.mkdir(parents=True)
        (self.root / "cgroup.controllers").write_text("cpu memory hugetlb\n")
        for _ in range(count):
            uid = str(uuid.uuid4()).replace("-", "_")
            pod = slices / f"kubepods-burstable-pod{uid}.slice"
            pod.mkdir()
            group = self.make_group(f"plimsoll-bench-{uid}")
            for name in POD_FILES:
                if group and (group / name).exists():
                    (pod / name).symlink_to(group / name)
                    self.real.add(name)
                else:
                    (pod / name).write_text(fixture[name])

    def make_group(self, name):
        group = self.mount / name
        try:
            group.mkdir()
        except OSError:  # not ours to make: all files are plain ones
            return None
        self.groups.append(group)
        return group

    def close(self):
        for group in self.groups:
            group.rmdir()


class Scraped:
    """node_exporter, scraped once a second."""

    def __init__(self, folder, name, headers):
        self.headers = headers
        self.program = folder.add(Program(
            folder.path, name,
            [EXPORTER / "prometheus-node-exporter", *EXPORTER_FLAGS,
             "--web.listen-address=127.0.0.1:0"])).start()
        port = self.program.wait_log(r"address=127\.0\.0\.1:(\d+)").group(1)
        self.connection = http.client.HTTPConnection(
            "127.0.0.1", int(port), timeout=10)
        self.scrape()

    def scrape(self):
        self.connection.request("GET", "/metrics", headers=self.headers)
        return len(self.connection.getresponse().read())

    def measure(self, seconds):
        pid = self.program.process.pid
        start, before = time.monotonic(), cpu_us(pid)
        for i in range(seconds):
            wait_until(start + i)
            self.scrape()
        wait_until(start + seconds)
        return (cpu_us(pid) - before) / seconds, peak_rss_mb(pid)


class Reporting:
    """An agent with its own aggregator; both keep running."""

    def __init__(self, folder, name, interval, *flags):
        self.aggregator = folder.add(
            Aggregator(folder.path, f"aggregator-{name}")).start()
        self.program = folder.add(agent(
            folder.path, name, [self.aggregator.url], "--kvm-probe", "off",
            *flags, interval=interval)).start()
        eventually("reports arrive", lambda: self.reports() > 2)

    def reports(self):
        """The number of reports: each one raises the revision by one."""
        return self.aggregator.json("/v1/nodes")["rev"]

    def measure(self, seconds):
        pid = self.program.process.pid
        first, before = self.reports(), cpu_us(pid)
        wait_until(time.monotonic() + seconds)
        used, count = cpu_us(pid) - before, self.reports() - first
        return used / count, peak_rss_mb(pid)


def in_turn(subjects, rounds, seconds):
    """name -> (median us, least, most, peak MB). The others are stopped while
    one is measured."""
    figures = {name: [] for name in subjects}
    processes = {name: s.program.process for name, s in subjects.items()}
    for process in processes.values():
        process.send_signal(signal.SIGSTOP)
    for _ in range(rounds):
        for name, subject in subjects.items():
            processes[name].send_signal(signal.SIGCONT)
            wait_until(time.monotonic() + SETTLE_S)
            figures[name].append(subject.measure(seconds))
            processes[name].send_signal(signal.SIGSTOP)
    return {name: (statistics.median(f[0] for f in found),
                   min(f[0] for f in found), max(f[0] for f in found),
                   max(f[1] for f in found))
            for name, found in figures.items()}


def native(options, memory_stat):
    """The rounds on this machine itself."""
    folder = Folder()
    with contextlib.ExitStack() as ends:
        ends.callback(folder.close)

        def reporting(name, interval, count):
            pods = Pods(folder.path / f"cgroup-{name}", count, memory_stat)
            ends.callback(pods.close)
            real = ", ".join(sorted(pods.real)) or "none"
            plain = ", ".join(sorted(set(POD_FILES) - pods.real)) or "none"
            if count:
                print(f"{count} pods: real files: {real}; "
                      f"plain files: {plain}")
            return Reporting(folder, name, interval,
                             "--cgroup-root", pods.root)
        subjects = {
            "node_exporter": Scraped(folder, "plain", {}),
            "node_exporter, gzip": Scraped(
                folder, "gzip", {"Accept-Encoding": "gzip"}),
            "agent": reporting("none", "1s", 0),
            "agent, 2 s": reporting("slow", "2s", 0),
            "agent, 10 pods": reporting("ten", "1s", 10),
            "agent, 100 pods": reporting("hundred", "1s", 100),
        }
        return in_turn(subjects, options.rounds, options.seconds)


def reports_of(guest):
    return json.loads(guest.run(
        "wget -qO- http://127.0.0.1:7474/v1/nodes"))["rev"]


def agent_us(guest):
    text = guest.run("cat /sys/fs/cgroup/agent/cpu.stat")
    return int(re.search(r"usage_usec (\d+)", text).group(1))


def in_guest(possible, options):
    """us a report in a guest with one CPU and so many possible CPUs, and the
    text of a pod's memory.stat there."""
    guest = Guest(1, possible)
    try:
        for _ in range(GUEST_PODS):
            guest.run(f"mkdir $(pod {uuid.uuid4()})")
        found = guest.run("cat $slice/kubepods-*/memory.stat")
        guest.run(f"start_agent --interval {GUEST_INTERVAL_MS}ms")
        eventually("reports arrive", lambda: reports_of(guest) > 2)
        figures = []
        for _ in range(options.rounds):
            first, before = reports_of(guest), agent_us(guest)
            wait_until(time.monotonic() + options.seconds)
            used, last = agent_us(guest) - before, reports_of(guest)
            figures.append(used / (last - first))
        return statistics.median(figures), found.split("anon ", 2)[1]
    finally:
        guest.close()


def verdict(holds):
    return "PASS" if holds else "MISSED"


def tell(figures, guests):
    print(f"\n{'what':24} {'us a report or scrape':>22} {'least':>8} "
          f"{'most':>8} {'peak RSS':>9}")
    for name, (median, least, most, peak) in figures.items():
        print(f"{name:24} {median:22.0f} {least:8.0f} {most:8.0f} "
              f"{peak:6.1f} MB")
    one, ten, hundred = (figures[f"agent{n}"] for n in
                         ("", ", 10 pods", ", 100 pods"))
    ratio = one[0] / figures["node_exporter"][0]
    print(f"\n{verdict(ratio <= 0.25)}: agent to node_exporter, 1 s: "
          f"{ratio:.3f} (budget 0.25); to what Prometheus asks for, gzip: "
          f"{one[0] / figures['node_exporter, gzip'][0]:.3f}")
    print(f"{verdict(one[3] <= 5)}: peak RSS without pods: {one[3]:.1f} MB "
          "(budget 5 MB)")
    possible = pathlib.Path("/sys/devices/system/cpu/possible").read_text()
    print(f"{verdict(hundred[0] <= 2000)}: 100 pods: "
          f"{hundred[0] / 1000:.2f} ms a report (budget 2 ms at 2 possible "
          f"CPUs; here: {possible.strip()})")
    few, many = (ten[0] - one[0]) / 10, (hundred[0] - one[0]) / 100
    print(f"{verdict(many <= 1.1 * few)}: a pod costs {few:.1f} us of 10 and "
          f"{many:.1f} us of 100 (linear: not more of many)")
    base = guests[POSSIBLE_CPUS[0]]
    for possible, us in guests.items():
        print(f"{possible} possible CPUs, {GUEST_PODS} pods, QEMU: "
              f"{us / base:.2f} times the cost with {POSSIBLE_CPUS[0]}")


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seconds", type=int, default=15,
                        help="of each measurement of each round")
    options = parser.parse_args()
    guests, memory_stat = {}, ""
    for possible in POSSIBLE_CPUS:
        guests[possible], memory_stat = in_guest(possible, options)
    tell(native(options, "anon " + memory_stat), guests)


if __name__ == "__main__":
    main()
