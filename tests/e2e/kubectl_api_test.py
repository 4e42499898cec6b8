"""kubectl reads load.plimsoll.io through a real API server: as an administrator,
with `view` in one namespace, and as nobody. And the rules for the front
proxy."""
import contextlib
import pathlib
import re
import subprocess
import sys
import unittest

import yaml

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))

from api_case import GROUP, ApiCase  # noqa: E402
from harness import ROOT, eventually  # noqa: E402
from kube_api import Refused  # noqa: E402
from wire_peer import WirePeer, pack  # noqa: E402

SETTINGS = ("/api/v1/namespaces/kube-system/configmaps/"
            "extension-apiserver-authentication")


def openssl(*arguments):
    subprocess.run(["openssl", *map(str, arguments)], check=True,
                   capture_output=True)


class Authority:
    """Makes certificates of clients with names that a test chooses."""

    def __init__(self, folder, name):
        self.folder, self.cert = folder, folder / f"{name}.crt"
        self.key = folder / f"{name}.key"
        openssl("req", "-x509", "-newkey", "ec", "-pkeyopt",
                "ec_paramgen_curve:prime256v1", "-nodes", "-keyout", self.key,
                "-out", self.cert, "-subj", f"/CN={name}", "-days", "2")

    def sign(self, name):
        """The files of a new certificate of that name and of its key."""
        base = self.folder / f"{self.cert.stem}-{name}"
        extensions = base.with_suffix(".ext")
        extensions.write_text("extendedKeyUsage=clientAuth\n")
        cert, key = base.with_suffix(".crt"), base.with_suffix(".key")
        request = base.with_suffix(".csr")
        openssl("req", "-newkey", "ec", "-pkeyopt",
                "ec_paramgen_curve:prime256v1", "-nodes", "-keyout", key,
                "-out", request, "-subj", f"/CN={name}")
        openssl("x509", "-req", "-in", request, "-CA", self.cert, "-CAkey",
                self.key, "-CAcreateserial", "-out", cert, "-days", "2",
                "-extfile", extensions)
        return cert, key

    def text(self):
        return self.cert.read_text()


