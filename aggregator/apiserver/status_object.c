#include "aggregator/apiserver/status_object.h"

#include "aggregator/ingest/ingest.h"
#include "aggregator/ingest/questions.h"
#include "aggregator/live/identity.h"
#include "aggregator/store/stats.h"
#include "lib/clock.h"
#include "lib/http/httpd_listener.h"
#include "lib/memory.h"
#include "lib/options.h"
#include "lib/tls/tls_watch.h"

static const struct api_model_field store_fields[] = {
	{ API_FIELD(TEXT, store_object, state),
		"Opening, Storing or Degraded" },
	{ API_FIELD(TEXT, store_object, reason),
		"Why reports are not being stored" },
	{ API_FIELD(COUNT, store_object, retention_raw_seconds),
		"How long reports are kept" },
	{ API_FIELD(COUNT, store_object, retention_1m_seconds),
		"How long minutes are kept" },
	{ API_FIELD(COUNT, store_object, retention_1h_seconds),
		"How long hours are kept" },
	{ API_FIELD(COUNT, store_object, database_bytes),
		"Size of the database without free pages" },
	{ API_FIELD(COUNT, store_object, database_max_bytes),
		"Size limit of the database, above which the oldest data is "
		"deleted" },
};

static const struct api_model_field agents_fields[] = {
	{ API_FIELD(NATURAL, agents_object, fresh), "Nodes with new figures" },
	{ API_FIELD(NATURAL, agents_object, stale),
		"Nodes with figures that are older than three intervals" },
	{ API_FIELD(NATURAL, agents_object, lost),
		"Nodes with figures that are older than five minutes" },
};

static const struct api_model_field certificates_fields[] = {
	{ API_NAMED(wire, TIME, certificates_object, wire_us),
		"End of the certificate for agents and schedulers" },
	{ API_NAMED(https, TIME, certificates_object, https_us),
		"End of the certificate of the HTTP API" },
	{ API_NAMED(api, TIME, certificates_object, api_us),
		"End of the certificate of this API" },
};

static const struct api_model_field remote_write_fields[] = {
	{ API_FIELD(BOOL, remote_write_object, is_on),
		"Reports are sent to another engine" },
	{ API_FIELD(TEXT, remote_write_object, reason), "Why reports wait" },
	{ API_FIELD(COUNT, remote_write_object, queued_reports),
		"Reports that wait to be sent" },
};

static const struct api_model_field scheduler_fields[] = {
	{ API_FIELD(BOOL, scheduler_object, is_connected),
		"A leading scheduler takes questions here" },
};

static const struct api_model_field rebalance_fields[] = {
	{ API_FIELD(TEXT, rebalance_object, mode),
		"Off, Recommend or Automatic" },
	{ API_FIELD(TEXT, rebalance_object, why), "Why nothing is moved now" },
};

static const struct api_model store_model =
	API_MODEL(store_fields, store_object);
static const struct api_model agents_model =
	API_MODEL(agents_fields, agents_object);
static const struct api_model certificates_model =
	API_MODEL(certificates_fields, certificates_object);
static const struct api_model remote_write_model =
	API_MODEL(remote_write_fields, remote_write_object);
static const struct api_model scheduler_model =
	API_MODEL(scheduler_fields, scheduler_object);
static const struct api_model rebalance_model =
	API_MODEL(rebalance_fields, rebalance_object);

