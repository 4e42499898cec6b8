#include "aggregator/http/body.h"

#include "aggregator/http/sources_text.h"
#include "aggregator/query/profile_builder.h"
#include "lib/decimal.h"
#include "lib/memory.h"

#include <stdlib.h>
#include <string.h>

enum {
	CELL_MAX = DECIMAL_MAX + 1, /* with a comma or bracket */
};

/* The size of a part of a history, which takes half a millisecond to write. */
enum { PART_BYTES = 128 << 10 };

/* Ends the open group, if any, and begins the next. */
static void change_group(struct json *j, const char *from, const char *to)
{
	if (from != NULL) {
		json_object_end(j);
	}
	json_object(j, to);
}

/* The figures of all groups; load_fields lists each group contiguously. */
static void write_figures(struct json *j, struct node_load *load)
{
	const char *group = NULL;

	for (size_t i = 0; i < load_field_count; i++) {
		const struct load_field *field = &load_fields[i];

		if (group == NULL || strcmp(group, field->group) != 0) {
			change_group(j, group, field->group);
			group = field->group;
		}
		json_number(j, field->name, *load_field_of(load, field));
	}
	json_object_end(j);
}

static void write_pages(struct json *j, const char *key, uint64_t pages)
{
	if (pages != REPORT_UNKNOWN) {
		json_unsigned(j, key, pages);
	}
}

static void write_hugepages(struct json *j, const struct node_load *load)
{
	json_array(j, "hugepages");
	for (size_t i = 0; i < load->hugepages_count; i++) {
		const struct hugepages *pages = &load->hugepages[i];

		json_object(j, NULL);
		json_unsigned(j, "size_bytes", pages->size_bytes);
		write_pages(j, "total", pages->total);
		write_pages(j, "free", pages->free);
		write_pages(j, "reserved", pages->reserved);
		json_object_end(j);
	}
	json_array_end(j);
}

static void write_known(struct json *j, const char *key, const char *text)
{
	if (text != NULL) {
		json_string(j, key, text);
	}
}

void body_write_vm_figures(struct json *j, const struct vm_load *vm)
{
#define X(field, ...) json_number(j, #field, vm->field);
	VM_LOAD_FIELDS(X)
#undef X
}

static void write_vms(struct json *j, const struct node_load *load)
{
	json_array(j, "vms");
	for (size_t i = 0; i < load->vm_count; i++) {
		const struct vm_load *vm = &load->vms[i];

		json_object(j, NULL);
		json_string(j, "pod_uid", vm->pod_uid);
		write_known(j, "namespace", vm->namespace);
		write_known(j, "name", vm->name);
		body_write_vm_figures(j, vm);
		json_object_end(j);
	}
	json_array_end(j);
}

void body_write_node(struct json *j, const struct live_node *node,
	uint64_t now_us)
{
	struct node_load load;

	live_node_load(&load, node, now_us);
	json_object(j, NULL);
	json_string(j, "name", load.name);
	json_number(j, "age_s", (double)load.age_us / 1e6);
	json_string(j, "state",
		load_state_name(load_state(load.age_us, load.interval_ms)));
	write_figures(j, &load);
	write_hugepages(j, &load);
	json_object(j, "kvm");
	json_string(j, "state", kvm_state_name(load.kvm_state));
	if (load.kvm_detail[0] != '\0') {
		json_string(j, "detail", load.kvm_detail);
	}
	json_object_end(j);
	write_vms(j, &load);
	json_object_end(j);
	node_load_fini(&load);
}

void body_write_profile(struct json *j, const char *key,
	const struct profile_request *vm, const struct vm_profile *profile)
{
	json_object(j, key);
	json_string(j, "namespace", vm->namespace);
	json_string(j, "name", vm->name);
	json_unsigned(j, "days", PROFILE_BUILDER_DAYS);
#define X(field) json_number(j, #field, profile->field);
	PROFILE_FIELDS(X)
#undef X
	json_array(j, "mean_cores_by_hour");
	for (size_t i = 0; i < PROFILE_HOURS; i++) {
		json_number_or_null(j, NULL, profile->mean_cores_by_hour[i]);
	}
	json_array_end(j);
	json_object_end(j);
}

