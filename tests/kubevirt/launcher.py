#!/usr/bin/env python3
"""Random VMs: the launcher pods that KubeVirt renders, and those that plimsoll
derives.

usage: launcher.py [--seed N] [--cases N] [--first N]

launcher-pods (tests/kubevirt/launcher-pods) runs virt-controller's own code and
prints the cases with its pods; next_pods (tests/kubevirt/next_pods.c) derives
ours. Any difference in selectors, affinity, tolerations, spread, requests or
claims fails, but for the stated amount of memory. Then the cases show their
teeth: each kind of launcher_kinds.py occurs, and each mistake of
launcher_rules.py is seen."""
import argparse
import collections
import copy
import json
import os
import pathlib
import subprocess
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))

from harness import ROOT  # noqa: E402
from launcher_kinds import KINDS, NEWER, kinds_of  # noqa: E402
from launcher_rules import NEWER_RULES, RULES  # noqa: E402
from line_program import LineProgram  # noqa: E402

PROGRAMS = pathlib.Path(os.environ.get("KUBEVIRT", ROOT / "build/ci/kubevirt"))
NEXT_PODS = ROOT / "build/release/tests/kubevirt/next_pods"
SEED, CASES = 1, 2000
MIB = 1 << 20
# Memory that plimsoll counts for QEMU more than that version of KubeVirt does:
# see scheduler/launcher/launcher_amounts.c. The CR's ratio multiplies it, in
# whole kB: where it changed, the sums of both may be rounded apart.
STATED_BYTES = {"v1.7.0": 20 * MIB, "v1.9.0": 20 * MIB}
ROUNDED_BYTES = 1000
STATE_CLAIM = "persistent-state-for-"
OLD = "v1.7.0"  # without the newer kinds and rules
KIND_SHARE = 0.02
SHOWN = 3


class NextPods(LineProgram):
    """A next_pods: one case in, our pods and KubeVirt's out."""

    def __init__(self):
        super().__init__(NEXT_PODS)


def cases(seed, first, count):
    """The cases with the pods that KubeVirt rendered."""
    with subprocess.Popen(
            [PROGRAMS / "launcher-pods", f"--seed={seed}", f"--first={first}",
             f"--cases={count}"], stdout=subprocess.PIPE, text=True) as drawn:
        for line in drawn.stdout:
            yield json.loads(line)
    if drawn.returncode != 0:
        raise RuntimeError(f"launcher-pods ended with {drawn.returncode}")


# ---- differences ----

def canonical(value):
    """Without the order of lists, which has no meaning in a pod."""
    if isinstance(value, dict):
        return {key: canonical(v) for key, v in value.items()}
    if isinstance(value, list):
        return sorted((canonical(v) for v in value),
                      key=lambda v: json.dumps(v, sort_keys=True))
    return value


def stated_bytes(case, which):
    ratio = case[which]["spec"]["configuration"].get(
        "additionalGuestMemoryOverheadRatio", "1")
    return STATED_BYTES[case["version"]] * float(ratio) + ROUNDED_BYTES


def apart(ours, theirs, stated):
    """The members in which the pods differ: (name, ours, theirs)."""
    if isinstance(ours, str) or isinstance(theirs, str):
        return [("pod", ours, theirs)]
    ours, theirs = canonical(ours), canonical(theirs)
    found = []
    for name in sorted(set(ours) | set(theirs)):
        mine, other = ours.get(name), theirs.get(name)
        if name == "requests" and mine and other:
            surplus = mine["memory"] - other["memory"]
            least = -ROUNDED_BYTES if stated > 0 else 0
            if least <= surplus <= stated:
                mine = {**mine, "memory": other["memory"]}
        if mine != other:
            found.append((name, mine, other))
    return found


def without_itself(case, terms):
    """The anti-affinity without the one term that keeps a target off the node
    of its own VM. KubeVirt adds it to every target, and plimsoll never asks
    about that node."""
    own = {"topology": "kubernetes.io/hostname", "weight": 1,
           "namespaces": ["vms"], "namespaceSelector": ["nothing"],
           "pods": ["kubevirt.io/created-by In "
                    + case["vmi"]["metadata"]["uid"]]}
    if own not in terms:
        return [*terms, "no term about its own VM"]
    left = list(terms)
    left.remove(own)
    return left


def target_of(case, answer):
    """KubeVirt's target pod, as next_pod.h describes it: with the claims of its
    attachment pod, and without a term about its own VM."""
    target = answer["target"]["theirs"]
    attached = answer.get("attachment", {"claims": []})
    return {**target, "claims": target["claims"] + attached["claims"],
            "antiAffinity": without_itself(case, target["antiAffinity"])}


