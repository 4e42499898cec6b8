#include "aggregator/ingest/snapshot.h"

#include "aggregator/live/identity.h"
#include "lib/memory.h"
#include "lib/mq/mq.h"
#include "tests/unit/aggregator/sample.h"

#include <stdlib.h>
#include <string.h>

static const uint8_t run_a[REPORT_RUN_ID_BYTES] = { 'a' };

static void write_uid(char uid[REPORT_UID_MAX], const char *node, size_t i)
{
	(void)snprintf(uid, REPORT_UID_MAX, "%s-0000-4000-8000-%012zu", node,
		i);
}

static void add(struct live *live, const char *node, uint64_t seq, size_t vms)
{
	struct report r = steady_report(seq, 100 + (double)seq, 1);
	struct live_sample sample = { node, run_a, &r, 1000000, 0 };
	scoped_free struct vm_pod *pods = xcalloc(vms, sizeof(*pods));
	char uid[REPORT_UID_MAX];

	for (size_t i = 0; i < vms; i++) {
		write_uid(uid, node, i);
		pods[i] = sample_vm(uid, i + 1);
	}
	sample_add_vms(&r, pods, vms);
	assert_int_equal(live_add(live, &sample, 1000000, NULL), 0);
	report_fini(&r);
}

static struct snapshot snapshot_since(const struct live *live, uint64_t epoch,
	uint64_t rev, size_t *len)
{
	scoped_buffer struct buffer out = BUFFER_MAX(MQ_RECV_MAX);
	struct snapshot_request request = { epoch, rev };
	struct wire_reply reply;

	snapshot_write(&out, live, &request, 3000000);
	assert_false(out.overflowed);
	*len = out.len;
	assert_int_equal(wire_unpack_reply(&reply, (const uint8_t *)out.data,
				 out.len, NULL),
		0);
	assert_int_equal(reply.kind, WIRE_SNAPSHOT);
	return reply.snapshot; /* the caller frees its nodes */
}

static void fini(struct snapshot *snapshot)
{
	for (size_t i = 0; i < snapshot->count; i++) {
		node_load_fini(&snapshot->nodes[i]);
	}
	free(snapshot->nodes);
}

static void another_epoch_gets_all_nodes(void **state)
{
	struct live *live = live_new(42, NULL);
	struct snapshot s;
	size_t len;

	(void)state;
	add(live, "a", 1, 0);
	add(live, "b", 1, 2);
	s = snapshot_since(live, 41, 1, &len);
	assert_true(s.full);
	assert_int_equal(s.epoch, 42);
	assert_int_equal(s.rev, 2);
	assert_int_equal(s.count, 2);
	assert_string_equal(s.nodes[1].name, "b");
	assert_int_equal(s.nodes[1].vm_count, 2);
	assert_int_equal(s.nodes[1].age_us, 2000000);
	fini(&s);
	live_free(live);
}

static void the_same_epoch_gets_the_changed_nodes(void **state)
{
	struct live *live = live_new(42, NULL);
	struct snapshot s;
	size_t len;

	(void)state;
	add(live, "a", 1, 0);
	add(live, "b", 1, 0);
	add(live, "a", 2, 0);
	s = snapshot_since(live, 42, 2, &len);
	assert_false(s.full);
	assert_int_equal(s.count, 1);
	assert_string_equal(s.nodes[0].name, "a");
	assert_int_equal(s.rev, 3);
	fini(&s);
	s = snapshot_since(live, 42, 3, &len);
	assert_int_equal(s.count, 0);
	assert_int_equal(s.rev, 3);
	fini(&s);
	live_free(live);
}

/* 40 nodes of 1,000 VMs do not fit into one message. */
static void several_messages_hold_all_nodes(void **state)
{
	struct live *live = live_new(42, NULL);
	uint64_t epoch = 0;
	uint64_t rev = 0;
	size_t nodes = 0;
	size_t parts = 0;
	char name[16];

	(void)state;
	for (size_t i = 0; i < 40; i++) {
		(void)snprintf(name, sizeof(name), "n%zu", i);
		add(live, name, 1, 1000);
	}
	while (nodes < 40) {
		size_t len;
		struct snapshot s = snapshot_since(live, epoch, rev, &len);

		assert_int_equal(s.full, parts == 0);
		assert_true(s.count > 0);
		assert_true(len <= SNAPSHOT_BYTES_MAX);
		assert_int_equal(s.rev, rev + s.count);
		nodes += s.count;
		parts++;
		epoch = s.epoch;
		rev = s.rev;
		fini(&s);
	}
	assert_int_equal(nodes, 40);
	assert_true(parts > 1);
	live_free(live);
}

/* Names of the greatest length for the pods that add() makes of these nodes. */
static struct identities *longest_names(const char *const *nodes, size_t count)
{
	struct identities *identities = identities_new();
	char name[IDENTITY_TEXT_MAX + 1], uid[REPORT_UID_MAX];

	memset(name, 'x', IDENTITY_TEXT_MAX);
	name[IDENTITY_TEXT_MAX] = '\0';
	for (size_t i = 0; i < count * REPORT_VMS_MAX; i++) {
		const char *node = nodes[i % count];
		const struct identity identity = { name, name, "", node };

		write_uid(uid, node, i / count);
		identities_put(identities, uid, &identity);
	}
	return identities;
}

static void long_names_make_more_messages_and_no_larger_ones(void **state)
{
	static const char *const nodes[] = { "a", "b", "c" };
	struct identities *identities = longest_names(nodes, count_of(nodes));
	struct live *live = live_new(42, identities);
	uint64_t epoch = 0;
	uint64_t rev = 0;

	(void)state;
	for (size_t i = 0; i < 2 * count_of(nodes); i++) {
		add(live, nodes[i % 3], 1 + i / 3, REPORT_VMS_MAX);
	}
	for (int i = 0; i < 3; i++) {
		size_t len;
		struct snapshot s = snapshot_since(live, epoch, rev, &len);

		assert_int_equal(s.count, 1);
		assert_int_equal(strlen(s.nodes[0].vms[7].name),
			IDENTITY_TEXT_MAX);
		assert_in_range(len, SNAPSHOT_BYTES_MAX / 2,
			SNAPSHOT_BYTES_MAX);
		assert_in_range(wire_node_load_bytes(&s.nodes[0]), len,
			SNAPSHOT_BYTES_MAX);
		epoch = s.epoch;
		rev = s.rev;
		fini(&s);
	}
	live_free(live);
	identities_free(identities);
}

/* Else a client of an older revision would be answered again at once. */
static void has_the_revision_of_a_removal(void **state)
{
	struct live *live = live_new(42, NULL);
	struct snapshot s;
	size_t len;

	(void)state;
	add(live, "a", 1, 0);
	add(live, "b", 1, 0);
	assert_true(live_remove(live, "b"));
	s = snapshot_since(live, 0, 0, &len);
	assert_int_equal(s.count, 1);
	assert_int_equal(s.rev, live_revision(live));
	fini(&s);
	live_free(live);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(another_epoch_gets_all_nodes),
		cmocka_unit_test(the_same_epoch_gets_the_changed_nodes),
		cmocka_unit_test(several_messages_hold_all_nodes),
		cmocka_unit_test(
			long_names_make_more_messages_and_no_larger_ones),
		cmocka_unit_test(has_the_revision_of_a_removal),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
