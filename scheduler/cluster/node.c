#include "scheduler/cluster/node.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "lib/memory.h"

/* Sums wrap as upstream's do: a few absurd requests must not end the process,
 * and when their pods go the sums are right again. */
static int64_t plus(int64_t a, int64_t b)
{
	return (int64_t)((uint64_t)a + (uint64_t)b);
}

static int64_t minus(int64_t a, int64_t b)
{
	return (int64_t)((uint64_t)a - (uint64_t)b);
}

static struct node_resource *find_resource(const struct node *node,
	uint32_t resource)
{
	for (size_t i = 0; i < node->other_count; i++) {
		if (node->others[i].resource == resource) {
			return &node->others[i];
		}
	}
	return NULL;
}

static struct node_resource *need_resource(struct node *node, uint32_t resource)
{
	struct node_resource *found = find_resource(node, resource);

	if (found != NULL) {
		return found;
	}
	node->others = xgrow(node->others, node->other_count,
		&node->other_capacity, sizeof(*node->others));
	found = &node->others[node->other_count++];
	*found = (struct node_resource){
		.resource = names_hold(node->names,
			names_text(node->names, resource)),
	};
	return found;
}

/* What comes from the Node object; the rest is kept across updates. */
static void release_object(struct node *node)
{
	labels_fini(&node->labels, node->names);
	taints_fini(&node->taints, node->names);
	for (size_t i = 0; i < node->other_count; i++) {
		names_drop(node->names, node->others[i].resource);
	}
	free(node->others);
	names_drop(node->names, node->name_id);
	free(node->name);
}

static int read_allocatable(struct node *node, const struct value *object,
	struct error *err)
{
	struct resources list = { 0 };
	int r = resources_read(&list, node->names,
		value_at(object, "status/allocatable"), err);

	if (r < 0) {
		return r;
	}
	node->cpu_milli = list.cpu_milli;
	node->memory_bytes = list.memory_bytes;
	node->ephemeral_bytes = list.ephemeral_bytes;
	node->pods = list.pods;
	for (size_t i = 0; i < list.other_count; i++) {
		need_resource(node, list.others[i].resource)->allocatable =
			list.others[i].value;
	}
	resources_fini(&list, node->names);
	return 0;
}

static bool has_zone(const struct value *labels)
{
	static const char *const keys[] = {
		"failure-domain.beta.kubernetes.io/zone",
		"failure-domain.beta.kubernetes.io/region",
		"topology.kubernetes.io/zone",
		"topology.kubernetes.io/region",
	};

	for (size_t i = 0; i < count_of(keys); i++) {
		if (value_get(labels, keys[i]) != NULL) {
			return true;
		}
	}
	return false;
}

static int read_object(struct node *out, struct names *names,
	const struct value *object, struct error *err)
{
	const char *name = value_text_at(object, "metadata/name", "");
	struct node node = { .names = names };
	int r;

	if (*name == '\0') {
		return error_set(err, -EBADMSG, "a node has no name");
	}
	node.name = xstrdup(name);
	node.name_id = names_hold(names, name);
	node.is_unschedulable =
		value_true(value_at(object, "spec/unschedulable"));
	node.has_zone = has_zone(value_at(object, "metadata/labels"));
	r = labels_read(&node.labels, names,
		value_at(object, "metadata/labels"), err);
	if (r == 0) {
		r = taints_read(&node.taints, names,
			value_at(object, "spec/taints"), err);
	}
	if (r == 0) {
		r = read_allocatable(&node, object, err);
	}
	if (r < 0) {
		r = error_wrap(err, r, "node '%s'", name);
		release_object(&node);
		return r;
	}
	*out = node;
	return 0;
}

int node_new(struct node **out, struct names *names, const struct value *object,
	struct error *err)
{
	struct node node = { 0 };
	int r = read_object(&node, names, object, err);

	if (r < 0) {
		return r;
	}
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
	free(node->guests);
	free(node);
}

/* Moves what the pods and the load made of the old version to the new one. */
static void inherit(struct node *fresh, const struct node *old)
{
	fresh->cpu_milli_requested = old->cpu_milli_requested;
	fresh->memory_bytes_requested = old->memory_bytes_requested;
	fresh->ephemeral_bytes_requested = old->ephemeral_bytes_requested;
	fresh->pods_running = old->pods_running;
	fresh->expected_milli = old->expected_milli;
	fresh->nonzero_milli = old->nonzero_milli;
	fresh->nonzero_bytes = old->nonzero_bytes;
	fresh->limit_milli = old->limit_milli;
	fresh->limit_bytes = old->limit_bytes;
	fresh->measure = old->measure;
	fresh->vms = old->vms;
	fresh->rejected_us = old->rejected_us;
	fresh->guests = old->guests;
	fresh->guest_count = old->guest_count;
	fresh->guest_capacity = old->guest_capacity;
	for (size_t i = 0; i < old->other_count; i++) {
		const struct node_resource *other = &old->others[i];

		if (other->requested != 0) {
			need_resource(fresh, other->resource)->requested =
				other->requested;
		}
	}
}

