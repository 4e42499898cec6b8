#include "aggregator/aggregator.h"

#include "aggregator/apiserver/api_objects.h"
#include "aggregator/apiserver/api_outlook.h"
#include "aggregator/apiserver/api_status.h"
#include "aggregator/apiserver/apiserver.h"
#include "aggregator/apiserver/load_wait.h"
#include "aggregator/config.h"
#include "aggregator/http/api.h"
#include "aggregator/http/health.h"
#include "aggregator/ingest/ingest.h"
#include "aggregator/live/forget.h"
#include "aggregator/live/identity.h"
#include "aggregator/live/launcher_informer.h"
#include "aggregator/live/live.h"
#include "aggregator/live/node_informer.h"
#include "aggregator/live/node_log.h"
#include "aggregator/live/object_labels.h"
#include "aggregator/live/warm_up.h"
#include "aggregator/query/profile_cache.h"
#include "aggregator/remote_read/remote_read.h"
#include "aggregator/remote_write/remote_write.h"
#include "aggregator/remotes.h"
#include "aggregator/store/store.h"
#include "auth/access_review.h"
#include "auth/http_auth.h"
#include "kube/client.h"
#include "kube/config.h"
#include "lib/clock.h"
#include "lib/http/httpd_listener.h"
#include "lib/log.h"
#include "lib/loop.h"
#include "lib/memory.h"
#include "lib/mq/mq.h"
#include "lib/tls/tls_watch.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Requests at a time: snapshot requests that wait, and batches during their
 * commit of a tenth of a second: some 10,000 batches per second. */
enum { CONTEXTS = 1024 };

/* A disk that hangs must not delay the exit. Nothing is lost by that: what was
 * acknowledged as stored is stored. */
enum { STOP_MS = 4500 };

/* How often to check for failed connections, and how often to log the same
 * failure again. */
enum { POLL_MS = 5000 };
#define LOG_AGAIN_US UINT64_C(60000000)

struct aggregator {
	const struct aggregator_config *config;
	struct loop *loop;
	struct timer *watchdog, *poll;
	struct identities *identities;
	/* The watches and their client; NULL: no API server. */
	struct kube_client *kube;
	struct launcher_informer *informer;
	struct node_informer *nodes;
	struct forget *forget;
	struct object_labels *node_labels, *pod_labels;
	size_t not_restored; /* nodes of the store */
	struct live *live;
	struct node_log *node_log;
	struct store *store;
	struct access_review *review; /* NULL: no authentication */
	struct profile_cache *profiles;
	struct warm_up *warm_up;
	struct remote_write *remote;	 /* NULL: no --remote-write */
	struct remote_read *remote_read; /* NULL: no --remote-read */
	struct ingest *ingest;
	struct tls_watch *tls; /* of mq; NULL: tcp */
	struct tls_watcher on_tls;
	struct mq_server *mq;
	struct httpd_listener *http, *health;
	struct apiserver *apiserver; /* NULL: no --api */
	struct api api;
	struct api_sources objects; /* of the Kubernetes API on http */
	struct load_wait *waits;
	struct httpd_routes objects_routes;
	struct http_auth http_auth; /* serves the api */
	struct health probes;
	struct httpd_routes probe_routes;
	struct log_limit wire_failures;
	const char *wire_failure; /* the last one logged */
	bool is_stopping, has_failed;
};

/* A peer that fails the TLS handshake never sends a request: it shows up in the
 * listener's counters only. */
static void on_poll(void *owner)
{
	struct aggregator *a = owner;
	const char *why = a->mq == NULL ? "" : mq_server_last_error(a->mq);

	if (*why != '\0' &&
		(log_allow(&a->wire_failures, clock_monotonic_us(),
			 LOG_AGAIN_US, NULL) ||
			why != a->wire_failure)) {
		a->wire_failure = why;
		log_warning("peers could not connect", log_str("why", why),
			LOG_END);
	}
	launcher_informer_poll(a->informer, a->store);
	node_log_poll(a->node_log, a->live, clock_monotonic_us());
	node_informer_poll(a->nodes);
	apiserver_poll(a->apiserver);
	forget_poll(a->forget, a->live, clock_monotonic_us());
}

