#include "aggregator/apiserver/record_objects.h"

#include "aggregator/apiserver/tenant_text.h"
#include "lib/memory.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- the fields of a Decision ---- */

#define SHARE(field, help)                                                     \
	{                                                                      \
		API_NAMED(field, NUMBER, candidate_object, candidate.field),   \
			help                                                   \
	}

static const struct api_model_field candidate_fields[] = {
	{ API_NAMED(node, CHARS, candidate_object, candidate.node),
		"Name of the node" },
	{ API_NAMED(score, NUMBER, candidate_object, candidate.score),
		"Points, the most are the best" },
	{ API_NAMED(load_age_seconds, SECONDS, candidate_object,
		  candidate.load_age_us),
		"Age of the node's figures" },
	SHARE(trust, "Trust in the node's figures"),
	SHARE(cpu_used, "Share of the CPUs in use, as measured"),
	SHARE(cpu_expected, "The same as expected with this pod"),
	SHARE(cpu_by_pod, "The part of it that is this pod's"),
	SHARE(cpu_by_starting, "The part of VMs that are not measured yet"),
	SHARE(cpu_by_growth, "The part of VMs that will use more than now"),
	SHARE(cpu_announced, "The part of it that VMs announced"),
	SHARE(cpu_deviation, "Standard deviation of cpuExpected"),
	SHARE(cpu_by_requests, "Share of the CPUs by requests, with this pod"),
	SHARE(memory_by_requests, "Share of the memory by requests"),
	SHARE(memory_expected, "Share of the memory as expected"),
	SHARE(memory_pressure, "Share of time waiting for memory"),
	SHARE(io_pressure, "Share of time waiting for I/O"),
	SHARE(contention, "Share of time VMs waited for CPU"),
	SHARE(cpu_room, "From cpuExpected to all CPUs, in deviations"),
	SHARE(cpu_shortage,
		"Core-seconds of shortage expected in an hour, with this pod"),
	SHARE(cpu_shortage_added, "The part of it that this pod adds"),
	SHARE(siblings, "Siblings of the VM on the node"),
	{ API_FIELD(NUMBERS, candidate_object, terms),
		"Points by term of the score" },
};

static const struct api_model_field rejection_fields[] = {
	{ API_FIELD(TEXT, rejection_object, reason),
		"Why the nodes are not feasible" },
	{ API_FIELD(NATURAL, rejection_object, nodes), "How many nodes" },
	{ API_FIELD(TEXTS, rejection_object, names), "Some of these nodes" },
};

static const struct api_model candidate_model =
	API_MODEL(candidate_fields, candidate_object);
static const struct api_model rejection_model =
	API_MODEL(rejection_fields, rejection_object);

static const struct api_model_field decision_spec_fields[] = {
	{ API_FIELD(TEXT, decision_object, pod_name), "Name of the pod" },
	{ API_FIELD(TEXT, decision_object, pod_uid), "uid of the pod" },
	{ API_FIELD(TEXT, decision_object, vm_name), "Name of the pod's VM" },
};

static const struct api_model_field decision_status_fields[] = {
	{ API_NAMED(time, TIME, decision_object, time_us),
		"When the scheduler decided" },
	{ API_FIELD(TEXT, decision_object, chosen),
		"The chosen node; missing if none was feasible" },
	{ API_FIELD(TEXT, decision_object, sentence), "The decision in words" },
	{ API_FIELD(TEXT, decision_object, policy), "Policy of the scheduler" },
	{ API_FIELD(NATURAL, decision_object, nodes), "Nodes of the cluster" },
	{ API_FIELD(NATURAL, decision_object, feasible),
		"Nodes on which the pod could run" },
	{ API_FIELD(NUMBER, decision_object, margin),
		"Points ahead of the next best node" },
	{ API_FIELD(TEXT, decision_object, decided_by),
		"The term that counts most against the next best node" },
	{ API_FIELD(NUMBER, decision_object, decided_points),
		"The points of that term in the margin" },
	{ API_FIELD(NUMBER, decision_object, past_seconds),
		"Length of the VM's history that counted" },
	{ API_FIELD(NUMBER, decision_object, past_cores),
		"CPUs in use over that time, the mean" },
	{ API_FIELD(NUMBER, decision_object, siblings),
		"Siblings of the VM on all nodes" },
	{ API_FIELD(NUMBER, decision_object, siblings_correlation),
		"How far they move together, 0 to 1; 0: not known" },
	{ API_FIELD(NUMBER, decision_object, cache_age_seconds),
		"How old the scheduler's cache was, at most" },
	{ API_NESTED(best, LIST, decision_object, best_list, &candidate_model),
		"The best nodes in order" },
	{ API_NESTED(rejections, LIST, decision_object, rejection_list,
		  &rejection_model),
		"Nodes that are not feasible, by reason" },
};

