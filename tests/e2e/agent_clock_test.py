"""A wall clock that is set back while an agent waits."""
import pathlib
import socket
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))

from harness import (PATIENCE_S, Folder, Machine, agent,  # noqa: E402
                     eventually)
from secure import SecureAggregator, certs, client_flags  # noqa: E402
from wall_clock import HOUR_S, WallClock  # noqa: E402

# The greeting of a replier in nng's protocol.
REPLIER = b"\x00SP\x00\x00\x31\x00\x00"


class AgentClock(unittest.TestCase):
    """nng waits by the wall clock: after a jump back it would wait until the
    clock has caught up. This clock begins an hour ahead; no test waits so
    long."""

    def setUp(self):
        self.folder = Folder()
        self.addCleanup(self.folder.close)
        self.machine = Machine(self.folder.path / "machine")
        self.addCleanup(self.machine.close)

    def start_agent(self, name, url, *flags):
        clock = WallClock(self.folder.path / f"{name}-clock", HOUR_S)
        program = self.folder.add(agent(
            self.folder.path, name, [url], *self.machine.agent_flags(),
            *flags))
        return clock, clock.start(program)

    def test_an_agent_stops_waiting_when_its_clock_is_set_back(self):
        clock, dials = self.begin_to_dial()
        other, waits = self.begin_to_wait()
        self.aggregator.start()
        clock.set(0)
        other.set(0)
        with self.subTest("it dials again"):
            dials.wait_log("delivering reports again")
        with self.subTest("it repeats a request that gets no answer"):
            waits.wait_log("request failed, will retry")

    def begin_to_dial(self):
        """An agent that waits until it dials again."""
        keys = self.folder.path / "keys"
        certs("new", keys)
        self.aggregator = self.folder.add(
            SecureAggregator(self.folder.path, keys)).start()
        clock, program = self.start_agent(
            "dials", self.aggregator.url, *client_flags(keys))
        eventually("the agent reports", lambda:
                   self.aggregator.node("dials"))
        self.aggregator.stop()
        program.wait_log("no connection to the aggregator")
        return clock, program

    def begin_to_wait(self):
        """An agent that waits for an answer."""
        with socket.create_server(("127.0.0.1", 0)) as server:
            server.settimeout(PATIENCE_S)
            clock, program = self.start_agent(
                "waits", f"tcp://127.0.0.1:{server.getsockname()[1]}")
            peer = server.accept()[0]
        self.addCleanup(peer.close)
        peer.settimeout(PATIENCE_S)
        peer.sendall(REPLIER)
        while len(peer.recv(1 << 16)) <= len(REPLIER):
            pass  # its greeting, then a request that gets no answer
        return clock, program


if __name__ == "__main__":
    unittest.main()
