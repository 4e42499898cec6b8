#include "scheduler/objects/nonzero_requests.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "kube/quantity.h"
#include "lib/memory.h"
#include "scheduler/objects/container_statuses.h"

static const int64_t amount_max = INT64_C(1) << 50;

struct amounts {
	int64_t milli, bytes;
};

static int64_t larger(int64_t a, int64_t b)
{
	return a > b ? a : b;
}

static int64_t capped(int64_t value)
{
	return value > amount_max ? amount_max : value;
}

static struct amounts plus(struct amounts a, struct amounts b)
{
	return (struct amounts){ capped(a.milli + b.milli),
		capped(a.bytes + b.bytes) };
}

static struct amounts larger_of_each(struct amounts a, struct amounts b)
{
	return (struct amounts){ larger(a.milli, b.milli),
		larger(a.bytes, b.bytes) };
}

static bool read_amount(int64_t *out, const struct json_value *list,
	const char *name)
{
	const char *text = json_value_text(json_value_get(list, name));
	struct quantity q;

	if (text == NULL || quantity_parse(&q, text, NULL) < 0) {
		return false;
	}
	*out = capped(strcmp(name, "cpu") == 0 ? quantity_milli(q)
					       : quantity_units(q));
	return true;
}

/* Amounts that the list leaves out are taken from `otherwise`. */
static struct amounts read_amounts(const struct json_value *list,
	struct amounts otherwise)
{
	struct amounts amounts = otherwise;

	(void)read_amount(&amounts.milli, list, "cpu");
	(void)read_amount(&amounts.bytes, list, "memory");
	return amounts;
}

/* The limits of a container or pod. */
static struct amounts read_limits(const struct json_value *object,
	struct amounts otherwise)
{
	return read_amounts(json_value_at(object, "resources/limits"),
		otherwise);
}

/* max(containers + sidecars, each init container + the sidecars before it), as
 * upstream's PodLimits does, replaced by pod-level limits where set, plus
 * overhead. */
static struct amounts sum_limits(const struct json_value *spec)
{
	const struct amounts none = { 0 };
	struct amounts sidecars = { 0 };
	struct amounts init = { 0 };
	struct amounts total;

	for (const struct json_value *v = json_value_first(
		     json_value_get(spec, "initContainers"));
		v != NULL; v = json_value_next(v)) {
		struct amounts running = plus(sidecars, read_limits(v, none));

		init = larger_of_each(init, running);
		if (container_is_sidecar(v)) {
			sidecars = running;
		}
	}
	total = sidecars;
	for (const struct json_value *v =
			json_value_first(json_value_get(spec, "containers"));
		v != NULL; v = json_value_next(v)) {
		total = plus(total, read_limits(v, none));
	}
	total = larger_of_each(total, init);
	total = read_limits(spec, total);
	return plus(total,
		read_amounts(json_value_get(spec, "overhead"), none));
}

static void read_containers(struct nonzero_requests *nonzero,
	const struct json_value *spec)
{
	const struct json_value *list = json_value_get(spec, "containers");

	nonzero->containers = xcalloc(json_value_count(list) + 1,
		sizeof(*nonzero->containers));
	for (const struct json_value *v = json_value_first(list); v != NULL;
		v = json_value_next(v)) {
		const struct json_value *resources =
			json_value_get(v, "resources");
		struct nonzero_container *c =
			&nonzero->containers[nonzero->container_count++];

		(void)read_amount(&c->limit_milli,
			json_value_get(resources, "limits"), "cpu");
		(void)read_amount(&c->request_milli,
			json_value_get(resources, "requests"), "cpu");
	}
}

void nonzero_read(struct nonzero_requests *out, const struct json_value *spec,
	const struct resources *requests)
{
	struct amounts limits = sum_limits(spec);

	*out = (struct nonzero_requests){
		.cpu_milli = capped(requests->nonzero_milli),
		.memory_bytes = capped(requests->nonzero_bytes),
		.limit_milli =
			larger(limits.milli, capped(requests->cpu_milli)),
		.limit_bytes =
			larger(limits.bytes, capped(requests->memory_bytes)),
	};
	(void)read_amount(&out->overhead_milli,
		json_value_get(spec, "overhead"), "cpu");
	read_containers(out, spec);
}

void nonzero_fini(struct nonzero_requests *nonzero)
{
	free(nonzero->containers);
	*nonzero = (struct nonzero_requests){ 0 };
}
