#include "scheduler/certificates/issuer.h"

#include "kube/backoff.h"
#include "kube/client.h"
#include "lib/base64.h"
#include "lib/clock.h"
#include "lib/json.h"
#include "lib/log.h"
#include "lib/loop.h"
#include "lib/memory.h"
#include "scheduler/certificates/leaves.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

/* A node's clock may be this much behind. Kubernetes' own signer allows it. */
enum { BACKDATE_S = 300 };

enum { BODY_MAX = 1 << 20 };
#define DAY_S INT64_C(86400)
#define US_PER_S UINT64_C(1000000)
#define US_PER_MS UINT64_C(1000)

static const char merge[] = "application/merge-patch+json";
static const char strategic[] = "application/strategic-merge-patch+json";

/* The webhook of the configuration that plimsoll serves. */
static const char webhook_name[] = "scheduler-name.plimsoll.io";

/* Two steps for each of leaves: READ_LEAF and WRITE_LEAF of the first one, and
 * so on. */
enum step {
	READ_CA,
	WRITE_CA,
	READ_LEAF,
	WRITE_LEAF,
	WRITE_WEBHOOK = READ_LEAF + 2 * LEAVES,
	WRITE_API_SERVICE,
	WRITE_CONFIG_MAP,
	STEPS
};

struct issuer {
	struct kube_client *client;
	const struct certificates_config *config;
	void (*on_done)(void *owner, bool succeeded);
	void *owner;
	int step; /* enum step */
	struct authorities authorities;
	bool has_renewed; /* of the authorities: one that was there */
	struct certificate_validity validity; /* of the certificates */
	struct kube_request *request;	      /* NULL while the timer runs */
	struct timer *timer;
	unsigned failures; /* of this step, one after the other */
	uint64_t give_up_us;
};

static void end(struct issuer *issuer, const struct error *err)
{
	if (err != NULL) {
		log_error("the certificates are not complete", log_err(err),
			LOG_END);
	} else {
		log_info("the certificates are complete", LOG_END);
	}
	issuer->on_done(issuer->owner, err == NULL);
}

/* ---- requests ---- */

static char *secret_path(const char *namespace, const char *name)
{
	return xasprintf("/api/v1/namespaces/%s/secrets/%s", namespace, name);
}

static bool is_of_leaf(int step)
{
	return step >= READ_LEAF && step < WRITE_WEBHOOK;
}

static bool is_read_of_leaf(int step)
{
	return is_of_leaf(step) && (step - READ_LEAF) % 2 == 0;
}

static const struct leaf *leaf_of(int step)
{
	return &leaves[(step - READ_LEAF) / 2];
}

static char *path_of(const struct issuer *issuer)
{
	const struct certificates_config *config = issuer->config;

	if (issuer->step < READ_LEAF) {
		return secret_path(config->namespace_name, AUTHORITIES_SECRET);
	}
	if (is_of_leaf(issuer->step)) {
		const struct leaf *leaf = leaf_of(issuer->step);

		return secret_path(leaf_namespace(leaf, config), leaf->secret);
	}
	if (issuer->step == WRITE_CONFIG_MAP) {
		return xasprintf("/api/v1/namespaces/%s/configmaps/%s",
			config->namespace_name, config->ca_config_map);
	}
	if (issuer->step == WRITE_API_SERVICE) {
		return xasprintf(
			"/apis/apiregistration.k8s.io/v1/apiservices/"
			"%s",
			config->api_service);
	}
	return xasprintf(
		"/apis/admissionregistration.k8s.io/v1/"
		"mutatingwebhookconfigurations/%s",
		config->webhook);
}

static void write_webhook(struct buffer *out, const char *authority)
{
	scoped_free char *bundle = base64_encode(authority, strlen(authority));
	struct json j = json_into(out);

	json_object(&j, NULL);
	json_array(&j, "webhooks");
	json_object(&j, NULL);
	json_string(&j, "name", webhook_name);
	json_object(&j, "clientConfig");
	json_string(&j, "caBundle", bundle);
	json_object_end(&j);
	json_object_end(&j);
	json_array_end(&j);
	json_object_end(&j);
}

static void write_api_service(struct buffer *out, const char *authority)
{
	scoped_free char *bundle = base64_encode(authority, strlen(authority));
	struct json j = json_into(out);

	json_object(&j, NULL);
	json_object(&j, "spec");
	json_string(&j, "caBundle", bundle);
	json_object_end(&j);
	json_object_end(&j);
}

