"""A small fleet for the tests of the page, sent over the wire: nodes with VMs
whose figures stay as they are, records of decisions and moves, and the answers
of a scheduler. Names and texts may be any that the wire accepts."""
import contextlib
import json
import struct
import threading
import time

from protobuf import fields
from wire_peer import WirePeer, pack, varint

GIB = 1 << 30
INTERVAL_S = 2
CORES, MEMORY = 16, 64 * GIB
# Kinds of requests, by proto/plimsoll.proto.
BATCH, DECISIONS, MOVES, PARK, ANSWER = 2, 4, 6, 8, 9
PRESENT, KVM_OK, KVM_LEVEL_RUN = 1, 1, 4
ROLE_SCHEDULER = 1
KINDS = 4  # of questions: placements, plans, outlooks, reaches
REACH = 3


def double(number, value):
    return varint(number << 3 | 1) + struct.pack("<d", value)


def pressure(at_us, cpu, memory=0.0, io=0.0):
    return pack(*((n, pack((1, PRESENT), (2, int(share * at_us)),
                           (3, int(share * at_us / 2))))
                  for n, share in ((1, cpu), (2, memory), (3, io))))


class FleetVm:
    def __init__(self, uid, namespace, name, cores, memory, waits=0.0):
        self.uid, self.namespace, self.name = uid, namespace, name
        self.cores, self.memory, self.waits = cores, memory, waits

    def packed(self, at_us):
        return pack((1, self.uid), (2, 7), (3, int(self.cores * at_us)),
                    (4, 0), (5, 0), (6, pressure(at_us, self.waits)),
                    (7, self.memory), (8, self.memory), (9, self.memory),
                    (10, 0), (11, 0))


class FleetNode:
    """busy: the share of its CPUs that is in use; waits: the share of time in
    which some task waits for a CPU; interval_s: what its reports say of the
    time between them."""

    def __init__(self, name, vms, busy=0.25, waits=0.01, cores=CORES,
                 memory=MEMORY, interval_s=INTERVAL_S):
        self.name, self.vms, self.busy, self.waits = name, vms, busy, waits
        self.cores, self.memory = cores, memory
        self.interval_s = interval_s
        self.peer, self.seq = None, 0
        self.user_us = self.idle_us = 0.0
        self.at_us = None

    def advance(self, at_us):
        since = 1e9 if self.at_us is None else at_us - self.at_us
        self.user_us += since * self.cores * self.busy
        self.idle_us += since * self.cores * (1 - self.busy)
        self.at_us = at_us

    def report(self, at_us):
        self.advance(at_us)
        self.seq += 1
        used = int(self.memory * 0.2) + sum(vm.memory for vm in self.vms)
        return pack(
            (1, self.seq), (2, "boot"), (3, at_us),
            (4, int(time.time() * 1e6)), (5, self.interval_s * 1000),
            (6, pack((1, PRESENT), (2, self.cores), (3, self.cores),
                     (4, int(self.user_us)), (5, 0), (6, 0),
                     (7, int(self.idle_us)), (8, 0), (9, 0), (10, 0),
                     (11, 0))),
            (7, pressure(at_us, self.waits)), (8, pressure(at_us, self.waits)),
            (9, pack((1, PRESENT), (2, self.memory),
                     (3, self.memory - used), (4, 0), (5, 0))),
            (14, 1), (15, pack((1, KVM_OK), (2, KVM_LEVEL_RUN))),
            *((16, vm.packed(at_us)) for vm in self.vms))

    def send(self, url, count=1, every_s=INTERVAL_S):
        """The reports of the last count * every_s seconds, as one batch. A
        lost connection is made again."""
        now_us = time.monotonic_ns() // 1000
        if self.peer is None:
            self.peer = WirePeer(url, self.name)
        self.peer.send(now_us, [
            self.report(int(now_us - i * every_s * 1e6))
            for i in reversed(range(count))])

    def close(self):
        if self.peer:
            self.peer.close()
        self.peer = None


