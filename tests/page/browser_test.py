"""The browser of the tests: it notices what goes wrong in a page, and ends."""
import contextlib
import http.server
import os
import pathlib
import signal
import subprocess
import sys
import threading
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))

from browser import Browser, WebDriverError  # noqa: E402
from harness import Folder, eventually  # noqa: E402

POLICY = "default-src 'self'"
SUPPORT = pathlib.Path(__file__).resolve().parents[1] / "support"
# Says its browser's processes and waits until it is killed.
HOLDS_ONE = """
import pathlib, signal, sys
from browser import Browser
browser = Browser(sys.argv[1])
print("ready", flush=True)
signal.pause()
"""


class Site:
    """Serves texts by path."""

    def __init__(self, files):
        class Handler(http.server.BaseHTTPRequestHandler):
            def do_GET(self):
                kind, text = files.get(self.path, ("", None))
                self.send_response(404 if text is None else 200)
                self.send_header("Content-Type", kind)
                if self.path != "/without-policy":
                    self.send_header("Content-Security-Policy", POLICY)
                self.end_headers()
                self.wfile.write((text or "").encode())

            def log_message(self, *_):
                """Nothing."""
        self.server = http.server.ThreadingHTTPServer(
            ("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_port}"
        threading.Thread(target=self.server.serve_forever,
                         daemon=True).start()

    def close(self):
        self.server.shutdown()
        self.server.server_close()


def page(body):
    return ("text/html", "<!doctype html><title>a</title>"
            f"<link rel=icon href=icon>{body}")


class Notices(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = Folder()
        cls.addClassCleanup(cls.folder.close)
        script = "text/javascript"
        cls.site = Site({
            "/icon": ("image/svg+xml", "<svg/>"),
            "/without-policy": page("<script src=outside.js></script>"),
            "/clean": page("<button>b</button>"),
            "/throws": page("<script src=throws.js></script>"),
            "/throws.js": (script, "throw new Error('one');"),
            "/rejects": page("<script src=rejects.js></script>"),
            "/rejects.js": (script, "Promise.reject('two');"),
            "/says": page("<script src=says.js></script>"),
            "/says.js": (script, "console.error('three');"),
            "/inline": page("<script>four()</script>"),
            "/outside": page("<script src=outside.js></script>"),
            "/outside.js": (script,
                            "fetch('http://127.0.0.9/five')"
                            ".catch(() => null);"),
            "/busy": page("<script src=busy.js></script>"),
            "/busy.js": (script, "const t = performance.now();"
                         "while (performance.now() - t < 120);"),
            "/saves": page("<a id=a download=x.csv href=x.csv>x</a>"),
            "/x.csv": ("text/csv", "a,b\n1,2\n")})
        cls.addClassCleanup(cls.site.close)
        cls.browser = Browser(cls.folder.path)
        cls.addClassCleanup(cls.browser.close)

    def test_a_clean_page_has_no_complaints(self):
        self.browser.open(f"{self.site.url}/clean")
        self.browser.click("button")
        self.assertEqual(self.browser.complaints(), [])

    def test_errors_and_violations_are_complaints(self):
        for path, words in (("throws", "one"), ("rejects", "two"),
                            ("says", "three"), ("inline", "script-src"),
                            ("outside", "connect-src"),
                            ("missing", "404")):
            with self.subTest(path):
                self.browser.open(f"{self.site.url}/{path}")
                said = []

                def told(said=said, words=words):
                    said += self.browser.complaints()
                    return any(words in one for one in said)
                eventually(f"{path} complains of {words}", told)

    def test_requests_to_other_hosts_are_seen(self):
        self.browser.open(f"{self.site.url}/without-policy")
        eventually("the request is noted", lambda: any(
            "127.0.0.9" in url for url in self.browser.requested()))
        eventually("its failure is told", self.browser.complaints)

    def test_long_tasks_are_measured(self):
        self.browser.open(f"{self.site.url}/busy")
        tasks = eventually("the task is told", self.browser.long_tasks)
        self.assertGreaterEqual(max(ms for _, ms in tasks), 119)
        self.assertGreater(self.browser.heap_bytes(), 100_000)

    def test_a_download_is_read(self):
        self.browser.open(f"{self.site.url}/saves")
        self.browser.click("#a")
        self.assertEqual(self.browser.downloaded("x.csv"), "a,b\n1,2\n")
        self.assertEqual(self.browser.complaints(), [])

    def test_a_script_that_fails_is_an_error(self):
        with self.assertRaisesRegex(WebDriverError, "nowhere"):
            self.browser.run("return nowhere.x")


class Ends(unittest.TestCase):
    def setUp(self):
        self.folder = Folder()
        self.addCleanup(self.folder.close)

    def test_nothing_is_left_running(self):
        browser = Browser(self.folder.path)
        self.addCleanup(browser.close)
        self.assertGreater(len(browser.left_running()), 2)
        browser.close()
        self.assertEqual(browser.left_running(), [])

    def test_a_browser_whose_driver_died_ends_too(self):
        browser = Browser(self.folder.path)
        self.addCleanup(browser.close)
        browser.driver.process.send_signal(signal.SIGKILL)
        browser.close()
        eventually("the browser is gone",
                   lambda: not browser.left_running())

    def test_it_is_in_the_process_group_of_the_test(self):
        """run_tests.py kills that group."""
        with subprocess.Popen(
                [sys.executable, "-c", HOLDS_ONE, self.folder.path],
                stdout=subprocess.PIPE, env={"PYTHONPATH": str(SUPPORT),
                                             "PATH": "/usr/bin:/bin"},
                start_new_session=True) as process:
            self.addCleanup(self.end, process)
            self.assertEqual(process.stdout.readline(), b"ready\n")
            groups = {group_of(pid) for pid in self.left_running()}
            self.assertEqual(groups, {process.pid})
            self.end(process)
        eventually("all are gone", lambda: not self.left_running())

    def left_running(self):
        found = []
        for path in pathlib.Path("/proc").glob("[0-9]*/cmdline"):
            with contextlib.suppress(OSError):
                if str(self.folder.path / "browser/profile").encode() in \
                        path.read_bytes():
                    found.append(int(path.parent.name))
        return found

    @staticmethod
    def end(process):
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)


def group_of(pid):
    """The process group, by /proc/PID/stat."""
    text = pathlib.Path(f"/proc/{pid}/stat").read_text()
    return int(text.rpartition(")")[2].split()[2])


if __name__ == "__main__":
    unittest.main()
