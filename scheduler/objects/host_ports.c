#include "scheduler/objects/host_ports.h"

#include <stdlib.h>
#include <string.h>

#include "lib/memory.h"
#include "scheduler/objects/container_statuses.h"

static const char *text_of(const struct json_value *port, const char *key,
	const char *otherwise)
{
	const char *text = json_value_text_at(port, key, "");

	return *text == '\0' ? otherwise : text;
}

static void append(struct host_ports *ports, struct interner *interner,
	const struct json_value *port)
{
	const char *address = text_of(port, "hostIP", "0.0.0.0");
	double number = 0;

	if (!json_value_number(&number, json_value_get(port, "hostPort")) ||
		!(number > 0) || number > 65535) {
		return;
	}
	ports->list = xgrow(ports->list, ports->count, &ports->capacity,
		sizeof(*ports->list));
	ports->list[ports->count++] = (struct host_port){
		.address = interner_hold(interner, address),
		.protocol = interner_hold(interner,
			text_of(port, "protocol", "TCP")),
		.port = (int32_t)number,
		.is_any = strcmp(address, "0.0.0.0") == 0,
	};
}

static void append_container(struct host_ports *ports,
	struct interner *interner, const struct json_value *container)
{
	for (const struct json_value *p =
			json_value_first(json_value_get(container, "ports"));
		p != NULL; p = json_value_next(p)) {
		append(ports, interner, p);
	}
}

static int compare_ports(const struct host_port *a, const struct host_port *b)
{
	if (a->port != b->port) {
		return a->port < b->port ? -1 : 1;
	}
	return (a->protocol > b->protocol) - (a->protocol < b->protocol);
}

/* By port and protocol; 0.0.0.0 comes first, then the other addresses. */
static int compare(const void *a, const void *b)
{
	const struct host_port *x = a;
	const struct host_port *y = b;
	int order = compare_ports(x, y);

	if (order != 0) {
		return order;
	}
	if (x->is_any != y->is_any) {
		return x->is_any ? -1 : 1;
	}
	return (x->address > y->address) - (x->address < y->address);
}

void host_ports_read(struct host_ports *out, struct interner *interner,
	const struct json_value *spec)
{
	struct host_ports ports = { 0 };
	const struct json_value *c =
		json_value_first(json_value_get(spec, "containers"));

	for (; c != NULL; c = json_value_next(c)) {
		append_container(&ports, interner, c);
	}
	c = json_value_first(json_value_get(spec, "initContainers"));
	for (; c != NULL; c = json_value_next(c)) {
		if (container_is_sidecar(c)) {
			append_container(&ports, interner, c);
		}
	}
	if (ports.count > 1) {
		qsort(ports.list, ports.count, sizeof(*ports.list), compare);
	}
	*out = ports;
}

void host_ports_fini(struct host_ports *ports, struct interner *interner)
{
	for (size_t i = 0; i < ports->count; i++) {
		interner_drop(interner, ports->list[i].address);
		interner_drop(interner, ports->list[i].protocol);
	}
	free(ports->list);
	*ports = (struct host_ports){ 0 };
}

/* The first entry with the same port and protocol; NULL: none. */
static const struct host_port *find_first(const struct host_ports *ports,
	const struct host_port *wanted)
{
	size_t low = 0;
	size_t high = ports->count;

	while (low < high) {
		size_t middle = (low + high) / 2;

		if (compare_ports(&ports->list[middle], wanted) < 0) {
			low = middle + 1;
		} else {
			high = middle;
		}
	}
	return low < ports->count &&
			compare_ports(&ports->list[low], wanted) == 0
		? &ports->list[low]
		: NULL;
}

static bool conflicts_with_any(const struct host_ports *ports,
	const struct host_port *port)
{
	const struct host_port *first = find_first(ports, port);

	if (first == NULL) {
		return false;
	}
	return port->is_any || first->is_any ||
		bsearch(port, ports->list, ports->count, sizeof(*ports->list),
			compare) != NULL;
}

/* Searches for each port of the shorter list in the longer one. */
bool host_ports_conflict(const struct host_ports *a, const struct host_ports *b)
{
	if (a->count > b->count) {
		return host_ports_conflict(b, a);
	}
	for (size_t i = 0; i < a->count; i++) {
		if (conflicts_with_any(b, &a->list[i])) {
			return true;
		}
	}
	return false;
}