/* For Prometheus: reading a Secret for it would show a key as well. */
static void write_config_map(struct buffer *out, const char *authority)
{
	struct json j = json_into(out);

	json_object(&j, NULL);
	json_object(&j, "data");
	json_string(&j, "ca.crt", authority);
	json_object_end(&j);
	json_object_end(&j);
}

static int write_body(struct buffer *out, struct issuer *issuer,
	struct error *err)
{
	if (issuer->step == READ_CA || is_read_of_leaf(issuer->step)) {
		buffer_text(out, "{}");
		return 0;
	}
	switch (issuer->step) {
	case WRITE_CA:
		authorities_write(out, &issuer->authorities);
		return 0;
	case WRITE_WEBHOOK:
		write_webhook(out, issuer->authorities.servers.cert);
		return 0;
	case WRITE_API_SERVICE:
		write_api_service(out, issuer->authorities.servers.cert);
		return 0;
	case WRITE_CONFIG_MAP:
		write_config_map(out, issuer->authorities.servers.cert);
		return 0;
	default:
		return leaf_write(out, leaf_of(issuer->step), issuer->config,
			&issuer->authorities, &issuer->validity, err);
	}
}

static void on_answer(void *owner, const struct http_response *response);

static void send_step(void *owner)
{
	struct issuer *issuer = owner;
	scoped_free char *path = path_of(issuer);
	scoped_buffer struct buffer body = BUFFER_MAX(BODY_MAX);
	struct kube_call call = {
		.method = "PATCH",
		.path = path,
		.type = issuer->step == WRITE_WEBHOOK ? strategic : merge,
		.on_done = on_answer,
		.owner = issuer,
	};
	struct error err;

	/* All the memory at once: growing would leave copies of a key. */
	(void)buffer_room(&body, BODY_MAX);
	if (write_body(&body, issuer, &err) < 0) {
		end(issuer, &err);
		return;
	}
	call.body = body.data;
	call.len = body.len;
	issuer->request = kube_request_send(issuer->client, &call);
	explicit_bzero(body.data, body.len);
}

/* ---- answers ---- */

/* In [0, 1). */
static double random_share(void)
{
	uint32_t bits = 0;
	ssize_t got = getrandom(&bits, sizeof(bits), 0);

	assert(got == (ssize_t)sizeof(bits));
	(void)got;
	return (double)bits / 4294967296.0;
}

static void try_again(struct issuer *issuer,
	const struct http_response *response)
{
	scoped_free char *path = path_of(issuer);
	struct error err;

	if (clock_monotonic_us() >= issuer->give_up_us) {
		(void)error_set(&err, -ETIMEDOUT, "PATCH %s: %s", path,
			response->error);
		end(issuer, &err);
		return;
	}
	log_warning("request failed, retrying", log_str("path", path),
		log_int("status", response->status),
		log_str("err", response->error), LOG_END);
	timer_start(issuer->timer,
		backoff_ms(++issuer->failures, random_share()), 0);
}

static bool is_wanted(const struct issuer *issuer, int step)
{
	switch (step) {
	case WRITE_WEBHOOK:
		return issuer->config->webhook != NULL;
	case WRITE_API_SERVICE:
		return issuer->config->api_service != NULL;
	case WRITE_CONFIG_MAP:
		return issuer->config->ca_config_map != NULL;
	default:
		return !is_read_of_leaf(step) || issuer->config->renew_days > 0;
	}
}

static void next_step(struct issuer *issuer, int step)
{
	while (step < STEPS && !is_wanted(issuer, step)) {
		step++;
	}
	issuer->failures = 0;
	issuer->step = step;
	if (step == STEPS) {
		end(issuer, NULL);
	} else {
		timer_start(issuer->timer, 0, 0);
	}
}

/* The Secret plimsoll-ca is here. */
static void take_authorities(struct issuer *issuer,
	const struct http_response *response)
{
	struct authorities read = { 0 };
	bool holds_some = false;
	struct error err = { 0 };
	int r = authorities_read(&read, &holds_some, response->body,
		response->len, &err);

	issuer->has_renewed = false;
	if (r == 0) {
		authorities_fini(&issuer->authorities);
		issuer->authorities = read;
		r = holds_some
			? authorities_keep(&issuer->authorities,
				  &issuer->has_renewed, issuer->validity.from_s,
				  issuer->validity.until_s, &err)
			: authorities_make(&issuer->authorities,
				  issuer->validity.from_s, &err);
	}
	if (r < 0) {
		end(issuer, &err);
		return;
	}
	if (holds_some) {
		log_info("uses the authorities of Secret " AUTHORITIES_SECRET,
			LOG_END);
	}
	next_step(issuer,
		holds_some && !issuer->has_renewed ? READ_LEAF : WRITE_CA);
}

