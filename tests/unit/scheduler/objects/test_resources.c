#include "scheduler/objects/resources.h"

#include <errno.h>
#include <inttypes.h>

#include "tests/unit/scheduler/given.h"

static const struct behaviours newest = { 0 };

static int64_t other(const struct resources *r, struct interner *interner,
	const char *name)
{
	for (size_t i = 0; i < r->scalar_count; i++) {
		if (strcmp(interner_text(interner, r->scalars[i].resource),
			    name) == 0) {
			return r->scalars[i].value;
		}
	}
	return 0;
}

#define REQUEST(cpu, memory)                                                   \
	"'resources':{'requests':{'cpu':'" cpu "','memory':'" memory "'}}"
#define SIDECAR "'restartPolicy':'Always',"

/* From upstream's tests of PodRequests(). */
static const struct {
	const char *spec;
	int64_t cpu_milli, memory_bytes;
} formulas[] = {
	{ "{}", 0, 0 },
	{ "{'containers':[{" REQUEST("1", "10") "},{" REQUEST("2", "20") "}]}",
		3000, 30 },
	{ "{'initContainers':[{" REQUEST("5", "5") "},{" REQUEST("1",
		  "50") "}],'containers':[{" REQUEST("2", "10") "}]}",
		5000, 50 },
	/* A sidecar keeps running and adds to the containers... */
	{ "{'initContainers':[{" SIDECAR REQUEST("1",
		  "10") "}],'containers':[{" REQUEST("2", "10") "}]}",
		3000, 20 },
	/* ... and to init containers after it, not before it. */
	{ "{'initContainers':[{" SIDECAR REQUEST("1", "10") "},{" REQUEST("5",
		  "5") "}],'containers':[{" REQUEST("2", "10") "}]}",
		6000, 20 },
	{ "{'initContainers':[{" REQUEST("5", "5") "},{" SIDECAR REQUEST("1",
		  "10") "}],'containers':[{" REQUEST("2", "10") "}]}",
		5000, 20 },
	{ "{'initContainers':[{" SIDECAR REQUEST("1",
		  "1") "},{" SIDECAR REQUEST("2",
		  "2") "}],'containers':[{" REQUEST("0", "0") "}]}",
		3000, 3 },
	{ "{'resources':{'requests':{'cpu':'7','ephemeral-storage':'9'}},"
	  "'containers':[{" REQUEST("1",
		  "10") "}],"
			"'overhead':{'cpu':'250m','memory':'5'}}",
		7250, 15 },
	/* Rounded once per pod, not per container. */
	{ "{'containers':[{" REQUEST("0.0005", "0.5") "},{" REQUEST("0.0005",
		  "0.5") "}]}",
		1, 1 },
};

static void sums_requests_by_the_sidecar_formula(void **state)
{
	(void)state;
	for (size_t i = 0; i < count_of(formulas); i++) {
		struct interner *interner = interner_new();
		struct json_value *spec = given_json(formulas[i].spec);
		struct resources r;

		assert_int_equal(resources_read_requests(&r, interner, spec,
					 NULL, newest, NULL),
			0);
		given_check(r.cpu_milli == formulas[i].cpu_milli &&
				r.memory_bytes == formulas[i].memory_bytes,
			formulas[i].spec);
		resources_fini(&r, interner);
		json_value_free(spec);
		interner_free(interner);
	}
}

static void counts_the_resources_that_upstream_counts(void **state)
{
	static const struct {
		const char *name;
		bool is_counted;
	} cases[] = {
		{ "devices.kubevirt.io/kvm", true },
		{ "hugepages-1Gi", true },
		{ "attachable-volumes-csi-x", true },
		{ "node.kubernetes.io/x", true },
		{ "requests.example.com/x", false },
		{ "storage", false },
		{ "pods", false },
	};

	(void)state;
	for (size_t i = 0; i < count_of(cases); i++) {
		scoped_free char *json = xasprintf(
			"{'containers':[{'resources':{'requests':{'%s':'3'}}}]"
			"}",
			cases[i].name);
		struct interner *interner = interner_new();
		struct json_value *spec = given_json(json);
		struct resources r;

		assert_int_equal(resources_read_requests(&r, interner, spec,
					 NULL, newest, NULL),
			0);
		assert_int_equal(other(&r, interner, cases[i].name),
			cases[i].is_counted ? 3 : 0);
		assert_int_equal(r.pods, 0);
		resources_fini(&r, interner);
		json_value_free(spec);
		interner_free(interner);
	}
}

