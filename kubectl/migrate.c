/* kubectl plimsoll migrate VM... | -l SELECTOR */
#include "kube/json_value.h"
#include "kube/url_query.h"
#include "kubectl/api_client.h"
#include "kubectl/command.h"
#include "kubectl/fields.h"
#include "kubectl/figures.h"
#include "kubectl/flags.h"
#include "kubectl/migrations.h"
#include "kubectl/placement.h"
#include "kubectl/plan_view.h"
#include "kubectl/selector_json.h"
#include "kubectl/table.h"
#include "kubectl/terminal.h"
#include "kubectl/vmi_words.h"
#include "lib/buffer.h"
#include "lib/memory.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { PATH_MAX_BYTES = 4 << 10, TEXT_MAX = 1 << 20, STATUS_FAILED = 1 };

/* The VMs that shall move, and where. */
struct order {
	struct api_client *client;
	const char *to; /* NULL: not to a certain node */
	char *selector; /* JSON, or NULL */
	char **names;
	size_t count, capacity;
	size_t unmovable;
	struct migrations migrations;
};

/* The names have fewer bytes than the list of them, which has a limit. */
static void add_name(struct order *order, const char *name)
{
	if (flags_is_name(name)) {
		order->names = xgrow(order->names, order->count,
			&order->capacity, sizeof(*order->names));
		order->names[order->count++] = xstrdup(name);
	}
}

static void forget_names(struct order *order)
{
	for (size_t i = 0; i < order->count; i++) {
		free(order->names[i]);
	}
	order->count = 0;
}

static void add_vmi(void *owner, const struct json_value *vmi)
{
	if (vmi == NULL) {
		forget_names(owner);
	} else {
		add_name(owner, json_value_text_at(vmi, "metadata/name", ""));
	}
}

static int list_selected(struct order *order, const char *labels,
	struct error *err)
{
	struct api_client *client = order->client;
	scoped_buffer struct buffer path = BUFFER_MAX(PATH_MAX_BYTES);
	int r;

	buffer_printf(&path,
		KUBEVIRT_API "/namespaces/%s/virtualmachineinstances",
		api_client_namespace(client));
	url_query_add(&path, "labelSelector", labels);
	if (path.overflowed) {
		return error_set(err, COMMAND_USAGE,
			"the selector is too "
			"long");
	}
	r = api_client_list(client, path.data, add_vmi, order, err);
	if (r == 0 && order->count == 0) {
		terminal_note("No resources found in %s namespace.",
			api_client_namespace(client));
	}
	return r;
}

static int read_names(struct order *order, struct error *err)
{
	const struct flags *flags = order->client->flags;
	const char *labels = flags->values[FLAG_SELECTOR];

	if ((flags->name_count > 0) == (labels != NULL)) {
		return error_set(err, COMMAND_USAGE,
			"You must name VMs, or select them with -l");
	}
	for (size_t i = 0; i < flags->name_count; i++) {
		const char *name = flags->names[i];

		name += strncmp(name, "vm/", 3) == 0 ? 3 : 0;
		if (!flags_is_name(name)) {
			return error_set(err, COMMAND_USAGE,
				"'%.100s' is not the name of a VM",
				flags->names[i]);
		}
		add_name(order, name);
	}
	return labels == NULL ? 0 : list_selected(order, labels, err);
}

static int read_target(struct order *order, struct error *err)
{
	const struct flags *flags = order->client->flags;
	const char *labels = flags->values[FLAG_NODE_SELECTOR];

	order->to = flags->values[FLAG_TO];
	if (order->to != NULL && labels != NULL) {
		return error_set(err, COMMAND_USAGE,
			"--to and --node-selector exclude each other");
	}
	if (order->to != NULL && !flags_is_name(order->to)) {
		return error_set(err, COMMAND_USAGE,
			"'%.100s' is not the name of a node", order->to);
	}
	if (labels != NULL) {
		return selector_json(&order->selector, labels, err);
	}
	return order->to == NULL ? 0
				 : migrations_select_node(&order->selector,
					   order->client, order->to, err);
}

/* ---- the effect of a move on both of its ends ---- */

/* The use of a node, and of the VM that leaves it (negative) or arrives. */
struct use {
	double cores, bytes;
};

