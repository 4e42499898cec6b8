"""Debian's Chromium for tests, driven by its chromedriver: the protocol of W3C
WebDriver over HTTP, and of DevTools through the driver.

    browser = Browser(folder.path)        # a temporary folder
    try:
        browser.open("http://127.0.0.1:7474/")
        browser.await_element("#view[data-ready=true]")
        browser.click("th button")
        assert not browser.complaints()
    finally:
        browser.close()

The browser keeps what the page says to the console, uncaught errors, what the
Content-Security-Policy forbids, and each request that the page sends. There
are no pauses: every wait is one for a condition."""
import base64
import contextlib
import json
import os
import pathlib
import re
import signal
import urllib.error
import urllib.request

from harness import PATIENCE_S, Program, eventually

CHROMIUM = "/usr/lib/chromium/chromium"
DRIVER = "/usr/bin/chromedriver"
WIDTH, HEIGHT = 1400, 900
# The key under which WebDriver names an element (W3C WebDriver, 11).
ELEMENT = "element-6066-11e4-a52e-4f735466cecf"
# What Chromium asks of other hosts by itself is turned off. The last flag lets
# it run in containers whose /dev/shm is small.
FLAGS = ("--headless", "--no-sandbox", "--disable-gpu", "--disable-quic",
         "--no-first-run", "--disable-background-networking",
         "--disable-component-update", "--disable-sync",
         "--disable-default-apps", "--disable-extensions",
         "--force-device-scale-factor=1", "--disable-dev-shm-usage")
KEYS = {"Tab": "\ue004", "Enter": "\ue007", "Escape": "\ue00c",
        "PageUp": "\ue00e", "PageDown": "\ue00f", "End": "\ue010",
        "Home": "\ue011", "Left": "\ue012", "Up": "\ue013",
        "Right": "\ue014", "Down": "\ue015", "Shift": "\ue008"}
# Runs in each page before its own scripts.
OBSERVER = """
window.observed = {tasks: [], violations: [], errors: []};
new PerformanceObserver((list) => {
  for (const task of list.getEntries()) {
    window.observed.tasks.push([task.startTime, task.duration]);
  }
}).observe({type: "longtask", buffered: true});
document.addEventListener("securitypolicyviolation", (e) => {
  window.observed.violations.push(e.violatedDirective + " " + e.blockedURI);
});
window.addEventListener("unhandledrejection", (e) => {
  window.observed.errors.push("unhandled: " + e.reason);
});
window.addEventListener("error", (e) => {
  window.observed.errors.push("error: " + e.message);
});
"""


class Stale(Exception):
    """The element is not there, or not there any more."""


class WebDriverError(Exception):
    """chromedriver refused a command, or the script of one failed."""


GONE = ("no such element", "stale element reference",
        "element not interactable", "element click intercepted")


