#!/usr/bin/env python3
"""House rules that no compiler checks: which room includes which, circles of
calls, homes of dependencies, banned calls, the real clock in unit tests, headers,
file sizes, prose. Prints each violation and exits 1."""
import itertools
import pathlib
import re
import sys

import lint_clock
from lint_waits import check_waits

# Which rooms a room includes: the arrows of docs/architecture.md. It may also
# include what these include, so a row names no such room. A room inside a room is
# named with its parent.
EDGES = {
    "lib": "",
    "lib/tls": "lib",
    "lib/mq": "lib/tls",
    "proto": "lib",
    "agent": "lib/mq proto",
    "aggregator/series": "proto",
    "aggregator/codec": "aggregator/series",
    "aggregator/store": "aggregator/codec",
    "kube": "lib",
    "aggregator/live": "aggregator/store kube",
    "aggregator/query": "aggregator/store kube",
    "lib/http": "lib/tls",
    "auth": "kube lib/http",
    "aggregator/ingest":
        "aggregator/live aggregator/query auth lib/mq",
    "aggregator/remote_read": "aggregator/query lib/tls",
    "aggregator/remote_write": "aggregator/store kube lib/tls",
    "aggregator/http":
        "aggregator/ingest aggregator/remote_read"
        " aggregator/remote_write",
    "aggregator/apiserver": "aggregator/http",
    "aggregator": "aggregator/apiserver",
    "kubectl": "kube",
    "scheduler/forecast": "kube",
    "scheduler/objects": "scheduler/forecast",
    "scheduler/cluster": "proto scheduler/objects",
    "scheduler/launcher": "scheduler/objects",
    "scheduler/admission": "lib/http scheduler/cluster",
    "scheduler/cache": "scheduler/cluster",
    "scheduler/filter": "scheduler/cluster",
    "scheduler/bind": "scheduler/cache scheduler/filter",
    "scheduler/kubevirt": "scheduler/cluster scheduler/launcher",
    "scheduler/loads": "lib/mq scheduler/cache",
    "scheduler/rebalance": "scheduler/cluster",
    "scheduler/mover":
        "scheduler/bind scheduler/kubevirt scheduler/loads"
        " scheduler/rebalance",
    "scheduler/plan": "scheduler/filter",
    "scheduler/planner": "scheduler/mover scheduler/plan",
    "scheduler/score": "scheduler/filter",
    "scheduler/make_room": "scheduler/planner scheduler/score",
    "scheduler/answers": "scheduler/planner scheduler/score",
    "scheduler/certificates": "kube lib/tls",
    "scheduler/offline": "scheduler/mover scheduler/plan scheduler/score",
    "scheduler":
        "auth scheduler/admission scheduler/answers"
        " scheduler/certificates scheduler/make_room scheduler/offline",
    "simulate/comparators": "scheduler/rebalance",
    "simulate": "scheduler/score simulate/comparators",
}
TOP = ("lib", "proto", "kube", "auth", "kubectl", "agent", "aggregator",
       "scheduler", "simulate")

# One home per dependency: the files that may include it.
HOMES = {
    r"<nng/": r"lib/mq/mq\w*\.[ch]",
    r"<mbedtls/": r"lib/tls/certificate\w*\.[ch]",
    r"<(microhttpd\.h|gnutls/)": r"lib/http/httpd\w*\.c",
    r"<sqlite3\.h>": r"aggregator/store/\w+\.[ch]",
    r"<curl/": r"kube/http\w*\.[ch]",
    r"<(cjson/)?cJSON\.h>": r"kube/json_value\.c",
    r"<snappy-c\.h>": r"aggregator/remote_write/request_body\.c",
    r"<yaml\.h>": r"kube/yaml\.c",
    r"<zlib\.h>": r"lib/http/httpd_gzip\.c",
    r"<[\w/]*\.pb-c\.h>": r"proto/\w+\.[ch]",
    r"<protobuf-c/": r"proto/\w+\.[ch]",
    r"<linux/kvm\.h>": r"agent/kvm\w*\.c",
}

BANNED = {
    r"\b(sprintf|vsprintf|strcpy|strcat|strtok|gets|atoi|atol|strtol|sscanf"
    r"|alloca|system|popen|usleep|sleep)\s*\(": r"(?!)",
    r"(?<![\w.>])(malloc|calloc|realloc|reallocarray|strdup|strndup|asprintf"
    r"|vasprintf)\s*\(": r"lib/memory\.c",
    r"(?<![\w.>])(time|clock_gettime|gettimeofday)\s*\(": r"lib/clock\.c",
    r"(?<![\w.>])printf\s*\(": r"lib/options\.c|\w+/main\.c|tests/.*",
}

C_MAX, TEST_MAX, H_MAX = 500, 700, 160


