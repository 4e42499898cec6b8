#include "agent/agent.h"

#include "agent/config.h"

#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>

#include "lib/log.h"
#include "lib/mq/mq.h"
#include "proto/wire.h"
#include "tests/unit/agent/fixture.h"

enum { REPORTS_WANTED = 3 };

/* A synthetic aggregator on a thread; the agent runs on the main thread. */
struct aggregator {
	uv_loop_t loop;
	uv_async_t stop;
	struct mq_server *server;
	pthread_t thread;
	sem_t ready;
	char url[64];
	uint64_t last_seq;
	uint64_t gaps; /* reports that are missing or out of order */
	enum kvm_state kvm;
	bool stopped; /* SIGTERM was sent to the agent */
};

static void receive_batch(struct aggregator *a, const struct batch *batch)
{
	for (size_t i = 0; i < batch->count; i++) {
		if (batch->reports[i].seq != a->last_seq + 1) {
			a->gaps++;
		}
		a->last_seq = batch->reports[i].seq;
		a->kvm = batch->reports[i].kvm.state;
	}
	if (a->last_seq >= REPORTS_WANTED && !a->stopped) {
		a->stopped = true;
		(void)kill(getpid(), SIGTERM);
	}
}

static void serve(void *owner, struct mq_request *request, const uint8_t *bytes,
	size_t len)
{
	struct aggregator *a = owner;
	struct buffer out = BUFFER_MAX(4096);
	struct wire_request wire;

	if (wire_unpack_request(&wire, bytes, len, NULL) < 0) {
		wire_pack_refused(&out, "nonsense", 0);
	} else if (wire.kind == WIRE_HELLO) {
		wire_pack_welcome(&out, "test");
		wire_request_fini(&wire);
	} else {
		receive_batch(a, &wire.batch);
		wire_pack_ack(&out, &(const struct ack){ .stored = true });
		wire_request_fini(&wire);
	}
	mq_reply(request, (const uint8_t *)out.data, out.len);
	buffer_fini(&out);
}

static void on_stop(uv_async_t *stop)
{
	struct aggregator *a = stop->data;

	mq_server_close(a->server);
	uv_close((uv_handle_t *)stop, NULL);
}

static void *run_aggregator(void *argument)
{
	struct aggregator *a = argument;

	(void)uv_loop_init(&a->loop);
	(void)uv_async_init(&a->loop, &a->stop, on_stop);
	a->stop.data = a;
	if (mq_server_new(&a->server, &a->loop,
		    &(struct mq_server_options){ .url = "tcp://127.0.0.1:0",
			    .contexts = 2,
			    .serve = serve,
			    .owner = a },
		    NULL) == 0) {
		(void)snprintf(a->url, sizeof(a->url), "tcp://127.0.0.1:%u",
			(unsigned)mq_server_port(a->server));
	}
	(void)sem_post(&a->ready);
	(void)uv_run(&a->loop, UV_RUN_DEFAULT);
	(void)uv_loop_close(&a->loop);
	return NULL;
}

static void start_aggregator(struct aggregator *a)
{
	*a = (struct aggregator){ 0 };
	assert_int_equal(sem_init(&a->ready, 0, 0), 0);
	assert_int_equal(pthread_create(&a->thread, NULL, run_aggregator, a),
		0);
	(void)sem_wait(&a->ready);
	assert_true(a->url[0] != '\0');
}

static void stop_aggregator(struct aggregator *a)
{
	(void)uv_async_send(&a->stop);
	(void)pthread_join(a->thread, NULL);
	(void)sem_destroy(&a->ready);
}

static struct agent_config config_for(const struct tree *tree, const char *url)
{
	return (struct agent_config){
		.node_name = "node-1",
		.aggregators = { .items = { url }, .count = 1 },
		.interval_us = 100000,
		.proc_root = tree->path,
		.sys_root = tree->path,
		.cgroup_root = tree->path,
		.dev_root = tree->path,
		.kvm_level = KVM_LEVEL_RUN,
		.ring_reports = 100,
	};
}

static void reports_in_order_until_it_is_stopped(void **state)
{
	static struct aggregator aggregator;
	struct agent_config config;
	struct tree tree;

	(void)state;
	tree_make(&tree);
	start_aggregator(&aggregator);
	config = config_for(&tree, aggregator.url);
	assert_int_equal(agent_program.run(&config, NULL), 0);
	stop_aggregator(&aggregator);
	assert_true(aggregator.last_seq >= REPORTS_WANTED);
	assert_int_equal(aggregator.gaps, 0);
	assert_int_equal(aggregator.kvm, KVM_MISSING);
	tree_close(&tree);
}

static void fails_to_start_without_its_roots(void **state)
{
	struct tree tree;
	struct agent_config config;
	struct error err = { 0 };

	(void)state;
	tree_make(&tree);
	config = config_for(&tree, "tcp://127.0.0.1:1");
	config.proc_root = "/nonexistent";
	assert_int_equal(agent_program.run(&config, &err), -ENOENT);
	assert_true(err.text[0] != '\0');
	tree_close(&tree);
}

static void fails_to_start_without_its_certificates(void **state)
{
	struct tree tree;
	struct agent_config config;
	struct error err = { 0 };

	(void)state;
	tree_make(&tree);
	config = config_for(&tree, "tls+tcp://127.0.0.1:1");
	config.credentials.tls.ca = "/nonexistent";
	assert_int_equal(agent_program.run(&config, &err), -ENOENT);
	assert_non_null(strstr(err.text, "/nonexistent"));
	tree_close(&tree);
}

static int quiet(void **state)
{
	(void)state;
	log_setup(LOG_TEXT, LOG_ERROR);
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(reports_in_order_until_it_is_stopped),
		cmocka_unit_test(fails_to_start_without_its_roots),
		cmocka_unit_test(fails_to_start_without_its_certificates),
	};

	return cmocka_run_group_tests(tests, quiet, NULL);
}
