#include "simulate/synthetic.h"

#include <inttypes.h>
#include <math.h>

#include "lib/json.h"
#include "lib/memory.h"

enum { OBJECT_MAX = 16384 };

static void put_number(struct json *j, const char *key, int64_t number,
	const char *unit)
{
	scoped_free char *text = xasprintf("%" PRId64 "%s", number, unit);

	json_string(j, key, text);
}

int synthetic_node(struct node **out, struct interner *interner,
	const struct scenario_node *from, struct error *err)
{
	scoped_buffer struct buffer text = BUFFER_MAX(OBJECT_MAX);
	struct json j = json_into(&text);
	struct json_value *object = NULL;
	int r;

	json_object(&j, NULL);
	json_object(&j, "metadata");
	json_string(&j, "name", from->name);
	json_object_end(&j);
	json_object(&j, "status");
	json_object(&j, "allocatable");
	put_number(&j, "cpu", llround(from->cpu_cores * 1000), "m");
	put_number(&j, "memory", from->memory_bytes, "");
	put_number(&j, "pods", from->pods, "");
	json_object_end(&j);
	json_object_end(&j);
	json_object_end(&j);
	r = json_value_parse(&object, text.data, text.len, err);
	r = r < 0 ? r : node_new(out, interner, object, err);
	json_value_free(object);
	return r;
}

static void put_metadata(struct json *j, const struct scenario_vm *from,
	size_t number)
{
	scoped_free char *name = xasprintf("virt-launcher-%s", from->name);

	json_object(j, "metadata");
	json_string(j, "name", name);
	json_string(j, "namespace", from->namespace);
	put_number(j, "uid", (int64_t)number, "");
	json_object(j, "labels");
	json_string(j, "kubevirt.io", "virt-launcher");
	for (size_t i = 0; i < from->label_count; i++) {
		json_string(j, from->labels[i].key, from->labels[i].value);
	}
	json_object_end(j);
	json_object(j, "annotations");
	json_string(j, "kubevirt.io/domain", from->name);
	if (from->expected_cores != NULL) {
		json_string(j, ANNOUNCEMENT_KEY, from->expected_cores);
	}
	json_object_end(j);
	json_object_end(j);
}

static void put_spec(struct json *j, const struct scenario_vm *from)
{
	json_object(j, "spec");
	json_array(j, "containers");
	json_object(j, NULL);
	json_string(j, "name", "compute");
	json_object(j, "resources");
	json_object(j, "requests");
	put_number(j, "cpu", from->cpu_request_milli, "m");
	put_number(j, "memory", from->memory_bytes, "");
	json_object_end(j);
	json_object_end(j);
	json_object_end(j);
	json_array_end(j);
	json_object_end(j);
}

int synthetic_pod(struct pod **out, struct interner *interner,
	const struct scenario_vm *from, size_t number, struct error *err)
{
	scoped_buffer struct buffer text = BUFFER_MAX(OBJECT_MAX);
	struct json j = json_into(&text);
	struct json_value *object = NULL;
	int r;

	json_object(&j, NULL);
	put_metadata(&j, from, number);
	put_spec(&j, from);
	json_object_end(&j);
	r = json_value_parse(&object, text.data, text.len, err);
	r = r < 0 ? r : pod_new(out, interner, object, POD_UNSCHEDULED, err);
	/* The scenario's vCPUs, whatever its CPU overcommit. */
	if (r == 0) {
		(*out)->vcpus = from->vcpus;
	}
	json_value_free(object);
	return r;
}
