#include "kubectl/pending.h"

#include "kube/json_value.h"
#include "kube/url_query.h"
#include "kubectl/api_client.h"
#include "kubectl/fields.h"
#include "kubectl/terminal.h"
#include "lib/buffer.h"
#include "lib/memory.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>

enum { PATH_MAX_BYTES = 4 << 10 };

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

int pending_pod(struct buffer *out, struct api_client *client, const char *name,
	struct error *err)
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

static void put_instance(struct buffer *out, struct api_client *client,
	const struct json_value *vmi, const char *name)
{
	scoped_free char *phase = field_text(vmi, "status/phase", "Pending");
	scoped_free char *node = field_text(vmi, "status/nodeName", "");

	buffer_printf(out, "VM %s/%s is %s%s%s.\n",
		api_client_namespace(client), name, phase,
		*node == '\0' ? "" : " on ", node);
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

int pending_vm(struct buffer *out, struct api_client *client, const char *name,
	struct error *err)
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
