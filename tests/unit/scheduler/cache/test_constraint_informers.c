#include "scheduler/cache/constraint_informers.h"

#include "kube/reflector.h"
#include "tests/support/cm.h"
#include "tests/unit/scheduler/given.h"

/* A fake reflector. */
struct reflector {
	struct reflector_handler handler;
	const char *path;
	bool is_synced;
	const char *last_error;
	bool is_refused;
};

static struct {
	struct interner *interner;
	struct cluster cluster;
	struct constraint_informers *informers;
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
		.last_error = "",
	};
	return r;
}

struct reflector_state reflector_state(const struct reflector *reflector)
{
	return (struct reflector_state){
		.is_synced = reflector->is_synced,
		.last_error = reflector->last_error,
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
	const struct constraint_informers_handler handler = { on_change,
		on_synced, NULL };

	(void)state;
	memset(&world, 0, sizeof(world));
	world.interner = interner_new();
	cluster_init(&world.cluster, world.interner);
	world.informers =
		constraint_informers_new(NULL, &world.cluster, &handler);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	constraint_informers_close(world.informers);
	assert_int_equal(world.closed, CLUSTER_KINDS);
	cluster_fini(&world.cluster);
	interner_free(world.interner);
	return 0;
}

static struct reflector *informer_of(const char *path)
{
	for (size_t i = 0; i < world.count; i++) {
		if (strcmp(world.list[i].path, path) == 0) {
			return &world.list[i];
		}
	}
	fail_msg("no watch of %s", path);
	return NULL;
}

static void updates_the_cluster(void **state)
{
	struct reflector *claims =
		informer_of("/api/v1/persistentvolumeclaims");
	struct reflector *spaces = informer_of("/api/v1/namespaces");
	struct json_value *claim = given_json(
		"{'metadata':{'namespace':'x','name':'c','uid':'u'}}");
	struct json_value *space =
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
	claims->handler.on_deleted(claims->handler.owner, &id);
	spaces->handler.on_deleted(spaces->handler.owner, &x);
	assert_int_equal(world.changes, 4);
	assert_null(storage_claim(&world.cluster.storage, "x", "c"));
	assert_null(cluster_namespace_labels(&world.cluster, "x"));
	json_value_free(claim);
	json_value_free(space);
}

static void ignores_an_invalid_object(void **state)
{
	struct reflector *volumes = informer_of("/api/v1/persistentvolumes");
	struct json_value *bad =
		given_json("{'metadata':{'name':'v','labels':{'a':1}}}");
	const struct reflector_id id = { "", "v", "u" };

	(void)state;
	volumes->handler.on_object(volumes->handler.owner, &id, bad);
	assert_int_equal(world.changes, 0);
	assert_null(storage_volume(&world.cluster.storage, "v"));
	json_value_free(bad);
}

/* Syncs all kinds but this one. */
static struct reflector *only_unknown(void)
{
	struct reflector *odd =
		informer_of("/apis/storage.k8s.io/v1/csistoragecapacities");

	for (size_t i = 0; i < world.count; i++) {
		world.list[i].is_synced = &world.list[i] != odd;
	}
	return odd;
}

static void skips_a_kind_that_is_not_served(void **state)
{
	struct reflector *odd;
	const uint64_t later = 1 + CONSTRAINT_INFORMERS_REFUSED_US;

	(void)state;
	assert_false(constraint_informers_complete(world.informers));
	odd = only_unknown();
	odd->handler.on_synced(odd->handler.owner);
	assert_int_equal(world.synced, 1);
	odd->last_error = "404: not found";
	odd->is_refused = true;
	assert_false(constraint_informers_poll(world.informers, true, 1));
	assert_false(
		constraint_informers_poll(world.informers, true, later - 1));
	assert_false(constraint_informers_complete(world.informers));
	/* A kind without an error is waited for. */
	odd->last_error = "";
	odd->is_refused = false;
	assert_false(constraint_informers_poll(world.informers, true, later));
	odd->last_error = "404: not found";
	odd->is_refused = true;
	assert_true(constraint_informers_poll(world.informers, true, later));
	assert_true(constraint_informers_complete(world.informers));
	assert_false(constraint_informers_poll(world.informers, true, later));
}

static void waits_longer_for_a_kind_without_a_response(void **state)
{
	struct reflector *odd = only_unknown();

	(void)state;
	odd->last_error = "cannot reach the server";
	assert_false(constraint_informers_poll(world.informers, true, 1));
	assert_false(constraint_informers_poll(world.informers, true,
		CONSTRAINT_INFORMERS_UNREACHABLE_US));
	assert_false(constraint_informers_complete(world.informers));
	assert_true(constraint_informers_poll(world.informers, true,
		1 + CONSTRAINT_INFORMERS_UNREACHABLE_US));
	assert_true(constraint_informers_complete(world.informers));
}

static void waits_from_the_first_response_of_the_server(void **state)
{
	struct reflector *odd = only_unknown();
	const uint64_t hour = UINT64_C(3600000000);

	(void)state;
	odd->last_error = "404: not found";
	odd->is_refused = true;
	assert_false(constraint_informers_poll(world.informers, false, 1));
	assert_false(constraint_informers_poll(world.informers, false, hour));
	assert_false(constraint_informers_poll(world.informers, true, hour));
	assert_true(constraint_informers_poll(world.informers, true,
		hour + CONSTRAINT_INFORMERS_REFUSED_US));
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		CASE(updates_the_cluster),
		CASE(ignores_an_invalid_object),
		CASE(skips_a_kind_that_is_not_served),
		CASE(waits_longer_for_a_kind_without_a_response),
		CASE(waits_from_the_first_response_of_the_server),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
