"""Snapshots for schedulers: those that ask for the same get the same answer."""
import concurrent.futures
import pathlib
import sys
import time
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))

from harness import Aggregator, Folder, eventually  # noqa: E402
from protobuf import fields  # noqa: E402
from wire_peer import WirePeer, pack, report  # noqa: E402

SCHEDULER = 1


class Follower:
    """A scheduler that follows the snapshots."""

    def __init__(self, url):
        self.peer = WirePeer(url, "scheduler", SCHEDULER)
        self.at = 0, 0

    def ask(self):
        """Where the snapshot begins, and its bytes, which hold the age of
        each node in microseconds."""
        began = self.at
        bytes_ = self.peer.request(
            (3, pack((1, began[0]), (2, began[1]))))[3][0]
        found = fields(bytes_)
        self.at = found[1][0], found[2][0]
        return began, bytes_


class Snapshots(unittest.TestCase):
    def test_two_schedulers_get_one_answer(self):
        folder = Folder()
        self.addCleanup(folder.close)
        aggregator = folder.add(Aggregator(folder.path)).start()
        agent = WirePeer(aggregator.url, "node-a")
        self.addCleanup(agent.close)
        followers = [Follower(aggregator.url) for _ in range(2)]
        for follower in followers:
            self.addCleanup(follower.peer.close)
        seqs = iter(range(1, 1 << 20))

        def both_get_the_same(pool):
            asked = [pool.submit(follower.ask) for follower in followers]
            while not all(one.done() for one in asked):
                now_us = time.monotonic_ns() // 1000
                agent.send(now_us, [report(next(seqs), now_us, {})])
            return asked[0].result() == asked[1].result()
        with concurrent.futures.ThreadPoolExecutor(len(followers)) as pool:
            eventually("one answer serves both",
                       lambda: both_get_the_same(pool))


if __name__ == "__main__":
    unittest.main()
