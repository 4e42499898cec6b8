#include "scheduler/certificates/issuer.h"

#include "kube/client.h"
#include "kube/json_value.h"
#include "lib/base64.h"
#include "lib/loop.h"
#include "lib/memory.h"
#include "tests/support/cm.h"
#include "tests/support/fake_clock.h"
#include "tests/support/pem.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* At most one request is open. */
struct kube_request {
	struct kube_call call;
};

static struct {
	struct kube_request request;
	bool is_open;
	timer_fire fire;
	void *owner;
	uint64_t wait_ms; /* of the timer's last start */
	unsigned ends, successes;
	char path[256]; /* of the last request, as the next two */
	const char *type;
	char *body;
} scene;

struct kube_request *kube_request_send(struct kube_client *client,
	const struct kube_call *call)
{
	(void)client;
	assert_false(scene.is_open);
	scene.is_open = true;
	scene.request.call = *call;
	(void)snprintf(scene.path, sizeof(scene.path), "%s", call->path);
	scene.type = call->type;
	free(scene.body);
	scene.body = xstrndup(call->body, call->len);
	return &scene.request;
}

void kube_request_cancel(struct kube_request *request)
{
	(void)request;
}

uv_loop_t *kube_client_loop(const struct kube_client *client)
{
	(void)client;
	return NULL;
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
	(void)repeat_ms;
	scene.wait_ms = first_ms;
}

void __wrap_timer_close(struct timer *timer)
{
	(void)timer;
}

static void on_done(void *owner, bool succeeded)
{
	(void)owner;
	scene.ends++;
	scene.successes += succeeded;
}

/* The timer fires after its time, and the request gets this answer. */
static void answer(int status, const char *body)
{
	const struct http_response response = { .status = status,
		.body = body,
		.len = strlen(body),
		.error = status == 200 ? "" : body };

	fake_clock_move(scene.wait_ms * 1000);
	scene.wait_ms = 0;
	scene.fire(scene.owner);
	assert_true(scene.is_open);
	scene.is_open = false;
	scene.request.call.on_done(scene.request.call.owner, &response);
}

static int setup(void **state)
{
	(void)state;
	scene.ends = scene.successes = 0;
	scene.wait_ms = 0;
	scene.body = NULL;
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	free(scene.body);
	return 0;
}

static const struct certificates_config everything = {
	.namespace_name = "plimsoll",
	.agents_namespace = "plimsoll-agents",
	.days = 365,
	.webhook = "the-webhook",
	.api_service = "v1.load.example",
	.ca_config_map = "the-ca",
};

static void assert_sent(const char *path, const char *type)
{
	assert_string_equal(scene.path, path);
	assert_string_equal(scene.type, type);
}

/* The text at a path of the last body; the caller frees it. */
static char *sent_text(const char *path, const char *list)
{
	struct json_value *root = NULL;
	const struct json_value *from;
	char *text;

	assert_int_equal(
		json_value_parse(&root, scene.body, strlen(scene.body), NULL),
		0);
	from = list == NULL ? root
			    : json_value_first(json_value_get(root, list));
	text = xstrdup(json_value_text_at(from, path, "(none)"));
	json_value_free(root);
	return text;
}

#define SECRET(namespace, name)                                                \
	"/api/v1/namespaces/" namespace "/secrets/plimsoll-" name
#define MERGE "application/merge-patch+json"

static void assert_leaves_are_sent(void)
{
	static const char *const paths[] = {
		SECRET("plimsoll", "aggregator-tls"),
		SECRET("plimsoll", "scheduler-server-tls"),
		SECRET("plimsoll", "scheduler-tls"),
		SECRET("plimsoll-agents", "agent-tls"),
	};

	for (size_t i = 0; i < count_of(paths); i++) {
		answer(200, "{}");
		assert_sent(paths[i], MERGE);
		assert_int_equal(scene.ends, 0);
	}
}

static void the_authority_of_the_servers_goes_to_all_who_ask(void **state)
{
	struct issuer *issuer = issuer_new(NULL, &everything, on_done, NULL);
	scoped_free char *name = NULL, *of_webhook = NULL, *of_service = NULL,
			 *authority = NULL, *digits = NULL;

	(void)state;
	answer(200, "{\"metadata\":{\"resourceVersion\":\"7\"}}");
	assert_sent(SECRET("plimsoll", "ca"), MERGE);
	assert_string_equal(scene.body, "{}");
	answer(200, "{}");
	assert_sent(SECRET("plimsoll", "ca"), MERGE);
	assert_non_null(strstr(scene.body, "\"resourceVersion\":\"7\""));
	assert_leaves_are_sent();
	answer(200, "{}");
	assert_sent(
		"/apis/admissionregistration.k8s.io/v1/"
		"mutatingwebhookconfigurations/the-webhook",
		"application/strategic-merge-patch+json");
	name = sent_text("name", "webhooks");
	of_webhook = sent_text("clientConfig/caBundle", "webhooks");
	answer(200, "{}");
	assert_sent(
		"/apis/apiregistration.k8s.io/v1/apiservices/"
		"v1.load.example",
		MERGE);
	of_service = sent_text("spec/caBundle", NULL);
	answer(200, "{}");
	assert_sent("/api/v1/namespaces/plimsoll/configmaps/the-ca", MERGE);
	authority = sent_text("data/ca.crt", NULL);
	digits = base64_encode(authority, strlen(authority));
	assert_string_equal(name, "scheduler-name.plimsoll.io");
	assert_string_equal(of_webhook, digits);
	assert_string_equal(of_service, digits);
	assert_int_equal(scene.ends, 1);
	assert_int_equal(scene.successes, 1);
	issuer_close(issuer);
}

