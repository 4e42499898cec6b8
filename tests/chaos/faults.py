"""The faults of a run, one class each, and the plan: which comes when, by the
seed alone."""
import os
import random
import shutil
import signal
import time

from fault_proxy import answer, is_anything
from fleet import AGENTS, lock_database
from harness import PATIENCE_S
from hostile import (Crowd, SilentPlugs, imitation, lists, long_selector,
                     many_preferences, questions, remove_imitations,
                     repeated_constraints)
from secure import certs

# Seconds between the starts of two faults; how many are on at once.
GAP_S = (2.0, 6.0)
AT_ONCE = 3
# The first fault comes so late, and the last one ends so early.
MARGIN_S = 3
# In runs of at least LONG_S, no process is ended after this share of the run:
# the slope of its memory needs a long life.
LONG_S, ENDS_UNTIL = 1800, 0.5
# Hostile faults leave freed memory in a process, so in such runs they come
# before the last processes are ended.
HOSTILE_UNTIL = 0.45
HOUR_S = 3600
# The certificates are valid from the moment in which they were made.
AHEAD_S = (20, 300, HOUR_S)
BEHIND_S = (-30, -HOUR_S)


class Fault:
    """kind: its name in the log, in the plan and in expected.py. holds: what
    no other fault may disturb at the same time. The parameters come from a
    random.Random and nothing else."""

    kind, holds = "", ()
    lasts_s = (2.0, 8.0)
    recovers_s = 0  # how much earlier it has to end
    ends_programs = False
    needs_small_disk = False
    is_hostile = False  # the work of a user or peer, not of chance

    def __init__(self, rng):
        self.seconds = round(rng.uniform(*self.lasts_s), 1)
        self.what = ""
        self.choose(rng)

    def choose(self, rng):
        """Draws further parameters; self.what says them."""

    def begin(self, fleet):
        raise NotImplementedError

    def end(self, fleet):
        """Undoes it; nothing to do for a program that was killed."""

    def __str__(self):
        return " ".join(filter(None, (self.kind, self.what)))


class OfAgents(Fault):
    at_most = 6

    def choose(self, rng):
        count = rng.randint(1, self.at_most)
        self.which = sorted(rng.sample(range(AGENTS), count))
        self.what = ",".join(map(str, self.which))

    def nodes(self, fleet):
        return [fleet.names[i] for i in self.which]

    def programs(self, fleet):
        return [fleet.agents[node] for node in self.nodes(fleet)]


class KillAgents(OfAgents):
    kind, holds, ends_programs = "kill-agents", ("agents",), True

    def begin(self, fleet):
        for program in self.programs(fleet):
            fleet.keeper.end(program, is_kill=True)


class RestartAgents(OfAgents):
    kind, holds, ends_programs = "restart-agents", ("agents",), True

    def begin(self, fleet):
        for program in self.programs(fleet):
            fleet.keeper.end(program, is_kill=False)


class StopAgents(OfAgents):
    """SIGSTOP, and later SIGCONT."""
    kind, holds, at_most = "stop-agents", ("agents",), 10

    def begin(self, fleet):
        for program in self.programs(fleet):
            fleet.keeper.send(program, signal.SIGSTOP)

    def end(self, fleet):
        for program in self.programs(fleet):
            fleet.keeper.send(program, signal.SIGCONT)


class AgentClocks(OfAgents):
    kind, holds, at_most = "clock-agents", ("clock-agents",), 10

    def choose(self, rng):
        super().choose(rng)
        self.ahead_s = rng.choice(AHEAD_S + BEHIND_S)
        self.what += f" by {self.ahead_s} s"

    def begin(self, fleet):
        for node in self.nodes(fleet):
            fleet.clock_of[node].set(self.ahead_s)

    def end(self, fleet):
        for node in self.nodes(fleet):
            fleet.clock_of[node].set(0)


class ProgramFault(Fault):
    """A fault of the aggregator or the scheduler, which the class names."""
    name = ""

    def program(self, fleet):
        return getattr(fleet, self.name)


class KillAggregator(ProgramFault):
    kind, name, holds = "kill-aggregator", "aggregator", ("aggregator",)
    ends_programs = True

    def begin(self, fleet):
        fleet.keeper.end(self.program(fleet), is_kill=True)


class KillScheduler(KillAggregator):
    kind, name, holds = "kill-scheduler", "scheduler", ("scheduler",)


