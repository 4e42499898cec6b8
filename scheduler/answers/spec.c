#include "scheduler/answers/spec.h"

#include "lib/memory.h"

#include <errno.h>
#include <string.h>

static int check_object(const struct json_value *spec, struct error *err)
{
	return json_value_is_object(spec)
		? 0
		: error_set(err, -EINVAL, "spec is not an object");
}

/* A name in the spec; kinds of names follow other rules, but none is longer or
 * has other bytes. */
static int read_name(const char **out, const struct json_value *value,
	const char *what, struct error *err)
{
	const char *name = json_value_text(value);

	if (name == NULL || *name == '\0' || strlen(name) > SPEC_NAME_MAX) {
		return error_set(err, -EINVAL,
			"%s is not a string of 1 to %d bytes", what,
			SPEC_NAME_MAX);
	}
	for (const char *at = name; *at != '\0'; at++) {
		if (*at <= ' ' || *at > '~' || *at == '/') {
			return error_set(err, -EINVAL,
				"%s holds a byte that no name has", what);
		}
	}
	*out = name;
	return 0;
}

/* ---- placements ---- */

static int read_object(struct placement_spec *out,
	const struct json_value *object, struct error *err)
{
	static const struct {
		const char *name;
		enum placement_kind kind;
	} kinds[] = {
		{ "Pod", PLACEMENT_POD_OBJECT },
		{ "VirtualMachineInstance", PLACEMENT_VMI_OBJECT },
		{ "VirtualMachine", PLACEMENT_VM_OBJECT },
	};
	const char *kind = json_value_text_at(object, "kind", "");

	for (size_t i = 0; i < count_of(kinds); i++) {
		if (strcmp(kind, kinds[i].name) == 0) {
			out->kind = kinds[i].kind;
			out->object = object;
			return 0;
		}
	}
	return error_set(err, -EINVAL,
		"spec.object.kind is none of Pod, VirtualMachineInstance and "
		"VirtualMachine");
}

int placement_spec_read(struct placement_spec *out,
	const struct json_value *spec, struct error *err)
{
	const struct json_value *vm = json_value_get(spec, "vmName");
	const struct json_value *pod = json_value_get(spec, "podName");
	const struct json_value *object = json_value_get(spec, "object");
	int r = check_object(spec, err);

	if (r < 0) {
		return r;
	}
	*out = (struct placement_spec){ .kind = PLACEMENT_VM };
	if ((vm != NULL) + (pod != NULL) + (object != NULL) != 1) {
		return error_set(err, -EINVAL,
			"spec has exactly one of vmName, podName and object");
	}
	if (object != NULL) {
		return read_object(out, object, err);
	}
	out->kind = vm != NULL ? PLACEMENT_VM : PLACEMENT_POD;
	return vm != NULL ? read_name(&out->name, vm, "spec.vmName", err)
			  : read_name(&out->name, pod, "spec.podName", err);
}

/* ---- plans ---- */

static const struct {
	const char *name, *member;
} goals[GOALS] = {
	[GOAL_EVACUATE] = { "Evacuate", "nodeNames" },
	[GOAL_NODES_GONE] = { "NodesGone", "nodeNames" },
	[GOAL_MOVE] = { "Move", "vmName" },
	[GOAL_MAKE_ROOM] = { "MakeRoom", "podName" },
};

static int find_goal(enum plan_goal_name *out, const char *name,
	struct error *err)
{
	for (size_t i = 0; i < GOALS; i++) {
		if (strcmp(name, goals[i].name) == 0) {
			*out = (enum plan_goal_name)i;
			return 0;
		}
	}
	return error_set(err, -EINVAL,
		"spec.goal is none of Evacuate, NodesGone, Move and MakeRoom");
}

/* Members of other goals are mistakes. */
static int check_members(const struct json_value *spec, const char *member,
	struct error *err)
{
	static const char *const members[] = { "nodeNames", "vmName",
		"podName" };

	for (size_t i = 0; i < count_of(members); i++) {
		bool has = json_value_get(spec, members[i]) != NULL;

		if (has != (strcmp(members[i], member) == 0)) {
			return error_set(err, -EINVAL,
				"this goal has spec.%s and no other", member);
		}
	}
	return 0;
}

static bool is_named(const struct plan_spec *spec, const char *node)
{
	for (size_t i = 0; i < spec->node_count; i++) {
		if (strcmp(spec->nodes[i], node) == 0) {
			return true;
		}
	}
	return false;
}

static int read_nodes(struct plan_spec *out, const struct json_value *list,
	struct error *err)
{
	size_t most = out->goal == GOAL_EVACUATE ? 1 : SPEC_NODES_MAX;
	size_t count = json_value_count(list);

	if (!json_value_is_array(list) || count == 0 || count > most) {
		return error_set(err, -EINVAL,
			"spec.nodeNames is not a list of 1 to %zu names", most);
	}
	for (const struct json_value *v = json_value_first(list); v != NULL;
		v = json_value_next(v)) {
		const char *name = "";
		int r = read_name(&name, v, "an element of spec.nodeNames",
			err);

		if (r < 0) {
			return r;
		}
		if (!is_named(out, name)) {
			out->nodes[out->node_count++] = name;
		}
	}
	return 0;
}

int plan_spec_read(struct plan_spec *out, const struct json_value *spec,
	struct error *err)
{
	int r = check_object(spec, err);
	const char *member;

	*out = (struct plan_spec){ 0 };
	if (r == 0) {
		r = find_goal(&out->goal, json_value_text_at(spec, "goal", ""),
			err);
	}
	member = goals[out->goal].member;
	if (r == 0) {
		r = check_members(spec, member, err);
	}
	if (r < 0) {
		return r;
	}
	if (out->goal == GOAL_EVACUATE || out->goal == GOAL_NODES_GONE) {
		return read_nodes(out, json_value_get(spec, member), err);
	}
	return read_name(&out->name, json_value_get(spec, member),
		out->goal == GOAL_MOVE ? "spec.vmName" : "spec.podName", err);
}
