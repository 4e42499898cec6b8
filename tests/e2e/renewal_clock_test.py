"""Twelve years of certificates in a minute: the clock of all programs jumps to
the day of each renewal, the program of the CronJob runs, and what it writes
reaches the files of an aggregator and an agent. Nothing restarts, and no
certificate is refused."""
import base64
import json
import os
import pathlib
import re
import sys
import unittest
from unittest import mock

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))

from harness import (BIN, PATIENCE_S, Folder, Machine, Program,  # noqa: E402
                     agent, eventually)
from secure import SecureAggregator, certs, expiry_of  # noqa: E402
from tls_server import JsonHandler, serve_tls, write_kubeconfig  # noqa: E402
from wall_clock import WallClock  # noqa: E402

DAY_S = 86400
RENEW_DAYS = 33  # of deploy/components/certificates/cronjob.yaml
EVERY_DAYS = 365 - RENEW_DAYS
YEARS = 12
AGENT = 'plimsoll_node_certificate_expiry_timestamp_seconds{node="node-a"}'
AUTHORITY = "plimsoll_aggregator_authority_expiry_timestamp_seconds"
# File of a program -> Secret and its key.
FILES = {f"{who}.{end}": (f"plimsoll-{who}-tls", f"tls.{end}")
         for who in ("aggregator", "agent") for end in ("crt", "key")} | {
    "clients-ca.crt": ("plimsoll-aggregator-tls", "ca.crt"),
    "servers-ca.crt": ("plimsoll-agent-tls", "ca.crt")}


class Secrets:
    """An API server that knows Secrets alone, and PATCH alone. Its own
    certificate is valid for longer than this test's years."""

    def __init__(self, folder):
        self.data, self.writes = {}, 0
        keys = folder / "api-keys"
        with mock.patch.dict(os.environ, DAYS="9000"):
            certs("new", keys)
        self.server = serve_tls(self.handler_class(), keys)
        self.kubeconfig = write_kubeconfig(
            folder / "secrets.kubeconfig", self.server, keys, "token")

    def handler_class(secrets):  # the handler has a self of its own
        class Handler(JsonHandler):
            def do_PATCH(self):
                size = int(self.headers["Content-Length"])
                patch = json.loads(self.rfile.read(size))
                data = secrets.data.setdefault(
                    self.path.rpartition("/")[2], {})
                data |= {key: base64.b64encode(text.encode()).decode()
                         for key, text in patch.get("stringData", {}).items()}
                secrets.writes += bool(patch)
                self.answer(200, {"metadata": {"resourceVersion": "1"},
                                  "data": data})
        return Handler

    def close(self):
        self.server.shutdown()
        self.server.server_close()


class RenewalClock(unittest.TestCase):
    def setUp(self):
        self.folder = Folder()
        self.addCleanup(self.folder.close)
        self.path = self.folder.path
        self.keys = self.path / "keys"
        self.keys.mkdir()
        self.clock = WallClock(self.path / "clock")
        # For timers, which look at the files.
        self.timers = WallClock(self.path / "timers")
        self.clock.env["MONOTONIC_SHIFT"] = str(self.timers.path)
        self.secrets = Secrets(self.path)
        self.addCleanup(self.secrets.close)
        self.waited_s = 0

    def run_nightly(self):
        """The number of Secrets that the CronJob's program has written."""
        before = self.secrets.writes
        program = self.clock.start(self.folder.add(Program(
            self.path, "certificates", [
                BIN / "plimsoll-scheduler", "certificates", "--kubeconfig",
                self.secrets.kubeconfig, f"--renew-days={RENEW_DAYS}"])))
        self.assertEqual(program.process.wait(PATIENCE_S), 0, program.log())
        return self.secrets.writes - before

    def bring_files(self):
        """As kubelet does, one by one."""
        for name, (secret, key) in FILES.items():
            new = self.keys / "new"
            new.write_bytes(base64.b64decode(self.secrets.data[secret][key]))
            new.rename(self.keys / name)

    def start(self):
        tls = ("--tls-ca", self.keys / "servers-ca.crt",
               "--tls-cert", self.keys / "agent.crt",
               "--tls-key", self.keys / "agent.key")
        self.aggregator = self.clock.start(self.folder.add(
            SecureAggregator(self.path, self.keys)))
        machine = Machine(self.path / "machine")
        self.addCleanup(machine.close)
        self.agent = self.clock.start(self.folder.add(agent(
            self.path, "node-a", [self.aggregator.url],
            *machine.agent_flags(), *tls, interval="100ms")))

    def figure(self, series):
        """A value of the aggregator's /metrics."""
        self.waited_s += 6  # of the programs' timers
        self.timers.set(self.waited_s)
        found = re.search(rf"^{re.escape(series)} (\S+)$",
                          self.aggregator.get("/metrics")[2], re.M)
        return found and float(found.group(1))

    def await_figure(self, series, value):
        eventually(f"{series} is {value}",
                   lambda: self.figure(series) == value)

    def test_certificates_and_authorities_are_renewed_without_a_restart(self):
        self.assertEqual(self.run_nightly(), 5)
        self.bring_files()
        self.start()
        first, renewed = self.authoritys_end(), []
        for year in range(1, YEARS + 1):
            day = year * EVERY_DAYS + 1
            self.clock.set(day * DAY_S)
            renewed.append(self.run_nightly())
            self.bring_files()
            self.await_figure(AGENT, expiry_of(self.keys / "agent.crt"))
            self.clock.set((day + 1) * DAY_S)
            self.assertEqual(self.run_nightly(), 0)
        # Once with both authorities, of which the old one has ended since.
        self.assertEqual(sorted(renewed), [4] * (YEARS - 1) + [5])
        self.assertLess(first, expiry_of(self.keys / "agent.crt") - 365 * DAY_S)
        self.await_figure(AUTHORITY, self.authoritys_end())
        for program in (self.aggregator, self.agent):
            self.assertTrue(program.running())
            for line in ("handshake", "has expired", "expires soon"):
                self.assertNotIn(line, program.log())

    def authoritys_end(self):
        """The newest certificate is the first one of the file."""
        return expiry_of(self.keys / "clients-ca.crt")


if __name__ == "__main__":
    unittest.main()
