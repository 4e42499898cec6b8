/* Answers a scheduler that asks for moves. */
#pragma once

#include "aggregator/store/store.h"
#include "lib/mq/mq.h"
#include "proto/move.h"

/* Answers now or after a query of the store: with a list, or a refusal and when
 * to ask again. store is NULL once it is closed. */
void move_query_ask(struct store *store, struct mq_request *request,
	const struct moves_request *asked);
