"""The kinds of cases that launcher-pods draws: what KubeVirt's rules about a
launcher pod depend on. A kind is found in the case and in the pods that KubeVirt
rendered for it, so that a rule counts only where it shows."""

KINDS = {}
NEWER = set()  # of them: not in KubeVirt 1.7
CPU_MODEL = "cpu-model.node.kubevirt.io/"
CPU_FEATURE = "cpu-feature.node.kubevirt.io/"
MIGRATION_MODEL = "cpu-model-migration.node.kubevirt.io/"
HOST_MODEL = "host-model-cpu.node.kubevirt.io/"
REQUIRED_FEATURE = "host-model-required-features.node.kubevirt.io/"
VENDOR = "cpu-vendor.node.kubevirt.io/"
HYPERV = "hyperv.node.kubevirt.io/"
MACHINE = "machine-type.node.kubevirt.io/"
TSC = "scheduling.node.kubevirt.io/tsc-frequency-"
ARCH = "kubernetes.io/arch"


def kind(function):
    KINDS[function.__name__.replace("_", " ")] = function
    return function


def newer_kind(function):
    kind(function)
    NEWER.add(list(KINDS)[-1])
    return function


# ---- parts of a case ----

def at(thing, *path, default=None):
    """The part of an object at this path."""
    for key in path:
        if not isinstance(thing, dict) or key not in thing:
            return default
        thing = thing[key]
    return thing


def domain(c):
    return c["vmi"]["spec"]["domain"]


def cpu(c):
    return domain(c).get("cpu", {})


def selector(c, pod="target"):
    return c[pod]["spec"]["nodeSelector"]


def has_key(labels, prefix):
    return any(key.startswith(prefix) for key in labels)


def node_labels(c):
    return c["node"]["metadata"]["labels"]


def volumes(c):
    return c["vmi"]["spec"].get("volumes", [])


def configuration(c, which="kubevirt"):
    return c[which]["spec"]["configuration"]


def developer(c, which="kubevirt"):
    return configuration(c, which).get("developerConfiguration", {})


def gates(c):
    return developer(c).get("featureGates", [])


def added(c):
    return c["migration"]["spec"].get("addedNodeSelector", {})


def is_host_model(c):
    return cpu(c).get("model") == "host-model"


def compute(c, pod):
    return c[pod]["spec"]["containers"][0]["resources"]["requests"]


def features(c, *policies):
    return [f["name"] for f in cpu(c).get("features", [])
            if f.get("policy", "") in policies]


def is_hotplugged(volume):
    return any(isinstance(source, dict) and source.get("hotpluggable")
               for source in volume.values())


def detached(c):
    """The status of volumes that are not in the spec any more."""
    return [v for v in c["vmi"]["status"].get("volumeStatus", [])
            if "hotplugVolume" in v
            and v["name"] not in {x["name"] for x in volumes(c)}]


# ---- selectors of every launcher pod ----

@kind
def dedicated_CPUs(c):
    # KubeVirt 1.7 has the shorter key.
    return {"cpumanager", "kubevirt.io/cpumanager"} & set(selector(c))


@kind
def a_named_CPU_model(c):
    return has_key(selector(c), CPU_MODEL)


@kind
def host_passthrough(c):
    return cpu(c).get("model") == "host-passthrough"


@kind
def a_required_feature_of_a_named_model(c):
    return features(c, "", "require") and not is_host_model(c)


@kind
def a_forbidden_feature(c):
    return features(c, "forbid")


@kind
def a_feature_without_a_selector(c):
    return features(c, "optional", "disable", "force")


@kind
def the_machine_type_of_the_spec(c):
    return at(c["vmi"], "status", "machine") is None


@kind
def the_machine_type_of_the_status(c):
    return at(c["vmi"], "status", "machine") is not None


@kind
def HyperV_checked(c):
    return has_key(selector(c), HYPERV)


@kind
def HyperV_unchecked(c):
    return (at(domain(c), "features", "hyperv")
            and not has_key(selector(c), HYPERV))


@kind
def evmcs_wants_Intel(c):
    return VENDOR + "Intel" in selector(c, "start")


@kind
def a_TSC_frequency(c):
    return has_key(selector(c), TSC)


@kind
def realtime(c):
    return "kubevirt.io/realtime" in selector(c)


@kind
def SEV(c):
    return "kubevirt.io/sev" in selector(c)


@kind
def SEV_ES(c):
    return "kubevirt.io/sev-es" in selector(c)


