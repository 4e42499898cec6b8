"""The wall clock of a machine that a test sets, for programs that preload
clock_shift.c."""
import struct

from harness import ROOT

SHIFTS = ROOT / "build/release/tests/e2e/clock_shift.so"
HOUR_S = 3600


class WallClock:
    """The wall clock of one machine: of the programs that are started with
    its environment."""

    def __init__(self, path, ahead_s=0):
        if not SHIFTS.exists():
            raise RuntimeError(f"{SHIFTS} is missing: `make e2e` builds it")
        self.path = path
        self.set(ahead_s)
        self.env = {"LD_PRELOAD": str(SHIFTS), "CLOCK_SHIFT": str(path)}

    def set(self, ahead_s):
        """From now on the clock is so many seconds ahead of all others."""
        now = struct.pack("=q", int(ahead_s * 1e6))
        if self.path.exists():
            with open(self.path, "r+b") as file:
                file.write(now)
        else:
            self.path.write_bytes(now)

    def start(self, program):
        program.env.update(self.env)
        return program.start()
