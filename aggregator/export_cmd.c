#include "aggregator/export_cmd.h"

#include "aggregator/query/export.h"
#include "aggregator/query/history_query.h"
#include "aggregator/store/offline_reader.h"
#include "lib/clock.h"
#include "lib/memory.h"

#include <errno.h>
#include <inttypes.h>

#define TEXT_MAX ((size_t)512 << 20)

static const uint64_t minute_us = 60000000;
static const uint64_t day_us = UINT64_C(86400000000);

struct reading {
	struct export *export;
	struct error error; /* code 0: all was taken */
};

static void on_identity(void *owner, const struct store_vm *vm)
{
	struct reading *reading = owner;

	export_identify(reading->export, vm->pod_uid, vm->namespace, vm->name);
}

static bool on_minute(void *owner, const struct store_rollup *minute)
{
	struct reading *reading = owner;

	reading->error.code = 0;
	return export_add(reading->export, minute->node, minute->pod_uid,
		       minute->row, &reading->error) == 0;
}

static int parse_time(uint64_t *us, const char *flag, const char *text,
	struct error *err)
{
	int r = text == NULL ? 0 : query_parse_time(us, text, err);

	return r < 0 ? error_wrap(err, r, "--%s", flag) : 0;
}

static int find_span(struct export_span *out,
	const struct export_config *config, struct error *err)
{
	uint64_t from_us, steps;
	uint64_t to_us = clock_wall_us();
	int r = parse_time(&to_us, "to", config->to, err);

	to_us -= to_us % minute_us;
	from_us = to_us > day_us ? to_us - day_us : 0;
	if (r == 0) {
		r = parse_time(&from_us, "from", config->from, err);
	}
	if (r < 0) {
		return r;
	}
	from_us -= from_us % minute_us;
	if (config->step_us % minute_us != 0) {
		return error_set(err, -EINVAL,
			"--step: it is not a whole number of minutes");
	}
	if (from_us >= to_us) {
		return error_set(err, -EINVAL,
			"--from: there is no minute between it and --to");
	}
	steps = (to_us - from_us + config->step_us - 1) / config->step_us;
	if (steps > EXPORT_STEPS_MAX) {
		return error_set(err, -EINVAL,
			"--step: that makes %" PRIu64 " steps, more than %d",
			steps, EXPORT_STEPS_MAX);
	}
	*out = (struct export_span){ from_us / 1000, config->step_us / 1000,
		(size_t)steps };
	return 0;
}

static int print(const struct export *export, FILE *out, struct error *err)
{
	scoped_buffer struct buffer text = BUFFER_MAX(TEXT_MAX);

	export_write(&text, export);
	if (text.overflowed) {
		return error_set(err, -EFBIG,
			"that is more than %zu MiB: take a shorter time or a "
			"longer step",
			TEXT_MAX >> 20);
	}
	if (fwrite(text.data, 1, text.len, out) != text.len ||
		fflush(out) != 0) {
		return error_errno(err, "cannot write");
	}
	return 0;
}

int export_command(const struct export_config *config, FILE *out,
	struct error *err)
{
	struct reading reading = { .error = { .code = 0 } };
	struct export_span span = { .steps = 0 };
	struct store_past past;
	int r = find_span(&span, config, err);

	if (r < 0) {
		return r;
	}
	reading.export = export_new(&span);
	past = (struct store_past){
		.path = config->db,
		.from_ms = span.from_ms,
		.to_ms = span.from_ms + span.steps * span.step_ms,
		.identity = on_identity,
		.minute = on_minute,
		.owner = &reading,
	};
	r = store_past_read(&past, err);
	if (r == 0 && reading.error.code != 0) {
		*err = reading.error;
		r = err->code;
	}
	if (r == 0) {
		r = print(reading.export, out, err);
	}
	export_free(reading.export);
	return r;
}
