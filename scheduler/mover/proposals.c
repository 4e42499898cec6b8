#include "scheduler/mover/proposals.h"

#include "scheduler/mover/move_words.h"

#include <stdio.h>
#include <string.h>

static bool is_of(const struct proposal *proposal, const char *namespace,
	const char *vm)
{
	return strcmp(proposal->record.namespace, namespace) == 0 &&
		strcmp(proposal->record.vm, vm) == 0;
}

bool proposal_is_over(const struct proposal *proposal)
{
	return proposal->missed >= PROPOSALS_ROUNDS;
}

/* SIZE_MAX: the VM has none. */
static size_t index_of(const struct proposals *proposals, const char *namespace,
	const char *vm)
{
	for (size_t i = 0; i < proposals->count; i++) {
		const struct proposal *proposal = &proposals->list[i];

		if (is_of(proposal, namespace, vm) &&
			!proposal_is_over(proposal)) {
			return i;
		}
	}
	return SIZE_MAX;
}

const struct proposal *proposals_of(const struct proposals *proposals,
	const char *namespace, const char *vm)
{
	size_t index = index_of(proposals, namespace, vm);

	return index == SIZE_MAX ? NULL : &proposals->list[index];
}

void proposals_begin(struct proposals *proposals)
{
	for (size_t i = 0; i < proposals->count; i++) {
		proposals->list[i].is_found = false;
	}
}

static struct proposal *append(struct proposals *proposals)
{
	struct proposal *proposal;

	if (proposals->count == PROPOSALS_MAX) {
		return NULL;
	}
	proposal = &proposals->list[proposals->count++];
	*proposal = (struct proposal){ 0 };
	return proposal;
}

static bool goes_the_same_way(const struct proposal *proposal,
	const struct move_record *record)
{
	return strcmp(proposal->record.source, record->source) == 0 &&
		strcmp(proposal->record.target, record->target) == 0;
}

/* A trouble of the node has lasted already. */
static bool needs_rounds(enum move_reason reason)
{
	return reason == MOVE_FOR_CPU || reason == MOVE_FOR_PLACEMENT;
}

void proposals_found(struct proposals *proposals,
	const struct move_record *record, const char *pod_uid)
{
	size_t old = index_of(proposals, record->namespace, record->vm);
	struct proposal *proposal = NULL;
	unsigned rounds = 0;

	if (old != SIZE_MAX) {
		proposal = &proposals->list[old];
	}
	if (old != SIZE_MAX && !goes_the_same_way(proposal, record)) {
		rounds = proposal->rounds;
		proposal->missed = PROPOSALS_ROUNDS;
		old = SIZE_MAX;
	}
	if (old != SIZE_MAX) {
		move_words_update(&proposal->record, record);
	} else {
		proposal = append(proposals);
		if (proposal == NULL) {
			return;
		}
		proposal->record = *record;
		proposal->rounds = rounds;
	}
	(void)snprintf(proposal->pod_uid, sizeof(proposal->pod_uid), "%s",
		pod_uid);
	proposal->rounds++;
	if (!needs_rounds(record->reason)) {
		proposal->rounds = PROPOSALS_ROUNDS;
	}
	proposal->missed = 0;
	proposal->is_found = true;
}

static bool has_id(const struct proposals *proposals, const char *id)
{
	for (size_t i = 0; i < proposals->count; i++) {
		if (strcmp(proposals->list[i].record.id, id) == 0) {
			return true;
		}
	}
	return false;
}

bool proposals_restore(struct proposals *proposals,
	const struct move_record *record)
{
	struct proposal *proposal;

	if (has_id(proposals, record->id)) {
		return true;
	}
	if (index_of(proposals, record->namespace, record->vm) != SIZE_MAX) {
		return false;
	}
	proposal = append(proposals);
	if (proposal != NULL) {
		proposal->record = *record;
	}
	return proposal != NULL;
}

void proposals_end(struct proposals *proposals)
{
	for (size_t i = 0; i < proposals->count; i++) {
		struct proposal *proposal = &proposals->list[i];

		if (!proposal->is_found) {
			proposal->missed++;
			proposal->rounds = 0;
		}
	}
}

bool proposal_holds(const struct proposal *proposal)
{
	return proposal->is_found && proposal->rounds >= PROPOSALS_ROUNDS &&
		!proposal_is_over(proposal);
}

static void remove_at(struct proposals *proposals, size_t index)
{
	proposals->count--;
	memmove(&proposals->list[index], &proposals->list[index + 1],
		(proposals->count - index) * sizeof(proposals->list[0]));
}

bool proposals_remove_over(struct proposals *proposals, struct move_record *out)
{
	for (size_t i = 0; i < proposals->count; i++) {
		if (proposal_is_over(&proposals->list[i])) {
			*out = proposals->list[i].record;
			remove_at(proposals, i);
			return true;
		}
	}
	return false;
}

void proposals_remove(struct proposals *proposals, const char *namespace,
	const char *vm)
{
	size_t index = index_of(proposals, namespace, vm);

	if (index != SIZE_MAX) {
		remove_at(proposals, index);
	}
}
