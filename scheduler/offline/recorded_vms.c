#include "scheduler/offline/recorded_vms.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "kube/time.h"
#include "lib/memory.h"
#include "scheduler/kubevirt/movability.h"
#include "scheduler/mover/node_exclusion.h"
#include "scheduler/objects/launcher.h"

enum { WHY_MAX = 2048 };

void recorded_vms_fini(struct recorded_vms *vms)
{
	for (size_t i = 0; i < vms->count; i++) {
		free(vms->texts[i]);
		next_pod_fini(&vms->pods[i].migrated);
		next_pod_fini(&vms->pods[i].restarted);
	}
	launcher_templates_fini(&vms->templates);
	free(vms->pods);
	free(vms->texts);
	free(vms->list);
	free(vms->exclusions);
	inventory_fini(&vms->inventory);
	*vms = (struct recorded_vms){ 0 };
}

/* ---- what KubeVirt says ---- */

/* The KubeVirt object: KubeVirt has one. */
static int read_kubevirt(struct recorded_vms *vms,
	const struct json_value *input, struct error *err)
{
	const struct json_value *list = NULL;
	int r = recorded_state_list(&list, input, "kubevirts", err);

	launcher_settings_read(&vms->settings, json_value_first(list));
	return r;
}

/* 0: the file does not say. */
static uint64_t present_us(const struct recorded_vms *vms)
{
	const struct recorded_state *state = vms->state;

	return state->has_now && state->now_us > 0 ? (uint64_t)state->now_us
						   : 0;
}

static int read_vmis(struct recorded_vms *vms, const struct json_value *input,
	struct error *err)
{
	const struct json_value *list = NULL;
	size_t number = 0;
	int r = recorded_state_list(&list, input, "vmis", err);

	vms->has_vmis = list != NULL;
	for (const struct json_value *v = json_value_first(list);
		v != NULL && r == 0; v = json_value_next(v)) {
		number++;
		r = inventory_put_vmi(&vms->inventory, v, present_us(vms), err);
	}
	return r < 0 && number > 0
		? error_wrap(err, r, "VMI %zu of 'vmis'", number)
		: r;
}

/* Nodes are left alone for a migration since then. Without the present time, a
 * file is of that moment. */
static uint64_t seen_us(const struct recorded_vms *vms,
	const struct json_value *migration)
{
	const char *created =
		json_value_text_at(migration, "metadata/creationTimestamp", "");
	int64_t at_us;

	return time_parse(&at_us, created, NULL) == 0 && at_us > 0 &&
			(uint64_t)at_us < present_us(vms)
		? (uint64_t)at_us
		: present_us(vms);
}

static int read_migrations(struct recorded_vms *vms,
	const struct json_value *input, struct error *err)
{
	const struct json_value *list = NULL;
	size_t number = 0;
	int r = recorded_state_list(&list, input, "migrations", err);

	vms->has_migrations = list != NULL;
	for (const struct json_value *v = json_value_first(list);
		v != NULL && r == 0; v = json_value_next(v)) {
		number++;
		r = inventory_put_migration(&vms->inventory, v, seen_us(vms, v),
			err);
	}
	inventory_expire(&vms->inventory, present_us(vms));
	return r < 0 && number > 0
		? error_wrap(err, r, "migration %zu of 'migrations'", number)
		: r;
}

static int read_targets(struct recorded_vms *vms,
	const struct json_value *input, struct error *err)
{
	const struct json_value *list = NULL;
	int r = recorded_state_list(&list, input, "pods", err);

	for (const struct json_value *v = json_value_first(list);
		v != NULL && r == 0; v = json_value_next(v)) {
		struct target_pod pod;

		if (launcher_has_label(v) && target_pod_read(&pod, v)) {
			inventory_put_pod(&vms->inventory,
				json_value_text_at(v, "metadata/uid", ""),
				&pod);
		}
	}
	return r;
}

/* ---- VMs ---- */

ptrdiff_t recorded_vms_node(const struct recorded_vms *vms, const char *name)
{
	const struct cluster *cluster = &vms->state->cluster;

	for (size_t i = 0; i < cluster->count; i++) {
		if (strcmp(cluster->nodes[i]->name, name) == 0) {
			return (ptrdiff_t)i;
		}
	}
	return PLAN_NOWHERE;
}

