#include "scheduler/cluster/vm_failures.h"

#include "lib/memory.h"

#include <stdlib.h>
#include <string.h>

struct failed_node {
	char *name; /* owned */
	unsigned in_a_row;
	int64_t failed_us; /* the last failure */
	int64_t until_us;
};

struct vm_failed_nodes {
	struct failed_node list[VM_FAILURES_NODES_MAX];
	size_t count;
	int64_t newest_us; /* the newest failed_us */
};

static void nodes_free(struct vm_failed_nodes *nodes)
{
	if (nodes != NULL) {
		for (size_t i = 0; i < nodes->count; i++) {
			free(nodes->list[i].name);
		}
		free(nodes);
	}
}

static void *copy_nodes(void *value)
{
	struct vm_failed_nodes *copy =
		xmemdup(value, sizeof(struct vm_failed_nodes));

	for (size_t i = 0; i < copy->count; i++) {
		copy->list[i].name = xstrdup(copy->list[i].name);
	}
	return copy;
}

static void drop_nodes(void *value, struct interner *interner)
{
	(void)interner;
	nodes_free(value);
}

const struct shared_values vm_failures_values = { copy_nodes, drop_nodes };

void vm_failures_fini(struct vm_failures *failures)
{
	size_t at = 0;
	void *value;

	while (map_next(&failures->by_vm, &at, NULL, &value)) {
		nodes_free(value);
	}
	map_fini(&failures->by_vm);
}

static struct failed_node *find(struct vm_failed_nodes *nodes, const char *name)
{
	for (size_t i = 0; nodes != NULL && i < nodes->count; i++) {
		if (strcmp(nodes->list[i].name, name) == 0) {
			return &nodes->list[i];
		}
	}
	return NULL;
}

static bool is_named(const char *namespace, const char *vm)
{
	return namespace != NULL && vm != NULL && *vm != '\0';
}

/* NULL: none. */
static struct vm_failed_nodes *nodes_of(const struct vm_failures *failures,
	const char *namespace, const char *vm)
{
	scoped_free char *key = NULL;

	if (failures->by_vm.count == 0 || !is_named(namespace, vm)) {
		return NULL;
	}
	key = xasprintf("%s/%s", namespace, vm);
	return map_get(&failures->by_vm, key);
}

static void forget_oldest_vm(struct vm_failures *failures)
{
	const struct vm_failed_nodes *oldest = NULL;
	const char *oldest_key = NULL;
	size_t at = 0;
	const char *key;
	void *value;

	while (map_next(&failures->by_vm, &at, &key, &value)) {
		const struct vm_failed_nodes *nodes = value;

		if (oldest == NULL || nodes->newest_us < oldest->newest_us) {
			oldest = nodes;
			oldest_key = key;
		}
	}
	if (oldest_key != NULL) {
		scoped_free char *copy = xstrdup(oldest_key);

		nodes_free(map_remove(&failures->by_vm, copy));
	}
}

static struct vm_failed_nodes *make_nodes(struct vm_failures *failures,
	const char *namespace, const char *vm)
{
	struct vm_failed_nodes *nodes = nodes_of(failures, namespace, vm);
	scoped_free char *key = NULL;

	if (nodes == NULL) {
		if (failures->by_vm.count >= VM_FAILURES_VMS_MAX) {
			forget_oldest_vm(failures);
		}
		key = xasprintf("%s/%s", namespace, vm);
		nodes = xcalloc(1, sizeof(*nodes));
		(void)map_put(&failures->by_vm, key, nodes);
	}
	return nodes;
}

static struct failed_node *oldest_node(struct vm_failed_nodes *nodes)
{
	struct failed_node *oldest = &nodes->list[0];

	for (size_t i = 1; i < nodes->count; i++) {
		if (nodes->list[i].failed_us < oldest->failed_us) {
			oldest = &nodes->list[i];
		}
	}
	return oldest;
}

static struct failed_node *make_node(struct vm_failed_nodes *nodes,
	const char *name)
{
	struct failed_node *node = find(nodes, name);

	if (node != NULL) {
		return node;
	}
	if (nodes->count < VM_FAILURES_NODES_MAX) {
		node = &nodes->list[nodes->count++];
	} else {
		node = oldest_node(nodes);
		free(node->name);
	}
	*node = (struct failed_node){ .name = xstrdup(name) };
	return node;
}

int64_t vm_failures_wait(unsigned in_a_row)
{
	int64_t wait = VM_FAILURES_WAIT_US;

	while (in_a_row > 1 && wait < VM_FAILURES_WAIT_MAX_US) {
		wait *= 2;
		in_a_row--;
	}
	return wait < VM_FAILURES_WAIT_MAX_US ? wait : VM_FAILURES_WAIT_MAX_US;
}

static void set_node(struct vm_failed_nodes *nodes, struct failed_node *node,
	unsigned in_a_row, int64_t failed_us, int64_t until_us)
{
	node->in_a_row = in_a_row;
	node->failed_us = failed_us;
	node->until_us = until_us;
	if (nodes->count == 1 || failed_us > nodes->newest_us) {
		nodes->newest_us = failed_us;
	}
}

void vm_failures_add(struct vm_failures *failures, const char *namespace,
	const char *vm, const char *node, int64_t now_us)
{
	struct vm_failed_nodes *nodes;
	struct failed_node *failed;
	unsigned in_a_row;

	if (!is_named(namespace, vm) || *node == '\0') {
		return;
	}
	nodes = make_nodes(failures, namespace, vm);
	failed = make_node(nodes, node);
	if (failed->in_a_row > 0 &&
		now_us - failed->failed_us < VM_FAILURES_ONCE_US) {
		return;
	}
	in_a_row = now_us - failed->until_us > VM_FAILURES_WAIT_MAX_US
		? 1
		: failed->in_a_row + 1;
	set_node(nodes, failed, in_a_row, now_us,
		now_us + vm_failures_wait(in_a_row));
}

void vm_failures_restore(struct vm_failures *failures, const char *namespace,
	const char *vm, const char *node, unsigned in_a_row, int64_t until_us)
{
	struct vm_failed_nodes *nodes;
	struct failed_node *failed;

	if (!is_named(namespace, vm) || *node == '\0' || in_a_row == 0) {
		return;
	}
	nodes = make_nodes(failures, namespace, vm);
	failed = make_node(nodes, node);
	if (failed->in_a_row == 0 || until_us > failed->until_us) {
		set_node(nodes, failed, in_a_row,
			until_us - vm_failures_wait(in_a_row), until_us);
	}
}

void vm_failures_succeeded(struct vm_failures *failures, const char *namespace,
	const char *vm, const char *node)
{
	struct vm_failed_nodes *nodes = nodes_of(failures, namespace, vm);
	struct failed_node *failed = find(nodes, node);
	scoped_free char *key = NULL;

	if (failed == NULL) {
		return;
	}
	free(failed->name);
	*failed = nodes->list[--nodes->count];
	if (nodes->count == 0) {
		key = xasprintf("%s/%s", namespace, vm);
		nodes_free(map_remove(&failures->by_vm, key));
	}
}

const struct vm_failed_nodes *vm_failures_of(const struct vm_failures *failures,
	const char *namespace, const char *vm)
{
	return nodes_of(failures, namespace, vm);
}

int64_t vm_failures_node_until(const struct vm_failed_nodes *nodes,
	const char *node)
{
	for (size_t i = 0; nodes != NULL && i < nodes->count; i++) {
		if (strcmp(nodes->list[i].name, node) == 0) {
			return nodes->list[i].until_us;
		}
	}
	return 0;
}