/* ---- start ---- */

static void fail(struct aggregator *a, const struct error *err)
{
	log_error("cannot start", log_err(err), LOG_END);
	a->has_failed = true;
	loop_begin_stop(a->loop);
}

/* The age is the difference of this machine's wall clock, because no other
 * clock survives a restart. */
static void on_last_report(void *owner, const struct store_row *row)
{
	struct aggregator *a = owner;
	uint64_t wall_ms = clock_wall_us() / 1000;
	uint64_t now_us = clock_monotonic_us();
	uint64_t age_ms =
		wall_ms > row->sample_ms ? wall_ms - row->sample_ms : 0;
	struct live_sample sample = { row->node, row->run_id, row->report,
		(int64_t)now_us - (int64_t)age_ms * 1000, 0 };
	struct error error;

	if (forget_is_over(a->forget, age_ms * 1000)) {
		a->not_restored++;
		return;
	}
	ingest_restore_pods(a->ingest, row->node, row->report, age_ms * 1000);
	warm_up_add(a->warm_up, row, wall_ms);
	if (live_find(a->live, row->node) == NULL &&
		live_add_stored(a->live, &sample, now_us, &error) < 0) {
		log_warning("cannot restore a node's last report",
			log_str("node", row->node), log_err(&error), LOG_END);
	}
}

static int set_tls(void *owner, const struct tls_material *tls,
	struct error *err)
{
	struct aggregator *a = owner;

	return mq_server_set_tls(a->mq, tls, err);
}

static int open_wire(struct aggregator *a, struct error *err)
{
	const struct aggregator_config *config = a->config;
	struct mq_server_options options = { config->listen, NULL, CONTEXTS,
		ingest_serve, a->ingest };
	int r = config->tls.cert == NULL
		? 0
		: tls_watch_new(&a->tls, loop_uv(a->loop), &config->tls,
			  TLS_READER_NNG, "wire", err);

	if (r == 0) {
		options.tls = tls_watch_material(a->tls);
		r = mq_server_new(&a->mq, loop_uv(a->loop), &options, err);
	}
	if (r == 0 && a->tls != NULL) {
		a->on_tls.set = set_tls;
		a->on_tls.owner = a;
		tls_watch_add(a->tls, &a->on_tls);
	}
	return r;
}

static int open_listeners(struct aggregator *a, struct error *err)
{
	const struct aggregator_config *config = a->config;
	struct httpd_listener_options http_options = { .address = config->http,
		.tls = &config->http_tls,
		.use = "https",
		.write_error = api_status_write_below,
		.serve = http_auth_serve,
		.owner = &a->http_auth };
	int r = open_wire(a, err);

	if (r == 0) {
		r = httpd_listener_new(&a->http, loop_uv(a->loop),
			&http_options, err);
	}
	a->api.wire_tls = a->tls;
	a->api.http = a->http;
	a->api.health = a->health;
	return r;
}

static void log_not_restored(const struct aggregator *a)
{
	if (a->not_restored > 0) {
		log_info("skipped stored nodes: no recent report",
			log_int("nodes", (int64_t)a->not_restored), LOG_END);
	}
}

static void begin_serving(struct aggregator *a)
{
	struct error error = { 0 };

	if (open_listeners(a, &error) < 0) {
		fail(a, &error);
		return;
	}
	a->probes.is_open = true;
	apiserver_set_open(a->apiserver);
	node_log_begin(a->node_log, a->live, clock_monotonic_us());
	aggregator_config_log(a->config,
		&(struct aggregator_ports){ .listen = mq_server_port(a->mq),
			.http = httpd_listener_port(a->http),
			.health = httpd_listener_port(a->health) });
}

/* With a full disk, live load is served and reports are only received. */
static void on_opened(void *owner, const struct error *err)
{
	struct aggregator *a = owner;

	if (err != NULL && err->code != -ENOSPC) {
		fail(a, err);
		return;
	}
	if (a->is_stopping) {
		return;
	}
	if (err != NULL) {
		log_error("database not opened yet", log_err(err), LOG_END);
	} else {
		log_info("database opened", log_str("database", a->config->db),
			log_int("nodes", (int64_t)live_count(a->live)),
			LOG_END);
		log_not_restored(a);
		warm_up_start(a->warm_up, a->store);
	}
	if (!a->probes.is_open) {
		begin_serving(a);
	}
}

