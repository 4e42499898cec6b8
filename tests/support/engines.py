"""Engines for time series on loopback: Debian's prometheus and
victoria-metrics, and one that only pretends, for what those will not do."""
import collections
import http.server
import json
import pathlib
import socket
import threading
import time
import urllib.parse

from harness import ROOT, Program, eventually, http_get
from protobuf import write_request

DEBIAN = ROOT / "build/ci/debian"


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


class Engine(Program):
    """Kept over restarts, with its data."""
    package = binary = write_path = ready_path = None

    def __init__(self, folder):
        self.port = free_port()
        self.data = pathlib.Path(folder, f"{self.package}-data")
        program = DEBIAN / self.package / "usr/bin" / self.binary
        if not program.exists():
            raise AssertionError(
                f"{program} is missing: tests/support/fetch.sh "
                f"build/ci/debian {self.package} brings it from the network")
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
        eventually(f"{self.name} is ready", is_ready, 60)
        return self

    def end(self):
        """As suddenly as it can be without losing what it has taken."""
        self.kill()


class Prometheus(Engine):
    package = binary = "prometheus"
    write_path, ready_path = "/api/v1/write", "/-/ready"

    def flags(self, folder):
        config = folder / "prometheus.yml"
        # What docs/operations.md asks for.
        config.write_text("storage: {tsdb: {out_of_order_time_window: 1d}}")
        return [f"--config.file={config}", f"--storage.tsdb.path={self.data}",
                f"--web.listen-address=127.0.0.1:{self.port}",
                "--web.enable-remote-write-receiver"]

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
        """It answers before what it took is on the disk."""
        self.stop(30)

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


TAKEN = (204, {}, b"")
Came = collections.namedtuple("Came", "status headers body at")


class Fake:
    """Answers as `judge` says of a body, then as `answers`, then with 204;
    keeps what came and when. An answer is (status, headers, body); body may be
    a function of the handler."""

    def __init__(self, trust=None):
        self.answers, self.came = [], []
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
            told = self.judge(body)
            if told is None:
                told = self.answers.pop(0) if self.answers else TAKEN
            status, headers, text = told
            self.came.append(Came(status, handler.headers, body,
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
        """{labels: {ms: value}} of what it took; what came twice fails."""
        found = {}
        with self.lock:
            taken = [came for came in self.came if came.status == 204]
        for came in taken:
            for labels, samples in write_request(came.body):
                assert list(labels) == sorted(labels), labels
                times = [at for at, _ in samples]
                assert times == sorted(set(times)), times
                one = found.setdefault(labels, {})
                for at, value in samples:
                    assert at not in one, f"{labels} at {at} came twice"
                    one[at] = value
        return found

    def close(self):
        self.server.shutdown()
        self.server.server_close()
        self.thread.join()
