"""All programs of a run on a real API server: 25 agents with VMs, the
aggregator and the scheduler behind proxies, pods that come and go, history
queries. A keeper starts again what ends, as a kubelet would."""
import collections
import contextlib
import http.client
import os
import pathlib
import random
import re
import shutil
import signal
import sqlite3
import subprocess
import threading
import time

from fault_proxy import FaultProxy
from fleet_api import FleetApi
from harness import (BIN, PATIENCE_S, ROOT, Driver, Machine, Program, agent,
                     eventually, http_get, launcher, worker)
from kube_api import Refused, path_of
from kubevirt_objects import serve_kubevirt_objects
from link import (Acknowledged, Links, client_context, load,
                  server_context)
from secure import SecureAggregator, certs, client_flags
from shared_number import SharedNumber
from wall_clock import WallClock

AGENTS = 25
CORES, MEMORY_GIB = 8, 64
# So many agents connect without a proxy that reads: they see the aggregator's
# own certificate.
DIRECT = 5
PODS_MAX = 75
# Small, so that a run packs reports into chunks often.
COMPACT_AFTER = "30s"
DISK_MIB = 192
SLOW_DISK = ROOT / "build/release/tests/chaos/slow_disk.so"
SAMPLE_S = 5
# An aggregator that was started so long ago has opened its database.
CALM_S = 10


class Clockwork(threading.Thread):
    """Calls a function again and again until it is stopped."""
    problems = []  # of all of them: each is a defect of the run

    def __init__(self, function, every_s):
        super().__init__(daemon=True)
        self.function, self.every_s = function, every_s
        self.stopping = threading.Event()

    def run(self):
        while not self.stopping.wait(self.every_s):
            try:
                self.function()
            except Exception as why:  # pylint: disable=broad-except
                self.problems.append(f"{self.function.__name__}: {why!r}")

    def stop(self):
        self.stopping.set()
        if self.is_alive():
            self.join(30)


class End:
    """A process that ended. by: "kill" or "stop" if the run did that, ""
    otherwise. faults: the kinds of fault that were on or over."""

    def __init__(self, name, code, by, faults):
        self.name, self.code, self.by, self.faults = name, code, by, faults


class Keeper:
    """Starts programs again that have ended, and samples their memory."""

    def __init__(self, faults_seen):
        self.programs, self.ended, self.samples = [], [], []
        self.ends = {}  # pid -> "kill" or "stop"
        self.faults_seen = faults_seen
        self.lock = threading.Lock()
        self.clocks = [Clockwork(self.look, 0.5),
                       Clockwork(self.sample, SAMPLE_S)]

    def start(self):
        for clock in self.clocks:
            clock.start()

    def stop(self):
        for clock in self.clocks:
            clock.stop()

    def look(self):
        with self.lock:
            for program in self.programs:
                if not program.running():
                    self.note_end(program)
                    program.begin()

    def note_end(self, program):
        by = self.ends.get(program.process.pid, "")
        self.ended.append(End(program.name, program.process.returncode, by,
                              set(self.faults_seen)))

    def end(self, program, is_kill):
        """Ends a program, which is started again soon."""
        pid = program.process.pid
        with self.lock:
            if pid in self.ends and not is_kill:
                return  # a second SIGTERM would end it at once
            self.ends[pid] = "kill" if is_kill else "stop"
            program.process.send_signal(
                signal.SIGKILL if is_kill else signal.SIGTERM)

    def send(self, program, number):
        with self.lock:
            program.process.send_signal(number)

    def sample(self):
        now = time.monotonic()
        for program in self.programs:
            process = program.process
            with contextlib.suppress(OSError, IndexError):  # it has ended
                text = pathlib.Path(f"/proc/{process.pid}/status").read_text()
                rss = int(text.partition("VmRSS:")[2].split()[0])
                kind = program.name.partition("-")[0]
                self.samples.append((kind, process.pid, now, rss / 1024))


class Disk:
    """The small disk of the database: a tmpfs, or without the right to mount
    one a folder that is never full."""

    def __init__(self, path):
        self.path, self.filler = path, path / "filler"
        path.mkdir()
        self.is_small = subprocess.run(
            ["mount", "-t", "tmpfs", "-o", f"size={DISK_MIB}m", "none", path],
            capture_output=True, check=False).returncode == 0

    def fill(self):
        with contextlib.suppress(OSError), open(self.filler, "ab") as file:
            while True:
                file.write(b"x" * 65536)
                file.flush()

    def free(self):
        self.filler.unlink(missing_ok=True)

    def close(self):
        if self.is_small:
            subprocess.run(["umount", "-l", self.path], check=False)


