#include "aggregator/apiserver/api_types.h"

#include "aggregator/apiserver/cells.h"
#include "aggregator/apiserver/load_objects.h"
#include "aggregator/apiserver/question_model.h"
#include "aggregator/apiserver/record_objects.h"
#include "aggregator/apiserver/status_object.h"
#include "lib/clock.h"
#include "lib/memory.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static const char text_type[] = "string";

static const struct api_column node_columns[] = {
	{ "State", text_type, "Fresh, Stale or Lost", 0 },
	{ "CPU", text_type, "CPUs in use of all CPUs, mean of 10 s", 0 },
	{ "CPU%", text_type, "The same as a share", 0 },
	{ "Memory%", text_type, "Memory in use", 0 },
	{ "Contention", text_type, "Share of time VMs waited for CPU", 0 },
	{ "Hottest", text_type, "The resource with the largest share", 0 },
	{ "VMs", "integer", "VM pods on the node", 0 },
	{ "Age", text_type, "Age of the figures", 0 },
	{ "IO Pressure", text_type, "Share of time waiting for I/O", 1 },
	{ "Memory Pressure", text_type, "Share of time waiting for memory", 1 },
	{ "KVM", text_type, "Whether VMs can run", 1 },
};

static const struct api_column vm_columns[] = {
	{ "Node", text_type, "Node of the VM", 0 },
	{ "CPU", text_type, "CPUs in use", 0 },
	{ "CPU 5m", text_type, "CPUs in use, mean of 5 min", 0 },
	{ "Memory", text_type, "Memory of the VM", 0 },
	{ "Contention", text_type, "Share of time it waited for CPU", 0 },
	{ "State", text_type, "Fresh, Stale or Lost", 0 },
	{ "Age", text_type, "Age of the figures", 0 },
	{ "Target", text_type, "The node that it moves to", 1 },
	{ "Memory Pressure", text_type, "Share of time waiting for memory", 1 },
	{ "IO Pressure", text_type, "Share of time waiting for I/O", 1 },
	{ "Reach", text_type, "Other nodes that could take it if empty", 1 },
};

static const struct api_column decision_columns[] = {
	{ "VM", text_type, "The pod's VM", 0 },
	{ "Chosen", text_type, "The chosen node", 0 },
	{ "Margin", text_type, "Points ahead of the next best node", 0 },
	{ "Decided By", text_type, "The term that counts most", 0 },
	{ "Age", text_type, "Age of the decision", 0 },
	{ "Pod", text_type, "The pod", 1 },
	{ "Sentence", text_type, "The decision in words", 1 },
};

static const struct api_column move_columns[] = {
	{ "VM", text_type, "The VM", 0 },
	{ "Source", text_type, "The node that it leaves", 0 },
	{ "Target", text_type, "The node that it goes to", 0 },
	{ "Reason", text_type, "What is short at the source", 0 },
	{ "State", text_type, "What came of it", 0 },
	{ "Age", text_type, "Age of the recommendation", 0 },
	{ "Sentence", text_type, "Why, in words", 1 },
};

static const struct api_column status_columns[] = {
	{ "Version", text_type, "Version of the aggregator", 0 },
	{ "Store", text_type, "Opening, Storing or Degraded", 0 },
	{ "Agents", text_type, "Fresh nodes of all nodes", 0 },
	{ "Reason", text_type, "Why reports are not being stored", 1 },
};

static const struct api_type types[API_KINDS] = {
	[API_NODE_LOADS] = { "NodeLoad", "nodeload", "nl",
		"NodeLoad is the load of a node now.", &node_model,
		node_columns, count_of(node_columns), cells_of_node },
	[API_VM_LOADS] = { "VmLoad", "vmload", "vl",
		"VmLoad is the load of a VM now. It has the name of the VM.",
		&vm_model, vm_columns, count_of(vm_columns), cells_of_vm },
	[API_DECISIONS] = { "Decision", "decision", NULL,
		"Decision says where the scheduler placed a pod of a VM, and "
		"why.",
		&decision_model, decision_columns, count_of(decision_columns),
		cells_of_decision },
	[API_MOVES] = { "Move", "move", NULL,
		"Move is a live migration that the scheduler recommended or "
		"ordered.",
		&move_model, move_columns, count_of(move_columns),
		cells_of_move },
	[API_STATUS] = { "PlimsollStatus", "status", NULL,
		"PlimsollStatus says how the aggregator is. There is one "
		"object: plimsoll.",
		&status_model, status_columns, count_of(status_columns),
		cells_of_status },
	[API_PLACEMENTS] = { .kind = "Placement",
		.singular = "placement",
		.help = "Placement asks the leading scheduler where a VM or "
			"pod would go. Nothing is kept of it.",
		.model = &placement_model },
	[API_PLANS] = { .kind = "Plan",
		.singular = "plan",
		.help = "Plan asks the leading scheduler which moves reach a "
			"goal. Nothing is kept of it.",
		.model = &plan_model },
};

const struct api_type *api_type_of(enum api_kind kind)
{
	return &types[kind];
}

bool api_parse_include(enum api_include *out, const char *text)
{
	static const char *const words[] = { "Metadata", "None", "Object" };

	if (text == NULL || *text == '\0') {
		*out = API_INCLUDE_METADATA;
		return true;
	}
	for (size_t i = 0; i < count_of(words); i++) {
		if (strcmp(text, words[i]) == 0) {
			*out = (enum api_include)i;
			return true;
		}
	}
	return false;
}

