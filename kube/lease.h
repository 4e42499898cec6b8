/* Leader election by a coordination.k8s.io/v1 Lease: what to write into it, how
 * to interpret it, and whether this process holds it. Pure; kube/elector.h does
 * the I/O.
 *
 * Rules and times are those of client-go's leader election with
 * kube-scheduler's defaults. A lease of another holder is valid for its
 * duration after this process last saw it change, by the clock of this process.
 * Its own lease is valid for LEASE_RENEW_US after it sent the request that
 * renewed it. So a leader stops 5 s before another may start, and clocks of
 * different machines are never compared. */
#pragma once

#include "lib/buffer.h"
#include "lib/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
	/* Defaults of kube-scheduler's flags: */
	LEASE_DURATION_S = 15, /* --leader-elect-lease-duration */
	LEASE_RETRY_MS = 2000, /* --leader-elect-retry-period */
};
#define LEASE_RENEW_US UINT64_C(10000000) /* --leader-elect-renew-deadline */

/* All texts are owned. */
struct lease {
	char *name, *namespace, *identity;
	char *holder;	/* "": no holder, or not read yet */
	char *version;	/* resourceVersion of the last read or write */
	char *acquired; /* acquireTime as read */
	uint64_t transitions;
	uint64_t valid_us; /* the lease's duration */
	uint64_t seen_us;  /* when it was last seen to change; 0: never */
	uint64_t held_until_us;
	bool must_read; /* the outcome of the last write is unknown */
};

enum lease_step {
	LEASE_READ,   /* GET */
	LEASE_CREATE, /* POST lease_body() */
	LEASE_UPDATE, /* PUT lease_body() */
	LEASE_WAIT,   /* another process is leader */
};

void lease_init(struct lease *lease, const char *namespace, const char *name,
	const char *identity);
void lease_fini(struct lease *lease);

/* Returns the first step of a turn that starts at now_us. */
enum lease_step lease_begin(const struct lease *lease, uint64_t now_us);

/* The GET returned 404: the lease must be created. */
void lease_not_found(struct lease *lease);

/* Interprets the body of a GET: *next is to update or to wait.
 * -EBADMSG: not a lease. */
must_check int lease_read(struct lease *lease, enum lease_step *next,
	const char *body, size_t len, uint64_t now_us, struct error *err);

/* Writes the body of the POST or PUT that acquires or renews the lease. */
void lease_body(const struct lease *lease, struct buffer *out, uint64_t now_us,
	uint64_t wall_us);

/* The POST or PUT sent at sent_us succeeded with this body. */
must_check int lease_written(struct lease *lease, const char *body, size_t len,
	uint64_t sent_us, struct error *err);

/* The write failed or its response was lost: the lease must be read before the
 * next write. A held lease stays held until its time is over. */
void lease_invalidate(struct lease *lease);

/* Ends the leadership and writes the body of the PUT that announces it, so that
 * another process need not wait. */
void lease_release(struct lease *lease, struct buffer *out, uint64_t wall_us);

bool lease_is_held(const struct lease *lease, uint64_t now_us);
