"""No unit test depends on the machine's speed: each use of the real clock in its
C files is a line of tests/support/real_clock.txt, with the reason."""
import pathlib
import re

ALLOWED = pathlib.Path("tests/support/real_clock.txt")
FOLDERS = ("tests/unit", "tests/support")

# __real_x is what ld's --wrap leaves of x. poll() and select() without a wait
# are allowed.
REAL = re.compile(
    r"\b(__real_(?:clock_\w+|timer_start|uv_now|uv_cond_timedwait)"
    r"|uv_(?:hrtime|clock_gettime|gettimeofday|update_time|sleep|timer_start"
    r"|timer_again|cond_timedwait)"
    r"|clock_gettime|clock_nanosleep|gettimeofday|time|nanosleep|usleep|sleep"
    r"|alarm|ualarm|setitimer|timer_start|timer_settime|timerfd_settime"
    r"|pthread_cond_(?:timed|clock)wait|sem_(?:timed|clock)wait"
    r"|ppoll|pselect|select|epoll_wait|epoll_pwait)\s*\("
    r"|\b(SO_RCVTIMEO|SO_SNDTIMEO|TCP_USER_TIMEOUT|CURLOPT_\w*TIMEOUT\w*)\b"
    r"|\b(poll)\s*\((?![^;]*,\s*0\))")
# A declaration and a definition are no use.
DECLARED = re.compile(r"^(?!return\b|else\b)[a-z][\w ]*[ *]\**\w+\(")


def allowed():
    """The lines PATH NAME REASON, each with its number."""
    rows = {}
    text = ALLOWED.read_text() if ALLOWED.exists() else ""
    for number, line in enumerate(text.splitlines(), 1):
        if line and not line.startswith("#"):
            path, name, _reason = line.split(maxsplit=2)
            rows[path, name] = number
    return rows


def uses(code):
    for number, line in enumerate(code.splitlines(), 1):
        if not DECLARED.match(line):
            for match in REAL.finditer(line):
                yield number, next(filter(None, match.groups()))


def check(strip, say):
    rows = allowed()
    needed = set()
    for folder in FOLDERS:
        for file in sorted(pathlib.Path(folder).rglob("*.[ch]")):
            for number, name in uses(strip(file.read_text())):
                needed.add((str(file), name))
                if (str(file), name) not in rows:
                    say(str(file), number, f"{name} reads the real clock: use"
                        " tests/support/fake_clock.h or run_until()")
    for row, number in rows.items():
        if row not in needed:
            say(str(ALLOWED), number, f"{row[0]} does not use {row[1]} any"
                " more")
