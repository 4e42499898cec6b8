#!/usr/bin/env python3
"""Measures the page in Chromium before 1,000 nodes with 30,000 VMs, and what an
open page costs the aggregator. Prints a table and compares it with the budgets.

The aggregator, the player of the fleet (tests/bench/fleet_main.c) and the
browser share the machine. A time is that of the page's own clock, from the
beginning of the navigation to the first painted rows. A task is what occupies
the page's main thread without a break, by PerformanceObserver("longtask"),
which tells those above 50 ms. It lasts longer while other programs run, so each
piece of work is done some times, and the time with the shortest longest task
counts. The heap is that of the page after
a garbage collection; the process has the worker's heap and Chromium itself,
too."""
import argparse
import gzip
import pathlib
import statistics
import sys
import time

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent / "support"), str(HERE)]

from agent_bench import cpu_us, verdict  # noqa: E402
from browser import Browser  # noqa: E402
from harness import ROOT, Folder, eventually  # noqa: E402
from large_fleet import NODES, VMS, LargeFleet  # noqa: E402

READY = "#view[data-ready=true]"
ROUNDS = 3
STEPS = 120  # of a scroll from the top to the end
FIRST_VIEW_MS, TASK_MS, HEAP_MB, SIZE_KIB = 1000, 100, 150, 150
# Notes when a view was ready first.
CLOCK = """
window.readyAt = 0;
new MutationObserver(() => {
  if (!window.readyAt && document.querySelector("#view[data-ready=true]")) {
    requestAnimationFrame(() => { window.readyAt ||= performance.now(); });
  }
}).observe(document, {subtree: true, childList: true, attributes: true});
"""
# One step each frame, as a person who drags the scroll bar.
SCROLL = """
const done = arguments[arguments.length - 1], steps = arguments[0];
const frame = document.querySelector("table[data-table=vms]")
    .closest(".frame");
let i = 0;
const step = () => {
  frame.scrollTop = (frame.scrollHeight - frame.clientHeight) * ++i / steps;
  if (i < steps) requestAnimationFrame(step);
  else requestAnimationFrame(() => requestAnimationFrame(() => done(
      document.querySelector("table[data-table=vms] tbody tr:last-child")
          .ariaRowIndex)));
};
step();
"""


def page_bytes():
    """As gzip. make leaves dygraphs below build/gen."""
    return sum(len(gzip.compress(file.read_bytes(), 9)) for folder in (
        ROOT / "page", ROOT / "build/gen/page") for file in folder.glob("*.*"))


