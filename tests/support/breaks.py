"""What `make mutate` may break: small changes of single lines of C code. The code
is laid out as clang-format does it here, so spaces tell a comparison from a
pointer, and a function begins with a { in the first column."""
import re
import typing

from lint import strip


class Source(typing.NamedTuple):
    path: str
    text: str
    code: str  # the text with blanks for comments and literals


class Break(typing.NamedTuple):
    source: Source
    function: str
    line: int
    change: tuple  # start, end, what stands there then

    def broken(self):
        """The whole text with the change, its line breaks kept."""
        text, code = self.source.text, self.source.code
        start, end, new = self.change
        if new.endswith("("):  # a condition: it is closed once more
            end = closing(code, start)
            return text[:start] + new + text[start + 1:end] + ")" + text[end:]
        return (text[:start] + new + "\n" * code[start:end].count("\n")
                + text[end:])

    def was(self):
        return self.source.text.splitlines()[self.line - 1].strip()

    def now(self):
        return self.broken().splitlines()[self.line - 1].strip()

    def __str__(self):
        return (f"{self.source.path}: {self.function}: {self.was()} => "
                f"{self.now()}").rstrip()


OPERATORS = {
    "<": ("<=", ">="), ">": (">=", "<="), "<=": ("<", ">"), ">=": (">", "<"),
    "==": ("!=",), "!=": ("==",), "&&": ("||",), "||": ("&&",),
    "+": ("-",), "-": ("+",), "*": ("/",), "/": ("*",), "%": ("*",),
    "&": ("|",), "|": ("&",), "<<": (">>",), ">>": ("<<",),
    "+=": ("-=",), "-=": ("+=",), "|=": ("&=",), "&=": ("|=",),
}
WORDS = {"true": "false", "false": "true", "++": "--", "--": "++",
         "continue;": "break;", "break;": ";"}

OPERATOR = re.compile(r"(?<=\s)[<>=!&|+\-*/%]{1,2}(?=\s)")
WORD = re.compile(r"\b(true|false|(continue|break);)(?!\w)|\+\+|--")
NOT = re.compile(r"(?<=[\s(])!(?=[\w(*])")
# The whole part of a decimal number: what follows it may be .5, e6 or u. Not in
# a zeroed struct, and not the one of xcalloc(1, ...), which 0 would be as well.
NUMBER = re.compile(r"(?<![\w.])(?<!xcalloc\()(?!0 \})\d+"
                    r"(?=(\.\d+)?(e[+-]?\d+)?[uUlLfF]*(?![\w.]))")
CONDITION = re.compile(r"\b(if|while) (?=\()")
ELSE = re.compile(r"\} else (?=\{)")
RETURN = re.compile(r"\breturn ([^;]+)(?=;)")
# A call or an assignment that is a statement. A declaration has a type first.
TARGET = r"\**[\w>.\-\[\]]+"
STATEMENT = re.compile(
    rf"(?<=[;{{}}:])\s*\n\t+(?!_Static_assert)((\(void\))?{TARGET}\([^;{{}}]*\)"
    rf"|{TARGET} [+\-*/|&]?= [^;{{}}]*)(?=;)")
# How much is allocated is not raised: more would do as well. That is the
# argument of these calls, and the length of an array that is declared.
ALLOCATION = re.compile(r"\bx(c|re)alloc(?=\()")
ARRAY = re.compile(r"(?<=\n)\t+(?!return\b)\w+[\w *]*[ *]\w+(\[[^]\n]*\])+"
                   r"(?=[;,]| =)")
# People read the log, and no program does: these calls are not broken.
LOG = re.compile(r"(?<=\t)log_\w+\([^;]*;")
HEAD = re.compile(r"\b(?!__attribute__)(\w+)\(")


def functions(code):
    """(name, start, end) of each body in code, which has no comments."""
    for body in re.finditer(r"^\{\n.*?^\}", code, re.M | re.S):
        head = re.split(r"[;}]|^#.*$", code[:body.start()], flags=re.M)[-1]
        name = HEAD.search(head)
        if name:
            yield name.group(1), body.start(), body.end()


def closing(code, start):
    """The end of the parenthesis that opens at start."""
    depth = 0
    for at in range(start, len(code)):
        depth += (code[at] == "(") - (code[at] == ")")
        if depth == 0:
            return at + 1
    return len(code)


def changes(code, start, end):
    """(start, end, new text) of each change in a body."""
    def found(pattern):
        return pattern.finditer(code, start, end)

    for match in found(OPERATOR):
        for new in OPERATORS.get(match.group(), ()):
            yield *match.span(), new
    for match in found(WORD):
        yield *match.span(), WORDS[match.group()]
    for match in found(NOT):
        yield *match.span(), ""
    allocations = [(match.end(), closing(code, match.end()))
                   for match in found(ALLOCATION)]
    allocations += [match.span() for match in found(ARRAY)]
    for match in found(NUMBER):
        value = int(match.group())
        if not any(a <= match.start() < b for a, b in allocations):
            yield *match.span(), str(value + 1)
        if value > 0:
            yield *match.span(), str(value - 1)
    for match in found(CONDITION):
        at = match.end()
        condition = code[at:closing(code, at)]
        yield at, at + 1, "(false && ("
        if match.group(1) == "if" and condition != "(true)":
            yield at, at + 1, "(true || ("
    for match in found(ELSE):
        yield *match.span(), "} else if (false) "
    for match in found(RETURN):
        if match.group(1) != "NULL":
            yield *match.span(1), "-1" if match.group(1) == "0" else "0"
    for match in found(STATEMENT):
        if match.group(1).count("(") == match.group(1).count(")"):
            yield *match.span(1), ""


def breaks_of(path, text):
    """{line number: [Break, ...]} of a file."""
    source = Source(path, text, strip(text))
    lines = text.splitlines()
    logs = [match.span() for match in LOG.finditer(source.code)]
    result = {}
    for name, start, end in functions(source.code):
        for change in changes(source.code, start, end):
            at = change[0]
            line = source.code.count("\n", 0, at) + 1
            if not (any(first <= at < last for first, last in logs)
                    or lines[line - 1].lstrip().startswith("#")):
                result.setdefault(line, []).append(
                    Break(source, name, line, change))
    return result


def draw(files, random):
    """The breaks of all files in the order in which they are tried: one of each
    line, then another one of each line that has one. files: {path: text}"""
    lines = [found for path, text in sorted(files.items())
             for _, found in sorted(breaks_of(path, text).items())]
    for found in lines:
        random.shuffle(found)
    turn = 0
    while lines:
        random.shuffle(lines)
        yield from (found[turn] for found in lines)
        turn += 1
        lines = [found for found in lines if len(found) > turn]
