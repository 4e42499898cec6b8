"""Time series engines on loopback: Debian's prometheus and victoria-metrics,
and a fake one for answers that real ones do not give."""
import collections
import http.server
import json
import pathlib
import threading
import time
import urllib.parse

from harness import ROOT, Program, eventually, http_get
from ports import free_port
from protobuf import write_request

DEBIAN = ROOT / "build/ci/debian"


class Engine(Program):
    """An engine whose port and data stay over restarts."""
    package = binary = write_path = ready_path = None

    def __init__(self, folder):
        self.port = free_port()
        self.data = pathlib.Path(folder, f"{self.package}-data")
        program = DEBIAN / self.package / "usr/bin" / self.binary
        if not program.exists():
            raise AssertionError(
                f"{program} is missing: run tests/support/fetch.sh "
                f"build/ci/debian {self.package}")
        super().__init__(folder, self.package,
                         [program, *self.flags(pathlib.Path(folder))])

    def flags(self, folder):
        raise NotImplementedError

    @property
    def url(self):
        return f"http://127.0.0.1:{self.port}"

    @property
    def write_url(self):
        return self.url + self.write_path

    def start(self):
        super().start()

        def is_ready():
            assert self.running(), self.log()[-2000:]
            try:
                return http_get(self.url + self.ready_path)[0] == 200
            except OSError:
                return False
        eventually(f"{self.name} is ready", is_ready)
        return self

    def end(self):
        """Ends the engine as suddenly as possible without losing samples that
        it has accepted."""
        self.kill()


class Prometheus(Engine):
    package = binary = "prometheus"
    write_path, ready_path = "/api/v1/write", "/-/ready"

    def __init__(self, folder, scrapes=None, is_strict=False):
        """scrapes: HOST:PORT whose /metrics are read each second, or {job:
        HOST:PORT}. is_strict: it refuses samples that are out of order."""
        self.scrapes, self.is_strict = scrapes, is_strict
        super().__init__(folder)

    def flags(self, folder):
        config = folder / "prometheus.yml"
        # As docs/operations.md recommends.
        settings = {} if self.is_strict else {
            "storage": {"tsdb": {"out_of_order_time_window": "1d"}}}
        if self.scrapes:
            jobs = (self.scrapes if isinstance(self.scrapes, dict)
                    else {"plimsoll": self.scrapes})
            settings["scrape_configs"] = [{
                "job_name": job, "scrape_interval": "1s",
                "scrape_timeout": "1s", "honor_labels": True,
                "static_configs": [{"targets": [target]}]}
                for job, target in jobs.items()]
        config.write_text(json.dumps(settings))
        return [f"--config.file={config}", f"--storage.tsdb.path={self.data}",
                f"--web.listen-address=127.0.0.1:{self.port}",
                "--web.enable-remote-write-receiver"]

    def ask(self, path, **query):
        """The data of an answer of the API, below /api/v1."""
        status, _, text = http_get(f"{self.url}/api/v1/{path}?"
                                   + urllib.parse.urlencode(query))
        assert status == 200, text
        return json.loads(text)["data"]

    def series(self):
        """{labels: {ms: value}} of the last hour."""
        query = urllib.parse.quote('{__name__=~".+"}[1h]')
        status, _, text = http_get(f"{self.url}/api/v1/query?query={query}")
        assert status == 200, text
        return {key(one["metric"]): {round(float(at) * 1000): float(value)
                                     for at, value in one["values"]}
                for one in json.loads(text)["data"]["result"]}


class Victoria(Engine):
    package = binary = "victoria-metrics"
    write_path, ready_path = "/api/v1/write", "/health"

    def flags(self, folder):
        return [f"-storageDataPath={self.data}", "-search.disableCache",
                "-search.latencyOffset=0s",
                f"-httpListenAddr=127.0.0.1:{self.port}"]

    def end(self):
        """This engine answers before the samples are on disk."""
        self.stop()

    def series(self):
        http_get(f"{self.url}/internal/force_flush")
        match = urllib.parse.quote('{__name__=~".+"}')
        status, _, text = http_get(
            f"{self.url}/api/v1/export?match[]={match}")
        assert status == 200, text
        found = {}
        for line in text.splitlines():
            one = json.loads(line)
            found.setdefault(key(one["metric"]), {}).update(
                zip(one["timestamps"], one["values"]))
        return found


def key(labels):
    return tuple(sorted(labels.items()))


ACCEPTED = (204, {}, b"")
Request = collections.namedtuple("Request", "status headers body at")


class Fake:
    """Records requests. The answer is that of judge(body), or else the next of
    `answers`, or else 204. An answer is (status, headers, body); body may be a
    function that is called with the handler and sends the answer itself."""

    def __init__(self, trust=None):
        self.answers, self.requests = [], []
        self.judge = lambda body: None
        self.lock = threading.Lock()
        fake = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self):
                fake.serve(self)

            def log_message(self, *_):
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0),
                                                      Handler)
        self.server.daemon_threads = True
        if trust is not None:
            self.server.socket = trust.wrap_socket(self.server.socket,
                                                   server_side=True)
        self.url = (f"{'https' if trust else 'http'}://localhost:"
                    f"{self.server.server_address[1]}/write")
        self.thread = threading.Thread(target=self.server.serve_forever,
                                       daemon=True)
        self.thread.start()

    def serve(self, handler):
        body = handler.rfile.read(int(handler.headers["Content-Length"]))
        with self.lock:
            answer = self.judge(body)
            if answer is None:
                answer = self.answers.pop(0) if self.answers else ACCEPTED
            status, headers, text = answer
            self.requests.append(Request(status, handler.headers, body,
                                         time.monotonic()))
        if callable(text):
            text(handler)
            return
        handler.send_response(status)
        for name, value in headers.items():
            handler.send_header(name, value)
        if status != 204:
            handler.send_header("Content-Length", str(len(text)))
        handler.end_headers()
        handler.wfile.write(text)

    def series(self):
        """{labels: {ms: value}} of accepted requests. AssertionError if a
        sample was sent twice."""
        found = {}
        with self.lock:
            accepted = [r for r in self.requests if r.status == 204]
        for request in accepted:
            for labels, samples in write_request(request.body):
                assert list(labels) == sorted(labels), labels
                times = [at for at, _ in samples]
                assert times == sorted(set(times)), times
                one = found.setdefault(labels, {})
                for at, value in samples:
                    assert at not in one, f"{labels} at {at} was sent twice"
                    one[at] = value
        return found

    def close(self):
        self.server.shutdown()
        self.server.server_close()
        self.thread.join()
