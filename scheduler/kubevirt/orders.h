/* Requests to create and delete our migrations.
 *
 * The name of a migration is made of the move's id, so a second request for the
 * same move creates nothing: the API server answers that the migration exists.
 * If a request has no clear answer, the watch of migrations decides: the
 * migration appears or goes, or the order has failed after
 * ORDERS_UNKNOWN_US. */
#pragma once

#include "lib/buffer.h"
#include "scheduler/kubevirt/migration.h"

#include <stdbool.h>
#include <stdint.h>

struct kube_client;
struct orders;

struct kubevirt_order {
	const char *move_id;
	const char *namespace, *vmi_name;
	const char *hostname; /* the target's label kubernetes.io/hostname */
	unsigned unschedulable_s, pending_s; /* KUBEVIRT_..._S */
};

/* The timeouts of an order: a target pod that does not fit must not hold a
 * slot of KubeVirt for 5 and 15 minutes. */
#define KUBEVIRT_UNSCHEDULABLE_S 60u
#define KUBEVIRT_PENDING_S 120u

/* Longer than kube-apiserver works on a request (60 s). */
#define ORDERS_UNKNOWN_US UINT64_C(90000000)

/* Further orders fail. The mover has five at most. */
enum { ORDERS_MAX = 64 };

/* error "": it worked; name is the migration's. Not called inside the functions
 * below but orders_seen(), orders_gone() and orders_poll(). */
typedef void (*orders_done)(void *owner, const char *move_id, const char *name,
	const char *error);

/* client and owner outlive it. Never NULL. */
struct orders *orders_new(struct kube_client *client, orders_done done,
	void *owner);
void orders_close(struct orders *orders); /* NULL is fine */

void orders_create(struct orders *orders, const struct kubevirt_order *wanted);

/* migration: ours, or NULL if the watch has not delivered it. It is then
 * deleted once the watch does, provided that its order is still open. */
void orders_delete(struct orders *orders, const char *move_id,
	const struct migration *migration);

/* The watch delivered one of our migrations, or its end. */
void orders_seen(struct orders *orders, const struct migration *migration);
void orders_gone(struct orders *orders, const struct migration *migration);

/* To be called every few seconds. is_watching: no event of migrations is being
 * missed. */
void orders_poll(struct orders *orders, bool is_watching, uint64_t now_us);

/* Body of POST .../virtualmachineinstancemigrations. */
void orders_manifest(struct buffer *out, const struct kubevirt_order *order);
