#!/bin/sh
# Says what a cluster lacks for plimsoll, in one sentence each. Reads only.
#
# usage: deploy/preflight.sh [KUBECTL FLAG ...], or kubectl plimsoll preflight
#
# Before the installation: the version of Kubernetes, KubeVirt, the default
# StorageClass, your rights, APIServices that do not answer, and the pressure
# figures of the kernel where a node shows them. After it, in addition: the
# certificates, the pods, whether anything sets schedulerName in labelled
# namespaces, and VMs that can reach no other node.
#
# Uses the cluster of kubectl, or of flags such as --context=NAME, which each
# kubectl gets. KUBECTL names another program. Exit status: 0 if nothing is missing, 1 if
# something is, 2 if the cluster does not answer. Lines that begin with "note:"
# count as nothing missing.
set -u

OLDEST=30      # Kubernetes 1.30: policies, and matchConditions of webhooks
OLDEST_MOVES=6 # KubeVirt 1.6: migrations to a named node
LISTED_MAX=20  # VMs that one line names
status=0

# The flags, each quoted for eval.
flags=
for word in "$@"; do
    flags="$flags '$(printf '%s' "$word" | sed "s/'/'\\\\''/g")'"
done

kubectl() {
    eval "command \"\${KUBECTL:-kubectl}\" $flags \"\$@\""
}

say() {
    echo "$*"
    status=1
}

note() {
    echo "note: $*"
}

# get ARGUMENT ...: what kubectl prints, or nothing if it fails
get() {
    kubectl get "$@" --ignore-not-found 2>/dev/null
}

# may VERB RESOURCE ARGUMENT ...
may() {
    [ "$(kubectl auth can-i "$@" 2>/dev/null)" = yes ]
}

# may_read VERB RESOURCE ARGUMENT ...: says it if you may not
may_read() {
    may "$@" && return
    shift
    say "You may not read $(echo "$*" | sed 's/ -n / in /; s/ -A$//')."
    return 1
}

# serves GROUP KIND: whether the API server has it
serves() {
    kubectl api-resources --api-group="$1" -o name 2>/dev/null |
        grep -q "^$2\."
}

# minor_of VERSION: 30 for v1.30.14, or 0
minor_of() {
    number=$(echo "$1" | sed -n 's/^v\{0,1\}1\.\([0-9]*\).*/\1/p')
    echo "${number:-0}"
}

# ---- before the installation ----

check_kubernetes() {
    answer=$(kubectl version 2>&1) || {
        echo "The cluster does not answer: $(echo "$answer" | tail -n 1)"
        exit 2
    }
    version=$(echo "$answer" | sed -n 's/^Server Version: v\{0,1\}//p')
    minor=$(minor_of "$version")
    if [ "$minor" -lt $OLDEST ]; then
        say "Kubernetes $version is too old: plimsoll needs 1.$OLDEST."
    fi
}

check_kubevirt() {
    may_read list kubevirts.kubevirt.io -A || return
    version=$(get kubevirts.kubevirt.io -A \
        -o 'jsonpath={.items[*].status.observedKubeVirtVersion}')
    if [ -z "$version" ]; then
        say "KubeVirt is not installed, or not ready: there are no VMs to place."
        return
    fi
    if [ "$(minor_of "$version")" -lt $OLDEST_MOVES ]; then
        note "KubeVirt $version is older than 1.$OLDEST_MOVES: plimsoll places" \
            "VMs, and moves none."
    fi
}

check_storage() {
    may_read get persistentvolumeclaims -n plimsoll || return
    if [ -n "$(get pvc -n plimsoll data-plimsoll-aggregator-0 \
        -o 'jsonpath={.spec.volumeName}')" ]; then
        return
    fi
    may_read list storageclasses.storage.k8s.io || return
    if ! get storageclass -o 'jsonpath={range .items[*]}{.metadata.annotations}{"\n"}{end}' |
        grep -q '"storageclass.kubernetes.io/is-default-class":"true"'; then
        say "No StorageClass is the default one: the aggregator's claim waits" \
            "for a volume."
    fi
}

check_rights() {
    if ! may patch namespaces; then
        say "You may not label namespaces: somebody else has to choose the" \
            "namespaces that plimsoll schedules."
    fi
    for resource in namespaces clusterroles.rbac.authorization.k8s.io \
        mutatingwebhookconfigurations.admissionregistration.k8s.io; do
        may create "$resource" ||
            say "You may not create $resource: you cannot install plimsoll."
    done
}

# kubelet 1.34 and newer tells its pressure figures. Others are passed over.
check_pressure() {
    may_read list nodes || return
    for node in $(get nodes -o 'jsonpath={.items[*].metadata.name}'); do
        figures=$(kubectl get --raw \
            "/api/v1/nodes/$node/proxy/stats/summary" 2>/dev/null) || continue
        case $figures in
        *'"psi"'* | '') ;;
        *)
            [ "$minor" -lt 34 ] ||
                note "The kubelet of $node shows no pressure figures: its" \
                    "kernel may need psi=1."
            ;;
        esac
    done
}

check_cert_manager() {
    if ! serves cert-manager.io certificates; then
        note "cert-manager is not installed: the Job of the default" \
            "installation makes the certificates."
    fi
}

