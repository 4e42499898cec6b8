#!/usr/bin/env python3
"""Measures remote write: how fast a backlog of known size drains into Debian's
victoria-metrics and prometheus, and into a receiver that answers at once.
Prints samples a second, and the CPU time a sample of the aggregator and of the
receiver.

A synthetic fleet (tests/bench/fleet_main.c) fills the queue on disk while no
receiver listens. Each receiver then gets a copy of that database. The machine
runs the aggregator and the receiver at once, so `used` says how much of its
CPUs both took: near 100 % the machine is the limit."""
import argparse
import os
import pathlib
import shutil
import socketserver
import subprocess
import sys
import threading
import time

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent / "support"), str(HERE)]

from agent_bench import cpu_us, peak_rss_mb, verdict  # noqa: E402
from engines import Prometheus, Victoria  # noqa: E402
from harness import (ROOT, Aggregator, Folder,  # noqa: E402
                     eventually)
from ports import free_port  # noqa: E402

FLEET = ROOT / "build/release/tests/bench/fleet"
QUEUE = ["--remote-write-queue", "4GiB"]
GOAL = 200000  # samples a second


class Instant:
    """A receiver that reads a request and answers at once."""
    name, delay_s = "instant", 0

    def __init__(self, folder):
        delay_s = self.delay_s

        class Handler(socketserver.StreamRequestHandler):
            rbufsize = 1 << 20

            def handle(self):
                while self.rfile.readline():
                    size = 0
                    while (line := self.rfile.readline()) != b"\r\n":
                        name, _, value = line.partition(b":")
                        if name.lower() == b"content-length":
                            size = int(value)
                    self.rfile.read(size)
                    time.sleep(delay_s)
                    self.wfile.write(b"HTTP/1.1 204 No Content\r\n\r\n")

        class Server(socketserver.ThreadingTCPServer):
            daemon_threads = True

        self.server = Server(("127.0.0.1", 0), Handler)
        self.write_url = f"http://127.0.0.1:{self.server.server_address[1]}/"

    def start(self):
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        return self

    def pid(self):
        return os.getpid()

    def stop(self, *_):
        self.server.shutdown()
        self.server.server_close()


class Distant(Instant):
    """As far away as an engine in another region, or one that writes to
    several replicas before it answers."""
    name, delay_s = "after 100 ms", 0.1


def metric(aggregator, name):
    return aggregator.metric(f"plimsoll_remote_write_{name} ")


def fill(folder, options):
    """A database whose queue holds the reports of the fleet."""
    aggregator = folder.add(Aggregator(
        folder.path, "fill", "--remote-write",
        f"http://127.0.0.1:{free_port()}/", *QUEUE)).start()
    subprocess.run([FLEET, "send", aggregator.url, str(options.nodes),
                    str(options.vms), "1000", str(options.seconds)],
                   check=True, stdout=subprocess.DEVNULL)
    reports = metric(aggregator, "pending_reports")
    size = metric(aggregator, "pending_bytes")
    aggregator.stop()
    print(f"backlog: {reports:.0f} reports of {options.nodes} nodes with "
          f"{options.vms} VMs each, {size / 2**20:.0f} MiB", flush=True)
    return aggregator.db


class Drain:
    def __init__(self, folder, engine, template):
        db = folder.path / "drain.db"
        shutil.copyfile(template, db)
        aggregator = folder.add(Aggregator(
            folder.path, f"to-{engine.name}", "--remote-write",
            engine.write_url, *QUEUE, db=db))
        theirs = engine_pid(engine)
        before = cpu_us(theirs)
        began = time.monotonic()
        aggregator.start()
        pid = aggregator.process.pid
        eventually("the backlog drains", lambda: metric(
            aggregator, "sent_samples_total") > 0 and metric(
            aggregator, "pending_reports") == 0, every=0.1)
        self.seconds = time.monotonic() - began
        self.ours_us, self.theirs_us = cpu_us(pid), cpu_us(theirs) - before
        self.samples = metric(aggregator, "sent_samples_total")
        self.requests = metric(aggregator, "sent_requests_total")
        self.rss_mb = peak_rss_mb(pid)
        aggregator.stop()
        assert "refused" not in aggregator.log(), aggregator.log()[-2000:]
        db.unlink()

    def rate(self):
        return self.samples / self.seconds

    def used(self):
        return ((self.ours_us + self.theirs_us) / 1e6 / self.seconds
                / os.cpu_count())


def engine_pid(engine):
    return engine.pid() if isinstance(engine, Instant) else engine.process.pid


def measure(options):
    folder = Folder()
    try:
        template = fill(folder, options)
        print(f"{'receiver':18}{'samples/s':>11}{'us ours':>9}{'us theirs':>11}"
              f"{'used':>7}{'a request':>11}{'peak RSS':>10}{'seconds':>9}")
        rates = {}
        for kind in (Instant, Distant, Victoria, Prometheus):
            engine = kind(folder.path)
            engine.start()
            found = Drain(folder, engine, template)
            rates[engine.name] = found.rate()
            print(f"{engine.name:18}{found.rate():11,.0f}"
                  f"{found.ours_us / found.samples:9.2f}"
                  f"{found.theirs_us / found.samples:11.2f}"
                  f"{found.used():7.0%}"
                  f"{found.samples / found.requests:11,.0f}"
                  f"{found.rss_mb:7.0f} MB{found.seconds:9.1f}", flush=True)
            engine.stop()
        return rates
    finally:
        folder.close()


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--nodes", type=int, default=200)
    parser.add_argument("--vms", type=int, default=30, help="a node")
    parser.add_argument("--seconds", type=int, default=30,
                        help="of reports, one a second and node")
    for name, rate in measure(parser.parse_args()).items():
        print(f"{verdict(rate >= GOAL)}: {name}: {rate:,.0f} samples/s "
              f"(goal {GOAL:,})")


if __name__ == "__main__":
    main()
