"""The files of the page, as browsers and programs get them from the aggregator's
HTTP listener."""
import gzip
import http.client
import pathlib
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))

from harness import (PATIENCE_S, ROOT, Aggregator, Folder,  # noqa: E402
                     kubeconfig)

# As Firefox sends it.
BROWSER = ("text/html,application/xhtml+xml,application/xml;q=0.9,"
           "*/*;q=0.8")
TYPES = {".html": "text/html; charset=utf-8", ".css": "text/css; charset=utf-8",
         ".js": "text/javascript; charset=utf-8", ".svg": "image/svg+xml"}


class Page(unittest.TestCase):
    FLAGS = ()

    @classmethod
    def setUpClass(cls):
        cls.folder = Folder()
        cls.addClassCleanup(cls.folder.close)
        cls.aggregator = cls.folder.add(Aggregator(
            cls.folder.path, "aggregator", *cls.flags())).start()

    @classmethod
    def flags(cls):
        return ()

    def ask(self, path, method="GET", **headers):
        """The status, the headers and the body."""
        connection = http.client.HTTPConnection(
            "127.0.0.1", self.aggregator.ports[1], timeout=PATIENCE_S)
        self.addCleanup(connection.close)
        connection.request(method, path, headers={
            name.replace("_", "-"): value for name, value in headers.items()})
        answer = connection.getresponse()
        return answer.status, answer.headers, answer.read()

    def files(self):
        return [p for p in (ROOT / "page").iterdir() if p.suffix in TYPES]


class Served(Page):
    def test_a_browser_gets_the_page_and_a_program_the_paths(self):
        page = (ROOT / "page/index.html").read_bytes()
        status, headers, body = self.ask("/", Accept=BROWSER)
        self.assertEqual((status, headers["Content-Type"], body),
                         (200, "text/html; charset=utf-8", page))
        for accept in ("*/*", "application/json", "text/html;q=0.1, */*"):
            self.assertTrue(self.ask("/", Accept=accept)[2].startswith(
                b'{"paths":'), accept)

    def test_each_file_is_the_one_of_the_tree(self):
        for path in self.files():
            with self.subTest(path.name):
                status, headers, body = self.ask(f"/ui/{path.name}")
                self.assertEqual((status, body), (200, path.read_bytes()))
                self.assertEqual(headers["Content-Type"], TYPES[path.suffix])

    def test_a_browser_gets_them_compressed(self):
        names = [path.name for path in self.files()] + [
            "dygraph.js", "dygraph.css"]
        for name in names:
            with self.subTest(name):
                _, _, plain = self.ask(f"/ui/{name}")
                _, headers, body = self.ask(f"/ui/{name}",
                                            Accept_Encoding="gzip, br")
                self.assertEqual(headers["Content-Encoding"], "gzip")
                self.assertEqual(gzip.decompress(body), plain)

    def test_dygraphs_comes_with_its_licence(self):
        _, _, body = self.ask("/ui/dygraph.js")
        self.assertIn(b"(MIT)", body[:200])
        self.assertNotIn(b"sourceMappingURL", body)
        self.assertIn(b".dygraph-legend", self.ask("/ui/dygraph.css")[2])

    def test_a_file_that_the_browser_has_is_not_sent_again(self):
        _, headers, _ = self.ask("/", Accept=BROWSER)
        status, again, body = self.ask("/", Accept=BROWSER,
                                       If_None_Match=headers["ETag"])
        self.assertEqual((status, body), (304, b""))
        self.assertEqual(again["ETag"], headers["ETag"])

    def test_other_methods_and_files_are_refused(self):
        self.assertEqual(self.ask("/ui/index.html", method="POST")[0], 405)
        self.assertEqual(self.ask("/", method="POST", Accept=BROWSER)[0], 405)
        self.assertEqual(self.ask("/ui/../ui/x")[0], 404)
        self.assertEqual(self.ask("/ui/%2e%2e/Makefile")[0], 404)


class Protected(Page):
    """With --http-auth kubernetes and no API server that answers."""

    @classmethod
    def flags(cls):
        return ("--http-auth", "kubernetes", "--kubeconfig",
                kubeconfig(cls.folder.path))

    def test_the_files_need_no_token_and_the_data_does(self):
        self.assertEqual(self.ask("/", Accept=BROWSER)[0], 200)
        self.assertEqual(self.ask("/ui/dygraph.css")[0], 200)
        for path in ("/", "/v1/nodes", "/metrics", "/nothing"):
            self.assertEqual(self.ask(path)[0], 401, path)


if __name__ == "__main__":
    unittest.main()
