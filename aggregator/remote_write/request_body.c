#include "aggregator/remote_write/request_body.h"

#include "aggregator/series/label_flags.h"
#include "aggregator/series/metric_names.h"
#include "aggregator/series/rates.h"
#include "lib/memory.h"

#include <snappy-c.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The largest possible report with the longest labels takes 90 MB. */
enum { RAW_MAX = 128 << 20 };

/* A VM has about 18 series, a node about 60. */
enum { VM_WEIGHT = 18, NODE_WEIGHT = 60 };

struct entry {
	char node[REPORT_NODE_MAX];
	uint64_t sample_ms;
	size_t number; /* in the order of adding */
	struct report report;
	struct node_load load; /* the figures that need one report only */
};

/* A VM in one entry. */
struct vm_entry {
	const struct vm_pod *vm;
	const struct entry *entry;
};

struct request_body {
	const struct request_labels *extra;
	struct entry *entries;
	size_t count, capacity;
	size_t weight; /* expected samples */
	struct vm_entry *vms;
	size_t vm_capacity;
	struct buffer raw;
	char *bytes;
	size_t len, samples, same_time;
	/* The labels of the current node or VM. */
	struct remote_label base[REMOTE_LABELS_MAX];
	size_t base_count;
	/* The current series, and the sample that gave it its labels. */
	struct remote_series series;
	struct metric_sample first;
	const struct metric *metric;
};

struct request_body *request_body_new(const struct request_labels *extra)
{
	struct request_body *body = xcalloc(1, sizeof(*body));

	body->extra = extra;
	body->raw = BUFFER_MAX(RAW_MAX);
	return body;
}

static void free_entries(struct request_body *body)
{
	for (size_t i = 0; i < body->count; i++) {
		report_fini(&body->entries[i].report);
		node_load_fini(&body->entries[i].load);
	}
	body->count = 0;
	free(take_ptr(body->entries));
	free(take_ptr(body->vms));
}

void request_body_free(struct request_body *body)
{
	if (body != NULL) {
		free_entries(body);
		buffer_fini(&body->raw);
		free(body->bytes);
		free(body);
	}
}

