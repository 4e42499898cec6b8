#include "kubectl/load_rows.h"

#include "kube/json_value.h"
#include "kubectl/escape.h"
#include "kubectl/fields.h"
#include "kubectl/figures.h"
#include "kubectl/table.h"
#include "lib/buffer.h"
#include "lib/memory.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static void row_fini(struct load_row *row)
{
	free(row->namespace);
	free(row->name);
	free(row->node);
	free(row->target);
	free(row->state);
	free(row->hottest);
	free(row->text);
	free(row->kvm);
}

void load_rows_fini(struct load_rows *rows)
{
	for (size_t i = 0; i < rows->count; i++) {
		row_fini(&rows->rows[i]);
	}
	free(rows->rows);
	rows->rows = NULL;
	rows->count = rows->capacity = 0;
}

/* Below this share of time, waiting is noise. */
static const double least_wait = 0.01;

/* The resource that a VM waits for most. */
static const char *hottest_of_vm(const struct load_row *row)
{
	const char *name = "-";
	double most = least_wait;

	if (row->contention >= most) {
		name = "cpu";
		most = row->contention;
	}
	if (row->memory_pressure > most) {
		name = "memory";
		most = row->memory_pressure;
	}
	if (row->io_pressure > most) {
		name = "io";
	}
	return name;
}

/* The node of the pod that is not on the VM's node. */
static char *target_of(const struct json_value *object)
{
	const char *source = json_value_text_at(object, "spec/nodeName", "");
	const struct json_value *pod =
		json_value_first(json_value_at(object, "status/pods"));

	for (; pod != NULL; pod = json_value_next(pod)) {
		const char *node = json_value_text_at(pod, "nodeName", "");

		if (*node != '\0' && strcmp(node, source) != 0) {
			return escape_copy(node);
		}
	}
	return xstrdup("");
}

static void read_node(struct load_row *row, const struct json_value *object)
{
	double total = field_number(object, "status/memory/totalBytes");
	double free_bytes =
		field_number(object, "status/memory/availableBytes");

	row->hottest = field_text(object, "status/hottest", "-");
	row->heat = field_number(object, "status/heat");
	row->cores = field_number(object, "status/cpu/cores");
	row->used_cores = field_number(object, "status/cpu/usedCores");
	row->used_cores_5m = field_number(object, "status/cpu/usedCores5m");
	row->memory_bytes = total - free_bytes;
	row->memory_share = total > 0 ? (total - free_bytes) / total : NAN;
	row->contention = field_number(object, "status/cpu/contention");
	row->memory_pressure =
		field_number(object, "status/memory/pressureSome");
	row->io_pressure = field_number(object, "status/io/pressureSome");
	row->vms = field_number(object, "status/vmCount");
	row->reach = NAN;
	row->kvm = field_text(object, "status/kvm/state", "-");
}

static void read_vm(struct load_row *row, const struct json_value *object)
{
	row->used_cores = field_number(object, "status/usedCores");
	row->used_cores_5m = field_number(object, "status/usedCores5m");
	row->memory_bytes = field_number(object, "status/memoryBytes");
	row->contention = field_number(object, "status/contention");
	row->memory_pressure = field_number(object, "status/memoryPressure");
	row->io_pressure = field_number(object, "status/ioPressure");
	row->reach = field_number(object, "status/reachableNodes");
	row->heat = row->used_cores;
	row->cores = row->memory_share = row->vms = NAN;
	row->hottest = xstrdup(hottest_of_vm(row));
}

void load_rows_add(struct load_rows *rows, const struct json_value *object)
{
	struct load_row *row;

	rows->rows = xgrow(rows->rows, rows->count, &rows->capacity,
		sizeof(*rows->rows));
	row = &rows->rows[rows->count++];
	*row = (struct load_row){
		.namespace = field_text(object, "metadata/namespace", ""),
		.name = field_text(object, "metadata/name", ""),
		.node = field_text(object, "spec/nodeName", ""),
		.target = target_of(object),
		.state = field_text(object, "status/state", "-"),
		.text = output_item(rows->output, object),
		.age_s = field_number(object, "status/ageSeconds"),
	};
	if (rows->has_nodes) {
		read_node(row, object);
	} else {
		read_vm(row, object);
	}
}

/* Above 0: a comes later, because b is larger or a is unknown. */
static int later(double a, double b)
{
	if (isnan(a) || isnan(b)) {
		return (int)isnan(a) - (int)isnan(b);
	}
	return (a < b) - (a > b);
}

static int by_name(const void *left, const void *right)
{
	const struct load_row *a = left;
	const struct load_row *b = right;
	int order = strcmp(a->namespace, b->namespace);

	return order != 0 ? order : strcmp(a->name, b->name);
}

#define BY(member_)                                                            \
	static int by_##member_(const void *left, const void *right)           \
	{                                                                      \
		const struct load_row *a = left;                               \
		const struct load_row *b = right;                              \
		int order = later(a->member_, b->member_);                     \
                                                                               \
		return order != 0 ? order : by_name(left, right);              \
	}

