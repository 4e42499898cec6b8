#include "aggregator/aggregator.h"

#include "aggregator/http/api.h"
#include "aggregator/auth/http_auth.h"
#include "aggregator/live/identity.h"
#include "aggregator/ingest/ingest.h"
#include "aggregator/live/launcher_informer.h"
#include "aggregator/live/live.h"
#include "aggregator/query/profile_cache.h"
#include "aggregator/live/warm_up.h"
#include "aggregator/remote_write/remote_write.h"
#include "aggregator/auth/access_review.h"
#include "aggregator/store/store.h"
#include "kube/config.h"
#include "lib/buffer.h"
#include "lib/clock.h"
#include "lib/httpd.h"
#include "lib/log.h"
#include "lib/loop.h"
#include "lib/memory.h"
#include "lib/mq.h"
#include "lib/tls.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Requests in hand: parked snapshots, and batches for as long as a commit
 * takes, a tenth of a second: some 10,000 batches a second. */
enum { CONTEXTS = 1024 };

/* A disk that hangs must not hold up the end. What was acknowledged as stored
 * is stored, so nothing is lost by leaving the rest. */
enum { STOP_MS = 4500 };

/* How often we look for peers that could not connect, and how often we say the
 * same of them again: a probe that only connects is one of them. */
enum { LOOK_MS = 5000 };
#define AGAIN_US UINT64_C(60000000)

struct aggregator {
	const struct config *config;
	struct loop *loop;
	struct timer *watchdog, *look;
	struct identities *identities;
	struct launchers *launchers; /* NULL: there is no API server */
	struct live *live;
	struct store *store;
	struct review *review; /* NULL: nobody has to be asked */
	struct profiles *profiles;
	struct refill *refill;
	struct remote *remote; /* NULL: nothing is sent on */
	struct intake *intake;
	struct mq_server *mq;
	struct httpd *http, *health;
	struct api api;
	struct guard guard; /* before the api */
	struct log_limit http_strangers, health_strangers, kept_out;
	const char *kept_out_why; /* as it was said last */
	bool is_open, is_stopping, has_failed;
};

static void look_at(struct httpd *httpd, struct log_limit *limit,
	const char *address)
{
	uint64_t count = httpd == NULL ? 0 : httpd_strangers(httpd);

	if (count > 0 &&
		log_allow(limit, clock_monotonic_us(), AGAIN_US, NULL)) {
		log_warning(
			"HTTP connections ended without a request: their "
			"clients are too slow or speak something else",
			log_str("listener", address),
			log_int("connections", (int64_t)count), LOG_END);
	}
}

/* Who is kept out by TLS never becomes a request: it is only counted. */
static void on_look(void *owner)
{
	struct aggregator *a = owner;
	const char *why = a->mq == NULL ? "" : mq_server_trouble(a->mq);

	if (*why != '\0' &&
		(log_allow(&a->kept_out, clock_monotonic_us(), AGAIN_US,
			 NULL) ||
			why != a->kept_out_why)) {
		a->kept_out_why = why;
		log_warning("peers could not connect", log_str("why", why),
			LOG_END);
	}
	launchers_look(a->launchers, a->store);
	look_at(a->http, &a->http_strangers, a->config->http);
	look_at(a->health, &a->health_strangers, a->config->health);
}

/* ---- health ---- */

static void serve_ready(const struct aggregator *a,
	struct http_request *request)
{
	scoped_buffer struct buffer body = BUFFER_MAX(2048);
	const char *store;
	const char *remote;

	if (!a->is_open) {
		http_reply_error(request, 503, "the store is not open");
		return;
	}
	store = store_trouble(a->store);
	remote = a->remote == NULL ? "" : remote_trouble(a->remote);
	if (store[0] == '\0' && remote[0] == '\0') {
		buffer_text(&body, "ok\n");
	} else {
		buffer_printf(&body, "degraded: %s%s%s\n", store,
			store[0] != '\0' && remote[0] != '\0' ? "; " : "",
			remote);
	}
	http_reply(request, 200, "text/plain", body.data, body.len);
}

static void serve_health(void *owner, struct http_request *request)
{
	const char *path = http_path(request);

	if (strcmp(path, "/healthz") == 0) {
		http_reply(request, 200, "text/plain", "ok\n", 3);
	} else if (strcmp(path, "/readyz") == 0) {
		serve_ready(owner, request);
	} else {
		http_reply_error(request, 404, "no such path");
	}
}

