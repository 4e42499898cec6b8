#!/usr/bin/env python3
"""Takes the pictures of the page for the documents: `make pictures`.

usage: pictures.py [FOLDER]     (docs/images)

The pictures show the demo (tests/e2e/demo.py): its API server, its nodes and
its VMs, some minutes after they began. The demo has no KubeVirt that could move
a VM, so the records of moves and the answer about room are made up."""
import pathlib
import signal
import sys
import time

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent / "support"), str(HERE.parent / "e2e")]

from browser import Browser  # noqa: E402
from demo import Demo  # noqa: E402
from harness import ROOT  # noqa: E402
from page_case import PageCase  # noqa: E402
from page_fleet import GIB, send_moves  # noqa: E402

MINUTES = 3  # of figures before the first picture
VIEWS = {
    "nodes": "#/nodes", "node": "#/nodes/node-busy?from={since}&to={now}",
    "vms": "#/vms", "vm": "#/vms/default/vm-1?from={since}&to={now}",
    "decisions": "#/decisions", "moves": "#/moves",
    "health": "#/health"}
STATE = {"Recommended": 0, "Running": 3, "Succeeded": 4}


def figures(**known):
    """Numbers by proto/plimsoll.proto."""
    numbers = {"gain": 20, "price": 21, "source_before": 26,
               "source_after": 27, "target_before": 28, "target_after": 29,
               "measured_source": 32, "measured_target": 33, "copy_s": 36,
               "memory_bytes": 37}
    return {numbers[name]: float(value) for name, value in known.items()}


def moves(now):
    """A recommended one, one that runs, and some that ended."""
    common = {"namespace": "default", "source": "node-reserved",
              "target": "node-idle",
              "sentence": "node-reserved lacks CPU, which node-idle has"}
    loads = {"gain": 31.4, "price": 12, "source_before": 0.93,
             "source_after": 0.71, "target_before": 0.34,
             "target_after": 0.55}
    found = [
        {**common, "id": "m-1", "vm": "vm-2", "state": STATE["Recommended"],
         "at_s": now - 20, "figures": figures(**loads)},
        {**common, "id": "m-2", "vm": "vm-3", "state": STATE["Running"],
         "at_s": now - 25, "ordered_s": now - 25, "migration": "plimsoll-x7",
         "figures": figures(**loads, memory_bytes=4 * GIB)}]
    for i, (vm, source, target) in enumerate((
            ("vm-1", 0.73, 0.52), ("vm-4", 0.66, 0.61), ("vm-5", 0.58, 0.43),
            ("vm-1", 0.81, 0.38))):
        end = now - 90 - 1400 * i
        found.append({
            **common, "id": f"m-{i + 3}", "vm": vm,
            "state": STATE["Succeeded"], "at_s": end, "ordered_s": end - 70,
            "ended_s": end, "figures": figures(**{
                **loads, "source_after": source - 0.02 * (i - 1),
                "target_after": target + 0.015 * i}, measured_source=source,
                measured_target=target, copy_s=70, memory_bytes=6 * GIB)})
    return found


class Pictures(Demo):
    def take(self, folder):
        """Begins as the demo does, and takes a picture of each view."""
        began = time.time()
        self.start_cluster()
        self.start_plimsoll()
        for i in range(5):
            self.vm_arrives(f"vm-{i + 1}", cores=0.4 + 0.3 * i)
        # Until there is something to see.
        time.sleep(max(0, began + MINUTES * 60 - time.time()))
        send_moves(self.aggregator.url, moves(time.time()))
        self.browser = Browser(self.folder.path)
        self.addClassCleanup(self.browser.close)
        since, now = (time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(at))
                      for at in (began, time.time()))
        for view, fragment in VIEWS.items():
            self.picture(folder / f"page-{view}.png",
                         fragment.format(since=since, now=now))
        self.browser.prefer("dark")
        self.picture(folder / "page-nodes-dark.png", VIEWS["nodes"])

    def picture(self, path, fragment):
        picture(self.browser, path, f"{self.page}{fragment}")


class RoomPicture(PageCase):
    def take(self, folder):
        self.begin()
        picture(self.browser, folder / "page-room.png",
                f"{self.origin}/#/room")


def picture(browser, path, url):
    browser.open("about:blank")
    browser.open(url)
    browser.await_element("#view[data-ready=true]")
    # The scheduler's words and the plots come after the first figures.
    browser.await_true(
        "everything is painted", "return ![...document.querySelectorAll("
        "'#view p')].some((e) => /^Asking/.test(e.textContent)) &&"
        " performance.getEntriesByType('resource').some((e) =>"
        " /outlook|history|moves|decisions|status/.test(e.name) &&"
        " e.responseEnd > 0 && performance.now() > e.responseEnd + 1500)")
    browser.screenshot(path)
    print(f"{path} ({path.stat().st_size >> 10} KiB)", flush=True)


def main(folder=ROOT / "docs/images"):
    def end(_number, _frame):
        raise KeyboardInterrupt
    signal.signal(signal.SIGTERM, end)
    for case in (RoomPicture(), Pictures()):
        try:
            case.take(pathlib.Path(folder))
        finally:
            case.doClassCleanups()


if __name__ == "__main__":
    main(*sys.argv[1:])
