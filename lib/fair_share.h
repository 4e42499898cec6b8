/* Shares what is limited among peers: slots (connections, requests that wait)
 * or bytes (of bodies, of responses). It says which seat has to give way when
 * there is no room, and the caller takes that seat away.
 *
 * The words are those of kube-apiserver's API Priority and Fairness. A seat is
 * what one connection or request holds. A flow is all seats of one peer, which
 * is what the caller says: an address, a user, a user in a namespace. Sizes and
 * limits have one unit of the caller: slots or bytes.
 *
 * Room: all seats together have the size max, and those of a flow flow_max. A
 * seat that is larger than a limit has room while nothing else counts there.
 * The reserve is a part of max for seats that the caller calls reserved: small
 * or privileged ones. They fill it first, and no other seat ever gets it.
 *
 * Without room for a newcomer, the first of these seats gives way:
 *  1. one of the flow that holds the most, if that flow then still holds at
 *     least as much as the newcomer's flow would, or if the seat alone is
 *     SEAT_LARGE times as large as that; a seat that is YIELDING gives way
 *     without that condition, also to its own flow;
 *  2. one of the newcomer's flow that is IDLE or NEW, or that is ACTIVE and has
 *     not moved for SEAT_STALLED_US;
 *  3. one of any flow that is IDLE, or ACTIVE and has not moved for as long.
 * Within a rule that is the seat that moved first; in rule 1 a NEW one goes
 * before the rest of its flow. A flow at its own limit displaces its own seats
 * only. Reserved seats give way to others only while they hold more than the
 * reserve. Thus one peer may use all there is while nobody else wants it, and
 * never more than its share when somebody does.
 *
 * Pure: time is an argument. Not thread-safe. If all seats have one size, a
 * check looks at five seats of each flow at most; else at each at most. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/queue.h>

#define SEAT_STALLED_US UINT64_C(2000000)

enum { SEAT_LARGE = 2 };

enum seat_state {
	SEAT_ACTIVE,   /* the peer sends or reads, or should */
	SEAT_IDLE,     /* costs the peer nothing to lose */
	SEAT_WAITING,  /* for this process: never stalls */
	SEAT_NEW,      /* as WAITING, but its own flow comes first */
	SEAT_YIELDING, /* to every newcomer */
	SEAT_FIXED,    /* cannot be taken away now */
	SEAT_STATES,   /* the number of states */
};

struct seat;

struct fair_share_limits {
	size_t max;
	size_t flow_max; /* 0: no limit of its own */
	size_t reserve;	 /* less than max */
};

enum { FAIR_SHARE_BUCKETS = 256 };

LIST_HEAD(flow_list, flow);

/* Zeroed but for the limits: nothing is held. All other members belong to this
 * module. It does not move in memory while a seat is held. */
struct fair_share {
	struct fair_share_limits limits;
	struct flow_list flows, buckets[FAIR_SHARE_BUCKETS];
	size_t held[2]; /* [true]: by reserved seats */
	uint64_t moves;
	size_t steps; /* flows and seats that checks looked at */
};

/* A newcomer. */
struct seat_request {
	uint64_t flow; /* a hash of what names the peer, see lib/hash.h */
	size_t size;
	bool is_reserved;
	enum seat_state state;
	void *owner;
	uint64_t now_us;
};

/* 0: there is room. -EUSERS: the flow is at its limit; -EBUSY: all together
 * are. Then *victim is the seat to remove before asking again; NULL: the
 * newcomer has to wait. */
int fair_share_check(struct fair_share *share,
	const struct seat_request *request, struct seat **victim);

/* Does not check the limits. The seat is the caller's until it is removed. */
struct seat *fair_share_add(struct fair_share *share,
	const struct seat_request *request);

/* A NULL seat is fine for both. */
void seat_move(struct seat *seat, enum seat_state state, uint64_t now_us);
void seat_remove(struct seat *seat);

void *seat_owner(const struct seat *seat);

/* No flow holds more than the seat's. */
bool seat_is_of_largest_flow(const struct seat *seat);