const char *recorded_vms_name(const struct pod *pod)
{
	return *pod->vm_name != '\0' ? pod->vm_name : pod->name;
}

static const struct migration *migration_of(const struct recorded_vms *vms,
	const struct pod *pod)
{
	const struct vmi *vmi = inventory_vmi(&vms->inventory, pod->vmi_uid);

	return inventory_migration_of(&vms->inventory, pod->namespace,
		vmi != NULL ? vmi->name : recorded_vms_name(pod));
}

/* The place of the VM is counted on the target. From the handoff on the VM runs
 * in the target pod, which stays. */
static bool is_leaving(const struct recorded_vms *vms, const struct pod *pod)
{
	const struct migration *migration = migration_of(vms, pod);

	return migration != NULL && migration_is_on_its_way(migration) &&
		strcmp(migration->target, pod->node_name) != 0;
}

/* NULL: nothing forbids it, as far as migrations and pods say. */
static const char *why_not_by_pod(const struct recorded_vms *vms,
	const struct pod *pod)
{
	if (is_leaving(vms, pod)) {
		return "is on its way to another node";
	}
	if (migration_of(vms, pod) != NULL) {
		return "is being migrated";
	}
	return !vms->has_vmis && pod->is_deleting ? "is being deleted" : NULL;
}

static void explain(struct buffer *why, const struct recorded_vms *vms,
	const struct pod *pod, const struct node *node)
{
	const struct vmi *vmi = inventory_vmi(&vms->inventory, pod->vmi_uid);
	const char *words = why_not_by_pod(vms, pod);

	if (words != NULL || !vms->has_vmis) {
		buffer_text(why, words == NULL ? "" : words);
		return;
	}
	if (movability_check(vmi, pod, node, &vms->state->cluster, why) &&
		strcmp(pod->scheduler_name, vms->scheduler_name) != 0) {
		buffer_text(why, "is placed by another scheduler");
	}
}

/* Files are made by hand as well. Each launcher pod of KubeVirt selects nodes
 * with this label: where the pod does not, the nodes of the file lack it. */
static void free_label(struct next_pod *next, const struct pod *running)
{
	struct interner *interner = running->interner;
	uint32_t key = interner_find(interner, "kubevirt.io/schedulable");
	struct labels rest, kept;

	if (labels_get(&running->node_selector, key) != 0) {
		return;
	}
	rest = labels_without(&next->selector, key);
	kept = labels_copy(&rest, interner, 0);
	free(rest.slots);
	labels_fini(&next->selector, interner);
	next->selector = kept;
	next->pod.node_selector = kept;
}

static bool derive(struct recorded_vms *vms, struct next_pod *out,
	const struct pod *pod, const struct labels *source, struct buffer *why)
{
	const struct vmi *vmi = inventory_vmi(&vms->inventory, pod->vmi_uid);
	bool is_known = next_pod_derive(out, &vms->templates,
		&(const struct next_pod_question){
			.vm = vmi == NULL ? NULL : &vmi->launcher,
			.settings = &vms->settings,
			.running = pod,
			.source = source },
		why);

	if (is_known) {
		free_label(out, pod);
	}
	return is_known;
}

/* The next pods of the VM; without VMIs they count as the pod that runs. */
static void add_pods(struct recorded_vms *vms, struct pod *pod,
	const struct node *node, struct buffer *why)
{
	scoped_buffer struct buffer words = BUFFER_MAX(WHY_MAX);
	struct recorded_pods *pods = &vms->pods[vms->count];

	if (!vms->has_vmis) {
		return;
	}
	if (derive(vms, &pods->migrated, pod, &node->labels, &words)) {
		pod->migrated = &pods->migrated.pod;
	} else if (why->len == 0) {
		buffer_printf(why,
			"cannot be moved, because its next pod is not known: "
			"%s",
			words.data);
	}
	if (derive(vms, &pods->restarted, pod, NULL, &words)) {
		pod->restarted = &pods->restarted.pod;
	}
}

