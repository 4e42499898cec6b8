"""A test case for the aggregator's Kubernetes API behind a real API server:
users, two nodes with a VM each, and an aggregator with its APIService."""
import contextlib

from api_service import ApiServiceCase
from harness import (Aggregator, Driver, Machine, agent, eventually, launcher,
                     worker)
from kube_api import RBAC, Refused

GROUP = "/apis/load.plimsoll.io/v1alpha1"


class ApiCase(ApiServiceCase):
    @classmethod
    def setUpClass(cls):
        # Alone: an APIService concerns every namespace of the cluster.
        cls.begin_alone("--with", "controller-manager,scheduler",
                        "--local-services")
        cls.begin_api()
        for name in ("shop", "bank"):
            cls.kube.request("POST", "/api/v1/namespaces",
                             cls.namespace(name))
        cls.make_users()
        cls.begin_loads()
        cls.begin_aggregator()
        cls.await_figures()

    # ---- the world ----

    @classmethod
    def make_users(cls):
        """admin has the cluster's kubeconfig, the others a token."""
        cls.account("shop", "nobody")
        for name, role in (("viewer", "view"), ("editor", "edit")):
            cls.account("shop", name)
            cls.kube.request("POST", f"{RBAC}/namespaces/shop/rolebindings", {
                "metadata": {"name": name},
                "roleRef": {"apiGroup": "rbac.authorization.k8s.io",
                            "kind": "ClusterRole", "name": role},
                "subjects": [{"kind": "ServiceAccount", "name": name,
                              "namespace": "shop"}]})

    @classmethod
    def begin_loads(cls):
        """Two nodes with a VM each, of two namespaces."""
        cls.machines = {}
        for name, busy in (("cold", 0.1), ("hot", 0.9)):
            cls.kube.request("POST", "/api/v1/nodes", worker(
                name, labels={"rack": f"of-{name}"}))
            cls.machines[name] = machine = Machine(cls.folder.path / name)
            machine.busy = busy
            cls.addClassCleanup(machine.close)
        for name, namespace, node in (("web", "shop", "cold"),
                                      ("vault", "bank", "hot")):
            cls.kube.await_account(namespace)
            pod = launcher(name, namespace, nodeName=node)
            pod["metadata"]["labels"]["tier"] = f"of-{name}"
            made = cls.kube.request(
                "POST", f"/api/v1/namespaces/{namespace}/pods", pod)
            cls.machines[node].run_pod(made["metadata"]["uid"], cores=1.5)
        cls.driver = Driver(cls.machines.values()).start()
        cls.addClassCleanup(cls.driver.stop)

    @classmethod
    def begin_aggregator(cls):
        cls.aggregator = cls.folder.add(Aggregator(
            cls.folder.path, "aggregator",
            *cls.api_flags())).start()
        for name, machine in cls.machines.items():
            cls.folder.add(agent(
                cls.folder.path, name, [cls.aggregator.url],
                *machine.agent_flags())).start()
        cls.aggregator.wait_log("front proxy settings read")

    @classmethod
    def await_figures(cls):
        cls.await_available()
        eventually("all figures are there", lambda: all(
            "usedCores5m" in vm["status"] for vm in cls.items("vmloads"))
            and len(cls.items("vmloads")) == 2
            and all(n["status"].get("hottest") and "usedCores10s" in
                    n["status"]["cpu"] for n in cls.items("nodeloads")))

    @classmethod
    def items(cls, resource):
        with contextlib.suppress(Refused):
            return cls.kube.get(f"{GROUP}/{resource}")["items"]
        return []

    # ---- kubectl ----

    def kubectl(self, user, *arguments):
        done = self.run_kubectl(user, *arguments)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout

    def refused(self, user, *arguments):
        done = self.run_kubectl(user, *arguments)
        self.assertNotEqual(done.returncode, 0, done.stdout)
        return done.stderr

    @staticmethod
    def rows(text):
        """The first words of the lines below the head."""
        return [line.split()[0] for line in text.splitlines()[1:]]
