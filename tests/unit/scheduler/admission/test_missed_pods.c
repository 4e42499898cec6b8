#include "scheduler/admission/missed_pods.h"

#include "tests/support/cm.h"
#include "tests/unit/scheduler/admission/given_namespace.h"

static struct {
	struct interner *interner;
	struct cluster cluster;
	struct labelled labelled;
	struct missed_pods pods;
} scene;

static int begin(void **state)
{
	(void)state;
	scene.interner = interner_new();
	cluster_init(&scene.cluster, scene.interner);
	labelled_init(&scene.labelled, &scene.cluster);
	given_namespace(&scene.cluster, "ours", "enabled");
	given_namespace(&scene.cluster, "other", NULL);
	return 0;
}

static int end(void **state)
{
	(void)state;
	missed_pods_fini(&scene.pods);
	labelled_fini(&scene.labelled);
	cluster_fini(&scene.cluster);
	interner_free(scene.interner);
	return 0;
}

enum when { BEFORE, WATCHED };

static enum missed_kind see_kind(const char *namespace, const char *name,
	enum when when, struct json_value *pod)
{
	const struct reflector_id id = { namespace, name, name };
	enum missed_kind kind = missed_pods_see(&scene.pods, &scene.labelled,
		&id, pod, when == WATCHED);

	json_value_free(pod);
	return kind;
}

static bool see(const char *namespace, const char *name, enum when when,
	struct json_value *pod)
{
	return see_kind(namespace, name, when, pod) == MISSED_NAME;
}

static struct json_value *unclaimed(void)
{
	return given_launcher("default-scheduler", "");
}

static void assert_counts(size_t missed, size_t earlier)
{
	struct missed_counts counts =
		missed_pods_count(&scene.pods, &scene.labelled);

	assert_int_equal(counts.missed, missed);
	assert_int_equal(counts.earlier, earlier);
}

static void a_new_pod_of_a_labelled_namespace_is_missed_once(void **state)
{
	(void)state;
	assert_true(see("ours", "a", WATCHED, unclaimed()));
	assert_false(see("ours", "a", WATCHED, unclaimed()));
	assert_counts(1, 0);
	assert_int_equal(scene.pods.total, 1);
	assert_string_equal(scene.pods.newest, "ours/a");
	missed_pods_gone(&scene.pods, "a");
	missed_pods_gone(&scene.pods, "unknown");
	assert_counts(0, 0);
	assert_int_equal(scene.pods.total, 1);
}

static void a_pod_that_somebody_chose_for_is_not_missed(void **state)
{
	(void)state;
	assert_false(see("ours", "a", WATCHED,
		given_launcher("plimsoll-scheduler", "")));
	assert_false(see("ours", "b", WATCHED,
		given_launcher("default-scheduler",
			",'plimsoll.io/schedule':'disabled'")));
	assert_false(see("ours", "c", WATCHED,
		given_json("{'metadata':{'name':'c'},'spec':{"
			   "'schedulerName':'default-scheduler'}}")));
	assert_counts(0, 0);
}

static void a_pod_from_before_counts_while_its_namespace_has_the_label(
	void **state)
{
	(void)state;
	assert_false(see("ours", "a", BEFORE, unclaimed()));
	assert_false(see("other", "b", WATCHED, unclaimed()));
	assert_counts(0, 1);
	given_namespace(&scene.cluster, "other", "enabled");
	/* An update does not make it new. */
	assert_false(see("other", "b", WATCHED, unclaimed()));
	assert_counts(0, 2);
	given_namespace(&scene.cluster, "ours", NULL);
	assert_counts(0, 1);
	assert_int_equal(scene.pods.total, 0);
}

static void a_pod_that_opts_out_later_no_longer_counts(void **state)
{
	(void)state;
	assert_true(see("ours", "a", WATCHED, unclaimed()));
	assert_false(see("ours", "a", WATCHED,
		given_launcher("default-scheduler",
			",'plimsoll.io/schedule':'disabled'")));
	assert_counts(0, 0);
}

/* A VM's pod on a node, with these conditions. */
static struct json_value *on_node(const char *conditions)
{
	scoped_free char *text = xasprintf(
		"{'metadata':{'name':'p','labels':{'kubevirt.io':"
		"'virt-launcher'}},'spec':{'schedulerName':'default-scheduler',"
		"'nodeName':'n1'},'status':{'conditions':[%s]}}",
		conditions);

	return given_json(text);
}

static void a_pod_that_was_created_on_a_node_is_not_missed(void **state)
{
	(void)state;
	assert_false(see("ours", "a", WATCHED, on_node("")));
	assert_false(see("ours", "a", WATCHED,
		on_node("{'type':'PodScheduled','status':'True'}")));
	assert_false(see("ours", "b", BEFORE, on_node("{'type':'Ready'}")));
	assert_counts(0, 0);
	assert_true(see("ours", "c", WATCHED,
		on_node("{'type':'Ready'},{'type':'PodScheduled'}")));
	assert_counts(1, 0);
}

static void a_pod_that_cannot_be_placed_is_not_missed(void **state)
{
	const char *why =
		"pod has resource claims, which plimsoll-scheduler "
		"does not support";
	struct missed_counts counts;

	(void)state;
	assert_int_equal(see_kind("ours", "old", BEFORE, given_claiming()),
		MISSED_NOT);
	assert_int_equal(see_kind("ours", "new", WATCHED, given_claiming()),
		MISSED_UNSUPPORTED);
	assert_int_equal(see_kind("ours", "new", WATCHED, given_claiming()),
		MISSED_NOT);
	assert_int_equal(see_kind("other", "a", WATCHED, given_claiming()),
		MISSED_NOT);
	assert_string_equal(missed_pods_unsupported(&scene.pods, "new"), why);
	assert_null(missed_pods_unsupported(&scene.pods, "unknown"));
	assert_counts(0, 0);
	assert_int_equal(scene.pods.total, 0);
	counts = missed_pods_count(&scene.pods, &scene.labelled);
	assert_int_equal(counts.unsupported, 2);
	assert_string_equal(counts.example, "ours/new");
	assert_string_equal(counts.why, why);
	missed_pods_gone(&scene.pods, "new");
	counts = missed_pods_count(&scene.pods, &scene.labelled);
	assert_int_equal(counts.unsupported, 1);
	assert_string_equal(counts.example, "ours/old");
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)
	const struct CMUnitTest tests[] = {
		TEST(a_new_pod_of_a_labelled_namespace_is_missed_once),
		TEST(a_pod_that_somebody_chose_for_is_not_missed),
		TEST(a_pod_from_before_counts_while_its_namespace_has_the_label),
		TEST(a_pod_that_was_created_on_a_node_is_not_missed),
		TEST(a_pod_that_cannot_be_placed_is_not_missed),
		TEST(a_pod_that_opts_out_later_no_longer_counts),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
