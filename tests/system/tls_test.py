"""TLS between agents and the aggregator: which peers are accepted, the error of
each that is refused, and new certificates while agents report."""
import contextlib
import os
import pathlib
import re
import socket
import ssl
import subprocess
import sys
import threading
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))

from harness import (BIN, PATIENCE_S, ROOT, Aggregator, Driver,  # noqa: E402
                     Folder, Machine, Program, agent, eventually, mark)
from ports import free_port  # noqa: E402
from secure import (SecureAggregator, certs,  # noqa: E402
                    client_flags, expiry_of)
from stored import assert_complete, stored_seqs  # noqa: E402


class TlsCase(unittest.TestCase):
    def setUp(self):
        self.folder = Folder()
        self.addCleanup(self.folder.close)
        self.machine = Machine(self.folder.path / "m")
        self.addCleanup(self.machine.close)
        self.keys = self.folder.path / "keys"
        certs("new", self.keys)

    def start_aggregator(self, who="aggregator"):
        return self.folder.add(
            SecureAggregator(self.folder.path, self.keys, who)).start()

    def start_agent(self, url, *flags, name="node-a", interval="200ms"):
        return self.folder.add(agent(
            self.folder.path, name, [url], *self.machine.agent_flags(),
            *flags, interval=interval)).start()

    def flags(self):
        return client_flags(self.keys)

    def assert_refused(self, aggregator, program, why):
        program.wait_log(f'no connection to the aggregator.* err="[^"]*{why}')
        self.assertNotIn('"connected"', program.log())
        self.assertEqual(stored_seqs(aggregator.db), {})


class HangsUp:
    """Ends each connection right after the TLS handshake."""

    def __init__(self, keys):
        self.count = 0
        self.tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self.tls.load_cert_chain(keys / "aggregator.crt",
                                 keys / "aggregator.key")
        self.port = free_port()
        self.listener = socket.create_server(("127.0.0.1", self.port))
        self.thread = threading.Thread(target=self.serve, daemon=True)
        self.thread.start()

    def serve(self):
        while True:
            try:
                plug = self.listener.accept()[0]
            except OSError:
                return
            plug.settimeout(PATIENCE_S)
            with contextlib.suppress(OSError):
                self.tls.wrap_socket(plug, server_side=True).close()
                self.count += 1

    def close(self):
        self.listener.shutdown(socket.SHUT_RDWR)
        self.listener.close()
        self.thread.join()


class Connections(TlsCase):
    @mark(slow="agents wait before they connect again")
    def test_agents_whose_peer_hung_up_after_the_handshake_return(self):
        peer = HangsUp(self.keys)
        agents = [self.start_agent(
            f"tls+tcp://127.0.0.1:{peer.port}", *self.flags(),
            "--tls-server-name", "localhost", name=f"hung-up-{i}")
            for i in range(10)]
        eventually("the peer hung up on all", lambda: peer.count >= 10)
        peer.close()
        aggregator = self.folder.add(
            SecureAggregator(self.folder.path, self.keys))
        aggregator.ports = peer.port, 0, 0
        aggregator.start()
        eventually("all agents report", lambda: len(
            aggregator.json("/v1/nodes")["nodes"]) == len(agents))

    def test_reports_over_mutual_tls_are_stored(self):
        aggregator = self.start_aggregator()
        program = self.start_agent(aggregator.url, *self.flags())
        eventually("five reports are stored", lambda: len(
            stored_seqs(aggregator.db).popitem()[1]) >= 5
            if stored_seqs(aggregator.db) else False)
        self.assertEqual(program.stop(), 0)
        aggregator.stop()
        assert_complete(self, aggregator, [program])

    def test_an_agent_checks_the_server_name_that_it_is_given(self):
        aggregator = self.start_aggregator()
        self.start_agent(
            f"tls+tcp://127.0.0.1:{aggregator.ports[0]}",
            *self.flags(), "--tls-server-name", "plimsoll-aggregator")
        eventually("a report is stored", lambda: stored_seqs(aggregator.db))

    def test_an_aggregator_of_another_authority_is_refused(self):
        aggregator = self.start_aggregator()
        other = self.folder.path / "other"
        certs("new", other)
        flags = client_flags(self.keys, trusts=other)
        self.assert_refused(
            aggregator, self.start_agent(aggregator.url, *flags),
            "certificate is not trusted")

    def test_an_agents_certificate_is_no_aggregators_certificate(self):
        """plimsoll-aggregator would not offer it, so another server does."""
        aggregator = self.start_aggregator()
        self.assertEqual(aggregator.stop(), 0)  # now its port is free
        impostor = self.folder.add(Program(self.folder.path, "impostor", [
            "openssl", "s_server", "-www", "-accept",
            f"127.0.0.1:{aggregator.ports[0]}",
            "-cert", self.keys / "agent.crt", "-key", self.keys / "agent.key"])
            ).start()
        impostor.wait_log("ACCEPT")
        self.assert_refused(
            aggregator, self.start_agent(aggregator.url, *self.flags()),
            "certificate is not trusted")
        self.assertIn("alert", impostor.log())

    def test_an_aggregator_with_another_name_is_refused(self):
        aggregator = self.start_aggregator()
        self.assert_refused(
            aggregator, self.start_agent(
                aggregator.url, *self.flags(), "--tls-server-name",
                "elsewhere"), "or has another name")

    def test_an_agent_without_a_certificate_is_refused(self):
        aggregator = self.start_aggregator()
        self.assert_refused(
            aggregator, self.start_agent(aggregator.url, *self.flags()[:2]),
            "may require a client certificate")

    def test_an_agent_of_another_authority_is_refused(self):
        aggregator = self.start_aggregator()
        other = self.folder.path / "other"
        certs("new", other)
        flags = client_flags(other, trusts=self.keys)
        self.assert_refused(
            aggregator, self.start_agent(aggregator.url, *flags),
            "rejects the client certificate")
        aggregator.wait_log("peers could not connect.*TLS handshake")

    def test_an_agent_without_tls_is_refused_by_an_aggregator_with_tls(self):
        aggregator = self.start_aggregator()
        self.assert_refused(
            aggregator, self.start_agent(
                aggregator.url.removeprefix("tls+")), "may require TLS")

    def test_an_agent_with_tls_refuses_an_aggregator_without_tls(self):
        aggregator = self.folder.add(Aggregator(self.folder.path)).start()
        self.assert_refused(
            aggregator, self.start_agent(
                f"tls+tcp://localhost:{aggregator.ports[0]}", *self.flags()),
            "does not speak TLS")

    def test_an_aggregator_that_does_not_run_is_in_the_log(self):
        aggregator = self.start_aggregator()
        self.assertEqual(aggregator.stop(), 0)
        self.assert_refused(
            aggregator, self.start_agent(aggregator.url, *self.flags()),
            "the connection was refused")

    @mark(slow="an agent waits before it says hello again")
    def test_a_token_that_cannot_be_read_is_logged_and_read_again(self):
        aggregator = self.start_aggregator()
        token = self.folder.path / "token"
        program = self.start_agent(aggregator.url, *self.flags(),
                                   "--token-file", token)
        program.wait_log(f"cannot read the token.*'{token}'")
        self.assertEqual(stored_seqs(aggregator.db), {})
        token.write_text("abc.def\n")
        eventually("a report is stored", lambda: stored_seqs(aggregator.db))
        self.assertNotIn("abc.def", self.folder.logs())


