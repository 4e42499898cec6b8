"""The page while its figures change, its aggregator is away, a history comes
from two sources, and a token is needed."""
import http.server
import json
import pathlib
import sys
import threading
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))

from harness import eventually  # noqa: E402
from page_case import PageCase, small_fleet  # noqa: E402

TOKEN = "good-token.of-ann"


class Live(PageCase):
    @classmethod
    def setUpClass(cls):
        cls.begin(fleet=small_fleet(3), history_s=120)

    def test_new_figures_appear_without_a_reload(self):
        self.show("#/nodes")
        self.browser.run("window.marker = 1")
        node = self.fleet.nodes[0]

        def cpu():
            return next(row["CPU"] for row in self.rows("nodes")
                        if row["Node"] == node.name)
        eventually("the row shows the load of before",
                   lambda: cpu() == "15 %")
        with self.fleet.lock:
            node.busy = 0.954
        self.addCleanup(setattr, node, "busy", 0.153)
        eventually("the row shows the load", lambda: cpu() == "95 %")
        self.assertEqual(self.browser.run("return window.marker"), 1)

    def test_a_waiting_page_asks_the_api_with_what_it_knows(self):
        self.show("#/nodes")

        def waits():
            return any("nodeloads" in url and "after=" in url
                       and "timeoutSeconds=" in url
                       for url in self.browser.requested())
        eventually("a long poll is sent", waits)

    def test_nothing_is_asked_while_the_page_is_paused(self):
        self.show("#/nodes")
        self.browser.click("#pause")
        self.browser.await_text("#pause", "Resume")
        self.assertEqual(self.browser.attribute("#pause", "aria-pressed"),
                         "true")
        self.browser.click("#pause")
        self.browser.await_text("#live", "live")

    def test_the_aggregator_goes_and_comes_again(self):
        self.browser.expect("ERR_CONNECTION_REFUSED", "ERR_EMPTY_RESPONSE",
                            "ERR_INCOMPLETE_CHUNKED_ENCODING",
                            "ERR_CONNECTION_RESET", " 503 ", " 404 ")
        self.show("#/nodes")
        before = self.rows("nodes")
        self.aggregator.kill()
        self.browser.await_text("#banner", "does not answer")
        self.assertEqual(len(self.rows("nodes")), len(before))
        self.aggregator.start()
        self.browser.await_true(
            "the banner is gone",
            "return document.getElementById('banner').hidden")
        self.await_rows("the nodes are fresh again", "nodes", lambda rows: all(
            row["State"] == "Fresh" for row in rows))


class EmptyEngine(http.server.BaseHTTPRequestHandler):
    """Answers each query over a range: there are no series."""

    def answer(self):
        body = json.dumps({"status": "success", "data": {
            "resultType": "matrix", "result": []}}).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    do_GET = do_POST = answer

    def log_message(self, *_arguments):
        pass


class TwoSources(PageCase):
    @classmethod
    def setUpClass(cls):
        cls.engine = http.server.ThreadingHTTPServer(
            ("127.0.0.1", 0), EmptyEngine)
        threading.Thread(target=cls.engine.serve_forever).start()
        cls.addClassCleanup(cls.end_engine)
        cls.begin("--remote-read",
                  f"http://127.0.0.1:{cls.engine.server_port}",
                  fleet=small_fleet(2), history_s=60)

    @classmethod
    def end_engine(cls):
        cls.engine.shutdown()
        cls.engine.server_close()

    def test_a_history_says_which_part_the_engine_gave_or_why_it_did_not(self):
        self.show("#/nodes/node-00?range=1d", "node")
        self.browser.await_text(
            "#view", r"Until [-\d]+ [:\d]+ UTC from the engine of remote read")
        self.end_engine()
        self.show("#/nodes/node-00?range=6h", "node")
        self.browser.await_text(
            "#view [role=alert]",
            r"Without the engine of remote read until .* UTC: \S+")


class Token(PageCase):
    expected = [" 401 ", r"outlook.* 503 "]  # the scheduler may come later

    @classmethod
    def setUpClass(cls):
        cls.begin("--http-auth", "kubernetes", fleet=small_fleet(2),
                  tokens={TOKEN: "ann"}, history_s=60)

    def ask_for_it(self, fragment):
        self.browser.open("about:blank")
        self.browser.open(f"{self.origin}/{fragment}")
        self.browser.await_true(
            "the form is shown", "const f = document.querySelector("
            "'#token-form'); return f && f.checkVisibility()")

    def test_a_token_is_asked_for_and_used(self):
        self.ask_for_it("#/nodes")
        self.assertEqual(self.rows("nodes"), [])
        self.assertEqual(self.browser.focused("e.id"), "token")
        self.browser.type("#token", TOKEN)
        self.browser.press("Enter")
        self.await_view("nodes")
        self.await_rows("the nodes are shown", "nodes",
                        lambda rows: len(rows) == 2)
        self.assertFalse(self.browser.run(
            "return document.querySelector('#token-form').checkVisibility()"))
        self.assert_kept_nowhere()
        # It ends with the page.
        self.ask_for_it("#/nodes")

    def assert_kept_nowhere(self):
        self.assertNotIn(TOKEN, self.browser.storage())
        self.assertNotIn(TOKEN, self.browser.location())
        self.assertEqual([url for url in self.browser.requested()
                          if TOKEN in url], [])
        self.assertEqual(self.browser.run(
            "return document.querySelector('#token').value"), "")
        self.assertNotIn(TOKEN, self.browser.run(
            "return document.documentElement.outerHTML"))

    def test_a_wrong_token_is_refused_in_words(self):
        self.ask_for_it("#/vms")
        self.browser.type("#token", "wrong")
        self.browser.press("Enter")
        self.browser.await_true(
            "the form is shown again", "return document.querySelector("
            "'#token-form').checkVisibility()")
        self.browser.await_text("#sign-in-why", r"\w+ \w+")
        self.browser.type("#token", TOKEN)
        self.browser.click("#token-form button")
        self.await_rows("the VMs are shown", "vms",
                        lambda rows: len(rows) == 8)

    def test_the_token_can_be_forgotten(self):
        self.ask_for_it("#/nodes")
        self.browser.type("#token", TOKEN)
        self.browser.press("Enter")
        self.await_rows("the nodes are shown", "nodes",
                        lambda rows: len(rows) == 2)
        self.browser.click("#forget")
        self.browser.await_true(
            "the form is shown again", "return document.querySelector("
            "'#token-form').checkVisibility()")


if __name__ == "__main__":
    unittest.main()
