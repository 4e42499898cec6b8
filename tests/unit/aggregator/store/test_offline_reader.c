#include "aggregator/store/offline_reader.h"

#include "tests/unit/aggregator/store/fixture.h"

struct history {
	size_t minutes, pods, identities;
	double cores; /* of pod-1, summed up */
};

static bool on_minute(void *owner, const struct store_rollup *minute)
{
	struct history *history = owner;

	assert_string_equal(minute->node, "n1");
	history->minutes++;
	if (strcmp(minute->pod_uid, "pod-1") == 0) {
		history->cores +=
			minute->row->figures[ROLLUP_VM_used_cores].mean;
	}
	history->pods += minute->pod_uid[0] != '\0';
	return true;
}

static void on_identity(void *owner, const struct store_vm *vm)
{
	struct history *history = owner;

	assert_string_equal(vm->pod_uid, "pod-1");
	assert_string_equal(vm->namespace, "n");
	assert_string_equal(vm->name, "web");
	assert_string_equal(vm->node, "n1");
	history->identities++;
}

/* Reads half an hour of data. */
static void assert_history(struct fixture *f, uint64_t base_ms)
{
	struct history history = { 0 };
	const struct offline_reader read = {
		.path = f->scratch->db,
		.from_ms = base_ms - hour_ms / 2,
		.to_ms = base_ms + hour_ms / 2,
		.identity = on_identity,
		.minute = on_minute,
		.owner = &history,
	};

	assert_int_equal(offline_reader_read(&read, NULL), 0);
	assert_int_equal(history.minutes, 90);
	assert_int_equal(history.pods, 60);
	assert_int_equal(history.identities, 1);
	assert_true(fabs(history.cores - 15) < 0.05);
}

static void reads_the_history_of_all_nodes_and_pods(void **state)
{
	struct fixture *f = *state;
	uint64_t base_ms = f->now_ms - 4 * hour_ms;

	fixture_add_range(f, base_ms, 1, 3600);
	assert_int_equal(db_exec(f->db,
				 "INSERT INTO identity VALUES"
				 " ('pod-1', 'n', 'web', 'v', 1, 1),"
				 " ('pod-2', 'n', 'db', 'v', 1, 0)",
				 NULL),
		0);
	assert_history(f, base_ms);
	f->now_ms += 2 * hour_ms;
	fixture_pack_all(f);
	fixture_roll_up_all(f);
	assert_history(f, base_ms);
}

static void refuses_another_format(void **state)
{
	struct fixture *f = *state;
	const struct offline_reader read = { .path = f->scratch->db };
	struct error err;

	assert_int_equal(db_exec(f->db, "PRAGMA user_version = 9", NULL), 0);
	assert_int_equal(offline_reader_read(&read, &err), -ENOTSUP);
	assert_non_null(strstr(err.text, "its format is 9"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		fixture_test(reads_the_history_of_all_nodes_and_pods),
		fixture_test(refuses_another_format),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