class Flags(unittest.TestCase):
    def test_flags_that_exclude_each_other_are_one_sentence(self):
        for program, *flags, sentence in (
                ("agent", "--aggregator=tls+tcp://a:1", "requires --tls-ca"),
                ("agent", "--aggregator=tcp://a:1", "--tls-ca=x",
                 "the --tls flags require tls+tcp://"),
                ("agent", "--aggregator=tcp://a:1", "--token-file=x",
                 "requires tls+tcp://"),
                ("scheduler", "--aggregator=tls+tcp://a:1",
                 "requires --tls-ca"),
                ("scheduler", "--aggregator=tcp://a:1", "--token-file=x",
                 "requires tls+tcp://"),
                ("scheduler", "--http-tls-key=x", "--http-tls-cert"),
                *((program, "--http-auth=kubernetes", "tokens require TLS")
                  for program in ("aggregator", "scheduler"))):
            with self.subTest(f"{program} {flags}"):
                done = subprocess.run(
                    [BIN / f"plimsoll-{program}", *flags], timeout=PATIENCE_S,
                    capture_output=True, text=True, check=False)
                self.assertEqual(done.returncode, 2)
                self.assertEqual(done.stderr.count("\n"), 1, done.stderr)
                self.assertIn(sentence, done.stderr)


