#include "scheduler/bind/prebind.h"

#include "kube/client.h"
#include "tests/support/cm.h"
#include "tests/unit/scheduler/given.h"

/* When each decision is made. What answers a request reads the real clock,
 * which is nowhere near the end of the wait then. */
#define START_US (INT64_C(1) << 60)

/* The API server is played here: a request stays open until a test answers. */
struct kube_request {
	struct kube_call call;
	char *path, *body;
};

static struct {
	uv_loop_t loop;
	struct names *names;
	struct cluster cluster;
	struct prebind *prebind;
	struct pod *pod;
	struct kube_request *open; /* there is one at most */
	size_t sent;
	int64_t now_us;
	bool is_wanted;
	char *error; /* of the result; NULL: none yet */
} world;

struct kube_request *kube_request_send(struct kube_client *client,
	const struct kube_call *call)
{
	struct kube_request *request = xcalloc(1, sizeof(*request));

	(void)client;
	assert_null(world.open);
	request->call = *call;
	request->path = xstrdup(call->path);
	request->body = xstrndup(call->body, call->len);
	world.open = request;
	world.sent++;
	return request;
}

void kube_request_cancel(struct kube_request *request)
{
	if (request != NULL) {
		assert_ptr_equal(request, world.open);
		world.open = NULL;
		free(request->path);
		free(request->body);
		free(request);
	}
}

uv_loop_t *kube_client_loop(const struct kube_client *client)
{
	(void)client;
	return &world.loop;
}

const char *kube_client_namespace(const struct kube_client *client)
{
	(void)client;
	return "default";
}

static void answer(int status, const char *error)
{
	const struct kube_answer done = {
		.status = status,
		.body = "{}",
		.len = 2,
		.error = error,
	};
	struct kube_call call = world.open->call;

	kube_request_cancel(world.open);
	call.on_done(call.owner, &done);
}

static void on_done(void *owner, const struct prebind_result *result)
{
	(void)owner;
	assert_null(world.error);
	assert_string_equal(result->uid, "p");
	assert_string_equal(result->node, "n");
	assert_string_equal(result->why, "why");
	world.error = xstrdup(result->error);
}

static bool is_wanted(void *owner, const char *uid)
{
	(void)owner;
	(void)uid;
	return world.is_wanted;
}

static void put(const char *kind, const char *json)
{
	struct value *object = given_json(json);
	enum cluster_kind found;

	assert_true(cluster_kind_find(&found, kind));
	assert_int_equal(
		cluster_put_object(&world.cluster, found, object, NULL), 0);
	value_free(object);
	if (world.prebind != NULL) {
		prebind_look(world.prebind, world.now_us);
	}
}

#define CLAIM(notes, spec)                                                     \
	"{'metadata':{'namespace':'x','name':'c','uid':'uc',"                  \
	"'resourceVersion':'7','annotations':{" notes "}},'spec':{" spec "}}"
#define VOLUME(host, ref)                                                      \
	"{'metadata':{'name':'v','uid':'uv','resourceVersion':'9'},"           \
	"'spec':{'nodeAffinity':{'required':{'nodeSelectorTerms':[{"           \
	"'matchExpressions':[{'key':'h','operator':'In','values':['" host      \
	"']}]}]}}" ref "}}"
#define REF ",'claimRef':{'namespace':'x','name':'c','uid':'uc'}"
#define BOUND "'pv.kubernetes.io/bind-completed':'yes'"
#define SELECTED(node) "'volume.kubernetes.io/selected-node':'" node "'"

static int setup(void **state)
{
	const struct prebind_handler handler = { on_done, is_wanted, NULL };
	struct node *node;

	(void)state;
	memset(&world, 0, sizeof(world));
	assert_int_equal(uv_loop_init(&world.loop), 0);
	world.names = names_new();
	world.is_wanted = true;
	world.now_us = START_US;
	cluster_init(&world.cluster, world.names);
	node = given_node(world.names,
		"{'metadata':{'name':'n','labels':{'h':'n'}}}");
	cluster_add_node(&world.cluster, node);
	world.pod = given_pod(world.names,
		"{'metadata':{'name':'p','namespace':'x','uid':'p'}}");
	put("PersistentVolumeClaim", CLAIM("", ""));
	put("PersistentVolume", VOLUME("n", ""));
	world.prebind =
		prebind_new(NULL, &world.loop, &world.cluster, &handler);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	prebind_close(world.prebind);
	assert_null(world.open);
	(void)uv_run(&world.loop, UV_RUN_DEFAULT);
	assert_int_equal(uv_loop_close(&world.loop), 0);
	pod_free(world.pod);
	cluster_fini(&world.cluster);
	names_free(world.names);
	free(world.error);
	return 0;
}

