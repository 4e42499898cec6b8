"""An agent without the agent's program: it sends any report to an aggregator.

nng's request and reply over TCP (SP), and protobuf, by their documents alone."""
import os
import socket
import struct
import urllib.parse

from harness import PATIENCE_S
from protobuf import fields

GREETING = b"\0SP\0\0\x30\0\0"  # of protocol REQ
REQUEST_ID = b"\x80\0\0\1"
STORED = 1  # Ack.state in proto/plimsoll.proto


def varint(value):
    out = bytearray()
    while value > 127:
        out.append(value & 127 | 128)
        value >>= 7
    return bytes(out + bytes([value]))


def pack(*members):
    """A message of (number, value) pairs; a value is a number, text or
    bytes."""
    out = b""
    for number, value in members:
        if isinstance(value, int):
            out += varint(number << 3) + varint(value)
        else:
            data = value.encode() if isinstance(value, str) else value
            out += varint(number << 3 | 2) + varint(len(data)) + data
    return out


def report(seq, at_us, pods):
    """pods: uid -> CPU time in us."""
    return pack((1, seq), (2, "boot"), (3, at_us), (4, at_us), (5, 2000), *(
        (16, pack((1, uid), (2, 1), (3, used_us)))
        for uid, used_us in pods.items()))


class WirePeer:
    """role: as in proto/plimsoll.proto, 0 for an agent."""

    def __init__(self, url, node, role=0):
        at = urllib.parse.urlsplit(url)
        self.node, self.run = node, os.urandom(16)
        self.plug = socket.create_connection((at.hostname, at.port),
                                             PATIENCE_S)
        self.plug.sendall(GREETING)
        self.take(len(GREETING))
        self.request((1, pack((1, node), (2, "test"), (3, self.run),
                              (5, role))))

    def take(self, size):
        data = b""
        while len(data) < size:
            more = self.plug.recv(size - len(data))
            assert more, "the aggregator closed the connection"
            data += more
        return data

    def request(self, member):
        """Sends a request with this member; the members of the reply."""
        body = REQUEST_ID + pack(member)
        self.plug.sendall(struct.pack(">Q", len(body)) + body)
        size, = struct.unpack(">Q", self.take(8))
        return fields(self.take(size)[len(REQUEST_ID):])

    def send(self, now_us, reports):
        """A batch, sent when the node's clock shows now_us. Whether it is
        acknowledged."""
        return 2 in self.batch(now_us, reports)

    def store(self, now_us, reports):
        """The same, again until it is on disk, as an agent does it."""
        while fields(self.batch(now_us, reports)[2][0]).get(1) != [STORED]:
            pass

    def batch(self, now_us, reports):
        return self.request((2, pack(
            (1, self.node), (2, self.run), (3, now_us),
            *((4, one) for one in reports))))

    def close(self):
        self.plug.close()
