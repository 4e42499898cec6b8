#include "scheduler/launcher/next_pod.h"

#include "lib/memory.h"

#include <stdlib.h>
#include <string.h>

/* A requested memory that differs by less is that of the same VM under another
 * version of KubeVirt: it counts QEMU's overhead by itself, and network
 * bindings add what no VMI tells. */
#define LESS_BYTES ((double)(INT64_C(64) << 20))
#define MORE_BYTES ((double)(INT64_C(512) << 20))

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

/* False: the node names no model. */
static bool add_host(struct next_pod *next, const struct labels *source)
{
	const struct pod *pod = &next->pod;
	const struct label *label;
	bool has_model = false;
	size_t at = 0;

	while ((label = next_label(source, &at)) != NULL) {
		const char *key = text_of(pod, label->key);
		const char *value = text_of(pod, label->value);
		const char *model = after(key, model_prefix);
		const char *feature = after(key, required_prefix);

		if (model != NULL) {
			put(next, migration_prefix, model, value);
			has_model = true;
		} else if (feature != NULL) {
			put(next, feature_prefix, feature, value);
		}
	}
	return has_model;
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

/* createTargetPod() of KubeVirt. Where a node names no model, it creates a pod
 * that requires none. */
static bool add_source(struct next_pod *next, const struct next_pod_question *q,
	struct buffer *why)
{
	if (next->parts->is_host_model && !keep_first_host(next, q->running) &&
		!add_host(next, q->source)) {
		buffer_text(why,
			"its node has no label that names the host's CPU model "
			"(host-model-cpu.node.kubevirt.io)");
		return false;
	}
	if (launcher_settings_is_from(q->settings, 1, 8)) {
		add_vendor(next, q->source);
	}
	return true;
}

static bool set_selector(struct next_pod *next,
	const struct next_pod_question *q, struct buffer *why)
{
	size_t room = q->source == NULL
		? 0
		: q->source->count + q->running->node_selector.count;

	next->selector = labels_copy(&next->parts->pod->node_selector,
		q->running->interner, room);
	if (q->source != NULL && !add_source(next, q, why)) {
		return false;
	}
	next->pod.node_selector = next->selector;
	return true;
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

static void change_pages(struct next_pod *next)
{
	struct resources *requests = &next->pod.requests;
	const struct launcher_template *parts = next->parts;
	int64_t change = parts->asked.page_bytes - parts->before.page_bytes;

	if (parts->pages == NULL || change == 0 ||
		requests->scalar_count == 0) {
		return;
	}
	next->scalars = xmemdup(requests->scalars,
		requests->scalar_count * sizeof(*requests->scalars));
	requests->scalars = next->scalars;
	for (size_t i = 0; i < requests->scalar_count; i++) {
		struct amount *amount = &next->scalars[i];

		if (strcmp(text_of(&next->pod, amount->resource),
			    parts->pages) == 0 &&
			amount->value == parts->before.page_bytes) {
			amount->value += change;
		}
	}
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
		LESS_BYTES * settings->overhead_ratio, MORE_BYTES);
	requests->cpu_milli += milli;
	requests->nonzero_milli += milli;
	requests->memory_bytes += bytes;
	requests->nonzero_bytes += bytes;
	change_pages(next);
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
	if (!set_selector(out, question, why)) {
		next_pod_fini(out);
		return false;
	}
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
	free(next->scalars);
	*next = (struct next_pod){ 0 };
}
