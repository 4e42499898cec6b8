"""Many requests of one user, or of one namespace's service accounts: others are
answered all the same. A peer plays the scheduler and answers nothing. The test
plays the front proxy, which sends the requests of all users from one
address."""
import contextlib
import http.client
import json
import pathlib
import select
import ssl
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))

from api_case import GROUP, ApiCase  # noqa: E402
from harness import PATIENCE_S, eventually  # noqa: E402
from kube_api import RBAC  # noqa: E402
from page_fleet import SilentScheduler  # noqa: E402

WAITING, DISCOVERIES, ACCOUNTS = 190, 34, 8
OF_PEER = 16  # HTTPD_PLACES_OF_PEER / HTTPD_PLACES_OF_WAIT
VIEWER = "system:serviceaccount:shop:viewer"
ADMIN = {"X-Remote-User": "admin", "X-Remote-Group": "system:masters"}
PLAN = {"apiVersion": "load.plimsoll.io/v1alpha1", "kind": "Plan",
        "spec": {"goal": "Evacuate", "nodeNames": ["hot"]}}


class Crowds(ApiCase):
    def setUp(self):
        scheduler = SilentScheduler(self.aggregator.url)
        self.addCleanup(scheduler.close)
        eventually("a scheduler leads", lambda: self.ask(
            f"{GROUP}/status/plimsoll", self.proxy_cert(), ADMIN)[1][
                "status"]["scheduler"]["isConnected"])
        trust = ssl.create_default_context(cadata=self.authority)
        trust.check_hostname = False
        trust.load_cert_chain(*self.proxy_cert())
        self.trust = trust

    def begin(self, path, headers, body=None):
        """A connection on which a request was sent."""
        connection = http.client.HTTPSConnection(
            self.HOST, self.port, context=self.trust, timeout=PATIENCE_S)
        self.addCleanup(connection.close)
        with contextlib.suppress(OSError):  # the aggregator has no room
            connection.request(
                "POST" if body else "GET", path,
                json.dumps(body) if body else None,
                {"Content-Type": "application/json", **headers})
        return connection

    @staticmethod
    def answered(connections):
        """Those that have an answer, or were closed."""
        return [one for one in connections
                if one.sock is None or one.sock.fileno() < 0
                or select.select([one.sock], [], [], 0)[0]]

    def statuses(self, connections):
        return [one.getresponse().status for one in connections]

    def test_a_viewer_who_waits_leaves_discovery_to_others(self):
        path = f"{GROUP}/namespaces/shop/vmloads/web/outlook"
        waiting = [self.begin(path, {"X-Remote-User": VIEWER})
                   for _ in range(WAITING)]
        eventually("all but a few are answered", lambda: len(
            self.answered(waiting)) >= WAITING - OF_PEER)
        for n in range(DISCOVERIES):
            self.assertEqual(self.ask(
                ("/apis", "/version", GROUP)[n % 3], self.proxy_cert(),
                {"X-Remote-User": "somebody"})[0], 200)
        self.assertEqual(self.ask(f"{GROUP}/nodeloads", self.proxy_cert(),
                                  ADMIN)[0], 200)
        answers = [one.getresponse() for one in self.answered(waiting)]
        refused = [one for one in answers if one.status == 429]
        self.assertGreater(len(refused), 0)
        self.assertEqual({one.headers["Retry-After"] for one in refused},
                         {"1"})

    def test_an_outlook_of_no_vm_is_answered_without_the_scheduler(self):
        status, body = self.ask(
            f"{GROUP}/namespaces/shop/vmloads/none/outlook",
            self.proxy_cert(), ADMIN)
        self.assertEqual((status, body["message"]), (
            404, 'vmloads.load.plimsoll.io "none" not found'))

    def test_the_accounts_of_a_namespace_leave_questions_to_others(self):
        self.kube.request("POST", f"{RBAC}/namespaces/shop/rolebindings", {
            "metadata": {"name": "all"},
            "roleRef": {"apiGroup": "rbac.authorization.k8s.io",
                        "kind": "ClusterRole", "name": "edit"},
            "subjects": [{"kind": "Group", "name":
                          "system:serviceaccounts:shop",
                          "apiGroup": "rbac.authorization.k8s.io"}]})
        path = f"{GROUP}/namespaces/shop/plans"
        asked = [self.begin(path, {
            "X-Remote-User": f"system:serviceaccount:shop:sa-{n}",
            "X-Remote-Group": "system:serviceaccounts:shop"}, PLAN)
                 for n in range(ACCOUNTS) for _ in range(4)]
        eventually("all but four are answered", lambda: len(
            self.answered(asked)) >= len(asked) - 4)
        self.assertEqual(
            set(self.statuses(self.answered(asked))) - {503}, {429})
        # The administrator's are open until nobody has answered them.
        plans = [self.begin(path, ADMIN, PLAN) for _ in range(4)]
        for plan in plans:
            answer = plan.getresponse()
            self.assertIn("did not answer in time",
                          json.loads(answer.read())["message"])
            self.assertEqual(answer.status, 503)


if __name__ == "__main__":
    unittest.main()
