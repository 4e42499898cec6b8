#include "aggregator/live/claims.h"

#include "lib/memory.h"

void claims_note(struct claims *claims, struct claim *claim, uint64_t peer)
{
	struct seat_request request = { .flow = peer,
		.size = 1,
		.state = SEAT_WAITING,
		.owner = claim };

	claim->reports += claim->reports < CLAIMS_REPORTS;
	if (claim->reports < CLAIMS_REPORTS) {
		request.state = SEAT_NEW;
	}
	if (claim->seat != NULL && claim->peer == peer) {
		seat_move(claim->seat, request.state, 0);
	} else {
		claims_drop(claim);
		claim->peer = peer;
		claim->seat = fair_share_add(&claims->share, &request);
	}
}

void claims_drop(struct claim *claim)
{
	seat_remove(take_ptr(claim->seat));
}

struct claim *claims_weakest(struct claims *claims, uint64_t peer)
{
	const struct seat_request request = { .flow = peer, .size = 1 };
	struct seat *victim;
	struct claim *claim;

	/* No room is left: the share's limit is 0. */
	(void)fair_share_check(&claims->share, &request, &victim);
	if (victim == NULL) {
		return NULL;
	}
	claim = seat_owner(victim);
	return claim->peer != peer || seat_is_of_largest_flow(victim) ? claim
								      : NULL;
}
