"""The checks at the end of a run: functions of data. Each returns a sentence
for each thing that is not as it has to be."""
import collections
import pathlib
import sqlite3
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))

from cluster import bound_pod  # noqa: E402
from expected import unexpected  # noqa: E402
from stored import STOPPED  # noqa: E402

# Resident memory in MiB that a process may have at any time: three times what
# the programs had in runs of three minutes.
RSS_MIB = {"aggregator": 80, "scheduler": 60, "agent": 15}
# So much more for an aggregator to whose message port silent connections came.
# 1,000 unfinished handshakes took it from 14 MiB to 104, and 20,000 more of
# them to no more: the heap keeps what was freed.
FLOODED_MIB = 90
# Growth in MiB per hour, of lives that are long enough after a warm-up. The
# aggregator fills windows of an hour for each node and VM.
SLOPE_MIB_PER_H = {"aggregator": 30, "scheduler": 6, "agent": 1.5}
WARM_UP_S, LIFE_S = 240, 600
LISTED = 10  # so many sentences of one kind are enough


def some(found, what):
    """At most LISTED of these sentences, and how many there are more."""
    found = list(found)
    more = len(found) - LISTED
    return found[:LISTED] + ([f"and {more} more {what}"] if more > 0 else [])


# ---- what was acknowledged ----

def missing(acknowledged, stored):
    """Both are {(node, run): seqs}."""
    found = []
    for (node, run), seqs in sorted(acknowledged.items()):
        gone = sorted(set(seqs) - set(stored.get((node, run), ())))
        if gone:
            found.append(
                f"{len(gone)} of {len(seqs)} reports of {node} that were "
                f"acknowledged as stored are missing, run {run}: "
                f"{gone[:5]}")
    return some(found, "runs")


def missing_at_stop(logs, stored):
    """logs: {node: text} of agents, each of which says when it stops whether
    all reports of its run were stored."""
    said = {(node, run): range(1, int(made) + 1)
            for node, text in logs.items()
            for run, made, left, dropped in STOPPED.findall(text)
            if left == dropped == "0"}
    return missing(said, stored)


def stored_twice(stored):
    found = []
    for (node, run), seqs in sorted(stored.items()):
        count = collections.Counter(seqs)
        twice = sorted(seq for seq, n in count.items() if n > 1)
        if twice:
            found.append(f"{len(twice)} reports of {node} are stored twice, "
                         f"run {run}: {twice[:5]}")
    return some(found, "runs")


def missing_decisions(acknowledged, db):
    """acknowledged: (pod uid, ms since 1970)."""
    link = sqlite3.connect(f"file:{db}?mode=ro", uri=True)
    stored = set(link.execute("SELECT uid, wall_ms FROM decision"))
    link.close()
    return some((f"the decision for pod {uid} at {ms} ms was acknowledged and "
                 "is missing" for uid, ms in sorted(acknowledged - stored)),
                "decisions")


def damage(db):
    link = sqlite3.connect(f"file:{db}?mode=ro", uri=True)
    try:
        (answer,), *more = link.execute("PRAGMA integrity_check").fetchall()
    finally:
        link.close()
    return [] if answer == "ok" and not more else [
        f"the database is damaged: {answer}"]


def unstored(acknowledged, newest):
    """newest: {(node, run): the last seq that was sent}, of agents that still
    run: all reports until then have to be stored."""
    found = []
    for key, last in newest.items():
        left = set(range(1, last + 1)) - acknowledged.get(key, set())
        if left:
            found.append(f"{len(left)} reports of {key[0]} are not stored, "
                         f"run {key[1]}: {sorted(left)[:5]}")
    return some(sorted(found), "runs")


# ---- pods ----

def bound_twice(audit):
    """audit: the lines of the API server's audit log."""
    count = collections.Counter(
        pod for pod in map(bound_pod, audit) if pod is not None)
    return some((f"pod {pod} was bound {n} times"
                 for pod, n in sorted(count.items()) if n > 1), "pods")


def left_pending(pods):
    """pods: objects of the API server; each of them fits on some node."""
    return some((f"pod {pod['metadata']['name']} has no node"
                 for pod in pods if not pod["spec"].get("nodeName")), "pods")


# ---- memory ----