static const struct api_model_field status_fields[] = {
	{ API_FIELD(TEXT, status_object, version),
		"Version of the aggregator" },
	{ API_FIELD(TEXT, status_object, commit),
		"Commit that it was built from" },
	{ API_NAMED(time, TIME, status_object, time_us), "Its clock" },
	{ API_NESTED(store, OBJECT, status_object, store, &store_model),
		"The database" },
	{ API_NESTED(agents, OBJECT, status_object, agents, &agents_model),
		"Nodes by the age of their figures" },
	{ API_FIELD(COUNT, status_object, vm_identities),
		"VM pods whose names are known" },
	{ API_NESTED(certificates, OBJECT, status_object, certificates,
		  &certificates_model),
		"When certificates end" },
	{ API_NESTED(remote_write, OBJECT, status_object, remote_write,
		  &remote_write_model),
		"The queue of remote write" },
	{ API_NESTED(scheduler, OBJECT, status_object, scheduler,
		  &scheduler_model),
		"The scheduler that leads" },
	{ API_NESTED(rebalance, OBJECT, status_object, rebalance,
		  &rebalance_model),
		"What the scheduler that leads does about hot nodes" },
};

static const struct api_model inner_model =
	API_MODEL(status_fields, status_object);

static const struct api_model_field fields[] = {
	{ API_PART(status, &inner_model),
		"The state of the aggregator that answered" },
};

const struct api_model status_model = API_MODEL(fields, status_object);

static void count_agents(struct agents_object *out, const struct live *live)
{
	uint64_t now_us = clock_monotonic_us();

	for (const struct live_node *node = live_after(live, 0); node != NULL;
		node = live_next(node)) {
		enum load_state state = live_node_state(node, now_us);

		out->fresh += state == LOAD_FRESH;
		out->stale += state == LOAD_STALE;
		out->lost += state == LOAD_LOST;
	}
}

static void fill_store(struct store_object *out, const struct api *api,
	bool is_open)
{
	const char *reason = is_open ? store_complaint(api->store) : "";
	const struct store_stats stats = store_stats(api->store);

	out->state = !is_open	    ? "Opening"
		: reason[0] == '\0' ? "Storing"
				    : "Degraded";
	out->reason = reason;
	out->database_bytes = stats.database_bytes;
	out->database_max_bytes = stats.database_max_bytes;
	out->retention_raw_seconds = api->retention_us[STORE_RAW] / 1000000;
	out->retention_1m_seconds = api->retention_us[STORE_1M] / 1000000;
	out->retention_1h_seconds = api->retention_us[STORE_1H] / 1000000;
}

static uint64_t end_us(int64_t seconds)
{
	return seconds > 0 ? (uint64_t)seconds * 1000000 : 0;
}

static void fill_remote(struct remote_write_object *out, const struct api *api)
{
	out->queued_reports = REPORT_UNKNOWN;
	if (api->remote != NULL) {
		out->is_on = true;
		out->queued_reports =
			remote_write_health(api->remote).queue.reports;
	}
}

static void fill_scheduler(struct status_object *out, const struct api *api)
{
	const struct questions *questions =
		api->ingest == NULL ? NULL : ingest_questions(api->ingest);
	const struct rebalance_state *rebalance = NULL;

	if (questions != NULL) {
		out->scheduler.is_connected = questions_has_leader(questions);
		rebalance = questions_rebalance(questions);
	}
	if (rebalance != NULL) {
		out->rebalance = (struct rebalance_object){ rebalance->mode,
			rebalance->why };
	}
}

void status_object_fill(struct status_object *out, const struct api *api,
	const struct httpd_listener *listener, bool is_open)
{
	*out = (struct status_object){ .version = plimsoll_version,
		.commit = plimsoll_commit,
		.time_us = clock_wall_us(),
		.vm_identities = REPORT_UNKNOWN };
	fill_store(&out->store, api, is_open);
	count_agents(&out->agents, api->live);
	fill_remote(&out->remote_write, api);
	out->certificates = (struct certificates_object){
		.wire_us = end_us(tls_watch_expiry_s(api->wire_tls)),
		.https_us = end_us(httpd_listener_expiry_s(api->http)),
		.api_us = end_us(httpd_listener_expiry_s(listener)),
	};
	fill_scheduler(out, api);
	if (api->identities != NULL) {
		out->vm_identities = identities_count(api->identities);
	}
}
