#include "aggregator/ingest/pod_filter.h"

#include "aggregator/live/identity.h"
#include "aggregator/live/live.h"
#include "lib/memory.h"
#include "tests/unit/aggregator/sample.h"

#include <stdlib.h>

static const uint64_t minute_us = 60000000;

/* A batch of two reports with these pods, as unpacking leaves it. */
struct made {
	struct batch batch;
	struct buffer bytes[2];
};

static void make(struct made *made, const char *node, const char *uid,
	const char *other_uid)
{
	struct vm_pod vms[2] = { sample_vm(uid, 1), sample_vm(other_uid, 2) };
	struct batch *batch = &made->batch;

	*made = (struct made){ .batch.count = 2 };
	(void)snprintf(batch->node, sizeof(batch->node), "%s", node);
	batch->reports = xcalloc(2, sizeof(*batch->reports));
	batch->packed = xcalloc(2, sizeof(*batch->packed));
	for (size_t i = 0; i < 2; i++) {
		batch->reports[i] = sample_report(i + 1, 100 + (double)i);
		sample_add_vms(&batch->reports[i], vms, 2);
		made->bytes[i] = BUFFER_MAX(10000);
		wire_pack_report(&made->bytes[i], &batch->reports[i]);
		batch->packed[i] = (struct packed_report){
			(const uint8_t *)made->bytes[i].data, made->bytes[i].len
		};
	}
}

static void clear(struct made *made)
{
	for (size_t i = 0; i < 2; i++) {
		report_fini(&made->batch.reports[i]);
		buffer_fini(&made->bytes[i]);
	}
	free(made->batch.reports);
	free(made->batch.packed);
}

/* Both reports, and what will be stored of them, have only these pods. */
static void assert_pods(const struct made *made, const char *first,
	const char *second)
{
	size_t count = second != NULL ? 2 : first != NULL ? 1 : 0;

	for (size_t i = 0; i < 2; i++) {
		const struct packed_report *packed = &made->batch.packed[i];
		struct report stored;

		assert_int_equal(wire_unpack_report(&stored, packed->bytes,
					 packed->len, NULL),
			0);
		assert_int_equal(stored.seq, i + 1);
		assert_int_equal(stored.vm_count, count);
		assert_int_equal(made->batch.reports[i].vm_count, count);
		for (size_t v = 0; v < count; v++) {
			const char *uid = v == 0 ? first : second;

			assert_string_equal(stored.vms[v].pod_uid, uid);
			assert_string_equal(
				made->batch.reports[i].vms[v].pod_uid, uid);
		}
		report_fini(&stored);
	}
}

/* Applies the filter to such a batch. */
static void apply(struct made *made, struct pod_filter *filter,
	const char *node, uint64_t now_us)
{
	clear(made);
	make(made, node, "p1", strcmp(node, "a") == 0 ? "p2" : "p3");
	assert_int_equal(pod_filter_apply(filter, &made->batch, now_us, NULL),
		0);
}

static void without_an_api_server_the_first_node_holds_a_pod(void **state)
{
	struct live *live = live_new(42, NULL);
	struct pod_filter *filter = pod_filter_new(live, NULL);
	struct made made;

	(void)state;
	make(&made, "a", "x", "y");
	apply(&made, filter, "a", minute_us);
	assert_pods(&made, "p1", "p2");
	assert_ptr_equal(made.batch.packed[0].bytes, made.bytes[0].data);
	apply(&made, filter, "b", 2 * minute_us);
	assert_pods(&made, "p3", NULL);
	assert_int_equal(pod_filter_wrong_claims(filter), 2);
	apply(&made, filter, "a", 3 * minute_us);
	assert_pods(&made, "p1", "p2");
	apply(&made, filter, "b", 7 * minute_us);
	assert_pods(&made, "p3", NULL);
	apply(&made, filter, "b", 8 * minute_us);
	assert_pods(&made, "p1", "p3");
	apply(&made, filter, "a", 8 * minute_us);
	assert_pods(&made, "p2", NULL);
	assert_int_equal(pod_filter_wrong_claims(filter), 6);
	clear(&made);
	pod_filter_free(filter);
	live_free(live);
	pod_filter_free(NULL);
}

/* A manifest that several nodes fetch from one URL. */
static void each_node_has_its_static_pod_of_one_uid(void **state)
{
	static const char uid[] = "8b6f4d3c2a1908f7e6d5c4b3a2918070";
	struct live *live = live_new(42, NULL);
	struct pod_filter *filter = pod_filter_new(live, NULL);
	struct made made;

	(void)state;
	for (const char *node = "ab"; *node != '\0'; node++) {
		make(&made, node, uid, node);
		assert_int_equal(
			pod_filter_apply(filter, &made.batch, minute_us, NULL),
			0);
		assert_pods(&made, uid, node);
		clear(&made);
	}
	assert_int_equal(pod_filter_wrong_claims(filter), 0);
	pod_filter_free(filter);
	live_free(live);
}

