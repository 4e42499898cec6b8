#include "scheduler/objects/host_ports.h"

#include <errno.h>
#include <stdlib.h>

#include "lib/memory.h"
#include "scheduler/objects/resources.h"

static uint32_t hold(struct interner *interner, const struct json_value *port,
	const char *key, const char *otherwise)
{
	const char *text = json_value_text_at(port, key, "");

	return interner_hold(interner, *text == '\0' ? otherwise : text);
}

static int append(struct host_ports *ports, struct interner *interner,
	const struct json_value *port, struct error *err)
{
	double number = 0;

	if (!json_value_number(&number, json_value_get(port, "hostPort")) ||
		!(number > 0) || number > 65535) {
		return 0;
	}
	if (ports->count == HOST_PORTS_MAX) {
		return error_set(err, -E2BIG, "more than %d host ports",
			HOST_PORTS_MAX);
	}
	ports->list =
		xrealloc(ports->list, ports->count + 1, sizeof(*ports->list));
	ports->list[ports->count++] = (struct host_port){
		.address = hold(interner, port, "hostIP", "0.0.0.0"),
		.protocol = hold(interner, port, "protocol", "TCP"),
		.port = (int32_t)number,
	};
	return 0;
}

static int append_container(struct host_ports *ports, struct interner *interner,
	const struct json_value *container, struct error *err)
{
	int r = 0;

	for (const struct json_value *p =
			json_value_first(json_value_get(container, "ports"));
		p != NULL && r == 0; p = json_value_next(p)) {
		r = append(ports, interner, p, err);
	}
	return r;
}

int host_ports_read(struct host_ports *out, struct interner *interner,
	const struct json_value *spec, struct error *err)
{
	struct host_ports ports = { 0 };
	const struct json_value *c =
		json_value_first(json_value_get(spec, "containers"));
	int r = 0;

	for (; c != NULL && r == 0; c = json_value_next(c)) {
		r = append_container(&ports, interner, c, err);
	}
	c = json_value_first(json_value_get(spec, "initContainers"));
	for (; c != NULL && r == 0; c = json_value_next(c)) {
		r = resources_is_sidecar(c)
			? append_container(&ports, interner, c, err)
			: 0;
	}
	if (r < 0) {
		host_ports_fini(&ports, interner);
		return r;
	}
	if (ports.count > 0) {
		ports.any = interner_hold(interner, "0.0.0.0");
	}
	*out = ports;
	return 0;
}

void host_ports_fini(struct host_ports *ports, struct interner *interner)
{
	for (size_t i = 0; i < ports->count; i++) {
		interner_drop(interner, ports->list[i].address);
		interner_drop(interner, ports->list[i].protocol);
	}
	interner_drop(interner, ports->any);
	free(ports->list);
	*ports = (struct host_ports){ 0 };
}

static bool conflicts(const struct host_port *a, const struct host_port *b,
	uint32_t any)
{
	return a->port == b->port && a->protocol == b->protocol &&
		(a->address == b->address || a->address == any ||
			b->address == any);
}

static bool conflicts_with_any(const struct host_ports *ports,
	const struct host_port *port, uint32_t any)
{
	for (size_t i = 0; i < ports->count; i++) {
		if (conflicts(&ports->list[i], port, any)) {
			return true;
		}
	}
	return false;
}

bool host_ports_conflict(const struct host_ports *a, const struct host_ports *b)
{
	for (size_t i = 0; i < a->count; i++) {
		if (conflicts_with_any(b, &a->list[i], a->any)) {
			return true;
		}
	}
	return false;
}
