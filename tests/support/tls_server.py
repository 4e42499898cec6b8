"""An HTTPS server of a test in the place of an API server, and the kubeconfig
that leads to it."""
import http.server
import json
import ssl
import threading


class JsonHandler(http.server.BaseHTTPRequestHandler):
    """Answers with objects, as an API server does."""
    protocol_version = "HTTP/1.1"

    def handle(self):
        try:
            super().handle()
        except OSError:
            self.close_connection = True  # the other side dropped it

    def answer(self, status, body):
        text = json.dumps(body).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)

    def begin_watch(self):
        """The head of an answer whose events follow in chunks."""
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()

    def log_message(self, *_):
        """Nothing."""


def serve_tls(handler, keys):
    """Serves as localhost with `keys` (deploy/certs.sh) in a thread, until
    shutdown()."""
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
    server.daemon_threads = True
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(keys / "aggregator.crt", keys / "aggregator.key")
    server.socket = context.wrap_socket(
        server.socket, server_side=True, do_handshake_on_connect=False)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return server


def write_kubeconfig(path, server, keys, token):
    path.write_text(json.dumps({  # JSON is YAML
        "apiVersion": "v1", "kind": "Config", "current-context": "c",
        "contexts": [{"name": "c", "context": {"cluster": "c", "user": "u"}}],
        "clusters": [{"name": "c", "cluster": {
            "server": f"https://localhost:{server.server_port}",
            "certificate-authority": str(keys / "servers-ca.crt")}}],
        "users": [{"name": "u", "user": {"token": token}}]}))
    return path