def start_of(answer):
    """KubeVirt's pod of a start, as launcher_spec.h describes it: the priority of
    a class is not read, and the claim for the state of a TPM or an EFI does not
    exist before the VM."""
    start = answer["start"]["theirs"]
    return {**start, "priority": 0, "claims": [
        claim for claim in start["claims"]
        if not claim.startswith(STATE_CLAIM)]}


def with_added(case, ours):
    """Our pod with the addedNodeSelector of the migration, which is no part of
    the question: an equal key of the VMI wins."""
    if isinstance(ours, str):
        return ours
    added = case["migration"]["spec"].get("addedNodeSelector", {})
    return {**ours, "selector": {**added, **ours["selector"]}}


def differences(case, answer):
    """Sentences about the pods that differ; and the requests of an unchanged
    pod are copied to the byte."""
    target = target_of(case, answer)
    is_copied = answer["source"]["requests"] == target["requests"]
    pairs = [
        ("start", answer["start"]["ours"], start_of(answer),
         stated_bytes(case, "startKubevirt")),
        ("target", with_added(case, answer["target"]["ours"]), target,
         0 if is_copied else stated_bytes(case, "kubevirt"))]
    return [f"{pod}: {name} is {mine} and KubeVirt's {other}"
            for pod, ours, theirs, stated in pairs
            for name, mine, other in apart(ours, theirs, stated)]


# ---- many cases ----

class Tally:
    """The results of many cases, added up."""

    def __init__(self):
        self.cases = 0
        self.version = None
        self.kinds = collections.Counter()
        self.different = []  # (number, sentences)
        self.unseen = set(RULES)
        self.seen = {}  # mistake: the first case that shows it

    def add(self, next_pods, case):
        answer = next_pods.ask(case)
        self.cases += 1
        self.version = case["version"]
        self.kinds.update(kinds_of(case))
        found = differences(case, answer)
        if found:
            self.different.append((case["case"], found))
            return
        for name in sorted(self.unseen):
            wrong = copy.deepcopy(case)
            RULES[name](wrong)
            if wrong != case and self.shows(next_pods, case, wrong, answer):
                self.unseen.discard(name)
                self.seen[name] = case["case"]

    @staticmethod
    def shows(next_pods, case, wrong, answer):
        """The pods that the mistake gives differ from KubeVirt's."""
        mistaken = next_pods.ask(wrong)
        for pod in ("start", "target"):
            mistaken[pod]["theirs"] = answer[pod]["theirs"]
        mistaken["source"] = answer["source"]
        return bool(differences(case, mistaken))

    def complaints(self, share=KIND_SHARE):
        """Reasons other than differences for which the run fails. share: of the
        cases, in which each kind must occur."""
        is_old = self.version == OLD
        for name in KINDS:
            if (self.kinds[name] < max(1, share * self.cases)
                    and not (is_old and name in NEWER)):
                yield f"only {self.kinds[name]} cases have: {name}"
        for name in sorted(self.unseen - (NEWER_RULES if is_old else set())):
            yield f"no case shows the mistake '{name}'"

    def differing(self):
        """Sentences, of the first few cases that differ."""
        return [f"case {number}: {sentence}" for number, sentences
                in self.different[:SHOWN] for sentence in sentences]

    def table(self):
        yield (f"KubeVirt {self.version}: {self.cases} cases, "
               f"{len(self.different)} differ")
        for name in KINDS:
            yield f"{self.kinds[name]:6} {name}"
        for name, number in sorted(self.seen.items(), key=lambda x: x[1]):
            yield f"mistake seen in case {number}: {name}"


def judge_all(seed, first, count):
    tally, next_pods = Tally(), NextPods()
    try:
        for case in cases(seed, first, count):
            tally.add(next_pods, case)
    finally:
        next_pods.close()
    return tally


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--seed", type=int, default=SEED)
    parser.add_argument("--cases", type=int, default=CASES)
    parser.add_argument("--first", type=int, default=0,
                        help="the number of the first case")
    options = parser.parse_args()
    start = time.monotonic()
    tally = judge_all(options.seed, options.first, options.cases)
    print("\n".join(tally.table()))
    wrong = tally.differing() + list(tally.complaints())
    print("\n".join(wrong))
    print(f"seed {options.seed}, {time.monotonic() - start:.0f} s")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