BY(heat)
BY(used_cores)
BY(memory_share)
BY(memory_bytes)
BY(contention)
BY(io_pressure)

void load_rows_sort(struct load_rows *rows, enum load_sort by)
{
	int (*const orders[])(const void *, const void *) = {
		[SORT_HEAT] = by_heat,
		[SORT_CPU] = by_used_cores,
		[SORT_MEMORY] =
			rows->has_nodes ? by_memory_share : by_memory_bytes,
		[SORT_CONTENTION] = by_contention,
		[SORT_IO] = by_io_pressure,
		[SORT_NAME] = by_name,
	};

	if (rows->count > 1) {
		qsort(rows->rows, rows->count, sizeof(*rows->rows), orders[by]);
	}
}

static void cell(struct table *table, char *(*figure)(char *, double),
	double value)
{
	char text[FIGURE_MAX];

	table_cell(table, figure(text, value));
}

static void node_cells(struct table *table, const struct load_row *row,
	bool is_wide)
{
	table_cell(table, row->name);
	table_cell(table, row->hottest);
	cell(table, figure_share, row->heat);
	cell(table, figure_cores, row->used_cores);
	cell(table, figure_share, row->used_cores / row->cores);
	cell(table, figure_share, row->memory_share);
	cell(table, figure_share, row->contention);
	cell(table, figure_whole, row->vms);
	table_cell(table, row->state);
	cell(table, figure_age, row->age_s);
	if (is_wide) {
		cell(table, figure_whole, row->cores);
		cell(table, figure_bytes, row->memory_bytes);
		cell(table, figure_share, row->io_pressure);
		cell(table, figure_share, row->memory_pressure);
		table_cell(table, row->kvm);
	}
}

static void vm_cells(struct table *table, const struct load_row *row,
	bool is_wide, bool has_namespaces)
{
	if (has_namespaces) {
		table_cell(table, row->namespace);
	}
	table_cell(table, row->name);
	table_cell(table, row->node);
	table_cell(table, row->hottest);
	cell(table, figure_cores, row->used_cores);
	cell(table, figure_cores, row->used_cores_5m);
	cell(table, figure_bytes, row->memory_bytes);
	cell(table, figure_share, row->contention);
	table_cell(table, row->state);
	cell(table, figure_age, row->age_s);
	if (is_wide) {
		table_cell(table, row->target);
		cell(table, figure_share, row->memory_pressure);
		cell(table, figure_share, row->io_pressure);
		cell(table, figure_whole, row->reach);
	}
}

static void write_table(struct buffer *out, const struct load_rows *rows,
	bool has_namespaces, bool has_headers)
{
	static const char *const nodes[] = { "NAME", "HOTTEST", "HEAT",
		"CPU(cores)", "CPU(%)", "MEMORY(%)", "CONTENTION", "VMS",
		"STATE", "AGE", "CORES", "MEMORY(bytes)", "IO-PRESSURE",
		"MEMORY-PRESSURE", "KVM", NULL };
	static const char *const vms[] = { "NAMESPACE", "NAME", "NODE",
		"HOTTEST", "CPU(cores)", "CPU(5m)", "MEMORY(bytes)",
		"CONTENTION", "STATE", "AGE", "TARGET", "MEMORY-PRESSURE",
		"IO-PRESSURE", "REACH", NULL };
	enum { NODES_NARROW = 10, VMS_NARROW = 10 };
	bool is_wide = rows->output == OUTPUT_WIDE;
	const char *headers[count_of(nodes) + 1] = { 0 };
	struct table table;

	if (rows->has_nodes) {
		memcpy(headers, nodes, sizeof(nodes));
	} else {
		memcpy(headers, vms, sizeof(vms));
	}
	headers[rows->has_nodes && !is_wide ? NODES_NARROW
			: !is_wide	    ? VMS_NARROW
					    : count_of(nodes)] = NULL;
	table_init(&table,
		headers + (rows->has_nodes || has_namespaces ? 0 : 1));
	for (size_t i = 0; i < rows->count; i++) {
		if (rows->has_nodes) {
			node_cells(&table, &rows->rows[i], is_wide);
		} else {
			vm_cells(&table, &rows->rows[i], is_wide,
				has_namespaces);
		}
	}
	table_write(out, &table, has_headers);
	table_fini(&table);
}

static const char *text_of(const void *list, unsigned long i)
{
	return ((const struct load_rows *)list)->rows[i].text;
}

void load_rows_write(struct buffer *out, const struct load_rows *rows,
	bool has_namespaces, bool has_headers)
{
	if (output_is_table(rows->output)) {
		write_table(out, rows, has_namespaces, has_headers);
	} else {
		output_list(out, rows->output, rows, rows->count, text_of);
	}
}