/* ---- start ---- */

/* What was configured with the port that was bound; the caller frees it. */
static char *with_port(const char *address, uint16_t port)
{
	const char *colon = strrchr(address, ':');

	return xasprintf("%.*s:%d", (int)(colon - address), address, port);
}

static void log_listening(const struct aggregator *a)
{
	scoped_free char *listen =
		with_port(a->config->listen, mq_server_port(a->mq));
	scoped_free char *http =
		with_port(a->config->http, httpd_port(a->http));
	scoped_free char *health =
		with_port(a->config->health, httpd_port(a->health));

	log_info("listening", log_str("listen", listen), log_str("http", http),
		log_str("health", health), log_str("version", plimsoll_version),
		LOG_END);
}

static void fail(struct aggregator *a, const struct error *err)
{
	log_error("cannot start", log_err(err), LOG_END);
	a->has_failed = true;
	loop_begin_stop(a->loop);
}

/* The age goes by this machine's wall clock, then and now: nothing else
 * survives a restart. */
static void on_seed(void *owner, const struct store_row *row)
{
	struct aggregator *a = owner;
	uint64_t wall_ms = clock_wall_us() / 1000;
	uint64_t now_us = clock_monotonic_us();
	uint64_t age_ms =
		wall_ms > row->sample_ms ? wall_ms - row->sample_ms : 0;
	struct live_sample sample = { row->node, row->run_id, row->report,
		(int64_t)now_us - (int64_t)age_ms * 1000 };
	struct error error;

	refill_add(a->refill, row, wall_ms);
	if (live_take_stored(a->live, &sample, now_us, &error) < 0) {
		log_warning("left out a node's last report",
			log_str("node", row->node), log_err(&error), LOG_END);
	}
}

static int listen_wire(struct aggregator *a, struct error *err)
{
	const struct tls_files *files = &a->config->tls;
	struct tls_material tls = { 0 };
	struct mq_server_options options = {
		.url = a->config->listen,
		.tls = files->cert == NULL ? NULL : &tls,
		.contexts = CONTEXTS,
		.serve = intake_serve,
		.owner = a->intake,
	};
	int r = tls_load(&tls, files, err);

	if (r == 0) {
		r = mq_server_new(&a->mq, loop_uv(a->loop), &options, err);
	}
	tls_fini(&tls);
	return r;
}

static int listen_http(struct aggregator *a, struct error *err)
{
	const struct tls_files *files = &a->config->http_tls;
	struct tls_material tls = { 0 };
	struct httpd_options options = {
		.address = a->config->http,
		.tls = files->cert == NULL ? NULL : &tls,
		.serve = guard_serve,
		.owner = &a->guard,
	};
	int r = tls_load(&tls, files, err);

	if (r == 0) {
		r = httpd_new(&a->http, loop_uv(a->loop), &options, err);
	}
	tls_fini(&tls);
	return r;
}

static void on_opened(void *owner, const struct error *err)
{
	struct aggregator *a = owner;
	struct error error = { 0 };
	int r;

	if (err != NULL) {
		fail(a, err);
		return;
	}
	if (a->is_stopping) {
		return;
	}
	r = listen_wire(a, &error);
	if (r == 0) {
		r = listen_http(a, &error);
	}
	if (r < 0) {
		fail(a, &error);
		return;
	}
	a->is_open = true;
	refill_start(a->refill, a->store);
	log_listening(a);
}

/* ---- stop ---- */

static void on_watchdog(void *owner)
{
	(void)owner;
	log_error("the store did not close in time", LOG_END);
	_exit(1);
}

/* The answers of all batches are out; the rest needs no order. */
static void on_store_closed(void *owner)
{
	struct aggregator *a = owner;

	timer_close(a->look);
	mq_server_close(a->mq);
	httpd_close(a->http);
	httpd_close(a->health);
	intake_close(a->intake);
	refill_close(a->refill);
	remote_free(take_ptr(a->remote));
	timer_close(a->watchdog);
}

static void on_stop(void *owner)
{
	struct aggregator *a = owner;

	a->is_stopping = true;
	a->is_open = false;
	launchers_close(take_ptr(a->launchers));
	review_stop(a->review);
	intake_stop(a->intake);
	remote_stop(a->remote);
	timer_start(a->watchdog, STOP_MS, 0);
	store_close(a->store);
}

/* ---- all ---- */

