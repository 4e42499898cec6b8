/* The daily run of the issuer renews certificates in time. Each day of a test
 * is a run with the clock of that day, and the Secrets stay between them. */
#include "lib/base64.h"
#include "scheduler/certificates/authorities.h"
#include "tests/unit/scheduler/certificates/issuer_scene.h"

/* The Secrets of an API server that keeps what is sent. */
enum { SECRETS_MAX = 5 };

static struct {
	char *path, *data; /* data: members of JSON */
} stored[SECRETS_MAX];

static void forget_all(void)
{
	for (size_t i = 0; i < SECRETS_MAX; i++) {
		free(stored[i].path);
		free(stored[i].data);
		stored[i].path = stored[i].data = NULL;
	}
}

static int end(void **state)
{
	forget_all();
	return scene_end(state);
}

static const char *const ca_keys[] = { "servers-ca.crt", "servers-ca.key",
	"clients-ca.crt", "clients-ca.key" };
static const char *const leaf_keys[] = { "ca.crt", "tls.crt", "tls.key" };

static bool is_of_ca(const char *path)
{
	return strcmp(path, SECRET("plimsoll", "ca")) == 0;
}

static size_t index_of(const char *path)
{
	size_t at = 0;

	while (at < SECRETS_MAX && stored[at].path != NULL &&
		strcmp(stored[at].path, path) != 0) {
		at++;
	}
	assert_true(at < SECRETS_MAX);
	if (stored[at].path == NULL) {
		stored[at].path = xstrdup(path);
		stored[at].data = xstrdup("");
	}
	return at;
}

/* As the API server answers: what was sent as stringData is base64. */
static void store_sent(void)
{
	bool is_ca = is_of_ca(scene.path);
	const char *const *keys = is_ca ? ca_keys : leaf_keys;
	size_t count = is_ca ? count_of(ca_keys) : count_of(leaf_keys);
	size_t at = index_of(scene.path);
	char *all = xstrdup("");

	for (size_t i = 0; i < count; i++) {
		scoped_free char *path = xasprintf("stringData/%s", keys[i]);
		scoped_free char *text = sent_text(path, NULL);
		scoped_free char *digits = base64_encode(text, strlen(text));
		char *more = xasprintf("%s%s\"%s\":\"%s\"", all,
			i == 0 ? "" : ",", keys[i], digits);

		free(all);
		all = more;
	}
	free(stored[at].data);
	stored[at].data = all;
}

/* The PATCHes of a run that wrote something. */
struct written {
	unsigned authorities, leaves;
};

/* The issuer's next request is sent, and answered as the API server does. */
static void serve_one(struct written *written)
{
	scoped_free char *body = NULL;
	bool is_secret;

	send_next();
	is_secret = strstr(scene.path, "/secrets/") != NULL;
	if (is_secret && strcmp(scene.body, "{}") != 0) {
		store_sent();
		written->authorities += is_of_ca(scene.path);
		written->leaves += !is_of_ca(scene.path);
	}
	body = xasprintf(
		"{\"metadata\":{\"resourceVersion\":\"7\"},"
		"\"data\":{%s}}",
		is_secret ? stored[index_of(scene.path)].data : "");
	answer_sent(200, body);
}

#define DAY_US (UINT64_C(86400) * 1000000)

static struct written run_on_day(unsigned day,
	const struct certificates_config *config)
{
	static const uint64_t begin_us = UINT64_C(1800000000000000);
	struct written written = { 0 };
	struct issuer *issuer;

	fake_clock_set(fake_clock.monotonic_us, begin_us + day * DAY_US);
	scene.ends = scene.successes = 0;
	issuer = issuer_new(NULL, config, on_done, NULL);
	while (scene.ends == 0) {
		serve_one(&written);
	}
	assert_int_equal(scene.successes, 1);
	issuer_close(issuer);
	return written;
}

#define assert_written(day, config, authorities_, leaves_)                     \
	do {                                                                   \
		struct written did = run_on_day(day, config);                  \
                                                                               \
		assert_int_equal(did.authorities, authorities_);               \
		assert_int_equal(did.leaves, leaves_);                         \
	} while (0)

static struct certificates_config daily(void)
{
	struct certificates_config config = everything;

	config.renew_days = 33;
	return config;
}

static void certificates_are_renewed_before_their_end_and_not_earlier(
	void **state)
{
	struct certificates_config config = daily();

	(void)state;
	assert_written(0, &config, 1, 4);
	assert_written(1, &config, 0, 0);
	assert_written(365 - 34, &config, 0, 0);
	assert_written(365 - 33, &config, 0, 4);
	assert_written(365 - 32, &config, 0, 0);
	config.renew_days = 0;
	assert_written(365 - 31, &config, 0, 4);
}

