#include "scheduler/objects/pod.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "lib/memory.h"
#include "scheduler/objects/forecast.h"
#include "scheduler/objects/model.h"
#include "kube/time.h"
#include "scheduler/objects/unsupported.h"

static const char preferred_key[] =
	"preferredDuringSchedulingIgnoredDuringExecution";

/* Keys with dots and slashes are members, not paths. */
static const char *text_in(const struct value *object, const char *key)
{
	const char *text = value_text(value_get(object, key));

	return text != NULL ? text : "";
}

static enum pod_phase phase_of(const struct value *object)
{
	static const char *const texts[] = {
		[POD_PENDING] = "Pending",
		[POD_RUNNING] = "Running",
		[POD_SUCCEEDED] = "Succeeded",
		[POD_FAILED] = "Failed",
	};
	const char *text = value_text_at(object, "status/phase", "Pending");

	for (size_t i = 0; i < count_of(texts); i++) {
		if (strcmp(text, texts[i]) == 0) {
			return (enum pod_phase)i;
		}
	}
	return POD_UNKNOWN;
}

static bool take_moment(int64_t *out, const struct value *text)
{
	return value_text(text) != NULL &&
		moment_parse(out, value_text(text), NULL) == 0;
}

static int64_t bound_at(const struct value *object)
{
	const struct value *list = value_at(object, "status/conditions");
	int64_t us = MOMENT_LONG_AGO;

	for (const struct value *c = value_first(list); c != NULL;
		c = value_next(c)) {
		if (strcmp(text_in(c, "type"), "PodScheduled") == 0 &&
			strcmp(text_in(c, "status"), "True") == 0 &&
			take_moment(&us, value_get(c, "lastTransitionTime"))) {
			return us;
		}
	}
	if (take_moment(&us, value_at(object, "status/startTime"))) {
		return us;
	}
	if (*value_text_at(object, "spec/nodeName", "") != '\0') {
		(void)take_moment(&us,
			value_at(object, "metadata/creationTimestamp"));
	}
	return us;
}

static int64_t integer_at(const struct value *object, const char *path)
{
	double number = 0;

	if (!value_number(&number, value_at(object, path)) || number < -9e15 ||
		number > 9e15) {
		return 0;
	}
	return (int64_t)number;
}

/* The API server keeps priorities within 32 bits. */
static int32_t priority_of(const struct value *object)
{
	int64_t priority = integer_at(object, "spec/priority");

	if (priority > INT32_MAX) {
		return INT32_MAX;
	}
	return priority < INT32_MIN ? INT32_MIN : (int32_t)priority;
}

static void read_identity(struct pod *pod, const struct value *object)
{
	const struct value *meta = value_get(object, "metadata");
	const struct value *spec = value_get(object, "spec");
	const struct value *labels = value_get(meta, "labels");
	const struct value *notes = value_get(meta, "annotations");

	pod->namespace = xstrdup(text_in(meta, "namespace"));
	pod->name = xstrdup(text_in(meta, "name"));
	pod->uid = xstrdup(text_in(meta, "uid"));
	pod->resource_version = xstrdup(text_in(meta, "resourceVersion"));
	pod->scheduler_name = xstrdup(text_in(spec, "schedulerName"));
	pod->node_name = xstrdup(text_in(spec, "nodeName"));
	pod->nominated_node =
		xstrdup(value_text_at(object, "status/nominatedNodeName", ""));
	pod->vmi_uid = xstrdup(text_in(labels, "kubevirt.io/created-by"));
	pod->vm_name = xstrdup(text_in(notes, "kubevirt.io/domain"));
	pod->generation = integer_at(object, "metadata/generation");
	pod->priority = priority_of(object);
	pod->phase = phase_of(object);
	pod->is_vm =
		strcmp(text_in(labels, "kubevirt.io"), "virt-launcher") == 0;
	pod->is_provisional =
		strcmp(text_in(notes, "kubevirt.io/ephemeral-provisioning"),
			"true") == 0;
	pod->is_deleting = *text_in(meta, "deletionTimestamp") != '\0';
	pod->is_gated = value_first(value_get(spec, "schedulingGates")) != NULL;
	pod->bound_wall_us = bound_at(object);
}

static bool wants(const struct pod *pod, const char *resource)
{
	for (size_t i = 0; i < pod->requests.other_count; i++) {
		const struct amount *amount = &pod->requests.others[i];

		if (strcmp(names_text(pod->names, amount->resource),
			    resource) == 0) {
			return true;
		}
	}
	return false;
}

