/* Compares the pods in an agent's reports with where the pods are, because an
 * agent may report any pod uid.
 *
 * With an API server, the server states each pod's node. A report of another
 * node is stored and shown as it is, because names and histories follow the
 * statement (live/identity.h, store/pod_nodes.h). Without an API server, the
 * first node holds a pod (live/pod_claims.h). The filter then removes another
 * node's figures of the pod from the reports before they are shown or stored.
 *
 * A static pod counts on each node that reports it.
 *
 * Both kinds of wrong claims are counted and logged with both nodes. */
#pragma once

#include "lib/error.h"
#include "proto/wire.h"

struct identities;
struct live;
struct pod_filter;

/* Both outlive the filter. identities are those of the live table, which gets
 * the reports afterwards; NULL: there is no API server. */
struct pod_filter *pod_filter_new(const struct live *live,
	const struct identities *identities);
void pod_filter_free(struct pod_filter *filter); /* NULL is fine */

/* Before this process began, the node held the pods of this report, which is
 * of this age. */
void pod_filter_restore(struct pod_filter *filter, const char *node,
	const struct report *report, uint64_t age_us, uint64_t now_us);

/* Removes the pods that another node holds from the reports and their packed
 * form, which is valid until the next call. now_us is of the monotonic clock.
 * -EMSGSIZE: the reports do not fit into a message any more. */
must_check int pod_filter_apply(struct pod_filter *filter, struct batch *batch,
	uint64_t now_us, struct error *err);

/* Pods in reports of another node than the pod's. */
uint64_t pod_filter_wrong_claims(const struct pod_filter *filter);
