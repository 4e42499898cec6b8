#include "aggregator/query/export.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "lib/json.h"
#include "lib/map.h"
#include "lib/memory.h"

/* The largest figures of a node; 0: unknown. The maximum, because CPUs may be
 * offline for a while. */
struct node {
	char *name; /* owned */
	double cores, memory_bytes;
};

struct step {
	float core_ms;	/* cores times milliseconds, over all pods */
	float known_ms; /* that core_ms covers, over all pods */
	bool is_present;
};

/* A VM's pod, present from its first minute to its last. */
struct pod {
	char *uid;	    /* owned */
	size_t first, last; /* steps */
};

/* By namespace and name, or by node and pod uid. */
struct vm {
	char *key;		/* owned; of the map */
	char *namespace, *name; /* owned; NULL: the VM is not known */
	struct pod *pods;	/* owned */
	size_t pod_count, pod_capacity;
	struct step *steps; /* owned */
};

struct identity {
	char *namespace, *name, *node; /* owned */
};

/* A VM from a start to the next stop. */
struct lifetime {
	const struct vm *vm;
	size_t arrive, leave;
};

struct export
{
	struct export_span span;
	struct map nodes;      /* name to struct node, owned */
	struct map identities; /* pod uid to struct identity, owned */
	struct map vms;	       /* key to struct vm, owned */
};

struct export *export_new(const struct export_span *span)
{
	struct export *export = xcalloc(1, sizeof(*export));

	export->span = *span;
	return export;
}

static void free_vm(struct vm *vm)
{
	for (size_t i = 0; i < vm->pod_count; i++) {
		free(vm->pods[i].uid);
	}
	free(vm->pods);
	free(vm->steps);
	free(vm->key);
	free(vm->namespace);
	free(vm->name);
	free(vm);
}

/* NULL is fine. */
static void free_identity(struct identity *identity)
{
	if (identity != NULL) {
		free(identity->namespace);
		free(identity->name);
		free(identity->node);
		free(identity);
	}
}

void export_free(struct export *export)
{
	size_t at = 0;
	void *value;

	if (export == NULL) {
		return;
	}
	while (map_next(&export->nodes, &at, NULL, &value)) {
		free(((struct node *)value)->name);
		free(value);
	}
	for (at = 0; map_next(&export->identities, &at, NULL, &value);) {
		free_identity(value);
	}
	for (at = 0; map_next(&export->vms, &at, NULL, &value);) {
		free_vm(value);
	}
	map_fini(&export->nodes);
	map_fini(&export->identities);
	map_fini(&export->vms);
	free(export);
}

void export_identify(struct export *export, const char *pod_uid,
	const struct export_identity *identity)
{
	struct identity *copy = xcalloc(1, sizeof(*copy));

	copy->namespace = xstrdup(identity->namespace);
	copy->name = xstrdup(identity->name);
	copy->node = xstrdup(identity->node);
	free_identity(map_put(&export->identities, pod_uid, copy));
}

static void add_node(struct export *export, const char *name,
	const struct rollup_row *minute)
{
	struct node *node = map_get(&export->nodes, name);
	double cores = minute->figures[ROLLUP_cpu_cores].max;
	double bytes = minute->figures[ROLLUP_memory_total_bytes].max;

	if (node == NULL) {
		node = xcalloc(1, sizeof(*node));
		node->name = xstrdup(name);
		(void)map_put(&export->nodes, name, node);
	}
	node->cores = fmax(node->cores, cores);
	node->memory_bytes = fmax(node->memory_bytes, bytes);
}

/* identity NULL: not known. Takes the key. */
static struct vm *new_vm(struct export *export, const struct identity *identity,
	char *key)
{
	struct vm *vm = xcalloc(1, sizeof(*vm));

	vm->steps = xcalloc(export->span.steps, sizeof(*vm->steps));
	vm->key = key;
	if (identity != NULL) {
		vm->namespace = xstrdup(identity->namespace);
		vm->name = xstrdup(identity->name);
	}
	(void)map_put(&export->vms, key, vm);
	return vm;
}

