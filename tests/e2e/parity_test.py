"""kube-scheduler's own filters and ours agree about random cases, and the
cases are such that a wrong filter would show. `make e2e-parity` runs twice as
many and `make nightly` many more."""
import pathlib
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))

from parity import SEED, judge_all, show_differences  # noqa: E402
from parity_rules import RULES  # noqa: E402

CASES = 1000
WRONG_RULES = 25  # at least


class Parity(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.tally = judge_all(SEED, range(CASES))
        print("\n".join(cls.tally.table()))

    def test_no_verdict_and_no_reason_differs(self):
        self.assertEqual([], list(show_differences(self.tally)))

    def test_every_filter_rejects_and_every_wrong_rule_is_seen(self):
        self.assertGreaterEqual(len(RULES), WRONG_RULES)
        self.assertEqual([], list(self.tally.complaints()))


if __name__ == "__main__":
    unittest.main()
