#!/usr/bin/env python3
"""Runs tests of tests/system with limits of time, which hold on a machine that
does nothing else. Prints a table and exits 1 if a limit is exceeded.

While thousands of connections are open, the aggregator stores reports and
answers its probe within a second. A program stops within five seconds,
whatever
it is waiting for."""
import pathlib
import sys
import time
import unittest

TESTS = pathlib.Path(__file__).resolve().parents[1]
for folder in ("support", "system"):
    sys.path.insert(0, str(TESTS / folder))

from flood import INTERVAL_S, FloodCase  # noqa: E402
from flood_test import Floods  # noqa: E402
from shutdown_test import Shutdown  # noqa: E402
from tls_flood_test import TlsFloods  # noqa: E402

PROBED_S, STORED_S, STOPPED_S = 1.0, 1.0, 5.0


class Table:
    """figures: (name, seconds, limit)."""

    def __init__(self):
        self.exceeded = 0

    def add(self, case, *figures):
        for name, seconds, limit in figures:
            self.exceeded += seconds > limit
            print(f"{seconds:8.2f} {limit:8.2f}  {name}: "
                  f"{case.id().rpartition('.')[2].removeprefix('test_')}",
                  flush=True)


def measure(table):
    """Lets the tests write their durations into the table."""
    def check(case, watch):
        case.assertIsNone(watch.not_ready)
        table.add(case, ("a probe is answered", watch.probed_s, PROBED_S),
                  ("a batch is acknowledged as stored", watch.unstored_s,
                   INTERVAL_S + STORED_S),
                  ("a report is in the history", watch.history_s,
                   INTERVAL_S + STORED_S))

    def assert_stops(case, program):
        began = time.monotonic()
        case.assertEqual(program.stop(), 0, program.log())
        table.add(case, ("a program stops", time.monotonic() - began,
                         STOPPED_S))
    FloodCase.check, Shutdown.assert_stops = check, assert_stops


def main():
    table = Table()
    measure(table)
    print("   s max    limit")
    suite = unittest.TestSuite(
        unittest.defaultTestLoader.loadTestsFromTestCase(case)
        for case in (Floods, TlsFloods, Shutdown))
    done = unittest.TextTestRunner(verbosity=0).run(suite)
    print(f"{table.exceeded} limits exceeded")
    return 0 if done.wasSuccessful() and not table.exceeded else 1


if __name__ == "__main__":
    sys.exit(main())
