#include "scheduler/filter/volume_plan.h"

#include "lib/memory.h"

#include <stdlib.h>
#include <string.h>

void volume_plan_add(struct volume_plan *plan, const struct claim *claim,
	const struct volume *volume)
{
	plan->list = xgrow(plan->list, plan->count, &plan->capacity,
		sizeof(*plan->list));
	plan->list[plan->count++] = (struct volume_choice){
		.namespace_name = xstrdup(claim->namespace_name),
		.claim = xstrdup(claim->name),
		.claim_uid = xstrdup(claim->uid),
		.volume = volume != NULL ? xstrdup(volume->name) : NULL,
	};
}

void volume_plan_clear(struct volume_plan *plan)
{
	for (size_t i = 0; i < plan->count; i++) {
		free(plan->list[i].namespace_name);
		free(plan->list[i].claim);
		free(plan->list[i].claim_uid);
		free(plan->list[i].volume);
	}
	plan->count = 0;
}

void volume_plan_fini(struct volume_plan *plan)
{
	volume_plan_clear(plan);
	free(plan->list);
	*plan = (struct volume_plan){ 0 };
}

static const struct claim *claim_of(const struct volume_choice *choice,
	const struct storage *storage)
{
	const struct claim *claim =
		storage_claim(storage, choice->namespace_name, choice->claim);

	return claim != NULL && strcmp(claim->uid, choice->claim_uid) == 0
		? claim
		: NULL;
}

static const struct volume *volume_of(const struct volume_choice *choice,
	const struct storage *storage)
{
	return choice->volume != NULL ? storage_volume(storage, choice->volume)
				      : NULL;
}

static void assume(const struct volume_choice *choice, struct storage *storage,
	const char *node)
{
	const struct claim *claim = claim_of(choice, storage);
	const struct volume *volume = volume_of(choice, storage);

	if (choice->volume == NULL && claim != NULL) {
		storage_assume_node(storage, claim, node);
	}
	if (volume != NULL) {
		storage_assume_uid(storage, volume, choice->claim_uid);
	}
}

void volume_plan_assume(const struct volume_plan *plan, struct storage *storage,
	const char *node)
{
	for (size_t i = 0; i < plan->count; i++) {
		assume(&plan->list[i], storage, node);
	}
}

static void forget(const struct volume_choice *choice, struct storage *storage)
{
	const struct claim *claim = claim_of(choice, storage);
	const struct volume *volume = volume_of(choice, storage);
	const char *assumed =
		volume != NULL ? storage_assumed_uid(storage, volume) : NULL;

	if (choice->volume == NULL && claim != NULL) {
		storage_assume_node(storage, claim, NULL);
	}
	if (assumed != NULL && strcmp(assumed, choice->claim_uid) == 0) {
		storage_assume_uid(storage, volume, NULL);
	}
}

void volume_plan_forget(const struct volume_plan *plan, struct storage *storage)
{
	for (size_t i = 0; i < plan->count; i++) {
		forget(&plan->list[i], storage);
	}
}
