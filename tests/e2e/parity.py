#!/usr/bin/env python3
"""Random cases through kube-scheduler's own filters and through ours.

usage: parity.py [--seed N] [--cases N] [--first N] [--keep DIR]

build/parity holds the scheduling framework of one version (PARITY names
another program) and the API server's validation; ours is `plimsoll-scheduler
score --in -` with the policy kube-scheduler and the same version. Any difference in a node's verdict, reasons or scores by
resources fails, shown as the smallest case that has it. Then the generator
shows its teeth: every filter rejects, and every wrong rule of parity_rules.py
is seen."""
import argparse
import collections
import concurrent.futures
import copy
import json
import os
import pathlib
import subprocess
import sys
import threading
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))

from harness import BIN, ROOT  # noqa: E402
from line_program import LineProgram  # noqa: E402
from parity_cases import case, refused  # noqa: E402
from parity_keep import Judge, keep  # noqa: E402
from parity_rules import (RULES, SCORE_RULES, VERSION_RULES,  # noqa: E402
                          minor_of, not_in_taken_for_every_namespace)

DRIVER = os.environ.get("PARITY", str(ROOT / "build/parity"))
SHRINK_SECONDS = 120
WORKERS = os.cpu_count() or 1
SEED, CASES = 1, 2000
INVALID_SHARE = 0.02
SCORES = ("LeastAllocated", "BalancedAllocation")
Answer = collections.namedtuple("Answer", "reasons scores")
ALL_RULES = {**RULES, **SCORE_RULES}
FIRST_SHARE = 0.01
# Those of the default filters that a pod plimsoll takes can fail.
FILTERS = ("NodeName", "NodeUnschedulable", "TaintToleration", "NodeAffinity",
           "NodePorts", "NodeResourcesFit", "VolumeRestrictions",
           "NodeVolumeLimits", "VolumeBinding", "VolumeZone",
           "PodTopologySpread", "InterPodAffinity", "NodeDeclaredFeatures")
# The one permitted difference, until this version: docs/parity.md.
FAULT = "not-in-of-namespaces"
FAULT_UNTIL = 36


class Driver(LineProgram):
    """A build/parity: one case in, one answer out."""

    def __init__(self):
        if not os.access(DRIVER, os.X_OK):
            raise RuntimeError(f"{DRIVER} is missing: `make e2e-parity` "
                               "builds it")
        super().__init__(DRIVER)


def ours(one):
    """Our answer for each node, as Answer; an error of the program is a reason
    too."""
    done = subprocess.run(
        [BIN / "plimsoll-scheduler", "score", "--in", "-"],
        input=json.dumps({**one, "policy": "kube-scheduler"}),
        capture_output=True, text=True, check=False)
    if done.returncode != 0:
        return {n["metadata"]["name"]: Answer(
            [f"error: {done.stderr.strip()}"], {}) for n in one["nodes"]}
    return {n["name"]: Answer(sorted(n["reasons"]), {
        name: score for name, score in n["terms"].items() if name in SCORES
        and score is not None}) for n in json.loads(done.stdout)["nodes"]}


def theirs(answer):
    return {name: Answer(sorted(v["reasons"]), v.get("scores", {}))
            for name, v in answer["verdicts"].items()}


def reasons(answers):
    return {name: a.reasons for name, a in answers.items()}


def score_differs(one, other):
    """A node that fits in both answers has other scores."""
    return any(a.scores and other[name].scores
               and a.scores != other[name].scores for name, a in one.items())


def shows(name, mine, wrong):
    """Whether the answer of the wrong rule gives it away: a rule of the filters
    by a verdict, a rule of the scores by a score."""
    if name in SCORE_RULES:
        return score_differs(mine, wrong)
    return reasons(mine) != reasons(wrong)


def is_fault(one, expected):
    """Whether our answer is theirs, if we make the fault that kube-scheduler
    has in the namespaceSelectors of this case."""
    if minor_of(one["kubernetes_version"]) > FAULT_UNTIL:
        return False
    wrong = copy.deepcopy(one)
    not_in_taken_for_every_namespace(wrong)
    return wrong != one and ours(wrong) == expected


def differs(driver, one):
    answer = driver.ask(one)
    if "invalid" in answer:
        return False
    expected = theirs(answer)
    return (ours(answer["case"]) != expected
            and not is_fault(answer["case"], expected))


# ---- the smallest case ----

def parts(thing, path=()):
    """Paths of what can be left out, large parts first."""
    found = []
    level = [(path, thing)]
    while level:
        following = []
        for at, value in level:
            if isinstance(value, dict):
                inside = list(value.items())
            elif isinstance(value, list):
                inside = list(enumerate(value))[::-1]
            else:
                continue
            for key, child in inside:
                found.append(at + (key,))
                following.append((at + (key,), child))
        level = following
    return found


def without(one, path):
    """A copy that lacks the part; None if it has no such part."""
    made = copy.deepcopy(one)
    at = made
    try:
        for key in path[:-1]:
            at = at[key]
        del at[path[-1]]
    except (KeyError, IndexError):
        return None
    return made


def shrink(driver, one):
    """Leaves out whatever the difference does not need."""
    end = time.monotonic() + SHRINK_SECONDS
    smaller = True
    while smaller:
        smaller = False
        for path in parts(one):
            if len(path) < 2 or time.monotonic() > end:
                continue
            less = without(one, path)
            if less is not None and differs(driver, less):
                one, smaller = less, True
    return one


