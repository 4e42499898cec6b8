#include "aggregator/remote_write/request_body.h"

#include "aggregator/series/metric_names.h"
#include "aggregator/series/rates.h"
#include "lib/memory.h"
#include "lib/utf8.h"

#include <snappy-c.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The largest report there can be with the longest labels has 90 MB. */
enum { RAW_MAX = 128 << 20 };

/* A VM has some 18 series, its node some 60. */
enum { VM_WEIGHT = 18, NODE_WEIGHT = 60 };

struct entry {
	char node[REPORT_NODE_MAX];
	uint64_t sample_ms;
	size_t number; /* in the order of adding */
	struct report report;
	struct node_load load; /* what the report alone says */
};

/* A VM in one entry. */
struct sight {
	const struct vm_pod *vm;
	const struct entry *entry;
};

struct remote_body {
	const struct remote_extra *extra;
	struct entry *entries;
	size_t count, capacity;
	size_t weight; /* samples that are expected */
	struct sight *sights;
	size_t sight_capacity;
	struct buffer raw;
	char *bytes;
	size_t len, samples;
	/* Of whom series are being made. */
	struct remote_label base[REMOTE_LABELS_MAX];
	size_t base_count;
	/* The series that samples are added to, and whose labels it has. */
	struct remote_series series;
	struct metric_sample like;
	const struct metric *metric;
};

struct remote_body *remote_body_new(const struct remote_extra *extra)
{
	struct remote_body *body = xcalloc(1, sizeof(*body));

	body->extra = extra;
	body->raw = BUFFER_MAX(RAW_MAX);
	return body;
}

static void free_entries(struct remote_body *body)
{
	for (size_t i = 0; i < body->count; i++) {
		report_fini(&body->entries[i].report);
		node_load_fini(&body->entries[i].load);
	}
	body->count = 0;
	free(take_ptr(body->entries));
	free(take_ptr(body->sights));
}

void remote_body_free(struct remote_body *body)
{
	if (body != NULL) {
		free_entries(body);
		buffer_fini(&body->raw);
		free(body->bytes);
		free(body);
	}
}

bool remote_body_add(struct remote_body *body, const char *node,
	uint64_t sample_ms, struct report *report)
{
	static const struct node_rates no_rates = { NAN, NAN, NAN, NAN, NAN,
		NAN, NAN };
	struct entry *entry;

	body->entries = xgrow(body->entries, body->count, &body->capacity,
		sizeof(*body->entries));
	entry = &body->entries[body->count];
	(void)snprintf(entry->node, sizeof(entry->node), "%s", node);
	entry->sample_ms = sample_ms;
	entry->number = body->count;
	entry->report = *report;
	report_init(report);
	node_load_init(&entry->load);
	rates_fill_load(&entry->load, &entry->report, &no_rates);
	body->count++;
	body->weight += NODE_WEIGHT + VM_WEIGHT * entry->report.vm_count;
	return body->count < REMOTE_REPORTS_MAX &&
		body->weight < REMOTE_SAMPLES_WANTED;
}

/* ---- labels ---- */

static bool has_label(const struct remote_label *labels, size_t count,
	const char *name)
{
	for (size_t i = 0; i < count; i++) {
		if (strcmp(labels[i].name, name) == 0) {
			return true;
		}
	}
	return false;
}

/* In its place by name. */
static void add_label(struct remote_label *labels, size_t *count,
	const char *name, const char *value)
{
	size_t at = *count;

	for (; at > 0 && strcmp(labels[at - 1].name, name) > 0; at--) {
		labels[at] = labels[at - 1];
	}
	labels[at] = (struct remote_label){ name, value };
	*count += 1;
}

static bool is_text(const char *text)
{
	while (*text != '\0') {
		size_t len = utf8_length(text);

		if (len == 0) {
			return false;
		}
		text += len;
	}
	return true;
}

static void add_base(struct remote_body *body, const char *name,
	const char *value)
{
	/* One without a value is the same as none. */
	if (value[0] != '\0' && is_text(value)) {
		add_label(body->base, &body->base_count, name, value);
	}
}

