"""After SIGTERM each program exits with status 0, whatever it is waiting for,
and loses nothing that it acknowledged. tests/bench/limits_bench.py says how
long that takes."""
import contextlib
import pathlib
import signal
import socket
import sqlite3
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))

from harness import (BIN, PATIENCE_S, Aggregator,  # noqa: E402
                     Driver, Folder, Machine, Program, agent, eventually,
                     kubeconfig)
from stored import runs_of  # noqa: E402

AGENTS = 20


class Shutdown(unittest.TestCase):
    def setUp(self):
        self.folder = Folder()
        self.addCleanup(self.folder.close)
        self.machine = Machine(self.folder.path / "m")
        self.addCleanup(self.machine.close)

    def start_aggregator(self):
        return self.folder.add(Aggregator(self.folder.path)).start()

    def start_agents(self, aggregator, count=1):
        driver = Driver([self.machine]).start()
        self.addCleanup(driver.stop)
        agents = [self.folder.add(agent(
            self.folder.path, f"node-{i}", [aggregator.url],
            *self.machine.agent_flags(), interval="100ms")).start()
            for i in range(count)]
        eventually("all agents report", lambda: len(
            aggregator.json("/v1/nodes")["nodes"]) == count)
        return agents

    def assert_stops(self, program):
        self.assertEqual(program.stop(), 0, program.log())

    def test_an_agent_whose_aggregator_hangs(self):
        aggregator = self.start_aggregator()
        sender, = self.start_agents(aggregator)
        aggregator.process.send_signal(signal.SIGSTOP)
        self.addCleanup(aggregator.process.send_signal, signal.SIGCONT)
        self.assert_stops(sender)

    def test_an_agent_whose_aggregator_was_killed(self):
        aggregator = self.start_aggregator()
        sender, = self.start_agents(aggregator)
        aggregator.kill()
        self.assert_stops(sender)

    def test_an_agent_sends_its_last_reports(self):
        aggregator = self.start_aggregator()

        def all_sent():
            """False if this machine was too slow: an agent waits three
            seconds."""
            agents = self.start_agents(aggregator, 3)
            for sender in agents:
                self.assert_stops(sender)
            return all(left == 0 for sender in agents
                       for _, left, _ in list(runs_of(sender).values())[-1:])
        eventually("agents stop with nothing left", all_sent)

    def test_an_agent_waits_for_a_slow_disk(self):
        """Without the agent, reports that are received and not stored would be
        lost."""
        aggregator = self.start_aggregator()

        def waits():
            """False if this test was too slow: the agent waits three
            seconds."""
            (self.folder.path / "agent-node-0.log").unlink(missing_ok=True)
            sender, = self.start_agents(aggregator)
            with contextlib.closing(sqlite3.connect(
                    aggregator.db, isolation_level=None)) as database:
                database.execute(f"PRAGMA busy_timeout = {PATIENCE_S * 1000}")
                database.execute("BEGIN IMMEDIATE")
                sender.wait_log("aggregator has not stored reports yet")
                sender.process.send_signal(signal.SIGTERM)
                sender.wait_log("stopping")
                database.execute("ROLLBACK")
            self.assertEqual(sender.process.wait(PATIENCE_S), 0)
            return "not_stored=0" in sender.log()
        eventually("an agent stops with nothing left", waits)

    def test_an_aggregator_under_load_leaves_an_empty_wal(self):
        aggregator = self.start_aggregator()
        self.start_agents(aggregator, AGENTS)
        self.assert_stops(aggregator)
        wal = pathlib.Path(f"{aggregator.db}-wal")
        self.assertFalse(wal.exists() and wal.stat().st_size)
        with contextlib.closing(sqlite3.connect(aggregator.db)) as database:
            self.assertEqual(database.execute(
                "PRAGMA quick_check").fetchone(), ("ok",))

    def test_an_aggregator_with_clients_that_never_finish(self):
        aggregator = self.start_aggregator()
        self.start_agents(aggregator, 3)
        for port in aggregator.ports * 5:
            plug = socket.create_connection(("127.0.0.1", port), PATIENCE_S)
            self.addCleanup(plug.close)
            plug.sendall(b"GET /v1/nodes HTTP/1.1\r\nX: ")
        self.assert_stops(aggregator)

    def test_a_scheduler_whose_api_server_is_silent(self):
        with socket.create_server(("127.0.0.1", 0)) as silent:
            port = silent.getsockname()[1]
            scheduler = self.folder.add(Program(
                self.folder.path, "scheduler", [
                    BIN / "plimsoll-scheduler", "--kubeconfig",
                    kubeconfig(self.folder.path, f"https://127.0.0.1:{port}"),
                    "--http", "127.0.0.1:0", "--aggregator",
                    f"tcp://127.0.0.1:{port}"])).start()
            scheduler.wait_log("scheduler started")
            self.assert_stops(scheduler)


if __name__ == "__main__":
    unittest.main()
