#include "simulate/scenario.h"

#include "kube/label_syntax.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "kube/json_fields.h"
#include "lib/map.h"
#include "lib/memory.h"
#include "scheduler/forecast/announcement.h"

/* 2^50: sums of half a million fit 64 bits. */
static const double amount_max = 1125899906842624.0;
static const double cores_max = 1e6;
static const double percent_max = 1e4;

int scenario_time(struct scenario *s, const struct json_value *input,
	struct error *err)
{
	int r = json_fields_number(&s->step_s, input, "step_s",
		(struct json_range){ 1, 86400 }, err);

	if (r == 0) {
		r = json_fields_step(&s->steps, input, "steps",
			SCENARIO_STEPS_MAX, err);
	}
	if (r == 0 && s->steps == 0) {
		r = error_set(err, -ERANGE, "'steps' is 0");
	}
	return r;
}

static int read_node(struct scenario_node *node, const struct json_value *v,
	struct error *err)
{
	int r = json_fields_name(&node->name, v, "name", err);

	if (r == 0) {
		r = json_fields_number(&node->cpu_cores, v, "cpu_cores",
			(struct json_range){ 0.001, cores_max }, err);
	}
	if (r == 0) {
		r = json_fields_whole(&node->memory_bytes, v, "memory_bytes",
			amount_max, err);
	}
	return r < 0 ? r : json_fields_whole(&node->pods, v, "pods", 1e6, err);
}

static int read_nodes(struct scenario *s, const struct json_value *input,
	struct error *err)
{
	const struct json_value *list = NULL;
	struct map names = { 0 };
	int r = json_fields_list(&list, input, "nodes", SCENARIO_NODES_MAX,
		err);

	if (r < 0) {
		return r;
	}
	s->nodes = xcalloc(json_value_count(list) + 1, sizeof(*s->nodes));
	for (const struct json_value *v = json_value_first(list);
		v != NULL && r == 0; v = json_value_next(v)) {
		struct scenario_node *node = &s->nodes[s->node_count++];

		r = read_node(node, v, err);
		if (r < 0) {
			r = error_wrap(err, r, "node %zu", s->node_count);
		} else if (map_put(&names, node->name, node) != NULL) {
			r = error_set(err, -EBADMSG,
				"node '%.100s' appears twice", node->name);
		}
	}
	map_fini(&names);
	return r;
}

/* Reads a list of percentages, one for each step. */
static int read_percents(float **out, const struct json_value *v,
	const char *key, size_t steps, struct error *err)
{
	const struct json_value *list = NULL;
	size_t i = 0;
	int r = json_fields_list(&list, v, key, steps, err);

	if (r == 0 && json_value_count(list) != steps) {
		r = error_set(err, -EBADMSG, "'%s' holds %zu of %zu steps", key,
			json_value_count(list), steps);
	}
	if (r < 0) {
		return r;
	}
	*out = xcalloc(steps, sizeof(**out));
	for (const struct json_value *p = json_value_first(list); p != NULL;
		p = json_value_next(p)) {
		double percent = NAN;

		if (!json_value_number(&percent, p) ||
			!(percent >= 0 && percent <= percent_max)) {
			return error_set(err, -EBADMSG,
				"'%s' holds an invalid percentage", key);
		}
		(*out)[i++] = (float)percent;
	}
	return 0;
}

static int read_use(struct scenario_vm *vm, const struct json_value *v,
	size_t steps, struct error *err)
{
	int r = read_percents(&vm->cpu_percent, v, "cpu_percent", steps, err);

	if (r < 0 || json_value_get(v, "memory_percent") == NULL) {
		return r;
	}
	return read_percents(&vm->memory_percent, v, "memory_percent", steps,
		err);
}

/* The text of the annotation; an invalid one is an error here. */
static int read_announcement(struct scenario_vm *vm, const struct json_value *v,
	struct error *err)
{
	const char *text = json_value_text(json_value_get(v, "expected_cores"));
	struct announcement announced;
	int r;

	if (text == NULL) {
		return 0;
	}
	r = announcement_parse(&announced, text, err);
	if (r < 0) {
		return error_wrap(err, r, "'expected_cores'");
	}
	vm->expected_cores = xstrdup(text);
	return 0;
}

/* As the API server admits them. KubeVirt sets the label of its launchers. */
static int check_label(const char *key, const char *value, struct error *err)
{
	if (!label_syntax_is_key(key) || strcmp(key, "kubevirt.io") == 0) {
		return error_set(err, -EBADMSG, "'%.80s' cannot be a label",
			key);
	}
	if (value == NULL || !label_syntax_is_value(value)) {
		return error_set(err, -EBADMSG,
			"label '%.80s' has an invalid value", key);
	}
	return 0;
}

static int read_labels(struct scenario_vm *vm, const struct json_value *v,
	struct error *err)
{
	const struct json_value *labels = json_value_get(v, "labels");
	int r = 0;

