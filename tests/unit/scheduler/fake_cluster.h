/* A scheduler of a fake API server, and objects for its watches. */
#pragma once

#include "tests/unit/scheduler/fake_api.h"

/* Answers the newest open request. */
static inline void answer_last(int status, const char *body)
{
	const struct http_response answer = { .status = status,
		.body = body,
		.len = strlen(body),
		.error = status < 300 ? "" : "no" };
	struct kube_request *request = world.open[--world.count];
	http_done on_done = request->call.on_done;
	void *owner = request->call.owner;

	request_free(request);
	on_done(owner, &answer);
}

/* Answers the last request for the API server's version. */
static inline void answer_version(int status, const char *git_version)
{
	scoped_free char *body = xasprintf(
		"{\"major\":\"1\",\"gitVersion\":\"%s\"}", git_version);

	world.version.on_done(world.version.owner,
		&(struct http_response){ .status = status,
			.body = body,
			.len = strlen(body),
			.error = status < 300 ? "" : "no" });
}

/* Answers all open requests with success. */
static inline void answer_all(void)
{
	while (world.count > 0) {
		answer_last(201, "{}");
	}
}

static inline void deliver(const struct reflector *r, const char *name,
	const char *text)
{
	const struct reflector_id id = { "default", name, name };
	struct json_value *object = given_json(text);

	r->handler.on_object(r->handler.owner, &id, object);
	json_value_free(object);
}

static inline void deliver_node(const char *name)
{
	scoped_free char *text = xasprintf(
		"{'metadata':{'name':'%s','uid':'%s'},'spec':{},"
		"'status':{'allocatable':{'cpu':'8','memory':'16Gi',"
		"'pods':'500'}}}",
		name, name);

	deliver(&world.nodes, name, text);
}

static inline void deliver_pod(const char *name, const char *cpu,
	const char *label)
{
	scoped_free char *text = xasprintf(
		"{'metadata':{'name':'%s','uid':'%s','namespace':'default',"
		"'labels':{'a':'%s'}},'spec':{'schedulerName':'s',"
		"'containers':[{'name':'c','resources':{'requests':"
		"{'cpu':'%s'}}}]},'status':{'phase':'Pending'}}",
		name, name, label, cpu);

	deliver(&world.pods, name, text);
}

/* An object of the kind with this path. */
static inline void deliver_other(const char *path, const char *name,
	const char *text)
{
	for (size_t i = 0; i < world.other_count; i++) {
		if (strcmp(world.others[i].path, path) == 0) {
			deliver(&world.others[i], name, text);
			return;
		}
	}
	fail_msg("no watch of %s", path);
}

static inline void deliver_synced(void)
{
	world.is_synced = true;
	world.nodes.handler.on_synced(world.nodes.handler.owner);
	world.pods.handler.on_synced(world.pods.handler.owner);
	for (size_t i = 0; i < world.other_count; i++) {
		world.others[i].handler.on_synced(
			world.others[i].handler.owner);
	}
}

/* Until no timer is due. */
static inline void take_turns(void)
{
	(void)uv_run(&world.loop, UV_RUN_DEFAULT);
}

static inline int setup(void **state)
{
	(void)state;
	memset(&world, 0, sizeof(world));
	world.config.scheduler_name = "s";
	assert_int_equal(uv_loop_init(&world.loop), 0);
	return schedule_new(&world.sched, &world.loop, NULL, &world.config,
		NULL);
}

static inline int teardown(void **state)
{
	assert_golden_told(GOLDEN_PROGRAM, *state);
	schedule_close(world.sched);
	(void)uv_run(&world.loop, UV_RUN_DEFAULT);
	return uv_loop_close(&world.loop);
}

static inline bool is_requested(const char *part)
{
	for (size_t i = 0; i < world.count; i++) {
		if (strstr(world.open[i]->body, part) != NULL) {
			return true;
		}
	}
	return false;
}

static inline void deliver_deleted(const struct reflector *r, const char *name)
{
	const struct reflector_id id = { "default", name, name };

	r->handler.on_deleted(r->handler.owner, &id);
}

#define SCHEDULE_TEST(name) golden_test(name, setup, teardown)