class Measuring:
    def __init__(self, folder, seconds):
        self.seconds = seconds
        self.large = LargeFleet(folder)
        self.aggregator = self.large.aggregator
        self.origin = f"http://127.0.0.1:{self.aggregator.ports[1]}"
        self.browser = Browser(folder.path)
        self.browser.cdp("Page.addScriptToEvaluateOnNewDocument",
                         source=CLOCK)

    def close(self):
        self.browser.close()
        self.large.close()

    def load(self, fragment):
        """Milliseconds until the first view is painted, and its requests'
        bytes as they came over the network."""
        self.browser.open("about:blank")
        self.browser.open(f"{self.origin}/{fragment}")
        eventually("the view is ready",
                   lambda: self.browser.run("return window.readyAt"))
        eventually("all rows are there", lambda: self.browser.run(
            "return [...document.querySelectorAll('table[data-table]')].some("
            "(t) => Number(t.ariaRowCount) > arguments[0])", NODES))
        return (self.browser.run("return window.readyAt"),
                self.browser.run("return performance.getEntriesByType("
                                 "'resource').reduce((sum, e) => sum +"
                                 " e.transferSize, 0)"))

    def longest(self):
        """The longest task in ms since the last call; 0: below 50 ms."""
        return max((ms for _, ms in self.browser.long_tasks()), default=0)

    @staticmethod
    def tell(fragment, what, tasks):
        print(f"{fragment:9}{what}: longest task " + (
            f"{min(tasks):.0f} ms" if min(tasks) else "below 50 ms")
              + f" (up to {max(tasks):.0f} ms)")
        return min(tasks)

    def first_view(self, fragment):
        times, tasks = [], []
        for _ in range(ROUNDS):
            ms, size = self.load(fragment)
            times.append(ms)
            tasks.append(self.longest())
        print(f"{fragment:9}first view p50 {statistics.median(times):.0f} "
              f"ms ({min(times):.0f} to {max(times):.0f}), "
              f"{size / 1024:.0f} KiB with the page itself")
        return statistics.median(times), self.tell(fragment, "load", tasks)

    def work(self):
        """The longest task in ms while the VMs are scrolled, sorted, filtered
        and updated."""
        tasks = {}
        for _ in range(ROUNDS):
            self.load("#/vms")
            self.longest()
            for what, act in (("scroll to the end", self.scroll),
                              ("sort", self.sort), ("filter", self.filter),
                              ("update", self.await_update)):
                act()
                tasks.setdefault(what, []).append(self.longest())
        return max(self.tell("#/vms", what, found)
                   for what, found in tasks.items())

    def scroll(self):
        last = self.browser.do("execute/async", script=SCROLL, args=[STEPS])
        assert int(last) == NODES * VMS + 1, last

    def sort(self):
        self.browser.click("table[data-table=vms] th:nth-child(2) button")

    def filter(self):
        self.browser.type("#filter-vms", "team-3")

    def await_update(self):
        count = self.lists()
        eventually("an update came", lambda: self.lists() > count)

    def lists(self):
        return self.browser.run(
            "return performance.getEntriesByType('resource').filter("
            "(e) => e.name.includes('vmloads?')).length")

    def heap(self):
        megabytes = self.browser.heap_bytes() / 1e6
        print(f"#/vms    heap {megabytes:.1f} MB, process "
              f"{self.browser.renderer_bytes() / 1e6:.0f} MB")
        return megabytes

    def cpu_a_minute(self, fragment):
        """Milliseconds of CPU of the aggregator in a minute."""
        if fragment:
            self.load(fragment)
        else:
            self.browser.open("about:blank")
        pid = self.aggregator.process.pid
        before, start = cpu_us(pid), time.monotonic()
        time.sleep(self.seconds)
        return ((cpu_us(pid) - before) / 1e3 * 60
                / (time.monotonic() - start))

    def page_cost(self):
        alone = self.cpu_a_minute("")
        print(f"aggregator alone: {alone:.0f} ms of CPU a minute, for "
              f"{NODES * 60 // 10} reports")
        for fragment in ("#/nodes", "#/vms"):
            more = self.cpu_a_minute(fragment) - alone
            print(f"{fragment:9}open: {more:.0f} ms of the aggregator's CPU "
                  "a minute more")


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--seconds", type=int, default=60,
                        help="of each measurement of CPU")
    options = parser.parse_args()
    size = page_bytes() / 1024
    folder = Folder()
    measuring = None
    try:
        measuring = Measuring(folder, options.seconds)
        nodes_ms, nodes_task = measuring.first_view("#/nodes")
        vms_ms, vms_task = measuring.first_view("#/vms")
        longest = measuring.work()
        heap = measuring.heap()
        measuring.page_cost()
    finally:
        if measuring:
            measuring.close()
        folder.close()
    first = max(nodes_ms, vms_ms)
    task = max(longest, nodes_task, vms_task)
    print(f"{verdict(size <= SIZE_KIB)}: the page as gzip: {size:.0f} KiB "
          f"(budget {SIZE_KIB} KiB)")
    print(f"{verdict(first <= FIRST_VIEW_MS)}: first view {first:.0f} ms "
          f"(budget {FIRST_VIEW_MS} ms)")
    print(f"{verdict(task <= TASK_MS)}: longest task of the page "
          f"{task:.0f} ms (budget {TASK_MS} ms)")
    print(f"{verdict(heap <= HEAP_MB)}: heap {heap:.1f} MB "
          f"(budget {HEAP_MB} MB)")


if __name__ == "__main__":
    main()