static struct claim *claim(void)
{
	return storage_claim(&world.cluster.storage, "x", "c");
}

static struct volume *volume(void)
{
	return storage_volume(&world.cluster.storage, "v");
}

/* volume: NULL to provision one. */
static void start(const char *name)
{
	struct volume_plan plan = { 0 };

	volume_plan_add(&plan, claim(), name != NULL ? volume() : NULL);
	prebind_start(world.prebind, world.pod, "n", "why", &plan, START_US);
	assert_int_equal(plan.count, 0);
	assert_int_equal(prebind_pending(world.prebind), 1);
	assert_non_null(world.open);
}

static void assert_done(const char *error)
{
	assert_non_null(world.error);
	assert_string_equal(world.error, error);
	assert_int_equal(prebind_pending(world.prebind), 0);
	assert_null(claim() != NULL ? claim()->assumed_node : NULL);
}

static void a_volume_gets_the_claim_and_the_claim_is_awaited(void **state)
{
	(void)state;
	start("v");
	assert_string_equal(world.open->path, "/api/v1/persistentvolumes/v");
	assert_string_equal(world.open->call.method, "PATCH");
	assert_non_null(strstr(world.open->body, "\"uid\":\"uc\""));
	assert_non_null(strstr(world.open->body, "\"resourceVersion\":\"9\""));
	answer(200, "");
	assert_null(world.error);
	put("PersistentVolume", VOLUME("n", REF));
	assert_null(world.error);
	put("PersistentVolumeClaim", CLAIM(BOUND, "'volumeName':'v'"));
	assert_done("");
	assert_int_equal(world.sent, 1);
}

static void a_claim_gets_the_node_and_is_awaited(void **state)
{
	(void)state;
	start(NULL);
	assert_string_equal(world.open->path,
		"/api/v1/namespaces/x/persistentvolumeclaims/c");
	assert_non_null(strstr(world.open->body, "selected-node\":\"n\""));
	assert_string_equal(claim()->assumed_node, "n");
	answer(200, "");
	put("PersistentVolumeClaim", CLAIM(SELECTED("n"), ""));
	assert_null(world.error);
	put("PersistentVolumeClaim",
		CLAIM(SELECTED("n") "," BOUND, "'volumeName':'v'"));
	assert_done("");
}

static void a_refused_write_ends_it(void **state)
{
	(void)state;
	start("v");
	answer(409, "the object has been modified");
	assert_done("the object has been modified");
}

static void an_old_version_that_comes_late_is_no_reset(void **state)
{
	(void)state;
	start(NULL);
	answer(200, "");
	put("PersistentVolumeClaim", CLAIM("", ""));
	assert_null(world.error);
	put("PersistentVolumeClaim", CLAIM(SELECTED("n"), ""));
	assert_null(world.error);
	put("PersistentVolumeClaim", CLAIM("", ""));
	assert_done("the provisioner wants another node");
}

static void a_reference_that_is_taken_back_ends_it(void **state)
{
	(void)state;
	start("v");
	answer(200, "");
	put("PersistentVolume", VOLUME("n", REF));
	put("PersistentVolume", VOLUME("n", ""));
	assert_done("a volume's claimRef was reset");
}

static void a_volume_made_elsewhere_ends_it(void **state)
{
	(void)state;
	start(NULL);
	answer(200, "");
	put("PersistentVolume", VOLUME("other", ""));
	put("PersistentVolumeClaim", CLAIM(SELECTED("n"), "'volumeName':'v'"));
	assert_done("a volume's node affinity does not match the node");
}

