/* The spec of a question that a user asks the leading scheduler. The first byte
 * chooses a placement or a plan, and whether all VMs may be named. An answer is
 * JSON, and names no VM of another namespace unless it may. */
#include "scheduler/answers/manifest_check.h"
#include "scheduler/answers/placement_answer.h"
#include "scheduler/answers/plan_answer.h"

#include "lib/memory.h"
#include "scheduler/cache/cache.h"
#include "scheduler/cache/queue.h"
#include "scheduler/cache/reservations.h"

#include <assert.h>
#include <stdint.h>
#include <string.h>

/* More takes so long that an input looks like a hang. */
enum { MAX_WORK = 2000, ANSWER_MAX = 1 << 20, VMS = 3 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static struct scene {
	struct cache cache;
	struct queue queue;
	struct reservations reservations;
	struct plan_vm vms[VMS];
	bool is_ready;
} scene;

static struct json_value *json_of(const char *text)
{
	struct json_value *value = NULL;
	int r = json_value_parse(&value, text, strlen(text), NULL);

	assert(r == 0);
	(void)r;
	return value;
}

static void put_node(const char *name)
{
	scoped_free char *json = xasprintf(
		"{\"metadata\":{\"name\":\"%s\",\"labels\":{"
		"\"kubernetes.io/hostname\":\"%s\","
		"\"kubevirt.io/schedulable\":\"true\"}},\"status\":{"
		"\"allocatable\":{\"cpu\":\"16\",\"memory\":\"64Gi\","
		"\"pods\":\"110\",\"ephemeral-storage\":\"9Gi\","
		"\"devices.kubevirt.io/kvm\":\"9\","
		"\"devices.kubevirt.io/tun\":\"9\","
		"\"devices.kubevirt.io/vhost-net\":\"9\"}}}",
		name, name);
	struct json_value *object = json_of(json);
	bool changed;
	int r = cache_put_node(&scene.cache, &changed, object, 1, NULL);

	assert(r == 0);
	(void)r;
	json_value_free(object);
}

static void put_vm(size_t at, const char *namespace, const char *name,
	size_t node)
{
	const char *on = scene.cache.cluster.nodes[node]->name;
	scoped_free char *json = xasprintf(
		"{\"metadata\":{\"name\":\"launcher-%s\",\"namespace\":\"%s\","
		"\"uid\":\"%s\",\"labels\":{\"kubevirt.io\":\"virt-launcher\"},"
		"\"annotations\":{\"kubevirt.io/domain\":\"%s\"}},\"spec\":{"
		"\"nodeName\":\"%s\",\"containers\":[{\"name\":\"compute\","
		"\"resources\":{\"requests\":{\"memory\":\"20Gi\"}}}]},"
		"\"status\":{\"phase\":\"Running\"}}",
		name, namespace, name, name, on);
	struct json_value *object = json_of(json);
	struct pod *pod = NULL;
	int r = pod_new(&pod, scene.cache.interner, object, POD_UNSCHEDULED,
		NULL);

	assert(r == 0);
	(void)r;
	json_value_free(object);
	scene.vms[at] = (struct plan_vm){ .pod = pod, .node = node };
	cache_put_pod(&scene.cache, pod, 1);
}

static void make_ready(void)
{
	if (scene.is_ready) {
		return;
	}
	scene.is_ready = true;
	cache_init(&scene.cache);
	queue_init(&scene.queue);
	reservations_init(&scene.reservations, &scene.cache);
	put_node("a");
	put_node("b");
	put_node("c");
	cache_set_complete(&scene.cache);
	put_vm(0, "shop", "web", 0);
	put_vm(1, "bank", "vault", 0);
	put_vm(2, "bank", "safe", 1);
	scene.vms[2].why_not = "cannot be migrated: it is safe";
}

static void check_json(const struct buffer *out)
{
	struct json_value *value = NULL;
	int r = json_value_parse(&value, out->data, out->len, NULL);

	assert(!out->overflowed && r == 0);
	(void)r;
	json_value_free(value);
}

static void place(const struct json_value *value)
{
	scoped_buffer struct buffer out = BUFFER_MAX(ANSWER_MAX);
	const struct placement_answer where = { .cache = &scene.cache,
		.reservations = &scene.reservations,
		.queue = &scene.queue,
		.keeps_constraints = true,
		.scheduler = "s",
		.namespace = "shop",
		.now_us = 1000000 };
	struct placement_spec spec;
	struct error err;

	if (placement_spec_read(&spec, value, &err) < 0) {
		return;
	}
	if (spec.object != NULL && manifest_check(&spec, &err) < 0) {
		assert(strncmp(err.text, "spec.object", 11) == 0);
	}
	/* The answer would do without the check. */
	if (placement_answer_write(&out, &where, &spec, &err) == 0) {
		check_json(&out);
	}
}

static void plan(const struct json_value *value, bool is_visible)
{
	static const struct filter_options filter = FILTER_DEFAULTS;
	scoped_buffer struct buffer out = BUFFER_MAX(ANSWER_MAX);
	const struct plan_input input = { .cluster = &scene.cache.cluster,
		.filter = &filter,
		.vms = scene.vms,
		.vm_count = VMS,
		.now_us = 1000000,
		.max_moves = PLAN_MOVES,
		.max_load = PLAN_LOAD_MAX,
		.max_work = MAX_WORK };
	struct plan_question question;
	struct plan_spec spec;
	struct error err;

	if (plan_spec_read(&spec, value, &err) < 0 ||
		spec.goal == GOAL_MAKE_ROOM) {
		return;
	}
	plan_question_init(&question, &spec, "shop", is_visible);
	question.scheduler = "s";
	if (plan_answer_write(&out, &question, &input, 0) == 200) {
		check_json(&out);
		assert(is_visible || strstr(out.data, "bank") == NULL);
	}
	plan_question_fini(&question);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct json_value *value = NULL;
	struct error err;

	make_ready();
	if (size == 0 ||
		json_value_parse_bounded(&value, (const char *)data + 1,
			size - 1, &err) < 0) {
		return 0;
	}
	if ((data[0] & 1) != 0) {
		plan(value, (data[0] & 2) != 0);
	} else {
		place(value);
	}
	json_value_free(value);
	return 0;
}
