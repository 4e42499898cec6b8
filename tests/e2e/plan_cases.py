"""Random clusters with VMs and an urgent pod that mostly fits on no node, for
plans. The generator is that of parity_cases.py; here resources are scarce, most
pods are launcher pods of VMs, and what they want of nodes and of each other is
as varied as there."""
from parity_cases import Case, refused
from parity_words import HOST, KVM, ZONE

# Beside scarce memory: those of later filters more often.
THEMES = ("ports", "taints", "taints", "nodes", "nodes", "between", "between",
          "between", "spread", "spread", "spread", "storage", "storage", "disks",
          "nominated")
URGENT, LOW = 100, 0
VM_SHARE = 0.85
# Nodes that nothing can use: with more than 16, a search takes its targets from
# lists.
CORDONED = 14


def memory_of(pod):
    """In MiB."""
    requests = pod["spec"]["containers"][0]["resources"]["requests"]
    return 1024 * int(requests["memory"].removesuffix("Gi"))


class PlanCase(Case):
    """One case in the making."""

    def __init__(self, seed, number):
        super().__init__(f"plan/{seed}", number)
        self.number = number
        d = self.dice
        self.themes = {"resources"}
        while d.maybe(0.6):
            self.themes.add(d.choice(THEMES))
        self.size = d.randint(3, 5)

    def wanted(self):
        d = self.dice
        made = {"requests": {"cpu": d.pick("100m", "500m", "1"),
                             "memory": d.pick("1Gi", "2Gi", "3Gi", "4Gi")}}
        if d.maybe(0.15):
            made["requests"][KVM] = "1"
            made["limits"] = {KVM: "1"}
        return made

    def containers(self, spec):
        d = self.dice
        ports = [80, 81, 82]
        d.shuffle(ports)
        one = self.container("compute", ports)
        one["resources"] = self.wanted()
        spec["containers"] = [one]

    def node(self, i):
        d = self.dice
        made = super().node(i)
        made["metadata"]["labels"].setdefault(HOST, f"n{i}")
        made["metadata"]["labels"].setdefault(ZONE, "1")
        made["status"]["allocatable"].update({
            "cpu": d.pick("8", "16"), "pods": d.pick("110", "110", "110", "6"),
            KVM: d.pick("3", "1k")})
        return made

    def tighten(self, made):
        """Each node has room for most of the urgent pod, and a few for all."""
        d = self.dice
        for node in made["nodes"]:
            used = sum(memory_of(p) for p in made["pods"]
                       if p["spec"].get("nodeName")
                       == node["metadata"]["name"])
            free = int(memory_of(made["pod"]) * d.uniform(0.1, 1.03))
            node["status"]["allocatable"]["memory"] = f"{used + free}Mi"

    def other(self, i):
        """Pods keep to what they run with: no taint drives them off, as the
        filters do not ask about pods that run."""
        d = self.dice
        made = super().other(i)
        made["spec"].setdefault("priority", LOW)
        if "nodeName" in made["spec"]:
            made["status"] = {"phase": "Running"}
        if self.has("taints") and d.maybe(0.6):
            made["spec"]["tolerations"] = self.tolerations()
        if self.has("nodes") and d.maybe(0.5):
            made["spec"]["nodeSelector"] = {"disk": d.pick("ssd", "hdd")}
        if self.has("spread") and d.maybe(0.6):
            made["spec"]["topologySpreadConstraints"] = self.spread()
        if d.maybe(VM_SHARE):
            made["metadata"]["labels"] = {
                **made["metadata"]["labels"], "kubevirt.io": "virt-launcher",
                "kubevirt.io/created-by": f"vmi-{i}"}
            made["metadata"]["annotations"] = {"kubevirt.io/domain": f"vm-{i}"}
        return made

    def incoming(self):
        made = super().incoming()
        d = self.dice
        made["spec"]["priority"] = URGENT
        made["spec"]["containers"][0]["resources"] = {"requests": {
            "cpu": "500m", "memory": d.pick("4Gi", "5Gi", "6Gi", "7Gi")}}
        return made

    def cordoned(self, i):
        """Too small for a pod that tolerates the taint."""
        return {"metadata": {"name": f"z{i}", "labels": {HOST: f"z{i}"}},
                "spec": {"unschedulable": True},
                "status": {"allocatable": {
                    "cpu": "1", "memory": "64Mi", "pods": "110"}}}

    def make(self):
        d = self.dice
        made = {"pod": self.incoming(),
                "nodes": [self.node(i) for i in range(self.size)],
                "pods": [self.other(i)
                         for i in range(d.randint(self.size, 4 * self.size))],
                "objects": [{"kind": "Namespace", "metadata": {
                    "name": n, "labels": self.labels()}} for n in "xyz"]}
        self.tighten(made)
        if self.number % 8 >= 4:
            made["nodes"] += [self.cordoned(i) for i in range(CORDONED)]
        if self.has("storage") or self.has("disks"):
            made["objects"] += self.storage()
        return made


def plan_case(seed, number):
    """None: the pod is one that plimsoll refuses."""
    made = PlanCase(seed, number).make()
    return None if refused(made) else made
