"""make bench-rebalance TRACES=DIR: the unserved demand that moves leave.

Replays every day in DIR (*.csv.gz) as every kind of scenario with several
seeds, under kube-scheduler, under real-load without moves, and under real-load
with each policy that moves VMs. Prints per policy the unserved demand as a
share of kube-scheduler's (the ratio of the sums, since one scenario is noise),
the moves per VM and day, the moves back within two hours, and the moves of a
scenario in the mean and at most.

With --results FILE each result is appended to FILE, and a run that was
interrupted goes on where it stopped.
"""
import argparse
import collections
import json
import multiprocessing
import os
import pathlib
import subprocess
import sys

from day import KINDS, make_scenario

ROOT = pathlib.Path(__file__).resolve().parents[2]
PROGRAM = ROOT / "bin" / "plimsoll-simulate"
BASE, STILL = "kube-scheduler", "no moves"
STEPS_PER_DAY = 288
COLUMNS = ("unserved_core_steps", "demand_core_steps", "migrations",
           "vm_steps", "back_within_2h", "worse_in_hindsight")


def move_policies():
    """The names that the program lists when it does not know one."""
    done = subprocess.run([PROGRAM, "--scenario", "-",
                           "--rebalance", "--rebalance-policy", "?"],
                          capture_output=True, text=True, check=False)
    return done.stderr.rpartition("there are ")[2].strip().split(", ")


def simulate(scenario, *flags):
    done = subprocess.run([PROGRAM, "--scenario", "-", "--json",
                           *flags], input=scenario, capture_output=True,
                          text=True, check=True)
    return json.loads(done.stdout)


def play(problem):
    """{policy: figures} of one scenario, for the policies that are missing."""
    day, kind, seed, load, count, price, policies = problem
    scenario = make_scenario(day, kind, seed, load, count)
    results = {}
    for policy in policies:
        if policy == BASE:
            result = simulate(scenario, "--policy", BASE)
        elif policy == STILL:
            result = simulate(scenario, "--policy", "real-load")
        else:
            result = simulate(scenario, "--policy", "real-load", "--rebalance",
                              "--rebalance-policy", policy, "--price", price)
        results[policy] = {name: result[name] for name in (
            *COLUMNS, "most_migrations_of_one_vm")}
    return problem, results


def key_of(day, kind, seed, load, count, price, policy):
    priced = price if policy not in (BASE, STILL) else ""
    vms = [f"{count} VMs"] if count else []
    return " ".join((day.name, kind, str(seed), str(load), *vms, priced,
                     policy))


def known_results(path):
    known = {}
    if path and path.exists():
        for line in path.read_text().splitlines():
            entry = json.loads(line)
            known[entry["key"]] = entry["figures"]
    return known


def collect(problems, known, results_file, jobs):
    """Plays what is missing in known."""
    missing = []
    for *scenario, policies in problems:
        left = [p for p in policies if key_of(*scenario, p) not in known]
        if left:
            missing.append((*scenario, left))
    with multiprocessing.Pool(jobs) as pool:
        for done, (problem, results) in enumerate(
                pool.imap_unordered(play, missing), 1):
            for policy, figures in results.items():
                key = key_of(*problem[:-1], policy)
                known[key] = figures
                if results_file:
                    with results_file.open("a") as out:
                        out.write(json.dumps(
                            {"key": key, "figures": figures}) + "\n")
            if sys.stderr.isatty():
                print(f"\r{done}/{len(missing)}", end="", file=sys.stderr)
    if sys.stderr.isatty():
        print("\r\x1b[K", end="", file=sys.stderr)


def show(title, problems, known):
    sums = collections.defaultdict(collections.Counter)
    most, busiest = collections.Counter(), collections.Counter()
    for *scenario, policies in problems:
        for policy in policies:
            figures = known[key_of(*scenario, policy)]
            for name in COLUMNS:
                sums[policy][name] += figures[name]
            most[policy] = max(most[policy],
                               figures["most_migrations_of_one_vm"])
            busiest[policy] = max(busiest[policy], figures["migrations"])
    base = sums[BASE]["unserved_core_steps"]
    print(f"{title:36}{'unserved %':>11}{'of ' + BASE:>19}{'moves/VM-day':>14}"
          f"{'back':>7}{'worse':>7}{'most':>6}{'a day':>8}{'most':>6}")
    for policy, row in sums.items():
        days = row["vm_steps"] / STEPS_PER_DAY
        unserved = row["unserved_core_steps"]
        share = f"{unserved / base:.4f}" if base > 0 else "-"
        print(f"  {policy:34}"
              f"{100 * unserved / row['demand_core_steps']:11.4f}{share:>19}"
              f"{row['migrations'] / days:14.4f}{row['back_within_2h']:7}"
              f"{row['worse_in_hindsight']:7}{most[policy]:6}"
              f"{row['migrations'] / len(problems):8.1f}"
              f"{busiest[policy]:6}")
    print(flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("traces", type=pathlib.Path)
    parser.add_argument("--seeds", type=int, default=8)
    parser.add_argument("--first-seed", type=int, default=1)
    parser.add_argument("--load", type=float, action="append")
    parser.add_argument("--kind", action="append", choices=KINDS)
    parser.add_argument("--policy", action="append")
    parser.add_argument("--vms", type=int, help="so many of each day")
    parser.add_argument("--price", default="0.15")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--results", type=pathlib.Path)
    args = parser.parse_args()
    days = sorted(args.traces.glob("*.csv.gz"))
    if not days:
        parser.error(f"there is no *.csv.gz in {args.traces}")
    os.nice(5)
    kinds = args.kind or KINDS
    policies = [BASE, STILL, *(args.policy or move_policies())]
    known = known_results(args.results)
    for load in args.load or (0.62, 0.75):
        seeds = range(args.first_seed, args.first_seed + args.seeds)
        problems = [(day, kind, seed, load, args.vms, args.price, policies)
                    for day in days for kind in kinds for seed in seeds]
        collect(problems, known, args.results, args.jobs)
        show(f"load {load}, {len(problems)} scenarios", problems, known)
        for kind in kinds if len(kinds) > 1 else ():
            show(f"load {load}, {kind}",
                 [p for p in problems if p[1] == kind], known)


if __name__ == "__main__":
    main()
