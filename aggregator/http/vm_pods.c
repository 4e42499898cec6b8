#include "aggregator/http/vm_pods.h"

#include "aggregator/http/body.h"
#include "aggregator/live/identity.h"

#include <string.h>

static const struct identity *identity_of(const struct vm_pods_view *view,
	const struct live_node *node, size_t i)
{
	return identities_find(view->identities,
		live_node_report(node)->vms[i].pod_uid, live_node_name(node));
}

static void write_identity(struct json *j, const struct identity *identity)
{
	if (identity == NULL) {
		return;
	}
	json_string(j, "namespace", identity->namespace);
	json_string(j, "name", identity->name);
	if (identity->vmi_uid[0] != '\0') {
		json_string(j, "vmi_uid", identity->vmi_uid);
	}
}

static void write_pod(struct json *j, const struct vm_pods_view *view,
	const struct live_node *node, size_t i)
{
	uint64_t age_us = live_node_age_us(node, view->now_us);
	struct vm_load load;

	live_node_vm(&load, node, i);
	json_object(j, NULL);
	write_identity(j, identity_of(view, node, i));
	json_string(j, "pod_uid", load.pod_uid);
	json_string(j, "node", live_node_name(node));
	json_number(j, "age_s", (double)age_us / 1e6);
	json_string(j, "state",
		load_state_name(
			load_state(age_us, live_node_interval_ms(node))));
	body_write_vm_figures(j, &load);
	json_object_end(j);
}

void vm_pods_write_node(struct json *j, const struct vm_pods_view *view,
	const struct live_node *node)
{
	for (size_t i = 0; i < live_node_vms(node); i++) {
		write_pod(j, view, node, i);
	}
}

static bool is_named(const struct identity *identity,
	const struct identity *wanted)
{
	return identity != NULL && strcmp(identity->name, wanted->name) == 0 &&
		strcmp(identity->namespace, wanted->namespace) == 0;
}

/* The node's pods of the VM. j NULL: they are only counted. */
static size_t write_named_on(struct json *j, const struct vm_pods_view *view,
	const struct live_node *node, const struct identity *wanted)
{
	size_t count = 0;

	for (size_t i = 0; i < live_node_vms(node); i++) {
		if (!is_named(identity_of(view, node, i), wanted)) {
			continue;
		}
		count++;
		if (j != NULL) {
			write_pod(j, view, node, i);
		}
	}
	return count;
}

static size_t write_named(struct json *j, const struct vm_pods_view *view,
	const char *namespace, const char *name)
{
	const struct identity wanted = { namespace, name, "", "" };
	size_t count = 0;

	for (const struct live_node *node = live_after(view->live, 0);
		node != NULL; node = live_next(node)) {
		count += write_named_on(j, view, node, &wanted);
	}
	return count;
}

void vm_pods_write_vm(struct json *j, const struct vm_pods_view *view,
	const char *namespace, const char *name)
{
	(void)write_named(j, view, namespace, name);
}

bool vm_pods_is_running(const struct vm_pods_view *view, const char *namespace,
	const char *name)
{
	return write_named(NULL, view, namespace, name) > 0;
}