class StopAggregator(ProgramFault):
    kind, name, holds = "stop-aggregator", "aggregator", ("aggregator",)
    lasts_s = (2.0, 12.0)

    def begin(self, fleet):
        fleet.keeper.send(self.program(fleet), signal.SIGSTOP)

    def end(self, fleet):
        fleet.keeper.send(self.program(fleet), signal.SIGCONT)


class StopScheduler(StopAggregator):
    """Sometimes for longer than its Lease lasts."""
    kind, name, holds = "stop-scheduler", "scheduler", ("scheduler",)
    lasts_s = (2.0, 20.0)


class AggregatorClock(ProgramFault):
    kind, name = "clock-aggregator", "aggregator"
    holds = ("clock-aggregator",)

    def choose(self, rng):
        self.ahead_s = rng.choice(AHEAD_S + BEHIND_S)
        self.what = f"by {self.ahead_s} s"

    def begin(self, fleet):
        fleet.clock_of[self.name].set(self.ahead_s)

    def end(self, fleet):
        fleet.clock_of[self.name].set(0)


class SchedulerClock(AggregatorClock):
    kind, name = "clock-scheduler", "scheduler"
    holds = ("clock-scheduler",)


# ---- the disk ----

class FullDisk(Fault):
    kind, holds, needs_small_disk = "full-disk", ("disk",), True
    lasts_s = (5.0, 15.0)

    def begin(self, fleet):
        fleet.disk.fill()

    def end(self, fleet):
        fleet.disk.free()


class FullDiskAtStart(FullDisk):
    """The aggregator restarts and finds no space for its log of writes."""
    kind, holds = "full-disk-at-start", ("disk", "aggregator")
    lasts_s = (2.0, 6.0)
    ends_programs = True

    def begin(self, fleet):
        fleet.keeper.end(fleet.aggregator, is_kill=False)
        fleet.aggregator.process.wait(PATIENCE_S)
        fleet.disk.fill()


class SlowDisk(Fault):
    kind, holds = "slow-disk", ("disk",)

    def choose(self, rng):
        self.delay_s = rng.choice((0.001, 0.01, 0.05))
        self.what = f"{self.delay_s * 1000:.0f} ms for each write"

    def begin(self, fleet):
        fleet.disk_delay.set(self.delay_s)

    def end(self, fleet):
        fleet.disk_delay.set(0)


class LockDatabase(Fault):
    """Another program holds the write lock."""
    kind, holds, lock = "lock-database", ("disk",), None

    def begin(self, fleet):
        self.lock = lock_database(fleet.aggregator.db)

    def end(self, fleet):
        if self.lock:
            self.lock.close()


# ---- connections ----

class LinkFault(Fault):
    """A fault of the connections to the aggregator that `names` are."""
    names = ("recorded", "direct")

    def links(self, fleet):
        return [getattr(fleet, name) for name in self.names]


class CutAgents(LinkFault):
    kind, holds = "cut-agents", ("links",)

    def begin(self, fleet):
        for link in self.links(fleet):
            fleet.links.cut(link)

    def end(self, fleet):
        for link in self.links(fleet):
            link.is_cut = False


class CutScheduler(CutAgents):
    kind, holds = "cut-scheduler", ("link-scheduler",)
    names = ("to_scheduler",)


class StallAgents(LinkFault):
    """Open connections pass nothing any more; new ones do."""
    kind, holds = "stall-agents", ("links",)
    recovers_s = 50  # two requests time out before a new connection

    def begin(self, fleet):
        for link in self.links(fleet):
            fleet.links.call(link.stall)


class StallScheduler(StallAgents):
    kind, holds = "stall-scheduler", ("link-scheduler",)
    names = ("to_scheduler",)


class SlowAgents(LinkFault):
    kind, holds = "slow-agents", ("links",)

    def choose(self, rng):
        self.delay_s = rng.choice((0.2, 1.0, 3.0))
        self.what = f"{self.delay_s} s for each piece"

    def begin(self, fleet):
        for link in self.links(fleet):
            link.delay_s = self.delay_s

    def end(self, fleet):
        for link in self.links(fleet):
            link.delay_s = 0.0


class SlowScheduler(SlowAgents):
    kind, holds = "slow-scheduler", ("link-scheduler",)
    names = ("to_scheduler",)


class ApiErrors(Fault):
    """The API server answers each request with an error."""
    kind, holds = "api-errors", ("api",)

    def choose(self, rng):
        self.status = rng.choice((429, 500, 503))
        self.what = str(self.status)

    def act(self):
        return answer(self.status,
                      retry_after="1" if self.status == 429 else None)

    def begin(self, fleet):
        self.fault = fleet.api.add(is_anything, self.act(), 10 ** 9)

    def end(self, fleet):
        self.fault.times = 0


