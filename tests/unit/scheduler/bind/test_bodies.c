#include "scheduler/bind/bodies.h"

#include "kube/json_value.h"
#include "lib/memory.h"
#include "tests/support/cm.h"
#include "tests/support/golden.h"

#include <string.h>

static char namespace[] = "vms", name[] = "virt-launcher-a", uid[] = "u-1",
	    version[] = "42";

static const struct pod pod = {
	.namespace = namespace,
	.name = name,
	.uid = uid,
	.resource_version = version,
	.generation = 3,
};

/* 2026-01-02T03:04:05.678901Z */
#define WALL UINT64_C(1767323045678901)

static struct json_value *parse(struct buffer *text)
{
	struct json_value *value = NULL;
	struct error err;

	assert_false(text->overflowed);
	if (json_value_parse(&value, text->data, text->len, &err) < 0) {
		fail_msg("%s: %s", err.text, text->data);
	}
	buffer_fini(text);
	return value;
}

static void assert_text(const struct json_value *root, const char *path,
	const char *expected)
{
	assert_string_equal(json_value_text_at(root, path, "(none)"), expected);
}

static void a_binding_names_the_pod_its_uid_and_the_node(void **state)
{
	struct buffer out = BUFFER_MAX(65536);
	struct json_value *root;
	const struct json_value *annotations;
	(void)state;

	body_binding(&out, &pod, "node-1", "31 % CPU \"used\"");
	root = parse(&out);
	assert_text(root, "apiVersion", "v1");
	assert_text(root, "kind", "Binding");
	assert_text(root, "metadata/name", "virt-launcher-a");
	assert_text(root, "metadata/namespace", "vms");
	assert_text(root, "metadata/uid", "u-1");
	assert_text(root, "target/kind", "Node");
	assert_text(root, "target/name", "node-1");
	annotations = json_value_at(root, "metadata/annotations");
	assert_string_equal(json_value_text(json_value_get(annotations,
				    "plimsoll.io/decision")),
		"31 % CPU \"used\"");
	json_value_free(root);
}

static void a_condition_is_a_patch_with_one_entry(void **state)
{
	struct buffer out = BUFFER_MAX(65536);
	struct json_value *root;
	const struct json_value *condition;
	double generation = 0;
	(void)state;

	body_condition(&out, &pod, "Unschedulable", "0/3 nodes", WALL);
	root = parse(&out);
	assert_text(root, "metadata/uid", "u-1");
	condition = json_value_first(json_value_at(root, "status/conditions"));
	assert_null(json_value_next(condition));
	assert_text(condition, "type", "PodScheduled");
	assert_text(condition, "status", "False");
	assert_text(condition, "reason", "Unschedulable");
	assert_text(condition, "message", "0/3 nodes");
	/* metav1.Time is in whole seconds. */
	assert_text(condition, "lastTransitionTime", "2026-01-02T03:04:05Z");
	assert_true(json_value_number(&generation,
		json_value_get(condition, "observedGeneration")));
	assert_true(generation == 3);
	json_value_free(root);
}

static void a_pod_without_a_generation_has_no_observed_one(void **state)
{
	struct buffer out = BUFFER_MAX(65536);
	struct pod old = pod;
	struct json_value *root;
	(void)state;

	old.generation = 0;
	body_condition(&out, &old, "Unschedulable", "0/3 nodes", WALL);
	root = parse(&out);
	assert_null(json_value_get(
		json_value_first(json_value_at(root, "status/conditions")),
		"observedGeneration"));
	json_value_free(root);
}

static void patches_volumes_and_claims(void **state)
{
	struct buffer out = BUFFER_MAX(65536);
	char text[] = "c";
	char space[] = "x";
	char none[] = "";
	struct claim claim = {
		.namespace_name = space,
		.name = text,
		.uid = text,
		.resource_version = text,
	};
	struct volume volume = { .uid = text, .resource_version = text };
	static const char mark[] = "pv.kubernetes.io/bound-by-controller";
	struct json_value *root;
	(void)state;

	body_volume_claim(&out, &volume, &claim);
	root = parse(&out);
	assert_text(root, "metadata/resourceVersion", "c");
	assert_text(root, "spec/claimRef/kind", "PersistentVolumeClaim");
	assert_text(root, "spec/claimRef/namespace", "x");
	assert_text(root, "spec/claimRef/uid", "c");
	assert_string_equal(
		json_value_text(json_value_get(
			json_value_at(root, "metadata/annotations"), mark)),
		"yes");
	json_value_free(root);

	/* An administrator reserved the volume: no annotation. */
	volume.claim_namespace = space;
	volume.claim_name = text;
	volume.claim_uid = none;
	body_volume_claim(&out, &volume, &claim);
	root = parse(&out);
	assert_null(json_value_at(root, "metadata/annotations"));
	assert_text(root, "spec/claimRef/uid", "c");
	json_value_free(root);

	body_selected_node(&out, &claim, "n1");
	root = parse(&out);
	assert_text(root, "metadata/uid", "c");
	assert_string_equal(json_value_text(json_value_get(
				    json_value_at(root, "metadata/annotations"),
				    "volume.kubernetes.io/selected-node")),
		"n1");
	json_value_free(root);
}