static char *why_not(struct recorded_vms *vms, struct pod *pod,
	const struct node *node)
{
	scoped_buffer struct buffer why = BUFFER_MAX(WHY_MAX);

	explain(&why, vms, pod, node);
	add_pods(vms, pod, node, &why);
	return why.len == 0 ? NULL : xstrndup(why.data, why.len);
}

/* The VM itself: neither the target of its migration, nor the place that is
 * held for it. */
static bool runs_vm(const struct pod *pod)
{
	return pod->is_vm && !pod->is_target && !pod->is_provisional;
}

/* A VM's figures are found by its pod's uid. */
static int check_uids(const struct recorded_state *state, struct error *err)
{
	struct map seen = { 0 };
	int r = 0;

	for (size_t i = 0; i < state->pod_count && r == 0; i++) {
		struct pod *pod = state->pods[i];

		if (pod->is_vm &&
			(*pod->uid == '\0' ||
				map_put(&seen, pod->uid, pod) != NULL)) {
			r = error_set(err, -EBADMSG,
				"pod '%.100s/%.100s' has no uid of its own",
				pod->namespace, pod->name);
		}
	}
	map_fini(&seen);
	return r;
}

static void add_vms(struct recorded_vms *vms)
{
	const struct recorded_state *state = vms->state;
	struct map slots = { 0 };

	for (size_t i = 0; i < state->cluster.count; i++) {
		struct node **slot = &state->cluster.nodes[i];

		(void)map_put(&slots, (*slot)->name, slot);
	}
	vms->list = xcalloc(state->pod_count + 1, sizeof(*vms->list));
	vms->texts = xcalloc(state->pod_count + 1, sizeof(*vms->texts));
	vms->pods = xcalloc(state->pod_count + 1, sizeof(*vms->pods));
	for (size_t i = 0; i < state->pod_count; i++) {
		struct pod *pod = state->pods[i];
		struct node **slot = map_get(&slots, pod->node_name);

		if (slot == NULL || !runs_vm(pod)) {
			continue;
		}
		vms->texts[vms->count] = why_not(vms, pod, *slot);
		vms->list[vms->count] = (struct plan_vm){
			.pod = pod,
			.node = (size_t)(slot - state->cluster.nodes),
			.why_not = vms->texts[vms->count],
			.is_leaving = is_leaving(vms, pod),
		};
		vms->count++;
	}
	map_fini(&slots);
}

/* ---- nodes ---- */

/* Without the list of migrations, target pods alone tell of them. */
static const char *why_left_alone(struct recorded_vms *vms,
	const struct node *node)
{
	struct kubevirt_node work = inventory_node(&vms->inventory, node->name);
	const char *why = vms->state->has_load
		? node_exclusion(node, &work, vms->state->now_us)
		: node_exclusion_by_work(node, &work);

	if (why == NULL && !vms->has_migrations &&
		node->vms.arriving_count > 0) {
		return "has a VM on its way to it";
	}
	return why;
}

static void add_exclusions(struct recorded_vms *vms)
{
	const struct cluster *cluster = &vms->state->cluster;

	vms->exclusions = xcalloc(cluster->count + 1, sizeof(*vms->exclusions));
	for (size_t i = 0; i < cluster->count; i++) {
		vms->exclusions[i] = why_left_alone(vms, cluster->nodes[i]);
	}
}

int recorded_vms_read(struct recorded_vms *out,
	const struct recorded_state *state, const struct json_value *input,
	const char *scheduler_name, struct error *err)
{
	static const struct inventory_handler nobody = { 0 };
	int r;

	*out = (struct recorded_vms){
		.state = state,
		.scheduler_name = scheduler_name,
	};
	inventory_init(&out->inventory, &state->cluster, &nobody);
	out->templates.interner = state->cluster.interner;
	r = read_kubevirt(out, input, err);
	r = r < 0 ? r : read_vmis(out, input, err);
	r = r < 0 ? r : read_migrations(out, input, err);
	r = r < 0 ? r : read_targets(out, input, err);
	r = r < 0 ? r : check_uids(state, err);
	if (r == 0) {
		add_vms(out);
		add_exclusions(out);
	}
	return r;
}