@kind
def SEV_SNP(c):
    return "kubevirt.io/sev-snp" in selector(c)


@kind
def TDX(c):
    return "kubevirt.io/tdx" in selector(c)


@kind
def secure_execution(c):
    return "kubevirt.io/s390-pv" in selector(c)


@kind
def another_architecture(c):
    return selector(c).get(ARCH, "amd64") != "amd64"


@kind
def selectors_of_the_KubeVirt_CR(c):
    return any(selector(c).get(key) == value for key, value
               in developer(c).get("nodeSelectors", {}).items())


@kind
def selectors_of_the_VMI(c):
    return c["vmi"]["spec"].get("nodeSelector")


@kind
def the_model_of_the_KubeVirt_CR(c):
    return configuration(c).get("cpuModel", "") == cpu(c).get("model")


@newer_kind
def architectures_may_be_crossed(c):
    return has_key(selector(c), "kubevirt.io/vm-arch-")


# ---- other constraints ----

@kind
def required_node_affinity(c):
    return at(c["vmi"]["spec"], "affinity", "nodeAffinity",
              "requiredDuringSchedulingIgnoredDuringExecution")


@kind
def preferred_node_affinity(c):
    return at(c["vmi"]["spec"], "affinity", "nodeAffinity",
              "preferredDuringSchedulingIgnoredDuringExecution")


@kind
def pod_affinity(c):
    return at(c["vmi"]["spec"], "affinity", "podAffinity")


@kind
def pod_anti_affinity(c):
    return at(c["vmi"]["spec"], "affinity", "podAntiAffinity")


@kind
def tolerations(c):
    return c["vmi"]["spec"].get("tolerations")


@kind
def spread_constraints(c):
    return c["vmi"]["spec"].get("topologySpreadConstraints")


@kind
def a_priority_class(c):
    return c["vmi"]["spec"].get("priorityClassName")


# ---- migrations ----

@kind
def a_first_migration(c):
    return not c["migrated"]


@kind
def a_second_migration(c):
    return c["migrated"]


@kind
def host_model_of_the_source_node(c):
    return (has_key(selector(c), MIGRATION_MODEL)
            and not has_key(selector(c, "source"), MIGRATION_MODEL))


@kind
def required_features_of_the_source_node(c):
    return (host_model_of_the_source_node(c)
            and has_key(node_labels(c), REQUIRED_FEATURE))


@kind
def host_model_of_the_first_node(c):
    return has_key(selector(c, "source"), MIGRATION_MODEL)


@kind
def a_host_model_VM_that_keeps_its_own_feature_alone(c):
    return (is_host_model(c) and not c["migrated"]
            and has_key(selector(c, "source"), CPU_FEATURE)
            and not has_key(selector(c), MIGRATION_MODEL))


@kind
def a_source_node_without_a_host_model(c):
    return is_host_model(c) and not has_key(node_labels(c), HOST_MODEL)


@newer_kind
def the_vendor_of_the_source_node(c):
    return (has_key(selector(c), VENDOR)
            and not has_key(selector(c, "source"), VENDOR))


@kind
def a_source_node_without_a_vendor(c):
    return not has_key(node_labels(c), VENDOR)


@kind
def added_node_selector(c):
    return added(c)


@kind
def an_added_key_that_the_VMI_has(c):
    return any(c["vmi"]["spec"].get("nodeSelector", {}).get(key, value)
               != value for key, value in added(c).items())


@kind
def an_earlier_added_key_that_does_not_count(c):
    return any(key in selector(c, "source") and key not in selector(c)
               for key in ("rack", "kubernetes.io/hostname", "pool"))


@kind
def a_selector_that_changed_since_the_start(c):
    return (c["startVmi"]["spec"].get("nodeSelector")
            != c["vmi"]["spec"].get("nodeSelector"))


@kind
def affinity_that_changed_since_the_start(c):
    return (c["startVmi"]["spec"].get("affinity")
            != c["vmi"]["spec"].get("affinity"))


@kind
def tolerations_that_changed_since_the_start(c):
    return (c["startVmi"]["spec"].get("tolerations")
            != c["vmi"]["spec"].get("tolerations"))


# ---- amounts ----

def condition(c, name):
    return any(x["type"] == name
               for x in c["vmi"]["status"].get("conditions", []))


@kind
def hotplugged_CPUs(c):
    return condition(c, "HotVCPUChange")


@kind
def hotplugged_memory(c):
    return condition(c, "HotMemoryChange")