def lives(samples):
    """{(kind, pid): [(second, MiB)]}. samples: (kind, pid, second, MiB)."""
    found = {}
    for kind, pid, at, mib in samples:
        found.setdefault((kind, pid), []).append((at, mib))
    return found


def slope(kind, samples, quiet_since=0.0):
    """MiB per hour over all long lives of this kind, each with a level of its
    own; None if there is no long life. A life warms up again after hostile
    faults, the last of which ended at quiet_since."""
    above = below = 0.0
    for (other, _), points in lives(samples).items():
        begin = max(points[0][0], quiet_since) + WARM_UP_S
        warm = [p for p in points if p[0] >= begin]
        if other != kind or not warm or warm[-1][0] - warm[0][0] < LIFE_S:
            continue
        mean_at = sum(at for at, _ in warm) / len(warm)
        mean_mib = sum(mib for _, mib in warm) / len(warm)
        above += sum((at - mean_at) * (mib - mean_mib) for at, mib in warm)
        below += sum((at - mean_at) ** 2 for at, _ in warm)
    return 3600 * above / below if below else None


def most_memory(kind, samples, flooded=()):
    """In MiB, without what a flood may take."""
    return max((mib - (FLOODED_MIB if pid in flooded else 0)
                for other, pid, _, mib in samples if other == kind),
               default=None)


def memory(samples, flooded=(), quiet_since=0.0):
    """flooded: pids."""
    found = []
    for kind, limit in RSS_MIB.items():
        most = most_memory(kind, samples, flooded)
        if most is None:
            found.append(f"the memory of {kind} was never read")
        elif most > limit:
            found.append(f"{kind} had {most:.1f} MiB, the bound is {limit}")
    for kind, limit in SLOPE_MIB_PER_H.items():
        grows = slope(kind, samples, quiet_since)
        if grows is not None and grows > limit:
            found.append(f"{kind} grew by {grows:.1f} MiB per hour, the bound "
                         f"is {limit}")
    return found


# ---- logs and ends ----

def unexpected_lines(logs, kinds):
    """logs: {name: text}; kinds: the faults that were."""
    return some((f"{name}: {line}" for name, text in sorted(logs.items())
                 for line in unexpected(text, kinds)), "lines")


# A program may exit with 1 when it cannot start.
MAY_NOT_START = {"lock-database"}


def wrong_ends(ends):
    """ends: objects with name, code, by ("kill", "stop" or "") and faults, the
    kinds that were on or over."""
    found = []
    for end in ends:
        fine = {"kill": end.code in (-9, 0), "stop": end.code in (0, -15),
                "": end.code == 1 and end.name == "aggregator"
                and MAY_NOT_START & end.faults}[end.by]
        if not fine:
            why = f"after '{end.by}'" if end.by else "by itself"
            found.append(f"{end.name} ended {why} with {end.code}")
    return some(found, "ends")


# ---- queries ----

def wrong_answers(statuses, kinds):
    """statuses: {(route, status): how often}. 0: no answer, while the
    aggregator was disturbed; 404: the VM or its history is not known; 400: the
    range begins in the future of a clock that was set back."""
    fine = {0, 200, 404, 503}
    if "clock-aggregator" in kinds:
        fine.add(400)
    found = [f"{route} was answered {n} times with {status}"
             for (route, status), n in sorted(statuses.items())
             if status not in fine]
    good = {route for (route, status), n in statuses.items() if status == 200}
    return found + [f"{route} was never answered"
                    for route in sorted({r for r, _ in statuses} - good)]


# ---- probes ----

# timeoutSeconds in deploy/base/aggregator/statefulset.yaml, and the share of
# probes that may miss it.
PROBE_S, MAY_BE_LATE = 10, 0.1


def late_probes(seen):
    """seen: (hostile kinds that were on, seconds until the answer or None)."""
    found = []
    for kind in sorted({kind for kinds, _ in seen for kind in kinds}):
        took = [seconds for kinds, seconds in seen if kind in kinds]
        late = sum(seconds is None or seconds > PROBE_S for seconds in took)
        if late > MAY_BE_LATE * len(took):
            found.append(f"{late} of {len(took)} probes were not answered "
                         f"within {PROBE_S} s under {kind}")
    return found
