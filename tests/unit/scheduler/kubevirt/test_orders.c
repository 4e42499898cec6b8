#include "scheduler/kubevirt/orders.h"

#include "lib/clock.h"
#include "tests/unit/scheduler/given.h"
#include "tests/unit/scheduler/kubevirt/fake_requests.h"

STEADY("a move is ordered once");

#define PATH                                                                   \
	"/apis/kubevirt.io/v1/namespaces/vms/virtualmachineinstancemigrations"
#define EXISTS "{\"kind\":\"Status\",\"reason\":\"AlreadyExists\"}"

static const struct kubevirt_order order = { "id1", "vms", "vm-a", "host-2",
	KUBEVIRT_UNSCHEDULABLE_S, KUBEVIRT_PENDING_S };

static struct {
	struct orders *orders;
	struct buffer done; /* the calls, one line each */
} world;

static void on_done(void *owner, const char *move_id, const char *name,
	const char *error)
{
	(void)owner;
	buffer_printf(&world.done, "%s %s: %s;", move_id, name, error);
}

static int setup(void **state)
{
	(void)state;
	memset(&world, 0, sizeof(world));
	memset(&fake, 0, sizeof(fake));
	world.done = BUFFER_MAX(1 << 14);
	world.orders = orders_new(NULL, on_done, NULL);
	return 0;
}

static int teardown(void **state)
{
	assert_golden_told(GOLDEN_PROGRAM, *state);
	orders_close(world.orders);
	assert_int_equal(fake.count, 0);
	buffer_fini(&world.done);
	return 0;
}

static void expect_done(const char *expected)
{
	assert_string_equal(world.done.data == NULL ? "" : world.done.data,
		expected);
	buffer_clear(&world.done);
}

/* Ours for the move id1, with the uid u. */
static struct migration *given_migration(const char *meta, const char *phase)
{
	scoped_free char *text = xasprintf(
		"{'metadata':{'namespace':'vms','name':'plimsoll-id1','uid':'u'"
		"%s,'labels':{'plimsoll.io/move-id':'id1'}},"
		"'spec':{'vmiName':'vm-a'},'status':{'phase':'%s'}}",
		meta, phase);
	struct json_value *object = given_json(text);
	struct migration *migration = NULL;

	assert_int_equal(migration_read(&migration, object, NULL), 0);
	json_value_free(object);
	return migration;
}

static void see(const char *meta, const char *phase)
{
	struct migration *migration = given_migration(meta, phase);

	orders_seen(world.orders, migration);
	migration_free(migration);
}

static uint64_t later(uint64_t us)
{
	return clock_monotonic_us() + us;
}

#define DELETING ",'deletionTimestamp':'2026-11-20T10:50:18Z'"

static void sends_a_manifest_that_kubevirt_admits(void **state)
{
	struct json_value *body = NULL;
	const struct json_value *meta;
	struct kube_request *request;

	(void)state;
	orders_create(world.orders, &order);
	request = fake_find("POST", PATH);
	assert_non_null(request);
	assert_int_equal(json_value_parse(&body, request->body,
				 strlen(request->body), NULL),
		0);
	assert_string_equal(json_value_text_at(body, "kind", ""),
		"VirtualMachineInstanceMigration");
	assert_string_equal(json_value_text_at(body, "apiVersion", ""),
		"kubevirt.io/v1");
	meta = json_value_get(body, "metadata");
	assert_string_equal(json_value_text_at(meta, "name", ""),
		"plimsoll-id1");
	assert_string_equal(json_value_text_at(body, "spec/vmiName", ""),
		"vm-a");
	assert_string_equal(
		json_value_text(json_value_get(
			json_value_at(body, "spec/addedNodeSelector"),
			"kubernetes.io/hostname")),
		"host-2");
	/* KubeVirt refuses a priority from others. */
	assert_null(json_value_at(body, "spec/priority"));
	assert_string_equal(
		json_value_text(json_value_get(json_value_get(meta, "labels"),
			"plimsoll.io/move-id")),
		"id1");
	assert_string_equal(
		json_value_text(json_value_get(json_value_get(meta, "labels"),
			"app.kubernetes.io/managed-by")),
		"plimsoll-scheduler");
	assert_string_equal(json_value_text(json_value_get(
				    json_value_get(meta, "annotations"),
				    "kubevirt.io/"
				    "migrationUnschedulablePodTimeoutSeconds")),
		"60");
	assert_string_equal(json_value_text(json_value_get(
				    json_value_get(meta, "annotations"),
				    "kubevirt.io/"
				    "migrationPendingPodTimeoutSeconds")),
		"120");
	json_value_free(body);
}

static void a_second_request_finds_that_it_exists(void **state)
{
	(void)state;
	orders_create(world.orders, &order);
	fake_answer(fake_find("POST", PATH), 201, "{}", "");
	expect_done("id1 plimsoll-id1: ;");
	orders_create(world.orders, &order);
	fake_answer(fake_find("POST", PATH), 409, EXISTS, "already exists");
	expect_done("id1 plimsoll-id1: ;");
}

static void tells_why_it_was_refused(void **state)
{
	(void)state;
	orders_create(world.orders, &order);
	fake_answer(fake_find("POST", PATH), 400, "{}",
		"in-flight migration detected");
	expect_done("id1 plimsoll-id1: in-flight migration detected;");
	/* A quota's conflict is no proof that the migration exists. */
	orders_create(world.orders, &order);
	fake_answer(fake_find("POST", PATH), 409, "{\"reason\":\"Conflict\"}",
		"try again");
	expect_done("id1 plimsoll-id1: try again;");
}

