#include "aggregator/aggregator.h"
#include "lib/log.h"

#include <stdio.h>

static int complain(const struct error *err)
{
	(void)fprintf(stderr, "%s: %s\n", aggregator_program.name, err->text);
	return 2;
}

int main(int argc, char **argv)
{
	struct config config = { 0 };
	enum options_outcome outcome;
	struct error error;

	(void)argc;
	if (options_parse(&config, &outcome, NULL, &aggregator_program, argv,
		    &error) < 0) {
		return complain(&error);
	}
	if (outcome == OPTIONS_EXIT) {
		return 0;
	}
	if (config_check(&config, &error) < 0) {
		return complain(&error);
	}
	log_setup((enum log_format)config.log_format,
		(enum log_level)config.log_level);
	return aggregator_run(&config);
}
