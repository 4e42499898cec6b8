"""Opens many connections to an aggregator while a watch sees that the
aggregator stores reports and answers its probe. Afterwards the aggregator must
be as it was before. tests/bench/limits_bench.py runs the same floods with
limits of time."""
import json
import os
import pathlib
import re
import resource
import socket
import struct
import threading
import time
import unittest

from harness import (IS_SANITIZED, PATIENCE_S, Driver, Machine, agent,
                     eventually, mark)

NODES = 5
HELD_ROUNDS = 8   # of the watch, while all connections are open
CHECKED = 16      # MQ_UNFINISHED_NEW of lib/mq/mq_unfinished.h
INTERVAL_S, ROUND_S = 0.25, 0.2
GREETING = b"\0SP\0\0\x30\0\0"  # of nng's REQ protocol
# The sanitizers keep freed memory, 256 MiB by default, and need memory of their
# own in proportion to what the program uses.
MEMORY_KB = (1200 if IS_SANITIZED else 150) << 10


def need_files():
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if hard < 4096:
        raise unittest.SkipTest(f"only {hard} open files are allowed here")
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))


def connect(port):
    plug = socket.socket()
    plug.settimeout(PATIENCE_S)
    try:
        plug.connect(("127.0.0.1", port))
    except OSError:
        plug.close()
        return None
    return plug


class Watch:
    """Asks the aggregator about five times a second what it has stored.

    /v1/nodes is of no use here: it shows reports that are not stored yet. The
    watch reads how many batches were acknowledged as stored, and the history of
    each node in turn, which comes from the database."""

    def __init__(self, aggregator):
        self.aggregator = aggregator
        self.rounds = 0
        self.began = time.time()
        self.probed_s = self.unstored_s = self.history_s = 0.0
        self.not_ready = None  # the last answer of /readyz that was not "ok"
        self.stored, self.stored_at = 0, time.monotonic()
        self.newest = {}  # node -> the end of the newest row in its history
        self.stopping = threading.Event()
        self.thread = threading.Thread(target=self.run, daemon=True)

    def run(self):
        while not self.stopping.wait(ROUND_S):
            self.probe()
            self.check_acks()
            self.check_history(f"node-{self.rounds % NODES}")
            self.rounds += 1

    def probe(self):
        start = time.monotonic()
        try:
            status, _, text = self.aggregator.health("/readyz")
            answer = f"{status} {text.strip()}"
        except OSError as why:
            answer = str(why)
        self.probed_s = max(self.probed_s, time.monotonic() - start)
        if answer != "200 ok":
            self.not_ready = answer

    def get(self, path):
        """The answer, or "" if there is none: this port may be flooded."""
        try:
            status, _, text = self.aggregator.get(path)
        except OSError:
            return ""
        return text if status == 200 else ""

    def check_acks(self):
        found = re.search(r'^plimsoll_aggregator_acks_total\{state="stored"\} '
                          r'(\S+)$', self.get("/metrics"), re.M)
        now = time.monotonic()
        if found and float(found.group(1)) > self.stored:
            self.stored, self.stored_at = float(found.group(1)), now
        self.unstored_s = max(self.unstored_s, now - self.stored_at)

    def check_history(self, node):
        now = time.time()
        text = self.get(f"/v1/nodes/{node}/history?step=1&from={now - 60:.0f}"
                        "&fields=cpu.cores")
        if text:
            ends = [start + 1 for start, value in json.loads(text)["rows"]
                    if value is not None]
            # The newest report of a row is somewhere in its second. A node
            # may have no row yet when the watch begins.
            self.newest[node] = max(ends, default=self.began)
            self.history_s = max(self.history_s, now - self.newest[node])

    def mark(self):
        """What complaints() compares with."""
        return self.stored, dict(self.newest)

    def complaints(self, since):
        """A sentence for each thing that did not go on since mark()."""
        stored, newest = since
        found = []
        if self.not_ready:
            found.append(f"/readyz answered '{self.not_ready}'")
        if self.stored < stored + NODES:
            found.append("no batches were acknowledged as stored")
        found += [f"the history of {node} has no new report"
                  for node in map("node-{}".format, range(NODES))
                  if self.newest.get(node, 0) <= newest.get(node, 0)]
        return found

    def __enter__(self):
        self.thread.start()
        return self

    def __exit__(self, *_):
        self.stopping.set()
        self.thread.join()