static void without_an_answer_the_watch_decides(void **state)
{
	(void)state;
	orders_create(world.orders, &order);
	fake_answer(fake_find("POST", PATH), 0, "", "timeout");
	orders_poll(world.orders, true, later(0));
	expect_done("");
	see("", "Pending");
	expect_done("id1 plimsoll-id1: ;");
	orders_poll(world.orders, true, later(2 * ORDERS_UNKNOWN_US));
	expect_done("");
	assert_int_equal(fake.sent, 1);
}

static void the_watch_may_be_faster_than_the_answer(void **state)
{
	(void)state;
	orders_create(world.orders, &order);
	see("", "Pending");
	expect_done("");
	fake_answer(fake_find("POST", PATH), 504, "", "timeout");
	expect_done("id1 plimsoll-id1: ;");
}

static void an_order_that_never_shows_has_failed(void **state)
{
	(void)state;
	orders_create(world.orders, &order);
	fake_answer(fake_find("POST", PATH), 500, "", "webhook failed");
	/* The migration may be there, but the watch cannot show it. */
	orders_poll(world.orders, false, later(ORDERS_UNKNOWN_US));
	orders_poll(world.orders, true, later(ORDERS_UNKNOWN_US));
	expect_done("");
	orders_poll(world.orders, true, later(2 * ORDERS_UNKNOWN_US));
	expect_done(
		"id1 plimsoll-id1: the migration was not created: webhook "
		"failed;");
}

static void deletes_ours_and_no_other_of_that_name(void **state)
{
	struct migration *migration = given_migration("", "Running");
	struct kube_request *request;

	(void)state;
	orders_delete(world.orders, "id1", migration);
	request = fake_find("DELETE", PATH "/plimsoll-id1");
	assert_string_equal(request->body,
		"{\"apiVersion\":\"v1\",\"kind\":\"DeleteOptions\","
		"\"preconditions\":{\"uid\":\"u\"}}");
	fake_answer(request, 200, "{}", "");
	expect_done("id1 plimsoll-id1: ;");
	/* Another object has the name, so ours is gone. */
	orders_delete(world.orders, "id1", migration);
	fake_answer(fake_find("DELETE", PATH), 409, "{}", "conflict");
	orders_delete(world.orders, "id1", migration);
	fake_answer(fake_find("DELETE", PATH), 404, "{}", "not found");
	expect_done("id1 plimsoll-id1: ;id1 plimsoll-id1: ;");
	orders_delete(world.orders, "id1", migration);
	fake_answer(fake_find("DELETE", PATH), 403, "{}", "forbidden");
	expect_done("id1 plimsoll-id1: forbidden;");
	migration_free(migration);
}

static void a_deletion_without_an_answer_is_seen_by_the_watch(void **state)
{
	struct migration *migration = given_migration("", "Running");

	(void)state;
	orders_delete(world.orders, "id1", migration);
	fake_answer(fake_find("DELETE", PATH), 0, "", "timeout");
	see("", "Running");
	expect_done("");
	see(DELETING, "Running");
	expect_done("id1 plimsoll-id1: ;");
	orders_delete(world.orders, "id1", migration);
	orders_gone(world.orders, migration);
	fake_answer(fake_find("DELETE", PATH), 0, "", "timeout");
	expect_done("id1 plimsoll-id1: ;");
	orders_delete(world.orders, "id1", migration);
	fake_answer(fake_find("DELETE", PATH), 0, "", "timeout");
	orders_poll(world.orders, true, later(ORDERS_UNKNOWN_US));
	expect_done(
		"id1 plimsoll-id1: the migration was not deleted: "
		"timeout;");
	migration_free(migration);
}

static void cancels_an_order_that_is_still_open(void **state)
{
	(void)state;
	orders_create(world.orders, &order);
	orders_delete(world.orders, "id1", NULL);
	assert_null(fake_find("DELETE", PATH));
	fake_answer(fake_find("POST", PATH), 201, "{}", "");
	expect_done("id1 plimsoll-id1: ;");
	see("", "Pending");
	fake_answer(fake_find("DELETE", PATH), 200, "{}", "");
	expect_done("id1 plimsoll-id1: ;");
	/* If the order fails, the cancellation has nothing to do. */
	orders_create(world.orders, &order);
	orders_delete(world.orders, "id1", NULL);
	fake_answer(fake_find("POST", PATH), 403, "{}", "forbidden");
	expect_done("id1 plimsoll-id1: forbidden;");
	orders_poll(world.orders, true, later(0));
	expect_done("id1 : the migration was not created;");
}

static void cannot_cancel_what_is_not_known(void **state)
{
	(void)state;
	orders_delete(world.orders, "id1", NULL);
	expect_done("");
	orders_poll(world.orders, true, later(0));
	expect_done("id1 : no migration of this move is known;");
	assert_int_equal(fake.sent, 0);
}

static void has_a_bounded_number_of_open_orders(void **state)
{
	(void)state;
	for (int i = 0; i <= ORDERS_MAX; i++) {
		orders_create(world.orders, &order);
	}
	assert_int_equal(fake.sent, ORDERS_MAX);
	orders_poll(world.orders, true, later(0));
	expect_done("id1 plimsoll-id1: too many orders are open;");
}

#define CASE(name) golden_test(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		CASE(sends_a_manifest_that_kubevirt_admits),
		CASE(a_second_request_finds_that_it_exists),
		CASE(tells_why_it_was_refused),
		CASE(without_an_answer_the_watch_decides),
		CASE(the_watch_may_be_faster_than_the_answer),
		CASE(an_order_that_never_shows_has_failed),
		CASE(deletes_ours_and_no_other_of_that_name),
		CASE(a_deletion_without_an_answer_is_seen_by_the_watch),
		CASE(cancels_an_order_that_is_still_open),
		CASE(cannot_cancel_what_is_not_known),
		CASE(has_a_bounded_number_of_open_orders),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
