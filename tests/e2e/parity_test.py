"""kube-scheduler's own filters and ours agree about random cases, and every
filter rejects some. `make e2e-parity` runs more cases, such that each wrong rule
shows, and `make nightly` runs many."""
import pathlib
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))

from parity import SEED, judge_all, show_differences  # noqa: E402

CASES = 300


class Parity(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.tally = judge_all(SEED, range(CASES), with_rules=False)
        print("\n".join(cls.tally.table()))

    def test_no_verdict_and_no_reason_differs(self):
        self.assertEqual([], list(show_differences(self.tally)))

    def test_every_filter_rejects(self):
        self.assertEqual([], list(self.tally.complaints()))


if __name__ == "__main__":
    unittest.main()
