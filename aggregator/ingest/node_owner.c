#include "aggregator/ingest/node_owner.h"

#include "aggregator/live/live.h"
#include "lib/log.h"
#include "lib/map.h"
#include "lib/memory.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Agents of the usual interval of 2 s, before their first report. */
static const uint64_t usual_silence_us = 4000000;
static const uint64_t log_interval_us = 60000000;
/* How often a full table is searched for agents that ended. */
static const uint64_t sweep_us = 1000000;

struct owner {
	uint8_t run_id[REPORT_RUN_ID_BYTES];
	char *pod, *pod_uid; /* owned; "": unknown */
	uint64_t last_us;
	uint64_t silence_us; /* after this another agent takes over */
	uint64_t rival_us;   /* when another agent asked last; 0: never */
	uint64_t logged_us;  /* the last wait; 0: never */
	bool is_dismissed;
};

struct node_owners {
	struct map by_node; /* struct owner */
	uint64_t swept_us;
	struct log_limit log; /* of all nodes */
};

static void owner_free(struct owner *owner)
{
	free(owner->pod);
	free(owner->pod_uid);
	free(owner);
}

struct node_owners *node_owners_new(void)
{
	return xcalloc(1, sizeof(struct node_owners));
}

void node_owners_free(struct node_owners *owners)
{
	void *owner;
	size_t at = 0;

	if (owners == NULL) {
		return;
	}
	while (map_next(&owners->by_node, &at, NULL, &owner)) {
		owner_free(owner);
	}
	map_fini(&owners->by_node);
	free(owners);
}

static bool is_silent(const struct owner *owner, uint64_t now_us)
{
	return owner->is_dismissed ||
		now_us > owner->last_us + owner->silence_us;
}

static bool is_same(const struct owner *owner, const struct node_claim *claim)
{
	return memcmp(owner->run_id, claim->run_id, REPORT_RUN_ID_BYTES) == 0 ||
		(claim->pod_uid[0] != '\0' &&
			strcmp(owner->pod_uid, claim->pod_uid) == 0);
}

static void sweep(struct node_owners *owners, uint64_t now_us)
{
	const char *node;
	void *value;
	size_t at = 0;

	owners->swept_us = now_us;
	while (map_next(&owners->by_node, &at, &node, &value)) {
		if (is_silent(value, now_us)) {
			(void)map_remove(&owners->by_node, node);
			owner_free(value);
		}
	}
}

/* NULL: the table is full of agents that report, as the live table is. */
static struct owner *add_owner(struct node_owners *owners, const char *node,
	uint64_t now_us)
{
	struct owner *owner;

	if (owners->by_node.count >= LIVE_NODES_MAX &&
		now_us - owners->swept_us >= sweep_us) {
		sweep(owners, now_us);
	}
	if (owners->by_node.count >= LIVE_NODES_MAX) {
		return NULL;
	}
	owner = xcalloc(1, sizeof(*owner));
	owner->pod = xstrdup("");
	owner->pod_uid = xstrdup("");
	owner->silence_us = usual_silence_us;
	(void)map_put(&owners->by_node, node, owner);
	return owner;
}

static void set_owner(struct owner *owner, const struct node_claim *claim,
	uint64_t now_us)
{
	bool is_new =
		memcmp(owner->run_id, claim->run_id, REPORT_RUN_ID_BYTES) != 0;

	if (is_new) {
		memcpy(owner->run_id, claim->run_id, REPORT_RUN_ID_BYTES);
		owner->silence_us = usual_silence_us;
	}
	/* A session that was extended has no pod, but the process is known. */
	if (is_new || claim->pod_uid[0] != '\0') {
		xreplace(&owner->pod, claim->pod);
		xreplace(&owner->pod_uid, claim->pod_uid);
	}
	owner->last_us = now_us;
	owner->is_dismissed = false;
}

bool node_owners_claim(struct node_owners *owners,
	const struct node_claim *claim, uint64_t now_us)
{
	struct owner *owner = map_get(&owners->by_node, claim->node);

	if (owner != NULL && !is_same(owner, claim) &&
		!is_silent(owner, now_us)) {
		owner->rival_us = now_us;
		return false;
	}
	if (owner == NULL) {
		owner = add_owner(owners, claim->node, now_us);
	}
	if (owner != NULL) {
		set_owner(owner, claim, now_us);
	}
	return true;
}

static uint64_t silence_of(uint32_t interval_ms)
{
	uint64_t us = 2000 * (uint64_t)interval_ms;

	us = us < NODE_OWNER_SILENT_MIN_US ? NODE_OWNER_SILENT_MIN_US : us;
	return us > NODE_OWNER_SILENT_MAX_US ? NODE_OWNER_SILENT_MAX_US : us;
}

bool node_owners_report(struct node_owners *owners,
	const struct node_claim *claim, uint32_t interval_ms, uint64_t now_us)
{
	struct owner *owner = map_get(&owners->by_node, claim->node);

	if (owner == NULL) {
		return node_owners_claim(owners, claim, now_us);
	}
	if (memcmp(owner->run_id, claim->run_id, REPORT_RUN_ID_BYTES) != 0) {
		return false;
	}
	owner->last_us = now_us;
	if (interval_ms > 0) {
		owner->silence_us = silence_of(interval_ms);
	}
	return true;
}

size_t node_owners_connected(const struct node_owners *owners, uint64_t now_us)
{
	void *owner;
	size_t at = 0, count = 0;

	while (map_next(&owners->by_node, &at, NULL, &owner)) {
		count += !is_silent(owner, now_us);
	}
	return count;
}

bool node_owners_pod(const struct node_owners *owners, const char *node,
	char *pod, char *uid)
{
	const struct owner *owner = map_get(&owners->by_node, node);

	if (owner == NULL || owner->pod[0] == '\0') {
		return false;
	}
	(void)snprintf(pod, NODE_OWNER_POD_MAX, "%s", owner->pod);
	(void)snprintf(uid, NODE_OWNER_UID_MAX, "%s", owner->pod_uid);
	return true;
}

void node_owners_dismiss(struct node_owners *owners, const char *node,
	const char *pod_uid)
{
	struct owner *owner = map_get(&owners->by_node, node);

	if (owner != NULL && strcmp(owner->pod_uid, pod_uid) == 0) {
		owner->is_dismissed = true;
	}
}

bool node_owners_may_log(struct node_owners *owners, const char *node,
	uint64_t now_us)
{
	struct owner *owner = map_get(&owners->by_node, node);

	if (owner == NULL ||
		(owner->logged_us != 0 &&
			now_us - owner->logged_us < log_interval_us) ||
		!log_allow(&owners->log, now_us, LOG_TOPIC_GAP_US, NULL)) {
		return false;
	}
	owner->logged_us = now_us;
	return true;
}

static bool has_rival(const struct owner *owner, uint64_t now_us)
{
	return owner->rival_us != 0 &&
		now_us - owner->rival_us < NODE_OWNER_RIVAL_US;
}

size_t node_owners_rivals(const struct node_owners *owners,
	const char *names[NODE_OWNER_NAMES_MAX], uint64_t now_us)
{
	const char *node;
	void *value;
	size_t at = 0, count = 0;

	while (map_next(&owners->by_node, &at, &node, &value)) {
		if (!has_rival(value, now_us)) {
			continue;
		}
		if (count < NODE_OWNER_NAMES_MAX) {
			names[count] = node;
		}
		count++;
	}
	return count;
}
