#include "scheduler/objects/pod.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "kube/time.h"
#include "lib/memory.h"
#include "scheduler/forecast/forecast.h"
#include "scheduler/objects/unsupported.h"
#include "scheduler/objects/value_list.h"

static const char preferred_key[] =
	"preferredDuringSchedulingIgnoredDuringExecution";

/* For keys with dots and slashes, which are not paths. */
static const char *text_in(const struct json_value *object, const char *key)
{
	const char *text = json_value_text(json_value_get(object, key));

	return text != NULL ? text : "";
}

static enum pod_phase phase_of(const struct json_value *object)
{
	static const char *const texts[] = {
		[POD_PENDING] = "Pending",
		[POD_RUNNING] = "Running",
		[POD_SUCCEEDED] = "Succeeded",
		[POD_FAILED] = "Failed",
	};

	_Static_assert(count_of(texts) == POD_UNKNOWN, "the first one left");
	return (enum pod_phase)value_list_find(texts, count_of(texts),
		json_value_text_at(object, "status/phase", "Pending"));
}

static bool read_time(int64_t *out, const struct json_value *text)
{
	return json_value_text(text) != NULL &&
		time_parse(out, json_value_text(text), NULL) == 0;
}

static int64_t bound_at(const struct json_value *object)
{
	const struct json_value *list =
		json_value_at(object, "status/conditions");
	int64_t us = TIME_LONG_AGO;

	for (const struct json_value *c = json_value_first(list); c != NULL;
		c = json_value_next(c)) {
		if (strcmp(text_in(c, "type"), "PodScheduled") == 0 &&
			strcmp(text_in(c, "status"), "True") == 0 &&
			read_time(&us,
				json_value_get(c, "lastTransitionTime"))) {
			return us;
		}
	}
	if (read_time(&us, json_value_at(object, "status/startTime"))) {
		return us;
	}
	if (*json_value_text_at(object, "spec/nodeName", "") != '\0') {
		(void)read_time(&us,
			json_value_at(object, "metadata/creationTimestamp"));
	}
	return us;
}

static int64_t integer_at(const struct json_value *object, const char *path)
{
	double number = 0;

	if (!json_value_number(&number, json_value_at(object, path)) ||
		number < -9e15 || number > 9e15) {
		return 0;
	}
	return (int64_t)number;
}

/* The API server allows 32 bits. */
static int32_t priority_of(const struct json_value *object)
{
	int64_t priority = integer_at(object, "spec/priority");

	if (priority > INT32_MAX) {
		return INT32_MAX;
	}
	return priority < INT32_MIN ? INT32_MIN : (int32_t)priority;
}

static void read_migration(struct pod *pod, const struct json_value *object)
{
	const struct json_value *annotations =
		json_value_at(object, "metadata/annotations");

	pod->is_target = pod->is_launcher && launcher_is_target(object);
	pod->is_move = pod->is_target &&
		strncmp(text_in(annotations, "kubevirt.io/migrationJobName"),
			POD_MOVE_PREFIX, strlen(POD_MOVE_PREFIX)) == 0;
}

static void read_identity(struct pod *pod, const struct json_value *object)
{
	const struct json_value *meta = json_value_get(object, "metadata");
	const struct json_value *spec = json_value_get(object, "spec");
	const struct json_value *labels = json_value_get(meta, "labels");
	const struct json_value *annotations =
		json_value_get(meta, "annotations");

	pod->namespace = xstrdup(text_in(meta, "namespace"));
	pod->name = xstrdup(text_in(meta, "name"));
	pod->uid = xstrdup(text_in(meta, "uid"));
	pod->resource_version = xstrdup(text_in(meta, "resourceVersion"));
	pod->scheduler_name = xstrdup(text_in(spec, "schedulerName"));
	pod->node_name = xstrdup(text_in(spec, "nodeName"));
	pod->nominated_node = xstrdup(
		json_value_text_at(object, "status/nominatedNodeName", ""));
	pod->vmi_uid = xstrdup(text_in(labels, "kubevirt.io/created-by"));
	pod->vm_name = xstrdup(text_in(annotations, "kubevirt.io/domain"));
	pod->generation = integer_at(object, "metadata/generation");
	pod->priority = priority_of(object);
	pod->phase = phase_of(object);
	pod->is_launcher = launcher_has_label(object);
	pod->is_provisional =
		strcmp(text_in(annotations,
			       "kubevirt.io/ephemeral-provisioning"),
			"true") == 0;
	pod->is_deleting = *text_in(meta, "deletionTimestamp") != '\0';
	pod->is_gated = json_value_first(json_value_get(spec,
				"schedulingGates")) != NULL;
	pod->bound_wall_us = bound_at(object);
	pod->started_wall_us =
		pod->is_launcher ? launcher_started_us(object) : TIME_LONG_AGO;
	read_migration(pod, object);
}

