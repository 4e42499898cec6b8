#include "scheduler/cluster/node.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "lib/memory.h"

/* Adds sign x amount. Sums wrap as upstream's do: absurd requests must not end
 * the process, and the sums are right again when the pods are gone. */
static void add_signed(int64_t *sum, int64_t amount, int sign)
{
	*sum = (int64_t)((uint64_t)*sum +
		(uint64_t)(int64_t)sign * (uint64_t)amount);
}

const struct node_resource *node_scalar(const struct node *node,
	uint32_t resource)
{
	for (size_t i = 0; i < node->scalar_count; i++) {
		if (node->scalars[i].resource == resource) {
			return &node->scalars[i];
		}
	}
	return NULL;
}

static struct node_resource *find_scalar(struct node *node, uint32_t resource)
{
	const struct node_resource *scalar = node_scalar(node, resource);

	return scalar == NULL ? NULL : &node->scalars[scalar - node->scalars];
}

/* Frees what was read from the Node object. */
static void release_object(struct node *node)
{
	labels_fini(&node->labels, node->interner);
	taints_fini(&node->taints, node->interner);
	for (size_t i = 0; i < node->scalar_count; i++) {
		interner_drop(node->interner, node->scalars[i].resource);
	}
	free(node->scalars);
	interner_drop(node->interner, node->name_id);
	free(node->name);
}

static int read_allocatable(struct node *node, const struct json_value *object,
	struct error *err)
{
	struct resources list = { 0 };
	int r = resources_read(&list, node->interner,
		json_value_at(object, "status/allocatable"), err);

	if (r < 0) {
		return r;
	}
	if (list.scalar_count > NODE_RESOURCES_MAX) {
		resources_fini(&list, node->interner);
		return error_set(err, -E2BIG,
			"more than %d kinds of extended resources and huge "
			"pages",
			NODE_RESOURCES_MAX);
	}
	node->cpu_milli = list.cpu_milli;
	node->memory_bytes = list.memory_bytes;
	node->ephemeral_bytes = list.ephemeral_bytes;
	node->max_pods = list.pods;
	node->scalars = xcalloc(list.scalar_count, sizeof(*node->scalars));
	node->scalar_count = list.scalar_count;
	for (size_t i = 0; i < list.scalar_count; i++) {
		node->scalars[i] = (struct node_resource){
			.resource = list.scalars[i].resource,
			.allocatable = list.scalars[i].value,
		};
	}
	free(list.scalars); /* the node holds the names now */
	return 0;
}

static bool has_zone(const struct json_value *labels)
{
	static const char *const keys[] = {
		"failure-domain.beta.kubernetes.io/zone",
		"failure-domain.beta.kubernetes.io/region",
		"topology.kubernetes.io/zone",
		"topology.kubernetes.io/region",
	};

	for (size_t i = 0; i < count_of(keys); i++) {
		if (json_value_get(labels, keys[i]) != NULL) {
			return true;
		}
	}
	return false;
}

static int read_object(struct node *out, struct interner *interner,
	const struct json_value *object, struct error *err)
{
	const char *name = json_value_text_at(object, "metadata/name", "");
	struct node node = { .interner = interner };
	int r;

	if (*name == '\0') {
		return error_set(err, -EBADMSG, "a node has no name");
	}
	node.name = xstrdup(name);
	node.name_id = interner_hold(interner, name);
	node.is_unschedulable =
		json_value_true(json_value_at(object, "spec/unschedulable"));
	node.consent =
		consent_read(json_value_at(object, "metadata/annotations"));
	node.features = features_of_node(object);
	node.has_zone = has_zone(json_value_at(object, "metadata/labels"));
	r = labels_read(&node.labels, interner,
		json_value_at(object, "metadata/labels"), err);
	if (r == 0) {
		r = taints_read(&node.taints, interner,
			json_value_at(object, "spec/taints"), err);
	}
	if (r == 0 && node.taints.count > NODE_TAINTS_MAX) {
		r = error_set(err, -E2BIG, "more than %d taints",
			NODE_TAINTS_MAX);
	}
	r = r < 0 ? r : read_allocatable(&node, object, err);
	if (r < 0) {
		r = error_wrap(err, r, "node '%s'", name);
		release_object(&node);
		return r;
	}
	*out = node;
	return 0;
}

/* VMs may use more than is allocatable. */
static void bound_vms(struct node *node)
{
	node_vms_set_cores(&node->vms,
		fmax((double)node->cpu_milli / 1000, node->metrics.cores));
}

