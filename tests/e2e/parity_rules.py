"""Deliberately wrong rules, to see that the random cases notice each.

A rule changes what we are asked instead of the program: a case without its
sidecars' requests, judged right, is the case judged by a filter that does not
count sidecars. So no wrong code is in the product."""
from parity_words import (BETA_CLASS, BOUND, HUGE, KVM, OLD_ZONE, PREFERRED,
                          REQUIRED, ZONE)

RULES = {}  # of the filters: seen by a verdict
SCORE_RULES = {}  # of the scores by resources: seen by a score
# The rules that take one behaviour of another version for that of this one, by
# the minor version from which on it is so by default.
VERSION_RULES = {}


def rule(function):
    RULES[function.__name__.replace("_", " ")] = function
    return function


def score_rule(function):
    SCORE_RULES[function.__name__.replace("_", " ")] = function
    return function


def pods(case):
    return [case["pod"], *case["pods"]]


def kind(case, name):
    return [o for o in case["objects"] if o["kind"] == name]


def drop_kind(case, *names):
    case["objects"] = [o for o in case["objects"] if o["kind"] not in names]


def terms(pod, *kinds):
    """The required terms about other pods."""
    affinity = pod["spec"].get("affinity", {})
    for name in kinds or ("podAffinity", "podAntiAffinity"):
        yield from affinity.get(name, {}).get(REQUIRED, [])


def node_terms(case):
    affinity = case["pod"]["spec"].get("affinity", {}).get("nodeAffinity", {})
    return affinity.get(REQUIRED, {}).get("nodeSelectorTerms", [])


def containers(pod):
    return pod["spec"]["containers"] + pod["spec"].get("initContainers", [])


def sidecars(pod):
    return [c for c in pod["spec"].get("initContainers", [])
            if c.get("restartPolicy") == "Always"]


def ports(case):
    for pod in pods(case):
        for container in containers(pod):
            yield from container.get("ports", [])


def constraints(case):
    return case["pod"]["spec"].get("topologySpreadConstraints", [])


def drop_affinity(pod, *kinds):
    for name in kinds:
        pod["spec"].get("affinity", {}).pop(name, None)


@rule
def sidecars_not_counted(case):
    for pod in pods(case):
        for container in sidecars(pod):
            container["resources"] = {}


@rule
def init_containers_not_counted(case):
    for pod in pods(case):
        for container in pod["spec"].get("initContainers", []):
            if "restartPolicy" not in container:
                container["resources"] = {}


@rule
def sidecars_taken_for_init_containers(case):
    for pod in pods(case):
        for container in sidecars(pod):
            del container["restartPolicy"]


@rule
def overhead_ignored(case):
    for pod in pods(case):
        pod["spec"].pop("overhead", None)


@rule
def pod_level_requests_ignored(case):
    for pod in pods(case):
        pod["spec"].pop("resources", None)


@rule
def resize_in_place_ignored(case):
    for pod in case["pods"]:
        for name in ("containerStatuses", "initContainerStatuses", "resources",
                     "allocatedResources"):
            pod["status"].pop(name, None)


@rule
def infeasible_resize_counted(case):
    for pod in case["pods"]:
        pod["status"].pop("conditions", None)


@rule
def count_of_pods_unlimited(case):
    for node in case["nodes"]:
        node["status"]["allocatable"]["pods"] = "1000"


@rule
def devices_ignored(case):
    for node in case["nodes"]:
        node["status"]["allocatable"][KVM] = "1M"


@rule
def huge_pages_ignored(case):
    for node in case["nodes"]:
        node["status"]["allocatable"][HUGE] = "1Ti"


@rule
def pods_that_end_already_gone(case):
    case["pods"] = [p for p in case["pods"]
                    if "deletionTimestamp" not in p["metadata"]]


@rule
def pods_that_are_over_still_there(case):
    for pod in case["pods"]:
        if pod["status"].get("phase") in ("Succeeded", "Failed"):
            pod["status"]["phase"] = "Running"


@rule
def spread_counts_pods_that_end(case):
    for pod in case["pods"]:
        pod["metadata"].pop("deletionTimestamp", None)


@rule
def nominated_pods_ignored(case):
    case["pods"] = [p for p in case["pods"] if p["spec"].get("nodeName")]


@rule
def nominated_pods_of_lower_priority_counted(case):
    for pod in case["pods"]:
        if not pod["spec"].get("nodeName"):
            pod["spec"]["priority"] = 100


@rule
def cordon_ignored(case):
    for node in case["nodes"]:
        node["spec"].pop("unschedulable", None)


@rule
def effect_of_tolerations_ignored(case):
    for toleration in case["pod"]["spec"].get("tolerations", []):
        toleration.pop("effect", None)