static void what_vanishes_ends_it(void **state)
{
	enum cluster_kind kind;

	(void)state;
	assert_true(cluster_kind_find(&kind, "PersistentVolumeClaim"));
	start("v");
	answer(200, "");
	cluster_remove_object(&world.cluster, kind, "x", "c");
	prebind_look(world.prebind, world.now_us);
	assert_done("a claim vanished");
}

static void a_pod_that_is_gone_ends_it_in_the_middle_of_a_write(void **state)
{
	(void)state;
	start("v");
	world.is_wanted = false;
	prebind_look(world.prebind, world.now_us);
	assert_done("the pod is gone");
	assert_null(world.open);
}

static void what_is_ours_no_longer_is_not_written_on(void **state)
{
	struct volume_plan plan = { 0 };

	(void)state;
	put("PersistentVolumeClaim",
		"{'metadata':{'namespace':'x','name':'d','uid':'ud'}}");
	volume_plan_add(&plan, claim(), volume());
	volume_plan_add(&plan, storage_claim(&world.cluster.storage, "x", "d"),
		NULL);
	prebind_start(world.prebind, world.pod, "n", "why", &plan, START_US);
	world.is_wanted = false;
	answer(200, "");
	assert_null(world.open);
	assert_int_equal(world.sent, 1);
	assert_done("the pod is gone");
}

static void a_node_that_is_gone_ends_it(void **state)
{
	(void)state;
	start("v");
	answer(200, "");
	cluster_remove_node(&world.cluster, world.cluster.nodes[0]);
	prebind_look(world.prebind, world.now_us);
	assert_done("the node vanished");
}

static void a_volume_that_is_not_bound_in_time_is_let_go(void **state)
{
	(void)state;
	start("v");
	answer(200, "");
	prebind_look(world.prebind, START_US + PREBIND_TIMEOUT_US - 1);
	assert_null(world.error);
	assert_string_equal(volume()->assumed_uid, "uc");
	prebind_look(world.prebind, START_US + PREBIND_TIMEOUT_US);
	assert_done("context deadline exceeded");
	assert_null(volume()->assumed_uid);
}

static void a_claim_that_is_not_bound_in_time_is_let_go(void **state)
{
	(void)state;
	start(NULL);
	answer(200, "");
	prebind_look(world.prebind, START_US + PREBIND_TIMEOUT_US - 1);
	assert_null(world.error);
	assert_string_equal(claim()->assumed_node, "n");
	prebind_look(world.prebind, START_US + PREBIND_TIMEOUT_US);
	assert_done("context deadline exceeded");
}

static void a_claim_bound_in_the_last_moment_is_bound(void **state)
{
	(void)state;
	start("v");
	answer(200, "");
	put("PersistentVolume", VOLUME("n", REF));
	world.now_us = START_US + PREBIND_TIMEOUT_US;
	put("PersistentVolumeClaim", CLAIM(BOUND, "'volumeName':'v'"));
	assert_done("");
}

static void dropping_says_nothing_and_frees_the_choice(void **state)
{
	(void)state;
	start(NULL);
	prebind_drop(world.prebind);
	assert_null(world.error);
	assert_null(claim()->assumed_node);
	assert_int_equal(prebind_pending(world.prebind), 0);
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		CASE(a_volume_gets_the_claim_and_the_claim_is_awaited),
		CASE(a_claim_gets_the_node_and_is_awaited),
		CASE(a_refused_write_ends_it),
		CASE(an_old_version_that_comes_late_is_no_reset),
		CASE(a_reference_that_is_taken_back_ends_it),
		CASE(a_volume_made_elsewhere_ends_it),
		CASE(what_vanishes_ends_it),
		CASE(a_pod_that_is_gone_ends_it_in_the_middle_of_a_write),
		CASE(what_is_ours_no_longer_is_not_written_on),
		CASE(a_node_that_is_gone_ends_it),
		CASE(a_volume_that_is_not_bound_in_time_is_let_go),
		CASE(a_claim_that_is_not_bound_in_time_is_let_go),
		CASE(a_claim_bound_in_the_last_moment_is_bound),
		CASE(dropping_says_nothing_and_frees_the_choice),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
