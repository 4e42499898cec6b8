/* Prints the launcher pods that plimsoll derives for VMs, beside those that
 * KubeVirt renders: one line of JSON for each line of launcher-pods.
 *
 *     next_pods < CASES
 *
 * A line has the members start and target, each with `ours` and `theirs` in the
 * form of pod_form.h, or with the sentence why there is no pod; source, the pod
 * in which the VM runs; and attachment, which holds the target's hotplugged
 * volumes. */
#include "kube/json_value.h"
#include "kube/labels.h"
#include "lib/buffer.h"
#include "lib/error.h"
#include "lib/interner.h"
#include "lib/json.h"
#include "scheduler/launcher/launcher_settings.h"
#include "scheduler/launcher/launcher_spec.h"
#include "scheduler/launcher/launcher_vm.h"
#include "scheduler/launcher/next_pod.h"
#include "scheduler/objects/pod.h"
#include "tests/kubevirt/pod_form.h"

#include <stdio.h>
#include <stdlib.h>

enum { LINE_MAX_BYTES = 16 << 20 };

/* A scheduler keeps these from question to question, and so does this. */
struct room {
	struct interner *interner;
	struct launcher_templates templates;
};

/* A pod as the API server has it, or the sentence why it cannot be read. */
static void write_rendered(struct json *j, const char *key,
	const struct room *room, const struct json_value *object)
{
	struct error err;
	struct pod *pod = NULL;

	if (pod_new(&pod, room->interner, object, POD_UNSCHEDULED, &err) < 0) {
		json_string(j, key, err.text);
		return;
	}
	pod_form_write(j, key, pod);
	pod_free(pod);
}

static void write_start(struct json *j, const struct room *room,
	const struct json_value *line)
{
	struct launcher_settings settings;
	struct error err;
	struct pod *pod = NULL;
	scoped_buffer struct buffer derivation = BUFFER_MAX(LINE_MAX_BYTES);
	struct launcher_spec spec = {
		.kind = LAUNCHER_SPEC_VMI,
		.object = json_value_get(line, "startVmi"),
		.namespace = "vms",
		.interner = room->interner,
		.settings = &settings,
	};

	launcher_settings_read(&settings,
		json_value_get(line, "startKubevirt"));
	json_object(j, "start");
	if (launcher_spec_pod(&pod, &derivation, &spec, &err) < 0) {
		json_string(j, "ours", err.text);
	} else {
		pod_form_write(j, "ours", pod);
		pod_free(pod);
	}
	write_rendered(j, "theirs", room, json_value_get(line, "start"));
	json_object_end(j);
}

static void write_next(struct json *j, struct room *room,
	const struct next_pod_question *question)
{
	struct next_pod next = { 0 };
	scoped_buffer struct buffer why = BUFFER_MAX(LINE_MAX_BYTES);

	if (next_pod_derive(&next, &room->templates, question, &why)) {
		pod_form_write(j, "ours", &next.pod);
	} else {
		json_string(j, "ours", why.len == 0 ? "" : why.data);
	}
	next_pod_fini(&next);
}

static void write_target(struct json *j, struct room *room,
	const struct json_value *line)
{
	struct launcher_settings settings;
	struct launcher_vm vm = { 0 };
	struct labels source = { 0 };
	struct pod *running = NULL;
	struct error err;

	launcher_settings_read(&settings, json_value_get(line, "kubevirt"));
	launcher_vm_read(&vm, room->interner, json_value_get(line, "vmi"));
	json_object(j, "target");
	if (labels_read(&source, room->interner,
		    json_value_at(line, "node/metadata/labels"), &err) < 0 ||
		pod_new(&running, room->interner,
			json_value_get(line, "source"), POD_UNSCHEDULED,
			&err) < 0) {
		json_string(j, "ours", err.text);
	} else {
		write_next(j, room,
			&(struct next_pod_question){ .vm = &vm,
				.settings = &settings,
				.running = running,
				.source = &source });
	}
	write_rendered(j, "theirs", room, json_value_get(line, "target"));
	json_object_end(j);
	pod_free(running);
	labels_fini(&source, room->interner);
	launcher_vm_fini(&vm, room->interner);
}

static int answer(struct room *room, const char *text, size_t len)
{
	const struct json_value *attachment;
	struct json_value *line = NULL;
	struct error err;
	scoped_buffer struct buffer out = BUFFER_MAX(LINE_MAX_BYTES);
	struct json j = json_into(&out);

	if (json_value_parse(&line, text, len, &err) < 0) {
		(void)fprintf(stderr, "next_pods: %s\n", err.text);
		return -1;
	}
	json_object(&j, NULL);
	write_start(&j, room, line);
	write_target(&j, room, line);
	write_rendered(&j, "source", room, json_value_get(line, "source"));
	attachment = json_value_get(line, "attachment");
	if (json_value_is_object(attachment)) {
		write_rendered(&j, "attachment", room, attachment);
	}
	json_object_end(&j);
	json_value_free(line);
	(void)printf("%s\n", out.data);
	(void)fflush(stdout);
	return 0;
}

int main(void)
{
	struct interner *interner = interner_new();
	struct room room = { .interner = interner,
		.templates.interner = interner };
	char *text = NULL;
	size_t capacity = 0;
	ssize_t len;
	int r = 0;

	while (r == 0 && (len = getline(&text, &capacity, stdin)) > 0) {
		r = answer(&room, text, (size_t)len);
	}
	free(text);
	launcher_templates_fini(&room.templates);
	interner_free(interner);
	return r < 0 ? 1 : 0;
}