def report(driver, number, one):
    one = shrink(driver, one)
    answer = driver.ask(one)
    mine = ours(answer["case"])
    lines = [f"case {number}: a difference",
             json.dumps(one)]
    for name, verdict in sorted(answer["verdicts"].items()):
        if mine.get(name) != theirs(answer)[name]:
            lines.append(f"{name}: kube-scheduler "
                         f"{verdict['plugin'] or 'fits'} "
                         f"{verdict['reasons']} {verdict.get('scores', {})}, "
                         f"plimsoll {mine.get(name)}")
    return "\n".join(lines)


# ---- many cases ----

class Tally:
    """The results of many cases, added up."""

    def __init__(self, with_rules):
        self.cases = self.invalid = self.pairs = 0
        self.refused = collections.Counter()
        self.first = collections.Counter()  # pairs by the plugin that rejects
        self.why_invalid = collections.Counter()
        self.different = []  # numbers and cases
        self.unseen = set(ALL_RULES) if with_rules else set()
        self.seen = {}  # the first case that shows a wrong rule
        self.version = None  # of kube-scheduler
        self.lock = threading.Lock()

    def add(self, number, one, answer):
        if "invalid" in answer:
            with self.lock:
                self.invalid += 1
                self.why_invalid[answer["invalid"][:200]] += 1
            return
        mine, name = ours(answer["case"]), refused(one)
        expected = theirs(answer)
        if name is not None:
            expected = None if all(a.reasons for a in mine.values()) else {}
        elif mine != expected and is_fault(answer["case"], expected):
            expected, name = None, FAULT
        with self.lock:
            self.note_version(answer["case"]["kubernetes_version"])
            if expected not in (None, mine):
                self.different.append((number, one))
            if name is not None:
                self.refused[name] += 1
                return
            self.cases += 1
            self.pairs += len(mine)
            for verdict in answer["verdicts"].values():
                self.first[verdict["plugin"]] += 1
        self.try_rules(number, answer["case"], mine)

    def note_version(self, version):
        if self.version is None:
            self.version = version
            for name, since in VERSION_RULES.items():
                if minor_of(version) < since:
                    self.unseen.discard(name)

    def try_rules(self, number, one, mine):
        """Asks again by each wrong rule that no case has shown yet."""
        for name in sorted(self.unseen):
            wrong = copy.deepcopy(one)
            ALL_RULES[name](wrong)
            if wrong != one and shows(name, mine, ours(wrong)):
                with self.lock:
                    self.unseen.discard(name)
                    self.seen.setdefault(name, number)

    def complaints(self):
        """Reasons other than differences for which the run fails."""
        if self.cases == 0:
            yield "no case was judged"
        if self.invalid > INVALID_SHARE * self.cases:
            yield f"{self.invalid} cases are invalid: " + "; ".join(
                why for why, _ in self.why_invalid.most_common(3))
        for name in FILTERS:
            if self.first[name] < FIRST_SHARE * self.pairs:
                yield (f"{name} is the first to reject in only "
                       f"{self.first[name]} of {self.pairs} pairs")
        for name in sorted(self.unseen):
            yield f"no case shows the wrong rule '{name}'"

    def table(self):
        yield (f"kube-scheduler {self.version}: "
               f"{self.cases} cases, {self.pairs} pairs of pod and node, "
               f"{len(self.different)} differences; {self.invalid} refused by "
               "the API server's validation")
        for name, count in sorted(self.refused.items()):
            yield f"{count} kept out: {name}"
        for name, count in self.first.most_common():
            yield (f"{100 * count / max(1, self.pairs):5.1f} %  "
                   f"{name or 'fits'}")
        for name, number in sorted(self.seen.items(), key=lambda x: x[1]):
            yield f"wrong rule seen in case {number}: {name}"


def judge_some(tally, seed, numbers):
    driver = Driver()
    try:
        for number in numbers:
            one = case(seed, number)
            tally.add(number, one, driver.ask(one))
    finally:
        driver.close()


def judge_all(seed, numbers, with_rules=True):
    """Judges the cases on all cores."""
    tally = Tally(with_rules)
    with concurrent.futures.ThreadPoolExecutor(WORKERS) as pool:
        shares = [pool.submit(judge_some, tally, seed, numbers[i::WORKERS])
                  for i in range(WORKERS)]
        for share in shares:
            share.result()
    return tally


def show_differences(tally):
    """The smallest cases, of the first few that differ."""
    driver = Driver()
    try:
        for number, one in sorted(tally.different, key=lambda x: x[0])[:3]:
            yield report(driver, number, one)
    finally:
        driver.close()


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--seed", type=int, default=SEED)
    parser.add_argument("--cases", type=int, default=CASES)
    parser.add_argument("--first", type=int, default=0,
                        help="the number of the first case")
    parser.add_argument("--keep", type=pathlib.Path,
                        help="folder for the cases worth keeping")
    options = parser.parse_args()
    start = time.monotonic()
    tally = judge_all(options.seed,
                      range(options.first, options.first + options.cases))
    print("\n".join(tally.table()))
    wrong = list(tally.complaints()) + list(show_differences(tally))
    print("\n".join(wrong))
    if options.keep and not wrong:
        driver = Driver()
        keep(Judge(driver.ask, ours, shows, ALL_RULES), options.seed,
             tally.seen, options.keep)
        driver.close()
    print(f"seed {options.seed}, {time.monotonic() - start:.0f} s")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