# An APIService of anybody: no namespace can be deleted while one is away.
check_api_services() {
    may_read list apiservices.apiregistration.k8s.io || return
    conditions=$(get apiservices -o 'jsonpath={range .items[*]}{.metadata.name}{range .status.conditions[?(@.type=="Available")]} {.status} {.reason}: {.message}{end}{"\n"}{end}')
    while read -r name available why; do
        [ "$available" != False ] ||
            say "The APIService $name is not available ($why): no namespace" \
                "can be deleted until it answers, or until somebody deletes" \
                "it with \`kubectl delete apiservice $name\`."
    done <<EOF
$conditions
EOF
}

# ---- after the installation ----

check_job() {
    may_read list jobs.batch -n plimsoll || return
    jobs=$(get jobs -n plimsoll -l app.kubernetes.io/component=certificates \
        -o 'jsonpath={range .items[*]}{.metadata.name} {.status.conditions[?(@.type=="Failed")].message}{"\n"}{end}')
    while read -r name message; do
        [ -z "$message" ] ||
            say "The Job $name failed, so there are no new certificates:" \
                "$message. \`kubectl -n plimsoll logs job/$name\` or" \
                "\`kubectl -n plimsoll get events\` may say why. To run it" \
                "again: \`kubectl -n plimsoll delete job $name\`, then" \
                "\`kubectl -n plimsoll create job" \
                "--from=cronjob/plimsoll-certificates" \
                "plimsoll-certificates-now\`."
    done <<EOF
$jobs
EOF
}

check_certificates() {
    for namespace in plimsoll plimsoll-agents; do
        may_read get secrets -n $namespace || return
    done
    for name in plimsoll-agents/plimsoll-agent-tls \
        plimsoll/plimsoll-aggregator-tls plimsoll/plimsoll-scheduler-tls \
        plimsoll/plimsoll-scheduler-server-tls; do
        if [ -z "$(get secret -n "${name%/*}" "${name#*/}" \
            -o 'jsonpath={.data.tls\.crt}')" ]; then
            say "The Secret $name has no certificate yet."
        fi
    done
}

check_pods() {
    get "$1" -n "$2" "$3" \
        -o "jsonpath={.metadata.name} {$4} {$5}{\"\n\"}" |
        while read -r name wanted ready; do
            [ "${ready:-0}" = "$wanted" ] || echo "$name ${ready:-0} $wanted"
        done
}

check_programs() {
    may_read get daemonsets.apps -n plimsoll-agents || return
    may_read get statefulsets.apps -n plimsoll || return
    may_read get deployments.apps -n plimsoll || return
    not_ready=$(
        check_pods daemonset plimsoll-agents plimsoll-agent \
            .status.desiredNumberScheduled .status.numberReady
        check_pods statefulset plimsoll plimsoll-aggregator \
            .spec.replicas .status.readyReplicas
        check_pods deployment plimsoll plimsoll-scheduler \
            .spec.replicas .status.readyReplicas
    )
    [ -z "$not_ready" ] || while read -r name ready wanted; do
        say "$name has $ready of $wanted pods ready."
    done <<EOF
$not_ready
EOF
}

check_names() {
    admission=admissionregistration.k8s.io
    may_read list namespaces || return
    may_read get mutatingwebhookconfigurations.$admission || return
    policy=
    if serves $admission mutatingadmissionpolicybindings; then
        may_read get mutatingadmissionpolicybindings.$admission || return
        policy=$(get mutatingadmissionpolicybinding plimsoll-scheduler-name \
            -o name)
    fi
    labelled=$(get namespaces -l plimsoll.io/schedule=enabled \
        -o 'jsonpath={.items[*].metadata.name}')
    webhook=$(get mutatingwebhookconfiguration plimsoll-scheduler-name -o name)
    bundle=$(get mutatingwebhookconfiguration plimsoll-scheduler-name \
        -o 'jsonpath={.webhooks[0].clientConfig.caBundle}')
    if [ -n "$policy" ] || [ -n "$bundle" ]; then
        return
    fi
    if [ -n "$webhook" ]; then
        say "The webhook plimsoll-scheduler-name has no caBundle: the API" \
            "server does not call it."
    fi
    if [ -n "$labelled" ]; then
        say "Nothing sets schedulerName in the labelled namespaces" \
            "($labelled): their VMs go to the stock scheduler."
    fi
}

# VMs that no other node could take. Names of LISTED_MAX of them.
check_reach() {
    serves load.plimsoll.io vmloads || return
    may_read list vmloads.load.plimsoll.io -A || return
    stranded=$(get vmloads.load.plimsoll.io -A \
        --field-selector status.reachableNodes=0 \
        -o 'jsonpath={range .items[*]}{.metadata.namespace}/{.metadata.name}{"\n"}{end}')
    [ -n "$stranded" ] || return
    count=$(echo "$stranded" | wc -l)
    names=$(echo "$stranded" | head -n $LISTED_MAX | paste -s -d ' ' -)
    more=
    [ "$count" -le $LISTED_MAX ] || more=" and $((count - LISTED_MAX)) more"
    note "$count VMs can reach no other node, and stop when theirs is emptied:" \
        "$names$more."
}

# ---- all ----

case ${1:-} in
-h | --help)
    sed -n '2,/^set -u/s/^# \{0,1\}//p' "$0"
    exit 0
    ;;
'' | -*) ;;
*)
    echo "preflight.sh: takes flags of kubectl, or --help" >&2
    exit 2
    ;;
esac

check_kubernetes
check_kubevirt
check_storage
check_rights
check_pressure
check_cert_manager
check_api_services
if may_read get namespaces && [ -n "$(get namespace plimsoll -o name)" ]; then
    check_job
    check_certificates
    check_programs
    check_names
    check_reach
fi
[ $status != 0 ] || echo "Nothing is missing."
exit $status
