"""The names in random cases: few, so that random picks match each other."""
import random

REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"
HOST = "kubernetes.io/hostname"
ZONE = "topology.kubernetes.io/zone"
OLD_ZONE = "failure-domain.beta.kubernetes.io/zone"
TOPOLOGIES = (HOST, ZONE, "rack")
KVM = "devices.kubevirt.io/kvm"
HUGE = "hugepages-2Mi"
KEYS, VALUES = ("app", "v", "t"), ("1", "2", "3")
NAMESPACES = ("x", "y", "z")
CLAIMS = ("c0", "c1", "c2", "c3", "c4")
DRIVERS = ("d.example", "e.example")
FEATURES = ("ExtendWebSocketsToKubelet", "RestartAllContainersOnContainerExits",
            "UserNamespacesHostNetworkSupport")
BOUND = "pv.kubernetes.io/bind-completed"
SELECTED = "volume.kubernetes.io/selected-node"
BETA_CLASS = "volume.beta.kubernetes.io/storage-class"
GONE = "2026-01-01T00:00:00Z"


class Dice(random.Random):
    def maybe(self, share):
        return self.random() < share

    def pick(self, *choices):
        return self.choice(choices)

    def some(self, choices, most=2):
        return self.sample(choices, self.randint(1, most))