class Fleet:
    """Sends for all nodes until close(); pause() freezes the figures."""

    def __init__(self, aggregator, nodes, history_s=0):
        self.aggregator, self.nodes = aggregator, nodes
        self.stopping, self.lock = threading.Event(), threading.Lock()
        for node in nodes:
            if history_s:
                node.send(aggregator.url, history_s // 10, 10)
        self.send()
        self.thread = threading.Thread(target=self.run, daemon=True)
        self.thread.start()

    def send(self):
        for node in self.nodes:
            try:
                node.send(self.aggregator.url)
            except (OSError, AssertionError):
                node.close()  # the aggregator is away: the next round

    def run(self):
        while not self.stopping.wait(INTERVAL_S):
            with self.lock:
                self.send()

    def close(self):
        self.stopping.set()
        self.thread.join()
        for node in self.nodes:
            node.close()


def send_decisions(url, decisions):
    """decisions: dicts of namespace, pod, vm, chosen, sentence, at_s."""
    peer = WirePeer(url, "scheduler", ROLE_SCHEDULER)
    assert 2 in peer.request((DECISIONS, pack(*((1, pack(
        (1, d["namespace"]), (2, d["pod"]), (3, d["pod"]),
        (4, int(d["at_s"] * 1e6)), (5, "real-load"), (6, d["chosen"]), (7, 12),
        (8, 11), (10, d["sentence"]), (15, d["vm"]))) for d in decisions))))
    peer.close()


def packed_move(m):
    """What a move does not have is left out."""
    times = ((number, int(m[name] * 1e6)) for number, name in (
        (12, "at_s"), (13, "ordered_s"), (14, "ended_s")) if name in m)
    return pack(
        (1, m["id"]), (2, 1), (3, m["namespace"]), (4, m["vm"]),
        (6, m["source"]), (7, m["target"]), (8, m["state"]), (9, 0), *times,
        *([(15, m["migration"])] if "migration" in m else []),
        (17, m["sentence"])) + b"".join(
            double(number, value)
            for number, value in m.get("figures", {}).items())


def send_moves(url, moves):
    """moves: dicts of id, namespace, vm, source, target, state, sentence,
    at_s; and of ordered_s, ended_s, migration and figures, which are numbers
    by proto/plimsoll.proto."""
    peer = WirePeer(url, "scheduler", ROLE_SCHEDULER)
    reply = peer.request((MOVES, pack(*(
        (1, packed_move(m)) for m in moves))))
    assert 2 in reply, reply
    peer.close()


class SchedulerPeer:
    """A leading scheduler that answers questions without a scheduler's
    program. answer: a function of the kind's number and the question's
    members by proto/plimsoll.proto, which returns the status as a dict. mode,
    why: of rebalancing."""

    def __init__(self, url, answer, mode="Recommend", why="nothing is short"):
        self.url, self.answer, self.term = url, answer, 1
        self.mode, self.why = mode, why
        self.stopping = threading.Event()
        self.thread = threading.Thread(target=self.run, daemon=True)
        self.thread.start()

    def run(self):
        while not self.stopping.is_set():
            try:
                self.park()
            except (OSError, AssertionError):
                self.stopping.wait(0.2)  # the aggregator is away

    def park(self):
        """Asks for questions until the aggregator is away; a connection of
        its own takes the answers."""
        with contextlib.closing(self.peer()) as asks, \
                contextlib.closing(self.peer()) as tells:
            self.answer_all(asks, tells)

    def peer(self):
        return WirePeer(self.url, "scheduler", ROLE_SCHEDULER)

    def answer_all(self, asks, tells):
        while not self.stopping.is_set():
            reply = asks.request((PARK, pack(
                (1, self.term), (3, self.mode), (4, self.why), (5, KINDS))))
            question = fields(reply[7][0]) if 7 in reply else {}
            if 1 not in question:
                continue
            kind = question.get(2, [0])[0]
            tells.request((ANSWER, pack(
                (1, question[1][0]), (2, self.term), (3, 200), (4, 0),
                (5, json.dumps(self.answer(kind, question))))))

    def close(self):
        """The thread ends with its next reply."""
        self.stopping.set()


class SilentScheduler(SchedulerPeer):
    """Leads, takes the questions of people and answers none. held: the ids of
    the last ones, as many as a scheduler may hold; taken: the number of
    all."""

    HELD = 4  # QUESTIONS_HELD_MAX of proto/question.h

    def __init__(self, url):
        self.held, self.taken = [], 0
        super().__init__(url, None)

    def answer_all(self, asks, tells):
        while not self.stopping.is_set():
            reply = asks.request((PARK, pack(
                (1, self.term), *((2, number) for number in self.held),
                (3, self.mode), (4, self.why), (5, REACH))))
            question = fields(reply[7][0]) if 7 in reply else {}
            if 1 in question:
                self.held = [*self.held, question[1][0]][-self.HELD:]
                self.taken += 1
