"""A house rule for lint.py: no test depends on the speed of the machine.

A test waits for a condition, with harness.PATIENCE_S as its only limit. It does
not sleep, gives no other limit, and compares no time that it measured with a
number. Benchmarks and tests/chaos have durations on purpose."""
import ast
import pathlib

FREE = ("tests/bench/", "tests/chaos/")
CLOCKS = {"monotonic", "time", "perf_counter", "monotonic_ns", "time_ns"}
# Calls whose argument with this index is a limit.
LIMITS = {"wait": 0, "settimeout": 0, "create_connection": 1, "wait_for": 1,
          "join": 0}
LIMIT_WORDS = {"timeout", "seconds"}
COMPARED = {"assertLess", "assertLessEqual", "assertGreater",
            "assertGreaterEqual", "assertAlmostEqual"}

# (file, expression): why it is allowed.
ALLOWED = {
    ("tests/support/harness.py", "time.sleep(every)"):
        "eventually() looks again and again",
    ("tests/support/run_tests.py", "process.wait(TIMEOUT_S)"):
        "the runner ends a test that hangs",
    ("tests/support/kubelet.py",
     "self.kubelet.opener.open(url, timeout=PROBE_S)"):
        "a kubelet that is played gives up a probe and probes again",
    ("tests/support/question_peer.py", "self.questions.get(timeout=HOLD_S)"):
        "an aggregator that is played holds a request so long",
    ("tests/support/question_peer.py",
     "self.answered.wait_for(lambda: self.answers.get(number, (0,))[0], "
     "AGAIN_S)"):
        "a question that somebody may have lost is asked again",
    ("tests/support/busy.py", "ended.wait(PERIOD_S)"):
        "no test: the load is printed once a minute",
    ("tests/support/mutate_build.py", "time.sleep(0 if done else POLL_S)"):
        "no test: it looks whether one has ended, or uses too much",
    ("tests/e2e/demo.py", "time.sleep(seconds * PACE)"):
        "no test: a person reads the demo",
    ("tests/page/pictures.py",
     "time.sleep(max(0, began + MINUTES * 60 - time.time()))"):
        "no test: the pictures show some minutes",
}


def constants_of(tree):
    """Names of the module that stand for numbers."""
    found = set()
    for node in tree.body:
        if isinstance(node, ast.Assign) and is_number(node.value, found):
            found |= {target.id for target in node.targets
                      if isinstance(target, ast.Name)} - {"PATIENCE_S"}
        elif (isinstance(node, ast.Assign)
              and isinstance(node.targets[0], ast.Tuple)
              and isinstance(node.value, ast.Tuple)):
            found |= {target.id for target, value in zip(
                node.targets[0].elts, node.value.elts)
                if is_number(value, found)}
    return found


def is_number(node, constants=()):
    if isinstance(node, ast.UnaryOp):
        return is_number(node.operand, constants)
    if isinstance(node, ast.BinOp):
        return (is_number(node.left, constants)
                and is_number(node.right, constants))
    if isinstance(node, ast.Name):
        return node.id in constants or (node.id.endswith("_S")
                                        and node.id != "PATIENCE_S")
    return (isinstance(node, ast.Constant)
            and isinstance(node.value, (int, float))
            and not isinstance(node.value, bool))


def name_of(node):
    """The last name of an expression: "wait" of self.process.wait."""
    return getattr(node, "attr", getattr(node, "id", ""))


def is_elapsed(node, names=()):
    """A difference of a clock's time, or a name for one."""
    for part in ast.walk(node):
        if isinstance(part, ast.BinOp) and isinstance(part.op, ast.Sub):
            if any(isinstance(one, ast.Call) and name_of(one.func) in CLOCKS
                   and name_of(getattr(one.func, "value", None)) == "time"
                   for one in ast.walk(part)):
                return True
        if name_of(part) in names:
            return True
    return False


def elapsed_names(tree):
    return {name_of(target) for node in ast.walk(tree)
            if isinstance(node, ast.Assign) and is_elapsed(node.value)
            for target in node.targets} - {""}


def is_limited(call, constants):
    """A call with a number as its limit. A thread that looks whether it has to
    stop does so at a pace."""
    name = name_of(call.func)
    if name_of(getattr(call.func, "value", None)) == "stopping":
        return False
    at = LIMITS.get(name)
    values = [k.value for k in call.keywords
              if k.arg in LIMIT_WORDS and name != "timedelta"]
    if at is not None and len(call.args) > at:
        values.append(call.args[at])
    return any(is_number(value, constants) for value in values)


def is_compared(sides, constants, names):
    return (any(is_number(side, constants) for side in sides)
            and any(is_elapsed(side, names) for side in sides))


def waits(text):
    """(line, expression, what is wrong) of each in a file."""
    tree = ast.parse(text)
    constants, names = constants_of(tree), elapsed_names(tree)
    for node in ast.walk(tree):
        wrong = ""
        if isinstance(node, ast.Call):
            name = name_of(node.func)
            if name == "sleep":
                wrong = "a test waits for a condition and does not sleep"
            elif is_limited(node, constants):
                wrong = "PATIENCE_S is the only limit of a wait"
            elif name in COMPARED and is_compared(node.args[:2], constants,
                                                  names):
                wrong = "a measured time is compared with a number"
        elif isinstance(node, ast.Compare) and is_compared(
                [node.left, *node.comparators], constants, names):
            wrong = "a measured time is compared with a number"
        if wrong:
            yield node.lineno, ast.unparse(node), wrong


def check_waits(say):
    needed = set()
    for file in sorted(pathlib.Path("tests").rglob("*.py")):
        path = str(file)
        if path.startswith(FREE):
            continue
        for line, expression, wrong in waits(file.read_text()):
            needed.add((path, expression))
            if (path, expression) not in ALLOWED:
                say(path, line, f"{wrong}: {expression}")
    for path, expression in sorted(ALLOWED.keys() - needed):
        if pathlib.Path(path).exists():
            say(path, 1, "lint_waits.py has a row that is no longer needed: "
                f"{expression}")