/* ---- stop ---- */

static void on_watchdog(void *owner)
{
	(void)owner;
	log_error("the store did not close in time", LOG_END);
	_exit(1);
}

/* All batches are answered; the rest closes in any order. */
static void on_store_closed(void *owner)
{
	struct aggregator *a = owner;

	timer_close(a->poll);
	mq_server_close(a->mq);
	httpd_listener_close(a->http);
	httpd_listener_close(a->health);
	apiserver_close(a->apiserver);
	api_outlook_free(a->api.outlook);
	tls_watch_close(a->tls);
	ingest_close(a->ingest);
	warm_up_close(a->warm_up);
	remote_write_free(take_ptr(a->remote));
	timer_close(a->watchdog);
}

static void on_stop(void *owner)
{
	struct aggregator *a = owner;

	if (!a->has_failed) {
		log_info("stopping", LOG_END);
	}
	a->is_stopping = true;
	a->probes.is_open = false;
	load_wait_stop(a->waits);
	apiserver_stop(a->apiserver);
	api_outlook_stop(a->api.outlook);
	launcher_informer_poll(a->informer, a->store);
	launcher_informer_close(take_ptr(a->informer));
	node_informer_close(take_ptr(a->nodes));
	kube_client_close(take_ptr(a->kube));
	access_review_stop(a->review);
	ingest_stop(a->ingest);
	remote_write_stop(a->remote);
	remote_read_stop(a->remote_read);
	timer_start(a->watchdog, STOP_MS, 0);
	store_close(a->store);
}

/* ---- all ---- */

static void open_store(struct aggregator *a)
{
	struct store_options options = {
		.path = a->config->db,
		.decisions_kept_us = a->config->retention_decisions_us,
		.max_bytes = a->config->max_db_bytes,
		.compact_us = a->config->compact_us,
		.outbox_bytes = a->config->remote.http.url == NULL
			? 0
			: a->config->remote.queue_bytes,
		.last_report = on_last_report,
		.opened = on_opened,
		.closed = on_store_closed,
		.owner = a,
	};
	uv_loop_t *uv = loop_uv(a->loop);

	memcpy(options.retention_us, a->config->retention_us,
		sizeof(options.retention_us));
	a->warm_up = warm_up_new(uv, a->live);
	a->store = store_new(uv, &options);
	a->probes.store = a->store;
	a->profiles = remotes_profiles_new(a->remote_read, a->store);
	a->ingest = ingest_new(uv, a->live, a->store,
		a->config->wire_auth == AUTH_KUBERNETES ? a->review : NULL,
		a->profiles, a->informer == NULL ? NULL : a->identities);
	a->api = (struct api){
		.profiles = a->profiles,
		.live = a->live,
		.store = a->store,
		.identities = a->informer == NULL ? NULL : a->identities,
		.ingest = a->ingest,
		.remote_read = a->remote_read,
		.outlook = api_outlook_new(uv, ingest_questions(a->ingest)),
		.metrics_vms = (size_t)a->config->metrics_vms,
		.started_us = clock_wall_us(),
		.may_delete = a->config->http_auth == AUTH_KUBERNETES,
	};
	memcpy(a->api.retention_us, a->config->retention_us,
		sizeof(a->api.retention_us));
}

/* Needs the listener of the Kubernetes API, if there is one. */
static void make_routes(struct aggregator *a)
{
	a->objects = (struct api_sources){ .api = &a->api,
		.nodes = a->node_labels,
		.pods = a->pod_labels,
		.listener = apiserver_listener(a->apiserver),
		.waits = a->waits,
		.is_open = true };
	a->objects_routes = api_objects_routes(&a->objects);
	a->http_auth = (struct http_auth){
		.review = a->config->http_auth == AUTH_KUBERNETES ? a->review
								  : NULL,
		.routes = api_routes(&a->api),
	};
	a->http_auth.routes.mounted = &a->objects_routes;
}

