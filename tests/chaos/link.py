"""Proxies between programs that cut and delay connections, and keep what the
aggregator acknowledged."""
import asyncio
import ssl
import threading

from protobuf import fields, varint

# Each side of a connection of nng begins with this header.
HEADER_BYTES = 8
PIECE_BYTES = 65536
SEQ_TAG = 0x08  # field 1 of a Report, a varint; field 1 is always first
BATCH, DECISIONS = 2, 4  # of a Request
ACK = 2  # of a Reply
STORED = 1


class Acknowledged:
    """The reports and decisions that replies of the aggregator call stored. The
    thread of the links writes; all others read."""

    def __init__(self):
        self.reports = {}  # (node, run) -> seqs
        self.newest = {}   # (node, run) -> the last seq that was sent
        self.decisions = set()  # (pod uid, ms since 1970)

    def note_sent(self, batch):
        node, run, seqs = batch
        key = node, run
        self.newest[key] = max([self.newest.get(key, 0), *seqs])

    def note_stored(self, batch):
        node, run, seqs = batch
        self.reports.setdefault((node, run), set()).update(seqs)

    def count(self):
        return sum(map(len, list(self.reports.values())))


def batch_of(data):
    """(node, run, seqs) of a Batch."""
    batch = fields(data)
    reports = batch.get(4, [])
    assert all(report[0] == SEQ_TAG for report in reports)
    return (batch[1][0].decode(), batch[2][0].hex(),
            [varint(report, 1)[0] for report in reports])


