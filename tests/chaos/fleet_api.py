"""The Kubernetes API of a run, load.plimsoll.io, and a user of it who is not
friendly: who asks again and again, and makes pods that look like VMs."""
import types

from api_service import ApiService
from kube_api import RBAC, Kube

GROUP = "/apis/load.plimsoll.io/v1alpha1"
# Its pods are no VMs of the run.
NAMESPACE = "hostile"
# The user has the rights of edit and those of the operators' role.
ROLES = ("edit", "plimsoll-load-cluster-reader")


class User(Kube):
    """Asks under this name with the administrator's certificate: a token would
    expire during a long run."""

    def __init__(self, kubeconfig, name):
        super().__init__(kubeconfig)
        self.headers["Impersonate-User"] = name


class FleetApi(ApiService):
    @classmethod
    def begin(cls, cluster, scratch):
        cls.cluster, cls.kube = cluster, cluster.kube()
        cls.folder = types.SimpleNamespace(path=scratch / "api")
        cls.folder.path.mkdir()
        cls.begin_api()
        cls.make_user()
        return cls

    @classmethod
    def make_user(cls):
        cls.kube.request("POST", "/api/v1/namespaces",
                         cls.namespace(NAMESPACE))
        cls.kube.await_account(NAMESPACE)
        for role in ROLES:
            cls.kube.request("POST", f"{RBAC}/clusterrolebindings", {
                "metadata": {"name": f"{NAMESPACE}-{role}"},
                "roleRef": {"apiGroup": "rbac.authorization.k8s.io",
                            "kind": "ClusterRole", "name": role},
                "subjects": [{"kind": "User", "name": NAMESPACE,
                              "apiGroup": "rbac.authorization.k8s.io"}]})
        cls.user = User(cls.cluster.kubeconfig(), NAMESPACE)