class Pods:
    """VM pods that come and go, and the cgroups that a kubelet would make for
    those that are bound."""

    def __init__(self, fleet, seed):
        self.fleet, self.kube = fleet, fleet.kube
        self.random = random.Random(seed)
        self.made = 0
        self.placed = {}  # uid -> node
        self.moved = []
        self.clocks = [Clockwork(self.come_and_go, 1.0),
                       Clockwork(self.look, 1.0)]

    def attempt(self, function, *arguments):
        """None if the API server is in trouble."""
        try:
            return function(*arguments)
        except (OSError, http.client.HTTPException, Refused):
            return None

    def listed(self):
        return self.kube.get(path_of("Pod", "default"))["items"]

    def come_and_go(self):
        self.made += 1
        pod = launcher(f"vm-{self.made}", memory="1Gi")
        self.attempt(self.kube.create, pod)
        if len(self.placed) > PODS_MAX * self.random.random():
            listed = self.attempt(self.listed) or []
            for one in self.random.sample(listed, min(1, len(listed))):
                self.attempt(self.kube.remove, {**one, "kind": "Pod"})

    def look(self):
        listed = self.attempt(self.listed)
        if listed is None:
            return
        now = {pod["metadata"]["uid"]: pod["spec"]["nodeName"]
               for pod in listed if pod["spec"].get("nodeName")}
        with self.fleet.driver.lock:
            for uid, node in now.items():
                self.run_pod(uid, node)
            for uid in self.placed.keys() - now.keys():
                self.fleet.machines[self.placed.pop(uid)].end_pod(uid)

    def run_pod(self, uid, node):
        before = self.placed.setdefault(uid, node)
        if before != node:
            self.moved.append(f"pod {uid} was on {before}, then on {node}")
            return
        machine = self.fleet.machines[node]
        if uid not in machine.pods:
            machine.run_pod(uid, cores=self.random.random())


class Queries:
    """Asks the aggregator for live data and history."""

    def __init__(self, fleet, seed):
        self.fleet, self.random = fleet, random.Random(seed)
        self.statuses = collections.Counter()  # (route, status)
        self.clocks = [Clockwork(self.ask, 0.25)]

    def ask(self):
        name = self.random.choice(sorted(self.fleet.machines))
        vm = f"vm-{self.random.randint(1, self.fleet.pods.made + 1)}"
        begin = int(time.time()) - self.random.choice((60, 600, 7200))
        route, path = self.random.choice((
            ("nodes", "/v1/nodes"), ("vms", "/v1/vms"), ("vm",
             f"/v1/vms/default/{vm}"), ("metrics", "/metrics"),
            ("history", f"/v1/nodes/{name}/history?step=10&from={begin}"),
            ("vm history", f"/v1/vms/default/{vm}/history?step=10"
             f"&from={begin}")))
        try:
            status = self.fleet.aggregator.get(path)[0]
        except (OSError, http.client.HTTPException):
            status = 0  # the aggregator is ended, stopped or disturbed
        self.statuses[route, status] += 1


class Probes:
    """Asks the aggregator whether it is alive while a hostile fault is on and
    no other one keeps it from answering."""

    def __init__(self, fleet):
        self.fleet = fleet
        self.seen = []  # (hostile kinds, seconds until the answer or None)
        self.pid, self.since = 0, 0.0
        self.clocks = [Clockwork(self.ask, 0.5)]

    def is_calm(self):
        """Whether the aggregator has run for a while and is not ended."""
        pid = self.fleet.aggregator.process.pid
        if pid != self.pid:
            self.pid, self.since = pid, time.monotonic()
        return (self.fleet.aggregator.running()
                and pid not in self.fleet.keeper.ends
                and time.monotonic() > self.since + CALM_S
                and "stop-aggregator" not in self.fleet.kinds_on())

    def ask(self):
        kinds = self.fleet.kinds_on(is_hostile=True)
        if not self.is_calm() or not kinds:
            return
        begin = time.monotonic()
        try:
            is_alive = self.fleet.aggregator.health("/healthz")[0] == 200
        except (OSError, http.client.HTTPException):
            is_alive = False
        took = time.monotonic() - begin
        if self.is_calm():
            self.seen.append((kinds, took if is_alive else None))