static bool requests_resource(const struct pod *pod, const char *resource)
{
	for (size_t i = 0; i < pod->requests.scalar_count; i++) {
		const struct amount *amount = &pod->requests.scalars[i];

		if (strcmp(interner_text(pod->interner, amount->resource),
			    resource) == 0) {
			return true;
		}
	}
	return false;
}

static bool requests_hugepages(const struct pod *pod)
{
	for (size_t i = 0; i < pod->requests.scalar_count; i++) {
		if (resources_page_bytes(interner_text(pod->interner,
			    pod->requests.scalars[i].resource)) > 0) {
			return true;
		}
	}
	return false;
}

/* Keeps the first of the errors of reading the parts of a pod. */
static void keep_error(struct pod *pod, int r, const struct error *err)
{
	if (r < 0 && pod->unsupported == NULL) {
		pod->unsupported =
			xasprintf("pod cannot be read: %s", err->text);
	}
}

static void read_requests(struct pod *pod, const struct json_value *spec,
	const struct json_value *status, struct behaviours behaviours)
{
	struct error err;

	keep_error(pod,
		resources_read_requests(&pod->requests, pod->interner, spec,
			status, behaviours, &err),
		&err);
	nonzero_read(&pod->nonzero, spec, &pod->requests);
	if (pod->is_launcher) {
		pod->compute = launcher_compute_of(spec);
	}
	pod->requests_kvm = requests_resource(pod, "devices.kubevirt.io/kvm");
	pod->requests_hugepages = requests_hugepages(pod);
	pod->stated_vcpus = pod->is_launcher ? forecast_vcpus(spec) : 0;
	pod->states_dedicated = pod->is_launcher && forecast_is_dedicated(spec);
	pod_belief_apply(pod, &pod_belief_stated);
}

static void read_announcement(struct pod *pod, const struct json_value *object)
{
	const char *text =
		text_in(json_value_at(object, "metadata/annotations"),
			ANNOUNCEMENT_KEY);
	struct announcement announced;
	struct error err;

	if (!pod->is_launcher || *text == '\0') {
		return;
	}
	if (announcement_parse(&announced, text, &err) < 0) {
		pod->announcement_error = xasprintf(
			"annotation " ANNOUNCEMENT_KEY " is ignored: %s",
			err.text);
		return;
	}
	pod->announced = xmemdup(&announced, sizeof(announced));
}

static void read_labels(struct pod *pod, struct labels *out,
	const struct json_value *object)
{
	struct error err;

	keep_error(pod, labels_read(out, pod->interner, object, &err), &err);
}

/* The parts that decisions about other pods read. */
static void read_shared(struct pod *pod, const struct json_value *object)
{
	const struct json_value *spec = json_value_get(object, "spec");
	struct error err;

	pod->namespace_id = interner_hold(pod->interner, pod->namespace);
	host_ports_read(&pod->ports, pod->interner, spec);
	pod_volumes_read(&pod->volumes, pod->interner,
		json_value_get(spec, "volumes"), pod->name);
	read_labels(pod, &pod->labels,
		json_value_at(object, "metadata/labels"));
	keep_error(pod,
		pod_affinity_read(&pod->affinity, pod->interner,
			json_value_get(spec, "affinity"), pod->namespace, &err),
		&err);
}

static void read_node_affinity(struct pod *pod, const struct json_value *spec)
{
	const struct json_value *node =
		json_value_at(spec, "affinity/nodeAffinity");
	const struct json_value *required = json_value_get(node,
		"requiredDuringSchedulingIgnoredDuringExecution");
	struct error err;

	pod->has_required = required != NULL && !json_value_is_null(required);
	keep_error(pod,
		node_selector_read(&pod->required, pod->interner,
			json_value_get(required, "nodeSelectorTerms"), false,
			&err),
		&err);
	keep_error(pod,
		node_selector_read(&pod->preferred, pod->interner,
			json_value_get(node, preferred_key), true, &err),
		&err);
}