/* ---- objects ---- */

static void write_head(struct json *j, const char *kind, const char *version)
{
	json_string(j, "kind", kind);
	json_string(j, "apiVersion", version);
}

static void write_labels(struct json *j, const struct label_set *labels)
{
	const char *key, *value;
	size_t at = 0;

	if (labels == NULL) {
		return;
	}
	json_object(j, "labels");
	while (label_set_next(labels, &at, &key, &value)) {
		json_string(j, key, value);
	}
	json_object_end(j);
}

static void write_revision(struct json *j, uint64_t revision)
{
	char text[24];

	if (revision > 0) {
		(void)snprintf(text, sizeof(text), "%" PRIu64, revision);
		json_string(j, "resourceVersion", text);
	}
}

static void write_created(struct json *j, uint64_t us)
{
	char text[CLOCK_TEXT_MAX];

	if (us > 0) {
		/* metav1.Time has no fraction. */
		(void)clock_text(text, us - us % 1000000);
		text[sizeof("2026-01-02T03:04:05") - 1] = 'Z';
		text[sizeof("2026-01-02T03:04:05")] = '\0';
		json_string(j, "creationTimestamp", text);
	}
}

static void write_metadata(struct json *j, const struct api_item *item)
{
	json_object(j, "metadata");
	json_string(j, "name", item->name);
	if (item->namespace[0] != '\0') {
		json_string(j, "namespace", item->namespace);
	}
	write_revision(j, item->revision);
	write_created(j, item->created_us);
	write_labels(j, item->labels);
	json_object_end(j);
}

static void write_object(struct json *j, const char *key,
	const struct api_item *item)
{
	const struct api_type *type = api_type_of(item->kind);

	json_object(j, key);
	write_head(j, type->kind, API_GROUP_VERSION);
	write_metadata(j, item);
	api_model_write(j, type->model, item->object);
	json_object_end(j);
}

static void write_partial(struct json *j, const char *key,
	const struct api_item *item)
{
	json_object(j, key);
	write_head(j, "PartialObjectMetadata", "meta.k8s.io/v1");
	write_metadata(j, item);
	json_object_end(j);
}

static void write_row(struct json *j, enum api_include include,
	const struct api_item *item)
{
	json_object(j, NULL);
	json_array(j, "cells");
	json_string(j, NULL, item->name);
	api_type_of(item->kind)->cells(j, item->object);
	json_array_end(j);
	if (include == API_INCLUDE_OBJECT) {
		write_object(j, "object", item);
	} else if (include == API_INCLUDE_METADATA) {
		write_partial(j, "object", item);
	}
	json_object_end(j);
}

/* ---- lists ---- */

static void write_column(struct json *j, const struct api_column *column,
	const char *format)
{
	json_object(j, NULL);
	json_string(j, "name", column->name);
	json_string(j, "type", column->type);
	json_string(j, "format", format);
	json_string(j, "description", column->help);
	json_integer(j, "priority", column->priority);
	json_object_end(j);
}

static void write_columns(struct json *j, const struct api_type *type)
{
	const struct api_column name = { "Name", text_type,
		"Name of the object", 0 };

	json_array(j, "columnDefinitions");
	write_column(j, &name, "name");
	for (size_t i = 0; i < type->column_count; i++) {
		write_column(j, &type->columns[i], "");
	}
	json_array_end(j);
}

void api_begin_list(struct json *j, enum accept_form form, enum api_kind kind)
{
	const struct api_type *type = api_type_of(kind);
	char name[API_MODEL_NAME_MAX];

	json_object(j, NULL);
	if (form == ACCEPT_TABLE) {
		write_head(j, "Table", "meta.k8s.io/v1");
		write_columns(j, type);
		json_array(j, "rows");
	} else if (form == ACCEPT_METADATA_LIST) {
		write_head(j, "PartialObjectMetadataList", "meta.k8s.io/v1");
		json_array(j, "items");
	} else {
		(void)snprintf(name, sizeof(name), "%sList", type->kind);
		write_head(j, name, API_GROUP_VERSION);
		json_array(j, "items");
	}
}

void api_write_item(struct json *j, enum accept_form form,
	enum api_include include, const struct api_item *item)
{
	if (form == ACCEPT_TABLE) {
		write_row(j, include, item);
	} else if (form == ACCEPT_METADATA_LIST || form == ACCEPT_METADATA) {
		write_partial(j, NULL, item);
	} else {
		write_object(j, NULL, item);
	}
}

void api_end_list(struct json *j, const struct api_list_end *end)
{
	json_array_end(j);
	json_object(j, "metadata");
	write_revision(j, end->revision);
	if (end->next != NULL) {
		json_string(j, "continue", end->next);
	}
	if (end->next != NULL && end->remaining != REPORT_UNKNOWN) {
		json_unsigned(j, "remainingItemCount", end->remaining);
	}
	json_object_end(j);
	json_object_end(j);
	buffer_char(j->out, '\n');
}

void api_write_one(struct json *j, enum accept_form form,
	enum api_include include, const struct api_item *item)
{
	const struct api_list_end end = { item->revision, NULL, 0 };

	if (form == ACCEPT_TABLE) {
		api_begin_list(j, form, item->kind);
		api_write_item(j, form, include, item);
		api_end_list(j, &end);
	} else {
		api_write_item(j, form, include, item);
		buffer_char(j->out, '\n');
	}
}
