#!/usr/bin/env python3
"""Compares the answers of two builds: a change that moves or renames code must
not change them.

usage: compare_builds.py OLD NEW   two checkouts with `make all bench-binaries`

Both builds get the same input: a generated day in a database, live reports of
agents of both builds, the recorded inputs of tests/fixtures. The script
compares the tables of new databases, /v1/*, /metrics, /watcher, export, score,
simulate and `plimsoll-agent --once`. It leaves out HELP texts, error sentences,
and values that differ from run to run (epochs, ages, the cost of the process
itself)."""
import json
import os
import pathlib
import re
import shutil
import sqlite3
import subprocess
import sys
from contextlib import closing

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))

import harness  # noqa: E402
from day import make_nodes, make_vms  # noqa: E402
from harness import Aggregator, Driver, Folder, Machine, eventually  # noqa: E402

import random  # noqa: E402

BEGIN_S = 1790000000 // 86400 * 86400  # as in bench_store.c
NODES, VMS, HOURS, INTERVAL_S = 4, 5, 26, 10
KEPT = ["--retention-raw", "3650d", "--retention-1m", "3650d",
        "--retention-1h", "3650d", "--compact-after", "1d"]
FIXTURES = harness.ROOT / "tests" / "fixtures"
# Values that differ from run to run.
VOLATILE = re.compile(
    r'"(epoch|rev|now|age_s|load_age_s|wall_us|monotonic_us|run_id|boot_id|'
    r'decision_us_p50|decision_us_p99|seq|latency_us)":[^,}\]]+|'
    r'"own":{[^}]*}|"error":".*"| +\d+ +\d+(?=\n)')
PROCESS = re.compile(r"^(process_|plimsoll_node_age_seconds|"
                     r"plimsoll_agent_|plimsoll_aggregator_|"
                     r"plimsoll_build_info|# HELP).*\n", re.M)


class Comparison:
    def __init__(self):
        self.same = self.different = self.bytes = self.errors = 0

    def check(self, what, old, new):
        self.bytes += len(old)
        if old == new:
            self.same += 1
            return
        self.different += 1
        print(f"DIFFERENT {what}")
        at = len(os.path.commonprefix([old, new]))
        for name, text in (("old", old), ("new", new)):
            print(f"    {name}: {text[max(0, at - 120):at + 120]!r}")


class Build:
    def __init__(self, root, name):
        self.root, self.name = pathlib.Path(root).resolve(), name
        self.bin = self.root / "bin"
        self.simulate = [self.bin / "plimsoll-simulate"]
        if not self.simulate[0].exists():  # before 0.3
            self.simulate = [self.bin / "plimsoll-scheduler", "simulate"]

    def run(self, *arguments, **options):
        done = subprocess.run(
            [str(a) for a in arguments], capture_output=True, text=True,
            timeout=600, check=False, **options)
        return f"exit {done.returncode}\n{done.stdout}"

    def aggregator(self, folder, name, db, *flags):
        harness.BIN = self.bin  # read when it starts
        return folder.add(Aggregator(
            folder.path, f"{name}-{self.name}", *flags, db=db)).start()


def plain(text):
    """The text without values that differ from run to run."""
    return PROCESS.sub("", VOLATILE.sub("?", text))


def tables(path):
    with closing(sqlite3.connect(path)) as db, db:
        rows = db.execute("SELECT type, name, sql FROM sqlite_master"
                          " ORDER BY name").fetchall()
        version = db.execute("PRAGMA user_version").fetchone()
    return "\n".join(map(str, [version, *rows]))


def make_day(build, folder):
    """Makes a database, and names its VM pods as the informer would."""
    path = folder.path / f"day-{build.name}.db"
    program = build.root / "build/release/tests/bench/bench_store"
    build.run(program, "make", NODES, VMS, HOURS, INTERVAL_S, path)
    with closing(sqlite3.connect(path)) as db, db:
        pods = db.execute("SELECT pod_uid, min(node) FROM place"
                          " GROUP BY pod_uid ORDER BY pod_uid").fetchall()
        db.executemany(
            "INSERT OR REPLACE INTO identity VALUES(?, 'team', ?, ?, 0, ?)",
            [(uid, f"vm-{i}", f"vmi-{i}", node)
             for i, (uid, node) in enumerate(pods)])
    return path, len(pods)