static void after_a_restart_the_stored_reports_hold_their_pods(void **state)
{
	struct live *live = live_new(42, NULL);
	struct pod_filter *filter = pod_filter_new(live, NULL);
	struct made made;

	(void)state;
	make(&made, "a", "p1", "p2");
	/* The machine booted two minutes ago, after the second report. */
	pod_filter_restore(filter, "c", &made.batch.reports[0], 5 * minute_us,
		2 * minute_us);
	pod_filter_restore(filter, "a", &made.batch.reports[0], 3 * minute_us,
		2 * minute_us);
	apply(&made, filter, "b", 2 * minute_us);
	assert_pods(&made, "p3", NULL);
	apply(&made, filter, "b", 5 * minute_us - 1);
	assert_pods(&made, "p3", NULL);
	apply(&made, filter, "b", 5 * minute_us);
	assert_pods(&made, "p1", "p3");
	assert_int_equal(pod_filter_wrong_claims(filter), 4);
	clear(&made);
	pod_filter_free(filter);
	live_free(live);
}

/* Names and histories wait for the statement, and nothing is lost. */
static void with_an_api_server_wrong_claims_are_counted_only(void **state)
{
	struct identities *identities = identities_new();
	struct live *live = live_new(42, identities);
	struct pod_filter *filter = pod_filter_new(live, identities);
	struct made made;

	(void)state;
	make(&made, "a", "x", "y");
	apply(&made, filter, "b", 1);
	apply(&made, filter, "a", 1);
	assert_int_equal(pod_filter_wrong_claims(filter), 0);
	identities_put(identities, "p1",
		&(struct identity){ "ns", "vm", "u", "" });
	apply(&made, filter, "b", 1);
	assert_int_equal(pod_filter_wrong_claims(filter), 0);
	identities_put(identities, "p1",
		&(struct identity){ "ns", "vm", "u", "a" });
	apply(&made, filter, "a", 2);
	assert_int_equal(pod_filter_wrong_claims(filter), 0);
	apply(&made, filter, "b", 2);
	assert_int_equal(pod_filter_wrong_claims(filter), 2);
	assert_pods(&made, "p1", "p3");
	clear(&made);
	pod_filter_free(filter);
	live_free(live);
	identities_free(identities);
}

/* Adds the last report of the batch to the live table, as ingest does. */
static void add_to_live(struct live *live, const struct made *made)
{
	const struct live_sample sample = { .node = made->batch.node,
		.run_id = made->batch.run_id,
		.report = &made->batch.reports[1],
		.at_us = 1 };

	assert_int_equal(live_add(live, &sample, 1, NULL), 0);
}

/* The identity that the live table holds follows the API server. */
static void claims_to_pods_in_the_live_table_are_counted_as_well(void **state)
{
	struct identities *identities = identities_new();
	struct live *live = live_new(42, identities);
	struct pod_filter *filter = pod_filter_new(live, identities);
	struct made made;

	(void)state;
	make(&made, "a", "p1", "p2");
	apply(&made, filter, "a", 1);
	add_to_live(live, &made);
	identities_put(identities, "p2",
		&(struct identity){ "ns", "vm", "u", "b" });
	apply(&made, filter, "a", 2);
	assert_int_equal(pod_filter_wrong_claims(filter), 2);
	identities_put(identities, "p2",
		&(struct identity){ "ns", "vm", "u", "a" });
	apply(&made, filter, "a", 3);
	assert_int_equal(pod_filter_wrong_claims(filter), 2);
	identities_remove(identities, "p2");
	apply(&made, filter, "a", 4);
	assert_int_equal(pod_filter_wrong_claims(filter), 2);
	assert_pods(&made, "p1", "p2");
	clear(&made);
	pod_filter_free(filter);
	live_free(live);
	identities_free(identities);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_node_has_its_static_pod_of_one_uid),
		cmocka_unit_test(
			without_an_api_server_the_first_node_holds_a_pod),
		cmocka_unit_test(
			after_a_restart_the_stored_reports_hold_their_pods),
		cmocka_unit_test(
			with_an_api_server_wrong_claims_are_counted_only),
		cmocka_unit_test(
			claims_to_pods_in_the_live_table_are_counted_as_well),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
