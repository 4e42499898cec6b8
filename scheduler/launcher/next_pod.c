#include "scheduler/launcher/next_pod.h"

#include "lib/memory.h"

#include <stdlib.h>
#include <string.h>

/* A requested memory that is less by this is that of the same VM: the tags of
 * KubeVirt count 30 MiB for QEMU, and launcher_amounts.h 50. */
#define LESS_BYTES ((double)(INT64_C(20) << 20))
#define ROUNDED_BYTES 1000.0

static const char model_prefix[] = "host-model-cpu.node.kubevirt.io/";
static const char required_prefix[] =
	"host-model-required-features.node.kubevirt.io/";
static const char vendor_prefix[] = "cpu-vendor.node.kubevirt.io/";
static const char feature_prefix[] = "cpu-feature.node.kubevirt.io/";
static const char migration_prefix[] = "cpu-model-migration.node.kubevirt.io/";

/* ---- node selector ---- */

/* The rest of the key; NULL: it has another prefix. */
static const char *after(const char *key, const char *prefix)
{
	size_t len = strlen(prefix);

	return strncmp(key, prefix, len) == 0 ? key + len : NULL;
}

static const char *text_of(const struct pod *pod, uint32_t id)
{
	return interner_text(pod->interner, id);
}

/* A free slot has key 0. */
static const struct label *next_label(const struct labels *labels, size_t *at)
{
	while (*at < labels_slot_count(labels)) {
		const struct label *label = &labels->slots[(*at)++];

		if (label->key != 0) {
			return label;
		}
	}
	return NULL;
}

static void put(struct next_pod *next, const char *prefix, const char *name,
	const char *value)
{
	scoped_free char *key = xasprintf("%s%s", prefix, name);

	labels_put(&next->selector, next->pod.interner, key, value);
}

/* A VM keeps the model of its first host: its pod has these keys since its
 * first migration. The selector of a required feature counts as such, too, and
 * then there is no model. */
static bool keep_first_host(struct next_pod *next, const struct pod *running)
{
	const struct label *label;
	bool has_any = false;
	size_t at = 0;

	while ((label = next_label(&running->node_selector, &at)) != NULL) {
		const char *key = text_of(running, label->key);

		if (strstr(key, feature_prefix) != NULL ||
			strstr(key, migration_prefix) != NULL) {
			put(next, "", key, text_of(running, label->value));
			has_any = true;
		}
	}
	return has_any;
}

static bool names_model(const struct next_pod *next,
	const struct labels *source)
{
	const struct label *label;
	size_t at = 0;

	while ((label = next_label(source, &at)) != NULL) {
		if (after(text_of(&next->pod, label->key), model_prefix) !=
			NULL) {
			return true;
		}
	}
	return false;
}

static void add_host(struct next_pod *next, const struct labels *source)
{
	const struct pod *pod = &next->pod;
	const struct label *label;
	size_t at = 0;

	while ((label = next_label(source, &at)) != NULL) {
		const char *key = text_of(pod, label->key);
		const char *value = text_of(pod, label->value);
		const char *model = after(key, model_prefix);
		const char *feature = after(key, required_prefix);

		if (model != NULL) {
			put(next, migration_prefix, model, value);
		} else if (feature != NULL) {
			put(next, feature_prefix, feature, value);
		}
	}
}

static const char *vendor_of(const struct pod *pod, const struct labels *labels)
{
	const struct label *label;
	size_t at = 0;

	while ((label = next_label(labels, &at)) != NULL) {
		const char *key = text_of(pod, label->key);

		if (after(key, vendor_prefix) != NULL) {
			return key;
		}
	}
	return NULL;
}

static void add_vendor(struct next_pod *next, const struct labels *source)
{
	const char *vendor = vendor_of(&next->pod, source);

	if (vendor != NULL && vendor_of(&next->pod, &next->selector) == NULL) {
		put(next, "", vendor, "true");
	}
}

/* createTargetPod() of KubeVirt. Where a node names no model, it overlooks its
 * own error, and creates a pod that requires neither model nor features. */
