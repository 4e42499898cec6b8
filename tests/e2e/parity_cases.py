"""Random clusters and a pod to place, for parity with kube-scheduler.

case(seed, number) is always the same one. Every case has a few themes, so that
the filters that come first do not hide the later ones, and few names, so that
what is picked meets: a label, a zone, a claim is rarely alone."""
from parity_storage import Storage
from parity_words import (FEATURES, GONE, HOST, HUGE, KEYS, KVM, NAMESPACES, PREFERRED,
                          REQUIRED, TOPOLOGIES, VALUES, ZONE, Dice)

THEMES = ("resources", "edges", "ports", "taints", "nodes", "between", "spread",
          "storage", "provision", "disks", "nominated", "features", "named")
# Each alone in a share of the cases, what it may be seen with in the others.
# These weights, and the shares below, are such that each wrong rule of
# parity_rules.py is seen in ten cases of 2,000 and more, whatever the seed.
WEIGHTS = (2, 3, 4, 4, 4, 7, 7, 10, 5, 3, 2, 5, 2)
# Those that plimsoll refuses on purpose; docs/parity.md says why.
REFUSED = {
    "no-dra": {"resourceClaims": [
        {"name": "gpu", "resourceClaimName": "gpu"}]},
    "no-csi-migration": {"volumes": [
        {"name": "disk", "gcePersistentDisk": {"pdName": "disk"}}]},
}
REFUSED_SHARE = 0.01


