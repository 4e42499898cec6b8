/* Who leads, by a coordination.k8s.io/v1 Lease: what to write into it, what to
 * make of what is read, and whether it is ours. Pure; kube/elector.h talks.
 *
 * The rules and the times are client-go's leader election with
 * kube-scheduler's defaults. A lease of another holder counts for as long as
 * it says after we last saw it change, by our own clock; our own counts for
 * LEASE_RENEW_US after we sent the request that renewed it. So this process
 * stops leading 5 s before another may begin, and clocks of two machines are
 * never compared. */
#pragma once

#include "lib/buffer.h"
#include "lib/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
	LEASE_DURATION_S = 15, /* --leader-elect-lease-duration upstream */
	LEASE_RETRY_MS = 2000, /* --leader-elect-retry-period */
};
#define LEASE_RENEW_US UINT64_C(10000000) /* --leader-elect-renew-deadline */

/* All texts are owned. */
struct lease {
	char *name, *namespace, *identity;
	char *holder;	/* whom the lease names; "": nobody, or not read yet */
	char *version;	/* resourceVersion that was read or written last */
	char *acquired; /* acquireTime as it stands there */
	uint64_t transitions;
	uint64_t valid_us; /* how long a holder may be silent */
	uint64_t seen_us;  /* when we last saw it change; 0: never read */
	uint64_t held_until_us;
	bool must_read; /* what was written last is not certain */
};

enum lease_step {
	LEASE_READ,   /* GET */
	LEASE_CREATE, /* POST lease_body() */
	LEASE_UPDATE, /* PUT lease_body() */
	LEASE_WAIT,   /* another one leads */
};

void lease_init(struct lease *lease, const char *namespace, const char *name,
	const char *identity);
void lease_fini(struct lease *lease);

/* What to do first at a turn that begins now. */
enum lease_step lease_begin(const struct lease *lease, uint64_t now_us);

/* A GET was answered with 404: it is to be created. */
void lease_missing(struct lease *lease);

/* What follows from the body that answered a GET: to update or to wait.
 * -EBADMSG: it is no lease. */
must_check int lease_read(struct lease *lease, enum lease_step *next,
	const char *body, size_t len, uint64_t now_us, struct error *err);

/* Body of the POST or PUT that makes the lease ours, or renews it. */
void lease_body(const struct lease *lease, struct buffer *out, uint64_t now_us,
	uint64_t wall_us);

/* The POST or PUT sent at sent_us was answered with 2xx and this body. */
must_check int lease_written(struct lease *lease, const char *body, size_t len,
	uint64_t sent_us, struct error *err);

/* It was refused or its answer was lost: read it again before writing. What is
 * held remains held until its time is over. */
void lease_lost_track(struct lease *lease);

/* Nothing is held from here on; body of the PUT that says so, so that another
 * need not wait. */
void lease_give_up(struct lease *lease, struct buffer *out, uint64_t wall_us);

bool lease_is_held(const struct lease *lease, uint64_t now_us);
