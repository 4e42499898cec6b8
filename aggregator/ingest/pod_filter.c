#include "aggregator/ingest/pod_filter.h"

#include "aggregator/live/identity.h"
#include "aggregator/live/live.h"
#include "aggregator/live/pod_claims.h"
#include "aggregator/store/store.h"
#include "lib/log.h"
#include "lib/memory.h"
#include "lib/mq/mq.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

static_assert(STORE_BATCH_BYTES_MAX >= 2 * MQ_RECV_MAX,
	"the store takes the reports of each message");

static const uint64_t log_every_us = 60000000;

struct pod_filter {
	const struct live *live;
	const struct identities *identities; /* or NULL */
	struct pod_claims *claims;
	struct buffer packed; /* the reports that the last call changed */
	uint64_t wrong_claims;
	struct log_topics log_limits;
};

struct pod_filter *pod_filter_new(const struct live *live,
	const struct identities *identities)
{
	struct pod_filter *filter = xcalloc(1, sizeof(*filter));

	filter->live = live;
	filter->identities = identities;
	filter->claims = pod_claims_new();
	return filter;
}

void pod_filter_free(struct pod_filter *filter)
{
	if (filter != NULL) {
		pod_claims_free(filter->claims);
		buffer_fini(&filter->packed);
		free(filter);
	}
}

void pod_filter_restore(struct pod_filter *filter, const char *node,
	const struct report *report, uint64_t age_us, uint64_t now_us)
{
	/* The machine may have booted since. */
	uint64_t at_us = now_us > age_us ? now_us - age_us : 0;

	if (filter->identities != NULL || age_us >= POD_CLAIMS_SILENT_US) {
		return;
	}
	for (size_t i = 0; i < report->vm_count; i++) {
		(void)pod_claims_claim(filter->claims, report->vms[i].pod_uid,
			node, at_us);
	}
}

/* kubelet makes the uid of a static pod, of 32 digits, from its manifest, and
 * the API server gives other uids. Nodes that fetch a manifest from one URL
 * have pods of one uid, which are no VMs. */
static bool is_static(const char *pod_uid)
{
	return strlen(pod_uid) == 32 &&
		strspn(pod_uid, "0123456789abcdef") == 32;
}

/* The reporting node, and where the search for its pods is. */
struct reporter {
	const char *node;
	const struct live_node *live; /* or NULL */
	size_t at;
	uint64_t now_us;
};

/* The node that has the pod. NULL: the reporting node, or nobody knows. */
static const char *other_node(const struct pod_filter *filter,
	const char *pod_uid, struct reporter *reporter)
{
	const char *other;

	if (is_static(pod_uid)) {
		return NULL;
	}
	if (filter->identities == NULL) {
		return pod_claims_claim(filter->claims, pod_uid, reporter->node,
			reporter->now_us);
	}
	other = live_node_of_pod(filter->live, reporter->live, pod_uid,
		&reporter->at);
	return other == NULL || strcmp(other, reporter->node) == 0 ? NULL
								   : other;
}

static void note_wrong_claim(struct pod_filter *filter, const char *pod_uid,
	const char *node, const char *other, uint64_t now_us)
{
	scoped_free char *topic = xasprintf("%s/%s", node, other);
	uint64_t suppressed = 0;

	filter->wrong_claims++;
	if (log_allow_topic(&filter->log_limits, now_us, log_every_us, topic,
		    &suppressed)) {
		log_warning("a node reports a pod of another node",
			log_str("node", node), log_str("pod_uid", pod_uid),
			log_str("pod_node", other),
			log_int("suppressed", (int64_t)suppressed), LOG_END);
	}
}

/* True: the report has changed. */
static bool filter_report(struct pod_filter *filter, struct report *report,
	const char *node, uint64_t now_us)
{
	struct reporter reporter = { .node = node,
		.live = live_find(filter->live, node),
		.now_us = now_us };
	size_t kept = 0, count = report->vm_count;

	for (size_t i = 0; i < count; i++) {
		const struct vm_pod *vm = &report->vms[i];
		const char *other = other_node(filter, vm->pod_uid, &reporter);

		if (other != NULL) {
			note_wrong_claim(filter, vm->pod_uid, node, other,
				now_us);
		}
		if (other == NULL || filter->identities != NULL) {
			report->vms[kept++] = *vm;
		}
	}
	report->vm_count = kept;
	return kept < count;
}

int pod_filter_apply(struct pod_filter *filter, struct batch *batch,
	uint64_t now_us, struct error *err)
{
	scoped_free bool *is_changed =
		xcalloc(batch->count, sizeof(*is_changed));
	size_t at = 0;

	buffer_fini(&filter->packed);
	filter->packed = BUFFER_MAX(STORE_BATCH_BYTES_MAX);
	for (size_t i = 0; i < batch->count; i++) {
		size_t begin = filter->packed.len;

		is_changed[i] = filter_report(filter, &batch->reports[i],
			batch->node, now_us);
		if (is_changed[i]) {
			wire_pack_report(&filter->packed, &batch->reports[i]);
			batch->packed[i].len = filter->packed.len - begin;
		}
	}
	if (filter->packed.overflowed) {
		return error_set(err, -EMSGSIZE,
			"the batch is too large without the pods of other "
			"nodes");
	}
	for (size_t i = 0; i < batch->count; i++) {
		if (is_changed[i]) {
			batch->packed[i].bytes =
				(const uint8_t *)filter->packed.data + at;
			at += batch->packed[i].len;
		}
	}
	return 0;
}

uint64_t pod_filter_wrong_claims(const struct pod_filter *filter)
{
	return filter->wrong_claims;
}
