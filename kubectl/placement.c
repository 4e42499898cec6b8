#include "kubectl/placement.h"

#include "kube/json_value.h"
#include "kubectl/api_client.h"
#include "kubectl/escape.h"
#include "kubectl/fields.h"
#include "kubectl/figures.h"
#include "kubectl/object_text.h"
#include "kubectl/table.h"
#include "lib/buffer.h"
#include "lib/memory.h"

#include <errno.h>
#include <math.h>
#include <string.h>

enum { BODY_MAX = 4 << 20, CELL_MAX = 4 << 10, MANY = 1000000 };

static int ask(struct json_value **out, struct api_client *client,
	const char *spec, struct error *err)
{
	scoped_buffer struct buffer body = BUFFER_MAX(BODY_MAX);
	scoped_free char *path = xasprintf("%s/namespaces/%s/placements",
		LOAD_API, api_client_namespace(client));

	buffer_printf(&body,
		"{\"apiVersion\":\"load.plimsoll.io/v1alpha1\","
		"\"kind\":\"Placement\",\"metadata\":{\"namespace\":\"%s\"},"
		"\"spec\":%s}",
		api_client_namespace(client), spec);
	if (body.overflowed) {
		return error_set(err, -E2BIG, "the object is too large");
	}
	return api_client_post(out, client, path, body.data, err);
}

int placement_ask_name(struct json_value **out, struct api_client *client,
	const char *key, const char *name, struct error *err)
{
	scoped_free char *spec = xasprintf("{\"%s\":\"%s\"}", key, name);

	return ask(out, client, spec, err);
}

int placement_ask_object(struct json_value **out, struct api_client *client,
	const struct json_value *object, struct error *err)
{
	scoped_buffer struct buffer spec = BUFFER_MAX(BODY_MAX);

	buffer_text(&spec, "{\"object\":");
	object_text_json(&spec, object, 0);
	buffer_char(&spec, '}');
	if (spec.overflowed) {
		return error_set(err, -E2BIG, "the object is too large");
	}
	return ask(out, client, spec.data, err);
}

void placement_put_reasons(struct buffer *out, const struct json_value *node)
{
	const struct json_value *at =
		json_value_first(json_value_get(node, "reasons"));

	for (const char *before = ""; at != NULL;
		at = json_value_next(at), before = "; ") {
		scoped_free char *reason = escape_copy(json_value_text(at));

		buffer_printf(out, "%s%s", before, reason);
	}
}

/* "cpu=12 memory=-3" */
static void put_terms(struct buffer *out, const struct json_value *node)
{
	const struct json_value *at =
		json_value_first(json_value_get(node, "terms"));

	for (const char *before = ""; at != NULL;
		at = json_value_next(at), before = " ") {
		scoped_free char *name = escape_copy(json_value_key(at));
		double points = NAN;
		char figure[FIGURE_MAX];

		(void)json_value_number(&points, at);
		buffer_printf(out, "%s%s=%s", before, name,
			figure_whole(figure, points));
	}
}

static void put_row(struct table *table, const struct json_value *node,
	bool is_wide)
{
	scoped_buffer struct buffer reasons = BUFFER_MAX(CELL_MAX);
	scoped_buffer struct buffer terms = BUFFER_MAX(CELL_MAX);
	char figure[FIGURE_MAX];

	table_cell(table, json_value_text_at(node, "name", "-"));
	table_cell(table,
		field_true(node, "feasible")
			? figure_cores(figure, field_number(node, "score"))
			: "-");
	table_cell(table,
		figure_share(figure, field_number(node, "cpuExpected")));
	table_cell(table,
		figure_share(figure, field_number(node, "memoryExpected")));
	table_cell(table,
		figure_age(figure, field_number(node, "loadAgeSeconds")));
	if (is_wide) {
		put_terms(&terms, node);
		table_cell(table,
			figure_cores(figure, field_number(node, "cpuRoom")));
		table_cell(table, terms.data);
	}
	placement_put_reasons(&reasons, node);
	table_cell(table, reasons.data);
}

void placement_put(struct buffer *out, const struct json_value *placement,
	bool is_wide)
{
	static const char *const narrow[] = { "NODE", "SCORE", "CPU(then)",
		"MEMORY(then)", "AGE", "NOT-FEASIBLE-BECAUSE", NULL };
	static const char *const wide[] = { "NODE", "SCORE", "CPU(then)",
		"MEMORY(then)", "AGE", "ROOM(deviations)", "TERMS",
		"NOT-FEASIBLE-BECAUSE", NULL };
	scoped_free char *chosen = field_text(placement, "status/chosen", "");
	scoped_free char *sentence =
		field_text(placement, "status/sentence", "");
	const struct json_value *node =
		json_value_first(json_value_at(placement, "status/nodes"));
	struct table table;

	if (*chosen == '\0') {
		buffer_text(out, "No node is feasible.\n");
	} else {
		buffer_printf(out, "It would go to %s.\n", chosen);
	}
	if (*sentence != '\0') {
		buffer_printf(out, "%s\n", sentence);
	}
	table_init(&table, is_wide ? wide : narrow);
	for (; node != NULL; node = json_value_next(node)) {
		put_row(&table, node, is_wide);
	}
	buffer_char(out, '\n');
	table_write(out, &table, true);
	table_fini(&table);
	if (placement_left_out(placement) > 0) {
		buffer_printf(out, "%.0f more nodes are not in the answer.\n",
			placement_left_out(placement));
	}
}

double placement_left_out(const struct json_value *placement)
{
	double count = field_number(placement, "status/nodesLeftOut");

	return count > 0 && count < MANY ? count : 0;
}

const struct json_value *placement_node(const struct json_value *placement,
	const char *name)
{
	return field_find(json_value_at(placement, "status/nodes"), "name",
		name);
}
