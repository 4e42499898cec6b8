#include "aggregator/store/computed_hours.h"

#include "lib/memory.h"

#include <stdlib.h>

struct entry {
	struct computed_hour hour;
	struct rollup *rollup; /* owned; NULL: nothing is kept */
	uint64_t since_us;
	bool is_used;
	bool is_refused; /* all pods are too many */
};

struct computed_hours {
	struct entry entries[COMPUTED_HOURS_MAX];
};

struct computed_hours *computed_hours_new(void)
{
	return xcalloc(1, sizeof(struct computed_hours));
}

static void clear(struct entry *entry)
{
	rollup_free(entry->rollup);
	*entry = (struct entry){ 0 };
}

void computed_hours_free(struct computed_hours *hours)
{
	if (hours != NULL) {
		for (size_t i = 0; i < COMPUTED_HOURS_MAX; i++) {
			clear(&hours->entries[i]);
		}
		free(hours);
	}
}

static bool is_old(const struct entry *entry, uint64_t now_us)
{
	uint64_t kept_us = entry->is_refused ? COMPUTED_HOURS_REFUSED_US
					     : COMPUTED_HOURS_KEPT_US;

	return now_us - entry->since_us > kept_us;
}

/* NULL: nothing is known of the hour. Clears what is too old. */
static struct entry *find(struct computed_hours *hours,
	const struct computed_hour *hour, uint64_t now_us)
{
	struct entry *found = NULL;

	for (size_t i = 0; i < COMPUTED_HOURS_MAX; i++) {
		struct entry *entry = &hours->entries[i];

		if (entry->is_used && is_old(entry, now_us)) {
			clear(entry);
		}
		if (entry->is_used && entry->hour.node == hour->node &&
			entry->hour.hour_ms == hour->hour_ms) {
			found = entry;
		}
	}
	return found;
}

/* A free entry, or the oldest one. */
static struct entry *place(struct computed_hours *hours)
{
	struct entry *oldest = &hours->entries[0];

	for (size_t i = 0; i < COMPUTED_HOURS_MAX; i++) {
		struct entry *entry = &hours->entries[i];

		if (!entry->is_used) {
			return entry;
		}
		if (entry->since_us < oldest->since_us) {
			oldest = entry;
		}
	}
	clear(oldest);
	return oldest;
}

const struct rollup *computed_hours_find(struct computed_hours *hours,
	const struct computed_hour *hour, uint64_t now_us)
{
	const struct entry *entry = find(hours, hour, now_us);

	return entry == NULL ? NULL : entry->rollup;
}

bool computed_hours_ask(struct computed_hours *hours,
	const struct computed_hour *hour, uint64_t now_us)
{
	const struct entry *entry = find(hours, hour, now_us);

	if (entry == NULL) {
		*place(hours) = (struct entry){
			.hour = *hour,
			.since_us = now_us,
			.is_used = true,
		};
	}
	return entry != NULL && !entry->is_refused;
}

void computed_hours_put(struct computed_hours *hours,
	const struct computed_hour *hour, struct rollup *rollup,
	uint64_t now_us)
{
	struct entry *entry = find(hours, hour, now_us);
	bool is_kept = rollup != NULL && rollup_left_out(rollup) == 0 &&
		rollup_bytes(rollup) <= COMPUTED_HOURS_BYTES_MAX;

	if (entry == NULL) {
		entry = place(hours);
	} else {
		rollup_free(entry->rollup);
	}
	if (!is_kept) {
		rollup_free(rollup);
	}
	*entry = (struct entry){
		.hour = *hour,
		.rollup = is_kept ? rollup : NULL,
		.since_us = now_us,
		.is_used = true,
		.is_refused = !is_kept,
	};
}