class Flood:
    """Connections that are all closed at the end."""

    def __init__(self, watch):
        self.watch = watch
        self.plugs = []

    def open(self, port, count, first=b""):
        for _ in range(count):
            plug = connect(port)
            if plug is None:
                continue
            self.plugs.append(plug)
            if first:
                self.say(plug, first)

    @staticmethod
    def say(plug, text):
        """False if the aggregator has closed the connection."""
        try:
            plug.send(text)
        except OSError:
            return False
        return True

    def drip(self):
        """Sends a byte a second on each connection until the aggregator has
        closed them all."""
        since, left = self.watch.mark(), []

        def all_closed():
            self.plugs = [plug for plug in self.plugs if self.say(plug, b"x")
                          or plug.close()]
            if self.plugs:
                left[:] = self.watch.complaints(since)
            return not self.plugs
        eventually("all slow clients are cut off", all_closed, every=1)
        if left:
            raise AssertionError(f"while the clients were slow: {left}")

    def close(self):
        for plug in self.plugs:
            plug.close()

    def hold(self, port, count, first=b""):
        """Keeps all connections open while the watch looks on."""
        self.open(port, count, first)
        self.await_watch()

    def hold_half_messages(self, count, plug_in):
        """Sends nearly all of the largest message on each connection."""
        size = 1 << 20
        first = (GREETING + struct.pack(">Q", size) + b"\x80\0\0\1"
                 + bytes(size - 64))
        for i in range(count):
            if i % CHECKED == 0:
                self.await_rounds(1)  # the aggregator has looked at them
            plug = plug_in()
            if plug is None:
                continue
            self.plugs.append(plug)
            try:
                plug.sendall(first)
            except OSError:
                pass  # the aggregator has closed the connection
        self.await_watch()

    def await_watch(self):
        """Until the watch has seen that all goes on."""
        self.await_rounds(HELD_ROUNDS)
        since = self.watch.mark()
        eventually("each node's reports are stored all the same",
                   lambda: not self.watch.complaints(since))

    def await_rounds(self, count):
        until = self.watch.rounds + count
        eventually("the watch looked on", lambda: self.watch.rounds >= until)


@mark(slow="thousands of connections")
class FloodCase(unittest.TestCase):
    """Agents report to cls.aggregator, which begin() is given."""

    @classmethod
    def begin(cls, folder, aggregator, url, *flags):
        need_files()
        cls.aggregator = aggregator
        machine = Machine(folder.path / "m")
        driver = Driver([machine]).start()
        cls.addClassCleanup(driver.stop)
        for i in range(NODES):
            folder.add(agent(
                folder.path, f"node-{i}", [url], *machine.agent_flags(),
                *flags, interval=f"{int(INTERVAL_S * 1000)}ms")).start()
        eventually("all agents report", lambda: len(
            cls.aggregator.json("/v1/nodes")["nodes"]) == NODES)

    def proc(self, name):
        return pathlib.Path("/proc", str(self.aggregator.process.pid), name)

    def memory_kb(self):
        text = self.proc("status").read_text()
        return int(text.partition("VmHWM:")[2].split()[0])

    def files(self):
        return len(os.listdir(self.proc("fd")))

    def check(self, watch):
        """After a flood; a benchmark does more."""
        self.assertIsNone(watch.not_ready)

    def flood(self, pour):
        """Calls pour(flood) under the watch; then the aggregator must be as
        before."""
        before = self.files()
        with Watch(self.aggregator) as watch:
            flood = Flood(watch)
            try:
                pour(flood)
            finally:
                flood.close()
        self.check(watch)
        self.assertLess(self.memory_kb(), MEMORY_KB)
        eventually("the connections are gone",
                   lambda: self.files() <= before + 5)
        status, _, _ = self.aggregator.get("/v1/nodes")
        self.assertEqual(status, 200)