static void add_source(struct next_pod *next, const struct next_pod_question *q)
{
	if (next->parts->is_host_model && !keep_first_host(next, q->running) &&
		names_model(next, q->source)) {
		add_host(next, q->source);
	}
	if (launcher_settings_is_from(q->settings, 1, 8)) {
		add_vendor(next, q->source);
	}
}

static void set_selector(struct next_pod *next,
	const struct next_pod_question *q)
{
	size_t room = q->source == NULL
		? 0
		: q->source->count + q->running->node_selector.count;

	next->selector = labels_copy(&next->parts->pod->node_selector,
		q->running->interner, room);
	if (q->source != NULL) {
		add_source(next, q);
	}
	next->pod.node_selector = next->selector;
}

/* ---- amounts ---- */

static double distance(int64_t a, int64_t b)
{
	return a > b ? (double)(a - b) : (double)(b - a);
}

/* The change of a pod's request. has: what its container `compute` requests;
 * before and asked: what it would request for the VM as it was, and as it is.
 * The container is one of the two, or others made it: then it will be as
 * asked. */
static int64_t change_of(int64_t has, int64_t before, int64_t asked,
	double less, double more)
{
	int64_t near =
		distance(has, asked) < distance(has, before) ? asked : before;

	if (distance(has, near) > (has < near ? less : more)) {
		return asked - has;
	}
	return asked - near;
}

static int64_t milli_of(int64_t micro)
{
	return (micro + 999) / 1000;
}

/* The place of the resource in the list, which is sorted by name, or the place
 * where it belongs. */
static size_t place_of(const struct next_pod *next, const char *name)
{
	size_t i = 0;

	while (i < next->pod.requests.scalar_count &&
		strcmp(text_of(&next->pod, next->scalars[i].resource), name) <
			0) {
		i++;
	}
	return i;
}

static void set_scalar(struct next_pod *next, const char *name, int64_t value)
{
	struct interner *interner = next->pod.interner;
	struct resources *requests = &next->pod.requests;
	size_t at = place_of(next, name);
	struct amount *amount = &next->scalars[at];
	size_t rest = requests->scalar_count - at;
	bool is_there = rest > 0 &&
		strcmp(text_of(&next->pod, amount->resource), name) == 0;

	if (is_there && value > 0) {
		amount->value = value;
	} else if (is_there) {
		interner_drop(interner, amount->resource);
		(void)memmove(amount, amount + 1, (rest - 1) * sizeof(*amount));
		requests->scalar_count--;
	} else if (value > 0) {
		(void)memmove(amount + 1, amount, rest * sizeof(*amount));
		*amount = (struct amount){
			.resource = interner_hold(interner, name),
			.value = value,
		};
		requests->scalar_count++;
	}
}

/* Huge pages, and the devices that depend on the KubeVirt CR. Every launcher
 * pod of KubeVirt requests ephemeral storage. */
static void set_scalars(struct next_pod *next)
{
	enum { ADDED_MAX = 4 };
	const struct launcher_template *parts = next->parts;
	struct resources *requests = &next->pod.requests;

	if (requests->ephemeral_bytes < LAUNCHER_EPHEMERAL_BYTES) {
		return;
	}
	next->scalars = xcalloc(requests->scalar_count + ADDED_MAX,
		sizeof(*next->scalars));
	for (size_t i = 0; i < requests->scalar_count; i++) {
		next->scalars[i] = requests->scalars[i];
		interner_hold_id(next->pod.interner, next->scalars[i].resource);
	}
	requests->scalars = next->scalars;
	set_scalar(next, LAUNCHER_KVM, parts->kvm);
	set_scalar(next, LAUNCHER_VHOST_NET, parts->vhost_net);
	set_scalar(next, LAUNCHER_IOMMUFD, parts->iommufd);
	if (parts->pages != NULL) {
		set_scalar(next, parts->pages, parts->asked.page_bytes);
	}
	next->pod.requests_kvm = parts->kvm > 0;
}

static void add_amounts(struct resources *requests, int64_t milli,
	int64_t bytes)
{
	requests->cpu_milli += milli;
	requests->nonzero_milli += milli;
	requests->memory_bytes += bytes;
	requests->nonzero_bytes += bytes;
}

