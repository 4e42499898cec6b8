"""The checks of tests/chaos find what they are for: each sees the defect once,
and says nothing without it."""
import json
import pathlib
import socket
import sqlite3
import sys
import unittest

TESTS = pathlib.Path(__file__).resolve().parents[1]
for folder in ("support", "e2e", "chaos"):
    sys.path.insert(0, str(TESTS / folder))

import checks  # noqa: E402
from faults import FAULTS, MARGIN_S, plan  # noqa: E402
from fleet import End  # noqa: E402
from harness import Folder, Machine, agent, eventually  # noqa: E402
from hostile import (SilentPlugs, lists, long_selector,  # noqa: E402
                     many_preferences, questions, repeated_constraints)
from link import (Acknowledged, Links, client_context,  # noqa: E402
                  server_context)
from secure import SecureAggregator, certs, client_flags  # noqa: E402
from stored import stored_seqs  # noqa: E402

RUN = "node-00", "ab" * 16


class Reports(unittest.TestCase):
    """A real agent and aggregator with a link that reads between them."""

    @classmethod
    def setUpClass(cls):
        folder = Folder()
        cls.addClassCleanup(folder.close)
        keys = folder.path / "keys"
        certs("new", keys)
        aggregator = folder.add(SecureAggregator(folder.path, keys)).start()
        links = Links()
        cls.addClassCleanup(links.close)
        cls.acknowledged = Acknowledged()
        link = links.add(aggregator.ports[0], cls.acknowledged,
                         server_context(keys), client_context(keys))
        machine = Machine(folder.path / "m")
        cls.addClassCleanup(machine.close)
        sender = folder.add(agent(
            folder.path, "node-00", [f"tls+tcp://127.0.0.1:{link.port}"],
            *machine.agent_flags(), *client_flags(keys), "--tls-server-name",
            "localhost", interval="100ms")).start()
        eventually("ten reports are acknowledged",
                   lambda: cls.acknowledged.count() >= 10)
        sender.stop()
        aggregator.stop()
        cls.db, cls.sender = aggregator.db, sender

    def change(self, sql):
        """A copy of the database with a change."""
        copy = self.db.with_name(f"{self.id()}.db")
        copy.write_bytes(self.db.read_bytes())
        link = sqlite3.connect(copy)
        link.execute(sql)
        link.commit()
        link.close()
        return copy

    def missing(self, db):
        return checks.missing(self.acknowledged.reports, stored_seqs(db))

    def test_all_that_the_link_read_is_stored_once(self):
        self.assertEqual(self.missing(self.db), [])
        self.assertEqual(checks.stored_twice(stored_seqs(self.db)), [])
        self.assertEqual(checks.damage(self.db), [])

    def test_a_row_that_is_gone_is_missing(self):
        db = self.change("DELETE FROM head WHERE seq = 4")
        (sentence,) = self.missing(db)
        self.assertRegex(sentence, r"^1 of \d+ reports of node-00 .*\[4\]$")

    def test_a_run_that_is_gone_is_missing(self):
        (sentence,) = self.missing(self.change("DELETE FROM head"))
        self.assertIn("are missing", sentence)

    def test_a_report_that_the_agent_knew_as_stored_is_missing(self):
        logs = {"node-00": self.sender.log()}
        self.assertEqual(
            checks.missing_at_stop(logs, stored_seqs(self.db)), [])
        db = self.change("DELETE FROM head WHERE seq = 4")
        (sentence,) = checks.missing_at_stop(logs, stored_seqs(db))
        self.assertIn("[4]", sentence)

    def test_a_row_that_is_there_twice_is_noticed(self):
        db = self.change(
            "INSERT INTO head(run, seq, sample_ms, stored_ms, body) SELECT"
            " run, seq, sample_ms, stored_ms, body FROM head WHERE seq = 4")
        (sentence,) = checks.stored_twice(stored_seqs(db))
        self.assertIn("[4]", sentence)

    def test_a_decision_that_is_gone_is_missing(self):
        db = self.change("INSERT INTO decision(namespace, pod, uid, wall_ms,"
                         " body) VALUES ('n', 'p', 'u', 7, '')")
        self.assertEqual(checks.missing_decisions({("u", 7)}, db), [])
        (sentence,) = checks.missing_decisions({("u", 8)}, db)
        self.assertIn("pod u at 8 ms", sentence)

    def test_an_index_without_a_row_is_damage(self):
        copy = self.change("INSERT INTO decision(namespace, pod, uid, wall_ms,"
                           " body) VALUES ('n', 'p', 'u', 7, '')")
        link = sqlite3.connect(copy)
        link.execute("PRAGMA writable_schema = ON")
        link.execute("DELETE FROM sqlite_schema WHERE name = 'decision_age'")
        link.commit()
        link.close()
        self.assertNotEqual(checks.damage(copy), [])

    def test_a_report_that_is_only_sent_is_not_stored_yet(self):
        self.assertEqual(checks.unstored({RUN: {1, 2}}, {RUN: 2}), [])
        (sentence,) = checks.unstored({RUN: {1, 3}}, {RUN: 3})
        self.assertIn("[2]", sentence)


