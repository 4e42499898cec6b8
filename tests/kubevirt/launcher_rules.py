"""Deliberate mistakes about launcher pods, to see that the random cases notice
each.

A mistake changes what plimsoll is asked instead of the program, as in
tests/e2e/parity_rules.py: the pod of a case without the label of the CPU vendor
is the pod of a program that knows no vendor."""
from launcher_kinds import (CPU_FEATURE, HOST_MODEL, MIGRATION_MODEL,
                            REQUIRED_FEATURE, VENDOR, detached, is_hotplugged)

RULES = {}
NEWER_RULES = {"vendor ignored"}  # no mistake with KubeVirt 1.7


def rule(function):
    RULES[function.__name__.replace("_", " ")] = function
    return function


# ---- parts of a case that may be absent ----

def vmis(c):
    return [c["startVmi"], c["vmi"]]


def specs(c):
    return [vmi["spec"] for vmi in vmis(c)]


def domains(c):
    return [spec["domain"] for spec in specs(c)]


def cpus(c):
    return [d["cpu"] for d in domains(c)]


def features(c):
    return [f for one in cpus(c) for f in one.get("features", [])]


def developers(c):
    return [c[which]["spec"]["configuration"].setdefault(
        "developerConfiguration", {}) for which in ("startKubevirt",
                                                    "kubevirt")]


def source_selector(c):
    return c["source"]["spec"]["nodeSelector"]


def drop_prefix(labels, *prefixes):
    for key in list(labels):
        if key.startswith(prefixes):
            del labels[key]


def drop_node_labels(c, *prefixes):
    drop_prefix(c["node"]["metadata"]["labels"], *prefixes)


def added(c):
    return c["migration"]["spec"].get("addedNodeSelector", {})


def as_at_the_start(c, key):
    c["vmi"]["spec"].pop(key, None)
    if key in c["startVmi"]["spec"]:
        c["vmi"]["spec"][key] = c["startVmi"]["spec"][key]


def drop_condition(c, name):
    status = c["vmi"]["status"]
    status["conditions"] = [x for x in status.get("conditions", [])
                            if x["type"] != name]


def drop_devices(c, name):
    for one in domains(c):
        one["devices"].pop(name, None)


# ---- what the VMI says now ----

@rule
def selector_of_the_running_pod(c):
    as_at_the_start(c, "nodeSelector")


@rule
def affinity_of_the_running_pod(c):
    as_at_the_start(c, "affinity")


@rule
def tolerations_of_the_running_pod(c):
    as_at_the_start(c, "tolerations")


@rule
def spread_ignored(c):
    for spec in specs(c):
        spec.pop("topologySpreadConstraints", None)


@rule
def pod_affinity_ignored(c):
    for spec in specs(c):
        spec.get("affinity", {}).pop("podAffinity", None)


@rule
def node_affinity_ignored(c):
    for spec in specs(c):
        spec.get("affinity", {}).pop("nodeAffinity", None)


# ---- selectors that KubeVirt adds ----

@rule
def vendor_ignored(c):
    drop_node_labels(c, VENDOR)


@rule
def host_model_ignored(c):
    drop_node_labels(c, HOST_MODEL)


@rule
def required_features_of_the_host_ignored(c):
    drop_node_labels(c, REQUIRED_FEATURE)


@rule
def host_model_of_the_present_node(c):
    drop_prefix(source_selector(c), MIGRATION_MODEL, CPU_FEATURE)


@rule
def host_model_of_every_VM(c):
    for one in cpus(c):
        one["model"] = "host-model"


@rule
def named_model_ignored(c):
    for one in cpus(c):
        if one["model"] != "host-model":
            one["model"] = "host-passthrough"


@rule
def required_features_ignored(c):
    for feature in features(c):
        if feature.get("policy", "") in ("", "require"):
            feature["policy"] = "optional"


@rule
def forbidden_features_ignored(c):
    for feature in features(c):
        if feature.get("policy") == "forbid":
            feature["policy"] = "optional"


@rule
def every_feature_required(c):
    for feature in features(c):
        feature["policy"] = "require"


@rule
def machine_type_of_the_status_ignored(c):
    c["vmi"]["status"].pop("machine", None)


@rule
def machine_type_ignored(c):
    for one in domains(c):
        one.pop("machine", None)


@rule
def HyperV_checked_without_the_gate(c):
    for developer in developers(c):
        developer.setdefault("featureGates", []).append("HypervStrictCheck")


@rule
def HyperV_ignored(c):
    for one in domains(c):
        one.get("features", {}).pop("hyperv", None)


@rule
def TSC_frequency_ignored(c):
    for vmi in vmis(c):
        vmi["status"].pop("topologyHints", None)


@rule
def CPU_manager_ignored(c):
    for one in cpus(c):
        one.pop("dedicatedCpuPlacement", None)


