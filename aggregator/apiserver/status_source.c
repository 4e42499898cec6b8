#include "aggregator/apiserver/status_source.h"

#include "aggregator/ingest/ingest.h"
#include "aggregator/ingest/questions.h"
#include "aggregator/live/identity.h"
#include "aggregator/store/database_size.h"
#include "lib/clock.h"
#include "lib/http/httpd_listener.h"
#include "lib/options.h"
#include "lib/tls/tls_watch.h"

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
	const char *reason = is_open ? store_last_error(api->store) : "";
	const struct database_size size = database_size(api->store);

	out->state = !is_open	    ? "Opening"
		: reason[0] == '\0' ? "Storing"
				    : "Degraded";
	out->reason = reason;
	out->database_bytes = size.bytes;
	out->database_max_bytes = size.max_bytes;
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

void status_source_fill(struct status_object *out, const struct api *api,
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
