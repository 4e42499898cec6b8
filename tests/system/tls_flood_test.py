"""The floods of flood_test.py with TLS: on the message port and over HTTPS."""
import pathlib
import socket
import ssl
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))

from flood import FloodCase, connect  # noqa: E402
from harness import IS_SANITIZED, PATIENCE_S, Folder  # noqa: E402
from secure import SecureAggregator, certs, client_flags  # noqa: E402

IDLE, HALF = 1000, 200
# A handshake is work for both sides, and more so with a sanitizer, for which
# more connections than the listener holds are enough.
SHAKEN = 250 if IS_SANITIZED else 1000


class TlsCase(FloodCase):
    wrapper = ()  # as of an Aggregator

    @classmethod
    def setUpClass(cls):
        folder = Folder()
        cls.addClassCleanup(folder.close)
        cls.keys = folder.path / "keys"
        certs("new", cls.keys)
        aggregator = folder.add(SecureAggregator(
            folder.path, cls.keys, "aggregator",
            "--http-tls-cert", cls.keys / "aggregator.crt",
            "--http-tls-key", cls.keys / "aggregator.key"))
        aggregator.wrapper = cls.wrapper
        aggregator.trust = cls.trust()
        aggregator.start()
        cls.begin(folder, aggregator, aggregator.url,
                  *client_flags(cls.keys))

    @classmethod
    def trust(cls, who=None):
        context = ssl.create_default_context(
            cafile=cls.keys / "servers-ca.crt")
        if who:
            context.load_cert_chain(cls.keys / f"{who}.crt",
                                    cls.keys / f"{who}.key")
        return context


class TlsFloods(TlsCase):
    def shake_hands(self, flood, port, context):
        """Opens SHAKEN connections that finish the handshake and stay."""
        done = 0
        for _ in range(SHAKEN):
            try:
                plug = socket.create_connection(("127.0.0.1", port),
                                                PATIENCE_S)
                flood.plugs.append(context.wrap_socket(
                    plug, server_hostname="localhost"))
            except OSError:
                continue
            done += 1
        flood.await_watch()
        return done

    def test_1000_connections_to_the_message_port_that_never_begin_tls(self):
        self.flood(lambda flood: flood.hold(self.aggregator.ports[0], IDLE))

    def test_1000_connections_over_https_that_never_begin_tls(self):
        self.flood(lambda flood: flood.hold(self.aggregator.ports[1], IDLE))

    def test_1000_connections_that_send_garbage_instead_of_tls(self):
        self.flood(lambda flood: flood.hold(
            self.aggregator.ports[0], IDLE, b"GET / HTTP/1.1\r\n\r\n"))

    def test_idle_tls_connections_to_the_message_port(self):
        done = []

        def pour(flood):
            done.append(self.shake_hands(
                flood, self.aggregator.ports[0], self.trust("agent")))
        self.flood(pour)
        self.assertGreater(done[0], SHAKEN // 10)

    def test_idle_tls_connections_over_https(self):
        done = []
        self.flood(lambda flood: done.append(self.shake_hands(
            flood, self.aggregator.ports[1], self.trust())))
        self.assertGreater(done[0], SHAKEN // 10)

    def test_200_peers_over_tls_that_stop_in_the_middle_of_a_message(self):
        context = self.trust("agent")
        port = self.aggregator.ports[0]

        def plug_in():
            plug = connect(port)
            return plug and context.wrap_socket(
                plug, server_hostname="localhost")
        self.flood(lambda flood: flood.hold_half_messages(HALF, plug_in))


class FewDescriptors(TlsCase):
    FILES, SILENT = 1200, 1500
    wrapper = ("sh", "-c", f'ulimit -n {FILES} && exec "$@"', "sh")

    def test_silent_connections_leave_descriptors_for_all_listeners(self):
        def pour(flood):
            for _ in range(self.SILENT):
                plug = socket.socket()
                flood.plugs.append(plug)
                plug.bind(("127.0.0.2", 0))
                plug.setblocking(False)
                plug.connect_ex(("127.0.0.1", self.aggregator.ports[0]))
            flood.await_watch()
            self.assertLess(self.files(), self.FILES * 3 // 4)
            self.aggregator.wait_log("peers could not connect.*too many "
                                     "connections")
        self.flood(pour)
        self.assertNotIn("file descriptors", self.aggregator.log())


if __name__ == "__main__":
    unittest.main()
