"""A stand-in for the API server that serves lists and watches of all kinds, and
a relay before it that drops connections as a load balancer does: the server's
side ends, and the client's side stays open and hears nothing."""
import collections
import json
import re
import socket
import threading
import types
import urllib.parse

from harness import PATIENCE_S
from secure import certs
from tls_server import JsonHandler, serve_tls, write_kubeconfig

FIRST_VERSION = 7
# All objects of a kind, or of a kind in kube-system.
LISTED = re.compile(r"/api/v1/(namespaces/kube-system/)?[a-z]+|"
                    r"/apis/[a-z.0-9]+/[a-z0-9]+/[a-z]+")

# A watch, or a list, as a client asked for it. version: "" of a list.
Asked = collections.namedtuple("Asked", "path fields labels version")


class WatchStandIn:
    """objects: path -> the objects of its list. Everything is in version
    FIRST_VERSION until add()."""

    def __init__(self, folder, objects):
        self.objects, self.events = objects, []
        self.asked, self.posted = [], []
        self.changed = threading.Condition()
        self.is_closed = False
        keys = folder / "stand-in-keys"
        certs("new", keys)
        self.server = serve_tls(self.handler_class(), keys)
        self.relay = Relay(self.server.server_port)
        self.kubeconfig = write_kubeconfig(
            folder / "relayed.kubeconfig",
            types.SimpleNamespace(server_port=self.relay.port), keys, "any")

    def close(self):
        with self.changed:
            self.is_closed = True
            self.changed.notify_all()
        self.relay.close()
        self.server.shutdown()
        self.server.server_close()

    def add(self, path, kept, item):
        """An event for the watches of this path whose field selector has this
        text."""
        with self.changed:
            version = FIRST_VERSION + 1 + len(self.events)
            item["metadata"]["resourceVersion"] = str(version)
            self.events.append((version, path, kept, item))
            self.changed.notify_all()

    def handler_class(stand_in):  # the handler has a self of its own
        class Handler(JsonHandler):
            def do_GET(self):
                url = urllib.parse.urlsplit(self.path)
                query = dict(urllib.parse.parse_qsl(url.query))
                if not LISTED.fullmatch(url.path):
                    self.answer(404, {"kind": "Status", "code": 404})
                    return
                asked = Asked(url.path, query.get("fieldSelector", ""),
                              query.get("labelSelector", ""),
                              query.get("resourceVersion", ""))
                stand_in.asked.append(asked)
                if "watch" in query:
                    self.watch(asked)
                else:
                    self.answer(200, {
                        "metadata": {"resourceVersion": str(FIRST_VERSION)},
                        "items": stand_in.objects.get(url.path, [])})

            def do_POST(self):
                size = int(self.headers.get("Content-Length", 0))
                body = json.loads(self.rfile.read(size))
                stand_in.posted.append((self.path, body))
                self.answer(201, {**body, "status": {"allowed": True}})

            def do_PATCH(self):
                self.rfile.read(int(self.headers.get("Content-Length", 0)))
                self.answer(200, {})

            def watch(self, asked):
                self.begin_watch()
                at = int(asked.version)
                while not stand_in.is_closed:
                    with stand_in.changed:
                        new = [e for e in stand_in.events if e[0] > at]
                        if not new:
                            stand_in.changed.wait(PATIENCE_S)
                    for version, path, kept, item in new:
                        at = version
                        if path == asked.path and kept in asked.fields:
                            self.send({"type": "ADDED", "object": item})
                self.close_connection = True

            def send(self, event):
                line = json.dumps(event).encode() + b"\n"
                self.wfile.write(b"%x\r\n%s\r\n" % (len(line), line))
                self.wfile.flush()
        return Handler


class Relay:
    """Passes bytes between its port and that of a server."""

    def __init__(self, server_port):
        self.server_port = server_port
        self.pairs, self.lock = [], threading.Lock()
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self):
        while True:
            try:
                client, _ = self.listener.accept()
                server = socket.create_connection(
                    ("127.0.0.1", self.server_port))
            except OSError:
                return  # closed
            with self.lock:
                self.pairs.append((client, server))
            for source, target in ((client, server), (server, client)):
                threading.Thread(target=self.copy, args=(source, target),
                                 daemon=True).start()

    @staticmethod
    def copy(source, target):
        """Until one of them ends. Neither is closed: what the client sends
        after a drop goes nowhere."""
        try:
            while data := source.recv(65536):
                target.sendall(data)
        except OSError:
            pass

    def drop(self):
        """Ends the server's side of all connections."""
        with self.lock:
            for _, server in self.pairs:
                server.shutdown(socket.SHUT_RDWR)

    def close(self):
        self.listener.close()
        with self.lock:
            for pair in self.pairs:
                for side in pair:
                    side.close()
