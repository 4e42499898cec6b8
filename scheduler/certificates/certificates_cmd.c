#include "scheduler/certificates/certificates_cmd.h"

#include "kube/client.h"
#include "kube/config.h"
#include "lib/log.h"
#include "lib/loop.h"
#include "scheduler/certificates/config.h"
#include "scheduler/certificates/issuer.h"

#include <stdbool.h>

struct command {
	struct loop *loop;
	struct kube_client *client;
	struct issuer *issuer;
	bool has_ended, succeeded;
};

static void on_stop(void *owner)
{
	struct command *command = owner;

	if (!command->has_ended) {
		log_error("stopped before the certificates were complete",
			LOG_END);
	}
	issuer_close(command->issuer);
	kube_client_close(command->client);
}

static void on_done(void *owner, bool succeeded)
{
	struct command *command = owner;

	command->has_ended = true;
	command->succeeded = succeeded;
	loop_begin_stop(command->loop);
}

static int check(void *config, struct error *err)
{
	return certificates_config_check(config, err);
}

static int run(const void *owner, struct error *err)
{
	const struct certificates_config *config = owner;
	struct command command = { 0 };
	struct kube_config kube;
	int r = kube_config_load(&kube, config->kubeconfig, err);

	if (r < 0) {
		return r;
	}
	log_setup((enum log_format)config->log_format,
		(enum log_level)config->log_level);
	command.loop = loop_new(on_stop, &command);
	command.client = kube_client_new(loop_uv(command.loop), &kube);
	command.issuer = issuer_new(command.client, config, on_done, &command);
	loop_run(command.loop);
	loop_free(command.loop);
	return command.succeeded ? 0 : PROGRAM_FAILED;
}

const struct program certificates_program = {
	.options = &certificates_options,
	.config_size = sizeof(struct certificates_config),
	.check = check,
	.run = run,
};
