#include "lib/fair_share.h"

#include "lib/memory.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

TAILQ_HEAD(seat_list, seat);

struct seat {
	TAILQ_ENTRY(seat) link;
	struct fair_share *share;
	struct flow *flow;
	size_t size;
	bool is_reserved; /* may use the reserve */
	enum seat_state state;
	uint64_t moved_us;
	uint64_t move; /* the number of its last move */
	void *owner;
};

struct flow {
	LIST_ENTRY(flow) link;
	LIST_ENTRY(flow) same; /* of one bucket */
	uint64_t key;
	size_t held, count;
	struct seat_list seats[SEAT_STATES]; /* that moved first, first */
};

static struct flow_list *bucket_of(struct fair_share *share, uint64_t key)
{
	return &share->buckets[key % FAIR_SHARE_BUCKETS];
}

static struct flow *find(struct fair_share *share, uint64_t key)
{
	struct flow *flow = LIST_FIRST(bucket_of(share, key));

	while (flow != NULL && flow->key != key) {
		flow = LIST_NEXT(flow, same);
	}
	return flow;
}

/* ---- room ---- */

static bool has_room(size_t held, size_t size, size_t max)
{
	return held == 0 || (held <= max && size <= max - held);
}

static bool has_room_for(const struct fair_share *share,
	const struct seat_request *request)
{
	size_t reserve = share->limits.reserve, reserved = share->held[true];
	size_t left = reserved < reserve ? reserve - reserved : 0;
	size_t outside = share->held[false] + reserved - (reserve - left);
	size_t inside = request->is_reserved ? left : 0;

	return (inside > 0 && request->size <= inside) ||
		has_room(outside, request->size - inside,
			share->limits.max - reserve);
}

/* ---- the seat that gives way ---- */

/* The weight of a seat: the heaviest gives way. A FAIR one grows with its
 * flow. */
enum { STAYS, STALLED, OWN, FAIR };

struct search {
	const struct seat_request *request;
	const struct flow *own; /* NULL: holds nothing */
	size_t after;		/* what it holds with the newcomer */
	bool spares_reserve;
	uint64_t weight;
	struct seat *victim;
};

static uint64_t weigh(const struct seat *seat, const struct search *search)
{
	bool is_own = seat->flow == search->own;
	bool is_useless = seat->state == SEAT_IDLE ||
		(seat->state == SEAT_ACTIVE &&
			search->request->now_us >=
				seat->moved_us + SEAT_STALLED_US);

	if (seat->state == SEAT_YIELDING ||
		seat->flow->held - seat->size >= search->after ||
		seat->size / SEAT_LARGE >= search->after) {
		return FAIR + 2 * seat->flow->held + (seat->state == SEAT_NEW);
	}
	if (is_own && (is_useless || seat->state == SEAT_NEW)) {
		return OWN;
	}
	return is_useless ? STALLED : STAYS;
}

/* The seats have one state, so if one gives way, no later one does before it.
 * Nor if none does, but for a smaller one that leaves its flow enough. */
static size_t search_seats(struct search *search, const struct seat_list *seats)
{
	struct seat *seat = NULL;
	size_t steps = 0;

	TAILQ_FOREACH(seat, seats, link)
	{
		uint64_t weight = weigh(seat, search);

		steps++;
		if (search->spares_reserve && seat->is_reserved) {
			continue;
		}
		if (weight > search->weight ||
			(weight == search->weight && weight != STAYS &&
				seat->move < search->victim->move)) {
			search->weight = weight;
			search->victim = seat;
		}
		if (weight >= FAIR || seat->flow == search->own ||
			seat->flow->held <= search->after) {
			break;
		}
	}
	return steps;
}

static void search_flow(struct fair_share *share, struct search *search,
	const struct flow *flow)
{
	share->steps++;
	for (int i = 0; i < SEAT_FIXED; i++) {
		share->steps += search_seats(search, &flow->seats[i]);
	}
}

int fair_share_check(struct fair_share *share,
	const struct seat_request *request, struct seat **victim)
{
	const struct flow *own = find(share, request->flow);
	size_t held = own == NULL ? 0 : own->held;
	struct search search = { .request = request,
		.own = own,
		.after = request->size > SIZE_MAX - held ? SIZE_MAX
							 : held + request->size,
		.spares_reserve = !request->is_reserved &&
			share->held[true] <= share->limits.reserve };
	struct flow *flow = NULL;
	int r = 0;

	if (share->limits.flow_max > 0 &&
		!has_room(held, request->size, share->limits.flow_max)) {
		r = -EUSERS;
		search_flow(share, &search, own);
	} else if (!has_room_for(share, request)) {
		r = -EBUSY;
		LIST_FOREACH (flow, &share->flows, link) {
			search_flow(share, &search, flow);
		}
	}
	*victim = search.victim;
	return r;
}

/* ---- seats ---- */

static void insert(struct seat *seat, enum seat_state state, uint64_t now_us)
{
	seat->state = state;
	seat->moved_us = now_us;
	seat->move = seat->share->moves++;
	TAILQ_INSERT_TAIL(&seat->flow->seats[state], seat, link);
}

static struct flow *flow_new(struct fair_share *share, uint64_t key)
{
	struct flow *flow = xcalloc(1, sizeof(*flow));

	flow->key = key;
	for (int i = 0; i < SEAT_STATES; i++) {
		TAILQ_INIT(&flow->seats[i]);
	}
	LIST_INSERT_HEAD(&share->flows, flow, link);
	LIST_INSERT_HEAD(bucket_of(share, key), flow, same);
	return flow;
}

struct seat *fair_share_add(struct fair_share *share,
	const struct seat_request *request)
{
	struct seat *seat = xcalloc(1, sizeof(*seat));

	seat->share = share;
	seat->flow = find(share, request->flow);
	if (seat->flow == NULL) {
		seat->flow = flow_new(share, request->flow);
	}
	seat->size = request->size;
	seat->is_reserved = request->is_reserved;
	seat->owner = request->owner;
	seat->flow->count++;
	seat->flow->held += seat->size;
	share->held[seat->is_reserved] += seat->size;
	insert(seat, request->state, request->now_us);
	return seat;
}

void seat_move(struct seat *seat, enum seat_state state, uint64_t now_us)
{
	if (seat != NULL) {
		TAILQ_REMOVE(&seat->flow->seats[seat->state], seat, link);
		insert(seat, state, now_us);
	}
}

void seat_remove(struct seat *seat)
{
	struct flow *flow;

	if (seat == NULL) {
		return;
	}
	flow = seat->flow;
	TAILQ_REMOVE(&flow->seats[seat->state], seat, link);
	flow->held -= seat->size;
	flow->count--;
	seat->share->held[seat->is_reserved] -= seat->size;
	if (flow->count == 0) {
		LIST_REMOVE(flow, link);
		LIST_REMOVE(flow, same);
		free(flow);
	}
	free(seat);
}

void *seat_owner(const struct seat *seat)
{
	return seat->owner;
}

bool seat_is_of_largest_flow(const struct seat *seat)
{
	const struct flow *flow = NULL;

	LIST_FOREACH (flow, &seat->share->flows, link) {
		if (flow->held > seat->flow->held) {
			return false;
		}
	}
	return true;
}
