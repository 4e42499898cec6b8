#!/usr/bin/env python3
"""Measures the store beside Debian's victoria-metrics, on the same values: bytes
on disk, and the CPU of reading a day of one node. Prints tables and compares
them with the budgets.

The values are a synthetic day (tests/bench/bench_store.c, which also reads it
back and compares it bit by bit) and what the agent records of this machine
while the program runs. victoria-metrics imports what the database returns
(tests/bench/store_lines_main.c)."""
import argparse
import http.client
import pathlib
import re
import subprocess
import sys
import time

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent / "support"), str(HERE)]

from agent_bench import cpu_us, verdict  # noqa: E402
from aggregator_bench import VICTORIA, answers, counter, size_of  # noqa: E402
from harness import (BIN, ROOT, Aggregator, Folder,  # noqa: E402
                     Program, eventually, http_get)
from ports import free_port  # noqa: E402

STORE = ROOT / "build/release/tests/bench/bench_store"
LINES = ROOT / "build/release/tests/bench/store_lines"
BEGIN_S = 1790000000 // 86400 * 86400  # as in bench_store.c
PIECE = 8 << 20  # of an import
READS = 5
FIGURES = ",".join([
    "cpu.cores", "cpu.used_cores", "cpu.pressure_some", "cpu.contention",
    "memory.total_bytes", "memory.available_bytes", "memory.working_set_bytes",
    "memory.pressure_some", "memory.pressure_full", "io.pressure_some",
    "io.pressure_full"])


class Peer:
    """victoria-metrics with all reports of a database in it."""

    def __init__(self, folder, db):
        self.data = folder.path / f"{db.stem}-victoria"
        self.port = free_port()
        self.url = f"http://127.0.0.1:{self.port}"
        self.program = folder.add(Program(folder.path, "victoria-metrics", [
            VICTORIA, f"-storageDataPath={self.data}", "-retentionPeriod=5y",
            f"-httpListenAddr=127.0.0.1:{self.port}"])).start()
        eventually("victoria-metrics answers",
                   lambda: answers(self.url, "vm_app_uptime_seconds"))
        start = cpu_us(self.program.process.pid)
        self.values = self.take(db)
        self.import_us = cpu_us(self.program.process.pid) - start

    def take(self, db):
        connection = http.client.HTTPConnection("127.0.0.1", self.port)
        lines = subprocess.Popen([LINES, db], stdout=subprocess.PIPE,
                                 stderr=subprocess.PIPE)
        piece, size = [], 0
        for line in [*lines.stdout, None]:
            if size > PIECE or line is None and size > 0:
                connection.request("POST", "/api/v1/import", b"".join(piece))
                answer = connection.getresponse()
                assert answer.status == 204, answer.read()
                answer.read()
                piece, size = [], 0
            if line is not None:
                piece.append(line)
                size += len(line)
        told = lines.stderr.read().decode()
        assert lines.wait() == 0, told
        return int(re.search(r"values (\d+)", told).group(1))

    def settle(self):
        """Flushes everything into merged files."""
        for path in ("/internal/force_flush", "/internal/force_merge"):
            assert http_get(self.url + path)[0] == 200, path
        eventually("all rows are there",
                   lambda: counter(self.url, "vm_rows") >= self.values)
        self.own_bytes = eventually("merges end", self.own_figure)

    def own_figure(self):
        before = counter(self.url, "vm_data_size_bytes")
        time.sleep(3)
        busy = counter(self.url, "vm_active_merges")
        return before == counter(self.url, "vm_data_size_bytes") and not busy \
            and before

    def export_us(self, from_s, to_s):
        pid = self.program.process.pid
        start = cpu_us(pid)
        for _ in range(READS):
            status, _, text = http_get(
                f"{self.url}/api/v1/export?match[]=%7Bnode%3D%22node-0%22%7D"
                f"&start={from_s}&end={to_s}")
            assert status == 200 and text, status
        return (cpu_us(pid) - start) / READS

    def stop(self):
        self.program.stop()
        self.disk_bytes = size_of(self.data)


def read_history(aggregator, hours, fields):
    """Reads a node's history at 5 s. An answer has 11,000 rows at most, so a
    day takes two. Returns the number of rows."""
    rows = 0
    for half in range(0, hours, 12):
        found = aggregator.json(
            f"/v1/nodes/node-0/history?step=5&from={BEGIN_S + half * 3600}"
            f"&to={BEGIN_S + min(half + 12, hours) * 3600}{fields}")
        rows += len(found["rows"])
    return rows


