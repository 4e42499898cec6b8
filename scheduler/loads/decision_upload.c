#include "scheduler/loads/decision_upload.h"

#include "proto/wire.h"

_Static_assert((int)WIRE_DECISIONS_MAX <= (int)RECORD_UPLOAD_BATCH_MAX,
	"a batch of decisions is a batch");

int decision_upload_new(struct record_upload **out, uv_loop_t *loop,
	const struct aggregators_options *options, struct error *err)
{
	static const struct record_kind kind = {
		.batch_max = WIRE_DECISIONS_MAX,
		.gather_ms = DECISION_UPLOAD_GATHER_MS,
		.failure = "cannot upload decisions",
		.dropped =
			"dropped decision records: not stored by every "
			"aggregator",
		.pack = wire_pack_decisions,
	};

	return record_upload_new(out, loop, options, &kind, err);
}

void decision_upload_add(struct record_upload *upload,
	const struct decision_record *record)
{
	struct buffer packed = record_upload_buffer();

	if (record_upload_is_needed(upload)) {
		wire_pack_decision(&packed, record);
		record_upload_add(upload, packed);
	}
}
