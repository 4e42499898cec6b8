"""A node with a VM and a past: reports of earlier hours, sent over the wire as
an agent sends what its spool holds. The load usually changes each 4 min, so
that a row of the wrong time shows, and never at the border of two minutes."""
import math
import time

from page_fleet import CORES, GIB, MEMORY, PRESENT
from wire_peer import WirePeer, pack

BATCH = 200  # reports


def psi(some_us, full_us):
    return pack((1, PRESENT), (2, int(some_us)), (3, int(full_us)))


class PastNode:
    """Reports each `every_s` seconds. interval_s: what the reports say of
    that. The load changes each turn_s seconds."""

    def __init__(self, name, uid, scale=1.0, every_s=5, interval_s=None,
                 turn_s=240):
        self.name, self.uid, self.scale, self.every_s = (name, uid, scale,
                                                         every_s)
        self.turn_s = turn_s
        self.interval_s = interval_s or every_s
        self.seq = 0
        self.totals = dict.fromkeys(
            ("user", "idle", "some", "full", "vm", "vm_some", "vm_full"), 0.0)
        self.at_s = None
        self.peer = None
        self.made_s = time.time()
        self.batch_times = []  # of the first report of each batch

    def wave(self, at_s, least, most):
        turn = (at_s - 97) // self.turn_s
        return least + (most - least) * (0.5 + 0.5 * math.sin(turn))

    def cores(self, at_s):
        return self.scale * self.wave(at_s, 0.5, 2.5)

    def memory(self, at_s):
        return int(self.scale * self.wave(at_s, 1, 3) * GIB)

    def advance(self, at_s):
        since_us = 0 if self.at_s is None else (at_s - self.at_s) * 1e6
        shares = {"user": self.wave(at_s, 2, 9) * self.scale,
                  "idle": CORES - self.wave(at_s, 2, 9) * self.scale,
                  "some": self.wave(at_s, 0.05, 0.3),
                  "full": self.wave(at_s, 0, 0.1),
                  "vm": self.cores(at_s),
                  "vm_some": self.wave(at_s, 0.02, 0.2),
                  "vm_full": self.wave(at_s, 0, 0.02)}
        for name, share in shares.items():
            self.totals[name] += share * since_us
        self.at_s = at_s

    def report(self, at_s):
        self.advance(at_s)
        self.seq += 1
        t = self.totals
        psis = pack((1, psi(t["some"], 0)), (2, psi(t["some"], t["full"])),
                    (3, psi(t["some"], t["full"])))
        memory = self.memory(at_s)
        vm = pack((1, self.uid), (2, 7), (3, int(t["vm"])), (4, 0), (5, 0),
                  (6, pack((1, psi(t["vm_some"], t["vm_full"])))),
                  (7, memory), (8, memory), (9, memory), (10, 0), (11, 0))
        return pack(
            (1, self.seq), (2, "boot"), (3, self.clock_us(at_s)),
            (4, int(at_s * 1e6)), (5, int(self.interval_s * 1000)),
            (6, pack((1, PRESENT), (2, CORES), (3, CORES),
                     (4, int(t["user"])), (5, 0), (6, 0),
                     (7, int(t["idle"])), (8, 0), (9, 0), (10, 0), (11, 0))),
            (7, psis), (8, psis),
            (9, pack((1, PRESENT), (2, MEMORY), (3, MEMORY - memory), (4, 0),
                     (5, 0))),
            (14, 1), (16, vm))

    def may_be_shifted(self, begin_s, end_s):
        """If a batch begins in this time, or with the report before it: the
        aggregator dates a batch when it arrives, so the reports of one that was
        long under way are dated later than those of another."""
        return any(begin_s - self.every_s <= at < end_s + self.every_s
                   for at in self.batch_times)

    def clock_us(self, at_s):
        """The node's clock: it showed 100 days when this was made."""
        return int((100 * 86400 + at_s - self.made_s) * 1e6)

    def send(self, url, begin_s, end_s, gap=(0, 0)):
        """The reports of [begin_s, end_s) in Unix time, without those of the
        gap."""
        peer = WirePeer(url, self.name)
        times = [begin_s + i * self.every_s
                 for i in range(int((end_s - begin_s) / self.every_s))]
        times = [at for at in times if not gap[0] <= at < gap[1]]
        for first in range(0, len(times), BATCH):
            self.batch_times.append(times[first])
            peer.store(self.clock_us(time.time()), [
                self.report(at) for at in times[first:first + BATCH]])
        peer.close()