def history_us(folder, db, hours):
    """CPU of the aggregator for the history of node-0 as JSON: with the default
    fields, and with all fields."""
    ages = [f"--retention-{tier}=1825d" for tier in ("raw", "1m", "1h")]
    aggregator = folder.add(Aggregator(folder.path, db.stem, *ages,
                                       db=db)).start()
    eventually("the past is there",
               lambda: aggregator.get("/v1/nodes/node-0")[0] == 200)
    time.sleep(2)
    pid = aggregator.process.pid
    used = []
    for fields in ("", f"&fields={FIGURES}"):
        start = cpu_us(pid)
        rows = sum(read_history(aggregator, hours, fields)
                   for _ in range(READS))
        used.append((cpu_us(pid) - start) / READS)
        assert rows == READS * hours * 720, rows
    aggregator.stop()
    return used


def sizes(text):
    """Bytes per report over all tiers: the file, the blobs."""
    file_, blobs = re.search(r"all tiers, ([0-9.]+) B; blobs: (.*)",
                             text).groups()
    return float(file_), sum(float(x) for x in re.findall(r"[0-9.]+", blobs))


def run(*arguments):
    done = subprocess.run([STORE, *map(str, arguments)], check=True,
                          stdout=subprocess.PIPE, text=True)
    print(done.stdout, end="", flush=True)
    return done.stdout


def synthetic(nodes, vms, hours):
    folder = Folder()
    try:
        db = folder.path / "synthetic.db"
        text = run("make", nodes, vms, hours, 5, db)
        file_, _ = sizes(text)
        reports = nodes * hours * 720
        peer = Peer(folder, db)
        peer.settle()
        theirs_us = peer.export_us(BEGIN_S, BEGIN_S + hours * 3600)
        peer.stop()
        tell_bytes(file_, peer, reports)
        usual_us, all_us = history_us(folder, db, hours)
        print(f"  {hours} h of one node as JSON: the usual six fields "
              f"{usual_us / 1000:.1f} ms of CPU ({usual_us / theirs_us:.3f} of "
              f"victoria-metrics'), all eleven {all_us / 1000:.1f} ms; "
              f"victoria-metrics' export {theirs_us / 1000:.1f} ms")
        if vms == 0:
            ratio = all_us / theirs_us
            print(f"{verdict(ratio <= 0.1)}: CPU of reading all fields: "
                  f"{ratio:.3f} of victoria-metrics' (budget 0.1)")
    finally:
        folder.close()


def tell_bytes(ours, peer, reports):
    own, disk = peer.own_bytes / reports, peer.disk_bytes / reports
    print(f"  bytes a report: {ours:.1f} with rollups; victoria-metrics "
          f"{own:.1f} by its own figure, {disk:.1f} on the disk; "
          f"{peer.values / reports:.0f} values, of which it took "
          f"{peer.import_us / peer.values:.2f} us of CPU each to import")
    print(f"{verdict(ours <= own)}: bytes on the disk: {ours / own:.2f} of "
          "victoria-metrics' own figure (budget 1)")


def recorded(seconds):
    """This machine's own values, every 100 ms."""
    folder = Folder()
    try:
        aggregator = folder.add(Aggregator(folder.path)).start()
        agent = folder.add(Program(folder.path, "agent", [
            BIN / "plimsoll-agent", "--node-name=node-0", "--interval=100ms",
            f"--aggregator={aggregator.url}", "--kvm-probe=off"])).start()
        time.sleep(seconds)
        agent.stop()
        aggregator.stop()
        text = run("pack", aggregator.db)
        reports = int(re.search(r"store: (\d+) reports", text).group(1))
        # A file of a few minutes is mostly empty pages of SQLite.
        _, blobs = sizes(text)
        peer = Peer(folder, aggregator.db)
        peer.settle()
        peer.stop()
        tell_bytes(blobs, peer, reports)
    finally:
        folder.close()


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--record-seconds", type=int, default=300)
    parser.add_argument("--hours", type=int, default=24)
    options = parser.parse_args()
    synthetic(2, 0, options.hours)
    synthetic(2, 30, min(options.hours, 6))
    recorded(options.record_seconds)


if __name__ == "__main__":
    main()
