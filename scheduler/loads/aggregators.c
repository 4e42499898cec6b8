#include "scheduler/loads/aggregators.h"

int aggregators_open(struct aggregators *out, uv_loop_t *loop,
	const struct aggregators_options *options, struct error *err)
{
	int r;

	*out = (struct aggregators){ 0 };
	r = loads_new(&out->loads, loop,
		&(struct loads_options){ .aggregators = options->urls,
			.dial = options->dial,
			.on_node = options->on_node,
			.owner = options->owner },
		err);
	if (r == 0) {
		r = records_new(&out->records, loop, options->urls,
			options->dial, err);
	}
	if (r == 0) {
		r = pasts_new(&out->pasts, loop,
			&(struct pasts_options){ .aggregators = options->urls,
				.dial = options->dial,
				.on_answer = options->on_past,
				.owner = options->owner,
				.queue = options->queue,
				.cache = options->cache },
			err);
	}
	if (r < 0) {
		aggregators_close(out);
	}
	return r;
}

void aggregators_close(struct aggregators *aggregators)
{
	loads_close(aggregators->loads);
	pasts_close(aggregators->pasts);
	records_close(aggregators->records);
	*aggregators = (struct aggregators){ 0 };
}
