"""Who may speak to the aggregator, by a real API server: tokens of
ServiceAccounts over TLS, bound to pods that are bound to nodes."""
import base64
import json
import os
import pathlib
import re
import socket
import ssl
import subprocess
import sys
import threading
import unittest
import urllib.error
import urllib.request
import uuid

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))

from cluster import ClusterCase  # noqa: E402
from harness import (BIN, ROOT, Machine, Program, agent,  # noqa: E402
                     eventually, http_get, worker)
from kube_api import KUBECLUSTER  # noqa: E402
from secure import client_flags  # noqa: E402

AUDIENCE = "plimsoll-aggregator"

# What each account of the test may do, and what of the cluster's own roles.
RULES = {
    "agent": [{"nonResourceURLs": ["/plimsoll/reports"], "verbs": ["create"]}],
    "scheduler": [{"nonResourceURLs": ["/plimsoll/snapshots"],
                   "verbs": ["get"]}],
    "reader": [{"nonResourceURLs": ["/v1/*"], "verbs": ["get"]}],
    "stranger": [],
    "aggregator": [{"apiGroups": [""], "resources": ["pods"],
                    "verbs": ["get"]}],
}


def account_kubeconfig(admin, server, token):
    """The admin's cluster with another server or another user, as a text."""
    text = subprocess.run(
        [KUBECLUSTER, "kubectl", "config", "view", "--raw", "--minify",
         "--flatten", "-o", "json"], check=True, capture_output=True,
        env=dict(os.environ, KUBECONFIG=str(admin))).stdout
    config = json.loads(text)
    if server:
        config["clusters"][0]["cluster"]["server"] = server
    config["users"][0]["user"] = {"token": token}
    return json.dumps(config)


def claims(token):
    part = token.split(".")[1]
    return json.loads(base64.urlsafe_b64decode(part + "=" * (-len(part) % 4)))


def base64_url(data):
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


def expired(token, key):
    """The same token as it would be an hour after its end: signed anew with
    the cluster's own key, ES256."""
    body = claims(token)
    for name in ("iat", "nbf", "exp"):
        body[name] -= 3600 + 600
    text = (token.split(".")[0] + "."
            + base64_url(json.dumps(body).encode()))
    signature = subprocess.run(
        ["openssl", "dgst", "-sha256", "-sign", key], input=text.encode(),
        check=True, capture_output=True).stdout
    # DER: SEQUENCE of two INTEGERs; JWS wants each in 32 bytes.
    parts, rest = [], signature[2:]
    while rest:
        parts.append(rest[2:2 + rest[1]].lstrip(b"\0").rjust(32, b"\0"))
        rest = rest[2 + rest[1]:]
    return text + "." + base64_url(b"".join(parts))


class Relay:
    """A way to the API server that can be cut and mended, on a port of its
    own."""

    def __init__(self, server):
        self.server = server  # (host, port)
        self.listener = None
        self.open = []
        with socket.create_server(("127.0.0.1", 0)) as free:
            self.port = free.getsockname()[1]

    def mend(self):
        self.listener = socket.create_server(("127.0.0.1", self.port))
        threading.Thread(target=self.accept, daemon=True,
                         args=[self.listener]).start()

    def accept(self, listener):
        while True:
            try:
                here = listener.accept()[0]
                there = socket.create_connection(self.server)
            except OSError:
                return
            self.open += [here, there]
            for way in ((here, there), (there, here)):
                threading.Thread(target=self.pump, daemon=True,
                                 args=way).start()

    @staticmethod
    def pump(source, target):
        try:
            while data := source.recv(65536):
                target.sendall(data)
            target.shutdown(socket.SHUT_WR)
        except OSError:
            pass  # cut

    def cut(self):
        if self.listener:
            self.listener.shutdown(socket.SHUT_RDWR)
            self.listener.close()
            self.listener = None
        while self.open:
            with self.open.pop() as one:
                try:
                    one.shutdown(socket.SHUT_RDWR)
                except OSError:
                    pass  # it was over already


