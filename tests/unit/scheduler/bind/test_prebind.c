#include "scheduler/bind/prebind.h"

#include "kube/client.h"
#include "tests/support/cm.h"
#include "tests/support/golden.h"
#include "tests/unit/scheduler/given.h"

/* The time of each decision. Responses to requests use the real clock, which is
 * then far from the timeout. */
#define START_US (INT64_C(1) << 60)

/* A fake API server: a request stays open until a test answers it. */
struct kube_request {
	struct kube_call call;
	char *path, *body;
};

static struct {
	uv_loop_t loop;
	struct interner *interner;
	struct cluster cluster;
	struct prebind *prebind;
	struct pod *pod;
	struct kube_request *open; /* at most one */
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
	golden_tell("%s %s %s\n", call->method, call->path, request->body);
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
	const struct http_response done = {
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
	struct json_value *object = given_json(json);
	enum cluster_kind found;

	assert_true(cluster_kind_find(&found, kind));
	assert_int_equal(
		cluster_put_object(&world.cluster, found, object, NULL), 0);
	json_value_free(object);
	if (world.prebind != NULL) {
		prebind_poll(world.prebind, world.now_us);
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
	world.interner = interner_new();
	world.is_wanted = true;
	world.now_us = START_US;
	cluster_init(&world.cluster, world.interner);
	node = given_node(world.interner,
		"{'metadata':{'name':'n','labels':{'h':'n'}}}");
	cluster_add_node(&world.cluster, node);
	world.pod = given_pod(world.interner,
		"{'metadata':{'name':'p','namespace':'x','uid':'p'}}");
	put("PersistentVolumeClaim", CLAIM("", ""));
	put("PersistentVolume", VOLUME("n", ""));
	world.prebind =
		prebind_new(NULL, &world.loop, &world.cluster, &handler);
	return 0;
}

static int teardown(void **state)
{
	assert_golden_told(GOLDEN_PROGRAM, *state);
	prebind_close(world.prebind);
	assert_null(world.open);
	(void)uv_run(&world.loop, UV_RUN_DEFAULT);
	assert_int_equal(uv_loop_close(&world.loop), 0);
	pod_free(world.pod);
	cluster_fini(&world.cluster);
	interner_free(world.interner);
	free(world.error);
	return 0;
}

static const struct claim *claim(void)
{
	return storage_claim(&world.cluster.storage, "x", "c");
}

static const struct volume *volume(void)
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

static const char *assumed_node(void)
{
	return claim() == NULL
		? NULL
		: storage_assumed_node(&world.cluster.storage, claim());
}

static const char *assumed_uid(void)
{
	return storage_assumed_uid(&world.cluster.storage, volume());
}

static void assert_done(const char *error)
{
	assert_non_null(world.error);
	assert_string_equal(world.error, error);
	assert_int_equal(prebind_pending(world.prebind), 0);
	assert_null(assumed_node());
}

static void gives_a_volume_its_claim_and_waits(void **state)
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

static void selects_a_node_for_a_claim_and_waits(void **state)
{
	(void)state;
	start(NULL);
	assert_string_equal(world.open->path,
		"/api/v1/namespaces/x/persistentvolumeclaims/c");
	assert_non_null(strstr(world.open->body, "selected-node\":\"n\""));
	assert_string_equal(assumed_node(), "n");
	answer(200, "");
	put("PersistentVolumeClaim", CLAIM(SELECTED("n"), ""));
	assert_null(world.error);
	put("PersistentVolumeClaim",
		CLAIM(SELECTED("n") "," BOUND, "'volumeName':'v'"));
	assert_done("");
}

static void fails_if_a_write_is_refused(void **state)
{
	(void)state;
	start("v");
	answer(409, "the object has been modified");
	assert_done("the object has been modified");
}

static void an_older_version_is_not_a_reset(void **state)
{
	(void)state;
	start(NULL);
	answer(200, "");
	put("PersistentVolumeClaim", CLAIM("", ""));
	assert_null(world.error);
	put("PersistentVolumeClaim", CLAIM(SELECTED("n"), ""));
	assert_null(world.error);
	put("PersistentVolumeClaim", CLAIM("", ""));
	assert_done("the provisioner reset the selected node");
}

static void fails_if_the_claim_reference_is_reset(void **state)
{
	(void)state;
	start("v");
	answer(200, "");
	put("PersistentVolume", VOLUME("n", REF));
	put("PersistentVolume", VOLUME("n", ""));
	assert_done("a volume's claimRef was reset");
}

static void fails_if_the_volume_is_on_another_node(void **state)
{
	(void)state;
	start(NULL);
	answer(200, "");
	put("PersistentVolume", VOLUME("other", ""));
	put("PersistentVolumeClaim", CLAIM(SELECTED("n"), "'volumeName':'v'"));
	assert_done("a volume's node affinity does not match the node");
}

static void fails_if_the_claim_is_deleted(void **state)
{
	enum cluster_kind kind;

	(void)state;
	assert_true(cluster_kind_find(&kind, "PersistentVolumeClaim"));
	start("v");
	answer(200, "");
	cluster_remove_object(&world.cluster, kind, "x", "c");
	prebind_poll(world.prebind, world.now_us);
	assert_done("a claim was deleted");
}

static void cancels_the_write_if_the_pod_is_deleted(void **state)
{
	(void)state;
	start("v");
	world.is_wanted = false;
	prebind_poll(world.prebind, world.now_us);
	assert_done("the pod no longer waits");
	assert_null(world.open);
}

static void writes_nothing_more_after_losing_the_pod(void **state)
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
	assert_done("the pod no longer waits");
}

static void fails_if_the_node_is_deleted(void **state)
{
	(void)state;
	start("v");
	answer(200, "");
	cluster_remove_node(&world.cluster, world.cluster.nodes[0]);
	prebind_poll(world.prebind, world.now_us);
	assert_done("the node was deleted");
}

static void releases_a_volume_after_the_timeout(void **state)
{
	(void)state;
	start("v");
	answer(200, "");
	prebind_poll(world.prebind, START_US + PREBIND_TIMEOUT_US - 1);
	assert_null(world.error);
	assert_string_equal(assumed_uid(), "uc");
	prebind_poll(world.prebind, START_US + PREBIND_TIMEOUT_US);
	assert_done("context deadline exceeded");
	assert_null(assumed_uid());
}

static void releases_a_claim_after_the_timeout(void **state)
{
	(void)state;
	start(NULL);
	answer(200, "");
	prebind_poll(world.prebind, START_US + PREBIND_TIMEOUT_US - 1);
	assert_null(world.error);
	assert_string_equal(assumed_node(), "n");
	prebind_poll(world.prebind, START_US + PREBIND_TIMEOUT_US);
	assert_done("context deadline exceeded");
}

static void accepts_a_claim_bound_at_the_deadline(void **state)
{
	(void)state;
	start("v");
	answer(200, "");
	put("PersistentVolume", VOLUME("n", REF));
	world.now_us = START_US + PREBIND_TIMEOUT_US;
	put("PersistentVolumeClaim", CLAIM(BOUND, "'volumeName':'v'"));
	assert_done("");
}

static void dropping_frees_the_choice_without_a_callback(void **state)
{
	(void)state;
	start(NULL);
	prebind_drop(world.prebind);
	assert_null(world.error);
	assert_null(assumed_node());
	assert_int_equal(prebind_pending(world.prebind), 0);
}

#define CASE(name) golden_test(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		CASE(gives_a_volume_its_claim_and_waits),
		CASE(selects_a_node_for_a_claim_and_waits),
		CASE(fails_if_a_write_is_refused),
		CASE(an_older_version_is_not_a_reset),
		CASE(fails_if_the_claim_reference_is_reset),
		CASE(fails_if_the_volume_is_on_another_node),
		CASE(fails_if_the_claim_is_deleted),
		CASE(cancels_the_write_if_the_pod_is_deleted),
		CASE(writes_nothing_more_after_losing_the_pod),
		CASE(fails_if_the_node_is_deleted),
		CASE(releases_a_volume_after_the_timeout),
		CASE(releases_a_claim_after_the_timeout),
		CASE(accepts_a_claim_bound_at_the_deadline),
		CASE(dropping_frees_the_choice_without_a_callback),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
