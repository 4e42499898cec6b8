/* kubectl plimsoll evacuate NODE */
#include "kube/json_value.h"
#include "kubectl/api_client.h"
#include "kubectl/command.h"
#include "kubectl/evacuation.h"
#include "kubectl/flags.h"
#include "kubectl/migrations.h"
#include "kubectl/node_vmis.h"
#include "kubectl/output.h"
#include "kubectl/plan_view.h"
#include "kubectl/terminal.h"
#include "lib/buffer.h"

#include <stdbool.h>

enum { TEXT_MAX = 16 << 20, STATUS_FAILED = 1 };

static void show_plan(const struct json_value *plan)
{
	scoped_buffer struct buffer out = BUFFER_MAX(TEXT_MAX);

	plan_put_sentence(&out, plan);
	plan_put_steps(&out, plan, "These VMs would move, in this order:");
	plan_put_stuck(&out, plan);
	plan_put_nodes(&out, plan);
	plan_put_hidden(&out, plan);
	terminal_print(&out);
}

/* Follows what an earlier evacuation, or somebody else, has ordered. */
static int follow_others(struct api_client *client, const char *node,
	struct error *err)
{
	struct migrations migrations = { .client = client, .parallel = 1 };
	struct node_vmis vms;
	int r = node_vmis_list(&vms, client, node, err);

	if (r == 0) {
		r = node_vmis_add_migrations(&migrations, &vms, err);
	}
	node_vmis_fini(&vms);
	if (r == 0 && migrations.count > 0) {
		terminal_say("%zu VM%s of %s move%s already.", migrations.count,
			migrations.count == 1 ? "" : "s", node,
			migrations.count == 1 ? "s" : "");
		r = migrations_run(&migrations, err);
	}
	migrations_fini(&migrations);
	return r;
}

/* The exit status: whether the node is empty. */
static int show_remaining(const struct json_value *plan,
	struct api_client *client, const char *node, struct error *err)
{
	scoped_buffer struct buffer out = BUFFER_MAX(TEXT_MAX);
	struct node_vmis vms;
	int r = node_vmis_list(&vms, client, node, err);
	size_t count = vms.count;

	node_vmis_fini(&vms);
	if (r < 0) {
		return r;
	}
	if (count == 0) {
		terminal_say(
			"No VM is on %s any more. The node is cordoned: "
			"kubectl uncordon %s ends that.",
			node, node);
		return 0;
	}
	plan_put_stuck(&out, plan);
	plan_put_hidden(&out, plan);
	buffer_printf(&out,
		"\n%zu VM%s still on %s, which is cordoned. Run the command "
		"again to go on.\n",
		count, count == 1 ? " is" : "s are", node);
	terminal_print(&out);
	return STATUS_FAILED;
}

static int carry_out(struct json_value **plan, struct api_client *client,
	const char *node, unsigned parallel, struct error *err)
{
	const char *const cordon[] = { "cordon", node, NULL };
	int r = api_client_show(client, cordon, err);

	if (r == 0) {
		r = follow_others(client, node, err);
	}
	if (r == 0) {
		/* The first plan may be of before the cordon. */
		json_value_free(*plan);
		*plan = NULL;
		r = plan_ask_nodes(plan, client, "Evacuate", node, err);
	}
	if (r == 0) {
		r = evacuation_run(plan, client, node, parallel, err);
	}
	return r < 0 ? r : show_remaining(*plan, client, node, err);
}

static bool is_shown_only(const struct flags *flags)
{
	return !flags_has(flags, FLAG_YES) || flags_has(flags, FLAG_DRY_RUN);
}

static int run_with_plan(struct json_value **plan, struct api_client *client,
	enum output output, unsigned parallel, struct error *err)
{
	const char *node = client->flags->names[0];

	if (!output_is_table(output)) {
		output_object(output, *plan);
		return 0;
	}
	show_plan(*plan);
	if (is_shown_only(client->flags)) {
		terminal_say(
			"\nNothing was changed. --yes cordons %s and "
			"carries out the plan.",
			node);
		return 0;
	}
	return carry_out(plan, client, node, parallel, err);
}

static int evacuate_run(struct api_client *client, struct error *err)
{
	static const unsigned bounds[] = { 1, 64 };
	const struct flags *flags = client->flags;
	struct json_value *plan = NULL;
	enum output output;
	unsigned parallel;
	int r;

	if (output_of(&output, flags, err) < 0 ||
		flags_number(&parallel, flags, FLAG_PARALLEL, bounds, err) <
			0) {
		return COMMAND_USAGE;
	}
	if (flags->name_count != 1 || !flags_is_name(flags->names[0])) {
		return error_set(err, COMMAND_USAGE, "You must name one node");
	}
	if (output == OUTPUT_NAME) {
		return error_set(err, COMMAND_USAGE,
			"a plan has no name: --output is json, yaml or wide");
	}
	if (!output_is_table(output) && !is_shown_only(flags)) {
		return error_set(err, COMMAND_USAGE,
			"--output shows a plan: use it without --yes");
	}
	r = plan_ask_nodes(&plan, client, "Evacuate", flags->names[0], err);
	if (r == 0) {
		r = run_with_plan(&plan, client, output, parallel, err);
	}
	json_value_free(plan);
	return r;
}

const struct command evacuate_command = {
	.name = "evacuate",
	.usage = "evacuate NODE [options]",
	.summary = "Move all VMs away from a node",
	.text = " Shows the scheduler's plan first: which VM goes where in "
		"which order, which VMs\n cannot move and why, and what the "
		"other nodes will look like. With --yes it cordons\n the node "
		"and carries out the plan wave by wave, with a new plan after "
		"each wave. If\n it is interrupted, the same command goes on. "
		"Pods that are not VMs stay: kubectl\n drain evicts them.",
	.examples =
		"  # What would it take to empty this node?\n"
		"  kubectl plimsoll evacuate node1\n\n"
		"  # Empty it\n"
		"  kubectl plimsoll evacuate node1 --yes",
	.flags = FLAG_BIT(FLAG_DRY_RUN) | FLAG_BIT(FLAG_OUTPUT) |
		FLAG_BIT(FLAG_PARALLEL) | FLAG_BIT(FLAG_YES),
	.run = evacuate_run,
	.completes = "node",
};