/* Random, so that no client takes another process's revisions for ours; below
 * 2^53, so that JSON numbers carry it; not 0, which askers begin with. */
static uint64_t random_epoch(void)
{
	uint64_t epoch = 0;

	if (uv_random(NULL, NULL, &epoch, sizeof(epoch), 0, NULL) != 0) {
		epoch = clock_wall_us();
	}
	epoch &= (UINT64_C(1) << 53) - 1;
	return epoch == 0 ? 1 : epoch;
}

static void open_store(struct aggregator *a)
{
	struct store_options options = {
		.path = a->config->db,
		.decisions_kept_us = a->config->retention_decisions_us,
		.max_bytes = a->config->max_db_bytes,
		.compact_us = a->config->compact_us,
		.outbox_bytes = a->config->remote.url == NULL
			? 0
			: a->config->remote.queue_bytes,
		.seed = on_seed,
		.opened = on_opened,
		.closed = on_store_closed,
		.owner = a,
	};
	uv_loop_t *uv = loop_uv(a->loop);

	memcpy(options.retention_us, a->config->retention_us,
		sizeof(options.retention_us));
	a->refill = refill_new(uv, a->live);
	a->store = store_new(uv, &options);
	a->intake = intake_new(uv, a->live, a->store,
		a->config->wire_auth == AUTH_KUBERNETES ? a->review : NULL);
	a->profiles = profiles_new(a->store);
	intake_set_profiles(a->intake, a->profiles);
	a->api = (struct api){
		.profiles = a->profiles,
		.live = a->live,
		.store = a->store,
		.identities = a->launchers == NULL ? NULL : a->identities,
		.intake = a->intake,
		.metrics_vms = (size_t)a->config->metrics_vms,
	};
	memcpy(a->api.retention_us, a->config->retention_us,
		sizeof(a->api.retention_us));
	a->guard = (struct guard){
		.review = a->config->http_auth == AUTH_KUBERNETES ? a->review
								  : NULL,
		.serve = api_serve,
		.owner = &a->api,
	};
}

static int open_remote(struct aggregator *a, struct error *err)
{
	int r = 0;

	if (a->config->remote.url != NULL) {
		r = remote_new(&a->remote, loop_uv(a->loop), a->store,
			&a->config->remote, err);
		a->api.remote = a->remote;
	}
	return r;
}

static int open_review(struct aggregator *a, struct error *err)
{
	struct kube_config kube;
	int r;

	if (!config_needs_api(a->config)) {
		return 0;
	}
	r = kube_config_load(&kube, a->config->kubeconfig, err);
	if (r == 0) {
		a->review = review_new(loop_uv(a->loop), &kube);
	}
	return r;
}

/* Names of VMs are worth having and not worth ending for, unless a file was
 * named for it. */
static int open_launchers(struct aggregator *a, struct error *err)
{
	const char *named = a->config->kubeconfig;
	struct kube_config kube;
	int r;

	if (!config_has_api(a->config, kube_config_is_in_pod())) {
		return 0;
	}
	r = kube_config_load(&kube, named, err);
	if (r == 0) {
		a->launchers =
			launchers_new(loop_uv(a->loop), &kube, a->identities);
	} else if (named == NULL) {
		log_warning("VMs have no names", log_err(err), LOG_END);
		r = 0;
	}
	return r;
}

int aggregator_run(const struct config *config)
{
	struct aggregator a = { .config = config };
	struct error error;
	int r;

	a.loop = loop_new(on_stop, &a);
	a.watchdog = timer_new(loop_uv(a.loop), on_watchdog, &a);
	a.look = timer_new(loop_uv(a.loop), on_look, &a);
	timer_start(a.look, LOOK_MS, LOOK_MS);
	a.identities = identities_new();
	a.live = live_new(random_epoch(), a.identities);
	r = open_review(&a, &error);
	if (r == 0) {
		r = open_launchers(&a, &error);
	}
	open_store(&a);
	if (r == 0) {
		r = open_remote(&a, &error);
	}
	if (r == 0) {
		r = httpd_new(&a.health, loop_uv(a.loop),
			&(struct httpd_options){ .address = config->health,
				.serve = serve_health,
				.owner = &a },
			&error);
	}
	if (r < 0) {
		fail(&a, &error);
	}
	loop_run(a.loop);
	loop_free(a.loop);
	review_free(a.review);
	profiles_free(a.profiles);
	live_free(a.live);
	identities_free(a.identities);
	return a.has_failed ? 1 : 0;
}
