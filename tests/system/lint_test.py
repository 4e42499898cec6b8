"""tests/support/lint.py finds what it promises to find. Each test makes a small
tree of its own."""
import pathlib
import subprocess
import sys
import tempfile
import unittest

USES_PROGRAMS = False
LINT = pathlib.Path(__file__).resolve().parents[1] / "support" / "lint.py"


class Lint(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="plimsoll-")
        self.addCleanup(folder.cleanup)
        self.root = pathlib.Path(folder.name)
        for name in ("README.md", "CONTRIBUTING.md"):
            self.write(name, "A text.\n")

    def write(self, name, text):
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)

    def header(self, name, *lines):
        self.write(name, "\n".join(("/* A header. */", "#pragma once", "")
                                   + lines) + "\n")

    def lint(self):
        done = subprocess.run([sys.executable, LINT], cwd=self.root,
                              capture_output=True, text=True, check=False)
        return done.returncode, done.stdout

    def assert_found(self, *words):
        code, text = self.lint()
        self.assertEqual(code, 1, text)
        for word in words:
            self.assertIn(word, text)

    def test_a_clean_tree_passes(self):
        self.header("lib/a.h", "int a_get(void);")
        self.write("lib/a.c", '#include "lib/a.h"\n\n'
                   "int a_get(void)\n{\n\treturn 1;\n}\n")
        code, text = self.lint()
        self.assertEqual((code, text), (0, "house rules: kept\n"))

    def test_a_forbidden_include_names_both_rooms(self):
        self.header("scheduler/filter/a.h", '#include "scheduler/score/b.h"')
        self.header("scheduler/score/b.h")
        self.assert_found("room scheduler/filter may not include room "
                          "scheduler/score")

    def test_daemons_do_not_include_each_other(self):
        self.header("agent/a.h", '#include "aggregator/b.h"')
        self.header("aggregator/b.h")
        self.assert_found("room agent may not include room aggregator")

    def test_a_room_may_include_what_the_rooms_below_it_include(self):
        self.header("scheduler/filter/a.h", '#include "scheduler/cluster/b.h"',
                    '#include "lib/c.h"')
        self.header("scheduler/cluster/b.h")
        self.header("lib/c.h")
        _, text = self.lint()
        self.assertNotIn("scheduler/filter", text)

    def test_an_edge_that_no_include_needs_is_named(self):
        self.header("scheduler/filter/a.h", '#include "lib/c.h"')
        self.header("lib/c.h")
        self.assert_found("room scheduler/filter does not include room "
                          "scheduler/cluster")

    def test_a_room_that_nobody_drew_is_named(self):
        self.header("scheduler/attic/a.h")
        self.assert_found("scheduler/attic is not a room of EDGES")

    def test_calls_do_not_go_in_a_circle(self):
        for own, other in ("ab", "ba"):
            self.header(f"lib/{own}.h", f"int {own}_get(void);")
            self.write(f"lib/{own}.c",
                       f'#include "lib/{own}.h"\n\n#include "lib/{other}.h"\n'
                       f"\nint {own}_get(void)\n{{\n"
                       f"\treturn {other}_get();\n}}\n")
        self.assert_found("calls go in a circle: "
                          "lib/a -> lib/b -> lib/a")

    def test_a_library_stays_at_home(self):
        self.header("scheduler/a.h", "#include <sqlite3.h>")
        self.assert_found("sqlite3.h belongs in")

    def test_a_unit_test_does_not_use_the_machines_clock(self):
        name = "tests/unit/lib/test_a.c"
        self.write(name, "static uint64_t now(void)\n{\n"
                   "\treturn uv_hrtime();\n}\n")
        self.assert_found(f"{name}:3: uv_hrtime reads the real clock")
        self.write("tests/support/real_clock.txt",
                   f"# a comment\n{name} uv_hrtime a reason\n")
        self.assertEqual(self.lint()[0], 0)

    def test_a_place_that_no_longer_uses_the_machines_clock_is_named(self):
        self.write("tests/support/real_clock.txt",
                   "tests/unit/lib/test_a.c uv_hrtime a reason\n")
        self.assert_found("tests/support/real_clock.txt:1: "
                          "tests/unit/lib/test_a.c does not use uv_hrtime")

    def test_each_way_to_wait_in_real_time_is_found(self):
        for call in ("clock_gettime(CLOCK_MONOTONIC, &t);", "x = time(NULL);",
                     "nanosleep(&t, NULL);", "poll(&fd, 1, 500);",
                     "__real_clock_wall_us();", "timer_start(timer, 1, 0);",
                     "uv_timer_start(&timer, on_late, 9, 0);",
                     "setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &t, n);"):
            self.write("tests/unit/lib/test_a.c", f"\t{call}\n")
            self.assert_found("tests/unit/lib/test_a.c:1: ")
        self.write("tests/unit/lib/test_a.c", "\tpoll(&fd, 1, 0);\n"
                   "\tclock_wall_us();\nvoid timer_start(int x)\n")
        self.assertEqual(self.lint()[0], 0)

    def test_comments_stay_within_80_columns(self):
        self.header("lib/a.h", "/* " + "x" * 80 + " */")
        self.assert_found("a comment of more than 80 columns")

    def test_docs_stay_within_120_columns_but_for_tables_and_code(self):
        self.write("docs/a.md", f"| {'x' * 130} |\n\n```\n{'x' * 130}\n```\n")
        self.assertEqual(self.lint()[0], 0)
        self.write("docs/a.md", "x" * 130 + "\n")
        self.assert_found("docs/a.md:1: a line of more than 120 columns")

    def test_documents_beside_readme_are_checked_as_well(self):
        for name in ("SECURITY.md", ".github/A_TEMPLATE.md"):
            self.write(name, "x" * 130 + "\n")
            self.assert_found(f"{name}:1: a line of more than 120 columns")

    def test_one_text_below_a_heading_begins_with_the_same_bold_words(self):
        self.write("docs/a.md", "# A\n\n**Rights** are two.\n\n"
                   "# B\n\n**Rights** are three.\n")
        self.assertEqual(self.lint()[0], 0)
        self.write("docs/a.md", "# A\n\n**Rights** are two, and\n"
                   "**Rights** are three.\n")
        self.assert_found("docs/a.md:4: **Rights** begins two texts below "
                          "one heading")

    def test_docs_name_files_that_exist(self):
        self.write("docs/a.md", "See `lib/gone.h`.\n")
        self.assert_found("docs/a.md:1: there is no file lib/gone.h")

    def test_no_sentence_begins_with_its_object(self):
        for text in ("Who asks gets an answer.", "It works. What is left is"
                     " dropped.", "Of two reports the later\nis sent."):
            self.write("docs/a.md", text + "\n")
            self.assert_found("a sentence begins with its object")
        self.header("lib/a.h", "/* Whoever\n * calls this frees it. */")
        self.assert_found("lib/a.h:4: a sentence begins with its object")

    def test_a_test_waits_for_conditions_with_one_limit(self):
        for line in ("time.sleep(1)", "child.wait(60)", "child.wait(LATE_S)",
                     "eventually('x', probe, seconds=60)",
                     "subprocess.run(['x'], timeout=2 * 30)",
                     "socket.create_connection(at, 5)",
                     "assert time.monotonic() - began < 5",
                     "self.assertLess(took, 5)"):
            self.write("tests/a.py", "took = time.time() - began\n"
                       f"LATE_S = 60\n{line}\n")
            self.assert_found("tests/a.py:3: ")
        for line in ("child.wait(PATIENCE_S)", "child.wait()",
                     "self.assertLess(took, other)",
                     "while not stopping.wait(0.2): pass"):
            self.write("tests/a.py", "took = time.time() - began\n"
                       f"{line}\n")
            self.assertEqual(self.lint()[0], 0, line)

    def test_a_wait_that_is_allowed_is_needed(self):
        self.write("tests/support/harness.py", "time.sleep(every)\n")
        self.write("tests/bench/a.py", "time.sleep(1)\n")
        self.assertEqual(self.lint()[0], 0)
        self.write("tests/support/harness.py", "")
        self.assert_found("tests/support/harness.py:1: lint_waits.py has a "
                          "row that is no longer needed: time.sleep(every)")

    def test_a_question_and_a_heading_may_begin_so(self):
        self.write("docs/a.md", "# Who may read\n\nWho may read? Nobody.\n\n"
                   "| What it is | x |\n")
        self.header("lib/a.h", "/* What does it cost? Nothing. */")
        code, text = self.lint()
        self.assertEqual(code, 0, text)


if __name__ == "__main__":
    unittest.main()
