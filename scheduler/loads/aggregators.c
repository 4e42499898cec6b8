#include "scheduler/loads/aggregators.h"

#include "scheduler/cache/cache.h"

static int open_moves(struct aggregators *out, uv_loop_t *loop,
	const struct aggregators_options *options, struct error *err)
{
	int r = move_upload_new(&out->move_upload, loop, options, err);

	return r < 0 ? r
		     : move_history_new(&out->move_history, loop, options, err);
}

static int open_all(struct aggregators *out, uv_loop_t *loop,
	const struct aggregators_options *options, struct error *err)
{
	int r = loads_new(&out->loads, loop, options, err);

	if (r == 0) {
		out->kin = kin_learner_new(loop, &options->cache->cluster);
		r = decision_upload_new(&out->decision_upload, loop, options,
			err);
	}
	if (r == 0) {
		r = profile_client_new(&out->profile_client, loop, options,
			err);
	}
	if (r == 0) {
		r = question_client_new(&out->questions, loop, options, err);
	}
	if (r == 0 && options->has_moves) {
		r = open_moves(out, loop, options, err);
	}
	return r;
}

int aggregators_open(struct aggregators *out, uv_loop_t *loop,
	const struct aggregators_options *options, struct error *err)
{
	struct aggregators_options all = *options;
	int r = 0;

	*out = (struct aggregators){ 0 };
	if (options->urls->count > 0 &&
		credentials_use_tls(options->credentials)) {
		r = tls_watch_new(&out->tls, loop, &options->credentials->tls,
			TLS_READER_NNG, "aggregator", err);
	}
	all.tls = out->tls;
	r = r < 0 ? r : open_all(out, loop, &all, err);
	if (r < 0) {
		aggregators_close(out);
	}
	return r;
}

void aggregators_close(struct aggregators *aggregators)
{
	loads_close(aggregators->loads);
	kin_learner_close(aggregators->kin);
	profile_client_close(aggregators->profile_client);
	record_upload_close(aggregators->decision_upload);
	question_client_close(aggregators->questions);
	move_history_close(aggregators->move_history);
	record_upload_close(aggregators->move_upload);
	tls_watch_close(aggregators->tls);
	*aggregators = (struct aggregators){ 0 };
}
