"""An aggregator without the aggregator's program: it knows idle nodes, and asks
the scheduler that leads.

nng's request and reply over TCP (SP), and protobuf, by their documents alone."""
import json
import queue
import socket
import struct
import threading

from harness import eventually
from protobuf import fields
from wire_peer import pack, varint

GREETING = b"\0SP\0\0\x31\0\0"  # of protocol REP
HOLD_S = 1  # of requests without news
AGAIN_S = 5  # until a question is asked again
GIB = 1 << 30
# Numbers of the kinds in Request and in Reply, by proto/plimsoll.proto.
HELLO, SNAPSHOT, DECISIONS, PROFILE, MOVES, LIST, PARK, ANSWER = (
    1, 3, 4, 5, 6, 7, 8, 9)
WELCOME, ACK, A_SNAPSHOT, REFUSED, A_PROFILE, A_LIST, QUESTION, ANSWER_ACK = (
    1, 2, 3, 4, 5, 6, 7, 8)
KINDS = {"placement": 0, "plan": 1}
KVM_OK = 1


class Answer(Exception):
    """An answer that is no status: why."""

    def __init__(self, status, sentence):
        super().__init__(f"{status}: {sentence}")
        self.status, self.sentence = status, sentence


def idle(name):
    """A NodeLoad of 16 cores and 32 GiB, of which little is in use."""
    figures = {16: 16, 17: 1, 18: 1, 19: 1, 22: 0, 40: 32 * GIB, 41: 30 * GIB,
               45: 0, 55: 0}
    return pack((1, name), (2, 0), (3, 2000), (4, KVM_OK)) + b"".join(
        varint(number << 3 | 1) + struct.pack("<d", value)
        for number, value in figures.items())


class QuestionPeer:
    """is_old: it knows no questions, as older aggregators do. nodes: their
    names."""

    def __init__(self, is_old=False, nodes=()):
        self.is_old, self.refused, self.nodes = is_old, 0, nodes
        self.revision = 0
        self.terms = []  # of the requests that were parked
        self.rebalance = None, None  # mode and why of the last of them
        self.questions, self.answers = queue.Queue(), {}
        self.answered = threading.Condition()
        self.count = 0
        self.is_closed = threading.Event()
        self.ear = socket.create_server(("127.0.0.1", 0))
        self.url = f"tcp://127.0.0.1:{self.ear.getsockname()[1]}"
        threading.Thread(target=self.listen, daemon=True).start()

    def close(self):
        self.is_closed.set()
        self.ear.close()

    def listen(self):
        while not self.is_closed.is_set():
            try:
                plug, _ = self.ear.accept()
            except OSError:
                return
            threading.Thread(target=self.talk, args=(plug,),
                             daemon=True).start()

    def talk(self, plug):
        with plug:
            try:
                plug.sendall(GREETING)
                take(plug, len(GREETING))
                while not self.is_closed.is_set():
                    size, = struct.unpack(">Q", take(plug, 8))
                    message = take(plug, size)
                    reply = message[:4] + self.reply(fields(message[4:]))
                    plug.sendall(struct.pack(">Q", len(reply)) + reply)
            except OSError:
                pass

    def reply(self, request):
        (kind, values), = request.items()
        if kind == HELLO:
            return pack((WELCOME, pack((1, "peer"))))
        if kind == SNAPSHOT:
            self.is_closed.wait(HOLD_S if self.revision else 0)
            self.revision += 1
            return pack((A_SNAPSHOT, pack(
                (1, 1), (2, self.revision), (4, 1),
                *((3, idle(name)) for name in self.nodes))))
        if kind in (DECISIONS, MOVES):
            return pack((ACK, pack((1, 1))))
        if kind == PROFILE:
            return pack((A_PROFILE, b""))
        if kind == LIST:
            return pack((A_LIST, b""))
        if self.is_old:
            self.refused += 1
            return pack((REFUSED, pack((1, "unknown kind of request"))))
        if kind == PARK:
            return self.park(fields(values[0]))
        return self.take_answer(fields(values[0]))

    def park(self, request):
        self.terms.append(request[1][0])
        self.rebalance = tuple(request.get(number, [b""])[0].decode("ascii")
                               for number in (3, 4))
        try:
            question = self.questions.get(timeout=HOLD_S)
        except queue.Empty:
            question = b""
        return pack((QUESTION, question))

    def take_answer(self, part):
        with self.answered:
            status, body = self.answers.get(part[1][0], (0, b""))
            body = body[:part.get(4, [0])[0]] + part.get(5, [b""])[0]
            status = 0 if part.get(6, [0])[0] else part[3][0]
            self.answers[part[1][0]] = status, body
            self.answered.notify_all()
        return pack((ANSWER_ACK, pack((1, 1))))

    def ask(self, kind, spec, namespace="default", is_visible=True):
        """The status that answers the spec. Raises Answer for others."""
        with self.answered:
            self.count += 1
            number = self.count
        question = pack(
            (1, number), (2, KINDS[kind]), (3, namespace),
            (4, int(is_visible)), (5, json.dumps(spec)))

        def is_answered():
            """A scheduler that has ended may have taken the question."""
            self.questions.put(question)
            with self.answered:
                return self.answered.wait_for(
                    lambda: self.answers.get(number, (0,))[0], AGAIN_S)
        eventually(f"somebody answers {spec}", is_answered)
        status, body = self.answers[number]
        if status != 200:
            raise Answer(status, body.decode())
        return json.loads(body)


def take(plug, size):
    data = b""
    while len(data) < size:
        more = plug.recv(size - len(data))
        if not more:
            raise OSError("closed")
        data += more
    return data