static void reads_allocatable(void **state)
{
	struct interner *interner = interner_new();
	struct json_value *list = given_json(
		"{'cpu':'15800m','memory':'44544Mi','pods':110,"
		"'ephemeral-storage':'200Gi','devices.kubevirt.io/kvm':'1k',"
		"'hugepages-1Gi':'16Gi','hugepages-2Mi':'0'}");
	struct resources r;

	(void)state;
	assert_int_equal(resources_read(&r, interner, list, NULL), 0);
	assert_int_equal(r.cpu_milli, 15800);
	assert_true(r.memory_bytes == INT64_C(44544) << 20);
	assert_true(r.ephemeral_bytes == INT64_C(200) << 30);
	assert_int_equal(r.pods, 110);
	assert_int_equal(r.scalar_count, 2);
	assert_int_equal(other(&r, interner, "devices.kubevirt.io/kvm"), 1000);
	assert_true(other(&r, interner, "hugepages-1Gi") == INT64_C(16) << 30);
	resources_fini(&r, interner);
	json_value_free(list);
	interner_free(interner);
}

static const char *const no_quantities[] = { "{'cpu':'much'}", "{'cpu':-1}",
	"{'cpu':1.5}", "{'cpu':null}", "{'cpu':{}}", "[1]", "'4'" };

static void rejects_invalid_quantities(void **state)
{
	(void)state;
	for (size_t i = 0; i < count_of(no_quantities); i++) {
		struct interner *interner = interner_new();
		struct json_value *list = given_json(no_quantities[i]);
		struct resources r;

		given_check(
			resources_read(&r, interner, list, NULL) == -EBADMSG,
			no_quantities[i]);
		json_value_free(list);
		interner_free(interner);
	}
}

static void counts_any_number_of_resources(void **state)
{
	struct interner *interner = interner_new();
	scoped_buffer struct buffer text = BUFFER_MAX(1 << 20);
	struct json_value *spec;
	struct resources r;

	(void)state;
	buffer_text(&text, "{'containers':[{'resources':{'requests':{");
	for (int i = 0; i < 20000; i++) {
		buffer_printf(&text, "%s'x.y/%d':'1'", i > 0 ? "," : "", i);
	}
	buffer_text(&text, "}}}]}");
	spec = given_json(text.data);
	assert_int_equal(
		resources_read_requests(&r, interner, spec, NULL, newest, NULL),
		0);
	assert_int_equal(r.scalar_count, 20000);
	assert_int_equal(other(&r, interner, "x.y/19999"), 1);
	resources_fini(&r, interner);
	json_value_free(spec);
	interner_free(interner);
}

static void counts_what_can_be_read(void **state)
{
	struct interner *interner = interner_new();
	struct json_value *spec = given_json(
		"{'containers':[{'resources':{'requests':{'cpu':'x',"
		"'memory':'10'}}},{'resources':[]},{'resources':{'requests':{"
		"'cpu':'2','x.y/z':{}}}}]}");
	struct resources r;
	struct error err;

	(void)state;
	assert_int_equal(
		resources_read_requests(&r, interner, spec, NULL, newest, &err),
		-EBADMSG);
	assert_string_equal(err.text,
		"resource 'cpu': 'x' is not a quantity such as 200m or 4Gi");
	assert_int_equal(r.cpu_milli, 2000);
	assert_int_equal(r.memory_bytes, 10);
	resources_fini(&r, interner);
	json_value_free(spec);
	interner_free(interner);
}

#define GIVEN(kind, more) "'" kind "':[{'name':'c'," more "}]"
#define C(more) "{'name':'c'," more "}"
#define INFEASIBLE                                                             \
	",'conditions':[{'type':'PodResizePending','status':'False',"          \
	"'reason':'Infeasible'}]"

/* Bound pods with in-place resize, from PodRequests() with UseStatusResources,
 * of 1.36 and then of 1.37. */
struct amounts {
	int64_t cpu_milli, memory_bytes;
};

