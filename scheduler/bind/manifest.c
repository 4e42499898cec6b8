#include "scheduler/bind/manifest.h"

#include "lib/clock.h"
#include "lib/json.h"
#include "lib/memory.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

enum { INSTANCE_MAX = 128, NAME_MAX_LEN = 230 };

void api_binding(struct buffer *out, const struct pod *pod, const char *node,
	const char *decision)
{
	struct json j = json_into(out);

	json_object(&j, NULL);
	json_string(&j, "apiVersion", "v1");
	json_string(&j, "kind", "Binding");
	json_object(&j, "metadata");
	json_string(&j, "name", pod->name);
	json_string(&j, "namespace", pod->namespace);
	json_string(&j, "uid", pod->uid);
	json_object(&j, "annotations");
	json_string(&j, "plimsoll.io/decision", decision);
	json_object_end(&j);
	json_object_end(&j);
	json_object(&j, "target");
	json_string(&j, "apiVersion", "v1");
	json_string(&j, "kind", "Node");
	json_string(&j, "name", node);
	json_object_end(&j);
	json_object_end(&j);
}

void api_condition(struct buffer *out, const struct pod *pod,
	const char *reason, const char *message, uint64_t wall_us)
{
	struct json j = json_into(out);
	char when[CLOCK_TEXT_MAX];

	/* metav1.Time has whole seconds. */
	clock_text(when, wall_us);
	(void)memcpy(when + 19, "Z", 2);
	json_object(&j, NULL);
	json_object(&j, "metadata");
	json_string(&j, "uid", pod->uid);
	json_object_end(&j);
	json_object(&j, "status");
	json_array(&j, "conditions");
	json_object(&j, NULL);
	json_string(&j, "type", "PodScheduled");
	json_string(&j, "status", "False");
	json_string(&j, "reason", reason);
	json_string(&j, "message", message);
	json_null(&j, "lastProbeTime");
	json_string(&j, "lastTransitionTime", when);
	if (pod->generation > 0) {
		json_integer(&j, "observedGeneration", pod->generation);
	}
	json_object_end(&j);
	json_array_end(&j);
	json_object_end(&j);
	json_object_end(&j);
}

/* metadata of a patch, left open for annotations. */
static void begin_patch(struct json *j, const char *uid,
	const char *resource_version)
{
	json_object(j, NULL);
	json_object(j, "metadata");
	json_string(j, "uid", uid);
	json_string(j, "resourceVersion", resource_version);
}

static void put_note(struct json *j, const char *key, const char *text)
{
	json_object(j, "annotations");
	json_string(j, key, text);
	json_object_end(j);
}

/* A volume that somebody meant for this claim keeps saying so; one we chose
 * says that a controller did. */
static bool is_meant_for(const struct volume *volume, const struct claim *claim)
{
	return volume->claim_name != NULL &&
		strcmp(volume->claim_name, claim->name) == 0 &&
		strcmp(volume->claim_namespace, claim->namespace_name) == 0;
}

void api_volume_claim(struct buffer *out, const struct volume *volume,
	const struct claim *claim)
{
	struct json j = json_into(out);

	begin_patch(&j, volume->uid, volume->resource_version);
	if (!is_meant_for(volume, claim)) {
		put_note(&j, "pv.kubernetes.io/bound-by-controller", "yes");
	}
	json_object_end(&j);
	json_object(&j, "spec");
	json_object(&j, "claimRef");
	json_string(&j, "apiVersion", "v1");
	json_string(&j, "kind", "PersistentVolumeClaim");
	json_string(&j, "namespace", claim->namespace_name);
	json_string(&j, "name", claim->name);
	json_string(&j, "uid", claim->uid);
	json_string(&j, "resourceVersion", claim->resource_version);
	json_object_end(&j);
	json_object_end(&j);
	json_object_end(&j);
}

void api_selected_node(struct buffer *out, const struct claim *claim,
	const char *node)
{
	struct json j = json_into(out);

	begin_patch(&j, claim->uid, claim->resource_version);
	put_note(&j, "volume.kubernetes.io/selected-node", node);
	json_object_end(&j);
	json_object_end(&j);
}

/* Unique as client-go makes them: the pod's name and the time in hex. */
static char *event_name(const struct api_event *event)
{
	return xasprintf("%.*s.%llx", NAME_MAX_LEN, event->pod->name,
		(unsigned long long)event->wall_us * 1000);
}

static void put_regarding(struct json *j, const struct pod *pod)
{
	json_object(j, "regarding");
	json_string(j, "apiVersion", "v1");
	json_string(j, "kind", "Pod");
	json_string(j, "namespace", pod->namespace);
	json_string(j, "name", pod->name);
	json_string(j, "uid", pod->uid);
	json_string(j, "resourceVersion", pod->resource_version);
	json_object_end(j);
}

/* Cut where a UTF-8 character begins. */
static char *cut_note(const char *note)
{
	size_t len = strnlen(note, API_NOTE_MAX);
	char *cut;

	if (note[len] == '\0') {
		return xstrdup(note);
	}
	len = API_NOTE_MAX - 4;
	while (len > 0 && ((unsigned char)note[len] & 0xc0) == 0x80) {
		len--;
	}
	cut = xasprintf("%.*s ...", (int)len, note);
	return cut;
}

void api_event(struct buffer *out, const struct api_event *event)
{
	struct json j = json_into(out);
	char when[CLOCK_TEXT_MAX];
	scoped_free char *name = event_name(event);
	scoped_free char *note = cut_note(event->note);
	scoped_free char *instance = xstrndup(event->instance, INSTANCE_MAX);

	json_object(&j, NULL);
	json_string(&j, "apiVersion", "events.k8s.io/v1");
	json_string(&j, "kind", "Event");
	json_object(&j, "metadata");
	json_string(&j, "name", name);
	json_string(&j, "namespace", event->pod->namespace);
	json_object_end(&j);
	json_string(&j, "eventTime", clock_text(when, event->wall_us));
	json_string(&j, "reportingController", event->reporter);
	json_string(&j, "reportingInstance", instance);
	json_string(&j, "action",
		event->is_scheduled ? "Binding" : "Scheduling");
	json_string(&j, "reason",
		event->is_scheduled ? "Scheduled" : "FailedScheduling");
	json_string(&j, "type", event->is_scheduled ? "Normal" : "Warning");
	put_regarding(&j, event->pod);
	json_string(&j, "note", note);
	json_object_end(&j);
}
