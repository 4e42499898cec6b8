#include "scheduler/outage.h"

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
