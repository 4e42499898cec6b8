#include "aggregator/backup_cmd.h"

#include "aggregator/store/backup.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <unistd.h>

struct backup_config {
	const char *db, *to;
};

#define ROW(member_, ...) OPTION_ROW(struct backup_config, member_, __VA_ARGS__)

static const struct option table[] = {
	ROW(db, "db", OPTION_TEXT, "FILE", .fallback = "plimsoll.db",
		.help = "database file; an aggregator may be using it"),
	ROW(to, "to", OPTION_TEXT, "FILE",
		.help = "file to write the copy to; it must not exist"),
	{ 0 },
};

static const struct options_program options = {
	.name = "plimsoll-aggregator backup",
	.summary = "copies the database as it is at one moment",
	.usage = "--to FILE [flags]",
	.table = table,
};

static void show_progress(void *owner, uint64_t done_bytes, uint64_t bytes)
{
	(void)owner;
	(void)fprintf(stderr, "\r%" PRIu64 " of %" PRIu64 " MiB",
		done_bytes >> 20, bytes >> 20);
	if (done_bytes == bytes) {
		(void)fputc('\n', stderr);
	}
}

static int check(void *config, struct error *err)
{
	const struct backup_config *backup = config;

	return backup->to == NULL ? error_set(err, -EINVAL, "--to is missing")
				  : 0;
}

static int run(const void *config, struct error *err)
{
	const struct backup_config *backup = config;

	return backup_run(
		&(struct backup_options){ .from = backup->db,
			.to = backup->to,
			.progress =
				isatty(STDERR_FILENO) ? show_progress : NULL },
		err);
}

const struct program backup_program = {
	.options = &options,
	.config_size = sizeof(struct backup_config),
	.check = check,
	.run = run,
};