/* NULL: more than EXPORT_FIGURES_MAX. No namespace is empty. */
static struct vm *find_vm(struct export *export, const char *node,
	const char *uid)
{
	const struct identity *identity = map_get(&export->identities, uid);
	scoped_free char *key = identity == NULL
		? xasprintf("/%s/%s", node, uid)
		: xasprintf("%s/%s", identity->namespace, identity->name);
	struct vm *vm = map_get(&export->vms, key);
	size_t figures = export->span.steps > EXPORT_VM_FIGURES
		? export->span.steps
		: EXPORT_VM_FIGURES;

	if (vm == NULL &&
		(export->vms.count + 1) * figures <= EXPORT_FIGURES_MAX) {
		vm = new_vm(export, identity, take_ptr(key));
	}
	return vm;
}

static bool is_on_another_node(const struct export *export, const char *uid,
	const char *node)
{
	const struct identity *identity = map_get(&export->identities, uid);

	return identity != NULL && strcmp(identity->node, node) != 0;
}

static struct pod *find_pod(struct vm *vm, const char *uid, size_t step)
{
	for (size_t i = vm->pod_count; i > 0; i--) {
		if (strcmp(vm->pods[i - 1].uid, uid) == 0) {
			return &vm->pods[i - 1];
		}
	}
	vm->pods = xgrow(vm->pods, vm->pod_count, &vm->pod_capacity,
		sizeof(*vm->pods));
	vm->pods[vm->pod_count] = (struct pod){ xstrdup(uid), step, step };
	return &vm->pods[vm->pod_count++];
}

static void add_vm(struct vm *vm, const char *uid, size_t step,
	const struct rollup_row *minute)
{
	const struct rollup_figure *used =
		&minute->figures[ROLLUP_VM_used_cores];
	struct pod *pod = find_pod(vm, uid, step);
	float known_ms = (float)minute->covered_ms;

	pod->first = step < pod->first ? step : pod->first;
	pod->last = step > pod->last ? step : pod->last;
	if (isfinite(used->mean) && used->mean >= 0) {
		vm->steps[step].core_ms += (float)used->mean * known_ms;
		vm->steps[step].known_ms += known_ms;
	}
}

int export_add(struct export *export, const char *node, const char *pod_uid,
	const struct rollup_row *minute, struct error *err)
{
	const struct export_span *span = &export->span;
	uint64_t step;
	struct vm *vm;

	if (minute->from_ms < span->from_ms) {
		return 0;
	}
	step = (minute->from_ms - span->from_ms) / span->step_ms;
	if (step >= span->steps) {
		return 0;
	}
	if (*pod_uid == '\0') {
		add_node(export, node, minute);
		return 0;
	}
	if (is_on_another_node(export, pod_uid, node)) {
		return 0;
	}
	vm = find_vm(export, node, pod_uid);
	if (vm == NULL) {
		return error_set(err, -E2BIG,
			"%zu VMs of %zu steps are more than %d figures: use a "
			"shorter time range or a longer step",
			export->vms.count + 1, span->steps, EXPORT_FIGURES_MAX);
	}
	add_vm(vm, pod_uid, (size_t)step, minute);
	return 0;
}

/* ---- writing ---- */

static int compare_nodes(const void *a, const void *b)
{
	const struct node *const *x = a;
	const struct node *const *y = b;

	return strcmp((*x)->name, (*y)->name);
}

static void write_nodes(struct json *j, const struct export *export)
{
	scoped_free const struct node **list =
		xcalloc(export->nodes.count + 1, sizeof(struct node *));
	size_t at = 0, count = 0;
	void *value;

	while (map_next(&export->nodes, &at, NULL, &value)) {
		list[count++] = value;
	}
	qsort(list, count, sizeof(struct node *), compare_nodes);
	json_array(j, "nodes");
	for (size_t i = 0; i < count; i++) {
		double cores = list[i]->cores;
		double bytes = list[i]->memory_bytes;

		json_object(j, NULL);
		json_string(j, "name", list[i]->name);
		json_number(j, "cpu_cores", cores > 0 ? cores : NAN);
		json_number(j, "memory_bytes", bytes > 0 ? bytes : NAN);
		json_object_end(j);
	}
	json_array_end(j);
}

