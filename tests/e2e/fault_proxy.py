"""A proxy before the API server that does to requests what networks, load
balancers and servers in trouble do. Everything else goes through."""
import http.client
import http.server
import json
import socket
import ssl
import threading


class Fault:
    """Meets requests until it was met `times` times; is_met(handler) says
    whether it is the one, act(handler, forward) what happens."""

    def __init__(self, is_met, act, times=1):
        self.is_met, self.act, self.times = is_met, act, times
        self.met = 0


class FaultProxy:
    """Serves TLS with `keys` (deploy/certs.sh) as localhost."""

    def __init__(self, kube, keys, folder):
        self.kube, self.faults = kube, []
        self.watching = set()  # sockets of watches under way
        self.lock = threading.Lock()
        self.server = http.server.ThreadingHTTPServer(
            ("127.0.0.1", 0), self.handler_class())
        self.server.daemon_threads = True
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(keys / "aggregator.crt",
                                keys / "aggregator.key")
        self.server.socket = context.wrap_socket(
            self.server.socket, server_side=True,
            do_handshake_on_connect=False)
        threading.Thread(target=self.server.serve_forever,
                         daemon=True).start()
        self.kubeconfig = self.write_kubeconfig(keys, folder)

    def write_kubeconfig(self, keys, folder):
        path = folder / "proxy.kubeconfig"
        port = self.server.server_address[1]
        path.write_text(json.dumps({
            "apiVersion": "v1", "kind": "Config", "current-context": "c",
            "contexts": [{"name": "c",
                          "context": {"cluster": "c", "user": "u"}}],
            "clusters": [{"name": "c", "cluster": {
                "server": f"https://localhost:{port}",
                "certificate-authority": str(keys / "servers-ca.crt")}}],
            "users": [{"name": "u", "user": {"token": "any"}}]}))
        return path

    def handler_class(proxy):  # the handler has a self of its own
        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def log_message(self, *_):
                """Tests look at what the programs log."""

            def serve(self):
                length = int(self.headers.get("Content-Length") or 0)
                self.body = self.rfile.read(length)
                fault = proxy.find(self)
                try:
                    if fault is None:
                        proxy.forward(self)
                    else:
                        fault.act(self, lambda: proxy.forward(self))
                except (OSError, http.client.HTTPException):
                    self.close_connection = True  # one of them is gone

            do_GET = do_POST = do_PUT = do_PATCH = do_DELETE = serve
        return Handler

    def find(self, handler):
        with self.lock:
            for fault in self.faults:
                if fault.met < fault.times and fault.is_met(handler):
                    fault.met += 1
                    return fault
        return None

    def add(self, is_met, act, times=1):
        fault = Fault(is_met, act, times)
        with self.lock:
            self.faults.append(fault)
        return fault

    def upstream(self, handler):
        """The answer of the API server, which is still to be read."""
        link = http.client.HTTPSConnection(
            self.kube.server.hostname, self.kube.server.port,
            context=self.kube.tls, timeout=700)
        headers = {name: handler.headers[name]
                   for name in ("Content-Type", "Accept")
                   if handler.headers[name]}
        link.request(handler.command, handler.path, handler.body or None,
                     headers)
        return link.getresponse()

    def forward(self, handler, change=None):
        """Gives the answer on as it comes. change(bytes) makes something
        else of each piece; None breaks the connection off."""
        answer = self.upstream(handler)
        if "watch=1" in handler.path:
            self.watching.add(handler.connection)
        begin(handler, answer.status, answer.headers["Content-Type"],
              answer.headers["Retry-After"])
        while True:
            piece = answer.read1(65536)
            if not piece:
                break
            if change is not None:
                piece, goes_on = change(piece)
                chunk(handler, piece)
                if not goes_on:
                    handler.close_connection = True
                    return
            else:
                chunk(handler, piece)
        handler.wfile.write(b"0\r\n\r\n")

    def cut_streams(self):
        """Ends the watches under way, as a load balancer that restarts."""
        while self.watching:
            try:
                self.watching.pop().shutdown(socket.SHUT_RDWR)
            except OSError:
                pass  # it has ended by itself

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
    """An act: the API server's Status in place of an answer."""
    body = json.dumps({"kind": "Status", "apiVersion": "v1", "metadata": {},
                       "status": "Failure", "code": status,
                       "message": f"made up {status}", **more}).encode()

    def act(handler, _forward):
        begin(handler, status, retry_after=retry_after)
        chunk(handler, body)
        handler.wfile.write(b"0\r\n\r\n")
    return act


def is_watch(resource):
    return lambda h: (h.path.startswith(f"/api/v1/{resource}?")
                      and "watch=1" in h.path)


def is_list(resource):
    return lambda h: (h.path.startswith(f"/api/v1/{resource}?")
                      and "watch=1" not in h.path)


def is_binding(handler):
    return handler.command == "POST" and handler.path.endswith("/binding")


def is_anything(_handler):
    return True
