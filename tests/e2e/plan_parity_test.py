"""kube-scheduler's own filters judge the plans of `plimsoll-scheduler plan`:
each step is legal when its turn comes, and in the end the goal holds.

While a VM is moved it counts on both nodes: the source's pod stays until the
step is judged. `build/parity` is the judge; see parity.py."""
import collections
import concurrent.futures
import copy
import json
import os
import pathlib
import subprocess
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))

from parity import Driver  # noqa: E402
from plan_cases import plan_case  # noqa: E402

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))

from harness import BIN  # noqa: E402

SEED, CASES = 1, 480
WORKERS = os.cpu_count() or 1
# At least, so that the run means something.
PLANS, STEPS, REFUSALS = 160, 300, 3
# Each refuses other nodes than the plans': a planner that ignored one of them
# would be seen.
PLUGINS = ("TaintToleration", "NodeAffinity", "NodePorts", "NodeResourcesFit",
           "VolumeRestrictions", "PodTopologySpread", "InterPodAffinity")


def plan(case, goal):
    """The answer of the program. There is no load, so none is too high."""
    done = subprocess.run(
        [BIN / "plimsoll-scheduler", "plan", "--goal", goal, "--in", "-"],
        input=json.dumps(case), capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise AssertionError(f"{goal}: {done.stderr}\n{json.dumps(case)}")
    return json.loads(done.stdout)


def is_launcher_of(pod, step):
    meta = pod["metadata"]
    return (meta["namespace"] == step["namespace"]
            and meta.get("annotations", {}).get("kubevirt.io/domain")
            == step["vm"])


class Judge:
    """The cluster of a case while a plan is carried out."""

    def __init__(self, driver, case):
        self.driver = driver
        self.case = copy.deepcopy(case)
        self.refusals = collections.Counter()  # by plugin

    def fits(self, pod, node):
        """None, or why kube-scheduler refuses."""
        answer = self.driver.ask({**self.case, "pod": pod})
        if "invalid" in answer:
            return answer["invalid"]
        verdicts = answer["verdicts"]
        self.refusals.update(f"refused by {v['plugin']}"
                             for v in verdicts.values() if v["plugin"])
        verdict = verdicts.get(node)
        if verdict is None:
            return f"no node {node}"
        return (f"{verdict['plugin']}: {verdict['reasons']}"
                if verdict["plugin"] else None)

    def lose(self, nodes):
        """The nodes are gone, with all that ran there. Their VMs' pods, which
        start elsewhere."""
        gone = [p for p in self.case["pods"]
                if p["spec"].get("nodeName") in nodes]
        self.case["pods"] = [p for p in self.case["pods"] if p not in gone]
        self.case["nodes"] = [n for n in self.case["nodes"]
                              if n["metadata"]["name"] not in nodes]
        return gone

    def take(self, step, gone):
        """Carries out a step. Why it is illegal, or None."""
        pods = self.case["pods"] + gone
        pod, = (p for p in pods if is_launcher_of(p, step)
                and p["spec"].get("nodeName") == step["source"])
        target = copy.deepcopy(pod)
        del target["spec"]["nodeName"]
        target["status"] = {}
        why = self.fits(target, step["target"])
        target["spec"]["nodeName"] = step["target"]
        target["status"] = {"phase": "Running"}
        self.case["pods"] = [p for p in self.case["pods"] if p is not pod]
        self.case["pods"].append(target)
        return why


class Tally:
    def __init__(self):
        self.counts = collections.Counter()
        self.illegal = []

    def add(self, other):
        self.counts.update(other.counts)
        self.illegal += other.illegal

    def note(self, what, case, goal, answer):
        self.illegal.append("\n".join([what, goal, json.dumps(answer),
                                       json.dumps(case)]))

    def judge(self, driver, one, case, goal):
        """one: the case before the API server's defaults, which its validation
        does not take twice."""
        answer = plan(case, goal)
        kind = goal.split(":")[0]
        self.counts[f"{kind} asked"] += 1
        if not answer["found"]:
            return answer
        judge = Judge(driver, one)
        gone = (judge.lose(goal.split(":")[1].split(","))
                if kind == "gone" else [])
        for number, step in enumerate(answer["steps"]):
            why = judge.take(step, gone)
            if why is not None:
                self.note(f"step {number} is illegal: {why}", case, goal,
                          answer)
                return answer
        self.counts["steps"] += len(answer["steps"])
        self.counts[f"{kind} planned"] += bool(answer["steps"])
        self.check_goal(judge, kind, goal, one, answer)
        if kind == "gone":
            self.check_started(gone, case, goal, answer)
        self.counts.update(judge.refusals)
        return answer

    def check_goal(self, judge, kind, goal, case, answer):
        left = [p["spec"].get("nodeName") for p in judge.case["pods"]
                if "annotations" in p["metadata"]]
        if kind == "pod":
            why = judge.fits(case["pod"], answer["node"])
            if why is not None:
                self.note(f"the pod does not fit: {why}", case, goal, answer)
        elif kind == "empty" and goal.split(":")[1] in left:
            self.note("a VM is left", case, goal, answer)

    def check_started(self, gone, case, goal, answer):
        """Each VM of the nodes that are gone starts once, and no other one."""
        lost = [(p["metadata"]["namespace"],
                 p["metadata"]["annotations"]["kubevirt.io/domain"])
                for p in gone if "annotations" in p["metadata"]]
        started = [(s["namespace"], s["vm"]) for s in answer["steps"]
                   if s["kind"] == "start"]
        if sorted(lost) != sorted(started):
            self.note(f"the nodes had {lost}", case, goal, answer)


def judge_case(tally, driver, number):
    one = plan_case(SEED, number)
    answer = driver.ask(one) if one is not None else {"invalid": "refused"}
    if "invalid" in answer:
        tally.counts["invalid"] += 1
        return
    case = answer["case"]
    fits = any(v["plugin"] == "" for v in answer["verdicts"].values())
    made = tally.judge(driver, one, case, "pod")
    if fits and (not made["found"] or made["moves"] > 0):
        tally.note("the pod fits without a move", case, "pod", made)
    tally.counts["pods that fit"] += fits
    if number % 4 == 0:
        tally.judge(driver, one, case, "empty:n0")
    elif number % 4 == 1:
        tally.judge(driver, one, case, "gone:n1")


def judge_some(numbers):
    tally, driver = Tally(), Driver()
    try:
        for number in numbers:
            judge_case(tally, driver, number)
    finally:
        driver.close()
    return tally


class PlanParity(unittest.TestCase):
    def test_kube_scheduler_finds_no_step_of_a_plan_illegal(self):
        tally = Tally()
        with concurrent.futures.ThreadPoolExecutor(WORKERS) as pool:
            for one in pool.map(judge_some, [
                    range(i, CASES, WORKERS) for i in range(WORKERS)]):
                tally.add(one)
        print(dict(sorted(tally.counts.items())))
        self.assertEqual([], tally.illegal[:3])
        counts = tally.counts
        self.assertGreaterEqual(counts["pod planned"], PLANS)
        self.assertGreaterEqual(counts["steps"], STEPS)
        for plugin in PLUGINS:
            self.assertGreaterEqual(counts[f"refused by {plugin}"], REFUSALS,
                                    plugin)
        self.assertGreater(counts["empty planned"], 0)
        self.assertGreater(counts["gone planned"], 0)


if __name__ == "__main__":
    unittest.main()
