#include "scheduler/make_room/given_up.h"

#include "lib/memory.h"

#include <stdlib.h>
#include <string.h>

void given_up_fini(struct given_up *given_up)
{
	free(given_up->list);
	*given_up = (struct given_up){ 0 };
}

static void remove_at(struct given_up *given_up, size_t index)
{
	given_up->count--;
	memmove(&given_up->list[index], &given_up->list[index + 1],
		(given_up->count - index) * sizeof(given_up->list[0]));
}

void given_up_remove(struct given_up *given_up, const char *uid)
{
	for (size_t i = 0; i < given_up->count; i++) {
		if (strcmp(given_up->list[i].uid, uid) == 0) {
			remove_at(given_up, i);
			return;
		}
	}
}

void given_up_add(struct given_up *given_up, const struct given_up_pod *pod)
{
	size_t i;

	given_up_remove(given_up, pod->uid);
	if (given_up->count == MAKE_ROOM_REMEMBERED_MAX) {
		remove_at(given_up, 0);
	}
	if (given_up->count == given_up->capacity) {
		given_up->capacity = given_up->capacity * 2 + 8;
		given_up->list = xrealloc(given_up->list, given_up->capacity,
			sizeof(given_up->list[0]));
	}
	for (i = given_up->count;
		i > 0 && given_up->list[i - 1].until_us > pod->until_us; i--) {
		given_up->list[i] = given_up->list[i - 1];
	}
	given_up->list[i] = *pod;
	given_up->count++;
}

const struct given_up_pod *given_up_find(struct given_up *given_up,
	const char *uid, int64_t now_us)
{
	while (given_up->count > 0 && given_up->list[0].until_us <= now_us) {
		remove_at(given_up, 0);
	}
	for (size_t i = 0; i < given_up->count; i++) {
		if (strcmp(given_up->list[i].uid, uid) == 0) {
			return &given_up->list[i];
		}
	}
	return NULL;
}
