#include "simulate/scenario_import.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "kube/json_fields.h"
#include "kube/json_value.h"
#include "lib/interner.h"
#include "lib/map.h"
#include "lib/memory.h"
#include "scheduler/cluster/node.h"
#include "scheduler/objects/pod.h"

/* 2^50, as in offline/scenario.c. */
static const double amount_max = 1125899906842624.0;
static const double cores_max = 1e6;

struct sizes {
	struct interner *interner;
	struct pod **pods; /* owned; of VMs */
	size_t pod_count, pod_capacity;
	struct map by_uid, by_vm; /* to struct pod, borrowed */
	struct map nodes;	  /* to struct node, owned */
};

static void sizes_fini(struct sizes *sizes)
{
	size_t at = 0;
	void *node;

	for (size_t i = 0; i < sizes->pod_count; i++) {
		pod_free(sizes->pods[i]);
	}
	free(sizes->pods);
	while (map_next(&sizes->nodes, &at, NULL, &node)) {
		node_free(node);
	}
	map_fini(&sizes->nodes);
	map_fini(&sizes->by_uid);
	map_fini(&sizes->by_vm);
	interner_free(sizes->interner);
}

static int add_pod(struct sizes *sizes, const struct json_value *object,
	struct error *err)
{
	struct pod *pod = NULL;
	int r = pod_new(&pod, sizes->interner, object, POD_SCHEDULED, err);

	if (r < 0) {
		return r;
	}
	if (!pod->is_vm) {
		pod_free(pod);
		return 0;
	}
	sizes->pods = xgrow(sizes->pods, sizes->pod_count, &sizes->pod_capacity,
		sizeof(struct pod *));
	sizes->pods[sizes->pod_count++] = pod;
	(void)map_put(&sizes->by_uid, pod->uid, pod);
	if (*pod->vm_name != '\0') {
		scoped_free char *key =
			xasprintf("%s/%s", pod->namespace, pod->vm_name);

		(void)map_put(&sizes->by_vm, key, pod);
	}
	return 0;
}

static int add_node(struct sizes *sizes, const struct json_value *object,
	struct error *err)
{
	struct node *node = NULL;
	int r = node_new(&node, sizes->interner, object, err);

	if (r == 0) {
		node_free(map_put(&sizes->nodes, node->name, node));
	}
	return r;
}

static int read_sizes(struct sizes *sizes, const struct json_value *input,
	struct error *err)
{
	const struct json_value *list = NULL;
	int r = json_fields_list(&list, input, "items", SIZE_MAX, err);

	if (r < 0) {
		return error_wrap(err, r, "the objects are not a List");
	}
	for (const struct json_value *v = json_value_first(list);
		v != NULL && r == 0; v = json_value_next(v)) {
		const char *kind = json_value_text_at(v, "kind", "");

		if (strcmp(kind, "Pod") == 0) {
			r = add_pod(sizes, v, err);
		} else if (strcmp(kind, "Node") == 0) {
			r = add_node(sizes, v, err);
		}
	}
	return r;
}

/* ---- nodes ---- */

static bool is_amount(int64_t amount, double max)
{
	return amount >= 0 && (double)amount <= max;
}

/* False: the node's cores or allocatable resources are unknown. */
static bool size_node(struct scenario_node *out, const struct sizes *sizes,
	const struct json_value *v)
{
	const struct node *node = map_get(&sizes->nodes, out->name);

	if (node == NULL ||
		!json_value_number(&out->cpu_cores,
			json_value_get(v, "cpu_cores")) ||
		!(out->cpu_cores >= 0.001 && out->cpu_cores <= cores_max) ||
		!is_amount(node->memory_bytes, amount_max) ||
		!is_amount(node->max_pods, 1e6)) {
		return false;
	}
	out->memory_bytes = node->memory_bytes;
	out->pods = node->max_pods;
	return true;
}

static int read_nodes(struct scenario *s, struct scenario_import_gaps *gaps,
	const struct sizes *sizes, const struct json_value *input,
	struct error *err)
{
	const struct json_value *list = NULL;
	struct map seen = { 0 };
	int r = json_fields_list(&list, input, "nodes", SCENARIO_NODES_MAX,
		err);

	s->nodes = xcalloc(json_value_count(list) + 1, sizeof(*s->nodes));
	for (const struct json_value *v = json_value_first(list);
		v != NULL && r == 0; v = json_value_next(v)) {
		struct scenario_node *node = &s->nodes[s->node_count];

		r = json_fields_name(&node->name, v, "name", err);
		if (r < 0) {
			break;
		}
		gaps->nodes++;
		if (size_node(node, sizes, v) &&
			map_put(&seen, node->name, node) == NULL) {
			s->node_count++;
			continue;
		}
		gaps->nodes_left_out++;
		free(node->name);
		*node = (struct scenario_node){ 0 };
	}
	map_fini(&seen);
	return r;
}