static const struct {
	const char *spec, *status;
	struct amounts before, since;
} resized[] = {
	{ "{'containers':[" C(REQUEST("1", "10")) "]}",
		"{" GIVEN("containerStatuses", REQUEST("2", "5")) "}",
		{ 2000, 10 }, { 2000, 10 } },
	{ "{'containers':[" C(REQUEST("1", "10")) "]}",
		"{" GIVEN("containerStatuses",
			REQUEST("2",
				"5") ",'allocatedResources':{'cpu':'3'}") "}",
		{ 3000, 10 }, { 3000, 10 } },
	/* The maximum of sums, not the sum of maxima. */
	{ "{'containers':[{'name':'a'," REQUEST("1",
		  "10") "},{'name':'b'," REQUEST("2", "20") "}]}",
		"{'containerStatuses':[{'name':'a'," REQUEST("2",
			"10") "},{'name':'b'," REQUEST("1", "20") "}]}",
		{ 4000, 30 }, { 3000, 30 } },
	/* Until 1.36, allocatedResources counts only beside resources. */
	{ "{'containers':[" C(REQUEST("1", "10")) "]}",
		"{" GIVEN("containerStatuses",
			"'allocatedResources':{'cpu':'3'}") "}",
		{ 1000, 10 }, { 3000, 10 } },
	/* Since 1.37, resources without requests are those allocated. */
	{ "{'containers':[" C(REQUEST("1", "10")) "]}",
		"{" GIVEN("containerStatuses",
			"'resources':{},'allocatedResources':{'cpu':'3'}") "}",
		{ 3000, 10 }, { 3000, 10 } },
	{ "{'containers':[" C(REQUEST("4", "10")) "]}",
		"{" GIVEN("containerStatuses", REQUEST("2", "5")) INFEASIBLE
		"}",
		{ 2000, 5 }, { 2000, 5 } },
	/* A container without a status counts with its spec until 1.36. */
	{ "{'containers':[" C(REQUEST("4", "10")) "]}", "{'x':1" INFEASIBLE "}",
		{ 4000, 10 }, { 0, 0 } },
	{ "{'containers':[" C(REQUEST("4", "10")) "]}",
		"{" GIVEN("containerStatuses",
			REQUEST("2", "5")) ",'conditions':[{'type':'"
					   "PodResizePending'"
					   ",'reason':'Deferred'}]}",
		{ 4000, 10 }, { 4000, 10 } },
	/* Until 1.36, only sidecars of the init containers. */
	{ "{'initContainers':[" C(SIDECAR REQUEST("1", "1")) "]}",
		"{" GIVEN("initContainerStatuses", REQUEST("2", "2")) "}",
		{ 2000, 2 }, { 2000, 2 } },
	{ "{'initContainers':[" C(REQUEST("1", "1")) "]}",
		"{" GIVEN("initContainerStatuses", REQUEST("2", "2")) "}",
		{ 1000, 1 }, { 2000, 2 } },
	/* Pod-level resources. */
	{ "{'resources':{'requests':{'cpu':'1'}},'containers':[" C(
		  REQUEST("9", "9")) "]}",
		"{'resources':{'requests':{'cpu':'2','memory':'99'}},"
		"'allocatedResources':{'cpu':'3'}}",
		{ 3000, 9 }, { 3000, 99 } },
	{ "{'resources':{'requests':{'cpu':'4'}},'containers':[" C(
		  REQUEST("9", "9")) "]}",
		"{'resources':{'requests':{'cpu':'2'}}" INFEASIBLE "}",
		{ 2000, 9 }, { 2000, 0 } },
	{ "{'resources':{'requests':{'cpu':'4'}},'containers':[" C(
		  REQUEST("9", "9")) "]}",
		"{'resources':{'requests':{'memory':'2'}}" INFEASIBLE "}",
		{ 0, 9 }, { 0, 2 } },
	/* Since 1.37 the sums in the pod's status stand for its containers'. */
	{ "{'containers':[" C(REQUEST("1", "1")) "]}",
		"{'resources':{'requests':{'cpu':'2'}},'allocatedResources':{"
		"'memory':'3'}," GIVEN("containerStatuses",
			REQUEST("7", "7")) "}",
		{ 7000, 7 }, { 2000, 3 } },
};

static void check_resized(size_t i, int minor, struct amounts expected)
{
	const struct behaviours behaviours =
		behaviours_of(minor, &(struct behaviour_overrides){ 0 });
	struct interner *interner = interner_new();
	struct json_value *spec = given_json(resized[i].spec);
	struct json_value *status = given_json(resized[i].status);
	struct resources r;

	assert_int_equal(resources_read_requests(&r, interner, spec, status,
				 behaviours, NULL),
		0);
	if (r.cpu_milli != expected.cpu_milli ||
		r.memory_bytes != expected.memory_bytes) {
		fail_msg("1.%d, %s %s: %" PRId64 " %" PRId64, minor,
			resized[i].spec, resized[i].status, r.cpu_milli,
			r.memory_bytes);
	}
	resources_fini(&r, interner);
	json_value_free(spec);
	json_value_free(status);
	interner_free(interner);
}