/* The KubeVirt CR says whether container disks have containers. */
static void set_disks(struct next_pod *next)
{
	const struct launcher_support_amounts *disk = &next->parts->disk;
	struct resources *requests = &next->pod.requests;
	int64_t more =
		(int64_t)next->parts->disks - (int64_t)next->pod.compute.disks;

	add_amounts(requests, more * milli_of(disk->micro), more * disk->bytes);
	requests->ephemeral_bytes += more * LAUNCHER_EPHEMERAL_BYTES;
}

static void set_amounts(struct next_pod *next,
	const struct launcher_settings *settings)
{
	const struct launcher_compute *has = &next->pod.compute;
	const struct launcher_amounts *asked = &next->parts->asked;
	const struct launcher_amounts *before = &next->parts->before;
	struct resources *requests = &next->pod.requests;
	int64_t milli, bytes;

	if (has->cpu_milli == 0 || has->memory_bytes == 0 ||
		asked->bytes == 0) {
		return;
	}
	milli = change_of(has->cpu_milli, milli_of(before->micro),
		milli_of(asked->micro), 1, 1);
	bytes = change_of(has->memory_bytes, before->bytes, asked->bytes,
		LESS_BYTES * settings->overhead_ratio + ROUNDED_BYTES,
		ROUNDED_BYTES);
	add_amounts(requests, milli, bytes);
	set_disks(next);
	set_scalars(next);
}

/* ---- claims ---- */

static bool has_claim(const struct pod_volumes *volumes, const char *name)
{
	for (size_t i = 0; i < volumes->claim_count; i++) {
		if (strcmp(volumes->claims[i].name, name) == 0) {
			return true;
		}
	}
	return false;
}

static size_t count_lines(const char *text)
{
	size_t count = 0;

	for (; *text != '\0'; text++) {
		count += *text == '\n';
	}
	return count;
}

static void add_claims(struct next_pod *next, const char *hotplugged)
{
	struct pod_volumes *volumes = &next->pod.volumes;
	size_t count = volumes->claim_count;
	char *at;

	next->claim_names = xstrdup(hotplugged);
	next->claims = xcalloc(count + count_lines(hotplugged) + 1,
		sizeof(*next->claims));
	if (count > 0) {
		(void)memcpy(next->claims, volumes->claims,
			count * sizeof(*next->claims));
	}
	volumes->claims = next->claims;
	at = next->claim_names;
	for (char *end = strchr(at, '\n'); end != NULL;
		end = strchr(at, '\n')) {
		*end = '\0';
		if (!has_claim(volumes, at)) {
			next->claims[volumes->claim_count++] =
				(struct pod_claim){ .name = at };
		}
		at = end + 1;
	}
}

/* ---- the pod ---- */

static void set_constraints(struct next_pod *next, const struct pod *running)
{
	static char nowhere[1];
	const struct pod *from = next->parts->pod;
	struct pod *pod = &next->pod;

	*pod = *running;
	pod->node_name = nowhere;
	pod->nominated_node = nowhere;
	pod->is_target = false;
	pod->is_move = false;
	pod->affinity = from->affinity;
	pod->tolerations = from->tolerations;
	pod->has_required = from->has_required;
	pod->required = from->required;
	pod->preferred = from->preferred;
	pod->spread = from->spread;
}

bool next_pod_derive(struct next_pod *out, struct launcher_templates *templates,
	const struct next_pod_question *question, struct buffer *why)
{
	*out = (struct next_pod){ 0 };
	out->parts = launcher_templates_get(templates, question->settings,
		question->vm, why);
	if (out->parts == NULL) {
		return false;
	}
	set_constraints(out, question->running);
	set_selector(out, question);
	set_amounts(out, question->settings);
	if (question->vm->hotplugged != NULL) {
		add_claims(out, question->vm->hotplugged);
	}
	return true;
}

void next_pod_fini(struct next_pod *next)
{
	struct interner *interner = next->pod.interner;

	labels_fini(&next->selector, interner);
	launcher_template_drop(next->parts, interner);
	free(next->claims);
	free(next->claim_names);
	for (size_t i = 0;
		next->scalars != NULL && i < next->pod.requests.scalar_count;
		i++) {
		interner_drop(interner, next->scalars[i].resource);
	}
	free(next->scalars);
	*next = (struct next_pod){ 0 };
}