static const struct api_model decision_spec_model =
	API_MODEL(decision_spec_fields, decision_object);
static const struct api_model decision_status_model =
	API_MODEL(decision_status_fields, decision_object);

static const struct api_model_field decision_fields[] = {
	{ API_PART(spec, &decision_spec_model),
		"The pod that was to be placed" },
	{ API_PART(status, &decision_status_model),
		"What the scheduler decided, and why" },
};

const struct api_model decision_model =
	API_MODEL(decision_fields, decision_object);

static void fill_best(struct decision_object *out,
	const struct decision_record *record)
{
	for (size_t i = 0; i < record->best_count; i++) {
		struct candidate_object *best = &out->best[i];

		best->candidate = record->best[i];
		best->terms = (struct api_model_numbers){ record->best[i].terms,
			record->best[i].term_count };
	}
	out->best_list =
		(struct api_model_list){ out->best, record->best_count };
}

static void fill_rejections(struct decision_object *out,
	const struct decision_record *record)
{
	for (size_t i = 0; i < record->rejection_count; i++) {
		const struct decision_rejection *from = &record->rejections[i];

		out->rejections[i] = (struct rejection_object){
			.reason = xstrdup(from->reason),
			.nodes = from->nodes,
			.names = { decision_names(record, from),
				from->name_count },
		};
	}
	out->rejection_list = (struct api_model_list){ out->rejections,
		record->rejection_count };
}

void decision_object_fill(struct decision_object *out,
	const struct decision_record *record)
{
	*out = (struct decision_object){
		.record = record,
		.pod_name = record->pod,
		.pod_uid = record->uid,
		.vm_name = record->vm,
		.time_us = record->wall_us,
		.policy = record->policy,
		.chosen = record->chosen,
		.decided_by = record->decided_by,
		.nodes = record->nodes,
		.feasible = record->feasible,
		.margin = record->margin,
		.decided_points = record->decided_points,
		.past_seconds = record->past_seconds,
		.past_cores = record->past_cores,
		.siblings = record->siblings,
		.siblings_correlation = record->siblings_correlation,
		.cache_age_seconds = record->cache_age_seconds,
		.sentence = tenant_decision_sentence(record),
	};
	(void)snprintf(out->name, sizeof(out->name), "%s.%" PRIx64, record->pod,
		record->wall_us);
	fill_best(out, record);
	fill_rejections(out, record);
}

void decision_object_fini(struct decision_object *object)
{
	free(object->sentence);
	for (size_t i = 0; i < object->rejection_list.count; i++) {
		free(object->rejections[i].reason);
	}
}

/* Small letters and at most 15 digits, as they are written. */
static bool parse_hex(uint64_t *out, const char *text)
{
	static const char digits[] = "0123456789abcdef";
	size_t len = strspn(text, digits);
	uint64_t value = 0;

	if (len == 0 || len > 15 || text[len] != '\0') {
		return false;
	}
	for (const char *at = text; *at != '\0'; at++) {
		value = value * 16 + (uint64_t)(strchr(digits, *at) - digits);
	}
	*out = value;
	return true;
}

bool decision_object_parse_name(char pod[DECISION_NAME_MAX], uint64_t *wall_us,
	const char *name)
{
	const char *dot = strrchr(name, '.');
	size_t len = dot == NULL ? 0 : (size_t)(dot - name);

	if (len == 0 || len >= DECISION_NAME_MAX ||
		!parse_hex(wall_us, dot + 1)) {
		return false;
	}
	memcpy(pod, name, len);
	pod[len] = '\0';
	return true;
}

/* ---- the fields of a Move ---- */

#define FIGURE(field, help)                                                    \
	{                                                                      \
		API_NAMED(field, NUMBER, move_object, record.field), help      \
	}