def content(path):
    """Every row of the database without the time of writing."""
    with closing(sqlite3.connect(path)) as db, db:
        names = [row[0] for row in db.execute(
            "SELECT name FROM sqlite_master WHERE type = 'table'"
            " ORDER BY name")]
        text = []
        for name in names:
            columns = [row[1] for row in db.execute(
                f"PRAGMA table_info({name})") if row[1] != "stored_ms"]
            text += [f"{name}: {row}" for row in db.execute(
                f"SELECT {', '.join(columns)} FROM {name}")]
    return "\n".join(text)


def history_paths(begin, end, vms):
    hour = 3600
    nodes = [f"/v1/nodes/node-{i}/history" for i in range(NODES)]
    names = [f"/v1/vms/team/vm-{i}/history" for i in range(vms)]
    ranges = [(begin, end, 0), (end - hour, end, 10), (end - 6 * hour, end, 60),
              (begin, end, 300), (begin, end, hour),
              (begin + 7 * hour, begin + 8 * hour, 7)]
    for path in nodes[:2] + names[:6]:
        for start, stop, step in ranges:
            yield (f"{path}?from={start}&to={stop}"
                   + (f"&step={step}" if step else ""))


def node_fields():
    """Every figure of a node that docs/http.md names for histories."""
    text = (harness.ROOT / "docs" / "http.md").read_text()
    return sorted(set(re.findall(r"`((?:cpu|memory|io)\.\w+)`", text)))


