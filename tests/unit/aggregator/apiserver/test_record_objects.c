#include "aggregator/apiserver/record_objects.h"

#include "lib/memory.h"
#include "tests/support/cm.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct decision_record *made_decision(void)
{
	struct decision_record *r = xcalloc(1, sizeof(*r));

	(void)snprintf(r->namespace, sizeof(r->namespace), "shop");
	(void)snprintf(r->pod, sizeof(r->pod), "virt-launcher-web.x");
	(void)snprintf(r->sentence, sizeof(r->sentence),
		"0/2 nodes are available. plimsoll can make room: bank/vault");
	r->wall_us = 0x5f00aa;
	r->margin = NAN;
	r->decided_points = NAN;
	r->best_count = 1;
	(void)snprintf(r->best[0].node, sizeof(r->best[0].node), "n1");
	r->best[0].score = 71;
	r->best[0].cpu_used = NAN;
	r->best[0].load_age_us = REPORT_UNKNOWN;
	r->best[0].term_count = 1;
	r->best[0].terms[0] = (struct decision_term){ "cpu", 40 };
	r->rejection_count = 1;
	(void)snprintf(r->rejections[0].reason, sizeof(r->rejections[0].reason),
		"node(s) didn't match Pod's node affinity/selector");
	r->rejections[0].nodes = 2;
	assert_true(decision_add_name(r, "n2"));
	return r;
}

static void a_decision_has_no_others_names(void **state)
{
	scoped_free struct decision_record *record = made_decision();
	scoped_free struct decision_object *object =
		xcalloc(1, sizeof(*object));
	scoped_buffer struct buffer out = BUFFER_MAX(65536);
	struct json j = json_into(&out);

	(void)state;
	decision_object_fill(object, record);
	json_object(&j, NULL);
	api_model_write(&j, &decision_model, object);
	json_object_end(&j);
	assert_null(strstr(out.data, "vault"));
	assert_non_null(strstr(out.data, "Pod's node affinity/selector\""));
	assert_non_null(strstr(out.data, "\"terms\":{\"cpu\":40}"));
	assert_non_null(strstr(out.data, "\"names\":[\"n2\"]"));
	assert_null(strstr(out.data, "loadAgeSeconds"));
	assert_null(strstr(out.data, "margin"));
	decision_object_fini(object);
}

static void a_decision_is_found_by_its_name(void **state)
{
	scoped_free struct decision_record *record = made_decision();
	scoped_free struct decision_object *object =
		xcalloc(1, sizeof(*object));
	static const char *const wrong[] = { "", ".1f", "a.", "a.x", "a.1F",
		"a.1234567890123456", "a" };
	char pod[DECISION_NAME_MAX];
	uint64_t wall_us = 0;

	(void)state;
	decision_object_fill(object, record);
	assert_string_equal(object->name, "virt-launcher-web.x.5f00aa");
	assert_true(decision_object_parse_name(pod, &wall_us, object->name));
	assert_string_equal(pod, record->pod);
	assert_true(wall_us == record->wall_us);
	for (size_t i = 0; i < count_of(wrong); i++) {
		assert_false(
			decision_object_parse_name(pod, &wall_us, wrong[i]));
	}
	decision_object_fini(object);
}

static void a_move_does_not_say_whom_it_makes_room_for(void **state)
{
	struct move_record record = { .namespace = "shop",
		.vm = "web",
		.reason = MOVE_FOR_ROOM,
		.room_for = "bank/vault",
		.sentence = "makes room for bank/vault on n1",
		.failure = "gave up: bank/vault does not fit" };
	scoped_buffer struct buffer out = BUFFER_MAX(65536);
	struct json j = json_into(&out);
	struct move_object object;

	(void)state;
	move_object_fill(&object, &record);
	json_object(&j, NULL);
	api_model_write(&j, &move_model, &object);
	json_object_end(&j);
	assert_null(strstr(out.data, "vault"));
	assert_non_null(
		strstr(out.data, "\"roomFor\":\"a pod of another namespace\""));
	move_object_fini(&object);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_decision_has_no_others_names),
		cmocka_unit_test(a_decision_is_found_by_its_name),
		cmocka_unit_test(a_move_does_not_say_whom_it_makes_room_for),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
