#include "aggregator/query/history_query.h"

#include "kube/time.h"
#include "lib/memory.h"
#include "lib/options.h"
#include "proto/load.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

static const uint64_t second_us = 1000000;

/* Year 9999, the last that RFC 3339 writes. */
static const uint64_t time_max_us = 253402300799999999;

struct figure {
	const char *group, *name;
};

/* The figures with a value for each interval, by rollup_node_field. A node's
 * other figures are windows; a step of that length computes the same. */
static const struct figure node_figures[] = {
#define X(group, field, ...) { #group, #field },
	ROLLUP_NODE_FIELDS(X)
#undef X
};

static const struct figure vm_figures[ROLLUP_VM_FIELDS] = {
#define X(field, ...) { "", #field },
	ROLLUP_POD_FIELDS(X)
#undef X
};

static const char default_fields[] =
	"cpu.used_cores,cpu.pressure_some,cpu.contention,"
	"memory.available_bytes,memory.pressure_some,io.pressure_some";
static const char default_vm_fields[] =
	"used_cores,contention,memory_bytes,working_set_bytes";

int history_query_parse_time(uint64_t *us, const char *name, const char *text,
	struct error *err)
{
	int64_t wall_us;

	if (text == NULL || time_parse_seconds(us, text)) {
		return 0;
	}
	if (time_parse(&wall_us, text, NULL) == 0 && wall_us >= 0) {
		*us = (uint64_t)wall_us;
		return 0;
	}
	return error_set(err, -EINVAL,
		"%s: '%.40s' is neither unix seconds nor an RFC 3339 time",
		name, text);
}

/* True: the first len bytes are the figure's name, with or without group. */
static bool is_named(const struct figure *figure, const char *name, size_t len)
{
	size_t group = strlen(figure->group);

	if (strlen(figure->name) == len &&
		strncmp(figure->name, name, len) == 0) {
		return true;
	}
	return group > 0 && len == group + 1 + strlen(figure->name) &&
		strncmp(name, figure->group, group) == 0 &&
		name[group] == '.' &&
		strncmp(name + group + 1, figure->name, len - group - 1) == 0;
}

/* Finds a figure by name; *count: how many figures have that name. */
static size_t find_figure(size_t *count, bool is_vm, const char *name,
	size_t len)
{
	const struct figure *figures = is_vm ? vm_figures : node_figures;
	size_t all = is_vm ? count_of(vm_figures) : count_of(node_figures);
	size_t found = 0;

	*count = 0;
	for (size_t i = 0; i < all; i++) {
		if (is_named(&figures[i], name, len)) {
			found = i;
			*count += 1;
		}
	}
	return found;
}

/* By enum history_query_stat; each has four bytes or none. */
static const char *const suffixes[] = { "", "_max", "_p95" };

/* Removes the suffix, if any, from *len. */
static enum history_query_stat stat_of(size_t *len, const char *name)
{
	for (size_t i = 1; i < count_of(suffixes); i++) {
		if (*len > 4 && strncmp(name + *len - 4, suffixes[i], 4) == 0) {
			*len -= 4;
			return (enum history_query_stat)i;
		}
	}
	return HISTORY_QUERY_MEAN;
}

static void write_name(struct history_query_field *field, bool is_vm)
{
	const struct figure *figure = is_vm ? &vm_figures[field->figure]
					    : &node_figures[field->figure];

	(void)snprintf(field->name, sizeof(field->name), "%s%s%s%s",
		figure->group, is_vm ? "" : ".", figure->name,
		suffixes[field->stat]);
}

/* True: a field of /v1/nodes that has no history. */
static bool is_window(const char *name)
{
	const char *dot = strchr(name, '.');
	const char *bare = dot == NULL ? name : dot + 1;

	for (size_t i = 0; i < load_field_count; i++) {
		if (strcmp(load_fields[i].name, bare) == 0) {
			return true;
		}
	}
	return false;
}

static int refuse_field(const char *name, size_t count, bool is_vm,
	struct error *err)
{
	if (count > 1) {
		return error_set(err, -EINVAL,
			"field '%s' is in more than one group: "
			"use memory.%s, for instance",
			name, name);
	}
	if (!is_vm && is_window(name)) {
		return error_set(err, -EINVAL,
			"field '%s' has no history: query the figure that it "
			"is computed from, with its window as the step",
			name);
	}
	return error_set(err, -EINVAL, "no field '%.60s'", name);
}

static int add_field(struct history_query *query, const char *name,
	struct error *err)
{
	size_t len = strlen(name);
	struct history_query_field field = { .stat = stat_of(&len, name) };
	size_t count;

	field.figure = find_figure(&count, query->is_vm, name, len);
	if (count != 1) {
		return refuse_field(name, count, query->is_vm, err);
	}
	if (query->field_count == HISTORY_QUERY_FIELDS_MAX) {
		return error_set(err, -EINVAL, "more than %d fields",
			HISTORY_QUERY_FIELDS_MAX);
	}
	field.is_sum = query->is_vm && field.stat == HISTORY_QUERY_MEAN &&
		field.figure != ROLLUP_VM_contention;
	write_name(&field, query->is_vm);
	query->fields[query->field_count++] = field;
	return 0;
}