/* The Secret of a certificate is here. */
static void take_leaf(struct issuer *issuer,
	const struct http_response *response)
{
	const struct leaf *leaf = leaf_of(issuer->step);
	const struct leaf_ends ends = {
		.after_s = (int64_t)(clock_wall_us() / US_PER_S) +
			issuer->config->renew_days * DAY_S,
		.last_s = issuer->validity.until_s,
	};
	bool is_current = leaf_is_current(leaf, &issuer->authorities,
		response->body, response->len, &ends);

	if (is_current) {
		log_info("keeps a certificate",
			log_str("namespace",
				leaf_namespace(leaf, issuer->config)),
			log_str("secret", leaf->secret), LOG_END);
	}
	next_step(issuer, issuer->step + (is_current ? 2 : 1));
}

static void log_leaf(const struct issuer *issuer)
{
	const struct leaf *leaf = leaf_of(issuer->step);
	char expiry[CLOCK_TEXT_MAX];

	clock_text(expiry, (uint64_t)issuer->validity.until_s * US_PER_S);
	log_info("wrote a certificate",
		log_str("namespace", leaf_namespace(leaf, issuer->config)),
		log_str("secret", leaf->secret), log_str("expires", expiry),
		LOG_END);
}

static void on_success(struct issuer *issuer,
	const struct http_response *response)
{
	if (issuer->step == READ_CA) {
		take_authorities(issuer, response);
		return;
	}
	if (is_read_of_leaf(issuer->step)) {
		take_leaf(issuer, response);
		return;
	}
	if (issuer->step == WRITE_CA) {
		log_info(issuer->has_renewed ? "renewed the authorities of "
					       "Secret " AUTHORITIES_SECRET
					     : "made new authorities in "
					       "Secret " AUTHORITIES_SECRET,
			LOG_END);
	} else if (issuer->step == WRITE_WEBHOOK) {
		log_info("wrote the authority into the webhook configuration",
			log_str("name", issuer->config->webhook), LOG_END);
	} else if (issuer->step == WRITE_API_SERVICE) {
		log_info("wrote the authority into the APIService",
			log_str("name", issuer->config->api_service), LOG_END);
	} else if (issuer->step == WRITE_CONFIG_MAP) {
		log_info("wrote the authority into the ConfigMap",
			log_str("name", issuer->config->ca_config_map),
			LOG_END);
	} else {
		log_leaf(issuer);
	}
	next_step(issuer, issuer->step + 1);
}

static void on_answer(void *owner, const struct http_response *response)
{
	struct issuer *issuer = owner;

	issuer->request = NULL;
	if (response->status / 100 == 2) {
		on_success(issuer, response);
	} else if (response->status == 409 && issuer->step == WRITE_CA) {
		/* Another process has stored its authorities, or this one has,
		 * and the answer was lost. */
		issuer->step = READ_CA;
		try_again(issuer, response);
	} else {
		try_again(issuer, response);
	}
}

struct issuer *issuer_new(struct kube_client *client,
	const struct certificates_config *config,
	void (*on_done)(void *owner, bool succeeded), void *owner)
{
	struct issuer *issuer = xcalloc(1, sizeof(*issuer));
	int64_t now_s = (int64_t)(clock_wall_us() / US_PER_S);

	*issuer = (struct issuer){
		.client = client,
		.config = config,
		.on_done = on_done,
		.owner = owner,
		.validity = {
			.from_s = now_s - BACKDATE_S,
			.until_s = now_s - BACKDATE_S + config->days * DAY_S,
		},
		.give_up_us = clock_monotonic_us() +
			ISSUER_GIVE_UP_MS * US_PER_MS,
	};
	issuer->timer = timer_new(kube_client_loop(client), send_step, issuer);
	timer_start(issuer->timer, 0, 0);
	return issuer;
}

void issuer_close(struct issuer *issuer)
{
	if (issuer == NULL) {
		return;
	}
	kube_request_cancel(issuer->request);
	timer_close(issuer->timer);
	authorities_fini(&issuer->authorities);
	free(issuer);
}
