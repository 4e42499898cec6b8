#include "aggregator/live/node_log.h"

#include "lib/log.h"
#include "lib/map.h"
#include "lib/memory.h"

#include <stdlib.h>

/* The changes that a poll finds. */
enum change { FIRST_REPORT, LOST, REPORTS_AGAIN, CHANGES };

struct entry {
	uint64_t poll; /* the last one that found the node */
	bool is_lost;
};

struct node_log {
	struct map by_name; /* struct entry */
	uint64_t polls;
	size_t lines[CHANGES]; /* of this poll */
	bool has_begun;
};

struct node_log *node_log_new(void)
{
	return xcalloc(1, sizeof(struct node_log));
}

void node_log_free(struct node_log *nodes)
{
	size_t at = 0;
	void *entry;

	if (nodes != NULL) {
		while (map_next(&nodes->by_name, &at, NULL, &entry)) {
			free(entry);
		}
		map_fini(&nodes->by_name);
		free(nodes);
	}
}

static void log_change(struct node_log *nodes, enum change change,
	const char *name, uint64_t age_us)
{
	struct log_field node = log_str("node", name);

	if (!nodes->has_begun || nodes->lines[change]++ >= NODE_LOG_LINES) {
		return;
	}
	switch (change) {
	case FIRST_REPORT:
		log_info("first report of a node", node, LOG_END);
		break;
	case LOST:
		log_warning("node is lost", node,
			log_int("silent_s", (int64_t)(age_us / 1000000)),
			LOG_END);
		break;
	case REPORTS_AGAIN:
	case CHANGES:
		log_info("lost node reports again", node, LOG_END);
		break;
	}
}

static void log_rest(const struct node_log *nodes)
{
	static const char *const messages[CHANGES] = {
		[FIRST_REPORT] = "first reports of more nodes",
		[LOST] = "more nodes are lost",
		[REPORTS_AGAIN] = "more lost nodes report again",
	};

	for (int change = 0; change < CHANGES; change++) {
		struct log_field rest = log_int("nodes",
			(int64_t)nodes->lines[change] - NODE_LOG_LINES);

		if (nodes->lines[change] > NODE_LOG_LINES) {
			LOG_AT(change == LOST ? LOG_WARNING : LOG_INFO,
				messages[change], rest, LOG_END);
		}
	}
}

static void look_at(struct node_log *nodes, const struct live_node *node,
	uint64_t now_us)
{
	const char *name = live_node_name(node);
	uint64_t age_us = live_node_age_us(node, now_us);
	bool is_lost = live_node_state(node, now_us) == LOAD_LOST;
	struct entry *entry = map_get(&nodes->by_name, name);

	if (entry == NULL) {
		entry = xcalloc(1, sizeof(*entry));
		(void)map_put(&nodes->by_name, name, entry);
		log_change(nodes, FIRST_REPORT, name, age_us);
	} else if (is_lost != entry->is_lost) {
		log_change(nodes, is_lost ? LOST : REPORTS_AGAIN, name, age_us);
	}
	entry->is_lost = is_lost;
	entry->poll = nodes->polls;
}

/* Nodes that have left the live table. */
static void forget_rest(struct node_log *nodes)
{
	size_t at = 0;
	const char *name;
	void *value;

	while (map_next(&nodes->by_name, &at, &name, &value)) {
		struct entry *entry = value;

		if (entry->poll != nodes->polls) {
			(void)map_remove(&nodes->by_name, name);
			free(entry);
		}
	}
}

void node_log_poll(struct node_log *nodes, const struct live *live,
	uint64_t now_us)
{
	const struct live_node *node = live_after(live, 0);

	nodes->polls++;
	for (int change = 0; change < CHANGES; change++) {
		nodes->lines[change] = 0;
	}
	for (; node != NULL; node = live_next(node)) {
		look_at(nodes, node, now_us);
	}
	forget_rest(nodes);
	log_rest(nodes);
}

void node_log_begin(struct node_log *nodes, const struct live *live,
	uint64_t now_us)
{
	node_log_poll(nodes, live, now_us);
	nodes->has_begun = true;
}