static void begin_owner(struct remote_body *body, const char *node)
{
	body->base_count = 0;
	add_base(body, "node", node);
}

/* ---- series ---- */

static void flush(struct remote_body *body)
{
	struct remote_series *series = &body->series;

	if (series->sample_count > 0) {
		remote_write_add(&body->raw, series);
		body->samples += series->sample_count;
	}
	series->sample_count = 0;
}

static bool is_alike(const struct metric_sample *a,
	const struct metric_sample *b)
{
	if (a->label_count != b->label_count) {
		return false;
	}
	for (size_t i = 0; i < a->label_count; i++) {
		if (strcmp(a->labels[i].key, b->labels[i].key) != 0 ||
			strcmp(a->labels[i].value, b->labels[i].value) != 0) {
			return false;
		}
	}
	return true;
}

static void begin_series(struct remote_body *body)
{
	struct remote_series *series = &body->series;
	const struct remote_extra *extra = body->extra;

	memcpy(series->labels, body->base,
		body->base_count * sizeof(series->labels[0]));
	series->label_count = body->base_count;
	add_label(series->labels, &series->label_count, "__name__",
		body->metric->name);
	for (size_t i = 0; i < body->like.label_count; i++) {
		add_label(series->labels, &series->label_count,
			body->like.labels[i].key, body->like.labels[i].value);
	}
	for (size_t i = 0; i < extra->count; i++) {
		const struct remote_label *label = &extra->labels[i];

		if (!has_label(series->labels, series->label_count,
			    label->name)) {
			add_label(series->labels, &series->label_count,
				label->name, label->value);
		}
	}
}

static void put(struct remote_body *body, const struct metric_sample *sample,
	uint64_t time_ms)
{
	struct remote_series *series = &body->series;

	if (series->sample_count == REMOTE_SAMPLES_MAX ||
		(series->sample_count > 0 && !is_alike(sample, &body->like))) {
		flush(body);
	}
	if (series->sample_count == 0) {
		body->like = *sample;
		begin_series(body);
	}
	series->samples[series->sample_count] =
		(struct remote_sample){ sample->value, time_ms };
	series->sample_count++;
}

/* One metric of a node. */
static void put_node(struct remote_body *body, const struct entry *entries,
	size_t count)
{
	struct metric_sample sample;

	for (size_t i = 0; i < count; i++) {
		if (metric_node_sample(&sample, body->metric,
			    &entries[i].report, &entries[i].load)) {
			put(body, &sample, entries[i].sample_ms);
		}
	}
	flush(body);
}

static void pack_node(struct remote_body *body, const struct entry *entries,
	size_t count)
{
	begin_owner(body, entries[0].node);
	for (size_t m = 0; metric_node_at(m) != NULL; m++) {
		body->metric = metric_node_at(m);
		put_node(body, entries, count);
	}
}

/* What one report says of a VM. */
static struct vm_load load_of(const struct vm_pod *vm)
{
	struct vm_load load;

	vm_load_init(&load);
	load.memory_bytes = rates_held_bytes(vm);
	return load;
}

/* One metric of a VM. */
static void put_vm(struct remote_body *body, const struct sight *sights,
	size_t count)
{
	struct metric_sample sample;

	for (size_t i = 0; i < count; i++) {
		const struct vm_load load = load_of(sights[i].vm);

		if (metric_vm_sample(&sample, body->metric, sights[i].vm,
			    &load)) {
			put(body, &sample, sights[i].entry->sample_ms);
		}
	}
	flush(body);
}

static void pack_vm(struct remote_body *body, const struct sight *sights,
	size_t count, const struct store_names *names)
{
	const char *uid = sights[0].vm->pod_uid;
	struct store_name name;

	begin_owner(body, sights[0].entry->node);
	add_base(body, "pod_uid", uid);
	if (names != NULL && store_names_find(&name, names, uid)) {
		add_base(body, "namespace", name.namespace);
		add_base(body, "name", name.name);
	}
	for (size_t m = 0; metric_vm_at(m) != NULL; m++) {
		body->metric = metric_vm_at(m);
		put_vm(body, sights, count);
	}
}

