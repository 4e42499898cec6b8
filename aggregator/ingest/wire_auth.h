/* Who may send what on which connection.
 *
 * A Hello is welcomed at once, or with a review when the API server knows its
 * token; from then on the connection stands for that node, process and role.
 * What was proved counts for ADMISSION_US, so that a token that is no longer
 * good is noticed. While the API server is away a connection that was proved
 * may say the same Hello again; see greeted.h for how long. */
#pragma once

#include "aggregator/auth/access_review.h"
#include "lib/mq.h"
#include "proto/wire.h"

#include <stdbool.h>

#define ADMISSION_US UINT64_C(600000000)
#define ADMISSION_EXTENSION_US UINT64_C(60000000)

struct admission;

/* review outlives it; NULL: everyone is welcome, and who asks for snapshots
 * need not say Hello. Never NULL. */
struct admission *admission_new(struct review *review);

/* Answers the request, now or later, but before review_stop() returns. */
void admission_greet(struct admission *admission, struct mq_request *request,
	const struct hello *hello);

/* Who sends batches by this request's connection; NULL: Hello is due. */
const struct hello *admission_sender(const struct admission *admission,
	const struct mq_request *request);

/* False: Hello is due. */
bool admission_may_ask(const struct admission *admission,
	const struct mq_request *request);

void admission_free(struct admission *admission); /* NULL is fine */
