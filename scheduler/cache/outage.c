#include "scheduler/cache/outage.h"

#include <stddef.h>

#define AGAIN_US UINT64_C(60000000)

const char *outage_why(const struct reflector_state *nodes,
	const struct reflector_state *pods)
{
	if (!nodes->is_watching && *nodes->trouble != '\0') {
		return nodes->trouble;
	}
	return pods->is_watching ? "" : pods->trouble;
}

bool outage_ready(struct buffer *out, const struct reflector_state *nodes,
	const struct reflector_state *pods, size_t connected, size_t of)
{
	const char *why = outage_why(nodes, pods);
	const char *colon = *why == '\0' ? "" : ": ";

	if (!nodes->is_synced || !pods->is_synced) {
		buffer_printf(out, "the cluster is not known yet%s%s", colon,
			why);
		return false;
	}
	if (!nodes->is_watching || !pods->is_watching) {
		buffer_printf(out, "degraded: a watch is interrupted%s%s",
			colon, why);
	} else if (connected < of) {
		buffer_printf(out, "degraded: %zu of %zu aggregators connected",
			connected, of);
	} else if (of == 0) {
		buffer_text(out,
			"degraded: no --aggregator, scores by requests alone");
	}
	return true;
}

void outage_look(struct outage *outage, const struct reflector_state *nodes,
	const struct reflector_state *pods, uint64_t now_us)
{
	const char *why = outage_why(nodes, pods);

	if (*why != '\0' && log_allow(&outage->limit, now_us, AGAIN_US, NULL)) {
		log_warning("the cluster cannot be followed",
			log_str("err", why), LOG_END);
		outage->was_told = true;
	}
	if (outage->was_told && nodes->is_watching && pods->is_watching) {
		log_info("the cluster is followed again", LOG_END);
		*outage = (struct outage){ 0 };
	}
}