def decisions_of(data):
    return {(one[3][0].decode(), one[4][0] // 1000)
            for one in map(fields, fields(data).get(1, []))}


class Frames:
    """The messages in one direction of a connection of nng: (id, body)."""

    def __init__(self):
        self.data, self.has_header = bytearray(), False

    def feed(self, piece):
        self.data += piece
        if not self.has_header and len(self.data) >= HEADER_BYTES:
            del self.data[:HEADER_BYTES]
            self.has_header = True
        while self.has_header and len(self.data) >= 8:
            size = int.from_bytes(self.data[:8], "big")
            if len(self.data) < 8 + size:
                break
            message = bytes(self.data[8:8 + size])
            del self.data[:8 + size]
            yield message[:4], message[4:]


class Tap:
    """Reads one connection: which request each reply answers."""

    def __init__(self, acknowledged):
        self.acknowledged = acknowledged
        self.requests, self.replies = Frames(), Frames()
        self.waiting = {}

    def request(self, piece):
        for number, body in self.requests.feed(piece):
            request = fields(body)
            if BATCH in request:
                batch = batch_of(request[BATCH][0])
                self.acknowledged.note_sent(batch)
                self.waiting[number] = BATCH, batch
            elif DECISIONS in request:
                self.waiting[number] = (
                    DECISIONS, decisions_of(request[DECISIONS][0]))

    def reply(self, piece):
        for number, body in self.replies.feed(piece):
            reply = fields(body)
            kind, content = self.waiting.pop(number, (None, None))
            ack = fields(reply.get(ACK, [b""])[0])
            if ack.get(1) != [STORED] or ack.get(2, [0])[0]:
                continue
            if kind == BATCH:
                self.acknowledged.note_stored(content)
            elif kind == DECISIONS:
                self.acknowledged.decisions |= content


class Link:
    """Listens on a port of its own and forwards to `port`. With TLS contexts
    it ends TLS on both sides and can therefore read what passes."""

    def __init__(self, port, acknowledged=None, server=None, client=None):
        self.to_port, self.acknowledged = port, acknowledged
        self.server, self.client = server, client
        self.is_cut, self.delay_s = False, 0.0
        self.count = self.stalled = 0  # connections, in the order they began
        self.writers = set()
        self.listener = self.port = None

    async def listen(self):
        self.listener = await asyncio.start_server(
            self.serve, "127.0.0.1", 0, ssl=self.server)
        self.port = self.listener.sockets[0].getsockname()[1]

    async def serve(self, reader, writer):
        if self.is_cut:
            writer.transport.abort()
            return
        self.count += 1
        pair, number = [writer], self.count
        self.writers.add(writer)
        try:
            up_reader, up_writer = await asyncio.open_connection(
                "localhost", self.to_port, ssl=self.client)
            pair.append(up_writer)
            self.writers.add(up_writer)
            tap = self.acknowledged and Tap(self.acknowledged)
            await self.pump_both(
                self.pump(number, reader, up_writer, tap and tap.request),
                self.pump(number, up_reader, writer, tap and tap.reply))
        except OSError:
            pass  # ssl.SSLError too: one of the peers is gone
        finally:
            for one in pair:
                self.writers.discard(one)
                one.transport.abort()

    @staticmethod
    async def pump_both(*pumps):
        """Until one of them ends."""
        tasks = [asyncio.ensure_future(pump) for pump in pumps]
        done, waiting = await asyncio.wait(
            tasks, return_when=asyncio.FIRST_COMPLETED)
        for task in waiting:
            task.cancel()
        await asyncio.gather(*waiting, return_exceptions=True)
        for task in done:
            task.result()

    async def pump(self, number, reader, writer, note):
        while True:
            piece = await reader.read(PIECE_BYTES)
            if not piece:
                return
            if number <= self.stalled:
                continue
            if note:
                note(piece)
            if self.delay_s:
                await asyncio.sleep(self.delay_s)
            writer.write(piece)
            await writer.drain()

    def stall(self):
        """Nothing passes on the connections of now any more. They stay open,
        as when a host is gone without a word."""
        self.stalled = self.count

    def end_connections(self):
        for writer in list(self.writers):
            writer.transport.abort()


class Links:
    """The thread in which all links run."""

    def __init__(self):
        self.loop = asyncio.new_event_loop()
        self.errors = []
        self.loop.set_exception_handler(self.note_error)
        self.links = []
        self.thread = threading.Thread(target=self.loop.run_forever,
                                       daemon=True)
        self.thread.start()

    def note_error(self, _loop, context):
        """A peer that is gone is no error; what remains is one in here."""
        error = context.get("exception")
        if error is not None and not isinstance(error, OSError):
            self.errors.append(f"{context['message']}: {error!r}")

    def add(self, *arguments, **options):
        link = Link(*arguments, **options)
        asyncio.run_coroutine_threadsafe(link.listen(), self.loop).result(10)
        self.links.append(link)
        return link

    def call(self, function, *arguments):
        """Calls a function in the thread of the links."""
        self.loop.call_soon_threadsafe(function, *arguments)

    def cut(self, link):
        """Ends all connections and lets no new one begin."""
        link.is_cut = True
        self.call(link.end_connections)

    async def end_all(self):
        for link in self.links:
            link.listener.close()
            link.is_cut = True
            link.end_connections()
        rest = asyncio.all_tasks() - {asyncio.current_task()}
        for task in rest:
            task.cancel()
        await asyncio.gather(*rest, return_exceptions=True)

    def close(self):
        asyncio.run_coroutine_threadsafe(self.end_all(), self.loop).result(10)
        self.call(self.loop.stop)
        self.thread.join(10)
        self.loop.close()


def server_context(keys, name="aggregator"):
    """For the side of agents, which must show a certificate."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.verify_mode = ssl.CERT_REQUIRED
    context.load_verify_locations(keys / "clients-ca.crt")
    load(context, keys, name)
    return context


def client_context(keys, name="agent"):
    context = ssl.create_default_context(cafile=keys / "servers-ca.crt")
    load(context, keys, name)
    return context


def load(context, keys, name):
    """New connections use this certificate from now on."""
    context.load_cert_chain(keys / f"{name}.crt", keys / f"{name}.key")
