#include "kubectl/node_vmis.h"

#include "kube/json_value.h"
#include "kube/url_query.h"
#include "kubectl/api_client.h"
#include "kubectl/fields.h"
#include "kubectl/flags.h"
#include "kubectl/migrations.h"
#include "lib/buffer.h"
#include "lib/memory.h"

#include <stdlib.h>
#include <string.h>

enum { PATH_MAX_BYTES = 4 << 10 };

static void forget(struct node_vmis *vms)
{
	for (size_t i = 0; i < vms->count; i++) {
		free(vms->vms[i].namespace);
		free(vms->vms[i].name);
	}
	vms->count = 0;
}

static void add(void *owner, const struct json_value *vmi)
{
	struct node_vmis *vms = owner;
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
	vms->vms[vms->count++] = (struct node_vmi){
		.namespace = field_text(vmi, "metadata/namespace", ""),
		.name = field_text(vmi, "metadata/name", ""),
	};
}

int node_vmis_list(struct node_vmis *out, struct api_client *client,
	const char *node, struct error *err)
{
	scoped_buffer struct buffer path = BUFFER_MAX(PATH_MAX_BYTES);
	scoped_free char *labels = xasprintf("kubevirt.io/nodeName=%s", node);

	*out = (struct node_vmis){ .node = node };
	buffer_text(&path, KUBEVIRT_API "/virtualmachineinstances");
	url_query_add(&path, "labelSelector", labels);
	return api_client_list(client, path.data, add, out, err);
}

void node_vmis_fini(struct node_vmis *vms)
{
	forget(vms);
	free(vms->vms);
	*vms = (struct node_vmis){ 0 };
}

/* Migrations that are looked for. */
struct search {
	struct migrations *migrations;
	const struct node_vmis *vms;
};

static void add_migration(void *owner, const struct json_value *migration)
{
	struct search *search = owner;
	scoped_free char *namespace =
		field_text(migration, "metadata/namespace", "");
	scoped_free char *vm = field_text(migration, "spec/vmiName", "");
	scoped_free char *name = field_text(migration, "metadata/name", "");

	if (migration == NULL) {
		migrations_fini(search->migrations);
		return;
	}
	if (migrations_has_ended(migration) || !flags_is_name(name)) {
		return;
	}
	for (size_t i = 0; i < search->vms->count; i++) {
		const struct node_vmi *at = &search->vms->vms[i];

		if (strcmp(at->namespace, namespace) == 0 &&
			strcmp(at->name, vm) == 0) {
			migrations_add(search->migrations,
				&(struct vm_migration){ .namespace = namespace,
					.vm = vm,
					.migration = name });
		}
	}
}

int node_vmis_add_migrations(struct migrations *migrations,
	const struct node_vmis *vms, struct error *err)
{
	struct search search = { migrations, vms };

	return vms->count == 0
		? 0
		: api_client_list(migrations->client,
			  KUBEVIRT_API "/virtualmachineinstancemigrations",
			  add_migration, &search, err);
}
