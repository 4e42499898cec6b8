"""The figures of simulate follow from its placements, and score makes the same
decisions."""
import collections
import json
import pathlib
import subprocess
import sys
import tempfile
import unittest
import xml.dom.minidom

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))

from harness import BIN, PATIENCE_S  # noqa: E402

SIMULATE, SCHEDULER = BIN / "plimsoll-simulate", BIN / "plimsoll-scheduler"
POLICIES = ("real-load", "kube-scheduler", "kube-scheduler-1.21",
            "target-load-packing", "load-variation-risk",
            "low-risk-overcommit")
STEPS, STEP_S, CORES, GIB = 24, 300, 8, 1 << 30


def vm(number, arrive, leave=STEPS):
    """A VM whose load depends on its number: busy, idle, or busy later."""
    return {"name": f"vm-{number % 20:02}", "namespace": "n",
            "vcpus": 1 << number % 4, "memory_bytes": GIB,
            "cpu_request_millicores": 100 << number % 4,
            "arrive_step": arrive, "leave_step": leave,
            "cpu_percent": [(number * 37 + (t // 6) * number * 11) % 101
                            for t in range(STEPS)]}


def scenario():
    vms = [vm(n, n // 3, STEPS - 8 if n in (3, 4) else STEPS)
           for n in range(18)]
    vms += [vm(23, 18), vm(24, 18), vm(31, 19)]
    return {"step_s": STEP_S, "steps": STEPS, "vms": vms,
            "nodes": [{"name": f"node-{i}", "cpu_cores": CORES, "pods": 50,
                       "memory_bytes": 8 * GIB} for i in range(3)]}


def run(*arguments, given):
    return subprocess.run(arguments, input=json.dumps(given),
                          capture_output=True, text=True, timeout=PATIENCE_S)


def simulate(folder, policy, given):
    path = pathlib.Path(folder) / "placements"
    done = run(SIMULATE, "--scenario", "-", "--policy", policy, "--json",
               "--placements", path, given=given)
    assert done.returncode == 0, done.stderr
    return (json.loads(done.stdout),
            [json.loads(line) for line in path.read_text().splitlines()])


def entries(given, placements):
    """(placement, VM): the k-th placement of a name belongs to the k-th VM of
    that name."""
    by_name = collections.defaultdict(list)
    for one in given["vms"]:
        by_name[one["name"]].append(one)
    seen = collections.Counter()
    for p in placements:
        yield p, by_name[p["vm"]][seen[p["vm"]]]
        seen[p["vm"]] += 1


def demand_at(given, placements, step):
    """{node: cores that its VMs want}"""
    wanted = collections.Counter()
    for p, one in entries(given, placements):
        if p["step"] <= step < one["leave_step"]:
            wanted[p["node"]] += (one["vcpus"] * one["cpu_percent"][step]
                                  / 100)
    return wanted


def busy_later(number):
    """Four VMs in ten get a new job at step 8 or 16."""
    size, start = 1 << number % 4, 8 + 8 * (number % 2)
    calm = 10 + number * 7 % 20
    wild = 90 - number % 5 if number % 5 < 2 else calm
    return {"name": f"vm-{number:02}", "namespace": "n", "vcpus": size,
            "memory_bytes": 30 * size * GIB,
            "cpu_request_millicores": 100 * size,
            "arrive_step": number // 8, "leave_step": STEPS,
            "cpu_percent": [calm if t < start else wild
                            for t in range(STEPS)]}


def moving_scenario():
    return {"step_s": STEP_S, "steps": STEPS,
            "vms": [busy_later(n) for n in range(32)],
            "nodes": [{"name": f"node-{i}", "cpu_cores": 2 * CORES,
                       "pods": 50, "memory_bytes": 1200 * GIB}
                      for i in range(4)]}


def as_recorded(given):
    """The day as `plimsoll-aggregator export` prints it."""
    return {"from": 0, "step_s": STEP_S, "steps": STEPS,
            "nodes": [{"name": n["name"], "cpu_cores": n["cpu_cores"],
                       "memory_bytes": n["memory_bytes"]}
                      for n in given["nodes"]],
            "vms": [{"namespace": v["namespace"], "name": v["name"],
                     "pod_uids": [v["name"]], "arrive_step": v["arrive_step"],
                     "leave_step": v["leave_step"],
                     "used_cores": [v["vcpus"] * percent / 100 for percent in
                                    v["cpu_percent"][v["arrive_step"]:
                                                     v["leave_step"]]]}
                    for v in given["vms"]]}


def as_objects(given):
    """The nodes and pods as kubectl prints them."""
    nodes = [{"kind": "Node", "metadata": {"name": n["name"]},
              "status": {"allocatable": {
                  "cpu": str(n["cpu_cores"]), "pods": str(n["pods"]),
                  "memory": str(n["memory_bytes"])}}}
             for n in given["nodes"]]
    pods = []
    for one in given["vms"]:
        pod = launcher(one, one["name"], "elsewhere")
        compute = pod["spec"]["containers"][0]["resources"]
        compute["limits"] = {"cpu": str(one["vcpus"])}
        pods.append({"kind": "Pod", **pod})
    return {"kind": "List", "items": nodes + pods}


class Replay:
    """Who runs where, from the placements alone."""

    def __init__(self, given, lines):
        self.given, self.at = given, {}
        self.vms = {one["name"]: one for one in given["vms"]}
        self.cores = {n["name"]: n["cpu_cores"] for n in given["nodes"]}
        self.lines = collections.defaultdict(list)
        for line in lines:
            self.lines[line["step"]].append(line)

    def step(self, t):
        """(unserved core-steps, [(VM, source, target)])"""
        wanted, moves, share = collections.Counter(), [], {}
        for line in self.lines[t]:
            name, target = line["vm"], line["node"]
            if line["kind"] == "move":
                moves.append((name, self.at[name], target))
                share[name] = min(
                    1, self.vms[name]["memory_bytes"] / 1e9 / STEP_S)
            self.at[name] = target
        for name, node in self.at.items():
            one = self.vms[name]
            wanted[node] += one["vcpus"] * one["cpu_percent"][t] / 100
        for name, source, target in moves:
            one = self.vms[name]
            cores = one["vcpus"] * one["cpu_percent"][t] / 100
            wanted[source] += share[name] * (cores + 1)
            wanted[target] += share[name] * (1 - cores)
        return sum(max(0, wanted[n] - self.cores[n])
                   for n in self.cores), moves


class Simulate(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="plimsoll-")
        self.addCleanup(folder.cleanup)
        self.folder = folder.name

    def test_the_figures_follow_from_the_placements(self):
        given = scenario()
        for policy in POLICIES:
            with self.subTest(policy):
                result, placements = simulate(self.folder, policy, given)
                self.assertEqual(len(placements), len(given["vms"]))
                unserved = over = 0
                for t in range(STEPS):
                    wanted = demand_at(given, placements, t)
                    unserved += sum(max(0, d - CORES)
                                    for d in wanted.values())
                    over += sum(d > 0.9 * CORES for d in wanted.values())
                total = sum(v["vcpus"] * v["cpu_percent"][t] / 100
                            for v in given["vms"]
                            for t in range(v["arrive_step"],
                                           v["leave_step"]))
                self.assertAlmostEqual(result["unserved_core_steps"], unserved,
                                       places=4)
                self.assertAlmostEqual(result["demand_core_steps"], total,
                                       places=4)
                self.assertAlmostEqual(result["unserved_pct"],
                                       100 * unserved / total, places=6)
                self.assertAlmostEqual(result["overload_pct"],
                                       100 * over / (3 * STEPS), places=6)
                self.assertEqual((result["placed"], result["unplaced"]),
                                 (len(placements), 0))

    def rebalance(self, *flags, given=None):
        path = pathlib.Path(self.folder) / "moves"
        given = given or moving_scenario()
        done = run(SIMULATE, "--scenario", "-", "--policy", "real-load",
                   "--json", "--rebalance", "--placements", path, *flags,
                   given=given)
        self.assertEqual(done.returncode, 0, done.stderr)
        return given, json.loads(done.stdout), [
            json.loads(line) for line in path.read_text().splitlines()]

    def test_the_figures_follow_from_the_moves(self):
        given, result, lines = self.rebalance("--price", "0.01")
        replay, unserved = Replay(given, lines), 0
        last, moved = {}, collections.Counter()
        for t in range(STEPS):
            more, moves = replay.step(t)
            unserved += more
            self.assertLessEqual(len(moves), 5)
            self.assertLessEqual(max(collections.Counter(
                m[1] for m in moves).values(), default=0), 2)
            self.assertLessEqual(max(collections.Counter(
                m[2] for m in moves).values(), default=0), 1)
            for name, source, target in moves:
                self.assertNotEqual(source, target)
                rest = 12 * 2 ** (moved[name] - 1) if moved[name] else 0
                self.assertGreaterEqual(t - last.get(name, -99), rest)
                last[name], moved[name] = t, moved[name] + 1
        self.assertGreater(sum(moved.values()), 1)
        self.assertAlmostEqual(result["unserved_core_steps"], unserved,
                               places=4)
        self.assertEqual(result["migrations"], sum(moved.values()))
        self.assertEqual(result["most_migrations_of_one_vm"],
                         max(moved.values()))
        self.assertAlmostEqual(
            result["migrations_per_vm_day"], sum(moved.values()) * 288
            / sum(v["leave_step"] - v["arrive_step"] for v in given["vms"]))

    def test_moves_leave_less_unserved_and_a_higher_price_fewer_moves(self):
        given, cheap, _ = self.rebalance("--price", "0.01")
        _, usual, _ = self.rebalance()
        _, dear, lines = self.rebalance("--price", "1000")
        still, _ = simulate(self.folder, "real-load", given)
        self.assertLess(usual["unserved_core_steps"],
                        0.6 * still["unserved_core_steps"])
        self.assertLessEqual(usual["migrations"], cheap["migrations"])
        self.assertEqual(dear["migrations"], 0)
        self.assertNotIn("move", [line["kind"] for line in lines])
        self.assertEqual(dear["unserved_core_steps"],
                         still["unserved_core_steps"])

    def test_a_recorded_day_has_the_same_moves(self):
        given, scenario_result, lines = self.rebalance()
        folder = pathlib.Path(self.folder)
        (folder / "day.json").write_text(json.dumps(as_recorded(given)))
        (folder / "objects.json").write_text(json.dumps(as_objects(given)))
        path = folder / "recorded"
        done = run(SIMULATE, "--recorded", folder / "day.json", "--objects",
                   folder / "objects.json", "--policy", "real-load", "--json",
                   "--rebalance", "--placements", path, given={})
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertEqual(json.loads(done.stdout)["migrations"],
                         scenario_result["migrations"])
        self.assertEqual([json.loads(line) for line
                          in path.read_text().splitlines()], lines)

    def test_moves_are_columns_of_the_table_and_marks_in_the_picture(self):
        picture = pathlib.Path(self.folder) / "day.svg"
        flags = [SIMULATE, "--scenario", "-", "--policy", "real-load",
                 "--rebalance"]
        table = run(*flags, "--svg", picture, given=moving_scenario())
        self.assertEqual(table.stdout.splitlines()[0].split()[-5:],
                         ["moves", "/vm-day", "most", "back", "worse"])
        moves = int(table.stdout.splitlines()[1].split()[8])
        drawn = xml.dom.minidom.parse(str(picture))
        self.assertGreater(moves, 0)
        self.assertEqual(len(drawn.getElementsByTagName("circle")), moves)

    def test_an_announced_vm_gets_a_node_of_its_own(self):
        """Both VMs are idle so far; the second one will use 7 of 8 cores."""
        given = scenario()
        given["nodes"] = given["nodes"][:2]
        given["vms"] = [dict(vm(n, n, STEPS), name=f"vm-{n}", vcpus=8,
                             cpu_request_millicores=100,
                             cpu_percent=[percent] * STEPS)
                        for n, percent in ((0, 40), (1, 0), (2, 30))]
        _, before = simulate(self.folder, "real-load", given)
        self.assertEqual(before[2]["node"], before[1]["node"])
        given["vms"][1]["expected_cores"] = "7 from 00:30 to 02:00"
        _, after = simulate(self.folder, "real-load", given)
        self.assertEqual(after[2]["node"], after[0]["node"])
        given["vms"][1]["expected_cores"] = "7 from 12:00 to 13:00"
        _, later = simulate(self.folder, "real-load", given)
        self.assertEqual(later, before)

    def test_score_chooses_the_same_node_as_simulate(self):
        """The decision of the second step, from the load of the first."""
        given = scenario()
        given["vms"] = given["vms"][:4]
        for policy in POLICIES:
            with self.subTest(policy):
                _, placements = simulate(self.folder, policy, given)
                last = placements[-1]
                self.assertEqual(last["step"], 1)
                answer = run(SCHEDULER, "score", "--in", "-",
                             given=as_score(policy, given, placements))
                self.assertEqual(json.loads(answer.stdout)["chosen"],
                                 last["node"])

    def test_several_policies_are_printed_as_a_table_as_json_and_as_svg(self):
        picture = pathlib.Path(self.folder) / "day.svg"
        flags = [SIMULATE, "--scenario", "-", "--policy", "real-load",
                 "--policy", "kube-scheduler"]
        table = run(*flags, "--svg", picture, given=scenario())
        self.assertEqual([line.split()[0]
                          for line in table.stdout.splitlines()],
                         ["policy", "real-load", "kube-scheduler"])
        self.assertEqual(table.stderr, "")
        drawn = xml.dom.minidom.parse(str(picture))
        titles = [t.firstChild.data
                  for t in drawn.getElementsByTagName("text")]
        self.assertEqual([t.split(":")[0] for t in titles],
                         ["real-load", "kube-scheduler"])
        both = json.loads(run(*flags, "--json", given=scenario()).stdout)
        self.assertEqual([p["policy"] for p in both["policies"]],
                         ["real-load", "kube-scheduler"])

    def test_a_wrong_argument_prints_one_sentence(self):
        for flags, given, status, sentence in (
                (["--policy", "best"], scenario(), 2,
                 "unknown policy 'best'"),
                ([], {}, 1, "'step_s' is not a number"),
                (["--rebalance", "--rebalance-policy", "best"], scenario(), 2,
                 "unknown policy 'best'; there are expected-shortage"),
                (["--rebalance", "--price", "cheap"], scenario(), 2,
                 "--price: 'cheap' is not a number"),
                (["--placements", "/no/such/folder/x"], scenario(), 1,
                 "cannot write '/no/such/folder/x'")):
            done = run(SIMULATE, "--scenario", "-", *flags, given=given)
            self.assertEqual((done.returncode, done.stdout), (status, ""))
            self.assertIn(sentence, done.stderr)
            self.assertEqual(done.stderr.count("\n"), 1)
        done = subprocess.run([SIMULATE], capture_output=True,
                              text=True, timeout=PATIENCE_S)
        self.assertEqual(done.returncode, 2)
        self.assertIn("--scenario or --recorded is required", done.stderr)


def launcher(one, number, node=None):
    meta = {"name": f"p{number}", "namespace": "n", "uid": str(number),
            "labels": {"kubevirt.io": "virt-launcher"},
            "annotations": {"kubevirt.io/domain": one["name"]}}
    spec = {"containers": [{"name": "compute", "resources": {"requests": {
        "cpu": f"{one['cpu_request_millicores']}m",
        "memory": str(one["memory_bytes"])}}}]}
    if node is not None:
        spec["nodeName"] = node
    return {"metadata": meta, "spec": spec, "status": {
        "phase": "Running", "startTime": "1970-01-01T00:00:00Z"}}


def as_score(policy, given, placements):
    """The input of score at the last placement, which is after one step."""
    *before, (_, last) = list(entries(given, placements))
    wanted = demand_at(given, placements, 0)
    nodes, loads = [], []
    for node in given["nodes"]:
        name, used = node["name"], min(wanted[node["name"]], CORES)
        here = [(i, one) for i, (p, one) in enumerate(before)
                if p["node"] == name]
        served = min(1, CORES / wanted[name]) if wanted[name] else 1
        taken = sum(one["memory_bytes"] for _, one in here)
        nodes.append({"metadata": {"name": name}, "status": {"allocatable": {
            "cpu": str(CORES), "memory": str(node["memory_bytes"]),
            "pods": str(node["pods"])}}})
        cores = [one["vcpus"] * one["cpu_percent"][0] / 100 * served
                 for _, one in here]
        loads.append({
            "name": name, "age_s": 0, "kvm": {"state": "ok"},
            "cpu": {"cores": CORES, "used_cores": used,
                    "used_cores_10s": used, "used_cores_5m": used,
                    "used_cores_15m": used, "stdev_cores_5m": 0,
                    "stdev_cores_15m": 0, "contention": 1 - served},
            "memory": {"total_bytes": node["memory_bytes"],
                       "available_bytes": node["memory_bytes"] - taken,
                       "used_bytes_15m": taken, "stdev_bytes_15m": 0,
                       "pressure_some": 0},
            "io": {"pressure_some": 0},
            "vms": [{"pod_uid": str(i), "used_cores": c, "used_cores_5m": c,
                     "memory_bytes": one["memory_bytes"]}
                    for (i, one), c in zip(here, cores)]})
    return {"policy": policy, "pod": launcher(last, 99), "nodes": nodes,
            "pods": [launcher(one, i, p["node"])
                     for i, (p, one) in enumerate(before)],
            "load": {"now": STEP_S, "nodes": loads}, "now": STEP_S}


if __name__ == "__main__":
    unittest.main()