int node_new(struct node **out, struct interner *interner,
	const struct json_value *object, struct error *err)
{
	struct node node = { 0 };
	int r = read_object(&node, interner, object, err);

	if (r < 0) {
		return r;
	}
	bound_vms(&node);
	*out = xmemdup(&node, sizeof(node));
	return 0;
}

void node_free(struct node *node)
{
	if (node == NULL) {
		return;
	}
	release_object(node);
	node_vms_fini(&node->vms);
	free(node->pods);
	free(node);
}

static int64_t requested_by(const struct pod *pod, uint32_t resource)
{
	const struct resources *r = &pod->requests;

	for (size_t i = 0; i < r->scalar_count; i++) {
		if (r->scalars[i].resource == resource) {
			return r->scalars[i].value;
		}
	}
	return 0;
}

/* The requests of the node's pods for a resource that it did not offer. */
static int64_t sum_requests(const struct node *node, uint32_t resource)
{
	int64_t sum = 0;

	for (size_t i = 0; i < node->pod_count; i++) {
		add_signed(&sum, requested_by(node->pods[i].pod, resource), 1);
	}
	return sum;
}

/* Moves the sums, the pods and the load from the old version to the new one. */
static void inherit(struct node *fresh, const struct node *old)
{
	fresh->cpu_milli_requested = old->cpu_milli_requested;
	fresh->memory_bytes_requested = old->memory_bytes_requested;
	fresh->ephemeral_bytes_requested = old->ephemeral_bytes_requested;
	fresh->expected_milli = old->expected_milli;
	fresh->nonzero_milli = old->nonzero_milli;
	fresh->nonzero_bytes = old->nonzero_bytes;
	fresh->limit_milli = old->limit_milli;
	fresh->limit_bytes = old->limit_bytes;
	fresh->metrics = old->metrics;
	fresh->vms = old->vms;
	fresh->rejections = old->rejections;
	fresh->pods = old->pods;
	fresh->pod_count = old->pod_count;
	fresh->pod_capacity = old->pod_capacity;
	for (size_t i = 0; i < fresh->scalar_count; i++) {
		struct node_resource *scalar = &fresh->scalars[i];
		const struct node_resource *before =
			node_scalar(old, scalar->resource);

		if (before == NULL) {
			scalar->requested = sum_requests(old, scalar->resource);
			continue;
		}
		scalar->requested = before->requested;
		scalar->is_measured = before->is_measured;
		scalar->free_bytes = before->free_bytes;
	}
}

int node_update(struct node *node, const struct json_value *object,
	struct error *err)
{
	struct node fresh = { 0 };
	int r = read_object(&fresh, node->interner, object, err);

	if (r < 0) {
		return r;
	}
	inherit(&fresh, node);
	release_object(node);
	*node = fresh;
	bound_vms(node);
	return 0;
}

/* In thousandths, because sums of integers do not drift. */
static int64_t expected_milli(const struct pod *pod)
{
	return pod->is_vm ? 0 : llround(pod->expected_cores * 1000);
}

/* Adds the pod to the sums, or removes it with sign -1. has_pages: it takes or
 * frees huge pages that the last load shows otherwise. */
static void count_pod(struct node *node, const struct pod *pod, int sign,
	bool has_pages)
{
	const struct resources *requests = &pod->requests;

	add_signed(&node->cpu_milli_requested, requests->cpu_milli, sign);
	add_signed(&node->memory_bytes_requested, requests->memory_bytes, sign);
	add_signed(&node->ephemeral_bytes_requested, requests->ephemeral_bytes,
		sign);
	for (size_t i = 0; i < requests->scalar_count; i++) {
		const struct amount *amount = &requests->scalars[i];
		struct node_resource *scalar =
			find_scalar(node, amount->resource);

		if (scalar != NULL) {
			add_signed(&scalar->requested, amount->value, sign);
			add_signed(&scalar->free_bytes, amount->value,
				has_pages ? -sign : 0);
		}
	}
	node->nonzero_milli += sign * pod->nonzero.cpu_milli;
	node->nonzero_bytes += sign * pod->nonzero.memory_bytes;
	node->limit_milli += sign * pod->nonzero.limit_milli;
	node->limit_bytes += sign * pod->nonzero.limit_bytes;
	node->expected_milli += sign * expected_milli(pod);
}

