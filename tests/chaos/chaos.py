#!/usr/bin/env python3
"""Runs a fleet on a real API server while faults come at random from a seed,
and checks at the end that nothing was lost, bound twice, leaked or complained
about.

usage: chaos.py MINUTES [SEED]

MINUTES is the whole run without the time in which everything settles. The same
arguments give the same faults at the same times. Without the right to mount a
small disk (root, or user namespaces) the full disk is left out. The logs of a
run that failed are in build/chaos/SEED. The last line is: tests: N passed, N
failed, N skipped."""
import concurrent.futures
import contextlib
import heapq
import os
import pathlib
import resource
import shutil
import signal
import sys
import tempfile
import time

TESTS = pathlib.Path(__file__).resolve().parents[1]
for folder in ("support", "e2e"):
    sys.path.insert(0, str(TESTS / folder))

import checks  # noqa: E402
from cluster import Cluster, ready  # noqa: E402
from faults import plan  # noqa: E402
from fleet import Clockwork, Fleet, is_ready  # noqa: E402
from harness import PATIENCE_S  # noqa: E402
from run_tests import folder_in_memory  # noqa: E402
from stored import stored_seqs  # noqa: E402

ROOT = TESTS.parent
LOGS = ROOT / "build/chaos"
PROGRESS_S = 10
# Reports that were only received are sent again after up to 60 s.
# In its own mount namespace, which ends with the process.
MARK = "CHAOS_NAMESPACE"


def enter_namespace():
    """Continues where a small disk can be mounted, if that is allowed."""
    if os.environ.get(MARK):
        return
    options = ["--mount"] if os.geteuid() == 0 else [
        "--user", "--map-root-user", "--mount"]
    may = shutil.which("unshare") and os.spawnvp(
        os.P_WAIT, "unshare", ["unshare", *options, "true"]) == 0
    os.environ[MARK] = "own" if may else "none"
    if may:
        os.execvp("unshare", ["unshare", *options, sys.executable,
                              *sys.argv])


def allow_files():
    """As many as the machine allows: silent connections need them."""
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))


class Run:
    """One run: begins and ends faults at their times and prints them."""

    def __init__(self, fleet, planned):
        self.fleet = fleet
        self.events = [(at, i, is_end, fault)
                       for i, (begin, end, fault) in enumerate(planned)
                       for at, is_end in ((begin, False), (end, True))]
        heapq.heapify(self.events)
        self.pool = concurrent.futures.ThreadPoolExecutor(16)
        self.running, self.on, self.problems = {}, fleet.on, []
        self.start = time.monotonic()
        self.shown = self.settled = 0.0

    def now(self):
        return time.monotonic() - self.start

    def say(self, text):
        now = self.now()
        print(f"{int(now) // 60:3}:{now % 60:04.1f}  {text}", flush=True)

    def play(self):
        while self.events:
            at, i, is_end, fault = self.events[0]
            early = at - self.now()
            if early > 0:
                time.sleep(min(0.1, early))
            else:
                heapq.heappop(self.events)
                self.step(i, is_end, fault)
            self.show_progress()
        for future in self.running.values():
            future.result()
        self.pool.shutdown()

    def step(self, i, is_end, fault):
        if fault.needs_small_disk and not self.fleet.disk.is_small:
            return
        if not is_end:
            self.fleet.faults_seen.add(fault.kind)
            self.on[i] = fault
            self.running[i] = self.pool.submit(self.attempt, fault.begin, fault)
            self.say(f"{fault}, for {fault.seconds} s")
        else:
            before = self.running[i]
            self.running[i] = self.pool.submit(
                self.attempt, fault.end, fault, before)
            del self.on[i]
            if fault.is_hostile:
                self.fleet.quiet_since = time.monotonic()

    def attempt(self, action, fault, before=None):
        """An exception in here is a defect of the run, which fails for it."""
        try:
            if before:
                before.result()
            action(self.fleet)
        except Exception as why:  # pylint: disable=broad-except
            self.problems.append(f"the fault {fault} failed: {why!r}")

    def show_progress(self):
        if self.now() < self.shown + PROGRESS_S:
            return
        self.shown = self.now()
        fleet = self.fleet
        self.say(f"  {fleet.acknowledged.count()} reports acknowledged, "
                 f"{fleet.pods.made} pods made, {len(fleet.pods.placed)} run, "
                 f"{sum(fleet.queries.statuses.values())} queries, "
                 f"{len(fleet.keeper.ended)} restarts; on: "
                 + (", ".join(f.kind for f in self.on.values()) or "nothing"))

    def until(self, claim, probe, found=None):
        """Waits for a condition; the sentences of found() if it does not come
        while everything may settle."""
        while True:
            with contextlib.suppress(OSError):  # the API server is coming back
                if probe():
                    return []
            if self.now() > self.settled:
                break
            self.show_progress()
            time.sleep(0.5)
        late = [f"not within {PATIENCE_S} s: {claim}"]
        with contextlib.suppress(OSError):
            late += found() if found else ()
        return late


def settle(run):
    """{check: sentences} of what has to come true when the faults are over."""
    fleet = run.fleet
    run.say("the faults are over")
    run.settled = run.now() + PATIENCE_S
    fleet.end_pods()
    result = {"both programs are ready": run.until(
        "both programs are ready", lambda: is_ready(fleet)),
        "all nodes are fresh": run.until("all nodes are fresh",
                                         fleet.all_fresh)}
    result["no pod is left pending"] = run.until(
        "all pods are bound",
        lambda: not checks.left_pending(fleet.pods.listed()),
        lambda: checks.left_pending(fleet.pods.listed()))
    newest = fleet.newest_of_live_runs()

    def late():
        return checks.unstored(fleet.acknowledged.reports, newest)
    result["all reports of running agents get stored"] = run.until(
        "all reports are stored", lambda: not late(), late)
    fleet.end_work()
    return result


