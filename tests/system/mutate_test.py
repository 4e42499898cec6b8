"""`make mutate`: which lines it breaks and how, what it counts, and what it leaves
behind. Each run is in a small repository of C code with a Makefile of its own."""
import contextlib
import os
import pathlib
import random
import signal
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))

from breaks import breaks_of, draw  # noqa: E402
from harness import ROOT, mark  # noqa: E402
import mutate  # noqa: E402
from mutate import Harmless, read_files  # noqa: E402

USES_PROGRAMS = False
MAKEFILE = """\
OUT = build/mutate
tests = $(patsubst %.c,$(OUT)/%,$(wildcard tests/unit/*/*.c))
$(OUT)/%.o: %.c
\t@mkdir -p $(@D)
\tgcc -I. -O1 --coverage -c -o $@ $<
$(OUT)/lib.a: $(patsubst %.c,$(OUT)/%.o,$(wildcard lib/*.c))
\t$(AR) crs $@ $^
$(tests): %: %.o $(OUT)/lib.a
\tgcc --coverage -o $@ $^
.SECONDARY:
"""
SUM = """\
int sum_limit(int a, int b)
{
\tif (a + b > 10) {
\t\treturn 10;
\t}
\treturn a + b;
}
"""
# Each break of SUM makes one of these wrong.
SUM_TEST = """\
int sum_limit(int a, int b);
int main(void)
{
\treturn sum_limit(5, 4) != 9 || sum_limit(5, 5) != 10 ||
\t\tsum_limit(9, 2) != 10 || sum_limit(8, -3) != 5 ||
\t\tsum_limit(11, 11) != 10 || sum_limit(13, 2) != 10;
}
"""
CALLED = """\
int sum_limit(int a, int b);
int main(void)
{
\t(void)sum_limit(1, 2);
\treturn 0;
}
"""
# A broken program writes the folder of its files to a pipe, and stays.
TELLING = """\
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
int sum_limit(int a, int b);
int main(void)
{
\tif (sum_limit(5, 4) != 9 || sum_limit(9, 2) != 10) {
\t\tint file = open(getenv("NOTICE"), O_WRONLY);
\t\tdprintf(file, "%s\\n", getenv("TMPDIR"));
\t\tpause();
\t}
\treturn 0;
}
"""


def body(*lines):
    return "int f(int a)\n{\n" + "".join(f"\t{l}\n" for l in lines) + "}\n"


def broken(*lines):
    """What the lines of a function may become."""
    found = breaks_of("lib/a.c", body(*lines))
    return {b.now() for changes in found.values() for b in changes}


