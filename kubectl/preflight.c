/* kubectl plimsoll preflight: deploy/preflight.sh, which is part of the
 * program. */
#include "kubectl/api_client.h"
#include "kubectl/call.h"
#include "kubectl/command.h"
#include "kubectl/flags.h"
#include "kubectl/terminal.h"
#include "lib/buffer.h"

#include <preflight_script.h>
#include <stddef.h>

/* The script takes the global flags as its arguments. No word of them is read
 * by the shell as code: the script quotes them. */
static int preflight_run(struct api_client *client, struct error *err)
{
	const struct flags *flags = client->flags;
	const char *arguments[FLAGS_GLOBAL_MAX + 4] = { "-c", preflight_script,
		"preflight.sh" };
	struct call call = { .program = "sh", .arguments = arguments };
	struct call_result result = { 0 };
	size_t count = 3;
	int r;

	if (flags->name_count > 0) {
		return error_set(err, COMMAND_USAGE,
			"preflight takes no arguments");
	}
	for (size_t i = 0; i < flags->global_count; i++) {
		arguments[count++] = flags->globals[i];
	}
	r = call_run(&result, &call, err);
	if (r == 0) {
		terminal_print(&result.out);
		terminal_lines_to_error(result.complaint.data,
			result.complaint.len);
		r = result.status;
	}
	call_result_fini(&result);
	return r;
}

const struct command preflight_command = {
	.name = "preflight",
	.usage = "preflight",
	.summary = "Say what the cluster lacks for plimsoll",
	.text = " Reads the version of Kubernetes and KubeVirt, the default "
		"StorageClass, your rights\n and, after the installation, "
		"certificates and pods, and says what is missing in one\n "
		"sentence each. It is deploy/preflight.sh of this version. "
		"The status is 0 if nothing\n is missing, 1 if something is, "
		"and 2 if the cluster does not answer.",
	.examples =
		"  # Before and after the installation\n"
		"  kubectl plimsoll preflight\n\n"
		"  # For another cluster\n"
		"  kubectl plimsoll preflight --context=east",
	.run = preflight_run,
};
