#include "aggregator/apiserver/question_model.h"

#include "lib/memory.h"

/* The rows of API_FIELD() and the like, without a struct. */
#define FIELD(called, type_of) NESTED(called, type_of, NULL)
#define NESTED(called, type_of, model)                                         \
	.name = #called, .kind = API_MODEL_##type_of, .offset = 0, .of = (model)
#define MODEL(fields)                                                          \
	{                                                                      \
		fields, count_of(fields), 0                                    \
	}

static const struct api_model_field where_spec_fields[] = {
	{ FIELD(vm_name, TEXT), "A VM that runs, or waits, in the namespace" },
	{ FIELD(pod_name, TEXT), "A pod of the namespace" },
	{ FIELD(object, ANY),
		"The manifest of a VirtualMachine, VirtualMachineInstance or "
		"Pod that need not exist" },
};

static const struct api_model where_spec_model = MODEL(where_spec_fields);

static const struct api_model_field where_node_fields[] = {
	{ FIELD(name, TEXT), "Name of the node" },
	{ FIELD(feasible, BOOL), "It may go there" },
	{ FIELD(score, NUMBER), "0 to 100 points; the best node has the most" },
	{ FIELD(terms, NUMBERS), "The parts of the score" },
	{ FIELD(reasons, TEXTS), "Why it may not go there" },
	{ FIELD(load_age_seconds, NUMBER), "Age of the node's figures" },
	{ FIELD(cpu_expected, NUMBER), "Share of the CPUs in use with it" },
	{ FIELD(cpu_room, NUMBER),
		"Standard deviations between that and the whole" },
	{ FIELD(memory_expected, NUMBER),
		"Share of the memory in use with it" },
};

static const struct api_model where_node_model = MODEL(where_node_fields);

static const struct api_model_field where_status_fields[] = {
	{ FIELD(chosen, TEXT), "The node that it would go to; null: none" },
	{ FIELD(current_node, TEXT), "The node where it is" },
	{ FIELD(sentence, TEXT), "The answer in words" },
	{ FIELD(scheduler, TEXT), "Identity of the scheduler that answered" },
	{ FIELD(time, TIME), "When it answered" },
	{ FIELD(policy, TEXT), "The policy that the answer follows" },
	{ FIELD(feasible_nodes, NATURAL), "Nodes that it may go to" },
	{ FIELD(total_nodes, NATURAL), "All nodes" },
	{ FIELD(nodes_left_out, NATURAL), "Nodes that are not in the list" },
	{ FIELD(derived, ANY),
		"The launcher pod that was derived from the manifest" },
	{ NESTED(nodes, LIST, &where_node_model),
		"The best node first, then those that are not feasible" },
};

static const struct api_model where_status_model = MODEL(where_status_fields);

static const struct api_model_field placement_fields[] = {
	{ NESTED(spec, OBJECT, &where_spec_model),
		"The question; it has exactly one of these fields" },
	{ NESTED(status, OBJECT, &where_status_model), "The answer" },
};

const struct api_model placement_model = MODEL(placement_fields);

static const struct api_model_field plan_spec_fields[] = {
	{ FIELD(goal, TEXT), "Evacuate, NodesGone, Move or MakeRoom" },
	{ FIELD(node_names, TEXTS),
		"Evacuate: the node; NodesGone: all that are gone" },
	{ FIELD(vm_name, TEXT), "Move: the VM" },
	{ FIELD(pod_name, TEXT), "MakeRoom: the pod that waits" },
};

static const struct api_model plan_spec_model = MODEL(plan_spec_fields);

static const struct api_model_field plan_step_fields[] = {
	{ FIELD(wave, NATURAL), "Steps of one wave may run at once" },
	{ FIELD(action, TEXT), "What is done with the VM" },
	{ FIELD(namespace, TEXT), "Namespace of the VM" },
	{ FIELD(vm_name, TEXT), "Name of the VM" },
	{ FIELD(source_node, TEXT), "The node that it leaves" },
	{ FIELD(target_node, TEXT), "The node that it goes to" },
};

static const struct api_model plan_step_model = MODEL(plan_step_fields);

static const struct api_model_field plan_vm_fields[] = {
	{ FIELD(namespace, TEXT), "Namespace of the VM" },
	{ FIELD(vm_name, TEXT), "Name of the VM" },
	{ FIELD(node_name, TEXT), "The node where it is" },
	{ FIELD(reason, TEXT), "Why, in words" },
};

static const struct api_model plan_vm_model = MODEL(plan_vm_fields);

static const struct api_model_field plan_node_fields[] = {
	{ FIELD(name, TEXT), "Name of the node" },
	{ FIELD(is_target, BOOL), "A step goes there" },
	{ FIELD(cpu_before, NUMBER), "Expected share of the CPUs in use" },
	{ FIELD(cpu_after, NUMBER), "The same after all steps" },
	{ FIELD(memory_before, NUMBER), "Share of the memory in use now" },
	{ FIELD(memory_after, NUMBER), "The same after all steps" },
};

static const struct api_model plan_node_model = MODEL(plan_node_fields);

