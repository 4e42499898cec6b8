#include "scheduler/admission/admission_check.h"

#include "kube/client.h"
#include "lib/base64.h"
#include "lib/clock.h"
#include "lib/log.h"
#include "lib/loop.h"
#include "lib/tls/certificate_issue.h"
#include "scheduler/admission/admission_metrics.h"
#include "scheduler/admission/webhook.h"
#include "tests/support/cm.h"
#include "tests/unit/scheduler/admission/given_namespace.h"

#define WEBHOOK "mutatingwebhookconfigurations/plimsoll-scheduler-name"
#define BINDING "mutatingadmissionpolicybindings/plimsoll-scheduler-name"
#define POLICY "mutatingadmissionpolicies/plimsoll-scheduler-name"
#define WEBHOOKS(name_, client_)                                               \
	"{'webhooks':[{'name':'other'},{'name':'" name_                        \
	"','clientConfig':{" client_ "}}]}"
#define OURS "scheduler-name.plimsoll.io"
#define TRUSTED WEBHOOKS(OURS, "'caBundle':'QQ=='")
#define UNTRUSTED WEBHOOKS(OURS, "'service':{}")
#define ONLY "; only VMs that name s are placed"
#define NEITHER                                                                \
	": neither the webhook nor the policy plimsoll-scheduler-name "        \
	"exists" ONLY

/* At most one request is open. */
struct kube_request {
	struct kube_call call;
};

static struct {
	struct interner *interner;
	struct cluster cluster;
	struct admission_check *check;
	struct kube_request request;
	bool is_open;
	timer_fire fire;
	void *owner;
	uint64_t again_ms;
	const char *certificate; /* of this scheduler's webhook */
	unsigned logged;	 /* lines with a state */
} scene;

const char *__wrap_webhook_certificate(const struct webhook *webhook);
void __wrap_log_write(enum log_level level, const char *file, int line,
	const char *message, const struct log_field *fields);

const char *__wrap_webhook_certificate(const struct webhook *webhook)
{
	(void)webhook;
	return scene.certificate;
}

void __wrap_log_write(enum log_level level, const char *file, int line,
	const char *message, const struct log_field *fields)
{
	(void)level;
	(void)file;
	(void)line;
	(void)message;
	scene.logged += strcmp(fields->key, "state") == 0;
}

struct kube_request *kube_request_send(struct kube_client *client,
	const struct kube_call *call)
{
	(void)client;
	assert_false(scene.is_open);
	scene.is_open = true;
	scene.request.call = *call;
	return &scene.request;
}

void kube_request_cancel(struct kube_request *request)
{
	if (request != NULL) {
		scene.is_open = false;
	}
}

struct timer *__wrap_timer_new(uv_loop_t *loop, timer_fire fire, void *owner);
void __wrap_timer_start(struct timer *timer, uint64_t first_ms,
	uint64_t repeat_ms);
void __wrap_timer_close(struct timer *timer);

struct timer *__wrap_timer_new(uv_loop_t *loop, timer_fire fire, void *owner)
{
	(void)loop;
	scene.fire = fire;
	scene.owner = owner;
	return NULL;
}

void __wrap_timer_start(struct timer *timer, uint64_t first_ms,
	uint64_t repeat_ms)
{
	(void)timer;
	(void)first_ms;
	scene.again_ms = repeat_ms;
}

void __wrap_timer_close(struct timer *timer)
{
	(void)timer;
}

static int begin(void **state)
{
	(void)state;
	memset(&scene, 0, sizeof(scene));
	scene.interner = interner_new();
	cluster_init(&scene.cluster, scene.interner);
	scene.check = admission_check_new(
		&(struct admission_check_options){ .cluster = &scene.cluster,
			.scheduler_name = "s" });
	assert_int_equal(scene.again_ms, 0);
	admission_check_start(scene.check);
	return 0;
}

static int end(void **state)
{
	(void)state;
	admission_check_close(scene.check);
	cluster_fini(&scene.cluster);
	interner_free(scene.interner);
	return scene.is_open ? -1 : 0;
}

