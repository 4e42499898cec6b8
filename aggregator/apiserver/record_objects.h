/* Decision and Move: records of schedulers as objects of the API. They
 * leave out what a namespace's tenant may not know (tenant_text.h). */
#pragma once

#include "aggregator/apiserver/api_model.h"
#include "proto/decision.h"
#include "proto/move.h"

enum {
	/* A pod's name, a dot and the time in hexadecimal digits. */
	DECISION_OBJECT_NAME_MAX = DECISION_NAME_MAX + 20,
};

struct candidate_object {
	struct decision_candidate candidate;
	struct api_model_numbers terms;
};

struct rejection_object {
	char *reason; /* owned */
	uint32_t nodes;
	struct api_model_texts names;
};

struct decision_object {
	const struct decision_record *record; /* borrowed */
	char name[DECISION_OBJECT_NAME_MAX];
	const char *pod_name, *pod_uid, *vm_name;
	uint64_t time_us;
	const char *policy, *chosen, *decided_by;
	uint32_t nodes, feasible;
	double siblings, siblings_correlation;
	double margin, decided_points, past_seconds, past_cores,
		cache_age_seconds;
	char *sentence; /* owned */
	struct candidate_object best[DECISION_BEST_MAX];
	struct rejection_object rejections[DECISION_REASONS_MAX];
	struct api_model_list best_list, rejection_list;
};

struct move_object {
	struct move_record record; /* without what is not the tenant's */
	const char *state, *reason;
	char *room_for, *sentence, *failure; /* owned */
};

extern const struct api_model decision_model, move_model;

/* The object borrows from the record; release it with _fini(). */
void decision_object_fill(struct decision_object *out,
	const struct decision_record *record);
void decision_object_fini(struct decision_object *object);

/* False: not the name of a Decision. *wall_us is its time. */
bool decision_object_parse_name(char pod[DECISION_NAME_MAX], uint64_t *wall_us,
	const char *name);

void move_object_fill(struct move_object *out,
	const struct move_record *record);
void move_object_fini(struct move_object *object);
