/* kubectl plimsoll why VM|POD */
#include "kube/json_value.h"
#include "kube/url_query.h"
#include "kubectl/api_client.h"
#include "kubectl/command.h"
#include "kubectl/decision_list.h"
#include "kubectl/fields.h"
#include "kubectl/figures.h"
#include "kubectl/flags.h"
#include "kubectl/terminal.h"
#include "lib/buffer.h"
#include "lib/memory.h"

#include <errno.h>
#include <math.h>
#include <stdbool.h>
#include <string.h>

enum { PATH_MAX_BYTES = 4 << 10, TEXT_MAX = 4 << 20 };

/* The VM or pod in question. */
struct subject {
	const char *name;
	bool is_pod;
	bool is_certain; /* the user said whether it is a pod */
};

static int read_subject(struct subject *out, const struct flags *flags,
	struct error *err)
{
	static const struct {
		const char *prefix;
		bool is_pod;
	} kinds[] = {
		{ "vm/", false },
		{ "vmi/", false },
		{ "virtualmachine/", false },
		{ "virtualmachineinstance/", false },
		{ "pod/", true },
		{ "pods/", true },
		{ "po/", true },
	};

	if (flags->name_count != 1 || *flags->names[0] == '\0') {
		return error_set(err, COMMAND_USAGE,
			"You must name one VM or pod");
	}
	out->name = flags->names[0];
	for (size_t i = 0; i < count_of(kinds); i++) {
		size_t len = strlen(kinds[i].prefix);

		if (strncmp(out->name, kinds[i].prefix, len) == 0) {
			out->name += len;
			out->is_pod = kinds[i].is_pod;
			out->is_certain = true;
			break;
		}
	}
	if (!flags_is_name(out->name)) {
		return error_set(err, COMMAND_USAGE,
			"'%.100s' is neither the name of a VM nor of a pod",
			flags->names[0]);
	}
	return 0;
}

static void add(void *owner, const struct json_value *object)
{
	if (object == NULL) {
		decision_list_fini(owner);
	} else {
		decision_list_add(owner, object);
	}
}

static int get_decisions(struct decision_list *list, struct api_client *client,
	const struct subject *subject, struct error *err)
{
	scoped_buffer struct buffer path = BUFFER_MAX(PATH_MAX_BYTES);
	scoped_free char *fields = xasprintf("spec.%s=%s",
		subject->is_pod ? "podName" : "vmName", subject->name);

	buffer_printf(&path, "%s/namespaces/%s/decisions", LOAD_API,
		api_client_namespace(client));
	url_query_add(&path, "fieldSelector", fields);
	if (path.overflowed) {
		return error_set(err, COMMAND_USAGE, "the name is too long");
	}
	return api_client_list(client, path.data, add, list, err);
}

/* ---- the state ---- */

static bool is(const struct json_value *object, const char *path,
	const char *text)
{
	return strcmp(json_value_text_at(object, path, ""), text) == 0;
}

/* An event's time has three places. */
static const char *event_time(const struct json_value *event)
{
	const char *const places[] = { "series/lastObservedTime",
		"lastTimestamp", "eventTime", "metadata/creationTimestamp" };

	for (size_t i = 0; i < count_of(places); i++) {
		const char *time = json_value_text_at(event, places[i], "");

		if (*time != '\0') {
			return time;
		}
	}
	return "";
}

/* The last event about an object, in words. RFC 3339 in UTC sorts as text. */
static void put_event(struct buffer *out, struct api_client *client,
	const char *name)
{
	scoped_buffer struct buffer path = BUFFER_MAX(PATH_MAX_BYTES);
	scoped_free char *fields = xasprintf("involvedObject.name=%s", name);
	struct json_value *list = NULL;
	const struct json_value *last = NULL;
	const struct json_value *at;

	buffer_printf(&path, "/api/v1/namespaces/%s/events",
		api_client_namespace(client));
	url_query_add(&path, "fieldSelector", fields);
	url_query_add(&path, "limit", "500");
	if (api_client_get(&list, client, path.data, NULL) < 0) {
		api_client_forgive(client);
		return;
	}
	for (at = json_value_first(json_value_get(list, "items")); at != NULL;
		at = json_value_next(at)) {
		if (last == NULL ||
			strcmp(event_time(at), event_time(last)) >= 0) {
			last = at;
		}
	}
	if (last != NULL) {
		scoped_free char *reason = field_text(last, "reason", "-");
		scoped_free char *words = field_text(last, "message", "");

		buffer_printf(out, "  last event: %s: %s\n", reason, words);
	}
	json_value_free(list);
}

