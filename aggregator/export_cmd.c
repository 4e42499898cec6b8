#include "aggregator/export_cmd.h"

#include "aggregator/query/export.h"
#include "aggregator/query/history_query.h"
#include "aggregator/store/offline_reader.h"
#include "lib/clock.h"
#include "lib/memory.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>

#define TEXT_MAX ((size_t)512 << 20)

static const uint64_t minute_us = 60000000;
static const uint64_t day_us = UINT64_C(86400000000);

struct export_config {
	const char *db;
	const char *from, *to; /* NULL: not given */
	uint64_t step_us;
	struct export_span span; /* from the others */
};

#define ROW(member_, ...) OPTION_ROW(struct export_config, member_, __VA_ARGS__)

static const struct option table[] = {
	ROW(db, "db", OPTION_TEXT, "FILE", .fallback = "plimsoll.db",
		.help = "database file; an aggregator may be using it"),
	ROW(from, "from", OPTION_TEXT, "TIME",
		.help = "start, as RFC 3339 or unix seconds; default: a day "
			"before --to"),
	ROW(to, "to", OPTION_TEXT, "TIME",
		.help = "end, as RFC 3339 or unix seconds; default: the last "
			"full minute"),
	ROW(step_us, "step", OPTION_DURATION, "DURATION", .fallback = "1m",
		.help = "length of a step, in full minutes", .min = 60e6,
		.max = 86400e6),
	{ 0 },
};

static const struct options_program options = {
	.name = "plimsoll-aggregator export",
	.summary =
		"prints what VMs used over time, as JSON for "
		"plimsoll-simulate --recorded",
	.usage = "[flags]",
	.table = table,
};

struct reading {
	struct export *export;
	struct error error; /* code 0: all minutes were added */
};

static void on_identity(void *owner, const struct store_vm *vm)
{
	struct reading *reading = owner;

	export_identify(reading->export, vm->pod_uid,
		&(struct export_identity){ vm->namespace, vm->name, vm->node });
}

static bool on_minute(void *owner, const struct store_rollup *minute)
{
	struct reading *reading = owner;

	reading->error.code = 0;
	return export_add(reading->export, minute->node, minute->pod_uid,
		       minute->row, &reading->error) == 0;
}

static int find_span(struct export_config *config, struct error *err)
{
	uint64_t from_us, steps;
	uint64_t to_us = clock_wall_us();
	int r = history_query_parse_time(&to_us, "--to", config->to, err);

	to_us -= to_us % minute_us;
	from_us = to_us > day_us ? to_us - day_us : 0;
	if (r == 0) {
		r = history_query_parse_time(&from_us, "--from", config->from,
			err);
	}
	if (r < 0) {
		return r;
	}
	from_us -= from_us % minute_us;
	if (config->step_us % minute_us != 0) {
		return error_set(err, -EINVAL,
			"--step: not a whole number of minutes");
	}
	if (from_us >= to_us) {
		return error_set(err, -EINVAL,
			"--from: less than a minute before --to");
	}
	steps = (to_us - from_us + config->step_us - 1) / config->step_us;
	if (steps > EXPORT_STEPS_MAX) {
		return error_set(err, -EINVAL,
			"--step: %" PRIu64 " steps, more than the limit of %d",
			steps, EXPORT_STEPS_MAX);
	}
	config->span = (struct export_span){ from_us / 1000,
		config->step_us / 1000, (size_t)steps };
	return 0;
}

static int print(const struct export *export, FILE *out, struct error *err)
{
	scoped_buffer struct buffer text = BUFFER_MAX(TEXT_MAX);

	export_write(&text, export);
	if (text.overflowed) {
		return error_set(err, -EFBIG,
			"the file would be larger than %zu MiB: use a shorter "
			"time range or a longer step",
			TEXT_MAX >> 20);
	}
	if (fwrite(text.data, 1, text.len, out) != text.len ||
		fflush(out) != 0) {
		return error_errno(err, "cannot write");
	}
	return 0;
}

static int check(void *config, struct error *err)
{
	return find_span(config, err);
}

/* Prints nothing on failure. */
static int run(const void *arguments, struct error *err)
{
	const struct export_config *config = arguments;
	struct reading reading = { .error = { .code = 0 } };
	const struct export_span *span = &config->span;
	struct offline_reader reader;
	int r;

	reading.export = export_new(span);
	reader = (struct offline_reader){
		.path = config->db,
		.from_ms = span->from_ms,
		.to_ms = span->from_ms + span->steps * span->step_ms,
		.identity = on_identity,
		.minute = on_minute,
		.owner = &reading,
	};
	r = offline_reader_read(&reader, err);
	if (r == 0 && reading.error.code != 0) {
		*err = reading.error;
		r = err->code;
	}
	if (r == 0) {
		r = print(reading.export, stdout, err);
	}
	export_free(reading.export);
	return r;
}

const struct program export_program = {
	.options = &options,
	.config_size = sizeof(struct export_config),
	.check = check,
	.run = run,
};
