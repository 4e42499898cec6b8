"""kubectl plimsoll page with a stand-in for kubectl
(tests/support/fake_kubectl.py)."""
import os
import pathlib
import pty
import signal
import subprocess
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))

from harness import PATIENCE_S, eventually  # noqa: E402
from plugin_case import API, NOT_SERVED, PLUGIN, PluginCase  # noqa: E402

SERVING = "Starting to serve on 127.0.0.1:4711\n"
URL = f"http://127.0.0.1:4711{API}/ui"


class Page(PluginCase):
    def setUp(self):
        super().setUp()
        self.answer("^get --raw", "<html>")
        self.answer("^proxy", SERVING, stays=True)

    def start(self, *arguments, stdout=subprocess.PIPE, **variables):
        environment = {name: value for name, value
                       in self.environment().items()
                       if name not in ("DISPLAY", "WAYLAND_DISPLAY")}
        child = subprocess.Popen(
            [PLUGIN, "page", *arguments], text=True, stdout=stdout,
            stderr=subprocess.PIPE, env=environment | variables)
        self.addCleanup(child.stderr.close)
        self.addCleanup(child.wait)
        self.addCleanup(child.kill)
        return child

    def test_it_prints_the_address_and_ctrl_c_ends_the_proxy(self):
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            child = self.start("--context=east", "-n", "x")
            self.addCleanup(child.stdout.close)
            self.assertEqual(child.stdout.readline(), URL + "\n")
            child.send_signal(number)
            self.assertEqual(child.wait(PATIENCE_S), 130)
            # It has ended: nothing holds the pipe open.
            self.assertEqual(child.stdout.read(), "")
        call, _ = self.calls()[-1]
        self.assertEqual(call, [
            "proxy", "--port=0",
            r"--accept-paths=^/apis/load\.plimsoll\.io/",
            "--reject-methods=POST,PUT,PATCH,DELETE", "--context=east",
            "--namespace=x"])

    def test_a_proxy_that_ends_ends_the_command_with_its_words(self):
        self.answer("^proxy", "", err="error: no port is free\n", status=3)
        done = self.plugin("page")
        self.assertEqual((done.returncode, done.stdout, done.stderr),
                         (3, "", "error: no port is free\n"))

    def test_no_proxy_starts_where_there_is_no_page(self):
        self.answer("^get --raw", err=NOT_SERVED, status=1)
        self.assertIn("deploy/overlays/kubectl", self.fails("page"))
        self.assertFalse([c for c, _ in self.calls() if c[0] == "proxy"])

    def test_other_output_of_kubectl_is_no_address(self):
        self.answer("^proxy", "Starting to serve on 192.0.2.1:80\nhello\n")
        done = self.plugin("page")
        self.assertEqual((done.returncode, done.stdout), (0, ""))

    def test_a_browser_opens_on_a_terminal_with_a_display(self):
        opened = self.folder / "opened"
        program = self.folder / "xdg-open"
        program.write_text(f'#!/bin/sh\necho "$1" > "{opened}.new"\n'
                           f'mv "{opened}.new" "{opened}"\n')
        program.chmod(0o755)
        path = f"{self.folder}:{os.environ['PATH']}"
        for flags, variables, opens in (
                ((), {"DISPLAY": ":7"}, True),
                (("--no-browser",), {"DISPLAY": ":7"}, False),
                ((), {}, False)):
            with self.subTest(flags=flags, variables=variables):
                terminal, inside = pty.openpty()
                child = self.start(*flags, stdout=inside, PATH=path,
                                   **variables)
                os.close(inside)
                self.assertEqual(os.read(terminal, 4096).decode().strip(), URL)
                if opens:
                    eventually("the browser opens", opened.exists)
                    self.assertEqual(opened.read_text(), URL + "\n")
                    opened.unlink()
                child.send_signal(signal.SIGINT)
                self.assertEqual(child.wait(PATIENCE_S), 130)
                self.assertFalse(opened.exists())
                os.close(terminal)

    def test_arguments_are_refused(self):
        self.assertIn("page takes no arguments", self.fails("page", "x"))


if __name__ == "__main__":
    unittest.main()