static void put_pod(struct buffer *out, struct api_client *client,
	const struct json_value *pod)
{
	const struct json_value *condition =
		field_condition(pod, "PodScheduled");
	scoped_free char *name = field_text(pod, "metadata/name", "");
	scoped_free char *node = field_text(pod, "spec/nodeName", "");
	scoped_free char *phase = field_text(pod, "status/phase", "Pending");
	scoped_free char *reason = field_text(condition, "reason", "");
	scoped_free char *words = field_text(condition, "message", "");

	if (*node != '\0') {
		buffer_printf(out, "Pod %s is %s on %s.\n", name, phase, node);
		return;
	}
	buffer_printf(out, "Pod %s is %s and has no node.\n", name, phase);
	if (*words != '\0') {
		buffer_printf(out, "  %s: %s\n", reason, words);
	}
	put_event(out, client, name);
}

/* Appends where a pod is now, or why it waits: by its status, the condition
 * PodScheduled and the last event. -ENOENT: there is none. */
static int put_pod_state(struct buffer *out, struct api_client *client,
	const char *name, struct error *err)
{
	scoped_free char *path = xasprintf("/api/v1/namespaces/%s/pods/%s",
		api_client_namespace(client), name);
	struct json_value *pod = NULL;
	int r = api_client_get(&pod, client, path, err);

	if (r < 0) {
		return r;
	}
	put_pod(out, client, pod);
	json_value_free(pod);
	return 0;
}

/* The launcher pods of a VM that have no node. */
static void put_waiting_pods(struct buffer *out, struct api_client *client,
	const char *vm)
{
	scoped_buffer struct buffer path = BUFFER_MAX(PATH_MAX_BYTES);
	scoped_free char *labels = xasprintf("vm.kubevirt.io/name=%s", vm);
	struct json_value *list = NULL;
	const struct json_value *pod;

	buffer_printf(&path, "/api/v1/namespaces/%s/pods",
		api_client_namespace(client));
	url_query_add(&path, "labelSelector", labels);
	url_query_add(&path, "limit", "500");
	if (api_client_get(&list, client, path.data, NULL) < 0) {
		api_client_forgive(client);
		terminal_note(
			"note: you may not list the pods of namespace "
			"%s, so nothing is said about them",
			api_client_namespace(client));
		return;
	}
	for (pod = json_value_first(json_value_get(list, "items")); pod != NULL;
		pod = json_value_next(pod)) {
		if (is(pod, "status/phase", "Pending") ||
			*json_value_text_at(pod, "spec/nodeName", "") == '\0') {
			put_pod(out, client, pod);
		}
	}
	json_value_free(list);
}

static void put_reach_words(struct buffer *out, double nodes)
{
	char count[FIGURE_MAX];

	if (isnan(nodes)) {
		buffer_text(out,
			"It is not known how many other nodes the VM can "
			"reach.\n");
	} else if (nodes == 0) {
		buffer_text(out, "The VM can reach no other node.\n");
	} else {
		buffer_printf(out, "The VM can reach %s other node%s.\n",
			figure_whole(count, nodes), nodes == 1 ? "" : "s");
	}
}

/* For a VM that runs. Its decisions need no right to its load. */
static void put_reach(struct buffer *out, struct api_client *client,
	const char *name)
{
	scoped_free char *path = xasprintf("%s/namespaces/%s/vmloads/%s",
		LOAD_API, api_client_namespace(client), name);
	struct json_value *load = NULL;

	if (api_client_get(&load, client, path, NULL) < 0) {
		api_client_forgive(client);
	}
	put_reach_words(out, field_number(load, "status/reachableNodes"));
	json_value_free(load);
}

static void put_instance(struct buffer *out, struct api_client *client,
	const struct json_value *vmi, const char *name)
{
	scoped_free char *phase = field_text(vmi, "status/phase", "Pending");
	scoped_free char *node = field_text(vmi, "status/nodeName", "");

	buffer_printf(out, "VM %s/%s is %s%s%s.\n",
		api_client_namespace(client), name, phase,
		*node == '\0' ? "" : " on ", node);
	if (is(vmi, "status/phase", "Running")) {
		put_reach(out, client, name);
	}
	put_waiting_pods(out, client, name);
}

static int put_stopped(struct buffer *out, struct api_client *client,
	const char *name, struct error *err)
{
	scoped_free char *path =
		xasprintf("%s/namespaces/%s/virtualmachines/%s", KUBEVIRT_API,
			api_client_namespace(client), name);
	struct json_value *vm = NULL;
	int r = api_client_get(&vm, client, path, err);

	if (r == 0) {
		scoped_free char *status =
			field_text(vm, "status/printableStatus", "Stopped");

		buffer_printf(out, "VM %s/%s is %s.\n",
			api_client_namespace(client), name, status);
		json_value_free(vm);
	}
	return r;
}

