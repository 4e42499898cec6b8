#include "aggregator/vms.h"

#include "aggregator/api_body.h"
#include "aggregator/identity.h"
#include "lib/memory.h"

#include <stdlib.h>
#include <string.h>

static void add_row(struct vm_rows *out, size_t *capacity,
	const struct live_node *node, size_t index,
	const struct identity *identity)
{
	struct vm_row row = { .index = index,
		.node = xstrdup(live_node_name(node)) };

	memcpy(row.pod_uid, live_node_report(node)->vms[index].pod_uid,
		sizeof(row.pod_uid));
	if (identity != NULL) {
		row.namespace = xstrdup(identity->namespace);
		row.name = xstrdup(identity->name);
		row.vmi_uid = xstrdup(identity->vmi_uid);
	}
	out->rows = xgrow(out->rows, out->count, capacity, sizeof(row));
	out->rows[out->count] = row;
	out->count++;
}

static int compare(const char *a, const char *b)
{
	return strcmp(a == NULL ? "" : a, b == NULL ? "" : b);
}

static int by_name(const void *a, const void *b)
{
	const struct vm_row *x = a;
	const struct vm_row *y = b;
	int order = compare(x->namespace, y->namespace);

	order = order != 0 ? order : compare(x->name, y->name);
	order = order != 0 ? order : strcmp(x->pod_uid, y->pod_uid);
	return order != 0 ? order : strcmp(x->node, y->node);
}

struct wanted {
	const char *namespace, *name; /* both NULL: all */
};

static bool is_wanted(const struct wanted *wanted,
	const struct identity *identity)
{
	return wanted->name == NULL ||
		(identity != NULL &&
			strcmp(identity->name, wanted->name) == 0 &&
			strcmp(identity->namespace, wanted->namespace) == 0);
}

static void add_rows(struct vm_rows *out, size_t *capacity,
	const struct live_node *node, const struct identities *identities,
	const struct wanted *wanted)
{
	const struct report *report = live_node_report(node);

	for (size_t i = 0; i < report->vm_count; i++) {
		const struct identity *identity =
			identities_find(identities, report->vms[i].pod_uid);

		if (is_wanted(wanted, identity)) {
			add_row(out, capacity, node, i, identity);
		}
	}
}

static void list(struct vm_rows *out, const struct live *live,
	const struct identities *identities, const struct wanted *wanted)
{
	size_t capacity = 0;

	*out = (struct vm_rows){ 0 };
	for (const struct live_node *node = live_after(live, 0); node != NULL;
		node = live_next(node)) {
		add_rows(out, &capacity, node, identities, wanted);
	}
	if (out->count > 0) {
		qsort(out->rows, out->count, sizeof(*out->rows), by_name);
	}
}

void vm_rows_list(struct vm_rows *out, const struct live *live,
	const struct identities *identities)
{
	list(out, live, identities, &(struct wanted){ NULL, NULL });
}

void vm_rows_find(struct vm_rows *out, const struct live *live,
	const struct identities *identities, const char *namespace,
	const char *name)
{
	list(out, live, identities, &(struct wanted){ namespace, name });
}

void vm_rows_fini(struct vm_rows *rows)
{
	for (size_t i = 0; i < rows->count; i++) {
		free(rows->rows[i].node);
		free(rows->rows[i].namespace);
		free(rows->rows[i].name);
		free(rows->rows[i].vmi_uid);
	}
	free(rows->rows);
	*rows = (struct vm_rows){ 0 };
}

/* Pods keep their place, mostly. Returns the count if it is gone. */
static size_t find_pod(const struct report *report, const struct vm_row *row)
{
	for (size_t i = 0; i < report->vm_count; i++) {
		size_t at = (row->index + i) % report->vm_count;

		if (strcmp(report->vms[at].pod_uid, row->pod_uid) == 0) {
			return at;
		}
	}
	return report->vm_count;
}

static void write_known(struct json *j, const char *key, const char *text)
{
	if (text != NULL && text[0] != '\0') {
		json_string(j, key, text);
	}
}

void vm_row_write(struct json *j, const struct vm_row *row,
	const struct live *live, uint64_t now_us)
{
	const struct live_node *node = live_find(live, row->node);
	uint64_t age_us;
	struct vm_load load;
	size_t at;

	if (node == NULL) {
		return;
	}
	at = find_pod(live_node_report(node), row);
	if (at == live_node_vms(node)) {
		return;
	}
	live_node_vm(&load, node, at);
	age_us = live_node_age_us(node, now_us);
	json_object(j, NULL);
	write_known(j, "namespace", row->namespace);
	write_known(j, "name", row->name);
	write_known(j, "vmi_uid", row->vmi_uid);
	json_string(j, "pod_uid", row->pod_uid);
	json_string(j, "node", row->node);
	json_number(j, "age_s", (double)age_us / 1e6);
	json_string(j, "state",
		load_state_name(
			load_state(age_us, live_node_interval_ms(node))));
	body_write_vm_figures(j, &load);
	json_object_end(j);
}
