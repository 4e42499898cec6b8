#include "scheduler/objects/taint.h"

#include <errno.h>

#include "tests/unit/scheduler/given.h"

struct read {
	struct interner *interner;
	struct taints taints;
	struct tolerations tolerations;
};

static struct read read_both(const char *taints, const char *tolerations)
{
	struct read read = { .interner = interner_new() };
	struct json_value *a = given_json(taints);
	struct json_value *b = given_json(tolerations);

	assert_int_equal(taints_read(&read.taints, read.interner, a, NULL), 0);
	assert_int_equal(
		tolerations_read(&read.tolerations, read.interner, b, NULL), 0);
	json_value_free(a);
	json_value_free(b);
	return read;
}

static void read_fini(struct read *read)
{
	taints_fini(&read->taints, read->interner);
	tolerations_fini(&read->tolerations, read->interner);
	interner_free(read->interner);
}

/* The table of core/v1's Toleration.ToleratesTaint(), for a taint k=v. */
static const struct {
	const char *toleration, *effect;
	bool is_tolerated;
} matches[] = {
	{ "{'key':'k','value':'v'}", "NoSchedule", true },
	{ "{'key':'k','operator':'Equal','value':'v',"
	  "'effect':'NoSchedule'}",
		"NoSchedule", true },
	{ "{'key':'k','operator':'','value':'v'}", "NoExecute", true },
	{ "{'key':'k','value':'w'}", "NoSchedule", false },
	{ "{'key':'k'}", "NoSchedule", false },
	{ "{'key':'j','value':'v'}", "NoSchedule", false },
	{ "{'key':'k','operator':'Exists'}", "NoSchedule", true },
	{ "{'key':'j','operator':'Exists'}", "NoSchedule", false },
	{ "{'operator':'Exists'}", "NoExecute", true },
	{ "{'operator':'Exists','effect':'NoExecute'}", "NoSchedule", false },
	{ "{'value':'v'}", "NoSchedule", true },
	{ "{'key':'k','operator':'Gt','value':'v'}", "NoSchedule", false },
	{ "{'key':'k','operator':'exists'}", "NoSchedule", false },
	{ "{'operator':'Exists','effect':'Other'}", "NoSchedule", false },
	{ "{'key':'j'}", "PreferNoSchedule", true },
	{ "{'key':'j'}", "Other", true },
};

static void tolerates_exactly_like_upstream(void **state)
{
	(void)state;
	for (size_t i = 0; i < count_of(matches); i++) {
		scoped_free char *taints =
			xasprintf("[{'key':'k','value':'v','effect':'%s'}]",
				matches[i].effect);
		scoped_free char *list =
			xasprintf("[%s]", matches[i].toleration);
		struct read read = read_both(taints, list);

		given_check(taints_tolerated(&read.taints, &read.tolerations) ==
				matches[i].is_tolerated,
			matches[i].toleration);
		read_fini(&read);
	}
}

static void requires_a_toleration_for_every_taint(void **state)
{
	struct read read = read_both(
		"[{'key':'a','effect':'NoSchedule'},"
		"{'key':'b','effect':'NoExecute'}]",
		"[{'key':'a','operator':'Exists'}]");

	(void)state;
	assert_false(taints_tolerated(&read.taints, &read.tolerations));
	read_fini(&read);
}

static void counts_intolerable_prefer_no_schedule_taints(void **state)
{
	struct read read = read_both(
		"[{'key':'a','effect':'PreferNoSchedule'},"
		"{'key':'b','effect':'PreferNoSchedule'},"
		"{'key':'c','effect':'PreferNoSchedule'},"
		"{'key':'d','effect':'NoSchedule'}]",
		"[{'key':'a','operator':'Exists'},"
		"{'key':'b','operator':'Exists','effect':'NoSchedule'}]");

	(void)state;
	assert_int_equal(
		taints_count_intolerable(&read.taints, &read.tolerations), 2);
	read_fini(&read);
}

static void taints_that_pass_are_not_those_of_people(void **state)
{
	static const struct {
		const char *key;
		bool is_passing;
	} cases[] = {
		{ "node.kubernetes.io/not-ready", true },
		{ "node.kubernetes.io/unschedulable", true },
		{ "node.cloudprovider.kubernetes.io/shutdown", true },
		{ "kubevirt.io/drain", true },
		{ "kubevirt.io/drained", false },
		{ "node-role.kubernetes.io/control-plane", false },
		{ "team", false },
		{ "my.node.kubernetes.io/x", false },
	};

	(void)state;
	for (size_t i = 0; i < count_of(cases); i++) {
		scoped_free char *taints = xasprintf(
			"[{'key':'%s','effect':'NoExecute'}]", cases[i].key);
		struct read read = read_both(taints, "[]");

		assert_false(taints_tolerated(&read.taints, &read.tolerations));
		assert_int_equal(taints_of_people_tolerated(&read.taints,
					 &read.tolerations),
			cases[i].is_passing);
		read_fini(&read);
	}
}

static void detects_the_toleration_of_unschedulable_nodes(void **state)
{
	struct read none = read_both("[]", "[]");
	struct read all = read_both("[]", "[{'operator':'Exists'}]");
	struct read one = read_both("[]",
		"[{'key':'node.kubernetes.io/unschedulable',"
		"'operator':'Exists','effect':'NoSchedule'}]");
	struct read other = read_both("[]",
		"[{'key':'node.kubernetes.io/unschedulable',"
		"'operator':'Exists','effect':'NoExecute'}]");

	(void)state;
	assert_false(none.tolerations.has_unschedulable);
	assert_true(all.tolerations.has_unschedulable);
	assert_true(one.tolerations.has_unschedulable);
	assert_false(other.tolerations.has_unschedulable);
	read_fini(&none);
	read_fini(&all);
	read_fini(&one);
	read_fini(&other);
}

static void rejects_anything_but_a_list(void **state)
{
	struct interner *interner = interner_new();
	struct json_value *value = given_json("{'key':'a'}");
	struct taints taints;
	struct tolerations tolerations;

	(void)state;
	assert_int_equal(taints_read(&taints, interner, value, NULL), -EBADMSG);
	assert_int_equal(tolerations_read(&tolerations, interner, value, NULL),
		-EBADMSG);
	json_value_free(value);
	interner_free(interner);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(tolerates_exactly_like_upstream),
		cmocka_unit_test(requires_a_toleration_for_every_taint),
		cmocka_unit_test(counts_intolerable_prefer_no_schedule_taints),
		cmocka_unit_test(taints_that_pass_are_not_those_of_people),
		cmocka_unit_test(detects_the_toleration_of_unschedulable_nodes),
		cmocka_unit_test(rejects_anything_but_a_list),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
