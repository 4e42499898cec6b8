"""A stand-in for the API server of a cluster: it lists pods that a test
chooses, also with names that Kubernetes does not accept, and reviews tokens
and rights. Everything else gets a 404."""
import json
import threading
import urllib.parse

from harness import PATIENCE_S
from secure import certs
from tls_server import JsonHandler, serve_tls, write_kubeconfig


def pod_of_vm(uid, namespace, name, node):
    """What the aggregator reads of a launcher pod."""
    return {"metadata": {
        "name": f"virt-launcher-{uid}", "namespace": namespace, "uid": uid,
        "resourceVersion": "1", "labels": {
            "kubevirt.io": "virt-launcher", "kubevirt.io/created-by": uid},
        "annotations": {"kubevirt.io/domain": name}},
        "spec": {"nodeName": node}, "status": {"phase": "Running"}}


class ApiStandIn:
    """pods: objects. tokens: those that are accepted, token -> user name; a
    user may do everything."""

    def __init__(self, folder, pods=(), tokens=None):
        self.tokens, self.reviewed = tokens or {}, []
        self.lists = {
            "/api/v1/pods": ("PodList", list(pods)),
            "/api/v1/nodes": ("NodeList", [
                {"metadata": {"name": name, "uid": f"uid-of-{name}",
                              "resourceVersion": "1"}, "spec": {}}
                for name in sorted({p["spec"]["nodeName"] for p in pods})])}
        self.is_closed = threading.Event()
        keys = folder / "api-keys"
        certs("new", keys)
        self.server = serve_tls(self.handler_class(), keys)
        self.kubeconfig = write_kubeconfig(
            folder / "stand-in.kubeconfig", self.server, keys, "aggregator")

    def close(self):
        self.is_closed.set()
        self.server.shutdown()
        self.server.server_close()

    def handler_class(stand_in):  # the handler has a self of its own
        class Handler(JsonHandler):
            def do_GET(self):
                path, _, query = self.path.partition("?")
                query = urllib.parse.parse_qs(query)
                if path not in stand_in.lists:
                    self.answer(404, {"kind": "Status", "code": 404})
                elif query.get("watch", ["0"])[0] in ("1", "true"):
                    self.hold()
                else:
                    kind, items = stand_in.lists[path]
                    self.answer(200, {
                        "kind": kind, "apiVersion": "v1",
                        "metadata": {"resourceVersion": "1"},
                        "items": items})

            def do_POST(self):
                size = int(self.headers.get("Content-Length", 0))
                review = json.loads(self.rfile.read(size))
                if self.path.endswith("/tokenreviews"):
                    user = stand_in.tokens.get(review["spec"]["token"])
                    review["status"] = {
                        "authenticated": user is not None,
                        **({"user": {"username": user, "uid": user,
                                     "groups": ["system:authenticated"]},
                            "audiences": review["spec"].get("audiences", [])}
                           if user else {})}
                elif self.path.endswith("/subjectaccessreviews"):
                    stand_in.reviewed.append(review["spec"])
                    review["status"] = {"allowed": True}
                else:
                    self.answer(404, {"kind": "Status", "code": 404})
                    return
                self.answer(201, review)

            def hold(self):
                """A watch without events."""
                self.begin_watch()
                stand_in.is_closed.wait(PATIENCE_S)
                self.close_connection = True
        return Handler