/* Answers the request, which must be for an object with this path. */
static void answer(const char *path, int status, const char *body)
{
	scoped_free char *json = given_quotes(body);
	const struct http_response response = { .status = status,
		.body = json,
		.len = strlen(json),
		.error = status == 200 ? "" : body };

	assert_true(scene.is_open);
	assert_string_equal(scene.request.call.method, "GET");
	assert_non_null(strstr(scene.request.call.path, path));
	scene.is_open = false;
	scene.request.call.on_done(scene.request.call.owner, &response);
}

/* One round; policy 0: neither it nor its binding is asked for. */
static void check(int webhook, const char *body, int policy)
{
	scene.fire(scene.owner);
	answer(WEBHOOK, webhook, body);
	if (policy != 0) {
		answer(BINDING, policy, policy == 200 ? "{}" : "why");
	}
	if (policy == 200) {
		answer(POLICY, policy, "{}");
	}
	assert_false(scene.is_open);
}

static void assert_says(const char *text)
{
	scoped_buffer struct buffer out = BUFFER_MAX(4096);

	buffer_text(&out, "");
	admission_check_describe(scene.check, &out);
	assert_string_equal(out.data, text);
}

static const char *see_pod(const char *namespace, const char *name, bool is_new,
	struct json_value *pod)
{
	const struct reflector_id id = { namespace, name, name };
	const char *why = admission_check_pod(scene.check, &id, pod, is_new);

	json_value_free(pod);
	return why;
}

static void see(const char *namespace, const char *name, bool is_new)
{
	assert_null(see_pod(namespace, name, is_new,
		given_launcher("default-scheduler", "")));
}

static void says_nothing_before_the_first_answer(void **state)
{
	(void)state;
	assert_int_equal(scene.again_ms, 30000);
	assert_says("");
	scene.fire(scene.owner);
	scene.fire(scene.owner);
	assert_says("");
}

static void says_nothing_if_the_webhook_can_be_called(void **state)
{
	(void)state;
	check(200, TRUSTED, 0);
	assert_says("");
	assert_int_equal(admission_check_stats(scene.check).serving,
		SERVING_WEBHOOK);
}

static void a_policy_serves_as_well(void **state)
{
	(void)state;
	check(404, "", 200);
	assert_says("");
	check(200, UNTRUSTED, 200);
	assert_says("");
	check(403, "forbidden", 200);
	assert_int_equal(admission_check_stats(scene.check).serving,
		SERVING_POLICY);
}

static void names_the_labelled_namespaces_that_nothing_serves(void **state)
{
	(void)state;
	check(404, "", 404);
	assert_says("nothing sets schedulerName on VMs" NEITHER);
	given_namespace(&scene.cluster, "b", "enabled");
	assert_says(
		"nothing sets schedulerName on VMs of the labelled "
		"namespace b" NEITHER);
	given_namespace(&scene.cluster, "a", "enabled");
	assert_says(
		"nothing sets schedulerName on VMs of the labelled "
		"namespaces a, b" NEITHER);
	check(200, TRUSTED, 0);
	assert_says("");
}

/* The sentence of /readyz about a webhook that cannot be called. */
#define assert_fault(words)                                                    \
	assert_says(                                                           \
		"nothing sets schedulerName on VMs: the webhook "              \
		"plimsoll-scheduler-name " words                               \
		", so the API server cannot call it, and there is no "         \
		"policy plimsoll-scheduler-name" ONLY)

static void another_webhook_of_the_object_does_not_count(void **state)
{
	static const char *const objects[] = { "{}", "[]", "no json",
		WEBHOOKS("another", "'caBundle':'QQ=='"),
		"{'webhooks':[{'clientConfig':{'caBundle':'QQ=='}}]}" };

	(void)state;
	for (size_t i = 0; i < count_of(objects); i++) {
		check(200, objects[i], 404);
		assert_fault("has no webhook scheduler-name.plimsoll.io");
	}
}

#define YEAR_2001_S INT64_C(978307200)
#define YEAR_2101_S INT64_C(4133980800)

/* The configuration with this authority, seen by a scheduler whose webhook has
 * this certificate. */
static void check_bundle(const char *authority, const char *certificate,
	int policy)
{
	scoped_free char *bundle = base64_encode(authority, strlen(authority));
	scoped_free char *body =
		xasprintf(WEBHOOKS(OURS, "'caBundle':'%s'"), bundle);

	scene.certificate = certificate;
	admission_check_set_webhook(scene.check, (struct webhook *)&scene);
	check(200, body, policy);
}

