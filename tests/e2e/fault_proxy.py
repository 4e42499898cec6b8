"""A proxy before the API server that disturbs requests as networks, load
balancers and servers in trouble do, and forwards all others."""
import http.client
import http.server
import json
import socket
import ssl
import threading
import urllib.parse

from harness import PATIENCE_S
from tls_server import serve_tls, write_kubeconfig


class Fault:
    """Disturbs the first `times` requests for which is_met(handler) is true,
    by act(handler, forward)."""

    def __init__(self, is_met, act, times=1):
        self.is_met, self.act, self.times = is_met, act, times
        self.met = 0


class FaultProxy:
    """Serves TLS with `keys` (deploy/certs.sh) as localhost."""

    def __init__(self, kube, keys, folder):
        self.kube, self.faults = kube, []
        self.watching = set()  # the sockets of open watches
        self.cuts = 0
        self.lock = threading.Lock()
        self.server = serve_tls(self.handler_class(), keys)
        self.kubeconfig = write_kubeconfig(
            folder / f"proxy-{self.server.server_port}.kubeconfig",
            self.server, keys, "any")

    def handler_class(proxy):  # the handler has a self of its own
        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def handle(self):
                """A client that does not trust the certificate says so."""
                try:
                    super().handle()
                except ssl.SSLError:
                    self.close_connection = True

            def log_message(self, *_):
                """Tests read the logs of the programs only."""

            def serve(self):
                length = int(self.headers.get("Content-Length") or 0)
                self.body = self.rfile.read(length)
                self.cuts, fault = proxy.find(self)
                try:
                    if fault is None:
                        proxy.forward(self)
                    else:
                        fault.act(self, lambda: proxy.forward(self))
                except (OSError, http.client.HTTPException):
                    self.close_connection = True  # a peer is gone

            do_GET = do_POST = do_PUT = do_PATCH = do_DELETE = serve
        return Handler

    def find(self, handler):
        """How often streams were cut before this request, and its fault."""
        with self.lock:
            for fault in self.faults:
                if fault.met < fault.times and fault.is_met(handler):
                    fault.met += 1
                    return self.cuts, fault
            return self.cuts, None

    def add(self, is_met, act, times=1):
        fault = Fault(is_met, act, times)
        with self.lock:
            self.faults.append(fault)
        return fault

    def upstream(self, handler):
        """The answer of the API server; its body is not read yet."""
        link = http.client.HTTPSConnection(
            self.kube.server.hostname, self.kube.server.port,
            context=self.kube.tls, timeout=PATIENCE_S)
        headers = {name: handler.headers[name]
                   for name in ("Content-Type", "Accept")
                   if handler.headers[name]}
        link.request(handler.command, handler.path, handler.body or None,
                     headers)
        return link.getresponse()

    def forward(self, handler, change=None):
        """Forwards the answer piece by piece. change(bytes) returns what to
        send in place of a piece, and whether the connection continues."""
        answer = self.upstream(handler)
        if "watch=1" in handler.path and not self.opens(handler):
            handler.close_connection = True
            return
        begin(handler, answer.status, answer.headers["Content-Type"],
              answer.headers["Retry-After"])
        while True:
            piece = answer.read1(65536)
            if not piece:
                break
            if change is not None:
                piece, continues = change(piece)
                chunk(handler, piece)
                if not continues:
                    handler.close_connection = True
                    return
            else:
                chunk(handler, piece)
        handler.wfile.write(b"0\r\n\r\n")

    def opens(self, handler):
        """False for a watch whose request came before the latest cut: its
        faults are of that time, so it must not outlive the cut."""
        with self.lock:
            if handler.cuts != self.cuts:
                return False
            self.watching.add(handler.connection)
            return True

    def cut_streams(self):
        """Ends the open watches, as a load balancer does that restarts."""
        with self.lock:
            self.cuts += 1
            watching, self.watching = self.watching, set()
        for connection in watching:
            try:
                connection.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass  # the watch has ended by itself

    def close(self):
        self.server.shutdown()
        self.server.server_close()


def begin(handler, status, kind="application/json", retry_after=None):
    handler.send_response(status)
    handler.send_header("Content-Type", kind or "application/json")
    if retry_after:
        handler.send_header("Retry-After", retry_after)
    handler.send_header("Transfer-Encoding", "chunked")
    handler.end_headers()


def chunk(handler, data):
    handler.wfile.write(b"%x\r\n%s\r\n" % (len(data), data))
    handler.wfile.flush()


def answer(status, retry_after=None, **more):
    """An act that answers with an API server's Status."""
    body = json.dumps({"kind": "Status", "apiVersion": "v1", "metadata": {},
                       "status": "Failure", "code": status,
                       "message": f"synthetic {status}", **more}).encode()

    def act(handler, _forward):
        begin(handler, status, retry_after=retry_after)
        chunk(handler, body)
        handler.wfile.write(b"0\r\n\r\n")
    return act


def selects(handler, resource, fields):
    """A list or watch of all namespaces with this field selector."""
    url = urllib.parse.urlsplit(handler.path)
    query = urllib.parse.parse_qs(url.query)
    return url.path == f"/api/v1/{resource}" and (
        query.get("fieldSelector") == [fields])


def is_watch(resource, fields):
    return lambda h: selects(h, resource, fields) and "watch=1" in h.path


def is_list(resource, fields):
    return lambda h: selects(h, resource, fields) and "watch=1" not in h.path


def is_binding(handler):
    return handler.command == "POST" and handler.path.endswith("/binding")


def is_read_of(prefix):
    """GET of a pod whose name has this prefix."""
    return lambda h: h.command == "GET" and f"/pods/{prefix}" in h.path


def is_anything(_handler):
    return True