static void an_event_has_all_fields_of_events_k8s_io(void **state)
{
	struct buffer out = BUFFER_MAX(65536);
	char instance[200];
	struct body_event event = {
		.pod = &pod,
		.controller = "plimsoll-scheduler",
		.instance = instance,
		.action = "Binding",
		.reason = "Scheduled",
		.note = "Successfully assigned",
		.wall_us = WALL,
	};
	struct json_value *root;
	(void)state;

	memset(instance, 'i', sizeof(instance));
	instance[sizeof(instance) - 1] = '\0';
	body_event(&out, &event);
	root = parse(&out);
	assert_text(root, "metadata/namespace", "vms");
	assert_text(root, "eventTime", "2026-01-02T03:04:05.678901Z");
	assert_text(root, "reportingController", "plimsoll-scheduler");
	assert_int_equal(
		strlen(json_value_text_at(root, "reportingInstance", "")), 128);
	assert_text(root, "action", "Binding");
	assert_text(root, "reason", "Scheduled");
	assert_text(root, "type", "Normal");
	assert_text(root, "regarding/uid", "u-1");
	assert_text(root, "regarding/resourceVersion", "42");
	assert_text(root, "note", "Successfully assigned");
	json_value_free(root);
}

static void a_long_note_is_cut_between_characters(void **state)
{
	struct buffer out = BUFFER_MAX(65536);
	char note[3000];
	struct body_event event = {
		.pod = &pod,
		.controller = "s",
		.instance = "i",
		.action = "Scheduling",
		.reason = "FailedScheduling",
		.is_warning = true,
		.note = note,
		.wall_us = WALL,
	};
	struct json_value *root;
	const char *cut;
	(void)state;

	/* Two-byte characters behind one byte, so that a cut at an even offset
	 * would split one. */
	for (size_t i = 0; i + 1 < sizeof(note); i++) {
		note[i] = "\xa9\xc3"[i % 2];
	}
	note[0] = 'x';
	note[sizeof(note) - 1] = '\0';
	body_event(&out, &event);
	root = parse(&out);
	cut = json_value_text_at(root, "note", "");
	assert_true(strlen(cut) <= BODY_NOTE_MAX);
	assert_true(strlen(cut) > BODY_NOTE_MAX - 8);
	assert_string_equal(cut + strlen(cut) - 6, "\xc3\xa9 ...");
	assert_text(root, "reason", "FailedScheduling");
	assert_text(root, "type", "Warning");
	json_value_free(root);
}

static void add_events(struct buffer *out)
{
	const struct body_event event = { .pod = &pod,
		.controller = "plimsoll-scheduler",
		.instance = "host-1",
		.action = "Binding",
		.reason = "Scheduled",
		.note = "Successfully assigned",
		.wall_us = WALL };
	const struct body_vmi_event vmi_event = { .namespace = "vms",
		.name = "web",
		.uid = "vmi-1",
		.controller = "plimsoll-scheduler",
		.instance = "host-1",
		.action = "Moving",
		.reason = "MoveFailed",
		.note = "no node",
		.is_warning = true,
		.wall_us = WALL };

	body_event(out, &event);
	buffer_char(out, '\n');
	body_vmi_event(out, &vmi_event);
	buffer_char(out, '\n');
}

/* The API server gets exactly these members. */
static void the_bodies_stay_as_they_are(void **state)
{
	char claim_space[] = "ns", claim_name[] = "data", claim_uid[] = "c-1",
	     claim_version[] = "7", volume_uid[] = "v-1",
	     volume_version[] = "8";
	const struct claim claim = { .namespace_name = claim_space,
		.name = claim_name,
		.uid = claim_uid,
		.resource_version = claim_version };
	struct volume volume = { .uid = volume_uid,
		.resource_version = volume_version };
	struct buffer out = BUFFER_MAX(65536);
	(void)state;

	body_binding(&out, &pod, "node-1", "31 % CPU");
	buffer_char(&out, '\n');
	body_condition(&out, &pod, "Unschedulable", "0/3 nodes", WALL);
	buffer_char(&out, '\n');
	body_nomination(&out, &pod, "node-1");
	buffer_char(&out, '\n');
	body_nomination(&out, &pod, "");
	buffer_char(&out, '\n');
	body_volume_claim(&out, &volume, &claim);
	buffer_char(&out, '\n');
	/* Reserved for a claim of another namespace, and for this one. */
	volume.claim_name = claim_name;
	volume.claim_namespace = claim_name;
	body_volume_claim(&out, &volume, &claim);
	buffer_char(&out, '\n');
	volume.claim_namespace = claim_space;
	body_volume_claim(&out, &volume, &claim);
	buffer_char(&out, '\n');
	body_selected_node(&out, &claim, "node-1");
	buffer_char(&out, '\n');
	add_events(&out);
	assert_golden_json("scheduler/manifests.txt", out.data);
	buffer_fini(&out);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_binding_names_the_pod_its_uid_and_the_node),
		cmocka_unit_test(a_condition_is_a_patch_with_one_entry),
		cmocka_unit_test(
			a_pod_without_a_generation_has_no_observed_one),
		cmocka_unit_test(patches_volumes_and_claims),
		cmocka_unit_test(an_event_has_all_fields_of_events_k8s_io),
		cmocka_unit_test(a_long_note_is_cut_between_characters),
		cmocka_unit_test(the_bodies_stay_as_they_are),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