class World:
    """A namespace with accounts, roles and one pod of the agents' on each of
    two nodes."""

    def __init__(self, kube, cleanup):
        self.kube = kube
        self.namespace = f"plimsoll-{uuid.uuid4().hex[:6]}"
        self.nodes = [f"{self.namespace}-a", f"{self.namespace}-b"]
        kube.create({"apiVersion": "v1", "kind": "Namespace",
                     "metadata": {"name": self.namespace}})
        cleanup(kube.delete, f"/api/v1/namespaces/{self.namespace}")
        for name, rules in RULES.items():
            self.make_account(name, rules, cleanup)
        self.bind("aggregator", "system:auth-delegator", cleanup)
        kube.await_account(self.namespace)
        self.pods = {}
        for node in self.nodes:
            kube.create(worker(node))
            cleanup(kube.delete, f"/api/v1/nodes/{node}")
            self.pods[node] = self.make_pod(f"agent-{node}", node)

    def make_account(self, name, rules, cleanup):
        self.kube.request(
            "POST", f"/api/v1/namespaces/{self.namespace}/serviceaccounts",
            {"metadata": {"name": name}})
        roles = "/apis/rbac.authorization.k8s.io/v1/clusterroles"
        role = f"{self.namespace}:{name}"
        self.kube.request("POST", roles, {
            "metadata": {"name": role}, "rules": rules})
        cleanup(self.kube.delete, f"{roles}/{role}")
        self.bind(name, role, cleanup)

    def bind(self, account, role, cleanup):
        bindings = "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings"
        name = f"{self.namespace}:{account}:{uuid.uuid4().hex[:6]}"
        self.kube.request("POST", bindings, {
            "metadata": {"name": name},
            "roleRef": {"apiGroup": "rbac.authorization.k8s.io",
                        "kind": "ClusterRole", "name": role},
            "subjects": [{"kind": "ServiceAccount", "name": account,
                          "namespace": self.namespace}]})
        cleanup(self.kube.delete, f"{bindings}/{name}")

    def make_pod(self, name, node, account="agent"):
        return self.kube.create({
            "apiVersion": "v1", "kind": "Pod",
            "metadata": {"name": name, "namespace": self.namespace},
            "spec": {"nodeName": node, "serviceAccountName": account,
                     "containers": [{"name": "main", "image": "x"}]}})

    def token(self, account, pod=None, audience=AUDIENCE):
        """audience None: the API server's own."""
        spec = {"expirationSeconds": 600}
        if audience:
            spec["audiences"] = [audience]
        if pod:
            spec["boundObjectRef"] = {
                "kind": "Pod", "apiVersion": "v1",
                "name": pod["metadata"]["name"], "uid": pod["metadata"]["uid"]}
        return self.kube.request(
            "POST", f"/api/v1/namespaces/{self.namespace}/serviceaccounts/"
            f"{account}/token", {"spec": spec})["status"]["token"]


