#include "scheduler/offline/goal_words.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "lib/memory.h"

static const struct {
	const char *prefix;
	enum plan_goal_kind kind;
} kinds[] = {
	{ "empty:", PLAN_NODE_EMPTY },
	{ "move:", PLAN_VM_ELSEWHERE },
	{ "gone:", PLAN_NODES_GONE },
};

/* The namespace and the VM's name are not empty. */
static bool names_vm(const char *names)
{
	const char *slash = strchr(names, '/');

	return slash != NULL && slash != names && slash[1] != '\0' &&
		strchr(slash + 1, '/') == NULL;
}

/* No name is empty. */
static bool names_nodes(const char *names)
{
	return *names != '\0' && *names != ',' && strstr(names, ",,") == NULL &&
		names[strlen(names) - 1] != ',';
}

static bool are_names(enum plan_goal_kind kind, const char *names)
{
	switch (kind) {
	case PLAN_POD_FITS:
	case PLAN_NODE_DRAINED:
		break;
	case PLAN_NODE_EMPTY:
		return names_nodes(names) && strchr(names, ',') == NULL;
	case PLAN_VM_ELSEWHERE:
		return names_vm(names);
	case PLAN_NODES_GONE:
		return names_nodes(names);
	}
	return false;
}

int goal_words_parse(struct goal_words *out, const char *text,
	struct error *err)
{
	if (strcmp(text, "pod") == 0) {
		*out = (struct goal_words){ PLAN_POD_FITS, "" };
		return 0;
	}
	for (size_t i = 0; i < count_of(kinds); i++) {
		size_t len = strlen(kinds[i].prefix);

		if (strncmp(text, kinds[i].prefix, len) == 0 &&
			are_names(kinds[i].kind, text + len)) {
			*out = (struct goal_words){ kinds[i].kind, text + len };
			return 0;
		}
	}
	return error_set(err, -EINVAL,
		"'%.100s' is not pod, empty:NODE, move:NAMESPACE/VM or "
		"gone:NODE[,NODE...]",
		text);
}

/* ---- what the words name ---- */

static int find_pod(struct plan_goal *out, const struct recorded_state *state,
	struct error *err)
{
	if (*state->pod->node_name != '\0') {
		return error_set(err, -EINVAL, "'pod' is on node '%.200s'",
			state->pod->node_name);
	}
	out->pod = state->pod;
	return 0;
}

static int find_vm(struct plan_goal *out, const char *names,
	const struct recorded_vms *vms, struct error *err)
{
	for (size_t i = 0; i < vms->count; i++) {
		struct pod *pod = vms->list[i].pod;
		scoped_free char *name = xasprintf("%s/%s", pod->namespace,
			recorded_vms_name(pod));

		if (strcmp(name, names) == 0) {
			out->pod = pod;
			return 0;
		}
	}
	return error_set(err, -ENOENT, "no VM '%.200s' runs on any node",
		names);
}

static bool has(const size_t *nodes, size_t count, size_t node)
{
	for (size_t i = 0; i < count; i++) {
		if (nodes[i] == node) {
			return true;
		}
	}
	return false;
}

static int add_node(size_t *nodes, size_t *count, const char *name,
	const struct recorded_vms *vms, struct error *err)
{
	ptrdiff_t node = recorded_vms_node(vms, name);

	if (node == PLAN_NOWHERE) {
		return error_set(err, -ENOENT, "there is no node '%.200s'",
			name);
	}
	if (has(nodes, *count, (size_t)node)) {
		return error_set(err, -EINVAL,
			"the goal names node '%.200s' twice", name);
	}
	nodes[(*count)++] = (size_t)node;
	return 0;
}

static int find_nodes(size_t *nodes, size_t *count, const char *names,
	const struct recorded_vms *vms, struct error *err)
{
	scoped_free char *text = xstrdup(names);
	char *rest = text;
	int r = 0;

	while (rest != NULL && r == 0) {
		char *name = rest;
		char *comma = strchr(rest, ',');

		rest = comma == NULL ? NULL : comma + 1;
		if (comma != NULL) {
			*comma = '\0';
		}
		r = add_node(nodes, count, name, vms, err);
	}
	return r;
}

int goal_words_find(struct plan_goal *out, size_t **nodes,
	const struct goal_words *words, const struct recorded_vms *vms,
	struct error *err)
{
	struct plan_goal goal = { .kind = words->kind };
	scoped_free size_t *found = NULL;
	int r = 0;

	if (words->kind == PLAN_POD_FITS) {
		r = find_pod(&goal, vms->state, err);
	} else if (words->kind == PLAN_VM_ELSEWHERE) {
		r = find_vm(&goal, words->names, vms, err);
	} else {
		/* At most as many names as nodes: none is there twice. */
		found = xcalloc(vms->state->cluster.count + 1, sizeof(*found));
		goal.nodes = found;
		r = find_nodes(found, &goal.node_count, words->names, vms, err);
	}
	if (r < 0) {
		return r;
	}
	*out = goal;
	*nodes = found;
	found = NULL;
	return 0;
}
