"""Which tests that failed run a second time, and what is said of them.

A test that fails may have found an error of the program, or a busy machine. It
runs again, alone, when the other tests of its stage have ended. A test that
passes then is unsteady: it counts as passed, the stage names it, and its first
output is kept in build/ci/unsteady. CONTRIBUTING.md says what to do about it.

Some failures are never the machine's: run_tests.py asks final_reason()."""
import pathlib
import re

# A stage with more failures than this has no second chance.
MOST = 2
FOLDER = pathlib.Path("build/ci/unsteady")

# Each pattern in the output of a failed test, with its name.
FINAL = (
    (r"LeakSanitizer: ", "a leak"),
    (r"(Address|Thread|UndefinedBehavior)Sanitizer|: runtime error: ",
     "a sanitizer report"),
    (r"^an exception in a thread:|: an exception in a thread:",
     "an exception in a thread"),
    # cmocka's words, those of harness.Program, and glibc's
    (r"Test failed with exception: |\bended with -(4|6|7|8|11)\b"
     r"|Assertion .* failed|\*\*\* .* (detected|terminated)", "a crash"),
    (r"^steady: ", "the test is marked steady"),
)

# A unit test says so in C: STEADY("reason"); see tests/support/cm.h.
STEADY_IN_C = re.compile(r'^STEADY\("', re.M)


def final_reason(code, output, source=None):
    """Why a failed test gets no second chance, or None. code: its exit status,
    negative for a signal; output: all that it printed; source: its C file."""
    if code < 0:
        return "a crash"
    for pattern, reason in FINAL:
        if re.search(pattern, output, re.M):
            return reason
    if source and STEADY_IN_C.search(pathlib.Path(source).read_text()):
        return "the test is marked steady"
    return None


def keep_output(title, output):
    """Keeps the first output of an unsteady test; the file's path."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    path = FOLDER / (re.sub(r"[^\w.-]+", "-", title) + ".txt")
    path.write_text(output)
    return path