def binding(pod, code=201, stage="ResponseComplete"):
    return json.dumps({
        "stage": stage, "verb": "create", "responseStatus": {"code": code},
        "objectRef": {"subresource": "binding", "name": pod}})


class Pods(unittest.TestCase):
    def test_a_pod_is_bound_twice_if_two_bindings_were_accepted(self):
        audit = [binding("a"), binding("b", 409), binding("b"), "half a li"]
        self.assertEqual(checks.bound_twice(audit), [])
        self.assertEqual(checks.bound_twice([*audit, binding("a")]),
                         ["pod a was bound 2 times"])

    def test_a_pod_without_a_node_is_left(self):
        bound = {"metadata": {"name": "a"}, "spec": {"nodeName": "n"}}
        self.assertEqual(checks.left_pending([bound]), [])
        self.assertEqual(
            checks.left_pending([bound, {"metadata": {"name": "b"},
                                         "spec": {}}]), ["pod b has no node"])


def life(kind, pid, minutes, mib_per_hour, at_first=10.0):
    return [(kind, pid, 60.0 * i, at_first + mib_per_hour * i / 60)
            for i in range(minutes + 1)]


class Memory(unittest.TestCase):
    def samples(self, **growth):
        return [one for kind in checks.RSS_MIB for pid in (1, 2)
                for one in life(kind, pid, 30, growth.get(kind, 0.0))]

    def test_memory_that_stays_is_fine(self):
        self.assertEqual(checks.memory(self.samples()), [])

    def test_each_program_that_leaks_is_noticed(self):
        for kind, limit in checks.SLOPE_MIB_PER_H.items():
            with self.subTest(kind):
                (sentence,) = checks.memory(
                    self.samples(**{kind: limit * 1.1}))
                self.assertIn(f"{kind} grew by", sentence)

    def test_a_process_that_is_too_large_is_noticed_however_short_it_lived(
            self):
        large = life("scheduler", 3, 1, 0, checks.RSS_MIB["scheduler"] + 1.0)
        (sentence,) = checks.memory(self.samples() + large)
        self.assertIn("scheduler had", sentence)

    def test_the_levels_of_two_lives_are_no_slope(self):
        two = (life("agent", 1, 30, 0.0, 5.0) + [
            (kind, 2, at + 3600, mib) for kind, _, at, mib
            in life("agent", 2, 30, 0.0, 15.0)])
        self.assertEqual(checks.slope("agent", two), 0.0)

    def test_short_lives_have_no_slope(self):
        self.assertIsNone(checks.slope("agent", life("agent", 1, 10, 60.0)))

    def test_an_aggregator_that_was_flooded_may_have_more(self):
        mib = checks.RSS_MIB["aggregator"] + checks.FLOODED_MIB
        samples = self.samples() + life("aggregator", 3, 1, 0, mib - 1.0)
        self.assertEqual(len(checks.memory(samples)), 1)
        self.assertEqual(checks.memory(samples, {3}), [])
        more = self.samples() + life("aggregator", 3, 1, 0, mib + 1.0)
        self.assertEqual(len(checks.memory(more, {3})), 1)

    def test_what_hostile_faults_leave_is_no_slope(self):
        steps = (life("scheduler", 1, 10, 0.0, 17.0)
                 + [(kind, pid, at + 660, mib) for kind, pid, at, mib
                    in life("scheduler", 1, 30, 0.0, 22.0)])
        self.assertGreater(checks.slope("scheduler", steps), 1)
        self.assertEqual(checks.slope("scheduler", steps, 600), 0.0)

    def test_a_program_that_was_never_measured_is_noticed(self):
        only = [s for s in self.samples() if s[0] != "agent"]
        self.assertEqual(checks.memory(only),
                         ["the memory of agent was never read"])


INFO = 'I1123 02:40:11.856060 16802 main.c:42] "started" node="n"\n'
FULL = ('E1123 02:40:11.856060 16802 writer.c:204] "cannot write to the '
        'database" err="database or disk is full" suppressed=0\n')


class Logs(unittest.TestCase):
    def found(self, text, *kinds):
        return checks.unexpected_lines({"aggregator": text}, set(kinds))

    def test_a_line_that_a_fault_explains_needs_that_fault(self):
        self.assertEqual(self.found(INFO + FULL, "full-disk"), [])
        self.assertEqual(self.found(INFO + FULL, "kill-etcd"),
                         [f"aggregator: {FULL.strip()}"])

    def test_a_line_that_nothing_explains_fails_with_the_line(self):
        odd = 'W1123 02:40:11.856060 16802 x.c:1] "something new"'
        self.assertEqual(self.found(odd, *(f.kind for f in FAULTS)),
                         [f"aggregator: {odd}"])

    def test_a_line_that_is_not_of_the_log_fails(self):
        odd = "malloc(): corrupted top size"
        self.assertEqual(self.found(INFO + odd, "full-disk"),
                         [f"aggregator: {odd}"])


