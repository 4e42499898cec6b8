/* Says why a client of mq.h is not connected. Private to mq*.c. */
#pragma once

#include <nng/nng.h>
#include <stdbool.h>
#include <stdint.h>

enum { MQ_DIAL_FAILURES = 6 };

enum mq_dial_kind { MQ_DIAL_PLAIN, MQ_DIAL_TLS, MQ_DIAL_TLS_NO_CERT };

struct mq_dial_errors {
	enum mq_dial_kind kind;
	const char *host;
	struct host_lookup *lookup; /* or NULL: a numeric address */
	const char *why_unresolved; /* the last answer; NULL: it is resolved */
	bool is_looked_up;	    /* there was an answer */
	char unresolved[320];	    /* an error that names the host */
	uint64_t failures[MQ_DIAL_FAILURES]; /* nng's counters before */
	int last_failure; /* an index of the texts; -1: none so far */
};

/* host outlives the errors. The kind may be set at any time. */
void mq_dial_errors_init(struct mq_dial_errors *errors, const char *host);

/* The next call is about another dialer. */
void mq_dial_errors_restart(struct mq_dial_errors *errors);

/* Returns one sentence. Borrowed until the next call. */
const char *mq_dial_error(struct mq_dial_errors *errors, nng_dialer dialer);

void mq_dial_errors_fini(struct mq_dial_errors *errors);
