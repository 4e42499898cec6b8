#include "scheduler/plan/shortfall.h"

#include <math.h>

static void add(struct shortfall *out, enum shortfall_kind kind,
	uint32_t resource, double amount)
{
	if (amount > 0 && out->count < SHORTFALL_MAX) {
		out->list[out->count].kind = kind;
		out->list[out->count].resource = resource;
		out->list[out->count].amount = amount;
		out->count++;
	}
}

static void add_resource(struct shortfall *out, enum shortfall_kind kind,
	int64_t wanted, double room)
{
	if (wanted > 0) {
		add(out, kind, 0, (double)wanted - room);
	}
}

/* The amount that is left for pods. by_use: at most the free huge pages. */
static double scalar_room(const struct node_resource *scalar, bool by_use)
{
	double room;

	if (scalar == NULL) {
		return 0;
	}
	room = (double)scalar->allocatable - (double)scalar->requested;
	return by_use && scalar->is_measured
		? fmin(room, (double)scalar->free_bytes)
		: room;
}

static void add_scalars(struct shortfall *out, const struct resources *r,
	const struct node *node, bool by_use)
{
	for (size_t i = 0; i < r->scalar_count; i++) {
		const struct amount *amount = &r->scalars[i];

		add(out, SHORTFALL_SCALAR, amount->resource,
			(double)amount->value -
				scalar_room(node_scalar(node, amount->resource),
					by_use));
	}
}

void shortfall_of(struct shortfall *out, const struct pod *pod,
	const struct node *node, const struct filter_options *options,
	int64_t now_us)
{
	const struct resources *r = &pod->requests;
	bool is_fresh = node_metrics_is_fresh(&node->metrics, now_us);

	out->count = 0;
	add(out, SHORTFALL_PODS, 0,
		(double)node->pod_count + 1 - (double)node->max_pods);
	add_resource(out, SHORTFALL_CPU, r->cpu_milli,
		(double)node->cpu_milli - (double)node->cpu_milli_requested);
	add_resource(out, SHORTFALL_MEMORY, r->memory_bytes,
		(double)node->memory_bytes -
			(double)node->memory_bytes_requested);
	add_resource(out, SHORTFALL_EPHEMERAL, r->ephemeral_bytes,
		(double)node->ephemeral_bytes -
			(double)node->ephemeral_bytes_requested);
	add_scalars(out, r, node, options->has_hugepages_limit && is_fresh);
	/* An unknown figure compares as false. */
	if (options->has_memory_limit && is_fresh) {
		add(out, SHORTFALL_USED, 0,
			(double)r->memory_bytes -
				node->metrics.memory_available);
	}
}

static double scalar_share(const struct resources *r, uint32_t resource)
{
	for (size_t i = 0; i < r->scalar_count; i++) {
		if (r->scalars[i].resource == resource) {
			return (double)r->scalars[i].value;
		}
	}
	return 0;
}

double shortfall_share(const struct shortfall *shortfall, size_t i,
	const struct state_vm *vm)
{
	const struct resources *r = &vm->vm->pod->requests;

	switch (shortfall->list[i].kind) {
	case SHORTFALL_PODS:
		return 1;
	case SHORTFALL_CPU:
		return (double)r->cpu_milli;
	case SHORTFALL_MEMORY:
		return (double)r->memory_bytes;
	case SHORTFALL_EPHEMERAL:
		return (double)r->ephemeral_bytes;
	case SHORTFALL_USED:
		return vm->measured;
	default:
		return scalar_share(r, shortfall->list[i].resource);
	}
}