class ApiCut(ApiErrors):
    """Open watches end, and connections without an answer."""
    kind = "api-cut"

    def choose(self, rng):
        """There is nothing to choose."""

    def act(self):
        def hang_up(handler, _forward):
            handler.close_connection = True
        return hang_up

    def begin(self, fleet):
        super().begin(fleet)
        fleet.api.cut_streams()


class ApiSlow(ApiErrors):
    kind = "api-slow"

    def choose(self, rng):
        self.delay_s = rng.choice((0.3, 1.0, 3.0))
        self.what = f"{self.delay_s} s for each request"

    def act(self):
        return delayed(self.delay_s)


# ---- certificates ----

class RenewCertificates(OfAgents):
    """New certificates of the same authorities; the programs restart."""
    kind, ends_programs = "renew-certificates", True
    holds = ("certificates", "agents", "aggregator", "scheduler")

    def begin(self, fleet):
        certs("renew", fleet.keys)
        for name in fleet.tls:
            fleet.present(name, fleet.keys)
        for program in (fleet.aggregator, fleet.scheduler,
                        *self.programs(fleet)):
            fleet.keeper.end(program, is_kill=False)


class WrongProxy(Fault):
    """Agents and schedulers see a certificate of another authority."""
    kind, holds = "wrong-certificate", ("certificates", "links",
                                        "link-scheduler")

    def begin(self, fleet):
        fleet.present("aggregator", fleet.foreign)
        fleet.end_connections()

    def end(self, fleet):
        fleet.present("aggregator", fleet.keys)


class WrongAggregator(Fault):
    """The aggregator starts with a certificate of another authority."""
    kind, ends_programs = "wrong-aggregator-certificate", True
    holds = ("certificates", "aggregator")
    files = ("aggregator.crt", "aggregator.key")

    def begin(self, fleet):
        for file in self.files:
            shutil.copy(fleet.keys / file, fleet.scratch / file)
            shutil.copy(fleet.foreign / file, fleet.keys / file)
        fleet.keeper.end(fleet.aggregator, is_kill=False)

    def end(self, fleet):
        for file in self.files:
            shutil.copy(fleet.scratch / file, fleet.keys / file)
        fleet.keeper.end(fleet.aggregator, is_kill=False)


# ---- the API server ----

class KillApiServer(Fault):
    kind, holds, child = "kill-api-server", ("api-server",), "kube-apiserver"

    def begin(self, fleet):
        done = fleet.cluster.run("kill", self.child, "--dir",
                                 fleet.cluster.dir)
        if done.returncode != 0:
            raise RuntimeError(f"kubecluster kill: {done.stderr}")


class KillEtcd(KillApiServer):
    kind, child = "kill-etcd", "etcd"


class StopApiServer(Fault):
    kind, holds = "stop-api-server", ("api-server",)

    def begin(self, fleet):
        self.pid = fleet.cluster.state()["children"]["kube-apiserver"]["pid"]
        os.kill(self.pid, signal.SIGSTOP)

    def end(self, fleet):
        os.kill(self.pid, signal.SIGCONT)


# ---- hostile users and peers ----

class HostileFault(Fault):
    """Somebody asks for more than is right; others are served all the same."""
    lasts_s, is_hostile = (4.0, 10.0), True


class CrowdFault(HostileFault):
    """A user who sends requests again and again, from some threads."""
    crowd = None

    def requests(self, fleet):
        raise NotImplementedError

    def begin(self, fleet):
        self.crowd = Crowd(fleet, self.kind, self.threads,
                           self.requests(fleet))

    def end(self, fleet):
        if self.crowd:
            self.crowd.close()


class LongSelectors(CrowdFault):
    """Lists with as many terms or values as a request has room for."""
    kind, holds = "selectors", ("selectors",)

    def choose(self, rng):
        self.threads = rng.randint(2, 6)
        self.terms, self.values = rng.choice(((20, 250), (64, 80)))
        self.what = (f"of {self.terms} terms and {self.values} values, "
                     f"{self.threads} at a time")

    def requests(self, fleet):
        return lists(long_selector(self.terms, self.values))


class Questions(CrowdFault):
    """Placements of large manifests, and plans."""
    kind, holds = "questions", ("questions",)

    def choose(self, rng):
        self.threads = rng.randint(3, 8)
        self.preferences = rng.choice((400, 1600))
        self.what = (f"about {self.preferences} preferences, {self.threads} "
                     "at a time")

    def requests(self, fleet):
        return questions([repeated_constraints(2900),
                          many_preferences(self.preferences)], fleet.names)