@rule
def value_of_tolerations_ignored(case):
    for toleration in case["pod"]["spec"].get("tolerations", []):
        toleration["operator"] = "Exists"
        toleration.pop("value", None)


@rule
def no_execute_taints_ignored(case):
    for node in case["nodes"]:
        node["spec"]["taints"] = [t for t in node["spec"].get("taints", [])
                                  if t["effect"] != "NoExecute"]


@rule
def preference_taints_taken_for_hard(case):
    for node in case["nodes"]:
        for taint in node["spec"].get("taints", []):
            if taint["effect"] == "PreferNoSchedule":
                taint["effect"] = "NoSchedule"


@rule
def node_selector_ignored(case):
    case["pod"]["spec"].pop("nodeSelector", None)


@rule
def only_the_first_node_term_read(case):
    del node_terms(case)[1:]


@rule
def empty_node_term_matches_all(case):
    for term in node_terms(case):
        if not term.get("matchExpressions") and not term.get("matchFields"):
            term["matchExpressions"] = [{"key": "none",
                                         "operator": "DoesNotExist"}]


@rule
def node_fields_ignored(case):
    for term in node_terms(case):
        term.pop("matchFields", None)


@rule
def greater_and_less_taken_for_exists(case):
    for term in node_terms(case):
        for expression in term.get("matchExpressions", []):
            if expression["operator"] in ("Gt", "Lt"):
                expression["operator"] = "Exists"
                del expression["values"]


@rule
def not_in_wants_the_label(case):
    for term in node_terms(case):
        for e in list(term.get("matchExpressions", [])):
            if e["operator"] == "NotIn":
                term["matchExpressions"].append({
                    "key": e["key"], "operator": "Exists"})


@rule
def address_of_ports_ignored(case):
    for port in ports(case):
        port.pop("hostIP", None)


@rule
def protocol_of_ports_ignored(case):
    for port in ports(case):
        port["protocol"] = "TCP"


@rule
def ports_of_sidecars_ignored(case):
    for pod in pods(case):
        for container in sidecars(pod):
            container.pop("ports", None)


@rule
def ports_of_init_containers_counted(case):
    for pod in pods(case):
        for container in pod["spec"].get("initContainers", []):
            container["restartPolicy"] = "Always"


@rule
def running_pods_anti_affinity_ignored(case):
    for pod in case["pods"]:
        drop_affinity(pod, "podAntiAffinity")


@rule
def own_anti_affinity_ignored(case):
    drop_affinity(case["pod"], "podAntiAffinity")


@rule
def own_affinity_ignored(case):
    drop_affinity(case["pod"], "podAffinity")


@rule
def only_the_first_pod_term_read(case):
    for name in ("podAffinity", "podAntiAffinity"):
        affinity = case["pod"]["spec"].get("affinity", {}).get(name, {})
        del affinity.get(REQUIRED, [])[1:]


@rule
def namespaces_of_terms_ignored(case):
    for pod in pods(case):
        for term in terms(pod):
            term.pop("namespaces", None)


@rule
def namespace_selector_ignored(case):
    for pod in pods(case):
        for term in terms(pod):
            term.pop("namespaceSelector", None)


@rule
def min_domains_ignored(case):
    for constraint in constraints(case):
        constraint.pop("minDomains", None)


@rule
def node_affinity_policy_ignored(case):
    for constraint in constraints(case):
        constraint.pop("nodeAffinityPolicy", None)


@rule
def node_taints_policy_ignored(case):
    for constraint in constraints(case):
        constraint.pop("nodeTaintsPolicy", None)


@rule
def spread_key_must_not_be_there(case):
    for constraint in constraints(case):
        constraint["whenUnsatisfiable"] = "DoNotSchedule"


@rule
def skew_off_by_one(case):
    for constraint in constraints(case):
        constraint["maxSkew"] += 1


@rule
def volume_attachments_ignored(case):
    drop_kind(case, "VolumeAttachment")


@rule
def volume_limits_ignored(case):
    drop_kind(case, "CSINode")


@rule
def affinity_of_volumes_ignored(case):
    for volume in kind(case, "PersistentVolume"):
        volume["spec"].pop("nodeAffinity", None)


@rule
def zone_of_volumes_ignored(case):
    for volume in kind(case, "PersistentVolume"):
        for label in (ZONE, OLD_ZONE):
            volume["metadata"].get("labels", {}).pop(label, None)


@rule
def only_the_first_zone_of_a_volume_read(case):
    for volume in kind(case, "PersistentVolume"):
        labels = volume["metadata"].get("labels", {})
        for label in (ZONE, OLD_ZONE):
            if label in labels:
                labels[label] = labels[label].split("__")[0]


