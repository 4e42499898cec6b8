/* plimsoll-scheduler: flags, parts, run. */
#include "kube/client.h"
#include "kube/config.h"
#include "lib/log.h"
#include "lib/loop.h"
#include "scheduler/config.h"
#include "scheduler/schedule.h"
#include "scheduler/offline/score_cmd.h"
#include "scheduler/server.h"
#include "scheduler/offline/simulate_cmd.h"

#include <stdio.h>
#include <string.h>

enum { EXIT_FAILED = 1, EXIT_USAGE = 2 };

struct daemon {
	struct scheduler_config config;
	struct loop *loop;
	struct kube_client *client;
	struct placer *placer;
	struct server *server;
};

static void close_all(void *owner)
{
	struct daemon *daemon = owner;

	server_close(daemon->server);
	placer_close(daemon->placer);
	kube_client_close(daemon->client);
	log_info("stopped", LOG_END);
}

static void on_stop(void *owner)
{
	struct daemon *daemon = owner;

	placer_drain(daemon->placer, close_all, daemon);
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
		r = server_new(&daemon->server, daemon->loop, config,
			daemon->placer, err);
	}
	if (r == 0) {
		log_info("placing pods",
			log_str("schedulerName", daemon->config.scheduler_name),
			log_str("server", kube_client_server(daemon->client)),
			log_int("http", server_port(daemon->server)),
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
	if (simulate_config_check(&config, &err) < 0) {
		return fail(&simulate_program, EXIT_USAGE, err.text);
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
