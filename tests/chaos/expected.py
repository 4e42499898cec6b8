"""Lines of the logs that faults may cause: the one place to extend when a
program says something new. A line is matched without its time and place."""
import re

API = {"api-errors", "api-cut", "api-slow", "kill-api-server", "kill-etcd",
       "stop-api-server"}
# The aggregator is not there, is not trusted, or answers late.
GONE = {"kill-aggregator", "stop-aggregator", "renew-certificates",
        "wrong-certificate", "wrong-aggregator-certificate",
        "full-disk-at-start"}
# A certificate is not valid yet by a clock that was set back.
CLOCKS = {"clock-aggregator", "clock-agents", "clock-scheduler"}
AGENTS_CUT = {"cut-agents", "slow-agents", "stop-agents", "stall-agents"}
SCHEDULER_CUT = {"cut-scheduler", "slow-scheduler", "stop-scheduler",
                 "stall-scheduler"}
FULL = {"full-disk", "full-disk-at-start"}
LATE = FULL | {"slow-disk", "lock-database", "stop-aggregator"}

# Users ask, and the aggregator stops, or the API server is in trouble, before
# their rights are known.
ASKERS = {"selectors", "questions"}

# No fault of the run: other programs on the machine use the same limits.
MACHINE = None

# A pattern of warnings and errors -> the kinds of fault that cause them. One of
# them has to be in the run.
LINES = {
    # agents
    r'"cannot watch for new pods: Too many open files"': MACHINE,
    r'^"no connection to the aggregator"': GONE | AGENTS_CUT | CLOCKS,
    r'^"request failed, will retry".*"no reply in time"':
        GONE | AGENTS_CUT | LATE,
    r'^"aggregator cannot store reports, keeping them"': LATE,
    # aggregator
    r'^"two agents for one node: the younger one waits"':
        {"kill-agents"} | AGENTS_CUT | GONE,
    r'^"the wall clock (jumped ahead|was set back)':
        {"clock-aggregator", "stop-aggregator"},
    r'^"cannot write to the database".*(full|locked)':
        FULL | {"lock-database"},
    r'^"cannot start".*locked': {"lock-database"},
    r'^"database not opened yet".*full': FULL,
    r'^"peers could not connect"': GONE | CLOCKS | AGENTS_CUT | SCHEDULER_CUT
    | {"silent-connections"},
    # kube-apiserver asks as soon as the aggregator listens again.
    r'^"API request refused".*"the front proxy\'s settings are not known yet':
        GONE | API,
    r'^"cannot review access"': ASKERS,
    # kube-apiserver connects several times for its first requests, and may
    # need one connection alone. The address is ApiService.HOST.
    r'^"HTTP connections ended without a request.*listener="127\.96\.77\.1:':
        MACHINE,
    # They say nothing, and each has less room than the others of its address.
    r'^"HTTP connections (ended without a request|were closed in favour)':
        {"silent-connections"},
    r'^"cannot watch VM pods: (VMs|new VMs) have no names"': API,
    r'^"cannot watch the front proxy.s settings: a new authority': API,
    r'^"cannot watch Nodes: those that leave the cluster are lost': API,
    # scheduler
    r'^"no load from the aggregator"': GONE | SCHEDULER_CUT | CLOCKS,
    r'^"cannot get the records of moves".*the store is not open': FULL,
    r'^"VMIs are not known: VMs count as measured"': API | {"stop-scheduler"},
    r'^"cannot watch the cluster"': API | {"stop-scheduler"},
    r'^"cannot acquire or renew lease"': API,
    r'^"lost leader election"': API | {"stop-scheduler"},
    r'^"cannot give the lease back, it expires"': API,
    r'^"pod not bound"': API | {"stop-scheduler"},
    r'^"cannot write event, condition or nomination"': API,
}

LEVEL = re.compile(r"([DIWEF])\d{4} \S+ +\d+ \S+?\] (.*)")


def unexpected(text, kinds):
    """The lines of a log that are warnings, errors, or no lines of a log, and
    that none of these kinds of fault explains."""
    found = []
    for line in text.splitlines():
        match = LEVEL.fullmatch(line)
        if match and match[1] in "DI":
            continue
        said = match[2] if match else line
        if not any(re.search(pattern, said) for pattern, causes in
                   LINES.items() if causes is MACHINE or causes & kinds):
            found.append(line)
    return found