class Case(Storage):
    """One case in the making."""

    def __init__(self, seed, number):
        self.dice = Dice(f"{seed}/{number}")
        d = self.dice
        self.themes = {d.choices(THEMES, WEIGHTS)[0]}
        while d.maybe(0.45):
            self.themes.add(d.choices(THEMES, WEIGHTS)[0])
        if self.has("nominated"):  # who needs something to be in the way
            self.themes.add(d.pick("edges", "edges", "ports", "between"))
        if self.has("edges") or d.maybe(0.1):
            self.themes.add("resources")
        if self.has("spread") and d.maybe(0.7):
            self.themes.add(d.pick("nodes", "taints"))
        if self.has("provision"):
            self.themes.add("storage")
        self.size = d.randint(2, 5)
        # The incoming pod:
        self.own = self.labels() or {"app": d.choice(VALUES)}
        self.namespace = d.pick("x", "x", "y")

    def has(self, theme):
        return theme in self.themes

    # ---- labels and selectors ----

    def labels(self):
        d = self.dice
        return {k: d.choice(VALUES) for k in KEYS if d.maybe(0.6)}

    def expression(self, keys, values, ordered=False):
        d = self.dice
        operators = ["In", "NotIn", "Exists", "DoesNotExist"]
        made = {"key": d.choice(keys), "operator": d.choice(
            operators + (["NotIn", "NotIn", "Gt", "Lt"] if ordered else []))}
        if made["operator"] in ("In", "NotIn"):
            made["values"] = d.some(values)
        elif made["operator"] in ("Gt", "Lt"):
            made["values"] = [d.choice(VALUES)]
        return made

    def selector(self):
        d = self.dice
        made = {}
        if d.maybe(0.6):
            made["matchLabels"] = {d.choice(KEYS): d.choice(VALUES)}
        if d.maybe(0.4):
            made["matchExpressions"] = [self.expression(KEYS, VALUES)]
        return made

    @staticmethod
    def spare_keys(selector):
        """Keys that the selector lacks: validation wants no key twice."""
        taken = {*selector.get("matchLabels", {}), *(
            e["key"] for e in selector.get("matchExpressions", []))}
        return [k for k in KEYS if k not in taken]

    # ---- what a pod wants of nodes ----

    def node_term(self):
        d = self.dice
        made = {}
        if d.maybe(0.75):
            made["matchExpressions"] = [
                self.expression((ZONE, "rack", "disk", "num"),
                                ("1", "2", "3", "ssd"), ordered=True)
                for _ in range(d.pick(1, 1, 2))]
        if d.maybe(0.25):
            made["matchFields"] = [{
                "key": "metadata.name", "operator": d.pick("In", "In", "NotIn"),
                "values": [d.pick("n0", "n1", "n2", "n9")]}]
        return made

    def node_affinity(self):
        d = self.dice
        made = {}
        if d.maybe(0.8):
            made[REQUIRED] = {"nodeSelectorTerms": [
                self.node_term() for _ in range(d.randint(1, 2))]}
        if d.maybe(0.2):
            made[PREFERRED] = [{"weight": d.randint(1, 100),
                                "preference": self.node_term()}]
        return made

    def tolerations(self):
        d = self.dice
        return [d.pick(
            {"key": "k", "operator": "Exists"},
            {"key": "k", "operator": "Equal", "value": "1",
             "effect": "NoSchedule"},
            {"key": "k", "operator": "Equal", "value": "1",
             "effect": "NoExecute"},
            {"operator": "Exists", "effect": "NoSchedule"},
            {"operator": "Exists"},
            {"key": "k", "value": "1"},
            {"key": "k", "value": "2"},
            {"key": "node.kubernetes.io/unschedulable", "operator": "Exists",
             "effect": "NoSchedule"}) for _ in range(d.randint(1, 2))]

    # ---- what a pod wants of pods ----

    def pod_term(self):
        d = self.dice
        made = {"topologyKey": d.choice(TOPOLOGIES)}
        if d.maybe(0.95):
            made["labelSelector"] = self.selector()
            if d.maybe(0.1):
                made[d.pick("matchLabelKeys", "mismatchLabelKeys")] = [
                    d.choice(self.spare_keys(made["labelSelector"]))]
        if d.maybe(0.4):
            made["namespaces"] = d.some(NAMESPACES)
        if d.maybe(0.4):
            made["namespaceSelector"] = self.selector()
            if d.maybe(0.3):
                made["namespaceSelector"] = {"matchExpressions": [
                    self.without(KEYS, VALUES)]}
        return made

    def without(self, keys, values):
        """An expression that labels match without the key."""
        d = self.dice
        if d.maybe(0.5):
            return {"key": d.choice(keys), "operator": "DoesNotExist"}
        return {"key": d.choice(keys), "operator": "NotIn",
                "values": d.some(values)}

    def between(self):
        d = self.dice
        made = {}
        for kind, share in (("podAffinity", 0.5), ("podAntiAffinity", 0.6)):
            if not d.maybe(share):
                continue
            made[kind] = {}
            if d.maybe(0.8):
                made[kind][REQUIRED] = [
                    self.pod_term() for _ in range(d.randint(1, 2))]
            if d.maybe(0.2):
                made[kind][PREFERRED] = [{
                    "weight": d.randint(1, 100),
                    "podAffinityTerm": self.pod_term()}]
        return made

    def spread(self):
        d = self.dice
        made = {}
        for _ in range(d.pick(1, 1, 1, 2, 3)):
            hard = d.maybe(0.8)
            one = {"topologyKey": d.choice(TOPOLOGIES),
                   "maxSkew": d.pick(1, 1, 2), "whenUnsatisfiable":
                   "DoNotSchedule" if hard else "ScheduleAnyway"}
            if d.maybe(0.95):
                one["labelSelector"] = self.selector()
                if self.own and d.maybe(0.5):
                    key = d.choice(sorted(self.own))
                    one["labelSelector"] = {"matchLabels": {
                        key: self.own[key]}}
                if d.maybe(0.2):
                    one["matchLabelKeys"] = self.spare_keys(
                        one["labelSelector"])[:1]
            if hard and d.maybe(0.6):
                one["minDomains"] = d.randint(1, 4)
            for policy in ("nodeAffinityPolicy", "nodeTaintsPolicy"):
                if d.maybe(0.8):
                    one[policy] = d.pick("Honor", "Ignore")
            made[one["topologyKey"], hard] = one
        return list(made.values())

    # ---- resources ----

    def cpu(self):
        return self.dice.pick("0", "1", "500m", "2", "250m", "100m", "3", "1m")

    def memory(self):
        return self.dice.pick("1Gi", "512Mi", "0", "100M", "2Gi", "1500000001")

    def plain(self):
        d = self.dice
        made = {}
        if d.maybe(0.7):
            made["cpu"] = self.cpu()
        if d.maybe(0.7):
            made["memory"] = self.memory()
        if d.maybe(0.2):
            made["ephemeral-storage"] = d.pick("1Gi", "9Gi", "1")
        return made

    def wanted(self):
        """Requests, and limits where these are needed or stand for them."""
        d = self.dice
        plain, whole = self.plain(), {}
        if d.maybe(0.25):
            whole[KVM] = d.pick("1", "2")
        if d.maybe(0.15) and ("cpu" in plain or "memory" in plain):
            whole[HUGE] = d.pick("2Mi", "4Mi")
        if d.maybe(0.1):
            return {"limits": {**plain, **whole}}
        made = {"requests": {**plain, **whole}}
        if whole:
            made["limits"] = whole
        return made

    def pod_level(self, spec):
        """As large as all containers together, as validation demands."""
        d = self.dice
        spec["resources"] = {"requests": {
            name: size for name, size in (("cpu", d.pick("12", "14500m")),
                                          ("memory", d.pick("9Gi", "12Gi")))
            if d.maybe(0.7)}}
        for c in spec["containers"] + spec.get("initContainers", []):
            if "limits" in c.get("resources", {}):
                c["resources"] = {"requests": self.plain()}

    def container(self, name, ports):
        d = self.dice
        made = {"name": name, "image": "registry.example/i:1"}
        if self.has("resources") and d.maybe(0.8):
            made["resources"] = self.wanted()
        if self.has("ports") and ports and d.maybe(0.75):
            port = {"containerPort": 80, "hostPort": ports.pop()}
            if d.maybe(0.7):
                port["protocol"] = d.pick("TCP", "UDP")
            if d.maybe(0.8):
                port["hostIP"] = d.pick("0.0.0.0", "127.0.0.1", "10.0.0.1",
                                        "::")
            made["ports"] = [port]
        return made

    def containers(self, spec):
        d = self.dice
        ports = [80, 81, 82]
        d.shuffle(ports)
        spec["containers"] = [self.container(name, ports)
                              for name in ("a", "b")[:d.pick(1, 1, 2)]]
        if d.maybe(0.45):
            spec["initContainers"] = [self.container(f"i{i}", ports)
                                      for i in range(d.randint(1, 3))]
            for one in spec["initContainers"]:
                if d.maybe(0.55):
                    one["restartPolicy"] = "Always"
        if self.has("resources") and d.maybe(0.2):
            self.pod_level(spec)
        if d.maybe(0.25):
            spec["overhead"] = {"cpu": "250m", "memory": "10Mi"}

    def resized(self, spec):
        """The status of a running pod that was or is being resized."""
        d = self.dice

        def of(container):
            made = {"name": container["name"], "ready": True,
                    "restartCount": 0, "image": "i", "imageID": ""}
            if d.maybe(0.8):
                made["resources"] = {"requests": self.plain()}
            elif d.maybe(0.3):
                made["resources"] = {}
            if d.maybe(0.3):
                made["allocatedResources"] = self.plain()
            return made

        made = {"phase": "Running"}
        if d.maybe(0.8):
            made["containerStatuses"] = [of(c) for c in spec["containers"]]
        if d.maybe(0.6) and "initContainers" in spec:
            made["initContainerStatuses"] = [
                of(c) for c in spec["initContainers"]]
        if d.maybe(0.7):
            made["conditions"] = [{
                "type": "PodResizePending", "status": d.pick("True", "False"),
                "reason": d.pick("Infeasible", "Infeasible", "Deferred")}]
        if d.maybe(0.6 if "resources" in spec else 0.15):
            made["resources"] = {"requests": {
                "cpu": self.cpu(), "memory": d.pick("9Gi", "13Gi")}}
            if d.maybe(0.5):
                made["allocatedResources"] = {"cpu": self.cpu()}
        return made

    def features(self, spec):
        """Features that the node must declare. The port of a pod on the host's
        network must be that of its container."""
        d = self.dice
        if not self.has("ports") and d.maybe(0.55):
            spec["hostNetwork"] = True
            if d.maybe(0.85):
                spec["hostUsers"] = d.maybe(0.15)
        if d.maybe(0.6):
            one = d.choice(spec["containers"])
            one["restartPolicy"] = "Never"
            one["restartPolicyRules"] = [{
                "action": d.pick("RestartAllContainers",
                                 "RestartAllContainers", "Restart"),
                "exitCodes": {"operator": "In", "values": [42]}}]

    # ---- pods ----

    def spec(self, share):
        """share: how likely the pod has what the themes are about."""
        d = self.dice
        made = {}
        self.containers(made)
        if self.has("between") and d.maybe(share):
            made["affinity"] = self.between()
        if ((self.has("storage") or self.has("disks"))
                and d.maybe(share)):
            made["volumes"] = [self.volume(f"v{i}")
                               for i in range(d.pick(1, 1, 2, 3))]
        return made

    def incoming(self):
        d = self.dice
        spec = self.spec(0.95)
        if self.has("nodes"):
            if d.maybe(0.75):
                spec.setdefault("affinity", {})[
                    "nodeAffinity"] = self.node_affinity()
            if d.maybe(0.5):
                spec["nodeSelector"] = {"disk": d.pick("ssd", "hdd")}
        if self.has("taints") and d.maybe(0.6):
            spec["tolerations"] = self.tolerations()
        if self.has("spread") and d.maybe(0.9):
            spec["topologySpreadConstraints"] = self.spread()
        if self.has("nominated"):
            spec["priority"] = 5
        if self.has("named") and d.maybe(0.9):
            spec["nodeName"] = f"n{d.randrange(self.size)}"
        if self.has("features") and d.maybe(0.95):
            self.features(spec)
        return {"metadata": {
            "name": "p", "namespace": self.namespace, "uid": "p",
            "labels": self.own}, "spec": spec}

    def other(self, i):
        d = self.dice
        spec = self.spec(0.7)
        meta = {"name": f"q{i}", "namespace": d.pick("x", "x", "y", "z"),
                "uid": f"q{i}", "labels": self.labels()}
        if self.has("spread") and d.maybe(0.7):
            meta["namespace"], meta["labels"] = self.namespace, self.own
        node = f"n{d.randrange(self.size)}"
        if self.has("nominated") and d.maybe(0.4):
            spec["priority"] = d.randint(3, 6)
            status = {"nominatedNodeName": node}
            if d.maybe(0.4):
                spec["schedulingGates"] = [{"name": "example.com/quota"}]
        else:
            spec["nodeName"] = node
            status = (self.resized(spec) if self.has("resources")
                      and d.maybe(0.6) else {"phase": "Running"})
            if d.maybe(0.12):
                meta["deletionTimestamp"] = GONE
            if d.maybe(0.05):
                status["phase"] = d.pick("Succeeded", "Failed")
        return {"metadata": meta, "spec": spec, "status": status}

    # ---- nodes ----

    def node(self, i):
        d = self.dice
        labels = {HOST: f"n{i}"}
        if d.maybe(0.85):
            labels[ZONE] = d.choice(VALUES)
        if d.maybe(0.1):
            labels["topology.kubernetes.io/region"] = "r"
        if d.maybe(0.6):
            labels["rack"] = d.pick("1", "2")
        if d.maybe(0.75):
            labels["disk"] = d.pick("ssd", "hdd")
        if d.maybe(0.4):
            labels["num"] = d.pick("1", "2", "3", "x")
        if d.maybe(0.05):
            del labels[HOST]
        small = self.has("resources") and d.maybe(0.5)
        made = {"metadata": {"name": f"n{i}", "labels": labels}, "spec": {},
                "status": {"allocatable": {
                    "cpu": d.pick("4", "8", "2") if small else "64",
                    "memory": d.pick("8Gi", "4Gi") if small else "256Gi",
                    "pods": d.pick("110", "110", "110", "2"),
                    "ephemeral-storage": "20Gi" if small else "200Gi",
                    KVM: d.pick("3", "1k"), HUGE: d.pick("0", "8Mi", "64Mi")}}}
        if small and d.maybe(0.1):
            del made["status"]["allocatable"][KVM]
        if self.has("taints"):
            if d.maybe(0.3):
                made["spec"]["unschedulable"] = True
            if d.maybe(0.7):
                made["spec"]["taints"] = [{
                    "key": "k", "value": d.pick("1", "2"),
                    "effect": d.pick("NoSchedule", "PreferNoSchedule",
                                     "NoExecute")}]
        if self.has("named") and d.maybe(0.25):
            made["spec"]["unschedulable"] = True
        if self.has("features"):
            made["status"]["declaredFeatures"] = [
                name for name in FEATURES if d.maybe(0.65)]
        return made

    def edges(self):
        d = self.dice
        return [{"node": f"n{i}", "delta": d.pick(-1, 0, 0, 1),
                 "resource": d.pick("cpu", "cpu", "memory", "memory", "pods",
                                    "ephemeral-storage", KVM, HUGE)}
                for i in range(self.size) if d.maybe(0.8)]

    # ---- an even spread ----

    def shut(self, made):
        """Shuts the pod out of some nodes, by taints or by its selector. The
        numbers of the others."""
        d = self.dice
        closed = d.sample(range(self.size), d.randint(1, self.size - 1))
        by_taints = d.maybe(0.45)
        spec = made["pod"]["spec"]
        if by_taints:
            spec.pop("tolerations", None)
            spec.pop("nodeSelector", None)
        else:
            spec["nodeSelector"] = {"disk": "ssd"}
        spec.get("affinity", {}).pop("nodeAffinity", None)
        for i, node in enumerate(made["nodes"]):
            node["spec"].pop("unschedulable", None)
            node["spec"].pop("taints", None)
            if not by_taints:
                node["metadata"]["labels"]["disk"] = (
                    "hdd" if i in closed else "ssd")
            elif i in closed:
                node["spec"]["taints"] = [{
                    "key": "k", "value": "1",
                    "effect": d.pick("NoSchedule", "NoExecute")}]
        return [i for i in range(self.size) if i not in closed]

    def level(self, made):
        """One pod like the one to place on each node that it may use and no
        others: now it matters whether the other nodes count as empty, and
        whether a pod that ends still counts."""
        d = self.dice
        open_to_it = self.shut(made)
        key = d.choice(sorted(self.own))
        even = {
            "topologyKey": d.pick(HOST, HOST, HOST, ZONE, "rack"),
            "maxSkew": 1,
            "whenUnsatisfiable": "DoNotSchedule",
            "nodeAffinityPolicy": d.pick("Honor", "Ignore", "Ignore"),
            "nodeTaintsPolicy": d.pick("Honor", "Honor", "Ignore"),
            "labelSelector": {"matchLabels": {key: self.own[key]}}}
        if d.maybe(0.3):
            even["minDomains"] = d.randint(2, 5)
        spec = made["pod"]["spec"]
        spec["topologySpreadConstraints"] = [even] + [
            c for c in spec.get("topologySpreadConstraints", [])
            if c["whenUnsatisfiable"] == "ScheduleAnyway"]
        made["pods"] = [{
            "metadata": {
                "name": f"l-n{i}", "namespace": self.namespace,
                "uid": f"l-n{i}", "labels": self.own},
            "spec": {"nodeName": f"n{i}", "containers": [{
                "name": "a", "image": "registry.example/i:1"}]},
            "status": {"phase": "Running"}} for i in open_to_it]
        if d.maybe(0.25):
            d.choice(made["pods"])["metadata"]["deletionTimestamp"] = GONE

    # ---- all of it ----

    def make(self):
        d = self.dice
        pod = self.incoming()
        if d.maybe(REFUSED_SHARE):
            name = d.choice(sorted(REFUSED))
            pod["spec"].update(REFUSED[name])
        most = 14 if self.has("spread") else 8
        made = {"pod": pod, "nodes": [self.node(i) for i in range(self.size)],
                "pods": [self.other(i) for i in range(d.randint(0, most))],
                "objects": [{"kind": "Namespace", "metadata": {
                    "name": n, "labels": self.labels()}}
                    for n in NAMESPACES if d.maybe(0.9)]}
        if self.has("storage") or self.has("disks"):
            made["objects"] += self.storage()
        if self.has("storage") and d.maybe(0.12):
            self.spoil(made)
        if self.has("spread") and d.maybe(0.6):
            self.level(made)
        if self.has("edges"):
            made["edges"] = self.edges()
        return made


def case(seed, number):
    return Case(seed, number).make()


def refused(one):
    """The name of the intended difference that keeps this case out."""
    spec = one["pod"]["spec"]
    for name, part in REFUSED.items():
        if all(spec.get(key) == value for key, value in part.items()):
            return name
    return None
