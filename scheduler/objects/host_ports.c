#include "scheduler/objects/host_ports.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "lib/memory.h"

static uint32_t hold(struct names *names, const struct value *port,
	const char *key, const char *otherwise)
{
	const char *text = value_text_at(port, key, "");

	return names_hold(names, *text == '\0' ? otherwise : text);
}

static int append(struct host_ports *ports, struct names *names,
	const struct value *port, struct error *err)
{
	double number = 0;

	if (!value_number(&number, value_get(port, "hostPort")) ||
		!(number > 0) || number > 65535) {
		return 0;
	}
	if (ports->count == PORTS_MAX) {
		return error_set(err, -E2BIG, "more than %d host ports",
			PORTS_MAX);
	}
	ports->list =
		xrealloc(ports->list, ports->count + 1, sizeof(*ports->list));
	ports->list[ports->count++] = (struct host_port){
		.address = hold(names, port, "hostIP", "0.0.0.0"),
		.protocol = hold(names, port, "protocol", "TCP"),
		.port = (int32_t)number,
	};
	return 0;
}

static int append_all(struct host_ports *ports, struct names *names,
	const struct value *container, struct error *err)
{
	int r = 0;

	for (const struct value *p = value_first(value_get(container, "ports"));
		p != NULL && r == 0; p = value_next(p)) {
		r = append(ports, names, p, err);
	}
	return r;
}

static bool is_sidecar(const struct value *container)
{
	return strcmp(value_text_at(container, "restartPolicy", ""),
		       "Always") == 0;
}

int host_ports_read(struct host_ports *out, struct names *names,
	const struct value *spec, struct error *err)
{
	struct host_ports ports = { 0 };
	const struct value *c = value_first(value_get(spec, "containers"));
	int r = 0;

	for (; c != NULL && r == 0; c = value_next(c)) {
		r = append_all(&ports, names, c, err);
	}
	c = value_first(value_get(spec, "initContainers"));
	for (; c != NULL && r == 0; c = value_next(c)) {
		r = is_sidecar(c) ? append_all(&ports, names, c, err) : 0;
	}
	if (r < 0) {
		host_ports_fini(&ports, names);
		return r;
	}
	if (ports.count > 0) {
		ports.any = names_hold(names, "0.0.0.0");
	}
	*out = ports;
	return 0;
}

void host_ports_fini(struct host_ports *ports, struct names *names)
{
	for (size_t i = 0; i < ports->count; i++) {
		names_drop(names, ports->list[i].address);
		names_drop(names, ports->list[i].protocol);
	}
	names_drop(names, ports->any);
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

static bool is_taken(const struct host_ports *by, const struct host_port *port,
	uint32_t any)
{
	for (size_t i = 0; i < by->count; i++) {
		if (conflicts(&by->list[i], port, any)) {
			return true;
		}
	}
	return false;
}

bool host_ports_conflict(const struct host_ports *a, const struct host_ports *b)
{
	for (size_t i = 0; i < a->count; i++) {
		if (is_taken(b, &a->list[i], a->any)) {
			return true;
		}
	}
	return false;
}
