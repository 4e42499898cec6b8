#include "scheduler/bind/bodies.h"

#include "lib/clock.h"
#include "lib/json.h"
#include "lib/memory.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

enum { INSTANCE_MAX = 128, NAME_MAX_LEN = 230 };

void body_binding(struct buffer *out, const struct pod *pod, const char *node,
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

void body_condition(struct buffer *out, const struct pod *pod,
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

void body_nomination(struct buffer *out, const struct pod *pod,
	const char *node)
{
	struct json j = json_into(out);

	json_object(&j, NULL);
	json_object(&j, "metadata");
	json_string(&j, "uid", pod->uid);
	json_object_end(&j);
	json_object(&j, "status");
	if (*node == '\0') {
		json_null(&j, "nominatedNodeName");
	} else {
		json_string(&j, "nominatedNodeName", node);
	}
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

struct reference {
	const char *kind, *namespace, *name, *uid, *resource_version;
};

static void put_reference(struct json *j, const char *key, struct reference to)
{
	json_object(j, key);
	json_string(j, "apiVersion", "v1");
	json_string(j, "kind", to.kind);
	json_string(j, "namespace", to.namespace);
	json_string(j, "name", to.name);
	json_string(j, "uid", to.uid);
	json_string(j, "resourceVersion", to.resource_version);
	json_object_end(j);
}

/* True if an administrator reserved the volume for this claim. A volume that
 * the scheduler chose is marked as bound by a controller. */
static bool is_reserved_for(const struct volume *volume,
	const struct claim *claim)
{
	return volume->claim_name != NULL &&
		strcmp(volume->claim_name, claim->name) == 0 &&
		strcmp(volume->claim_namespace, claim->namespace_name) == 0;
}

void body_volume_claim(struct buffer *out, const struct volume *volume,
	const struct claim *claim)
{
	struct json j = json_into(out);

	begin_patch(&j, volume->uid, volume->resource_version);
	if (!is_reserved_for(volume, claim)) {
		put_note(&j, "pv.kubernetes.io/bound-by-controller", "yes");
	}
	json_object_end(&j);
	json_object(&j, "spec");
	put_reference(&j, "claimRef",
		(struct reference){ "PersistentVolumeClaim",
			claim->namespace_name, claim->name, claim->uid,
			claim->resource_version });
	json_object_end(&j);
	json_object_end(&j);
}

void body_selected_node(struct buffer *out, const struct claim *claim,
	const char *node)
{
	struct json j = json_into(out);

	begin_patch(&j, claim->uid, claim->resource_version);
	put_note(&j, "volume.kubernetes.io/selected-node", node);
	json_object_end(&j);
	json_object_end(&j);
}

/* Unique as client-go makes them: the pod's name and the time in hex. */
static char *event_name(const char *name, uint64_t wall_us)
{
	return xasprintf("%.*s.%llx", NAME_MAX_LEN, name,
		(unsigned long long)wall_us * 1000);
}

/* Cuts the note between two UTF-8 characters. */
static char *cut_note(const char *note)
{
	size_t len = strnlen(note, BODY_NOTE_MAX);

	if (note[len] == '\0') {
		return xstrdup(note);
	}
	len = BODY_NOTE_MAX - 4;
	while (len > 0 && ((unsigned char)note[len] & 0xc0) == 0x80) {
		len--;
	}
	return xasprintf("%.*s ...", (int)len, note);
}

struct event_head {
	const char *name, *namespace, *controller, *instance;
	uint64_t wall_us;
};

/* The parts that all events have; the object is left open. */
static void begin_event(struct json *j, const struct event_head *head)
{
	scoped_free char *instance = xstrndup(head->instance, INSTANCE_MAX);
	char when[CLOCK_TEXT_MAX];

	json_object(j, NULL);
	json_string(j, "apiVersion", "events.k8s.io/v1");
	json_string(j, "kind", "Event");
	json_object(j, "metadata");
	json_string(j, "name", head->name);
	json_string(j, "namespace", head->namespace);
	json_object_end(j);
	json_string(j, "eventTime", clock_text(when, head->wall_us));
	json_string(j, "reportingController", head->controller);
	json_string(j, "reportingInstance", instance);
}

void body_event(struct buffer *out, const struct body_event *event)
{
	const struct pod *pod = event->pod;
	struct json j = json_into(out);
	scoped_free char *name = event_name(pod->name, event->wall_us);
	scoped_free char *note = cut_note(event->note);

	begin_event(&j,
		&(struct event_head){ name, pod->namespace, event->controller,
			event->instance, event->wall_us });
	json_string(&j, "action", event->action);
	json_string(&j, "reason", event->reason);
	json_string(&j, "type", event->is_warning ? "Warning" : "Normal");
	put_reference(&j, "regarding",
		(struct reference){ "Pod", pod->namespace, pod->name, pod->uid,
			pod->resource_version });
	json_string(&j, "note", note);
	json_object_end(&j);
}

void body_vmi_event(struct buffer *out, const struct body_vmi_event *event)
{
	struct json j = json_into(out);
	scoped_free char *name = event_name(event->name, event->wall_us);
	scoped_free char *note = cut_note(event->note);

	begin_event(&j,
		&(struct event_head){ name, event->namespace, event->controller,
			event->instance, event->wall_us });
	json_string(&j, "action", event->action);
	json_string(&j, "reason", event->reason);
	json_string(&j, "type", event->is_warning ? "Warning" : "Normal");
	json_object(&j, "regarding");
	json_string(&j, "apiVersion", "kubevirt.io/v1");
	json_string(&j, "kind", "VirtualMachineInstance");
	json_string(&j, "namespace", event->namespace);
	json_string(&j, "name", event->name);
	json_string(&j, "uid", event->uid);
	json_object_end(&j);
	json_string(&j, "note", note);
	json_object_end(&j);
}
