#include "scheduler/bind/manifest.h"

#include "kube/json_value.h"
#include "lib/memory.h"
#include "tests/support/cm.h"

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

static struct value *parse(struct buffer *text)
{
	struct value *value = NULL;
	struct error err;

	assert_false(text->overflowed);
	if (value_parse(&value, text->data, text->len, &err) < 0) {
		fail_msg("%s: %s", err.text, text->data);
	}
	buffer_fini(text);
	return value;
}

static void assert_text(const struct value *root, const char *path,
	const char *expected)
{
	assert_string_equal(value_text_at(root, path, "(none)"), expected);
}

static void a_binding_names_pod_uid_and_node(void **state)
{
	struct buffer out = BUFFER_MAX(65536);
	struct value *root;
	const struct value *annotations;
	(void)state;

	api_binding(&out, &pod, "node-1", "31 % CPU \"used\"");
	root = parse(&out);
	assert_text(root, "apiVersion", "v1");
	assert_text(root, "kind", "Binding");
	assert_text(root, "metadata/name", "virt-launcher-a");
	assert_text(root, "metadata/namespace", "vms");
	assert_text(root, "metadata/uid", "u-1");
	assert_text(root, "target/kind", "Node");
	assert_text(root, "target/name", "node-1");
	annotations = value_at(root, "metadata/annotations");
	assert_string_equal(
		value_text(value_get(annotations, "plimsoll.io/decision")),
		"31 % CPU \"used\"");
	value_free(root);
}

static void a_condition_is_a_patch_of_one_entry(void **state)
{
	struct buffer out = BUFFER_MAX(65536);
	struct value *root;
	const struct value *condition;
	double generation = 0;
	(void)state;

	api_condition(&out, &pod, "Unschedulable", "0/3 nodes", WALL);
	root = parse(&out);
	assert_text(root, "metadata/uid", "u-1");
	condition = value_first(value_at(root, "status/conditions"));
	assert_null(value_next(condition));
	assert_text(condition, "type", "PodScheduled");
	assert_text(condition, "status", "False");
	assert_text(condition, "reason", "Unschedulable");
	assert_text(condition, "message", "0/3 nodes");
	/* metav1.Time is in whole seconds. */
	assert_text(condition, "lastTransitionTime", "2026-01-02T03:04:05Z");
	assert_true(value_number(&generation,
		value_get(condition, "observedGeneration")));
	assert_true(generation == 3);
	value_free(root);
}

static void a_volume_is_given_to_a_claim_by_a_patch(void **state)
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
	struct value *root;
	(void)state;

	api_volume_claim(&out, &volume, &claim);
	root = parse(&out);
	assert_text(root, "metadata/resourceVersion", "c");
	assert_text(root, "spec/claimRef/kind", "PersistentVolumeClaim");
	assert_text(root, "spec/claimRef/namespace", "x");
	assert_text(root, "spec/claimRef/uid", "c");
	assert_string_equal(
		value_text(value_get(value_at(root, "metadata/annotations"),
			mark)),
		"yes");
	value_free(root);

	/* Somebody else has meant it for the claim: nobody claims it did. */
	volume.claim_namespace = space;
	volume.claim_name = text;
	volume.claim_uid = none;
	api_volume_claim(&out, &volume, &claim);
	root = parse(&out);
	assert_null(value_at(root, "metadata/annotations"));
	assert_text(root, "spec/claimRef/uid", "c");
	value_free(root);

	api_selected_node(&out, &claim, "n1");
	root = parse(&out);
	assert_text(root, "metadata/uid", "c");
	assert_string_equal(
		value_text(value_get(value_at(root, "metadata/annotations"),
			"volume.kubernetes.io/selected-node")),
		"n1");
	value_free(root);
}

static void an_event_has_all_that_events_k8s_io_asks_for(void **state)
{
	struct buffer out = BUFFER_MAX(65536);
	char instance[200];
	struct api_event event = {
		.pod = &pod,
		.reporter = "plimsoll-scheduler",
		.instance = instance,
		.is_scheduled = true,
		.note = "Successfully assigned",
		.wall_us = WALL,
	};
	struct value *root;
	(void)state;

	memset(instance, 'i', sizeof(instance));
	instance[sizeof(instance) - 1] = '\0';
	api_event(&out, &event);
	root = parse(&out);
	assert_text(root, "metadata/namespace", "vms");
	assert_text(root, "eventTime", "2026-01-02T03:04:05.678901Z");
	assert_text(root, "reportingController", "plimsoll-scheduler");
	assert_int_equal(strlen(value_text_at(root, "reportingInstance", "")),
		128);
	assert_text(root, "action", "Binding");
	assert_text(root, "reason", "Scheduled");
	assert_text(root, "type", "Normal");
	assert_text(root, "regarding/uid", "u-1");
	assert_text(root, "regarding/resourceVersion", "42");
	assert_text(root, "note", "Successfully assigned");
	value_free(root);
}

static void a_long_note_is_cut_between_characters(void **state)
{
	struct buffer out = BUFFER_MAX(65536);
	char note[3000];
	struct api_event event = {
		.pod = &pod,
		.reporter = "s",
		.instance = "i",
		.note = note,
		.wall_us = WALL,
	};
	struct value *root;
	const char *cut;
	(void)state;

	/* Two-byte characters behind one byte, so that a cut at an even place
	 * would split one. */
	for (size_t i = 0; i + 1 < sizeof(note); i++) {
		note[i] = "\xa9\xc3"[i % 2];
	}
	note[0] = 'x';
	note[sizeof(note) - 1] = '\0';
	api_event(&out, &event);
	root = parse(&out);
	cut = value_text_at(root, "note", "");
	assert_true(strlen(cut) <= API_NOTE_MAX);
	assert_true(strlen(cut) > API_NOTE_MAX - 8);
	assert_string_equal(cut + strlen(cut) - 6, "\xc3\xa9 ...");
	assert_text(root, "reason", "FailedScheduling");
	assert_text(root, "type", "Warning");
	value_free(root);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_binding_names_pod_uid_and_node),
		cmocka_unit_test(a_condition_is_a_patch_of_one_entry),
		cmocka_unit_test(a_volume_is_given_to_a_claim_by_a_patch),
		cmocka_unit_test(an_event_has_all_that_events_k8s_io_asks_for),
		cmocka_unit_test(a_long_note_is_cut_between_characters),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