class Imitations(HostileFault):
    """Pods that look like VMs and announce more than any node has."""
    kind, holds = "imitations", ("imitations",)

    def choose(self, rng):
        # Whether it announces cores, and the node of one that others placed.
        self.pods = [(rng.random() < 0.5,
                      rng.choice((None, rng.randrange(AGENTS))))
                     for _ in range(rng.randint(5, 30))]
        self.what = f"of {len(self.pods)} VMs"

    def begin(self, fleet):
        for is_announced, node in self.pods:
            fleet.imitated += 1
            pod = imitation(f"imitation-{fleet.imitated}", is_announced,
                            None if node is None else fleet.names[node])
            made = fleet.pods.attempt(fleet.kube.create, pod)
            fleet.hostile[self.kind, "made" if made else "refused"] += 1

    def end(self, fleet):
        remove_imitations(fleet.kube)


class SilentConnections(HostileFault):
    kind, holds = "silent-connections", ("silent",)
    plugs = None

    def choose(self, rng):
        self.port = rng.choice(("messages", "http", "health", "api"))
        self.count = rng.randint(300, 4000)
        self.sources = [f"127.0.66.{n}" for n in
                        range(1, 1 + rng.choice((1, 2, 8)))]
        self.what = (f"{self.count} to {self.port} from "
                     f"{len(self.sources)} addresses")

    def address(self, fleet):
        if self.port == "api":
            return fleet.service.HOST, fleet.service.port
        number = ("messages", "http", "health").index(self.port)
        return "127.0.0.1", fleet.aggregator.ports[number]

    def begin(self, fleet):
        def opens(count):
            fleet.hostile[self.kind, f"opened to {self.port}"] += count
            if self.port == "messages":
                fleet.flooded.add(fleet.aggregator.process.pid)
        self.plugs = SilentPlugs(self.address(fleet), self.sources,
                                 self.count, opens)

    def end(self, fleet):
        if self.plugs:
            self.plugs.close()


def delayed(seconds):
    def act(_handler, forward):
        time.sleep(seconds)
        forward()
    return act


FAULTS = (
    KillAgents, RestartAgents, StopAgents, AgentClocks, KillAggregator,
    KillScheduler, StopAggregator, StopScheduler, AggregatorClock,
    SchedulerClock, FullDisk, FullDiskAtStart, SlowDisk, LockDatabase, CutAgents, CutScheduler,
    StallAgents, StallScheduler, SlowAgents, SlowScheduler, ApiErrors, ApiCut, ApiSlow, RenewCertificates,
    WrongProxy, WrongAggregator, KillApiServer, KillEtcd, StopApiServer,
    LongSelectors, Questions, Imitations, SilentConnections)


# ---- the plan ----

def deck(rng):
    """The classes in random order: each comes once before one comes twice. Those
    that need time to recover begin, so that a short run has them."""
    order = rng.sample(FAULTS, len(FAULTS))
    yield from sorted(order, key=lambda kind: -kind.recovers_s)
    while True:
        yield from rng.sample(FAULTS, len(FAULTS))


def start_of(fault, at, planned):
    """The first time from `at` on at which nothing speaks against it."""
    for _, other_end, other in sorted(planned, key=lambda one: one[1]):
        busy = [one for one in planned if one[0] <= at < one[1]]
        held = any(set(one[2].holds) & set(fault.holds) for one in busy)
        if len(busy) < AT_ONCE and not held:
            return at
        at = max(at, other_end)
    return at


def may_begin_until(kind, seconds):
    share = (ENDS_UNTIL if kind.ends_programs
             else HOSTILE_UNTIL if kind.is_hostile else 1)
    return seconds * share if seconds >= LONG_S else seconds


def plan(seed, seconds):
    """[(start, end, fault)] for so many seconds, by rising start."""
    rng = random.Random(seed)
    planned, at, misfits = [], MARGIN_S, 0
    for kind in deck(rng):
        fault = kind(rng)
        gap = rng.uniform(*GAP_S)
        begin = start_of(fault, at, planned)
        end = round(begin + fault.seconds, 1)
        if (end + fault.recovers_s > seconds - MARGIN_S
                or begin > may_begin_until(kind, seconds)):
            misfits += 1
            if misfits > 2 * len(FAULTS):
                return planned
            continue
        misfits = 0
        planned.append((begin, end, fault))
        at = round(begin + gap, 1)