def compare_day(comparison, builds, folder):
    days = [make_day(build, folder) for build in builds]
    comparison.check("generated database: tables", tables(days[0][0]),
                     tables(days[1][0]))
    comparison.check("generated database: rows", content(days[0][0]),
                     content(days[1][0]))
    begin, end = BEGIN_S, BEGIN_S + HOURS * 3600
    copies = []
    for build in builds:
        path = folder.path / f"copy-{build.name}.db"
        shutil.copy(days[0][0], path)
        copies.append(path)
    exports = [build.run(build.bin / "plimsoll-aggregator", "export",
                         "--db", copy, "--from", begin // 60 * 60,
                         "--to", end // 60 * 60, "--step", "5m")
               for build, copy in zip(builds, copies)]
    comparison.check("export", *exports)
    running = [build.aggregator(folder, "day", copy, *KEPT)
               for build, copy in zip(builds, copies)]
    paths = list(history_paths(begin, end, days[0][1]))
    paths += [f"/v1/nodes/node-1/history?from={end - 3600}&to={end}"
              f"&fields={field}" for field in node_fields()]
    paths += ["/v1/nodes", "/v1/vms", "/v1/decisions", "/metrics", "/watcher",
              "/v1/nodes/node-1", "/v1/vms/team/vm-1"]
    for path in paths:
        for accept in (None, "text/csv"):
            answers = [a.get(path, accept) for a in running]
            comparison.errors += answers[0][0] != 200
            comparison.check(f"GET {path} {accept or ''}", *(
                f"{status}\n{plain(text)}" for status, _, text in answers))
    for aggregator in running:
        aggregator.stop()
    return exports[0].partition("\n")[2]


def compare_live(comparison, builds, folder):
    """Agents of both builds report to aggregators of both."""
    fresh = [folder.path / f"live-{build.name}.db" for build in builds]
    running = [build.aggregator(folder, "live", path)
               for build, path in zip(builds, fresh)]
    machines, agents = [], []
    for build in builds:
        machine = Machine(folder.path / f"machine-{build.name}", cores=8)
        machine.busy, machine.waiting = 0.6, 0.2
        for i in range(3):
            machine.run_pod(f"{build.name}{i:05d}-1111-2222-3333-444455556666",
                            cores=1.5, waiting=0.1 * i)
        machines.append(machine)
        harness.BIN = build.bin
        agents.append(folder.add(harness.agent(
            folder.path, f"node-{build.name}", [a.url for a in running],
            *machine.agent_flags(), interval="200ms")).start())
    driver = Driver(machines).start()
    eventually("both know both nodes", lambda: all(
        len(a.json("/v1/nodes")["nodes"]) == 2 for a in running))

    def taken():
        counts = [re.findall(r"^plimsoll_aggregator_reports_total (\d+)",
                             a.get("/metrics")[2], re.M) for a in running]
        return all(c and int(c[0]) > 60 for c in counts)
    eventually("both have windows", taken)
    driver.stop()
    for agent in agents:
        agent.stop()
    for path in ("/v1/nodes", "/v1/vms", "/metrics", "/watcher"):
        texts = [plain(a.get(path)[2]) for a in running]
        comparison.check(f"live GET {path}", *texts)
    for aggregator in running:
        aggregator.stop()
    comparison.check("live database: tables", *map(tables, fresh))


def scenario():
    rnd = random.Random(7)
    rows = [[rnd.randrange(5, 95) for _ in range(96)] for _ in range(60)]
    vms = make_vms(rows, [None] * len(rows), rnd, "mixed")
    return {"step_s": 300, "steps": 96,
            "nodes": make_nodes(vms, 96, "mixed", 0.62, False), "vms": vms}


def compare_scheduler(comparison, builds, folder):
    inputs = sorted(FIXTURES.glob("parity/*.json"))
    inputs.append(harness.ROOT / "deploy/examples/question.json")
    for path in inputs:
        comparison.check(f"score {path.name}", *(
            build.run(build.bin / "plimsoll-scheduler", "score", "--in", path)
            for build in builds))
    path = folder.path / "scenario.json"
    path.write_text(json.dumps(scenario()))
    policies = ["real-load", "kube-scheduler", "kube-scheduler-1.21",
                "target-load-packing", "load-variation-risk",
                "low-risk-overcommit"]
    flags = [f"--policy={name}" for name in policies]
    for more in ([], ["--json"]):
        outputs = []
        for build in builds:
            placements = folder.path / f"placements-{build.name}"
            svg = folder.path / f"svg-{build.name}"
            text = build.run(
                *build.simulate, "--scenario", path, "--placements",
                placements, "--svg", svg, *flags, *more)
            outputs.append(plain(text) + placements.read_text() + svg.read_text())
        comparison.check(f"simulate {more}", *outputs)


def compare_agent(comparison, builds):
    for node in sorted((FIXTURES / "nodes").iterdir()):
        if not node.is_dir():
            continue
        flags = ["--proc-root", node / "proc", "--sys-root", node / "sys",
                 "--cgroup-root", node / "cgroup", "--dev-root", node,
                 "--node-name", "n", "--kvm-probe", "off", "--once"]
        comparison.check(f"--once {node.name}", *(
            plain(build.run(build.bin / "plimsoll-agent", *flags))
            for build in builds))


def main(arguments):
    if len(arguments) != 2:
        print(__doc__.split("\n\n")[1], file=sys.stderr)
        return 2
    builds = [Build(arguments[0], "old"), Build(arguments[1], "new")]
    comparison = Comparison()
    folder = Folder()
    os.environ.pop("PLIMSOLL_BIN", None)
    try:
        compare_agent(comparison, builds)
        compare_scheduler(comparison, builds, folder)
        compare_day(comparison, builds, folder)
        compare_live(comparison, builds, folder)
    finally:
        folder.close()
    print(f"{comparison.same} answers ({comparison.bytes >> 20} MiB) are the "
          f"same, {comparison.different} differ; {comparison.errors} of them are "
          "errors")
    return 1 if comparison.different else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
