#include <stdio.h>

#include "agent/agent.h"
#include "agent/check.h"
#include "agent/config.h"
#include "agent/once.h"
#include "lib/error.h"
#include "lib/log.h"
#include "lib/options.h"

enum { EXIT_OK, EXIT_FAILED, EXIT_USAGE };

static int complain(const struct error *err, int status)
{
	(void)fprintf(stderr, "%s: %s\n", agent_program.name, err->text);
	return status;
}

int main(int argc, char **argv)
{
	struct agent_config config = { 0 };
	enum options_outcome outcome;
	struct error err = { 0 };
	int r;

	(void)argc;
	r = options_parse(&config, &outcome, NULL, &agent_program, argv, &err);
	if (r < 0) {
		return complain(&err, EXIT_USAGE);
	}
	if (outcome == OPTIONS_EXIT) {
		return EXIT_OK;
	}
	if (config_check(&config, &err) < 0) {
		return complain(&err, EXIT_USAGE);
	}
	log_setup((enum log_format)config.log_format,
		(enum log_level)config.log_level);
	if (config.check) {
		r = check_ask(config.node_name, stdout, &err);
	} else if (config.once) {
		r = once_run(&config, &err);
	} else {
		r = agent_run(&config, &err);
	}
	return r < 0 ? complain(&err, EXIT_FAILED) : EXIT_OK;
}
