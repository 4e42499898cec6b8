"""kubectl-plimsoll and kubectl ask through a real API server and the aggregator:
the scheduler that leads answers."""
import json
import pathlib
import subprocess
import sys
import unittest
import urllib.error
import urllib.request

import yaml

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))

from api_case import GROUP, ApiCase  # noqa: E402
from harness import (BIN, PATIENCE_S, ROOT, eventually, http_get,  # noqa: E402
                     launcher)
from kube_api import KUBECLUSTER, Refused, path_of_object  # noqa: E402
from kubevirt_objects import (create_running_vmi,  # noqa: E402
                              serve_kubevirt_objects)

TABLE = "application/json;as=Table;v=v1;g=meta.k8s.io"
NOBODY_LEADS = "no scheduler leads now"


class KubectlPlugin(ApiCase):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.kubectl_program = cls.folder.path / "own-kubectl"
        cls.kubectl_program.write_text(
            f'#!/bin/sh\nexec "{KUBECLUSTER}" kubectl "$@"\n')
        cls.kubectl_program.chmod(0o755)
        cls.run_kubevirt()
        cls.leader = cls.scheduler("--aggregator", cls.aggregator.url)
        cls.lead()

    @classmethod
    def run_kubevirt(cls):
        """Objects of the VMs, without KubeVirt."""
        serve_kubevirt_objects(cls.kube)
        for name, namespace, node in (("web", "shop", "cold"),
                                      ("vault", "bank", "hot")):
            vmi = create_running_vmi(cls.kube, name, namespace, node)
            pod = f"/api/v1/namespaces/{namespace}/pods/virt-launcher-{name}"
            cls.kube.patch(pod, {"metadata": {"labels": {
                "kubevirt.io/created-by": vmi["metadata"]["uid"]}}})
            cls.kube.patch(pod + "/status", {"status": {"phase": "Running"}})

    @classmethod
    def lead(cls):
        """The scheduler leads and knows the cluster with its loads."""
        cls.leader.start()

        def knows():
            try:
                plan = cls.ask("plans", {"goal": "NodesGone",
                                         "nodeNames": ["hot"]})
            except Refused as refused:
                if refused.status != 503:
                    raise
                return False
            return plan["status"]["found"]
        eventually("the scheduler answers", knows)

    @classmethod
    def ask(cls, plural, spec):
        return cls.kube.request(
            "POST", f"{GROUP}/namespaces/shop/{plural}", {"spec": spec})

    # ---- the plugin ----

    def environment(self, user):
        return {"KUBECONFIG": str(self.users[user]),
                "KUBECTL": str(self.kubectl_program),
                "HOME": str(self.folder.path), "PATH": "/usr/bin:/bin"}

    def run_plugin(self, user, *arguments, text=None):
        return subprocess.run(
            [BIN / "kubectl-plimsoll", *arguments], text=True,
            timeout=PATIENCE_S,
            capture_output=True, check=False, input=text or "",
            env=self.environment(user))

    def plugin(self, user, *arguments, text=None):
        done = self.run_plugin(user, *arguments, text=text)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout

    def plugin_refused(self, user, *arguments):
        done = self.run_plugin(user, *arguments)
        self.assertNotEqual(done.returncode, 0, done.stdout)
        return done.stderr

    def open_page(self, user):
        """The address that kubectl plimsoll page prints."""
        child = subprocess.Popen(
            [BIN / "kubectl-plimsoll", "page"], text=True,
            stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
            env=self.environment(user))
        self.addCleanup(child.stdout.close)
        self.addCleanup(child.wait)
        self.addCleanup(child.terminate)
        return child.stdout.readline().strip()

    def test_the_page_and_its_data_through_the_proxy(self):
        url = self.open_page("admin")
        status, headers, text = http_get(url, "text/html")
        # kube-apiserver reads the links of HTML and writes it again.
        self.assertEqual((status, headers["Content-Type"],
                          text.replace('=""', "")), (
            200, "text/html; charset=utf-8",
            (ROOT / "page/index.html").read_text().replace('=""', "")))
        self.assertIn("default-src 'self'",
                      headers["Content-Security-Policy"])
        self.assertEqual(http_get(f"{url}/dygraph.css")[0], 200)
        base = url.removesuffix("/ui")
        fields = "fields=metadata.namespace,metadata.name,spec.nodeName"
        status, _, text = http_get(f"{base}/vmloads?{fields}", TABLE)
        self.assertEqual((status, json.loads(text)["rows"]), (200, [
            {"cells": ["bank", "vault", "hot"]},
            {"cells": ["shop", "web", "cold"]}]))
        revision = json.loads(text)["metadata"]["resourceVersion"]
        status, _, text = http_get(f"{base}/vmloads?{fields}&after={revision}"
                                   "&timeoutSeconds=9", TABLE)
        self.assertEqual(status, 200)
        self.assertNotEqual(json.loads(text)["metadata"]["resourceVersion"],
                            revision)

    def test_the_proxy_of_the_page_serves_nothing_else(self):
        url = self.open_page("admin")
        origin = url.removesuffix(f"{GROUP}/ui")
        for path in ("/api/v1/pods", "/api/v1/secrets", "/apis",
                     "/apis/apps/v1/deployments", "/metrics"):
            self.assertEqual(http_get(origin + path)[0], 403, path)
        asked = urllib.request.Request(
            f"{origin}{GROUP}/namespaces/shop/plans", b"{}", method="POST")
        with self.assertRaises(urllib.error.HTTPError) as refused:
            urllib.request.urlopen(asked, timeout=PATIENCE_S)
        self.assertEqual(refused.exception.code, 403)
        refused.exception.close()

    def test_the_page_has_no_more_rights_than_its_user(self):
        url = self.open_page("viewer")
        base = url.removesuffix("/ui")
        self.assertEqual(http_get(url)[0], 200)
        self.assertEqual(http_get(f"{base}/vmloads")[0], 403)
        self.assertEqual(http_get(f"{base}/nodeloads")[0], 403)
        self.assertEqual(http_get(f"{base}/namespaces/shop/vmloads")[0], 200)

    def test_where_a_vm_would_go(self):
        for user in ("admin", "editor"):
            text = self.plugin(user, "where", "web", "-n", "shop")
            self.assertRegex(text, r"It would go to (cold|hot)\.")
            self.assertRegex(text, r"NODE +SCORE")
            self.assertRegex(text, r"(?m)^hot ")
        self.assertIn("shop/none does not run", self.plugin_refused(
            "editor", "where", "none", "-n", "shop"))

    def test_where_a_manifest_would_go(self):
        pod = launcher("new", "shop", nodeSelector={"rack": "of-hot"})
        text = self.plugin("editor", "where", "-n", "shop", "-f", "-",
                           text=json.dumps({"apiVersion": "v1", **pod,
                                            "kind": "Pod"}))
        self.assertIn("It would go to hot.", text)
        self.assertIsNone(self.kube.find(path_of_object(pod)))

    def test_what_if_a_node_is_gone(self):
        found = self.plugin("admin", "whatif", "--without", "hot", "-o",
                            "json", "-n", "shop")
        self.assertEqual([(s["vmName"], s["targetNode"])
                          for s in json.loads(found)["status"]["steps"]],
                         [("vault", "cold")])
        self.assertIn("vault", self.plugin(
            "admin", "whatif", "--without", "hot", "-n", "shop"))
        both = json.loads(self.plugin(
            "admin", "whatif", "--without", "hot,cold", "-n", "shop", "-o",
            "json"))
        self.assertEqual({vm["vmName"] for vm in both["status"]["lost"]},
                         {"web", "vault"})

    def test_a_tenant_sees_other_vms_as_counts(self):
        for form in ((), ("-o", "json"), ("-o", "yaml")):
            text = self.plugin("editor", "whatif", "--without", "hot,cold",
                               "-n", "shop", *form)
            self.assertIn("web", text)
            self.assertNotIn("vault", text)
            self.assertNotIn("bank", text)
        plan = json.loads(self.plugin(
            "editor", "whatif", "--without", "hot", "-n", "shop", "-o",
            "json"))
        self.assertEqual(plan["status"]["steps"], [])
        self.assertEqual(plan["status"]["hidden"]["steps"], 1)

    def test_who_may_ask(self):
        for user in ("viewer", "nobody"):
            self.assertRegex(
                self.plugin_refused(user, "where", "web", "-n", "shop"),
                r'cannot create resource "placements"')
        self.assertIn("Forbidden", self.plugin_refused(
            "editor", "where", "vault", "-n", "bank"))

    def test_top_and_why(self):
        nodes = self.plugin("admin", "top", "nodes")
        self.assertEqual(self.rows(nodes), ["hot", "cold"])
        vms = self.plugin("admin", "top", "vms", "-A")
        self.assertRegex(vms, r"(?m)^shop +web ")
        self.assertIn("vault", vms)
        self.assertNotIn("vault", self.plugin(
            "viewer", "top", "vms", "-n", "shop"))
        self.assertIn("cold", self.plugin("admin", "why", "web", "-n",
                                          "shop"))

    RECOMMENDS = ("Mode: Recommend.\n"
                  "Nothing is moved now: --rebalance is recommend.\n")

    def test_the_leaders_mode_and_why_nothing_is_moved(self):
        eventually("the leader tells it", lambda: self.plugin(
            "admin", "rebalance", "-A").startswith(self.RECOMMENDS))
        self.assertEqual(self.rebalance(), {
            "mode": "Recommend", "why": "--rebalance is recommend"})
        done = self.run_plugin("viewer", "rebalance", "-n", "shop")
        self.assertEqual(done.returncode, 0)
        self.assertNotIn("Mode", done.stdout)
        self.assertIn("so its mode is not shown", done.stderr)

    def rebalance(self):
        return self.kube.get(f"{GROUP}/status/plimsoll")["status"][
            "rebalance"]

    # ---- kubectl ----

    def create(self, user, thing, *flags):
        path = self.folder.path / "thing.yaml"
        path.write_text(yaml.safe_dump(thing))
        # kubectl asks for all CRDs before it checks objects of such an API.
        return self.run_kubectl(user, "create", "-f", str(path),
                                "--validate=false", *flags)

    PLACEMENT = {"apiVersion": "load.plimsoll.io/v1alpha1",
                 "kind": "Placement",
                 "metadata": {"name": "first", "namespace": "shop"},
                 "spec": {"vmName": "web"}}

    def test_kubectl_creates_a_placement(self):
        done = self.create("editor", self.PLACEMENT, "-o", "yaml")
        self.assertEqual(done.returncode, 0, done.stderr)
        thing = yaml.safe_load(done.stdout)
        self.assertEqual(thing["metadata"],
                         {"name": "first", "namespace": "shop"})
        self.assertEqual(thing["spec"], {"vmName": "web"})
        self.assertEqual(thing["status"]["currentNode"], "cold")
        done = self.create("editor", self.PLACEMENT)
        self.assertIn("placement.load.plimsoll.io/first created",
                      done.stdout)
        self.assertIn("MethodNotAllowed", self.refused(
            "admin", "get", "--raw", f"{GROUP}/namespaces/shop/placements"))

    def test_bad_questions_are_refused_in_words(self):
        for body, status, sentence in (
                ({}, 422, "the object has no spec"),
                ({"spec": {}}, 422, "exactly one of"),
                ({"kind": "Plan", "spec": {}}, 400, "not a Placement"),
                ({"metadata": {"namespace": "bank"}, "spec": {}}, 400,
                 "the namespace of the object"),
                ({"spec": {"object": "x" * (256 << 10)}}, 413,
                 "larger than 0.25 MiB")):
            with self.subTest(sentence=sentence):
                with self.assertRaisesRegex(Refused, sentence) as raised:
                    self.kube.request(
                        "POST", f"{GROUP}/namespaces/shop/placements", body)
                self.assertEqual(raised.exception.status, status)
        done = self.create("editor", self.PLACEMENT | {
            "spec": {"vmName": "x" * (256 << 10)}})
        self.assertIn("larger than 0.25 MiB", done.stderr)

    def pod_near(self, **term):
        """A Placement of a pod that must be where pods of the term are."""
        return self.PLACEMENT | {"spec": {"object": {
            "kind": "Pod", "metadata": {"name": "spy"}, "spec": {
                "containers": [], "affinity": {"podAffinity": {
                    "requiredDuringSchedulingIgnoredDuringExecution": [{
                        "topologyKey": "kubernetes.io/hostname",
                        "labelSelector": {"matchLabels": {
                            "tier": "of-vault"}}, **term}]}}}}}}

    def test_a_manifest_tells_nothing_of_pods_that_its_author_may_not_list(
            self):
        for term, where in (
                ({"namespaces": ["bank"]}, 'in the namespace "bank"'),
                ({"namespaces": ["shop", "bank"]}, 'in the namespace "bank"'),
                ({"namespaceSelector": {}}, "at the cluster scope")):
            with self.subTest(term=term):
                done = self.create("editor", self.pod_near(**term))
                self.assertNotEqual(done.returncode, 0, done.stdout)
                self.assertIn("looks into other namespaces", done.stderr)
                self.assertIn(f'cannot list resource "pods" in API group "" '
                              f"{where}", done.stderr)
                done = self.create("admin", self.pod_near(**term),
                                   "-o", "yaml")
                self.assertEqual(yaml.safe_load(done.stdout)["status"][
                    "chosen"], "hot", done.stderr)
        done = self.create("editor", self.pod_near(), "-o", "yaml")
        self.assertIsNone(yaml.safe_load(done.stdout)["status"]["chosen"])

    def test_explain(self):
        def explained():
            done = self.run_kubectl("admin", "explain", "plans.status.steps")
            return done.stdout if done.returncode == 0 else None
        text = eventually("kubectl explains plans", explained)
        self.assertRegex(text, r"targetNode\s+<string>")
        self.assertRegex(self.kubectl("admin", "explain", "placements.spec"),
                         r"object\s+<Object>")
        self.assertRegex(
            self.kubectl("admin", "explain", "status.status.rebalance",
                         "--api-version", "load.plimsoll.io/v1alpha1"),
            r"why\s+<string>")

    def connected(self):
        return self.kube.get(f"{GROUP}/status/plimsoll")["status"][
            "scheduler"]["isConnected"]

    def test_without_a_leader_nobody_answers(self):
        self.assertTrue(self.connected())
        self.leader.kill()
        try:
            eventually("the aggregator misses the leader",
                       lambda: not self.connected())
            self.assertIn(NOBODY_LEADS, self.plugin_refused(
                "editor", "where", "web", "-n", "shop"))
            with self.assertRaisesRegex(Refused, NOBODY_LEADS) as raised:
                self.ask("placements", {"vmName": "web"})
            self.assertEqual(raised.exception.status, 503)
            self.assertEqual(self.rebalance(), {})
            self.assertIn("The mode is not known", self.plugin(
                "admin", "rebalance", "-A"))
        finally:
            self.lead()


if __name__ == "__main__":
    unittest.main()
