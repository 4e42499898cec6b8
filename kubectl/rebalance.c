/* kubectl plimsoll rebalance */
#include "kube/json_value.h"
#include "kubectl/api_client.h"
#include "kubectl/command.h"
#include "kubectl/fields.h"
#include "kubectl/flags.h"
#include "kubectl/move_rows.h"
#include "kubectl/terminal.h"
#include "lib/buffer.h"
#include "lib/memory.h"

#include <errno.h>

enum { TEXT_MAX = 64 << 20 };

/* The mode and the reason, if this version of the API tells them and the user
 * may read the cluster's status. */
static int put_mode(struct buffer *out, struct api_client *client,
	struct error *err)
{
	struct json_value *status = NULL;
	int r = api_client_get(&status, client, LOAD_API "/status/plimsoll",
		err);

	if (r == -EACCES) {
		api_client_forgive(client);
		terminal_note(
			"note: you may not get the status of plimsoll, "
			"so its mode is not shown");
		return 0;
	}
	if (r == 0) {
		const struct json_value *rebalance =
			json_value_at(status, "status/rebalance");
		scoped_free char *mode = field_text(rebalance, "mode", "");
		scoped_free char *why = field_text(rebalance, "why", "");

		if (*mode == '\0') {
			buffer_text(out,
				"The mode is not known: no scheduler "
				"told it to the aggregator.\n");
		} else {
			buffer_printf(out, "Mode: %s.\n", mode);
		}
		if (*why != '\0') {
			buffer_printf(out, "Nothing is moved now: %s.\n", why);
		}
		json_value_free(status);
	}
	return r;
}

static void add(void *owner, const struct json_value *object)
{
	if (object == NULL) {
		move_rows_fini(owner);
	} else {
		move_rows_add(owner, object);
	}
}

static int show(struct move_rows *rows, struct api_client *client,
	struct error *err)
{
	scoped_buffer struct buffer out = BUFFER_MAX(TEXT_MAX);
	bool is_all = flags_has(client->flags, FLAG_ALL_NAMESPACES);
	scoped_free char *path = is_all
		? xstrdup(LOAD_API "/moves")
		: xasprintf("%s/namespaces/%s/moves", LOAD_API,
			  api_client_namespace(client));
	int r = 0;

	if (output_is_table(rows->output)) {
		r = put_mode(&out, client, err);
	}
	if (r == 0) {
		r = api_client_list(client, path, add, rows, err);
	}
	if (r < 0) {
		return r;
	}
	move_rows_write(&out, rows, is_all);
	terminal_print(&out);
	return 0;
}

static int rebalance_run(struct api_client *client, struct error *err)
{
	struct move_rows rows = { 0 };
	int r;

	if (output_of(&rows.output, client->flags, err) < 0) {
		return COMMAND_USAGE;
	}
	if (client->flags->name_count > 0) {
		return error_set(err, COMMAND_USAGE,
			"rebalance takes no arguments");
	}
	r = show(&rows, client, err);
	move_rows_fini(&rows);
	return r;
}

const struct command rebalance_command = {
	.name = "rebalance",
	.usage = "rebalance [options]",
	.summary = "Show which running VMs should move, and why none moves now",
	.text = " Lists the moves that are recommended, ordered or running: "
		"from which node to which,\n which resource is short on the "
		"source, and how much of the shortage the move saves.\n With "
		"-o wide also the reason in words.",
	.examples =
		"  # Which VMs should move?\n"
		"  kubectl plimsoll rebalance -A\n\n"
		"  # Move one of them\n"
		"  kubectl plimsoll migrate web-1 -n shop --to node3 --yes",
	.flags = FLAG_BIT(FLAG_ALL_NAMESPACES) | FLAG_BIT(FLAG_OUTPUT),
	.run = rebalance_run,
};