@rule
def claims_of_one_pod_shared(case):
    for claim in kind(case, "PersistentVolumeClaim"):
        claim["spec"]["accessModes"] = [
            "ReadWriteOnce" if m == "ReadWriteOncePod" else m
            for m in claim["spec"]["accessModes"]]


@rule
def completed_binding_not_asked_for(case):
    for claim in kind(case, "PersistentVolumeClaim"):
        if claim["spec"].get("volumeName"):
            claim["metadata"].setdefault("annotations", {})[BOUND] = "yes"


@rule
def lost_claims_used(case):
    for claim in kind(case, "PersistentVolumeClaim"):
        claim["status"].pop("phase", None)


@rule
def claims_that_end_used(case):
    for claim in kind(case, "PersistentVolumeClaim"):
        claim["metadata"].pop("deletionTimestamp", None)


@rule
def owner_of_ephemeral_claims_ignored(case):
    for claim in kind(case, "PersistentVolumeClaim"):
        if claim["metadata"]["name"].startswith("p-"):
            claim["metadata"]["ownerReferences"] = [{
                "apiVersion": "v1", "kind": "Pod", "name": "p",
                "controller": True, "uid": "p"}]


@rule
def claim_of_a_volume_ignored(case):
    for volume in kind(case, "PersistentVolume"):
        volume["spec"].pop("claimRef", None)


@rule
def size_of_volumes_ignored(case):
    for claim in kind(case, "PersistentVolumeClaim"):
        claim["spec"]["resources"]["requests"]["storage"] = "1"


@rule
def allowed_topologies_ignored(case):
    for one in kind(case, "StorageClass"):
        one.pop("allowedTopologies", None)


@rule
def storage_capacity_ignored(case):
    drop_kind(case, "CSIDriver")


@rule
def largest_volume_ignored(case):
    for one in kind(case, "CSIStorageCapacity"):
        one.pop("maximumVolumeSize", None)


@rule
def beta_class_annotation_ignored(case):
    for claim in kind(case, "PersistentVolumeClaim"):
        claim["metadata"].get("annotations", {}).pop(BETA_CLASS, None)


@rule
def disks_read_only_taken_for_writable(case):
    for pod in pods(case):
        for volume in pod["spec"].get("volumes", []):
            for name in ("iscsi", "rbd"):
                if name in volume:
                    volume[name].pop("readOnly", None)


@score_rule
def resize_in_place_not_scored(case):
    resize_in_place_ignored(case)


@score_rule
def default_requests_not_scored(case):
    for pod in pods(case):
        for container in containers(pod):
            requests = container.setdefault("resources", {}).setdefault(
                "requests", {})
            requests.setdefault("cpu", "0")
            requests.setdefault("memory", "0")


@score_rule
def pod_level_requests_not_scored(case):
    pod_level_requests_ignored(case)


# ---- the behaviours of versions ----

def version_rule(since):
    def add(function):
        VERSION_RULES[function.__name__.replace("_", " ")] = since
        return rule(function)
    return add


def minor_of(version):
    """36 of "v1.36.3"."""
    return int(version.split(".")[1])


def without(case, behaviour):
    case["kubernetes_behaviours"] = [f"{behaviour}=off"]


@version_rule(36)
def declared_features_ignored(case):
    without(case, "declared-features")


@version_rule(37)
def resized_pods_counted_by_container(case):
    without(case, "resize-by-sums")


@version_rule(37)
def missing_drivers_ignored(case):
    without(case, "csi-driver-missing")


@version_rule(37)
def node_name_read_after_cordon(case):
    without(case, "node-name-first")


@version_rule(37)
def nominations_of_gated_pods_ignored(case):
    without(case, "gated-nominations")


def matches_no_labels(selector):
    """Only NotIn and DoesNotExist, which a namespace without labels matches."""
    return (bool(selector.get("matchExpressions"))
            and not selector.get("matchLabels")
            and all(e["operator"] in ("NotIn", "DoesNotExist")
                    for e in selector["matchExpressions"]))


@version_rule(37)
def not_in_taken_for_every_namespace(case):
    """As kube-scheduler 1.34 to 1.36.3 does it."""
    affinity = case["pod"]["spec"].get("affinity", {})
    for name in ("podAffinity", "podAntiAffinity"):
        kinds = affinity.get(name, {})
        weighted = [w["podAffinityTerm"] for w in kinds.get(PREFERRED, [])]
        for term in kinds.get(REQUIRED, []) + weighted:
            if matches_no_labels(term.get("namespaceSelector", {})):
                term["namespaceSelector"] = {}