class Ends(unittest.TestCase):
    def found(self, name, code, by, *faults):
        return checks.wrong_ends([End(name, code, by, set(faults))])

    def test_ends_that_the_run_caused_are_fine(self):
        self.assertEqual(self.found("scheduler", -9, "kill"), [])
        self.assertEqual(self.found("scheduler", 0, "stop"), [])
        self.assertEqual(self.found("aggregator", 1, "", "lock-database"), [])

    def test_a_full_disk_is_no_reason_to_end(self):
        self.assertNotEqual(
            self.found("aggregator", 1, "", "full-disk-at-start"), [])

    def test_a_program_that_ended_by_itself_is_noticed(self):
        for name, code, by in (("scheduler", -6, ""), ("scheduler", 1, ""),
                               ("aggregator", 1, ""), ("agent-a", -11, "stop"),
                               ("agent-a", 0, "")):
            with self.subTest(name=name, code=code, by=by):
                self.assertEqual(len(self.found(name, code, by)), 1)

    def test_a_query_that_fails_is_noticed(self):
        fine = {("nodes", 200): 5, ("nodes", 0): 2, ("vm", 404): 3,
                ("vm", 200): 1}

        def found(more, *kinds):
            return checks.wrong_answers({**fine, **more}, set(kinds))
        self.assertEqual(found({}), [])
        self.assertEqual(found({("vm", 500): 1}),
                         ["vm was answered 1 times with 500"])
        self.assertEqual(found({("vm", 400): 1}, "clock-aggregator"), [])
        self.assertEqual(len(found({("vm", 400): 1}, "clock-agents")), 1)
        self.assertEqual(found({("vms", 0): 9}), ["vms was never answered"])


class Probes(unittest.TestCase):
    def test_probes_may_rarely_be_late(self):
        seen = [({"selectors"}, 0.1)] * 9 + [({"selectors"}, None)]
        self.assertEqual(checks.late_probes([]), [])
        self.assertEqual(checks.late_probes(seen), [])
        late = [*seen, ({"selectors", "questions"}, 11.0)]
        self.assertEqual(checks.late_probes(late), [
            "1 of 1 probes were not answered within 10 s under questions",
            "2 of 11 probes were not answered within 10 s under selectors"])


class Hostile(unittest.TestCase):
    def test_requests_have_room(self):
        """A request of the aggregator's HTTP has 32 KiB for its head, and a
        question 256 KiB."""
        for size in ((20, 250), (64, 80)):
            for _, path in lists(long_selector(*size)):
                self.assertLess(len(path), 28 << 10)
        for _, _, body in questions(
                [repeated_constraints(2900), many_preferences(1600)],
                ["node-00"] * 25):
            self.assertLess(len(json.dumps(body)), 256 << 10)

    def test_connections_that_are_closed_are_opened_again(self):
        with socket.create_server(("127.0.0.1", 0)) as ear:
            plugs = SilentPlugs(ear.getsockname(), ["127.0.66.1"], 3,
                                lambda _: None)
            self.addCleanup(plugs.close)
            for _ in range(3):
                ear.accept()[0].close()
            for _ in range(3):  # once again
                plug, source = ear.accept()
                self.addCleanup(plug.close)
                self.assertEqual(source[0], "127.0.66.1")


class Plan(unittest.TestCase):
    def test_the_seed_alone_gives_the_plan(self):
        first, again, other = (
            [(begin, end, str(fault)) for begin, end, fault in plan(seed, 600)]
            for seed in (1, 1, 2))
        self.assertEqual(first, again)
        self.assertNotEqual(first, other)

    def test_three_minutes_have_faults_of_all_kinds(self):
        planned = plan(1, 180)
        self.assertEqual({f.kind for _, _, f in planned},
                         {f.kind for f in FAULTS})
        self.assertLessEqual(max(end for _, end, _ in planned),
                             180 - MARGIN_S)

    def test_no_two_faults_disturb_the_same_thing_at_a_time(self):
        planned = plan(3, 3600)
        for i, (begin, end, fault) in enumerate(planned):
            for other_begin, _, other in planned[i + 1:]:
                if other_begin < end:
                    self.assertFalse(set(fault.holds) & set(other.holds),
                                     f"{fault} and {other} at {begin}")

    def test_an_hour_leaves_long_lives_at_its_end(self):
        late = [f for begin, _, f in plan(1, 3600)
                if begin > 1900 and (f.ends_programs or f.is_hostile)]
        self.assertEqual(late, [])


if __name__ == "__main__":
    unittest.main()
