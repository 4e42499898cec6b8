/* PlimsollStatus: how the aggregator that answers is. */
#pragma once

#include "aggregator/apiserver/api_model.h"
#include "aggregator/http/context.h"

struct store_object {
	const char *state;  /* "Opening", "Storing", "Degraded" */
	const char *reason; /* NULL: none */
	uint64_t retention_raw_seconds, retention_1m_seconds,
		retention_1h_seconds;
	/* store/stats.h */
	uint64_t database_bytes, database_max_bytes;
};

struct agents_object {
	uint32_t fresh, stale, lost;
};

struct certificates_object {
	uint64_t wire_us, https_us, api_us; /* ends; 0: none */
};

struct remote_write_object {
	bool is_on;
	const char *reason; /* why reports wait; NULL: none */
	uint64_t queued_reports;
};

struct scheduler_object {
	bool is_connected;
};

struct rebalance_object {
	const char *mode; /* NULL: no scheduler told it */
	const char *why;
};

struct status_object {
	const char *version, *commit;
	uint64_t time_us;
	struct store_object store;
	struct agents_object agents;
	struct certificates_object certificates;
	struct remote_write_object remote_write;
	struct scheduler_object scheduler;
	struct rebalance_object rebalance;
	uint64_t vm_identities;
};

extern const struct api_model status_model;

/* Borrows from the sources until the loop runs. listener may be NULL. */
void status_object_fill(struct status_object *out, const struct api *api,
	const struct httpd_listener *listener, bool is_open);
