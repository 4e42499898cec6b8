#include "scheduler/loads/aggregators.h"

static int open_moves(struct aggregators *out, uv_loop_t *loop,
	const struct aggregators_options *options, struct error *err)
{
	int r = move_upload_new(&out->move_upload, loop, options, err);

	return r < 0 ? r
		     : move_history_new(&out->move_history, loop, options, err);
}

int aggregators_open(struct aggregators *out, uv_loop_t *loop,
	const struct aggregators_options *options, struct error *err)
{
	int r;

	*out = (struct aggregators){ 0 };
	r = loads_new(&out->loads, loop, options, err);
	if (r == 0) {
		r = decision_upload_new(&out->decision_upload, loop, options,
			err);
	}
	if (r == 0) {
		r = profile_client_new(&out->profile_client, loop, options,
			err);
	}
	if (r == 0 && options->has_moves) {
		r = open_moves(out, loop, options, err);
	}
	if (r < 0) {
		aggregators_close(out);
	}
	return r;
}

void aggregators_close(struct aggregators *aggregators)
{
	loads_close(aggregators->loads);
	profile_client_close(aggregators->profile_client);
	record_upload_close(aggregators->decision_upload);
	move_history_close(aggregators->move_history);
	record_upload_close(aggregators->move_upload);
	*aggregators = (struct aggregators){ 0 };
}
