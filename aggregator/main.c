#include "aggregator/aggregator.h"
#include "aggregator/export_cmd.h"
#include "aggregator/store/backup.h"
#include "lib/log.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* A complaint's exit status is 2 where the command line is wrong. */
static int complain(const char *program, int status, const struct error *err)
{
	(void)fprintf(stderr, "%s: %s\n", program, err->text);
	return status;
}

static void show_progress(void *owner, uint64_t done_bytes, uint64_t bytes)
{
	(void)owner;
	(void)fprintf(stderr, "\r%" PRIu64 " of %" PRIu64 " MiB",
		done_bytes >> 20, bytes >> 20);
	if (done_bytes == bytes) {
		(void)fputc('\n', stderr);
	}
}

static int run_backup(char **argv)
{
	const char *name = backup_program.name;
	struct backup_config config = { 0 };
	enum options_outcome outcome;
	struct backup_options options;
	struct error error;

	if (options_parse(&config, &outcome, NULL, &backup_program, argv,
		    &error) < 0) {
		return complain(name, 2, &error);
	}
	if (outcome == OPTIONS_EXIT) {
		return 0;
	}
	if (config.to == NULL) {
		(void)error_set(&error, -EINVAL, "--to is missing");
		return complain(name, 2, &error);
	}
	options = (struct backup_options){ .from = config.db,
		.to = config.to,
		.progress = isatty(STDERR_FILENO) ? show_progress : NULL };
	return store_backup(&options, &error) < 0 ? complain(name, 1, &error)
						  : 0;
}

static int run_export(char **argv)
{
	const char *name = export_program.name;
	struct export_config config = { 0 };
	enum options_outcome outcome;
	struct error error;

	if (options_parse(&config, &outcome, NULL, &export_program, argv,
		    &error) < 0) {
		return complain(name, 2, &error);
	}
	if (outcome == OPTIONS_EXIT) {
		return 0;
	}
	return export_command(&config, stdout, &error) < 0
		? complain(name, 1, &error)
		: 0;
}

int main(int argc, char **argv)
{
	struct config config = { 0 };
	enum options_outcome outcome;
	struct error error;

	if (argc > 1 && strcmp(argv[1], "backup") == 0) {
		return run_backup(argv + 1);
	}
	if (argc > 1 && strcmp(argv[1], "export") == 0) {
		return run_export(argv + 1);
	}
	if (options_parse(&config, &outcome, NULL, &aggregator_program, argv,
		    &error) < 0) {
		return complain(aggregator_program.name, 2, &error);
	}
	if (outcome == OPTIONS_EXIT) {
		return 0;
	}
	if (config_check(&config, &error) < 0) {
		return complain(aggregator_program.name, 2, &error);
	}
	log_setup((enum log_format)config.log_format,
		(enum log_level)config.log_level);
	return aggregator_run(&config);
}