	if (labels == NULL) {
		return 0;
	}
	if (!json_value_is_object(labels) ||
		json_value_count(labels) > SCENARIO_LABELS_MAX) {
		return error_set(err, -EBADMSG,
			"'labels' is not an object of at most %d labels",
			SCENARIO_LABELS_MAX);
	}
	vm->labels = xcalloc(json_value_count(labels) + 1, sizeof(*vm->labels));
	for (const struct json_value *l = json_value_first(labels);
		l != NULL && r == 0; l = json_value_next(l)) {
		const char *value = json_value_text(l);

		r = check_label(json_value_key(l), value, err);
		if (r == 0) {
			vm->labels[vm->label_count++] = (struct scenario_label){
				xstrdup(json_value_key(l)), xstrdup(value)
			};
		}
	}
	return r;
}

static int read_vm(struct scenario_vm *vm, const struct json_value *v,
	size_t steps, struct error *err)
{
	int r = json_fields_name(&vm->name, v, "name", err);

	r = r < 0 ? r : json_fields_name(&vm->namespace, v, "namespace", err);
	if (r == 0) {
		r = json_fields_number(&vm->vcpus, v, "vcpus",
			(struct json_range){ 0.001, 4096 }, err);
	}
	if (r == 0) {
		r = json_fields_whole(&vm->memory_bytes, v, "memory_bytes",
			amount_max, err);
	}
	if (r == 0) {
		r = json_fields_whole(&vm->cpu_request_milli, v,
			"cpu_request_millicores", amount_max, err);
	}
	if (r == 0) {
		r = json_fields_step(&vm->arrive_step, v, "arrive_step", steps,
			err);
	}
	if (r == 0) {
		r = json_fields_step(&vm->leave_step, v, "leave_step", steps,
			err);
	}
	r = r < 0 ? r : read_announcement(vm, v, err);
	r = r < 0 ? r : read_labels(vm, v, err);
	return r < 0 ? r : read_use(vm, v, steps, err);
}

int scenario_open_vms(struct scenario *s, const struct json_value **list,
	const struct json_value *input, struct error *err)
{
	int r = json_fields_list(list, input, "vms", SCENARIO_VMS_MAX, err);
	size_t count = json_value_count(*list);

	if (r == 0 && count * s->steps > SCENARIO_FIGURES_MAX) {
		r = error_set(err, -E2BIG,
			"%zu VMs of %zu steps are more than %d values", count,
			s->steps, SCENARIO_FIGURES_MAX);
	}
	s->vms = xcalloc(count + 1, sizeof(*s->vms));
	return r;
}

static int read_vms(struct scenario *s, const struct json_value *input,
	struct error *err)
{
	const struct json_value *list = NULL;
	int r = scenario_open_vms(s, &list, input, err);

	for (const struct json_value *v = json_value_first(list);
		v != NULL && r == 0; v = json_value_next(v)) {
		struct scenario_vm *vm = &s->vms[s->vm_count++];

		r = read_vm(vm, v, s->steps, err);
		s->has_memory_use |= vm->memory_percent != NULL;
		if (r == 0 && s->vm_count > 1 &&
			vm->arrive_step < vm[-1].arrive_step) {
			r = error_set(err, -EBADMSG,
				"arrives before the VM listed before it");
		}
		if (r < 0) {
			r = error_wrap(err, r, "VM %zu", s->vm_count);
		}
	}
	return r;
}

int scenario_parse(struct scenario *out, const char *text, size_t len,
	struct error *err)
{
	struct scenario s = { 0 };
	struct json_value *input = NULL;
	int r = json_value_parse(&input, text, len, err);

	r = r < 0 ? r : scenario_time(&s, input, err);
	r = r < 0 ? r : read_nodes(&s, input, err);
	r = r < 0 ? r : read_vms(&s, input, err);
	json_value_free(input);
	if (r < 0) {
		scenario_fini(&s);
		return r;
	}
	*out = s;
	return 0;
}

int scenario_read(struct scenario *out, const char *path, struct error *err)
{
	scoped_buffer struct buffer text = BUFFER_MAX(SCENARIO_FILE_MAX);
	int r = json_fields_read_file(&text, path, err);

	return r < 0 ? r : scenario_parse(out, text.data, text.len, err);
}

static void free_labels(struct scenario_vm *vm)
{
	for (size_t i = 0; i < vm->label_count; i++) {
		free(vm->labels[i].key);
		free(vm->labels[i].value);
	}
	free(vm->labels);
}

void scenario_fini(struct scenario *scenario)
{
	for (size_t i = 0; i < scenario->node_count; i++) {
		free(scenario->nodes[i].name);
	}
	for (size_t i = 0; i < scenario->vm_count; i++) {
		free(scenario->vms[i].name);
		free(scenario->vms[i].namespace);
		free(scenario->vms[i].expected_cores);
		free_labels(&scenario->vms[i]);
		free(scenario->vms[i].cpu_percent);
		free(scenario->vms[i].memory_percent);
	}
	free(scenario->nodes);
	free(scenario->vms);
	*scenario = (struct scenario){ 0 };
}

double scenario_demand(const struct scenario_vm *vm, size_t step)
{
	return vm->vcpus * (double)vm->cpu_percent[step] / 100;
}

double scenario_memory(const struct scenario_vm *vm, size_t step)
{
	return vm->memory_percent == NULL ? (double)vm->memory_bytes
					  : (double)vm->memory_bytes *
			(double)vm->memory_percent[step] / 100;
}