bool request_body_add(struct request_body *body, const char *node,
	uint64_t sample_ms, struct report *report)
{
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
	rates_fill_load(&entry->load, &entry->report, &rates_unknown);
	body->count++;
	body->weight += NODE_WEIGHT + VM_WEIGHT * entry->report.vm_count;
	return body->count < REQUEST_REPORTS_MAX &&
		body->weight < REQUEST_SAMPLES_WANTED;
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

/* Inserts a label in the order of names. */
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

static void add_base(struct request_body *body, const char *name,
	const char *value)
{
	/* A label without a value is the same as none. */
	if (value[0] != '\0' && label_flags_is_value(value)) {
		add_label(body->base, &body->base_count, name, value);
	}
}

static void begin_owner(struct request_body *body, const char *node)
{
	body->base_count = 0;
	add_base(body, "node", node);
}

/* ---- series ---- */

static void flush(struct request_body *body)
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

static void begin_series(struct request_body *body)
{
	struct remote_series *series = &body->series;
	const struct request_labels *extra = body->extra;

	memcpy(series->labels, body->base,
		body->base_count * sizeof(series->labels[0]));
	series->label_count = body->base_count;
	add_label(series->labels, &series->label_count, "__name__",
		body->metric->name);
	for (size_t i = 0; i < body->first.label_count; i++) {
		add_label(series->labels, &series->label_count,
			body->first.labels[i].key, body->first.labels[i].value);
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

static void put(struct request_body *body, const struct metric_sample *sample,
	uint64_t time_ms)
{
	struct remote_series *series = &body->series;

	if (series->sample_count == REMOTE_SAMPLES_MAX ||
		(series->sample_count > 0 && !is_alike(sample, &body->first))) {
		flush(body);
	}
	if (series->sample_count == 0) {
		body->first = *sample;
		begin_series(body);
	}
	series->samples[series->sample_count++] =
		(struct remote_sample){ sample->value, time_ms };
}

/* One metric of a node. */
static void put_node(struct request_body *body, const struct entry *entries,
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

static void pack_node(struct request_body *body, const struct entry *entries,
	size_t count)
{
	begin_owner(body, entries[0].node);
	for (size_t m = 0; metric_node_at(m) != NULL; m++) {
		body->metric = metric_node_at(m);
		put_node(body, entries, count);
	}
}

/* The figures of a VM that need one report only. */
static struct vm_load load_of(const struct vm_pod *vm)
{
	struct vm_load load;

	vm_load_init(&load);
	load.memory_bytes = rates_vm_memory_bytes(vm);
	return load;
}

/* One metric of a VM. */
static void put_vm(struct request_body *body, const struct vm_entry *vms,
	size_t count)
{
	struct metric_sample sample;

	for (size_t i = 0; i < count; i++) {
		const struct vm_load load = load_of(vms[i].vm);

		if (metric_vm_sample(&sample, body->metric, vms[i].vm, &load)) {
			put(body, &sample, vms[i].entry->sample_ms);
		}
	}
	flush(body);
}

static void pack_vm(struct request_body *body, const struct vm_entry *vms,
	size_t count, const struct store_names *names)
{
	const char *uid = vms[0].vm->pod_uid;
	struct store_name name;

	begin_owner(body, vms[0].entry->node);
	add_base(body, "pod_uid", uid);
	if (names != NULL &&
		store_names_find(&name, names, uid, vms[0].entry->node)) {
		add_base(body, "namespace", name.namespace);
		add_base(body, "name", name.name);
	}
	for (size_t m = 0; metric_vm_at(m) != NULL; m++) {
		body->metric = metric_vm_at(m);
		put_vm(body, vms, count);
	}
}

/* ---- all ---- */

static int by_pod(const void *a, const void *b)
{
	const struct vm_entry *x = a;
	const struct vm_entry *y = b;
	int order = strcmp(x->vm->pod_uid, y->vm->pod_uid);

	return order != 0 ? order
			  : (x->entry > y->entry) - (x->entry < y->entry);
}

/* All VMs of the entries, pod by pod. If a report has a pod twice, because its
 * cgroup was created again, the first is kept. */
static size_t gather_vms(struct request_body *body, const struct entry *entries,
	size_t count)
{
	size_t found = 0, kept = 0;

	for (size_t i = 0; i < count; i++) {
		for (size_t v = 0; v < entries[i].report.vm_count; v++) {
			body->vms = xgrow(body->vms, found, &body->vm_capacity,
				sizeof(*body->vms));
			body->vms[found++] =
				(struct vm_entry){ &entries[i].report.vms[v],
					&entries[i] };
		}
	}
	if (found > 0) {
		qsort(body->vms, found, sizeof(*body->vms), by_pod);
	}
	for (size_t i = 0; i < found; i++) {
		if (kept == 0 ||
			by_pod(&body->vms[kept - 1], &body->vms[i]) != 0) {
			body->vms[kept++] = body->vms[i];
		}
	}
	return kept;
}

static void pack_vms(struct request_body *body, size_t count,
	const struct store_names *names)
{
	size_t end;

	for (size_t at = 0; at < count; at = end) {
		const char *uid = body->vms[at].vm->pod_uid;

		for (end = at + 1; end < count &&
			strcmp(body->vms[end].vm->pod_uid, uid) == 0;
			end++) {
		}
		pack_vm(body, &body->vms[at], end - at, names);
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

/* A series has one value per time. If two reports share a millisecond, because
 * of network delays, only the later one is sent. */
static void drop_earlier(struct request_body *body)
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
			body->entries[kept++] = *entry;
		}
	}
	body->same_time = body->count - kept;
	body->count = kept;
}

static void compress(struct request_body *body)
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

void request_body_pack(struct request_body *body,
	const struct store_names *names)
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
		pack_vms(body, gather_vms(body, first, end - at), names);
	}
	compress(body);
	buffer_fini(&body->raw);
	free_entries(body);
}

const char *request_body_bytes(const struct request_body *body, size_t *len)
{
	*len = body->len;
	return body->bytes;
}

size_t request_body_samples(const struct request_body *body)
{
	return body->samples;
}

size_t request_body_same_time(const struct request_body *body)
{
	return body->same_time;
}
