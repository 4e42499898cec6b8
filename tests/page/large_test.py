"""The page before 1,000 nodes with 30,000 VMs: what is in the document and in
memory does not grow with the rows. `make bench-page` measures the times."""
import gzip
import pathlib
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))

from harness import ROOT  # noqa: E402
from large_fleet import NODES, VMS, LargeFleet  # noqa: E402
from page_case import PageBrowserCase  # noqa: E402

HEAP_MAX = 150e6
GZIPPED_MAX = 150 << 10
ELEMENTS_MAX = 3000  # of a view, with 1,400 x 900 pixels


class Large(PageBrowserCase):
    expected = [r"outlook.* 503 "]  # no scheduler leads

    @classmethod
    def setUpClass(cls):
        cls.begin_folder()
        cls.large = LargeFleet(cls.folder)
        cls.addClassCleanup(cls.large.close)
        cls.aggregator = cls.large.aggregator
        cls.begin_browser()

    def test_all_rows_are_there_and_few_are_in_the_document(self):
        self.show("#/vms")
        self.browser.await_element(
            f"table[data-table=vms][aria-rowcount='{NODES * VMS + 1}']")
        seen = set()
        for place in self.scrolled("vms"):
            seen.add(place)
            self.assertLess(self.browser.count("*"), ELEMENTS_MAX)
        self.assertIn(NODES * VMS + 1, seen)

    def scrolled(self, table, steps=30):
        """Scrolls the table from the top to the end; the aria-rowindex of the
        last row in the document after each step."""
        for i in range(steps + 1):
            self.browser.run("""
                const frame = document.querySelector(
                    `table[data-table="${arguments[0]}"]`).closest(".frame");
                frame.scrollTop = frame.scrollHeight * arguments[1];
                """, table, i / steps)
            yield self.browser.await_true("the rows in sight are painted", """
                const table = document.querySelector(
                    `table[data-table="${arguments[0]}"]`);
                const sight = table.closest(".frame").getBoundingClientRect();
                const rows = [...table.querySelectorAll("tbody tr")];
                const last = rows.at(-1), first = rows[0];
                return last && first.getBoundingClientRect().top <= sight.top
                    + 100 && last.getBoundingClientRect().bottom >=
                    sight.bottom - 40 && Number(last.ariaRowIndex);
                """, table)

    def test_the_heap_stays_small(self):
        self.show("#/vms", "vms")
        for view, fragment in (
                ("nodes", "#/nodes"),
                ("vms", "#/vms?sort=-status.usedCores"),
                ("node", "#/nodes/node-0007"), ("vms", "#/vms")):
            self.browser.go(fragment)
            self.await_view(view)
        self.assertLess(self.browser.heap_bytes(), HEAP_MAX)


class Size(unittest.TestCase):
    def test_the_page_is_small(self):
        files = [*(ROOT / "page").glob("*.*"),
                 *(ROOT / "build/gen/page").glob("*.*")]
        self.assertIn("dygraph.js", [file.name for file in files])
        sizes = {file.name: len(gzip.compress(file.read_bytes(), 9))
                 for file in files}
        self.assertLess(sum(sizes.values()), GZIPPED_MAX, sizes)


if __name__ == "__main__":
    unittest.main()