@rule
def realtime_ignored(c):
    for one in cpus(c):
        one.pop("realtime", None)


@rule
def launch_security_ignored(c):
    for one in domains(c):
        one.pop("launchSecurity", None)


@rule
def architecture_ignored(c):
    for spec in specs(c):
        spec.pop("architecture", None)


@rule
def selectors_of_the_CR_ignored(c):
    for developer in developers(c):
        developer.pop("nodeSelectors", None)


# ---- addedNodeSelector ----

@rule
def added_selector_above_the_VMI(c):
    c["vmi"]["spec"].setdefault("nodeSelector", {}).update(added(c))


@rule
def earlier_added_selector_kept(c):
    selector = c["vmi"]["spec"].setdefault("nodeSelector", {})
    for key in ("rack", "pool", "kubernetes.io/hostname"):
        if key in source_selector(c):
            selector.setdefault(key, source_selector(c)[key])


# ---- amounts ----

@rule
def hotplugged_CPUs_ignored(c):
    topology = c["vmi"]["status"].get("currentCPUTopology", {})
    if "sockets" in topology:
        c["vmi"]["spec"]["domain"]["cpu"]["sockets"] = topology["sockets"]
    drop_condition(c, "HotVCPUChange")


@rule
def hotplugged_memory_ignored(c):
    before = c["vmi"]["status"].get("memory", {}).get("guestRequested")
    if before is not None:
        c["vmi"]["spec"]["domain"]["memory"]["guest"] = before
    drop_condition(c, "HotMemoryChange")


@rule
def changed_overcommit_ignored(c):
    c["kubevirt"]["spec"] = c["startKubevirt"]["spec"]


@rule
def CPU_allocation_ratio_ignored(c):
    for developer in developers(c):
        developer.pop("cpuAllocationRatio", None)


@rule
def memory_overcommit_ignored(c):
    for developer in developers(c):
        developer.pop("memoryOvercommit", None)


@rule
def ratio_of_overhead_ignored(c):
    for which in ("startKubevirt", "kubevirt"):
        c[which]["spec"]["configuration"].pop(
            "additionalGuestMemoryOverheadRatio", None)


@rule
def amounts_of_the_running_pod_misread(c):
    requests = c["source"]["spec"]["containers"][0]["resources"]["requests"]
    requests["memory"] = f"{2 ** 20 * 5000}"


@rule
def huge_pages_ignored(c):
    for one in domains(c):
        one.get("memory", {}).pop("hugepages", None)


@rule
def emulator_thread_ignored(c):
    for one in cpus(c):
        one.pop("isolateEmulatorThread", None)


@rule
def requests_of_the_VMI_ignored(c):
    for one in domains(c):
        one.get("resources", {}).pop("requests", None)


@rule
def limits_of_the_VMI_ignored(c):
    for one in domains(c):
        one.get("resources", {}).pop("limits", None)


@rule
def GPUs_ignored(c):
    drop_devices(c, "gpus")


@rule
def host_devices_ignored(c):
    drop_devices(c, "hostDevices")


@rule
def vsock_ignored(c):
    drop_devices(c, "autoattachVSOCK")


@rule
def network_devices_ignored(c):
    drop_devices(c, "interfaces")


@rule
def emulation_ignored(c):
    for developer in developers(c):
        developer.pop("useEmulation", None)


@rule
def console_log_ignored(c):
    for one in domains(c):
        one["devices"]["logSerialConsole"] = False


# ---- volumes ----

def keep_volumes(c, is_kept):
    for spec in specs(c):
        spec["volumes"] = [v for v in spec.get("volumes", []) if is_kept(v)]


@rule
def claims_ignored(c):
    keep_volumes(c, lambda v: "persistentVolumeClaim" not in v)


@rule
def data_volumes_ignored(c):
    keep_volumes(c, lambda v: "dataVolume" not in v)


@rule
def ephemeral_volumes_ignored(c):
    keep_volumes(c, lambda v: "ephemeral" not in v)


@rule
def hotplugged_volumes_ignored(c):
    keep_volumes(c, lambda v: not is_hotplugged(v))
    c["vmi"]["status"].pop("volumeStatus", None)


@rule
def memory_dumps_ignored(c):
    keep_volumes(c, lambda v: "memoryDump" not in v)


@rule
def hotplugged_volumes_only_when_attached(c):
    attached = {v["name"] for v in c["vmi"]["status"].get("volumeStatus", [])
                if v.get("hotplugVolume", {}).get("attachPodName")}
    keep_volumes(c, lambda v: not is_hotplugged(v) or v["name"] in attached)


@rule
def volumes_kept_that_are_detached(c):
    for status in detached(c):
        c["vmi"]["spec"].setdefault("volumes", []).append({
            "name": status["name"], "persistentVolumeClaim": {
                "claimName": status["persistentVolumeClaimInfo"]["claimName"],
                "hotpluggable": True}})