class Fleet:
    """Everything that runs. close() ends it all."""

    def __init__(self, cluster, seed, logs, scratch):
        """Starts nothing: start() does."""
        self.cluster, self.logs, self.scratch = cluster, logs, scratch
        self.kube = cluster.kube()
        self.closing = contextlib.ExitStack()
        self.faults_seen = set()
        self.acknowledged = Acknowledged()
        self.keeper = Keeper(self.faults_seen)
        # Agents of one machine are told apart by the names of their nodes.
        self.names = [f"chaos-{os.getpid()}-{i:02d}" for i in range(AGENTS)]
        self.machines, self.agents, self.clock_of = {}, {}, {}
        self.pods, self.queries = Pods(self, seed), Queries(self, seed)
        self.on = {}  # the faults that are on
        self.probes = Probes(self)
        self.hostile = collections.Counter()  # (kind, status) of what it did
        self.imitated = 0
        self.flooded = set()  # pids
        self.quiet_since = 0.0  # no hostile fault has been on
        self.clocks = [*self.pods.clocks, *self.queries.clocks,
                       *self.probes.clocks]

    def kinds_on(self, is_hostile=False):
        return {fault.kind for fault in list(self.on.values())
                if fault.is_hostile or not is_hostile}

    # ---- starting ----

    def start(self):
        """Returns when all agents report; then pods come and go."""
        self.disk = Disk(self.logs / "disk")
        self.closing.callback(self.disk.close)
        self.closing.callback(self.kill_all)
        self.make_keys()
        self.start_api()
        self.start_proxies()
        self.start_aggregator()
        self.start_agents()
        self.start_scheduler()
        eventually("all nodes are fresh", self.all_fresh)
        self.scheduler.wait_log('"became leader"')
        self.service.await_available()
        self.keeper.start()
        for clock in self.clocks:
            clock.start()

    def make_keys(self):
        self.keys, self.foreign = self.scratch / "keys", self.scratch / "other"
        certs("new", self.keys)
        certs("new", self.foreign)
        self.tls = {"aggregator": server_context(self.keys),
                    "agent": client_context(self.keys),
                    "scheduler": client_context(self.keys, "scheduler")}

    def present(self, name, keys):
        """The proxies show another certificate on new connections."""
        self.links.call(load, self.tls[name], keys, name)

    def start_proxies(self):
        self.links = Links()
        self.closing.callback(self.links.close)
        # Not the keys that are renewed: its own context is made once.
        keys = self.scratch / "proxy"
        certs("new", keys)
        self.api = FaultProxy(self.kube, keys, self.scratch)
        self.closing.callback(self.api.close)

    def start_api(self):
        """The Kubernetes API of load.plimsoll.io, which has certificates of
        its own, and KubeVirt's objects, which plans read."""
        self.service = FleetApi.begin(self.cluster, self.scratch)
        serve_kubevirt_objects(self.kube)

    def end_connections(self):
        for link in self.links.links:
            self.links.call(link.end_connections)

    def start_aggregator(self):
        for name in ("aggregator", "scheduler"):
            self.clock_of[name] = WallClock(self.scratch / f"clock-{name}")
        self.disk_delay = SharedNumber(self.scratch / "slow-disk")
        self.aggregator = SecureAggregator(
            self.logs, self.keys, "aggregator",
            "--kubeconfig", self.api.kubeconfig,
            "--compact-after", COMPACT_AFTER,
            *self.service.listener_flags())
        self.aggregator.db = self.disk.path / "plimsoll.db"
        clock = self.clock_of["aggregator"]
        self.aggregator.env.update(
            clock.env, SLOW_DISK=str(self.disk_delay.path),
            LD_PRELOAD=f"{clock.env['LD_PRELOAD']}:{SLOW_DISK}")
        self.keep(self.aggregator.start())
        port = self.aggregator.ports[0]
        self.recorded, self.to_scheduler = (self.links.add(
            port, self.acknowledged, self.tls["aggregator"], self.tls[name])
            for name in ("agent", "scheduler"))
        self.direct = self.links.add(port)

    def url(self, link):
        return f"tls+tcp://127.0.0.1:{link.port}"

    def start_agents(self):
        for i, name in enumerate(self.names):
            machine = self.machines[name] = Machine(
                self.scratch / name, CORES, MEMORY_GIB)
            self.closing.callback(machine.close)
            link = self.direct if i < DIRECT else self.recorded
            program = self.agents[name] = agent(
                self.logs, name, [self.url(link)], *machine.agent_flags(),
                *client_flags(self.keys), "--tls-server-name", "localhost",
                interval="1s")
            clock = self.clock_of[name] = WallClock(
                self.scratch / f"clock-{name}")
            program.env.update(clock.env)
            self.keep(program.start())
        self.driver = Driver(self.machines.values(), every_s=1.0).start()
        self.closing.callback(self.driver.stop)

    def start_scheduler(self):
        for name in self.machines:
            self.kube.create(worker(name, CORES, f"{MEMORY_GIB}Gi"))
        for name in self.machines:
            self.kube.await_node(name)
        self.scheduler = Program(self.logs, "scheduler", [
            BIN / "plimsoll-scheduler", "--kubeconfig", self.api.kubeconfig,
            "--http", "127.0.0.1:0", "--aggregator",
            self.url(self.to_scheduler), *client_flags(self.keys, "scheduler"),
            "--tls-server-name", "localhost"])
        self.scheduler.env.update(self.clock_of["scheduler"].env)
        self.keep(self.scheduler.start())

    def keep(self, program):
        self.keeper.programs.append(program)

    def all_fresh(self):
        try:
            nodes = self.aggregator.json("/v1/nodes")["nodes"]
        except (OSError, http.client.HTTPException, AssertionError):
            return False
        return AGENTS == sum(node["state"] == "fresh" for node in nodes)

    # ---- at the end ----

    def end_pods(self):
        """No pod comes or goes any more."""
        self.pods.clocks[0].stop()

    def end_work(self):
        for clock in self.clocks:
            clock.stop()

    def newest_of_live_runs(self):
        """{(node, run): the last seq that was sent} of the agents that run
        now and whose link is read."""
        newest = self.acknowledged.newest
        last = dict(list(newest))  # the last run of each node
        return {(node, run): newest[node, run] for node, run in last.items()}

    def stop_programs(self):
        """Ends all programs as an operator does; a sentence for each that did
        not end well."""
        self.keeper.stop()
        found = []
        for programs in ([*self.agents.values(), self.scheduler],
                         [self.aggregator]):
            for program in programs:
                program.process.send_signal(signal.SIGTERM)
            for program in programs:
                found += self.await_end(program)
        return found

    @staticmethod
    def await_end(program):
        try:
            code = program.process.wait(PATIENCE_S)
        except subprocess.TimeoutExpired:
            program.kill()
            return [f"{program.name} did not stop within {PATIENCE_S} s"]
        return [f"{program.name} stopped with {code}"] if code else []

    def logs_of_programs(self):
        return {program.name: program.log()
                for program in self.keeper.programs}

    def kill_all(self):
        self.keeper.stop()
        for program in self.keeper.programs:
            program.kill()

    def keep_files(self):
        """Copies what would be gone into the folder of the logs."""
        for file in self.disk.path.glob("plimsoll.db*"):
            shutil.copy(file, self.logs)
        if self.cluster.audit and self.cluster.audit.exists():
            shutil.copy(self.cluster.audit, self.logs)

    def close(self):
        self.end_work()
        self.closing.close()


def scheduler_port(scheduler):
    return int(re.findall(r"http=(\d+)", scheduler.log())[-1])


def is_ready(fleet):
    """Whether both programs say that they are. No webhook is installed, and
    the scheduler says so behind "ready"."""
    try:
        answers = (fleet.aggregator.health("/readyz")[2], http_get(
            f"http://127.0.0.1:{scheduler_port(fleet.scheduler)}/readyz")[2])
    except (OSError, http.client.HTTPException):
        return False
    return all(text.startswith(("ok", "ready")) for text in answers)


def lock_database(db):
    """A connection that holds the write lock, or None."""
    try:
        link = sqlite3.connect(db, timeout=5, isolation_level=None,
                               check_same_thread=False)
        link.execute("BEGIN IMMEDIATE")
    except sqlite3.Error:
        return None
    return link
