"""GET /v1/decisions and /v1/moves. tests/e2e tests the answers with
decisions."""
import json
import pathlib
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))

from harness import Aggregator, Folder  # noqa: E402
from wire_peer import WirePeer, pack  # noqa: E402

WRONG_NAMES = ("", "a", "/a", "a/", "a/b/c", f"{'x' * 300}/b",
               f"a/{'x' * 300}")
WRONG_LIMITS = ("0", "1001", "-1", "x", "", "9" * 400)

WRONG = {
    "decisions": {
        **{f"pod={name}": "pod: " for name in WRONG_NAMES},
        **{f"vm={name}": "vm: " for name in WRONG_NAMES},
        **{f"limit={limit}": "from 1 to 1000" for limit in WRONG_LIMITS},
        "pod=a/b&vm=c/d": "different namespaces",
        "from=yesterday": "from:", "to=x": "to:",
        "from=20&to=10": "not before",
    },
    "moves": {
        **{f"vm={name}": "vm: " for name in WRONG_NAMES},
        **{f"limit={limit}": "from 1 to 1000" for limit in WRONG_LIMITS},
        "node=": "node: ", f"node={'x' * 300}": "node: ",
        "state=": "state: ", "state=done": "state: ",
        "before=": "before: ", "before=7": "before: ",
        "before=7-": "before: ", "before=-7": "before: ",
        "before=7-7x": "before: ", f"before={'9' * 30}-1": "before: ",
    },
}

EMPTY = {
    "decisions": ("", "?pod=a/b", "?vm=a/b", "?pod=a/b&vm=a/c",
                  "?limit=1000&from=2026-01-01T00:00:00Z"),
    "moves": ("", "?vm=a/b&node=n1&state=failed&limit=1000",
              "?before=1780000000000-17"),
}


class Records(unittest.TestCase):
    def setUp(self):
        folder = Folder()
        self.addCleanup(folder.close)
        self.aggregator = folder.add(Aggregator(folder.path)).start()

    def test_a_wrong_parameter_is_400_with_a_sentence(self):
        for name, queries in WRONG.items():
            for query, sentence in queries.items():
                with self.subTest(name + query[:40]):
                    status, _, text = self.aggregator.get(
                        f"/v1/{name}?{query}")
                    self.assertEqual(status, 400)
                    self.assertIn(sentence, json.loads(text)["error"])
            self.assertEqual(self.aggregator.get(f"/v1/{name}/x")[0], 404)

    def test_without_records_the_list_is_empty(self):
        for name, queries in EMPTY.items():
            for query in queries:
                answer = self.aggregator.json(f"/v1/{name}{query}")
                self.assertEqual(answer[name], [])
                self.assertIsNone(answer.get("next"))


class Moves(unittest.TestCase):
    """A scheduler's part is played by a peer that sends moves."""

    def setUp(self):
        folder = Folder()
        self.addCleanup(folder.close)
        self.aggregator = folder.add(Aggregator(folder.path)).start()
        self.peer = WirePeer(self.aggregator.url, "scheduler")
        self.addCleanup(self.peer.close)

    def send(self, number, state=0, revision=1, reason=1, more=()):
        move = pack((1, f"id-{number}"), (2, revision), (3, "shop"),
                    (4, f"web-{number}"), (6, "n1"), (7, "n2"), (8, state),
                    (9, reason), (12, 1780000000000000 + number * 1500000),
                    (17, "n1 is short of memory"), *more)
        self.assertIn(2, self.peer.request((6, pack((1, move)))))

    def test_a_move_is_listed_with_its_last_state_and_both_times(self):
        self.send(1)
        self.send(1, state=5, revision=2)
        answer = self.aggregator.json("/v1/moves?vm=shop/web-1")
        move, = answer["moves"]
        self.assertIsNone(answer["next"])
        self.assertEqual(move["time"], 1780000001.5)
        self.assertEqual(move["time_rfc3339"], "2026-05-28T20:26:41.500000Z")
        self.assertIsNone(move["ended"])
        self.assertIsNone(move["ended_rfc3339"])
        self.assertEqual((move["state"], move["reason"], move["revision"]),
                         ("failed", "memory", 2))
        self.assertIsNone(move["gain"])
        self.assertNotIn("room_for", move)

    def test_a_move_that_makes_room_says_for_which_pod(self):
        # On the wire its reason is one that older programs know.
        self.send(1, reason=1, more=((38, "shop/urgent"), (39, "u-2")))
        move, = self.aggregator.json("/v1/moves")["moves"]
        self.assertEqual((move["reason"], move["room_for"]),
                         ("room", "shop/urgent"))

    def test_next_continues_the_list(self):
        for number in range(5):
            self.send(number)
        names, query = [], ""
        while query is not None:
            answer = self.aggregator.json(f"/v1/moves?limit=2{query}")
            names += [move["vm"] for move in answer["moves"]]
            query = answer["next"] and f"&before={answer['next']}"
        self.assertEqual(names, [f"web-{n}" for n in (4, 3, 2, 1, 0)])


if __name__ == "__main__":
    unittest.main()