class Breaks(unittest.TestCase):
    def test_a_comparison_is_turned_and_its_limit_is_moved(self):
        self.assertEqual(broken("return a < 5;"), {
            "return a <= 5;", "return a >= 5;", "return a < 6;",
            "return a < 4;", "return 0;"})

    def test_a_branch_is_never_taken_or_always(self):
        self.assertEqual(broken("if (a) {", "} else {", "}"), {
            "if (false && (a)) {", "if (true || (a)) {",
            "} else if (false) {"})

    def test_a_loop_is_never_entered(self):
        self.assertEqual(broken("while (a) {", "}"),
                         {"while (false && (a)) {"})

    def test_logical_operators_are_swapped_and_a_negation_is_dropped(self):
        self.assertEqual(broken("g = !a && b;"),
                         {"g = a && b;", "g = !a || b;", ";"})

    def test_a_call_an_assignment_and_a_jump_are_removed(self):
        for line in ("g(a);", "(void)s->g(a, b);", "s->count = a;", "break;"):
            self.assertIn(";", broken(line), line)
        self.assertEqual(broken("continue;"), {"break;"})

    def test_a_number_is_moved_by_one_unless_more_would_do_as_well(self):
        self.assertEqual(broken("struct x x = g(7, 0.5, 2u, 0x10);"), {
            f"struct x x = g({arguments}, 0x10);" for arguments in (
                "8, 0.5, 2u", "6, 0.5, 2u", "7, 1.5, 2u", "7, 0.5, 3u",
                "7, 0.5, 1u")})
        self.assertEqual(broken("struct x x = { 0 };",
                                "struct x *y = xcalloc(1, sizeof(*y));"),
                         set())
        self.assertEqual(broken("char *x = xcalloc(a + 1, g(3));"), {
            f"char *x = xcalloc({arguments});" for arguments in (
                "a - 1, g(3)", "a + 0, g(3)", "a + 1, g(2)")})

    def test_an_array_is_not_declared_longer(self):
        self.assertEqual(broken("char a[8];", "struct x *b[N + 1] = { 0 };"), {
            "char a[7];", "struct x *b[N - 1] = { 0 };",
            "struct x *b[N + 0] = { 0 };"})
        self.assertIn("return a[2];", broken("return a[1];"))
        self.assertIn("a[2] = 0;", broken("a[1] = 0;"))

    def test_a_declaration_is_not_removed(self):
        self.assertEqual(broken("struct x *x = g(a);"), set())

    def test_a_returned_value_becomes_another(self):
        self.assertEqual(broken("return g(a);"), {"return 0;"})
        self.assertEqual(broken("return 0;"), {"return -1;", "return 1;"})
        self.assertEqual(broken("return true;"), {"return false;",
                                                  "return 0;"})

    def test_comments_literals_log_lines_and_tables_stay_whole(self):
        self.assertEqual(broken("/* a > 1 */", 'struct x x = g("1 + 1");',
                                "#if 1", 'log_info("text", log_int(1));',
                                "#endif"), set())
        self.assertEqual(breaks_of("lib/a.c", "static int a[] = {\n\t1,\n};\n"),
                         {})

    def test_a_condition_of_two_lines_keeps_the_lines_that_follow(self):
        text = body("if (a ||", "\tb) {", "\tg(a);", "}")
        for changes in breaks_of("lib/a.c", text).values():
            for change in changes:
                self.assertEqual(change.broken().count("\n"),
                                 text.count("\n"), change)
        self.assertIn("if (false && (a ||\n\t\tb)) {", [
            "\n".join(change.broken().splitlines()[2:4]).strip()
            for change in breaks_of("lib/a.c", text)[3]])

    def test_a_break_names_the_function_and_the_line(self):
        text = "int f(void)\n{\n}\n\nstatic bool g(int a,\n\tint b)\n{\n\th();\n}\n"
        [found] = breaks_of("lib/a.c", text)[8]
        self.assertEqual((found.function, found.line), ("g", 8))
        self.assertEqual(str(found), "lib/a.c: g: h(); => ;")

    def test_the_seed_gives_the_order_and_each_line_comes_once_first(self):
        files = {"lib/a.c": body(*(f"g(a + {i});" for i in range(30)))}
        first, again, other = (
            [(b.line, b.now()) for b in draw(files, random.Random(seed))]
            for seed in ("1", "1", "2"))
        self.assertEqual(first, again)
        self.assertNotEqual(first, other)
        self.assertEqual(len({line for line, _ in first[:30]}), 30)