class Browser:
    """One window with an empty profile."""

    def __init__(self, folder, size=(WIDTH, HEIGHT)):
        self.profile = pathlib.Path(folder, "browser")
        self.downloads = self.profile / "downloads"
        self.downloads.mkdir(parents=True)
        self.session = None
        self.expected = []
        self.said, self.requests = [], []
        self.driver = Program(self.profile, "chromedriver",
                              [DRIVER, "--port=0"],
                              env={"HOME": str(self.profile),
                                   "TMPDIR": str(self.profile)})
        try:
            port = self.driver.start().wait_log(
                r"started successfully on port (\d+)").group(1)
            self.url = f"http://127.0.0.1:{port}"
            self.begin(size)
        except BaseException:
            self.close()
            raise

    def begin(self, size):
        options = {
            "binary": CHROMIUM,
            "args": [*FLAGS, f"--window-size={size[0]},{size[1]}",
                     f"--user-data-dir={self.profile / 'profile'}"],
            "prefs": {"download.default_directory": str(self.downloads)},
            "perfLoggingPrefs": {"enableNetwork": True, "enablePage": False}}
        made = self.call("POST", "/session", {"capabilities": {"alwaysMatch": {
            "browserName": "chrome", "goog:chromeOptions": options,
            "timeouts": dict.fromkeys(("script", "pageLoad"),
                                      PATIENCE_S * 1000),
            "goog:loggingPrefs": {"browser": "ALL",
                                  "performance": "ALL"}}}})
        self.session = made["sessionId"]
        self.browser_pid = made["capabilities"].get("goog:processID")
        # --window-size is that of the window with its frame.
        self.cdp("Emulation.setDeviceMetricsOverride", width=size[0],
                 height=size[1], deviceScaleFactor=1, mobile=False)
        self.cdp("Page.addScriptToEvaluateOnNewDocument", source=OBSERVER)
        # What Chromium's own first page asked for is of no interest.
        self.open("about:blank")
        self.collect()
        self.said.clear()
        self.requests.clear()

    def close(self):
        """Ends the browser and its driver, also a browser that hangs."""
        if self.session:
            with contextlib.suppress(OSError, WebDriverError):
                self.call("DELETE", f"/session/{self.session}")
        self.session = None
        self.driver.kill()
        for pid in self.left_running():
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)

    def left_running(self):
        """The processes that were started with this browser's profile."""
        found = []
        for path in pathlib.Path("/proc").glob("[0-9]*/cmdline"):
            with contextlib.suppress(OSError):
                if os.fsencode(self.profile) in path.read_bytes():
                    found.append(int(path.parent.name))
        return found

    # ---- the protocol ----

    def call(self, method, path, body=None):
        request = urllib.request.Request(
            self.url + path, method=method,
            data=None if body is None else json.dumps(body).encode(),
            headers={"Content-Type": "application/json"})
        opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
        try:
            with opener.open(request, timeout=PATIENCE_S) as answer:
                return json.load(answer)["value"]
        except urllib.error.HTTPError as no:
            why = json.load(no)["value"]
        if why["error"] in GONE:
            raise Stale(why["message"])
        raise WebDriverError(f"{why['error']}: {why['message']}")

    def do(self, command, **body):
        return self.call("POST", f"/session/{self.session}/{command}", body)

    def cdp(self, method, **params):
        """A command of the DevTools protocol."""
        return self.do("goog/cdp/execute", cmd=method, params=params)

    def run(self, script, *arguments):
        """What the script returns. The Content-Security-Policy of the page
        does not concern it."""
        return self.do("execute/sync", script=script, args=list(arguments))

    # ---- where the page is ----

    def open(self, url):
        self.do("url", url=url)

    def reload(self):
        self.do("refresh")

    def back(self):
        self.do("back")

    def location(self):
        return self.call("GET", f"/session/{self.session}/url")

    def go(self, fragment):
        """Another hash of the page that is open, as a link does."""
        self.run("location.hash = arguments[0]", fragment)

    def prefer(self, scheme):
        """"light" or "dark", as the system says."""
        self.cdp("Emulation.setEmulatedMedia", features=[
            {"name": "prefers-color-scheme", "value": scheme}])

    def resize(self, width, height):
        self.cdp("Emulation.setDeviceMetricsOverride", width=width,
                 height=height, deviceScaleFactor=1, mobile=False)

    # ---- elements, by CSS selectors ----

    def find(self, selector):
        return self.do("element", using="css selector",
                       value=selector)[ELEMENT]

    def count(self, selector):
        return self.run("return document.querySelectorAll(arguments[0])"
                        ".length", selector)

    def texts(self, selector):
        """The visible text of each element."""
        return self.run(
            "return [...document.querySelectorAll(arguments[0])]"
            ".map((e) => e.innerText.trim())", selector)

    def text(self, selector):
        return "\n".join(self.texts(selector))

    def attribute(self, selector, name):
        return self.run("const e = document.querySelector(arguments[0]);"
                        "return e && e.getAttribute(arguments[1])",
                        selector, name)

    def await_element(self, selector):
        eventually(f"the page has {selector}",
                   lambda: self.count(selector))

    def await_text(self, selector, pattern):
        """Waits until the text of the elements matches; the match."""
        try:
            return eventually(
                f"{selector} says {pattern}",
                lambda: re.search(pattern, self.text(selector)))
        except AssertionError as no:
            raise AssertionError(
                f"{no}; it says {self.text(selector)[:500]!r}") from None

    def await_true(self, claim, script, *arguments):
        return eventually(claim, lambda: self.run(script, *arguments))

    def click(self, selector):
        """As a person does: the element is scrolled into view and must not be
        covered. An element that is made again meanwhile is found again."""
        def clicked():
            with contextlib.suppress(Stale):
                self.do(f"element/{self.find(selector)}/click")
                return True
            return False
        eventually(f"{selector} can be clicked", clicked)

    def type(self, selector, text):
        """Replaces what an input holds."""
        element = self.find(selector)
        self.do(f"element/{element}/clear")
        self.do(f"element/{element}/value", text=text)

    def press(self, *keys):
        """Keys one after the other, by their name in KEYS or as letters. A
        name after Shift+ is pressed with Shift."""
        actions = []
        for key in keys:
            held = [KEYS["Shift"]] if key.startswith("Shift+") else []
            name = key.removeprefix("Shift+")
            value = KEYS.get(name, name)
            actions += [{"type": "keyDown", "value": v} for v in held]
            actions += [{"type": "keyDown", "value": value},
                        {"type": "keyUp", "value": value}]
            actions += [{"type": "keyUp", "value": v} for v in held]
        self.do("actions", actions=[
            {"type": "key", "id": "keyboard", "actions": actions}])

    def focused(self, expression="e.outerHTML.slice(0, 200)"):
        """An expression of the element e that has the focus."""
        return self.run(f"const e = document.activeElement;"
                        f"return {expression}")

    # ---- what it shows and stores ----

    def screenshot(self, path):
        picture = self.call("GET", f"/session/{self.session}/screenshot")
        pathlib.Path(path).write_bytes(base64.b64decode(picture))

    def downloaded(self, pattern="*"):
        """The text of the one complete download, which is removed."""
        def complete():
            files = [f for f in self.downloads.glob(pattern)
                     if f.suffix != ".crdownload"
                     and not f.name.startswith(".")]
            return files if len(files) == 1 else None
        [file] = eventually(f"{pattern} is downloaded", complete)
        text = file.read_text()
        file.unlink()
        return text

    def storage(self):
        """All that the page has put into the browser's stores, as text."""
        return json.dumps(self.run(
            "return [{...localStorage}, {...sessionStorage}, document.cookie,"
            " history.state, window.name]"))

    # ---- what it did ----

    def collect(self):
        """Takes over what the driver has noted since the last time."""
        if not self.session:
            return
        for entry in self.do("se/log", type="browser"):
            self.said.append((entry["level"], entry["source"],
                              entry["message"]))
        for entry in self.do("se/log", type="performance"):
            event = json.loads(entry["message"])["message"]
            if event["method"] == "Network.requestWillBeSent":
                self.requests.append(event["params"]["request"]["url"])

    def expect(self, *patterns):
        """Complaints that match one of these are none."""
        self.expected += patterns

    def complaints(self):
        """What the page said to the console, its errors and what its policy
        forbade, since it was opened first. Each is told once."""
        self.collect()
        found = [f"{level}: {source}: {message}"
                 for level, source, message in self.said
                 if level in ("SEVERE", "WARNING")]
        self.said.clear()
        seen = self.run("const o = window.observed || {violations: [],"
                        " errors: []}; return [...o.violations.splice(0),"
                        " ...o.errors.splice(0)]")
        return [c for c in found + seen
                if not any(re.search(p, c) for p in self.expected)]

    def requested(self):
        """The URLs of all requests of pages so far."""
        self.collect()
        return list(self.requests)

    def heap_bytes(self):
        """What the page holds after a garbage collection: objects of its
        scripts, arrays beside them, and the document."""
        self.cdp("HeapProfiler.collectGarbage")
        usage = self.cdp("Runtime.getHeapUsage")
        return sum(usage.get(name, 0) for name in (
            "usedSize", "embedderHeapUsedSize", "backingStorageSize"))

    def renderer_bytes(self):
        """The memory of the largest process that shows a page, with the
        heaps of workers and with Chromium's own code."""
        def resident(pid):
            with contextlib.suppress(OSError):
                folder = pathlib.Path("/proc", str(pid))
                if b"--type=renderer" in (folder / "cmdline").read_bytes():
                    text = (folder / "status").read_text()
                    return int(re.search(r"VmRSS:\s*(\d+)", text)[1]) << 10
            return 0
        return max(map(resident, self.left_running()), default=0)

    def long_tasks(self):
        """[start, duration] in ms of tasks above 50 ms, which are told
        once."""
        return self.run("return window.observed.tasks.splice(0)")