int node_update(struct node *node, const struct value *object,
	struct error *err)
{
	struct node fresh = { 0 };
	int r = read_object(&fresh, node->names, object, err);

	if (r < 0) {
		return r;
	}
	inherit(&fresh, node);
	release_object(node);
	*node = fresh;
	return 0;
}

/* Whole thousandths, so that pods that go leave nothing behind. */
static int64_t expected_milli(const struct pod *pod)
{
	return pod->is_vm ? 0 : llround(pod->expected_cores * 1000);
}

/* Counts the pod once more, or once less with sign -1. */
static void count_asks(struct node *node, const struct pod *pod, int sign)
{
	node->nonzero_milli += sign * pod->asks.nonzero_milli;
	node->nonzero_bytes += sign * pod->asks.nonzero_bytes;
	node->limit_milli += sign * pod->asks.limit_milli;
	node->limit_bytes += sign * pod->asks.limit_bytes;
}

void node_add_pod(struct node *node, const struct pod *pod, int64_t bound_us)
{
	const struct resources *requests = &pod->requests;

	node->cpu_milli_requested =
		plus(node->cpu_milli_requested, requests->cpu_milli);
	node->memory_bytes_requested =
		plus(node->memory_bytes_requested, requests->memory_bytes);
	node->ephemeral_bytes_requested = plus(node->ephemeral_bytes_requested,
		requests->ephemeral_bytes);
	node->pods_running++;
	count_asks(node, pod, 1);
	node->expected_milli += expected_milli(pod);
	for (size_t i = 0; i < requests->other_count; i++) {
		struct node_resource *other =
			need_resource(node, requests->others[i].resource);

		other->requested =
			plus(other->requested, requests->others[i].value);
	}
	node->guests = xgrow(node->guests, node->guest_count,
		&node->guest_capacity, sizeof(*node->guests));
	node->guests[node->guest_count++] =
		(struct node_guest){ pod, bound_us };
	if (pod->is_vm) {
		node_vms_add(&node->vms, pod, bound_us);
	}
}

static void remove_guest(struct node *node, const struct pod *pod)
{
	for (size_t i = 0; i < node->guest_count; i++) {
		if (node->guests[i].pod == pod) {
			node->guests[i] = node->guests[--node->guest_count];
			return;
		}
	}
}

bool node_is_selected(const struct node *node, const struct pod *pod)
{
	if (!labels_include(&node->labels, &pod->node_selector)) {
		return false;
	}
	return !pod->has_required ||
		terms_match(&pod->required,
			&(struct selected){
				.names = node->names,
				.labels = &node->labels,
				.name = node->name_id,
			});
}

void node_remove_pod(struct node *node, const struct pod *pod)
{
	const struct resources *requests = &pod->requests;

	node->cpu_milli_requested =
		minus(node->cpu_milli_requested, requests->cpu_milli);
	node->memory_bytes_requested =
		minus(node->memory_bytes_requested, requests->memory_bytes);
	node->ephemeral_bytes_requested = minus(node->ephemeral_bytes_requested,
		requests->ephemeral_bytes);
	node->pods_running--;
	count_asks(node, pod, -1);
	node->expected_milli -= expected_milli(pod);
	for (size_t i = 0; i < requests->other_count; i++) {
		struct node_resource *other =
			need_resource(node, requests->others[i].resource);

		other->requested =
			minus(other->requested, requests->others[i].value);
	}
	remove_guest(node, pod);
	node_vms_remove(&node->vms, pod->uid);
}

void node_set_load(struct node *node, const struct node_load *load,
	int64_t sample_us, int64_t now_us)
{
	measure_take(&node->measure, load, sample_us);
	node_vms_take(&node->vms, load,
		sample_us < now_us ? sample_us : now_us);
}

void node_forget_load(struct node *node)
{
	node->measure = (struct measure){ 0 };
	node_vms_forget(&node->vms);
}

void node_expect(const struct node *node, struct model_prior prior,
	int64_t now_us, double *cores, double *variance)
{
	const struct model_sum *seen = &node->vms.seen;
	double used = node_used_cores(node);
	double known = used - seen->seen_cores + model_cores(seen, prior);

	*cores = known > used ? known : used;
	*variance = model_variance(seen, prior);
	node_vms_expect(&node->vms, prior, now_us, cores, variance);
}