static int parse_fields(struct history_query *query, const char *text,
	struct error *err)
{
	if (text == NULL) {
		text = query->is_vm ? default_vm_fields : default_fields;
	}
	for (;;) {
		const char *comma = strchrnul(text, ',');
		scoped_free char *name = xstrndup(text, (size_t)(comma - text));
		int r = add_field(query, name, err);

		if (r < 0 || *comma == '\0') {
			return r;
		}
		text = comma + 1;
	}
}

static int parse_range(struct history_query *query,
	const struct history_query_params *params, uint64_t now_us,
	struct error *err)
{
	const uint64_t hour_us = 3600 * second_us;
	int r;

	query->to_us = now_us;
	r = history_query_parse_time(&query->to_us, "to", params->to, err);
	query->from_us = query->to_us > hour_us ? query->to_us - hour_us : 0;
	if (r == 0) {
		r = history_query_parse_time(&query->from_us, "from",
			params->from, err);
	}
	if (r == 0 && query->from_us >= query->to_us) {
		r = error_set(err, -EINVAL, "from is not before to");
	}
	return r;
}

/* Rounds up to a readable step: 1, 2, 5, 10, 15, 30 s or min ... */
static uint64_t round_step(uint64_t step_us)
{
	static const uint32_t seconds[] = { 1, 2, 5, 10, 15, 30, 60, 120, 300,
		600, 900, 1800, 3600, 7200, 21600, 43200 };
	const uint64_t day_us = 86400 * second_us;

	for (size_t i = 0; i < count_of(seconds); i++) {
		if (seconds[i] * second_us >= step_us) {
			return seconds[i] * second_us;
		}
	}
	return (step_us + day_us - 1) / day_us * day_us;
}

static int parse_step(struct history_query *query, const char *text,
	uint64_t interval_us, struct error *err)
{
	uint64_t least =
		(query->to_us - query->from_us) / HISTORY_QUERY_ROWS_DEFAULT;

	if (text == NULL) {
		query->step_us =
			round_step(least < interval_us ? interval_us : least);
		return 0;
	}
	if (!time_parse_seconds(&query->step_us, text) &&
		options_duration(&query->step_us, text, NULL) < 0) {
		return error_set(err, -EINVAL,
			"step: '%.40s' is not a duration such as 30s or 5m",
			text);
	}
	if (query->step_us < second_us || query->step_us > time_max_us) {
		return error_set(err, -EINVAL,
			"step is not between 1s and 2900000d");
	}
	return 0;
}

/* ---- which tier ---- */

uint64_t history_query_tier_us(enum store_tier tier)
{
	static const uint64_t seconds[STORE_TIERS] = { 0, 60, 3600 };

	return seconds[tier] * second_us;
}

static bool wants_percentile(const struct history_query *query)
{
	for (size_t i = 0; i < query->field_count; i++) {
		if (query->fields[i].stat == HISTORY_QUERY_P95) {
			return true;
		}
	}
	return false;
}

/* A query for the last seven days arrives a moment later. */
static const uint64_t late_us = 60 * UINT64_C(1000000);

static bool reaches(const struct history_query_context *context,
	enum store_tier tier, uint64_t from_us)
{
	uint64_t kept_us = context->retention_us[tier];

	return kept_us >= context->now_us ||
		from_us + late_us >= context->now_us - kept_us;
}

static void choose_tier(struct history_query *query,
	const struct history_query_context *context)
{
	enum store_tier tier = STORE_1H;
	uint64_t row_us;

	while (tier > STORE_RAW &&
		query->step_us % history_query_tier_us(tier) != 0) {
		tier--;
	}
	if (tier == STORE_RAW && wants_percentile(query)) {
		tier = STORE_1M;
	}
	while (tier < STORE_1H && !reaches(context, tier, query->from_us)) {
		tier++;
	}
	query->tier = tier;
	row_us = history_query_tier_us(tier);
	if (row_us > 0) {
		query->step_us =
			(query->step_us + row_us - 1) / row_us * row_us;
		query->from_us = query->from_us / row_us * row_us;
		query->to_us = (query->to_us + row_us - 1) / row_us * row_us;
	}
}

int history_query_parse(struct history_query *out,
	const struct history_query_params *params,
	const struct history_query_context *context, struct error *err)
{
	struct history_query query = { .is_vm = context->is_vm };
	int r = parse_range(&query, params, context->now_us, err);

	if (r == 0) {
		r = parse_step(&query, params->step, context->interval_us, err);
	}
	r = r == 0 ? parse_fields(&query, params->fields, err) : r;
	if (r < 0) {
		return r;
	}
	choose_tier(&query, context);
	if (history_query_row_count(&query) > HISTORY_QUERY_ROWS_MAX) {
		return error_set(err, -EINVAL,
			"the query has %zu rows, at most %d are allowed: use "
			"a longer step or a shorter range",
			history_query_row_count(&query),
			HISTORY_QUERY_ROWS_MAX);
	}
	*out = query;
	return 0;
}

size_t history_query_row_count(const struct history_query *query)
{
	uint64_t range_us = query->to_us - query->from_us;

	assert(query->step_us > 0);
	return (size_t)((range_us + query->step_us - 1) / query->step_us);
}
