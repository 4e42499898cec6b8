#include "aggregator/config.h"

#include <stddef.h>

/* Below a minute a replayed report might be deleted as it comes in. */
static const double retention_min_us = 60e6;
static const double retention_max_us = 3650.0 * 86400e6;

static const struct option table[] = {
	{ "listen", "URL", OPTION_TEXT, offsetof(struct config, listen),
		"tcp://0.0.0.0:7473",
		"where agents send reports and schedulers ask for snapshots", 0,
		0, NULL, NULL },
	{ "http", "HOST:PORT", OPTION_TEXT, offsetof(struct config, http),
		"0.0.0.0:7474", "where the HTTP interface listens", 0, 0, NULL,
		NULL },
	{ "health", "HOST:PORT", OPTION_TEXT, offsetof(struct config, health),
		"0.0.0.0:7476", "where /healthz and /readyz listen", 0, 0, NULL,
		NULL },
	{ "db", "FILE", OPTION_TEXT, offsetof(struct config, db), "plimsoll.db",
		"the database; made if it is not there", 0, 0, NULL, NULL },
	{ "retention-raw", "DURATION", OPTION_DURATION,
		offsetof(struct config, retention_raw_us), "48h",
		"how long reports are kept as they came", retention_min_us,
		retention_max_us, NULL, NULL },
	OPTIONS_LOG_ROWS(struct config, log_format, log_level),
	{ .name = NULL },
};

const struct options_program aggregator_program = {
	.name = "plimsoll-aggregator",
	.summary =
		"collects and keeps what the nodes of a cluster are loaded "
		"with",
	.usage = "[OPTIONS]",
	.table = table,
};