void body_write_fields(struct json *j, const struct history_query *query)
{
	json_array(j, "fields");
	for (size_t i = 0; i < query->field_count; i++) {
		json_string(j, NULL, query->fields[i].name);
	}
	json_array_end(j);
}

static void write_history_head(struct buffer *out, struct history_text *text)
{
	const struct history_query *query = history_query(text->history);
	struct json *j = &text->json;

	*j = json_into(out);
	if (text->begin != NULL) {
		text->begin(j, text);
		json_array(j, "rows");
		return;
	}
	json_object(j, NULL);
	if (text->namespace == NULL) {
		json_string(j, "node", text->name);
	} else {
		json_string(j, "namespace", text->namespace);
		json_string(j, "name", text->name);
	}
	json_seconds(j, "step_s", query->step_us);
	json_seconds(j, "from", query->from_us);
	json_seconds(j, "to", query->to_us);
	sources_write(j, &text->sources);
	body_write_fields(j, query);
	json_array(j, "rows");
}

static void write_csv_head(struct buffer *out,
	const struct history_query *query)
{
	buffer_text(out, "time");
	for (size_t i = 0; i < query->field_count; i++) {
		buffer_printf(out, ",%s", query->fields[i].name);
	}
	buffer_char(out, '\n');
}

/* Writes up to DECIMAL_MAX bytes; returns the length of the text. */
static size_t put_figure(char *out, struct history_cell *cell,
	const struct decimal *figure)
{
	if (figure->value < cell->value || figure->value > cell->value) {
		cell->value = figure->value;
		cell->len = 0;
		return decimal_put(out, figure);
	}
	if (cell->len == 0) {
		cell->len = decimal_put(cell->text, figure);
	}
	memcpy(out, cell->text, sizeof(cell->text));
	return cell->len;
}

/* Directly into the buffer, because a response has thousands of rows. */
static void write_row(struct buffer *out, struct history_text *text)
{
	const struct history_query *query = history_query(text->history);
	static const char gap[] = { 'n', 'u', 'l', 'l' };
	const bool as_csv = text->as_csv;
	char *begin = buffer_room(out,
		DECIMAL_MAX + (query->field_count + 1) * CELL_MAX);
	struct decimal figures[HISTORY_QUERY_FIELDS_MAX];
	double values[HISTORY_QUERY_FIELDS_MAX];
	char *at = begin;

	if (begin == NULL) {
		return;
	}
	if (!as_csv && text->row > 0) {
		*at++ = ',';
	}
	if (!as_csv) {
		*at++ = '[';
	}
	at += decimal_seconds(at, query->from_us + text->row * query->step_us);
	history_row(values, text->history, text->row);
	decimal_round(figures, values, query->field_count);
	for (size_t i = 0; i < query->field_count; i++) {
		*at++ = ',';
		if (isfinite(values[i])) {
			at += put_figure(at, &text->cells[i], &figures[i]);
		} else if (!as_csv) {
			memcpy(at, gap, sizeof(gap));
			at += sizeof(gap);
		}
	}
	*at++ = as_csv ? '\n' : ']';
	buffer_extend(out, (size_t)(at - begin));
}

static void begin_history(struct buffer *out, struct history_text *text)
{
	if (text->as_csv) {
		write_csv_head(out, history_query(text->history));
	} else {
		write_history_head(out, text);
	}
	text->is_begun = true;
}

bool body_write_history(struct buffer *out, struct history_text *text)
{
	size_t rows = history_query_row_count(history_query(text->history));
	size_t end = out->len + PART_BYTES;

	if (!text->is_begun) {
		begin_history(out, text);
	}
	text->json.out = out;
	for (; text->row < rows && out->len < end; text->row++) {
		write_row(out, text);
	}
	if (text->row < rows) {
		return true;
	}
	if (!text->as_csv) {
		json_array_end(&text->json);
		json_object_end(&text->json);
		buffer_char(out, '\n');
	}
	return false;
}
