#include "scheduler/launcher/launcher_shape.h"

#include "scheduler/cluster/node.h"
#include "scheduler/launcher/launcher_amounts.h"
#include "tests/unit/scheduler/given.h"

#define GIB (INT64_C(1) << 30)
#define MIB (INT64_C(1) << 20)

static struct interner *interner;

static struct launcher_shape shape_of(enum launcher_kind kind, unsigned vcpus,
	unsigned memory_gib, const struct launcher_settings *settings)
{
	struct launcher_shape shape;

	launcher_shape_init(&shape, interner, kind,
		(struct launcher_size){ vcpus, memory_gib }, settings);
	return shape;
}

static void expect_same_requests(const struct pod *pod,
	const struct pod *expected)
{
	const struct resources *a = &pod->requests, *b = &expected->requests;

	assert_int_equal(a->cpu_milli, b->cpu_milli);
	assert_int_equal(a->memory_bytes, b->memory_bytes);
	assert_int_equal(a->ephemeral_bytes, b->ephemeral_bytes);
	assert_int_equal(a->nonzero_milli, b->nonzero_milli);
	assert_int_equal(a->nonzero_bytes, b->nonzero_bytes);
	assert_int_equal(a->scalar_count, b->scalar_count);
	for (size_t i = 0; i < a->scalar_count; i++) {
		assert_int_equal(a->scalars[i].resource,
			b->scalars[i].resource);
		assert_int_equal(a->scalars[i].value, b->scalars[i].value);
	}
	assert_true(pod->vcpus == expected->vcpus);
	assert_true(pod->expected_cores == expected->expected_cores);
	assert_int_equal(pod->is_dedicated, expected->is_dedicated);
	assert_int_equal(pod->requests_kvm, expected->requests_kvm);
	assert_int_equal(pod->is_vm, expected->is_vm);
}

static void requests_what_a_recorded_launcher_pod_requests(void **state)
{
	static const struct {
		const char *file;
		enum launcher_kind kind;
		unsigned vcpus, memory_gib;
	} recorded[] = {
		{ GIVEN_DIR "pod-plain.json", LAUNCHER_PLAIN, 2, 4 },
		{ GIVEN_DIR "pod-hugepages.json", LAUNCHER_HUGE_1GI, 2, 4 },
		{ GIVEN_DIR "pod-dedicated.json", LAUNCHER_DEDICATED, 4, 4 },
	};

	(void)state;
	for (size_t i = 0; i < count_of(recorded); i++) {
		struct launcher_shape shape = shape_of(recorded[i].kind,
			recorded[i].vcpus, recorded[i].memory_gib,
			&launcher_settings_default);
		struct pod *pod =
			given_pod_of(interner, given_file(recorded[i].file));

		expect_same_requests(shape.pod, pod);
		pod_free(pod);
		launcher_shape_fini(&shape);
	}
}

static void requests_pages_of_two_mebibytes_by_their_name(void **state)
{
	struct launcher_shape shape =
		shape_of(LAUNCHER_HUGE_2MI, 4, 16, &launcher_settings_default);
	const struct amount *pages = &shape.pod->requests.scalars[shape.pages];

	(void)state;
	assert_string_equal(interner_text(interner, pages->resource),
		"hugepages-2Mi");
	assert_int_equal(pages->value, 16 * GIB);
	assert_int_equal(shape.pod->requests.memory_bytes,
		(280 + 4 * 8) * MIB + 35000000);
	launcher_shape_fini(&shape);
}

static const struct launcher_settings odd_settings[] = {
	{ .cpu_allocation_ratio = 10,
		.memory_overcommit = 100,
		.overhead_ratio = 1 },
	{ .cpu_allocation_ratio = 16,
		.memory_overcommit = 150,
		.overhead_ratio = 1 },
	{ .cpu_allocation_ratio = 3,
		.memory_overcommit = 100,
		.overhead_ratio = 1.37 },
	{ .cpu_allocation_ratio = 1000,
		.memory_overcommit = 1000,
		.overhead_ratio = 10 },
};

