/* kubectl plimsoll where VM | -f FILE */
#include "kube/json_value.h"
#include "kube/yaml.h"
#include "kubectl/api_client.h"
#include "kubectl/command.h"
#include "kubectl/fields.h"
#include "kubectl/flags.h"
#include "kubectl/output.h"
#include "kubectl/placement.h"
#include "kubectl/terminal.h"
#include "lib/buffer.h"
#include "lib/files.h"
#include "lib/memory.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>

enum {
	TEXT_MAX = 16 << 20,
	MANIFEST_MAX = 256 << 10, /* above that no question is answered */
};

/* Reads one object from a file, or from standard input ("-"), in YAML or JSON.
 * -EFBIG: above MANIFEST_MAX; -EBADMSG: no YAML, or more than one object. */
static int read_manifest(struct json_value **out, const char *name,
	struct error *err)
{
	scoped_buffer struct buffer text = BUFFER_MAX(MANIFEST_MAX);
	struct json_value *object = NULL;
	int r = file_read_input(&text, name, err);

	if (r < 0) {
		return r;
	}
	r = yaml_parse(&object, text.data == NULL ? "" : text.data, text.len,
		err);
	if (r < 0) {
		return error_wrap(err, r, "%.160s", name);
	}
	if (!json_value_is_object(object)) {
		json_value_free(object);
		return error_set(err, -EBADMSG, "%.160s: there is no object",
			name);
	}
	*out = object;
	return 0;
}

/* kubectl's rule about a namespace in a file, and -n. */
static int check_namespace(struct api_client *client,
	const struct json_value *object, struct error *err)
{
	const char *inside =
		json_value_text_at(object, "metadata/namespace", "");

	if (*inside == '\0' ||
		strcmp(inside, api_client_namespace(client)) == 0) {
		return 0;
	}
	if (client->flags->namespace == NULL && flags_is_name(inside)) {
		api_client_use_namespace(client, inside);
		return 0;
	}
	return error_set(err, -EBADMSG,
		"the namespace from the provided object \"%.63s\" does not "
		"match the namespace \"%.63s\". You must pass "
		"'--namespace=%.63s' to perform this operation.",
		inside, api_client_namespace(client), inside);
}

static int check_kind(const struct json_value *object, struct error *err)
{
	static const char *const kinds[] = { "VirtualMachine",
		"VirtualMachineInstance", "Pod" };
	const char *kind = json_value_text_at(object, "kind", "");

	for (size_t i = 0; i < count_of(kinds); i++) {
		if (strcmp(kind, kinds[i]) == 0) {
			return 0;
		}
	}
	return error_set(err, -EBADMSG,
		"a VirtualMachine, VirtualMachineInstance or Pod can be placed "
		"and not a \"%.60s\"",
		kind);
}

static int ask_file(struct json_value **out, struct api_client *client,
	struct error *err)
{
	struct json_value *object = NULL;
	int r = read_manifest(&object, client->flags->values[FLAG_FILENAME],
		err);

	if (r == 0) {
		r = check_kind(object, err);
	}
	if (r == 0) {
		r = check_namespace(client, object, err);
	}
	if (r == 0) {
		r = placement_ask_object(out, client, object, err);
	}
	json_value_free(object);
	return r;
}

static int ask_name(struct json_value **out, struct api_client *client,
	struct error *err)
{
	const char *name = client->flags->names[0];
	bool is_pod = strncmp(name, "pod/", 4) == 0;

	if (is_pod) {
		name += 4;
	} else if (strncmp(name, "vm/", 3) == 0) {
		name += 3;
	}
	if (!flags_is_name(name)) {
		return error_set(err, COMMAND_USAGE,
			"'%.100s' is neither the name of a VM nor of a pod",
			client->flags->names[0]);
	}
	return placement_ask_name(out, client, is_pod ? "podName" : "vmName",
		name, err);
}

static void show(const struct json_value *placement, enum output output)
{
	scoped_buffer struct buffer out = BUFFER_MAX(TEXT_MAX);
	scoped_free char *chosen = field_text(placement, "status/chosen", "");

	if (output == OUTPUT_JSON || output == OUTPUT_YAML) {
		output_object(output, placement);
	} else if (output == OUTPUT_NAME) {
		buffer_printf(&out, *chosen == '\0' ? "%s" : "node/%s\n",
			chosen);
	} else {
		placement_put(&out, placement, output == OUTPUT_WIDE);
	}
	terminal_print(&out);
}

static int where_run(struct api_client *client, struct error *err)
{
	const struct flags *flags = client->flags;
	bool has_file = flags->values[FLAG_FILENAME] != NULL;
	struct json_value *placement = NULL;
	enum output output;
	int r;

	if (output_of(&output, flags, err) < 0) {
		return COMMAND_USAGE;
	}
	if (flags->name_count + has_file != 1) {
		return error_set(err, COMMAND_USAGE,
			"You must name one VM or pod, or a file with -f");
	}
	r = has_file ? ask_file(&placement, client, err)
		     : ask_name(&placement, client, err);
	if (r == 0) {
		show(placement, output);
		json_value_free(placement);
	}
	return r;
}

const struct command where_command = {
	.name = "where",
	.usage = "where (VM | pod/POD | -f FILE) [options]",
	.summary = "Show where a VM or pod would be placed now",
	.text = " The leading scheduler answers, with its reservations and its "
		"policy, node by node:\n the score of each feasible node, and "
		"why the others are not feasible. Nothing is\n created. With "
		"-o name only the chosen node is printed, or nothing.",
	.examples =
		"  # Where would this VM go?\n"
		"  kubectl plimsoll where -f vm.yaml\n\n"
		"  # Where would a VM go if it were started again?\n"
		"  kubectl plimsoll where web-1 -n shop -o wide",
	.flags = FLAG_BIT(FLAG_FILENAME) | FLAG_BIT(FLAG_OUTPUT),
	.run = where_run,
	.completes = "vm",
};
