#include "aggregator/store/records.h"

#include "aggregator/store/thread.h"
#include "proto/wire.h"

struct store_batch *store_decisions_new(void)
{
	return store_batch_of(STORE_BATCH_DECISIONS);
}

void store_decisions_add(struct store_batch *batch,
	const struct decision_record *record)
{
	size_t offset = batch->bodies.len;

	wire_pack_decision(&batch->bodies, record);
	store_batch_entry(batch, (struct batch_entry){ .offset = offset });
}

struct store_batch *store_moves_new(void)
{
	return store_batch_of(STORE_BATCH_MOVES);
}

void store_moves_add(struct store_batch *batch, const struct move_record *move)
{
	size_t offset = batch->bodies.len;

	wire_pack_move(&batch->bodies, move);
	store_batch_entry(batch, (struct batch_entry){ .offset = offset });
}

int store_query_decisions(struct store *store,
	const struct store_decisions_read *read, struct error *err)
{
	const struct store_job job = { .kind = STORE_JOB_DECISIONS,
		.decisions = *read };

	return store_submit(store, &job, err);
}

int store_query_moves(struct store *store, const struct store_moves_read *read,
	struct error *err)
{
	const struct store_job job = { .kind = STORE_JOB_MOVES,
		.moves = *read };

	return store_submit(store, &job, err);
}
