#include "scheduler/offline/load_json.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "kube/json_fields.h"
#include "lib/memory.h"

/* NAN: missing, null or negative. */
static int read_figure(double *out, const struct json_value *v,
	const char *what, struct error *err)
{
	double number = NAN;

	*out = NAN;
	if (v == NULL || json_value_is_null(v)) {
		return 0;
	}
	if (!json_value_number(&number, v)) {
		return error_set(err, -EBADMSG, "'%s' is not a number", what);
	}
	*out = number >= 0 ? number : NAN;
	return 0;
}

static int read_figures(struct node_load *load, const struct json_value *object,
	struct error *err)
{
	int r = 0;

	for (size_t i = 0; i < load_field_count && r == 0; i++) {
		const struct load_field *field = &load_fields[i];
		const struct json_value *group =
			json_value_get(object, field->group);

		if (group != NULL && !json_value_is_object(group)) {
			return error_set(err, -EBADMSG, "'%s' is not an object",
				field->group);
		}
		r = read_figure(load_field_of(load, field),
			json_value_get(group, field->name), field->name, err);
	}
	return r;
}

static void read_kvm(struct node_load *load, const struct json_value *kvm)
{
	const char *state = json_value_text_at(kvm, "state", "unverified");

	load->kvm_state = KVM_UNVERIFIED;
	for (int i = 0; i < KVM_STATES; i++) {
		if (strcmp(kvm_state_name((enum kvm_state)i), state) == 0) {
			load->kvm_state = (enum kvm_state)i;
		}
	}
	strncpy(load->kvm_detail, json_value_text_at(kvm, "detail", ""),
		sizeof(load->kvm_detail) - 1);
}

static int read_vm(struct vm_load *vm, const struct json_value *object,
	struct error *err)
{
	const struct {
		const char *key;
		double *out;
	} figures[] = {
		{ "used_cores", &vm->used_cores },
		{ "used_cores_5m", &vm->used_cores_5m },
		{ "memory_bytes", &vm->memory_bytes },
		{ "contention", &vm->contention },
		{ "memory_pressure", &vm->memory_pressure },
		{ "io_pressure", &vm->io_pressure },
		{ "swap_bytes", &vm->swap_bytes },
	};
	const char *uid = json_value_text_at(object, "pod_uid", "");
	int r = 0;

	vm_load_init(vm);
	if (*uid == '\0' || strlen(uid) >= sizeof(vm->pod_uid)) {
		return error_set(err, -EBADMSG, "a VM has no valid pod_uid");
	}
	strncpy(vm->pod_uid, uid, sizeof(vm->pod_uid) - 1);
	for (size_t i = 0; i < count_of(figures) && r == 0; i++) {
		r = read_figure(figures[i].out,
			json_value_get(object, figures[i].key), figures[i].key,
			err);
	}
	return r;
}

static int read_vms(struct node_load *load, const struct json_value *object,
	struct error *err)
{
	const struct json_value *list = NULL;
	int r = json_fields_optional_list(&list, object, "vms",
		LOAD_JSON_VMS_MAX, err);
	scoped_free struct vm_name *names =
		xcalloc(json_value_count(list), sizeof(*names));

	load->vms = xcalloc(json_value_count(list), sizeof(*load->vms));
	for (const struct json_value *v = json_value_first(list);
		v != NULL && r == 0; v = json_value_next(v)) {
		names[load->vm_count] = (struct vm_name){
			json_value_text(json_value_get(v, "namespace")),
			json_value_text(json_value_get(v, "name")),
		};
		r = read_vm(&load->vms[load->vm_count++], v, err);
	}
	node_load_name_vms(load, names);
	return r;
}

/* REPORT_UNKNOWN: missing, null or negative. */
static int read_count(uint64_t *out, const struct json_value *object,
	const char *key, struct error *err)
{
	double number;
	int r = read_figure(&number, json_value_get(object, key), key, err);

	*out = isnan(number) ? REPORT_UNKNOWN : (uint64_t)fmin(number, 1e18);
	return r;
}

static int read_hugepages(struct node_load *load,
	const struct json_value *object, struct error *err)
{
	const struct json_value *list = NULL;
	int r = json_fields_optional_list(&list, object, "hugepages",
		REPORT_HUGEPAGE_SIZES, err);

	for (const struct json_value *v = json_value_first(list);
		v != NULL && r == 0; v = json_value_next(v)) {
		struct hugepages *pages =
			&load->hugepages[load->hugepages_count++];

		r = read_count(&pages->size_bytes, v, "size_bytes", err);
		r = r < 0 ? r : read_count(&pages->total, v, "total", err);
		r = r < 0 ? r : read_count(&pages->free, v, "free", err);
		r = r < 0 ? r
			  : read_count(&pages->reserved, v, "reserved", err);
	}
	return r;
}

/* Without an age, a node is fresh only if its state says so. Ages above a year
 * count as a year. */
static int read_age(uint64_t *out_us, const struct json_value *object,
	struct error *err)
{
	const double year_s = 365.0 * 86400;
	const char *state = json_value_text_at(object, "state", "");
	double age_s = NAN;
	int r = read_figure(&age_s, json_value_get(object, "age_s"), "age_s",
		err);

	if (isnan(age_s)) {
		age_s = strcmp(state, "fresh") == 0 ? 0 : year_s;
	}
	*out_us = (uint64_t)(fmin(age_s, year_s) * 1e6);
	return r;
}

/* *load is left for node_load_fini() on failure too. */
static int read_node(struct node_load *load, const struct json_value *object,
	struct error *err)
{
	const char *name = json_value_text_at(object, "name", "");
	int r;

	node_load_init(load);
	if (*name == '\0') {
		return error_set(err, -EBADMSG, "a node's load has no name");
	}
	load->name = xstrdup(name);
	r = read_age(&load->age_us, object, err);
	r = r < 0 ? r : read_figures(load, object, err);
	r = r < 0 ? r : read_hugepages(load, object, err);
	r = r < 0 ? r : read_vms(load, object, err);
	read_kvm(load, json_value_get(object, "kvm"));
	return r < 0 ? error_wrap(err, r, "load of node '%s'", name) : 0;
}

int load_answer_read(struct load_answer *out, const struct json_value *answer,
	struct error *err)
{
	const struct json_value *list = NULL;
	struct load_answer read = { 0 };
	int r = json_fields_list(&list, answer, "nodes", LOAD_JSON_NODES_MAX,
		err);

	if (r < 0) {
		return error_wrap(err, r, "load");
	}
	read.has_now =
		json_value_number(&read.now_s, json_value_get(answer, "now"));
	read.nodes = xcalloc(json_value_count(list) + 1, sizeof(*read.nodes));
	for (const struct json_value *v = json_value_first(list);
		v != NULL && r == 0; v = json_value_next(v)) {
		r = read_node(&read.nodes[read.count++], v, err);
	}
	if (r < 0) {
		load_answer_fini(&read);
		return r;
	}
	*out = read;
	return 0;
}

void load_answer_fini(struct load_answer *answer)
{
	for (size_t i = 0; i < answer->count; i++) {
		node_load_fini(&answer->nodes[i]);
	}
	free(answer->nodes);
	*answer = (struct load_answer){ 0 };
}
