/* The whole of /metrics, of a fleet and a process in which each figure differs.
 * Dashboards and alerts read these names. */
#include "aggregator/http/metrics.h"

#include "aggregator/ingest/node_owner.h"
#include "aggregator/live/identity.h"
#include "aggregator/store/stats.h"
#include "lib/clock.h"
#include "tests/support/cm.h"
#include "tests/support/fake_clock.h"
#include "tests/support/golden.h"
#include "tests/unit/proto/full_report.h"

static const uint8_t run_a[REPORT_RUN_ID_BYTES] = { 'a' };

enum { INTERVAL_MS = 2000 };

/* Two reports of a node, the newest of this age. */
static void add_node(struct live *live, const char *name, uint64_t age_us,
	uint64_t first)
{
	uint64_t now_us = clock_monotonic_us();

	for (uint64_t i = 0; i < 2; i++) {
		struct report report;
		struct live_sample sample = { name, run_a, &report,
			(int64_t)(now_us - age_us - (1 - i) * 2000000), 0 };

		full_report(&report, first + 1000 * i);
		report.seq = i + 1;
		report.monotonic_us = 5000000 + 2000000 * i;
		report.interval_ms = INTERVAL_MS;
		report.vms[0].cgroup_inode = 7;
		report.vms[1].cgroup_inode = 8;
		assert_int_equal(live_add(live, &sample, now_us, NULL), 0);
		report_fini(&report);
	}
}

static struct metrics_self self_of(void)
{
	struct metrics_self self = {
		.started_us = 1000000,
		.counts = { 11, 12, 13, 14, 15, 16, 17 },
		.is_storing = true,
		.store = { .database_bytes = 18,
			.database_max_bytes = 19,
			.is_damaged = true,
			.left_out = { 20, 21 } },
		.identities = 22,
		.is_remote = true,
		.remote = { .queue = { .reports = 23,
				    .bytes = 24,
				    .dropped = 25 },
			.lag_s = 26.5,
			.failing_shards = 27,
			.last_success_s = 28,
			.sent_requests = 29,
			.sent_reports = 30,
			.sent_samples = 31,
			.retries = 32,
			.refused = 33,
			.unreadable = 34,
			.same_time = 35 },
		.is_remote_read = true,
		.remote_read = { 36, 37, 38, 39, 40.5 },
		.certificates = { { "serving", 41 }, { "client", 42 } },
		.authority_expiry_s = 43,
		.responses = { { "http", { 0, 0, 43, 44, 45, 46 } },
			{ "apiserver", { 0, 0, 47, 48, 49, 50 } } },
	};

	histogram_observe(&self.store.commits, &store_stats_commits, 0.005);
	histogram_observe(&self.store.commits, &store_stats_commits, 3);
	return self;
}

static void stream_all(struct buffer *out,
	const struct metrics_options *options)
{
	struct httpd_stream stream = metrics_stream(options);
	bool has_more = true;

	while (has_more) {
		scoped_buffer struct buffer part = BUFFER_MAX(HTTPD_PART_MAX);

		has_more = stream.next(stream.owner, &part);
		assert_false(part.overflowed);
		buffer_append(out, part.data, part.len);
	}
	stream.done(stream.owner);
	buffer_char(out, '\0');
}

static void each_metric_has_its_name_and_its_value(void **state)
{
	struct identities *identities = identities_new();
	struct live *live = live_new(42, identities);
	struct node_owners *owners = node_owners_new();
	struct metrics_options options = { .live = live,
		.identities = identities,
		.vms_max = 3,
		.self = self_of() };
	scoped_buffer struct buffer out = BUFFER_MAX(1 << 20);

	(void)state;
	options.self.owners = owners;
	identities_put(identities, "pod-1",
		&(struct identity){ "ns", "web", "u1", "n1" });
	add_node(live, "n1", 0, 100);
	add_node(live, "n2", 1000000, 5000);
	add_node(live, "n3", UINT64_C(20000000), 9000);
	add_node(live, "n4", UINT64_C(4000000000), 9500);
	stream_all(&out, &options);
	assert_golden_metrics("aggregator/metrics.txt", out.data);
	node_owners_free(owners);
	live_free(live);
	identities_free(identities);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_metric_has_its_name_and_its_value),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
