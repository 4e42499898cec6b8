"""The wall clock of a machine that a test sets, for programs that preload
clock_shift.c."""
from harness import ROOT
from shared_number import SharedNumber

SHIFTS = ROOT / "build/release/tests/e2e/clock_shift.so"
HOUR_S = 3600


class WallClock(SharedNumber):
    """The wall clock of one machine: of the programs that are started with
    its environment. It is so many seconds ahead of all others."""

    def __init__(self, path, ahead_s=0):
        if not SHIFTS.exists():
            raise RuntimeError(f"{SHIFTS} is missing: `make e2e` builds it")
        super().__init__(path, ahead_s)
        self.env = {"LD_PRELOAD": str(SHIFTS), "CLOCK_SHIFT": str(path)}

    def start(self, program):
        program.env.update(self.env)
        return program.start()
