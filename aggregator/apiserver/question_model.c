#include "aggregator/apiserver/question_model.h"

#include "lib/memory.h"

#define API_MODEL(fields)                                                      \
	{                                                                      \
		fields, count_of(fields), 0                                    \
	}

static const struct api_model_field where_spec_fields[] = {
	{ "vm_name", API_MODEL_TEXT, 0, NULL,
		"A VM that runs, or waits, in the namespace" },
	{ "pod_name", API_MODEL_TEXT, 0, NULL, "A pod of the namespace" },
	{ "object", API_MODEL_ANY, 0, NULL,
		"The manifest of a VirtualMachine, VirtualMachineInstance or "
		"Pod that need not exist" },
};

static const struct api_model where_spec_model = API_MODEL(where_spec_fields);

static const struct api_model_field where_node_fields[] = {
	{ "name", API_MODEL_TEXT, 0, NULL, "Name of the node" },
	{ "feasible", API_MODEL_BOOL, 0, NULL, "It may go there" },
	{ "score", API_MODEL_NUMBER, 0, NULL,
		"0 to 100 points; the best node has the most" },
	{ "terms", API_MODEL_NUMBERS, 0, NULL, "The parts of the score" },
	{ "reasons", API_MODEL_TEXTS, 0, NULL, "Why it may not go there" },
	{ "load_age_seconds", API_MODEL_NUMBER, 0, NULL,
		"Age of the node's figures" },
	{ "cpu_expected", API_MODEL_NUMBER, 0, NULL,
		"Share of the CPUs in use with it" },
	{ "cpu_room", API_MODEL_NUMBER, 0, NULL,
		"Standard deviations between that and the whole" },
	{ "memory_expected", API_MODEL_NUMBER, 0, NULL,
		"Share of the memory in use with it" },
};

static const struct api_model where_node_model = API_MODEL(where_node_fields);

static const struct api_model_field where_status_fields[] = {
	{ "chosen", API_MODEL_TEXT, 0, NULL,
		"The node that it would go to; null: none" },
	{ "current_node", API_MODEL_TEXT, 0, NULL, "The node where it is" },
	{ "sentence", API_MODEL_TEXT, 0, NULL, "The answer in words" },
	{ "scheduler", API_MODEL_TEXT, 0, NULL,
		"Identity of the scheduler that answered" },
	{ "time", API_MODEL_TIME, 0, NULL, "When it answered" },
	{ "policy", API_MODEL_TEXT, 0, NULL,
		"The policy that the answer follows" },
	{ "feasible_nodes", API_MODEL_NATURAL, 0, NULL,
		"Nodes that it may go to" },
	{ "total_nodes", API_MODEL_NATURAL, 0, NULL, "All nodes" },
	{ "nodes_left_out", API_MODEL_NATURAL, 0, NULL,
		"Nodes that are not in the list" },
	{ "derived", API_MODEL_ANY, 0, NULL,
		"The launcher pod that was derived from the manifest" },
	{ "nodes", API_MODEL_LIST, 0, &where_node_model,
		"The best node first, then those that are not feasible" },
};

static const struct api_model where_status_model =
	API_MODEL(where_status_fields);

static const struct api_model_field placement_fields[] = {
	{ "spec", API_MODEL_OBJECT, 0, &where_spec_model,
		"The question; it has exactly one of these fields" },
	{ "status", API_MODEL_OBJECT, 0, &where_status_model, "The answer" },
};

const struct api_model placement_model = API_MODEL(placement_fields);

static const struct api_model_field plan_spec_fields[] = {
	{ "goal", API_MODEL_TEXT, 0, NULL,
		"Evacuate, NodesGone, Move or MakeRoom" },
	{ "node_names", API_MODEL_TEXTS, 0, NULL,
		"Evacuate: the node; NodesGone: all that are gone" },
	{ "vm_name", API_MODEL_TEXT, 0, NULL, "Move: the VM" },
	{ "pod_name", API_MODEL_TEXT, 0, NULL, "MakeRoom: the pod that waits" },
};

