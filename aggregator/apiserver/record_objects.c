#include "aggregator/apiserver/record_objects.h"

#include "aggregator/apiserver/tenant_text.h"
#include "lib/memory.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define AT(type, member) offsetof(struct type, member)
#define API_MODEL(fields_, type)                                               \
	{                                                                      \
		fields_, count_of(fields_), sizeof(struct type)                \
	}

/* ---- the fields of a Decision ---- */

#define SHARE(field, help)                                                     \
	{                                                                      \
#field, API_MODEL_NUMBER,                                      \
			AT(candidate_object, candidate.field), NULL, help      \
	}

static const struct api_model_field candidate_fields[] = {
	{ "node", API_MODEL_CHARS, AT(candidate_object, candidate.node), NULL,
		"Name of the node" },
	{ "score", API_MODEL_NUMBER, AT(candidate_object, candidate.score),
		NULL, "Points, the most are the best" },
	{ "load_age_seconds", API_MODEL_SECONDS,
		AT(candidate_object, candidate.load_age_us), NULL,
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
	{ "terms", API_MODEL_NUMBERS, AT(candidate_object, terms), NULL,
		"Points by term of the score" },
};

static const struct api_model_field rejection_fields[] = {
	{ "reason", API_MODEL_TEXT, AT(rejection_object, reason), NULL,
		"Why the nodes are not feasible" },
	{ "nodes", API_MODEL_NATURAL, AT(rejection_object, nodes), NULL,
		"How many nodes" },
	{ "names", API_MODEL_TEXTS, AT(rejection_object, names), NULL,
		"Some of these nodes" },
};

static const struct api_model candidate_model =
	API_MODEL(candidate_fields, candidate_object);
static const struct api_model rejection_model =
	API_MODEL(rejection_fields, rejection_object);

static const struct api_model_field decision_spec_fields[] = {
	{ "pod_name", API_MODEL_TEXT, AT(decision_object, pod_name), NULL,
		"Name of the pod" },
	{ "pod_uid", API_MODEL_TEXT, AT(decision_object, pod_uid), NULL,
		"uid of the pod" },
	{ "vm_name", API_MODEL_TEXT, AT(decision_object, vm_name), NULL,
		"Name of the pod's VM" },
};

static const struct api_model_field decision_status_fields[] = {
	{ "time", API_MODEL_TIME, AT(decision_object, time_us), NULL,
		"When the scheduler decided" },
	{ "chosen", API_MODEL_TEXT, AT(decision_object, chosen), NULL,
		"The chosen node; missing if none was feasible" },
	{ "sentence", API_MODEL_TEXT, AT(decision_object, sentence), NULL,
		"The decision in words" },
	{ "policy", API_MODEL_TEXT, AT(decision_object, policy), NULL,
		"Policy of the scheduler" },
	{ "nodes", API_MODEL_NATURAL, AT(decision_object, nodes), NULL,
		"Nodes of the cluster" },
	{ "feasible", API_MODEL_NATURAL, AT(decision_object, feasible), NULL,
		"Nodes on which the pod could run" },
	{ "margin", API_MODEL_NUMBER, AT(decision_object, margin), NULL,
		"Points ahead of the next best node" },
	{ "decided_by", API_MODEL_TEXT, AT(decision_object, decided_by), NULL,
		"The term that counts most against the next best node" },
	{ "decided_points", API_MODEL_NUMBER,
		AT(decision_object, decided_points), NULL,
		"The points of that term in the margin" },
	{ "past_seconds", API_MODEL_NUMBER, AT(decision_object, past_seconds),
		NULL, "Length of the VM's history that counted" },
	{ "past_cores", API_MODEL_NUMBER, AT(decision_object, past_cores), NULL,
		"CPUs in use over that time, the mean" },
	{ "best", API_MODEL_LIST, AT(decision_object, best_list),
		&candidate_model, "The best nodes in order" },
	{ "rejections", API_MODEL_LIST, AT(decision_object, rejection_list),
		&rejection_model, "Nodes that are not feasible, by reason" },
};

static const struct api_model decision_spec_model =
	API_MODEL(decision_spec_fields, decision_object);
static const struct api_model decision_status_model =
	API_MODEL(decision_status_fields, decision_object);

static const struct api_model_field decision_fields[] = {
	{ "spec", API_MODEL_OBJECT, 0, &decision_spec_model,
		"The pod that was to be placed" },
	{ "status", API_MODEL_OBJECT, 0, &decision_status_model,
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
			.reason = tenant_text(from->reason, record->namespace),
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
		.sentence = tenant_text(record->sentence, record->namespace),
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
#field, API_MODEL_NUMBER, AT(move_object, record.field), NULL, \
			help                                                   \
	}

static const struct api_model_field move_spec_fields[] = {
	{ "vm_name", API_MODEL_CHARS, AT(move_object, record.vm), NULL,
		"Name of the VM" },
	{ "vmi_uid", API_MODEL_CHARS, AT(move_object, record.vmi_uid), NULL,
		"uid of its VirtualMachineInstance" },
	{ "source_node", API_MODEL_CHARS, AT(move_object, record.source), NULL,
		"The node that the VM should leave" },
	{ "target_node", API_MODEL_CHARS, AT(move_object, record.target), NULL,
		"The node that it should go to" },
	{ "reason", API_MODEL_TEXT, AT(move_object, reason), NULL,
		"What is short at the source: cpu, memory, io, kvm; or room" },
	{ "room_for", API_MODEL_TEXT, AT(move_object, room_for), NULL,
		"The pod that needs the room" },
};

static const struct api_model_field move_status_fields[] = {
	{ "state", API_MODEL_TEXT, AT(move_object, state), NULL,
		"Recommended, Withdrawn, Ordered, Running, Succeeded or "
		"Failed" },
	{ "time", API_MODEL_TIME, AT(move_object, record.wall_us), NULL,
		"When the move was first recommended" },
	{ "ordered", API_MODEL_TIME, AT(move_object, record.ordered_us), NULL,
		"When it was ordered" },
	{ "ended", API_MODEL_TIME, AT(move_object, record.ended_us), NULL,
		"When it ended" },
	{ "migration", API_MODEL_CHARS, AT(move_object, record.migration), NULL,
		"Name of the VirtualMachineInstanceMigration" },
	{ "failure", API_MODEL_TEXT, AT(move_object, failure), NULL,
		"Why it failed, in words" },
	{ "sentence", API_MODEL_TEXT, AT(move_object, sentence), NULL,
		"Why the VM should move, in words" },
	{ "is_automatic", API_MODEL_BOOL, AT(move_object, record.is_automatic),
		NULL, "The scheduler orders it by itself" },
	{ "is_other_scheduler", API_MODEL_BOOL,
		AT(move_object, record.is_other_scheduler), NULL,
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
	{ "copy_seconds", API_MODEL_NUMBER, AT(move_object, record.copy_s),
		NULL, "How long the copy took" },
	FIGURE(memory_bytes, "Memory of the VM"),
};

static const struct api_model move_spec_model =
	API_MODEL(move_spec_fields, move_object);
static const struct api_model move_status_model =
	API_MODEL(move_status_fields, move_object);

static const struct api_model_field move_fields[] = {
	{ "spec", API_MODEL_OBJECT, 0, &move_spec_model,
		"Which VM should move, where to and why" },
	{ "status", API_MODEL_OBJECT, 0, &move_status_model,
		"What came of the move" },
};

const struct api_model move_model = API_MODEL(move_fields, move_object);

const char *move_state_word(enum move_state state)
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
		.room_for = tenant_text(record->room_for, record->namespace),
		.sentence = tenant_text(record->sentence, record->namespace),
		.failure = tenant_text(record->failure, record->namespace),
	};
}

void move_object_fini(struct move_object *object)
{
	free(object->room_for);
	free(object->sentence);
	free(object->failure);
}