static void a_resized_pod_equals_one_that_is_read(void **state)
{
	static const struct launcher_size sizes[] = { { 1, 1 }, { 3, 7 },
		{ 7, 31 }, { 64, 256 }, { 128, 512 },
		{ LAUNCHER_VCPUS_MAX, LAUNCHER_GIB_MAX } };

	(void)state;
	for (size_t i = 0;
		i < count_of(odd_settings) * LAUNCHER_KINDS * count_of(sizes);
		i++) {
		const struct launcher_settings *settings =
			&odd_settings[i % count_of(odd_settings)];
		size_t rest = i / count_of(odd_settings);
		enum launcher_kind kind =
			(enum launcher_kind)(rest % LAUNCHER_KINDS);
		struct launcher_size size = sizes[rest / LAUNCHER_KINDS];
		struct launcher_shape resized = shape_of(kind, 2, 4, settings);
		struct launcher_shape expected =
			shape_of(kind, size.vcpus, size.memory_gib, settings);

		launcher_shape_resize(&resized, size, 1);
		expect_same_requests(resized.pod, expected.pod);
		launcher_shape_fini(&resized);
		launcher_shape_fini(&expected);
	}
}

static void copies_multiply_every_request(void **state)
{
	struct launcher_shape shape =
		shape_of(LAUNCHER_HUGE_1GI, 4, 16, &launcher_settings_default);
	struct launcher_shape one =
		shape_of(LAUNCHER_HUGE_1GI, 4, 16, &launcher_settings_default);
	const struct resources *many = &shape.pod->requests;
	const struct resources *single = &one.pod->requests;

	(void)state;
	launcher_shape_resize(&shape, (struct launcher_size){ 4, 16 }, 7);
	assert_int_equal(many->cpu_milli, 7 * single->cpu_milli);
	assert_int_equal(many->memory_bytes, 7 * single->memory_bytes);
	assert_int_equal(many->ephemeral_bytes, 7 * single->ephemeral_bytes);
	assert_int_equal(many->scalar_count, 4);
	for (size_t i = 0; i < many->scalar_count; i++) {
		assert_int_equal(many->scalars[i].value,
			7 * single->scalars[i].value);
	}
	launcher_shape_fini(&shape);
	launcher_shape_fini(&one);
}

static void the_settings_of_kubevirt_change_the_requests(void **state)
{
	struct launcher_shape shape =
		shape_of(LAUNCHER_PLAIN, 1, 3, &odd_settings[1]);

	(void)state;
	/* 62.5m and 5m; two of the three GiB. */
	assert_int_equal(shape.pod->requests.cpu_milli, 68);
	assert_int_equal(shape.pod->requests.memory_bytes,
		2 * GIB + 288 * MIB + 35000000);
	launcher_shape_fini(&shape);

	/* KubeVirt adds whole kilobytes: 288 Mi is 301989.888. */
	assert_int_equal(
		launcher_amounts_overhead(&(struct launcher_needs){ .vcpus = 1,
						  .has_graphics = true },
			&(struct launcher_settings){ .cpu_allocation_ratio = 10,
				.memory_overcommit = 100,
				.overhead_ratio = 1.5 }),
		288 * MIB + 150995000);
}

static bool may_run(const char *labels, enum launcher_kind kind)
{
	scoped_free char *json =
		xasprintf("{'metadata':{'name':'n','labels':{%s}}}", labels);
	struct node *node = given_node(interner, json);
	struct launcher_shape shape =
		shape_of(kind, 4, 16, &launcher_settings_default);
	bool is_selected = node_is_selected(node, shape.pod);

	launcher_shape_fini(&shape);
	node_free(node);
	return is_selected;
}

#define SCHEDULABLE "'kubevirt.io/schedulable':'true'"

static void runs_only_where_kubevirt_would_run_it(void **state)
{
	(void)state;
	assert_true(may_run(SCHEDULABLE, LAUNCHER_PLAIN));
	assert_false(may_run("", LAUNCHER_PLAIN));
	assert_false(may_run("'kubevirt.io/schedulable':'false'",
		LAUNCHER_HUGE_2MI));
	assert_false(may_run(SCHEDULABLE, LAUNCHER_DEDICATED));
	assert_true(may_run(SCHEDULABLE ",'kubevirt.io/cpumanager':'true'",
		LAUNCHER_DEDICATED));
	assert_false(may_run(SCHEDULABLE
		",'node-labeller.kubevirt.io/obsolete-host-model':'x'",
		LAUNCHER_PLAIN));
}

static int set_up(void **state)
{
	(void)state;
	interner = interner_new();
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	interner_free(interner);
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(
			requests_what_a_recorded_launcher_pod_requests),
		cmocka_unit_test(requests_pages_of_two_mebibytes_by_their_name),
		cmocka_unit_test(a_resized_pod_equals_one_that_is_read),
		cmocka_unit_test(copies_multiply_every_request),
		cmocka_unit_test(the_settings_of_kubevirt_change_the_requests),
		cmocka_unit_test(runs_only_where_kubevirt_would_run_it),
	};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}