/* ---- VMs ---- */

static const struct pod *find_pod(const struct sizes *sizes,
	const struct json_value *v)
{
	const char *namespace = json_value_text_at(v, "namespace", "");
	const char *name = json_value_text_at(v, "name", "");
	scoped_free char *key = xasprintf("%s/%s", namespace, name);
	const struct json_value *uids = json_value_get(v, "pod_uids");

	for (const struct json_value *u = json_value_first(uids); u != NULL;
		u = json_value_next(u)) {
		const struct pod *pod = json_value_text(u) == NULL
			? NULL
			: map_get(&sizes->by_uid, json_value_text(u));

		if (pod != NULL) {
			return pod;
		}
	}
	return map_get(&sizes->by_vm, key);
}

static bool size_vm(struct scenario_vm *vm, const struct pod *pod)
{
	if (pod == NULL || !is_amount(pod->requests.memory_bytes, amount_max) ||
		!is_amount(pod->requests.cpu_milli, amount_max)) {
		return false;
	}
	vm->namespace = xstrdup(pod->namespace);
	vm->name = xstrdup(*pod->vm_name != '\0' ? pod->vm_name : pod->name);
	vm->vcpus = pod->vcpus;
	vm->memory_bytes = pod->requests.memory_bytes;
	vm->cpu_request_milli = pod->requests.cpu_milli;
	return true;
}

/* NAN for null. */
static int read_used(double *out, const struct json_value *v, struct error *err)
{
	*out = NAN;
	if (json_value_is_null(v)) {
		return 0;
	}
	if (!json_value_number(out, v) || !(*out >= 0 && *out <= cores_max)) {
		return error_set(err, -EBADMSG,
			"'used_cores' holds an invalid number of cores");
	}
	return 0;
}

/* A step without data repeats the step before; the first steps repeat the first
 * step with data. */
static int read_usage(struct scenario_vm *vm, struct scenario_import_gaps *gaps,
	const struct json_value *list, struct error *err)
{
	double last = NAN;
	size_t step = vm->arrive_step;

	for (const struct json_value *v = json_value_first(list);
		v != NULL && isnan(last); v = json_value_next(v)) {
		int r = read_used(&last, v, err);

		if (r < 0) {
			return r;
		}
	}
	for (const struct json_value *v = json_value_first(list); v != NULL;
		v = json_value_next(v), step++) {
		double used;
		int r = read_used(&used, v, err);

		if (r < 0) {
			return r;
		}
		gaps->steps++;
		gaps->steps_filled += isnan(used) ? 1 : 0;
		last = isnan(used) ? last : used;
		vm->cpu_percent[step] = (float)(100 * last / vm->vcpus);
	}
	return 0;
}

/* In cores times steps; -1: no data. */
static double sum_of(const struct json_value *list)
{
	double sum = -1;

	for (const struct json_value *v = json_value_first(list); v != NULL;
		v = json_value_next(v)) {
		double used;

		if (json_value_number(&used, v) && used >= 0 &&
			used <= cores_max) {
			sum = fmax(sum, 0) + used;
		}
	}
	return sum;
}

static int read_lifetime(struct scenario_vm *vm, const struct json_value **used,
	const struct json_value *v, size_t steps, struct error *err)
{
	int r = json_fields_step(&vm->arrive_step, v, "arrive_step", steps,
		err);

	if (r == 0) {
		r = json_fields_step(&vm->leave_step, v, "leave_step", steps,
			err);
	}
	r = r < 0 ? r : json_fields_list(used, v, "used_cores", steps, err);
	if (r == 0 &&
		(vm->leave_step < vm->arrive_step ||
			json_value_count(*used) !=
				vm->leave_step - vm->arrive_step)) {
		r = error_set(err, -EBADMSG,
			"'used_cores' holds %zu steps, from %zu up to %zu",
			json_value_count(*used), vm->arrive_step,
			vm->leave_step);
	}
	return r;
}

static int read_vm(struct scenario *s, struct scenario_import_gaps *gaps,
	const struct sizes *sizes, const struct json_value *v,
	struct error *err)
{
	struct scenario_vm *vm = &s->vms[s->vm_count];
	const struct json_value *used = NULL;
	double sum;
	int r = read_lifetime(vm, &used, v, s->steps, err);

