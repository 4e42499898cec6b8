#include "scheduler/cache/outage.h"

#include <stddef.h>

#define LOG_AGAIN_US UINT64_C(60000000)

const char *outage_reason(const struct reflector_state *nodes,
	const struct reflector_state *pods)
{
	if (!nodes->is_watching && *nodes->last_error != '\0') {
		return nodes->last_error;
	}
	return pods->is_watching ? "" : pods->last_error;
}

bool outage_ready(struct buffer *out, const struct reflector_state *nodes,
	const struct reflector_state *pods, size_t connected, size_t total)
{
	const char *why = outage_reason(nodes, pods);
	const char *colon = *why == '\0' ? "" : ": ";

	if (!nodes->is_synced || !pods->is_synced) {
		buffer_printf(out, "caches not synced yet%s%s", colon, why);
		return false;
	}
	if (!nodes->is_watching || !pods->is_watching) {
		buffer_printf(out, "degraded: a watch is interrupted%s%s",
			colon, why);
	} else if (connected < total) {
		buffer_printf(out, "degraded: %zu of %zu aggregators connected",
			connected, total);
	} else if (total == 0) {
		buffer_text(out,
			"degraded: no --aggregator, scoring by requests only");
	}
	return true;
}

void outage_poll(struct outage *outage, const struct reflector_state *nodes,
	const struct reflector_state *pods, uint64_t now_us)
{
	const char *why = outage_reason(nodes, pods);

	if (*why != '\0' &&
		log_allow(&outage->limit, now_us, LOG_AGAIN_US, NULL)) {
		log_warning("cannot watch the cluster", log_str("err", why),
			LOG_END);
		outage->was_logged = true;
	}
	if (outage->was_logged && nodes->is_watching && pods->is_watching) {
		log_info("watching the cluster again", LOG_END);
		*outage = (struct outage){ 0 };
	}
}