static const struct api_model_field plan_hidden_fields[] = {
	{ FIELD(vms, NATURAL), "VMs" },
	{ FIELD(steps, NATURAL), "Steps" },
	{ FIELD(stuck, NATURAL), "VMs that cannot move" },
	{ FIELD(lost, NATURAL), "VMs that find no place" },
};

static const struct api_model plan_hidden_model = MODEL(plan_hidden_fields);

static const struct api_model_field plan_status_fields[] = {
	{ FIELD(found, BOOL), "The steps reach the goal" },
	{ FIELD(cut_off, BOOL), "There was no time to look for more" },
	{ FIELD(sentence, TEXT), "The answer in words" },
	{ FIELD(scheduler, TEXT), "Identity of the scheduler that answered" },
	{ FIELD(time, TIME), "When it answered" },
	{ FIELD(node_name, TEXT),
		"MakeRoom: the node where the pod then fits" },
	{ FIELD(waves, NATURAL), "How many waves there are" },
	{ NESTED(steps, LIST, &plan_step_model), "The moves, in their order" },
	{ NESTED(stuck, LIST, &plan_vm_model), "VMs that cannot move" },
	{ NESTED(lost, LIST, &plan_vm_model),
		"NodesGone: VMs that find no place" },
	{ NESTED(nodes, LIST, &plan_node_model), "The nodes before and after" },
	{ NESTED(hidden, OBJECT, &plan_hidden_model),
		"What is not shown of other namespaces, as counts" },
};

static const struct api_model plan_status_model = MODEL(plan_status_fields);

static const struct api_model_field plan_fields[] = {
	{ NESTED(spec, OBJECT, &plan_spec_model), "The question" },
	{ NESTED(status, OBJECT, &plan_status_model), "The answer" },
};

const struct api_model plan_model = MODEL(plan_fields);

static const struct api_model_field outlook_cpu_fields[] = {
	{ FIELD(cores, NUMBER), "Cores that VMs can share" },
	{ FIELD(requested_cores, NUMBER), "Sum of the requests of its pods" },
	{ FIELD(used_cores, NUMBER), "The measured use" },
	{ FIELD(expected_cores, NUMBER), "The use that a placement expects" },
};

static const struct api_model outlook_cpu_model = MODEL(outlook_cpu_fields);

static const struct api_model_field outlook_memory_fields[] = {
	{ FIELD(total_bytes, NUMBER), "The memory" },
	{ FIELD(requested_bytes, NUMBER), "Sum of the requests of its pods" },
	{ FIELD(used_bytes, NUMBER), "The measured use" },
	{ FIELD(expected_bytes, NUMBER), "The use that a placement expects" },
};

static const struct api_model outlook_memory_model =
	MODEL(outlook_memory_fields);

static const struct api_model_field outlook_node_fields[] = {
	{ FIELD(name, TEXT), "Name of the node" },
	{ FIELD(is_unschedulable, BOOL), "The node is cordoned" },
	{ NESTED(cpu, OBJECT, &outlook_cpu_model), "Its shared CPUs" },
	{ NESTED(memory, OBJECT, &outlook_memory_model), "Its memory" },
};

static const struct api_model outlook_node_model = MODEL(outlook_node_fields);

static const struct api_model_field outlook_rebalance_fields[] = {
	{ FIELD(mode, TEXT), "Off, Recommend or Automatic" },
	{ FIELD(why, TEXT),
		"Why no VM is moved now; empty: moves are ordered" },
};

static const struct api_model outlook_rebalance_model =
	MODEL(outlook_rebalance_fields);

static const struct api_model_field outlook_status_fields[] = {
	{ FIELD(scheduler, TEXT), "Identity of the scheduler that answered" },
	{ FIELD(time, TIME), "When it answered" },
	{ NESTED(nodes, LIST, &outlook_node_model),
		"Of the cluster: its nodes" },
	{ FIELD(nodes_left_out, NATURAL), "Nodes that are not in the list" },
	{ FIELD(room, ANY),
		"Of the cluster: which VMs fit, now and after moves, and for "
		"which pods room is made, without their names" },
	{ NESTED(rebalance, OBJECT, &outlook_rebalance_model),
		"Of the cluster: whether running VMs are moved" },
	{ FIELD(node_name, TEXT), "Of a VM: the node where it is" },
	{ FIELD(is_movable, BOOL),
		"Of a VM: it may be moved; absent: that is not known" },
	{ FIELD(reason, TEXT), "Of a VM: why it may not be moved, in words" },
};

static const struct api_model outlook_status_model =
	MODEL(outlook_status_fields);

static const struct api_model_field outlook_fields[] = {
	{ NESTED(status, OBJECT, &outlook_status_model), "The outlook" },
};

const struct api_model outlook_model = MODEL(outlook_fields);

static const struct api_model_field history_fields[] = {
	{ FIELD(step_seconds, NUMBER), "Time between rows" },
	{ FIELD(from, NUMBER), "The first row, Unix seconds" },
	{ FIELD(to, NUMBER), "The end, Unix seconds" },
	{ FIELD(sources, RAW),
		"Parts of the range and their source, with remote read" },
	{ FIELD(fields, TEXTS), "Names of the figures of a row" },
	{ FIELD(rows, RAW),
		"Rows: the time and the figures, null where there is none" },
};

const struct api_model history_model = MODEL(history_fields);