static int open_remote_write(struct aggregator *a, struct error *err)
{
	int r = remotes_open_write(&a->remote, loop_uv(a->loop), a->store,
		&a->config->remote, err);

	a->api.remote = a->remote;
	a->probes.remote = a->remote;
	return r;
}

static int open_review(struct aggregator *a, struct error *err)
{
	struct kube_config kube;
	int r;

	if (!aggregator_config_needs_api(a->config)) {
		return 0;
	}
	r = kube_config_load(&kube, a->config->kubeconfig, err);
	if (r == 0) {
		a->review = access_review_new(loop_uv(a->loop), &kube);
	}
	return r;
}

/* The aggregator runs without the names of VMs and without the list of Nodes,
 * except if --kubeconfig was given and fails. */
static int open_informers(struct aggregator *a, struct error *err)
{
	const char *named = a->config->kubeconfig;
	struct kube_config config;
	int r;

	if (!aggregator_config_has_api(a->config, kube_config_is_in_pod())) {
		return 0;
	}
	r = kube_config_load(&config, named, err);
	if (r == 0) {
		a->kube = kube_client_new(loop_uv(a->loop), &config);
		a->informer = launcher_informer_new(a->kube, a->identities,
			a->pod_labels);
		a->nodes =
			node_informer_new(a->kube, a->forget, a->node_labels);
	} else if (named == NULL) {
		log_warning("cannot watch VM pods: VMs have no names",
			log_err(err), LOG_END);
		r = 0;
	}
	return r;
}

/* Documents are served before the store is open. */
static int open_api(struct aggregator *a, struct error *err)
{
	const struct apiserver_options options = { .address = a->config->api,
		.tls = &a->config->api_tls,
		.api = &a->api,
		.review = a->review,
		.kube = a->kube,
		.nodes = a->node_labels,
		.pods = a->pod_labels,
		.waits = a->waits };

	return options.address == NULL
		? 0
		: apiserver_new(&a->apiserver, loop_uv(a->loop), &options, err);
}

static int check(void *config, struct error *err)
{
	return aggregator_config_check(config, err);
}

static int run(const void *arguments, struct error *err)
{
	const struct aggregator_config *config = arguments;
	struct aggregator a = { .config = config };
	int r;

	log_setup((enum log_format)config->log_format,
		(enum log_level)config->log_level);
	a.loop = loop_new(on_stop, &a);
	a.watchdog = timer_new(loop_uv(a.loop), on_watchdog, &a);
	a.poll = timer_new(loop_uv(a.loop), on_poll, &a);
	timer_start(a.poll, POLL_MS, POLL_MS);
	a.identities = identities_new();
	a.live = live_new(live_epoch_new(), a.identities);
	a.waits = load_wait_new(loop_uv(a.loop), a.live);
	a.node_log = node_log_new();
	a.forget = forget_new(config->forget_us);
	a.probe_routes = health_routes(&a.probes);
	a.node_labels = object_labels_new();
	a.pod_labels = object_labels_new();
	r = open_review(&a, err);
	r = r == 0 ? open_informers(&a, err) : r;
	if (r == 0) {
		r = remotes_open_read(&a.remote_read, loop_uv(a.loop), config,
			err);
	}
	open_store(&a);
	r = r == 0 ? open_remote_write(&a, err) : r;
	if (r == 0) {
		r = httpd_listener_new(&a.health, loop_uv(a.loop),
			&(struct httpd_listener_options){
				.address = config->health,
				.serve = httpd_routes_serve,
				.owner = &a.probe_routes },
			err);
	}
	r = r == 0 ? open_api(&a, err) : r;
	make_routes(&a);
	if (r < 0) {
		fail(&a, err);
	}
	loop_run(a.loop);
	loop_free(a.loop);
	access_review_free(a.review);
	profile_cache_free(a.profiles);
	remote_read_free(a.remote_read);
	node_log_free(a.node_log);
	load_wait_free(a.waits);
	live_free(a.live);
	forget_free(a.forget);
	identities_free(a.identities);
	object_labels_free(a.node_labels);
	object_labels_free(a.pod_labels);
	return a.has_failed ? PROGRAM_FAILED : 0;
}

const struct program aggregator_program = {
	.options = &aggregator_options,
	.config_size = sizeof(struct aggregator_config),
	.check = check,
	.run = run,
};
