"""The parts of tests/bench/scale_bench.py that compute."""
import pathlib
import sys
import unittest

USES_PROGRAMS = False
TESTS = pathlib.Path(__file__).resolve().parents[1]
for folder in ("support", "bench"):
    sys.path.insert(0, str(TESTS / folder))

from scale_world import (ChurnLog, histogram,  # noqa: E402
                         histogram_quantile, quantile)


class Histograms(unittest.TestCase):
    SERIES = {'t_bucket{le="0.001"}': 10, 't_bucket{le="0.002"}': 40,
              't_bucket{le="+Inf"}': 50, 't_count': 50, 't_sum': 1,
              'other_bucket{le="0.001"}': 7}

    def test_buckets_are_taken_apart(self):
        self.assertEqual(histogram(self.SERIES, "t"),
                         {0.001: 10, 0.002: 30, float("inf"): 10})

    def test_a_quantile_lies_within_its_bucket(self):
        counts = {0.001: 10, 0.002: 30, 0.004: 10}
        self.assertAlmostEqual(histogram_quantile(counts, 0.2), 0.001)
        self.assertAlmostEqual(histogram_quantile(counts, 0.5), 0.0015)
        self.assertAlmostEqual(histogram_quantile(counts, 0.9), 0.003)

    def test_nothing_has_no_quantile(self):
        self.assertIsNone(histogram_quantile({}, 0.5))
        self.assertIsNone(quantile([], 0.5))

    def test_a_quantile_of_values_is_one_of_them(self):
        self.assertEqual(quantile([3, 1, 2], 0.5), 2)
        self.assertEqual(quantile([3, 1, 2], 1), 3)


class Lines(unittest.TestCase):
    def setUp(self):
        self.log = ChurnLog()

    def take(self, *lines):
        for line in lines:
            self.log.take(line + "\n")

    def test_a_pod_waits_from_its_creation_to_its_binding(self):
        self.take("created 1000 a", "created 1500 b", "bound 1700 b node-1")
        self.assertEqual(self.log.waiting(), 1)
        self.take("bound 3000 a node-0")
        self.assertEqual([round(w) for w in self.log.waits(0)], [200, 2000])
        self.assertEqual([round(w) for w in self.log.waits(1)], [2000])
        self.assertEqual(self.log.waiting(), 0)

    def test_a_binding_may_be_told_before_the_creation(self):
        self.take("bound 1700 a node-1", "created 1000 a")
        self.assertEqual([round(w) for w in self.log.waits(0)], [700])

    def test_the_first_binding_after_a_time_is_found(self):
        self.assertIsNone(self.log.first_bound_after(0))
        self.take("bound 1000 a node-0", "bound 5000 b node-0")
        self.assertEqual(self.log.first_bound_after(0), 1)
        self.assertEqual(self.log.first_bound_after(1), 5)
        self.assertIsNone(self.log.first_bound_after(5))

    def test_failures_are_kept(self):
        self.take("failed 1000 create: no answer ")
        self.assertEqual(self.log.failures, ["create: no answer "])


if __name__ == "__main__":
    unittest.main()
