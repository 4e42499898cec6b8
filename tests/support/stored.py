"""Reads an aggregator's database and compares it with what the agents logged
when they stopped.

The code follows the description of chunks and columns in the aggregator's
headers chunk.h and column.h, and uses none of the program's code."""
import re
import sqlite3
import zlib

from protobuf import fields

STOPPED = re.compile(r'"stopped" run="(\w+)" reports=(\d+) '
                     r'not_stored=(\d+) dropped=(\d+)')
UNKNOWN = 2**64 - 1
BLOCK = 64


class Bytes:
    """The rest of a chunk or column."""

    def __init__(self, data):
        self.data, self.at = data, 0

    def take(self, size):
        part = self.data[self.at:self.at + size]
        assert len(part) == size, "a chunk ends too early"
        self.at += size
        return part

    def varint(self):
        value = shift = 0
        while True:
            byte, = self.take(1)
            value |= (byte & 127) << shift
            shift += 7
            if byte < 128:
                return value

    def block(self, count):
        width, = self.take(1)
        least = self.varint()
        least = least >> 1 ^ -(least & 1)
        packed = int.from_bytes(self.take((width * count + 7) // 8), "little")
        return [least + (packed >> i * width & (1 << width) - 1)
                for i in range(count)]

    def column(self, count, bitmaps):
        """bitmaps: those of this stream so far. The column may add one."""
        mode, = self.take(1)
        if mode == 0:
            return [(self.varint() - 1) % 2**64] * count
        presence, transform = (mode - 1) % 3, (mode - 1) // 3
        divisor, first = self.varint(), self.varint()
        if presence == 1:
            bitmaps.append(self.take((count + 7) // 8))
        known = [presence == 0 or bitmaps[-1][i // 8] >> i % 8 & 1
                 for i in range(count)]
        left, numbers = sum(map(bool, known)), []
        while left > 0:
            numbers += self.block(min(left, BLOCK))
            left -= BLOCK
        for _ in range(transform):
            for i in range(1, len(numbers)):
                numbers[i] += numbers[i - 1]
        values = iter([(first + divisor * n) % 2**64 for n in numbers])
        return [next(values) if is_known else UNKNOWN for is_known in known]


def chunk_seqs(body):
    """(run, seq) of each report in a chunk."""
    assert body[0] in (1, 2, 3)
    assert int.from_bytes(body[1:5], "little") == zlib.crc32(body[5:])
    data = Bytes(body[5:])
    count = data.varint()
    runs = [data.take(16).hex() for _ in range(data.varint())]
    for _ in range(data.varint()):  # boot ids
        data.take(data.varint())
    data.varint(), data.varint()  # sizes of huge pages
    columns, bitmaps = Bytes(data.take(data.varint())), []
    run = columns.column(count, bitmaps)
    columns.column(count, bitmaps)  # boot id
    columns.column(count, bitmaps)  # sample_ms
    seq = columns.column(count, bitmaps)
    return [(runs[r], s) for r, s in zip(run, seq)]


def stored_seqs(db):
    """{(node, run): the seqs in the database, sorted, with duplicates}"""
    found = {}
    connection = sqlite3.connect(f"file:{db}?mode=ro", uri=True)
    connection.execute("BEGIN")  # the aggregator turns rows into chunks
    for name, run, seq in connection.execute(
            "SELECT name, hex(run_id), seq FROM head"
            " JOIN run ON run.id = head.run JOIN node ON node.id = run.node"):
        found.setdefault((name, run.lower()), []).append(seq)
    tables = connection.execute(
        "SELECT name FROM sqlite_schema WHERE type = 'table'"
        " AND name GLOB 'raw_[0-9]*'").fetchall()
    for table, in tables:
        for name, body in connection.execute(
                f"SELECT name, body FROM {table}"
                f" JOIN node ON node.id = {table}.node"):
            for run, seq in chunk_seqs(body):
                found.setdefault((name, run), []).append(seq)
    connection.close()
    return {key: sorted(seqs) for key, seqs in sorted(found.items())}


def chunks(db):
    """How many chunks the database has."""
    connection = sqlite3.connect(f"file:{db}?mode=ro", uri=True)
    tables = connection.execute(
        "SELECT name FROM sqlite_schema WHERE type = 'table'"
        " AND name GLOB 'raw_[0-9]*'").fetchall()
    count = sum(connection.execute(f"SELECT count(*) FROM {table}")
                .fetchone()[0] for table, in tables)
    connection.close()
    return count


def runs_of(program):
    """{run: (reports, not stored, dropped)} from the last log line of each."""
    return {run: (int(made), int(left), int(dropped)) for
            run, made, left, dropped in STOPPED.findall(program.log())}


def assert_complete(case, aggregator, agents):
    """Fails unless every report of every run is stored exactly once. An agent
    that stops waits three seconds for the aggregator, which may be too short on
    a busy machine: the reports that it says are not stored may be there."""
    stored = stored_seqs(aggregator.db)
    for program in agents:
        name = program.name.removeprefix("agent-")
        runs = runs_of(program)
        case.assertTrue(runs, program.log()[-2000:])
        for run, (made, left, dropped) in runs.items():
            case.assertEqual(dropped, 0, program.log())
            seqs = stored.pop((name, run))
            case.assertGreaterEqual(len(seqs), made - left)
            case.assertLessEqual(len(seqs), made)
            case.assertEqual(seqs, list(range(1, len(seqs) + 1)))
    case.assertEqual(stored, {})


def waiting(db):
    """How many reports wait to be sent by remote write."""
    connection = sqlite3.connect(f"file:{db}?mode=ro", uri=True)
    count, = connection.execute("SELECT count(*) FROM outbox_shard").fetchone()
    connection.close()
    return count


def stored_samples(db):
    """{labels: {ms: value}}: some figures of each report that is still a row,
    as remote write sends them."""
    found = {}

    def put(name, at, value, **labels):
        key = tuple(sorted({"__name__": name, **labels}.items()))
        found.setdefault(key, {})[at] = value

    connection = sqlite3.connect(f"file:{db}?mode=ro", uri=True)
    for node, at, body in connection.execute(
            "SELECT name, sample_ms, body FROM head"
            " JOIN run ON run.id = head.run JOIN node ON node.id = run.node"):
        report = fields(body)
        cpu, memory = fields(report[6][0]), fields(report[9][0])
        for mode, number in (("user", 4), ("idle", 7)):
            put("plimsoll_node_cpu_seconds_total", at, cpu[number][0] / 1e6,
                node=node, mode=mode)
        put("node_memory_MemAvailable_bytes", at, memory[3][0], node=node)
        put("plimsoll_node_cpu_cores", at, cpu[2][0], node=node)
        for pod in map(fields, report.get(16, [])):
            labels = {"node": node, "pod_uid": pod[1][0].decode()}
            put("container_cpu_usage_seconds_total", at, pod[3][0] / 1e6,
                **labels)
            if 7 in pod:  # not in every report
                put("container_memory_usage_bytes", at, pod[7][0], **labels)
    connection.close()
    return found
