#include "scheduler/loads/move_upload.h"

#include "proto/wire.h"

_Static_assert((int)WIRE_MOVES_MAX <= (int)RECORD_UPLOAD_BATCH_MAX,
	"a batch of moves is a batch");

int move_upload_new(struct record_upload **out, uv_loop_t *loop,
	const struct aggregators_options *options, struct error *err)
{
	/* The next leader follows a move by its record, which therefore does
	 * not wait for others. */
	static const struct record_kind kind = {
		.batch_max = WIRE_MOVES_MAX,
		.failure = "cannot upload moves",
		.dropped =
			"dropped records of moves: not stored by every "
			"aggregator",
		.pack = wire_pack_moves,
	};

	return record_upload_new(out, loop, options, &kind, err);
}

void move_upload_add(struct record_upload *upload,
	const struct move_record *record)
{
	struct buffer packed = record_upload_buffer();

	if (record_upload_is_needed(upload)) {
		wire_pack_move(&packed, record);
		record_upload_add(upload, packed);
	}
}