void node_add_counted_pod(struct node *node, const struct pod *pod,
	int64_t bound_us)
{
	node->pods = xgrow(node->pods, node->pod_count, &node->pod_capacity,
		sizeof(*node->pods));
	node->pods[node->pod_count++] = (struct node_pod){ pod, bound_us };
}

/* The last load cannot show what the pod uses. */
static bool is_newer_than_load(const struct node *node, int64_t bound_us)
{
	return bound_us >= node->metrics.sample_us;
}

static void add_pod(struct node *node, const struct pod *pod, int64_t bound_us,
	bool has_pages)
{
	count_pod(node, pod, 1, has_pages);
	node_add_counted_pod(node, pod, bound_us);
	if (pod->is_vm) {
		node_vms_add(&node->vms, pod, bound_us);
	}
}

void node_add_pod(struct node *node, const struct pod *pod, int64_t bound_us)
{
	add_pod(node, pod, bound_us, is_newer_than_load(node, bound_us));
}

void node_occupy(struct node *node, const struct pod *pod, int64_t bound_us)
{
	add_pod(node, pod, bound_us, true);
}

static void remove_pod(struct node *node, const struct pod *pod, bool has_pages)
{
	for (size_t i = 0; i < node->pod_count; i++) {
		if (node->pods[i].pod == pod) {
			has_pages |= is_newer_than_load(node,
				node->pods[i].bound_us);
			node->pods[i] = node->pods[--node->pod_count];
			break;
		}
	}
	count_pod(node, pod, -1, has_pages);
	node_vms_remove(&node->vms, pod->uid);
}

void node_remove_pod(struct node *node, const struct pod *pod)
{
	remove_pod(node, pod, false);
}

void node_vacate(struct node *node, const struct pod *pod)
{
	remove_pod(node, pod, true);
}

const char *node_hostname(const struct node *node)
{
	uint32_t value = labels_get(&node->labels,
		interner_find(node->interner, "kubernetes.io/hostname"));

	return value == 0 ? NULL : interner_text(node->interner, value);
}

struct requirement_subject node_subject(const struct node *node)
{
	return (struct requirement_subject){
		.interner = node->interner,
		.labels = &node->labels,
		.name = node->name_id,
	};
}

bool node_has_affinity(const struct node *node, const struct pod *pod)
{
	const struct requirement_subject subject = node_subject(node);

	return !pod->has_required ||
		node_selector_matches(&pod->required, &subject);
}

bool node_is_selected(const struct node *node, const struct pod *pod)
{
	return labels_include(&node->labels, &pod->node_selector) &&
		node_has_affinity(node, pod);
}

/* The requests for the resource of pods that are newer than the load. */
static int64_t sum_newer_requests(const struct node *node, uint32_t resource)
{
	int64_t sum = 0;

	for (size_t i = 0; i < node->pod_count; i++) {
		const struct node_pod *at = &node->pods[i];

		if (is_newer_than_load(node, at->bound_us)) {
			add_signed(&sum, requested_by(at->pod, resource), 1);
		}
	}
	return sum;
}

static void set_hugepages(struct node *node, const struct node_load *load)
{
	for (size_t i = 0; i < node->scalar_count; i++) {
		struct node_resource *scalar = &node->scalars[i];
		uint64_t page_bytes = resources_page_bytes(
			interner_text(node->interner, scalar->resource));
		int64_t bytes;

		scalar->is_measured = page_bytes > 0 &&
			load_free_hugepages(&bytes, load, page_bytes);
		if (scalar->is_measured) {
			scalar->free_bytes = bytes;
			add_signed(&scalar->free_bytes,
				sum_newer_requests(node, scalar->resource), -1);
		}
	}
}

void node_set_load(struct node *node, const struct node_load *load,
	int64_t sample_us, int64_t now_us)
{
	node_metrics_set(&node->metrics, load, sample_us);
	bound_vms(node);
	set_hugepages(node, load);
	node_vms_set_load(&node->vms, load,
		sample_us < now_us ? sample_us : now_us);
}

struct model_forecast node_expected_load(const struct node *node,
	struct model_prior prior, int64_t now_us)
{
	const struct model_sum *seen = &node->vms.seen;
	const struct node_vms_announced more =
		node_vms_announced(&node->vms, prior, now_us);
	double used = node_used_cores(node);
	struct model_forecast out = model_expected(seen, prior);
	double known = used - seen->seen_cores + out.cores + more.seen;

	out.cores = (known > used ? known : used) + more.unseen;
	node_vms_add_expected(&node->vms, prior, now_us, &out);
	return out;
}