static const struct api_model plan_spec_model = API_MODEL(plan_spec_fields);

static const struct api_model_field plan_step_fields[] = {
	{ "wave", API_MODEL_NATURAL, 0, NULL,
		"Steps of one wave may run at once" },
	{ "action", API_MODEL_TEXT, 0, NULL, "What is done with the VM" },
	{ "namespace", API_MODEL_TEXT, 0, NULL, "Namespace of the VM" },
	{ "vm_name", API_MODEL_TEXT, 0, NULL, "Name of the VM" },
	{ "source_node", API_MODEL_TEXT, 0, NULL, "The node that it leaves" },
	{ "target_node", API_MODEL_TEXT, 0, NULL, "The node that it goes to" },
};

static const struct api_model plan_step_model = API_MODEL(plan_step_fields);

static const struct api_model_field plan_vm_fields[] = {
	{ "namespace", API_MODEL_TEXT, 0, NULL, "Namespace of the VM" },
	{ "vm_name", API_MODEL_TEXT, 0, NULL, "Name of the VM" },
	{ "node_name", API_MODEL_TEXT, 0, NULL, "The node where it is" },
	{ "reason", API_MODEL_TEXT, 0, NULL, "Why, in words" },
};

static const struct api_model plan_vm_model = API_MODEL(plan_vm_fields);

static const struct api_model_field plan_node_fields[] = {
	{ "name", API_MODEL_TEXT, 0, NULL, "Name of the node" },
	{ "is_target", API_MODEL_BOOL, 0, NULL, "A step goes there" },
	{ "cpu_before", API_MODEL_NUMBER, 0, NULL,
		"Share of the CPUs in use now" },
	{ "cpu_after", API_MODEL_NUMBER, 0, NULL, "The same after all steps" },
	{ "memory_before", API_MODEL_NUMBER, 0, NULL,
		"Share of the memory in use now" },
	{ "memory_after", API_MODEL_NUMBER, 0, NULL,
		"The same after all steps" },
};

static const struct api_model plan_node_model = API_MODEL(plan_node_fields);

static const struct api_model_field plan_hidden_fields[] = {
	{ "vms", API_MODEL_NATURAL, 0, NULL, "VMs" },
	{ "steps", API_MODEL_NATURAL, 0, NULL, "Steps" },
	{ "stuck", API_MODEL_NATURAL, 0, NULL, "VMs that cannot move" },
	{ "lost", API_MODEL_NATURAL, 0, NULL, "VMs that find no place" },
};

static const struct api_model plan_hidden_model = API_MODEL(plan_hidden_fields);

static const struct api_model_field plan_status_fields[] = {
	{ "found", API_MODEL_BOOL, 0, NULL, "The steps reach the goal" },
	{ "cut_off", API_MODEL_BOOL, 0, NULL,
		"There was no time to look for more" },
	{ "sentence", API_MODEL_TEXT, 0, NULL, "The answer in words" },
	{ "scheduler", API_MODEL_TEXT, 0, NULL,
		"Identity of the scheduler that answered" },
	{ "time", API_MODEL_TIME, 0, NULL, "When it answered" },
	{ "node_name", API_MODEL_TEXT, 0, NULL,
		"MakeRoom: the node where the pod then fits" },
	{ "waves", API_MODEL_NATURAL, 0, NULL, "How many waves there are" },
	{ "steps", API_MODEL_LIST, 0, &plan_step_model,
		"The moves, in their order" },
	{ "stuck", API_MODEL_LIST, 0, &plan_vm_model, "VMs that cannot move" },
	{ "lost", API_MODEL_LIST, 0, &plan_vm_model,
		"NodesGone: VMs that find no place" },
	{ "nodes", API_MODEL_LIST, 0, &plan_node_model,
		"The nodes before and after" },
	{ "hidden", API_MODEL_OBJECT, 0, &plan_hidden_model,
		"What is not shown of other namespaces, as counts" },
};

