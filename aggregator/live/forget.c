#include "aggregator/live/forget.h"

#include "aggregator/live/live.h"
#include "lib/log.h"
#include "lib/map.h"
#include "lib/memory.h"

#include <stdlib.h>

struct forget {
	uint64_t limit_us;
	struct map objects; /* name -> the struct forget */
	struct map deleted; /* the same; emptied of names not in the table */
	bool is_listed;
};

struct forget *forget_new(uint64_t limit_us)
{
	struct forget *forget = xcalloc(1, sizeof(*forget));

	forget->limit_us = limit_us;
	return forget;
}

void forget_free(struct forget *forget)
{
	if (forget != NULL) {
		map_fini(&forget->objects);
		map_fini(&forget->deleted);
		free(forget);
	}
}

void forget_object_exists(struct forget *forget, const char *name)
{
	(void)map_put(&forget->objects, name, forget);
	(void)map_remove(&forget->deleted, name);
}

void forget_object_deleted(struct forget *forget, const char *name)
{
	if (map_remove(&forget->objects, name) != NULL) {
		(void)map_put(&forget->deleted, name, forget);
	}
}

void forget_objects_listed(struct forget *forget)
{
	forget->is_listed = true;
}

bool forget_is_over(const struct forget *forget, uint64_t age_us)
{
	return age_us > forget->limit_us;
}

static bool is_due(const struct forget *forget, const struct live_node *node,
	uint64_t now_us)
{
	const char *name = live_node_name(node);
	uint64_t age_us = live_node_age_us(node, now_us);
	enum load_state state = live_node_state(node, now_us);

	if (forget_is_over(forget, age_us)) {
		return true;
	}
	if (!forget->is_listed || map_get(&forget->objects, name) != NULL) {
		return false;
	}
	return state == LOAD_LOST ||
		(state != LOAD_FRESH &&
			map_get(&forget->deleted, name) != NULL);
}

static void drop_names_not_in(struct map *names, const struct live *live)
{
	const char *name;
	void *value;
	size_t at = 0;

	while (map_next(names, &at, &name, &value)) {
		if (live_find(live, name) == NULL) {
			(void)map_remove(names, name);
		}
	}
}

size_t forget_run(struct forget *forget, struct live *live, uint64_t now_us,
	char **first)
{
	const struct live_node *node = live_after(live, 0);
	size_t count = 0;

	*first = NULL;
	while (node != NULL) {
		const char *name = live_node_name(node);
		const bool due = is_due(forget, node, now_us);

		node = live_next(node);
		if (due) {
			*first = *first == NULL ? xstrdup(name) : *first;
			(void)live_remove(live, name);
			count++;
		}
	}
	drop_names_not_in(&forget->deleted, live);
	return count;
}

void forget_poll(struct forget *forget, struct live *live, uint64_t now_us)
{
	scoped_free char *first = NULL;
	size_t count = forget_run(forget, live, now_us, &first);

	if (count > 0) {
		log_info("nodes forgotten: lost, or without a Node object",
			log_int("nodes", (int64_t)count),
			log_str("first", first), LOG_END);
	}
}
