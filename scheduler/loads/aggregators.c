#include "scheduler/loads/aggregators.h"

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
	if (r < 0) {
		aggregators_close(out);
	}
	return r;
}

void aggregators_close(struct aggregators *aggregators)
{
	loads_close(aggregators->loads);
	profile_client_close(aggregators->profile_client);
	decision_upload_close(aggregators->decision_upload);
	*aggregators = (struct aggregators){ 0 };
}
