#include "scheduler/offline/scenario_import.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "kube/json_value.h"
#include "lib/files.h"
#include "lib/map.h"
#include "lib/memory.h"
#include "scheduler/objects/interner.h"
#include "scheduler/cluster/node.h"
#include "scheduler/objects/pod.h"
#include "scheduler/offline/json_fields.h"

/* As in scenario.c: 2^50. */
static const double amount_max = 1125899906842624.0;
static const double cores_max = 1e6;

struct sizes {
	struct names *names;
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
	names_free(sizes->names);
}

static int take_pod(struct sizes *sizes, const struct value *object,
	struct error *err)
{
	struct pod *pod = NULL;
	int r = pod_new(&pod, sizes->names, object, POD_PLACED, err);

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

static int take_node(struct sizes *sizes, const struct value *object,
	struct error *err)
{
	struct node *node = NULL;
	int r = node_new(&node, sizes->names, object, err);

	if (r == 0) {
		node_free(map_put(&sizes->nodes, node->name, node));
	}
	return r;
}

static int read_sizes(struct sizes *sizes, const struct value *input,
	struct error *err)
{
	const struct value *list = value_get(input, "items");
	int r = 0;

	if (!value_is_array(list)) {
		return error_set(err, -EBADMSG,
			"the objects are no List: 'items' is not a list");
	}
	for (const struct value *v = value_first(list); v != NULL && r == 0;
		v = value_next(v)) {
		const char *kind = value_text_at(v, "kind", "");

		if (strcmp(kind, "Pod") == 0) {
			r = take_pod(sizes, v, err);
		} else if (strcmp(kind, "Node") == 0) {
			r = take_node(sizes, v, err);
		}
	}
	return r;
}

/* ---- nodes ---- */

static bool is_amount(int64_t amount, double max)
{
	return amount >= 0 && (double)amount <= max;
}

/* False: not both are known, what was measured and what is for pods. */
static bool size_node(struct scenario_node *out, const struct sizes *sizes,
	const struct value *v)
{
	const struct node *node = map_get(&sizes->nodes, out->name);

	if (node == NULL ||
		!value_number(&out->cpu_cores, value_get(v, "cpu_cores")) ||
		!(out->cpu_cores >= 0.001 && out->cpu_cores <= cores_max) ||
		!is_amount(node->memory_bytes, amount_max) ||
		!is_amount(node->pods, 1e6)) {
		return false;
	}
	out->memory_bytes = node->memory_bytes;
	out->pods = node->pods;
	return true;
}

static int read_nodes(struct scenario *s, struct recorded_gaps *gaps,
	const struct sizes *sizes, const struct value *input, struct error *err)
{
	const struct value *list = NULL;
	struct map seen = { 0 };
	int r = scenario_list(&list, input, "nodes", SCENARIO_NODES_MAX, err);

	s->nodes = xcalloc(value_count(list) + 1, sizeof(*s->nodes));
	for (const struct value *v = value_first(list); v != NULL && r == 0;
		v = value_next(v)) {
		struct scenario_node *node = &s->nodes[s->node_count];

		r = scenario_name(&node->name, v, "name", err);
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
	const struct value *v)
{
	const char *namespace = value_text_at(v, "namespace", "");
	const char *name = value_text_at(v, "name", "");
	scoped_free char *key = xasprintf("%s/%s", namespace, name);
	const struct value *uids = value_get(v, "pod_uids");

	for (const struct value *u = value_first(uids); u != NULL;
		u = value_next(u)) {
		const struct pod *pod = value_text(u) == NULL
			? NULL
			: map_get(&sizes->by_uid, value_text(u));

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

/* NAN where it is null. */
static int read_used(double *out, const struct value *v, struct error *err)
{
	*out = NAN;
	if (value_is_null(v)) {
		return 0;
	}
	if (!value_number(out, v) || !(*out >= 0 && *out <= cores_max)) {
		return error_set(err, -EBADMSG,
			"'used_cores' holds what is no number of cores");
	}
	return 0;
}

/* What is not known is as it was before, or at the first step as it was at the
 * first that is known. */
static int read_use(struct scenario_vm *vm, struct recorded_gaps *gaps,
	const struct value *list, struct error *err)
{
	double last = NAN;
	size_t step = vm->arrive_step;

	for (const struct value *v = value_first(list);
		v != NULL && isnan(last); v = value_next(v)) {
		int r = read_used(&last, v, err);

		if (r < 0) {
			return r;
		}
	}
	for (const struct value *v = value_first(list); v != NULL;
		v = value_next(v), step++) {
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

/* In cores times steps; -1: nothing is known. */
static double sum_of(const struct value *list)
{
	double sum = -1;

	for (const struct value *v = value_first(list); v != NULL;
		v = value_next(v)) {
		double used;

		if (value_number(&used, v) && used >= 0 && used <= cores_max) {
			sum = fmax(sum, 0) + used;
		}
	}
	return sum;
}

static int read_stay(struct scenario_vm *vm, const struct value **used,
	const struct value *v, size_t steps, struct error *err)
{
	int r = scenario_step(&vm->arrive_step, v, "arrive_step", steps, err);

	if (r == 0) {
		r = scenario_step(&vm->leave_step, v, "leave_step", steps, err);
	}
	if (r == 0) {
		r = scenario_list(used, v, "used_cores", steps, err);
	}
	if (r == 0 &&
		(vm->leave_step < vm->arrive_step ||
			value_count(*used) !=
				vm->leave_step - vm->arrive_step)) {
		r = error_set(err, -EBADMSG,
			"'used_cores' holds %zu steps, from %zu up to %zu",
			value_count(*used), vm->arrive_step, vm->leave_step);
	}
	return r;
}

static int read_vm(struct scenario *s, struct recorded_gaps *gaps,
	const struct sizes *sizes, const struct value *v, struct error *err)
{
	struct scenario_vm *vm = &s->vms[s->vm_count];
	const struct value *used = NULL;
	double sum;
	int r = read_stay(vm, &used, v, s->steps, err);

	if (r == 0 && s->vm_count > 0 && vm->arrive_step < vm[-1].arrive_step) {
		r = error_set(err, -EBADMSG,
			"it arrives before one listed before it");
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
	return read_use(vm, gaps, used, err);
}

static int read_vms(struct scenario *s, struct recorded_gaps *gaps,
	const struct sizes *sizes, const struct value *input, struct error *err)
{
	const struct value *list = NULL;
	size_t number = 1;
	int r = scenario_list(&list, input, "vms", SCENARIO_VMS_MAX, err);

	if (r == 0) {
		r = scenario_check_size(s, value_count(list), err);
	}
	if (r < 0) {
		return r;
	}
	s->vms = xcalloc(value_count(list) + 1, sizeof(*s->vms));
	for (const struct value *v = value_first(list); v != NULL && r == 0;
		v = value_next(v), number++) {
		r = read_vm(s, gaps, sizes, v, err);
		if (r < 0) {
			r = error_wrap(err, r, "VM %zu", number);
		}
	}
	return r;
}

static int check_rest(const struct scenario *s, struct error *err)
{
	if (s->node_count == 0) {
		return error_set(err, -ENODATA,
			"no node is in both the record and the objects");
	}
	if (s->vm_count == 0) {
		return error_set(err, -ENODATA,
			"no VM is in both the record and the objects");
	}
	return 0;
}

static int read_all(struct scenario *s, struct recorded_gaps *gaps,
	struct sizes *sizes, const struct value *const inputs[2],
	struct error *err)
{
	int r = read_sizes(sizes, inputs[1], err);

	if (r == 0) {
		r = scenario_time(s, inputs[0], err);
	}
	if (r == 0) {
		r = read_nodes(s, gaps, sizes, inputs[0], err);
	}
	if (r == 0) {
		r = read_vms(s, gaps, sizes, inputs[0], err);
	}
	return r < 0 ? r : check_rest(s, err);
}

int recorded_parse(struct scenario *out, struct recorded_gaps *gaps,
	const struct recorded_text *text, struct error *err)
{
	struct scenario s = { 0 };
	struct recorded_gaps found = { 0 };
	struct sizes sizes = { .names = names_new() };
	struct value *record = NULL;
	struct value *objects = NULL;
	int r = value_parse(&record, text->record, text->record_len, err);

	if (r == 0) {
		r = value_parse(&objects, text->objects, text->objects_len,
			err);
		r = r < 0 ? error_wrap(err, r, "the objects") : 0;
	}
	if (r == 0) {
		const struct value *const inputs[] = { record, objects };

		r = read_all(&s, &found, &sizes, inputs, err);
	}
	sizes_fini(&sizes);
	value_free(record);
	value_free(objects);
	if (r < 0) {
		scenario_fini(&s);
		return r;
	}
	*out = s;
	*gaps = found;
	return 0;
}

static int read_text(struct buffer *out, const char *path, struct error *err)
{
	return file_read(out, strcmp(path, "-") == 0 ? "/dev/stdin" : path,
		err);
}

int recorded_read(struct scenario *out, struct recorded_gaps *gaps,
	const char *record, const char *objects, struct error *err)
{
	scoped_buffer struct buffer first = BUFFER_MAX(SCENARIO_FILE_MAX);
	scoped_buffer struct buffer second = BUFFER_MAX(RECORDED_OBJECTS_MAX);
	int r = read_text(&first, record, err);

	if (r == 0) {
		r = read_text(&second, objects, err);
	}
	if (r == 0) {
		const struct recorded_text text = {
			.record = first.data != NULL ? first.data : "",
			.record_len = first.len,
			.objects = second.data != NULL ? second.data : "",
			.objects_len = second.len,
		};

		r = recorded_parse(out, gaps, &text, err);
	}
	return r;
}

void recorded_explain(struct buffer *out, const struct recorded_gaps *gaps)
{
	if (gaps->nodes_left_out > 0) {
		buffer_printf(out,
			"%zu of %zu nodes are left out: the record or the "
			"objects do not say how large they are\n",
			gaps->nodes_left_out, gaps->nodes);
	}
	if (gaps->vms_left_out > 0) {
		double all = fmax(gaps->cores, 1e-9);

		buffer_printf(out,
			"%zu of %zu VMs, with %.1f %% of the CPU that was "
			"used, are left out: the record does not say what "
			"they used, or the objects not how large they are\n",
			gaps->vms_left_out, gaps->vms,
			100 * gaps->cores_left_out / all);
	}
	if (gaps->steps_filled > 0) {
		buffer_printf(out,
			"%zu of %zu steps of VMs were not recorded: what was "
			"known before stands in for them\n",
			gaps->steps_filled, gaps->steps);
	}
}