static int read_requests(struct pod *pod, const struct value *spec,
	const struct value *status, struct error *err)
{
	int r = resources_read_requests(&pod->requests, pod->names, spec,
		status, err);

	if (r < 0) {
		return r;
	}
	asks_read(&pod->asks, spec, &pod->requests);
	pod->wants_kvm = wants(pod, "devices.kubevirt.io/kvm");
	pod->vcpus = pod->is_vm ? forecast_vcpus(spec) : 0;
	pod->is_dedicated = pod->is_vm && forecast_is_dedicated(spec);
	pod->expected_cores = pod->is_vm
		? pod->vcpus * MODEL_SHARE
		: fmin((double)pod->requests.cpu_milli / 1000,
			  FORECAST_VCPUS_MAX);
	return 0;
}

/* What its neighbours and those to come must know of it. */
static int read_relations(struct pod *pod, const struct value *object,
	struct error *err)
{
	const struct value *spec = value_get(object, "spec");
	int r = labels_read(&pod->labels, pod->names,
		value_at(object, "metadata/labels"), err);

	pod->namespace_id = names_hold(pod->names, pod->namespace);
	if (r == 0) {
		r = pod_affinity_read(&pod->affinity, pod->names,
			value_get(spec, "affinity"), pod->namespace, err);
	}
	if (r == 0) {
		r = host_ports_read(&pod->ports, pod->names, spec, err);
	}
	if (r == 0) {
		r = pod_volumes_read(&pod->volumes, pod->names,
			value_get(spec, "volumes"), pod->name, err);
	}
	return r;
}

static int read_constraints(struct pod *pod, const struct value *spec,
	struct error *err)
{
	const struct value *node = value_at(spec, "affinity/nodeAffinity");
	const struct value *required = value_get(node,
		"requiredDuringSchedulingIgnoredDuringExecution");
	int r = tolerations_read(&pod->tolerations, pod->names,
		value_get(spec, "tolerations"), err);

	if (r == 0) {
		r = labels_read(&pod->node_selector, pod->names,
			value_get(spec, "nodeSelector"), err);
	}
	if (r == 0) {
		r = terms_read(&pod->required, pod->names,
			value_get(required, "nodeSelectorTerms"), false, err);
	}
	if (r == 0) {
		r = terms_read(&pod->preferred, pod->names,
			value_get(node, preferred_key), true, err);
	}
	if (r == 0) {
		r = spread_rules_read(&pod->spread, pod->names,
			value_get(spec, "topologySpreadConstraints"),
			&pod->labels, err);
	}
	pod->has_required = required != NULL && !value_is_null(required);
	pod->unsupported = unsupported_constraint(spec);
	return r;
}

int pod_new(struct pod **out, struct names *names, const struct value *object,
	enum pod_depth depth, struct error *err)
{
	const struct value *spec = value_get(object, "spec");
	struct pod *pod;
	int r;

	if (*value_text_at(object, "metadata/name", "") == '\0') {
		return error_set(err, -EBADMSG, "a pod has no name");
	}
	pod = xcalloc(1, sizeof(*pod));
	pod->names = names;
	read_identity(pod, object);
	r = read_requests(pod, spec,
		depth == POD_PLACED ? value_get(object, "status") : NULL, err);
	if (r == 0) {
		r = read_relations(pod, object, err);
	}
	if (r == 0 && depth == POD_TO_PLACE) {
		r = read_constraints(pod, spec, err);
	}
	if (r < 0) {
		r = error_wrap(err, r, "pod '%s/%s'", pod->namespace,
			pod->name);
		pod_free(pod);
		return r;
	}
	*out = pod;
	return 0;
}

void pod_free(struct pod *pod)
{
	if (pod == NULL) {
		return;
	}
	resources_fini(&pod->requests, pod->names);
	names_drop(pod->names, pod->namespace_id);
	labels_fini(&pod->labels, pod->names);
	pod_affinity_fini(&pod->affinity, pod->names);
	host_ports_fini(&pod->ports, pod->names);
	pod_volumes_fini(&pod->volumes, pod->names);
	asks_fini(&pod->asks);
	tolerations_fini(&pod->tolerations, pod->names);
	labels_fini(&pod->node_selector, pod->names);
	terms_fini(&pod->required, pod->names);
	terms_fini(&pod->preferred, pod->names);
	spread_rules_fini(&pod->spread, pod->names);
	free(pod->unsupported);
	free(pod->namespace);
	free(pod->name);
	free(pod->uid);
	free(pod->resource_version);
	free(pod->scheduler_name);
	free(pod->node_name);
	free(pod->nominated_node);
	free(pod->vmi_uid);
	free(pod->vm_name);
	free(pod);
}

bool pod_is_over(const struct pod *pod)
{
	return pod->phase == POD_SUCCEEDED || pod->phase == POD_FAILED;
}
