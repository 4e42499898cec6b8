#include "scheduler/certificates/issuer.h"

#include "lib/base64.h"
#include "tests/support/pem.h"
#include "tests/unit/scheduler/certificates/issuer_scene.h"

static void answer(int status, const char *body)
{
	send_next();
	answer_sent(status, body);
}

static void assert_sent(const char *path, const char *type)
{
	assert_string_equal(scene.path, path);
	assert_string_equal(scene.type, type);
}

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

#define test(name) cmocka_unit_test_setup_teardown(name, scene_begin, scene_end)

int main(void)
{
	const struct CMUnitTest tests[] = {
		test(the_authority_of_the_servers_goes_to_all_who_ask),
		test(every_certificate_has_its_owners_name),
		test(an_object_that_is_not_there_yet_is_asked_for_again),
		test(a_conflict_is_repeated_after_a_wait_and_not_for_ever),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