def strip(text):
    """The code without comments and literals, line numbers kept."""
    def blank(match):
        return re.sub(r"[^\n]", " ", match.group(0))
    return re.sub(r"/\*.*?\*/|//[^\n]*|\"(\\.|[^\"\\\n])*\"|'(\\.|[^'\\\n])*'",
                  blank, text, flags=re.S)


INCLUDE = re.compile(r'\s*#\s*include\s+(["<])([^">]+)')


def room_of(path):
    """"aggregator/store" for a file in it, "aggregator" for one beside it."""
    return path.rpartition("/")[0]


def rooms_below(room):
    """All rooms that a room may include."""
    below = set()
    for other in EDGES[room].split():
        below |= {other} | rooms_below(other)
    return below


def includes(text):
    for number, line in enumerate(text.splitlines(), 1):
        match = INCLUDE.match(line)
        if match:
            yield number, line, match.group(1) == '"', match.group(2)


def check_includes(path, text, say):
    room = room_of(path)
    for number, line, is_ours, target in includes(text):
        if is_ours and room in EDGES:
            other = room_of(target)
            if other != room and other not in rooms_below(room):
                say(path, number, f"room {room} may not include room"
                    f" {other or '(none)'}: {target}")
        for pattern, home in HOMES.items():
            if (re.search(pattern, line) and room in EDGES
                    and not re.fullmatch(home, path)):
                say(path, number, f"{target} belongs in {home}")


def check_edges(texts, say):
    """An edge is used, and no two others say the same. texts: {path: text}"""
    used = {(room_of(path), room_of(target)) for path, text in texts.items()
            for _, _, is_ours, target in includes(text) if is_ours}
    rooms = {room_of(path) for path in texts}
    for room, row in EDGES.items():
        for other in row.split():
            others = set(row.split()) - {other}
            if room in rooms and (room, other) not in used:
                say("tests/support/lint.py", 1,
                    f"room {room} does not include room {other}")
            elif any(other in rooms_below(o) for o in others):
                say("tests/support/lint.py", 1, f"room {room} may include"
                    f" room {other} without the edge")


DEFINITION = re.compile(r"^(?!static|extern|typedef)[a-z_][\w \t*]*?"
                        r"\b(\w+)\([^;{}]*\)\s*\{", re.M)


def module_of(path):
    """A module is a header and the files that implement it: chunk_read.c
    belongs to chunk.h where chunk_read.h does not exist."""
    base = path.rsplit(".", 1)[0]
    parent = base
    while not pathlib.Path(parent + ".h").exists():
        if "_" not in parent.rpartition("/")[2]:
            return base
        parent = parent.rpartition("_")[0]
    return parent


def called_modules(files):
    """Which modules each module calls, by who defines a function."""
    home = {}
    for path, code in files.items():
        for name in DEFINITION.findall(code) if path.endswith(".c") else ():
            home[name] = module_of(path)
    calls = {}
    for path, code in files.items():
        if path.endswith(".c"):
            own = module_of(path)
            used = {home[name] for name in re.findall(r"\b(\w+)\(", code)
                    if name in home}
            calls.setdefault(own, set()).update(used - {own})
    return calls


def check_circles(files, say):
    """Modules call each other in one direction."""
    calls = called_modules(files)
    done, trail = set(), []

    def visit(module):
        if module in trail:
            circle = trail[trail.index(module):] + [module]
            say(module, 1, "calls go in a circle: "
                + " -> ".join(circle))
            return
        if module in done:
            return
        trail.append(module)
        for other in sorted(calls.get(module, ())):
            visit(other)
        trail.pop()
        done.add(module)

    for module in sorted(calls):
        visit(module)


def check_own_header_first(path, text, say):
    own = path[:-2] + ".h"
    if path.endswith(".c") and pathlib.Path(own).exists():
        first = re.search(r'#\s*include\s+["<]([^">]+)', text)
        if not first or first.group(1) != own:
            say(path, 1, f"does not include {own} first")


def check_banned(path, code, say):
    for number, line in enumerate(code.splitlines(), 1):
        for pattern, allowed in BANNED.items():
            match = re.search(pattern, line)
            if match and not re.fullmatch(allowed, path):
                name = match.group(0).rstrip("( ")
                say(path, number, f"{name}() is banned here")


def check_shape(path, text, code, say):
    lines = text.count("\n")
    most = (H_MAX if path.endswith(".h")
            else TEST_MAX if path.startswith("tests/") else C_MAX)
    if lines > most:
        say(path, 1, f"{lines} lines: is there a second module inside?")
    if path.endswith(".h"):
        if "#pragma once" not in text:
            say(path, 1, "has no #pragma once")
        if not text.startswith("/*"):
            say(path, 1, "does not say first what it is for")
    for number, line in enumerate(text.splitlines(), 1):
        if re.search(r"\b(TODO|FIXME|XXX)\b", line):
            say(path, number, "leave no note behind; make an issue")


