#include "aggregator/store/store.h"

#include "aggregator/store/db.h"
#include "aggregator/store/head.h"
#include "aggregator/store/pod_nodes.h"
#include "tests/unit/aggregator/store/queries.h"

#include <sqlite3.h>

static void returns_long_ranges_in_order(void **state)
{
	struct scratch *s = *state;
	uint64_t ms = now_ms();
	struct rows rows;

	scratch_open(s, day_us);
	/* Each time occurs twice, so pages end between equal times. */
	assert_true(scratch_write(s, batch_of("n1", run_a, 1, 1000, ms)));
	assert_true(scratch_write(s, batch_of("n1", run_b, 1, 1000, ms)));
	assert_true(
		scratch_write(s, batch_of("n1", run_a, 1001, 501, ms + 1000)));
	rows = query(s, ms, ms + 10000);
	assert_int_equal(rows.count, 2501);
	assert_int_equal(rows.seqs[2500], 1501);
	assert_int_equal(query_up_to(s, ms, ms + 10000, 7).count, 7);
}

static void limits_waiting_queries(void **state)
{
	struct scratch *s = *state;
	static struct rows rows[STORE_READS_MAX];
	struct store_read read = { .node = "n1",
		.parts = SCHEMA_ALL,
		.to_ms = 1,
		.row = on_row,
		.done = on_done };
	struct error err;

	memset(rows, 0, sizeof(rows));
	scratch_open(s, day_us);
	for (size_t i = 0; i < STORE_READS_MAX; i++) {
		read.owner = &rows[i];
		assert_int_equal(store_query(s->store, &read, NULL), 0);
	}
	assert_int_equal(store_query(s->store, &read, &err), -EBUSY);
	scratch_close(s);
	for (size_t i = 0; i < STORE_READS_MAX; i++) {
		assert_true(rows[i].is_done);
	}
}

static bool on_pod(void *owner, const struct store_row *row)
{
	struct rows *rows = owner;

	if (row->report->vm_count == 1 &&
		strcmp(row->report->vms[0].pod_uid, "pod-2") == 0) {
		rows->count++;
	}
	return true;
}

static void finds_a_vm_by_its_name(void **state)
{
	struct vm_pod vms[2] = { sample_vm("pod-1", 1), sample_vm("pod-2", 2) };
	struct store_batch *batch = store_batch_new("n1", run_a);
	struct report r = sample_report(1, 100);
	struct scratch *s = *state;
	struct rows rows = { 0 };
	struct store_read read = { .parts = SCHEMA_ALL,
		.namespace = "shop",
		.name = "db",
		.to_ms = UINT64_MAX,
		.row = on_pod,
		.done = on_done,
		.owner = &rows };

	scratch_open(s, day_us);
	assert_int_equal(store_identify(s->store,
				 &(struct store_vm){ "pod-1", "shop", "web",
					 "u1", "n1" },
				 NULL, NULL, NULL),
		0);
	assert_int_equal(
		store_identify(s->store,
			&(struct store_vm){ "pod-2", "shop", "db", "u2", "n1" },
			NULL, NULL, NULL),
		0);
	sample_add_vms(&r, vms, 2);
	scratch_add(batch, &r, now_ms());
	report_fini(&r);
	assert_true(scratch_write(s, batch));
	assert_int_equal(store_query(s->store, &read, NULL), 0);
	run_until(&s->loop, &rows.is_done);
	assert_int_equal(rows.code, 0);
	assert_int_equal(rows.count, 1);

	rows = (struct rows){ 0 };
	(void)snprintf(read.name, sizeof(read.name), "dc");
	assert_int_equal(store_query(s->store, &read, NULL), 0);
	run_until(&s->loop, &rows.is_done);
	assert_int_equal(rows.code, -ENOENT);
	assert_string_equal(rows.text, "the store has no data of the VM");

	read = (struct store_read){ .node = "n2",
		.parts = SCHEMA_ALL,
		.to_ms = UINT64_MAX,
		.row = on_pod,
		.done = on_done,
		.owner = &rows };
	rows = (struct rows){ 0 };
	assert_int_equal(store_query(s->store, &read, NULL), 0);
	run_until(&s->loop, &rows.is_done);
	assert_int_equal(rows.code, -ENOENT);
	assert_string_equal(rows.text, "the store has no data of the node");
}

/* A VM's reports by node. */
struct vm_rows {
	size_t from_n1, from_n2;
	bool is_done;
	int code;
};

static bool on_vm_row(void *owner, const struct store_row *row)
{
	struct vm_rows *rows = owner;
	bool is_n1 = strcmp(row->node, "n1") == 0;

	*(is_n1 ? &rows->from_n1 : &rows->from_n2) += row->report->vm_count;
	return true;
}

static void on_vm_done(void *owner, const struct error *err)
{
	struct vm_rows *rows = owner;

	rows->is_done = true;
	rows->code = err == NULL ? 0 : err->code;
}

