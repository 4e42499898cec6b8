#include "kubectl/ends.h"

#include "kube/json_value.h"
#include "kubectl/api_client.h"
#include "kubectl/fields.h"
#include "kubectl/figures.h"
#include "kubectl/table.h"
#include "lib/buffer.h"
#include "lib/memory.h"

#include <errno.h>
#include <math.h>

/* The use of a node, and of the VM that leaves it (negative) or arrives. */
struct use {
	double cores, bytes;
};

static int get(struct json_value **out, struct api_client *client,
	const char *path, struct error *err)
{
	int r = api_client_get(out, client, path, err);

	if (r == -EACCES || r == -ENOENT) { /* the figures are unknown */
		api_client_forgive(client);
		return 0;
	}
	return r;
}

static void put_row(struct table *table, const struct json_value *node,
	const char *name, struct use change)
{
	double cores = field_number(node, "status/cpu/cores");
	double used = field_number(node, "status/cpu/usedCores5m");
	double total = field_number(node, "status/memory/totalBytes");
	double bytes =
		total - field_number(node, "status/memory/availableBytes");
	char text[FIGURE_MAX];

	table_cell(table, name);
	table_cell(table, figure_share(text, used / cores));
	table_cell(table, figure_share(text, (used + change.cores) / cores));
	table_cell(table, figure_share(text, bytes / total));
	table_cell(table, figure_share(text, (bytes + change.bytes) / total));
	table_cell(table,
		figure_age(text, field_number(node, "status/ageSeconds")));
}

static int put_node(struct table *table, struct api_client *client,
	const char *name, struct use change, struct error *err)
{
	scoped_free char *path = xasprintf("%s/nodeloads/%s", LOAD_API, name);
	struct json_value *node = NULL;
	int r = get(&node, client, path, err);

	if (r == 0) {
		put_row(table, node, name, change);
		json_value_free(node);
	}
	return r;
}

int ends_put(struct buffer *out, struct api_client *client, const char *vm,
	const char *source, const char *target, struct error *err)
{
	static const char *const headers[] = { "NODE", "CPU(now)", "CPU(then)",
		"MEMORY(now)", "MEMORY(then)", "AGE", NULL };
	scoped_free char *path = xasprintf("%s/namespaces/%s/vmloads/%s",
		LOAD_API, api_client_namespace(client), vm);
	struct json_value *load = NULL;
	struct table table;
	struct use use;
	int r = get(&load, client, path, err);

	if (r < 0) {
		return r;
	}
	use.cores = field_number(load, "status/usedCores5m");
	use.bytes = field_number(load, "status/memoryBytes");
	json_value_free(load);
	table_init(&table, headers);
	r = put_node(&table, client, source,
		(struct use){ -use.cores, -use.bytes }, err);
	if (r == 0) {
		r = put_node(&table, client, target, use, err);
	}
	if (r == 0) {
		table_write(out, &table, true);
	}
	table_fini(&table);
	return r;
}