/* As the API server answers: what was sent as stringData is base64. */
static char *stored_secret(void)
{
	static const char *const keys[] = { "servers-ca.crt", "servers-ca.key",
		"clients-ca.crt", "clients-ca.key" };
	char *all = xstrdup("");

	for (size_t i = 0; i < count_of(keys); i++) {
		scoped_free char *path = xasprintf("stringData/%s", keys[i]);
		scoped_free char *text = sent_text(path, NULL);
		scoped_free char *digits = base64_encode(text, strlen(text));
		char *more = xasprintf("%s%s\"%s\":\"%s\"", all,
			i == 0 ? "" : ",", keys[i], digits);

		free(all);
		all = more;
	}
	return all;
}

static void assert_named(const char *path, const char *name)
{
	scoped_free char *cert = sent_text(path, NULL);

	assert_true(
		pem_contains(cert, (const unsigned char *)name, strlen(name)));
}

static void every_certificate_has_its_owners_name(void **state)
{
	struct issuer *issuer = issuer_new(NULL, &everything, on_done, NULL);
	/* A client has one dNSName, with its tag and length. */
	static const char *const names[] = {
		"plimsoll-aggregator.plimsoll.svc.cluster.local",
		"plimsoll-scheduler.plimsoll.svc",
		"\x82\x12plimsoll-scheduler",
		"\x82\x0eplimsoll-agent",
	};

	(void)state;
	answer(200, "{\"metadata\":{\"resourceVersion\":\"7\"}}");
	answer(200, "{}");
	assert_named("stringData/servers-ca.crt", "plimsoll-servers-ca 20");
	assert_named("stringData/clients-ca.crt", "plimsoll-clients-ca 20");
	for (size_t i = 0; i < count_of(names); i++) {
		answer(200, "{}");
		assert_named("stringData/tls.crt", names[i]);
	}
	issuer_close(issuer);
}

static void authorities_that_exist_are_kept(void **state)
{
	struct certificates_config config = everything;
	struct issuer *issuer = issuer_new(NULL, &config, on_done, NULL);
	scoped_free char *data = NULL, *stored = NULL;

	(void)state;
	answer(200, "{\"metadata\":{\"resourceVersion\":\"7\"}}");
	answer(200, "{}");
	data = stored_secret();
	stored = xasprintf(
		"{\"metadata\":{\"resourceVersion\":\"8\"},\"data\":{%s}}",
		data);
	issuer_close(issuer);

	config.webhook = config.api_service = config.ca_config_map = NULL;
	issuer = issuer_new(NULL, &config, on_done, NULL);
	answer(200, stored);
	for (int i = 0; i < 3; i++) {
		answer(200, "{}");
	}
	assert_int_equal(scene.ends, 0);
	answer(200, "{}");
	assert_sent(SECRET("plimsoll-agents", "agent-tls"), MERGE);
	assert_int_equal(scene.successes, 1);
	issuer_close(issuer);
}

static void an_object_that_is_not_there_yet_is_asked_for_again(void **state)
{
	struct issuer *issuer = issuer_new(NULL, &everything, on_done, NULL);

	(void)state;
	answer(404, "not found");
	assert_true(scene.wait_ms > 0);
	answer(200, "{\"metadata\":{\"resourceVersion\":\"7\"}}");
	assert_sent(SECRET("plimsoll", "ca"), MERGE);
	assert_int_equal(scene.wait_ms, 0);
	answer(500, "not now");
	assert_true(scene.wait_ms > 0);
	answer(200, "{}");
	assert_sent(SECRET("plimsoll", "ca"), MERGE);
	assert_leaves_are_sent();
	assert_int_equal(scene.ends, 0);
	issuer_close(issuer);
}

static void a_conflict_is_repeated_after_a_wait_and_not_for_ever(void **state)
{
	static const char empty[] =
		"{\"metadata\":{\"resourceVersion\":\"7\"}}";
	struct certificates_config config = { .namespace_name = "plimsoll",
		.agents_namespace = "plimsoll-agents",
		.days = 365 };
	uint64_t begun_us = fake_clock.monotonic_us;
	struct issuer *issuer = issuer_new(NULL, &config, on_done, NULL);
	unsigned rounds = 0;

	(void)state;
	while (scene.ends == 0 && rounds < 1000) {
		answer(200, empty);
		assert_int_equal(scene.wait_ms, 0);
		answer(409, "conflict");
		assert_true(scene.ends > 0 || scene.wait_ms > 0);
		rounds++;
	}
	assert_int_equal(scene.ends, 1);
	assert_int_equal(scene.successes, 0);
	assert_true(fake_clock.monotonic_us - begun_us >=
		ISSUER_GIVE_UP_MS * UINT64_C(1000));
	issuer_close(issuer);
}

#define test(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		test(the_authority_of_the_servers_goes_to_all_who_ask),
		test(every_certificate_has_its_owners_name),
		test(authorities_that_exist_are_kept),
		test(an_object_that_is_not_there_yet_is_asked_for_again),
		test(a_conflict_is_repeated_after_a_wait_and_not_for_ever),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