/* The same for a VM and its launcher pods. */
static int put_vm_state(struct buffer *out, struct api_client *client,
	const char *name, struct error *err)
{
	scoped_free char *path =
		xasprintf("%s/namespaces/%s/virtualmachineinstances/%s",
			KUBEVIRT_API, api_client_namespace(client), name);
	struct json_value *vmi = NULL;
	int r = api_client_get(&vmi, client, path, err);

	if (r == -ENOENT) {
		return put_stopped(out, client, name, err);
	}
	if (r < 0) {
		return r;
	}
	put_instance(out, client, vmi, name);
	json_value_free(vmi);
	return 0;
}

/* Finds out whether a bare name is that of a VM, and writes its state. */
static int put_state(struct buffer *out, struct api_client *client,
	struct subject *subject, struct error *err)
{
	int r;

	if (!subject->is_pod) {
		r = put_vm_state(out, client, subject->name, err);
		if (r != -ENOENT || subject->is_certain) {
			return r;
		}
		subject->is_pod = true;
	}
	return put_pod_state(out, client, subject->name, err);
}

/* ---- the answer ---- */

static void put_decisions(struct buffer *out, struct decision_list *list,
	const struct subject *subject)
{
	if (list->count == 0) {
		buffer_printf(out,
			"\nplimsoll has recorded no decision about this %s.\n",
			subject->is_pod ? "pod" : "VM");
		return;
	}
	buffer_text(out, "\n");
	decision_list_write(out, list);
}

static int explain(struct decision_list *list, struct api_client *client,
	struct subject *subject, struct error *err)
{
	scoped_buffer struct buffer out = BUFFER_MAX(TEXT_MAX);
	int state = put_state(&out, client, subject, err);
	int r;

	/* Decisions outlive their pods. */
	if (state < 0 && state != -ENOENT) {
		return state;
	}
	if (state < 0 && !subject->is_certain) {
		subject->is_pod = false;
	}
	r = get_decisions(list, client, subject, err);
	if (r == 0 && list->count == 0 && state < 0 && !subject->is_certain) {
		subject->is_pod = true;
		r = get_decisions(list, client, subject, err);
	}
	if (r < 0) {
		return r;
	}
	if (list->count == 0 && state < 0) {
		return error_set(err, -ENOENT,
			"there is no VM or pod \"%.100s\" in namespace "
			"\"%.100s\", and no decision about one",
			subject->name, api_client_namespace(client));
	}
	if (state < 0) {
		buffer_printf(&out, "%s %s/%s is gone.\n",
			subject->is_pod ? "Pod" : "VM",
			api_client_namespace(client), subject->name);
	}
	if (output_is_table(list->output)) {
		put_decisions(&out, list, subject);
	} else {
		buffer_clear(&out);
		decision_list_write(&out, list);
	}
	terminal_print(&out);
	return 0;
}

static int why_run(struct api_client *client, struct error *err)
{
	static const unsigned limit[] = { 1, DECISION_LIST_MAX };
	struct decision_list list = { 0 };
	struct subject subject = { 0 };
	unsigned max;
	int r;

	if (read_subject(&subject, client->flags, err) < 0 ||
		output_of(&list.output, client->flags, err) < 0 ||
		flags_number(&max, client->flags, FLAG_LIMIT, limit, err) < 0) {
		return COMMAND_USAGE;
	}
	list.max = max;
	r = explain(&list, client, &subject, err);
	decision_list_fini(&list);
	return r;
}

const struct command why_command = {
	.name = "why",
	.usage = "why (VM | POD | vm/VM | pod/POD) [options]",
	.summary = "Explain where a VM or pod was placed, or why it waits",
	.text = " Shows the state of the VM or pod and the scheduler's last "
		"decisions about it in\n words: the chosen node, the reason, "
		"and the nodes that were not feasible. With -o wide\n also the "
		"scores of the best nodes. Of a VM that runs, also how many "
		"other nodes it\n can reach.",
	.examples =
		"  # Why is this VM where it is, or why is it pending?\n"
		"  kubectl plimsoll why web-1 -n shop\n\n"
		"  # The last ten decisions about a pod, with scores\n"
		"  kubectl plimsoll why pod/virt-launcher-web-1-x7k2p "
		"--limit=10 -o wide",
	.flags = FLAG_BIT(FLAG_LIMIT) | FLAG_BIT(FLAG_OUTPUT),
	.run = why_run,
	.completes = "vm",
};
