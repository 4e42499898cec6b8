#include "scheduler/mover/pauses.h"

#include "lib/log.h"
#include "scheduler/mover/warnings.h"
#include "scheduler/rebalance/move_pauses.h"

static void tick_all(struct pauses *pauses, const struct move_pauses *found,
	const struct recorder *recorder, struct moment now)
{
	bool is_paused = found->all.until_us > now.wall_us;

	if (is_paused && !pauses->has_all) {
		warnings_pause(recorder, NULL, found->all.failures, now.now_us);
	} else if (!is_paused && pauses->has_all) {
		log_info("moves are no longer paused", LOG_END);
	}
	pauses->has_all = is_paused;
}

static void end_old(struct pauses *pauses, const struct move_pauses *found,
	struct moment now)
{
	const char *namespace;
	size_t at = 0;
	void *value;

	while (map_next(&pauses->namespaces, &at, &namespace, &value)) {
		if (move_pauses_of(found, namespace).until_us > now.wall_us) {
			continue;
		}
		log_info("moves of a namespace are no longer paused",
			log_str("namespace", namespace), LOG_END);
		(void)map_remove(&pauses->namespaces, namespace);
	}
}

void pauses_tick(struct pauses *pauses, const struct recorder *recorder,
	struct moment now)
{
	struct move_pauses found;
	struct move_pause pause;
	const char *namespace;
	size_t at = 0;

	move_pauses_init(&found, &recorder->records);
	tick_all(pauses, &found, recorder, now);
	end_old(pauses, &found, now);
	while ((namespace = move_pauses_next(&found, &at, now.wall_us,
			&pause)) != NULL) {
		if (map_get(&pauses->namespaces, namespace) == NULL) {
			(void)map_put(&pauses->namespaces, namespace, pauses);
			warnings_pause(recorder, namespace, pause.failures,
				now.now_us);
		}
	}
	move_pauses_fini(&found);
}

size_t pauses_count(const struct pauses *pauses)
{
	return pauses->namespaces.count;
}

void pauses_fini(struct pauses *pauses)
{
	map_fini(&pauses->namespaces);
}
