"""Authentication and authorization by a real API server: tokens of
ServiceAccounts over TLS. Those of agents are bound to pods that are bound to
nodes."""
import base64
import itertools
import json
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
from harness import (BIN, PATIENCE_S, Machine, Program, agent,  # noqa: E402
                     eventually, http_get, worker)
from kube_api import path_of_object, token_kubeconfig  # noqa: E402
from ports import free_port  # noqa: E402
from secure import certs, client_flags  # noqa: E402

AUDIENCE = "plimsoll-aggregator"

# The rights of each account of the test.
RULES = {
    "agent": [{"nonResourceURLs": ["/plimsoll/reports"], "verbs": ["create"]}],
    "scheduler": [{"nonResourceURLs": ["/plimsoll/snapshots"],
                   "verbs": ["get"]}],
    "reader": [{"nonResourceURLs": ["/", "/v1/*"], "verbs": ["get"]}],
    "caller": [{"nonResourceURLs": ["/extender/*"], "verbs": ["post"]}],
    "stranger": [],
    "aggregator": [{"apiGroups": [""], "resources": ["pods"],
                    "verbs": ["get", "list"]}],
}


def claims(token):
    part = token.split(".")[1]
    return json.loads(base64.urlsafe_b64decode(part + "=" * (-len(part) % 4)))


def base64_url(data):
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


def expired(token, key):
    """The same token with all times moved back until it has expired, signed
    with the cluster's own key (ES256)."""
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
    """A TCP relay to the API server that can be cut and mended, on a port of
    its own."""

    def __init__(self, server):
        self.server = server  # (host, port)
        self.listener = None
        self.open = []
        self.port = free_port()

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
                    pass  # the peer had closed it


class World:
    """A namespace with accounts and roles, for a class."""

    def __init__(self, case):
        self.kube, self.make = case.kube, case.make_for_class
        self.namespace = f"plimsoll-{uuid.uuid4().hex[:6]}"
        self.make({"apiVersion": "v1", "kind": "Namespace",
                   "metadata": {"name": self.namespace}})
        for name, rules in RULES.items():
            self.make_account(name, rules)
        self.bind("aggregator", "system:auth-delegator")
        self.kube.await_account(self.namespace)
        self.nodes = itertools.count()

    def make_account(self, name, rules):
        self.make({"apiVersion": "v1", "kind": "ServiceAccount",
                   "metadata": {"name": name, "namespace": self.namespace}})
        role = f"{self.namespace}:{name}"
        self.make({"apiVersion": "rbac.authorization.k8s.io/v1",
                   "kind": "ClusterRole", "metadata": {"name": role},
                   "rules": rules})
        self.bind(name, role)

    def bind(self, account, role):
        self.make({
            "apiVersion": "rbac.authorization.k8s.io/v1",
            "kind": "ClusterRoleBinding",
            "metadata": {"name": f"{self.namespace}:{account}:{role}"},
            "roleRef": {"apiGroup": "rbac.authorization.k8s.io",
                        "kind": "ClusterRole", "name": role},
            "subjects": [{"kind": "ServiceAccount", "name": account,
                          "namespace": self.namespace}]})

    def make_node(self):
        """A Node, by its name, and the pod of its agent."""
        node = f"{self.namespace}-{next(self.nodes)}"
        self.make(worker(node))
        return node, self.make_pod(f"agent-{node}", node)

    def make_pod(self, name, node, account="agent"):
        return self.make({
            "apiVersion": "v1", "kind": "Pod",
            "metadata": {"name": name, "namespace": self.namespace},
            "spec": {"nodeName": node, "serviceAccountName": account,
                     "containers": [{"name": "main", "image": "x"}]}})

    def token(self, account, pod=None, audience=AUDIENCE):
        return self.kube.token(self.namespace, account, pod, audience)

    def api_token(self, account):
        """A token for the API server."""
        return self.token(account, audience=None)