/* Eleven years, with a run every 32 days. */
static void an_authority_is_renewed_while_it_can_sign(void **state)
{
	struct certificates_config config = daily();
	struct written all = { 0 };
	unsigned renewed_on = 0;

	(void)state;
	for (unsigned day = 0; day < 4000; day += 32) {
		struct written did = run_on_day(day, &config);

		if (day > 0 && did.authorities > 0) {
			renewed_on = day;
			assert_int_equal(did.leaves, 4);
		}
		all.authorities += did.authorities;
		all.leaves += did.leaves;
	}
	assert_int_equal(all.authorities, 2);
	assert_in_range(renewed_on, AUTHORITIES_DAYS - 365,
		AUTHORITIES_DAYS - 365 + 32);
	/* Each year, and once more when the authorities changed. */
	assert_in_range(all.leaves, 4 * 12, 4 * 13);
}

static void an_authority_that_outlives_its_certificates_is_renewed_in_time(
	void **state)
{
	struct certificates_config config = daily();

	(void)state;
	config.days = 60;
	assert_written(0, &config, 1, 4);
	assert_written(AUTHORITIES_DAYS - AUTHORITIES_RENEW_DAYS - 1, &config,
		0, 4);
	assert_written(AUTHORITIES_DAYS - AUTHORITIES_RENEW_DAYS + 1, &config,
		1, 4);
	assert_written(AUTHORITIES_DAYS - AUTHORITIES_RENEW_DAYS + 2, &config,
		0, 0);
}

static void certificates_of_a_clock_that_was_ahead_are_made_anew(void **state)
{
	struct certificates_config config = daily();

	(void)state;
	assert_written(0, &config, 1, 4);
	assert_written(400, &config, 0, 4);
	assert_written(1, &config, 0, 4);
	assert_written(2, &config, 0, 0);
}

static void change(const char *path, const char *data)
{
	size_t at = index_of(path);

	free(stored[at].data);
	stored[at].data = xstrdup(data);
}

static void swap(const char *one, const char *other)
{
	size_t a = index_of(one), b = index_of(other);
	char *held = stored[a].data;

	stored[a].data = stored[b].data;
	stored[b].data = held;
}

static void a_certificate_that_is_not_what_its_owner_needs_is_made_anew(
	void **state)
{
	static const char agent[] = SECRET("plimsoll-agents", "agent-tls"),
			  client[] = SECRET("plimsoll", "scheduler-tls"),
			  server[] = SECRET("plimsoll", "scheduler-server-tls"),
			  aggregator[] = SECRET("plimsoll", "aggregator-tls");
	struct certificates_config config = daily();
	scoped_free char *data = NULL, *half = NULL;

	(void)state;
	assert_written(0, &config, 1, 4);
	/* Nothing is there, or no JSON of a certificate. */
	change(agent, "");
	assert_written(1, &config, 0, 1);
	change(agent, "\"tls.crt\":\"AAAA\",\"ca.crt\":7");
	assert_written(1, &config, 0, 1);
	/* Both trust the servers, and another authority has signed each. */
	swap(client, server);
	assert_written(1, &config, 0, 2);
	/* One authority has signed both, and they trust different ones. */
	swap(aggregator, server);
	assert_written(1, &config, 0, 2);
	/* The key is another one's. */
	data = xstrdup(stored[index_of(agent)].data);
	half = xstrndup(data, (size_t)(strstr(data, "\"tls.key") - data));
	free(data);
	data = xasprintf("%s%s", half,
		strstr(stored[index_of(client)].data, "\"tls.key"));
	change(agent, data);
	assert_written(1, &config, 0, 1);
	assert_written(1, &config, 0, 0);
}

static void authorities_that_exist_are_kept(void **state)
{
	struct certificates_config config = everything;

	(void)state;
	config.webhook = config.api_service = config.ca_config_map = NULL;
	assert_written(0, &config, 1, 4);
	assert_written(0, &config, 0, 4);
	assert_string_equal(scene.path, SECRET("plimsoll-agents", "agent-tls"));
}

#define test(name) cmocka_unit_test_setup_teardown(name, scene_begin, end)

int main(void)
{
	const struct CMUnitTest tests[] = {
		test(authorities_that_exist_are_kept),
		test(certificates_are_renewed_before_their_end_and_not_earlier),
		test(an_authority_is_renewed_while_it_can_sign),
		test(an_authority_that_outlives_its_certificates_is_renewed_in_time),
		test(certificates_of_a_clock_that_was_ahead_are_made_anew),
		test(a_certificate_that_is_not_what_its_owner_needs_is_made_anew),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
