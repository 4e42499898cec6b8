#!/usr/bin/env python3
"""House rules that no compiler knows: layers, homes of dependencies, banned
calls, headers, file sizes. Prints what is wrong and exits 1."""
import pathlib
import re
import sys

ROOMS = {
    "lib": {"lib"},
    "proto": {"proto", "lib"},
    "kube": {"kube", "lib"},
    "agent": {"agent", "proto", "lib"},
    "aggregator": {"aggregator", "proto", "kube", "lib"},
    "scheduler": {"scheduler", "proto", "kube", "lib"},
}

# One home per dependency: the files that may include it.
HOMES = {
    r"<nng/": r"lib/mq\w*\.[ch]",
    r"<microhttpd\.h>": r"lib/httpd\w*\.c",
    r"<sqlite3\.h>": r"aggregator/store\w*\.[ch]",
    r"<curl/": r"kube/http\w*\.[ch]",
    r"<(cjson/)?cJSON\.h>": r"kube/value\.c",
    r"<snappy-c\.h>": r"aggregator/remote_body\.c",
    r"<yaml\.h>": r"kube/yaml\.c",
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


def check_includes(path, text, say):
    room = path.split("/")[0]
    for number, line in enumerate(text.splitlines(), 1):
        match = re.match(r'\s*#\s*include\s+(["<])([^">]+)', line)
        if not match:
            continue
        target = match.group(2)
        if match.group(1) == '"' and room in ROOMS:
            other = target.split("/")[0]
            if "/" not in target or other not in ROOMS[room]:
                say(path, number, f"{room} may not include {target}")
        for pattern, home in HOMES.items():
            if (re.search(pattern, line) and room in ROOMS
                    and not re.fullmatch(home, path)):
                say(path, number, f"{target} belongs in {home}")


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


def main():
    problems = []

    def say(path, number, what):
        problems.append(f"{path}:{number}: {what}")

    for room in list(ROOMS) + ["tests"]:
        for file in sorted(pathlib.Path(room).rglob("*.[ch]")):
            path, text = str(file), file.read_text()
            code = strip(text)
            check_includes(path, text, say)
            if room != "tests":
                check_own_header_first(path, text, say)
                check_banned(path, code, say)
            check_shape(path, text, code, say)
    print("\n".join(problems) if problems else "house rules: kept")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