class Identity(ClusterCase):
    @classmethod
    def setUpClass(cls):
        cls.begin()
        cls.world = World(cls)
        cls.certs = cls.folder.path / "certs"
        certs("new", cls.certs)
        cls.tls = ssl.create_default_context(
            cafile=cls.certs / "servers-ca.crt")
        cls.machine = Machine(cls.folder.path / "m")
        cls.addClassCleanup(cls.machine.close)
        cls.aggregator = cls.start_aggregator("aggregator", None)
        cls.readable = cls.start_readable_scheduler()
        # A path that a reader may get, by the program that serves it.
        cls.served = {"/v1/nodes": cls.aggregator,
                      "/v1/rebalance": cls.readable}

    @classmethod
    def start_readable_scheduler(cls):
        """A scheduler that takes tokens over HTTPS."""
        program = cls.scheduler(
            "--http-tls-cert", cls.certs / "scheduler-server.crt",
            "--http-tls-key", cls.certs / "scheduler-server.key",
            "--http-auth", "kubernetes",
            name=f"readable-{cls.world.namespace}").start()
        port = program.wait_log(r'"scheduler started".* http=(\d+)')[1]
        program.http = f"https://localhost:{port}"
        return program

    @classmethod
    def start_aggregator(cls, name, server):
        """server: another URL of the API server, or None."""
        kubeconfig = cls.folder.path / f"{name}.kubeconfig"
        kubeconfig.write_text(token_kubeconfig(
            cls.cluster.kubeconfig(), cls.world.api_token("aggregator"),
            server))
        keys = cls.certs
        program = cls.folder.add(Program(cls.folder.path, name, [
            BIN / "plimsoll-aggregator", "--listen", "tls+tcp://127.0.0.1:0",
            "--tls-ca", keys / "clients-ca.crt",
            "--tls-cert", keys / "aggregator.crt",
            "--tls-key", keys / "aggregator.key",
            "--http", "127.0.0.1:0",
            "--http-tls-cert", keys / "aggregator.crt",
            "--http-tls-key", keys / "aggregator.key",
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
        self.node, self.pod = self.world.make_node()

    def peer_flags(self, role, token, token_file):
        """token: None for none."""
        flags = [*client_flags(self.certs, role),
                 "--tls-server-name", "localhost"]
        if token:
            token_file.write_text(token)
            flags += ["--token-file", token_file]
        return flags

    def start(self, program):
        self.addCleanup(program.kill)
        return program.start()

    def token_file(self, node):
        return self.folder.path / f"{node}.token"

    def start_agent(self, node, token, aggregator=None, token_file=None,
                    **options):
        count = sum(p.name.startswith("agent") for p in self.folder.programs)
        program = self.folder.add(agent(
            self.folder.path, node, [(aggregator or self.aggregator).url],
            *self.machine.agent_flags(),
            *self.peer_flags("agent", token,
                             token_file or self.token_file(node)),
            **options))
        program.log_path = self.folder.path / f"agent-{count}.log"
        return self.start(program)

    def start_scheduler(self, token):
        name = self.own_name()
        return self.start(self.scheduler(
            "--aggregator", self.aggregator.url,
            *self.peer_flags("scheduler", token, self.token_file(name)),
            name=name))

    def get(self, path, token=None, program=None, body=None):
        """Status, headers and JSON of a GET over HTTPS, or with a body of a
        POST."""
        request = urllib.request.Request(
            (program or self.aggregator).http + path, data=body)
        if token:
            request.add_header("Authorization", f"Bearer {token}")
        opener = urllib.request.build_opener(
            urllib.request.ProxyHandler({}),
            urllib.request.HTTPSHandler(context=self.tls))
        try:
            with opener.open(request, timeout=PATIENCE_S) as answer:
                return answer.status, answer.headers, json.load(answer)
        except urllib.error.HTTPError as no:
            return no.code, no.headers, json.load(no)

    def stored(self, node):
        """Whether the aggregator has a fresh report of this node."""
        status, _, body = self.get(
            "/v1/nodes", self.world.api_token("reader"))
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
        token = self.world.token("agent", self.pod)
        self.assertEqual(
            claims(token)["kubernetes.io"]["node"]["name"], self.node)
        self.start_agent(self.node, token)
        eventually("its load is served", lambda: self.stored(self.node))
        self.assert_never_logged(token)

    def test_an_agent_whose_pod_is_deleted_gives_way_to_the_next(self):
        other = self.world.make_pod(f"next-{self.node}", self.node)
        # An agent may be silent for two of its intervals.
        first = self.start_agent(
            self.node, self.world.token("agent", self.pod), interval="5s")
        eventually("its load is served", lambda: self.stored(self.node))
        second = self.start_agent(
            self.node, self.world.token("agent", other),
            token_file=self.folder.path / f"{self.node}-next.token")
        waits = f"another agent reports for node '{self.node}'"
        second.wait_log(re.escape(waits))
        self.assertNotIn("connected", second.log())
        # There is no kubelet: the pod stays, and its agent reports on.
        self.kube.delete(path_of_object(self.pod))
        second.wait_log('"connected"')
        first.wait_log(re.escape(waits))
        self.assertTrue(self.stored(self.node))

    def test_an_agent_may_not_report_another_node(self):
        token = self.world.token("agent", self.pod)
        other = f"{self.world.namespace}-other"
        # The agent asks again until the aggregator, which limits the rate of
        # such lines, has logged the refusal too.
        refused = f"belongs to node '{self.node}', not '{other}'"
        program = self.start_agent(other, token)
        program.wait_log(re.escape(refused))
        self.aggregator.wait_log(re.escape(refused))
        program.kill()
        self.assertFalse(self.stored(other))
        self.assert_never_logged(token)

    def test_an_account_without_the_right_is_refused_by_name(self):
        pod = self.world.make_pod("stranger", self.node, "stranger")
        node = f"{self.world.namespace}-strange"
        self.assert_agent_refused(
            node, self.world.token("stranger", pod),
            f"'system:serviceaccount:{self.world.namespace}:stranger' "
            "is not allowed to create /plimsoll/reports")
        self.assertFalse(self.stored(node))

    def test_a_token_for_another_audience_is_refused(self):
        for audience in (None, "another-service"):
            with self.subTest(audience):
                self.assert_agent_refused(
                    self.node, self.world.token("agent", self.pod, audience),
                    "the token is not accepted", "audience")

    def test_an_agent_without_a_token_is_refused(self):
        self.assert_agent_refused(self.node, None, "a bearer token is required")

    def test_a_token_that_is_bound_to_no_node_is_refused(self):
        self.assert_agent_refused(self.node, self.world.token("agent"),
                                  "is not bound to a pod, so its node is unknown")

    def renew(self, node, token):
        new = self.token_file(node).with_suffix(".new")
        new.write_text(token)
        new.replace(self.token_file(node))
        eventually("its load is served", lambda: self.stored(node))

    def test_a_refused_agent_is_accepted_once_its_token_file_is_renewed(self):
        self.side_by_side({
            "the pod of its token is gone": self.renew_a_token_without_a_pod,
            "its token has expired": self.renew_an_expired_token})

    def renew_a_token_without_a_pod(self):
        node, pod = self.world.make_node()
        gone = self.world.make_pod("short-lived", node)
        token = self.world.token("agent", gone)
        self.kube.remove(gone)
        program = self.start_agent(node, token)
        program.wait_log("the token is not accepted")
        self.renew(node, self.world.token("agent", pod))

    def renew_an_expired_token(self):
        key = self.cluster.token_key()
        if key is None:
            self.skipTest("the signing key of the cluster is not known")
        node, pod = self.world.make_node()
        good = self.world.token("agent", pod)
        old = expired(good, key)
        program = self.start_agent(node, old)
        program.wait_log("the token is not accepted: .*expired")
        self.assertFalse(self.stored(node))
        self.assertEqual(program.most_a_minute("the token is not accepted"),
                         1)
        self.renew(node, good)
        self.assertEqual(self.get("/v1/nodes", expired(
            self.world.api_token("reader"), key))[0], 401)
        self.assert_never_logged(good, old)

    # ---- schedulers ----

    def test_a_scheduler_with_its_token_gets_snapshots(self):
        self.start_agent(self.node, self.world.token("agent", self.pod))
        self.start_scheduler(self.world.token("scheduler")).wait_log(
            "receiving load")

    def test_an_agents_token_gets_no_snapshots(self):
        program = self.start_scheduler(self.world.token("agent", self.pod))
        program.wait_log("is not allowed to get /plimsoll/snapshots")
        self.assertNotIn("receiving load", program.log())

    # ---- HTTP ----

    def test_http_needs_a_valid_token(self):
        for token in (None, "garbage", "not~a token",
                      self.world.token("reader")):
            for path, program in self.served.items():
                with self.subTest(path=path, token=token and token[:12]):
                    status, headers, body = self.get(path, token, program)
                    self.assertEqual(status, 401)
                    self.assertEqual(headers["WWW-Authenticate"], "Bearer")
                    self.assertIn("token", body["error"])

    def test_http_names_the_account_that_is_not_allowed(self):
        token = self.world.api_token("stranger")
        for path, program in self.served.items():
            for asked in (path + "/x", "/"):
                with self.subTest(program=program.name, path=asked):
                    status, headers, body = self.get(asked, token, program)
                    self.assertEqual(status, 403)
                    self.assertIsNone(headers["WWW-Authenticate"])
                    self.assertEqual(
                        body["error"], "'system:serviceaccount:"
                        f"{self.world.namespace}:stranger' is not allowed to "
                        f"get {asked}")

    def test_http_answers_an_account_that_is_allowed(self):
        token = self.world.api_token("reader")
        for path, program in self.served.items():
            with self.subTest(path):
                self.assertEqual(self.get(path, token, program)[0], 200)
                self.assertEqual(self.get("/v1/nothing", token, program)[0],
                                 404)
                self.assertEqual(self.get("/elsewhere", token, program)[0],
                                 403)
                self.assertIn(path, self.get("/", token, program)[2]["paths"])
        self.assert_never_logged(token)

    def test_the_extender_takes_posts_of_those_who_may_post(self):
        for account, status in ((None, 401), ("reader", 403), ("caller", 400)):
            with self.subTest(account):
                token = account and self.world.api_token(account)
                self.assertEqual(self.get("/extender/filter", token,
                                          self.readable, b"{}")[0], status)

    def test_probes_need_no_token(self):
        self.assertEqual(http_get(f"{self.aggregator.health}/readyz")[0], 200)
        for path in ("/healthz", "/livez", "/readyz"):
            with self.subTest(path):
                eventually("the scheduler is healthy", lambda p=path: http_get(
                    self.readable.http + p, trust=self.tls)[0] == 200)

    # ---- without the API server ----

    def test_without_the_api_server_no_peer_is_refused_or_accepted(self):
        relay = Relay((self.kube.server.hostname, self.kube.server.port))
        self.addCleanup(relay.cut)
        alone = self.start_aggregator("alone", "https://" + (
            f"{self.kube.server.hostname}:{relay.port}"))
        self.addCleanup(alone.kill)
        token = self.world.api_token("reader")
        status, headers, body = self.get("/v1/nodes", token, alone)
        self.assertEqual(status, 503)
        self.assertIsNone(headers["WWW-Authenticate"])
        self.assertIn("try again", body["error"])
        early = self.start_agent(
            self.node, self.world.token("agent", self.pod), alone)
        early.wait_log("the API server cannot review the token")
        alone.wait_log("cannot review a token")
        self.assertEqual(http_get(f"{alone.health}/readyz")[0], 200)
        if self.kube.server.hostname not in ("127.0.0.1", "localhost"):
            self.skipTest("the API server's certificate is not for us")
        relay.mend()
        first = eventually("the agent's reports are accepted",
                           lambda: self.revision(alone, token))
        relay.cut()
        self.assertEqual(self.get("/v1/nodes", self.world.api_token(
            "reader"), alone)[0], 503)
        # Sessions continue, and reviews that were answered are cached.
        eventually("new reports come",
                   lambda: self.revision(alone, token) > first + 3)
        self.assertEqual(alone.stop(), 0)

    def revision(self, aggregator, token):
        """The number of reports that came; 0 while the API server cannot be
        asked."""
        status, _, body = self.get("/v1/nodes", token, aggregator)
        return body["rev"] if status == 200 else 0


if __name__ == "__main__":
    unittest.main()
