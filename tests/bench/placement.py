"""make bench-placement TRACES=DIR: the unserved demand that placement leaves.

Replays every day in DIR (*.csv.gz) as every kind of scenario with several seeds
and prints, per source, each policy's unserved demand as a share of
kube-scheduler's: the ratio of the sums, since one scenario is noise, and the
least and the largest ratio of a seed. A source is what the names of its days
have before the first digit or hyphen. Days with sizes (day.py) are also played
with them. `moves` is real-load that also moves VMs.
"""
import argparse
import collections
import json
import multiprocessing
import pathlib
import re
import subprocess
import sys

from day import KINDS, make_scenario, sizes_of

ROOT = pathlib.Path(__file__).resolve().parents[2]
PROGRAM = ROOT / "bin" / "plimsoll-simulate"
BASE, MOVES = "kube-scheduler", "moves"
POLICIES = ("real-load", MOVES, BASE, "kube-scheduler-1.21",
            "target-load-packing", "load-variation-risk",
            "low-risk-overcommit")
STEPS_PER_DAY = 288


def simulate(scenario, policy):
    flags = (["--policy", "real-load", "--rebalance"] if policy == MOVES
             else ["--policy", policy])
    done = subprocess.run([PROGRAM, "--scenario", "-", "--json", *flags],
                          input=scenario, capture_output=True, text=True,
                          check=True)
    return json.loads(done.stdout)


def play(problem):
    day, is_sized, kind, seed, load, policies = problem
    scenario = make_scenario(day, kind, seed, load, is_sized=is_sized)
    source = re.match(r"[a-z]+", day.name).group()
    return (source + (", real sizes" if is_sized else ""), kind, seed,
            {policy: simulate(scenario, policy) for policy in policies})


def ratio(rows, policy):
    base = sum(row[BASE]["unserved_core_steps"] for row in rows)
    ours = sum(row[policy]["unserved_core_steps"] for row in rows)
    return ours / base if base > 0 else float("nan")


def groups_of(results, index):
    groups = collections.defaultdict(list)
    for result in results:
        groups[result[index]].append(result[3])
    return groups


def show(source, results, policies):
    rows = [result[3] for result in results]
    days = sum(row[BASE]["vm_steps"] for row in rows) / STEPS_PER_DAY
    for policy in policies:
        total = [sum(row[policy][name] for row in rows) for name in (
            "unserved_core_steps", "demand_core_steps", "unplaced",
            "migrations")]
        seeds = [ratio(group, policy)
                 for group in groups_of(results, 2).values()]
        kinds = [ratio(group, policy)
                 for group in groups_of(results, 1).values()]
        print(f"{source:24}{policy:22}{100 * total[0] / total[1]:10.4f}"
              f"{ratio(rows, policy):9.4f}{min(seeds):9.4f}{max(seeds):9.4f}"
              f"{max(kinds):9.4f}{total[2]:10}{total[3] / days:9.4f}")


def bench(days, kinds, seeds, load, policies):
    problems = [(day, is_sized, kind, seed, load, policies)
                for seed in seeds for day in days for kind in kinds
                for is_sized in ((False, True) if sizes_of(day) else (False,))]
    sources = collections.defaultdict(list)
    with multiprocessing.Pool(2) as pool:
        for done, result in enumerate(pool.imap_unordered(play, problems), 1):
            sources[result[0]].append(result)
            if sys.stderr.isatty():
                print(f"\r{done}/{len(problems)}", end="", file=sys.stderr)
    if sys.stderr.isatty():
        print("\r\x1b[K", end="", file=sys.stderr)
    print(f"== load {load}, seeds {seeds.start} to {seeds.stop - 1}")
    print(f"{'source':24}{'policy':22}{'unserved %':>10}{'of base':>9}"
          f"{'min':>9}{'max':>9}{'a kind':>9}{'unplaced':>10}{'moves':>9}")
    for source, results in sorted(sources.items()):
        show(source, results, policies)
    print(flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("traces", type=pathlib.Path)
    parser.add_argument("--seeds", type=int, default=8)
    parser.add_argument("--load", type=float, action="append")
    parser.add_argument("--kind", action="append", choices=KINDS)
    parser.add_argument("--policy", action="append", choices=POLICIES)
    args = parser.parse_args()
    days = sorted(args.traces.glob("*.csv.gz"))
    if not days:
        parser.error(f"there is no *.csv.gz in {args.traces}")
    policies = args.policy or list(POLICIES)
    if BASE not in policies:
        policies.append(BASE)
    for load in args.load or (0.62, 0.75):
        bench(days, args.kind or KINDS, range(1, args.seeds + 1), load,
              policies)


if __name__ == "__main__":
    main()