static const struct api_model_field move_spec_fields[] = {
	{ API_NAMED(vm_name, CHARS, move_object, record.vm), "Name of the VM" },
	{ API_NAMED(vmi_uid, CHARS, move_object, record.vmi_uid),
		"uid of its VirtualMachineInstance" },
	{ API_NAMED(source_node, CHARS, move_object, record.source),
		"The node that the VM should leave" },
	{ API_NAMED(target_node, CHARS, move_object, record.target),
		"The node that it should go to" },
	{ API_FIELD(TEXT, move_object, reason),
		"What is short at the source: cpu, memory, io, kvm; or room, "
		"or placement" },
	{ API_FIELD(TEXT, move_object, room_for),
		"The pod that needs the room" },
};

static const struct api_model_field move_status_fields[] = {
	{ API_FIELD(TEXT, move_object, state),
		"Recommended, Withdrawn, Ordered, Running, Succeeded or "
		"Failed" },
	{ API_NAMED(time, TIME, move_object, record.wall_us),
		"When the move was first recommended" },
	{ API_NAMED(ordered, TIME, move_object, record.ordered_us),
		"When it was ordered" },
	{ API_NAMED(ended, TIME, move_object, record.ended_us),
		"When it ended" },
	{ API_NAMED(migration, CHARS, move_object, record.migration),
		"Name of the VirtualMachineInstanceMigration" },
	{ API_FIELD(TEXT, move_object, failure), "Why it failed, in words" },
	{ API_FIELD(TEXT, move_object, sentence),
		"Why the VM should move, in words" },
	{ API_NAMED(is_automatic, BOOL, move_object, record.is_automatic),
		"The scheduler orders it by itself" },
	{ API_NAMED(is_other_scheduler, BOOL, move_object,
		  record.is_other_scheduler),
		"The VM is of another scheduler, so it is only recommended" },
	FIGURE(gain, "Core-steps of shortage that the move saves"),
	FIGURE(price, "The price that the gain must exceed"),
	FIGURE(source_shortage_before, "Shortage of the source without it"),
	FIGURE(source_shortage_after, "Shortage of the source with it"),
	FIGURE(target_shortage_before, "Shortage of the target without it"),
	FIGURE(target_shortage_after, "Shortage of the target with it"),
	FIGURE(source_load_before, "Expected share of the source's CPUs"),
	FIGURE(source_load_after, "The same after the move"),
	FIGURE(target_load_before, "Expected share of the target's CPUs"),
	FIGURE(target_load_after, "The same after the move"),
	FIGURE(measured_source_before, "Measured share before"),
	FIGURE(measured_target_before, "Measured share before"),
	FIGURE(measured_source_3m, "Measured 3 minutes after the move"),
	FIGURE(measured_target_3m, "Measured 3 minutes after the move"),
	FIGURE(measured_source_60m, "Measured an hour after the move"),
	FIGURE(measured_target_60m, "Measured an hour after the move"),
	{ API_NAMED(copy_seconds, NUMBER, move_object, record.copy_s),
		"How long the copy took" },
	FIGURE(memory_bytes, "Memory of the VM"),
};

static const struct api_model move_spec_model =
	API_MODEL(move_spec_fields, move_object);
static const struct api_model move_status_model =
	API_MODEL(move_status_fields, move_object);

static const struct api_model_field move_fields[] = {
	{ API_PART(spec, &move_spec_model),
		"Which VM should move, where to and why" },
	{ API_PART(status, &move_status_model), "What came of the move" },
};

const struct api_model move_model = API_MODEL(move_fields, move_object);

/* The states of /v1/moves begin with a small letter. */
static const char *move_state_word(enum move_state state)
{
	static const char *const words[MOVE_STATES] = {
		[MOVE_RECOMMENDED] = "Recommended",
		[MOVE_WITHDRAWN] = "Withdrawn",
		[MOVE_ORDERED] = "Ordered",
		[MOVE_RUNNING] = "Running",
		[MOVE_SUCCEEDED] = "Succeeded",
		[MOVE_FAILED] = "Failed",
	};

	return words[state];
}

void move_object_fill(struct move_object *out, const struct move_record *record)
{
	*out = (struct move_object){
		.record = *record,
		.state = move_state_word(record->state),
		.reason = move_reason_name(record->reason),
		.room_for = tenant_pod(record->room_for, record->namespace),
		.sentence = tenant_move_sentence(record),
		.failure = tenant_move_failure(record),
	};
}

void move_object_fini(struct move_object *object)
{
	free(object->room_for);
	free(object->sentence);
	free(object->failure);
}
