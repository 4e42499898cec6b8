/* plimsoll-scheduler: flags, parts, run. */
#include "kube/client.h"
#include "kube/config.h"
#include "lib/clock.h"
#include "lib/httpd.h"
#include "lib/log.h"
#include "lib/loop.h"
#include "scheduler/config.h"
#include "scheduler/placer.h"
#include "scheduler/score_cmd.h"
#include "scheduler/simulate_cmd.h"

#include <stdio.h>
#include <string.h>

enum { EXIT_FAILED = 1, EXIT_USAGE = 2 };

/* How often we look whether somebody talks nonsense, and how often we say so:
 * a probe that only connects is one of them. */
enum { LOOK_MS = 5000 };
#define STRANGERS_US UINT64_C(60000000)

struct daemon {
	struct scheduler_config config;
	struct loop *loop;
	struct kube_client *client;
	struct placer *placer;
	struct httpd *http;
	struct timer *look;
	struct log_limit strangers;
};

static void on_request(void *owner, struct http_request *request)
{
	struct daemon *daemon = owner;
	scoped_buffer struct buffer body = BUFFER_MAX(4096);
	int status = 200;

	if (strcmp(http_path(request), "/readyz") == 0) {
		if (!placer_is_ready(daemon->placer, &body)) {
			status = 503;
		}
	} else if (strcmp(http_path(request), "/healthz") != 0) {
		http_reply_error(request, 404,
			"there is no %s; try /healthz or /readyz",
			http_path(request));
		return;
	}
	buffer_text(&body, body.len == 0 ? "ok\n" : "\n");
	http_reply(request, status, "text/plain", body.data, body.len);
}

static void close_all(void *owner)
{
	struct daemon *daemon = owner;

	timer_close(daemon->look);
	httpd_close(daemon->http);
	placer_close(daemon->placer);
	kube_client_close(daemon->client);
	log_info("stopped", LOG_END);
}

static void on_stop(void *owner)
{
	struct daemon *daemon = owner;

	placer_drain(daemon->placer, close_all, daemon);
}

static void on_look(void *owner)
{
	struct daemon *daemon = owner;
	uint64_t count = httpd_strangers(daemon->http);

	if (count > 0 &&
		log_allow(&daemon->strangers, clock_monotonic_us(),
			STRANGERS_US, NULL)) {
		log_warning(
			"HTTP connections ended without a request: their "
			"clients are too slow or speak something else",
			log_str("listener", daemon->config.http),
			log_int("connections", (int64_t)count), LOG_END);
	}
}

static int open_http(struct daemon *daemon, struct error *err)
{
	const struct tls_files *files = &daemon->config.http_tls;
	struct tls_material tls = { 0 };
	int r = tls_load(&tls, files, err);

	if (r == 0) {
		r = httpd_new(&daemon->http, loop_uv(daemon->loop),
			&(struct httpd_options){ .address = daemon->config.http,
				.serve = on_request,
				.owner = daemon,
				.tls = files->cert == NULL ? NULL : &tls },
			err);
	}
	tls_fini(&tls);
	return r;
}

static int start(struct daemon *daemon, struct error *err)
{
	uv_loop_t *loop = loop_uv(daemon->loop);
	struct kube_config kube;
	struct scheduler_config *config = &daemon->config;
	int r = policy_find(&config->scoring, config->policy, NULL, err);

	if (r == 0) {
		r = kube_config_load(&kube, config->kubeconfig, err);
	}
	if (r < 0) {
		return r;
	}
	daemon->client = kube_client_new(loop, &kube);
	r = placer_new(&daemon->placer, loop, daemon->client, &daemon->config,
		err);
	if (r == 0) {
		r = open_http(daemon, err);
	}
	if (r == 0) {
		daemon->look = timer_new(loop, on_look, daemon);
		timer_start(daemon->look, LOOK_MS, LOOK_MS);
		log_info("placing pods",
			log_str("schedulerName", daemon->config.scheduler_name),
			log_str("server", kube_client_server(daemon->client)),
			log_int("http", httpd_port(daemon->http)),
			log_str("version", plimsoll_version), LOG_END);
	}
	return r;
}

static int fail(const struct options_program *program, int status,
	const char *text)
{
	(void)fprintf(stderr, "%s: %s\n", program->name, text);
	return status;
}

static int run_score(char **argv)
{
	struct score_config config = { 0 };
	enum options_outcome outcome;
	struct error err;

	if (options_parse(&config, &outcome, NULL, &score_program, argv, &err) <
		0) {
		return fail(&score_program, EXIT_USAGE, err.text);
	}
	if (outcome == OPTIONS_EXIT) {
		return 0;
	}
	if (config.input == NULL) {
		return fail(&score_program, EXIT_USAGE, "--in is missing");
	}
	if (score_command(config.input, stdout, &err) < 0) {
		return fail(&score_program, EXIT_FAILED, err.text);
	}
	return 0;
}

static int run_simulate(char **argv)
{
	struct simulate_config config = { 0 };
	enum options_outcome outcome;
	struct error err;

	if (options_parse(&config, &outcome, NULL, &simulate_program, argv,
		    &err) < 0) {
		return fail(&simulate_program, EXIT_USAGE, err.text);
	}
	if (outcome == OPTIONS_EXIT) {
		return 0;
	}
	if (config.scenario == NULL) {
		return fail(&simulate_program, EXIT_USAGE,
			"--scenario is missing");
	}
	if (simulate_command(&config, stdout, &err) < 0) {
		return fail(&simulate_program, EXIT_FAILED, err.text);
	}
	return 0;
}

int main(int argc, char **argv)
{
	struct daemon daemon = { 0 };
	enum options_outcome outcome;
	struct error err;

	if (argc > 1 && strcmp(argv[1], "score") == 0) {
		return run_score(argv + 1);
	}
	if (argc > 1 && strcmp(argv[1], "simulate") == 0) {
		return run_simulate(argv + 1);
	}
	if (options_parse(&daemon.config, &outcome, NULL, &scheduler_program,
		    argv, &err) < 0) {
		return fail(&scheduler_program, EXIT_USAGE, err.text);
	}
	if (outcome == OPTIONS_EXIT) {
		return 0;
	}
	if (scheduler_config_check(&daemon.config, &err) < 0) {
		return fail(&scheduler_program, EXIT_USAGE, err.text);
	}
	log_setup((enum log_format)daemon.config.log_format,
		(enum log_level)daemon.config.log_level);
	daemon.loop = loop_new(on_stop, &daemon);
	if (start(&daemon, &err) < 0) {
		log_error("cannot start", log_err(&err), LOG_END);
		return EXIT_FAILED;
	}
	loop_run(daemon.loop);
	loop_free(daemon.loop);
	return 0;
}