class KubectlApi(ApiCase):
    def await_text(self, pattern, *arguments):
        """What kubectl prints when it matches. The cores of machines that are
        played differ for a moment when the player was late."""
        return eventually(
            f"kubectl prints {pattern}", lambda: next(
                (text for text in [self.kubectl("admin", *arguments)]
                 if re.search(pattern, text)), None))

    def test_nodes_as_a_table(self):
        text = self.await_text(
            r"hot +Fresh +5\.\d/6 +[89]\d% +20% .* cpu ",
            "get", "nodeloads")
        self.assertEqual(self.rows(text), ["cold", "hot"])
        self.assertRegex(text, r"NAME +STATE +CPU +CPU% +MEMORY%")
        wide = self.kubectl("admin", "get", "nl", "-o", "wide", "hot")
        self.assertRegex(wide, r"KVM")
        self.assertEqual(self.rows(wide), ["hot"])
        labels = self.kubectl("admin", "get", "nl", "-L", "rack")
        self.assertRegex(labels, r"cold .*of-cold")

    def test_vms_sorted_by_a_field(self):
        text = self.await_text(
            r"shop +web +cold +1\.\d\d ", "get", "vmloads", "-A", "-o",
            "wide", "--sort-by", ".status.usedCores")
        self.assertEqual(sorted(self.rows(text)), ["bank", "shop"])

    def test_selectors(self):
        for resource, flags, names in (
                ("nodeloads", ["-l", "rack=of-hot"], ["nodeload/hot"]),
                ("nodeloads", ["-l", "rack notin (of-hot)"],
                 ["nodeload/cold"]),
                ("nodeloads", ["-l", "!rack"], []),
                ("nodeloads", ["--field-selector", "status.state=Fresh"],
                 ["nodeload/cold", "nodeload/hot"]),
                ("vmloads", ["--field-selector", "spec.nodeName=cold"],
                 ["vmload/web"]),
                ("vmloads", ["-l", "tier in (of-vault,x)"],
                 ["vmload/vault"])):
            with self.subTest(flags=flags):
                text = self.kubectl("admin", "get", resource, "-A", "-o",
                                    "name", *flags)
                self.assertEqual([n.replace(".load.plimsoll.io", "")
                                  for n in text.split()], names)
        self.assertIn("not one of", self.refused(
            "admin", "get", "nodeloads", "--field-selector", "spec.x=y"))

    def test_pages_are_the_whole_list(self):
        text = self.kubectl("admin", "get", "nodeloads", "--chunk-size=1",
                            "-o", "name")
        self.assertEqual(len(text.split()), 2)

    def test_describe_and_yaml(self):
        text = self.kubectl("admin", "describe", "nodeload", "hot")
        self.assertRegex(text, r"Hottest: +cpu")

        def busy_web():
            thing = yaml.safe_load(self.kubectl(
                "admin", "get", "vmload", "web", "-n", "shop", "-o", "yaml"))
            return abs(thing["status"]["usedCores"] - 1.5) < 0.3 and thing
        thing = eventually("the VM uses 1.5 cores", busy_web)
        self.assertEqual(thing["kind"], "VmLoad")
        self.assertEqual(thing["spec"]["nodeName"], "cold")
        self.assertEqual(len(thing["status"]["pods"]), 1)
        self.assertEqual(thing["metadata"]["labels"]["tier"], "of-web")

    def test_explain(self):
        def explained():
            done = self.run_kubectl("admin", "explain",
                                    "nodeloads.status.cpu")
            return done.stdout if done.returncode == 0 else None
        # kube-apiserver fetches the document in the background.
        text = eventually("kubectl explains nodeloads", explained)
        self.assertRegex(text, r"usedCores5m\s+<number>")
        self.assertIn("CPUs in use, mean of 5 min", text)

    def test_api_resources(self):
        text = self.kubectl("admin", "api-resources", "--api-group",
                            "load.plimsoll.io")
        self.assertEqual(sorted(self.rows(text)), [
            "decisions", "moves", "nodeloads", "placements", "plans",
            "status", "vmloads"])

    def test_the_page_is_open_to_every_user(self):
        page = (ROOT / "page/index.html").read_text().replace('=""', "")
        for user in ("admin", "viewer", "nobody"):
            # kube-apiserver reads the links of HTML and writes it again.
            self.assertEqual(self.kubectl(
                user, "get", "--raw", f"{GROUP}/ui").replace('=""', ""), page)
            self.assertIn(".dygraph-legend", self.kubectl(
                user, "get", "--raw", f"{GROUP}/ui/dygraph.css"))
        self.assertIn("the page has no file 'x.js'", self.refused(
            "nobody", "get", "--raw", f"{GROUP}/ui/x.js"))

    def test_a_watch_is_refused_in_words(self):
        # kubectl 1.30 has words of its own for a watch.
        self.assertRegex(self.refused(
            "admin", "get", "nodeloads", "--watch-only"),
            "watch is not supported|MethodNotAllowed")
        self.assertIn("watch is not supported", self.refused(
            "admin", "get", "--raw", f"{GROUP}/nodeloads?watch=1"))

    def test_a_viewer_of_a_namespace_sees_its_vms_and_no_others(self):
        self.assertEqual(self.rows(self.kubectl(
            "viewer", "get", "vmloads", "-n", "shop")), ["web"])
        self.assertIn("cannot list resource \"vmloads\"", self.refused(
            "viewer", "get", "vmloads", "-A"))
        self.assertIn("Forbidden", self.refused(
            "viewer", "get", "vmloads", "-n", "bank"))
        self.assertIn("Forbidden", self.refused(
            "viewer", "get", "vmload", "vault", "-n", "bank"))
        self.assertIn("Forbidden", self.refused("viewer", "get", "nodeloads"))
        self.kubectl("viewer", "get", "decisions,moves", "-n", "shop")

    def test_nobody_sees_nothing_but_discovery(self):
        for resource in ("vmloads", "decisions", "moves"):
            self.assertIn("Forbidden", self.refused(
                "nobody", "get", resource, "-n", "shop"))
        self.assertIn("Forbidden", self.refused("nobody", "get", "status"))
        self.assertIn("nodeloads", self.kubectl(
            "nobody", "api-resources", "--api-group", "load.plimsoll.io"))

    def test_history(self):
        def rows():
            with contextlib.suppress(Refused):
                return self.kube.get(
                    f"{GROUP}/namespaces/shop/vmloads/web/history")
            return None
        history = eventually("there is a history", rows)
        self.assertEqual(history["kind"], "LoadHistory")
        self.assertEqual(history["metadata"],
                         {"name": "web", "namespace": "shop"})
        self.assertIn("stepSeconds", history)
        with self.assertRaisesRegex(Refused, "404"):
            self.kube.get(f"{GROUP}/namespaces/shop/vmloads/none/history")

    def test_status(self):
        eventually("both agents are fresh", lambda: re.search(
            r"plimsoll .* Storing +2/2", self.kubectl(
                "admin", "get", "status.load.plimsoll.io")))
        store = eventually("the size of the database is known", lambda: (
            one := self.kube.get(f"{GROUP}/status/plimsoll")["status"][
                "store"]).get("databaseBytes") and one)
        self.assertGreater(store["databaseBytes"], 4096)
        self.assertEqual(store["databaseMaxBytes"], 40 << 30)

    def test_an_unknown_object_is_not_found(self):
        self.assertIn("(NotFound)", self.refused(
            "admin", "get", "nodeload", "none"))

    # ---- records of a scheduler, whose part a peer plays ----

    def send(self, kind, *records):
        peer = WirePeer(self.aggregator.url, "scheduler")
        self.addCleanup(peer.close)
        self.assertIn(2, peer.request(
            (kind, pack(*((1, pack(*record)) for record in records)))))

    def send_moves(self):
        """Three of shop, the second for a pod of bank, and one of bank."""
        self.send(6, *(
            ((1, f"id-{n}"), (2, 1), (3, namespace), (4, f"vm-{n}"),
             (6, "hot"), (7, "cold"), (8, state), (9, 1),
             (12, 1780000000000000 + n * 1500000), (17, sentence), *more)
            for n, namespace, state, sentence, more in (
                (1, "shop", 4, "hot is short of memory", ()),
                (2, "shop", 0, "makes room for bank/vault on hot",
                 ((38, "bank/vault"), (39, "u-2"))),
                (3, "shop", 5, "hot is short of memory", ()),
                (4, "bank", 5, "hot is short of memory", ()))))

    def test_moves(self):
        self.send_moves()
        text = self.kubectl("viewer", "get", "moves", "-n", "shop")
        self.assertEqual(self.rows(text), ["id-3", "id-2", "id-1"])
        self.assertRegex(text, r"id-3 +vm-3 +hot +cold +memory +Failed")
        for flags, names in (
                (["--field-selector", "status.state=Failed"], ["id-3"]),
                (["--field-selector", "spec.vmName=vm-1"], ["id-1"]),
                (["--field-selector", "spec.targetNode=hot"], []),
                (["-l", "a=b"], []), (["-l", "a!=b", "--chunk-size=1"],
                                      ["id-3", "id-2", "id-1"])):
            with self.subTest(flags=flags):
                found = self.kubectl("viewer", "get", "moves", "-n", "shop",
                                     "-o", "name", *flags)
                self.assertEqual([line.split("/")[1]
                                  for line in found.split()], names)
        everything = self.kubectl("viewer", "get", "moves", "-n", "shop",
                                  "-o", "yaml")
        self.assertIn("roomFor: a pod of another namespace", everything)
        self.assertNotIn("vault", everything)
        self.assertIn("id-4", self.kubectl("admin", "get", "moves", "-A"))
        self.kubectl("viewer", "get", "move", "id-1", "-n", "shop")
        self.assertIn("NotFound", self.refused(
            "viewer", "get", "move", "id-4", "-n", "shop"))

    def test_decisions(self):
        at_us = 1780000000000000
        self.send(4, *(
            ((1, namespace), (2, pod), (3, "u"), (4, at_us + n), (5, "p"),
             (6, "cold"), (7, 2), (8, 1), (10, f"cold, as {pod} is small"),
             (15, pod[-3:]))
            for n, namespace, pod in ((1, "shop", "virt-launcher-web"),
                                      (2, "shop", "virt-launcher-api"),
                                      (3, "bank", "virt-launcher-sec"))))
        name = f"virt-launcher-web.{at_us + 1:x}"
        self.assertEqual(self.rows(self.kubectl(
            "viewer", "get", "decisions", "-n", "shop", "--field-selector",
            "spec.vmName=web")), [name])
        self.assertEqual(len(self.rows(self.kubectl(
            "viewer", "get", "decisions", "-n", "shop",
            "--chunk-size=1"))), 2)
        text = self.kubectl("viewer", "describe", "decision", name, "-n",
                            "shop")
        self.assertRegex(text, r"Chosen: +cold")
        self.assertRegex(text, r"Sentence: +cold, as virt-launcher-web")
        self.assertIn("NotFound", self.refused(
            "viewer", "get", "decision", f"{name}0", "-n", "shop"))
        self.assertEqual(len(self.kubectl(
            "admin", "get", "decisions", "-A", "-o", "name").split()), 3)

    # ---- the front proxy ----

    def assert_unauthorized(self, sentence, *arguments):
        for path in (f"{GROUP}/nodeloads", "/apis", "/openapi/v3", "/livez"):
            status, body = self.ask(path, *arguments)
            self.assertEqual(status, 401, body)
            self.assertEqual(body["kind"], "Status")
            self.assertIn(sentence, body["message"])

    SPOOF = {"X-Remote-User": "admin", "X-Remote-Group": "system:masters"}

    def test_without_a_certificate_nobody_is_believed(self):
        self.assert_unauthorized("certificate is required", None, self.SPOOF)

    def test_another_authority_makes_no_front_proxy(self):
        stranger = Authority(self.folder.path, "stranger")
        self.assert_unauthorized(
            "not accepted", stranger.sign("front-proxy-client"), self.SPOOF)

    def test_the_front_proxy_names_the_user(self):
        self.assert_unauthorized("names no user", self.proxy_cert())
        status, body = self.ask(f"{GROUP}/nodeloads", self.proxy_cert(),
                                {"X-Remote-User": "somebody"})
        self.assertEqual(status, 403, body)
        self.assertIn('User "somebody" cannot list', body["message"])
        status, body = self.ask(f"{GROUP}/nodeloads", self.proxy_cert(),
                                self.SPOOF)
        self.assertEqual(status, 200, body)
        self.assertEqual(self.ask("/apis", self.proxy_cert(),
                                  {"X-Remote-User": "somebody"})[0], 200)

    def test_a_new_authority_is_trusted_and_the_name_still_counts(self):
        new = Authority(self.folder.path, "rotated")
        good, bad = new.sign("front-proxy-client"), new.sign("other")
        self.assert_unauthorized("not accepted", good, self.SPOOF)
        old = self.kube.get(SETTINGS)["data"]["requestheader-client-ca-file"]
        self.addCleanup(self.set_authority, old)
        self.set_authority(old + new.text())
        eventually("the new authority is trusted", lambda: self.ask(
            f"{GROUP}/nodeloads", good, self.SPOOF)[0] == 200)
        self.assert_unauthorized("not the name of a front proxy", bad,
                                 self.SPOOF)
        self.assertEqual(len(self.rows(self.kubectl(
            "admin", "get", "nodeloads"))), 2)
        self.set_authority(old)
        eventually("the authority is trusted no more", lambda: self.ask(
            f"{GROUP}/nodeloads", good, self.SPOOF)[0] == 401)

    def set_authority(self, text):
        self.kube.patch(SETTINGS, {
            "data": {"requestheader-client-ca-file": text}})

    # ---- the aggregator is away ----

    def freshness(self):
        """Whether kube-apiserver trusts what it knows of the API."""
        discovery = self.cluster.kube()
        discovery.headers["Accept"] = (
            "application/json;g=apidiscovery.k8s.io;v=v2;"
            "as=APIGroupDiscoveryList")
        group = next(item for item in discovery.get("/apis")["items"]
                     if item["metadata"]["name"] == "load.plimsoll.io")
        return group["versions"][0]["freshness"]

    def test_without_the_aggregator_namespaces_stay_until_it_is_back(self):
        self.kube.request("POST", "/api/v1/namespaces",
                          self.namespace("leaving"))
        self.kube.await_account("leaving")
        self.aggregator.kill()
        try:
            eventually("kubectl says that the API is away", lambda: (
                "ServiceUnavailable" in self.run_kubectl(
                    "admin", "get", "nodeloads").stderr))
            self.assertIn("shop", self.kubectl("admin", "get", "namespaces"))
            eventually("discovery says so", lambda: (
                self.freshness() == "Stale"))
            self.kube.request("DELETE", "/api/v1/namespaces/leaving")

            def stuck():
                conditions = self.kube.get(
                    "/api/v1/namespaces/leaving")["status"].get(
                        "conditions", [])
                return any(c["type"] == "NamespaceDeletionDiscoveryFailure"
                           and c["status"] == "True" for c in conditions)
            eventually("the namespace says what it waits for", stuck)
        finally:
            self.aggregator.start()
        self.await_available()
        eventually("the namespace is gone", lambda: self.kube.find(
            "/api/v1/namespaces/leaving") is None)


if __name__ == "__main__":
    unittest.main()