/* mbedtls reads the machine's clock. */
static struct tls_material given_authority(int64_t until_s)
{
	const struct certificate_validity validity = { YEAR_2001_S, until_s };
	struct tls_material made = { 0 };

	assert_int_equal(
		certificate_make_authority(&made, "ca", &validity, NULL), 0);
	return made;
}

/* The authorities' own certificates stand for servers' ones. */
static void the_own_certificate_must_be_signed_by_the_bundle(void **state)
{
	struct tls_material ours = given_authority(YEAR_2101_S);
	struct tls_material other = given_authority(YEAR_2101_S);
	struct tls_material old = given_authority(YEAR_2001_S + 86400);

	(void)state;
	check_bundle(ours.cert, ours.cert, 0);
	assert_says("");
	check_bundle(other.cert, ours.cert, 404);
	assert_fault(
		"has a caBundle that has not signed this scheduler's "
		"certificate");
	check_bundle("A", ours.cert, 0);
	assert_says(""); /* others may read it */
	check_bundle("A\x01\xff", ours.cert, 0);
	check_bundle(old.cert, old.cert, 404);
	assert_fault(
		"would get a certificate from this scheduler that is not "
		"valid today");
	check_bundle(ours.cert, ours.cert, 0);
	assert_says("");
	tls_fini(&ours);
	tls_fini(&other);
	tls_fini(&old);
}

static void a_binding_without_its_policy_does_not_count(void **state)
{
	(void)state;
	scene.fire(scene.owner);
	answer(WEBHOOK, 404, "");
	answer(BINDING, 200, "{}");
	answer(POLICY, 404, "");
	assert_says("nothing sets schedulerName on VMs" NEITHER);
	scene.fire(scene.owner);
	answer(WEBHOOK, 404, "");
	answer(BINDING, 200, "{}");
	answer(POLICY, 403, "forbidden");
	assert_says(
		"it is unknown whether anything sets schedulerName on VMs: "
		"forbidden");
}

static void a_change_is_logged_once_whatever_times_the_reason_has(void **state)
{
	(void)state;
	check(0, "timed out after 131 ms", 500);
	assert_int_equal(scene.logged, 1);
	check(0, "timed out after 132 ms", 500);
	assert_int_equal(scene.logged, 1);
	assert_says(
		"it is unknown whether anything sets schedulerName on VMs: "
		"timed out after 132 ms");
	check(200, TRUSTED, 0);
	check(200, TRUSTED, 0);
	assert_int_equal(scene.logged, 2);
}

static void a_webhook_without_an_authority_cannot_be_called(void **state)
{
	static const char *const objects[] = { UNTRUSTED,
		WEBHOOKS(OURS, "'caBundle':''") };

	(void)state;
	for (size_t i = 0; i < count_of(objects); i++) {
		check(200, objects[i], 404);
		assert_fault("has no caBundle");
	}
}

static void a_refused_question_leaves_the_state_unknown(void **state)
{
	(void)state;
	check(403, "forbidden", 404);
	assert_says(
		"it is unknown whether anything sets schedulerName on VMs: "
		"forbidden");
	check(404, "", 404);
	check(404, "", 403);
	assert_says(
		"it is unknown whether anything sets schedulerName on VMs: "
		"why");
}

static void an_api_server_that_is_away_changes_nothing(void **state)
{
	(void)state;
	check(0, "away", 500);
	assert_says(
		"it is unknown whether anything sets schedulerName on VMs: "
		"away");
	check(200, TRUSTED, 0);
	check(503, "away", 503);
	check(404, "", 503);
	assert_says("");
	assert_int_equal(admission_check_stats(scene.check).serving,
		SERVING_WEBHOOK);
}