@kind
def an_overcommit_that_changed(c):
    return any(developer(c).get(key) != developer(c, "startKubevirt").get(key)
               for key in ("cpuAllocationRatio", "memoryOvercommit"))


@kind
def amounts_of_an_unchanged_pod(c):
    return compute(c, "source") == compute(c, "target")


@kind
def amounts_of_a_changed_pod(c):
    return compute(c, "source") != compute(c, "target")


@kind
def huge_pages(c):
    return at(domain(c), "memory", "hugepages")


@kind
def an_isolated_emulator_thread(c):
    return cpu(c).get("isolateEmulatorThread")


@kind
def requests_of_the_VMI(c):
    return at(domain(c), "resources", "requests")


@kind
def limits_of_the_VMI(c):
    return at(domain(c), "resources", "limits")


@kind
def memory_overhead_not_requested(c):
    return at(domain(c), "resources", "overcommitGuestOverhead")


@kind
def a_ratio_of_overhead(c):
    return configuration(c).get("additionalGuestMemoryOverheadRatio")


@kind
def GPUs(c):
    return at(domain(c), "devices", "gpus")


@kind
def host_devices(c):
    return at(domain(c), "devices", "hostDevices")


@kind
def vsock(c):
    return at(domain(c), "devices", "autoattachVSOCK")


@kind
def emulation(c):
    return developer(c).get("useEmulation")


@kind
def a_TPM(c):
    return at(domain(c), "devices", "tpm") is not None


@kind
def IO_threads_of_a_pool(c):
    return at(domain(c), "ioThreads")


@kind
def probes(c):
    return (c["vmi"]["spec"].get("livenessProbe")
            or c["vmi"]["spec"].get("readinessProbe"))


@kind
def a_network_without_devices(c):
    return "devices.kubevirt.io/tun" not in compute(c, "target")


@kind
def a_sidecar(c):
    return any(x["name"].startswith("hook-sidecar")
               for x in c["target"]["spec"]["containers"])


@kind
def a_virtiofs_share(c):
    return at(domain(c), "devices", "filesystems")


@newer_kind
def iommufd(c):
    return "devices.kubevirt.io/iommufd" in compute(c, "target")


@newer_kind
def overhead_that_the_VMI_reserves(c):
    return at(domain(c), "memory", "reservedOverhead")


@kind
def containers_beside_compute(c):
    return len(c["target"]["spec"]["containers"]) > 1


@kind
def container_disks_as_image_volumes(c):
    return any("image" in v for v in c["target"]["spec"]["volumes"])


@kind
def resources_of_support_containers(c):
    return configuration(c).get("supportContainerResources")


# ---- volumes ----

def volume_kind(name, member):
    KINDS[f"volume: {name}"] = lambda c: any(
        member in v and not v[member].get("hotpluggable")
        for v in volumes(c))


for _name, _member in {
        "claim": "persistentVolumeClaim", "data volume": "dataVolume",
        "ephemeral": "ephemeral", "container disk": "containerDisk",
        "host disk": "hostDisk", "cloud-init": "cloudInitNoCloud",
        "config drive": "cloudInitConfigDrive", "sysprep": "sysprep",
        "empty disk": "emptyDisk", "config map": "configMap",
        "secret": "secret", "downward API": "downwardAPI",
        "service account": "serviceAccount",
        "downward metrics": "downwardMetrics"}.items():
    volume_kind(_name, _member)


@kind
def kernel_boot(c):
    return at(domain(c), "firmware", "kernelBoot")


@kind
def state_of_TPM_or_EFI(c):
    return any(v["name"] == "vm-state"
               for v in c["target"]["spec"]["volumes"])


@kind
def a_hotplugged_claim(c):
    return any(at(v, "persistentVolumeClaim", "hotpluggable")
               for v in volumes(c))


@kind
def a_hotplugged_data_volume(c):
    return any(at(v, "dataVolume", "hotpluggable") for v in volumes(c))


@kind
def a_volume_that_is_not_attached_yet(c):
    attached = {v["name"] for v in c["vmi"]["status"].get("volumeStatus", [])
                if at(v, "hotplugVolume", "attachPodName")}
    return any(is_hotplugged(v) and v["name"] not in attached
               for v in volumes(c))


@kind
def a_volume_that_is_being_detached(c):
    return detached(c)


@kind
def a_memory_dump(c):
    return any("memoryDump" in v for v in volumes(c))


def kinds_of(c):
    return [name for name, is_kind in KINDS.items() if is_kind(c)]