/* ---- all ---- */

static int by_pod(const void *a, const void *b)
{
	const struct sight *x = a;
	const struct sight *y = b;
	int order = strcmp(x->vm->pod_uid, y->vm->pod_uid);

	if (order != 0) {
		return order;
	}
	return (x->entry > y->entry) - (x->entry < y->entry);
}

/* All VMs of the entries, pod by pod; of a pod that a report names twice, which
 * a group made anew may be, the first. */
static size_t find_sights(struct remote_body *body, const struct entry *entries,
	size_t count)
{
	size_t found = 0;
	size_t kept = 0;

	for (size_t i = 0; i < count; i++) {
		for (size_t v = 0; v < entries[i].report.vm_count; v++) {
			body->sights = xgrow(body->sights, found,
				&body->sight_capacity, sizeof(*body->sights));
			body->sights[found] =
				(struct sight){ &entries[i].report.vms[v],
					&entries[i] };
			found++;
		}
	}
	if (found > 0) {
		qsort(body->sights, found, sizeof(*body->sights), by_pod);
	}
	for (size_t i = 0; i < found; i++) {
		if (kept == 0 ||
			by_pod(&body->sights[kept - 1], &body->sights[i]) !=
				0) {
			body->sights[kept] = body->sights[i];
			kept++;
		}
	}
	return kept;
}

static void pack_vms(struct remote_body *body, size_t count,
	const struct store_names *names)
{
	size_t end;

	for (size_t at = 0; at < count; at = end) {
		const char *uid = body->sights[at].vm->pod_uid;

		for (end = at + 1; end < count &&
			strcmp(body->sights[end].vm->pod_uid, uid) == 0;
			end++) {
		}
		pack_vm(body, &body->sights[at], end - at, names);
	}
}

static int by_node(const void *a, const void *b)
{
	const struct entry *x = a;
	const struct entry *y = b;
	int order = strcmp(x->node, y->node);

	if (order != 0) {
		return order;
	}
	if (x->sample_ms != y->sample_ms) {
		return x->sample_ms < y->sample_ms ? -1 : 1;
	}
	return (x->number > y->number) - (x->number < y->number);
}

/* A series has one value at a time: of two reports of one millisecond, which
 * delays on the way can make of two that were apart, the later one is told. */
static void drop_earlier(struct remote_body *body)
{
	size_t kept = 0;

	for (size_t i = 0; i < body->count; i++) {
		struct entry *entry = &body->entries[i];

		if (i + 1 < body->count &&
			strcmp(entry->node, entry[1].node) == 0 &&
			entry->sample_ms == entry[1].sample_ms) {
			report_fini(&entry->report);
			node_load_fini(&entry->load);
		} else {
			body->entries[kept] = *entry;
			kept++;
		}
	}
	body->count = kept;
}

static void compress(struct remote_body *body)
{
	size_t len = snappy_max_compressed_length(body->raw.len);

	if (body->raw.overflowed || body->raw.len == 0) {
		return;
	}
	body->bytes = xcalloc(1, len);
	if (snappy_compress(body->raw.data, body->raw.len, body->bytes, &len) ==
		SNAPPY_OK) {
		body->len = len;
		body->bytes = xrealloc(body->bytes, len, 1);
	}
}

void remote_body_pack(struct remote_body *body, const struct store_names *names)
{
	size_t end;

	if (body->count > 0) {
		qsort(body->entries, body->count, sizeof(*body->entries),
			by_node);
	}
	drop_earlier(body);
	for (size_t at = 0; at < body->count; at = end) {
		struct entry *first = &body->entries[at];

		for (end = at + 1; end < body->count &&
			strcmp(body->entries[end].node, first->node) == 0;
			end++) {
		}
		pack_node(body, first, end - at);
		pack_vms(body, find_sights(body, first, end - at), names);
	}
	compress(body);
	buffer_fini(&body->raw);
	free_entries(body);
}

const char *remote_body_bytes(const struct remote_body *body, size_t *len)
{
	*len = body->len;
	return body->bytes;
}

size_t remote_body_samples(const struct remote_body *body)
{
	return body->samples;
}