static void a_bound_pod_counts_its_allocated_resources(void **state)
{
	(void)state;
	for (size_t i = 0; i < count_of(resized); i++) {
		check_resized(i, 36, resized[i].before);
		check_resized(i, 37, resized[i].since);
	}
}

/* NonZeroRequested of placed pods, from kube-scheduler's
 * PodInfo.CalculateResource(). */
static const struct {
	const char *spec, *status;
	int64_t cpu_milli, memory_bytes;
} scored[] = {
	{ "{'containers':[{},{" REQUEST("0", "10") "}]}", "{}", 100,
		(INT64_C(200) << 20) + 10 },
	/* Grown in place; the status wins over the spec. */
	{ "{'containers':[" C(REQUEST("1", "10")) "]}",
		"{" GIVEN("containerStatuses", REQUEST("2", "5")) "}", 2000,
		10 },
	/* An infeasible resize leaves a container without requests. */
	{ "{'containers':[" C(REQUEST("4", "10")) "]}",
		"{" GIVEN("containerStatuses",
			"'resources':{}") ",'conditions':[{'type':'"
					  "PodResizePending','reason':"
					  "'Infeasible'}]}",
		100, INT64_C(200) << 20 },
	/* Pod-level requests, and no defaults beside requests. */
	{ "{'resources':{'requests':{'cpu':'1'}},'containers':[{}],"
	  "'overhead':{'memory':'7'}}",
		"{}", 1000, 7 },
	{ "{'resources':{'requests':{'cpu':'1'}},'containers':[{}]}", "{}",
		1000, INT64_C(200) << 20 },
	{ "{'resources':{'requests':{'cpu':'1'}},'containers':[{}]}",
		"{'resources':{'requests':{'cpu':'2'}}}", 2000,
		INT64_C(200) << 20 },
	/* Fractions are rounded once. */
	{ "{'containers':[{" REQUEST("1", "0.5") "},{" REQUEST("1",
		  "0.5") "}]}",
		"{}", 2000, 1 },
};

static void check_scored(const char *spec_text, const char *status_text,
	int minor, struct amounts expected)
{
	const struct behaviours behaviours =
		behaviours_of(minor, &(struct behaviour_overrides){ 0 });
	struct interner *interner = interner_new();
	struct json_value *spec = given_json(spec_text);
	struct json_value *status = given_json(status_text);
	struct resources r;

	assert_int_equal(resources_read_requests(&r, interner, spec, status,
				 behaviours, NULL),
		0);
	given_check(r.nonzero_milli == expected.cpu_milli &&
			r.nonzero_bytes == expected.memory_bytes,
		spec_text);
	resources_fini(&r, interner);
	json_value_free(spec);
	json_value_free(status);
	interner_free(interner);
}

static void scores_a_resized_pod_by_its_status(void **state)
{
	(void)state;
	for (size_t i = 0; i < count_of(scored); i++) {
		for (int minor = 36; minor <= 37; minor++) {
			check_scored(scored[i].spec, scored[i].status, minor,
				(struct amounts){ scored[i].cpu_milli,
					scored[i].memory_bytes });
		}
	}
}

/* The status reports a request that the spec lacks. */
static void since_1_37_the_default_of_the_spec_counts_beside_the_status(
	void **state)
{
	static const char spec[] = "{'containers':[{'name':'c'}]}";
	static const char status[] =
		"{" GIVEN("containerStatuses", REQUEST("2", "5")) "}";

	(void)state;
	check_scored(spec, status, 36, (struct amounts){ 2000, 5 });
	check_scored(spec, status, 37,
		(struct amounts){ 2000, INT64_C(200) << 20 });
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_bound_pod_counts_its_allocated_resources),
		cmocka_unit_test(sums_requests_by_the_sidecar_formula),
		cmocka_unit_test(counts_the_resources_that_upstream_counts),
		cmocka_unit_test(reads_allocatable),
		cmocka_unit_test(rejects_invalid_quantities),
		cmocka_unit_test(counts_any_number_of_resources),
		cmocka_unit_test(counts_what_can_be_read),
		cmocka_unit_test(scores_a_resized_pod_by_its_status),
		cmocka_unit_test(
			since_1_37_the_default_of_the_spec_counts_beside_the_status),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
