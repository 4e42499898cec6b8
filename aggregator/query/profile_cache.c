#include "aggregator/query/profile_cache.h"

#include "aggregator/store/store.h"
#include "aggregator/query/profile_builder.h"
#include "lib/clock.h"
#include "lib/map.h"
#include "lib/memory.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>

struct asker {
	struct asker *next;
	profiles_done done;
	void *owner;
};

enum state { WAITING, RUNNING, SETTLED };

struct entry {
	TAILQ_ENTRY(entry) link;
	struct profiles *profiles;
	struct profile_request request;
	char *key; /* namespace/name */
	enum state state;
	struct asker *askers;	    /* none once settled */
	struct vm_profile *profile; /* the reader's while it runs */
	uint64_t until_us;	    /* SETTLED: to be forgotten */
	struct vm_past past;
	struct error error; /* code 0: past is known */
};

TAILQ_HEAD(entries, entry);

struct profiles {
	struct store *store;
	struct map by_key;
	struct entries waiting, settled; /* oldest first */
	size_t running;
};

struct profiles *profiles_new(struct store *store)
{
	struct profiles *profiles = xcalloc(1, sizeof(*profiles));

	profiles->store = store;
	TAILQ_INIT(&profiles->waiting);
	TAILQ_INIT(&profiles->settled);
	return profiles;
}

/* It is in no list. */
static void entry_free(struct entry *entry)
{
	vm_profile_free(entry->profile);
	free(entry->key);
	free(entry);
}

static void forget(struct profiles *profiles, struct entry *entry)
{
	TAILQ_REMOVE(&profiles->settled, entry, link);
	(void)map_remove(&profiles->by_key, entry->key);
	entry_free(entry);
}

static void forget_old(struct profiles *profiles, uint64_t now_us)
{
	struct entry *oldest = TAILQ_FIRST(&profiles->settled);

	while (oldest != NULL &&
		(oldest->until_us <= now_us ||
			profiles->by_key.count >= PROFILES_MAX)) {
		forget(profiles, oldest);
		oldest = TAILQ_FIRST(&profiles->settled);
	}
}

/* answer is a copy: who asks may ask more, which may forget the entry. */
static void tell(const struct entry *answer, struct asker *asker)
{
	const struct error *err =
		answer->error.code == 0 ? NULL : &answer->error;

	while (asker != NULL) {
		struct asker *next = asker->next;

		asker->done(asker->owner, err == NULL ? &answer->past : NULL,
			err);
		free(asker);
		asker = next;
	}
}

static void run_waiting(struct profiles *profiles);

/* The entry is in no list. What went wrong in the store may go well the next
 * time. */
static void settle(struct entry *entry)
{
	struct profiles *profiles = entry->profiles;
	bool is_known = entry->error.code == 0;
	struct asker *askers = take_ptr(entry->askers);
	const struct entry answer = *entry;

	entry->state = SETTLED;
	entry->until_us = clock_monotonic_us() +
		(is_known ? PROFILES_KEPT_US : PROFILES_UNKNOWN_US);
	TAILQ_INSERT_TAIL(&profiles->settled, entry, link);
	if (!is_known && answer.error.code != -ENOENT) {
		forget(profiles, entry);
	}
	tell(&answer, askers);
}

/* On the reader's thread. */
static bool on_minute(void *owner, const struct store_rollup *rollup)
{
	struct entry *entry = owner;

	vm_profile_add(entry->profile, rollup->row);
	return true;
}

static void on_done(void *owner, const struct error *err)
{
	struct entry *entry = owner;
	struct profiles *profiles = entry->profiles;

	if (err != NULL) {
		entry->error = *err;
	} else {
		vm_profile_fill(&entry->past, entry->profile);
	}
	vm_profile_free(take_ptr(entry->profile));
	profiles->running--;
	settle(entry);
	run_waiting(profiles);
}

static void run(struct entry *entry)
{
	uint64_t now_ms = clock_wall_us() / 1000;
	struct store_read read = { .tier = STORE_1M,
		.to_ms = now_ms + 1,
		.rollup = on_minute,
		.done = on_done,
		.owner = entry };

	entry->state = RUNNING;
	entry->profile = vm_profile_new(now_ms);
	read.from_ms = vm_profile_from_ms(entry->profile);
	(void)snprintf(read.namespace, sizeof(read.namespace), "%s",
		entry->request.namespace);
	(void)snprintf(read.name, sizeof(read.name), "%s", entry->request.name);
	if (store_query(entry->profiles->store, &read, &entry->error) < 0) {
		vm_profile_free(take_ptr(entry->profile));
		settle(entry);
		return;
	}
	entry->profiles->running++;
}

static void run_waiting(struct profiles *profiles)
{
	struct entry *first = TAILQ_FIRST(&profiles->waiting);

	while (first != NULL && profiles->running < PROFILES_RUNNING) {
		TAILQ_REMOVE(&profiles->waiting, first, link);
		run(first);
		first = TAILQ_FIRST(&profiles->waiting);
	}
}

static struct entry *add(struct profiles *profiles,
	const struct profile_request *request, char *key)
{
	struct entry *entry = xcalloc(1, sizeof(*entry));

	entry->profiles = profiles;
	entry->request = *request;
	entry->key = key;
	(void)map_put(&profiles->by_key, key, entry);
	TAILQ_INSERT_TAIL(&profiles->waiting, entry, link);
	return entry;
}

/* The entry to wait at; NULL: there are too many. Takes key. */
static struct entry *find_or_add(struct profiles *profiles,
	const struct profile_request *request, char *key)
{
	struct entry *entry = map_get(&profiles->by_key, key);

	if (entry != NULL && entry->state == SETTLED &&
		entry->until_us <= clock_monotonic_us()) {
		forget(profiles, take_ptr(entry));
	}
	if (entry == NULL && profiles->by_key.count < PROFILES_MAX) {
		return add(profiles, request, key);
	}
	free(key);
	return entry;
}

static void add_asker(struct entry *entry, profiles_done done, void *owner)
{
	struct asker **end = &entry->askers;
	struct asker *asker = xcalloc(1, sizeof(*asker));

	while (*end != NULL) {
		end = &(*end)->next;
	}
	asker->done = done;
	asker->owner = owner;
	*end = asker;
}

void profiles_ask(struct profiles *profiles,
	const struct profile_request *request, profiles_done done, void *owner)
{
	struct entry *entry;
	struct error error;

	forget_old(profiles, clock_monotonic_us());
	entry = find_or_add(profiles, request,
		xasprintf("%s/%s", request->namespace, request->name));
	if (entry == NULL) {
		(void)error_set(&error, -EBUSY,
			"%d profiles are waiting already", PROFILES_MAX);
		done(owner, NULL, &error);
	} else if (entry->state == SETTLED && entry->error.code == 0) {
		done(owner, &entry->past, NULL);
	} else if (entry->state == SETTLED) {
		done(owner, NULL, &entry->error);
	} else {
		add_asker(entry, done, owner);
		run_waiting(profiles);
	}
}

void profiles_free(struct profiles *profiles)
{
	if (profiles == NULL) {
		return;
	}
	while (!TAILQ_EMPTY(&profiles->settled)) {
		forget(profiles, TAILQ_FIRST(&profiles->settled));
	}
	map_fini(&profiles->by_key);
	free(profiles);
}
