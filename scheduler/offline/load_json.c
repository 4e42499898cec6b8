#include "scheduler/offline/load_json.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "lib/memory.h"

/* Absent, null and negative figures are not known. */
static int read_figure(double *out, const struct value *v, const char *what,
	struct error *err)
{
	double number = NAN;

	*out = NAN;
	if (v == NULL || value_is_null(v)) {
		return 0;
	}
	if (!value_number(&number, v)) {
		return error_set(err, -EBADMSG, "'%s' is not a number", what);
	}
	*out = number >= 0 ? number : NAN;
	return 0;
}

static int read_figures(struct node_load *load, const struct value *object,
	struct error *err)
{
	int r = 0;

	for (size_t i = 0; i < load_field_count && r == 0; i++) {
		const struct load_field *field = &load_fields[i];
		const struct value *group = value_get(object, field->group);

		if (group != NULL && !value_is_object(group)) {
			return error_set(err, -EBADMSG, "'%s' is not an object",
				field->group);
		}
		r = read_figure(load_field_of(load, field),
			value_get(group, field->name), field->name, err);
	}
	return r;
}

static void read_kvm(struct node_load *load, const struct value *kvm)
{
	const char *state = value_text_at(kvm, "state", "unverified");

	load->kvm_state = KVM_UNVERIFIED;
	for (int i = 0; i < KVM_STATES; i++) {
		if (strcmp(kvm_state_name((enum kvm_state)i), state) == 0) {
			load->kvm_state = (enum kvm_state)i;
		}
	}
	strncpy(load->kvm_detail, value_text_at(kvm, "detail", ""),
		sizeof(load->kvm_detail) - 1);
}

static char *text_or_null(const struct value *object, const char *key)
{
	const char *text = value_text(value_get(object, key));

	return text != NULL ? xstrdup(text) : NULL;
}

static int read_vm(struct vm_load *vm, const struct value *object,
	struct error *err)
{
	const char *uid = value_text_at(object, "pod_uid", "");
	int r;

	vm_load_init(vm);
	if (*uid == '\0' || strlen(uid) >= sizeof(vm->pod_uid)) {
		return error_set(err, -EBADMSG, "a VM has no fitting pod_uid");
	}
	strncpy(vm->pod_uid, uid, sizeof(vm->pod_uid) - 1);
	r = read_figure(&vm->used_cores, value_get(object, "used_cores"),
		"used_cores", err);
	if (r == 0) {
		r = read_figure(&vm->used_cores_5m,
			value_get(object, "used_cores_5m"), "used_cores_5m",
			err);
	}
	if (r == 0) {
		r = read_figure(&vm->memory_bytes,
			value_get(object, "memory_bytes"), "memory_bytes", err);
	}
	if (r == 0) {
		r = read_figure(&vm->contention,
			value_get(object, "contention"), "contention", err);
	}
	vm->namespace = text_or_null(object, "namespace");
	vm->name = text_or_null(object, "name");
	return r;
}

static int check_list(const struct value *list, const char *what, size_t max,
	struct error *err)
{
	if (!value_is_array(list)) {
		return error_set(err, -EBADMSG, "'%s' is not a list", what);
	}
	if (value_count(list) > max) {
		return error_set(err, -E2BIG, "'%s' holds more than %zu", what,
			max);
	}
	return 0;
}

static int read_vms(struct node_load *load, const struct value *list,
	struct error *err)
{
	int r;

	if (list == NULL) {
		return 0;
	}
	r = check_list(list, "vms", LOAD_JSON_VMS_MAX, err);
	if (r < 0) {
		return r;
	}
	load->vms = xcalloc(value_count(list) + 1, sizeof(*load->vms));
	for (const struct value *v = value_first(list); v != NULL && r == 0;
		v = value_next(v)) {
		r = read_vm(&load->vms[load->vm_count++], v, err);
	}
	return r;
}

/* Without an age only a state of "fresh" makes it so: missing is never fresh.
 * Absurd ages are a year. */
static int read_age(uint64_t *out_us, const struct value *object,
	struct error *err)
{
	const double year_s = 365.0 * 86400;
	const char *state = value_text_at(object, "state", "");
	double age_s = NAN;
	int r = read_figure(&age_s, value_get(object, "age_s"), "age_s", err);

	if (isnan(age_s)) {
		age_s = strcmp(state, "fresh") == 0 ? 0 : year_s;
	}
	*out_us = (uint64_t)(fmin(age_s, year_s) * 1e6);
	return r;
}

/* *load is left for node_load_fini() on failure too. */
static int read_node(struct node_load *load, const struct value *object,
	struct error *err)
{
	const char *name = value_text_at(object, "name", "");
	int r;

	node_load_init(load);
	if (*name == '\0') {
		return error_set(err, -EBADMSG, "a node's load has no name");
	}
	load->name = xstrdup(name);
	r = read_age(&load->age_us, object, err);
	if (r == 0) {
		r = read_figures(load, object, err);
	}
	if (r == 0) {
		r = read_vms(load, value_get(object, "vms"), err);
	}
	read_kvm(load, value_get(object, "kvm"));
	return r < 0 ? error_wrap(err, r, "load of node '%s'", name) : 0;
}

int load_answer_read(struct load_answer *out, const struct value *answer,
	struct error *err)
{
	const struct value *list = value_get(answer, "nodes");
	struct load_answer read = { 0 };
	int r = check_list(list, "nodes", LOAD_JSON_NODES_MAX, err);

	if (r < 0) {
		return error_wrap(err, r, "load");
	}
	read.has_now = value_number(&read.now_s, value_get(answer, "now"));
	read.nodes = xcalloc(value_count(list) + 1, sizeof(*read.nodes));
	for (const struct value *v = value_first(list); v != NULL && r == 0;
		v = value_next(v)) {
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
