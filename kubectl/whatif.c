/* kubectl plimsoll whatif --without NODE,... */
#include "kube/json_value.h"
#include "kubectl/api_client.h"
#include "kubectl/command.h"
#include "kubectl/fields.h"
#include "kubectl/flags.h"
#include "kubectl/output.h"
#include "kubectl/plan_view.h"
#include "kubectl/terminal.h"
#include "lib/buffer.h"
#include "lib/memory.h"

enum { TEXT_MAX = 16 << 20 };

static void put_names(struct buffer *out, const struct json_value *plan)
{
	const struct json_value *at =
		json_value_first(json_value_at(plan, "status/lost"));

	for (; at != NULL; at = json_value_next(at)) {
		scoped_free char *name = field_text(at, "vmName", "-");

		buffer_printf(out, "virtualmachineinstance.kubevirt.io/%s\n",
			name);
	}
}

static void put_all(struct buffer *out, const struct json_value *plan)
{
	plan_put_sentence(out, plan);
	plan_put_lost(out, plan);
	plan_put_stuck(out, plan);
	plan_put_steps(out, plan, "These VMs would start elsewhere:");
	plan_put_nodes(out, plan);
	plan_put_hidden(out, plan);
}

static int whatif_run(struct api_client *client, struct error *err)
{
	const char *nodes = client->flags->values[FLAG_WITHOUT];
	scoped_buffer struct buffer out = BUFFER_MAX(TEXT_MAX);
	struct json_value *plan = NULL;
	enum output output;
	int r;

	if (output_of(&output, client->flags, err) < 0) {
		return COMMAND_USAGE;
	}
	if (nodes == NULL || client->flags->name_count > 0) {
		return error_set(err, COMMAND_USAGE,
			"You must say which nodes are gone: --without "
			"NODE,...");
	}
	r = plan_ask_nodes(&plan, client, "NodesGone", nodes, err);
	if (r < 0) {
		return r;
	}
	if (output == OUTPUT_JSON || output == OUTPUT_YAML) {
		output_object(output, plan);
	} else if (output == OUTPUT_NAME) {
		put_names(&out, plan);
	} else {
		put_all(&out, plan);
	}
	terminal_print(&out);
	json_value_free(plan);
	return 0;
}

const struct command whatif_command = {
	.name = "whatif",
	.usage = "whatif --without NODE,... [options]",
	.summary = "Show which VMs would find a place without some nodes",
	.text = " Asks the scheduler where the VMs of these nodes would start, "
		"if the nodes died now,\n and which VMs would find no place. "
		"Nothing is changed. With -o name only the VMs that\n would "
		"find no place are listed.",
	.examples =
		"  # Does the cluster survive the loss of this node?\n"
		"  kubectl plimsoll whatif --without node1\n\n"
		"  # And of a rack?\n"
		"  kubectl plimsoll whatif --without node1,node2,node3 -o json",
	.flags = FLAG_BIT(FLAG_OUTPUT) | FLAG_BIT(FLAG_WITHOUT),
	.run = whatif_run,
};