	if (r == 0 && s->vm_count > 0 && vm->arrive_step < vm[-1].arrive_step) {
		r = error_set(err, -EBADMSG,
			"arrives before the VM listed before it");
	}
	if (r < 0) {
		return r;
	}
	sum = sum_of(used);
	gaps->vms++;
	gaps->cores += fmax(sum, 0);
	if (sum < 0 || !size_vm(vm, find_pod(sizes, v))) {
		gaps->vms_left_out++;
		gaps->cores_left_out += fmax(sum, 0);
		*vm = (struct scenario_vm){ 0 };
		return 0;
	}
	s->vm_count++;
	vm->cpu_percent = xcalloc(s->steps, sizeof(*vm->cpu_percent));
	return read_usage(vm, gaps, used, err);
}

static int read_vms(struct scenario *s, struct scenario_import_gaps *gaps,
	const struct sizes *sizes, const struct json_value *input,
	struct error *err)
{
	const struct json_value *list = NULL;
	size_t number = 1;
	int r = scenario_open_vms(s, &list, input, err);

	for (const struct json_value *v = json_value_first(list);
		v != NULL && r == 0; v = json_value_next(v), number++) {
		r = read_vm(s, gaps, sizes, v, err);
		if (r < 0) {
			r = error_wrap(err, r, "VM %zu", number);
		}
	}
	return r;
}

static int check_rest(const struct scenario *s, struct error *err)
{
	if (s->node_count > 0 && s->vm_count > 0) {
		return 0;
	}
	return error_set(err, -ENODATA,
		"no %s is in both the recording and the objects",
		s->node_count == 0 ? "node" : "VM");
}

int scenario_import_parse(struct scenario *out,
	struct scenario_import_gaps *gaps,
	const struct scenario_import_text *text, struct error *err)
{
	struct scenario s = { 0 };
	struct scenario_import_gaps found = { 0 };
	struct sizes sizes = { .interner = interner_new() };
	struct json_value *record = NULL;
	struct json_value *objects = NULL;
	int r = json_value_parse(&record, text->record, text->record_len, err);

	if (r == 0) {
		r = json_value_parse(&objects, text->objects, text->objects_len,
			err);
		r = r < 0 ? error_wrap(err, r, "the objects") : 0;
	}
	r = r < 0 ? r : read_sizes(&sizes, objects, err);
	r = r < 0 ? r : scenario_time(&s, record, err);
	r = r < 0 ? r : read_nodes(&s, &found, &sizes, record, err);
	r = r < 0 ? r : read_vms(&s, &found, &sizes, record, err);
	r = r < 0 ? r : check_rest(&s, err);
	sizes_fini(&sizes);
	json_value_free(record);
	json_value_free(objects);
	if (r < 0) {
		scenario_fini(&s);
		return r;
	}
	*out = s;
	*gaps = found;
	return 0;
}

int scenario_import_read(struct scenario *out,
	struct scenario_import_gaps *gaps, const char *record,
	const char *objects, struct error *err)
{
	scoped_buffer struct buffer first = BUFFER_MAX(SCENARIO_FILE_MAX);
	scoped_buffer struct buffer second =
		BUFFER_MAX(SCENARIO_IMPORT_OBJECTS_MAX);
	int r = json_fields_read_file(&first, record, err);

	r = r < 0 ? r : json_fields_read_file(&second, objects, err);
	if (r == 0) {
		const struct scenario_import_text text = {
			.record = first.data,
			.record_len = first.len,
			.objects = second.data,
			.objects_len = second.len,
		};

		r = scenario_import_parse(out, gaps, &text, err);
	}
	return r;
}

void scenario_import_explain(struct buffer *out,
	const struct scenario_import_gaps *gaps)
{
	if (gaps->nodes_left_out > 0) {
		buffer_printf(out,
			"%zu of %zu nodes are left out: the recording or the "
			"objects do not have their size\n",
			gaps->nodes_left_out, gaps->nodes);
	}
	if (gaps->vms_left_out > 0) {
		double all = fmax(gaps->cores, 1e-9);

		buffer_printf(out,
			"%zu of %zu VMs, with %.1f %% of the CPU that was "
			"used, are left out: the recording does not have their "
			"usage, or the objects do not have their size\n",
			gaps->vms_left_out, gaps->vms,
			100 * gaps->cores_left_out / all);
	}
	if (gaps->steps_filled > 0) {
		buffer_printf(out,
			"%zu of %zu steps of VMs were not recorded: each "
			"repeats the last known value\n",
			gaps->steps_filled, gaps->steps);
	}
}
