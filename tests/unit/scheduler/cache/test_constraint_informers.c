#include "scheduler/cache/constraint_informers.h"

#include "kube/reflector.h"
#include "tests/support/cm.h"
#include "tests/unit/scheduler/given.h"

/* The watches are played here. */
struct reflector {
	struct reflector_handler handler;
	const char *path;
	bool is_synced;
	const char *trouble;
	bool is_refused;
};

static struct {
	struct names *names;
	struct cluster cluster;
	struct watches *watches;
	struct reflector list[CLUSTER_KINDS];
	size_t count, closed;
	int changes, synced;
} world;

struct reflector *reflector_new(struct kube_client *client,
	const struct reflector_options *options,
	const struct reflector_handler *handler)
{
	struct reflector *r = &world.list[world.count++];

	(void)client;
	*r = (struct reflector){
		.handler = *handler,
		.path = options->path,
		.trouble = "",
	};
	return r;
}

struct reflector_state reflector_state(const struct reflector *reflector)
{
	return (struct reflector_state){
		.is_synced = reflector->is_synced,
		.trouble = reflector->trouble,
		.is_refused = reflector->is_refused,
	};
}

void reflector_close(struct reflector *reflector)
{
	(void)reflector;
	world.closed++;
}

static void on_change(void *owner)
{
	(void)owner;
	world.changes++;
}

static void on_synced(void *owner)
{
	(void)owner;
	world.synced++;
}

static int setup(void **state)
{
	const struct watches_handler handler = { on_change, on_synced, NULL };

	(void)state;
	memset(&world, 0, sizeof(world));
	world.names = names_new();
	cluster_init(&world.cluster, world.names);
	world.watches = watches_new(NULL, &world.cluster, &handler);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	watches_close(world.watches);
	assert_int_equal(world.closed, CLUSTER_KINDS);
	cluster_fini(&world.cluster);
	names_free(world.names);
	return 0;
}

static struct reflector *watch_of(const char *path)
{
	for (size_t i = 0; i < world.count; i++) {
		if (strcmp(world.list[i].path, path) == 0) {
			return &world.list[i];
		}
	}
	fail_msg("no watch of %s", path);
	return NULL;
}

static void keep_the_cluster_up_to_date(void **state)
{
	struct reflector *claims = watch_of("/api/v1/persistentvolumeclaims");
	struct reflector *spaces = watch_of("/api/v1/namespaces");
	struct value *claim = given_json(
		"{'metadata':{'namespace':'x','name':'c','uid':'u'}}");
	struct value *space =
		given_json("{'metadata':{'name':'x','labels':{'a':'b'}}}");
	const struct reflector_id id = { "x", "c", "u" };
	const struct reflector_id x = { "", "x", "u" };

	(void)state;
	claims->handler.on_object(claims->handler.owner, &id, claim);
	spaces->handler.on_object(spaces->handler.owner, &x, space);
	assert_int_equal(world.changes, 2);
	assert_non_null(storage_claim(&world.cluster.storage, "x", "c"));
	assert_int_equal(cluster_namespace_labels(&world.cluster, "x")->count,
		1);
	claims->handler.on_gone(claims->handler.owner, &id);
	spaces->handler.on_gone(spaces->handler.owner, &x);
	assert_int_equal(world.changes, 4);
	assert_null(storage_claim(&world.cluster.storage, "x", "c"));
	assert_null(cluster_namespace_labels(&world.cluster, "x"));
	value_free(claim);
	value_free(space);
}

static void what_is_not_understood_changes_nothing(void **state)
{
	struct reflector *volumes = watch_of("/api/v1/persistentvolumes");
	struct value *bad =
		given_json("{'metadata':{'name':'v','labels':{'a':1}}}");
	const struct reflector_id id = { "", "v", "u" };

	(void)state;
	volumes->handler.on_object(volumes->handler.owner, &id, bad);
	assert_int_equal(world.changes, 0);
	assert_null(storage_volume(&world.cluster.storage, "v"));
	value_free(bad);
}

/* All kinds but this one are known. */
static struct reflector *only_unknown(void)
{
	struct reflector *odd =
		watch_of("/apis/storage.k8s.io/v1/csistoragecapacities");

	for (size_t i = 0; i < world.count; i++) {
		world.list[i].is_synced = &world.list[i] != odd;
	}
	return odd;
}

static void a_kind_that_is_not_served_is_given_up_later(void **state)
{
	struct reflector *odd;
	const uint64_t later = 1 + WATCHES_PATIENCE_US;

	(void)state;
	assert_false(watches_complete(world.watches));
	odd = only_unknown();
	odd->handler.on_synced(odd->handler.owner);
	assert_int_equal(world.synced, 1);
	odd->trouble = "404: not found";
	odd->is_refused = true;
	assert_false(watches_look(world.watches, true, 1));
	assert_false(watches_look(world.watches, true, later - 1));
	assert_false(watches_complete(world.watches));
	/* One that only takes its time is waited for. */
	odd->trouble = "";
	odd->is_refused = false;
	assert_false(watches_look(world.watches, true, later));
	odd->trouble = "404: not found";
	odd->is_refused = true;
	assert_true(watches_look(world.watches, true, later));
	assert_true(watches_complete(world.watches));
	assert_false(watches_look(world.watches, true, later));
}

static void a_kind_without_an_answer_is_waited_for_longer(void **state)
{
	struct reflector *odd = only_unknown();

	(void)state;
	odd->trouble = "cannot reach the server";
	assert_false(watches_look(world.watches, true, 1));
	assert_false(watches_look(world.watches, true, WATCHES_SILENCE_US));
	assert_false(watches_complete(world.watches));
	assert_true(watches_look(world.watches, true, 1 + WATCHES_SILENCE_US));
	assert_true(watches_complete(world.watches));
}

static void patience_begins_when_the_server_is_there(void **state)
{
	struct reflector *odd = only_unknown();
	const uint64_t hour = UINT64_C(3600000000);

	(void)state;
	odd->trouble = "404: not found";
	odd->is_refused = true;
	assert_false(watches_look(world.watches, false, 1));
	assert_false(watches_look(world.watches, false, hour));
	assert_false(watches_look(world.watches, true, hour));
	assert_true(
		watches_look(world.watches, true, hour + WATCHES_PATIENCE_US));
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		CASE(keep_the_cluster_up_to_date),
		CASE(what_is_not_understood_changes_nothing),
		CASE(a_kind_that_is_not_served_is_given_up_later),
		CASE(a_kind_without_an_answer_is_waited_for_longer),
		CASE(patience_begins_when_the_server_is_there),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
