"""The rights of the accounts, compared with the audit log both ways, and what
the API server refuses them. installed_test.py runs these tests with the
programs of the default installation."""
import collections
import json
import ssl

from harness import eventually, launcher
from installation import PROGRAMS, account, vm_pod
from installation_case import InstallationCase
from kube_api import MERGE, Refused, path_of, path_of_object

CLAIMS = path_of("PersistentVolumeClaim", "vms")
WEBHOOKS = ("/apis/admissionregistration.k8s.io/v1/"
            "validatingwebhookconfigurations")
# Any account may review its own rights.
IN_VAIN = {("create", "authorization.k8s.io", "selfsubjectaccessreviews")}
# Without KubeVirt the scheduler asks for its objects in vain: rebalance_test.py
# sees them watched.
KUBEVIRT = {(verb, group, resource) for verb in ("list", "watch")
            for group, resource in (
                ("kubevirt.io", "virtualmachineinstances"),
                ("kubevirt.io", "virtualmachineinstancemigrations"),
                ("kubevirt.io", "kubevirts"),
                ("migrations.kubevirt.io", "migrationpolicies"))}


class RightsCase(InstallationCase):
    # For another way to set schedulerName: overlays_test.py sees it used.
    rights_elsewhere = {("get", "admissionregistration.k8s.io", resource)
                        for resource in ("mutatingadmissionpolicies",
                                         "mutatingadmissionpolicybindings")
                        } | KUBEVIRT

    def make_volumes(self):
        """Two StorageClasses, and a local volume on node-b."""
        for name, provisioner in (("local", "kubernetes.io/no-provisioner"),
                                  ("made", "csi.example.com")):
            self.make({"kind": "StorageClass", "metadata": {"name": name},
                       "provisioner": provisioner,
                       "volumeBindingMode": "WaitForFirstConsumer"})
        self.make({"kind": "PersistentVolume", "metadata": {"name": "local"},
                   "spec": {
                       "capacity": {"storage": "1Gi"},
                       "storageClassName": "local",
                       "accessModes": ["ReadWriteOnce"],
                       "local": {"path": "/disks/1"},
                       "nodeAffinity": {"required": {"nodeSelectorTerms": [{
                           "matchExpressions": [{
                               "key": "kubernetes.io/hostname",
                               "operator": "In", "values": ["node-b"]}]}]}}}})

    def vm_with_claim(self, name):
        self.make({"kind": "PersistentVolumeClaim",
                   "metadata": {"name": name, "namespace": "vms"}, "spec": {
                       "accessModes": ["ReadWriteOnce"],
                       "storageClassName": name,
                       "resources": {"requests": {"storage": "1Gi"}}}})
        pod = vm_pod(name)
        pod["spec"]["volumes"].append({
            "name": "disk", "persistentVolumeClaim": {"claimName": name}})
        return self.make(pod)

    def lose_a_binding(self):
        """A webhook without a server makes the API server answer 500: the
        scheduler then reads the pod to learn whether it is bound."""
        self.kube.request("POST", WEBHOOKS, {
            "metadata": {"name": "gone"}, "webhooks": [{
                "name": "gone.example.com", "sideEffects": "None",
                "admissionReviewVersions": ["v1"], "failurePolicy": "Fail",
                "clientConfig": {"url": "https://127.0.0.1:1/"},
                "rules": [{"apiGroups": [""], "apiVersions": ["v1"],
                           "operations": ["CREATE"],
                           "resources": ["pods/binding"]}]}]})
        self.addCleanup(self.kube.delete, f"{WEBHOOKS}/gone")
        pod = self.make_vm("lost")
        eventually("the pod is read", lambda: any(
            used == ("get", "", "pods")
            for used in self.used()["scheduler"]))
        self.kube.delete(f"{WEBHOOKS}/gone")
        self.run_vm(pod)

    def used(self):
        """Program -> (verb, group, resource) of each request that it made
        under its account; the verb of a 403 begins with "forbidden"."""
        found = collections.defaultdict(set)
        for line in self.world.audit.read_text().splitlines():
            event = json.loads(line)
            user = event["user"].get("username")  # None: a 401
            for program in PROGRAMS:
                # Not what a test asks with the account's token.
                if (user == ":".join(["system:serviceaccount",
                                      *account(program)])
                        and "plimsoll" in event.get("userAgent", "")):
                    verb, *thing = self.request_of(event)
                    found[program].add((verb, *thing))
        return found

    @staticmethod
    def request_of(event):
        thing = event.get("objectRef")
        if thing is None:
            return event["verb"], "path", event["requestURI"].split("?")[0]
        resource = thing["resource"]
        if "subresource" in thing:
            resource += "/" + thing["subresource"]
        no = event.get("responseStatus", {}).get("code") == 403
        return ("forbidden " * no + event["verb"],
                thing.get("apiGroup", ""), resource)

    def granted(self, program):
        """The same of the roles that the manifests bind to it; paths are
        rights at the aggregator."""
        kinds = "clusterrolebindings,rolebindings,clusterroles,roles"
        things = json.loads(self.shell.run(
            f"kubectl get -A {kinds} -o json -l "
            "app.kubernetes.io/part-of=plimsoll"))["items"]
        roles = {b["roleRef"]["name"] for b in things
                 if any((s.get("namespace"), s["name"]) == account(program)
                        for s in b.get("subjects", []))}
        return {(verb, group, resource)
                for role in things if "rules" in role
                and role["metadata"]["name"] in roles
                for rule in role["rules"] for verb in rule["verbs"]
                for group in rule.get("apiGroups", [])
                for resource in rule.get("resources", [])}

    def test_no_right_is_unused_and_none_is_missing(self):
        self.make_volumes()
        self.assertEqual(self.run_vm(self.vm_with_claim("local")), "node-b")
        self.vm_with_claim("made")
        eventually("the claim names a node", lambda: self.kube.get(
            f"{CLAIMS}/made")["metadata"].get("annotations", {}).get(
                "volume.kubernetes.io/selected-node"))
        self.lose_a_binding()
        self.make_unschedulable_vm()
        self.ask_schedulers("/metrics", self.reader)
        for program in PROGRAMS:
            with self.subTest(program):
                granted = self.granted(program) - self.rights_elsewhere
                eventually(f"all rights of {program} were used",
                           lambda p=program, g=granted: g <= self.used()[p])
                self.assertEqual(
                    {u for u in self.used()[program] - IN_VAIN
                     - self.rights_elsewhere if u[1] != "path"}, granted)
        self.assertEqual(self.granted("agent"), set())
        self.assertGreater(len(self.granted("scheduler")), 25)

    def test_the_api_server_refuses_everything_else(self):
        vm = self.make_vm("untouchable")
        pod = path_of_object(vm)
        own = {"metadata": {"name": "x"}}
        rbac = "/apis/rbac.authorization.k8s.io/v1"
        registration = "/apis/admissionregistration.k8s.io/v1"
        calls = [
            ("GET", "/api/v1/secrets", None),
            ("GET", "/api/v1/namespaces/plimsoll/secrets", None),
            ("GET", "/api/v1/namespaces/kube-system/configmaps", None),
            ("DELETE", pod, None), ("PATCH", pod, {}), ("PUT", pod, vm),
            ("POST", pod + "/eviction", own), ("GET", pod + "/log", None),
            ("POST", pod + "/exec?command=id", None),
            ("POST", "/api/v1/namespaces/vms/pods", launcher("x", "vms")),
            ("PATCH", "/api/v1/nodes/node-a", {}),
            ("DELETE", "/api/v1/nodes/node-a", None),
            ("PATCH", "/api/v1/nodes/node-a/status", {}),
            ("GET", "/api/v1/nodes/node-a/proxy/pods", None),
            ("DELETE", "/api/v1/persistentvolumes/disk", None),
            ("POST", "/api/v1/persistentvolumes", own),
            ("DELETE", "/apis/coordination.k8s.io/v1/namespaces/plimsoll/"
             "leases/plimsoll-scheduler", None),
            ("GET", "/apis/coordination.k8s.io/v1/namespaces/kube-system/"
             "leases/kube-scheduler", None),
            ("POST", "/api/v1/namespaces/plimsoll/serviceaccounts/"
             "plimsoll-scheduler/token", {"spec": {}}),
            ("POST", f"{rbac}/clusterrolebindings", {
                **own, "roleRef": {
                    "apiGroup": "rbac.authorization.k8s.io",
                    "kind": "ClusterRole", "name": "cluster-admin"}}),
            ("PATCH", f"{rbac}/clusterroles/plimsoll-scheduler", {}),
            ("DELETE", "/apis/apps/v1/namespaces/plimsoll/deployments/"
             "plimsoll-scheduler", None),
            ("PATCH", f"{registration}/mutatingwebhookconfigurations/"
             "plimsoll-scheduler-name", {}),
            ("GET", f"{registration}/mutatingwebhookconfigurations/other",
             None),
            ("GET", f"{registration}/validatingadmissionpolicies/"
             "plimsoll-certificates-writes", None),
            ("GET", "/metrics", None),
        ]
        own_calls = {
            "agent": [("GET", "/api/v1/pods", None),
                      ("GET", "/api/v1/nodes", None),
                      ("GET", "/api/v1/nodes/node-a", None),
                      ("POST", "/apis/authentication.k8s.io/v1/"
                       "tokenreviews", {"spec": {"token": "x"}}),
                      ("POST", "/plimsoll/snapshots", {})],
            "aggregator": [("GET", "/api/v1/nodes/node-a", None),
                           ("GET", pod, None),
                           ("POST", pod + "/binding", own),
                           ("POST", "/plimsoll/reports", {})],
            "scheduler": [("DELETE", "/api/v1/namespaces/vms/"
                           "persistentvolumeclaims/x", None),
                          ("POST", "/plimsoll/reports", {})],
        }
        for program in PROGRAMS:
            token = self.world.token(*account(program))
            for method, path, body in calls + own_calls[program]:
                with self.subTest(f"{program}: {method} {path}"):
                    self.assertEqual(self.ask(token, method, path, body), 403)

    def ask(self, token, method, path, body):
        """The status that the account of this token gets."""
        kube = type(self.kube).__new__(type(self.kube))
        kube.server = self.kube.server
        kube.tls = ssl.create_default_context(
            cafile=next(self.world.cluster.dir.rglob("ca.crt")))
        kube.headers = {"Authorization": f"Bearer {token}"}
        kind = MERGE if method == "PATCH" else "application/json"
        try:
            kube.request(method, path, body, kind)
        except Refused as no:
            return no.status
        return 200

    def test_the_api_server_refuses_tokens_for_the_aggregator(self):
        for program in ("agent", "scheduler"):
            token = self.world.token(*account(program),
                                "--audience=plimsoll-aggregator")
            self.assertEqual(self.ask(token, "GET", "/api/v1/nodes", None),
                             401)
