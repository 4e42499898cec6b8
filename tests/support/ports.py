"""Ports for programs that tests start, also again and again."""
import atexit
import contextlib
import random
import socket

claims = contextlib.ExitStack()  # of the sockets of free_port()
atexit.register(claims.close)


def free_port():
    """A port below those of outgoing connections: none of them can have the
    port of a program that has ended when that program starts again. No test
    gets the port again while this process runs, as it holds the UDP port of
    the same number."""
    while True:
        port = random.randrange(10000, 32000)
        claim = socket.socket(type=socket.SOCK_DGRAM)
        with socket.socket() as probe, contextlib.suppress(OSError):
            claim.bind(("127.0.0.1", port))
            probe.bind(("127.0.0.1", port))
            claims.enter_context(claim)
            return port
        claim.close()
