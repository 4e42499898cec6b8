/* kubectl plimsoll top nodes|vms */
#include "kube/url_query.h"
#include "kubectl/api_client.h"
#include "kubectl/command.h"
#include "kubectl/flags.h"
#include "kubectl/load_rows.h"
#include "kubectl/terminal.h"
#include "lib/buffer.h"
#include "lib/memory.h"

#include <poll.h>
#include <stdbool.h>
#include <string.h>

enum { PATH_MAX_BYTES = 8 << 10, PRINT_MAX = 1 << 30 };

/* A list: its question, and how to show it. */
struct top {
	struct api_client *client;
	struct load_rows rows;
	enum load_sort sort;
	unsigned interval_s;
	bool has_namespaces, has_headers;
	struct buffer path;
};

static int read_sort(enum load_sort *out, const struct flags *flags,
	struct error *err)
{
	static const char *const names[] = {
		[SORT_HEAT] = "heat",
		[SORT_CPU] = "cpu",
		[SORT_MEMORY] = "memory",
		[SORT_CONTENTION] = "contention",
		[SORT_IO] = "io",
		[SORT_NAME] = "name",
	};
	const char *text = flags->values[FLAG_SORT_BY];

	for (size_t i = 0; i < count_of(names); i++) {
		if (text == NULL || strcmp(text, names[i]) == 0) {
			*out = (enum load_sort)i;
			return 0;
		}
	}
	return error_set(err, COMMAND_USAGE,
		"--sort-by accepts only heat, cpu, memory, contention, io or "
		"name");
}

static bool is_one_of(const char *text, const char *a, const char *b,
	const char *c)
{
	return strcmp(text, a) == 0 || strcmp(text, b) == 0 ||
		strcmp(text, c) == 0;
}

static int read_what(struct top *top, const struct flags *flags,
	struct error *err)
{
	const char *what = flags->name_count == 1 ? flags->names[0] : "";

	if (is_one_of(what, "nodes", "node", "no")) {
		top->rows.has_nodes = true;
	} else if (!is_one_of(what, "vms", "vm", "vmis")) {
		return error_set(err, COMMAND_USAGE,
			"You must say what to list: nodes or vms");
	}
	if (top->rows.has_nodes && flags->values[FLAG_NODE] != NULL) {
		return error_set(err, COMMAND_USAGE,
			"--node selects VMs: use it with top vms");
	}
	return 0;
}

static int make_path(struct top *top, const struct flags *flags,
	struct error *err)
{
	const char *node = flags->values[FLAG_NODE];
	const char *fields = flags->values[FLAG_FIELD_SELECTOR];
	scoped_buffer struct buffer both = BUFFER_MAX(PATH_MAX_BYTES);

	top->path = BUFFER_MAX(PATH_MAX_BYTES);
	buffer_text(&top->path, LOAD_API);
	if (!top->rows.has_nodes && !top->has_namespaces) {
		buffer_printf(&top->path, "/namespaces/%s",
			api_client_namespace(top->client));
	}
	buffer_text(&top->path,
		top->rows.has_nodes ? "/nodeloads" : "/vmloads");
	if (node != NULL) {
		buffer_printf(&both, "spec.nodeName=%s%s%s", node,
			fields == NULL ? "" : ",",
			fields == NULL ? "" : fields);
		fields = both.data;
	}
	url_query_add(&top->path, "labelSelector",
		flags->values[FLAG_SELECTOR]);
	url_query_add(&top->path, "fieldSelector", fields);
	return top->path.overflowed || both.overflowed
		? error_set(err, COMMAND_USAGE,
			  "the selectors are too "
			  "long")
		: 0;
}

static void add(void *owner, const struct json_value *object)
{
	if (object == NULL) {
		load_rows_fini(owner);
	} else {
		load_rows_add(owner, object);
	}
}

static int list_once(struct top *top, bool is_first, struct error *err)
{
	scoped_buffer struct buffer out = BUFFER_MAX(PRINT_MAX);
	int r = api_client_list(top->client, top->path.data, add, &top->rows,
		err);

	if (r < 0) {
		return r;
	}
	load_rows_sort(&top->rows, top->sort);
	if (flags_has(top->client->flags, FLAG_WATCH)) {
		terminal_clear(is_first);
	}
	if (top->rows.count == 0 && output_is_table(top->rows.output)) {
		if (top->rows.has_nodes || top->has_namespaces) {
			terminal_note("No resources found");
		} else {
			terminal_note("No resources found in %s namespace.",
				api_client_namespace(top->client));
		}
		return 0;
	}
	load_rows_write(&out, &top->rows, top->has_namespaces,
		top->has_headers);
	terminal_print(&out);
	return 0;
}

static int list(struct top *top, struct error *err)
{
	bool is_watch = flags_has(top->client->flags, FLAG_WATCH);
	int r = list_once(top, true, err);

	while (r == 0 && is_watch) {
		(void)poll(NULL, 0, (int)top->interval_s * 1000);
		load_rows_fini(&top->rows);
		r = list_once(top, false, err);
	}
	return r;
}

static int top_run(struct api_client *client, struct error *err)
{
	static const unsigned interval[] = { 1, 3600 };
	const struct flags *flags = client->flags;
	struct top top = {
		.client = client,
		.has_namespaces = flags_has(flags, FLAG_ALL_NAMESPACES),
		.has_headers = !flags_has(flags, FLAG_NO_HEADERS),
	};
	int r;

	if (read_what(&top, flags, err) < 0 ||
		read_sort(&top.sort, flags, err) < 0 ||
		output_of(&top.rows.output, flags, err) < 0 ||
		flags_number(&top.interval_s, flags, FLAG_INTERVAL, interval,
			err) < 0) {
		return COMMAND_USAGE;
	}
	r = make_path(&top, flags, err);
	if (r == 0) {
		r = list(&top, err);
	}
	load_rows_fini(&top.rows);
	buffer_fini(&top.path);
	return r;
}

const struct command top_command = {
	.name = "top",
	.usage = "top (nodes | vms) [options]",
	.summary = "List nodes or VMs, the hottest first",
	.text = " HOTTEST is the resource that is shortest on a node: cpu, "
		"memory, io or kvm,\n and HEAT its share in use. Of a VM it is "
		"the resource that the VM waits for most;\n the VMs that use "
		"the most CPU come first. AGE is how old the figures are.\n"
		" REACH (-o wide) is how many other nodes could take a VM if "
		"they were empty.",
	.examples =
		"  # Which node is hot?\n"
		"  kubectl plimsoll top nodes\n\n"
		"  # Which VMs make it hot?\n"
		"  kubectl plimsoll top vms -A --node node1\n\n"
		"  # VMs of one namespace that wait for a CPU, again each 10 "
		"seconds\n"
		"  kubectl plimsoll top vms -n shop --sort-by=contention "
		"--watch --interval=10",
	.flags = FLAG_BIT(FLAG_ALL_NAMESPACES) | FLAG_BIT(FLAG_FIELD_SELECTOR) |
		FLAG_BIT(FLAG_INTERVAL) | FLAG_BIT(FLAG_NO_HEADERS) |
		FLAG_BIT(FLAG_NODE) | FLAG_BIT(FLAG_OUTPUT) |
		FLAG_BIT(FLAG_SELECTOR) | FLAG_BIT(FLAG_SORT_BY) |
		FLAG_BIT(FLAG_WATCH),
	.run = top_run,
	.completes = "nodes vms",
};