static void counts_pods_that_slipped_through(void **state)
{
	(void)state;
	check(200, TRUSTED, 0);
	given_namespace(&scene.cluster, "ours", "enabled");
	see("ours", "old", false);
	assert_says(
		"1 pod of VMs in labelled namespaces has schedulerName "
		"default-scheduler from before this scheduler watched: "
		"older than the label, created while the webhook did not "
		"answer, or so named by the VM");
	see("ours", "new", true);
	see("other", "no", true);
	assert_says(
		"1 pod of VMs in labelled namespaces was created with "
		"schedulerName default-scheduler (the newest is ours/new): "
		"the webhook did not answer, or the VM names that "
		"scheduler");
	admission_check_pod_gone(scene.check, "new");
	admission_check_pod_gone(scene.check, "old");
	assert_says("");
	assert_int_equal(admission_check_stats(scene.check).missed_total, 1);
}

static void says_which_pods_stay_with_the_default_scheduler(void **state)
{
	scoped_buffer struct buffer out = BUFFER_MAX(1 << 16);

	(void)state;
	check(200, TRUSTED, 0);
	given_namespace(&scene.cluster, "ours", "enabled");
	assert_null(see_pod("ours", "old", false, given_claiming()));
	assert_says(
		"1 pod of VMs in labelled namespaces stays with "
		"default-scheduler, because plimsoll cannot place it (the "
		"newest is ours/old: pod has resource claims, which "
		"plimsoll-scheduler does not support)");
	assert_string_equal(see_pod("ours", "new", true, given_claiming()),
		"pod has resource claims, which plimsoll-scheduler does not "
		"support");
	see("ours", "missed", true);
	assert_says(
		"1 pod of VMs in labelled namespaces was created with "
		"schedulerName default-scheduler (the newest is ours/missed): "
		"the webhook did not answer, or the VM names that scheduler; "
		"2 pods of VMs in labelled namespaces stay with "
		"default-scheduler, because plimsoll cannot place them (the "
		"newest is ours/new: pod has resource claims, which "
		"plimsoll-scheduler does not support)");
	admission_metrics_write(&out, scene.check, NULL);
	assert_non_null(strstr(out.data,
		"\nplimsoll_scheduler_admission_unsupported_pods 2\n"));
	/* Where nothing sets the name, none is left alone on purpose. */
	check(404, "", 404);
	assert_says(
		"nothing sets schedulerName on VMs of the labelled "
		"namespace ours" NEITHER);
}

static void metrics_have_the_state_and_the_pods(void **state)
{
	scoped_buffer struct buffer out = BUFFER_MAX(1 << 16);

	(void)state;
	given_namespace(&scene.cluster, "ours", "enabled");
	see("ours", "old", false);
	see("ours", "new", true);
	check(404, "", 404);
	admission_metrics_write(&out, scene.check, NULL);
#define ADMISSION "\nplimsoll_scheduler_admission_"
	assert_non_null(
		strstr(out.data, ADMISSION "state{state=\"webhook\"} 0\n"));
	assert_non_null(
		strstr(out.data, ADMISSION "state{state=\"nothing\"} 1\n"));
	assert_non_null(strstr(out.data, ADMISSION "namespaces 1\n"));
	assert_non_null(strstr(out.data,
		ADMISSION "default_pods{created=\"watched\"} 1\n"));
	assert_non_null(strstr(out.data,
		ADMISSION "default_pods{created=\"earlier\"} 1\n"));
	assert_non_null(strstr(out.data, ADMISSION "missed_pods_total 1\n"));
	assert_null(strstr(out.data, "reviews"));
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)
	const struct CMUnitTest tests[] = {
		TEST(says_nothing_before_the_first_answer),
		TEST(says_nothing_if_the_webhook_can_be_called),
		TEST(a_policy_serves_as_well),
		TEST(names_the_labelled_namespaces_that_nothing_serves),
		TEST(a_webhook_without_an_authority_cannot_be_called),
		TEST(another_webhook_of_the_object_does_not_count),
		TEST(the_own_certificate_must_be_signed_by_the_bundle),
		TEST(a_binding_without_its_policy_does_not_count),
		TEST(a_change_is_logged_once_whatever_times_the_reason_has),
		TEST(a_refused_question_leaves_the_state_unknown),
		TEST(an_api_server_that_is_away_changes_nothing),
		TEST(counts_pods_that_slipped_through),
		TEST(says_which_pods_stay_with_the_default_scheduler),
		TEST(metrics_have_the_state_and_the_pods),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