static const struct api_model plan_status_model = API_MODEL(plan_status_fields);

static const struct api_model_field plan_fields[] = {
	{ "spec", API_MODEL_OBJECT, 0, &plan_spec_model, "The question" },
	{ "status", API_MODEL_OBJECT, 0, &plan_status_model, "The answer" },
};

const struct api_model plan_model = API_MODEL(plan_fields);

static const struct api_model_field outlook_cpu_fields[] = {
	{ "cores", API_MODEL_NUMBER, 0, NULL, "Cores that VMs can share" },
	{ "requested_cores", API_MODEL_NUMBER, 0, NULL,
		"Sum of the requests of its pods" },
	{ "used_cores", API_MODEL_NUMBER, 0, NULL, "The measured use" },
	{ "expected_cores", API_MODEL_NUMBER, 0, NULL,
		"The use that a placement expects" },
};

static const struct api_model outlook_cpu_model = API_MODEL(outlook_cpu_fields);

static const struct api_model_field outlook_memory_fields[] = {
	{ "total_bytes", API_MODEL_NUMBER, 0, NULL, "The memory" },
	{ "requested_bytes", API_MODEL_NUMBER, 0, NULL,
		"Sum of the requests of its pods" },
	{ "used_bytes", API_MODEL_NUMBER, 0, NULL, "The measured use" },
	{ "expected_bytes", API_MODEL_NUMBER, 0, NULL,
		"The use that a placement expects" },
};

static const struct api_model outlook_memory_model =
	API_MODEL(outlook_memory_fields);

static const struct api_model_field outlook_node_fields[] = {
	{ "name", API_MODEL_TEXT, 0, NULL, "Name of the node" },
	{ "is_unschedulable", API_MODEL_BOOL, 0, NULL, "The node is cordoned" },
	{ "cpu", API_MODEL_OBJECT, 0, &outlook_cpu_model, "Its shared CPUs" },
	{ "memory", API_MODEL_OBJECT, 0, &outlook_memory_model, "Its memory" },
};

static const struct api_model outlook_node_model =
	API_MODEL(outlook_node_fields);

static const struct api_model_field outlook_rebalance_fields[] = {
	{ "mode", API_MODEL_TEXT, 0, NULL, "Off, Recommend or Automatic" },
	{ "why", API_MODEL_TEXT, 0, NULL,
		"Why no VM is moved now; empty: moves are ordered" },
};

static const struct api_model outlook_rebalance_model =
	API_MODEL(outlook_rebalance_fields);

static const struct api_model_field outlook_status_fields[] = {
	{ "scheduler", API_MODEL_TEXT, 0, NULL,
		"Identity of the scheduler that answered" },
	{ "time", API_MODEL_TIME, 0, NULL, "When it answered" },
	{ "nodes", API_MODEL_LIST, 0, &outlook_node_model,
		"Of the cluster: its nodes" },
	{ "nodes_left_out", API_MODEL_NATURAL, 0, NULL,
		"Nodes that are not in the list" },
	{ "room", API_MODEL_ANY, 0, NULL,
		"Of the cluster: which VMs fit, now and after moves, and for "
		"which pods room is made, without their names" },
	{ "rebalance", API_MODEL_OBJECT, 0, &outlook_rebalance_model,
		"Of the cluster: whether running VMs are moved" },
	{ "node_name", API_MODEL_TEXT, 0, NULL,
		"Of a VM: the node where it is" },
	{ "is_movable", API_MODEL_BOOL, 0, NULL,
		"Of a VM: it may be moved; absent: that is not known" },
	{ "reason", API_MODEL_TEXT, 0, NULL,
		"Of a VM: why it may not be moved, in words" },
};

static const struct api_model outlook_status_model =
	API_MODEL(outlook_status_fields);

static const struct api_model_field outlook_fields[] = {
	{ "status", API_MODEL_OBJECT, 0, &outlook_status_model, "The outlook" },
};

const struct api_model outlook_model = API_MODEL(outlook_fields);
