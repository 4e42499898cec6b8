"""TLS between agents and the aggregator: who is who, who is refused with which
words, and new certificates while reports come in."""
import pathlib
import subprocess
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))

from harness import (BIN, Aggregator, Driver, Folder, Machine,  # noqa: E402
                     Program, agent, eventually)
from secure import SecureAggregator, certs, client_flags  # noqa: E402
from stored import assert_complete, stored_seqs  # noqa: E402


class Secure(unittest.TestCase):
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
        program.wait_log(f'no connection to the aggregator.* why="[^"]*{why}',
                         10)
        self.assertNotIn('"connected"', program.log())
        self.assertEqual(stored_seqs(aggregator.db), {})


class Connections(Secure):
    def test_an_agent_over_mutual_tls_is_stored(self):
        aggregator = self.start_aggregator()
        program = self.start_agent(aggregator.url, *self.flags())
        eventually("five reports are stored", lambda: len(
            stored_seqs(aggregator.db).popitem()[1]) >= 5
            if stored_seqs(aggregator.db) else False)
        self.assertEqual(program.stop(), 0)
        aggregator.stop()
        assert_complete(self, aggregator, [program])

    def test_an_agent_that_dials_an_address_says_whom_it_wants(self):
        aggregator = self.start_aggregator()
        self.start_agent(
            f"tls+tcp://127.0.0.1:{aggregator.ports[0]}",
            *self.flags(), "--tls-server-name", "plimsoll-aggregator")
        eventually("it is stored", lambda: stored_seqs(aggregator.db))

    def test_an_aggregator_of_another_authority_is_refused(self):
        aggregator = self.start_aggregator()
        other = self.folder.path / "other"
        certs("new", other)
        flags = client_flags(self.keys, trusts=other)
        self.assert_refused(
            aggregator, self.start_agent(aggregator.url, *flags),
            "certificate is not of an authority we trust")

    def test_an_agents_certificate_does_not_make_an_aggregator(self):
        """Ours would not even offer it, so somebody else's server does."""
        aggregator = self.start_aggregator()
        self.assertEqual(aggregator.stop(), 0)  # its port is free again
        imposter = self.folder.add(Program(self.folder.path, "imposter", [
            "openssl", "s_server", "-www", "-accept",
            f"127.0.0.1:{aggregator.ports[0]}",
            "-cert", self.keys / "agent.crt", "-key", self.keys / "agent.key"])
            ).start()
        imposter.wait_log("ACCEPT", 10)
        self.assert_refused(
            aggregator, self.start_agent(aggregator.url, *self.flags()),
            "certificate is not of an authority we trust")
        self.assertIn("alert", imposter.log())

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
            "wants a certificate of ours")

    def test_an_agent_of_another_authority_is_refused(self):
        aggregator = self.start_aggregator()
        other = self.folder.path / "other"
        certs("new", other)
        flags = client_flags(other, trusts=self.keys)
        self.assert_refused(
            aggregator, self.start_agent(aggregator.url, *flags),
            "does not accept our certificate")
        aggregator.wait_log("peers could not connect.*TLS handshake", 15)

    def test_a_plain_agent_is_refused_by_an_aggregator_with_tls(self):
        aggregator = self.start_aggregator()
        self.assert_refused(
            aggregator, self.start_agent(
                aggregator.url.removeprefix("tls+")), "wants TLS")

    def test_an_agent_with_tls_takes_no_plain_aggregator(self):
        aggregator = self.folder.add(Aggregator(self.folder.path)).start()
        self.assert_refused(
            aggregator, self.start_agent(
                f"tls+tcp://localhost:{aggregator.ports[0]}", *self.flags()),
            "does not speak TLS")

    def test_an_aggregator_that_is_not_there_is_said_so(self):
        aggregator = self.start_aggregator()
        self.assertEqual(aggregator.stop(), 0)
        self.assert_refused(
            aggregator, self.start_agent(aggregator.url, *self.flags()),
            "the connection was refused")

    def test_a_token_that_cannot_be_read_is_said_and_read_again(self):
        aggregator = self.start_aggregator()
        token = self.folder.path / "token"
        program = self.start_agent(aggregator.url, *self.flags(),
                                   "--token-file", token)
        program.wait_log(f"no token to show .*'{token}'", 10)
        self.assertEqual(stored_seqs(aggregator.db), {})
        token.write_text("abc.def\n")
        eventually("it is stored", lambda: stored_seqs(aggregator.db))
        self.assertNotIn("abc.def", self.folder.logs())


class Flags(unittest.TestCase):
    def test_flags_that_do_not_go_together_are_one_sentence(self):
        for program, *flags, sentence in (
                ("agent", "--aggregator=tls+tcp://a:1", "needs --tls-ca"),
                ("agent", "--aggregator=tcp://a:1", "--tls-ca=x",
                 "does not use the --tls flags"),
                ("agent", "--aggregator=tcp://a:1", "--token-file=x",
                 "over TLS only"),
                ("scheduler", "--aggregator=tls+tcp://a:1",
                 "needs --tls-ca"),
                ("scheduler", "--aggregator=tcp://a:1", "--token-file=x",
                 "over TLS only"),
                ("scheduler", "--http-tls-key=x", "--http-tls-cert")):
            with self.subTest(f"{program} {flags}"):
                done = subprocess.run(
                    [BIN / f"plimsoll-{program}", *flags], timeout=20,
                    capture_output=True, text=True, check=False)
                self.assertEqual(done.returncode, 2)
                self.assertEqual(done.stderr.count("\n"), 1, done.stderr)
                self.assertIn(sentence, done.stderr)


class Rotation(Secure):
    def await_three_more(self, aggregator):
        before = {key: len(seqs) for key, seqs
                  in stored_seqs(aggregator.db).items()}

        def all_grew():
            now, names = stored_seqs(aggregator.db), {}
            for key, seqs in now.items():
                names[key[0]] = names.get(key[0], 0) + len(
                    seqs) - before.get(key, 0)
            return len(names) == 5 and min(names.values()) >= 3
        eventually("three more reports of all five are stored", all_grew, 60)

    def test_new_authorities_and_certificates_lose_no_report(self):
        """As docs/security.md tells it, one program after the other."""
        driver = Driver([self.machine]).start()
        self.addCleanup(driver.stop)
        aggregator = self.start_aggregator()
        agents = [self.start_agent(aggregator.url, *self.flags(),
                                   name=f"node-{i}") for i in range(5)]
        self.await_three_more(aggregator)
        first = (self.keys / "aggregator.crt").read_text()
        for command in ("rotate", "renew", "retire"):
            certs(command, self.keys)
            for program in [aggregator, *agents]:
                self.assertEqual(program.stop(), 0)
                program.start()
                if program is aggregator:
                    # What an agent holds in memory ends with it: it is
                    # restarted when it is connected again.
                    self.await_three_more(aggregator)
            self.await_three_more(aggregator)
        self.assertNotEqual((self.keys / "aggregator.crt").read_text(), first)
        self.assertEqual((self.keys / "servers-ca.crt").read_text().count(
            "BEGIN CERTIFICATE"), 1)
        for program in agents:
            self.assertEqual(program.stop(), 0)
        self.assertEqual(aggregator.stop(), 0)
        assert_complete(self, aggregator, agents)


if __name__ == "__main__":
    unittest.main()
