#include "scheduler/make_room/room_pods.h"

#include <string.h>

bool room_pods_may_fit(uint64_t reasons)
{
	const uint64_t removable = FILTER_BIT(REASON_PORTS) |
		FILTER_BIT(REASON_PODS) | FILTER_BIT(REASON_CPU) |
		FILTER_BIT(REASON_MEMORY) | FILTER_BIT(REASON_EPHEMERAL) |
		FILTER_BIT(REASON_SPREAD) |
		FILTER_BIT(REASON_VOLUMES + VOLUMES_DISK) |
		FILTER_BIT(REASON_VOLUMES + VOLUMES_IN_USE) |
		FILTER_BIT(REASON_VOLUMES + VOLUMES_COUNT) |
		FILTER_BIT(REASON_POD_ANTI_AFFINITY) |
		FILTER_BIT(REASON_EXISTING_ANTI_AFFINITY) | FILTER_USED |
		~(FILTER_BIT(REASON_SCALAR) - 1);

	return reasons != 0 && (reasons & ~removable) == 0;
}

bool room_pods_qualifies(const struct decision *decision)
{
	if (decision->pod->is_move || decision->pod->is_target) {
		return false;
	}
	for (size_t i = 0; i < decision->node_count; i++) {
		if (room_pods_may_fit(decision->verdicts[i].reasons)) {
			return true;
		}
	}
	return false;
}

uint64_t room_pods_reasons(const struct decision *decision, const char *node)
{
	for (size_t i = 0; i < decision->node_count; i++) {
		if (strcmp(decision->nodes[i]->name, node) == 0) {
			return decision->verdicts[i].reasons;
		}
	}
	return 0;
}

bool room_pods_waits_for_data(uint64_t reasons)
{
	return reasons != 0 && (reasons & ~FILTER_USED) == 0;
}
