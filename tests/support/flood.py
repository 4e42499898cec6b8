"""Pours connections over a port while somebody looks on: reports have to go on
being stored, probes answered, and afterwards all has to be as it was."""
import os
import pathlib
import resource
import socket
import sqlite3
import threading
import time
import unittest

from harness import SLOWNESS, Driver, Machine, agent, eventually

FLOOD_S = 15          # no flood lasts longer
ACKNOWLEDGED_S = 1.0 * SLOWNESS  # beside the agent's interval
INTERVAL_S = 0.25
# The sanitizers keep freed memory back, 256 MiB of it by default, and have
# memory of their own beside all that is used.
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


class Flood:
    """Connections that are all closed at the end, whatever happens."""

    def __init__(self):
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
        try:
            plug.send(text)
        except OSError:
            pass  # it was cut off, as it should be

    def drip(self):
        """A byte a second on each, until the time is over."""
        while not self.late():
            for plug in self.plugs:
                self.say(plug, b"x")
            time.sleep(min(1, max(0, self.until - time.monotonic())))

    def close(self):
        for plug in self.plugs:
            plug.close()

    def hold(self, port, count, first=b""):
        """All of them open at once, for some seconds."""
        self.open(port, count, first)
        time.sleep(3)


class Watch:
    """Asks all the time how old the newest report is, and the probes."""

    def __init__(self, aggregator):
        self.aggregator = aggregator
        self.worst_age = 0.0
        self.worst_probe = 0.0
        self.stop = threading.Event()
        self.thread = threading.Thread(target=self.run, daemon=True)
        self.trouble = []

    def run(self):
        while not self.stop.wait(0.2):
            start = time.monotonic()
            try:
                if self.aggregator.health("/readyz")[0] != 200:
                    self.trouble.append("/readyz is not 200")
            except OSError as why:
                self.trouble.append(f"/readyz: {why}")
            self.worst_probe = max(self.worst_probe,
                                   time.monotonic() - start)
            newest = self.newest_stored_age()
            self.worst_age = max(self.worst_age, newest)

    def newest_stored_age(self):
        with sqlite3.connect(f"file:{self.aggregator.db}?mode=ro",
                             uri=True) as connection:
            newest = connection.execute(
                "SELECT max(sample_ms) FROM report").fetchone()[0]
        connection.close()
        return time.time() - newest / 1000

    def __enter__(self):
        self.thread.start()
        return self

    def __exit__(self, *_):
        self.stop.set()
        self.thread.join()


class FloodCase(unittest.TestCase):
    """Five agents report to cls.aggregator, which begin() is given."""

    @classmethod
    def begin(cls, folder, aggregator, url, *flags):
        need_files()
        cls.aggregator = aggregator
        machine = Machine(folder.path / "m")
        driver = Driver([machine]).start()
        cls.addClassCleanup(driver.stop)
        for i in range(5):
            folder.add(agent(
                folder.path, f"node-{i}", [url], *machine.agent_flags(),
                *flags, interval=f"{int(INTERVAL_S * 1000)}ms")).start()
        eventually("all agents report", lambda: len(
            cls.aggregator.json("/v1/nodes")["nodes"]) == 5)

    def proc(self, name):
        return pathlib.Path("/proc", str(self.aggregator.process.pid), name)

    def memory_kb(self):
        text = self.proc("status").read_text()
        return int(text.partition("VmHWM:")[2].split()[0])

    def files(self):
        return len(os.listdir(self.proc("fd")))

    def flood(self, pour):
        """Pours while the watch looks on; then all must be as before."""
        before = self.files()
        flood = Flood()
        with Watch(self.aggregator) as watch:
            try:
                pour(flood)
            finally:
                flood.close()
        self.assertEqual(watch.trouble, [])
        self.assertLess(watch.worst_age, INTERVAL_S + ACKNOWLEDGED_S)
        self.assertLess(watch.worst_probe, ACKNOWLEDGED_S)
        self.assertLess(self.memory_kb(), MEMORY_KB)
        eventually("the connections are gone",
                   lambda: self.files() <= before + 5, 20)
        status, _, _ = self.aggregator.get("/v1/nodes")
        self.assertEqual(status, 200)
