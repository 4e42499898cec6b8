#!/usr/bin/env python3
"""A stand-in for kubectl. It appends its arguments and its input to the file
calls in the folder FAKE_KUBECTL, and answers with the first rule of rules.json
whose pattern is found in the arguments. A rule with "times" answers so often
only; one with "signal" sends that signal to its parent first; one with "asks"
reads a line from standard input; one with "stays" ends with the signal that it
gets."""
import json
import os
import pathlib
import re
import signal
import sys

FOLDER = pathlib.Path(os.environ["FAKE_KUBECTL"])


def is_left(index, rule):
    """Whether this rule may answer once more."""
    for number in range(rule.get("times", 0)):
        try:
            (FOLDER / f"used-{index}-{number}").touch(exist_ok=False)
            return True
        except FileExistsError:
            pass
    return "times" not in rule


def main():
    arguments = sys.argv[1:]
    given = sys.stdin.read() if "-" in arguments else None
    with open(FOLDER / "calls", "a", encoding="utf-8") as calls:
        calls.write(json.dumps([arguments, given]) + "\n")
    line = " ".join(arguments)
    for index, rule in enumerate(json.loads(
            (FOLDER / "rules.json").read_text())):
        if re.search(rule["match"], line) and is_left(index, rule):
            if "signal" in rule:
                os.kill(os.getppid(), rule["signal"])
            sys.stderr.write(rule.get("err", ""))
            sys.stderr.flush()
            if rule.get("asks"):
                sys.stderr.write("heard " + sys.stdin.readline())
            sys.stdout.write(rule.get("out", ""))
            sys.stdout.flush()
            if rule.get("stays"):
                signal.pause()
            return rule.get("status", 0)
    sys.stderr.write(f"error: no rule for {line}\n")
    return 77


if __name__ == "__main__":
    sys.exit(main())