@mark(slow="each one builds programs")
class Runs(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="plimsoll-")
        self.addCleanup(folder.cleanup)
        self.root = pathlib.Path(folder.name)
        self.write("Makefile", MAKEFILE)
        self.write(".gitignore", "build/\n")
        self.write("lib/sum.c", SUM)
        subprocess.run(["git", "init", "-q", self.root], check=True)

    def write(self, name, text):
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)

    def start(self, *arguments, **env):
        return subprocess.Popen(
            [sys.executable, ROOT / "tests/support/mutate.py", *arguments],
            cwd=self.root, env=os.environ | env, stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT, text=True)

    def mutate(self, *arguments):
        with self.start(*arguments) as process:
            text = process.communicate()[0]
        return process.returncode, text

    def test_a_thorough_test_kills_each_break(self):
        self.write("tests/unit/lib/test_sum.c", SUM_TEST)
        code, text = self.mutate()
        self.assertEqual(code, 0, text)
        self.assertRegex(text, r"mutate: seed 1: (\d+) breaks, \1 killed .*"
                         r" 0 survived: 100.0 %\n$")

    def test_breaks_that_no_test_notices_are_printed_and_fail(self):
        self.write("tests/unit/lib/test_sum.c", CALLED)
        code, text = self.mutate("--seed=7", "--breaks=5")
        self.assertEqual(code, 1, text)
        self.assertIn(". survived: line 6 of lib/sum.c: sum_limit: "
                      "return a + b; => return ", text)
        self.assertIn("mutate: seed 7: 5 breaks, 0 killed (0 by time), "
                      "5 survived: 0.0 %\n", text)

    def test_only_breaks_that_change_the_code_count(self):
        self.write("lib/sum.c", "int sum_limit(int a, int b)\n{\n"
                   "\treturn a * 1 + 0 * b;\n}\n")
        self.write("tests/unit/lib/test_sum.c", CALLED)
        _, text = self.mutate()
        self.assertRegex(text, "0 did not compile, [1-9] compiled to the same")
        self.write("lib/sum.c", "struct s { int a; };\n"
                   "struct s sum_limit(struct s a);\n"
                   "struct s sum_limit(struct s a)\n{\n\treturn a;\n}\n")
        _, text = self.mutate()
        self.assertIn("not counted: 1 did not compile", text)

    def test_a_loop_without_end_is_killed_by_time(self):
        self.write("lib/sum.c", "int sum_limit(int a, int b)\n{\n"
                   "\twhile (a < b) {\n\t\ta++;\n\t}\n\treturn a;\n}\n")
        self.write("tests/unit/lib/test_sum.c", CALLED)
        _, text = self.mutate()
        self.assertIn(". killed by time: line 4 of lib/sum.c: sum_limit: "
                      "a++; => a--;  (test_sum)", text)

    def test_a_file_that_no_unit_test_links_is_left_out(self):
        self.write("tests/unit/lib/test_sum.c", SUM_TEST)
        self.write("lib/alone.c", SUM.replace("sum_limit", "alone"))
        code, text = self.mutate()
        self.assertEqual(code, 0, text)
        self.assertIn("left out: 3 lines of 1 files", text)

    def test_the_breaks_of_one_file_are_those_that_a_unit_test_may_run(self):
        self.write("tests/unit/lib/test_sum.c", SUM_TEST.replace(
            "(void)\n{", "(int n, char **names)\n{\n\tint alone(int, int);\n"
            "\tif (n > 2) {\n\t\treturn alone(*names[0], 2);\n\t}"))
        self.write("lib/alone.c", SUM.replace("sum_limit", "alone"))
        code, text = self.mutate("lib/sum.c")
        self.assertEqual(code, 0, text)
        self.assertIn("left out: 0 lines of 0 files", text)
        code, text = self.mutate("lib/alone.c")
        self.assertEqual(code, 2, text)
        self.assertIn("left out: 3 lines of 1 files", text)
        self.assertIn(" 0 breaks", text)

    def test_a_harmless_break_does_not_count_and_a_stale_row_fails(self):
        stale = "lib/sum.c: sum_limit: return 99; => return 98;"
        row = "lib/sum.c: sum_limit: return a + b; => return a - b;"
        self.write("tests/unit/lib/test_sum.c", CALLED)
        self.write("tests/support/harmless.txt", f"# why\n{row} -> no\n")
        _, text = self.mutate()
        self.assertIn("1 harmless", text)
        self.assertNotIn(row, text)
        self.write("tests/unit/lib/test_sum.c", SUM_TEST)
        self.write("tests/support/harmless.txt",
                   f"{row} -> no\n{stale} -> no\n")
        code, text = self.mutate()
        self.assertEqual(code, 1, text)
        self.assertIn(f"harmless.txt: {stale} (no such break)", text)
        self.assertIn(f"harmless.txt: {row} (a test notices it)", text)

    def test_help_and_an_unknown_option_build_and_break_nothing(self):
        code, text = self.mutate("--help")
        self.assertEqual(code, 0, text)
        self.assertIn(mutate.__doc__, text)
        for option in ("--brakes=5", "--breaks=five", "-x"):
            code, text = self.mutate(option)
            self.assertEqual(code, 2, text)
            self.assertIn("usage: mutate.py", text)
        self.assertFalse((self.root / "build").exists())

    def test_a_unit_test_that_fails_unbroken_ends_the_run(self):
        self.write("tests/unit/lib/test_sum.c",
                   "int main(void)\n{\n\tint sum_limit(int a, int b);\n"
                   "\treturn sum_limit(1, 1);\n}\n")
        code, text = self.mutate()
        self.assertEqual(code, 2, text)
        self.assertIn("test_sum fails unbroken", text)

    def test_an_interrupt_ends_all_programs_and_leaves_no_file(self):
        self.write("tests/unit/lib/test_sum.c", TELLING)
        notice = self.root / "build" / "notice"
        notice.parent.mkdir()
        os.mkfifo(notice)
        before = self.sources()
        with (tempfile.TemporaryDirectory(prefix="plimsoll-") as empty,
              self.start(NOTICE=str(notice), TMPDIR=empty) as run):
            with open(notice, encoding="utf-8") as opened:
                folder = opened.readline().strip()  # a broken program runs
                run.send_signal(signal.SIGINT)
                opened.read()  # until all of them have ended
            text = run.communicate()[0]
            self.assertEqual([path for path in (folder, empty)
                              if os.path.exists(path) and os.listdir(path)],
                             [])
        self.assertEqual(run.returncode, 128 + signal.SIGINT, text)
        self.assertEqual(self.sources(), before)
        self.assertEqual(self.sources(self.root / "build" / "mutate"), before)

    def sources(self, root=None):
        root = root or self.root
        return {path.relative_to(root): path.read_text() for folder in
                ("lib", "tests") for path in (root / folder).rglob("*.c")}


class Rows(unittest.TestCase):
    def test_each_harmless_break_is_one_of_the_code(self):
        with contextlib.chdir(ROOT):
            self.assertEqual(Harmless(read_files()).wrong, [])


if __name__ == "__main__":
    unittest.main()
