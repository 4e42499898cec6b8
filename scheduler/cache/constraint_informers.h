/* Informers of the objects that pods' constraints refer to: namespaces and
 * storage objects. cache/informers.h has those of nodes and pods.
 *
 * If the API server does not serve a kind, or forbids reading it, the scheduler
 * logs that once and starts without it; the informer keeps trying. */
#pragma once

#include "scheduler/cluster/cluster.h"

#include <stdbool.h>
#include <stdint.h>

struct kube_client;
struct constraint_informers;

struct constraint_informers_handler {
	/* An object changed, which may let a pending pod fit. */
	void (*on_change)(void *owner);
	/* One more kind is synced. */
	void (*on_synced)(void *owner);
	void *owner; /* outlives the informers */
};

/* cluster outlives the informers. Never NULL. */
struct constraint_informers *constraint_informers_new(
	struct kube_client *client, struct cluster *cluster,
	const struct constraint_informers_handler *handler);

/* True if every kind is synced or skipped. */
bool constraint_informers_complete(
	const struct constraint_informers *informers);

/* Skips each kind that cannot be listed; true if there was one. To be called
 * regularly. The times count from the first call at which nodes and pods are
 * synced (is_answering): 10 s if the API server refuses the kind; for any other
 * error 100 s, which is longer than a list may take (60 s) after the pause
 * before its retry (30 s). */
#define CONSTRAINT_INFORMERS_REFUSED_US UINT64_C(10000000)
#define CONSTRAINT_INFORMERS_UNREACHABLE_US UINT64_C(100000000)
bool constraint_informers_poll(struct constraint_informers *informers,
	bool is_answering, uint64_t now_us);

/* The earliest time at which one of the kinds that are synced was heard of, as
 * reflector_state has it; UINT64_MAX: none is synced. */
uint64_t constraint_informers_contact_us(
	const struct constraint_informers *informers);

void constraint_informers_close(
	struct constraint_informers *informers); /* NULL is fine */