class Identity(ClusterCase):
    @classmethod
    def setUpClass(cls):
        cls.begin()
        cls.world = World(cls.kube, cls.addClassCleanup)
        cls.certs = cls.folder.path / "certs"
        subprocess.run([ROOT / "deploy/certs.sh", "new", cls.certs],
                       check=True, capture_output=True)
        cls.tls = ssl.create_default_context(
            cafile=cls.certs / "servers-ca.crt")
        cls.machine = Machine(cls.folder.path / "m")
        cls.addClassCleanup(cls.machine.close)
        cls.aggregator = cls.start_aggregator("aggregator", None)

    @classmethod
    def start_aggregator(cls, name, server):
        """With the API server at this URL, or where it really is."""
        kubeconfig = cls.folder.path / f"{name}.kubeconfig"
        kubeconfig.write_text(account_kubeconfig(
            cls.cluster.kubeconfig(), server,
            cls.world.token("aggregator", audience=None)))
        certs = cls.certs
        program = cls.folder.add(Program(cls.folder.path, name, [
            BIN / "plimsoll-aggregator", "--listen", "tls+tcp://127.0.0.1:0",
            "--tls-ca", certs / "clients-ca.crt",
            "--tls-cert", certs / "aggregator.crt",
            "--tls-key", certs / "aggregator.key",
            "--http", "127.0.0.1:0",
            "--http-tls-cert", certs / "aggregator.crt",
            "--http-tls-key", certs / "aggregator.key",
            "--wire-auth", "kubernetes", "--http-auth", "kubernetes",
            "--kubeconfig", kubeconfig, "--health", "127.0.0.1:0",
            "--db", cls.folder.path / f"{name}.db"])).start()
        ports = program.wait_log(
            r'"listening" listen="tls\+tcp://[^"]*:(\d+)" '
            r'http="[^"]*:(\d+)" health="[^"]*:(\d+)"').groups()
        program.url, program.http, program.health = (
            f"tls+tcp://127.0.0.1:{ports[0]}", f"https://localhost:{ports[1]}",
            f"http://127.0.0.1:{ports[2]}")
        return program

    def setUp(self):
        self.name = self.id().rsplit(".", 1)[1]
        self.node_a, self.node_b = self.world.nodes
        self.pod_a = self.world.pods[self.node_a]

    def peer_flags(self, role, token):
        """token None: none is shown."""
        flags = [*client_flags(self.certs, role),
                 "--tls-server-name", "localhost"]
        if token:
            self.token_file = self.folder.path / f"{self.name}.token"
            self.token_file.write_text(token)
            flags += ["--token-file", self.token_file]
        return flags

    def start(self, program):
        self.addCleanup(program.kill)
        return self.folder.add(program).start()

    def start_agent(self, node, token, aggregator=None):
        program = agent(self.folder.path, node,
                        [(aggregator or self.aggregator).url],
                        *self.machine.agent_flags(),
                        *self.peer_flags("agent", token))
        program.log_path = self.folder.path / f"{self.name}.log"
        return self.start(program)

    def start_scheduler(self, token):
        return self.start(Program(self.folder.path, self.name, [
            BIN / "plimsoll-scheduler", "--scheduler-name", self.name,
            "--kubeconfig", self.cluster.kubeconfig(), "--http", "127.0.0.1:0",
            "--aggregator", self.aggregator.url,
            *self.peer_flags("scheduler", token)]))

    def get(self, path, token=None, aggregator=None):
        """Status, headers and JSON of a GET over HTTPS."""
        request = urllib.request.Request(
            (aggregator or self.aggregator).http + path)
        if token:
            request.add_header("Authorization", f"Bearer {token}")
        opener = urllib.request.build_opener(
            urllib.request.ProxyHandler({}),
            urllib.request.HTTPSHandler(context=self.tls))
        try:
            with opener.open(request, timeout=20) as answer:
                return answer.status, answer.headers, json.load(answer)
        except urllib.error.HTTPError as no:
            return no.code, no.headers, json.load(no)

    def stored(self, node):
        """Whether the aggregator knows this node's load."""
        status, _, body = self.get(
            "/v1/nodes", self.world.token("reader", audience=None))
        self.assertEqual(status, 200, body)
        return any(n["name"] == node and n["state"] == "fresh"
                   for n in body["nodes"])

    def assert_never_logged(self, *tokens):
        for token in tokens:
            for part in token.split("."):
                self.assertNotIn(part, self.folder.logs())

    def assert_agent_refused(self, node, token, *words):
        program = self.start_agent(node, token)
        for word in words:
            program.wait_log(re.escape(word))
        self.assertTrue(program.running())
        program.kill()
        if token:
            self.assert_never_logged(token)
        return program

    # ---- agents ----

    def test_an_agent_with_its_own_nodes_token_reports(self):
        token = self.world.token("agent", self.pod_a)
        self.assertEqual(
            claims(token)["kubernetes.io"]["node"]["name"], self.node_a)
        self.start_agent(self.node_a, token)
        eventually("its load is served", lambda: self.stored(self.node_a))
        self.assert_never_logged(token)

    def test_nobody_speaks_for_another_node(self):
        token = self.world.token("agent", self.pod_a)
        other = f"{self.world.namespace}-other"
        self.assert_agent_refused(
            other, token,
            f"belongs to node '{self.node_a}', not '{other}'")
        self.assertFalse(self.stored(other))
        self.aggregator.wait_log(f"belongs to node '{self.node_a}'")

    def test_an_account_without_the_right_is_refused_by_name(self):
        pod = self.world.make_pod("stranger", self.node_b, "stranger")
        node = f"{self.world.namespace}-strange"
        self.assert_agent_refused(
            node, self.world.token("stranger", pod),
            f"account 'system:serviceaccount:{self.world.namespace}:stranger' "
            "may not create /plimsoll/reports")
        self.assertFalse(self.stored(node))

    def test_a_token_for_someone_else_is_refused(self):
        for audience in (None, "another-service"):
            with self.subTest(audience):
                self.assert_agent_refused(
                    self.node_b, self.world.token(
                        "agent", self.world.pods[self.node_b], audience),
                    "the token is not accepted", "audience")

    def test_no_token_is_refused(self):
        self.assert_agent_refused(self.node_b, None, "no token was shown")

    def test_a_token_that_is_bound_to_no_node_is_refused(self):
        self.assert_agent_refused(self.node_b, self.world.token("agent"),
                                  "bound to no pod and so to no node")

    def test_an_agent_gets_in_by_itself_once_its_token_is_good(self):
        gone = self.world.make_pod("short-lived", self.node_b)
        token = self.world.token("agent", gone)
        self.kube.delete_pod(gone)
        program = self.start_agent(self.node_b, token)
        program.wait_log("the token is not accepted")
        self.renew(self.world.token("agent", self.world.pods[self.node_b]))
        eventually("its load is served", lambda: self.stored(self.node_b), 40)

    def renew(self, token):
        new = self.token_file.with_suffix(".new")
        new.write_text(token)
        new.replace(self.token_file)

    def test_a_token_that_expired_is_refused_until_its_file_is_renewed(self):
        key = self.cluster.token_key()
        if key is None:
            self.skipTest("only a cluster of ours gives its signing key")
        good = self.world.token("agent", self.world.pods[self.node_b])
        old = expired(good, key)
        program = self.start_agent(self.node_b, old)
        program.wait_log("the token is not accepted: .*expired", 10)
        self.assertFalse(self.stored(self.node_b))
        self.assertEqual(program.log().count("the token is not accepted"), 1)
        self.renew(good)
        eventually("its load is served", lambda: self.stored(self.node_b), 40)
        self.assertEqual(self.get("/v1/nodes", expired(self.world.token(
            "reader", audience=None), key))[0], 401)
        self.assert_never_logged(good, old)

    # ---- schedulers ----

    def test_a_scheduler_with_its_token_gets_snapshots(self):
        self.start_agent(self.node_a, self.world.token("agent", self.pod_a))
        self.name += "_scheduler"
        self.start_scheduler(self.world.token("scheduler")).wait_log(
            "load is coming in")

    def test_an_agents_token_gets_no_snapshots(self):
        program = self.start_scheduler(self.world.token("agent", self.pod_a))
        program.wait_log("may not get /plimsoll/snapshots")
        self.assertNotIn("load is coming in", program.log())

    # ---- HTTP ----

    def test_http_wants_a_good_token(self):
        for token in (None, "garbage", "not~a token",
                      self.world.token("reader")):
            with self.subTest(token and token[:12]):
                status, headers, body = self.get("/v1/nodes", token)
                self.assertEqual(status, 401)
                self.assertEqual(headers["WWW-Authenticate"], "Bearer")
                self.assertIn("token", body["error"])

    def test_http_says_who_may_not(self):
        token = self.world.token("stranger", audience=None)
        status, headers, body = self.get("/v1/nodes/x", token)
        self.assertEqual(status, 403)
        self.assertIsNone(headers["WWW-Authenticate"])
        self.assertEqual(
            body["error"], "account 'system:serviceaccount:"
            f"{self.world.namespace}:stranger' may not get /v1/nodes/x")

    def test_http_answers_who_may(self):
        token = self.world.token("reader", audience=None)
        self.assertEqual(self.get("/v1/nodes", token)[0], 200)
        self.assertEqual(self.get("/v1/nodes/nobody", token)[0], 404)
        self.assertEqual(self.get("/elsewhere", token)[0], 403)
        self.assert_never_logged(token)

    def test_health_needs_no_token(self):
        self.assertEqual(http_get(f"{self.aggregator.health}/readyz")[0], 200)

    # ---- the API server is away ----

    def test_without_the_api_server_nobody_is_refused_or_let_in(self):
        relay = Relay((self.kube.server.hostname, self.kube.server.port))
        self.addCleanup(relay.cut)
        alone = self.start_aggregator("alone", "https://" + (
            f"{self.kube.server.hostname}:{relay.port}"))
        self.addCleanup(alone.kill)
        token = self.world.token("reader", audience=None)
        status, headers, body = self.get("/v1/nodes", token, alone)
        self.assertEqual(status, 503)
        self.assertIsNone(headers["WWW-Authenticate"])
        self.assertIn("try again", body["error"])
        early = self.start_agent(
            self.node_a, self.world.token("agent", self.pod_a), alone)
        early.wait_log("the API server cannot be asked")
        alone.wait_log("cannot tell who it is")
        self.assertEqual(http_get(f"{alone.health}/readyz")[0], 200)
        if self.kube.server.hostname not in ("127.0.0.1", "localhost"):
            self.skipTest("the API server's certificate is not for us")
        relay.mend()
        first = eventually("the agent gets in by itself",
                           lambda: self.revision(alone, token), 40)
        relay.cut()
        self.assertEqual(self.get("/v1/nodes", self.world.token(
            "reader", audience=None), alone)[0], 503)
        # What was let in goes on, and what was answered is remembered.
        eventually("new reports come",
                   lambda: self.revision(alone, token) > first + 3)
        self.assertEqual(alone.stop(), 0)

    def revision(self, aggregator, token):
        """One more with every report that came; 0 while nobody may know."""
        status, _, body = self.get("/v1/nodes", token, aggregator)
        return body["rev"] if status == 200 else 0


if __name__ == "__main__":
    unittest.main()
