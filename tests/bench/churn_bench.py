"""The memory of the aggregator while VMs come and go: 20 pods a second, as long
as asked. It has to be bounded: what it needs for pods that are gone is forgotten
after their hour.

The fleet is that of tests/bench/fleet_main.c. One line a minute; the last lines
compare the growth of the last third with the budget."""
import argparse
import pathlib
import re
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))

from agent_bench import verdict  # noqa: E402
from harness import ROOT, Aggregator, Folder, Program  # noqa: E402

FLEET = ROOT / "build/release/tests/bench/fleet"
NODES, VMS, LIFE_S, INTERVAL_MS = 25, 20, 25, 5000
PODS_A_SECOND = NODES * VMS // LIFE_S
# Growth in MB an hour that is no leak: the allocator's, and that of windows.
BUDGET = 3


def slope(samples):
    """MB an hour, by least squares. samples: (seconds, MB)."""
    n = len(samples)
    mean_x = sum(x for x, _ in samples) / n
    mean_y = sum(y for _, y in samples) / n
    below = sum((x - mean_x) ** 2 for x, _ in samples)
    return 3600 * sum((x - mean_x) * (y - mean_y)
                      for x, y in samples) / below


def rss_mb(pid):
    status = pathlib.Path(f"/proc/{pid}/status").read_text()
    return int(re.search(r"VmRSS:\s*(\d+)", status)[1]) / 1024


def measure(minutes):
    folder = Folder()
    samples = []
    try:
        aggregator = folder.add(Aggregator(folder.path)).start()
        folder.add(Program(folder.path, "fleet", [str(one) for one in (
            FLEET, "send", aggregator.url, NODES, VMS, INTERVAL_MS,
            minutes * 60 + 60, "steady", LIFE_S)])).start()
        start = time.monotonic()
        for minute in range(1, minutes + 1):
            time.sleep(max(0, start + minute * 60 - time.monotonic()))
            samples.append((minute * 60, rss_mb(aggregator.process.pid)))
            print(f"{minute:4} min {samples[-1][1]:8.1f} MB "
                  f"{minute * 60 * PODS_A_SECOND:8} pods", flush=True)
    finally:
        folder.close()
    return samples


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--minutes", type=int, default=180)
    samples = measure(parser.parse_args().minutes)
    grows = slope(samples[-max(2, len(samples) // 3):])
    print(f"{verdict(grows <= BUDGET)}: growth in the last third: {grows:.1f} "
          f"MB an hour (budget {BUDGET})")
    return 0 if grows <= BUDGET else 1


if __name__ == "__main__":
    sys.exit(main())
