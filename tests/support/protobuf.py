"""Reads protobuf messages and snappy blocks without the program's own code."""
import struct


def varint(data, at):
    value = shift = 0
    while True:
        byte = data[at]
        at += 1
        value |= (byte & 127) << shift
        shift += 7
        if byte < 128:
            return value, at


def fields(data):
    """{number: [values]}. An embedded message is bytes."""
    found, at = {}, 0
    while at < len(data):
        tag, at = varint(data, at)
        number, kind = tag >> 3, tag & 7
        if kind == 0:
            value, at = varint(data, at)
        elif kind == 1:
            value, at = struct.unpack_from("<d", data, at)[0], at + 8
        elif kind == 2:
            size, at = varint(data, at)
            assert at + size <= len(data), "a message ends too early"
            value, at = data[at:at + size], at + size
        else:
            raise AssertionError(f"a field of kind {kind}")
        found.setdefault(number, []).append(value)
    return found


def unsnap(data):
    """The content of a snappy block (google/snappy, format_description.txt)."""
    size, at = varint(data, 0)
    out = bytearray()
    while at < len(data):
        tag = data[at]
        at += 1
        if tag & 3 == 0:
            length = tag >> 2
            if length >= 60:
                extra = length - 59
                length = int.from_bytes(data[at:at + extra], "little")
                at += extra
            out += data[at:at + length + 1]
            at += length + 1
            continue
        if tag & 3 == 1:
            length, far = (tag >> 2 & 7) + 4, (tag >> 5) << 8 | data[at]
            at += 1
        else:
            width = 2 if tag & 3 == 2 else 4
            length = (tag >> 2) + 1
            far = int.from_bytes(data[at:at + width], "little")
            at += width
        for _ in range(length):
            out.append(out[-far])
    assert len(out) == size
    return bytes(out)


def write_request(body):
    """[(pairs of labels in their order, [(ms, value) ...])] of a remote write
    request."""
    series = []
    for packed in fields(unsnap(body)).get(1, []):
        one = fields(packed)
        labels = []
        for label in map(fields, one.get(1, [])):
            labels.append((label[1][0].decode(), label[2][0].decode()))
        samples = [(sample.get(2, [0])[0], sample.get(1, [0.0])[0])
                   for sample in map(fields, one.get(2, []))]
        series.append((tuple(labels), samples))
    return series
