#include "scheduler/scheduler.h"

#include "auth/access_review.h"
#include "kube/client.h"
#include "kube/config.h"
#include "lib/log.h"
#include "lib/loop.h"
#include "scheduler/config.h"
#include "scheduler/schedule.h"
#include "scheduler/server.h"

struct scheduler {
	struct scheduler_config config;
	struct loop *loop;
	struct kube_client *client;
	struct schedule *sched;
	struct access_review *review; /* NULL: no authentication */
	struct server *server;
};

static void close_all(void *owner)
{
	struct scheduler *scheduler = owner;

	access_review_stop(scheduler->review);
	server_close(scheduler->server);
	schedule_close(scheduler->sched);
	kube_client_close(scheduler->client);
	log_info("stopped", LOG_END);
}

static void on_stop(void *owner)
{
	struct scheduler *scheduler = owner;

	schedule_drain(scheduler->sched, close_all, scheduler);
}

static int open_review(struct scheduler *scheduler, struct error *err)
{
	struct kube_config kube;
	int r;

	if (scheduler->config.http_auth == AUTH_NONE) {
		return 0;
	}
	r = kube_config_load(&kube, scheduler->config.kubeconfig, err);
	if (r == 0) {
		scheduler->review =
			access_review_new(loop_uv(scheduler->loop), &kube);
	}
	return r;
}

static int start(struct scheduler *scheduler, struct error *err)
{
	uv_loop_t *loop = loop_uv(scheduler->loop);
	struct kube_config kube;
	struct scheduler_config *config = &scheduler->config;
	int r = kube_config_load(&kube, config->kubeconfig, err);

	if (r < 0) {
		return r;
	}
	scheduler->client = kube_client_new(loop, &kube);
	r = schedule_new(&scheduler->sched, loop, scheduler->client,
		&scheduler->config, err);
	if (r == 0) {
		r = open_review(scheduler, err);
	}
	if (r == 0) {
		r = server_new(&scheduler->server,
			&(struct server_options){ .loop = scheduler->loop,
				.config = config,
				.sched = scheduler->sched,
				.review = scheduler->review },
			err);
	}
	if (r == 0) {
		log_info("scheduler started",
			log_str("schedulerName",
				scheduler->config.scheduler_name),
			log_str("server",
				kube_client_server(scheduler->client)),
			log_int("http", server_port(scheduler->server)),
			log_int("webhook",
				server_webhook_port(scheduler->server)),
			log_str("version", plimsoll_version), LOG_END);
	}
	return r;
}

static int check(void *config, struct error *err)
{
	return scheduler_config_check(config, err);
}

static int run(const void *config, struct error *err)
{
	struct scheduler scheduler = {
		.config = *(const struct scheduler_config *)config,
	};

	log_setup((enum log_format)scheduler.config.log_format,
		(enum log_level)scheduler.config.log_level);
	scheduler.loop = loop_new(on_stop, &scheduler);
	if (start(&scheduler, err) < 0) {
		log_error("cannot start", log_err(err), LOG_END);
		return PROGRAM_FAILED;
	}
	loop_run(scheduler.loop);
	loop_free(scheduler.loop);
	access_review_free(scheduler.review);
	return 0;
}

const struct program scheduler_program = {
	.options = &scheduler_options,
	.config_size = sizeof(struct scheduler_config),
	.check = check,
	.run = run,
};
