#include "scheduler/objects/nonzero_requests.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "lib/memory.h"
#include "kube/quantity.h"

static const int64_t most = INT64_C(1) << 50;

struct pair {
	int64_t milli, bytes;
};

static int64_t larger(int64_t a, int64_t b)
{
	return a > b ? a : b;
}

static int64_t capped(int64_t value)
{
	return value > most ? most : value;
}

static struct pair plus(struct pair a, struct pair b)
{
	return (struct pair){ capped(a.milli + b.milli),
		capped(a.bytes + b.bytes) };
}

static struct pair larger_pair(struct pair a, struct pair b)
{
	return (struct pair){ larger(a.milli, b.milli),
		larger(a.bytes, b.bytes) };
}

static bool read_amount(int64_t *out, const struct value *list,
	const char *name)
{
	const char *text = value_text(value_get(list, name));
	struct quantity q;

	if (text == NULL || quantity_parse(&q, text, NULL) < 0) {
		return false;
	}
	*out = capped(strcmp(name, "cpu") == 0 ? quantity_milli(q)
					       : quantity_units(q));
	return true;
}

/* A list of amounts; what it leaves out is as in `otherwise`. */
static struct pair read_pair(const struct value *list, struct pair otherwise)
{
	struct pair pair = otherwise;

	(void)read_amount(&pair.milli, list, "cpu");
	(void)read_amount(&pair.bytes, list, "memory");
	return pair;
}

/* max(containers + sidecars, each init container + the sidecars before it) of
 * the list `kind` (requests, limits), as upstream's PodRequests and PodLimits
 * add up, then what the pod itself says, then overhead. */
static struct pair read_sum(const struct value *spec, const char *kind,
	struct pair otherwise)
{
	struct pair sidecars = { 0 };
	struct pair init = { 0 };
	struct pair total;

	for (const struct value *v =
			value_first(value_get(spec, "initContainers"));
		v != NULL; v = value_next(v)) {
		struct pair running = plus(sidecars,
			read_pair(value_get(value_get(v, "resources"), kind),
				otherwise));

		init = larger_pair(init, running);
		if (strcmp(value_text_at(v, "restartPolicy", ""), "Always") ==
			0) {
			sidecars = running;
		}
	}
	total = sidecars;
	for (const struct value *v = value_first(value_get(spec, "containers"));
		v != NULL; v = value_next(v)) {
		total = plus(total,
			read_pair(value_get(value_get(v, "resources"), kind),
				otherwise));
	}
	total = larger_pair(total, init);
	total = read_pair(value_get(value_get(spec, "resources"), kind), total);
	return plus(total,
		read_pair(value_get(spec, "overhead"), (struct pair){ 0 }));
}

static void read_containers(struct asks *asks, const struct value *spec)
{
	const struct value *list = value_get(spec, "containers");
	size_t count = value_count(list);

	if (count > ASKS_CONTAINERS_MAX) {
		count = ASKS_CONTAINERS_MAX;
	}
	asks->containers = xcalloc(count + 1, sizeof(*asks->containers));
	for (const struct value *v = value_first(list);
		v != NULL && asks->container_count < count; v = value_next(v)) {
		const struct value *resources = value_get(v, "resources");
		struct asks_container *c =
			&asks->containers[asks->container_count++];

		(void)read_amount(&c->limit_milli,
			value_get(resources, "limits"), "cpu");
		(void)read_amount(&c->request_milli,
			value_get(resources, "requests"), "cpu");
	}
}

void asks_read(struct asks *out, const struct value *spec,
	const struct resources *requests)
{
	const struct pair defaults = {
		.milli = ASKS_DEFAULT_CPU_MILLI,
		.bytes = ASKS_DEFAULT_MEMORY_BYTES,
	};
	struct pair nonzero = read_sum(spec, "requests", defaults);
	struct pair limits = read_sum(spec, "limits", (struct pair){ 0 });

	*out = (struct asks){
		.nonzero_milli = nonzero.milli,
		.nonzero_bytes = nonzero.bytes,
		.limit_milli =
			larger(limits.milli, capped(requests->cpu_milli)),
		.limit_bytes =
			larger(limits.bytes, capped(requests->memory_bytes)),
	};
	(void)read_amount(&out->overhead_milli, value_get(spec, "overhead"),
		"cpu");
	read_containers(out, spec);
}

void asks_fini(struct asks *asks)
{
	free(asks->containers);
	*asks = (struct asks){ 0 };
}
