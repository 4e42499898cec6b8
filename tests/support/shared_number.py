"""A number that a test sets while a program runs: the other side of
shared_number.h."""
import struct


class SharedNumber:
    """Seconds, in a file that the library maps."""

    def __init__(self, path, seconds=0):
        self.path = path
        self.set(seconds)

    def set(self, seconds):
        now = struct.pack("=q", int(seconds * 1e6))
        if self.path.exists():
            with open(self.path, "r+b") as file:
                file.write(now)
        else:
            self.path.write_bytes(now)
