"""An HTTPS server of a test in the place of an API server, and the kubeconfig
that leads to it."""
import http.server
import json
import ssl
import threading


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