# ---- prose ----

COMMENT_MAX, DOC_MAX = 80, 120
BACKWARDS = re.compile(r"(?:^|(?<=[.!?:] ))(Who|What|Whoever|Whose|Of)\s[^.!?]*"
                       r"(?:[.!?]|$)")


def comments(text):
    """Line number and text of each comment, without the stars. A comment may
    go on behind a line of code."""
    for match in re.finditer(r"/\*(.*?)\*/", text, re.S):
        number = text.count("\n", 0, match.start()) + 1
        words = re.sub(r"\n[ \t]*\*?", "\n", match.group(1))
        yield number, words


def check_sentences(path, number, text, say):
    """Sentences that begin with the object read backwards. A question may."""
    for paragraph in re.split(r"\n\s*\n", text):
        plain = " ".join(paragraph.split())
        for match in BACKWARDS.finditer(plain):
            if not match.group(0).rstrip("\"')").endswith("?"):
                say(path, number, "a sentence begins with its object: "
                    f"'{match.group(0)[:50]}'")


def check_comments(path, text, say):
    if path.endswith((".c", ".h")):
        for number, line in enumerate(text.splitlines(), 1):
            is_comment = re.match(r"\s*(/\*|\*( |$|/))", line)
            if is_comment and len(line.expandtabs(8)) > COMMENT_MAX:
                say(path, number, f"a comment of more than {COMMENT_MAX}"
                    " columns")
        for number, words in comments(text):
            check_sentences(path, number, words, say)


def prose_of(text):
    """Paragraphs of a document with the number of their first line: headings,
    tables and code are exempt."""
    number, paragraph, is_code = 1, [], False
    for at, line in enumerate(text.splitlines() + [""], 1):
        if line.lstrip().startswith("```"):
            is_code = not is_code
        is_item = re.match(r"\s*([-*]|\d+\.) ", line)
        is_exempt = (is_code or line.lstrip().startswith(("#", "|", "```"))
                     or not line.strip())
        if (is_exempt or is_item) and paragraph:
            yield number, paragraph
            paragraph = []
        if not is_exempt:
            if not paragraph:
                number = at
            paragraph.append(re.sub(r"^\s*([-*]|\d+\.) (\*\*)?", "", line))


NAMED_FILE = re.compile(r"\b(?:lib|proto|kubectl|kube|auth|agent|aggregator|scheduler"
                        r"|tests|deploy|docs)/[\w./-]+\.(?:c|h|py|go|md|proto|yaml)\b")


def check_named_files(file, say):
    """The files that a document names are there."""
    for number, line in enumerate(file.read_text().splitlines(), 1):
        for name in NAMED_FILE.findall(line):
            if not pathlib.Path(name).exists():
                say(str(file), number, f"there is no file {name}")


LEAD = re.compile(r"(\*\*.+?\*\*)|(#)")


def check_leads(file, say):
    """Below one heading, two paragraphs or lines that begin with the same bold
    words are two versions of one text."""
    seen = set()
    for number, line in enumerate(file.read_text().splitlines(), 1):
        lead = LEAD.match(line)
        if lead and lead.group(2):
            seen = set()
        elif lead and lead.group(1) in seen:
            say(str(file), number, f"{lead.group(1)} begins two texts below"
                " one heading")
        elif lead:
            seen.add(lead.group(1))


def check_docs(say):
    for file in sorted(itertools.chain.from_iterable(
            pathlib.Path(folder).glob("*.md")
            for folder in (".", "docs", ".github"))):
        check_named_files(file, say)
        check_leads(file, say)
        for number, paragraph in prose_of(file.read_text()):
            for at, line in enumerate(paragraph, number):
                if len(line) > DOC_MAX:
                    say(str(file), at, f"a line of more than {DOC_MAX}"
                        " columns")
            check_sentences(str(file), number, "\n".join(paragraph), say)


def main():
    problems = []

    def say(path, number, what):
        problems.append(f"{path}:{number}: {what}")

    ours, texts = {}, {}
    for room in TOP + ("tests",):
        for file in sorted(pathlib.Path(room).rglob("*.[ch]")):
            path, text = str(file), file.read_text()
            code = strip(text)
            check_includes(path, text, say)
            check_comments(path, text, say)
            if room != "tests":
                ours[path], texts[path] = code, text
                if room_of(path) not in EDGES:
                    say(path, 1, f"{room_of(path)} is not a room of EDGES")
                check_own_header_first(path, text, say)
                check_banned(path, code, say)
            check_shape(path, text, code, say)
    check_edges(texts, say)
    check_circles(ours, say)
    lint_clock.check(strip, say)
    check_docs(say)
    check_waits(say)
    print("\n".join(problems) if problems else "house rules: kept")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
