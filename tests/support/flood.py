"""Opens many connections to an aggregator while a watch checks that the
aggregator stores reports and answers its probe. Afterwards the aggregator must
be as it was before."""
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

from harness import SLOWNESS, Driver, Machine, agent, eventually, mark

NODES = 5
FLOOD_S = 15      # no flood lasts longer
HELD_ROUNDS = 8   # of the watch, while all connections are open
INTERVAL_S = 0.25
GREETING = b"\0SP\0\0\x30\0\0"  # of nng's REQ protocol
# Within this time a report is stored, and the probe is answered.
STORED_S = 1.0 * SLOWNESS
PROBED_S = 1.0 * SLOWNESS
# The sanitizers keep freed memory, 256 MiB by default, and need memory of their
# own in proportion to what the program uses.
MEMORY_KB = (1200 if SLOWNESS > 1 else 150) << 10


def need_files():
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if hard < 4096:
        raise unittest.SkipTest(f"only {hard} open files are allowed here")
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))


def connect(port):
    plug = socket.socket()
    plug.settimeout(5)
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
        self.stop = threading.Event()
        self.thread = threading.Thread(target=self.run, daemon=True)

    def run(self):
        while not self.stop.wait(0.2):
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
            age = now - max(ends, default=self.began)
            self.history_s = max(self.history_s, age)

    def complaints(self):
        """A sentence for each thing that was not as it has to be."""
        limit = INTERVAL_S + STORED_S
        found = []
        if self.not_ready:
            found.append(f"/readyz answered '{self.not_ready}'")
        if self.probed_s > PROBED_S:
            found.append(f"/readyz took {self.probed_s:.1f} s")
        if self.unstored_s > limit:
            found.append("no batch was acknowledged as stored for "
                         f"{self.unstored_s:.1f} s")
        if self.history_s > limit:
            found.append("the newest report in a history was "
                         f"{self.history_s:.1f} s old")
        return found

    def __enter__(self):
        self.thread.start()
        return self

    def __exit__(self, *_):
        self.stop.set()
        self.thread.join()


class Flood:
    """Connections that are all closed at the end."""

    def __init__(self, watch):
        self.watch = watch
        self.plugs = []
        self.until = time.monotonic() + FLOOD_S

    def late(self):
        return time.monotonic() > self.until

    def open(self, port, count, first=b""):
        for _ in range(count):
            if self.late():
                return
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
        def all_closed():
            self.plugs = [plug for plug in self.plugs if self.say(plug, b"x")
                          or plug.close()]
            return not self.plugs
        eventually("all slow clients are cut off", all_closed, every=1)

    def close(self):
        for plug in self.plugs:
            plug.close()

    def hold(self, port, count, first=b""):
        """Keeps all connections open for some rounds of the watch."""
        self.open(port, count, first)
        self.await_rounds()

    def hold_half_messages(self, count, plug_in):
        """Sends nearly all of the largest message on each connection."""
        size = 1 << 20
        first = (GREETING + struct.pack(">Q", size) + b"\x80\0\0\1"
                 + bytes(size - 64))
        for _ in range(count):
            if self.late():
                break
            plug = plug_in()
            if plug is None:
                continue
            self.plugs.append(plug)
            try:
                plug.sendall(first)
            except OSError:
                pass  # the aggregator has closed the connection
        self.await_rounds()

    def await_rounds(self):
        until = self.watch.rounds + HELD_ROUNDS
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
        self.assertGreater(watch.rounds, 0)
        self.assertEqual(watch.complaints(), [])
        self.assertLess(self.memory_kb(), MEMORY_KB)
        eventually("the connections are gone",
                   lambda: self.files() <= before + 5, 20)
        status, _, _ = self.aggregator.get("/v1/nodes")
        self.assertEqual(status, 200)