class Rotation(TlsCase):
    def await_three_more(self, aggregator, agents):
        before = {key: len(seqs) for key, seqs
                  in stored_seqs(aggregator.db).items()}

        def all_grew():
            for program in (aggregator, *agents):
                self.assertTrue(program.running(), program.log()[-5000:])
            now, names = stored_seqs(aggregator.db), {}
            for key, seqs in now.items():
                names[key[0]] = names.get(key[0], 0) + len(
                    seqs) - before.get(key, 0)
            return len(names) == 5 and min(names.values()) >= 3
        eventually("three more reports of all five are stored", all_grew)

    def changes(self, programs):
        return [program.log().count("TLS files changed and are in use")
                for program in programs]

    def run_certs(self, command, programs):
        """Waits until each program uses what the script wrote."""
        before = self.changes(programs)
        certs(command, self.keys)
        eventually(f"all use the files of {command}", lambda: all(
            now > old for now, old in zip(self.changes(programs), before)))

    def served_certificate(self, port):
        """The certificate that a new connection gets."""
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
        context.load_cert_chain(self.keys / "agent.crt",
                                self.keys / "agent.key")
        with socket.create_connection(("127.0.0.1", port), PATIENCE_S) as plug:
            with context.wrap_socket(plug) as stream:
                return ssl.DER_cert_to_PEM_cert(stream.getpeercert(True))

    def start_all(self, count=5):
        driver = Driver([self.machine]).start()
        self.addCleanup(driver.stop)
        aggregator = self.folder.add(SecureAggregator(
            self.folder.path, self.keys, "aggregator",
            "--http-tls-cert", self.keys / "aggregator.crt",
            "--http-tls-key", self.keys / "aggregator.key"))
        aggregator.trust = ssl.create_default_context(
            cafile=self.keys / "servers-ca.crt")
        aggregator.start()
        return aggregator, [self.start_agent(
            aggregator.url, *self.flags(), name=f"node-{i}")
            for i in range(count)]

    @mark(slow="the programs look at their files every five seconds")
    def test_new_authorities_and_certificates_lose_no_report(self):
        """As in docs/security.md, and no program restarts."""
        aggregator, agents = self.start_all()
        pids = [program.process.pid for program in [aggregator, *agents]]
        self.await_three_more(aggregator, agents)
        first = (self.keys / "aggregator.crt").read_text()
        for command in ("rotate", "renew", "retire"):
            self.run_certs(command, [aggregator, *agents])
            self.await_three_more(aggregator, agents)
        now = (self.keys / "aggregator.crt").read_text()
        self.assertNotEqual(now, first)
        self.assertEqual((self.keys / "servers-ca.crt").read_text().count(
            "BEGIN CERTIFICATE"), 1)
        for port in aggregator.ports[:2]:
            self.assertEqual(self.served_certificate(port), now)
        eventually("reports of all nodes come", lambda: all(
            node["state"] == "fresh"
            for node in self.https_nodes(aggregator)))
        self.assertEqual(pids, [program.process.pid
                                for program in [aggregator, *agents]])
        self.await_three_more(aggregator, agents)
        for program in agents:
            self.assertEqual(program.stop(), 0)
        self.assertEqual(aggregator.stop(), 0)
        assert_complete(self, aggregator, agents)

    def https_nodes(self, aggregator):
        aggregator.trust = ssl.create_default_context(
            cafile=self.keys / "servers-ca.crt")
        return aggregator.json("/v1/nodes")["nodes"]

    @mark(slow="the programs look at their files every five seconds")
    def test_a_broken_file_keeps_the_old_certificate_and_is_logged_once(self):
        aggregator, agents = self.start_all(1)
        first = (self.keys / "aggregator.crt").read_text()
        (self.keys / "aggregator.crt").write_text(first[:len(first) // 2])
        aggregator.wait_log("cannot use the changed TLS files.*use=\"wire\""
                            ".*aggregator.crt")
        for port in aggregator.ports[:2]:
            self.assertEqual(self.served_certificate(port), first)
        self.run_certs("renew", agents)
        self.assertEqual(aggregator.log().count(
            'cannot use the changed TLS files, keeping the old ones" '
            'use="wire"'), 1)
        now = (self.keys / "aggregator.crt").read_text()
        for port in aggregator.ports[:2]:
            eventually("the new certificate is served",
                       lambda: self.served_certificate(port) == now)

    def test_a_pipe_in_place_of_a_certificate_stops_nothing(self):
        aggregator = self.start_aggregator()
        certificate = self.keys / "aggregator.crt"
        certificate.unlink()
        os.mkfifo(certificate)  # nobody writes into it
        aggregator.wait_log(
            'cannot use the changed TLS files, keeping the old ones" '
            'use="wire" err="[^"]*is not a regular file')
        self.assertEqual(aggregator.health("/healthz")[0], 200)

    def test_the_expiry_of_each_certificate_is_a_metric_and_in_the_log(self):
        subprocess.run(
            ["sh", ROOT / "deploy/certs.sh", "renew", self.keys], check=True,
            env={**os.environ, "DAYS": "20"}, capture_output=True,
            timeout=PATIENCE_S)
        aggregator, agents = self.start_all(1)

        def expiries():
            found = re.findall(
                r"^(plimsoll_\w+_certificate_expiry_timestamp_seconds)"
                r'\{(\w+)="([\w-]+)"\} (\d+)$', aggregator.get(
                    "/metrics")[2], re.M)
            return {(name, label): int(value)
                    for name, _, label, value in found}
        name = "plimsoll_node_certificate_expiry_timestamp_seconds"
        eventually("the agent's expiry is known",
                   lambda: (name, "node-0") in expiries())
        self.assertEqual(expiries()[name, "node-0"],
                         expiry_of(self.keys / "agent.crt"))
        for use in ("wire", "https"):
            at = expiries()["plimsoll_aggregator_certificate_expiry_"
                            "timestamp_seconds", use]
            self.assertEqual(at, expiry_of(self.keys / "aggregator.crt"))
        for program in (aggregator, *agents):
            program.wait_log(
                '"the certificate expires soon".*days=(19|20)\n')


if __name__ == "__main__":
    unittest.main()