static struct vm_rows query_vm(struct scratch *s)
{
	struct vm_rows rows = { 0 };
	const struct store_read read = { .namespace = "shop",
		.name = "db",
		.parts = SCHEMA_ALL,
		.to_ms = UINT64_MAX,
		.row = on_vm_row,
		.done = on_vm_done,
		.owner = &rows };

	assert_int_equal(store_query(s->store, &read, NULL), 0);
	run_until(&s->loop, &rows.is_done);
	return rows;
}

/* One report of the node with pod-1. */
static void write_pod(struct scratch *s, const char *node, uint64_t seq)
{
	struct store_batch *batch = store_batch_new(node, run_a);
	struct report r = sample_report(seq, 100 + (double)seq);
	struct vm_pod vm = sample_vm("pod-1", 1);

	sample_add_vms(&r, &vm, 1);
	scratch_add(batch, &r, now_ms());
	report_fini(&r);
	assert_true(scratch_write(s, batch));
}

/* As the rollup of an hour does for each pod in a node's reports. */
static void note_pod(struct scratch *s, int64_t node)
{
	struct pod_nodes *pod_nodes;
	struct sqlite3 *db;

	assert_int_equal(db_open(&db, s->db, NULL), 0);
	assert_int_equal(pod_nodes_new(&pod_nodes, db, NULL), 0);
	assert_int_equal(
		pod_nodes_note(pod_nodes,
			&(struct pod_node_seen){ "pod-1", node,
				now_ms() - 7200000, now_ms() - 3600000 },
			NULL),
		0);
	pod_nodes_free(pod_nodes);
	(void)sqlite3_close(db);
}

static void state_pod(struct scratch *s, const char *node)
{
	const struct store_vm vm = { "pod-1", "shop", "db", "u", node };

	assert_int_equal(store_identify(s->store, &vm, NULL, NULL, NULL), 0);
}

static void a_vm_has_the_reports_of_its_pods_own_node_only(void **state)
{
	struct scratch *s = *state;
	struct vm_rows rows;

	scratch_open(s, day_us);
	/* Before the statement, the history waits. */
	write_pod(s, "n1", 1);
	write_pod(s, "n2", 1);
	note_pod(s, 1);
	note_pod(s, 2);
	assert_int_equal(query_vm(s).code, -ENOENT);
	/* Stated before the pod had a node. */
	state_pod(s, "");
	write_pod(s, "n1", 2);
	write_pod(s, "n2", 2);
	assert_int_equal(query_vm(s).code, -ENOENT);
	state_pod(s, "n1");
	write_pod(s, "n1", 3);
	write_pod(s, "n2", 3);
	rows = query_vm(s);
	assert_int_equal(rows.code, 0);
	assert_int_equal(rows.from_n1, 3);
	assert_int_equal(rows.from_n2, 0);
	/* The statement outlives the process. */
	scratch_close(s);
	scratch_open(s, day_us);
	write_pod(s, "n1", 4);
	write_pod(s, "n2", 4);
	rows = query_vm(s);
	assert_int_equal(rows.from_n1, 4);
	assert_int_equal(rows.from_n2, 0);
}

static bool count_minute(void *owner, const struct store_rollup *rollup)
{
	struct rows *rows = owner;

	rows->count += rollup->row->covered_ms == 2000;
	return true;
}

/* The search for rows begins at the slot of the oldest row, and slots do not
 * begin with minutes. */
static void the_first_minute_counts_if_data_begins_within_it(void **state)
{
	const uint64_t slot_ms = UINT64_C(1) << HEAD_SLOT_BITS;
	uint64_t begin_ms = UINT64_C(1790000000000) / slot_ms * slot_ms;
	struct store_batch *batch = store_batch_new("n1", run_a);
	struct scratch *s = *state;
	struct rows rows = { 0 };
	struct store_read read = { .node = "n1",
		.parts = SCHEMA_ALL,
		.tier = STORE_1M,
		.rollup = count_minute,
		.done = on_done,
		.owner = &rows };

	while (begin_ms % 60000 < 10000 || begin_ms % 60000 > 50000) {
		begin_ms += slot_ms;
	}
	read.from_ms = begin_ms - begin_ms % 60000 - 600000;
	read.to_ms = begin_ms + 600000;
	for (uint64_t i = 0; i < 2; i++) {
		struct report r = steady_report(i + 1, 100 + 2 * (double)i, 1);

		scratch_add(batch, &r, begin_ms + 1000 + 2000 * i);
	}
	scratch_open(s, 4000 * day_us);
	assert_true(scratch_write(s, batch));
	assert_int_equal(store_query(s->store, &read, NULL), 0);
	run_until(&s->loop, &rows.is_done);
	assert_int_equal(rows.code, 0);
	assert_int_equal(rows.count, 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		scratch_test(returns_long_ranges_in_order),
		scratch_test(limits_waiting_queries),
		scratch_test(finds_a_vm_by_its_name),
		scratch_test(a_vm_has_the_reports_of_its_pods_own_node_only),
		scratch_test(the_first_minute_counts_if_data_begins_within_it),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