def judge(run):
    """{check: sentences} of what is left behind when the programs ended."""
    fleet = run.fleet
    ends = fleet.stop_programs()
    stored, db = stored_seqs(fleet.aggregator.db), fleet.aggregator.db
    with open(fleet.cluster.audit, "rb") as audit:
        twice = checks.bound_twice(audit)
    return {
        "nothing acknowledged is missing": checks.missing(
            fleet.acknowledged.reports, stored),
        "nothing is missing that agents knew as stored":
            checks.missing_at_stop({node: program.log() for node, program
                                    in fleet.agents.items()}, stored),
        "no report is stored twice": checks.stored_twice(stored),
        "no acknowledged decision is missing": checks.missing_decisions(
            fleet.acknowledged.decisions, db),
        "the database is sound": checks.damage(db),
        "no pod is bound twice": twice + fleet.pods.moved,
        "memory is within its bounds": checks.memory(
            fleet.keeper.samples, fleet.flooded, fleet.quiet_since),
        "the logs have no unexpected line": checks.unexpected_lines(
            fleet.logs_of_programs(), fleet.faults_seen),
        "no program ended by itself": ends + checks.wrong_ends(
            fleet.keeper.ended),
        "queries are answered": checks.wrong_answers(
            fleet.queries.statuses, fleet.faults_seen),
        "probes are answered under hostile faults": checks.late_probes(
            fleet.probes.seen),
        "the run itself did what it planned": checks.some(
            run.problems + fleet.links.errors + Clockwork.problems,
            "problems")}


def deeds(kind, hostile):
    """What the faults of this kind did: statuses of requests, or words."""
    return ", ".join(f"{n} times {deed}" for (other, deed), n
                     in sorted(hostile.items()) if other == kind)


def summary(run, planned):
    fleet = run.fleet
    rows = [("faults", len(planned)),
            ("reports acknowledged", fleet.acknowledged.count()),
            ("decisions acknowledged", len(fleet.acknowledged.decisions)),
            ("pods made", fleet.pods.made),
            ("restarts", len(fleet.keeper.ended)),
            ("queries", sum(fleet.queries.statuses.values()))]
    rows += [(kind, deeds(kind, fleet.hostile))
             for kind in sorted({kind for kind, _ in fleet.hostile})]
    took = [seconds for _, seconds in fleet.probes.seen
            if seconds is not None]
    rows.append(("probes under hostile faults",
                 f"{len(fleet.probes.seen)}, {len(took)} answered within "
                 f"{max(took, default=0):.2f} s"))
    for kind in checks.RSS_MIB:
        most = max((s[3] for s in fleet.keeper.samples if s[0] == kind),
                   default=0)
        grows = checks.slope(kind, fleet.keeper.samples, fleet.quiet_since)
        rows.append((f"{kind}: most memory", f"{most:.1f} MiB"))
        rows.append((f"{kind}: growth", "no life was long enough"
                     if grows is None else f"{grows:.2f} MiB per hour"))
    for name, value in rows:
        print(f"  {name:28}{value}")


def report(results, fleet, again):
    """Prints the checks; the exit status. A full disk that was left out counts
    as skipped."""
    skipped = int(not fleet.disk.is_small)
    failed = {name: found for name, found in results.items() if found}
    for name, found in results.items():
        print(f"{'FAIL' if found else 'ok':5}{name}")
        for sentence in found:
            print(f"       {sentence}")
    if failed:
        print(f"the logs are in {fleet.logs.relative_to(ROOT)}; "
              f"'{again}' repeats these faults")
    print(f"tests: {len(results) - len(failed)} passed, {len(failed)} failed, "
          f"{skipped} skipped", flush=True)
    return 1 if failed else 0


def play(fleet, planned):
    """The whole run; {check: sentences}."""
    try:
        fleet.start()
    except AssertionError as why:
        return {"the fleet starts": [str(why)]}
    run = Run(fleet, planned)
    run.play()
    results = settle(run) | judge(run)
    summary(run, planned)
    return results


def chaos(minutes, seed, logs):
    seconds = minutes * 60
    planned = plan(seed, seconds)
    again = f"make chaos MINUTES={minutes:g} SEED={seed}"
    print(f"{again}: {len(planned)} faults in {seconds:.0f} s", flush=True)
    with contextlib.ExitStack() as closing:
        cluster = ready(Cluster(
            "--with", "controller-manager", "--local-services",
            "--time-limit", f"{minutes + 30:.0f}m"))
        closing.callback(cluster.close)
        scratch = closing.enter_context(
            tempfile.TemporaryDirectory(prefix="chaos-"))
        fleet = Fleet(cluster, seed, logs, pathlib.Path(scratch))
        closing.callback(fleet.close)
        results = play(fleet, planned)
        status = report(results, fleet, again)
        if status:
            fleet.keep_files()
    return status


def main(arguments):
    if not 1 <= len(arguments) <= 2:
        sys.exit("usage: chaos.py MINUTES [SEED]")
    enter_namespace()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    allow_files()
    seed = int(arguments[1]) if len(arguments) > 1 else int(time.time())
    logs = LOGS / str(seed)
    shutil.rmtree(logs, ignore_errors=True)
    logs.mkdir(parents=True)
    try:
        with folder_in_memory():
            status = chaos(float(arguments[0]), seed, logs)
    except KeyboardInterrupt:
        print("interrupted", flush=True)
        status = 130
    if status in (0, 130):
        shutil.rmtree(logs)
    return status


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
