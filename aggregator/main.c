#include "aggregator/aggregator.h"
#include "lib/log.h"

#include <stdio.h>

int main(int argc, char **argv)
{
	struct config config = { 0 };
	enum options_outcome outcome;
	struct error error;

	(void)argc;
	if (options_parse(&config, &outcome, NULL, &aggregator_program, argv,
		    &error) < 0) {
		(void)fprintf(stderr, "plimsoll-aggregator: %s\n", error.text);
		return 2;
	}
	if (outcome == OPTIONS_EXIT) {
		return 0;
	}
	log_setup((enum log_format)config.log_format,
		(enum log_level)config.log_level);
	return aggregator_run(&config);
}
