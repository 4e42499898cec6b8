"""make bench-placement TRACES=DIR: the unserved demand of each policy.

Replays every day in DIR (*.csv.gz) as every kind of scenario with several seeds
and prints, per kind and pooled, each policy's unserved demand as a share of
kube-scheduler's: the ratio of the sums, since one scenario is noise.
"""
import argparse
import collections
import json
import multiprocessing
import pathlib
import subprocess
import sys

from day import KINDS, make_scenario

ROOT = pathlib.Path(__file__).resolve().parents[2]
PROGRAM = ROOT / "bin" / "plimsoll-simulate"
POLICIES = ("real-load", "kube-scheduler", "kube-scheduler-1.21",
            "target-load-packing", "load-variation-risk",
            "low-risk-overcommit")
BASE = "kube-scheduler"


def play(problem):
    day, kind, seed, load, policies = problem
    command = [PROGRAM, "--scenario", "-", "--json"]
    for policy in policies:
        command += ["--policy", policy]
    done = subprocess.run(command, input=make_scenario(day, kind, seed, load),
                          capture_output=True, text=True, check=True)
    results = json.loads(done.stdout)
    return day.name, kind, results.get("policies", [results])


def add(sums, key, result):
    row = sums[key, result["policy"]]
    row["unserved"] += result["unserved_core_steps"]
    row["demand"] += result["demand_core_steps"]
    row["unplaced"] += result["unplaced"]
    row["count"] += 1
    row["cv"] += result.get("cv_mean", 0)
    row["overload"] += result.get("overload_pct", 0)


def show(sums, keys, policies):
    print(f"{'':12}{'policy':22}{'unserved %':>12}{'of ' + BASE:>18}"
          f"{'unplaced':>10}{'overload %':>12}{'cv':>8}")
    for key in keys:
        base = sums[key, BASE]["unserved"]
        for policy in policies:
            row = sums[key, policy]
            ratio = f"{row['unserved'] / base:.4f}" if base > 0 else "-"
            print(f"{key:12}{policy:22}"
                  f"{100 * row['unserved'] / row['demand']:12.4f}{ratio:>18}"
                  f"{row['unplaced']:10}{row['overload'] / row['count']:12.3f}"
                  f"{row['cv'] / row['count']:8.4f}")
        print()


def bench(days, kinds, seeds, load, policies):
    problems = [(day, kind, seed, load, policies)
                for day in days for kind in kinds for seed in seeds]
    sums = collections.defaultdict(collections.Counter)
    keys = [*kinds, "all kinds", *(day.name.split(".")[0][-8:]
                                   for day in days)]
    with multiprocessing.Pool(2) as pool:
        for done, (day, kind, results) in enumerate(
                pool.imap_unordered(play, problems), 1):
            for result in results:
                for key in (kind, "all kinds", day.split(".")[0][-8:]):
                    add(sums, key, result)
            if sys.stderr.isatty():
                print(f"\r{done}/{len(problems)}", end="", file=sys.stderr)
    if sys.stderr.isatty():
        print("\r\x1b[K", end="", file=sys.stderr)
    print(f"== load {load}, {len(days)} days, seeds "
          f"{seeds.start} to {seeds.stop - 1}, ratio of sums")
    show(sums, keys, policies)


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