static int get_figures(struct json_value **out, struct api_client *client,
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

static int put_end(struct table *table, struct api_client *client,
	const char *name, struct use change, struct error *err)
{
	scoped_free char *path = xasprintf("%s/nodeloads/%s", LOAD_API, name);
	struct json_value *node = NULL;
	int r = get_figures(&node, client, path, err);

	if (r == 0) {
		put_row(table, node, name, change);
		json_value_free(node);
	}
	return r;
}

/* Appends the nodes' load now and after the VM moved from source to target, by
 * the last figures. Figures that the user may not see are unknown. */
static int put_ends(struct buffer *out, struct api_client *client,
	const char *vm, const char *source, const char *target,
	struct error *err)
{
	static const char *const headers[] = { "NODE", "CPU(5m)", "CPU(then)",
		"MEMORY(now)", "MEMORY(then)", "AGE", NULL };
	scoped_free char *path = xasprintf("%s/namespaces/%s/vmloads/%s",
		LOAD_API, api_client_namespace(client), vm);
	struct json_value *load = NULL;
	struct table table;
	struct use use;
	int r = get_figures(&load, client, path, err);

	if (r < 0) {
		return r;
	}
	use.cores = field_number(load, "status/usedCores5m");
	use.bytes = field_number(load, "status/memoryBytes");
	json_value_free(load);
	table_init(&table, headers);
	r = put_end(&table, client, source,
		(struct use){ -use.cores, -use.bytes }, err);
	if (r == 0) {
		r = put_end(&table, client, target, use, err);
	}
	if (r == 0) {
		table_write(out, &table, true);
	}
	table_fini(&table);
	return r;
}

/* ---- the preview ---- */

/* Whether the scheduler would place the VM on the chosen node. */
static int put_feasible(struct buffer *out, struct order *order, const char *vm,
	bool *is_feasible, struct error *err)
{
	struct json_value *placement = NULL;
	const struct json_value *node;
	int r = placement_ask_name(&placement, order->client, "vmName", vm,
		err);

	if (r < 0) {
		return r;
	}
	node = placement_node(placement, order->to);
	*is_feasible = field_true(node, "feasible");
	if (node == NULL && placement_left_out(placement) > 0) {
		*is_feasible = true;
		buffer_printf(out,
			"  Whether %s is feasible is not known: the answer has "
			"not all nodes.\n",
			order->to);
	} else if (!*is_feasible) {
		buffer_printf(out, "  %s is not feasible: ", order->to);
		if (node == NULL) {
			buffer_text(out, "the scheduler does not know it");
		}
		placement_put_reasons(out, node);
		buffer_char(out, '\n');
	}
	json_value_free(placement);
	return 0;
}

/* The scheduler's answer where the VM could go, and both ends. */
static int put_anywhere(struct buffer *out, struct order *order, const char *vm,
	struct error *err)
{
	struct json_value *plan = NULL;
	int r = plan_ask_move(&plan, order->client, vm, err);

	if (r == 0) {
		plan_put_sentence(out, plan);
		plan_put_stuck(out, plan);
		plan_put_nodes(out, plan);
		json_value_free(plan);
	}
	return r;
}

static int put_preview(struct order *order, const struct json_value *vmi,
	const char *vm, bool *can_move, struct error *err)
{
	scoped_buffer struct buffer out = BUFFER_MAX(TEXT_MAX);
	scoped_buffer struct buffer why = BUFFER_MAX(TEXT_MAX);
	scoped_free char *source = field_text(vmi, "status/nodeName", "-");
	int r = 0;

	*can_move = vmi_words_can_move(&why, vmi);
	if (*can_move && order->to != NULL && strcmp(order->to, source) == 0) {
		*can_move = false;
		buffer_text(&why, "it is on this node");
	}
	if (!*can_move) {
		buffer_printf(&out, "%s on %s cannot move: %s.\n", vm, source,
			why.data);
		terminal_print(&out);
		return 0;
	}
	buffer_printf(&out, "%s can move from %s%s%s.\n", vm, source,
		order->to == NULL ? "" : " to ",
		order->to == NULL ? "" : order->to);
	if (order->to != NULL) {
		r = put_feasible(&out, order, vm, can_move, err);
		if (r == 0) {
			r = put_ends(&out, order->client, vm, source, order->to,
				err);
		}
	} else {
		r = put_anywhere(&out, order, vm, err);
	}
	buffer_char(&out, '\n');
	terminal_print(&out);
	return r;
}

/* Shows the preview of a VM, and adds its migration if it can move. */
static int add_vm(struct order *order, const char *vm, struct error *err)
{
	struct api_client *client = order->client;
	scoped_free char *path = xasprintf(KUBEVIRT_API
		"/namespaces/%s/virtualmachineinstances/%s",
		api_client_namespace(client), vm);
	struct json_value *vmi = NULL;
	bool can_move = false;
	int r = api_client_get(&vmi, client, path, err);

	if (r < 0) {
		return r;
	}
	r = put_preview(order, vmi, vm, &can_move, err);
	json_value_free(vmi);
	if (r == 0 && can_move) {
		scoped_free char *namespace =
			xstrdup(api_client_namespace(client));
		scoped_free char *name = xstrdup(vm);

		migrations_add(&order->migrations,
			&(struct vm_migration){ .namespace = namespace,
				.vm = name,
				.selector = order->selector });
	}
	order->unmovable += !can_move;
	return r;
}

static int move(struct order *order, struct error *err)
{
	const struct flags *flags = order->client->flags;
	int r;

	if (!flags_has(flags, FLAG_YES) || flags_has(flags, FLAG_DRY_RUN)) {
		if (order->migrations.count > 0) {
			terminal_say(
				"Nothing was changed. --yes moves %zu "
				"VM%s.",
				order->migrations.count,
				order->migrations.count == 1 ? "" : "s");
		}
		return order->unmovable > 0 ? STATUS_FAILED : 0;
	}
	r = migrations_run(&order->migrations, err);
	if (r < 0) {
		return r;
	}
	return order->unmovable > 0 ||
			migrations_in_state(&order->migrations,
				MIGRATION_FAILED) > 0
		? STATUS_FAILED
		: 0;
}

static void order_fini(struct order *order)
{
	forget_names(order);
	free(order->names);
	free(order->selector);
	migrations_fini(&order->migrations);
}

static int migrate_run(struct api_client *client, struct error *err)
{
	static const unsigned parallel[] = { 1, 64 };
	struct order order = { .client = client,
		.migrations = { .client = client } };
	int r = flags_number(&order.migrations.parallel, client->flags,
		FLAG_PARALLEL, parallel, err);

	if (r == 0) {
		r = read_names(&order, err);
	}
	if (r == 0) {
		r = read_target(&order, err);
	}
	for (size_t i = 0; r == 0 && i < order.count; i++) {
		r = add_vm(&order, order.names[i], err);
	}
	if (r == 0) {
		r = move(&order, err);
	}
	order_fini(&order);
	return r;
}

const struct command migrate_command = {
	.name = "migrate",
	.usage = "migrate (VM... | -l SELECTOR) [--to NODE | --node-selector "
		 "KEY=VALUE,...] [options]",
	.summary = "Move running VMs to another node",
	.text = " Shows whether each VM can move, and what its node and the "
		"new one would look like.\n With --yes it creates a "
		"VirtualMachineInstanceMigration for each VM that can move, "
		"with\n your rights, and follows them. Without --to or "
		"--node-selector the scheduler chooses\n the node. Ctrl-C asks "
		"whether to cancel what moves.",
	.examples =
		"  # Can this VM move, and where to?\n"
		"  kubectl plimsoll migrate web-1 -n shop\n\n"
		"  # Move it to a node\n"
		"  kubectl plimsoll migrate web-1 -n shop --to node3 --yes\n\n"
		"  # Move all VMs with a label to nodes of another zone\n"
		"  kubectl plimsoll migrate -l tier=db --node-selector "
		"topology.kubernetes.io/zone=b --yes",
	.flags = FLAG_BIT(FLAG_DRY_RUN) | FLAG_BIT(FLAG_NODE_SELECTOR) |
		FLAG_BIT(FLAG_PARALLEL) | FLAG_BIT(FLAG_SELECTOR) |
		FLAG_BIT(FLAG_TO) | FLAG_BIT(FLAG_YES),
	.run = migrate_run,
	.completes = "vm",
};
