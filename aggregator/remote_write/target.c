#include "aggregator/remote_write/target.h"

#include "aggregator/series/label_flags.h"
#include "lib/memory.h"

#include <stdlib.h>
#include <string.h>

static const char flag[] = "remote-write";

/* Required by remote write 1.0. */
static const char *const fixed_headers[] = {
	"Content-Type: application/x-protobuf",
	"Content-Encoding: snappy",
	"X-Prometheus-Remote-Write-Version: 0.1.0",
	NULL,
};

int target_check(const struct target_config *config, struct error *err)
{
	int r = http_target_check(&config->http, config->labels.count > 0, flag,
		err);

	return r < 0
		? r
		: label_flags_check(&config->labels, "remote-write-label", err);
}

static void split_labels(struct target *target,
	const struct option_list *labels)
{
	for (size_t i = 0; i < labels->count; i++) {
		char *name = xstrdup(labels->items[i]);
		char *equals = strchr(name, '=');

		*equals = '\0';
		target->label_names[i] = name;
		target->extra.labels[i] =
			(struct remote_label){ name, equals + 1 };
	}
	target->extra.count = labels->count;
}

int target_init(struct target *out, const struct target_config *config,
	struct error *err)
{
	struct target target = { 0 };
	int r = http_target_init(&target.http, &config->http, flag, err);

	if (r == 0) {
		split_labels(&target, &config->labels);
		*out = target;
	}
	return r;
}

void target_fini(struct target *target)
{
	http_target_fini(&target->http);
	for (size_t i = 0; i < REQUEST_EXTRA_MAX; i++) {
		free(target->label_names[i]);
	}
	*target = (struct target){ 0 };
}

void target_headers(const char *out[HTTP_TARGET_HEADERS_MAX],
	const struct target *target)
{
	http_target_headers(out, &target->http, fixed_headers);
}