static void read_constraints(struct pod *pod, const struct json_value *spec)
{
	struct error err;

	keep_error(pod,
		tolerations_read(&pod->tolerations, pod->interner,
			json_value_get(spec, "tolerations"), &err),
		&err);
	read_labels(pod, &pod->node_selector,
		json_value_get(spec, "nodeSelector"));
	read_node_affinity(pod, spec);
	keep_error(pod,
		spread_constraints_read(&pod->spread, pod->interner,
			json_value_get(spec, "topologySpreadConstraints"),
			&pod->labels, &err),
		&err);
	pod->features = features_of_pod(spec);
	if (pod->unsupported == NULL) {
		pod->unsupported = unsupported_constraint(spec, &pod->requests);
	}
}

int pod_new_by(struct pod **out, struct interner *interner,
	const struct json_value *object, enum pod_depth depth,
	struct behaviours behaviours, struct error *err)
{
	const struct json_value *spec = json_value_get(object, "spec");
	struct pod *pod;

	if (*json_value_text_at(object, "metadata/name", "") == '\0') {
		return error_set(err, -EBADMSG, "a pod has no name");
	}
	pod = xcalloc(1, sizeof(*pod));
	pod->interner = interner;
	read_identity(pod, object);
	read_requests(pod, spec,
		depth == POD_SCHEDULED ? json_value_get(object, "status")
				       : NULL,
		behaviours);
	read_announcement(pod, object);
	read_shared(pod, object);
	if (depth == POD_UNSCHEDULED) {
		read_constraints(pod, spec);
	}
	*out = pod;
	return 0;
}

int pod_new(struct pod **out, struct interner *interner,
	const struct json_value *object, enum pod_depth depth,
	struct error *err)
{
	return pod_new_by(out, interner, object, depth,
		(struct behaviours){ 0 }, err);
}

/* The texts that each copy has of its own. */
static void release_identity(struct pod *pod)
{
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
}

/* Everything else belongs to the original. */
static void release_parts(struct pod *pod)
{
	resources_fini(&pod->requests, pod->interner);
	interner_drop(pod->interner, pod->namespace_id);
	labels_fini(&pod->labels, pod->interner);
	pod_affinity_fini(&pod->affinity, pod->interner);
	host_ports_fini(&pod->ports, pod->interner);
	pod_volumes_fini(&pod->volumes, pod->interner);
	nonzero_fini(&pod->nonzero);
	tolerations_fini(&pod->tolerations, pod->interner);
	labels_fini(&pod->node_selector, pod->interner);
	node_selector_fini(&pod->required, pod->interner);
	node_selector_fini(&pod->preferred, pod->interner);
	spread_constraints_fini(&pod->spread, pod->interner);
	free(pod->announced);
	free(pod->announcement_error);
}

static void free_original(struct pod *pod)
{
	if (pod->copies > 0) {
		pod->copies--; /* a copy still uses the parts */
		return;
	}
	release_parts(pod);
	release_identity(pod);
	free(pod);
}

void pod_free(struct pod *pod)
{
	if (pod == NULL) {
		return;
	}
	if (pod->original == NULL) {
		free_original(pod);
		return;
	}
	free_original(pod->original);
	release_identity(pod);
	free(pod);
}

static struct pod *copy_of(struct pod *pod, const char *uid, const char *node)
{
	struct pod *copy = xmemdup(pod, sizeof(*pod));

	copy->original = pod->original != NULL ? pod->original : pod;
	copy->original->copies++;
	copy->copies = 0;
	copy->namespace = xstrdup(pod->namespace);
	copy->name = xstrdup(pod->name);
	copy->uid = xstrdup(uid);
	copy->resource_version = xstrdup(pod->resource_version);
	copy->scheduler_name = xstrdup(pod->scheduler_name);
	copy->node_name = xstrdup(node);
	copy->vmi_uid = xstrdup(pod->vmi_uid);
	copy->vm_name = xstrdup(pod->vm_name);
	copy->unsupported = NULL;
	return copy;
}

struct pod *pod_copy(struct pod *pod, const char *uid, const char *node)
{
	struct pod *copy = copy_of(pod, uid, node);

	copy->nominated_node = xstrdup("");
	return copy;
}

struct pod *pod_share(struct pod *pod)
{
	struct pod *copy = copy_of(pod, pod->uid, pod->node_name);

	copy->nominated_node = xstrdup(pod->nominated_node);
	xreplace(&copy->unsupported, pod->unsupported);
	return copy;
}

bool pod_is_terminated(const struct pod *pod)
{
	return pod->phase == POD_SUCCEEDED || pod->phase == POD_FAILED;
}