struct lifetimes {
	struct lifetime *list; /* owned */
	size_t count, capacity;
};

static void mark_presence(struct vm *vm)
{
	for (size_t i = 0; i < vm->pod_count; i++) {
		for (size_t s = vm->pods[i].first; s <= vm->pods[i].last; s++) {
			vm->steps[s].is_present = true;
		}
	}
}

/* A lifetime is a run of steps in which a pod of the VM was present. */
static void find_lifetimes(struct lifetimes *lifetimes, const struct vm *vm,
	size_t steps)
{
	for (size_t s = 0; s < steps; s++) {
		size_t arrive = s;

		while (s < steps && vm->steps[s].is_present) {
			s++;
		}
		if (s == arrive) {
			continue;
		}
		lifetimes->list = xgrow(lifetimes->list, lifetimes->count,
			&lifetimes->capacity, sizeof(*lifetimes->list));
		lifetimes->list[lifetimes->count++] =
			(struct lifetime){ vm, arrive, s };
	}
}

static int compare_texts(const char *a, const char *b)
{
	return strcmp(a == NULL ? "" : a, b == NULL ? "" : b);
}

/* By arrival, for a reproducible file. */
static int compare_lifetimes(const void *a, const void *b)
{
	const struct lifetime *x = a;
	const struct lifetime *y = b;
	int order = (x->arrive > y->arrive) - (x->arrive < y->arrive);

	if (order == 0) {
		order = compare_texts(x->vm->namespace, y->vm->namespace);
	}
	if (order == 0) {
		order = compare_texts(x->vm->name, y->vm->name);
	}
	return order != 0 ? order : strcmp(x->vm->key, y->vm->key);
}

/* Pods that run at the same time, while a VM migrates, add up. The known time
 * is at most the step. */
static double used_cores(const struct step *step, uint64_t step_ms)
{
	double known_ms = fmin((double)step->known_ms, (double)step_ms);

	return known_ms > 0 ? (double)step->core_ms / known_ms : NAN;
}

static void write_lifetime(struct json *j, const struct lifetime *lifetime,
	uint64_t step_ms)
{
	const struct vm *vm = lifetime->vm;

	json_object(j, NULL);
	if (vm->name != NULL) {
		json_string(j, "namespace", vm->namespace);
		json_string(j, "name", vm->name);
	}
	json_array(j, "pod_uids");
	for (size_t i = 0; i < vm->pod_count; i++) {
		if (vm->pods[i].first < lifetime->leave &&
			vm->pods[i].last >= lifetime->arrive) {
			json_string(j, NULL, vm->pods[i].uid);
		}
	}
	json_array_end(j);
	json_unsigned(j, "arrive_step", lifetime->arrive);
	json_unsigned(j, "leave_step", lifetime->leave);
	json_array(j, "used_cores");
	for (size_t s = lifetime->arrive; s < lifetime->leave; s++) {
		json_number_or_null(j, NULL,
			used_cores(&vm->steps[s], step_ms));
	}
	json_array_end(j);
	json_object_end(j);
}

static void write_vms(struct json *j, const struct export *export)
{
	struct lifetimes lifetimes = { 0 };
	size_t at = 0;
	void *value;

	while (map_next(&export->vms, &at, NULL, &value)) {
		mark_presence(value);
		find_lifetimes(&lifetimes, value, export->span.steps);
	}
	if (lifetimes.count > 1) {
		qsort(lifetimes.list, lifetimes.count, sizeof(*lifetimes.list),
			compare_lifetimes);
	}
	json_array(j, "vms");
	for (size_t i = 0; i < lifetimes.count; i++) {
		write_lifetime(j, &lifetimes.list[i], export->span.step_ms);
	}
	json_array_end(j);
	free(lifetimes.list);
}

void export_write(struct buffer *out, const struct export *export)
{
	struct json j = json_into(out);

	json_object(&j, NULL);
	json_number(&j, "from", (double)export->span.from_ms / 1e3);
	json_number(&j, "step_s", (double)export->span.step_ms / 1e3);
	json_unsigned(&j, "steps", export->span.steps);
	write_nodes(&j, export);
	write_vms(&j, export);
	json_object_end(&j);
	buffer_char(out, '\n');
}
