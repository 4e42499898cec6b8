#include "kubectl/node_vms.h"

#include "kube/json_value.h"
#include "kube/url_query.h"
#include "kubectl/cluster.h"
#include "kubectl/fields.h"
#include "kubectl/flags.h"
#include "kubectl/flights.h"
#include "lib/buffer.h"
#include "lib/memory.h"

#include <stdlib.h>
#include <string.h>

enum { PATH_MAX_BYTES = 4 << 10 };

static void forget(struct node_vms *vms)
{
	for (size_t i = 0; i < vms->count; i++) {
		free(vms->vms[i].namespace);
		free(vms->vms[i].name);
	}
	vms->count = 0;
}

static void add(void *owner, const struct json_value *vmi)
{
	struct node_vms *vms = owner;
	const char *node = json_value_text_at(vmi, "status/nodeName", "");
	const char *phase = json_value_text_at(vmi, "status/phase", "");

	if (vmi == NULL) {
		forget(vms);
		return;
	}
	/* The label of a VM that moved can be older than its status. */
	if (strcmp(node, vms->node) != 0 || strcmp(phase, "Failed") == 0 ||
		strcmp(phase, "Succeeded") == 0) {
		return;
	}
	vms->vms =
		xgrow(vms->vms, vms->count, &vms->capacity, sizeof(*vms->vms));
	vms->vms[vms->count++] = (struct node_vm){
		.namespace = field_text(vmi, "metadata/namespace", ""),
		.name = field_text(vmi, "metadata/name", ""),
	};
}

int node_vms_list(struct node_vms *out, struct cluster *cluster,
	const char *node, struct error *err)
{
	scoped_buffer struct buffer path = BUFFER_MAX(PATH_MAX_BYTES);
	scoped_free char *labels = xasprintf("kubevirt.io/nodeName=%s", node);

	*out = (struct node_vms){ .node = node };
	buffer_text(&path, CLUSTER_KUBEVIRT "/virtualmachineinstances");
	url_query_add(&path, "labelSelector", labels);
	return cluster_list(cluster, path.data, add, out, err);
}

void node_vms_fini(struct node_vms *vms)
{
	forget(vms);
	free(vms->vms);
	*vms = (struct node_vms){ 0 };
}

/* Migrations that are looked for. */
struct search {
	struct flights *flights;
	const struct node_vms *vms;
};

static void add_flight(void *owner, const struct json_value *migration)
{
	struct search *search = owner;
	scoped_free char *namespace =
		field_text(migration, "metadata/namespace", "");
	scoped_free char *vm = field_text(migration, "spec/vmiName", "");
	scoped_free char *name = field_text(migration, "metadata/name", "");

	if (migration == NULL) {
		flights_fini(search->flights);
		return;
	}
	if (flights_has_ended(migration) || !flags_is_name(name)) {
		return;
	}
	for (size_t i = 0; i < search->vms->count; i++) {
		const struct node_vm *at = &search->vms->vms[i];

		if (strcmp(at->namespace, namespace) == 0 &&
			strcmp(at->name, vm) == 0) {
			flights_add(search->flights,
				&(struct flight){ .namespace = namespace,
					.vm = vm,
					.migration = name });
		}
	}
}

int node_vms_add_flights(struct flights *flights, const struct node_vms *vms,
	struct error *err)
{
	struct search search = { flights, vms };

	return vms->count == 0
		? 0
		: cluster_list(flights->cluster,
			  CLUSTER_KUBEVIRT "/virtualmachineinstancemigrations",
			  add_flight, &search, err);
}
