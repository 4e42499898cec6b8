/* Measures a message and its reply in a server that does no work: nng, its
 * threads, and the way to the event loop and back. A report cannot cost an
 * aggregator less.
 *
 *     bench_transport [CONNECTIONS]
 *
 * The figure is the CPU time of all threads of the server while each connection
 * sends a request every two seconds, as agents do. */
#include "lib/clock.h"
#include "lib/loop.h"
#include "lib/memory.h"
#include "lib/mq/mq.h"
#include "tests/bench/cpu.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
	MESSAGE_BYTES = 250, /* a report of a node without pods */
	INTERVAL_MS = 2000,
	SETTLE_MS = 6000,
	MEASURED_MS = 10000,
	CONNECTIONS = 500,
};

struct bench {
	uv_loop_t loop;
	uint64_t served, served_before;
	double cpu_before_us;
	struct timer *settled, *over;
};

static void serve(void *owner, struct mq_request *request, const uint8_t *bytes,
	size_t len)
{
	struct bench *bench = owner;

	(void)len;
	bench->served++;
	mq_reply(request, bytes, 6);
}

static void on_settled(void *owner)
{
	struct bench *bench = owner;

	bench->served_before = bench->served;
	bench->cpu_before_us = cpu_us(RUSAGE_SELF);
}

static void on_over(void *owner)
{
	struct bench *bench = owner;

	uv_stop(&bench->loop);
}

/* ---- the other side, in a process of its own ---- */

struct asker {
	struct mq_client *client;
	struct timer *timer;
};

static void ask(void *owner)
{
	static const uint8_t message[MESSAGE_BYTES] = { 1 };
	struct asker *asker = owner;

	if (!mq_client_busy(asker->client) &&
		mq_client_connected(asker->client)) {
		mq_client_send(asker->client, message, sizeof(message));
	}
}

static void on_answer(void *owner, const uint8_t *bytes, size_t len)
{
	(void)owner;
	(void)bytes;
	(void)len;
}

static void ask_for_ever(const char *url, size_t count)
{
	struct asker *askers = xcalloc(count, sizeof(*askers));
	uv_loop_t loop;

	if (uv_loop_init(&loop) < 0) {
		exit(1);
	}
	for (size_t i = 0; i < count; i++) {
		struct mq_client_options options = { .url = url,
			.timeout_ms = 10000,
			.on_reply = on_answer,
			.owner = &askers[i] };
		struct error err;

		if (mq_client_new(&askers[i].client, &loop, &options, &err) <
			0) {
			(void)fprintf(stderr, "%s\n", err.text);
			exit(1);
		}
		askers[i].timer = timer_new(&loop, ask, &askers[i]);
		timer_start(askers[i].timer, 1 + i * INTERVAL_MS / count,
			INTERVAL_MS);
	}
	(void)uv_run(&loop, UV_RUN_DEFAULT);
}

/* Forks before any thread starts: a child has no threads. */
static pid_t start_askers(const int from[2], size_t count)
{
	pid_t child = fork();
	char url[64] = "";

	if (child == 0) {
		(void)close(from[1]);
		if (read(from[0], url, sizeof(url) - 1) > 0) {
			ask_for_ever(url, count);
		}
		_exit(1);
	}
	(void)close(from[0]);
	return child;
}

static int measure(struct bench *bench, int to, size_t count)
{
	struct mq_server_options options = { .url = "tcp://127.0.0.1:0",
		.contexts = 256,
		.serve = serve,
		.owner = bench };
	struct mq_server *server;
	struct error err;
	char url[64];
	int len;

	if (uv_loop_init(&bench->loop) < 0 ||
		mq_server_new(&server, &bench->loop, &options, &err) < 0) {
		return 1;
	}
	len = snprintf(url, sizeof(url), "tcp://127.0.0.1:%d",
		mq_server_port(server));
	if (write(to, url, (size_t)len) != len) {
		return 1;
	}
	bench->settled = timer_new(&bench->loop, on_settled, bench);
	bench->over = timer_new(&bench->loop, on_over, bench);
	timer_start(bench->settled, SETTLE_MS, 0);
	timer_start(bench->over, SETTLE_MS + MEASURED_MS, 0);
	(void)uv_run(&bench->loop, UV_RUN_DEFAULT);
	bench->served -= bench->served_before;
	(void)printf(
		"transport: a message of %d bytes and its answer, "
		"%zu connections every %d ms: %.1f us of CPU, %llu "
		"messages\n",
		MESSAGE_BYTES, count, INTERVAL_MS,
		(cpu_us(RUSAGE_SELF) - bench->cpu_before_us) /
			(double)bench->served,
		(unsigned long long)bench->served);
	return bench->served > 0 ? 0 : 1;
}

int main(int argc, char **argv)
{
	size_t count = argc > 1 ? strtoul(argv[1], NULL, 10) : CONNECTIONS;
	struct bench bench = { 0 };
	int ends[2];
	pid_t child;
	int status;

	if (pipe(ends) < 0) {
		return 1;
	}
	child = start_askers(ends, count);
	if (child < 0) {
		return 1;
	}
	status = measure(&bench, ends[1], count);
	(void)kill(child, SIGKILL);
	(void)waitpid(child, NULL, 0);
	return status;
}
